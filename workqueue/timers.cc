// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/timers.h"

#include <array>
#include <cstddef>
#include <utility>

#include "absl/cleanup/cleanup.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "workqueue/base/error_log.h"
#include "workqueue/base/exceptions.h"
#include "workqueue/base/mutex_lock.h"
#include "workqueue/base/slab.h"
#include "workqueue/base/trampoline.h"
#include "workqueue/executor.h"
#include "workqueue/internal/submit_task.h"

namespace workqueue {

using internal::MutexLock;

Timers::Timers(TimersOptions options)
    : clock_(options.clock.clock()),
      loop_(options.clock.LoopOrNew(options.name)),
      waiting_(options.waiting_set, clock_) {
  loop_->Add(this);
}

// This thread submits what is left, because it may be the loop's.
Timers::~Timers() {
  ShutDown();
  loop_->Remove(this);
  const auto left = [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    return entries_.size() == 0 || waiting_.size() > 0;
  };
  while (true) {
    internal::Trampoline::RunDeferred();
    {
      MutexLock lock(&mu_);
      // Calls in progress return without the loop.
      if (!left() && entries_.size() > calls_ && RunsHere()) {
        internal::Fatal(
            "timers are destroyed on the thread that runs their waiting loop "
            "or an executor, while executors still have callbacks; shut them "
            "down first, and let the loop run");
      }
      clock_->AwaitWithDeadline(&mu_, absl::Condition(&left),
                                absl::InfiniteFuture());
      if (entries_.size() == 0) return;
    }
    Run(absl::InfinitePast());
  }
}

bool Timers::RunsHere() const {
  bool here = loop_->driven() && loop_->IsRunHere();
  entries_.ForEach([&here](const Entry* entry) {
    // After its callback, the executor may be gone.
    here = here || (entry->callback != nullptr && entry->executor->RunsHere());
  });
  return here;
}

TimerId Timers::CallAfter(absl::Duration delay, Executor* executor,
                          TimerCallback callback) {
  internal::DieIfNull(executor, "executor of CallAfter()");
  internal::DieIfNull(callback, "callback of CallAfter()");
  const absl::Time now = clock_->TimeNow();
  MutexLock lock(&mu_);
  const absl::Time due_at = shut_down_ ? absl::InfinitePast() : now + delay;
  waiting_.Reserve(entries_.NextSlot(), due_at);
  Entry* const entry = entries_.New(executor, std::move(callback));
  const absl::Time next = waiting_.Insert(entry->slot(), due_at, now);
  if (wake_time_.WakeBy(next)) loop_->Wake(this);
  return entries_.HandleOf(entry);
}

bool Timers::Cancel(TimerId id) {
  TimerCallback cancelled;  // destroyed without the lock
  MutexLock lock(&mu_);
  Entry* const entry = entries_.Find(id);
  if (entry == nullptr || entry->callback == nullptr) return false;
  cancelled = std::exchange(entry->callback, nullptr);
  if (!entry->submitted) {
    waiting_.Remove(entry->slot());
    Remove(entry);
  }
  return true;
}

void Timers::ShutDown() {
  const absl::Time now = clock_->TimeNow();
  MutexLock lock(&mu_);
  if (std::exchange(shut_down_, true)) return;
  // The earliest time is due, whatever the clock shows later.
  entries_.ForEach([&, this](Entry* entry) ABSL_NO_THREAD_SAFETY_ANALYSIS {
    if (entry->submitted) return;
    waiting_.Move(entry->slot(), absl::InfinitePast(), now);
  });
  if (wake_time_.WakeBy(absl::InfinitePast())) loop_->Wake(this);
}

absl::Time Timers::Run(absl::Time now) {
  std::array<Entry*, kMostAtOnce> due;
  size_t count = 0;
  absl::Time next = now;
  {
    MutexLock lock(&mu_);
    internal::SlabId slot = internal::kNoSlabId;
    while (count < due.size() &&
           (slot = waiting_.Due(now)) != internal::kNoSlabId) {
      waiting_.Remove(slot);
      Entry* const entry = entries_.At(slot);
      entry->submitted = true;
      entry->ended = shut_down_;
      due[count++] = entry;
    }
    if (slot == internal::kNoSlabId) next = waiting_.NextWake();
    wake_time_.Set(next);
  }
  for (size_t i = 0; i < count; ++i) {
    Entry* const entry = due[i];
    internal::SubmitTask(entry->executor, [this, entry] { Call(entry); });
  }
  return next;
}

void Timers::Call(Entry* entry) {
  const absl::Cleanup remove = [this, entry] {
    MutexLock lock(&mu_);
    --calls_;
    Remove(entry);
  };
  TimerCallback callback;  // destroyed before the entry
  {
    MutexLock lock(&mu_);
    ++calls_;
    callback = std::exchange(entry->callback, nullptr);
  }
  if (callback == nullptr) return;
  std::move(callback)(
      entry->ended ? internal::MakeError(absl::StatusCode::kCancelled,
                                         "the timers have been shut down")
                   : absl::OkStatus());
}

void Timers::Remove(Entry* entry) {
  entries_.Delete(entry);
  const bool compacted = entries_.CompactIfDue(
      [this](Entry* from, Entry* to) ABSL_NO_THREAD_SAFETY_ANALYSIS {
        waiting_.Renumber(from->slot(), to->slot());
        entries_.Delete(from);
      },
      // A task has the address of an entry that has been submitted.
      [](const Entry& it) { return !it.submitted; });
  if (compacted) waiting_.Shrink(entries_.slot_limit());
}

}  // namespace workqueue
