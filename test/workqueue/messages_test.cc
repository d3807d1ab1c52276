// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Tests of the messages that the queues write to a `LogSink`.

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <new>
#include <ostream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/config.h"
#include "absl/base/log_severity.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "test/base/fragile_key.h"
#include "test/workqueue/hooked_queue.h"
#include "test/workqueue/recording_log.h"
#include "test/workqueue/recording_metrics.h"
#include "test/workqueue/watched_fifo.h"
#include "workqueue/clock/fake_clock.h"
#include "workqueue/delaying_queue.h"
#include "workqueue/lease.h"
#include "workqueue/log_sink.h"
#include "workqueue/priority_queue.h"
#include "workqueue/queue.h"
#include "workqueue/rate_limiting_queue.h"

namespace workqueue::messages_test {
namespace {

using Strings = std::vector<std::string>;

constexpr absl::Duration kSecond = absl::Seconds(1);

class MessagesTest : public testing::Test {
 protected:
  // Sets the options that all queues in this file share.
  template <typename Options>
  Options Complete(Options options) {
    options.name = "test";
    options.clock = &clock_;
    options.log_sink = &log_;
    return options;
  }

  // Returns a delaying queue whose queue below takes an item if `on_add`
  // returns true.
  template <typename T>
  std::unique_ptr<DelayingQueue<T>> Above(std::function<bool(const T&)> on_add,
                                          DelayingQueueOptions<T> options) {
    return *DelayingQueue<T>::Create(
        std::make_unique<HookedQueue<T>>(std::move(on_add), &clock_),
        std::move(options));
  }
  template <typename T>
  std::unique_ptr<DelayingQueue<T>> Above(
      std::function<bool(const T&)> on_add) {
    return Above(std::move(on_add), Complete(DelayingQueueOptions<T>()));
  }

  // Returns the messages since the last call.
  Strings Written() {
    const Strings all = log_.messages();
    const Strings written(all.begin() + seen_, all.end());
    seen_ = all.size();
    return written;
  }

  FakeClock clock_;
  RecordingLog log_;

