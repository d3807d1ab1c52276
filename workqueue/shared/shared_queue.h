// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_SHARED_SHARED_QUEUE_H_
#define WORKQUEUE_SHARED_SHARED_QUEUE_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/memory/memory.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "ratelimit/token_bucket.h"
#include "workqueue/base/error_log.h"
#include "workqueue/base/exceptions.h"
#include "workqueue/base/printable.h"
#include "workqueue/clock/clock.h"
#include "workqueue/executor.h"
#include "workqueue/failures.h"
#include "workqueue/interfaces.h"
#include "workqueue/internal/lease_access.h"
#include "workqueue/lease.h"
#include "workqueue/lease_batch.h"
#include "workqueue/log_sink.h"
#include "workqueue/metrics.h"
#include "workqueue/ordering.h"
#include "workqueue/shared/codec.h"
#include "workqueue/shared/internal/byte_queue.h"
#include "workqueue/shared/internal/engine.h"
#include "workqueue/shared/internal/open_shared_queue.h"
#include "workqueue/shared/internal/shared_groups.h"
#include "workqueue/shared/shared_queue_options.h"
#include "workqueue/snapshot.h"

namespace workqueue {

// SharedQueueCounts
//
// The numbers of items in a `SharedQueue`, of all its clients together. An item
// that waits or has failed may be queued or being processed, too.
struct SharedQueueCounts {
  size_t queued = 0;
  size_t processing = 0;
  size_t waiting = 0;  // added with a delay that has not passed
  size_t failing = 0;  // not forgotten since a failure, and not parked
  size_t parked = 0;   // given up: see `Failures`
};

// SharedQueue
//
// A queue that several processes share. Its items are in a server of Valkey or
// Redis, in a PostgreSQL database, or in a file of SQLite: what follows says
// "server" for all three. Each process creates a `SharedQueue` of the same
// name, and uses it as it would use a `RateLimitingQueue`: an item that is
// added by any process is processed by one of them.
//
// Example:
//
//     workqueue::SharedQueueOptions<std::string> options;
//     options.name = "pods";
//     options.address = "redis.example:6379";
//     auto queue = workqueue::SharedQueue<std::string>::Create(options);
//     if (!queue.ok()) return queue.status();
//     (*queue)->Add("default/web");
//     workqueue::Lease<std::string> lease;
//     while ((*queue)->AcquireNext(&lease).ok()) Reconcile(*lease);
//
// `RateLimitingInterface` has the promises: items are handed out in the order
// of their adds, by priority if they have one; an item that is added several
// times is processed once; and one that is added while it is being processed,
// by whatever process, is processed again afterwards. docs/shared-queue.md has
// the exact transitions. Beyond that:
//
//   * What was acknowledged is not lost if any process, or the server, crashes,
//     provided that the server writes its log before it answers (`appendonly
//     yes`, `appendfsync always`, `no-appendfsync-on-rewrite no`) and evicts
//     nothing of it (`maxmemory-policy noeviction`, or a `volatile-` one). A
//     failover to a replica can lose what the replica has not received yet.
//   * At most one worker at a time processes an item as long as its lease
//     lives. After a crash the item is processed again: a lease that expires is
//     a failure, which `NumRequeues()` counts until a `Forget()`, and the item
//     waits for its delay of the retry schedule. A worker whose lease
//     has expired, because it was suspended or cut off, may overlap with the
//     next one in another process; its `Done()` returns false and changes
//     nothing. To exclude that, send `Lease::token()` along with what the
//     worker writes.
//   * An item has one lease at a time in this object, whatever the server
//     believes. If it comes back here while a lease of it that was lost has not
//     ended, it is held back: its new lease is renewed, it counts as being
//     processed, and workers that wait get other items. The end of the old
//     lease wakes a worker that waits, which gets the item; if none waits, the
//     item is given back. `Close()` gives it back at once. An item that a
//     `Get()` has returned holds nothing back: its `Done()` may never come.
//   * Times are the server's. Nothing comes early.
//   * With `SharedQueueOptions::fair`, groups of items take turns and have
//     bounds, and retries have a share, over all processes.
//   * The end of a lease that does not reach the server is repeated until the
//     lease has expired.
//   * An item that cannot be handed to the worker, because the codec returns an
//     error or the codec or `T` throws, has not failed. It is logged, and waits
//     for 5 seconds: a process of another version may be able to decode it.
//     `Get()` goes on with the next item, a batch has the other items, and the
//     other calls return the error.
//
// A call fails when the server could not be reached, or did not answer, within
// `SharedQueueOptions::call_timeout`. It then logs the error and returns it:
//
//   * `absl::UnavailableError`: nothing has been changed. There was no server,
//     or it did not serve all that time: it loads its data, or is a replica.
//   * `absl::UnknownError`: the call may or may not have taken effect. It is
//     safe to repeat it, but a failure may then be counted twice.
//   * `absl::CancelledError`: the queue has been shut down or closed.
//   * `absl::PermissionDeniedError`: the user lacks a right. The error names
//     those that it needs.
//   * `absl::ResourceExhaustedError`: the engine is full. Nothing has been
//     added. Only calls that add return this: leases are renewed and end, and
//     items are handed out.
//   * Other errors: the server refused the call, and says why.
//
// A worker that waits goes on waiting, and is served when the server is back. A
// call that blocks until there is an item returns an error of the server only
// after half a second, or its timeout if that is shorter, so that a loop around
// it does not ask a server that refuses each request as fast as it can. It
// takes an item that comes in that time.
//
// Each call is one request to the server, or one to each partition that it
// concerns, at the same time, on threads that it starts. The calls of a
// process' threads that meet travel together. The server serves nobody else
// during a request, so a call for more than 125 items, or 256 kB of them,
// makes one request after the other, each of which may take `call_timeout`.
// So do a snapshot, and `UnparkAll()`, which reads what is parked first. A
// call for several pieces or partitions may have taken effect in some of them
// if it returns an error. docs/shared-queue.md says what the pieces of a call
// are together. Complexities are those of a `RateLimitingQueue`, but for a
// logarithm of the number of items.
//
// Thread-safe. The destructor closes the queue, and gives back what no worker
// has taken. It blocks until calls that wait for items or drains have returned,
// and all callbacks have been called. Leases must have ended. An item that
// a `Get()` returned and no `Done()` ended is handed out again when its lease
// has expired.
template <typename T>
class SharedQueue final : public PriorityInterface<T>,
                          public SharedFailures<T>,
                          private internal::LeaseOwner<T> {
 public:
  // Connects to the server. Returns
  //
  //   * `absl::InvalidArgumentError` that names the field and its value if the
  //     options are wrong,
  //   * `absl::FailedPreconditionError` if another version of this library,
  //     with another layout, uses the queue, or a client with another number of
  //     partitions, or if the server is not durable and must be,
  //   * an error of a call.
  static absl::StatusOr<std::unique_ptr<SharedQueue>> Create(
      SharedQueueOptions<T> options);

  ~SharedQueue() override = default;

  // Interface:
  absl::Status AddItems(const AddOptions& options,
                        absl::Span<const T> items) override;
  absl::Status GetItem(absl::Duration timeout,
                       ItemReceiver<T> receive) override;
  absl::StatusOr<bool> EndProcessing(const T& item) override;
  absl::Status AcquireInto(Lease<T>* lease, absl::Duration timeout) override;
  absl::StatusOr<LeaseBatch<T>> AcquireUpToWithTimeout(
      size_t max, absl::Duration timeout) override;
  // Ends the lease with a call that blocks. A call on `executor` that gives
  // back an item which cannot be decoded blocks, too. A `Controller` has
  // threads for both, so that its executor may be an event loop.
  AcquireId AcquireNextAsync(Lease<T>* lease, Executor* executor,
                             AcquireCallback<T> callback) override;
  bool CancelAcquire(AcquireId id) override { return queue_.CancelAcquire(id); }
  // A snapshot of at most `max` items takes O(max), and O(p log p) for p items
  // being processed. It is read in parts of at most 250 items: an item that
  // does not change meanwhile is listed once.
  absl::StatusOr<Snapshot<T>> TakeSnapshotWith(
      const SnapshotOptions<T>& options) const override;
  absl::StatusOr<bool> ShutDownAndDrain(
      std::optional<absl::Duration> drain) override;
  // Does what `Interface::Close()` says, with one exception: an item that this
  // client holds can still be added, so that its processing can fail and be
  // tried again, by any client.
  void Close() override { queue_.Close(); }
  bool ShuttingDown() const override { return queue_.ShuttingDown(); }
  absl::Status Healthy() const override { return queue_.Healthy(); }
  Clock* clock() const override { return queue_.clock(); }

  // DelayingInterface:
  absl::StatusOr<bool> CancelWait(const T& item) override {
    return ApplyOne<bool>(Operation::kCancelDelayed, item, "CancelDelayed()");
  }

  // RateLimitingInterface:
  absl::Status ForgetFailures(const T& item) override {
    return ApplyOne<bool>(Operation::kForget, item, "Forget()").status();
  }
  absl::StatusOr<int> CountFailures(const T& item) const override {
    return ApplyOne<int>(Operation::kNumRequeues, item, "NumRequeues()");
  }
  SharedFailures<T>* AsSharedFailures() override { return this; }

  // SharedFailures. All processes see the same failures, and the last error of
  // each item. `Failing()` and `Parked()` take what a snapshot takes. They and
  // `Find()` return `absl::FailedPreconditionError`, which names the item, if
  // this process cannot decode one that belongs to the result; a snapshot has
  // the others. `UnparkAll()` decodes nothing.
  absl::StatusOr<FailureOutcome> Fail(
      Lease<T>* lease, const absl::Status& error,
      const FailureLedgerOptions& limits,
      std::optional<absl::Duration> retry_after) override;
  absl::Status SetLimits(const FailureLedgerOptions& limits) override;
  absl::Status Requeue(Lease<T>* lease, const AddOptions& options) override;
  int FailuresBefore(const Lease<T>& lease) const override;
  bool EndsAreKnown() const override { return queue_.EndsAreKnown(); }
  absl::StatusOr<bool> Unpark(const T& item) override {
    return ApplyOne<bool>(Operation::kUnpark, item, "Unpark()");
  }
  absl::StatusOr<size_t> UnparkAll() override;
  absl::StatusOr<std::vector<FailedItem<T>>> Failing(
      size_t max) const override {
    return ListFailures(max, /*parked=*/false);
  }
  absl::StatusOr<std::vector<FailedItem<T>>> Parked(size_t max) const override {
    return ListFailures(max, /*parked=*/true);
  }
  absl::StatusOr<FailedItem<T>> Find(const T& item) const override;
  absl::StatusOr<FailureNumbers> Numbers() const override;

  // Counts the items of the whole queue. The numbers are those of one moment,
  // or of one moment for each partition.
  absl::StatusOr<SharedQueueCounts> Count() const;

  // Closes this client, and blocks until all items that it holds have been
  // processed or given back, and the server has heard of that, `timeout` at
  // most. Returns whether they have.
  bool CloseWithDrainWithin(absl::Duration timeout);

  // Opens the queue again, for all its clients, after a `ShutDown()`: that is
  // remembered in the server. Blocks until the server has removed what waited
  // then: a second for some 100,000 items.
  absl::Status Reopen() { return queue_.Reopen(); }

 private:
  using Operation = internal::EngineOperation;
  using Groups = internal::SharedGroups<T>;

  // An item that this process cannot decode is not handed out again before.
  static constexpr absl::Duration kDelayOfUndecodable = absl::Seconds(5);

  // An item that is leased.
  class HeldByLease;

  SharedQueue(SharedQueueOptions<T> options,
              std::unique_ptr<internal::SharedQueueParts> parts)
      : codec_(std::move(options.codec)),
        groups_(std::move(options.fair)),
        errors_("shared queue", options.name, options.log_sink,
                Clock::GetRealClock()),
        parts_(std::move(parts)),
        queue_(*parts_->queue) {}

  // Returns what `lease` leases of this queue; null if nothing.
  HeldByLease* LeasedBy(const Lease<T>& lease) const;
  // Ends `*lease` by an operation of that code. Returns what tells the engine,
  // if it does not know yet.
  Operation Release(Lease<T>* lease, Operation::Code code);

  Operation MakeOperation(Operation::Code code, const T& item, int64_t x = 0,
                          int64_t y = 0, int64_t z = 0) const {
    return {code, codec_.encode(item), x, y, z};
  }

  // The delays of an item whose processing has failed, in ticks: at least the
  // first one, and at most the other one unless that is -1.
  struct RetryDelays {
    int64_t least;
    int64_t other;
  };
  RetryDelays ChooseDelays(const Reservation& retry,
                           std::optional<absl::Duration> after,
                           std::optional<absl::Duration> retry_after);

  // Applies operations that add items. `absl::CancelledError` if the queue has
  // been shut down or closed.
  absl::Status ApplyAdds(std::vector<Operation> adds);
  // Applies an operation of `item`, and returns its result. Logs an error.
  template <typename Result>
  absl::StatusOr<Result> ApplyOne(Operation::Code code, const T& item,
                                  absl::string_view call) const;

  // Returns the limits as the text of an operation has them.
  std::string TextOf(const FailureLedgerOptions& limits) const;
  // Logs an error of `call`, of `item` if it is not null, and returns it.
  absl::Status Logged(absl::Status status, const T* item,
                      absl::string_view call) const;

  // Takes a snapshot of what fails and is parked.
  absl::StatusOr<internal::EngineSnapshot> TakeFailures(size_t max) const;
  absl::StatusOr<std::vector<FailedItem<T>>> ListFailures(size_t max,
                                                          bool parked) const;
  // Returns an error if `snapshot` lacks an item that cannot be decoded.
  static absl::Status CheckComplete(const Snapshot<T>& snapshot);

  // Returns what an engine has returned as a snapshot of this queue.
  Snapshot<T> ToSnapshot(const internal::EngineSnapshot& taken) const;

  // Decodes `*held`, and passes the item to `receive(T&&)`. If either fails or
  // throws, gives the item back as one whose processing has failed, logs, and
  // returns the error: a process of another version may be able to decode it.
  template <typename F>
  absl::Status HandOver(internal::HeldItem* held, F receive);
  absl::StatusOr<Lease<T>> MakeLease(internal::HeldItem* held);

  // LeaseOwner:
  bool EndLeases(absl::Span<QueuedItem<T>* const> items,
                 internal::LeaseEnd end) override;
  int64_t TokenOf(const QueuedItem<T>& item) const override;
  bool IsLost(const QueuedItem<T>& item) const override;

  const Codec<T> codec_;
  const Groups groups_;
  mutable internal::ErrorLog errors_;
  internal::LeaseCount leases_;
  const std::unique_ptr<internal::SharedQueueParts> parts_;
  internal::ByteQueue& queue_;
};

// Implementation details follow.

template <typename T>
class SharedQueue<T>::HeldByLease final : public QueuedItem<T> {
 public:
  HeldByLease(T item, internal::HeldItem* the_held)
      : QueuedItem<T>(std::move(item)), held(the_held) {
    this->set_priority(static_cast<int>(held->priority));
    this->set_is_retry(held->failures > 0);
  }

