// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Shared queues: several clients on an engine that may be away, lose, repeat
// and delay requests and answers, or start again.
//
// At each rest, two live leases of an item do not exist, and without faults no
// worker waits although an item is queued. The history of each item is that of
// a queue that does one thing at a time, and what was acknowledged comes in the
// end.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "test/shared/queue_history.h"
#include "test/simulation/any_executor.h"
#include "test/simulation/scenario.h"
#include "workqueue/clock/fake_clock.h"
#include "workqueue/executor.h"
#include "workqueue/lease.h"
#include "workqueue/lease_batch.h"
#include "workqueue/shared/shared_queue.h"
#include "workqueue/shared/testing/memory_engine.h"
#include "workqueue/snapshot.h"
#include "workqueue/testing/manual_executor.h"

namespace workqueue {
namespace {

using simulation::AtRest;
using simulation::Check;
using simulation::Choose;
using simulation::NextEvent;
using Key = std::string;
using Operation = QueueOperation;

class SharedLife {
 public:
  // Without `faults` no request fails.
  SharedLife(bool faults, int partitions)
      : faults_(faults), partitions_(partitions) {}

  void Live() {
    for (int i = 1 + Choose(3); i > 0; --i) {
      keys_.push_back(std::string(1, static_cast<char>('a' + keys_.size())));
    }
    // Callbacks sleep: inline ones on threads of the library, or of a call.
    is_inline_ = OneIn(4);
    // Without faults they are renewed, unless a callback keeps the thread.
    if (!faults_ && (is_inline_ || OneIn(2))) {
      lease_ = absl::InfiniteDuration();
    }
    executor_ = is_inline_ ? std::make_unique<InlineExecutor>()
                           : AnyExecutor(/*may_be_inline=*/false);
    for (int i = 1 + Choose(2); i > 0; --i) MakeClient();
    {
      Threads workers;
      {
        Threads others;
        for (Client& client : clients_) {
          const int kind = Choose(6);
          for (int n = Choose(3); n > 0; --n) {
            workers.Start([this, &client, kind] { Work(client, kind); });
          }
          for (int n = Choose(3); n > 0; --n) WorkAsync(client);
        }
        for (int i = 1 + Choose(2); i > 0; --i) {
          Client& client = AnyClient();
          others.Start([this, &client] {
            for (int n = 1 + Choose(3); n > 0; --n) AddSome(client);
          });
        }
        if (OneIn(3)) others.Start([this] { Look(AnyClient()); });
        if (OneIn(3)) others.Start([this] { CancelSome(); });
        if (OneIn(4)) {
          others.Start([this] {
            Client& client = AnyClient();
            client.closing = true;
            client.queue->Close();
            client.closed = true;
          });
        }
        if (OneIn(4)) {
          others.Start([this] { ShutDown(AnyClient(), Choose(4)); });
        }
        if (faults_) {
          others.Start([this] {
            for (int n = 1 + Choose(2); n > 0; --n) Break();
            engine_.SetFaults({});
          });
        }
      }
      CheckRest();
      for (int n = Choose(3); n > 0; --n) {
        if (OneIn(2)) AddSome(AnyClient());
        if (OneIn(2)) simulation::Sleep(absl::Seconds(1 + 10 * Choose(2)));
        CheckRest();
      }
      ending_ = true;
      for (Client& client : clients_) {
        client.closing = true;
        client.queue->Close();
      }
    }
    // A callback that gets an item uses the queue.
    for (int tries = 100; CallbacksAreLeft(); --tries) {
      Check(tries > 0, "a callback is lost");
      simulation::Sleep(absl::Seconds(1));
    }
    // If time passes, the end of a queue may not await what the engine has
    // pushed: it waits for a second at most.
    if (!faults_) AtRest([] {});
    clients_.clear();
    for (const std::shared_ptr<Call>& call : calls_) {
      Check(call->called != call->cancelled, "a callback is called twice");
    }
    Check(held_.empty(), "a lease is left");
    Drain();
    executor_.reset();
    Verify();
  }

