// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/shared/internal/redis_connection.h"

#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/memory/memory.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "hiredis/hiredis.h"
#include "workqueue/shared/redis_options.h"

namespace workqueue {
namespace internal {
namespace {

struct HostAndPort {
  std::string host;
  int port = 0;
};

// Splits "host:port". Returns false if `address` is no such text.
bool Parse(absl::string_view address, HostAndPort* result) {
  const size_t colon = address.rfind(':');
  if (colon == absl::string_view::npos) return false;
  absl::string_view host = address.substr(0, colon);
  if (absl::ConsumePrefix(&host, "[") && !absl::ConsumeSuffix(&host, "]")) {
    return false;
  }
  result->host = std::string(host);
  return !host.empty() &&
         absl::SimpleAtoi(address.substr(colon + 1), &result->port) &&
         result->port > 0 && result->port < 65536;
}

// A timeout of zero would mean none.
timeval KernelTimeout(absl::Duration timeout) {
  return absl::ToTimeval(std::max(timeout, absl::Microseconds(1)));
}

// NoSigpipe
//
// While it exists, writing to a connection that the server has closed returns
// an error, and does not end the process: hiredis writes without MSG_NOSIGNAL.
class NoSigpipe {
 public:
  NoSigpipe() {
    sigset_t pending;
    sigemptyset(&pending);
    sigpending(&pending);
    was_pending_ = sigismember(&pending, SIGPIPE) == 1;
    sigemptyset(&sigpipe_);
    sigaddset(&sigpipe_, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &sigpipe_, &mask_);
  }

  ~NoSigpipe() {
    if (!was_pending_) {
      const timespec at_once = {0, 0};
      while (sigtimedwait(&sigpipe_, nullptr, &at_once) == -1 &&
             errno == EINTR) {
      }
    }
    pthread_sigmask(SIG_SETMASK, &mask_, nullptr);
  }

  NoSigpipe(const NoSigpipe&) = delete;
  NoSigpipe& operator=(const NoSigpipe&) = delete;

 private:
  bool was_pending_;
  sigset_t sigpipe_;
  sigset_t mask_;
};

// Returns the error that the server sent as `text`.
absl::Status ErrorOf(absl::string_view text) {
  const std::string message = absl::StrCat("the server says: ", text);
  // ASK: the keys have left this node, and the other one has not got the slot
  // yet.
  for (const char* prefix : {"LOADING", "BUSY ", "MASTERDOWN", "CLUSTERDOWN",
                             "TRYAGAIN", "ASK ", "MOVED "}) {
    if (absl::StartsWith(text, prefix)) return absl::UnavailableError(message);
  }
  for (const char* prefix : {"NOAUTH", "WRONGPASS", "NOPERM"}) {
    if (absl::StartsWith(text, prefix)) {
      return absl::PermissionDeniedError(message);
    }
  }
  absl::string_view layout = text;
  if (absl::ConsumePrefix(&layout, "WQLAYOUT ")) {
    return absl::FailedPreconditionError(absl::StrCat(
        "another version of this library, or a client with another number of "
        "partitions, wrote the keys: they have layout ",
        layout));
  }
  if (absl::StartsWith(text, "OOM")) {
    return absl::ResourceExhaustedError(message);
  }
  for (const char* prefix : {"READONLY", "MISCONF", "WRONGTYPE", "CROSSSLOT"}) {
    if (absl::StartsWith(text, prefix)) {
      return absl::FailedPreconditionError(message);
    }
  }
  if (absl::StartsWith(text, "NOSCRIPT")) return absl::NotFoundError(message);
  return absl::InternalError(message);
}

}  // namespace

std::vector<std::string> RedisConnection::AddressesOf(
    const RedisOptions& options) {
  if (absl::StartsWith(options.address, "/")) return {options.address};
  return absl::StrSplit(options.address, ',');
}

absl::Status RedisConnection::Check(const RedisOptions& options) {
  for (const std::string& address : AddressesOf(options)) {
    HostAndPort parsed;
    if (absl::StartsWith(address, "/") || Parse(address, &parsed)) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("address is \"", options.address,
                     "\"; it must be \"host:port\", several of these with "
                     "commas between, or the absolute path of a socket"));
  }
  if (options.database < 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "database is ", options.database, "; it must not be negative"));
  }
  if (options.connect_timeout <= absl::ZeroDuration() ||
      options.connect_timeout == absl::InfiniteDuration()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "connect_timeout is ", absl::FormatDuration(options.connect_timeout),
        "; it must be positive and finite"));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<RedisConnection>> RedisConnection::Connect(
    const RedisOptions& options, absl::Duration timeout) {
  absl::Status status = Check(options);
  if (!status.ok()) return status;
  timeout = std::min(timeout, options.connect_timeout);
  const timeval wait = KernelTimeout(timeout);
  const std::string address = AddressesOf(options).front();
  const bool is_socket = absl::StartsWith(address, "/");
  Context context;
  if (is_socket) {
    context.reset(redisConnectUnixWithTimeout(address.c_str(), wait));
  } else {
    HostAndPort to;
    Parse(address, &to);
    context.reset(redisConnectWithTimeout(to.host.c_str(), to.port, wait));
  }
  if (context == nullptr) {
    return absl::ResourceExhaustedError("no memory to connect");
  }
  if (context->err != 0) {
    return absl::UnavailableError(
        absl::StrCat("cannot connect to ", address, ": ", context->errstr));
  }
  auto connection =
      absl::WrapUnique(new RedisConnection(std::move(context), address));
  if (!is_socket) redisEnableKeepAlive(connection->context_.get());
  if (!options.password.empty()) {
    std::vector<absl::string_view> auth = {"AUTH"};
    if (!options.username.empty()) auth.push_back(options.username);
    auth.push_back(options.password);
    status = connection->Call(auth, timeout).status();
    if (!status.ok()) return status;
  }
  if (options.database != 0) {
    status =
        connection->Call({"SELECT", absl::StrCat(options.database)}, timeout)
            .status();
    if (!status.ok()) return status;
  }
  return connection;
}

