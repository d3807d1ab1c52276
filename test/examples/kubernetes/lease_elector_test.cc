// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "examples/kubernetes/lease_elector.h"

#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>  // NOLINT(build/c++11)
#include <string>
#include <thread>  // NOLINT(build/c++11)
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "examples/kubernetes/client.h"
#include "examples/kubernetes/config.h"
#include "examples/kubernetes/json.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/examples/kubernetes/scripted_server.h"
#include "test/workqueue/recording_log.h"
#include "workqueue/clock/clock.h"
#include "workqueue/clock/fake_clock.h"

namespace kubernetes::lease_elector_test {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

std::atomic<int> hours_ahead{0};  // the machine's time of day

constexpr char kAll[] = "/apis/coordination.k8s.io/v1/namespaces/ns/leases";
constexpr char kOne[] = "/apis/coordination.k8s.io/v1/namespaces/ns/leases/it";

// LeaseServer
//
// An API server that has at most one Lease. As a real one, it refuses an update
// of a version that is not the current one.
class LeaseServer {
 public:
  std::string url() const { return server_.url(); }

  // Returns the lease, or null if there is none.
  Json lease() const {
    const std::lock_guard<std::mutex> lock(mu_);
    return lease_;
  }

  // Changes the lease, as another process does.
  void Change(const std::function<void(Json&)>& change) {
    const std::lock_guard<std::mutex> lock(mu_);
    change(lease_);
    SetVersion();
  }

  // From now on, answers requests whose method is in `methods` with an error.
  void Break(std::string methods) {
    const std::lock_guard<std::mutex> lock(mu_);
    broken_ = std::move(methods);
  }

  // Calls `f` once, when the next request of `method` has arrived.
  void OnNext(std::string method, std::function<void(Json&)> f) {
    const std::lock_guard<std::mutex> lock(mu_);
    awaited_method_ = std::move(method);
    on_awaited_ = std::move(f);
  }

  // Returns the methods of the requests since the last call.
  std::string TakeMethods() {
    std::string methods;
    const auto requests = server_.requests();
    for (; taken_ < requests.size(); ++taken_) {
      EXPECT_EQ(requests[taken_].target,
                requests[taken_].method == "POST" ? kAll : kOne);
      absl::StrAppend(&methods, methods.empty() ? "" : " ",
                      requests[taken_].method);
    }
    return methods;
  }

 private:
  void SetVersion() {
    if (lease_.is_null()) return;
    lease_["metadata"]["resourceVersion"] = absl::StrCat(++version_);
  }

  static void Refuse(Responder& responder, int code,
                     const std::string& reason) {
    responder.Respond(
        code,
        Json{{"kind", "Status"}, {"reason", reason}, {"message", "refused"}}
            .dump());
  }

  void Answer(const ReceivedRequest& request, Responder& responder) {
    const std::lock_guard<std::mutex> lock(mu_);
    if (on_awaited_ && request.method == awaited_method_) {
      std::exchange(on_awaited_, nullptr)(lease_);
      SetVersion();
    }
    if (absl::StrContains(broken_, request.method)) {
      return Refuse(responder, 500, "Broken");
    }
    const bool create = request.method == "POST";
    if (create != lease_.is_null()) {
      return create ? Refuse(responder, 409, "AlreadyExists")
                    : Refuse(responder, 404, "NotFound");
    }
    if (request.method != "GET") {
      Json json = Json::parse(request.body);
      if (!create && json["metadata"]["resourceVersion"] !=
                         lease_["metadata"]["resourceVersion"]) {
        return Refuse(responder, 409, "Conflict");
      }
      lease_ = std::move(json);
      SetVersion();
    }
    responder.Respond(200, lease_.dump());
  }

  mutable std::mutex mu_;
  Json lease_;                             // guarded by mu_
  int version_ = 0;                        // guarded by mu_
  std::string broken_;                     // guarded by mu_
  std::string awaited_method_;             // guarded by mu_
  std::function<void(Json&)> on_awaited_;  // guarded by mu_
  size_t taken_ = 0;
  // The last member: its threads use the others.
  ScriptedServer server_{
      [this](const ReceivedRequest& request, Responder& responder) {
        Answer(request, responder);
      }};
};

Json LeaseOf(const std::string& holder, int seconds) {
  return {{"metadata", {{"namespace", "ns"}, {"name", "it"}}},
          {"spec",
           {{"holderIdentity", holder},
            {"leaseDurationSeconds", seconds},
            {"acquireTime", "2000-01-01T00:00:00.000000Z"},
            {"renewTime", "2000-01-01T00:00:00.000000Z"},
            {"leaseTransitions", 7}}}};
}

// An elector "me" with the default times, in a thread of its own.
class LeaseElectorTest : public testing::Test {
 protected:
  LeaseElectorTest() {
    options_.ns = "ns";
    options_.name = "it";
    options_.identity = "me";
    options_.clock = &clock_;
    options_.log_sink = &log_;
    Config config;
    config.server = server_.url();
    client_ = *Client::Create(config);
  }

