// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "ratelimit/item_exponential_failure_rate_limiter.h"
#include "test/reference/choices.h"
#include "test/reference/comparison.h"
#include "test/reference/delaying_operations.h"
#include "test/reference/driven_loops.h"
#include "test/reference/fair_ordering_model.h"
#include "test/reference/priority_queue_model.h"
#include "test/reference/rate_limiter_model.h"
#include "test/reference/subject.h"
#include "test/workqueue/contended_queue.h"
#include "test/workqueue/recording_metrics.h"
#include "workqueue/clock/fake_clock.h"
#include "workqueue/fair_ordering.h"
#include "workqueue/priority_queue.h"

namespace reference {
namespace priority_queue_subject {
namespace {

using ::workqueue::MetricKind;

// A priority queue and its model, with or without metrics.
class Run {
 public:
  Run(Choices choices, std::string* log) : choices_(choices), comparison_(log) {
    choices_.Next();
    items_ = choices_.Items();
    const int base_and_kind = choices_.Below(3 * 16);
    const int base = base_and_kind / 16;
    const int kind =
        base_and_kind % 16 - 8;  // of the ordering, if not negative
    with_metrics_ = choices_.OneIn(4);
    contended_ = choices_.OneIn(2);
    const absl::Duration base_delay = absl::Milliseconds(500 * (2 - base));
    constexpr absl::Duration kMaxDelay = absl::Seconds(8);

    metrics_.with_priorities = true;
    workqueue::PriorityQueueOptions<int> options;
    if (with_metrics_) options.name = "reference";
    options.metrics_provider = &metrics_;
    options.clock = ClockOrLoop(&clock_);
    options.rate_limiter =
        *workqueue::ItemExponentialFailureRateLimiter<int>::Create(base_delay,
                                                                   kMaxDelay);
    std::optional<FairOrderingModel::Options> fair;
    if (kind >= 0) {
      items_ = std::min(items_, 30);  // The model is slow.
      fair = FairOrderingModel::OptionsOf(kind);
      options.ordering = *workqueue::FairOrdering<int, int>::Create(*fair);
    }
    queue_ =
        std::make_unique<workqueue::PriorityQueue<int>>(std::move(options));
    model_ = std::make_unique<PriorityQueueModel>(
        clock_.TimeNow(), RateLimiterModel(base_delay, kMaxDelay), fair);
    comparison_.Did("PriorityQueue", base_delay, kind,
                    with_metrics_ ? "with metrics" : "without metrics",
                    contended_ ? "contended" : "");
    operations_ = std::make_unique<DelayingOperations<PriorityQueueModel>>(
        queue_.get(), model_.get(), &clock_, &comparison_);
  }

  std::string Disagreement() && {
    while (!choices_.empty() && comparison_.agrees()) {
      choices_.Next();
      if (contended_) workqueue::internal::RingOpener::Open(queue_.get());
      DoOne(choices_.Below(100));
      operations_->Compare();
      if (with_metrics_) CompareMetrics();
    }
    operations_->Finish();
    return comparison_.disagreement();
  }

 private:
  void DoOne(int choice) {
    if (choice < 72) {
      operations_->DoOne(choice, choices_, items_);
    } else if (choice < 88) {
      AddWithOptions();
    } else if (choice < 90) {
      const int item = choices_.Below(items_);
      comparison_.Returned(queue_->AddRateLimited(item),
                           model_->AddRateLimited(item), "AddRateLimited",
                           item);
    } else if (choice < 91) {
      const int item = choices_.Below(items_);
      const absl::Duration delay = choices_.Delay();
      comparison_.Returned(queue_->AddRateLimitedAfter(item, delay),
                           model_->AddRateLimitedAfter(item, delay),
                           "AddRateLimitedAfter", item, delay);
    } else if (choice < 93) {
      const int item = choices_.Below(items_);
      queue_->Forget(item);
      model_->Forget(item);
      comparison_.Did("Forget", item);
    } else if (choice < 94) {
      const int item = choices_.Below(items_);
      comparison_.Returned(queue_->NumRequeues(item), model_->NumRequeues(item),
                           "NumRequeues", item);
    } else {
      GetWithPriority();
    }
  }

  void AddWithOptions() {
    constexpr int kPriorities[] = {0,
                                   1,
                                   -1,
                                   100,
                                   -100,
                                   std::numeric_limits<int>::min(),
                                   std::numeric_limits<int>::max()};
    constexpr int kMostItems = 3;
    std::vector<int> items = {choices_.Below(items_)};
    const int choice = choices_.Below(2 * 4 * kMostItems * 7);
    const int how = choice / 2;
    workqueue::AddOptions options;
    options.priority = kPriorities[how % 7];
    options.rate_limited = how / 14 % 2 == 1;
    if (how / 7 % 2 == 1) {
      options.after = choices_.Delay();
      options.reschedule = !options.rate_limited && choices_.OneIn(3);
    }
    if (choice % 2 == 1) options.retry_after = choices_.Delay();
    options.retry = options.retry_after.has_value();
    while (static_cast<int>(items.size()) <= how / 28) {
      items.push_back((items.back() + 1) % items_);
    }
    comparison_.Returned(queue_->AddWithOptions(options, items),
                         model_->AddWithOptions(options, items),
                         "AddWithOptions", items, options.priority,
                         options.after.value_or(absl::ZeroDuration()),
                         options.rate_limited ? "limited"
                         : options.reschedule ? "rescheduled"
                                              : "not limited",
                         options.retry_after, options.retry);
  }

  void GetWithPriority() {
    if (operations_->GetsBlock()) return;
    using ItemAndPriority = std::optional<std::tuple<int, int>>;
    ItemAndPriority got, expected;
    if (const auto item = queue_->GetWithPriority()) {
      got.emplace(item->item, item->priority);
    }
    if (const auto item = model_->Get()) {
      expected.emplace(item->item, item->priority);
    }
    comparison_.Returned(got, expected, "GetWithPriority");
  }

  void CompareMetrics() {
    comparison_.Same("adds", metrics_.count(MetricKind::kAdds), model_->adds());
    comparison_.Same("retries", metrics_.count(MetricKind::kRetries),
                     model_->retries());
    std::map<int, int> depth = metrics_.depth_by_priority();
    for (auto it = depth.begin(); it != depth.end();) {
      it = it->second == 0 ? depth.erase(it) : std::next(it);
    }
    comparison_.Holds(depth == model_->DepthByPriority(),
                      "the depth by priority is the model's");
  }

  Choices choices_;
  Comparison comparison_;
  workqueue::FakeClock clock_;
  workqueue::RecordingMetrics metrics_;
  bool with_metrics_;
  // The queue is used as if threads contended for it.
  bool contended_ = false;
  int items_;
  std::unique_ptr<workqueue::PriorityQueue<int>> queue_;
  std::unique_ptr<PriorityQueueModel> model_;
  std::unique_ptr<DelayingOperations<PriorityQueueModel>> operations_;
};

}  // namespace
}  // namespace priority_queue_subject

Subject PriorityQueueSubject() {
  return {"priority_queue",
          [](Choices choices, std::string* log) {
            return priority_queue_subject::Run(choices, log).Disagreement();
          },
          /*slowness=*/2};
}

}  // namespace reference
