// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_INSPECT_INSPECT_QUEUE_H_
#define WORKQUEUE_INSPECT_INSPECT_QUEUE_H_

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "workqueue/failures.h"
#include "workqueue/inspect/inspectable.h"
#include "workqueue/inspect/inspection.h"
#include "workqueue/inspect/internal/findings.h"
#include "workqueue/inspect/internal/key_text.h"
#include "workqueue/inspect/item_history.h"
#include "workqueue/interfaces.h"
#include "workqueue/shared/codec.h"
#include "workqueue/snapshot.h"

namespace workqueue {

// InspectOptions
//
// How the items of a queue are shown. Every field has a usable default.
template <typename T>
struct InspectOptions {
  // Writes an item as text, and reads the text of an item. The default serves
  // strings and integers. Without `encode`, the text is the one of `operator<<`
  // or `absl::StrCat()`. Without `decode`, items cannot be found or changed.
  Codec<T> codec = DefaultCodec<T>();

  // The events to show; null for none. See `HistoryTracer`.
  std::shared_ptr<ItemHistory> history;

  // More names and values to show among the options, for example the delays of
  // the rate limiter.
  std::vector<std::pair<std::string, std::string>> options;
};

namespace internal {

// QueueInspectable
//
// Inspects a queue. Returns the errors of the server of a shared queue, behind
// whatever interface: what is unknown is not empty.
template <typename T>
class QueueInspectable : public Inspectable {
 public:
  // `queue` is not owned. The others are the same queue, or null if it does not
  // implement their interface.
  QueueInspectable(Interface<T>* queue, DelayingInterface<T>* delaying,
                   RateLimitingInterface<T>* rate_limiting,
                   InspectOptions<T> options)
      : queue_(queue),
        delaying_(delaying),
        rate_limiting_(rate_limiting),
        options_(std::move(options)),
        keys_(options_.codec) {}

  std::string Kind() const override {
    if (delaying_ == nullptr) return "queue";
    if (rate_limiting_ == nullptr) return "delaying queue";
    if (AsSharedFailures() != nullptr) return "shared queue";
    return rate_limiting_->AsPriorityQueue() != nullptr ? "priority queue"
                                                        : "rate limiting queue";
  }

  absl::StatusOr<Inspection> Inspect(size_t max_items) override {
    const size_t num_grouped = max_items == 0 ? 0 : kNumGrouped;
    SnapshotOptions<T> what;
    what.max = (std::max)(max_items, num_grouped);
    what.timeout = kTimeout;
    what.details = true;
    const absl::StatusOr<Snapshot<T>> snapshot = TakeSnapshot(what);
    if (!snapshot.ok()) return snapshot.status();
    Inspection inspection = ToInspection(*snapshot);
    inspection.options = options_.options;
    if (options_.history != nullptr) {
      inspection.events = options_.history->Last(max_items);
      inspection.totals = options_.history->totals();
    }
    internal::GroupQueued(num_grouped, &inspection);
    internal::KeepFirst(max_items, &inspection);
    AddMore(&inspection);
    return inspection;
  }

  std::optional<Inspection> InspectHere(size_t max_items) override {
    if (AsSharedFailures() == nullptr) return std::nullopt;
    SnapshotOptions<T> what;
    what.here_only = true;
    const absl::StatusOr<Snapshot<T>> snapshot = TakeSnapshot(what);
    if (!snapshot.ok()) return std::nullopt;
    Inspection inspection = ToInspection(*snapshot);
    internal::KeepFirst(max_items, &inspection);
    AddMore(&inspection);
    return inspection;
  }

  absl::StatusOr<Inspection> InspectKey(absl::string_view key) override {
    absl::StatusOr<T> item = keys_.Parse(key);
    if (!item.ok()) return item.status();
    SnapshotOptions<T> what;
    what.only = std::addressof(*item);
    what.timeout = kTimeout;
    what.details = true;
    const absl::StatusOr<Snapshot<T>> snapshot = TakeSnapshot(what);
    if (!snapshot.ok()) return snapshot.status();
    Inspection inspection = ToInspection(*snapshot);
    if (options_.history != nullptr) {
      inspection.events = options_.history->Of(keys_.Of(*item), kMaxEvents);
    }
    AddMore(&inspection);
    return inspection;
  }

  absl::Status Act(InspectAction action, absl::string_view key) override {
    absl::StatusOr<T> item = keys_.Parse(key);
    if (!item.ok()) return item.status();
    switch (action) {
      case InspectAction::kRequeue:
        return Requeue(*item);
      case InspectAction::kForget:
        return Forget(*item);
      case InspectAction::kCancel: {
        const absl::StatusOr<bool> cancelled = Cancel(*item);
        if (!cancelled.ok() || *cancelled) return cancelled.status();
        return absl::NotFoundError("the item does not wait");
      }
    }
    return absl::InvalidArgumentError("unknown action");
  }

 protected:
  virtual absl::StatusOr<Snapshot<T>> TakeSnapshot(
      const SnapshotOptions<T>& what) {
    return queue_->TakeSnapshotWith(what);
  }

  // Adds what only a subclass knows.
  virtual void AddMore(Inspection* /*inspection*/) {}

  // Returns what knows the parked items; null if nothing does.
  virtual Failures<T>* GetFailures() { return AsSharedFailures(); }

  virtual absl::Status ForgetFailures(const T& item) {
    if (rate_limiting_ != nullptr) return rate_limiting_->ForgetFailures(item);
    return absl::UnimplementedError("this queue does not count failures");
  }

 private:
  SharedFailures<T>* AsSharedFailures() const {
    return rate_limiting_ == nullptr ? nullptr
                                     : rate_limiting_->AsSharedFailures();
  }

