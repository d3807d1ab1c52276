// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include <functional>
#include <memory>
#include <mutex>  // NOLINT(build/c++11)
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "clock/fake_clock.h"
#include "examples/mirror/controller.h"
#include "examples/mirror/latency_histogram.h"
#include "examples/mirror/path_map.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace mirror {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

class ControllerTest : public ::testing::Test {
 protected:
  void Start(std::function<absl::Status(const std::string&)> reconcile) {
    options_.clock = &clock_;
    options_.reconcile =
        [this, reconcile = std::move(reconcile)](const std::string& path) {
          {
            const std::lock_guard<std::mutex> lock(mu_);
            reconciled_.push_back(path);
          }
          return reconcile(path);
        };
    options_.on_failure = [this](const absl::Status& status) {
      const std::lock_guard<std::mutex> lock(mu_);
      failures_.push_back(status);
    };
    controller_ = std::make_unique<Controller>(options_);
  }

  // The clock stands still meanwhile.
  void AwaitQuiet() {
    while (!controller_->Quiet()) absl::SleepFor(absl::Milliseconds(1));
  }

  std::vector<std::string> reconciled() {
    const std::lock_guard<std::mutex> lock(mu_);
    return reconciled_;
  }

  clocks::FakeClock clock_;
  Controller::Options options_;
  std::mutex mu_;
  std::vector<std::string> reconciled_;
  std::vector<absl::Status> failures_;
  std::unique_ptr<Controller> controller_;
};

TEST_F(ControllerTest, ReconcilesWhatIsEnqueued) {
  Start([](const std::string&) { return absl::OkStatus(); });
  controller_->Enqueue("a");
  AwaitQuiet();
  controller_->Enqueue("b");
  AwaitQuiet();
  EXPECT_TRUE(controller_->Finished());
  EXPECT_THAT(reconciled(), ElementsAre("a", "b"));
  EXPECT_EQ(controller_->num_failures(), 0u);
}

TEST_F(ControllerTest, FoldsWhatIsQueuedAlready) {
  absl::Notification started, go_on;
  Start([&](const std::string& path) {
    if (path == "first") {
      started.Notify();
      go_on.WaitForNotification();
    }
    return absl::OkStatus();
  });
  controller_->Enqueue("first");
  started.WaitForNotification();
  for (int i = 0; i < 10; ++i) controller_->Enqueue("a");
  EXPECT_FALSE(controller_->Quiet());
  go_on.Notify();
  AwaitQuiet();
  EXPECT_THAT(reconciled(), ElementsAre("first", "a"));
  EXPECT_EQ(controller_->enqueued(), 11);
  EXPECT_EQ(controller_->folded(), 9);
  EXPECT_EQ(controller_->metrics().done(), 2);
}

TEST_F(ControllerTest, TriesAgainLaterEachTime) {
  bool ok = false;
  Start([&ok](const std::string&) {
    return ok ? absl::OkStatus() : absl::UnavailableError("not yet");
  });
  controller_->Enqueue("a");
  AwaitQuiet();
  EXPECT_FALSE(controller_->Finished());
  EXPECT_THAT(controller_->failures(),
              ElementsAre(Pair("a", absl::UnavailableError("not yet"))));

  size_t tries = 1;
  for (absl::Duration d = absl::Milliseconds(5); d < absl::Seconds(10);
       d *= 2) {
    clock_.Step(d - absl::Nanoseconds(1));
    AwaitQuiet();
    EXPECT_EQ(reconciled().size(), tries) << d;
    clock_.Step(absl::Nanoseconds(1));
    AwaitQuiet();
    EXPECT_EQ(reconciled().size(), ++tries) << d;
  }
  ok = true;
  clock_.Step(absl::Seconds(10));
  AwaitQuiet();
  EXPECT_TRUE(controller_->Finished());
  EXPECT_THAT(controller_->failures(), IsEmpty());

  // And then anew.
  ok = false;
  controller_->Enqueue("a");
  AwaitQuiet();
  tries = reconciled().size();
  clock_.Step(absl::Milliseconds(5));
  AwaitQuiet();
  EXPECT_EQ(reconciled().size(), tries + 1);
}

