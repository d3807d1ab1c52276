// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// A priority queue does as its model does, whatever is asked of it in whatever
// order.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "clock/fake_clock.h"
#include "gtest/gtest.h"
#include "ratelimit/rate_limiter.h"
#include "test/workqueue/recording_metrics.h"
#include "workqueue/lease.h"
#include "workqueue/priority_queue.h"
#include "workqueue/snapshot.h"

namespace workqueue {
namespace {

// With each seed.
constexpr int kOperations = 40000;

// Delays the nth time by n seconds, and by none every fourth time.
class CountingLimiter final : public ratelimit::RateLimiter<int> {
 public:
  absl::Duration When(const int& item) override {
    return absl::Seconds(++requeues_[item] % 4);
  }
  void Forget(const int& item) override { requeues_.erase(item); }
  int NumRequeues(const int& item) override {
    const auto it = requeues_.find(item);
    return it == requeues_.end() ? 0 : it->second;
  }

 private:
  std::map<int, int> requeues_;
};

// The promises of a priority queue, as plainly as they can be written, for one
// thread: a list, searched from end to end for everything.
class PriorityQueueModel {
 public:
  struct Entry {
    int item;
    int priority;
    int sequence;
    // In the past if it waits for no time.
    absl::Time ready_at;
  };

  explicit PriorityQueueModel(absl::Time start) : now_(start) {}

  bool Add(int item, absl::Duration delay, int priority) {
    if (shutting_down_) return false;
    if (delay > absl::ZeroDuration()) ++retries_;
    Entry* const entry = Find(item);
    if (entry == nullptr) {
      entries_.push_back({item, priority, next_++, ReadyAt(delay)});
      if (delay <= absl::ZeroDuration()) ++adds_;
      return true;
    }
    if (priority > entry->priority) {
      entry->priority = priority;
      entry->sequence = next_++;
    }
    if (Waits(*entry)) {
      entry->ready_at = std::min(entry->ready_at, ReadyAt(delay));
      if (!Waits(*entry)) ++adds_;
    }
    return true;
  }

  bool Reschedule(int item, absl::Duration delay) {
    if (shutting_down_) return false;
    Entry* const entry = Find(item);
    if (entry == nullptr || !Waits(*entry)) return Add(item, delay, 0);
    entry->ready_at = ReadyAt(delay);
    if (!Waits(*entry)) ++adds_;
    return true;
  }

  bool CancelDelayed(int item) {
    if (shutting_down_) return false;
    const Entry* const entry = Find(item);
    if (entry == nullptr || !Waits(*entry)) return false;
    Erase(item);
    return true;
  }

  // Null if there is nothing to hand out.
  std::optional<std::pair<int, int>> Get() {
    const std::vector<Entry> queued = Queued();
    if (queued.empty()) return std::nullopt;
    const auto [item, priority] =
        std::make_pair(queued.front().item, queued.front().priority);
    Erase(item);
    processing_.push_back(item);
    return std::make_pair(item, priority);
  }

  bool Done(int item) {
    const auto it = std::find(processing_.begin(), processing_.end(), item);
    if (it == processing_.end()) return false;
    processing_.erase(it);
    return true;
  }

  void Step(absl::Duration d) {
    now_ += d;
    // What is due is added by time, by priority, and in its order.
    std::vector<Entry*> due;
    for (Entry& entry : entries_) {
      if (Waits(entry) && entry.ready_at <= now_) due.push_back(&entry);
    }
    std::sort(due.begin(), due.end(), [](const Entry* a, const Entry* b) {
      return std::make_tuple(a->ready_at, -int64_t{a->priority}, a->sequence) <
             std::make_tuple(b->ready_at, -int64_t{b->priority}, b->sequence);
    });
    for (Entry* entry : due) {
      entry->ready_at = absl::InfinitePast();
      entry->sequence = next_++;
      ++adds_;
    }
  }

  void ShutDown() {
    shutting_down_ = true;
    entries_.erase(std::remove_if(entries_.begin(), entries_.end(), Waits),
                   entries_.end());
  }

  // What can be handed out, the first one first.
  std::vector<Entry> Queued() const {
    std::vector<Entry> queued;
    for (const Entry& entry : entries_) {
      if (!Waits(entry) && !IsProcessed(entry.item)) queued.push_back(entry);
    }
    std::sort(queued.begin(), queued.end(), [](const Entry& a, const Entry& b) {
      return a.priority != b.priority ? a.priority > b.priority
                                      : a.sequence < b.sequence;
    });
    return queued;
  }

