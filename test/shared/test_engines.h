// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_TEST_SHARED_TEST_ENGINES_H_
#define WORKQUEUE_TEST_SHARED_TEST_ENGINES_H_

#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "workqueue/clock/fake_clock.h"
#include "workqueue/shared/internal/engine.h"

namespace workqueue {

// TestEngine
//
// An engine that the suites of this folder test: `EngineSuite`, which knows
// only the engine, and those that use it through a `SharedQueue`.
struct TestEngine {
  friend void PrintTo(const TestEngine& engine, std::ostream* os) {
    *os << engine.name;
  }

  std::string name;

  // Makes a source of empty queues. The queues' times are those of `clock`.
  std::function<std::unique_ptr<internal::EngineSource>(FakeClock* clock)> make;
};

// The engines of this test program, which has one file that defines them.
std::vector<TestEngine> TestEngines();

// Runs the tests of a fixture on all engines.
#define INSTANTIATE_ENGINE_TESTS(Fixture)                 \
  INSTANTIATE_TEST_SUITE_P(                               \
      Engines, Fixture, testing::ValuesIn(TestEngines()), \
      [](const auto& engine) { return engine.param.name; })

}  // namespace workqueue

#endif  // WORKQUEUE_TEST_SHARED_TEST_ENGINES_H_
