// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_LEADER_ELECTION_LEADER_ELECTOR_H_
#define WORKQUEUE_LEADER_ELECTION_LEADER_ELECTOR_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "workqueue/base/error_log.h"
#include "workqueue/base/worker_pool.h"
#include "workqueue/clock/clock.h"
#include "workqueue/clock/parker.h"
#include "workqueue/leader_election/election.h"
#include "workqueue/log_sink.h"
#include "workqueue/metrics.h"
#include "workqueue/redis/redis_options.h"
#include "workqueue/simulation/sync.h"

namespace workqueue {

class LeaderElector;

// Leadership
//
// One term of a leader: `LeaderElectorOptions::on_started_leading` gets it, and
// may use it until it returns, on any thread.
//
// Thread-safe.
class Leadership {
 public:
  Leadership(const Leadership&) = delete;
  Leadership& operator=(const Leadership&) = delete;

  // The fencing token: larger than that of every term before, of any process.
  // Send it along with what the leader writes, so that the store can refuse the
  // writes of an earlier leader. Positive.
  int64_t token() const { return token_; }

  // Returns whether the process is no longer the leader. It must not act as one
  // then: another process may lead. Once true, stays true. Does not block.
  bool Lost() const;

  // Returns whether `on_started_leading` should return: the leadership is lost,
  // or the elector is being stopped. Between a call of `Stop()` and the return
  // of the callbacks the process is still the leader, unless `Lost()`, and may
  // finish its work. Does not block.
  bool Stopping() const;

  // Blocks until `d` has passed on the elector's clock, and returns true. When
  // `Stopping()` becomes true, returns false at once. `d` may be infinite. If
  // it is zero or negative, does not block.
  bool Sleep(absl::Duration d) const;

  // Blocks until `Stopping()` is true.
  void WaitUntilStopping() const { Sleep(absl::InfiniteDuration()); }

 private:
  friend class LeaderElector;

  Leadership(const LeaderElector* elector, int64_t token)
      : elector_(*elector), token_(token) {}

  const LeaderElector& elector_;
  const int64_t token_;
};

// LeaderElectorOptions
//
// Options of a `LeaderElector`. Every field but the name has a usable default.
// All processes that take part in an election should have the same durations.
struct LeaderElectorOptions {
  // The name of the election in the server, which all its processes use. Must
  // not be empty, nor contain '{' or '}'. A queue may have the same name.
  std::string name;

  // Where the election is, as in `SharedQueueOptions`.
  std::string address;

  // What else a server of Valkey or Redis needs.
  RedisOptions redis;

  // The name of this process, which the others see. Empty means the host's
  // name, the process' number and a random number. Two processes with the same
  // identity do not lead at the same time.
  std::string identity;

  // How long the others wait after the last renewal of a leader that has died
  // before one of them leads. Must be larger than `renew_deadline`, and finite.
  //
  // The ratio of the two is how much faster the server's clock may run than
  // this process' clock.
  absl::Duration lease_duration = absl::Seconds(15);

  // How long a leader leads after its last successful renewal. Counts from the
  // moment before that renewal was sent. Must be larger than 1.2 times
  // `retry_period`.
  absl::Duration renew_deadline = absl::Seconds(10);

  // The time between two renewals of a leader. The others try to acquire the
  // lease after this time, up to 1.2 times as much by random, and also when
  // they hear that it was released and when it ends. An attempt takes as long
  // at most, on the machine's clock. Positive.
  absl::Duration retry_period = absl::Seconds(2);

  // Whether an elector that ends gives the lease up, so that another process
  // leads at once. Otherwise the others wait until it expires. It is given up
  // when the callbacks have returned. client-go calls this `ReleaseOnCancel`.
  bool release_on_stop = true;

  // Whether an elector that has lost the leadership takes part again, when the
  // callbacks have returned. Otherwise it ends, as client-go's does.
  bool run_again = true;

  // Called at the start of each term, on a thread of its own. It should return
  // when `Leadership::Stopping()`: until then this process does not lead again,
  // and `Stop()` blocks. If it returns earlier, the process stays the leader.
  // An exception is logged, and ends the term: the lease is given up, unless
  // `release_on_stop` is false, and this process takes part again after a
  // `retry_period`, if it does. `Healthy()` tells. May be empty.
  std::function<void(const Leadership& leadership)> on_started_leading;

