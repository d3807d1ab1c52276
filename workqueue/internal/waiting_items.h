// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// workqueue/internal/waiting_items.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_WORKQUEUE_INTERNAL_WAITING_ITEMS_H_
#define WORKQUEUE_WORKQUEUE_INTERNAL_WAITING_ITEMS_H_

#include <cstddef>
#include <memory>
#include <type_traits>
#include <utility>

#include "absl/functional/function_ref.h"
#include "absl/time/time.h"
#include "base/entry_table.h"
#include "workqueue/internal/timing_wheel.h"
#include "workqueue/internal/waiting_heap.h"
#include "workqueue/waiting_set_options.h"

namespace workqueue {
namespace internal {

// WaitingItems
//
// The items that wait for their time, each once: a `WaitingHeap` or a
// `TimingWheel`, as the options say, and a table that finds an item's place in
// it. Which of the two is decided once, when the set is made, so that an entry
// need only have room for one.
//
// Times are the heap's or the wheel's, which rounds them up to its ticks.
//
// If copying, comparing or allocating throws, nothing has changed.
//
// Not thread-safe.
template <typename T, typename Hash, typename Eq>
class WaitingItems {
 public:
  // An item that waits.
  class Entry : public workqueue_internal::EntryTableEntry {
   public:
    template <typename U, typename = std::enable_if_t<
                              std::is_same<std::decay_t<U>, T>::value>>
    explicit Entry(U&& item) : item_(std::forward<U>(item)) {}

    const T& item() const { return item_; }

   private:
    const T item_;
  };

  // Returns what `options` say. It is `now`.
  static std::unique_ptr<WaitingItems> New(const WaitingSetOptions& options,
                                           absl::Time now);

  virtual ~WaitingItems() = default;

  virtual size_t size() const = 0;

  // Has `item`, which hashes to `hash`, wait until `due_at`. If it waits
  // already, the earlier of the two times counts, and it is not moved from. It
  // is `now`.
  virtual void Insert(T&& item, size_t hash, absl::Time due_at,
                      absl::Time now) = 0;

  // Has `item`, which hashes to `hash`, wait until `due_at`, whether or not it
  // waits already. Returns when to call `Due()` next on its account. It is
  // `now`.
  virtual absl::Time InsertOrMove(const T& item, size_t hash, absl::Time due_at,
                                  absl::Time now) = 0;

  // Returns the entry of `item`, which hashes to `hash`; null if it does not
  // wait.
  virtual Entry* Find(const T& item, size_t hash) const = 0;

  // Has the item of `entry` wait until `due_at`. It is `now`. Throws nothing.
  virtual void Postpone(Entry* entry, absl::Time due_at, absl::Time now) = 0;

  // Removes the item of `entry`. Throws nothing.
  virtual void Remove(Entry* entry) = 0;

  // Removes all items, and gives back the memory. Throws nothing.
  virtual void Clear() = 0;

  // Returns the entry that comes first of those due at `now`; null if none is.
  virtual Entry* Due(absl::Time now) = 0;

  // Returns when to call `Due()` next; infinitely late if there is no need.
  virtual absl::Time NextWake() const = 0;

  // Calls `visit(item, due_at)` for each item, in no particular order.
  virtual void ForEach(
      absl::FunctionRef<void(const T&, absl::Time)> visit) const = 0;

 private:
  template <template <typename> class Set, template <typename> class SetEntry>
  class In;
};

// Implementation details follow.

// The items in a set of one kind.
template <typename T, typename Hash, typename Eq>
template <template <typename> class Set, template <typename> class SetEntry>
class WaitingItems<T, Hash, Eq>::In final : public WaitingItems {
 public:
  template <typename... Args>
  explicit In(const Args&... args) : set_(args...) {}

  size_t size() const override { return set_.size(); }

  void Insert(T&& item, size_t hash, absl::Time due_at,
              absl::Time now) override {
    set_.Reserve(due_at);
    const auto [place, is_new] = table_.FindOrInsert(std::move(item), hash);
    if (is_new) {
      set_.Insert(place, due_at, now);
    } else if (due_at < set_.DueAt(place)) {
      set_.Move(place, due_at, now);
    }
  }

  absl::Time InsertOrMove(const T& item, size_t hash, absl::Time due_at,
                          absl::Time now) override {
    set_.Reserve(due_at);
    const auto [place, is_new] = table_.FindOrInsert(item, hash);
    return is_new ? set_.Insert(place, due_at, now)
                  : set_.Move(place, due_at, now);
  }

  Entry* Find(const T& item, size_t hash) const override {
    return table_.Find(item, hash);
  }

  void Postpone(Entry* entry, absl::Time due_at, absl::Time now) override {
    set_.Move(static_cast<Place*>(entry), due_at, now);
  }

  void Remove(Entry* entry) override {
    Place* const place = static_cast<Place*>(entry);
    set_.Remove(place);
    table_.Erase(place);
  }

  void Clear() override {
    set_.Clear();
    table_.Clear();
  }

  Entry* Due(absl::Time now) override { return set_.Due(now); }

  absl::Time NextWake() const override { return set_.NextWake(); }

  void ForEach(
      absl::FunctionRef<void(const T&, absl::Time)> visit) const override {
    table_.ForEach([this, visit](const Place& place) {
      visit(place.item(), set_.DueAt(&place));
    });
  }

 private:
  struct Place : Entry, SetEntry<Place> {
    using Entry::Entry;
  };

  Set<Place> set_;
  workqueue_internal::EntryTable<T, Place, Hash, Eq> table_;
};

template <typename T, typename Hash, typename Eq>
std::unique_ptr<WaitingItems<T, Hash, Eq>> WaitingItems<T, Hash, Eq>::New(
    const WaitingSetOptions& options, absl::Time now) {
  if (options.is_timing_wheel()) {
    return std::make_unique<In<TimingWheel, TimingWheelEntry>>(
        now, options.tick(), options.slots());
  }
  return std::make_unique<In<WaitingHeap, WaitingHeapEntry>>();
}

}  // namespace internal
}  // namespace workqueue

#endif  // WORKQUEUE_WORKQUEUE_INTERNAL_WAITING_ITEMS_H_
