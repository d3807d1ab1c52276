// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The queues in memory.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "test/simulation/queue_life.h"
#include "test/simulation/scenario.h"
#include "workqueue/delaying_queue.h"
#include "workqueue/fair_ordering.h"
#include "workqueue/priority_queue.h"
#include "workqueue/queue.h"
#include "workqueue/rate_limiting_queue.h"

namespace workqueue {
namespace {

using simulation::Check;
using simulation::Choose;
using Key = std::string;

const AddScenario queue("queue", "a Queue, from its making to its end", [] {
  QueueLife::Options options;
  options.make = [] { return std::make_unique<Queue<Key>>(); };
  QueueLife(std::move(options)).Live();
});

// One item of all is processed at a time, or one of each of two groups.
const AddScenario held_back(
    "held_back", "a Queue whose ordering holds items back", [] {
      QueueLife::Options options;
      const bool two_groups = Choose(2) == 1;
      options.make = [two_groups] {
        FairDimension<Key> dimension;
        dimension.group_of = [two_groups](const Key& key) {
          return two_groups && key[0] == 'a' ? key : Key();
        };
        dimension.max_in_process = 1;
        FairOrderingOptions<Key> fair;
        fair.dimensions.push_back(std::move(dimension));
        QueueOptions<Key> queue_options;
        queue_options.ordering = *FairOrdering<Key>::Create(std::move(fair));
        return std::make_unique<Queue<Key>>(std::move(queue_options));
      };
      options.holds_back = true;
      QueueLife(std::move(options)).Live();
    });

const AddScenario delaying("delaying_queue", "the same of a DelayingQueue", [] {
  QueueLife::Options options;
  options.make = [] { return std::make_unique<DelayingQueue<Key>>(); };
  options.delays = true;
  QueueLife(std::move(options)).Live();
});

const AddScenario limiting(
    "rate_limiting_queue", "the same of a RateLimitingQueue", [] {
      QueueLife::Options options;
      options.make = [] { return std::make_unique<RateLimitingQueue<Key>>(); };
      options.delays = options.rate_limits = true;
      QueueLife(std::move(options)).Live();
    });

const AddScenario priorities("priority_queue", "the same of a PriorityQueue",
                             [] {
                               QueueLife::Options options;
                               options.make = [] {
                                 return std::make_unique<PriorityQueue<Key>>();
                               };
                               options.delays = options.rate_limits =
                                   options.priorities = true;
                               QueueLife(std::move(options)).Live();
                             });

// Threads add items, and who gets the last one destroys the queue at once,
// while their calls return.
const AddScenario queue_end("queue_end",
                            "a Queue that is destroyed as soon as it may be",
                            [] {
                              auto queue = std::make_unique<Queue<Key>>();
                              Queue<Key>* const pointer = queue.get();
                              const int adds = 1 + Choose(3);
                              Threads threads;
                              for (int i = 0; i < adds; ++i) {
                                threads.Start([pointer, i] {
                                  Check(pointer->Add(absl::StrCat(i)),
                                        "an open queue refuses an item");
                                });
                              }
                              int seen = 0;
                              while (seen < adds) {
                                const std::optional<Key> key = pointer->Get();
                                Check(key.has_value(), "an open queue ends");
                                ++seen;
                              }
                              queue.reset();
                            });

// Threads add without a wait for the lock, and others poll.
const AddScenario ring("ring", "contended adds to a Queue", [] {
  Queue<Key> queue;
  History history;
  const auto take = [&](absl::Duration timeout) {
    int64_t begin = 0;
    absl::StatusOr<Key> key;
    do {
      begin = history.Begin();
    } while (!IfMemoryLasts([&] { key = queue.GetWithTimeout(timeout); }));
    if (!key.ok()) return false;
    const int64_t token = history.HandOut(*key, begin);
    const int64_t end = history.BeginEnd(*key);
    Check(queue.Done(*key), "Done() finds nothing");
    history.End(*key, QueueOperation::kDone, end, token);
    return true;
  };
  int left = 2 + Choose(3);
  const int adds = 1 + Choose(4);
  const bool all_differ = Choose(2) == 0;
  Threads threads;
  for (int i = left; i > 0; --i) {
    threads.Start([&, i] {
      std::string last;
      for (int n = 0; n < adds; ++n) {
        const Key key = all_differ ? absl::StrCat(i, "-", n) : absl::StrCat(n);
        const int64_t begin = history.Begin();
        bool added = false;
        if (!IfMemoryLasts([&] { added = queue.Add(key); })) continue;
        Check(added || queue.ShuttingDown(), "an open queue refuses an item");
        if (!added) break;
        history.End(key, QueueOperation::kAdd, begin);
        // Whoever has added an item sees it.
        if (Choose(4) == 3) {
          queue.TakeSnapshotOf(key).IgnoreError();
          if (all_differ && Choose(2) == 1) take(absl::ZeroDuration());
        }
      }
      --left;
    });
  }
  for (int i = Choose(3); i > 0; --i) {
    const absl::Duration timeout =
        Choose(2) == 0 ? absl::ZeroDuration() : absl::InfiniteDuration();
    threads.Start([&, timeout] {
      while (take(timeout) || (left > 0 && timeout == absl::ZeroDuration())) {
        if (Choose(4) == 3) queue.Len();
        if (timeout == absl::ZeroDuration()) sync::Yield();
      }
    });
  }
  if (Choose(2) == 0) simulation::AwaitIdle();
  const int64_t begin = history.Begin();
  bool drains = false;
  sync::Thread worker;
  if (Choose(2) == 0) {
    drains = true;
    worker = sync::Thread([&] {
      while (take(absl::InfiniteDuration())) {
      }
    });
    Check(queue.ShutDownWithDrain(), "a drain fails");
    history.IsIdle(begin);
  } else {
    queue.ShutDown();
  }
  threads.Join();
  if (drains) worker.join();
  while (take(absl::ZeroDuration())) {
  }
  history.IsIdle(history.Begin());
  history.Verify();
});

// Few threads and calls, for a search of all schedules.
const AddScenario small(
    "queue_small", "two threads that add, get and end an item each", [] {
      Queue<Key> queue;
      History history;
      const auto add = [&](const Key& key) {
        const int64_t begin = history.Begin();
        Check(queue.Add(key), "an open queue refuses an item");
        history.End(key, QueueOperation::kAdd, begin);
      };
      const auto process = [&] {
        const int64_t begin = history.Begin();
        const std::optional<Key> key = queue.Get();
        Check(key.has_value(), "an open queue ends");
        const int64_t token = history.HandOut(*key, begin);
        const int64_t end = history.BeginEnd(*key);
        Check(queue.Done(*key), "Done() finds nothing");
        history.End(*key, QueueOperation::kDone, end, token);
      };
      sync::Thread other([&] {
        add("a");
        process();
      });
      add("b");
      process();
      other.join();
      history.IsIdle(history.Begin());
      history.Verify();
    });

}  // namespace
}  // namespace workqueue