  // Called once at the end of each term, after `on_started_leading` has
  // returned, on the same thread. May be empty. An exception is logged.
  std::function<void()> on_stopped_leading;

  // Called with the identity of a leader that is not the previous one, and may
  // be this process: before `on_started_leading` then. Called on the thread of
  // the elector, which renews nothing meanwhile, so it must return soon. May be
  // empty. An exception is logged.
  std::function<void(const std::string& identity)> on_new_leader;

  // The clock of this process; null means the real clock. It must not go back.
  // Not owned; must outlive the elector.
  Clock* clock = nullptr;

  // Receives a message for each attempt that fails, and for the beginning and
  // the end of each term; null means no messages. At most ten messages about
  // failures are sent at once, and then two per second. Not owned; must outlive
  // the elector.
  LogSink* log_sink = nullptr;

  // The provider of the elector's metric; null means no metric. An exception
  // from the metric is dropped. Not owned; must outlive the elector.
  LeaderElectionMetricsProvider* metrics_provider = nullptr;

  // For tests: the election's times are those of `clock`, instead of the
  // server's, to the nanosecond. The clock must read less than 100 days after
  // the Unix epoch, as a `FakeClock` does, and be the same in all electors.
  bool clock_is_the_servers = false;

  // Has the election: a `SqliteEngine`, a `PostgresEngine`, or for tests a
  // `MemoryEngine`. Then no address may be given, and `clock_is_the_servers`
  // means nothing. Only `Create()` uses it. Null means that the server or the
  // file at the address has the election.
  internal::ElectionSource* engine = nullptr;
};

// LeaderElector
//
// Chooses one of several processes, the leader, for what only one of them may
// do at a time. It is client-go's `tools/leaderelection`, with a server of
// Valkey or Redis in the place of Kubernetes' API.
//
// Example:
//
//     workqueue::LeaderElectorOptions options;
//     options.name = "pods";
//     options.address = "redis.example:6379";
//     options.on_started_leading = [&](const workqueue::Leadership& leadership)
//     {
//       do {
//         CleanUp(leadership.token());
//       } while (leadership.Sleep(absl::Minutes(1)));
//     };
//     auto elector = workqueue::LeaderElector::Create(std::move(options));
//     if (!elector.ok()) return elector.status();
//     absl::Status started = (*elector)->Start();
//     ...
//     (*elector)->Stop();  // another process leads at once
//
// The leader has a lease in the server, which it renews each `retry_period`.
// The lease expires `lease_duration` after the server has renewed it, by the
// server's clock. The leader itself stops to lead `renew_deadline` after it
// sent the last successful renewal, by its own clock, and earlier if the server
// says that another process has the lease. So two processes do not lead at the
// same time, provided that
//
//   * the server keeps what it has acknowledged: it always writes its log
//     before it answers (`appendonly yes`, `appendfsync always`,
//     `no-appendfsync-on-rewrite no`), evicts nothing, and no failover to a
//     replica loses the lease;
//   * the server's clock does not jump forward, and does not run faster than a
//     leader's by more than the ratio of `lease_duration` to `renew_deadline`.
//     It may go back: then the lease lasts longer, at most by the time that had
//     passed since the last renewal;
//   * the leader asks `Lost()` before it acts, and does not stop in between.
//
// The last condition cannot be kept strictly. A thread may sleep for any time
// after it has asked. The real clock of a machine that was suspended even says
// afterwards that no time has passed. The fencing token makes it exact: tokens
// grow with each term, and a store that remembers the largest token it has seen
// refuses an earlier leader. After a loss of the server's data, or of a part of
// them, tokens still grow, unless the server's clock went back.
//
// After a loss, client-go's `Run()` returns, and the process usually exits.
// Here `Leadership::Lost()` becomes true, a `Leadership::Sleep()` returns, and
// the process takes part again when `on_started_leading` and
// `on_stopped_leading` have returned. See `LeaderElectorOptions::run_again`.
//
// Each elector has two threads: one makes the requests, and one runs the
// callbacks of terms. With Valkey or Redis it has two connections, and a third
// thread, which listens for a lease that is released, so that others need not
// wait for their next attempt. An engine listens for all that use it.
//
// On a `FakeClock`, `Step()` returns when the requests that are due have been
// answered. It does not wait for the callbacks of terms.
//
// Thread-safe.
class LeaderElector {
 public:
  // Does not connect to a server of Valkey or Redis. Opens another engine that
  // `address` names, for `retry_period` at most, and returns its errors, of
  // which a server that does not answer is none. Also returns an
  // `absl::InvalidArgumentError` that names the field and its value if the
  // options are wrong, or contradict each other, and an `absl::InternalError`
  // if the metrics provider throws.
  static absl::StatusOr<std::unique_ptr<LeaderElector>> Create(
      LeaderElectorOptions options);

