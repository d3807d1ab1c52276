// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_INTERNAL_ADD_RING_H_
#define WORKQUEUE_INTERNAL_ADD_RING_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <utility>

#include "workqueue/base/exceptions.h"
#include "workqueue/internal/compact_time.h"
#include "workqueue/simulation/sync.h"

namespace workqueue::internal {

// AddRing
//
// A bounded buffer of additions to a queue whose lock is contended. A thread
// that finds the ring open pushes its addition, and does not wait for the lock.
// Each thread that takes the lock applies the additions in the ring before it
// does anything else. So every addition takes effect at the moment of its push.
// The additions of one thread are applied in their order.
//
// The ring is opened when threads contend for the lock, and sealed when it has
// been empty for a while. The owner must seal it before a thread blocks in the
// queue, because a push wakes nobody, and before the queue shuts down.
//
// An addition has a position; consecutive positions are in consecutive slots.
// A push claims the first free position, writes the item, and publishes it. A
// thread with the lock never waits for a push in progress: it cancels the push
// by a change of the slot's state, and the pushing thread then takes the lock.
// (The idea of applying the operations of others is that of flat combining, by
// D. Hendler, I. Incze, N. Shavit and M. Tzafrir, 2010. The states of the slots
// resemble those of the bounded queue by D. Vyukov, 2010.)
//
// Each atomic operation is sequentially consistent, except for two stores that
// would cost a fence for each addition: of the state of a slot that becomes
// free, and of the tail. They are releases. So a thread that takes the lock
// applies each push that it can know of: if it has learned that the push has
// returned, or if the push could not see, by an operation of this kind, what
// the thread did before. `test/memory_model/check` shows that each of these
// orders is enough, and that a weaker one is not.
//
// Moving a `T` must not throw.
//
// `TryPush()` may be called by any thread. All other functions require the lock
// of the queue.
template <typename T>
class AddRing {
 public:
  struct Addition {
    T item;
    size_t hash;
    CompactTime added;
  };

  AddRing() = default;
  AddRing(const AddRing&) = delete;
  AddRing& operator=(const AddRing&) = delete;

  // No push may be in progress, unless its effect has been observed.
  ~AddRing() {
    if (slots_ == nullptr) return;
    // A cancelled push may have left a gap.
    for (uint64_t i = head_; i != head_ + kCapacity; ++i) {
      if (StateOf(i) == State(i, kFilled)) SlotAt(i).addition()->~Addition();
    }
  }

  // Returns whether a `TryPush()` may succeed.
  bool open_hint() const { return shared_.load() != nullptr; }

  // Pushes `addition`. Returns false, without effect, if the ring is sealed or
  // full, or if the push has been cancelled. The caller must then take the
  // lock.
  bool TryPush(Addition&& addition) {
    Shared* const shared = shared_.load();
    if (shared == nullptr) return false;
    uint64_t position = shared->tail.load();
    for (int step = 0; step < kMaxSteps; ++step) {
      Slot& slot = shared->slots[position % kCapacity];
      uint64_t state = slot.state.load();
      if (state == State(position, kFree) &&
          slot.state.compare_exchange_strong(state,
                                             State(position, kClaimed))) {
        // A push that begins here knows that the earlier positions have been
        // claimed, and so does who knows of that push.
        shared->tail.store(position + 1, std::memory_order_release);
        return Publish(slot, position, std::move(addition));
      }
      // Full, or sealed.
      if (state < State(position, kClaimed)) return false;
      if (state == State(position, kSealed)) return false;
      ++position;  // Another push has claimed this position.
    }
    return false;
  }

  // Returns whether the ring is open or has additions. If so, a thread that
  // takes the lock must call `Apply()`.
  bool active() const { return active_; }

  // Opens the ring, which must not be active. If there is no memory, does
  // nothing.
  void Open() {
    if (slots_ == nullptr &&
        !TryCall([this] { slots_ = std::make_unique<Shared>(); })) {
      return;
    }
    // A push that was cancelled in the last round may still use the slot.
    if (StateOf(head_) == State(head_ - kCapacity, kCancelled)) return;
    SlotAt(head_).state.store(State(head_, kFree));
    slots_->tail.store(head_);
    shared_.store(slots_.get());
    active_ = true;
    sealed_ = false;
    empty_calls_ = 0;
  }

  // Calls `apply(Addition&&)` for each addition whose push has returned, and
  // removes it. If `apply` throws, this addition and the later ones stay in the
  // ring. Seals the ring if it has been empty for many calls.
  template <typename F>
  void Apply(F apply) {
    const uint64_t begin = head_;
    while (head_ != begin + kCapacity && ApplyOne(apply)) {
    }
    if (sealed_) {
      active_ = head_ != end_;
    } else if (head_ != begin) {
      empty_calls_ = 0;
    } else if (++empty_calls_ > kMaxEmptyCalls) {
      Seal();
    }
  }

  // Refuses additions from now on. `Apply()` must follow if the ring is active.
  void Seal() {
    if (sealed_) return;
    shared_.store(nullptr);
    end_ = head_;
    while (end_ != head_ + kCapacity && !SealAt(end_)) ++end_;
    sealed_ = true;
    active_ = head_ != end_;
  }