 private:
  struct Client {
    std::string name;
    std::unique_ptr<SharedQueue<Key>> queue;
    std::map<Key, int> held;
    bool closing = false;
    bool closed = false;
    int waiting = 0;  // workers, for an item
  };
  struct Call {
    Client* client;
    bool called = false;
    bool cancelled = false;
    AcquireId id;
  };
  // An item that a worker has.
  struct Held {
    Client* client;
    Key key;
    int64_t token;
    const Lease<Key>* lease;
  };
  using HeldPtr = std::list<Held>::iterator;

  void MakeClient() {
    Client& client = clients_.emplace_back();
    client.name = absl::StrCat("c", clients_.size());
    client.queue = NewQueue(client.name);
  }

  std::unique_ptr<SharedQueue<Key>> NewQueue(const std::string& name) {
    SharedQueueOptions<Key> options;
    options.name = "q";
    options.engine = &engine_;
    options.client_name = name;
    options.partitions = partitions_;
    options.prefetch = 64 * Choose(2);
    options.lease = lease_;
    return *SharedQueue<Key>::Create(std::move(options));
  }

  Client& AnyClient() {
    auto it = clients_.begin();
    std::advance(it, Choose(static_cast<int>(clients_.size())));
    return *it;
  }
  const Key& AnyKey() { return keys_[Choose(static_cast<int>(keys_.size()))]; }

  // A call also fails if more time passes than it may take.
  bool MayFail(const absl::Status& status) const {
    return faults_ || absl::IsUnavailable(status);
  }

  void NoteOperation(const Key& key, Operation::Kind kind, int64_t begin,
                     bool known, int64_t token = 0) {
    histories_[key].push_back(
        {kind, begin, known ? NextEvent() : Operation::kNever, token});
  }

  void AddSome(Client& client) {
    const Key key = AnyKey();
    const int64_t begin = NextEvent();
    SharedQueue<Key>& queue = *client.queue;
    absl::Status added;
    AddOptions options;
    const int kind = Choose(7);
    switch (kind) {
      case 3:
        options.after = absl::Seconds(1);
        break;
      case 4:
        options.rate_limited = true;
        break;
      case 5:
        options.priority = Choose(3);
        break;
      case 6: {
        const absl::StatusOr<bool> cancelled = queue.CancelWait(key);
        moved_.insert(key);
        if (!cancelled.ok()) {
          Check(MayFail(cancelled.status()) || client.closing || shut_,
                cancelled.status().message());
        }
        return;
      }
      default:
        break;
    }
    const bool later = kind == 3 || kind == 4;
    ++adds_[key];
    added = queue.AddItems(options, {key});
    Note(client.name, " adds ", key, " at ", begin, " ", added.ToString());
    Check(added.ok() || MayFail(added) || client.closing || shut_,
          added.message());
    if (added.ok()) {
      NoteOperation(key, later ? Operation::kAddLater : Operation::kAdd, begin,
                    !later);
      int64_t& owed = later ? owed_later_[key] : owed_[key];
      owed = (std::max)(owed, begin);
    } else if (!absl::IsUnavailable(added) && !absl::IsCancelled(added)) {
      NoteOperation(key, Operation::kAddLater, begin, false);
    }
  }

  HeldPtr HandOut(Client& client, const Key& key, int64_t token, int64_t begin,
                  const Lease<Key>* lease) {
    Note(client.name, " has ", key, " #", token);
    Check(adds_[key] > 0, "an item comes that nobody added");
    Check(token > 0 && tokens_.insert({key, token}).second,
          "a token comes twice");
    Check(++client.held[key] == 1, "an item has two leases in a process");
    if (!faults_) {
      for (const Held& it : held_) {
        Check(it.key != key || it.lease == nullptr, "two workers have an item");
      }
      Check(token > last_token_[key], "the tokens of an item do not grow");
      last_token_[key] = token;
    }
    begun_[key] = NextEvent();
    histories_[key].push_back({Operation::kHandOut, begin, NextEvent(), token});
    if (faults_) {
      histories_[key].push_back(
          {Operation::kExpiry, begin, Operation::kNever, token});
    }
    return held_.insert(held_.end(), {&client, key, token, lease});
  }