  std::map<int, Entry> Waiting() const {
    std::map<int, Entry> waiting;
    for (const Entry& entry : entries_) {
      if (Waits(entry)) waiting.emplace(entry.item, entry);
    }
    return waiting;
  }

  // What has been added and not handed out.
  std::map<int, int> DepthByPriority() const {
    std::map<int, int> depth;
    for (const Entry& entry : entries_) {
      if (!Waits(entry)) ++depth[entry.priority];
    }
    return depth;
  }

  const std::vector<int>& processing() const { return processing_; }
  bool shutting_down() const { return shutting_down_; }
  int adds() const { return adds_; }
  int retries() const { return retries_; }

 private:
  static bool Waits(const Entry& entry) {
    return entry.ready_at != absl::InfinitePast();
  }

  absl::Time ReadyAt(absl::Duration delay) const {
    return delay > absl::ZeroDuration() ? now_ + delay : absl::InfinitePast();
  }

  bool IsProcessed(int item) const {
    return std::count(processing_.begin(), processing_.end(), item) > 0;
  }

  Entry* Find(int item) {
    for (Entry& entry : entries_) {
      if (entry.item == item) return &entry;
    }
    return nullptr;
  }

  void Erase(int item) {
    entries_.erase(
        std::remove_if(entries_.begin(), entries_.end(),
                       [item](const Entry& e) { return e.item == item; }),
        entries_.end());
  }

  absl::Time now_;
  std::vector<Entry> entries_;   // queued, waiting, or to be queued when done
  std::vector<int> processing_;  // the longest one first
  int next_ = 0;
  int adds_ = 0;
  int retries_ = 0;
  bool shutting_down_ = false;
};

// A queue and its model, which both do the same.
class Pair {
 public:
  Pair() : model_(clock_.TimeNow()) {
    metrics_.with_priorities = true;
    PriorityQueueOptions<int> options;
    options.name = "model";
    options.metrics_provider = &metrics_;
    options.clock = &clock_;
    options.rate_limiter = std::make_unique<CountingLimiter>();
    queue_ = std::make_unique<PriorityQueue<int>>(std::move(options));
  }

  size_t Len() const { return queue_->Len(); }

  void Add(const AddOptions& options, const std::vector<int>& items) {
    EXPECT_EQ(queue_->AddWithOptions(options, items),
              items.empty() || !model_.shutting_down());
    for (int item : items) {
      absl::Duration delay = options.after;
      if (options.rate_limited && !model_.shutting_down()) {
        const absl::Duration limited = limiter_.When(item);
        if (delay == absl::ZeroDuration() || limited < delay) delay = limited;
      }
      model_.Add(item, delay, options.priority);
    }
  }

  void AddAfter(int item, absl::Duration delay) {
    EXPECT_EQ(queue_->AddAfter(item, delay), model_.Add(item, delay, 0));
  }

  void Reschedule(int item, absl::Duration delay) {
    EXPECT_EQ(queue_->Reschedule(item, delay), model_.Reschedule(item, delay));
  }

  void CancelDelayed(int item) {
    EXPECT_EQ(queue_->CancelDelayed(item), model_.CancelDelayed(item));
  }

  void Forget(int item) {
    EXPECT_EQ(queue_->NumRequeues(item), limiter_.NumRequeues(item));
    queue_->Forget(item);
    limiter_.Forget(item);
  }

  // In one of the ways that there are.
  void Get(int way) {
    if (queue_->Len() == 0 && !model_.shutting_down()) return;
    const std::optional<std::pair<int, int>> expected = model_.Get();
    std::optional<std::pair<int, int>> got;
    if (way == 0) {
      if (const auto item = queue_->GetWithPriority()) {
        got.emplace(item->item, item->priority);
      }
    } else if (way == 1) {
      // Leased: only the lease can end this.
      if (Lease<int> lease = queue_->Acquire()) {
        got.emplace(*lease, lease.priority());
        leases_.push_back(std::move(lease));
      }
    } else if (const std::optional<int> item = queue_->Get()) {
      got.emplace(*item, expected ? expected->second : 0);
    }
    EXPECT_EQ(got, expected);
  }

  void Done(int item) {
    const auto lease =
        std::find_if(leases_.begin(), leases_.end(),
                     [item](const Lease<int>& l) { return *l == item; });
    if (lease == leases_.end()) {
      EXPECT_EQ(queue_->Done(item), model_.Done(item));
      return;
    }
    EXPECT_FALSE(queue_->Done(item));
    leases_.erase(lease);
    EXPECT_TRUE(model_.Done(item));
  }

  void Step(absl::Duration d) {
    clock_.Step(d);
    model_.Step(d);
  }

