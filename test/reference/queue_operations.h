// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_TEST_REFERENCE_QUEUE_OPERATIONS_H_
#define WORKQUEUE_TEST_REFERENCE_QUEUE_OPERATIONS_H_

#include <algorithm>
#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "test/reference/callback_model.h"
#include "test/reference/choices.h"
#include "test/reference/comparison.h"
#include "test/reference/queue_model.h"
#include "workqueue/clock/fake_clock.h"
#include "workqueue/interfaces.h"
#include "workqueue/lease.h"
#include "workqueue/lease_batch.h"
#include "workqueue/snapshot.h"
#include "workqueue/testing/manual_executor.h"

namespace reference {

// The result of a get that does not block. It has an item if the status is OK.
struct Got {
  bool operator==(const Got& other) const {
    return code == other.code && item == other.item &&
           priority == other.priority && is_retry == other.is_retry;
  }

  absl::StatusCode code;
  int item = -1;
  int priority = 0;
  bool is_retry = false;
};

inline std::string ToText(const Got& got) {
  if (got.code != absl::StatusCode::kOk) return ToText(got.code);
  std::string text = ToText(got.item);
  if (got.priority != 0) absl::StrAppend(&text, " at ", got.priority);
  if (got.is_retry) absl::StrAppend(&text, ", a retry");
  return text;
}

// QueueOperations
//
// This class performs the operations of `Interface` on a queue and on its
// model.
template <typename Model>
class QueueOperations {
 public:
  // All arguments must outlive this object, which may hold leases.
  QueueOperations(workqueue::Interface<int>* queue, Model* model,
                  workqueue::FakeClock* clock, Comparison* comparison)
      : queue_(*queue),
        model_(*model),
        clock_(*clock),
        comparison_(*comparison) {}

  ~QueueOperations() {
    queue_.ShutDown();
    executor_.RunAll();  // The destructor of the queue waits for callbacks.
  }

  // Leaves out what a queue with items elsewhere does in another way: the
  // operations of callbacks, and `Close()`.
  void SetShared() { shared_ = true; }

  // Performs an operation on some of `items` items. Makes at most three
  // choices.
  void DoOne(Choices& choices, int items) {
    const int choice = choices.Below(100);
    const int item = choices.Below(items);
    if (choice < 34) {
      comparison_.Returned(queue_.Add(item), model_.Add(item), "Add", item);
    } else if (choice < 38) {
      AddAll(item, choices.Below(40), items);
    } else if (choice < 58) {
      Done(item);
    } else if (choice < 64) {
      EndLease(choices);
    } else if (choice < 68) {
      EndBatch(choices);
    } else if (choice < 76) {
      const absl::StatusOr<int> got = queue_.TryGet();
      comparison_.Returned(ToGot(got), GetFromModel(), "TryGet");
    } else if (choice < 82) {
      Get();
    } else if (choice < 84) {
      const absl::StatusOr<int> got =
          queue_.GetWithTimeout(absl::ZeroDuration());
      comparison_.Returned(ToGot(got), GetFromModel(), "GetWithTimeout",
                           clock_.TimeNow());
    } else if (choice < 88) {
      Acquire();
    } else if (choice < 92) {
      AcquireNext(choices);
    } else if (choice < 95) {
      AcquireUpTo(1 + choices.Below(10));
    } else if (choice < 99) {
      const int what = choices.Below(256);
      what < 64 ? CompareSnapshots() : UseCallbacks(what, item);
    } else {
      const int way = choices.Below(32);
      way < 3 ? ShutDown(way) : UseCallbacks(way, item);
    }
  }

  // Compares the state that is cheap to observe.
  void Compare() {
    callbacks_.Submit(NumReady(), Ends());
    comparison_.Same("the number of submitted callbacks", executor_.size(),
                     callbacks_.submitted());
    comparison_.Same("Len()", queue_.Len(), model_.Len());
    comparison_.Same("ShuttingDown()", queue_.ShuttingDown(),
                     model_.ShuttingDown());
  }

  // Compares everything in the queue.
  void CompareSnapshots() {
    const workqueue::Snapshot<int> got = *queue_.TakeSnapshot();
    CompareParts(got);
    const workqueue::Snapshot<int> expected = model_.TakeSnapshot();
    comparison_.Did("TakeSnapshot");
    comparison_.Same("when the snapshot was taken", got.taken_at,
                     clock_.TimeNow());
    comparison_.Same("whether the queue is shutting down", got.shutting_down,
                     expected.shutting_down);
    comparison_.Same("what is queued, with its priority and failures,",
                     SortHeldBack(Queued(got)), SortHeldBack(Queued(expected)));
    comparison_.Same("what is processed, whether again, and its failures,",
                     Processing(got), Processing(expected));
    comparison_.Same("what waits, with its priority and failures,",
                     Waiting(got), Waiting(expected));
    const bool sorted = std::is_sorted(
        got.waiting.begin(), got.waiting.end(),
        [](const auto& a, const auto& b) { return a.ready_at < b.ready_at; });
    comparison_.Holds(sorted, "what waits is in the order of time");
  }

