// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Tests of a shared queue without memory.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <new>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/config.h"
#include "absl/base/log_severity.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/base/every_allocation.h"
#include "workqueue/base/exceptions.h"
#include "workqueue/base/mutex_lock.h"
#include "workqueue/clock/fake_clock.h"
#include "workqueue/lease.h"
#include "workqueue/log_sink.h"
#include "workqueue/shared/internal/byte_queue.h"
#include "workqueue/shared/internal/engine.h"
#include "workqueue/shared/internal/ordered_store.h"
#include "workqueue/shared/internal/partitioned_queue.h"
#include "workqueue/shared/internal/shared_queue_core.h"
#include "workqueue/shared/internal/stored_queue.h"
#include "workqueue/shared/shared_queue.h"
#include "workqueue/shared/shared_queue_options.h"
#include "workqueue/shared/testing/memory_engine.h"
#include "workqueue/testing/manual_executor.h"
#include "workqueue/timer/waiting_loop.h"

namespace workqueue {
namespace {

using internal::ByteQueue;
using internal::Engine;
using internal::EngineListener;
using internal::EngineMessage;
using internal::EngineOperation;
using internal::EngineReply;
using internal::EngineRequest;
using internal::EngineSnapshot;
using internal::EngineSnapshotRequest;
using internal::HeldItem;
using internal::PartitionedQueue;
using internal::SharedQueueCore;

#ifndef ABSL_HAVE_EXCEPTIONS

TEST(SharedQueueOutOfMemoryTest, NeedsExceptions) { GTEST_SKIP(); }

#else

// Keeps the last message that was written without memory.
class ExhaustedLog final : public LogSink {
 public:
  void Log(absl::LogSeverity, absl::string_view message) override {
    if (!std::exchange(CountedHeap::exhausted, false)) return;
    message_ = std::string(message);
    CountedHeap::exhausted = true;
  }
  const std::string& message() const { return message_; }

 private:
  std::string message_;
};

// The end of a lease that the engine has not heard is that of its time.
TEST(SharedQueueOutOfMemoryTest, CanBeDestroyed) {
  const std::string key = "a key that no string keeps within itself";
  FakeClock clock;
  MemoryEngine engine(&clock);
  ExhaustedLog log;
  const auto queue_of = [&](const std::string& process) {
    SharedQueueOptions<std::string> options;
    options.name = "pods";
    options.client_name = process;
    options.clock = &clock;
    options.engine = &engine;
    options.log_sink = &log;
    return *SharedQueue<std::string>::Create(std::move(options));
  };
  auto a = queue_of("a");
  ASSERT_TRUE(a->Add(key));
  Lease<std::string> lease = *a->Acquire();
  MemoryEngine::Faults faults;
  faults.away = true;
  engine.SetFaults(faults);
  EXPECT_FALSE(std::move(lease).Done());
  CountedHeap::exhausted = true;
  a.reset();
  CountedHeap::exhausted = false;
  EXPECT_EQ(log.message(),
            "shared queue pods: a message cannot be made; there may be no "
            "memory");
  engine.SetFaults({});
  const auto b = queue_of("b");
  clock.Step(absl::Seconds(40));  // The lease expires, which is a failure.
  clock.Step(absl::Minutes(1));
  ASSERT_EQ(b->Len(), 1u);
  EXPECT_EQ(b->Get(), key);
}

// Adds a callback to a new queue. The allocation with the number `failing` of
// this thread fails. Returns whether there is one.
bool AddACallback(size_t partitions, bool closed, int64_t failing) {
  FakeClock clock;
  MemoryEngine engine(&clock);
  ManualExecutor executor;
  SharedQueueOptions<std::string> options;
  options.name = "pods";
  options.clock = &clock;
  options.engine = &engine;
  options.partitions = partitions;
  auto queue = *SharedQueue<std::string>::Create(std::move(options));
  if (closed) queue->Close();
  bool added = false;
  int called = 0;
  CountedHeap::until_failure_here = failing;
  try {
    queue->AcquireAsync(
        &executor,
        [&called](absl::StatusOr<Lease<std::string> >) { ++called; });
    added = true;
  } catch (const std::bad_alloc&) {
  }
  const bool failed = std::exchange(CountedHeap::until_failure_here, 0) == 0;
  queue->Close();
  executor.RunAll();
  EXPECT_EQ(called, added ? 1 : 0);
  queue.reset();
  return failed;
}

// The same for each allocation.
void AddCallbacks(size_t partitions, bool closed) {
  int64_t failing = 1;
  while (AddACallback(partitions, closed, failing)) ++failing;
  EXPECT_GT(failing, 1);
}

TEST(SharedQueueOutOfMemoryTest, ACallback) { AddCallbacks(1, false); }

TEST(SharedQueueOutOfMemoryTest, ACallbackOfAClosedQueue) {
  AddCallbacks(1, true);
}

TEST(SharedQueueOutOfMemoryTest, ACallbackOfPartitions) {
  AddCallbacks(3, false);
}

TEST(SharedQueueOutOfMemoryTest, ACallbackOfClosedPartitions) {
  AddCallbacks(3, true);
}

// A queue in a store whose memory does not run out. It tells its clients
// something when the test says so.
class Store {
 public:
  std::unique_ptr<Engine> NewEngine() {
    const Spared spared(true);
    return std::make_unique<Client>(this, absl::StrCat(++last_client_));
  }

