// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_DELAYING_QUEUE_H_
#define WORKQUEUE_DELAYING_QUEUE_H_

#include <algorithm>
#include <cstddef>
#include <list>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/attributes.h"
#include "absl/base/optimization.h"
#include "absl/base/thread_annotations.h"
#include "absl/cleanup/cleanup.h"
#include "absl/container/flat_hash_set.h"
#include "absl/memory/memory.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "workqueue/base/error_log.h"
#include "workqueue/base/exceptions.h"
#include "workqueue/base/mutex_lock.h"
#include "workqueue/clock/clock.h"
#include "workqueue/interfaces.h"
#include "workqueue/internal/add_channel.h"
#include "workqueue/internal/callback_getters.h"
#include "workqueue/internal/forwarding_queue.h"
#include "workqueue/internal/queue_metrics.h"
#include "workqueue/internal/snapshot_order.h"
#include "workqueue/internal/ticker.h"
#include "workqueue/internal/waiting_items.h"
#include "workqueue/metrics.h"
#include "workqueue/queue.h"
#include "workqueue/simulation/sync.h"
#include "workqueue/snapshot.h"
#include "workqueue/timer/waiting_loop.h"
#include "workqueue/timer/waiting_set_options.h"

namespace workqueue {

// DelayingQueueOptions
//
// Options of a `DelayingQueue`. Every field has a usable default. The options
// of `QueueOptions` apply to both layers.
template <typename T>
struct DelayingQueueOptions : QueueOptions<T> {
  // Whether `Add()` ends the waiting of the item: it is processed now, and not
  // once more when its time comes. By default the item goes on waiting, as in
  // client-go.
  bool add_supersedes_waiting = false;

