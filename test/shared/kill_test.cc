// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Kills, stops and cuts off everything that a shared queue consists of while it
// is in use, and proves from the records of all processes that no promise was
// broken. For as long as you like:
//
//     tools/bazelw test -c opt //test/shared:kill_test
//         --test_arg=--duration=3m --test_timeout=600 --test_output=all
//
// The clock of the server is stepped back, too, if the server can preload
// step_clock.cc: not with a sanitizer, and only where Bazel has built that.

#include <signal.h>
#include <stdlib.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/config.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "test/shared/cutting_proxy.h"
#include "test/shared/kill_checks.h"
#include "test/shared/kill_record.h"
#include "test/shared/kill_run.h"
#include "test/shared/kill_worker.h"
#include "test/shared/redis_fixture.h"
#include "test/shared/redis_server.h"
#include "test/shared/temporary_folder.h"
#include "workqueue/lease.h"
#include "workqueue/redis/redis_connection.h"
#include "workqueue/shared/shared_queue.h"

namespace workqueue {
namespace {

constexpr absl::Duration kLease = absl::Milliseconds(300);
constexpr char kQueue[] = "killed";

// How long to kill, from the command line. `--kills` may take longer.
absl::Duration duration = absl::Seconds(12);

// Takes in an argument of the program. Returns false if it is no flag.
bool TakeFlag(absl::string_view argument) {
  return KillRun::TakeFlag(argument) ||
         (absl::ConsumePrefix(&argument, "--duration=") &&
          absl::ParseDuration(argument, &duration));
}

// Returns the path of the library with the server's clock, or an empty string
// if there is none.
std::string StepClockLibrary() {
#if !defined(ABSL_HAVE_ADDRESS_SANITIZER) && \
    !defined(ABSL_HAVE_THREAD_SANITIZER)
  const char* const folder = getenv("TEST_SRCDIR");
  const char* const workspace = getenv("TEST_WORKSPACE");
  if (folder != nullptr && workspace != nullptr) {
    std::string path =
        absl::StrCat(folder, "/", workspace, "/test/shared/libstep_clock.so");
    if (access(path.c_str(), R_OK) == 0) return path;
  }
#endif
  return "";
}

// Ordeal
//
// One server with a queue, the processes that use it, and their end.
class Ordeal {
 public:
  struct Options {
    absl::Duration duration;
    int kills = 0;
    uint32_t seed = 0;
    std::vector<std::string> config;  // lines of redis.conf
    bool only_kills_server = false;
    bool mostly_stops = false;  // workers
    bool mostly_steps = false;  // the clock
    // How long the queue may take to become empty in the end.
    absl::Duration drain = absl::Seconds(30);
    // A change of the queue's script; see CuttingProxy.
    std::string from;
    std::string to;
  };

  explicit Ordeal(Options options) : options_(std::move(options)) {}

  // Does harm, lets new processes empty the queue, and checks the records.
  KillReport Run() {
    KillReport report;
    if (!Start()) {
      report.violations.push_back({KillViolation::kFailure, "cannot start"});
      return report;
    }
    const absl::Time end = absl::Now() + options_.duration;
    run_->Disturb(
        [&] { return absl::Now() < end || run_->kills() < options_.kills; },
        [this] { DoSomething(); });
    report = run_->Finish(options_.drain);
    if (!error_.empty()) {
      report.violations.push_back({KillViolation::kFailure, error_});
    }
    std::cout << "at random " << proxy_->cuts() << " connections cut, "
              << proxy_->dropped_replies() << " replies dropped, "
              << proxy_->stalls() << " stalls\n";
    return report;
  }

  // How often something has been killed, stopped or cut.
  int kills() const { return run_.has_value() ? run_->kills() : 0; }

  int64_t replacements() const { return proxy_->replacements(); }

 private:
  bool Start() {
    RedisServer::Options options;
    options.config = options_.config;
    const std::string library = StepClockLibrary();
    if (!library.empty()) {
      if (!StepBack(absl::ZeroDuration())) return false;
      options.environment = {"LD_PRELOAD=" + library,
                             "STEP_CLOCK_FILE=" + ClockFile()};
      steps_clock_ = true;
    }
    auto server = RedisServer::Start(std::move(options));
    if (!server.ok()) return false;
    server_ = *std::move(server);
    CuttingProxy::Options proxy;
    proxy.server = server_->socket_path();
    proxy.socket = folder_.path() + "/proxy";
    proxy.seed = options_.seed;
    proxy.longest_stall = 2 * kLease;
    proxy.from = options_.from;
    proxy.to = options_.to;
    proxy_ = std::make_unique<CuttingProxy>(std::move(proxy));
    KillWorker worker;
    worker.socket = proxy_->socket();
    worker.queue = kQueue;
    worker.lease = kLease;
    worker.seed = options_.seed;
    // If the proxy changes the script, all processes must use it: the right
    // script would mend what the changed one does.
    run_.emplace(std::move(worker),
                 options_.from.empty() ? server_->socket_path() : "");
    return true;
  }

  std::string ClockFile() const { return folder_.path() + "/clock"; }

