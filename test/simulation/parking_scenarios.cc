// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Items of a shared queue that fail until they are parked, and are put back.
//
// At each rest, an item that is parked is listed as such, and is not handed out
// before somebody puts it back; an item that has failed below the limit, or was
// put back, is handed out. At the end, nothing is left.

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "test/simulation/scenario.h"
#include "workqueue/failures.h"
#include "workqueue/lease.h"
#include "workqueue/shared/shared_queue.h"
#include "workqueue/shared/testing/memory_engine.h"
#include "workqueue/snapshot.h"

namespace workqueue {
namespace {

using simulation::AtRest;
using simulation::Check;
using simulation::Choose;
using simulation::NextEvent;
using Key = std::string;

class ParkingLife {
 public:
  ParkingLife() {
    limits_.max_failures = 1 + Choose(3);
    limits_.unpark_on_add = Choose(2) == 0;
    if (OneIn(2)) limits_.max_parked = 1;
    Note("parked at ", *limits_.max_failures, " of ", limits_.max_parked,
         limits_.unpark_on_add ? " until an add" : "");
  }

  void Live() {
    for (int i = 1 + Choose(2); i > 0; --i) {
      SharedQueueOptions<Key> options;
      options.name = "q";
      options.engine = &engine_;
      options.client_name = absl::StrCat("c", i);
      options.lease = absl::InfiniteDuration();
      queues_.push_back(*SharedQueue<Key>::Create(std::move(options)));
    }
    Threads workers;
    {
      Threads others;
      for (int i = 1 + Choose(3); i > 0; --i) {
        SharedQueue<Key>& queue = AnyQueue();
        workers.Start([this, &queue] { Work(queue); });
      }
      for (int i = 1 + Choose(2); i > 0; --i) {
        SharedQueue<Key>& queue = AnyQueue();
        others.Start([this, &queue] {
          for (int n = 1 + Choose(3); n > 0; --n) Add(queue, AnyKey());
        });
      }
      for (int i = Choose(3); i > 0; --i) {
        SharedQueue<Key>& queue = AnyQueue();
        others.Start([this, &queue] { PutBack(queue); });
      }
    }
    for (int n = Choose(4); n > 0; --n) {
      AwaitRest();
      if (OneIn(2)) PutBack(AnyQueue());
      if (OneIn(2)) Add(AnyQueue(), AnyKey());
    }
    AwaitRest();
    ending_ = true;
    SharedQueue<Key>& queue = *queues_.front();
    for (int tries = 100;; --tries) {
      Check(tries > 0, "an item is left");
      for (auto& [key, item] : items_) ++item.putting_back;
      queue.UnparkAll().IgnoreError();
      const absl::StatusOr<SharedQueueCounts> left = queue.Count();
      if (left.ok() &&
          left->queued + left->processing + left->waiting + left->parked == 0) {
        break;
      }
      // An item that has failed often waits for minutes.
      const bool waits = left.ok() && left->waiting > 0;
      simulation::Sleep(waits ? absl::Minutes(1) : absl::Milliseconds(100));
    }
    for (const auto& [key, item] : items_) {
      Check(item.begun > item.owed, "an item is lost");
    }
    for (const auto& it : queues_) it->Close();
  }

 private:
  struct Item {
    bool running = false;
    int64_t begun = -1;       // the event of the last begin
    int64_t ended = -1;       // and of the begin of the last end
    int64_t owed = -2;        // It must begin after this event.
    int64_t parked = -1;      // What puts it back comes after this event.
    int64_t parked_end = -1;  // the end of the failure that has parked it
    int64_t put_back = -1;    // the end of the last call that may put it back
    int putting_back = 0;     // such calls
    // Waits for its retry. An add lets it begin before that.
    bool waits = false;
    bool added = false;  // An add has come since the last begin, or during it.
    int adding = 0;      // adds in progress
  };

  SharedQueue<Key>& AnyQueue() {
    return *queues_[Choose(static_cast<int>(queues_.size()))];
  }
  Key AnyKey() { return OneIn(2) ? "b" : "a"; }

  // Whether it is parked, and neither has anybody tried to put it back, nor can
  // the end of a wait.
  static bool StaysParked(const Item& item) {
    return item.parked > item.put_back && item.putting_back == 0 && !item.waits;
  }

  void Work(SharedQueue<Key>& queue) {
    Lease<Key> lease;
    while (true) {
      ++waiting_;
      const absl::Status status =
          queue.AcquireInto(&lease, absl::InfiniteDuration());
      --waiting_;
      if (absl::IsCancelled(status)) return;
      if (!status.ok()) continue;
      Item& item = items_[*lease];
      Check(!item.running, "two workers have an item");
      Check(!StaysParked(item), "an item comes that is parked");
      item.running = true;
      item.parked = -1;
      if (!item.added) item.waits = false;
      item.added = item.adding > 0 || item.putting_back > 0;
      item.begun = NextEvent();
      Note("begin ", *lease, " at ", item.begun);
      if (OneIn(4)) simulation::Sleep(absl::Milliseconds(300));
      if (OneIn(4)) Add(queue, *lease);
      if (ending_ || Choose(3) == 0) {
        queue.Forget(*lease);
        item.running = false;
        item.ended = NextEvent();
        Check(lease.Done(), "a lease is lost");
      } else {
        Fail(queue, item, &lease);
      }
    }
  }

