// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Whatever several clients of an engine do at a time, it does one thing after
// the other. Engines that break a promise are found.

#include "test/shared/engine_history.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "test/shared/new_shared_queue.h"
#include "test/shared/test_engines.h"
#include "workqueue/clock/fake_clock.h"
#include "workqueue/shared/internal/engine.h"
#include "workqueue/testing/thread.h"

namespace workqueue::engine_history_test {
namespace {

using internal::Engine;
using internal::EngineListener;
using internal::EngineOperation;
using internal::EngineReply;
using internal::EngineRequest;
using internal::EngineSnapshot;
using internal::EngineSnapshotRequest;

// A promise that is broken.
enum class Broken {
  kNothing,
  kLosesAdds,
  kLosesAddsWhileProcessed,
  kEndsByAnyToken,
  kHandsOutTwice,
};

// An engine that breaks it now and then.
class BrokenEngine final : public Engine {
 public:
  BrokenEngine(std::unique_ptr<Engine> engine, Broken broken, uint32_t seed)
      : engine_(std::move(engine)), broken_(broken), random_(seed) {}

  absl::StatusOr<EngineReply> Apply(const EngineRequest& given,
                                    absl::Time deadline) override {
    EngineRequest request = given;
    std::vector<bool> is_dropped(request.operations.size());
    for (size_t i = 0; i < request.operations.size(); ++i) {
      EngineOperation& it = request.operations[i];
      const bool adds = it.code == EngineOperation::kAdd;
      const int64_t token = TokenOf(it.item, request, deadline);
      if (broken_ == Broken::kEndsByAnyToken && token != 0 &&
          it.code == EngineOperation::kDone) {
        it.x = token;
      }
      is_dropped[i] =
          adds &&
          (broken_ == Broken::kLosesAdds
               ? random_() % 8 == 0
               : broken_ == Broken::kLosesAddsWhileProcessed && token != 0);
      if (is_dropped[i]) it.code = EngineOperation::kNumRequeues;
    }
    auto reply = engine_->Apply(request, deadline);
    if (!reply.ok()) return reply;
    for (size_t i = 0; i < is_dropped.size(); ++i) {
      if (is_dropped[i]) reply->results[i] = internal::kTrue;
    }
    if (broken_ == Broken::kHandsOutTwice && !reply->items.empty() &&
        random_() % 8 == 0) {
      request.client += " again";
      request.take = 0;
      request.operations = {{EngineOperation::kGiveBack, reply->items[0].item,
                             reply->items[0].token}};
      EXPECT_TRUE(engine_->Apply(request, deadline).ok());
    }
    return reply;
  }

  absl::StatusOr<EngineSnapshot> TakeSnapshot(
      const EngineSnapshotRequest& request, absl::Time deadline) override {
    return engine_->TakeSnapshot(request, deadline);
  }
  absl::Status Listen(EngineListener* listener, absl::Time deadline) override {
    return engine_->Listen(listener, deadline);
  }
  void StopListening() override { engine_->StopListening(); }

 private:
  // The token of the item, or 0.
  int64_t TokenOf(const std::string& item, const EngineRequest& request,
                  absl::Time deadline) {
    if (broken_ != Broken::kEndsByAnyToken &&
        broken_ != Broken::kLosesAddsWhileProcessed) {
      return 0;
    }
    EngineSnapshotRequest look;
    look.now = request.now;
    look.item = item;
    const auto snapshot = engine_->TakeSnapshot(look, deadline);
    if (!snapshot.ok() || snapshot->processing.empty()) return 0;
    return snapshot->processing[0].number;
  }

  const std::unique_ptr<Engine> engine_;
  const Broken broken_;
  std::mt19937 random_;
};

class EngineHistoryTest : public testing::TestWithParam<TestEngine> {
 protected:
  // Returns what is wrong with a history.
  static std::string Run(Broken broken, uint32_t seed) {
    FakeClock clock;
    const auto source = GetParam().make(&clock);
    const std::string queue = NewQueueName();
    EngineHistory history;
    // Here: a server ends with the thread that has started it.
    std::vector<std::unique_ptr<Engine>> engines;
    for (uint32_t i = 0; i < 4; ++i) {
      engines.push_back(std::make_unique<BrokenEngine>(
          source->NewEngine(queue, 1, ""), broken, seed + i));
    }
    {
      std::vector<Thread> threads;
      for (uint32_t i = 0; i < 4; ++i) {
        threads.emplace_back([&, i] {
          history.Use(*engines[i], absl::StrCat("client ", i), 60,
                      4 * seed + i);
        });
      }
      for (Thread& thread : threads) thread.join();
    }
    return history.Drain(*source->NewEngine(queue, 1, ""));
  }
};

INSTANTIATE_ENGINE_TESTS(EngineHistoryTest);

TEST_P(EngineHistoryTest, IsLinearizable) {
  for (uint32_t seed = 0; seed < 20; ++seed) {
    ASSERT_EQ(Run(Broken::kNothing, seed), "") << "seed " << seed;
  }
}

TEST_P(EngineHistoryTest, WhatIsBrokenIsFound) {
  for (Broken broken : {Broken::kLosesAdds, Broken::kLosesAddsWhileProcessed,
                        Broken::kEndsByAnyToken, Broken::kHandsOutTwice}) {
    std::string found;
    for (uint32_t seed = 0; seed < 200 && found.empty(); ++seed) {
      found = Run(broken, seed);
    }
    EXPECT_NE(found, "") << static_cast<int>(broken);
  }
}

}  // namespace
}  // namespace workqueue::engine_history_test
