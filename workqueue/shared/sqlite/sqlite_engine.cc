// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/shared/sqlite/sqlite_engine.h"

#include <memory>
#include <string>
#include <utility>

#include "absl/memory/memory.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "workqueue/base/printable.h"
#include "workqueue/clock/clock.h"
#include "workqueue/shared/internal/table_engine.h"
#include "workqueue/shared/sqlite/internal/sqlite_file.h"

namespace workqueue {

absl::StatusOr<std::unique_ptr<SqliteEngine>> SqliteEngine::Create(
    absl::string_view path, Clock* clock, absl::Duration timeout) {
  const absl::string_view given = path;
  const bool is_address = absl::ConsumePrefix(&path, "sqlite:");
  const auto refuse = [&](absl::string_view why) {
    return absl::InvalidArgumentError(
        absl::StrCat(is_address ? "address" : "path", " is \"",
                     absl::CEscape(given), "\"; it must ", why));
  };
  if (path.empty()) return refuse("name a file, which may not be there yet");
  // The system would end the path there, and take one file for another.
  if (internal::HasControls(path)) {
    return refuse("not contain control characters");
  }
  auto file = internal::SqliteFile::Open(
      std::string(path), Clock::GetRealClock()->TimeNow() + timeout);
  if (!file.ok()) return file.status();
  return absl::WrapUnique(new SqliteEngine(absl::StrCat("the file ", path),
                                           *std::move(file), clock));
}

void RegisterSqlite() {
  internal::RegisterTableEngine<internal::SqliteScheme, SqliteEngine>();
}

}  // namespace workqueue
