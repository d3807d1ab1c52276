// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Tests of delays that a `Jitter` varies, in a controller. A second `Jitter` of
// the same seed tells the times.

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "ratelimit/item_exponential_failure_rate_limiter.h"
#include "ratelimit/jitter.h"
#include "ratelimit/with_jitter_rate_limiter.h"
#include "test/controller/controller_fixture.h"
#include "workqueue/controller/controller.h"
#include "workqueue/controller/reconcile.h"
#include "workqueue/controller/source.h"

namespace workqueue::controller_jitter_test {
namespace {

constexpr absl::Duration kNs = absl::Nanoseconds(1);

std::unique_ptr<Jitter> JitterOf(JitterOptions options) {
  options.seed = 42;
  return *Jitter::Create(options);
}

class ControllerJitterTest : public ControllerFixture {
 protected:
  // Checks that the next reconciliation comes when `delay` has passed, and not
  // before.
  void ExpectNextAfter(Controller<std::string>& controller,
                       absl::Duration delay) {
    Step(controller, delay - kNs);
    EXPECT_EQ(Noted(), Notes()) << delay;
    Step(controller, kNs);
    EXPECT_EQ(Noted().size(), 1u) << delay;
  }
};

TEST_P(ControllerJitterTest, VariesTheRetries) {
  for (const JitterOptions& jitter :
       {JitterOptions::Full(), JitterOptions::Equal(),
        JitterOptions::PlusMinus(0.1)}) {
    ControllerOptions<std::string> options = Options(
        [](const std::string&) { return absl::UnavailableError("later"); });
    options.rate_limiter = *WithJitterRateLimiter<std::string>::Create(
        *ItemExponentialFailureRateLimiter<std::string>::Create(
            absl::Seconds(1), absl::Seconds(1000)),
        JitterOf(jitter));
    const auto controller = Started(std::move(options));
    AddAndAwait(*controller, "a");
    EXPECT_EQ(Noted().size(), 1u);
    const auto same = JitterOf(jitter);
    for (const int seconds : {1, 2, 4, 8, 16}) {
      ExpectNextAfter(*controller, same->Vary(absl::Seconds(seconds)));
    }
  }
}

TEST_P(ControllerJitterTest, VariesRequeueAfter) {
  const std::shared_ptr<Jitter> jitter =
      JitterOf(JitterOptions::PlusMinus(0.1));
  const auto controller = Started(Options(
      [jitter](const std::string&,
               const ReconcileContext&) -> absl::StatusOr<ReconcileResult> {
        return ReconcileResult{/*requeue_after=*/jitter->Vary(absl::Hours(1))};
      }));
  AddAndAwait(*controller, "a");
  EXPECT_EQ(Noted().size(), 1u);
  const auto same = JitterOf(JitterOptions::PlusMinus(0.1));
  for (int i = 0; i < 5; ++i) {
    ExpectNextAfter(*controller, same->Vary(absl::Hours(1)));
  }
}

TEST_P(ControllerJitterTest, SpreadsAFirstListing) {
  constexpr int kItems = 20;
  ControllerOptions<std::string> options = Options(Succeed);
  Source<std::string> source;
  source.wait_for_sync = true;
  source.run = [](SourceContext<std::string>& context) {
    const auto jitter = JitterOf(JitterOptions::Full());
    for (int i = 0; i < kItems; ++i) {
      context.queue.AddAfter(std::to_string(i), jitter->Vary(absl::Minutes(1)));
    }
    context.mark_synced();
    return absl::OkStatus();
  };
  options.sources.push_back(std::move(source));
  const auto controller = Started(std::move(options));
  const auto same = JitterOf(JitterOptions::Full());
  std::vector<absl::Duration> times;
  for (int i = 0; i < kItems; ++i) {
    times.push_back(same->Vary(absl::Minutes(1)));
  }
  // All of them in the minute, and none of them early.
  size_t reconciled = 0;
  for (int second = 1; second <= 60; ++second) {
    Step(*controller, absl::Seconds(1));
    reconciled += Noted().size();
    size_t due = 0;
    for (const absl::Duration t : times) due += t <= absl::Seconds(second);
    EXPECT_EQ(reconciled, due) << second;
  }
  EXPECT_EQ(reconciled, size_t{kItems});
}

WORKQUEUE_INSTANTIATE(ControllerJitterTest);

}  // namespace
}  // namespace workqueue::controller_jitter_test
