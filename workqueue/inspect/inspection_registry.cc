// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/inspect/inspection_registry.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/memory/memory.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "workqueue/base/check_duration.h"
#include "workqueue/base/exceptions.h"
#include "workqueue/base/mutex_lock.h"
#include "workqueue/base/printable.h"
#include "workqueue/clock/clock.h"
#include "workqueue/controller/parallelize_until.h"
#include "workqueue/inspect/inspectable.h"
#include "workqueue/inspect/inspection.h"
#include "workqueue/simulation/sync.h"
#include "workqueue/timer/scheduler.h"

namespace workqueue {

using internal::MutexLock;

namespace {

absl::Status NoObject(absl::string_view name) {
  return absl::NotFoundError(
      absl::StrCat("there is no \"", internal::Printable(name), "\""));
}

// How long an object that has not answered is not asked again.
constexpr absl::Duration kAskAgain = absl::Seconds(1);

// The most objects that are asked at once. When so many have not answered, no
// further server is asked: all objects take about as long as two of them.
constexpr size_t kAtOnce = 16;

// The most items that such an object lists.
constexpr size_t kMaxHere = 100;

// Whether an error means that an engine does not answer.
bool IsAway(const absl::Status& error) {
  return absl::IsUnavailable(error) || absl::IsUnknown(error) ||
         absl::IsDeadlineExceeded(error);
}

// Returns the rates from the first of `samples` that is at most a minute older
// than `inspection`, or from the last one.
std::optional<InspectedRates> RatesOf(const Inspection& inspection,
                                      const std::vector<DepthSample>& samples) {
  if (!inspection.totals.has_value()) return std::nullopt;
  if (samples.empty()) return std::nullopt;
  auto first = std::find_if(
      samples.begin(), samples.end(), [&inspection](const DepthSample& it) {
        return inspection.taken_at - it.time <= absl::Minutes(1);
      });
  if (first == samples.end()) --first;
  if (first->time >= inspection.taken_at) return std::nullopt;
  const double seconds =
      absl::ToDoubleSeconds(inspection.taken_at - first->time);
  // A total is less than before if an add has been refused since.
  const auto rate = [&](uint64_t InspectedTotals::*total) {
    const uint64_t begin = first->totals.*total;
    const uint64_t end = (*inspection.totals).*total;
    return ((std::max)(begin, end) - begin) / seconds;
  };
  return InspectedRates{
      rate(&InspectedTotals::added), rate(&InspectedTotals::retried),
      rate(&InspectedTotals::handed_out), rate(&InspectedTotals::succeeded),
      rate(&InspectedTotals::failed)};
}

}  // namespace

InspectionRegistry::Object::Object(absl::string_view name,
                                   std::unique_ptr<Inspectable> inspectable)
    : name(internal::ToText(name)),  // Forms of HTML change what is none.
      kind(inspectable->Kind()),
      inspectable(std::move(inspectable)) {}

absl::StatusOr<std::unique_ptr<InspectionRegistry>> InspectionRegistry::Create(
    InspectionRegistryOptions options) {
  absl::Status status =
      internal::CheckFiniteAndPositive("sample_period", options.sample_period);
  if (!status.ok()) return status;
  if (options.max_samples == 0) {
    return absl::InvalidArgumentError(
        "max_samples is 0; it must be at least 1");
  }
  auto registry = absl::WrapUnique(new InspectionRegistry(options));
  SchedulerOptions scheduler_options;
  scheduler_options.name = "inspection";
  scheduler_options.clock = options.clock;
  scheduler_options.workers = 1;
  absl::StatusOr<std::unique_ptr<Scheduler>> scheduler =
      Scheduler::Create(std::move(scheduler_options));
  if (!scheduler.ok()) return scheduler.status();
  registry->scheduler_ = *std::move(scheduler);
  const absl::StatusOr<TaskId> task = registry->scheduler_->ScheduleEvery(
      [r = registry.get()] { r->TakeSamples(); }, options.sample_period);
  if (!task.ok()) return task.status();
  return registry;
}

InspectionRegistry::InspectionRegistry(const InspectionRegistryOptions& options)
    : sample_period_(options.sample_period),
      max_samples_(options.max_samples) {}

InspectionRegistry::~InspectionRegistry() = default;

absl::StatusOr<std::unique_ptr<InspectionRegistration>> InspectionRegistry::Add(
    absl::string_view name, std::unique_ptr<Inspectable> inspectable) {
  if (name.empty()) return absl::InvalidArgumentError("name is empty");
  if (inspectable == nullptr) {
    return absl::InvalidArgumentError("inspectable is null");
  }
  auto object = std::make_shared<Object>(name, std::move(inspectable));
  Away away{0};
  TakeSample(*object, &away);
  MutexLock lock(&mu_);
  if (!objects_.try_emplace(object->name, object).second) {
    return absl::AlreadyExistsError(absl::StrCat(
        "name is \"", internal::Printable(name), "\", which exists already"));
  }
  return absl::WrapUnique(new InspectionRegistration(this, std::move(object)));
}

void InspectionRegistry::Remove(Object* object) {
  {
    MutexLock lock(&mu_);
    objects_.erase(object->name);
  }
  MutexLock no_change(&object->act_mu);
  MutexLock lock(&object->mu);
  object->inspectable = nullptr;
}

std::shared_ptr<InspectionRegistry::Object> InspectionRegistry::Find(
    absl::string_view name) const {
  MutexLock lock(&mu_);
  const auto it = objects_.find(internal::ToText(name));
  return it == objects_.end() ? nullptr : it->second;
}

void InspectionRegistry::ForEach(
    absl::FunctionRef<void(Object&, Away*)> f) const {
  std::vector<std::pair<int64_t, std::shared_ptr<Object>>> objects;
  {
    MutexLock lock(&mu_);
    for (const auto& [name, object] : objects_) {
      objects.emplace_back(object->failed_at, object);
    }
  }
  // First those that answer, and then those that were not asked for longest.
  std::stable_sort(
      objects.begin(), objects.end(),
      [](const auto& a, const auto& b) { return a.first < b.first; });
  Away away{0};
  ParallelizeUntil(/*stop=*/nullptr, kAtOnce, objects.size(), [&](size_t i) {
    f(*objects[i].second, &away);
  }).IgnoreError();
}

absl::StatusOr<Inspection> InspectionRegistry::Ask(Object& object,
                                                   Question question,
                                                   Away* away) {
  Clock* const clock = Clock::GetRealClock();
  if (!object.error.ok() &&
      clock->TimeNow() < absl::FromUnixNanos(object.failed_at) + kAskAgain) {
    ++*away;
    return object.error;
  }
  const bool enough = *away >= kAtOnce;
  if (enough && !object.error.ok()) return object.error;
  bool asked = true;
  absl::StatusOr<Inspection> inspection = internal::CatchAsStatus(
      [&]() ABSL_NO_THREAD_SAFETY_ANALYSIS -> absl::StatusOr<Inspection> {
        // It has a value only if `Inspect()` asks a server.
        if (enough && object.inspectable->InspectHere(0).has_value()) {
          asked = false;
          return absl::UnavailableError(
              "not asked: too many others have not answered");
        }
        return question(*object.inspectable);
      });
  if (!asked) return inspection;
  object.error = absl::OkStatus();
  object.failed_at = 0;
  if (IsAway(inspection.status())) {
    ++*away;
    object.error = inspection.status();
    object.failed_at = absl::ToUnixNanos(clock->TimeNow());
  }
  return inspection;
}

absl::StatusOr<NamedInspection> InspectionRegistry::InspectWith(
    Object& object, Question question, Away* away) {
  MutexLock lock(&object.mu);
  if (object.inspectable == nullptr) return NoObject(object.name);
  NamedInspection result = {object.name, object.kind,
                            Ask(object, question, away), object.samples,
                            std::nullopt};
  if (result.inspection.ok()) {
    result.rates = RatesOf(*result.inspection, result.samples);
  } else {
    internal::TryCall([&]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
      result.here = object.inspectable->InspectHere(kMaxHere);
    });
  }
  return result;
}

