// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_TRACING_TRACING_QUEUE_H_
#define WORKQUEUE_TRACING_TRACING_QUEUE_H_

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/config.h"
#include "absl/container/flat_hash_set.h"
#include "absl/container/inlined_vector.h"
#include "absl/memory/memory.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "workqueue/base/exceptions.h"
#include "workqueue/base/gate.h"
#include "workqueue/clock/clock.h"
#include "workqueue/controller/async_reconcile.h"
#include "workqueue/controller/reconcile.h"
#include "workqueue/executor.h"
#include "workqueue/failures.h"
#include "workqueue/interfaces.h"
#include "workqueue/internal/forwarding_queue.h"
#include "workqueue/lease.h"
#include "workqueue/lease_batch.h"
#include "workqueue/log_sink.h"
#include "workqueue/simulation/sync.h"
#include "workqueue/tracing/internal/trace_book.h"
#include "workqueue/tracing/queue_tracer.h"
#include "workqueue/tracing/trace_context.h"
#include "workqueue/tracing/trace_scope.h"

namespace workqueue {
namespace internal {

// Calls `f()` and returns its result. If it throws, calls
// `on_throw(absl::Status)` with the exception as `CatchAsStatus()` returns it,
// and lets the exception through. `on_throw` must not throw. Also compiles
// without exceptions.
template <typename F, typename G>
auto RethrowAfter(F f, [[maybe_unused]] G on_throw) -> decltype(f()) {
#ifdef ABSL_HAVE_EXCEPTIONS
  try {
    return f();
  } catch (...) {
    on_throw(CatchAsStatus([] { throw; }));
    throw;
  }
#else
  return f();
#endif
}

}  // namespace internal

// TracingQueueOptions
//
// Options of a `TracingQueue`. Only `queue` must be set.
template <typename T>
struct TracingQueueOptions {
  // The name of the queue in messages.
  std::string name;

  // The queue that keeps the items.
  std::unique_ptr<RateLimitingInterface<T>> queue;

  // The queue tells each of these what happens to the items, in order. If
  // several of them make a context, that of the first one travels. Without a
  // tracer, the current contexts of the adding threads travel (see
  // `TraceScope`).
  std::vector<std::shared_ptr<QueueTracer<T>>> tracers;

  // The maximum number of contexts of an item. If an item is added more often
  // before it is handed out, the first contexts travel, and the others are
  // counted. At least 1.
  size_t max_contexts = 8;

  // The maximum number of items whose contexts are kept. At least 1. The
  // contexts of a further item replace those of the item whose last change is
  // longest ago. An item takes a few hundred bytes beside itself.
  size_t max_items = 100'000;

