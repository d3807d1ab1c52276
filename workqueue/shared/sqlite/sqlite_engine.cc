// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/shared/sqlite/sqlite_engine.h"

#include <time.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/memory/memory.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "workqueue/base/mutex_lock.h"
#include "workqueue/base/worker_pool.h"
#include "workqueue/clock/clock.h"
#include "workqueue/leader_election/election.h"
#include "workqueue/redis/source_of_address.h"
#include "workqueue/shared/internal/engine.h"
#include "workqueue/shared/internal/ordered_store.h"
#include "workqueue/shared/internal/stored_election.h"
#include "workqueue/shared/internal/stored_queue.h"
#include "workqueue/shared/sqlite/internal/sqlite_file.h"
#include "workqueue/shared/sqlite/internal/wake_file.h"

namespace workqueue {
namespace {

using internal::Election;
using internal::ElectionOptions;
using internal::ElectionSource;
using internal::EngineListener;
using internal::EngineMessage;
using internal::EngineReply;
using internal::EngineRequest;
using internal::EngineSnapshot;
using internal::EngineSnapshotRequest;
using internal::EngineSource;
using internal::MutexLock;
using internal::OrderedStore;
using internal::SqliteFile;
using internal::StoredElection;
using internal::StoredQueue;
using internal::WakeFile;

using Tables = SqliteFile::Tables;

constexpr absl::Duration kOpenTimeout = absl::Seconds(5);

// How long what nobody waits for may take.
constexpr absl::Duration kCleanUpTimeout = absl::Seconds(1);

// How often a process looks at what a dead one has told nobody.
constexpr absl::Duration kLookPeriod = absl::Seconds(1);

// A request does so much of what is due, as one of a server does.
constexpr int64_t kMostDue = 250;

// Elections have the number of no queue.
constexpr int64_t kElections = 0;

absl::Time MachineTime() { return Clock::GetRealClock()->TimeNow(); }

}  // namespace

// What the engine and its clients share. It lives as long as any of them.
class SqliteEngine::State {
 public:
  State(std::unique_ptr<SqliteFile> file, Clock* clock)
      : file_(std::move(file)), clock_(clock) {}
  ~State() { Stop(); }

  SqliteFile& file() { return *file_; }

  // The engine's time: the kernel's, which all processes read alike. That of a
  // `Clock`, and of absl::Now(), is each process' own estimate. The time must
  // not go back, so differences would add up.
  absl::Time Now() const {
    if (clock_ != nullptr) return clock_->TimeNow();
    timespec now = {};
    clock_gettime(CLOCK_REALTIME, &now);
    return absl::TimeFromTimespec(now);
  }

  // A listener of this process has the number, or has it no longer.
  void Occupy(int64_t number);
  void Vacate(int64_t number);

  // `client` listens, or does no longer. The latter blocks until its listener
  // is not being called.
  absl::Status Add(Client* client);
  void Remove(Client* client);
  absl::Status Add(ElectionClient* election);
  void Remove(ElectionClient* election);

  // Sends a message to a listener of any process. Returns whether it lives.
  bool Send(Tables& tables, int64_t listener, const EngineMessage& message);

 private:
  absl::Status StartThread() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Stop();
  void Loop();
  void Deliver();

  const std::unique_ptr<SqliteFile> file_;
  Clock* const clock_;  // may be null

  absl::Mutex mu_;
  std::set<int64_t> occupied_ ABSL_GUARDED_BY(mu_);
  std::map<int64_t, Client*> clients_ ABSL_GUARDED_BY(mu_);  // that listen
  Client* delivering_ ABSL_GUARDED_BY(mu_) = nullptr;
  std::set<ElectionClient*> elections_ ABSL_GUARDED_BY(mu_);
  bool stopping_ ABSL_GUARDED_BY(mu_) = false;
  internal::WorkerPool thread_;
};

// The engine as one client of a queue sees it.
class SqliteEngine::Client final : public internal::Engine {
 public:
  Client(std::shared_ptr<State> state, std::string queue, size_t partitions)
      : state_(std::move(state)),
        queue_(std::move(queue)),
        layout_(absl::StrCat(partitions)) {}

  absl::StatusOr<EngineReply> Apply(const EngineRequest& request,
                                    absl::Time deadline) override;
  absl::StatusOr<EngineSnapshot> TakeSnapshot(
      const EngineSnapshotRequest& request, absl::Time deadline) override;
  absl::Status Listen(EngineListener* listener, absl::Time deadline) override;
  void StopListening() override;

