// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

// A build without coroutines has no tests here.
#ifdef __cpp_impl_coroutine

#include "workqueue/coroutine/await_callback.h"

#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>  // NOLINT(build/c++11)
#include <utility>
#include <vector>

#include "absl/base/config.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "workqueue/coroutine/spawn.h"
#include "workqueue/coroutine/sync_wait.h"
#include "workqueue/coroutine/task.h"
#include "workqueue/executor.h"
#include "workqueue/testing/manual_executor.h"
#include "workqueue/thread_pool.h"

namespace workqueue::await_callback_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

using Done = CallbackDone<absl::Status>;
using Log = std::vector<std::string>;

// Awaits what `begin` begins, and logs the result.
template <typename F>
Task<void> Await(Executor* executor, F begin, std::stop_token stop, Log* log) {
  const absl::Status status =
      co_await AwaitCallback<absl::Status>(executor, std::move(begin), stop);
  log->push_back(status.ToString());
}

class AwaitCallbackTest : public ::testing::Test {
 protected:
  template <typename F>
  void Start(F begin) {
    Spawn(&inline_executor_,
          Await(&executor_, std::move(begin), stop_.get_token(), &log_),
          [this](absl::Status ended) {
            if (!ended.ok()) log_.push_back(ended.ToString());
          });
  }

  // Starts a call that keeps its callback.
  void StartCall() {
    Start([this](Done done) { done_ = std::move(done); });
  }

  InlineExecutor inline_executor_;
  ManualExecutor executor_;
  std::stop_source stop_;
  std::optional<Done> done_;
  Log log_;
};

TEST_F(AwaitCallbackTest, ResumesOnTheExecutor) {
  StartCall();
  executor_.RunAll();
  EXPECT_THAT(log_, IsEmpty());
  EXPECT_TRUE((*done_)(absl::DataLossError("torn")));
  EXPECT_THAT(log_, IsEmpty());
  executor_.RunAll();
  EXPECT_THAT(log_, ElementsAre("DATA_LOSS: torn"));
}

TEST_F(AwaitCallbackTest, WithoutAnExecutorResumesOnTheThreadThatCallsBack) {
  Spawn(&inline_executor_,
        Await(
            nullptr, [this](Done done) { done_ = std::move(done); },
            stop_.get_token(), &log_));
  (*done_)(absl::OkStatus());
  EXPECT_THAT(log_, ElementsAre("OK"));
  Spawn(&inline_executor_,
        Await(
            nullptr, [](Done done) { done(absl::DataLossError("torn")); },
            stop_.get_token(), &log_));
  EXPECT_THAT(log_, ElementsAre("OK", "DATA_LOSS: torn"));
}

TEST_F(AwaitCallbackTest, TheFirstCallCounts) {
  StartCall();
  const Done copy = *done_;
  EXPECT_TRUE((*done_)(absl::OkStatus()));
  EXPECT_FALSE((*done_)(absl::DataLossError("torn")));
  executor_.RunAll();
  EXPECT_FALSE(copy(absl::DataLossError("torn")));
  done_.reset();
  executor_.RunAll();
  EXPECT_THAT(log_, ElementsAre("OK"));
}

TEST_F(AwaitCallbackTest, ADestroyedCallbackIsAnError) {
  StartCall();
  done_.reset();
  executor_.RunAll();
  EXPECT_THAT(
      log_, ElementsAre("ABORTED: the callback was destroyed without a call"));
}

// The coroutine keeps its variables until the function has returned, even if
// the function has called the callback and the executor runs tasks at once.
TEST_F(AwaitCallbackTest, TheFunctionReturnsBeforeTheCoroutineResumes) {
  for (const bool stoppable : {false, true}) {
    Log log;
    const auto begin = [&log](Done done) {
      done(absl::OkStatus());
      log.push_back("begun");
    };
    Spawn(&inline_executor_,
          Await(&inline_executor_, begin,
                stoppable ? stop_.get_token() : std::stop_token(), &log));
    EXPECT_THAT(log, ElementsAre("begun", "OK"));
  }
}

TEST_F(AwaitCallbackTest, ReturnsAValue) {
  const auto twice = [](Executor* executor,
                        int x) -> Task<absl::StatusOr<int>> {
    co_return co_await AwaitCallback<absl::StatusOr<int>>(
        executor, [x](CallbackDone<absl::StatusOr<int>> done) {
          std::thread([x, done] { done(2 * x); }).detach();
        });
  };
  const auto pool = *ThreadPool::Create();
  EXPECT_EQ(*SyncWait(twice(pool.get(), 21)), 42);
}

TEST_F(AwaitCallbackTest, AStopCancelsTheCall) {
  Start([this](Done done) {
    done_ = std::move(done);
    return [this] { log_.push_back("cancel"); };
  });
  stop_.request_stop();
  executor_.RunAll();
  EXPECT_THAT(log_, ElementsAre("cancel"));
  (*done_)(absl::CancelledError("as asked"));
  executor_.RunAll();
  EXPECT_THAT(log_, ElementsAre("cancel", "CANCELLED: as asked"));
}

