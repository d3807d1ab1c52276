// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// workqueue/delaying_queue.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_WORKQUEUE_DELAYING_QUEUE_H_
#define WORKQUEUE_WORKQUEUE_DELAYING_QUEUE_H_

#include <atomic>
#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/time/time.h"
#include "base/exceptions.h"
#include "clock/clock.h"
#include "workqueue/interfaces.h"
#include "workqueue/internal/add_channel.h"
#include "workqueue/internal/layer.h"
#include "workqueue/internal/queue_metrics.h"
#include "workqueue/internal/waiting_heap.h"
#include "workqueue/metrics.h"
#include "workqueue/queue.h"
#include "workqueue/waiting_loop.h"

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
};

// DelayingQueue
//
// A queue to which items can be added later: `DelayingInterface` has the
// promises. The middle one of the three layers. All but `AddAfter()` goes to
// the queue below, to which the items go as their time comes.
//
// Example:
//
//     workqueue::DelayingQueue<std::string> queue;
//     queue.AddAfter("default/web", absl::Seconds(30));  // look again then
//     queue.AddAfter("default/web", absl::Seconds(10));  // no: sooner
//     queue.AddAfter("default/web", absl::Minutes(5));   // changes nothing
//
// An item is never added before its time. A thread of the queue's own adds it
// when the time has come; it sleeps otherwise, for 10 seconds at most. Delays
// are measured on the clock in the options, which in its default does not
// follow changes of the machine's wall clock.
//
// Items ready at the same time are added in the order of their `AddAfter()`. If
// the queue below throws from `Add()`, or cannot take an item, that is tried
// again a second later; no item is lost.
//
// `AddAfter()` takes O(log n) for n waiting items, most of it on the queue's
// thread. It blocks only if that thread is behind by 1,000 items, until it
// catches up or the queue is shut down. If hashing, comparing or copying a `T`
// throws in it, the queue is as it was.
//
// Thread-safe. Destroy the queue only when no call on it is in progress, and
// not from a function that its own thread calls.
template <typename T, typename Hash = typename absl::flat_hash_set<T>::hasher,
          typename Eq = typename absl::flat_hash_set<T>::key_equal>
class DelayingQueue
    : public internal::Layer<T, DelayingInterface<T>, Interface<T>>,
      private WaitingLoop::Client {
 public:
  explicit DelayingQueue(DelayingQueueOptions<T> options = {});
  ~DelayingQueue() override;

  DelayingQueue(const DelayingQueue&) = delete;
  DelayingQueue& operator=(const DelayingQueue&) = delete;

  bool AddAfter(const T& item, absl::Duration delay) override;
  void ShutDown() override;
  bool ShutDownWithDrain() override;
  bool ShuttingDown() const override;

 private:
  using Layer = internal::Layer<T, DelayingInterface<T>, Interface<T>>;
  using AddChannel = internal::AddChannel<T>;

  // When to try again what the queue below, or memory, would not take.
  static constexpr absl::Duration RetryDelay() { return absl::Seconds(1); }

  // Puts in what `options` leave open, and takes the queue below out of them.
  static std::unique_ptr<Interface<T>> Complete(
      DelayingQueueOptions<T>& options);

  // From now on nothing more is taken in, and what waits is dropped.
  void StopWaiting();

  // The waiting loop's part: takes in what has been added, and moves what is
  // due to the queue below.
  absl::Time Run(absl::Time now) override;

  // Takes in what has been added; returns whether that was all of it.
  bool TakeIn();
  void AddDue(absl::Time now);

  clocks::Clock* const clock_;
  const std::unique_ptr<CounterMetric> retries_;
  AddChannel add_channel_;
  std::atomic<bool> stopped_{false};

  // These belong to the waiting loop.
  internal::WaitingHeap<T, Hash, Eq> waiting_;
  std::vector<typename AddChannel::Addition> received_;
  size_t taken_in_ = 0;  // how many of received_

  const std::shared_ptr<WaitingLoop> loop_;
};

// Implementation details follow.

