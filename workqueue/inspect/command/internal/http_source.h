// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// workqueue/inspect/command/internal/http_source.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_INSPECT_COMMAND_INTERNAL_HTTP_SOURCE_H_
#define WORKQUEUE_INSPECT_COMMAND_INTERNAL_HTTP_SOURCE_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "workqueue/inspect/command/internal/address.h"
#include "workqueue/inspect/command/internal/source.h"
#include "workqueue/inspect/inspectable.h"

namespace workqueue {
namespace internal {

// HttpSource
//
// An inspection page. Each request has a connection of its own, and fails if
// the server does not accept it, or sends nothing, for about ten seconds.
class HttpSource final : public Source {
 public:
  using Headers = std::vector<std::pair<std::string, std::string>>;

  HttpSource(HttpAddress address, Headers headers)
      : address_(std::move(address)), headers_(std::move(headers)) {}

  absl::StatusOr<std::string> List() override;
  absl::StatusOr<std::string> Show(const std::string& name) override;
  absl::StatusOr<std::string> ShowKey(const std::string& name,
                                      const std::string& key) override;
  absl::StatusOr<std::string> Act(InspectAction action, const std::string& name,
                                  const std::string& key) override;

 private:
  struct Response {
    int status = 0;
    std::string body;
  };

  // Sends a GET if `form` is empty, and otherwise a POST.
  absl::StatusOr<Response> Send(absl::string_view query,
                                absl::string_view form) const;

  // Returns the document in the answer to a request.
  absl::StatusOr<std::string> Fetch(absl::string_view query,
                                    absl::string_view form = "") const;

  const HttpAddress address_;
  const Headers headers_;
};

}  // namespace internal
}  // namespace workqueue

#endif  // WORKQUEUE_INSPECT_COMMAND_INTERNAL_HTTP_SOURCE_H_