// Also if the coroutine, with everything it owns, ends meanwhile.
TEST_F(AwaitCallbackTest, TheFunctionThatCancelsMayCallTheCallback) {
  const auto ballast = std::make_shared<std::string>(100, 'x');
  Spawn(&inline_executor_, Await(
                               &inline_executor_,
                               [this, ballast](Done done) {
                                 return [this, done, ballast] {
                                   done(absl::CancelledError("at once"));
                                   log_.push_back(ballast->substr(0, 1));
                                 };
                               },
                               stop_.get_token(), &log_));
  stop_.request_stop();
  EXPECT_THAT(log_, ElementsAre("CANCELLED: at once", "x"));
  EXPECT_EQ(ballast.use_count(), 1);
}

TEST_F(AwaitCallbackTest, WithoutSuchAFunctionAStopDoesNotEndTheWait) {
  StartCall();
  stop_.request_stop();
  executor_.RunAll();
  EXPECT_THAT(log_, IsEmpty());
  (*done_)(absl::OkStatus());
  executor_.RunAll();
  EXPECT_THAT(log_, ElementsAre("OK"));
}

TEST_F(AwaitCallbackTest, AfterAStopNothingBegins) {
  stop_.request_stop();
  StartCall();
  EXPECT_FALSE(done_.has_value());
  EXPECT_THAT(log_, ElementsAre("CANCELLED: a stop has been requested"));
}

TEST_F(AwaitCallbackTest, AStopAfterTheCallChangesNothing) {
  int cancelled = 0;
  Start([&](Done done) {
    done_ = std::move(done);
    return [&cancelled] { ++cancelled; };
  });
  (*done_)(absl::OkStatus());
  executor_.RunAll();
  EXPECT_THAT(log_, ElementsAre("OK"));
  stop_.request_stop();
  EXPECT_EQ(cancelled, 0);
}

TEST_F(AwaitCallbackTest, AStopAndTheCallAtTheSameTime) {
  const auto pool = *ThreadPool::Create();
  for (int i = 0; i < 1000; ++i) {
    std::stop_source stop;
    Log log;
    std::thread call;
    const auto wait = [&](std::stop_token token) -> Task<void> {
      const absl::Status status = co_await AwaitCallback<absl::Status>(
          pool.get(),
          [&call](Done done) {
            call = std::thread([done] { done(absl::OkStatus()); });
            return [done] { done(absl::CancelledError("")); };
          },
          token);
      log.push_back(status.ToString());
    };
    std::thread stopper([&stop] { stop.request_stop(); });
    SyncWait(wait(stop.get_token()));
    stopper.join();
    if (call.joinable()) call.join();
    EXPECT_EQ(log.size(), 1);
  }
}

#ifdef ABSL_HAVE_EXCEPTIONS
TEST_F(AwaitCallbackTest, AnExceptionOfTheFunctionIsThrown) {
  Start([this](Done done) {
    done_ = std::move(done);
    throw std::runtime_error("no connection");
  });
  EXPECT_THAT(log_, ElementsAre("INTERNAL: no connection"));
  EXPECT_FALSE((*done_)(absl::OkStatus()));
  done_.reset();
  executor_.RunAll();
  EXPECT_THAT(log_, ElementsAre("INTERNAL: no connection"));
}

TEST_F(AwaitCallbackTest, AfterTheCallAnExceptionIsDropped) {
  Start([](Done done) {
    done(absl::OkStatus());
    throw std::runtime_error("too late");
  });
  executor_.RunAll();
  EXPECT_THAT(log_, ElementsAre("OK"));
}

TEST_F(AwaitCallbackTest, AnExceptionOfTheFunctionThatCancelsIsDropped) {
  Start([this](Done done) {
    done_ = std::move(done);
    return [] { throw std::runtime_error("too late"); };
  });
  stop_.request_stop();
  (*done_)(absl::OkStatus());
  executor_.RunAll();
  EXPECT_THAT(log_, ElementsAre("OK"));
}

class ThrowingExecutor final : public Executor {
 public:
  void Execute(absl::AnyInvocable<void() &&>) override {
    throw std::runtime_error("no thread");
  }
};

TEST_F(AwaitCallbackTest, AfterAnExceptionOfTheExecutorTheCallerResumes) {
  ThrowingExecutor throwing;
  Spawn(&inline_executor_,
        Await(
            &throwing, [this](Done done) { done_ = std::move(done); }, {},
            &log_));
  (*done_)(absl::OkStatus());
  EXPECT_THAT(log_, ElementsAre("OK"));
}
#endif  // ABSL_HAVE_EXCEPTIONS

}  // namespace
}  // namespace workqueue::await_callback_test

#endif  // __cpp_impl_coroutine
