// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Runs a case of a program that is one thread around an event loop, and prints
// its figures as lines of NAME VALUE UNIT. `bench/compare` runs all cases:
//
//     bench/compare --groups event-loop
//
//     event_loop_cases SUBJECT CASE
//     event_loop_cases --list
//     event_loop_cases --versions
//
// The subjects are this library on a loop that the program drives (event-loop),
// the same with its own threads (event-loop-threads), and the timers of
// Boost.Asio (asio) and libuv (libuv).
//
//   loop_cycle     -- Add an item, acquire it by a callback, Done; a thousand
//                     adds, and then as many callbacks
//   loop_lateness  -- one AddAfter of 2 ms at a time: how late the callback
//                     comes, p50 and p99
//   loop_cancel    -- begin a timeout of an hour, and cancel it; a thousand
//                     begin before the first is cancelled

#include <uv.h>

#include <algorithm>
#include <atomic>
#include <chrono>  // NOLINT(build/c++11)
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <thread>  // NOLINT(build/c++11)
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "bench/cases/measure.h"
#include "boost/asio/io_context.hpp"
#include "boost/asio/steady_timer.hpp"
#include "boost/system/error_code.hpp"
#include "boost/version.hpp"
#include "examples/event_loop/epoll_loop.h"
#include "workqueue/delaying_queue.h"
#include "workqueue/executor.h"
#include "workqueue/lease.h"
#include "workqueue/loop_executor.h"
#include "workqueue/thread_pool.h"
#include "workqueue/timer/queue_clock.h"
#include "workqueue/timers.h"

namespace workqueue {
namespace {

constexpr int64_t kBatch = 1000;

DelayingQueueOptions<int64_t> QueueOn(QueueClock clock) {
  DelayingQueueOptions<int64_t> options;
  options.clock = std::move(clock);
  return options;
}

TimersOptions TimersOn(QueueClock clock) {
  TimersOptions options;
  options.clock = std::move(clock);
  return options;
}

// Takes the items of a queue on an executor, and counts them.
class Worker {
 public:
  Worker(DelayingQueue<int64_t>* queue, Executor* executor)
      : queue_(*queue), executor_(*executor) {}

  // Calls `then` after each item, if it is not null.
  void Start(std::function<void()> then = nullptr) {
    then_ = std::move(then);
    AcquireNext();
  }

  int64_t taken() const { return taken_.load(std::memory_order_acquire); }

 private:
  void AcquireNext() {
    queue_.AcquireNextAsync(&lease_, &executor_,
                            [this](absl::StatusOr<Lease<int64_t>> lease) {
                              if (!lease.ok()) return;
                              lease_ = *std::move(lease);
                              taken_.fetch_add(1, std::memory_order_release);
                              if (then_ != nullptr) then_();
                              AcquireNext();
                            });
  }

  DelayingQueue<int64_t>& queue_;
  Executor& executor_;
  std::function<void()> then_;
  Lease<int64_t> lease_;
  std::atomic<int64_t> taken_{0};
};

void AddBatch(DelayingQueue<int64_t>& queue) {
  for (int64_t i = 0; i < kBatch; ++i) queue.Add(i);
}

void CycleOnLoop() {
  event_loop::EpollLoop loop;
  LoopExecutor executor(loop.waiting_loop());
  DelayingQueue<int64_t> queue(QueueOn(loop.waiting_loop()));
  Worker worker(&queue, &executor);
  worker.Start();
  int64_t added = 0;
  const double ns = NsPerOp(kBatch, [&] {
    AddBatch(queue);
    added += kBatch;
    while (worker.taken() < added) loop.waiting_loop()->RunDue();
  });
  queue.ShutDown();
  loop.waiting_loop()->RunDue();
  Report("loop_cycle", ns, "ns");
}

void CycleOnThreads() {
  ThreadPoolOptions options;
  options.threads = 1;
  const auto pool = *ThreadPool::Create(std::move(options));
  DelayingQueue<int64_t> queue(QueueOn(nullptr));
  Worker worker(&queue, pool.get());
  worker.Start();
  int64_t added = 0;
  const double ns = NsPerOp(kBatch, [&] {
    AddBatch(queue);
    added += kBatch;
    while (worker.taken() < added) std::this_thread::yield();
  });
  queue.ShutDown();
  Report("loop_cycle", ns, "ns");
}

constexpr absl::Duration kDelay = absl::Milliseconds(2);

// How late the callbacks of timers come. `Begin()` and `End()` enclose each.
class Lateness {
 public:
  void Begin() { begun_ = SteadyNow(); }