  ~LeaseElectorTest() override {
    if (elector_ != nullptr) elector_->Stop();
    if (thread_.joinable()) thread_.join();
  }

  // Runs the elector until it waits for the time of its next try.
  void Start() {
    elector_ = *LeaseElector::Create(client_.get(), options_);
    thread_ = std::thread([this] {
      result_ = elector_->Run([this] {
        EXPECT_FALSE(leading_);
        leading_ = true;
      });
    });
    clock_.AwaitWaiters(1);
  }

  // Lets `d` pass, and the elector make the try that is due then.
  void Step(absl::Duration d) {
    clock_.Step(d);
    clock_.AwaitWaiters(1);
  }

  // Returns the result of `Run()`.
  absl::Status Join() {
    thread_.join();
    return result_;
  }

  absl::Status StopAndJoin() {
    elector_->Stop();
    return Join();
  }

  std::string Holder() const {
    return std::string(StringAt(server_.lease(), {"spec", "holderIdentity"}));
  }

  // Another process takes or renews the lease.
  void RenewAs(const std::string& holder) {
    server_.Change([&](Json& lease) {
      lease["spec"]["holderIdentity"] = holder;
      lease["spec"]["renewals"] = ++renewals_;
    });
  }

  LeaseServer server_;
  workqueue::FakeClock clock_;
  workqueue::RecordingLog log_;
  LeaseElectorOptions options_;
  std::unique_ptr<Client> client_;
  std::unique_ptr<LeaseElector> elector_;
  int renewals_ = 0;
  absl::Status result_;
  // Whether `on_started_leading` was called. The clock orders the accesses.
  bool leading_ = false;
  std::thread thread_;
};

TEST_F(LeaseElectorTest, CreatesALeaseThatDoesNotExist) {
  Start();
  EXPECT_TRUE(leading_);
  EXPECT_EQ(server_.TakeMethods(), "GET POST");
  EXPECT_EQ(server_.lease(), Json::parse(R"({
    "metadata": {"namespace": "ns", "name": "it", "resourceVersion": "1"},
    "spec": {
      "holderIdentity": "me",
      "leaseDurationSeconds": 15,
      "acquireTime": "1970-01-01T00:00:00.000000Z",
      "renewTime": "1970-01-01T00:00:00.000000Z",
      "leaseTransitions": 0
    }
  })"));
}

TEST_F(LeaseElectorTest, RenewsWithoutReading) {
  Start();
  server_.TakeMethods();
  for (int i = 1; i <= 20; ++i) {
    Step(absl::Seconds(2));
    EXPECT_EQ(server_.TakeMethods(), "PUT");
    const Json spec = server_.lease()["spec"];
    EXPECT_EQ(spec["holderIdentity"], "me");
    EXPECT_EQ(spec["renewTime"],
              absl::FormatTime("%Y-%m-%d%ET%H:%M:%E6SZ", clock_.TimeNow(),
                               absl::UTCTimeZone()));
    EXPECT_EQ(spec["acquireTime"], "1970-01-01T00:00:00.000000Z");
    EXPECT_EQ(spec["leaseTransitions"], 0);
  }
}

TEST_F(LeaseElectorTest, DoesNotRenewBeforeTheTime) {
  Start();
  server_.TakeMethods();
  clock_.Step(absl::Seconds(2) - absl::Nanoseconds(1));
  EXPECT_EQ(server_.TakeMethods(), "");
  Step(absl::Nanoseconds(1));
  EXPECT_EQ(server_.TakeMethods(), "PUT");
}

TEST_F(LeaseElectorTest, TheTimesFollowTheTimeOfDay) {
  options_.clock = nullptr;
  workqueue::Clock::GetRealClock()->TimeNow();  // Does not follow from now on.
  hours_ahead = 1;
  const absl::Time now = absl::Now();
  elector_ = *LeaseElector::Create(client_.get(), options_);
  EXPECT_EQ(elector_->Run([this] { elector_->Stop(); }), absl::OkStatus());
  hours_ahead = 0;
  absl::Time renewed;
  EXPECT_TRUE(absl::ParseTime(absl::RFC3339_full,
                              StringAt(server_.lease(), {"spec", "renewTime"}),
                              &renewed, nullptr));
  EXPECT_LT(now - renewed, absl::Milliseconds(1));
}

TEST_F(LeaseElectorTest, AnotherProcessCreatesTheLeaseFirst) {
  server_.OnNext("POST", [](Json& lease) { lease = LeaseOf("other", 15); });
  Start();
  EXPECT_FALSE(leading_);
  Step(absl::Seconds(2));
  EXPECT_FALSE(leading_);
  EXPECT_EQ(server_.TakeMethods(), "GET POST GET");
  EXPECT_EQ(Holder(), "other");
}

// The times in the lease are long past, and do not count.
TEST_F(LeaseElectorTest, WaitsAsLongAsAnotherProcessRenews) {
  server_.Change([](Json& lease) { lease = LeaseOf("other", 15); });
  Start();
  for (int i = 0; i < 20; ++i) {
    RenewAs("other");
    Step(absl::Seconds(2));
    EXPECT_FALSE(leading_);
    EXPECT_THAT(server_.TakeMethods(), testing::EndsWith("GET"));
  }
  const absl::Time changed_at = clock_.TimeNow();
  while (clock_.TimeNow() + absl::Seconds(2) < changed_at + absl::Seconds(15)) {
    Step(absl::Seconds(2));
    EXPECT_FALSE(leading_);
    EXPECT_EQ(server_.TakeMethods(), "GET");
  }
  Step(absl::Seconds(2));
  EXPECT_TRUE(leading_);
  EXPECT_EQ(server_.TakeMethods(), "GET PUT");
  const Json spec = server_.lease()["spec"];
  EXPECT_EQ(spec["holderIdentity"], "me");
  EXPECT_EQ(spec["leaseDurationSeconds"], 15);
  EXPECT_EQ(spec["leaseTransitions"], 8);
  EXPECT_EQ(spec["acquireTime"], spec["renewTime"]);
  EXPECT_EQ(spec["renewTime"], "1970-01-01T00:00:56.000000Z");
}

TEST_F(LeaseElectorTest, TheDurationIsTheOneInTheLease) {
  server_.Change([](Json& lease) { lease = LeaseOf("other", 4); });
  Start();
  Step(absl::Seconds(2));
  EXPECT_FALSE(leading_);
  Step(absl::Seconds(2));
  EXPECT_TRUE(leading_);
}

TEST_F(LeaseElectorTest, TakesALeaseThatWasGivenBackAtOnce) {
  server_.Change([](Json& lease) { lease = LeaseOf("", 1); });
  Start();
  EXPECT_TRUE(leading_);
  EXPECT_EQ(server_.lease()["spec"]["leaseTransitions"], 8);
}

TEST_F(LeaseElectorTest, GoesOnWithItsOwnLease) {
  server_.Change([](Json& lease) { lease = LeaseOf("me", 15); });
  Start();
  EXPECT_TRUE(leading_);
  const Json spec = server_.lease()["spec"];
  EXPECT_EQ(spec["leaseTransitions"], 7);
  EXPECT_EQ(spec["acquireTime"], "2000-01-01T00:00:00.000000Z");
  EXPECT_EQ(spec["renewTime"], "1970-01-01T00:00:00.000000Z");
}

TEST_F(LeaseElectorTest, TriesAgainIfTheServerFails) {
  server_.Break("GET");
  Start();
  Step(absl::Seconds(2));
  EXPECT_FALSE(leading_);
  server_.Break("POST");
  Step(absl::Seconds(2));
  EXPECT_FALSE(leading_);
  EXPECT_EQ(server_.TakeMethods(), "GET GET GET POST");
  server_.Break("");
  Step(absl::Seconds(2));
  EXPECT_TRUE(leading_);
}

TEST_F(LeaseElectorTest, LogsTheErrorsThatAreNew) {
  server_.Change([](Json& lease) { lease = LeaseOf("other", 15); });
  Start();
  Step(absl::Seconds(2));
  EXPECT_EQ(log_.messages(),
            std::vector<std::string>{"I leader election: other has the lease"});
  server_.Break("GET");
  for (int i = 0; i < 3; ++i) Step(absl::Seconds(2));
  EXPECT_EQ(log_.messages().size(), 2);
  EXPECT_EQ(log_.Await(2), absl::StrCat("E leader election: GET ", kOne,
                                        ": refused (500 Broken)"));
  server_.Break("");
  Step(absl::Seconds(2));
  EXPECT_EQ(log_.Await(3), log_.Await(1));
  Step(absl::Seconds(6));
  EXPECT_TRUE(leading_);
  EXPECT_EQ(log_.messages().size(), 3);
  server_.Break("PUT GET");
  Step(absl::Seconds(2));
  EXPECT_EQ(log_.Await(4), log_.Await(2));
}

TEST_F(LeaseElectorTest, EndsIfThereCanBeNoSuchLease) {
  options_.name = "a/b";
  elector_ = *LeaseElector::Create(client_.get(), options_);
  const absl::Status status = elector_->Run([] { ADD_FAILURE(); });
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr("'a/b'"));
}

