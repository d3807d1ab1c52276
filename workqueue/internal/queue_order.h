// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_INTERNAL_QUEUE_ORDER_H_
#define WORKQUEUE_INTERNAL_QUEUE_ORDER_H_

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/str_cat.h"
#include "workqueue/base/error_log.h"
#include "workqueue/base/printable.h"
#include "workqueue/interfaces.h"
#include "workqueue/internal/queue_core.h"
#include "workqueue/internal/queue_state.h"
#include "workqueue/ordering.h"

namespace workqueue::internal {

// QueueOrder
//
// The queued items of a `Queue`: in the user's `Ordering` or, without an
// ordering, first in, first out. This class is the `Order` of a `QueueCore`.
//
// An ordering may throw in a call that cannot return the error to a caller. The
// item then goes to a list instead, so that it is not lost. Items in the list
// are handed out before those in the ordering.
template <typename T>
class QueueOrder {
 public:
  using Entry = QueueEntry<T>;
  using QueueInterface = Interface<T>;

  static constexpr bool kHasPriorities = false;

  // `ordering` may be null.
  explicit QueueOrder(std::unique_ptr<Ordering<T>> ordering)
      : ordering_(std::move(ordering)) {}

  // Whether a call of this class may throw.
  bool may_throw() const { return ordering_ != nullptr; }

  size_t size() const {
    return list_.size() + (ordering_ != nullptr ? ordering_->Len() : 0);
  }

  NextItem next() const {
    if (!list_.empty()) return NextItem::kReady;
    if (ordering_ == nullptr || ordering_->Len() == 0) return NextItem::kNone;
    return ordering_->HasNext() ? NextItem::kReady : NextItem::kHeldBack;
  }

  // Adds `entry`. Throws what the ordering throws.
  void Push(Entry* entry) {
    if (ordering_ == nullptr) {
      list_.PushBack(entry);
    } else {
      ordering_->Push(entry);
      entry->in_ordering = true;
    }
  }

  void Touch(Entry* entry) {
    if (entry->in_ordering) ordering_->Touch(entry);
  }

  // As `Touch()`, and calls `change()`, which changes the priority of `entry`
  // or whether it is a retry. Logs what the ordering throws.
  template <typename F>
  void Move(Entry* entry, F change, ErrorLog& errors) {
    const bool removed = entry->in_ordering && ordering_->Remove(entry);
    if (removed) entry->in_ordering = false;
    change();
    if (removed) {
      PushOrKeep(entry, errors);
    } else {
      const auto what = [entry] {
        return absl::StrCat(DescribeItem(entry->item()), " cannot be moved");
      };
      errors.Try(what, [&] { Touch(entry); });
    }
  }

  void PushBack(Entry* entry, ErrorLog& errors) {
    OnDone(entry);
    PushOrKeep(entry, errors);
  }

  Entry* Pop() {
    if (!list_.empty()) return static_cast<Entry*>(list_.PopFront());
    Entry* const entry = static_cast<Entry*>(ordering_->Pop());
    entry->in_ordering = false;
    entry->from_ordering = true;
    return entry;
  }

  void PutBack(Entry* entry) { list_.PushFront(entry); }
  void GiveBack(Entry* entry, bool /*added_again*/) { list_.PushFront(entry); }

  void OnDone(Entry* entry) {
    if (!entry->from_ordering) return;
    entry->from_ordering = false;
    ordering_->OnDone(entry);
  }

  void OnMoved(Entry* entry) { list_.ReplaceByCopy(entry); }
  void Shrink() {}

  // Returns false if the ordering does not tell the order.
  bool ForFirst(size_t max,
                absl::FunctionRef<void(const QueuedItem<T>&)> visit) const {
    for (const QueuedItem<T>* item = list_.front(); item != nullptr;
         item = item->next()) {
      if (max == 0) return true;
      visit(*item);
      --max;
    }
    if (ordering_ == nullptr || max == 0) return true;
    return ordering_->ForEach([&max, &visit](const QueuedItem<T>& item) {
      if (max == 0) return false;
      visit(item);
      return --max > 0;
    });
  }

  // Returns the bounds of the ordering: see `Ordering::Bounds()`. `entry` is
  // queued, or null.
  std::vector<OrderingBound<T>> Bounds(const Entry* entry,
                                       size_t max_items) const {
    if (ordering_ == nullptr || (entry != nullptr && !entry->in_ordering)) {
      return {};
    }
    return ordering_->Bounds(entry, max_items);
  }

 private:
  // Adds `entry`: to the list if the ordering throws.
  void PushOrKeep(Entry* entry, ErrorLog& errors) {
    const auto what = [entry] {
      return absl::StrCat(DescribeItem(entry->item()),
                          " cannot be ordered, and comes first");
    };
    if (!errors.Try(what, [&] { Push(entry); })) list_.PushBack(entry);
  }

  const std::unique_ptr<Ordering<T>> ordering_;

 protected:
  QueuedItemList<T> list_;
};

}  // namespace workqueue::internal

#endif  // WORKQUEUE_INTERNAL_QUEUE_ORDER_H_
