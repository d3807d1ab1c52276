// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "test/simulation/any_executor.h"

#include <memory>
#include <utility>

#include "absl/functional/any_invocable.h"
#include "test/simulation/scenario.h"
#include "workqueue/executor.h"
#include "workqueue/simulation/simulation.h"
#include "workqueue/thread_pool.h"

namespace workqueue {
namespace {

class ThreadExecutor final : public Executor {
 public:
  void Execute(absl::AnyInvocable<void() &&> task) override {
    const simulation::MemoryMayRunOut spared(false);
    threads_.Start([task = std::move(task)]() mutable { std::move(task)(); });
  }

 private:
  Threads threads_;
};

}  // namespace

std::unique_ptr<Executor> AnyExecutor(bool may_be_inline) {
  switch (simulation::Choose(3)) {
    case 0:
      if (!may_be_inline) return std::make_unique<ThreadExecutor>();
      return std::make_unique<InlineExecutor>();
    case 1:
      return std::make_unique<ThreadExecutor>();
    default:
      ThreadPoolOptions options;
      options.threads = 1 + simulation::Choose(2);
      return *ThreadPool::Create(options);
  }
}

}  // namespace workqueue
