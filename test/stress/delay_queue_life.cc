// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "test/stress/delay_queue_life.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <optional>
#include <random>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "test/stress/crew.h"
#include "test/stress/lull.h"
#include "workqueue/base/mutex_lock.h"
#include "workqueue/timer/delay_queue.h"

namespace workqueue {
namespace {

using internal::MutexLock;
using Event = SoakCounts::Event;

// The history of one value. A thread that cancels or resets the value holds
// `mu`. So its due time is known, except while such a call runs.
struct Fate {
  std::atomic<int64_t> not_before{0};  // nanoseconds since the Unix epoch
  std::atomic<bool> taken{false};

  absl::Mutex mu;
  DelayQueueHandle handle ABSL_GUARDED_BY(mu);
  absl::Time due_by ABSL_GUARDED_BY(mu);
  bool cancelled ABSL_GUARDED_BY(mu) = false;
};

class DelayQueueLife {
 public:
  DelayQueueLife(const WaitingSetOptions& waiting_set, const SoakLife& life)
      : tick_(waiting_set.tick()), life_(life), random_(life.seed) {
    DelayQueueOptions options;
    options.waiting_set = waiting_set;
    queue_.emplace(std::move(options));
  }

  void Live();

 private:
  static constexpr int kPushers = 3;

  // The next functions run until they are told to stop.
  void Push(Crew::Member& self, int pusher);
  void CancelAndReset(Crew::Member& self, uint32_t seed);

  void PushOne(Fate* fate, absl::Duration delay);
  void Cancel(Fate* fate);
  void Reset(Fate* fate, absl::Duration delay);

  // The next functions take values in several ways until the queue is shut
  // down.
  void TakeAll(Crew::Member& self, uint32_t seed);
  void TakeWithTimeouts(Crew::Member& self, uint32_t seed);
  void Stream(Crew::Member& self, uint32_t seed);

  // Begins a lull and returns once nothing is left.
  void Settle(Crew::Member& self);

  void Taken(Fate* fate, std::mt19937& random);

  // Returns the number of values dropped by the shutdown. Expects that none of
  // them was due when the shutdown began.
  int ExpectTakenIfDueBefore(absl::Time shut_down_at);

  int UpTo(int max) { return static_cast<int>(random_() % (max + 1)); }

