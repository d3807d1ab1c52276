// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The last errors in a controller's snapshot.

#include <atomic>
#include <cstddef>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/config.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "test/controller/controller_fixture.h"
#include "workqueue/controller/controller.h"
#include "workqueue/controller/reconcile.h"
#include "workqueue/rate_limiting_queue.h"
#include "workqueue/snapshot.h"

namespace workqueue::controller_snapshot_test {
namespace {

constexpr size_t kMaxErrors = 10000;

class ControllerSnapshotTest : public ControllerFixture {
 protected:
  // Fails with `error_`, which may be OK, and the item as the message.
  ReconcileFunction<std::string> Fail() {
    return [this](const std::string& item) {
      const absl::StatusCode code = error_;
      if (code == absl::StatusCode::kOk) return absl::OkStatus();
      return absl::Status(code, absl::StrCat("no ", item));
    };
  }

  std::atomic<absl::StatusCode> error_{absl::StatusCode::kNotFound};
};

TEST_P(ControllerSnapshotTest, HasTheLastErrorOfAWaitingItem) {
  const auto controller = Started(Options(Fail()));
  AddAndAwait(*controller, "web");
  Snapshot<std::string> snapshot = *controller->TakeSnapshot();
  ASSERT_EQ(snapshot.waiting.size(), 1u);
  EXPECT_EQ(snapshot.waiting[0].failures, 1);
  EXPECT_EQ(snapshot.waiting[0].last_error, "NOT_FOUND: no web");
  EXPECT_EQ(snapshot.waiting[0].ready_at - snapshot.taken_at,
            absl::Milliseconds(5));

  error_ = absl::StatusCode::kAborted;
  Step(*controller, absl::Milliseconds(5));
  snapshot = *controller->TakeSnapshot();
  ASSERT_EQ(snapshot.waiting.size(), 1u);
  EXPECT_EQ(snapshot.waiting[0].failures, 2);
  EXPECT_EQ(snapshot.waiting[0].last_error, "ABORTED: no web");
}

TEST_P(ControllerSnapshotTest, HasTheLastErrorsOfQueuedAndProcessedItems) {
  std::atomic<bool> hangs{false};
  absl::Notification hanging, go_on;
  const auto fail = Fail();
  const auto controller = Started(
      Options([&](const std::string& item, const ReconcileContext& context) {
        if (hangs && !hanging.HasBeenNotified()) {
          hanging.Notify();
          go_on.WaitForNotification();
        }
        return fail(item, context);
      }));
  for (const char* item : {"a", "b"}) controller->queue().Add(item);
  controller->AwaitIdle();
  hangs = true;
  clock_.Step(absl::Milliseconds(5));
  hanging.WaitForNotification();
  controller->queue().Add("new");
  const Snapshot<std::string> snapshot = *controller->TakeSnapshot();
  ASSERT_EQ(snapshot.processing.size(), 1u);
  EXPECT_EQ(snapshot.processing[0].last_error, "NOT_FOUND: no a");
  ASSERT_EQ(snapshot.queued.size(), 2u);
  EXPECT_EQ(snapshot.queued[0].last_error, "NOT_FOUND: no b");
  EXPECT_EQ(snapshot.queued[1].last_error, "") << "it has not failed";
  go_on.Notify();
}

TEST_P(ControllerSnapshotTest, BoundedOnesHaveTheErrorsToo) {
  const auto controller = Started(Options(Fail()));
  for (const char* item : {"a", "b", "c"}) controller->queue().Add(item);
  controller->AwaitIdle();
  Snapshot<std::string> snapshot = *controller->TakeSnapshotUpTo(1);
  EXPECT_EQ(snapshot.num_waiting, 3u);
  ASSERT_EQ(snapshot.waiting.size(), 1u);
  EXPECT_EQ(snapshot.waiting[0].failures, 1);
  EXPECT_EQ(snapshot.waiting[0].last_error,
            "NOT_FOUND: no " + snapshot.waiting[0].item);
  snapshot = *controller->TakeSnapshotOf("b");
  EXPECT_EQ(snapshot.num_waiting, 3u);
  ASSERT_EQ(snapshot.waiting.size(), 1u);
  EXPECT_EQ(snapshot.waiting[0].item, "b");
  EXPECT_EQ(snapshot.waiting[0].last_error, "NOT_FOUND: no b");
  snapshot = *controller->TakeSnapshotOf("d");
  EXPECT_TRUE(snapshot.waiting.empty());
}

TEST_P(ControllerSnapshotTest, ASuccessForgetsTheError) {
  const auto controller = Started(Options(Fail()));
  AddAndAwait(*controller, "web");
  error_ = absl::StatusCode::kOk;
  Step(*controller, absl::Milliseconds(5));
  controller->queue().AddAfter("web", absl::Hours(1));
  const Snapshot<std::string> snapshot = *controller->TakeSnapshot();
  ASSERT_EQ(snapshot.waiting.size(), 1u);
  EXPECT_EQ(snapshot.waiting[0].last_error, "");
}

TEST_P(ControllerSnapshotTest, ATerminalErrorIsForgotten) {
  bool terminal = false;
  const auto controller = Started(Options([&terminal](const std::string&) {
    const absl::Status error = absl::InternalError("broken");
    return terminal ? TerminalError(error) : error;
  }));
  AddAndAwait(*controller, "web");
  terminal = true;
  Step(*controller, absl::Milliseconds(5));
  controller->queue().AddAfter("web", absl::Hours(1));
  EXPECT_EQ(controller->TakeSnapshot()->waiting.at(0).last_error, "");
}

TEST_P(ControllerSnapshotTest, AnErrorIsOneShortPrintableLine) {
  const auto controller = Started(Options([](const std::string&) {
    return absl::DataLossError("\n\033" + std::string(1 << 20, 'x'));
  }));
  AddAndAwait(*controller, "web");
  const std::string error =
      controller->TakeSnapshot()->waiting.at(0).last_error;
  EXPECT_EQ(error.substr(0, 20), "DATA_LOSS: \\n\\033xxx");
  EXPECT_LT(error.size(), 300u);
}

TEST_P(ControllerSnapshotTest, OnlyTheErrorsOfTheLastFailuresAreKept) {
  auto options = Options(Fail());
  options.log_sink = nullptr;
  const auto controller = Started(std::move(options));
  for (size_t i = 0; i <= kMaxErrors; ++i) {
    controller->queue().Add(absl::StrCat(i));
  }
  controller->AwaitIdle();
  size_t with_error = 0;
  const auto snapshot = controller->TakeSnapshot();
  for (const auto& it : snapshot->waiting) {
    if (it.last_error.empty()) {
      EXPECT_EQ(it.item, "0");
    } else {
      ++with_error;
    }
  }
  EXPECT_EQ(with_error, kMaxErrors);
}

TEST_P(ControllerSnapshotTest, TellsWhichItemsFailSinceWhen) {
  const auto controller = Started(Options(Fail()));
  const absl::Time start = clock_.TimeNow();
  AddAndAwait(*controller, "web");
  EXPECT_EQ(controller->failures().Numbers()->failing, 1u);
  Step(*controller, absl::Milliseconds(5));
  AddAndAwait(*controller, "db");

  const auto failed = *controller->failures().Failing(10);
  ASSERT_EQ(failed.size(), 2u);
  EXPECT_EQ(failed[0].item, "web");
  EXPECT_EQ(failed[0].failures, 2);
  EXPECT_EQ(failed[0].last_error, "NOT_FOUND: no web");
  EXPECT_EQ(failed[0].first_failed_at, start);
  EXPECT_EQ(failed[0].last_failed_at, start + absl::Milliseconds(5));
  EXPECT_EQ(failed[1].item, "db");
  EXPECT_EQ(controller->failures().Failing(1)->size(), 1u);
  EXPECT_EQ(controller->failures().Find("db")->failures, 1);
  EXPECT_FALSE(controller->failures().Find("cache").ok());
}

TEST_P(ControllerSnapshotTest, ForgetForgetsTheFailuresAndTheirDelay) {
  const auto controller = Started(Options(Fail()));
  AddAndAwait(*controller, "web");
  Step(*controller, absl::Milliseconds(5));
  ASSERT_EQ(controller->queue().NumRequeues("web"), 2);
  controller->Forget("web");
  EXPECT_EQ(controller->queue().NumRequeues("web"), 0);
  EXPECT_EQ(controller->failures().Numbers()->failing, 0u);
  EXPECT_EQ(controller->TakeSnapshot()->waiting.size(), 1u) << "it still waits";
}

// Keeps the timeouts of its snapshots, of which it answers so many.
class SlowQueue final : public RateLimitingQueue<std::string> {
 public:
  using Base = RateLimitingQueue<std::string>;
  using Base::Base;

