// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/shared/postgres/internal/postgres_connection.h"

#include <libpq-fe.h>
#include <netdb.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/memory/memory.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "workqueue/clock/clock.h"
#include "workqueue/redis/host_lookup.h"
#include "workqueue/simulation/sync.h"

namespace workqueue::internal {
namespace {

// The types of values, as PostgreSQL's pg_type.dat numbers them.
constexpr Oid kBytea = 17, kInt8 = 20, kText = 25, kTid = 27,
              kByteaArray = 1001, kTextArray = 1009, kTidArray = 1010,
              kInt8Array = 1016;

// How soon a call sees that it is interrupted.
constexpr absl::Duration kInterruptPeriod = absl::Milliseconds(10);

absl::Time Now() { return Clock::GetRealClock()->TimeNow(); }

template <typename Integer>
std::string BigEndian(Integer number) {
  std::string bytes;
  for (int shift = 8 * static_cast<int>(sizeof(number)) - 8; shift >= 0;
       shift -= 8) {
    bytes += static_cast<char>(static_cast<uint64_t>(number) >> shift);
  }
  return bytes;
}

// An array of one dimension, without nulls.
PostgresValue ArrayOf(Oid type, Oid element,
                      const std::vector<std::string>& elements) {
  PostgresValue value = {type, ""};
  const auto n = static_cast<int32_t>(elements.size());
  for (int32_t number : {n == 0 ? 0 : 1, 0, static_cast<int32_t>(element)}) {
    value.bytes += BigEndian(number);
  }
  if (n > 0) value.bytes += BigEndian(n) + BigEndian(int32_t{1});
  for (const std::string& it : elements) {
    value.bytes += BigEndian(static_cast<int32_t>(it.size()));
    value.bytes += it;
  }
  return value;
}

// Values as libpq takes them, which are not copied.
struct Parameters {
  explicit Parameters(const std::vector<PostgresValue>& all) {
    for (const PostgresValue& it : all) {
      types.push_back(it.type);
      values.push_back(it.bytes.data());
      lengths.push_back(static_cast<int>(it.bytes.size()));
      formats.push_back(1);
    }
  }
  int size() const { return static_cast<int>(types.size()); }

