// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Tests in which the first, second, ... allocation of what uses a file of
// SQLite fails, on any thread. It goes on when there is memory again. The
// memory of SQLite itself does not fail.

#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include "absl/base/config.h"
#include "absl/status/status.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "test/base/every_allocation.h"
#include "test/shared/push_without_memory.h"
#include "test/shared/temporary_folder.h"
#include "workqueue/base/exceptions.h"
#include "workqueue/leader_election/leader_elector.h"
#include "workqueue/shared/internal/engine.h"
#include "workqueue/shared/sqlite/sqlite_engine.h"

namespace workqueue {
namespace {

#ifndef ABSL_HAVE_EXCEPTIONS

TEST(OutOfMemoryTest, NeedsExceptions) { GTEST_SKIP(); }

#else

using internal::EngineOperation;

// So long that each copy allocates memory.
const char kName[] = "a name that no string keeps within itself";

TEST(OutOfMemoryTest, AnElector) {
  ForEveryAllocation([] {
    const TemporaryFolder folder;
    const std::string path = folder.path() + "/q.db";
    SparedClock clock;
    const auto engine =
        PersistUntilOk([&] { return SqliteEngine::Create(path, &clock); });
    std::unique_ptr<LeaderElector> elector;
    do {
      elector = PersistUntilOk([&] {
        LeaderElectorOptions options;
        options.name = "pods";
        options.identity = kName;
        options.clock = &clock;
        options.engine = engine.get();
        return LeaderElector::Create(std::move(options));
      });
    } while (!Persist([&] { return elector->Start(); }).ok());
    for (int i = 0; i < 20 || !elector->IsLeader() || !elector->Healthy().ok();
         ++i) {
      clock.Step(absl::Milliseconds(500));
    }
    const Spared spared(false);
    elector->Stop();
    elector.reset();
  });
}

TEST(OutOfMemoryTest, Requests) {
  ForEveryAllocation([] {
    const TemporaryFolder folder;
    const std::string path = folder.path() + "/q.db";
    SparedClock clock;
    const auto engine =
        PersistUntilOk([&] { return SqliteEngine::Create(path, &clock); });
    internal::EngineSource& source = *engine;
    const auto queue = source.NewEngine("orders", 1, "");
    internal::EngineRequest request;
    request.client = "1";
    const auto apply = [&] {
      ++request.number;
      absl::Status status;
      do {
        const Spared spared(false);
        status = internal::CatchAsStatus([&] {
          return queue->Apply(request, absl::InfiniteFuture()).status();
        });
        // Then it has been applied.
      } while (!status.ok() && !absl::IsUnknown(status));
    };
    const std::string group = std::string("0 1 ") + kName;
    request.operations = {{EngineOperation::kSetGroups, "", 1, 2}};
    apply();
    for (const char* const item : {"a", "b", "c"}) {
      request.operations = {{EngineOperation::kAdd, item, 0, 0, 0, group},
                            {EngineOperation::kAddAfter,
                             std::string("later ") + item, 1000, 0, 0, group}};
      apply();
    }
    request.operations.clear();
    request.take = 2;
    apply();
    const Spared spared(true);
    internal::EngineSnapshotRequest look;
    look.max = 9;
    look.details = true;
    const auto snapshot = queue->TakeSnapshot(look, absl::InfiniteFuture());
    ASSERT_TRUE(snapshot.ok()) << snapshot.status();
    ASSERT_EQ(snapshot->processing.size(), 1u);
    EXPECT_EQ(snapshot->processing[0].item, "a");
    ASSERT_EQ(snapshot->queued.size(), 2u);
    EXPECT_EQ(snapshot->queued[1].item, "c");
    EXPECT_EQ(snapshot->waiting.size(), 3u);
    ASSERT_EQ(snapshot->bounds.size(), 1u);
    EXPECT_EQ(snapshot->bounds[0].queued, 2u);
  });
}

TEST(OutOfMemoryTest, APush) {
  const TemporaryFolder folder;
  const std::string path = folder.path() + "/q.db";
  const auto engine = SqliteEngine::Create(path, /*clock=*/nullptr);
  ASSERT_TRUE(engine.ok()) << engine.status();
  internal::EngineSource& source = **engine;
  PushWithoutMemory(
      [&](const std::string& queue) { return source.NewEngine(queue, 1, ""); });
}

#endif  // ABSL_HAVE_EXCEPTIONS

}  // namespace
}  // namespace workqueue
