// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_TRACING_INTERNAL_ITEM_TRACES_H_
#define WORKQUEUE_TRACING_INTERNAL_ITEM_TRACES_H_

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/container/inlined_vector.h"
#include "absl/time/time.h"
#include "workqueue/base/exceptions.h"
#include "workqueue/base/lru_map.h"
#include "workqueue/base/mutex_lock.h"
#include "workqueue/simulation/sync.h"
#include "workqueue/tracing/queue_tracer.h"
#include "workqueue/tracing/trace_context.h"

namespace workqueue::internal {

using TraceContexts = absl::InlinedVector<TraceContext, 1>;

// The adds that a hand-out answers.
struct HandedOutTraces {
  TraceContexts contexts;  // oldest first
  size_t dropped = 0;
  std::optional<absl::Time> first_add;
};

// The add that follows an attempt, as the result of the attempt says.
struct FollowingAdd {
  AddKind kind;  // kRetry or kAddAfter
  absl::Duration requeue_after;
};

// ItemTraces
//
// The contexts that travel with the items of a queue, in a bounded map. An item
// goes through these states: it has been added, at once or with a delay; it has
// been handed out; an attempt has taken its contexts; the attempt has ended,
// and an add may follow it. An item that is added again meanwhile is in two
// states.
//
// If a function of `T` or an allocation throws, nothing changes.
//
// Each call takes constant time for a bounded number of contexts, and the lock
// at most once. Thread-safe.
template <typename T, typename Hash, typename Eq>
class ItemTraces {
 public:
  // See `TracingQueueOptions`.
  ItemTraces(size_t max_contexts, size_t max_items)
      : max_contexts_(max_contexts), entries_(max_items) {}

  // The change that an add has made, for `Undo()`.
  struct Added {
    TraceContext context;
    absl::Time time;
    bool delayed = false;
    bool kept = false;   // the context was kept
    bool first = false;  // no such add was known before
    bool dropped = false;
  };

  // Records an add. An invalid context, or one that the item has already, is
  // not kept.
  Added Add(const T& item, const TraceContext& context, absl::Time time,
            bool delayed) {
    Added added;
    added.context = context;
    added.time = time;
    added.delayed = delayed;
    const size_t hash = Hash()(item);
    MutexLock lock(&mu_);
    entries_.Update(item, hash, [&](Entry& entry) {
      absl::Time& first = entry.first(delayed);
      added.first = first == absl::InfiniteFuture();
      if (added.first) first = time;
      if (!context.IsValid()) return;
      size_t waiting = 0;
      for (const Traveller& traveller : entry.travellers) {
        if (traveller.state == State::kHandedOut) continue;
        if (traveller.context == context) return;
        ++waiting;
      }
      added.kept = waiting < max_contexts_ && TryCall([&] {
                     entry.travellers.push_back(
                         {context, delayed ? State::kDelayed : State::kAdded});
                   });
      added.dropped = !added.kept;
      if (added.dropped) ++entry.dropped;
    });
    return added;
  }

  // Undoes an add, unless its context has been handed out.
  void Undo(const T& item, const Added& added) {
    Change(item, [&](Entry& entry) {
      absl::Time& first = entry.first(added.delayed);
      if (added.first && first == added.time) first = absl::InfiniteFuture();
      if (added.dropped && entry.dropped > 0) --entry.dropped;
      if (!added.kept) return;
      const auto it =
          std::find_if(entry.travellers.begin(), entry.travellers.end(),
                       [&](const Traveller& traveller) {
                         return traveller.state != State::kHandedOut &&
                                traveller.context == added.context;
                       });
      if (it != entry.travellers.end()) entry.travellers.erase(it);
    });
  }

  // Forgets the adds with a delay.
  void CancelDelayed(const T& item) {
    Change(item, [](Entry& entry) {
      entry.Forget(State::kDelayed);
      entry.delayed = absl::InfiniteFuture();
      if (entry.added == absl::InfiniteFuture()) entry.dropped = 0;
    });
  }

  // Returns the adds until now, and forgets what was handed out before.
  HandedOutTraces HandOut(const T& item) {
    HandedOutTraces traces;
    Change(item, [&](Entry& entry) {
      const absl::Time first = (std::min)(entry.added, entry.delayed);
      if (first < absl::InfiniteFuture()) traces.first_add = first;
      entry.added = entry.delayed = absl::InfiniteFuture();
      traces.dropped = std::exchange(entry.dropped, 0);
      entry.Forget(State::kHandedOut);
      entry.attempt = TraceContext();
      // Without memory, the tracers get fewer contexts.
      for (Traveller& traveller : entry.travellers) {
        traveller.state = State::kHandedOut;
        if (!TryCall([&] { traces.contexts.push_back(traveller.context); })) {
          ++traces.dropped;
        }
      }
      entry.dropped_handed_out = traces.dropped;
    });
    return traces;
  }

