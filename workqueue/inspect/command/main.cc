// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Shows queues and controllers in a terminal. See docs/inspection.md.

#include <unistd.h>

#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <variant>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "workqueue/clock/clock.h"
#include "workqueue/inspect/command/internal/address.h"
#include "workqueue/inspect/command/internal/arguments.h"
#include "workqueue/inspect/command/internal/http_source.h"
#include "workqueue/inspect/command/internal/run_command.h"
#include "workqueue/inspect/command/internal/source.h"

namespace workqueue {
namespace internal {
namespace {

absl::StatusOr<std::unique_ptr<Source>> NewSource(
    const CommandArguments& arguments) {
  absl::StatusOr<Address> address = ParseAddress(arguments.address);
  if (!address.ok()) return address.status();
  return std::make_unique<HttpSource>(std::get<HttpAddress>(*address),
                                      arguments.headers);
}

absl::Status Run(int argc, char* argv[]) {
  const absl::StatusOr<CommandArguments> arguments = ParseArguments(argc, argv);
  if (!arguments.ok()) return arguments.status();
  if (arguments->help) {
    std::fputs(kUsage, stdout);
    return absl::OkStatus();
  }
  const absl::StatusOr<std::unique_ptr<Source>> source = NewSource(*arguments);
  if (!source.ok()) return source.status();
  return RunCommand(*arguments, source->get(), Clock::GetRealClock(),
                    {stdout, isatty(STDOUT_FILENO) == 1});
}

}  // namespace
}  // namespace internal
}  // namespace workqueue

int main(int argc, char* argv[]) {
  const absl::Status status = workqueue::internal::Run(argc, argv);
  if (!status.ok()) {
    std::fprintf(stderr, "workqueue-inspect: %s\n",
                 std::string(status.message()).c_str());
  }
  return workqueue::internal::ExitCodeOf(status);
}