  // The worker ends it. Returns the begin of that.
  int64_t BeginEnd(HeldPtr held) {
    --held->client->held[held->key];
    held->lease = nullptr;
    return NextEvent();
  }
  void End(HeldPtr held, Operation::Kind kind, int64_t begin, bool ended) {
    Check(ended || faults_, "a lease is lost");
    NoteOperation(held->key, kind, begin, ended, held->token);
    held_.erase(held);
  }

  void Process(Client& client, const Key& key) {
    switch (Choose(5)) {
      case 3:
        if (!client.closing) AddSome(client);
        break;
      case 4:
        simulation::Sleep(absl::Seconds(1 + 40 * Choose(2)));
        break;
      default:
        break;
    }
    (void)key;
  }

  void EndLease(HeldPtr held, Lease<Key>* lease) {
    SharedQueue<Key>& queue = *held->client->queue;
    const int64_t begin = BeginEnd(held);
    const Key key = held->key;
    switch (Choose(8)) {
      case 5: {
        if (gives_back_-- <= 0) break;
        const bool given = lease->GiveBack();
        End(held, Operation::kGiveBack, begin, given);
        if (given) owed_[key] = (std::max)(owed_[key], begin);
        return;
      }
      case 6: {
        if (gives_back_-- <= 0) break;
        FailureLedgerOptions limits;
        const auto failed =
            queue.Fail(lease, absl::InternalError("fails"), limits, {});
        Check(failed.ok() || MayFail(failed.status()),
              failed.status().message());
        // The item waits, and the lease ends.
        histories_[key].push_back(
            {Operation::kAddLater, begin, Operation::kNever, 0});
        const bool counted = failed.ok() && !failed->lost;
        if (counted) owed_later_[key] = begin;
        if (!failed.ok()) lease->Done();
        End(held, Operation::kDone, begin, counted);
        return;
      }
      default:
        break;
    }
    bool ended = true;
    if (OneIn(2)) {
      ended = lease->Done();
    } else {
      *lease = Lease<Key>();
      if (faults_) ended = false;  // Nobody knows.
    }
    End(held, Operation::kDone, begin, ended);
  }

  bool GoesOn(Client& client, const absl::Status& status) {
    if (absl::IsCancelled(status)) {
      Check(client.closing || shut_, "an open queue ends");
      return false;
    }
    Check(absl::IsDeadlineExceeded(status) || MayFail(status),
          status.message());
    return true;
  }

  void Work(Client& client, int kind) {
    SharedQueue<Key>& queue = *client.queue;
    Lease<Key> lease;
    while (true) {
      const int64_t begin = NextEvent();
      const bool was_closed = client.closed;
      absl::Status status;
      ++client.waiting;
      if (kind <= 1) {
        status = queue.AcquireInto(
            &lease, kind == 0 ? absl::InfiniteDuration() : absl::Seconds(2));
        --client.waiting;
        if (!status.ok()) {
          if (!GoesOn(client, status)) break;
          continue;
        }
        Check(!was_closed, "a closed queue hands out an item");
        const HeldPtr held =
            HandOut(client, *lease, lease.token(), begin, &lease);
        Process(client, held->key);
        EndLease(held, &lease);
        continue;
      }
      if (kind == 2) {
        absl::StatusOr<LeaseBatch<Key>> batch =
            queue.AcquireUpToWithTimeout(2, absl::InfiniteDuration());
        --client.waiting;
        if (!batch.ok()) {
          if (!GoesOn(client, batch.status())) break;
          continue;
        }
        Check(!was_closed, "a closed queue hands out items");
        std::vector<HeldPtr> held;
        for (Lease<Key>& it : *batch) {
          held.push_back(HandOut(client, *it, it.token(), begin, &it));
        }
        size_t i = 0;
        for (Lease<Key>& it : *batch) {
          Process(client, held[i]->key);
          EndLease(held[i], &it);
          ++i;
        }
        continue;
      }
      // Ends a lease with the begin of the next one.
      std::optional<HeldPtr> ended;
      int64_t end = 0;
      if (last_.count(&lease) > 0) {
        ended = last_[&lease];
        last_.erase(&lease);
        end = BeginEnd(*ended);
      }
      status = queue.AcquireInto(
          &lease, kind == 3 ? absl::Seconds(2) : absl::InfiniteDuration());
      --client.waiting;
      if (ended.has_value()) {
        End(*ended, Operation::kDone, end, !faults_);
      }
      if (!status.ok()) {
        if (!GoesOn(client, status)) break;
        continue;
      }
      Check(!was_closed, "a closed queue hands out the next item");
      last_[&lease] = HandOut(client, *lease, lease.token(), begin, &lease);
      Process(client, *lease);
    }
  }