  std::vector<Oid> types;
  std::vector<const char*> values;
  std::vector<int> lengths, formats;
};

// Waits until the file can be used. Returns false at the deadline, or if it is
// interrupted.
bool AwaitFile(int file, bool writes, absl::Time deadline,
               const sync::Atomic<bool>* interrupted) {
  while (true) {
    const absl::Duration left = deadline - Now();
    const bool stops = interrupted != nullptr && *interrupted;
    if (left <= absl::ZeroDuration() || stops) return false;
    pollfd waits = {};
    waits.fd = file;
    waits.events = static_cast<int16_t>(writes ? POLLIN | POLLOUT : POLLIN);
    const absl::Duration longest =
        interrupted != nullptr ? kInterruptPeriod : absl::Seconds(10);
    // Rounded up, so that it is not polled at the end of the time.
    const auto millis = static_cast<int>(
        absl::ToInt64Milliseconds(std::min(left, longest)) + 1);
    if (poll(&waits, 1, millis) > 0) return true;
  }
}

// The addresses of a host as numbers: a single empty one for a folder with a
// socket, or what libpq takes by default.
absl::StatusOr<std::vector<std::string>> Resolve(
    const std::string& host, absl::Time deadline,
    const sync::Atomic<bool>* interrupted) {
  if (host.empty() || host[0] == '/' || host[0] == '@') return {{""}};
  const auto found = HostLookup::Find(host, 0, [&](int fd) {
    if (AwaitFile(fd, /*writes=*/false, deadline, interrupted)) {
      return absl::OkStatus();
    }
    return absl::UnavailableError(
        absl::StrCat("the database: cannot resolve ", host, " in time"));
  });
  if (!found.ok()) return found.status();
  std::vector<std::string> numbers;
  for (const SocketAddress& it : *found) {
    char number[NI_MAXHOST];
    if (getnameinfo(reinterpret_cast<const sockaddr*>(&it.storage), it.size,
                    number, sizeof(number), nullptr, 0, NI_NUMERICHOST) == 0) {
      numbers.push_back(number);
    }
  }
  if (numbers.empty()) {
    return absl::UnavailableError(
        absl::StrCat("the database: ", host, " has no address"));
  }
  return numbers;
}

using Options = std::map<absl::string_view, std::string>;

// The options of an address, and of the environment. Null if libpq refuses the
// address.
std::optional<Options> OptionsOf(const std::string& address) {
  Options given;
  PQconninfoOption* const all = PQconninfoParse(address.c_str(), nullptr);
  if (all == nullptr) return std::nullopt;
  for (auto* it = all; it != nullptr && it->keyword != nullptr; ++it) {
    const char* const value = it->val != nullptr      ? it->val
                              : it->envvar != nullptr ? getenv(it->envvar)
                                                      : nullptr;
    if (value != nullptr) given[it->keyword] = value;
  }
  PQconninfoFree(all);
  return given;
}

// A host of an address, as libpq takes it. Empty if it knows better.
struct Host {
  std::string name, number, port;
};

// The hosts of an address in their order, with each number of theirs. libpq
// itself would wait for a name server as long as the system does.
absl::StatusOr<std::vector<Host>> HostsOf(
    const std::string& address, absl::Time deadline,
    const sync::Atomic<bool>* interrupted) {
  Options given = OptionsOf(address).value_or(Options());
  const std::vector<std::string> names = absl::StrSplit(given["host"], ',');
  std::vector<std::string> ports = absl::StrSplit(given["port"], ',');
  for (std::string& it : ports) {
    if (ports.size() > 1 && it.empty()) it = "5432";  // as libpq does
  }
  if (ports.size() == 1) ports.resize(names.size(), std::string(ports[0]));
  if (given["host"].empty() || !given["hostaddr"].empty() ||
      !given["service"].empty() || ports.size() != names.size()) {
    return std::vector<Host>(1);
  }
  std::vector<Host> hosts;
  absl::Status status;
  for (size_t i = 0; i < names.size(); ++i) {
    // Leaves time for the other hosts.
    const absl::Time now = Now();
    const auto numbers =
        Resolve(names[i],
                now + (deadline - now) / static_cast<int64_t>(names.size() - i),
                interrupted);
    status.Update(numbers.status());
    if (!numbers.ok()) continue;
    for (const std::string& number : *numbers) {
      hosts.push_back({names[i], number, ports[i]});
    }
  }
  if (hosts.empty()) return status;
  return hosts;
}

absl::Status StatusOf(absl::string_view code, absl::string_view text) {
  const std::string message = absl::StrCat(
      "the database: ", absl::StripAsciiWhitespace(text), " (", code, ")");
  // See "PostgreSQL Error Codes" in its documentation.
  const auto is = [code](absl::string_view prefix) {
    return absl::StartsWith(code, prefix);
  };
  if (is("53100")) return absl::ResourceExhaustedError(message);
  if (is("42501")) return absl::PermissionDeniedError(message);
  if (is("28")) return absl::UnauthenticatedError(message);
  if (is("3D")) return absl::NotFoundError(message);
  // The tables are those of a later version of the library.
  if (is("WQ001")) return absl::FailedPreconditionError(message);
  if (is("42P01") || is("3F")) {
    return absl::FailedPreconditionError(absl::StrCat(
        message,
        "; the library's tables are missing: PostgresEngine::Migrate() makes "
        "them, and PostgresEngine::MigrationSql() is the text to do so"));
  }
  // The server shuts down, or is a standby that was to write, or the connection
  // has been ended by somebody.
  if (is("57P") || is("0A000") || is("08")) return absl::UnknownError(message);
  // A transaction that only reads, a conflict, no memory, a lock that was not
  // free in time, a full log.
  if (is("25") || is("40") || is("53") || is("55") || is("57") || is("58")) {
    return absl::UnavailableError(message);
  }
  return absl::InternalError(message);
}

// The status of an error that the server has told.
absl::Status StatusOf(const PGresult* result) {
  const char* const code = PQresultErrorField(result, PG_DIAG_SQLSTATE);
  return StatusOf(code == nullptr ? "" : code, PQresultErrorMessage(result));
}

// Why there is no connection. Its errors are verbose: libpq tells the code of
// such an error only in the text. An error is not `kUnavailable` if it lasts
// until somebody changes the server or the address.
absl::Status WhyRefused(const PGconn* connection) {
  std::vector<absl::string_view> lines;
  for (absl::string_view line :
       absl::StrSplit(PQerrorMessage(connection), '\n', absl::SkipEmpty())) {
    if (!absl::StartsWith(line, "LOCATION:")) lines.push_back(line);
  }
  const std::string text = absl::StrJoin(lines, "\n");
  for (const char* const code : {"28000", "28P01", "3D000", "42501"}) {
    const std::string told = absl::StrCat("  ", code, ": ");
    if (!absl::StrContains(text, told)) continue;
    return StatusOf(code, absl::StrReplaceAll(text, {{told, "  "}}));
  }
  const std::string message = absl::StrCat("the database: ", text);
  if (PQconnectionNeedsPassword(connection) != 0) {
    return absl::UnauthenticatedError(message);
  }
  return absl::UnavailableError(message);
}

}  // namespace

PostgresValue PostgresValue::Number(int64_t number) {
  return {kInt8, BigEndian(number)};
}
PostgresValue PostgresValue::Bytes(absl::string_view bytes) {
  return {kBytea, std::string(bytes)};
}
PostgresValue PostgresValue::Text(absl::string_view text) {
  return {kText, std::string(text)};
}
PostgresValue PostgresValue::Numbers(const std::vector<int64_t>& numbers) {
  std::vector<std::string> elements;
  for (int64_t number : numbers) elements.push_back(BigEndian(number));
  return ArrayOf(kInt8Array, kInt8, elements);
}
PostgresValue PostgresValue::BytesArray(const std::vector<std::string>& bytes) {
  return ArrayOf(kByteaArray, kBytea, bytes);
}
PostgresValue PostgresValue::Places(const std::vector<std::string>& places) {
  return ArrayOf(kTidArray, kTid, places);
}
PostgresValue PostgresValue::Texts(const std::vector<std::string>& texts) {
  return ArrayOf(kTextArray, kText, texts);
}

PostgresRows::PostgresRows(PGresult* result) : result_(result, PQclear) {}

int PostgresRows::size() const { return PQntuples(result_.get()); }

int64_t PostgresRows::Number(int row, int column) const {
  uint64_t bits = 0;
  for (char c : Bytes(row, column)) {
    bits = bits << 8 | static_cast<unsigned char>(c);
  }
  return static_cast<int64_t>(bits);
}

std::string PostgresRows::Bytes(int row, int column) const {
  return std::string(
      PQgetvalue(result_.get(), row, column),
      static_cast<size_t>(PQgetlength(result_.get(), row, column)));
}

bool PostgresRows::IsNull(int row, int column) const {
  return PQgetisnull(result_.get(), row, column) != 0;
}

PostgresConnection::~PostgresConnection() { PQfinish(connection_); }

absl::Status PostgresConnection::ConnectionError() {
  healthy_ = false;
  const absl::string_view message =
      absl::StripAsciiWhitespace(PQerrorMessage(connection_));
  return absl::UnavailableError(absl::StrCat("the database: ", message));
}

absl::Status PostgresConnection::Await(bool writes, absl::Time deadline,
                                       const sync::Atomic<bool>* interrupted) {
  if (AwaitFile(socket(), writes, deadline, interrupted)) {
    return absl::OkStatus();
  }
  healthy_ = false;
  const bool stops = interrupted != nullptr && *interrupted;
  return absl::UnavailableError(stops ? "the database: the call was interrupted"
                                      : "the database did not answer in time");
}

absl::Status PostgresConnection::CheckAddress(const std::string& address) {
  std::optional<Options> given = OptionsOf(address);
  if (!given) {
    return absl::InvalidArgumentError(
        "address is no URI or connection string that libpq takes: a parameter "
        "has an unknown name, or something has a '%' or a quote too many; a "
        "URI has a '%' as %25");
  }
  for (absl::string_view it :
       absl::StrSplit((*given)["port"], ',', absl::SkipWhitespace())) {
    int port = 0;
    if (absl::SimpleAtoi(it, &port) && port > 0 && port < 65536) continue;
    return absl::InvalidArgumentError(
        "address has a port that is no number from 1 to 65535");
  }
  const std::string& target = (*given)["target_session_attrs"];
  if (target == "standby" || target == "read-only") {
    return absl::InvalidArgumentError(absl::StrCat(
        "address has target_session_attrs=", target,
        ", but queues and elections need a server that takes changes"));
  }
  // Only libpq knows the hosts of a service.
  if (!(*given)["service"].empty()) return absl::OkStatus();
  // libpq looks at all options before it looks at the first number of a host.
  // There is none, so that nobody is asked.
  const std::string& hosts =
      (*given)[(*given)["hostaddr"].empty() ? "host" : "hostaddr"];
  const std::vector<std::string> all = absl::StrSplit(hosts, ',');
  const std::string numbers =
      absl::StrJoin(std::vector<std::string>(all.size(), "none"), ",");
  const char* const names[] = {"dbname", "hostaddr", nullptr};
  const char* const values[] = {address.c_str(), numbers.c_str(), nullptr};
  if (PQpingParams(names, values, /*expand_dbname=*/1) != PQPING_NO_ATTEMPT) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      "address has a value that libpq does not take: one of sslmode, for "
      "example, or other numbers of hosts and of ports");
}

