// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/shared/testing/memory_engine.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <random>
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
#include "workqueue/leader_election/election.h"
#include "workqueue/shared/internal/engine.h"
#include "workqueue/shared/internal/ordered_store.h"
#include "workqueue/shared/internal/stored_election.h"
#include "workqueue/shared/internal/stored_queue.h"
#include "workqueue/simulation/sync.h"
#include "workqueue/timer/waiting_loop.h"

namespace workqueue {

using internal::Election;
using internal::EngineListener;
using internal::EngineMessage;
using internal::EngineOperation;
using internal::EngineReply;
using internal::EngineRequest;
using internal::EngineSnapshot;
using internal::EngineSnapshotRequest;
using internal::MemoryStore;
using internal::MutexLock;
using internal::StoredElection;
using internal::StoredQueue;

namespace {

template <typename T>
void Remove(T* listener, std::vector<T*>* listeners) {
  listeners->erase(std::remove(listeners->begin(), listeners->end(), listener),
                   listeners->end());
}

}  // namespace

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
    std::vector<std::function<void(EngineListener*)>> messages;
    // When the process notices that it has lost its connection.
    absl::Time lost_at = absl::InfiniteFuture();
  };

  // An elector.
  struct Elector {
    const std::string election;
    const StoredElection::Elector elector;
    bool interrupted = false;  // A call that would block fails.
    std::function<void()> heard = {};
    bool hears = true;  // whether it is connected
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
  // What has come for the connection by `now`.
  std::vector<std::function<void(EngineListener*)>> TakeMessages(
      Connection* connection, absl::Time now);

  absl::Time LostAt(const Connection& connection) {
    MutexLock lock(&mu_);
    return connection.lost_at;
  }

  // The calls of an elector.
  int64_t NewNumber();
  absl::StatusOr<Election::State> Elect(Election::Call call,
                                        const Elector& elector, int64_t token);
  void Interrupt(Elector* elector);
  void ListenToReleases(Elector* elector, std::function<void()> heard);
  void StopListeningToReleases(Elector* elector);

 private:
  struct Queue {
    Queue(size_t n, StoredQueue::Send send)
        : partitions(n), queue(&store, std::move(send)) {}

    const size_t partitions;
    MemoryStore store;
    StoredQueue queue;
    std::map<std::string, EngineReply> replies;  // the last one of each client
  };

  // What happens to the requests of a process by chance.
  struct Chance {
    // Whether it does, in so many of 100 cases.
    bool Happens(uint32_t percent) { return random() % 100 < percent; }

    struct Request {
      std::string queue;
      size_t partitions;
      EngineRequest request;
    };

    std::map<std::string, uint32_t> counts;  // of the requests, by what they do
    std::mt19937 random;                     // of this request
    bool loses_answer = false;
    std::vector<Request> late;
  };

  const Faults& FaultsOf(const std::string& client_name) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Null if nothing happens by chance.
  Chance* ChanceOf(const std::string& client_name)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Decides about a request. Returns an error if it does not arrive.
  absl::Status Decide(const std::string& client_name, const std::string& what)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Waits until a request that does `what` has arrived, or until the answer
  // has. Returns an error if that does not happen.
  absl::Status AwaitRequest(const std::string& client_name,
                            const std::string& what,
                            const bool* interrupted = nullptr)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::Status AwaitAnswer(const std::string& client_name,
                           const bool* interrupted = nullptr)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Returns whether it was interrupted.
  bool Sleep(absl::Duration d, const bool* interrupted)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  absl::StatusOr<Queue*> Find(const std::string& name, size_t partitions)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  absl::StatusOr<EngineReply> ApplyNow(const std::string& queue,
                                       size_t partitions,
                                       const EngineRequest& request)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // See StoredQueue::Send.
  bool Send(const std::string& queue, const std::string& id,
            const EngineMessage& message) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  int64_t Now() const { return absl::ToUnixNanos(clock_->TimeNow()); }
  void Connect(Connection* connection) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Disconnect(Connection* connection) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  Clock* const clock_;

  sync::Mutex mu_;
  Faults faults_ ABSL_GUARDED_BY(mu_);
  std::map<std::string, Faults> faults_of_ ABSL_GUARDED_BY(mu_);
  std::map<std::string, Chance> chances_ ABSL_GUARDED_BY(mu_);
  int64_t changes_ ABSL_GUARDED_BY(mu_) = 0;  // of the faults
  int64_t run_ ABSL_GUARDED_BY(mu_) = 1;
  int64_t last_id_ ABSL_GUARDED_BY(mu_) = 0;
  std::map<std::string, Queue> queues_ ABSL_GUARDED_BY(mu_);
  // In the order of their begin: a simulation repeats what depends on it.
  std::vector<Connection*> connections_ ABSL_GUARDED_BY(mu_);
  MemoryStore elections_ ABSL_GUARDED_BY(mu_);
  std::vector<Elector*> electors_ ABSL_GUARDED_BY(mu_);  // that listen
};

