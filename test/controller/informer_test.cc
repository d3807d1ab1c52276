// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/controller/informer.h"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>  // NOLINT(build/c++11)
#include <utility>
#include <vector>

#include "absl/base/config.h"
#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/controller/informer_fixture.h"
#include "workqueue/base/mutex_lock.h"
#include "workqueue/clock/fake_clock.h"
#include "workqueue/controller/lister_watcher.h"
#include "workqueue/testing/thread.h"

namespace workqueue::informer_test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

class InformerTest : public InformerFixture {
 protected:
  // Returns a handler that records its calls.
  InformerHandler<Pod> Recorder() {
    InformerHandler<Pod> handler;
    handler.on_event = [this](const ObjectEvent<Pod>& event) {
      Record(absl::StrCat(event.is_in_initial_list ? "initial " : "",
                          Print(event.old_object), " -> ",
                          Print(event.new_object)));
    };
    handler.on_synced = [this] { Record("synced"); };
    handler.on_health = [this](const absl::Status& status) {
      Record(status.ok() ? "watching"
                         : absl::StatusCodeToString(status.code()));
    };
    return handler;
  }

  void Record(std::string call) {
    internal::MutexLock lock(&mu_);
    calls_.push_back(std::move(call));
  }

  // Returns the calls since the last one of this function.
  std::vector<std::string> Calls() {
    internal::MutexLock lock(&mu_);
    return std::exchange(calls_, {});
  }

  // Returns an informer with a recorder, which has been started and watches,
  // and whose calls have been read.
  std::unique_ptr<Informer<Pod>> Recorded() {
    auto informer = New(Options());
    informer->AddHandler(Recorder());
    EXPECT_TRUE(informer->Start().ok());
    server_.AwaitWatched();
    Calls();
    return informer;
  }

  // Waits until the informer waits for a retry, and moves the clock there.
  void StepToRetry(absl::Duration delay) {
    clock_.AwaitWaiters(1);
    EXPECT_EQ(clock_.GetEarliestWakeupTime(), clock_.TimeNow() + delay);
    clock_.Step(delay);
  }

  const absl::Status broken_ = absl::UnavailableError("broken");
  absl::Mutex mu_;
  std::vector<std::string> calls_ ABSL_GUARDED_BY(mu_);
};

TEST_F(InformerTest, ListsAndThenWatches) {
  server_.Put({"a", "n1"});
  server_.Put({"b", "n1"});
  auto informer = New(Options());
  informer->AddHandler(Recorder());
  EXPECT_THAT(Calls(), ElementsAre("UNAVAILABLE"));
  EXPECT_FALSE(informer->HasSynced());
  ASSERT_TRUE(informer->Start().ok());
  server_.AwaitWatched();
  EXPECT_THAT(Calls(), ElementsAre("initial - -> a@n1", "initial - -> b@n1",
                                   "synced", "watching"));
  EXPECT_TRUE(informer->HasSynced());
  EXPECT_EQ(informer->Healthy(), absl::OkStatus());

  server_.Put({"c", "n2"});
  server_.Put({"a", "n2"});
  server_.Erase("b");
  server_.AwaitWatched();
  EXPECT_THAT(Calls(), ElementsAre("- -> c@n2", "a@n1 -> a@n2", "b@n1 -> -"));
  EXPECT_EQ(Print(informer->store().Get("a")), "a@n2");
  EXPECT_EQ(informer->store().Get("b"), nullptr);
  EXPECT_EQ(informer->store().ByIndex("node", "n2")->size(), 2);
  EXPECT_EQ(server_.lists(), 1);
  EXPECT_EQ(server_.watches(), 1);
}

// From then on the objects in the store may be old.
TEST_F(InformerTest, TellsThatItHasBeenStopped) {
  auto informer = Recorded();
  informer->Stop();
  EXPECT_EQ(informer->Healthy(),
            absl::CancelledError("informer pods has been stopped"));
  EXPECT_THAT(Calls(), ElementsAre("CANCELLED"));
  informer->AddHandler(Recorder());
  EXPECT_THAT(Calls(), ElementsAre("synced", "CANCELLED"));
}

