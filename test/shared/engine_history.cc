// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "test/shared/engine_history.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "test/shared/queue_history.h"
#include "workqueue/base/mutex_lock.h"
#include "workqueue/shared/internal/engine.h"

namespace workqueue {

using internal::Engine;
using internal::EngineOperation;
using internal::EngineReply;
using internal::EngineRequest;
using internal::EngineSnapshotRequest;
using internal::HandedOut;
using internal::MutexLock;
using internal::ReaderMutexLock;

namespace {

constexpr uint32_t kItems = 8;
constexpr int kMostTries = 20;

std::string NameOf(uint32_t item) { return absl::StrCat("item ", item); }

}  // namespace

void EngineHistory::Use(Engine& engine, const std::string& name, int requests,
                        uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<HandedOut> held;
  EngineRequest request;
  request.client = request.client_name = name;
  request.lease = kLease;
  request.retry_schedule = {kLease / 10};
  const auto below = [&random](uint32_t n) { return random() % n; };
  for (; requests > 0; --requests) {
    if (below(8) == 0) PassTime(kLease / 3);
    ++request.number;
    request.operations.clear();
    request.take = held.size() < 3 ? below(2) : 0;
    for (uint32_t n = below(3); n > 0; --n) {
      const std::string item = NameOf(below(kItems));
      if (below(8) == 0) {
        request.operations.push_back(
            {EngineOperation::kAddAfter, item, kLease / 4});
      } else {
        request.operations.push_back({EngineOperation::kAdd, item, 0});
      }
    }
    if (!held.empty() && below(3) == 0) {
      const size_t i = below(static_cast<uint32_t>(held.size()));
      static constexpr EngineOperation::Code kEnds[] = {
          EngineOperation::kDone, EngineOperation::kDone,
          EngineOperation::kGiveBack, EngineOperation::kRenew};
      const EngineOperation::Code code = kEnds[below(4)];
      request.operations.push_back({code, held[i].item, held[i].token});
      if (code != EngineOperation::kRenew) {
        held.erase(held.begin() + static_cast<std::ptrdiff_t>(i));
      }
    }
    const auto reply = Send(engine, request);
    if (reply)
      held.insert(held.end(), reply->items.begin(), reply->items.end());
    if (below(3) == 0) Look(engine, NameOf(below(kItems)));
    MutexLock lock(&mu_);
    if (is_cut_) return;
  }
}

void EngineHistory::Look(Engine& engine, const std::string& item) {
  ReaderMutexLock time_lock(&time_mu_);
  EngineSnapshotRequest request;
  request.now = now_;
  request.item = item;
  const Moment begin = Now();
  const auto snapshot =
      engine.TakeSnapshot(request, absl::Now() + absl::Seconds(30));
  if (!snapshot.ok() || !snapshot->queued.empty() ||
      !snapshot->processing.empty() || !snapshot->waiting.empty()) {
    return;
  }
  MutexLock lock(&mu_);
  if (!is_cut_) calls_.push_back({begin, Now(), {}, EngineReply(), item});
}

std::optional<EngineReply> EngineHistory::Send(Engine& engine,
                                               EngineRequest& request) {
  ReaderMutexLock time_lock(&time_mu_);
  request.now = now_;
  const Moment begin = Now();
  // A broken server may search for ever.
  const absl::Time deadline = absl::Now() + absl::Seconds(30);
  absl::StatusOr<EngineReply> reply = absl::UnknownError("");
  for (int i = 0; i < kMostTries && absl::IsUnknown(reply.status()); ++i) {
    reply = engine.Apply(request, deadline);
  }
  MutexLock lock(&mu_);
  std::optional<EngineReply> known;
  if (reply.ok() && !is_cut_) known = *std::move(reply);
  // What has failed has changed nothing.
  if (known || is_cut_ || absl::IsUnknown(reply.status())) {
    calls_.push_back({begin, known ? Now() : Moment(), request, known, ""});
  }
  return known;
}

void EngineHistory::Note(
    const Call& call, std::map<std::string, std::vector<QueueOperation>>* items,
    std::map<int64_t, Lease>* leases) {
  using Operation = QueueOperation;
  const int64_t begin = call.begin.number;
  const int64_t end = call.end.number;
  if (!call.gone.empty()) {
    (*items)[call.gone].push_back({Operation::kIsGone, begin, end});
  }
  for (size_t i = 0; i < call.request.operations.size(); ++i) {
    const EngineOperation& it = call.request.operations[i];
    std::vector<Operation>& history = (*items)[it.item];
    if (it.code == EngineOperation::kAdd) {
      history.push_back({Operation::kAdd, begin, end});
    } else if (it.code == EngineOperation::kAddAfter) {
      history.push_back({Operation::kAddLater, begin, end});
    } else if (call.reply && call.reply->results[i] == internal::kFalse) {
      // It has changed nothing.
    } else if (it.code == EngineOperation::kRenew) {
      if (!call.reply) continue;
      Lease& lease = leases->at(it.x);
      lease.now = std::max(lease.now, *call.request.now);
      lease.alive_at = std::max(lease.alive_at, begin);
    } else {
      history.push_back({it.code == EngineOperation::kDone
                             ? Operation::kDone
                             : Operation::kGiveBack,
                         begin, end, it.x});
    }
  }
  for (uint32_t i = 0; i < kItems && !call.reply && call.request.take > 0;
       ++i) {
    (*items)[NameOf(i)].push_back({Operation::kHandOut, begin});
  }
  if (!call.reply) return;
  for (const HandedOut& it : call.reply->items) {
    (*items)[it.item].push_back({Operation::kHandOut, begin, end, it.token});
    (*leases)[it.token] = {it.item, *call.request.now};
  }
}

void EngineHistory::PassTime(int64_t ticks) {
  MutexLock lock(&time_mu_);
  now_ += ticks;
  times_.emplace_back(now_, Now());
}

void EngineHistory::Cut() {
  MutexLock lock(&mu_);
  is_cut_ = true;
}

void EngineHistory::Resume() {
  MutexLock lock(&mu_);
  is_cut_ = false;
}

std::unique_ptr<EngineHistory> EngineHistory::Until(int64_t end, Place place) {
  auto result = std::make_unique<EngineHistory>(std::move(place));
  ReaderMutexLock time_lock(&time_mu_);
  MutexLock lock(&mu_);
  MutexLock its_time_lock(&result->time_mu_);
  MutexLock its_lock(&result->mu_);
  // All that is known was before the other log.
  result->moments_ = moments_.load();
  for (const auto& [now, moment] : times_) {
    if (moment.place > end) continue;
    result->times_.push_back({now, {moment.number, 0}});
    result->now_ = now;
  }
  for (Call call : calls_) {
    const bool is_known = call.end.place <= end;
    if (call.begin.place > end || (!is_known && !call.gone.empty())) continue;
    call.begin.place = call.end.place = 0;
    if (!is_known) {
      call.end = Moment();
      call.reply.reset();
    }
    result->calls_.push_back(std::move(call));
  }
  return result;
}

std::string EngineHistory::Drain(Engine& engine) {
  EngineRequest request;
  request.client = request.client_name = "drain";
  request.lease = 100 * kLease;
  std::optional<EngineReply> reply;
  int64_t last_token = 0;
  {
    MutexLock lock(&mu_);
    for (const Call& call : calls_) {
      if (!call.reply) continue;
      for (const HandedOut& it : call.reply->items) {
        last_token = std::max(last_token, it.token);
      }
    }
  }
  do {
    PassTime(kLease);
    ++request.number;
    request.take = 2;
    request.operations.clear();
    if (reply) {
      for (const HandedOut& it : reply->items) {
        request.operations.push_back(
            {EngineOperation::kDone, it.item, it.token});
      }
    }
    reply = Send(engine, request);
    if (!reply || request.number > 1000) return "the queue is stuck";
    for (const HandedOut& it : reply->items) {
      if (it.token <= last_token) {
        return absl::StrCat("the token ", it.token, " came after ", last_token);
      }
      last_token = it.token;
    }
  } while (reply->num_queued + reply->num_waiting + reply->num_processing > 0);

  const int64_t end = ++moments_;
  ReaderMutexLock time_lock(&time_mu_);
  MutexLock lock(&mu_);
  std::map<std::string, std::vector<QueueOperation>> histories;
  std::map<int64_t, Lease> leases;
  for (const Call& call : calls_) Note(call, &histories, &leases);
  for (const auto& [token, lease] : leases) {
    const int64_t expiry = lease.now + kLease;
    for (const auto& [now, moment] : times_) {
      if (now < expiry) continue;
      histories[lease.item].push_back({QueueOperation::kExpiry,
                                       std::max(moment.number, lease.alive_at),
                                       QueueOperation::kNever, token});
      break;
    }
  }
  for (auto& [item, history] : histories) {
    history.push_back({QueueOperation::kIsGone, end, end});
    if (const auto found = CheckHistory(history)) {
      return absl::StrCat(item, ":", found->text);
    }
  }
  return "";
}

}  // namespace workqueue
