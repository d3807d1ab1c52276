// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "examples/kubernetes/config.h"

#include <stdlib.h>

#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "examples/kubernetes/in_cluster_config.h"
#include "examples/kubernetes/kubeconfig.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "test/examples/scratch_directory.h"

namespace kubernetes::config_test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// A file with two contexts. A test replaces a part of it.
constexpr char kFile[] = R"(
apiVersion: v1
kind: Config
current-context: main
preferences: {}
contexts:
- name: other
  context: {cluster: far, user: nobody}
- name: main
  context:
    cluster: near
    user: admin
    namespace: apps
clusters:
- name: far
  cluster: {server: "https://far:6443", proxy-url: "http://proxy"}
- name: near
  cluster:
    server: https://127.0.0.1:6443
    certificate-authority: pki/ca.crt
users:
- name: nobody
  user: {}
- name: admin
  user:
    client-certificate: pki/admin.crt
    client-key: pki/admin.key
)";

class ConfigTest : public testing::Test {
 protected:
  ConfigTest() {
    std::filesystem::create_directory(scratch_.path() / "pki");
    mirror::WriteFile(scratch_.path() / "pki/ca.crt", "the CA");
    mirror::WriteFile(scratch_.path() / "pki/admin.crt", "the certificate");
    mirror::WriteFile(scratch_.path() / "pki/admin.key", "the key");
    for (const char* name :
         {"KUBECONFIG", "KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT"}) {
      unsetenv(name);
    }
  }

  std::string path() const { return (scratch_.path() / "config").string(); }

  absl::StatusOr<Config> Load(absl::string_view text) {
    mirror::WriteFile(path(), text);
    return LoadKubeconfig(path());
  }

  // Loads the file with `from` replaced.
  absl::StatusOr<Config> LoadWith(absl::string_view from,
                                  absl::string_view to) {
    const std::string text = absl::StrReplaceAll(kFile, {{from, to}});
    EXPECT_NE(text, kFile);
    return Load(text);
  }

  void ExpectError(const absl::StatusOr<Config>& config,
                   const std::string& text) {
    EXPECT_TRUE(absl::IsInvalidArgument(config.status())) << config.status();
    const std::string message(config.status().message());
    EXPECT_THAT(message, HasSubstr(path() + ": "));
    EXPECT_THAT(message, HasSubstr(text));
  }

  mirror::ScratchDirectory scratch_;
};

TEST_F(ConfigTest, ReadsTheCurrentContext) {
  const auto config = Load(kFile);
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->server, "https://127.0.0.1:6443");
  EXPECT_EQ(config->ns, "apps");
  EXPECT_EQ(config->ca, "the CA");
  EXPECT_EQ(config->client_cert, "the certificate");
  EXPECT_EQ(config->client_key, "the key");
  EXPECT_EQ(config->token, "");
  EXPECT_EQ(config->token_file, "");
  EXPECT_FALSE(config->insecure_skip_tls_verify);
}

TEST_F(ConfigTest, AFileMayBeJson) {
  const auto config =
      Load(R"({"current-context":"a",)"
           R"("contexts":[{"name":"a","context":{"cluster":"b"}}],)"
           R"("clusters":[{"name":"b","cluster":{"server":"http://c"}}]})");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->server, "http://c");
  EXPECT_EQ(config->ns, "default");
}

TEST_F(ConfigTest, DataTakePrecedenceOverFiles) {
  const std::string data = absl::Base64Escape("other CA");
  auto config = LoadWith("certificate-authority: pki/ca.crt",
                         absl::StrCat("certificate-authority-data: ", data,
                                      "\n    certificate-authority: none"));
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->ca, "other CA");

  config = LoadWith("client-key: pki/admin.key",
                    absl::StrCat("client-key-data: ", data));
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->client_key, "other CA");

  config = LoadWith("client-certificate: pki/admin.crt",
                    absl::StrCat("client-certificate-data: ", data));
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->client_cert, "other CA");

  ExpectError(
      LoadWith("client-key: pki/admin.key", "client-key-data: '*secret*'"),
      "users[admin].user.client-key-data is not in base64");
}

TEST_F(ConfigTest, PathsMayBeAbsolute) {
  const auto config =
      LoadWith("pki/ca.crt", (scratch_.path() / "pki/admin.key").string());
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->ca, "the key");
}

TEST_F(ConfigTest, AFileThatIsMissingIsAnError) {
  ExpectError(LoadWith("pki/ca.crt", "pki/none"),
              absl::StrCat("clusters[near].cluster.certificate-authority "
                           "cannot read ",
                           scratch_.path().string(), "/pki/none: No such"));
  ExpectError(LoadWith("pki/ca.crt", "pki"), "Is a directory");
  EXPECT_TRUE(absl::IsNotFound(LoadKubeconfig("/none").status()));
}

TEST_F(ConfigTest, ReadsTokens) {
  const auto config = LoadWith("client-key: pki/admin.key", R"(
    client-key: pki/admin.key
    token: secret
    tokenFile: token)");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->token, "secret");
  EXPECT_EQ(config->token_file, (scratch_.path() / "token").string());
}