TEST_F(InformerTest, TheEndOfAWatchInAStopIsNoError) {
  auto informer = Recorded();
  server_.Put({"a", "n1"});
  server_.AwaitWatched();
  Calls();
  informer->Stop();
  EXPECT_THAT(Calls(), ElementsAre("CANCELLED"));
  EXPECT_THAT(log_.messages(), IsEmpty());
  EXPECT_EQ(server_.watches(), 1);
}

TEST_F(InformerTest, ReadsAllPagesOfAList) {
  for (int i = 0; i < 5; ++i) server_.Put({absl::StrCat("p", i), "n"});
  server_.SetPageSize(2);
  auto informer = Started(Options());
  EXPECT_EQ(informer->store().size(), 5);
  EXPECT_EQ(server_.lists(), 3);
}

TEST_F(InformerTest, WatchesAgainAtOnceAfterARegularEnd) {
  auto informer = Recorded();
  server_.Put({"a", "n1"});
  server_.AwaitWatched();
  server_.EndWatches(absl::OkStatus());
  server_.Put({"a", "n2"});
  server_.AwaitWatched();
  EXPECT_THAT(Calls(), ElementsAre("- -> a@n1", "watching", "a@n1 -> a@n2"));
  EXPECT_EQ(server_.lists(), 1);
}

TEST_F(InformerTest, ResumesFromTheLastVersionAfterABreak) {
  auto informer = Recorded();
  server_.EndWatches(broken_);
  clock_.AwaitWaiters(1);
  EXPECT_EQ(informer->Healthy(), broken_);
  server_.Put({"a", "n1"});
  server_.Put({"a", "n2"});
  server_.Erase("a");
  StepToRetry(kRetry);
  server_.AwaitWatched();
  EXPECT_THAT(Calls(), ElementsAre("UNAVAILABLE", "watching", "- -> a@n1",
                                   "a@n1 -> a@n2", "a@n2 -> -"));
  EXPECT_EQ(informer->Healthy(), absl::OkStatus());
  EXPECT_EQ(server_.lists(), 1);
}

// The server had accepted the watch, so it can be asked again.
TEST_F(InformerTest, WatchesAgainAtOnceAfterABreak) {
  auto informer = Recorded();
  server_.Put({"a", "n1"});
  server_.AwaitWatched();
  server_.EndWatches(broken_);
  server_.Put({"a", "n2"});
  server_.AwaitWatched();
  clock_.Step(absl::Seconds(1));
  server_.EndWatches(broken_);
  server_.AwaitWatched();
  EXPECT_THAT(Calls(), ElementsAre("- -> a@n1", "UNAVAILABLE", "watching",
                                   "a@n1 -> a@n2", "UNAVAILABLE", "watching"));
  EXPECT_EQ(server_.lists(), 1);
  const char* const message =
      "E informer pods: UNAVAILABLE: broken (watches again)";
  EXPECT_THAT(log_.messages(), ElementsAre(message, message));
}

TEST_F(InformerTest, ResumesFromABookmark) {
  auto informer = Recorded();
  server_.Put({"a", "n1"});
  server_.SendBookmark();
  server_.AwaitWatched();
  server_.Compact();
  server_.EndWatches(absl::OkStatus());
  server_.AwaitWatched();
  EXPECT_EQ(server_.lists(), 1);
}

TEST_F(InformerTest, ListsAgainWhenItsVersionIsGone) {
  server_.Put({"kept", "n1"});
  server_.Put({"moved", "n1"});
  server_.Put({"gone", "n1"});
  auto informer = Recorded();
  server_.EndWatches(broken_);
  clock_.AwaitWaiters(1);
  server_.Put({"moved", "n2"});
  server_.Put({"new", "n2"});
  server_.Erase("gone");
  server_.Compact();
  StepToRetry(kRetry);
  StepToRetry(2 * kRetry);
  server_.AwaitWatched();
  EXPECT_THAT(Calls(),
              ElementsAre("UNAVAILABLE", "OUT_OF_RANGE", "moved@n1 -> moved@n2",
                          "- -> new@n2", "gone@n1 -> -", "watching"));
  EXPECT_EQ(server_.lists(), 2);
}

TEST_F(InformerTest, ListsAgainWhenEventsWereMissed) {
  auto informer = Recorded();
  server_.EndWatches(absl::DataLossError("too slow"));
  StepToRetry(kRetry);
  server_.AwaitWatched();
  EXPECT_EQ(server_.lists(), 2);
}