  // Receives the errors of the tracers; null means that nobody does. At most
  // ten messages at once, and then two per second. Not owned; must outlive the
  // queue.
  LogSink* log_sink = nullptr;
};

// TracingQueue
//
// A queue on another queue, which carries a trace context with each item: from
// the code that adds the item to the worker that processes it, and from a
// failed attempt to the next one. It tells `QueueTracer`s what happens. For
// example, `OpenTelemetryTracer` makes spans of it.
//
// Example, a controller:
//
//     workqueue::TracingQueueOptions<std::string> tracing;
//     tracing.queue =
//         std::make_unique<workqueue::PriorityQueue<std::string>>();
//     tracing.tracers = {tracer};
//     auto queue =
//         workqueue::TracingQueue<std::string>::Create(std::move(tracing));
//     if (!queue.ok()) return queue.status();
//     options.reconcile = (*queue)->Traced(Deploy);
//     options.queue = *std::move(queue);
//
// Example, the loop of a worker:
//
//     workqueue::Lease<std::string> lease;
//     while (queue.AcquireNext(&lease).ok()) {
//       auto attempt = queue.BeginAttempt(*lease);
//       absl::Status status = Deploy(*lease);
//       attempt.End(status);
//       if (status.ok()) {
//         queue.Forget(*lease);
//       } else {
//         queue.AddRateLimited(*lease);
//       }
//     }
//
// How contexts travel:
//
//   * An add brings the context that the tracers make for it. Several adds of
//     an item before it is handed out bring several contexts. The hand-out
//     takes all of them. The context of an item that is added while it is being
//     processed waits for the next hand-out. If an item is added and handed out
//     at the same time, this hand-out may take the context already.
//   * If the queue below does not take an item, or throws, the context of the
//     add is forgotten. If it does not take all items of an `AddAll()` or an
//     `AddWithOptions()`, the contexts of all of them are.
//   * `CancelDelayed()`, if it returns true, forgets the contexts of all adds
//     with a delay that have not been handed out.
//   * An attempt takes the contexts of the last hand-out. If no attempt begins,
//     they are kept until `Done()`, until the next hand-out, or until other
//     items replace them.
//   * `Lease::GiveBack()` does not bring the contexts back.
//
// Contexts are kept in the memory of this process. If the queue below is a
// `SharedQueue`, the contexts of an add do not reach a worker in another
// process: there the item has none.
//
// The queue has priorities (`AsPriorityQueue()` is not null) if the queue below
// has them, and shared failures if that one has them: their `Fail()`,
// `Requeue()` and `Unpark()` are told as the adds that they make. (A
// `Requeue()` that succeeds is one even if the lease was lost.) Each function
// does what the function of the queue below does. In addition, it calls the
// tracers, without a lock, and takes a lock of its own for a short time. An
// add, a `Get()` and an attempt copy the item. `AcquireAsync()` also allocates
// memory for the callback. Errors of the tracers and of the memory lose
// contexts, but no items.
//
// `T`, `Hash` and `Eq` are those of the queue below.
//
// Thread-safe.
template <typename T, typename Hash = typename absl::flat_hash_set<T>::hasher,
          typename Eq = typename absl::flat_hash_set<T>::key_equal>
class TracingQueue final : public internal::ForwardingRateLimitingQueue<T> {
 public:
  class Attempt;

  // Returns `absl::InvalidArgumentError`, which names the field and its value,
  // if an option is null or out of its range.
  static absl::StatusOr<std::unique_ptr<TracingQueue>> Create(
      TracingQueueOptions<T> options) {
    if (options.queue == nullptr) {
      return absl::InvalidArgumentError(
          "queue is null; a tracing queue needs one");
    }
    for (size_t i = 0; i < options.tracers.size(); ++i) {
      if (options.tracers[i] != nullptr) continue;
      return absl::InvalidArgumentError(
          absl::StrCat("tracers[", i, "] is null"));
    }
    if (options.max_contexts == 0) {
      return absl::InvalidArgumentError(
          "max_contexts is 0; it must be at least 1");
    }
    if (options.max_items == 0) {
      return absl::InvalidArgumentError(
          "max_items is 0; it must be at least 1");
    }
    Clock* const clock = options.queue->clock();
    return absl::WrapUnique(new TracingQueue(std::move(options), clock));
  }

  ~TracingQueue() override { book_->gate.Close(); }

  // Returns a function that calls `f` in a traced attempt: for
  // `ControllerOptions::reconcile`. The attempt is the current one of the
  // thread meanwhile (see `TraceScope` and `ReconcileSpan::Enter()`). The items
  // must come from this queue, which must outlive the calls. Returns an empty
  // function if `f` is empty.
  ReconcileFunction<T> Traced(ReconcileFunction<T> f) {
    if (!f) return f;
    return [book = book_, f = std::move(f)](const T& item,
                                            const ReconcileContext& context)
               -> absl::StatusOr<ReconcileResult> {
      ReconcileInfo info;
      info.controller_name = context.controller_name;
      info.priority = context.priority;
      info.failures = context.failures;
      Attempt attempt(book.get(), item, info);
      absl::StatusOr<ReconcileResult> result = internal::RethrowAfter(
          [&] { return f(item, context); },
          [&](const absl::Status& status) {
            attempt.EndWith(OutcomeOf(status, /*threw=*/true));
          });
      attempt.End(result);
      return result;
    };
  }

