// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Replays the recorded traces of client-go's queues on a `SharedQueue`, on
// each engine.

#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "gtest/gtest.h"
#include "test/conformance/limiter_spec.h"
#include "test/conformance/queue_subject.h"
#include "test/conformance/replay.h"
#include "test/conformance/subjects.h"
#include "test/conformance/trace.h"
#include "test/shared/new_shared_queue.h"
#include "test/shared/test_engines.h"
#include "workqueue/shared/internal/engine.h"
#include "workqueue/shared/retry_schedule.h"
#include "workqueue/shared/shared_queue.h"

namespace conformance::shared_queue_conformance_test {
namespace {

using workqueue::RetrySchedule;
using workqueue::SharedQueue;
using workqueue::SharedQueueOptions;
using workqueue::TestEngines;

// More than any trace has failures of one item.
constexpr int kFailures = 200;

class SharedQueueSubject final : public QueueSubject {
 public:
  SharedQueueSubject(const Header& header, RetrySchedule schedule,
                     const workqueue::TestEngine& engine)
      : QueueSubject(header), engine_(engine.make(clock())) {
    auto options =
        workqueue::NewSharedQueueOptions<Item>(clock(), engine_.get());
    options.metrics_provider = metrics_provider();
    if (!schedule.empty()) options.retry_schedule = std::move(schedule);
    queue_ = workqueue::NewSharedQueue(std::move(options));
    OnBase(queue_.get());
    OnDelaying(queue_.get());
    OnRateLimiting(queue_.get());
  }

 private:
  const std::unique_ptr<workqueue::internal::EngineSource> engine_;
  std::unique_ptr<SharedQueue<Item>> queue_;
};

SubjectOr NewSharedQueueSubject(const Header& header,
                                const workqueue::TestEngine& engine) {
  RetrySchedule schedule;
  if (!header.limiter.empty()) {
    auto limiter = ParseLimiter(header.limiter);
    if (!limiter.ok()) return limiter.status();
    for (int i = 0; i < kFailures; ++i) {
      schedule.push_back((*limiter)->When("item"));
    }
  }
  return std::make_unique<SharedQueueSubject>(header, std::move(schedule),
                                              engine);
}

class SharedQueueConformanceTest
    : public testing::TestWithParam<workqueue::TestEngine> {};

TEST_P(SharedQueueConformanceTest, BehavesAsClientGoWasRecorded) {
  int traces = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator("test/conformance/traces")) {
    std::ifstream file(entry.path());
    const std::string trace{std::istreambuf_iterator<char>(file), {}};
    const bool is_of_a_queue = absl::StrContains(trace, "queue base") ||
                               absl::StrContains(trace, "queue delaying") ||
                               absl::StrContains(trace, "queue ratelimiting");
    if (!is_of_a_queue) continue;
    ++traces;
    const Outcome outcome = Replay(trace, [](const Header& header) {
      return NewSharedQueueSubject(header, GetParam());
    });
    EXPECT_EQ(outcome.kind, Outcome::Kind::kAsRecorded)
        << entry.path() << ":" << outcome.line << ": " << outcome.message;
  }
  EXPECT_GT(traces, 30);
}

INSTANTIATE_ENGINE_TESTS(SharedQueueConformanceTest);

}  // namespace
}  // namespace conformance::shared_queue_conformance_test
