// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "test/reference/choices.h"
#include "test/reference/comparison.h"
#include "test/reference/delaying_operations.h"
#include "test/reference/delaying_queue_model.h"
#include "test/reference/driven_loops.h"
#include "test/reference/subject.h"
#include "test/workqueue/hooked_queue.h"
#include "workqueue/clock/fake_clock.h"
#include "workqueue/delaying_queue.h"
#include "workqueue/timer/waiting_set_options.h"

namespace reference {
namespace delaying_queue_subject {
namespace {

// A delaying queue and its model, with a heap or a wheel, and with a normal
// queue below or one that refuses items.
class Run {
 public:
  Run(Choices choices, std::string* log) : choices_(choices), comparison_(log) {
    choices_.Next();
    workqueue::DelayingQueueOptions<int> options;
    DelayingQueueModel::Options model_options;
    options.clock = ClockOrLoop(&clock_);
    std::unique_ptr<workqueue::Interface<int>> below;
    const int kind = choices_.Below(3);
    options.add_supersedes_waiting = choices_.OneIn(2);
    model_options.add_supersedes_waiting = options.add_supersedes_waiting;
    items_ = choices_.Items();
    if (kind == 1) {
      refused_.resize(items_);
      below = std::make_unique<workqueue::HookedQueue<int>>(
          [this](int item) { return !refused_[item]; }, &clock_);
    } else if (kind == 2) {
      // Few times are multiples of this tick. The wheel has few slots, so that
      // there are several rings.
      model_options.tick = absl::Milliseconds(700);
      options.waiting_set = *workqueue::WaitingSetOptions::TimingWheel(
          model_options.tick, /*slots=*/4);
    }
    comparison_.Did("DelayingQueue",
                    kind == 0   ? "of its own"
                    : kind == 1 ? "on one that refuses"
                                : "with a wheel",
                    options.add_supersedes_waiting ? "add supersedes waiting"
                                                   : "add does not supersede");
    queue_ = below == nullptr ? std::make_unique<workqueue::DelayingQueue<int>>(
                                    std::move(options))
                              : *workqueue::DelayingQueue<int>::Create(
                                    std::move(below), std::move(options));
    model_ =
        std::make_unique<DelayingQueueModel>(clock_.TimeNow(), model_options);
    operations_ = std::make_unique<DelayingOperations<DelayingQueueModel>>(
        queue_.get(), model_.get(), &clock_, &comparison_);
  }

  std::string Disagreement() && {
    while (!choices_.empty() && comparison_.agrees()) {
      choices_.Next();
      DoOne();
      operations_->Compare();
    }
    operations_->Finish();
    return comparison_.disagreement();
  }

 private:
  void DoOne() {
    const int choice = choices_.Below(100);
    if (choice < 99 || refused_.empty()) {
      operations_->DoOne(choice, choices_, items_);
    } else {
      // Nothing is due, so the queue's thread does not read this.
      const int item = choices_.Below(items_);
      const bool refused = choices_.Below(3) == 0;
      refused_[item] = refused;
      model_->SetRefused(item, refused);
      comparison_.Did("refuse", item, refused);
    }
  }

  Choices choices_;
  Comparison comparison_;
  workqueue::FakeClock clock_;
  int items_;
  std::vector<bool> refused_;  // by the queue below, if it refuses items
  std::unique_ptr<workqueue::DelayingQueue<int>> queue_;
  std::unique_ptr<DelayingQueueModel> model_;
  std::unique_ptr<DelayingOperations<DelayingQueueModel>> operations_;
};

}  // namespace
}  // namespace delaying_queue_subject

Subject DelayingQueueSubject() {
  return {"delaying_queue", [](Choices choices, std::string* log) {
            return delaying_queue_subject::Run(choices, log).Disagreement();
          }};
}

}  // namespace reference