 private:
  // A small ring stays in the nearest cache.
  static constexpr uint64_t kCapacity = 64;
  static constexpr int kMaxEmptyCalls = 64;
  // The number of slots that a push looks at.
  static constexpr int kMaxSteps = 16;
  // How often a push in progress is looked at before it is cancelled.
  static constexpr int kPatience = 64;

  enum Phase : uint64_t {
    kFree,
    kClaimed,    // A push writes the item.
    kFilled,     // There is an addition.
    kCancelled,  // There is none, and a push may still use the slot.
    kAbandoned,  // There is none, and no push uses the slot.
    kSealed,     // There is none, and no push may claim the position.
    kNumPhases
  };

  // The state of a slot: a position and its phase.
  static constexpr uint64_t State(uint64_t position, Phase phase) {
    return position * kNumPhases + phase;
  }

  struct Slot {
    Addition* addition() {
      return std::launder(reinterpret_cast<Addition*>(storage));
    }

    sync::Atomic<uint64_t> state;
    alignas(Addition) unsigned char storage[sizeof(Addition)];
  };

  // The part that pushes use.
  struct alignas(64) Shared {
    Shared() {
      for (uint64_t i = 0; i < kCapacity; ++i) {
        slots[i].state.store(State(kCapacity + i, kFree));
      }
    }

    // No earlier position is free.
    sync::Atomic<uint64_t> tail{kCapacity};
    alignas(64) Slot slots[kCapacity];
  };

  // Makes `addition` visible in `slot`, which the caller has claimed. Returns
  // false if the push has been cancelled. After a success the queue may be
  // gone.
  static bool Publish(Slot& slot, uint64_t position, Addition&& addition) {
    ::new (slot.storage) Addition(std::move(addition));
    uint64_t state = State(position, kClaimed);
    if (slot.state.compare_exchange_strong(state, State(position, kFilled))) {
      return true;
    }
    slot.addition()->~Addition();
    slot.state.store(State(position, kAbandoned));
    return false;
  }

  Slot& SlotAt(uint64_t position) const {
    return slots_->slots[position % kCapacity];
  }
  uint64_t StateOf(uint64_t position) const {
    return SlotAt(position).state.load();
  }

  // Handles the position head_, and goes to the next one. Returns false if no
  // push has returned whose position is head_ or later.
  template <typename F>
  bool ApplyOne(F& apply) {
    uint64_t state = StateOf(head_);
    if (state == State(head_, kClaimed)) state = AwaitOrCancel();
    if (state == State(head_, kFilled)) {
      Addition* const addition = SlotAt(head_).addition();
      apply(std::move(*addition));
      addition->~Addition();
      PassHead();
      return true;
    }
    if (state == State(head_, kCancelled)) {
      ++head_;
      return true;
    }
    if (state == State(head_, kAbandoned)) {
      PassHead();
      return true;
    }
    if (state == State(head_ - kCapacity, kAbandoned) && !sealed_) {
      SlotAt(head_).state.store(State(head_, kFree));
    }
    return false;
  }

  // A push has claimed head_. If later positions have been claimed, too, waits
  // a moment for this push and then cancels it. Returns the state of the slot.
  uint64_t AwaitOrCancel() {
    const uint64_t claimed = State(head_, kClaimed);
    const uint64_t next = StateOf(head_ + 1);
    if (next < State(head_ + 1, kClaimed) ||
        next == State(head_ + 1, kSealed)) {
      return claimed;
    }
    for (int i = 0; i < kPatience; ++i) {
      if (StateOf(head_) != claimed) return StateOf(head_);
    }
    return Cancel(head_);
  }

  // Cancels the push that has claimed `position`, unless it is complete.
  // Returns the state of the slot.
  uint64_t Cancel(uint64_t position) {
    uint64_t state = State(position, kClaimed);
    const uint64_t cancelled = State(position, kCancelled);
    return SlotAt(position).state.compare_exchange_strong(state, cancelled)
               ? cancelled
               : state;
  }

  // If no push has claimed `position`, ensures that none claims it before the
  // ring is opened, and returns true.
  bool SealAt(uint64_t position) {
    uint64_t state = StateOf(position);
    if (state == State(position, kFree) &&
        SlotAt(position).state.compare_exchange_strong(
            state, State(position, kSealed))) {
      return true;
    }
    if (state == State(position, kClaimed)) Cancel(position);
    // A slot that a cancelled push of the last round has used is not free.
    return state < State(position, kFree);
  }

  // Frees the slot at head_, and goes to the next position.
  void PassHead() {
    const uint64_t next = head_ + kCapacity;
    const Phase phase = sealed_ && next == end_ ? kSealed : kFree;
    // The push that claims the slot next comes after the end of the addition.
    SlotAt(head_).state.store(State(next, phase), std::memory_order_release);
    ++head_;
  }

  std::unique_ptr<Shared> slots_;  // null before the first `Open()`
  uint64_t head_ = kCapacity;      // the next position to apply
  uint64_t end_ = kCapacity;       // if sealed: no addition is here or later
  int empty_calls_ = 0;            // of `Apply()`, in a row
  bool active_ = false;
  bool sealed_ = true;

  // Null while the ring is sealed. A push may still have the pointer then. In a
  // line of the cache of its own, because each push reads it.
  alignas(64) sync::Atomic<Shared*> shared_{nullptr};
};

}  // namespace workqueue::internal

#endif  // WORKQUEUE_INTERNAL_ADD_RING_H_
