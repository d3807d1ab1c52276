// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_CONTROLLER_INTERNAL_KEPT_ADDS_H_
#define WORKQUEUE_CONTROLLER_INTERNAL_KEPT_ADDS_H_

#include <algorithm>
#include <cstddef>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "workqueue/base/error_log.h"
#include "workqueue/base/exceptions.h"
#include "workqueue/base/intrusive_list.h"
#include "workqueue/base/mutex_lock.h"
#include "workqueue/base/node_hash_set.h"
#include "workqueue/base/printable.h"
#include "workqueue/base/worker_pool.h"
#include "workqueue/clock/clock.h"
#include "workqueue/interfaces.h"
#include "workqueue/internal/forwarding_queue.h"
#include "workqueue/simulation/sync.h"
#include "workqueue/timer/waiting_loop.h"

namespace workqueue::internal {

// KeptAdds
//
// The queue of a controller, as its sources see it. It keeps the items that the
// queue does not take, because it throws, or because its engine does not answer
// or refuses them, and adds them again each second. `SourceContext::queue` has
// its promises.
//
// Thread-safe.
template <typename T, typename Hash, typename Eq>
class KeptAdds final : public ForwardingRateLimitingQueue<T>,
                       private WaitingLoop::Client {
  using Base = ForwardingRateLimitingQueue<T>;

 public:
  // The most items that are kept. Further adds block.
  static constexpr size_t kMost = 1000000;

  // `queue` and `errors` are not owned; they must outlive the object. Adds on
  // `loop`, or on a thread if that is null.
  KeptAdds(RateLimitingInterface<T>* queue, ErrorLog* errors,
           std::shared_ptr<WaitingLoop> loop)
      : Base(queue),
        clock_(queue->clock()),
        errors_(*errors),
        loop_(std::move(loop)) {
    if (loop_ != nullptr) loop_->Add(this);
  }

  // Also called without `Stop()`, if the constructor of the controller throws.
  ~KeptAdds() override {
    if (loop_ != nullptr) loop_->Remove(this);
  }

  absl::Status AddItems(const AddOptions& options,
                        absl::Span<const T> items) override {
    const bool can_be_kept = !options.rate_limited && !options.reschedule;
    absl::Status error;
    if (can_be_kept) {
      // A source does not wait for the engine with each item.
      MutexLock lock(&mu_);
      if (entries_.size() > 0) {
        StartThread();
        if (away_) error = error_;
      }
    }
    const bool asks = error.ok();
    if (asks) {
      error =
          CatchAsStatus([&] { return this->below().AddItems(options, items); });
    }
    if (error.ok() || !can_be_kept || this->below().ShuttingDown()) {
      return error;
    }
    if (IsPassing(error)) return Keep(options, items, error, asks);
    if (!IsOfItem(error)) return error;
    if (items.size() < 2) {
      // A source may have nobody to tell.
      errors_.Write([] { return "adding an item of a source"; }, error);
      return error;
    }
    const size_t half = items.size() / 2;
    error = AddItems(options, items.subspan(0, half));
    error.Update(AddItems(options, items.subspan(half)));
    return error;
  }

  // Returns an `absl::UnavailableError` that says how many items are kept,
  // since when and why. If none is, returns the health of the queue.
  absl::Status Healthy() const override {
    MutexLock lock(&mu_);
    if (entries_.size() == 0) {
      const absl::Status status = this->below().Healthy();
      if (status.ok()) return status;
      return absl::Status(
          status.code(),
          absl::StrCat(errors_.who(), ": ",
                       Printable(status.message(), kPrintedErrorBytes)));
    }
    return absl::UnavailableError(
        absl::StrCat(errors_.who(), ": the queue has not taken ",
                     entries_.size(), " added items, the first of them for ",
                     InSeconds(clock_->TimeNow() - since_), ": ",
                     Printable(StatusText(error_), kPrintedErrorBytes)));
  }

  // Returns whether an item was dropped, or is still kept.
  bool HasLost() const {
    MutexLock lock(&mu_);
    return dropped_ + entries_.size() > 0;
  }

  // Ends the adds that block, for the controller waits for its sources now.
  // From now on an add fails that would block.
  void BeginStop() {
    MutexLock lock(&mu_);
    stopping_ = true;
  }

  // Ends the thread, too. Must be called.
  void Stop() {
    {
      MutexLock lock(&mu_);
      stopping_ = ended_ = true;
    }
    if (loop_ != nullptr) loop_->Remove(this);
    // The thread takes mu_. It is not started any more, as ended_ says.
    const auto join = [this]()
                          ABSL_NO_THREAD_SAFETY_ANALYSIS { thread_.Join(); };
    join();
    MutexLock lock(&mu_);
    const size_t lost = dropped_ + entries_.size();
    if (lost == 0) return;
    errors_.Write(
        [lost] {
          return absl::StrCat(lost,
                              " added items are lost: the queue took none");
        },
        error_);
  }

 private:
  // An item that the queue has not taken.
  struct Entry : ItemNode<T>, IntrusiveLink<Entry> {
    using ItemNode<T>::ItemNode;

    // Merges an add with `options` into the adds that this entry stands for.
    void Ask(const AddOptions& options, absl::Time now) {
      const absl::Duration after = options.after.value_or(absl::ZeroDuration());
      if (after > absl::ZeroDuration()) {
        due = (std::min)(due, now + after);
      } else {
        at_once = true;
      }
      priority = (std::max)(priority, options.priority);
    }

    int priority = (std::numeric_limits<int>::min)();
    bool at_once = false;
    // When to add the item, too; infinite if at no other time.
    absl::Time due = absl::InfiniteFuture();
    // Whether the thread adds the item just now, and whether more has been
    // asked for meanwhile.
    bool being_added = false;
    bool asked_again = false;
  };
  using Entries = std::vector<Entry*>;

  // The most items that one call adds, and the most calls of one retry that
  // fail. The next retry begins with the items that this one has not tried.
  static constexpr size_t kBatch = 1000;
  // The most if the engine is full: it will refuse the others, too.
  static constexpr size_t kMostWhenFull = 20;

  // Whether an error may be over when the same add is tried again. A right that
  // is missing may be given, and a server be set up anew.
  static bool IsPassing(const absl::Status& error) {
    return !absl::IsInvalidArgument(error) && !absl::IsUnimplemented(error) &&
           !absl::IsCancelled(error);
  }
  // Whether an error may concern one item only, as one that is too large, also
  // for the memory that is left. Then it decides about no other item.
  static bool IsOfItem(const absl::Status& error) {
    return absl::IsInvalidArgument(error) || absl::IsResourceExhausted(error) ||
           absl::IsInternal(error);  // an exception
  }
  // Whether an error means that the queue takes nothing at the moment.
  static bool IsAway(const absl::Status& error) {
    return !error.ok() && IsPassing(error) && !IsOfItem(error);
  }

  // Keeps `items`. `is_new` tells whether `error` is that of a call, and not
  // the one that was known: the queue may take items again since.
  absl::Status Keep(const AddOptions& options, absl::Span<const T> items,
                    const absl::Status& error, bool is_new) {
    MutexLock lock(&mu_);
    if (entries_.size() == 0) {
      since_ = clock_->TimeNow();
      retry_at_ = since_ + RetryDelay();
      if (loop_ != nullptr) loop_->Wake(this);
      StartThread();
    }
    if (is_new) {
      error_ = error;
      away_ = IsAway(error);
    }
    const auto has_room = [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
      return entries_.size() < kMost;
    };
    const auto goes_on = [&]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
      return has_room() || stopping_;
    };
    const bool can_wait =
        loop_ != nullptr ? !loop_->IsRunHere() : thread_.size() > 0;
    size_t left = items.size();
    for (const T& item : items) {
      if (!goes_on() && !can_wait) return error;
      mu_.Await(absl::Condition(&goes_on));
      if (ended_ || !has_room()) {
        dropped_ += left;
        return absl::CancelledError("the controller stops");
      }
      --left;
      const auto [entry, inserted] = entries_.FindOrInsert(item, Hash()(item));
      if (inserted) list_.PushBack(entry);
      entry->Ask(options, clock_->TimeNow());
      entry->asked_again = entry->being_added;
    }
    return absl::OkStatus();
  }

