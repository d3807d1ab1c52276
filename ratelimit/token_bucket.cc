// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "ratelimit/token_bucket.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>

#include "absl/cleanup/cleanup.h"
#include "absl/functional/function_ref.h"
#include "absl/memory/memory.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "workqueue/base/mutex_lock.h"
#include "workqueue/clock/clock.h"

namespace workqueue {
namespace {

using internal::MutexLock;

// The arithmetic matches that of Go's golang.org/x/time/rate to the last bit.
// It does the same operations on doubles in the same order, and its times are
// whole nanoseconds in 64 bits.

double ToSeconds(absl::Duration d) {
  constexpr int64_t kNanosPerSecond = 1000000000;
  const int64_t nanos = absl::ToInt64Nanoseconds(d);
  return static_cast<double>(nanos / kNanosPerSecond) +
         static_cast<double>(nanos % kNanosPerSecond) / 1e9;
}

// Returns the number of tokens that come in `d`.
double TokensIn(absl::Duration d, double rate) {
  const double seconds = ToSeconds(d);
  return seconds == 0 ? 0 : seconds * rate;  // also if rate is infinite
}

// Returns the time in which `tokens` come, which must be more than zero.
// Returns infinity if the time in nanoseconds does not fit into 64 bits.
absl::Duration TimeFor(double tokens, double rate) {
  if (rate == 0) return absl::InfiniteDuration();
  constexpr double kTooManyNanos = 9223372036854775808.0;  // 2^63
  const double nanos = tokens / rate * 1e9;
  return nanos < kTooManyNanos ? absl::Nanoseconds(static_cast<int64_t>(nanos))
                               : absl::InfiniteDuration();
}

bool IsUnlimited(double rate) {
  return rate == std::numeric_limits<double>::infinity();
}

absl::Status CheckRateAndBurst(double rate, int64_t burst) {
  if (std::isnan(rate) || rate < 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "rate is ", rate, "; it must be a number and not negative"));
  }
  if (burst < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("burst is ", burst, "; it must not be negative"));
  }
  if (burst == 0 && !IsUnlimited(rate)) {
    return absl::InvalidArgumentError(
        absl::StrCat("burst is 0; it must be at least 1 unless rate, which is ",
                     rate, ", is infinite"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Duration Reservation::Delay() const {
  if (!ok()) return absl::InfiniteDuration();
  return std::max(absl::ZeroDuration(),
                  time_to_act_ - bucket_->clock_->TimeNow());
}

void Reservation::Cancel() {
  if (tokens_ == 0) return;
  bucket_->Cancel(*this);
  tokens_ = 0;
}

double TokenBucket::Every(absl::Duration interval) {
  return interval <= absl::ZeroDuration()
             ? std::numeric_limits<double>::infinity()
             : absl::FDivDuration(absl::Seconds(1), interval);
}

absl::StatusOr<std::unique_ptr<TokenBucket>> TokenBucket::Create(double rate,
                                                                 int64_t burst,
                                                                 Clock* clock) {
  absl::Status status = CheckRateAndBurst(rate, burst);
  if (!status.ok()) return status;
  if (clock == nullptr) {
    return absl::InvalidArgumentError("clock is null; it must be given");
  }
  return absl::WrapUnique(new TokenBucket(rate, burst, clock));
}

TokenBucket::TokenBucket(double rate, int64_t burst, Clock* clock)
    : clock_(clock),
      rate_(rate),
      burst_(burst),
      tokens_(static_cast<double>(burst)),
      last_(clock->TimeNow()) {}

bool TokenBucket::Allow(int64_t n) {
  return Reserve(n, absl::ZeroDuration()).ok();
}

Reservation TokenBucket::Reserve(int64_t n, absl::Duration max_wait) {
  MutexLock lock(&mu_);
  return ReserveWithin(n, clock_->TimeNow(), max_wait);
}

absl::Status TokenBucket::Wait(int64_t n, absl::Duration timeout) {
  return DoWait(n, timeout, [this](const Reservation& reservation) {
    clock_->SleepUntil(reservation.time_to_act());
    return true;
  });
}

absl::Status TokenBucket::WaitBy(
    int64_t n, absl::Duration timeout,
    absl::FunctionRef<bool(absl::Duration d)> pause) {
  return DoWait(n, timeout, [pause](const Reservation& reservation) {
    return pause(reservation.Delay());
  });
}

absl::Status TokenBucket::DoWait(
    int64_t n, absl::Duration timeout,
    absl::FunctionRef<bool(const Reservation& reservation)> pause) {
  absl::Time now;
  Reservation reservation;
  {
    MutexLock lock(&mu_);
    if (n < 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("n is ", n, "; it must not be negative"));
    }
    if (n > burst_ && !IsUnlimited(rate_)) {
      return absl::InvalidArgumentError(absl::StrCat(
          "n is ", n, "; it must not exceed burst, which is ", burst_));
    }
    now = clock_->TimeNow();
    reservation = ReserveWithin(n, now, timeout);
  }
  if (!reservation.ok()) {
    return absl::DeadlineExceededError(
        absl::StrCat("n = ", n, " would not be granted within the timeout, ",
                     absl::FormatDuration(timeout)));
  }
  if (reservation.time_to_act() <= now) return absl::OkStatus();
  absl::Cleanup give_back = [&reservation] { reservation.Cancel(); };
  if (!pause(reservation)) {
    return absl::CancelledError("the wait for tokens has been cancelled");
  }
  std::move(give_back).Cancel();
  return absl::OkStatus();
}

double TokenBucket::Tokens() const {
  MutexLock lock(&mu_);
  return TokensAt(clock_->TimeNow());
}

double TokenBucket::limit() const {
  MutexLock lock(&mu_);
  return rate_;
}

int64_t TokenBucket::burst() const {
  MutexLock lock(&mu_);
  return burst_;
}

absl::Status TokenBucket::SetLimit(double rate) {
  MutexLock lock(&mu_);
  absl::Status status = CheckRateAndBurst(rate, burst_);
  if (!status.ok()) return status;
  Advance();
  rate_ = rate;
  return absl::OkStatus();
}

absl::Status TokenBucket::SetBurst(int64_t burst) {
  MutexLock lock(&mu_);
  absl::Status status = CheckRateAndBurst(rate_, burst);
  if (!status.ok()) return status;
  Advance();
  burst_ = burst;
  return absl::OkStatus();
}

Reservation TokenBucket::ReserveWithin(int64_t n, absl::Time now,
                                       absl::Duration max_wait) {
  if (n < 0) return Reservation();
  if (IsUnlimited(rate_)) {
    return Reservation(this, /*tokens=*/0, rate_, reserved_, now);
  }
  if (n > burst_) return Reservation();

  const double tokens = TokensAt(now) - static_cast<double>(n);
  const absl::Duration wait =
      tokens < 0 ? TimeFor(-tokens, rate_) : absl::ZeroDuration();
  if (wait > std::max(max_wait, absl::ZeroDuration()) ||
      wait == absl::InfiniteDuration()) {
    return Reservation();
  }

  last_ = now;
  tokens_ = tokens;
  reserved_ += static_cast<double>(n);
  last_event_ = now + wait;
  return Reservation(this, n, rate_, reserved_, last_event_);
}

void TokenBucket::Cancel(const Reservation& reservation) {
  MutexLock lock(&mu_);
  const absl::Time now = clock_->TimeNow();
  if (IsUnlimited(rate_) || reservation.time_to_act_ < now) return;

  // The tokens reserved after this reservation come between its time to act and
  // the time to act of the latest reservation.
  const double taken = static_cast<double>(reservation.tokens_);
  const double reserved_since = std::max(
      0.0, TokensIn(last_event_ - reservation.time_to_act_, reservation.rate_));
  if (reserved_since >= taken) return;

  tokens_ = std::min(TokensAt(now) + (taken - reserved_since),
                     static_cast<double>(burst_));
  reserved_ -= taken - reserved_since;
  last_ = now;
  if (reservation.time_to_act_ == last_event_) {
    const absl::Time previous_event =
        last_event_ - TimeFor(taken, reservation.rate_);
    if (previous_event >= now) last_event_ = previous_event;
  }
}

absl::Duration TokenBucket::Hasten(Reservation* reservation) const {
  constexpr absl::Duration kRounding = absl::Microseconds(1);
  MutexLock lock(&mu_);
  const absl::Time now = clock_->TimeNow();
  // The tokens of later reservations come after those of this one.
  const double missing = reservation->last_token_ - reserved_ - TokensAt(now);
  const absl::Duration wait =
      missing > 0 ? TimeFor(missing, rate_) : absl::ZeroDuration();
  if (now + wait < reservation->time_to_act_ - kRounding) {
    reservation->time_to_act_ = now + wait;
  }
  return std::max(absl::ZeroDuration(), reservation->time_to_act_ - now);
}

double TokenBucket::TokensAt(absl::Time now) const {
  // No tokens come while the clock goes back.
  const double come = TokensIn(now - std::min(last_, now), rate_);
  return std::min(tokens_ + come, static_cast<double>(burst_));
}

void TokenBucket::Advance() {
  const absl::Time now = clock_->TimeNow();
  tokens_ = TokensAt(now);
  last_ = now;
}

}  // namespace workqueue
