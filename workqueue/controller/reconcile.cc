// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/controller/reconcile.h"

#include "absl/status/status.h"
#include "absl/strings/cord.h"
#include "absl/strings/string_view.h"

namespace workqueue {
namespace {

// The type URL of the payload that marks a terminal error.
constexpr absl::string_view kTerminalUrl = "workqueue/controller.TerminalError";

}  // namespace

absl::Status TerminalError(absl::Status error) {
  if (error.ok()) {
    error = absl::InternalError("TerminalError() was called with an OK status");
  }
  error.SetPayload(kTerminalUrl, absl::Cord());
  return error;
}

bool IsTerminalError(const absl::Status& error) {
  return error.GetPayload(kTerminalUrl).has_value();
}

}  // namespace workqueue