  const absl::Duration tick_;
  const SoakLife& life_;
  std::mt19937 random_;
  std::array<std::deque<Fate>, kPushers> fates_;
  // Some of the values pushed last.
  std::array<std::atomic<Fate*>, 64> recent_{};
  std::atomic<int64_t> left_{0};  // neither taken nor cancelled
  Lull lull_;                     // for the threads that push, cancel and reset
  std::atomic<bool> stop_{false};
  std::optional<DelayQueue<Fate*>> queue_;
};

void DelayQueueLife::PushOne(Fate* fate, absl::Duration delay) {
  const bool ended = queue_->ShuttingDown();
  MutexLock lock(&fate->mu);
  fate->not_before = absl::ToUnixNanos(RealClock()->TimeNow() + delay);
  ++left_;
  fate->handle = queue_->Push(fate, delay);
  fate->due_by = RealClock()->TimeNow() + delay;
  if (fate->handle) {
    EXPECT_FALSE(ended) << "pushed after the end";
    life_.Count(delay > absl::ZeroDuration() ? Event::kDelayedAdds
                                             : Event::kAdds);
  } else {
    EXPECT_TRUE(queue_->ShuttingDown());
    fate->cancelled = true;
    --left_;
  }
}

void DelayQueueLife::Push(Crew::Member& self, int pusher) {
  std::mt19937 random(life_.seed + pusher);
  while (!stop_) {
    self.Doing("Push");
    lull_.DoUnlessOn([&] {
      Fate* const fate = &fates_[pusher].emplace_back();
      PushOne(fate, ShortDelay(random));
      recent_[random() % recent_.size()] = fate;
    });
    life_.Dawdle(random);
  }
}

void DelayQueueLife::Cancel(Fate* fate) {
  MutexLock lock(&fate->mu);
  if (!queue_->Cancel(fate->handle)) return;
  EXPECT_FALSE(std::exchange(fate->cancelled, true)) << "cancelled twice";
  --left_;
  life_.Count(Event::kCancels);
}

void DelayQueueLife::Reset(Fate* fate, absl::Duration delay) {
  MutexLock lock(&fate->mu);
  // Until the call returns, the value may come at its old or its new time.
  const int64_t old_not_before = fate->not_before;
  const int64_t not_before = absl::ToUnixNanos(RealClock()->TimeNow() + delay);
  fate->not_before = std::min(old_not_before, not_before);
  if (queue_->Reset(fate->handle, delay)) {
    fate->not_before = not_before;
    fate->due_by = RealClock()->TimeNow() + delay;
    life_.Count(Event::kReschedules);
  }
}

void DelayQueueLife::CancelAndReset(Crew::Member& self, uint32_t seed) {
  std::mt19937 random(seed);
  while (!stop_) {
    Fate* const fate = recent_[random() % recent_.size()];
    if (fate == nullptr) continue;
    self.Doing("Cancel, or Reset");
    lull_.DoUnlessOn([&] {
      if (random() % 2 == 0) {
        Cancel(fate);
      } else {
        Reset(fate, ShortDelay(random));
      }
    });
    life_.Dawdle(random);
  }
}

void DelayQueueLife::Taken(Fate* fate, std::mt19937& random) {
  EXPECT_GE(absl::ToUnixNanos(RealClock()->TimeNow()), fate->not_before);
  EXPECT_FALSE(fate->taken.exchange(true)) << "taken twice";
  --left_;
  life_.Count(Event::kHandOuts);
  life_.Dawdle(random);
}

void DelayQueueLife::TakeAll(Crew::Member& self, uint32_t seed) {
  std::mt19937 random(seed);
  while (true) {
    if (random() % 2 == 0) {
      self.Doing("TakeUpTo");
      const auto fates = queue_->TakeUpTo(1 + random() % 8);
      if (!fates.ok()) return;
      for (Fate* fate : *fates) Taken(fate, random);
    } else {
      self.Doing("Take");
      const std::optional<Fate*> fate = queue_->Take();
      if (!fate.has_value()) return;
      Taken(*fate, random);
    }
  }
}

void DelayQueueLife::TakeWithTimeouts(Crew::Member& self, uint32_t seed) {
  std::mt19937 random(seed);
  while (true) {
    self.Doing("TakeWithTimeout");
    const absl::StatusOr<Fate*> fate =
        queue_->TakeWithTimeout(ShortDelay(random));
    if (absl::IsCancelled(fate.status())) return;
    if (fate.ok()) {
      Taken(*fate, random);
    } else {
      EXPECT_TRUE(absl::IsDeadlineExceeded(fate.status()));
    }
  }
}

void DelayQueueLife::Stream(Crew::Member& self, uint32_t seed) {
  std::mt19937 random(seed);
  self.Doing("Stream");
  for (Fate* fate : queue_->Stream()) Taken(fate, random);
}

void DelayQueueLife::Settle(Crew::Member& self) {
  self.Doing("waiting for all to be taken");
  lull_.Begin();
  while (left_ > 0) Lull::Nap();
  EXPECT_EQ(queue_->Len(), 0u);
}

int DelayQueueLife::ExpectTakenIfDueBefore(absl::Time shut_down_at) {
  int dropped = 0;
  for (std::deque<Fate>& fates : fates_) {
    for (Fate& fate : fates) {
      MutexLock lock(&fate.mu);
      EXPECT_FALSE(fate.taken && fate.cancelled);
      if (fate.taken || fate.cancelled) continue;
      EXPECT_GE(fate.due_by + tick_, shut_down_at) << "a due value was lost";
      ++dropped;
    }
  }
  return dropped;
}

void DelayQueueLife::Live() {
  Crew crew(life_.name);
  crew.AbortUnlessGoneBy(life_.Deadline());
  // A taker with deadlines also finds values that it was not woken for. So some
  // lives have no such taker.
  crew.Start("taker", 1 + UpTo(2), [this](Crew::Member& self, int i) {
    TakeAll(self, life_.seed + 100 + i);
  });
  crew.Start("taker with deadlines", UpTo(2),
             [this](Crew::Member& self, int i) {
               TakeWithTimeouts(self, life_.seed + 200 + i);
             });
  crew.Start("streamer", UpTo(1), [this](Crew::Member& self, int i) {
    Stream(self, life_.seed + 300 + i);
  });
  crew.Start("pusher", 1 + UpTo(kPushers - 1),
             [this](Crew::Member& self, int i) { Push(self, i); });
  crew.Start("canceller", UpTo(2), [this](Crew::Member& self, int i) {
    CancelAndReset(self, life_.seed + 400 + i);
  });
  for (const absl::Time end = RealClock()->TimeNow() + life_.length;
       RealClock()->TimeNow() < end;) {
    Settle(crew.captain());
    lull_.End();
    crew.captain().Doing("watching");
    RealClock()->Sleep(absl::Milliseconds(UpTo(20)));
  }

  const bool in_mid_flight = UpTo(2) > 0;
  if (!in_mid_flight) Settle(crew.captain());
  const absl::Time shut_down_at = RealClock()->TimeNow();
  crew.Start("ender", 1 + UpTo(1), [this](Crew::Member& self, int) {
    self.Doing("ShutDown");
    queue_->ShutDown();
  });
  crew.captain().Doing("watching");
  RealClock()->Sleep(absl::Milliseconds(UpTo(2)));
  stop_ = true;
  crew.Join();

  EXPECT_TRUE(absl::IsCancelled(queue_->TryTake().status()));
  EXPECT_EQ(queue_->Len(), 0u);
  const int dropped = ExpectTakenIfDueBefore(shut_down_at);
  if (!in_mid_flight) {
    EXPECT_EQ(dropped, 0);
  }
  life_.Count(Event::kDropped, dropped);
  crew.captain().Doing("destroying the queue");
  queue_.reset();
}

}  // namespace

void LiveAsDelayQueue(const WaitingSetOptions& waiting_set,
                      const SoakLife& life) {
  DelayQueueLife(waiting_set, life).Live();
}

}  // namespace workqueue
