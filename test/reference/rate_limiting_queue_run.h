// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_TEST_REFERENCE_RATE_LIMITING_QUEUE_RUN_H_
#define WORKQUEUE_TEST_REFERENCE_RATE_LIMITING_QUEUE_RUN_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "test/reference/choices.h"
#include "test/reference/comparison.h"
#include "test/reference/delaying_operations.h"
#include "test/reference/delaying_queue_model.h"
#include "test/reference/queue_model.h"
#include "test/reference/rate_limiter_model.h"
#include "workqueue/clock/fake_clock.h"
#include "workqueue/interfaces.h"
#include "workqueue/internal/snapshot_order.h"
#include "workqueue/snapshot.h"

namespace reference {

// RateLimitingQueueModel
//
// A model of a rate limiting queue whose limiter doubles the delay.
class RateLimitingQueueModel : public DelayingQueueModel {
 public:
  static constexpr absl::Duration kMaxDelay = absl::Seconds(8);

  RateLimitingQueueModel(absl::Time start, absl::Duration base_delay,
                         bool shared)
      : DelayingQueueModel(start, Options()),
        limiter_(base_delay, kMaxDelay),
        shared_(shared) {}

  // A shared queue hands an item out as a retry if the item has failures.
  std::optional<HandedOut> Get() {
    std::optional<HandedOut> got = DelayingQueueModel::Get();
    if (got && shared_) got->is_retry = NumRequeues(got->item) > 0;
    return got;
  }

  bool AddRateLimited(int item) { return AddAfter(item, limiter_.When(item)); }
  bool AddRateLimitedAfter(int item, absl::Duration delay) {
    return AddAfter(item, limiter_.WhenAfter(item, delay));
  }
  void Forget(int item) { limiter_.Forget(item); }
  int NumRequeues(int item) const { return limiter_.NumRequeues(item); }

  workqueue::Snapshot<int> TakeSnapshot() const {
    workqueue::Snapshot<int> snapshot = DelayingQueueModel::TakeSnapshot();
    workqueue::internal::CountFailures(&snapshot, limiter_);
    return snapshot;
  }

 private:
  RateLimiterModel limiter_;
  const bool shared_;
};

// Performs the operations in `choices` on a queue and on its model; see
// `Subject::run`. `shared` calls `SetShared()`. `make` returns
// a queue on the clock whose limiter doubles `base_delay` up to
// `RateLimitingQueueModel::kMaxDelay`.
inline std::string RunRateLimitingQueue(
    absl::string_view name,
    const std::function<std::unique_ptr<workqueue::RateLimitingInterface<int>>(
        workqueue::FakeClock* clock, absl::Duration base_delay)>& make,
    bool shared, Choices choices, std::string* log) {
  choices.Next();
  const int items = choices.Items();
  const absl::Duration base_delay =
      absl::Milliseconds(500 * (2 - choices.Below(3)));

  workqueue::FakeClock clock;
  const std::unique_ptr<workqueue::RateLimitingInterface<int>> made =
      make(&clock, base_delay);
  workqueue::RateLimitingInterface<int>& queue = *made;
  RateLimitingQueueModel model(clock.TimeNow(), base_delay, shared);

  Comparison comparison(log);
  comparison.Did(name, base_delay);
  DelayingOperations<RateLimitingQueueModel> operations(&queue, &model, &clock,
                                                        &comparison);
  if (shared) operations.SetShared();
  while (!choices.empty() && comparison.agrees()) {
    choices.Next();
    const int choice = choices.Below(100);
    if (choice < 75) {
      operations.DoOne(choice, choices, items);
    } else if (choice < 85) {
      const int item = choices.Below(items);
      comparison.Returned(queue.AddRateLimited(item),
                          model.AddRateLimited(item), "AddRateLimited", item);
    } else if (choice < 90) {
      const int item = choices.Below(items);
      const absl::Duration delay = choices.Delay();
      comparison.Returned(queue.AddRateLimitedAfter(item, delay),
                          model.AddRateLimitedAfter(item, delay),
                          "AddRateLimitedAfter", item, delay);
    } else if (choice < 95) {
      const int item = choices.Below(items);
      queue.Forget(item);
      model.Forget(item);
      comparison.Did("Forget", item);
    } else {
      const int item = choices.Below(items);
      comparison.Returned(queue.NumRequeues(item), model.NumRequeues(item),
                          "NumRequeues", item);
    }
    operations.Compare();
  }
  operations.Finish();
  return comparison.disagreement();
}

}  // namespace reference

#endif  // WORKQUEUE_TEST_REFERENCE_RATE_LIMITING_QUEUE_RUN_H_
