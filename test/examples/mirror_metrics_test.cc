// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Scrapes the program as Prometheus does.

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/inotify.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>  // NOLINT(build/c++17)
#include <map>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/examples/run_program.h"
#include "test/examples/scratch_directory.h"
#include "test/workqueue/prometheus/exposition.h"

namespace mirror {
namespace {

namespace fs = ::std::filesystem;
using ::testing::AllOf;
using ::testing::Ge;
using ::testing::Le;
using ::testing::MatchesRegex;

constexpr int kFiles = 20;

// Of these labels' metrics, the dashboards for controllers in Go are made.
constexpr char kQueue[] = R"(controller="mirror",name="mirror")";
constexpr char kController[] = R"(controller="mirror")";

class MetricsTest : public ::testing::Test {
 protected:
  MetricsTest() {
    fs::create_directory(from_);
    fs::create_directory(to_);
    for (int i = 0; i < kFiles; ++i) {
      WriteFile(from_ / absl::StrCat("file", i), "contents");
    }
  }

  ~MetricsTest() override {
    if (pid_ > 0) {
      kill(pid_, SIGKILL);
      waitpid(pid_, nullptr, 0);
      if (HasFailure()) ADD_FAILURE() << "printed: " << RestOfErrors();
    }
    if (err_ != nullptr) fclose(err_);
  }

  // Runs the program with one worker until the last file has been copied.
  // Returns the line that it prints first.
  std::string StartAndAwaitCopies() {
    const int inotify = inotify_init1(IN_CLOEXEC);
    EXPECT_GE(inotify_add_watch(inotify, to_.c_str(), IN_MOVED_TO), 0);
    Start();
    char* line = nullptr;
    size_t size = 0;
    EXPECT_GT(getline(&line, &size, err_), 0);
    const std::string first_line(absl::StripSuffix(line, "\n"));
    free(line);
    // Each is renamed when it is whole.
    for (int copied = 0; copied < kFiles;) {
      struct pollfd fds[] = {{inotify, POLLIN, 0}, {fileno(err_), 0, 0}};
      poll(fds, 2, -1);
      if ((fds[0].revents & POLLIN) == 0) {
        ADD_FAILURE() << "the program has ended";
        break;
      }
      alignas(struct inotify_event) char buffer[4096];
      const ssize_t bytes = read(inotify, buffer, sizeof(buffer));
      for (const char* next = buffer; next < buffer + bytes; ++copied) {
        const auto& event =
            *reinterpret_cast<const struct inotify_event*>(next);
        next += sizeof(event) + event.len;
      }
    }
    close(inotify);
    return first_line;
  }

  // Returns what the program exits with when it is told to. It prints no more.
  int Terminate() {
    kill(pid_, SIGTERM);
    EXPECT_EQ(RestOfErrors(), "");
    int status;
    EXPECT_EQ(waitpid(pid_, &status, 0), pid_);
    pid_ = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }

  static workqueue::Exposition Scrape(const std::string& url) {
    // The system's Python, if there are others: that is the one for which the
    // client library is packaged.
    const examples::Outcome outcome = examples::RunCommand(absl::StrCat(
        "PATH=/usr/bin:$PATH python3 test/examples/scrape.py ", url));
    EXPECT_EQ(outcome.exit_code, 0);
    return workqueue::ParseExposition(outcome.out);
  }

 private:
  // Returns what the program prints on standard error until its end.
  std::string RestOfErrors() {
    std::string rest;
    for (int c = fgetc(err_); c != EOF; c = fgetc(err_)) {
      rest.push_back(static_cast<char>(c));
    }
    return rest;
  }