std::vector<NamedInspection> InspectionRegistry::InspectAll(size_t max_items) {
  sync::Mutex mu;
  std::vector<NamedInspection> all;
  ForEach([&](Object& object, Away* away) {
    absl::StatusOr<NamedInspection> inspected = InspectWith(
        object,
        [max_items](Inspectable& inspectable) {
          return inspectable.Inspect(max_items);
        },
        away);
    if (!inspected.ok()) return;
    MutexLock lock(&mu);
    all.push_back(*std::move(inspected));
  });
  std::sort(all.begin(), all.end(),
            [](const NamedInspection& a, const NamedInspection& b) {
              return a.name < b.name;
            });
  return all;
}

absl::StatusOr<NamedInspection> InspectionRegistry::Inspect(
    absl::string_view name, size_t max_items) {
  const std::shared_ptr<Object> object = Find(name);
  if (object == nullptr) return NoObject(name);
  Away away{0};
  return InspectWith(
      *object,
      [max_items](Inspectable& inspectable) {
        return inspectable.Inspect(max_items);
      },
      &away);
}

absl::StatusOr<NamedInspection> InspectionRegistry::InspectKey(
    absl::string_view name, absl::string_view key) {
  const std::shared_ptr<Object> object = Find(name);
  if (object == nullptr) return NoObject(name);
  Away away{0};
  return InspectWith(
      *object,
      [key](Inspectable& inspectable) { return inspectable.InspectKey(key); },
      &away);
}

absl::Status InspectionRegistry::Act(absl::string_view name,
                                     InspectAction action,
                                     absl::string_view key) {
  const std::shared_ptr<Object> object = Find(name);
  if (object == nullptr) return NoObject(name);
  // Holds up other changes, and the end of the registration, but no inspection.
  MutexLock one_change(&object->act_mu);
  Inspectable* inspectable = nullptr;
  {
    MutexLock lock(&object->mu);
    inspectable = object->inspectable.get();
  }
  if (inspectable == nullptr) return NoObject(name);
  return internal::CatchAsStatus([&] { return inspectable->Act(action, key); });
}

void InspectionRegistry::TakeSamples() {
  ForEach([this](Object& object, Away* away) { TakeSample(object, away); });
}

void InspectionRegistry::TakeSample(Object& object, Away* away) {
  MutexLock lock(&object.mu);
  if (object.inspectable == nullptr) return;
  const absl::StatusOr<Inspection> inspection = Ask(
      object, [](Inspectable& it) { return it.Inspect(0); }, away);
  if (!inspection.ok()) return;
  const bool after_gap =
      !object.samples.empty() &&
      inspection->taken_at - object.samples.back().time > 2 * sample_period_;
  if (object.samples.size() == max_samples_) {
    object.samples.erase(object.samples.begin());
  }
  object.samples.push_back(
      {inspection->taken_at, inspection->num_queued, inspection->num_processing,
       inspection->num_waiting, inspection->num_failing,
       inspection->totals.value_or(InspectedTotals()), after_gap});
}

}  // namespace workqueue