  // Also puts a parked item back: an addition need not.
  absl::Status Requeue(const T& item) {
    Failures<T>* const failures = GetFailures();
    if (failures != nullptr) {
      const absl::StatusOr<bool> unparked = failures->Unpark(item);
      if (!unparked.ok() || *unparked) return unparked.status();
    }
    AddOptions options;
    options.reschedule = true;  // An item that waits does so no longer.
    return queue_->AddItems(options,
                            absl::MakeConstSpan(std::addressof(item), 1));
  }

  absl::Status Forget(const T& item) {
    Failures<T>* const failures = GetFailures();
    if (failures != nullptr) {
      const absl::StatusOr<FailedItem<T>> failed = failures->Find(item);
      if (!failed.ok() && !absl::IsNotFound(failed.status())) {
        return failed.status();
      }
      if (failed.ok() && failed->parked) {
        return absl::FailedPreconditionError(
            "the item is parked; requeue it, and its failures start anew");
      }
    }
    return ForgetFailures(item);
  }

  // Returns whether the item waited.
  absl::StatusOr<bool> Cancel(const T& item) {
    if (delaying_ != nullptr) return delaying_->CancelWait(item);
    return absl::UnimplementedError("no item waits in this queue");
  }

  // How long an inspection waits for an engine.
  static constexpr absl::Duration kTimeout = absl::Seconds(1);

  // The number of queued items whose groups are counted: enough to see a group
  // that has most of them, and few enough to copy them while others wait for
  // the lock.
  static constexpr size_t kNumGrouped = 250;

  // The number of events of one item that are shown.
  static constexpr size_t kMaxEvents = 100;

  Inspection ToInspection(const Snapshot<T>& snapshot) const {
    Inspection inspection;
    static_cast<SnapshotBase&>(inspection) = snapshot;
    inspection.health = queue_->Healthy();
    std::sort(inspection.clients.begin(), inspection.clients.end(),
              [](const InspectedClient& a, const InspectedClient& b) {
                return a.name < b.name;
              });
    for (const auto& it : snapshot.queued) {
      inspection.queued.push_back({keys_.Of(it.item), it.since, it.priority,
                                   it.failures, it.last_error});
    }
    for (const auto& it : snapshot.processing) {
      inspection.processing.push_back({keys_.Of(it.item), it.since,
                                       /*priority=*/0, it.failures,
                                       it.last_error, it.added_again, it.holder,
                                       it.held_until});
    }
    for (const auto& it : snapshot.lost_here) {
      InspectedItem& lost = inspection.lost_here.emplace_back();
      lost.key = keys_.Of(it.item);
      lost.time = it.since;
      lost.added_again = it.added_again;
    }
    for (const auto& it : snapshot.waiting) {
      inspection.waiting.push_back({keys_.Of(it.item), it.ready_at, it.priority,
                                    it.failures, it.last_error});
    }
    for (const auto& it : snapshot.failing) {
      inspection.failing.push_back({keys_.Of(it.item), it.failures,
                                    it.last_error, it.first_failed_at,
                                    it.last_failed_at, it.next_try_at});
    }
    for (const auto& it : snapshot.parked) {
      inspection.parked.push_back({keys_.Of(it.item), it.failures,
                                   it.last_error, it.first_failed_at,
                                   it.last_failed_at});
    }
    for (const auto& it : snapshot.bounds) {
      InspectedBound& bound = inspection.bounds.emplace_back();
      bound.name = it.name;
      bound.max = it.max;
      bound.processing = it.processing;
      bound.holds_back = it.holds_back;
      bound.queued = it.queued;
      for (const T& item : it.items) bound.keys.push_back(keys_.Of(item));
      std::sort(bound.keys.begin(), bound.keys.end());
      bound.full_since = internal::FullSince(bound, inspection.processing);
    }
    std::sort(inspection.bounds.begin(), inspection.bounds.end(),
              [](const InspectedBound& a, const InspectedBound& b) {
                return a.holds_back != b.holds_back ? a.holds_back
                                                    : a.name < b.name;
              });
    return inspection;
  }

  Interface<T>* const queue_;
  DelayingInterface<T>* const delaying_;
  RateLimitingInterface<T>* const rate_limiting_;
  const InspectOptions<T> options_;
  const internal::KeyText<T> keys_;
};

}  // namespace internal

// InspectQueue()
//
// Returns an object that inspects `queue`. An inspection takes the lock of the
// queue for as long as it takes to copy at most 250 items of each kind. The
// copying does not take longer if the queue has more items, except for waiting
// items in a timing wheel (see `Interface::TakeSnapshotUpTo()`).
//
// An inspection of a `SharedQueue` asks its server, and returns its errors, so
// that the page says that the contents are unknown. It waits for a second at
// most.
//
// `queue` is not owned. It must not be null, and must outlive the result.
template <typename T>
std::unique_ptr<Inspectable> InspectQueue(RateLimitingInterface<T>* queue,
                                          InspectOptions<T> options = {}) {
  return std::make_unique<internal::QueueInspectable<T>>(queue, queue, queue,
                                                         std::move(options));
}
template <typename T>
std::unique_ptr<Inspectable> InspectQueue(DelayingInterface<T>* queue,
                                          InspectOptions<T> options = {}) {
  return std::make_unique<internal::QueueInspectable<T>>(queue, queue, nullptr,
                                                         std::move(options));
}
template <typename T>
std::unique_ptr<Inspectable> InspectQueue(Interface<T>* queue,
                                          InspectOptions<T> options = {}) {
  return std::make_unique<internal::QueueInspectable<T>>(
      queue, nullptr, nullptr, std::move(options));
}

}  // namespace workqueue

#endif  // WORKQUEUE_INSPECT_INSPECT_QUEUE_H_
