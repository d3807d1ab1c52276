// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/shared/postgres/postgres_engine.h"

#include <libpq-fe.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/memory/memory.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "workqueue/clock/clock.h"
#include "workqueue/interfaces.h"
#include "workqueue/redis/source_of_address.h"
#include "workqueue/redis/ticks.h"
#include "workqueue/shared/internal/open_shared_queue.h"
#include "workqueue/shared/internal/queue_keys.h"
#include "workqueue/shared/internal/table_engine.h"
#include "workqueue/shared/postgres/internal/postgres_connection.h"
#include "workqueue/shared/postgres/internal/postgres_database.h"

namespace workqueue {
namespace {

absl::Time After(absl::Duration timeout) {
  return Clock::GetRealClock()->TimeNow() + timeout;
}

// The server cuts a longer one, which may be another's then.
constexpr size_t kMostOfSchema = 63;

constexpr absl::string_view kSchemas =
    "it must have letters, digits and _ only, and 63 bytes at most";

absl::Status CheckSchema(absl::string_view schema) {
  const bool good = std::all_of(schema.begin(), schema.end(), [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_';
  });
  if (good && !schema.empty() && schema.size() <= kMostOfSchema) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("schema is \"", schema, "\"; ", kSchemas));
}

// An address for libpq, which refuses parameters that it does not know.
struct Address {
  std::string libpq;
  std::string schema = "workqueue";
};

// The part of a URI before the '?' of its parameters. Another '?' may be in the
// password. A connection string has no such parameters.
absl::string_view BeforeParameters(absl::string_view text) {
  const size_t begin =
      internal::PrefixOf<internal::PostgresScheme>(text).size();
  if (begin == 0) return text;
  const size_t end = text.find_first_of("@/", begin);
  const bool has_login = end != absl::string_view::npos && text[end] == '@';
  return text.substr(0, text.find('?', has_login ? end : begin));
}

// libpq would take a part of a password for a host or a database, which errors
// show.
absl::Status CheckLogin(absl::string_view before) {
  const size_t prefix =
      internal::PrefixOf<internal::PostgresScheme>(before).size();
  before.remove_prefix(prefix);
  if (prefix == 0 || !absl::StrContains(before, "@") ||
      before.rfind('@') == before.find_first_of("@/")) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      "address has a '/' or an '@' too many: in the user, the password and the "
      "database they must be written as %2F and %40");
}

// The first parameter of a URI that libpq does not know. Nothing if the text
// before may have lost a part of a password to the parameters.
std::string UnknownOf(absl::string_view before,
                      const std::vector<absl::string_view>& parameters) {
  before.remove_prefix(
      internal::PrefixOf<internal::PostgresScheme>(before).size());
  if (absl::StrContains(before, ":") && !absl::StrContains(before, "@")) {
    return "";
  }
  std::set<std::string> known = {"ssl"};
  PQconninfoOption* const all = PQconndefaults();
  for (auto* it = all; it != nullptr && it->keyword != nullptr; ++it) {
    known.insert(it->keyword);
  }
  PQconninfoFree(all);
  std::string unknown;
  for (absl::string_view it : parameters) {
    if (absl::StrContains(it, "@")) return "";
    const std::string name(it.substr(0, it.find('=')));
    if (unknown.empty() && known.count(name) == 0) unknown = name;
  }
  return unknown;
}

absl::StatusOr<Address> Parse(absl::string_view text) {
  if (text.empty()) {
    return absl::InvalidArgumentError(
        "address is empty; it must be a URI or a connection string of libpq");
  }
  if (absl::StrContains(text, absl::string_view("\0", 1))) {
    return absl::InvalidArgumentError("address has a zero byte");
  }
  const absl::string_view before = BeforeParameters(text);
  absl::Status status = CheckLogin(before);
  if (!status.ok()) return status;
  absl::string_view parameters = text.substr(before.size());
  absl::ConsumePrefix(&parameters, "?");
  Address address;
  bool has_schema = false;
  std::vector<absl::string_view> others;
  for (absl::string_view it :
       absl::StrSplit(parameters, '&', absl::SkipEmpty())) {
    absl::string_view schema = it;
    if (!absl::ConsumePrefix(&schema, "schema=")) {
      others.push_back(it);
      continue;
    }
    status = CheckSchema(schema);
    if (!status.ok()) return status;
    if (std::exchange(has_schema, true)) {
      return absl::InvalidArgumentError(
          absl::StrCat("address has schema=", address.schema,
                       " and schema=", schema, "; only one of them can be"));
    }
    address.schema = std::string(schema);
  }
  address.libpq = std::string(before);
  if (!others.empty()) {
    absl::StrAppend(&address.libpq, "?", absl::StrJoin(others, "&"));
  }
  status = internal::PostgresConnection::CheckAddress(address.libpq);
  if (status.ok()) return address;
  const std::string unknown = UnknownOf(before, others);
  if (unknown.empty()) return status;
  return absl::InvalidArgumentError(
      absl::StrCat("address has the parameter \"", unknown,
                   "\", which libpq does not know"));
}

