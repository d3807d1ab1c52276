// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/shared/postgres/internal/postgres_database.h"

#include <poll.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/memory/memory.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "workqueue/base/exceptions.h"
#include "workqueue/base/mutex_lock.h"
#include "workqueue/clock/clock.h"
#include "workqueue/interfaces.h"
#include "workqueue/redis/ticks.h"
#include "workqueue/shared/internal/engine.h"
#include "workqueue/shared/internal/ordered_store.h"
#include "workqueue/shared/internal/table_engine.h"
#include "workqueue/shared/postgres/internal/postgres_connection.h"

namespace workqueue::internal {
namespace {

using Value = PostgresValue;
using Statement = PostgresStatement;

// The version of the tables.
constexpr int kVersion = 1;

// So many entries are fetched when one is missing, at first and at most.
constexpr size_t kFetchedAtOnce = 64;
constexpr size_t kMostAtOnce = 2000;

// The numbers of the rows of a fetch that are no entries.
constexpr int64_t kTime = -1, kFront = -2, kInbox = -3, kTables = -4;

// A listener behind a pooler. Nothing tells whether its process lives.
constexpr int64_t kPolls = 2;

// When an item in the inbox is due that is never due; see `add`.
constexpr int64_t kNeverDue = int64_t{1} << 62;

// How soon a call tries again that the server did not answer: at first, and
// after many times.
constexpr absl::Duration kRetryPeriod = absl::Milliseconds(20);
constexpr absl::Duration kLongestRetryPeriod = absl::Milliseconds(250);

// How long what nobody waits for may take.
constexpr absl::Duration kCleanUpTimeout = absl::Seconds(1);

// How long the connection that listens may take to be made: to a server far
// away that is many round trips, and each host of an address has its part.
constexpr absl::Duration kConnectTimeout = absl::Seconds(5);

// `{s}` stands for the schema, and `{v}` for the version. The settings of
// autovacuum clean often: almost all rows live for a short time.
constexpr absl::string_view kMigration = R"sql(
SELECT pg_advisory_xact_lock(hashtextextended('workqueue {s}', 0));
CREATE SCHEMA IF NOT EXISTS {s};
CREATE TABLE IF NOT EXISTS {s}.version (version bigint NOT NULL);
DO $$
DECLARE found bigint := (SELECT version FROM {s}.version);
BEGIN
  IF found > {v} THEN
    RAISE EXCEPTION 'the tables in the schema {s} have the version %, and '
      'this library the version {v}', found USING ERRCODE = 'WQ001';
  END IF;
END $$;
INSERT INTO {s}.version
  SELECT {v} WHERE NOT EXISTS (SELECT FROM {s}.version);
CREATE TABLE IF NOT EXISTS {s}.queue (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name bytea NOT NULL UNIQUE,
  layout bytea NOT NULL);
CREATE TABLE IF NOT EXISTS {s}.entry (
  queue bigint, key bytea, version bigint, value bytea NOT NULL,
  PRIMARY KEY (queue, key, version))
  WITH (autovacuum_vacuum_scale_factor = 0.05,
        autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0,
        autovacuum_analyze_scale_factor = 0.5);
CREATE TABLE IF NOT EXISTS {s}.front (
  queue bigint, version bigint, prefixes bytea[] NOT NULL,
  keys bytea[] NOT NULL, PRIMARY KEY (queue, version))
  WITH (autovacuum_vacuum_scale_factor = 0.05,
        autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0);
CREATE TABLE IF NOT EXISTS {s}.listener (
  id bigint PRIMARY KEY, queue bigint NOT NULL, polls bigint NOT NULL);
CREATE INDEX IF NOT EXISTS listener_of ON {s}.listener (queue, id);
CREATE TABLE IF NOT EXISTS {s}.message (
  listener bigint, id bigint GENERATED ALWAYS AS IDENTITY, body bytea NOT NULL,
  PRIMARY KEY (listener, id))
  WITH (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 5000,
        autovacuum_vacuum_cost_delay = 0);
CREATE TABLE IF NOT EXISTS {s}.inbox (
  queue bytea, id bigint GENERATED ALWAYS AS IDENTITY,
  item bytea NOT NULL CHECK (length(item) <= 2048),
  priority bigint NOT NULL, due bigint NOT NULL, PRIMARY KEY (queue, id))
  WITH (autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 5000,
        autovacuum_vacuum_cost_delay = 0);

-- Adds an item when the transaction commits: now, or after a time, of which more
-- than 145 years never pass. Wakes the process whose worker has waited longest.
-- While all are busy it notifies nobody, because a notification makes commits
-- wait for each other.
CREATE OR REPLACE FUNCTION {s}.add(
  queue text, item bytea, after interval DEFAULT '0', priority bigint DEFAULT 0)
RETURNS void LANGUAGE plpgsql VOLATILE AS $$
DECLARE
  name_bytes bytea := convert_to(add.queue, 'UTF8');
  found record;
BEGIN
  IF add.priority NOT BETWEEN -2147483648 AND 2147483647 THEN
    RAISE EXCEPTION 'priority is %; it must be from -2147483648 to 2147483647',
      add.priority USING ERRCODE = '22003';
  END IF;
  IF add.queue = '' OR add.queue ~ '[{}]' THEN
    RAISE EXCEPTION 'queue is "%"; it must be a name without "{" and "}"',
      add.queue USING ERRCODE = '22023';
  END IF;
  IF octet_length(name_bytes) > 2048 THEN
    RAISE EXCEPTION 'queue has % bytes; the most is 2048',
      octet_length(name_bytes) USING ERRCODE = '22023';
  END IF;
  SELECT id, layout INTO found FROM {s}.queue q WHERE q.name = name_bytes;
  IF found.layout <> '1' THEN
    RAISE EXCEPTION 'the queue "%" has % partitions; an add in a transaction '
      'needs a queue with one', add.queue, convert_from(found.layout, 'UTF8');
  END IF;
  INSERT INTO {s}.inbox (queue, item, priority, due) VALUES (
    name_bytes, add.item, add.priority,
    CASE WHEN add.after <= interval '0' THEN 0
    WHEN add.after >= interval '145 years' THEN 1::bigint << 62
    ELSE 1000000 * extract(epoch FROM clock_timestamp() + add.after) END);
  PERFORM pg_notify(
    'workqueue_' || '{s}.listener'::regclass::oid || '_' ||
      convert_from(e.value, 'UTF8'), '')
    FROM {s}.entry e
    WHERE e.queue = found.id AND e.key < 'u' AND e.key >= greatest('t', (
      SELECT u.key FROM (SELECT x.prefixes, x.keys FROM {s}.front x
        WHERE x.queue <= found.id AND x.queue >= found.id
        ORDER BY x.queue DESC, x.version DESC LIMIT 1) f,
        unnest(f.prefixes, f.keys) AS u(prefix, key) WHERE u.prefix = 't'))
    ORDER BY e.key LIMIT 1;
END $$;
CREATE OR REPLACE FUNCTION {s}.add(
  queue text, item text, after interval DEFAULT '0', priority bigint DEFAULT 0)
RETURNS void LANGUAGE sql VOLATILE AS
  $$ SELECT {s}.add(queue, convert_to(item, 'UTF8'), after, priority) $$;
)sql";

// Of a connection, or of a transaction.
constexpr absl::string_view kSettings =
    // Scans of whole tables are never right here.
    "SELECT set_config('enable_seqscan', 'off', {local}),"
    " set_config('enable_hashjoin', 'off', {local}),"
    " set_config('enable_mergejoin', 'off', {local}),"
    " set_config('enable_bitmapscan', 'off', {local}),"
    " set_config('jit', 'off', {local}),"
    " set_config('plan_cache_mode', 'force_generic_plan', {local}),"
    // While a call waits for a lock, the server does not notice that the client
    // has left.
    " set_config('lock_timeout', '1s', {local}),"
    // Who is suspended must not keep the others from the queue.
    " set_config('idle_in_transaction_session_timeout', '2s', {local}),"
    // A warning tells that a commit is on no standby.
    " set_config('client_min_messages', 'warning', {local}),"
    // What was acknowledged is on the disk.
    " set_config('synchronous_commit', CASE"
    "   WHEN current_setting('synchronous_commit') = 'off' THEN 'on'"
    "   ELSE current_setting('synchronous_commit') END, {local})";

// Of a transaction without the settings: the first of a connection, or behind a
// pooler one without BEGIN.
constexpr char kShortWait[] = "SELECT set_config('lock_timeout', '1s', true)";

// Of a transaction that waits for no standby.
constexpr char kOnThisServer[] =
    "SELECT set_config('synchronous_commit', 'local', true)";

// The key after all that begin with `prefix`. No prefix is empty, or consists
// of the largest byte.
std::string EndOf(absl::string_view prefix) {
  std::string end(prefix);
  while (end.back() == '\xff') end.pop_back();
  end.back() = static_cast<char>(static_cast<unsigned char>(end.back()) + 1);
  return end;
}

absl::Time MachineTime() { return Clock::GetRealClock()->TimeNow(); }

std::string Quoted(absl::string_view name) {
  return absl::StrCat("\"", absl::StrReplaceAll(name, {{"\"", "\"\""}}), "\"");
}

absl::Status CheckName(absl::string_view name) {
  constexpr size_t kMost = PostgresDatabase::kMaxItemBytes;
  if (name.size() <= kMost) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("the name of the queue has ", name.size(),
                   " bytes; the most is ", kMost));
}

