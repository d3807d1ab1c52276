// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_ORDERING_H_
#define WORKQUEUE_ORDERING_H_

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "workqueue/base/intrusive_list.h"
#include "workqueue/version.h"

namespace workqueue {

// OrderingBound
//
// A bound of an `Ordering` on the items that are processed at the same time,
// and the items that count.
template <typename T>
struct OrderingBound {
  std::string name;       // for people, and printable: for example "group shop"
  size_t max = 0;         // at least 1
  size_t processing = 0;  // at most `max`

  // Whether the bound is reached and holds queued items back. They wait for the
  // items that are being processed.
  bool holds_back = false;

  // Of the items that are being processed. There may be more of them.
  std::vector<T> items;

  // The number of queued items that the bound concerns, if it is known.
  std::optional<size_t> queued = std::nullopt;
};

// QueuedItem
//
// An item that is queued. The queue stores each item once, in an object of this
// class. An `Ordering` arranges pointers to these objects.
template <typename T>
class QueuedItem : public internal::IntrusiveLink<QueuedItem<T>> {
 public:
  QueuedItem(const QueuedItem&) = delete;
  QueuedItem& operator=(const QueuedItem&) = delete;

  const T& item() const { return item_; }

  // The priority of the item. Zero in a queue without priorities.
  int priority() const { return priority_; }

  // Whether the item was added only because its processing failed; see
  // `AddOptions::retry`. False in a queue without priorities.
  bool is_retry() const { return is_retry_; }

 protected:
  explicit QueuedItem(const T& item) : item_(item) {}
  explicit QueuedItem(T&& item) : item_(std::move(item)) {}
  QueuedItem(QueuedItem&&) = default;
  ~QueuedItem() = default;

  void set_item(const T& item) { item_ = item; }
  void set_item(T&& item) { item_ = std::move(item); }
  void set_priority(int priority) { priority_ = priority; }
  void set_is_retry(bool is_retry) { is_retry_ = is_retry; }

 private:
  T item_;
  int priority_ = 0;
  bool is_retry_ = false;
};

// QueuedItemList
//
// A list of queued items, for use in orderings. Every operation takes constant
// time and allocates nothing.
template <typename T>
using QueuedItemList = internal::IntrusiveList<QueuedItem<T>>;

// Ordering
//
// The order in which a queue hands out the queued items. client-go calls this
// interface `Queue`. Without an ordering, a `Queue` is first in, first out, and
// a `PriorityQueue` sorts by priority.
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
// An ordering may hold items back: `HasNext()` tells whether there is an item
// to hand out, and `OnDone()` tells the ordering that the processing of an item
// has ended. An item must not be held back for ever: if no item that `Pop()`
// has returned is being processed, `HasNext()` must be `Len() > 0`.
//
// An item that is given back (`Lease::GiveBack()`) does not return to the
// ordering: the queue hands it out before the items in the ordering. To the
// ordering, the item is still being processed.
//
// The queue calls these functions one at a time, with its lock held. They must
// not call the queue, and should be quick. A function that throws must leave
// the ordering unchanged.
template <typename T>
class Ordering {
 public:
  virtual ~Ordering() = default;

  // Adds `item`, which is not in the ordering. The queue owns `*item`. The
  // pointer is valid until `OnDone()` or `Remove()`, or until the ordering is
  // destroyed.
  virtual void Push(QueuedItem<T>* item) = 0;

  // Called when `item`, which is in the ordering, is added to the queue again.
  // An ordering may move the item. The default does nothing. If the priority of
  // the item has changed, an exception is logged.
  virtual void Touch(QueuedItem<T>* /*item*/) {}

  // Returns the number of items in the ordering, with those held back. Must not
  // throw.
  virtual size_t Len() const = 0;

  // Returns whether there is an item to hand out. Must not throw. The default
  // is for an ordering that holds no item back. The result may change only in
  // the other functions of this class.
  virtual bool HasNext() const { return Len() > 0; }

  // Removes the next item and returns it. Called only if `HasNext()`.
  virtual QueuedItem<T>* Pop() = 0;

  // Called when the processing of `item`, which `Pop()` has returned, has
  // ended. If `item` was added meanwhile, a call of `Push()` follows, and
  // `item->priority()` and `item->is_retry()` may differ from those at `Pop()`.
  // Must not throw. The default does nothing.
  virtual void OnDone(QueuedItem<T>* /*item*/) {}

  // Removes `item`, which is in the ordering, and returns true. A
  // `PriorityQueue` calls this before it raises the priority of `item` or makes
  // a retry an ordinary addition, and then calls `Push()`. Must not throw. The
  // default returns false: `item` then stays where it is, and a call of
  // `Touch()` follows.
  virtual bool Remove(QueuedItem<T>* /*item*/) { return false; }

  // Calls `visit` with the items in the ordering, the next item first, until
  // `visit` returns false or there are no more, and returns true. The queue
  // uses this function for snapshots, which may need a few of many items. So
  // the function should take time for the visited items only. An ordering that
  // does not support it returns false and does not call `visit`; the snapshot
  // then has any of the items, in no particular order.
  virtual bool ForEach(
      absl::FunctionRef<bool(const QueuedItem<T>&)> /*visit*/) const {
    return false;
  }

  // Returns the bounds that count an item which is being processed, each with
  // at most `max_items` of the items that it counts. With `item`, which is in
  // the ordering, returns the subset of them that holds this item back. The
  // queue uses this function for snapshots of some items. The default is for an
  // ordering without bounds.
  virtual std::vector<OrderingBound<T>> Bounds(const QueuedItem<T>* /*item*/,
                                               size_t /*max_items*/) const {
    return {};
  }
};

}  // namespace workqueue

#endif  // WORKQUEUE_ORDERING_H_