auto MemoryEngine::State::FaultsOf(const std::string& client_name) const
    -> const Faults& {
  const auto found = faults_of_.find(client_name);
  return found == faults_of_.end() ? faults_ : found->second;
}

auto MemoryEngine::State::ChanceOf(const std::string& client_name) -> Chance* {
  return FaultsOf(client_name).seed == 0 ? nullptr : &chances_[client_name];
}

absl::Status MemoryEngine::State::Decide(const std::string& client_name,
                                         const std::string& what) {
  Chance& chance = chances_[client_name];
  const std::string text = absl::StrCat(client_name, "\n", what);
  std::vector<uint32_t> seeds(text.begin(), text.end());
  seeds.push_back(FaultsOf(client_name).seed);
  seeds.push_back(++chance.counts[what]);
  std::seed_seq sequence(seeds.begin(), seeds.end());
  chance.random.seed(sequence);
  chance.loses_answer = chance.Happens(7);
  if (chance.Happens(3)) {
    for (Connection* it : connections_) {
      if (it->client_name != client_name || it->id.empty()) continue;
      it->lost_at = clock_->TimeNow() + absl::Milliseconds(1);
      it->loop->Wake(it->client);
    }
  }
  if (chance.Happens(7)) return absl::UnavailableError("the engine fails");
  if (chance.Happens(10)) return absl::UnknownError("the request is lost");
  return absl::OkStatus();
}

void MemoryEngine::State::SetFaults(const Faults& faults,
                                    absl::string_view client_name) {
  MutexLock lock(&mu_);
  ++changes_;
  chances_.clear();
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
  for (Elector* it : electors_) {
    const bool hears = !FaultsOf(it->elector.identity).away;
    if (hears && !it->hears) it->heard();
    it->hears = hears;
  }
}

void MemoryEngine::State::Restart(bool keeps_data) {
  MutexLock lock(&mu_);
  ++run_;
  if (!keeps_data) {
    queues_.clear();
    elections_ = MemoryStore();
  }
  for (Connection* it : connections_) {
    if (it->id.empty()) continue;
    Disconnect(it);
    Connect(it);
  }
  for (const Elector* it : electors_) {
    if (it->hears) it->heard();
  }
}

bool MemoryEngine::State::Sleep(absl::Duration d, const bool* interrupted) {
  if (d <= absl::ZeroDuration()) return false;
  const auto is_interrupted = [interrupted] {
    return interrupted != nullptr && *interrupted;
  };
  const auto ends = [&, before = changes_]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    return changes_ != before || is_interrupted();
  };
  clock_->AwaitWithDeadline(&mu_, absl::Condition(&ends),
                            clock_->TimeNow() + d);
  return is_interrupted();
}

absl::Status MemoryEngine::State::AwaitRequest(const std::string& client_name,
                                               const std::string& what,
                                               const bool* interrupted) {
  if (Sleep(FaultsOf(client_name).request_delay, interrupted)) {
    return absl::UnavailableError("the request was interrupted");
  }
  const Faults& faults = FaultsOf(client_name);
  if (faults.away) return absl::UnavailableError("the engine is away");
  if (faults.loses_requests) {
    return absl::UnknownError("the engine does not answer");
  }
  return faults.seed == 0 ? absl::OkStatus() : Decide(client_name, what);
}

