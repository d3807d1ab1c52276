// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Each block of C++ in a document is in guide_test.cc, which is compiled and
// run. Blanks may differ: lines are of another length there, and indented.

#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "gtest/gtest.h"
#include "test/docs/read_file.h"

namespace {

std::vector<std::string> CodeIn(absl::string_view document) {
  std::vector<std::string> blocks;
  const std::vector<absl::string_view> parts = absl::StrSplit(document, "```");
  for (size_t i = 1; i < parts.size(); i += 2) {
    if (parts[i].substr(0, 4) != "c++\n") continue;
    // The test includes more than any one block.
    std::vector<std::string> lines = absl::StrSplit(parts[i].substr(4), '\n');
    std::string code;
    for (const std::string& line : lines) {
      if (line.rfind("#include", 0) != 0) code += line + "\n";
    }
    blocks.push_back(WithoutBlanks(code));
  }
  return blocks;
}

class DocumentsTest : public testing::TestWithParam<const char*> {};

TEST_P(DocumentsTest, CodeIsCompiledAndRun) {
  const std::string tested = WithoutBlanks(ReadFile("test/docs/guide_test.cc"));
  const std::vector<std::string> blocks = CodeIn(ReadFile(GetParam()));
  EXPECT_FALSE(blocks.empty());
  for (const std::string& block : blocks) {
    EXPECT_NE(tested.find(block), std::string::npos) << block;
  }
}

INSTANTIATE_TEST_SUITE_P(All, DocumentsTest,
                         testing::Values("README.md", "docs/from-client-go.md",
                                         "docs/guide.md"));

TEST(DocumentsTestTest, FindsBlocks) {
  EXPECT_EQ(CodeIn("a\n```c++\n#include <b>\nint  c =\n  d;\n```\ne\n"
                   "```sh\nf\n```\n```c++\ng\n```\n"),
            (std::vector<std::string>{"intc=d;", "g"}));
}

}  // namespace
