// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include <iomanip>
#include <ostream>
#include <sstream>
#include <string>

#include "absl/base/config.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "gtest/gtest.h"
#include "workqueue/base/printable.h"

namespace workqueue {
namespace internal::print_item_test {
namespace {

template <typename T>
std::string Printed(const T& item) {
  std::ostringstream os;
  PrintItem(os, item);
  EXPECT_EQ(DescribeItem(item), os.str());
  return os.str();
}

struct Streamed {
  friend std::ostream& operator<<(std::ostream& os, const Streamed& item) {
    return os << item.text;
  }
  std::string text;
};

struct Unprintable {};

TEST(PrintItemTest, PrintsReadableItemsAsTheyAre) {
  EXPECT_EQ(Printed(std::string("default/web")), "default/web");
  EXPECT_EQ(Printed(absl::string_view("default/web")), "default/web");
  EXPECT_EQ(Printed("default/web"), "default/web");
  EXPECT_EQ(Printed(-7), "-7");
  EXPECT_EQ(Printed('a'), "a");
  EXPECT_EQ(Printed(Streamed{"\u4e16"}), "\u4e16");
}

TEST(PrintItemTest, EscapesAndCutsEveryKindOfItem) {
  const std::string evil = "a\n\033[2J";
  const std::string escaped = "a\\n\\033[2J";
  EXPECT_EQ(Printed(evil), escaped);
  EXPECT_EQ(Printed(absl::string_view(evil)), escaped);
  EXPECT_EQ(Printed(evil.c_str()), escaped);
  EXPECT_EQ(Printed(Streamed{evil}), escaped);
  EXPECT_EQ(Printed('\n'), "\\n");

  const std::string megabyte(1 << 20, 'x');
  const std::string cut =
      absl::StrCat(std::string(256, 'x'), "... (1048576 bytes)");
  EXPECT_EQ(Printed(megabyte), cut);
  EXPECT_EQ(Printed(Streamed{megabyte}), cut);
}

TEST(PrintItemTest, IgnoresTheFormatOfTheStream) {
  std::ostringstream os;
  os << std::hex << std::setfill('0');
  PrintItem(os, 255);
  EXPECT_EQ(os.str(), "255");
}

// Abseil has AbslStringify() since 20230125.
#if !defined(ABSL_LTS_RELEASE_VERSION) || ABSL_LTS_RELEASE_VERSION >= 20230125
struct Stringified {
  template <typename Sink>
  friend void AbslStringify(Sink& sink, const Stringified& item) {
    sink.Append(item.text);
  }
  std::string text;
};

TEST(PrintItemTest, EscapesAndCutsTheResultOfAbslStringify) {
  EXPECT_EQ(Printed(Stringified{"a\nb"}), "a\\nb");
  EXPECT_EQ(Printed(Stringified{std::string(1000, 'x')}),
            absl::StrCat(std::string(256, 'x'), "... (1000 bytes)"));
}
#endif

TEST(PrintItemTest, ItemsNeedNotBePrintable) {
  EXPECT_FALSE(IsPrintable<Unprintable>::value);
  EXPECT_EQ(DescribeItem(Unprintable()),
            "an item (of a type without operator<< or AbslStringify())");
}

}  // namespace
}  // namespace internal::print_item_test
}  // namespace workqueue
