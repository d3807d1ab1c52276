// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Tests what a test can let happen to a fleet on a `MemoryEngine`. That queues
// behave there as in a server is tested where both are.

#include "workqueue/shared/testing/memory_engine.h"

#include <atomic>
#include <chrono>  // NOLINT(build/c++11)
#include <cstddef>
#include <cstdint>
#include <future>  // NOLINT(build/c++11)
#include <map>
#include <memory>
#include <optional>
#include <ostream>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/config.h"
#include "absl/base/log_severity.h"
#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/shared/queue_history.h"
#include "test/workqueue/recording_log.h"
#include "test/workqueue/recording_metrics.h"
#include "workqueue/base/exceptions.h"
#include "workqueue/base/mutex_lock.h"
#include "workqueue/clock/fake_clock.h"
#include "workqueue/controller/async_reconcile.h"
#include "workqueue/controller/controller.h"
#include "workqueue/controller/reconcile.h"
#include "workqueue/controller/source.h"
#include "workqueue/failures.h"
#include "workqueue/interfaces.h"
#include "workqueue/leader_election/leader_elector.h"
#include "workqueue/lease.h"
#include "workqueue/log_sink.h"
#include "workqueue/loop_executor.h"
#include "workqueue/redis/redis_options.h"
#include "workqueue/retry_after.h"
#include "workqueue/shared/internal/engine.h"
#include "workqueue/shared/internal/queue_keys.h"
#include "workqueue/shared/list_shared_queues.h"
#include "workqueue/shared/shared_queue.h"
#include "workqueue/shared/shared_queue_options.h"
#include "workqueue/testing/manual_executor.h"
#include "workqueue/testing/thread.h"
#include "workqueue/timer/waiting_loop.h"

namespace workqueue::memory_engine_test {
namespace {

using Queue = SharedQueue<std::string>;
using Faults = MemoryEngine::Faults;

constexpr absl::Duration kLease = absl::Seconds(30);

// Returns faults of which one has a value.
template <typename V>
Faults Only(V Faults::*fault, V value) {
  Faults faults;
  faults.*fault = value;
  return faults;
}

// The engines of another source. A test breaks one of them, holds requests up,
// counts them, and sets settings.
class StagedSource final : public internal::EngineSource {
 public:
  using Settings = absl::StatusOr<internal::EngineSettings>;

  explicit StagedSource(internal::EngineSource* source) : source_(*source) {}

  bool UsesClocksOfQueues() const override {
    return source_.UsesClocksOfQueues();
  }
  std::unique_ptr<internal::Engine> NewEngine(
      const std::string& name, size_t partitions,
      const std::string& client_name) override {
    return std::make_unique<Staged>(
        this, name, source_.NewEngine(name, partitions, client_name));
  }

  // While `held` is locked, each request waits.
  absl::Mutex held;
  // Blocks until one does.
  void AwaitHeld() {
    internal::MutexLock lock(&mu_);
    const auto some = [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
      return waiting_ > 0;
    };
    mu_.Await(absl::Condition(&some));
  }

  // The requests for this queue or partition fail from now on.
  void set_away(std::string name) {
    internal::MutexLock lock(&mu_);
    away_ = std::move(name);
  }

  void set_settings(Settings settings) {
    internal::MutexLock lock(&mu_);
    settings_ = std::move(settings);
  }

  // The next request throws, after it has been applied.
  void Throw() { throws_ = true; }

  // The number of requests.
  int requests() const { return requests_; }
  // The number of items in all snapshots.
  size_t listed() const { return listed_; }

 private:
  class Staged final : public internal::Engine {
   public:
    Staged(StagedSource* stage, std::string name,
           std::unique_ptr<internal::Engine> engine)
        : stage_(*stage), name_(std::move(name)), engine_(std::move(engine)) {}

    absl::StatusOr<internal::EngineReply> Apply(
        const internal::EngineRequest& request, absl::Time deadline) override {
      ++stage_.requests_;
      stage_.Count(1);
      internal::MutexLock lock(&stage_.held);
      stage_.Count(-1);
      if (stage_.IsAway(name_)) return absl::UnavailableError("it is away");
      auto reply = engine_->Apply(request, deadline);
      if (stage_.throws_.exchange(false)) internal::ThrowBadAlloc();
      return reply;
    }
    absl::StatusOr<internal::EngineSnapshot> TakeSnapshot(
        const internal::EngineSnapshotRequest& request,
        absl::Time deadline) override {
      auto snapshot = engine_->TakeSnapshot(request, deadline);
      if (snapshot.ok()) {
        for (const auto* list :
             {&snapshot->queued, &snapshot->processing, &snapshot->waiting,
              &snapshot->failing, &snapshot->parked}) {
          stage_.listed_ += list->size();
        }
      }
      return snapshot;
    }
    absl::Status Listen(internal::EngineListener* listener,
                        absl::Time deadline) override {
      return engine_->Listen(listener, deadline);
    }
    void StopListening() override { engine_->StopListening(); }
    Settings CheckSettings(absl::Time) override {
      internal::MutexLock lock(&stage_.mu_);
      return stage_.settings_;
    }

   private:
    StagedSource& stage_;
    const std::string name_;
    const std::unique_ptr<internal::Engine> engine_;
  };

  bool IsAway(const std::string& name) {
    internal::MutexLock lock(&mu_);
    return name == away_;
  }

  void Count(int n) {
    internal::MutexLock lock(&mu_);
    waiting_ += n;
  }

  internal::EngineSource& source_;
  absl::Mutex mu_;
  std::string away_ ABSL_GUARDED_BY(mu_);
  int waiting_ ABSL_GUARDED_BY(mu_) = 0;
  Settings settings_ ABSL_GUARDED_BY(mu_) = internal::EngineSettings();
  std::atomic<bool> throws_{false};
  std::atomic<int> requests_{0};
  std::atomic<size_t> listed_{0};
};

// Returns an item in one of two partitions.
std::string ItemIn(size_t partition) {
  for (int n = 0;; ++n) {
    std::string item = absl::StrCat("item ", n);
    if (internal::PartitionOf(item, 2) == partition) return item;
  }
}

// Two processes of a fleet.
class MemoryEngineTest : public testing::Test {
 protected:
  MemoryEngineTest()
      : a_(*Queue::Create(Options("a"))), b_(*Queue::Create(Options("b"))) {}

  SharedQueueOptions<std::string> Options(const std::string& process) {
    SharedQueueOptions<std::string> options;
    options.name = "pods";
    options.client_name = process;
    options.clock = &clock_;
    options.engine = &engine_;
    options.lease = kLease;
    options.call_timeout = absl::Hours(1);  // No test waits for it.
    return options;
  }

  static absl::Status Add(Queue& queue, const std::string& item) {
    return queue.AddItems({}, {item});
  }

  // The number of items, as `b` sees it.
  size_t Queued() { return b_->Count()->queued; }

  // Lets `queue` wait for an item, which `executor` is to receive.
  void Wait(Queue& queue, ManualExecutor* executor) {
    queue.AcquireAsync(executor, [this](absl::StatusOr<Lease<std::string>> it) {
      received_ = it.ok() ? **it : it.status().ToString();
    });
    Deliver();
  }

  // Calls `f` on another thread, and returns when that thread waits.
  template <typename F>
  auto AsyncThatWaits(F f) {
    Deliver();  // Now all threads of queues wait.
    const size_t waiters = clock_.NumWaiters();
    auto result = Async(std::move(f));
    clock_.AwaitWaiters(waiters + 1);
    return result;
  }

  // `a` adds an item, on a thread that sleeps in that call.
  std::future<absl::Status> AddSlowly() {
    return AsyncThatWaits([this] { return Add(*a_, "x"); });
  }

  // Returns when everything has come to its process.
  void Deliver() { clock_.Step(absl::ZeroDuration()); }

  FakeClock clock_;
  MemoryEngine engine_{&clock_};
  ManualExecutor of_a_, of_b_;
  std::string received_;
  std::unique_ptr<Queue> a_, b_;
};

TEST_F(MemoryEngineTest, AnItemIsPushedToAProcessThatWaits) {
  Wait(*b_, &of_b_);
  EXPECT_EQ(of_b_.size(), 0u);
  EXPECT_TRUE(a_->Add("x"));
  Deliver();
  of_b_.RunAll();
  EXPECT_EQ(received_, "x");
}

using MemoryEngineDeathTest = MemoryEngineTest;

TEST_F(MemoryEngineDeathTest, ACallbackMustBeCallable) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  Lease<std::string> lease;
  EXPECT_DEATH(a_->AcquireNextAsync(&lease, &of_b_, nullptr),
               "the callback of AcquireAsync.. is null");
}

TEST_F(MemoryEngineDeathTest, AQueueThatWouldWaitForAnExecutorIsNotDestroyed) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  for (const int partitions : {1, 2}) {
    EXPECT_DEATH(
        {
          LoopExecutor executor(std::make_shared<WaitingLoop>(&clock_, [] {}));
          auto options = Options("c");
          options.name = "parts";
          options.partitions = partitions;
          (*Queue::Create(options))->AcquireAsync(&executor, [](auto) {});
        },
        "a shared queue is destroyed on the thread that runs an executor, "
        "before its callbacks have been called");
  }
}

