// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_TRACING_TRACE_SCOPE_H_
#define WORKQUEUE_TRACING_TRACE_SCOPE_H_

#include <utility>

#include "workqueue/tracing/trace_context.h"

namespace workqueue {

// TraceScope
//
// Makes a context the current one of this thread for as long as the scope
// exists. An add that a thread makes meanwhile carries this context, unless a
// tracer makes a context of its own for the add:
//
//     absl::StatusOr<workqueue::TraceContext> caller =
//         workqueue::ParseTraceParent(request.header("traceparent"));
//     workqueue::TraceScope scope(
//         caller.value_or(workqueue::TraceContext()));
//     queue.Add(request.key());
//
// A program whose tracer keeps the current context itself, as OpenTelemetry's
// does, needs no scope.
//
// Scopes nest. A scope must be destroyed by the thread that made it, before the
// scope around it. Takes no lock and allocates nothing.
class TraceScope {
 public:
  explicit TraceScope(const TraceContext& context)
      : outer_(std::exchange(Slot(), context)) {}
  ~TraceScope() { Slot() = outer_; }

  TraceScope(const TraceScope&) = delete;
  TraceScope& operator=(const TraceScope&) = delete;

  // Returns the context of the innermost scope of this thread; an invalid one
  // if there is no scope.
  static const TraceContext& Current() { return Slot(); }

 private:
  static TraceContext& Slot() {
    thread_local TraceContext current;
    return current;
  }

  const TraceContext outer_;
};

}  // namespace workqueue

#endif  // WORKQUEUE_TRACING_TRACE_SCOPE_H_
