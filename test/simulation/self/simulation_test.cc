// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/simulation/simulation.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "workqueue/clock/clock.h"
#include "workqueue/controller/controller.h"
#include "workqueue/simulation/sync.h"

namespace {

using workqueue::simulation::Check;
using workqueue::simulation::Choose;
using workqueue::simulation::Explore;
using workqueue::simulation::MemoryMayRunOut;
using workqueue::simulation::MemoryRunsOut;
using workqueue::simulation::Options;
using workqueue::simulation::Result;
using workqueue::simulation::Strategy;
namespace sync = workqueue::sync;

// Two threads, of which each adds one to a variable.
void AddTwice(const std::function<void(sync::Atomic<int>*)>& add) {
  sync::Atomic<int> sum{0};
  sync::Thread other([&] { add(&sum); });
  add(&sum);
  other.join();
  Check(sum.load() == 2, "an addition is lost");
}

void Add(sync::Atomic<int>* sum) { sum->fetch_add(1); }
void AddInTwoSteps(sync::Atomic<int>* sum) { sum->store(sum->load() + 1); }

class SimulationTest : public testing::TestWithParam<Strategy> {
 protected:
  static Options Chosen() {
    Options options;
    options.strategy = GetParam();
    return options;
  }
};
INSTANTIATE_TEST_SUITE_P(Strategies, SimulationTest,
                         testing::Values(Strategy::kMixed, Strategy::kUniform,
                                         Strategy::kRandom, Strategy::kPct,
                                         Strategy::kExhaustive));

TEST_P(SimulationTest, FindsALostUpdate) {
  EXPECT_FALSE(Explore(Chosen(), [] { AddTwice(Add); }).failed);
  const Result result = Explore(Chosen(), [] { AddTwice(AddInTwoSteps); });
  EXPECT_TRUE(result.failed);
  EXPECT_TRUE(absl::StrContains(result.report, "an addition is lost"));
}

TEST_P(SimulationTest, FindsADeadlockByTheOrderOfLocks) {
  const Result result = Explore(Chosen(), []() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    sync::Mutex a, b;
    sync::Thread other([&]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
      sync::MutexLock first(&a);
      sync::MutexLock second(&b);
    });
    {
      sync::MutexLock first(&b);
      sync::MutexLock second(&a);
    }
    other.join();
  });
  EXPECT_TRUE(result.failed);
  EXPECT_TRUE(absl::StrContains(result.report, "a deadlock"));
  EXPECT_TRUE(absl::StrContains(result.report, "waits for the lock"));
}

TEST_P(SimulationTest, FindsALostWakeUp) {
  const Result result = Explore(Chosen(), []() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    sync::Mutex mu;
    sync::CondVar changed;
    sync::Atomic<bool> ready{false};
    sync::Thread other([&] {
      ready = true;
      changed.Signal();  // without the lock
    });
    {
      sync::MutexLock lock(&mu);
      while (!ready) changed.Wait(&mu);
    }
    other.join();
  });
  EXPECT_TRUE(result.failed);
  EXPECT_TRUE(absl::StrContains(result.report, "waits for a signal"));
}

TEST_P(SimulationTest, FindsTheUseOfADestroyedLock) {
  const Result result = Explore(Chosen(), [] {
    alignas(sync::Mutex) static unsigned char memory[sizeof(sync::Mutex)];
    auto* const mu = new (memory) sync::Mutex;
    sync::Atomic<bool> done{false};
    sync::Thread other([&] {
      sync::MutexLock lock(mu);
      done = true;
    });
    while (!done) sync::Yield();
    mu->~Mutex();
    other.join();
  });
  EXPECT_TRUE(result.failed);
}

TEST(SimulationTest, FindsACrash) {
  const Result result = Explore(Options(), [] { std::abort(); });
  EXPECT_TRUE(result.failed);
  EXPECT_TRUE(absl::StrContains(result.report, "Aborted"));
}