// As in a queue in memory.
TEST_F(MemoryEngineTest, ANegativeDelayIsShorterThanThatOfTheLimiter) {
  AddOptions options = AddOptions::RateLimited(absl::Seconds(5));
  for (const absl::Duration after :
       {-absl::Seconds(1), absl::ZeroDuration(), absl::Seconds(1)}) {
    options.after = after;
    ASSERT_TRUE(a_->AddItems(options, {absl::FormatDuration(after)}).ok());
  }
  EXPECT_EQ(a_->TryGet().value_or("none"), "-1s");
  EXPECT_EQ(a_->TryGet().value_or("none"), "none");
  clock_.Step(absl::Seconds(1));
  EXPECT_EQ(a_->TryGet().value_or("none"), "1s");
  EXPECT_EQ(a_->TryGet().value_or("none"), "none");
}

TEST_F(MemoryEngineTest, TheAgeOfTheOldestItemIsAMetric) {
  AddOptions urgent;
  urgent.priority = 1;
  ASSERT_TRUE(Add(*a_, "x").ok());
  clock_.Step(absl::Seconds(4));
  ASSERT_TRUE(a_->AddItems(urgent, {"y"}).ok());
  RecordingMetrics metrics;
  auto options = Options("c");
  options.metrics_provider = &metrics;
  const auto queue = *Queue::Create(std::move(options));
  const auto age = [&metrics] {
    const auto values = metrics.values(MetricKind::kOldestQueued);
    return values.empty() ? -1 : values.back();
  };
  EXPECT_EQ(age(), 4) << "also if the process begins";
  clock_.Step(absl::Seconds(10));
  EXPECT_EQ(age(), 14);
  EXPECT_EQ(queue->Get(), "y");
  clock_.Step(absl::Seconds(10));
  EXPECT_EQ(age(), 24);
  EXPECT_EQ(queue->Get(), "x");
  clock_.Step(absl::Seconds(10));
  EXPECT_EQ(age(), 0);
}

// A database may take a round trip for each priority.
TEST_F(MemoryEngineTest, TheOldestItemIsLookedForInTheHighestPriorities) {
  RecordingMetrics metrics;
  auto options = Options("c");
  options.metrics_provider = &metrics;
  const auto queue = *Queue::Create(std::move(options));
  for (int priority = 0; priority < 100; ++priority) {
    AddOptions add;
    add.priority = priority;
    ASSERT_TRUE(a_->AddItems(add, {absl::StrCat(priority)}).ok());
    clock_.Step(absl::Seconds(1));
  }
  clock_.Step(absl::Seconds(10));
  EXPECT_EQ(metrics.values(MetricKind::kOldestQueued).back(), 25 + 10);
}

TEST_F(MemoryEngineTest, AllProcessesTellThatTheDataWasLost) {
  ASSERT_TRUE(Add(*a_, "x").ok());
  clock_.Step(absl::Seconds(1));
  EXPECT_EQ(a_->TakeSnapshot()->data_lost_at, std::nullopt);
  engine_.LoseData();
  clock_.Step(absl::Seconds(10));
  for (Queue* queue : {a_.get(), b_.get()}) {
    EXPECT_TRUE(queue->TakeSnapshot()->data_lost_at.has_value());
  }
}

TEST_F(MemoryEngineTest, QueuesOfOtherNamesAreOthers) {
  auto options = Options("c");
  options.name = "nodes";
  const auto other = *Queue::Create(std::move(options));
  EXPECT_TRUE(other->Add("x"));
  EXPECT_EQ(Queued(), 0u);
}

TEST_F(MemoryEngineTest, RefusesAnotherNumberOfPartitions) {
  auto options = Options("c");
  options.partitions = 2;
  EXPECT_EQ(Queue::Create(options).status(),
            absl::FailedPreconditionError(
                "the queue has 1 partitions, and this client has 2"));
}

TEST_F(MemoryEngineTest, OnlyAServerHasTheOptionsOfAServer) {
  const auto refused = [this](void (*change)(RedisOptions*)) {
    auto options = Options("c");
    change(&options.redis);
    const absl::Status status = Queue::Create(options).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    LeaderElectorOptions election;
    election.name = "pods";
    election.engine = &engine_;
    election.redis = options.redis;
    EXPECT_EQ(LeaderElector::Create(std::move(election)).status(), status);
    const std::string message(status.message());
    absl::string_view field = message;
    EXPECT_TRUE(absl::ConsumeSuffix(
        &field,
        "; only a server of Valkey or Redis has it, and engine or address "
        "names something else"))
        << status;
    return std::string(field);
  };
  EXPECT_EQ(refused([](RedisOptions* o) { o->username = "me"; }),
            "redis.username is \"me\"");
  EXPECT_EQ(refused([](RedisOptions* o) { o->password = "secret"; }),
            "redis.password is set");
  EXPECT_EQ(refused([](RedisOptions* o) { o->database = 3; }),
            "redis.database is 3");
  EXPECT_EQ(refused([](RedisOptions* o) { o->tls.emplace(); }),
            "redis.tls is set");
  EXPECT_EQ(refused([](RedisOptions* o) { o->acknowledging_replicas = 1; }),
            "redis.acknowledging_replicas is 1");
  EXPECT_EQ(
      refused([](RedisOptions* o) { o->connect_timeout = absl::Seconds(2); }),
      "redis.connect_timeout is 2s");
}

TEST_F(MemoryEngineTest, AQueueHasOneAddress) {
  auto options = Options("c");
  const absl::Status error = absl::InvalidArgumentError(
      "engine is given, and address is \"localhost:1\"; only one of them can "
      "be");
  options.redis.address = "localhost:1";
  EXPECT_EQ(Queue::Create(options).status(), error);
  options.redis = {};
  options.address = "localhost:1";
  EXPECT_EQ(Queue::Create(options).status(), error);
  options.engine = nullptr;
  options.redis.address = "localhost:2";
  LeaderElectorOptions election;
  election.name = "pods";
  election.address = "localhost:1";
  election.redis.address = "localhost:2";
  for (const absl::Status& status :
       {Queue::Create(options).status(),
        LeaderElector::Create(std::move(election)).status()}) {
    EXPECT_EQ(status, absl::InvalidArgumentError(
                          "address and redis.address are given; only one of "
                          "them can be"));
  }
}

// A server would keep a time that is too large, and no later one could follow.
TEST_F(MemoryEngineTest, AServersTimeIsThatOfAClockNearTheEpoch) {
  const std::string error =
      "clock_is_the_servers is true, and clock reads 1970-04-11T00:00:00+00:00;"
      " it must read less than 100 days after the Unix epoch, as a FakeClock "
      "does";
  FakeClock late(absl::UnixEpoch() + absl::Hours(24 * 100));
  FakeClock early(late.TimeNow() - absl::Nanoseconds(1));
  for (FakeClock* clock : {&late, &early}) {
    SharedQueueOptions<std::string> options;
    options.name = "pods";
    options.address = "/nowhere";
    options.clock = clock;
    options.clock_is_the_servers = true;
    options.call_timeout = absl::Milliseconds(10);
    LeaderElectorOptions election;
    election.name = "pods";
    election.address = "/nowhere";
    election.clock = clock;
    election.clock_is_the_servers = true;
    const absl::Status queue = Queue::Create(options).status();
    const absl::Status elector =
        LeaderElector::Create(std::move(election)).status();
    if (clock == &early) {
      EXPECT_FALSE(absl::IsInvalidArgument(queue)) << queue;
      EXPECT_TRUE(elector.ok()) << elector;
    } else {
      EXPECT_EQ(queue, absl::InvalidArgumentError(error));
      EXPECT_EQ(elector, absl::InvalidArgumentError(error));
    }
  }
}

TEST_F(MemoryEngineTest, AFileNeedsItsPartOfTheLibrary) {
  auto options = Options("c");
  options.engine = nullptr;
  options.address = "sqlite:/x.db";
  LeaderElectorOptions election;
  election.name = "pods";
  election.address = "sqlite:/x.db";
  for (const absl::Status& status :
       {Queue::Create(options).status(),
        LeaderElector::Create(std::move(election)).status()}) {
    EXPECT_EQ(
        status,
        absl::InvalidArgumentError(
            "address begins with \"sqlite:\", but this program has not called "
            "RegisterSqlite(), which is in "
            "workqueue/shared/sqlite/sqlite_engine.h; its library is "
            "//workqueue/shared/sqlite, and workqueue::sqlite in CMake"));
  }
  RedisOptions redis;
  redis.address = options.address;
  EXPECT_EQ(ListSharedQueues(redis, absl::Seconds(1)).status(),
            absl::InvalidArgumentError(
                "address begins with \"sqlite:\"; only a SharedQueue and a "
                "LeaderElector can be in a database"));
}

