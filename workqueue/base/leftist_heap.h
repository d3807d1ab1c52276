// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_BASE_LEFTIST_HEAP_H_
#define WORKQUEUE_BASE_LEFTIST_HEAP_H_

#include <utility>

namespace workqueue::internal {

// The base class of the elements of a `LeftistHeap`. An element is in at most
// one heap at a time.
template <typename E>
class LeftistHeapLink {
 public:
  // The children in the heap, which are not less than this element; null where
  // there is none.
  E* left() const { return left_; }
  E* right() const { return right_; }

 private:
  template <typename, typename>
  friend class LeftistHeap;

  E* parent_ = nullptr;
  E* left_ = nullptr;
  E* right_ = nullptr;
  // The number of elements on the shortest way down and out of the heap. It is
  // at most the binary logarithm of the number of elements below, and one.
  int rank_ = 1;
};

// LeftistHeap
//
// A heap whose elements contain the links, with the least element at the front
// (C. A. Crane, "Linear lists and priority queues as balanced binary trees",
// 1972). The heap does not own the elements. No operation allocates or throws.
// `Less` compares two elements.
//
// `Push()` and `Remove()` take O(log n). `Remove()` does not compare the
// element that it removes. So an owner may change the order of one element, and
// then remove it and push it again.
template <typename E, typename Less>
class LeftistHeap {
 public:
  LeftistHeap() = default;
  LeftistHeap(const LeftistHeap&) = delete;
  LeftistHeap& operator=(const LeftistHeap&) = delete;

  bool empty() const { return front_ == nullptr; }

  // Returns the least element; null if there is none.
  E* front() const { return front_; }

  void Push(E* element) {
    Link* const link = element;
    link->left_ = link->right_ = nullptr;
    link->rank_ = 1;
    Replace(nullptr, front_, Merge(front_, element));
  }

  // Removes `element`, which must be in this heap.
  void Remove(E* element) {
    const Link* const link = element;
    Replace(link->parent_, element, Merge(link->left_, link->right_));
    for (E* e = link->parent_; e != nullptr; e = LinkOf(e)->parent_) {
      if (!Restore(e)) break;
    }
  }

 private:
  using Link = LeftistHeapLink<E>;

  static Link* LinkOf(E* element) { return element; }
  static int RankOf(E* element) {
    return element == nullptr ? 0 : LinkOf(element)->rank_;
  }

  // Returns a heap of the elements of two heaps. The depth of the recursion is
  // the sum of their ranks.
  static E* Merge(E* a, E* b) {
    if (a == nullptr) return b;
    if (b == nullptr) return a;
    if (Less()(*b, *a)) std::swap(a, b);
    Link* const link = a;
    link->right_ = Merge(link->right_, b);
    LinkOf(link->right_)->parent_ = a;
    Restore(a);
    return a;
  }

  // Restores the rank of `element`, and the order of its children. Returns
  // whether the rank has changed.
  static bool Restore(E* element) {
    Link* const link = element;
    if (RankOf(link->left_) < RankOf(link->right_)) {
      std::swap(link->left_, link->right_);
    }
    const int rank = RankOf(link->right_) + 1;
    return std::exchange(link->rank_, rank) != rank;
  }

  // Puts `by` in the place of `element`, a child of `parent` or, if that is
  // null, the front.
  void Replace(E* parent, E* element, E* by) {
    if (parent == nullptr) {
      front_ = by;
    } else if (LinkOf(parent)->left_ == element) {
      LinkOf(parent)->left_ = by;
    } else {
      LinkOf(parent)->right_ = by;
    }
    if (by != nullptr) LinkOf(by)->parent_ = parent;
  }

  E* front_ = nullptr;
};

}  // namespace workqueue::internal

#endif  // WORKQUEUE_BASE_LEFTIST_HEAP_H_
