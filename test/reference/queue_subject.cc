// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "test/reference/choices.h"
#include "test/reference/comparison.h"
#include "test/reference/fair_ordering_model.h"
#include "test/reference/queue_model.h"
#include "test/reference/queue_operations.h"
#include "test/reference/subject.h"
#include "test/workqueue/contended_queue.h"
#include "workqueue/clock/fake_clock.h"
#include "workqueue/fair_ordering.h"
#include "workqueue/ordering.h"
#include "workqueue/queue.h"

namespace reference {
namespace queue_subject {
namespace {

// Implements QueueModel::Order::kTouchedLast.
class TouchedLast final : public workqueue::Ordering<int> {
 public:
  using Item = workqueue::QueuedItem<int>;

  void Push(Item* item) override { items_.push_back(item); }

  void Touch(Item* item) override {
    items_.erase(std::find(items_.begin(), items_.end(), item));
    items_.push_back(item);
  }

  size_t Len() const override { return items_.size(); }

  Item* Pop() override {
    Item* const item = items_.front();
    items_.erase(items_.begin());
    return item;
  }

  bool ForEach(absl::FunctionRef<bool(const Item&)> visit) const override {
    for (const Item* item : items_) {
      if (!visit(*item)) break;
    }
    return true;
  }

 private:
  std::vector<Item*> items_;
};

std::unique_ptr<workqueue::Ordering<int>> NewOrdering(
    QueueModel::Order order, const FairOrderingModel::Options& fair) {
  switch (order) {
    case QueueModel::Order::kFifo:
      break;
    case QueueModel::Order::kTouchedLast:
      return std::make_unique<TouchedLast>();
    case QueueModel::Order::kFair:
      return *workqueue::FairOrdering<int, int>::Create(fair);
  }
  return nullptr;
}

std::string Run(Choices choices, std::string* log) {
  constexpr QueueModel::Order kOrders[] = {QueueModel::Order::kFifo,
                                           QueueModel::Order::kTouchedLast,
                                           QueueModel::Order::kFair};
  constexpr const char* kNames[] = {"first in, first out", "touched last",
                                    "fair"};
  choices.Next();
  const int order_and_kind = choices.Below(3 * 8);
  const int order = order_and_kind / 8;
  const int kind = order_and_kind % 8;
  const FairOrderingModel::Options fair = FairOrderingModel::OptionsOf(kind);
  const int items = 1 + choices.Below(choices.OneIn(2) ? 30 : 6);

  workqueue::FakeClock clock;
  workqueue::QueueOptions<int> options;
  options.clock = &clock;
  options.ordering = NewOrdering(kOrders[order], fair);
  // With the fourth byte. The queue is used as if threads contended for it.
  const bool contended = choices.OneIn(2);
  const std::unique_ptr<workqueue::Queue<int>> queue =
      contended
          ? std::make_unique<workqueue::ContendedQueue<int>>(std::move(options))
          : std::make_unique<workqueue::Queue<int>>(std::move(options));
  QueueModel model(kOrders[order], fair);

  Comparison comparison(log);
  comparison.Did(contended ? "ContendedQueue" : "Queue", kNames[order], kind);
  QueueOperations<QueueModel> operations(queue.get(), &model, &clock,
                                         &comparison);
  while (!choices.empty() && comparison.agrees()) {
    choices.Next();
    operations.DoOne(choices, items);
    operations.Compare();
  }
  operations.Finish();
  return comparison.disagreement();
}

}  // namespace
}  // namespace queue_subject

Subject QueueSubject() { return {"queue", queue_subject::Run}; }

}  // namespace reference
