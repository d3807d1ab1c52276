// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/internal/add_channel.h"

#include <atomic>
#include <cstddef>
#include <memory>
#include <vector>

#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "workqueue/testing/thread.h"

namespace workqueue {
namespace internal::add_channel_test {
namespace {

// The effect of a push.
enum class PushResult { kClosed, kTaken, kWoke };

// A channel that tells whether a push woke the loop.
class Channel : public AddChannel<int> {
 public:
  Channel() : AddChannel<int>([this] { ++wakes_; }) {}

  PushResult Push(int item, size_t hash, absl::Time ready_at) {
    const int wakes_before = wakes_;
    if (!AddChannel<int>::Push(item, hash, ready_at)) {
      return PushResult::kClosed;
    }
    return wakes_ == wakes_before ? PushResult::kTaken : PushResult::kWoke;
  }

  // Returns the number of times that `WakeBy(until)` wakes the loop.
  int WakesBy(absl::Time until) {
    const int wakes_before = wakes_;
    WakeBy(until);
    return wakes_ - wakes_before;
  }

 private:
  std::atomic<int> wakes_{0};
};

constexpr int kCapacity = static_cast<int>(Channel::kCapacity);

absl::Time At(int64_t seconds) { return absl::FromUnixSeconds(seconds); }

std::vector<Channel::Addition> Receive(Channel& channel) {
  std::vector<Channel::Addition> additions;
  channel.Receive(&additions);
  return additions;
}

TEST(AddChannelTest, HasTheCapacityOfClientGo) {
  EXPECT_EQ(Channel::kCapacity, 1000u);
}

TEST(AddChannelTest, ReceivesInTheOrderOfPushing) {
  Channel channel;
  EXPECT_TRUE(Receive(channel).empty());
  for (int i = 0; i < 100; ++i) channel.Push(i, 1000 + i, At(100 - i));
  const std::vector<Channel::Addition> additions = Receive(channel);
  ASSERT_EQ(additions.size(), 100u);
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(additions[i].item, i);
    EXPECT_EQ(additions[i].hash, 1000u + i);
    EXPECT_EQ(additions[i].ready_at, At(100 - i));
  }
  EXPECT_TRUE(Receive(channel).empty());
}

TEST(AddChannelTest, ALoopThatIsAwakeNeedsNoWake) {
  Channel channel;
  EXPECT_EQ(channel.Push(1, 1, At(1)), PushResult::kTaken);
  Receive(channel);
  EXPECT_TRUE(channel.SleepUntil(At(10)));
  channel.Awake();
  EXPECT_EQ(channel.Push(2, 2, At(1)), PushResult::kTaken);
}

// Another thread may receive the items instead of the loop.
TEST(AddChannelTest, ReceivingLeavesTheLoopAsleep) {
  Channel channel;
  EXPECT_TRUE(channel.SleepUntil(At(10)));
  EXPECT_EQ(channel.Push(1, 1, At(20)), PushResult::kTaken);
  EXPECT_EQ(Receive(channel).size(), 1u);
  EXPECT_EQ(channel.Push(2, 2, At(1)), PushResult::kWoke);
}

TEST(AddChannelTest, WakesALoopThatSleepsLonger) {
  Channel channel;
  EXPECT_EQ(channel.WakesBy(At(1)), 0) << "it is awake";
  EXPECT_TRUE(channel.SleepUntil(At(10)));
  EXPECT_EQ(channel.WakesBy(At(10)), 0);
  EXPECT_EQ(channel.WakesBy(At(9)), 1);
  EXPECT_EQ(channel.WakesBy(At(8)), 0) << "it has been asked already";
}

TEST(AddChannelTest, TheLoopMustNotSleepIfThereAreItems) {
  Channel channel;
  channel.Push(1, 1, At(5));
  EXPECT_FALSE(channel.SleepUntil(At(10)));
  EXPECT_FALSE(channel.SleepUntil(At(1)));
  Receive(channel);
  EXPECT_TRUE(channel.SleepUntil(At(10)));
}

TEST(AddChannelTest, OnlyAnEarlierItemWakes) {
  Channel channel;
  ASSERT_TRUE(channel.SleepUntil(At(10)));
  EXPECT_EQ(channel.Push(1, 1, At(11)), PushResult::kTaken);
  EXPECT_EQ(channel.Push(2, 2, At(10)), PushResult::kTaken);
  EXPECT_EQ(channel.Push(3, 3, At(10) - absl::Nanoseconds(1)),
            PushResult::kWoke);
  EXPECT_EQ(Receive(channel).size(), 3u);
}

TEST(AddChannelTest, TryPushDoesNotWakeForAnEarlierItem) {
  using Result = Channel::TryPushResult;
  Channel channel;
  EXPECT_EQ(channel.TryPush(1, 1, At(1)), Result::kPushed) << "it is awake";
  Receive(channel);
  ASSERT_TRUE(channel.SleepUntil(At(10)));
  EXPECT_EQ(channel.TryPush(2, 2, At(10)), Result::kPushed);
  EXPECT_EQ(channel.TryPush(3, 3, At(9)), Result::kWouldWake);
  EXPECT_EQ(Receive(channel).size(), 1u) << "it is not in";
  EXPECT_EQ(channel.Push(3, 3, At(9)), PushResult::kWoke) << "it sleeps still";
  channel.Close();
  EXPECT_EQ(channel.TryPush(4, 4, At(9)), Result::kClosed);
}

TEST(AddChannelTest, AnyTimeIsEarlierThanNever) {
  Channel channel;
  ASSERT_TRUE(channel.SleepUntil(absl::InfiniteFuture()));
  EXPECT_EQ(channel.Push(1, 1, absl::InfiniteFuture()), PushResult::kTaken);
  EXPECT_EQ(channel.Push(2, 2, At(1000000)), PushResult::kWoke);
}

TEST(AddChannelTest, WakesAgainAfterTheNextSleep) {
  Channel channel;
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(channel.SleepUntil(At(10)));
    EXPECT_EQ(channel.Push(1, 1, At(5)), PushResult::kWoke);
    Receive(channel);
  }
}

// The loop is woken before the channel is full, even if all items are due after
// the loop's wake time. It is woken only once.
TEST(AddChannelTest, FillingUpWakes) {
  Channel channel;
  ASSERT_TRUE(channel.SleepUntil(At(10)));
  int wakes = 0;
  for (int i = 0; i < kCapacity; ++i) {
    wakes += channel.Push(i, i, At(20)) == PushResult::kWoke;
  }
  EXPECT_EQ(wakes, 1);
  EXPECT_EQ(Receive(channel).size(), Channel::kCapacity);
}

// So a caller that cannot make room waits for it once for so many items.
TEST(AddChannelTest, TryPushFindsItFullAtEachMultipleOfItsCapacity) {
  using Result = Channel::TryPushResult;
  Channel channel;
  for (int i = 0; i < 3 * kCapacity; ++i) {
    if (i == 0 || i % kCapacity != 0) {
      EXPECT_EQ(channel.TryPush(i, i, At(20)), Result::kPushed) << i;
    } else {
      EXPECT_EQ(channel.TryPush(i, i, At(20)), Result::kFull) << i;
      EXPECT_EQ(channel.Push(i, i, At(20)), PushResult::kTaken) << i;
    }
  }
  EXPECT_EQ(Receive(channel).size(), 3 * Channel::kCapacity);
  EXPECT_EQ(channel.TryPush(1, 1, At(20)), Result::kPushed);
}

TEST(AddChannelTest, WaitsForRoomForAShortTime) {
  Channel channel;
  EXPECT_TRUE(channel.AwaitRoom());
  for (int i = 0; i < kCapacity; ++i) channel.Push(i, i, At(20));
  EXPECT_FALSE(channel.AwaitRoom());
  auto receive = Async([&] { Receive(channel); });
  while (!channel.AwaitRoom()) {
  }
  receive.get();
  for (int i = 0; i < kCapacity; ++i) channel.Push(i, i, At(20));
  channel.Close();
  EXPECT_TRUE(channel.AwaitRoom());
}

TEST(AddChannelTest, TakesNothingOnceClosed) {
  Channel channel;
  channel.Push(1, 1, At(1));
  channel.Close();
  EXPECT_EQ(channel.Push(2, 2, At(1)), PushResult::kClosed);
  EXPECT_TRUE(Receive(channel).empty());
  channel.Close();
  EXPECT_EQ(channel.Push(2, 2, At(1)), PushResult::kClosed);
}

TEST(AddChannelTest, CloseReleasesTheItems) {
  AddChannel<std::shared_ptr<int>> channel([] {});
  auto item = std::make_shared<int>(1);
  channel.Push(item, 1, At(1));
  EXPECT_EQ(item.use_count(), 2);
  channel.Close();
  EXPECT_EQ(item.use_count(), 1);
}

}  // namespace
}  // namespace internal::add_channel_test
}  // namespace workqueue