template <typename T, typename Hash, typename Eq>
DelayingQueue<T, Hash, Eq>::DelayingQueue(DelayingQueueOptions<T> options)
    : Layer(Complete(options)),
      clock_(options.clock),
      retries_(
          internal::NewRetriesMetric(options.name, options.metrics_provider)),
      add_channel_([this] { loop_->Wake(this); }),
      loop_(std::move(options.waiting_loop)) {
  loop_->Add(this);
}

template <typename T, typename Hash, typename Eq>
DelayingQueue<T, Hash, Eq>::~DelayingQueue() {
  loop_->Remove(this);
}

template <typename T, typename Hash, typename Eq>
std::unique_ptr<Interface<T>> DelayingQueue<T, Hash, Eq>::Complete(
    DelayingQueueOptions<T>& options) {
  options.clock = clocks::OrRealClock(options.clock);
  if (options.waiting_loop == nullptr) {
    options.waiting_loop = std::make_shared<WaitingLoop>(options.clock);
  }
  if (options.queue != nullptr) return std::move(options.queue);
  QueueOptions<T> below;
  below.name = options.name;
  below.metrics_provider = options.metrics_provider;
  below.clock = options.clock;
  below.ordering = std::move(options.ordering);
  below.waiting_loop = options.waiting_loop;
  return std::make_unique<Queue<T, Hash, Eq>>(std::move(below));
}

template <typename T, typename Hash, typename Eq>
bool DelayingQueue<T, Hash, Eq>::AddAfter(const T& item, absl::Duration delay) {
  if (ShuttingDown()) return false;
  if (retries_ != nullptr) retries_->Inc();
  if (delay <= absl::ZeroDuration()) return this->Add(item);

  return add_channel_.Push(item, Hash()(item), clock_->TimeNow() + delay);
}

template <typename T, typename Hash, typename Eq>
void DelayingQueue<T, Hash, Eq>::ShutDown() {
  StopWaiting();
  Layer::ShutDown();
}

template <typename T, typename Hash, typename Eq>
bool DelayingQueue<T, Hash, Eq>::ShutDownWithDrain() {
  StopWaiting();
  return Layer::ShutDownWithDrain();
}

template <typename T, typename Hash, typename Eq>
bool DelayingQueue<T, Hash, Eq>::ShuttingDown() const {
  return stopped_ || Layer::ShuttingDown();
}

template <typename T, typename Hash, typename Eq>
void DelayingQueue<T, Hash, Eq>::StopWaiting() {
  stopped_ = true;
  add_channel_.Close();
  loop_->Wake(this);
}

template <typename T, typename Hash, typename Eq>
absl::Time DelayingQueue<T, Hash, Eq>::Run(absl::Time now) {
  if (ShuttingDown()) {
    add_channel_.Close();
    decltype(received_)().swap(received_);
    taken_in_ = 0;
    waiting_.Clear();
    return absl::InfiniteFuture();
  }
  const bool took_in_all = TakeIn();
  AddDue(now);
  if (!took_in_all) return now + RetryDelay();
  const absl::Time next =
      waiting_.empty() ? absl::InfiniteFuture() : waiting_.NextReadyAt();
  return add_channel_.SleepUntil(next) ? next : absl::InfinitePast();
}

template <typename T, typename Hash, typename Eq>
bool DelayingQueue<T, Hash, Eq>::TakeIn() {
  if (taken_in_ == received_.size()) {
    received_.clear();
    taken_in_ = 0;
    add_channel_.Receive(&received_);
  }
  for (; taken_in_ < received_.size(); ++taken_in_) {
    auto& addition = received_[taken_in_];
    if (!workqueue_internal::ReturnsNormally([this, &addition] {
          waiting_.Insert(std::move(addition.item), addition.hash,
                          addition.ready_at);
        })) {
      return false;
    }
  }
  return true;
}

template <typename T, typename Hash, typename Eq>
void DelayingQueue<T, Hash, Eq>::AddDue(absl::Time now) {
  while (!waiting_.empty() && waiting_.NextReadyAt() <= now) {
    bool added = false;
    workqueue_internal::ReturnsNormally(
        [this, &added] { added = this->Add(waiting_.NextItem()); });
    if (added) {
      waiting_.PopNext();
    } else {
      waiting_.PostponeNext(now + RetryDelay());
    }
  }
}

}  // namespace workqueue

#endif  // WORKQUEUE_WORKQUEUE_DELAYING_QUEUE_H_