TEST_F(InformerTest, BeginsAListAgainWhosePagesHaveExpired) {
  server_.Put({"a", "n1"});
  server_.Put({"b", "n1"});
  server_.SetPageSize(1);
  auto informer = New(Options());
  InformerHandler<Pod> handler;
  handler.on_event = [&](const ObjectEvent<Pod>& event) {
    if (event.new_object == nullptr || event.new_object->name != "a") return;
    server_.Erase("a");
    server_.Compact();
  };
  informer->AddHandler(std::move(handler));
  ASSERT_TRUE(informer->Start().ok());
  StepToRetry(kRetry);
  server_.AwaitWatched();
  EXPECT_THAT(informer->store().Keys(), ElementsAre("b"));
}

TEST_F(InformerTest, DelaysGrowAndBeginAgain) {
  auto informer = Recorded();
  server_.FailWatches(4, broken_);
  server_.EndWatches(broken_);
  StepToRetry(kRetry);
  StepToRetry(2 * kRetry);
  StepToRetry(4 * kRetry);
  StepToRetry(4 * kRetry);
  StepToRetry(4 * kRetry);
  server_.AwaitWatched();
  // Two watches that last for two minutes together.
  clock_.Step(absl::Minutes(1));
  server_.EndWatches(broken_);
  server_.AwaitWatched();
  clock_.Step(absl::Minutes(1));
  server_.FailWatches(1, broken_);
  server_.EndWatches(broken_);
  StepToRetry(kRetry);
  server_.AwaitWatched();
}

// A server whose lists and watches take long to fail.
class SlowServer final : public ListerWatcher<Pod> {
 public:
  // Lists fail as long as `lists` is 0.
  SlowServer(FakeClock* clock, int lists) : clock_(*clock), lists_(lists) {}

  absl::StatusOr<ListPage> List(
      const ListOptions&,
      absl::FunctionRef<void(std::shared_ptr<const Pod>)>) override {
    if (lists_ > 0) return ListPage{/*version=*/"7", /*next_page=*/""};
    clock_.Step(absl::Minutes(5));
    return absl::DeadlineExceededError("no answer");
  }

  // A watch that ends after a second, and then watches that do not begin.
  absl::StatusOr<std::unique_ptr<Watcher<Pod>>> Watch(
      const std::string&) override {
    if (++watches_ > 1) {
      clock_.Step(absl::Minutes(5));
      return absl::DeadlineExceededError("no answer");
    }
    return std::make_unique<ShortWatcher>(&clock_);
  }

  void Stop() override {}

 private:
  class ShortWatcher final : public Watcher<Pod> {
   public:
    explicit ShortWatcher(FakeClock* clock) : clock_(*clock) {}
    absl::StatusOr<std::optional<WatchEvent<Pod>>> Next() override {
      clock_.Step(absl::Seconds(1));
      return std::nullopt;
    }

   private:
    FakeClock& clock_;
  };

  FakeClock& clock_;
  const int lists_;
  int watches_ = 0;
};

// Only time in health makes the delays begin again: not the time that a list,
// or a watch after a good one, takes to fail.
TEST_F(InformerTest, TheTimeOfAFailureIsNoGoodTime) {
  for (const int lists : {0, 1}) {
    InformerOptions<Pod> options = Options();
    options.lister_watcher = std::make_unique<SlowServer>(&clock_, lists);
    auto informer = New(std::move(options));
    ASSERT_TRUE(informer->Start().ok());
    StepToRetry(kRetry);
    StepToRetry(2 * kRetry);
    StepToRetry(4 * kRetry);
    StepToRetry(4 * kRetry);
    clock_.AwaitWaiters(1);
  }
}

TEST_F(InformerTest, VariesItsDelays) {
  InformerOptions<Pod> options = Options();
  options.backoff_jitter = {1.5, 1.5};
  server_.FailLists(1, broken_);
  auto informer = New(std::move(options));
  ASSERT_TRUE(informer->Start().ok());
  StepToRetry(1.5 * kRetry);
  server_.AwaitWatched();
}