absl::Status CheckVersion(absl::string_view schema, int64_t found) {
  if (found == kVersion) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("the tables in the schema ", schema, " have the version ",
                   found, ", and this library the version ", kVersion));
}

// An error of something that cannot have changed anything.
absl::Status NothingChanged(const absl::Status& status) {
  return absl::IsUnknown(status) ? absl::UnavailableError(status.message())
                                 : status;
}

}  // namespace

// The statements, for one schema.
struct PostgresDatabase::Sql {
  explicit Sql(const std::string& schema)
      : schema(Quoted(schema)),
        settings(absl::StrReplaceAll(kSettings, {{"{local}", "false"}})),
        local_settings(absl::StrReplaceAll(kSettings, {{"{local}", "true"}})),
        tables(Of("SELECT version, '{s}.entry'::regclass::oid::bigint,"
                  " '{s}.listener'::regclass::oid::bigint,"
                  " pg_backend_pid()::bigint,"
                  " current_setting('server_version_num')::bigint,"
                  " (1000000 * extract(epoch FROM"
                  "  pg_postmaster_start_time()))::bigint"
                  " FROM {s}.version")),
        find_queue(Of("SELECT id, layout FROM {s}.queue WHERE name = $1")),
        add_queue(Of("INSERT INTO {s}.queue (name, layout) SELECT $1, $2"
                     " WHERE $2 = '1'"
                     " OR NOT EXISTS (SELECT FROM {s}.inbox WHERE queue = $1)"
                     " ON CONFLICT (name) DO NOTHING")),
        begin("BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE"),
        begin_reading("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"),
        lock(
            "SELECT set_config('lock_timeout', $2, true),"
            " pg_advisory_xact_lock(($1 >> 32)::bit(32)::int,"
            " $1::bit(32)::int)"),
        // While somebody's transaction stays open, no version of a row that
        // has been replaced or deleted can be removed. So this must not pass
        // by them. The newest version of a key is the last in the index, and
        // is found first from the end: a comparison makes the order matter. Of
        // a set, no entry is before its front.
        fetch(Of(
            "WITH fronts AS MATERIALIZED ("
            " SELECT u.prefix, u.key, f.ctid AS place FROM (SELECT x.* , x.ctid"
            "   FROM {s}.front x WHERE x.queue <= $1 AND x.queue >= $1"
            "   ORDER BY x.queue DESC, x.version DESC LIMIT 1) f,"
            " unnest(f.prefixes, f.keys) AS u(prefix, key)),"
            " found AS MATERIALIZED ("
            " SELECT r.n, r.leads_to, r.rest, x.key, x.value, x.place FROM"
            " unnest($3::bytea[], $4::bytea[], $5::bigint[], $6::bytea[],"
            "        $7::bigint[]) WITH ORDINALITY"
            "   AS r(first, last, most, leads_to, rest, n),"
            " LATERAL (SELECT e.key, e.value, e.ctid AS place FROM {s}.entry e"
            "   WHERE e.queue = $1 AND e.key >= greatest(r.first, (SELECT f.key"
            "     FROM fronts f WHERE f.prefix = substr(r.first, 1, 1)))"
            "   AND e.key < r.last ORDER BY e.key LIMIT r.most) x) "
            "SELECT n, key, value, place FROM found UNION ALL "
            "SELECT 0, e.key, e.value, e.place"
            " FROM (SELECT unnest($2::bytea[]) AS key"
            "   UNION SELECT leads_to || CASE WHEN rest = 0 THEN value"
            "     ELSE substr(key, rest::int + 1) END"
            "   FROM found WHERE leads_to <> '') k"
            " CROSS JOIN LATERAL (SELECT x.key, x.value, x.ctid AS place"
            "   FROM {s}.entry x WHERE x.queue = $1 AND x.key <= k.key AND"
            "   x.key >= k.key ORDER BY x.key DESC, x.version DESC LIMIT 1) e "
            "UNION ALL SELECT -2, prefix, key, place FROM fronts "
            "UNION ALL SELECT -3, NULL, NULL, NULL WHERE EXISTS"
            "  (SELECT FROM {s}.inbox WHERE queue = $8) "
            "UNION ALL SELECT -1, int8send("
            "  (1000000 * extract(epoch FROM clock_timestamp()))::bigint),"
            "  int8send((SELECT version FROM {s}.version)), NULL "
            "UNION ALL SELECT -4, int8send('{s}.entry'::regclass::oid::bigint),"
            "  int8send((SELECT count(*) FROM {s}.queue"
            "    WHERE id = $1 AND name = $8)), NULL")),
        listeners(Of("SELECT id, CASE WHEN polls = 1 THEN 2 WHEN NOT"
                     " pg_try_advisory_xact_lock_shared($2 + id)"
                     " THEN 1 ELSE 0 END::bigint FROM {s}.listener"
                     " WHERE queue = $1 ORDER BY id")),
        take_inbox(
            Of("WITH taken AS (DELETE FROM {s}.inbox WHERE queue = $1 AND id"
               " = ANY(ARRAY(SELECT id FROM {s}.inbox WHERE queue = $1"
               "   ORDER BY id LIMIT 1000)) RETURNING *) "
               "SELECT item, priority, due FROM taken ORDER BY id")),
        update(Of("UPDATE {s}.entry SET value = u.value,"
                  " version = pg_current_xact_id()::text::bigint FROM"
                  " unnest($1::tid[], $2::bytea[]) AS u(place, value)"
                  " WHERE ctid = u.place")),
        remove(Of("DELETE FROM {s}.entry WHERE ctid = ANY($1::tid[])")),
        // As above: the newest version of each key. With `key = ANY($2)` the
        // server may choose to pass by all that is in the queue's range of the
        // index, when statistics that do not count removed rows say that this
        // is little.
        remove_keys(
            Of("DELETE FROM {s}.entry WHERE ctid = ANY(ARRAY(SELECT x.ctid FROM"
               " unnest($2::bytea[]) AS k(key) CROSS JOIN LATERAL ("
               "  SELECT e.ctid FROM {s}.entry e WHERE e.queue = $1 AND"
               "  e.key <= k.key AND e.key >= k.key"
               "  ORDER BY e.key DESC, e.version DESC LIMIT 1) x))")),
        insert(Of("INSERT INTO {s}.entry SELECT $1, k,"
                  " pg_current_xact_id()::text::bigint, v FROM"
                  " unnest($2::bytea[], $3::bytea[]) AS u(k, v)")),
        add_front(Of("INSERT INTO {s}.front VALUES ($1,"
                     " pg_current_xact_id()::text::bigint, $2, $3)")),
        update_front(Of("UPDATE {s}.front SET prefixes = $2, keys = $3,"
                        " version = pg_current_xact_id()::text::bigint"
                        " WHERE ctid = ANY($1::tid[])")),
        // By chance: a server that lacks the latest part counts anew.
        next_listener(
            "SELECT 1 + floor(4294967295 * random())::bigint,"
            " (1000000 * extract(epoch FROM"
            "  pg_postmaster_start_time()))::bigint"),
        add_listener(Of("INSERT INTO {s}.listener VALUES ($1, $2, $3)")),
        remove_listener(Of("DELETE FROM {s}.listener WHERE id = $1")),
        add_messages(Of("INSERT INTO {s}.message (listener, body) SELECT l,"
                        " b FROM unnest($1::bigint[], $2::bytea[])"
                        " WITH ORDINALITY AS u(l, b, n) ORDER BY n")),
        messages(Of("SELECT l.id, m.id, m.body FROM"
                    " unnest($1::bigint[], $2::bigint[]) AS w(id, after)"
                    " JOIN {s}.listener l ON l.id = w.id"
                    " LEFT JOIN {s}.message m"
                    "   ON m.listener = l.id AND m.id > w.after"
                    " ORDER BY l.id, m.id")),
        with_inbox(Of("SELECT l.id FROM {s}.listener l"
                      " JOIN {s}.queue q ON q.id = l.queue"
                      " WHERE l.id = ANY($1::bigint[]) AND EXISTS ("
                      "   SELECT FROM {s}.inbox i WHERE i.queue = q.name)")),
        remove_messages(Of("DELETE FROM {s}.message WHERE listener = $1 AND"
                           " id > $2 AND id <= $3")),
        // The sender has committed, and this transaction is not worth a sync.
        notify(
            "SELECT set_config('synchronous_commit', 'off', true),"
            " pg_notify(c, '') FROM unnest($1::text[]) AS c"),
        occupy(
            "SELECT n FROM unnest($2::bigint[]) AS n"
            " WHERE NOT pg_try_advisory_lock($1 + n)"),
        vacate("SELECT pg_advisory_unlock($1)") {}

