// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/inspect/command/internal/arguments.h"

#include <getopt.h>

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "workqueue/base/printable.h"

namespace workqueue {
namespace internal {

const char kUsage[] =
    R"(Usage: workqueue-inspect [FLAGS] ADDRESS COMMAND [NAME [KEY]]

Shows the queues and controllers of a program, or the shared queues of a Redis or
Valkey server.

ADDRESS:
  http://HOST:PORT/PATH        the inspection page of a program
  redis://[USER@]HOST:PORT[/N] a server, and its database N; also valkey://
  unix:///PATH                 a server's socket

The variable WORKQUEUE_REDIS_PASSWORD has the password of the server.

COMMAND:
  list              all objects, and what needs attention
  show NAME         one object
  show NAME KEY     one item of this object
  watch [NAME]      the same as list or show, again and again, until Ctrl-C
  requeue NAME KEY  adds the item now
  forget NAME KEY   forgets the failures of the item
  cancel NAME KEY   stops the waiting of the item

FLAGS:
  --table          prints tables, also to a file or a pipe
  --json           prints JSON, also to a terminal; see docs/inspection.md
  --interval=TIME  the pause of watch, for example 500ms; the default is 2s
  --header=HEADER  a header of HTTP requests, for example "Authorization: Bearer X";
                   can be repeated
  --help           prints this text

Exit code: 0 for success, 1 for an error of the server, 2 for a wrong argument.
)";

namespace {

enum Flag { kHelp, kTable, kJson, kInterval, kHeader };

constexpr option kFlags[] = {
    {"help", no_argument, nullptr, kHelp},
    {"table", no_argument, nullptr, kTable},
    {"json", no_argument, nullptr, kJson},
    {"interval", required_argument, nullptr, kInterval},
    {"header", required_argument, nullptr, kHeader},
    {nullptr, 0, nullptr, 0},
};

using Command = CommandArguments::Command;

struct CommandForm {
  const char* text;
  Command command;
  int min_arguments;  // after the command itself
  int max_arguments;
};

constexpr CommandForm kCommands[] = {
    {"list", Command::kList, 0, 0},     {"show", Command::kShow, 1, 2},
    {"watch", Command::kWatch, 0, 1},   {"requeue", Command::kRequeue, 2, 2},
    {"forget", Command::kForget, 2, 2}, {"cancel", Command::kCancel, 2, 2},
};

// Whether `c` may be in the name of a header, as RFC 9110 says.
bool IsHeaderNameCharacter(char c) {
  return absl::ascii_isalnum(c) ||
         absl::string_view("!#$%&'*+-.^_`|~").find(c) !=
             absl::string_view::npos;
}

absl::Status AddHeader(absl::string_view value, CommandArguments* arguments) {
  const size_t colon = value.find(':');
  // The value may be a secret, so no message contains it.
  if (colon == absl::string_view::npos) {
    return absl::InvalidArgumentError(
        "--header has no colon: it must be a name, a colon and a value");
  }
  const absl::string_view name = value.substr(0, colon);
  if (name.empty() ||
      !std::all_of(name.begin(), name.end(), IsHeaderNameCharacter)) {
    return BadArgument("the name in --header", name,
                       "it must be a name of RFC 9110");
  }
  const absl::string_view text =
      absl::StripAsciiWhitespace(value.substr(colon + 1));
  if (std::any_of(text.begin(), text.end(), absl::ascii_iscntrl)) {
    return BadArgument("the name in --header", name,
                       "the value must not contain control characters");
  }
  arguments->headers.emplace_back(name, text);
  return absl::OkStatus();
}

absl::Status SetFlag(int flag, absl::string_view value,
                     CommandArguments* arguments) {
  switch (flag) {
    case kHelp:
      arguments->help = true;
      return absl::OkStatus();
    case kTable:
      arguments->json = false;
      return absl::OkStatus();
    case kJson:
      arguments->json = true;
      return absl::OkStatus();
    case kHeader:
      return AddHeader(value, arguments);
    default:  // kInterval
      if (absl::ParseDuration(value, &arguments->interval) &&
          arguments->interval > absl::ZeroDuration() &&
          arguments->interval < absl::InfiniteDuration()) {
        return absl::OkStatus();
      }
      return BadArgument("--interval", value,
                         "must be a positive time, for example 500ms or 2s");
  }
}

// Parses the flags. Stores the index of the first argument after them.
absl::Status ParseFlags(int argc, char* argv[], CommandArguments* arguments,
                        int* next) {
  opterr = 0;  // This file writes its own messages.
  optind = 0;  // Resets getopt_long(), in case it was called before.
  while (!arguments->help) {
    const int current = optind == 0 ? 1 : optind;
    // The plus: what follows ADDRESS may begin with a dash.
    const int flag = getopt_long(argc, argv, "+:", kFlags, nullptr);
    if (flag == -1) break;
    if (flag == ':') {
      return BadArgument("FLAG", argv[current], "requires a value");
    }
    if (flag == '?') {
      return BadArgument("FLAG", argv[current],
                         "unknown, or has a value that it does not take; see "
                         "--help");
    }
    const absl::Status status =
        SetFlag(flag, optarg != nullptr ? optarg : "", arguments);
    if (!status.ok()) return status;
  }
  *next = optind;
  return absl::OkStatus();
}

absl::Status Missing(absl::string_view argument, absl::string_view why) {
  return absl::InvalidArgumentError(
      absl::StrCat(argument, " is missing: ", why));
}

absl::Status ParseCommand(int argc, char* argv[], int next,
                          CommandArguments* arguments) {
  if (next == argc) return Missing("ADDRESS", "see --help");
  arguments->address = argv[next++];
  if (next == argc) {
    return Missing("COMMAND",
                   "it must be list, show, watch, requeue, forget or cancel");
  }
  const absl::string_view text = argv[next++];
  const auto* const form =
      std::find_if(std::begin(kCommands), std::end(kCommands),
                   [text](const CommandForm& it) { return it.text == text; });
  if (form == std::end(kCommands)) {
    return BadArgument(
        "COMMAND", text,
        "it must be list, show, watch, requeue, forget or cancel");
  }
  arguments->command = form->command;
  const int count = argc - next;
  if (count < form->min_arguments) {
    return Missing(count == 0 ? "NAME" : "KEY",
                   absl::StrCat("the command ", text, " needs one"));
  }
  if (count > form->max_arguments) {
    return BadArgument("an argument", argv[next + form->max_arguments],
                       absl::StrCat("the command ", text,
                                    " takes no more arguments, and flags "
                                    "come before ADDRESS"));
  }
  if (count > 0) arguments->name = argv[next];
  if (count > 1) arguments->key = argv[next + 1];
  if (arguments->name.has_value() && arguments->name->empty()) {
    return BadArgument("NAME", "", "it must not be empty");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<CommandArguments> ParseArguments(int argc, char* argv[]) {
  CommandArguments arguments;
  int next = 0;
  absl::Status status = ParseFlags(argc, argv, &arguments, &next);
  if (status.ok() && !arguments.help) {
    status = ParseCommand(argc, argv, next, &arguments);
  }
  if (!status.ok()) return status;
  return arguments;
}

absl::Status BadArgument(absl::string_view argument, absl::string_view value,
                         absl::string_view why) {
  return absl::InvalidArgumentError(
      absl::StrCat(argument, " is \"", Printable(value), "\": ", why));
}

}  // namespace internal
}  // namespace workqueue