TEST_F(MemoryEngineTest, WhileItIsAwayNothingChanges) {
  engine_.SetFaults(Only(&Faults::away, true));
  EXPECT_TRUE(absl::IsUnavailable(Add(*a_, "x")));
  EXPECT_TRUE(absl::IsUnavailable(a_->TryAcquire().status()));
  EXPECT_TRUE(absl::IsUnavailable(a_->TakeSnapshot().status()));
  EXPECT_TRUE(absl::IsUnavailable(Queue::Create(Options("c")).status()));
  EXPECT_FALSE(a_->Healthy().ok());
  engine_.SetFaults({});
  EXPECT_EQ(Queued(), 0u);
  EXPECT_TRUE(a_->Add("x"));
  EXPECT_TRUE(a_->Healthy().ok());
  EXPECT_EQ(Queued(), 1u);
}

TEST_F(MemoryEngineTest, NobodyKnowsWhatAPartitionHasThatIsAway) {
  StagedSource source(&engine_);
  auto options = Options("c");
  options.name = "jobs";
  options.engine = &source;
  options.partitions = 2;
  const auto queue = *Queue::Create(options);
  EXPECT_TRUE(absl::IsDeadlineExceeded(queue->TryAcquire().status()));
  source.set_away(internal::PartitionName("jobs", 1, 2));
  // First a partition tells that it is away, and then it is left out.
  for (int i = 0; i < 4; ++i) {
    EXPECT_TRUE(absl::IsUnavailable(queue->TryAcquire().status()));
  }
  auto in_time = Async(
      [&] { return queue->AcquireWithTimeout(absl::Seconds(5)).status(); });
  while (in_time.wait_for(std::chrono::milliseconds(1)) !=
         std::future_status::ready) {
    clock_.Step(absl::Seconds(1));
  }
  EXPECT_TRUE(absl::IsUnavailable(in_time.get()));
  // The other partition is served all the same.
  EXPECT_TRUE(queue->Add(ItemIn(0)));
  EXPECT_EQ(queue->Get(), ItemIn(0));
  EXPECT_TRUE(queue->Done(ItemIn(0)));
  queue->Close();
  EXPECT_TRUE(absl::IsCancelled(queue->TryAcquire().status()));
}

// The time is the machine's: it is short.
TEST_F(MemoryEngineTest, TheEndOfAPartitionedQueueAwaitsAWorkerThatAsks) {
  StagedSource source(&engine_);
  auto options = Options("c");
  options.name = "jobs";
  options.engine = &source;
  options.partitions = 2;
  auto queue = *Queue::Create(options);
  std::future<absl::Status> got;
  std::future<void> ended;
  {
    internal::MutexLock lock(&source.held);
    got = Async(
        [&] { return queue->AcquireWithTimeout(absl::Hours(1)).status(); });
    source.AwaitHeld();  // by the first partition that the worker asks
    ended = Async([&] { queue.reset(); });
    EXPECT_EQ(ended.wait_for(std::chrono::milliseconds(50)),
              std::future_status::timeout);
  }
  ended.get();
  EXPECT_TRUE(absl::IsCancelled(got.get()));
}

TEST_F(MemoryEngineTest, TheEndOfAQueueEndsItsDrains) {
  for (const int partitions : {1, 2}) {
    auto options = Options("c");
    options.name = absl::StrCat(partitions);
    options.partitions = partitions;
    auto queue = *Queue::Create(options);
    EXPECT_TRUE(Add(*queue, "x").ok());
    auto drained = AsyncThatWaits([&] {
      return queue->ShutDownWithDrainWithin(absl::InfiniteDuration());
    });
    queue.reset();
    EXPECT_FALSE(drained.get());
  }
}

TEST_F(MemoryEngineTest, ATimeoutThatEndsInAnOutageIsTheOutage) {
  auto got = AsyncThatWaits(
      [this] { return a_->AcquireWithTimeout(absl::Seconds(5)).status(); });
  engine_.SetFaults(Only(&Faults::away, true));
  EXPECT_TRUE(absl::IsUnavailable(Add(*a_, "x")));
  clock_.Step(absl::Seconds(5));
  EXPECT_TRUE(absl::IsUnavailable(got.get()));
}

// Also before the call has failed. The time is the machine's: it is short.
TEST_F(MemoryEngineTest, ARequestWithoutAnAnswerIsTold) {
  StagedSource source(&engine_);
  RecordingMetrics metrics;
  auto options = Options("c");
  options.engine = &source;
  options.metrics_provider = &metrics;
  // Half of it is the time after which the process tells.
  options.call_timeout = absl::Milliseconds(2);
  const auto queue = *Queue::Create(options);
  std::future<absl::Status> added;
  {
    internal::MutexLock lock(&source.held);
    added = Async([&] { return Add(*queue, "x"); });
    source.AwaitHeld();
    absl::Status health;
    do {
      health = queue->Healthy();
    } while (health.ok());
    EXPECT_TRUE(absl::IsUnavailable(health)) << health;
    EXPECT_TRUE(absl::StrContains(health.message(), "no answer")) << health;
    clock_.Step(absl::Seconds(1));
    EXPECT_GT(metrics.values(MetricKind::kEngineUnreachable).back(), 0);
  }
  EXPECT_TRUE(added.get().ok());
  EXPECT_TRUE(queue->Healthy().ok());
  clock_.Step(absl::Seconds(1));
  EXPECT_EQ(metrics.values(MetricKind::kEngineUnreachable).back(), 0);
}

#ifdef ABSL_HAVE_EXCEPTIONS

// Else all later calls would wait for it.
TEST_F(MemoryEngineTest, ARequestThatThrowsHasNoAnswer) {
  StagedSource source(&engine_);
  auto options = Options("c");
  options.engine = &source;
  const auto queue = *Queue::Create(options);
  source.Throw();
  const absl::Status thrown = Add(*queue, "x");
  EXPECT_TRUE(absl::IsUnknown(thrown)) << thrown;
  EXPECT_FALSE(queue->Healthy().ok());
  EXPECT_EQ(Add(*queue, "y"), absl::OkStatus());
  EXPECT_EQ(Queued(), 2u);
}

#endif  // ABSL_HAVE_EXCEPTIONS

TEST_F(MemoryEngineTest, BeforeTheFirstAnswerNoMetricSaysThatItIsEmpty) {
  const auto told = [](const RecordingMetrics& metrics) {
    size_t n = 0;
    for (const MetricKind kind :
         {MetricKind::kEngineDepth, MetricKind::kWaitingItems,
          MetricKind::kFailingItems, MetricKind::kOldestQueued,
          MetricKind::kEngineUnreachable, MetricKind::kWrongSettings}) {
      n += metrics.record(kind).names.size();
    }
    return n;
  };
  RecordingMetrics metrics;
  auto options = Options("c");
  options.metrics_provider = &metrics;
  engine_.SetFaults(Only(&Faults::away, true));
  EXPECT_FALSE(Queue::Create(options).ok());
  EXPECT_EQ(told(metrics), 0u);
  EXPECT_EQ(metrics.count(MetricKind::kEngineErrors), 1);
  engine_.SetFaults({});
  EXPECT_TRUE(Add(*a_, "x").ok());
  const auto queue = *Queue::Create(options);
  EXPECT_EQ(told(metrics), 6u);
  EXPECT_EQ(metrics.values(MetricKind::kEngineDepth).back(), 1);
  EXPECT_EQ(metrics.count(MetricKind::kEngineErrors), 1);
}

// A program may try again and again to create its queue.
TEST_F(MemoryEngineTest, AQueueThatIsRefusedCountsAsAnError) {
  StagedSource source(&engine_);
  source.set_settings(internal::EngineSettings{"a is b, not c"});
  RecordingMetrics metrics;
  auto options = Options("c");
  options.engine = &source;
  options.metrics_provider = &metrics;
  options.require_durable_server = true;
  EXPECT_TRUE(absl::IsFailedPrecondition(Queue::Create(options).status()));
  EXPECT_EQ(metrics.count(MetricKind::kEngineErrors), 1);
  source.set_settings(internal::EngineSettings());
  ASSERT_TRUE(Add(*a_, "x").ok());
  options.fair.dimensions.resize(1);
  options.fair.dimensions[0].group_of = [](const std::string& x) { return x; };
  EXPECT_TRUE(absl::IsFailedPrecondition(Queue::Create(options).status()));
  EXPECT_EQ(metrics.count(MetricKind::kEngineErrors), 2);
}

