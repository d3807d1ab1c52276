// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_BASE_INTRUSIVE_LIST_H_
#define WORKQUEUE_BASE_INTRUSIVE_LIST_H_

#include <cstddef>
#include <utility>

namespace workqueue::internal {

// The base class of the elements of an `IntrusiveList`. An element is in at
// most one list at a time.
template <typename E>
class IntrusiveLink {
 public:
  // Returns the next element of the list; null for the last element.
  E* next() const { return next_; }

 private:
  template <typename>
  friend class IntrusiveList;

  E* prev_ = nullptr;
  E* next_ = nullptr;
};

// IntrusiveList
//
// A doubly linked list whose elements contain the links. The list does not own
// the elements. Every operation takes constant time. No operation allocates or
// throws.
template <typename E>
class IntrusiveList {
 public:
  IntrusiveList() = default;
  // Takes the elements of `other`.
  IntrusiveList(IntrusiveList&& other) noexcept
      : front_(std::exchange(other.front_, nullptr)),
        back_(std::exchange(other.back_, nullptr)),
        size_(std::exchange(other.size_, 0)) {}
  IntrusiveList(const IntrusiveList&) = delete;
  IntrusiveList& operator=(const IntrusiveList&) = delete;

  bool empty() const { return front_ == nullptr; }
  size_t size() const { return size_; }

  // Return the first and the last element; null if there is none.
  E* front() const { return front_; }
  E* back() const { return back_; }

  void PushBack(E* element) { InsertBefore(element, nullptr); }
  void PushFront(E* element) { InsertBefore(element, front_); }

  // Inserts `element` before `next`, which is in this list, or at the end if
  // `next` is null.
  void InsertBefore(E* element, E* next) {
    IntrusiveLink<E>* link = element;
    E* const prev = next == nullptr ? back_ : Link(next)->prev_;
    link->prev_ = prev;
    link->next_ = next;
    (prev == nullptr ? front_ : Link(prev)->next_) = element;
    (next == nullptr ? back_ : Link(next)->prev_) = element;
    ++size_;
  }

  // Removes `element`, which must be in this list.
  void Remove(E* element) {
    IntrusiveLink<E>* link = element;
    (link->prev_ == nullptr ? front_ : Link(link->prev_)->next_) = link->next_;
    (link->next_ == nullptr ? back_ : Link(link->next_)->prev_) = link->prev_;
    --size_;
  }

  // Puts `element`, which is a copy of an element of this list, in the place of
  // that element.
  void ReplaceByCopy(E* element) {
    IntrusiveLink<E>* link = element;
    (link->prev_ == nullptr ? front_ : Link(link->prev_)->next_) = element;
    (link->next_ == nullptr ? back_ : Link(link->next_)->prev_) = element;
  }

  // Removes the first element and returns it. The list must not be empty.
  E* PopFront() {
    E* element = front_;
    Remove(element);
    return element;
  }

 private:
  static IntrusiveLink<E>* Link(E* element) { return element; }

  E* front_ = nullptr;
  E* back_ = nullptr;
  size_t size_ = 0;
};

}  // namespace workqueue::internal

#endif  // WORKQUEUE_BASE_INTRUSIVE_LIST_H_
