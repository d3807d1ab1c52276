// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_CONTROLLER_INTERNAL_RECONCILIATION_H_
#define WORKQUEUE_CONTROLLER_INTERNAL_RECONCILIATION_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "workqueue/clock/clock.h"
#include "workqueue/controller/reconcile.h"
#include "workqueue/interfaces.h"

namespace workqueue::internal {

// How the controller ends the reconciliation of an item.
struct AfterReconcile {
  // How the item is added again, or nothing.
  std::optional<AddOptions> add_again = std::nullopt;
  // Whether the item is given back, and not done. It is not added again then.
  bool give_back = false;
  // If not OK, the engine that has the queue counts this failure, and ends the
  // lease.
  absl::Status failed = absl::OkStatus();
  // Whether that engine forgets the failures of the item.
  bool forget = false;
};

// Reconciliation
//
// An asynchronous reconciliation of one item, without the type of the item. The
// controller and the user's code share ownership, because the user's code may
// keep its context and its completion for longer than the controller exists.
//
// Thread-safe.
class Reconciliation {
 public:
  // The properties that the user's code can read.
  struct Info {
    std::shared_ptr<const std::string> controller_name;
    Clock* clock;               // must outlive the controller
    absl::Time begun_at;        // on the clock, if anything is timed
    absl::Time clock_deadline;  // on the clock
    int priority;
    int failures;
    int64_t token = 0;
    int64_t term = 0;  // see `Source::term`
  };

  explicit Reconciliation(Info info) : info_(std::move(info)) {}
  virtual ~Reconciliation() = default;

  Reconciliation(const Reconciliation&) = delete;
  Reconciliation& operator=(const Reconciliation&) = delete;

  const Info& info() const { return info_; }

  // `AsyncReconcileContext` documents these functions.
  bool Lost() const ABSL_LOCKS_EXCLUDED(mu_);
  bool Cancelled() const ABSL_LOCKS_EXCLUDED(mu_);
  absl::Duration Remaining() const;
  void OnCancel(absl::AnyInvocable<void() &&> callback)
      ABSL_LOCKS_EXCLUDED(mu_);

  // Cancels the reconciliation, unless it is complete: calls the callback of
  // `OnCancel()`.
  void Cancel() ABSL_LOCKS_EXCLUDED(mu_);

  // Ends the reconciliation. Returns false, and changes nothing, if it has
  // ended before, or if the controller is gone.
  bool Complete(absl::StatusOr<ReconcileResult> result)
      ABSL_LOCKS_EXCLUDED(mu_);

  // A `ReconcileCompletion` comes into being or is destroyed. If none is left,
  // and none has been called, the reconciliation ends with an error.
  void AddCompletion() { completions_.fetch_add(1); }
  void DropCompletion();

 private:
  // Whether the lease of the item or the term is lost. Called until the
  // reconciliation is complete.
  virtual bool LeaseLost() const { return false; }

  // Hands `result` to the controller, once. Returns false if it is gone.
  virtual bool OnComplete(absl::StatusOr<ReconcileResult> result) = 0;

  // Called when a completion is called again.
  virtual void OnCompletedTwice() = 0;

  const Info info_;
  std::atomic<size_t> completions_{0};

  // Both are written under mu_.
  std::atomic<bool> cancelled_{false};
  std::atomic<bool> completed_{false};
  mutable absl::Mutex mu_;
  absl::AnyInvocable<void() &&> on_cancel_ ABSL_GUARDED_BY(mu_);
};

}  // namespace workqueue::internal

#endif  // WORKQUEUE_CONTROLLER_INTERNAL_RECONCILIATION_H_
