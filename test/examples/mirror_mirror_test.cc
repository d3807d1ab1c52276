// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "examples/mirror/mirror.h"

#include <dlfcn.h>
#include <signal.h>
#include <sys/inotify.h>
#include <sys/stat.h>

#include <atomic>
#include <cstdint>
#include <filesystem>  // NOLINT(build/c++17)
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "examples/mirror/console.h"
#include "examples/mirror/path_map.h"
#include "examples/mirror/stop_signals.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/examples/scratch_directory.h"
#include "workqueue/controller/reconcile.h"

namespace {

// The watcher's thread calls this with each directory before it watches the
// directory.
std::function<void(const std::string& directory)> before_watch;

}  // namespace

extern "C" int inotify_add_watch(int fd, const char* path,
                                 uint32_t events) noexcept {
  if (before_watch) before_watch(path);
  static const auto next = reinterpret_cast<decltype(&inotify_add_watch)>(
      dlsym(RTLD_NEXT, "inotify_add_watch"));
  return next(fd, path, events);
}

namespace mirror {
namespace {

namespace fs = ::std::filesystem;
using ::testing::ElementsAre;
using ::testing::Key;

class MirrorTest : public ::testing::Test {
 protected:
  MirrorTest() {
    fs::create_directory(from_);
    fs::create_directory(to_);
    options_.from = from_;
    options_.to = to_;
  }

  ~MirrorTest() override {
    mirror_.reset();
    before_watch = nullptr;
  }

  void Start() {
    auto mirror = Mirror::Start(std::move(options_), &console_);
    ASSERT_TRUE(mirror.ok()) << mirror.status();
    mirror_ = *std::move(mirror);
  }

  const ScratchDirectory scratch_;
  const fs::path from_ = scratch_.path() / "from";
  const fs::path to_ = scratch_.path() / "to";
  StopSignals signals_;
  Console console_;
  Mirror::Options options_;
  std::unique_ptr<Mirror> mirror_;
};

TEST_F(MirrorTest, MirrorsDuringTheFirstResync) {
  fs::create_directory(from_ / "directory");
  WriteFile(from_ / "file", "contents");
  absl::Notification copied;
  options_.before_change = [&copied](const std::string& path) {
    if (path == "file") copied.Notify();
    return absl::OkStatus();
  };
  before_watch = [&copied, watched = 0](const std::string&) mutable {
    if (++watched == 2) copied.WaitForNotification();
  };
  Start();
  EXPECT_TRUE(mirror_->Stop(signals_));
  EXPECT_EQ(ReadFile(to_ / "file"), "contents");
  EXPECT_TRUE(fs::is_directory(to_ / "directory"));
}

TEST_F(MirrorTest, SignalDuringStopEndsTheFirstResync) {
  // There is always one more directory.
  before_watch = [](const std::string& directory) {
    mkdir(absl::StrCat(directory, "/d").c_str(), 0700);
  };
  Start();
  raise(SIGTERM);
  EXPECT_FALSE(mirror_->Stop(signals_));
}

TEST_F(MirrorTest, GivesUpAfterMaxTries) {
  WriteFile(from_ / "file", "contents");
  std::atomic<int> tries{0};
  absl::Notification third;
  options_.before_change = [&](const std::string&) {
    if (++tries == 3) third.Notify();
    return absl::UnavailableError("refused");
  };
  options_.watch = false;
  options_.max_tries = 3;
  Start();
  third.WaitForNotification();
  // Stop() tries failed paths again that have not been given up.
  EXPECT_TRUE(mirror_->Stop(signals_));
  EXPECT_EQ(tries, 3);
  const PathMap<absl::Status> failures = mirror_->failures();
  ASSERT_THAT(failures, ElementsAre(Key("file")));
  EXPECT_TRUE(workqueue::IsTerminalError(failures.at("file")));
}

TEST_F(MirrorTest, DoesNotReportTheFirstAbortedTries) {
  WriteFile(from_ / "file", "contents");
  std::atomic<int> tries{0};
  absl::Notification ninth;
  options_.before_change = [&](const std::string&) {
    const int n = ++tries;
    if (n == 9) ninth.Notify();
    return absl::AbortedError(absl::StrCat("try ", n));
  };
  options_.watch = false;
  ::testing::internal::CaptureStderr();
  Start();
  ninth.WaitForNotification();
  EXPECT_TRUE(mirror_->Stop(signals_));
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "mirror: try 9\n");
}

}  // namespace
}  // namespace mirror
