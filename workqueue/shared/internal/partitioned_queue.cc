// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/shared/internal/partitioned_queue.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/functional/any_invocable.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "workqueue/base/exceptions.h"
#include "workqueue/base/mutex_lock.h"
#include "workqueue/base/trampoline.h"
#include "workqueue/clock/clock.h"
#include "workqueue/clock/parker.h"
#include "workqueue/controller/parallelize_until.h"
#include "workqueue/executor.h"
#include "workqueue/interfaces.h"
#include "workqueue/internal/submit_task.h"
#include "workqueue/shared/internal/byte_queue.h"
#include "workqueue/shared/internal/engine.h"
#include "workqueue/shared/internal/queue_keys.h"
#include "workqueue/shared/internal/shared_queue_core.h"
#include "workqueue/simulation/sync.h"
#include "workqueue/timer/waiting_loop.h"

namespace workqueue::internal {
namespace {

// How long a worker waits before it asks a partition again that has been shut
// down while others have not: it may be opened again.
constexpr absl::Duration kAskAgainAfter = SharedQueueCore::RetryAfter();

// Runs each task at once: `PartitionedQueue::Receive()` does nothing but note.
Executor* Directly() {
  class DirectExecutor final : public Executor {
   public:
    void Execute(absl::AnyInvocable<void() &&> task) override {
      std::move(task)();
    }
  };
  static auto* const executor = new DirectExecutor;
  return executor;
}

// Returns the first `max` items of the lists `part.*list`, each of which keeps
// its order. `before(a, b)` chooses among the first items that are left.
template <typename Before>
std::vector<EngineSnapshot::Item> MergeLists(
    std::vector<EngineSnapshot>& parts,
    std::vector<EngineSnapshot::Item> EngineSnapshot::*list, size_t max,
    Before before) {
  std::vector<size_t> next(parts.size(), 0);
  std::vector<EngineSnapshot::Item> merged;
  while (merged.size() < max) {
    EngineSnapshot::Item* first = nullptr;
    size_t from = 0;
    for (size_t p = 0; p < parts.size(); ++p) {
      auto& items = parts[p].*list;
      if (next[p] == items.size()) continue;
      EngineSnapshot::Item& item = items[next[p]];
      if (first != nullptr && !before(item, *first)) continue;
      first = &item;
      from = p;
    }
    if (first == nullptr) break;
    merged.push_back(std::move(*first));
    ++next[from];
  }
  return merged;
}

// Returns one snapshot of the partitions' snapshots, of which each is bounded
// by `max`, as is the result.
EngineSnapshot Merge(std::vector<EngineSnapshot> parts, size_t max) {
  using Item = EngineSnapshot::Item;
  EngineSnapshot all;
  std::set<std::string> problems;  // Several partitions may have one server.
  all.now = parts[0].now;
  for (EngineSnapshot& part : parts) {
    all.shut_down |= part.shut_down;
    all.num_queued += part.num_queued;
    all.num_processing += part.num_processing;
    all.num_waiting += part.num_waiting;
    all.num_failing += part.num_failing;
    all.num_parked += part.num_parked;
    all.num_processing_here += part.num_processing_here;
    std::move(part.lost_here.begin(), part.lost_here.end(),
              std::back_inserter(all.lost_here));
    if (!part.settings_problem.empty()) problems.insert(part.settings_problem);
    all.data_lost_at = std::max(all.data_lost_at, part.data_lost_at);
    // Each node of a cluster has a clock of its own.
    const int64_t shift = all.now - part.now;
    for (auto* list : {&part.queued, &part.processing, &part.waiting,
                       &part.failing, &part.parked}) {
      for (Item& item : *list) {
        if (item.time != kForever) item.time += shift;
        if (item.expiry != kForever) item.expiry += shift;
        item.first_failed += shift;
        item.last_failed += shift;
      }
    }
    for (EngineSnapshot::Client& client : part.clients) {
      if (client.seen >= 0) client.seen += shift;
      AddClient(client, &all);
    }
    for (EngineSnapshot::Bound& bound : part.bounds) {
      AddBound(std::move(bound), /*extends=*/true, &all);
    }
  }
  all.settings_problem = absl::StrJoin(problems, "; ");
  const auto earlier = [](const Item& a, const Item& b) {
    return a.time < b.time;
  };
  all.queued = MergeLists(
      parts, &EngineSnapshot::queued, max, [](const Item& a, const Item& b) {
        return a.number != b.number ? a.number > b.number : a.time < b.time;
      });
  all.processing = MergeLists(parts, &EngineSnapshot::processing, max, earlier);
  all.waiting = MergeLists(parts, &EngineSnapshot::waiting, max, earlier);
  all.failing = MergeLists(
      parts, &EngineSnapshot::failing, max, [](const Item& a, const Item& b) {
        return a.failures != b.failures ? a.failures > b.failures
                                        : a.first_failed < b.first_failed;
      });
  all.parked = MergeLists(parts, &EngineSnapshot::parked, max,
                          [](const Item& a, const Item& b) {
                            return a.last_failed > b.last_failed;
                          });
  return all;
}

}  // namespace

PartitionedQueue::PartitionedQueue(Partitions partitions,
                                   std::shared_ptr<WaitingLoop> loop)
    : loop_(std::move(loop)), partitions_(std::move(partitions)) {
  loop_->Add(this);
}

PartitionedQueue::~PartitionedQueue() {
  Close();
  Trampoline::RunDeferred();
  for (const auto& partition : partitions_) partition->EndDrains();
  {
    MutexLock lock(&mu_);
    DieIfRunsHere(waiters_);
    mu_.Await(absl::Condition(this, &PartitionedQueue::NothingPending));
  }
  loop_->Remove(this);
  Run(clock()->TimeNow());  // gives back what came last
  Destroy(&partitions_);
}

void PartitionedQueue::Destroy(Partitions* partitions) {
  const size_t n = partitions->size();
  ParallelizeUntil(/*stop=*/nullptr, n, n, [partitions](size_t p) {
    (*partitions)[p].reset();
  }).IgnoreError();
}

absl::Status PartitionedQueue::ForEach(
    size_t n, absl::FunctionRef<absl::Status(size_t)> f) {
  sync::Mutex mu;
  size_t failed = n;
  absl::Status first;
  ParallelizeUntil(/*stop=*/nullptr, n, n, [&](size_t i) {
    absl::Status status = CatchAsStatus([&] { return f(i); });
    if (status.ok()) return;
    MutexLock lock(&mu);
    if (i > failed) return;
    failed = i;
    first = std::move(status);
  }).IgnoreError();
  return first;
}

bool PartitionedQueue::NothingPending() const {
  return waiters_.empty() && tasks_ == 0 && requests_ == 0;
}

SharedQueueCore& PartitionedQueue::PartitionFor(absl::string_view item) const {
  return *partitions_[PartitionOf(item, partitions_.size())];
}

absl::StatusOr<std::vector<int64_t>> PartitionedQueue::Apply(
    std::vector<EngineOperation> operations) {
  if (operations.size() == 1) {
    return PartitionFor(operations[0].item).Apply(std::move(operations));
  }
  const size_t n = partitions_.size();
  std::vector<std::vector<EngineOperation>> parts;
  std::vector<std::vector<size_t>> places;
  std::vector<size_t> concerned;
  std::vector<int64_t> results;
  // Takes all memory first, and changes nothing until it has it.
  const bool built = TryCall([&] {
    parts.resize(n);
    places.resize(n);
    for (size_t i = 0; i < operations.size(); ++i) {
      places[PartitionOf(operations[i].item, n)].push_back(i);
    }
    for (size_t p = 0; p < n; ++p) {
      parts[p].reserve(places[p].size());
      if (!places[p].empty()) concerned.push_back(p);
    }
    results.resize(operations.size());
  });
  if (!built) {
    for (const EngineOperation& it : operations) NoteUnsent(it);
    return NoMemoryError();
  }
  for (size_t p : concerned) {
    for (size_t i : places[p]) parts[p].push_back(std::move(operations[i]));
  }
  absl::Status status = ForEach(concerned.size(), [&](size_t c) {
    const size_t p = concerned[c];
    const auto applied = partitions_[p]->Apply(std::move(parts[p]));
    for (size_t i = 0; applied.ok() && i < applied->size(); ++i) {
      results[places[p][i]] = (*applied)[i];
    }
    return applied.status();
  });
  if (!status.ok()) return status;
  return results;
}

std::vector<SharedQueueCore*> PartitionedQueue::Turn(absl::Status* left_out) {
  const size_t n = partitions_.size();
  const size_t first = turn_++;
  std::vector<SharedQueueCore*> result;
  for (size_t i = 0; i < n; ++i) {
    SharedQueueCore* const partition = partitions_[(first + i) % n].get();
    // One that is closed answers without its engine.
    absl::Status reached =
        partition->closed() ? absl::OkStatus() : partition->Reached();
    if (reached.ok()) {
      result.push_back(partition);
    } else {
      *left_out = std::move(reached);
    }
  }
  // If none can be reached, one of them tells why.
  if (result.empty()) result.push_back(partitions_[first % n].get());
  return result;
}

absl::StatusOr<std::vector<HeldItem*>> PartitionedQueue::Acquire(
    size_t max, absl::Duration timeout, std::vector<EngineOperation> ends) {
  const auto task = BeginTask();
  const bool blocks = timeout > absl::ZeroDuration();
  const absl::Time deadline =
      blocks ? clock()->TimeNow() + timeout : absl::InfinitePast();
  const absl::Time call_deadline =
      Clock::GetRealClock()->TimeNow() + partitions_[0]->call_timeout();
  if (!ends.empty()) {
    const absl::Status status = Apply(std::move(ends)).status();
    if (!status.ok()) return status;
  }
  // That of a partition that has not been asked, or could not be. Nobody knows
  // whether there is no item, then.
  absl::Status unknown;
  const std::vector<SharedQueueCore*> turn = Turn(&unknown);
  absl::Status error;  // the last one
  bool all_ended = turn.size() == partitions_.size();
  bool all_failed = true;
  size_t asked = 0;
  while (asked < turn.size()) {
    // One that cannot be reached uses the time of this call up.
    if (asked > 0 && Clock::GetRealClock()->TimeNow() >= call_deadline) {
      unknown.Update(absl::UnavailableError("no time is left for a partition"));
      break;
    }
    auto got =
        turn[asked++]->Acquire(max, absl::ZeroDuration(), {}, call_deadline);
    if (got.ok()) return got;
    error = got.status();
    all_ended &= absl::IsCancelled(error);
    if (absl::IsCancelled(error) || absl::IsDeadlineExceeded(error)) {
      all_failed = false;
    } else {
      unknown = error;
    }
  }
  const bool refused = all_failed && asked == turn.size();
  if (all_ended && asked == turn.size()) return error;
  if (!blocks || (asked < turn.size() && clock()->TimeNow() >= deadline)) {
    if (!unknown.ok()) return unknown;
    return absl::DeadlineExceededError("there is no item");
  }

  const std::unique_ptr<Parker> parker =
      clock()->NewParker(Parker::Role::kCaller);
  std::vector<HeldItem*> items(1);  // There may be no memory later.
  // As a partition does after a failed request.
  const absl::Time end =
      refused ? std::min(deadline,
                         clock()->TimeNow() + SharedQueueCore::RetryAfter())
              : deadline;
  Waiter waiter;
  waiter.parker = parker.get();
  const AcquireId id = AddWaiter(std::move(waiter));
  absl::StatusOr<HeldItem*> result = nullptr;
  {
    MutexLock lock(&mu_);
    Waiter& self = *Find(id);
    while (!self.result.has_value()) {
      if (clock()->TimeNow() >= end) {
        Withdraw(self);
        self.result = refused ? error
                              : MakeError(absl::StatusCode::kDeadlineExceeded,
                                          "there was no item in time");
        break;
      }
      const MutexUnlock unlock(&mu_);
      parker->ParkUntil(end);
    }
    result = *waiters_.extract(id).mapped().result;
  }
  if (result.ok()) {
    items[0] = *result;
    return items;
  }
  if (absl::IsDeadlineExceeded(result.status())) {
    for (const auto& partition : partitions_) {
      absl::Status reached = partition->Reached();
      if (!reached.ok()) return reached;
    }
  }
  return result.status();
}

AcquireId PartitionedQueue::AcquireAsync(Executor* executor,
                                         Callback callback) {
  Waiter waiter;
  waiter.executor = executor;
  waiter.callback = std::move(callback);
  return AddWaiter(std::move(waiter));
}

AcquireId PartitionedQueue::AddWaiter(Waiter waiter) {
  const size_t n = partitions_.size();
  waiter.requests.resize(n);
  AcquireId id;
  {
    MutexLock lock(&mu_);
    id = waiter.id = AcquireId::Numbered(++last_waiter_);
    waiters_.emplace(id, std::move(waiter));
    requests_ += n;
  }
  for (size_t p = 0; p < n; ++p) {
    if (TryCall([&] { Ask(id, p); })) continue;
    Waiters::node_type removed;  // destroyed without the lock
    MutexLock lock(&mu_);
    requests_ -= n - p;
    const Waiter* const waiter = Find(id);
    if (waiter == nullptr || waiter->result.has_value()) break;
    Withdraw(*waiter);
    removed = waiters_.extract(id);
    ThrowBadAlloc();
  }
  return id;
}

void PartitionedQueue::Ask(AcquireId waiter, size_t partition) {
  const AcquireId request = partitions_[partition]->AcquireAsync(
      Directly(), [this, waiter, partition](absl::StatusOr<HeldItem*> item) {
        Receive(waiter, partition, std::move(item));
      });
  MutexLock lock(&mu_);
  Waiter* const found = Find(waiter);
  if (found != nullptr && !found->result.has_value()) {
    found->requests[partition].id = request;
  } else {
    Withdraw(partition, request);
  }
}

void PartitionedQueue::Receive(AcquireId waiter, size_t partition,
                               absl::StatusOr<HeldItem*> item) {
  std::pair<Executor*, AcquireId> to_call;
  bool forgets = false;  // Without memory, the partition gives it back.
  {
    MutexLock lock(&mu_);
    --requests_;
    const auto waits = [](const Waiter* it) {
      return it != nullptr && !it->result.has_value();
    };
    Waiter* it = Find(waiter);
    if (item.ok()) {
      if (!waits(it)) {
        // This one has an item already, or waits no more. Another one may.
        const auto other = std::find_if(
            waiters_.begin(), waiters_.end(),
            [&waits](const auto& each) { return waits(&each.second); });
        it = other == waiters_.end() ? nullptr : &other->second;
      }
      if (it != nullptr) {
        to_call = Finish(it, item);
      } else {
        forgets = !TryCall([&]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
          surplus_.push_back(*item);
        });
        WakeLoop(absl::InfinitePast());
      }
    } else if (waits(it)) {
      it->requests[partition].ended = true;
      if (std::all_of(it->requests.begin(), it->requests.end(),
                      [](const Request& each) { return each.ended; })) {
        to_call = Finish(it, item);
      } else {
        ask_again_at_ =
            std::min(ask_again_at_, clock()->TimeNow() + kAskAgainAfter);
        WakeLoop(ask_again_at_);
      }
    }
  }
  if (forgets) {
    NoteUnsent(End(*item, EngineOperation::kGiveBack));
  }
  if (to_call.first != nullptr) {
    SubmitTask(to_call.first, [this, id = to_call.second] { RunCallback(id); });
  }
}