  // Does the same for `ControllerOptions::reconcile_async`, and so for the
  // result of `CoroutineReconcile()`. The attempt is the current one of the
  // thread while `f` runs: until a coroutine is suspended for the first time.
  // The attempt ends with the reconciliation. If that happens after this queue
  // has been destroyed, nobody is told.
  AsyncReconcileFunction<T> TracedAsync(AsyncReconcileFunction<T> f) {
    if (f == nullptr) return f;
    return [book = book_, f = std::move(f)](
               const T& item, const AsyncReconcileContext& context,
               ReconcileCompletion done) {
      ReconcileInfo info;
      info.controller_name = context.controller_name();
      info.priority = context.priority();
      info.failures = context.failures();
      // `done` keeps the item.
      const auto flight = std::make_shared<Flight>(book.get(), item, info);
      const auto end = [book, flight](ReconcileOutcome outcome) {
        const internal::Gate::Pass pass(&book->gate);
        if (pass) flight->attempt.End(std::move(outcome));
      };
      ReconcileCompletion traced = MakeCompletion(
          [end, flight, done](absl::StatusOr<ReconcileResult> result) {
            // The controller itself handles an exception.
            if (flight->threw) return false;
            end(OutcomeOf(result));
            // The controller adds the item again, or begins with another one.
            const TraceScope outside(TraceContext{});
            return done(std::move(result));
          });
      internal::RethrowAfter(
          [&] {
            const typename Book::Attempt::Entered entered(&flight->attempt);
            f(item, context, traced);
          },
          [&](const absl::Status& status) {
            flight->threw = true;
            end(OutcomeOf(status, /*threw=*/true));
          });
    };
  }

  // Begins a traced attempt to process `item`, which a get has returned, and
  // makes it the current one of this thread. For workers without a controller.
  // `item` is not copied: like this queue, it must outlive the attempt.
  Attempt BeginAttempt(const T& item, int priority = 0) {
    ReconcileInfo info;
    info.priority = priority;
    const absl::StatusOr<int> failures = this->CountFailures(item);
    info.failures =
        failures.ok() ? std::make_optional(*failures) : std::nullopt;
    return Attempt(book_.get(), item, info);
  }

  Attempt BeginAttempt(const T&& item, int priority = 0) = delete;

  absl::Status AddItems(const AddOptions& options,
                        absl::Span<const T> items) override {
    Adding adding(book_.get(), InfoOf(options), items);
    absl::Status status = this->below().AddItems(options, items);
    adding.End(status);
    return status;
  }

  absl::StatusOr<bool> CancelWait(const T& item) override {
    const absl::StatusOr<bool> cancelled = this->below().CancelWait(item);
    if (cancelled.ok() && *cancelled) book_->CancelDelayed(item);
    return cancelled;
  }
  SharedFailures<T>* AsSharedFailures() override {
    return failures_.has_value() ? &*failures_ : nullptr;
  }

  absl::Status GetItem(absl::Duration timeout,
                       ItemReceiver<T> receive) override {
    std::optional<T> copy;  // The tracers are called without the lock.
    absl::Status status = this->below().GetItem(
        timeout, [&copy, receive](const T& item, int priority) {
          copy.emplace(item);
          receive(item, priority);
        });
    if (status.ok()) book_->HandOut(*copy);
    return status;
  }

  absl::Status AcquireInto(Lease<T>* lease, absl::Duration timeout) override {
    absl::Status status = this->below().AcquireInto(lease, timeout);
    if (status.ok()) book_->HandOut(**lease);
    return status;
  }
  absl::StatusOr<LeaseBatch<T>> AcquireUpToWithTimeout(
      size_t max, absl::Duration timeout) override {
    absl::StatusOr<LeaseBatch<T>> batch =
        this->below().AcquireUpToWithTimeout(max, timeout);
    if (!batch.ok()) return batch;
    for (const Lease<T>& lease : *batch) book_->HandOut(*lease);
    return batch;
  }
  AcquireId AcquireNextAsync(Lease<T>* lease, Executor* executor,
                             AcquireCallback<T> callback) override {
    internal::DieIfNoCallback(executor, callback != nullptr);
    return this->below().AcquireNextAsync(
        lease, executor,
        [book = book_, callback = std::move(callback)](
            absl::StatusOr<Lease<T>> acquired) mutable {
          if (acquired.ok()) book->HandOut(**acquired);
          std::move(callback)(std::move(acquired));
        });
  }

  absl::StatusOr<bool> EndProcessing(const T& item) override {
    // Before another worker can get the item.
    book_->Done(item);
    return this->below().EndProcessing(item);
  }

 private:
  using Base = internal::ForwardingRateLimitingQueue<T>;
  using Book = internal::TraceBook<T, Hash, Eq>;