absl::Status MemoryEngine::State::AwaitAnswer(const std::string& client_name,
                                              const bool* interrupted) {
  const bool ended = Sleep(FaultsOf(client_name).answer_delay, interrupted);
  const Faults& faults = FaultsOf(client_name);
  const Chance* const chance = ChanceOf(client_name);
  if (ended || faults.away || faults.loses_answers ||
      (chance != nullptr && chance->loses_answer)) {
    return absl::UnknownError("the engine's answer is lost");
  }
  return absl::OkStatus();
}

auto MemoryEngine::State::Find(const std::string& name, size_t partitions)
    -> absl::StatusOr<Queue*> {
  const auto send =
      [this, name](const std::string& id, const EngineMessage& message)
          ABSL_NO_THREAD_SAFETY_ANALYSIS { return Send(name, id, message); };
  Queue& queue = queues_.try_emplace(name, partitions, send).first->second;
  if (queue.partitions != partitions) {
    return absl::FailedPreconditionError(
        absl::StrCat("the queue has ", queue.partitions,
                     " partitions, and this client has ", partitions));
  }
  return &queue;
}

bool MemoryEngine::State::Send(const std::string& queue, const std::string& id,
                               const EngineMessage& message) {
  bool heard = false;
  for (Connection* it : connections_) {
    if (it->queue != queue || it->id.empty()) continue;
    if (!id.empty() && it->id != id) continue;
    heard = true;
    if (it->lost_at != absl::InfiniteFuture()) continue;
    it->messages.push_back(
        [message](EngineListener* to) { message.Deliver(to); });
    it->loop->Wake(it->client);
  }
  return heard;
}

absl::StatusOr<EngineReply> MemoryEngine::State::Apply(
    const std::string& queue, size_t partitions, const EngineRequest& request) {
  MutexLock lock(&mu_);
  std::string what = request.take > 0 ? "take" : "";
  for (const EngineOperation& it : request.operations) {
    if (!it.item.empty())
      absl::StrAppend(&what, "\n", it.item, " ", int{it.code});
  }
  absl::Status status = AwaitRequest(request.client_name, what);
  Chance* const chance = ChanceOf(request.client_name);
  if (chance != nullptr && !what.empty()) {
    for (Chance::Request& it : std::exchange(chance->late, {})) {
      if (chance->Happens(50)) {
        ApplyNow(it.queue, it.partitions, it.request).IgnoreError();
      } else {
        chance->late.push_back(std::move(it));
      }
    }
    if (!absl::IsUnavailable(status) && chance->Happens(50)) {
      chance->late.push_back({queue, partitions, request});
    }
  }
  if (!status.ok()) return status;
  auto reply = ApplyNow(queue, partitions, request);
  if (!reply.ok()) return reply;
  status = AwaitAnswer(request.client_name);
  if (!status.ok()) return status;
  return reply;
}

absl::StatusOr<EngineReply> MemoryEngine::State::ApplyNow(
    const std::string& queue, size_t partitions, const EngineRequest& request) {
  auto found = Find(queue, partitions);
  if (!found.ok()) return found.status();
  EngineReply& last = (*found)->replies[request.client];
  auto applied = (*found)->queue.Apply(request, Now(), run_,
                                       FaultsOf(request.client_name).full);
  if (applied) last = *std::move(applied);
  return last;
}

absl::StatusOr<EngineSnapshot> MemoryEngine::State::TakeSnapshot(
    const std::string& queue, size_t partitions, const std::string& client_name,
    const EngineSnapshotRequest& request) {
  MutexLock lock(&mu_);
  absl::Status status = AwaitRequest(client_name, "snapshot");
  if (!status.ok()) return status;
  auto found = Find(queue, partitions);
  if (!found.ok()) return found.status();
  EngineSnapshot snapshot = (*found)->queue.TakeSnapshot(request, Now());
  status = AwaitAnswer(client_name);
  if (!status.ok()) return status;
  return snapshot;
}

absl::StatusOr<std::string> MemoryEngine::State::Listen(
    Connection* connection) {
  MutexLock lock(&mu_);
  const absl::Status status = AwaitRequest(connection->client_name, "listen");
  if (!status.ok()) return status;
  connections_.push_back(connection);
  connection->id = absl::StrCat("client ", ++last_id_);
  return connection->id;
}

void MemoryEngine::State::StopListening(Connection* connection) {
  MutexLock lock(&mu_);
  Remove(connection, &connections_);
}