  std::string Of(absl::string_view text) const {
    return absl::StrReplaceAll(text, {{"{s}", schema}});
  }

  const std::string schema;
  const std::string settings, local_settings, tables, find_queue, add_queue,
      begin, begin_reading, lock, fetch, listeners, take_inbox, update, remove,
      remove_keys, insert, add_front, update_front, next_listener, add_listener,
      remove_listener, add_messages, messages, with_inbox, remove_messages,
      notify, occupy, vacate;
};

// The tables, in a transaction, which begins when something is read. And the
// entries of a queue.
class PostgresDatabase::Tables final : public EngineTables,
                                       private OrderedStore {
 public:
  Tables(PostgresDatabase* database, const Call& call, bool full, bool again,
         PostgresConnection* connection)
      : database_(*database),
        sql_(*database->sql_),
        call_(call),
        full_(full),
        again_(again),
        connection_(*connection) {}

  const absl::Status& error() const { return error_; }
  bool has_begun() const { return has_begun_; }

  absl::StatusOr<int64_t> FindQueue(absl::string_view name,
                                    const std::string& layout) override;
  OrderedStore* Open(int64_t queue) override {
    queue_ = queue;
    return this;
  }
  absl::Time Now() override { return now_; }
  std::vector<EngineOperation> TakeInbox() override;
  int64_t AddListener(int64_t queue) override;
  void RemoveListener(int64_t listener) override {
    live_.erase(listener);
    later_.push_back({sql_.remove_listener, {Value::Number(listener)}});
    RemoveMessages(listener, 0, std::numeric_limits<int64_t>::max());
  }
  // If its process lives, it listens again.
  void ForgetListener(int64_t listener) override {
    const auto found = live_.find(listener);
    if (found != live_.end() && found->second == kPolls) {
      RemoveListener(listener);
    }
  }
  std::vector<int64_t> ListenersOf(int64_t /*queue*/) override {
    std::vector<int64_t> all;
    for (const auto& [listener, lives] : live_) all.push_back(listener);
    return all;
  }
  bool Lives(int64_t listener) override {
    const auto found = live_.find(listener);
    return found != live_.end() && found->second != 0;
  }
  void AddMessage(int64_t listener, absl::string_view body) override {
    receivers_.push_back(listener);
    bodies_.emplace_back(body);
  }
  Messages MessagesOf(
      const std::vector<std::pair<int64_t, int64_t>>& listeners) override;
  void RemoveMessages(int64_t listener, int64_t after, int64_t until) override {
    later_.push_back({sql_.remove_messages,
                      {Value::Number(listener), Value::Number(after),
                       Value::Number(until)}});
  }
  void Notify() override { tells_all_ = true; }

  absl::Status CheckSettings(EngineSettings* settings);

  // Writes what has changed, and commits.
  absl::Status Commit();

 private:
  // An entry as it is now, or will be.
  struct Known {
    std::optional<std::string> value;
    bool dirty = false;
    // Where it is in the table; empty if it is not there.
    std::string place;
    // It may be in the table, which nobody has looked at.
    bool unseen = false;
  };

  // The end of the range of known entries that begins at `key`, or `key`.
  std::string KnownUntil(const std::string& key) const {
    auto range = known_ranges_.upper_bound(key);
    if (range == known_ranges_.begin()) return key;
    --range;
    return std::max(range->second, key);
  }
  // The entry, which may be one that nobody has looked at.
  Known& Find(const std::string& key) {
    const auto [found, is_new] = entries_.try_emplace(key);
    if (is_new) found->second.unseen = KnownUntil(key) == key;
    return found->second;
  }
  void Set(Known& known, absl::string_view key, absl::string_view value);

  // OrderedStore
  void Prefetch(const WantedEntries& wanted) override;
  std::optional<std::string> Get(absl::string_view key) override;
  void Put(absl::string_view key, absl::string_view value) override {
    Set(Find(std::string(key)), key, value);
  }
  void Insert(absl::string_view key, absl::string_view value) override {
    Set(entries_[std::string(key)], key, value);
  }
  void Delete(absl::string_view key) override {
    Known& known = Find(std::string(key));
    known.value.reset();
    known.dirty = true;
  }
  std::optional<Entry> First(absl::string_view prefix,
                             absl::string_view after) override;

  // For what reads or writes without `Fetch()`, which sees that, too.
  void CheckTables(const PostgresRows& found) {
    error_.Update(database_.CheckTables(found.Number(0, 1)));
  }
  // Programs add before they can know that the queue has partitions.
  absl::Status InboxIsOfAnother() const {
    return absl::FailedPreconditionError(absl::StrCat(
        "partitions is ", layout_, ", but programs have added items to \"",
        name_,
        "\" in transactions, which needs partitions = 1; the items are "
        "in the table ",
        sql_.schema, ".inbox until they are processed so, or deleted"));
  }
  void RaiseFronts();
  void WriteEntries(std::vector<Statement>* statements);

  // Executes statements at once. Notes an error.
  std::vector<PostgresRows> Execute(std::vector<Statement> statements);
  // Fetches the next entries from `from` on, of those that begin with `prefix`.
  void FetchFrom(const std::string& from, const std::string& prefix);
  void Fetch(const std::vector<std::string>& keys,
             const std::vector<WantedEntries::Range>& ranges,
             const std::vector<std::string>& firsts);

  PostgresDatabase& database_;
  const Sql& sql_;
  const Call call_;
  const bool full_;
  const bool again_;
  PostgresConnection& connection_;
  absl::Status error_;
  bool has_begun_ = false;

  std::string name_, layout_;  // of the queue
  int64_t queue_ = 0;
  std::map<std::string, Known> entries_;
  // All entries from the one key to the other are known.
  std::map<std::string, std::string> known_ranges_;
  std::map<char, WantedEntries::Range> wanted_;  // by first byte
  std::map<std::string, size_t> fetched_;        // at the last time, by prefix
  // No key that begins with the byte is less; and where that is in the table.
  std::map<std::string, std::string> fronts_;
  std::string front_place_;
  bool writes_front_ = false;
  absl::Time now_;
  // The listeners: 0, 1 if the process lives, or `kPolls`.
  std::map<int64_t, int64_t> live_;
  bool has_inbox_ = false;

  std::vector<Statement> later_;
  std::vector<int64_t> receivers_;
  std::vector<std::string> bodies_;
  bool tells_all_ = false;
};

