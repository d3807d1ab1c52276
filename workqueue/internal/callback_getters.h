// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// workqueue/internal/callback_getters.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_INTERNAL_CALLBACK_GETTERS_H_
#define WORKQUEUE_INTERNAL_CALLBACK_GETTERS_H_

#include <cstddef>
#include <utility>

#include "workqueue/base/intrusive_list.h"
#include "workqueue/base/slab.h"
#include "workqueue/base/slot_map.h"
#include "workqueue/executor.h"
#include "workqueue/interfaces.h"

namespace workqueue {
namespace internal {

// CallbackGetters
//
// The callbacks of a queue that wait for an item, first come, first served. A
// callback that has been woken is not in the list of those that wait, but
// exists until it runs.
//
// Every operation takes constant time. In the steady state nothing is
// allocated. Not thread-safe.
template <typename T>
class CallbackGetters {
 public:
  struct Getter : SlotMapEntry, IntrusiveLink<Getter> {
    Getter(Executor* the_executor, AcquireCallback<T>&& the_callback)
        : executor(the_executor), callback(std::move(the_callback)) {}

    Executor* executor;
    AcquireCallback<T> callback;  // empty if cancelled
    bool woken = false;
  };

  // The number of callbacks that wait and have not been woken.
  size_t waiting() const { return waiting_.size(); }

  // Adds a callback, as the last one. If there is no memory, throws and leaves
  // `callback` as it was.
  Getter* Add(Executor* executor, AcquireCallback<T>&& callback) {
    getters_.NextSlot();  // Allocates.
    Getter* const getter = getters_.New(executor, std::move(callback));
    waiting_.PushBack(getter);
    return getter;
  }

  static AcquireId IdOf(const Getter* getter) {
    return decltype(getters_)::HandleOf(getter);
  }

  // Returns null if there is no such callback.
  Getter* Find(AcquireId id) const { return getters_.Find(id); }

  // Returns the callback of this slot, which must exist.
  Getter* At(SlabId slot) const { return getters_.At(slot); }

  // Wakes the first callback that waits. At least one must wait.
  Getter* WakeFirst() {
    Getter* const getter = waiting_.PopFront();
    getter->woken = true;
    return getter;
  }

  // Makes `getter`, which has been woken, wait again, in its old place. Only
  // those that are older come before it. They were on their way together with
  // it, so there are few.
  void WaitAgain(Getter* getter) {
    getter->woken = false;
    Getter* next = waiting_.front();
    while (next != nullptr && getters_.IsOlder(next, getter)) {
      next = next->next();
    }
    waiting_.InsertBefore(getter, next);
  }

  void Remove(Getter* getter) {
    if (!getter->woken) waiting_.Remove(getter);
    getters_.Delete(getter);
    if (getters_.CompactionDue()) Compact();
  }

 private:
  // Moves a callback, so that the memory of a peak can be freed. One that has
  // been woken keeps its slot, which the executor knows.
  void Compact() {
    Getter* const getter = getters_.NextToMove();
    if (getter == nullptr || getter->woken) return;
    Getter* const moved = getters_.Move(getter);
    if (moved == nullptr) return;
    waiting_.ReplaceByCopy(moved);
    getters_.Delete(getter);
  }

  SlotMap<Getter, AcquireTag> getters_;
  IntrusiveList<Getter> waiting_;
};

}  // namespace internal
}  // namespace workqueue

#endif  // WORKQUEUE_INTERNAL_CALLBACK_GETTERS_H_