  void WorkAsync(Client& client) {
    const int64_t begin = NextEvent();
    auto call = std::make_shared<Call>();
    call->client = &client;
    calls_.push_back(call);
    call->id = client.queue->AcquireAsync(
        executor_.get(), [this, call, begin](absl::StatusOr<Lease<Key>> lease) {
          Check(!call->called, "a callback is called twice");
          Check(!call->cancelled, "a cancelled callback is called");
          call->called = true;
          ++callbacks_;
          absl::Cleanup over = [this] { --callbacks_; };
          Client& client = *call->client;
          if (!lease.ok()) {
            if (GoesOn(client, lease.status()) && retries_-- > 0) {
              WorkAsync(client);
            }
            return;
          }
          const HeldPtr held =
              HandOut(client, **lease, lease->token(), begin, &*lease);
          Process(client, held->key);
          EndLease(held, &*lease);
          if (!client.closing && OneIn(2)) WorkAsync(client);
        });
  }

  bool CallbacksAreLeft() const {
    bool left = callbacks_ > 0;
    for (const std::shared_ptr<Call>& call : calls_) {
      left |= !call->called && !call->cancelled;
    }
    return left;
  }

  void CancelSome() {
    for (size_t i = 0; i < calls_.size(); ++i) {
      if (OneIn(2)) continue;
      const std::shared_ptr<Call> call = calls_[i];
      if (!call->client->queue->CancelAcquire(call->id)) continue;
      Check(!call->called && !call->cancelled, "a callback is cancelled late");
      call->cancelled = true;
    }
  }

  void Look(Client& client) {
    switch (Choose(4)) {
      case 0:
        client.queue->TakeSnapshot().IgnoreError();
        break;
      case 1: {
        SnapshotOptions<Key> options;
        options.max = 0;
        options.timeout = absl::Milliseconds(100);
        client.queue->TakeSnapshotWith(options).IgnoreError();
        break;
      }
      case 2:
        client.queue->Failing(10).IgnoreError();
        break;
      default:
        client.queue->Healthy().IgnoreError();
        break;
    }
  }

  // A shutdown of any client that comes after the begin of a drain ends it.
  void EndDrain(Client& client) {
    bool drained = false;
    Threads drain;
    drain.Start([&] {
      client.queue->ShutDownWithDrain();
      drained = true;
    });
    Client& other = AnyClient();
    while (!drained && !other.queue->ShuttingDown()) {
      simulation::Sleep(absl::Milliseconds(1));
    }
    int tries = 15;
    while (!drained) {
      const bool told = other.queue->ShutDownAndDrain(std::nullopt).ok();
      const bool sure =
          told && !faults_ && !is_inline_ && !client.closing && !other.closing;
      bool over = !sure;
      while (!over) {
        AtRest([&] { over = drained; });
        Check(over || --tries > 0, "a shutdown does not end a drain");
        simulation::Sleep(absl::Milliseconds(10));
      }
      simulation::Sleep(absl::Milliseconds(100));
    }
  }

  void ShutDown(Client& client, int way) {
    shut_ = true;
    switch (way) {
      case 0:
        client.queue->ShutDown();
        break;
      case 1: {
        // No item ends at the end of this time.
        const absl::Duration most = absl::Seconds(5) + absl::Microseconds(1);
        const absl::Duration end = simulation::Now() + most;
        const bool drained = client.queue->ShutDownWithDrainWithin(most);
        Check(!drained || faults_ || simulation::Now() != end,
              "a drain sees its end late");
        break;
      }
      case 3:
        EndDrain(client);
        break;
      default:
        client.queue->ShutDownWithDrainWithin(absl::ZeroDuration());
        break;
    }
    shut_over_ = !faults_;
  }