  internal::HeldItem* const held;
  // That of a failure. It is one retry, however often `Fail()` is called.
  Reservation retry;
};

template <typename T>
absl::StatusOr<std::unique_ptr<SharedQueue<T>>> SharedQueue<T>::Create(
    SharedQueueOptions<T> options) {
  if (!options.codec.encode || !options.codec.decode) {
    return absl::InvalidArgumentError(
        "codec is empty; an item of this type needs its two functions");
  }
  absl::Status status = Groups::Check(options.fair);
  if (!status.ok()) return status;
  auto parts = internal::OpenSharedQueue(options, Groups(options.fair).ToSet());
  if (!parts.ok()) return parts.status();
  return absl::WrapUnique(
      new SharedQueue(std::move(options), *std::move(parts)));
}

template <typename T>
absl::Status SharedQueue<T>::Logged(absl::Status status, const T* item,
                                    absl::string_view call) const {
  if (status.ok() || absl::IsCancelled(status) ||
      absl::IsDeadlineExceeded(status)) {
    return status;
  }
  errors_.Write(
      [&] {
        return item == nullptr
                   ? absl::StrCat(call, " failed")
                   : absl::StrCat(call, " of ", internal::DescribeItem(*item),
                                  " failed");
      },
      status);
  return status;
}

template <typename T>
template <typename Result>
absl::StatusOr<Result> SharedQueue<T>::ApplyOne(Operation::Code code,
                                                const T& item,
                                                absl::string_view call) const {
  const absl::StatusOr<std::vector<int64_t>> results =
      queue_.Apply({MakeOperation(code, item)});
  if (!results.ok()) return Logged(results.status(), &item, call);
  return static_cast<Result>(results->front());
}

template <typename T>
absl::Status SharedQueue<T>::ApplyAdds(std::vector<Operation> adds) {
  if (queue_.closed() &&
      !std::all_of(adds.begin(), adds.end(), [this](const Operation& add) {
        return queue_.Holds(add.item);
      })) {
    return absl::CancelledError("the queue has been closed");
  }
  const absl::StatusOr<std::vector<int64_t>> results =
      queue_.Apply(std::move(adds));
  if (!results.ok()) return results.status();
  for (int64_t result : *results) {
    if (result == internal::kFalse) {
      return absl::CancelledError("the queue has been shut down");
    }
  }
  return absl::OkStatus();
}

template <typename T>
auto SharedQueue<T>::ChooseDelays(const Reservation& retry,
                                  std::optional<absl::Duration> after,
                                  std::optional<absl::Duration> retry_after)
    -> RetryDelays {
  const internal::Ticks& ticks = queue_.ticks();
  int64_t least = ticks.From(retry.Delay());
  int64_t other = -1;
  if (after.has_value() && *after != absl::ZeroDuration()) {
    other = ticks.From(*after);
  }
  if (retry_after.has_value()) {
    // The shorter delay counts: not that of the schedule.
    least = internal::kForever;
    const int64_t given =
        ticks.From((std::min)(*retry_after, parts_->max_retry));
    other = other < 0 ? given : (std::min)(other, given);
  }
  return {least, other};
}

template <typename T>
absl::Status SharedQueue<T>::AddItems(const AddOptions& options,
                                      absl::Span<const T> items) {
  absl::Status status = CheckAddOptions(options, AddSupport::kRateLimited);
  if (!status.ok()) return status;
  if (options.reschedule && options.priority != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("priority is ", options.priority,
                     " and reschedule is true; a shared queue reschedules at "
                     "priority 0"));
  }
  const int64_t after =
      queue_.ticks().From(options.after.value_or(absl::ZeroDuration()));
  std::vector<Operation> adds;
  adds.reserve(items.size());
  Reservation retry;
  for (const T& item : items) {
    if (options.rate_limited) {
      retry = parts_->bucket->Reserve();
      const RetryDelays delays =
          ChooseDelays(retry, options.after, options.retry_after);
      adds.push_back(MakeOperation(Operation::kAddRateLimited, item,
                                   delays.least, options.priority,
                                   delays.other));
    } else if (options.reschedule) {
      adds.push_back(MakeOperation(Operation::kReschedule, item, after));
    } else if (options.after.has_value()) {
      adds.push_back(
          MakeOperation(Operation::kAddAfter, item, after, options.priority));
    } else {
      adds.push_back(MakeOperation(Operation::kAdd, item, options.priority));
    }
    adds.back().text = groups_.TextOf(item, options.retry);
  }
  status = ApplyAdds(std::move(adds));
  const T* const only = items.size() == 1 ? &items.front() : nullptr;
  // Some of several items may have been added.
  if (only != nullptr && !status.ok() && !absl::IsUnknown(status)) {
    retry.Cancel();
  }
  return Logged(std::move(status), only, "an addition");
}

