// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_TEST_SHARED_REDIS_FIXTURE_H_
#define WORKQUEUE_TEST_SHARED_REDIS_FIXTURE_H_

#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gtest/gtest.h"
#include "test/shared/redis_server.h"

namespace workqueue {

// RedisFixture
//
// A fixture with a Redis server of each test's own. Skips the test if no server
// is installed, or fails it if REQUIRE_REDIS_SERVER is set. A `SetUp()` that
// calls this one must return if then `server()` is null.
class RedisFixture : public testing::Test {
 protected:
  explicit RedisFixture(RedisServer::Options options = RedisServer::Options())
      : options_(std::move(options)) {}

  void SetUp() override {
    absl::StatusOr<std::unique_ptr<RedisServer>> server =
        RedisServer::Start(options_);
    if (absl::IsNotFound(server.status()) && !RedisServer::IsRequired()) {
      GTEST_SKIP() << server.status().message();
    }
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
  }

  // The server, or null if the test is skipped or has failed.
  RedisServer* server() const { return server_.get(); }

 private:
  const RedisServer::Options options_;
  std::unique_ptr<RedisServer> server_;
};

}  // namespace workqueue

#endif  // WORKQUEUE_TEST_SHARED_REDIS_FIXTURE_H_
