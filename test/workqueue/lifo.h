// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_TEST_WORKQUEUE_LIFO_H_
#define WORKQUEUE_TEST_WORKQUEUE_LIFO_H_

#include <cstddef>
#include <vector>

#include "absl/functional/function_ref.h"
#include "workqueue/ordering.h"

namespace workqueue {

// Lifo
//
// Last in, first out: the example of ordering.h.
template <typename T>
class Lifo : public Ordering<T> {
 public:
  void Push(QueuedItem<T>* item) override { items_.push_back(item); }
  size_t Len() const override { return items_.size(); }
  QueuedItem<T>* Pop() override {
    QueuedItem<T>* item = items_.back();
    items_.pop_back();
    return item;
  }

 protected:
  std::vector<QueuedItem<T>*> items_;
};

// ListingLifo
//
// The same, with `ForEach()`.
template <typename T>
class ListingLifo : public Lifo<T> {
 public:
  bool ForEach(
      absl::FunctionRef<bool(const QueuedItem<T>&)> visit) const override {
    for (auto it = this->items_.rbegin(); it != this->items_.rend(); ++it) {
      if (!visit(**it)) break;
    }
    return true;
  }
};

}  // namespace workqueue

#endif  // WORKQUEUE_TEST_WORKQUEUE_LIFO_H_
