// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Tests TLS with a server, and with certificates that `openssl` makes.

#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/shared/redis_server.h"
#include "test/shared/temporary_folder.h"
#include "workqueue/redis/redis_connection.h"
#include "workqueue/redis/redis_options.h"
#include "workqueue/redis/tls_session.h"
#include "workqueue/shared/shared_queue.h"

namespace workqueue {
namespace internal::redis_tls_test {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::Not;

class RedisTlsTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!TlsSession::IsBuiltIn()) GTEST_SKIP() << "built without TLS";
    NewCertificate("ca", "");
    NewCertificate("other_ca", "");
    NewCertificate("server", "ca");
    NewCertificate("client", "ca");
  }

  // Makes NAME.pem and NAME.key. The certificate is for the host localhost.
  void NewCertificate(const std::string& name, const std::string& authority) {
    std::string command = absl::StrCat(
        "cd ", folder_.path(), " && openssl req -x509 -newkey ec -pkeyopt ",
        "ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=", name,
        " -keyout ", name, ".key -out ", name, ".pem");
    if (!authority.empty()) {
      absl::StrAppend(&command, " -CA ", authority, ".pem -CAkey ", authority,
                      ".key -addext subjectAltName=DNS:localhost");
    }
    ASSERT_EQ(
        system(absl::StrCat(command, " 2>", folder_.path(), "/log").c_str()), 0)
        << command;
  }

  std::string File(absl::string_view name) const {
    return absl::StrCat(folder_.path(), "/", name);
  }

  void StartServer(bool asks_clients = false) {
    RedisServer::Options options;
    options.tcp = true;
    options.tls = true;
    options.config = {
        absl::StrCat("tls-cert-file ", File("server.pem")),
        absl::StrCat("tls-key-file ", File("server.key")),
        absl::StrCat("tls-ca-cert-file ", File("ca.pem")),
        absl::StrCat("tls-auth-clients ", asks_clients ? "yes" : "no")};
    auto server = RedisServer::Start(options);
    if (!server.ok() && !RedisServer::IsRequired()) {
      GTEST_SKIP() << "no server with TLS: " << server.status();
    }
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
  }

  // Options that connect.
  RedisOptions Redis(absl::string_view host = "localhost") const {
    RedisOptions redis;
    redis.address = absl::StrCat("rediss://", host, ":", server_->port());
    redis.tls.emplace();
    redis.tls->ca_file = File("ca.pem");
    redis.connect_timeout = absl::Seconds(30);
    return redis;
  }

  static absl::Status Ping(const RedisOptions& redis) {
    const auto connection =
        RedisConnection::Connect(redis, absl::InfiniteDuration());
    if (!connection.ok()) return connection.status();
    return (*connection)->Call({"PING"}, absl::Seconds(30)).status();
  }

  const TemporaryFolder folder_;
  std::unique_ptr<RedisServer> server_;
};

TEST_F(RedisTlsTest, AQueueUsesIt) {
  StartServer();
  if (server_ == nullptr) return;
  SharedQueueOptions<std::string> options;
  options.name = "q";
  options.redis = Redis();
  options.call_timeout = absl::Seconds(30);
  const auto queue = SharedQueue<std::string>::Create(options);
  ASSERT_TRUE(queue.ok()) << queue.status();
  for (const size_t size : {size_t{1}, size_t{20000}, size_t{10} << 20}) {
    const std::string item(size, 'x');
    ASSERT_TRUE((*queue)->AddItems({}, {item}).ok());
    const auto got = (*queue)->GetWithTimeout(absl::Seconds(30));
    ASSERT_TRUE(got.ok()) << got.status();
    EXPECT_TRUE(*got == item);
    EXPECT_TRUE((*queue)->Done(item));
  }
}

TEST_F(RedisTlsTest, TheServersCertificateIsChecked) {
  StartServer();
  if (server_ == nullptr) return;
  const auto error = [](const RedisOptions& redis) {
    const absl::Status status = Ping(redis);
    EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
    return std::string(status.message());
  };
  EXPECT_TRUE(Ping(Redis()).ok()) << Ping(Redis());
  RedisOptions redis = Redis();
  redis.tls->server_name = "redis.example";
  EXPECT_THAT(error(redis), HasSubstr("the server's certificate is refused: "
                                      "hostname mismatch"));
  EXPECT_THAT(error(Redis("127.0.0.1")), HasSubstr("IP address mismatch"));
  redis = Redis("127.0.0.1");
  redis.tls->server_name = "localhost";
  EXPECT_TRUE(Ping(redis).ok()) << Ping(redis);
  redis = Redis();
  redis.tls->ca_file = File("other_ca.pem");
  EXPECT_THAT(error(redis), HasSubstr("the server's certificate is refused"));
  redis.tls.reset();  // the authorities of the system
  EXPECT_THAT(error(redis), HasSubstr("the server's certificate is refused"));
}

