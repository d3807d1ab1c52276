// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_CONTROLLER_INTERNAL_ASYNC_WORKERS_H_
#define WORKQUEUE_CONTROLLER_INTERNAL_ASYNC_WORKERS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "workqueue/base/exceptions.h"
#include "workqueue/base/gate.h"
#include "workqueue/base/intrusive_list.h"
#include "workqueue/base/mutex_lock.h"
#include "workqueue/controller/async_reconcile.h"
#include "workqueue/controller/internal/reconciliation.h"
#include "workqueue/controller/reconcile.h"
#include "workqueue/executor.h"
#include "workqueue/interfaces.h"
#include "workqueue/internal/submit_task.h"
#include "workqueue/lease.h"
#include "workqueue/timer/scheduler.h"

namespace workqueue::internal {

// AsyncClient
//
// The part of a controller that its asynchronous workers call.
template <typename T>
class AsyncClient {
 public:
  // Returns whether to reconcile an item that has been acquired. Does not
  // throw.
  virtual bool ShouldProcess(const T& item) = 0;

  // Return whether no reconciliation may begin now, whether the term of one
  // that has begun in `term` is over, and whether the controller stops.
  virtual bool StandsBy() const = 0;
  virtual bool HasLostTerm(int64_t term) const = 0;
  virtual bool Stops() const = 0;

  // Returns what the reconcile function is told of an item.
  virtual Reconciliation::Info InfoOf(const Lease<T>& lease) = 0;

  // Records that the reconciliation of an item begins. Does not throw.
  virtual void OnBegin(const Lease<T>& lease) = 0;

  // Records the end, and handles the result.
  virtual AfterReconcile OnEnd(
      const Lease<T>& lease, const Reconciliation::Info& info, bool threw,
      const absl::StatusOr<ReconcileResult>& result) = 0;

  // Does to the item of `*lease` what `after` says. Returns whether that is
  // over; `*lease` may have ended then.
  virtual bool TryEnd(Lease<T>* lease, const AfterReconcile& after) = 0;
  // Waits for a moment and tries again, until it is over. Blocks.
  virtual void RetryEnd(Lease<T>* lease, const AfterReconcile& after) = 0;

  // Logs an error of the queue.
  virtual void LogQueueError(absl::string_view what,
                             const absl::Status& why) = 0;
  // Block until it is time for a retry, or until `abandoning` is notified or,
  // at the end of an item, the controller stops.
  virtual void AwaitRetry() = 0;
  virtual void AwaitRetryOfEnd() = 0;
  // Called when an item is done, and when all workers have ended.
  virtual void OnItemDone() = 0;
  virtual void OnWorkersEnded() = 0;

 protected:
  ~AsyncClient() = default;
};

// AsyncWorkers
//
// Reconciles the items of a queue with an asynchronous function. At most
// `max_in_flight` reconciliations are in flight. While there are fewer, one
// callback waits for the next item.
//
// The calls of a queue on an engine may block for as long as the engine does
// not answer. So they, and the waits for a retry, are tasks of `engine_calls`.
// The executor and the threads of completions, which may be event loops, only
// hand over to it.
//
// Completions may outlive this object, and are called on any thread. They use
// it only inside of a gate, which `Close()` closes.
//
// Thread-safe.
template <typename T>
class AsyncWorkers {
 public:
  // Nothing is owned; everything must outlive the object. `engine_calls` is
  // null if the queue is in memory. `deadlines` may be null if the
  // reconciliations have no deadline.
  AsyncWorkers(Interface<T>* queue, Executor* executor, Executor* engine_calls,
               Scheduler* deadlines, size_t max_in_flight,
               const absl::Notification& abandoning,
               AsyncReconcileFunction<T> reconcile, AsyncClient<T>* client)
      : queue_(queue),
        executor_(executor),
        engine_calls_(engine_calls),
        deadlines_(deadlines),
        max_in_flight_(max_in_flight),
        abandoning_(abandoning),
        reconcile_(std::move(reconcile)),
        client_(*client),
        shared_(std::make_shared<Shared>()) {
    shared_->workers = this;
  }

  AsyncWorkers(const AsyncWorkers&) = delete;
  AsyncWorkers& operator=(const AsyncWorkers&) = delete;

  // Begins to acquire items. Called once.
  void Start() {
    {
      MutexLock lock(&mu_);
      acquiring_ = true;
    }
    Acquire(Lease<T>());
  }

  // Looks again whether to stand by. Called when `StandsBy()` or `Stops()` may
  // have changed.
  void GoOn();

  // Cancels the reconciliations in flight. `abandoning` has been notified.
  void CancelAll();