absl::StatusOr<std::unique_ptr<PostgresConnection>> PostgresConnection::Connect(
    const std::string& address, absl::Time deadline,
    const sync::Atomic<bool>* interrupted) {
  const absl::StatusOr<std::vector<Host>> hosts =
      HostsOf(address, deadline, interrupted);
  if (!hosts.ok()) return hosts.status();
  std::vector<std::string> failures;
  for (size_t left = hosts->size(); left > 0; --left) {
    const Host& host = (*hosts)[hosts->size() - left];
    // Leaves time for the other hosts.
    const absl::Time now = Now();
    auto connection = ConnectTo(
        address, host.name, host.number, host.port,
        now + (deadline - now) / static_cast<int64_t>(left), interrupted);
    if (!absl::IsUnavailable(connection.status())) return connection;
    failures.emplace_back(connection.status().message());
  }
  return absl::UnavailableError(absl::StrJoin(failures, "; "));
}

absl::StatusOr<std::unique_ptr<PostgresConnection>>
PostgresConnection::ConnectTo(const std::string& address,
                              const std::string& host,
                              const std::string& number,
                              const std::string& port, absl::Time deadline,
                              const sync::Atomic<bool>* interrupted) {
  auto result = absl::WrapUnique(new PostgresConnection());
  // The address comes after what it may say otherwise. A peer that is gone is
  // noticed in 20 s or so.
  const std::pair<const char*, const char*> parameters[] = {
      {"fallback_application_name", "workqueue"},
      {"keepalives_idle", "10"},
      {"keepalives_interval", "3"},
      {"keepalives_count", "3"},
      {"tcp_user_timeout", "20000"},
      {"dbname", address.c_str()},
      {"host", host.c_str()},
      {"hostaddr", number.c_str()},
      {"port", port.c_str()},
      {nullptr, nullptr}};
  std::vector<const char*> names, values;
  for (const auto& [name, value] : parameters) {
    // An empty one would count as given.
    if (value != nullptr && *value == '\0') continue;
    names.push_back(name);
    values.push_back(value);
  }
  PGconn* const connection =
      PQconnectStartParams(names.data(), values.data(), /*expand_dbname=*/1);
  result->connection_ = connection;
  if (connection == nullptr) return absl::InternalError("no memory");
  if (PQstatus(connection) == CONNECTION_BAD) return WhyRefused(connection);
  PQsetErrorVerbosity(connection, PQERRORS_VERBOSE);
  PostgresPollingStatusType status = PGRES_POLLING_WRITING;
  while (status != PGRES_POLLING_OK) {
    absl::Status ready =
        result->Await(status == PGRES_POLLING_WRITING, deadline, interrupted);
    if (!ready.ok()) return ready;
    status = PQconnectPoll(connection);
    if (status == PGRES_POLLING_FAILED) return WhyRefused(connection);
  }
  PQsetErrorVerbosity(connection, PQERRORS_DEFAULT);
  PQsetnonblocking(connection, 1);
  // Only one warning of the server matters. Its text may be in any language, so
  // this looks at the function that it comes from.
  PQsetNoticeReceiver(
      connection,
      [](void* self, const PGresult* notice) {
        const char* const from =
            PQresultErrorField(notice, PG_DIAG_SOURCE_FUNCTION);
        if (from != nullptr && absl::string_view(from) == "SyncRepWaitForLSN") {
          static_cast<PostgresConnection*>(self)->on_no_standby_ = true;
        }
      },
      result.get());
  // A pooler may tell what was so when it began, so libpq itself does not know.
  const auto standby = result->Execute(
      {{"SELECT pg_is_in_recovery()", {}, /*apart=*/false, /*once=*/true}},
      deadline, interrupted);
  if (!standby.ok()) return absl::UnavailableError(standby.status().message());
  if (standby->front().Number(0, 0) == 0) return result;
  return absl::UnavailableError(
      absl::StrCat("the database: the server at ", PQhost(connection),
                   " is a standby, which takes no changes"));
}

