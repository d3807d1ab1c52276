// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>  // NOLINT(build/c++17)
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <thread>  // NOLINT(build/c++11)
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "examples/mirror/fd.h"
#include "examples/mirror/tree_watcher.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/examples/scratch_directory.h"
#include "workqueue/base/mutex_lock.h"

namespace mirror::mirror_tree_watcher_test {
namespace {

namespace fs = ::std::filesystem;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;
using ::testing::Not;
using ::workqueue::internal::MutexLock;

class TreeWatcherTest : public ::testing::Test {
 protected:
  TreeWatcherTest() { fs::create_directory(root_); }

  ~TreeWatcherTest() override { Stop(); }

  void Start(absl::Duration resync = absl::Hours(1)) {
    TreeWatcher::Options options;
    options.resync = resync;
    options.on_change = [this](const std::string& path) {
      if (on_change_ != nullptr) on_change_(path);
      MutexLock lock(&mu_);
      changed_.insert(path);
    };
    auto watcher = TreeWatcher::Create(root_, std::move(options));
    ASSERT_TRUE(watcher.ok()) << watcher.status();
    watcher_ = *std::move(watcher);
    thread_ = std::thread([this] { watcher_->Run(); });
    AwaitChange("");
  }

  void Stop() {
    if (!thread_.joinable()) return;
    watcher_->Stop();
    thread_.join();
  }

  std::set<std::string> TakeChanged() {
    MutexLock lock(&mu_);
    return std::exchange(changed_, {});
  }

  // Blocks until `path` is reported. Returns all paths reported by then.
  std::set<std::string> AwaitChange(const std::string& path) {
    const auto reported = [&]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
      return changed_.count(path) > 0;
    };
    MutexLock lock(&mu_);
    mu_.Await(absl::Condition(&reported));
    return std::exchange(changed_, {});
  }

  // Returns all reported paths of changes made before this call.
  std::set<std::string> ChangesUpToNow() {
    const std::string mark = absl::StrCat("mark", ++marks_);
    WriteFile(root_ / mark, "");
    std::set<std::string> changed = AwaitChange(mark);
    // A mark causes two events. The second may come later.
    for (int i = 1; i <= marks_; ++i) changed.erase(absl::StrCat("mark", i));
    return changed;
  }

