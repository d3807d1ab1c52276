// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_TEST_INSPECT_FAKE_INSPECTABLE_H_
#define WORKQUEUE_TEST_INSPECT_FAKE_INSPECTABLE_H_

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "workqueue/base/mutex_lock.h"
#include "workqueue/inspect/inspectable.h"
#include "workqueue/inspect/inspection.h"

namespace workqueue {

// The part of a `FakeInspectable` that a test reads and writes. A registry owns
// the `FakeInspectable`.
struct FakeState {
  absl::StatusOr<Inspection> inspection = Inspection();
  std::optional<Inspection> here;
  absl::Status act_result;

  absl::Mutex mu;  // Objects of one state may be inspected at the same time.
  std::vector<size_t> max_items;     // of each call of `Inspect()`
  std::vector<std::string> actions;  // for example "cancel web"
};

// FakeInspectable
//
// Returns what the test has put into `*state`, which is not owned.
class FakeInspectable final : public Inspectable {
 public:
  explicit FakeInspectable(FakeState* state) : state_(state) {}

  std::string Kind() const override { return "fake queue"; }

  absl::StatusOr<Inspection> Inspect(size_t max_items) override {
    internal::MutexLock lock(&state_->mu);
    state_->max_items.push_back(max_items);
    return state_->inspection;
  }

  std::optional<Inspection> InspectHere(size_t /*max_items*/) override {
    return state_->here;
  }

  absl::StatusOr<Inspection> InspectKey(absl::string_view key) override {
    if (key == "not a key") return absl::InvalidArgumentError("no key");
    absl::StatusOr<Inspection> inspection = state_->inspection;
    if (!inspection.ok()) return inspection;
    const auto keep = [key](auto& items) {
      auto kept = items;
      kept.clear();
      for (auto& item : items) {
        if (item.key == key) kept.push_back(item);
      }
      items = kept;
    };
    keep(inspection->queued);
    keep(inspection->processing);
    keep(inspection->waiting);
    keep(inspection->failing);
    keep(inspection->parked);
    keep(inspection->events);
    return inspection;
  }

  absl::Status Act(InspectAction action, absl::string_view key) override {
    constexpr const char* kNames[] = {"requeue", "forget", "cancel"};
    state_->actions.push_back(
        absl::StrCat(kNames[static_cast<int>(action)], " ", key));
    return state_->act_result;
  }

 private:
  FakeState* const state_;
};

// Returns a stuck queue at one hour after 1970: one item hangs, one fails, one
// tenant floods the queue, and one item waits. Its only worker is busy.
inline Inspection StuckInspection() {
  const absl::Time now = absl::UnixEpoch() + absl::Hours(1);
  Inspection it;
  it.taken_at = now;
  it.num_queued = 1000000;
  it.num_processing = 1;
  it.num_waiting = 1;
  it.num_failing = 1;
  it.num_workers = 1;
  it.queued.push_back({"flood/1", now - absl::Seconds(90), /*priority=*/7,
                       /*failures=*/0, /*last_error=*/""});
  it.processing.push_back({"shop/hangs", now - absl::Minutes(12),
                           /*priority=*/0, /*failures=*/0, /*last_error=*/""});
  it.waiting.push_back({"shop/fails", now + absl::Seconds(30), /*priority=*/0,
                        /*failures=*/37, "NOT_FOUND: no such pod"});
  it.failing.push_back({"shop/fails", 37, "NOT_FOUND: no such pod",
                        now - absl::Minutes(20), now - absl::Seconds(30),
                        now + absl::Seconds(30)});
  it.num_grouped = 1000;
  it.num_groups = 2;
  it.groups = {{"flood", 940}, {"shop", 60}};
  it.events.push_back({now - absl::Seconds(30), "shop/fails",
                       "failed after 1s: NOT_FOUND: no such pod",
                       InspectedEventKind::kFailed});
  it.totals = InspectedTotals();
  it.options = {{"workers", "1"}, {"reconcile timeout", "inf"}};
  return it;
}

}  // namespace workqueue

#endif  // WORKQUEUE_TEST_INSPECT_FAKE_INSPECTABLE_H_