TEST_F(MemoryEngineTest, SettingsThatCannotBeSeenAreNotRight) {
  StagedSource source(&engine_);
  source.set_settings(internal::EngineSettings{"cannot see a"});
  RecordingMetrics metrics;
  auto options = Options("c");
  options.engine = &source;
  options.metrics_provider = &metrics;
  const auto queue = *Queue::Create(options);
  const auto wrong = [&] {
    clock_.Step(absl::Seconds(1));
    return metrics.values(MetricKind::kWrongSettings).back();
  };
  EXPECT_EQ(wrong(), 1);
  source.set_settings(internal::EngineSettings());
  clock_.Step(absl::Seconds(10));
  EXPECT_EQ(wrong(), 0);
  EXPECT_EQ(queue->TakeSnapshot()->settings_problem, "");
  source.set_settings(absl::UnknownError("no answer in time"));
  clock_.Step(absl::Seconds(10));
  EXPECT_EQ(wrong(), 1);
  const std::string problem = queue->TakeSnapshot()->settings_problem;
  EXPECT_TRUE(absl::StrContains(problem, "could not be seen since")) << problem;
  EXPECT_TRUE(absl::StrContains(problem, "no answer in time")) << problem;
  source.set_settings(internal::EngineSettings());
  clock_.Step(absl::Seconds(10));
  EXPECT_EQ(wrong(), 0);
}

TEST_F(MemoryEngineTest, AListThatLacksAnItemIsAnError) {
  auto options = Options("c");
  options.codec.decode =
      [](absl::string_view bytes) -> absl::StatusOr<std::string> {
    if (bytes == "new") return absl::InvalidArgumentError("unknown version");
    return std::string(bytes);
  };
  const auto older = *Queue::Create(options);
  FailureLedgerOptions limits;
  limits.max_failures = 1;
  for (const std::string item : {"old", "new"}) {
    ASSERT_TRUE(Add(*a_, item).ok());
    auto lease = *a_->TryAcquire();
    ASSERT_TRUE(a_->Fail(&lease, absl::InternalError("no"), limits, {}).ok());
  }
  EXPECT_TRUE(older->Failing(10).ok()) << "that list is complete";
  const absl::Status parked = older->Parked(10).status();
  EXPECT_TRUE(absl::IsFailedPrecondition(parked)) << parked;
  EXPECT_TRUE(absl::StrContains(parked.message(), "new")) << parked;
  EXPECT_TRUE(absl::IsFailedPrecondition(older->Find("new").status()));
  EXPECT_TRUE(older->Find("old").ok());
  EXPECT_EQ(older->UnparkAll().value_or(0), 2u);
  for (const std::string item : {"old", "new"}) {
    EXPECT_EQ(a_->TryGet().value_or("none"), item);
    a_->Done(item);
  }
}

TEST_F(MemoryEngineTest, AControllerWithoutLimitsTakesThemAway) {
  FailureLedgerOptions limits;
  limits.max_failures = 1;
  ASSERT_TRUE(a_->SetLimits(limits).ok());
  Deliver();
  a_.reset();
  ControllerOptions<std::string> options;
  options.queue = *Queue::Create(Options("c"));
  options.reconcile = [](const std::string&) { return absl::OkStatus(); };
  const auto controller = *Controller<std::string>::Create(std::move(options));
  Deliver();
  ASSERT_TRUE(Add(*b_, "x").ok());
  const auto lease = *b_->TryAcquire();
  clock_.Step(kLease);  // The process is suspended.
  EXPECT_EQ(b_->Len(), 0u);
  EXPECT_EQ(b_->Numbers()->failing, 1u);
  EXPECT_EQ(b_->Numbers()->parked, 0u);
}

TEST_F(MemoryEngineTest, ARequeueRefusesWhatItCannotDo) {
  ASSERT_TRUE(Add(*a_, "x").ok());
  auto lease = *a_->TryAcquire();
  const auto refused = [&](const AddOptions& options, absl::string_view name) {
    const absl::Status status = a_->Requeue(&lease, options);
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << name;
    EXPECT_TRUE(absl::StartsWith(status.message(), name)) << status;
    EXPECT_TRUE(lease) << name;
  };
  AddOptions options;
  options.rate_limited = true;
  refused(options, "rate_limited");
  options = {};
  options.retry_after = absl::Seconds(1);
  refused(options, "retry_after");
  options = {};
  options.reschedule = true;
  refused(options, "reschedule");
  options = {};
  options.retry = true;
  refused(options, "retry");
  options = {};
  options.after = absl::Seconds(1);
  options.priority = 3;
  EXPECT_TRUE(a_->Requeue(&lease, options).ok());
}

// The reply that ends its lease hands it out again.
TEST_F(MemoryEngineTest, AnItemThatComesStraightBackHasLostNoLease) {
  RecordingLog log;
  auto options = Options("c");
  options.log_sink = &log;
  const auto c = *Queue::Create(options);
  ManualExecutor executor;
  const auto comes_back = [&](auto end) {
    ASSERT_TRUE(Add(*c, "x").ok());
    auto lease = *c->TryAcquire();
    ASSERT_TRUE(Add(*c, "x").ok());
    Wait(*c, &executor);
    EXPECT_TRUE(end(&lease));
    Deliver();
    executor.RunAll();
    EXPECT_EQ(std::exchange(received_, ""), "x");
    EXPECT_THAT(log.messages(), testing::IsEmpty());
  };
  comes_back([&](Lease<std::string>* lease) {
    return c->Fail(lease, absl::InternalError("no"), {}, {}).ok();
  });
  comes_back([&](Lease<std::string>* lease) {
    return c->Requeue(lease, AddOptions::After(absl::ZeroDuration())).ok();
  });
}

TEST_F(MemoryEngineTest, AProcessThatIsCutOffReceivesNothing) {
  Wait(*a_, &of_a_);
  Wait(*b_, &of_b_);  // after the other one
  engine_.SetFaults(Only(&Faults::away, true), "a");
  EXPECT_TRUE(absl::IsUnavailable(Add(*a_, "x")));
  const auto other = *Queue::Create(Options("c"));
  EXPECT_TRUE(other->Add("x"));  // It would go to `a`, whose turn it is.
  Deliver();
  EXPECT_EQ(of_a_.size(), 0u);
  of_b_.RunAll();
  EXPECT_EQ(received_, "x");
  // Its worker still waits when it is back.
  engine_.SetFaults({}, "a");
  Deliver();
  EXPECT_TRUE(other->Add("y"));
  Deliver();
  of_a_.RunAll();
  EXPECT_EQ(received_, "y");
}

// No worker has taken it yet.
TEST_F(MemoryEngineTest, AnItemInHandWhoseLeaseIsLostIsNotCountedTwice) {
  Wait(*a_, &of_a_);
  ASSERT_TRUE(Add(*b_, "x").ok());
  Deliver();
  engine_.SetFaults(Only(&Faults::away, true), "a");
  clock_.Step(kLease);
  ASSERT_TRUE(Add(*b_, "y").ok());
  const auto y = b_->TryAcquire();
  ASSERT_TRUE(y.ok()) << y.status();
  engine_.SetFaults({});
  const std::string other = "z";
  for (const auto& snapshot : {a_->TakeSnapshotOf(other), a_->TakeSnapshot(),
                               a_->TakeSnapshotUpTo(0)}) {
    ASSERT_TRUE(snapshot.ok()) << snapshot.status();
    EXPECT_EQ(snapshot->num_queued + snapshot->num_waiting, 1u) << "x";
    EXPECT_EQ(snapshot->num_processing, 1u) << "y";
  }
  a_->Close();
  of_a_.RunAll();
}

// A failed add gives its retry back. A failure has one, whatever its attempts.
TEST_F(MemoryEngineTest, ACallThatFailsTakesNothingFromTheRetries) {
  auto options = Options("c");
  options.retries_per_second = 1;
  options.retry_burst = 1;
  options.retry_schedule = {absl::ZeroDuration()};
  const auto c = *Queue::Create(std::move(options));
  ASSERT_TRUE(Add(*c, "x").ok());
  auto lease = c->TryAcquire();
  ASSERT_TRUE(lease.ok()) << lease.status();
  const auto fail = [&](int max_failures) {
    FailureLedgerOptions limits;
    limits.max_failures = max_failures;
    return c->Fail(&*lease, absl::InternalError("it broke"), limits,
                   std::nullopt);
  };
  Faults faults;
  for (const bool away : {true, false}) {
    faults.away = away;
    faults.full = !away;
    engine_.SetFaults(faults);
    for (int i = 0; i < 5; ++i) {
      EXPECT_FALSE(c->AddRateLimited("y"));
      if (away) {
        EXPECT_FALSE(fail(9).ok());
      }
    }
  }
  engine_.SetFaults({});
  EXPECT_TRUE(c->AddRateLimited("y"));
  EXPECT_EQ(Queued(), 0u) << "the failure of x has the first retry";
  // Nobody knows what these have done. They are still that failure.
  faults = {};
  faults.loses_requests = true;
  engine_.SetFaults(faults);
  for (int i = 0; i < 5; ++i) EXPECT_FALSE(fail(9).ok());
  engine_.SetFaults({});
  EXPECT_TRUE(fail(9).ok());
  EXPECT_EQ(Queued(), 1u);
  clock_.Step(absl::Seconds(1));
  EXPECT_EQ(Queued(), 2u);
  // An item that is parked is not tried again.
  clock_.Step(absl::Seconds(1));
  for (int i = 0; i < 2; ++i) {
    lease = c->TryAcquire();
    ASSERT_TRUE(lease.ok()) << lease.status();
    EXPECT_TRUE(fail(1)->parked);
  }
  EXPECT_TRUE(c->AddRateLimited("z"));
  EXPECT_EQ(Queued(), 1u);
}