  // Returns whether another one is to begin.
  bool End() {
    const absl::Duration took = absl::FromChrono(SteadyNow() - begun_);
    if (++ended_ > kWarmUp) {
      late_us_.push_back(absl::ToDoubleMicroseconds(took - kDelay));
    }
    return late_us_.size() < kSamples;
  }

  void ReportAll() {
    std::sort(late_us_.begin(), late_us_.end());
    Report("loop_lateness_p50", late_us_[kSamples * 50 / 100], "us");
    Report("loop_lateness_p99", late_us_[kSamples * 99 / 100], "us");
  }

 private:
  static constexpr size_t kWarmUp = 100;
  static constexpr size_t kSamples = 1000;

  SteadyTime begun_;
  size_t ended_ = 0;
  std::vector<double> late_us_;
};

void LatenessOnLoop() {
  event_loop::EpollLoop loop;
  LoopExecutor executor(loop.waiting_loop());
  DelayingQueue<int64_t> queue(QueueOn(loop.waiting_loop()));
  Worker worker(&queue, &executor);
  Lateness lateness;
  const auto begin = [&] {
    lateness.Begin();
    queue.AddAfter(worker.taken(), kDelay);
  };
  worker.Start([&] {
    if (lateness.End()) return begin();
    queue.ShutDown();
    loop.Stop();
  });
  begin();
  loop.Run();
  loop.waiting_loop()->RunDue();
  lateness.ReportAll();
}

void LatenessOnThreads() {
  DelayingQueue<int64_t> queue(QueueOn(nullptr));
  Lateness lateness;
  do {
    lateness.Begin();
    queue.AddAfter(0, kDelay);
    queue.Done(*queue.Get());
  } while (lateness.End());
  lateness.ReportAll();
}

void LatenessOfAsio() {
  boost::asio::io_context context(1);
  boost::asio::steady_timer timer(context);
  Lateness lateness;
  std::function<void()> begin = [&] {
    lateness.Begin();
    timer.expires_after(absl::ToChronoNanoseconds(kDelay));
    timer.async_wait([&](boost::system::error_code) {
      if (lateness.End()) begin();
    });
  };
  begin();
  context.run();
  lateness.ReportAll();
}

void LatenessOfLibuv() {
  uv_loop_t loop;
  uv_loop_init(&loop);
  uv_timer_t timer;
  uv_timer_init(&loop, &timer);
  Lateness lateness;
  timer.data = &lateness;
  const uint64_t ms = static_cast<uint64_t>(absl::ToInt64Milliseconds(kDelay));
  const uv_timer_cb expired = [](uv_timer_t* it) {
    auto* const late = static_cast<Lateness*>(it->data);
    if (!late->End()) return uv_stop(it->loop);
    late->Begin();
    uv_update_time(it->loop);
    uv_timer_again(it);  // from now on
  };
  lateness.Begin();
  uv_timer_start(&timer, expired, ms, ms);
  uv_run(&loop, UV_RUN_DEFAULT);
  uv_close(reinterpret_cast<uv_handle_t*>(&timer), nullptr);
  uv_run(&loop, UV_RUN_DEFAULT);
  uv_loop_close(&loop);
  lateness.ReportAll();
}

// Begins and cancels timeouts. `run` does then what a loop does.
void Cancel(Timers& timers, const std::function<void()>& run) {
  InlineExecutor executor;
  std::vector<TimerId> ids(kBatch);
  const double ns = NsPerOp(kBatch, [&] {
    for (TimerId& id : ids) {
      id = timers.CallAfter(absl::Hours(1), &executor, [](absl::Status) {});
    }
    for (const TimerId id : ids) timers.Cancel(id);
    run();
  });
  Report("loop_cancel", ns, "ns");
}

void CancelOnLoop() {
  event_loop::EpollLoop loop;
  Timers timers(TimersOn(loop.waiting_loop()));
  Cancel(timers, [&loop] { loop.waiting_loop()->RunDue(); });
}

void CancelOnThreads() {
  Timers timers(TimersOn(nullptr));
  Cancel(timers, [] {});
}

void CancelOfAsio() {
  boost::asio::io_context context(1);
  std::vector<boost::asio::steady_timer> timers;
  for (int64_t i = 0; i < kBatch; ++i) timers.emplace_back(context);
  const double ns = NsPerOp(kBatch, [&] {
    for (auto& timer : timers) {
      timer.expires_after(std::chrono::hours(1));
      timer.async_wait([](boost::system::error_code) {});
    }
    for (auto& timer : timers) timer.cancel();
    context.restart();
    context.poll();
  });
  Report("loop_cancel", ns, "ns");
}

void CancelOfLibuv() {
  uv_loop_t loop;
  uv_loop_init(&loop);
  std::vector<uv_timer_t> timers(kBatch);
  for (uv_timer_t& timer : timers) uv_timer_init(&loop, &timer);
  const double ns = NsPerOp(kBatch, [&] {
    for (uv_timer_t& timer : timers) {
      uv_timer_start(
          &timer, [](uv_timer_t*) {}, 3600 * 1000, 0);
    }
    for (uv_timer_t& timer : timers) uv_timer_stop(&timer);
    uv_run(&loop, UV_RUN_NOWAIT);
  });
  for (uv_timer_t& timer : timers) {
    uv_close(reinterpret_cast<uv_handle_t*>(&timer), nullptr);
  }
  uv_run(&loop, UV_RUN_DEFAULT);
  uv_loop_close(&loop);
  Report("loop_cancel", ns, "ns");
}

struct Case {
  absl::string_view subject;
  absl::string_view name;
  void (*run)();
};

constexpr Case kCases[] = {
    {"event-loop", "loop_cycle", CycleOnLoop},
    {"event-loop", "loop_lateness", LatenessOnLoop},
    {"event-loop", "loop_cancel", CancelOnLoop},
    {"event-loop-threads", "loop_cycle", CycleOnThreads},
    {"event-loop-threads", "loop_lateness", LatenessOnThreads},
    {"event-loop-threads", "loop_cancel", CancelOnThreads},
    {"asio", "loop_lateness", LatenessOfAsio},
    {"asio", "loop_cancel", CancelOfAsio},
    {"libuv", "loop_lateness", LatenessOfLibuv},
    {"libuv", "loop_cancel", CancelOfLibuv},
};

// bench/compare also says how long it observes what is idle, which no case
// here does.
int Main(const std::vector<absl::string_view>& args) {
  if (args.size() == 1 && args[0] == "--list") {
    for (const Case& c : kCases) absl::PrintF("%s\t%s\n", c.subject, c.name);
    return 0;
  }
  if (args.size() == 1 && args[0] == "--versions") {
    absl::PrintF("asio\tBoost %s\nlibuv\t%s\n", BOOST_LIB_VERSION,
                 uv_version_string());
    return 0;
  }
  for (const Case& c : kCases) {
    if (args.size() < 2 || args[0] != c.subject || args[1] != c.name) continue;
    c.run();
    return 0;
  }
  absl::FPrintF(stderr,
                "usage: event_loop_cases SUBJECT CASE | --list | --versions\n");
  return 2;
}

}  // namespace
}  // namespace workqueue

int main(int argc, char** argv) {
  return workqueue::Main({argv + 1, argv + argc});
}
