// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/shared/internal/table_engine.h"

#include <algorithm>
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
#include "absl/cleanup/cleanup.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "workqueue/base/exceptions.h"
#include "workqueue/base/mutex_lock.h"
#include "workqueue/base/worker_pool.h"
#include "workqueue/clock/clock.h"
#include "workqueue/leader_election/election.h"
#include "workqueue/shared/internal/engine.h"
#include "workqueue/shared/internal/ordered_store.h"
#include "workqueue/shared/internal/stored_election.h"
#include "workqueue/shared/internal/stored_queue.h"
#include "workqueue/simulation/sync.h"

namespace workqueue::internal {
namespace {

// How long what nobody waits for may take.
constexpr absl::Duration kCleanUpTimeout = absl::Seconds(1);

// How often a process looks at what a dead one has told nobody.
constexpr absl::Duration kLookPeriod = absl::Seconds(1);

// A request does so much of what is due, and removes so much of what a shutdown
// lets wait no longer, as one of a server does.
constexpr int64_t kMostDue = 250;

// A refused add is remembered for so many repairs: for about a minute.
constexpr int kFullFor = 6;

absl::Time MachineTime() { return Clock::GetRealClock()->TimeNow(); }

}  // namespace

// What the engine and its clients share. It lives as long as any of them.
class TableEngine::State {
 public:
  State(std::string name, std::unique_ptr<EngineDatabase> database,
        Clock* clock)
      : name_(std::move(name)), database_(std::move(database)), clock_(clock) {}
  ~State() { Stop(); }

  const std::string& name() const { return name_; }
  EngineDatabase& database() { return *database_; }

  absl::Time NowIn(EngineTables& tables) const {
    return clock_ != nullptr ? clock_->TimeNow() : tables.Now();
  }

  // `client` listens, or does no longer. The latter blocks until its listener
  // is not being called.
  absl::Status Add(Client* client);
  void Remove(Client* client);
  absl::Status Add(ElectionClient* election);
  void Remove(ElectionClient* election);

  // Sends a message to a listener of any process. Returns whether it lives.
  static bool Send(EngineTables& tables, int64_t listener,
                   const EngineMessage& message);

 private:
  absl::Status StartThread() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void Stop();
  void Loop();
  void Deliver();

  const std::string name_;
  const std::unique_ptr<EngineDatabase> database_;
  Clock* const clock_;  // may be null

  sync::Mutex mu_;
  std::set<Client*> clients_ ABSL_GUARDED_BY(mu_);  // that listen
  Client* delivering_ ABSL_GUARDED_BY(mu_) = nullptr;
  std::set<ElectionClient*> elections_ ABSL_GUARDED_BY(mu_);
  bool stopping_ ABSL_GUARDED_BY(mu_) = false;
  WorkerPool thread_;
};

// The engine as one client of a queue sees it.
class TableEngine::Client final : public Engine {
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
  absl::StatusOr<EngineSettings> CheckSettings(absl::Time deadline) override {
    return state_->database().CheckSettings(deadline);
  }
  size_t MaxItemBytes() const override {
    return state_->database().MaxItemBytes();
  }

  int64_t number() const { return number_; }
  int64_t received() const { return received_; }

  // Tells the listener what has come for it.
  void Hear(const EngineTables::Heard& heard);

 private:
  int64_t TimeOf(const std::optional<int64_t>& given,
                 EngineTables& tables) const {
    return given ? *given : absl::ToUnixMicros(state_->NowIn(tables));
  }
  // Adds to the reply what earlier ones tell: that the database is full.
  void NoteFull(const EngineRequest& request, EngineReply* reply);
  // The listener is there no more: gets another number.
  void ListenAgain();
  absl::Status AddListener(absl::Time deadline);