// What messages call the database. Has no password.
std::string NameOf(const std::string& libpq) {
  std::string name = "the PostgreSQL database";
  PQconninfoOption* const all = PQconninfoParse(libpq.c_str(), nullptr);
  for (const auto& [keyword, text] :
       {std::pair("dbname", " "), {"host", " at "}, {"port", " port "}}) {
    for (auto* it = all; it != nullptr && it->keyword != nullptr; ++it) {
      if (absl::string_view(it->keyword) != keyword || it->val == nullptr) {
        continue;
      }
      absl::StrAppend(&name, text, it->val);
    }
  }
  PQconninfoFree(all);
  return name;
}

// One that is lost is left to the call, which tells why.
absl::Status CheckTransaction(pg_conn* connection) {
  if (connection == nullptr) {
    return absl::InvalidArgumentError("connection is null");
  }
  switch (PQtransactionStatus(connection)) {
    case PQTRANS_IDLE:
      return absl::InvalidArgumentError(
          "connection has begun no transaction; BEGIN does");
    case PQTRANS_INERROR:
      return absl::InvalidArgumentError(
          "connection has a transaction that has failed; ROLLBACK ends it");
    default:
      return absl::OkStatus();
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<PostgresEngine>> PostgresEngine::Create(
    absl::string_view address, Clock* clock, absl::Duration timeout) {
  const absl::StatusOr<Address> parsed = Parse(address);
  if (!parsed.ok()) return parsed.status();
  auto database = internal::PostgresDatabase::Open(
      parsed->libpq, parsed->schema, After(timeout));
  if (!database.ok()) return database.status();
  return absl::WrapUnique(
      new PostgresEngine(NameOf(parsed->libpq), *std::move(database), clock));
}

absl::Status PostgresEngine::Migrate(absl::string_view address) {
  const absl::StatusOr<Address> parsed = Parse(address);
  if (!parsed.ok()) return parsed.status();
  constexpr absl::Duration kTimeout = absl::Seconds(10);
  auto connection =
      internal::PostgresConnection::Connect(parsed->libpq, After(kTimeout));
  if (!connection.ok()) return connection.status();
  // While a call waits for a lock, the server does not notice that the client
  // has left.
  return (*connection)
      ->ExecuteScript(
          absl::StrCat("SELECT set_config('lock_timeout', '10s', true);",
                       MigrationSql(parsed->schema)),
          After(kTimeout));
}

absl::Status PostgresEngine::AddInTransaction(
    pg_conn* connection, absl::string_view queue, const AddOptions& options,
    absl::Span<const std::string> items, absl::string_view schema) {
  absl::Status status = CheckSchema(schema);
  if (status.ok()) status = internal::CheckQueueName(queue);
  if (status.ok()) status = internal::PostgresDatabase::CheckName(queue);
  if (status.ok()) status = CheckTransaction(connection);
  if (!status.ok()) return status;
  status =
      internal::CheckOnlyTimeAndPriority("an add in a transaction", options);
  if (!status.ok()) return status;
  for (const std::string& item : items) {
    if (item.size() <= internal::PostgresDatabase::kMaxItemBytes) continue;
    return absl::InvalidArgumentError(
        absl::StrCat("an item has ", item.size(), " bytes; the most is ",
                     internal::PostgresDatabase::kMaxItemBytes));
  }
  // Not each version of the server has an infinite interval. The function takes
  // so long a time as one.
  const int64_t after =
      std::min(internal::Ticks(absl::Microseconds(1))
                   .From(options.after.value_or(absl::ZeroDuration())),
               int64_t{1} << 53);
  // A text would be in the encoding of the program's connection.
  using Value = internal::PostgresValue;
  return internal::PostgresConnection::ExecuteOn(
      connection, {absl::StrCat("SELECT \"", schema,
                                "\".add(convert_from($1, 'UTF8'), item, $2 * "
                                "interval '1 microsecond', $3)"
                                " FROM unnest($4::bytea[]) AS item"),
                   {Value::Bytes(queue), Value::Number(after),
                    Value::Number(options.priority),
                    Value::BytesArray({items.begin(), items.end()})}});
}

std::string PostgresEngine::MigrationSql(absl::string_view schema) {
  if (!CheckSchema(schema).ok()) {
    return absl::StrCat("DO $$ BEGIN RAISE EXCEPTION 'wrong schema; ", kSchemas,
                        "'; END $$;\n");
  }
  return internal::PostgresDatabase::MigrationSql(std::string(schema));
}

void RegisterPostgres() {
  internal::RegisterTableEngine<internal::PostgresScheme, PostgresEngine>();
}

}  // namespace workqueue
