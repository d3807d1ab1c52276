// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Needs opentelemetry-cpp's API. Tested with version 1.28.0.

#ifndef WORKQUEUE_OPENTELEMETRY_OPENTELEMETRY_TRACER_H_
#define WORKQUEUE_OPENTELEMETRY_OPENTELEMETRY_TRACER_H_

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "absl/types/span.h"
#include "opentelemetry/nostd/shared_ptr.h"
#include "opentelemetry/trace/tracer.h"
#include "workqueue/base/printable.h"
#include "workqueue/opentelemetry/internal/messaging_spans.h"
#include "workqueue/tracing/queue_tracer.h"
#include "workqueue/tracing/trace_context.h"

namespace workqueue {

// OpenTelemetryTracer
//
// Makes OpenTelemetry spans of what happens to the items of a `TracingQueue`,
// as OpenTelemetry's semantic conventions for messaging say, in version 1.43.0:
//
//   * An add is a span "publish NAME" of the kind producer. It is a child of
//     the current span of the thread, or else of `AddInfo::current`. The add
//     after a failed attempt has a link to this attempt, and is its child if
//     there is no current span.
//   * An attempt is a span "process NAME" of the kind consumer, in a trace of
//     its own, with a link to each add that it answers. It is the current span
//     of the thread while the reconcile function runs. An error sets the status
//     of the span.
//
// Both have the attributes `messaging.system` ("workqueue"),
// `messaging.operation.name` ("publish" or "process"),
// `messaging.operation.type` ("send" or "process"),
// `messaging.destination.name` (NAME), and `messaging.message.id`, the item. An
// error adds `error.type`, the code of the status, such as "UNAVAILABLE", or
// "exception".
//
// These attributes of this library are not part of the conventions:
// `workqueue.add.kind` (see `AddKindName()`), `workqueue.add.delay` in seconds,
// if the caller gave a delay, `workqueue.failures`, `workqueue.requeue_after`
// in seconds, and `workqueue.dropped_links`, if there are any.
//
// Example:
//
//     auto provider = opentelemetry::trace::Provider::GetTracerProvider();
//     tracing_options.tracers = {
//         std::make_shared<workqueue::OpenTelemetryTracer<std::string>>(
//             provider->GetTracer("deployments"), "deployments")};
//
// The span of an add has ended when the queue takes the item. So it does not
// tell whether the queue has taken it.
//
// Thread-safe.
template <typename T>
class OpenTelemetryTracer final : public QueueTracer<T> {
 public:
  // `name` is the name of the queue. `id` returns the identifier of an item; by
  // default, the item is printed as in messages: on one line, cut after 256
  // bytes. Spans leave the process, so `id` must return nothing secret.
  OpenTelemetryTracer(
      opentelemetry::nostd::shared_ptr<opentelemetry::trace::Tracer> tracer,
      std::string name,
      std::function<std::string(const T&)> id = internal::DescribeItem<T>)
      : spans_(std::move(tracer), name), id_(std::move(id)) {}

  TraceContext OnAdd(const T& item, const AddInfo& info) override {
    return spans_.Publish(id_(item), info);
  }

  std::unique_ptr<ReconcileSpan> OnReconcileBegin(
      const T& item, absl::Span<const TraceContext> contexts,
      const ReconcileInfo& info) override {
    return spans_.Process(id_(item), contexts, info);
  }

 private:
  const internal::MessagingSpans spans_;
  const std::function<std::string(const T&)> id_;
};

}  // namespace workqueue

#endif  // WORKQUEUE_OPENTELEMETRY_OPENTELEMETRY_TRACER_H_