template <typename T>
template <typename F>
absl::Status SharedQueue<T>::HandOver(internal::HeldItem* held, F receive) {
  const absl::Status status = internal::CatchAsStatus([&]() -> absl::Status {
    absl::StatusOr<T> item = codec_.decode(held->item);
    if (!item.ok()) return item.status();
    receive(*std::move(item));
    return absl::OkStatus();
  });
  if (status.ok()) return status;
  errors_.Write(
      [&] {
        return absl::StrCat("gives back ", internal::DescribeItem(held->item),
                            ", which cannot be decoded");
      },
      status);
  // Another process may know the item, and find it without a failure.
  Operation end = queue_.End(held, Operation::kAbandon);
  end.y = queue_.ticks().From(kDelayOfUndecodable);
  end.z = 1;
  queue_.ApplyEnd(std::move(end)).IgnoreError();
  // A codec's error is not the end of the queue.
  return absl::IsCancelled(status) ? absl::InternalError(status.message())
                                   : status;
}

template <typename T>
absl::StatusOr<Lease<T>> SharedQueue<T>::MakeLease(internal::HeldItem* held) {
  std::unique_ptr<HeldByLease> leased;
  const absl::Status status = HandOver(held, [&](T&& item) {
    leased = std::make_unique<HeldByLease>(std::move(item), held);
  });
  if (!status.ok()) return status;
  leases_.Increment();
  return internal::LeaseAccess::Make<T>(this, leased.release());
}

