// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_TEST_TRACING_RECORDING_TRACER_H_
#define WORKQUEUE_TEST_TRACING_RECORDING_TRACER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "workqueue/base/mutex_lock.h"
#include "workqueue/tracing/queue_tracer.h"
#include "workqueue/tracing/trace_context.h"

namespace workqueue {

// Returns the `n`th context of a trace; an invalid one if `n` is zero.
inline TraceContext TestContext(uint8_t n) {
  TraceContext context;
  context.trace_id[15] = n == 0 ? 0 : 1;
  context.span_id[7] = n;
  return context;
}

// Returns the `n` of `TestContext(n)`.
inline int NumberOf(const TraceContext& context) { return context.span_id[7]; }

inline std::string NumbersOf(absl::Span<const TraceContext> contexts) {
  return absl::StrCat(
      "[",
      absl::StrJoin(contexts, " ",
                    [](std::string* out, const TraceContext& context) {
                      absl::StrAppend(out, NumberOf(context));
                    }),
      "]");
}

// RecordingTracer
//
// A tracer that records all calls as texts, and gives the adds and attempts the
// contexts 1, 2 and so on.
class RecordingTracer final : public QueueTracer<std::string> {
 public:
  using Events = std::vector<std::string>;

  TraceContext OnAdd(const std::string& item, const AddInfo& info) override {
    internal::MutexLock lock(&mu_);
    const TraceContext context = TestContext(++contexts_);
    std::string event = absl::StrCat(
        item, ": ", AddKindName(info.kind), " ", NumberOf(context), " in ",
        info.delay.has_value() ? absl::FormatDuration(*info.delay) : "?");
    if (info.priority != 0) {
      absl::StrAppend(&event, " at priority ", info.priority);
    }
    if (info.current.IsValid()) {
      absl::StrAppend(&event, " inside ", NumberOf(info.current));
    }
    if (info.previous_attempt.IsValid()) {
      absl::StrAppend(&event, " after ", NumberOf(info.previous_attempt));
    }
    events_.push_back(std::move(event));
    return context;
  }

  void OnAddRefused(const std::string& item,
                    const TraceContext& context) override {
    Record(absl::StrCat(item, ": refused ", NumberOf(context)));
  }

  void OnHandOut(const std::string& item,
                 absl::Span<const TraceContext> contexts,
                 const HandOutInfo& info) override {
    Record(absl::StrCat(item, ": got ", NumbersOf(contexts),
                        Dropped(info.dropped_contexts), " after ",
                        info.since_first_add.has_value()
                            ? absl::FormatDuration(*info.since_first_add)
                            : "?"));
  }

  std::unique_ptr<ReconcileSpan> OnReconcileBegin(
      const std::string& item, absl::Span<const TraceContext> contexts,
      const ReconcileInfo& info) override {
    internal::MutexLock lock(&mu_);
    const TraceContext context = TestContext(++contexts_);
    events_.push_back(absl::StrCat(
        item, ": begin ", NumberOf(context), " of ", NumbersOf(contexts),
        Dropped(info.dropped_contexts), " by '", info.controller_name,
        "' priority ", info.priority, " failures ",
        info.failures.has_value() ? absl::StrCat(*info.failures) : "?"));
    return std::make_unique<Span>(this, item, context);
  }

  // Returns the calls since the last call.
  Events Take() {
    internal::MutexLock lock(&mu_);
    return std::exchange(events_, Events());
  }

  // Whether `Enter()` and `Leave()` are recorded, too.
  void RecordScopes() { scopes_ = true; }

 private:
  class Span final : public ReconcileSpan {
   public:
    Span(RecordingTracer* tracer, std::string item, const TraceContext& context)
        : tracer_(tracer), item_(std::move(item)), context_(context) {}

    TraceContext context() const override { return context_; }

    void Enter() override {
      if (tracer_->scopes_) Record("enter");
    }
    void Leave() override {
      if (tracer_->scopes_) Record("leave");
    }
    void End(const ReconcileOutcome& outcome) override {
      std::string event =
          absl::StrCat("end ", NumberOf(context_), " after ",
                       absl::FormatDuration(outcome.duration), " ",
                       absl::StatusCodeToString(outcome.status.code()));
      if (!outcome.status.ok()) {
        absl::StrAppend(&event, " '", outcome.status.message(), "'");
      }
      if (outcome.threw) absl::StrAppend(&event, " threw");
      if (outcome.terminal) absl::StrAppend(&event, " terminal");
      if (outcome.requeue_after > absl::ZeroDuration()) {
        absl::StrAppend(&event, " again in ",
                        absl::FormatDuration(outcome.requeue_after));
      }
      Record(event);
    }

   private:
    void Record(const std::string& event) {
      tracer_->Record(absl::StrCat(item_, ": ", event));
    }

    RecordingTracer* const tracer_;
    const std::string item_;
    const TraceContext context_;
  };

  static std::string Dropped(size_t n) {
    return n == 0 ? "" : absl::StrCat(" and ", n);
  }

  void Record(std::string event) {
    internal::MutexLock lock(&mu_);
    events_.push_back(std::move(event));
  }

  bool scopes_ = false;
  absl::Mutex mu_;
  uint8_t contexts_ ABSL_GUARDED_BY(mu_) = 0;
  Events events_ ABSL_GUARDED_BY(mu_);
};

}  // namespace workqueue

#endif  // WORKQUEUE_TEST_TRACING_RECORDING_TRACER_H_
