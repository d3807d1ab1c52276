// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Tests of a controller that gives up on items (`ControllerOptions::parking`).

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/config.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/base/fragile_key.h"
#include "test/controller/controller_fixture.h"
#include "test/ratelimit/invalid_argument.h"
#include "workqueue/clock/fake_clock.h"
#include "workqueue/controller/async_reconcile.h"
#include "workqueue/controller/controller.h"
#include "workqueue/controller/reconcile.h"
#include "workqueue/executor.h"
#include "workqueue/failure_ledger.h"
#include "workqueue/rate_limiting_queue.h"

namespace workqueue::parking_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

using Strings = std::vector<std::string>;

constexpr absl::Duration kMs = absl::Milliseconds(1);

class ParkingTest : public ControllerFixture {
 protected:
  // Returns options that park an item at its `n`th failure. The reconcile
  // function returns `error_`, which may be OK.
  ControllerOptions<std::string> AtFailure(int n) {
    ControllerOptions<std::string> options =
        Options([this](const std::string&) {
          const absl::StatusCode code = error_;
          if (code == absl::StatusCode::kOk) return absl::OkStatus();
          return absl::Status(code, "down");
        });
    options.failures.max_failures = n;
    return options;
  }

  // Adds `item`, and waits until it has been reconciled.
  static void Add(Controller<std::string>& controller,
                  const std::string& item) {
    controller.queue().Add(item);
    controller.AwaitIdle();
  }

  // Returns the parked items, the last parked one first.
  static Strings Parked(Controller<std::string>& controller) {
    Strings items;
    const auto all = controller.failures().Parked(1000);
    for (const auto& parked : *all) {
      items.push_back(parked.item);
    }
    return items;
  }

  std::atomic<absl::StatusCode> error_{absl::StatusCode::kUnavailable};
};

TEST_P(ParkingTest, GivesUpAtTheNthFailure) {
  const auto controller = Started(AtFailure(3));
  Add(*controller, "web");
  Step(*controller, 5 * kMs);
  EXPECT_EQ(controller->failures().Numbers()->parked, 0u);
  EXPECT_EQ(controller->failures().Find("web")->failures, 2);
  Step(*controller, 10 * kMs);
  EXPECT_EQ(controller->failures().Numbers()->parked, 1u);
  Step(*controller, absl::Hours(1000));
  EXPECT_EQ(Noted(), (Notes{{"web", 0, 0}, {"web", 5, 1}, {"web", 15, 2}}));

  const auto parked = controller->failures().Find("web");
  ASSERT_TRUE(parked.ok());
  EXPECT_EQ(parked->failures, 3);
  EXPECT_EQ(parked->last_error, "UNAVAILABLE: down");
  EXPECT_EQ(parked->first_failed_at, start_);
  EXPECT_EQ(parked->last_failed_at, start_ + 15 * kMs);
  EXPECT_THAT(Parked(*controller), ElementsAre("web"));
  EXPECT_EQ(controller->failures().Numbers()->failing, 0u);
  EXPECT_EQ(controller->queue().NumRequeues("web"), 0);
  EXPECT_EQ(controller->TakeSnapshot()->waiting.size(), 0u);
}

TEST_P(ParkingTest, GivesUpSomeTimeAfterTheFirstFailure) {
  auto options = AtFailure(1);
  options.failures.max_failures.reset();
  options.failures.max_failing_time = 30 * kMs;
  const auto controller = Started(std::move(options));
  Add(*controller, "web");
  for (const int delay : {5, 10, 20, 40}) Step(*controller, delay * kMs);
  EXPECT_EQ(
      Noted(),
      (Notes{{"web", 0, 0}, {"web", 5, 1}, {"web", 15, 2}, {"web", 35, 3}}));
  EXPECT_THAT(Parked(*controller), ElementsAre("web"));
}

TEST_P(ParkingTest, TheMessageSaysSo) {
  const auto controller = Started(AtFailure(3));
  Add(*controller, "web");
  Step(*controller, 5 * kMs);
  Step(*controller, 10 * kMs);
  EXPECT_EQ(log_.messages().back(),
            "E controller test: reconciling web, and parking it (failures: 3): "
            "UNAVAILABLE: down");
}

