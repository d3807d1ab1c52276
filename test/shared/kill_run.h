// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_TEST_SHARED_KILL_RUN_H_
#define WORKQUEUE_TEST_SHARED_KILL_RUN_H_

#include <signal.h>
#include <sys/types.h>
#include <sys/wait.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iostream>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "test/shared/kill_checks.h"
#include "test/shared/kill_record.h"
#include "test/shared/kill_worker.h"
#include "test/shared/temporary_folder.h"
#include "workqueue/shared/shared_queue.h"

namespace workqueue {

// KillRun
//
// Processes that use a queue, and that a test kills. Kills them when it is
// destroyed.
class KillRun {
 public:
  struct Flags {
    int kills = 30;
    uint32_t seed = std::random_device()();
  };
  // Those of this program.
  static Flags& TheFlags() {
    static Flags flags;
    return flags;
  }
  // Takes in an argument of the program. Returns false if it is none of these.
  static bool TakeFlag(absl::string_view argument) {
    Flags& flags = TheFlags();
    return absl::ConsumePrefix(&argument, "--kills=")
               ? absl::SimpleAtoi(argument, &flags.kills)
               : absl::ConsumePrefix(&argument, "--seed=") &&
                     absl::SimpleAtoi(argument, &flags.seed);
  }

  // All processes are like `worker`. If `other_socket` is not empty, half of
  // them use that one.
  explicit KillRun(KillWorker worker, std::string other_socket = "")
      : worker_(std::move(worker)),
        other_socket_(std::move(other_socket)),
        random_(worker_.seed) {
    // Is printed even if the test is killed later.
    std::cout << "--seed=" << worker_.seed << std::endl;
  }
  ~KillRun() { KillAll(); }

  KillRun(const KillRun&) = delete;
  KillRun& operator=(const KillRun&) = delete;

  // Starts process `i` of those that use the queue at the same time.
  pid_t Start(bool adds, size_t i = 0) {
    KillWorker worker = worker_;
    if (i % 2 == 1 && !other_socket_.empty()) worker.socket = other_socket_;
    worker.records = RecordsOf(processes_++);
    worker.seed += 100 * static_cast<uint32_t>(processes_);
    worker.adds = adds;
    const pid_t pid = worker.Start();
    EXPECT_GT(pid, 0) << "cannot start a process";
    return pid;
  }

  static void Kill(pid_t pid) {
    if (pid <= 0) return;
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
  }

  // Returns a number from 0 to n - 1.
  int Below(int n) { return static_cast<int>(random_() % n); }

  // Lets processes use the queue, and does `harm` again and again, as long as
  // `goes_on`.
  void Disturb(const std::function<bool()>& goes_on,
               const std::function<void()>& harm) {
    StartMissing(/*adds=*/true);
    while (goes_on()) {
      harm();
      absl::SleepFor(absl::Milliseconds(Below(100)));
      FindTheDead();
      StartMissing(/*adds=*/true);
      ContinueStopped(absl::Now());
    }
    ContinueStopped(absl::InfiniteFuture());
  }

  // The harm that can be done to any queue.
  void HarmOne() {
    if (Below(4) == 0) {
      StopOne(/*least=*/absl::ZeroDuration());
    } else {
      KillOne();
    }
  }

  void KillOne() {
    Count("worker killed");
    Kill(&Any());
  }

  // Suspends a process for three leases at most, and does not wait for that.
  void StopOne(absl::Duration least) {
    Worker& worker = Any();
    if (worker.pid <= 0 || worker.continues_at.has_value()) return;
    Count("worker stopped");
    kill(worker.pid, SIGSTOP);
    worker.continues_at =
        absl::Now() + least + (3 * worker_.lease - least) * Below(1000) / 1000;
  }

  // Counts some harm. `KillOne()` and `StopOne()` do so themselves.
  void Count(const std::string& harm) { ++counts_[harm]; }

  // How much harm has been done.
  int kills() const {
    int sum = 0;
    for (const auto& it : counts_) sum += it.second;
    return sum;
  }

