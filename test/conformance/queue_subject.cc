// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "test/conformance/queue_subject.h"

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "test/conformance/recorder.h"
#include "test/conformance/trace.h"
#include "test/conformance/value.h"
#include "workqueue/interfaces.h"

namespace conformance {
namespace {

const std::string& ItemIn(const std::vector<Value>& args) {
  return std::get<std::string>(args[0]);
}

}  // namespace

QueueSubject::QueueSubject(const Header& header) : metrics_(header.metrics) {
  if (metrics_) OnMetrics();
  On("step", [this](const Args& args) {
    clock_.Step(std::get<absl::Duration>(args[0]));
    return Result();
  });
}

void QueueSubject::OnBase(workqueue::Interface<Item>* queue) {
  On("add", [queue](const Args& args) {
    queue->Add(ItemIn(args));
    return Result();
  });
  On("done", [queue](const Args& args) {
    queue->Done(ItemIn(args));
    return Result();
  });
  On("get", [queue](const Args&) {
    // Get() would block forever.
    if (queue->Len() == 0 && !queue->ShuttingDown()) {
      return Result{std::string("<would block>")};
    }
    return Result{queue->Get().value_or("<shutdown>")};
  });
  On("len", [queue](const Args&) {
    return Result{static_cast<int64_t>(queue->Len())};
  });
  On("shutdown", [queue](const Args&) {
    queue->ShutDown();
    return Result();
  });
  On("shuttingdown",
     [queue](const Args&) { return Result{queue->ShuttingDown()}; });
}

void QueueSubject::OnDelaying(workqueue::DelayingInterface<Item>* queue) {
  On("addafter", [this, queue](const Args& args) {
    queue->AddAfter(ItemIn(args), std::get<absl::Duration>(args[1]));
    // Waits until the queue's loop has handled it.
    clock_.Step(absl::ZeroDuration());
    return Result();
  });
}

void QueueSubject::OnRateLimiting(
    workqueue::RateLimitingInterface<Item>* queue) {
  On("addratelimited", [this, queue](const Args& args) {
    queue->AddRateLimited(ItemIn(args));
    // Waits until the queue's loop has handled it.
    clock_.Step(absl::ZeroDuration());
    return Result();
  });
  On("forget", [queue](const Args& args) {
    queue->Forget(ItemIn(args));
    return Result();
  });
  On("numrequeues", [queue](const Args& args) {
    return Result{int64_t{queue->NumRequeues(ItemIn(args))}};
  });
}

void QueueSubject::OnMetrics() {
  On("metrics depth",
     [this](const Args&) { return Result{recorder_.depth()}; });
  On("metrics adds", [this](const Args&) { return Result{recorder_.adds()}; });
  On("metrics retries",
     [this](const Args&) { return Result{recorder_.retries()}; });
  OnHistogram("metrics latency", recorder_.latency());
  OnHistogram("metrics work", recorder_.work());
  On("metrics unfinished",
     [this](const Args&) { return Result{recorder_.unfinished()}; });
  On("metrics longest",
     [this](const Args&) { return Result{recorder_.longest()}; });
}

void QueueSubject::OnHistogram(absl::string_view operation,
                               const Recorder::Observations& observations) {
  On(operation, [&observations](const Args&) {
    return Result{observations.count.load(), observations.sum.load()};
  });
}

}  // namespace conformance