TEST_F(ConfigTest, VerificationMayBeSkipped) {
  const char kField[] = "certificate-authority: pki/ca.crt";
  const auto config = LoadWith(kField, "insecure-skip-tls-verify: true");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_TRUE(config->insecure_skip_tls_verify);
  EXPECT_FALSE(LoadWith(kField, "insecure-skip-tls-verify: false")
                   ->insecure_skip_tls_verify);
  ExpectError(LoadWith(kField, "insecure-skip-tls-verify: perhaps"),
              "clusters[near].cluster.insecure-skip-tls-verify is 'perhaps'");
  ExpectError(
      LoadWith(kField,
               absl::StrCat(kField, "\n    insecure-skip-tls-verify: true")),
      "insecure-skip-tls-verify is true, so certificate-authority has no");
}

TEST_F(ConfigTest, RefusesFieldsThatItDoesNotSupport) {
  for (const std::string field :
       {"exec: {command: aws}", "auth-provider: {name: gcp}", "username: me",
        "password: secret", "as: root", "as-uid: '0'", "as-groups: [a]",
        "as-user-extra: {a: [b]}"}) {
    const auto config = LoadWith("client-key: pki/admin.key",
                                 "client-key: pki/admin.key\n"
                                 "    " +
                                     field);
    ExpectError(config, absl::StrCat("users[admin].user.",
                                     field.substr(0, field.find(':')),
                                     " is not supported by this client"));
    EXPECT_THAT(std::string(config.status().message()),
                Not(HasSubstr("secret")));
  }
  for (const std::string field :
       {"proxy-url: http://a", "tls-server-name: a"}) {
    ExpectError(LoadWith("server: https://127.0.0.1:6443",
                         "server: https://127.0.0.1:6443\n    " + field),
                absl::StrCat("clusters[near].cluster.",
                             field.substr(0, field.find(':')),
                             " is not supported by this client"));
  }
}

TEST_F(ConfigTest, ReportsWhatIsMissing) {
  ExpectError(Load(""), "current-context is missing");
  ExpectError(Load("- a"), "the file is no mapping");
  ExpectError(Load("a: [}"), "line 1, column 5");
  ExpectError(LoadWith("current-context: main", "current-context: [a]"),
              "current-context is no text");
  ExpectError(LoadWith("current-context: main", "current-context: x"),
              "contexts has no 'x', which current-context names");
  ExpectError(LoadWith("cluster: near", "cluster: x"),
              "clusters has no 'x', which the context names");
  ExpectError(LoadWith("user: admin", "user: x"),
              "users has no 'x', which the context names");
  ExpectError(LoadWith("cluster: near", "a: b"),
              "contexts[main].context.cluster is missing");
  ExpectError(LoadWith("server: https://127.0.0.1:6443", "a: b"),
              "clusters[near].cluster.server is missing");
  ExpectError(LoadWith("client-key: pki/admin.key", "a: b"),
              "there is a client-certificate, but no client-key");
  ExpectError(LoadWith("user:\n    client-certificate: pki/admin.crt\n"
                       "    client-key: pki/admin.key",
                       "user: text"),
              "users[admin].user is no mapping");
}

TEST_F(ConfigTest, ReadsTheServiceAccountInACluster) {
  const std::string folder = scratch_.path().string();
  ASSERT_EQ(setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1", 1), 0);
  const auto expect = [&folder](const char* text) {
    const absl::Status status = LoadInClusterConfig(folder).status();
    EXPECT_THAT(status.ToString(), HasSubstr(text));
  };
  expect(
      "FAILED_PRECONDITION: this program does not run in a cluster, where "
      "$KUBERNETES_SERVICE_PORT is set");
  ASSERT_EQ(setenv("KUBERNETES_SERVICE_PORT", "443", 1), 0);
  expect("/token: No such file");
  mirror::WriteFile(folder + "/token", "secret");
  expect("/ca.crt: No such file");
  mirror::WriteFile(folder + "/ca.crt", "the CA");
  expect("/namespace: No such file");
  mirror::WriteFile(folder + "/namespace", "apps\n");

  auto config = LoadInClusterConfig(folder);
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->server, "https://10.0.0.1:443");
  EXPECT_EQ(config->ns, "apps");
  EXPECT_EQ(config->ca, "the CA");
  EXPECT_EQ(config->token_file, folder + "/token");

  ASSERT_EQ(setenv("KUBERNETES_SERVICE_HOST", "fd00::1", 1), 0);
  EXPECT_EQ(LoadInClusterConfig(folder)->server, "https://[fd00::1]:443");
}

TEST_F(ConfigTest, TakesTheFirstSourceThatIsSet) {
  EXPECT_TRUE(absl::IsFailedPrecondition(LoadConfig("").status()));

  const std::string other = (scratch_.path() / "other").string();
  mirror::WriteFile(other, absl::StrReplaceAll(kFile, {{"6443", "1"}}));
  mirror::WriteFile(path(), kFile);
  ASSERT_EQ(setenv("KUBECONFIG", other.c_str(), 1), 0);
  EXPECT_EQ(LoadConfig("")->server, "https://127.0.0.1:1");
  EXPECT_EQ(LoadConfig(path())->server, "https://127.0.0.1:6443");

  ASSERT_EQ(setenv("KUBECONFIG", "a:b", 1), 0);
  EXPECT_EQ(LoadConfig("").status(),
            absl::InvalidArgumentError("$KUBECONFIG is 'a:b', a list of files: "
                                       "name a single one"));
}

}  // namespace
}  // namespace kubernetes::config_test
