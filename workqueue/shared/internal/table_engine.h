// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_SHARED_INTERNAL_TABLE_ENGINE_H_
#define WORKQUEUE_SHARED_INTERNAL_TABLE_ENGINE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "workqueue/clock/clock.h"
#include "workqueue/leader_election/election.h"
#include "workqueue/redis/source_of_address.h"
#include "workqueue/shared/internal/engine.h"
#include "workqueue/shared/internal/ordered_store.h"
#include "workqueue/simulation/sync.h"

namespace workqueue::internal {

// EngineTables
//
// What a database keeps of queues and elections, in one transaction. "Tables"
// in docs/shared-queue.md describes it. After an error of the database, the
// tables look empty and take nothing.
class EngineTables {
 public:
  struct Message {
    int64_t id;
    std::string body;
  };
  struct Heard {
    std::vector<Message> messages;  // in their order
    bool has_inbox = false;         // something has been left for the queue
    bool listens = true;  // else it must listen again: later ones may be lost
  };
  // By listener, of those that are still there.
  using Messages = std::map<int64_t, Heard>;

  virtual ~EngineTables() = default;

  // Returns the number of the queue, or of one of its `partitions`, of that
  // name. Adds the queue if it is not there.
  virtual absl::StatusOr<int64_t> FindQueue(absl::string_view name,
                                            const std::string& layout) = 0;

  // The entries of a queue, or the elections, which have the number
  // `kElections`. Nobody else has them until the transaction ends. Each body
  // opens one.
  virtual OrderedStore* Open(int64_t queue) = 0;
  static constexpr int64_t kElections = 0;

  // The time, the same for all processes. Only after something has been read
  // from the store; so is the inbox.
  virtual absl::Time Now() = 0;

  // What others have left for the queue, and is in no entry yet. Removes it.
  virtual std::vector<EngineOperation> TakeInbox() { return {}; }

  // Adds one who listens to a queue's messages, in this process. Returns the
  // number.
  virtual int64_t AddListener(int64_t queue) = 0;
  virtual void RemoveListener(int64_t listener) = 0;
  // The same, of one that has been silent for long, if nothing else tells
  // whether its process lives.
  virtual void ForgetListener(int64_t /*listener*/) {}
  virtual std::vector<int64_t> ListenersOf(int64_t queue) = 0;
  // Whether its process lives.
  virtual bool Lives(int64_t listener) = 0;

  // Adds a message, of which its listener hears when the transaction has ended.
  virtual void AddMessage(int64_t listener, absl::string_view body) = 0;
  // The messages of each listener, from the one after that number on.
  virtual Messages MessagesOf(
      const std::vector<std::pair<int64_t, int64_t>>& listeners) = 0;
  // Those after the one number until the other.
  virtual void RemoveMessages(int64_t listener, int64_t after,
                              int64_t until) = 0;

  // Wakes all processes when the transaction has ended: something has changed
  // that they look at.
  virtual void Notify() = 0;
};

// EngineDatabase
//
// A database with such tables, as this process sees it.
//
// Thread-safe.
class EngineDatabase {
 public:
  // What is done in a transaction. It may be done again: if the database is
  // `full`, or after a transaction whose end is not known. So its only effects
  // are in the tables, and results that the next call replaces. After its own
  // error, nothing is written.
  using Body = std::function<absl::Status(EngineTables& tables, bool full)>;

  struct Call {
    absl::Time deadline;  // on the machine's clock
    bool writes;          // else the body only reads
    const sync::Atomic<bool>* interrupted = nullptr;  // see Interrupted()
  };

  virtual ~EngineDatabase() = default;

  // Does `body` in a transaction, and returns when a crash cannot undo it.
  // Waits for others, and for a server that is away, until the call's deadline,
  // or until it is interrupted. The result of the transaction is not known
  // after `absl::UnknownError`. After any other error nothing has changed.
  virtual absl::Status Run(const Call& call, const Body& body) = 0;

  // Must be called when a flag of a call has been set.
  virtual void Interrupted() = 0;

  // The listener is no longer in this process. Does not throw.
  virtual void Vacate(int64_t listener) = 0;

  // Blocks until there may be new messages since the last call returned, or for
  // `timeout` on the machine's clock, and some seconds longer to connect. From
  // one thread.
  virtual void AwaitMessages(absl::Duration timeout) = 0;
  // Ends that call, or the next one.
  virtual void Wake() = 0;

  virtual absl::StatusOr<EngineSettings> CheckSettings(
      absl::Time /*deadline*/) {
    return EngineSettings();
  }

  // The longest item with its group, and the longest name, in bytes, that a key
  // can have.
  virtual size_t MaxItemBytes() const = 0;
};

// TableEngine
//
// Shared queues and elections in a database. The rules are those of
// `StoredQueue` and `StoredElection`: the database only stores.
//
// One thread of the process takes what its listeners are told, for all queues
// and electors of an engine. Thread-safe. May be destroyed before the queues
// and electors.
class TableEngine : public EngineSource, public ElectionSource {
 public:
  class State;

  // `name` is what messages call the database, such as "the file x". A `clock`
  // that is not null is the time in the place of the database's. It is not
  // owned.
  TableEngine(std::string name, std::unique_ptr<EngineDatabase> database,
              Clock* clock);
  // Shares another one's state.
  explicit TableEngine(std::shared_ptr<State> state);
  ~TableEngine() override;

  TableEngine(const TableEngine&) = delete;
  TableEngine& operator=(const TableEngine&) = delete;

  const std::shared_ptr<State>& state() const { return state_; }

  std::string Name() const override;
  std::unique_ptr<Engine> NewEngine(const std::string& name, size_t partitions,
                                    const std::string& client_name) override;
  std::unique_ptr<Election> NewElection(
      const ElectionOptions& options) override;

 private:
  class Client;
  class ElectionClient;

  const std::shared_ptr<State> state_;
};

// Returns the engine of an address, which all in this process share who name it
// at the same time. If it is not there, it is that of the first `open` to
// return.
absl::StatusOr<std::shared_ptr<TableEngine>> OpenShared(
    const std::string& address,
    const std::function<absl::StatusOr<std::unique_ptr<TableEngine>>()>& open);

// From now on an address of `Scheme` names an engine that `Engine` creates.
template <typename Scheme, typename Engine, typename Source>
void RegisterTableEngineAs() {
  SourceOpener<Scheme, Source>::function =
      [](const std::string& address,
         absl::Duration timeout) -> absl::StatusOr<std::shared_ptr<Source>> {
    return OpenShared(
        address, [&]() -> absl::StatusOr<std::unique_ptr<TableEngine>> {
          return Engine::Create(address, /*clock=*/nullptr, timeout);
        });
  };
}
template <typename Scheme, typename Engine>
void RegisterTableEngine() {
  RegisterTableEngineAs<Scheme, Engine, EngineSource>();
  RegisterTableEngineAs<Scheme, Engine, ElectionSource>();
}

}  // namespace workqueue::internal

#endif  // WORKQUEUE_SHARED_INTERNAL_TABLE_ENGINE_H_