void MemoryEngine::State::Connect(Connection* connection) {
  connection->id = absl::StrCat("client ", ++last_id_);
  connection->messages.push_back(
      [id = connection->id](EngineListener* to) { to->OnListening(id); });
  connection->loop->Wake(connection->client);
}

void MemoryEngine::State::Disconnect(Connection* connection) {
  connection->id.clear();
  connection->lost_at = absl::InfiniteFuture();
  connection->messages.push_back([](EngineListener* to) {
    to->OnDisconnected(absl::UnavailableError("the engine is away"));
  });
  connection->loop->Wake(connection->client);
}

std::vector<std::function<void(EngineListener*)>>
MemoryEngine::State::TakeMessages(Connection* connection, absl::Time now) {
  MutexLock lock(&mu_);
  if (connection->lost_at <= now && !connection->id.empty()) {
    Disconnect(connection);
    Connect(connection);
  }
  return std::exchange(connection->messages, {});
}

int64_t MemoryEngine::State::NewNumber() {
  MutexLock lock(&mu_);
  return ++last_id_;
}

absl::StatusOr<Election::State> MemoryEngine::State::Elect(
    Election::Call call, const Elector& elector, int64_t token) {
  MutexLock lock(&mu_);
  const std::string& process = elector.elector.identity;
  absl::Status status = AwaitRequest(process, "elect", &elector.interrupted);
  if (!status.ok()) return status;
  const Election::State state = StoredElection(&elections_, elector.election)
                                    .Do(call, elector.elector, token, Now());
  if (call == Election::Call::kRelease && state.done) {
    for (const Elector* it : electors_) {
      if (it->election == elector.election && it->hears) it->heard();
    }
  }
  status = AwaitAnswer(process, &elector.interrupted);
  if (!status.ok()) return status;
  return state;
}

void MemoryEngine::State::Interrupt(Elector* elector) {
  MutexLock lock(&mu_);
  elector->interrupted = true;
}

void MemoryEngine::State::ListenToReleases(Elector* elector,
                                           std::function<void()> heard) {
  MutexLock lock(&mu_);
  elector->heard = std::move(heard);
  elector->hears = !FaultsOf(elector->elector.identity).away;
  electors_.push_back(elector);
}

void MemoryEngine::State::StopListeningToReleases(Elector* elector) {
  MutexLock lock(&mu_);
  Remove(elector, &electors_);
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
        connection_{queue, client_name,           this, &loop_, "",
                    {},    absl::InfiniteFuture()} {}

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
  absl::Time Run(absl::Time now) override {
    for (const auto& message : state_->TakeMessages(&connection_, now)) {
      message(listener_);
    }
    return state_->LostAt(connection_);
  }

  const std::shared_ptr<State> state_;
  const size_t partitions_;
  EngineListener* listener_ = nullptr;
  WaitingLoop loop_;
  State::Connection connection_;
};

// The engine as one elector sees it.
class MemoryEngine::ElectionClient final : public Election {
 public:
  ElectionClient(std::shared_ptr<MemoryEngine::State> state,
                 const internal::ElectionOptions& options)
      : state_(std::move(state)),
        elector_{options.name,
                 {state_->NewNumber(), options.identity,
                  absl::ToInt64Nanoseconds(options.duration)}} {}

  ~ElectionClient() override { StopListening(); }

  absl::StatusOr<State> Do(Call call, int64_t token,
                           absl::Duration /*timeout*/) override {
    return state_->Elect(call, elector_, token);
  }

  void Interrupt() override { state_->Interrupt(&elector_); }

  absl::Status Listen(
      std::function<void()> heard,
      std::function<void(const absl::Status&)> /*denied*/) override {
    state_->ListenToReleases(&elector_, std::move(heard));
    return absl::OkStatus();
  }
  void StopListening() override { state_->StopListeningToReleases(&elector_); }

 private:
  const std::shared_ptr<MemoryEngine::State> state_;
  MemoryEngine::State::Elector elector_;
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

std::unique_ptr<Election> MemoryEngine::NewElection(
    const internal::ElectionOptions& options) {
  return std::make_unique<ElectionClient>(state_, options);
}

}  // namespace workqueue