TEST_F(LeaseElectorTest, ChecksTheOptions) {
  const auto expect = [this](absl::Duration lease, absl::Duration renew,
                             absl::Duration retry, const char* message) {
    options_.lease_duration = lease;
    options_.renew_deadline = renew;
    options_.retry_period = retry;
    EXPECT_EQ(
        LeaseElector::Create(client_.get(), options_).status(),
        *message == 0 ? absl::OkStatus() : absl::InvalidArgumentError(message));
  };
  constexpr absl::Duration kSecond = absl::Seconds(1);
  expect(kSecond, 0.5 * kSecond, 0.1 * kSecond, "");
  expect(0.9 * kSecond, 0.5 * kSecond, 0.1 * kSecond,
         "lease_duration is 900ms, less than 1s");
  expect(1.5 * kSecond, kSecond, 0.1 * kSecond,
         "lease_duration is 1.5s, not whole seconds");
  expect(absl::InfiniteDuration(), kSecond, 0.1 * kSecond,
         "lease_duration is inf, not whole seconds");
  expect(2 * kSecond, 2 * kSecond, kSecond,
         "renew_deadline is 2s, not less than lease_duration");
  expect(3 * kSecond, 2 * kSecond, 2 * kSecond,
         "retry_period is 2s, not less than renew_deadline");
  expect(3 * kSecond, 2 * kSecond, absl::ZeroDuration(),
         "retry_period is 0, not positive");
  options_.identity = "";
  expect(3 * kSecond, 2 * kSecond, kSecond, "identity is empty");
}

