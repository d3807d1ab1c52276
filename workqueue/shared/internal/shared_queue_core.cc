// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/shared/internal/shared_queue_core.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <thread>  // NOLINT(build/c++11)
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "workqueue/base/exceptions.h"
#include "workqueue/base/mutex_lock.h"
#include "workqueue/base/trampoline.h"
#include "workqueue/clock/clock.h"
#include "workqueue/clock/parker.h"
#include "workqueue/executor.h"
#include "workqueue/interfaces.h"
#include "workqueue/internal/queue_metrics.h"
#include "workqueue/internal/submit_task.h"
#include "workqueue/internal/ticker.h"
#include "workqueue/redis/ticks.h"
#include "workqueue/shared/internal/byte_queue.h"
#include "workqueue/shared/internal/engine.h"
#include "workqueue/shared/internal/shared_queue_metrics.h"
#include "workqueue/timer/waiting_loop.h"

namespace workqueue::internal {
namespace {

// So many operations and items to take, and so many bytes, go in one request:
// the engine serves nobody else meanwhile, for some milliseconds.
constexpr size_t kMaxOperations = 125;
constexpr size_t kMaxBytes = size_t{1} << 18;

// How long the engine pushes items to this process without a request from it:
// it makes one for each `WaitingLoop::Heartbeat()`.
constexpr absl::Duration kPresence = absl::Seconds(30);

// How long the loop waits for the engine to tell its settings.
constexpr absl::Duration kLongestCheck = absl::Seconds(1);

// The longest time that a request waits for calls; see AwaitCompany().
constexpr absl::Duration kLongestWait = absl::Microseconds(500);

// So many waiters are woken at a time for items that were taken ahead; each
// wakes the next. A worker that is quick takes several in this time.
constexpr size_t kMaxWoken = 2;

// After this time, a client that hears nothing asks.
constexpr absl::Duration kBackSoon = absl::Milliseconds(1);

// The most clients that a request ends: the latest ones. The requests of older
// clients have been on their way for long.
constexpr size_t kMostLateClients = 25;

// Reports the results of `request`.
void ReportResults(const EngineRequest& request, const EngineReply& reply,
                   SharedQueueMetrics* metrics) {
  int64_t adds = reply.came_due;
  if (std::find(reply.results.begin(), reply.results.end(), kMemoryFull) !=
      reply.results.end()) {
    Increment(metrics->errors);
  }
  for (size_t i = 0; i < request.operations.size(); ++i) {
    switch (request.operations[i].code) {
      case EngineOperation::kAddAfter:
      case EngineOperation::kAddRateLimited:
      case EngineOperation::kRequeue:
        if (reply.results[i] > kFalse) Increment(metrics->retries);
        break;
      case EngineOperation::kFail:
        if (reply.results[i] > kFalse && reply.results[i] % 2 == 0) {
          Increment(metrics->retries);
        }
        continue;  // Twice the failures may look like a new item.
      case EngineOperation::kAdd:
      case EngineOperation::kReschedule:
      case EngineOperation::kUnpark:
        break;
      default:
        continue;
    }
    if (reply.results[i] == kNewItem) ++adds;
  }
  Increment(metrics->adds, adds);
  Increment(metrics->expired, reply.expired);
  metrics->SetNumbers(reply.num_queued + static_cast<size_t>(reply.dirty),
                      reply.num_waiting, reply.num_failing, reply.num_parked);
}

template <typename V>
void Append(std::vector<V> from, std::vector<V>* to) {
  to->insert(to->end(), std::make_move_iterator(from.begin()),
             std::make_move_iterator(from.end()));
}

std::string DropsAnItem() {
  return "has no memory for an item, whose lease will expire";
}

Clock* MachineClock() { return Clock::GetRealClock(); }

std::vector<int64_t> ToTicks(const Ticks& ticks,
                             const std::vector<absl::Duration>& durations) {
  std::vector<int64_t> result;
  for (absl::Duration d : durations) result.push_back(ticks.From(d));
  return result;
}

// Whether an operation ends a lease, and does nothing else.
bool IsEnd(EngineOperation::Code code) {
  return code == EngineOperation::kDone || code == EngineOperation::kGiveBack ||
         code == EngineOperation::kAbandon;
}

// Whether `a`, which is being processed, was handed out before `b`.
bool HasOlderLease(const EngineSnapshot::Item& a,
                   const EngineSnapshot::Item& b) {
  return a.number < b.number;
}

// Joins the clients of one name: a process that has connected again is a new
// client. Counts the items that each holds.
void CountHeld(EngineSnapshot* snapshot) {
  std::vector<EngineSnapshot::Client> all;
  all.swap(snapshot->clients);
  for (const EngineSnapshot::Client& it : all) AddClient(it, snapshot);
  for (const EngineSnapshot::Item& it : snapshot->processing) {
    EngineSnapshot::Client holder;
    holder.name = it.holder;
    holder.processing = 1;
    AddClient(holder, snapshot);
  }
}

}  // namespace

void AddClient(const EngineSnapshot::Client& client, EngineSnapshot* snapshot) {
  const auto same = std::find_if(
      snapshot->clients.begin(), snapshot->clients.end(),
      [&client](const auto& it) { return it.name == client.name; });
  if (same == snapshot->clients.end()) {
    snapshot->clients.push_back(client);
    return;
  }
  if (client.seen > same->seen) {
    same->seen = client.seen;
    same->version = client.version;
    same->waiting = client.waiting;
  }
  same->processing += client.processing;
}

void AddBound(EngineSnapshot::Bound bound, bool extends,
              EngineSnapshot* snapshot) {
  const auto same = std::find_if(
      snapshot->bounds.begin(), snapshot->bounds.end(), [&](const auto& it) {
        return it.retries == bound.retries && it.group == bound.group;
      });
  if (same == snapshot->bounds.end()) {
    snapshot->bounds.push_back(std::move(bound));
  } else if (extends) {
    same->max += bound.max;
    same->processing += bound.processing;
    same->queued += bound.queued;
    Append(std::move(bound.items), &same->items);
  }
}

SharedQueueCore::SharedQueueCore(Options options,
                                 std::unique_ptr<Engine> engine)
    : options_(std::move(options)),
      loop_(options_.loop),
      ticks_(options_.engine_uses_clock ? absl::Nanoseconds(1)
                                        : absl::Microseconds(1)),
      retry_schedule_(ToTicks(ticks_, options_.retry_schedule)),
      errors_("shared queue", options_.name, options_.log_sink, MachineClock()),
      outage_("shared queue", options_.name, options_.log_sink, MachineClock(),
              "does not reach the engine", "reaches the engine again"),
      metrics_(
          SharedQueueMetrics::Create(options_.name, options_.metrics_provider)),
      engine_(std::move(engine)),
      company_came_(MachineClock()->NewParker(Parker::Role::kCaller)) {
  MutexLock lock(&mu_);
  late_clients_.reserve(kMostLateClients + 1);
}

absl::StatusOr<std::string> SharedQueueCore::CheckSettings(
    absl::Time deadline) {
  absl::StatusOr<EngineSettings> settings = engine_->CheckSettings(deadline);
  MutexLock lock(&mu_);
  if (!settings.ok()) {
    Report([](SharedQueueMetrics* metrics) { Increment(metrics->errors); });
    // A setting that was right may be wrong by now.
    num_wrong_settings_ = (std::max)(num_wrong_settings_, size_t{1});
    settings_problem_ =
        absl::StrCat("the settings could not be seen since ",
                     absl::FormatTime(absl::RFC3339_sec, settings_seen_at_,
                                      absl::UTCTimeZone()),
                     ": ", settings.status().message());
    return settings.status();
  }
  settings_seen_at_ = MachineClock()->TimeNow();
  num_wrong_settings_ = settings->size();
  settings_problem_ = absl::StrJoin(*settings, "; ");
  return settings_problem_;
}

absl::Status SharedQueueCore::Start(absl::Time deadline) {
  deadline =
      std::min(deadline, MachineClock()->TimeNow() + options_.call_timeout);
  absl::Status status = engine_->Listen(this, deadline);
  if (!status.ok()) {
    MutexLock lock(&mu_);
    Report([](SharedQueueMetrics* metrics) { Increment(metrics->errors); });
    return status;
  }
  {
    // Sees the layout of the queue, and whether it has been shut down.
    MutexLock lock(&mu_);
    std::vector<EngineOperation> operations;
    if (options_.set_groups) operations.push_back(*options_.set_groups);
    if (metrics_ != nullptr) operations.push_back({EngineOperation::kOldest});
    Call call;
    call.deadline = deadline;
    call.operations = operations;
    Send(&call);
    if (!call.status.ok()) return call.status;
    if (options_.set_groups && call.results.front() == kFalse) {
      Report([](SharedQueueMetrics* metrics) { Increment(metrics->errors); });
      return absl::FailedPreconditionError(absl::StrCat(
          "fair is given, but items are queued in \"", options_.name,
          "\" that were added without groups; let the workers empty the queue "
          "first, or use another name"));
    }
    if (metrics_ != nullptr) ReportOldest(call.results.back());
    repair_at_ = clock()->TimeNow() + WaitingLoop::Heartbeat();
  }
  loop_->Add(this);
  added_to_loop_ = true;
  if (metrics_ != nullptr) {
    ticker_ =
        std::make_unique<Ticker>(loop_, [this] { ReportWorkInProgress(); });
  }
  return absl::OkStatus();
}

SharedQueueCore::~SharedQueueCore() {
  ticker_.reset();
  Close();
  if (added_to_loop_) loop_->Remove(this);
  Trampoline::RunDeferred();
  EndDrains();
  {
    MutexLock lock(&mu_);
    DieIfRunsHere(waiters_);
    mu_.Await(absl::Condition(this, &SharedQueueCore::NobodyWaits));
    size_t leases = 0;
    // Without memory for this, the leases expire.
    const absl::Status ended =
        CatchAsStatus([&]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
          AwaitLastPushes();
          leases = ended_.size() + unheard_ends_.size() + in_hand_.size();
          if (!added_to_loop_ || leases == 0) return absl::OkStatus();
          std::vector<EngineOperation> ends;
          ends.swap(ended_);
          for (const auto& it : unheard_ends_) ends.push_back(it.second);
          // Other processes get at once what no worker of this one has taken.
          // The last one goes first: each goes before those that are queued.
          for (auto it = in_hand_.rbegin(); it != in_hand_.rend(); ++it) {
            ends.push_back({EngineOperation::kGiveBack, (*it)->item,
                            (*it)->token, (*it)->priority});
          }
          ending_ = leases;
          return SendInPieces(std::move(ends)).status();
        });
    if (!ended.ok() && leases > 0) {
      errors_.Write(
          [leases] {
            return absl::StrCat("the engine may not know the end of ", leases,
                                " leases, which will expire");
          },
          ended);
    }
  }
  engine_->StopListening();
}