TEST_F(RedisTlsTest, AClientShowsItsCertificate) {
  StartServer(/*asks_clients=*/true);
  if (server_ == nullptr) return;
  EXPECT_THAT(Ping(Redis()).message(), AnyOf(HasSubstr("certificate required"),
                                             HasSubstr("closed the connection"),
                                             HasSubstr("Connection reset")));
  RedisOptions redis = Redis();
  redis.tls->certificate_file = File("client.pem");
  redis.tls->key_file = File("client.key");
  EXPECT_TRUE(Ping(redis).ok()) << Ping(redis);
  redis.tls->key_file = File("server.key");
  EXPECT_TRUE(absl::IsInvalidArgument(Ping(redis))) << Ping(redis);
}

TEST_F(RedisTlsTest, AServerThatHangsIsLeftInTime) {
  StartServer();
  if (server_ == nullptr) return;
  RedisOptions redis = Redis();
  const auto connection =
      RedisConnection::Connect(redis, absl::InfiniteDuration());
  ASSERT_TRUE(connection.ok()) << connection.status();
  server_->Pause();
  EXPECT_EQ((*connection)->Call({"PING"}, absl::Milliseconds(500)).status(),
            absl::UnknownError("no answer in time"));
  redis.connect_timeout = absl::Milliseconds(500);
  const absl::Status status = Ping(redis);
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_THAT(status.message(), HasSubstr("TLS: no answer in time"));
}

TEST_F(RedisTlsTest, AServerWithoutItIsRefused) {
  RedisServer::Options options;
  options.tcp = true;
  auto server = RedisServer::Start(options);
  if (!server.ok() && !RedisServer::IsRequired()) GTEST_SKIP();
  ASSERT_TRUE(server.ok()) << server.status();
  server_ = *std::move(server);
  RedisOptions redis = Redis();
  // The server waits for the rest of what it takes for a command.
  redis.connect_timeout = absl::Seconds(2);
  EXPECT_THAT(Ping(redis).message(), HasSubstr("TLS: "));
}

TEST_F(RedisTlsTest, AWrongFileIsTold) {
  RedisTlsOptions options;
  const auto error = [&options] {
    const absl::Status status = TlsSession::Create(options, "h").status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    return std::string(status.message());
  };
  options.ca_file = File("no.pem");
  EXPECT_THAT(error(), HasSubstr("tls.ca_file is \"" + File("no.pem")));
  options.ca_file = File("ca.key");
  EXPECT_THAT(error(), HasSubstr("tls.ca_file is \""));
  options.ca_file = File("ca.pem");
  options.certificate_file = File("client.key");
  options.key_file = File("client.pem");
  EXPECT_THAT(error(), HasSubstr("tls.certificate_file is \""));
  options.certificate_file = File("client.pem");
  EXPECT_THAT(error(), HasSubstr("tls.key_file is \""));
  // A passphrase is not asked for.
  ASSERT_EQ(system(absl::StrCat("openssl ec -aes128 -passout pass:x -in ",
                                File("client.key"), " -out ", File("locked"),
                                " 2>/dev/null")
                       .c_str()),
            0);
  options.key_file = File("locked");
  EXPECT_THAT(error(), HasSubstr("tls.key_file is \""));
}

// The first message of a handshake is not encrypted.
TEST_F(RedisTlsTest, TellsTheServersName) {
  const auto hello = [](const std::string& server_name,
                        const std::string& host) {
    RedisTlsOptions options;
    options.server_name = server_name;
    const auto session = TlsSession::Create(options, host);
    EXPECT_TRUE(session.ok()) << session.status();
    EXPECT_FALSE((*session)->Handshake().value());
    return (*session)->TakeOutput();
  };
  EXPECT_THAT(hello("", "redis.example"), HasSubstr("redis.example"));
  EXPECT_THAT(hello("b.example", "a.example"), HasSubstr("b.example"));
  EXPECT_THAT(hello("b.example", "a.example"), Not(HasSubstr("a.example")));
  EXPECT_THAT(hello("", "10.1.2.3"), Not(HasSubstr("10.1.2.3")));
  EXPECT_THAT(hello("", "fe80::1"), Not(HasSubstr("fe80::1")));
}

}  // namespace
}  // namespace internal::redis_tls_test
}  // namespace workqueue
