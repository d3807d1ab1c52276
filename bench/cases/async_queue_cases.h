// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// bench/cases/async_queue_cases.h
// -----------------------------------------------------------------------------
//
// The cases of a queue whose workers are callbacks: `AcquireNextAsync()` hands
// a worker its next item. A worker has no thread of its own.

#ifndef WORKQUEUE_BENCH_CASES_ASYNC_QUEUE_CASES_H_
#define WORKQUEUE_BENCH_CASES_ASYNC_QUEUE_CASES_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>  // NOLINT(build/c++11)
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "bench/cases/inputs.h"
#include "bench/cases/measure.h"
#include "workqueue/executor.h"
#include "workqueue/lease.h"
#include "workqueue/thread_pool.h"
#include "workqueue/timers.h"

namespace workqueue {

inline std::unique_ptr<ThreadPool> NewPool(size_t threads) {
  ThreadPoolOptions options;
  options.threads = threads;
  return *ThreadPool::Create(std::move(options));
}

// One thread adds a key, runs the worker's callback, and ends the lease.
template <template <typename> class Queue>
void AsyncCycle() {
  struct Worker {
    void AcquireNext() {
      queue->AcquireNextAsync(&lease, &executor,
                              [this](absl::StatusOr<Lease<std::string>> next) {
                                if (!next.ok()) return;
                                lease = *std::move(next);
                                AcquireNext();
                              });
    }

    Queue<std::string>* const queue;
    InlineExecutor executor;
    Lease<std::string> lease;
  };
  Queue<std::string> queue;
  Worker worker{&queue, InlineExecutor(), {}};
  worker.AcquireNext();
  const std::vector<std::string> keys = StringKeys();
  const double ns = NsPerOp(kKeys, [&queue, &keys] {
    for (const std::string& key : keys) queue.Add(key);
  });
  queue.ShutDown();
  Report("async_cycle", ns, "ns");
}

// The time from the beginning of an Add until the callback has the item. One
// item at a time, while the only thread of the executor is idle.
template <template <typename> class Queue>
void AsyncWake() {
  constexpr size_t kSamples = 2000;
  constexpr size_t kWarmUp = 200;
  // After this time, the thread of the executor is idle again.
  constexpr absl::Duration kPause = absl::Microseconds(200);
  struct Worker {
    void AcquireNext() {
      queue->AcquireNextAsync(&lease, executor,
                              [this](absl::StatusOr<Lease<int64_t>> next) {
                                if (!next.ok()) return;
                                took_us.push_back(absl::ToDoubleMicroseconds(
                                    absl::FromChrono(SteadyNow() - added)));
                                lease = *std::move(next);
                                AcquireNext();
                                ++taken;
                              });
    }

    Queue<int64_t>* const queue;
    Executor* const executor;
    Lease<int64_t> lease;
    SteadyTime added;
    std::vector<double> took_us;
    std::atomic<size_t> taken{0};
  };
  const std::unique_ptr<ThreadPool> pool = NewPool(1);
  Queue<int64_t> queue;
  Worker worker{&queue, pool.get(), {}, {}, {}, {}};
  worker.AcquireNext();
  for (size_t i = 1; i <= kWarmUp + kSamples; ++i) {
    absl::SleepFor(kPause);
    worker.added = SteadyNow();
    queue.Add(static_cast<int64_t>(i));
    while (worker.taken < i) absl::SleepFor(kPause / 10);
  }
  std::vector<double>& took_us = worker.took_us;
  took_us.erase(took_us.begin(), took_us.begin() + kWarmUp);
  absl::c_sort(took_us);
  Report("async_wake_p50", took_us[kSamples * 50 / 100], "us");
  Report("async_wake_p99", took_us[kSamples * 99 / 100], "us");
}

// Workers that wait for each item they have, as for the response of a service.
// They run on a thread for each core, as goroutines and the tasks of tokio do.
template <typename Queue>
class WaitingWorkers {
 public:
  WaitingWorkers(Queue* queue, size_t workers)
      : queue_(queue), workers_(workers) {}

  // Blocks until all workers have ended. `Stop()` must have been called, and
  // the queue must be shut down if it can be empty.
  ~WaitingWorkers() {
    while (ended_ < workers_.size()) absl::SleepFor(absl::Milliseconds(1));
  }

  void Start(absl::Duration wait) {
    wait_ = wait;
    for (Worker& worker : workers_) AcquireNext(&worker);
  }

