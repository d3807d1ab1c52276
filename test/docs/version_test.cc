// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Checks that all files name the version that version.h has.

#include "workqueue/version.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/docs/read_file.h"

namespace version_test {
namespace {

using ::testing::HasSubstr;

std::string Version() {
  return absl::StrCat(WORKQUEUE_VERSION_MAJOR, ".", WORKQUEUE_VERSION_MINOR,
                      ".", WORKQUEUE_VERSION_PATCH);
}

TEST(VersionTest, IsTheModules) {
  EXPECT_THAT(WithoutBlanks(ReadFile("MODULE.bazel")),
              HasSubstr(absl::StrCat("module(name=\"workqueue-cpp\",version=\"",
                                     Version(), "\"")));
}

TEST(VersionTest, IsInTheReadme) {
  EXPECT_THAT(
      ReadFile("README.md"),
      HasSubstr(absl::StrCat("bazel_dep(name = \"workqueue-cpp\", version = \"",
                             Version(), "\"")));
}

TEST(VersionTest, IsTheFirstInTheChangelog) {
  const std::string changelog = ReadFile("CHANGELOG.md");
  const auto first = changelog.find("\n## ");
  ASSERT_NE(first, std::string::npos);
  EXPECT_EQ(changelog.substr(first + 4, Version().size() + 1), Version() + ",")
      << "a comma and the date follow";
}

TEST(VersionTest, AsOneNumber) {
  static_assert(WORKQUEUE_VERSION == WORKQUEUE_VERSION_MAJOR * 10000 +
                                         WORKQUEUE_VERSION_MINOR * 100 +
                                         WORKQUEUE_VERSION_PATCH,
                "");
#if WORKQUEUE_VERSION >= 100 && WORKQUEUE_VERSION < 1000000
  SUCCEED();
#else
  FAIL() << "the preprocessor cannot compare it";
#endif
}

}  // namespace
}  // namespace version_test