template <typename T>
absl::Status SharedQueue<T>::GetItem(absl::Duration timeout,
                                     ItemReceiver<T> receive) {
  absl::StatusOr<std::vector<internal::HeldItem*>> got =
      queue_.Acquire(1, timeout, {});
  if (!got.ok()) return got.status();
  internal::HeldItem* const held = got->front();
  const int priority = static_cast<int>(held->priority);
  return HandOver(held, [&](T&& item) {
    std::string bytes = codec_.encode(item);  // by which its end finds it
    receive(item, priority);
    queue_.Remember(std::move(bytes), held);
  });
}

template <typename T>
absl::StatusOr<bool> SharedQueue<T>::EndProcessing(const T& item) {
  internal::HeldItem* const held = queue_.Recall(codec_.encode(item));
  if (held == nullptr) return false;
  const absl::StatusOr<bool> ended =
      queue_.ApplyEnd(queue_.End(held, Operation::kDone));
  if (!ended.ok()) return Logged(ended.status(), &item, "Done()");
  return ended;
}

template <typename T>
absl::Status SharedQueue<T>::AcquireInto(Lease<T>* lease,
                                         absl::Duration timeout) {
  std::vector<Operation> ends;
  ends.reserve(1);
  if (LeasedBy(*lease) != nullptr) {
    ends.push_back(Release(lease, Operation::kDone));
  } else {
    lease->Done();  // of another queue
  }
  absl::StatusOr<std::vector<internal::HeldItem*>> got =
      queue_.Acquire(1, timeout, std::move(ends));
  if (!got.ok()) return got.status();
  absl::StatusOr<Lease<T>> next = MakeLease(got->front());
  if (!next.ok()) return next.status();
  *lease = *std::move(next);
  return absl::OkStatus();
}

