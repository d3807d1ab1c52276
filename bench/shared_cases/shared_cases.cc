// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The cases of a queue that several processes share, run on `SharedQueue`:
//
//     shared_cases SUBJECT CASE --server ADDRESS [--items N] [--partitions N]
//                                                [--producers N]
//     shared_cases --list
//
// ADDRESS is the path of the socket of a Redis server that nothing else uses,
// or names a cluster, for the subject `shared-queue`. For `shared-queue-sqlite`
// and `shared-queue-postgres` it names a file or a database in the same way,
// and two cases are left out. `shared-queue-floor` is a list in Redis.
// `bench/compare` and `bench/partitions` start the servers.
//
//   shared_cycle_W   -- 8 producers, which are threads, add items, W workers
//                       process them, with AcquireNext
//   shared_controller_8, shared_controller_async_8
//                    -- the same, with a controller's 8 workers or
//                       reconciliations in flight
//   shared_handover  -- Add an item while one worker waits, 500 times: until
//                       the worker has it, p50 and p99
//   shared_delayed   -- N items that are due in the course of 10 s: how late
//                       they come, p50, p99 and the maximum
//   shared_bytes     -- the server's memory for each of N items
//   shared_calls     -- commands for each item in shared_cycle_8
//
// N is 100,000 by default. The programs in bench/peers have the same cases, and
// their README describes them in detail. A case that loses an item fails.

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <iterator>
#include <memory>
#include <string>
#include <thread>  // NOLINT(build/c++11)
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "bench/cases/measure.h"
#include "bench/shared_cases/floor_list.h"
#include "bench/shared_cases/server.h"
#include "workqueue/base/mutex_lock.h"
#include "workqueue/controller/async_reconcile.h"
#include "workqueue/controller/controller.h"
#include "workqueue/controller/controller_options.h"
#include "workqueue/controller/reconcile.h"
#include "workqueue/lease.h"
#include "workqueue/shared/shared_queue.h"

#ifdef WORKQUEUE_BENCH_POSTGRES
#include "workqueue/shared/postgres/postgres_engine.h"
#endif
#ifdef WORKQUEUE_BENCH_SQLITE
#include "workqueue/shared/sqlite/sqlite_engine.h"
#endif

namespace workqueue {
namespace {

using Queue = SharedQueue<std::string>;

constexpr int64_t kMaxOutstanding = 1000;
constexpr absl::Duration kWarmUp = absl::Milliseconds(500);
constexpr absl::Duration kCycle = absl::Seconds(3);
constexpr absl::Duration kPatience = absl::Minutes(5);

constexpr absl::string_view kKeyPrefix = "object-name-";
// Ends the worker of a floor.
constexpr absl::string_view kEnd = "end";

// Returns the i-th key, which has 20 bytes.
std::string Key(int64_t i) { return absl::StrFormat("%s%08d", kKeyPrefix, i); }

int64_t IndexOf(absl::string_view key) {
  int64_t i = 0;
  Require(absl::SimpleAtoi(key.substr(kKeyPrefix.size()), &i), key);
  return i;
}

int num_partitions = 1;  // of each queue
int num_producers = 8;

// Opens the queue as one more client.
std::unique_ptr<Queue> Open(const std::string& server,
                            const std::string& name) {
  SharedQueueOptions<std::string> options;
  options.name = name;
  options.redis.address = server;
  options.partitions = num_partitions;
  options.require_durable_server = true;
  absl::StatusOr<std::unique_ptr<Queue>> queue =
      Queue::Create(std::move(options));
  if (!queue.ok()) Fail(queue.status().ToString());
  return *std::move(queue);
}

// Runs `body` in `n` threads until it returns.
void InThreads(int n, const std::function<void()>& body) {
  std::vector<std::thread> threads;
  for (int i = 0; i < n; ++i) threads.emplace_back(body);
  for (std::thread& thread : threads) thread.join();
}

// Progress
//
// Knows which items have been processed.
class Progress {
 public:
  // Returns the number of the next item to add. Blocks while too many have not
  // been processed.
  int64_t Next() ABSL_LOCKS_EXCLUDED(mu_) {
    internal::MutexLock lock(&mu_);
    mu_.Await(absl::Condition(
        +[](Progress* self) ABSL_NO_THREAD_SAFETY_ANALYSIS {
          return self->added_ - self->processed_ < kMaxOutstanding;
        },
        this));
    return added_++;
  }