std::vector<PostgresRows> PostgresDatabase::Tables::Execute(
    std::vector<Statement> statements) {
  if (!error_.ok()) return {};
  const bool sets = connection_.has_pooler() && !has_begun_;
  if (sets) statements.insert(statements.begin(), {kShortWait});
  auto rows =
      connection_.Execute(statements, call_.deadline, call_.interrupted);
  if (rows.ok()) return {rows->begin() + (sets ? 1 : 0), rows->end()};
  error_ = NothingChanged(rows.status());
  return {};
}

absl::StatusOr<int64_t> PostgresDatabase::Tables::FindQueue(
    absl::string_view name, const std::string& layout) {
  const absl::Status fits = CheckName(name);
  if (!fits.ok()) return fits;
  name_ = std::string(name);
  std::pair<int64_t, std::string> queue;
  {
    MutexLock lock(&database_.mu_);
    const auto found = database_.queues_.find(name_);
    if (found != database_.queues_.end()) queue = found->second;
  }
  // Another process may add it at the same time.
  for (const bool adds : {false, true}) {
    if (queue.first != 0 || !error_.ok()) break;
    std::vector<Statement> statements;
    if (adds) {
      statements.push_back(
          {sql_.add_queue, {Value::Bytes(name), Value::Bytes(layout)}});
    }
    statements.push_back({sql_.find_queue, {Value::Bytes(name)}});
    const auto rows = Execute(statements);
    if (!rows.empty() && rows[0].size() > 0) {
      queue = {rows[0].Number(0, 0), rows[0].Bytes(0, 1)};
      MutexLock lock(&database_.mu_);
      database_.queues_[name_] = queue;
    }
  }
  if (!error_.ok()) return error_;
  layout_ = layout;
  if (queue.first == 0) return InboxIsOfAnother();
  if (queue.second != layout) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the layout of the queue \"", name, "\" in the schema ", sql_.schema,
        " is ", queue.second, ", and this client's is ", layout));
  }
  return queue.first;
}