template <typename T>
absl::StatusOr<LeaseBatch<T>> SharedQueue<T>::AcquireUpToWithTimeout(
    size_t max, absl::Duration timeout) {
  if (max == 0) return internal::ZeroMaxError();
  absl::StatusOr<std::vector<internal::HeldItem*>> got =
      queue_.Acquire(max, timeout, {});
  if (!got.ok()) return got.status();
  LeaseBatch<T> batch;
  absl::Status status = internal::CatchAsStatus(
      [&] { internal::LeaseAccess::Reserve(&batch, got->size()); });
  while (!status.ok() && !got->empty()) {
    queue_.ApplyEnd(queue_.End(got->back(), Operation::kGiveBack))
        .IgnoreError();
    got->pop_back();
  }
  for (internal::HeldItem* held : *got) {
    absl::StatusOr<Lease<T>> lease = MakeLease(held);
    if (lease.ok()) {
      internal::LeaseAccess::PushBack(&batch, *std::move(lease));
    } else {
      status = lease.status();
    }
  }
  if (batch.empty()) return status;
  return batch;
}

template <typename T>
AcquireId SharedQueue<T>::AcquireNextAsync(Lease<T>* lease, Executor* executor,
                                           AcquireCallback<T> callback) {
  internal::DieIfNoCallback(executor, callback != nullptr);
  lease->Done();
  return queue_.AcquireAsync(
      executor, [this, callback = std::move(callback)](
                    absl::StatusOr<internal::HeldItem*> held) mutable {
        if (held.ok()) {
          std::move(callback)(MakeLease(*held));
        } else {
          std::move(callback)(held.status());
        }
      });
}

