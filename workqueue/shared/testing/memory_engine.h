// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_SHARED_TESTING_MEMORY_ENGINE_H_
#define WORKQUEUE_SHARED_TESTING_MEMORY_ENGINE_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "workqueue/clock/clock.h"
#include "workqueue/leader_election/election.h"
#include "workqueue/shared/internal/engine.h"

namespace workqueue {

// MemoryEngine
//
// A server of shared queues and elections in memory, for tests of a fleet:
// several `SharedQueue`s of one name, and `LeaderElector`s, are the processes.
// They behave as on a server of Valkey or Redis, and the test breaks what can
// break there. It is for a fleet what `FakeClock` is for time.
//
// Example:
//
//     workqueue::FakeClock clock;
//     workqueue::MemoryEngine engine(&clock);
//     workqueue::SharedQueueOptions<std::string> options;
//     options.name = "pods";
//     options.clock = &clock;
//     options.engine = &engine;
//     options.client_name = "a";
//     auto a = workqueue::SharedQueue<std::string>::Create(options);
//     options.client_name = "b";
//     auto b = workqueue::SharedQueue<std::string>::Create(options);
//     (*a)->Add("default/web");
//     EXPECT_EQ((*b)->Get(), "default/web");
//
// A `LeaderElectorOptions::engine` is the same for an election.
//
// The engine's time is that of the clock. A call takes effect before it
// returns. What the engine tells other processes, which get an item that they
// wait for, or hear of a shutdown or that a leader gave up, comes on a thread
// of each: the next `Step()` of a `FakeClock`, of zero perhaps, returns when
// all has come, and those that hear of a leader have tried to lead.
//
// Unlike a server, the engine does all that is due with one request, however
// much it is.
//
// Thread-safe. The engine may be destroyed before the queues and electors. The
// clock must outlive all.
class MemoryEngine final : public internal::EngineSource,
                           public internal::ElectionSource {
 public:
  // What is wrong between a process and the engine.
  //
  // A call that fails does so at once: a `call_timeout` is on the machine's
  // clock, and nobody needs to wait for it. Everything that happens to a
  // process whose server is away happens here, too: its workers wait, its queue
  // asks again every 500 ms of the queue's clock, and its leases expire in
  // time. A leader leads until its `renew_deadline`, and another one leads when
  // the `lease_duration` has passed.
  struct Faults {
    // The engine is away, or the process is cut off. Each call, and
    // `SharedQueue::Create()`, returns `absl::UnavailableError`, and changes
    // nothing. The process receives nothing either: items that it waits for go
    // to others. Afterwards the process connects as a new client, and its
    // elector tries to lead.
    bool away = false;

    // The engine does not answer, and a call returns `absl::UnknownError`, as
    // after its `call_timeout`: because the request has not arrived, or because
    // the answer does not. Only the latter kind of call has taken effect.
    bool loses_requests = false;
    bool loses_answers = false;

    // The memory is full: what adds items adds nothing, and returns
    // `absl::ResourceExhaustedError`. Elections go on.
    bool full = false;

    // The engine is slow. A request takes effect so much later, and the answer
    // comes so much later than that, on the engine's clock. The calling thread
    // sleeps until then, or until the next `SetFaults()`. No
    // `call_timeout` ends it, but `LeaderElector::Stop()` does after a second.
    // A process makes one request at a time. So a `Step()` goes to the end of
    // the delay at once: in between, the process may have to renew a lease of
    // an item, for which `Step()` would wait.
    absl::Duration request_delay;
    absl::Duration answer_delay;

    // Not zero: each request has a fate by chance. Most pass. Some fail, as if
    // the engine was away. Of some the request is lost, or the answer. Of
    // these, and of those that pass, some come late, or once more: when the
    // process makes a later request, after those of other processes. With some
    // a process loses its connection, and what was sent to it.
    //
    // A fate depends only on this seed, on the process' name, on the items that
    // the request concerns, and on how many such requests it has made. So what
    // a test does with one thread is the same in each run. When time passes,
    // all processes do what is due at that time, and their order may vary.
    uint32_t seed = 0;
  };

  // `clock` is not owned. Null means the real clock.
  explicit MemoryEngine(Clock* clock);
  ~MemoryEngine() override;

  MemoryEngine(const MemoryEngine&) = delete;
  MemoryEngine& operator=(const MemoryEngine&) = delete;

  // From now on these faults are there, and no others: for the queues of this
  // `SharedQueueOptions::client_name` and the electors of this
  // `LeaderElectorOptions::identity`, now and later, or for all if it is empty.
  // `SetFaults({})` ends all faults.
  void SetFaults(const Faults& faults, absl::string_view client_name = "");

  // The engine starts again, with all its data. All processes lose their
  // connections and connect as new clients. No lease of an item expires for as
  // long as a lease lasts. A leader goes on.
  void Restart();

  // The same, without the data: all queues are empty and open, and nobody
  // leads. The processes do not know what they have lost. A `Done()` of what
  // they hold returns false. A leader is told at its next renewal, when another
  // one may lead already.
  void LoseData();

 private:
  class State;
  class Client;
  class ElectionClient;

  bool UsesClocksOfQueues() const override { return true; }
  std::unique_ptr<internal::Engine> NewEngine(
      const std::string& name, size_t partitions,
      const std::string& client_name) override;
  std::unique_ptr<internal::Election> NewElection(
      const internal::ElectionOptions& options) override;

  const std::shared_ptr<State> state_;
};

}  // namespace workqueue

#endif  // WORKQUEUE_SHARED_TESTING_MEMORY_ENGINE_H_