  // Compares a snapshot of a few items, and one of one item, with `all`, the
  // snapshot of all.
  void CompareParts(const workqueue::Snapshot<int>& all) {
    const size_t max = all.queued.size() / 2;
    const workqueue::Snapshot<int> some = *queue_.TakeSnapshotUpTo(max);
    comparison_.Same(
        "the numbers of a bounded snapshot", Numbers(some),
        std::vector<size_t>{all.queued.size(), all.processing.size(),
                            all.waiting.size()});
    comparison_.Same("the first that are queued", Queued(some),
                     First(Queued(all), max));
    comparison_.Same("the first that are processed", Processing(some),
                     First(Processing(all), max));
    comparison_.Same("the times of the first that wait", Times(some),
                     First(Times(all), max));
    if (all.queued.empty()) return;
    // The middle one is looked up.
    const workqueue::Snapshot<int> one =
        *queue_.TakeSnapshotOf(all.queued[max].item);
    comparison_.Same("the numbers of a snapshot of one item", Numbers(one),
                     Numbers(some));
    comparison_.Same("the one that is queued", Queued(one),
                     decltype(Queued(one)){Queued(all)[max]});
    comparison_.Same("whether it is processed", one.processing.size(),
                     size_t{0});
  }

  // Checks that everything in the queue at the end comes out correctly.
  void Finish() {
    if (comparison_.agrees()) CompareSnapshots();
    if (!comparison_.agrees()) return;
    queue_.ShutDown();
    model_.ShutDown();
    comparison_.Did("ShutDown");
    Compare();
    while (comparison_.agrees() && executor_.size() > 0) {
      RunCallback();
      Compare();
    }
    while (comparison_.agrees() && model_.Len() > 0) {
      if (model_.HasNext()) {
        Get();
      } else {
        EndAll();
      }
      Compare();
    }
  }

  // Returns whether a blocking get would block. Such a get is then not
  // performed.
  bool GetsBlock() const { return !model_.HasNext() && !Ends(); }

 private:
  // Returns whether no get waits, because the queue is shut down and holds
  // nothing back.
  bool Ends() const {
    return model_.ShuttingDown() && (model_.HasNext() || model_.Len() == 0);
  }

  using Lease = workqueue::Lease<int>;
  using LeaseBatch = workqueue::LeaseBatch<int>;

  static Got ToGot(const absl::StatusOr<int>& item) {
    return item.ok() ? Got{absl::StatusCode::kOk, *item}
                     : Got{item.status().code()};
  }

  static Got ToGot(const Lease& lease) {
    return {absl::StatusCode::kOk, *lease, lease.priority(), lease.is_retry()};
  }

  // Returns the item that the model hands out, with what a lease tells of it if
  // `leased` is true.
  Got GetFromModel(bool leased = false) {
    const std::optional<HandedOut> got = model_.Get();
    if (!got.has_value()) {
      return {Ends() ? absl::StatusCode::kCancelled
                     : absl::StatusCode::kDeadlineExceeded};
    }
    if (!leased) return {absl::StatusCode::kOk, got->item};
    return {absl::StatusCode::kOk, got->item, got->priority, got->is_retry};
  }

  static std::vector<size_t> Numbers(const workqueue::Snapshot<int>& snapshot) {
    return {snapshot.num_queued, snapshot.num_processing, snapshot.num_waiting};
  }

  static std::vector<absl::Time> Times(
      const workqueue::Snapshot<int>& snapshot) {
    std::vector<absl::Time> times;
    for (const auto& it : snapshot.waiting) times.push_back(it.ready_at);
    return times;
  }

  template <typename T>
  static std::vector<T> First(std::vector<T> list, size_t max) {
    if (list.size() > max) list.resize(max);
    return list;
  }

  static auto Queued(const workqueue::Snapshot<int>& snapshot) {
    std::vector<std::tuple<int, int, int>> queued;
    for (const auto& it : snapshot.queued) {
      queued.emplace_back(it.item, it.priority, it.failures);
    }
    return queued;
  }

  static auto Processing(const workqueue::Snapshot<int>& snapshot) {
    std::vector<std::tuple<int, bool, int>> processing;
    for (const auto& it : snapshot.processing) {
      processing.emplace_back(it.item, it.added_again, it.failures);
    }
    return processing;
  }

  // Sorts the items that are held back, which come last in no particular order.
  template <typename T>
  std::vector<T> SortHeldBack(std::vector<T> queued) const {
    std::sort(queued.begin() + std::min(queued.size(), model_.NumInOrder()),
              queued.end());
    return queued;
  }

