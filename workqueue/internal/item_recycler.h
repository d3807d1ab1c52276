// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// workqueue/internal/item_recycler.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_INTERNAL_ITEM_RECYCLER_H_
#define WORKQUEUE_INTERNAL_ITEM_RECYCLER_H_

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace workqueue {
namespace internal {

// ItemRecycler
//
// What items that are gone leave to those that come: strings their memory, so
// that in the steady state none is allocated for them. Other types leave
// nothing, since nobody knows what else one that is kept would keep.
//
// Not thread-safe.
template <typename T>
class ItemRecycler {
 public:
  // Returns what `make` returns for a copy of `item` that it may move from, or
  // for `item` itself. If `make` throws, so does this.
  template <typename F>
  auto WithCopy(const T& item, F make) {
    return make(item);
  }

  // Takes an item that is no longer needed. Throws nothing.
  void Keep(T&& /*item*/) {}

  // Gives back the memory.
  void Clear() {}
};

// Keeps up to 128 strings, and none that are longer than keys usually are.
template <>
class ItemRecycler<std::string> {
 public:
  template <typename F>
  auto WithCopy(const std::string& item, F make) {
    if (IsInPlace(item.size())) return make(item);
    if (spares_.empty()) {
      spares_.reserve(kMaxSpares);  // so that keeping one throws nothing
      return make(item);
    }
    spares_.back() = item;
    auto made = make(std::move(spares_.back()));
    spares_.pop_back();
    return made;
  }

  void Keep(std::string&& item) {
    if (IsInPlace(item.capacity()) || item.capacity() > kMaxCapacity) return;
    if (spares_.size() < spares_.capacity()) spares_.push_back(std::move(item));
  }

  void Clear() { std::vector<std::string>().swap(spares_); }

 private:
  static constexpr size_t kMaxSpares = 128;
  static constexpr size_t kMaxCapacity = 256;

  // Whether a string of so many bytes lies in the object itself.
  static bool IsInPlace(size_t size) {
    return size <= std::string().capacity();
  }

  std::vector<std::string> spares_;
};

}  // namespace internal
}  // namespace workqueue

#endif  // WORKQUEUE_INTERNAL_ITEM_RECYCLER_H_
