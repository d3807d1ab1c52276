// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/shared/internal/redis_engine.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
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
#include "workqueue/base/exceptions.h"
#include "workqueue/base/mutex_lock.h"
#include "workqueue/base/worker_pool.h"
#include "workqueue/clock/clock.h"
#include "workqueue/redis/redis_address.h"
#include "workqueue/redis/redis_connection.h"
#include "workqueue/redis/redis_connector.h"
#include "workqueue/redis/redis_options.h"
#include "workqueue/redis/unique_text.h"
#include "workqueue/shared/internal/engine.h"
#include "workqueue/shared/internal/queue_keys.h"
#include "workqueue/shared/internal/queue_script.h"
#include "workqueue/simulation/sync.h"
#include "workqueue/version.h"

namespace workqueue::internal {
namespace {

absl::Time Now() { return Clock::GetRealClock()->TimeNow(); }

std::string TicksToText(int64_t ticks) {
  return ticks == kForever ? "inf" : absl::StrCat(ticks);
}

// Returns each run of equal delays as the delay and the length of the run.
std::string ScheduleToText(const std::vector<int64_t>& schedule) {
  std::string text;
  for (auto it = schedule.begin(); it != schedule.end();) {
    const auto end = std::find_if(it, schedule.end(),
                                  [it](int64_t each) { return each != *it; });
    absl::StrAppend(&text, TicksToText(*it), " ", end - it, " ");
    it = end;
  }
  return text;
}

// The request may have been applied.
absl::Status BadReply() {
  return absl::UnknownError("the script's reply has an unexpected form");
}

bool IsArray(const redisReply& reply, size_t size) {
  return reply.type == REDIS_REPLY_ARRAY && reply.elements >= size;
}

// Whether a script can count to `number`, whose sums then do not overflow.
bool IsExact(int64_t number) {
  constexpr int64_t kMax = int64_t{1} << 53;
  return -kMax <= number && number <= kMax;
}

bool ParseNumber(absl::string_view text, int64_t* number) {
  return absl::SimpleAtoi(text, number) && IsExact(*number);
}

// Elements
//
// Reads the elements of an array in their order. After one that is not there,
// or is not what is asked for, `ok()` is false, and all that follow are empty.
// Everything in a script's reply is checked here, and nowhere else.
class Elements {
 public:
  explicit Elements(const redisReply& reply)
      : array_(reply), ok_(reply.type == REDIS_REPLY_ARRAY) {}

  bool ok() const { return ok_; }
  size_t left() const { return ok_ ? array_.elements - next_ : 0; }

  int64_t Number() {
    const redisReply* const element = Next(REDIS_REPLY_INTEGER);
    if (element == nullptr) return 0;
    ok_ = IsExact(element->integer);
    return ok_ ? element->integer : 0;
  }

  // A number of things.
  int64_t Count() { return std::max<int64_t>(Number(), 0); }

  std::string Text() {
    const redisReply* const element = Next(REDIS_REPLY_STRING);
    return element == nullptr ? "" : std::string(TextOf(*element));
  }

  Elements Array() {
    const redisReply* const element = Next(REDIS_REPLY_ARRAY);
    return Elements(element == nullptr ? array_ : *element, element != nullptr);
  }

 private:
  Elements(const redisReply& array, bool ok) : array_(array), ok_(ok) {}

  // Returns null unless the next element has this type.
  const redisReply* Next(int type) {
    ok_ = left() > 0 && array_.element[next_]->type == type;
    return ok_ ? array_.element[next_++] : nullptr;
  }