  // Blocks until no item is being acquired and no result is being handled, also
  // by `engine_calls`, which ask the engine as long as a call may take. Then
  // gives the items in flight back to the queue. The queue must have been
  // closed, and `CancelAll()` been called.
  void Close();

  // Returns whether the calling thread runs the reconcile function.
  bool RunsThisThread() const { return running() == this; }

 private:
  struct Shared {
    Gate gate;
    AsyncWorkers* workers;
  };

  class Flight final : public Reconciliation,
                       public IntrusiveLink<Flight>,
                       public std::enable_shared_from_this<Flight> {
   public:
    Flight(std::shared_ptr<Shared> shared, Info info, const T& the_item)
        : Reconciliation(std::move(info)),
          item(the_item),
          shared_(std::move(shared)) {}

    const T item;  // The user's code may use it after the lease has ended.
    Lease<T> lease;
    TaskId deadline;
    bool threw = false;
    AfterReconcile after;                // once complete
    std::shared_ptr<Flight> next_retry;  // in retries_
    bool cancelled = false;              // is in cancelled_; guarded by mu_
    std::shared_ptr<Flight> self;        // while in flight; guarded by mu_

   private:
    bool LeaseLost() const override {
      return lease.lost() ||
             shared_->workers->client_.HasLostTerm(this->info().term);
    }

    bool OnComplete(absl::StatusOr<ReconcileResult> result) override {
      const Gate::Pass pass(&shared_->gate);
      if (pass) shared_->workers->End(this->shared_from_this(), result);
      return static_cast<bool>(pass);
    }

    void OnCompletedTwice() override {
      const Gate::Pass pass(&shared_->gate);
      if (!pass) return;
      shared_->workers->client_.LogQueueError(
          "completing a reconciliation",
          absl::Status(absl::StatusCode::kFailedPrecondition,
                       "it has been completed before"));
    }

    const std::shared_ptr<Shared> shared_;
  };

  using Flights = IntrusiveList<Flight>;

  // The object whose reconcile function the calling thread runs, or null.
  static const AsyncWorkers*& running() {
    thread_local const AsyncWorkers* workers = nullptr;
    return workers;
  }

  // Ends `lease`, if it leases an item, and waits for the next item. The caller
  // has set acquiring_.
  void Acquire(Lease<T> lease);
  // Logs `error`, and acquires later.
  void RetryAcquire(const absl::Status& error);
  void OnAcquired(absl::StatusOr<Lease<T>> lease);

  // Acquires no item until `GoOn()`.
  void StandBy();

  // No further item is acquired.
  void StopAcquiring();

  // Calls the reconcile function.
  void Begin(const std::shared_ptr<Flight>& flight);
  // Returns the executor whose threads call the queue.
  Executor* caller() const {
    return engine_calls_ != nullptr ? engine_calls_ : executor_;
  }

  void End(const std::shared_ptr<Flight>& flight,
           const absl::StatusOr<ReconcileResult>& result);
  // Tasks of `engine_calls`: end the item of `flight`, and try all items again
  // that the engine did not let end. One task at most waits for that.
  void CallEnd(const std::shared_ptr<Flight>& flight);
  void RetryEnds();

  // The item of `flight` has been added again, if necessary.
  void EndLease(const std::shared_ptr<Flight>& flight);

  // Calls `on_end` if all is over.
  void EndIfOver();

  Interface<T>* const queue_;
  Executor* const executor_;
  Executor* const engine_calls_;
  Scheduler* const deadlines_;
  const size_t max_in_flight_;
  const absl::Notification& abandoning_;
  const AsyncReconcileFunction<T> reconcile_;
  AsyncClient<T>& client_;
  const std::shared_ptr<Shared> shared_;

