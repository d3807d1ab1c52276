// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Tests that each C++ block in a document is also in a test or in an example,
// which is compiled and run (that of OpenTelemetry only where it is installed),
// and that each link to a heading has a target. Blanks may differ, because line
// lengths and indentation differ.

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "gtest/gtest.h"
#include "test/docs/read_file.h"

namespace documents_test {
namespace {

std::vector<std::string> CodeIn(absl::string_view document) {
  std::vector<std::string> blocks;
  const std::vector<absl::string_view> parts = absl::StrSplit(document, "```");
  for (size_t i = 1; i < parts.size(); i += 2) {
    if (parts[i].substr(0, 4) != "c++\n") continue;
    // A block's includes are only some of the test's.
    std::vector<std::string> lines = absl::StrSplit(parts[i].substr(4), '\n');
    std::string code;
    for (const std::string& line : lines) {
      if (line.rfind("#include", 0) != 0) code += line + "\n";
    }
    blocks.push_back(WithoutBlanks(code));
  }
  return blocks;
}

// Returns the targets of the links in `document`, except links to other sites.
std::vector<std::string> LinksIn(absl::string_view document) {
  std::vector<std::string> links;
  const std::vector<absl::string_view> parts = absl::StrSplit(document, "](");
  for (size_t i = 1; i < parts.size(); ++i) {
    const absl::string_view link = parts[i].substr(0, parts[i].find(')'));
    if (link.substr(0, 8) != "https://") links.emplace_back(link);
  }
  return links;
}

// Returns the anchors of the headings of `document`, without the "#".
std::vector<std::string> AnchorsIn(absl::string_view document) {
  std::vector<std::string> anchors;
  for (absl::string_view line : absl::StrSplit(document, '\n')) {
    if (line.substr(0, 1) != "#") continue;
    std::string anchor;
    for (const char c : line.substr(line.find(' ') + 1)) {
      if (c == ' ') anchor += '-';
      if (absl::ascii_isalnum(c) || c == '-') anchor += absl::ascii_tolower(c);
    }
    anchors.push_back(anchor);
  }
  return anchors;
}

class DocumentsTest : public testing::TestWithParam<const char*> {};

TEST_P(DocumentsTest, CodeIsCompiledAndRun) {
  std::string tested;
  for (const char* file :
       {"test/docs/guide_test.cc", "test/docs/async_guide_test.cc",
        "test/docs/controller_guide_test.cc",
        "test/docs/event_loop_guide_test.cc", "test/docs/metrics_guide_test.cc",
        "test/docs/informer_guide_test.cc", "test/docs/tracing_guide_test.cc",
        "test/inspect/inspect_guide_test.cc",
        "test/opentelemetry/opentelemetry_tracer_test.cc",
        "test/shared/memory_engine_test.cc", "test/shared/shared_guide_test.cc",
        "test/shared/postgres_engine_test.cc",
        "test/shared/sqlite_engine_test.cc",
        "test/simulation/self/simulation_test.cc",
        "examples/async_probe/coroutine_prober.h",
        "examples/async_probe/event_loop.h",
        "examples/async_probe/prober.cc"}) {
    tested += WithoutBlanks(ReadFile(file));
  }
  const std::vector<std::string> blocks = CodeIn(ReadFile(GetParam()));
  EXPECT_FALSE(blocks.empty());
  for (const std::string& block : blocks) {
    EXPECT_NE(tested.find(block), std::string::npos) << block;
  }
}

TEST_P(DocumentsTest, LinksLeadToHeadings) {
  const std::string path = GetParam();
  const std::string folder = path.substr(0, path.rfind('/') + 1);
  const std::vector<std::string> links = LinksIn(ReadFile(path));
  EXPECT_FALSE(links.empty());
  for (const std::string& link : links) {
    const std::vector<std::string> parts = absl::StrSplit(link, '#');
    if (parts.size() < 2) continue;
    const std::string target = parts[0].empty() ? path
                               : parts[0].rfind("../", 0) == 0
                                   ? parts[0].substr(3)
                                   : folder + parts[0];
    const std::vector<std::string> anchors = AnchorsIn(ReadFile(target));
    EXPECT_EQ(std::count(anchors.begin(), anchors.end(), parts[1]), 1) << link;
  }
}

INSTANTIATE_TEST_SUITE_P(All, DocumentsTest,
                         testing::Values("README.md", "docs/from-client-go.md",
                                         "docs/guide.md"));

TEST(DocumentsHelpersTest, FindsBlocks) {
  EXPECT_EQ(CodeIn("a\n```c++\n#include <b>\nint  c =\n  d;\n```\ne\n"
                   "```sh\nf\n```\n```c++\ng\n```\n"),
            (std::vector<std::string>{"intc=d;", "g"}));
}

TEST(DocumentsHelpersTest, FindsLinks) {
  EXPECT_EQ(LinksIn("[a](b.md#c) and\n[d `e()`](#f), [g](https://h/i)"),
            (std::vector<std::string>{"b.md#c", "#f"}));
}

TEST(DocumentsHelpersTest, FindsAnchors) {
  EXPECT_EQ(AnchorsIn("# A\nb\n### Metrics, and `What()`?\n# Well-known"),
            (std::vector<std::string>{"a", "metrics-and-what", "well-known"}));
}

}  // namespace
}  // namespace documents_test
