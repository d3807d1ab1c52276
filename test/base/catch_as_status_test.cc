// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// This program replaces `operator new` by one that can run out of memory.

#include <stdexcept>

#include "absl/base/config.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gtest/gtest.h"
#include "test/base/counted_heap.h"
#include "workqueue/base/exceptions.h"

namespace workqueue {
namespace internal::catch_as_status_test {
namespace {

TEST(CatchAsStatusTest, ReturnsTheStatusOfTheFunction) {
  EXPECT_EQ(CatchAsStatus([] { return absl::DataLossError("lost"); }),
            absl::DataLossError("lost"));
  EXPECT_EQ(*CatchAsStatus([] { return absl::StatusOr<int>(1); }), 1);
}

TEST(CatchAsStatusTest, ReturnsOkForAFunctionThatReturnsNothing) {
  bool called = false;
  EXPECT_EQ(CatchAsStatus([&called] { called = true; }), absl::OkStatus());
  EXPECT_TRUE(called);
}

#ifdef ABSL_HAVE_EXCEPTIONS

TEST(CatchAsStatusTest, ContainsTheMessageOfTheException) {
  EXPECT_EQ(CatchAsStatus([] { throw std::runtime_error("thrown"); }),
            absl::InternalError("thrown"));
  EXPECT_EQ(CatchAsStatus([]() -> absl::StatusOr<int> { throw 1; }).status(),
            absl::InternalError("an exception that is no std::exception"));
}

TEST(CatchAsStatusTest, ReturnsAnErrorWithoutMemoryForAMessage) {
  const std::runtime_error error("too long to be kept in place by a string");
  CountedHeap::exhausted = true;
  const absl::Status status = CatchAsStatus([&error] { throw error; });
  CountedHeap::exhausted = false;
  EXPECT_EQ(status, absl::InternalError(""));
}

#endif  // ABSL_HAVE_EXCEPTIONS

}  // namespace
}  // namespace internal::catch_as_status_test
}  // namespace workqueue
