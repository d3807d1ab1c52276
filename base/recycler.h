// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// base/recycler.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_BASE_RECYCLER_H_
#define WORKQUEUE_BASE_RECYCLER_H_

#include <cstddef>
#include <new>
#include <utility>

#include "absl/cleanup/cleanup.h"

namespace workqueue_internal {

// Recycler
//
// Makes and destroys objects of one type, and keeps the storage of destroyed
// ones for later ones: who makes and destroys in turns allocates nothing. It
// keeps no more than twice what is in use, and a little.
//
// Each object must be destroyed before the recycler. Not thread-safe.
template <typename E>
class Recycler {
 public:
  Recycler() = default;
  Recycler(const Recycler&) = delete;
  Recycler& operator=(const Recycler&) = delete;

  ~Recycler() {
    while (free_ != nullptr) delete std::exchange(free_, free_->next_free);
  }

  // Returns a new object. If making it, or allocating, throws, nothing has
  // changed.
  template <typename... Args>
  E* New(Args&&... args) {
    Node* const node = TakeNode();
    absl::Cleanup undo = [this, node] { KeepNode(node); };
    E* const object = ::new (&node->object) E(std::forward<Args>(args)...);
    std::move(undo).Cancel();
    ++in_use_;
    return object;
  }

  // Destroys `object`, which is from this recycler.
  void Delete(E* object) {
    object->~E();
    KeepNode(reinterpret_cast<Node*>(object));
    --in_use_;
    while (free_count_ > in_use_ + kKeepFree) delete TakeNode();
  }

 private:
  static constexpr size_t kKeepFree = 64;

  // The storage of one object, in use or free.
  union Node {
    Node() {}
    ~Node() {}
    Node* next_free;
    E object;
  };

  Node* TakeNode() {
    if (free_ == nullptr) return new Node;
    --free_count_;
    return std::exchange(free_, free_->next_free);
  }

  void KeepNode(Node* node) {
    node->next_free = free_;
    free_ = node;
    ++free_count_;
  }

  Node* free_ = nullptr;
  size_t free_count_ = 0;
  size_t in_use_ = 0;
};

}  // namespace workqueue_internal

#endif  // WORKQUEUE_BASE_RECYCLER_H_
