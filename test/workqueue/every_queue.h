// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Helpers for tests of every implementation of `Interface`.

#ifndef WORKQUEUE_TEST_WORKQUEUE_EVERY_QUEUE_H_
#define WORKQUEUE_TEST_WORKQUEUE_EVERY_QUEUE_H_

#include <cstddef>
#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "test/workqueue/plain_queue.h"
#include "test/workqueue/watched_fifo.h"
#include "workqueue/clock/fake_clock.h"
#include "workqueue/delaying_queue.h"
#include "workqueue/interfaces.h"
#include "workqueue/priority_queue.h"
#include "workqueue/queue.h"
#include "workqueue/rate_limiting_queue.h"

namespace workqueue {

struct QueueKind {
  const char* name;
  std::unique_ptr<Interface<std::string>> (*make)(QueueOptions<std::string>);
  bool watched = true;  // made with a WatchedFifo
  bool plain = false;   // a PlainQueue
  // Whether what is added while it is processed keeps the place of its
  // addition.
  bool keeps_place = false;
};

inline void PrintTo(const QueueKind& kind, std::ostream* os) {
  *os << kind.name;
}

template <typename Made, typename Options>
std::unique_ptr<Interface<std::string>> MakeQueueOf(
    QueueOptions<std::string> common) {
  Options options;
  options.name = std::move(common.name);
  options.metrics_provider = common.metrics_provider;
  options.log_sink = common.log_sink;
  options.clock = std::move(common.clock);
  options.ordering = std::move(common.ordering);
  return std::make_unique<Made>(std::move(options));
}

inline std::vector<QueueKind> EveryQueueKind() {
  using T = std::string;
  constexpr auto* make_queue = &MakeQueueOf<Queue<T>, QueueOptions<T>>;
  return {
      {"Queue", make_queue, /*watched=*/false},
      {"OrderedQueue", make_queue},
      {"DelayingQueue",
       &MakeQueueOf<DelayingQueue<T>, DelayingQueueOptions<T>>},
      {"RateLimitingQueue",
       &MakeQueueOf<RateLimitingQueue<T>, RateLimitingQueueOptions<T>>},
      {"PriorityQueue", &MakeQueueOf<PriorityQueue<T>, PriorityQueueOptions<T>>,
       /*watched=*/false, /*plain=*/false, /*keeps_place=*/true},
      {"OrderedPriorityQueue",
       &MakeQueueOf<PriorityQueue<T>, PriorityQueueOptions<T>>},
      {"PlainQueue", &MakeQueueOf<PlainQueue<T>, QueueOptions<T>>,
       /*watched=*/true, /*plain=*/true},
  };
}

// A queue of a given kind on a `FakeClock`, with functions that wait until
// threads block in it.
class QueueOfAKind {
 public:
  explicit QueueOfAKind(const QueueKind& kind) : kind_(kind) {
    QueueOptions<std::string> options;
    options.clock = &clock_;
    if (kind.watched) {
      auto owned = std::make_unique<WatchedFifo<std::string>>();
      fifo_ = owned.get();
      options.ordering = std::move(owned);
    }
    queue_ = kind.make(std::move(options));
    clock_.Step(absl::ZeroDuration());
    waiters_at_rest_ = clock_.NumWaiters();
  }

 protected:
  // Blocks until `n` other threads have blocked in a get without a deadline.
  // Returns at once if the queue is not watched. So a test must also pass if
  // the threads do not block yet.
  void AwaitBlocked(size_t n) {
    if (fifo_ != nullptr) fifo_->AwaitBlocked(*queue_, n);
  }

  // Blocks until at least `n` threads wait with a deadline.
  void AwaitWaiters(size_t n) { clock_.AwaitWaiters(waiters_at_rest_ + n); }

  // Returns the number of threads that wait with a deadline.
  size_t NumWaiters() {
    clock_.Step(absl::ZeroDuration());  // A loop may just have been woken.
    return clock_.NumWaiters() - waiters_at_rest_;
  }

  const QueueKind kind_;
  FakeClock clock_;
  std::unique_ptr<Interface<std::string>> queue_;

 private:
  WatchedFifo<std::string>* fifo_ = nullptr;
  size_t waiters_at_rest_ = 0;
};

// The fixture of a test of every kind of queue.
class EveryQueueTest : public testing::TestWithParam<QueueKind>,
                       public QueueOfAKind {
 protected:
  EveryQueueTest() : QueueOfAKind(GetParam()) {}
};

inline std::string NameOfQueueKind(
    const testing::TestParamInfo<QueueKind>& info) {
  return info.param.name;
}

}  // namespace workqueue

#endif  // WORKQUEUE_TEST_WORKQUEUE_EVERY_QUEUE_H_