std::optional<std::string> PostgresDatabase::Tables::Get(
    absl::string_view key) {
  const std::string owned(key);
  auto found = entries_.find(owned);
  if (found == entries_.end() && KnownUntil(owned) == owned) {
    Fetch({owned}, {}, {});
    found = entries_.find(owned);
  }
  if (found == entries_.end()) return std::nullopt;
  return found->second.value;
}

void PostgresDatabase::Tables::Set(Known& known, absl::string_view key,
                                   absl::string_view value) {
  known.value = std::string(value);
  known.dirty = true;
  const auto front = fronts_.find(std::string(key.substr(0, 1)));
  if (front != fronts_.end() && key < front->second) {
    front->second = std::string(key);
    writes_front_ = true;
  }
}

auto PostgresDatabase::Tables::First(absl::string_view prefix,
                                     absl::string_view after)
    -> std::optional<Entry> {
  std::string from = LeastKey(prefix, after);
  const std::string end = EndOf(prefix);
  while (error_.ok()) {
    const std::string until = std::min(KnownUntil(from), end);
    for (auto it = entries_.lower_bound(from);
         it != entries_.end() && it->first < until; ++it) {
      if (it->second.value) return Entry{it->first, *it->second.value};
    }
    if (until >= end) return std::nullopt;
    if (until == from) FetchFrom(from, std::string(prefix));
    from = until;
  }
  return std::nullopt;
}

void PostgresDatabase::Tables::Prefetch(const WantedEntries& wanted) {
  std::vector<std::string> firsts;
  for (const WantedEntries::Range& range : wanted.ranges) {
    wanted_[range.prefix[0]] = range;
    firsts.push_back(LeastKey(range.prefix, range.after));
  }
  Fetch(wanted.keys, wanted.ranges, firsts);
}

void PostgresDatabase::Tables::FetchFrom(const std::string& from,
                                         const std::string& prefix) {
  // Each fetch is for twice as many as the one before.
  size_t& most = fetched_[prefix];
  most = std::clamp(2 * most, kFetchedAtOnce, kMostAtOnce);
  WantedEntries::Range range = {prefix, most, "", 0};
  const auto found = wanted_.find(prefix[0]);
  if (found != wanted_.end()) {
    range.leads_to = found->second.leads_to;
    range.rest = found->second.rest;
  }
  Fetch({}, {range}, {from});
}

void PostgresDatabase::Tables::Fetch(
    const std::vector<std::string>& keys,
    const std::vector<WantedEntries::Range>& ranges,
    const std::vector<std::string>& firsts) {
  std::vector<Statement> statements;
  const bool begins = !std::exchange(has_begun_, true);
  const bool is_queue = queue_ != kElections;
  if (begins) {
    statements.push_back({call_.writes ? sql_.begin : sql_.begin_reading});
  }
  const bool sets = begins && connection_.has_pooler();
  if (sets) statements.push_back({sql_.local_settings});
  if (begins && call_.writes) {
    const absl::Duration left = std::clamp(
        call_.deadline - MachineTime(), absl::Milliseconds(1), absl::Hours(1));
    statements.push_back(
        {sql_.lock,
         {Value::Number(database_.entry_table_ << 32 | queue_),
          Value::Text(absl::StrCat(absl::ToInt64Milliseconds(left)))}});
  }
  std::vector<std::string> lasts, leads_to;
  std::vector<int64_t> mosts, rests;
  for (const WantedEntries::Range& range : ranges) {
    lasts.push_back(EndOf(range.prefix));
    mosts.push_back(static_cast<int64_t>(std::min(range.most, kMostAtOnce)));
    leads_to.push_back(range.leads_to);
    rests.push_back(static_cast<int64_t>(range.rest));
  }
  statements.push_back({sql_.fetch,
                        {Value::Number(queue_), Value::BytesArray(keys),
                         Value::BytesArray(firsts), Value::BytesArray(lasts),
                         Value::Numbers(mosts), Value::BytesArray(leads_to),
                         Value::Numbers(rests), Value::Bytes(name_)}});
  const bool takes_more = begins && call_.writes && is_queue;
  if (takes_more) {
    statements.push_back({sql_.listeners,
                          {Value::Number(queue_),
                           Value::Number(database_.listener_table_ << 32)}});
  }
  const std::vector<PostgresRows> all = Execute(statements);
  if (!error_.ok()) return;
  const size_t first = (sets ? 1 : 0) + (begins && call_.writes ? 1 : 0);
  const PostgresRows& rows = all[first];
  std::vector<int64_t> counts(ranges.size());
  std::vector<std::string> ends = firsts;
  std::map<std::string, Known> found;
  for (const std::string& key : keys) entries_.try_emplace(key);
  for (int i = 0; i < rows.size(); ++i) {
    const int64_t n = rows.Number(i, 0);
    if (n == kInbox) {
      has_inbox_ = true;
      continue;
    }
    std::string key = rows.Bytes(i, 1);
    std::string value = rows.Bytes(i, 2);
    if (n == kFront) {
      // Those of a later fetch may have been changed here meanwhile.
      if (begins) fronts_[key] = value;
      front_place_ = rows.Bytes(i, 3);
      continue;
    }
    if (n == kTables) {
      error_ = database_.CheckTables(rows.Number(i, 1));
      if (error_.ok() && is_queue && rows.Number(i, 2) == 0) {
        MutexLock lock(&database_.mu_);
        database_.queues_.erase(name_);
        error_ = absl::UnavailableError("the queue has been removed");
      }
      if (!error_.ok()) return;
      continue;
    }
    if (n == kTime) {
      if (begins) now_ = absl::FromUnixMicros(rows.Number(i, 1));
      error_ = CheckVersion(sql_.schema, rows.Number(i, 2));
      if (!error_.ok()) return;
      continue;
    }
    if (n > 0) {
      const auto r = static_cast<size_t>(n - 1);
      ++counts[r];
      ends[r] = std::max(ends[r], key + '\0');
      if (!ranges[r].leads_to.empty()) {
        entries_.try_emplace(
            ranges[r].leads_to +
            (ranges[r].rest == 0
                 ? value
                 : key.substr(std::min(key.size(), ranges[r].rest))));
      }
    }
    Known& known = found[std::move(key)];
    known.value = std::move(value);
    known.place = rows.Bytes(i, 3);
  }
  for (auto& [key, seen] : found) {
    const auto [known, is_new] = entries_.try_emplace(key, seen);
    if (is_new) continue;
    known->second.place = std::move(seen.place);
    known->second.unseen = false;
    if (!known->second.dirty) known->second.value = std::move(seen.value);
  }
  for (size_t r = 0; r < ranges.size(); ++r) {
    const bool all_known = counts[r] < mosts[r];
    known_ranges_[firsts[r]] = all_known ? lasts[r] : ends[r];
  }
  if (!takes_more) return;
  const PostgresRows& listeners = all[first + 1];
  for (int i = 0; i < listeners.size(); ++i) {
    live_[listeners.Number(i, 0)] = listeners.Number(i, 1);
  }
  if (has_inbox_ && layout_ != "1") error_ = InboxIsOfAnother();
}

