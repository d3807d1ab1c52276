// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_INSPECT_HISTORY_TRACER_H_
#define WORKQUEUE_INSPECT_HISTORY_TRACER_H_

#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "workqueue/base/printable.h"
#include "workqueue/inspect/inspection.h"
#include "workqueue/inspect/internal/key_text.h"
#include "workqueue/inspect/internal/readable.h"
#include "workqueue/inspect/item_history.h"
#include "workqueue/shared/codec.h"
#include "workqueue/tracing/queue_tracer.h"
#include "workqueue/tracing/trace_context.h"

namespace workqueue {

// HistoryTracer
//
// Records the events of a `TracingQueue` in an `ItemHistory`, so that a page
// can show the history of an item:
//
//     auto history = std::make_shared<workqueue::ItemHistory>();
//     workqueue::TracingQueueOptions<std::string> tracing;
//     tracing.queue =
//     std::make_unique<workqueue::PriorityQueue<std::string>>();
//     tracing.tracers = {
//         std::make_shared<workqueue::HistoryTracer<std::string>>(history)};
//     ...
//     workqueue::InspectOptions<std::string> options;
//     options.history = history;
//     workqueue::InspectController(controller.get(), options);
//
// Thread-safe.
template <typename T>
class HistoryTracer final : public QueueTracer<T> {
 public:
  // `history` must not be null. `codec` must be that of the `InspectOptions`.
  explicit HistoryTracer(std::shared_ptr<ItemHistory> history,
                         Codec<T> codec = DefaultCodec<T>())
      : history_(std::move(history)), keys_(std::move(codec)) {}

  TraceContext OnAdd(const T& item, const AddInfo& info) override {
    history_->Record(EventOf(item, info));
    return TraceContext();
  }

  void OnAddFailed(const T& item, const AddInfo& info,
                   AddFailure failure) override {
    history_->Refuse(EventOf(item, info),
                     failure == AddFailure::kParked    ? "parked instead"
                     : failure == AddFailure::kUnknown ? "perhaps not taken"
                                                       : "not taken");
  }

  void OnHandOut(const T& item, absl::Span<const TraceContext> /*contexts*/,
                 const HandOutInfo& info) override {
    std::string what = "handed out";
    if (info.since_first_add.has_value()) {
      absl::StrAppend(&what, ", ",
                      internal::ReadableDuration(*info.since_first_add),
                      " after the add");
    }
    history_->Record({info.time, keys_.Of(item), std::move(what),
                      InspectedEventKind::kHandedOut});
  }

  std::unique_ptr<ReconcileSpan> OnReconcileBegin(
      const T& item, absl::Span<const TraceContext> /*contexts*/,
      const ReconcileInfo& /*info*/) override {
    return std::make_unique<Attempt>(history_, keys_.Of(item));
  }

 private:
  class Attempt final : public ReconcileSpan {
   public:
    Attempt(std::shared_ptr<ItemHistory> history, std::string key)
        : history_(std::move(history)), key_(std::move(key)) {}

    void End(const ReconcileOutcome& outcome) override {
      std::string what = outcome.not_now       ? "not now, after "
                         : outcome.status.ok() ? "succeeded after "
                         : outcome.terminal    ? "failed for good after "
                         : outcome.threw       ? "threw after "
                                               : "failed after ";
      what += internal::ReadableDuration(outcome.duration);
      if (!outcome.status.ok()) {
        absl::StrAppend(
            &what, ": ",
            internal::Printable(internal::StatusText(outcome.status)));
      }
      history_->Record({outcome.time, key_, std::move(what),
                        outcome.not_now       ? InspectedEventKind::kNotNow
                        : outcome.status.ok() ? InspectedEventKind::kSucceeded
                                              : InspectedEventKind::kFailed});
    }

   private:
    const std::shared_ptr<ItemHistory> history_;
    const std::string key_;
  };

  InspectedEvent EventOf(const T& item, const AddInfo& info) const {
    std::string what(AddKindName(info.kind));
    if (info.delay.has_value() && *info.delay > absl::ZeroDuration()) {
      absl::StrAppend(&what, ", in ", internal::ReadableDuration(*info.delay));
    }
    if (info.priority != 0) {
      absl::StrAppend(&what, ", priority ", info.priority);
    }
    return {info.time, keys_.Of(item), std::move(what),
            info.kind == AddKind::kRetry ? InspectedEventKind::kRetried
                                         : InspectedEventKind::kAdded};
  }

  const std::shared_ptr<ItemHistory> history_;
  const internal::KeyText<T> keys_;
};

}  // namespace workqueue

#endif  // WORKQUEUE_INSPECT_HISTORY_TRACER_H_