TEST_F(MemoryEngineTest, UnparkAllReadsOnlyWhatIsParked) {
  StagedSource source(&engine_);
  auto options = Options("c");
  options.engine = &source;
  const auto c = *Queue::Create(std::move(options));
  ASSERT_TRUE(c->AddItems({}, {"x", "held"}).ok());
  auto x = c->TryAcquire();
  ASSERT_TRUE(x.ok()) << x.status();
  FailureLedgerOptions limits;
  limits.max_failures = 1;
  EXPECT_TRUE(
      c->Fail(&*x, absl::InternalError("it broke"), limits, std::nullopt)
          ->parked);
  const auto held = c->TryAcquire();
  ASSERT_TRUE(held.ok()) << held.status();
  ASSERT_TRUE(Add(*c, "queued").ok());
  ASSERT_TRUE(c->AddAfter("waits", absl::Seconds(9)));
  EXPECT_EQ(*c->UnparkAll(), 1u);
  EXPECT_EQ(source.listed(), 1u) << "x";
}

TEST_F(MemoryEngineTest, FaultsOfAllReplaceThoseOfOne) {
  engine_.SetFaults(Only(&Faults::away, true), "a");
  engine_.SetFaults({});
  EXPECT_TRUE(a_->Add("x"));
}

TEST_F(MemoryEngineTest, ARequestOrItsAnswerIsLost) {
  Faults loses;
  loses.loses_requests = true;
  engine_.SetFaults(loses, "a");
  EXPECT_TRUE(absl::IsUnknown(Add(*a_, "x")));
  EXPECT_EQ(Queued(), 0u);
  loses.loses_requests = false;
  loses.loses_answers = true;
  engine_.SetFaults(loses, "a");
  EXPECT_TRUE(absl::IsUnknown(Add(*a_, "x")));
  EXPECT_EQ(Queued(), 1u);
  EXPECT_TRUE(absl::IsUnknown(a_->TakeSnapshot().status()));
}

TEST_F(MemoryEngineTest, ALostLeaseCancelsAnAsynchronousReconciliation) {
  std::optional<AsyncReconcileContext> context;
  ReconcileCompletion done;
  std::atomic<int> cancelled{0};
  ControllerOptions<std::string> options;
  options.queue = std::move(a_);
  options.reconcile_async = [&](const std::string&,
                                const AsyncReconcileContext& of_x,
                                ReconcileCompletion completion) {
    of_x.OnCancel([&cancelled] { ++cancelled; });
    context = of_x;
    done = std::move(completion);
  };
  const auto controller = *Controller<std::string>::Create(std::move(options));
  ASSERT_TRUE(controller->Start().ok());
  ASSERT_TRUE(Add(*b_, "x").ok());
  Deliver();
  ASSERT_TRUE(context.has_value());
  for (int i = 0; i < 6; ++i) clock_.Step(kLease / 3);  // It is renewed.
  EXPECT_EQ(cancelled, 0);
  engine_.SetFaults(Only(&Faults::away, true), "a");
  clock_.Step(kLease + absl::Seconds(1));
  EXPECT_EQ(cancelled, 1);
  EXPECT_TRUE(context->Lost());
  EXPECT_EQ(context->Remaining(), absl::ZeroDuration());
}

// A sink is told no delay of an item that is not tried again.
TEST_F(MemoryEngineTest, AParkedItemHasNoDelay) {
  struct Sink final : LogSink {
    void Log(absl::LogSeverity, absl::string_view) override {}
    void LogFailure(const ReconcileFailure& failure) override {
      parked = failure.parked;
      retry_after = failure.retry_after;
    }
    bool parked = false;
    std::optional<absl::Duration> retry_after;
  };
  for (const bool parks : {false, true}) {
    Sink sink;
    ControllerOptions<std::string> options;
    options.queue = *Queue::Create(Options("c"));
    options.log_sink = &sink;
    options.reconcile = [](const std::string&) {
      return RetryAfterError(absl::UnavailableError("no"), absl::Hours(1));
    };
    if (parks) options.failures.max_failures = 1;
    const auto controller =
        *Controller<std::string>::Create(std::move(options));
    ASSERT_TRUE(controller->Start().ok());
    ASSERT_TRUE(Add(*b_, absl::StrCat(parks)).ok());
    controller->AwaitIdle();
    EXPECT_TRUE(controller->Stop());
    EXPECT_EQ(sink.parked, parks);
    EXPECT_EQ(sink.retry_after,
              parks ? std::nullopt : std::make_optional(absl::Hours(1)));
  }
}

#ifdef ABSL_HAVE_EXCEPTIONS
// An item whose text throws.
struct Unprintable {
  std::string text;

  friend bool operator==(const Unprintable& a, const Unprintable& b) {
    return a.text == b.text;
  }
  template <typename H>
  friend H AbslHashValue(H h, const Unprintable& it) {
    return H::combine(std::move(h), it.text);
  }
  friend std::ostream& operator<<(std::ostream&, const Unprintable&) {
    throw std::runtime_error("no text");
  }
};

TEST_F(MemoryEngineTest, AnItemThatCannotBePrintedFailsAsOthersDo) {
  for (const bool async : {false, true}) {
    SharedQueueOptions<Unprintable> queue;
    queue.name = absl::StrCat("unprintable", async);
    queue.engine = &engine_;
    queue.clock = &clock_;
    queue.codec.encode = [](const Unprintable& it) { return it.text; };
    queue.codec.decode = [](absl::string_view bytes) {
      return Unprintable{std::string(bytes)};
    };
    ControllerOptions<Unprintable> options;
    options.queue = *SharedQueue<Unprintable>::Create(std::move(queue));
    if (async) {
      options.reconcile_async =
          [](const Unprintable&, const AsyncReconcileContext&,
             ReconcileCompletion done) { done(absl::UnavailableError("no")); };
    } else {
      options.reconcile = [](const Unprintable&) {
        return absl::UnavailableError("no");
      };
    }
    const auto controller =
        *Controller<Unprintable>::Create(std::move(options));
    ASSERT_TRUE(controller->Start().ok());
    ASSERT_TRUE(controller->queue().Add({"x"}));
    controller->AwaitIdle();
    EXPECT_EQ(controller->queue().NumRequeues({"x"}), 1) << async;
  }
}
#endif  // ABSL_HAVE_EXCEPTIONS

// One request ends an item and takes the next one, whether a thread reconciles
// it or a callback.
TEST_F(MemoryEngineTest, AControllerSendsOneRequestForAnItem) {
  constexpr int kItems = 200;
  for (const bool async : {false, true}) {
    for (int i = 0; i < kItems; ++i) {
      ASSERT_TRUE(Add(*b_, absl::StrCat(i)).ok());
    }
    StagedSource counting(&engine_);
    ControllerOptions<std::string> options;
    auto queue = Options("counted");
    queue.engine = &counting;
    options.queue = *Queue::Create(std::move(queue));
    if (async) {
      options.max_in_flight = 1;
      options.reconcile_async =
          [](const std::string&, const AsyncReconcileContext&,
             ReconcileCompletion done) { std::move(done)(ReconcileResult()); };
    } else {
      options.reconcile = [](const std::string&, const ReconcileContext&) {
        return ReconcileResult();
      };
    }
    const auto controller =
        *Controller<std::string>::Create(std::move(options));
    const int before = counting.requests();
    ASSERT_TRUE(controller->Start().ok());
    controller->AwaitIdle();
    // A busy machine adds some. Two for an item would be twice as many.
    EXPECT_LE(counting.requests() - before, kItems + kItems / 2) << async;
  }
}

