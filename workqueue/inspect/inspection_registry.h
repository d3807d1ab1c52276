// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_INSPECT_INSPECTION_REGISTRY_H_
#define WORKQUEUE_INSPECT_INSPECTION_REGISTRY_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "workqueue/clock/clock.h"
#include "workqueue/inspect/inspectable.h"
#include "workqueue/inspect/inspection.h"
#include "workqueue/simulation/sync.h"
#include "workqueue/timer/scheduler.h"

namespace workqueue {

// DepthSample
//
// The numbers of items in a queue at one moment, and of the events until then.
struct DepthSample {
  absl::Time time;
  size_t queued = 0;
  size_t processing = 0;
  size_t waiting = 0;
  std::optional<size_t> failing;  // nothing if unknown
  InspectedTotals totals;         // zero if unknown

  // Whether samples before this one are missing: nothing was known.
  bool after_gap = false;
};

// InspectedRates
//
// The numbers of events per second, in the last minute or since the begin.
using InspectedRates = InspectedCounts<double>;

// NamedInspection
//
// The inspection of one object of a registry.
struct NamedInspection {
  std::string name;
  std::string kind;
  absl::StatusOr<Inspection> inspection;
  std::vector<DepthSample> samples;  // of the last minutes, the oldest first

  // Nothing if the totals are unknown, or if no time has passed since the first
  // sample.
  std::optional<InspectedRates> rates = std::nullopt;

  // If the inspection is an error: what is known nevertheless. Its numbers of
  // items mean nothing but `num_processing_here`.
  std::optional<Inspection> here = std::nullopt;
};

// InspectionRegistryOptions
//
// Options for an `InspectionRegistry`. Every field has a usable default.
struct InspectionRegistryOptions {
  // The clock of the samples; null for the real clock. Not owned; must outlive
  // the registry.
  Clock* clock = nullptr;

  // The time between two samples of the depths. Positive and finite.
  absl::Duration sample_period = absl::Seconds(5);

  // The number of samples to keep of each object. The default is ten minutes.
  // At least 1.
  size_t max_samples = 120;
};

class InspectionRegistration;

// InspectionRegistry
//
// The queues, controllers and schedulers of a process that can be inspected. A
// program that does not add an object to a registry pays nothing: the object
// does not know the registry.
//
// Example:
//
//     auto registry = workqueue::InspectionRegistry::Create();
//     if (!registry.ok()) return registry.status();
//     auto registration = (*registry)->Add(
//         "deployments", workqueue::InspectController(controller.get()));
//     if (!registration.ok()) return registration.status();
//     workqueue::InspectHandler handler(registry->get());
//
// The registry has one thread, which takes the samples. It and `InspectAll()`
// use up to 15 more while they ask several objects. Thread-safe.
class InspectionRegistry {
 public:
  // Returns `absl::InvalidArgumentError`, which names the field and its value,
  // if an option is out of its range, and `absl::ResourceExhaustedError` if the
  // thread could not be started.
  static absl::StatusOr<std::unique_ptr<InspectionRegistry>> Create(
      InspectionRegistryOptions options = {});

  // All registrations must have been destroyed. Blocks until a sample in
  // progress has been taken.
  ~InspectionRegistry();

  InspectionRegistry(const InspectionRegistry&) = delete;
  InspectionRegistry& operator=(const InspectionRegistry&) = delete;

  // Adds `inspectable` under `name` until the result is destroyed. The object
  // that is inspected must live as long. Control characters of the name, and
  // bytes that are not UTF-8, become U+FFFD, here and in the functions below.
  //
  // Returns `absl::InvalidArgumentError` if `name` is empty or `inspectable` is
  // null, and `absl::AlreadyExistsError` if the registry has an object of that
  // name.
  absl::StatusOr<std::unique_ptr<InspectionRegistration>> Add(
      absl::string_view name, std::unique_ptr<Inspectable> inspectable);