bool PostgresConnection::InTransaction() const {
  return PQtransactionStatus(connection_) != PQTRANS_IDLE;
}

int PostgresConnection::socket() const { return PQsocket(connection_); }

bool PostgresConnection::FindPooler(int64_t server_process) {
  has_pooler_ = PQbackendPID(connection_) != server_process;
  return has_pooler_;
}

bool PostgresConnection::TakeNotifications() {
  if (PQconsumeInput(connection_) == 0) healthy_ = false;
  bool any = false;
  while (PGnotify* const it = PQnotifies(connection_)) {
    any = true;
    PQfreemem(it);
  }
  return any;
}

absl::Status PostgresConnection::Send(
    const std::vector<PostgresStatement>& statements) {
  bool good = PQpipelineStatus(connection_) != PQ_PIPELINE_OFF ||
              PQenterPipelineMode(connection_) == 1;
  for (const PostgresStatement& it : statements) {
    if (it.apart) good = good && PQpipelineSync(connection_) == 1;
    const Parameters parameters(it.values);
    const int n = parameters.size();
    if (it.once || has_pooler_) {
      good = good && PQsendQueryParams(connection_, it.sql.c_str(), n,
                                       parameters.types.data(),
                                       parameters.values.data(),
                                       parameters.lengths.data(),
                                       parameters.formats.data(), 1) == 1;
      continue;
    }
    auto [found, is_new] = prepared_.try_emplace(
        it.sql, absl::StrCat("workqueue_", prepared_.size()));
    const char* const name = found->second.c_str();
    if (is_new) {
      good = good && PQsendPrepare(connection_, name, it.sql.c_str(), n,
                                   parameters.types.data()) == 1;
    }
    good = good &&
           PQsendQueryPrepared(connection_, name, n, parameters.values.data(),
                               parameters.lengths.data(),
                               parameters.formats.data(), 1) == 1;
  }
  good = good && PQpipelineSync(connection_) == 1;
  return good ? absl::OkStatus() : ConnectionError();
}

