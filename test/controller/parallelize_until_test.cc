// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/controller/parallelize_until.h"

#include <atomic>
#include <cstddef>
#include <limits>
#include <set>
#include <stdexcept>
#include <thread>  // NOLINT(build/c++11)
#include <vector>

#include "absl/base/config.h"
#include "absl/status/status.h"
#include "absl/synchronization/barrier.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "gtest/gtest.h"
#include "workqueue/base/mutex_lock.h"

namespace workqueue::parallelize_until_test {
namespace {

using internal::MutexLock;

ParallelizeOptions ChunksOf(size_t size) {
  ParallelizeOptions options;
  options.chunk_size = size;
  return options;
}

// Like client-go's test: each piece is done once, for any numbers.
TEST(ParallelizeUntilTest, DoesEachPieceOnce) {
  for (size_t pieces : {0, 1, 2, 9, 10, 11, 1000}) {
    for (size_t workers : {1, 2, 10, 100}) {
      for (size_t chunk_size : {1, 3, 10, 2000}) {
        std::vector<std::atomic<int>> done(pieces);
        EXPECT_TRUE(ParallelizeUntil(
                        nullptr, workers, pieces, [&](size_t i) { ++done[i]; },
                        ChunksOf(chunk_size))
                        .ok());
        for (const std::atomic<int>& times : done) ASSERT_EQ(times, 1);
      }
    }
  }
}

TEST(ParallelizeUntilTest, UsesTheGivenNumberOfThreads) {
  constexpr int kWorkers = 4;
  // Each piece blocks until all have begun.
  auto* const barrier = new absl::Barrier(kWorkers);
  absl::Mutex mu;
  std::set<std::thread::id> threads;
  EXPECT_TRUE(ParallelizeUntil(nullptr, kWorkers, kWorkers, [&](size_t) {
                {
                  MutexLock lock(&mu);
                  threads.insert(std::this_thread::get_id());
                }
                if (barrier->Block()) delete barrier;
              }).ok());
  EXPECT_EQ(threads.size(), 4u);
  EXPECT_EQ(threads.count(std::this_thread::get_id()), 1u);
}

TEST(ParallelizeUntilTest, OneWorkerIsTheCallerInOrder) {
  std::vector<size_t> done;
  const auto caller = std::this_thread::get_id();
  EXPECT_TRUE(ParallelizeUntil(nullptr, 1, 5, [&](size_t i) {
                EXPECT_EQ(std::this_thread::get_id(), caller);
                done.push_back(i);
              }).ok());
  EXPECT_EQ(done, (std::vector<size_t>{0, 1, 2, 3, 4}));
}

TEST(ParallelizeUntilTest, StopsEarly) {
  absl::Notification stop;
  std::atomic<size_t> done{0};
  const absl::Status status = ParallelizeUntil(
      &stop, 4, 1000000,
      [&](size_t i) {
        ++done;
        if (i == 10) stop.Notify();
      },
      ChunksOf(100));
  EXPECT_TRUE(absl::IsCancelled(status));
  EXPECT_LT(done, 1000000u);
  EXPECT_GE(done, 11u);
}

TEST(ParallelizeUntilTest, StoppedBeforehandDoesNothing) {
  absl::Notification stop;
  stop.Notify();
  EXPECT_TRUE(absl::IsCancelled(
      ParallelizeUntil(&stop, 4, 10, [](size_t) { ADD_FAILURE(); })));
  EXPECT_TRUE(
      ParallelizeUntil(&stop, 4, 0, [](size_t) { ADD_FAILURE(); }).ok());
}

TEST(ParallelizeUntilTest, StoppedByTheLastPieceIsNotTooEarly) {
  absl::Notification stop;
  EXPECT_TRUE(ParallelizeUntil(&stop, 1, 10, [&](size_t i) {
                if (i == 9) stop.Notify();
              }).ok());
}

TEST(ParallelizeUntilTest, NoWorkersIsAnError) {
  const absl::Status status =
      ParallelizeUntil(nullptr, 0, 1, [](size_t) { ADD_FAILURE(); });
  EXPECT_TRUE(absl::IsInvalidArgument(status));
  EXPECT_EQ(status.message(), "workers is 0; it must be at least 1");
}

TEST(ParallelizeUntilTest, ChunksOfNoneAreAnError) {
  const absl::Status status = ParallelizeUntil(
      nullptr, 1, 1, [](size_t) { ADD_FAILURE(); }, ChunksOf(0));
  EXPECT_TRUE(absl::IsInvalidArgument(status));
  EXPECT_EQ(status.message(), "chunk_size is 0; it must be at least 1");
}

TEST(ParallelizeUntilTest, NumbersDoNotOverflow) {
  constexpr size_t kMost = std::numeric_limits<size_t>::max();
  int done = 0;
  EXPECT_TRUE(ParallelizeUntil(
                  nullptr, kMost, 3, [&](size_t) { ++done; }, ChunksOf(kMost))
                  .ok());
  EXPECT_EQ(done, 3);

  absl::Notification stop;
  EXPECT_TRUE(
      absl::IsCancelled(ParallelizeUntil(&stop, 1, kMost, [&](size_t i) {
        if (i == 5) stop.Notify();
      })));
}

#ifdef ABSL_HAVE_EXCEPTIONS

TEST(ParallelizeUntilTest, AnExceptionStopsAllAndIsRethrown) {
  std::atomic<size_t> done{0};
  try {
    ParallelizeUntil(nullptr, 4, 1000000, [&](size_t i) {
      ++done;
      if (i == 10) throw std::runtime_error("ten");
    }).IgnoreError();
    ADD_FAILURE() << "nothing came out";
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "ten");
  }
  EXPECT_LT(done, 1000000u);
}

TEST(ParallelizeUntilTest, AnExceptionAfterTheStopIsRethrownToo) {
  absl::Notification stop;
  EXPECT_THROW(ParallelizeUntil(&stop, 1, 10,
                                [&](size_t) {
                                  stop.Notify();
                                  throw 1;
                                })
                   .IgnoreError(),
               int);
}

TEST(ParallelizeUntilTest, OfManyExceptionsOneIsRethrown) {
  EXPECT_THROW(
      ParallelizeUntil(nullptr, 4, 100, [](size_t) { throw 1; }).IgnoreError(),
      int);
}

#endif  // ABSL_HAVE_EXCEPTIONS

}  // namespace
}  // namespace workqueue::parallelize_until_test
