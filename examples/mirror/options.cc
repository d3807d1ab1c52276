// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "examples/mirror/options.h"

#include <getopt.h>

#include <filesystem>  // NOLINT(build/c++17)
#include <map>
#include <string>
#include <system_error>  // NOLINT(build/c++11)

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "examples/command_line.h"

namespace mirror {
namespace {

namespace fs = ::std::filesystem;
using ::examples::BadOption;
using ::examples::ParseInt;
using ::examples::ParsePeriod;

// Returns whether `path`, which must exist, is `directory` or is inside it.
bool IsWithin(const fs::path& path, const fs::path& directory) {
  for (fs::path each = path;; each = each.parent_path()) {
    std::error_code error;
    if (fs::equivalent(each, directory, error)) return true;
    if (each == each.parent_path()) return false;
  }
}

// Checks that the source is a directory and that the copy is one or can be
// created.
absl::Status CheckDirectories(const std::string& from, const std::string& to) {
  std::error_code error;
  const fs::path source = fs::canonical(from, error);
  if (error) return BadOption("--from", from, error.message());
  if (!fs::is_directory(source, error)) {
    return BadOption("--from", from, "is not a directory");
  }

  // The copy need not exist yet, but its parent directory must.
  fs::path copy = fs::absolute(to, error);
  // `to` ended with a slash.
  if (!copy.has_filename()) copy = copy.parent_path();
  const bool exists = fs::exists(fs::symlink_status(copy, error));
  copy = fs::canonical(exists ? copy : copy.parent_path(), error);
  if (error) return BadOption("--to", to, error.message());
  if (!fs::is_directory(copy, error)) {
    return BadOption("--to", to, "is not a directory");
  }

  if (exists && fs::equivalent(source, copy, error)) {
    return BadOption("--to", to, "is the same directory as --from");
  }
  if (IsWithin(copy, source)) {
    return BadOption("--to", to, "is inside the directory of --from");
  }
  if (exists && IsWithin(source, copy)) {
    return BadOption("--from", from, "is inside the directory of --to");
  }
  return absl::OkStatus();
}

enum Id {
  kHelp = examples::kHelp,
  kFrom,
  kTo,
  kWorkers,
  kResync,
  kOnce,
  kDemoFiles,
  kMetricsPort,
  kShared,
  kQueue
};

constexpr struct option kOptions[] = {
    {"help", no_argument, nullptr, kHelp},
    {"from", required_argument, nullptr, kFrom},
    {"to", required_argument, nullptr, kTo},
    {"workers", required_argument, nullptr, kWorkers},
    {"resync", required_argument, nullptr, kResync},
    {"once", no_argument, nullptr, kOnce},
    {"demo-files", required_argument, nullptr, kDemoFiles},
    {"metrics-port", required_argument, nullptr, kMetricsPort},
    {"shared", required_argument, nullptr, kShared},
    {"queue", required_argument, nullptr, kQueue},
    {nullptr, 0, nullptr, 0},
};

}  // namespace

absl::string_view Usage() {
  return R"(usage: mirror [flags]

Keeps one directory tree a copy of another. Copies files, directories, symbolic
links, their permission bits, and the modification times of files. Holes in
files stay holes. Says once when the copy is in sync. Runs until SIGINT or
SIGTERM, then mirrors the changes made so far, and exits. A second signal stops
the program at once.

Without --from and --to, the program runs a demo on two temporary trees, for
some seconds, or with --metrics-port until SIGINT or SIGTERM. It removes them at
the end.

  --from DIR       the source tree
  --to DIR         the copy; everything in it that is not in the source is
                   removed
  --workers N      number of worker threads, 1 to 1024 (default: 4)
  --resync D       time between checks of the whole tree (default: 1m)
  --once           mirror the tree as it is now, compare, and exit
  --demo-files N   number of files in the demo, 1 to 1000000 (default: 3000)
  --metrics-port N serve /metrics to Prometheus at this port of 127.0.0.1, 0 to
                   65535; 0 means any free port (default: no metrics)
  --shared ADDRESS share the work with other processes, which have the same
                   trees: keep the queue in the file PATH of SQLite, which
                   need not be there yet; in the PostgreSQL database of
                   postgres://..., which has the tables; or in the server of
                   Valkey or Redis at HOST:PORT, or at unix://PATH
  --queue NAME     the name of the queue there (default: mirror)
  --help           print this text and exit

Exit status: 0 if everything is mirrored, 1 if not, 2 if a flag is wrong. With
--shared and without --once, 0 if what this process has begun is done: the queue
keeps the rest for the others.
)";
}

absl::StatusOr<Options> ParseOptions(int argc, char* argv[]) {
  Options options;
  std::map<int, std::string> given;  // the values of the flags
  const auto set = [&](int id, absl::string_view value) {
    given[id] = std::string(value);
    switch (id) {
      case kHelp:
        options.help = true;
        break;
      case kFrom:
        options.from = std::string(value);
        if (value.empty()) return BadOption("--from", "", "must not be empty");
        break;
      case kTo:
        options.to = std::string(value);
        if (value.empty()) return BadOption("--to", "", "must not be empty");
        break;
      case kWorkers:
        return ParseInt("--workers", value, 1, 1024, &options.workers);
      case kResync:
        return ParsePeriod("--resync", value, &options.resync);
      case kOnce:
        options.once = true;
        break;
      case kDemoFiles:
        return ParseInt("--demo-files", value, 1, 1000000, &options.demo_files);
      case kMetricsPort:
        return ParseInt("--metrics-port", value, 0, 65535,
                        &options.metrics_port.emplace());
      case kShared:
        options.shared = std::string(value);
        if (value.empty()) {
          return BadOption("--shared", "", "must not be empty");
        }
        break;
      case kQueue:
        options.queue = std::string(value);
        break;
    }
    return absl::OkStatus();
  };
  absl::Status status = examples::ParseCommandLine(argc, argv, kOptions, set);
  if (!status.ok()) return status;
  if (options.help) return options;

  if (options.from.empty() != options.to.empty()) {
    return options.from.empty() ? BadOption("--to", "", "requires --from")
                                : BadOption("--from", "", "requires --to");
  }
  if (given.count(kQueue) != 0 && options.shared.empty()) {
    return BadOption("--queue", options.queue, "requires --shared");
  }
  if (given.count(kResync) != 0 && options.once) {
    return BadOption("--resync", given[kResync], "is not for --once");
  }
  if (options.from.empty()) {
    if (options.once)
      return BadOption("--once", "", "requires --from and --to");
    if (!options.shared.empty()) {
      return BadOption("--shared", options.shared, "requires --from and --to");
    }
    return options;
  }
  if (given.count(kDemoFiles) != 0) {
    return BadOption("--demo-files", given[kDemoFiles],
                     "is not for --from and --to");
  }
  status = CheckDirectories(options.from, options.to);
  if (!status.ok()) return status;
  return options;
}

}  // namespace mirror