  EngineListener* listener() const { return listener_; }
  int64_t number() const { return number_; }
  int64_t received() const { return received_; }
  void set_received(int64_t message) { received_ = message; }

 private:
  int64_t TimeOf(const std::optional<int64_t>& given) const {
    return given.value_or(absl::ToUnixMicros(state_->Now()));
  }

  const std::shared_ptr<State> state_;
  const std::string queue_;
  const std::string layout_;
  EngineListener* listener_ = nullptr;
  int64_t number_ = 0;  // of the listener
  // The last message that it has received, and that has been removed.
  std::atomic<int64_t> received_{0};
  int64_t removed_ = 0;
  // The last request, for a copy of it.
  std::string last_client_;
  EngineReply last_reply_;
};

// The engine as one elector sees it.
class SqliteEngine::ElectionClient final : public Election {
 public:
  ElectionClient(std::shared_ptr<SqliteEngine::State> state,
                 const ElectionOptions& options);
  ~ElectionClient() override { StopListening(); }

  absl::StatusOr<Election::State> Take() override {
    return Do(StoredElection::Call::kTake, 0, timeout_);
  }
  absl::StatusOr<Election::State> Renew(int64_t token,
                                        absl::Duration timeout) override {
    return Do(StoredElection::Call::kRenew, token, timeout);
  }
  absl::StatusOr<Election::State> Look() override {
    return Do(StoredElection::Call::kLook, 0, timeout_);
  }
  absl::StatusOr<Election::State> Release(int64_t token,
                                          absl::Duration timeout) override {
    return Do(StoredElection::Call::kRelease, token, timeout);
  }

  void Interrupt() override {
    interrupted_ = true;
    state_->file().Interrupted();
  }

  absl::Status Listen(
      std::function<void()> heard,
      std::function<void(const absl::Status&)> /*denied*/) override {
    heard_ = std::move(heard);
    return state_->Add(this);
  }
  void StopListening() override { state_->Remove(this); }

  const std::string& key() const { return key_; }
  // There have been so many releases.
  void Look(int64_t releases) {
    if (releases != releases_.exchange(releases)) heard_();
  }

 private:
  absl::StatusOr<Election::State> Do(StoredElection::Call call, int64_t token,
                                     absl::Duration timeout);

  const std::shared_ptr<SqliteEngine::State> state_;
  const std::string key_;
  const StoredElection::Elector elector_;
  const absl::Duration timeout_;
  std::function<void()> heard_;
  std::atomic<bool> interrupted_{false};
  std::atomic<int64_t> releases_{0};
};

absl::Status SqliteEngine::State::StartThread() {
  if (thread_.size() > 0) return absl::OkStatus();
  return thread_.Start(1, [this](size_t) { Loop(); });
}

void SqliteEngine::State::Stop() {
  {
    MutexLock lock(&mu_);
    stopping_ = true;
  }
  // Wakes the threads of other processes, too, for which this is no harm.
  file_->wake_file().Change(WakeFile::kMessages,
                            std::numeric_limits<int>::max());
  thread_.Join();
}

void SqliteEngine::State::Occupy(int64_t number) {
  MutexLock lock(&mu_);
  occupied_.insert(number);
  file_->wake_file().Occupy(number);
}

void SqliteEngine::State::Vacate(int64_t number) {
  MutexLock lock(&mu_);
  occupied_.erase(number);
  file_->wake_file().Vacate(number);
}

absl::Status SqliteEngine::State::Add(Client* client) {
  MutexLock lock(&mu_);
  clients_[client->number()] = client;
  return StartThread();
}

void SqliteEngine::State::Remove(Client* client) {
  MutexLock lock(&mu_);
  clients_.erase(client->number());
  const auto is_free = [&]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    return delivering_ != client;
  };
  mu_.Await(absl::Condition(&is_free));
}

absl::Status SqliteEngine::State::Add(ElectionClient* election) {
  MutexLock lock(&mu_);
  elections_.insert(election);
  return StartThread();
}

void SqliteEngine::State::Remove(ElectionClient* election) {
  MutexLock lock(&mu_);
  elections_.erase(election);
}

bool SqliteEngine::State::Send(Tables& tables, int64_t listener,
                               const EngineMessage& message) {
  bool is_here;
  {
    MutexLock lock(&mu_);
    is_here = occupied_.count(listener) > 0;
  }
  if (!is_here && !file_->wake_file().IsOccupied(listener)) {
    tables.RemoveListener(listener);
    return false;
  }
  tables.AddMessage(listener, message.Pack());
  return true;
}

