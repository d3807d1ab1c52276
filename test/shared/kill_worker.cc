// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "test/shared/kill_worker.h"

#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "test/shared/kill_record.h"
#include "workqueue/lease.h"
#include "workqueue/lease_batch.h"
#include "workqueue/shared/shared_queue.h"
#include "workqueue/testing/thread.h"

namespace workqueue {
namespace {

constexpr char kFlag[] = "--kill_worker";

// Longer than any outage of the server, so that a call does not fail.
constexpr absl::Duration kCallTimeout = absl::Seconds(30);

constexpr absl::Duration kFirstRetry = absl::Milliseconds(20);

// So many items are added again and again, by all processes.
constexpr int kSharedItems = 20;

class Process {
 public:
  Process(const KillWorker& worker,
          std::unique_ptr<SharedQueue<std::string>> queue)
      : worker_(worker), recorder_(worker.records), queue_(std::move(queue)) {}

  [[noreturn]] void Run() {
    std::vector<Thread> threads;
    uint32_t seed = worker_.seed;
    for (int i = 0; i < (worker_.adds ? 2 : 0); ++i) {
      threads.emplace_back([this, seed = ++seed] { AddForever(seed); });
    }
    threads.emplace_back([this, seed = ++seed] { AcquireNextForever(seed); });
    threads.emplace_back([this, seed = ++seed] { AcquireForever(seed); });
    threads.emplace_back([this, seed = ++seed] { AcquireUpToForever(seed); });
    for (;;) pause();
  }

 private:
  void AddForever(uint32_t seed) {
    std::mt19937 random(seed);
    for (;;) {
      Add(random);
      absl::SleepFor(absl::Microseconds(random() % 4000));
    }
  }

  void Add(std::mt19937& random) {
    const int64_t number = ++adds_;
    std::string item = random() % 2 == 0
                           ? absl::StrCat("shared-", random() % kSharedItems)
                           : absl::StrCat("own-", worker_.seed, "-", number);
    const absl::Duration delay = absl::Milliseconds(1 + random() % 50);
    switch (random() % 5) {
      case 0:
        recorder_.Write(KillRecord::kAddBegins, number,
                        absl::ToInt64Nanoseconds(delay), item);
        AddEnds(number, queue_->AddItems(AddOptions::After(delay), {item}));
        break;
      case 1:
        recorder_.Write(KillRecord::kAddBegins, number,
                        absl::ToInt64Nanoseconds(kFirstRetry), item);
        AddEnds(number, queue_->AddItems(AddOptions::RateLimited(), {item}));
        break;
      default:
        recorder_.Write(KillRecord::kAddBegins, number, 0, item);
        AddEnds(number, queue_->AddItems({}, {item}));
    }
  }

  void AddEnds(int64_t number, const absl::Status& status) {
    if (status.ok()) {
      recorder_.Write(KillRecord::kAddAcknowledged, number, 0, "-");
    } else {
      Failed("an add", status);
    }
  }

  void AcquireNextForever(uint32_t seed) {
    std::mt19937 random(seed);
    Lease<std::string> lease;
    for (;;) {
      if (lease)
        recorder_.Write(KillRecord::kDoneBegins, lease.token(), 0, "-");
      const absl::Status status = queue_->AcquireNext(&lease);
      if (!status.ok()) {
        Failed("AcquireNext()", status);
      } else {
        HandedOut(lease);
        ProcessItem(random, lease);
      }
    }
  }

  void AcquireForever(uint32_t seed) {
    std::mt19937 random(seed);
    for (;;) {
      absl::StatusOr<Lease<std::string>> lease =
          queue_->AcquireWithTimeout(absl::Milliseconds(random() % 100));
      if (lease.ok()) {
        HandedOut(*lease);
        ProcessItem(random, *lease);
        End(random, *lease);
      } else if (!absl::IsDeadlineExceeded(lease.status())) {
        Failed("AcquireWithTimeout()", lease.status());
      }
    }
  }

  void AcquireUpToForever(uint32_t seed) {
    std::mt19937 random(seed);
    for (;;) {
      absl::StatusOr<LeaseBatch<std::string>> batch =
          queue_->AcquireUpToWithTimeout(4, absl::Milliseconds(100));
      if (batch.ok()) {
        for (const auto& lease : *batch) HandedOut(lease);
        for (auto& lease : *batch) {
          ProcessItem(random, lease);
          End(random, lease);
        }
      } else if (!absl::IsDeadlineExceeded(batch.status())) {
        Failed("AcquireUpToWithTimeout()", batch.status());
      }
    }
  }

