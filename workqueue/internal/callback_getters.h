// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_INTERNAL_CALLBACK_GETTERS_H_
#define WORKQUEUE_INTERNAL_CALLBACK_GETTERS_H_

#include <array>
#include <cstddef>

#include "absl/container/inlined_vector.h"
#include "workqueue/base/intrusive_list.h"
#include "workqueue/base/slab.h"
#include "workqueue/base/slot_map.h"
#include "workqueue/executor.h"

namespace workqueue::internal {

class QueueState;

// The maximum number of woken threads and callbacks of a queue that are on
// their way at a time.
inline constexpr size_t kMaxWoken = 4;

// A callback that waits for an item. `QueueCore` derives the class that has the
// callback itself.
struct CallbackGetter : SlotMapEntry, IntrusiveLink<CallbackGetter> {
  explicit CallbackGetter(Executor* the_executor) : executor(the_executor) {}

  Executor* executor;
  bool woken = false;
};

// CallbackWakeUp
//
// A callback whose queue has an item for it.
struct CallbackWakeUp {
  // Submits the callback to its executor.
  void Send() const;

  Executor* executor;
  QueueState* queue;
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

}  // namespace workqueue::internal

#endif  // WORKQUEUE_INTERNAL_CALLBACK_GETTERS_H_
