// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "examples/kubernetes/url.h"

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace kubernetes::url_test {
namespace {

using ::testing::HasSubstr;

TEST(ServerUrlTest, EndsWithoutASlash) {
  EXPECT_EQ(ParseServerUrl("https://a:6443")->base, "https://a:6443");
  EXPECT_EQ(ParseServerUrl("https://a:6443/")->base, "https://a:6443");
  EXPECT_EQ(ParseServerUrl("http://a/b/c/")->base, "http://a/b/c");
}

TEST(ServerUrlTest, KnowsThisMachine) {
  for (const char* url :
       {"https://localhost", "http://LOCALHOST:80", "https://127.0.0.1:1",
        "https://127.1.2.3", "https://[::1]:6443"}) {
    EXPECT_TRUE(ParseServerUrl(url)->is_loopback) << url;
  }
  for (const char* url : {"https://10.0.0.1", "https://localhost.example.com",
                          "https://[fe80::1]", "https://128.0.0.1"}) {
    EXPECT_FALSE(ParseServerUrl(url)->is_loopback) << url;
  }
}

TEST(ServerUrlTest, RefusesWhatIsNoServer) {
  for (const char* url : {"", "a", "ftp://a", "https://", "https://a?b=c",
                          "https://a#b", "https://b:c@a", "https://a:70000"}) {
    const absl::Status status = ParseServerUrl(url).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << url;
    EXPECT_THAT(std::string(status.message()),
                HasSubstr("server '" + std::string(url) + "': "));
  }
}

TEST(PercentEscapeTest, TakesAnyBytes) {
  EXPECT_EQ(PercentEscape(""), "");
  EXPECT_EQ(PercentEscape(std::string("a\0/%", 4)), "a%00%2F%25");
}

}  // namespace
}  // namespace kubernetes::url_test
