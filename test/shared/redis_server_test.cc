// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "test/shared/redis_server.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>  // NOLINT(build/c++17)
#include <fstream>
#include <memory>
#include <set>
#include <string>
#include <system_error>  // NOLINT(build/c++11)
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "hiredis/hiredis.h"
#include "test/shared/redis_fixture.h"
#include "workqueue/testing/thread.h"

namespace workqueue::redis_server_test {
namespace {

using Connection = std::unique_ptr<redisContext, void (*)(redisContext*)>;

Connection Connect(const std::string& socket_path) {
  return Connection(redisConnectUnix(socket_path.c_str()), redisFree);
}

// Returns the text of the answer to `command`, or the connection's error.
std::string Send(const Connection& connection, const char* command) {
  if (connection->err != 0) return connection->errstr;
  const std::unique_ptr<redisReply, void (*)(void*)> reply(
      static_cast<redisReply*>(redisCommand(connection.get(), command)),
      freeReplyObject);
  if (reply == nullptr) return connection->errstr;
  return reply->type == REDIS_REPLY_NIL ? "(nil)"
                                        : std::string(reply->str, reply->len);
}

// Returns whether the server closes the connection within 20 seconds. To write
// instead would raise SIGPIPE.
bool AwaitClose(const Connection& connection) {
  redisSetTimeout(connection.get(), {20, 0});
  void* reply = nullptr;
  return redisGetReply(connection.get(), &reply) == REDIS_ERR &&
         (connection->err == REDIS_ERR_EOF || errno == ECONNRESET);
}

// Sets an environment variable for the time of a test.
class ScopedVariable {
 public:
  ScopedVariable(const char* name, const std::string& value) : name_(name) {
    if (const char* const old = getenv(name)) {
      was_set_ = true;
      old_ = old;
    }
    setenv(name, value.c_str(), 1);
  }
  ~ScopedVariable() {
    if (was_set_) {
      setenv(name_, old_.c_str(), 1);
    } else {
      unsetenv(name_);
    }
  }

 private:
  const char* const name_;
  bool was_set_ = false;
  std::string old_;
};

class RedisServerTest : public RedisFixture {
 protected:
  std::string Send(const char* command) const {
    return redis_server_test::Send(Connect(server()->socket_path()), command);
  }
};

TEST_F(RedisServerTest, Answers) {
  EXPECT_EQ(Send("PING"), "PONG");
  EXPECT_EQ(server()->port(), 0);
  EXPECT_GT(server()->pid(), 0);
}

TEST_F(RedisServerTest, EachHasADatabaseOfItsOwn) {
  const absl::StatusOr<std::unique_ptr<RedisServer>> other =
      RedisServer::Start();
  ASSERT_TRUE(other.ok()) << other.status();
  EXPECT_EQ(Send("SET key here"), "OK");
  EXPECT_EQ(
      redis_server_test::Send(Connect((*other)->socket_path()), "GET key"),
      "(nil)");
}

TEST_F(RedisServerTest, ADatabaseSurvivesAKill) {
  const Connection connection = Connect(server()->socket_path());
  EXPECT_EQ(redis_server_test::Send(connection, "SET key value"), "OK");
  const pid_t pid = server()->pid();

  server()->Kill();
  EXPECT_EQ(server()->pid(), -1);
  EXPECT_TRUE(AwaitClose(connection));
  EXPECT_EQ(Send("GET key"), "Connection refused");
  server()->Kill();  // does nothing

  ASSERT_TRUE(server()->Restart().ok());
  EXPECT_NE(server()->pid(), pid);
  EXPECT_EQ(Send("GET key"), "value");
}

TEST_F(RedisServerTest, ADatabaseSurvivesAStop) {
  EXPECT_EQ(Send("SET key value"), "OK");
  server()->Stop();
  EXPECT_EQ(server()->pid(), -1);
  EXPECT_EQ(Send("GET key"), "No such file or directory");
  server()->Stop();  // does nothing
  ASSERT_TRUE(server()->Restart().ok());
  EXPECT_EQ(Send("GET key"), "value");
}

TEST_F(RedisServerTest, RestartKillsARunningServer) {
  EXPECT_EQ(Send("SET key value"), "OK");
  const pid_t pid = server()->pid();
  ASSERT_TRUE(server()->Restart().ok());
  EXPECT_NE(server()->pid(), pid);
  EXPECT_EQ(Send("GET key"), "value");
}

TEST_F(RedisServerTest, APausedServerDoesNotAnswer) {
  EXPECT_EQ(Send("SET key value"), "OK");
  server()->Pause();
  const Connection connection = Connect(server()->socket_path());
  redisSetTimeout(connection.get(), {0, 20000});
  EXPECT_EQ(redis_server_test::Send(connection, "GET key"),
            "Resource temporarily unavailable");
  server()->Resume();
  EXPECT_EQ(Send("GET key"), "value");
}

TEST_F(RedisServerTest, StopEndsAPausedServer) {
  server()->Pause();
  server()->Stop();
  EXPECT_EQ(server()->pid(), -1);
}

TEST_F(RedisServerTest, OutlivesTheThreadThatStartsIt) {
  Thread([this] { EXPECT_TRUE(server()->Restart().ok()); }).join();
  EXPECT_EQ(Send("PING"), "PONG");
}

TEST_F(RedisServerTest, InheritsNoDescriptor) {
  const std::string path = testing::TempDir() + "/inherited";
  std::ofstream(path) << "text";
  const int fd = open(path.c_str(), O_RDONLY);  // not close-on-exec
  ASSERT_GE(fd, 0);
  ASSERT_TRUE(server()->Restart().ok());
  std::set<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(
           absl::StrCat("/proc/", server()->pid(), "/fd"))) {
    std::error_code error;
    files.insert(std::filesystem::read_symlink(entry, error));
  }
  EXPECT_EQ(files.count(std::filesystem::canonical(path)), 0);
  EXPECT_EQ(files.count("/dev/null"), 1);
  close(fd);
}

TEST_F(RedisServerTest, ListensAtATcpPort) {
  RedisServer::Options options;
  options.tcp = true;
  const absl::StatusOr<std::unique_ptr<RedisServer>> server =
      RedisServer::Start(options);
  ASSERT_TRUE(server.ok()) << server.status();
  const int port = (*server)->port();
  ASSERT_TRUE((*server)->Restart().ok());
  EXPECT_EQ((*server)->port(), port);
  const Connection connection(redisConnect("127.0.0.1", port), redisFree);
  EXPECT_EQ(redis_server_test::Send(connection, "PING"), "PONG");
}

TEST_F(RedisServerTest, ConfigIsStrongerThanTheDefaults) {
  RedisServer::Options options;
  options.config = {"appendonly no"};
  const absl::StatusOr<std::unique_ptr<RedisServer>> server =
      RedisServer::Start(options);
  ASSERT_TRUE(server.ok()) << server.status();
  EXPECT_EQ(redis_server_test::Send(Connect((*server)->socket_path()),
                                    "SET key value"),
            "OK");
  ASSERT_TRUE((*server)->Restart().ok());
  EXPECT_EQ(
      redis_server_test::Send(Connect((*server)->socket_path()), "GET key"),
      "(nil)");
}

TEST_F(RedisServerTest, AnErrorHasTheLog) {
  RedisServer::Options options;
  options.config = {"no-such-option 1"};
  const absl::Status status = RedisServer::Start(options).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
  EXPECT_TRUE(absl::StrContains(status.message(), "no-such-option")) << status;
}

TEST_F(RedisServerTest, SocketPathsAreShortEnough) {
  const std::string folder =
      absl::StrCat(testing::TempDir(), "/", std::string(100, 'x'));
  std::filesystem::create_directories(folder);
  const ScopedVariable variable("TEST_TMPDIR", folder);
  const absl::StatusOr<std::unique_ptr<RedisServer>> server =
      RedisServer::Start();
  ASSERT_TRUE(server.ok()) << server.status();
  EXPECT_EQ((*server)->socket_path().rfind("/tmp/", 0), 0);
}

TEST_F(RedisServerTest, RemovesItsFiles) {
  absl::StatusOr<std::unique_ptr<RedisServer>> server = RedisServer::Start();
  ASSERT_TRUE(server.ok()) << server.status();
  const std::filesystem::path socket = (*server)->socket_path();
  EXPECT_TRUE(std::filesystem::exists(socket));
  server->reset();
  EXPECT_FALSE(std::filesystem::exists(socket.parent_path()));
}

// The fixture skips this test if there is no server.
using RedisServerDeathTest = RedisServerTest;

TEST_F(RedisServerDeathTest, TheServerEndsWithTheProcess) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const std::string file = testing::TempDir() + "/socket_path";
  EXPECT_EXIT(
      {
        std::ofstream(file) << server()->socket_path();
        _exit(0);
      },
      testing::ExitedWithCode(0), "");
  std::string socket_path;
  std::ifstream(file) >> socket_path;
  ASSERT_FALSE(socket_path.empty());
  ASSERT_NE(socket_path, server()->socket_path());