  // An item may be processed more than once.
  void Process(int64_t i) ABSL_LOCKS_EXCLUDED(mu_) {
    internal::MutexLock lock(&mu_);
    if (static_cast<size_t>(i) >= seen_.size()) seen_.resize(2 * i + 1);
    if (!seen_[i]) ++processed_;
    seen_[i] = true;
  }

  // Blocks until all items that were added have been processed. Returns their
  // number.
  int64_t AwaitAll() ABSL_LOCKS_EXCLUDED(mu_) {
    internal::MutexLock lock(&mu_);
    const bool all = mu_.AwaitWithTimeout(
        absl::Condition(
            +[](Progress* self) ABSL_NO_THREAD_SAFETY_ANALYSIS {
              return self->added_ == self->processed_;
            },
            this),
        kPatience);
    if (!all) Fail(absl::StrCat(processed_, " of ", added_, " processed"));
    return added_;
  }

 private:
  absl::Mutex mu_;
  int64_t added_ ABSL_GUARDED_BY(mu_) = 0;
  int64_t processed_ ABSL_GUARDED_BY(mu_) = 0;
  std::vector<bool> seen_ ABSL_GUARDED_BY(mu_);
};

// Workers
//
// Threads that process the items of a queue, as one client.
class Workers {
 public:
  Workers(const std::string& server, const std::string& name, int n,
          std::function<void(const std::string&)> process)
      : queue_(Open(server, name)), process_(std::move(process)) {
    for (int i = 0; i < n; ++i) threads_.emplace_back([this] { Run(); });
  }

  // Shuts the queue down, and waits until it is drained.
  ~Workers() {
    Require(queue_->ShutDownWithDrainWithin(kPatience), "not drained");
    for (std::thread& thread : threads_) thread.join();
  }

 private:
  void Run() {
    Lease<std::string> lease;
    while (queue_->AcquireNext(&lease).ok()) process_(*lease);
  }