  void Break() {
    MemoryEngine::Faults faults;
    switch (Choose(7)) {
      case 0:
        faults.away = true;
        break;
      case 1:
        faults.loses_answers = true;
        break;
      case 2:
        faults.loses_requests = true;
        break;
      case 3:
        faults.seed = 1 + Choose(200);
        break;
      case 4:
        faults.request_delay = faults.answer_delay =
            absl::Milliseconds(100 + 20000 * Choose(2));
        break;
      case 5:
        faults.full = true;
        break;
      default:
        engine_.Restart();
        return;
    }
    engine_.SetFaults(faults, OneIn(3) ? "" : AnyClient().name);
    simulation::Sleep(absl::Milliseconds(200 + 20000 * Choose(3)));
    AtRest([this] { CheckLeases(); });
  }

  void CheckLeases() {
    for (const Held& a : held_) {
      if (a.lease == nullptr || a.lease->lost()) continue;
      for (const Held& b : held_) {
        if (&a == &b || b.key != a.key || b.lease == nullptr) continue;
        Check(b.lease->lost(), "two live leases of an item");
      }
    }
  }

  // An item whose lease has expired waits, and that may be cancelled.
  bool MayBeDropped(const Key& key) const {
    return faults_ && moved_.count(key) > 0;
  }

  std::string RestError() {
    CheckLeases();
    if (faults_ && ending_) return "";
    SharedQueue<Key>* open = nullptr;
    size_t held = 0;
    for (const Held& it : held_) held += it.lease != nullptr;
    size_t waiting = 0;
    bool is_busy = false;
    for (Client& client : clients_) {
      if (client.closed && client.waiting > 0 && !faults_ && !is_inline_) {
        return "a worker waits for a closed queue";
      }
      if (client.closing) continue;
      open = client.queue.get();
      waiting += client.waiting;
    }
    for (const std::shared_ptr<Call>& call : calls_) {
      if (call->called || call->cancelled) continue;
      is_busy |= callbacks_ > 0;  // and may keep the executor's thread
      if (!call->client->closing) ++waiting;
    }
    is_busy |= callbacks_ > 0 && is_inline_;
    if (open == nullptr) return "";
    const absl::StatusOr<Snapshot<Key>> snapshot = open->TakeSnapshot();
    if (!snapshot.ok()) return snapshot.status().ToString();
    Note("rest: ", snapshot->num_queued, " queued, ", snapshot->num_processing,
         " processed, ", snapshot->num_waiting, " wait, ", waiting,
         " workers, ", held_.size(), " held");
    if (is_busy) return "";
    if (snapshot->num_queued > 0 && waiting > 0) {
      return "a worker waits while an item is queued";
    }
    if (shut_over_ && snapshot->num_queued + held == 0 && waiting > 0) {
      return "a worker waits for a queue that has ended";
    }
    if (snapshot->num_processing != held) {
      return "the engine and the workers do not agree";
    }
    for (const auto& it : snapshot->waiting) {
      if (it.ready_at <= snapshot->taken_at && waiting > 0) {
        return "an item waits that is due";
      }
    }
    if (shut_) return "";
    std::set<Key> there;
    for (const auto& it : snapshot->queued) there.insert(it.item);
    for (const auto& it : snapshot->waiting) there.insert(it.item);
    std::set<Key> processed;
    for (const auto& it : snapshot->processing) {
      processed.insert(it.item);
      if (it.added_again) there.insert(it.item);
    }
    for (const auto& [key, owed] : owed_) {
      if (MayBeDropped(key)) continue;
      if (begun_[key] < owed && there.count(key) == 0) {
        if (processed.count(key) > 0 && faults_) continue;
        return absl::StrCat("an item that was added is lost: ", key);
      }
    }
    for (const auto& [key, owed] : owed_later_) {
      if (moved_.count(key) > 0) continue;
      if (begun_[key] < owed && there.count(key) + processed.count(key) == 0) {
        return absl::StrCat("an item that was to come later is lost: ", key);
      }
    }
    return "";
  }

