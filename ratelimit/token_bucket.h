// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_RATELIMIT_TOKEN_BUCKET_H_
#define WORKQUEUE_RATELIMIT_TOKEN_BUCKET_H_

#include <cstdint>
#include <memory>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "workqueue/clock/clock.h"
#include "workqueue/simulation/sync.h"

namespace workqueue {

template <typename T, typename Hash, typename Eq>
class BucketRateLimiter;
class TokenBucket;

// Reservation
//
// The result of `TokenBucket::Reserve()`. It tells when its holder may act, or
// that the bucket did not grant the tokens.
//
// Destroying a reservation does not return its tokens. `Cancel()` returns them.
// The bucket must outlive every call of `Delay()` and `Cancel()`. It need not
// outlive the reservation itself.
//
// Not thread-safe: only one thread at a time may use a reservation. No method
// but `Delay()` and `Cancel()` uses the bucket. Those two lock its mutex or
// read its clock, and block for nothing else.
//
// Example:
//
//     workqueue::Reservation reservation = bucket->Reserve();
//     if (!reservation.ok()) return;           // will never be granted
//     if (reservation.Delay() > absl::Seconds(1)) {
//       reservation.Cancel();                  // too late, give the token back
//       return;
//     }
//     clock->SleepUntil(reservation.time_to_act());
class Reservation {
 public:
  // Creates a reservation whose tokens were not granted.
  Reservation() = default;

  // The moved-from object becomes a reservation whose tokens were not granted.
  Reservation(Reservation&& other) noexcept { *this = std::move(other); }
  Reservation& operator=(Reservation&& other) noexcept {
    bucket_ = std::exchange(other.bucket_, nullptr);
    tokens_ = std::exchange(other.tokens_, 0);
    rate_ = other.rate_;
    last_token_ = other.last_token_;
    time_to_act_ = std::exchange(other.time_to_act_, absl::InfiniteFuture());
    return *this;
  }

  // Returns whether the tokens were granted, for now or for a later time.
  bool ok() const { return bucket_ != nullptr; }

  // Returns how long the holder must wait from now. Returns zero if the holder
  // may act now, and `absl::InfiniteDuration()` if the tokens were not granted.
  // Never negative.
  absl::Duration Delay() const;

  // Returns the time, on the bucket's clock, from which the holder may act.
  // Returns `absl::InfiniteFuture()` if the tokens were not granted.
  absl::Time time_to_act() const { return time_to_act_; }

  // Tells the bucket that the holder will not act. The bucket takes the tokens
  // back, except for the number of tokens that have been reserved since. So
  // later reservations keep their times to act.
  //
  // Has no effect on the bucket after the first call, after the time to act, or
  // while the bucket's rate is infinite. The other methods continue to return
  // what they returned before.
  void Cancel();

 private:
  friend class TokenBucket;

  Reservation(TokenBucket* bucket, int64_t tokens, double rate,
              double last_token, absl::Time time_to_act)
      : bucket_(bucket),
        tokens_(tokens),
        rate_(rate),
        last_token_(last_token),
        time_to_act_(time_to_act) {}

  TokenBucket* bucket_ = nullptr;  // null if not granted
  int64_t tokens_ = 0;             // taken and not returned
  double rate_ = 0;                // the bucket's rate when this was granted
  double last_token_ = 0;          // the bucket's reserved_ with these tokens
  absl::Time time_to_act_ = absl::InfiniteFuture();
};

// TokenBucket
//
// This class limits how often events happen: on average `rate` times per
// second, and at most `burst` times at once. The bucket starts with `burst`
// tokens, gains `rate` tokens per second, and holds at most `burst` tokens.
// Each event takes one token.
//
// If there are too few tokens, `Allow()` refuses, `Reserve()` returns the time
// at which the tokens will be there, and `Wait()` sleeps until then. A
// reservation takes its tokens at once, even if they have not come yet, so the
// next caller waits longer.
//
// The algorithm is that of the Limiter of Go's golang.org/x/time/rate, with the
// same arithmetic: tokens are doubles, and waiting times are whole nanoseconds,
// rounded down. There are three differences. This class refuses a wait of 2^63
// nanoseconds (292 years) or more. `Reservation::Cancel()` never returns more
// tokens than the reservation took. And a negative `n` is refused: in Go it
// puts tokens into the bucket.
//
// If the clock goes back, the bucket neither loses nor gains tokens. From the
// next call on that takes tokens, it gains tokens from the earlier time. Until
// then it gains none before the clock has caught up.
//
// Thread-safe. Every method takes constant time and, except `Wait()`, blocks
// for nothing but the bucket's mutex.
//
// Example:
//
//     auto bucket = workqueue::TokenBucket::Create(/*rate=*/10, /*burst=*/100);
//     if (!bucket.ok()) return bucket.status();
//     for (const Request& request : requests) {
//       absl::Status status = (*bucket)->Wait();
//       if (!status.ok()) return status;
//       Send(request);
//     }
class TokenBucket {
 public:
  // Returns the rate, in events per second, of events that are `interval`
  // apart. Returns infinity if `interval` is zero or negative, and zero if
  // `interval` is infinite.
  static double Every(absl::Duration interval);

  // Returns a new bucket that holds `burst` tokens. `rate` is in tokens per
  // second. An infinite `rate` means no limit, whatever `burst` is: all
  // requests for tokens are granted at once, even if they exceed the burst.
  // With a `rate` of zero the first `burst` tokens are the only ones. The
  // bucket does not own `clock`, which must outlive the bucket. The bucket
  // reads the time with its mutex locked.
  //
  // Returns an `absl::InvalidArgumentError` if `rate` is negative or not a
  // number, if `burst` is negative, if `burst` is zero and `rate` is finite, or
  // if `clock` is null.
  static absl::StatusOr<std::unique_ptr<TokenBucket>> Create(
      double rate, int64_t burst, Clock* clock = Clock::GetRealClock());

