// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <cstddef>
#include <deque>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/config.h"
#include "absl/strings/str_cat.h"
#include "test/reference/choices.h"
#include "test/reference/comparison.h"
#include "test/reference/fair_ordering_model.h"
#include "test/reference/subject.h"
#include "workqueue/fair_ordering.h"
#include "workqueue/ordering.h"

namespace reference {
namespace fair_ordering_subject {
namespace {

using Ordering = workqueue::FairOrdering<int, int>;
using Options = workqueue::FairOrderingOptions<int, int>;

class Entry final : public workqueue::QueuedItem<int> {
 public:
  enum class Place { kNowhere, kQueued, kProcessed };

  explicit Entry(int item) : QueuedItem(item) {}

  using QueuedItem::set_is_retry;
  using QueuedItem::set_priority;

  Place place = Place::kNowhere;
};

std::string ToText(const FairOrderingModel::Item& item) {
  return absl::StrCat(item.item, " at ", item.priority,
                      item.retry ? ", a retry" : "");
}

// A fair ordering and its model, which are used as a queue uses them.
class Run {
 public:
  Run(Choices choices, std::string* log) : choices_(choices), comparison_(log) {
    const Options options = ChooseOptions();
    ordering_ = *Ordering::Create(options);
    model_ = std::make_unique<FairOrderingModel>(options);
    for (const auto& dimension : options.dimensions) {
      comparison_.Did("Dimension", dimension.max_in_process,
                      dimension.count_processing);
    }
    comparison_.Did("FairOrdering", options.max_retries_in_process);
    for (int i = 0; i < 24; ++i) entries_.emplace_back(i);
  }

  std::string Disagreement() && {
    while (!choices_.empty() && comparison_.agrees()) {
      choices_.Next();
      DoOne();
      comparison_.Same("Len()", ordering_->Len(), model_->Len());
      comparison_.Same("HasNext()", ordering_->HasNext(), model_->HasNext());
    }
    CompareOrders();
    return comparison_.disagreement();
  }

 private:
  Options ChooseOptions() {
    constexpr size_t kUnbounded = std::numeric_limits<size_t>::max();
    constexpr size_t kBounds[] = {kUnbounded, kUnbounded, 1, 2, 3};
    choices_.Next();
    Options options;
    const int number_and_bound = choices_.Below(20);
    options.dimensions.resize(number_and_bound / 5);
    options.max_retries_in_process = kBounds[number_and_bound % 5];
    int divisor = 1;
    for (auto& dimension : options.dimensions) {
      dimension.group_of = [this, divisor](int item) {
#ifdef ABSL_HAVE_EXCEPTIONS
        if (until_failure_ > 0 && --until_failure_ == 0) throw Failure();
#endif
        return item / divisor % 3;
      };
      divisor *= 3;
      dimension.weight_of = [](int group) { return 2 * group; };  // 0 is 1
      const int how = choices_.Below(10);
      dimension.max_in_process = kBounds[how % 5];
      dimension.count_processing = how >= 5;
    }
    return options;
  }

  void DoOne() {
    const int choice = choices_.Below(100);
    const int item = choices_.Below(static_cast<int>(entries_.size()));
    Entry& entry = entries_[item];
    if (choice < 25 && model_->HasNext()) {
      Pop();
    } else if (choice < 97) {
      switch (entry.place) {
        case Entry::Place::kNowhere:
          return Push(entry);
        case Entry::Place::kQueued:
          return choice < 70 ? Move(entry) : Remove(entry);
        case Entry::Place::kProcessed:
          return Done(entry);
      }
    } else {
      CompareOrders();
    }
  }

  // Usually chooses one of two priorities.
  void Push(Entry& entry) {
    constexpr int kPriorities[] = {0, 0, 0, 0, 0, 1, 1, -100};
    const int how = choices_.Below(32);
    entry.set_priority(kPriorities[how % 8]);
    entry.set_is_retry(how >= 24);
    // Ends here if a function of the ordering fails, which changes nothing.
    if (!TryPush(entry, choices_.Below(30))) return;
    entry.place = Entry::Place::kQueued;
    const FairOrderingModel::Item item = {entry.item(), entry.priority(),
                                          entry.is_retry()};
    model_->Push(item);
    comparison_.Did("Push", ToText(item));
  }