  const redisReply& array_;
  size_t next_ = 0;
  bool ok_;
};

// Parses the reply to a request of so many operations.
absl::StatusOr<EngineReply> ParseReply(const redisReply& reply,
                                       size_t operations) {
  Elements all(reply);
  Elements head = all.Array();
  EngineReply result;
  result.now = head.Number();
  result.next_event = head.Number();
  result.num_queued = static_cast<size_t>(head.Count());
  result.num_waiting = static_cast<size_t>(head.Count());
  result.num_processing = static_cast<size_t>(head.Count());
  result.num_failing = static_cast<size_t>(head.Count());
  result.num_parked = static_cast<size_t>(head.Count());
  result.shut_down = head.Number() != 0;
  result.expired = head.Count();
  result.dirty = head.Count();
  result.came_due = head.Count();
  result.pushes = static_cast<uint64_t>(head.Count());
  result.pushed = static_cast<uint64_t>(head.Count());
  result.full = head.Number() != 0;
  result.born = head.Count();
  Elements results = all.Array();
  if (!head.ok() || !results.ok() || results.left() != operations) {
    return BadReply();
  }
  while (results.left() > 0) result.results.push_back(results.Number());
  Elements items = all.Array();
  while (items.left() > 0) {
    HandedOut item;
    item.item = items.Text();
    item.token = items.Number();
    item.priority = items.Number();
    item.ticks_queued = items.Number();
    item.failures = items.Count();
    result.items.push_back(std::move(item));
  }
  if (!results.ok() || !items.ok()) return BadReply();
  return result;
}

// The lists of a snapshot. The items of each have other elements.
enum class ListKind { kPlain, kProcessing, kFailures };

bool ParseItems(Elements list, ListKind kind,
                std::vector<EngineSnapshot::Item>* items) {
  while (list.left() > 0) {
    Elements it = list.Array();
    EngineSnapshot::Item item;
    item.item = it.Text();
    item.failures = it.Count();
    item.last_error = it.Text();
    if (kind == ListKind::kFailures) {
      item.first_failed = it.Number();
      item.last_failed = it.Number();
    } else {
      item.number = it.Number();
    }
    const int64_t time = it.Number();
    item.time = time < 0 ? kForever : time;
    if (kind == ListKind::kProcessing) {
      item.added_again = it.Number() != 0;
      item.holder = it.Text();
      const int64_t expiry = it.Number();
      item.expiry = expiry < 0 ? kForever : expiry;
    }
    if (!it.ok()) return false;
    items->push_back(std::move(item));
  }
  return list.ok();
}

absl::StatusOr<EngineSnapshot> ParseSnapshot(const redisReply& reply) {
  Elements all(reply);
  Elements head = all.Array();
  EngineSnapshot snapshot;
  snapshot.now = head.Number();
  snapshot.shut_down = head.Number() != 0;
  snapshot.num_queued = static_cast<size_t>(head.Count());
  snapshot.num_processing = static_cast<size_t>(head.Count());
  snapshot.num_waiting = static_cast<size_t>(head.Count());
  snapshot.num_failing = static_cast<size_t>(head.Count());
  snapshot.num_parked = static_cast<size_t>(head.Count());
  using Kind = ListKind;
  if (!head.ok() || !ParseItems(all.Array(), Kind::kPlain, &snapshot.queued) ||
      !ParseItems(all.Array(), Kind::kProcessing, &snapshot.processing) ||
      !ParseItems(all.Array(), Kind::kPlain, &snapshot.waiting) ||
      !ParseItems(all.Array(), Kind::kFailures, &snapshot.failing) ||
      !ParseItems(all.Array(), Kind::kFailures, &snapshot.parked)) {
    return BadReply();
  }
  Elements go_on = all.Array();
  while (go_on.left() > 0) snapshot.go_on.push_back(go_on.Text());
  Elements clients = all.Array();
  while (clients.left() > 0) {
    Elements it = clients.Array();
    EngineSnapshot::Client client;
    client.name = it.Text();
    client.version = it.Text();
    client.waiting = static_cast<size_t>(it.Count());
    client.seen = it.Count();
    if (!it.ok()) return BadReply();
    snapshot.clients.push_back(std::move(client));
  }
  Elements bounds = all.Array();
  while (bounds.left() > 0) {
    Elements it = bounds.Array();
    EngineSnapshot::Bound bound;
    bound.retries = it.Number() != 0;
    bound.group = it.Text();
    bound.max = static_cast<size_t>(it.Count());
    bound.processing = static_cast<size_t>(it.Count());
    bound.queued = static_cast<size_t>(it.Count());
    Elements items = it.Array();
    while (items.left() > 0) bound.items.push_back(items.Text());
    if (!it.ok() || !items.ok()) return BadReply();
    snapshot.bounds.push_back(std::move(bound));
  }
  if (!go_on.ok() || !clients.ok() || !bounds.ok()) return BadReply();
  return snapshot;
}

// Returns the end of the name of the channel that all clients listen to. The
// databases of a server share its channels.
std::string ChannelSuffix(const RedisOptions& options) {
  return options.database == 0 ? "" : absl::StrCat(":db", options.database);
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

// Returns the identity of the server, or nothing if the user may not ask.
absl::StatusOr<std::string> RunOf(RedisConnection* connection,
                                  absl::Time deadline) {
  const auto info = connection->Call({"INFO", "server"}, deadline - Now());
  if (info.ok()) return FieldOf(TextOf(**info), "run_id");
  // Before it has a password, the server does not read what is as long as a
  // script.
  if (MayPass(info.status()) || NeedsPassword(info.status())) {
    return info.status();
  }
  return std::string();
}

// Returns the script of a request. If replicas acknowledge it, a request that
// changes nothing writes, too: the server lets a connection wait only for its
// own writes, and what is there already may be the write of another connection.
std::string RequestScript(const RedisOptions& options) {
  if (options.acknowledging_replicas == 0) return kQueueScript;
  // A write that frees memory comes first, because it is never refused.
  return absl::StrCat("local function request()", kQueueScript, R"lua(end
local reply = request()
if type(reply) == 'table' and not reply.err then
  redis.call('HDEL', KEYS[1], '')
  redis.call('HSET', KEYS[1], 'version', ARGV[1])
end
return reply
)lua");
}

// Loads `script`, and stores the name by which it is called.
absl::Status LoadScript(absl::string_view script, RedisConnection* connection,
                        absl::Time deadline, std::string* sha) {
  const auto reply =
      connection->Call({"SCRIPT", "LOAD", script}, deadline - Now());
  if (!reply.ok()) return reply.status();
  *sha = std::string(TextOf(**reply));
  return absl::OkStatus();
}

}  // namespace

RedisEngine::RedisEngine(absl::string_view name, size_t partitions,
                         RedisOptions options)
    : options_(std::move(options)),
      name_(name),
      layout_(LayoutOf(partitions)),
      connector_(options_),
      address_(AddressesOf(options_).front()) {
  const std::string prefix = MetaKeyOf(name);
  for (const char* const end :
       {"", ":items", ":ready", ":waiting", ":leases", ":clients", ":waiters",
        ":failing", ":parked", ":groups", ":turns", ":none"}) {
    keys_.push_back(prefix + end);
  }
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
  absl::Status status = connector_.Connect(deadline - Now());
  if (!status.ok()) return status;
  session_.connection = connector_.connection();
  // The next attempt must not go on without what is missing.
  absl::Cleanup incomplete = [this] {
    session_.connection->Break("incomplete");
  };
  // Without the right to ask, leases get no grace after a start of the server.
  auto run = RunOf(session_.connection, deadline);
  status = run.status();
  if (run.ok()) {
    session_.run = *std::move(run);
    status = LoadScripts(deadline);
  }
  if (status.ok()) std::move(incomplete).Cancel();
  return status;
}

void RedisEngine::LeadListener() {
  MutexLock lock(&listen_mu_);
  address_ = session_.connection->address();
  run_ = session_.run;
  if (run_.empty() || listening_run_.value_or(run_) != run_) {
    listener_.ConnectAgain();
  }
  session_.led = true;
}

absl::Status RedisEngine::LoadScripts(absl::Time deadline) {
  absl::Status status = LoadScript(RequestScript(options_), session_.connection,
                                   deadline, &session_.queue_sha);
  status.Update(LoadScript(kSnapshotScript, session_.connection, deadline,
                           &session_.snapshot_sha));
  return status;
}

absl::Status RedisEngine::Named(const absl::Status& status) const {
  return WithAdvice(status, absl::StrCat("queue \"", name_, "\""), name_,
                    options_.address);
}

template <typename F>
std::invoke_result_t<F, const RedisEngine::Session&>
RedisEngine::WithConnection(absl::Time deadline, F f) {
  {
    MutexLock lock(&mu_);
    const auto free = [this]()
                          ABSL_NO_THREAD_SAFETY_ANALYSIS { return !busy_; };
    if (!Clock::GetRealClock()->AwaitWithDeadline(&mu_, absl::Condition(&free),
                                                  deadline)) {
      return Named(absl::UnavailableError("earlier calls wait for the server"));
    }
    busy_ = true;
  }
  const absl::Cleanup end = [this] {
    MutexLock lock(&mu_);
    busy_ = false;
  };
  bool sent = false;  // whether an attempt may have been executed
  std::invoke_result_t<F, const Session&> result = absl::UnknownError("");
  absl::Status status = RepeatUntil(deadline, [&] {
    absl::Status connected = Connect(deadline);
    if (!connected.ok()) return connected;
    result = f(session_);
    // SCRIPT FLUSH. The scripts are there again for the next attempt.
    if (absl::IsNotFound(result.status())) {
      connected = LoadScripts(deadline);
      return connected.ok() ? absl::UnavailableError("no script") : connected;
    }
    sent |= absl::IsUnknown(result.status());
    return result.status();
  });
  if (status.ok()) {
    // Without memory, the next call does so.
    if (!session_.led) TryCall([this] { LeadListener(); });
    return result;
  }
  if (sent) return Named(absl::UnknownError(status.message()));
  return Named(MayPass(status) ? absl::UnavailableError(status.message())
                               : status);
}

absl::StatusOr<EngineReply> RedisEngine::Apply(const EngineRequest& request,
                                               absl::Time deadline) {
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
        words.push_back(
            request.looks_only ? "-" : ScheduleToText(request.retry_schedule));
        words.push_back(request.client_name);
        words.push_back(absl::StrCat(WORKQUEUE_VERSION_MAJOR, ".",
                                     WORKQUEUE_VERSION_MINOR, ".",
                                     WORKQUEUE_VERSION_PATCH));
        words.emplace_back(may_come_late_ ? "1" : "0");
        words.push_back(ChannelSuffix(options_));
        for (const EngineOperation& operation : request.operations) {
          words.emplace_back(1, operation.code);
          words.push_back(operation.item);
          for (int64_t number : {operation.x, operation.y, operation.z}) {
            words.push_back(TicksToText(number));
          }
          words.push_back(operation.text);
        }
        const std::vector<absl::string_view> views(words.begin(), words.end());
        const bool came_late = std::exchange(may_come_late_, true);
        auto reply = session.connection->Call(views, deadline - Now(),
                                              /*changes=*/true);
        may_come_late_ =
            absl::IsUnknown(reply.status()) || (came_late && !reply.ok());
        if (!reply.ok()) return reply.status();
        auto parsed = ParseReply(**reply, request.operations.size());
        if (!parsed.ok()) session.connection->Break(parsed.status().message());
        return parsed;
      });
}

