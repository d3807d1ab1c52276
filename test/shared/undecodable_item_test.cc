// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Tests what a `SharedQueue` does with an item that it cannot hand to its
// worker: the codec fails, or what the user's type does throws. The item is for
// another process, which may be of another version.

#include <future>  // NOLINT(build/c++11)
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/base/config.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "test/shared/new_shared_queue.h"
#include "test/workqueue/recording_log.h"
#include "workqueue/clock/fake_clock.h"
#include "workqueue/controller/async_reconcile.h"
#include "workqueue/controller/controller.h"
#include "workqueue/executor.h"
#include "workqueue/interfaces.h"
#include "workqueue/lease.h"
#include "workqueue/lease_batch.h"
#include "workqueue/shared/shared_queue.h"

namespace workqueue::undecodable_item_test {
namespace {

constexpr absl::Duration kDelay = absl::Seconds(5);

// A type whose moves and copies throw, for a while. It throws at number
// `throws_at` of them, and at all that follow.
struct Item {
  Item() = default;
  explicit Item(std::string the_text) : text(std::move(the_text)) {}
  Item(const Item& other) : text(other.text) { MayThrow(); }
  Item(Item&& other) : text(other.text) { MayThrow(); }  // NOLINT
  Item& operator=(const Item&) = default;

  static void MayThrow() {
#ifdef ABSL_HAVE_EXCEPTIONS
    if (throws_at >= 0 && throws_at-- == 0) {
      throws_at = 0;
      throw std::string("no std::exception");
    }
#endif
  }

  static int throws_at;
  std::string text;
};

int Item::throws_at = -1;

// The calls that take an item. Each returns the error, if there is one.
template <typename T>
absl::Status TryGet(SharedQueue<T>& queue) {
  const absl::StatusOr<T> item = queue.TryGet();
  if (item.ok()) queue.Done(*item);
  return item.status();
}

template <typename T>
absl::Status TryAcquire(SharedQueue<T>& queue) {
  return queue.TryAcquire().status();
}

template <typename T>
absl::Status TryAcquireUpTo(SharedQueue<T>& queue) {
  return queue.AcquireUpToWithTimeout(3, absl::ZeroDuration()).status();
}

template <typename T>
absl::Status AcquireNext(SharedQueue<T>& queue) {
  Lease<T> lease;
  return queue.AcquireNext(&lease);
}

template <typename T>
absl::Status AcquireAsync(SharedQueue<T>& queue) {
  InlineExecutor executor;
  std::promise<absl::Status> called;
  queue.AcquireAsync(&executor, [&called](absl::StatusOr<Lease<T>> lease) {
    const absl::Status status = lease.status();
    if (lease.ok()) lease->Done();
    called.set_value(status);
  });
  return called.get_future().get();
}

template <typename T>
using Call = absl::Status (*)(SharedQueue<T>&);

template <typename T>
constexpr Call<T> kCalls[] = {TryGet<T>, TryAcquire<T>, TryAcquireUpTo<T>,
                              AcquireNext<T>, AcquireAsync<T>};

class UndecodableItemTest : public testing::Test {
 protected:
  using Queue = SharedQueue<std::string>;
  using Options = SharedQueueOptions<std::string>;

  Options MakeOptions() {
    Options options = NewSharedQueueOptions<std::string>(&clock_);
    options.name = name_;
    options.log_sink = &log_;
    return options;
  }

  // A client that decodes no item that begins with "new". One error is that of
  // a queue that has ended.
  std::unique_ptr<Queue> NewOlder() {
    Options options = MakeOptions();
    options.codec.decode =
        [](absl::string_view bytes) -> absl::StatusOr<std::string> {
      if (absl::StartsWith(bytes, "new")) {
        return bytes == "newer" ? absl::CancelledError("too new")
                                : absl::InvalidArgumentError("unknown version");
      }
      return std::string(bytes);
    };
    return NewSharedQueue(std::move(options));
  }