void SharedQueueCore::AwaitLastPushes() {
  if (!added_to_loop_ || !listening_ || Expected() == 0) return;
  Call call;
  Send(&call);
  if (!call.status.ok()) return;
  const auto none = [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    return !listening_ || Expected() == 0;
  };
  MachineClock()->AwaitWithDeadline(&mu_, absl::Condition(&none),
                                    MachineClock()->TimeNow() + CallTimeout());
}

template <typename F>
void SharedQueueCore::Report(F f) {
  if (metrics_ == nullptr) return;
  errors_.Try([] { return std::string("a metric fails"); },
              [&] { f(metrics_.get()); });
}

void SharedQueueCore::ReportWorkInProgress() {
  MutexLock lock(&mu_);
  absl::Duration total;
  absl::Duration longest;
  const absl::Time now = clock()->TimeNow();
  for (const auto& it : held_) {
    if (it.second->taken == absl::InfiniteFuture()) continue;
    const absl::Duration time = now - it.second->taken;
    total += time;
    longest = std::max(longest, time);
  }
  const absl::Duration unreachable = UnreachableFor();
  const size_t wrong_settings = num_wrong_settings_;
  Report([&](SharedQueueMetrics* metrics) {
    Set(metrics->unfinished_work_seconds, total);
    Set(metrics->longest_running_processor_seconds, longest);
    Set(metrics->unreachable_seconds, unreachable);
    Set(metrics->wrong_settings, wrong_settings);
  });
}

void SharedQueueCore::ReportOldest(int64_t ticks) {
  Report([age = ticks_.ToDuration(ticks)](SharedQueueMetrics* metrics) {
    Set(metrics->oldest_queued_seconds, age);
  });
}

std::optional<int64_t> SharedQueueCore::EngineTime() const {
  if (!options_.engine_uses_clock) return std::nullopt;
  return absl::ToUnixNanos(clock()->TimeNow());
}

void SharedQueueCore::NoteEnds(absl::Span<const EngineOperation> operations,
                               bool heard) {
  for (const EngineOperation& it : operations) {
    if (!IsEnd(it.code)) continue;
    --ending_;
    if (!heard) {
      errors_.Try(
          [] { return std::string("cannot repeat the end of a lease"); },
          [&]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
            unheard_ends_.try_emplace({it.item, it.x}, it);
          });
      Notice(clock()->TimeNow() + RetryAfter());
    } else if (!unheard_ends_.empty()) {
      // Without memory, it is repeated once more.
      TryCall([&]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
        unheard_ends_.erase({it.item, it.x});
      });
    }
  }
  if (NothingHeld()) WakeSleepers();
}

size_t SharedQueueCore::Wanted() const {
  return closed_ || waiters_.size() < in_hand_.size()
             ? 0
             : waiters_.size() - in_hand_.size();
}

size_t SharedQueueCore::Expected() const {
  return pushes_ < received_ ? 0 : pushes_ - received_;
}

bool SharedQueueCore::MustTell() const {
  return Surplus() > 0 || (closed_ && held_back_ > 0) ||
         (listening_ && (Wanted() > Expected() ||
                         (Wanted() < Expected() && pushes_ > pushed_)));
}

size_t SharedQueueCore::Unawaited() const {
  const size_t expected = (closed_ ? 0 : waiters_.size()) + taking_;
  return in_hand_.size() < expected ? 0 : in_hand_.size() - expected;
}

size_t SharedQueueCore::Surplus() const {
  const size_t kept = closed_ ? 0 : ahead_;
  return std::max(Unawaited(), kept) - kept;
}

size_t SharedQueueCore::ChooseAhead(absl::Time start) {
  const uint64_t taken = taken_ - taken_before_;
  if (options_.prefetch == 0 || closed_ || taken == 0) return 0;
  const absl::Duration time = start - chosen_at_;
  chosen_at_ = start;
  taken_before_ = taken_;
  const double most = static_cast<double>(options_.prefetch);
  double pace = most;
  if (time > absl::ZeroDuration()) {
    const absl::Duration window = std::max(AheadFor(), 2 * round_trip_);
    pace = static_cast<double>(taken) * absl::FDivDuration(window, time);
  }
  // The loop gives back what is in hand, not this.
  const size_t there = Unawaited();
  ahead_ = std::max(static_cast<size_t>(std::min(pace, most)), there);
  return ahead_ - there;
}

void SharedQueueCore::LookAfterAhead() {
  if (ahead_at_ != absl::InfiniteFuture() || (ended_.empty() && ahead_ == 0)) {
    return;
  }
  ahead_at_ = clock()->TimeNow() + AheadFor();
  taken_then_ = taken_;
  WakeLoop(ahead_at_);
}