  // Hands out an item again, of which the store knows nothing.
  void Push(internal::HandedOut item) {
    told_.emplace_back("",
                       EngineMessage{EngineMessage::kPush, 0, std::move(item)});
  }

  void Deliver() {
    const Spared spared(true);
    while (!told_.empty()) {
      auto [client, message] = std::move(told_.front());
      told_.pop_front();
      for (const auto& [name, listener] : listeners_) {
        if (!client.empty() && client != name) continue;
        EngineMessage copy = message;
        const Spared fails(false);
        std::move(copy).Deliver(listener);
      }
    }
  }

 private:
  class Client final : public Engine {
   public:
    Client(Store* store, std::string name)
        : store_(*store), name_(std::move(name)) {}

    absl::StatusOr<EngineReply> Apply(const EngineRequest& request,
                                      absl::Time /*deadline*/) override {
      const Spared spared(true);
      internal::MutexLock lock(&store_.mu_);
      return *store_.queue_.Apply(request, *request.now, /*run=*/1,
                                  /*full=*/false);
    }
    absl::StatusOr<EngineSnapshot> TakeSnapshot(
        const EngineSnapshotRequest& request,
        absl::Time /*deadline*/) override {
      const Spared spared(true);
      internal::MutexLock lock(&store_.mu_);
      return store_.queue_.TakeSnapshot(request, *request.now);
    }
    absl::Status Listen(EngineListener* listener,
                        absl::Time /*deadline*/) override {
      const Spared spared(true);
      store_.listeners_[name_] = listener;
      listener->OnListening(name_);
      return absl::OkStatus();
    }
    void StopListening() override { store_.listeners_.erase(name_); }

   private:
    Store& store_;
    const std::string name_;
  };

  absl::Mutex mu_;  // of the next two
  internal::MemoryStore store_;
  internal::StoredQueue queue_{
      &store_, [this](const std::string& client, const EngineMessage& message) {
        told_.emplace_back(client, message);
        return client.empty() || listeners_.count(client) > 0;
      }};
  int last_client_ = 0;
  std::map<std::string, EngineListener*> listeners_;
  std::deque<std::pair<std::string, EngineMessage> > told_;
};

// So long that each copy of an item allocates memory.
std::string ItemOf(int number) {
  return absl::StrCat("an item that no string keeps within itself ", number);
}

// The part of a queue that a process has. It has no threads: the test does
// their work.
class Process {
 public:
  Process(FakeClock* clock, std::deque<Store>* stores, int prefetch)
      : clock_(*clock), stores_(*stores) {
    do {
      queue_ = Persist([&] { return NewQueue(prefetch); });
    } while (queue_ == nullptr);
  }
  ~Process() {
    const Spared spared(false);
    queue_->Close();
    queue_.reset();
  }

  ByteQueue& queue() { return *queue_; }