TEST_P(ParkingTest, AnAddPutsAnItemBack) {
  const auto controller = Started(AtFailure(2));
  Add(*controller, "web");
  Step(*controller, 5 * kMs);
  ASSERT_EQ(controller->failures().Numbers()->parked, 1u);
  Add(*controller, "web");
  EXPECT_EQ(controller->failures().Numbers()->parked, 0u);
  Step(*controller, 5 * kMs);
  EXPECT_EQ(
      Noted(),
      (Notes{{"web", 0, 0}, {"web", 5, 1}, {"web", 5, 0}, {"web", 10, 1}}))
      << "its failures start anew";
  EXPECT_EQ(controller->failures().Numbers()->parked, 1u);
}

TEST_P(ParkingTest, SoDoesAnAddDuringTheLastCall) {
  Controller<std::string>* adds_to = nullptr;
  auto options = AtFailure(1);
  options.reconcile = [&, reconcile = options.reconcile](
                          const std::string& item,
                          const ReconcileContext& context) {
    if (adds_to != nullptr) {
      error_ = absl::StatusCode::kOk;
      adds_to->queue().Add(item);
      adds_to = nullptr;
      return absl::StatusOr<ReconcileResult>(absl::AbortedError("too early"));
    }
    return reconcile(item, context);
  };
  const auto controller = New(std::move(options));
  adds_to = controller.get();
  ASSERT_EQ(controller->Start(), absl::OkStatus());
  Add(*controller, "web");
  EXPECT_EQ(Noted(), (Notes{{"web", 0, 0}}));
  EXPECT_EQ(controller->failures().Numbers()->parked, 0u);
}

TEST_P(ParkingTest, AnAddDoesNotIfTheOptionSaysSo) {
  auto options = AtFailure(1);
  options.failures.unpark_on_add = false;
  const auto controller = Started(std::move(options));
  Add(*controller, "web");
  EXPECT_EQ(Noted().size(), 1u);
  for (int i = 0; i < 3; ++i) Add(*controller, "web");
  EXPECT_THAT(Noted(), IsEmpty());
  EXPECT_EQ(controller->failures().Find("web")->failures, 1);
  EXPECT_EQ(controller->queue().NumRequeues("web"), 0);
  EXPECT_TRUE(controller->TakeSnapshot()->processing.empty());
  Add(*controller, "db");
  EXPECT_EQ(Noted().size(), 1u) << "others are reconciled";
}

TEST_P(ParkingTest, ACallPutsAnItemBack) {
  auto options = AtFailure(1);
  options.failures.unpark_on_add = false;
  const auto controller = Started(std::move(options));
  EXPECT_FALSE(*controller->failures().Unpark("web"));
  Add(*controller, "web");
  error_ = absl::StatusCode::kOk;
  EXPECT_TRUE(*controller->failures().Unpark("web"));
  EXPECT_FALSE(*controller->failures().Unpark("web"));
  controller->AwaitIdle();
  EXPECT_EQ(controller->failures().Numbers()->parked, 0u);
  EXPECT_EQ(Noted(), (Notes{{"web", 0, 0}, {"web", 0, 0}}));
}

TEST_P(ParkingTest, ACallPutsAllItemsBack) {
  auto options = AtFailure(1);
  options.failures.unpark_on_add = false;
  const auto controller = Started(std::move(options));
  for (const char* item : {"a", "b", "c"}) Add(*controller, item);
  EXPECT_THAT(Parked(*controller), ElementsAre("c", "b", "a"));
  EXPECT_EQ(Noted().size(), 3u);
  error_ = absl::StatusCode::kOk;
  EXPECT_EQ(*controller->failures().UnparkAll(), 3u);
  controller->AwaitIdle();
  EXPECT_EQ(Noted(), (Notes{{"a", 0, 0}, {"b", 0, 0}, {"c", 0, 0}}));
  EXPECT_EQ(*controller->failures().UnparkAll(), 0u);
}

TEST_P(ParkingTest, ASuccessStartsTheFailuresAnew) {
  const auto controller = Started(AtFailure(2));
  Add(*controller, "web");
  error_ = absl::StatusCode::kOk;
  Step(*controller, 5 * kMs);
  error_ = absl::StatusCode::kUnavailable;
  Add(*controller, "web");
  EXPECT_EQ(controller->failures().Numbers()->parked, 0u);
}

