// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "test/stress/queue_life.h"

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <thread>  // NOLINT(build/c++11)
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "test/stress/crew.h"
#include "test/stress/debts.h"
#include "test/stress/lull.h"
#include "workqueue/base/mutex_lock.h"
#include "workqueue/executor.h"
#include "workqueue/lease.h"
#include "workqueue/lease_batch.h"
#include "workqueue/snapshot.h"
#include "workqueue/thread_pool.h"

namespace workqueue {
namespace {

using internal::MutexLock;
using Event = SoakCounts::Event;

// The operations of users. The first ones work on every kind of queue.
enum Deed {
  kAdd,
  kAddAll,
  kAddAfter,
  kAddRateLimited,
  kAddWithOptions,
  kCancelDelayed,
  kReschedule,
  kDeeds
};

// The ways in which a life ends.
enum class End {
  kShutDown,
  kDrain,
  kDrainWithin,
  kSeveral,      // several of the above, at once
  kWhenSettled,  // a drain, once nothing is owed
  kEnds
};

class QueueLife {
 public:
  QueueLife(SoakQueue queue, const SoakLife& life)
      : subject_(std::move(queue)), life_(life), random_(life.seed) {}

  void Live();

 private:
  // A third of the items is added and cancelled by one thread only, and a third
  // by one thread at a time. So what the queue owes for these is known exactly.
  // Operations on the remaining items race.
  enum Sharing { kOwned, kInTurn, kFree, kSharings };

  static constexpr int kOwners = 12;  // at least the number of movers
  static constexpr int kItems = kSharings * 2 * kOwners;

  static Sharing SharingOf(int item) {
    return static_cast<Sharing>(item % kSharings);
  }

  struct Turn {
    absl::Mutex mu;
    // Whether the item may be waiting for its time. Otherwise no cancel can
    // succeed. Not used for items whose operations race.
    bool may_wait ABSL_GUARDED_BY(mu) = false;
  };

  // Adds and moves items until it is told to stop. Performs the operation
  // `usual` more often than others.
  void Move(Crew::Member& self, int owner, Deed usual);

  // Returns an item that the mover `owner` may move.
  static int AnyItem(int owner, std::mt19937& random);

  // Performs `deed` on `item`. Unless operations on the item may race, no other
  // operation on the item runs at the same time.
  void Do(Deed deed, int item, std::mt19937& random);
  void DoInTurn(Deed deed, int item, std::mt19937& random, bool* may_wait);

  // Makes a call that adds `item`, at once or later. Returns whether the
  // addition was accepted.
  template <typename F>
  bool Adding(int item, bool later, F add);

  void Cancel(int item, bool* may_wait);

  // Processes an item that was handed out.
  void Process(int item, std::mt19937& random);

  // The next functions get items in several ways until there are no more.
  void GetAndDo(Crew::Member& self, uint32_t seed);
  void GetWithTimeouts(Crew::Member& self, uint32_t seed);
  void Lease(Crew::Member& self, uint32_t seed);

  // Gets items in callbacks, one after the other, until there are no more.
  struct CallbackWorker {
    void Next();

    QueueLife* life;
    Executor* executor;
    std::mt19937 random;
    workqueue::Lease<int> lease;
    std::atomic<bool> ended{false};
  };

  void TakeSnapshots(Crew::Member& self);
  void Check(const Snapshot<int>& snapshot);

  // Begins a lull and returns once the queue owes nothing.
  void Settle(Crew::Member& self);

  void BeginTheEnd(Crew& crew, End end);
  void Drain(Crew::Member& self, absl::Duration timeout, bool must_succeed);

  int UpTo(int max) { return static_cast<int>(random_() % (max + 1)); }