bool SharedQueueCore::Ended(const Waiter& waiter) const {
  return closed_ || (waiter.first_request <= ended_as_of_ && held_back_ == 0);
}

absl::Status SharedQueueCore::EndedError() const {
  return MakeError(
      absl::StatusCode::kCancelled,
      closed_ ? "the queue has been closed" : "the queue has been shut down");
}

absl::StatusOr<std::vector<int64_t>> SharedQueueCore::SendInPieces(
    std::vector<EngineOperation> operations) {
  auto left = absl::MakeConstSpan(operations);
  const absl::Cleanup unsent = [&]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    NoteEnds(left, /*heard=*/false);
  };
  std::vector<int64_t> results;
  if (!TryCall([&] { results.reserve(operations.size()); })) {
    return LogNoMemory();
  }
  do {
    Call call;
    size_t n = 0;
    while (n < left.size() && n < kMaxOperations &&
           (n == 0 || call.bytes + left[n].item.size() + left[n].text.size() <=
                          kMaxBytes)) {
      call.bytes += left[n].item.size() + left[n].text.size();
      ++n;
    }
    call.operations = left.subspan(0, n);
    left.remove_prefix(n);
    Send(&call);
    NoteEnds(call.operations, call.status.ok());
    if (!call.status.ok()) return call.status;
    if (std::find(call.results.begin(), call.results.end(), kMemoryFull) !=
        call.results.end()) {
      return MakeError(absl::StatusCode::kResourceExhausted,
                       "the engine is full");
    }
    if (std::find(call.results.begin(), call.results.end(), kItemTooLong) !=
        call.results.end()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "an item, with its group, has more than ", engine_->MaxItemBytes(),
          " bytes, the most that this engine can keep"));
    }
    results.insert(results.end(), call.results.begin(), call.results.end());
  } while (!left.empty());
  return results;
}

absl::Duration SharedQueueCore::UnreachableFor() const {
  const absl::Time now = MachineClock()->TimeNow();
  if (!reachable_) return now - unreachable_since_;
  const absl::Duration time = now - awaits_answer_since_;
  return time < SlowAfter() ? absl::ZeroDuration() : time;
}

absl::Status SharedQueueCore::UnreachableError() const {
  const absl::Duration time = UnreachableFor();
  if (time == absl::ZeroDuration() && reachable_) return absl::OkStatus();
  if (reachable_) {
    return absl::UnavailableError(
        absl::StrCat(errors_.who(), " has had no answer of its engine for ",
                     InSeconds(time)));
  }
  return absl::Status(
      error_.code(),
      absl::StrCat(errors_.who(), " has not reached its engine for ",
                   InSeconds(time), ": ", error_.message()));
}

absl::Status SharedQueueCore::Reached() const {
  MutexLock lock(&mu_);
  return UnreachableError();
}

bool SharedQueueCore::EndsAreKnown() const {
  MutexLock lock(&mu_);
  return UnreachableError().ok() && unheard_ends_.empty();
}

absl::Status SharedQueueCore::Healthy() const {
  MutexLock lock(&mu_);
  absl::Status unreachable = UnreachableError();
  if (!unreachable.ok()) return unreachable;
  if (full_since_.has_value()) {
    return absl::ResourceExhaustedError(
        absl::StrCat(errors_.who(), ": the engine has been full for ",
                     InSeconds(clock()->TimeNow() - *full_since_),
                     ", so nothing can be added"));
  }
  if (options_.require_durable_server && !settings_problem_.empty()) {
    return absl::FailedPreconditionError(absl::StrCat(
        errors_.who(), ": the engine may lose items: ", settings_problem_));
  }
  return absl::OkStatus();
}

absl::Status SharedQueueCore::LogNoMemory() {
  absl::Status error = NoMemoryError();
  errors_.Write([] { return std::string("sends nothing"); }, error);
  return error;
}

absl::Duration SharedQueueCore::CallTimeout() const {
  if (!closed_) return options_.call_timeout;
  return std::min(options_.call_timeout,
                  reachable_ ? absl::Seconds(1) : absl::Milliseconds(100));
}

void SharedQueueCore::Send(Call* call) {
  const absl::Time now = MachineClock()->TimeNow();
  if (closed_ && !reachable_ && now < failed_at_ + RetryAfter()) {
    call->status = error_;
    return;
  }
  const absl::Duration most = CallTimeout();
  // Without the first request there is no queue.
  if (request_ > 0 && call->deadline < now + 0.9 * most) {
    SendAlone(call);
  } else {
    call->deadline = std::min(call->deadline, now + most);
    if (!TryCall(
            [&]() ABSL_NO_THREAD_SAFETY_ANALYSIS { calls_.push_back(call); })) {
      call->status = LogNoMemory();
      return;
    }
    if (calls_.size() == company_) company_came_->Unpark();
    while (!call->done) {
      if (!sending_) {
        SendTogether();
      } else {
        call->changed.Wait(&mu_);
      }
    }
  }
  if (!sending_ && !calls_.empty()) calls_.front()->changed.Signal();
}

void SharedQueueCore::SendAlone(Call* call) {
  const auto turn = [this]()
                        ABSL_NO_THREAD_SAFETY_ANALYSIS { return !sending_; };
  if (!MachineClock()->AwaitWithDeadline(&mu_, absl::Condition(&turn),
                                         call->deadline)) {
    call->status = MakeError(absl::StatusCode::kUnavailable,
                             "an earlier request waits for the engine");
  } else if (call->deadline < MachineClock()->TimeNow() + round_trip_) {
    // Without an answer in time, all calls would need a new connection.
    call->status = MakeError(absl::StatusCode::kUnavailable,
                             "the latest request took longer");
  } else if (TryCall([&]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
               calls_.push_front(call);
             })) {
    SendTogether(/*alone=*/true);
  } else {
    call->status = LogNoMemory();
  }
}

void SharedQueueCore::AwaitCompany() {
  if (calls_.size() < company_) {
    const absl::Time end =
        MachineClock()->TimeNow() + std::min(round_trip_ / 4, kLongestWait);
    while (calls_.size() < company_ && MachineClock()->TimeNow() < end) {
      const MutexUnlock unlock(&mu_);
      company_came_->ParkUntil(end);
    }
  }
  company_ = 0;
}

