// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The queues in memory.

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "test/simulation/any_executor.h"
#include "test/simulation/queue_life.h"
#include "test/simulation/scenario.h"
#include "workqueue/delaying_queue.h"
#include "workqueue/executor.h"
#include "workqueue/failure_ledger.h"
#include "workqueue/fair_ordering.h"
#include "workqueue/interfaces.h"
#include "workqueue/lease.h"
#include "workqueue/metrics.h"
#include "workqueue/priority_queue.h"
#include "workqueue/queue.h"
#include "workqueue/rate_limiting_queue.h"
#include "workqueue/simulation/simulation.h"
#include "workqueue/thread_pool.h"

namespace workqueue {
namespace {

using simulation::AtRest;
using simulation::Check;
using simulation::Choose;
using Key = std::string;

// The metrics of one queue. Only the depth is kept.
class Metrics final : public MetricsProvider {
 public:
  const int* depth() const { return &depth_; }

  std::unique_ptr<GaugeMetric> NewDepthMetric(absl::string_view) override {
    class Depth final : public GaugeMetric {
     public:
      explicit Depth(int* depth) : depth_(*depth) {}
      void Inc() override { ++depth_; }
      void Dec() override { Check(--depth_ >= 0, "a depth is negative"); }

     private:
      int& depth_;
    };
    return std::make_unique<Depth>(&depth_);
  }
  std::unique_ptr<SettableGaugeMetric> NewWaitingItemsMetric(
      absl::string_view) override {
    class Waiting final : public SettableGaugeMetric {
     public:
      void Set(double value) override {
        Check(value >= 0, "a number of items is negative");
      }
    };
    return std::make_unique<Waiting>();
  }

 private:
  int depth_ = 0;
};

// `Q` is a queue, and `Options` its options. It has metrics at times.
template <typename Q, typename Options>
void Live(QueueLife::Options life) {
  Metrics metrics;
  const bool has_metrics = OneIn(4);
  life.make = [&metrics, has_metrics] {
    Options options;
    if (has_metrics) {
      options.name = "q";
      options.metrics_provider = &metrics;
    }
    return std::make_unique<Q>(std::move(options));
  };
  if (has_metrics) life.depth = metrics.depth();
  QueueLife(std::move(life)).Live();
}

// The queue's own thread is not in the way of what the only other thread sees.
template <typename Q, typename Options>
void CountAtOnce() {
  Metrics metrics;
  Options options;
  options.name = "q";
  options.metrics_provider = &metrics;
  Q queue(std::move(options));
  for (int i = 1; i <= 3; ++i) {
    queue.Add(absl::StrCat(i));
    Check(*metrics.depth() == i, "an addition is not counted at once");
  }
}

const AddScenario counts(
    "counts_at_once", "one thread that adds and looks at the metrics",
    [] {
      if (Choose(2) == 1) {
        CountAtOnce<PriorityQueue<Key>, PriorityQueueOptions<Key>>();
      } else {
        CountAtOnce<RateLimitingQueue<Key>, RateLimitingQueueOptions<Key>>();
      }
    },
    /*exact_time=*/false, /*spurious_wake_ups=*/false);

const AddScenario queue("queue", "a Queue, from its making to its end",
                        [] { Live<Queue<Key>, QueueOptions<Key>>({}); });

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
  options.delays = true;
  Live<DelayingQueue<Key>, DelayingQueueOptions<Key>>(std::move(options));
});

const AddScenario limiting(
    "rate_limiting_queue", "the same of a RateLimitingQueue", [] {
      QueueLife::Options options;
      options.delays = options.rate_limits = true;
      Live<RateLimitingQueue<Key>, RateLimitingQueueOptions<Key>>(
          std::move(options));
    });

const AddScenario priorities(
    "priority_queue", "the same of a PriorityQueue", [] {
      QueueLife::Options options;
      options.delays = options.rate_limits = options.priorities = true;
      Live<PriorityQueue<Key>, PriorityQueueOptions<Key>>(std::move(options));
    });

