// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// workqueue/delaying_queue.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_DELAYING_QUEUE_H_
#define WORKQUEUE_DELAYING_QUEUE_H_

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "workqueue/clock/clock.h"
#include "workqueue/interfaces.h"
#include "workqueue/internal/error_log.h"
#include "workqueue/internal/exceptions.h"
#include "workqueue/internal/mutex_lock.h"
#include "workqueue/internal/queue/add_channel.h"
#include "workqueue/internal/queue/forwarding_queue.h"
#include "workqueue/internal/queue/queue_metrics.h"
#include "workqueue/internal/queue/waiting_items.h"
#include "workqueue/internal/retry_delay.h"
#include "workqueue/metrics.h"
#include "workqueue/queue.h"
#include "workqueue/snapshot.h"
#include "workqueue/timer/waiting_loop.h"
#include "workqueue/timer/waiting_set_options.h"

namespace workqueue {

// DelayingQueueOptions
//
// How a delaying queue is made. What it shares with `QueueOptions` goes for the
// queue below, too, if the delaying queue makes that.
template <typename T>
struct DelayingQueueOptions : QueueOptions<T> {
  // The queue below; null for a `Queue`. With one given, `ordering` goes
  // unused: it is the queue below that has an order.
  std::unique_ptr<Interface<T>> queue;

  // Whether `Add()` takes an item that waits out of the waiting ones: it is
  // processed now, and not once more when its time comes. As client-go does,
  // an item that is added does not stop waiting by default.
  bool add_supersedes_waiting = false;