  // Calls `Stop()`. Must not be called by a callback.
  ~LeaderElector();

  LeaderElector(const LeaderElector&) = delete;
  LeaderElector& operator=(const LeaderElector&) = delete;

  // Starts to take part. Does not wait for the server, which need not be there.
  // Returns `absl::FailedPreconditionError` if it has been called before or the
  // elector has been stopped, `absl::InvalidArgumentError` if the engine cannot
  // keep so long a name, and `absl::ResourceExhaustedError` if the threads
  // could not be started; the elector has been stopped then.
  absl::Status Start();

  // Ends the part in the election. A leader's term ends: `Stopping()` becomes
  // true, the lease is still renewed until the callbacks have returned, and is
  // then released if `release_on_stop`.
  //
  // Blocks until the callbacks have returned, and then for the request that is
  // in progress and for the release, whatever the server does: a second at most
  // on the machine's clock, or 100 ms if the last request has failed or none
  // has been answered. A lease that cannot be released in this time expires.
  // Called by a callback, it does not block: the elector stops when the
  // callback has returned. May be called more than once.
  void Stop();

  // Returns whether this process leads now. Does not block.
  bool IsLeader() const;

  // Returns the identity of the leader when the server last answered, or empty
  // if there was none or it has not answered yet. The leader asks each
  // `retry_period`, and the others do. While `Healthy()` returns an error,
  // another process may lead.
  std::string Leader() const;

  // Returns the token of the present term, or 0 if this process does not lead.
  // Does not block.
  int64_t token() const;

  // Calls `changed` after each change of `token()` or `Healthy()`, and perhaps
  // at other times, on the thread of the elector, which renews nothing
  // meanwhile. So it must return soon. It must not add or remove a listener,
  // nor throw. Aborts the program if it is null. `RemoveListener()` blocks
  // until it is not being called.
  int64_t AddListener(std::function<void()> changed);
  void RemoveListener(int64_t id);

  // The name of the election, and that of this process.
  const std::string& name() const { return options_.name; }
  const std::string& identity() const { return options_.identity; }

  // Returns OK if this elector takes part, and its last request succeeded. So
  // it tells of a server that has become silent within 2.2 `retry_period`s.
  // Otherwise returns, in this order:
  //
  //   * `absl::FailedPreconditionError` if the elector has not been started,
  //   * `absl::CancelledError` if it is being or has been stopped, or has ended
  //     after its term: see `LeaderElectorOptions::run_again`,
  //
  // and then the error of the last request. Its message says for how long, on
  // the elector's clock, no request has succeeded:
  //
  //   * `absl::FailedPreconditionError` if another version of this library,
  //     with another layout, uses the election,
  //   * `absl::UnavailableError` or `absl::UnknownError` if there is no server,
  //     or no answer, also not yet, or if the server is a replica, or does not
  //     begin yet,
  //   * other errors if the server refused the request, with its words.
  //
  // The elector tries again in any case. After a term that has ended because
  // `on_started_leading` threw, returns an `absl::InternalError` with the words
  // of the exception until the next term of this process.
  absl::Status Healthy() const;

 private:
  friend class Leadership;

  // The present term.
  enum class Term {
    kNone,
    kLed,   // the callbacks have not returned
    kOver,  // they have
  };

  LeaderElector(LeaderElectorOptions options,
                std::unique_ptr<SettableGaugeMetric> metric,
                std::unique_ptr<internal::Election> election);

  // Blocks until no request is made any more. After a while, interrupts the
  // one that is in progress.
  void AwaitEnd();

  // Returns whether the calling thread is one of the elector's.
  bool RunsThisThread() const;

