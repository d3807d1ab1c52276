// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/inspect/command/internal/run_command.h"

#include <cstdio>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "workqueue/base/printable.h"
#include "workqueue/clock/clock.h"
#include "workqueue/inspect/command/internal/arguments.h"
#include "workqueue/inspect/command/internal/document.h"
#include "workqueue/inspect/command/internal/source.h"
#include "workqueue/inspect/command/internal/tables.h"
#include "workqueue/inspect/inspectable.h"

namespace workqueue {
namespace internal {
namespace {

using Command = CommandArguments::Command;

// Moves the cursor to the top, and erases the screen.
constexpr char kClear[] = "\033[H\033[2J";

// Returns the document that the command prints.
absl::StatusOr<std::string> Fetch(const CommandArguments& arguments,
                                  Source* source) {
  switch (arguments.command) {
    case Command::kRequeue:
      return source->Act(InspectAction::kRequeue, *arguments.name,
                         *arguments.key);
    case Command::kForget:
      return source->Act(InspectAction::kForget, *arguments.name,
                         *arguments.key);
    case Command::kCancel:
      return source->Act(InspectAction::kCancel, *arguments.name,
                         *arguments.key);
    default:  // kList, kShow, kWatch
      break;
  }
  if (arguments.key.has_value()) {
    return source->ShowKey(*arguments.name, *arguments.key);
  }
  if (arguments.name.has_value()) return source->Show(*arguments.name);
  return source->List();
}

absl::StatusOr<std::string> Format(const CommandArguments& arguments,
                                   const std::string& document,
                                   const CommandOutput& output) {
  if (arguments.json.value_or(!output.is_terminal)) {
    return output.is_terminal ? AsciiDocument(document) : document;
  }
  if (arguments.key.has_value()) return ItemTables(document, *arguments.key);
  if (arguments.name.has_value()) return ObjectTables(document);
  return OverviewTables(document);
}

// Returns `error` with the name and the value of the argument that it is about.
absl::Status NameArgument(const CommandArguments& arguments,
                          const absl::Status& error) {
  if (absl::IsNotFound(error)) {
    return BadArgument(
        "NAME", arguments.name.value_or(""),
        absl::StrCat(Printable(arguments.address),
                     " has no such object; the command list shows all"));
  }
  if (absl::IsInvalidArgument(error)) return error;  // It names one already.
  return absl::Status(error.code(), absl::StrCat(Printable(arguments.address),
                                                 ": ", error.message()));
}

absl::Status RunOnce(const CommandArguments& arguments, Source* source,
                     const CommandOutput& output) {
  const absl::StatusOr<std::string> document = Fetch(arguments, source);
  if (!document.ok()) return NameArgument(arguments, document.status());
  const absl::StatusOr<std::string> error = DocumentError(*document);
  if (!error.ok()) return NameArgument(arguments, error.status());
  if (!error->empty()) {
    return NameArgument(arguments, absl::UnavailableError(absl::StrCat(
                                       "the object cannot be inspected: ",
                                       Printable(*error, kPrintedErrorBytes))));
  }
  absl::StatusOr<std::string> text = Format(arguments, *document, output);
  if (!text.ok()) return NameArgument(arguments, text.status());
  const bool clears =
      arguments.command == Command::kWatch && output.is_terminal;
  const std::string all = absl::StrCat(clears ? kClear : "", *text);
  if (std::fwrite(all.data(), 1, all.size(), output.file) != all.size() ||
      std::fflush(output.file) != 0) {
    return absl::UnavailableError("the output cannot be written");
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status RunCommand(const CommandArguments& arguments, Source* source,
                        Clock* clock, const CommandOutput& output) {
  while (true) {
    const absl::Status status = RunOnce(arguments, source, output);
    if (!status.ok() || arguments.command != Command::kWatch) return status;
    clock->Sleep(arguments.interval);
  }
}

int ExitCodeOf(const absl::Status& status) {
  if (status.ok()) return 0;
  return absl::IsInvalidArgument(status) ? 2 : 1;
}

}  // namespace internal
}  // namespace workqueue