  // The container of the items that wait for their time.
  WaitingSetOptions waiting_set;
};

// DelayingQueue
//
// A queue that can add an item later. `DelayingInterface` has its promises. It
// is the middle one of the three layers: it owns the queue below, forwards
// calls to it, and adds each item to it when the item's time comes.
//
// Example:
//
//     workqueue::DelayingQueue<std::string> queue;
//     queue.AddAfter("default/web", absl::Seconds(30));  // look again then
//     queue.AddAfter("default/web", absl::Seconds(10));  // no: sooner
//     queue.AddAfter("default/web", absl::Minutes(5));   // changes nothing
//     queue.Reschedule("default/web", absl::Minutes(5));  // later, after all
//     queue.CancelDelayed("default/web");                 // or not at all
//
// An item is never added before its time. The queue's own thread adds it when
// the time has come. The thread sleeps otherwise, for 10 seconds at most. If an
// item's time has already come when `AddAfter()` would wake the thread,
// `AddAfter()` adds the item itself, and so may call `Add()` of the queue below
// as it does for an item without a delay. Delays are measured on the queue's
// clock. If the clock goes back, an item still waits until the clock reaches
// its time. The real clock ignores changes of the machine's wall clock. A delay
// of more than 146 years may never end.
//
// Items that are ready at the same time are added in the order of their
// `AddAfter()`. If the queue below throws from `Add()` or does not take an
// item, the queue logs the error and tries again a second later. No item is
// lost.
//
// `AddAfter()` takes O(log n) for n waiting items, most of it on the queue's
// thread. If that thread is 1,000 additions behind, `AddAfter()` waits for it,
// a millisecond at most, and then takes these in itself. So that thread may
// call it, too. `Reschedule()` and `CancelDelayed()` take O(log n), plus the
// time to take in earlier additions. These two, and an `AddAfter()` that adds
// its item or takes in others itself, wait while the queue below takes an item
// that is due.
//
// If hashing, comparing or copying a `T` throws, or if there is no memory, the
// exception comes out of the call and the queue is unchanged. If that happens
// to the queue's thread, the thread logs the error and tries again a second
// later.
//
// With a timing wheel, O(log n) becomes constant time, an item is late by up to
// a tick, and items of one tick are added in any order. So are items whose time
// has come before the queue's thread takes them in.
//
// Thread-safe. Do not destroy the queue from a function that its own thread
// calls. Final, so that the queue's own thread makes no virtual call while the
// constructor or the destructor of a derived class runs.
template <typename T, typename Hash = typename absl::flat_hash_set<T>::hasher,
          typename Eq = typename absl::flat_hash_set<T>::key_equal>
class DelayingQueue final
    : public internal::ForwardingQueue<T, DelayingInterface<T>, Interface<T>>,
      private WaitingLoop::Client {
 public:
  // A queue on a `Queue`, which it makes.
  explicit DelayingQueue(DelayingQueueOptions<T> options = {})
      : DelayingQueue(options, options.clock.LoopOrNew(options.name)) {}

  // Returns a queue on `queue`, which has its own name, metrics, log sink and
  // order. `options` apply to the delaying layer only.
  //
  // Returns `absl::InvalidArgumentError` if `queue` is null, if its clock is
  // not `options.clock`, or if `options.ordering` is not null.
  static absl::StatusOr<std::unique_ptr<DelayingQueue>> Create(
      std::unique_ptr<Interface<T>> queue,
      DelayingQueueOptions<T> options = {}) {
    if (queue == nullptr) {
      return absl::InvalidArgumentError(
          "queue is null; the layer above needs a queue");
    }
    if (options.ordering != nullptr) {
      return absl::InvalidArgumentError(
          "ordering is given, and queue, too; the queue below has an order of "
          "its own");
    }
    if (queue->clock() != options.clock.clock()) {
      return absl::InvalidArgumentError(
          "clock is not that of queue; the layer and the queue below need the "
          "same clock");
    }
    return absl::WrapUnique(
        new DelayingQueue(options, options.clock.LoopOrNew(options.name),
                          std::move(queue), /*own=*/false));
  }

  ~DelayingQueue() override {
    stopped_ = true;
    add_channel_.Close();
    loop_->Remove(this);
    // An add whose item has been got may still hold it.
    const MutexLock lock(&mu_);
  }

  DelayingQueue(const DelayingQueue&) = delete;
  DelayingQueue& operator=(const DelayingQueue&) = delete;

  absl::Status AddItems(const AddOptions& options,
                        absl::Span<const T> items) override {
    return ABSL_PREDICT_TRUE(&options == &internal::kAddAtOnce &&
                             !add_supersedes_waiting_)
               ? Base::AddItems(options, items)
               : AddWithDelay(options, items);
  }
  absl::StatusOr<bool> CancelWait(const T& item) override {
    const size_t hash = Hash()(item);
    const absl::Time now = clock_->TimeNow();
    MutexLock lock(&mu_);
    if (ShuttingDown()) return false;
    DrainAddChannel(now, &hash);
    auto* const entry = waiting_.Find(item, hash);
    if (entry == nullptr) return false;
    waiting_.Remove(entry);
    return true;
  }

  absl::StatusOr<bool> ShutDownAndDrain(
      std::optional<absl::Duration> drain) override {
    // Not before a drain: a thread that saw `ShuttingDown()` could call
    // `ShutDown()` to end a drain that has not begun below yet. Nor after it:
    // this object may be gone.
    if (!drain.has_value()) StopWaiting();
    return Base::ShutDownAndDrain(drain);
  }
  void Close() override {
    StopWaiting();
    Base::Close();
  }
  bool ShuttingDown() const override {
    return stopped_ || Base::ShuttingDown();
  }
  absl::StatusOr<Snapshot<T>> TakeSnapshotWith(
      const SnapshotOptions<T>& options) const override {
    if (!options.waiting) return Base::TakeSnapshotWith(options);
    auto* const self = const_cast<DelayingQueue*>(this);  // takes in additions
    const size_t hash = options.only != nullptr ? Hash()(*options.only) : 0;
    const size_t max = options.only != nullptr ? 1 : options.max;
    const absl::Time now = clock_->TimeNow();
    absl::StatusOr<Snapshot<T>> snapshot;
    {
      HoldCallbacks hold;
      MutexLock lock(&self->mu_);
      if (!ShuttingDown()) self->DrainAddChannel(now);
      snapshot = Base::TakeSnapshotWith(options);
      if (!snapshot.ok() || ShuttingDown()) return snapshot;
      snapshot->num_waiting += self->waiting_.size();
      snapshot->waiting.reserve(snapshot->waiting.size() +
                                (std::min)(max, self->waiting_.size()));
      const auto copy = [&snapshot](const T& item, absl::Time ready_at) {
        snapshot->waiting.push_back({item, ready_at, /*priority=*/0,
                                     /*failures=*/0, /*last_error=*/""});
      };
      if (options.only == nullptr) {
        self->waiting_.ForFirst(max, copy);
      } else if (const auto* const entry =
                     self->waiting_.Find(*options.only, hash)) {
        copy(entry->item(), self->waiting_.DueAt(entry));
      }
    }
    internal::SortBy(&snapshot->waiting, {},
                     [](const auto& it) { return it.ready_at; });
    // In the queue below, items may wait, too.
    while (snapshot->waiting.size() > max) snapshot->waiting.pop_back();
    return snapshot;
  }

 private:
  friend internal::RingOpener;

  using Base = internal::ForwardingQueue<T, DelayingInterface<T>, Interface<T>>;
  using AddChannel = internal::AddChannel<T>;
  using HoldCallbacks = internal::HoldCallbacks;
  using MutexLock = internal::MutexLock;
  using WaitingItems = internal::WaitingItems<T, Eq>;

  using OwnQueue = Queue<T, Hash, Eq>;

  // Returns the queue below, which shares `loop`.
  static std::unique_ptr<OwnQueue> NewQueue(
      DelayingQueueOptions<T>& options,
      const std::shared_ptr<WaitingLoop>& loop) {
    QueueOptions<T> below;
    below.name = options.name;
    below.metrics_provider = options.metrics_provider;
    below.log_sink = options.log_sink;
    below.clock = loop;
    below.ordering = std::move(options.ordering);
    return std::make_unique<OwnQueue>(std::move(below));
  }

  DelayingQueue(DelayingQueueOptions<T>& options,
                std::shared_ptr<WaitingLoop> loop)
      : DelayingQueue(options, loop, NewQueue(options, loop), /*own=*/true) {}

  // `own` is whether `queue` is an `OwnQueue`.
  DelayingQueue(const DelayingQueueOptions<T>& options,
                std::shared_ptr<WaitingLoop> loop,
                std::unique_ptr<Interface<T>> queue, bool own)
      : Base(std::move(queue)),
        own_queue_(own ? static_cast<OwnQueue*>(&this->below()) : nullptr),
        clock_(loop->clock()),
        add_supersedes_waiting_(options.add_supersedes_waiting),
        retries_(
            internal::NewRetriesMetric(options.name, options.metrics_provider)),
        add_channel_([this] { loop_->Wake(this); }),
        waiting_(options.waiting_set, clock_),
        errors_("queue", options.name, options.log_sink, clock_),
        loop_(std::move(loop)),
        waiting_gauge_(internal::SampleGauge(
            options.name, options.metrics_provider,
            &MetricsProvider::NewWaitingItemsMetric, options.log_sink, loop_,
            [this] { return NumWaiting(); })) {
    loop_->Add(this);
    if (own_queue_ != nullptr) {
      own_queue_->on_shut_down_ = [this] { loop_->Wake(this); };
    }
  }

  // Takes in no more items, and drops the items that wait.
  void StopWaiting() {
    stopped_ = true;
    add_channel_.Close();
    loop_->Wake(this);
  }

  // The parts of `AddItems()`. The first is not inline, so that an `Add()` does
  // not pay for it.
  ABSL_ATTRIBUTE_NOINLINE absl::Status AddWithDelay(const AddOptions& options,
                                                    absl::Span<const T> items) {
    absl::Status status = CheckAddOptions(options, AddSupport::kDelayed);
    if (!status.ok()) return status;
    if (options.reschedule) {
      return AddAnew(items, options.after.value_or(absl::ZeroDuration()));
    }
    if (!options.after.has_value()) return AddNow(options, items);
    for (const T& item : items) status.Update(AddLater(item, *options.after));
    return status;
  }

  // Adds without a delay.
  absl::Status AddNow(const AddOptions& options, absl::Span<const T> items) {
    if (!add_supersedes_waiting_) return Base::AddItems(options, items);
    return AddAnew(items, absl::ZeroDuration());
  }

  // Adds with a delay.
  absl::Status AddLater(const T& item, absl::Duration delay) {
    if (ShuttingDown()) return internal::ShuttingDownError();
    if (retries_ != nullptr) retries_->Inc();
    if (delay <= absl::ZeroDuration()) {
      return AddNow(internal::kAddAtOnce, this->One(item));
    }
    const size_t hash = Hash()(item);
    const absl::Time ready_at = clock_->TimeNow() + delay;
    using Result = typename AddChannel::TryPushResult;
    const Result result = add_channel_.TryPush(item, hash, ready_at);
    if (result == Result::kPushed) return absl::OkStatus();
    if (result == Result::kClosed) return internal::ShuttingDownError();
    if (result == Result::kFull) {
      MakeRoomInAddChannel();
    } else if (AddIfDue(item, hash, ready_at)) {
      return absl::OkStatus();  // The loop need not run for it.
    }
    return add_channel_.Push(item, hash, ready_at)
               ? absl::OkStatus()
               : internal::ShuttingDownError();
  }

  // Adds with a delay that replaces the time of an item that waits.
  absl::Status AddAnew(absl::Span<const T> items, absl::Duration delay) {
    const absl::Time now = clock_->TimeNow();
    absl::Status status;
    if (items.empty()) return status;
    HoldCallbacks hold;
    MutexLock lock(&mu_);
    if (ShuttingDown()) return internal::ShuttingDownError();
    // Also for what has been moved before something throws.
    absl::Cleanup wake = [this, delay]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
      if (delay > absl::ZeroDuration()) {
        add_channel_.WakeBy(waiting_.NextWake());
      }
    };
    for (const T& item : items) {
      const size_t hash = Hash()(item);
      DrainAddChannel(now, &hash);
      if (delay <= absl::ZeroDuration()) {
        status.Update(AddInsteadOfWaiting(item, hash));
      } else {
        waiting_.Insert(item, hash, now + delay, now, /*even_later=*/true);
      }
    }
    return status;
  }