void SqliteEngine::State::Loop() {
  internal::NameThisThread("sqlite", "listen");
  WakeFile& wake_file = file_->wake_file();
  while (true) {
    const uint32_t seen = wake_file.Read(WakeFile::kMessages);
    Deliver();
    {
      MutexLock lock(&mu_);
      if (stopping_) return;
    }
    wake_file.Await(WakeFile::kMessages, seen, kLookPeriod);
  }
}

void SqliteEngine::State::Deliver() {
  std::vector<std::pair<int64_t, int64_t>> listeners;  // and what they have
  std::vector<std::string> elections;
  {
    MutexLock lock(&mu_);
    for (const auto& [number, client] : clients_) {
      listeners.emplace_back(number, client->received());
    }
    for (const ElectionClient* it : elections_) elections.push_back(it->key());
  }
  if (listeners.empty() && elections.empty()) return;
  std::map<int64_t, std::vector<Tables::Message>> messages;
  std::map<std::string, int64_t> releases;
  const absl::Status status = file_->Read(
      MachineTime() + kLookPeriod, [&](Tables& tables, bool /*full*/) {
        for (const auto& [number, received] : listeners) {
          messages[number] = tables.MessagesOf(number, received);
        }
        const auto store = tables.StoreOf(kElections);
        for (const std::string& key : elections) {
          releases[key] = StoredElection(store.get(), key).releases();
        }
        return absl::OkStatus();
      });
  if (!status.ok()) return;  // The calls tell it. This looks again soon.
  MutexLock lock(&mu_);
  for (ElectionClient* it : elections_) {
    const auto found = releases.find(it->key());
    if (found != releases.end()) it->Look(found->second);
  }
  for (const auto& [number, its_messages] : messages) {
    for (const Tables::Message& message : its_messages) {
      const auto found = clients_.find(number);
      if (found == clients_.end()) break;
      delivering_ = found->second;
      delivering_->set_received(message.id);
      EngineListener* const listener = delivering_->listener();
      {
        internal::MutexUnlock unlock(&mu_);
        EngineMessage::Unpack(message.body).Deliver(listener);
      }
      delivering_ = nullptr;
    }
  }
}

absl::StatusOr<EngineReply> SqliteEngine::Client::Apply(
    const EngineRequest& request, absl::Time deadline) {
  std::optional<EngineReply> reply;
  const int64_t received = received_;
  const absl::Status status = state_->file().Write(
      deadline, [&](Tables& tables, bool full) -> absl::Status {
        const absl::StatusOr<int64_t> queue = tables.FindQueue(queue_, layout_);
        if (!queue.ok()) return queue.status();
        if (received > removed_) tables.RemoveMessages(number_, received);
        const auto send = [&](const std::string& client,
                              const EngineMessage& message) {
          int64_t listener = 0;
          if (!client.empty()) {
            return absl::SimpleAtoi(client, &listener) &&
                   state_->Send(tables, listener, message);
          }
          bool heard = false;
          for (int64_t each : tables.ListenersOf(*queue)) {
            heard = state_->Send(tables, each, message) || heard;
          }
          return heard;
        };
        const auto store = tables.StoreOf(*queue);
        reply = StoredQueue(store.get(), send, kMostDue)
                    .Apply(request, TimeOf(request.now), /*run=*/1, full);
        return absl::OkStatus();
      });
  if (!status.ok()) return status;
  removed_ = received;
  if (reply) {
    last_client_ = request.client;
    last_reply_ = *std::move(reply);
  } else if (last_client_ != request.client) {
    return absl::UnknownError(
        "the request has been applied before, and its reply is not known here");
  }
  return last_reply_;
}

absl::StatusOr<EngineSnapshot> SqliteEngine::Client::TakeSnapshot(
    const EngineSnapshotRequest& request, absl::Time deadline) {
  EngineSnapshot snapshot;
  const absl::Status status = state_->file().Read(
      deadline, [&](Tables& tables, bool /*full*/) -> absl::Status {
        const absl::StatusOr<int64_t> queue = tables.FindQueue(queue_, layout_);
        if (!queue.ok()) return queue.status();
        const auto store = tables.StoreOf(*queue);
        snapshot = StoredQueue(store.get(), nullptr)
                       .TakeSnapshot(request, TimeOf(request.now));
        return absl::OkStatus();
      });
  if (!status.ok()) return status;
  return snapshot;
}

