// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// workqueue/tracing/internal/trace_book.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_TRACING_INTERNAL_TRACE_BOOK_H_
#define WORKQUEUE_TRACING_INTERNAL_TRACE_BOOK_H_

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "workqueue/base/error_log.h"
#include "workqueue/base/printable.h"
#include "workqueue/clock/clock.h"
#include "workqueue/log_sink.h"
#include "workqueue/tracing/internal/item_traces.h"
#include "workqueue/tracing/queue_tracer.h"
#include "workqueue/tracing/trace_context.h"
#include "workqueue/tracing/trace_scope.h"

namespace workqueue {
namespace internal {

// An attempt to process an item, as the tracers of a queue see it.
struct TracedAttempt {
  absl::InlinedVector<std::unique_ptr<ReconcileSpan>, 1> spans;
  TraceContext context;
  absl::Time begin;
};

// TraceBook
//
// Calls the tracers of a queue, and keeps the contexts of its items.
//
// Errors of the tracers, of `T` and of the memory are logged. They lose at most
// contexts. No function throws. Thread-safe.
template <typename T, typename Hash, typename Eq>
class TraceBook {
 public:
  using Tracers = std::vector<std::shared_ptr<QueueTracer<T>>>;
  using Added = typename ItemTraces<T, Hash, Eq>::Added;

  // How items are added.
  struct Adding {
    AddKind kind = AddKind::kAdd;
    std::optional<absl::Duration> delay = absl::ZeroDuration();
    int priority = 0;

    // Whether the items may wait.
    bool delayed() const { return delay != absl::ZeroDuration(); }
  };

  // Nothing but the tracers is owned.
  TraceBook(absl::string_view name, Tracers tracers, size_t max_contexts,
            size_t max_items, Clock* clock, LogSink* log_sink)
      : tracers_(std::move(tracers)),
        clock_(clock),
        errors_("queue", name, log_sink, clock),
        items_(max_contexts, max_items) {}

  Added Add(const T& item, const Adding& adding) {
    AddInfo info;
    info.kind = adding.kind;
    info.time = clock_->TimeNow();
    info.delay = adding.delay;
    info.priority = adding.priority;
    info.current = TraceScope::Current();
    Try("adding", item, [&] {
      info.previous_attempt =
          items_.TakeAttempt(item, adding.kind, adding.delay);
    });
    TraceContext context;
    TryEach("adding", item, [&](QueueTracer<T>& tracer) {
      const TraceContext own = tracer.OnAdd(item, info);
      if (!context.IsValid()) context = own;
    });
    if (!context.IsValid()) context = info.current;
    Added added;
    added.context = context;
    Try("adding", item, [&] {
      added = items_.Add(item, context, info.time, adding.delayed());
    });
    return added;
  }

  // The queue has not taken `item`.
  void Refuse(const T& item, const Added& added) {
    Try("refusing", item, [&] { items_.Undo(item, added); });
    TryEach("refusing", item, [&](QueueTracer<T>& tracer) {
      tracer.OnAddRefused(item, added.context);
    });
  }

  void HandOut(const T& item) {
    HandedOutTraces traces;
    Try("handing out", item, [&] { traces = items_.HandOut(item); });
    HandOutInfo info;
    info.time = clock_->TimeNow();
    if (traces.first_add.has_value()) {
      info.since_first_add = info.time - *traces.first_add;
    }
    info.dropped_contexts = traces.dropped;
    TryEach("handing out", item, [&](QueueTracer<T>& tracer) {
      tracer.OnHandOut(item, traces.contexts, info);
    });
  }

  void CancelDelayed(const T& item) {
    Try("cancelling", item, [&] { items_.CancelDelayed(item); });
  }
  void Done(const T& item) {
    Try("ending", item, [&] { items_.Done(item); });
  }

  // The time in `info` is set here.
  TracedAttempt Begin(const T& item, ReconcileInfo info) {
    TracedAttempt attempt;
    attempt.begin = info.time = clock_->TimeNow();
    HandedOutTraces traces;
    Try("beginning", item, [&] { traces = items_.TakeHandedOut(item); });
    info.dropped_contexts = traces.dropped;
    TryEach("beginning", item, [&](QueueTracer<T>& tracer) {
      auto span = tracer.OnReconcileBegin(item, traces.contexts, info);
      if (span == nullptr) return;
      if (!attempt.context.IsValid()) attempt.context = span->context();
      attempt.spans.push_back(std::move(span));
    });
    Try("beginning", item, [&] { items_.SetAttempt(item, attempt.context); });
    return attempt;
  }

  void Enter(const T& item, TracedAttempt& attempt) {
    for (const auto& span : attempt.spans) {
      Try("entering", item, [&] { span->Enter(); });
    }
  }

  void Leave(const T& item, TracedAttempt& attempt) {
    // In the opposite order, as scopes must be left.
    for (auto it = attempt.spans.rbegin(); it != attempt.spans.rend(); ++it) {
      Try("leaving", item, [&] { (*it)->Leave(); });
    }
  }

  // The time and the duration in `outcome` are set here.
  void End(const T& item, TracedAttempt& attempt, ReconcileOutcome outcome) {
    std::optional<FollowingAdd> following;
    if (!outcome.status.ok()) {
      if (!outcome.terminal) following = {AddKind::kRetry, {}};
    } else if (outcome.requeue_after > absl::ZeroDuration()) {
      following = {AddKind::kAddAfter, outcome.requeue_after};
    }
    Try("ending", item, [&] { items_.EndAttempt(item, following); });
    outcome.time = clock_->TimeNow();
    outcome.duration = outcome.time - attempt.begin;
    for (const auto& span : attempt.spans) {
      Try("ending", item, [&] { span->End(outcome); });
    }
  }

 private:
  // Calls `f()`, and logs what it throws.
  template <typename F>
  void Try(absl::string_view what, const T& item, F f) {
    errors_.Try(
        [&] {
          return absl::StrCat("tracing: ", what, " ", DescribeItem(item));
        },
        f);
  }

  template <typename F>
  void TryEach(absl::string_view what, const T& item, F f) {
    for (const auto& tracer : tracers_) Try(what, item, [&] { f(*tracer); });
  }

  const Tracers tracers_;
  Clock* const clock_;
  ErrorLog errors_;
  ItemTraces<T, Hash, Eq> items_;
};

// Makes an attempt the current one of this thread, for as long as it exists.
// Everything must outlive it.
template <typename T, typename Hash, typename Eq>
class EnteredAttempt {
 public:
  EnteredAttempt(TraceBook<T, Hash, Eq>* book, const T& item,
                 TracedAttempt& attempt)
      : book_(book), item_(item), attempt_(attempt), scope_(attempt.context) {
    book_->Enter(item_, attempt_);
  }
  ~EnteredAttempt() { book_->Leave(item_, attempt_); }

  EnteredAttempt(const EnteredAttempt&) = delete;
  EnteredAttempt& operator=(const EnteredAttempt&) = delete;

 private:
  TraceBook<T, Hash, Eq>* const book_;
  const T& item_;
  TracedAttempt& attempt_;
  const TraceScope scope_;
};

}  // namespace internal
}  // namespace workqueue

#endif  // WORKQUEUE_TRACING_INTERNAL_TRACE_BOOK_H_
