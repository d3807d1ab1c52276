// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/controller/internal/source_status.h"

#include "absl/status/status.h"
#include "absl/strings/cord.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "workqueue/base/printable.h"

namespace workqueue {
namespace internal {
namespace {

absl::Status WithMessage(absl::string_view message,
                         const absl::Status& status) {
  absl::Status changed(status.code(), message);
  status.ForEachPayload(
      [&changed](absl::string_view type_url, const absl::Cord& payload) {
        changed.SetPayload(type_url, payload);
      });
  return changed;
}

}  // namespace

absl::Status AnnotateWithSource(absl::string_view name,
                                const absl::Status& status) {
  if (status.ok()) return status;
  return WithMessage(absl::StrCat("source ", name, ": ", status.message()),
                     status);
}

absl::Status WithPrintableMessage(const absl::Status& status) {
  return WithMessage(Printable(status.message(), kPrintedErrorBytes), status);
}

}  // namespace internal
}  // namespace workqueue