absl::StatusOr<PGresult*> PostgresConnection::Next(
    absl::Time deadline, const sync::Atomic<bool>* interrupted) {
  int unsent = PQflush(connection_);
  while (unsent != 0 || PQisBusy(connection_) != 0) {
    if (unsent < 0) return ConnectionError();
    absl::Status ready = Await(unsent != 0, deadline, interrupted);
    if (!ready.ok()) return ready;
    if (PQconsumeInput(connection_) == 0) return ConnectionError();
    unsent = PQflush(connection_);
  }
  return PQgetResult(connection_);
}

absl::StatusOr<std::vector<PostgresRows>> PostgresConnection::Execute(
    const std::vector<PostgresStatement>& statements, absl::Time deadline,
    const sync::Atomic<bool>* interrupted) {
  const size_t known = prepared_.size();
  on_no_standby_ = false;
  // After an exception the results may come still.
  absl::Cleanup unread = [this] { healthy_ = false; };
  absl::Status status = Send(statements);
  if (!status.ok()) return absl::UnknownError(status.message());
  int syncs = 1;
  for (const PostgresStatement& it : statements) syncs += it.apart ? 1 : 0;
  std::vector<PostgresRows> rows;
  for (int synced = 0; synced < syncs;) {
    absl::StatusOr<PGresult*> next = Next(deadline, interrupted);
    if (!next.ok()) {
      if (synced > 0) break;  // Only what is apart is not known.
      return absl::UnknownError(next.status().message());
    }
    if (*next == nullptr) {
      if (PQstatus(connection_) == CONNECTION_BAD) {
        const absl::Status lost = ConnectionError();
        if (synced > 0) break;
        return absl::UnknownError((status.ok() ? lost : status).message());
      }
      continue;
    }
    PostgresRows result(*next);
    switch (PQresultStatus(*next)) {
      case PGRES_PIPELINE_SYNC:
        ++synced;
        break;
      case PGRES_TUPLES_OK:
        if (synced == 0) rows.push_back(std::move(result));
        break;
      case PGRES_COMMAND_OK:
      case PGRES_PIPELINE_ABORTED:
        break;
      default:
        if (synced == 0 && status.ok()) status = StatusOf(*next);
        if (absl::IsUnknown(status)) healthy_ = false;
        break;
    }
  }
  std::move(unread).Cancel();
  if (status.ok() && on_no_standby_) {
    return absl::UnknownError(
        "the database: the wait for a standby was cancelled, which may lack "
        "what was committed");
  }
  if (status.ok()) return rows;
  // Which of its new statements the server knows now is not worth knowing.
  if (prepared_.size() != known) healthy_ = false;
  return status;
}

