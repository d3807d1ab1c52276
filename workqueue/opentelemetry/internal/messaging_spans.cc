// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/opentelemetry/internal/messaging_spans.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "opentelemetry/common/attribute_value.h"
#include "opentelemetry/context/context.h"
#include "opentelemetry/nostd/shared_ptr.h"
#include "opentelemetry/nostd/span.h"
#include "opentelemetry/nostd/string_view.h"
#include "opentelemetry/trace/context.h"
#include "opentelemetry/trace/scope.h"
#include "opentelemetry/trace/span.h"
#include "opentelemetry/trace/span_context.h"
#include "opentelemetry/trace/span_id.h"
#include "opentelemetry/trace/span_metadata.h"
#include "opentelemetry/trace/span_startoptions.h"
#include "opentelemetry/trace/trace_flags.h"
#include "opentelemetry/trace/trace_id.h"
#include "opentelemetry/trace/tracer.h"
#include "workqueue/base/printable.h"
#include "workqueue/tracing/queue_tracer.h"
#include "workqueue/tracing/trace_context.h"

namespace workqueue::internal {
namespace {

namespace otel = ::opentelemetry::trace;
using ::opentelemetry::common::AttributeValue;
using ::opentelemetry::nostd::shared_ptr;
using OtelString = ::opentelemetry::nostd::string_view;

using Attributes = std::vector<std::pair<OtelString, AttributeValue>>;
using Links = std::vector<std::pair<otel::SpanContext, Attributes>>;

OtelString ToOtel(absl::string_view text) { return {text.data(), text.size()}; }

otel::SpanContext ToOtel(const TraceContext& context) {
  return otel::SpanContext(
      otel::TraceId(
          opentelemetry::nostd::span<const uint8_t, 16>(context.trace_id)),
      otel::SpanId(
          opentelemetry::nostd::span<const uint8_t, 8>(context.span_id)),
      otel::TraceFlags(context.flags), /*is_remote=*/false);
}

TraceContext FromOtel(const otel::SpanContext& context) {
  TraceContext result;
  context.trace_id().CopyBytesTo(
      opentelemetry::nostd::span<uint8_t, 16>(result.trace_id));
  context.span_id().CopyBytesTo(
      opentelemetry::nostd::span<uint8_t, 8>(result.span_id));
  result.flags = context.trace_flags().flags();
  return result;
}

// Returns the attributes of both operations. They refer to the arguments.
Attributes CommonAttributes(OtelString operation, OtelString type,
                            const std::string& queue, const std::string& id) {
  return {{"messaging.system", "workqueue"},
          {"messaging.operation.name", operation},
          {"messaging.operation.type", type},
          {"messaging.destination.name", ToOtel(queue)},
          {"messaging.message.id", ToOtel(id)}};
}

class ProcessSpan final : public ReconcileSpan {
 public:
  explicit ProcessSpan(shared_ptr<otel::Span> span) : span_(std::move(span)) {}

  TraceContext context() const override {
    return FromOtel(span_->GetContext());
  }

  void Enter() override { scope_.emplace(span_); }
  void Leave() override { scope_.reset(); }

  void End(const ReconcileOutcome& outcome) override {
    if (!outcome.status.ok()) {
      const std::string code =
          outcome.threw ? "exception"
                        : absl::StatusCodeToString(outcome.status.code());
      span_->SetAttribute("error.type", ToOtel(code));
      span_->SetStatus(otel::StatusCode::kError,
                       ToUtf8(outcome.status.message()));
    }
    if (outcome.requeue_after > absl::ZeroDuration()) {
      span_->SetAttribute("workqueue.requeue_after",
                          absl::ToDoubleSeconds(outcome.requeue_after));
    }
    span_->End();
  }

 private:
  const shared_ptr<otel::Span> span_;
  std::optional<otel::Scope> scope_;
};

}  // namespace

MessagingSpans::MessagingSpans(shared_ptr<otel::Tracer> tracer,
                               absl::string_view queue)
    : tracer_(std::move(tracer)),
      queue_(ToUtf8(queue)),
      publish_name_(absl::StrCat("publish ", queue_)),
      process_name_(absl::StrCat("process ", queue_)) {}

TraceContext MessagingSpans::Publish(absl::string_view item_id,
                                     const AddInfo& info) const {
  const std::string id = ToUtf8(item_id);
  Attributes attributes = CommonAttributes("publish", "send", queue_, id);
  attributes.emplace_back("workqueue.add.kind", ToOtel(AddKindName(info.kind)));
  if (info.delay.value_or(absl::ZeroDuration()) > absl::ZeroDuration()) {
    attributes.emplace_back("workqueue.add.delay",
                            absl::ToDoubleSeconds(*info.delay));
  }

  Links links;
  if (info.previous_attempt.IsValid()) {
    links.emplace_back(ToOtel(info.previous_attempt), Attributes());
  }
  otel::StartSpanOptions options;
  options.kind = otel::SpanKind::kProducer;
  // Without a parent in the options, the current span is the parent.
  if (!otel::Tracer::GetCurrentSpan()->GetContext().IsValid()) {
    const TraceContext& parent =
        info.current.IsValid() ? info.current : info.previous_attempt;
    if (parent.IsValid()) options.parent = ToOtel(parent);
  }
  const shared_ptr<otel::Span> span =
      tracer_->StartSpan(ToOtel(publish_name_), attributes, links, options);
  const TraceContext context = FromOtel(span->GetContext());
  span->End();
  return context;
}

std::unique_ptr<ReconcileSpan> MessagingSpans::Process(
    absl::string_view item_id, absl::Span<const TraceContext> contexts,
    const ReconcileInfo& info) const {
  const std::string id = ToUtf8(item_id);
  Attributes attributes = CommonAttributes("process", "process", queue_, id);
  if (info.failures.has_value()) {
    attributes.emplace_back("workqueue.failures",
                            static_cast<int64_t>(*info.failures));
  }
  if (info.dropped_contexts > 0) {
    attributes.emplace_back("workqueue.dropped_links",
                            static_cast<int64_t>(info.dropped_contexts));
  }
  Links links;
  links.reserve(contexts.size());
  for (const TraceContext& context : contexts) {
    links.emplace_back(ToOtel(context), Attributes());
  }
  otel::StartSpanOptions options;
  options.kind = otel::SpanKind::kConsumer;
  // An executor may run the reconcile function inside of another attempt.
  options.parent =
      opentelemetry::context::Context().SetValue(otel::kIsRootSpanKey, true);
  return std::make_unique<ProcessSpan>(
      tracer_->StartSpan(ToOtel(process_name_), attributes, links, options));
}

}  // namespace workqueue::internal
