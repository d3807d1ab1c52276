// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_QUEUE_H_
#define WORKQUEUE_QUEUE_H_

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/base/optimization.h"
#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_set.h"
#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "workqueue/interfaces.h"
#include "workqueue/internal/queue_core.h"
#include "workqueue/internal/queue_order.h"
#include "workqueue/log_sink.h"
#include "workqueue/metrics.h"
#include "workqueue/ordering.h"
#include "workqueue/timer/queue_clock.h"

namespace workqueue {

// QueueOptions
//
// Options of a `Queue`. Every field has a usable default.
template <typename T>
struct QueueOptions {
  // The queue's name in metrics and messages. A queue without a name reports no
  // metrics.
  std::string name;

  // The provider of the queue's metrics; null means the default provider. Not
  // owned; must outlive the queue.
  MetricsProvider* metrics_provider = nullptr;

  // Receives messages about errors that no caller can be told of, such as those
  // on the queue's own thread; null means that nobody does. Each layer sends at
  // most ten messages at once, and then two per second. A message says how many
  // errors before it were left out. Not owned; must outlive the queue.
  LogSink* log_sink = nullptr;

  // The queue's clock, or a waiting loop that queues share; null means the real
  // clock. A clock is not owned and must outlive the queue.
  QueueClock clock;

  // The order in which items are handed out; null means first in, first out.
  std::unique_ptr<Ordering<T>> ordering;
};

// Queue
//
// A deduplicating queue in memory. `Interface` has its promises. It is the
// bottom of the three layers, and useful on its own where no item is added
// later.
//
// Example:
//
//     workqueue::Queue<std::string> queue;
//     std::thread worker([&queue] {
//       while (std::optional<std::string> key = queue.Get()) {
//         Reconcile(*key);
//         queue.Done(*key);
//       }
//     });
//     queue.Add("default/web");
//     queue.Add("default/web");  // the same item: reconciled once
//     queue.ShutDownWithDrain();
//     worker.join();
//
// `Hash` and `Eq` are those of a hash set: equal items must have equal hashes.
// If hashing, comparing or copying a `T`, the ordering or a metric throws, the
// exception comes out of the call and the queue is unchanged. But an item that
// a get has taken out of the ordering is handed out before the items in the
// ordering. And `Done()` and the end of a lease always end the processing: an
// exception from a metric is logged, and an item that the ordering refuses is
// handed out before the items in the ordering.
//
// A call that adds items, hands them out or ends their processing takes
// constant time for each item, whatever the queue holds. It allocates nothing
// in the steady state; copying a `T` may allocate, and `AddAll()` and
// `AcquireUpTo()` of many items do. (A `std::string` of less than 64 bytes is
// copied into the memory of one whose processing has ended.) The hash table
// grows and shrinks in pieces, so no call moves more than some thousand of its
// slots. The end of an item's processing may move one other item, to free the
// memory of a peak, if moving a `T` does not throw.
//
// If threads contend for the lock of the queue, an `Add()` may leave its item
// to the thread that holds the lock. It does so only in a queue without an
// ordering, if neither moving nor comparing a `T` can throw, and if a `T` has
// at most 256 bytes. Every later call of any thread sees the item, unless there
// is no memory for it. The metrics count the item no later than that call. If
// only one thread calls the queue, they count each item at once: the thread of
// the queue itself does not contend. If a metric throws while another thread
// adds the item, the exception is logged, and the item is added. The queue
// keeps the memory for this, 18 KB at most, until it is destroyed.
//
// Thread-safe.
template <typename T, typename Hash = typename absl::flat_hash_set<T>::hasher,
          typename Eq = typename absl::flat_hash_set<T>::key_equal>
class Queue : public internal::QueueCore<T, internal::QueueOrder<T>, Hash, Eq> {
 public:
  explicit Queue(QueueOptions<T> options = {})
      : Base(options.name, options.metrics_provider, options.log_sink,
             options.clock, std::move(options.ordering)) {}
  ~Queue() override { this->AwaitEnd(); }

  absl::Status AddItems(const AddOptions& options,
                        absl::Span<const T> items) override {
    if (ABSL_PREDICT_FALSE(&options != &internal::kAddAtOnce)) {
      absl::Status status = CheckAddOptions(options, AddSupport::kAtOnce);
      if (!status.ok()) return status;
    }
    if (ABSL_PREDICT_FALSE(items.size() != 1)) return AddMany(items);
    const T& item = items.front();
    const size_t hash = Hash()(item);
    if (this->TryPush(item, hash)) return absl::OkStatus();
    Lock lock(this, Lock::kOpenRing);
    if (this->ShuttingDown()) return internal::ShuttingDownError();
    this->AddWithoutPriority(item, hash);
    return absl::OkStatus();
  }

 private:
  template <typename, typename, typename>
  friend class DelayingQueue;

  using Base = internal::QueueCore<T, internal::QueueOrder<T>, Hash, Eq>;
  using typename Base::Entry;
  using typename Base::Lock;

  absl::Status AddMany(absl::Span<const T> items) {
    if (items.empty()) return absl::OkStatus();
    absl::InlinedVector<size_t, 32> hashes;
    hashes.reserve(items.size());
    for (const T& item : items) hashes.push_back(Hash()(item));
    Lock lock(this);
    if (this->ShuttingDown()) return internal::ShuttingDownError();
    const internal::CompactTime now = this->TimeOfAdd();
    this->entries_.ForEachGuess(
        hashes, [&](size_t i, Entry* guess) ABSL_NO_THREAD_SAFETY_ANALYSIS {
          this->AddWithoutPriority(items[i], hashes[i], &now, /*pushed=*/false,
                                   guess);
        });
    return absl::OkStatus();
  }

  void OnShutDown() override ABSL_EXCLUSIVE_LOCKS_REQUIRED(this->mu_) {
    if (on_shut_down_ != nullptr) on_shut_down_();
  }

  // Calls `f(add)` with the lock held, and returns what it returns. `add(item)`
  // adds `item`, and returns a status. Throws only what `f` throws. For the
  // waiting loop.
  template <typename F>
  auto AddSeveral(F f) {
    Lock lock(this, Lock::kLoop);
    return f([this](const T& item) ABSL_NO_THREAD_SAFETY_ANALYSIS {
      if (this->ShuttingDown()) return internal::ShuttingDownError();
      this->AddWithoutPriority(item, Hash()(item));
      return absl::OkStatus();
    });
  }

  // Called with the lock held when the queue is shut down. The layer above sets
  // it before it uses the queue; null without one.
  std::function<void()> on_shut_down_;
};

// Instantiated in string_queues.cc.
extern template class internal::QueueCore<
    std::string, internal::QueueOrder<std::string>,
    absl::flat_hash_set<std::string>::hasher,
    absl::flat_hash_set<std::string>::key_equal>;
extern template class Queue<std::string>;

}  // namespace workqueue

#endif  // WORKQUEUE_QUEUE_H_
