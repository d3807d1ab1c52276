// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_TRACING_INTERNAL_TRACE_BOOK_H_
#define WORKQUEUE_TRACING_INTERNAL_TRACE_BOOK_H_

#include <cstddef>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "workqueue/base/error_log.h"
#include "workqueue/base/gate.h"
#include "workqueue/base/printable.h"
#include "workqueue/clock/clock.h"
#include "workqueue/log_sink.h"
#include "workqueue/simulation/sync.h"
#include "workqueue/tracing/internal/item_traces.h"
#include "workqueue/tracing/queue_tracer.h"
#include "workqueue/tracing/trace_context.h"
#include "workqueue/tracing/trace_scope.h"

namespace workqueue::internal {

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

  class Attempt;

  // Nothing but the tracers is owned.
  TraceBook(absl::string_view name, Tracers tracers, size_t max_contexts,
            size_t max_items, Clock* clock, LogSink* log_sink)
      : tracers_(std::move(tracers)),
        clock_(clock),
        errors_("queue", name, log_sink, clock),
        items_(max_contexts, max_items) {}

  // The time and the contexts in `*info` are set here.
  Added Add(const T& item, AddInfo* info) {
    info->time = clock_->TimeNow();
    info->current = TraceScope::Current();
    Try("adding", item, [&] {
      info->previous_attempt =
          items_.TakeAttempt(item, info->kind, info->delay);
    });
    TraceContext context;
    TryEach("adding", item, [&](QueueTracer<T>& tracer) {
      const TraceContext own = tracer.OnAdd(item, *info);
      if (!context.IsValid()) context = own;
    });
    if (!context.IsValid()) context = info->current;
    Added added;
    added.context = context;
    Try("adding", item, [&] {
      const bool may_wait = info->delay != absl::ZeroDuration();
      added = items_.Add(item, context, info->time, may_wait);
    });
    return added;
  }

  void Refuse(const T& item, const Added& added, const AddInfo& info,
              AddFailure failure) {
    Try("refusing", item, [&] {
      if (failure != AddFailure::kParked) items_.ReturnAttempt(item, info);
      items_.Undo(item, added);
    });
    TryEach("refusing", item, [&](QueueTracer<T>& tracer) {
      tracer.OnAddRefused(item, added.context);
      tracer.OnAddFailed(item, info, failure);
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

  // Open while the queue, its clock and its sink exist: the callbacks and
  // completions of a queue may outlive it, and share its book.
  Gate gate;

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

// TraceBook::Attempt
//
// An attempt to process an item, as the tracers of a queue see it. The item
// must outlive it.
template <typename T, typename Hash, typename Eq>
class TraceBook<T, Hash, Eq>::Attempt {
 public:
  // Begins the attempt. The time in `info` is set here.
  Attempt(TraceBook* book, const T& item, ReconcileInfo info)
      : book_(book), item_(item), begin_(book->clock_->TimeNow()) {
    info.time = begin_;
    HandedOutTraces traces;
    Try("beginning", [&] { traces = book_->items_.TakeHandedOut(item_); });
    info.dropped_contexts = traces.dropped;
    book_->TryEach("beginning", item_, [&](QueueTracer<T>& tracer) {
      auto span = tracer.OnReconcileBegin(item_, traces.contexts, info);
      if (span == nullptr) return;
      if (!context_.IsValid()) context_ = span->context();
      spans_.push_back(std::move(span));
    });
    Try("beginning", [&] { book_->items_.SetAttempt(item_, context_); });
  }

  Attempt(const Attempt&) = delete;
  Attempt& operator=(const Attempt&) = delete;

  const TraceContext& context() const { return context_; }

  // Makes the attempt the current one of this thread, for as long as this
  // exists.
  class Entered {
   public:
    explicit Entered(Attempt* attempt)
        : attempt_(*attempt), scope_(attempt->context_) {
      for (const auto& span : attempt_.spans_) {
        attempt_.Try("entering", [&] { span->Enter(); });
      }
    }
    // In the opposite order, as scopes must be left.
    ~Entered() {
      const auto& spans = attempt_.spans_;
      for (auto it = spans.rbegin(); it != spans.rend(); ++it) {
        attempt_.Try("leaving", [&] { (*it)->Leave(); });
      }
    }

    Entered(const Entered&) = delete;
    Entered& operator=(const Entered&) = delete;

   private:
    Attempt& attempt_;
    const TraceScope scope_;
  };

  // Tells the tracers of the end, the first time. The time and the duration in
  // `outcome` are set here.
  void End(ReconcileOutcome outcome) {
    if (ended_.exchange(true)) return;
    std::optional<FollowingAdd> following;
    if (!outcome.status.ok()) {
      if (!outcome.terminal) following = {AddKind::kRetry, {}};
    } else if (outcome.requeue_after > absl::ZeroDuration()) {
      following = {AddKind::kAddAfter, outcome.requeue_after};
    }
    Try("ending", [&] { book_->items_.EndAttempt(item_, following); });
    outcome.time = book_->clock_->TimeNow();
    outcome.duration = outcome.time - begin_;
    for (const auto& span : spans_) {
      Try("ending", [&] { span->End(outcome); });
    }
  }

 private:
  template <typename F>
  void Try(absl::string_view what, F f) {
    book_->Try(what, item_, f);
  }

  TraceBook* const book_;
  const T& item_;
  const absl::Time begin_;
  absl::InlinedVector<std::unique_ptr<ReconcileSpan>, 1> spans_;
  TraceContext context_;
  sync::Atomic<bool> ended_{false};
};

}  // namespace workqueue::internal

#endif  // WORKQUEUE_TRACING_INTERNAL_TRACE_BOOK_H_