TEST_F(ControllerTest, RetryNow) {
  bool ok = false;
  Start([&ok](const std::string&) {
    return ok ? absl::OkStatus() : absl::UnavailableError("not yet");
  });
  controller_->Enqueue("a");
  AwaitQuiet();
  ok = true;
  controller_->RetryNow();
  AwaitQuiet();
  EXPECT_TRUE(controller_->Finished());
  EXPECT_THAT(reconciled(), ElementsAre("a", "a"));
}

TEST_F(ControllerTest, GivesUp) {
  options_.max_tries = 3;
  Start([](const std::string&) { return absl::UnavailableError("never"); });
  controller_->Enqueue("a");
  for (int i = 0; i < 10; ++i) {
    AwaitQuiet();
    EXPECT_EQ(controller_->Finished(), i >= 2);
    clock_.Step(absl::Seconds(1));
  }
  EXPECT_EQ(reconciled().size(), 3u);
  EXPECT_THAT(controller_->failures(),
              ElementsAre(Pair("a", absl::UnavailableError("never"))));

  // But not for ever.
  controller_->Enqueue("a");
  AwaitQuiet();
  EXPECT_EQ(reconciled().size(), 4u);
  EXPECT_FALSE(controller_->Finished());
}

TEST_F(ControllerTest, DrainReconcilesWhatIsQueued) {
  absl::Notification go_on;
  Start([&go_on](const std::string& path) {
    if (path == "first") go_on.WaitForNotification();
    return path == "bad" ? absl::InternalError("bad") : absl::OkStatus();
  });
  for (const char* const path : {"first", "a", "bad", "b"}) {
    controller_->Enqueue(path);
  }
  go_on.Notify();
  controller_->Drain();
  EXPECT_THAT(reconciled(), ElementsAre("first", "a", "bad", "b"));
  EXPECT_THAT(controller_->failures(),
              ElementsAre(Pair("bad", absl::InternalError("bad"))));
  controller_->Enqueue("c");
  controller_->Drain();
  EXPECT_EQ(reconciled().size(), 4u);
}

TEST_F(ControllerTest, SaysNothingOfWhatOthersChangeMeanwhileAtFirst) {
  Start([](const std::string&) { return absl::AbortedError("changed"); });
  controller_->Enqueue("a");
  AwaitQuiet();
  clock_.Step(absl::Seconds(1));
  AwaitQuiet();
  EXPECT_THAT(failures_, IsEmpty());
  for (int i = 0; i < 10; ++i) {
    clock_.Step(absl::Seconds(10));
    AwaitQuiet();
  }
  EXPECT_EQ(failures_.size(), 4u);
}

TEST(LatencyHistogramTest, Percentile) {
  LatencyHistogram histogram;
  EXPECT_EQ(histogram.Percentile(0.5), absl::ZeroDuration());
  for (int i = 1; i <= 1000; ++i) histogram.Observe(i * 1e-3);
  for (const double fraction : {0.01, 0.5, 0.99, 1.0}) {
    const double seconds =
        absl::ToDoubleSeconds(histogram.Percentile(fraction));
    EXPECT_GE(seconds, fraction);
    EXPECT_LE(seconds, fraction * 1.1);
  }
  EXPECT_GT(histogram.Percentile(0), absl::ZeroDuration() - absl::Seconds(1));
  for (const double extreme : {0.0, -1.0, 1e-300, 1e300}) {
    histogram.Observe(extreme);
  }
  EXPECT_GT(histogram.Percentile(1), absl::Hours(1));
}

TEST(PathMapTest, EraseTree) {
  PathMap<int> map = {{"", 0},      {"a", 1},  {"a!", 2}, {"a/b", 3},
                      {"a/b/c", 4}, {"a0", 5}, {"ab", 6}};
  int sum = 0;
  const auto add = [&sum](int value) { sum += value; };
  EraseTree(map, "a", add);
  EXPECT_EQ(sum, 1 + 3 + 4);
  EXPECT_THAT(map, ElementsAre(Pair("", 0), Pair("a!", 2), Pair("a0", 5),
                               Pair("ab", 6)));
  EraseTree(map, "none", add);
  EXPECT_EQ(map.size(), 4u);
  EraseTree(map, "", add);
  EXPECT_THAT(map, IsEmpty());
}

}  // namespace
}  // namespace mirror
