// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_SHARED_INTERNAL_PARTITIONED_QUEUE_H_
#define WORKQUEUE_SHARED_INTERNAL_PARTITIONED_QUEUE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/cleanup/cleanup.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "workqueue/base/mutex_lock.h"
#include "workqueue/base/wake_time.h"
#include "workqueue/clock/clock.h"
#include "workqueue/clock/parker.h"
#include "workqueue/executor.h"
#include "workqueue/interfaces.h"
#include "workqueue/redis/ticks.h"
#include "workqueue/shared/internal/byte_queue.h"
#include "workqueue/shared/internal/engine.h"
#include "workqueue/shared/internal/shared_queue_core.h"
#include "workqueue/simulation/sync.h"
#include "workqueue/timer/waiting_loop.h"

namespace workqueue::internal {

// PartitionedQueue
//
// One process' part in a shared queue of several partitions, each of which is a
// queue of its own: an item is always in the same one. Workers take from the
// partitions in turn. A worker that finds all of them empty asks each one for
// an item, and takes the first that comes. The other requests are withdrawn,
// and what has come besides goes to another worker, or is given back.
//
// A partition that cannot be reached fails the calls for its items. Workers
// pass over it until it is there again. A call that concerns several partitions
// makes their requests at the same time, each on a thread, so that it takes as
// long as the slowest one.
//
// Thread-safe.
class PartitionedQueue final : public ByteQueue, private WaitingLoop::Client {
 public:
  using Partitions = std::vector<std::unique_ptr<SharedQueueCore>>;

  // The partitions must have been started. `loop` gives back what nobody takes.
  PartitionedQueue(Partitions partitions, std::shared_ptr<WaitingLoop> loop);
  ~PartitionedQueue() override;

  // Calls `f` with each number of `n` partitions, on threads of their own.
  // Blocks until all calls have returned. Returns the first partition's error.
  static absl::Status ForEach(size_t n,
                              absl::FunctionRef<absl::Status(size_t)> f);

  // Destroys all at the same time: each may wait for its engine.
  static void Destroy(Partitions* partitions);

  PartitionedQueue(const PartitionedQueue&) = delete;
  PartitionedQueue& operator=(const PartitionedQueue&) = delete;

  // ByteQueue. A call for several items makes one request for each partition,
  // and is applied in some of them if others fail.
  Clock* clock() const override { return loop_->clock(); }
  const Ticks& ticks() const override { return partitions_[0]->ticks(); }
  absl::StatusOr<std::vector<int64_t>> Apply(
      std::vector<EngineOperation> operations) override;
  // The items are of one partition.
  absl::StatusOr<std::vector<HeldItem*>> Acquire(
      size_t max, absl::Duration timeout,
      std::vector<EngineOperation> ends) override;
  AcquireId AcquireAsync(Executor* executor, Callback callback) override;
  bool CancelAcquire(AcquireId id) override;
  EngineOperation End(HeldItem* held, EngineOperation::Code code) override;
  void NoteUnsent(const EngineOperation& end) override;
  void Remember(std::string bytes, HeldItem* held) override;
  HeldItem* Recall(const std::string& item) override;
  bool Holds(const std::string& item) override;
  bool IsLost(const HeldItem& held) override;
  void SetLimits(const EngineOperation& limits) override;
  absl::StatusOr<EngineSnapshot> TakeSnapshotWith(
      const ByteSnapshotOptions& options) override;
  absl::Status ShutDown() override;
  absl::StatusOr<bool> ShutDownWithDrain(absl::Duration timeout) override;
  absl::Status Reopen() override;
  void Close() override;
  bool AwaitNothingHeld(absl::Duration timeout) override;
  bool EndsAreKnown() const override;
  bool ShuttingDown() const override;
  absl::Status Healthy() const override;
  bool closed() const override { return partitions_[0]->closed(); }

 private:
  // A request of a worker to a partition.
  struct Request {
    AcquireId id;        // names nothing until the partition has returned it
    bool ended = false;  // the partition has been shut down
  };

  // A thread or a callback that waits for an item.
  struct Waiter {
    AcquireId id;
    Parker* parker = nullptr;      // of a thread
    Executor* executor = nullptr;  // of a callback
    Callback callback;
    std::vector<Request> requests;  // by partition
    // The worker gets this, and waits no more.
    std::optional<absl::StatusOr<HeldItem*>> result;
  };
  // In the order in which they have come.
  using Waiters = std::map<AcquireId, Waiter>;

  // A request that is to be withdrawn.
  struct Withdrawal {
    size_t partition;
    AcquireId id;
  };

  // WaitingLoop::Client:
  absl::Time Run(absl::Time now) override;

  SharedQueueCore& PartitionFor(absl::string_view item) const;

  // Returns the partitions from which a worker is to take now, in turn. Stores
  // the error of one that cannot be reached, and so is left out.
  std::vector<SharedQueueCore*> Turn(absl::Status* left_out);

  // Adds a waiter, and asks all partitions for it.
  AcquireId AddWaiter(Waiter waiter);
  void Ask(AcquireId waiter, size_t partition);
  // A partition answers a request.
  void Receive(AcquireId waiter, size_t partition,
               absl::StatusOr<HeldItem*> item);
  // Gives the waiter its result, and withdraws its other requests. Returns the
  // callback that the caller is to submit without the lock, or no executor.
  std::pair<Executor*, AcquireId> Finish(Waiter* waiter,
                                         absl::StatusOr<HeldItem*> result)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Withdraw(const Waiter& waiter) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Withdraw(size_t partition, AcquireId request)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void RunCallback(AcquireId id);
  // The destructor awaits the caller until the result is destroyed.
  auto BeginTask() {
    MutexLock lock(&mu_);
    ++tasks_;
    return absl::MakeCleanup([this] {
      MutexLock end(&mu_);
      --tasks_;
    });
  }

  // Returns null if `id` names nothing.
  Waiter* Find(AcquireId id) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void WakeLoop(absl::Time at) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool NothingPending() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const std::shared_ptr<WaitingLoop> loop_;
  sync::Atomic<size_t> turn_{0};

  sync::Mutex mu_;
  Waiters waiters_ ABSL_GUARDED_BY(mu_);
  uint64_t last_waiter_ ABSL_GUARDED_BY(mu_) = 0;
  size_t requests_ ABSL_GUARDED_BY(mu_) = 0;  // made, and neither answered
                                              // nor withdrawn
  // Callbacks that will run, or run, and calls that block.
  size_t tasks_ ABSL_GUARDED_BY(mu_) = 0;
  std::vector<Withdrawal> withdrawals_ ABSL_GUARDED_BY(mu_);
  std::vector<HeldItem*> surplus_ ABSL_GUARDED_BY(mu_);
  absl::Time ask_again_at_ ABSL_GUARDED_BY(mu_) = absl::InfiniteFuture();
  WakeTime wake_time_ ABSL_GUARDED_BY(mu_);

  Partitions partitions_;
};

}  // namespace workqueue::internal

#endif  // WORKQUEUE_SHARED_INTERNAL_PARTITIONED_QUEUE_H_
