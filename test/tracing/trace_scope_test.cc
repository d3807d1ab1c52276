// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/tracing/trace_scope.h"

#include "gtest/gtest.h"
#include "test/tracing/recording_tracer.h"
#include "workqueue/testing/thread.h"
#include "workqueue/tracing/trace_context.h"

namespace workqueue::trace_scope_test {
namespace {

TEST(TraceScopeTest, ScopesNest) {
  EXPECT_FALSE(TraceScope::Current().IsValid());
  {
    const TraceScope outer(TestContext(1));
    {
      const TraceScope inner(TestContext(2));
      EXPECT_EQ(TraceScope::Current(), TestContext(2));
    }
    EXPECT_EQ(TraceScope::Current(), TestContext(1));
  }
  EXPECT_FALSE(TraceScope::Current().IsValid());
}

TEST(TraceScopeTest, BelongsToItsThread) {
  const TraceScope scope(TestContext(1));
  Thread([] {
    EXPECT_FALSE(TraceScope::Current().IsValid());
    const TraceScope other(TestContext(2));
    EXPECT_EQ(TraceScope::Current(), TestContext(2));
  }).join();
  EXPECT_EQ(TraceScope::Current(), TestContext(1));
}

}  // namespace
}  // namespace workqueue::trace_scope_test
