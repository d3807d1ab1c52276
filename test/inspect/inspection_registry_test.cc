// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/inspect/inspection_registry.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>  // NOLINT(build/c++11)
#include <utility>
#include <vector>

#include "absl/base/config.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/inspect/fake_inspectable.h"
#include "workqueue/base/mutex_lock.h"
#include "workqueue/clock/fake_clock.h"
#include "workqueue/inspect/inspectable.h"
#include "workqueue/inspect/inspection.h"

namespace workqueue::inspection_registry_test {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

class InspectionRegistryTest : public testing::Test {
 protected:
  InspectionRegistryTest() {
    InspectionRegistryOptions options;
    options.clock = &clock_;
    options.sample_period = absl::Seconds(5);
    options.max_samples = 3;
    registry_ = *InspectionRegistry::Create(options);
  }

  std::unique_ptr<InspectionRegistration> Add(absl::string_view name,
                                              FakeState* state) {
    auto added = registry_->Add(name, std::make_unique<FakeInspectable>(state));
    EXPECT_TRUE(added.ok()) << added.status();
    return *std::move(added);
  }

  std::vector<std::string> Names() {
    std::vector<std::string> names;
    for (const NamedInspection& it : registry_->InspectAll(1)) {
      names.push_back(it.name);
    }
    return names;
  }

  FakeClock clock_;
  FakeState state_;
  std::unique_ptr<InspectionRegistry> registry_;
};

TEST_F(InspectionRegistryTest, ListsObjectsByNameUntilTheirRegistrationsEnd) {
  EXPECT_THAT(Names(), ElementsAre());
  FakeState other;
  auto b = Add("b", &other);
  auto a = Add("a", &state_);
  EXPECT_THAT(Names(), ElementsAre("a", "b"));
  a.reset();
  EXPECT_THAT(Names(), ElementsAre("b"));
  EXPECT_EQ(registry_->Inspect("a", 1).status(),
            absl::NotFoundError("there is no \"a\""));
  a = Add("a", &state_);
  EXPECT_EQ(registry_->Inspect("a", 1)->kind, "fake queue");
}

TEST_F(InspectionRegistryTest, RefusesBadNames) {
  const auto add = [this](absl::string_view name) {
    return registry_->Add(name, std::make_unique<FakeInspectable>(&state_))
        .status();
  };
  EXPECT_EQ(add(""), absl::InvalidArgumentError("name is empty"));
  const auto a = Add("a", &state_);
  EXPECT_EQ(add("a"),
            absl::AlreadyExistsError("name is \"a\", which exists already"));
}

TEST_F(InspectionRegistryTest, RefusesNull) {
  EXPECT_EQ(registry_->Add("a", nullptr).status(),
            absl::InvalidArgumentError("inspectable is null"));
}

TEST_F(InspectionRegistryTest, ANameIsUtf8) {
  FakeState state;
  const auto registration =
      *registry_->Add("p\xffrs", std::make_unique<FakeInspectable>(&state));
  const auto all = registry_->InspectAll(0);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].name, "p\uFFFDrs");
  for (const char* name : {"p\xffrs", "p\nrs", "p\uFFFDrs"}) {
    EXPECT_TRUE(registry_->Inspect(name, 0).ok());
    EXPECT_TRUE(registry_->Act(name, InspectAction::kForget, "web").ok());
  }
}

TEST_F(InspectionRegistryTest, RefusesBadOptions) {
  InspectionRegistryOptions options;
  options.sample_period = absl::ZeroDuration();
  EXPECT_EQ(InspectionRegistry::Create(options).status(),
            absl::InvalidArgumentError(
                "sample_period is 0; it must be finite and positive"));
  options.sample_period = absl::Seconds(1);
  options.max_samples = 0;
  EXPECT_EQ(
      InspectionRegistry::Create(options).status(),
      absl::InvalidArgumentError("max_samples is 0; it must be at least 1"));
}

TEST_F(InspectionRegistryTest, KeepsTheLastSamplesOfTheDepths) {
  state_.inspection->num_queued = 1;
  state_.inspection->num_processing = 2;
  state_.inspection->num_waiting = 3;
  state_.inspection->num_failing = 4;
  const auto a = Add("a", &state_);
  ASSERT_EQ(registry_->Inspect("a", 7)->samples.size(), 1u);
  const DepthSample first = registry_->Inspect("a", 7)->samples[0];
  EXPECT_EQ(first.queued, 1u);
  EXPECT_EQ(first.processing, 2u);
  EXPECT_EQ(first.waiting, 3u);
  EXPECT_EQ(first.failing, 4u);

  clock_.Step(absl::Seconds(4));
  EXPECT_EQ(registry_->Inspect("a", 7)->samples.size(), 1u);
  for (int i = 2; i <= 4; ++i) {
    state_.inspection->num_queued = i;
    clock_.Step(absl::Seconds(5));
  }
  std::vector<size_t> queued;
  const NamedInspection a_now = *registry_->Inspect("a", 7);
  for (const DepthSample& it : a_now.samples) queued.push_back(it.queued);
  EXPECT_THAT(queued, ElementsAre(2, 3, 4));
}

