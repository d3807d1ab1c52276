// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/controller/internal/source_status.h"

#include "absl/status/status.h"
#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace workqueue {
namespace internal {

absl::Status AnnotateWithSource(absl::string_view name,
                                const absl::Status& status) {
  if (status.ok()) return status;
  absl::Status named(status.code(),
                     absl::StrCat("source ", name, ": ", status.message()));
  status.ForEachPayload(
      [&named](absl::string_view type_url, const absl::Cord& payload) {
        named.SetPayload(type_url, payload);
      });
  return named;
}

}  // namespace internal
}  // namespace workqueue
