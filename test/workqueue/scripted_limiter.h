// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_TEST_WORKQUEUE_SCRIPTED_LIMITER_H_
#define WORKQUEUE_TEST_WORKQUEUE_SCRIPTED_LIMITER_H_

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "ratelimit/rate_limiter.h"

namespace workqueue {

// LimiterScript
//
// The results of a `ScriptedLimiter` and a record of its calls.
struct LimiterScript {
  // The delay of each item; one second for other items.
  std::map<std::string, absl::Duration> delays;
  // The maximum.
  absl::Duration max_delay = absl::InfiniteDuration();
  // The number of tracked items.
  std::optional<size_t> num_tracked;
  // "When <item>" and "Forget <item>", in the order of the calls.
  std::vector<std::string> calls;
  // Runs at the beginning of `When()`.
  std::function<void(const std::string&)> on_when = [](const std::string&) {};
};

// ScriptedLimiter
//
// A rate limiter that follows a script, which must outlive it.
class ScriptedLimiter final : public RateLimiter<std::string> {
 public:
  explicit ScriptedLimiter(LimiterScript* script) : script_(script) {}

  absl::Duration When(const std::string& item) override {
    script_->on_when(item);
    script_->calls.push_back("When " + item);
    const auto it = script_->delays.find(item);
    return it == script_->delays.end() ? absl::Seconds(1) : it->second;
  }
  void Forget(const std::string& item) override {
    script_->calls.push_back("Forget " + item);
  }
  int NumRequeues(const std::string& item) override {
    return static_cast<int>(std::count(script_->calls.begin(),
                                       script_->calls.end(), "When " + item));
  }
  std::optional<size_t> NumTracked() override { return script_->num_tracked; }
  absl::Duration MaxDelay() const override { return script_->max_delay; }

 private:
  LimiterScript* const script_;
};

}  // namespace workqueue

#endif  // WORKQUEUE_TEST_WORKQUEUE_SCRIPTED_LIMITER_H_