TEST_F(InspectionRegistryTest, ARateIsThatOfTheLastMinute) {
  InspectionRegistryOptions options;
  options.clock = &clock_;
  options.sample_period = absl::Seconds(30);
  registry_ = *InspectionRegistry::Create(options);
  const auto a = Add("a", &state_);
  const auto step_to = [this](uint64_t added, uint64_t failed) {
    clock_.Step(absl::Seconds(30));
    state_.inspection->taken_at = clock_.TimeNow();
    state_.inspection->totals = {added, /*retried=*/0, /*handed_out=*/0,
                                 /*succeeded=*/0, failed};
  };
  // Each step takes a sample before it changes the totals.
  state_.inspection->taken_at = clock_.TimeNow();
  EXPECT_FALSE(registry_->Inspect("a", 1)->rates.has_value());
  step_to(300, 3);
  step_to(600, 3);
  step_to(600, 33);
  const auto rates = registry_->Inspect("a", 1)->rates;
  ASSERT_TRUE(rates.has_value());
  EXPECT_EQ(rates->added, 5);
  EXPECT_EQ(rates->failed, 0.5);
  EXPECT_EQ(rates->retried, 0);
  step_to(0, 33);
  step_to(0, 33);
  EXPECT_EQ(registry_->Inspect("a", 1)->rates->added, 0)
      << "an add that was refused does not count any more";
}

TEST_F(InspectionRegistryTest, ARateIsSinceTheLastSampleIfThatIsOlder) {
  InspectionRegistryOptions options;
  options.clock = &clock_;
  options.sample_period = absl::Minutes(2);
  registry_ = *InspectionRegistry::Create(options);
  state_.inspection->taken_at = clock_.TimeNow();
  state_.inspection->totals = InspectedTotals();
  const auto a = Add("a", &state_);
  EXPECT_FALSE(registry_->Inspect("a", 1)->rates.has_value());
  clock_.Step(absl::Seconds(90));
  state_.inspection->taken_at = clock_.TimeNow();
  state_.inspection->totals->added = 180;
  const auto rates = registry_->Inspect("a", 1)->rates;
  ASSERT_TRUE(rates.has_value());
  EXPECT_EQ(rates->added, 2);
}

TEST_F(InspectionRegistryTest, ASampleRequestsOnlyTheNumbers) {
  const auto a = Add("a", &state_);
  clock_.Step(absl::Seconds(5));
  EXPECT_EQ(state_.max_items.size(), 2u);
  EXPECT_THAT(state_.max_items, Each(0u));
}

TEST_F(InspectionRegistryTest, AnErrorStandsInThePlaceOfTheContents) {
  const auto a = Add("a", &state_);
  state_.inspection = absl::UnavailableError("no server");
  clock_.Step(absl::Seconds(5));
  const auto all = registry_->InspectAll(1);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].inspection.status(), absl::UnavailableError("no server"));
  EXPECT_EQ(all[0].samples.size(), 1u) << "there is no sample of an error";
}

// Many viewers wait for a server that does not answer as long as one does.
TEST_F(InspectionRegistryTest, AnObjectThatIsAwayIsNotAskedByEachViewer) {
  const auto a = Add("a", &state_);
  state_.inspection = absl::DeadlineExceededError("no answer");
  state_.max_items.clear();
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(registry_->Inspect("a", 10)->inspection.status(),
              state_.inspection.status());
  }
  EXPECT_LE(state_.max_items.size(), 3u) << "one a second";
}

// Or a viewer who comes while a sample is taken waits twice as long.
TEST_F(InspectionRegistryTest, AnObjectThatDidNotAnswerASampleIsNotAsked) {
  state_.inspection = absl::UnavailableError("no server");
  const auto a = Add("a", &state_);  // takes a sample
  EXPECT_EQ(registry_->Inspect("a", 10)->inspection.status(),
            state_.inspection.status());
  EXPECT_EQ(state_.max_items.size(), 1u);
}

// Or many queues whose servers are away take a second each, and the page gives
// up before it has an answer.
TEST_F(InspectionRegistryTest, ServersThatAreAwayAreAskedAtTheSameTime) {
  constexpr size_t kNum = 8;
  class Meets final : public Inspectable {
   public:
    explicit Meets(absl::Mutex* mu, size_t* left) : mu_(mu), left_(left) {}
    std::string Kind() const override { return "meets the others"; }
    absl::StatusOr<Inspection> Inspect(size_t max_items) override {
      if (max_items == 0) return Inspection();  // a sample
      internal::MutexLock lock(mu_);
      --*left_;
      const auto all = [this] { return *left_ == 0; };
      EXPECT_TRUE(
          mu_->AwaitWithTimeout(absl::Condition(&all), absl::Seconds(60)));
      return absl::UnavailableError("no server");
    }

   private:
    absl::Mutex* const mu_;
    size_t* const left_;
  };
  absl::Mutex mu;
  size_t left = kNum;
  std::vector<std::unique_ptr<InspectionRegistration>> registrations;
  for (size_t i = 0; i < kNum; ++i) {
    registrations.push_back(
        *registry_->Add(absl::StrCat(i), std::make_unique<Meets>(&mu, &left)));
  }
  EXPECT_THAT(Names(), ElementsAre("0", "1", "2", "3", "4", "5", "6", "7"));
}