 private:
  size_t seen_ = 0;
};

TEST_F(MessagesTest, AnItemThatTheQueueBelowDoesNotTakeIsToldEachTime) {
  bool takes = false;
  const auto owned =
      Above<std::string>([&takes](const std::string&) { return takes; });
  auto& queue = *owned;
  queue.AddAfter("a", kSecond);
  clock_.Step(kSecond);
  const Strings expected = {
      "E queue test: a is due and cannot be added yet: UNAVAILABLE: out of "
      "reach"};
  EXPECT_EQ(Written(), expected);
  clock_.Step(kSecond);
  EXPECT_EQ(Written(), expected);
  takes = true;
  clock_.Step(kSecond);
  EXPECT_EQ(queue.Get(), "a");
  EXPECT_EQ(Written(), Strings());
}

TEST_F(MessagesTest, ManyErrorsAtOnceAreTenMessages) {
  const auto owned = Above<int>([](int) { return false; });
  auto& queue = *owned;
  for (int i = 0; i < 1000; ++i) queue.AddAfter(i, kSecond);
  clock_.Step(kSecond);
  Strings expected;
  for (int i = 0; i < 10; ++i) {
    expected.push_back(absl::StrCat(
        "E queue test: ", i,
        " is due and cannot be added yet: UNAVAILABLE: out of reach"));
  }
  EXPECT_EQ(Written(), expected);
  clock_.Step(kSecond);
  EXPECT_EQ(Written(), (Strings{expected[0] + " (errors left out before: 990)",
                                expected[1]}));
  clock_.Step(kSecond);
  EXPECT_EQ(Written(), (Strings{expected[0] + " (errors left out before: 998)",
                                expected[1]}));
}

TEST_F(MessagesTest, AnErrorIsToldAfterTheClockWentBackToo) {
  const auto owned = Above<int>([](int) { return false; });
  auto& queue = *owned;
  queue.AddAfter(1, kSecond);
  clock_.Step(kSecond);
  EXPECT_EQ(Written().size(), 1u);
  clock_.Step(-absl::Hours(1));
  queue.AddAfter(2, kSecond);
  clock_.Step(kSecond);
  EXPECT_EQ(Written(), Strings{"E queue test: 2 is due and cannot be added "
                               "yet: UNAVAILABLE: out of reach"});
}

TEST_F(MessagesTest, AQueueNeedHaveNoName) {
  auto options = Complete(DelayingQueueOptions<int>());
  options.name = "";
  const auto owned = Above<int>([](int) { return false; }, std::move(options));
  auto& queue = *owned;
  queue.AddAfter(1, kSecond);
  clock_.Step(kSecond);
  EXPECT_EQ(Written(), Strings{"E queue: 1 is due and cannot be added yet: "
                               "UNAVAILABLE: out of reach"});
}

TEST_F(MessagesTest, NamesAndItemsAreEscapedAndCut) {
  auto options = Complete(DelayingQueueOptions<std::string>());
  options.name = "a\nb";
  const auto owned = Above<std::string>(
      [](const std::string&) { return false; }, std::move(options));
  owned->AddAfter("\033[2J" + std::string(1 << 20, 'x'), kSecond);
  clock_.Step(kSecond);
  EXPECT_EQ(Written(),
            Strings{"E queue a\\nb: \\033[2J" + std::string(252, 'x') +
                    "... (1048580 bytes) is due and cannot be added yet: "
                    "UNAVAILABLE: out of reach"});
}

TEST_F(MessagesTest, AQueueThatIsShutDownMeanwhileIsNoError) {
  DelayingQueue<int>* queue = nullptr;
  const auto owned = Above<int>([&queue](int) {
    queue->ShutDown();
    return false;
  });
  queue = owned.get();
  queue->AddAfter(1, kSecond);
  queue->AddAfter(2, kSecond);
  clock_.Step(kSecond);
  EXPECT_TRUE(queue->ShuttingDown());
  EXPECT_EQ(Written(), Strings());
}

#ifdef ABSL_HAVE_EXCEPTIONS

// A function that always throws.
const auto kThrow = [](auto...) -> bool { throw std::runtime_error("thrown"); };

// Makes metrics of `kind` throw.
void Break(MetricKind kind, RecordingMetrics& metrics) {
  metrics.on_call = [kind](MetricKind called) {
    if (called == kind) kThrow();
  };
}

TEST_F(MessagesTest, WhatTheQueueBelowThrows) {
  const auto owned = Above<std::string>(kThrow);
  auto& queue = *owned;
  queue.AddAfter("a", kSecond);
  clock_.Step(kSecond);
  EXPECT_EQ(Written(), Strings{"E queue test: a is due and cannot be added "
                               "yet: INTERNAL: thrown"});
}

TEST_F(MessagesTest, ErrorsAreEscapedAndCut) {
  const auto owned = Above<std::string>([](const std::string&) -> bool {
    throw std::runtime_error("two\nlines" + std::string(2000, '.'));
  });
  owned->AddAfter("a", kSecond);
  clock_.Step(kSecond);
  EXPECT_EQ(Written(), Strings{"E queue test: a is due and cannot be added "
                               "yet: INTERNAL: two\\nlines" +
                               std::string(1005, '.') + "... (2019 bytes)"});
}

struct ThrowingEq {
  inline static std::atomic<bool> throws{false};

