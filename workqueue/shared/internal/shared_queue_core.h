// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_SHARED_INTERNAL_SHARED_QUEUE_CORE_H_
#define WORKQUEUE_SHARED_INTERNAL_SHARED_QUEUE_CORE_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>  // NOLINT(build/c++11)
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/cleanup/cleanup.h"
#include "absl/container/btree_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "workqueue/base/error_log.h"
#include "workqueue/base/mutex_lock.h"
#include "workqueue/base/wake_time.h"
#include "workqueue/clock/clock.h"
#include "workqueue/clock/parker.h"
#include "workqueue/executor.h"
#include "workqueue/interfaces.h"
#include "workqueue/internal/ticker.h"
#include "workqueue/redis/ticks.h"
#include "workqueue/shared/internal/byte_queue.h"
#include "workqueue/shared/internal/engine.h"
#include "workqueue/shared/internal/shared_queue_metrics.h"
#include "workqueue/shared/shared_queue_options.h"
#include "workqueue/simulation/sync.h"
#include "workqueue/timer/waiting_loop.h"

namespace workqueue::internal {

// SharedQueueCore
//
// One process' part in a shared queue of byte strings. It
//
//   * sends the calls of the process' threads to the engine, all that wait in
//     one request. The thread whose call comes first sends, and the others
//     wait for it. A call that has less time than the others goes alone,
//   * keeps the items that the engine has handed out, and serves the process'
//     workers with them, threads and callbacks, in turn,
//   * renews the leases, on a `WaitingLoop`, and looks there for what is due.
//   * holds an item back that comes while a worker of this process still has
//     it, because that worker's lease is lost: a key has one holder in a
//     process. The lease of the item that is held back is renewed. When the
//     first holder ends, the item is in hand. A `Close()` gives it back at
//     once. The newest token of an item counts; the others are lost.
//   * repeats the end of a lease that the engine has not heard, as long as the
//     lease may last. A stale token changes nothing.
//   * takes items ahead if there are any, as many as its workers take in
//     `AheadFor()` or during two requests. A worker that ends an item takes one
//     of these at once, and the next request tells the engine of the end. After
//     `AheadFor()` the loop tells it, and gives back what no worker takes.
//
// The engine knows how many workers of the process wait, and pushes items to
// them. So an idle process makes no calls, except for a heartbeat.
//
// Thread-safe.
class SharedQueueCore final : public ByteQueue,
                              private EngineListener,
                              private WaitingLoop::Client {
 public:
  // The name is that of the partition, if there are several.
  struct Options : SharedQueueOptionsBase {
    std::shared_ptr<WaitingLoop> loop;
    // Whether the engine uses this process' clock instead of its own.
    bool engine_uses_clock = false;
    // Gives the queue groups.
    std::optional<EngineOperation> set_groups;
  };

  // How long an item may be in hand while no worker takes one, and an end may
  // be unsent.
  static constexpr absl::Duration AheadFor() { return absl::Milliseconds(5); }

  // How long the process makes no request for its waiting workers after one has
  // failed, and how long a blocking call waits for an item before it returns
  // the error. Otherwise the loops of the callers would ask a server that
  // refuses each request at once as fast as they can.
  static constexpr absl::Duration RetryAfter() {
    return absl::Milliseconds(500);
  }

  SharedQueueCore(Options options, std::unique_ptr<Engine> engine);
  ~SharedQueueCore() override;

  SharedQueueCore(const SharedQueueCore&) = delete;
  SharedQueueCore& operator=(const SharedQueueCore&) = delete;

  // Looks whether the engine's settings keep the promises of the queue. Returns
  // what is wrong with them, as one line for people, or nothing. Blocks until
  // `deadline`, on the machine's clock, at most.
  absl::StatusOr<std::string> CheckSettings(absl::Time deadline);

  // Begins to listen to the engine. Blocks for `call_timeout` at most, and not
  // after `deadline`, on the machine's clock. Must be called once, before all
  // else.
  absl::Status Start(absl::Time deadline = absl::InfiniteFuture());

  // ByteQueue. `Apply()` makes one request for each piece of the operations,
  // and `Acquire()` for each piece of the items: the engine serves nobody else
  // during a request.
  Clock* clock() const override { return loop_->clock(); }
  const Ticks& ticks() const override { return ticks_; }
  absl::StatusOr<std::vector<int64_t>> Apply(
      std::vector<EngineOperation> operations) override;
  absl::StatusOr<std::vector<HeldItem*>> Acquire(
      size_t max, absl::Duration timeout,
      std::vector<EngineOperation> ends) override {
    return Acquire(max, timeout, std::move(ends), absl::InfiniteFuture());
  }
  AcquireId AcquireAsync(Executor* executor, Callback callback) override;
  bool CancelAcquire(AcquireId id) override;
  EngineOperation End(HeldItem* held, EngineOperation::Code code) override;
  void NoteUnsent(const EngineOperation& end) override;
  void Remember(std::string bytes, HeldItem* held) override;
  HeldItem* Recall(const std::string& item) override;
  bool Holds(const std::string& item) override;
  bool IsLost(const HeldItem& held) override;
  void SetLimits(const EngineOperation& limits) override;
  // In parts. An item that no worker has taken is queued in it.
  absl::StatusOr<EngineSnapshot> TakeSnapshotWith(
      const ByteSnapshotOptions& options) override;
  absl::Status ShutDown() override;
  absl::StatusOr<bool> ShutDownWithDrain(absl::Duration timeout) override;
  absl::Status Reopen() override;
  void Close() override;
  bool AwaitNothingHeld(absl::Duration timeout) override;
  bool EndsAreKnown() const override;
  bool ShuttingDown() const override { return closed_ || shut_down_; }
  absl::Status Healthy() const override;
  bool closed() const override { return closed_; }

  // The same, but the request takes not longer than until `call_deadline`, on
  // the machine's clock.
  absl::StatusOr<std::vector<HeldItem*>> Acquire(
      size_t max, absl::Duration timeout, std::vector<EngineOperation> ends,
      absl::Time call_deadline);

  // The steps of `ShutDownWithDrain()` of several partitions. The first one
  // returns the number of shutdowns at once so far. The second one blocks until
  // all are drained, and returns true, or until one has been shut down at once
  // since: such a shutdown may have reached another one before the drain did.
  absl::StatusOr<int64_t> BeginDrain();
  static bool AwaitDrained(absl::Span<SharedQueueCore* const> parts,
                           absl::Span<const int64_t> shut_downs_before,
                           absl::Time deadline);

  // Ends those that wait for a drain, or for the end of all leases, from now
  // on.
  void EndDrains();

  absl::Duration call_timeout() const { return options_.call_timeout; }

  // Returns OK if the last request succeeded, and its error otherwise. A
  // request without an answer for `SlowAfter()` is an error, too.
  absl::Status Reached() const;

 private:
  // How long a call may take. A process that ends waits less for the engine,
  // and hardly for one that did not answer when it was asked last. Nor does it
  // ask that one again before `RetryAfter()`.
  absl::Duration CallTimeout() const;

  // How long a request may be on its way before the process tells that there
  // is no answer: two seconds, or half of the time of a call.
  absl::Duration SlowAfter() const {
    return (std::min)(absl::Seconds(2), options_.call_timeout / 2);
  }

  // A call of `Apply()` or `Acquire()`.
  struct Call {
    absl::Span<const EngineOperation> operations;
    size_t take = 0;
    size_t bytes = 0;  // of the operations' items
    // On the machine's clock. Is `call_timeout` from now at most.
    absl::Time deadline = absl::InfiniteFuture();

    bool done = false;
    absl::Status status;
    std::vector<int64_t> results;
    sync::CondVar changed;  // done, or this call's thread is to send
  };

  // A thread or a callback that waits for an item.
  struct Waiter {
    Parker* parker = nullptr;      // of a thread
    Executor* executor = nullptr;  // of a callback
    Callback callback;
    bool woken = false;
    // The thread that is to submit the callback, without the lock: the one that
    // has woken it, so that its call returns after that.
    std::optional<std::thread::id> submitter;
    uint64_t first_request = 0;  // the first one that counts this waiter
  };
  // In the order in which they have come.
  using Waiters = std::map<AcquireId, Waiter>;

  // EngineListener:
  void OnListening(const std::string& client) override;
  void OnDisconnected(const absl::Status& why) override;
  void OnPush(HandedOut item, int64_t now) override;
  void OnDue(int64_t ticks) override;
  void OnShutDown(int64_t count) override;
  void OnChanged() override;

  // WaitingLoop::Client:
  absl::Time Run(absl::Time now) override;
  // The same. Without memory, what is due stays due.
  absl::Time RunOnce(absl::Time now) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // Applies `operations`, in pieces. Returns their results, or the error of the
  // first piece that fails, which is the last one that was sent. Does not throw
  // if there are only ends of leases.
  absl::StatusOr<std::vector<int64_t>> SendInPieces(
      std::vector<EngineOperation> operations)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Acquires one piece. Clears `*ends` unless it throws.
  absl::StatusOr<std::vector<HeldItem*>> AcquirePiece(
      size_t max, absl::Duration timeout, std::vector<EngineOperation>* ends,
      absl::Time call_deadline);
  // Sends `*call`, together with others, and waits until it is done. Does not
  // throw: it fails without memory.
  void Send(Call* call) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // The same with a call whose deadline would end the request of others too
  // early. If there is no answer until then, that is no outage.
  void SendAlone(Call* call) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Waits until as many calls are there as the last request has left or
  // released, a fraction of its time at most. The threads that a reply releases
  // come back soon with their next calls. Otherwise they would split into two
  // groups of which each waits for the other's request, and then for its own.
  void AwaitCompany() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Sends all calls that wait, or many of them, or the first one alone. Those
  // that go together are of about the same age: the time of the oldest one ends
  // the request. Releases the lock meanwhile. Without memory the first one
  // fails.
  void SendTogether(bool alone = false) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void TakeIn(const EngineRequest& request, EngineReply reply,
              absl::Time sent_at, uint64_t notices)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void TakeIn(HandedOut item, absl::Time since)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void TakeInState(const EngineReply& reply) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void TakeInShutDown(int64_t count) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  std::optional<int64_t> EngineTime() const;

  // Adds what the workers of this process have.
  void AddHere(const SnapshotOptions<std::string>& options,
               EngineSnapshot* snapshot) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // Notes whether the engine has heard the ends of leases among `operations`.
  // Without memory for one that it has not heard, the lease expires.
  void NoteEnds(absl::Span<const EngineOperation> operations, bool heard)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // The number of items that the engine is to hand out for the waiters.
  size_t Wanted() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // The number of items that the engine will push for them.
  size_t Expected() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Whether the engine must be told. It cannot take a push back that is on its
  // way, although nobody waits for it any more.
  bool MustTell() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Tells the engine that nobody waits any more, and waits for the items that
  // it has pushed before: nobody would give them back.
  void AwaitLastPushes() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Chooses `ahead_` for a request that is sent at `start`, on the machine's
  // clock. Returns how many items the request takes ahead.
  size_t ChooseAhead(absl::Time start) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // The number of items in hand that nobody waits for.
  size_t Unawaited() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Lets the loop look later at what has been taken ahead, and at ends.
  void LookAfterAhead() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // The number of items in hand that no worker of this process will take.
  size_t Surplus() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Whether `waiter` waits in vain, because the queue has been shut down. Not
  // as long as an item is held back.
  bool Ended(const Waiter& waiter) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status EndedError() const;

  // Adds `*held` to the items in hand, or holds it back. Returns false, and
  // does neither, if a later token of the item is here.
  bool AddHolder(HeldItem* held) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // The engine has taken the item back, unless its worker is ending the lease.
  void NoteLost(HeldItem* held) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // `*held` is the holder of its item no more. What was held back is in hand.
  void LetGo(HeldItem* held) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Forgets what is held back until `*holder` ends.
  void DropHeldBack(HeldItem* holder) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Forgets the items in hand that another process may have by now.
  void DropLostInHand() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Forgets these, and returns the number of the others, but at most
  // `processing`: a push may have come since the engine told this number.
  size_t CountInHand(size_t processing) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Whether no item is held, and the engine has heard of all ends.
  bool NothingHeld() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Destroys `*held`.
  void Erase(HeldItem* held) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  HeldItem* TakeFirstInHand() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  std::vector<HeldItem*> TakeInHand(size_t max)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Wakes as many waiters as there are items in hand, and those that wait in
  // vain.
  void WakeWaiters() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Notes that `*waiter` sleeps, or is to sleep.
  void Sleep(Waiter* waiter) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  Waiters::iterator AddWaiter() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  Waiters::node_type Remove(Waiters::iterator waiter)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Wakes those, and lets the loop tell the engine if it must know.
  void WaitersChanged() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  bool NobodyWaits() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void WakeSleepers() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Lets the loop make a request at `time`, or earlier if it was to, because of
  // something that was noticed after `notices`.
  void LookAt(absl::Time time, uint64_t notices)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Lets the loop make a request at `look_at`, because of something that no
  // request under way can tell.
  void Notice(absl::Time look_at) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void WakeLoop(absl::Time at) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  // Submits the callbacks that this thread has woken. Called without the lock,
  // before the thread returns or parks. Takes no memory of its own. Then so
  // many tasks have ended, and this object may be gone.
  void Submit(size_t ended_tasks = 0);
  // The destructor awaits the caller until the result is destroyed.
  auto BeginTask() {
    MutexLock lock(&mu_);
    ++tasks_;
    return absl::MakeCleanup([this] { Submit(/*ended_tasks=*/1); });
  }
  void RunCallback(AcquireId id);

  // Calls `f` with the metrics, if there are any. Logs what it throws.
  template <typename F>
  void Report(F f);
  void ReportWorkInProgress();
  void ReportOldest(int64_t ticks);
  // Looks at the settings, and logs those that have become wrong.
  void CheckSettingsAgain() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Duration UnreachableFor() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status UnreachableError() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status LogNoMemory();

  const Options options_;
  const std::shared_ptr<WaitingLoop> loop_;
  const Ticks ticks_;
  const std::vector<int64_t> retry_schedule_;
  ErrorLog errors_;
  LastingError outage_;
  const std::unique_ptr<SharedQueueMetrics> metrics_;  // may be null
  const std::unique_ptr<Engine> engine_;
  bool added_to_loop_ = false;

  sync::Atomic<bool> closed_{false};
  sync::Atomic<bool> shut_down_{false};
  sync::Atomic<bool> reachable_{true};
  // The error of the last request, and when the first request that failed was
  // sent, on the machine's clock.
  absl::Status error_ ABSL_GUARDED_BY(mu_);
  absl::Time unreachable_since_ ABSL_GUARDED_BY(mu_);
  absl::Time failed_at_ ABSL_GUARDED_BY(mu_);  // when the last one failed
  // When the request was sent that is on its way, on the machine's clock.
  absl::Time awaits_answer_since_ ABSL_GUARDED_BY(mu_) = absl::InfiniteFuture();
  // As it was seen last, which was at that time, or that it cannot be seen. The
  // number counts what cannot be seen.
  std::string settings_problem_ ABSL_GUARDED_BY(mu_);
  size_t num_wrong_settings_ ABSL_GUARDED_BY(mu_) = 0;
  absl::Time settings_seen_at_ ABSL_GUARDED_BY(mu_) = absl::InfinitePast();
  // Since when the engine's memory is full, as far as it is known.
  std::optional<absl::Time> full_since_ ABSL_GUARDED_BY(mu_);
  // When the queue was made, and when it was seen that it has been made anew.
  int64_t born_ ABSL_GUARDED_BY(mu_) = 0;
  std::optional<absl::Time> data_lost_at_ ABSL_GUARDED_BY(mu_);

  mutable sync::Mutex mu_;

  // Calls to be sent, in their order, and whether a thread sends.
  std::deque<Call*> calls_ ABSL_GUARDED_BY(mu_);
  bool sending_ ABSL_GUARDED_BY(mu_) = false;
  size_t company_ ABSL_GUARDED_BY(mu_) = 0;     // the calls to wait for, or 0
  const std::unique_ptr<Parker> company_came_;  // of the thread that sends
  absl::Duration round_trip_ ABSL_GUARDED_BY(mu_);  // of the last request
  uint64_t request_ ABSL_GUARDED_BY(mu_) = 0;  // the number of the latest one
  // The clients whose last requests were given up, and may come late.
  std::vector<std::string> late_clients_ ABSL_GUARDED_BY(mu_);

  // Whether the process listens, as which client, and what it has noticed.
  bool listening_ ABSL_GUARDED_BY(mu_) = false;
  std::string client_ ABSL_GUARDED_BY(mu_);
  uint64_t received_ ABSL_GUARDED_BY(mu_) = 0;

  // The contents of the last reply.
  uint64_t pushed_ ABSL_GUARDED_BY(mu_) = 0;
  uint64_t pushes_ ABSL_GUARDED_BY(mu_) = 0;
  int64_t engine_now_ ABSL_GUARDED_BY(mu_) = 0;  // its time, which was
  absl::Time not_before_ ABSL_GUARDED_BY(mu_);   // not before this one
  EngineCounts counts_ ABSL_GUARDED_BY(mu_);
  bool drained_ ABSL_GUARDED_BY(mu_) = false;
  int64_t shut_downs_ ABSL_GUARDED_BY(mu_) = 0;
  uint64_t ended_as_of_ ABSL_GUARDED_BY(mu_) = 0;  // a request; see Ended()

  // The items that this process holds, by id, and those of them that no worker
  // has taken yet. (A hash table would keep the memory of a peak.)
  absl::btree_map<uint64_t, std::unique_ptr<HeldItem>> held_
      ABSL_GUARDED_BY(mu_);
  uint64_t last_id_ ABSL_GUARDED_BY(mu_) = 0;
  std::deque<HeldItem*> in_hand_ ABSL_GUARDED_BY(mu_);
  // Those in hand, and those that a lease leases, by their `item`. What is held
  // back until such a holder ends is in the holder, and serves no waiter.
  absl::btree_map<absl::string_view, HeldItem*> holders_ ABSL_GUARDED_BY(mu_);
  size_t held_back_ ABSL_GUARDED_BY(mu_) = 0;
  // Those that a Get() has returned.
  absl::btree_multimap<std::string, HeldItem*> gotten_ ABSL_GUARDED_BY(mu_);

  // Ends of leases that go with the next request.
  std::vector<EngineOperation> ended_ ABSL_GUARDED_BY(mu_);
  // How many items may be in hand that nobody waits for.
  size_t ahead_ ABSL_GUARDED_BY(mu_) = 0;
  uint64_t taken_ ABSL_GUARDED_BY(mu_) = 0;  // items that workers took in hand
  // As of the last choice of `ahead_`, and when that was.
  uint64_t taken_before_ ABSL_GUARDED_BY(mu_) = 0;
  absl::Time chosen_at_ ABSL_GUARDED_BY(mu_);
  // When the loop looks at that, and what `taken_` was when that was said.
  absl::Time ahead_at_ ABSL_GUARDED_BY(mu_) = absl::InfiniteFuture();
  uint64_t taken_then_ ABSL_GUARDED_BY(mu_) = 0;

  std::optional<EngineOperation> set_limits_ ABSL_GUARDED_BY(mu_);

  // The ends that are to be sent, or on their way.
  size_t ending_ ABSL_GUARDED_BY(mu_) = 0;
  // The ends that the engine may not have heard, by item and token.
  absl::btree_map<std::pair<std::string, int64_t>, EngineOperation>
      unheard_ends_ ABSL_GUARDED_BY(mu_);

  Waiters waiters_ ABSL_GUARDED_BY(mu_);
  size_t woken_ ABSL_GUARDED_BY(mu_) = 0;  // of the waiters
  uint64_t last_waiter_ ABSL_GUARDED_BY(mu_) = 0;
  size_t taking_ ABSL_GUARDED_BY(mu_) = 0;       // items that calls are to take
  size_t unsubmitted_ ABSL_GUARDED_BY(mu_) = 0;  // waiters with a `submitter`
  // Callbacks that are submitted or to be submitted, and calls that block.
  size_t tasks_ ABSL_GUARDED_BY(mu_) = 0;
  // Of threads that wait for the end of a drain, or for the end of all leases.
  std::list<Parker*> sleepers_ ABSL_GUARDED_BY(mu_);
  bool drains_end_ ABSL_GUARDED_BY(mu_) = false;

  // When the loop is to renew the leases, to look for what is due, and to let
  // the engine look for items that its sets lack.
  absl::Time renew_at_ ABSL_GUARDED_BY(mu_) = absl::InfiniteFuture();
  uint64_t notices_ ABSL_GUARDED_BY(mu_) = 0;  // counts the calls of Notice()
  absl::Time look_at_ ABSL_GUARDED_BY(mu_) = absl::InfiniteFuture();
  absl::Time repair_at_ ABSL_GUARDED_BY(mu_) = absl::InfiniteFuture();
  // The loop makes no request before, except to renew leases, because the last
  // one has failed.
  absl::Time ask_at_ ABSL_GUARDED_BY(mu_) = absl::InfinitePast();
  WakeTime wake_time_ ABSL_GUARDED_BY(mu_);

  std::unique_ptr<Ticker> ticker_;  // null without metrics
};

}  // namespace workqueue::internal

#endif  // WORKQUEUE_SHARED_INTERNAL_SHARED_QUEUE_CORE_H_
