// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "examples/async_probe/http_client.h"
#include "examples/async_probe/probe_stats.h"
#include "examples/async_probe/prober.h"
#include "gtest/gtest.h"
#include "ratelimit/item_exponential_failure_rate_limiter.h"
#include "workqueue/clock/fake_clock.h"
#include "workqueue/controller/controller.h"
#include "workqueue/executor.h"

#ifdef __cpp_impl_coroutine
#include "examples/async_probe/coroutine_prober.h"
#endif

namespace async_probe::async_probe_prober_test {
namespace {

constexpr absl::Duration kMs = absl::Milliseconds(1);
constexpr absl::Duration kNs = absl::Nanoseconds(1);
constexpr absl::Duration kPeriod = absl::Seconds(10);
constexpr absl::Duration kTimeout = absl::Seconds(2);

// A client whose requests the test answers.
class FakeClient final : public HttpClient {
 public:
  std::function<void()> Get(const std::string& target,
                            HttpCallback done) override {
    if (next_answer.has_value()) {
      std::move(done)(*next_answer);
      return [] { ADD_FAILURE() << "cancelled a request that had an answer"; };
    }
    const auto request = std::make_shared<Request>();
    request->target = target;
    request->done = std::move(done);
    requests.push_back(request);
    return [request] { End(*request, absl::CancelledError("cancelled")); };
  }

  // Answers all requests.
  void Answer(const absl::StatusOr<int>& http_status) {
    for (const auto& request : std::exchange(requests, {})) {
      End(*request, http_status);
    }
  }

  // Returns the targets of the requests without an answer.
  std::vector<std::string> targets() const {
    std::vector<std::string> targets;
    for (const auto& request : requests) {
      if (request->done != nullptr) targets.push_back(request->target);
    }
    return targets;
  }

  // What `Get()` answers before it returns, if anything.
  std::optional<int> next_answer;

 private:
  struct Request {
    std::string target;
    HttpCallback done;  // null when called
  };

  static void End(Request& request, absl::StatusOr<int> http_status) {
    HttpCallback done = std::exchange(request.done, nullptr);
    if (done != nullptr) std::move(done)(std::move(http_status));
  }

  std::vector<std::shared_ptr<Request>> requests;
};

struct Kind {
  const char* name;
  decltype(&MakeProber) make_prober;
};

class ProberTest : public testing::TestWithParam<Kind> {
 protected:
  using Controller = workqueue::Controller<std::string>;
  using Strings = std::vector<std::string>;

  ProberTest() {
    workqueue::ControllerOptions<std::string> options;
    options.clock = &clock_;
    options.executor = &executor_;
    options.reconcile_timeout = kTimeout;
    options.rate_limiter =
        *workqueue::ItemExponentialFailureRateLimiter<std::string>::Create(
            100 * kMs, kPeriod);
    options.reconcile_async =
        GetParam().make_prober(&client_, kPeriod, &stats_);
    controller_ = *Controller::Create(std::move(options));
    EXPECT_EQ(controller_->Start(), absl::OkStatus());
  }

  // Checks that "/a" is probed again when `delay` has passed, and not before.
  void ExpectProbeAfter(absl::Duration delay) {
    clock_.Step(delay - kNs);
    EXPECT_EQ(client_.targets(), Strings());
    clock_.Step(kNs);
    EXPECT_EQ(client_.targets(), Strings{"/a"});
  }

  workqueue::FakeClock clock_;
  // Runs the prober on the threads of the test and of the controller, but never
  // after `Step()` or `Add()` has returned.
  workqueue::InlineExecutor executor_;
  FakeClient client_;
  ProbeStats stats_{&clock_};
  std::unique_ptr<Controller> controller_;
};

INSTANTIATE_TEST_SUITE_P(All, ProberTest,
                         testing::Values(
#ifdef __cpp_impl_coroutine
                             Kind{"Coroutines", MakeCoroutineProber},
#endif
                             Kind{"Callbacks", MakeProber}),
                         [](const auto& info) {
                           return std::string(info.param.name);
                         });

TEST_P(ProberTest, ProbesAHealthyEndpointOncePerPeriod) {
  controller_->queue().Add("/a");
  for (int i = 1; i <= 3; ++i) {
    clock_.Step(200 * kMs);
    client_.Answer(200);
    EXPECT_EQ(stats_.counts().healthy, i);
    ExpectProbeAfter(kPeriod);
  }
  EXPECT_GE(stats_.latency().Percentile(0.5), 200 * kMs);
  EXPECT_LE(stats_.latency().Percentile(0.99), 203 * kMs);
}

TEST_P(ProberTest, TriesAnUnhealthyEndpointAgainWithBackoff) {
  controller_->queue().Add("/a");
  client_.Answer(503);
  ExpectProbeAfter(100 * kMs);
  client_.Answer(absl::UnavailableError("connecting: refused"));
  ExpectProbeAfter(200 * kMs);
  client_.Answer(200);
  ExpectProbeAfter(kPeriod);
  client_.Answer(503);
  ExpectProbeAfter(100 * kMs);
  EXPECT_EQ(stats_.counts().unhealthy, 3);
  EXPECT_EQ(stats_.counts().healthy, 1);
}

TEST_P(ProberTest, CancelsARequestAtTheDeadline) {
  controller_->queue().Add("/a");
  clock_.Step(kTimeout - kNs);
  EXPECT_EQ(client_.targets(), Strings{"/a"});
  clock_.Step(kNs);
  EXPECT_EQ(client_.targets(), Strings());
  EXPECT_EQ(stats_.counts().cancelled, 1);
  EXPECT_EQ(stats_.counts().endpoints, 0);
  ExpectProbeAfter(100 * kMs);
}

TEST_P(ProberTest, AnAnswerMayComeAtOnce) {
  client_.next_answer = 200;
  controller_->queue().Add("/a");
  clock_.Step(kPeriod);
  clock_.Step(kTimeout);
  EXPECT_EQ(stats_.counts().healthy, 2);
}

TEST_P(ProberTest, CountsEndpointsOnce) {
  controller_->queue().AddAll({"/a", "/b"});
  EXPECT_EQ(stats_.counts().in_flight, 2);
  client_.Answer(200);
  clock_.Step(kPeriod);
  client_.Answer(503);
  EXPECT_EQ(stats_.counts().in_flight, 0);
  EXPECT_EQ(stats_.counts().endpoints, 2);
}

TEST_P(ProberTest, CancelsWhatIsInFlightWhenTheControllerStops) {
  controller_->queue().AddAll({"/a", "/b"});
  controller_->Stop(absl::ZeroDuration());
  EXPECT_EQ(client_.targets(), Strings());
  EXPECT_EQ(stats_.counts().in_flight, 0);
}

}  // namespace
}  // namespace async_probe::async_probe_prober_test