  // An asynchronous attempt.
  struct Flight {
    Flight(Book* book, const T& item, const ReconcileInfo& info)
        : attempt(book, item, info) {}

    typename Book::Attempt attempt;
    sync::Atomic<bool> threw{false};
  };

  // Tells the tracers of adds, and of what `End()` says of them. An exception
  // without an `End()` refuses them.
  class Adding {
   public:
    Adding(Book* book, const AddInfo& info, absl::Span<const T> items)
        : book_(*book), items_(items) {
      adds_.reserve(items.size());
      for (const T& item : items) {
        adds_.push_back({info, {}});
        adds_.back().added = book_.Add(item, &adds_.back().info);
      }
    }
    Adding(Book* book, const AddInfo& info, const T& item)
        : Adding(book, info, absl::MakeConstSpan(std::addressof(item), 1)) {}
    ~Adding() {
      if (!failure_.has_value()) return;
      for (size_t i = 0; i < items_.size(); ++i) {
        book_.Refuse(items_[i], adds_[i].added, adds_[i].info, *failure_);
      }
    }

    Adding(const Adding&) = delete;
    Adding& operator=(const Adding&) = delete;

    void End(std::optional<AddFailure> failure) { failure_ = failure; }
    void End(const absl::Status& status) {
      // A queue that is shut down has taken none of the items.
      const bool none = items_.size() == 1 || absl::IsCancelled(status);
      if (status.ok()) {
        End(std::nullopt);
      } else if (absl::IsUnknown(status) || !none) {
        End(AddFailure::kUnknown);
      }
    }

   private:
    struct Add {
      AddInfo info;
      typename Book::Added added;
    };

    Book& book_;
    const absl::Span<const T> items_;
    absl::InlinedVector<Add, 1> adds_;
    std::optional<AddFailure> failure_ = AddFailure::kNotTaken;
  };

  class TracedFailures;

  TracingQueue(TracingQueueOptions<T> options, Clock* clock)
      : Base(std::move(options.queue)),
        book_(std::make_shared<Book>(options.name, std::move(options.tracers),
                                     options.max_contexts, options.max_items,
                                     clock, options.log_sink)) {
    SharedFailures<T>* const failures = this->below().AsSharedFailures();
    if (failures != nullptr) failures_.emplace(book_.get(), failures);
  }

  static AddInfo InfoOf(const AddOptions& options) {
    const auto delay_of = [](std::optional<absl::Duration> delay) {
      return (std::max)(delay.value_or(absl::ZeroDuration()),
                        absl::ZeroDuration());
    };
    AddInfo info;
    info.kind = options.rate_limited        ? AddKind::kRetry
                : options.reschedule        ? AddKind::kReschedule
                : options.after.has_value() ? AddKind::kAddAfter
                                            : AddKind::kAdd;
    info.delay = delay_of(options.after);
    if (options.rate_limited && *info.delay == absl::ZeroDuration()) {
      info.delay = std::nullopt;  // The rate limiter's is not known.
      if (options.retry_after.has_value()) {
        info.delay = delay_of(options.retry_after);
      }
    }
    info.priority = options.priority;
    return info;
  }

  static ReconcileOutcome OutcomeOf(
      const absl::StatusOr<ReconcileResult>& result) {
    ReconcileOutcome outcome = OutcomeOf(result.status());
    if (!result.ok()) return outcome;
    outcome.requeue_after = result->requeue_after;
    outcome.not_now = result->not_now;
    return outcome;
  }
  static ReconcileOutcome OutcomeOf(const absl::Status& status,
                                    bool threw = false) {
    ReconcileOutcome outcome;
    outcome.status = status;
    outcome.threw = threw;
    outcome.terminal = IsTerminalError(status);
    return outcome;
  }