void SharedQueueCore::SendTogether(bool alone) {
  sending_ = true;
  if (!alone) AwaitCompany();
  std::vector<Call*> calls;
  EngineRequest request;
  size_t num_ended = 0;
  absl::Time deadline = absl::InfiniteFuture();
  // Takes all memory first, and changes nothing until it has it.
  const auto build = [&]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    request.operations.resize(ended_.size());  // are moved there
    for (const std::string& client : late_clients_) {
      if (client == client_) continue;  // The number of this request ends it.
      request.operations.push_back({EngineOperation::kEndClient, client});
    }
    num_ended = request.operations.size();
    request.client = client_;
    request.client_name = options_.client_name;
    request.retry_schedule = retry_schedule_;
    size_t bytes = 0;
    for (Call* const call : calls_) {
      bytes += call->bytes;
      if (!calls.empty() &&
          (alone || bytes > kMaxBytes ||
           call->deadline > deadline + 0.1 * options_.call_timeout ||
           request.operations.size() + call->operations.size() + request.take +
                   call->take >
               kMaxOperations)) {
        break;
      }
      calls.push_back(call);
      request.take += call->take;
      deadline = std::min(deadline, call->deadline);
      request.operations.insert(request.operations.end(),
                                call->operations.begin(),
                                call->operations.end());
      call->results.reserve(call->operations.size());
    }
  };
  if (!TryCall(build)) {
    sending_ = false;
    Call* const first = calls_.front();
    calls_.pop_front();
    first->status = LogNoMemory();
    first->done = true;
    first->changed.Signal();
    return;
  }
  calls_.erase(calls_.begin(),
               calls_.begin() + static_cast<ptrdiff_t>(calls.size()));
  std::move(ended_.begin(), ended_.end(), request.operations.begin());
  ended_.clear();
  request.number = ++request_;
  request.lease = ticks_.From(options_.lease);
  request.presence = ticks_.From(kPresence);
  request.looks_only = options_.looks_only;
  const absl::Time start = MachineClock()->TimeNow();
  // One that goes alone changes nothing that the engine knows.
  if (listening_) request.waiting_workers = alone ? Expected() : Wanted();
  if (!alone) {
    // Without pushes the process can only take what there is.
    if (!listening_) request.take += Wanted();
    request.take += ChooseAhead(start);
  }
  request.received = received_;
  request.now = EngineTime();
  const absl::Time sent_at = clock()->TimeNow();
  const uint64_t notices = notices_;
  absl::Duration round_trip;
  absl::StatusOr<EngineReply> reply = absl::UnknownError("");
  awaits_answer_since_ = start;
  {
    const MutexUnlock unlock(&mu_);
    if (!TryCall([&] { reply = engine_->Apply(request, deadline); })) {
      reply = MakeError(absl::StatusCode::kUnknown,
                        "the request has thrown an exception");
    }
    round_trip = MachineClock()->TimeNow() - start;
  }
  awaits_answer_since_ = absl::InfiniteFuture();
  sending_ = false;
  if (!alone) company_ = calls.size() + calls_.size();
  // It had less time than an answer may take. So it has asked for no items that
  // others wait for: they would be lost with the answer.
  const bool tells_nothing = alone && (absl::IsUnavailable(reply.status()) ||
                                       absl::IsUnknown(reply.status()));
  if (!tells_nothing) {
    round_trip_ = round_trip;
    if (reachable_.exchange(reply.ok()) && !reply.ok()) {
      unreachable_since_ = start;
    }
    error_ = reply.status();
  }
  Report([&](SharedQueueMetrics* metrics) {
    Observe(metrics->round_trip, clock()->TimeNow() - sent_at);
    if (!reply.ok() && !tells_nothing) Increment(metrics->errors);
  });
  size_t result = num_ended;
  for (Call* call : calls) {
    if (!reply.ok()) {
      call->status = reply.status();
    } else {
      const size_t n = call->operations.size();
      const auto first = reply->results.begin() + result;
      call->results.assign(first, first + n);
      result += n;
    }
    call->done = true;
    call->changed.Signal();
  }
  NoteEnds(absl::MakeConstSpan(request.operations).subspan(0, num_ended),
           reply.ok());
  if (reply.ok()) {
    late_clients_.clear();
    outage_.Over();
    ask_at_ = absl::InfinitePast();
    TakeIn(request, *std::move(reply), sent_at, notices);
  } else {
    if (absl::IsUnknown(reply.status()) &&
        (late_clients_.empty() || late_clients_.back() != request.client)) {
      late_clients_.push_back(std::move(request.client));
      if (late_clients_.size() > kMostLateClients) {
        late_clients_.erase(late_clients_.begin());
      }
    }
    if (tells_nothing) {
      WakeLoop(absl::InfinitePast());  // It waits for the reply.
      return;
    }
    outage_.Lasts(error_, start);
    failed_at_ = MachineClock()->TimeNow();
    ask_at_ = clock()->TimeNow() + RetryAfter();
    LookAt(ask_at_, notices);
  }
}

void SharedQueueCore::TakeIn(const EngineRequest& request, EngineReply reply,
                             absl::Time sent_at, uint64_t notices) {
  const bool pushes_come =
      listening_ && request.client == client_ && reply.pushed > received_;
  if (request.client == client_) {
    pushed_ = reply.pushed;
    pushes_ = reply.pushes;
  }
  engine_now_ = reply.now;
  not_before_ = sent_at;
  for (HandedOut& item : reply.items) TakeIn(std::move(item), sent_at);
  shut_down_ = reply.shut_down;
  counts_ = reply;
  TakeInState(reply);
  if (reply.expired > 0) {
    errors_.Write([&reply] {
      return absl::StrCat(reply.expired,
                          " leases have expired: their processes have ended, "
                          "or could not renew them; parked items: ",
                          reply.num_parked);
    });
  }
  Report([&](SharedQueueMetrics* metrics) {
    ReportResults(request, reply, metrics);
  });
  drained_ =
      reply.shut_down && reply.num_queued == 0 && reply.num_processing == 0;
  if (!reply.shut_down) {
    ended_as_of_ = 0;
  } else if (reply.num_queued == 0 && !pushes_come) {
    ended_as_of_ = std::max(ended_as_of_, request.number);
  }
  if (drained_) WakeSleepers();
  absl::Time next =
      sent_at + (listening_ || waiters_.empty() ? WaitingLoop::Heartbeat()
                                                : RetryAfter());
  if (reply.next_event >= 0) {
    next = std::min(next,
                    clock()->TimeNow() + ticks_.ToDuration(reply.next_event));
  }
  WakeWaiters();
  LookAfterAhead();
  // A callback that waits in vain since then must hear of it, too.
  const bool more_to_end =
      reply.shut_down && !waiters_.empty() &&
      waiters_.rbegin()->second.first_request > request.number;
  LookAt(MustTell() || more_to_end ? absl::InfinitePast() : next, notices);
}

void SharedQueueCore::TakeInState(const EngineReply& reply) {
  if (!reply.full) {
    full_since_.reset();
  } else if (!full_since_.has_value()) {
    full_since_ = clock()->TimeNow();
    errors_.Write(
        [] { return std::string("can add nothing"); },
        MakeError(absl::StatusCode::kResourceExhausted, "the engine is full"));
  }
  if (born_ != 0 && reply.born != 0 && reply.born != born_) {
    data_lost_at_ = clock()->TimeNow();
    errors_.Write([] { return std::string("has been emptied"); },
                  MakeError(absl::StatusCode::kDataLoss,
                            "the engine has lost all items"));
    Report(
        [](SharedQueueMetrics* metrics) { Increment(metrics->data_losses); });
  }
  born_ = reply.born;
}

void SharedQueueCore::TakeIn(HandedOut item, absl::Time since) {
  const uint64_t id = ++last_id_;
  errors_.Try(DropsAnItem, [&]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    auto owned = std::make_unique<HeldItem>(std::move(item), id);
    HeldItem* const held = owned.get();
    held->expiry = since + options_.lease;
    held_.try_emplace(id, std::move(owned));
    absl::Cleanup drop = [&]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
      held_.erase(id);
    };
    if (!AddHolder(held)) return;
    std::move(drop).Cancel();
    renew_at_ = std::min(renew_at_, since + options_.lease / 3);
    WakeLoop(renew_at_);
  });
}

bool SharedQueueCore::NobodyWaits() const {
  return waiters_.empty() && tasks_ == 0;
}

void SharedQueueCore::LookAt(absl::Time time, uint64_t notices) {
  // Something that came meanwhile may be later than the reply.
  look_at_ = notices == notices_ ? time : std::min(look_at_, time);
  WakeLoop(look_at_);
}

void SharedQueueCore::Notice(absl::Time look_at) {
  ++notices_;
  look_at_ = std::min(look_at_, look_at);
  WakeLoop(look_at_);
}

void SharedQueueCore::WakeLoop(absl::Time at) {
  if (wake_time_.WakeBy(at)) loop_->Wake(this);
}