// Its term may end at any look at it. The item that it has done must be there
// for the next leader.
TEST_F(MemoryEngineTest, AProcessWhoseTermEndsHoldsNoItem) {
  // A worker looks before it takes the item, then with it, then when it is
  // done.
  for (const int looks_that_lead : {1, 2, 3}) {
    MemoryEngine engine(nullptr);
    SharedQueueOptions<std::string> queue;
    queue.name = "pods";
    queue.engine = &engine;
    const auto other = *Queue::Create(queue);
    ControllerOptions<std::string> options;
    options.queue = *Queue::Create(queue);
    options.reconcile = [](const std::string&) { return absl::OkStatus(); };
    std::atomic<int> looks{0};
    absl::Notification has_item;
    Source<std::string>& source = options.sources.emplace_back();
    source.run = [](SourceContext<std::string>&) { return absl::OkStatus(); };
    source.term = [&] {
      const int look = ++looks;
      if (look == 2) has_item.Notify();
      return look > looks_that_lead ? 0 : 1;
    };
    const auto controller =
        *Controller<std::string>::Create(std::move(options));
    ASSERT_TRUE(controller->Start().ok());
    ASSERT_TRUE(Add(*other, "x").ok());
    has_item.WaitForNotification();
    ASSERT_TRUE(Add(*other, "x").ok());
    // Only a failure waits so long.
    EXPECT_EQ(other->GetWithTimeout(absl::Seconds(30)).value_or("nothing"), "x")
        << looks_that_lead;
  }
}

// Its tasks do not call the queue, so this thread, which would run them, may
// destroy the controller.
TEST_F(MemoryEngineTest, AStandbyGivesItsExecutorNothing) {
  ManualExecutor executor;
  ControllerOptions<std::string> options;
  options.queue = *Queue::Create(Options("standby"));
  options.executor = &executor;
  options.max_in_flight = 1;
  options.reconcile_async = [](const std::string&, const AsyncReconcileContext&,
                               const ReconcileCompletion&) {};
  std::atomic<int> looks{0};
  Source<std::string>& source = options.sources.emplace_back();
  source.run = [](SourceContext<std::string>&) { return absl::OkStatus(); };
  source.term = [&looks] {
    ++looks;
    return 0;
  };
  auto controller = *Controller<std::string>::Create(std::move(options));
  ASSERT_TRUE(controller->Start().ok());
  ASSERT_TRUE(Add(*b_, "x").ok());
  while (looks < 2) {  // with the item, and when it stands by
  }
  controller->Stop(absl::ZeroDuration());
  EXPECT_EQ(executor.size(), 0u);
  executor.RunAll();
  controller.reset();
}

TEST_F(MemoryEngineTest, ASlowEngineDoesNotHoldUpTheHealthOfAController) {
  ControllerOptions<std::string> options;
  options.queue = std::move(a_);
  options.reconcile = [](const std::string&) { return absl::OkStatus(); };
  const auto controller = *Controller<std::string>::Create(std::move(options));
  ASSERT_TRUE(controller->Start().ok());
  ASSERT_TRUE(controller->queue().Add("x"));
  controller->AwaitIdle();
  Deliver();
  engine_.SetFaults(Only(&Faults::request_delay, absl::Hours(1)));
  auto idle = AsyncThatWaits([&controller] { controller->AwaitIdle(); });
  auto health = Async([&controller] { return controller->Healthy(); });
  // Only a failure waits so long.
  EXPECT_EQ(health.wait_for(std::chrono::seconds(30)),
            std::future_status::ready);
  engine_.SetFaults({});
  idle.get();
  EXPECT_EQ(health.get(), absl::OkStatus());
}

// A worker that is quick takes many items with a request. Nobody does so who
// does not want to, or decides what the time is.
TEST_F(MemoryEngineTest, AQuickWorkerTakesItemsAhead) {
  constexpr int kItems = 1000;
  const auto requests = [](int prefetch, Clock* clock) {
    MemoryEngine engine(clock);
    StagedSource counting(&engine);
    SharedQueueOptions<std::string> options;
    options.name = "q";
    options.engine = &counting;
    options.clock = clock;
    options.prefetch = prefetch;
    const auto queue = *Queue::Create(std::move(options));
    std::vector<std::string> items;
    while (items.size() < kItems) items.push_back(absl::StrCat(items.size()));
    EXPECT_TRUE(queue->AddAll(items));
    const int before = counting.requests();
    Lease<std::string> lease;
    for (const std::string& item : items) {
      EXPECT_TRUE(queue->AcquireNext(&lease).ok());
      EXPECT_EQ(*lease, item);
    }
    return counting.requests() - before;
  };
  EXPECT_GE(requests(0, nullptr), kItems);
  // A busy machine adds some.
  EXPECT_LE(requests(16, nullptr), kItems / 2);
  FakeClock clock;
  EXPECT_GE(requests(16, &clock), kItems);
}

TEST_F(MemoryEngineTest, SeveralCallbacksOfAControllerWaitForItems) {
  ManualExecutor executor;
  ControllerOptions<std::string> options;
  options.queue = std::move(a_);
  options.executor = &executor;
  options.max_in_flight = 4;
  size_t begun = 0;
  std::vector<ReconcileCompletion> completions;
  options.reconcile_async = [&](const std::string&,
                                const AsyncReconcileContext&,
                                ReconcileCompletion done) {
    completions.push_back(std::move(done));
    ++begun;
  };
  const auto controller = *Controller<std::string>::Create(std::move(options));
  ASSERT_TRUE(controller->Start().ok());
  const auto run_until = [&](size_t n) {
    while (begun < n) {
      Deliver();
      executor.RunAll();
    }
  };
  EXPECT_TRUE(b_->AddAll({"0", "1", "2", "3", "4", "5"}));
  run_until(4);
  EXPECT_EQ(b_->Count()->processing, 4u);
  EXPECT_EQ(Queued(), 2u);
  while (begun < 6) {
    for (ReconcileCompletion& done : std::exchange(completions, {})) {
      std::move(done)(ReconcileResult());
    }
    run_until(5);
    executor.RunAll();
  }
  EXPECT_EQ(Queued(), 0u);
  for (ReconcileCompletion& done : std::exchange(completions, {})) {
    std::move(done)(ReconcileResult());
  }
  controller->AwaitIdle();
}

TEST_F(MemoryEngineTest, ASnapshotOfWhatIsHereAsksNoEngine) {
  ASSERT_TRUE(a_->AddAll({"y", "x"}));
  const auto first = a_->Acquire();
  const auto second = a_->Acquire();
  ASSERT_TRUE(first.ok() && second.ok());
  engine_.SetFaults(Only(&Faults::away, true));
  SnapshotOptions<std::string> what;
  what.here_only = true;
  for (const size_t max : {0, 1, 2, 3}) {
    what.max = max;
    const auto snapshot = a_->TakeSnapshotWith(what);
    ASSERT_EQ(snapshot.status(), absl::OkStatus()) << max;
    EXPECT_EQ(snapshot->num_processing, 2u);
    EXPECT_EQ(snapshot->num_processing_here, 2u);
    ASSERT_EQ(snapshot->processing.size(), max < 2 ? max : 2);
    if (max > 0) {
      EXPECT_EQ(snapshot->processing[0].item, **first);
    }
  }
}

TEST_F(MemoryEngineTest, ASnapshotTellsOfWorkersThatHaveLostTheirLeases) {
  RecordingLog log;
  auto options = Options("c");
  options.log_sink = &log;
  const auto queue = *Queue::Create(std::move(options));
  ASSERT_TRUE(Add(*b_, "x").ok());
  auto lease = queue->TryAcquire();
  ASSERT_TRUE(lease.ok());
  const absl::Time taken_at = clock_.TimeNow();
  EXPECT_EQ(queue->TakeSnapshot()->lost_here.size(), 0u);
  engine_.SetFaults(Only(&Faults::away, true), "c");
  clock_.Step(kLease + absl::Seconds(1));
  EXPECT_EQ(Queued(), 0u) << "waits";
  clock_.Step(absl::Seconds(1));
  engine_.SetFaults({});
  clock_.Step(absl::Seconds(1));
  auto snapshot = queue->TakeSnapshot();
  ASSERT_TRUE(snapshot.ok());
  EXPECT_EQ(snapshot->num_processing, 0u);
  EXPECT_EQ(snapshot->num_processing_here, 1u);
  ASSERT_EQ(snapshot->lost_here.size(), 1u);
  EXPECT_EQ(snapshot->lost_here[0].item, "x");
  EXPECT_EQ(snapshot->lost_here[0].since, taken_at);
  EXPECT_FALSE(snapshot->lost_here[0].added_again);
  EXPECT_THAT(log.messages(),
              testing::Contains("E shared queue pods: x is still being "
                                "processed here, although its lease is lost: "
                                "another worker may have it"));
  // It comes back.
  auto next = queue->TryAcquire();
  EXPECT_FALSE(next.ok());
  snapshot = queue->TakeSnapshot();
  EXPECT_TRUE(snapshot->lost_here[0].added_again);
  EXPECT_FALSE(lease->Done());
  EXPECT_EQ(queue->TakeSnapshot()->lost_here.size(), 0u);
}

