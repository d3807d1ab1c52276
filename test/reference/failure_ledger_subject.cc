// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "test/reference/choices.h"
#include "test/reference/comparison.h"
#include "test/reference/subject.h"
#include "test/workqueue/hooked_queue.h"
#include "workqueue/clock/fake_clock.h"
#include "workqueue/failure_ledger.h"

namespace reference {
namespace failure_ledger_subject {
namespace {

using ::workqueue::FailureLedgerOptions;

// An item: itself, its failures, its last error, and its times.
using Failed = std::tuple<int, int, std::string, absl::Time, absl::Time>;

// A simple model of a ledger.
class Model {
 public:
  explicit Model(const FailureLedgerOptions& options) : options_(options) {}

  bool ShouldProcess(int item) {
    const auto it = Find(parked_, item);
    if (it == parked_.end()) return true;
    if (!options_.unpark_on_add) return false;
    parked_.erase(it);
    return true;
  }

  bool RecordFailure(int item, const std::string& error, absl::Time now) {
    if (Find(parked_, item) != parked_.end()) return true;
    auto it = Find(failing_, item);
    if (it == failing_.end()) {
      it = failing_.insert(it, Failed(item, 0, "", now, now));
    }
    auto& [unused, failures, last_error, first_failed_at, last_failed_at] = *it;
    ++failures;
    last_error = error;
    last_failed_at = now;
    const bool parks = (options_.max_failures.has_value() &&
                        failures >= *options_.max_failures) ||
                       now - first_failed_at >= options_.max_failing_time;
    if (!parks) return false;
    if (parked_.size() >= options_.max_parked) {
      ++refused_;
      return false;
    }
    parked_.insert(parked_.begin(), *it);
    failing_.erase(it);
    return true;
  }

  void Forget(int item) {
    const auto it = Find(failing_, item);
    if (it != failing_.end()) failing_.erase(it);
  }

  // `taken` is whether the queue takes the item.
  bool Unpark(int item, bool taken) {
    const auto it = Find(parked_, item);
    if (it == parked_.end()) return false;
    if (taken) parked_.erase(it);
    return taken;
  }

  // Returns the items that are offered to the queue, in their order.
  std::vector<int> UnparkAll(const std::function<bool(int)>& taken) {
    std::vector<int> items;
    for (const Failed& parked : parked_) items.push_back(std::get<0>(parked));
    std::reverse(items.begin(), items.end());
    for (int item : items) Unpark(item, taken(item));
    return items;
  }

  // In no particular order.
  const std::vector<Failed>& failing() const { return failing_; }

  // The last parked item first.
  const std::vector<Failed>& parked() const { return parked_; }
  int64_t refused() const { return refused_; }

 private:
  static std::vector<Failed>::iterator Find(std::vector<Failed>& items,
                                            int item) {
    return std::find_if(items.begin(), items.end(), [item](const Failed& it) {
      return std::get<0>(it) == item;
    });
  }

  const FailureLedgerOptions options_;
  std::vector<Failed> failing_;  // and not parked
  std::vector<Failed> parked_;
  int64_t refused_ = 0;
};

// A ledger, with a queue that takes some of the items, and its model.
class Run {
 public:
  Run(Choices choices, std::string* log) : choices_(choices), comparison_(log) {
    choices_.Next();
    FailureLedgerOptions options;
    options.clock = &clock_;
    const int limits = choices_.Below(3);
    if (limits != 1) options.max_failures = 1 + choices_.Below(4);
    if (limits != 0) options.max_failing_time = absl::Seconds(2);
    options.max_parked = choices_.OneIn(2) ? 100 : 3;
    options.unpark_on_add = choices_.OneIn(2);
    comparison_.Did("FailureLedger", options.max_failures,
                    options.max_failing_time, options.max_parked,
                    options.unpark_on_add);
    model_ = std::make_unique<Model>(options);
    ledger_ = *workqueue::FailureLedger<int>::Create(options);
  }

  std::string Disagreement() && {
    while (!choices_.empty() && comparison_.agrees()) {
      choices_.Next();
      DoOne();
      comparison_.Same("num_parked()", ledger_->num_parked(),
                       model_->parked().size());
      comparison_.Same("num_failing()", ledger_->num_failing(),
                       model_->failing().size());
      comparison_.Same("num_refused()", ledger_->num_refused(),
                       model_->refused());
    }
    Compare(1000);
    return comparison_.disagreement();
  }