  // Something may be wrong as long as requests are collected or, after faults,
  // as a lease and a retry take.
  void CheckRest() {
    for (int tries = 15;; simulation::Sleep(faults_ ? absl::Seconds(10)
                                                    : absl::Milliseconds(10))) {
      std::string error;
      AtRest([&] { error = RestError(); });
      if (error.empty()) return;
      Check(--tries > 0, error);
    }
  }

  // Takes what is left.
  void Drain() {
    engine_.SetFaults({});
    const auto queue = NewQueue("drain");
    const int most = faults_ ? 100 : 20;
    for (int empty = 0; empty < most;) {
      const int64_t begin = NextEvent();
      absl::StatusOr<Lease<Key>> lease =
          queue->AcquireWithTimeout(absl::Seconds(60));
      if (!lease.ok()) {
        if (absl::IsCancelled(lease.status())) break;
        const absl::StatusOr<SharedQueueCounts> left = queue->Count();
        Check(left.ok(), "it does not count");
        if (left->queued + left->processing + left->waiting == 0) break;
        Check(++empty < most, "a queue does not hand out its items");
        continue;
      }
      const Key key = **lease;
      begun_[key] = NextEvent();
      histories_[key].push_back(
          {Operation::kHandOut, begin, NextEvent(), lease->token()});
      const int64_t token = lease->token();
      const int64_t end = NextEvent();
      const bool ended = lease->Done();
      NoteOperation(key, Operation::kDone, end, ended, token);
      if (faults_) {
        histories_[key].push_back(
            {Operation::kExpiry, begin, Operation::kNever, token});
      }
    }
    for (const auto& [key, owed] : owed_) {
      Check(begun_[key] > owed || shut_ || MayBeDropped(key),
            "an item that was added is lost");
    }
    for (const auto& [key, owed] : owed_later_) {
      Check(begun_[key] > owed || shut_ || moved_.count(key) > 0,
            "an item that was to come later is lost");
    }
  }

  void Verify() {
    for (auto& [key, history] : histories_) {
      // What a process got and gave back, or has never heard of.
      history.push_back({Operation::kHandOut, 0, Operation::kNever, 0});
      const auto violation = CheckHistory(history);
      if (!violation.has_value()) continue;
      std::string text =
          absl::StrCat("the history of ", key, ": ", violation->text, ";");
      for (const Operation& it : history) {
        absl::StrAppend(&text, " ", std::string(1, it.kind), "[", it.begin, ",",
                        it.end, "]#", it.token);
      }
      simulation::Fail(text);
    }
  }

