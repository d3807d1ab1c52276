// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "examples/mirror/mirror.h"

#include <dlfcn.h>
#include <signal.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
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
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "examples/mirror/console.h"
#include "examples/mirror/path_map.h"
#include "examples/mirror/stop_signals.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/examples/scratch_directory.h"
#include "workqueue/controller/reconcile.h"
#include "workqueue/interfaces.h"
#include "workqueue/internal/forwarding_queue.h"
#include "workqueue/metrics.h"
#include "workqueue/rate_limiting_queue.h"
#include "workqueue/snapshot.h"

namespace {

// The watcher's thread calls this with each directory before it watches the
// directory.
std::function<void(const std::string& directory)> before_watch;

// If set, called by a worker that looks for holes in a file. No file has one.
std::function<void()> on_look_for_holes;

}  // namespace

extern "C" int inotify_add_watch(int fd, const char* path,
                                 uint32_t events) noexcept {
  if (before_watch) before_watch(path);
  static const auto next = reinterpret_cast<decltype(&inotify_add_watch)>(
      dlsym(RTLD_NEXT, "inotify_add_watch"));
  return next(fd, path, events);
}

extern "C" off_t lseek(int fd, off_t offset, int whence) noexcept {
  if (on_look_for_holes && whence == SEEK_DATA) {
    on_look_for_holes();
    errno = EINVAL;
    return -1;
  }
  static const auto next =
      reinterpret_cast<decltype(&lseek)>(dlsym(RTLD_NEXT, "lseek"));
  return next(fd, offset, whence);
}

namespace mirror {
namespace {

namespace fs = ::std::filesystem;
using ::testing::ContainsRegex;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Key;

using Queue = ::workqueue::RateLimitingInterface<std::string>;

// A queue that takes some paths only when they are tried again, and whose
// contents nobody knows.
class RefusingQueue final
    : public workqueue::internal::ForwardingRateLimitingQueue<std::string> {
 public:
  // `refuses` says which.
  RefusingQueue(std::unique_ptr<Queue> queue,
                std::function<bool(const std::string& path)> refuses)
      : ForwardingRateLimitingQueue(std::move(queue)),
        refuses_(std::move(refuses)) {}

  absl::Status AddItems(const workqueue::AddOptions& options,
                        absl::Span<const std::string> items) override {
    for (const std::string& path : items) {
      if (!options.rate_limited && refuses_(path)) {
        return absl::ResourceExhaustedError("the server is full");
      }
    }
    return below().AddItems(options, items);
  }

  absl::StatusOr<workqueue::Snapshot<std::string>> TakeSnapshotWith(
      const workqueue::SnapshotOptions<std::string>& options) const override {
    EXPECT_LT(options.timeout, absl::Seconds(1));
    return absl::UnavailableError("the server is away");
  }

 private:
  const std::function<bool(const std::string& path)> refuses_;
};

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
    on_look_for_holes = nullptr;
  }

  // Makes the mirror share a queue that seems idle, and refuses what `refuses`
  // says.
  void ShareQueue(std::function<bool(const std::string& path)> refuses) {
    options_.make_queue = [refuses](workqueue::MetricsProvider*) {
      Mirror::SharedQueue shared;
      shared.queue = std::make_unique<RefusingQueue>(
          std::make_unique<workqueue::RateLimitingQueue<std::string>>(),
          refuses);
      shared.idle = [] { return true; };
      return shared;
    };
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

TEST_F(MirrorTest, ReconciliationFailsThatCannotEnqueueAPath) {
  WriteFile(from_ / "file", "contents");
  ShareQueue([](const std::string& path) { return path == "file"; });
  options_.watch = false;
  options_.max_tries = 1;
  Start();
  EXPECT_TRUE(mirror_->Stop(signals_));
  EXPECT_THAT(mirror_->failures(), ElementsAre(Key("")));
}

TEST_F(MirrorTest, StartFailsThatCannotEnqueueTheTree) {
  ShareQueue([](const std::string&) { return true; });
  options_.watch = false;
  const auto mirror = Mirror::Start(std::move(options_), &console_);
  EXPECT_TRUE(absl::IsResourceExhausted(mirror.status())) << mirror.status();
}

TEST_F(MirrorTest, IsNotInSyncWhileAChangeIsNotInTheQueue) {
  WriteFile(from_ / "first", "");
  absl::Notification reconciled, refused;
  options_.before_change = [&](const std::string& path) {
    if (path == "first") reconciled.Notify();
    return absl::OkStatus();
  };
  ShareQueue([&](const std::string& path) {
    if (path == "b" && !refused.HasBeenNotified()) refused.Notify();
    return path == "a";
  });
  Start();
  // From here on, only the watcher adds the paths.
  reconciled.WaitForNotification();
  WriteFile(from_ / "a", "");
  WriteFile(from_ / "b", "");
  refused.WaitForNotification();
  EXPECT_FALSE(mirror_->InSync());
  EXPECT_FALSE(mirror_->Stop(signals_));
}

TEST_F(MirrorTest, ProgressSaysWhatIsUnknown) {
  Start();
  EXPECT_THAT(mirror_->Progress(), ContainsRegex(", queued [01], "));
  mirror_.reset();
  ShareQueue([](const std::string&) { return false; });
  Start();
  EXPECT_THAT(mirror_->Progress(), HasSubstr(", queued ?, "));
}

TEST_F(MirrorTest, SecondSignalEndsAReconciliationOfASharedQueue) {
  // To read these takes longer than the test.
  for (const fs::path& folder : {from_, to_}) {
    WriteFile(folder / "file", "");
    fs::resize_file(folder / "file", uintmax_t{1} << 42);
  }
  absl::Notification reads;
  on_look_for_holes = [&reads] {
    if (!reads.HasBeenNotified()) reads.Notify();
  };
  ShareQueue([](const std::string&) { return false; });
  options_.watch = false;
  Start();
  reads.WaitForNotification();
  raise(SIGTERM);
  EXPECT_FALSE(mirror_->Stop(signals_));
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