TEST_F(LeaseElectorTest, ReadsTheLeaseAgainAfterAConflict) {
  Start();
  server_.TakeMethods();
  server_.Change([](Json& lease) { lease["metadata"]["labels"]["a"] = "b"; });
  Step(absl::Seconds(2));
  EXPECT_EQ(server_.TakeMethods(), "PUT GET PUT");
  const Json lease = server_.lease();
  EXPECT_EQ(lease["metadata"]["labels"]["a"], "b");
  EXPECT_EQ(lease["spec"]["renewTime"], "1970-01-01T00:00:02.000000Z");
  EXPECT_EQ(lease["spec"]["leaseTransitions"], 0);
  Step(absl::Seconds(2));
  EXPECT_EQ(server_.TakeMethods(), "PUT");
}

TEST_F(LeaseElectorTest, CreatesItsLeaseAgain) {
  Start();
  server_.TakeMethods();
  server_.Change([](Json& lease) { lease = Json(); });
  Step(absl::Seconds(2));
  EXPECT_EQ(server_.TakeMethods(), "PUT GET POST");
  EXPECT_EQ(Holder(), "me");
}

TEST_F(LeaseElectorTest, AbortsIfAnotherProcessLeads) {
  Start();
  server_.TakeMethods();
  RenewAs("other");
  clock_.Step(absl::Seconds(2));
  EXPECT_EQ(Join(),
            absl::AbortedError("another process leads: other has the lease"));
  EXPECT_EQ(server_.TakeMethods(), "PUT GET");
  EXPECT_EQ(Holder(), "other");
}

TEST_F(LeaseElectorTest, NobodyElseLeadsIfTheLeaseCannotBeCreatedAgain) {
  Start();
  server_.Change([](Json& lease) { lease = Json(); });
  server_.Break("POST");
  Step(absl::Seconds(2));
  server_.Break("");
  Step(absl::Seconds(2));
  EXPECT_EQ(Holder(), "me");
}

TEST_F(LeaseElectorTest, GivesUpAfterTheDeadline) {
  Start();
  server_.Break("PUT");
  for (int i = 0; i < 3; ++i) Step(absl::Seconds(2));
  // The next try is a success. The deadline counts from it.
  server_.Break("");
  Step(absl::Seconds(2));
  server_.Break("PUT");
  for (int i = 0; i < 4; ++i) Step(absl::Seconds(2));
  EXPECT_EQ(Holder(), "me");
  clock_.Step(absl::Seconds(2));
  const absl::Status result = Join();
  EXPECT_TRUE(absl::IsDeadlineExceeded(result)) << result;
  EXPECT_THAT(std::string(result.message()),
              AllOf(HasSubstr("the lease could not be renewed within 10s: "),
                    HasSubstr("refused (500 Broken)")));
}

