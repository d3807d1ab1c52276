// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/base/exceptions.h"

#include <new>

#include "absl/base/config.h"
#include "gtest/gtest.h"

namespace workqueue {
namespace internal::exceptions_test {
namespace {

TEST(TryCallTest, CallsTheFunction) {
  int calls = 0;
  EXPECT_TRUE(TryCall([&] { ++calls; }));
  EXPECT_EQ(calls, 1);
}

#ifdef ABSL_HAVE_EXCEPTIONS
TEST(TryCallTest, DropsExceptions) {
  EXPECT_FALSE(TryCall([] { throw 1; }));
}

TEST(ThrowBadAllocTest, Throws) {
  EXPECT_THROW(ThrowBadAlloc(), std::bad_alloc);
}
#endif

}  // namespace
}  // namespace internal::exceptions_test
}  // namespace workqueue