  // Lets new processes empty the queue, for `longest` at most, and checks what
  // all have recorded.
  KillReport Finish(absl::Duration longest = absl::Seconds(60)) {
    FindTheDead();
    KillAll();
    StartMissing(/*adds=*/false);
    const std::string rest = Drain(longest);
    KillAll();
    std::vector<KillRecord> records;
    for (int i = 0; i < processes_; ++i) {
      ReadKillRecords(RecordsOf(i), i, &records);
    }
    KillReport report = CheckKillRecords(records, worker_.lease);
    if (!rest.empty()) {
      report.violations.push_back({KillViolation::kStuck, rest});
    }
    for (const int status : ends_) {
      report.violations.push_back(
          {KillViolation::kFailure,
           absl::StrCat("a process ended on its own: ", status)});
    }
    std::cout << kills() << " kills:";
    for (const auto& [harm, count] : counts_) {
      std::cout << " " << count << " x " << harm << ",";
    }
    std::cout << "\n" << report.Summary() << "\n";
    return report;
  }

 private:
  struct Worker {
    pid_t pid = -1;
    std::optional<absl::Time> continues_at;  // if it is stopped
  };

  Worker& Any() { return workers_[static_cast<size_t>(Below(kWorkers))]; }

  static void Kill(Worker* worker) {
    Kill(worker->pid);
    *worker = Worker();
  }

  void KillAll() {
    for (Worker& worker : workers_) Kill(&worker);
  }

  void StartMissing(bool adds) {
    for (size_t i = 0; i < kWorkers; ++i) {
      if (workers_[i].pid < 0) workers_[i].pid = Start(adds, i);
    }
  }

  // Notes which processes have ended on their own.
  void FindTheDead() {
    for (Worker& worker : workers_) {
      if (worker.pid < 0) continue;
      int status = 0;
      if (waitpid(worker.pid, &status, WNOHANG) != worker.pid) continue;
      ends_.push_back(status);
      worker = Worker();
    }
  }

  void ContinueStopped(absl::Time now) {
    for (Worker& worker : workers_) {
      if (!worker.continues_at.has_value() || now < *worker.continues_at) {
        continue;
      }
      kill(worker.pid, SIGCONT);
      worker.continues_at.reset();
    }
  }

  std::string RecordsOf(int process) const {
    return absl::StrCat(folder_.path(), "/records-", process);
  }

  static std::string DescribeRest(SharedQueue<std::string>& queue) {
    SnapshotOptions<std::string> details;
    details.details = true;
    const auto snapshot = queue.TakeSnapshotWith(details);
    if (!snapshot.ok()) return snapshot.status().ToString();
    std::string rest = absl::StrCat(snapshot->num_queued, " queued, ",
                                    snapshot->num_processing, " processing, ",
                                    snapshot->num_waiting, " waiting;");
    for (const auto& it : snapshot->queued) {
      absl::StrAppend(&rest, " queued ", it.item);
    }
    for (const auto& it : snapshot->processing) {
      absl::StrAppend(&rest, " processing ", it.item, " by ", it.holder);
    }
    for (const auto& it : snapshot->waiting) {
      absl::StrAppend(&rest, " waiting ", it.item);
    }
    for (const auto& it : snapshot->clients) {
      absl::StrAppend(&rest, "; ", it.name, " waits with ", it.waiting_workers);
    }
    return rest;
  }

  // Waits until the queue is empty. Returns what is left.
  std::string Drain(absl::Duration longest) {
    const auto queue = SharedQueue<std::string>::Create(worker_.Options());
    if (!queue.ok()) return queue.status().ToString();
    const absl::Time deadline = absl::Now() + longest;
    while (true) {
      absl::SleepFor(absl::Milliseconds(20));
      FindTheDead();
      const auto count = (*queue)->Count();
      if (!count.ok()) return count.status().ToString();
      if (count->queued + count->processing + count->waiting == 0) return "";
      if (absl::Now() > deadline) return DescribeRest(**queue);
    }
  }

  static constexpr size_t kWorkers = 4;

  const KillWorker worker_;
  const std::string other_socket_;
  const TemporaryFolder folder_;
  std::mt19937 random_;
  std::array<Worker, kWorkers> workers_;
  int processes_ = 0;      // so far
  std::vector<int> ends_;  // of these on their own
  std::map<std::string, int> counts_;
};

// The workers of all processes that wait for an item.
inline size_t WaitingWorkers(SharedQueue<std::string>& queue) {
  size_t workers = 0;
  SnapshotOptions<std::string> details;
  details.details = true;
  const auto snapshot = queue.TakeSnapshotWith(details);
  for (const auto& it : snapshot->clients) workers += it.waiting_workers;
  return workers;
}

}  // namespace workqueue

#endif  // WORKQUEUE_TEST_SHARED_KILL_RUN_H_