  // Does what the library's threads do.
  void Run() {
    for (Store& store : stores_) store.Deliver();
    const Spared spared(false);
    loop_->RunDue();
    while (executor_.RunOne()) {
    }
  }
  // Lets time pass, in which what has failed is tried again.
  void Wait() {
    for (int i = 0; i < 3; ++i) {
      Run();
      clock_.Step(absl::Milliseconds(500));
    }
    Run();
  }

  void Add(const std::string& item) {
    bool added = false;
    for (int i = 0; i < 20 && !added; ++i) {
      added = Persist([&] {
        return queue_->Apply({{EngineOperation::kAdd, item}}).ok();
      });
    }
    EXPECT_TRUE(added);
  }

  // Returns up to `max` items that there are.
  std::vector<HeldItem*> Take(size_t max) {
    std::vector<HeldItem*> items;
    for (int i = 0; i < 20 && items.empty(); ++i) {
      auto got = Persist(
          [&] { return queue_->Acquire(max, absl::ZeroDuration(), {}); });
      if (got.ok()) items = *std::move(got);
      Run();
    }
    return items;
  }

  // Returns whether the queue has heard of that.
  bool Done(HeldItem* held) {
    std::vector<EngineOperation> ends(1);
    const Spared spared(false);
    ends[0] = queue_->End(held, EngineOperation::kDone);
    return queue_->ApplyEnds(std::move(ends)).ok();
  }

  // Calls back with an item. Returns how often it has.
  void TakeAsync(std::vector<absl::StatusOr<HeldItem*> >* results) {
    Persist([&] {
      return queue_->AcquireAsync(&executor_,
                                  [results](absl::StatusOr<HeldItem*> item) {
                                    const Spared spared(true);
                                    results->push_back(std::move(item));
                                  });
    });
  }

 private:
  std::unique_ptr<ByteQueue> NewQueue(int prefetch) {
    PartitionedQueue::Partitions partitions;
    for (Store& store : stores_) {
      SharedQueueCore::Options options;
      options.name = "queue";
      options.loop = loop_;
      options.engine_uses_clock = true;
      options.prefetch = prefetch;
      auto core = std::make_unique<SharedQueueCore>(std::move(options),
                                                    store.NewEngine());
      if (!core->Start().ok()) return nullptr;
      partitions.push_back(std::move(core));
    }
    if (partitions.size() == 1) return std::move(partitions.front());
    return std::make_unique<PartitionedQueue>(std::move(partitions), loop_);
  }