  const ScratchDirectory scratch_;
  const fs::path root_ = scratch_.path() / "root";
  std::function<void(const std::string&)> on_change_;
  absl::Mutex mu_;
  std::set<std::string> changed_ ABSL_GUARDED_BY(mu_);
  int marks_ = 0;
  std::unique_ptr<TreeWatcher> watcher_;
  std::thread thread_;
};

TEST_F(TreeWatcherTest, ReportsAllDirectoriesAtFirst) {
  fs::create_directories(root_ / "a" / "b");
  fs::create_directories(root_ / "c");
  fs::create_directory_symlink(scratch_.path(), root_ / "link");
  TreeWatcher::Options options;
  std::set<std::string> changed;
  options.on_change = [&](const std::string& path) { changed.insert(path); };
  const auto watcher = TreeWatcher::Create(root_, std::move(options));
  ASSERT_TRUE(watcher.ok());
  (*watcher)->Stop();
  (*watcher)->Run();
  EXPECT_EQ(changed, (std::set<std::string>{"", "a", "a/b", "c"}));
}

TEST_F(TreeWatcherTest, ReportsEveryKindOfChange) {
  fs::create_directory(root_ / "d");
  Start();
  ChangesUpToNow();
  WriteFile(root_ / "d" / "file", "");
  EXPECT_THAT(ChangesUpToNow(), Contains("d/file"));
  WriteFile(root_ / "d" / "file", "contents");
  EXPECT_THAT(ChangesUpToNow(), Contains("d/file"));
  chmod((root_ / "d" / "file").c_str(), 0600);
  EXPECT_THAT(ChangesUpToNow(), Contains("d/file"));
  fs::rename(root_ / "d" / "file", root_ / "file");
  EXPECT_THAT(ChangesUpToNow(), IsSupersetOf({"d/file", "file"}));
  fs::remove(root_ / "file");
  EXPECT_THAT(ChangesUpToNow(), Contains("file"));
  fs::create_symlink("target", root_ / "d" / "link");
  EXPECT_THAT(ChangesUpToNow(), Contains("d/link"));
  chmod((root_ / "d").c_str(), 0700);
  EXPECT_THAT(ChangesUpToNow(), Contains("d"));
  fs::remove_all(root_ / "d");
  EXPECT_THAT(ChangesUpToNow(), Contains("d"));
  chmod(root_.c_str(), 0700);
  EXPECT_THAT(ChangesUpToNow(), Contains(""));
  EXPECT_GT(watcher_->events(), 0);
}

TEST_F(TreeWatcherTest, WatchesNewDirectoriesHoweverDeep) {
  Start();
  fs::create_directories(root_ / "a" / "b" / "c");
  EXPECT_THAT(ChangesUpToNow(), Contains("a"));
  // A reader that looked at the directory on the report has seen the earlier
  // contents. This file is new.
  WriteFile(root_ / "a" / "b" / "c" / "file", "");
  EXPECT_THAT(ChangesUpToNow(), Contains("a/b/c/file"));
}

TEST_F(TreeWatcherTest, FollowsMovedDirectories) {
  fs::create_directories(root_ / "a" / "b");
  Start();
  ChangesUpToNow();
  fs::rename(root_ / "a", root_ / "x");
  EXPECT_THAT(ChangesUpToNow(), IsSupersetOf({"a", "x", "x/b"}));
  WriteFile(root_ / "x" / "b" / "file", "");
  EXPECT_THAT(ChangesUpToNow(), Contains("x/b/file"));

  // Creates another directory with the old name.
  fs::create_directories(root_ / "a" / "b");
  ChangesUpToNow();
  WriteFile(root_ / "a" / "b" / "file", "");
  EXPECT_THAT(ChangesUpToNow(), Contains("a/b/file"));
  WriteFile(root_ / "x" / "b" / "file", "");
  EXPECT_THAT(ChangesUpToNow(), Contains("x/b/file"));

  // Moves the directory out of the tree and back.
  fs::rename(root_ / "x", scratch_.path() / "outside");
  EXPECT_THAT(ChangesUpToNow(), Contains("x"));
  WriteFile(scratch_.path() / "outside" / "b" / "file", "");
  EXPECT_THAT(ChangesUpToNow(), IsEmpty());
  fs::rename(scratch_.path() / "outside", root_ / "y");
  EXPECT_THAT(ChangesUpToNow(), IsSupersetOf({"y", "y/b"}));
  WriteFile(root_ / "y" / "b" / "file", "");
  EXPECT_THAT(ChangesUpToNow(), Contains("y/b/file"));
}

TEST_F(TreeWatcherTest, FollowsExchangedDirectories) {
  fs::create_directories(root_ / "a" / "in a");
  fs::create_directories(root_ / "b" / "in b");
  Start();
  ChangesUpToNow();
  const auto exchange_by_turns = [this] {
    fs::rename(root_ / "a", root_ / "c");
    fs::rename(root_ / "b", root_ / "a");
    fs::rename(root_ / "c", root_ / "b");
  };
  const auto exchange_at_once = [this] {
    EXPECT_EQ(renameat2(AT_FDCWD, (root_ / "a").c_str(), AT_FDCWD,
                        (root_ / "b").c_str(), RENAME_EXCHANGE),
              0);
  };
  for (int i = 0; i < 3; ++i) exchange_by_turns();
  ChangesUpToNow();
  WriteFile(root_ / "a" / "in b" / "file", "");
  WriteFile(root_ / "b" / "in a" / "file", "");
  EXPECT_THAT(ChangesUpToNow(), IsSupersetOf({"a/in b/file", "b/in a/file"}));
  for (int i = 0; i < 3; ++i) exchange_at_once();
  ChangesUpToNow();
  WriteFile(root_ / "a" / "in a" / "file", "");
  WriteFile(root_ / "b" / "in b" / "file", "");
  EXPECT_THAT(ChangesUpToNow(), IsSupersetOf({"a/in a/file", "b/in b/file"}));
}

TEST_F(TreeWatcherTest, DoesNotFollowLinks) {
  fs::create_directory(scratch_.path() / "outside");
  fs::create_directory_symlink(scratch_.path() / "outside", root_ / "link");
  Start();
  WriteFile(scratch_.path() / "outside" / "file", "");
  EXPECT_THAT(ChangesUpToNow(), Not(Contains("link/file")));
}

TEST_F(TreeWatcherTest, MakesResyncPeriodically) {
  fs::create_directory(root_ / "d");
  Start(absl::Milliseconds(50));
  for (int i = 0; i < 3; ++i) {
    TakeChanged();
    AwaitChange("d");
  }
}

TEST_F(TreeWatcherTest, MakesResyncWhenEventsWereDropped) {
  for (const char* const name : {"a", "b"}) fs::create_directory(root_ / name);
  absl::Notification stuck, go_on;
  on_change_ = [&](const std::string& path) {
    if (path != "stuck" || stuck.HasBeenNotified()) return;
    stuck.Notify();
    go_on.WaitForNotification();
  };
  Start();
  WriteFile(root_ / "stuck", "");
  stuck.WaitForNotification();
  // The system keeps 16384 events by default and merges equal ones.
  for (int i = 0; i < 10000; ++i) {
    for (const char* const name : {"a", "b"}) {
      chmod((root_ / name).c_str(), 0700 + i % 2 * 050);
    }
  }
  fs::create_directories(root_ / "new" / "directory");
  TakeChanged();
  go_on.Notify();
  AwaitChange("new/directory");
  ChangesUpToNow();
  WriteFile(root_ / "new" / "directory" / "file", "");
  EXPECT_THAT(ChangesUpToNow(), Contains("new/directory/file"));
}

TEST_F(TreeWatcherTest, FindsRootThatReturns) {
  Start();
  fs::rename(root_, scratch_.path() / "away");
  fs::create_directories(root_ / "new");
  AwaitChange("new");
  ChangesUpToNow();
  fs::remove_all(root_);
  AwaitChange("");  // Waits until the watcher looks for it.
  fs::create_directories(root_ / "newer");
  AwaitChange("newer");
  WriteFile(root_ / "newer" / "file", "");
  EXPECT_THAT(ChangesUpToNow(), Contains("newer/file"));
}

TEST_F(TreeWatcherTest, StopReportsEarlierChanges) {
  Start();
  for (int i = 0; i < 1000; ++i) WriteFile(root_ / absl::StrCat(i), "");
  fs::create_directories(root_ / "a" / "b");
  Stop();
  const std::set<std::string> changed = TakeChanged();
  for (int i = 0; i < 1000; ++i) {
    EXPECT_THAT(changed, Contains(absl::StrCat(i)));
  }
  EXPECT_THAT(changed, IsSupersetOf({"a", "a/b"}));
  EXPECT_TRUE(watcher_->ended());
}

TEST_F(TreeWatcherTest, CancelDropsUnreportedChanges) {
  fs::create_directories(root_ / "a" / "b");
  std::unique_ptr<TreeWatcher> watcher;
  std::set<std::string> changed;
  TreeWatcher::Options options;
  options.on_change = [&](const std::string& path) {
    changed.insert(path);
    if (path == "a") watcher->Cancel();
  };
  watcher = *TreeWatcher::Create(root_, std::move(options));
  watcher->Run();
  EXPECT_EQ(changed, (std::set<std::string>{"", "a"}));
  EXPECT_TRUE(watcher->ended());
}

// A change in a directory that was not watched is found when the watcher stops.
class UnwatchedTest : public TreeWatcherTest {
 protected:
  UnwatchedTest() {
    fs::create_directory(root_ / "d");
    getrlimit(RLIMIT_NOFILE, &limit_);
  }