template <typename T>
absl::StatusOr<SharedQueueCounts> SharedQueue<T>::Count() const {
  internal::ByteSnapshotOptions options;
  options.max = 0;
  const auto taken = queue_.TakeSnapshotWith(options);
  if (!taken.ok()) return taken.status();
  return SharedQueueCounts{taken->num_queued, taken->num_processing,
                           taken->num_waiting, taken->num_failing,
                           taken->num_parked};
}

template <typename T>
absl::StatusOr<FailureNumbers> SharedQueue<T>::Numbers() const {
  const absl::StatusOr<SharedQueueCounts> counts = Count();
  if (!counts.ok()) return counts.status();
  return FailureNumbers{counts->failing, counts->parked};
}

template <typename T>
std::string SharedQueue<T>::TextOf(const FailureLedgerOptions& limits) const {
  const auto limit = [](std::optional<int64_t> number) {
    return number.has_value() && *number != internal::kForever
               ? absl::StrCat(*number)
               : "inf";
  };
  return absl::StrCat(" ", limit(limits.max_failures), " ",
                      limit(queue_.ticks().From(limits.max_failing_time)), " ",
                      limits.max_parked, limits.unpark_on_add ? " 0 " : " 1 ");
}

template <typename T>
absl::Status SharedQueue<T>::SetLimits(const FailureLedgerOptions& limits) {
  absl::Status status = internal::CheckFailureLedgerOptions(limits);
  if (!status.ok()) return status;
  queue_.SetLimits(
      {Operation::kSetLimits, "", 0, 0, 0, absl::StrCat(0, TextOf(limits))});
  return absl::OkStatus();
}

template <typename T>
absl::StatusOr<FailureOutcome> SharedQueue<T>::Fail(
    Lease<T>* lease, const absl::Status& error,
    const FailureLedgerOptions& limits,
    std::optional<absl::Duration> retry_after) {
  HeldByLease* const leased = LeasedBy(*lease);
  if (leased == nullptr) {
    return absl::InvalidArgumentError("lease leases no item of this queue");
  }
  absl::Status status = internal::CheckFailureLedgerOptions(limits);
  if (!status.ok()) return status;
  Reservation& retry = leased->retry;
  if (!retry.ok()) retry = parts_->bucket->Reserve();
  const RetryDelays delays = ChooseDelays(retry, std::nullopt, retry_after);
  internal::HeldItem* const held = leased->held;
  held->ending = true;
  const absl::StatusOr<std::vector<int64_t>> results = queue_.Apply(
      {{Operation::kFail, held->item, held->token, delays.least, delays.other,
        absl::StrCat(held->priority, TextOf(limits),
                     internal::Printable(internal::StatusText(error)))}});
  held->ending = results.ok();
  if (!results.ok()) return Logged(results.status(), &**lease, "a failure");
  const int64_t result = results->front();
  // Nothing is tried again if the lease was lost or the item is parked.
  if (result == internal::kFalse || result % 2 == 1) retry.Cancel();
  Release(lease, Operation::kFail);
  return FailureOutcome{result == internal::kFalse,
                        static_cast<int>(result / 2), result % 2 == 1};
}

template <typename T>
auto SharedQueue<T>::LeasedBy(const Lease<T>& lease) const -> HeldByLease* {
  const internal::LeaseOwner<T>* const owner = this;
  return static_cast<HeldByLease*>(internal::LeaseAccess::ItemOf(lease, owner));
}

template <typename T>
auto SharedQueue<T>::Release(Lease<T>* lease, Operation::Code code)
    -> Operation {
  const internal::LeaseOwner<T>* const owner = this;
  const std::unique_ptr<HeldByLease> ended(
      static_cast<HeldByLease*>(internal::LeaseAccess::Release(lease, owner)));
  Operation end = queue_.End(ended->held, code);
  leases_.Decrement();
  return end;
}

template <typename T>
absl::Status SharedQueue<T>::Requeue(Lease<T>* lease,
                                     const AddOptions& options) {
  const HeldByLease* const leased = LeasedBy(*lease);
  if (leased == nullptr) {
    return absl::InvalidArgumentError("lease leases no item of this queue");
  }
  absl::Status status =
      internal::CheckOnlyTimeAndPriority("Requeue()", options);
  if (!status.ok()) return status;
  internal::HeldItem* const held = leased->held;
  held->ending = true;
  status = queue_
               .Apply({{Operation::kRequeue, held->item, held->token,
                        queue_.ticks().From(
                            options.after.value_or(absl::ZeroDuration())),
                        options.priority}})
               .status();
  held->ending = status.ok();
  if (!status.ok()) return Logged(std::move(status), &**lease, "an addition");
  Release(lease, Operation::kRequeue);
  return absl::OkStatus();
}