  // Returns the waiting items in a fixed order. Without this, items that wait
  // for the same time could be in any order.
  static auto Waiting(const workqueue::Snapshot<int>& snapshot) {
    std::vector<std::tuple<absl::Time, int, int, int>> waiting;
    for (const auto& it : snapshot.waiting) {
      waiting.emplace_back(it.ready_at, it.item, it.priority, it.failures);
    }
    std::sort(waiting.begin(), waiting.end());
    return waiting;
  }

  void AddAll(int first, int n, int items) {
    std::vector<int> added;
    bool taken = true;
    for (int i = 0; i < n; ++i) {
      added.push_back((first + i) % items);
      taken &= model_.Add(added.back());
    }
    comparison_.Returned(queue_.AddAll(added), taken, "AddAll", added);
  }

  void Done(int item) {
    const bool expected = leased_.count(item) == 0 && model_.Done(item);
    comparison_.Returned(queue_.Done(item), expected, "Done", item);
  }

  // Returns the number of queued items, or zero if all are held back.
  size_t NumReady() const { return model_.HasNext() ? model_.Len() : 0; }

  void Get() {
    if (GetsBlock()) return;
    const std::optional<int> got = queue_.Get();
    const std::optional<HandedOut> expected = model_.Get();
    comparison_.Returned(got.value_or(-1), expected ? expected->item : -1,
                         "Get");
  }

  void Acquire() {
    absl::StatusOr<Lease> lease = queue_.TryAcquire();
    const Got got = lease.ok() ? ToGot(*lease) : Got{lease.status().code()};
    comparison_.Returned(got, GetFromModel(/*leased=*/true), "TryAcquire");
    if (!lease.ok()) return;
    leased_.insert(**lease);
    leases_.push_back(*std::move(lease));
  }

  // Applies to the model that the next call ends `lease`.
  void EndInModel(const Lease& lease, bool give_back = false) {
    leased_.erase(*lease);
    if (give_back) {
      model_.GiveBack(*lease);
    } else {
      model_.Done(*lease);
    }
  }

  void EndLease(Choices& choices) {
    if (leases_.empty()) return;
    const int choice = choices.Below(256);
    const bool give_back = choice % 4 == 0;
    const auto lease = leases_.begin() + choice / 4 % leases_.size();
    comparison_.Did(give_back ? "lease.GiveBack" : "lease.Done", **lease);
    EndInModel(*lease, give_back);
    if (give_back) lease->GiveBack();
    leases_.erase(lease);
  }

  void End(Lease& lease) {
    comparison_.Did("lease.Done", *lease);
    EndInModel(lease);
    lease.Done();
  }

  // Ends the processing of all items.
  void EndAll() {
    for (Lease& lease : leases_) End(lease);
    leases_.clear();
    for (LeaseBatch& batch : batches_) {
      for (Lease& lease : batch) {
        if (lease) End(lease);
      }
    }
    batches_.clear();
    for (const auto& processed : model_.TakeSnapshot().processing) {
      Done(processed.item);
    }
  }

  void AcquireNext(Choices& choices) {
    if (leases_.empty()) leases_.emplace_back();
    const auto lease = leases_.begin() + choices.Below(256) % leases_.size();
    const int before = *lease ? **lease : -1;
    if (*lease) EndInModel(*lease);
    if (GetsBlock()) {
      leases_.erase(lease);
      comparison_.Did("lease.Done", before);
      return;
    }
    const absl::Status acquired = queue_.AcquireNext(&*lease);
    const Got got = acquired.ok() ? ToGot(*lease) : Got{acquired.code()};
    comparison_.Returned(got, GetFromModel(/*leased=*/true), "AcquireNext",
                         before);
    if (acquired.ok()) {
      leased_.insert(**lease);
    } else {
      leases_.erase(lease);
    }
  }

  void AcquireUpTo(int max) {
    absl::StatusOr<LeaseBatch> batch =
        queue_.AcquireUpToWithTimeout(max, absl::ZeroDuration());
    std::vector<Got> got;
    std::vector<Got> expected;
    if (batch.ok()) {
      for (const Lease& lease : *batch) {
        leased_.insert(*lease);
        got.push_back(ToGot(lease));
      }
    } else {
      got.push_back({batch.status().code()});
    }
    expected.push_back(GetFromModel(/*leased=*/true));
    while (static_cast<int>(expected.size()) < max && model_.HasNext()) {
      expected.push_back(GetFromModel(/*leased=*/true));
    }
    comparison_.Returned(got, expected, "AcquireUpTo", max);
    if (batch.ok()) batches_.push_back(*std::move(batch));
  }