  // The functions of the threads.
  void Elect();
  void CallBack();

  // Tells the metric and the listeners what is the case now. Returns whether
  // this process led when that began.
  bool Tell();

  // Makes requests, and does what follows from their replies. Each returns the
  // time of the next one.
  absl::Time TryToLead();
  absl::Time Renew();
  absl::Time Look();
  void Release();

  // Stores the result of a request and calls `on_new_leader`.
  void Observe(const absl::StatusOr<internal::Election::State>& state);

  // Begins a term, unless its end has come already. Returns whether it has.
  bool BeginTerm(int64_t token, absl::Time deadline);

  // Ends a term whose callbacks have returned. Returns whether one has failed.
  bool EndTerm();

  // Ends the present term because of the error of `on_started_leading`.
  void Fail(const absl::Status& status);

  // Notes until when requests may be made, if the end of the elector's part
  // waits for nothing else.
  void LimitRequests() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Returns how long a request may take at most, besides its own timeout.
  absl::Duration TimeForRequests() const;

  // Wakes the thread that makes the requests.
  void Wake() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Wakes it to make one.
  void WakeToTry();

  // Notes that the leadership is lost, for that reason.
  void Lose(absl::string_view why) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Returns whether it is, and notes it, if the clock says so.
  bool HasLost() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool Leads() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // The conditions of waits.
  bool MustCallBack() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool LostOrStopping() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool LimitedOrEnded() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  absl::Duration Jittered(absl::Duration period);

  const LeaderElectorOptions options_;
  Clock* const clock_;
  const internal::Log log_;
  internal::ErrorLog errors_;
  internal::LastingError outage_;
  const std::unique_ptr<SettableGaugeMetric> metric_;  // may be null

  // Of the thread that makes the requests.
  std::minstd_rand random_;
  // The token of the last lease that was taken and not released, or 0. It may
  // have expired. A leader whose term is over keeps it for its next term.
  int64_t held_ = 0;
  std::string reported_;  // the leader that `on_new_leader` was told last

  mutable sync::Mutex mu_;
  // Null while the thread that makes the requests does not run.
  std::unique_ptr<Parker> parker_ ABSL_GUARDED_BY(mu_);
  bool started_ ABSL_GUARDED_BY(mu_) = false;
  bool stopping_ ABSL_GUARDED_BY(mu_) = false;
  bool ended_ ABSL_GUARDED_BY(mu_) = false;  // no term and no request follow
  // When requests end, on the machine's clock.
  absl::Time requests_end_ ABSL_GUARDED_BY(mu_) = absl::InfiniteFuture();
  bool try_now_ ABSL_GUARDED_BY(mu_) = false;
  std::string leader_ ABSL_GUARDED_BY(mu_);
  // Of the last request, or that there was none.
  absl::Status error_ ABSL_GUARDED_BY(mu_) =
      absl::UnavailableError("no request has been answered yet");
  absl::Time started_at_ ABSL_GUARDED_BY(mu_);
  // When a request succeeded last.
  std::optional<absl::Time> succeeded_at_ ABSL_GUARDED_BY(mu_);
  absl::Status failure_ ABSL_GUARDED_BY(mu_);  // of the last term

  Term term_ ABSL_GUARDED_BY(mu_) = Term::kNone;
  int64_t token_ ABSL_GUARDED_BY(mu_) = 0;
  // When this process stops to lead, by its own clock.
  absl::Time deadline_ ABSL_GUARDED_BY(mu_);
  mutable bool lost_ ABSL_GUARDED_BY(mu_) = false;

  // Held while listeners are called.
  sync::Mutex listeners_mu_;
  int64_t last_listener_ ABSL_GUARDED_BY(listeners_mu_) = 0;
  std::map<int64_t, std::function<void()>> listeners_
      ABSL_GUARDED_BY(listeners_mu_);

  // Held while threads are started and joined.
  sync::Mutex threads_mu_ ABSL_ACQUIRED_BEFORE(mu_);
  internal::WorkerPool threads_ ABSL_GUARDED_BY(threads_mu_);

  // Is destroyed first, as it may still call this elector.
  const std::unique_ptr<internal::Election> election_;
};

}  // namespace workqueue

#endif  // WORKQUEUE_LEADER_ELECTION_LEADER_ELECTOR_H_
