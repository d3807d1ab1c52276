// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Tests of a connection to a server, and of an engine, without memory. That of
// hiredis does not fail.

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/base/config.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "test/base/counted_heap.h"
#include "test/shared/push_without_memory.h"
#include "test/shared/redis_fixture.h"
#include "test/shared/redis_server.h"
#include "workqueue/base/exceptions.h"
#include "workqueue/redis/redis_address.h"
#include "workqueue/redis/redis_connection.h"
#include "workqueue/redis/redis_options.h"
#include "workqueue/shared/internal/redis_engine.h"

namespace workqueue {
namespace {

#ifndef ABSL_HAVE_EXCEPTIONS

TEST(RedisOutOfMemoryTest, NeedsExceptions) { GTEST_SKIP(); }

#else

using internal::RedisConnection;
using internal::RedisEngine;

constexpr absl::Duration kShort = absl::Milliseconds(10);
constexpr absl::Duration kLong = absl::Seconds(10);

// So long that each copy allocates memory.
const char kName[] = "a name that no string keeps within itself";

class RedisOutOfMemoryTest : public RedisFixture {
 protected:
  RedisOptions Options() const {
    RedisOptions options;
    options.address = server()->socket_path();
    return *internal::PlainRedisOptions(std::move(options));
  }
};

TEST_F(RedisOutOfMemoryTest, ACallThatThrowsLeavesNoReplyForTheNext) {
  bool failed = true;
  for (int64_t failing = 1; failed; ++failing) {
    const auto connection = RedisConnection::Connect(Options(), kLong);
    ASSERT_TRUE(connection.ok()) << connection.status();
    server()->Pause();
    CountedHeap::until_failure_here = failing;
    internal::TryCall([&] {
      (*connection)->Call({"ECHO", kName}, kShort).IgnoreError();
    });
    server()->Resume();
    failed = std::exchange(CountedHeap::until_failure_here, 0) == 0;
    const auto reply = (*connection)->Call({"ECHO", "next"}, kLong);
    if ((*connection)->broken()) continue;
    ASSERT_TRUE(reply.ok()) << reply.status();
    ASSERT_EQ(internal::TextOf(**reply), "next");
  }
}

TEST_F(RedisOutOfMemoryTest, APush) {
  const RedisOptions options = Options();
  PushWithoutMemory([&](const std::string& queue) {
    return std::make_unique<RedisEngine>(queue, 1, options);
  });
}

#endif  // ABSL_HAVE_EXCEPTIONS

}  // namespace
}  // namespace workqueue