  const Connection connection = Connect(socket_path);
  if (connection->err == 0) {  // The server's end may take a moment.
    EXPECT_TRUE(AwaitClose(connection)) << connection->errstr;
  }
  std::filesystem::remove_all(std::filesystem::path(socket_path).parent_path());
}

TEST(RedisServerFindTest, TheVariableNamesTheProgram) {
  const ScopedVariable variable("WORKQUEUE_REDIS_SERVER", "/bin/sh");
  const absl::StatusOr<RedisServer::Program> program = RedisServer::Find();
  ASSERT_TRUE(program.ok()) << program.status();
  EXPECT_EQ(program->path, "/bin/sh");
  EXPECT_EQ(program->name, "sh");
}

TEST(RedisServerFindTest, TheServerGoesByItsName) {
  const std::string folder = testing::TempDir() + "/bin";
  std::filesystem::create_directories(folder);
  const ScopedVariable path("PATH", folder);
  const ScopedVariable variable("WORKQUEUE_REDIS_SERVER", "");
  for (const std::string name :
       {"redis-check-rdb", "redis-server", "valkey-server"}) {
    const std::string file = absl::StrCat(folder, "/", name);
    std::ofstream(file).close();
    std::filesystem::permissions(file, std::filesystem::perms::owner_all);
    const absl::StatusOr<RedisServer::Program> program = RedisServer::Find();
    ASSERT_TRUE(program.ok()) << program.status();
    EXPECT_EQ(program->path, file);
    EXPECT_EQ(program->name, name == "redis-check-rdb" ? "redis-server" : name);
  }
}

TEST(RedisServerFindTest, AnErrorSaysWhatToInstall) {
  const ScopedVariable variable("WORKQUEUE_REDIS_SERVER", "/no/such/program");
  const absl::Status status = RedisServer::Start().status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_TRUE(absl::StrContains(status.message(), "/no/such/program"));
  EXPECT_TRUE(absl::StrContains(status.message(), "redis-tools"));
}

}  // namespace
}  // namespace workqueue::redis_server_test
