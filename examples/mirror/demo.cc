// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "examples/mirror/demo.h"

#include <fcntl.h>
#include <stdlib.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <filesystem>  // NOLINT(build/c++17)
#include <fstream>
#include <memory>
#include <string>
#include <system_error>  // NOLINT(build/c++11)
#include <thread>        // NOLINT(build/c++11)
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"
#include "examples/mirror/churn.h"
#include "examples/mirror/console.h"
#include "examples/mirror/mirror.h"
#include "examples/mirror/options.h"
#include "examples/mirror/remove_tree.h"
#include "examples/mirror/report.h"
#include "examples/mirror/stop_signals.h"
#include "examples/mirror/tree.h"
#include "workqueue/clock/clock.h"

namespace mirror {
namespace {

namespace fs = ::std::filesystem;

// A directory that exists as long as this object.
class TemporaryDirectory {
 public:
  static absl::StatusOr<std::unique_ptr<TemporaryDirectory>> Create() {
    std::error_code error;
    std::string path = fs::temp_directory_path(error) / "mirror-demo-XXXXXX";
    if (error || mkdtemp(path.data()) == nullptr) {
      return ErrnoStatus("create directory", path);
    }
    return std::make_unique<TemporaryDirectory>(path);
  }

  explicit TemporaryDirectory(std::string path) : path_(std::move(path)) {}
  ~TemporaryDirectory() { RemoveTree(AT_FDCWD, path_, path_).IgnoreError(); }

  const std::string& path() const { return path_; }

 private:
  const std::string path_;
};

// The failures that the demo injects into the mirror.
class Faults {
 public:
  static constexpr char kDescription[] =
      "injected failures, until the changes end: every 50th change of the "
      "copy\n"
      "fails, every change of the file `refused` fails, and the copy is moved\n"
      "away for a while";
  static constexpr char kRefused[] = "refused";

  absl::Status Check(const std::string& path) {
    if (over_) return absl::OkStatus();
    if (path == kRefused) {
      return absl::PermissionDeniedError(
          absl::StrCat("change ", path, ": injected failure, for this file"));
    }
    if (++changes_ % 50 == 0) {
      return absl::UnavailableError(
          absl::StrCat("change ", path, ": injected failure, every 50th"));
    }
    return absl::OkStatus();
  }

  void End() { over_ = true; }

 private:
  std::atomic<bool> over_{false};
  std::atomic<int64_t> changes_{0};
};

// Empties the tree at `from`, and changes it for `duration`. Moves the tree at
// `to` away for a tenth of that time.
void MakeChanges(const fs::path& from, const fs::path& to, int files,
                 absl::Duration duration, const std::atomic<bool>& stop) {
  std::error_code error;
  for (const fs::path& path : fs::directory_iterator(from)) {
    fs::remove_all(path, error);
  }
  std::ofstream(from / Faults::kRefused) << "until the demo ends";
  Churn churn(from, /*seed=*/1);
  for (int made = 0; made < files && !stop; made += 1000) {
    churn.CreateFiles(std::min(files - made, 1000));
  }
  workqueue::Clock* const clock = workqueue::Clock::GetRealClock();
  const absl::Time start = clock->TimeNow();
  const fs::path away = to.native() + ".away";
  while (!stop && clock->TimeNow() < start + duration) {
    for (int i = 0; i < 100; ++i) churn.Step();
    // Makes changes in bursts, like most programs.
    clock->Sleep(absl::Milliseconds(20));
    const double progress =
        absl::FDivDuration(clock->TimeNow() - start, duration);
    const bool be_away = 0.5 <= progress && progress < 0.6;
    if (be_away != fs::exists(away, error)) {
      fs::rename(be_away ? to : away, be_away ? away : to, error);
    }
  }
  if (fs::exists(away, error)) fs::rename(away, to, error);
}

}  // namespace

int RunDemo(const Options& options, Mirror::Options mirror_options,
            StopSignals& signals, Console& console) {
  const absl::StatusOr<std::unique_ptr<TemporaryDirectory>> directory =
      TemporaryDirectory::Create();
  if (!directory.ok()) {
    console.Line(directory.status().message());
    return 1;
  }
  const fs::path from = fs::path((*directory)->path()) / "from";
  const fs::path to = fs::path((*directory)->path()) / "to";
  std::error_code error;
  fs::create_directory(from, error);
  fs::create_directory(to, error);
  // Somebody may look at the page for as long as they like.
  const bool until_signal = options.metrics_port.has_value();
  std::printf(
      "demo: %s -> %s\n%s\n%s", from.c_str(), to.c_str(), Faults::kDescription,
      until_signal ? "the changes begin again and again, until Ctrl-C\n" : "");
  std::fflush(stdout);

  Faults faults;
  mirror_options.from = from;
  mirror_options.to = to;
  mirror_options.before_change = [&faults](const std::string& path) {
    return faults.Check(path);
  };
  const absl::StatusOr<std::unique_ptr<Mirror>> mirror =
      Mirror::Start(std::move(mirror_options), &console);
  if (!mirror.ok()) {
    console.Line(mirror.status().message());
    return 1;
  }

  // This is five seconds for the default number of files.
  const absl::Duration duration =
      std::clamp(absl::Milliseconds(1.5) * options.demo_files,
                 absl::Milliseconds(500), absl::Seconds(5));
  std::atomic<bool> stop{false};
  std::atomic<bool> ended{false};
  std::thread changes([&] {
    do {
      MakeChanges(from, to, options.demo_files, duration, stop);
    } while (until_signal && !stop);
    ended = true;
  });
  while (!ended) {
    stop = stop || signals.Wait(absl::Milliseconds(100));
    console.Progress((*mirror)->Progress());
  }
  changes.join();
  faults.End();
  console.Line("the changes and the injected failures have ended");

  const bool all_done = (*mirror)->Stop(signals);
  console.ClearProgress();
  std::fputs((*mirror)->Summary().c_str(), stdout);
  if (!all_done) {
    console.Line("stopped before everything was mirrored");
    return 1;
  }
  return ReportComparison(Tree(from), Tree(to)) ? 0 : 1;
}

}  // namespace mirror
