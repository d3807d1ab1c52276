// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/inspect/command/internal/redis_source.h"

#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "workqueue/inspect/command/internal/arguments.h"
#include "workqueue/inspect/inspect_queue.h"
#include "workqueue/inspect/inspectable.h"
#include "workqueue/inspect/inspection.h"
#include "workqueue/inspect/inspection_json.h"
#include "workqueue/inspect/inspection_registry.h"
#include "workqueue/inspect/internal/list_limits.h"
#include "workqueue/shared/list_shared_queues.h"
#include "workqueue/shared/shared_queue.h"
#include "workqueue/shared/shared_queue_options.h"
#include "workqueue/snapshot.h"

namespace workqueue {
namespace internal {
namespace {

using Queue = SharedQueue<std::string>;

// How long the server may take for a step of a search for queues.
constexpr absl::Duration kTimeout = absl::Seconds(5);

// SharedQueueInspectable
//
// Does what `InspectQueue()` does, and returns the errors of the server.
class SharedQueueInspectable final
    : public QueueInspectable<std::string, Queue> {
 public:
  using Base = QueueInspectable<std::string, Queue>;
  using Base::Base;

  std::string Kind() const override { return "shared queue"; }

  absl::StatusOr<Inspection> Inspect(size_t max_items) override {
    absl::StatusOr<Inspection> inspection = Base::Inspect(max_items);
    if (!inspection.ok()) return inspection;
    const absl::StatusOr<SharedQueueCounts> counts = queue().Count();
    if (!counts.ok()) return counts.status();
    inspection->num_failing = counts->failing;
    return inspection;
  }

  absl::Status Act(InspectAction action, absl::string_view key) override {
    const absl::StatusOr<std::string> item = keys().Parse(key);
    if (!item.ok()) return item.status();
    switch (action) {
      case InspectAction::kRequeue:
        return queue().RescheduleWithStatus(*item, absl::ZeroDuration());
      case InspectAction::kForget:
        return queue().ForgetWithStatus(*item);
      default:  // kCancel
        break;
    }
    const absl::StatusOr<bool> cancelled =
        queue().CancelDelayedWithStatus(*item);
    if (!cancelled.ok()) return cancelled.status();
    if (*cancelled) return absl::OkStatus();
    return absl::FailedPreconditionError("the item does not wait");
  }

 private:
  absl::StatusOr<Snapshot<std::string>> TakeSnapshot(size_t max) override {
    return queue().TakeSnapshotUpToWithStatus(max);
  }
  absl::StatusOr<Snapshot<std::string>> TakeSnapshotOf(
      const std::string& item) override {
    return queue().TakeSnapshotOfWithStatus(item);
  }
};

// Returns `status` as an error about `argument`, if the argument is wrong.
absl::Status NameArgument(absl::string_view argument, absl::string_view value,
                          const absl::Status& status) {
  return absl::IsInvalidArgument(status)
             ? BadArgument(argument, value, status.message())
             : status;
}

}  // namespace

absl::StatusOr<Inspectable*> RedisSource::Open(const SharedQueueName& name) {
  const auto it = opened_.find(name.name);
  if (it != opened_.end()) {
    if (it->second.partitions == name.partitions) {
      return it->second.inspectable.get();
    }
    opened_.erase(it);
  }
  SharedQueueOptions<std::string> options;
  options.name = name.name;
  options.redis = options_;
  options.partitions = name.partitions;
  absl::StatusOr<std::unique_ptr<Queue>> queue =
      Queue::Create(std::move(options));
  if (!queue.ok()) return queue.status();
  InspectOptions<std::string> inspect_options;
  inspect_options.options.emplace_back("partitions",
                                       absl::StrCat(name.partitions));
  Opened opened{name.partitions, *std::move(queue), nullptr};
  opened.inspectable = std::make_unique<SharedQueueInspectable>(
      opened.queue.get(), std::move(inspect_options));
  return opened_.emplace(name.name, std::move(opened))
      .first->second.inspectable.get();
}

absl::StatusOr<Inspectable*> RedisSource::Find(const std::string& name) {
  const absl::StatusOr<SharedQueueName> found =
      FindSharedQueue(options_, name, kTimeout);
  if (found.ok()) return Open(*found);
  opened_.erase(name);
  return NameArgument("ADDRESS", address_, found.status());
}

absl::StatusOr<std::string> RedisSource::List() {
  const absl::StatusOr<std::vector<SharedQueueName>> names =
      ListSharedQueues(options_, kTimeout);
  if (!names.ok()) return NameArgument("ADDRESS", address_, names.status());
  std::vector<NamedInspection> objects;
  for (const SharedQueueName& name : *names) {
    const absl::StatusOr<Inspectable*> inspectable = Open(name);
    objects.push_back({name.name, "shared queue",
                       inspectable.ok()
                           ? (*inspectable)->Inspect(kMaxItemsOfOverview)
                           : inspectable.status(),
                       /*samples=*/{}});
  }
  return InspectionJson(objects);
}

absl::StatusOr<std::string> RedisSource::Show(const std::string& name) {
  const absl::StatusOr<Inspectable*> inspectable = Find(name);
  if (!inspectable.ok()) return inspectable.status();
  return InspectionJson({name, (*inspectable)->Kind(),
                         (*inspectable)->Inspect(kMaxItems),
                         /*samples=*/{}});
}

absl::StatusOr<std::string> RedisSource::ShowKey(const std::string& name,
                                                 const std::string& key) {
  const absl::StatusOr<Inspectable*> inspectable = Find(name);
  if (!inspectable.ok()) return inspectable.status();
  return ItemDocument(*inspectable, name, key);
}

absl::StatusOr<std::string> RedisSource::Act(InspectAction action,
                                             const std::string& name,
                                             const std::string& key) {
  const absl::StatusOr<Inspectable*> inspectable = Find(name);
  if (!inspectable.ok()) return inspectable.status();
  const absl::Status done = (*inspectable)->Act(action, key);
  if (!done.ok()) return NameArgument("KEY", key, done);
  return ItemDocument(*inspectable, name, key);
}

absl::StatusOr<std::string> RedisSource::ItemDocument(Inspectable* inspectable,
                                                      const std::string& name,
                                                      const std::string& key) {
  absl::StatusOr<Inspection> inspection = inspectable->InspectKey(key);
  if (!inspection.ok()) return NameArgument("KEY", key, inspection.status());
  return InspectionJson({name, inspectable->Kind(), std::move(inspection),
                         /*samples=*/{}});
}

}  // namespace internal
}  // namespace workqueue
