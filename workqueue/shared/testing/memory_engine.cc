// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/shared/testing/memory_engine.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "workqueue/base/mutex_lock.h"
#include "workqueue/clock/clock.h"
#include "workqueue/shared/internal/engine.h"
#include "workqueue/shared/testing/internal/memory_queue.h"
#include "workqueue/timer/waiting_loop.h"

namespace workqueue {

using internal::EngineListener;
using internal::EngineReply;
using internal::EngineRequest;
using internal::EngineSnapshot;
using internal::EngineSnapshotRequest;
using internal::MemoryQueue;
using internal::MutexLock;

// What the engine and its clients share. It lives as long as any of them.
class MemoryEngine::State {
 public:
  // A client's connection on which the engine tells it something. The loop runs
  // `client` if there are messages.
  struct Connection {
    const std::string queue;
    const std::string client_name;
    WaitingLoop::Client* const client;
    WaitingLoop* const loop;
    std::string id;  // empty: not connected
    std::vector<MemoryQueue::Message> messages;
  };

  explicit State(Clock* clock) : clock_(OrRealClock(clock)) {}

  Clock* clock() const { return clock_; }

  void SetFaults(const Faults& faults, absl::string_view client_name);
  void Restart(bool keeps_data);

  // The calls of a client of a queue.
  absl::StatusOr<EngineReply> Apply(const std::string& queue, size_t partitions,
                                    const EngineRequest& request);
  absl::StatusOr<EngineSnapshot> TakeSnapshot(
      const std::string& queue, size_t partitions,
      const std::string& client_name, const EngineSnapshotRequest& request);

  // Connects. Returns the name of the new client.
  absl::StatusOr<std::string> Listen(Connection* connection);
  void StopListening(Connection* connection);
  std::vector<MemoryQueue::Message> TakeMessages(Connection* connection);

 private:
  struct Queue {
    size_t partitions;
    MemoryQueue queue;
  };

  const Faults& FaultsOf(const std::string& client_name) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Waits until a request has arrived, or until the answer has. Returns an
  // error if that does not happen.
  absl::Status AwaitRequest(const std::string& client_name)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status AwaitAnswer(const std::string& client_name)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Sleep(absl::Duration d) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  absl::StatusOr<MemoryQueue*> Find(const std::string& name, size_t partitions)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // See MemoryQueue::Send.
  bool Send(const std::string& queue, const std::string& id,
            const MemoryQueue::Message& message)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  int64_t Now() const { return absl::ToUnixNanos(clock_->TimeNow()); }
  void Connect(Connection* connection) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Disconnect(Connection* connection) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  Clock* const clock_;

