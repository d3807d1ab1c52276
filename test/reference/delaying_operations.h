// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_TEST_REFERENCE_DELAYING_OPERATIONS_H_
#define WORKQUEUE_TEST_REFERENCE_DELAYING_OPERATIONS_H_

#include <algorithm>

#include "absl/time/time.h"
#include "test/reference/choices.h"
#include "test/reference/comparison.h"
#include "test/reference/queue_operations.h"
#include "workqueue/clock/fake_clock.h"
#include "workqueue/interfaces.h"
#include "workqueue/snapshot.h"

namespace reference {

// DelayingOperations
//
// This class performs the operations of `DelayingInterface` on a queue and on
// its model.
template <typename Model>
class DelayingOperations : public QueueOperations<Model> {
 public:
  // All arguments must outlive this object.
  DelayingOperations(workqueue::DelayingInterface<int>* queue, Model* model,
                     workqueue::FakeClock* clock, Comparison* comparison)
      : QueueOperations<Model>(queue, model, clock, comparison),
        queue_(*queue),
        model_(*model),
        clock_(*clock),
        comparison_(*comparison) {}

  // Performs an operation on some of `items` items. Performs an operation of
  // this class if `choice` is below 50. Makes at most three further choices.
  void DoOne(int choice, Choices& choices, int items) {
    if (choice >= 50) {
      QueueOperations<Model>::DoOne(choices, items);
    } else if (choice < 21) {
      const int item = choices.Below(items);
      AddAfter(item, choices.Delay());
    } else if (choice < 22) {
      const absl::Duration delay = choices.Delay();
      for (int item = 0; item < items; ++item) AddAfter(item, delay);
    } else if (choice < 32) {
      const int item = choices.Below(items);
      const absl::Duration delay = choices.Delay();
      comparison_.Returned(queue_.Reschedule(item, delay),
                           model_.Reschedule(item, delay), "Reschedule", item,
                           delay);
    } else if (choice < 39) {
      const int item = choices.Below(items);
      comparison_.Returned(queue_.CancelDelayed(item),
                           model_.CancelDelayed(item), "CancelDelayed", item);
    } else if (choice < 46) {
      const absl::Duration step = choices.Step();
      comparison_.Did("Step", step);
      clock_.Step(step);
      MoveModel();
    } else {
      MoveToNext(absl::Nanoseconds(choices.Below(2)));
    }
  }

 private:
  void AddAfter(int item, absl::Duration delay) {
    comparison_.Returned(queue_.AddAfter(item, delay),
                         model_.AddAfter(item, delay), "AddAfter", item, delay);
  }

  void MoveModel() {
    model_.MoveTo(clock_.TimeNow(), [this] { return *queue_.TakeSnapshot(); });
  }

  // Moves the clock to the next time at which an item comes, minus `before`.
  void MoveToNext(absl::Duration before) {
    absl::Time next = absl::InfiniteFuture();
    for (const auto& it : model_.TakeSnapshot().waiting) {
      next = std::min(next, it.ready_at);
    }
    if (next == absl::InfiniteFuture()) return;
    comparison_.Did("SetTime", next - before);
    clock_.SetTime(next - before);
    MoveModel();
  }

  workqueue::DelayingInterface<int>& queue_;
  Model& model_;
  workqueue::FakeClock& clock_;
  Comparison& comparison_;
};

}  // namespace reference

#endif  // WORKQUEUE_TEST_REFERENCE_DELAYING_OPERATIONS_H_
