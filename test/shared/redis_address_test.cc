// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/redis/redis_address.h"

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "workqueue/redis/redis_options.h"
#include "workqueue/redis/tls_session.h"

namespace workqueue {
namespace internal::redis_address_test {
namespace {

using ::testing::AnyOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

RedisOptions OptionsOf(absl::string_view address) {
  RedisOptions options;
  options.address = std::string(address);
  return options;
}

// Returns the parts of plain options: address, user, password and database.
std::string PartsOf(const RedisOptions& options) {
  return absl::StrJoin({options.address, options.username, options.password,
                        absl::StrCat(options.database)},
                       " ");
}

std::string ErrorOf(const RedisOptions& options) {
  const absl::Status status = PlainRedisOptions(options).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument)
      << options.address << ": " << status;
  return std::string(status.message());
}

TEST(RedisAddressTest, TakesAddressesAsPeopleHaveThem) {
  const struct {
    const char* address;
    const char* parts;
  } kCases[] = {
      {"h:1", "h:1   0"},
      {"h:1,i:2", "h:1,i:2   0"},
      {"postgres:1", "postgres:1   0"},
      {"postgresql-cache:1", "postgresql-cache:1   0"},
      {"sqlite-cache:1", "sqlite-cache:1   0"},
      {"[::1]:65535", "[::1]:65535   0"},
      {"::1:6379", "::1:6379   0"},
      {"/run/a b@c,d:e?f", "/run/a b@c,d:e?f   0"},
      {"redis://h", "h:6379   0"},
      {"redis://h/", "h:6379   0"},
      {"redis://h:1/2", "h:1   2"},
      {"REDIS://h:1", "h:1   0"},
      {"valkey://h:1", "h:1   0"},
      {"redis://me@h:1", "h:1 me  0"},
      {"redis://me:secret@h", "h:6379 me secret 0"},
      {"redis://:secret@h:1/0", "h:1  secret 0"},
      {"redis://me:@h", "h:6379 me  0"},
      {"redis://a%40b:%2f%3A%25:,c@h", "h:6379 a@b /:%:,c 0"},
      {"redis://[::1]", "[::1]:6379   0"},
      {"redis://me:secret@[::1]:1/2", "[::1]:1 me secret 2"},
      {"redis://me:secret@h:1,i,[::1]:2", "h:1,i:6379,[::1]:2 me secret 0"},
      {"unix:///run/redis", "/run/redis   0"},
      {"unix:///run/a@b,%3Fc:d", "/run/a@b,?c:d   0"},
      {"unix://me:secret@/run/redis", "/run/redis me secret 0"},
  };
  for (const auto& each : kCases) {
    const absl::StatusOr<RedisOptions> plain =
        PlainRedisOptions(OptionsOf(each.address));
    ASSERT_TRUE(plain.ok()) << plain.status();
    EXPECT_EQ(PartsOf(*plain), each.parts);
    // Plain options are plain.
    EXPECT_EQ(PartsOf(*PlainRedisOptions(*plain)), each.parts);
  }
  RedisOptions options = OptionsOf("redis://me@h:1");
  options.password = "secret";
  options.database = 3;
  EXPECT_EQ(PartsOf(*PlainRedisOptions(options)), "h:1 me secret 3");
  EXPECT_EQ(AddressesOf(OptionsOf("h:1,i:2")),
            std::vector<std::string>({"h:1", "i:2"}));
  EXPECT_EQ(AddressesOf(OptionsOf("/a,b")), std::vector<std::string>({"/a,b"}));
}

TEST(RedisAddressTest, SaysWhatIsWrong) {
  const std::string kForms =
      "it must be \"host:port\", several of these with commas between, the "
      "absolute path of a socket, or a URL: redis://user:password@host:port/"
      "database, rediss://... or unix:///path";
  const std::string kHosts =
      "after the scheme there must be a host, a host and a port from 1 to "
      "65535, or several of these with commas between";
  const std::string kDatabase =
      "only the number of a database may follow the slash";
  const std::string kPath =
      "after the scheme there must be the absolute path of a socket";
  const std::string kCodes =
      "in the user and the password, '/', '?', '#', '@' and '%' must be "
      "written as %2F, %3F, %23, %40 and %25";
  const std::string kNothing = "it must have neither '?' nor '#'";
  const struct {
    const char* address;
    std::string shown;  // empty: the address
    std::string why;
  } kCases[] = {
      {"", "", kForms},
      {"nowhere", "", kForms},
      {"h:0", "", kForms},
      {"h:65536", "", kForms},
      {":1", "", kForms},
      {"h:1,", "", kForms},
      {"h:1,/run/redis", "", kForms},
      {"h:1/2", "", kForms},
      {"host=h password=secret", "***", kForms},
      {"a:b:1", "a:***", kForms},
      {"[::1:1", "", kForms},
      {"http://h:1", "", kForms},
      {"redis:h:1", "redis:***", kForms},
      {"me:secret@h:1", "***@h:1", kForms},
      {":secret@h:1", "***@h:1", kForms},
      {"http://me:secret@h:1/", "http://***@h:1/", kForms},
      {"redis://", "", kHosts},
      {"redis://:1", "", kHosts},
      {"redis:///run/redis", "", kHosts},
      {"redis://h:", "", kHosts},
      {"redis://h:70000", "", kHosts},
      {"redis://h,,i", "", kHosts},
      {"redis://me:secret@", "redis://***@", kHosts},
      {"redis://::1", "", kHosts},
      {"redis://[::1", "", kHosts},
      // Perhaps these are passwords, too.
      {"redis://me:secret", "redis://me:***", kHosts},
      {"redis://me:secret,more/0", "redis://me:***", kHosts},
      {"redis://h:1?password=secret", "redis://h:1?***", kNothing},
      {"redis://h:1/#secret", "redis://h:1/#***", kNothing},
      {"redis://h/x", "", kDatabase},
      {"redis://h/-1", "", kDatabase},
      {"redis://h/+1", "", kDatabase},
      {"redis://h/1/", "", kDatabase},
      {"redis://h/9999999999", "", kDatabase},
      {"unix://run/redis", "", kPath},
      {"unix://", "", kPath},
      {"unix://h:1/run/redis", "", kPath},
      {"unix://me:secret@h/run", "unix://***@h/run", kPath},
      {"unix:///run/redis?db=1", "unix:///run/redis?***", kNothing},
      {"unix:///run/%", "", "the path has a '%' without a code"},
      {"redis://me:se/cret@h", "redis://***@h", kCodes},
      {"redis://me:se@cret@h", "redis://***@h", kCodes},
      {"redis://me:se?c#ret@h", "redis://***@h", kCodes},
      {"redis://me:100%@h", "redis://***@h", kCodes},
      {"redis://me:%0gsecret@h", "redis://***@h", kCodes},
      {"redis://a:secret@h,redis://b:secret@i", "redis://***@i", kCodes},
  };
  for (const auto& each : kCases) {
    EXPECT_EQ(ErrorOf(OptionsOf(each.address)),
              absl::StrCat("address is \"",
                           each.shown.empty() ? each.address : each.shown,
                           "\"; ", each.why));
  }
}

TEST(RedisAddressTest, RefusesWhatDoesNotCombine) {
  const auto error = [](absl::string_view address,
                        void (*change)(RedisOptions*)) {
    RedisOptions options = OptionsOf(address);
    change(&options);
    return ErrorOf(options);
  };
  EXPECT_EQ(
      error("redis://me@h", [](RedisOptions* o) { o->username = "you"; }),
      "username is \"you\", but address \"redis://***@h\" has a user, too");
  const std::string twice = error(
      "redis://:secret@h", [](RedisOptions* o) { o->password = "hidden"; });
  EXPECT_EQ(twice,
            "password is set, but address \"redis://***@h\" has one, too");
  EXPECT_EQ(error("redis://h/0", [](RedisOptions* o) { o->database = 2; }),
            "database is 2, but address \"redis://h/0\" has one, too");
  EXPECT_EQ(error("h:1,i:1", [](RedisOptions* o) { o->database = 2; }),
            "database is 2; it must be 0 if address has several hosts, which "
            "are those of a cluster");
  EXPECT_THAT(error("redis://h,i/2", [](RedisOptions*) {}),
              HasSubstr("database is 2; it must be 0"));
  EXPECT_EQ(
      error("redis://:secret@h", [](RedisOptions* o) { o->tls.emplace(); }),
      "tls is set, but address \"redis://***@h\" has none: rediss:// has");
  EXPECT_EQ(error("unix:///a", [](RedisOptions* o) { o->tls.emplace(); }),
            "tls is set, but address \"/a\" is a Unix socket, which has none");
  EXPECT_EQ(error("rediss://h",
                  [](RedisOptions* o) {
                    o->tls.emplace();
                    o->tls->key_file = "k";
                  }),
            "tls.certificate_file is \"\" and tls.key_file is \"k\"; both or "
            "none must be set");
  EXPECT_EQ(error("h:1", [](RedisOptions* o) { o->database = -1; }),
            "database is -1; it must not be negative");
}

// A C string ends at a zero byte, and would name another file or host.
TEST(RedisAddressTest, RefusesControlCharacters) {
  const std::string zero(1, '\0');
  const std::string why = "; it must not contain control characters";
  for (const std::string& address :
       {"redis://h" + zero + "x", "/run/redis" + zero,
        std::string("/run/redis\n")}) {
    EXPECT_THAT(ErrorOf(OptionsOf(address)), EndsWith("\"" + why));
  }
  using Tls = RedisTlsOptions;
  const std::pair<const char*, std::string Tls::*> kFields[] = {
      {"ca_file", &Tls::ca_file},
      {"ca_directory", &Tls::ca_directory},
      {"certificate_file", &Tls::certificate_file},
      {"key_file", &Tls::key_file},
      {"server_name", &Tls::server_name}};
  for (const auto& [name, field] : kFields) {
    RedisOptions options = OptionsOf("h:1");
    options.tls.emplace();
    options.tls->certificate_file = options.tls->key_file = "x";
    (*options.tls).*field = "a" + zero + "b";
    EXPECT_EQ(ErrorOf(options),
              absl::StrCat("tls.", name, " is \"a\\000b\"", why));
  }
}

TEST(RedisAddressTest, KnowsTls) {
  for (const char* address :
       {"rediss://:secret@h/1", "valkeys://:secret@h/1"}) {
    const auto plain = PlainRedisOptions(OptionsOf(address));
    if (TlsSession::IsBuiltIn()) {
      ASSERT_TRUE(plain.ok()) << plain.status();
      EXPECT_EQ(PartsOf(*plain), "h:6379  secret 1");
      EXPECT_TRUE(plain->tls.has_value());
      EXPECT_TRUE(PlainRedisOptions(*plain)->tls.has_value());
    } else {
      EXPECT_EQ(
          plain.status(),
          absl::FailedPreconditionError(
              "address \"h:6379\" is to be reached with TLS, but this library "
              "was built without: docs/building.md says how to add it"));
    }
  }
}

// Neither of an address with a password nor after a typing error in it. A text
// that begins with a slash is a path.
TEST(RedisAddressTest, ShowsNoPassword) {
  for (const std::string& address : std::vector<std::string>(
           {"redis://me:SECRET@host:1/2", "me:SECRET@host:1"})) {
    for (size_t i = 0; i < address.size(); ++i) {
      std::vector<std::string> wrong = {address.substr(i)};
      for (char c : {'/', '?', '#', '@', ':', '%', ',', '[', '=', ' ', '\0'}) {
        wrong.push_back(address);
        wrong.back()[i] = c;
        wrong.push_back(address);
        wrong.back().insert(i, 1, c);
      }
      for (const std::string& each : wrong) {
        if (each[0] == '/') continue;
        const auto plain = PlainRedisOptions(OptionsOf(each));
        EXPECT_THAT(
            plain.ok() ? plain->address : std::string(plain.status().message()),
            Not(AnyOf(HasSubstr("SECR"), HasSubstr("CRET"))))
            << each;
      }
    }
  }
}

// They have no scheme that would lead to the database.
TEST(RedisAddressTest, ShowsNoPasswordOfAConnectionString) {
  for (const char* address :
       {"host=db user=me password=SECRET", "host=db password='SE@CRET'",
        "password=SE://CRET host=db", "host=db password=SECRET:1",
        "redis://host=db password=SECRET", "dbname = me password = SECRET"}) {
    const RedisOptions options = OptionsOf(address);
    for (const std::string& error :
         {ErrorOf(options),
          std::string(CheckOneStore(/*has_engine=*/true, options).message())}) {
      EXPECT_THAT(error, HasSubstr("address is \""));
      EXPECT_THAT(error, Not(AnyOf(HasSubstr("SE"), HasSubstr("CRET"))));
    }
  }
}

}  // namespace
}  // namespace internal::redis_address_test
}  // namespace workqueue
