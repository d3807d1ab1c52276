// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_TEST_SHARED_KILL_RUN_H_
#define WORKQUEUE_TEST_SHARED_KILL_RUN_H_

#include <signal.h>
#include <sys/types.h>
#include <sys/wait.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <iostream>
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
// Processes that use a queue of an engine, and that a test kills. Ends them
// when it is destroyed.
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

  // All processes are like `worker`.
  explicit KillRun(KillWorker worker) : worker_(std::move(worker)) {
    std::cout << "--seed=" << TheFlags().seed << std::endl;
  }
  ~KillRun() { KillAll(); }

  KillRun(const KillRun&) = delete;
  KillRun& operator=(const KillRun&) = delete;

  pid_t Start(bool adds) {
    KillWorker worker = worker_;
    worker.records = RecordsOf(processes_++);
    worker.seed = TheFlags().seed + 100 * static_cast<uint32_t>(processes_);
    worker.adds = adds;
    return worker.Start();
  }

  static void Kill(pid_t pid) {
    if (pid <= 0) return;
    kill(pid, SIGKILL);
    waitpid(pid, nullptr, 0);
  }

  // Returns a number from 0 to n - 1.
  int Below(int n) { return static_cast<int>(random_() % n); }

  // Does harm so many times: what `harm` does and returns true for, or else
  // suspends or kills a process.
  void Disturb(int times, const std::function<bool()>& harm) {
    for (int i = 0; i < 4; ++i) workers_.push_back(Start(/*adds=*/true));
    for (int i = 0; i < times; ++i) {
      absl::SleepFor(absl::Milliseconds(Below(100)));
      if (harm()) continue;
      pid_t& worker = workers_[static_cast<size_t>(Below(4))];
      ASSERT_GT(worker, 0);
      if (Below(4) == 0) {
        kill(worker, SIGSTOP);
        absl::SleepFor(worker_.lease * Below(300) / 100);
        kill(worker, SIGCONT);
      } else {
        Kill(worker);
        worker = Start(/*adds=*/true);
      }
    }
  }

  // Lets new processes empty the queue, and checks what all have recorded.
  KillReport Finish() {
    for (pid_t& worker : workers_) {
      Kill(worker);
      worker = Start(/*adds=*/false);
    }
    {
      const auto queue = SharedQueue<std::string>::Create(worker_.Options());
      EXPECT_TRUE(queue.ok()) << queue.status();
      if (queue.ok()) Drain(**queue);
    }
    KillAll();
    std::vector<KillRecord> records;
    for (int i = 0; i < processes_; ++i) {
      ReadKillRecords(RecordsOf(i), i, &records);
    }
    KillReport report = CheckKillRecords(records, worker_.lease);
    std::cout << report.Summary() << "\n";
    return report;
  }

 private:
  void KillAll() {
    for (pid_t worker : workers_) Kill(worker);
    workers_.clear();
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

  void Drain(SharedQueue<std::string>& queue) {
    const absl::Time deadline = absl::Now() + absl::Seconds(60);
    while (true) {
      absl::SleepFor(absl::Milliseconds(20));
      const auto count = queue.Count();
      ASSERT_TRUE(count.ok()) << count.status();
      if (count->queued + count->processing + count->waiting == 0) return;
      for (pid_t& worker : workers_) {
        int status = 0;
        if (waitpid(worker, &status, WNOHANG) != worker) continue;
        worker = -1;
        ADD_FAILURE() << "a process ended on its own: " << status;
      }
      ASSERT_LT(absl::Now(), deadline)
          << "the queue is stuck: " << DescribeRest(queue);
    }
  }

  const KillWorker worker_;
  const TemporaryFolder folder_;
  std::mt19937 random_{TheFlags().seed};
  std::vector<pid_t> workers_;
  int processes_ = 0;
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
