// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/metrics.h"

#include "workqueue/simulation/sync.h"

namespace workqueue {
namespace {

sync::Atomic<MetricsProvider*> default_provider{nullptr};

}  // namespace

void SetProvider(MetricsProvider* provider) {
  MetricsProvider* none = nullptr;
  default_provider.compare_exchange_strong(none, provider);
}

MetricsProvider* GetProvider() { return default_provider.load(); }

}  // namespace workqueue
