// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_INTERNAL_CALLBACK_GETTERS_H_
#define WORKQUEUE_INTERNAL_CALLBACK_GETTERS_H_

#include <array>
#include <cstddef>
#include <utility>

#include "absl/container/inlined_vector.h"
#include "workqueue/base/intrusive_list.h"
#include "workqueue/base/slab.h"
#include "workqueue/base/slot_map.h"
#include "workqueue/executor.h"
#include "workqueue/interfaces.h"

namespace workqueue::internal {

// The maximum number of woken threads and callbacks of a queue that are on
// their way at a time.
inline constexpr size_t kMaxWoken = 4;

// CallbackRunner
//
// The part of a queue that runs a callback that has been woken. A thread may
// call `Run()` while the destructor of the queue runs on another thread. So
// `Run()` calls a pointer: a virtual call would race with the destructor.
class CallbackRunner {
 public:
  using Function = void (*)(CallbackRunner* self, SlabId getter);

  explicit CallbackRunner(Function run) : run_(run) {}

  // Called once for each wake-up, on a thread that the executor chooses. The
  // queue exists until then.
  void Run(SlabId getter) { run_(this, getter); }

 private:
  const Function run_;
};

// CallbackWakeUp
//
// A callback whose queue has an item for it.
struct CallbackWakeUp {
  // Submits the callback to its executor.
  void Send() const;

  Executor* executor;
  CallbackRunner* queue;
  SlabId getter;
};

// CallbackWakeUps
//
// The callbacks that one thread has woken while it held the lock of a queue.
// The destructor sends the wake-ups, and so must run when the thread has
// released the lock. Within a `HoldCallbacks`, the end of that object sends
// them.
class CallbackWakeUps {
 public:
  CallbackWakeUps() = default;
  CallbackWakeUps(const CallbackWakeUps&) = delete;
  CallbackWakeUps& operator=(const CallbackWakeUps&) = delete;

  ~CallbackWakeUps() {
    if (size_ > 0) SendAll();
  }

  // There may be at most `kMaxWoken`.
  void Add(const CallbackWakeUp& wake_up) { wake_ups_[size_++] = wake_up; }

 private:
  void SendAll();

  size_t size_ = 0;
  std::array<CallbackWakeUp, kMaxWoken> wake_ups_;
};

// HoldCallbacks
//
// While such an object exists, its thread sends no wake-ups of callbacks. A
// layer that calls the queue below with its own lock held makes one before it
// takes the lock, because a callback may call the layer.
class HoldCallbacks {
 public:
  HoldCallbacks();
  ~HoldCallbacks();

  HoldCallbacks(const HoldCallbacks&) = delete;
  HoldCallbacks& operator=(const HoldCallbacks&) = delete;

 private:
  friend class CallbackWakeUps;

  HoldCallbacks* const outer_;
  absl::InlinedVector<CallbackWakeUp, kMaxWoken> held_;
};

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

  // Destroys `getter`. May move another one that waits, so that the memory of a
  // peak can be freed.
  void Remove(Getter* getter) {
    if (!getter->woken) waiting_.Remove(getter);
    getters_.Delete(getter);
    getters_.CompactIfDue(
        [this](Getter* from, Getter* to) {
          waiting_.ReplaceByCopy(to);
          getters_.Delete(from);
        },
        // One that has been woken keeps its slot, which the executor knows.
        [](const Getter& g) { return !g.woken; });
  }

 private:
  SlotMap<Getter, AcquireTag> getters_;
  IntrusiveList<Getter> waiting_;
};

}  // namespace workqueue::internal

#endif  // WORKQUEUE_INTERNAL_CALLBACK_GETTERS_H_
