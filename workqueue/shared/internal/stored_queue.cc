// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/shared/internal/stored_queue.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "workqueue/shared/internal/engine.h"
#include "workqueue/shared/internal/ordered_store.h"
#include "workqueue/shared/internal/stored_groups.h"
#include "workqueue/version.h"

namespace workqueue::internal {
namespace {

// A client that has been silent for so many times its presence is forgotten.
constexpr int64_t kPresences = 10;

// A part of a snapshot has no further item after so many items or bytes.
constexpr size_t kPart = 250, kPartBytes = size_t{1} << 18;

// Of so many priorities the oldest item is looked for. Each can take a round
// trip, while nobody else has the queue.
constexpr int kMostPriorities = 25;

int64_t ToNumber(absl::string_view text) {
  int64_t number = 0;
  return absl::SimpleAtoi(text, &number) ? number : kForever;
}

std::string ClientKey(absl::string_view id) {
  return Packer("c").Rest(id).bytes();
}

std::string TurnKey(int64_t turn) { return Packer("t").Ordered(turn).bytes(); }

// Where the item begins in the key of a place; see `PlaceIn()`.
constexpr size_t kItemInPlace = 1 + 2 * sizeof(int64_t);

std::string Version() {
  return absl::StrCat(WORKQUEUE_VERSION_MAJOR, ".", WORKQUEUE_VERSION_MINOR,
                      ".", WORKQUEUE_VERSION_PATCH);
}

// Returns the kind, the weight and the group that an operation tells which
// adds, or nothing.
std::vector<std::string> GroupParts(const std::string& text) {
  if (text.empty()) return {};
  return absl::StrSplit(text, absl::MaxSplits(' ', 2));
}

// The bytes of an operation that come together into a key: those of the item,
// and of its group.
size_t KeyBytes(const EngineOperation& operation) {
  const size_t size = operation.item.size();
  if (!StoredQueue::Adds(operation.code)) return size;
  const std::vector<std::string> parts = GroupParts(operation.text);
  return parts.size() == 3 ? size + parts[2].size() : size;
}

// Each returns the members that are stored. Their orders never change.
template <typename M>
auto FieldsOfMessage(M& m) {
  return std::tie(m.kind, m.number, m.item.token, m.item.priority,
                  m.item.ticks_queued, m.item.failures);
}
template <typename M>
auto FieldsOfMeta(M& m) {
  return std::tie(m.now, m.offset, m.run, m.grace, m.swept, m.sequence, m.front,
                  m.token, m.turn, m.shut_down, m.shutdowns, m.born, m.due,
                  m.drained, m.has_groups, m.groups.most, m.groups.most_retries,
                  m.groups.last_turn, m.groups.retries_queued,
                  m.groups.retries_in_process);
}
template <typename E>
auto FieldsOfEntry(E& e) {
  return std::tie(e.state, e.priority, e.sequence, e.since, e.token, e.began,
                  e.expiry, e.due, e.due_sequence, e.due_priority, e.failures,
                  e.first_failed, e.last_failed, e.parking, e.holder, e.error,
                  e.group, e.weight, e.retry, e.due_retry);
}
template <typename C>
auto FieldsOfClient(C& c) {
  return std::tie(c.wanted, c.pushed, c.valid, c.seen, c.last_request, c.turn,
                  c.name, c.version, c.lease);
}

}  // namespace

void EngineMessage::Deliver(EngineListener* listener) && {
  switch (kind) {
    case kPush:
      return listener->OnPush(std::move(item), number);
    case kDue:
      return listener->OnDue(number);
    case kShutDown:
      return listener->OnShutDown(number);
    case kChanged:
      return listener->OnChanged();
  }
}

std::string EngineMessage::Pack() const {
  return Packer().All(FieldsOfMessage(*this)).Rest(item.item).bytes();
}

EngineMessage EngineMessage::Unpack(absl::string_view bytes) {
  Unpacker from(bytes);
  EngineMessage message;
  from.All(FieldsOfMessage(message));
  message.item.item = from.Rest();
  return message;
}

template <typename F>
auto StoredQueue::Change(const std::string& item, F change) {
  const Entry was = LoadStored(item);
  Entry e = ThatCounts(was);
  const auto result = change(e);
  for (Set set : kSets) {
    const std::string from = PlaceIn(set, item, was);
    const std::string to = PlaceIn(set, item, e);
    if (from == to) continue;
    SizeOf(set) += (to.empty() ? 0 : 1) - (from.empty() ? 0 : 1);
    if (set == kDirty) continue;
    if (!from.empty()) store_.Delete(from);
    if (!to.empty()) store_.Insert(to, "");
  }
  if (meta_.has_groups != 0) groups().Move(item, WhereIs(was), WhereIs(e));
  Save(item, e);
  return result;
}

void StoredQueue::LoadMeta() {
  meta_ = Meta();
  const std::optional<std::string> bytes = store_.Get("m");
  if (!bytes) return;
  Unpacker from(*bytes);
  from.All(FieldsOfMeta(meta_));
  for (int64_t& size : meta_.sizes) size = from.Number();
  meta_.limits = from.Rest();
}

void StoredQueue::SaveMeta() {
  Packer to;
  to.All(FieldsOfMeta(meta_));
  for (const int64_t size : meta_.sizes) to.Number(size);
  store_.Put("m", to.Rest(meta_.limits).bytes());
}

auto StoredQueue::LoadStored(absl::string_view item) -> Entry {
  Entry e;
  const std::optional<std::string> bytes = store_.Get(KeyOf(item));
  if (!bytes) return e;
  Unpacker from(*bytes);
  from.All(FieldsOfEntry(e));
  const int64_t in_process = from.Number();
  if (in_process != 0) e.in_process = in_process == 2;
  return e;
}

auto StoredQueue::ThatCounts(Entry e) const -> Entry {
  if (meta_.shut_down != 0) StopWaiting(e);
  return e;
}

void StoredQueue::Save(absl::string_view item, const Entry& e) {
  if (e.state == State::kIdle && e.failures == 0 && !e.Waits()) {
    return store_.Delete(KeyOf(item));
  }
  const int64_t in_process = e.in_process ? 1 + int64_t{*e.in_process} : 0;
  store_.Put(KeyOf(item),
             Packer().All(FieldsOfEntry(e)).Number(in_process).bytes());
}

auto StoredQueue::LoadClient(absl::string_view id) -> std::optional<Client> {
  const std::optional<std::string> bytes = store_.Get(ClientKey(id));
  if (!bytes) return std::nullopt;
  Client client;
  Unpacker(*bytes).All(FieldsOfClient(client));
  return client;
}

void StoredQueue::SaveClient(absl::string_view id, const Client& client) {
  store_.Put(ClientKey(id), Packer().All(FieldsOfClient(client)).bytes());
}

StoredGroups::Where StoredQueue::WhereIs(const Entry& e) const {
  using Where = StoredGroups::Where;
  if (meta_.has_groups != 0 && e.state == State::kQueued) {
    return {Where::kQueued, e.group, e.retry, e.weight, e.priority, e.sequence};
  }
  if (e.in_process) return {Where::kInProcess, e.group, *e.in_process};
  return {};
}

std::string StoredQueue::PlaceIn(Set set, absl::string_view item,
                                 const Entry& e) {
  const auto place = [&](bool is_there, int64_t first, int64_t second) {
    if (!is_there) return std::string();
    return Packer(std::string(1, set))
        .Ordered(first)
        .Ordered(second)
        .Rest(item)
        .bytes();
  };
  switch (set) {
    case kReady:
      return place(e.state == State::kQueued, -e.priority, e.sequence);
    case kWaiting:
      return place(e.Waits(), e.due, e.due_sequence);
    case kLeases:
      return place(e.IsProcessed(), e.expiry, 0);
    case kFailing:
      return place(e.failures > 0 && !e.IsParked(), -e.failures,
                   e.first_failed);
    case kParked:
      return place(e.IsParked(), -e.last_failed, 0);
    case kDirty:
      return place(e.state == State::kDirty, 0, 0);
  }
  return "";
}

auto StoredQueue::FirstOf(Set set, absl::string_view after)
    -> std::optional<Place> {
  auto entry = store_.First(std::string(1, set), after);
  if (!entry) return std::nullopt;
  Unpacker from(absl::string_view(entry->key).substr(1));
  Place place;
  place.number = from.Ordered();
  from.Ordered();
  place.item = from.Rest();
  place.key = std::move(entry->key);
  return place;
}

int64_t& StoredQueue::SizeOf(Set set) {
  return meta_.sizes[std::find(std::begin(kSets), std::end(kSets), set) -
                     std::begin(kSets)];
}

EngineCounts StoredQueue::Counts() {
  const auto size_of = [this](Set set) {
    return static_cast<size_t>(SizeOf(set));
  };
  return {size_of(kReady), size_of(kLeases),
          meta_.shut_down != 0 ? 0 : size_of(kWaiting), size_of(kFailing),
          size_of(kParked)};
}

void StoredQueue::Enqueue(Entry& e, int64_t sequence) {
  e.state = State::kQueued;
  e.token = 0;
  e.in_process.reset();
  e.sequence = sequence;
}

void StoredQueue::Forget(Entry& e) {
  e.failures = 0;
  e.error.clear();
  e.parking = Parking::kNot;
}

bool StoredQueue::UnparkByAdd(Entry& e) {
  if (e.parking == Parking::kUntilUnpark) return false;
  if (e.IsParked()) Forget(e);
  return true;
}

int64_t StoredQueue::Add(Entry& e, int64_t priority, bool retry) {
  if (!UnparkByAdd(e)) return kTrue;
  if (e.state == State::kIdle || e.state == State::kProcessing) {
    e.priority = priority;
    e.retry = retry && meta_.has_groups != 0;
    e.since = meta_.now;
    if (e.state == State::kIdle) {
      Enqueue(e, ++meta_.sequence);
    } else {
      e.state = State::kDirty;
    }
    return kNewItem;
  }
  // With groups it is the last item of another lane then.
  const bool moves = priority > e.priority || (e.retry && !retry);
  e.priority = std::max(e.priority, priority);
  e.retry = e.retry && retry;
  if (moves && meta_.has_groups != 0 && e.state == State::kQueued) {
    e.sequence = ++meta_.sequence;
  }
  return kTrue;
}

// static
void StoredQueue::StopWaiting(Entry& e) {
  e.due_sequence = 0;
  e.due_priority = 0;
}

void StoredQueue::Wait(Entry& e, int64_t due, int64_t priority, bool retry,
                       bool moves) {
  if (e.Waits()) {
    e.due_priority = std::max(e.due_priority, priority);
    e.due_retry = e.due_retry && retry;
    if (!moves && e.due <= due) return;
  } else {
    e.due_priority = priority;
    e.due_retry = retry && meta_.has_groups != 0;
  }
  e.due = due;
  e.due_sequence = ++meta_.sequence;
}

int64_t StoredQueue::AddAfter(Entry& e, int64_t delay, int64_t priority,
                              bool retry) {
  if (delay <= 0) return Add(e, priority, retry);
  Wait(e, After(delay), priority, retry, false);
  return kTrue;
}

int64_t StoredQueue::RetryDelay(const Entry& e, int64_t least) const {
  const std::vector<int64_t>& delays = request_->retry_schedule;
  if (delays.empty()) return least;
  const size_t i = std::min(static_cast<size_t>(e.failures), delays.size() - 1);
  return std::max(least, delays[i]);
}

void StoredQueue::CountFailure(Entry& e, const std::string& error) {
  if (e.failures == 0) e.first_failed = meta_.now;
  ++e.failures;
  e.last_failed = meta_.now;
  if (!error.empty()) e.error = error;
}

bool StoredQueue::StopProcessing(Entry& e) {
  const bool added_again = e.state == State::kDirty;
  e.state = State::kIdle;
  e.token = 0;
  e.in_process.reset();
  return added_again;
}

// static
std::optional<StoredQueue::Limits> StoredQueue::ParseLimits(
    const std::string& text) {
  // Priority, limits of failures, of the time and of parked items, whether it
  // stays parked, and the error.
  const std::vector<std::string> parts =
      absl::StrSplit(text, absl::MaxSplits(' ', 5));
  if (parts.size() != 6) return std::nullopt;
  return Limits{ToNumber(parts[0]), ToNumber(parts[1]), ToNumber(parts[2]),
                ToNumber(parts[3]), parts[4] == "1",    parts[5]};
}

bool StoredQueue::IsAtLimit(const Entry& e, const Limits& limits) {
  return (e.failures >= limits.failures ||
          meta_.now - e.first_failed >= limits.time) &&
         SizeOf(kParked) < limits.parked;
}

void StoredQueue::Park(Entry& e, bool stays, bool added_again) {
  if (added_again && !stays) {
    Forget(e);  // That add puts it back.
    Enqueue(e, ++meta_.sequence);
  } else {
    e.parking = stays ? Parking::kUntilUnpark : Parking::kUntilAdd;
  }
}

void StoredQueue::Abandon(Entry& e, int64_t least, const std::string& error,
                          bool fails) {
  const int64_t delay = fails ? RetryDelay(e, least) : least;
  const bool retry = e.state == State::kDirty
                         ? e.retry
                         : fails || e.in_process.value_or(false);
  if (fails) CountFailure(e, error);
  const std::optional<Limits> limits = ParseLimits(meta_.limits);
  if (fails && limits.has_value() && IsAtLimit(e, *limits)) {
    Park(e, limits->stays, StopProcessing(e));
    return;
  }
  if (delay > 0 && delay != kForever && meta_.shut_down != 0) {
    e.in_process.reset();
    e.token = -++meta_.token;
    e.retry = retry && meta_.has_groups != 0;
    e.expiry = After(delay);
    return;
  }
  const bool added_again = StopProcessing(e);
  if (delay <= 0 || (meta_.shut_down != 0 && added_again)) {
    Add(e, e.priority, retry);
  } else if (meta_.shut_down == 0) {
    Wait(e, After(delay), e.priority, retry, false);
  }
}

int64_t StoredQueue::AddAgain(Entry& e, int64_t delay, int64_t priority,
                              bool retry, bool added_again) {
  if (meta_.shut_down == 0 && !added_again) {
    return AddAfter(e, delay, priority, retry);
  }
  if (added_again) Enqueue(e, ++meta_.sequence);
  return kTrue;
}

int64_t StoredQueue::Fail(Entry& e, const EngineOperation& operation) {
  const std::optional<Limits> limits = ParseLimits(operation.text);
  if (!limits.has_value()) return kFalse;
  int64_t delay = RetryDelay(e, operation.y);
  if (operation.z >= 0) delay = std::min(delay, operation.z);
  const bool added_again = StopProcessing(e);
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

int64_t StoredQueue::ShutDown(bool at_once) {
  meta_.shut_down = 1;
  if (at_once) ++meta_.shutdowns;
  send_("", {EngineMessage::kShutDown, meta_.shutdowns});
  return meta_.shutdowns;
}

int64_t StoredQueue::Oldest() {
  int64_t since = meta_.now;
  auto first = FirstOf(kReady);  // of each priority
  for (int left = kMostPriorities; first && left > 0; --left) {
    since = std::min(since, Load(first->item).since);
    const std::string next =
        Packer(std::string(1, kReady)).Ordered(first->number + 1).bytes();
    first = FirstOf(kReady, next);
  }
  return meta_.now - since;
}

int64_t StoredQueue::SetGroups(int64_t of_group, int64_t of_retries) {
  if (meta_.has_groups == 0 && SizeOf(kReady) > 0) return kFalse;
  meta_.has_groups = 1;
  // A group that has more in process is held when its turn comes.
  meta_.groups.most = of_group;
  meta_.groups.most_retries = of_retries;
  return kTrue;
}

bool StoredQueue::Classify(Entry& e, const std::string& text) const {
  const std::vector<std::string> parts = GroupParts(text);
  if (meta_.has_groups == 0 || parts.size() != 3) return false;
  if (e.state != State::kQueued && !e.in_process) {
    e.weight = ToNumber(parts[1]);
    e.group = parts[2];
  }
  return parts[0] == "1";
}

int64_t StoredQueue::Do(const EngineOperation& operation) {
  using Operation = EngineOperation;
  const int64_t x = operation.x, y = operation.y;
  if (operation.code == Operation::kShutDown) {
    return ShutDown(x == Operation::kAtOnce);
  }
  if (operation.code == Operation::kSetLimits) {
    meta_.limits = operation.text;
    return kTrue;
  }
  if (operation.code == Operation::kEndClient) {
    Client ended = LoadClient(operation.item).value_or(Client());
    StopWaiting(&ended);
    ended.wanted = 0;
    ended.valid = meta_.now;
    ended.last_request = kForever;
    SaveClient(operation.item, ended);
    return kTrue;
  }
  if (operation.code == Operation::kReopen) {
    if (meta_.shut_down == 0) return kTrue;
    if (SizeOf(kWaiting) > 0) return kNotYet;
    meta_.shut_down = 0;
    send_("", {EngineMessage::kChanged});
    return kTrue;
  }
  if (operation.code == Operation::kOldest) return Oldest();
  if (operation.code == Operation::kSetGroups) return SetGroups(x, y);
  if (operation.code == Operation::kRepair) {
    if (meta_.has_groups != 0) groups().Repair();
    return 0;  // Nothing else is ever out of line.
  }
  if (meta_.shut_down != 0 && Adds(operation.code) &&
      operation.code != Operation::kAddRateLimited) {
    return kFalse;
  }
  return Change(operation.item, [&](Entry& e) { return DoWith(e, operation); });
}

int64_t StoredQueue::DoWith(Entry& e, const EngineOperation& operation) {
  using Operation = EngineOperation;
  const int64_t x = operation.x, y = operation.y, z = operation.z;
  const bool adds =
      Adds(operation.code) && operation.code != Operation::kUnpark;
  const bool retry = adds && Classify(e, operation.text);
  const bool is_leased = x > 0 && e.token == x;  // if `x` is a token
  switch (operation.code) {
    case Operation::kAdd:
      return Add(e, x, retry);
    case Operation::kAddAfter:
      return AddAfter(e, x, y, retry);
    case Operation::kReschedule: {
      const bool same = e.Waits() ? e.due_retry : retry;
      if (x > 0) {
        Wait(e, After(x), 0, same, true);
        return kTrue;
      }
      const int64_t priority = std::max<int64_t>(e.due_priority, 0);
      StopWaiting(e);
      return Add(e, priority, same);
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
      if (meta_.shut_down != 0) return kFalse;
      return AddAfter(e, delay, y, /*retry=*/true);
    }
    case Operation::kForget:
      if (e.failures == 0 || e.IsParked()) return kFalse;
      Forget(e);
      return kTrue;
    case Operation::kNumRequeues:
      return e.IsParked() ? 0 : e.failures;
    case Operation::kDone:
      if (!is_leased) return kFalse;
      if (StopProcessing(e)) Enqueue(e, ++meta_.sequence);
      return kTrue;
    case Operation::kGiveBack:
      if (!is_leased) return kFalse;
      e.retry = e.in_process.value_or(false) &&
                (e.state == State::kProcessing || e.retry);
      e.priority = e.state == State::kDirty ? std::max(e.priority, y) : y;
      Enqueue(e, --meta_.front);
      return kTrue;
    case Operation::kFail:
      return is_leased ? Fail(e, operation) : kFalse;
    case Operation::kAbandon:
      if (!is_leased) return kFalse;
      Abandon(e, y, operation.text, z != 1);
      return kTrue;
    case Operation::kRequeue:
      if (!is_leased) return kFalse;
      return AddAgain(e, y, z, /*retry=*/false, StopProcessing(e));
    case Operation::kUnpark:
      if (!e.IsParked()) return kFalse;
      Forget(e);
      return Add(e, e.priority, /*retry=*/false);
    case Operation::kRenew:
      if (!is_leased) return kFalse;
      e.expiry = After(request_->lease);
      return kTrue;
    default:
      return kFalse;
  }
}

void StoredQueue::ForgetSilentClients() {
  if (meta_.now <= meta_.swept + request_->presence / 3) return;
  meta_.swept = meta_.now;
  std::string after;
  while (const auto entry = store_.First("c", after)) {
    after = entry->key;
    const std::string id = after.substr(1);
    std::optional<Client> client = LoadClient(id);
    if (!client || id == request_->client ||
        meta_.now - client->valid <= kPresences * request_->presence) {
      continue;
    }
    StopWaiting(&*client);
    store_.Delete(after);
    if (on_forgotten_) on_forgotten_(id);
  }
}

void StoredQueue::DoWhatIsDue(EngineReply* reply) {
  int64_t left = most_due_;
  const auto first_due = [&](Set set) {
    std::optional<Place> first = FirstOf(set);
    if (!first || first->number > meta_.now || left == 0) first.reset();
    if (first) --left;
    return first;
  };
  while (meta_.shut_down == 0) {
    const auto first = first_due(kWaiting);
    if (!first) break;
    const int64_t added = Change(first->item, [this](Entry& e) {
      const int64_t priority = e.due_priority;
      StopWaiting(e);
      return Add(e, priority, e.due_retry);
    });
    if (added == kNewItem) ++reply->came_due;
  }
  while (meta_.now >= meta_.grace) {
    const auto first = first_due(kLeases);
    if (!first) break;
    const bool expires =
        Change(first->item, [this](Entry& e) { return EndLease(e); });
    if (expires) ++reply->expired;
  }
}

bool StoredQueue::EndLease(Entry& e) {
  if (e.token < 0) {
    StopProcessing(e);
    Add(e, e.priority, e.retry);
    return false;
  }
  if (meta_.now - e.expiry > request_->lease / 2 && meta_.grace <= e.expiry) {
    // Nobody has asked for long, perhaps because nobody could. A holder that
    // lives renews or ends its lease within a grace. Each gets one only.
    meta_.grace = After(request_->lease);
    return false;
  }
  Abandon(e, 0, "UNAVAILABLE: the lease expired", true);
  return true;
}

void StoredQueue::RemoveWaits() {
  // In their order: a store may pass what has been deleted one by one.
  std::string after;
  for (int64_t left = most_due_; left > 0; --left) {
    const auto first = FirstOf(kWaiting, after);
    if (!first) return;
    after = first->key;
    // Nothing waits in a queue that has been shut down.
    Change(first->item, [](Entry& /*e*/) { return true; });
  }
}

std::optional<std::string> StoredQueue::Next() {
  if (meta_.has_groups != 0) return groups().Next();
  const auto first = FirstOf(kReady);
  if (!first) return std::nullopt;
  return first->item;
}

bool StoredQueue::MayHaveNext() {
  return meta_.has_groups != 0 ? groups().MayHaveNext() : SizeOf(kReady) > 0;
}

template <typename F>
void StoredQueue::HandOut(int64_t n, const Client& holder, F receive) {
  for (; n > 0; --n) {
    const std::optional<std::string> next = Next();
    if (!next) return;
    const bool received = Change(*next, [&](Entry& e) {
      ++meta_.token;
      if (!receive(HandedOut{*next, meta_.token, e.priority,
                             meta_.now - e.since, e.failures})) {
        return false;
      }
      e.state = State::kProcessing;
      e.token = meta_.token;
      e.began = meta_.now;
      e.expiry = After(holder.lease == 0 ? request_->lease : holder.lease);
      e.holder = holder.name;
      if (meta_.has_groups != 0) e.in_process = e.retry;
      return true;
    });
    if (!received) return;
  }
}

void StoredQueue::StopWaiting(Client* client) {
  if (client->turn != 0) store_.Delete(TurnKey(client->turn));
  client->turn = 0;
}

void StoredQueue::WaitInTurn(const std::string& id, Client* client) {
  client->turn = ++meta_.turn;
  store_.Insert(TurnKey(client->turn), id);
}

void StoredQueue::Push() {
  // All that waits is served, until there are no more items.
  while (MayHaveNext()) {
    const auto first = store_.First("t");
    if (!first || first->value == request_->client) return;
    const std::string& id = first->value;
    Client client = LoadClient(id).value_or(Client());
    store_.Delete(first->key);
    client.turn = 0;
    bool listens = meta_.now < client.valid;
    if (listens) {
      HandOut(1, client, [&](const HandedOut& item) {
        listens = send_(id, {EngineMessage::kPush, meta_.now, item});
        client.wanted -= listens ? 1 : 0;
        client.pushed += listens ? 1 : 0;
        return listens;
      });
    }
    if (!listens) client.wanted = 0;
    if (client.wanted > 0) WaitInTurn(id, &client);
    SaveClient(id, client);
  }
}

void StoredQueue::Tell(int64_t due) {
  const bool drained =
      meta_.shut_down != 0 && SizeOf(kReady) == 0 && SizeOf(kLeases) == 0;
  if (drained && meta_.drained == 0) {
    send_("", {EngineMessage::kChanged});
  } else if (due < meta_.due) {
    send_("", {EngineMessage::kDue, due - meta_.now});
  }
  meta_.drained = drained ? 1 : 0;
  meta_.due = due;
}

bool StoredQueue::Adds(EngineOperation::Code code) {
  return code == EngineOperation::kAdd || code == EngineOperation::kAddAfter ||
         code == EngineOperation::kReschedule ||
         code == EngineOperation::kAddRateLimited ||
         code == EngineOperation::kUnpark;
}

std::string StoredQueue::KeyOf(absl::string_view item) {
  return Packer("i").Rest(item).bytes();
}

WantedEntries StoredQueue::WantedBy(const EngineRequest& request) {
  WantedEntries wanted;
  wanted.keys = {"m", ClientKey(request.client)};
  // The next lease to expire is the one after those that end.
  size_t ends = 0;
  for (const EngineOperation& operation : request.operations) {
    if (operation.code == EngineOperation::kEndClient) {
      wanted.keys.push_back(ClientKey(operation.item));
    } else if (!operation.item.empty()) {
      wanted.keys.push_back(KeyOf(operation.item));
    }
    if (!Adds(operation.code)) ++ends;
  }
  // Beside what this client takes, what it adds may be handed to others.
  const size_t handed_out =
      request.waiting_workers + request.take + request.operations.size();
  wanted.ranges = {{std::string(1, kReady), handed_out + 1, "i", kItemInPlace},
                   {std::string(1, kWaiting), 1, "i", kItemInPlace},
                   {std::string(1, kLeases), ends + 1, "i", kItemInPlace},
                   {"t", request.operations.size() + 1, "c", 0}};
  return wanted;
}

WantedEntries StoredQueue::WantedBy(const EngineSnapshotRequest& request) {
  WantedEntries wanted;
  wanted.keys = {"m"};
  if (request.item) {
    wanted.keys.push_back(KeyOf(*request.item));
    return wanted;
  }
  const bool is_first = request.from.empty();
  for (Set set : {kReady, kWaiting, kLeases, kFailing, kParked}) {
    if (request.max == 0) break;
    if (request.failures_only && set != kFailing && set != kParked) continue;
    WantedEntries::Range& range = wanted.ranges.emplace_back();
    range = {std::string(1, set), std::min(request.max, kPart + 1), "i",
             kItemInPlace};
    if (is_first) continue;
    if (request.from[0] == range.prefix) {
      range.after = request.from[2];
    } else {
      range.most = 0;  // This part may have none of them.
    }
  }
  if (request.details && is_first) wanted.ranges.push_back({"c", 100, "", 1});
  return wanted;
}

std::optional<EngineReply> StoredQueue::Apply(
    const EngineRequest& request, int64_t clock, int64_t run, bool full,
    const std::vector<EngineOperation>& inbox) {
  request_ = &request;
  std::optional<Client> known = LoadClient(request.client);
  const int64_t number = static_cast<int64_t>(request.number);
  if (known && known->last_request >= number) return std::nullopt;
  LoadMeta();
  // The time does not go back.
  clock = std::max(clock, request.now.value_or(clock));
  meta_.offset = std::max(meta_.offset, meta_.now - clock);
  meta_.now = clock + meta_.offset;
  // Tokens grow although the data has been lost.
  meta_.token = std::max(meta_.token, meta_.now - 1);
  if (meta_.shutdowns < 0) meta_.shutdowns = meta_.now;
  if (meta_.born == 0) meta_.born = meta_.now + 1;
  // After a start nobody could renew a lease.
  if (!request.looks_only) {
    if (meta_.run != 0 && meta_.run != run && request.lease != kForever) {
      meta_.grace = After(request.lease);
    }
    meta_.run = run;
  }
  ForgetSilentClients();
  // After a loss of the data, the queue has groups again with the first add.
  for (const EngineOperation& operation : request.operations) {
    if (SizeOf(kReady) > 0 || !Adds(operation.code)) continue;
    if (GroupParts(operation.text).size() == 3) meta_.has_groups = 1;
  }
  EngineReply reply;
  if (!request.looks_only) DoWhatIsDue(&reply);
  // A queue gets groups only while no item is queued. So it gets them before it
  // takes the items of the inbox.
  for (const EngineOperation& it : request.operations) {
    if (!inbox.empty() && it.code == EngineOperation::kSetGroups) Do(it);
  }
  for (const EngineOperation& it : inbox) {
    if (Do(it) == kNewItem) ++reply.came_due;
  }
  for (const EngineOperation& operation : request.operations) {
    // An item that waits, and is too long, would fail the requests of all.
    reply.results.push_back(KeyBytes(operation) > max_item_bytes_ ? kItemTooLong
                            : full && Adds(operation.code)        ? kMemoryFull
                                                           : Do(operation));
  }

  // First to this client. Pushes that it has not received yet serve workers,
  // too. A client that is not known has received all that it was sent.
  const auto received = static_cast<int64_t>(request.received);
  Client mine = known.value_or(Client());
  if (mine.last_request == 0) mine.pushed = received;
  mine.name = request.client_name;
  mine.version = Version();
  mine.lease = request.lease;
  mine.seen = meta_.now;
  mine.valid = After(request.presence);
  mine.last_request = number;
  auto wants = static_cast<int64_t>(request.waiting_workers);
  if (wants > 0) {
    wants = std::max<int64_t>(0, wants - (mine.pushed - received));
  }
  HandOut(wants + static_cast<int64_t>(request.take), mine,
          [&reply](HandedOut item) {
            reply.items.push_back(std::move(item));
            return true;
          });
  mine.wanted =
      std::max<int64_t>(0, wants - static_cast<int64_t>(reply.items.size()));
  if (mine.wanted > 0 && mine.turn == 0) WaitInTurn(request.client, &mine);
  if (mine.wanted == 0) StopWaiting(&mine);
  SaveClient(request.client, mine);
  Push();
  const bool is_shut_down = meta_.shut_down != 0;
  if (is_shut_down) RemoveWaits();

  const auto first_of = [this](Set set, int64_t from) {
    const std::optional<Place> first = FirstOf(set);
    return first ? std::max(first->number, from) : kForever;
  };
  const int64_t due = is_shut_down ? kForever : first_of(kWaiting, meta_.now);
  int64_t next =
      std::min(due, first_of(kLeases, std::max(meta_.now, meta_.grace)));
  if (is_shut_down && SizeOf(kWaiting) > 0) next = meta_.now;
  Tell(due);
  reply.now = meta_.now;
  reply.next_event =
      next == kForever || request.looks_only ? -1 : next - meta_.now;
  static_cast<EngineCounts&>(reply) = Counts();
  reply.dirty = SizeOf(kDirty);
  reply.shut_down = is_shut_down;
  reply.full = full;
  reply.born = meta_.born;
  reply.pushed = static_cast<uint64_t>(mine.pushed);
  reply.pushes = static_cast<uint64_t>(mine.pushed + mine.wanted);
  SaveMeta();
  return reply;
}

EngineSnapshot StoredQueue::TakeSnapshot(const EngineSnapshotRequest& request,
                                         int64_t clock) {
  LoadMeta();
  EngineSnapshot snapshot;
  clock = std::max(clock, request.now.value_or(clock));
  snapshot.now = std::max(meta_.now, clock + meta_.offset);
  snapshot.shut_down = meta_.shut_down != 0;
  static_cast<EngineCounts&>(snapshot) = Counts();
  // Where this part begins: a set, the number of its items in earlier parts,
  // and the last one of them.
  std::vector<std::string> from = request.from;
  size_t left = kPart, bytes = 0;
  // Lists those of the items that the request asks for.
  using Item = EngineSnapshot::Item;
  const auto list = [&](Set set, size_t max, std::vector<Item>* to, auto fill) {
    const auto add = [&](const std::string& item, const Entry& e) {
      Item& listed = to->emplace_back();
      listed.item = item;
      listed.failures = e.failures;
      listed.last_error = e.error;
      bytes += item.size() + e.error.size();
      fill(e, &listed);
    };
    if (request.item) {
      const Entry e = Load(*request.item);
      if (!PlaceIn(set, *request.item, e).empty()) add(*request.item, e);
      return;
    }
    const std::string name(1, set);
    if (!snapshot.go_on.empty() || (!from.empty() && from[0] != name)) return;
    size_t listed = from.empty() ? 0 : static_cast<size_t>(ToNumber(from[1]));
    std::string after = from.empty() ? "" : from[2];
    from.clear();
    for (; listed < max; ++listed, --left) {
      const auto place = FirstOf(set, after);
      if (!place) return;
      if (left == 0 || bytes >= kPartBytes) {
        snapshot.go_on = {name, absl::StrCat(listed), after};
        return;
      }
      after = place->key;
      add(place->item, Load(place->item));
    }
  };
  const bool others = !request.failures_only;
  const size_t max = others ? request.max : 0;
  list(kReady, max, &snapshot.queued, [](const Entry& e, Item* to) {
    to->number = e.priority;
    to->time = e.since;
  });
  constexpr size_t kAll = (std::numeric_limits<size_t>::max)();
  list(kLeases, max == 0 ? 0 : kAll, &snapshot.processing,
       [](const Entry& e, Item* to) {
         to->number = e.token;
         to->time = e.began;
         to->added_again = e.state == State::kDirty;
         to->holder = e.holder;
         to->expiry = e.expiry;
       });
  list(kWaiting, snapshot.shut_down ? 0 : max, &snapshot.waiting,
       [](const Entry& e, Item* to) {
         to->number = e.due_priority;
         to->time = e.due;
       });
  if (!request.details && others) return snapshot;
  for (Set set : {kFailing, kParked}) {
    list(set, request.max,
         set == kFailing ? &snapshot.failing : &snapshot.parked,
         [](const Entry& e, Item* to) {
           to->time = e.Waits() ? e.due : kForever;
           to->first_failed = e.first_failed;
           to->last_failed = e.last_failed;
         });
  }
  if (!others || !request.from.empty()) return snapshot;
  if (meta_.has_groups != 0 && request.item) {
    snapshot.bounds = groups().BoundsThatHold(WhereIs(Load(*request.item)));
  } else if (meta_.has_groups != 0 && request.max > 0) {
    snapshot.bounds = groups().Bounds();
  }
  std::string after;
  while (const auto entry = store_.First("c", after)) {
    after = entry->key;
    const Client client = LoadClient(after.substr(1)).value_or(Client());
    if (client.version.empty()) continue;  // None of its requests has come.
    snapshot.clients.push_back({client.name, client.version,
                                static_cast<size_t>(client.wanted), 0,
                                client.seen});
  }
  return snapshot;
}

}  // namespace workqueue::internal
