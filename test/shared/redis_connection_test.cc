// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Tests that each call of a connection keeps its timeout, whatever the network
// does. This program replaces the functions of the C library that can block a
// connection, and checks each call of them.

#include "workqueue/redis/redis_connection.h"

#include "absl/base/config.h"
#include "gtest/gtest.h"

#if defined(ABSL_HAVE_THREAD_SANITIZER) || defined(ABSL_HAVE_ADDRESS_SANITIZER)

TEST(RedisConnectionTest, NeedsTheseFunctions) {
  GTEST_SKIP() << "the sanitizer has replaced them itself";
}

#else

#include <dlfcn.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/un.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "test/base/counted_heap.h"
#include "test/base/every_allocation.h"
#include "test/shared/ignoring_listener.h"
#include "test/shared/redis_fixture.h"
#include "test/shared/redis_server.h"
#include "test/shared/reply_proxy.h"
#include "workqueue/clock/clock.h"
#include "workqueue/leader_election/internal/leader_lease.h"
#include "workqueue/redis/host_lookup.h"
#include "workqueue/redis/redis_options.h"
#include "workqueue/redis/wake_fd.h"
#include "workqueue/shared/internal/engine.h"
#include "workqueue/shared/internal/redis_engine.h"
#include "workqueue/testing/thread.h"

namespace {

// So long that each copy allocates memory.
constexpr char kSilentHost[] = "a-silent-host.example";

// Whether the thread is watched, and what such threads have done: calls that
// may block without end, and polls.
thread_local bool watches = false;
std::atomic<int> unbounded{0};
std::atomic<int> polls{0};
std::atomic<int> longest_poll{0};  // in milliseconds, the timeout
std::atomic<int> lookups{0};
// Descriptors that a child that another thread forks at once would inherit.
std::atomic<int> inheritable{0};
// Holds up lookups of the silent host while it is not null.
std::atomic<absl::Notification*> name_server{nullptr};

template <typename F>
F* Next(const char* name) {
  return reinterpret_cast<F*>(dlsym(RTLD_NEXT, name));
}

void CheckSocket(int fd) {
  if (watches && (fcntl(fd, F_GETFL) & O_NONBLOCK) == 0) ++unbounded;
}

}  // namespace

extern "C" {

int socket(int domain, int type, int protocol) {
  if (watches && (type & SOCK_CLOEXEC) == 0) ++inheritable;
  return Next<decltype(socket)>("socket")(domain, type, protocol);
}

int pipe(int* ends) {
  if (watches) ++inheritable;
  return Next<decltype(pipe)>("pipe")(ends);
}

int poll(pollfd* fds, nfds_t n, int timeout) {
  if (watches) {
    ++polls;
    if (timeout < 0) ++unbounded;
    longest_poll = std::max<int>(longest_poll, timeout);
  }
  return Next<decltype(poll)>("poll")(fds, n, timeout);
}

int connect(int fd, const sockaddr* address, socklen_t size) {
  CheckSocket(fd);
  return Next<decltype(connect)>("connect")(fd, address, size);
}

ssize_t recv(int fd, void* buffer, size_t size, int flags) {
  CheckSocket(fd);
  return Next<decltype(recv)>("recv")(fd, buffer, size, flags);
}

ssize_t send(int fd, const void* buffer, size_t size, int flags) {
  CheckSocket(fd);
  return Next<decltype(send)>("send")(fd, buffer, size, flags);
}

ssize_t read(int fd, void* buffer, size_t size) {
  CheckSocket(fd);
  return Next<decltype(read)>("read")(fd, buffer, size);
}

ssize_t write(int fd, const void* buffer, size_t size) {
  CheckSocket(fd);
  return Next<decltype(write)>("write")(fd, buffer, size);
}

int getaddrinfo(const char* host, const char* service, const addrinfo* hints,
                addrinfo** result) {
  if ((hints->ai_flags & AI_NUMERICHOST) == 0) {
    if (watches) ++unbounded;
    ++lookups;
    if (strcmp(host, kSilentHost) == 0) {
      absl::Notification* const answers = name_server;
      if (answers != nullptr) answers->WaitForNotification();
      host = "localhost";
    }
  }
  return Next<decltype(getaddrinfo)>("getaddrinfo")(host, service, hints,
                                                    result);
}

}  // extern "C"

namespace workqueue::internal {
namespace {

// The timeout of a call that waits in vain, and of one that must succeed,
// however busy the machine is.
constexpr absl::Duration kTimeout = absl::Milliseconds(200);
constexpr absl::Duration kLongTimeout = absl::Seconds(10);
// A busy machine may add this to a timeout. A call whose timeout began anew
// with each byte would take much longer.
constexpr absl::Duration kPatience = absl::Seconds(3);

absl::Time Now() { return Clock::GetRealClock()->TimeNow(); }

class RedisConnectionTest : public RedisFixture {
 protected:
  RedisConnectionTest()
      : RedisFixture([] {
          RedisServer::Options options;
          options.tcp = true;
          return options;
        }()) {}