TEST_F(InformerTest, AWatchThatEndsAtOnceCountsAsAnError) {
  auto informer = Recorded();
  server_.EndWatches(absl::OkStatus());
  clock_.AwaitWaiters(1);
  EXPECT_THAT(std::string(informer->Healthy().message()),
              HasSubstr("ended within 1s and without a new version"));
  StepToRetry(kRetry);
  server_.AwaitWatched();
  clock_.Step(absl::Seconds(1));
  server_.EndWatches(absl::OkStatus());
  server_.AwaitWatched();
  EXPECT_EQ(server_.watches(), 3);
}

// A repeated event does not tell that the server makes progress.
TEST_F(InformerTest, AWatchThatOnlyRepeatsAnEventCountsAsAnError) {
  auto informer = Recorded();
  server_.Put({"a", "n1"});
  server_.AwaitWatched();
  server_.SetRepeatedEvents(1);
  server_.SetOnSent([this] { server_.EndWatches(absl::OkStatus()); });
  server_.EndWatches(absl::OkStatus());  // At once: "a" was new.
  StepToRetry(kRetry);
  StepToRetry(2 * kRetry);
  clock_.AwaitWaiters(1);
  server_.SetOnSent(nullptr);
  StepToRetry(4 * kRetry);
  server_.AwaitWatched();
  EXPECT_EQ(server_.watches(), 5);
}

// Each watch has one event, with a new version, and ends.
TEST_F(InformerTest, NoServerIsWatchedWithoutAPause) {
  int calls = 0;
  server_.SetOnSent([&] {
    if (++calls % 2 == 1) {
      server_.Put({"a", "n1"});
    } else {
      server_.EndWatches(absl::OkStatus());
    }
  });
  auto informer = New(Options());
  ASSERT_TRUE(informer->Start().ok());
  clock_.AwaitWaiters(1);
  EXPECT_EQ(server_.watches(), 11);
  StepToRetry(absl::Seconds(1) / 5);
  clock_.AwaitWaiters(1);
  EXPECT_EQ(server_.watches(), 12);
  EXPECT_EQ(informer->Healthy(), absl::OkStatus());
}

TEST_F(InformerTest, DropsRepeatedEvents) {
  auto informer = Recorded();
  server_.Put({"a", "n1"});
  server_.Put({"a", "n2"});
  server_.Put({"b", "n1"});
  server_.AwaitWatched();
  Calls();
  server_.SetRepeatedEvents(3);
  server_.EndWatches(absl::OkStatus());
  server_.Put({"c", "n1"});
  server_.AwaitWatched();
  EXPECT_THAT(Calls(), ElementsAre("watching", "- -> c@n1"));
}

TEST_F(InformerTest, DropsTheRepeatedDeletionOfAnObjectThatIsBack) {
  auto informer = Recorded();
  server_.Put({"a", "n1"});
  server_.Erase("a");
  server_.Put({"a", "n2"});
  server_.AwaitWatched();
  Calls();
  server_.SetRepeatedEvents(2);
  server_.EndWatches(absl::OkStatus());
  server_.AwaitWatched();
  EXPECT_THAT(Calls(), ElementsAre("watching"));
}

TEST_F(InformerTest, WithoutVersionsEachRepeatCounts) {
  InformerOptions<Pod> options = Options();
  options.is_newer = nullptr;
  auto informer = Started(std::move(options));
  informer->AddHandler(Recorder());
  server_.Put({"a", "n1"});
  server_.Put({"a", "n2"});
  server_.AwaitWatched();
  Calls();
  server_.SetRepeatedEvents(2);
  server_.EndWatches(absl::OkStatus());
  server_.AwaitWatched();
  EXPECT_THAT(Calls(), ElementsAre("watching", "a@n2 -> a@n1", "a@n1 -> a@n2"));
}

// A watch that sends the given events.
class ScriptedWatcher final : public Watcher<Pod> {
 public:
  explicit ScriptedWatcher(std::vector<WatchEvent<Pod>> events)
      : events_(std::move(events)) {}

  absl::StatusOr<std::optional<WatchEvent<Pod>>> Next() override {
    if (next_ == events_.size()) return absl::DataLossError("the script ends");
    return events_[next_++];
  }

 private:
  const std::vector<WatchEvent<Pod>> events_;
  size_t next_ = 0;
};

