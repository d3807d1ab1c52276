// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Scrapes the program as Prometheus does.

#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstdint>
#include <filesystem>  // NOLINT(build/c++17)
#include <map>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "examples/mirror/fd.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/examples/mirror_program_fixture.h"
#include "test/examples/run_program.h"
#include "test/examples/scratch_directory.h"
#include "test/prometheus/exposition.h"

namespace mirror::mirror_metrics_test {
namespace {

namespace fs = ::std::filesystem;
using ::testing::AllOf;
using ::testing::Ge;
using ::testing::HasSubstr;
using ::testing::Le;
using ::testing::MatchesRegex;

constexpr int kFiles = 20;

// The metrics with these labels are those that the dashboards for controllers
// in Go show.
constexpr char kQueue[] = R"(controller="mirror",name="mirror")";
constexpr char kController[] = R"(controller="mirror")";

// Returns whether a server listens at this address of this machine.
bool CanConnect(const char* address, int port) {
  const Fd fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  struct sockaddr_in server = {};
  server.sin_family = AF_INET;
  server.sin_port = htons(static_cast<uint16_t>(port));
  EXPECT_EQ(inet_pton(AF_INET, address, &server.sin_addr), 1);
  if (connect(fd.get(), reinterpret_cast<const struct sockaddr*>(&server),
              sizeof(server)) == 0) {
    return true;
  }
  EXPECT_EQ(errno, ECONNREFUSED);
  return false;
}

class MetricsTest : public MirrorProgramFixture {
 protected:
  MetricsTest() {
    fs::create_directory(to_);
    for (int i = 0; i < kFiles; ++i) WriteFile(from_ / NameOf(i), "contents");
  }

  // Runs the program with one worker until the last file has been copied.
  // Returns the first line that the program printed.
  std::string StartAndAwaitCopies() {
    StartMirror({"--metrics-port=0", "--workers=1"});
    // A copy gets its name once it is complete.
    Await(to_, [this] {
      for (int i = 0; i < kFiles; ++i) {
        if (!fs::exists(to_ / NameOf(i))) return false;
      }
      return true;
    });
    const std::string printed = err();
    return printed.substr(0, printed.find('\n'));
  }

  static workqueue::Exposition Scrape(const std::string& url) {
    // Use the system's Python, because the system's package of the client
    // library is for it.
    const examples::Outcome outcome = examples::RunCommand(absl::StrCat(
        "PATH=/usr/bin:$PATH python3 test/examples/scrape.py ", url));
    EXPECT_EQ(outcome.exit_code, 0);
    return workqueue::ParseExposition(outcome.out);
  }

  // Returns the line that tells the URL of the page, after `line`, which tells
  // the one of the metrics.
  static std::string PageLineOf(absl::string_view line) {
    return absl::StrCat(
        "mirror: page: ",
        absl::StripSuffix(absl::StripPrefix(line, "mirror: metrics: "),
                          "/metrics"),
        "/workqueue");
  }

  static std::string Fetch(const std::string& url) {
    const examples::Outcome outcome = examples::RunCommand(absl::StrCat(
        "PATH=/usr/bin:$PATH python3 -c 'import sys, urllib.request as r; "
        "opener = r.build_opener(r.ProxyHandler({})); "
        "print(opener.open(sys.argv[1]).read().decode())' '",
        url, "'"));
    EXPECT_EQ(outcome.exit_code, 0) << url;
    return outcome.out;
  }

 private:
  static std::string NameOf(int file) { return absl::StrCat("file", file); }
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
           {"workqueue_failing_items", "gauge"},
           {"workqueue_longest_running_processor_seconds", "gauge"},
           {"workqueue_oldest_queued_seconds", "gauge"},
           {"workqueue_queue_duration_seconds", "histogram"},
           {"workqueue_retries_total", "counter"},
           {"workqueue_unfinished_work_seconds", "gauge"},
           {"workqueue_waiting_items", "gauge"},
           {"workqueue_work_duration_seconds", "histogram"}}) {
    ASSERT_EQ(metrics.types.count(name), 1u) << name;
    EXPECT_EQ(metrics.types.at(name), type) << name;
  }

  // Returns the value of the metric with these labels, or -1 if there
  // is none.
  const auto value = [&metrics](absl::string_view metric,
                                absl::string_view labels) {
    const auto it =
        metrics.samples.find(absl::StrCat(metric, "{", labels, "}"));
    return it != metrics.samples.end() ? it->second : -1;
  };

  // The root has been reconciled, which added every file. All files have been
  // reconciled, except perhaps the file that was copied last.
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
  // Each bucket of a histogram includes the buckets before it. The last bucket
  // includes everything.
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

  AwaitMessage("in sync");
  Signal(SIGTERM);
  EXPECT_EQ(Wait(), 0);
  // It prints nothing more.
  EXPECT_EQ(err(),
            absl::StrCat(line, "\n", PageLineOf(line), "\nmirror: in sync\n"));
}

TEST_F(MetricsTest, ThePageIsServedBesideThem) {
  const std::string line = StartAndAwaitCopies();
  AwaitMessage("in sync");
  const std::string url(absl::StripPrefix(PageLineOf(line), "mirror: page: "));
  const std::string overview = Fetch(url);
  EXPECT_THAT(overview, HasSubstr("controller on a priority queue"));
  EXPECT_THAT(overview, HasSubstr("Nothing needs attention."));
  EXPECT_THAT(Fetch(url + "?name=mirror&key=file0&format=json"),
              HasSubstr("succeeded after"));
}

TEST_F(MetricsTest, ThePortAloneLeadsToThePage) {
  const std::string line = StartAndAwaitCopies();
  const std::string url(absl::StripSuffix(
      absl::StripPrefix(line, "mirror: metrics: "), "metrics"));
  EXPECT_THAT(Fetch(url), HasSubstr("controller on a priority queue"));
  EXPECT_THAT(Fetch(url + "metrics"), HasSubstr("workqueue_depth"));
}

TEST_F(MetricsTest, AreServedOnTheLoopbackAddressOnly) {
  const std::string line = StartAndAwaitCopies();
  const size_t begin = line.rfind(':') + 1;
  int port = 0;
  ASSERT_TRUE(
      absl::SimpleAtoi(line.substr(begin, line.rfind('/') - begin), &port));
  EXPECT_TRUE(CanConnect("127.0.0.1", port));
  // All addresses of 127.0.0.0/8 are this machine's.
  EXPECT_FALSE(CanConnect("127.0.0.2", port));
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
}  // namespace mirror::mirror_metrics_test