bool SharedQueueCore::AddHolder(HeldItem* held) {
  const auto [found, is_first] = holders_.try_emplace(held->item, held);
  if (is_first) {
    absl::Cleanup undo = [this, it = found]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
      holders_.erase(it);
    };
    in_hand_.push_back(held);
    std::move(undo).Cancel();
    return true;
  }
  HeldItem* const holder = found->second;
  const HeldItem& last =
      holder->held_back == nullptr ? *holder : *holder->held_back;
  if (held->token <= last.token) return false;
  const auto in_hand = std::find(in_hand_.begin(), in_hand_.end(), holder);
  if (in_hand == in_hand_.end()) {
    NoteLost(holder);
    DropHeldBack(holder);
    holder->held_back = held;
    ++held_back_;
  } else {
    in_hand_.erase(in_hand);
    holders_.erase(found);
    Erase(holder);
    return AddHolder(held);
  }
  return true;
}

void SharedQueueCore::NoteLost(HeldItem* held) {
  if (held->ending || held->lost.exchange(true) ||
      held->taken == absl::InfiniteFuture()) {
    return;
  }
  errors_.Write([held] {
    return absl::StrCat(DescribeItem(held->item),
                        " is still being processed here, although its lease is "
                        "lost: another worker may have it");
  });
}

void SharedQueueCore::LetGo(HeldItem* held) {
  const auto found = holders_.find(held->item);
  if (found == holders_.end() || found->second != held) return;
  holders_.erase(found);
  HeldItem* const next = std::exchange(held->held_back, nullptr);
  if (next == nullptr) return;
  --held_back_;
  const auto take_in_hand = [&]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    const auto holder = holders_.emplace(next->item, next).first;
    absl::Cleanup undo = [&]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
      holders_.erase(holder);
    };
    in_hand_.push_front(next);
    std::move(undo).Cancel();
  };
  if (!errors_.Try(DropsAnItem, take_in_hand)) Erase(next);
  DropLostInHand();
  WaitersChanged();
}

void SharedQueueCore::DropHeldBack(HeldItem* holder) {
  if (holder->held_back == nullptr) return;
  --held_back_;
  Erase(std::exchange(holder->held_back, nullptr));
}

void SharedQueueCore::Erase(HeldItem* held) {
  held_.erase(held->id);
  if (NothingHeld()) WakeSleepers();
}

bool SharedQueueCore::NothingHeld() const {
  return held_.empty() && ending_ == 0 && unheard_ends_.empty();
}

void SharedQueueCore::DropLostInHand() {
  if (in_hand_.empty()) return;
  const absl::Time now = clock()->TimeNow();
  const auto lost = std::stable_partition(
      in_hand_.begin(), in_hand_.end(), [now](const HeldItem* held) {
        return !held->lost && now < held->expiry;
      });
  for (auto it = lost; it != in_hand_.end(); ++it) {
    holders_.erase((*it)->item);
    Erase(*it);
  }
  in_hand_.erase(lost, in_hand_.end());
}

size_t SharedQueueCore::CountInHand(size_t processing) {
  DropLostInHand();
  WaitersChanged();
  return std::min(in_hand_.size(), processing);
}

HeldItem* SharedQueueCore::TakeFirstInHand() {
  HeldItem* const held = in_hand_.front();
  in_hand_.pop_front();
  held->taken = clock()->TimeNow();
  ++taken_;
  Report([&](SharedQueueMetrics* metrics) {
    Observe(metrics->latency, ticks_.ToDuration(held->ticks_queued));
  });
  return held;
}

std::vector<HeldItem*> SharedQueueCore::TakeInHand(size_t max) {
  std::vector<HeldItem*> items;
  items.reserve(std::min(max, in_hand_.size()));
  while (items.size() < max && !in_hand_.empty()) {
    items.push_back(TakeFirstInHand());
  }
  return items;
}

void SharedQueueCore::WakeWaiters() {
  const bool ending = closed_ || ended_as_of_ != 0;
  const size_t max_woken =
      ahead_ > 0 ? std::min(in_hand_.size(), kMaxWoken) : in_hand_.size();
  for (auto& [_, waiter] : waiters_) {
    if (woken_ == waiters_.size() || (!ending && woken_ >= max_woken)) break;
    if (waiter.woken || (woken_ >= max_woken && !Ended(waiter))) continue;
    if (waiter.parker != nullptr) {
      waiter.parker->Unpark();
    } else {
      waiter.submitter = std::this_thread::get_id();
      ++unsubmitted_;
      ++tasks_;
    }
    waiter.woken = true;
    ++woken_;
  }
}

void SharedQueueCore::Sleep(Waiter* waiter) {
  if (waiter->woken) --woken_;
  waiter->woken = false;
}

auto SharedQueueCore::AddWaiter() -> Waiters::iterator {
  const auto it =
      waiters_.try_emplace(AcquireId::Numbered(++last_waiter_)).first;
  it->second.first_request = request_ + 1;
  return it;
}

auto SharedQueueCore::Remove(Waiters::iterator waiter) -> Waiters::node_type {
  Sleep(&waiter->second);
  if (waiter->second.submitter.has_value()) {
    --unsubmitted_;
    --tasks_;
  }
  return waiters_.extract(waiter);
}

void SharedQueueCore::WakeSleepers() {
  for (Parker* sleeper : sleepers_) sleeper->Unpark();
}

absl::StatusOr<std::vector<int64_t>> SharedQueueCore::Apply(
    std::vector<EngineOperation> operations) {
  const absl::Cleanup submit = [this] { Submit(); };
  MutexLock lock(&mu_);
  return SendInPieces(std::move(operations));
}

absl::StatusOr<std::vector<HeldItem*>> SharedQueueCore::Acquire(
    size_t max, absl::Duration timeout, std::vector<EngineOperation> ends,
    absl::Time call_deadline) {
  const auto task = BeginTask();
  const absl::Cleanup unsent = [&] {
    if (ends.empty()) return;
    MutexLock lock(&mu_);
    NoteEnds(ends, /*heard=*/false);
  };
  absl::StatusOr<std::vector<HeldItem*>> items = AcquirePiece(
      std::min(max, kMaxOperations), timeout, &ends, call_deadline);
  if (!items.ok() || items->size() == max) return items;
  {
    // What is added from now on is not for this call: it might never end.
    MutexLock lock(&mu_);
    max = items->size() + std::min(max - items->size(), counts_.num_queued);
  }
  while (items->size() < max) {
    Submit();
    const auto more = CatchAsStatus([&] {
      items->reserve(max);
      return AcquirePiece(std::min(max - items->size(), kMaxOperations),
                          absl::ZeroDuration(), &ends, absl::InfiniteFuture());
    });
    if (!more.ok()) break;
    items->insert(items->end(), more->begin(), more->end());
  }
  return items;
}

