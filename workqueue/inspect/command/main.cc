// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Shows queues and controllers in a terminal. See docs/inspection.md.

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <utility>
#include <variant>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "workqueue/clock/clock.h"
#include "workqueue/inspect/command/internal/address.h"
#include "workqueue/inspect/command/internal/arguments.h"
#include "workqueue/inspect/command/internal/http_source.h"
#include "workqueue/inspect/command/internal/redis_source.h"
#include "workqueue/inspect/command/internal/run_command.h"
#include "workqueue/inspect/command/internal/source.h"
#include "workqueue/inspect/command/internal/text_table.h"
#include "workqueue/shared/redis_options.h"

namespace workqueue {
namespace internal {
namespace {

absl::StatusOr<std::unique_ptr<Source>> NewSource(
    const CommandArguments& arguments) {
  absl::StatusOr<Address> address = ParseAddress(arguments.address);
  if (!address.ok()) return address.status();
  if (const auto* http = std::get_if<HttpAddress>(&*address)) {
    return std::make_unique<HttpSource>(*http, arguments.headers);
  }
  if (!arguments.headers.empty()) {
    return BadArgument("--header", arguments.headers.front().first,
                       "only an ADDRESS with http:// has headers");
  }
  auto options = std::get<RedisOptions>(*std::move(address));
  const char* const password = std::getenv("WORKQUEUE_REDIS_PASSWORD");
  if (password != nullptr) options.password = password;
  return std::make_unique<RedisSource>(arguments.address, std::move(options));
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
    // A message can contain the words of a server.
    std::fprintf(stderr, "workqueue-inspect: %s\n",
                 workqueue::internal::TerminalText(status.message()).c_str());
  }
  return workqueue::internal::ExitCodeOf(status);
}
