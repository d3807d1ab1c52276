// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Tests that the tables of names in docs/from-client-go.md are complete and
// correct. The first column must have each exported name of the Go packages
// once, and no other name. The *_names.txt files in this folder list these
// names. The names in the second column must be in cpp_names.cc, which is
// compiled.

#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/docs/read_file.h"

namespace name_tables_test {
namespace {

using Names = std::vector<std::string>;

struct Tables {
  Names first;   // the names in the first column
  Names second;  // those in the second one
};

// Appends the names between backquotes in `cell`, without the parentheses of a
// call.
void AppendNames(absl::string_view cell, Names& names) {
  const std::vector<absl::string_view> parts = absl::StrSplit(cell, '`');
  for (size_t i = 1; i < parts.size(); i += 2) {
    names.emplace_back(absl::StripSuffix(parts[i], "()"));
  }
}

// Returns the names in the tables of `document` whose second column has the
// heading "here".
Tables NameTables(absl::string_view document) {
  Tables tables;
  bool in_table = false;
  bool is_of_names = false;
  for (absl::string_view line : absl::StrSplit(document, '\n')) {
    if (!absl::StartsWith(line, "|")) {
      in_table = false;
      continue;
    }
    const std::vector<absl::string_view> cells = absl::StrSplit(line, '|');
    if (cells.size() < 4) continue;
    if (!in_table) {
      is_of_names = absl::StripAsciiWhitespace(cells[2]) == "here";
      in_table = true;
    } else if (is_of_names) {
      AppendNames(cells[1], tables.first);
      AppendNames(cells[2], tables.second);
    }
  }
  return tables;
}

// Returns the section of `document` from `heading` to the next heading of the
// same level.
absl::string_view Section(absl::string_view document,
                          absl::string_view heading) {
  const std::string start = absl::StrCat("\n## ", heading, "\n");
  const size_t begin = document.find(start);
  if (begin == absl::string_view::npos) return "";
  const absl::string_view section = document.substr(begin + start.size());
  return section.substr(0, section.find("\n## "));
}

// Returns the lines of `list` that are not comments.
Names NamesIn(absl::string_view list) {
  Names names;
  for (absl::string_view line : absl::StrSplit(list, '\n', absl::SkipEmpty())) {
    if (!absl::StartsWith(line, "#")) names.emplace_back(line);
  }
  return names;
}

// Returns the release whose names `list` contains: the word MODULE@VERSION in
// its first line.
std::string ReleaseOf(absl::string_view list) {
  const absl::string_view line = list.substr(0, list.find('\n'));
  for (absl::string_view word : absl::StrSplit(line, ' ')) {
    if (absl::StrContains(word, '@')) return std::string(word);
  }
  return "no release";
}

bool IsPartOfName(char c) { return absl::ascii_isalnum(c) || c == '_'; }

// Returns whether `code`, which has no blanks, contains `name` as a whole name.
bool Contains(absl::string_view code, absl::string_view name) {
  for (size_t begin = code.find(name); begin != absl::string_view::npos;
       begin = code.find(name, begin + 1)) {
    const size_t end = begin + name.size();
    const bool begins = begin == 0 || (!IsPartOfName(code[begin - 1]) &&
                                       code[begin - 1] != ':');
    if (begins && (end == code.size() || !IsPartOfName(code[end]))) return true;
  }
  return false;
}

// Returns `code` without comment lines and without blanks.
std::string WithoutComments(absl::string_view code) {
  std::string rest;
  for (absl::string_view line : absl::StrSplit(code, '\n')) {
    if (!absl::StartsWith(line, "//")) absl::StrAppend(&rest, line, "\n");
  }
  return WithoutBlanks(rest);
}

// A Go package: its section in the document, and the list of its names.
struct Package {
  const char* section;
  const char* list;
};

class GoNamesTest : public testing::TestWithParam<Package> {};

TEST_P(GoNamesTest, AreInTheTableOnceEach) {
  const std::string page = ReadFile("docs/from-client-go.md");
  const std::string list = ReadFile(GetParam().list);
  EXPECT_THAT(NameTables(Section(page, GetParam().section)).first,
              testing::UnorderedElementsAreArray(NamesIn(list)));
  EXPECT_THAT(page, testing::HasSubstr(ReleaseOf(list)));
}

INSTANTIATE_TEST_SUITE_P(
    All, GoNamesTest,
    testing::Values(Package{"client-go's names",
                            "test/docs/client_go_names.txt"},
                    Package{"controller-runtime's priorityqueue",
                            "test/docs/priorityqueue_names.txt"},
                    Package{"controller-runtime's reconcile",
                            "test/docs/reconcile_names.txt"},
                    Package{"controller-runtime's controller",
                            "test/docs/controller_names.txt"}));

TEST(CppNamesTest, AreInCppNames) {
  const std::string code = WithoutComments(ReadFile("test/docs/cpp_names.cc"));
  const Names names = NameTables(ReadFile("docs/from-client-go.md")).second;
  EXPECT_FALSE(names.empty());
  for (const std::string& name : names) {
    EXPECT_TRUE(Contains(code, WithoutBlanks(name))) << name;
  }
}

TEST(NameTablesHelpersTest, FindsNames) {
  const Tables tables = NameTables(
      "## A\n"
      "| `a` | here | |\n| --- | --- | --- |\n"
      "| `b`, `C.d` | `e::f()` | `g` |\n"
      "\n"
      "| h | there | |\n| --- | --- | --- |\n"
      "| `i` | `j` | |\n");
  EXPECT_EQ(tables.first, (Names{"b", "C.d"}));
  EXPECT_EQ(tables.second, (Names{"e::f"}));
}

TEST(NameTablesHelpersTest, FindsSections) {
  EXPECT_EQ(Section("# A\n## B\nb\n### C\nc\n## D\nd\n", "B"), "b\n### C\nc");
  EXPECT_EQ(Section("# A\n## B\nb", "C"), "");
}

TEST(NameTablesHelpersTest, ComparesWholeNames) {
  EXPECT_TRUE(Contains("Type<a::B<T>>;", "a::B<T>"));
  EXPECT_TRUE(Contains("x::yz;x::y;", "x::y"));
  EXPECT_FALSE(Contains("x::yz;", "x::y"));
  EXPECT_FALSE(Contains("w::x::y;", "x::y"));
  EXPECT_FALSE(Contains("wx::y;", "x::y"));
}

TEST(NameTablesHelpersTest, ReadsLists) {
  EXPECT_EQ(NamesIn("# a\nb\nc\n"), (Names{"b", "c"}));
  EXPECT_EQ(ReleaseOf("# go a@v1 b\nc@v2\n"), "a@v1");
  EXPECT_EQ(ReleaseOf("# go a\nc@v2\n"), "no release");
}

TEST(NameTablesHelpersTest, DropsComments) {
  EXPECT_EQ(WithoutComments("// a\nb c;\n"), "bc;");
}

}  // namespace
}  // namespace name_tables_test