// However many they are.
TEST_F(InspectionRegistryTest, AFewServersThatAreAwayAreEnoughForAPage) {
  constexpr size_t kNum = 100;
  std::vector<FakeState> states(kNum);
  std::vector<std::unique_ptr<InspectionRegistration>> registrations;
  for (size_t i = 0; i < kNum; ++i) {
    registrations.push_back(Add(absl::StrCat("a", i), &states[i]));
    states[i].here.emplace();
    states[i].inspection = absl::UnavailableError("no server");
    states[i].max_items.clear();
  }
  const auto in_memory = Add("b", &state_);
  const auto asked = [&states] {
    return static_cast<size_t>(std::count_if(
        states.begin(), states.end(),
        [](const FakeState& state) { return !state.max_items.empty(); }));
  };
  const auto look = [this] {
    const std::vector<NamedInspection> all = registry_->InspectAll(1);
    EXPECT_EQ(all.size(), kNum + 1);
    for (const NamedInspection& it : all) {
      EXPECT_EQ(it.inspection.ok(), it.name == "b") << it.name;
      EXPECT_EQ(it.here.has_value(), it.name != "b") << it.name;
    }
  };
  look();
  EXPECT_GE(asked(), 16u);
  EXPECT_LT(asked(), 32u);
  clock_.Step(absl::Seconds(5));  // takes samples
  EXPECT_GE(asked(), 32u) << "others have their turn";
  EXPECT_LT(asked(), 64u);
  while (asked() < kNum) look();  // a thread that is slow leaves one out
}

TEST_F(InspectionRegistryTest, PassesKeysAndActionsOn) {
  state_.inspection = StuckInspection();
  const auto a = Add("a", &state_);
  EXPECT_EQ(
      registry_->InspectKey("a", "shop/hangs")->inspection->processing.size(),
      1u);
  EXPECT_EQ(registry_->InspectKey("b", "x").status().code(),
            absl::StatusCode::kNotFound);
  state_.act_result = absl::NotFoundError("it does not wait");
  EXPECT_EQ(registry_->Act("a", InspectAction::kCancel, "x"),
            state_.act_result);
  EXPECT_EQ(registry_->Act("b", InspectAction::kForget, "x").code(),
            absl::StatusCode::kNotFound);
  EXPECT_THAT(state_.actions, ElementsAre("cancel x"));
}

// Or a change in an outage keeps the page and the samples of all objects.
TEST_F(InspectionRegistryTest, AChangeOfAnItemHoldsNobodyUp) {
  class Changes final : public Inspectable {
   public:
    Changes(absl::Notification* begun, absl::Notification* go_on)
        : begun_(*begun), go_on_(*go_on) {}
    std::string Kind() const override { return "changes"; }
    absl::StatusOr<Inspection> Inspect(size_t) override { return Inspection(); }
    absl::Status Act(InspectAction, absl::string_view) override {
      begun_.Notify();
      go_on_.WaitForNotification();
      return absl::OkStatus();
    }

   private:
    absl::Notification& begun_;
    absl::Notification& go_on_;
  };
  absl::Notification begun, go_on;
  auto a = *registry_->Add("a", std::make_unique<Changes>(&begun, &go_on));
  std::thread user([this] {
    EXPECT_TRUE(registry_->Act("a", InspectAction::kRequeue, "x").ok());
  });
  begun.WaitForNotification();
  EXPECT_TRUE(registry_->Inspect("a", 1)->inspection.ok());
  const auto all = registry_->InspectAll(1);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_TRUE(all[0].inspection.ok());
  go_on.Notify();
  user.join();
  a.reset();
}

#ifdef ABSL_HAVE_EXCEPTIONS

TEST_F(InspectionRegistryTest, AnExceptionIsAnError) {
  class Throws final : public Inspectable {
   public:
    std::string Kind() const override { return "throws"; }
    absl::StatusOr<Inspection> Inspect(size_t) override {
      throw std::runtime_error("broken");
    }
    absl::Status Act(InspectAction, absl::string_view) override {
      throw std::runtime_error("broken");
    }
  };
  const auto a = registry_->Add("a", std::make_unique<Throws>());
  ASSERT_TRUE(a.ok());
  EXPECT_EQ(registry_->Inspect("a", 1)->inspection.status(),
            absl::InternalError("broken"));
  EXPECT_EQ(registry_->Act("a", InspectAction::kForget, "x"),
            absl::InternalError("broken"));
}

#endif  // ABSL_HAVE_EXCEPTIONS

}  // namespace
}  // namespace workqueue::inspection_registry_test