// A server whose lists and watches the test writes.
class ScriptedServer final : public ListerWatcher<Pod> {
 public:
  ScriptedServer(std::vector<std::vector<Pod>> lists,
                 std::vector<WatchEvent<Pod>> events)
      : lists_(std::move(lists)), events_(std::move(events)) {}

  absl::StatusOr<ListPage> List(
      const ListOptions& options,
      absl::FunctionRef<void(std::shared_ptr<const Pod>)> add) override {
    EXPECT_EQ(options.min_version, next_ == 0 ? "" : "7");
    for (const Pod& pod : lists_.at(next_++)) {
      add(std::make_shared<const Pod>(pod));
    }
    return ListPage{/*version=*/"7", /*next_page=*/""};
  }

  absl::StatusOr<std::unique_ptr<Watcher<Pod>>> Watch(
      const std::string&) override {
    return std::make_unique<ScriptedWatcher>(std::exchange(events_, {}));
  }

  void Stop() override {}

 private:
  const std::vector<std::vector<Pod>> lists_;
  std::vector<WatchEvent<Pod>> events_;
  size_t next_ = 0;
};

TEST_F(InformerTest, EventsOfDifferentObjectsMayComeInAnyOrder) {
  using Event = WatchEvent<Pod>;
  const auto event = [](Event::Type type, Pod pod) {
    return Event{type, std::make_shared<const Pod>(std::move(pod)), "7"};
  };
  InformerOptions<Pod> options = Options();
  options.lister_watcher = std::make_unique<ScriptedServer>(
      std::vector<std::vector<Pod>>{{}},
      std::vector<Event>{event(Event::Type::kAdded, {"b", "n1", 9}),
                         event(Event::Type::kAdded, {"a", "n1", 8}),
                         event(Event::Type::kModified, {"a", "n2", 11}),
                         event(Event::Type::kModified, {"a", "n3", 10}),
                         event(Event::Type::kDeleted, {"b", "n1", 12})});
  auto informer = New(std::move(options));
  ASSERT_TRUE(informer->Start().ok());
  clock_.AwaitWaiters(1);  // The script has ended.
  EXPECT_THAT(informer->store().Keys(), ElementsAre("a"));
  EXPECT_EQ(Print(informer->store().Get("a")), "a@n2");
}

TEST_F(InformerTest, BelievesAListWhoseStateIsOlder) {
  InformerOptions<Pod> options = Options();
  options.lister_watcher = std::make_unique<ScriptedServer>(
      std::vector<std::vector<Pod>>{{{"a", "n1", 9}, {"b", "n1", 9}},
                                    {{"a", "n2", 5}, {"b", "n1", 9}}},
      std::vector<WatchEvent<Pod>>());
  auto informer = New(std::move(options));
  informer->AddHandler(Recorder());
  ASSERT_TRUE(informer->Start().ok());
  clock_.AwaitWaiters(1);
  Calls();
  clock_.Step(kRetry);
  clock_.AwaitWaiters(1);
  EXPECT_THAT(Calls(), ElementsAre("a@n1 -> a@n2", "watching", "DATA_LOSS"));
}

// A server that has forgotten all versions. Notes what lists ask for.
class ForgetfulServer final : public ListerWatcher<Pod> {
 public:
  // The answer to a list.
  struct Answer {
    absl::StatusOr<ListPage> page;
    bool has_object = false;  // which comes before the rest of the page
  };

  // Lists return the next of `answers`.
  ForgetfulServer(std::vector<Answer> answers,
                  std::vector<std::string>* min_versions)
      : answers_(std::move(answers)), min_versions_(*min_versions) {}

  absl::StatusOr<ListPage> List(
      const ListOptions& options,
      absl::FunctionRef<void(std::shared_ptr<const Pod>)> add) override {
    min_versions_.push_back(options.min_version);
    const Answer& answer = answers_.at(min_versions_.size() - 1);
    if (answer.has_object) add(std::make_shared<const Pod>());
    return answer.page;
  }

  absl::StatusOr<std::unique_ptr<Watcher<Pod>>> Watch(
      const std::string&) override {
    return absl::OutOfRangeError("gone");
  }

  void Stop() override {}

 private:
  const std::vector<Answer> answers_;
  std::vector<std::string>& min_versions_;
};

