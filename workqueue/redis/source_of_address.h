// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_REDIS_SOURCE_OF_ADDRESS_H_
#define WORKQUEUE_REDIS_SOURCE_OF_ADDRESS_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "workqueue/redis/redis_options.h"
#include "workqueue/simulation/sync.h"

namespace workqueue::internal {

// The addresses of engines that are parts of the library of their own, and what
// a program must have called before it uses one.
struct SqliteScheme {
  static constexpr absl::string_view kPrefixes[] = {"sqlite:"};
  static constexpr absl::string_view kMissing =
      "RegisterSqlite(), which is in workqueue/shared/sqlite/sqlite_engine.h; "
      "its library is //workqueue/shared/sqlite, and workqueue::sqlite in "
      "CMake";
};
struct PostgresScheme {
  static constexpr absl::string_view kPrefixes[] = {"postgres://",
                                                    "postgresql://"};
  static constexpr absl::string_view kMissing =
      "RegisterPostgres(), which is in "
      "workqueue/shared/postgres/postgres_engine.h; its library is "
      "//workqueue/shared/postgres, and workqueue::postgres in CMake";
};

// Returns the prefix of the scheme that `address` has, or nothing.
template <typename Scheme>
absl::string_view PrefixOf(absl::string_view address) {
  for (const absl::string_view prefix : Scheme::kPrefixes) {
    if (absl::StartsWith(address, prefix)) return prefix;
  }
  return "";
}

// Returns the prefix by which `address` names a database, or nothing.
inline absl::string_view DatabasePrefix(absl::string_view address) {
  const absl::string_view sqlite = PrefixOf<SqliteScheme>(address);
  return sqlite.empty() ? PrefixOf<PostgresScheme>(address) : sqlite;
}

// SourceOpener
//
// Opens the source of engines, or of elections, that an address names which has
// the scheme. The function is null unless the program has registered that part
// of the library: who does without it does not link it.
template <typename Scheme, typename Source>
struct SourceOpener {
  using Function = absl::StatusOr<std::shared_ptr<Source>> (*)(
      const std::string& address, absl::Duration timeout);

  static inline sync::Atomic<Function> function{nullptr};

  // Opens the source if `address` has the scheme. Otherwise it is null.
  static absl::StatusOr<std::shared_ptr<Source>> Open(
      const std::string& address, absl::Duration timeout) {
    const absl::string_view prefix = PrefixOf<Scheme>(address);
    if (prefix.empty()) return std::shared_ptr<Source>();
    if (const Function open = function) return open(address, timeout);
    return absl::InvalidArgumentError(
        absl::StrCat("address begins with \"", prefix,
                     "\", but this program has not called ", Scheme::kMissing));
  }
};

// Returns the source that `address` names, or if it is empty that of
// `*options`. Null if that is a server of Redis, whose address `*options` has
// then, or if a source is `given`. Blocks for `timeout` at most. No error shows
// an address, because it may have a password.
template <typename Source>
absl::StatusOr<std::shared_ptr<Source>> TakeSource(const Source* given,
                                                   const std::string& address,
                                                   RedisOptions* options,
                                                   absl::Duration timeout) {
  if (!address.empty()) {
    if (options->address != RedisOptions().address) {
      return absl::InvalidArgumentError(
          "address and redis.address are given; only one of them can be");
    }
    options->address = address;
  }
  if (given != nullptr) return std::shared_ptr<Source>();
  auto source =
      SourceOpener<SqliteScheme, Source>::Open(options->address, timeout);
  if (source.ok() && *source == nullptr) {
    source =
        SourceOpener<PostgresScheme, Source>::Open(options->address, timeout);
  }
  if (source.ok() && *source != nullptr) {
    options->address = RedisOptions().address;
  }
  return source;
}

}  // namespace workqueue::internal

#endif  // WORKQUEUE_REDIS_SOURCE_OF_ADDRESS_H_