  const bool faults_;
  const int partitions_;
  std::vector<Key> keys_;
  MemoryEngine engine_{nullptr};
  std::unique_ptr<Executor> executor_;
  bool is_inline_ = false;
  absl::Duration lease_ = absl::Seconds(30);
  std::list<Client> clients_;
  std::vector<std::shared_ptr<Call>> calls_;
  std::list<Held> held_;
  std::map<const Lease<Key>*, HeldPtr> last_;
  std::map<Key, std::vector<Operation>> histories_;
  std::map<Key, int> adds_;
  std::map<Key, int64_t> owed_;        // It must begin after this event.
  std::map<Key, int64_t> owed_later_;  // the same, after a delay
  std::map<Key, int64_t> begun_;
  std::map<Key, int64_t> last_token_;
  std::set<std::pair<Key, int64_t>> tokens_;
  std::set<Key> moved_;  // whose waits are cancelled
  int callbacks_ = 0;    // that run
  int gives_back_ = 3;
  int retries_ = 20;
  bool shut_ = false;
  bool shut_over_ = false;  // A call has returned that has shut it down.
  bool ending_ = false;
};

// With a `FakeClock`, and one thread that calls, a test needs no wait for the
// callbacks of its calls.
const AddScenario told(
    "shared_told", "a SharedQueue whose calls return when they have submitted",
    [] {
      FakeClock clock;
      MemoryEngine engine(&clock);
      ManualExecutor executor;
      SharedQueueOptions<Key> options;
      options.name = "q";
      options.engine = &engine;
      options.clock = &clock;
      options.partitions = 1 + Choose(2);
      options.lease = absl::InfiniteDuration();
      const auto queue = *SharedQueue<Key>::Create(std::move(options));
      size_t called = 0;
      const size_t callbacks = 1 + Choose(3);
      for (size_t i = 0; i < callbacks; ++i) {
        queue->AcquireAsync(
            &executor, [&called](absl::StatusOr<Lease<Key>>) { ++called; });
      }
      clock.Step(absl::ZeroDuration());
      size_t expected = 1;
      switch (Choose(3)) {
        case 0:
          queue->Add("a");
          break;
        case 1:
          expected = callbacks;
          queue->ShutDown();
          break;
        default:
          expected = callbacks;
          queue->Close();
          break;
      }
      executor.RunAll();
      Check(called == expected, "a call returns before it has submitted");
      queue->ShutDown();
      while (called < callbacks) {
        executor.RunAll();
        clock.Step(absl::ZeroDuration());
      }
    });

std::unique_ptr<SharedQueue<Key>> NewQueue(MemoryEngine* engine,
                                           int partitions = 1,
                                           const std::string& name = "") {
  SharedQueueOptions<Key> options;
  options.client_name = name;
  options.name = "q";
  options.engine = engine;
  options.partitions = partitions;
  options.lease = absl::InfiniteDuration();
  return *SharedQueue<Key>::Create(std::move(options));
}

const AddScenario close(
    "shared_close", "a SharedQueue that ends while items come to it", [] {
      MemoryEngine engine(nullptr);
      InlineExecutor executor;
      auto queue = NewQueue(&engine);
      const auto other = NewQueue(&engine);
      const AcquireId id = queue->AcquireAsync(
          &executor, [](const absl::StatusOr<Lease<Key>>&) {});
      AtRest([] {});
      Check(other->Add("a"), "an open queue refuses an item");
      if (!queue->CancelAcquire(id)) return;  // It has processed the item.
      // It waits for what comes, but not for ever.
      const absl::Duration before = simulation::Now();
      queue.reset();
      if (simulation::Now() > before) return;
      Check(other->TryGet().ok(), "an item is left with a queue that is gone");
    });

// A thread that sees a drain ends it, also in the partitions that the drain has
// not reached yet.
const AddScenario drain(
    "partitioned_drain", "a drain of partitions that a shutdown ends", [] {
      MemoryEngine engine(nullptr);
      const auto queue = NewQueue(&engine, /*partitions=*/2);
      const auto other = NewQueue(&engine, /*partitions=*/2);
      const std::vector<Key> keys = {"a", "b", "c", "d"};
      Check(queue->AddAll(keys), "an open queue refuses items");
      std::vector<Lease<Key>> leases;
      while (leases.size() < keys.size()) {
        // If the time passes fast, a request may seem to hang.
        absl::StatusOr<Lease<Key>> lease = queue->Acquire();
        if (lease.ok()) leases.push_back(*std::move(lease));
      }
      bool over = false;
      Threads threads;
      threads.Start([&] {
        queue->ShutDownWithDrain();
        over = true;
      });
      while (!other->ShuttingDown()) simulation::Sleep(absl::Milliseconds(1));
      other->ShutDown();
      for (int tries = 20;; simulation::Sleep(absl::Milliseconds(1))) {
        bool ended = false;
        AtRest([&] { ended = over; });
        if (ended) break;
        Check(--tries > 0, "a shutdown does not end a drain");
      }
      leases.clear();
    });

// The workers of a queue that is shut down take all its items.
const AddScenario shut_down(
    "shared_shutdown", "SharedQueues that are shut down while items are there",
    [] {
      MemoryEngine engine(nullptr);
      const auto a = NewQueue(&engine), b = NewQueue(&engine);
      std::vector<Key> keys;
      for (int i = Choose(4); i >= 0; --i) keys.push_back(absl::StrCat(i));
      size_t processed = 0;
      size_t callbacks = 0;
      const bool batches = OneIn(4);
      InlineExecutor executor;
      std::function<void(SharedQueue<Key>*)> take_next;
      take_next = [&](SharedQueue<Key>* queue) {
        queue->AcquireAsync(&executor,
                            [&, queue](absl::StatusOr<Lease<Key>> lease) {
                              if (!lease.ok()) {
                                --callbacks;
                                return;
                              }
                              ++processed;
                              lease->Done();
                              take_next(queue);
                            });
      };
      {
        Threads threads;
        for (int i = Choose(4); i >= 0; --i) {
          SharedQueue<Key>* const queue = OneIn(2) ? b.get() : a.get();
          if (OneIn(3)) {
            ++callbacks;
            threads.Start([&, queue] { take_next(queue); });
            continue;
          }
          threads.Start([&, queue] {
            Lease<Key> lease;
            while (queue->AcquireNext(&lease).ok()) ++processed;
          });
        }
        threads.Start([&] {
          if (batches) {
            Check(a->AddAll(keys), "an open queue refuses items");
          } else {
            for (const Key& key : keys)
              Check(b->Add(key), "it refuses an item");
          }
          Check(a->ShutDownAndDrain(std::nullopt).ok(), "it is not shut down");
        });
      }
      while (callbacks > 0) simulation::Sleep(absl::Milliseconds(1));
      Check(simulation::Now() < absl::Seconds(1), "a worker hears it late");
      Check(processed == keys.size(),
            "a worker ends although an item is there");
    },
    /*exact_time=*/true);

// A process whose worker is busy gives back what it has taken ahead, and tells
// of the ends, again if the engine has not heard them.
const AddScenario ahead(
    "shared_ahead", "a worker that is quick, and then slow",
    [] {
      MemoryEngine engine(nullptr);
      const auto queue = NewQueue(&engine, /*partitions=*/1, "a");
      const auto other = NewQueue(&engine);
      const size_t quick = 1 + Choose(3), n = quick + 1 + Choose(3);
      const bool fails = OneIn(2), ends = OneIn(2), closes = OneIn(3);
      std::vector<Key> keys;
      while (keys.size() < n) keys.push_back(absl::StrCat(keys.size()));
      Check(queue->AddAll(keys), "an open queue refuses items");
      Threads workers;
      workers.Start([&] {
        Lease<Key> lease;
        for (size_t i = 0; i <= quick; ++i) {
          if (i == quick && fails) {
            MemoryEngine::Faults faults;
            (OneIn(2) ? faults.away : faults.loses_requests) = true;
            engine.SetFaults(faults, "a");
          }
          if (i == quick && closes) queue->Close();
          const absl::Status status = queue->AcquireNext(&lease);
          if (i == quick && (closes || !status.ok())) {
            Check(!status.ok(), "a closed queue hands out an item");
            Check(fails || closes, "an item does not come");
            break;
          }
          Check(*lease == keys[i], "an item comes too early");
        }
        const size_t begun = quick + (lease ? 1 : 0);
        if (ends) lease.Done();
        if (fails) {
          simulation::Sleep(absl::Seconds(Choose(2)));
          engine.SetFaults({});
        }
        simulation::Sleep(absl::Seconds(2));
        const auto counts = other->Count();
        Check(counts->processing == (lease ? 1 : 0),
              "an end is not told, or an item is kept");
        Check(counts->queued == n - begun, "an item is not given back");
        for (size_t i = 0; i < counts->queued; ++i) {
          const auto next = other->TryAcquire();
          Check(next.ok(), "an item is not given back");
        }
      });
    },
    /*exact_time=*/true);

// An item may be as late as a reply or a message of the engine, and these would
// take as long as they like.
const AddScenario shared(
    "shared_queue", "SharedQueues of an engine",
    [] { SharedLife(false, 1).Live(); }, /*exact_time=*/true);
const AddScenario partitions(
    "partitioned_queue", "the same with two partitions",
    [] { SharedLife(false, 2).Live(); }, /*exact_time=*/true);
const AddScenario faulty("faulty_shared_queue", "the same with faults",
                         [] { SharedLife(true, 1).Live(); });
const AddScenario faulty_partitions("faulty_partitioned_queue",
                                    "partitions with faults",
                                    [] { SharedLife(true, 2).Live(); });

}  // namespace
}  // namespace workqueue