  // If `item`, which hashes to `hash`, is due by now, adds it to the queue
  // below and removes it from the waiting items. Returns false if it is not due
  // or not taken; the loop must add it then.
  bool AddIfDue(const T& item, size_t hash, absl::Time ready_at)
      ABSL_LOCKS_EXCLUDED(mu_) {
    const absl::Time now = clock_->TimeNow();
    if (now < ready_at) return false;
    bool taken = false;
    internal::TryCall([&]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
      HoldCallbacks hold;
      const internal::MutexTryLock lock(&mu_);
      if (!lock.held()) return;  // The queue below may call this function.
      DrainAddChannel(now, &hash);
      taken = AddInsteadOfWaiting(item, hash).ok();
    });
    return taken;
  }

  // Takes in the additions, unless the loop soon does. Does not if that throws,
  // or if a thread, maybe this one, holds mu_.
  void MakeRoomInAddChannel() ABSL_LOCKS_EXCLUDED(mu_) {
    const absl::Time now = clock_->TimeNow();
    if (add_channel_.AwaitRoom()) return;
    const internal::MutexTryLock lock(&mu_);
    if (!lock.held() || ShuttingDown()) return;
    internal::TryCall(
        [&]() ABSL_NO_THREAD_SAFETY_ANALYSIS { DrainAddChannel(now); });
  }

  // Called by the waiting loop: takes in the additions, and moves the items
  // that are due to the queue below.
  absl::Time Run(absl::Time now) override {
    if (ShuttingDown()) {
      add_channel_.Close();
      MutexLock lock(&mu_);
      received_.clear();
      waiting_.Clear();
      return absl::InfiniteFuture();
    }
    add_channel_.Awake();
    bool took_in_all = false;
    {
      MutexLock lock(&mu_);
      took_in_all = errors_.Try(
          [] { return "what was added cannot be taken in yet"; },
          [this, now]()
              ABSL_NO_THREAD_SAFETY_ANALYSIS { DrainAddChannel(now); });
    }
    // The other clients of the loop have their turns, too.
    if (AddDueBatch(now)) return absl::InfinitePast();
    MutexLock lock(&mu_);
    absl::Time next = waiting_.NextWake();
    if (!took_in_all) next = (std::min)(next, now + internal::RetryDelay());
    // An exception in another thread may have left some to be taken in.
    const bool may_sleep = add_channel_.SleepUntil(next) &&
                           (received_.empty() || received_.front().empty());
    return may_sleep || !took_in_all ? next : absl::InfinitePast();
  }

  // Takes in the additions so far. One that throws keeps no other waiting, and
  // is tried again by the next call. Throws if one is left that hashes to
  // `*hash`, or, if `hash` is null, if any is.
  void DrainAddChannel(absl::Time now, const size_t* hash = nullptr)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    using Addition = typename AddChannel::Addition;
    if (received_.empty() || !received_.back().empty()) {
      received_.emplace_back();
    }
    add_channel_.Receive(&received_.back());
    const auto take_in =
        [this, now](Addition* addition) ABSL_NO_THREAD_SAFETY_ANALYSIS {
          waiting_.Insert(std::move_if_noexcept(addition->item), addition->hash,
                          addition->ready_at, now);
          addition->taken_in = true;
        };
    Addition* failed = nullptr;
    for (auto next = received_.begin(); next != received_.end();) {
      const auto batch = next++;
      bool done = true;
      for (Addition& it : *batch) {
        if (it.taken_in || internal::TryCall([&] { take_in(&it); })) continue;
        done = false;
        if (hash == nullptr || *hash == it.hash) failed = &it;
      }
      if (!done) continue;
      batch->clear();
      // The channel may have grown beyond its size.
      if (received_.size() > 1 ||
          batch->capacity() > 2 * AddChannel::kCapacity) {
        received_.erase(batch);
      }
    }
    if (failed != nullptr) take_in(failed);
  }

  // Returns the number of waiting items.
  size_t NumWaiting() ABSL_LOCKS_EXCLUDED(mu_) {
    if (ShuttingDown()) return 0;
    const absl::Time now = clock_->TimeNow();
    MutexLock lock(&mu_);
    DrainAddChannel(now);
    return waiting_.size();
  }

  // Moves some of the items that are due to the queue below, and returns
  // whether more may be due.
  bool AddDueBatch(absl::Time now) {
    HoldCallbacks hold;
    MutexLock lock(&mu_);
    if (own_queue_ == nullptr) {
      return AddDueBatch(now, [this](const T& item) {
        return Base::AddItems(internal::kAddAtOnce, this->One(item));
      });
    }
    // With one lock for all.
    return own_queue_->AddSeveral([this, now](auto add)
                                      ABSL_NO_THREAD_SAFETY_ANALYSIS {
                                        return this->AddDueBatch(now, add);
                                      });
  }

  // The part with the lock. `add(item)` adds an item to the queue below, and
  // returns a status.
  template <typename F>
  bool AddDueBatch(absl::Time now, F add) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    for (int i = 0; i < WaitingLoop::Client::kMostAtOnce; ++i) {
      auto* const due = waiting_.Due(now);
      if (due == nullptr) return false;
      const bool added = errors_.Try(
          [due] { return internal::DueButNotAdded(due->item()); },
          [this, due, &add] {
            absl::Status status = add(due->item());
            // What is shut down meanwhile drops what waits.
            return !status.ok() && ShuttingDown() ? absl::OkStatus() : status;
          });
      if (added) {
        waiting_.Remove(due);
      } else {
        waiting_.Postpone(due, now + internal::RetryDelay(), now);
      }
    }
    return true;
  }

  // Adds `item`, which hashes to `hash`, to the queue below and removes it from
  // the waiting items. If the queue below does not take it, does neither.
  absl::Status AddInsteadOfWaiting(const T& item, size_t hash)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    auto* const entry = waiting_.Find(item, hash);
    absl::Status status = Base::AddItems(internal::kAddAtOnce, this->One(item));
    if (status.ok() && entry != nullptr) waiting_.Remove(entry);
    return status;
  }

  OwnQueue* const own_queue_;  // the queue below; null if it was given
  Clock* const clock_;
  const bool add_supersedes_waiting_;
  const std::unique_ptr<CounterMetric> retries_;
  AddChannel add_channel_;
  sync::Atomic<bool> stopped_{false};

  // Held while an item moves from the waiting items to the queue below, so that
  // it is always in one of the two. Comes before the locks of that queue and of
  // add_channel_. AddAfter() takes it only if the item is due or the channel is
  // full.
  sync::Mutex mu_;
  WaitingItems waiting_ ABSL_GUARDED_BY(mu_);
  // Each batch of additions that was received together, until all of the batch
  // are taken in.
  std::list<std::vector<typename AddChannel::Addition>> received_
      ABSL_GUARDED_BY(mu_);
  internal::ErrorLog errors_;

  const std::shared_ptr<WaitingLoop> loop_;
  // Null without this metric.
  const std::unique_ptr<internal::Ticker> waiting_gauge_;
};

// Instantiated in string_queues.cc.
extern template class DelayingQueue<std::string>;

}  // namespace workqueue

#endif  // WORKQUEUE_DELAYING_QUEUE_H_