std::vector<EngineOperation> PostgresDatabase::Tables::TakeInbox() {
  std::vector<EngineOperation> inbox;
  // With an inbox, a request that has been applied is rolled back, and so does
  // not wait as `Commit()` does.
  if (!has_inbox_ || full_ || again_) return inbox;
  const auto taken = Execute({{sql_.take_inbox, {Value::Bytes(name_)}}});
  if (!error_.ok()) return inbox;
  const PostgresRows& rows = taken[0];
  for (int i = 0; i < rows.size(); ++i) {
    // The function of an earlier version took any number.
    const int64_t priority =
        std::clamp<int64_t>(rows.Number(i, 1), std::numeric_limits<int>::min(),
                            std::numeric_limits<int>::max());
    const int64_t due = rows.Number(i, 2);
    const int64_t delay =
        due >= kNeverDue ? kForever
                         : std::max<int64_t>(0, due - absl::ToUnixMicros(now_));
    inbox.push_back(
        {EngineOperation::kAddAfter, rows.Bytes(i, 0), delay, priority});
  }
  return inbox;
}

int64_t PostgresDatabase::Tables::AddListener(int64_t queue) {
  const auto rows = Execute({{sql_.next_listener}});
  if (!error_.ok()) return 0;
  const int64_t listener = rows[0].Number(0, 0);
  // Nobody else sees the number before this process has it.
  error_.Update(
      database_.Occupy(listener, rows[0].Number(0, 1), call_.deadline));
  bool polls;
  {
    MutexLock lock(&database_.listening_mu_);
    polls = database_.polls_;
  }
  later_.push_back({sql_.add_listener,
                    {Value::Number(listener), Value::Number(queue),
                     Value::Number(polls ? 1 : 0)}});
  return listener;
}

auto PostgresDatabase::Tables::MessagesOf(
    const std::vector<std::pair<int64_t, int64_t>>& listeners) -> Messages {
  Messages messages;
  if (listeners.empty()) return messages;
  std::vector<int64_t> numbers, afters;
  for (const auto& [number, after] : listeners) {
    numbers.push_back(number);
    afters.push_back(after);
  }
  const auto all = Execute(
      {{sql_.tables},
       {sql_.messages, {Value::Numbers(numbers), Value::Numbers(afters)}},
       {sql_.with_inbox, {Value::Numbers(numbers)}}});
  if (error_.ok()) CheckTables(all[0]);
  if (!error_.ok()) return messages;
  const PostgresRows& rows = all[1];
  for (int i = 0; i < rows.size(); ++i) {
    std::vector<Message>& its = messages[rows.Number(i, 0)].messages;
    if (!rows.IsNull(i, 1)) {
      its.push_back({rows.Number(i, 1), rows.Bytes(i, 2)});
    }
  }
  for (int i = 0; i < all[2].size(); ++i) {
    messages[all[2].Number(i, 0)].has_inbox = true;
  }
  // Another server, or this one started from a copy, may lack the latest part,
  // and count messages anew.
  MutexLock lock(&database_.listening_mu_);
  for (auto& [number, heard] : messages) {
    const auto found = database_.listeners_.find(number);
    heard.listens = found != database_.listeners_.end() &&
                    found->second == all[0].Number(0, 5);
  }
  return messages;
}

absl::Status PostgresDatabase::Tables::CheckSettings(EngineSettings* settings) {
  const auto all =
      Execute({{"SELECT current_setting('fsync'),"
                " current_setting('full_page_writes')"}});
  if (!error_.ok()) return error_;
  if (connection_.has_pooler()) {
    settings->push_back(
        "a pooler is between this process and the server: items are handed "
        "over only each second; connect to the server itself");
  }
  if (all[0].Bytes(0, 0) == "off") {
    settings->push_back(
        "fsync is off: what was acknowledged may be lost when the machine "
        "stops");
  }
  if (all[0].Bytes(0, 1) == "off") {
    settings->push_back(
        "full_page_writes is off: the data may be damaged when the machine "
        "stops");
  }
  return absl::OkStatus();
}

void PostgresDatabase::Tables::RaiseFronts() {
  for (const auto& [first, until] : known_ranges_) {
    if (first.size() != 1) continue;
    // The first entry, or if there is none in the range, the end of it.
    std::string front = until;
    for (auto it = entries_.lower_bound(first);
         it != entries_.end() && it->first < until; ++it) {
      if (!it->second.value) continue;
      front = it->first;
      break;
    }
    const auto [known, is_new] = fronts_.try_emplace(first, front);
    if (!is_new && known->second == front) continue;
    known->second = front;
    writes_front_ = true;
  }
}

void PostgresDatabase::Tables::WriteEntries(
    std::vector<Statement>* statements) {
  std::vector<std::string> changed, new_values, removed, removed_keys, added,
      values;
  for (const auto& [key, known] : entries_) {
    if (!known.dirty) continue;
    if (known.unseen) removed_keys.push_back(key);
    if (known.value && !known.place.empty()) {
      changed.push_back(known.place);
      new_values.push_back(*known.value);
    } else if (known.value) {
      added.push_back(key);
      values.push_back(*known.value);
    } else if (!known.place.empty()) {
      removed.push_back(known.place);
    }
  }
  if (!removed_keys.empty()) {
    statements->push_back(
        {sql_.remove_keys,
         {Value::Number(queue_), Value::BytesArray(removed_keys)}});
  }
  if (!removed.empty()) {
    statements->push_back({sql_.remove, {Value::Places(removed)}});
  }
  if (!changed.empty()) {
    statements->push_back(
        {sql_.update, {Value::Places(changed), Value::BytesArray(new_values)}});
  }
  if (!added.empty()) {
    statements->push_back({sql_.insert,
                           {Value::Number(queue_), Value::BytesArray(added),
                            Value::BytesArray(values)}});
  }
  RaiseFronts();
  if (!writes_front_) return;
  std::vector<std::string> prefixes, keys;
  for (const auto& [prefix, key] : fronts_) {
    prefixes.push_back(prefix);
    keys.push_back(key);
  }
  const bool is_new = front_place_.empty();
  statements->push_back(
      {is_new ? sql_.add_front : sql_.update_front,
       {is_new ? Value::Number(queue_) : Value::Places({front_place_}),
        Value::BytesArray(prefixes), Value::BytesArray(keys)}});
}

