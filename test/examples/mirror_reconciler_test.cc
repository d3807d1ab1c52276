// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <deque>
#include <filesystem>  // NOLINT(build/c++17)
#include <functional>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/synchronization/notification.h"
#include "examples/mirror/fd.h"
#include "examples/mirror/reconciler.h"
#include "examples/mirror/tree.h"
#include "examples/mirror/tree_compare.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/examples/scratch_directory.h"

namespace mirror::mirror_reconciler_test {
namespace {

namespace fs = ::std::filesystem;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

class ReconcilerTest : public ::testing::Test {
 protected:
  ReconcilerTest() {
    fs::create_directory(from_);
    fs::create_directory(to_);
    NewReconciler();
  }

  // Makes a new reconciler, as after a restart.
  void NewReconciler() {
    Reconciler::Hooks hooks;
    hooks.enqueue = [this](const std::string& path) {
      enqueued_.push_back(path);
      return enqueue_error_;
    };
    hooks.before_change = [this](const std::string& path) {
      ++changes_;
      return before_change_ != nullptr ? before_change_(path)
                                       : absl::OkStatus();
    };
    reconciler_ = std::make_unique<Reconciler>(from_, to_, std::move(hooks));
  }

  absl::Status Reconcile(const std::string& path) {
    return reconciler_->Reconcile(path, stop_);
  }

  // Reconciles the root and then every path that is enqueued, until there is
  // none. Does not try failed paths again. Returns the first failure.
  absl::Status ReconcileAll() {
    absl::Status status = Reconcile("");
    while (!enqueued_.empty()) {
      const std::string path = enqueued_.front();
      enqueued_.pop_front();
      status.Update(Reconcile(path));
    }
    return status;
  }

  std::vector<std::string> Differences() const {
    return CompareTrees(Tree(from_), Tree(to_)).differences;
  }