  void SetUp() override {
    RedisFixture::SetUp();
    if (server() == nullptr) return;
    proxy_ = std::make_unique<ReplyProxy>(server()->socket_path());
    options_.address = proxy_->socket_path();
    unbounded = 0;
    inheritable = 0;
    polls = 0;
    lookups = 0;
  }

  void TearDown() override {
    watches = false;
    EXPECT_EQ(unbounded, 0) << "calls that may block without end";
    EXPECT_EQ(inheritable, 0);
  }

  // Returns the result of `f()`, which has that timeout, and keeps it.
  template <typename F>
  static auto InTime(absl::Duration timeout, F f) {
    longest_poll = 0;
    const absl::Time start = Now();
    watches = true;
    auto result = f();
    watches = false;
    EXPECT_LT(Now() - start, timeout + kPatience);
    EXPECT_LE(longest_poll, absl::ToInt64Milliseconds(timeout) + 1);
    return result;
  }

  absl::StatusOr<std::unique_ptr<RedisConnection> > Connect(
      absl::Duration timeout = kTimeout) {
    options_.connect_timeout = timeout;
    return InTime(timeout, [this] {
      return RedisConnection::Connect(options_, absl::Seconds(60));
    });
  }

  static absl::StatusOr<RedisReply> Call(
      RedisConnection* connection,
      const std::vector<absl::string_view>& command, absl::Duration timeout) {
    return InTime(timeout, [&] { return connection->Call(command, timeout); });
  }

  std::unique_ptr<RedisConnection> MustConnect() {
    auto connection = Connect(kLongTimeout);
    EXPECT_TRUE(connection.ok()) << connection.status();
    return connection.ok() ? *std::move(connection) : nullptr;
  }

