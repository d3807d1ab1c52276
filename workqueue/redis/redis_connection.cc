// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/redis/redis_connection.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/memory/memory.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "hiredis/hiredis.h"
#include "workqueue/clock/clock.h"
#include "workqueue/redis/host_lookup.h"
#include "workqueue/redis/redis_address.h"
#include "workqueue/redis/redis_options.h"
#include "workqueue/redis/tls_session.h"
#include "workqueue/redis/wake_fd.h"

namespace workqueue::internal {
namespace {

absl::Time Now() { return Clock::GetRealClock()->TimeNow(); }

SocketAddress AddressOfPath(const std::string& path) {
  SocketAddress address;
  auto* const socket = reinterpret_cast<sockaddr_un*>(&address.storage);
  socket->sun_family = AF_UNIX;
  memcpy(socket->sun_path, path.data(),
         std::min(path.size(), sizeof(socket->sun_path) - 1));
  address.size = sizeof(*socket);
  return address;
}

void SetOption(int fd, int level, int name, int value) {
  setsockopt(fd, level, name, &value, sizeof(value));
}

// Sends at once, and notices within half a minute that the other machine has
// gone. A Unix socket refuses these options.
void SetOptions(int fd) {
  SetOption(fd, IPPROTO_TCP, TCP_NODELAY, 1);
  SetOption(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
#ifdef TCP_KEEPIDLE
  SetOption(fd, IPPROTO_TCP, TCP_KEEPIDLE, 15);
  SetOption(fd, IPPROTO_TCP, TCP_KEEPINTVL, 5);
  SetOption(fd, IPPROTO_TCP, TCP_KEEPCNT, 3);
#endif
}

// Writing to a connection that the server has closed returns an error, and
// sends no signal.
#ifdef MSG_NOSIGNAL
constexpr int kSendFlags = MSG_NOSIGNAL;
void PreventSignals(int) {}
#else
constexpr int kSendFlags = 0;
void PreventSignals(int fd) { SetOption(fd, SOL_SOCKET, SO_NOSIGPIPE, 1); }
#endif

// A child that another thread forks inherits no descriptor.
#ifdef SOCK_CLOEXEC
constexpr int kSocketType = SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC;
#else
constexpr int kSocketType = SOCK_STREAM;
#endif

// How much is encrypted at once.
constexpr size_t kTlsPart = 65536;

bool WouldBlock(int error) { return error == EAGAIN || error == EWOULDBLOCK; }

// Returns a reader of replies that refuses arrays of more elements than any
// reply of a sane server has: for an array it allocates memory before it has
// read the elements.
redisReader* NewReader() {
  constexpr size_t kMaxElements = size_t{1} << 24;
  static decltype(redisReplyObjectFunctions::createArray) create_array;
  redisReader* const reader = redisReaderCreate();
  if (reader == nullptr) return nullptr;
  static redisReplyObjectFunctions* const functions = [reader] {
    auto* const result = new redisReplyObjectFunctions(*reader->fn);
    create_array = result->createArray;
    // The type of a size depends on hiredis' version.
    struct Bounded {
      static void* Create(const redisReadTask* task, size_t elements) {
        return elements <= kMaxElements ? create_array(task, elements)
                                        : nullptr;
      }
      static void* Create(const redisReadTask* task, int elements) {
        return Create(task, static_cast<size_t>(elements));
      }
    };
    result->createArray = Bounded::Create;
    return result;
  }();
  reader->fn = functions;
  return reader;
}

// An error that the server has sent.
struct ServerError {
  absl::Status status;
  // Whether it comes from the state of this server, while another one may do:
  // the connection is to be made again.
  bool leave = false;
};

ServerError ErrorOf(absl::string_view text) {
  const std::string message = absl::StrCat("the server says: ", text);
  // The server has not begun, has become a replica, or is cut off from others.
  // All of it passes, or the server's name leads to another one.
  for (const char* prefix :
       {"LOADING", "MASTERDOWN", "READONLY", "NOREPLICAS", "CLUSTERDOWN",
        "ERR max number of clients reached",
        "ERR WAITAOF cannot be used with replica instances"}) {
    if (absl::StartsWith(text, prefix)) {
      return {absl::UnavailableError(message), true};
    }
  }
  // ASK: the keys have left this node, and the other one has not got the slot
  // yet.
  for (const char* prefix : {"BUSY ", "TRYAGAIN", "ASK ", "MOVED "}) {
    if (absl::StartsWith(text, prefix)) {
      return {absl::UnavailableError(message)};
    }
  }
  // The last but one is that of a command in a script, before version 7.2. The
  // last one comes instead of NOAUTH if the command is long.
  for (const char* prefix : {"NOAUTH", "WRONGPASS", "NOPERM",
                             "ERR The user executing the script can't",
                             "ERR Protocol error: unauthenticated"}) {
    if (absl::StartsWith(text, prefix)) {
      return {absl::PermissionDeniedError(message)};
    }
  }
  absl::string_view layout = text;
  if (absl::ConsumePrefix(&layout, "WQLAYOUT ")) {
    return {absl::FailedPreconditionError(absl::StrCat(
        "another version of this library, or a client with another number of "
        "partitions, wrote the keys: they have layout ",
        layout))};
  }
  if (absl::StartsWith(text, "OOM")) {
    return {absl::ResourceExhaustedError(message)};
  }
  for (const char* prefix : {"MISCONF", "WRONGTYPE", "CROSSSLOT"}) {
    if (absl::StartsWith(text, prefix)) {
      return {absl::FailedPreconditionError(message)};
    }
  }
  if (absl::StartsWith(text, "NOSCRIPT")) {
    return {absl::NotFoundError(message)};
  }
  return {absl::InternalError(message)};
}

// A server that does not know a command repeats its arguments, between quotes:
// those of AUTH have the password.
absl::Status WithoutArguments(const absl::Status& status) {
  return absl::Status(
      status.code(),
      status.message().substr(0, status.message().find_first_of("'`\"")));
}

}  // namespace

bool NeedsPassword(const absl::Status& status) {
  return absl::StrContains(status.message(), "NOAUTH") ||
         absl::StrContains(status.message(), "unauthenticated");
}

absl::Status WithAdvice(const absl::Status& status, absl::string_view what,
                        absl::string_view tag, absl::string_view address) {
  std::string message =
      absl::StrCat(what, " at ", address, ": ", status.message());
  if (NeedsPassword(status)) {
    absl::StrAppend(&message, "; give redis.password, or one in the address");
  } else if (absl::IsPermissionDenied(status) &&
             !absl::StrContains(status.message(), "WRONGPASS")) {
    absl::StrAppend(&message, "; the user needs the keys ~{", tag,
                    "}:*, the channels &{", tag,
                    "}:*, and the commands that docs/guide.md names");
  }
  return absl::Status(status.code(), message);
}

absl::StatusOr<std::unique_ptr<RedisConnection>> RedisConnection::Connect(
    const RedisOptions& given, absl::Duration timeout,
    const WakeFd* interrupt) {
  const absl::StatusOr<RedisOptions> plain = PlainRedisOptions(given);
  if (!plain.ok()) return plain.status();
  const RedisOptions& options = *plain;
  if (interrupt != nullptr && !interrupt->ok()) {
    return absl::ResourceExhaustedError("no file descriptor is left");
  }
  const absl::Time deadline =
      Now() + std::min(timeout, options.connect_timeout);
  auto connection = absl::WrapUnique(new RedisConnection(options, interrupt));
  if (connection->reader_ == nullptr) {
    return absl::UnavailableError("no memory to connect");
  }
  const auto addresses = connection->Resolve(deadline);
  if (!addresses.ok()) return addresses.status();
  absl::Status status = absl::UnavailableError("the name has no address");
  for (size_t left = addresses->size(); left > 0 && !status.ok(); --left) {
    // Leaves time for the other addresses.
    const absl::Time now = Now();
    status = connection->ConnectTo((*addresses)[addresses->size() - left],
                                   now + (deadline - now) / left, options.tls);
  }
  if (!status.ok()) {
    // The way may open again. The certificates hardly change.
    const bool passes =
        !absl::IsFailedPrecondition(status) && !absl::IsInvalidArgument(status);
    return absl::Status(passes ? absl::StatusCode::kUnavailable : status.code(),
                        absl::StrCat("cannot connect to ", connection->address_,
                                     ": ", status.message()));
  }
  // A user without a password must log in, too: otherwise the connection is the
  // default user's.
  if (!options.username.empty() || !options.password.empty()) {
    std::vector<absl::string_view> auth = {"AUTH"};
    if (!options.username.empty()) auth.push_back(options.username);
    auth.push_back(options.password);
    status = connection->Call(auth, deadline - Now()).status();
    if (!status.ok()) return WithoutArguments(status);
  }
  if (options.database != 0) {
    status =
        connection
            ->Call({"SELECT", absl::StrCat(options.database)}, deadline - Now())
            .status();
    if (!status.ok()) return status;
  }
  if (options.acknowledging_replicas > 0) {
    // Asks for none: only whether the server can.
    status =
        connection->Call({"WAITAOF", "1", "0", "1"}, deadline - Now()).status();
    if (absl::IsInternal(status)) {
      return absl::FailedPreconditionError(absl::StrCat(
          "acknowledging_replicas is ", options.acknowledging_replicas,
          ", which needs Redis 7.2 or Valkey 8, with appendonly yes: ",
          status.message()));
    }
    if (!status.ok()) return status;
  }
  return connection;
}

RedisConnection::RedisConnection(const RedisOptions& plain,
                                 const WakeFd* interrupt)
    : address_(AddressesOf(plain).front()),
      acknowledging_replicas_(plain.acknowledging_replicas),
      interrupt_(interrupt),
      reader_(NewReader()) {}

RedisConnection::~RedisConnection() {
  if (fd_ >= 0) close(fd_);
}

void RedisConnection::Break(absl::string_view why) {
  if (!broken()) broken_ = std::string(why);
}

absl::StatusOr<HostLookup::Addresses> RedisConnection::Resolve(
    absl::Time deadline) const {
  if (absl::StartsWith(address_, "/")) {
    return HostLookup::Addresses{AddressOfPath(address_)};
  }
  const HostAndPort to = *ParseHostAndPort(address_);
  return HostLookup::Find(to.host, to.port, [&](int fd) {
    absl::Status found = Await(fd, POLLIN, deadline);
    if (found.ok()) return found;
    return absl::UnavailableError(
        absl::StrCat("cannot resolve ", to.host, ": ", found.message()));
  });
}

absl::Status RedisConnection::ConnectTo(
    const SocketAddress& address, absl::Time deadline,
    const std::optional<RedisTlsOptions>& tls) {
  if (fd_ >= 0) close(fd_);
  fd_ = socket(address.storage.ss_family, kSocketType, 0);
  if (fd_ < 0) return absl::UnavailableError(strerror(errno));
  fcntl(fd_, F_SETFL, O_NONBLOCK);
  fcntl(fd_, F_SETFD, FD_CLOEXEC);
  PreventSignals(fd_);
  if (address.storage.ss_family != AF_UNIX) SetOptions(fd_);
  int error = connect(fd_, reinterpret_cast<const sockaddr*>(&address.storage),
                      address.size) == 0
                  ? 0
                  : errno;
  // A connection to a Unix socket is there at once, or refused.
  if (error == EINPROGRESS || error == EINTR) {
    absl::Status status = Await(fd_, POLLOUT, deadline);
    if (!status.ok()) return status;
    socklen_t size = sizeof(error);
    getsockopt(fd_, SOL_SOCKET, SO_ERROR, &error, &size);
  }
  if (error != 0) return absl::UnavailableError(strerror(error));
  return tls ? BeginTls(*tls, deadline) : absl::OkStatus();
}

absl::Status RedisConnection::BeginTls(const RedisTlsOptions& options,
                                       absl::Time deadline) {
  auto session = TlsSession::Create(options, ParseHostAndPort(address_)->host);
  if (!session.ok()) return session.status();
  tls_ = *std::move(session);
  while (true) {
    const absl::StatusOr<bool> done = tls_->Handshake();
    absl::Status status = SendBytes(tls_->TakeOutput(), deadline);
    if (!done.ok()) return done.status();
    if (status.ok() && *done) return Decrypt(deadline);
    status.Update(ReceiveBytes(deadline));
    if (!status.ok()) {
      return absl::UnavailableError(absl::StrCat("TLS: ", status.message()));
    }
  }
}

absl::Status RedisConnection::Await(int fd,
                                    short events,  // NOLINT(runtime/int)
                                    absl::Time deadline) const {
  pollfd fds[2] = {{fd, events, 0}, {-1, POLLIN, 0}};
  if (interrupt_ != nullptr) fds[1].fd = interrupt_->fd();
  while (true) {
    const absl::Duration left = deadline - Now();
    if (left <= absl::ZeroDuration()) {
      return absl::DeadlineExceededError("no answer in time");
    }
    const int64_t milliseconds =
        absl::ToInt64Milliseconds(absl::Ceil(left, absl::Milliseconds(1)));
    const int ready =
        poll(fds, 2,
             static_cast<int>(std::min(
                 milliseconds, int64_t{std::numeric_limits<int>::max()})));
    if (ready < 0 && errno != EINTR) {
      return absl::UnavailableError(strerror(errno));
    }
    if (ready <= 0) continue;
    if (fds[1].revents != 0) return absl::CancelledError("interrupted");
    return absl::OkStatus();
  }
}

absl::StatusOr<RedisReply> RedisConnection::Call(
    absl::Span<const absl::string_view> command, absl::Duration timeout,
    bool changes) {
  if (timeout <= absl::ZeroDuration()) {
    return absl::UnavailableError("no time is left");
  }
  const absl::Time deadline = Now() + timeout;
  if (reader_->pos != reader_->len) Break("the server has sent too much");
  if (broken()) {
    return absl::UnavailableError(
        absl::StrCat("the connection is broken: ", broken_));
  }
  std::string bytes = absl::StrCat("*", command.size(), "\r\n");
  for (absl::string_view word : command) {
    absl::StrAppend(&bytes, "$", word.size(), "\r\n", word, "\r\n");
  }
  // After an exception the reply may come still.
  absl::Cleanup unread = [this] { Break("no memory"); };
  absl::Status status = Send(bytes, deadline);
  if (!status.ok()) {
    // The server executes no command that it has not got as a whole.
    Break(status.message());
    return absl::UnavailableError(
        absl::StrCat("cannot send: ", status.message()));
  }
  absl::StatusOr<RedisReply> reply = Receive(deadline);
  if (reply.ok() && changes && acknowledging_replicas_ > 0) {
    status = AwaitReplicas(deadline);
    if (!status.ok()) {
      Break(status.message());
      return status;
    }
  }
  std::move(unread).Cancel();
  return reply;
}

absl::Status RedisConnection::AwaitReplicas(absl::Time deadline) {
  // A replica that syncs its log later than it is asked tells so each second
  // only, unless the server asks again.
  absl::Duration wait = absl::Milliseconds(10);
  absl::Status status = absl::UnknownError("no time is left for the replicas");
  bool answered = false;
  for (absl::Duration left = deadline - Now(); left > absl::ZeroDuration();
       left = deadline - Now()) {
    const absl::Duration part =
        std::max(std::min(wait, left / 2), absl::Milliseconds(1));
    const auto reply =
        Call({"WAITAOF", "1", absl::StrCat(acknowledging_replicas_),
              absl::StrCat(absl::ToInt64Milliseconds(part))},
             left);
    if (!reply.ok()) {
      // The last answer tells more than that there was no further one in time.
      if (answered && Now() >= deadline) break;
      return absl::UnknownError(reply.status().message());
    }
    answered = true;
    const redisReply& synced = **reply;  // the server, which is 1, and replicas
    if (synced.type != REDIS_REPLY_ARRAY || synced.elements != 2) {
      return absl::UnknownError("the reply to WAITAOF has an unexpected form");
    }
    const auto replicas = synced.element[1]->integer;
    if (synced.element[0]->integer > 0 && replicas >= acknowledging_replicas_) {
      return absl::OkStatus();
    }
    status = absl::UnknownError(
        absl::StrCat("acknowledging_replicas is ", acknowledging_replicas_,
                     ", but only ", replicas, " had it on the disk in time"));
    wait = std::min(2 * wait, absl::Milliseconds(250));
  }
  return status;
}

absl::StatusOr<RedisReply> RedisConnection::Read(absl::Duration timeout) {
  return Receive(Now() + timeout);
}

absl::Status RedisConnection::Send(absl::string_view bytes,
                                   absl::Time deadline) {
  if (tls_ == nullptr) return SendBytes(bytes, deadline);
  absl::Status status;
  // The memory of a part is enough.
  for (size_t i = 0; i < bytes.size() && status.ok(); i += kTlsPart) {
    status = tls_->Encrypt(bytes.substr(i, kTlsPart));
    status.Update(SendBytes(tls_->TakeOutput(), deadline));
  }
  return status;
}

absl::Status RedisConnection::SendBytes(absl::string_view bytes,
                                        absl::Time deadline) {
  while (!bytes.empty()) {
    const ssize_t sent = send(fd_, bytes.data(), bytes.size(), kSendFlags);
    if (sent >= 0) {
      bytes.remove_prefix(static_cast<size_t>(sent));
    } else if (!WouldBlock(errno) && errno != EINTR) {
      return absl::UnavailableError(strerror(errno));
    }
    if (bytes.empty()) break;
    absl::Status status = Await(fd_, POLLOUT, deadline);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status RedisConnection::ReceiveBytes(absl::Time deadline) {
  absl::Status status = Await(fd_, POLLIN, deadline);
  if (!status.ok()) return status;
  char buffer[16384];
  const ssize_t size = recv(fd_, buffer, sizeof(buffer), 0);
  if (size > 0) {
    const absl::string_view bytes(buffer, static_cast<size_t>(size));
    if (tls_ != nullptr) {
      tls_->Feed(bytes);
    } else {
      redisReaderFeed(reader_.get(), bytes.data(), bytes.size());
    }
  } else if (size == 0) {
    status = absl::UnknownError("the server has closed the connection");
  } else if (!WouldBlock(errno) && errno != EINTR) {
    status = absl::UnknownError(strerror(errno));
  }
  return status;
}

absl::Status RedisConnection::Decrypt(absl::Time deadline) {
  if (tls_ == nullptr) return absl::OkStatus();
  const absl::StatusOr<std::string> plain = tls_->Decrypt();
  // Its answers to what is no reply.
  absl::Status status = SendBytes(tls_->TakeOutput(), deadline);
  if (!plain.ok()) return plain.status();
  redisReaderFeed(reader_.get(), plain->data(), plain->size());
  return status;
}

absl::StatusOr<RedisReply> RedisConnection::Receive(absl::Time deadline) {
  absl::Status status;
  while (status.ok()) {
    void* result = nullptr;
    if (redisReaderGetReply(reader_.get(), &result) != REDIS_OK) {
      status = absl::UnknownError(
          absl::StrCat("the reply cannot be read: ", reader_->errstr));
      break;
    }
    if (result != nullptr) {
      RedisReply reply(static_cast<redisReply*>(result));
      if (reply->type != REDIS_REPLY_ERROR) return reply;
      const ServerError error = ErrorOf(TextOf(*reply));
      NoteMove(TextOf(*reply));
      if (error.leave) Break(error.status.message());
      return error.status;
    }
    status = ReceiveBytes(deadline);
    if (status.ok()) status = Decrypt(deadline);
  }
  Break(status.message());
  return absl::UnknownError(broken_);
}

void RedisConnection::NoteMove(absl::string_view text) {
  if (!absl::ConsumePrefix(&text, "MOVED ")) return;
  const std::vector<absl::string_view> words = absl::StrSplit(text, ' ');
  if (words.size() != 2) return;
  std::string address(words[1]);
  // A node that does not know its name leaves it out: it is this connection's.
  if (absl::StartsWith(address, ":")) {
    const auto here = ParseHostAndPort(address_);
    if (here) address = absl::StrCat(here->host, address);
  }
  if (!ParseHostAndPort(address)) return;
  moved_to_ = address;
  Break("the keys have moved");
}

absl::Status RefuseReplica(RedisConnection* connection,
                           absl::Duration timeout) {
  const auto info = connection->Call({"INFO", "replication"}, timeout);
  if (!info.ok()) return info.status();
  if (!absl::StrContains(TextOf(**info), "role:slave")) return absl::OkStatus();
  constexpr absl::string_view kWhy = "the server is a replica";
  connection->Break(kWhy);
  return absl::UnavailableError(kWhy);
}

}  // namespace workqueue::internal
