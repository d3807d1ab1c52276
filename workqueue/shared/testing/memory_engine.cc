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

// The state that the engine and its clients share. It lives as long as any of
// them. Its lock is held while they use it, and while it uses them.
class MemoryEngine::State {
 public:
  explicit State(Clock* clock) : clock_(OrRealClock(clock)) {}

  Clock* clock() const { return clock_; }

  void SetFaults(const Faults& faults, absl::string_view client_name);
  void Restart(bool keeps_data);

  int64_t Now() const { return absl::ToUnixNanos(clock_->TimeNow()); }

  sync::Mutex mu;

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
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu);
  // Null if nothing happens by chance.
  Chance* ChanceOf(const std::string& client_name)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu);
  // Waits until a request that does `what` has arrived, or until the answer
  // has. Returns an error if that does not happen.
  absl::Status AwaitRequest(const std::string& client_name,
                            const std::string& what,
                            const bool* interrupted = nullptr)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu);
  absl::Status AwaitAnswer(const std::string& client_name,
                           const bool* interrupted = nullptr)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu);

  absl::StatusOr<Queue*> Find(const std::string& name, size_t partitions)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu);
  absl::StatusOr<EngineReply> ApplyNow(const std::string& queue,
                                       size_t partitions,
                                       const EngineRequest& request)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu);

  void Connect(Client* client) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu);
  void Disconnect(Client* client) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu);

  // In the order of their begin: a simulation repeats what depends on it.
  std::vector<Client*> clients ABSL_GUARDED_BY(mu);           // that listen
  std::vector<ElectionClient*> electors ABSL_GUARDED_BY(mu);  // that listen
  MemoryStore elections ABSL_GUARDED_BY(mu);
  int64_t last_id ABSL_GUARDED_BY(mu) = 0;

 private:
  // Decides about a request. Returns an error if it does not arrive.
  absl::Status Decide(const std::string& client_name, const std::string& what)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu);
  // Returns whether it was interrupted.
  bool Sleep(absl::Duration d, const bool* interrupted)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu);
  // See StoredQueue::Send.
  bool Send(const std::string& queue, const std::string& id,
            const EngineMessage& message) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu);

  Clock* const clock_;

  Faults faults_ ABSL_GUARDED_BY(mu);
  std::map<std::string, Faults> faults_of_ ABSL_GUARDED_BY(mu);
  std::map<std::string, Chance> chances_ ABSL_GUARDED_BY(mu);
  int64_t changes_ ABSL_GUARDED_BY(mu) = 0;  // of the faults
  int64_t run_ ABSL_GUARDED_BY(mu) = 1;
  std::map<std::string, Queue> queues_ ABSL_GUARDED_BY(mu);
};

// The engine as one client of a queue sees it.
class MemoryEngine::Client final : public internal::Engine,
                                   private WaitingLoop::Client {
 public:
  Client(std::shared_ptr<State> state, const std::string& queue,
         size_t partitions, const std::string& client_name)
      : queue_(queue),
        partitions_(partitions),
        client_name_(client_name),
        state_(std::move(state)),
        loop_(state_->clock(), queue) {}

  absl::StatusOr<EngineReply> Apply(const EngineRequest& request,
                                    absl::Time deadline) override;
  absl::StatusOr<EngineSnapshot> TakeSnapshot(
      const EngineSnapshotRequest& request, absl::Time deadline) override;
  absl::Status Listen(EngineListener* listener, absl::Time deadline) override;
  void StopListening() override;

 private:
  friend class State;

  absl::Time Run(absl::Time now) override;

  const std::string queue_;
  const size_t partitions_;
  const std::string client_name_;
  const std::shared_ptr<State> state_;
  EngineListener* listener_ = nullptr;
  WaitingLoop loop_;  // has messages to tell
  // The lock guards what follows.
  std::string id_;  // empty: not connected
  std::vector<std::function<void(EngineListener*)>> messages_;
  // When the process notices that it has lost its connection.
  absl::Time lost_at_ = absl::InfiniteFuture();
};