template <typename T>
int SharedQueue<T>::FailuresBefore(const Lease<T>& lease) const {
  const HeldByLease* const leased = LeasedBy(lease);
  return leased == nullptr ? 0 : static_cast<int>(leased->held->failures);
}

template <typename T>
absl::StatusOr<size_t> SharedQueue<T>::UnparkAll() {
  const absl::StatusOr<internal::EngineSnapshot> taken =
      TakeFailures((std::numeric_limits<size_t>::max)());
  if (!taken.ok()) return taken.status();
  std::vector<Operation> operations;
  for (auto it = taken->parked.rbegin(); it != taken->parked.rend(); ++it) {
    operations.push_back({Operation::kUnpark, it->item});
  }
  const absl::StatusOr<std::vector<int64_t>> results =
      queue_.Apply(std::move(operations));
  if (!results.ok()) return Logged(results.status(), nullptr, "UnparkAll()");
  return static_cast<size_t>(
      std::count_if(results->begin(), results->end(),
                    [](int64_t it) { return it != internal::kFalse; }));
}

template <typename T>
absl::Status SharedQueue<T>::CheckComplete(const Snapshot<T>& snapshot) {
  if (snapshot.undecodable.empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("this process cannot decode ", snapshot.undecodable.front(),
                   ", which belongs to the result"));
}

template <typename T>
absl::StatusOr<internal::EngineSnapshot> SharedQueue<T>::TakeFailures(
    size_t max) const {
  internal::ByteSnapshotOptions options;
  options.max = max;
  options.details = true;
  options.failures_only = true;
  auto taken = queue_.TakeSnapshotWith(options);
  if (!taken.ok()) return Logged(taken.status(), nullptr, "a snapshot");
  return taken;
}

template <typename T>
absl::StatusOr<std::vector<FailedItem<T>>> SharedQueue<T>::ListFailures(
    size_t max, bool parked) const {
  absl::StatusOr<internal::EngineSnapshot> taken = TakeFailures(max);
  if (!taken.ok()) return taken.status();
  (parked ? taken->failing : taken->parked).clear();
  Snapshot<T> snapshot = ToSnapshot(*taken);
  absl::Status complete = CheckComplete(snapshot);
  if (!complete.ok()) return complete;
  return std::move(parked ? snapshot.parked : snapshot.failing);
}

template <typename T>
absl::StatusOr<FailedItem<T>> SharedQueue<T>::Find(const T& item) const {
  const std::string bytes = codec_.encode(item);
  internal::ByteSnapshotOptions options;
  options.only = &bytes;
  options.details = true;
  options.failures_only = true;
  const auto taken = queue_.TakeSnapshotWith(options);
  if (!taken.ok())
    return Logged(taken.status(), std::addressof(item), "a snapshot");
  const Snapshot<T> snapshot = ToSnapshot(*taken);
  for (const auto* list : {&snapshot.failing, &snapshot.parked}) {
    if (!list->empty()) return list->front();
  }
  absl::Status complete = CheckComplete(snapshot);
  if (!complete.ok()) return complete;
  return absl::NotFoundError("the item has no failures");
}

template <typename T>
absl::StatusOr<Snapshot<T>> SharedQueue<T>::TakeSnapshotWith(
    const SnapshotOptions<T>& options) const {
  internal::ByteSnapshotOptions of_bytes;
  of_bytes.max = options.max;
  of_bytes.timeout = options.timeout;
  of_bytes.details = options.details;
  of_bytes.here_only = options.here_only;
  std::string bytes;
  if (options.only != nullptr) {
    bytes = codec_.encode(*options.only);
    of_bytes.only = &bytes;
  }
  const absl::StatusOr<internal::EngineSnapshot> taken =
      queue_.TakeSnapshotWith(of_bytes);
  if (!taken.ok()) return Logged(taken.status(), options.only, "a snapshot");
  return ToSnapshot(*taken);
}