TEST_F(InformerTest, AListIsNotOlderThanTheLastVersionIfThatIsPossible) {
  std::vector<std::string> min_versions;
  InformerOptions<Pod> options = Options();
  options.lister_watcher = std::make_unique<ForgetfulServer>(
      std::vector<ForgetfulServer::Answer>{
          {ListPage{"7", ""}},
          {absl::OutOfRangeError("not reached")},
          {ListPage{"5", ""}},
          {ListPage{"6", ""}}},
      &min_versions);
  auto informer = New(std::move(options));
  ASSERT_TRUE(informer->Start().ok());
  StepToRetry(kRetry);
  StepToRetry(2 * kRetry);
  StepToRetry(4 * kRetry);
  clock_.AwaitWaiters(1);
  EXPECT_THAT(min_versions, ElementsAre("", "7", "", "5"));
}

// Otherwise a server that is behind would delete what such a list has told.
TEST_F(InformerTest, AListIsNotOlderThanWhatAListHasToldThatBrokeOff) {
  std::vector<std::string> min_versions;
  InformerOptions<Pod> options = Options();
  options.lister_watcher = std::make_unique<ForgetfulServer>(
      std::vector<ForgetfulServer::Answer>{
          {ListPage{"7", ""}},
          {broken_},
          {broken_, /*has_object=*/true},
          {broken_},
          {ListPage{"9", "next"}},
          {broken_},
          {ListPage{"9", ""}, /*has_object=*/true}},
      &min_versions);
  auto informer = New(std::move(options));
  ASSERT_TRUE(informer->Start().ok());
  StepToRetry(kRetry);
  StepToRetry(2 * kRetry);
  for (int i = 0; i < 3; ++i) StepToRetry(4 * kRetry);
  clock_.AwaitWaiters(1);
  EXPECT_THAT(min_versions, ElementsAre("", "7", "7", "", "", "", "9"));
}

TEST_F(InformerTest, ALaterHandlerIsToldOfTheStore) {
  server_.Put({"a", "n1"});
  auto informer = Started(Options());
  const auto id = informer->AddHandler(Recorder());
  EXPECT_THAT(Calls(), ElementsAre("initial - -> a@n1", "synced", "watching"));
  server_.Erase("a");
  server_.AwaitWatched();
  EXPECT_THAT(Calls(), ElementsAre("a@n1 -> -"));
  informer->RemoveHandler(id);
  server_.Put({"b", "n1"});
  server_.AwaitWatched();
  EXPECT_THAT(Calls(), IsEmpty());
}

TEST_F(InformerTest, AHandlerMissesNothingWhileItIsAdded) {
  auto informer = Started(Options());
  Thread changes([this] {
    for (int i = 0; i < 200; ++i) {
      server_.Put({absl::StrCat("p", i % 20), absl::StrCat(i)});
      if (i % 7 == 0) server_.Erase(absl::StrCat("p", (i + 3) % 20));
    }
  });
  for (int i = 0; i < 20; ++i) {
    std::map<std::string, std::string> seen;
    InformerHandler<Pod> handler;
    handler.on_event = [&](const ObjectEvent<Pod>& event) {
      const auto& now = event.new_object;
      const auto& old = event.old_object;
      if (old != nullptr) {
        EXPECT_EQ(seen[old->name], old->node);
        seen.erase(old->name);
      } else {
        EXPECT_EQ(seen.count(now->name), 0);
      }
      if (now != nullptr) seen[now->name] = now->node;
    };
    const auto id = informer->AddHandler(std::move(handler));
    if (i == 19) changes.join();
    server_.AwaitWatched();
    if (i == 19) {
      EXPECT_EQ(seen.size(), server_.objects().size());
      for (const auto& [name, pod] : server_.objects()) {
        EXPECT_EQ(seen[name], pod->node);
      }
    }
    informer->RemoveHandler(id);
  }
}