// The engine as one elector sees it.
class MemoryEngine::ElectionClient final : public Election {
 public:
  ElectionClient(std::shared_ptr<MemoryEngine::State> state,
                 const internal::ElectionOptions& options);
  ~ElectionClient() override { StopListening(); }

  absl::StatusOr<State> Do(Call call, int64_t token,
                           absl::Duration timeout) override;
  void Interrupt() override {
    MutexLock lock(&state_->mu);
    interrupted_ = true;
  }
  absl::Status Listen(std::function<void()> heard,
                      std::function<void(const absl::Status&)> denied) override;
  void StopListening() override {
    MutexLock lock(&state_->mu);
    Remove(this, &state_->electors);
  }

 private:
  friend class MemoryEngine::State;

  const std::shared_ptr<MemoryEngine::State> state_;
  const std::string election_;
  const std::string identity_;
  const absl::Duration duration_;
  // The lock guards what follows.
  int64_t number_ = 0;
  bool interrupted_ = false;  // A call that would block fails.
  std::function<void()> heard_;
  bool hears_ = true;  // whether it is connected
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
    for (Client* it : clients) {
      if (it->client_name_ != client_name || it->id_.empty()) continue;
      it->lost_at_ = clock_->TimeNow() + absl::Milliseconds(1);
      it->loop_.Wake(it);
    }
  }
  if (chance.Happens(7)) return absl::UnavailableError("the engine fails");
  if (chance.Happens(10)) return absl::UnknownError("the request is lost");
  return absl::OkStatus();
}

void MemoryEngine::State::SetFaults(const Faults& faults,
                                    absl::string_view client_name) {
  MutexLock lock(&mu);
  ++changes_;
  chances_.clear();
  if (client_name.empty()) {
    faults_ = faults;
    faults_of_.clear();
  } else {
    faults_of_[std::string(client_name)] = faults;
  }
  for (Client* it : clients) {
    const bool away = FaultsOf(it->client_name_).away;
    if (away && !it->id_.empty()) Disconnect(it);
    if (!away && it->id_.empty()) Connect(it);
  }
  for (ElectionClient* it : electors) {
    const bool hears = !FaultsOf(it->identity_).away;
    if (hears && !it->hears_) it->heard_();
    it->hears_ = hears;
  }
}

