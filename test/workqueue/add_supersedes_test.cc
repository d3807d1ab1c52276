// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Tests of the option `add_supersedes_waiting`. kubernetes/kubernetes#112325
// asks for this behaviour.

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/config.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "test/base/fragile_key.h"
#include "test/workqueue/delaying_queue_fixture.h"
#include "test/workqueue/hooked_queue.h"
#include "workqueue/clock/fake_clock.h"
#include "workqueue/delaying_queue.h"
#include "workqueue/interfaces.h"
#include "workqueue/rate_limiting_queue.h"

namespace workqueue::add_supersedes_test {
namespace {

constexpr absl::Duration kSecond = absl::Seconds(1);

// The ways to add an item at once.
enum class Way { kAdd, kAddAll, kAddAfterZero, kAddAfterNegative };

bool AddAtOnce(DelayingInterface<std::string>& queue, Way way,
               const std::string& item) {
  switch (way) {
    case Way::kAdd:
      return queue.Add(item);
    case Way::kAddAll:
      return queue.AddAll({item});
    case Way::kAddAfterZero:
      return queue.AddAfter(item, absl::ZeroDuration());
    case Way::kAddAfterNegative:
      return queue.AddAfter(item, -kSecond);
  }
  return false;
}

// A queue with the option, on a queue below that calls `on_add_` for each item.
class AddSupersedesTest : public testing::TestWithParam<Way> {
 protected:
  AddSupersedesTest() { MakeQueue(true); }

  void MakeQueue(bool add_supersedes_waiting) {
    DelayingQueueOptions<std::string> options;
    options.clock = &clock_;
    options.add_supersedes_waiting = add_supersedes_waiting;
    queue_ = *DelayingQueue<std::string>::Create(
        std::make_unique<HookedQueue<std::string>>(
            [this](const std::string& item) { return on_add_(item); }, &clock_),
        std::move(options));
    Settle();
  }

  // Returns when the queue's thread has taken in all items added so far.
  void Settle() { clock_.Step(absl::ZeroDuration()); }

  bool AddAtOnce(const std::string& item) {
    return add_supersedes_test::AddAtOnce(*queue_, GetParam(), item);
  }

  void ExpectNothingMore() {
    clock_.Step(absl::Hours(1));
    EXPECT_EQ(queue_->Len(), 0u);
  }

