// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/inspect/internal/html.h"

#include <string>
#include <utility>

#include "absl/strings/string_view.h"
#include "gtest/gtest.h"

namespace workqueue {
namespace internal::html_test {
namespace {

std::string Text(absl::string_view text) {
  Html html;
  html.Text(text);
  return std::move(html).Take();
}

std::string Parameter(absl::string_view text) {
  Html html;
  html.Parameter(text);
  return std::move(html).Take();
}

TEST(HtmlTest, TextIsNoMarkupAndEndsNoAttribute) {
  EXPECT_EQ(Text("<a href=\"x\" b='y'>&amp;"),
            "&lt;a href=&quot;x&quot; b=&#39;y&#39;&gt;&amp;amp;");
}

TEST(HtmlTest, TextHasNoControlCharacters) {
  EXPECT_EQ(Text(absl::string_view("a\0b\nc\x7f", 6)), "a\uFFFDb\uFFFDc\uFFFD");
  EXPECT_EQ(Text("\u00e9\xff<"), "\u00e9\uFFFD&lt;");
}

TEST(HtmlTest, AParameterHasOnlyUnreservedCharacters) {
  EXPECT_EQ(Parameter("a-Z_0.~"), "a-Z_0.~");
  EXPECT_EQ(Parameter("a/b&c=d +\"<\\\u00e9"),
            "a%2Fb%26c%3Dd%20%2B%22%3C%5C%C3%A9");
}

TEST(HtmlTest, ConcatenatesItsParts) {
  Html inner;
  inner.Markup("<b>").Text("<").Markup("</b>");
  Html html;
  html.Markup("<p>").Append(inner).Number(42).Markup("</p>");
  EXPECT_EQ(std::move(html).Take(), "<p><b>&lt;</b>42</p>");
}

}  // namespace
}  // namespace internal::html_test
}  // namespace workqueue
