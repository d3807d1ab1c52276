// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include <string>
#include <utility>

#include "absl/time/time.h"
#include "ratelimit/item_exponential_failure_rate_limiter.h"
#include "test/reference/choices.h"
#include "test/reference/comparison.h"
#include "test/reference/delaying_operations.h"
#include "test/reference/delaying_queue_model.h"
#include "test/reference/rate_limiter_model.h"
#include "test/reference/subject.h"
#include "workqueue/clock/fake_clock.h"
#include "workqueue/rate_limiting_queue.h"
#include "workqueue/snapshot.h"

namespace reference {
namespace {

constexpr absl::Duration kMaxDelay = absl::Seconds(8);

class RateLimitingQueueModel : public DelayingQueueModel {
 public:
  RateLimitingQueueModel(absl::Time start, absl::Duration base_delay)
      : DelayingQueueModel(start, Options()), limiter_(base_delay, kMaxDelay) {}

  bool AddRateLimited(int item) { return AddAfter(item, limiter_.When(item)); }
  void Forget(int item) { limiter_.Forget(item); }
  int NumRequeues(int item) const { return limiter_.NumRequeues(item); }

  workqueue::Snapshot<int> TakeSnapshot() const {
    workqueue::Snapshot<int> snapshot = DelayingQueueModel::TakeSnapshot();
    workqueue::internal::CountFailures(&snapshot, limiter_);
    return snapshot;
  }

 private:
  RateLimiterModel limiter_;
};

std::string Run(Choices choices, std::string* log) {
  choices.Next();
  const int items = choices.Items();
  const absl::Duration base_delay =
      absl::Milliseconds(500 * (2 - choices.Below(3)));

  workqueue::FakeClock clock;
  workqueue::RateLimitingQueueOptions<int> options;
  options.clock = &clock;
  options.rate_limiter =
      *workqueue::ItemExponentialFailureRateLimiter<int>::Create(base_delay,
                                                                 kMaxDelay);
  workqueue::RateLimitingQueue<int> queue(std::move(options));
  RateLimitingQueueModel model(clock.TimeNow(), base_delay);

  Comparison comparison(log);
  comparison.Did("RateLimitingQueue", base_delay);
  DelayingOperations<RateLimitingQueueModel> operations(&queue, &model, &clock,
                                                        &comparison);
  while (!choices.empty() && comparison.agrees()) {
    choices.Next();
    const int choice = choices.Below(100);
    if (choice < 75) {
      operations.DoOne(choice, choices, items);
    } else if (choice < 90) {
      const int item = choices.Below(items);
      comparison.Returned(queue.AddRateLimited(item),
                          model.AddRateLimited(item), "AddRateLimited", item);
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

}  // namespace

Subject LinkedSubject() { return {"rate_limiting_queue", Run}; }

}  // namespace reference
