// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_TEST_SHARED_IGNORING_LISTENER_H_
#define WORKQUEUE_TEST_SHARED_IGNORING_LISTENER_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "workqueue/shared/internal/engine.h"

namespace workqueue::internal {

// Does nothing with what it hears. Tests derive from it.
class IgnoringListener : public EngineListener {
 public:
  void OnListening(const std::string& /*client*/) override {}
  void OnDisconnected(const absl::Status& /*why*/) override {}
  void OnPush(HandedOut /*item*/, int64_t /*now*/) override {}
  void OnDue(int64_t /*ticks*/) override {}
  void OnShutDown(int64_t /*count*/) override {}
  void OnChanged() override {}
};

}  // namespace workqueue::internal

#endif  // WORKQUEUE_TEST_SHARED_IGNORING_LISTENER_H_