// One thread knows what waits.
const AddScenario cancelled(
    "cancelled_wait", "a DelayingQueue of one thread",
    [] {
      DelayingQueue<Key> queue;
      for (int n = 1 + Choose(3); n > 0; --n) {
        Check(queue.AddAfter("a", absl::Seconds(1)),
              "an open queue refuses an item");
        if (OneIn(2)) simulation::Sleep(absl::Milliseconds(100));
        Check(queue.CancelDelayed("a"), "an item that waits is not cancelled");
        Check(!queue.CancelDelayed("a"), "an item waits that was cancelled");
      }
      simulation::Sleep(absl::Seconds(2));
      Check(queue.Len() == 0, "an item comes that was cancelled");
    },
    /*exact_time=*/true);

std::unique_ptr<Interface<Key>> AnyQueue() {
  switch (Choose(4)) {
    case 0:
      return std::make_unique<Queue<Key>>();
    case 1:
      return std::make_unique<DelayingQueue<Key>>();
    case 2:
      return std::make_unique<RateLimitingQueue<Key>>();
    default:
      return std::make_unique<PriorityQueue<Key>>();
  }
}

std::unique_ptr<Interface<Key>> QueueOfOneAtATime() {
  FairDimension<Key> dimension;
  dimension.group_of = [](const Key&) { return Key(); };
  dimension.max_in_process = 1;
  FairOrderingOptions<Key> fair;
  fair.dimensions.push_back(std::move(dimension));
  QueueOptions<Key> options;
  options.ordering = *FairOrdering<Key>::Create(std::move(fair));
  return std::make_unique<Queue<Key>>(std::move(options));
}

// Threads block in a queue in each way, and callbacks wait in it, while it is
// shut down or destroyed. All hear of that, nobody before, and what a callback
// has is destroyed when the destructor returns. An item may be held back, which
// somebody gets after the shutdown, too.
void Block() {
  std::unique_ptr<Executor> executor = AnyExecutor();
  const bool destroys_in_task = OneIn(4);
  if (destroys_in_task) executor = std::make_unique<InlineExecutor>();
  const bool holds_back = OneIn(3);
  std::unique_ptr<Interface<Key>> owned =
      holds_back ? QueueOfOneAtATime() : AnyQueue();
  Interface<Key>* const queue = owned.get();
  constexpr absl::Duration kTimeout = absl::Seconds(2);
  // "a" is being processed, so drains block.
  Check(queue->Add("a") && queue->TryGet().ok(), "an item does not come");
  if (holds_back) Check(queue->Add("b"), "an open queue refuses an item");
  bool ended = false;     // An end has begun.
  bool destroys = false;  // That of the destructor.
  bool ends_drains = false;
  bool released = false;  // "b" may be handed out.
  int getting = 0;        // calls without a timeout, and callbacks
  int got = 0;
  struct Wait {
    absl::Duration begin;
    bool timed;
    bool over = false;
  };
  std::list<Wait> waits;
  const auto check = [&](const absl::Status& status) {
    if (status.ok()) {
      Check(released && ++got == 1, "an item comes that is held back");
      return;
    }
    Check(absl::IsCancelled(status), status.message());
    Check(holds_back ? destroys || released : ended,
          "a wait ends without a reason");
  };
  Threads threads;
  for (int i = 1 + Choose(4); i > 0; --i) {
    const int kind = Choose(6);
    getting += kind == 0 || kind == 3;
    threads.Start([&, kind] {
      Wait& mine = waits.emplace_back();
      mine.begin = simulation::Now();
      mine.timed = kind == 1 || kind == 2 || kind == 4;
      absl::Status status;
      Lease<Key> lease;
      switch (kind) {
        case 0:
        case 1: {
          absl::StatusOr<Key> key = absl::CancelledError("");
          if (kind == 1) {
            key = queue->GetWithTimeout(kTimeout);
          } else if (std::optional<Key> next = queue->Get()) {
            key = *std::move(next);
          }
          status = key.status();
          mine.over = true;
          if (!key.ok()) break;
          check(status);
          queue->Done(*key);
          return;
        }
        case 2:
          status = queue->AcquireInto(&lease, kTimeout);
          break;
        case 3:
          status = queue->AcquireUpTo(2).status();
          break;
        default:
          ended = true;  // It begins a shutdown.
          Check(!queue->ShutDownWithDrainWithin(
                    mine.timed ? kTimeout : absl::InfiniteDuration()) ||
                    released,
                "a drain ends though an item is processed");
          mine.over = true;
          Check(!mine.timed || ends_drains || released ||
                    simulation::Now() >= mine.begin + kTimeout,
                "a drain ends early");
          return;
      }
      mine.over = true;
      if (mine.timed && absl::IsDeadlineExceeded(status)) {
        Check(simulation::Now() >= mine.begin + kTimeout, "a wait ends early");
      } else {
        check(status);
      }
    });
  }
  int called = 0;
  int alive = 0;
  const int callbacks = Choose(3);
  for (int i = callbacks; i > 0; --i) {
    ++getting;
    ++alive;
    const std::shared_ptr<void> life(nullptr, [&](void*) { --alive; });
    queue->AcquireAsync(executor.get(),
                        [&, life](const absl::StatusOr<Lease<Key>>& lease) {
                          check(lease.status());
                          ++called;
                        });
  }
  if (OneIn(2)) simulation::Sleep(absl::Seconds(1 + 2 * Choose(2)));
  const auto check_rest = [&] {
    for (const Wait& it : waits) {
      Check(it.over || !it.timed || it.begin + kTimeout > simulation::Now(),
            "a wait does not end");
    }
  };
  AtRest(check_rest);
  if (holds_back && OneIn(2)) {
    ended = true;
    if (OneIn(2)) {
      ends_drains = true;
      queue->ShutDown();
    }
    AtRest([&] { released = true; });
    Check(queue->Done("a"), "Done() finds nothing");
    AtRest([&] {
      Check(got == 1 || getting == 0, "nobody gets what was held back");
    });
  }
  AtRest([&] { ended = destroys = ends_drains = true; });
  if (OneIn(3)) queue->ShutDown();
  if (destroys_in_task) {
    executor->Execute([&owned] { owned.reset(); });
  } else {
    owned.reset();
  }
  Check(called == callbacks, "a callback is not called");
  Check(alive == 0, "a callback outlives its queue");
  threads.Join();
}
const AddScenario blocked("queue_blocked", "who blocks in a queue that ends",
                          Block, /*exact_time=*/true);