  // What keeps the items that wait for their time.
  WaitingSetOptions waiting_set;
};

// DelayingQueue
//
// A queue to which items can be added later: `DelayingInterface` has the
// promises. The middle one of the three layers. All that has nothing to do with
// delays goes to the queue below, and so do the items as their time comes.
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
// An item is never added before its time. A thread of the queue's own adds it
// when the time has come; it sleeps otherwise, for 10 seconds at most. Only an
// item whose time has come by when that thread would have to be woken is added
// by `AddAfter()` itself: so `Add()` of the queue below may be called from
// there, as without a delay. Delays are measured on the clock in the options,
// which in its default does not follow changes of the machine's wall clock.
//
// Items ready at the same time are added in the order of their `AddAfter()`. If
// the queue below throws from `Add()`, or cannot take an item, that is logged
// and tried again a second later; no item is lost.
//
// `AddAfter()` takes O(log n) for n waiting items, most of it on the queue's
// thread. It blocks only if that thread is behind by 1,000 items, until it
// catches up or the queue is shut down. `Reschedule()` and `CancelDelayed()`
// take O(log n), and what is still to be taken in; they, and an `AddAfter()`
// that adds its item itself, may have to wait while the queue below takes an
// item that is due. If hashing, comparing or copying a `T` throws, the
// exception comes out of the call and the queue is as it was.
//
// With a timing wheel, that O(log n) is constant time, items are late by up to
// a tick, and those of one tick are added in any order; so are those that are
// due by when the queue's thread takes them in.
//
// Thread-safe. Do not destroy the queue from a function that its own thread
// calls.
template <typename T, typename Hash = typename absl::flat_hash_set<T>::hasher,
          typename Eq = typename absl::flat_hash_set<T>::key_equal>
class DelayingQueue
    : public internal::ForwardingQueue<T, DelayingInterface<T>, Interface<T>>,
      private WaitingLoop::Client {
 public:
  explicit DelayingQueue(DelayingQueueOptions<T> options = {})
      : DelayingQueue(Completed(std::move(options))) {}
  ~DelayingQueue() override;

  DelayingQueue(const DelayingQueue&) = delete;
  DelayingQueue& operator=(const DelayingQueue&) = delete;

  bool Add(const T& item) override;
  bool AddAll(absl::Span<const T> items) override;
  bool AddAfter(const T& item, absl::Duration delay) override;
  bool CancelDelayed(const T& item) override;
  bool Reschedule(const T& item, absl::Duration delay) override;
  void ShutDown() override;
  bool ShutDownWithDrainUntil(absl::Time deadline) override;
  bool ShuttingDown() const override;
  Snapshot<T> TakeSnapshot() override;

 private:
  using Base = internal::ForwardingQueue<T, DelayingInterface<T>, Interface<T>>;
  using AddChannel = internal::AddChannel<T>;
  using MutexLock = internal::MutexLock;
  using WaitingItems = internal::WaitingItems<T, Hash, Eq>;

  using OwnQueue = Queue<T, Hash, Eq>;

  // Options that leave nothing open.
  struct Completed {
    explicit Completed(DelayingQueueOptions<T> given);

    DelayingQueueOptions<T> options;
    OwnQueue* own_queue = nullptr;  // `options.queue`, if none was given
  };

  explicit DelayingQueue(Completed completed);

  // From now on nothing more is taken in, and what waits is dropped.
  void StopWaiting();

  // If `item`, which hashes to `hash`, is due by now, adds it to the queue
  // below and takes it out of the waiting ones. Returns false, and the loop is
  // to do it, if it is not due or not taken.
  bool AddIfDue(const T& item, size_t hash, absl::Time ready_at)
      ABSL_LOCKS_EXCLUDED(mu_);

  // The waiting loop's part: takes in what has been added, and moves what is
  // due to the queue below.
  absl::Time Run(absl::Time now) override;

  // Takes in what has been added so far. If something throws, the rest of it is
  // taken in next time.
  void DrainAddChannel(absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // Moves what is due to the queue below.
  void AddDue(absl::Time now);

  // Moves some of it; returns whether there may be more. `add(item)` adds an
  // item to the queue below.
  bool AddDueBatch(absl::Time now);
  template <typename F>
  bool AddDueBatch(absl::Time now, F add) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // Adds `item`, which hashes to `hash`, to the queue below and takes it out of
  // the waiting ones: both, or if it is not taken, neither.
  bool AddInsteadOfWaiting(const T& item, size_t hash)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  OwnQueue* const own_queue_;  // the queue below; null if one was given
  Clock* const clock_;
  const bool add_supersedes_waiting_;
  const std::unique_ptr<CounterMetric> retries_;
  AddChannel add_channel_;
  std::atomic<bool> stopped_{false};

  // Held while an item goes from the waiting ones to the queue below, so that
  // it is seen in one of the two: comes before the locks of that queue and of
  // add_channel_. AddAfter() does without, unless the item is due.
  absl::Mutex mu_;
  WaitingItems waiting_ ABSL_GUARDED_BY(mu_);
  std::vector<typename AddChannel::Addition> received_ ABSL_GUARDED_BY(mu_);
  size_t taken_in_ ABSL_GUARDED_BY(mu_) = 0;  // how many of received_
  internal::ErrorLog errors_ ABSL_GUARDED_BY(mu_);

  const std::shared_ptr<WaitingLoop> loop_;
};

// Implementation details follow.

template <typename T, typename Hash, typename Eq>
DelayingQueue<T, Hash, Eq>::Completed::Completed(DelayingQueueOptions<T> given)
    : options(std::move(given)) {
  options.clock = OrRealClock(options.clock);
  if (options.waiting_loop == nullptr) {
    options.waiting_loop = std::make_shared<WaitingLoop>(options.clock);
  }
  if (options.queue != nullptr) return;
  QueueOptions<T> below;
  below.name = options.name;
  below.metrics_provider = options.metrics_provider;
  below.log_sink = options.log_sink;
  below.clock = options.clock;
  below.ordering = std::move(options.ordering);
  below.waiting_loop = options.waiting_loop;
  auto queue = std::make_unique<OwnQueue>(std::move(below));
  own_queue = queue.get();
  options.queue = std::move(queue);
}

template <typename T, typename Hash, typename Eq>
DelayingQueue<T, Hash, Eq>::DelayingQueue(Completed completed)
    : Base(std::move(completed.options.queue)),
      own_queue_(completed.own_queue),
      clock_(completed.options.clock),
      add_supersedes_waiting_(completed.options.add_supersedes_waiting),
      retries_(internal::NewRetriesMetric(completed.options.name,
                                          completed.options.metrics_provider)),
      add_channel_([this] { loop_->Wake(this); }),
      waiting_(completed.options.waiting_set, clock_->TimeNow()),
      errors_(completed.options.name, completed.options.log_sink, clock_),
      loop_(std::move(completed.options.waiting_loop)) {
  loop_->Add(this);
}

template <typename T, typename Hash, typename Eq>
DelayingQueue<T, Hash, Eq>::~DelayingQueue() {
  stopped_ = true;
  add_channel_.Close();
  loop_->Remove(this);
}

template <typename T, typename Hash, typename Eq>
bool DelayingQueue<T, Hash, Eq>::Add(const T& item) {
  if (!add_supersedes_waiting_) return Base::Add(item);
  const size_t hash = Hash()(item);
  const absl::Time now = clock_->TimeNow();
  MutexLock lock(&mu_);
  DrainAddChannel(now);
  return AddInsteadOfWaiting(item, hash);
}

template <typename T, typename Hash, typename Eq>
bool DelayingQueue<T, Hash, Eq>::AddAll(absl::Span<const T> items) {
  if (!add_supersedes_waiting_) return Base::AddAll(items);
  const absl::Time now = clock_->TimeNow();
  MutexLock lock(&mu_);
  DrainAddChannel(now);
  bool taken = true;
  for (const T& item : items) {
    taken &= AddInsteadOfWaiting(item, Hash()(item));
  }
  return taken;
}

template <typename T, typename Hash, typename Eq>
bool DelayingQueue<T, Hash, Eq>::AddAfter(const T& item, absl::Duration delay) {
  if (ShuttingDown()) return false;
  if (retries_ != nullptr) retries_->Inc();
  if (delay <= absl::ZeroDuration()) return Add(item);

  const size_t hash = Hash()(item);
  const absl::Time ready_at = clock_->TimeNow() + delay;
  const auto pushed = add_channel_.TryPush(item, hash, ready_at);
  if (pushed != AddChannel::TryPushResult::kWouldWake) {
    return pushed == AddChannel::TryPushResult::kPushed;
  }
  // For one that is due by now, two changes of threads would be a waste.
  return AddIfDue(item, hash, ready_at) ||
         add_channel_.Push(item, hash, ready_at);
}

template <typename T, typename Hash, typename Eq>
bool DelayingQueue<T, Hash, Eq>::AddIfDue(const T& item, size_t hash,
                                          absl::Time ready_at) {
  const absl::Time now = clock_->TimeNow();
  if (now < ready_at) return false;
  bool taken = false;
  internal::TryCall([&] {
    MutexLock lock(&mu_);
    DrainAddChannel(now);
    taken = AddInsteadOfWaiting(item, hash);
  });
  return taken;
}

template <typename T, typename Hash, typename Eq>
bool DelayingQueue<T, Hash, Eq>::CancelDelayed(const T& item) {
  const size_t hash = Hash()(item);
  const absl::Time now = clock_->TimeNow();
  MutexLock lock(&mu_);
  if (ShuttingDown()) return false;
  DrainAddChannel(now);
  auto* const entry = waiting_.Find(item, hash);
  if (entry == nullptr) return false;
  waiting_.Remove(entry);
  return true;
}

template <typename T, typename Hash, typename Eq>
bool DelayingQueue<T, Hash, Eq>::Reschedule(const T& item,
                                            absl::Duration delay) {
  const size_t hash = Hash()(item);
  const absl::Time now = clock_->TimeNow();
  MutexLock lock(&mu_);
  if (ShuttingDown()) return false;
  DrainAddChannel(now);
  if (delay <= absl::ZeroDuration()) return AddInsteadOfWaiting(item, hash);
  waiting_.InsertOrMove(item, hash, now + delay, now);
  add_channel_.WakeBy(waiting_.NextWake());
  return true;
}

template <typename T, typename Hash, typename Eq>
bool DelayingQueue<T, Hash, Eq>::AddInsteadOfWaiting(const T& item,
                                                     size_t hash) {
  auto* const entry = waiting_.Find(item, hash);
  if (!Base::Add(item)) return false;
  if (entry != nullptr) waiting_.Remove(entry);
  return true;
}

template <typename T, typename Hash, typename Eq>
void DelayingQueue<T, Hash, Eq>::ShutDown() {
  StopWaiting();
  Base::ShutDown();
}

template <typename T, typename Hash, typename Eq>
bool DelayingQueue<T, Hash, Eq>::ShutDownWithDrainUntil(absl::Time deadline) {
  StopWaiting();
  return Base::ShutDownWithDrainUntil(deadline);
}

template <typename T, typename Hash, typename Eq>
bool DelayingQueue<T, Hash, Eq>::ShuttingDown() const {
  return stopped_ || Base::ShuttingDown();
}

template <typename T, typename Hash, typename Eq>
void DelayingQueue<T, Hash, Eq>::StopWaiting() {
  stopped_ = true;
  add_channel_.Close();
  loop_->Wake(this);
}

template <typename T, typename Hash, typename Eq>
Snapshot<T> DelayingQueue<T, Hash, Eq>::TakeSnapshot() {
  const absl::Time now = clock_->TimeNow();
  Snapshot<T> snapshot;
  {
    MutexLock lock(&mu_);
    if (!ShuttingDown()) DrainAddChannel(now);
    snapshot = Base::TakeSnapshot();
    if (ShuttingDown()) return snapshot;
    snapshot.waiting.reserve(waiting_.size());
    waiting_.ForEach([&snapshot](const T& item, absl::Time ready_at) {
      snapshot.waiting.push_back({item, ready_at});
    });
  }
  snapshot.SortWaiting();
  return snapshot;
}

template <typename T, typename Hash, typename Eq>
absl::Time DelayingQueue<T, Hash, Eq>::Run(absl::Time now) {
  if (ShuttingDown()) {
    add_channel_.Close();
    MutexLock lock(&mu_);
    decltype(received_)().swap(received_);
    taken_in_ = 0;
    waiting_.Clear();
    return absl::InfiniteFuture();
  }
  add_channel_.Awake();
  bool took_in_all = false;
  {
    MutexLock lock(&mu_);
    took_in_all = errors_.Try(
        [] { return "what was added cannot be taken in yet"; },
        [this, now]() ABSL_NO_THREAD_SAFETY_ANALYSIS { DrainAddChannel(now); });
  }
  AddDue(now);
  MutexLock lock(&mu_);
  absl::Time next = waiting_.NextWake();
  if (!took_in_all) {
    next = std::min(next, now + internal::RetryDelay());
    add_channel_.SleepUntil(next);  // An earlier item wakes the loop.
    return next;
  }
  // An exception in another thread may have left some to be taken in.
  if (!received_.empty()) return absl::InfinitePast();
  return add_channel_.SleepUntil(next) ? next : absl::InfinitePast();
}

template <typename T, typename Hash, typename Eq>
void DelayingQueue<T, Hash, Eq>::DrainAddChannel(absl::Time now) {
  const auto insert_received = [this, now]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    for (; taken_in_ < received_.size(); ++taken_in_) {
      auto& addition = received_[taken_in_];
      waiting_.Insert(std::move(addition.item), addition.hash,
                      addition.ready_at, now);
    }
    received_.clear();
    taken_in_ = 0;
  };
  insert_received();  // what an exception left
  add_channel_.Receive(&received_);
  insert_received();
}

template <typename T, typename Hash, typename Eq>
void DelayingQueue<T, Hash, Eq>::AddDue(absl::Time now) {
  while (AddDueBatch(now)) {
  }
}

template <typename T, typename Hash, typename Eq>
bool DelayingQueue<T, Hash, Eq>::AddDueBatch(absl::Time now) {
  MutexLock lock(&mu_);
  if (own_queue_ == nullptr) {
    return AddDueBatch(now, [this](const T& item) { return Base::Add(item); });
  }
  // With one lock for all.
  return own_queue_->AddSeveral([this, now](auto add)
                                    ABSL_NO_THREAD_SAFETY_ANALYSIS {
                                      return this->AddDueBatch(now, add);
                                    });
}

template <typename T, typename Hash, typename Eq>
template <typename F>
bool DelayingQueue<T, Hash, Eq>::AddDueBatch(absl::Time now, F add) {
  constexpr int kBatchSize = 100;
  for (int i = 0; i < kBatchSize; ++i) {
    auto* const due = waiting_.Due(now);
    if (due == nullptr) return false;
    const bool added =
        errors_.Try([due] { return internal::DueButNotAdded(due->item()); },
                    [this, due, &add] {
                      // What is shut down meanwhile drops what waits.
                      return add(due->item()) || ShuttingDown()
                                 ? absl::OkStatus()
                                 : absl::UnavailableError(
                                       "the queue below has not taken it");
                    });
    if (added) {
      waiting_.Remove(due);
    } else {
      waiting_.Postpone(due, now + internal::RetryDelay(), now);
    }
  }
  return true;
}

}  // namespace workqueue

#endif  // WORKQUEUE_DELAYING_QUEUE_H_