  // Inspects all objects, and returns them in the order of their names. See
  // `Inspectable::Inspect()`. An object that has not answered is not asked
  // again for a second: many viewers wait no longer for its server than one.
  // When 16 have not answered, the result has an error for each further object
  // that would ask a server, too: the last one, if it has not answered, either.
  std::vector<NamedInspection> InspectAll(size_t max_items);

  // Calls the function of the same name of the object `name`. Returns
  // `absl::NotFoundError` if there is none.
  absl::StatusOr<NamedInspection> Inspect(absl::string_view name,
                                          size_t max_items);
  absl::StatusOr<NamedInspection> InspectKey(absl::string_view name,
                                             absl::string_view key);
  absl::Status Act(absl::string_view name, InspectAction action,
                   absl::string_view key);

 private:
  friend class InspectionRegistration;

  // An object, which calls use one at a time.
  struct Object {
    Object(absl::string_view name, std::unique_ptr<Inspectable> inspectable);

    const std::string name;
    const std::string kind;
    sync::Mutex act_mu;  // held during a change, which may take long
    sync::Mutex mu ABSL_ACQUIRED_AFTER(act_mu);
    // Null once the registration has been destroyed. Both locks are held then.
    std::unique_ptr<Inspectable> inspectable ABSL_GUARDED_BY(mu);
    std::vector<DepthSample> samples ABSL_GUARDED_BY(mu);
    // The error of the last inspection if the object did not answer, and when
    // that was, in nanoseconds of the machine's clock; 0 if it answered.
    absl::Status error ABSL_GUARDED_BY(mu);
    sync::Atomic<int64_t> failed_at{0};
  };

  explicit InspectionRegistry(const InspectionRegistryOptions& options);

  // Removes `object`, and blocks until no call uses it.
  void Remove(Object* object);

  std::shared_ptr<Object> Find(absl::string_view name) const;

  // How many objects have not answered, of those that one call asks.
  using Away = sync::Atomic<size_t>;

  // Calls `f` with each object, on several threads.
  void ForEach(absl::FunctionRef<void(Object&, Away*)> f) const;

  using Question = absl::FunctionRef<absl::StatusOr<Inspection>(Inspectable&)>;

  // Asks the inspectable of `object`, which must be there. If it was away a
  // moment ago, returns that error. If too many are `*away`, asks no server.
  static absl::StatusOr<Inspection> Ask(Object& object, Question question,
                                        Away* away)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(object.mu);

  // Asks the inspectable of `object`. Returns `absl::NotFoundError` if it has
  // been removed meanwhile.
  static absl::StatusOr<NamedInspection> InspectWith(Object& object,
                                                     Question question,
                                                     Away* away);

  void TakeSamples();
  void TakeSample(Object& object, Away* away);

  const absl::Duration sample_period_;
  const size_t max_samples_;
  mutable sync::Mutex mu_;
  std::map<std::string, std::shared_ptr<Object>, std::less<>> objects_
      ABSL_GUARDED_BY(mu_);
  std::unique_ptr<Scheduler> scheduler_;  // calls TakeSamples()
};

// InspectionRegistration
//
// Keeps an object in a registry. The registry must outlive the registration.
class InspectionRegistration {
 public:
  // Removes the object. Blocks until no inspection of it is in progress. So the
  // object that was inspected can be destroyed afterwards.
  ~InspectionRegistration() { registry_->Remove(object_.get()); }

  InspectionRegistration(const InspectionRegistration&) = delete;
  InspectionRegistration& operator=(const InspectionRegistration&) = delete;

 private:
  friend class InspectionRegistry;

  InspectionRegistration(InspectionRegistry* registry,
                         std::shared_ptr<InspectionRegistry::Object> object)
      : registry_(registry), object_(std::move(object)) {}

  InspectionRegistry* const registry_;
  const std::shared_ptr<InspectionRegistry::Object> object_;
};

}  // namespace workqueue

#endif  // WORKQUEUE_INSPECT_INSPECTION_REGISTRY_H_