TEST_F(MemoryEngineTest, AnEndThatIsNotHeardIsRepeated) {
  for (const bool loses_answers : {false, true}) {
    for (const char* item : {"done", "given back"}) {
      ASSERT_TRUE(Add(*b_, item).ok());
    }
    auto done = a_->TryAcquire();
    auto given_back = a_->TryAcquire();
    ASSERT_TRUE(done.ok() && given_back.ok());
    Faults faults;
    faults.away = !loses_answers;
    faults.loses_answers = loses_answers;
    engine_.SetFaults(faults, "a");
    EXPECT_FALSE(done->Done());
    EXPECT_FALSE(given_back->GiveBack());
    clock_.Step(kLease / 3);
    engine_.SetFaults({});
    clock_.Step(absl::Seconds(1));
    EXPECT_EQ(b_->Count()->processing, 0u);
    clock_.Step(2 * kLease);
    auto again = b_->TryAcquire();
    ASSERT_TRUE(again.ok());
    EXPECT_EQ(**again, "given back");
    EXPECT_EQ(b_->NumRequeues("given back"), 0);
    EXPECT_TRUE(again->Done());
    EXPECT_EQ(Queued(), 0u);
  }
}

TEST_F(MemoryEngineTest, AnEndThatIsNotHeardIsHeld) {
  for (const char* item : {"fails", "later", "done", "given back"}) {
    ASSERT_TRUE(Add(*b_, item).ok());
  }
  auto leases = a_->AcquireUpTo(4);
  ASSERT_TRUE(leases.ok());
  ASSERT_EQ(leases->size(), 4u);
  auto it = leases->begin();
  EXPECT_TRUE(a_->Fail(&*it, absl::InternalError("fails"), {}, {}).ok());
  EXPECT_TRUE(a_->Requeue(&*++it, AddOptions::After(absl::Hours(1))).ok());
  engine_.SetFaults(Only(&Faults::away, true), "a");
  EXPECT_FALSE((++it)->Done());
  EXPECT_FALSE((++it)->GiveBack());
  EXPECT_FALSE(a_->CloseWithDrainWithin(absl::ZeroDuration()));
  auto drained = Async(
      [this] { return a_->CloseWithDrainWithin(absl::InfiniteDuration()); });
  engine_.SetFaults({});
  while (drained.wait_for(std::chrono::milliseconds(1)) !=
         std::future_status::ready) {
    clock_.Step(absl::Milliseconds(100));
  }
  EXPECT_TRUE(drained.get());
  EXPECT_EQ(b_->Count()->processing, 0u);
}

// The item is handed out, and nobody hears of it.
TEST_F(MemoryEngineTest, ALostItemComesBackAfterItsLease) {
  EXPECT_TRUE(b_->Add("x"));
  engine_.SetFaults(Only(&Faults::loses_answers, true), "a");
  EXPECT_TRUE(absl::IsUnknown(a_->TryAcquire().status()));
  engine_.SetFaults({});
  EXPECT_TRUE(absl::IsDeadlineExceeded(b_->TryAcquire().status()));
  clock_.Step(kLease);
  clock_.Step(absl::Milliseconds(5));
  EXPECT_TRUE(b_->TryAcquire().ok());
  EXPECT_EQ(b_->NumRequeues("x"), 1);
}

TEST_F(MemoryEngineTest, WhatAddsFindsTheMemoryFull) {
  EXPECT_TRUE(a_->Add("x"));
  engine_.SetFaults(Only(&Faults::full, true));
  EXPECT_TRUE(absl::IsResourceExhausted(Add(*a_, "y")));
  auto lease = b_->TryAcquire();
  ASSERT_TRUE(lease.ok()) << lease.status();
  EXPECT_TRUE(lease->Done());
  EXPECT_EQ(Queued(), 0u);
}

TEST_F(MemoryEngineTest, ARequestIsSlow) {
  engine_.SetFaults(Only(&Faults::request_delay, absl::Seconds(2)), "a");
  auto added = AddSlowly();
  clock_.Step(absl::Seconds(2) - absl::Nanoseconds(1));
  EXPECT_EQ(Queued(), 0u);
  clock_.Step(absl::Nanoseconds(1));
  EXPECT_TRUE(added.get().ok());
  EXPECT_EQ(Queued(), 1u);
}

TEST_F(MemoryEngineTest, AnAnswerIsSlow) {
  engine_.SetFaults(Only(&Faults::answer_delay, absl::InfiniteDuration()), "a");
  auto added = AddSlowly();
  EXPECT_EQ(Queued(), 1u);
  EXPECT_EQ(added.wait_for(std::chrono::seconds(0)),
            std::future_status::timeout);
  engine_.SetFaults({});
  EXPECT_TRUE(added.get().ok());
}

TEST_F(MemoryEngineTest, AnAnswerDoesNotComeIfTheEngineGoesAway) {
  engine_.SetFaults(Only(&Faults::answer_delay, absl::Seconds(2)), "a");
  auto added = AddSlowly();
  engine_.SetFaults(Only(&Faults::away, true), "a");
  EXPECT_TRUE(absl::IsUnknown(added.get()));
  EXPECT_EQ(Queued(), 1u);
}

TEST_F(MemoryEngineTest, ARestartLosesConnectionsOnly) {
  EXPECT_TRUE(a_->Add("x"));
  auto lease = a_->TryAcquire();
  ASSERT_TRUE(lease.ok());
  Wait(*b_, &of_b_);
  engine_.Restart();
  Deliver();
  EXPECT_TRUE(a_->Add("y"));
  Deliver();
  of_b_.RunAll();
  EXPECT_EQ(received_, "y");
  EXPECT_TRUE(lease->Done());
}

TEST_F(MemoryEngineTest, AfterARestartLeasesGetTime) {
  EXPECT_TRUE(a_->Add("x"));
  auto lease = a_->TryAcquire();
  ASSERT_TRUE(lease.ok());
  engine_.SetFaults(Only(&Faults::away, true));
  clock_.Step(kLease);
  engine_.Restart();
  engine_.SetFaults({});
  Deliver();
  EXPECT_EQ(b_->Count()->processing, 1u) << "nobody could renew it";
  EXPECT_TRUE(lease->Done());
}

TEST_F(MemoryEngineTest, WithoutItsDataTheEngineIsEmpty) {
  a_->Add("x");
  a_->AddAfter("later", absl::Hours(1));
  auto lease = a_->TryAcquire();
  ASSERT_TRUE(lease.ok());
  const int64_t token = lease->token();
  b_->ShutDown();
  engine_.LoseData();
  Deliver();
  EXPECT_EQ(b_->Count()->waiting, 0u);
  EXPECT_FALSE(a_->ShuttingDown());
  EXPECT_FALSE(lease->Done());
  clock_.Step(absl::Nanoseconds(10));
  EXPECT_TRUE(b_->Add("x"));
  auto again = a_->TryAcquire();
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_GT(again->token(), token);
}

TEST_F(MemoryEngineTest, WithoutItsDataAQueueHasGroupsAgain) {
  auto options = Options("c");
  options.name = "tenants";
  options.fair.dimensions.resize(1);
  options.fair.dimensions[0].group_of = [](const std::string& item) {
    return item.substr(0, 1);
  };
  const auto queue = *Queue::Create(options);
  engine_.LoseData();
  Deliver();
  queue->AddAll({"x0", "x1", "y0"});
  for (const char* item : {"x0", "y0", "x1"}) EXPECT_EQ(queue->Get(), item);
}

// Three processes whose requests fail, get lost, come late and come twice by
// chance, and what they saw of each item. The begins and ends are numbers of
// one counter.
class Ordeal {
 public:
  // `longest` is the most that passes at a time: longer than a lease, or too
  // short for a process to do anything but to connect again.
  explicit Ordeal(uint32_t seed, absl::Duration longest = kLease)
      : random_(seed), longest_(longest) {
    Faults faults;
    faults.seed = seed;
    for (const char* process : {"a", "b", "c"}) {
      SharedQueueOptions<std::string> options;
      options.name = "pods";
      options.client_name = process;
      options.clock = &clock_;
      options.engine = &engine_;
      options.lease = kLease;
      options.retry_schedule = {absl::Seconds(1)};
      queues_.push_back(*Queue::Create(std::move(options)));
    }
    engine_.SetFaults(faults);
  }

  void Run() {
    for (int i = 0; i < 150; ++i) {
      Step();
      clock_.Step(absl::ZeroDuration());  // What that has begun is over.
    }
  }