  // Steps the server's clock back. Returns whether it could.
  bool StepBack(absl::Duration by) {
    offset_ -= by;
    const int64_t micros = absl::ToInt64Microseconds(offset_);
    std::fstream file(ClockFile(),
                      std::ios::in | std::ios::out | std::ios::binary);
    if (!file) file.open(ClockFile(), std::ios::out | std::ios::binary);
    // In one write, and without truncation: the server has mapped the file.
    file.write(reinterpret_cast<const char*>(&micros), sizeof(micros));
    return static_cast<bool>(file.flush());
  }

  void DoSomething() {
    int what = run_->Below(100);
    if (options_.only_kills_server) what = 70;
    if (options_.mostly_stops && run_->Below(2) == 0) what = 40;
    if (options_.mostly_steps && run_->Below(2) == 0) what = 96;
    if (what < 40) {
      run_->KillOne();
    } else if (what < 65) {
      run_->StopOne(/*least=*/kLease);
    } else if (what < 75) {
      run_->Count("server killed");
      if (options_.only_kills_server) AwaitUnwritten();
      server_->Kill();
      absl::SleepFor(Random(absl::Milliseconds(50)));
      Restart();
    } else if (what < 80) {
      run_->Count("server restarted");
      server_->Stop();
      Restart();
    } else if (what < 85) {
      run_->Count("server stopped");
      server_->Pause();
      absl::SleepFor(Random(kLease));
      server_->Resume();
    } else if (what < 92) {
      run_->Count("all connections cut");
      proxy_->CutAll();
    } else if (what < 96 || !steps_clock_) {
      run_->Count("scripts flushed");
      FlushScripts();
    } else {
      run_->Count("clock stepped back");
      StepBack(Random(absl::Hours(1)));
    }
  }

  absl::Duration Random(absl::Duration longest) {
    return longest * run_->Below(1000) / 1000;
  }

  void Restart() {
    const absl::Status status = server_->Restart();
    if (!status.ok()) error_ = status.ToString();
  }

  void FlushScripts() { Command({"SCRIPT", "FLUSH"}); }

  // Waits until the server, if it writes without waiting for the disk, has
  // answered what it has not written: while the disk is busy. For a second, at
  // which it begins to write to the disk, and a little more, at most.
  void AwaitUnwritten() {
    const absl::Time end = absl::Now() + absl::Milliseconds(1200);
    const std::string much(1 << 20, 'x');
    while (absl::Now() < end) {
      Command({"SET", "much", much});
      const std::string info = Command({"INFO", "persistence"});
      if (absl::StrContains(info, "aof_pending_bio_fsync:1") &&
          !absl::StrContains(info, "aof_buffer_length:0")) {
        return;
      }
    }
  }

  // Returns the reply if it is a text. Returns nothing if the server does not
  // run.
  std::string Command(const std::vector<absl::string_view>& words) {
    const auto reply = SendTo(server_->socket_path(), words);
    return reply.ok() ? std::string(internal::TextOf(**reply)) : "";
  }

