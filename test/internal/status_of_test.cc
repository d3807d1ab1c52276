// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// This program has an `operator new` of its own, which can run out of memory.

#include "workqueue/internal/status_of.h"

#include <stdexcept>

#include "absl/base/config.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gtest/gtest.h"
#include "test/internal/counted_heap.h"

namespace workqueue {
namespace internal {
namespace {

TEST(StatusOfTest, IsWhatIsReturned) {
  EXPECT_EQ(StatusOf([] { return absl::DataLossError("lost"); }),
            absl::DataLossError("lost"));
  EXPECT_EQ(*StatusOf([] { return absl::StatusOr<int>(1); }), 1);
}

TEST(StatusOfTest, NothingReturnedIsOk) {
  bool called = false;
  EXPECT_EQ(StatusOf([&called] { called = true; }), absl::OkStatus());
  EXPECT_TRUE(called);
}

#ifdef ABSL_HAVE_EXCEPTIONS

TEST(StatusOfTest, TellsWhatIsThrown) {
  EXPECT_EQ(StatusOf([] { throw std::runtime_error("thrown"); }),
            absl::InternalError("thrown"));
  EXPECT_EQ(StatusOf([]() -> absl::StatusOr<int> { throw 1; }).status(),
            absl::InternalError("an exception that is no std::exception"));
}

TEST(StatusOfTest, IsAnErrorWithoutMemoryForAMessage) {
  const std::runtime_error error("too long to be kept in place by a string");
  CountedHeap::exhausted = true;
  const absl::Status status = StatusOf([&error] { throw error; });
  CountedHeap::exhausted = false;
  EXPECT_EQ(status, absl::InternalError(""));
}

#endif  // ABSL_HAVE_EXCEPTIONS

}  // namespace
}  // namespace internal
}  // namespace workqueue
