// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "base/exceptions.h"

#include <new>

#include "absl/base/config.h"
#include "gtest/gtest.h"

namespace workqueue_internal {
namespace {

TEST(ReturnsNormallyTest, CallsTheFunction) {
  int calls = 0;
  EXPECT_TRUE(ReturnsNormally([&] { ++calls; }));
  EXPECT_EQ(calls, 1);
}

#ifdef ABSL_HAVE_EXCEPTIONS
TEST(ReturnsNormallyTest, SwallowsWhatIsThrown) {
  EXPECT_FALSE(ReturnsNormally([] { throw 1; }));
}
#endif

TEST(CallOrUndoTest, ReturnsWhatTheFunctionDoes) {
  int undone = 0;
  EXPECT_EQ(CallOrUndo([] { return 7; }, [&] { ++undone; }), 7);
  EXPECT_EQ(undone, 0);
}

#ifdef ABSL_HAVE_EXCEPTIONS
TEST(CallOrUndoTest, UndoesAndThrowsOn) {
  int undone = 0;
  EXPECT_THROW(CallOrUndo([] { throw 1; }, [&] { ++undone; }), int);
  EXPECT_EQ(undone, 1);
}

TEST(ThrowBadAllocTest, Throws) {
  EXPECT_THROW(ThrowBadAlloc(), std::bad_alloc);
}
#endif

}  // namespace
}  // namespace workqueue_internal