  void Start() {
    int err[2];
    ASSERT_EQ(pipe2(err, O_CLOEXEC), 0);
    const std::string program = examples::PathOf("mirror");
    pid_ = fork();
    ASSERT_GE(pid_, 0);
    if (pid_ > 0) {
      close(err[1]);
      err_ = fdopen(err[0], "r");
      return;
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    dup2(open("/dev/null", O_WRONLY), STDOUT_FILENO);
    dup2(err[1], STDERR_FILENO);
    execl(program.c_str(), program.c_str(), "--metrics-port=0", "--workers=1",
          "--from", from_.c_str(), "--to", to_.c_str(), nullptr);
    _exit(127);
  }

  const ScratchDirectory scratch_;
  const fs::path from_ = scratch_.path() / "from";
  const fs::path to_ = scratch_.path() / "to";
  FILE* err_ = nullptr;  // of the program
  pid_t pid_ = 0;
};

TEST_F(MetricsTest, AreServedToPrometheus) {
  const std::string line = StartAndAwaitCopies();
  ASSERT_THAT(line, MatchesRegex("mirror: metrics: "
                                 "http://127\\.0\\.0\\.1:[0-9]+/metrics"));
  const std::string url(absl::StripPrefix(line, "mirror: metrics: "));
  const workqueue::Exposition metrics = Scrape(url);

  for (const auto& [name, type] : std::map<std::string, std::string>{
           {"controller_runtime_active_workers", "gauge"},
           {"controller_runtime_max_concurrent_reconciles", "gauge"},
           {"controller_runtime_reconcile_errors_total", "counter"},
           {"controller_runtime_reconcile_panics_total", "counter"},
           {"controller_runtime_reconcile_time_seconds", "histogram"},
           {"controller_runtime_reconcile_timeouts_total", "counter"},
           {"controller_runtime_reconcile_total", "counter"},
           {"controller_runtime_terminal_reconcile_errors_total", "counter"},
           {"workqueue_adds_total", "counter"},
           {"workqueue_depth", "gauge"},
           {"workqueue_longest_running_processor_seconds", "gauge"},
           {"workqueue_queue_duration_seconds", "histogram"},
           {"workqueue_retries_total", "counter"},
           {"workqueue_unfinished_work_seconds", "gauge"},
           {"workqueue_work_duration_seconds", "histogram"}}) {
    ASSERT_EQ(metrics.types.count(name), 1u) << name;
    EXPECT_EQ(metrics.types.at(name), type) << name;
  }

  // Of `metric`, that is of `labels`; never if there is none.
  const auto value = [&metrics](absl::string_view metric,
                                absl::string_view labels) {
    const auto it =
        metrics.samples.find(absl::StrCat(metric, "{", labels, "}"));
    return it != metrics.samples.end() ? it->second : -1;
  };

  // The root has been reconciled, which had each file added, and so have all
  // files but, maybe, the one that was copied last.
  const double all = kFiles + 1;
  const auto all_or_all_but_one = AllOf(Ge(all - 1), Le(all));
  EXPECT_EQ(value("workqueue_adds_total", kQueue), all);
  EXPECT_EQ(value("workqueue_depth", absl::StrCat(kQueue, ",priority=\"0\"")),
            0);
  EXPECT_EQ(value("workqueue_retries_total", kQueue), 0);
  EXPECT_GE(value("workqueue_unfinished_work_seconds", kQueue), 0);
  EXPECT_GE(value("workqueue_longest_running_processor_seconds", kQueue), 0);

  EXPECT_EQ(value("workqueue_queue_duration_seconds_count", kQueue), all);
  EXPECT_GT(value("workqueue_queue_duration_seconds_sum", kQueue), 0);
  EXPECT_THAT(value("workqueue_work_duration_seconds_count", kQueue),
              all_or_all_but_one);
  EXPECT_GT(value("workqueue_work_duration_seconds_sum", kQueue), 0);
  EXPECT_THAT(
      value("controller_runtime_reconcile_time_seconds_count", kController),
      all_or_all_but_one);
  EXPECT_GT(value("controller_runtime_reconcile_time_seconds_sum", kController),
            0);
  // Each bucket of a histogram has what is in those before it; the last one is
  // for all that is longer.
  for (const auto& [histogram, buckets] : std::map<std::string, size_t>{
           {"controller_runtime_reconcile_time_seconds", 41},
           {"workqueue_queue_duration_seconds", 13},
           {"workqueue_work_duration_seconds", 13}}) {
    const auto samples =
        metrics.SamplesOf(absl::StrCat(histogram, "_bucket{", kController));
    EXPECT_EQ(samples.size(), buckets) << histogram;
    for (const auto& [series, count] : samples) {
      EXPECT_THAT(count, AllOf(Ge(0), Le(all))) << series;
      if (!absl::StrContains(series, "le=\"+Inf\"")) continue;
      EXPECT_THAT(count, all_or_all_but_one) << series;
    }
  }

  const auto results = [](absl::string_view result) {
    return absl::StrCat(kController, ",result=\"", result, "\"");
  };
  constexpr char kTotal[] = "controller_runtime_reconcile_total";
  EXPECT_THAT(value(kTotal, results("success")), all_or_all_but_one);
  EXPECT_EQ(value(kTotal, results("error")), 0);
  EXPECT_EQ(value(kTotal, results("requeue_after")), 0);
  for (const char* const none :
       {"reconcile_errors_total", "reconcile_panics_total",
        "reconcile_timeouts_total", "terminal_reconcile_errors_total"}) {
    EXPECT_EQ(value(absl::StrCat("controller_runtime_", none), kController), 0)
        << none;
  }
  EXPECT_EQ(value("controller_runtime_max_concurrent_reconciles", kController),
            1);
  EXPECT_THAT(value("controller_runtime_active_workers", kController),
              AllOf(Ge(0), Le(1)));

  EXPECT_EQ(Terminate(), 0);
}

TEST_F(MetricsTest, APortThatIsTakenIsAnError) {
  const std::string line = StartAndAwaitCopies();
  const size_t begin = line.rfind(':') + 1;
  const std::string port = line.substr(begin, line.rfind('/') - begin);
  const examples::Outcome outcome = examples::RunProgram(
      "mirror", absl::StrCat("--metrics-port=", port, " 2>&1"));
  EXPECT_EQ(outcome.exit_code, 2);
  EXPECT_EQ(outcome.out,
            absl::StrCat("mirror: --metrics-port=", port,
                         ": cannot listen there; is the port taken?\n"));
}

}  // namespace
}  // namespace mirror
