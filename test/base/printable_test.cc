// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/base/printable.h"

#include <random>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/cord.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "gtest/gtest.h"

namespace workqueue {
namespace internal::printable_test {
namespace {

TEST(PrintableTest, KeepsReadableText) {
  for (const char* text :
       {"", "default/web", "it's \"quoted\"", "two words", "\u00e9\u4e16",
        "\U0001F600", "\u00a0", "\u2027\u202f\u2065\u206a", "\ud7ff\ue000",
        "\U0010FFFF"}) {
    EXPECT_EQ(Printable(text), text);
  }
}

TEST(PrintableTest, EscapesWhatATerminalActsOn) {
  EXPECT_EQ(Printable("a\nb\r\tc"), "a\\nb\\r\\tc");
  EXPECT_EQ(Printable("\033[2J"), "\\033[2J");
  EXPECT_EQ(Printable("\x7f\b"), "\\177\\010");
  EXPECT_EQ(Printable(absl::string_view("a\0b", 3)), "a\\000b");
  // The digit after an escaped byte does not become a part of it.
  EXPECT_EQ(Printable("\0011"), "\\0011");
  // U+009B starts a sequence as ESC [ does, and U+0085 ends a line.
  EXPECT_EQ(Printable("\u009b2J\u0085"), "\\302\\2332J\\302\\205");
  EXPECT_EQ(Printable("\u2028\u202e\u2066"),
            "\\342\\200\\250\\342\\200\\256\\342\\201\\246");
}

TEST(PrintableTest, EscapesBackslashes) {
  EXPECT_EQ(Printable("a\\nb"), "a\\\\nb");
}

TEST(PrintableTest, EscapesWhatIsNoUtf8) {
  EXPECT_EQ(Printable("\x80"), "\\200");             // no first byte
  EXPECT_EQ(Printable("a\xc3"), "a\\303");           // cut off
  EXPECT_EQ(Printable("\xc3(\xa9"), "\\303(\\251");  // no second byte
  EXPECT_EQ(Printable("\xc0\xaf"), "\\300\\257");    // longer than needed
  EXPECT_EQ(Printable("\xe0\x9f\xbf"), "\\340\\237\\277");
  EXPECT_EQ(Printable("\xf0\x8f\xbf\xbf"), "\\360\\217\\277\\277");
  EXPECT_EQ(Printable("\xed\xa0\x80"), "\\355\\240\\200");  // a surrogate
  EXPECT_EQ(Printable("\xf4\x90\x80\x80"), "\\364\\220\\200\\200");
  EXPECT_EQ(Printable("\xf8\x88\x80\x80\x80"), "\\370\\210\\200\\200\\200");
  EXPECT_EQ(Printable("\xff"), "\\377");
}

TEST(PrintableTest, CutsLongText) {
  const std::string megabyte(1 << 20, 'x');
  EXPECT_EQ(Printable(megabyte),
            absl::StrCat(std::string(256, 'x'), "... (1048576 bytes)"));
  EXPECT_EQ(Printable("four", 4), "four");
  EXPECT_EQ(Printable("fours", 4), "four... (5 bytes)");
  EXPECT_EQ(Printable("\n\n\n", 2), "\\n\\n... (3 bytes)");
  EXPECT_EQ(Printable("a", 0), "... (1 bytes)");
  EXPECT_EQ(Printable("", 0), "");
}

TEST(PrintableTest, CutsBetweenCharacters) {
  EXPECT_EQ(Printable("a\u4e16b", 3), "a... (5 bytes)");
  EXPECT_EQ(Printable("a\u4e16b", 4), "a\u4e16... (5 bytes)");
  EXPECT_EQ(Printable("a\u009bb", 2), "a... (4 bytes)");
}

TEST(PrintableTest, TheTextOfAStatusHasNoMarkOfTheLibrary) {
  absl::Status status = absl::UnavailableError("busy");
  EXPECT_EQ(StatusText(status), "UNAVAILABLE: busy");
  status.SetPayload("workqueue/RetryAfter", absl::Cord("3m"));
  status.SetPayload("workqueue/controller.TerminalError", absl::Cord());
  EXPECT_EQ(StatusText(status), "UNAVAILABLE: busy");
  status.SetPayload("example.com/detail", absl::Cord("full"));
  EXPECT_EQ(StatusText(status),
            "UNAVAILABLE: busy [example.com/detail='full']");
  EXPECT_EQ(StatusText(absl::OkStatus()), "OK");
}

TEST(PrintableTest, CanBeUndone) {
  std::mt19937 random(1);
  for (int i = 0; i < 1000; ++i) {
    std::string text;
    for (int j = 0; j < 100; ++j) text.push_back(static_cast<char>(random()));
    const std::string printable = Printable(text);
    for (char c : printable) {
      ASSERT_TRUE(static_cast<unsigned char>(c) >= ' ' && c != '\x7f');
    }
    std::string undone, error;
    ASSERT_TRUE(absl::CUnescape(printable, &undone, &error)) << error;
    ASSERT_EQ(undone, text);
  }
}

TEST(ToUtf8Test, KeepsUtf8) {
  for (const char* text :
       {"", "a\\b\n\"", "\u00e9\u4e16\u009b\u202e", "\U0010FFFF"}) {
    EXPECT_EQ(ToUtf8(text), text);
  }
  const absl::string_view zero("a\0b", 3);
  EXPECT_EQ(ToUtf8(zero), zero);
}

TEST(ToUtf8Test, ReplacesEachOtherByte) {
  EXPECT_EQ(ToUtf8("\x80"), "\uFFFD");
  EXPECT_EQ(ToUtf8("a\xc3"), "a\uFFFD");
  EXPECT_EQ(ToUtf8("\xc3(\xa9\u00e9"), "\uFFFD(\uFFFD\u00e9");
  EXPECT_EQ(ToUtf8("\xc0\xaf"), "\uFFFD\uFFFD");
  EXPECT_EQ(ToUtf8("\xed\xa0\x80"), "\uFFFD\uFFFD\uFFFD");
  EXPECT_EQ(ToUtf8("\xf0\x9f\x98"), "\uFFFD\uFFFD\uFFFD");
}

TEST(ToTextTest, HasNoControlCharacters) {
  EXPECT_EQ(ToText("a\\b\"<\u00e9"), "a\\b\"<\u00e9");
  EXPECT_EQ(ToText(absl::string_view("a\0b\nc\x7f\xff", 7)),
            "a\uFFFDb\uFFFDc\uFFFD\uFFFD");
}

}  // namespace
}  // namespace internal::printable_test
}  // namespace workqueue
