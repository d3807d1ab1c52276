// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_CONTROLLER_INTERNAL_LEDGER_FAILURES_H_
#define WORKQUEUE_CONTROLLER_INTERNAL_LEDGER_FAILURES_H_

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "workqueue/failure_ledger.h"
#include "workqueue/failures.h"
#include "workqueue/interfaces.h"
#include "workqueue/snapshot.h"

namespace workqueue::internal {

// LedgerFailures
//
// The failures of a queue in memory, which a controller keeps in a ledger.
//
// Thread-safe.
template <typename T, typename Hash, typename Eq>
class LedgerFailures final : public Failures<T> {
 public:
  using Ledger = FailureLedger<T, Hash, Eq>;

  // `queue` is not owned.
  LedgerFailures(std::unique_ptr<Ledger> ledger, Interface<T>* queue)
      : ledger_(std::move(ledger)), queue_(queue) {}

  Ledger& ledger() { return *ledger_; }

  absl::StatusOr<bool> Unpark(const T& item) override {
    return ledger_->Unpark(item, queue_);
  }
  absl::StatusOr<size_t> UnparkAll() override {
    return ledger_->UnparkAll(queue_);
  }
  absl::StatusOr<std::vector<FailedItem<T>>> Failing(
      size_t max) const override {
    return ledger_->Failing(max);
  }
  absl::StatusOr<std::vector<FailedItem<T>>> Parked(size_t max) const override {
    return ledger_->Parked(max);
  }
  absl::StatusOr<FailedItem<T>> Find(const T& item) const override {
    auto found = ledger_->Find(item);
    if (!found.has_value()) {
      return absl::NotFoundError("the item has no failures");
    }
    return *std::move(found);
  }
  absl::StatusOr<FailureNumbers> Numbers() const override {
    return FailureNumbers{ledger_->num_failing(), ledger_->num_parked()};
  }

 private:
  const std::unique_ptr<Ledger> ledger_;
  Interface<T>* const queue_;
};

}  // namespace workqueue::internal

#endif  // WORKQUEUE_CONTROLLER_INTERNAL_LEDGER_FAILURES_H_