absl::Status PostgresConnection::ExecuteOn(PGconn* connection,
                                           const PostgresStatement& statement) {
  const Parameters parameters(statement.values);
  const PostgresRows result(
      PQexecParams(connection, statement.sql.c_str(), parameters.size(),
                   parameters.types.data(), parameters.values.data(),
                   parameters.lengths.data(), parameters.formats.data(), 1));
  if (result.get() == nullptr) {
    return absl::UnavailableError(
        absl::StrCat("the database: ",
                     absl::StripAsciiWhitespace(PQerrorMessage(connection))));
  }
  switch (PQresultStatus(result.get())) {
    case PGRES_COMMAND_OK:
    case PGRES_TUPLES_OK:
      return absl::OkStatus();
    default:
      return StatusOf(result.get());
  }
}

absl::Status PostgresConnection::ExecuteScript(const std::string& sql,
                                               absl::Time deadline) {
  if (PQexitPipelineMode(connection_) == 0 ||
      PQsendQuery(connection_, sql.c_str()) == 0) {
    return ConnectionError();
  }
  absl::Status status;
  while (true) {
    absl::StatusOr<PGresult*> next = Next(deadline, /*interrupted=*/nullptr);
    if (!next.ok()) return next.status();
    if (*next == nullptr) return status;
    const PostgresRows owned(*next);
    if (PQresultStatus(*next) == PGRES_FATAL_ERROR && status.ok()) {
      status = StatusOf(*next);
    }
  }
}

}  // namespace workqueue::internal
