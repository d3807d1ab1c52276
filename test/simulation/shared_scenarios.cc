// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// A shared queue in memory: several clients, with workers of each kind, and an
// engine that fails.

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "test/simulation/scenario.h"
#include "workqueue/shared/shared_queue.h"
#include "workqueue/shared/testing/memory_engine.h"
#include "workqueue/thread_pool.h"

namespace workqueue {
namespace {

using simulation::AtRest;
using simulation::Check;
using simulation::Choose;
using Key = std::string;

bool OneIn(int count) { return Choose(count) == count - 1; }

class SharedLife {
 public:
  explicit SharedLife(bool with_faults) : with_faults_(with_faults) {}

  void Live() {
    for (int i = 1 + Choose(3); i > 0; --i) {
      keys_.push_back(std::string(1, static_cast<char>('a' + i)));
    }
    const int clients = 1 + Choose(3);
    for (int i = 0; i < clients; ++i) {
      SharedQueueOptions<Key> options;
      options.name = "simulated";
      options.client_name = absl::StrCat("client", i);
      options.engine = &engine_;
      options.lease = kLease;
      queues_.push_back(*SharedQueue<Key>::Create(std::move(options)));
    }
    ThreadPoolOptions pool;
    pool.threads = 1 + Choose(2);
    executor_ = *ThreadPool::Create(pool);
    {
      Threads workers;
      {
        Threads others;
        for (int i = 1 + Choose(3); i > 0; --i) {
          SharedQueue<Key>* const queue = AnyQueue();
          const int kind = Choose(4);
          workers.Start([this, queue, kind] { Work(queue, kind); });
        }
        for (int i = Choose(3); i > 0; --i) Await(AnyQueue());
        for (int i = 1 + Choose(2); i > 0; --i) {
          others.Start([this] {
            for (int n = 1 + Choose(3); n > 0; --n) AddSome();
          });
        }
        if (with_faults_) {
          others.Start([this] {
            for (int n = 1 + Choose(3); n > 0; --n) Break();
          });
        }
      }
      for (int n = Choose(3); n > 0; --n) {
        // A thread waits a moment for others before it sends a request.
        bool good = false;
        for (int looks = 0; looks < 5 && !good; ++looks) {
          simulation::Sleep(absl::Milliseconds(7));
          AtRest([&] { good = IsAtRest(); });
        }
        Check(good, "a worker waits while an item is queued");
        AddSome();
      }
      engine_.SetFaults({});
      Settle();
      AtRest([this] { ending_ = true; });
      const bool drained =
          AnyQueue()->ShutDownWithDrainWithin(absl::Minutes(5));
      Check(drained || with_faults_, "a drain fails");
      for (auto& queue : queues_) queue->ShutDown();
      if (with_faults_) {
        for (auto& queue : queues_) queue->Close();
      }
    }
    queues_.clear();
    executor_.reset();
    Check(calls_ == 0, "a callback is lost");
  }

 private:
  static constexpr absl::Duration kLease = absl::Seconds(30);

  SharedQueue<Key>* AnyQueue() {
    return queues_[Choose(static_cast<int>(queues_.size()))].get();
  }
  const Key& AnyKey() { return keys_[Choose(static_cast<int>(keys_.size()))]; }

  void AddSome() {
    SharedQueue<Key>* const queue = AnyQueue();
    const Key key = AnyKey();
    const int64_t begin = simulation::NextEvent();
    bool added;
    if (OneIn(4)) {
      added = queue->AddAfter(key, absl::Seconds(1 + Choose(3)));
    } else {
      added = queue->Add(key);
    }
    Check(added || with_faults_, "an open queue refuses an item");
    if (added) added_[key] = (std::max)(added_[key], begin);
  }

  void NoteHandOut(const Key& key) {
    const int holders = ++holders_[key];
    simulation::Log("gets " + key);
    // Later, time may have passed so fast that no lease was renewed.
    if (simulation::Now() > kLease / 3) expired_ = true;
    Check(holders == 1 || with_faults_ || expired_, "two workers have an item");
    handed_out_[key] = simulation::NextEvent();
  }

