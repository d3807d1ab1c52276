// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/shared/testing/internal/memory_queue.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "workqueue/shared/internal/engine.h"
#include "workqueue/shared/testing/internal/memory_groups.h"
#include "workqueue/version.h"

namespace workqueue::internal {
namespace {

// A client that has been silent for so many times its presence is forgotten.
constexpr int64_t kPresences = 10;

constexpr int64_t kFirst = std::numeric_limits<int64_t>::min();

bool Adds(EngineOperation::Code code) {
  return code == EngineOperation::kAdd || code == EngineOperation::kAddAfter ||
         code == EngineOperation::kReschedule ||
         code == EngineOperation::kAddRateLimited ||
         code == EngineOperation::kUnpark;
}

int64_t ToNumber(absl::string_view text) {
  int64_t number = 0;
  return absl::SimpleAtoi(text, &number) ? number : kForever;
}

// Kind, weight and group, if an operation that adds tells them.
std::vector<std::string> GroupParts(const std::string& text) {
  if (text.empty()) return {};
  return absl::StrSplit(text, absl::MaxSplits(' ', 2));
}

}  // namespace

class MemoryQueue::Change {
 public:
  Change(MemoryQueue* queue, std::string item)
      : queue_(*queue),
        item_(std::move(item)),
        entry_(queue->items_[item_]),
        was_(queue->WhereIs(entry_)) {
    queue_.ForEachPlace(item_, entry_, [](Places* places, Place place) {
      places->erase(place);
    });
  }

  ~Change() {
    if (queue_.groups_) {
      queue_.groups_->Move(item_, was_, queue_.WhereIs(entry_));
    }
    if (entry_.state == State::kIdle && entry_.failures == 0 &&
        !entry_.Waits()) {
      queue_.items_.erase(item_);
      return;
    }
    queue_.ForEachPlace(item_, entry_, [](Places* places, Place place) {
      places->insert(std::move(place));
    });
  }

  Change(const Change&) = delete;
  Change& operator=(const Change&) = delete;

  Entry& operator*() const { return entry_; }
  Entry* operator->() const { return &entry_; }
  const std::string& item() const { return item_; }