  const std::shared_ptr<State> state_;
  const std::string queue_;
  const std::string layout_;
  EngineListener* listener_ = nullptr;
  sync::Atomic<int64_t> number_{0};  // of the listener
  // The last message that it has received. Zero again before it gets another
  // number.
  sync::Atomic<int64_t> received_{0};
  absl::Time listens_again_at_ = absl::InfinitePast();  // at the earliest
  // The last message that has been removed, and the number.
  int64_t removed_ = 0, removed_of_ = 0;
  // For so many more repairs the database counts as full, or until an add.
  int full_for_ = 0;
  sync::Atomic<bool> shut_down_{false};  // the queue, as the last reply says
  // The last request, for a copy of it.
  std::string last_client_;
  uint64_t last_number_ = 0;
  EngineReply last_reply_;
};

// The engine as one elector sees it.
class TableEngine::ElectionClient final : public Election {
 public:
  ElectionClient(std::shared_ptr<TableEngine::State> state,
                 const ElectionOptions& options);
  ~ElectionClient() override { StopListening(); }

  absl::StatusOr<State> Do(Call call, int64_t token,
                           absl::Duration timeout) override;

  void Interrupt() override {
    interrupted_ = true;
    state_->database().Interrupted();
  }

  absl::Status Listen(
      std::function<void()> heard,
      std::function<void(const absl::Status&)> /*denied*/) override {
    const size_t most = state_->database().MaxItemBytes();
    if (key_.size() > most) {
      return absl::InvalidArgumentError(
          absl::StrCat("name has ", key_.size(), " bytes; the most is ", most));
    }
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
  const std::shared_ptr<TableEngine::State> state_;
  const std::string key_;
  const StoredElection::Elector elector_;
  const absl::Duration timeout_;
  std::function<void()> heard_;
  sync::Atomic<bool> interrupted_{false};
  sync::Atomic<int64_t> releases_{0};
};

absl::Status TableEngine::State::StartThread() {
  if (thread_.size() > 0) return absl::OkStatus();
  return thread_.Start(1, [this](size_t) { Loop(); });
}

void TableEngine::State::Stop() {
  {
    MutexLock lock(&mu_);
    stopping_ = true;
  }
  database_->Wake();
  thread_.Join();
}

absl::Status TableEngine::State::Add(Client* client) {
  MutexLock lock(&mu_);
  clients_.insert(client);
  return StartThread();
}

void TableEngine::State::Remove(Client* client) {
  MutexLock lock(&mu_);
  clients_.erase(client);
  const auto is_free = [&]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    return delivering_ != client;
  };
  mu_.Await(absl::Condition(&is_free));
}

absl::Status TableEngine::State::Add(ElectionClient* election) {
  MutexLock lock(&mu_);
  elections_.insert(election);
  return StartThread();
}

void TableEngine::State::Remove(ElectionClient* election) {
  MutexLock lock(&mu_);
  elections_.erase(election);
}

bool TableEngine::State::Send(EngineTables& tables, int64_t listener,
                              const EngineMessage& message) {
  if (!tables.Lives(listener)) {
    tables.RemoveListener(listener);
    return false;
  }
  tables.AddMessage(listener, message.Pack());
  return true;
}

void TableEngine::State::Loop() {
  NameThisThread("database", "listen");
  while (true) {
    // Without memory, the next look finds what this one has not told.
    CatchAsStatus([this] { Deliver(); }).IgnoreError();
    {
      MutexLock lock(&mu_);
      if (stopping_) return;
    }
    CatchAsStatus([this] {
      database_->AwaitMessages(kLookPeriod);
    }).IgnoreError();
  }
}

void TableEngine::State::Deliver() {
  std::vector<Client*> clients;
  std::vector<std::pair<int64_t, int64_t>> listeners;  // and what they have
  WantedEntries elections;
  {
    MutexLock lock(&mu_);
    for (Client* it : clients_) {
      clients.push_back(it);
      listeners.emplace_back(it->number(), it->received());
    }
    for (const ElectionClient* it : elections_) {
      elections.keys.push_back(it->key());
    }
  }
  if (listeners.empty() && elections.keys.empty()) return;
  EngineTables::Messages messages;
  std::map<std::string, int64_t> releases;
  const absl::Status status = database_->Run(
      {MachineTime() + kLookPeriod, /*writes=*/false},
      [&](EngineTables& tables, bool /*full*/) {
        messages = tables.MessagesOf(listeners);
        if (elections.keys.empty()) return absl::OkStatus();
        OrderedStore* const store = tables.Open(EngineTables::kElections);
        store->Prefetch(elections);
        for (const std::string& key : elections.keys) {
          releases[key] = StoredElection(store, key).releases();
        }
        return absl::OkStatus();
      });
  if (!status.ok()) return;  // The calls tell it. This looks again soon.
  MutexLock lock(&mu_);
  for (ElectionClient* it : elections_) {
    const auto found = releases.find(it->key());
    if (found != releases.end()) it->Look(found->second);
  }
  for (size_t i = 0; i < clients.size(); ++i) {
    Client* const client = clients[i];
    const int64_t number = listeners[i].first;
    // It may have another number now, or listen no more.
    if (clients_.count(client) == 0 || client->number() != number) continue;
    const auto heard =
        messages.try_emplace(number, EngineTables::Heard{{}, false, false});
    delivering_ = client;
    const absl::Cleanup end = [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
      delivering_ = nullptr;
    };
    MutexUnlock unlock(&mu_);
    client->Hear(heard.first->second);
  }
}

void TableEngine::Client::Hear(const EngineTables::Heard& heard) {
  for (const EngineTables::Message& message : heard.messages) {
    EngineMessage::Unpack(message.body).Deliver(listener_);
    received_ = message.id;  // Without memory, the next look repeats it.
  }
  // The process that opens the queue again tells all others.
  if (heard.has_inbox && !shut_down_) listener_->OnDue(0);
  if (!heard.listens) ListenAgain();
}

void TableEngine::Client::NoteFull(const EngineRequest& request,
                                   EngineReply* reply) {
  // Other writes need no space if they replace what is there. A program may add
  // nothing because it hears this, so that is not kept for ever.
  for (size_t i = 0; i < request.operations.size(); ++i) {
    const EngineOperation::Code code = request.operations[i].code;
    const int64_t result = reply->results[i];
    if (code == EngineOperation::kRepair) {
      full_for_ = std::max(0, full_for_ - 1);
    } else if (StoredQueue::Adds(code) && result != kFalse &&
               result != kItemTooLong) {
      full_for_ = result == kMemoryFull ? kFullFor : 0;
    }
  }
  reply->full = reply->full || full_for_ > 0;
}

absl::StatusOr<EngineReply> TableEngine::Client::Apply(
    const EngineRequest& request, absl::Time deadline) {
  std::optional<EngineReply> reply;
  const int64_t number = number_;
  const int64_t received = received_;  // by this number, or a later one
  if (std::exchange(removed_of_, number) != number) removed_ = 0;
  WantedEntries wanted = StoredQueue::WantedBy(request);
  // The rules refuse an item that is too long. The server need not see it.
  const auto is_too_long = [most = MaxItemBytes()](const std::string& key) {
    return key.size() > most + 1;  // A letter comes before the item.
  };
  wanted.keys.erase(
      std::remove_if(wanted.keys.begin(), wanted.keys.end(), is_too_long),
      wanted.keys.end());
  const absl::Status status = state_->database().Run(
      {deadline, /*writes=*/true},
      [&](EngineTables& tables, bool full) -> absl::Status {
        const absl::StatusOr<int64_t> queue = tables.FindQueue(queue_, layout_);
        if (!queue.ok()) return queue.status();
        const auto send = [&](const std::string& client,
                              const EngineMessage& message) {
          int64_t listener = 0;
          if (!client.empty()) {
            return absl::SimpleAtoi(client, &listener) &&
                   State::Send(tables, listener, message);
          }
          bool heard = false;
          for (int64_t each : tables.ListenersOf(*queue)) {
            heard = State::Send(tables, each, message) || heard;
          }
          return heard;
        };
        const auto on_forgotten = [&tables](const std::string& client) {
          int64_t listener = 0;
          if (!absl::SimpleAtoi(client, &listener)) return;
          tables.ForgetListener(listener);
        };
        OrderedStore* const store = tables.Open(*queue);
        store->Prefetch(wanted);
        StoredQueue rules(store, send, kMostDue, MaxItemBytes(), on_forgotten);
        std::vector<EngineOperation> inbox;
        // A queue that has been shut down would drop it.
        if (!full && !rules.IsShutDown()) inbox = tables.TakeInbox();
        WantedEntries more;
        for (const EngineOperation& it : inbox) {
          more.keys.push_back(StoredQueue::KeyOf(it.item));
        }
        if (!more.keys.empty()) store->Prefetch(more);
        if (received > removed_) {
          tables.RemoveMessages(number, removed_, received);
        }
        auto applied = rules.Apply(request, TimeOf(request.now, tables),
                                   /*run=*/1, full, inbox);
        if (applied) {
          reply = std::move(applied);
        } else if (!inbox.empty()) {
          // It has not been added, and stays there.
          return absl::AbortedError("applied before");
        }  // Else an attempt before may have been the one.
        return absl::OkStatus();
      });
  if (!status.ok() && !absl::IsAborted(status)) return status;
  if (status.ok()) removed_ = received;
  if (reply) {
    NoteFull(request, &*reply);
    shut_down_ = reply->shut_down;
    last_client_ = request.client;
    last_number_ = request.number;
    last_reply_ = *std::move(reply);
  } else if (last_client_ != request.client || last_number_ != request.number) {
    return absl::UnknownError(
        "the request has been applied before, and its reply is not known here");
  }
  return last_reply_;
}

absl::StatusOr<EngineSnapshot> TableEngine::Client::TakeSnapshot(
    const EngineSnapshotRequest& request, absl::Time deadline) {
  EngineSnapshot snapshot;
  const absl::Status status = state_->database().Run(
      {deadline, /*writes=*/false},
      [&](EngineTables& tables, bool /*full*/) -> absl::Status {
        const absl::StatusOr<int64_t> queue = tables.FindQueue(queue_, layout_);
        if (!queue.ok()) return queue.status();
        OrderedStore* const store = tables.Open(*queue);
        store->Prefetch(StoredQueue::WantedBy(request));
        snapshot = StoredQueue(store, nullptr)
                       .TakeSnapshot(request, TimeOf(request.now, tables));
        return absl::OkStatus();
      });
  if (!status.ok()) return status;
  return snapshot;
}

absl::Status TableEngine::Client::AddListener(absl::Time deadline) {
  const int64_t before = number_;
  int64_t number = 0;
  absl::Cleanup vacate = [&] {
    if (number != 0) state_->database().Vacate(number);
  };
  std::map<int64_t, std::string> last;  // messages, also of other attempts
  const absl::Status status = state_->database().Run(
      {deadline, /*writes=*/true},
      [&](EngineTables& tables, bool /*full*/) -> absl::Status {
        const absl::StatusOr<int64_t> queue = tables.FindQueue(queue_, layout_);
        if (!queue.ok()) return queue.status();
        if (number != 0) state_->database().Vacate(number);
        number = tables.AddListener(*queue);
        if (before == 0) return absl::OkStatus();
        for (auto& [_, heard] : tables.MessagesOf({{before, received_}})) {
          for (EngineTables::Message& it : heard.messages) {
            last.emplace(it.id, std::move(it.body));
          }
        }
        tables.RemoveListener(before);
        return absl::OkStatus();
      });
  for (const auto& [id, body] : last) {
    EngineMessage::Unpack(body).Deliver(listener_);
    received_ = id;
  }
  if (before != 0) {
    listener_->OnDisconnected(absl::UnavailableError(
        "nobody is known to listen here: another process has found so, or the "
        "database has been started again"));
  }
  if (!status.ok()) return status;
  std::move(vacate).Cancel();
  received_ = 0;  // Messages may be counted anew.
  number_ = number;
  listener_->OnListening(absl::StrCat(number));
  return absl::OkStatus();
}

absl::Status TableEngine::Client::Listen(EngineListener* listener,
                                         absl::Time deadline) {
  listener_ = listener;
  const absl::Status status = AddListener(deadline);
  if (!status.ok()) {
    listener_ = nullptr;
    return status;
  }
  return state_->Add(this);
}

void TableEngine::Client::ListenAgain() {
  // At most that often: it may fail, or not last.
  const absl::Time now = MachineTime();
  if (now < listens_again_at_) return;
  listens_again_at_ = now + kLookPeriod;
  const int64_t before = number_;
  // If this fails, a later look tries again.
  AddListener(now + kLookPeriod).IgnoreError();
  // Not earlier: who finds nobody there removes what he has been sent.
  state_->database().Vacate(before);
}

void TableEngine::Client::StopListening() {
  if (listener_ == nullptr) return;
  state_->Remove(this);
  state_->database().Vacate(number_);
  // If this fails, the next message finds out that nobody listens.
  CatchAsStatus([this] {
    return state_->database().Run(
        {MachineTime() + kCleanUpTimeout, /*writes=*/true},
        [&](EngineTables& tables, bool /*full*/) {
          tables.RemoveListener(number_);
          return absl::OkStatus();
        });
  }).IgnoreError();
}

TableEngine::ElectionClient::ElectionClient(
    std::shared_ptr<TableEngine::State> state, const ElectionOptions& options)
    : state_(std::move(state)),
      key_(options.name),
      elector_{// No two are equal, for as long as anybody waits.
               std::uniform_int_distribution<int64_t>(
                   1, std::numeric_limits<int64_t>::max())(
                   *std::make_unique<std::random_device>()),
               options.identity, absl::ToInt64Nanoseconds(options.duration)},
      timeout_(options.timeout) {}

absl::StatusOr<Election::State> TableEngine::ElectionClient::Do(
    Call call, int64_t token, absl::Duration timeout) {
  Election::State result;
  const auto body = [&](EngineTables& tables, bool /*full*/) {
    OrderedStore* const store = tables.Open(EngineTables::kElections);
    StoredElection election(store, key_);
    result = election.Do(call, elector_, token,
                         absl::ToUnixNanos(state_->NowIn(tables)));
    if (call == Call::kRelease && result.done) tables.Notify();
    return absl::OkStatus();
  };
  const absl::Status status =
      state_->database().Run({MachineTime() + std::min(timeout, timeout_),
                              /*writes=*/call != Call::kLook, &interrupted_},
                             body);
  if (!status.ok()) return status;
  return result;
}

TableEngine::TableEngine(std::string name,
                         std::unique_ptr<EngineDatabase> database, Clock* clock)
    : state_(std::make_shared<State>(std::move(name), std::move(database),
                                     clock)) {}

TableEngine::TableEngine(std::shared_ptr<State> state)
    : state_(std::move(state)) {}

TableEngine::~TableEngine() = default;

std::string TableEngine::Name() const { return state_->name(); }

std::unique_ptr<Engine> TableEngine::NewEngine(
    const std::string& name, size_t partitions,
    const std::string& /*client_name*/) {
  return std::make_unique<Client>(state_, name, partitions);
}

std::unique_ptr<Election> TableEngine::NewElection(
    const ElectionOptions& options) {
  return std::make_unique<ElectionClient>(state_, options);
}

absl::StatusOr<std::shared_ptr<TableEngine>> OpenShared(
    const std::string& address,
    const std::function<absl::StatusOr<std::unique_ptr<TableEngine>>()>& open) {
  static sync::Mutex mu(absl::kConstInit);
  static auto& states =
      *new std::map<std::string, std::weak_ptr<TableEngine::State>>();
  const auto find = [&address] {
    std::shared_ptr<TableEngine::State> found = states[address].lock();
    return found;
  };
  std::shared_ptr<TableEngine::State> state;
  {
    MutexLock lock(&mu);
    state = find();
  }
  if (state == nullptr) {
    // Without the lock: who opens one address need not wait for another one.
    const auto engine = open();
    if (!engine.ok()) return engine.status();
    MutexLock lock(&mu);
    state = find();
    if (state == nullptr) states[address] = state = (*engine)->state();
  }
  return std::make_shared<TableEngine>(std::move(state));
}

}  // namespace workqueue::internal