absl::Status SqliteEngine::Client::Listen(EngineListener* listener,
                                          absl::Time deadline) {
  const absl::Status status = state_->file().Write(
      deadline, [&](Tables& tables, bool /*full*/) -> absl::Status {
        const absl::StatusOr<int64_t> queue = tables.FindQueue(queue_, layout_);
        if (!queue.ok()) return queue.status();
        // Nobody else sees the number before this process has it.
        number_ = tables.AddListener(*queue);
        state_->Occupy(number_);
        return absl::OkStatus();
      });
  if (!status.ok()) {
    state_->Vacate(number_);
    return status;
  }
  listener_ = listener;
  listener->OnListening(absl::StrCat(number_));
  return state_->Add(this);
}

void SqliteEngine::Client::StopListening() {
  if (listener_ == nullptr) return;
  state_->Remove(this);
  state_->Vacate(number_);
  // If this fails, the next message finds out that nobody listens.
  state_->file()
      .Write(MachineTime() + kCleanUpTimeout,
             [&](Tables& tables, bool /*full*/) {
               tables.RemoveListener(number_);
               return absl::OkStatus();
             })
      .IgnoreError();
}

SqliteEngine::ElectionClient::ElectionClient(
    std::shared_ptr<SqliteEngine::State> state, const ElectionOptions& options)
    : state_(std::move(state)),
      key_(options.name),
      elector_{// No two are equal, for as long as anybody waits.
               std::uniform_int_distribution<int64_t>(
                   1, std::numeric_limits<int64_t>::max())(
                   *std::make_unique<std::random_device>()),
               options.identity, absl::ToInt64Nanoseconds(options.duration)},
      timeout_(options.timeout) {}

absl::StatusOr<Election::State> SqliteEngine::ElectionClient::Do(
    StoredElection::Call call, int64_t token, absl::Duration timeout) {
  Election::State result;
  const auto body = [&](Tables& tables, bool /*full*/) {
    const auto store = tables.StoreOf(kElections);
    StoredElection election(store.get(), key_);
    result =
        election.Do(call, elector_, token, absl::ToUnixNanos(state_->Now()));
    if (call == StoredElection::Call::kRelease && result.done) tables.Notify();
    return absl::OkStatus();
  };
  const absl::Time deadline = MachineTime() + timeout;
  const absl::Status status =
      call == StoredElection::Call::kLook
          ? state_->file().Read(deadline, body, &interrupted_)
          : state_->file().Write(deadline, body, &interrupted_);
  if (!status.ok()) return status;
  return result;
}

SqliteEngine::SqliteEngine(std::shared_ptr<State> state)
    : state_(std::move(state)) {}

SqliteEngine::~SqliteEngine() = default;

absl::StatusOr<std::unique_ptr<SqliteEngine>> SqliteEngine::Create(
    absl::string_view path, Clock* clock) {
  absl::ConsumePrefix(&path, "sqlite:");
  if (path.empty()) {
    return absl::InvalidArgumentError(
        "path is empty; it must name a file, which may not be there yet");
  }
  auto file = SqliteFile::Open(std::string(path), MachineTime() + kOpenTimeout);
  if (!file.ok()) return file.status();
  return absl::WrapUnique(
      new SqliteEngine(std::make_shared<State>(*std::move(file), clock)));
}

std::unique_ptr<internal::Engine> SqliteEngine::NewEngine(
    const std::string& name, size_t partitions,
    const std::string& /*client_name*/) {
  return std::make_unique<Client>(state_, name, partitions);
}

std::unique_ptr<Election> SqliteEngine::NewElection(
    const ElectionOptions& options) {
  return std::make_unique<ElectionClient>(state_, options);
}

template <typename Source>
absl::StatusOr<std::shared_ptr<Source>> SqliteEngine::OpenShared(
    const std::string& address) {
  static absl::Mutex mu(absl::kConstInit);
  static auto& states = *new std::map<std::string, std::weak_ptr<State>>();
  MutexLock lock(&mu);
  std::weak_ptr<State>& known = states[address];
  std::shared_ptr<State> state = known.lock();
  if (state == nullptr) {
    auto engine = Create(address);
    if (!engine.ok()) return engine.status();
    known = state = (*engine)->state_;
  }
  return std::shared_ptr<Source>(new SqliteEngine(std::move(state)));
}

void RegisterSqlite() {
  internal::SqliteOpener<EngineSource>::function =
      SqliteEngine::OpenShared<EngineSource>;
  internal::SqliteOpener<ElectionSource>::function =
      SqliteEngine::OpenShared<ElectionSource>;
}

}  // namespace workqueue
