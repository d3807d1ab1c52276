// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <variant>

#include "ratelimit/rate_limiter.h"
#include "test/conformance/limiter_spec.h"
#include "test/conformance/subject.h"
#include "test/conformance/subjects.h"
#include "test/conformance/trace.h"
#include "test/conformance/value.h"

namespace conformance {
namespace {

using Limiter = workqueue::RateLimiter<std::string>;

class LimiterSubject final : public Subject {
 public:
  explicit LimiterSubject(std::unique_ptr<Limiter> limiter)
      : limiter_(std::move(limiter)) {
    On("forget", [this](const Args& args) {
      limiter_->Forget(std::get<std::string>(args[0]));
      return Result();
    });
    On("numrequeues", [this](const Args& args) {
      return Result{
          int64_t{limiter_->NumRequeues(std::get<std::string>(args[0]))}};
    });
    On("when", [this](const Args& args) {
      return Result{limiter_->When(std::get<std::string>(args[0]))};
    });
    // No limiter that a trace can name uses a clock.
    On("step", [](const Args&) { return Result(); });
  }

 private:
  const std::unique_ptr<Limiter> limiter_;
};

}  // namespace

SubjectOr NewLimiterSubject(const Header& header) {
  auto limiter = ParseLimiter(header.limiter);
  if (!limiter.ok()) return limiter.status();
  return std::make_unique<LimiterSubject>(*std::move(limiter));
}

}  // namespace conformance