  void Process(Lease<Key>* lease) {
    const Key key = **lease;
    NoteHandOut(key);
    if (OneIn(4)) {
      AddSome();
    } else if (OneIn(3)) {
      simulation::Sleep(absl::Seconds(1 + 40 * Choose(2)));
    }
    // A renewal may have come too late, if time has passed too fast.
    if (lease->lost()) expired_ = true;
    simulation::Log("ends " + key);
    --holders_[key];
  }

  void Work(SharedQueue<Key>* queue, int kind) {
    Lease<Key> lease;
    while (true) {
      absl::Status status;
      ++waiting_;
      if (kind == 3) {
        absl::StatusOr<Key> key = queue->GetWithTimeout(absl::Seconds(5));
        --waiting_;
        status = key.status();
        if (key.ok()) {
          NoteHandOut(*key);
          if (OneIn(4)) simulation::Sleep(absl::Seconds(1));
          simulation::Log("ends " + *key);
          --holders_[*key];
          queue->Done(*key);
        }
      } else {
        status = queue->AcquireInto(
            &lease, kind == 0 ? absl::InfiniteDuration() : absl::Seconds(5));
        --waiting_;
        if (status.ok()) {
          Process(&lease);
          if (OneIn(8) && !ending_) {
            lease.GiveBack();
          } else if (OneIn(2)) {
            lease.Done();
          }
        }
      }
      if (absl::IsCancelled(status)) return;
      Check(status.ok() || with_faults_ || absl::IsDeadlineExceeded(status),
            "a get fails");
    }
  }

  void Await(SharedQueue<Key>* queue) {
    ++calls_;
    queue->AcquireAsync(executor_.get(),
                        [this](absl::StatusOr<Lease<Key>> lease) {
                          --calls_;
                          if (lease.ok()) Process(&*lease);
                        });
  }

  void Break() {
    MemoryEngine::Faults faults;
    switch (Choose(5)) {
      case 0:
        faults.seed = 1 + Choose(100);
        break;
      case 1:
        faults.away = true;
        break;
      case 2:
        engine_.Restart();
        return;
      case 3:
        faults.loses_answers = true;
        break;
      default:
        faults.request_delay = absl::Milliseconds(100 * Choose(3));
        faults.answer_delay = absl::Milliseconds(100 * Choose(3));
        break;
    }
    engine_.SetFaults(faults, OneIn(2) ? "client0" : "");
    simulation::Sleep(absl::Seconds(Choose(3)));
    engine_.SetFaults({});
  }

  bool IsAtRest() {
    if (with_faults_ || expired_) return true;
    const auto snapshot = AnyQueue()->TakeSnapshot();
    Check(snapshot.ok(), "a snapshot fails");
    int held = 0;
    for (const auto& [key, holders] : holders_) held += holders;
    return snapshot->num_queued == 0 || waiting_ == 0 || held > 0;
  }

  // Waits until all has been processed.
  void Settle() {
    for (int n = 0; n < 60; ++n) {
      simulation::Sleep(absl::Seconds(10));
      bool settled = true;
      AtRest([&] {
        const auto snapshot = AnyQueue()->TakeSnapshot();
        settled = snapshot.ok() && snapshot->num_queued == 0 &&
                  snapshot->num_processing == 0 && snapshot->num_waiting == 0;
        for (const auto& [key, holders] : holders_) {
          settled = settled && holders == 0;
        }
        if (!settled) return;
        for (const auto& [key, event] : added_) {
          Check(handed_out_[key] > event, "an item is lost");
        }
      });
      if (settled) return;
    }
    simulation::Fail("an item stays in the queue");
  }

  const bool with_faults_;
  MemoryEngine engine_{nullptr};
  std::vector<Key> keys_;
  std::unique_ptr<Executor> executor_;
  std::vector<std::unique_ptr<SharedQueue<Key>>> queues_;
  std::map<Key, int64_t> added_;       // the last begin of an add
  std::map<Key, int64_t> handed_out_;  // the last time
  std::map<Key, int> holders_;
  int waiting_ = 0;
  int calls_ = 0;
  bool expired_ = false;
  bool ending_ = false;
};

const AddScenario shared("shared_queue", "clients of a SharedQueue",
                         [] { SharedLife(false).Live(); });
const AddScenario broken("shared_queue_faults",
                         "the same, with an engine that fails",
                         [] { SharedLife(true).Live(); });

}  // namespace
}  // namespace workqueue
