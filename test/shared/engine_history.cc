// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "test/shared/engine_history.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
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
  const std::vector<int64_t> schedule = {kLease / 10};
  request.retry_schedule = &schedule;
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
  const int64_t begin = ++moments_;
  const auto snapshot =
      engine.TakeSnapshot(request, absl::Now() + absl::Seconds(30));
  if (!snapshot.ok() || !snapshot->queued.empty() ||
      !snapshot->processing.empty() || !snapshot->waiting.empty()) {
    return;
  }
  MutexLock lock(&mu_);
  if (is_cut_) return;
  histories_[item].push_back({QueueOperation::kIsGone, begin, ++moments_});
}

std::optional<EngineReply> EngineHistory::Send(Engine& engine,
                                               EngineRequest& request) {
  ReaderMutexLock time_lock(&time_mu_);
  request.now = now_;
  const int64_t begin = ++moments_;
  absl::StatusOr<EngineReply> reply = absl::UnknownError("");
  for (int i = 0; i < kMostTries && absl::IsUnknown(reply.status()); ++i) {
    reply = engine.Apply(request, absl::Now() + absl::Seconds(30));
  }
  MutexLock lock(&mu_);
  const bool is_known = reply.ok() && !is_cut_;
  // What has failed has changed nothing.
  if (is_known || is_cut_ || absl::IsUnknown(reply.status())) {
    Note(request, begin, is_known ? &*reply : nullptr);
  }
  if (!is_known) return std::nullopt;
  return *std::move(reply);
}

void EngineHistory::Note(const EngineRequest& request, int64_t begin,
                         const EngineReply* reply) {
  using Operation = QueueOperation;
  const int64_t end = reply == nullptr ? Operation::kNever : ++moments_;
  for (size_t i = 0; i < request.operations.size(); ++i) {
    const EngineOperation& it = request.operations[i];
    std::vector<Operation>& history = histories_[it.item];
    if (it.code == EngineOperation::kAdd) {
      history.push_back({Operation::kAdd, begin, end});
    } else if (it.code == EngineOperation::kAddAfter) {
      history.push_back({Operation::kAddLater, begin, end});
    } else if (reply != nullptr && reply->results[i] == internal::kFalse) {
      // It has changed nothing.
    } else if (it.code == EngineOperation::kRenew) {
      if (reply == nullptr) continue;
      Lease& lease = leases_.at(it.x);
      lease.now = std::max(lease.now, *request.now);
      lease.alive_at = std::max(lease.alive_at, begin);
    } else {
      history.push_back({it.code == EngineOperation::kDone
                             ? Operation::kDone
                             : Operation::kGiveBack,
                         begin, end, it.x});
    }
  }
  for (uint32_t i = 0; i < kItems && reply == nullptr && request.take > 0;
       ++i) {
    histories_[NameOf(i)].push_back({Operation::kHandOut, begin});
  }
  if (reply == nullptr) return;
  for (const HandedOut& it : reply->items) {
    histories_[it.item].push_back({Operation::kHandOut, begin, end, it.token});
    leases_[it.token] = {it.item, *request.now};
  }
}

void EngineHistory::PassTime(int64_t ticks) {
  MutexLock lock(&time_mu_);
  now_ += ticks;
  times_.emplace_back(now_, ++moments_);
}

void EngineHistory::Cut() {
  MutexLock lock(&mu_);
  is_cut_ = true;
}

void EngineHistory::Resume() {
  MutexLock lock(&mu_);
  is_cut_ = false;
}

std::string EngineHistory::Drain(Engine& engine) {
  EngineRequest request;
  request.client = request.client_name = "drain";
  request.lease = 100 * kLease;
  std::optional<EngineReply> reply;
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
  } while (reply->ready + reply->waiting + reply->processing > 0);

  const int64_t end = ++moments_;
  ReaderMutexLock time_lock(&time_mu_);
  MutexLock lock(&mu_);
  for (const auto& [token, lease] : leases_) {
    const int64_t expiry = lease.now + kLease;
    for (const auto& [now, moment] : times_) {
      if (now < expiry) continue;
      histories_[lease.item].push_back({QueueOperation::kExpiry,
                                        std::max(moment, lease.alive_at),
                                        QueueOperation::kNever, token});
      break;
    }
  }
  for (auto& [item, history] : histories_) {
    history.push_back({QueueOperation::kIsGone, end, end});
    if (const auto found = CheckHistory(history)) {
      return absl::StrCat(item, ":", found->text);
    }
  }
  return "";
}

}  // namespace workqueue
