// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/metrics.h"

#include <atomic>

namespace workqueue {
namespace {

std::atomic<MetricsProvider*> default_provider{nullptr};

}  // namespace

void SetProvider(MetricsProvider* provider) {
  MetricsProvider* none = nullptr;
  default_provider.compare_exchange_strong(none, provider);
}

MetricsProvider* GetProvider() { return default_provider.load(); }

}  // namespace workqueue