absl::StatusOr<EngineSnapshot> RedisEngine::TakeSnapshot(
    const EngineSnapshotRequest& request, absl::Time deadline) {
  return WithConnection(
      deadline, [&](const Session& session) -> absl::StatusOr<EngineSnapshot> {
        Command words = Evaluation(session.snapshot_sha);
        words.push_back(layout_);
        words.push_back(request.now ? absl::StrCat(*request.now) : "");
        words.push_back(absl::StrCat(request.max));
        words.emplace_back(request.item ? "one" : "all");
        words.emplace_back(request.failures_only ? "2"
                           : request.details     ? "1"
                                                 : "0");
        if (request.item) {
          words.push_back(*request.item);
        } else {
          words.insert(words.end(), request.from.begin(), request.from.end());
        }
        const std::vector<absl::string_view> views(words.begin(), words.end());
        auto reply = session.connection->Call(views, deadline - Now());
        if (!reply.ok()) return reply.status();
        auto parsed = ParseSnapshot(**reply);
        if (!parsed.ok()) session.connection->Break(parsed.status().message());
        return parsed;
      });
}

absl::StatusOr<EngineSettings> RedisEngine::CheckSettings(absl::Time deadline) {
  return WithConnection(
      deadline, [&](const Session& session) -> absl::StatusOr<EngineSettings> {
        // Finds the node of a cluster that has the queue.
        absl::Status status =
            session.connection
                ->Call({"HGET", keys_.front(), "version"}, deadline - Now())
                .status();
        if (!status.ok()) return status;
        EngineSettings settings;
        const auto expect = [&](absl::string_view setting,
                                absl::string_view value,
                                absl::string_view why) {
          auto reply = session.connection->Call({"CONFIG", "GET", setting},
                                                deadline - Now());
          if (!reply.ok()) {
            if (MayPass(reply.status())) return reply.status();
            settings.push_back(absl::StrCat("cannot see ", setting, " (",
                                            reply.status().message(), ")"));
            return absl::OkStatus();
          }
          if (!IsArray(**reply, 2)) {
            settings.push_back(absl::StrCat("cannot see ", setting));
            return absl::OkStatus();
          }
          const absl::string_view found = TextOf(*(*reply)->element[1]);
          // The policies of this name remove only keys with a time to live.
          if (found != value && !absl::StartsWith(found, "volatile-")) {
            settings.push_back(absl::StrCat(setting, " is ", found, ", not ",
                                            value, ": ", why));
          }
          return absl::OkStatus();
        };
        const absl::string_view lost =
            "a crash of the server loses what was acknowledged";
        status = expect("appendonly", "yes", lost);
        status.Update(expect("appendfsync", "always", lost));
        // Then it does not sync in this time, whatever `appendfsync` is.
        status.Update(expect("no-appendfsync-on-rewrite", "no",
                             absl::StrCat(lost, " while it rewrites its log")));
        status.Update(expect("maxmemory-policy", "noeviction",
                             "the server may remove items"));
        if (!status.ok()) return status;
        // It would refuse each request.
        status = RefuseReplica(session.connection, deadline - Now());
        if (MayPass(status)) return status;
        if (!status.ok()) {
          settings.push_back(
              absl::StrCat("cannot see whether the server is a replica (",
                           status.message(), ")"));
        }
        return settings;
      });
}