  TokenBucket(const TokenBucket&) = delete;
  TokenBucket& operator=(const TokenBucket&) = delete;

  // Takes `n` tokens if that many are there now, and returns whether it did.
  // Returns false if `n` is negative or exceeds the burst.
  bool Allow(int64_t n = 1);

  // Takes `n` tokens, which may come later. The result tells when. If `n` is
  // negative or exceeds the burst, or if the tokens would come later than
  // `max_wait` from now, or never, takes nothing and returns a reservation that
  // is not `ok()`. A negative `max_wait` is zero.
  Reservation Reserve(int64_t n = 1,
                      absl::Duration max_wait = absl::InfiniteDuration());

  // Takes `n` tokens and blocks until they are there. The wait ends only when
  // the bucket's clock reaches that time. It cannot be interrupted.
  //
  // On error takes no tokens and returns at once:
  //
  //   - `absl::InvalidArgumentError` if `n` is negative or exceeds the burst;
  //   - `absl::DeadlineExceededError` if the tokens would not come within
  //     `timeout`, measured on the bucket's clock. A negative timeout is zero.
  absl::Status Wait(int64_t n = 1,
                    absl::Duration timeout = absl::InfiniteDuration());

  // Does what `Wait()` does, but blocks by a call of `pause(d)`, so that the
  // wait can be cancelled. `pause` must block for `d` on the bucket's clock and
  // return true, or return false as soon as the wait is to end. Then this
  // function gives the tokens back and returns `absl::CancelledError`. If
  // `pause` throws, the tokens are given back, too. If there is no need to
  // wait, it is not called.
  //
  // `SourceContext::sleep` is such a function. Another one, for a program that
  // sets `stopping` with `mu` locked:
  //
  //     const auto pause = [&](absl::Duration d) {
  //       absl::MutexLock lock(&mu);
  //       return !clock->AwaitWithDeadline(&mu, absl::Condition(&stopping),
  //                                        clock->TimeNow() + d);
  //     };
  //     absl::Status status =
  //         bucket->WaitBy(1, absl::InfiniteDuration(), pause);
  absl::Status WaitBy(int64_t n, absl::Duration timeout,
                      absl::FunctionRef<bool(absl::Duration d)> pause);

  // Returns the current number of tokens. It is at most `burst()`. It is
  // negative if tokens that have not come yet have been reserved.
  double Tokens() const;

  // Returns the rate in tokens per second, which may be infinite.
  double limit() const;

  // Returns the maximum number of tokens that the bucket holds.
  int64_t burst() const;

  // Sets the rate, in tokens per second, from now on. The tokens that have come
  // at the old rate stay. Reservations keep their times to act.
  //
  // If `rate` is negative or not a number, or if it is finite while the burst
  // is zero, changes nothing and returns an `absl::InvalidArgumentError`.
  absl::Status SetLimit(double rate);

  // Sets the maximum number of tokens that the bucket holds. A larger bucket is
  // not filled at once. Tokens beyond a smaller maximum are lost.
  //
  // If `burst` is negative, or if it is zero while the rate is finite, changes
  // nothing and returns an `absl::InvalidArgumentError`.
  absl::Status SetBurst(int64_t burst);

 private:
  friend class Reservation;
  template <typename T, typename Hash, typename Eq>
  friend class BucketRateLimiter;

  TokenBucket(double rate, int64_t burst, Clock* clock);

  // Reserves `n` tokens if they come no later than `max_wait` after `now`.
  // Otherwise takes nothing and returns a reservation that is not `ok()`.
  Reservation ReserveWithin(int64_t n, absl::Time now, absl::Duration max_wait)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // The implementation of `Wait()` and `WaitBy()`. `pause` blocks until the
  // time to act, and returns false if the wait is to end before.
  absl::Status DoWait(
      int64_t n, absl::Duration timeout,
      absl::FunctionRef<bool(const Reservation& reservation)> pause);

  // Returns the tokens of `reservation`, except those that later reservations
  // rely on.
  void Cancel(const Reservation& reservation);

  // If the tokens of `*reservation` come sooner than when they were taken, as
  // after a `SetLimit()`, gives it an earlier time to act. Returns its delay.
  absl::Duration Hasten(Reservation* reservation) const;

  // Returns the number of tokens at `now`.
  double TokensAt(absl::Time now) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // Brings `tokens_` and `last_` up to date, at the current rate.
  void Advance() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  Clock* const clock_;

  // The clock is read with this locked, so that competing threads do not apply
  // an older time after a newer one.
  mutable sync::Mutex mu_;
  double rate_ ABSL_GUARDED_BY(mu_);
  int64_t burst_ ABSL_GUARDED_BY(mu_);
  // The number of tokens at `last_`. Negative if tokens that have not come yet
  // have been reserved.
  double tokens_ ABSL_GUARDED_BY(mu_);
  // The number of tokens that have been reserved and not taken back.
  double reserved_ ABSL_GUARDED_BY(mu_) = 0;
  absl::Time last_ ABSL_GUARDED_BY(mu_);
  // The time to act of the latest reservation, or of the one before it if the
  // latest was cancelled.
  absl::Time last_event_ ABSL_GUARDED_BY(mu_) = absl::InfinitePast();
};

}  // namespace workqueue

#endif  // WORKQUEUE_RATELIMIT_TOKEN_BUCKET_H_