  absl::Mutex mu_;
  Faults faults_ ABSL_GUARDED_BY(mu_);
  std::map<std::string, Faults> faults_of_ ABSL_GUARDED_BY(mu_);
  int64_t changes_ ABSL_GUARDED_BY(mu_) = 0;  // of the faults
  int64_t run_ ABSL_GUARDED_BY(mu_) = 1;
  int64_t last_id_ ABSL_GUARDED_BY(mu_) = 0;
  std::map<std::string, Queue> queues_ ABSL_GUARDED_BY(mu_);
  std::set<Connection*> connections_ ABSL_GUARDED_BY(mu_);
};

auto MemoryEngine::State::FaultsOf(const std::string& client_name) const
    -> const Faults& {
  const auto found = faults_of_.find(client_name);
  return found == faults_of_.end() ? faults_ : found->second;
}

void MemoryEngine::State::SetFaults(const Faults& faults,
                                    absl::string_view client_name) {
  MutexLock lock(&mu_);
  ++changes_;
  if (client_name.empty()) {
    faults_ = faults;
    faults_of_.clear();
  } else {
    faults_of_[std::string(client_name)] = faults;
  }
  for (Connection* it : connections_) {
    const bool away = FaultsOf(it->client_name).away;
    if (away && !it->id.empty()) Disconnect(it);
    if (!away && it->id.empty()) Connect(it);
  }
}

void MemoryEngine::State::Restart(bool keeps_data) {
  MutexLock lock(&mu_);
  ++run_;
  if (!keeps_data) queues_.clear();
  for (Connection* it : connections_) {
    if (it->id.empty()) continue;
    Disconnect(it);
    Connect(it);
  }
}

void MemoryEngine::State::Sleep(absl::Duration d) {
  if (d <= absl::ZeroDuration()) return;
  const auto changed =
      [this, before = changes_]()
          ABSL_NO_THREAD_SAFETY_ANALYSIS { return changes_ != before; };
  clock_->AwaitWithDeadline(&mu_, absl::Condition(&changed),
                            clock_->TimeNow() + d);
}

absl::Status MemoryEngine::State::AwaitRequest(const std::string& client_name) {
  Sleep(FaultsOf(client_name).request_delay);
  const Faults& faults = FaultsOf(client_name);
  if (faults.away) return absl::UnavailableError("the engine is away");
  if (faults.loses_requests) {
    return absl::UnknownError("the engine does not answer");
  }
  return absl::OkStatus();
}

absl::Status MemoryEngine::State::AwaitAnswer(const std::string& client_name) {
  Sleep(FaultsOf(client_name).answer_delay);
  const Faults& faults = FaultsOf(client_name);
  if (faults.away || faults.loses_answers) {
    return absl::UnknownError("the engine's answer is lost");
  }
  return absl::OkStatus();
}

absl::StatusOr<MemoryQueue*> MemoryEngine::State::Find(const std::string& name,
                                                       size_t partitions) {
  const auto send =
      [this, name](const std::string& id, const MemoryQueue::Message& message)
          ABSL_NO_THREAD_SAFETY_ANALYSIS { return Send(name, id, message); };
  Queue& queue = queues_.try_emplace(name, Queue{partitions, MemoryQueue(send)})
                     .first->second;
  if (queue.partitions != partitions) {
    return absl::FailedPreconditionError(
        absl::StrCat("the queue has ", queue.partitions,
                     " partitions, and this client has ", partitions));
  }
  return &queue.queue;
}

bool MemoryEngine::State::Send(const std::string& queue, const std::string& id,
                               const MemoryQueue::Message& message) {
  bool heard = false;
  for (Connection* it : connections_) {
    if (it->queue != queue || it->id.empty()) continue;
    if (!id.empty() && it->id != id) continue;
    it->messages.push_back(message);
    it->loop->Wake(it->client);
    heard = true;
  }
  return heard;
}

absl::StatusOr<EngineReply> MemoryEngine::State::Apply(
    const std::string& queue, size_t partitions, const EngineRequest& request) {
  MutexLock lock(&mu_);
  absl::Status status = AwaitRequest(request.client_name);
  if (!status.ok()) return status;
  auto found = Find(queue, partitions);
  if (!found.ok()) return found.status();
  EngineReply reply =
      (*found)->Apply(request, Now(), run_, FaultsOf(request.client_name).full);
  status = AwaitAnswer(request.client_name);
  if (!status.ok()) return status;
  return reply;
}

absl::StatusOr<EngineSnapshot> MemoryEngine::State::TakeSnapshot(
    const std::string& queue, size_t partitions, const std::string& client_name,
    const EngineSnapshotRequest& request) {
  MutexLock lock(&mu_);
  absl::Status status = AwaitRequest(client_name);
  if (!status.ok()) return status;
  auto found = Find(queue, partitions);
  if (!found.ok()) return found.status();
  EngineSnapshot snapshot = (*found)->TakeSnapshot(request, Now());
  status = AwaitAnswer(client_name);
  if (!status.ok()) return status;
  return snapshot;
}

absl::StatusOr<std::string> MemoryEngine::State::Listen(
    Connection* connection) {
  MutexLock lock(&mu_);
  const absl::Status status = AwaitRequest(connection->client_name);
  if (!status.ok()) return status;
  connections_.insert(connection);
  connection->id = absl::StrCat("client ", ++last_id_);
  return connection->id;
}

void MemoryEngine::State::StopListening(Connection* connection) {
  MutexLock lock(&mu_);
  connections_.erase(connection);
}

void MemoryEngine::State::Connect(Connection* connection) {
  connection->id = absl::StrCat("client ", ++last_id_);
  connection->messages.push_back(
      [id = connection->id](EngineListener* to) { to->OnListening(id); });
  connection->loop->Wake(connection->client);
}

void MemoryEngine::State::Disconnect(Connection* connection) {
  connection->id.clear();
  connection->messages.push_back([](EngineListener* to) {
    to->OnDisconnected(absl::UnavailableError("the engine is away"));
  });
  connection->loop->Wake(connection->client);
}

std::vector<MemoryQueue::Message> MemoryEngine::State::TakeMessages(
    Connection* connection) {
  MutexLock lock(&mu_);
  return std::exchange(connection->messages, {});
}

// The engine as one client of a queue sees it.
class MemoryEngine::Client final : public internal::Engine,
                                   private WaitingLoop::Client {
 public:
  Client(std::shared_ptr<State> state, const std::string& queue,
         size_t partitions, const std::string& client_name)
      : state_(std::move(state)),
        partitions_(partitions),
        loop_(state_->clock(), queue),
        connection_{queue, client_name, this, &loop_, "", {}} {}

  absl::StatusOr<EngineReply> Apply(const EngineRequest& request,
                                    absl::Time /*deadline*/) override {
    return state_->Apply(connection_.queue, partitions_, request);
  }

  absl::StatusOr<EngineSnapshot> TakeSnapshot(
      const EngineSnapshotRequest& request, absl::Time /*deadline*/) override {
    return state_->TakeSnapshot(connection_.queue, partitions_,
                                connection_.client_name, request);
  }

  absl::Status Listen(EngineListener* listener,
                      absl::Time /*deadline*/) override {
    listener_ = listener;
    const absl::StatusOr<std::string> id = state_->Listen(&connection_);
    if (!id.ok()) return id.status();
    listener->OnListening(*id);
    loop_.Add(this);
    return absl::OkStatus();
  }

  void StopListening() override {
    state_->StopListening(&connection_);
    loop_.Remove(this);
  }

 private:
  absl::Time Run(absl::Time /*now*/) override {
    for (const auto& message : state_->TakeMessages(&connection_)) {
      message(listener_);
    }
    return absl::InfiniteFuture();
  }

  const std::shared_ptr<State> state_;
  const size_t partitions_;
  EngineListener* listener_ = nullptr;
  WaitingLoop loop_;
  State::Connection connection_;
};

MemoryEngine::MemoryEngine(Clock* clock)
    : state_(std::make_shared<State>(clock)) {}

MemoryEngine::~MemoryEngine() = default;

void MemoryEngine::SetFaults(const Faults& faults,
                             absl::string_view client_name) {
  state_->SetFaults(faults, client_name);
}

void MemoryEngine::Restart() { state_->Restart(/*keeps_data=*/true); }

void MemoryEngine::LoseData() { state_->Restart(/*keeps_data=*/false); }

std::unique_ptr<internal::Engine> MemoryEngine::NewEngine(
    const std::string& name, size_t partitions,
    const std::string& client_name) {
  return std::make_unique<Client>(state_, name, partitions, client_name);
}

}  // namespace workqueue