absl::Status PostgresDatabase::Tables::Commit() {
  if (error_.ok() && !has_begun_ && !later_.empty()) {
    const auto rows = Execute({{sql_.tables}});
    if (error_.ok()) CheckTables(rows[0]);
  }
  if (!error_.ok()) return error_;
  std::vector<Statement> statements;
  if (call_.writes && !has_begun_) {
    if (connection_.has_pooler()) statements.push_back({sql_.local_settings});
    // Only listeners change. A server that lacks them has been started since,
    // and a wait for a standby may outlast the call.
    statements.push_back({kOnThisServer});
  }
  if (call_.writes && has_begun_) WriteEntries(&statements);
  for (Statement& it : later_) statements.push_back(std::move(it));
  if (!receivers_.empty()) {
    statements.push_back(
        {sql_.add_messages,
         {Value::Numbers(receivers_), Value::BytesArray(bodies_)}});
  }
  // An earlier attempt may have committed, and no standby may have that yet. A
  // commit waits for a standby only if it writes something. Then it waits for
  // all earlier commits, too.
  if (call_.writes && has_begun_ && again_) {
    statements.push_back(
        {"SELECT pg_logical_emit_message(true, 'workqueue', ''::text)"});
  }
  if (has_begun_) statements.push_back({"COMMIT"});
  std::set<std::string> channels;
  const std::string prefix =
      absl::StrCat("workqueue_", database_.listener_table_.load(), "_");
  for (int64_t receiver : receivers_) {
    channels.insert(absl::StrCat(prefix, receiver));
  }
  if (tells_all_) channels.insert(prefix + "all");
  if (!channels.empty()) {
    statements.push_back({sql_.notify,
                          {Value::Texts({channels.begin(), channels.end()})},
                          /*apart=*/true});
  }
  if (statements.empty()) return absl::OkStatus();
  const auto rows =
      connection_.Execute(statements, call_.deadline, call_.interrupted);
  return call_.writes ? rows.status() : NothingChanged(rows.status());
}

absl::Status PostgresDatabase::AddInTransaction(
    pg_conn* connection, const std::string& schema, absl::string_view queue,
    const AddOptions& options, absl::Span<const std::string> items) {
  const absl::Status fits = CheckName(queue);
  if (!fits.ok()) return fits;
  // Not each version of the server has an infinite interval. The function takes
  // so long a time as one.
  const int64_t after =
      std::min(Ticks(absl::Microseconds(1))
                   .From(options.after.value_or(absl::ZeroDuration())),
               int64_t{1} << 53);
  // A text would be in the encoding of the program's connection.
  return PostgresConnection::ExecuteOn(
      connection, {absl::StrCat("SELECT ", Quoted(schema),
                                ".add(convert_from($1, 'UTF8'), item, $2 * "
                                "interval '1 microsecond', $3)"
                                " FROM unnest($4::bytea[]) AS item"),
                   {Value::Bytes(queue), Value::Number(after),
                    Value::Number(options.priority),
                    Value::BytesArray({items.begin(), items.end()})}});
}

std::string PostgresDatabase::MigrationSql(const std::string& schema) {
  return absl::StrReplaceAll(
      kMigration, {{"{s}", Quoted(schema)}, {"{v}", absl::StrCat(kVersion)}});
}

PostgresDatabase::PostgresDatabase(std::string address,
                                   const std::string& schema)
    : address_(std::move(address)), sql_(std::make_unique<const Sql>(schema)) {}

PostgresDatabase::~PostgresDatabase() = default;

absl::StatusOr<std::unique_ptr<PostgresDatabase>> PostgresDatabase::Open(
    const std::string& address, const std::string& schema,
    absl::Time deadline) {
  auto database = absl::WrapUnique(new PostgresDatabase(address, schema));
  auto connection = database->Connect(deadline);
  const absl::Status status = NothingChanged(connection.status());
  // The server may be about to start. Who calls it waits for it.
  if (!status.ok() && !absl::IsUnavailable(status)) return status;
  if (status.ok()) {
    MutexLock lock(&database->mu_);
    database->idle_.push_back(*std::move(connection));
  }
  return database;
}

absl::StatusOr<std::unique_ptr<PostgresConnection>> PostgresDatabase::Connect(
    absl::Time deadline, const sync::Atomic<bool>* interrupted) {
  auto connection =
      PostgresConnection::Connect(address_, deadline, interrupted);
  if (!connection.ok()) return connection.status();
  const auto once = [](const std::string& sql) {
    return Statement{sql, {}, /*apart=*/false, /*once=*/true};
  };
  auto rows = (*connection)
                  ->Execute({once(kShortWait), once(sql_->tables)}, deadline,
                            interrupted);
  if (!rows.ok()) return NothingChanged(rows.status());
  const PostgresRows found = rows->back();
  constexpr int kOldest = 140000;
  if (found.Number(0, 4) < kOldest) {
    return absl::FailedPreconditionError(
        absl::StrCat("the server has the version ", found.Number(0, 4),
                     "; 14 is the oldest that works"));
  }
  absl::Status known = CheckVersion(sql_->schema, found.Number(0, 0));
  if (known.ok()) known = CheckTables(found.Number(0, 1));
  if (!known.ok()) return known;
  listener_table_ = found.Number(0, 2);
  if (!(*connection)->FindPooler(found.Number(0, 3))) {
    rows = (*connection)->Execute({{sql_->settings}}, deadline, interrupted);
    if (!rows.ok()) return NothingChanged(rows.status());
  }
  return connection;
}

absl::Status PostgresDatabase::CheckTables(int64_t entry_table) {
  MutexLock lock(&mu_);
  if (entry_table_ == 0) entry_table_ = entry_table;
  if (entry_table_ == entry_table) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("the tables in the schema ", sql_->schema,
                   " have been made anew; start the process again"));
}

absl::Status PostgresDatabase::Run(const Call& call, const Body& body) {
  absl::Status status;
  bool full = false;
  bool unknown = false;  // the end of an attempt
  for (absl::Duration period = kRetryPeriod;;
       period = std::min(2 * period, kLongestRetryPeriod)) {
    absl::Status attempt = RunOnce(call, body, full, /*again=*/unknown);
    if (absl::IsResourceExhausted(attempt) && call.writes && !full) {
      full = true;
      continue;
    }
    unknown = unknown || absl::IsUnknown(attempt);
    const bool passes =
        absl::IsUnavailable(attempt) || absl::IsUnknown(attempt);
    // The deadline has cut it short: the one before tells more.
    if (passes && !status.ok() && MachineTime() >= call.deadline) break;
    status = std::move(attempt);
    const absl::Duration left = call.deadline - MachineTime() - kRetryPeriod;
    if (!passes || left <= absl::ZeroDuration() ||
        (call.interrupted != nullptr && *call.interrupted)) {
      break;
    }
    Clock::GetRealClock()->Sleep(std::min(period, left));
  }
  // One that was aborted has found what an earlier attempt has done.
  if (unknown && !status.ok() && !absl::IsAborted(status)) {
    return absl::UnknownError(status.message());
  }
  return status;
}

