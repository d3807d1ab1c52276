// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Performs all operations that users may perform on a queue, from many threads
// at once and on the real clock, for as long as you like:
//
//     tools/bazelw test -c opt //test/stress:soak_test
//         --test_arg=--duration=1h --test_timeout=4000 --test_output=all
//
// Queues of all kinds live one after the other. Each life takes about 10 to
// 1,000 ms and ends while the queue is in use.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iostream>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "ratelimit/item_exponential_failure_rate_limiter.h"
#include "test/stress/delay_queue_life.h"
#include "test/stress/queue_life.h"
#include "test/stress/scheduler_life.h"
#include "test/stress/soak_counts.h"
#include "test/stress/soak_life.h"
#include "workqueue/delaying_queue.h"
#include "workqueue/fair_ordering.h"
#include "workqueue/priority_queue.h"
#include "workqueue/queue.h"
#include "workqueue/rate_limiting_queue.h"
#include "workqueue/timer/waiting_set_options.h"

namespace workqueue {
namespace {

// The settings from the command line.
struct Flags {
  // How long to run. Each kind of queue has at least one life.
  absl::Duration duration = absl::Seconds(5);

  // The seed of all random choices.
  uint32_t seed = std::random_device()();

  // Parses `argument`. Returns whether it is one of these flags.
  bool Take(absl::string_view argument) {
    if (absl::ConsumePrefix(&argument, "--duration=")) {
      return absl::ParseDuration(argument, &duration);
    }
    return absl::ConsumePrefix(&argument, "--seed=") &&
           absl::SimpleAtoi(argument, &seed);
  }
};

Flags& TheFlags() {
  static Flags flags;
  return flags;
}

// Returns a wheel so small that longer delays go through several rings.
WaitingSetOptions Wheel() {
  return *WaitingSetOptions::TimingWheel(absl::Microseconds(100), /*slots=*/4);
}

std::unique_ptr<RateLimiter<int>> Limiter() {
  return *ItemExponentialFailureRateLimiter<int>::Create(absl::Microseconds(50),
                                                         absl::Milliseconds(3));
}

void LiveAsPlainQueue(bool fair, const SoakLife& life) {
  QueueOptions<int> options;
  if (fair) {
    options.ordering = *FairOrdering<int, int>::Create(
        [](int item) { return item % 4; }, [](int group) { return group; });
  }
  SoakQueue subject;
  subject.queue = std::make_unique<Queue<int>>(std::move(options));
  LiveAsQueue(std::move(subject), life);
}

void LiveAsDelayingQueue(const WaitingSetOptions& waiting_set,
                         bool add_supersedes_waiting, const SoakLife& life) {
  DelayingQueueOptions<int> options;
  options.waiting_set = waiting_set;
  options.add_supersedes_waiting = add_supersedes_waiting;
  auto queue = std::make_unique<DelayingQueue<int>>(std::move(options));
  SoakQueue subject;
  subject.delaying = queue.get();
  subject.add_ends_waiting = add_supersedes_waiting;
  subject.queue = std::move(queue);
  LiveAsQueue(std::move(subject), life);
}

void LiveAsRateLimitingQueue(const SoakLife& life) {
  RateLimitingQueueOptions<int> options;
  options.rate_limiter = Limiter();
  auto queue = std::make_unique<RateLimitingQueue<int>>(std::move(options));
  SoakQueue subject;
  subject.delaying = subject.rate_limiting = queue.get();
  subject.queue = std::move(queue);
  LiveAsQueue(std::move(subject), life);
}

void LiveAsPriorityQueue(const SoakLife& life) {
  PriorityQueueOptions<int> options;
  options.rate_limiter = Limiter();
  auto queue = std::make_unique<PriorityQueue<int>>(std::move(options));
  SoakQueue subject;
  subject.delaying = subject.rate_limiting = subject.priorities = queue.get();
  subject.add_ends_waiting = true;
  subject.queue = std::move(queue);
  LiveAsQueue(std::move(subject), life);
}

struct Kind {
  std::string name;
  void (*live)(const SoakLife&);
};

std::vector<Kind> Kinds() {
  using Life = const SoakLife&;
  return {
      {"Queue", [](Life life) { LiveAsPlainQueue(/*fair=*/false, life); }},
      {"Queue, fair", [](Life life) { LiveAsPlainQueue(/*fair=*/true, life); }},
      {"DelayingQueue",
       [](Life life) {
         LiveAsDelayingQueue({}, /*add_supersedes_waiting=*/false, life);
       }},
      {"DelayingQueue, wheel",
       [](Life life) {
         LiveAsDelayingQueue(Wheel(), /*add_supersedes_waiting=*/false, life);
       }},
      {"DelayingQueue, add supersedes",
       [](Life life) {
         LiveAsDelayingQueue({}, /*add_supersedes_waiting=*/true, life);
       }},
      {"RateLimitingQueue", LiveAsRateLimitingQueue},
      {"PriorityQueue", LiveAsPriorityQueue},
      {"DelayQueue", [](Life life) { LiveAsDelayQueue({}, life); }},
      {"DelayQueue, wheel", [](Life life) { LiveAsDelayQueue(Wheel(), life); }},
      {"Scheduler", [](Life life) { LiveAsScheduler({}, life); }},
      {"Scheduler, wheel", [](Life life) { LiveAsScheduler(Wheel(), life); }},
  };
}

// Returns a time from 10 ms to 1 s. Each order of magnitude is equally likely.
// The time is shorter if `of_all` does not leave enough time.
absl::Duration LengthOfLife(absl::Duration of_all, std::mt19937& random) {
  std::uniform_real_distribution<double> exponent(1, 3);
  return std::min(absl::Milliseconds(std::pow(10, exponent(random))),
                  of_all / 20);
}

TEST(SoakTest, AllOperationsAtOnce) {
  const auto [duration, seed] = TheFlags();
  // printed even if the test is killed later
  std::cout << "--seed=" << seed << std::endl;
  std::mt19937 random(seed);
  const absl::Time end = RealClock()->TimeNow() + duration;

  std::vector<Kind> kinds = Kinds();
  std::map<std::string, int> lives;
  SoakCounts counts;
  do {
    std::shuffle(kinds.begin(), kinds.end(), random);
    for (const Kind& kind : kinds) {
      SoakLife life = {kind.name, static_cast<uint32_t>(random()),
                       LengthOfLife(duration, random),
                       /*busy=*/1 << (random() % 6), &counts};
      SCOPED_TRACE(absl::StrCat(kind.name, ", a life of ",
                                absl::FormatDuration(life.length)));
      kind.live(life);
      ++lives[kind.name];
      ASSERT_FALSE(HasFailure());
    }
  } while (RealClock()->TimeNow() < end);

  for (const auto& [kind, times] : lives) {
    std::cout << kind << ": " << times << " lives\n";
  }
  for (int i = 0; i < SoakCounts::kEvents; ++i) {
    const auto event = static_cast<SoakCounts::Event>(i);
    std::cout << SoakCounts::NameOf(event) << ": " << counts.count(event)
              << "\n";
    EXPECT_GT(counts.count(event), 0) << SoakCounts::NameOf(event);
  }
}

}  // namespace
}  // namespace workqueue

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  for (int i = 1; i < argc; ++i) {
    if (workqueue::TheFlags().Take(argv[i])) continue;
    std::cerr << argv[i] << ": neither --duration=5s nor --seed=1\n";
    return 2;
  }
  return RUN_ALL_TESTS();
}