  ~UnwatchedTest() override { LimitFiles(limit_.rlim_cur); }

  // Lets `n` more files be opened.
  void LimitNewFiles(int n) {
    const Fd next(dup(STDOUT_FILENO));
    LimitFiles(next.get() + n);
  }

  // Runs a watcher that is told to stop at once. Calls `on_change` with each
  // path that is reported, and limits the files before if `at_first` is set.
  void Run(std::function<void(const std::string&)> on_change, int at_first) {
    TreeWatcher::Options options;
    options.on_change = [&](const std::string& path) {
      reported_.push_back(path);
      on_change(path);
    };
    options.on_failure = [&](const absl::Status& reason) {
      failures_.push_back(reason);
    };
    const auto watcher = TreeWatcher::Create(root_, std::move(options));
    ASSERT_TRUE(watcher.ok());
    (*watcher)->Stop();
    if (at_first > 0) LimitNewFiles(at_first);
    (*watcher)->Run();
  }

  void LimitFiles(rlim_t n) {
    const struct rlimit limit = {n, limit_.rlim_max};
    setrlimit(RLIMIT_NOFILE, &limit);
  }

  struct rlimit limit_;
  std::vector<std::string> reported_;
  std::vector<absl::Status> failures_;
};

TEST_F(UnwatchedTest, StopLooksAgainAtADirectoryThatCouldNotBeOpened) {
  Run(
      [this](const std::string& path) {
        if (path == "d") return LimitFiles(limit_.rlim_cur);
        if (reported_.size() == 1) LimitNewFiles(0);
      },
      /*at_first=*/0);
  EXPECT_THAT(reported_, ElementsAre("", "d", "", "d"));
  ASSERT_EQ(failures_.size(), 1u);
  EXPECT_THAT(failures_[0].message(), HasSubstr("open"));
}

TEST_F(UnwatchedTest, StopLooksAgainAtADirectoryThatCouldNotBeListed) {
  Run([this](const std::string&) { LimitFiles(limit_.rlim_cur); },
      /*at_first=*/1);
  EXPECT_THAT(reported_, ElementsAre("", "", "d"));
  ASSERT_EQ(failures_.size(), 1u);
  EXPECT_THAT(failures_[0].message(), HasSubstr("list"));
}

}  // namespace
}  // namespace mirror::mirror_tree_watcher_test