// A queue is destroyed while its callbacks get items, as the program cannot
// know which of them get one.
const AddScenario last_calls(
    "last_calls", "a queue that is destroyed while callbacks get items", [] {
      const std::unique_ptr<Executor> executor = AnyExecutor();
      std::unique_ptr<Interface<Key>> queue = AnyQueue();
      // The other executors do not catch what a task throws.
      const bool pool = dynamic_cast<ThreadPool*>(executor.get()) != nullptr;
      int called = 0;
      int alive = 0;
      const int callbacks = 1 + Choose(3);
      for (int i = 0; i < callbacks; ++i) {
        ++alive;
        const std::shared_ptr<void> life(nullptr, [&](void*) { --alive; });
        const bool throws = pool && OneIn(4);
        queue->AcquireAsync(
            executor.get(),
            [&called, throws, life](absl::StatusOr<Lease<Key>> lease) {
              if (lease.ok()) lease->Done();
              ++called;
              if (throws) throw std::runtime_error("a callback throws");
            });
      }
      for (int i = Choose(callbacks + 1); i > 0; --i) {
        queue->Add(absl::StrCat(i));
      }
      queue.reset();
      Check(called == callbacks, "a call outlives its queue");
      Check(alive == 0, "a callback outlives its queue");
    });

// Threads add items and shut the queue down. Who gets the last item, or learns
// of the shutdown, destroys the queue at once, while their calls return.
const AddScenario queue_end(
    "queue_end", "a queue that is destroyed as soon as it may be", [] {
      DelayingQueueOptions<Key> superseding;
      superseding.add_supersedes_waiting = true;
      std::unique_ptr<Interface<Key>> owned =
          OneIn(4)
              ? std::make_unique<DelayingQueue<Key>>(std::move(superseding))
              : AnyQueue();
      Interface<Key>* const queue = owned.get();
      auto* const delaying = dynamic_cast<DelayingInterface<Key>*>(queue);
      const int adds = 1 + Choose(3);
      Threads threads;
      for (int i = 0; i < adds; ++i) {
        const int way = delaying == nullptr ? 0 : Choose(3);
        threads.Start([queue, delaying, way, i] {
          const Key key = absl::StrCat(i);
          const bool added =
              way == 0   ? queue->Add(key)
              : way == 1 ? delaying->Reschedule(key, absl::ZeroDuration())
                         : delaying->AddAfter(key, absl::Nanoseconds(1));
          Check(added, "an open queue refuses an item");
        });
      }
      for (int seen = 0; seen < adds; ++seen) {
        Check(queue->Get().has_value(), "an open queue ends");
      }
      if (OneIn(2)) {
        const int way = Choose(4);
        threads.Start([queue, way] {
          switch (way) {
            case 0:
              queue->ShutDown();
              break;
            case 1:
              queue->Close();
              break;
            default:
              // Items are being processed.
              Check(!queue->ShutDownWithDrainWithin(
                        way == 2 ? absl::ZeroDuration()
                                 : absl::InfiniteDuration()),
                    "a drain ends though an item is processed");
          }
        });
        Check(!queue->Get().has_value(), "a shut queue hands out an item");
      }
      owned.reset();
    });

