// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <variant>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "ratelimit/token_bucket.h"
#include "test/conformance/subject.h"
#include "test/conformance/subjects.h"
#include "test/conformance/trace.h"
#include "test/conformance/value.h"
#include "workqueue/clock/fake_clock.h"

namespace conformance {
namespace {

// Returns the result of an operation that returns nothing but may be refused.
Result ResultOf(const absl::Status& status) {
  if (status.ok()) return Result();
  return Result{status.ToString()};
}

class BucketSubject final : public Subject {
 public:
  BucketSubject(std::unique_ptr<workqueue::FakeClock> clock,
                std::unique_ptr<workqueue::TokenBucket> bucket)
      : clock_(std::move(clock)), bucket_(std::move(bucket)) {
    On("allow", [this](const Args& args) {
      return Result{bucket_->Allow(std::get<int64_t>(args[0]))};
    });
    On("reserve", [this](const Args& args) {
      const workqueue::Reservation reservation =
          bucket_->Reserve(std::get<int64_t>(args[0]));
      if (!reservation.ok()) return Result{std::string("<never>")};
      return Result{reservation.Delay()};
    });
    On("setburst", [this](const Args& args) {
      return ResultOf(bucket_->SetBurst(std::get<int64_t>(args[0])));
    });
    On("setlimit", [this](const Args& args) {
      return ResultOf(bucket_->SetLimit(std::get<double>(args[0])));
    });
    On("step", [this](const Args& args) {
      clock_->Step(std::get<absl::Duration>(args[0]));
      return Result();
    });
    On("tokens", [this](const Args&) { return Result{bucket_->Tokens()}; });
  }

 private:
  const std::unique_ptr<workqueue::FakeClock> clock_;
  const std::unique_ptr<workqueue::TokenBucket> bucket_;
};

}  // namespace

SubjectOr NewBucketSubject(const Header& header) {
  auto clock = std::make_unique<workqueue::FakeClock>();
  auto bucket =
      workqueue::TokenBucket::Create(header.rate, header.burst, clock.get());
  if (!bucket.ok()) return bucket.status();
  return std::make_unique<BucketSubject>(std::move(clock), *std::move(bucket));
}

}  // namespace conformance