absl::Status PostgresDatabase::RunOnce(const Call& call, const Body& body,
                                       bool full, bool again) {
  std::unique_ptr<PostgresConnection> connection;
  {
    MutexLock lock(&mu_);
    if (!idle_.empty()) {
      connection = std::move(idle_.back());
      idle_.pop_back();
    }
  }
  if (connection == nullptr) {
    auto connected = Connect(call.deadline, call.interrupted);
    if (!connected.ok()) return NothingChanged(connected.status());
    connection = *std::move(connected);
  }
  Tables tables(this, call, full, again, connection.get());
  absl::Status status = body(tables, full);
  if (!tables.error().ok()) status = tables.error();
  if (status.ok()) status = tables.Commit();
  if (!status.ok() && connection->healthy() && connection->InTransaction()) {
    connection->Execute({{"ROLLBACK"}}, MachineTime() + kCleanUpTimeout)
        .IgnoreError();
  }
  MutexLock lock(&mu_);
  if (connection->healthy() && !connection->InTransaction()) {
    idle_.push_back(std::move(connection));
  } else if (absl::IsUnavailable(status)) {
    // The server may have been started again since they were used.
    idle_.clear();
  }
  return status;
}

absl::Status PostgresDatabase::ConnectListening(
    absl::Time deadline, const sync::Atomic<bool>* interrupted) {
  {
    MutexLock lock(&listening_mu_);
    if (listening_ != nullptr && listening_->healthy()) {
      if (unlocked_.empty()) return absl::OkStatus();
      return ListenFor(std::exchange(unlocked_, {}), deadline);
    }
    listening_ = nullptr;
  }
  // Without the lock: nobody else need wait for that.
  auto connection = Connect(deadline, interrupted);
  if (!connection.ok()) return connection.status();
  MutexLock lock(&listening_mu_);
  // Another thread may have been first.
  if (listening_ != nullptr && listening_->healthy()) return absl::OkStatus();
  std::set<int64_t> all;
  for (const auto& [listener, server] : listeners_) all.insert(listener);
  polls_ = (*connection)->has_pooler();
  listening_ = *std::move(connection);
  unlocked_.clear();
  const absl::Status status = ListenFor(all, deadline);
  look_ |= status.ok();
  return status;
}

absl::Status PostgresDatabase::ListenFor(const std::set<int64_t>& listeners,
                                         absl::Time deadline) {
  if (listening_ == nullptr) return absl::UnavailableError("nobody listens");
  if (polls_) return absl::OkStatus();
  absl::Cleanup deaf = [this]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    listening_ = nullptr;  // It does not listen.
  };
  const std::string prefix =
      absl::StrCat("LISTEN workqueue_", listener_table_.load(), "_");
  std::vector<Statement> statements = {{prefix + "all"}};
  for (int64_t it : listeners) {
    statements.push_back({absl::StrCat(prefix, it), {}, false, /*once=*/true});
  }
  statements.push_back(
      {sql_->occupy,
       {Value::Number(listener_table_ << 32),
        Value::Numbers({listeners.begin(), listeners.end()})}});
  // Others wait for the lock meanwhile.
  const auto rows = listening_->Execute(
      statements, std::min(deadline, MachineTime() + kCleanUpTimeout));
  if (!rows.ok()) return rows.status();
  const PostgresRows& unlocked = rows->front();
  for (int i = 0; i < unlocked.size(); ++i) {
    unlocked_.insert(unlocked.Number(i, 0));
  }
  std::move(deaf).Cancel();
  return absl::OkStatus();
}

absl::Status PostgresDatabase::Occupy(int64_t listener, int64_t server,
                                      absl::Time deadline) {
  absl::Status status = ConnectListening(deadline, /*interrupted=*/nullptr);
  if (status.ok()) {
    MutexLock lock(&listening_mu_);
    listeners_[listener] = server;
    status = ListenFor({listener}, deadline);
    look_ |= status.ok();
  }
  if (status.ok()) Wake();
  return NothingChanged(status);
}

void PostgresDatabase::Vacate(int64_t listener) {
  MutexLock lock(&listening_mu_);
  unlocked_.erase(listener);
  if (listeners_.erase(listener) == 0 || listening_ == nullptr || polls_) {
    return;
  }
  look_ = true;
  CatchAsStatus([&]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    return listening_->Execute(
        {{absl::StrCat("UNLISTEN workqueue_", listener_table_.load(), "_",
                       listener),
          {},
          false,
          /*once=*/true},
         {sql_->vacate, {Value::Number((listener_table_ << 32) + listener)}}},
        MachineTime() + kCleanUpTimeout);
  }).IgnoreError();
}

void PostgresDatabase::Wake() {
  woken_ = true;
  wake_.Set();
}

void PostgresDatabase::AwaitMessages(absl::Duration timeout) {
  const absl::Time deadline = MachineTime() + timeout;
  pollfd waits[2] = {{wake_.fd(), POLLIN, 0}, {-1, POLLIN, 0}};
  // The calls tell an error.
  ConnectListening(MachineTime() + kConnectTimeout, &woken_).IgnoreError();
  {
    MutexLock lock(&listening_mu_);
    if (listening_ != nullptr && listening_->TakeNotifications()) return;
    if (std::exchange(look_, false)) return;
    if (listening_ != nullptr && listening_->healthy()) {
      waits[1].fd = listening_->socket();
    }
  }
  const auto left = absl::ToInt64Milliseconds(deadline - MachineTime());
  poll(waits, 2, static_cast<int>(std::max<int64_t>(0, left) + 1));
  woken_ = false;
  wake_.Clear();
  MutexLock lock(&listening_mu_);
  if (listening_ != nullptr) listening_->TakeNotifications();
}

absl::StatusOr<EngineSettings> PostgresDatabase::CheckSettings(
    absl::Time deadline) {
  EngineSettings settings;
  const absl::Status status =
      Run({deadline, /*writes=*/false}, [&](EngineTables& tables, bool) {
        return static_cast<Tables&>(tables).CheckSettings(&settings);
      });
  if (!status.ok()) return status;
  return settings;
}

}  // namespace workqueue::internal