std::pair<Executor*, AcquireId> PartitionedQueue::Finish(
    Waiter* waiter, absl::StatusOr<HeldItem*> result) {
  Withdraw(*waiter);
  waiter->result = std::move(result);
  if (waiter->parker != nullptr) {
    waiter->parker->Unpark();
  } else {
    ++tasks_;
  }
  return {waiter->executor, waiter->id};
}

void PartitionedQueue::Withdraw(const Waiter& waiter) {
  for (size_t p = 0; p < waiter.requests.size(); ++p) {
    Withdraw(p, waiter.requests[p].id);
  }
}

void PartitionedQueue::Withdraw(size_t partition, AcquireId request) {
  // Without memory it stays, and what it gets is for others.
  TryCall([&]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    withdrawals_.push_back({partition, request});
  });
  WakeLoop(absl::InfinitePast());
}

void PartitionedQueue::RunCallback(AcquireId id) {
  Waiters::node_type called;  // destroyed without the lock
  {
    MutexLock lock(&mu_);
    called = waiters_.extract(id);
  }
  const absl::Cleanup end = [this, &called] {
    called = {};
    MutexLock lock(&mu_);
    --tasks_;
  };
  Waiter& waiter = called.mapped();
  std::move(waiter.callback)(*std::move(waiter.result));
}