absl::StatusOr<std::vector<HeldItem*>> SharedQueueCore::AcquirePiece(
    size_t max, absl::Duration timeout, std::vector<EngineOperation>* ends,
    absl::Time call_deadline) {
  const bool blocks = timeout > absl::ZeroDuration();
  const absl::Time deadline =
      blocks ? clock()->TimeNow() + timeout : absl::InfinitePast();
  std::unique_ptr<Parker> parker =
      blocks ? clock()->NewParker(Parker::Role::kCaller) : nullptr;
  MutexLock lock(&mu_);
  if (ends->empty() && closed_) return EndedError();
  auto self = waiters_.end();
  const absl::Cleanup end = [&]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    if (self != waiters_.end()) Remove(self);
    WaitersChanged();
  };
  if (ends->empty() || (ahead_ > 0 && !closed_)) {
    DropLostInHand();
    if (!in_hand_.empty()) {
      ended_.insert(ended_.end(), std::make_move_iterator(ends->begin()),
                    std::make_move_iterator(ends->end()));
      ends->clear();
      // Perhaps the engine has pushed the items for others.
      return TakeInHand(max);
    }
  }
  if (blocks && !closed_) {
    self = AddWaiter();
    self->second.parker = parker.get();
  }
  Call call;
  call.deadline = call_deadline;
  call.operations = *ends;
  if (!closed_) call.take = self == waiters_.end() ? max : max - 1;
  taking_ += call.take;
  Send(&call);
  taking_ -= call.take;
  NoteEnds(call.operations, call.status.ok());
  ends->clear();
  // Until then this thread waits for an item although the request has failed.
  const absl::Time pause_end =
      std::min(deadline, clock()->TimeNow() + RetryAfter());

  absl::StatusOr<std::vector<HeldItem*>> result = std::vector<HeldItem*>();
  if (self == waiters_.end()) {
    // The loop gives back what is in the hand of a closed queue.
    if (!closed_) result = TakeInHand(max);
    if (result->empty()) {
      if (closed_ ||
          (call.status.ok() && ended_as_of_ != 0 && held_back_ == 0)) {
        result = EndedError();
      } else if (!call.status.ok()) {
        result = call.status;
      } else {
        result = absl::DeadlineExceededError("there is no item");
      }
    }
  } else {
    bool told = false;  // the engine, that this thread waits no more
    while (true) {
      DropLostInHand();
      if (!in_hand_.empty()) {
        // A batch leaves the others what is theirs.
        const size_t others = waiters_.size() - 1;
        const size_t left =
            in_hand_.size() > others ? in_hand_.size() - others : 1;
        result = TakeInHand(std::min(max, left));
        break;
      }
      if (Ended(self->second)) {
        result = EndedError();
        break;
      }
      const absl::Time until = call.status.ok() ? deadline : pause_end;
      if (clock()->TimeNow() >= until) {
        if (!call.status.ok()) {
          result = call.status;
          break;
        }
        if (told || Expected() == 0) {
          // In an outage nobody knows that.
          absl::Status unknown = UnreachableError();
          result =
              unknown.ok()
                  ? absl::DeadlineExceededError("there was no item in time")
                  : std::move(unknown);
          break;
        }
        // This thread takes an item that the engine has pushed meanwhile.
        told = true;
        Waiters::node_type removed = Remove(self);
        Call last;
        ++taking_;
        Send(&last);
        --taking_;
        self = waiters_.insert(std::move(removed)).position;
        call.status = absl::OkStatus();
        continue;
      }
      Sleep(&self->second);
      WaitersChanged();
      const MutexUnlock unlock(&mu_);
      Submit();
      parker->ParkUntil(until);
    }
  }
  return result;
}

AcquireId SharedQueueCore::AcquireAsync(Executor* executor, Callback callback) {
  const absl::Cleanup submit = [this] { Submit(); };
  MutexLock lock(&mu_);
  const auto it = AddWaiter();
  it->second.executor = executor;
  it->second.callback = std::move(callback);
  WakeWaiters();
  // The loop asks the engine: this thread must not block.
  if (shut_down_) look_at_ = absl::InfinitePast();
  if (shut_down_ || MustTell()) WakeLoop(absl::InfinitePast());
  return it->first;
}

bool SharedQueueCore::CancelAcquire(AcquireId id) {
  Waiters::node_type cancelled;  // destroyed without the lock
  {
    MutexLock lock(&mu_);
    const auto it = waiters_.find(id);
    if (it == waiters_.end()) return false;
    cancelled = Remove(it);
    WaitersChanged();
  }
  Submit();
  return true;
}

void SharedQueueCore::Submit(size_t ended_tasks) {
  MutexLock lock(&mu_);
  ++tasks_;  // This object stays until the end.
  auto it = waiters_.begin();
  while (unsubmitted_ > 0 && it != waiters_.end()) {
    Waiter& waiter = it->second;
    if (waiter.submitter != std::this_thread::get_id()) {
      ++it;
      continue;
    }
    waiter.submitter.reset();
    --unsubmitted_;
    const AcquireId id = it->first;
    {
      Executor* const executor = waiter.executor;
      const MutexUnlock unlock(&mu_);
      SubmitTask(executor, [this, id] { RunCallback(id); });
    }
    it = waiters_.upper_bound(id);
  }
  tasks_ -= ended_tasks + 1;
}

void SharedQueueCore::RunCallback(AcquireId id) {
  Waiters::node_type called;  // destroyed without the lock
  absl::StatusOr<HeldItem*> item = nullptr;
  {
    MutexLock lock(&mu_);
    DropLostInHand();
    const auto it = waiters_.find(id);
    const bool waits = it != waiters_.end();
    if (waits && (!in_hand_.empty() || Ended(it->second))) {
      called = Remove(it);
      if (in_hand_.empty()) {
        item = EndedError();
      } else {
        item = TakeFirstInHand();
      }
    } else if (waits) {
      // Another worker was faster. The callback keeps its place.
      Sleep(&it->second);
    }
    WaitersChanged();
  }
  Submit();
  const absl::Cleanup end = [this, &called] {
    called = {};
    MutexLock lock(&mu_);
    --tasks_;
  };
  if (!called.empty()) std::move(called.mapped().callback)(std::move(item));
}

void SharedQueueCore::WaitersChanged() {
  WakeWaiters();
  LookAfterAhead();
  if (MustTell()) WakeLoop(absl::InfinitePast());
}

EngineOperation SharedQueueCore::End(HeldItem* held,
                                     EngineOperation::Code code) {
  EngineOperation end{code, "", held->token, held->priority};
  {
    MutexLock lock(&mu_);
    Report([&](SharedQueueMetrics* metrics) {
      Observe(metrics->work_duration, clock()->TimeNow() - held->taken);
    });
    LetGo(held);
    end.item = std::move(held->item);
    if (IsEnd(code)) ++ending_;
    Erase(held);
  }
  Submit();
  return end;
}

void SharedQueueCore::NoteUnsent(const EngineOperation& end) {
  MutexLock lock(&mu_);
  NoteEnds({&end, 1}, /*heard=*/false);
}

void SharedQueueCore::Remember(std::string bytes, HeldItem* held) {
  {
    MutexLock lock(&mu_);
    gotten_.emplace(std::move(bytes), held);
    LetGo(held);
  }
  Submit();
}

HeldItem* SharedQueueCore::Recall(const std::string& item) {
  MutexLock lock(&mu_);
  const auto found = gotten_.lower_bound(item);
  if (found == gotten_.end() || found->first != item) return nullptr;
  HeldItem* const held = found->second;
  gotten_.erase(found);
  return held;
}

bool SharedQueueCore::Holds(const std::string& item) {
  MutexLock lock(&mu_);
  return std::any_of(held_.begin(), held_.end(), [&item](const auto& held) {
    return held.second->item == item;
  });
}

bool SharedQueueCore::IsLost(const HeldItem& held) {
  if (held.lost) return true;
  MutexLock lock(&mu_);
  return clock()->TimeNow() >= held.expiry;
}

void SharedQueueCore::SetLimits(const EngineOperation& limits) {
  MutexLock lock(&mu_);
  set_limits_ = EngineOperation(limits);
  repair_at_ = absl::InfinitePast();
  Notice(absl::InfinitePast());
}

void SharedQueueCore::AddHere(const SnapshotOptions<std::string>& options,
                              EngineSnapshot* snapshot) {
  const absl::Time now = clock()->TimeNow();
  for (const auto& it : held_) {
    const HeldItem& held = *it.second;
    if (held.taken == absl::InfiniteFuture()) continue;
    ++snapshot->num_processing_here;
    if (options.only != nullptr && *options.only != held.item) continue;
    if (held.lost || now >= held.expiry) {
      snapshot->lost_here.push_back(
          {held.item, held.taken, held.held_back != nullptr});
    } else if (options.here_only) {
      EngineSnapshot::Item& item = snapshot->processing.emplace_back();
      item.item = held.item;
      item.failures = held.failures;
      item.number = held.token;
      item.time = snapshot->now - ticks_.From(now - held.taken);
      item.holder = options_.client_name;
      item.expiry = snapshot->now + ticks_.From(held.expiry - now);
    }
  }
}