  RedisOptions options_;
  std::unique_ptr<ReplyProxy> proxy_;
};

TEST_F(RedisConnectionTest, Calls) {
  const auto connection = MustConnect();
  ASSERT_NE(connection, nullptr);
  const std::string large(1 << 20, 'x');
  for (absl::string_view value :
       {absl::string_view("a\r\n\0b", 5), absl::string_view(),
        absl::string_view(large)}) {
    auto reply = Call(connection.get(), {"ECHO", value}, kLongTimeout);
    ASSERT_TRUE(reply.ok()) << reply.status();
    EXPECT_EQ(TextOf(**reply), value);
  }
  EXPECT_GT(polls, 0) << "seen by this test";
}

TEST_F(RedisConnectionTest, AChildInheritsNoFlag) {
  watches = true;
  EXPECT_TRUE(WakeFd().ok());
}

TEST_F(RedisConnectionTest, AReplyThatDripsIsNotInTime) {
  const auto connection = MustConnect();
  ASSERT_NE(connection, nullptr);
  proxy_->Drip(true);
  const auto reply = Call(connection.get(), {"INFO"}, kTimeout);
  EXPECT_EQ(reply.status().code(), absl::StatusCode::kUnknown)
      << reply.status();
  EXPECT_TRUE(connection->broken());
  proxy_->Drip(false);
  EXPECT_TRUE(
      absl::IsUnavailable(connection->Call({"PING"}, kTimeout).status()));
}

// It has not failed, although it takes more than half of the time.
TEST_F(RedisConnectionTest, AReplyThatDripsMayBeInTime) {
  const auto connection = MustConnect();
  ASSERT_NE(connection, nullptr);
  proxy_->Drip(true);
  const std::string text(120, 'x');
  const auto reply = Call(connection.get(), {"ECHO", text}, absl::Seconds(4));
  ASSERT_TRUE(reply.ok()) << reply.status();
  EXPECT_EQ(TextOf(**reply), text);
}

TEST_F(RedisConnectionTest, ARequestThatTheServerDoesNotReadIsNotExecuted) {
  const auto connection = MustConnect();
  ASSERT_NE(connection, nullptr);
  proxy_->Hold(true);
  const std::string large(64 << 20, 'x');
  const auto reply = Call(connection.get(), {"SET", "a", large}, kTimeout);
  EXPECT_TRUE(absl::IsUnavailable(reply.status())) << reply.status();
  EXPECT_TRUE(connection->broken());
}

// An attempt to connect has one timeout, with all that belongs to it.
TEST_F(RedisConnectionTest, AnAttemptToConnectIsInTimeIfItsRepliesDrip) {
  options_.password = "the server has none, and says so in many words";
  proxy_->Drip(true);
  EXPECT_EQ(Connect().status().code(), absl::StatusCode::kUnknown);
  options_.password = "";
  options_.database = 3000;  // out of range
  EXPECT_EQ(Connect().status().code(), absl::StatusCode::kUnknown);
}

TEST_F(RedisConnectionTest, AnErrorOfTheLoginShowsNoPassword) {
  options_.address = absl::StrCat("unix://:secret@", proxy_->socket_path());
  proxy_->SetHook([](std::string* reply) {
    *reply =
        "-ERR unknown command 'AUTH', with args beginning with: 'secret' \r\n";
  });
  EXPECT_EQ(Connect(kLongTimeout).status(),
            absl::InternalError("the server says: ERR unknown command "));
}

TEST_F(RedisConnectionTest, AServerWithTooManyClientsMayHaveFewerLater) {
  proxy_->SetHook([](std::string* reply) {
    *reply = "-ERR max number of clients + cluster connections reached\r\n";
  });
  options_.acknowledging_replicas = 1;
  for (const char* password : {"", "secret"}) {
    options_.password = password;
    const absl::Status status = Connect(kLongTimeout).status();
    EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  }
}

// It does not know whether it serves the keys until it is asked for some.
TEST_F(RedisConnectionTest, AReplicaOfAClusterTellsWhereTheKeysAre) {
  std::atomic<int> replies{0};
  proxy_->SetHook([&replies](std::string* reply) {
    *reply = replies++ == 0 ? "-ERR WAITAOF cannot be used with replica "
                              "instances. Please also note that writes to "
                              "replicas are just local.\r\n"
                            : "-MOVED 1 127.0.0.1:7\r\n";
  });
  options_.acknowledging_replicas = 1;
  const auto connection = MustConnect();
  ASSERT_NE(connection, nullptr);
  EXPECT_FALSE(Call(connection.get(), {"HGET", "a", "b"}, kLongTimeout).ok());
  EXPECT_EQ(connection->moved_to(), "127.0.0.1:7");
}

TEST_F(RedisConnectionTest, ANameServerThatDoesNotAnswerHoldsNothingUp) {
  options_.address = absl::StrCat(kSilentHost, ":", server()->port());
  absl::Notification answers;
  name_server = &answers;
  for (int i = 0; i < 3; ++i) {
    const auto connection = Connect();
    EXPECT_TRUE(absl::IsUnavailable(connection.status()));
    EXPECT_TRUE(absl::StrContains(connection.status().message(),
                                  "cannot resolve a-silent-host.example: no "
                                  "answer in time"))
        << connection.status();
  }
  EXPECT_EQ(lookups, 1) << "all attempts share it";
  answers.Notify();
  name_server = nullptr;
  while (!Connect(kLongTimeout).ok()) {
  }
}

TEST_F(RedisConnectionTest, KnowsHostsByNameAndByNumber) {
  for (const char* host : {"localhost", "127.0.0.1"}) {
    options_.address = absl::StrCat(host, ":", server()->port());
    const auto connection = MustConnect();
    ASSERT_NE(connection, nullptr);
    EXPECT_TRUE(Call(connection.get(), {"PING"}, kLongTimeout).ok());
  }
  options_.address = "no such host.invalid:1";
  EXPECT_TRUE(absl::IsUnavailable(Connect().status()));
  options_.address = "127.0.0.1:1";
  EXPECT_TRUE(absl::IsUnavailable(Connect().status()));
}

TEST_F(RedisConnectionTest, ARefusedSocketIsNoServer) {
  options_.address = absl::StrCat(server()->socket_path(), "x");
  EXPECT_TRUE(absl::IsUnavailable(Connect().status()));
  options_.address = std::string(sizeof(sockaddr_un::sun_path), '/');
  EXPECT_TRUE(absl::IsInvalidArgument(Connect().status()));
}

TEST_F(RedisConnectionTest, AnInterruptEndsAWaitWithoutEnd) {
  options_.connect_timeout = kLongTimeout;
  WakeFd interrupt;
  auto connection =
      RedisConnection::Connect(options_, absl::Seconds(60), &interrupt);
  ASSERT_TRUE(connection.ok()) << connection.status();
  Thread interrupter([&] {
    Clock::GetRealClock()->Sleep(absl::Milliseconds(20));
    interrupt.Set();
  });
  EXPECT_FALSE((*connection)->Read(absl::InfiniteDuration()).ok());
  interrupter.join();
  EXPECT_TRUE((*connection)->broken());
  // Those that begin while it is set do not wait, either.
  auto other = RedisConnection::Connect(options_, kTimeout, &interrupt);
  EXPECT_FALSE(other.ok() && (*other)->Call({"PING"}, kTimeout).ok());
  interrupt.Clear();
  other = RedisConnection::Connect(options_, kLongTimeout, &interrupt);
  ASSERT_TRUE(other.ok()) << other.status();
  EXPECT_TRUE((*other)->Call({"PING"}, kLongTimeout).ok());
}

// Otherwise the next request would take the surplus reply for its own.
TEST_F(RedisConnectionTest, AReplyTooManyBreaksTheConnection) {
  const auto connection = MustConnect();
  ASSERT_NE(connection, nullptr);
  proxy_->SetHook([](std::string* reply) { *reply += "+PONG\r\n"; });
  EXPECT_TRUE(Call(connection.get(), {"PING"}, kLongTimeout).ok());
  EXPECT_TRUE(
      absl::IsUnavailable(connection->Call({"ECHO", "x"}, kTimeout).status()));
}

TEST_F(RedisConnectionTest, AHugeArrayIsRefusedBeforeItsMemoryIsTaken) {
  for (const char* size : {"2147483648", "2147483647", "16777217", "-2",
                           "9223372036854775807", "99999999999999999999"}) {
    proxy_->SetHook([size](std::string* reply) {
      *reply = absl::StrCat("*", size, "\r\n");
    });
    const auto connection = MustConnect();
    ASSERT_NE(connection, nullptr);
    const auto reply = Call(connection.get(), {"PING"}, kLongTimeout);
    EXPECT_EQ(reply.status().code(), absl::StatusCode::kUnknown) << size;
    EXPECT_TRUE(absl::StrContains(reply.status().message(), "cannot be read"))
        << reply.status();
    EXPECT_TRUE(connection->broken());
  }
}

#ifdef ABSL_HAVE_EXCEPTIONS

// The allocation with each number fails. Otherwise the next call would take the
// late reply for its own.
TEST_F(RedisConnectionTest, ATimeoutWithoutMemoryBreaksTheConnection) {
  bool failed = true;
  for (int64_t failing = 1; failed; ++failing) {
    const auto connection = MustConnect();
    ASSERT_NE(connection, nullptr);
    proxy_->Hold(true);
    CountedHeap::until_failure_here = failing;
    try {
      connection->Call({"ECHO", "old"}, absl::Milliseconds(20)).IgnoreError();
    } catch (const std::bad_alloc&) {
    }
    failed = std::exchange(CountedHeap::until_failure_here, 0) == 0;
    proxy_->Hold(false);
    const auto reply = connection->Call({"ECHO", "new"}, kLongTimeout);
    if (reply.ok()) {
      EXPECT_EQ(TextOf(**reply), "new") << failing;
    }
  }
}

TEST_F(RedisConnectionTest, ALookupWithoutMemoryEnds) {
  const auto find = [] {
    return HostLookup::Find(kSilentHost, 1, [](int fd) -> absl::Status {
      pollfd ready = {fd, POLLIN, 0};
      if (poll(&ready, 1, 1000) == 1) return absl::OkStatus();
      return absl::DeadlineExceededError("it does not end");
    });
  };
  ForEveryAllocation([&find] {
    absl::Status status = absl::UnknownError("");
    for (int i = 0; i < 20 && !status.ok(); ++i)
      status = Persist(find).status();
    EXPECT_EQ(status, absl::OkStatus());
  });
}

TEST_F(RedisConnectionTest, AnEngineThatListensWithoutMemoryTriesAgain) {
  options_.address = server()->socket_path();
  ForEveryAllocation([this] {
    IgnoringListener listener;
    RedisEngine engine("q", 1, options_);
    engine.Listen(&listener, Now() + kLongTimeout).IgnoreError();
    engine.StopListening();
  });
}

TEST_F(RedisConnectionTest, AnElectorWithoutMemoryTellsThatItMayNotListen) {
  ASSERT_TRUE(SendTo(server()->socket_path(), {"ACL", "SETUSER", "worker", "on",
                                               "nopass", "~*", "+@all"})
                  .ok());
  options_.address = server()->socket_path();
  options_.username = "worker";
  ForEveryAllocation([this] {
    LeaderLease::Options election;
    election.name = "election";
    election.redis = options_;
    absl::Notification told;
    LeaderLease lease(election);
    const absl::Status started =
        lease.Listen([] {}, [&told](const absl::Status&) { told.Notify(); });
    EXPECT_EQ(started, absl::OkStatus());
    EXPECT_TRUE(told.WaitForNotificationWithTimeout(kLongTimeout));
  });
}

#endif  // ABSL_HAVE_EXCEPTIONS

}  // namespace
}  // namespace workqueue::internal

#endif  // no sanitizer