TEST(SimulationTest, FindsAnEndlessLoop) {
  Options options;
  options.max_steps = 1000;
  const Result result = Explore(options, [] {
    while (true) sync::Yield();
  });
  EXPECT_TRUE(absl::StrContains(result.report, "a livelock"));
}

TEST(SimulationTest, WakesAThreadForNoReason) {
  const auto wait_once = []() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    sync::Mutex mu;
    sync::CondVar changed;
    bool ready = false;
    sync::Thread other([&] {
      sync::MutexLock lock(&mu);
      ready = true;
      changed.Signal();
    });
    {
      sync::MutexLock lock(&mu);
      if (!ready) changed.Wait(&mu);
      Check(ready, "woken for no reason");
    }
    other.join();
  };
  Options options;
  EXPECT_TRUE(Explore(options, wait_once).failed);
  options.spurious_wake_ups = false;
  EXPECT_FALSE(Explore(options, wait_once).failed);
}

TEST(SimulationTest, FailsToTakeAFreeLock) {
  const auto try_once = []() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    sync::Mutex mu;
    Check(mu.TryLock(), "fails for no reason");
    mu.Unlock();
  };
  Options options;
  EXPECT_TRUE(Explore(options, try_once).failed);
  options.spurious_wake_ups = false;
  EXPECT_FALSE(Explore(options, try_once).failed);
}

TEST_P(SimulationTest, MemoryRunsOutOnlyWhereItMay) {
  EXPECT_FALSE(Explore(Chosen(), [] {
                 Check(!MemoryRunsOut(), "there is no memory");
                 const MemoryMayRunOut may;
                 const MemoryMayRunOut spared(false);
                 Check(!MemoryRunsOut(), "there is no memory");
               }).failed);
  EXPECT_TRUE(Explore(Chosen(), [] {
                const MemoryMayRunOut may;
                const bool first = MemoryRunsOut();
                Check(first || !MemoryRunsOut(), "the second is missing");
              }).failed);
}

TEST(SimulationTest, MemoryRunsOutForNoOtherThread) {
  EXPECT_FALSE(Explore(Options(), [] {
                 const MemoryMayRunOut may;
                 sync::Thread other(
                     [] { Check(!MemoryRunsOut(), "there is no memory"); });
                 other.join();
               }).failed);
}

// Each of two threads writes a variable, and then reads that of the other one.
void WriteAndLook(const std::function<void(sync::Atomic<int>*)>& write) {
  sync::Atomic<int> a{0}, b{0};
  bool a_is_seen = false;
  sync::Thread other([&] {
    write(&b);
    a_is_seen = a.load() == 1;
  });
  write(&a);
  const bool b_is_seen = b.load() == 1;
  other.join();
  Check(a_is_seen || b_is_seen, "neither write is seen");
}

// A thread writes, and then says so.
void WriteAndTell(std::memory_order order) {
  sync::Atomic<int> written{0}, told{0};
  sync::Thread other([&] {
    if (told.load(std::memory_order_acquire) == 0) return;
    Check(written.load(std::memory_order_relaxed) == 1, "told too early");
  });
  written.store(1, std::memory_order_relaxed);
  told.store(1, order);
  other.join();
}

class StoreBufferTest : public SimulationTest {
 protected:
  // Whether `scenario` fails, with store buffers or without.
  static bool Fails(bool store_buffers, const std::function<void()>& scenario) {
    Options options = Chosen();
    options.schedules = 20000;
    options.store_buffers = store_buffers;
    const Result result = Explore(options, scenario);
    EXPECT_TRUE(result.failed || result.complete ||
                options.strategy != Strategy::kExhaustive);
    return result.failed;
  }
};
INSTANTIATE_TEST_SUITE_P(Strategies, StoreBufferTest,
                         testing::Values(Strategy::kMixed,
                                         Strategy::kExhaustive));