template <typename T>
Snapshot<T> SharedQueue<T>::ToSnapshot(
    const internal::EngineSnapshot& taken) const {
  Snapshot<T> snapshot;
  snapshot.taken_at = clock()->TimeNow();
  snapshot.shutting_down = taken.shut_down || ShuttingDown();
  // The engine's times differ from this clock's.
  const auto time_of = [&](int64_t time) {
    return time == internal::kForever
               ? absl::InfiniteFuture()
               : snapshot.taken_at +
                     queue_.ticks().ToDuration(time - taken.now);
  };
  snapshot.num_queued = taken.num_queued;
  snapshot.num_processing = taken.num_processing;
  snapshot.num_waiting = taken.num_waiting;
  snapshot.num_failing = taken.num_failing;
  snapshot.num_parked = taken.num_parked;
  snapshot.num_processing_here = taken.num_processing_here;
  snapshot.settings_problem =
      internal::Printable(taken.settings_problem, internal::kPrintedErrorBytes);
  snapshot.data_lost_at = taken.data_lost_at;
  absl::flat_hash_set<absl::string_view> undecodable;
  const auto decode = [&](const std::string& bytes) {
    absl::StatusOr<T> item = codec_.decode(bytes);
    if (!item.ok() && undecodable.insert(bytes).second) {
      snapshot.undecodable.push_back(internal::DescribeItem(bytes));
    }
    return item;
  };
  const auto for_each = [&](const auto& list, auto f) {
    for (const auto& it : list) {
      absl::StatusOr<T> item = decode(it.item);
      if (item.ok()) f(it, *std::move(item));
    }
  };
  for (const auto& it : taken.clients) {
    snapshot.clients.push_back(
        {internal::Printable(it.name), internal::Printable(it.version),
         it.seen < 0 ? absl::InfinitePast() : time_of(it.seen), it.waiting,
         it.processing});
  }
  for_each(taken.queued, [&](const auto& it, T item) {
    snapshot.queued.push_back({std::move(item), time_of(it.time),
                               static_cast<int>(it.number),
                               static_cast<int>(it.failures), it.last_error});
  });
  for_each(taken.processing, [&](const auto& it, T item) {
    snapshot.processing.push_back(
        {std::move(item), time_of(it.time), it.added_again,
         static_cast<int>(it.failures), it.last_error,
         internal::Printable(it.holder), time_of(it.expiry)});
  });
  for_each(taken.lost_here, [&](const auto& it, T item) {
    snapshot.lost_here.push_back(
        {std::move(item), it.since, it.held_back, /*failures=*/0, ""});
  });
  std::sort(snapshot.lost_here.begin(), snapshot.lost_here.end(),
            [](const auto& a, const auto& b) { return a.since < b.since; });
  for_each(taken.waiting, [&](const auto& it, T item) {
    snapshot.waiting.push_back({std::move(item), time_of(it.time),
                                static_cast<int>(it.number),
                                static_cast<int>(it.failures), it.last_error});
  });
  for (const auto* list : {&taken.failing, &taken.parked}) {
    for_each(*list, [&](const auto& it, T item) {
      const bool parked = list == &taken.parked;
      std::optional<absl::Time> next_try_at;
      if (it.time != internal::kForever) next_try_at = time_of(it.time);
      (parked ? snapshot.parked : snapshot.failing)
          .push_back({std::move(item), parked, static_cast<int>(it.failures),
                      it.last_error, time_of(it.first_failed),
                      time_of(it.last_failed), next_try_at});
    });
  }
  for (const auto& it : taken.bounds) {
    snapshot.bounds.push_back({internal::SharedGroups<T>::NameOf(it),
                               it.max,
                               it.processing,
                               it.processing >= it.max && it.queued > 0,
                               {},
                               it.queued});
    for (const std::string& bytes : it.items) {
      absl::StatusOr<T> item = decode(bytes);
      if (item.ok()) snapshot.bounds.back().items.push_back(*std::move(item));
    }
  }
  return snapshot;
}

template <typename T>
absl::StatusOr<bool> SharedQueue<T>::ShutDownAndDrain(
    std::optional<absl::Duration> drain) {
  if (!drain.has_value()) {
    absl::Status status = queue_.ShutDown();
    if (!status.ok()) return Logged(std::move(status), nullptr, "ShutDown()");
    return false;
  }
  absl::StatusOr<bool> drained = queue_.ShutDownWithDrain(*drain);
  if (!drained.ok()) {
    return Logged(drained.status(), nullptr, "ShutDownWithDrain()");
  }
  return drained;
}

template <typename T>
bool SharedQueue<T>::CloseWithDrainWithin(absl::Duration timeout) {
  Close();
  return queue_.AwaitNothingHeld(timeout);
}

template <typename T>
bool SharedQueue<T>::EndLeases(absl::Span<QueuedItem<T>* const> items,
                               internal::LeaseEnd end) {
  std::vector<Operation> ends;
  const bool sends = internal::TryCall([&] { ends.reserve(items.size()); });
  for (QueuedItem<T>* item : items) {
    const std::unique_ptr<HeldByLease> ended(static_cast<HeldByLease*>(item));
    Operation told = queue_.End(ended->held, end == internal::LeaseEnd::kDone
                                                 ? Operation::kDone
                                                 : Operation::kGiveBack);
    if (sends) {
      ends.push_back(std::move(told));
    } else {
      queue_.NoteUnsent(told);
    }
  }
  const absl::StatusOr<bool> result =
      sends ? queue_.ApplyEnds(std::move(ends)) : internal::NoMemoryError();
  for (size_t i = 0; i < items.size(); ++i) leases_.Decrement();
  return Logged(result.status(), nullptr, "the end of a lease").ok() && *result;
}

template <typename T>
int64_t SharedQueue<T>::TokenOf(const QueuedItem<T>& item) const {
  return static_cast<const HeldByLease&>(item).held->token;
}

template <typename T>
bool SharedQueue<T>::IsLost(const QueuedItem<T>& item) const {
  return queue_.IsLost(*static_cast<const HeldByLease&>(item).held);
}

}  // namespace workqueue

#endif  // WORKQUEUE_SHARED_SHARED_QUEUE_H_