  // Empties the queue. Returns what is wrong, or an empty string.
  std::string Drain() {
    engine_.SetFaults({});
    absl::Status state = absl::UnknownError("stuck");
    for (int i = 0; i < 100 && !state.ok(); ++i) {
      while (Acquire(*queues_[0]))
        End(leases_.size() - 1, /*gives_back=*/false);
      Pass(kLease / 4);
      while (!leases_.empty()) End(0, /*gives_back=*/false);
      const auto count = queues_[1]->Count();
      if (!count.ok()) {
        state = count.status();
      } else if (count->queued + count->waiting + count->processing == 0) {
        state = absl::OkStatus();
      }
    }
    if (!state.ok()) return state.ToString();
    for (auto& [item, history] : histories_) {
      const int64_t now = ++moments_;
      history.push_back({QueueOperation::kIsGone, now, now});
      // Some answers with an item were lost.
      history.push_back({QueueOperation::kHandOut});
      for (const auto& [token, alive_at] : alive_at_[item]) {
        history.push_back(
            {QueueOperation::kExpiry, alive_at, QueueOperation::kNever, token});
      }
      if (const auto found = CheckHistory(history)) return item + found->text;
    }
    return "";
  }

  // What was called, and what came of it.
  const std::string& trace() const { return trace_; }
  int unknown() const { return unknown_; }
  int unavailable() const { return unavailable_; }
  int lost() const { return lost_; }

 private:
  void Step() {
    Queue& queue = *queues_[random_() % queues_.size()];
    switch (random_() % 8) {
      case 0:
      case 1:
        return Add(queue, random_() % 4 == 0);
      case 2:
      case 3:
        Acquire(queue);
        return;
      case 4:
      case 5:
        if (!leases_.empty()) {
          End(random_() % leases_.size(), random_() % 4 == 0);
        }
        return;
      case 6:
        return Pass(longest_ / (1 + random_() % 4));
      default:
        return Pass(absl::Milliseconds(1));
    }
  }

  void Note(const absl::Status& status) {
    unknown_ += absl::IsUnknown(status) ? 1 : 0;
    unavailable_ += absl::IsUnavailable(status) ? 1 : 0;
    absl::StrAppend(&trace_, " ", absl::StatusCodeToString(status.code()));
  }

  void Add(Queue& queue, bool later) {
    const std::string item = absl::StrCat("item ", random_() % 4);
    QueueOperation add = {
        later ? QueueOperation::kAddLater : QueueOperation::kAdd, ++moments_};
    const absl::Status status = queue.AddItems(
        later ? AddOptions::After(absl::Seconds(2)) : AddOptions(), {item});
    absl::StrAppend(&trace_, "\nadd ", item);
    Note(status);
    if (status.ok()) add.end = ++moments_;
    if (!absl::IsUnavailable(status)) histories_[item].push_back(add);
  }

  bool Acquire(Queue& queue) {
    auto lease = queue.TryAcquire();
    absl::StrAppend(&trace_, "\nacquire");
    Note(lease.status());
    if (!lease.ok()) return false;
    absl::StrAppend(&trace_, " ", **lease, " ", lease->token());
    const int64_t now = ++moments_;
    histories_[**lease].push_back(
        {QueueOperation::kHandOut, 0, now, lease->token()});
    alive_at_[**lease][lease->token()] = 0;
    leases_.push_back(*std::move(lease));
    return true;
  }

  void End(size_t i, bool gives_back) {
    Lease<std::string> lease = std::move(leases_[i]);
    leases_.erase(leases_.begin() + static_cast<std::ptrdiff_t>(i));
    QueueOperation end = {
        gives_back ? QueueOperation::kGiveBack : QueueOperation::kDone,
        ++moments_, QueueOperation::kNever, lease.token()};
    const std::string item = *lease;
    const bool in_time = gives_back ? lease.GiveBack() : lease.Done();
    if (in_time) end.end = ++moments_;
    absl::StrAppend(&trace_, "\nend ", end.token, " ", in_time);
    histories_[item].push_back(end);
  }

  void Pass(absl::Duration d) {
    clock_.Step(d);
    for (const auto& lease : leases_) {
      lost_ += lease.lost() ? 1 : 0;
      absl::StrAppend(&trace_, lease.lost() ? " lost" : " held");
      if (!lease.lost()) alive_at_[*lease][lease.token()] = ++moments_;
    }
  }

  static constexpr absl::Duration kLease = absl::Seconds(8);

  std::mt19937 random_;
  const absl::Duration longest_;
  FakeClock clock_;
  MemoryEngine engine_{&clock_};
  std::vector<std::unique_ptr<Queue>> queues_;
  std::vector<Lease<std::string>> leases_;
  int64_t moments_ = 0;
  std::map<std::string, std::vector<QueueOperation>> histories_;
  std::map<std::string, std::map<int64_t, int64_t>> alive_at_;  // by token
  std::string trace_;
  int unknown_ = 0, unavailable_ = 0, lost_ = 0;
};

TEST(MemoryEngineSeedTest, NoItemIsLostAndNoneHasTwoLeases) {
  int unknown = 0, unavailable = 0, lost = 0;
  for (uint32_t seed = 1; seed <= 200; ++seed) {
    Ordeal ordeal(seed);
    ordeal.Run();
    ASSERT_EQ(ordeal.Drain(), "") << "seed " << seed << ordeal.trace();
    unknown += ordeal.unknown();
    unavailable += ordeal.unavailable();
    lost += ordeal.lost();
  }
  EXPECT_GT(unknown, 1000);
  EXPECT_GT(unavailable, 500);
  EXPECT_GT(lost, 100);
}

TEST(MemoryEngineSeedTest, ASeedGivesTheSameRun) {
  std::set<std::string> runs;
  for (uint32_t seed = 1; seed <= 20; ++seed) {
    Ordeal first(seed, absl::Milliseconds(4));
    first.Run();
    Ordeal second(seed, absl::Milliseconds(4));
    second.Run();
    EXPECT_EQ(first.trace(), second.trace()) << "seed " << seed;
    runs.insert(first.trace());
  }
  EXPECT_EQ(runs.size(), 20u);
}

// A chapter of the guide.
TEST(MemoryEngineGuideTest, AProcessIsCutOff) {
  workqueue::FakeClock clock;
  workqueue::MemoryEngine engine(&clock);
  const auto start = [&](const std::string& process) {
    workqueue::SharedQueueOptions<std::string> options;
    options.name = "pods";
    options.client_name = process;
    options.clock = &clock;
    options.engine = &engine;
    return *workqueue::SharedQueue<std::string>::Create(std::move(options));
  };
  auto a = start("a");
  auto b = start("b");
  a->Add("default/web");
  workqueue::Lease<std::string> lease = *a->Acquire();

  workqueue::MemoryEngine::Faults cut_off;
  cut_off.away = true;
  engine.SetFaults(cut_off, "a");
  clock.Step(absl::Seconds(30));
  EXPECT_TRUE(lease.lost());
  clock.Step(absl::Milliseconds(5));  // the delay of the first retry
  EXPECT_EQ(**b->TryAcquire(), "default/web");
  EXPECT_FALSE(lease.Done());
}

TEST(MemoryEngineGuideTest, WhatBreaksByChance) {
  for (uint32_t seed = 1; seed <= 200; ++seed) {
    workqueue::FakeClock clock;
    workqueue::MemoryEngine engine(&clock);
    workqueue::SharedQueueOptions<std::string> options;
    options.name = "pods";
    options.client_name = "a";
    options.clock = &clock;
    options.engine = &engine;
    auto queue = *workqueue::SharedQueue<std::string>::Create(options);

    workqueue::MemoryEngine::Faults by_chance;
    by_chance.seed = seed;
    engine.SetFaults(by_chance);
    while (!queue->AddItems({}, {"default/web"}).ok()) {
    }
    bool processed = false;
    while (!processed) {
      auto lease = queue->TryAcquire();
      processed = lease.ok();
      clock.Step(absl::Seconds(1));
    }
  }
}

TEST(MemoryEngineGuideTest, ALeaderIsCutOff) {
  workqueue::FakeClock clock;
  workqueue::MemoryEngine engine(&clock);
  workqueue::MemoryEngine::Faults cut_off;
  cut_off.away = true;

  const auto join = [&](const std::string& process) {
    workqueue::LeaderElectorOptions options;
    options.name = "pods";
    options.identity = process;
    options.clock = &clock;
    options.engine = &engine;
    auto elector = *workqueue::LeaderElector::Create(std::move(options));
    EXPECT_TRUE(elector->Start().ok());
    clock.Step(absl::ZeroDuration());
    return elector;
  };
  auto a = join("a");
  auto b = join("b");
  EXPECT_TRUE(a->IsLeader());

  engine.SetFaults(cut_off, "a");
  clock.Step(absl::Seconds(10));  // the renew_deadline
  EXPECT_FALSE(a->IsLeader());
  clock.Step(absl::Seconds(5));  // until the end of the lease
  EXPECT_TRUE(b->IsLeader());
}

}  // namespace
}  // namespace workqueue::memory_engine_test