  absl::Mutex mu_;
  // The reconciliations in flight, and those that have been cancelled.
  Flights in_flight_ ABSL_GUARDED_BY(mu_);
  Flights cancelled_ ABSL_GUARDED_BY(mu_);
  bool acquiring_ ABSL_GUARDED_BY(mu_) = false;  // also while standing by
  bool standing_by_ ABSL_GUARDED_BY(mu_) = false;
  bool stopped_acquiring_ ABSL_GUARDED_BY(mu_) = false;
  bool ended_ ABSL_GUARDED_BY(mu_) = false;
  absl::CondVar not_acquiring_;
  // The number of flights that `engine_calls` have to end, and those of them
  // that must be tried again.
  size_t ending_ ABSL_GUARDED_BY(mu_) = 0;
  std::shared_ptr<Flight> retries_ ABSL_GUARDED_BY(mu_);
  absl::CondVar none_ending_;
};

// Implementation details follow.

template <typename T>
void AsyncWorkers<T>::Acquire(Lease<T> lease) {
  const absl::Status status = CatchAsStatus([this, &lease] {
    queue_->AcquireNextAsync(
        &lease, caller(),
        [shared = shared_](absl::StatusOr<Lease<T>> acquired) {
          // Open, because Close() waits until nothing is being acquired.
          const Gate::Pass pass(&shared->gate);
          shared->workers->OnAcquired(std::move(acquired));
        });
  });
  if (status.ok()) return;
  lease.Done();
  RetryAcquire(status);
}

template <typename T>
void AsyncWorkers<T>::RetryAcquire(const absl::Status& error) {
  client_.LogQueueError("acquiring an item", error);
  const auto retry = [shared = shared_] {
    const Gate::Pass pass(&shared->gate);  // Open, as in Acquire().
    AsyncWorkers* const self = shared->workers;
    self->client_.AwaitRetry();
    if (self->abandoning_.HasBeenNotified()) {
      self->StopAcquiring();
    } else {
      self->Acquire(Lease<T>());
    }
  };
  SubmitTask(caller(), retry);  // Only such a thread may block.
}

template <typename T>
void AsyncWorkers<T>::OnAcquired(absl::StatusOr<Lease<T>> lease) {
  if (absl::IsCancelled(lease.status())) {
    StopAcquiring();
    return;
  }
  if (lease.ok() && client_.StandsBy()) {
    lease->GiveBack();
    client_.Stops() ? StopAcquiring() : StandBy();
    return;
  }
  if (lease.ok() && !abandoning_.HasBeenNotified() &&
      !client_.ShouldProcess(**lease)) {
    Acquire(*std::move(lease));
    client_.OnItemDone();
    return;
  }
  std::shared_ptr<Flight> flight;
  absl::Status status = lease.status();
  if (lease.ok() && !abandoning_.HasBeenNotified()) {
    status = CatchAsStatus([&] {
      flight =
          std::make_shared<Flight>(shared_, client_.InfoOf(*lease), **lease);
    });
  }
  if (flight == nullptr) {
    if (lease.ok()) lease->GiveBack();
    if (abandoning_.HasBeenNotified()) {
      StopAcquiring();
    } else {
      RetryAcquire(status);
    }
    return;
  }
  client_.OnBegin(*lease);
  flight->lease = *std::move(lease);
  bool acquire = false;
  {
    MutexLock lock(&mu_);
    flight->self = flight;
    in_flight_.PushBack(flight.get());
    acquire = in_flight_.size() + cancelled_.size() < max_in_flight_;
    acquiring_ = acquire;
    if (!acquire) not_acquiring_.SignalAll();
  }
  // Before the reconcile function is called, which may take a while.
  if (acquire) Acquire(Lease<T>());
  if (engine_calls_ == nullptr) {
    Begin(flight);
    return;
  }
  SubmitTask(executor_, [shared = shared_, flight] {
    const Gate::Pass pass(&shared->gate);
    if (pass) shared->workers->Begin(flight);
  });
}

template <typename T>
void AsyncWorkers<T>::Begin(const std::shared_ptr<Flight>& flight) {
  const absl::Duration remaining = flight->Remaining();
  if (deadlines_ != nullptr) {
    // Without memory for a task, the function must observe its deadline.
    TryCall([&] {
      auto task =
          deadlines_->ScheduleOnce([flight] { flight->Cancel(); }, remaining);
      if (task.ok()) flight->deadline = *task;
    });
  }
  if (abandoning_.HasBeenNotified()) flight->Cancel();  // after CancelAll()
  // If the function throws, its argument is no dropped completion.
  const ReconcileCompletion held(flight);
  const AsyncWorkers* const outer = std::exchange(running(), this);
  const absl::Status status = CatchAsStatus([this, &flight] {
    reconcile_(flight->item, AsyncReconcileContext(flight),
               ReconcileCompletion(flight));
  });
  running() = outer;
  if (status.ok()) return;
  flight->threw = true;
  flight->Complete(status);
}

template <typename T>
void AsyncWorkers<T>::End(const std::shared_ptr<Flight>& flight,
                          const absl::StatusOr<ReconcileResult>& result) {
  if (deadlines_ != nullptr) deadlines_->Cancel(flight->deadline);
  flight->after =
      client_.OnEnd(flight->lease, flight->info(), flight->threw, result);
  if (engine_calls_ != nullptr) {
    {
      MutexLock lock(&mu_);
      ++ending_;
    }
    SubmitTask(engine_calls_, [this, flight] { CallEnd(flight); });
    return;
  }
  if (client_.TryEnd(&flight->lease, flight->after)) {
    EndLease(flight);
    return;
  }
  // The queue does not take the item. Only a thread of the executor may block.
  const auto retry = [flight, shared = shared_] {
    const Gate::Pass pass(&shared->gate);
    if (!pass) return;
    shared->workers->client_.RetryEnd(&flight->lease, flight->after);
    shared->workers->EndLease(flight);
  };
  SubmitTask(executor_, retry);
}

template <typename T>
void AsyncWorkers<T>::CallEnd(const std::shared_ptr<Flight>& flight) {
  if (client_.TryEnd(&flight->lease, flight->after)) {
    EndLease(flight);
    MutexLock lock(&mu_);
    if (--ending_ == 0) none_ending_.SignalAll();
    return;
  }
  {
    MutexLock lock(&mu_);
    flight->next_retry = std::move(retries_);
    retries_ = flight;
    if (flight->next_retry != nullptr) return;
  }
  SubmitTask(engine_calls_, [this] { RetryEnds(); });
}

template <typename T>
void AsyncWorkers<T>::RetryEnds() {
  client_.AwaitRetryOfEnd();
  std::shared_ptr<Flight> flight;
  {
    MutexLock lock(&mu_);
    flight = std::move(retries_);
  }
  // When the last one has been submitted, Close() may return.
  while (flight != nullptr) {
    std::shared_ptr<Flight> next = std::move(flight->next_retry);
    SubmitTask(engine_calls_, [this, flight] { CallEnd(flight); });
    flight = std::move(next);
  }
}

template <typename T>
void AsyncWorkers<T>::EndLease(const std::shared_ptr<Flight>& flight) {
  Lease<T> lease = std::move(flight->lease);
  bool acquire = false;
  {
    MutexLock lock(&mu_);
    (flight->cancelled ? cancelled_ : in_flight_).Remove(flight.get());
    flight->self.reset();  // `flight` is another owner.
    acquire = !acquiring_ && !stopped_acquiring_;
    if (acquire) acquiring_ = true;
  }
  if (acquire) {
    Acquire(std::move(lease));
  } else {
    lease.Done();
  }
  client_.OnItemDone();
  EndIfOver();
}

template <typename T>
void AsyncWorkers<T>::StandBy() {
  {
    MutexLock lock(&mu_);
    standing_by_ = true;
  }
  // A change before that has not been noticed.
  if (!client_.StandsBy() || client_.Stops()) GoOn();
}

template <typename T>
void AsyncWorkers<T>::GoOn() {
  {
    MutexLock lock(&mu_);
    if (!std::exchange(standing_by_, false)) return;
  }
  SubmitTask(executor_, [shared = shared_] {
    const Gate::Pass pass(&shared->gate);  // Open, as in Acquire().
    AsyncWorkers* const self = shared->workers;
    if (!self->client_.StandsBy()) {
      self->Acquire(Lease<T>());
    } else if (self->client_.Stops()) {
      self->StopAcquiring();
    } else {
      self->StandBy();
    }
  });
}

template <typename T>
void AsyncWorkers<T>::StopAcquiring() {
  {
    MutexLock lock(&mu_);
    acquiring_ = false;
    stopped_acquiring_ = true;
    not_acquiring_.SignalAll();
  }
  EndIfOver();
}

template <typename T>
void AsyncWorkers<T>::EndIfOver() {
  {
    MutexLock lock(&mu_);
    if (!stopped_acquiring_ || acquiring_ || ended_ || !in_flight_.empty() ||
        !cancelled_.empty()) {
      return;
    }
    ended_ = true;
  }
  client_.OnWorkersEnded();
}

template <typename T>
void AsyncWorkers<T>::CancelAll() {
  while (true) {
    std::shared_ptr<Flight> flight;
    {
      MutexLock lock(&mu_);
      if (in_flight_.empty()) return;
      flight = in_flight_.PopFront()->self;
      flight->cancelled = true;
      cancelled_.PushBack(flight.get());
    }
    flight->Cancel();
  }
}

template <typename T>
void AsyncWorkers<T>::Close() {
  {
    MutexLock lock(&mu_);
    stopped_acquiring_ = true;
    while (acquiring_) not_acquiring_.Wait(&mu_);
  }
  shared_->gate.Close();
  {
    MutexLock lock(&mu_);
    while (ending_ > 0) none_ending_.Wait(&mu_);
  }
  CancelAll();
  while (true) {
    std::shared_ptr<Flight> flight;
    {
      MutexLock lock(&mu_);
      if (cancelled_.empty()) return;
      flight = std::move(cancelled_.PopFront()->self);
    }
    // The gate is closed, so this only makes the later completions do nothing.
    flight->Complete(absl::Status(absl::StatusCode::kCancelled, ""));
    flight->lease.GiveBack();
  }
}

}  // namespace workqueue::internal

#endif  // WORKQUEUE_CONTROLLER_INTERNAL_ASYNC_WORKERS_H_
