// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// workqueue/inspect/command/internal/source.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_INSPECT_COMMAND_INTERNAL_SOURCE_H_
#define WORKQUEUE_INSPECT_COMMAND_INTERNAL_SOURCE_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "workqueue/inspect/inspectable.h"

namespace workqueue {
namespace internal {

// Source
//
// A server of the documents of docs/inspection.md. All functions block for the
// server. They return
//
//   * `absl::NotFoundError` if there is no object `name`,
//   * `absl::InvalidArgumentError`, which names an argument of the command line
//     and its value, if the argument is wrong,
//   * another error if the server cannot be reached or refuses the request.
//
// Messages are one line.
class Source {
 public:
  virtual ~Source() = default;

  // Returns the document of all objects.
  virtual absl::StatusOr<std::string> List() = 0;

  // Return the document of one object, and of one of its items.
  virtual absl::StatusOr<std::string> Show(const std::string& name) = 0;
  virtual absl::StatusOr<std::string> ShowKey(const std::string& name,
                                              const std::string& key) = 0;

  // Does `action`, and returns the document of the item afterwards.
  virtual absl::StatusOr<std::string> Act(InspectAction action,
                                          const std::string& name,
                                          const std::string& key) = 0;
};

}  // namespace internal
}  // namespace workqueue

#endif  // WORKQUEUE_INSPECT_COMMAND_INTERNAL_SOURCE_H_