  // Returns what was handed out last, without `first_add`. An attempt begins:
  // `SetAttempt()` must follow.
  HandedOutTraces TakeHandedOut(const T& item) {
    HandedOutTraces traces;
    const size_t hash = Hash()(item);
    MutexLock lock(&mu_);
    if (entries_.Find(item, hash) == nullptr) return traces;
    entries_.Update(item, hash, [&](Entry& entry) {
      traces.dropped = std::exchange(entry.dropped_handed_out, 0);
      for (const Traveller& traveller : entry.travellers) {
        if (traveller.state != State::kHandedOut) continue;
        if (!TryCall([&] { traces.contexts.push_back(traveller.context); })) {
          ++traces.dropped;
        }
      }
      // An empty entry stays, because SetAttempt() is about to need it.
      entry.Forget(State::kHandedOut);
    });
    return traces;
  }

  void SetAttempt(const T& item, const TraceContext& context) {
    if (!context.IsValid()) {
      Change(item, [](Entry& entry) { entry.attempt = TraceContext(); });
      return;
    }
    const size_t hash = Hash()(item);
    MutexLock lock(&mu_);
    entries_.Update(item, hash, [&](Entry& entry) {
      entry.attempt = context;
      entry.following.reset();
    });
  }

  // The attempt has ended. `following` is nothing if no add follows.
  void EndAttempt(const T& item, const std::optional<FollowingAdd>& following) {
    Change(item, [&](Entry& entry) {
      entry.following = following;
      if (!following.has_value()) entry.attempt = TraceContext();
    });
  }

  // Returns the context of the attempt that an add of `item` follows; an
  // invalid one if there is none.
  TraceContext TakeAttempt(const T& item, AddKind kind,
                           std::optional<absl::Duration> delay) {
    TraceContext attempt;
    Change(item, [&](Entry& entry) {
      if (!entry.attempt.IsValid()) return;
      const bool ended = entry.following.has_value();
      if (kind != (ended ? entry.following->kind : AddKind::kRetry)) return;
      if (kind == AddKind::kAddAfter &&
          delay != entry.following->requeue_after) {
        return;
      }
      attempt = entry.attempt;
      if (ended) entry.attempt = TraceContext();
    });
    return attempt;
  }

  // The queue has not taken an add that followed an attempt, and that is not
  // undone yet. So the next such add follows it.
  void ReturnAttempt(const T& item, const AddInfo& info) {
    Change(item, [&](Entry& entry) {
      if (!info.previous_attempt.IsValid() || entry.attempt.IsValid()) return;
      entry.attempt = info.previous_attempt;
      entry.following = {info.kind, info.delay.value_or(absl::ZeroDuration())};
    });
  }

  // Forgets what was handed out, and the attempt.
  void Done(const T& item) {
    Change(item, [](Entry& entry) {
      entry.Forget(State::kHandedOut);
      entry.attempt = TraceContext();
    });
  }

 private:
  enum class State : unsigned char { kAdded, kDelayed, kHandedOut };

  struct Traveller {
    TraceContext context;
    State state;
  };

  struct Entry {
    bool empty() const {
      return travellers.empty() && added == absl::InfiniteFuture() &&
             delayed == absl::InfiniteFuture() && !attempt.IsValid();
    }

    absl::Time& first(bool is_delayed) { return is_delayed ? delayed : added; }

    void Forget(State state) {
      travellers.erase(std::remove_if(travellers.begin(), travellers.end(),
                                      [state](const Traveller& t) {
                                        return t.state == state;
                                      }),
                       travellers.end());
    }

    absl::InlinedVector<Traveller, 1> travellers;
    // The times of the first adds that have not been handed out.
    absl::Time added = absl::InfiniteFuture();
    absl::Time delayed = absl::InfiniteFuture();
    size_t dropped = 0;
    size_t dropped_handed_out = 0;

    TraceContext attempt;                   // invalid: none
    std::optional<FollowingAdd> following;  // once the attempt has ended
  };

  // Calls `change(Entry&)`, which must not throw, if there is an entry.
  template <typename F>
  void Change(const T& item, F change) {
    const size_t hash = Hash()(item);
    MutexLock lock(&mu_);
    if (entries_.Find(item, hash) == nullptr) return;
    bool empty = false;
    entries_.Update(item, hash, [&](Entry& entry) {
      change(entry);
      empty = entry.empty();
    });
    if (empty) entries_.Erase(item, hash);
  }

  const size_t max_contexts_;

  sync::Mutex mu_;
  LruMap<T, Entry, Hash, Eq> entries_ ABSL_GUARDED_BY(mu_);
};

}  // namespace workqueue::internal

#endif  // WORKQUEUE_TRACING_INTERNAL_ITEM_TRACES_H_