  FakeClock clock_;
  RecordingLog log_;
  const std::string name_ = NewQueueName();
  std::unique_ptr<Queue> older_ = NewOlder();
  std::unique_ptr<Queue> newer_ = NewSharedQueue(MakeOptions());
};

TEST_F(UndecodableItemTest, AnotherProcessGetsItLater) {
  for (const Call<std::string> call : kCalls<std::string>) {
    newer_->Add("new");
    EXPECT_TRUE(absl::IsInvalidArgument(call(*older_)));
    EXPECT_EQ(newer_->NumRequeues("new"), 0) << "that is no failure";
    clock_.Step(kDelay - absl::Nanoseconds(1));
    EXPECT_EQ(newer_->Len(), 0u);
    clock_.Step(absl::Nanoseconds(1));
    EXPECT_EQ(newer_->Get(), "new");
    EXPECT_TRUE(newer_->Done("new"));
  }
  EXPECT_TRUE(older_->CloseWithDrainWithin(absl::ZeroDuration()));
}

TEST_F(UndecodableItemTest, IsTold) {
  newer_->Add("new");
  EXPECT_FALSE(older_->TryGet().ok());
  const std::string message = log_.Await(1);
  EXPECT_TRUE(
      absl::StrContains(message, "gives back new, which cannot be decoded"))
      << message;
  EXPECT_TRUE(absl::StrContains(message, "unknown version")) << message;
}

TEST_F(UndecodableItemTest, ASnapshotHasItsBytes) {
  newer_->AddAll({"new", "x"});
  const auto snapshot = older_->TakeSnapshot();
  ASSERT_TRUE(snapshot.ok()) << snapshot.status();
  EXPECT_EQ(snapshot->undecodable, std::vector<std::string>{"new"});
  EXPECT_EQ(snapshot->queued.size(), 1u);
  EXPECT_EQ(snapshot->num_queued, 2u);
}

TEST_F(UndecodableItemTest, GetGoesOn) {
  newer_->AddAll({"new", "x", "newer", "y"});
  EXPECT_EQ(older_->Get(), "x");
  const auto y = older_->GetWithPriority();
  ASSERT_TRUE(y.has_value());
  EXPECT_EQ(y->item, "y");
  EXPECT_TRUE(older_->Done("x"));
  EXPECT_TRUE(older_->Done("y"));
  EXPECT_EQ(newer_->TakeSnapshot()->waiting.size(), 2u);
}

// No time passes meanwhile.
TEST_F(UndecodableItemTest, AControllerGoesOn) {
  for (const bool async : {false, true}) {
    absl::Notification reconciled;
    ControllerOptions<std::string> options;
    options.queue = NewOlder();
    if (async) {
      options.reconcile_async = [&reconciled](const std::string&,
                                              const AsyncReconcileContext&,
                                              ReconcileCompletion done) {
        reconciled.Notify();
        done(absl::OkStatus());
      };
    } else {
      options.reconcile = [&reconciled](const std::string&) {
        reconciled.Notify();
        return absl::OkStatus();
      };
    }
    const auto controller =
        *Controller<std::string>::Create(std::move(options));
    for (int i = 0; i < 20; ++i) newer_->Add(absl::StrCat("new ", async, i));
    newer_->Add("x");
    ASSERT_TRUE(controller->Start().ok());
    reconciled.WaitForNotification();
  }
}

TEST_F(UndecodableItemTest, ABatchHasTheOthers) {
  newer_->AddAll({"new", "x", "newer", "y"});
  const auto batch = older_->AcquireUpTo(10);
  ASSERT_TRUE(batch.ok()) << batch.status();
  ASSERT_EQ(batch->size(), 2u);
  EXPECT_EQ(*batch->front(), "x");
  EXPECT_EQ(*batch->back(), "y");
  clock_.Step(kDelay);
  EXPECT_EQ(newer_->Get(), "new");
  EXPECT_EQ(newer_->Get(), "newer");
}

TEST_F(UndecodableItemTest, AnAddMeanwhileIsNotLost) {
  Options options = MakeOptions();
  options.codec.decode =
      [this](absl::string_view bytes) -> absl::StatusOr<std::string> {
    newer_->Add(std::string(bytes));
    return absl::InvalidArgumentError("unknown version");
  };
  const auto queue = NewSharedQueue(std::move(options));
  newer_->Add("new");
  EXPECT_FALSE(queue->TryGet().ok());
  EXPECT_EQ(newer_->Len(), 0u);
  clock_.Step(kDelay);
  EXPECT_EQ(newer_->Get(), "new");
  EXPECT_TRUE(newer_->Done("new"));
  EXPECT_EQ(newer_->Len(), 0u);
}

// A worker of the queue that decodes nothing would have it again at once.
TEST_F(UndecodableItemTest, AShutDownKeepsItForLater) {
  newer_->Add("new");
  newer_->ShutDown();
  EXPECT_EQ(older_->Get(), std::nullopt);
  EXPECT_FALSE(newer_->ShutDownWithDrainWithin(absl::ZeroDuration()));
  clock_.Step(kDelay);
  EXPECT_EQ(newer_->Get(), "new");
  EXPECT_TRUE(newer_->Done("new"));
  EXPECT_TRUE(newer_->ShutDownWithDrainWithin(absl::ZeroDuration()));
}

TEST_F(UndecodableItemTest, BytesThatAnotherVersionWritesOtherwiseCanBeDone) {
  Options options = MakeOptions();
  options.codec.decode = [](absl::string_view bytes) {
    return std::string(absl::StripPrefix(bytes, "old "));
  };
  const auto queue = NewSharedQueue(std::move(options));
  newer_->Add("old x");
  EXPECT_EQ(queue->Get(), "x");
  EXPECT_TRUE(queue->Done("x"));
  EXPECT_TRUE(newer_->ShutDownWithDrainWithin(absl::ZeroDuration()));
}

#ifdef ABSL_HAVE_EXCEPTIONS
// After any exception, this process holds no item and has no lease, and the
// item comes again.
TEST(ThrowingItemTest, IsGivenBack) {
  FakeClock clock;
  SharedQueueOptions<Item> options = NewSharedQueueOptions<Item>(&clock);
  options.codec.encode = [](const Item& item) { return item.text; };
  options.codec.decode = [](absl::string_view bytes) -> absl::StatusOr<Item> {
    return Item(std::string(bytes));
  };
  for (const Call<Item> call : kCalls<Item>) {
    bool threw = true;
    for (int at = 0; threw; ++at) {
      ASSERT_LT(at, 100);
      options.name = NewQueueName();
      const auto queue = NewSharedQueue(options);
      queue->Add(Item("x"));
      Item::throws_at = at;
      const absl::Status status = call(*queue);
      threw = !status.ok();
      Item::throws_at = -1;
      if (threw) {
        EXPECT_EQ(status, absl::InternalError(
                              "an exception that is no std::exception"));
        clock.Step(kDelay);
        EXPECT_TRUE(queue->TryGet().ok());
        EXPECT_TRUE(queue->Done(Item("x")));
      }
      EXPECT_TRUE(queue->CloseWithDrainWithin(absl::ZeroDuration()));
    }
  }
}
#endif

}  // namespace
}  // namespace workqueue::undecodable_item_test