bool PartitionedQueue::CancelAcquire(AcquireId id) {
  Waiters::node_type cancelled;  // destroyed without the lock
  MutexLock lock(&mu_);
  const Waiter* const waiter = Find(id);
  if (waiter == nullptr || waiter->result.has_value()) return false;
  Withdraw(*waiter);
  cancelled = waiters_.extract(id);
  return true;
}

PartitionedQueue::Waiter* PartitionedQueue::Find(AcquireId id) {
  const auto found = waiters_.find(id);
  return found == waiters_.end() ? nullptr : &found->second;
}

void PartitionedQueue::WakeLoop(absl::Time at) {
  if (wake_time_.WakeBy(at)) loop_->Wake(this);
}

absl::Time PartitionedQueue::Run(absl::Time now) {
  std::vector<Withdrawal> withdrawals;
  std::vector<HeldItem*> surplus;
  std::vector<EngineOperation> ends;
  std::vector<std::pair<AcquireId, size_t>> again;
  {
    MutexLock lock(&mu_);
    wake_time_.Clear();
    // Takes all memory first, and changes nothing until it has it.
    const bool built = TryCall([&]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
      ends.reserve(surplus_.size());
      for (const auto& [id, waiter] : waiters_) {
        if (now < ask_again_at_ || waiter.result.has_value()) continue;
        for (size_t p = 0; p < waiter.requests.size(); ++p) {
          if (waiter.requests[p].ended) again.emplace_back(id, p);
        }
      }
    });
    if (!built) {
      wake_time_.Set(now + kAskAgainAfter);
      return now + kAskAgainAfter;
    }
    withdrawals.swap(withdrawals_);
    surplus.swap(surplus_);
    if (now >= ask_again_at_) ask_again_at_ = absl::InfiniteFuture();
    for (const auto& [id, p] : again) Find(id)->requests[p].ended = false;
    requests_ += again.size();
  }
  size_t withdrawn = 0;
  for (const Withdrawal& it : withdrawals) {
    withdrawn += partitions_[it.partition]->CancelAcquire(it.id) ? 1 : 0;
  }
  for (HeldItem* held : surplus) {
    ends.push_back(End(held, EngineOperation::kGiveBack));
  }
  // If that fails, the items are handed out when their leases have expired.
  if (!ends.empty()) ApplyEnds(std::move(ends)).IgnoreError();
  for (const auto& [id, p] : again) {
    if (TryCall([&, id = id, p = p] { Ask(id, p); })) continue;
    MutexLock lock(&mu_);
    --requests_;
    Waiter* const waiter = Find(id);
    if (waiter != nullptr) waiter->requests[p].ended = true;
    ask_again_at_ = std::min(ask_again_at_, now + kAskAgainAfter);
  }

  MutexLock lock(&mu_);
  requests_ -= withdrawn;
  const bool more = !withdrawals_.empty() || !surplus_.empty();
  const absl::Time next = more ? now : ask_again_at_;
  wake_time_.Set(next);
  return next;
}