// So many callbacks wait that the memory of those that are cancelled is given
// to others.
const AddScenario peak(
    "queue_peak", "a peak of callbacks that wait in a Queue", [] {
      constexpr int kCallbacks = 400;
      std::vector<int> called(kCallbacks);
      std::vector<bool> cancelled(kCallbacks);
      std::vector<AcquireId> ids;
      const std::unique_ptr<Executor> executor = AnyExecutor();
      auto queue = std::make_unique<Queue<Key>>();
      for (int i = 0; i < kCallbacks; ++i) {
        ids.push_back(queue->AcquireAsync(
            executor.get(),
            [&called, i](absl::StatusOr<Lease<Key>>) { ++called[i]; }));
      }
      {
        Threads threads;
        threads.Start([&] {
          for (int n = 10; n > 0; --n) queue->Add(absl::StrCat(n));
        });
        const bool keeps_last = OneIn(2);
        const int kept = 2 + Choose(40);  // one of so many
        for (int i = 0; i < kCallbacks; ++i) {
          if (keeps_last ? i >= kCallbacks - 4 : i % kept == 0) continue;
          cancelled[i] = queue->CancelAcquire(ids[i]);
        }
      }
      queue->ShutDown();
      simulation::AwaitIdle();  // The leases have ended.
      queue.reset();
      for (int i = 0; i < kCallbacks; ++i) {
        Check(called[i] == (cancelled[i] ? 0 : 1), "a callback is lost");
      }
    });