  void HandedOut(const Lease<std::string>& lease) {
    recorder_.Write(KillRecord::kHandedOut, lease.token(), 0, *lease);
  }

  void ProcessItem(std::mt19937& random, const Lease<std::string>& lease) {
    // Some take longer than a lease, which must be renewed.
    const absl::Duration length = worker_.adds && random() % 64 == 0
                                      ? 1.5 * worker_.lease
                                      : absl::Microseconds(random() % 5000);
    const absl::Time end = absl::Now() + length;
    while (true) {
      const int64_t now = MonotonicNanos();
      if (!lease.lost()) {
        recorder_.Write(KillRecord::kAlive, now, lease.token(), 0, "-");
      }
      const absl::Duration left = end - absl::Now();
      if (left <= absl::ZeroDuration()) return;
      absl::SleepFor(std::min(left, worker_.lease / 10));
    }
  }

  void End(std::mt19937& random, Lease<std::string>& lease) {
    const int64_t token = lease.token();
    if (random() % 32 == 0) {
      recorder_.Write(KillRecord::kGiveBackBegins, token, 0, "-");
      lease.GiveBack();
      return;
    }
    if (random() % 2 == 0) queue_->Forget(*lease);
    recorder_.Write(KillRecord::kDoneBegins, token, 0, "-");
    const bool done = lease.Done();
    recorder_.Write(KillRecord::kDone, token, done ? 1 : 0, "-");
  }

  void Failed(const char* call, const absl::Status& status) {
    recorder_.Write(
        KillRecord::kFailed, 0, 0,
        absl::StrReplaceAll(absl::StrCat(call, ":", status.ToString()),
                            {{" ", "_"}, {"\n", "_"}}));
  }

  const KillWorker worker_;
  const KillRecorder recorder_;
  const std::unique_ptr<SharedQueue<std::string>> queue_;
  std::atomic<int64_t> adds_{0};
};

}  // namespace

pid_t KillWorker::Start() const {
  std::vector<std::string> words = {"kill_worker",
                                    kFlag,
                                    absl::StrCat(getpid()),
                                    socket,
                                    queue,
                                    records,
                                    absl::FormatDuration(lease),
                                    absl::StrCat(seed),
                                    adds ? "adds" : "drains"};
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  pid_t pid;
  return posix_spawn(&pid, "/proc/self/exe", nullptr, nullptr, argv.data(),
                     environ) == 0
             ? pid
             : -1;
}

std::optional<KillWorker> KillWorker::FromArguments(int argc, char** argv) {
  if (argc != 9 || strcmp(argv[1], kFlag) != 0) return std::nullopt;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  int parent;
  // The parent may have ended before the prctl.
  if (!absl::SimpleAtoi(argv[2], &parent) || getppid() != parent) _exit(1);
  KillWorker worker;
  worker.socket = argv[3];
  worker.queue = argv[4];
  worker.records = argv[5];
  if (!absl::ParseDuration(argv[6], &worker.lease) ||
      !absl::SimpleAtoi(argv[7], &worker.seed)) {
    _exit(1);
  }
  worker.adds = strcmp(argv[8], "adds") == 0;
  return worker;
}

SharedQueueOptions<std::string> KillWorker::Options() const {
  SharedQueueOptions<std::string> options;
  options.name = queue;
  options.redis.address = socket;
  options.lease = lease;
  options.call_timeout = kCallTimeout;
  options.retry_schedule = {kFirstRetry, 2 * kFirstRetry};
  return options;
}

int KillWorker::Run() const {
  auto opened = SharedQueue<std::string>::Create(Options());
  if (!opened.ok()) {
    KillRecorder(records).Write(
        KillRecord::kFailed, 0, 0,
        absl::StrReplaceAll(
            absl::StrCat("Create():", opened.status().ToString()),
            {{" ", "_"}, {"\n", "_"}}));
    return 1;
  }
  Process(*this, *std::move(opened)).Run();
}

}  // namespace workqueue