  FakeClock& clock_;
  std::deque<Store>& stores_;
  std::shared_ptr<WaitingLoop> loop_ =
      std::make_shared<WaitingLoop>(&clock_, [] {});
  ManualExecutor executor_;
  std::unique_ptr<ByteQueue> queue_;
};

// A process uses a queue, and ends. The next one gets the items that are left.
void UseAQueue(size_t partitions, int prefetch) {
  ForEveryAllocation([&] {
    FakeClock clock;
    std::deque<Store> stores(partitions);
    std::set<std::string> left;
    std::set<std::string> repeated;  // whose end the queue may have heard
    std::vector<absl::StatusOr<HeldItem*> > results;
    const auto done = [&](Process& by, HeldItem* held) {
      const std::string item = held->item;
      EXPECT_EQ(left.erase(item) + repeated.erase(item), 1u);
      if (!by.Done(held)) repeated.insert(item);
    };
    {
      Process process(&clock, &stores, prefetch);
      for (int i = 0; i < 6; ++i) {
        left.insert(ItemOf(i));
        process.Add(ItemOf(i));
      }
      for (size_t max : {1, 2}) {
        const auto items = process.Take(max);
        EXPECT_FALSE(items.empty());
        for (HeldItem* held : items) done(process, held);
      }
      // A callback, and one that waits.
      for (int i = 0; i < 5; ++i) process.TakeAsync(&results);
      process.Wait();
      // Those that a worker has are renewed. Those for which there was no
      // memory come when their leases have expired.
      for (int i = 0; i < 40 && (i < 8 || results.size() < 2); ++i) {
        clock.Step(absl::Seconds(5));
        process.Wait();
      }
      EXPECT_GE(results.size(), 2u);
      for (const auto& item : results) {
        if (item.ok()) done(process, *item);
      }
      results.clear();
      // It takes what it does not end.
      process.TakeAsync(&results);
      left.insert(ItemOf(8));
      process.Add(ItemOf(8));
      {
        const Spared spared(false);
        process.queue().Close();
      }
      process.Wait();
      for (const auto& item : results) {
        if (item.ok()) done(process, *item);
      }
      process.Wait();
      EXPECT_TRUE(process.queue().AwaitNothingHeld(absl::ZeroDuration()));
    }
    Process next(&clock, &stores, prefetch);
    for (int i = 0; i < 20 && !left.empty(); ++i) {
      for (HeldItem* held : next.Take(9)) {
        done(next, held);
      }
      clock.Step(absl::Seconds(30));
    }
    EXPECT_THAT(left, testing::IsEmpty());
  });
}

TEST(SharedQueueOutOfMemoryTest, AQueue) { UseAQueue(1, 0); }

TEST(SharedQueueOutOfMemoryTest, AQueueThatTakesAhead) { UseAQueue(1, 16); }

TEST(SharedQueueOutOfMemoryTest, AQueueOfPartitions) { UseAQueue(3, 0); }

// An item comes again while a worker has it.
TEST(SharedQueueOutOfMemoryTest, AnItemThatIsHeldBack) {
  ForEveryAllocation([&] {
    FakeClock clock;
    std::deque<Store> stores(1);
    Process process(&clock, &stores, /*prefetch=*/0);
    process.Add(ItemOf(0));
    std::vector<HeldItem*> items = process.Take(1);
    for (int64_t i = 1; i <= 2 && !items.empty(); ++i) {
      stores[0].Push({ItemOf(0), items[0]->token + i, 0, 0});
      process.Run();
    }
    for (HeldItem* held : items) process.Done(held);
    stores[0].Push({ItemOf(0), 1000, 0, 0});
    process.Run();
    const auto again = Persist(
        [&] { return process.queue().Acquire(1, absl::ZeroDuration(), {}); });
    if (again.ok()) process.Done(again->front());
    process.queue().Close();
    process.Wait();
    EXPECT_TRUE(process.queue().AwaitNothingHeld(absl::ZeroDuration()));
  });
}

class Source final : public internal::EngineSource {
 public:
  bool UsesClocksOfQueues() const override { return true; }
  std::unique_ptr<Engine> NewEngine(const std::string& name, size_t,
                                    const std::string&) override {
    const Spared spared(true);
    return stores_[name].NewEngine();
  }

 private:
  std::map<std::string, Store> stores_;  // by partition
};

// Leases and what a `Get()` has returned end without memory, too.
void EndWhatIsTaken(int partitions) {
  ForEveryAllocation([&] {
    SparedClock clock;
    Source source;
    const auto queue = PersistUntilOk([&] {
      SharedQueueOptions<std::string> options;
      options.name = "pods";
      options.clock = &clock;
      options.engine = &source;
      options.partitions = partitions;
      return SharedQueue<std::string>::Create(std::move(options));
    });
    const std::vector<std::string> items = {ItemOf(0), ItemOf(1), ItemOf(2),
                                            ItemOf(3)};
    while (!Persist([&] { return queue->AddItems({}, items); }).ok()) {
    }
    absl::StatusOr<std::string> item = Persist([&] { return queue->TryGet(); });
    if (item.ok()) Persist([&] { return queue->Done(*item); });
    {
      const Spared spared(false);
      Lease<std::string> lease;
      for (int i = 0; i < 2; ++i) {
        internal::TryCall([&] {
          queue->AcquireInto(&lease, absl::ZeroDuration()).IgnoreError();
        });
      }
      lease.Done();
      internal::TryCall([&] {
        queue->AcquireUpToWithTimeout(4, absl::ZeroDuration()).IgnoreError();
      });
    }
    queue->Close();
    for (int i = 0; i < 5; ++i) clock.Step(absl::Milliseconds(500));
    EXPECT_TRUE(queue->CloseWithDrainWithin(absl::ZeroDuration()));
  });
}

TEST(SharedQueueOutOfMemoryTest, Ends) { EndWhatIsTaken(1); }

TEST(SharedQueueOutOfMemoryTest, EndsInPartitions) { EndWhatIsTaken(2); }

#endif  // ABSL_HAVE_EXCEPTIONS

}  // namespace
}  // namespace workqueue
