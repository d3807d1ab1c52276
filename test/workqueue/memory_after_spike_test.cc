// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Tests that the memory of a spike is freed although some of its items remain.
// The environment variable ITEMS sets the number of items of a spike.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <ostream>
#include <random>
#include <string>
#include <tuple>
#include <utility>

#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "test/internal/counted_heap.h"
#include "workqueue/clock/fake_clock.h"
#include "workqueue/priority_queue.h"
#include "workqueue/rate_limiting_queue.h"
#include "workqueue/timer/delay_queue.h"
#include "workqueue/timer/scheduler.h"
#include "workqueue/timer/waiting_set_options.h"

namespace workqueue {
namespace {

// Something that keeps items until they are due.
class Subject {
 public:
  virtual ~Subject() = default;

  virtual void Add(int item, absl::Duration delay) = 0;

  // Takes `n` items, which are due.
  virtual void Take(int n) = 0;

  FakeClock& clock() { return clock_; }

 private:
  FakeClock clock_;
};

template <typename Q>
class QueueSubject : public Subject {
 public:
  template <typename Options>
  explicit QueueSubject(Options options) {
    options.clock = &clock();
    queue_.emplace(std::move(options));
  }

  void Add(int item, absl::Duration delay) override {
    queue_->AddAfter(item, delay);
  }

  void Take(int n) override {
    for (int i = 0; i < n; ++i) queue_->Done(*queue_->Get());
  }

 private:
  std::optional<Q> queue_;
};

template <typename T>
class DelayQueueSubject : public Subject {
 public:
  explicit DelayQueueSubject(WaitingSetOptions waiting_set) {
    DelayQueueOptions options;
    options.clock = &clock();
    options.waiting_set = waiting_set;
    queue_.emplace(options);
  }

  void Add(int item, absl::Duration delay) override {
    queue_->Push(T(item), delay);
  }

  void Take(int n) override {
    for (int i = 0; i < n; ++i) EXPECT_TRUE(queue_->TryTake().ok());
  }

 private:
  std::optional<DelayQueue<T>> queue_;
};

class SchedulerSubject : public Subject {
 public:
  explicit SchedulerSubject(WaitingSetOptions waiting_set) {
    SchedulerOptions options;
    options.clock = &clock();
    options.waiting_set = waiting_set;
    options.workers = 1;
    scheduler_ = *Scheduler::Create(std::move(options));
  }

  void Add(int, absl::Duration delay) override {
    EXPECT_TRUE(scheduler_->ScheduleOnce([] {}, delay).ok());
  }

  void Take(int) override {}

 private:
  std::unique_ptr<Scheduler> scheduler_;
};

WaitingSetOptions Heap() { return WaitingSetOptions(); }
WaitingSetOptions Wheel() { return *WaitingSetOptions::TimingWheel(); }

template <WaitingSetOptions (*kWaitingSet)()>
std::unique_ptr<Subject> NewRateLimitingQueue() {
  RateLimitingQueueOptions<int> options;
  options.waiting_set = kWaitingSet();
  return std::make_unique<QueueSubject<RateLimitingQueue<int>>>(
      std::move(options));
}

std::unique_ptr<Subject> NewPriorityQueue() {
  return std::make_unique<QueueSubject<PriorityQueue<int>>>(
      PriorityQueueOptions<int>());
}

template <typename T, WaitingSetOptions (*kWaitingSet)()>
std::unique_ptr<Subject> NewDelayQueue() {
  return std::make_unique<DelayQueueSubject<T>>(kWaitingSet());
}

template <WaitingSetOptions (*kWaitingSet)()>
std::unique_ptr<Subject> NewScheduler() {
  return std::make_unique<SchedulerSubject>(kWaitingSet());
}

int main2() {
  const char* e = getenv("ITEMS");
  const int n = e ? atoi(e) : 1000000;
  struct { const char* name; std::unique_ptr<Subject> (*make)(); } subjects[] = {
    {"rlq", NewRateLimitingQueue<Heap>}, {"rlq-wheel", NewRateLimitingQueue<Wheel>},
    {"pq", NewPriorityQueue}, {"dq", NewDelayQueue<int, Heap>}, {"dq-wheel", NewDelayQueue<int, Wheel>},
    {"sched", NewScheduler<Heap>}, {"sched-wheel", NewScheduler<Wheel>}};
  double worst = 0;
  for (auto& s : subjects) for (int k : {0, 1, 10, 1000, 1009, 4000, 8000, 16384, 16500, 32752,33000, 100000}) for (int where : {0, 1, 2}) for (bool random : {false, true}) {
    if (getenv("ONLY") && s.name != std::string(getenv("ONLY"))) continue;
    if (k * 4 > n) continue;
    std::mt19937 rng(1);
    auto fresh_subject = s.make();
    int64_t before = CountedHeap::bytes_in_use;
    for (int i = 0; i < k; ++i) { fresh_subject->Add(i, absl::Hours(10000)); }
    fresh_subject->clock().Step(absl::ZeroDuration());
    int64_t fresh = CountedHeap::bytes_in_use - before;
    fresh_subject.reset();
    auto sub = s.make();
    before = CountedHeap::bytes_in_use;
    int kept = 0;
    for (int i = 0; i < n; ++i) {
      bool stay = where == 0 ? i < k : where == 1 ? i >= n - k : k > 0 && i % (n / k) == 0 && kept < k;
      kept += stay;
      sub->Add(i, stay ? absl::Hours(10000) : random ? absl::Microseconds(rng() % 1000000) : absl::Seconds(1));
    }
    int64_t peak = CountedHeap::bytes_in_use - before;
    sub->clock().Step(absl::Seconds(2));
    sub->Take(n - k);
    int64_t after = CountedHeap::bytes_in_use - before;
    int64_t left[3];
    const int rounds[3] = {k + 1000, 15 * k, 112 * k};
    for (int r = 0; r < 3; ++r) {
      for (int i = 0; i < rounds[r]; i += 100) {
        for (int j = 0; j < 100; ++j) sub->Add(n + j, absl::Seconds(1));
        sub->clock().Step(absl::Seconds(1));
        sub->Take(100);
      }
      left[r] = CountedHeap::bytes_in_use - before;
      if (k >= 10000 && r == 1) {left[2]=left[1]; break;}
    }
    double per = k ? (left[2] - 2.0 * fresh) / 1024 : 0;
    printf("%-12s k %6d %-9s %-6s peak %7ld KB  fresh %7.1f KB after %8.1f KB  k+1000: %8.1f  16k: %8.1f 128k: %8.1f KB  over 2x: %.1f KB\n", s.name, k,
       where == 0 ? "first" : where == 1 ? "last" : "scattered", random ? "random" : "fifo", long(peak / 1024), fresh / 1024., after / 1024., left[0]/1024., left[1]/1024., left[2] / 1024., per);
    worst = std::max(worst, per);
    fflush(stdout);
  }
  printf("worst over 2x: %.1f KB\n", worst);
  return 0;
}

TEST(X, Y) { main2(); }

}  // namespace
}  // namespace workqueue