  absl::StatusOr<Snapshot<std::string>> TakeSnapshotWith(
      const SnapshotOptions<std::string>& options) const override {
    timeouts.push_back(options.timeout);
    if (timeouts.size() > answers) return absl::DeadlineExceededError("slow");
    return Base::TakeSnapshotWith(options);
  }

  size_t answers = std::numeric_limits<size_t>::max();
  mutable std::vector<absl::Duration> timeouts;
};

TEST_P(ControllerSnapshotTest, ItsTimeoutIsThatOfTheNextTriesToo) {
  RateLimitingQueueOptions<std::string> below;
  below.clock = &clock_;
  auto owned = std::make_unique<SlowQueue>(std::move(below));
  SlowQueue& queue = *owned;
  auto options = Options(Fail());
  options.queue = std::move(owned);
  const auto controller = Started(std::move(options));
  controller->queue().AddAll({"a", "b", "c"});
  controller->AwaitIdle();
  SnapshotOptions<std::string> what;
  what.details = true;
  what.timeout = absl::Seconds(1);
  // The numbers of items whose next try is told, and of looks at the queue.
  const auto look = [&](size_t answers) {
    queue.answers = answers;
    queue.timeouts.clear();
    const auto snapshot = controller->TakeSnapshotWith(what);
    EXPECT_EQ(snapshot->failing.size(), 3u);
    for (const absl::Duration it : queue.timeouts) EXPECT_EQ(it, what.timeout);
    size_t told = 0;
    for (const auto& it : snapshot->failing) told += it.next_try_at.has_value();
    return std::make_pair(told, queue.timeouts.size());
  };
  EXPECT_EQ(look(4), std::make_pair(size_t{3}, size_t{4}));
  EXPECT_EQ(look(2), std::make_pair(size_t{1}, size_t{3}))
      << "the others take as long";
  queue.answers = std::numeric_limits<size_t>::max();
}

TEST_P(ControllerSnapshotTest, TellsItsOptions) {
  auto options = Options(Fail());
  options.workers = 3;
  options.reconcile_timeout = absl::Seconds(7);
  const auto controller = New(std::move(options));
  EXPECT_EQ(controller->name(), "test");
  EXPECT_EQ(controller->max_concurrent_reconciles(), 3u);
  EXPECT_EQ(controller->reconcile_timeout(), absl::Seconds(7));
}

#ifdef ABSL_HAVE_EXCEPTIONS

TEST_P(ControllerSnapshotTest, AnExceptionIsAnError) {
  const auto controller = Started(
      Options([](const std::string&,
                 const ReconcileContext&) -> absl::StatusOr<ReconcileResult> {
        throw std::runtime_error("thrown");
      }));
  AddAndAwait(*controller, "web");
  EXPECT_EQ(controller->TakeSnapshot()->waiting.at(0).last_error,
            "INTERNAL: thrown");
}

#endif  // ABSL_HAVE_EXCEPTIONS

WORKQUEUE_INSTANTIATE(ControllerSnapshotTest);

}  // namespace
}  // namespace workqueue::controller_snapshot_test
