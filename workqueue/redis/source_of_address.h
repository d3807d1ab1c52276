// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_REDIS_SOURCE_OF_ADDRESS_H_
#define WORKQUEUE_REDIS_SOURCE_OF_ADDRESS_H_

#include <atomic>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "workqueue/redis/redis_options.h"

namespace workqueue::internal {

// SqliteOpener
//
// Opens the source of engines, or of elections, that "sqlite:PATH" names. Null
// unless the program has registered the part of the library that can do so:
// who does without that part does not link it.
template <typename Source>
struct SqliteOpener {
  using Function =
      absl::StatusOr<std::shared_ptr<Source>> (*)(const std::string& address);

  static inline std::atomic<Function> function{nullptr};
};

// Returns the source that the address of `*options` names, and takes the
// address away. Null if it names a server, or if a source is `given`.
template <typename Source>
absl::StatusOr<std::shared_ptr<Source>> TakeSource(const Source* given,
                                                   RedisOptions* options) {
  if (given != nullptr || !absl::StartsWith(options->address, "sqlite:")) {
    return std::shared_ptr<Source>();
  }
  const auto open = SqliteOpener<Source>::function.load();
  if (open == nullptr) {
    return absl::InvalidArgumentError(absl::StrCat(
        "address is \"", options->address,
        "\", but this program has not called RegisterSqlite(), which is in "
        "workqueue/shared/sqlite/sqlite_engine.h; its library is "
        "//workqueue/shared/sqlite, and workqueue::sqlite in CMake"));
  }
  return open(std::exchange(options->address, RedisOptions().address));
}

}  // namespace workqueue::internal

#endif  // WORKQUEUE_REDIS_SOURCE_OF_ADDRESS_H_