TEST_F(InformerTest, AResyncLetsOthersGoFirst) {
  constexpr int kObjects = 5000;
  for (int i = 0; i < kObjects; ++i) server_.Put({absl::StrCat(i), "n1"});
  auto informer = Started(Options());
  const auto removed = informer->AddHandler({});
  absl::Notification resyncs;
  std::atomic<bool> is_removed{false};
  int calls = 0;
  int calls_before = 0;
  InformerHandler<Pod> handler;
  handler.on_event = [&](const ObjectEvent<Pod>& event) {
    if (event.is_in_initial_list) return;
    if (++calls == 1) resyncs.Notify();
    if (!is_removed) ++calls_before;
    std::this_thread::yield();
  };
  const auto id = informer->AddHandler(std::move(handler));
  Thread remover([&] {
    resyncs.WaitForNotification();
    informer->RemoveHandler(removed);
    is_removed = true;
  });
  informer->Resync(id);
  remover.join();
  EXPECT_EQ(calls, kObjects);
  EXPECT_LT(calls_before, kObjects);
}

TEST_F(InformerTest, AwaitSyncWaitsOnTheClock) {
  server_.FailLists(1, broken_);
  auto informer = New(Options());
  ASSERT_TRUE(informer->Start().ok());
  clock_.AwaitWaiters(1);
  EXPECT_FALSE(informer->AwaitSync(absl::ZeroDuration()));
  bool synced = false;
  Thread waiter([&] { synced = informer->AwaitSync(absl::Seconds(10)); });
  clock_.AwaitWaiters(2);
  clock_.Step(kRetry);
  waiter.join();
  EXPECT_TRUE(synced);
}

TEST_F(InformerTest, StopWakesEverything) {
  // In a backoff, with a thread in AwaitSync().
  server_.FailLists(1, broken_);
  auto informer = New(Options());
  ASSERT_TRUE(informer->Start().ok());
  clock_.AwaitWaiters(1);
  Thread waiter([&] { EXPECT_FALSE(informer->AwaitSync()); });
  clock_.AwaitWaiters(2);
  informer->Stop();
  waiter.join();
  EXPECT_TRUE(absl::IsFailedPrecondition(informer->Start()));
  // In a watch.
  informer = Started(Options());
  informer->Stop();
  informer->Stop();
  // Never started.
  New(Options())->Stop();
}

TEST_F(InformerTest, LogsErrors) {
  server_.FailLists(1, absl::UnavailableError("no\nroute"));
  auto informer = New(Options());
  ASSERT_TRUE(informer->Start().ok());
  clock_.AwaitWaiters(1);
  EXPECT_THAT(log_.messages(),
              ElementsAre("E informer pods: UNAVAILABLE: no\\nroute (tries "
                          "again in 1s)"));
}

#ifdef ABSL_HAVE_EXCEPTIONS
TEST_F(InformerTest, AnEventThatCannotBeAppliedIsReadAgain) {
  InformerOptions<Pod> options = Options();
  int calls = 0;
  options.key = [&calls](const Pod& pod) {
    if (++calls == 1) throw std::bad_alloc();
    return pod.name;
  };
  auto informer = Started(std::move(options));
  server_.Put({"a", "n1"});
  StepToRetry(kRetry);
  server_.AwaitWatched();
  EXPECT_EQ(Print(informer->store().Get("a")), "a@n1");
}
#endif  // ABSL_HAVE_EXCEPTIONS

TEST_F(InformerTest, NamesABadOption) {
  const auto error = [](InformerOptions<Pod> options) {
    return std::string(
        Informer<Pod>::Create(std::move(options)).status().message());
  };
  InformerOptions<Pod> options = Options();
  options.lister_watcher = nullptr;
  EXPECT_EQ(error(std::move(options)),
            "lister_watcher is null; it must be given");
  options = Options();
  options.key = nullptr;
  EXPECT_EQ(error(std::move(options)), "key is empty; it must be callable");
  options = Options();
  options.indexers.push_back(options.indexers[0]);
  EXPECT_EQ(error(std::move(options)),
            "indexers: the index 'node' is given twice");
  options = Options();
  options.indexers[0].values = nullptr;
  EXPECT_EQ(error(std::move(options)),
            "indexers: values of the index 'node' is empty; it must be "
            "callable");
  options = Options();
  options.backoff.max_delay = kRetry / 2;
  EXPECT_EQ(error(std::move(options)),
            "backoff.max_delay is 500ms; it must be at least base_delay, which "
            "is 1s");
  options = Options();
  options.backoff_jitter.min_factor = -1;
  EXPECT_THAT(error(std::move(options)),
              HasSubstr("backoff_jitter.min_factor"));
}

}  // namespace
}  // namespace workqueue::informer_test