  bool TryPush(Entry& entry, int failure) {
    // Most calls do not fail.
    until_failure_ = std::max(0, failure - 26);
#ifdef ABSL_HAVE_EXCEPTIONS
    try {
      ordering_->Push(&entry);
    } catch (const Failure&) {
      comparison_.Did("Push fails", entry.item());
      return false;
    }
#else
    ordering_->Push(&entry);
#endif
    until_failure_ = 0;
    return true;
  }

  void Pop() {
    const FairOrderingModel::Item expected = model_->Pop();
    Entry* const got = static_cast<Entry*>(ordering_->Pop());
    comparison_.Returned(ToText(FairOrderingModel::Item{
                             got->item(), got->priority(), got->is_retry()}),
                         ToText(expected), "Pop");
    got->place = Entry::Place::kProcessed;
  }

  void Done(Entry& entry) {
    ordering_->OnDone(&entry);
    model_->Done(entry.item());
    entry.place = Entry::Place::kNowhere;
    comparison_.Did("OnDone", entry.item());
  }

  void Remove(Entry& entry) {
    // A function may fail in this call, too.
    until_failure_ = std::max(0, choices_.Below(20) - 16);
    comparison_.Returned(ordering_->Remove(&entry), true, "Remove",
                         entry.item());
    until_failure_ = 0;
    model_->Remove(entry.item());
    entry.place = Entry::Place::kNowhere;
  }

  // Removes `entry` and inserts it elsewhere.
  void Move(Entry& entry) {
    ordering_->Remove(&entry);
    model_->Remove(entry.item());
    entry.place = Entry::Place::kNowhere;
    comparison_.Did("Remove", entry.item());
    Push(entry);
  }

  // Compares the whole orders, and a part that a snapshot may ask for.
  void CompareOrders() {
    std::vector<FairOrderingModel::Item> got;
    const size_t max = choices_.Below(4) == 0 ? 5 : entries_.size() + 1;
    if (model_->Len() > 0) {
      ordering_->ForEach([&got, max](const workqueue::QueuedItem<int>& item) {
        got.push_back({item.item(), item.priority(), item.is_retry()});
        return got.size() < max;
      });
    }
    const std::vector<int> ready = model_->Ready();
    std::vector<int> first;
    while (first.size() < std::min(ready.size(), got.size())) {
      first.push_back(got[first.size()].item);
    }
    comparison_.Did("ForEach");
    comparison_.Same("the number of visited items", got.size(),
                     std::min(max, model_->Len()));
    comparison_.Same("the order of the ready items", first,
                     {ready.begin(), ready.begin() + first.size()});
    got.erase(got.begin(), got.begin() + first.size());
    comparison_.Holds(std::is_sorted(got.begin(), got.end(),
                                     [](const auto& a, const auto& b) {
                                       return a.priority > b.priority;
                                     }),
                      "the items that are held back are sorted by priority");
    const std::vector<FairOrderingModel::Item> held = model_->Held();
    const auto is_held = [&held](const FairOrderingModel::Item& item) {
      return std::count(held.begin(), held.end(), item) == 1;
    };
    const auto is_visited_once = [&got](const FairOrderingModel::Item& item) {
      return std::count(got.begin(), got.end(), item) == 1;
    };
    comparison_.Holds(std::all_of(got.begin(), got.end(), is_held) &&
                          std::all_of(got.begin(), got.end(), is_visited_once),
                      "the items that are held back come last, once each");
  }

  struct Failure {};

  Choices choices_;
  Comparison comparison_;
  std::deque<Entry> entries_;
  // The call of a `group_of` that fails; 0 means none.
  int until_failure_ = 0;
  std::unique_ptr<Ordering> ordering_;
  std::unique_ptr<FairOrderingModel> model_;
};

}  // namespace
}  // namespace fair_ordering_subject

Subject FairOrderingSubject() {
  return {"fair_ordering",
          [](Choices choices, std::string* log) {
            return fair_ordering_subject::Run(choices, log).Disagreement();
          },
          /*slowness=*/20};
}

}  // namespace reference