  void Fail(SharedQueue<Key>& queue, Item& item, Lease<Key>* lease) {
    const int before = queue.FailuresBefore(*lease);
    const Key key = **lease;
    const int64_t begin = NextEvent();
    // The engine has handed the item out after that.
    const int64_t since = std::exchange(item.ended, begin);
    item.running = false;
    absl::StatusOr<SharedFailures<Key>::Outcome> outcome;
    do {
      outcome = queue.Fail(lease, absl::InternalError("fails"), limits_, {});
    } while (!outcome.ok());
    Note(key, " fails at ", begin, outcome->parked ? " for ever" : "");
    Check(!outcome->lost, "a lease is lost");
    Check(outcome->failures == before + 1, "a failure is counted wrongly");
    const bool at_limit = outcome->failures >= *limits_.max_failures;
    if (!outcome->parked) {
      Check(!at_limit || limits_.max_parked == 1, "an item is not parked");
      item.owed = (std::max)(item.owed, begin);
      item.waits = true;
      return;
    }
    Check(at_limit, "an item is parked before the limit");
    // It may have been put back and begun meanwhile. An add during the
    // processing may put it back.
    if (item.begun < begin) {
      item.parked = limits_.unpark_on_add ? since : begin;
    }
    item.parked_end = NextEvent();
    // An add before that is not kept.
    if (!limits_.unpark_on_add) item.owed = -2;
  }

  void Add(SharedQueue<Key>& queue, const Key& key) {
    Item& item = items_[key];
    const int64_t begin = NextEvent();
    item.added = true;
    ++item.adding;
    item.putting_back += limits_.unpark_on_add;
    const bool added = queue.Add(key);
    item.putting_back -= limits_.unpark_on_add;
    --item.adding;
    Note("add ", key, " at ", begin);
    if (limits_.unpark_on_add) {
      item.put_back = NextEvent();
    } else if (item.parked >= 0 || item.parked_end > begin) {
      return;
    }
    if (added) item.owed = (std::max)(item.owed, begin);
  }

  void PutBack(SharedQueue<Key>& queue) {
    const bool all = OneIn(2);
    const Key key = AnyKey();
    const int64_t begin = NextEvent();
    for (const Key& it : {Key("a"), Key("b")}) {
      if (!all && it != key) continue;
      ++items_[it].putting_back;
      items_[it].added = true;
    }
    if (all) {
      queue.UnparkAll().IgnoreError();
    } else {
      const absl::StatusOr<bool> unparked = queue.Unpark(key);
      if (unparked.ok() && *unparked) {
        items_[key].owed = (std::max)(items_[key].owed, begin);
      }
    }
    Note("put back ", all ? "all" : key, " since ", begin);
    for (const Key& it : {Key("a"), Key("b")}) {
      if (!all && it != key) continue;
      --items_[it].putting_back;
      items_[it].put_back = NextEvent();
    }
  }

  // Failures wait, and requests are collected.
  void AwaitRest() {
    for (int tries = 100;; simulation::Sleep(absl::Milliseconds(50))) {
      std::string error;
      AtRest([&] { error = RestError(); });
      if (error.empty()) return;
      Check(--tries > 0, error);
    }
  }

  std::string RestError() {
    const absl::StatusOr<Snapshot<Key>> snapshot =
        queues_.front()->TakeSnapshot();
    const absl::StatusOr<std::vector<FailedItem<Key>>> parked =
        queues_.front()->Parked(10);
    if (!snapshot.ok() || !parked.ok()) return "a snapshot fails";
    if (snapshot->num_queued > 0 && waiting_ > 0) {
      return "a worker waits while an item is queued";
    }
    if (parked->size() > limits_.max_parked) return "too many are parked";
    std::set<Key> queued, there, listed;
    for (const auto& it : *parked) listed.insert(it.item);
    for (const auto& it : snapshot->queued) queued.insert(it.item);
    there = queued;
    for (const auto& it : snapshot->waiting) there.insert(it.item);
    for (const auto& it : snapshot->processing) there.insert(it.item);
    for (const auto& [key, item] : items_) {
      if (queued.count(key) + listed.count(key) > 1) {
        return "a parked item is queued";
      }
      if (StaysParked(item) && listed.count(key) == 0) {
        return absl::StrCat("a parked item is lost: ", key);
      }
      if (item.begun < item.owed && there.count(key) == 0) {
        return absl::StrCat("an item is lost: ", key);
      }
    }
    return "";
  }

  FailureLedgerOptions limits_;
  MemoryEngine engine_{nullptr};
  std::vector<std::unique_ptr<SharedQueue<Key>>> queues_;
  std::map<Key, Item> items_;
  int waiting_ = 0;  // workers, for an item
  bool ending_ = false;
};

const AddScenario parking("parking", "items of a SharedQueue that are parked",
                          [] { ParkingLife().Live(); });

}  // namespace
}  // namespace workqueue
