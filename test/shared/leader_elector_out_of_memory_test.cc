// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Tests in which the first, second, ... allocation of an elector fails, on any
// thread. It goes on, and leads when there is memory again.

#include <memory>
#include <string>
#include <utility>

#include "absl/base/config.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "test/base/every_allocation.h"
#include "workqueue/leader_election/leader_elector.h"
#include "workqueue/shared/testing/memory_engine.h"

namespace workqueue {
namespace {

#ifndef ABSL_HAVE_EXCEPTIONS

TEST(OutOfMemoryTest, NeedsExceptions) { GTEST_SKIP(); }

#else

TEST(OutOfMemoryTest, AnElector) {
  // So long that each copy allocates memory.
  const std::string name(100, 'a');
  ForEveryAllocation([&name] {
    SparedClock clock;
    MemoryEngine engine(&clock);
    std::string told;
    std::unique_ptr<LeaderElector> elector;
    do {
      elector = PersistUntilOk([&] {
        LeaderElectorOptions options;
        options.name = "pods";
        options.identity = name;
        options.clock = &clock;
        options.engine = &engine;
        options.on_new_leader = [&told](const std::string& identity) {
          const Spared spared(true);
          told = identity;
        };
        return LeaderElector::Create(std::move(options));
      });
    } while (!Persist([&] { return elector->Start(); }).ok());
    // Until it has led for some renewals, and the last one has not failed.
    for (int i = 0; i < 20 || !elector->IsLeader() || !elector->Healthy().ok();
         ++i) {
      clock.Step(absl::Milliseconds(500));
    }
    EXPECT_EQ(elector->Leader(), name);
    const Spared spared(false);
    elector->Stop();
    elector.reset();
    EXPECT_EQ(told, name);
  });
}

#endif  // ABSL_HAVE_EXCEPTIONS

}  // namespace
}  // namespace workqueue
