// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/shared/internal/redis_engine.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <thread>  // NOLINT(build/c++11)
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/memory/memory.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "hiredis/hiredis.h"
#include "workqueue/clock/clock.h"
#include "workqueue/internal/mutex_lock.h"
#include "workqueue/shared/internal/engine.h"
#include "workqueue/shared/internal/layout.h"
#include "workqueue/shared/internal/queue_script.h"
#include "workqueue/shared/internal/redis_connection.h"
#include "workqueue/shared/internal/redis_connector.h"
#include "workqueue/shared/internal/unique_text.h"
#include "workqueue/shared/redis_options.h"

namespace workqueue {
namespace internal {
namespace {

// The pauses between attempts to connect: doubled from the first to the last.
constexpr absl::Duration kFirstPause = absl::Milliseconds(5);
constexpr absl::Duration kLastPause = absl::Milliseconds(250);

// So many items are all, in a snapshot.
constexpr size_t kUnlimited = size_t{1} << 31;

absl::Time Now() { return Clock::GetRealClock()->TimeNow(); }

// Whether another attempt may succeed where one returned `status`.
bool MayPass(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsUnknown(status);
}

std::string TicksToText(int64_t ticks) {
  return ticks == kForever ? "inf" : absl::StrCat(ticks);
}

absl::Status BadReply() {
  return absl::InternalError("the script's reply has an unexpected form");
}

bool IsArray(const redisReply& reply, size_t size) {
  return reply.type == REDIS_REPLY_ARRAY && reply.elements >= size;
}

// Returns number `i` of an array, or 0 if it is no number.
int64_t NumberAt(const redisReply& array, size_t i) {
  return i < array.elements && array.element[i]->type == REDIS_REPLY_INTEGER
             ? array.element[i]->integer
             : 0;
}

absl::StatusOr<EngineReply> ParseReply(const redisReply& reply) {
  if (!IsArray(reply, 3)) return BadReply();
  const redisReply& head = *reply.element[0];
  const redisReply& results = *reply.element[1];
  const redisReply& items = *reply.element[2];
  if (!IsArray(head, 12) || !IsArray(results, 0) || !IsArray(items, 0)) {
    return BadReply();
  }
  EngineReply result;
  result.now = NumberAt(head, 0);
  result.next_event = NumberAt(head, 1);
  result.ready = NumberAt(head, 2);
  result.waiting = NumberAt(head, 3);
  result.processing = NumberAt(head, 4);
  result.failing = NumberAt(head, 5);
  result.shut_down = NumberAt(head, 6) != 0;
  result.expired = NumberAt(head, 7);
  result.dirty = NumberAt(head, 8);
  result.came_due = NumberAt(head, 9);
  result.pushes = static_cast<uint64_t>(NumberAt(head, 10));
  result.pushed = static_cast<uint64_t>(NumberAt(head, 11));
  result.results.reserve(results.elements);
  for (size_t i = 0; i < results.elements; ++i) {
    result.results.push_back(NumberAt(results, i));
  }
  for (size_t i = 0; i + 4 <= items.elements; i += 4) {
    result.items.push_back({std::string(TextOf(*items.element[i])),
                            NumberAt(items, i + 1), NumberAt(items, i + 2),
                            NumberAt(items, i + 3)});
  }
  return result;
}

// Parses the items of one list of a snapshot.
absl::Status ParseItems(const redisReply& list,
                        std::vector<EngineSnapshot::Item>* items) {
  if (!IsArray(list, 0)) return BadReply();
  for (size_t i = 0; i < list.elements; ++i) {
    const redisReply& it = *list.element[i];
    if (!IsArray(it, 4)) return BadReply();
    const int64_t time = NumberAt(it, 3);
    items->push_back({std::string(TextOf(*it.element[0])), NumberAt(it, 1),
                      NumberAt(it, 2), time < 0 ? kForever : time,
                      NumberAt(it, 4) != 0});
  }
  return absl::OkStatus();
}

// Returns the value of `field` in the reply of INFO.
std::string FieldOf(absl::string_view info, absl::string_view field) {
  for (absl::string_view line : absl::StrSplit(info, "\r\n")) {
    if (absl::ConsumePrefix(&line, field) && absl::ConsumePrefix(&line, ":")) {
      return std::string(line);
    }
  }
  return "";
}

// Loads `script`, and stores the name by which it is called.
absl::Status LoadScript(const char* script, RedisConnection* connection,
                        absl::Time deadline, std::string* sha) {
  const auto reply =
      connection->Call({"SCRIPT", "LOAD", script}, deadline - Now());
  if (!reply.ok()) return reply.status();
  *sha = std::string(TextOf(**reply));
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<RedisEngine>> RedisEngine::Create(
    absl::string_view name, size_t partitions, RedisOptions options) {
  absl::Status status = RedisConnection::Check(options);
  if (!status.ok()) return status;
  return absl::WrapUnique(
      new RedisEngine(name, partitions, std::move(options)));
}

RedisEngine::RedisEngine(absl::string_view name, size_t partitions,
                         RedisOptions options)
    : options_(std::move(options)),
      name_(name),
      layout_(LayoutOf(partitions)),
      connector_(options_) {
  const std::string prefix = MetaKeyOf(name);
  keys_ = {prefix,
           prefix + ":items",
           prefix + ":ready",
           prefix + ":waiting",
           prefix + ":leases",
           prefix + ":clients",
           prefix + ":waiters"};
}

RedisEngine::~RedisEngine() = default;

RedisEngine::Command RedisEngine::Evaluation(const std::string& sha) const {
  Command command = {"EVALSHA", sha, absl::StrCat(keys_.size())};
  command.insert(command.end(), keys_.begin(), keys_.end());
  return command;
}

absl::Status RedisEngine::Connect(absl::Time deadline) {
  if (connector_.connected()) return absl::OkStatus();
  session_ = {};
  const absl::Status status = connector_.Connect(deadline - Now());
  if (!status.ok()) return status;
  session_.connection = connector_.connection();
  // Without the right to ask, leases get no grace after a start of the server.
  const auto info =
      session_.connection->Call({"INFO", "server"}, deadline - Now());
  session_.run = info.ok() ? FieldOf(TextOf(**info), "run_id") : "";
  if (!info.ok() && MayPass(info.status())) return info.status();
  return LoadScripts(deadline);
}

absl::Status RedisEngine::LoadScripts(absl::Time deadline) {
  absl::Status status = LoadScript(kQueueScript, session_.connection, deadline,
                                   &session_.queue_sha);
  status.Update(LoadScript(kSnapshotScript, session_.connection, deadline,
                           &session_.snapshot_sha));
  return status;
}

template <typename F>
std::invoke_result_t<F, const RedisEngine::Session&>
RedisEngine::WithConnection(absl::Time deadline, F f) {
  bool sent = false;  // whether an attempt may have been executed
  for (absl::Duration pause = kFirstPause;;
       pause = std::min(2 * pause, kLastPause)) {
    absl::Status status = Connect(deadline);
    if (status.ok()) {
      auto result = f(session_);
      if (absl::IsNotFound(result.status())) {
        // SCRIPT FLUSH. The scripts are there again for the next attempt.
        status = LoadScripts(deadline);
        if (status.ok()) status = absl::UnavailableError("no script");
      } else if (result.ok()) {
        return result;
      } else if (!MayPass(result.status())) {
        status = result.status();
      } else {
        status = result.status();
        sent |= absl::IsUnknown(status);
      }
    }
    const absl::Duration left = deadline - Now();
    if (!MayPass(status) || left <= absl::ZeroDuration()) {
      const std::string message =
          absl::StrCat("queue \"", name_, "\" at ", options_.address, ": ",
                       status.message());
      if (sent) return absl::UnknownError(message);
      return absl::Status(
          MayPass(status) ? absl::StatusCode::kUnavailable : status.code(),
          message);
    }
    Clock::GetRealClock()->Sleep(std::min(pause, left));
  }
}

absl::StatusOr<EngineReply> RedisEngine::Apply(const EngineRequest& request,
                                               absl::Time deadline) {
  MutexLock lock(&mu_);
  Command words;
  return WithConnection(
      deadline, [&](const Session& session) -> absl::StatusOr<EngineReply> {
        words = Evaluation(session.queue_sha);
        words.push_back(layout_);
        words.push_back(request.client);
        words.push_back(absl::StrCat(request.number));
        words.push_back(request.now ? absl::StrCat(*request.now) : "");
        words.push_back(session.run);
        words.push_back(TicksToText(request.lease));
        words.push_back(TicksToText(request.presence));
        words.push_back(absl::StrCat(request.waiting_workers));
        words.push_back(absl::StrCat(request.received));
        words.push_back(absl::StrCat(request.take));
        const auto* delays = request.retry_schedule;
        words.push_back(absl::StrCat(delays != nullptr ? delays->size() : 0));
        if (delays != nullptr) {
          for (int64_t delay : *delays) words.push_back(TicksToText(delay));
        }
        for (const EngineOperation& operation : request.operations) {
          words.emplace_back(1, operation.code);
          words.push_back(operation.item);
          for (int64_t number : {operation.x, operation.y, operation.z}) {
            words.push_back(TicksToText(number));
          }
        }
        const std::vector<absl::string_view> views(words.begin(), words.end());
        auto reply = session.connection->Call(views, deadline - Now());
        if (!reply.ok()) return reply.status();
        return ParseReply(**reply);
      });
}

absl::StatusOr<EngineSnapshot> RedisEngine::TakeSnapshot(
    const EngineSnapshotRequest& request, absl::Time deadline) {
  MutexLock lock(&mu_);
  return WithConnection(
      deadline, [&](const Session& session) -> absl::StatusOr<EngineSnapshot> {
        Command words = Evaluation(session.snapshot_sha);
        words.push_back(layout_);
        words.push_back(request.now ? absl::StrCat(*request.now) : "");
        words.push_back(request.max < kUnlimited ? absl::StrCat(request.max)
                                                 : "inf");
        words.emplace_back(request.item ? "one" : "all");
        if (request.item) {
          words.push_back(*request.item);
        } else {
          words.insert(words.end(), request.in_hand.begin(),
                       request.in_hand.end());
        }
        const std::vector<absl::string_view> views(words.begin(), words.end());
        auto reply = session.connection->Call(views, deadline - Now());
        if (!reply.ok()) return reply.status();
        const redisReply& all = **reply;
        if (!IsArray(all, 4) || !IsArray(*all.element[0], 5)) return BadReply();
        const redisReply& head = *all.element[0];
        EngineSnapshot snapshot;
        snapshot.now = NumberAt(head, 0);
        snapshot.shut_down = NumberAt(head, 1) != 0;
        snapshot.num_queued = static_cast<size_t>(NumberAt(head, 2));
        snapshot.num_processing = static_cast<size_t>(NumberAt(head, 3));
        snapshot.num_waiting = static_cast<size_t>(NumberAt(head, 4));
        absl::Status status = ParseItems(*all.element[1], &snapshot.queued);
        status.Update(ParseItems(*all.element[2], &snapshot.processing));
        status.Update(ParseItems(*all.element[3], &snapshot.waiting));
        if (!status.ok()) return status;
        return snapshot;
      });
}

absl::StatusOr<std::string> RedisEngine::CheckSettings(absl::Time deadline) {
  MutexLock lock(&mu_);
  return WithConnection(
      deadline, [&](const Session& session) -> absl::StatusOr<std::string> {
        // Finds the node of a cluster that has the queue.
        absl::Status status =
            session.connection
                ->Call({"HGET", keys_[kMeta], "version"}, deadline - Now())
                .status();
        if (!status.ok()) return status;
        std::vector<std::string> problems;
        const auto expect = [&](absl::string_view setting,
                                absl::string_view value,
                                absl::string_view why) {
          auto reply = session.connection->Call({"CONFIG", "GET", setting},
                                                deadline - Now());
          if (!reply.ok()) {
            if (MayPass(reply.status())) return reply.status();
            problems.push_back(absl::StrCat("cannot see ", setting, " (",
                                            reply.status().message(), ")"));
          } else if (!IsArray(**reply, 2)) {
            problems.push_back(absl::StrCat("cannot see ", setting));
          } else if (TextOf(*(*reply)->element[1]) != value) {
            problems.push_back(absl::StrCat(setting, " is ",
                                            TextOf(*(*reply)->element[1]),
                                            ", not ", value, ": ", why));
          }
          return absl::OkStatus();
        };
        const absl::string_view lost =
            "a crash of the server loses what was acknowledged";
        status = expect("appendonly", "yes", lost);
        status.Update(expect("appendfsync", "always", lost));
        status.Update(expect("maxmemory-policy", "noeviction",
                             "the server may remove items"));
        if (!status.ok()) return status;
        auto info =
            session.connection->Call({"INFO", "replication"}, deadline - Now());
        if (!info.ok()) {
          if (MayPass(info.status())) return info.status();
        } else if (FieldOf(TextOf(**info), "role") == "slave") {
          problems.push_back("the server is a replica");
        }
        return absl::StrJoin(problems, "; ");
      });
}

absl::Status RedisEngine::Listen(EngineListener* listener,
                                 absl::Time deadline) {
  listener_ = listener;
  thread_ = std::thread([this] { ListenLoop(); });
  MutexLock lock(&listen_mu_);
  if (listen_mu_.AwaitWithTimeout(absl::Condition(&heard_), deadline - Now())) {
    return absl::OkStatus();
  }
  return listen_error_.ok() ? absl::UnavailableError("cannot listen")
                            : listen_error_;
}

void RedisEngine::StopListening() {
  {
    MutexLock lock(&listen_mu_);
    stopping_ = true;
    if (listening_ != nullptr) listening_->ShutDown();
  }
  if (thread_.joinable()) thread_.join();
}

void RedisEngine::ListenLoop() {
  RedisConnector connector(options_);
  absl::Duration pause = kFirstPause;
  while (true) {
    const absl::Time start = Now();
    const absl::Status status = ListenOnce(&connector);
    listener_->OnDeaf(status);
    if (Now() - start > absl::Seconds(1)) pause = kFirstPause;
    MutexLock lock(&listen_mu_);
    listen_error_ = status;
    if (listen_mu_.AwaitWithTimeout(absl::Condition(&stopping_), pause)) {
      return;
    }
    pause = std::min(2 * pause, kLastPause);
  }
}

absl::Status RedisEngine::ListenOnce(RedisConnector* connector) {
  absl::Status status = connector->Connect(options_.connect_timeout);
  if (!status.ok()) return status;
  RedisConnection* const connection = connector->connection();
  {
    MutexLock lock(&listen_mu_);
    if (stopping_) return absl::CancelledError("stopped");
    listening_ = connection;
  }
  const absl::Cleanup forget = [this] {
    MutexLock lock(&listen_mu_);
    listening_ = nullptr;
  };
  const std::string client = NewUniqueText();
  const std::string& common = keys_[kMeta];
  const std::string own = absl::StrCat(common, ":", client);
  auto reply =
      connection->Call({"SSUBSCRIBE", common, own}, options_.connect_timeout);
  if (!reply.ok()) return reply.status();
  reply = connection->Read(options_.connect_timeout);  // the second channel
  if (!reply.ok()) return reply.status();
  listener_->OnListening(client);
  {
    MutexLock lock(&listen_mu_);
    heard_ = true;
  }
  while (true) {
    reply = connection->Read(absl::InfiniteDuration());
    if (!reply.ok()) return reply.status();
    if (!Dispatch(**reply, own, listener_)) {
      return absl::UnavailableError("the keys have moved");
    }
  }
}

bool RedisEngine::Dispatch(const redisReply& message, absl::string_view own,
                           EngineListener* listener) {
  if (!IsArray(message, 3)) return true;
  const absl::string_view kind = TextOf(*message.element[0]);
  if (kind != "smessage") return kind != "sunsubscribe";
  const absl::string_view channel = TextOf(*message.element[1]);
  absl::string_view text = TextOf(*message.element[2]);
  if (channel == own) {
    const std::vector<absl::string_view> parts =
        absl::StrSplit(text, absl::MaxSplits(' ', 4));
    HandedOut out;
    int64_t now;
    if (parts.size() == 5 && absl::SimpleAtoi(parts[0], &out.token) &&
        absl::SimpleAtoi(parts[1], &out.priority) &&
        absl::SimpleAtoi(parts[2], &out.ticks_queued) &&
        absl::SimpleAtoi(parts[3], &now)) {
      out.item = std::string(parts[4]);
      listener->OnPush(std::move(out), now);
    }
  } else if (absl::ConsumePrefix(&text, "due ")) {
    int64_t ticks;
    if (absl::SimpleAtoi(text, &ticks)) listener->OnDue(ticks);
  } else if (absl::ConsumePrefix(&text, "shutdown ")) {
    int64_t count;
    if (absl::SimpleAtoi(text, &count)) listener->OnShutDown(count);
  } else if (text == "drained" || text == "open") {
    listener->OnNews();
  }
  return true;
}

}  // namespace internal
}  // namespace workqueue