EngineOperation PartitionedQueue::End(HeldItem* held,
                                      EngineOperation::Code code) {
  return PartitionFor(held->item).End(held, code);
}

void PartitionedQueue::NoteUnsent(const EngineOperation& end) {
  PartitionFor(end.item).NoteUnsent(end);
}

void PartitionedQueue::Remember(std::string bytes, HeldItem* held) {
  SharedQueueCore& partition = PartitionFor(bytes);
  partition.Remember(std::move(bytes), held);
}

HeldItem* PartitionedQueue::Recall(const std::string& bytes) {
  return PartitionFor(bytes).Recall(bytes);
}

bool PartitionedQueue::Holds(const std::string& item) {
  return PartitionFor(item).Holds(item);
}

bool PartitionedQueue::IsLost(const HeldItem& held) {
  return PartitionFor(held.item).IsLost(held);
}

void PartitionedQueue::SetLimits(const EngineOperation& limits) {
  for (const auto& partition : partitions_) partition->SetLimits(limits);
}

absl::StatusOr<EngineSnapshot> PartitionedQueue::TakeSnapshotWith(
    const ByteSnapshotOptions& options) {
  if (options.only != nullptr && options.failures_only) {
    return PartitionFor(*options.only).TakeSnapshotWith(options);
  }
  ByteSnapshotOptions numbers;
  numbers.max = 0;
  numbers.timeout = options.timeout;
  numbers.here_only = options.here_only;
  numbers.failures_only = true;  // So it makes no request.
  const SharedQueueCore* const only =
      options.only == nullptr ? nullptr : &PartitionFor(*options.only);
  std::vector<EngineSnapshot> parts(partitions_.size());
  absl::Status status = ForEach(parts.size(), [&](size_t p) {
    const bool asked = only == nullptr || only == partitions_[p].get();
    auto part = partitions_[p]->TakeSnapshotWith(asked ? options : numbers);
    if (part.ok()) parts[p] = *std::move(part);
    return part.status();
  });
  if (!status.ok()) return status;
  return Merge(std::move(parts), only == nullptr ? options.max : 1);
}