  const std::unique_ptr<Queue> queue_;
  const std::function<void(const std::string&)> process_;
  std::vector<std::thread> threads_;
};

struct Cycled {
  int64_t items;
  absl::Duration time;
};

// Adds items for `adding`, while workers process them. `start` starts workers,
// whose end is the end of its result.
using Process = std::function<void(const std::string&)>;
template <typename Start>
Cycled Cycle(const std::string& server, const std::string& name,
             absl::Duration adding, Start start_workers) {
  const std::unique_ptr<Queue> producer = Open(server, name);
  Progress progress;
  const auto workers = start_workers(name, Process([&](const std::string& key) {
                                       progress.Process(IndexOf(key));
                                     }));
  const SteadyTime start = SteadyNow();
  InThreads(num_producers, [&] {
    while (absl::FromChrono(SteadyNow() - start) < adding) {
      Require(producer->Add(Key(progress.Next())), "Add failed");
    }
  });
  const int64_t items = progress.AwaitAll();
  return {items, absl::FromChrono(SteadyNow() - start)};
}

template <typename Start>
void ReportCycleOf(const std::string& case_name, const std::string& server,
                   Start start_workers) {
  Cycle(server, "warm-up", kWarmUp, start_workers);
  const Cycled cycled = Cycle(server, "cycle", kCycle, start_workers);
  Report(case_name, absl::ToDoubleMicroseconds(cycled.time) / cycled.items,
         "us");
}

void ReportCycle(const std::string& server, int n) {
  ReportCycleOf(absl::StrCat("shared_cycle_", n), server,
                [&](const std::string& name, Process process) {
                  return std::make_unique<Workers>(server, name, n,
                                                   std::move(process));
                });
}

void ReportController(const std::string& server, bool async) {
  constexpr size_t kReconciles = 8;
  const auto start_workers = [&](const std::string& name, Process process) {
    ControllerOptions<std::string> options;
    options.queue = Open(server, name);
    if (async) {
      options.max_in_flight = kReconciles;
      options.reconcile_async = [process = std::move(process)](
                                    const std::string& key,
                                    const AsyncReconcileContext&,
                                    ReconcileCompletion done) {
        process(key);
        std::move(done)(ReconcileResult());
      };
    } else {
      options.workers = kReconciles;
      options.reconcile = [process = std::move(process)](
                              const std::string& key, const ReconcileContext&) {
        process(key);
        return ReconcileResult();
      };
    }
    auto controller = Controller<std::string>::Create(std::move(options));
    if (!controller.ok()) Fail(controller.status().ToString());
    Require((*controller)->Start().ok(), "not started");
    return *std::move(controller);
  };
  ReportCycleOf(async ? "shared_controller_async_8" : "shared_controller_8",
                server, start_workers);
}

void ReportCalls(const std::string& server) {
  const auto start_workers = [&](const std::string& name, Process process) {
    return std::make_unique<Workers>(server, name, 8, std::move(process));
  };
  Cycle(server, "warm-up", kWarmUp, start_workers);
  CommandCount count(server);
  const Cycled cycled = Cycle(server, "cycle", kCycle, start_workers);
  Report("shared_calls", 100.0 * count.Stop() / cycled.items, "calls/100");
}

// A request has the items of all producers, and the next one takes them.
void ReportFloorCycle(const std::string& case_name, const std::string& server) {
  FloorList producer(server), worker(server);
  Progress progress;
  std::thread taking([&] {
    for (;;) {
      for (const std::string& key : worker.Take(num_producers)) {
        if (key == kEnd) return;
        progress.Process(IndexOf(key));
      }
    }
  });
  const SteadyTime start = SteadyNow();
  while (absl::FromChrono(SteadyNow() - start) < kCycle) {
    std::vector<std::string> keys;
    for (int i = 0; i < num_producers; ++i)
      keys.push_back(Key(progress.Next()));
    producer.Add(keys);
  }
  const int64_t items = progress.AwaitAll();
  Report(
      case_name,
      absl::ToDoubleMicroseconds(absl::FromChrono(SteadyNow() - start)) / items,
      "us");
  producer.Add({std::string(kEnd)});
  taking.join();
}

// Measures how long it takes from `add` until `got`, which a worker sets before
// it tells `progress`.
void ReportHandover(Progress& progress, const SteadyTime& got,
                    const std::function<void(const std::string&)>& add) {
  constexpr int64_t kWarmUps = 50;
  constexpr int64_t kSamples = 500;
  std::vector<double> micros;
  for (int64_t i = 0; i < kWarmUps + kSamples; ++i) {
    absl::SleepFor(absl::Milliseconds(5));  // until the worker waits
    const std::string key = Key(progress.Next());
    const SteadyTime start = SteadyNow();
    add(key);
    progress.AwaitAll();
    if (i < kWarmUps) continue;
    micros.push_back(absl::ToDoubleMicroseconds(absl::FromChrono(got - start)));
  }
  std::sort(micros.begin(), micros.end());
  Report("shared_handover_p50", micros[kSamples / 2], "us");
  Report("shared_handover_p99", micros[kSamples * 99 / 100], "us");
}

void ReportHandover(const std::string& server) {
  const std::unique_ptr<Queue> producer = Open(server, "handover");
  Progress progress;
  SteadyTime got;  // is read after the item has been processed
  const Workers workers(server, "handover", 1, [&](const std::string& key) {
    got = SteadyNow();
    progress.Process(IndexOf(key));
  });
  ReportHandover(progress, got, [&](const std::string& key) {
    Require(producer->Add(key), "Add failed");
  });
}

// The same on the floor.
void ReportFloorHandover(const std::string& server) {
  FloorList producer(server), worker(server);
  Progress progress;
  SteadyTime got;
  std::thread taking([&] {
    for (;;) {
      const std::vector<std::string> keys = worker.Take(1);
      if (keys[0] == kEnd) return;
      got = SteadyNow();
      progress.Process(IndexOf(keys[0]));
    }
  });
  ReportHandover(progress, got,
                 [&](const std::string& key) { producer.Add({key}); });
  producer.Add({std::string(kEnd)});
  taking.join();
}

void ReportDelayed(const std::string& server, int64_t n) {
  constexpr int kThreads = 64;
  constexpr absl::Duration kSpread = absl::Seconds(10);
  // By then all items have been added.
  const absl::Time first =
      absl::Now() + absl::Seconds(3) + n * absl::Microseconds(250);
  const std::unique_ptr<Queue> producer = Open(server, "delayed");
  std::vector<std::atomic<int64_t>> lateness(n);  // in ns; 0 is not processed
  std::vector<absl::Time> due(n);
  std::atomic<int64_t> next{0};
  {
    const auto process = [&](const std::string& key) {
      const int64_t i = IndexOf(key);
      const int64_t late = absl::ToInt64Nanoseconds(absl::Now() - due[i]);
      Require(late > 0, "an item came early");
      int64_t none = 0;
      lateness[i].compare_exchange_strong(none, late);
    };
    // The end of the workers, which would discard items that wait, comes after
    // the last item.
    const Workers workers(server, "delayed", kThreads, process);
    InThreads(kThreads, [&] {
      for (int64_t i = next++; i < n; i = next++) {
        due[i] = first + kSpread * i / n;
        Require(producer->AddAfter(Key(i), due[i] - absl::Now()),
                "AddAfter failed");
      }
    });
    Require(absl::Now() < first, "adding took too long");
    const absl::Time deadline = first + kPatience;
    for (const std::atomic<int64_t>& late : lateness) {
      while (late == 0) {
        Require(absl::Now() < deadline, "an item was lost");
        absl::SleepFor(absl::Milliseconds(10));
      }
    }
  }
  std::vector<double> millis;
  for (int64_t late : lateness) {
    millis.push_back(absl::ToDoubleMilliseconds(absl::Nanoseconds(late)));
  }
  std::sort(millis.begin(), millis.end());
  Report("shared_delayed_p50", millis[n / 2], "ms");
  Report("shared_delayed_p99", millis[n * 99 / 100], "ms");
  Report("shared_delayed_max", millis.back(), "ms");
}

void ReportBytes(const std::string& server, int64_t n) {
  constexpr int64_t kBatch = 1000;
  const std::unique_ptr<Queue> queue = Open(server, "bytes");
  const int64_t before = UsedMemory(server);
  for (int64_t i = 0; i < n; i += kBatch) {
    std::vector<std::string> keys;
    for (int64_t j = i; j < std::min(n, i + kBatch); ++j) {
      keys.push_back(Key(j));
    }
    Require(queue->AddAll(keys), "AddAll failed");
  }
  const int64_t after = UsedMemory(server);
  Require(queue->Len() == static_cast<size_t>(n), "an item was lost");
  Report("shared_bytes", static_cast<double>(after - before) / n, "bytes");
}

struct Case {
  absl::string_view name;
  void (*run)(const std::string& server, int64_t items);
  void (*run_floor)(const std::string& server) = nullptr;
};

constexpr absl::string_view kFloor = "shared-queue-floor";

// Those that a program with these parts of the library has.
constexpr absl::string_view kSubjects[] = {
    "shared-queue",
    kFloor,
#ifdef WORKQUEUE_BENCH_POSTGRES
    "shared-queue-postgres",
#endif
#ifdef WORKQUEUE_BENCH_SQLITE
    "shared-queue-sqlite",
#endif
};

constexpr Case kCases[] = {
    {"shared_cycle_1",
     [](const std::string& server, int64_t) { ReportCycle(server, 1); },
     [](const std::string& server) {
       ReportFloorCycle("shared_cycle_1", server);
     }},
    {"shared_cycle_8",
     [](const std::string& server, int64_t) { ReportCycle(server, 8); },
     [](const std::string& server) {
       ReportFloorCycle("shared_cycle_8", server);
     }},
    {"shared_cycle_64",
     [](const std::string& server, int64_t) { ReportCycle(server, 64); },
     [](const std::string& server) {
       ReportFloorCycle("shared_cycle_64", server);
     }},
    {"shared_controller_8",
     [](const std::string& server, int64_t) {
       ReportController(server, /*async=*/false);
     }},
    {"shared_controller_async_8",
     [](const std::string& server, int64_t) {
       ReportController(server, /*async=*/true);
     }},
    {"shared_handover",
     [](const std::string& server, int64_t) { ReportHandover(server); },
     ReportFloorHandover},
    {"shared_delayed", ReportDelayed},
    {"shared_bytes", ReportBytes},
    {"shared_calls",
     [](const std::string& server, int64_t) { ReportCalls(server); }},
};

bool Has(absl::string_view subject, const Case& c) {
  if (subject == kFloor) return c.run_floor != nullptr;
  if (subject == kSubjects[0]) return true;
  // These ask the server of Redis.
  return c.name != "shared_bytes" && c.name != "shared_calls";
}

// Lets addresses name the engines, and makes the tables.
void Prepare(const std::string& server) {
#ifdef WORKQUEUE_BENCH_SQLITE
  RegisterSqlite();
#endif
#ifdef WORKQUEUE_BENCH_POSTGRES
  RegisterPostgres();
  if (absl::StartsWith(server, "postgres://")) {
    const absl::Status made = PostgresEngine::Migrate(server);
    if (!made.ok()) Fail(made.ToString());
  }
#endif
}

int Main(const std::vector<absl::string_view>& args) {
  if (args.size() == 1 && args[0] == "--list") {
    for (const absl::string_view subject : kSubjects) {
      for (const Case& c : kCases) {
        if (Has(subject, c)) absl::PrintF("%s\t%s\n", subject, c.name);
      }
    }
    return 0;
  }
  std::string server;
  int64_t items = 100000;
  bool valid = args.size() >= 2 && args.size() % 2 == 0;
  valid = valid && std::find(std::begin(kSubjects), std::end(kSubjects),
                             args[0]) != std::end(kSubjects);
  for (size_t i = 2; valid && i < args.size(); i += 2) {
    if (args[i] == "--server") {
      server = std::string(args[i + 1]);
    } else if (args[i] == "--partitions") {
      valid = absl::SimpleAtoi(args[i + 1], &num_partitions);
    } else if (args[i] == "--producers") {
      valid = absl::SimpleAtoi(args[i + 1], &num_producers);
    } else {
      valid = args[i] == "--items" && absl::SimpleAtoi(args[i + 1], &items);
    }
  }
  valid = valid && !server.empty() && items >= 1 && num_partitions >= 1 &&
          num_producers >= 1;
  for (const Case& c : kCases) {
    if (!valid || c.name != args[1] || !Has(args[0], c)) continue;
    if (args[0] == kFloor) {
      c.run_floor(server);
    } else {
      Prepare(server);
      c.run(server, items);
    }
    return 0;
  }
  absl::FPrintF(stderr,
                "usage: shared_cases SUBJECT CASE --server ADDRESS [--items N] "
                "[--partitions N] [--producers N] | --list\n");
  return 2;
}

}  // namespace
}  // namespace workqueue

int main(int argc, char** argv) {
  return workqueue::Main({argv + 1, argv + argc});
}
