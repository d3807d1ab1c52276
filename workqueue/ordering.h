// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// workqueue/ordering.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_ORDERING_H_
#define WORKQUEUE_ORDERING_H_

#include <cstddef>
#include <utility>

#include "absl/functional/function_ref.h"
#include "workqueue/internal/intrusive_list.h"

namespace workqueue {

// QueuedItem
//
// An item that lies in a queue. The queue stores each item once, in one of
// these, and an `Ordering` arranges pointers to them.
template <typename T>
class QueuedItem : public internal::IntrusiveLink<QueuedItem<T>> {
 public:
  QueuedItem(const QueuedItem&) = delete;
  QueuedItem& operator=(const QueuedItem&) = delete;

  const T& item() const { return item_; }

  // The priority with which the item has been added; zero in a queue without
  // priorities.
  int priority() const { return priority_; }

 protected:
  explicit QueuedItem(const T& item) : item_(item) {}
  explicit QueuedItem(T&& item) : item_(std::move(item)) {}
  ~QueuedItem() = default;

  void set_priority(int priority) { priority_ = priority; }

 private:
  T item_;
  int priority_ = 0;
};

// QueuedItemList
//
// A list of items that lie in a queue, for orderings: it allocates nothing and
// all of it takes constant time.
template <typename T>
using QueuedItemList = internal::IntrusiveList<QueuedItem<T>>;

// Ordering
//
// The order in which a `Queue` hands out what is queued; client-go calls it
// `Queue`. A queue that is given none hands out first what was added first.
//
// Example, last in, first out:
//
//     template <typename T>
//     class Lifo : public workqueue::Ordering<T> {
//      public:
//       void Push(workqueue::QueuedItem<T>* item) override {
//         items_.push_back(item);
//       }
//       size_t Len() const override { return items_.size(); }
//       workqueue::QueuedItem<T>* Pop() override {
//         workqueue::QueuedItem<T>* item = items_.back();
//         items_.pop_back();
//         return item;
//       }
//      private:
//       std::vector<workqueue::QueuedItem<T>*> items_;
//     };
//
// The queue calls these functions one at a time, with its lock held: they must
// not call the queue, and should be quick. One that throws must leave the
// ordering as it was.
template <typename T>
class Ordering {
 public:
  virtual ~Ordering() = default;

  // Takes in `item`, which is not in the ordering. The pointer is valid until
  // `Pop()` returns it, or the ordering is destroyed; the queue owns what it
  // points to.
  virtual void Push(QueuedItem<T>* item) = 0;

  // `item`, which is in the ordering, has been added again. An ordering in
  // which that makes a difference can act on it.
  virtual void Touch(QueuedItem<T>* /*item*/) {}

  // Returns how many items are in the ordering.
  virtual size_t Len() const = 0;

  // Removes the item that is next, and returns it. Called only if `Len()` is
  // not zero.
  virtual QueuedItem<T>* Pop() = 0;

  // Calls `visit` with each item in the ordering, next one first, for a
  // snapshot, and returns true. An ordering that cannot tell returns false
  // before it has called it; the snapshot then has the items in no order.
  virtual bool ForEach(
      absl::FunctionRef<void(const QueuedItem<T>&)> /*visit*/) const {
    return false;
  }
};

}  // namespace workqueue

#endif  // WORKQUEUE_ORDERING_H_
