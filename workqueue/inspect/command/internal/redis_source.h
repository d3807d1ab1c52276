// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// workqueue/inspect/command/internal/redis_source.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_INSPECT_COMMAND_INTERNAL_REDIS_SOURCE_H_
#define WORKQUEUE_INSPECT_COMMAND_INTERNAL_REDIS_SOURCE_H_

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "workqueue/inspect/command/internal/source.h"
#include "workqueue/inspect/inspectable.h"
#include "workqueue/shared/list_shared_queues.h"
#include "workqueue/shared/redis_options.h"
#include "workqueue/shared/shared_queue.h"

namespace workqueue {
namespace internal {

// RedisSource
//
// The shared queues of a server of Valkey or Redis. Takes no item from them,
// and makes no queue that is not there. The documents are those that an
// inspection page of such queues would have, without samples.
//
// This process is a client of each queue that it has shown.
class RedisSource final : public Source {
 public:
  // `address` is the text of ADDRESS, which errors name.
  RedisSource(std::string address, RedisOptions options)
      : address_(std::move(address)), options_(std::move(options)) {}

  absl::StatusOr<std::string> List() override;
  absl::StatusOr<std::string> Show(const std::string& name) override;
  absl::StatusOr<std::string> ShowKey(const std::string& name,
                                      const std::string& key) override;
  absl::StatusOr<std::string> Act(InspectAction action, const std::string& name,
                                  const std::string& key) override;

 private:
  // A queue, and what inspects it. The latter is destroyed first.
  struct Opened {
    int partitions;
    std::unique_ptr<SharedQueue<std::string>> queue;
    std::unique_ptr<Inspectable> inspectable;
  };

  // Returns what inspects a queue that is in the server. Opens the queue,
  // unless it is open.
  absl::StatusOr<Inspectable*> Open(const SharedQueueName& name);

  // Does so if the queue is in the server.
  absl::StatusOr<Inspectable*> Find(const std::string& name);

  // Returns the document of an item.
  absl::StatusOr<std::string> ItemDocument(Inspectable* inspectable,
                                           const std::string& name,
                                           const std::string& key);

  const std::string address_;
  const RedisOptions options_;
  std::map<std::string, Opened> opened_;
};

}  // namespace internal
}  // namespace workqueue

#endif  // WORKQUEUE_INSPECT_COMMAND_INTERNAL_REDIS_SOURCE_H_
