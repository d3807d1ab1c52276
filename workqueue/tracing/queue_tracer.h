// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The functions that a `TracingQueue` calls as an item goes through it, and
// what it tells them.

#ifndef WORKQUEUE_TRACING_QUEUE_TRACER_H_
#define WORKQUEUE_TRACING_QUEUE_TRACER_H_

#include <cstddef>
#include <memory>
#include <optional>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "workqueue/tracing/trace_context.h"

namespace workqueue {

// AddKind
//
// The function by which an item is added.
enum class AddKind {
  kAdd,         // `Add()`, `AddAll()`
  kAddAfter,    // `AddAfter()`
  kReschedule,  // `Reschedule()`
  kRetry,       // `AddRateLimited()`, `AddRateLimitedAfter()`
};

// Returns the name of `kind`: "add", "add after", "reschedule" or "retry".
inline absl::string_view AddKindName(AddKind kind) {
  switch (kind) {
    case AddKind::kAdd:
      return "add";
    case AddKind::kAddAfter:
      return "add after";
    case AddKind::kReschedule:
      return "reschedule";
    case AddKind::kRetry:
      return "retry";
  }
  return "unknown";
}

// AddInfo
//
// How an item is added. `AddWithOptions()` counts as one of the kinds, as its
// options say.
struct AddInfo {
  AddKind kind = AddKind::kAdd;

  // The time on the queue's clock.
  absl::Time time;

  // The delay that the caller gave, not negative. Nothing if the rate limiter
  // chooses the delay, which the queue below does not tell. With
  // `AddWithOptions()` that gives both, the delay that the caller gave:
  // `AddOptions::after` if it is positive, and otherwise
  // `AddOptions::retry_after`, which the rate limiter's maximum may shorten.
  std::optional<absl::Duration> delay = absl::ZeroDuration();

  int priority = 0;

  // The current context of the calling thread: see `TraceScope`. While a traced
  // reconcile function runs, the context of this attempt. May be invalid.
  TraceContext current;

  // If this add tries an item again after an attempt (see `ReconcileSpan`), the
  // context of this attempt. So it is valid if the attempt failed and this is a
  // rate-limited add, and if the attempt asked for the delay of this add by
  // `ReconcileResult::requeue_after`. A new span should link to it.
  TraceContext previous_attempt;
};

// AddFailure
//
// What is known of an add that `QueueTracer::OnAddRefused()` tells of.
enum class AddFailure {
  kNotTaken,  // the queue has not taken the item
  kUnknown,   // the queue may have taken the item: its engine has not answered,
              // or it has taken some of the items of a call
  kParked,    // the retry's failure has parked the item
};

// HandOutInfo
//
// How an item is handed out to a worker.
struct HandOutInfo {
  // The time on the queue's clock.
  absl::Time time;

  // The time since the first of the adds that this hand-out answers, delays
  // included. Nothing if no such add is known: another process made it, or the
  // queue has dropped it (see `TracingQueueOptions::max_items`).
  std::optional<absl::Duration> since_first_add;

  // The number of contexts that were dropped because the item had
  // `TracingQueueOptions::max_contexts` already.
  size_t dropped_contexts = 0;
};

// ReconcileInfo
//
// How an attempt to process an item begins.
struct ReconcileInfo {
  // The time on the queue's clock.
  absl::Time time;

  // These are as in `ReconcileContext`. Without a controller, they are what the
  // worker has given. The failures are missing if the engine of the queue has
  // not told them.
  absl::string_view controller_name;
  int priority = 0;
  std::optional<int> failures = 0;

  // As in the `HandOutInfo` of the item.
  size_t dropped_contexts = 0;
};

// ReconcileOutcome
//
// How an attempt to process an item ended.
struct ReconcileOutcome {
  // The time on the queue's clock, and the time since the begin.
  absl::Time time;
  absl::Duration duration;

  // The result of the reconcile function. If it threw, an error with the text
  // of the exception.
  absl::Status status;
  bool threw = false;

  // Whether the error is a `TerminalError()`: no retry follows.
  bool terminal = false;

  // As in `ReconcileResult`; zero and false after an error.
  absl::Duration requeue_after = absl::ZeroDuration();
  bool not_now = false;
};

// ReconcileSpan
//
// An attempt to process an item. A tracer makes one for each attempt.
//
// `Enter()` and `Leave()` are called on the thread that runs the reconcile
// function, just before and after it. `End()` is called once. With an
// asynchronous reconcile function, another thread may call `End()`, even before
// `Leave()`, and calls may overlap. The span is destroyed after the last call.
// If the reconciliation never ends, nothing calls `End()`.
class ReconcileSpan {
 public:
  virtual ~ReconcileSpan() = default;

  // Returns the context of the attempt, always the same one. May be invalid.
  virtual TraceContext context() const { return TraceContext(); }

  // Make the span the current one of the calling thread, and undo that.
  virtual void Enter() {}
  virtual void Leave() {}

  virtual void End(const ReconcileOutcome& /*outcome*/) {}
};

// QueueTracer
//
// Receives what happens to the items of a `TracingQueue`, to make spans of it
// or to keep it. The defaults do nothing.
//
// The functions are called without a lock, on the threads that use the queue,
// several at the same time. They should be fast. If one throws, the exception
// is logged and dropped; nothing happens to the item.
template <typename T>
class QueueTracer {
 public:
  virtual ~QueueTracer() = default;

  // Called when `item` is being added, before it is in the queue. Returns the
  // context that travels with the item. An invalid one means that this tracer
  // has none; then that of another tracer travels or, if there is none,
  // `info.current`.
  virtual TraceContext OnAdd(const T& /*item*/, const AddInfo& /*info*/) {
    return TraceContext();
  }

  // Called after `OnAdd()` if the queue has not taken `item`, or if the add
  // threw. `context` does not travel. If an `AddAll()` or `AddWithOptions()`
  // has not taken all of its items, this is called for each of them, because
  // the queue does not tell which ones it has taken.
  virtual void OnAddRefused(const T& /*item*/,
                            const TraceContext& /*context*/) {}

  // Called after each `OnAddRefused()`, with the `info` of the `OnAdd()`.
  virtual void OnAddFailed(const T& /*item*/, const AddInfo& /*info*/,
                           AddFailure /*failure*/) {}

  // Called when a worker has got `item`. `contexts` are those of the adds that
  // this hand-out answers, oldest first.
  virtual void OnHandOut(const T& /*item*/,
                         absl::Span<const TraceContext> /*contexts*/,
                         const HandOutInfo& /*info*/) {}

  // Called when an attempt to process `item` begins. `contexts` are those of
  // the hand-out. Returns the attempt, or null if it is not traced.
  virtual std::unique_ptr<ReconcileSpan> OnReconcileBegin(
      const T& /*item*/, absl::Span<const TraceContext> /*contexts*/,
      const ReconcileInfo& /*info*/) {
    return nullptr;
  }
};

}  // namespace workqueue

#endif  // WORKQUEUE_TRACING_QUEUE_TRACER_H_