absl::StatusOr<EngineSnapshot> SharedQueueCore::TakeSnapshotWith(
    const ByteSnapshotOptions& options) {
  if (options.here_only) {
    EngineSnapshot snapshot;
    MutexLock lock(&mu_);
    AddHere(options, &snapshot);
    auto& processing = snapshot.processing;
    snapshot.num_processing = processing.size();
    std::sort(processing.begin(), processing.end(), HasOlderLease);
    if (options.only == nullptr && processing.size() > options.max) {
      processing.erase(processing.begin() + static_cast<ptrdiff_t>(options.max),
                       processing.end());
    }
    return snapshot;
  }
  EngineSnapshotRequest request;
  request.max = options.max;
  request.details = options.details;
  request.failures_only = options.failures_only && options.only == nullptr;
  if (options.only != nullptr) request.item = *options.only;
  const absl::Time until = MachineClock()->TimeNow() + options.timeout;
  request.now = EngineTime();
  absl::StatusOr<EngineSnapshot> snapshot = EngineSnapshot();
  auto& processing = snapshot->processing;
  const bool only_counts =
      options.max == 0 && options.only == nullptr && !options.failures_only;
  for (bool is_first = !only_counts; is_first || !request.from.empty();
       is_first = false) {
    absl::StatusOr<EngineSnapshot> part = engine_->TakeSnapshot(
        request, std::min(until, MachineClock()->TimeNow() + CallTimeout()));
    if (!part.ok()) return part;
    request.from = std::move(part->go_on);
    if (is_first) {
      snapshot = std::move(part);
    } else {
      Append(std::move(part->queued), &snapshot->queued);
      Append(std::move(part->processing), &processing);
      Append(std::move(part->waiting), &snapshot->waiting);
      Append(std::move(part->failing), &snapshot->failing);
      Append(std::move(part->parked), &snapshot->parked);
      for (EngineSnapshot::Bound& bound : part->bounds) {
        AddBound(std::move(bound), /*extends=*/false, &*snapshot);
      }
    }
  }
  // A lease that was renewed between two parts is in both.
  std::sort(processing.begin(), processing.end(), HasOlderLease);
  processing.erase(std::unique(processing.begin(), processing.end(),
                               [](const auto& a, const auto& b) {
                                 return a.number == b.number;
                               }),
                   processing.end());
  // An item that no worker has taken is queued still, before all others.
  std::vector<EngineSnapshot::Item> in_hand;
  size_t num_in_hand;
  Call call;
  call.deadline = until;
  {
    MutexLock lock(&mu_);
    if (only_counts) {
      Send(&call);
      static_cast<EngineCounts&>(*snapshot) = counts_;
      snapshot->now = engine_now_;
    }
    const size_t most_in_hand = CountInHand(snapshot->num_processing);
    for (const HeldItem* held : in_hand_) {
      const auto found = std::lower_bound(
          processing.begin(), processing.end(), held->token,
          [](const auto& it, int64_t token) { return it.number < token; });
      if (found == processing.end() || found->number != held->token) continue;
      in_hand.push_back({found->item, found->failures, found->last_error,
                         held->priority, found->time - held->ticks_queued});
      found->time = kForever;  // to be erased
    }
    // Only a snapshot of all items tells which of these are there.
    num_in_hand =
        request.item || request.max == 0 ? most_in_hand : in_hand.size();
    AddHere(options, &*snapshot);
    if (only_counts) snapshot->lost_here.clear();
    snapshot->settings_problem = settings_problem_;
    snapshot->data_lost_at = data_lost_at_;
  }
  Submit();
  if (!call.status.ok()) return call.status;
  processing.erase(
      std::remove_if(processing.begin(), processing.end(),
                     [](const auto& it) { return it.time == kForever; }),
      processing.end());
  if (options.details) CountHeld(&*snapshot);
  // The numbers are those of the first part.
  snapshot->num_queued += num_in_hand;
  snapshot->num_processing -= std::min(num_in_hand, snapshot->num_processing);
  Append(std::move(snapshot->queued), &in_hand);
  snapshot->queued = std::move(in_hand);
  snapshot->num_queued =
      std::max(snapshot->num_queued, snapshot->queued.size());
  snapshot->num_processing =
      std::max(snapshot->num_processing, processing.size());
  snapshot->num_waiting =
      std::max(snapshot->num_waiting, snapshot->waiting.size());
  if (options.only == nullptr) {
    for (auto* list :
         {&snapshot->queued, &snapshot->processing, &snapshot->waiting}) {
      if (list->size() > options.max) list->resize(options.max);
    }
  }
  return snapshot;
}

absl::Status SharedQueueCore::ShutDown() {
  const auto results =
      Apply({{EngineOperation::kShutDown, "", EngineOperation::kAtOnce}});
  if (!results.ok()) return results.status();
  MutexLock lock(&mu_);
  TakeInShutDown(results->front());
  return absl::OkStatus();
}

void SharedQueueCore::TakeInShutDown(int64_t count) {
  shut_downs_ = std::max(shut_downs_, count);
  WakeSleepers();
}

absl::StatusOr<bool> SharedQueueCore::ShutDownWithDrain(
    absl::Duration timeout) {
  const auto task = BeginTask();
  const absl::Time deadline = clock()->TimeNow() + timeout;
  const absl::StatusOr<int64_t> before = BeginDrain();
  if (!before.ok()) return before.status();
  return AwaitDrained({this}, {*before}, deadline);
}

absl::StatusOr<int64_t> SharedQueueCore::BeginDrain() {
  const auto results =
      Apply({{EngineOperation::kShutDown, "", EngineOperation::kDrain}});
  if (!results.ok()) return results.status();
  return results->front();
}

bool SharedQueueCore::AwaitDrained(absl::Span<SharedQueueCore* const> parts,
                                   absl::Span<const int64_t> shut_downs_before,
                                   absl::Time deadline) {
  Clock* const clock = parts.front()->clock();
  const auto parker = clock->NewParker(Parker::Role::kCaller);
  const absl::Cleanup end = [&] {
    for (SharedQueueCore* part : parts) {
      MutexLock lock(&part->mu_);
      part->sleepers_.remove(parker.get());
    }
  };
  for (SharedQueueCore* part : parts) {
    MutexLock lock(&part->mu_);
    part->sleepers_.push_back(parker.get());
  }
  bool drained = false;
  bool ended = false;
  while (true) {
    drained = true;
    for (size_t p = 0; p < parts.size(); ++p) {
      SharedQueueCore* const part = parts[p];
      MutexLock lock(&part->mu_);
      drained &= part->drained_;
      ended |= part->drains_end_ || part->shut_downs_ > shut_downs_before[p];
    }
    if (drained || ended || clock->TimeNow() >= deadline) break;
    parker->ParkUntil(deadline);
  }
  return drained;
}

absl::Status SharedQueueCore::Reopen() {
  // What waited when the queue was shut down is removed in parts, first.
  while (true) {
    const auto results = Apply({{EngineOperation::kReopen}});
    if (!results.ok()) return results.status();
    if (results->front() != kNotYet) return absl::OkStatus();
  }
}

void SharedQueueCore::Close() {
  {
    MutexLock lock(&mu_);
    closed_ = true;
    WaitersChanged();
  }
  Submit();
}

void SharedQueueCore::EndDrains() {
  MutexLock lock(&mu_);
  drains_end_ = true;
  WakeSleepers();
}