TEST_P(ParkingTest, ForgetStartsTheFailuresAnewAndUnparksNothing) {
  const auto controller = Started(AtFailure(2));
  Add(*controller, "web");
  controller->Forget("web");
  Step(*controller, 5 * kMs);
  EXPECT_EQ(controller->failures().Numbers()->parked, 0u);
  Step(*controller, 5 * kMs);
  ASSERT_EQ(controller->failures().Numbers()->parked, 1u);
  controller->Forget("web");
  EXPECT_EQ(controller->failures().Numbers()->parked, 1u);
}

TEST_P(ParkingTest, ATerminalErrorParksNothing) {
  auto options = AtFailure(2);
  std::atomic<bool> terminal{false};
  options.reconcile = [&](const std::string&) -> absl::Status {
    const absl::Status error = absl::AbortedError("bad");
    return terminal ? TerminalError(error) : error;
  };
  const auto controller = Started(std::move(options));
  Add(*controller, "web");
  terminal = true;
  Step(*controller, 5 * kMs);
  EXPECT_EQ(controller->failures().Numbers()->parked, 0u);
  terminal = false;
  Add(*controller, "web");
  EXPECT_EQ(controller->failures().Numbers()->parked, 0u)
      << "its failures start anew";
  EXPECT_EQ(controller->failures().Numbers()->failing, 1u);
}

TEST_P(ParkingTest, AFullLotLeavesItemsToBeRetried) {
  auto options = AtFailure(1);
  options.failures.max_parked = 1;
  options.failures.unpark_on_add = false;
  const auto controller = Started(std::move(options));
  Add(*controller, "a");
  Add(*controller, "b");
  EXPECT_THAT(Parked(*controller), ElementsAre("a"));
  EXPECT_EQ(controller->failures().Find("b")->failures, 1);
  Noted();
  Step(*controller, 5 * kMs);
  EXPECT_EQ(Noted(), (Notes{{"b", 5, 1}}));
}

TEST_P(ParkingTest, WorksOnAGivenQueue) {
  auto options = AtFailure(2);
  RateLimitingQueueOptions<std::string> queue_options;
  queue_options.clock = &clock_;
  options.queue = std::make_unique<RateLimitingQueue<std::string>>(
      std::move(queue_options));
  const auto controller = Started(std::move(options));
  Add(*controller, "web");
  Step(*controller, 5 * kMs);
  EXPECT_THAT(Parked(*controller), ElementsAre("web"));
  EXPECT_EQ(controller->queue().NumRequeues("web"), 0);
}

TEST_P(ParkingTest, AStoppedControllerKeepsItsParkedItems) {
  const auto controller = Started(AtFailure(1));
  Add(*controller, "web");
  EXPECT_TRUE(controller->Stop());
  EXPECT_FALSE(*controller->failures().Unpark("web"));
  EXPECT_EQ(*controller->failures().UnparkAll(), 0u);
  EXPECT_THAT(Parked(*controller), ElementsAre("web"));
}

TEST_P(ParkingTest, ItemsThatFailDuringTheStopAreParkedToo) {
  auto options = AtFailure(1);
  const auto controller = New(std::move(options));
  controller->queue().AddAll({"a", "b"});
  ASSERT_EQ(controller->Start(), absl::OkStatus());
  EXPECT_TRUE(controller->Stop());
  EXPECT_EQ(controller->failures().Numbers()->parked, 2u);
}

TEST_P(ParkingTest, IsOffByDefault) {
  auto options = AtFailure(1);
  options.failures.max_failures.reset();
  const auto controller = Started(std::move(options));
  Add(*controller, "web");
  for (int i = 0; i < 20; ++i) Step(*controller, absl::Hours(1));
  EXPECT_EQ(Noted().size(), 21u);
  EXPECT_EQ(controller->failures().Numbers()->parked, 0u);
  EXPECT_THAT(*controller->failures().Parked(10), IsEmpty());
  EXPECT_EQ(controller->failures().Find("web")->failures, 21);
  EXPECT_FALSE(*controller->failures().Unpark("web"));
  EXPECT_EQ(*controller->failures().UnparkAll(), 0u);
}