TEST_P(StoreBufferTest, LoadsOvertakeStores) {
  for (const std::memory_order order :
       {std::memory_order_relaxed, std::memory_order_release}) {
    const auto scenario = [order] {
      WriteAndLook([order](sync::Atomic<int>* it) { it->store(1, order); });
    };
    EXPECT_FALSE(Fails(false, scenario));
    EXPECT_TRUE(Fails(true, scenario));
  }
}

TEST_P(StoreBufferTest, NoLoadOvertakesAFence) {
  EXPECT_FALSE(Fails(
      true, [] { WriteAndLook([](sync::Atomic<int>* it) { it->store(1); }); }));
  EXPECT_FALSE(Fails(true, [] {
    WriteAndLook([](sync::Atomic<int>* it) { it->exchange(1); });
  }));
  EXPECT_FALSE(Fails(true, [] {
    WriteAndLook([](sync::Atomic<int>* it) {
      it->store(1, std::memory_order_relaxed);
      sync::Mutex mu;
      const sync::MutexLock lock(&mu);
    });
  }));
}

TEST_P(StoreBufferTest, NoStoreComesAfterALaterRelease) {
  EXPECT_FALSE(Fails(true, [] { WriteAndTell(std::memory_order_release); }));
  const auto relaxed = [] { WriteAndTell(std::memory_order_relaxed); };
  EXPECT_FALSE(Fails(false, relaxed));
  EXPECT_TRUE(Fails(true, relaxed));
}

TEST_P(StoreBufferTest, AThreadSeesItsStoresInTheirOrder) {
  EXPECT_FALSE(Fails(true, [] {
    sync::Atomic<int> it{0};
    sync::Thread other([&] {
      const int first = it.load(std::memory_order_relaxed);
      Check(it.load(std::memory_order_relaxed) >= first, "an old value");
    });
    for (int i = 1; i <= 2; ++i) {
      it.store(i, std::memory_order_relaxed);
      Check(it.load(std::memory_order_relaxed) == i, "an old value");
    }
    other.join();
  }));
}

TEST_P(StoreBufferTest, AThreadSeesWhatCameBeforeItsStartAndItsJoin) {
  EXPECT_FALSE(Fails(true, [] {
    sync::Atomic<int> it{0};
    it.store(1, std::memory_order_relaxed);
    sync::Thread other([&] {
      Check(it.load(std::memory_order_relaxed) == 1, "an old value");
      it.store(2, std::memory_order_relaxed);
    });
    other.join();
    Check(it.load(std::memory_order_relaxed) == 2, "an old value");
  }));
}

TEST_P(StoreBufferTest, FindsTheEndOfAVariableBeforeAStore) {
  EXPECT_TRUE(Fails(true, [] {
    std::optional<sync::Atomic<int>> it(0);
    sync::Atomic<bool> over{false};
    sync::Thread other([&] {
      it->store(1, std::memory_order_relaxed);
      over.store(true, std::memory_order_relaxed);  // not a release
      over.load();
    });
    if (over.load()) it.reset();
    other.join();
  }));
}

TEST(SimulationTest, TimePassesWhenNobodyCanGoOn) {
  Options options;
  options.time_passes = false;
  const Result result = Explore(options, [] {
    workqueue::Clock* const clock = workqueue::Clock::GetRealClock();
    const absl::Time start = clock->TimeNow();
    sync::Thread other([clock] { clock->Sleep(absl::Hours(2)); });
    clock->Sleep(absl::Hours(1));
    Check(clock->TimeNow() == start + absl::Hours(1), "a sleep is late");
    other.join();
    Check(clock->TimeNow() == start + absl::Hours(2), "a sleep is late");
  });
  EXPECT_FALSE(result.failed) << result.report;
}

TEST(SimulationTest, ASeedIsAlwaysTheSameSchedule) {
  const auto hash_of = [](uint64_t seed) {
    Options options;
    options.seed = seed;
    options.schedules = 1;
    return Explore(options, [] { AddTwice(Add); }).hash;
  };
  std::set<uint64_t> hashes;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    EXPECT_EQ(hash_of(seed), hash_of(seed));
    hashes.insert(hash_of(seed));
  }
  EXPECT_GT(hashes.size(), 3);
}

