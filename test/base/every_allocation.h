// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Tests of what happens when memory runs out, at each allocation. Only one
// source of a program may include this header, because it includes
// counted_heap.h.

#ifndef WORKQUEUE_TEST_BASE_EVERY_ALLOCATION_H_
#define WORKQUEUE_TEST_BASE_EVERY_ALLOCATION_H_

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <new>
#include <utility>

#include "absl/base/config.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "test/base/counted_heap.h"
#include "workqueue/clock/clock.h"
#include "workqueue/clock/fake_clock.h"
#include "workqueue/clock/parker.h"

#ifdef ABSL_HAVE_EXCEPTIONS

namespace workqueue {

// While this object exists, its argument decides whether the allocations of
// this thread can fail.
class Spared {
 public:
  explicit Spared(bool spared)
      : before_(std::exchange(CountedHeap::spared, spared)) {}
  ~Spared() { CountedHeap::spared = before_; }

 private:
  const bool before_;
};

// A FakeClock whose own allocations never fail.
class SparedClock final : public Clock {
 public:
  void Step(absl::Duration d) {
    const Spared spared(true);
    clock_.Step(d);
  }

  absl::Time TimeNow() override { return clock_.TimeNow(); }
  void Sleep(absl::Duration d) override {
    const Spared spared(true);
    clock_.Sleep(d);
  }
  void SleepUntil(absl::Time wakeup_time) override {
    const Spared spared(true);
    clock_.SleepUntil(wakeup_time);
  }
  bool AwaitWithDeadline(absl::Mutex* mu, const absl::Condition& cond,
                         absl::Time deadline) override {
    const Spared spared(true);
    return clock_.AwaitWithDeadline(mu, cond, deadline);
  }
  std::unique_ptr<Parker> NewParker(Parker::Role role) override {
    const Spared spared(true);
    return std::make_unique<SparedParker>(clock_.NewParker(role));
  }

 private:
  class SparedParker final : public Parker {
   public:
    explicit SparedParker(std::unique_ptr<Parker> parker)
        : parker_(std::move(parker)) {}

    bool ParkUntil(absl::Time deadline) override {
      const Spared spared(true);
      return parker_->ParkUntil(deadline);
    }
    void Unpark() override {
      const Spared spared(true);
      parker_->Unpark();
    }

   private:
    const std::unique_ptr<Parker> parker_;
  };

  FakeClock clock_;
};

// Calls `f()` again and again until there is enough memory for it. Returns the
// result.
template <typename F>
auto Persist(F&& f) -> decltype(f()) {
  while (true) {
    const Spared spared(false);
    try {
      return f();
    } catch (const std::bad_alloc&) {
    }
  }
}

// Calls `f()` again and again until it returns no error. Returns the result.
template <typename F>
auto PersistUntilOk(F&& f) {
  while (true) {
    auto result = Persist(f);
    if (result.ok()) return *std::move(result);
  }
}

// Calls `scenario()` again and again. In each call another allocation of the
// library fails, and those that follow it: `lengths` says how many together.
// Ends when there are no more allocations to fail. The scenario's own
// allocations do not fail, except those in functions that it passes to
// `Persist()`.
template <typename F>
void ForEveryAllocation(F&& scenario,
                        std::initializer_list<int64_t> lengths = {1, 10}) {
  const Spared spared(true);
  for (int64_t failures : lengths) {
    int64_t first = 0;
    bool failed = true;
    while (failed && !testing::Test::HasFailure()) {
      SCOPED_TRACE(testing::Message() << failures << " failed allocations from"
                                      << " number " << ++first << " on");
      CountedHeap::Fail(first, failures);
      scenario();
      failed = CountedHeap::StopFailing();
    }
    EXPECT_GT(first, 1) << "no allocation has failed";
  }
}

}  // namespace workqueue

#endif  // ABSL_HAVE_EXCEPTIONS

#endif  // WORKQUEUE_TEST_BASE_EVERY_ALLOCATION_H_
