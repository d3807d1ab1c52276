// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Tests of an engine in a PostgreSQL database without memory. That of libpq
// does not fail.

#include <memory>
#include <string>
#include <utility>

#include "absl/base/config.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gtest/gtest.h"
#include "test/shared/postgres_server.h"
#include "test/shared/push_without_memory.h"
#include "workqueue/shared/internal/engine.h"
#include "workqueue/shared/postgres/postgres_engine.h"

namespace workqueue {
namespace {

#ifndef ABSL_HAVE_EXCEPTIONS

TEST(PostgresOutOfMemoryTest, NeedsExceptions) { GTEST_SKIP(); }

#else

TEST(PostgresOutOfMemoryTest, APush) {
  const auto server = PostgresServer::Start();
  if (absl::IsNotFound(server.status())) GTEST_SKIP() << server.status();
  ASSERT_TRUE(server.ok()) << server.status();
  const std::string address = (*server)->address();
  ASSERT_TRUE(PostgresEngine::Migrate(address).ok());
  const auto engine = PostgresEngine::Create(address);
  ASSERT_TRUE(engine.ok()) << engine.status();
  internal::EngineSource& source = **engine;
  PushWithoutMemory(
      [&](const std::string& queue) { return source.NewEngine(queue, 1, ""); },
      {1});
}

#endif  // ABSL_HAVE_EXCEPTIONS

}  // namespace
}  // namespace workqueue