  const ScratchDirectory scratch_;
  const fs::path from_ = scratch_.path() / "from";
  const fs::path to_ = scratch_.path() / "to";
  std::function<absl::Status(const std::string&)> before_change_;
  int changes_ = 0;
  std::deque<std::string> enqueued_;
  absl::Status enqueue_error_;  // of all paths
  absl::Notification stop_;
  std::unique_ptr<Reconciler> reconciler_;
};

struct timespec ModifiedAt(const fs::path& path) {
  struct stat stat;
  EXPECT_EQ(lstat(path.c_str(), &stat), 0) << path;
  return stat.st_mtim;
}

void SetModifiedAt(const fs::path& path, const struct timespec& time) {
  const struct timespec times[2] = {{0, UTIME_OMIT}, time};
  EXPECT_EQ(utimensat(AT_FDCWD, path.c_str(), times, 0), 0) << path;
}

TEST_F(ReconcilerTest, CreatesFile) {
  WriteFile(from_ / "file", "contents");
  chmod((from_ / "file").c_str(), 0640);
  SetModifiedAt(from_ / "file", {1000000000, 123456789});

  EXPECT_EQ(Reconcile("file"), absl::OkStatus());

  EXPECT_EQ(ReadFile(to_ / "file"), "contents");
  EXPECT_EQ(PermissionsOf(to_ / "file"), 0640u);
  EXPECT_EQ(ModifiedAt(to_ / "file").tv_sec, 1000000000);
  EXPECT_EQ(ModifiedAt(to_ / "file").tv_nsec, 123456789);
  EXPECT_THAT(enqueued_, IsEmpty());
}

TEST_F(ReconcilerTest, CreatesLargeAndEmptyFile) {
  std::string large;
  for (int i = 0; i < 300000; ++i) large += std::to_string(i);
  WriteFile(from_ / "large", large);
  WriteFile(from_ / "empty", "");
  EXPECT_EQ(ReconcileAll(), absl::OkStatus());
  EXPECT_EQ(ReadFile(to_ / "large"), large);
  EXPECT_EQ(ReadFile(to_ / "empty"), "");
}

// Writes `data` at `offset` of the file.
void WriteAt(const fs::path& path, off_t offset, const std::string& data) {
  const Fd fd(open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  EXPECT_EQ(pwrite(fd.get(), data.data(), data.size(), offset),
            static_cast<ssize_t>(data.size()));
}

std::string ReadAt(const fs::path& path, off_t offset, size_t size) {
  const Fd fd(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::string data(size, '\0');
  data.resize(pread(fd.get(), data.data(), size, offset));
  return data;
}

// The space that the file takes on the disk, in bytes.
int64_t SpaceOf(const fs::path& path) {
  struct stat stat;
  EXPECT_EQ(lstat(path.c_str(), &stat), 0) << path;
  return int64_t{stat.st_blocks} * 512;
}

constexpr off_t kGigabyte = off_t{1} << 30;

TEST_F(ReconcilerTest, KeepsHoles) {
  const std::string data(300000, 'x');  // more than two blocks of a copy
  WriteAt(from_ / "begin", 0, data);
  ASSERT_EQ(truncate((from_ / "begin").c_str(), kGigabyte), 0);
  WriteAt(from_ / "end", kGigabyte - data.size(), data);
  WriteAt(from_ / "both", 1234567, data);
  WriteAt(from_ / "both", kGigabyte / 2 + 1, data);
  ASSERT_EQ(truncate((from_ / "both").c_str(), kGigabyte + 1), 0);
  WriteFile(from_ / "hole", "");
  ASSERT_EQ(truncate((from_ / "hole").c_str(), kGigabyte), 0);

  // The second time, the mirror compares the contents.
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(ReconcileAll(), absl::OkStatus());
    NewReconciler();
  }

  for (const char* name : {"begin", "end", "both", "hole"}) {
    EXPECT_EQ(fs::file_size(to_ / name), fs::file_size(from_ / name)) << name;
    EXPECT_LE(SpaceOf(to_ / name), 2 << 20) << name;
  }
  EXPECT_EQ(ReadAt(to_ / "begin", 0, data.size() + 1), data + '\0');
  EXPECT_EQ(ReadAt(to_ / "end", kGigabyte - data.size() - 1, data.size() + 2),
            '\0' + data);
  for (off_t offset : {off_t{1234567}, kGigabyte / 2 + 1}) {
    EXPECT_EQ(ReadAt(to_ / "both", offset - 1, data.size() + 2),
              '\0' + data + '\0');
  }
  EXPECT_THAT(Differences(), IsEmpty());
}

TEST_F(ReconcilerTest, FindsDataThatDiffersFromAHole) {
  constexpr off_t kOffset = kGigabyte / 2;
  for (const fs::path& file : {from_ / "file", to_ / "file"}) {
    WriteFile(file, "");
    ASSERT_EQ(truncate(file.c_str(), kGigabyte), 0);
  }
  WriteAt(from_ / "file", kOffset, "data");
  EXPECT_EQ(Reconcile("file"), absl::OkStatus());
  EXPECT_EQ(ReadAt(to_ / "file", kOffset, 4), "data");

  WriteAt(to_ / "file", kOffset + (1 << 20), "damage");
  EXPECT_EQ(Reconcile("file"), absl::OkStatus());
  EXPECT_EQ(ReadAt(to_ / "file", kOffset + (1 << 20), 6), std::string(6, '\0'));
  EXPECT_THAT(Differences(), IsEmpty());
}

TEST_F(ReconcilerTest, ZerosEqualAHole) {
  WriteAt(from_ / "file", 0, std::string(300000, '\0') + "end");
  WriteAt(to_ / "file", 300000, "end");
  SetModifiedAt(from_ / "file", {1000000000, 0});
  SetModifiedAt(to_ / "file", {1000000000, 0});
  EXPECT_EQ(Reconcile("file"), absl::OkStatus());
  EXPECT_EQ(changes_, 0);
}

TEST_F(ReconcilerTest, UpdatesFile) {
  for (const char* const contents : {"one", "two", "three", "", "4"}) {
    WriteFile(from_ / "file", contents);
    EXPECT_EQ(Reconcile("file"), absl::OkStatus());
    EXPECT_EQ(ReadFile(to_ / "file"), contents);
  }
}

TEST_F(ReconcilerTest, DoesNotChangeACorrectCopy) {
  WriteFile(from_ / "file", "contents");
  fs::create_directory(from_ / "directory");
  fs::create_symlink("target", from_ / "link");
  EXPECT_EQ(ReconcileAll(), absl::OkStatus());
  changes_ = 0;
  EXPECT_EQ(ReconcileAll(), absl::OkStatus());
  NewReconciler();
  EXPECT_EQ(ReconcileAll(), absl::OkStatus());
  EXPECT_EQ(changes_, 0);
}

// Neither the size nor the time shows that the contents have changed.
TEST_F(ReconcilerTest, FindsDifferentContentsOfSameSizeAndTime) {
  WriteFile(from_ / "file", "one");
  SetModifiedAt(from_ / "file", {1000000000, 0});
  EXPECT_EQ(Reconcile("file"), absl::OkStatus());

  WriteFile(from_ / "file", "two");
  SetModifiedAt(from_ / "file", {1000000000, 0});
  EXPECT_EQ(Reconcile("file"), absl::OkStatus());
  EXPECT_EQ(ReadFile(to_ / "file"), "two");

  WriteFile(to_ / "file", "bad");
  SetModifiedAt(to_ / "file", {1000000000, 0});
  EXPECT_EQ(Reconcile("file"), absl::OkStatus());
  EXPECT_EQ(ReadFile(to_ / "file"), "two");

  NewReconciler();
  WriteFile(to_ / "file", "bad");
  SetModifiedAt(to_ / "file", {1000000000, 0});
  EXPECT_EQ(Reconcile("file"), absl::OkStatus());
  EXPECT_EQ(ReadFile(to_ / "file"), "two");
}

TEST_F(ReconcilerTest, SetsPermissionsAndTimeWithoutCopying) {
  WriteFile(from_ / "file", "contents");
  EXPECT_EQ(Reconcile("file"), absl::OkStatus());
  struct stat before;
  ASSERT_EQ(stat((to_ / "file").c_str(), &before), 0);

  chmod((from_ / "file").c_str(), 0400);
  SetModifiedAt(from_ / "file", {1, 2});
  EXPECT_EQ(Reconcile("file"), absl::OkStatus());

  struct stat after;
  ASSERT_EQ(stat((to_ / "file").c_str(), &after), 0);
  EXPECT_EQ(after.st_ino, before.st_ino);
  EXPECT_EQ(after.st_mode & 07777, 0400u);
  EXPECT_EQ(after.st_mtim.tv_sec, 1);
  EXPECT_EQ(after.st_mtim.tv_nsec, 2);
}

TEST_F(ReconcilerTest, SetsPermissionsOfDirectoriesAndTheRoot) {
  fs::create_directory(from_ / "directory");
  chmod((from_ / "directory").c_str(), 01711);
  chmod(from_.c_str(), 0750);
  EXPECT_EQ(ReconcileAll(), absl::OkStatus());
  EXPECT_EQ(PermissionsOf(to_ / "directory"), 01711u);
  EXPECT_EQ(PermissionsOf(to_), 0750u);
}

TEST_F(ReconcilerTest, DoesNotCopySetUserId) {
  WriteFile(from_ / "file", "contents");
  chmod((from_ / "file").c_str(), 06755);
  EXPECT_EQ(ReconcileAll(), absl::OkStatus());
  EXPECT_EQ(PermissionsOf(to_ / "file"), 0755u);
  EXPECT_THAT(Differences(), IsEmpty());
}

TEST_F(ReconcilerTest, RemovesFile) {
  WriteFile(to_ / "file", "contents");
  EXPECT_EQ(Reconcile("file"), absl::OkStatus());
  EXPECT_FALSE(fs::exists(to_ / "file"));
  EXPECT_EQ(Reconcile("file"), absl::OkStatus());
}

TEST_F(ReconcilerTest, RemovesDirectoryWithItsContents) {
  fs::create_directories(to_ / "a" / "b" / "c");
  WriteFile(to_ / "a" / "b" / "file", "contents");
  fs::create_directory_symlink(from_, to_ / "a" / "link");
  WriteFile(from_ / "kept", "contents");
  chmod((to_ / "a" / "b").c_str(), 0);
  EXPECT_EQ(Reconcile("a"), absl::OkStatus());
  EXPECT_FALSE(fs::exists(to_ / "a"));
  EXPECT_TRUE(fs::exists(from_ / "kept"));
}

TEST_F(ReconcilerTest, EnqueuesTheContentsOfADirectory) {
  fs::create_directory(from_ / "d");
  WriteFile(from_ / "d" / "in source", "");
  fs::create_directory(to_ / "d");
  WriteFile(to_ / "d" / "in copy", "");
  EXPECT_EQ(Reconcile("d"), absl::OkStatus());
  EXPECT_THAT(enqueued_, UnorderedElementsAre("d/in source", "d/in copy"));
}

TEST_F(ReconcilerTest, EnqueuesTheDirectoryIfThatHasNoCopy) {
  fs::create_directories(from_ / "a" / "b");
  WriteFile(from_ / "a" / "b" / "file", "contents");
  EXPECT_EQ(Reconcile("a/b/file"), absl::OkStatus());
  EXPECT_THAT(enqueued_, ElementsAre("a/b"));

  // So a call for any path leads to the correct result.
  EXPECT_EQ(Reconcile("a/b"), absl::OkStatus());
  EXPECT_THAT(enqueued_, ElementsAre("a/b", "a"));
  EXPECT_EQ(Reconcile("a"), absl::OkStatus());
  EXPECT_EQ(Reconcile("a/b"), absl::OkStatus());
  EXPECT_THAT(enqueued_, ElementsAre("a/b", "a", "a/b", "a/b/file"));
  EXPECT_EQ(Reconcile("a/b/file"), absl::OkStatus());
  EXPECT_THAT(Differences(), IsEmpty());
}

TEST_F(ReconcilerTest, FailsIfAPathCannotBeEnqueued) {
  fs::create_directory(from_ / "d");
  WriteFile(from_ / "d" / "a", "");
  WriteFile(from_ / "d" / "b", "");
  enqueue_error_ = absl::UnavailableError("no server");
  EXPECT_EQ(Reconcile("d/a"), enqueue_error_);
  EXPECT_THAT(enqueued_, ElementsAre("d"));
  EXPECT_EQ(Reconcile("d"), enqueue_error_);
  EXPECT_THAT(enqueued_, ElementsAre("d", "d/a"));

  // A path that is wrong keeps no other one from being enqueued.
  enqueue_error_ = absl::InvalidArgumentError("too long");
  EXPECT_EQ(Reconcile("d"), enqueue_error_);
  EXPECT_THAT(enqueued_, ElementsAre("d", "d/a", "d/a", "d/b"));
}

TEST_F(ReconcilerTest, FollowsNoSymbolicLink) {
  const fs::path outside = scratch_.path() / "outside";
  fs::create_directory(outside);
  WriteFile(outside / "file", "contents");

  // The mirror must not copy what is outside,
  fs::create_directory_symlink(outside, from_ / "link");
  EXPECT_EQ(Reconcile("link"), absl::OkStatus());
  EXPECT_EQ(Reconcile("link/file"), absl::OkStatus());
  EXPECT_EQ(fs::read_symlink(to_ / "link"), outside);
  EXPECT_THAT(Differences(), IsEmpty());

  // and must not remove or change it.
  fs::remove(from_ / "link");
  fs::create_directory(from_ / "link");
  WriteFile(from_ / "link" / "file", "other");
  EXPECT_EQ(Reconcile("link/file"), absl::OkStatus());
  EXPECT_EQ(ReadFile(outside / "file"), "contents");
  EXPECT_EQ(ReconcileAll(), absl::OkStatus());
  EXPECT_THAT(Differences(), IsEmpty());
  EXPECT_EQ(ReadFile(outside / "file"), "contents");
}

TEST_F(ReconcilerTest, MirrorsStrangeNames) {
  for (const char* const name : {"new\nline", "sp ace", "-rf", "\xff\xfe",
                                 "...", "quo'te\"", "*", ".mirror-1-1"}) {
    WriteFile(from_ / name, name);
  }
  fs::create_symlink("\n\xff", from_ / "link");
  EXPECT_EQ(ReconcileAll(), absl::OkStatus());
  EXPECT_THAT(Differences(), IsEmpty());
}

TEST_F(ReconcilerTest, MirrorsDeepTree) {
  fs::path deep = from_;
  for (int i = 0; i < 100; ++i) deep /= "directory";
  fs::create_directories(deep);
  WriteFile(deep / "file", "contents");
  EXPECT_EQ(ReconcileAll(), absl::OkStatus());
  EXPECT_THAT(Differences(), IsEmpty());
  fs::remove_all(from_ / "directory");
  EXPECT_EQ(ReconcileAll(), absl::OkStatus());
  EXPECT_TRUE(fs::is_empty(to_));
}

TEST_F(ReconcilerTest, IgnoresSpecialFiles) {
  ASSERT_EQ(mkfifo((from_ / "fifo").c_str(), 0600), 0);
  WriteFile(to_ / "fifo", "was a file once");
  EXPECT_EQ(ReconcileAll(), absl::OkStatus());
  EXPECT_EQ(ReconcileAll(), absl::OkStatus());
  EXPECT_FALSE(fs::exists(to_ / "fifo"));
  EXPECT_EQ(reconciler_->special_files(), 1u);
  EXPECT_THAT(Differences(), IsEmpty());

  fs::remove(from_ / "fifo");
  EXPECT_EQ(Reconcile("fifo"), absl::OkStatus());
  EXPECT_EQ(reconciler_->special_files(), 0u);
}

TEST_F(ReconcilerTest, RemovesLeftoversOfAKilledRun) {
  WriteFile(to_ / ".mirror-12345678-1", "half a");
  EXPECT_EQ(ReconcileAll(), absl::OkStatus());
  EXPECT_TRUE(fs::is_empty(to_));
}

TEST_F(ReconcilerTest, MissingSourceIsAnError) {
  WriteFile(to_ / "file", "contents");
  fs::remove(from_);
  EXPECT_TRUE(absl::IsNotFound(Reconcile("")));
  EXPECT_TRUE(absl::IsNotFound(Reconcile("file")));
  EXPECT_EQ(ReadFile(to_ / "file"), "contents");
}

TEST_F(ReconcilerTest, MissingCopyIsAnErrorUntilItIsBack) {
  WriteFile(from_ / "file", "contents");
  fs::rename(to_, scratch_.path() / "away");
  const absl::Status status = Reconcile("file");
  EXPECT_TRUE(absl::IsNotFound(status));
  EXPECT_THAT(status.message(), HasSubstr(to_.native()));
  fs::rename(scratch_.path() / "away", to_);
  EXPECT_EQ(Reconcile("file"), absl::OkStatus());
  EXPECT_THAT(Differences(), IsEmpty());
}

TEST_F(ReconcilerTest, CopyThatIsAFileIsAnError) {
  fs::remove(to_);
  WriteFile(to_, "");
  EXPECT_FALSE(Reconcile("").ok());
  EXPECT_EQ(ReadFile(to_), "");
}

TEST_F(ReconcilerTest, UnreadableFileIsAnErrorUntilItCanBeRead) {
  const ObeysPermissions obeys;
  WriteFile(from_ / "file", "contents");
  chmod((from_ / "file").c_str(), 0);
  const absl::Status status = Reconcile("file");
  EXPECT_TRUE(absl::IsPermissionDenied(status));
  EXPECT_THAT(status.message(), HasSubstr((from_ / "file").native()));
  chmod((from_ / "file").c_str(), 0600);
  EXPECT_EQ(Reconcile("file"), absl::OkStatus());
  EXPECT_THAT(Differences(), IsEmpty());
}

TEST_F(ReconcilerTest, UnreadableDirectoryIsAnErrorUntilItCanBeRead) {
  const ObeysPermissions obeys;
  fs::create_directory(from_ / "d");
  WriteFile(from_ / "d" / "file", "contents");
  EXPECT_EQ(ReconcileAll(), absl::OkStatus());
  chmod((from_ / "d").c_str(), 0);
  EXPECT_TRUE(absl::IsPermissionDenied(ReconcileAll()));
  EXPECT_EQ(PermissionsOf(to_ / "d"), 0u);
  chmod((from_ / "d").c_str(), 0700);
  EXPECT_EQ(ReconcileAll(), absl::OkStatus());
  EXPECT_THAT(Differences(), IsEmpty());
}

TEST_F(ReconcilerTest, MirrorsWriteProtectedDirectories) {
  const ObeysPermissions obeys;
  fs::create_directories(from_ / "d" / "e");
  WriteFile(from_ / "d" / "file", "contents");
  chmod((from_ / "d" / "e").c_str(), 0555);
  chmod((from_ / "d").c_str(), 0555);
  EXPECT_EQ(ReconcileAll(), absl::OkStatus());
  EXPECT_THAT(Differences(), IsEmpty());

  chmod((from_ / "d").c_str(), 0755);
  fs::remove(from_ / "d" / "file");
  fs::create_symlink("target", from_ / "d" / "link");
  chmod((from_ / "d").c_str(), 0555);
  EXPECT_EQ(Reconcile("d/file"), absl::OkStatus());
  EXPECT_EQ(Reconcile("d/link"), absl::OkStatus());
  EXPECT_THAT(enqueued_, ElementsAre("d"));
  EXPECT_EQ(ReconcileAll(), absl::OkStatus());
  EXPECT_THAT(Differences(), IsEmpty());
}

// A limit on the file's size works like a full disk, even for root.
TEST_F(ReconcilerTest, FullDiskIsAnErrorThatLeavesTheCopyAsItWas) {
  WriteFile(to_ / "file", "before");
  WriteFile(from_ / "file", std::string(100000, 'x'));
  struct rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  struct rlimit limit = before;
  limit.rlim_cur = 50000;
  const auto handler = signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &limit), 0);
  const absl::Status status = Reconcile("file");
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  signal(SIGXFSZ, handler);