// Threads add without a wait for the lock, others poll, and callbacks wait.
// Items come in the order of their adds.
const AddScenario ring("ring", "contended adds to a Queue", [] {
  InlineExecutor executor;
  Queue<Key> queue;
  History history;
  struct Item {
    int64_t add_begin, add_end, out_begin, out_end;
  };
  std::map<Key, Item> items;
  // Without memory, what was pushed may come after what is added later, and
  // after a worker has got the same item.
  const bool memory_lasts = OneIn(2);
  std::vector<std::pair<Key, int64_t>> late;
  const auto if_memory_lasts = [&](absl::FunctionRef<void()> f) {
    if (!memory_lasts) return IfMemoryLasts(f);
    f();
    return true;
  };
  const auto note_out = [&](const Key& key, int64_t begin) {
    items[key].out_begin = begin;
    items[key].out_end = history.Begin();
    return history.HandOut(key, begin);
  };
  const auto take = [&](absl::Duration timeout) {
    int64_t begin = 0;
    absl::StatusOr<Key> key;
    do {
      begin = history.Begin();
    } while (!if_memory_lasts([&] { key = queue.GetWithTimeout(timeout); }));
    if (!key.ok()) return false;
    const int64_t token = note_out(*key, begin);
    const int64_t end = history.BeginEnd(*key);
    Check(queue.Done(*key), "Done() finds nothing");
    history.End(*key, QueueOperation::kDone, end, token);
    return true;
  };
  int left = 2 + Choose(3);
  // Some times beyond the end of the ring, which has 64 slots.
  const int adds = OneIn(16) ? 40 : 1 + Choose(4);
  const bool all_differ = Choose(2) == 0;
  Threads threads;
  for (int i = left; i > 0; --i) {
    threads.Start([&, i] {
      std::string last;
      for (int n = 0; n < adds; ++n) {
        const Key key = all_differ ? absl::StrCat(i, "-", n) : absl::StrCat(n);
        const int64_t begin = history.Begin();
        bool added = false;
        if (!if_memory_lasts([&] { added = queue.Add(key); })) continue;
        Check(added || queue.ShuttingDown(), "an open queue refuses an item");
        if (!added) break;
        items[key].add_begin = begin;
        items[key].add_end = history.Begin();
        if (memory_lasts) {
          history.End(key, QueueOperation::kAdd, begin);
        } else {
          late.emplace_back(key, begin);
        }
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
  int waiting = 0;  // callbacks
  if (Choose(2) == 0) {
    threads.Start([&] {
      for (int n = 1 + Choose(3); n > 0; --n) {
        ++waiting;
        const int64_t begin = history.Begin();
        queue.AcquireAsync(
            &executor, [&, begin](absl::StatusOr<Lease<Key>> lease) {
              // An add for which memory may run out may have called this.
              const simulation::MemoryMayRunOut spared(false);
              --waiting;
              if (!lease.ok()) return;
              const Key key = **lease;
              const int64_t token = note_out(key, begin);
              const int64_t end = history.BeginEnd(key);
              Check(lease->Done(), "a lease is lost");
              history.End(key, QueueOperation::kDone, end, token);
            });
        sync::Yield();
      }
    });
  }
  if (Choose(2) == 0) {
    AtRest([&] {
      const size_t queued = queue.TakeSnapshotUpTo(0)->num_queued;
      Check(queued == 0 || waiting == 0,
            "a callback waits while an item is queued");
    });
  }
  const int64_t begin = history.Begin();
  bool drains = false;
  bool drained = false;
  sync::Thread worker;
  if (Choose(2) == 0) {
    drains = true;
    // An item that is added again while a callback has it comes after its end.
    worker = sync::Thread([&] {
      while (take(absl::InfiniteDuration()) || !drained) sync::Yield();
    });
    Check(queue.ShutDownWithDrain(), "a drain fails");
    drained = true;
    history.IsIdle(begin);
  } else {
    queue.ShutDown();
  }
  threads.Join();
  if (drains) worker.join();
  while (take(absl::ZeroDuration())) {
  }
  for (const auto& [key, added] : late) {
    history.End(key, QueueOperation::kAdd, added);
  }
  history.IsIdle(history.Begin());
  history.Verify();
  if (!all_differ || !memory_lasts) return;
  for (const auto& [key, first] : items) {
    for (const auto& [other, second] : items) {
      Check(first.add_end >= second.add_begin ||
                second.out_end >= first.out_begin,
            "items come in another order");
    }
  }
});

// Callbacks begin to wait while threads contend, and nobody else looks.
const AddScenario ring_callbacks(
    "ring_callbacks", "contended adds to a Queue in which callbacks wait", [] {
      InlineExecutor executor;
      Queue<Key> queue;
      int waiting = 0;
      Threads threads;
      for (int i = 2 + Choose(2); i > 0; --i) {
        threads.Start([&queue, i] {
          for (int n = 1 + Choose(3); n > 0; --n) {
            Check(queue.Add(absl::StrCat(i, "-", n)),
                  "an open queue refuses an item");
          }
        });
      }
      threads.Start([&] {
        for (int n = 1 + Choose(4); n > 0; --n) {
          ++waiting;
          queue.AcquireAsync(&executor,
                             [&](absl::StatusOr<Lease<Key>>) { --waiting; });
          if (OneIn(2)) sync::Yield();
        }
      });
      AtRest([&] {
        const size_t queued = queue.TakeSnapshotUpTo(0)->num_queued;
        Check(queued == 0 || waiting == 0,
              "a callback waits while an item is queued");
      });
      queue.ShutDown();
    });

// A worker parks an item while another thread looks for it.
const AddScenario ledger(
    "failure_ledger", "an item that fails is found while it is parked", [] {
      FailureLedgerOptions options;
      options.max_failures = 2;
      const auto ledger = *FailureLedger<Key>::Create(options);
      ledger->RecordFailure("a", absl::InternalError("fails"));
      sync::Thread other(
          [&] { ledger->RecordFailure("a", absl::InternalError("fails")); });
      Check(ledger->Find("a").has_value(), "an item that fails is not found");
      other.join();
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