// Another process may have the lease soon after the deadline.
TEST_F(LeaseElectorTest, DoesNotPassTheDeadlineAsleep) {
  options_.retry_period = absl::Seconds(6);
  Start();
  server_.Break("PUT");
  Step(absl::Seconds(6));
  EXPECT_EQ(clock_.GetEarliestWakeupTime(),
            absl::UnixEpoch() + absl::Seconds(10));
  clock_.Step(absl::Seconds(6));
  EXPECT_TRUE(absl::IsDeadlineExceeded(Join())) << result_;
}

// The others may measure from the time when the server wrote the lease.
TEST_F(LeaseElectorTest, TheDeadlineCountsFromTheBeginOfATry) {
  options_.retry_period = absl::Seconds(9);
  server_.OnNext("POST", [this](Json&) { clock_.Step(absl::Seconds(3)); });
  Start();
  EXPECT_TRUE(leading_);
  EXPECT_EQ(clock_.GetEarliestWakeupTime(),
            absl::UnixEpoch() + absl::Seconds(10));
}

TEST_F(LeaseElectorTest, SendsNothingAfterTheDeadline) {
  Start();
  server_.Break("PUT");
  for (int i = 0; i < 3; ++i) Step(absl::Seconds(2));
  server_.TakeMethods();
  server_.OnNext("PUT", [this](Json&) { clock_.Step(absl::Seconds(2)); });
  clock_.Step(absl::Seconds(2));
  EXPECT_TRUE(absl::IsDeadlineExceeded(Join())) << result_;
  EXPECT_EQ(server_.TakeMethods(), "PUT");
}

// For example because the machine slept.
TEST_F(LeaseElectorTest, GivesUpIfItWakesAfterTheDeadline) {
  Start();
  server_.TakeMethods();
  clock_.Step(absl::Seconds(10));
  EXPECT_EQ(Join(), absl::DeadlineExceededError(
                        "the lease could not be renewed within 10s: no try "
                        "began in time"));
  EXPECT_EQ(server_.TakeMethods(), "");
}

TEST_F(LeaseElectorTest, StopEndsTheWaitForTheLease) {
  server_.Change([](Json& lease) { lease = LeaseOf("other", 15); });
  Start();
  EXPECT_EQ(StopAndJoin(), absl::OkStatus());
  EXPECT_FALSE(leading_);
  EXPECT_EQ(server_.TakeMethods(), "GET");
}

TEST_F(LeaseElectorTest, StopGivesTheLeaseBack) {
  Start();
  clock_.Step(absl::Seconds(1));
  server_.TakeMethods();
  EXPECT_EQ(StopAndJoin(), absl::OkStatus());
  EXPECT_EQ(server_.TakeMethods(), "PUT");
  const Json spec = server_.lease()["spec"];
  EXPECT_EQ(spec["holderIdentity"], "");
  EXPECT_EQ(spec["leaseDurationSeconds"], 1);
  EXPECT_EQ(spec["renewTime"], "1970-01-01T00:00:01.000000Z");
  EXPECT_EQ(spec["leaseTransitions"], 0);
}

TEST_F(LeaseElectorTest, StopReturnsIfTheLeaseCannotBeGivenBack) {
  Start();
  server_.Break("PUT");
  EXPECT_EQ(StopAndJoin(), absl::OkStatus());
  EXPECT_EQ(Holder(), "me");
}

// It does not take the lease from another process.
TEST_F(LeaseElectorTest, StopLeavesTheLeaseOfAnotherProcess) {
  Start();
  RenewAs("other");
  EXPECT_EQ(StopAndJoin(), absl::OkStatus());
  EXPECT_EQ(Holder(), "other");
}

}  // namespace

int HoursAhead() { return hours_ahead; }

}  // namespace kubernetes::lease_elector_test

// Takes the place of the C library's function.
extern "C" int clock_gettime(clockid_t clock, struct timespec* time) noexcept {
  const int result = static_cast<int>(syscall(SYS_clock_gettime, clock, time));
  if (clock == CLOCK_REALTIME) {
    time->tv_sec += kubernetes::lease_elector_test::HoursAhead() * 3600;
  }
  return result;
}