  EXPECT_FALSE(status.ok());
  EXPECT_THAT(status.message(), HasSubstr((to_ / "file").native()));
  EXPECT_EQ(ReadFile(to_ / "file"), "before");
  EXPECT_EQ(std::distance(fs::directory_iterator(to_), {}), 1);
  EXPECT_EQ(Reconcile("file"), absl::OkStatus());
  EXPECT_THAT(Differences(), IsEmpty());
}

TEST_F(ReconcilerTest, ChangesNothingIfTheHookFails) {
  WriteFile(from_ / "new", "");
  WriteFile(from_ / "changed", "other");
  WriteFile(to_ / "changed", "contents");
  WriteFile(to_ / "old", "");
  fs::create_directory(from_ / "directory");
  fs::create_symlink("target", from_ / "link");
  before_change_ = [](const std::string&) {
    return absl::UnavailableError("injected");
  };
  for (const char* const path :
       {"new", "changed", "old", "directory", "link"}) {
    EXPECT_TRUE(absl::IsUnavailable(Reconcile(path))) << path;
  }
  EXPECT_EQ(ReadFile(to_ / "changed"), "contents");
  EXPECT_TRUE(fs::exists(to_ / "old"));
  EXPECT_EQ(std::distance(fs::directory_iterator(to_), {}), 2);
  before_change_ = nullptr;
  EXPECT_EQ(ReconcileAll(), absl::OkStatus());
  EXPECT_THAT(Differences(), IsEmpty());
}

TEST_F(ReconcilerTest, LooksIntoDirectoryWhosePermissionsCannotBeSet) {
  fs::create_directory(from_ / "d");
  fs::create_directory(to_ / "d");
  chmod((from_ / "d").c_str(), 0700);
  chmod((to_ / "d").c_str(), 0755);
  WriteFile(from_ / "d" / "file", "contents");
  before_change_ = [](const std::string&) {
    return absl::UnavailableError("injected");
  };
  EXPECT_TRUE(absl::IsUnavailable(Reconcile("d")));
  EXPECT_THAT(enqueued_, ElementsAre("d/file"));
}

TEST_F(ReconcilerTest, FileThatChangesDuringTheCopyIsAborted) {
  WriteFile(from_ / "file", "one");
  WriteFile(to_ / "file", "before");
  before_change_ = [this](const std::string&) {
    WriteFile(from_ / "file", "two");
    return absl::OkStatus();
  };
  EXPECT_TRUE(absl::IsAborted(Reconcile("file")));
  EXPECT_EQ(ReadFile(to_ / "file"), "before");
  EXPECT_EQ(std::distance(fs::directory_iterator(to_), {}), 1);
  before_change_ = nullptr;
  EXPECT_EQ(Reconcile("file"), absl::OkStatus());
  EXPECT_EQ(ReadFile(to_ / "file"), "two");
}

TEST_F(ReconcilerTest, FileThatIsReplacedDuringTheCopyIsAborted) {
  WriteFile(from_ / "file", "one");
  before_change_ = [this](const std::string&) {
    WriteFile(from_ / "other", "two");
    fs::rename(from_ / "other", from_ / "file");
    return absl::OkStatus();
  };
  // The opened file has lost one of its names.
  EXPECT_TRUE(absl::IsAborted(Reconcile("file")));
  before_change_ = nullptr;
  EXPECT_EQ(Reconcile("file"), absl::OkStatus());
  EXPECT_EQ(ReadFile(to_ / "file"), "two");
}

TEST_F(ReconcilerTest, DirectoryOfTheCopyThatVanishesIsAborted) {
  fs::create_directory(from_ / "d");
  fs::create_directory(to_ / "d");
  WriteFile(from_ / "d" / "file", "contents");
  before_change_ = [this](const std::string&) {
    fs::remove(to_ / "d");
    return absl::OkStatus();
  };
  EXPECT_TRUE(absl::IsAborted(Reconcile("d/file")));
  before_change_ = nullptr;
  EXPECT_EQ(Reconcile("d/file"), absl::OkStatus());
  EXPECT_EQ(ReconcileAll(), absl::OkStatus());
  EXPECT_THAT(Differences(), IsEmpty());
}

TEST_F(ReconcilerTest, DoesNotRemoveUnfinishedCopies) {
  WriteFile(from_ / "file", "contents");
  before_change_ = nullptr;
  Reconciler* reconciler = nullptr;
  std::vector<std::string> enqueued;
  Reconciler::Hooks hooks;
  hooks.enqueue = [&](const std::string& path) {
    enqueued.push_back(path);
    return absl::OkStatus();
  };
  // The copy of "file" is made before this directory is removed.
  fs::create_directory(to_ / "file");
  hooks.before_change = [&, depth = 0](const std::string&) mutable {
    // The second change is the removal of the directory. The temporary file
    // exists by then.
    if (++depth != 2) return absl::OkStatus();
    EXPECT_EQ(std::distance(fs::directory_iterator(to_), {}), 2);
    return reconciler->Reconcile("", stop_);
  };
  Reconciler nested(from_, to_, std::move(hooks));
  reconciler = &nested;
  EXPECT_EQ(nested.Reconcile("file", stop_), absl::OkStatus());
  EXPECT_THAT(enqueued, ElementsAre("file"));
  EXPECT_THAT(Differences(), IsEmpty());
}

TEST_F(ReconcilerTest, StopEndsIt) {
  WriteFile(from_ / "file", std::string(1 << 20, 'x'));
  before_change_ = [this](const std::string&) {
    stop_.Notify();
    return absl::OkStatus();
  };
  EXPECT_TRUE(absl::IsCancelled(Reconcile("file")));
  EXPECT_TRUE(fs::is_empty(to_));
  EXPECT_TRUE(absl::IsCancelled(Reconcile("")));
}

// Everything that can be on one side, with everything that can be on the other.
enum class What {
  kNothing,
  kFile,
  kOtherFile,
  kDirectory,
  kFullDirectory,
  kSymlink,
  kOtherSymlink,
  kFifo
};

void Make(What what, const fs::path& path) {
  switch (what) {
    case What::kNothing:
      break;
    case What::kFile:
      WriteFile(path, "one");
      break;
    case What::kOtherFile:
      WriteFile(path, "two");
      chmod(path.c_str(), 0600);
      break;
    case What::kDirectory:
      fs::create_directory(path);
      break;
    case What::kFullDirectory:
      fs::create_directories(path / "d" / "e");
      WriteFile(path / "file", "contents");
      WriteFile(path / "d" / "e" / "file", "contents");
      fs::create_symlink("..", path / "d" / "link");
      chmod(path.c_str(), 0700);
      break;
    case What::kSymlink:
      fs::create_symlink(".", path);
      break;
    case What::kOtherSymlink:
      fs::create_symlink("nowhere", path);
      break;
    case What::kFifo:
      ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
      break;
  }
}

class ReconcilerKindsTest
    : public ReconcilerTest,
      public ::testing::WithParamInterface<std::tuple<What, What>> {};

TEST_P(ReconcilerKindsTest, MakesTheCopyLikeTheSource) {
  Make(std::get<0>(GetParam()), from_ / "x");
  Make(std::get<1>(GetParam()), to_ / "x");
  EXPECT_EQ(Reconcile("x"), absl::OkStatus());
  EXPECT_EQ(ReconcileAll(), absl::OkStatus());
  EXPECT_THAT(Differences(), IsEmpty());
}

const auto kAnything = ::testing::Values(
    What::kNothing, What::kFile, What::kOtherFile, What::kDirectory,
    What::kFullDirectory, What::kSymlink, What::kOtherSymlink, What::kFifo);

INSTANTIATE_TEST_SUITE_P(All, ReconcilerKindsTest,
                         ::testing::Combine(kAnything, kAnything));

}  // namespace
}  // namespace mirror::mirror_reconciler_test
