// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// A test of an engine without memory. Only one source of a program may include
// this header, because it includes counted_heap.h.

#ifndef WORKQUEUE_TEST_SHARED_PUSH_WITHOUT_MEMORY_H_
#define WORKQUEUE_TEST_SHARED_PUSH_WITHOUT_MEMORY_H_

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <utility>

#include "absl/base/config.h"
#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "test/base/every_allocation.h"
#include "test/shared/ignoring_listener.h"
#include "workqueue/base/exceptions.h"
#include "workqueue/base/mutex_lock.h"
#include "workqueue/shared/internal/engine.h"

#ifdef ABSL_HAVE_EXCEPTIONS

namespace workqueue {

// Notes what it hears.
class NotingListener final : public internal::IgnoringListener {
 public:
  void OnListening(const std::string& client) override {
    const Spared spared(true);
    internal::MutexLock lock(&mu_);
    client_ = client;
    item_.clear();
  }
  void OnDisconnected(const absl::Status&) override {
    internal::MutexLock lock(&mu_);
    client_.clear();
  }
  void OnPush(internal::HandedOut item, int64_t) override {
    const Spared spared(true);
    internal::MutexLock lock(&mu_);
    item_ = item.item;
  }

  std::string AwaitClient() {
    internal::MutexLock lock(&mu_);
    const auto listens = [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
      return !client_.empty();
    };
    EXPECT_TRUE(
        mu_.AwaitWithTimeout(absl::Condition(&listens), absl::Seconds(10)));
    return client_;
  }

  // Returns the item that has been pushed to `client`; empty if that is gone.
  std::string AwaitItem(const std::string& client) {
    internal::MutexLock lock(&mu_);
    const auto over = [&]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
      return !item_.empty() || client_ != client;
    };
    EXPECT_TRUE(
        mu_.AwaitWithTimeout(absl::Condition(&over), absl::Seconds(10)));
    return client_ == client ? item_ : "";
  }

 private:
  absl::Mutex mu_;
  std::string client_ ABSL_GUARDED_BY(mu_);
  std::string item_ ABSL_GUARDED_BY(mu_);
};

// An engine of `new_engine()`, which it calls with the names of new queues,
// listens until a worker that waits gets an item.
inline void PushWithoutMemory(
    absl::FunctionRef<std::unique_ptr<internal::Engine>(const std::string&)>
        new_engine,
    std::initializer_list<int64_t> lengths = {1, 10}) {
  using internal::EngineOperation;
  using internal::EngineRequest;
  constexpr absl::Duration kLong = absl::Seconds(10);
  const std::string key = "a key that no string keeps within itself";
  int run = 0;
  ForEveryAllocation(
      [&] {
        const std::string name = absl::StrCat("queue ", ++run);
        NotingListener listener;
        std::unique_ptr<internal::Engine> engine;
        const auto listen = [&] {
          return engine->Listen(&listener, absl::Now() + kLong);
        };
        while (true) {
          engine = Persist([&] { return new_engine(name); });
          const Spared spared(false);
          if (internal::CatchAsStatus(listen).ok()) break;
          engine->StopListening();
        }
        // Until a worker gets an item that another process adds.
        uint64_t number = 0;
        const auto apply = [&](EngineRequest request) {
          request.number = ++number;
          const Spared spared(false);
          return internal::CatchAsStatus(
              [&] { return engine->Apply(request, absl::Now() + kLong); });
        };
        std::string item;
        for (int i = 0; item.empty() && !testing::Test::HasFailure(); ++i) {
          EngineRequest waits;
          waits.client = listener.AwaitClient();
          waits.waiting_workers = 1;
          EngineRequest adds;
          adds.client = "another";
          adds.operations = {{EngineOperation::kNumRequeues, key},
                             {EngineOperation::kAdd, absl::StrCat(key, i)}};
          const auto waited = apply(waits);
          if (!waited.ok()) continue;
          if (!waited->items.empty()) break;  // that of an add before
          const auto reply = apply(adds);
          if (!reply.ok()) continue;
          ASSERT_EQ(reply->results.size(), 2u);
          EXPECT_EQ(reply->results[1], internal::kNewItem);
          item = listener.AwaitItem(waits.client);
        }
        const Spared spared(false);
        engine->StopListening();
        engine.reset();
      },
      lengths);
}

}  // namespace workqueue

#endif  // ABSL_HAVE_EXCEPTIONS

#endif  // WORKQUEUE_TEST_SHARED_PUSH_WITHOUT_MEMORY_H_
