// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Tests the client with a TLS server: the program openssl(1), which also makes
// the certificates. The tests are skipped if there is no such program.

#include <signal.h>
#include <stdio.h>
#include <sys/types.h>

#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "examples/kubernetes/client.h"
#include "examples/kubernetes/config.h"
#include "examples/kubernetes/file_contents.h"
#include "examples/kubernetes/json.h"
#include "examples/kubernetes/resource.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/examples/run_program.h"
#include "test/examples/scratch_directory.h"

namespace kubernetes::tls_test {
namespace {

using ::testing::HasSubstr;

const Resource kNamespaces = {"", "v1", "namespaces", /*namespaced=*/false};

// A server that demands a certificate of the authority `ca`, and has one itself
// for the address 127.0.0.1. It answers the request for the namespace `a`.
class TlsServer {
 public:
  // Runs openssl in `folder`, which has its files.
  explicit TlsServer(const std::string& folder) {
    const std::string command =
        absl::StrCat("cd ", folder,
                     " && echo $$ && exec openssl s_server -HTTP"
                     " -accept 127.0.0.1:0 -cert server.crt -key server.key"
                     " -CAfile ca.crt -Verify 1 -verify_return_error 2>&1");
    pipe_ = popen(command.c_str(), "r");
    EXPECT_TRUE(absl::SimpleAtoi(ReadLine(), &pid_));
    constexpr absl::string_view kAccept = "ACCEPT 127.0.0.1:";
    std::string line;
    do {
      line = ReadLine();
    } while (!line.empty() && line.rfind(kAccept.data(), 0) != 0);
    port_ = std::string(absl::StripPrefix(line, kAccept));
  }

  ~TlsServer() {
    EXPECT_EQ(kill(pid_, SIGTERM), 0);
    pclose(pipe_);
  }

  TlsServer(const TlsServer&) = delete;
  TlsServer& operator=(const TlsServer&) = delete;

  std::string Url(absl::string_view host = "127.0.0.1") const {
    return absl::StrCat("https://", host, ":", port_);
  }

 private:
  // Returns the next line of the output, without its end.
  std::string ReadLine() {
    std::string line;
    for (int c = fgetc(pipe_); c != EOF && c != '\n'; c = fgetc(pipe_)) {
      line.push_back(static_cast<char>(c));
    }
    return line;
  }

  FILE* pipe_ = nullptr;
  pid_t pid_ = 0;
  std::string port_;
};

class TlsTest : public testing::Test {
 protected:
  void SetUp() override {
    if (examples::RunCommand("openssl version").exit_code != 0) {
      GTEST_SKIP() << "there is no openssl";
    }
    MakeCertificate("ca", "");
    MakeCertificate("other", "");
    MakeCertificate("server",
                    "-CA ca.crt -CAkey ca.key"
                    " -addext subjectAltName=IP:127.0.0.1"
                    " -addext basicConstraints=critical,CA:FALSE");
    MakeCertificate("client",
                    "-CA ca.crt -CAkey ca.key"
                    " -addext basicConstraints=critical,CA:FALSE");
    std::filesystem::create_directories(scratch_.path() / "api/v1/namespaces");
    mirror::WriteFile(scratch_.path() / "api/v1/namespaces/a",
                      "HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\n"
                      R"({"kind":"x"})");
    server_ = std::make_unique<TlsServer>(scratch_.path().string());

    good_.server = server_->Url();
    good_.ca = Read("ca.crt");
    good_.client_cert = Read("client.crt");
    good_.client_key = Read("client.key");
  }

  void MakeCertificate(const std::string& name, absl::string_view options) {
    const examples::Outcome outcome = examples::RunCommand(absl::StrCat(
        "cd ", scratch_.path().string(),
        " && openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256"
        " -nodes -days 2 -subj /CN=",
        name, " -keyout ", name, ".key -out ", name, ".crt ", options,
        " 2>&1"));
    ASSERT_EQ(outcome.exit_code, 0) << outcome.out;
  }

  std::string Read(const std::string& name) const {
    return *ReadFile((scratch_.path() / name).string());
  }

  static absl::StatusOr<Json> Get(Config config) {
    auto client = Client::Create(std::move(config));
    if (!client.ok()) return client.status();
    return (*client)->Get(kNamespaces, {"", "a"});
  }

  static void ExpectError(Config config, absl::StatusCode code,
                          const char* text) {
    const absl::Status status = Get(std::move(config)).status();
    EXPECT_EQ(status.code(), code) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(text));
  }

  mirror::ScratchDirectory scratch_;
  std::unique_ptr<TlsServer> server_;
  Config good_;
};

TEST_F(TlsTest, BothSidesHaveCertificates) {
  for (int i = 0; i < 2; ++i) {
    const auto object = Get(good_);
    ASSERT_TRUE(object.ok()) << object.status();
    EXPECT_EQ(StringAt(*object, {"kind"}), "x");
  }
}

TEST_F(TlsTest, TheServerMustHaveACertificateOfTheAuthority) {
  Config config = good_;
  config.ca = Read("other.crt");
  ExpectError(config, absl::StatusCode::kUnavailable, "certificate");
  config.ca = "";  // the system's authorities
  ExpectError(config, absl::StatusCode::kUnavailable, "certificate");
  config.insecure_skip_tls_verify = true;
  EXPECT_TRUE(Get(config).ok());
}

TEST_F(TlsTest, TheServerMustHaveACertificateForItsHost) {
  Config config = good_;
  config.server = server_->Url("localhost");
  ExpectError(config, absl::StatusCode::kUnavailable, "localhost");
}

TEST_F(TlsTest, WithoutACertificateTheServerRefuses) {
  Config config = good_;
  config.client_cert = "";
  config.client_key = "";
  ExpectError(config, absl::StatusCode::kUnavailable, "certificate required");
}

TEST_F(TlsTest, ReportsWhatIsNoCertificateOrKey) {
  Config config = good_;
  config.ca = "none";
  ExpectError(config, absl::StatusCode::kFailedPrecondition, "certificate");
  config = good_;
  config.client_cert = "none";
  ExpectError(config, absl::StatusCode::kFailedPrecondition, "certificate");
  config = good_;
  config.client_key = "none";
  ExpectError(config, absl::StatusCode::kFailedPrecondition, "key");
  config.client_key = Read("other.key");
  ExpectError(config, absl::StatusCode::kFailedPrecondition, "key");
}

}  // namespace
}  // namespace kubernetes::tls_test