  SoakQueue subject_;
  Interface<int>& queue_ = *subject_.queue;
  const SoakLife& life_;
  std::mt19937 random_;
  Debts debts_{kItems};
  std::vector<Turn> turns_{kItems};
  Lull lull_;  // for the threads that move items
  std::atomic<bool> stop_{false};
  std::atomic<bool> ended_{false};  // a call that shuts down has returned
};

// -----------------------------------------------------------------------------
// Producers, cancellers and reschedulers
// -----------------------------------------------------------------------------

template <typename F>
bool QueueLife::Adding(int item, bool later, F add) {
  const bool ended = ended_;
  const int64_t addition = debts_.Adding(item);
  if (!add()) {
    EXPECT_TRUE(queue_.ShuttingDown()) << "not taken";
    return false;
  }
  EXPECT_FALSE(ended) << item << " was added after the end";
  if (later) {
    debts_.AddedLater(item, addition);
  } else {
    debts_.Added(item, addition);
  }
  return true;
}

void QueueLife::Cancel(int item, bool* may_wait) {
  if (!subject_.delaying->CancelDelayed(item)) return;
  debts_.Cancelled(item);
  life_.Count(Event::kCancels);
  if (may_wait == nullptr) return;
  EXPECT_TRUE(*may_wait) << item << " did not wait";
  *may_wait = false;
}

void QueueLife::DoInTurn(Deed deed, int item, std::mt19937& random,
                         bool* may_wait) {
  const absl::Duration delay = ShortDelay(random);
  bool later = delay > absl::ZeroDuration();
  bool added = false;
  bool ends_waiting = subject_.add_ends_waiting;
  Event event = later ? Event::kDelayedAdds : Event::kAdds;
  switch (deed) {
    case kAdd:
      later = false;
      event = Event::kAdds;
      added = Adding(item, later, [&] { return queue_.Add(item); });
      break;
    case kAddAll: {
      later = false;
      event = Event::kAdds;
      const int other = AnyItem(/*owner=*/-1, random);
      added = Adding(item, later, [&] {
        const int64_t addition = debts_.Adding(other);
        if (!queue_.AddAll({item, other, item})) return false;
        debts_.Added(other, addition);
        return true;
      });
      break;
    }
    case kAddAfter:
      added = Adding(item, later,
                     [&] { return subject_.delaying->AddAfter(item, delay); });
      break;
    case kAddRateLimited:
      later = true;
      event = Event::kDelayedAdds;
      added = Adding(item, later, [&] {
        return subject_.rate_limiting->AddRateLimited(item);
      });
      break;
    case kAddWithOptions: {
      AddOptions options;
      options.after = delay;
      options.priority = static_cast<int>(random() % 5) - 2;
      added = Adding(item, later, [&] {
        return subject_.priorities->AddWithOptions(options, {item});
      });
      break;
    }
    case kCancelDelayed:
      Cancel(item, may_wait);
      break;
    case kReschedule:
      ends_waiting = true;
      event = Event::kReschedules;
      added = Adding(item, later, [&] {
        return subject_.delaying->Reschedule(item, delay);
      });
      break;
    case kDeeds:
      break;
  }
  if (!added) return;
  life_.Count(event);
  if (may_wait != nullptr && (later || ends_waiting)) *may_wait = later;
}

void QueueLife::Do(Deed deed, int item, std::mt19937& random) {
  if (SharingOf(item) == kFree) {
    DoInTurn(deed, item, random, /*may_wait=*/nullptr);
    return;
  }
  MutexLock lock(&turns_[item].mu);
  DoInTurn(deed, item, random, &turns_[item].may_wait);
}

int QueueLife::AnyItem(int owner, std::mt19937& random) {
  int number = static_cast<int>(random() % (kItems / kSharings));
  Sharing sharing = static_cast<Sharing>(random() % kSharings);
  if (owner < 0) sharing = kFree;
  if (sharing == kOwned) number = number / kOwners * kOwners + owner;
  return number * kSharings + sharing;
}

void QueueLife::Move(Crew::Member& self, int owner, Deed usual) {
  static constexpr const char* kNames[] = {
      "Add",
      "AddAll",
      "AddAfter",
      "AddRateLimited",
      "AddWithOptions",
      "CancelDelayed",
      "Reschedule",
  };
  std::mt19937 random(life_.seed + owner);
  while (!stop_) {
    Deed deed = usual;
    if (random() % 2 == 0) deed = static_cast<Deed>(random() % kDeeds);
    const bool offered =
        deed <= kAddAll ||
        (deed == kAddRateLimited   ? subject_.rate_limiting != nullptr
         : deed == kAddWithOptions ? subject_.priorities != nullptr
                                   : subject_.delaying != nullptr);
    if (!offered) deed = kAdd;
    self.Doing(kNames[deed]);
    lull_.DoUnlessOn([&] { Do(deed, AnyItem(owner, random), random); });
    life_.Dawdle(random);
  }
}

// -----------------------------------------------------------------------------
// Workers
// -----------------------------------------------------------------------------

void QueueLife::Process(int item, std::mt19937& random) {
  debts_.Begin(item);
  life_.Count(Event::kHandOuts);
  if (random() % 2 == 0) std::this_thread::yield();
  life_.Dawdle(random);
  if (!lull_.on() && random() % 8 == 0 && SharingOf(item) == kFree) {
    Do(subject_.rate_limiting != nullptr ? kAddRateLimited : kAdd, item,
       random);
  } else if (subject_.rate_limiting != nullptr) {
    subject_.rate_limiting->Forget(item);
  }
  debts_.End(item);
}

void QueueLife::GetAndDo(Crew::Member& self, uint32_t seed) {
  std::mt19937 random(seed);
  self.Doing("Get");
  while (std::optional<int> item = queue_.Get()) {
    self.Doing("processing");
    Process(*item, random);
    self.Doing("Done");
    EXPECT_TRUE(queue_.Done(*item));
    self.Doing("Get");
  }
}

void QueueLife::GetWithTimeouts(Crew::Member& self, uint32_t seed) {
  std::mt19937 random(seed);
  while (true) {
    self.Doing("GetWithTimeout");
    const absl::StatusOr<int> item = queue_.GetWithTimeout(ShortDelay(random));
    if (absl::IsCancelled(item.status())) return;
    if (!item.ok()) {
      EXPECT_TRUE(absl::IsDeadlineExceeded(item.status()));
      continue;
    }
    Process(*item, random);
    self.Doing("Done");
    EXPECT_TRUE(queue_.Done(*item));
  }
}

void QueueLife::Lease(Crew::Member& self, uint32_t seed) {
  std::mt19937 random(seed);
  workqueue::Lease<int> lease;
  while (true) {
    if (random() % 4 == 0) {
      lease.Done();
      self.Doing("AcquireUpTo");
      absl::StatusOr<LeaseBatch<int>> batch =
          queue_.AcquireUpTo(1 + random() % 5);
      if (!batch.ok()) return;
      self.Doing("processing");
      for (workqueue::Lease<int>& one : *batch) {
        Process(*one, random);
        if (random() % 2 == 0) one.Done();
      }
      continue;
    }
    if (random() % 4 == 0) {
      lease.Done();
      self.Doing("Acquire");
      absl::StatusOr<workqueue::Lease<int>> next = queue_.Acquire();
      if (!next.ok()) return;
      lease = *std::move(next);
    } else {
      self.Doing("AcquireNext");
      if (!queue_.AcquireNext(&lease).ok()) return;
    }
    self.Doing("processing");
    Process(*lease, random);
  }
}

void QueueLife::CallbackWorker::Next() {
  life->queue_.AcquireNextAsync(
      &lease, executor, [this](absl::StatusOr<workqueue::Lease<int>> next) {
        if (!next.ok()) {
          EXPECT_TRUE(absl::IsCancelled(next.status()));
          EXPECT_FALSE(ended.exchange(true));
          return;
        }
        lease = *std::move(next);
        life->Process(*lease, random);
        Next();
      });
}

// -----------------------------------------------------------------------------
// Snapshots
// -----------------------------------------------------------------------------

void QueueLife::TakeSnapshots(Crew::Member& self) {
  std::mt19937 random(life_.seed);
  while (!stop_) {
    self.Doing("TakeSnapshot");
    Check(*queue_.TakeSnapshot());
    life_.Count(Event::kSnapshots);
    RealClock()->Sleep(ShortDelay(random));
  }
}

// A snapshot shows one moment. No item is both queued and being processed, no
// item is in a list twice, and each list is in its order.
void QueueLife::Check(const Snapshot<int>& snapshot) {
  std::set<int> busy;
  for (const auto& it : snapshot.processing) {
    EXPECT_TRUE(busy.insert(it.item).second) << it.item;
    EXPECT_LE(it.since, snapshot.taken_at);
  }
  const Snapshot<int>::Queued* last_queued = nullptr;
  for (const auto& it : snapshot.queued) {
    EXPECT_TRUE(busy.insert(it.item).second) << it.item;
    if (last_queued != nullptr) {
      EXPECT_GE(last_queued->priority, it.priority);
    }
    last_queued = &it;
  }
  if (snapshot.shutting_down) {
    EXPECT_TRUE(snapshot.waiting.empty());
  }
  std::set<int> waiting;
  absl::Time last_ready_at = absl::InfinitePast();
  for (const auto& it : snapshot.waiting) {
    EXPECT_TRUE(waiting.insert(it.item).second) << it.item;
    EXPECT_GE(it.ready_at, std::exchange(last_ready_at, it.ready_at));
  }
}

// -----------------------------------------------------------------------------
// Lulls, and the end
// -----------------------------------------------------------------------------

void QueueLife::Settle(Crew::Member& self) {
  self.Doing("waiting for what is owed");
  lull_.Begin();
  debts_.AwaitSettled();
}

void QueueLife::Drain(Crew::Member& self, absl::Duration timeout,
                      bool must_succeed) {
  self.Doing("ShutDownWithDrainWithin");
  if (queue_.ShutDownWithDrainWithin(timeout)) {
    debts_.Close();
    life_.Count(Event::kDrains);
  } else {
    EXPECT_FALSE(must_succeed) << "nothing else ends a drain";
  }
  ended_ = true;
}

void QueueLife::BeginTheEnd(Crew& crew, End end) {
  const auto drain = [this](Crew::Member& self, int) {
    Drain(self, absl::InfiniteDuration(), /*must_succeed=*/true);
  };
  const absl::Duration soon = absl::Microseconds(UpTo(2000));
  const auto drain_within = [this, soon](Crew::Member& self, int) {
    Drain(self, soon, /*must_succeed=*/false);
  };
  const auto shut_down = [this](Crew::Member& self, int) {
    self.Doing("ShutDown");
    queue_.ShutDown();
    ended_ = true;
  };
  switch (end) {
    case End::kShutDown:
      crew.Start("ender", 1, shut_down);
      break;
    case End::kDrain:
      crew.Start("ender", 1 + UpTo(1), drain);
      break;
    case End::kDrainWithin:
      crew.Start("ender", 1 + UpTo(1), drain_within);
      break;
    case End::kSeveral:
      crew.Start("ender", 1, [this](Crew::Member& self, int) {
        Drain(self, absl::InfiniteDuration(), /*must_succeed=*/false);
      });
      crew.Start("ender", 1, drain_within);
      crew.Start("ender", 2, shut_down);
      break;
    case End::kWhenSettled:
      Settle(crew.captain());
      crew.Start("ender", 1, drain);
      break;
    case End::kEnds:
      break;
  }
}

void QueueLife::Live() {
  Crew crew(life_.name);
  crew.AbortUnlessGoneBy(life_.Deadline());
  // A worker with timeouts also finds items that it was not woken for. So some
  // lives have no such worker.
  const int getters = UpTo(3);
  crew.Start("getter", getters, [this](Crew::Member& self, int i) {
    GetAndDo(self, life_.seed + 100 + i);
  });
  crew.Start("getter with timeouts", UpTo(2),
             [this](Crew::Member& self, int i) {
               GetWithTimeouts(self, life_.seed + 200 + i);
             });
  crew.Start(
      "lessee", getters == 0 ? 1 : UpTo(2),
      [this](Crew::Member& self, int i) { Lease(self, life_.seed + 300 + i); });
  // Some callbacks run on the threads of others, and some on a pool.
  InlineExecutor inline_executor;
  ThreadPoolOptions pool_options;
  pool_options.threads = 1 + UpTo(2);
  auto pool = *ThreadPool::Create(std::move(pool_options));
  std::deque<CallbackWorker> callbacks(UpTo(4));
  for (CallbackWorker& worker : callbacks) {
    worker.life = this;
    worker.executor = UpTo(1) == 0 ? static_cast<Executor*>(&inline_executor)
                                   : static_cast<Executor*>(pool.get());
    worker.random.seed(random_());
    worker.Next();
  }
  crew.Start("producer", 1 + UpTo(3), [this](Crew::Member& self, int i) {
    Move(self, i,
         subject_.delaying != nullptr && i % 2 == 0 ? kAddAfter : kAdd);
  });
  crew.Start("canceller", UpTo(2), [this](Crew::Member& self, int i) {
    Move(self, 4 + i, kCancelDelayed);
  });
  crew.Start("rescheduler", UpTo(2), [this](Crew::Member& self, int i) {
    Move(self, 8 + i, kReschedule);
  });
  crew.Start("taker of snapshots", UpTo(2),
             [this](Crew::Member& self, int) { TakeSnapshots(self); });
  for (const absl::Time end = RealClock()->TimeNow() + life_.length;
       RealClock()->TimeNow() < end;) {
    Settle(crew.captain());
    lull_.End();
    crew.captain().Doing("watching");
    RealClock()->Sleep(absl::Milliseconds(UpTo(20)));
  }

  const auto end = static_cast<End>(random_() % static_cast<int>(End::kEnds));
  BeginTheEnd(crew, end);
  crew.captain().Doing("watching");
  RealClock()->Sleep(absl::Milliseconds(UpTo(2)));
  stop_ = true;
  crew.Join();

  EXPECT_TRUE(queue_.ShutDownWithDrain());
  EXPECT_TRUE(queue_.ShuttingDown());
  EXPECT_FALSE(queue_.Add(0));
  EXPECT_TRUE(absl::IsCancelled(queue_.TryGet().status()));
  const Snapshot<int> snapshot = *queue_.TakeSnapshot();
  EXPECT_TRUE(snapshot.queued.empty());
  EXPECT_TRUE(snapshot.processing.empty());
  const int dropped = debts_.ExpectPaidButDelayed();
  if (end == End::kWhenSettled) {
    EXPECT_EQ(dropped, 0);
  }
  life_.Count(Event::kDropped, dropped);
  crew.captain().Doing("destroying the queue");
  subject_.queue.reset();
  pool.reset();
  for (const CallbackWorker& worker : callbacks) EXPECT_TRUE(worker.ended);
}

}  // namespace

void LiveAsQueue(SoakQueue queue, const SoakLife& life) {
  QueueLife(std::move(queue), life).Live();
}

}  // namespace workqueue
