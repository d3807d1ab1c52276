// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_BASE_FIFO_H_
#define WORKQUEUE_BASE_FIFO_H_

#include <utility>

#include "workqueue/base/intrusive_list.h"
#include "workqueue/base/slab.h"

namespace workqueue::internal {

// Fifo
//
// Values that come out in the order in which they were pushed. Every operation
// takes constant time. In the steady state nothing is allocated, unlike in a
// `std::deque`. The memory of a peak is freed. Moving a `T` must not throw. Not
// thread-safe.
template <typename T>
class Fifo {
 public:
  bool empty() const { return nodes_in_order_.empty(); }

  // If there is no memory, throws `std::bad_alloc` and leaves `value` as it
  // was.
  void Push(T&& value) {
    const SlabId id = nodes_.NextId();  // Allocates.
    nodes_in_order_.PushBack(nodes_.New(id, std::move(value)));
  }

  // Removes the first value and returns it. There must be one.
  T Pop() {
    Node* const node = nodes_in_order_.PopFront();
    T value = std::move(node->value);
    nodes_.Delete(node->id);
    return value;
  }

 private:
  struct Node : IntrusiveLink<Node> {
    Node(SlabId the_id, T&& the_value)
        : id(the_id), value(std::move(the_value)) {}

    const SlabId id;
    T value;
  };

  Slab<Node> nodes_;
  IntrusiveList<Node> nodes_in_order_;
};

}  // namespace workqueue::internal

#endif  // WORKQUEUE_BASE_FIFO_H_
