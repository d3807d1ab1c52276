// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// ratelimit/token_bucket.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_RATELIMIT_TOKEN_BUCKET_H_
#define WORKQUEUE_RATELIMIT_TOKEN_BUCKET_H_

#include <cstdint>
#include <memory>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "workqueue/clock/clock.h"

namespace workqueue {

class TokenBucket;

// Reservation
//
// What `TokenBucket::Reserve()` returns: from when on its holder may act, or
// that it never may. To be used by one thread at a time.
//
// Destroying a reservation does not give its tokens back; `Cancel()` does. The
// bucket must outlive every call of `Delay()` and `Cancel()`, but not the
// reservation itself.
class Reservation {
 public:
  // A reservation that was not granted.
  Reservation() = default;

  // What is moved from becomes a reservation that was not granted.
  Reservation(Reservation&& other) noexcept { *this = std::move(other); }
  Reservation& operator=(Reservation&& other) noexcept {
    bucket_ = std::exchange(other.bucket_, nullptr);
    tokens_ = std::exchange(other.tokens_, 0);
    rate_ = other.rate_;
    time_to_act_ = std::exchange(other.time_to_act_, absl::InfiniteFuture());
    return *this;
  }

  // Whether the tokens were granted, for now or for later.
  bool ok() const { return bucket_ != nullptr; }

  // Returns how long the holder must wait from now on; zero if it may act,
  // `absl::InfiniteDuration()` if the tokens were not granted. Never negative.
  absl::Duration Delay() const;

  // Returns from when on the holder may act, on the bucket's clock;
  // `absl::InfiniteFuture()` if the tokens were not granted.
  absl::Time time_to_act() const { return time_to_act_; }

  // Tells the bucket that the holder will not act. The tokens go back, except
  // for as many as were reserved after these: those who wait for them wait for
  // as long as they were told.
  //
  // Only the first call has an effect, and none has after the time to act, or
  // while the bucket's rate is infinite. The other methods go on to return what
  // they did before.
  void Cancel();

 private:
  friend class TokenBucket;

  Reservation(TokenBucket* bucket, int64_t tokens, double rate,
              absl::Time time_to_act)
      : bucket_(bucket),
        tokens_(tokens),
        rate_(rate),
        time_to_act_(time_to_act) {}

  TokenBucket* bucket_ = nullptr;  // null if not granted
  int64_t tokens_ = 0;             // taken and not given back
  double rate_ = 0;                // the bucket's, when this was granted
  absl::Time time_to_act_ = absl::InfiniteFuture();
};

// TokenBucket
//
// Limits how often something happens: `rate` times a second on average, and up
// to `burst` times at once. The bucket is full with `burst` tokens at first and
// is filled up at `rate` tokens a second; each event takes a token out.
//
// Who finds too few tokens can do without (`Allow()`), be told how long to wait
// for them (`Reserve()`) or wait (`Wait()`). A reservation takes its tokens at
// once, even if they are not there yet; whoever comes next waits for longer.
//
// It behaves as the Limiter of golang.org/x/time/rate does, and computes in the
// same way: tokens in a double, waiting times in whole nanoseconds, rounded
// down. It is different in that it never makes anybody wait for more than 2^63
// nanoseconds (292 years), but refuses; and in that `Reservation::Cancel()`
// gives back no more than was taken.
//
// A clock that goes back takes no tokens away and brings none. From the next
// event on, the bucket is filled as time passes from the earlier time.
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
//
// Thread-safe.
class TokenBucket {
 public:
  // Returns the rate at which events are `interval` apart, in events a second:
  // infinite if `interval` is zero or negative, zero if it is infinite.
  static double Every(absl::Duration interval);

  // Returns a new bucket, full. `rate` is in tokens a second: infinite means no
  // limit, whatever `burst` says, and zero that there are no tokens but the
  // first `burst`. `clock` must outlive the bucket. It is asked for the time
  // while the bucket is locked.
  //
  // Returns an `absl::InvalidArgumentError` if `rate` is negative or not a
  // number, if `burst` is negative, or zero though `rate` is finite, or if
  // `clock` is null.
  static absl::StatusOr<std::unique_ptr<TokenBucket>> Create(
      double rate, int64_t burst, Clock* clock = Clock::GetRealClock());

  TokenBucket(const TokenBucket&) = delete;
  TokenBucket& operator=(const TokenBucket&) = delete;

  // Takes `n` tokens if they are there. Returns whether they were; false if `n`
  // is negative or exceeds the burst.
  bool Allow(int64_t n = 1);

  // Takes `n` tokens, which may come only later; the result says when. It is
  // not `ok()`, and nothing taken, if `n` is negative or exceeds the burst, or
  // if the tokens would never come.
  Reservation Reserve(int64_t n = 1);

  // Takes `n` tokens and sleeps until they are there. Cannot be interrupted.
  //
  // Without taking any and without sleeping it returns an
  //
  //   - `absl::InvalidArgumentError` if `n` is negative or exceeds the burst;
  //   - `absl::DeadlineExceededError` if `deadline` is past or the tokens would
  //     come only after it, or never.
  absl::Status Wait(int64_t n = 1,
                    absl::Time deadline = absl::InfiniteFuture());

  // Returns how many tokens there are now: at most `burst()`, and less than
  // zero if some are reserved that have not come yet.
  double Tokens() const;

  // Returns the rate at which tokens come, in tokens a second; may be infinite.
  double limit() const;

  // Returns how many tokens the bucket holds.
  int64_t burst() const;

  // Changes the rate from now on. Tokens that came at the old one stay, and
  // those who were told how long to wait wait as long.
  //
  // Returns an `absl::InvalidArgumentError`, and changes nothing, if `rate` is
  // negative or not a number, or finite while the burst is zero.
  absl::Status SetLimit(double rate);

  // Changes how many tokens the bucket holds. When it holds more it is not
  // filled at once; when it holds less, what is too much is gone.
  //
  // Returns an `absl::InvalidArgumentError`, and changes nothing, if `burst` is
  // negative, or zero while the rate is finite.
  absl::Status SetBurst(int64_t burst);

 private:
  friend class Reservation;

  TokenBucket(double rate, int64_t burst, Clock* clock);

  // Reserves `n` tokens that are there by `max_wait` after `now`; if that can't
  // be done, changes nothing and grants nothing.
  Reservation ReserveWithin(int64_t n, absl::Time now, absl::Duration max_wait)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // Gives back what `reservation` took, as far as nobody counts on it.
  void Cancel(const Reservation& reservation);

  // Returns how many tokens there are at `now`.
  double TokensAt(absl::Time now) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // Makes `tokens_` up to date as of now, at the rate so far.
  void Advance() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  Clock* const clock_;

  // The clock is read with this held, so that threads which compete for it do
  // not bring older times after newer ones.
  mutable absl::Mutex mu_;
  double rate_ ABSL_GUARDED_BY(mu_);
  int64_t burst_ ABSL_GUARDED_BY(mu_);
  // How many tokens there were at `last_`. Less than zero when tokens are
  // reserved that have not come yet.
  double tokens_ ABSL_GUARDED_BY(mu_);
  absl::Time last_ ABSL_GUARDED_BY(mu_);
  // The time to act of the reservation that was granted last, or the one before
  // if that was cancelled.
  absl::Time last_event_ ABSL_GUARDED_BY(mu_) = absl::InfinitePast();
};

}  // namespace workqueue

#endif  // WORKQUEUE_RATELIMIT_TOKEN_BUCKET_H_
