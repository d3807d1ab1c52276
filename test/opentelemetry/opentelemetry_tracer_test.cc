// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/opentelemetry/opentelemetry_tracer.h"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "opentelemetry/exporters/memory/in_memory_span_data.h"
#include "opentelemetry/exporters/memory/in_memory_span_exporter_factory.h"
#include "opentelemetry/nostd/shared_ptr.h"
#include "opentelemetry/nostd/variant.h"
#include "opentelemetry/sdk/trace/simple_processor_factory.h"
#include "opentelemetry/sdk/trace/span_data.h"
#include "opentelemetry/sdk/trace/tracer_provider.h"
#include "opentelemetry/sdk/trace/tracer_provider_factory.h"
#include "opentelemetry/trace/provider.h"
#include "opentelemetry/trace/scope.h"
#include "opentelemetry/trace/span.h"
#include "opentelemetry/trace/span_context.h"
#include "opentelemetry/trace/span_metadata.h"
#include "opentelemetry/trace/tracer.h"
#include "workqueue/clock/fake_clock.h"
#include "workqueue/controller/reconcile.h"
#include "workqueue/lease.h"
#include "workqueue/priority_queue.h"
#include "workqueue/tracing/queue_tracer.h"
#include "workqueue/tracing/trace_context.h"
#include "workqueue/tracing/trace_scope.h"
#include "workqueue/tracing/tracing_queue.h"

namespace workqueue {
namespace {

namespace memory = ::opentelemetry::exporter::memory;
namespace otel = ::opentelemetry::trace;
namespace sdk = ::opentelemetry::sdk;

using SpanData = sdk::trace::SpanData;
using SpanList = std::vector<std::unique_ptr<SpanData>>;
using Attributes = std::map<std::string, std::string>;

struct ToText {
  std::string operator()(bool value) const { return value ? "true" : "false"; }
  std::string operator()(int64_t value) const { return absl::StrCat(value); }
  std::string operator()(double value) const { return absl::StrCat(value); }
  std::string operator()(const std::string& value) const { return value; }
  template <typename T>
  std::string operator()(const T&) const {
    return "a value of another type";
  }
};

Attributes AttributesOf(const SpanData& span) {
  Attributes attributes;
  for (const auto& [name, value] : span.GetAttributes()) {
    attributes[name] = opentelemetry::nostd::visit(ToText(), value);
  }
  return attributes;
}

// Returns the ids of the spans that `span` has links to.
std::vector<otel::SpanId> LinksOf(const SpanData& span) {
  std::vector<otel::SpanId> links;
  for (const sdk::trace::SpanDataLink& link : span.GetLinks()) {
    links.push_back(link.GetSpanContext().span_id());
  }
  return links;
}

std::string NameOf(const SpanData& span) { return std::string(span.GetName()); }

class OpenTelemetryTracerTest : public testing::Test {
 protected:
  OpenTelemetryTracerTest() {
    PriorityQueueOptions<std::string> below;
    below.clock = &clock_;
    TracingQueueOptions<std::string> options;
    options.queue =
        std::make_unique<PriorityQueue<std::string>>(std::move(below));
    options.tracers = {std::make_shared<OpenTelemetryTracer<std::string>>(
        provider_->GetTracer("test"), "deployments")};
    queue_ = *TracingQueue<std::string>::Create(std::move(options));
  }

  static std::unique_ptr<otel::TracerProvider> NewProvider(
      std::shared_ptr<memory::InMemorySpanData>* data) {
    return sdk::trace::TracerProviderFactory::Create(
        sdk::trace::SimpleSpanProcessorFactory::Create(
            memory::InMemorySpanExporterFactory::Create(*data)));
  }

  // Returns the spans that have ended since the last call, in this order.
  SpanList Take() { return data_->Get(); }