absl::Status RedisEngine::Listen(EngineListener* listener,
                                 absl::Time deadline) {
  const absl::Status started = listener_.Start(
      kFirstRetryPause, kLastRetryPause, [this, listener](absl::Time* since) {
        NameThisThread(name_, "listen");
        const absl::Status status =
            CatchAsStatus([&] { return ListenOnce(listener, since); });
        listener->OnDisconnected(status);
        MutexLock lock(&listen_mu_);
        listen_error_ = status;
      });
  if (!started.ok()) return Named(started);
  MutexLock lock(&listen_mu_);
  const auto over = [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    return subscribed_ || !(listen_error_.ok() || MayPass(listen_error_));
  };
  Clock::GetRealClock()->AwaitWithDeadline(&listen_mu_, absl::Condition(&over),
                                           deadline);
  if (subscribed_) return absl::OkStatus();
  return Named(listen_error_.ok() ? absl::UnavailableError("cannot listen")
                                  : listen_error_);
}

void RedisEngine::StopListening() {
  listener_.Stop();
  listener_.Join();
}

absl::Status RedisEngine::ListenOnce(EngineListener* listener,
                                     absl::Time* since) {
  RedisOptions to = options_;
  {
    MutexLock lock(&listen_mu_);
    to.address = address_;
  }
  const absl::Time deadline = Now() + options_.connect_timeout;
  auto connected =
      RedisConnection::Connect(to, deadline - Now(), listener_.interrupt());
  if (!connected.ok()) return connected.status();
  RedisConnection* const connection = connected->get();
  const auto run = RunOf(connection, deadline);
  if (!run.ok()) return run.status();
  const std::string client = NewUniqueText();
  const std::string common = keys_.front() + ChannelSuffix(options_);
  const std::string own = absl::StrCat(keys_.front(), ":", client);
  auto reply = connection->Call({"SSUBSCRIBE", common, own}, deadline - Now());
  if (!reply.ok()) return reply.status();
  reply = connection->Read(deadline - Now());  // the second channel
  if (!reply.ok()) return reply.status();
  {
    MutexLock lock(&listen_mu_);
    if (!run->empty() && !run_.empty() && *run != run_) {
      return absl::UnavailableError("the requests go to another server");
    }
    listening_run_ = *run;
  }
  const absl::Cleanup forget = [this] {
    MutexLock lock(&listen_mu_);
    listening_run_.reset();
  };
  listener->OnListening(client);
  *since = Now();
  {
    MutexLock lock(&listen_mu_);
    subscribed_ = true;
  }
  while (true) {
    reply = connection->Read(absl::InfiniteDuration());
    if (!reply.ok()) return reply.status();
    if (!Dispatch(**reply, own, listener)) {
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
        absl::StrSplit(text, absl::MaxSplits(' ', 5));
    HandedOut out;
    int64_t now;
    if (parts.size() == 6 && ParseNumber(parts[0], &out.token) &&
        ParseNumber(parts[1], &out.priority) &&
        ParseNumber(parts[2], &out.ticks_queued) &&
        ParseNumber(parts[3], &out.failures) && ParseNumber(parts[4], &now)) {
      out.item = std::string(parts[5]);
      listener->OnPush(std::move(out), now);
    }
  } else if (absl::ConsumePrefix(&text, "due ")) {
    int64_t ticks;
    if (ParseNumber(text, &ticks)) listener->OnDue(ticks);
  } else if (absl::ConsumePrefix(&text, "shutdown ")) {
    int64_t count;
    if (ParseNumber(text, &count)) listener->OnShutDown(count);
  } else if (text == "drained" || text == "open") {
    listener->OnChanged();
  }
  return true;
}

}  // namespace workqueue::internal