absl::Status PartitionedQueue::ShutDown() {
  return ForEach(partitions_.size(),
                 [this](size_t p) { return partitions_[p]->ShutDown(); });
}

absl::StatusOr<bool> PartitionedQueue::ShutDownWithDrain(
    absl::Duration timeout) {
  const auto task = BeginTask();
  const absl::Time deadline = clock()->TimeNow() + timeout;
  std::vector<int64_t> shut_downs(partitions_.size());
  absl::Status status = ForEach(shut_downs.size(), [&](size_t p) {
    const auto before = partitions_[p]->BeginDrain();
    if (before.ok()) shut_downs[p] = *before;
    return before.status();
  });
  if (!status.ok()) return status;
  std::vector<SharedQueueCore*> parts;
  for (const auto& partition : partitions_) parts.push_back(partition.get());
  return SharedQueueCore::AwaitDrained(parts, shut_downs, deadline);
}

absl::Status PartitionedQueue::Reopen() {
  return ForEach(partitions_.size(),
                 [this](size_t p) { return partitions_[p]->Reopen(); });
}

void PartitionedQueue::Close() {
  for (const auto& partition : partitions_) partition->Close();
}

bool PartitionedQueue::AwaitNothingHeld(absl::Duration timeout) {
  const auto task = BeginTask();
  const absl::Time deadline = clock()->TimeNow() + timeout;
  bool nothing = true;
  for (const auto& partition : partitions_) {
    nothing &= partition->AwaitNothingHeld(deadline - clock()->TimeNow());
  }
  return nothing;
}

bool PartitionedQueue::EndsAreKnown() const {
  return std::all_of(
      partitions_.begin(), partitions_.end(),
      [](const auto& partition) { return partition->EndsAreKnown(); });
}

absl::Status PartitionedQueue::Healthy() const {
  absl::Status status;
  for (const auto& partition : partitions_) status.Update(partition->Healthy());
  return status;
}

bool PartitionedQueue::ShuttingDown() const {
  return std::any_of(
      partitions_.begin(), partitions_.end(),
      [](const auto& partition) { return partition->ShuttingDown(); });
}

}  // namespace workqueue::internal