  bool operator()(int a, int b) const {
    if (throws) throw 1;
    return a == b;
  }
};

TEST_F(MessagesTest, WhatThrowsWhenItemsAreTakenIn) {
  DelayingQueue<int, std::hash<int>, ThrowingEq> queue(
      Complete(DelayingQueueOptions<int>()));
  queue.AddAfter(1, kSecond);
  clock_.Step(absl::ZeroDuration());
  ThrowingEq::throws = true;
  queue.AddAfter(1, kSecond / 2);
  clock_.Step(absl::ZeroDuration());
  ThrowingEq::throws = false;
  EXPECT_EQ(Written(), Strings{"E queue test: what was added cannot be taken "
                               "in yet: INTERNAL: an exception that is no "
                               "std::exception"});
  clock_.Step(kSecond);
  EXPECT_EQ(queue.Len(), 1u);
  EXPECT_EQ(Written(), Strings());
}

TEST_F(MessagesTest, ItemsNeedNotBePrintable) {
  DelayingQueue<FragileKey, FragileHash, FragileEq> queue(
      Complete(DelayingQueueOptions<FragileKey>()));
  queue.AddAfter(FragileKey(1), kSecond);
  clock_.Step(absl::ZeroDuration());
  Fuse::ArmForOthers(FragileOp::kCopy, 1);
  clock_.Step(kSecond);
  EXPECT_TRUE(Fuse::Disarm());
  EXPECT_EQ(Written(),
            Strings{"E queue test: an item (of a type without operator<< "
                    "or AbslStringify()) is due and cannot be "
                    "added yet: INTERNAL: an exception that is no "
                    "std::exception"});
}

struct ThrowsWhenPrinted {
  friend bool operator==(ThrowsWhenPrinted, ThrowsWhenPrinted) { return true; }
  template <typename H>
  friend H AbslHashValue(H state, ThrowsWhenPrinted) {
    return state;
  }
  friend std::ostream& operator<<(std::ostream&, ThrowsWhenPrinted) {
    throw std::bad_alloc();
  }
};

// As it is for lack of memory.
TEST_F(MessagesTest, AMessageThatCannotBeMade) {
  const auto owned =
      Above<ThrowsWhenPrinted>([](const ThrowsWhenPrinted&) { return false; });
  owned->AddAfter({}, kSecond);
  clock_.Step(kSecond);
  EXPECT_EQ(Written(), Strings{"E queue test: a message cannot be made; there "
                               "may be no memory"});
}

TEST_F(MessagesTest, WhatThrowsWhenAnItemOfAPriorityQueueIsDue) {
  RecordingMetrics metrics;
  auto options = Complete(PriorityQueueOptions<std::string>());
  options.metrics_provider = &metrics;
  PriorityQueue<std::string> queue(std::move(options));
  queue.AddAfter("a", kSecond);
  queue.AddAfter("b", kSecond);
  Break(MetricKind::kAdds, metrics);
  clock_.Step(kSecond);
  const Strings expected = {
      "E queue test: a is due and cannot be added yet: INTERNAL: thrown",
      "E queue test: b is due and cannot be added yet: INTERNAL: thrown"};
  EXPECT_EQ(Written(), expected);
  clock_.Step(kSecond);
  EXPECT_EQ(Written(), expected);
}

TEST_F(MessagesTest, WhatAMetricThrowsWhenProcessingEnds) {
  RecordingMetrics metrics;
  auto options = Complete(QueueOptions<std::string>());
  options.metrics_provider = &metrics;
  Queue<std::string> queue(std::move(options));
  Break(MetricKind::kWorkDuration, metrics);
  const Strings expected = {
      "E queue test: the end of a cannot be reported: INTERNAL: "
      "thrown"};
  queue.Add("a");
  EXPECT_TRUE(queue.Done(*queue.Get()));
  EXPECT_EQ(Written(), expected);
  clock_.Step(kSecond);
  queue.Add("a");
  queue.Acquire()->Done();
  EXPECT_EQ(Written(), expected);
}

TEST_F(MessagesTest, WhatAMetricThrowsWhenAnItemIsGivenBack) {
  RecordingMetrics metrics;
  auto options = Complete(QueueOptions<std::string>());
  options.metrics_provider = &metrics;
  Queue<std::string> queue(std::move(options));
  queue.Add("a");
  auto lease = queue.Acquire();
  Break(MetricKind::kDepth, metrics);
  lease->GiveBack();
  EXPECT_EQ(Written(), Strings{"E queue test: the return of a cannot be "
                               "reported: INTERNAL: thrown"});
}

TEST_F(MessagesTest, WhatAMetricThrowsWhenAnItemIsNotAdded) {
  RecordingMetrics metrics;
  auto fifo = std::make_unique<WatchedFifo<std::string>>();
  fifo->on_push = [&metrics] {
    Break(MetricKind::kDepth, metrics);
    throw std::logic_error("the caller's");
  };
  auto options = Complete(QueueOptions<std::string>());
  options.metrics_provider = &metrics;
  options.ordering = std::move(fifo);
  Queue<std::string> queue(std::move(options));
  EXPECT_THROW(queue.Add("a"), std::logic_error);
  EXPECT_EQ(Written(), Strings{"E queue test: the failed addition of a cannot "
                               "be reported: INTERNAL: thrown"});
}

TEST_F(MessagesTest, WhatAMetricOfTheWorkInProgressThrows) {
  RecordingMetrics metrics;
  auto options = Complete(QueueOptions<std::string>());
  options.metrics_provider = &metrics;
  Queue<std::string> queue(std::move(options));
  Break(MetricKind::kUnfinishedWork, metrics);
  clock_.Step(kSecond / 2);
  EXPECT_EQ(Written(), Strings{"E queue test: the work in progress cannot be "
                               "reported: INTERNAL: thrown"});
}

// The two upper queues pass the log sink on to the queue below.
TEST_F(MessagesTest, WhatAnOrderingThrowsWhenAnItemIsTakenBack) {
  auto fifo = std::make_unique<WatchedFifo<std::string>>();
  WatchedFifo<std::string>* const ordering = fifo.get();
  auto options = Complete(RateLimitingQueueOptions<std::string>());
  options.ordering = std::move(fifo);
  RateLimitingQueue<std::string> queue(std::move(options));
  queue.Add("a");
  EXPECT_EQ(queue.Get(), "a");
  queue.Add("a");
  ordering->on_push = [] { kThrow(); };
  EXPECT_TRUE(queue.Done("a"));
  EXPECT_EQ(Written(), Strings{"E queue test: a cannot be ordered, and comes "
                               "first: INTERNAL: thrown"});
  EXPECT_EQ(queue.Get(), "a");
}

TEST_F(MessagesTest, OfADelayingQueueBelowARateLimitingOne) {
  const auto owned = *RateLimitingQueue<std::string>::Create(
      Above<std::string>(kThrow), DefaultControllerRateLimiter<std::string>());
  auto& queue = *owned;
  queue.AddAfter("a", kSecond);
  clock_.Step(kSecond);
  EXPECT_EQ(Written(), Strings{"E queue test: a is due and cannot be added "
                               "yet: INTERNAL: thrown"});
}

// The queue does the same without a sink and with a sink that throws.
TEST_F(MessagesTest, NothingElseDependsOnTheLog) {
  class ThrowingLog final : public LogSink {
   public:
    void Log(absl::LogSeverity, absl::string_view) override { kThrow(); }
  };
  ThrowingLog throwing_log;
  for (LogSink* sink :
       {static_cast<LogSink*>(nullptr), static_cast<LogSink*>(&throwing_log)}) {
    int tries = 0;
    auto options = Complete(DelayingQueueOptions<std::string>());
    options.log_sink = sink;
    const auto owned = Above<std::string>(
        [&tries](const std::string&) { return ++tries > 2 || kThrow(); },
        std::move(options));
    auto& queue = *owned;
    queue.AddAfter("a", kSecond);
    clock_.Step(kSecond);
    clock_.Step(kSecond);
    EXPECT_EQ(queue.Len(), 0u);
    clock_.Step(kSecond);
    EXPECT_EQ(queue.Get(), "a");
  }
  EXPECT_EQ(Written(), Strings());
}

#endif  // ABSL_HAVE_EXCEPTIONS

}  // namespace
}  // namespace workqueue::messages_test