TEST(SimulationTest, ReportsTheStepsOfASchedule) {
  Options options;
  options.report_steps = true;
  options.schedules = 1;
  const Result result = Explore(options, [] { AddTwice(Add); });
  EXPECT_FALSE(result.failed);
  EXPECT_TRUE(absl::StrContains(result.report, "changes #0")) << result.report;
}

TEST(SimulationTest, ATraceFailsAgain) {
  Options options;
  const Result found = Explore(options, [] { AddTwice(AddInTwoSteps); });
  ASSERT_TRUE(found.failed);
  options.trace = found.trace;
  const Result again = Explore(options, [] { AddTwice(AddInTwoSteps); });
  EXPECT_TRUE(again.failed);
  EXPECT_EQ(again.trace, found.trace);
}

// A search without a schedule does not pass.
TEST(SimulationTest, RefusesWrongOptions) {
  const auto report_of = [](const Options& options) {
    const Result result = Explore(options, [] {});
    EXPECT_TRUE(result.failed);
    EXPECT_FALSE(result.complete);
    EXPECT_EQ(result.schedules, 0u);
    return result.report;
  };
  Options options;
  options.schedules = 0;
  EXPECT_EQ(report_of(options), "schedules is 0; it must be at least 1");
  options = {};
  options.duration = absl::ZeroDuration();
  EXPECT_EQ(report_of(options), "duration is 0; it must be positive");
  options = {};
  options.strategy = Strategy::kPct;
  options.depth = 0;
  EXPECT_EQ(report_of(options), "depth is 0; it must be at least 1");
  options = {};
  options.strategy = Strategy::kExhaustive;
  options.preemptions = -1;
  EXPECT_EQ(report_of(options), "preemptions is -1; it must not be negative");
  for (const char* trace :
       {"1-1.2", "1-1.x-1", "1-1.", "-1-1", "1--1", "4000000000-1", "0-256"}) {
    options = {};
    options.trace = trace;
    EXPECT_EQ(report_of(options), absl::StrCat("trace is \"", trace,
                                               "\"; it must be a trace of a "
                                               "report"));
    setenv("WORKQUEUE_SIMULATION_TRACE", trace, 1);
    EXPECT_EQ(report_of(Options()),
              absl::StrCat("WORKQUEUE_SIMULATION_TRACE is \"", trace,
                           "\"; it must be a trace of a report"));
    unsetenv("WORKQUEUE_SIMULATION_TRACE");
  }
  setenv("WORKQUEUE_SIMULATION_SEED", "x\n", 1);
  EXPECT_EQ(report_of(Options()),
            "WORKQUEUE_SIMULATION_SEED is \"x\\n\"; it must be a number");
  unsetenv("WORKQUEUE_SIMULATION_SEED");
}

TEST(SimulationTest, AShortTimeIsEnoughForASchedule) {
  Options options;
  options.duration = absl::Nanoseconds(1);
  const Result result = Explore(options, [] {});
  EXPECT_FALSE(result.failed) << result.report;
  EXPECT_EQ(result.schedules, 1u);
}

TEST(SimulationTest, TheTraceOfTheFirstScheduleIsATrace) {
  Options options;
  options.trace = "0";
  const Result result = Explore(options, [] {});
  EXPECT_FALSE(result.failed) << result.report;
  EXPECT_EQ(result.schedules, 1u);
}

// Between two steps of one thread, the other one makes both of its steps: that
// is one preemption, and the simplest schedule.
TEST(SimulationTest, SimplifiesASchedule) {
  const Result found = Explore(Options(), [] { AddTwice(AddInTwoSteps); });
  ASSERT_TRUE(found.failed);
  EXPECT_LE(std::count(found.trace.begin(), found.trace.end(), '-'), 2)
      << found.trace;
}