absl::Status RedisConnection::Broken(absl::string_view what) const {
  return absl::UnknownError(absl::StrCat(what, ": ", context_->errstr));
}

absl::Status RedisConnection::SetTimeout(absl::Duration timeout) {
  if (timeout == timeout_) return absl::OkStatus();
  const timeval wait = timeout == absl::InfiniteDuration()
                           ? timeval{0, 0}
                           : KernelTimeout(timeout);
  if (redisSetTimeout(context_.get(), wait) != REDIS_OK) {
    return Broken("cannot set the timeout");
  }
  timeout_ = timeout;
  return absl::OkStatus();
}

absl::StatusOr<RedisReply> RedisConnection::Call(
    absl::Span<const absl::string_view> command, absl::Duration timeout) {
  if (broken()) {
    return absl::UnavailableError(absl::StrCat(
        "the connection is broken: ",
        moved_to_.empty() ? context_->errstr : "the keys have moved"));
  }
  absl::InlinedVector<const char*, 32> texts;
  absl::InlinedVector<size_t, 32> sizes;
  for (absl::string_view word : command) {
    texts.push_back(word.data() != nullptr ? word.data() : "");
    sizes.push_back(word.size());
  }
  // An appended command is sent by the first call that waits for a reply.
  if (redisAppendCommandArgv(context_.get(), static_cast<int>(command.size()),
                             texts.data(), sizes.data()) != REDIS_OK) {
    return Broken("cannot send");
  }
  return Read(timeout);
}

absl::StatusOr<RedisReply> RedisConnection::Read(absl::Duration timeout) {
  absl::Status status = SetTimeout(timeout);
  if (!status.ok()) return status;
  void* result = nullptr;
  bool in_time = true;
  int returned;
  {
    const NoSigpipe no_sigpipe;
    errno = 0;
    returned = redisGetReply(context_.get(), &result);
    in_time = errno != EAGAIN;
  }
  if (returned != REDIS_OK) {
    return Broken(in_time ? "the connection broke" : "no reply in time");
  }
  RedisReply reply(static_cast<redisReply*>(result));
  if (reply->type == REDIS_REPLY_ERROR) {
    NoteMove(TextOf(*reply));
    return ErrorOf(TextOf(*reply));
  }
  return reply;
}

void RedisConnection::NoteMove(absl::string_view text) {
  if (!absl::ConsumePrefix(&text, "MOVED ")) return;
  const std::vector<absl::string_view> words = absl::StrSplit(text, ' ');
  if (words.size() != 2) return;
  std::string address(words[1]);
  HostAndPort here;
  // A node that does not know its name leaves it out: it is this connection's.
  if (absl::StartsWith(address, ":") && Parse(address_, &here)) {
    address = absl::StrCat(here.host, address);
  }
  HostAndPort parsed;
  if (Parse(address, &parsed)) moved_to_ = address;
}

void RedisConnection::ShutDown() { ::shutdown(context_->fd, SHUT_RDWR); }

}  // namespace internal
}  // namespace workqueue
