// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_OPENTELEMETRY_INTERNAL_MESSAGING_SPANS_H_
#define WORKQUEUE_OPENTELEMETRY_INTERNAL_MESSAGING_SPANS_H_

#include <memory>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "opentelemetry/nostd/shared_ptr.h"
#include "opentelemetry/trace/tracer.h"
#include "workqueue/tracing/queue_tracer.h"
#include "workqueue/tracing/trace_context.h"

namespace workqueue::internal {

// MessagingSpans
//
// The spans of an `OpenTelemetryTracer`, without the type of the items.
// `item_id` is the identifier of an item. All texts of a span are UTF-8; see
// `ToUtf8()`.
//
// Thread-safe.
class MessagingSpans {
 public:
  MessagingSpans(
      opentelemetry::nostd::shared_ptr<opentelemetry::trace::Tracer> tracer,
      absl::string_view queue);

  // Makes the span of an add, and returns its context.
  TraceContext Publish(absl::string_view item_id, const AddInfo& info) const;

  // Starts the span of an attempt.
  std::unique_ptr<ReconcileSpan> Process(
      absl::string_view item_id, absl::Span<const TraceContext> contexts,
      const ReconcileInfo& info) const;

 private:
  const opentelemetry::nostd::shared_ptr<opentelemetry::trace::Tracer> tracer_;
  const std::string queue_;
  const std::string publish_name_;
  const std::string process_name_;
};

}  // namespace workqueue::internal

#endif  // WORKQUEUE_OPENTELEMETRY_INTERNAL_MESSAGING_SPANS_H_