  void ShutDown() {
    queue_->ShutDown();
    model_.ShutDown();
  }

  // Everything that can be seen is equal.
  void Compare() {
    clock_.Step(absl::ZeroDuration());
    const Snapshot<int> snapshot = queue_->TakeSnapshot();
    const std::vector<PriorityQueueModel::Entry> queued = model_.Queued();
    ASSERT_EQ(queue_->Len(), queued.size());
    ASSERT_EQ(snapshot.queued.size(), queued.size());
    for (size_t i = 0; i < queued.size(); ++i) {
      EXPECT_EQ(snapshot.queued[i].item, queued[i].item);
      EXPECT_EQ(snapshot.queued[i].priority, queued[i].priority);
    }
    const std::map<int, PriorityQueueModel::Entry> waiting = model_.Waiting();
    ASSERT_EQ(snapshot.waiting.size(), waiting.size());
    for (size_t i = 0; i < waiting.size(); ++i) {
      const Snapshot<int>::Waiting& shown = snapshot.waiting[i];
      ASSERT_EQ(waiting.count(shown.item), 1u);
      EXPECT_EQ(shown.ready_at, waiting.at(shown.item).ready_at);
      EXPECT_EQ(shown.priority, waiting.at(shown.item).priority);
      if (i > 0) {
        EXPECT_GE(shown.ready_at, snapshot.waiting[i - 1].ready_at);
      }
    }
    ASSERT_EQ(snapshot.processing.size(), model_.processing().size());
    for (size_t i = 0; i < snapshot.processing.size(); ++i) {
      EXPECT_EQ(snapshot.processing[i].item, model_.processing()[i]);
    }
    std::map<int, int> depth = metrics_.depth_by_priority();
    for (auto it = depth.begin(); it != depth.end();) {
      it = it->second == 0 ? depth.erase(it) : std::next(it);
    }
    EXPECT_EQ(depth, model_.DepthByPriority());
    EXPECT_EQ(metrics_.count(MetricKind::kAdds), model_.adds());
    EXPECT_EQ(metrics_.count(MetricKind::kRetries), model_.retries());
  }

 private:
  clocks::FakeClock clock_;
  RecordingMetrics metrics_;
  std::unique_ptr<PriorityQueue<int>> queue_;
  std::vector<Lease<int>> leases_;
  PriorityQueueModel model_;
  CountingLimiter limiter_;
};

class PriorityQueueModelTest : public testing::TestWithParam<int> {};

INSTANTIATE_TEST_SUITE_P(Seeds, PriorityQueueModelTest, testing::Range(1, 9));

TEST_P(PriorityQueueModelTest, DoesAsItsModel) {
  std::mt19937 random(GetParam());
  const auto below = [&random](int n) {
    return static_cast<int>(random() % n);
  };
  constexpr int kPriorities[] = {0,
                                 1,
                                 -1,
                                 100,
                                 -100,
                                 std::numeric_limits<int>::min(),
                                 std::numeric_limits<int>::max()};
  for (int done = 0; done < kOperations;) {
    // One queue's life.
    Pair pair;
    const int items = 1 + below(40);
    const int priorities = 1 + below(7);
    const int length = 1 + below(5000);
    const int gets = 10 + below(30);
    // Few different ones, so that many are equal; some not positive.
    const auto delay = [&] {
      return below(50) == 0 ? absl::InfiniteDuration()
                            : absl::Seconds(below(12) - 2);
    };
    for (int i = 0; i < length; ++i, ++done) {
      SCOPED_TRACE(done);
      const int item = below(items);
      const int choice = below(100);
      if (choice < gets) {
        pair.Get(below(3));
      } else if (choice < 55) {
        pair.Done(item);
      } else if (choice < 80) {
        AddOptions options;
        if (below(2) == 0) options.after = delay();
        options.rate_limited = below(3) == 0;
        options.priority = kPriorities[below(priorities)];
        std::vector<int> added(below(4));
        for (int& one : added) one = below(items);
        pair.Add(options, added);
      } else if (choice < 85) {
        pair.AddAfter(item, delay());
      } else if (choice < 89) {
        pair.Reschedule(item, delay());
      } else if (choice < 92) {
        pair.CancelDelayed(item);
      } else if (choice < 94) {
        pair.Forget(item);
      } else {
        pair.Step(absl::Milliseconds(500 * below(8)));
      }
      if (choice % 4 == 0) pair.Compare();
      if (i == length * 7 / 8) pair.ShutDown();
      ASSERT_FALSE(HasFailure());
    }
  }
}

}  // namespace
}  // namespace workqueue