  const std::string web_ = "web";
  FakeClock clock_;
  std::shared_ptr<memory::InMemorySpanData> data_;
  const std::unique_ptr<otel::TracerProvider> provider_ = NewProvider(&data_);
  std::unique_ptr<TracingQueue<std::string>> queue_;
};

TEST_F(OpenTelemetryTracerTest, AnAddIsASpan) {
  queue_->Add("web");
  const SpanList spans = Take();
  ASSERT_EQ(spans.size(), 1u);
  const SpanData& add = *spans[0];
  EXPECT_EQ(NameOf(add), "publish deployments");
  EXPECT_EQ(add.GetSpanKind(), otel::SpanKind::kProducer);
  EXPECT_EQ(add.GetStatus(), otel::StatusCode::kUnset);
  EXPECT_FALSE(add.GetParentSpanId().IsValid());
  EXPECT_TRUE(LinksOf(add).empty());
  EXPECT_EQ(AttributesOf(add),
            (Attributes{{"messaging.system", "workqueue"},
                        {"messaging.operation.name", "publish"},
                        {"messaging.operation.type", "send"},
                        {"messaging.destination.name", "deployments"},
                        {"messaging.message.id", "web"},
                        {"workqueue.add.kind", "add"}}));
}

TEST_F(OpenTelemetryTracerTest, ADelayIsAnAttribute) {
  queue_->AddAfter("web", absl::Milliseconds(1500));
  const Attributes attributes = AttributesOf(*Take().at(0));
  EXPECT_EQ(attributes.at("workqueue.add.kind"), "add after");
  EXPECT_EQ(attributes.at("workqueue.add.delay"), "1.5");
}

TEST_F(OpenTelemetryTracerTest, AnAttemptIsASpanWithLinksToTheAdds) {
  queue_->Add("web");
  queue_->Add("web");
  const Lease<std::string> lease = *queue_->Acquire();
  queue_->BeginAttempt(*lease).End(absl::OkStatus());
  const SpanList spans = Take();
  ASSERT_EQ(spans.size(), 3u);
  const SpanData& attempt = *spans[2];
  EXPECT_EQ(NameOf(attempt), "process deployments");
  EXPECT_EQ(attempt.GetSpanKind(), otel::SpanKind::kConsumer);
  EXPECT_EQ(attempt.GetStatus(), otel::StatusCode::kUnset);
  EXPECT_FALSE(attempt.GetParentSpanId().IsValid());
  EXPECT_EQ(LinksOf(attempt),
            (std::vector<otel::SpanId>{spans[0]->GetSpanId(),
                                       spans[1]->GetSpanId()}));
  EXPECT_EQ(attempt.GetLinks()[0].GetSpanContext().trace_id(),
            spans[0]->GetTraceId());
  EXPECT_TRUE(attempt.GetLinks()[0].GetSpanContext().IsSampled());
  EXPECT_EQ(AttributesOf(attempt),
            (Attributes{{"messaging.system", "workqueue"},
                        {"messaging.operation.name", "process"},
                        {"messaging.operation.type", "process"},
                        {"messaging.destination.name", "deployments"},
                        {"messaging.message.id", "web"},
                        {"workqueue.failures", "0"}}));
}

TEST_F(OpenTelemetryTracerTest, FailuresThatNobodyKnowsAreLeftOut) {
  OpenTelemetryTracer<std::string> tracer(provider_->GetTracer("test"),
                                          "deployments");
  ReconcileInfo info;
  info.failures = std::nullopt;
  tracer.OnReconcileBegin(web_, {}, info)->End({});
  EXPECT_EQ(AttributesOf(*Take().at(0)).count("workqueue.failures"), 0u);
}

TEST_F(OpenTelemetryTracerTest, FurtherAddsAreCounted) {
  for (int i = 0; i < 10; ++i) queue_->Add("web");
  const Lease<std::string> lease = *queue_->Acquire();
  queue_->BeginAttempt(*lease).End(absl::OkStatus());
  const SpanList spans = Take();
  EXPECT_EQ(spans.back()->GetLinks().size(), 8u);
  EXPECT_EQ(AttributesOf(*spans.back()).at("workqueue.dropped_links"), "2");
}

TEST_F(OpenTelemetryTracerTest, AnErrorSetsTheStatus) {
  queue_->BeginAttempt(web_).End(absl::UnavailableError("down"));
  const SpanList spans = Take();
  ASSERT_EQ(spans.size(), 1u);
  EXPECT_EQ(spans[0]->GetStatus(), otel::StatusCode::kError);
  EXPECT_EQ(std::string(spans[0]->GetDescription()), "down");
  EXPECT_EQ(AttributesOf(*spans[0]).at("error.type"), "UNAVAILABLE");
}

TEST_F(OpenTelemetryTracerTest, AnExceptionIsAnErrorOfItsOwnType) {
  OpenTelemetryTracer<int> tracer(provider_->GetTracer("test"), "numbers");
  ReconcileOutcome outcome;
  outcome.status = absl::InternalError("oops");
  outcome.threw = true;
  tracer.OnReconcileBegin(42, {}, ReconcileInfo())->End(outcome);
  const SpanList spans = Take();
  ASSERT_EQ(spans.size(), 1u);
  EXPECT_EQ(std::string(spans[0]->GetDescription()), "oops");
  EXPECT_EQ(AttributesOf(*spans[0]).at("error.type"), "exception");
  EXPECT_EQ(AttributesOf(*spans[0]).at("messaging.message.id"), "42");
}

TEST_F(OpenTelemetryTracerTest, ARequeueIsAnAttribute) {
  queue_->BeginAttempt(web_).End(ReconcileResult{absl::Minutes(1)});
  EXPECT_EQ(AttributesOf(*Take().at(0)).at("workqueue.requeue_after"), "60");
}

TEST_F(OpenTelemetryTracerTest, ARetryLinksToTheAttemptThatFailed) {
  {
    auto attempt = queue_->BeginAttempt(web_);
    attempt.End(absl::UnavailableError("down"));
  }
  queue_->AddRateLimited("web");
  const SpanList spans = Take();
  ASSERT_EQ(spans.size(), 2u);
  EXPECT_EQ(NameOf(*spans[1]), "publish deployments");
  EXPECT_EQ(LinksOf(*spans[1]),
            std::vector<otel::SpanId>{spans[0]->GetSpanId()});
  EXPECT_EQ(spans[1]->GetParentSpanId(), spans[0]->GetSpanId());
  EXPECT_EQ(spans[1]->GetTraceId(), spans[0]->GetTraceId());
  EXPECT_EQ(AttributesOf(*spans[1]).at("workqueue.add.kind"), "retry");
}

TEST_F(OpenTelemetryTracerTest, AnAddInsideOfAnAttemptIsItsChild) {
  auto attempt = queue_->BeginAttempt(web_);
  queue_->Add("db");
  attempt.End(absl::OkStatus());
  queue_->Add("mail");
  const SpanList spans = Take();
  ASSERT_EQ(spans.size(), 3u);
  EXPECT_EQ(spans[0]->GetParentSpanId(), spans[1]->GetSpanId());
  EXPECT_FALSE(spans[2]->GetParentSpanId().IsValid());
}

TEST_F(OpenTelemetryTracerTest, AnAddIsAChildOfTheCurrentSpan) {
  const auto request = provider_->GetTracer("test")->StartSpan("request");
  {
    const otel::Scope scope(request);
    queue_->Add("web");
    // An attempt has a trace of its own.
    queue_->BeginAttempt(web_).End(absl::OkStatus());
  }
  const SpanList spans = Take();
  ASSERT_EQ(spans.size(), 2u);
  EXPECT_EQ(spans[0]->GetParentSpanId(), request->GetContext().span_id());
  EXPECT_FALSE(spans[1]->GetParentSpanId().IsValid());
  EXPECT_NE(spans[1]->GetTraceId(), spans[0]->GetTraceId());
}

TEST_F(OpenTelemetryTracerTest, AnAddIsAChildOfTheCurrentContext) {
  TraceContext context;
  context.trace_id[0] = 1;
  context.span_id[0] = 2;
  context.flags = TraceContext::kSampled;
  {
    const TraceScope scope(context);
    queue_->Add("web");
  }
  const SpanList spans = Take();
  ASSERT_EQ(spans.size(), 1u);
  char hex[16];
  spans[0]->GetParentSpanId().ToLowerBase16(hex);
  EXPECT_EQ(std::string(hex, 16), "0200000000000000");
}

// In the guide.
std::shared_ptr<QueueTracer<std::string>> NewTracer() {
  auto provider = opentelemetry::trace::Provider::GetTracerProvider();
  auto tracer = std::make_shared<workqueue::OpenTelemetryTracer<std::string>>(
      provider->GetTracer("deployments"), "deployments");
  return tracer;
}

TEST(OpenTelemetryProviderTest, WithoutAProviderThereAreNoContexts) {
  EXPECT_FALSE(NewTracer()->OnAdd("web", AddInfo()).IsValid());
}

TEST_F(OpenTelemetryTracerTest, TheIdCanBeChosen) {
  OpenTelemetryTracer<int> tracer(provider_->GetTracer("test"), "numbers",
                                  [](int) { return std::string("secret"); });
  const TraceContext context = tracer.OnAdd(42, AddInfo());
  EXPECT_TRUE(context.IsValid());
  const SpanList spans = Take();
  ASSERT_EQ(spans.size(), 1u);
  EXPECT_EQ(NameOf(*spans[0]), "publish numbers");
  EXPECT_EQ(AttributesOf(*spans[0]).at("messaging.message.id"), "secret");
}

TEST_F(OpenTelemetryTracerTest, TheTextsAreUtf8) {
  OpenTelemetryTracer<int> tracer(provider_->GetTracer("test"), "numb\xffrs",
                                  [](int) { return std::string("id\xff"); });
  tracer.OnAdd(42, AddInfo());
  ReconcileOutcome outcome;
  outcome.status = absl::InternalError("bad \xff");
  tracer.OnReconcileBegin(42, {}, ReconcileInfo())->End(outcome);
  const SpanList spans = Take();
  ASSERT_EQ(spans.size(), 2u);
  EXPECT_EQ(NameOf(*spans[0]), "publish numb\uFFFDrs");
  EXPECT_EQ(NameOf(*spans[1]), "process numb\uFFFDrs");
  for (const auto& span : spans) {
    EXPECT_EQ(AttributesOf(*span).at("messaging.destination.name"),
              "numb\uFFFDrs");
    EXPECT_EQ(AttributesOf(*span).at("messaging.message.id"), "id\uFFFD");
  }
  EXPECT_EQ(spans[1]->GetDescription(), "bad \uFFFD");
}

}  // namespace
}  // namespace workqueue
