// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Measures by how much an open inspection page delays `Add()`.
//
// A queue has a million queued items. One thread adds and takes an item
// 20,000 times a second. In every other round, a second thread requests the
// page of the queue, and the overview, every second, which is twice as often as
// a browser does. Each round takes two seconds. Prints, for each kind of queue,
// the medians of the rounds' percentiles of the time of an `Add()`, without and
// with the page, and the median of the ratios of two neighbouring rounds.
//
// Run it with `tools/bazelw run -c opt //bench:inspect_cost`. It takes two
// minutes.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <thread>  // NOLINT(build/c++11)
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "workqueue/fair_ordering.h"
#include "workqueue/inspect/inspect_handler.h"
#include "workqueue/inspect/inspect_queue.h"
#include "workqueue/inspect/inspection_registry.h"
#include "workqueue/interfaces.h"
#include "workqueue/priority_queue.h"
#include "workqueue/rate_limiting_queue.h"

namespace workqueue {
namespace {

constexpr int kItems = 1'000'000;
constexpr int kRounds = 9;  // with the page, and as many without
constexpr absl::Duration kRound = absl::Seconds(2);
constexpr absl::Duration kPeriod = absl::Microseconds(50);
constexpr absl::Duration kRefresh = absl::Seconds(1);

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// The percentiles of the times of a round, in microseconds.
struct Times {
  double p50, p99, p999;
};

std::string KeyOf(int64_t i) {
  return absl::StrCat("tenant-", i % 1000, "/object-", i);
}

// Adds and takes items for one round.
Times RunRound(RateLimitingInterface<std::string>& queue, int64_t* next) {
  std::vector<double> times;
  const absl::Time end = absl::Now() + kRound;
  absl::Time begin = absl::Now();
  while (begin < end) {
    const std::string key = KeyOf((*next)++);
    const absl::Time before = absl::Now();
    queue.Add(key);
    times.push_back(absl::ToDoubleMicroseconds(absl::Now() - before));
    queue.Done(*queue.TryGet());
    begin += kPeriod;
    while (absl::Now() < begin) {
    }
  }
  std::sort(times.begin(), times.end());
  return {times[times.size() / 2], times[times.size() * 99 / 100],
          times[times.size() * 999 / 1000]};
}

// Requests the pages until `stop`.
void Refresh(InspectHandler& handler, const absl::Notification& stop) {
  do {
    handler.Handle({"GET", {}, {}});
    handler.Handle({"GET", {{"name", "queue"}}, {}});
  } while (!stop.WaitForNotificationWithTimeout(kRefresh));
}

Times RunRoundWithPage(RateLimitingInterface<std::string>& queue,
                       InspectHandler& handler, int64_t* next) {
  absl::Notification stop;
  std::thread browser([&] { Refresh(handler, stop); });
  const Times times = RunRound(queue, next);
  stop.Notify();
  browser.join();
  return times;
}

void Measure(absl::string_view kind,
             std::unique_ptr<RateLimitingInterface<std::string>> queue) {
  int64_t next = 0;
  while (next < kItems) queue->Add(KeyOf(next++));
  for (int i = 0; i < kItems; ++i) {
    queue->AddAfter(absl::StrCat("waiting-", i), absl::Hours(1 + i % 100));
  }
  auto registry = *InspectionRegistry::Create();
  const auto registration = *registry->Add("queue", InspectQueue(queue.get()));
  InspectHandler handler(registry.get());

  std::vector<double> without[3], with[3], ratios[3];
  RunRound(*queue, &next);  // warms up
  for (int round = 0; round < kRounds; ++round) {
    const Times a = RunRound(*queue, &next);
    const Times b = RunRoundWithPage(*queue, handler, &next);
    const double pairs[3][2] = {
        {a.p50, b.p50}, {a.p99, b.p99}, {a.p999, b.p999}};
    for (int i = 0; i < 3; ++i) {
      without[i].push_back(pairs[i][0]);
      with[i].push_back(pairs[i][1]);
      ratios[i].push_back(pairs[i][1] / pairs[i][0]);
    }
  }
  constexpr const char* kNames[] = {"p50", "p99", "p99.9"};
  for (int i = 0; i < 3; ++i) {
    std::printf("| %s | %s | %.2f | %.2f | %.3f |\n", std::string(kind).c_str(),
                kNames[i], Median(without[i]), Median(with[i]),
                Median(ratios[i]));
  }
  queue->ShutDown();
}

int Main() {
  std::printf(
      "| queue | Add() | without the page, us | with it, us | ratio |\n"
      "| --- | --- | --- | --- | --- |\n");
  Measure("PriorityQueue", std::make_unique<PriorityQueue<std::string>>());
  Measure("RateLimitingQueue",
          std::make_unique<RateLimitingQueue<std::string>>());
  RateLimitingQueueOptions<std::string> fair;
  fair.ordering = *FairOrdering<std::string>::Create(
      [](const std::string& key) { return key.substr(0, key.find('/')); });
  Measure("FairOrdering",
          std::make_unique<RateLimitingQueue<std::string>>(std::move(fair)));
  return 0;
}

}  // namespace
}  // namespace workqueue

int main() { return workqueue::Main(); }
