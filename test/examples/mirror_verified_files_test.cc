// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include <sys/stat.h>

#include "absl/time/time.h"
#include "examples/mirror/verified_files.h"
#include "gtest/gtest.h"

namespace mirror::mirror_verified_files_test {
namespace {

struct stat Changed(time_t seconds, long nanoseconds) {
  struct stat stat = {};
  stat.st_ino = 1;
  stat.st_mode = S_IFREG | 0644;
  stat.st_size = 100;
  stat.st_ctim = {seconds, nanoseconds};
  return stat;
}

const struct stat kSource = Changed(1000, 1);
const struct stat kCopy = Changed(2000, 2);
const absl::Time kNow = absl::FromUnixSeconds(1010);

TEST(VerifiedFilesTest, ContainsInsertedFiles) {
  VerifiedFiles files;
  EXPECT_FALSE(files.Contains("a", kSource, kCopy));
  files.Insert("a", kSource, kCopy, kNow);
  EXPECT_TRUE(files.Contains("a", kSource, kCopy));
  EXPECT_FALSE(files.Contains("b", kSource, kCopy));
}

TEST(VerifiedFilesTest, DoesNotContainChangedFiles) {
  VerifiedFiles files;
  files.Insert("a", kSource, kCopy, kNow);
  EXPECT_FALSE(files.Contains("a", Changed(1000, 2), kCopy));
  EXPECT_FALSE(files.Contains("a", Changed(1001, 1), kCopy));
  EXPECT_FALSE(files.Contains("a", kSource, Changed(2000, 3)));
  EXPECT_FALSE(files.Contains("a", kCopy, kSource));
  struct stat other = kSource;
  other.st_ino = 2;
  EXPECT_FALSE(files.Contains("a", other, kCopy));
  other = kSource;
  other.st_mode = S_IFREG | 0600;
  EXPECT_FALSE(files.Contains("a", other, kCopy));
  other = kSource;
  other.st_size = 101;
  EXPECT_FALSE(files.Contains("a", other, kCopy));
}

// A file that has just been changed could change again without a visible
// difference.
TEST(VerifiedFilesTest, DoesNotContainFilesChangedJustNow) {
  VerifiedFiles files;
  files.Insert("a", kSource, kCopy, absl::FromUnixSeconds(1001));
  EXPECT_FALSE(files.Contains("a", kSource, kCopy));

  // The earlier state is gone, too.
  files.Insert("a", kSource, kCopy, kNow);
  files.Insert("a", Changed(1010, 0), kCopy, kNow);
  EXPECT_FALSE(files.Contains("a", kSource, kCopy));
}

TEST(VerifiedFilesTest, EraseTree) {
  VerifiedFiles files;
  for (const char* const path : {"a", "a/b", "ab", "c"}) {
    files.Insert(path, kSource, kCopy, kNow);
  }
  files.EraseTree("a");
  EXPECT_FALSE(files.Contains("a", kSource, kCopy));
  EXPECT_FALSE(files.Contains("a/b", kSource, kCopy));
  EXPECT_TRUE(files.Contains("ab", kSource, kCopy));
  EXPECT_TRUE(files.Contains("c", kSource, kCopy));
}

}  // namespace
}  // namespace mirror::mirror_verified_files_test