bool SharedQueueCore::AwaitNothingHeld(absl::Duration timeout) {
  const auto task = BeginTask();
  const absl::Time deadline = clock()->TimeNow() + timeout;
  const auto parker = clock()->NewParker(Parker::Role::kCaller);
  MutexLock lock(&mu_);
  sleepers_.push_back(parker.get());
  while (!NothingHeld() && !drains_end_ && clock()->TimeNow() < deadline) {
    const MutexUnlock unlock(&mu_);
    parker->ParkUntil(deadline);
  }
  sleepers_.remove(parker.get());
  return NothingHeld();
}

void SharedQueueCore::OnListening(const std::string& client) {
  MutexLock lock(&mu_);
  client_ = client;
  received_ = 0;
  pushed_ = 0;
  pushes_ = 0;
  listening_ = true;
  ask_at_ = absl::InfinitePast();
  Notice(absl::InfinitePast());
}

void SharedQueueCore::OnDisconnected(const absl::Status& why) {
  bool was_listening;
  {
    MutexLock lock(&mu_);
    was_listening = listening_;
    listening_ = false;
    // An engine that is back at once needs one look, and not two.
    Notice(clock()->TimeNow() + kBackSoon);
  }
  if (was_listening && !closed_) {
    errors_.Write(
        [] { return std::string("receives nothing from the engine"); }, why);
  }
}

void SharedQueueCore::OnPush(HandedOut item, int64_t now) {
  {
    MutexLock lock(&mu_);
    ++received_;
    // The push may have come long ago: while this process was suspended.
    const absl::Time sent_at =
        not_before_ + ticks_.ToDuration(now - engine_now_);
    TakeIn(std::move(item), std::min(sent_at, clock()->TimeNow()));
    WaitersChanged();
    // The other waiters may end now.
    if (shut_down_) Notice(absl::InfinitePast());
  }
  Submit();
}

void SharedQueueCore::OnDue(int64_t ticks) {
  MutexLock lock(&mu_);
  Notice(clock()->TimeNow() + ticks_.ToDuration(ticks));
}

void SharedQueueCore::OnShutDown(int64_t count) {
  MutexLock lock(&mu_);
  shut_down_ = true;
  TakeInShutDown(count);
  Notice(absl::InfinitePast());
}

void SharedQueueCore::OnChanged() {
  MutexLock lock(&mu_);
  Notice(absl::InfinitePast());
}

void SharedQueueCore::CheckSettingsAgain() {
  const std::string before = settings_problem_;
  {
    const MutexUnlock unlock(&mu_);
    Submit();
    CheckSettings(MachineClock()->TimeNow() + kLongestCheck).IgnoreError();
  }
  if (settings_problem_.empty() || settings_problem_ == before) return;
  errors_.Write([] { return std::string("may lose items from now on"); },
                absl::FailedPreconditionError(settings_problem_));
}

absl::Time SharedQueueCore::Run(absl::Time now) {
  absl::Time next;
  {
    MutexLock lock(&mu_);
    wake_time_.Clear();
    if (now < std::min(ask_at_, renew_at_)) {
      next = std::min(ask_at_, renew_at_);
      wake_time_.Set(next);
      return next;
    }
    next = now + RetryAfter();
    errors_.Try([] { return std::string("cannot do what is due yet"); },
                [&]() ABSL_NO_THREAD_SAFETY_ANALYSIS { next = RunOnce(now); });
    wake_time_.Set(next);
  }
  Submit();
  return next;
}

absl::Time SharedQueueCore::RunOnce(absl::Time now) {
  // Takes all memory first, and changes nothing until it has it.
  std::vector<EngineOperation> operations;
  std::vector<uint64_t> renewed;  // the ids of the first operations
  const bool renews = now >= renew_at_;
  if (renews) {
    for (const auto& it : held_) {
      if (it.second->lost) continue;
      operations.push_back(
          {EngineOperation::kRenew, it.second->item, it.second->token});
      renewed.push_back(it.first);
    }
  }
  const bool repairs = now >= repair_at_;
  size_t oldest_at = 0, groups_at = 0, repair_at = 0;
  if (repairs) {
    oldest_at = operations.size();
    if (metrics_ != nullptr) {
      operations.push_back({EngineOperation::kOldest});
    }
    // Somebody may have deleted the queue's keys.
    groups_at = operations.size();
    if (options_.set_groups) operations.push_back(*options_.set_groups);
    if (set_limits_) operations.push_back(*set_limits_);
    repair_at = operations.size();
    operations.push_back({EngineOperation::kRepair});
  }
  for (const auto& it : unheard_ends_) operations.push_back(it.second);
  operations.reserve(operations.size() + in_hand_.size() + held_back_);

  ending_ += unheard_ends_.size();
  if (renews) {
    renew_at_ =
        held_.empty() ? absl::InfiniteFuture() : now + options_.lease / 3;
  }
  if (repairs) repair_at_ = now + WaitingLoop::Heartbeat();
  const auto give_back = [&](HeldItem* held) ABSL_NO_THREAD_SAFETY_ANALYSIS {
    operations.push_back({EngineOperation::kGiveBack, std::move(held->item),
                          held->token, held->priority});
    ++ending_;
    Erase(held);
  };
  bool ends_are_due = false;
  if (now >= ahead_at_) {
    ahead_at_ = absl::InfiniteFuture();
    ends_are_due = !ended_.empty();
    if (taken_ == taken_then_) ahead_ = 0;
  }
  if (closed_ && held_back_ > 0) {
    held_back_ = 0;
    for (const auto& it : holders_) {
      HeldItem* const held = std::exchange(it.second->held_back, nullptr);
      if (held != nullptr) give_back(held);
    }
  }
  for (size_t n = Surplus(); n > 0; --n) {
    HeldItem* const held = in_hand_.back();
    in_hand_.pop_back();
    holders_.erase(held->item);
    give_back(held);
  }
  absl::Status status;
  // The reply to a request that is on its way says when to look.
  if (!operations.empty() || ends_are_due ||
      (!sending_ && (now >= look_at_ || MustTell()))) {
    look_at_ = now + WaitingLoop::Heartbeat();
    const auto results = SendInPieces(std::move(operations));
    status = results.status();
    for (size_t i = 0; i < renewed.size() && results.ok(); ++i) {
      const auto held = held_.find(renewed[i]);
      if (held == held_.end()) continue;
      if ((*results)[i] == kTrue) {
        held->second->expiry = now + options_.lease;
      } else {
        NoteLost(held->second.get());
        const auto holder = holders_.find(held->second->item);
        if (holder != holders_.end() &&
            holder->second->held_back == held->second.get()) {
          DropHeldBack(holder->second);
          WakeWaiters();
        }
      }
    }
    if (repairs && results.ok()) {
      if (metrics_ != nullptr) ReportOldest((*results)[oldest_at]);
      if (options_.set_groups && (*results)[groups_at] == kFalse) {
        errors_.Write(
            [] { return std::string("cannot give the queue groups"); },
            MakeError(absl::StatusCode::kFailedPrecondition,
                      "items are queued that were added without groups"));
      }
      const int64_t repaired = (*results)[repair_at];
      if (repaired > 0) {
        errors_.Write([repaired] {
          return absl::StrCat("has put ", repaired,
                              " items back where they were missing from the "
                              "queue's keys: somebody has deleted a key");
        });
      }
      CheckSettingsAgain();
    }
  }
  if (!status.ok()) {
    if (!renewed.empty()) renew_at_ = std::min(renew_at_, now + RetryAfter());
    return now + RetryAfter();
  }
  LookAfterAhead();
  const absl::Time next = std::min({renew_at_, repair_at_, ahead_at_});
  if (sending_) return next;
  return MustTell() ? now : std::min(next, look_at_);
}

}  // namespace workqueue::internal