  const std::shared_ptr<Book> book_;
  std::optional<TracedFailures> failures_;  // if those below are shared
};

// TracingQueue::TracedFailures
//
// The failures of the queue below. Tells the tracers what adds an item, but for
// `UnparkAll()`, which does not know the items.
template <typename T, typename Hash, typename Eq>
class TracingQueue<T, Hash, Eq>::TracedFailures final
    : public SharedFailures<T> {
 public:
  // Nothing is owned.
  TracedFailures(Book* book, SharedFailures<T>* below)
      : book_(*book), below_(*below) {}

  absl::StatusOr<FailureOutcome> Fail(
      Lease<T>* lease, const absl::Status& error,
      const FailureLedgerOptions& limits,
      std::optional<absl::Duration> retry_after) override {
    if (!*lease) return below_.Fail(lease, error, limits, retry_after);
    AddOptions retry = AddOptions::RateLimited();
    retry.retry_after = retry_after;
    retry.priority = lease->priority();
    const T item = **lease;  // The lease ends.
    Adding adding(&book_, InfoOf(retry), item);
    absl::StatusOr<FailureOutcome> outcome =
        below_.Fail(lease, error, limits, retry_after);
    adding.End(outcome.status());
    if (outcome.ok() && outcome->lost) adding.End(AddFailure::kNotTaken);
    if (outcome.ok() && outcome->parked) adding.End(AddFailure::kParked);
    return outcome;
  }
  absl::Status Requeue(Lease<T>* lease, const AddOptions& options) override {
    if (!*lease) return below_.Requeue(lease, options);
    AddOptions after = options;
    after.after = options.after.value_or(absl::ZeroDuration());
    const T item = **lease;
    Adding adding(&book_, InfoOf(after), item);
    absl::Status status = below_.Requeue(lease, options);
    adding.End(status);
    return status;
  }
  absl::StatusOr<bool> Unpark(const T& item) override {
    Adding adding(&book_, AddInfo(), item);
    const absl::StatusOr<bool> unparked = below_.Unpark(item);
    adding.End(unparked.status());
    if (unparked.ok() && !*unparked) adding.End(AddFailure::kNotTaken);
    return unparked;
  }
  absl::StatusOr<size_t> UnparkAll() override { return below_.UnparkAll(); }
  absl::Status SetLimits(const FailureLedgerOptions& limits) override {
    return below_.SetLimits(limits);
  }
  int FailuresBefore(const Lease<T>& lease) const override {
    return below_.FailuresBefore(lease);
  }
  bool EndsAreKnown() const override { return below_.EndsAreKnown(); }
  absl::StatusOr<std::vector<FailedItem<T>>> Failing(
      size_t max) const override {
    return below_.Failing(max);
  }
  absl::StatusOr<std::vector<FailedItem<T>>> Parked(size_t max) const override {
    return below_.Parked(max);
  }
  absl::StatusOr<FailedItem<T>> Find(const T& item) const override {
    return below_.Find(item);
  }
  absl::StatusOr<FailureNumbers> Numbers() const override {
    return below_.Numbers();
  }

 private:
  Book& book_;
  SharedFailures<T>& below_;
};

// TracingQueue::Attempt
//
// An attempt to process an item, by a worker without a controller. It is the
// current one of the thread that began it until it ends. The same thread must
// end it, before the processing of the item ends. Attempts of a thread end in
// the opposite order of their begins.
template <typename T, typename Hash, typename Eq>
class TracingQueue<T, Hash, Eq>::Attempt {
 public:
  // Ends the attempt with an `absl::AbortedError`, unless it has ended.
  ~Attempt() { End(absl::Status(absl::StatusCode::kAborted, "")); }

  Attempt(const Attempt&) = delete;
  Attempt& operator=(const Attempt&) = delete;

  // The context of the attempt. May be invalid.
  const TraceContext& context() const { return attempt_.context(); }

  // Ends the attempt. Does nothing if it has ended. After an error, a call of
  // `AddRateLimited()` links to this attempt.
  void End(const absl::Status& status) { EndWith(OutcomeOf(status)); }
  void End(const absl::StatusOr<ReconcileResult>& result) {
    EndWith(OutcomeOf(result));
  }

 private:
  friend class TracingQueue;

  Attempt(Book* book, const T& item, const ReconcileInfo& info)
      : attempt_(book, item, info), entered_(std::in_place, &attempt_) {}

  void EndWith(ReconcileOutcome outcome) {
    entered_.reset();
    attempt_.End(std::move(outcome));
  }

  typename Book::Attempt attempt_;
  std::optional<typename Book::Attempt::Entered> entered_;  // until the end
};

// Instantiated in tracing_queue.cc.
extern template class TracingQueue<std::string>;

}  // namespace workqueue

#endif  // WORKQUEUE_TRACING_TRACING_QUEUE_H_