// Without preemptions, one of the threads runs first: at the start of the other
// one, which has a choice of its own, and at the end.
TEST(SimulationTest, AnExhaustiveSearchEnds) {
  Options options;
  options.strategy = Strategy::kExhaustive;
  uint64_t last = 0;
  for (options.preemptions = 0; options.preemptions < 4;
       ++options.preemptions) {
    const Result result = Explore(options, [] { AddTwice(Add); });
    EXPECT_TRUE(result.complete);
    EXPECT_GT(result.schedules, last);
    last = result.schedules;
  }
}

TEST(SimulationTest, AnExhaustiveSearchMakesEachChoice) {
  Options options;
  options.strategy = Strategy::kExhaustive;
  const Result result = Explore(options, [] {
    Choose(3);
    Choose(5);
  });
  EXPECT_TRUE(result.complete);
  EXPECT_EQ(result.schedules, 15);
}

TEST(SimulationTest, ASleepLastsItsTime) {
  const Result result = Explore(Options(), [] {
    const auto begin = workqueue::simulation::Now();
    workqueue::simulation::Sleep(absl::Nanoseconds(1) / 4);
    Check(workqueue::simulation::Now() > begin, "it has not slept");
  });
  EXPECT_FALSE(result.failed) << result.report;
}

TEST(SimulationTest, ASleepWithoutAnEndIsADeadlock) {
  const Result result = Explore(Options(), [] {
    workqueue::simulation::Sleep(absl::Nanoseconds(1));
    workqueue::simulation::Sleep(absl::InfiniteDuration());
  });
  EXPECT_TRUE(absl::StrContains(result.report, "a deadlock")) << result.report;
}

TEST(SimulationTest, AScenarioThatFailsByItsResultLosesNoOutput) {
  testing::internal::CaptureStdout();  // a file, to which writes are buffered
  Explore(
      Options(), [] { std::printf("what is wrong\n"); }, [] { return true; });
  EXPECT_TRUE(absl::StrContains(testing::internal::GetCapturedStdout(),
                                "what is wrong"));
}

TEST(SimulationTest, AScenarioThatEndsTheProcessFails) {
  for (const int code : {0, 1}) {
    const Result result = Explore(Options(), [code] { std::exit(code); });
    EXPECT_TRUE(result.failed);
    EXPECT_TRUE(absl::StrContains(
        result.report, absl::StrCat("ends with the exit code ", code)))
        << result.report;
  }
}

// Counts the pods of each node.
class PodCounts {
 public:
  void Add(const std::string& node) {
    const int count = Of(node);
    workqueue::sync::MutexLock lock(&mu_);
    counts_[node] = count + 1;
  }

  int Of(const std::string& node) {
    workqueue::sync::MutexLock lock(&mu_);
    return counts_[node];
  }

 private:
  workqueue::sync::Mutex mu_;
  std::map<std::string, int> counts_ ABSL_GUARDED_BY(mu_);
};

TEST(GuideTest, FindsARaceOfAReconcileFunction) {
  workqueue::simulation::Options options;
  options.schedules = 10000;
  const auto result = workqueue::simulation::Explore(options, [] {
    PodCounts counts;
    workqueue::ControllerOptions<std::string> controller_options;
    controller_options.workers = 2;
    controller_options.reconcile = [&counts](const std::string&) {
      counts.Add("node");
      return absl::OkStatus();
    };
    auto controller = *workqueue::Controller<std::string>::Create(
        std::move(controller_options));
    controller->Start().IgnoreError();
    controller->queue().AddAll({"pod-1", "pod-2"});
    workqueue::simulation::AwaitIdle();
    workqueue::simulation::Check(counts.Of("node") == 2, "a pod is lost");
    controller->Stop();
  });
  EXPECT_TRUE(result.failed);
  EXPECT_TRUE(absl::StrContains(result.report, "a pod is lost"));
}

}  // namespace