  // Each worker ends when it has waited for its item.
  void Stop() { stopped_ = true; }

  // Returns how many items workers have acquired.
  int64_t acquired() const { return acquired_; }

  // Returns how many items workers have waited for.
  int64_t waited_for() const { return waited_for_; }

 private:
  using Worker = Lease<int64_t>;

  void AcquireNext(Worker* worker) {
    queue_->AcquireNextAsync(
        worker, pool_.get(),
        [this, worker](absl::StatusOr<Lease<int64_t>> lease) {
          if (!lease.ok()) {
            ++ended_;
            return;
          }
          *worker = *std::move(lease);
          ++acquired_;
          Wait(worker);
        });
  }

  void Wait(Worker* worker) {
    timers_.CallAfter(wait_, pool_.get(), [this, worker](absl::Status) {
      ++waited_for_;
      if (!stopped_) return AcquireNext(worker);
      worker->Done();
      ++ended_;
    });
  }

  Queue* const queue_;
  absl::Duration wait_;
  std::vector<Worker> workers_;
  std::atomic<bool> stopped_{false};
  std::atomic<int64_t> acquired_{0};
  std::atomic<int64_t> waited_for_{0};
  std::atomic<size_t> ended_{0};
  // Destroyed after the timers, which submit callbacks to it.
  const std::unique_ptr<ThreadPool> pool_ =
      NewPool(std::thread::hardware_concurrency());
  Timers timers_;
};

// `BlockedWorkers()` with callbacks.
template <template <typename> class Queue>
void AsyncBlockedWorkers() {
  constexpr int64_t kWorkers = 1000;
  constexpr int64_t kAdds = 20000;
  double cpu_ns = 0;
  const double ns = WarmedUp(kMillion, [&cpu_ns](int64_t queued) {
    Queue<int64_t> queue;
    for (int64_t i = 0; i < queued; ++i) queue.Add(i + 1);
    WaitingWorkers<Queue<int64_t>> workers(&queue, kWorkers);
    workers.Start(absl::Milliseconds(1));
    while (workers.acquired() < kWorkers) {
      absl::SleepFor(absl::Microseconds(100));
    }
    const absl::Duration cpu_before = ThreadCpuTime();
    const SteadyTime start = SteadyNow();
    for (int64_t i = 0; i < kAdds; ++i) queue.Add(queued + i + 1);
    const double each = NsEach(start, kAdds);
    cpu_ns = absl::ToDoubleNanoseconds(ThreadCpuTime() - cpu_before) / kAdds;
    workers.Stop();
    queue.ShutDown();
    return each;
  });
  Report("blocked_workers", ns, "ns");
  Report("blocked_workers_cpu", cpu_ns, "ns");
}

// Returns the resident bytes of each of `n` workers while all of them wait.
template <typename Queue>
double BytesOfWorker(int64_t n) {
  Queue queue;
  for (int64_t i = 0; i < n; ++i) queue.Add(i + 1);
  const double before = ResidentBytes();
  WaitingWorkers<Queue> workers(&queue, n);
  workers.Start(absl::Seconds(3));
  while (workers.acquired() < n) absl::SleepFor(absl::Milliseconds(1));
  const double bytes = (ResidentBytes() - before) / n;
  workers.Stop();
  return bytes;
}

// Returns the nanoseconds of an item while one thread adds a million, and `n`
// workers take 100 ms for each.
template <typename Queue>
double ProcessMillionWith(int64_t n) {
  Queue queue;
  WaitingWorkers<Queue> workers(&queue, n);
  workers.Start(absl::Milliseconds(100));
  const SteadyTime start = SteadyNow();
  for (int64_t i = 0; i < kMillion; ++i) queue.Add(i + 1);
  while (workers.waited_for() < kMillion) {
    absl::SleepFor(absl::Milliseconds(1));
  }
  const double each = NsEach(start, kMillion);
  workers.Stop();
  queue.ShutDown();
  return each;
}

template <template <typename> class Queue>
void AsyncBlockedWorkers100K() {
  constexpr int64_t kWorkers = 100000;
  const double bytes = BytesOfWorker<Queue<int64_t>>(kWorkers);
  const double ns = ProcessMillionWith<Queue<int64_t>>(kWorkers);
  Report("blocked_workers_100k", ns, "ns");
  Report("blocked_workers_100k_memory", bytes, "B");
}

}  // namespace workqueue

#endif  // WORKQUEUE_BENCH_CASES_ASYNC_QUEUE_CASES_H_
