// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Makes each allocation of a scenario fail in turn, on every thread. A
// controller must not lose an item because of that.

#include <atomic>
#include <memory>
#include <string>
#include <thread>  // NOLINT(build/c++11)
#include <utility>

#include "absl/base/config.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "test/base/every_allocation.h"
#include "workqueue/controller/controller.h"
#include "workqueue/controller/reconcile.h"

namespace workqueue::controller_out_of_memory_stress_test {
namespace {

#ifndef ABSL_HAVE_EXCEPTIONS

TEST(ControllerOutOfMemoryStressTest, NeedsExceptions) { GTEST_SKIP(); }

#else

using ::workqueue::ForEveryAllocation;
using ::workqueue::Persist;
using ::workqueue::PersistUntilOk;
using ::workqueue::Spared;
using ::workqueue::SparedClock;

using StringController = Controller<std::string>;

TEST(ControllerOutOfMemoryStressTest, NoItemIsLost) {
  ForEveryAllocation([] {
    SparedClock clock;
    std::atomic<int> done{0};
    std::unique_ptr<StringController> controller;
    while (controller == nullptr) {
      auto made = PersistUntilOk([&] {
        ControllerOptions<std::string> options;
        options.name = "a name that no string keeps within itself";
        options.clock = &clock;
        options.workers = 2;
        // Each item fails once.
        options.reconcile = [&done](const std::string&,
                                    const ReconcileContext& context) {
          const Spared spared(true);
          if (context.failures == 0) return absl::InternalError("no");
          ++done;
          return absl::OkStatus();
        };
        return StringController::Create(std::move(options));
      });
      // A controller that could not be started cannot be used.
      if (Persist([&] { return made->Start(); }).ok()) {
        controller = std::move(made);
      }
    }
    constexpr int kItems = 5;
    for (int i = 0; i < kItems; ++i) {
      EXPECT_TRUE(Persist([&] {
        return controller->queue().Add(
            absl::StrCat("a key that no string keeps within itself, ", i));
      }));
    }
    // A failed operation is tried again one second later.
    while (done < kItems) {
      clock.Step(absl::Seconds(1));
      std::this_thread::yield();
    }
    Persist([&] { controller->Stop(); });
    EXPECT_EQ(done, kItems);
  });
}

#endif  // ABSL_HAVE_EXCEPTIONS

}  // namespace
}  // namespace workqueue::controller_out_of_memory_stress_test
