// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Tests of an informer whose handlers throw.

#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/config.h"
#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/controller/informer_fixture.h"
#include "workqueue/base/mutex_lock.h"
#include "workqueue/controller/informer.h"

namespace workqueue::informer_exceptions_test {
namespace {

#ifndef ABSL_HAVE_EXCEPTIONS

TEST(InformerExceptionsTest, NeedsExceptions) { GTEST_SKIP(); }

#else

using testing::ElementsAre;
using testing::IsEmpty;

constexpr absl::Duration kAgain = absl::Seconds(1);

class InformerExceptionsTest : public InformerFixture {
 protected:
  // Returns a handler that records its calls, and throws while `throws` returns
  // true for the call.
  InformerHandler<Pod> Handler(
      std::function<bool(const std::string& call)> throws) {
    const auto record = [this, throws = std::move(throws)](std::string call) {
      const bool thrown = throws(call);
      internal::MutexLock lock(&mu_);
      calls_.push_back(absl::StrCat(call, thrown ? "!" : ""));
      if (thrown) throw std::runtime_error("no thanks");
    };
    InformerHandler<Pod> handler;
    handler.on_event = [record](const ObjectEvent<Pod>& event) {
      record(absl::StrCat(event.is_in_initial_list ? "initial " : "",
                          Print(event.old_object), " -> ",
                          Print(event.new_object)));
    };
    handler.on_synced = [record] { record("synced"); };
    handler.on_health = [record](const absl::Status& status) {
      record(status.ok() ? "healthy" : std::string(status.message()));
    };
    return handler;
  }

  // Returns a handler whose calls throw as long as they are the next of
  // `thrown_`.
  InformerHandler<Pod> Scripted() {
    return Handler([this](const std::string& call) {
      internal::MutexLock lock(&mu_);
      if (thrown_.empty() || thrown_.front() != call) return false;
      thrown_.erase(thrown_.begin());
      return true;
    });
  }

  void Throw(std::vector<std::string> calls) {
    internal::MutexLock lock(&mu_);
    thrown_ = std::move(calls);
  }

  // Blocks until there are `n` calls since the last call of this function, and
  // returns them.
  std::vector<std::string> Calls(size_t n) {
    internal::MutexLock lock(&mu_);
    const auto enough = [&]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
      return calls_.size() >= n;
    };
    mu_.Await(absl::Condition(&enough));
    return std::exchange(calls_, {});
  }

  std::vector<std::string> CallsWhenWatched() {
    server_.AwaitWatched();
    return Calls(0);
  }

  // Moves the clock to the time at which the calls are made again.
  void StepToAgain() {
    clock_.AwaitWaiters(1);
    clock_.Step(kAgain);
  }

  // Returns an informer with this handler, whose calls have been read.
  std::unique_ptr<Informer<Pod> > Watching(InformerHandler<Pod> handler) {
    auto informer = Started(Options());
    informer->AddHandler(std::move(handler));
    EXPECT_THAT(Calls(0), ElementsAre("synced", "healthy"));
    return informer;
  }