TEST_P(ParkingTest, RefusesBadOptions) {
  const auto error = [this](std::function<void(FailureLedgerOptions&)> change) {
    auto options = AtFailure(1);
    change(options.failures);
    return Controller<std::string>::Create(std::move(options)).status();
  };
  EXPECT_THAT(error([](auto& failures) { failures.max_failures = 0; }),
              IsInvalidArgument("failures.max_failures", "0"));
  EXPECT_THAT(error([](auto& failures) {
                failures.max_failing_time = absl::Seconds(-1);
              }),
              IsInvalidArgument("failures.max_failing_time", "-1s"));
  EXPECT_THAT(error([](auto& failures) { failures.max_parked = 0; }),
              IsInvalidArgument("failures.max_parked", "0"));
  FakeClock other;
  EXPECT_THAT(error([&other](auto& failures) { failures.clock = &other; }),
              IsInvalidArgument("failures.clock", "clock of the controller"));
  EXPECT_EQ(error([this](auto& failures) { failures.clock = &clock_; }),
            absl::OkStatus());
}

WORKQUEUE_INSTANTIATE(ParkingTest);

// An executor that runs the tasks on the thread of the caller must not need a
// deeper stack for each item that is skipped.
TEST(AsyncParkingTest, SkipsManyParkedItems) {
  constexpr int kItems = 20000;
  FakeClock clock;
  InlineExecutor executor;
  std::optional<ReconcileCompletion> last;
  ControllerOptions<int> options;
  options.clock = &clock;
  options.executor = &executor;
  options.max_in_flight = 1;
  options.failures.max_failures = 1;
  options.failures.max_parked = kItems;
  options.failures.unpark_on_add = false;
  options.reconcile_async = [&last](int item, const AsyncReconcileContext&,
                                    ReconcileCompletion done) {
    if (item == kItems) {
      last.emplace(std::move(done));
    } else {
      done(absl::UnavailableError("down"));
    }
  };
  const auto controller = *Controller<int>::Create(std::move(options));
  ASSERT_EQ(controller->Start(), absl::OkStatus());
  for (int i = 0; i < kItems; ++i) controller->queue().Add(i);
  ASSERT_EQ(controller->failures().Numbers()->parked, size_t{kItems});
  controller->queue().Add(kItems);
  ASSERT_TRUE(last.has_value());
  for (int i = 0; i < kItems; ++i) controller->queue().Add(i);
  EXPECT_EQ(controller->queue().Len(), size_t{kItems});
  (*last)(absl::OkStatus());
  controller->AwaitIdle();
  EXPECT_EQ(controller->queue().Len(), 0u);
  EXPECT_EQ(controller->failures().Numbers()->parked, size_t{kItems});
}

#ifdef ABSL_HAVE_EXCEPTIONS

// The item is parked in the end, even if some step throws.
TEST(ParkingThrowsTest, LosesNoItem) {
  for (const FragileOp op : kFragileOps) {
    for (int n = 1;; ++n) {
      SCOPED_TRACE(n);
      ASSERT_LT(n, 200);
      FakeClock clock;
      ControllerOptions<FragileKey> options;
      options.clock = &clock;
      options.failures.max_failures = 2;
      options.failures.unpark_on_add = false;
      options.reconcile = [](const FragileKey&) {
        return absl::UnavailableError("down");
      };
      auto controller = *Controller<FragileKey, FragileHash, FragileEq>::Create(
          std::move(options));
      ASSERT_EQ(controller->Start(), absl::OkStatus());
      controller->queue().AddAll({FragileKey(1), FragileKey(3)});
      controller->AwaitIdle();
      Fuse::ArmForOthers(op, n);
      // The queue's thread and the worker try again after a second.
      for (int i = 0; i < 5; ++i) {
        clock.Step(absl::Seconds(2));
        controller->AwaitIdle();
      }
      const bool threw = Fuse::Disarm();
      EXPECT_EQ(controller->failures().Numbers()->parked, 2u);
      EXPECT_EQ(*controller->failures().UnparkAll(), 2u);
      if (!threw) break;
    }
  }
}

#endif  // ABSL_HAVE_EXCEPTIONS

}  // namespace
}  // namespace workqueue::parking_test
