// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>  // NOLINT(build/c++17)
#include <string>

#include "examples/mirror/tree.h"
#include "examples/mirror/tree_compare.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/examples/scratch_directory.h"

namespace mirror::mirror_tree_compare_test {
namespace {

namespace fs = ::std::filesystem;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::StrEq;

class TreeCompareTest : public ::testing::Test {
 protected:
  TreeCompareTest() {
    for (const fs::path& root : {from_, to_}) {
      fs::create_directories(root / "d" / "e");
      WriteFile(root / "d" / "file", "contents");
      WriteFile(root / "d" / "e" / "file", "contents");
      fs::create_symlink("target", root / "d" / "link");
    }
  }

  Comparison Compare() const { return CompareTrees(Tree(from_), Tree(to_)); }

  // Matches one difference, for `name` in the copy.
  auto Reports(const std::string& name, const std::string& what) const {
    return ElementsAre(StrEq((to_ / name).native() + ": " + what));
  }

  const ScratchDirectory scratch_;
  const fs::path from_ = scratch_.path() / "from";
  const fs::path to_ = scratch_.path() / "to";
};

TEST_F(TreeCompareTest, Same) {
  const Comparison comparison = Compare();
  EXPECT_THAT(comparison.differences, IsEmpty());
  EXPECT_EQ(comparison.files, 2);
  EXPECT_EQ(comparison.bytes, 16);
  EXPECT_EQ(comparison.directories, 2);
  EXPECT_EQ(comparison.symlinks, 1);
  EXPECT_EQ(comparison.special_files, 0);
}

TEST_F(TreeCompareTest, Contents) {
  WriteFile(to_ / "d" / "e" / "file", "Contents");
  EXPECT_THAT(Compare().differences, Reports("d/e/file", "different contents"));
  WriteFile(to_ / "d" / "e" / "file", "contents and more");
  EXPECT_THAT(Compare().differences, Reports("d/e/file", "different contents"));
}

TEST_F(TreeCompareTest, Missing) {
  fs::remove(to_ / "d" / "link");
  EXPECT_THAT(Compare().differences,
              Reports("d/link", "nothing, should be a symbolic link"));
}

TEST_F(TreeCompareTest, EachMissingInADirectory) {
  fs::remove_all(to_ / "d");
  EXPECT_EQ(Compare().differences.size(), 5u);
}

TEST_F(TreeCompareTest, SuperfluousEntry) {
  WriteFile(to_ / "d" / "new", "");
  EXPECT_THAT(Compare().differences,
              Reports("d/new", "a file, should be nothing"));
}

TEST_F(TreeCompareTest, Kind) {
  fs::remove_all(to_ / "d" / "e");
  fs::create_symlink("target", to_ / "d" / "e");
  fs::remove(from_ / "d" / "e" / "file");
  EXPECT_THAT(Compare().differences,
              Reports("d/e", "a symbolic link, should be a directory"));
}

TEST_F(TreeCompareTest, Link) {
  fs::remove(to_ / "d" / "link");
  fs::create_symlink("other", to_ / "d" / "link");
  EXPECT_THAT(Compare().differences,
              Reports("d/link", "leads to other, should lead to target"));
}

TEST_F(TreeCompareTest, Permissions) {
  chmod((from_ / "d" / "file").c_str(), 0644);
  chmod((to_ / "d" / "file").c_str(), 0600);
  EXPECT_THAT(Compare().differences,
              Reports("d/file", "permissions 0600, should be 0644"));
  chmod((to_ / "d" / "file").c_str(), 0644);
  chmod((from_ / "d").c_str(), 0755);
  chmod((to_ / "d").c_str(), 0711);
  EXPECT_THAT(Compare().differences,
              Reports("d", "permissions 0711, should be 0755"));
}

TEST_F(TreeCompareTest, SpecialFile) {
  ASSERT_EQ(mkfifo((from_ / "fifo").c_str(), 0600), 0);
  EXPECT_THAT(Compare().differences, IsEmpty());
  EXPECT_EQ(Compare().special_files, 1);
  ASSERT_EQ(mkfifo((to_ / "fifo").c_str(), 0600), 0);
  EXPECT_THAT(Compare().differences,
              Reports("fifo", "a special file, should be nothing"));
}

TEST_F(TreeCompareTest, UnreadableFileDiffers) {
  const ObeysPermissions obeys;
  chmod((from_ / "d" / "file").c_str(), 0);
  chmod((to_ / "d" / "file").c_str(), 0);
  EXPECT_EQ(Compare().differences.size(), 1u);
}

TEST_F(TreeCompareTest, NoTree) {
  fs::remove_all(to_);
  EXPECT_EQ(Compare().differences.size(), 1u);
}

}  // namespace
}  // namespace mirror::mirror_tree_compare_test
