// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "examples/kubernetes/line_buffer.h"

#include <cstddef>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace kubernetes::line_buffer_test {
namespace {

using ::testing::ElementsAre;

// Appends `part`, and adds all complete lines to `*lines`.
void Arrive(LineBuffer& buffer, const std::string& part,
            std::vector<std::string>* lines) {
  buffer.Tail()->append(part);
  while (const auto line = buffer.TakeLine()) lines->emplace_back(*line);
}

TEST(LineBufferTest, TheTextMayBeSplitAnywhere) {
  const std::string text = "ab\n\ncde\nf";
  for (size_t i = 0; i <= text.size(); ++i) {
    for (size_t j = i; j <= text.size(); ++j) {
      LineBuffer buffer;
      std::vector<std::string> lines;
      Arrive(buffer, text.substr(0, i), &lines);
      Arrive(buffer, text.substr(i, j - i), &lines);
      Arrive(buffer, text.substr(j), &lines);
      EXPECT_THAT(lines, ElementsAre("ab", "", "cde")) << i << " " << j;
      EXPECT_TRUE(buffer.HasPartialLine());
    }
  }
}

TEST(LineBufferTest, LinesMayBeTakenLater) {
  LineBuffer buffer;
  buffer.Tail()->append("a\nb\nc");
  EXPECT_EQ(*buffer.TakeLine(), "a");
  buffer.Tail()->append("d\n");
  EXPECT_EQ(*buffer.TakeLine(), "b");
  EXPECT_EQ(*buffer.TakeLine(), "cd");
  EXPECT_FALSE(buffer.TakeLine().has_value());
  EXPECT_FALSE(buffer.HasPartialLine());
}

}  // namespace
}  // namespace kubernetes::line_buffer_test