  // Starts the thread, if it is needed. If it cannot be started, the next add
  // tries again. Releases mu_ meanwhile, to log that.
  void StartThread() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    if (loop_ != nullptr || ended_ || thread_.size() > 0) return;
    const absl::Status started = thread_.Start(1, [this](size_t) { Work(); });
    if (started.ok()) return;
    const MutexUnlock unlock(&mu_);
    errors_.Write([] { return "starting the thread that adds what is kept"; },
                  started);
  }

  // The loop of the thread.
  void Work() {
    while (true) {
      {
        MutexLock lock(&mu_);
        const auto needed = [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
          return entries_.size() > 0 || ended_;
        };
        mu_.Await(absl::Condition(&needed));
        clock_->AwaitWithDeadline(&mu_, absl::Condition(&ended_),
                                  clock_->TimeNow() + RetryDelay());
        if (ended_) return;
      }
      Retry();
    }
  }

  // WaitingLoop::Client
  absl::Time Run(absl::Time now) override {
    {
      MutexLock lock(&mu_);
      if (entries_.size() == 0) return absl::InfiniteFuture();
      if (now < retry_at_) return retry_at_;
    }
    Retry();
    MutexLock lock(&mu_);
    retry_at_ = now + RetryDelay();
    return retry_at_;
  }

  void Retry() ABSL_LOCKS_EXCLUDED(mu_) {
    const absl::Status error = TryRetry();
    if (error.ok()) return;
    errors_.Write([] { return "adding what the sources have added"; }, error);
  }

  // Adds what is kept. Returns the last error. Without memory for a batch, the
  // entries stay where they are.
  absl::Status TryRetry() {
    MutexLock lock(&mu_);
    absl::Status error;
    size_t most = kBatch;
    size_t failed = 0;
    for (size_t left = list_.size(); left > 0 && !IsAway(error);) {
      if (failed >= (absl::IsResourceExhausted(error) ? kMostWhenFull : kBatch))
        break;
      Entries entries;
      const absl::Status taken = CatchAsStatus(
          [&]() ABSL_NO_THREAD_SAFETY_ANALYSIS { entries = Take(most); });
      if (!taken.ok()) {
        error = taken;
        break;
      }
      // Meanwhile more may be asked for.
      AddOptions options;
      options.priority = entries[0]->priority;
      const absl::Time due = entries[0]->due;
      const bool at_once = entries[0]->at_once;
      absl::Status added;
      {
        MutexUnlock unlock(&mu_);
        added = CatchAsStatus(
            [&] { return AddEntries(entries, options, at_once, due); });
      }
      away_ = IsAway(added);
      if (!added.ok()) {
        error = added;
        ++failed;
      }
      if (IsOfItem(added) && entries.size() > 1) {
        most = entries.size() / 2;
        TryAgain(entries);
        continue;
      }
      if (added.ok()) most = (std::min)(2 * most, kBatch);
      left -= (std::min)(left, entries.size());  // Some may be new.
      PutBack(entries, added);
    }
    if (!error.ok()) error_ = error;
    return error;
  }

  // Takes those of the next `most` entries out of the list that one call can
  // add.
  Entries Take(size_t most) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    Entries taken;
    most = (std::min)(list_.size(), most);
    taken.reserve(most);
    const Entry* const first = list_.front();
    while (taken.size() < most) {
      Entry* const entry = list_.front();
      const bool alone = entry->due < absl::InfiniteFuture();
      if (!taken.empty() && (alone || entry->priority != first->priority ||
                             entry->at_once != first->at_once)) {
        break;
      }
      list_.PopFront()->being_added = true;
      taken.push_back(entry);
      if (alone) break;
    }
    return taken;
  }

  // Adds the items of `entries` with `options`: at once, or at `due`, or both.
  absl::Status AddEntries(const Entries& entries, AddOptions options,
                          bool at_once, absl::Time due) {
    std::vector<T> items;
    items.reserve(entries.size());
    for (const Entry* entry : entries) items.push_back(entry->item());
    absl::Status status;
    if (at_once) status = this->below().AddItems(options, items);
    if (status.ok() && due < absl::InfiniteFuture()) {
      options.after = due - clock_->TimeNow();
      status = this->below().AddItems(options, items);
    }
    return status;
  }

  // Makes `entries` the next ones again.
  void TryAgain(const Entries& entries) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    for (size_t i = entries.size(); i-- > 0;) {
      entries[i]->being_added = entries[i]->asked_again = false;
      list_.PushFront(entries[i]);
    }
  }

  // Erases entries that have been added, or puts them back.
  void PutBack(const Entries& entries, const absl::Status& error)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    const bool drop =
        !error.ok() && (this->below().ShuttingDown() || !IsPassing(error));
    for (Entry* const entry : entries) {
      entry->being_added = false;
      const bool again = std::exchange(entry->asked_again, false);
      if ((error.ok() || drop) && !again) {
        if (drop) ++dropped_;
        entries_.Erase(entry);
      } else {
        list_.PushBack(entry);
      }
    }
  }

  Clock* const clock_;
  ErrorLog& errors_;
  const std::shared_ptr<WaitingLoop> loop_;  // may be null

  mutable sync::Mutex mu_;
  bool stopping_ ABSL_GUARDED_BY(mu_) = false;  // No add blocks.
  bool ended_ ABSL_GUARDED_BY(mu_) = false;
  size_t dropped_ ABSL_GUARDED_BY(mu_) = 0;
  absl::Status error_ ABSL_GUARDED_BY(mu_);   // the last one
  bool away_ ABSL_GUARDED_BY(mu_) = false;    // so says the last answer
  absl::Time since_ ABSL_GUARDED_BY(mu_);     // when the first item was kept
  absl::Time retry_at_ ABSL_GUARDED_BY(mu_);  // on the loop
  NodeHashSet<T, Entry, Eq> entries_ ABSL_GUARDED_BY(mu_);
  // Those that are not being added.
  IntrusiveList<Entry> list_ ABSL_GUARDED_BY(mu_);
  WorkerPool thread_ ABSL_GUARDED_BY(mu_);  // started when it is first needed
};

}  // namespace workqueue::internal

#endif  // WORKQUEUE_CONTROLLER_INTERNAL_KEPT_ADDS_H_
