// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "test/conformance/limiter_spec.h"

#include <limits>
#include <memory>
#include <string>
#include <tuple>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "ratelimit/item_exponential_failure_rate_limiter.h"
#include "ratelimit/item_fast_slow_rate_limiter.h"
#include "ratelimit/max_of_rate_limiter.h"
#include "ratelimit/rate_limiter.h"
#include "ratelimit/with_max_wait_rate_limiter.h"
#include "test/conformance/value.h"

namespace conformance {
namespace {

using LimiterPtr = std::unique_ptr<workqueue::RateLimiter<std::string>>;

// Parses a specification from left to right. `status()` holds the first error.
// After an error the parser reads nothing more, and its return values have no
// meaning.
class Parser {
 public:
  explicit Parser(absl::string_view rest) : rest_(rest) {}

  const absl::Status& status() const { return status_; }

  LimiterPtr ParseAll() {
    LimiterPtr limiter = ParseLimiter();
    if (!rest_.empty()) Fail("unexpected ", rest_);
    return limiter;
  }

 private:
  // Rejects deeper nesting, so that the stack cannot overflow.
  static constexpr int kMaxDepth = 100;

  LimiterPtr ParseLimiter() {
    if (++depth_ > kMaxDepth) Fail("too many limiters at ", rest_);
    LimiterPtr limiter;
    const absl::string_view name = ParseWord();
    if (!status_.ok()) return nullptr;
    if (name == "exponential") {
      limiter =
          Parse<workqueue::ItemExponentialFailureRateLimiter<std::string>>(
              &Parser::ParseDelay, &Parser::ParseDelay);
    } else if (name == "fastslow") {
      limiter = Parse<workqueue::ItemFastSlowRateLimiter<std::string>>(
          &Parser::ParseDelay, &Parser::ParseDelay, &Parser::ParseAttempts);
    } else if (name == "maxof") {
      limiter = Parse<workqueue::MaxOfRateLimiter<std::string>>(
          &Parser::ParseLimiter, &Parser::ParseLimiter);
    } else if (name == "maxwait") {
      limiter = Parse<workqueue::WithMaxWaitRateLimiter<std::string>>(
          &Parser::ParseLimiter, &Parser::ParseDelay);
    } else {
      Fail("unknown limiter ", name);
    }
    --depth_;
    return limiter;
  }

  // Reads the arguments, each with its parser, and makes a limiter of them.
  template <typename Limiter, typename... Args>
  LimiterPtr Parse(Args (Parser::*... parsers)()) {
    absl::string_view before = "(";
    const auto parse = [&](auto parser) {
      Expect(std::exchange(before, ","));
      return (this->*parser)();
    };
    // Braces evaluate from left to right.
    std::tuple<Args...> args{parse(parsers)...};
    Expect(")");
    if (!status_.ok()) return nullptr;
    return Made(std::apply(
        [](Args&... each) { return Limiter::Create(std::move(each)...); },
        args));
  }

  absl::Duration ParseDelay() {
    const absl::string_view word = ParseWord();
    if (!status_.ok()) return absl::ZeroDuration();
    const absl::StatusOr<absl::Duration> delay = ParseDuration(word);
    status_.Update(delay.status());
    return delay.ok() ? *delay : absl::ZeroDuration();
  }

  int ParseAttempts() {
    const absl::string_view word = ParseWord();
    int attempts = 0;
    if (status_.ok() && !absl::SimpleAtoi(word, &attempts)) {
      Fail("not a number of attempts: ", word);
    }
    return attempts;
  }

  // Removes and returns the text before the next delimiter.
  absl::string_view ParseWord() {
    if (!status_.ok()) return "";
    const absl::string_view word = rest_.substr(0, rest_.find_first_of("(),"));
    rest_.remove_prefix(word.size());
    return word;
  }

  void Expect(absl::string_view what) {
    if (status_.ok() && !absl::ConsumePrefix(&rest_, what)) {
      Fail(absl::StrCat("want ", what, " in the limiter, got "), rest_);
    }
  }

  // Returns the limiter, or records the library's error.
  template <typename L>
  LimiterPtr Made(absl::StatusOr<std::unique_ptr<L>> limiter) {
    if (limiter.ok()) return *std::move(limiter);
    status_.Update(limiter.status());
    return nullptr;
  }

  void Fail(absl::string_view error, absl::string_view at) {
    status_.Update(absl::InvalidArgumentError(absl::StrCat(error, Quote(at))));
  }

  absl::string_view rest_;
  absl::Status status_;
  int depth_ = 0;
};

}  // namespace

absl::StatusOr<std::unique_ptr<workqueue::RateLimiter<std::string>>>
ParseLimiter(absl::string_view spec) {
  Parser parser(spec);
  LimiterPtr limiter = parser.ParseAll();
  if (!parser.status().ok()) return parser.status();
  return limiter;
}

}  // namespace conformance
