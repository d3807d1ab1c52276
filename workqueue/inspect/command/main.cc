// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Shows the shared queues of a server of Redis or Valkey as text, when no
// process is left that could serve a page. See docs/inspection.md.

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "workqueue/base/printable.h"
#include "workqueue/inspect/inspect_queue.h"
#include "workqueue/inspect/inspectable.h"
#include "workqueue/inspect/inspection.h"
#include "workqueue/inspect/inspection_registry.h"
#include "workqueue/inspect/internal/page.h"
#include "workqueue/redis/redis_address.h"
#include "workqueue/redis/redis_options.h"
#include "workqueue/redis/source_of_address.h"
#include "workqueue/shared/list_shared_queues.h"
#include "workqueue/shared/shared_queue.h"
#include "workqueue/shared/shared_queue_options.h"

namespace workqueue::internal {
namespace {

using Queue = SharedQueue<std::string>;

constexpr char kUsage[] =
    R"(Usage: workqueue-inspect ADDRESS [QUEUE [KEY]]

Shows the shared queues of a server of Redis or Valkey: all, one, or one item of
one. Takes no item. To see what a program shows on its inspection page, use
curl; docs/inspection.md says how.

ADDRESS:
  redis://[USER@]HOST[:PORT][/N] a server, and its database N; also valkey://
  rediss://...                   the same with TLS; also valkeys://
  redis://[USER@]HOST,HOST...    nodes of a cluster
  unix://[USER@]/PATH            a server's socket

The variable WORKQUEUE_REDIS_PASSWORD has the password of the server. For TLS,
SSL_CERT_FILE names a file with the authorities to trust, if not the system's.

Exit code: 0 for success, 1 if the server has an error or a queue cannot be
read, 2 for a wrong argument.
)";

// How long the server may take to find a queue, and to look at all its keys.
constexpr absl::Duration kTimeout = absl::Seconds(5);
constexpr absl::Duration kTimeoutOfAll = absl::Minutes(1);

struct Server {
  std::string address;  // the argument
  RedisOptions redis;
};

PageOptions AsText() { return {/*text=*/true}; }

// Returns an error that names an argument, its wrong `value` and the reason.
absl::Status BadArgument(absl::string_view argument, absl::string_view value,
                         absl::string_view why) {
  return absl::InvalidArgumentError(
      absl::StrCat(argument, " is \"", Printable(value), "\": ", why));
}

// Returns an error that names the server.
absl::Status ServerError(const Server& server, const absl::Status& status) {
  return absl::Status(status.code(), absl::StrCat(Printable(server.address),
                                                  ": ", status.message()));
}

absl::StatusOr<RedisOptions> ParseAddress(absl::string_view address) {
  if (absl::StartsWith(address, "http://") ||
      absl::StartsWith(address, "https://")) {
    // The URL may contain a password.
    return absl::InvalidArgumentError(
        "ADDRESS is an inspection page: use curl, which gets it as text");
  }
  if (!DatabasePrefix(address).empty()) {
    // It may contain a password.
    return absl::InvalidArgumentError(
        "ADDRESS is a database: the inspection page of a process that uses it "
        "shows its queues");
  }
  RedisOptions options;
  options.address = std::string(address);
  absl::StatusOr<RedisOptions> plain = PlainRedisOptions(std::move(options));
  if (plain.ok() && !plain->password.empty()) {
    // Does not print it.
    return absl::InvalidArgumentError(
        "ADDRESS contains a password: it must be in the variable "
        "WORKQUEUE_REDIS_PASSWORD");
  }
  return plain;
}

// Inspects a queue that is in the server: `inspect(inspectable)`.
template <typename F>
NamedInspection InspectWith(const Server& server, const SharedQueueName& name,
                            F inspect) {
  SharedQueueOptions<std::string> options;
  options.name = name.name;
  options.client_name = "workqueue-inspect";
  options.redis = server.redis;
  options.partitions = name.partitions;
  options.looks_only = true;
  const absl::StatusOr<std::unique_ptr<Queue>> queue =
      Queue::Create(std::move(options));
  if (!queue.ok()) {
    return {name.name, "shared queue", queue.status(), /*samples=*/{}};
  }
  InspectOptions<std::string> inspect_options;
  inspect_options.options = {{"partitions", absl::StrCat(name.partitions)}};
  const std::unique_ptr<Inspectable> inspectable =
      InspectQueue(queue->get(), std::move(inspect_options));
  return {name.name, inspectable->Kind(), inspect(*inspectable),
          /*samples=*/{}};
}

// The text to print, and the error with which the program ends.
struct Output {
  std::string text;
  absl::Status status;
};

absl::StatusOr<Output> AllQueues(const Server& server) {
  // No queue has this name. A server that is away is not awaited for so long.
  const absl::Status answers =
      FindSharedQueue(server.redis, /*name=*/"", kTimeout).status();
  if (!answers.ok() && !absl::IsNotFound(answers)) {
    return ServerError(server, answers);
  }
  const absl::StatusOr<std::vector<SharedQueueName>> names =
      ListSharedQueues(server.redis, kTimeoutOfAll);
  if (!names.ok()) {
    return ServerError(
        server,
        absl::Status(names.status().code(),
                     absl::StrCat(names.status().message(),
                                  "; not all keys were looked at for queues: "
                                  "give QUEUE to see one")));
  }
  // It may have been emptied, or be another one than the queues'.
  if (names->empty()) {
    return BadArgument("ADDRESS", server.address, "it has no shared queue");
  }
  std::vector<NamedInspection> objects;
  absl::Status status;
  for (const SharedQueueName& name : *names) {
    objects.push_back(InspectWith(server, name, [](Inspectable& inspectable) {
      return inspectable.Inspect(kMaxItemsOfOverview);
    }));
    const absl::Status& read = objects.back().inspection.status();
    if (read.ok()) continue;
    // No argument is wrong, whatever the code is.
    status.Update(
        ServerError(server, absl::UnknownError(absl::StrCat(
                                "\"", Printable(name.name),
                                "\" cannot be read: ", read.message()))));
  }
  return Output{OverviewPage(objects, AsText()), std::move(status)};
}

// Shows the item `key` if it is not null.
absl::StatusOr<Output> OneQueue(const Server& server, absl::string_view queue,
                                const char* key) {
  const absl::StatusOr<SharedQueueName> name =
      FindSharedQueue(server.redis, queue, kTimeout);
  if (absl::IsNotFound(name.status())) {
    return BadArgument(
        "QUEUE", queue,
        absl::StrCat(Printable(server.address), ": ", name.status().message()));
  }
  if (!name.ok()) return ServerError(server, name.status());
  const NamedInspection object =
      InspectWith(server, *name, [key](Inspectable& inspectable) {
        return key == nullptr ? inspectable.Inspect(kMaxItems)
                              : inspectable.InspectKey(key);
      });
  const absl::Status& status = object.inspection.status();
  if (key != nullptr && absl::IsInvalidArgument(status)) {
    return BadArgument("KEY", key, status.message());
  }
  if (!status.ok()) return ServerError(server, status);
  return Output{key == nullptr ? ObjectPage(object, AsText())
                               : KeyPage(object, key, AsText()),
                absl::OkStatus()};
}

absl::StatusOr<Output> Run(int argc, char* argv[]) {
  if (argc < 2) {
    return absl::InvalidArgumentError("ADDRESS is missing: see --help");
  }
  if (argv[1] == absl::string_view("--help")) {
    return Output{kUsage, absl::OkStatus()};
  }
  if (argc > 4) {
    return BadArgument("an argument", argv[4], "nothing may follow KEY");
  }
  absl::StatusOr<RedisOptions> redis = ParseAddress(argv[1]);
  if (!redis.ok()) return redis.status();
  const char* const password = std::getenv("WORKQUEUE_REDIS_PASSWORD");
  if (password != nullptr) redis->password = password;
  const Server server = {argv[1], *std::move(redis)};
  if (argc == 2) return AllQueues(server);
  return OneQueue(server, argv[2], argc == 4 ? argv[3] : nullptr);
}

// Returns the exit code.
int Main(int argc, char* argv[]) {
  const absl::StatusOr<Output> output = Run(argc, argv);
  absl::Status status = output.status();
  if (output.ok()) {
    status = output->status;
    if (std::fputs(output->text.c_str(), stdout) < 0 ||
        std::fflush(stdout) != 0) {
      status = absl::UnavailableError("the output cannot be written");
    }
  }
  if (status.ok()) return 0;
  // A message can contain the words of a server.
  std::fprintf(stderr, "workqueue-inspect: %s\n",
               TerminalText(status.message()).c_str());
  return absl::IsInvalidArgument(status) ? 2 : 1;
}

}  // namespace
}  // namespace workqueue::internal

int main(int argc, char* argv[]) {
  return workqueue::internal::Main(argc, argv);
}