  // Performs an operation of callbacks.
  void UseCallbacks(int what, int index) {
    if (shared_) return;
    switch (what % 8) {
      case 0:
      case 1:
      case 2:
        ids_.push_back(queue_.AcquireAsync(&executor_, NewCallback()));
        comparison_.Did("AcquireAsync", ids_.size() - 1);
        break;
      case 3:
        AcquireNextAsync(index);
        break;
      case 4:
        CancelAcquire(index);
        break;
      default:
        RunCallback();
    }
  }

  // Returns a callback that records its number and what it gets.
  workqueue::AcquireCallback<int> NewCallback() {
    return [this, callback = callbacks_.Add()](absl::StatusOr<Lease> lease) {
      called_ = callback;
      called_with_ = lease.ok() ? ToGot(*lease) : Got{lease.status().code()};
      if (!lease.ok()) return;
      leased_.insert(**lease);
      leases_.push_back(*std::move(lease));
    };
  }

  void AcquireNextAsync(int index) {
    Lease lease;
    if (!leases_.empty()) {
      const auto it = leases_.begin() + index % leases_.size();
      lease = std::move(*it);
      leases_.erase(it);
    }
    const int before = lease ? *lease : -1;
    if (lease) EndInModel(lease);
    ids_.push_back(queue_.AcquireNextAsync(&lease, &executor_, NewCallback()));
    comparison_.Did("AcquireNextAsync", before, ids_.size() - 1);
    comparison_.Holds(!lease, "the lease has ended");
  }

  // Cancels a callback, `index` callbacks before the last one if possible.
  void CancelAcquire(int index) {
    if (ids_.empty()) return;
    const int callback =
        static_cast<int>(ids_.size() - 1 - index % ids_.size());
    comparison_.Returned(queue_.CancelAcquire(ids_[callback]),
                         callbacks_.Cancel(callback), "CancelAcquire",
                         callback);
  }

  // Runs the first task of the executor, if there is one.
  void RunCallback() {
    if (executor_.size() == 0) return;
    const std::optional<int> expected = callbacks_.Run(NumReady(), Ends());
    Got expected_with{absl::StatusCode::kOk};
    if (expected.has_value()) {
      expected_with = GetFromModel(/*leased=*/true);
    }
    called_ = std::nullopt;
    called_with_ = {absl::StatusCode::kOk};
    executor_.RunOne();
    comparison_.Returned(called_, expected, "RunCallback");
    comparison_.Returned(called_with_, expected_with, "RunCallback");
  }

  // Ends all leases of a batch at once, or one of them before the others.
  void EndBatch(Choices& choices) {
    if (batches_.empty()) return;
    const int choice = choices.Below(256);
    const bool give_back = choice % 8 < 2;
    const bool all = choice % 2 == 0;
    const auto batch = batches_.begin() + choice / 8 % batches_.size();
    std::vector<Lease*> leases;
    for (Lease& lease : *batch) {
      if (lease) leases.push_back(&lease);
    }
    // The items of a batch keep their order, so the last one goes first.
    if (give_back) std::reverse(leases.begin(), leases.end());
    if (!all && leases.size() > 1) leases.resize(1);
    std::vector<int> ended;
    for (Lease* lease : leases) {
      ended.push_back(**lease);
      EndInModel(*lease, give_back);
    }
    if (!all) {
      for (Lease* lease : leases) {
        if (give_back) lease->GiveBack();
        lease->Done();
      }
      comparison_.Did(give_back ? "batch[].GiveBack" : "batch[].Done", ended);
      return;
    }
    if (give_back) batch->GiveBack();
    comparison_.Did(give_back ? "batch.GiveBack" : "batch.Done", ended);
    batches_.erase(batch);
  }

  void ShutDown(int way) {
    if (shared_) way %= 2;
    model_.ShutDown();
    if (way == 0) {
      queue_.ShutDown();
      comparison_.Did("ShutDown");
    } else if (way == 1) {
      comparison_.Returned(queue_.ShutDownWithDrainWithin(absl::ZeroDuration()),
                           model_.Idle(), "ShutDownWithDrainWithin",
                           absl::InfinitePast());
    } else {
      queue_.Close();
      comparison_.Did("Close");
    }
  }

  workqueue::Interface<int>& queue_;
  Model& model_;
  workqueue::FakeClock& clock_;
  Comparison& comparison_;
  bool shared_ = false;
  std::set<int> leased_;
  std::vector<Lease> leases_;
  std::vector<LeaseBatch> batches_;

  workqueue::ManualExecutor executor_;
  CallbackModel callbacks_;
  std::vector<workqueue::AcquireId> ids_;  // by the number of the callback
  // The callback that the last task of the executor has called.
  std::optional<int> called_;
  Got called_with_{absl::StatusCode::kOk};
};

}  // namespace reference

#endif  // WORKQUEUE_TEST_REFERENCE_QUEUE_OPERATIONS_H_