 private:
  void DoOne() {
    const int choice = choices_.Below(100);
    const int item = choices_.Items();
    if (choice < 45) {
      const std::string text = absl::StrCat(next_error_++);
      comparison_.Returned(
          ledger_->RecordFailure(item, absl::UnknownError(text)),
          model_->RecordFailure(item, "UNKNOWN: " + text, clock_.TimeNow()),
          "RecordFailure", item);
    } else if (choice < 60) {
      comparison_.Returned(ledger_->ShouldProcess(item),
                           model_->ShouldProcess(item), "ShouldProcess", item);
    } else if (choice < 68) {
      ledger_->Forget(item);
      model_->Forget(item);
      comparison_.Did("Forget", item);
    } else if (choice < 76) {
      const bool taken = Takes(item);
      comparison_.Returned(ledger_->Unpark(item, &queue_),
                           model_->Unpark(item, taken), "Unpark", item);
      offered_.clear();
    } else if (choice < 79) {
      const auto takes = [this](int i) { return Takes(i); };
      const size_t before = model_->parked().size();
      const std::vector<int> offered = model_->UnparkAll(takes);
      comparison_.Returned(ledger_->UnparkAll(&queue_),
                           before - model_->parked().size(), "UnparkAll");
      comparison_.Same("what the queue was offered",
                       std::exchange(offered_, {}), offered);
    } else if (choice < 84) {
      refuses_ = choices_.Below(4);
      comparison_.Did("the queue refuses, of three items, number", refuses_);
    } else if (choice < 92) {
      const absl::Duration step = choices_.Step();
      clock_.Step(step);
      comparison_.Did("Step", step);
    } else if (choice < 97) {
      const auto failed = ledger_->Find(item);
      std::optional<Failed> got;
      if (failed.has_value()) got = ToFailed(*failed);
      std::optional<Failed> expected;
      for (const Failed& it : model_->failing()) {
        if (std::get<0>(it) == item) expected = it;
      }
      for (const Failed& it : model_->parked()) {
        if (std::get<0>(it) == item) expected = it;
      }
      comparison_.Returned(got, expected, "Find", item);
    } else {
      Compare(choices_.Below(5));
    }
  }

  // Whether the queue takes `item`.
  bool Takes(int item) const { return item % 3 != refuses_; }

  static Failed ToFailed(const workqueue::FailedItem<int>& it) {
    return {it.item, it.failures, it.last_error, it.first_failed_at,
            it.last_failed_at};
  }

  // Compares the items that fail, all of them, and the parked items, at most
  // `max`.
  void Compare(size_t max) {
    std::vector<Failed> got;
    for (const auto& it : ledger_->Parked(max)) got.push_back(ToFailed(it));
    std::vector<Failed> expected = model_->parked();
    expected.resize(std::min(max, expected.size()));
    comparison_.Returned(got, expected, "Parked", max);
    got.clear();
    for (const auto& it : ledger_->Failing(1000)) got.push_back(ToFailed(it));
    // Of equal ones, any may be first.
    std::sort(got.begin(), got.end());
    expected = model_->failing();
    std::sort(expected.begin(), expected.end());
    comparison_.Returned(got, expected, "Failing", 1000);
  }

  Choices choices_;
  Comparison comparison_;
  workqueue::FakeClock clock_;
  int next_error_ = 0;
  int refuses_ = 3;           // see Takes(); 3 refuses none
  std::vector<int> offered_;  // to the queue
  workqueue::HookedQueue<int> queue_{[this](int item) {
                                       offered_.push_back(item);
                                       return Takes(item);
                                     },
                                     &clock_};
  std::unique_ptr<Model> model_;
  std::unique_ptr<workqueue::FailureLedger<int>> ledger_;
};

}  // namespace
}  // namespace failure_ledger_subject

Subject FailureLedgerSubject() {
  return {"failure_ledger", [](Choices choices, std::string* log) {
            return failure_ledger_subject::Run(choices, log).Disagreement();
          }};
}

}  // namespace reference
