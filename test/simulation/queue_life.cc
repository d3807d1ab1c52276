// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "test/simulation/queue_life.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "test/simulation/any_executor.h"
#include "workqueue/lease_batch.h"
#include "workqueue/snapshot.h"

namespace workqueue {
namespace {

using simulation::AtRest;
using simulation::Check;
using simulation::Choose;

void CheckEnd(const absl::Status& status) {
  Check(absl::IsCancelled(status), "a wait ends without a reason");
}

}  // namespace

DelayingInterface<std::string>* QueueLife::delaying() const {
  return options_.delays ? static_cast<DelayingInterface<Key>*>(queue_.get())
                         : nullptr;
}

RateLimitingInterface<std::string>* QueueLife::limiting() const {
  return options_.rate_limits
             ? static_cast<RateLimitingInterface<Key>*>(queue_.get())
             : nullptr;
}

const std::string& QueueLife::AnyKey() {
  return keys_[Choose(static_cast<int>(keys_.size()))];
}

void QueueLife::Live() {
  for (int i = 1 + Choose(3); i > 0; --i) {
    // So long that each copy takes memory.
    keys_.push_back(std::string(32, static_cast<char>('a' + keys_.size())));
  }
  executor_ = AnyExecutor();
  queue_ = options_.make();
  {
    Threads workers;
    {
      Threads others;
      const int num_workers = Choose(4);
      loops_only_ = OneIn(2);
      has_worker_ = loops_only_ && num_workers > 0;
      const int kinds = Choose(2);  // all alike, or not
      for (int i = 0; i < num_workers; ++i) {
        const int kind = kinds == 0 && i > 0 ? 0 : Choose(6);
        workers.Start([this, kind] { Work(kind); });
      }
      for (int i = loops_only_ ? 0 : Choose(3); i > 0; --i) WorkAsync();
      for (int i = 1 + Choose(3); i > 0; --i) {
        others.Start([this] {
          for (int n = 1 + Choose(3); n > 0; --n) AddSome();
        });
      }
      if (OneIn(3)) others.Start([this] { Look(); });
      if (options_.delays && OneIn(3)) others.Start([this] { Watch(); });
      if (OneIn(2)) others.Start([this] { CancelSome(); });
      if (OneIn(3)) {
        ending_ = true;
        if (OneIn(2)) others.Join();
        End();
      }
    }
    AtRest([this] { CheckRest(); });
    for (int n = Choose(3); n > 0 && !ending_; --n) {
      if (OneIn(2)) AddSome();
      if (options_.delays && OneIn(2)) {
        simulation::Sleep(absl::Milliseconds(500 + 1000 * Choose(2)));
      }
      AtRest([this] { CheckRest(); });
    }
    if (!ending_) {
      AtRest([this] {
        ending_ = true;
        // Its workers block in it, and their calls end with nothing.
        destroying_ = tokens_.empty() && callbacks_ == 0 &&
                      queue_->TakeSnapshotUpTo(0)->num_waiting == 0 &&
                      queue_->Len() == 0 && OneIn(3);
      });
      if (destroying_) {
        queue_.reset();
      } else {
        End();
      }
    }
  }
  if (queue_ != nullptr) {
    simulation::AwaitIdle();
    while (!tokens_.empty() || callbacks_ > 0) {
      simulation::Sleep(absl::Seconds(1));
      simulation::AwaitIdle();
    }
    // What the workers that do not wait for ever have left.
    while (true) {
      const int64_t begin = history_.Begin();
      const absl::StatusOr<Key> key = queue_->TryGet();
      if (!key.ok()) {
        Check(absl::IsCancelled(key.status()), "a queue does not end");
        break;
      }
      NoteHandOut(*key, begin);
      Done(*key);
    }
    Check(queue_->Len() == 0, "an item is left");
    history_.IsIdle(history_.Begin());
    queue_.reset();
  }
  for (const std::shared_ptr<Call>& call : calls_) {
    Check(call->called != call->cancelled, "a callback is lost");
  }
  executor_.reset();
  if (!destroying_) history_.Verify();
}

void QueueLife::NoteAdd(const Key& key, bool added, absl::Duration due) {
  if (!added) {
    Check(queue_->ShuttingDown(), "an open queue refuses an item");
    return;
  }
  const auto [it, is_new] = earliest_.emplace(key, due);
  if (!is_new) it->second = (std::min)(it->second, due);
}

void QueueLife::AddSome() {
  if (options_.delays && OneIn(2)) {
    AddLater(AnyKey());
    return;
  }
  if (!OneIn(3)) {
    AddOne(AnyKey());
    return;
  }
  std::vector<Key> keys;
  for (int n = 1 + Choose(3); n > 0; --n) keys.push_back(AnyKey());
  const int64_t begin = history_.Begin();
  for (const Key& key : keys) earliest_[key] = absl::ZeroDuration();
  bool added = false;
  if (!IfMemoryLasts([&] { added = queue_->AddAll(keys); })) {
    for (const Key& key : keys) {
      history_.Perhaps(key, QueueOperation::kAdd, begin);
    }
    return;
  }
  for (const Key& key : keys) {
    NoteAdd(key, added, absl::ZeroDuration());
    if (added) history_.End(key, QueueOperation::kAdd, begin);
  }
}

void QueueLife::AddOne(const Key& key) {
  const int64_t begin = history_.Begin();
  earliest_[key] = absl::ZeroDuration();
  bool added = false;
  AddOptions options;
  const bool has_priority = options_.priorities && OneIn(2);
  if (has_priority) options.priority = Choose(3);
  if (!IfMemoryLasts([&] {
        added = has_priority ? queue_->AddWithOptions(options, {key})
                             : queue_->Add(key);
      })) {
    return;
  }
  NoteAdd(key, added, absl::ZeroDuration());
  if (added) history_.End(key, QueueOperation::kAdd, begin);
}

void QueueLife::AddLater(const Key& key) {
  const int64_t begin = history_.Begin();
  const absl::Duration delay = absl::Milliseconds(500 * Choose(4));
  const absl::Duration due = simulation::Now() + delay;
  const int way = Choose(options_.rate_limits ? 5 : 4);
  AddOptions reschedule;
  reschedule.after = delay;
  reschedule.reschedule = true;
  std::vector<Key> keys = {key};
  if (way == 2 && OneIn(2)) keys.push_back(AnyKey());
  const auto changes = [&] {
    for (const Key& it : keys) {
      owed_.erase(it);
      ++cancels_[it];
    }
  };
  const int cancels = cancels_[key];
  for (const Key& it : keys) {
    absl::Duration& earliest = earliest_.emplace(it, due).first->second;
    earliest = way == 4 ? absl::ZeroDuration() : (std::min)(earliest, due);
  }
  if (way == 2 || way == 3) changes();
  bool added = false;
  const bool lasts = IfMemoryLasts([&] {
    switch (way) {
      case 2:
        added = queue_->AddWithOptions(reschedule, keys);
        break;
      case 3:
        delaying()->CancelDelayed(key);
        break;
      case 4:
        added = limiting()->AddRateLimited(key);
        break;
      default:
        added = delaying()->AddAfter(key, delay);
    }
  });
  if (way == 2 || way == 3) changes();
  if (way == 3) return;
  if (lasts) {
    for (const Key& it : keys) NoteAdd(it, added, due);
  }
  if (way == 4 && OneIn(2)) limiting()->Forget(key);
  // Of several, some may have been added.
  if (!added && keys.size() == 1) return;
  // A shutdown or a cancellation may drop it.
  for (const Key& it : keys) {
    history_.Perhaps(it, QueueOperation::kAddLater, begin);
  }
  if (way < 2 && !ending_ && cancels_[key] == cancels && cancels % 2 == 0) {
    const auto found = owed_.find(key);
    if (found == owed_.end() || found->second.due > simulation::Now()) {
      Owed owed = {begin, due + (simulation::Now() - (due - delay))};
      // The earlier time counts.
      if (found != owed_.end() && last_hand_out_[key] < found->second.event) {
        owed.due = (std::min)(owed.due, found->second.due);
      }
      owed_[key] = owed;
    }
  }
}

void QueueLife::NoteHandOut(const Key& key, int64_t begin) {
  const int64_t token = history_.HandOut(key, begin);
  tokens_[key] = token;
  last_hand_out_[key] = token;
  const auto it = earliest_.find(key);
  Check(it != earliest_.end(), "an item comes that nobody added");
  Check(it->second <= simulation::Now(), "an item comes too early");
}

void QueueLife::Done(const Key& key) {
  const int64_t token = tokens_[key];
  tokens_.erase(key);
  const int64_t begin = history_.BeginEnd(key);
  {
    const simulation::MemoryMayRunOut may;
    Check(queue_->Done(key), "Done() finds nothing");
  }
  history_.End(key, QueueOperation::kDone, begin, token);
}

void QueueLife::Process(const Key& key) {
  switch (Choose(6)) {
    case 3:
      AddOne(key);  // It is processed again.
      break;
    case 4:
      simulation::Sleep(absl::Milliseconds(700));
      break;
    case 5:
      AddSome();
      break;
    default:
      break;
  }
}

void QueueLife::EndLease(Lease<Key>* lease) {
  const Key key = **lease;
  if (OneIn(8)) Check(!queue_->Done(key), "Done() ends a lease");
  const int64_t token = tokens_[key];
  tokens_.erase(key);
  const int64_t begin = history_.BeginEnd(key);
  // For ever would be a livelock.
  const bool gives_back = !loops_only_ && Choose(8) == 7;
  const bool drops = !gives_back && !OneIn(2);
  {
    const simulation::MemoryMayRunOut may;
    if (drops) {
      *lease = Lease<Key>();
    } else {
      Check(gives_back ? lease->GiveBack() : lease->Done(), "a lease is lost");
    }
  }
  history_.End(key,
               gives_back ? QueueOperation::kGiveBack : QueueOperation::kDone,
               begin, token);
}

void QueueLife::Work(int kind) {
  Lease<Key> lease;
  while (true) {
    const int64_t begin = history_.Begin();
    ++waiting_;
    if (kind <= 1) {
      absl::StatusOr<Key> key;
      const bool lasts = IfMemoryLasts([&] {
        if (kind == 1) {
          key = queue_->GetWithTimeout(absl::Seconds(1));
          return;
        }
        std::optional<Key> got = queue_->Get();
        key = absl::CancelledError("");
        if (got.has_value()) key = *std::move(got);
      });
      --waiting_;
      if (!lasts) continue;
      if (kind == 1 && absl::IsDeadlineExceeded(key.status())) {
        if (destroying_) break;
        continue;
      }
      if (!key.ok()) {
        CheckEnd(key.status());
        break;
      }
      NoteHandOut(*key, begin);
      Process(*key);
      Done(*key);
      continue;
    }
    if (kind == 2) {
      absl::StatusOr<LeaseBatch<Key>> batch;
      const bool lasts = IfMemoryLasts([&] { batch = queue_->AcquireUpTo(2); });
      --waiting_;
      if (!lasts) continue;
      if (!batch.ok()) {
        CheckEnd(batch.status());
        break;
      }
      for (Lease<Key>& it : *batch) NoteHandOut(*it, begin);
      for (Lease<Key>& it : *batch) {
        Process(*it);
        EndLease(&it);
      }
      continue;
    }
    if (kind == 3) {
      absl::StatusOr<Lease<Key>> got;
      const bool lasts = IfMemoryLasts([&] { got = queue_->Acquire(); });
      --waiting_;
      if (!lasts) continue;
      if (!got.ok()) {
        CheckEnd(got.status());
        break;
      }
      NoteHandOut(**got, begin);
      Process(**got);
      EndLease(&*got);
      continue;
    }
    // Kinds 4 and 5 end one lease with the next one's begin.
    Key ended;
    int64_t token = 0;
    int64_t end = 0;
    if (lease) {
      ended = *lease;
      token = tokens_[ended];
      tokens_.erase(ended);
      end = history_.BeginEnd(ended);
    }
    absl::Status status;
    const bool lasts = IfMemoryLasts([&] {
      status = queue_->AcquireInto(
          &lease, kind == 4 ? absl::InfiniteDuration() : absl::Seconds(1));
    });
    --waiting_;
    if (!ended.empty()) {
      history_.End(ended, QueueOperation::kDone, end, token);
    }
    if (!lasts) continue;
    if (kind == 5 && absl::IsDeadlineExceeded(status)) {
      if (destroying_) break;
      continue;
    }
    if (!status.ok()) {
      CheckEnd(status);
      break;
    }
    NoteHandOut(*lease, begin);
    Process(*lease);
  }
  Check(ending_, "an open queue ends");
}

void QueueLife::WorkAsync(Lease<Key>* lease) {
  const int64_t begin = history_.Begin();
  auto call = std::make_shared<Call>();
  calls_.push_back(call);
  Lease<Key> none;
  const bool lasts = IfMemoryLasts([&] {
    call->id = queue_->AcquireNextAsync(
        lease != nullptr ? lease : &none, executor_.get(),
        [this, call, begin](absl::StatusOr<Lease<Key>> it) {
          Check(!call->called, "a callback is called twice");
          Check(!call->cancelled, "a cancelled callback is called");
          call->called = true;
          OnLease(std::move(it), begin);
        });
  });
  if (!lasts) call->cancelled = true;
}

void QueueLife::OnLease(absl::StatusOr<Lease<Key>> lease, int64_t begin) {
  // A call for which memory may run out may have called this.
  const simulation::MemoryMayRunOut spared(false);
  ++callbacks_;
  absl::Cleanup ended = [this] { --callbacks_; };
  // The callback may be called where memory may run out. The item stays then.
  if (absl::IsInternal(lease.status())) return;
  if (!lease.ok()) {
    Check(absl::IsCancelled(lease.status()) && ending_,
          "a callback gets a wrong error");
    return;
  }
  NoteHandOut(**lease, begin);
  Process(**lease);
  const bool goes_on = !ending_ && OneIn(2);
  if (!goes_on || OneIn(2)) {
    EndLease(&*lease);
    if (goes_on) WorkAsync();
    return;
  }
  // The end of this lease is the begin of the next wait.
  const Key key = **lease;
  const int64_t token = tokens_[key];
  tokens_.erase(key);
  const int64_t next = history_.BeginEnd(key);
  WorkAsync(&*lease);
  history_.End(key, QueueOperation::kDone, next, token);
}

void QueueLife::Look() {
  for (int n = 1 + Choose(2); n > 0; --n) {
    switch (Choose(3)) {
      case 0:
        queue_->Len();
        break;
      case 1:
        IfMemoryLasts(
            [this] { Check(queue_->TakeSnapshot().ok(), "a snapshot fails"); });
        break;
      default: {
        if (loops_only_) break;
        const int64_t begin = history_.Begin();
        absl::StatusOr<Key> key;
        if (!IfMemoryLasts([&] { key = queue_->TryGet(); }) || !key.ok()) break;
        NoteHandOut(*key, begin);
        Done(*key);
      }
    }
  }
}

void QueueLife::CancelSome() {
  for (int n = 3 * static_cast<int>(calls_.size()); n > 0; --n) {
    // Another thread may have to begin or wake it first.
    sync::Yield();
    const std::shared_ptr<Call> call =
        calls_[Choose(static_cast<int>(calls_.size()))];
    if (destroying_) return;
    {
      const simulation::MemoryMayRunOut may;
      if (!queue_->CancelAcquire(call->id)) continue;
    }
    Check(!call->called, "a callback is called and cancelled");
    Check(!call->cancelled, "a callback is cancelled twice");
    call->cancelled = true;
  }
}

void QueueLife::CheckRest() {
  const absl::StatusOr<Snapshot<Key>> snapshot = queue_->TakeSnapshot();
  Check(snapshot.ok(), "a snapshot fails");
  size_t callbacks = 0;
  for (const std::shared_ptr<Call>& call : calls_) {
    callbacks += !call->called && !call->cancelled;
  }
  Check(snapshot->num_queued == snapshot->queued.size() &&
            snapshot->num_waiting == snapshot->waiting.size(),
        "a snapshot counts other items than it has");
  Check(snapshot->num_processing == tokens_.size(),
        "the queue and the workers do not agree on what is processed");
  if (!options_.holds_back || snapshot->num_processing == 0) {
    // The next worker may be busy with a callback: an executor's thread, or a
    // get that has no memory, and whose end has woken the callback.
    Check(snapshot->num_queued == 0 || waiting_ + callbacks == 0 ||
              callbacks_ > 0,
          "a worker waits while an item is queued");
  }
  // Perhaps a callback keeps the loop's thread.
  if (callbacks_ > 0) return;
  for (const Snapshot<Key>::Waiting& it : snapshot->waiting) {
    Check(it.ready_at > snapshot->taken_at, "an item waits that is due");
  }
  if (options_.depth != nullptr) {
    size_t depth = snapshot->num_queued;
    for (const auto& it : snapshot->processing) depth += it.added_again;
    Check(*options_.depth == static_cast<int>(depth),
          "the metric of the depth is wrong");
  }
  if (ending_) return;
  for (const auto& [key, owed] : owed_) {
    if (last_hand_out_[key] > owed.event) continue;
    Check(Has(*snapshot, key, owed),
          "an item is lost that was added for later");
  }
}

bool QueueLife::Has(const Snapshot<Key>& snapshot, const Key& key,
                    const Owed& owed) const {
  for (const auto& it : snapshot.queued) {
    if (it.item == key) return true;
  }
  for (const auto& it : snapshot.processing) {
    if (it.item == key) return true;
  }
  for (const auto& it : snapshot.waiting) {
    if (it.item != key) continue;
    return it.ready_at - snapshot.taken_at <= owed.due - simulation::Now();
  }
  return false;
}

// An item that waits is always somewhere, also while it becomes due.
void QueueLife::Watch() {
  for (int n = 1 + Choose(3); n > 0; --n) {
    sync::Yield();
    const Key key = AnyKey();
    const auto found = owed_.find(key);
    if (found == owed_.end()) continue;
    const Owed owed = found->second;
    const int cancels = cancels_[key];
    const absl::StatusOr<Snapshot<Key>> snapshot = queue_->TakeSnapshot();
    Check(snapshot.ok(), "a snapshot fails");
    if (ending_ || cancels_[key] != cancels || cancels % 2 != 0) continue;
    if (last_hand_out_[key] > owed.event) continue;
    Owed at_any_time = owed;
    at_any_time.due = absl::InfiniteDuration();
    Check(Has(*snapshot, key, at_any_time), "a snapshot misses an item");
  }
}

void QueueLife::End() {
  constexpr int kWays = 5;
  switch (Choose(3)) {
    case 0:
      EndOnce(Choose(kWays));
      break;
    case 1: {
      Threads others;
      const int other = Choose(kWays);
      others.Start([this, other] { EndOnce(other); });
      EndOnce(Choose(kWays));
      break;
    }
    default:
      if (has_worker_) EndDrain();
  }
  ShutDown();
  AtRest([this] { Check(drains_ == 0, "a shutdown does not end a drain"); });
}

// A shutdown that comes after the begin of a drain ends it.
void QueueLife::EndDrain() {
  Threads others;
  others.Start([this] { EndOnce(4); });
  while (!queue_->ShuttingDown()) sync::Yield();
  ShutDown();
  AtRest([this] { Check(drains_ == 0, "a shutdown does not end a drain"); });
}

void QueueLife::ShutDown() {
  const simulation::MemoryMayRunOut may;
  ++shut_downs_;
  queue_->ShutDown();
}

void QueueLife::EndOnce(int way) {
  const int64_t begin = history_.Begin();
  bool drained = false;
  std::optional<simulation::MemoryMayRunOut> may(std::in_place);
  switch (way) {
    case 0:
      ShutDown();
      break;
    case 1:
      queue_->Close();
      break;
    case 2:
      drained = queue_->ShutDownWithDrainWithin(absl::ZeroDuration());
      break;
    case 3:
      drained = queue_->ShutDownWithDrainWithin(absl::Seconds(1));
      break;
    default:
      // If no worker is there, only a shutdown would end it.
      if (!has_worker_) {
        ShutDown();
        break;
      }
      ++drains_;
      drained = queue_->ShutDownWithDrain();
      --drains_;
      Check(drained || shut_downs_ > 0, "a drain fails");
      break;
  }
  may.reset();
  Check(queue_->ShuttingDown(), "a shut queue is open");
  Check(!queue_->Add(keys_[0]), "a shut queue takes an item");
  if (options_.delays) {
    Check(!delaying()->AddAfter(keys_[0], absl::Seconds(1)) &&
              !delaying()->Reschedule(keys_[0], absl::Seconds(1)) &&
              !delaying()->CancelDelayed(keys_[0]),
          "an item waits in a shut queue");
  }
  if (drained) history_.IsIdle(begin);
}

}  // namespace workqueue