 private:
  MemoryQueue& queue_;
  const std::string item_;
  Entry& entry_;
  const MemoryGroups::Where was_;
};

MemoryGroups::Where MemoryQueue::WhereIs(const Entry& e) const {
  using Where = MemoryGroups::Where;
  if (groups_ && e.state == State::kQueued) {
    return {Where::kQueued, e.group, e.retry, e.weight, e.priority, e.sequence};
  }
  if (e.in_process) return {Where::kInProcess, e.group, *e.in_process};
  return {};
}

template <typename F>
void MemoryQueue::ForEachPlace(const std::string& item, const Entry& e, F f) {
  if (e.state == State::kQueued) f(&ready_, {-e.priority, e.sequence, item});
  if (e.IsProcessed()) f(&leases_, {e.expiry, 0, item});
  if (e.state == State::kDirty) f(&dirty_, {0, 0, item});
  if (e.Waits()) f(&waiting_, {e.due, e.due_sequence, item});
  if (e.IsParked()) {
    f(&parked_, {-e.last_failed, 0, item});
  } else if (e.failures > 0) {
    f(&failing_, {-e.failures, e.first_failed, item});
  }
}

void MemoryQueue::Enqueue(Entry& e, int64_t sequence) {
  e.state = State::kQueued;
  e.token = 0;
  e.in_process.reset();
  e.sequence = sequence;
}

void MemoryQueue::Forget(Entry& e) {
  e.failures = 0;
  e.error.clear();
  e.parking = Parking::kNot;
}

bool MemoryQueue::UnparkByAdd(Entry& e) {
  if (e.parking == Parking::kUntilUnpark) return false;
  if (e.IsParked()) Forget(e);
  return true;
}

bool MemoryQueue::Add(Entry& e, int64_t priority, bool retry) {
  if (!UnparkByAdd(e)) return false;
  if (e.state == State::kIdle || e.state == State::kProcessing) {
    e.priority = priority;
    e.retry = retry && groups_;
    e.since = now_;
    if (e.state == State::kIdle) {
      Enqueue(e, ++sequence_);
    } else {
      e.state = State::kDirty;
    }
    return true;
  }
  // With groups it is the last item of another lane then.
  const bool moves = priority > e.priority || (e.retry && !retry);
  e.priority = std::max(e.priority, priority);
  e.retry = e.retry && retry;
  if (moves && groups_ && e.state == State::kQueued) e.sequence = ++sequence_;
  return false;
}

int64_t MemoryQueue::AddNow(Entry& e, int64_t priority, bool retry) {
  return Add(e, priority, retry) ? kNewItem : kTrue;
}

void MemoryQueue::StopWaiting(Entry& e) {
  e.due_sequence = 0;
  e.due_priority = 0;
}

void MemoryQueue::Wait(Entry& e, int64_t due, int64_t priority, bool retry,
                       bool moves) {
  if (e.Waits()) {
    e.due_priority = std::max(e.due_priority, priority);
    e.due_retry = e.due_retry && retry;
    if (!moves && e.due <= due) return;
  } else {
    e.due_priority = priority;
    e.due_retry = retry && groups_;
  }
  e.due = due;
  e.due_sequence = ++sequence_;
}

int64_t MemoryQueue::RetryDelay(const Entry& e, int64_t least) const {
  const std::vector<int64_t>* const delays = request_->retry_schedule;
  if (delays == nullptr || delays->empty()) return least;
  const size_t i =
      std::min(static_cast<size_t>(e.failures), delays->size() - 1);
  return std::max(least, (*delays)[i]);
}

void MemoryQueue::CountFailure(Entry& e, const std::string& error) {
  if (e.failures == 0) e.first_failed = now_;
  ++e.failures;
  e.last_failed = now_;
  if (!error.empty()) e.error = error;
}

void MemoryQueue::StopProcessing(Entry& e) {
  e.state = State::kIdle;
  e.token = 0;
  e.in_process.reset();
}

// static
std::optional<MemoryQueue::Limits> MemoryQueue::ParseLimits(
    const std::string& text) {
  // Priority, limits of failures, of the time and of parked items, whether it
  // stays parked, and the error.
  const std::vector<std::string> parts =
      absl::StrSplit(text, absl::MaxSplits(' ', 5));
  if (parts.size() != 6) return std::nullopt;
  return Limits{ToNumber(parts[0]), ToNumber(parts[1]), ToNumber(parts[2]),
                ToNumber(parts[3]), parts[4] == "1",    parts[5]};
}

bool MemoryQueue::IsAtLimit(const Entry& e, const Limits& limits) const {
  return (e.failures >= limits.failures ||
          now_ - e.first_failed >= limits.time) &&
         static_cast<int64_t>(parked_.size()) < limits.parked;
}

void MemoryQueue::Park(Entry& e, bool stays, bool added_again) {
  if (added_again && !stays) {
    Forget(e);  // That add puts it back.
    Enqueue(e, ++sequence_);
  } else {
    e.parking = stays ? Parking::kUntilUnpark : Parking::kUntilAdd;
  }
}

void MemoryQueue::Abandon(Entry& e, int64_t least, const std::string& error,
                          bool fails) {
  const int64_t delay = fails ? RetryDelay(e, least) : least;
  const bool retry = e.state == State::kDirty
                         ? e.retry
                         : fails || e.in_process.value_or(false);
  if (fails) CountFailure(e, error);
  const bool in_time = now_ - e.expiry <= request_->lease / 2;
  if (fails && in_time && limits_.has_value() && IsAtLimit(e, *limits_)) {
    const bool added_again = e.state == State::kDirty;
    StopProcessing(e);
    Park(e, limits_->stays, added_again);
    return;
  }
  if (delay > 0 && shut_down_) {
    e.in_process.reset();
    e.token = -++token_;
    e.expiry = After(delay);
    return;
  }
  StopProcessing(e);
  if (delay > 0) {
    Wait(e, After(delay), e.priority, retry, false);
  } else {
    Add(e, e.priority, retry);
  }
}

void MemoryQueue::AddAgain(Entry& e, int64_t delay, int64_t priority,
                           bool retry, bool added_again) {
  if (added_again) {
    Enqueue(e, ++sequence_);
  } else if (!shut_down_ && delay > 0) {
    Wait(e, After(delay), priority, retry, false);
  } else if (!shut_down_) {
    Add(e, priority, retry);
  }
}

int64_t MemoryQueue::Fail(Entry& e, const EngineOperation& operation) {
  const std::optional<Limits> limits = ParseLimits(operation.text);
  if (!limits.has_value()) return kFalse;
  int64_t delay = RetryDelay(e, operation.y);
  if (operation.z >= 0) delay = std::min(delay, operation.z);
  const bool added_again = e.state == State::kDirty;
  StopProcessing(e);
  CountFailure(e, limits->error);
  const int64_t failures = e.failures;
  const bool parks = IsAtLimit(e, *limits);
  if (parks) {
    Park(e, limits->stays, added_again);
  } else {
    AddAgain(e, delay, limits->priority, /*retry=*/true, added_again);
  }
  return 2 * failures + (parks ? 1 : 0);
}

int64_t MemoryQueue::ShutDown(bool at_once) {
  shut_down_ = true;
  while (!waiting_.empty()) {
    const Change e(this, std::get<std::string>(*waiting_.begin()));
    StopWaiting(*e);
  }
  if (at_once) ++*shutdowns_;
  send_("", [n = *shutdowns_](EngineListener* to) { to->OnShutDown(n); });
  return *shutdowns_;
}

int64_t MemoryQueue::Oldest() const {
  int64_t since = now_;
  auto first = ready_.begin();  // of each priority
  while (first != ready_.end()) {
    since = std::min(since, items_.at(std::get<std::string>(*first)).since);
    first = ready_.lower_bound({std::get<0>(*first) + 1, kFirst, ""});
  }
  return now_ - since;
}

int64_t MemoryQueue::SetGroups(int64_t of_group, int64_t of_retries) {
  if (!groups_ && !ready_.empty()) return kFalse;
  if (!groups_) groups_.emplace();
  groups_->SetBounds(of_group, of_retries);
  return kTrue;
}

bool MemoryQueue::Classify(Entry& e, const std::string& text) const {
  const std::vector<std::string> parts = GroupParts(text);
  if (!groups_ || parts.size() != 3) return false;
  if (e.state != State::kQueued && !e.in_process) {
    e.weight = ToNumber(parts[1]);
    e.group = parts[2];
  }
  return parts[0] == "1";
}

int64_t MemoryQueue::Do(const EngineOperation& operation) {
  using Operation = EngineOperation;
  const int64_t x = operation.x, y = operation.y, z = operation.z;
  if (operation.code == Operation::kShutDown) {
    return ShutDown(x == Operation::kAtOnce);
  }
  if (operation.code == Operation::kSetLimits) {
    limits_ = ParseLimits(operation.text);
    return kTrue;
  }
  if (operation.code == Operation::kReopen) {
    if (shut_down_) {
      send_("", [](EngineListener* to) { to->OnChanged(); });
    }
    shut_down_ = false;
    return kTrue;
  }
  if (operation.code == Operation::kOldest) return Oldest();
  if (operation.code == Operation::kSetGroups) return SetGroups(x, y);
  if (operation.code == Operation::kRepair) {
    if (groups_) groups_->Repair();
    return 0;  // Nothing else is ever out of line.
  }
  if (shut_down_ && Adds(operation.code) &&
      operation.code != Operation::kAddRateLimited) {
    return kFalse;
  }
  const Change change(this, operation.item);
  Entry& e = *change;
  const bool adds =
      Adds(operation.code) && operation.code != Operation::kUnpark;
  const bool retry = adds && Classify(e, operation.text);
  const bool is_leased = x > 0 && e.token == x;  // if `x` is a token
  switch (operation.code) {
    case Operation::kAdd:
      return AddNow(e, x, retry);
    case Operation::kAddAfter:
      if (x <= 0) return AddNow(e, y, retry);
      Wait(e, After(x), y, retry, false);
      return kTrue;
    case Operation::kReschedule: {
      const bool same = e.Waits() ? e.due_retry : retry;
      if (x > 0) {
        Wait(e, After(x), 0, same, true);
        return kTrue;
      }
      StopWaiting(e);
      return AddNow(e, 0, same);
    }
    case Operation::kCancelDelayed:
      if (!e.Waits()) return kFalse;
      StopWaiting(e);
      return kTrue;
    case Operation::kAddRateLimited: {
      if (!UnparkByAdd(e)) return kTrue;
      int64_t delay = RetryDelay(e, x);
      if (z >= 0) delay = std::min(delay, z);
      CountFailure(e, "");
      if (shut_down_) return kFalse;
      if (delay <= 0) return AddNow(e, y, /*retry=*/true);
      Wait(e, After(delay), y, /*retry=*/true, false);
      return kTrue;
    }
    case Operation::kForget:
      if (e.failures == 0 || e.IsParked()) return kFalse;
      Forget(e);
      return kTrue;
    case Operation::kNumRequeues:
      return e.IsParked() ? 0 : e.failures;
    case Operation::kDone:
      if (!is_leased) return kFalse;
      if (e.state == State::kDirty) {
        Enqueue(e, ++sequence_);
      } else {
        StopProcessing(e);
      }
      return kTrue;
    case Operation::kGiveBack:
      if (!is_leased) return kFalse;
      e.retry = e.in_process.value_or(false) &&
                (e.state == State::kProcessing || e.retry);
      e.priority = e.state == State::kDirty ? std::max(e.priority, y) : y;
      Enqueue(e, --front_);
      return kTrue;
    case Operation::kFail:
      return is_leased ? Fail(e, operation) : kFalse;
    case Operation::kAbandon:
      if (!is_leased) return kFalse;
      Abandon(e, y, operation.text, z != 1);
      return kTrue;
    case Operation::kRequeue: {
      if (!is_leased) return kFalse;
      const bool added_again = e.state == State::kDirty;
      StopProcessing(e);
      AddAgain(e, y, z, /*retry=*/false, added_again);
      return kTrue;
    }
    case Operation::kUnpark:
      if (!e.IsParked()) return kFalse;
      Forget(e);
      Add(e, e.priority, /*retry=*/false);
      return kTrue;
    case Operation::kRenew:
      if (!is_leased) return kFalse;
      e.expiry = After(request_->lease);
      return kTrue;
    default:
      return kFalse;
  }
}

void MemoryQueue::ForgetSilentClients() {
  if (now_ <= swept_ + request_->presence / 3) return;
  swept_ = now_;
  for (auto it = clients_.begin(); it != clients_.end();) {
    const bool silent =
        it->first != request_->client &&
        now_ - it->second.valid > kPresences * request_->presence;
    if (silent) {
      waiters_.erase(std::remove(waiters_.begin(), waiters_.end(), it->first),
                     waiters_.end());
    }
    it = silent ? clients_.erase(it) : std::next(it);
  }
}

void MemoryQueue::DoWhatIsDue(EngineReply* reply) {
  const auto is_due = [this](const Places& places) {
    return !places.empty() && std::get<0>(*places.begin()) <= now_;
  };
  while (is_due(waiting_)) {
    const Change e(this, std::get<std::string>(*waiting_.begin()));
    const int64_t priority = e->due_priority;
    StopWaiting(*e);
    if (Add(*e, priority, e->due_retry)) ++reply->came_due;
  }
  while (now_ >= grace_ && is_due(leases_)) {
    const Change e(this, std::get<std::string>(*leases_.begin()));
    if (e->token < 0) {
      StopProcessing(*e);
      Add(*e, e->priority, /*retry=*/true);
    } else {
      Abandon(*e, 0, "UNAVAILABLE: the lease expired", true);
      ++reply->expired;
    }
  }
}

std::optional<std::string> MemoryQueue::Next() {
  if (groups_) return groups_->Next();
  if (ready_.empty()) return std::nullopt;
  return std::get<std::string>(*ready_.begin());
}

bool MemoryQueue::MayHaveNext() const {
  return groups_ ? groups_->MayHaveNext() : !ready_.empty();
}

template <typename F>
void MemoryQueue::HandOut(int64_t n, const std::string& holder, F receive) {
  for (; n > 0; --n) {
    std::optional<std::string> next = Next();
    if (!next) return;
    const Change e(this, *std::move(next));
    ++token_;
    if (!receive(HandedOut{e.item(), token_, e->priority, now_ - e->since,
                           e->failures})) {
      return;
    }
    e->state = State::kProcessing;
    e->token = token_;
    e->began = now_;
    e->expiry = After(request_->lease);
    e->holder = holder;
    if (groups_) e->in_process = e->retry;
  }
}

void MemoryQueue::Push() {
  // All that waits is served, until there are no more items.
  while (MayHaveNext() && !waiters_.empty() &&
         waiters_.front() != request_->client) {
    const std::string id = waiters_.front();
    waiters_.pop_front();
    Client& client = clients_[id];
    bool listens = now_ < client.valid;
    if (listens) {
      HandOut(1, client.name, [&](HandedOut item) {
        listens = send_(id, [item, now = now_](EngineListener* to) {
          to->OnPush(item, now);
        });
        client.wanted -= listens ? 1 : 0;
        client.pushed += listens ? 1 : 0;
        return listens;
      });
    }
    if (!listens) client.wanted = 0;
    if (client.wanted > 0) waiters_.push_back(id);
  }
}

void MemoryQueue::Tell(int64_t due) {
  const bool drained = shut_down_ && ready_.empty() && leases_.empty();
  if (drained && !drained_) {
    send_("", [](EngineListener* to) { to->OnChanged(); });
  } else if (due < due_) {
    send_("", [in = due - now_](EngineListener* to) { to->OnDue(in); });
  }
  drained_ = drained;
  due_ = due;
}

EngineReply MemoryQueue::Apply(const EngineRequest& request, int64_t clock,
                               int64_t run, bool full) {
  request_ = &request;
  const auto known = clients_.find(request.client);
  if (known != clients_.end() && known->second.last_request >= request.number) {
    return known->second.last_reply;
  }
  // The time does not go back.
  clock = std::max(clock, request.now.value_or(clock));
  offset_ = std::max(offset_, now_ - clock);
  now_ = clock + offset_;
  // Tokens grow although the data has been lost.
  token_ = std::max(token_, now_ - 1);
  if (!shutdowns_) shutdowns_ = now_;
  if (!born_) born_ = now_ + 1;
  // After a start nobody could renew a lease.
  if (run_ != 0 && run_ != run && request.lease != kForever) {
    grace_ = After(request.lease);
  }
  run_ = run;
  ForgetSilentClients();
  // After a loss of the data, the queue has groups again with the first add.
  for (const EngineOperation& operation : request.operations) {
    if (groups_ || !ready_.empty() || !Adds(operation.code)) continue;
    if (GroupParts(operation.text).size() == 3) groups_.emplace();
  }
  EngineReply reply;
  DoWhatIsDue(&reply);
  for (const EngineOperation& operation : request.operations) {
    reply.results.push_back(full && Adds(operation.code) ? kMemoryFull
                                                         : Do(operation));
  }

  // First to this client. Pushes that it has not received yet serve workers,
  // too. A client that is not known has received all that it was sent.
  Client& mine = clients_[request.client];
  if (mine.last_request == 0) mine.pushed = request.received;
  const bool waited = mine.wanted > 0;
  mine.name = request.client_name;
  mine.seen = now_;
  mine.valid = After(request.presence);
  int64_t wants = static_cast<int64_t>(request.waiting_workers);
  if (wants > 0) {
    wants -= static_cast<int64_t>(mine.pushed - request.received);
    wants = std::max<int64_t>(wants, 0);
  }
  HandOut(wants + static_cast<int64_t>(request.take), mine.name,
          [&reply](HandedOut item) {
            reply.items.push_back(std::move(item));
            return true;
          });
  mine.wanted =
      std::max<int64_t>(0, wants - static_cast<int64_t>(reply.items.size()));
  if (mine.wanted > 0 && !waited) waiters_.push_back(request.client);
  if (mine.wanted == 0 && waited) {
    waiters_.erase(
        std::remove(waiters_.begin(), waiters_.end(), request.client),
        waiters_.end());
  }
  Push();

  const auto first_of = [](const Places& places, int64_t from) {
    return places.empty() ? kForever
                          : std::max(std::get<0>(*places.begin()), from);
  };
  const int64_t due = first_of(waiting_, now_);
  const int64_t next = std::min(due, first_of(leases_, std::max(now_, grace_)));
  Tell(due);
  reply.now = now_;
  reply.next_event = next == kForever ? -1 : next - now_;
  reply.ready = static_cast<int64_t>(ready_.size());
  reply.waiting = static_cast<int64_t>(waiting_.size());
  reply.processing = static_cast<int64_t>(leases_.size());
  reply.failing = static_cast<int64_t>(failing_.size());
  reply.parked = static_cast<int64_t>(parked_.size());
  reply.dirty = static_cast<int64_t>(dirty_.size());
  reply.shut_down = shut_down_;
  reply.full = full;
  reply.born = *born_;
  reply.pushed = mine.pushed;
  reply.pushes = mine.pushed + static_cast<uint64_t>(mine.wanted);
  mine.last_request = request.number;
  mine.last_reply = reply;
  return reply;
}

EngineSnapshot MemoryQueue::TakeSnapshot(const EngineSnapshotRequest& request,
                                         int64_t clock) const {
  EngineSnapshot snapshot;
  clock = std::max(clock, request.now.value_or(clock));
  snapshot.now = std::max(now_, clock + offset_);
  snapshot.shut_down = shut_down_;
  snapshot.num_queued = ready_.size();
  snapshot.num_processing = leases_.size();
  snapshot.num_waiting = waiting_.size();
  snapshot.num_failing = failing_.size();
  snapshot.num_parked = parked_.size();
  // Lists those of the items that the request asks for.
  const auto list = [&](const Places& places, size_t max,
                        std::vector<EngineSnapshot::Item>* to, auto fill) {
    for (const Place& place : places) {
      const std::string& item = std::get<std::string>(place);
      if (request.item ? item != *request.item : to->size() >= max) continue;
      const Entry& e = items_.at(item);
      EngineSnapshot::Item& listed = to->emplace_back();
      listed.item = item;
      listed.failures = e.failures;
      listed.last_error = e.error;
      fill(e, &listed);
    }
  };
  using Item = EngineSnapshot::Item;
  list(ready_, request.max, &snapshot.queued, [](const Entry& e, Item* to) {
    to->number = e.priority;
    to->time = e.since;
  });
  list(leases_, request.max == 0 ? 0 : leases_.size(), &snapshot.processing,
       [](const Entry& e, Item* to) {
         to->number = e.token;
         to->time = e.began;
         to->added_again = e.state == State::kDirty;
         to->holder = e.holder;
         to->expiry = e.expiry;
       });
  list(waiting_, request.max, &snapshot.waiting, [](const Entry& e, Item* to) {
    to->number = e.due_priority;
    to->time = e.due;
  });
  if (!request.details) return snapshot;
  if (groups_ && request.item) {
    const auto found = items_.find(*request.item);
    if (found != items_.end()) {
      snapshot.bounds = groups_->BoundsThatHold(WhereIs(found->second));
    }
  } else if (groups_ && request.max > 0) {
    snapshot.bounds = groups_->Bounds();
  }
  for (auto* const places : {&failing_, &parked_}) {
    list(*places, request.max,
         places == &failing_ ? &snapshot.failing : &snapshot.parked,
         [](const Entry& e, Item* to) {
           to->time = e.Waits() ? e.due : kForever;
           to->first_failed = e.first_failed;
           to->last_failed = e.last_failed;
         });
  }
  for (const auto& [id, client] : clients_) {
    snapshot.clients.push_back(
        {client.name,
         absl::StrCat(WORKQUEUE_VERSION_MAJOR, ".", WORKQUEUE_VERSION_MINOR,
                      ".", WORKQUEUE_VERSION_PATCH),
         static_cast<size_t>(client.wanted), 0, client.seen});
  }
  return snapshot;
}

}  // namespace workqueue::internal