  absl::Mutex mu_;
  std::vector<std::string> calls_ ABSL_GUARDED_BY(mu_);
  std::vector<std::string> thrown_ ABSL_GUARDED_BY(mu_);
};

TEST_F(InformerExceptionsTest, AnEventIsToldAgainEachSecond) {
  auto informer = Watching(Scripted());
  Throw({"- -> a@n1", "- -> a@n1"});
  server_.Put({"a", "n1"});
  EXPECT_THAT(CallsWhenWatched(), ElementsAre("- -> a@n1!", "no thanks"));
  clock_.AwaitWaiters(1);
  clock_.Step(kAgain - absl::Nanoseconds(1));
  EXPECT_THAT(Calls(0), IsEmpty());
  clock_.Step(absl::Nanoseconds(1));
  EXPECT_THAT(Calls(1), ElementsAre("- -> a@n1!"));
  StepToAgain();
  EXPECT_THAT(Calls(2), ElementsAre("- -> a@n1", "healthy"));
  EXPECT_THAT(log_.messages(),
              testing::Each("E informer pods: calling a handler: INTERNAL: "
                            "no thanks"));
  EXPECT_EQ(informer->Healthy(), absl::OkStatus());
}

TEST_F(InformerExceptionsTest, OtherHandlersAndObjectsDoNotWait) {
  auto informer = Watching(
      Handler([](const std::string& call) { return call == "- -> a@n1"; }));
  std::vector<std::string> others;
  InformerHandler<Pod> other;
  other.on_event = [&](const ObjectEvent<Pod>& event) {
    others.push_back(event.new_object->name);
  };
  informer->AddHandler(std::move(other));
  server_.Put({"a", "n1"});
  server_.Put({"b", "n1"});
  EXPECT_THAT(CallsWhenWatched(),
              ElementsAre("- -> a@n1!", "no thanks", "- -> b@n1"));
  EXPECT_THAT(others, ElementsAre("a", "b"));
}

TEST_F(InformerExceptionsTest, TheNextEventOfAnObjectComesAfterTheOneBefore) {
  auto informer = Watching(Scripted());
  Throw({"- -> a@n1"});
  server_.Put({"a", "n1"});
  server_.Put({"a", "n2"});
  EXPECT_THAT(CallsWhenWatched(),
              ElementsAre("- -> a@n1!", "no thanks", "- -> a@n1",
                          "a@n1 -> a@n2", "healthy"));
}

TEST_F(InformerExceptionsTest, EventsThatCannotBeToldBecomeOne) {
  auto informer = Watching(Scripted());
  Throw({"- -> a@n1", "- -> a@n1", "- -> a@n2"});
  server_.Put({"a", "n1"});
  server_.Put({"a", "n2"});
  server_.Put({"a", "n3"});
  EXPECT_THAT(CallsWhenWatched(), ElementsAre("- -> a@n1!", "no thanks",
                                              "- -> a@n1!", "- -> a@n2!"));
  StepToAgain();
  EXPECT_THAT(Calls(2), ElementsAre("- -> a@n3", "healthy"));
}

TEST_F(InformerExceptionsTest, ADeletionIsToldAfterTheLastState) {
  auto informer = Watching(Scripted());
  Throw({"- -> a@n1", "- -> a@n1", "a@n1 -> -"});
  server_.Put({"a", "n1"});
  server_.Erase("a");
  CallsWhenWatched();
  StepToAgain();
  EXPECT_THAT(Calls(2), ElementsAre("- -> a@n1", "a@n1 -> -!"));
  StepToAgain();
  EXPECT_THAT(Calls(2), ElementsAre("a@n1 -> -", "healthy"));
}

TEST_F(InformerExceptionsTest, AnObjectThatIsBackIsAnUpdate) {
  server_.Put({"a", "n1"});
  auto informer = Started(Options());
  informer->AddHandler(Scripted());
  Calls(0);
  Throw({"a@n1 -> -", "a@n1 -> -"});
  server_.Erase("a");
  server_.Put({"a", "n2"});
  EXPECT_THAT(CallsWhenWatched(),
              ElementsAre("a@n1 -> -!", "no thanks", "a@n1 -> -!"));
  StepToAgain();
  EXPECT_THAT(Calls(2), ElementsAre("a@n1 -> a@n2", "healthy"));
}

TEST_F(InformerExceptionsTest, TheFirstListIsToldAgain) {
  server_.Put({"a", "n1"});
  Throw({"initial - -> a@n1"});
  auto informer = New(Options());
  informer->AddHandler(Scripted());
  Calls(0);
  EXPECT_TRUE(informer->Start().ok());
  EXPECT_THAT(CallsWhenWatched(),
              ElementsAre("initial - -> a@n1!", "no list has been read yet",
                          "no thanks"));
  StepToAgain();
  EXPECT_THAT(Calls(3), ElementsAre("initial - -> a@n1", "synced", "healthy"));
}

// The sync waits for an object of the first list, whatever its state is
// meanwhile, and for no other object.
TEST_F(InformerExceptionsTest, TheSyncWaitsForTheFirstList) {
  server_.Put({"a", "n1"});
  server_.Put({"b", "n1"});
  const std::vector<std::string> initial = {"initial - -> a@n1",
                                            "initial - -> b@n1"};
  Throw({initial[0], initial[1], initial[0], "- -> c@n1", "- -> a@n2",
         initial[1], "- -> c@n1", initial[1], "- -> c@n1"});
  auto informer = New(Options());
  informer->AddHandler(Scripted());
  EXPECT_TRUE(informer->Start().ok());
  server_.AwaitWatched();
  server_.Put({"a", "n2"});
  server_.Put({"c", "n1"});
  CallsWhenWatched();
  StepToAgain();
  EXPECT_THAT(Calls(3),
              ElementsAre("- -> a@n2!", "initial - -> b@n1!", "- -> c@n1!"));
  server_.Erase("b");
  EXPECT_THAT(CallsWhenWatched(), ElementsAre("initial - -> b@n1!"));
  Throw({"- -> c@n1"});
  StepToAgain();
  EXPECT_THAT(Calls(6), ElementsAre("- -> a@n2", "- -> b@n1", "b@n1 -> -",
                                    "- -> c@n1!", "synced", "no thanks"));
  StepToAgain();
  EXPECT_THAT(Calls(2), ElementsAre("- -> c@n1", "healthy"));
}

TEST_F(InformerExceptionsTest, TheStoreIsToldAgain) {
  server_.Put({"a", "n1"});
  auto informer = Started(Options());
  Throw({"initial - -> a@n1"});
  informer->AddHandler(Scripted());
  EXPECT_THAT(Calls(0),
              ElementsAre("initial - -> a@n1!", "no thanks", "no thanks"));
  StepToAgain();
  EXPECT_THAT(Calls(3), ElementsAre("initial - -> a@n1", "synced", "healthy"));
}

TEST_F(InformerExceptionsTest, AResyncIsToldAgain) {
  server_.Put({"a", "n1"});
  auto informer = Started(Options());
  const auto id = informer->AddHandler(Scripted());
  Calls(0);
  Throw({"a@n1 -> a@n1"});
  informer->Resync(id);
  EXPECT_THAT(Calls(0), ElementsAre("a@n1 -> a@n1!", "no thanks"));
  StepToAgain();
  EXPECT_THAT(Calls(2), ElementsAre("a@n1 -> a@n1", "healthy"));
  informer->RemoveHandler(id);
  informer->Resync(id);
  EXPECT_THAT(Calls(0), IsEmpty());
}

TEST_F(InformerExceptionsTest, TheSyncIsToldAgain) {
  Throw({"synced"});
  auto informer = New(Options());
  informer->AddHandler(Scripted());
  Calls(0);
  EXPECT_TRUE(informer->Start().ok());
  EXPECT_THAT(CallsWhenWatched(),
              ElementsAre("synced!", "no list has been read yet", "no thanks"));
  StepToAgain();
  EXPECT_THAT(Calls(2), ElementsAre("synced", "healthy"));
}

TEST_F(InformerExceptionsTest, TheHealthIsToldAgain) {
  auto informer = Watching(Scripted());
  Throw({"broken"});
  clock_.Step(absl::Seconds(1));
  server_.EndWatches(absl::UnavailableError("broken"));
  EXPECT_THAT(CallsWhenWatched(), ElementsAre("broken!", "healthy"));
  Throw({"broken", "healthy"});
  clock_.Step(absl::Seconds(1));
  server_.EndWatches(absl::UnavailableError("broken"));
  EXPECT_THAT(CallsWhenWatched(), ElementsAre("broken!", "healthy!"));
  StepToAgain();
  EXPECT_THAT(Calls(1), ElementsAre("healthy"));
}

TEST_F(InformerExceptionsTest, ARemovedHandlerIsNotCalledAgain) {
  auto informer = Started(Options());
  const auto id =
      informer->AddHandler(Handler([](const std::string&) { return true; }));
  server_.Put({"a", "n1"});
  server_.AwaitWatched();
  informer->RemoveHandler(id);
  Calls(0);
  StepToAgain();
  informer->AddHandler(Handler([](const std::string&) { return false; }));
  EXPECT_THAT(Calls(0), ElementsAre("initial - -> a@n1", "synced", "healthy"));
}

TEST_F(InformerExceptionsTest, AStopEndsTheCallsThatAreMadeAgain) {
  auto informer =
      Watching(Handler([](const std::string& call) { return call[0] == '-'; }));
  server_.Put({"a", "n1"});
  server_.AwaitWatched();
  clock_.AwaitWaiters(1);
  informer->Stop();
  Calls(0);
  clock_.Step(absl::Hours(1));
  EXPECT_THAT(Calls(0), IsEmpty());
  // While no call must be made again.
  Throw({"- -> b@n1"});
  informer = Started(Options());
  informer->AddHandler(Scripted());
  server_.Put({"b", "n1"});
  server_.AwaitWatched();
  Calls(0);
  StepToAgain();
  Calls(2);
  informer->Stop();
}

#endif  // ABSL_HAVE_EXCEPTIONS

}  // namespace
}  // namespace workqueue::informer_exceptions_test