  const Options options_;
  const TemporaryFolder folder_;
  std::unique_ptr<RedisServer> server_;
  std::unique_ptr<CuttingProxy> proxy_;
  std::optional<KillRun> run_;
  bool steps_clock_ = false;
  absl::Duration offset_;  // of the server's clock
  std::string error_;
};

// Skips a test where there is no server.
using KillTest = RedisFixture;

TEST_F(KillTest, KeepsItsPromises) {
  const KillRun::Flags& flags = KillRun::TheFlags();
  Ordeal::Options options;
  options.duration = duration;
  options.kills = flags.kills;
  options.seed = flags.seed;
  Ordeal ordeal(std::move(options));
  const KillReport report = ordeal.Run();
  EXPECT_TRUE(report.violations.empty()) << report.Violations();
  EXPECT_GE(ordeal.kills(), flags.kills);
  EXPECT_GT(report.done, 0);
}

// An item may be sent to a process that does not run. The process must not take
// it for its own when its lease has expired meanwhile.
TEST_F(KillTest, WhatCameDuringAStopIsLost) {
  const TemporaryFolder folder;
  KillWorker worker;
  worker.socket = server()->socket_path();
  worker.queue = kQueue;
  worker.records = folder.path() + "/records";
  worker.lease = kLease;
  worker.adds = false;
  SharedQueueOptions<std::string> options;
  options.name = kQueue;
  options.redis.address = server()->socket_path();
  options.lease = kLease;
  auto queue = SharedQueue<std::string>::Create(std::move(options));
  ASSERT_TRUE(queue.ok()) << queue.status();

  const pid_t pid = worker.Start();
  ASSERT_GE(pid, 0);
  const auto hand_outs_of_worker = [&](absl::string_view item) {
    std::vector<KillRecord> records;
    ReadKillRecords(worker.records, 0, &records);
    return std::count_if(
        records.begin(), records.end(), [&](const KillRecord& it) {
          return it.kind == KillRecord::kHandedOut && it.item == item;
        });
  };
  int added = 0;
  std::string item;
  absl::StatusOr<Lease<std::string>> lease;
  for (;;) {  // until the worker waited when it was stopped
    item = absl::StrCat("x", ++added);
    kill(pid, SIGSTOP);
    siginfo_t info;
    waitid(P_PID, pid, &info, WSTOPPED | WEXITED | WNOWAIT);
    ASSERT_TRUE((*queue)->Add(item));
    lease = (*queue)->TryAcquire();
    if (!lease.ok()) break;
    lease->Done();
    kill(pid, SIGCONT);
    ASSERT_LT(added, 1000);
    absl::SleepFor(absl::Milliseconds(20));
  }
  // The lease that the worker does not know of expires.
  lease = (*queue)->AcquireWithTimeout(absl::Seconds(30));
  ASSERT_TRUE(lease.ok()) << lease.status();
  ASSERT_EQ(**lease, item);
  kill(pid, SIGCONT);
  absl::SleepFor(kLease / 2);
  EXPECT_EQ(hand_outs_of_worker(item), 0);
  EXPECT_FALSE(lease->lost());
  EXPECT_TRUE(lease->Done());
  // The worker goes on.
  ASSERT_TRUE((*queue)->Add("last"));
  const absl::Time deadline = absl::Now() + absl::Seconds(30);
  while (hand_outs_of_worker("last") == 0 && absl::Now() < deadline) {
    absl::SleepFor(absl::Milliseconds(5));
  }
  EXPECT_EQ(hand_outs_of_worker("last"), 1);
  kill(pid, SIGKILL);
  waitpid(pid, nullptr, 0);
}

// Something that does not keep its promises.
struct Broken {
  std::string name;
  KillViolation::Kind violates;
  // A change of the queue's script, of the same length.
  std::string from;
  std::string to;
  // Or a setting of the server, which is killed.
  std::string config = "";
  // Whether it shows when the server's clock is stepped.
  bool steps_clock = false;
};

// A check that cannot fail would prove nothing.
class BrokenKillTest : public RedisFixture,
                       public testing::WithParamInterface<Broken> {};

TEST_P(BrokenKillTest, IsFound) {
  const Broken& broken = GetParam();
  if (broken.steps_clock && StepClockLibrary().empty()) {
    GTEST_SKIP() << "cannot step the server's clock";
  }
  uint32_t seed = KillRun::TheFlags().seed;
  // One round of 14 finds the mistake that shows most rarely.
  for (int round = 1; round <= 100; ++round) {
    Ordeal::Options options;
    options.duration = absl::Seconds(2);
    options.drain = absl::Seconds(3);
    options.seed = seed++;
    options.from = broken.from;
    options.to = broken.to;
    // Most is broken when a lease expires.
    options.mostly_stops = !broken.steps_clock;
    options.mostly_steps = broken.steps_clock;
    if (!broken.config.empty()) {
      options.config = {broken.config};
      options.only_kills_server = true;
    }
    Ordeal ordeal(std::move(options));
    const KillReport report = ordeal.Run();
    if (!broken.from.empty()) {
      ASSERT_GT(ordeal.replacements(), 0) << "the script is another";
    }
    if (report.Has(broken.violates)) {
      std::cout << "found in round " << round << ":\n" << report.Violations();
      return;
    }
  }
  ADD_FAILURE() << "not found";
}

INSTANTIATE_TEST_SUITE_P(
    All, BrokenKillTest,
    testing::ValuesIn(std::vector<Broken>{
        {"NoTokenCheck", KillViolation::kStaleDone, "e[TOKEN] ~= x",
         "e[TOKEN] < -1"},
        {"ShortLease", KillViolation::kOverlap, "LEASES, now + duration",
         "LEASES, now + 20000   "},
        {"LostLeaseIsRenewed", KillViolation::kOverlap, ", X = true }\n\nlocal",
         "           }\n\nlocal"},
        {"NoDelay", KillViolation::kEarly, "now + delay", "now + 1    "},
        {"AddWhileProcessedIsLost", KillViolation::kLost,
         "added_again = e[STATE] == DIRTY", "added_again = e[STATE] == 77777"},
        {"LeaseNeverExpires", KillViolation::kStuck, "now >= grace",
         "now < 0 + 00"},
        {"TimeGoesBack", KillViolation::kStuck, "if now < last then",
         "if now < 0000 then", "", /*steps_clock=*/true},
        {"AppendFsyncEverySec", KillViolation::kLost, "", "",
         "appendfsync everysec"},
        {"NoAppendOnlyFile", KillViolation::kLost, "", "", "appendonly no"},
    }),
    [](const testing::TestParamInfo<Broken>& broken) {
      return broken.param.name;
    });

}  // namespace
}  // namespace workqueue

int main(int argc, char** argv) {
  if (const auto worker = workqueue::KillWorker::FromArguments(argc, argv)) {
    return worker->Run();
  }
  testing::InitGoogleTest(&argc, argv);
  for (int i = 1; i < argc; ++i) {
    if (workqueue::TakeFlag(argv[i])) continue;
    std::cerr << argv[i] << ": none of --duration=5s, --kills=9, --seed=1\n";
    return 2;
  }
  return RUN_ALL_TESTS();
}