void MemoryEngine::State::Restart(bool keeps_data) {
  MutexLock lock(&mu);
  ++run_;
  if (!keeps_data) {
    queues_.clear();
    elections = MemoryStore();
  }
  for (Client* it : clients) {
    if (it->id_.empty()) continue;
    Disconnect(it);
    Connect(it);
  }
  for (const ElectionClient* it : electors) {
    if (it->hears_) it->heard_();
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
  clock_->AwaitWithDeadline(&mu, absl::Condition(&ends), clock_->TimeNow() + d);
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
  for (Client* it : clients) {
    if (it->queue_ != queue || it->id_.empty()) continue;
    if (!id.empty() && it->id_ != id) continue;
    heard = true;
    if (it->lost_at_ != absl::InfiniteFuture()) continue;
    it->messages_.push_back([message = message](EngineListener* to) mutable {
      std::move(message).Deliver(to);
    });
    it->loop_.Wake(it);
  }
  return heard;
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

void MemoryEngine::State::Connect(Client* client) {
  client->id_ = absl::StrCat("client ", ++last_id);
  client->messages_.push_back(
      [id = client->id_](EngineListener* to) { to->OnListening(id); });
  client->loop_.Wake(client);
}

void MemoryEngine::State::Disconnect(Client* client) {
  client->id_.clear();
  client->lost_at_ = absl::InfiniteFuture();
  client->messages_.push_back([](EngineListener* to) {
    to->OnDisconnected(absl::UnavailableError("the engine is away"));
  });
  client->loop_.Wake(client);
}

absl::StatusOr<EngineReply> MemoryEngine::Client::Apply(
    const EngineRequest& request, absl::Time /*deadline*/) {
  MutexLock lock(&state_->mu);
  std::string what = request.take > 0 ? "take" : "";
  for (const EngineOperation& it : request.operations) {
    if (!it.item.empty())
      absl::StrAppend(&what, "\n", it.item, " ", int{it.code});
  }
  absl::Status status = state_->AwaitRequest(client_name_, what);
  State::Chance* const chance = state_->ChanceOf(client_name_);
  if (chance != nullptr && !what.empty()) {
    for (State::Chance::Request& it : std::exchange(chance->late, {})) {
      if (chance->Happens(50)) {
        state_->ApplyNow(it.queue, it.partitions, it.request).IgnoreError();
      } else {
        chance->late.push_back(std::move(it));
      }
    }
    if (!absl::IsUnavailable(status) && chance->Happens(50)) {
      chance->late.push_back({queue_, partitions_, request});
    }
  }
  if (!status.ok()) return status;
  auto reply = state_->ApplyNow(queue_, partitions_, request);
  if (!reply.ok()) return reply;
  status = state_->AwaitAnswer(client_name_);
  if (!status.ok()) return status;
  return reply;
}

absl::StatusOr<EngineSnapshot> MemoryEngine::Client::TakeSnapshot(
    const EngineSnapshotRequest& request, absl::Time /*deadline*/) {
  MutexLock lock(&state_->mu);
  absl::Status status = state_->AwaitRequest(client_name_, "snapshot");
  if (!status.ok()) return status;
  auto found = state_->Find(queue_, partitions_);
  if (!found.ok()) return found.status();
  EngineSnapshot snapshot =
      (*found)->queue.TakeSnapshot(request, state_->Now());
  status = state_->AwaitAnswer(client_name_);
  if (!status.ok()) return status;
  return snapshot;
}

absl::Status MemoryEngine::Client::Listen(EngineListener* listener,
                                          absl::Time /*deadline*/) {
  listener_ = listener;
  std::string id;
  {
    MutexLock lock(&state_->mu);
    absl::Status status = state_->AwaitRequest(client_name_, "listen");
    if (!status.ok()) return status;
    state_->clients.push_back(this);
    id = id_ = absl::StrCat("client ", ++state_->last_id);
  }
  listener->OnListening(id);
  loop_.Add(this);
  return absl::OkStatus();
}

void MemoryEngine::Client::StopListening() {
  {
    MutexLock lock(&state_->mu);
    Remove(this, &state_->clients);
  }
  loop_.Remove(this);
}

absl::Time MemoryEngine::Client::Run(absl::Time now) {
  std::vector<std::function<void(EngineListener*)>> messages;
  {
    MutexLock lock(&state_->mu);
    if (lost_at_ <= now && !id_.empty()) {
      state_->Disconnect(this);
      state_->Connect(this);
    }
    messages.swap(messages_);
  }
  for (const auto& message : messages) message(listener_);
  MutexLock lock(&state_->mu);
  return lost_at_;
}

MemoryEngine::ElectionClient::ElectionClient(
    std::shared_ptr<MemoryEngine::State> state,
    const internal::ElectionOptions& options)
    : state_(std::move(state)),
      election_(options.name),
      identity_(options.identity),
      duration_(options.duration) {
  MutexLock lock(&state_->mu);
  number_ = ++state_->last_id;
}

absl::StatusOr<Election::State> MemoryEngine::ElectionClient::Do(
    Call call, int64_t token, absl::Duration /*timeout*/) {
  MutexLock lock(&state_->mu);
  absl::Status status = state_->AwaitRequest(identity_, "elect", &interrupted_);
  if (!status.ok()) return status;
  const State result =
      StoredElection(&state_->elections, election_)
          .Do(call, {number_, identity_, absl::ToInt64Nanoseconds(duration_)},
              token, state_->Now());
  if (call == Call::kRelease && result.done) {
    for (const ElectionClient* it : state_->electors) {
      if (it->election_ == election_ && it->hears_) it->heard_();
    }
  }
  status = state_->AwaitAnswer(identity_, &interrupted_);
  if (!status.ok()) return status;
  return result;
}

absl::Status MemoryEngine::ElectionClient::Listen(
    std::function<void()> heard,
    std::function<void(const absl::Status&)> /*denied*/) {
  MutexLock lock(&state_->mu);
  heard_ = std::move(heard);
  hears_ = !state_->FaultsOf(identity_).away;
  state_->electors.push_back(this);
  return absl::OkStatus();
}

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