  FakeClock clock_;
  HookedQueue<std::string>::OnAdd on_add_ = [](const std::string&) {
    return true;
  };
  std::unique_ptr<DelayingQueue<std::string>> queue_;
};

INSTANTIATE_TEST_SUITE_P(Ways, AddSupersedesTest,
                         testing::Values(Way::kAdd, Way::kAddAll,
                                         Way::kAddAfterZero,
                                         Way::kAddAfterNegative),
                         [](const auto& info) -> std::string {
                           switch (info.param) {
                             case Way::kAdd:
                               return "Add";
                             case Way::kAddAll:
                               return "AddAll";
                             case Way::kAddAfterZero:
                               return "AddAfterZero";
                             case Way::kAddAfterNegative:
                               return "AddAfterNegative";
                           }
                           return "";
                         });

TEST_P(AddSupersedesTest, WithoutTheOptionTheWaitingCopyIsAddedToo) {
  MakeQueue(false);
  queue_->AddAfter("a", kSecond);
  EXPECT_TRUE(AddAtOnce("a"));
  EXPECT_EQ(TakeAll(*queue_), Strings{"a"});
  clock_.Step(kSecond);
  EXPECT_EQ(TakeAll(*queue_), Strings{"a"});
  ExpectNothingMore();
}

TEST(AddSupersedesDefaultTest, IsOff) {
  EXPECT_FALSE(DelayingQueueOptions<int>().add_supersedes_waiting);
  EXPECT_FALSE(RateLimitingQueueOptions<int>().add_supersedes_waiting);
}

TEST_P(AddSupersedesTest, AddRemovesTheWaitingCopy) {
  queue_->AddAfter("a", kSecond);
  Settle();
  EXPECT_TRUE(AddAtOnce("a"));
  EXPECT_EQ(TakeAll(*queue_), Strings{"a"});
  EXPECT_FALSE(queue_->CancelDelayed("a")) << "it waits no longer";
  ExpectNothingMore();
}

TEST_P(AddSupersedesTest, AddRemovesACopyThatIsNotTakenInYet) {
  queue_->AddAfter("first", 2 * kSecond);
  Settle();
  queue_->AddAfter("a", 4 * kSecond);  // Later: it wakes nobody.
  queue_->AddAfter("a", 3 * kSecond);
  EXPECT_TRUE(AddAtOnce("a"));
  EXPECT_EQ(TakeAll(*queue_), Strings{"a"});
  clock_.Step(2 * kSecond);
  EXPECT_EQ(TakeAll(*queue_), Strings{"first"});
  ExpectNothingMore();
}

TEST_P(AddSupersedesTest, AddRemovesARescheduledCopy) {
  EXPECT_TRUE(queue_->Reschedule("a", kSecond));
  EXPECT_TRUE(AddAtOnce("a"));
  EXPECT_EQ(TakeAll(*queue_), Strings{"a"});
  ExpectNothingMore();
}

TEST_P(AddSupersedesTest, OthersGoOnWaiting) {
  for (const char* item : {"a", "b", "c"}) queue_->AddAfter(item, kSecond);
  EXPECT_TRUE(AddAtOnce("b"));
  EXPECT_TRUE(AddAtOnce("unknown"));
  EXPECT_EQ(TakeAll(*queue_), (Strings{"b", "unknown"}));
  clock_.Step(kSecond - kNs);
  EXPECT_EQ(queue_->Len(), 0u);
  clock_.Step(kNs);
  EXPECT_EQ(TakeAll(*queue_), (Strings{"a", "c"}));
  ExpectNothingMore();
}

TEST_P(AddSupersedesTest, AnAddAfterAfterwardsStillComes) {
  queue_->AddAfter("a", kSecond);
  EXPECT_TRUE(AddAtOnce("a"));
  queue_->AddAfter("a", 3 * kSecond);
  EXPECT_EQ(TakeAll(*queue_), Strings{"a"});
  clock_.Step(3 * kSecond - kNs);
  EXPECT_EQ(queue_->Len(), 0u) << "the earlier time has gone with its copy";
  clock_.Step(kNs);
  EXPECT_EQ(TakeAll(*queue_), Strings{"a"});
  ExpectNothingMore();
}

TEST_P(AddSupersedesTest, AnItemThatIsProcessedComesBackOnce) {
  queue_->Add("a");
  ASSERT_EQ(queue_->Get(), "a");
  queue_->AddAfter("a", kSecond);
  EXPECT_TRUE(AddAtOnce("a"));
  EXPECT_EQ(queue_->Len(), 0u);
  EXPECT_TRUE(queue_->Done("a"));
  EXPECT_EQ(TakeAll(*queue_), Strings{"a"});
  ExpectNothingMore();
}

TEST_P(AddSupersedesTest, AnItemThatIsQueuedStaysOnce) {
  EXPECT_TRUE(AddAtOnce("a"));
  EXPECT_TRUE(AddAtOnce("b"));
  queue_->AddAfter("a", kSecond);
  EXPECT_TRUE(AddAtOnce("a")) << "queued already, and waiting";
  EXPECT_TRUE(AddAtOnce("a"));
  EXPECT_EQ(TakeAll(*queue_), (Strings{"a", "b"}));
  ExpectNothingMore();
}

TEST_P(AddSupersedesTest, ARefusedItemGoesOnWaiting) {
  bool refuse = true;
  on_add_ = [&refuse](const std::string&) { return !refuse; };
  queue_->AddAfter("a", kSecond);
  EXPECT_FALSE(AddAtOnce("a"));
  EXPECT_FALSE(AddAtOnce("unknown"));
  refuse = false;
  clock_.Step(kSecond - kNs);
  EXPECT_EQ(queue_->Len(), 0u);
  clock_.Step(kNs);
  EXPECT_EQ(TakeAll(*queue_), Strings{"a"});
  ExpectNothingMore();
}

// The item waits until the queue tries again.
TEST_P(AddSupersedesTest, AnItemThatWasRefusedWhenDueIsTakenOut) {
  bool refuse = true;
  on_add_ = [&refuse](const std::string&) { return !refuse; };
  queue_->AddAfter("a", kSecond);
  clock_.Step(kSecond);
  refuse = false;
  EXPECT_TRUE(AddAtOnce("a"));
  EXPECT_EQ(TakeAll(*queue_), Strings{"a"});
  ExpectNothingMore();
}

TEST_P(AddSupersedesTest, NothingIsTakenAfterShutDown) {
  queue_->AddAfter("a", kSecond);
  queue_->ShutDown();
  EXPECT_FALSE(AddAtOnce("a"));
  EXPECT_FALSE(AddAtOnce("b"));
  ExpectNothingMore();
}

class AddAllSupersedesTest : public AddSupersedesTest {};

INSTANTIATE_TEST_SUITE_P(AddAll, AddAllSupersedesTest,
                         testing::Values(Way::kAddAll));

TEST_P(AddAllSupersedesTest, RemovesTheWaitingCopyOfEachItem) {
  for (const char* item : {"a", "b", "c", "d"}) queue_->AddAfter(item, kSecond);
  EXPECT_TRUE(queue_->AddAll({"d", "new", "b", "b"}));
  EXPECT_EQ(TakeAll(*queue_), (Strings{"d", "new", "b"}));
  EXPECT_TRUE(queue_->AddAll({}));
  clock_.Step(kSecond);
  EXPECT_EQ(TakeAll(*queue_), (Strings{"a", "c"}));
  ExpectNothingMore();
}

TEST_P(AddAllSupersedesTest, RefusedItemsGoOnWaiting) {
  bool refuse = true;
  on_add_ = [&refuse](const std::string& item) {
    return !(refuse && item == "b");
  };
  for (const char* item : {"a", "b", "c"}) queue_->AddAfter(item, kSecond);
  EXPECT_FALSE(queue_->AddAll({"a", "b", "c"}));
  EXPECT_EQ(TakeAll(*queue_), (Strings{"a", "c"}));
  refuse = false;
  clock_.Step(kSecond);
  EXPECT_EQ(TakeAll(*queue_), Strings{"b"});
  ExpectNothingMore();
}

TEST(RateLimitedAddSupersedesTest, AnAddTakesTheRetryOut) {
  FakeClock clock;
  RateLimitingQueueOptions<std::string> options;
  options.clock = &clock;
  options.add_supersedes_waiting = true;
  RateLimitingQueue<std::string> queue(std::move(options));
  EXPECT_TRUE(queue.AddRateLimited("a"));
  EXPECT_TRUE(queue.AddRateLimited("b"));
  EXPECT_TRUE(queue.Add("a"));
  EXPECT_EQ(TakeAll(queue), Strings{"a"});
  EXPECT_EQ(queue.NumRequeues("a"), 1) << "the failures are not forgotten";
  clock.Step(absl::Hours(1));
  EXPECT_EQ(TakeAll(queue), Strings{"b"});
}

#ifdef ABSL_HAVE_EXCEPTIONS

TEST_P(AddSupersedesTest, AnItemGoesOnWaitingIfTheQueueBelowThrows) {
  bool throws = true;
  on_add_ = [&throws](const std::string&) {
    if (throws) throw 1;
    return true;
  };
  queue_->AddAfter("a", kSecond);
  EXPECT_THROW(AddAtOnce("a"), int);
  EXPECT_THROW(AddAtOnce("unknown"), int);
  throws = false;
  clock_.Step(kSecond - kNs);
  EXPECT_EQ(queue_->Len(), 0u);
  clock_.Step(kNs);
  EXPECT_EQ(TakeAll(*queue_), Strings{"a"});
  ExpectNothingMore();
}

TEST_P(AddAllSupersedesTest, ThoseBeforeTheOneThatThrewAreAdded) {
  bool throws = true;
  on_add_ = [&throws](const std::string& item) {
    if (throws && item == "b") throw 1;
    return true;
  };
  for (const char* item : {"a", "b", "c"}) queue_->AddAfter(item, kSecond);
  EXPECT_THROW(queue_->AddAll({"a", "b", "c"}), int);
  EXPECT_EQ(TakeAll(*queue_), Strings{"a"});
  throws = false;
  clock_.Step(kSecond);
  EXPECT_EQ(TakeAll(*queue_), (Strings{"b", "c"}));
  ExpectNothingMore();
}

// If anything in `Add()` throws, either the item has been added and does not
// wait any more, or nothing has changed.
TEST(AddSupersedesThrowsTest, AndTheQueueIsAsItWas) {
  int blown = 0;
  for (FragileOp op : kFragileOps) {
    for (int n = 1;; ++n) {
      SCOPED_TRACE(n);
      ASSERT_LT(n, 200);
      FakeClock clock;
      DelayingQueueOptions<FragileKey> options;
      options.clock = &clock;
      options.add_supersedes_waiting = true;
      DelayingQueue<FragileKey, FragileHash, FragileEq> queue(
          std::move(options));
      queue.AddAfter(FragileKey(1), kSecond);
      clock.Step(absl::ZeroDuration());
      queue.AddAfter(FragileKey(2), 2 * kSecond);
      queue.AddAfter(FragileKey(3), 3 * kSecond);

      Fuse::Arm(op, n);
      const bool threw = Blows([&] { EXPECT_TRUE(queue.Add(FragileKey(2))); });
      // The call does not throw for another item, which is taken in later.
      const bool blew = Fuse::Disarm();
      EXPECT_TRUE(blew || !threw);
      std::vector<int> came;
      for (int second = 0; second <= 5; ++second) {
        if (second > 0) clock.Step(kSecond);
        while (queue.Len() > 0) {
          const int value = queue.Get()->value();
          EXPECT_EQ(second, value == 2 && !threw ? 0 : value);
          came.push_back(value);
          EXPECT_TRUE(queue.Done(FragileKey(value)));
        }
      }
      EXPECT_EQ(came, threw ? (std::vector<int>{1, 2, 3})
                            : (std::vector<int>{2, 1, 3}));
      if (!blew) break;
      ++blown;
    }
  }
  EXPECT_GE(blown, 3);
}

#endif  // ABSL_HAVE_EXCEPTIONS

}  // namespace
}  // namespace workqueue::add_supersedes_test
