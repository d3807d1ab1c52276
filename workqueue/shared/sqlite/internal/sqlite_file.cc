// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/shared/sqlite/internal/sqlite_file.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/types.h>
#include <time.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>  // NOLINT(build/c++17)
#include <limits>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <system_error>  // NOLINT(build/c++11)
#include <utility>
#include <vector>

#include "absl/memory/memory.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "workqueue/base/exceptions.h"
#include "workqueue/base/mutex_lock.h"
#include "workqueue/clock/clock.h"
#include "workqueue/shared/internal/ordered_store.h"
#include "workqueue/shared/internal/table_engine.h"
#include "workqueue/shared/sqlite/internal/wake_file.h"
#include "workqueue/simulation/sync.h"

namespace workqueue::internal {
namespace {

// What the file says that it is: "wkqu", and the version of the tables.
constexpr int kApplication = 0x776b7175;
constexpr int kVersion = 1;

// How long a process waits for the end of another one's transaction before it
// tries: a process that is killed tells nobody.
constexpr absl::Duration kLongestWait = absl::Milliseconds(10);

constexpr int kEveryThread = std::numeric_limits<int>::max();

// STATX_ATTR_MOUNT_ROOT, which older headers lack.
constexpr uint64_t kMountRoot = 0x2000;

// How long a process lets another one go first that has waited.
constexpr absl::Duration kWay = absl::Milliseconds(2);

constexpr char kTables[] = R"sql(
CREATE TABLE queue (id INTEGER PRIMARY KEY, name BLOB NOT NULL UNIQUE,
                    layout BLOB NOT NULL);
CREATE TABLE entry (queue INTEGER NOT NULL, key BLOB NOT NULL,
                    value BLOB NOT NULL, PRIMARY KEY (queue, key)) WITHOUT ROWID;
CREATE TABLE listener (id INTEGER PRIMARY KEY AUTOINCREMENT,
                       queue INTEGER NOT NULL);
CREATE TABLE message (id INTEGER PRIMARY KEY AUTOINCREMENT,
                      listener INTEGER NOT NULL, body BLOB NOT NULL);
CREATE INDEX message_of ON message (listener, id);
)sql";

absl::Time Now() { return Clock::GetRealClock()->TimeNow(); }

// Whether other machines may have the file, too: SQLite does not notice it. A
// file system of FUSE may be of either kind, and many are of this machine. So
// may be one of 9p: a container of gVisor has its disk by that name.
bool IsOfNetwork(const struct statfs& place) {
  switch (static_cast<uint32_t>(place.f_type)) {
    case NFS_SUPER_MAGIC:
    case SMB_SUPER_MAGIC:
    case 0xff534d42:  // CIFS
    case 0xfe534d42:  // SMB 2
    case 0x00c36400:  // Ceph
    case AFS_SUPER_MAGIC:
    case 0x6b414653:  // AFS of the kernel
    case CODA_SUPER_MAGIC:
    case 0x0bd00bd0:  // Lustre
    case 0x01161970:  // GFS2
    case 0x7461636f:  // OCFS2
    case 0x786f4256:  // VirtualBox
      return true;
    default:
      return false;
  }
}

bool IsBusy(int code) {
  return (code & 0xff) == SQLITE_BUSY || (code & 0xff) == SQLITE_LOCKED;
}

}  // namespace

// A query's run. Its results are those of the row that `Step()` has come to.
class SqliteFile::Row {
 public:
  template <typename... Values>
  Row(SqliteFile* file, const char* query, const Values&... values)
      : file_(*file), statement_(file->StatementOf(query)) {
    (Bind(values), ...);
  }
  ~Row() {
    if (statement_ == nullptr) return;
    sqlite3_reset(statement_);
    sqlite3_clear_bindings(statement_);
  }

  Row(const Row&) = delete;
  Row& operator=(const Row&) = delete;

  // Returns whether there is a row, or the next one.
  bool Step() {
    if (!file_.error_.ok()) return false;
    const int code = sqlite3_step(statement_);
    if (code != SQLITE_ROW && code != SQLITE_DONE) file_.Fail(code);
    return code == SQLITE_ROW;
  }

  int64_t Number(int column) const {
    return sqlite3_column_int64(statement_, column);
  }
  std::string Bytes(int column) const {
    const void* const bytes = sqlite3_column_blob(statement_, column);
    const int size = sqlite3_column_bytes(statement_, column);
    return bytes == nullptr ? ""
                            : std::string(static_cast<const char*>(bytes),
                                          static_cast<size_t>(size));
  }
  // In UTF-8, whatever the file's encoding is.
  std::string Text(int column) const {
    const auto* const text = sqlite3_column_text(statement_, column);
    return text == nullptr ? "" : reinterpret_cast<const char*>(text);
  }

 private:
  void Bind(int64_t number) {
    sqlite3_bind_int64(statement_, ++bound_, number);
  }
  // A null pointer would be no text, but NULL.
  void Bind(absl::string_view bytes) {
    sqlite3_bind_blob64(statement_, ++bound_, bytes.empty() ? "" : bytes.data(),
                        bytes.size(), SQLITE_TRANSIENT);
  }

  SqliteFile& file_;
  sqlite3_stmt* const statement_;
  int bound_ = 0;
};

absl::Status SqliteFile::StatusOf(int code) const {
  const std::string what =
      absl::StrCat("the file \"", path_, "\": ", sqlite3_errstr(code));
  switch (code & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return absl::UnavailableError(
          absl::StrCat(what, ": another process is writing for too long"));
    case SQLITE_FULL:
      return absl::ResourceExhaustedError(what);
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return absl::DataLossError(
          absl::StrCat(what, "; nothing is changed: restore it from a copy"));
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH:
      return absl::PermissionDeniedError(absl::StrCat(
          what,
          "; the process must be able to write to the file, to those "
          "beside it, and to their folder"));
    case SQLITE_CANTOPEN:
      return absl::NotFoundError(absl::StrCat(
          what,
          "; it must be a file, and its folder must exist, and be one that the "
          "process can write to"));
    default:
      return absl::UnavailableError(
          absl::StrCat(what, " (", sqlite3_extended_errcode(connection_), ")"));
  }
}

void SqliteFile::Fail(int code) {
  if (!error_.ok()) return;
  is_busy_ = IsBusy(code);
  error_ = CatchAsStatus([&] { return StatusOf(code); });
}

absl::StatusOr<std::unique_ptr<SqliteFile>> SqliteFile::Open(
    const std::string& path, absl::Time deadline) {
  auto file = absl::WrapUnique(new SqliteFile(path));
  const absl::Status status = file->Connect(deadline);
  if (!status.ok()) return status;
  return file;
}

SqliteFile::~SqliteFile() {
  for (const auto& it : statements_) sqlite3_finalize(it.second);
  sqlite3_close(connection_);
}

sqlite3_stmt* SqliteFile::StatementOf(const char* query) {
  sqlite3_stmt*& statement = statements_[query];
  if (statement != nullptr) return statement;
  const int code =
      sqlite3_prepare_v3(connection_, query, /*nByte=*/-1,
                         SQLITE_PREPARE_PERSISTENT, &statement, nullptr);
  if (code != SQLITE_OK) Fail(code);
  return statement;
}

absl::Status SqliteFile::Execute(const std::string& sql) {
  const int code =
      sqlite3_exec(connection_, sql.c_str(), nullptr, nullptr, nullptr);
  return code == SQLITE_OK ? absl::OkStatus() : StatusOf(code);
}

absl::Status SqliteFile::Connect(absl::Time deadline) {
  int code = sqlite3_open_v2(
      path_.c_str(), &connection_,
      SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX,
      nullptr);
  if (code != SQLITE_OK) return StatusOf(code);
  sqlite3_extended_result_codes(connection_, 1);
  absl::Status status = CheckPlace();
  if (!status.ok()) return status;
  // Another process may be making the tables, or repair the log of one that
  // was killed.
  while (true) {
    status = MakeTables();
    if (!absl::IsUnavailable(status) || Now() >= deadline) break;
    Clock::GetRealClock()->Sleep(kLongestWait);
  }
  // A commit is on the disk when it returns, also after a power cut.
  status.Update(Execute("PRAGMA synchronous = FULL"));
  status.Update(Execute("PRAGMA fullfsync = 1"));
  // Prepares the statement: later there may be no memory.
  Row(this, "BEGIN").Step();
  RollBack();
  status.Update(error_);
  if (!status.ok()) return status;
  // All processes find it beside the log, whatever they call the file.
  auto wake_file = WakeFile::Open(sqlite3_db_filename(connection_, "main"));
  if (!wake_file.ok()) return wake_file.status();
  wake_file_ = *std::move(wake_file);
  return absl::OkStatus();
}

absl::Status SqliteFile::CheckPlace() {
  // What SQLite has opened, whatever a link names by now.
  const char* const file = sqlite3_db_filename(connection_, "main");
  struct stat about = {};
  struct statfs place = {};
  if (stat(file, &about) != 0 || statfs(file, &place) != 0) {
    return StatusOf(SQLITE_CANTOPEN);
  }
  if (about.st_nlink > 1) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the file \"", path_, "\" has ", about.st_nlink,
        " names, and SQLite keeps a log beside each; remove the other hard "
        "links"));
  }
  // A kernel before 5.8 does not tell it.
  struct statx mounted = {};
  statx(AT_FDCWD, file, 0, STATX_BASIC_STATS, &mounted);
  if ((mounted.stx_attributes & kMountRoot) != 0) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the file \"", path_,
        "\" is mounted by itself, and SQLite keeps a log beside each mount; "
        "mount its folder"));
  }
  if (IsOfNetwork(place)) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the file \"", path_,
        "\" is in a network's file system; it must be on a disk of this "
        "machine"));
  }
  device_ = about.st_dev;
  inode_ = about.st_ino;
  std::error_code error;
  name_ = std::filesystem::absolute(path_, error);
  return absl::OkStatus();
}

absl::Status SqliteFile::MakeTables() {
  error_ = absl::OkStatus();
  const auto read = [this](const char* query) {
    Row row(this, query);
    return row.Step() ? row.Text(0) : "";
  };
  const auto refuse = [this](absl::string_view why) {
    error_.Update(absl::FailedPreconditionError(
        absl::StrCat("the file \"", path_, "\" ", why)));
  };
  // Sees first whose file it is: another one stays as it is.
  for (const bool changes : {false, true}) {
    if (changes && read("PRAGMA journal_mode = WAL") != "wal") {
      refuse(
          "is where SQLite can have no write-ahead log; it must be on a disk "
          "of this machine");
    }
    Row(this, changes ? "BEGIN IMMEDIATE" : "BEGIN").Step();
    const bool is_empty = read("SELECT count(*) FROM sqlite_master") == "0";
    const std::string application = read("PRAGMA application_id");
    const std::string version = read("PRAGMA user_version");
    if (is_empty && application == "0" && version == "0") {
      if (changes && error_.ok()) {
        error_ = Execute(
            absl::StrCat(kTables, "PRAGMA application_id = ", kApplication,
                         "; PRAGMA user_version = ", kVersion, ";"));
      }
    } else if (application != absl::StrCat(kApplication)) {
      refuse("is a database of something else; name a file that is not there");
    } else if (version != absl::StrCat(kVersion)) {
      refuse(absl::StrCat("has the version ", version,
                          " of the tables, and this library the version ",
                          kVersion));
    }
    Row(this, "COMMIT").Step();
    if (error_.ok()) continue;
    const absl::Status status = error_;
    RollBack();
    return status;
  }
  return absl::OkStatus();
}

bool SqliteFile::Job::IsInterrupted() const {
  return interrupted != nullptr && *interrupted;
}

bool SqliteFile::Job::IsOver() const {
  return Now() >= deadline || IsInterrupted();
}

void SqliteFile::Interrupted() { MutexLock lock(&mu_); }

void SqliteFile::Vacate(int64_t listener) {
  MutexLock lock(&mu_);
  listeners_.erase(listener);
  wake_file_->Vacate(listener);
}

void SqliteFile::Wake() {
  wake_file_->Change(WakeFile::kMessages, kEveryThread);
}

absl::Status SqliteFile::Run(const Call& call, const Body& body) {
  Job job = {call, body};
  const auto may_go_on = [&]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
    return job.done || (!job.taken && (!busy_ || job.IsInterrupted()));
  };
  const auto is_free = [&job] { return !job.taken; };
  std::list<Job*> jobs = {&job};
  MutexLock lock(&mu_);
  jobs_.splice(jobs_.end(), jobs);
  while (!job.done) {
    Clock::GetRealClock()->AwaitWithDeadline(&mu_, absl::Condition(&may_go_on),
                                             call.deadline);
    // The thread that has taken the job also sees when the job is over.
    mu_.Await(absl::Condition(&is_free));
    if (job.done) break;
    if (busy_) {
      jobs_.remove(&job);
      return absl::UnavailableError(absl::StrCat(
          "the file \"", path_, "\": earlier calls are in progress"));
    }
    Lead(&job);
  }
  return job.status;
}

void SqliteFile::Lead(Job* own) {
  // Takes no memory: then the jobs could not end.
  std::list<Job*> jobs;
  for (auto it = jobs_.begin(); it != jobs_.end();) {
    const auto job = it++;
    // One that only reads, and may take long, must not lock others out.
    (*job)->taken = *job == own || ((*job)->writes == own->writes &&
                                    !(*job)->alone && !own->alone);
    if ((*job)->taken) jobs.splice(jobs.end(), jobs_, job);
  }
  busy_ = true;
  absl::Status status;
  {
    MutexUnlock unlock(&mu_);
    status = TryTogether(jobs);
  }
  busy_ = false;
  const bool is_full = absl::IsResourceExhausted(status);
  const bool has_company = jobs.size() > 1;
  while (!jobs.empty()) {
    Job* const it = jobs.front();
    it->taken = false;
    // Those that are over end. The others go on, and one of them leads; but
    // each for itself after an error: one that only adds, or fails by itself,
    // must not fail the others.
    if ((is_full && !it->full) || absl::IsAborted(status) ||
        (absl::IsUnavailable(status) && has_company && !it->IsOver())) {
      it->alone = it->alone || !is_busy_;
      it->full = is_full;
      jobs_.splice(jobs_.end(), jobs, jobs.begin());
    } else {
      if (!status.ok()) it->status = status;
      it->done = true;
      jobs.pop_front();
    }
  }
}

absl::Status SqliteFile::TryTogether(const std::list<Job*>& jobs) {
  const bool writes = jobs.front()->writes;
  const bool full = writes && jobs.front()->full;
  const auto is_over = [](const Job* it) { return it->IsOver(); };
  // One that only reads is in nobody's way.
  if (writes && gives_way_since_) {
    wake_file_->Await(WakeFile::kCommits, *gives_way_since_, kWay);
    gives_way_since_.reset();
  }
  absl::Status status;
  while (true) {
    const uint32_t seen = wake_file_->Read(WakeFile::kCommits);
    status = TryOnce(jobs, writes, full);
    if (!is_busy_ || std::any_of(jobs.begin(), jobs.end(), is_over)) break;
    wake_file_->Await(WakeFile::kCommits, seen, kLongestWait);
  }
  if (!writes || is_busy_) return status;
  const uint32_t seen = wake_file_->Read(WakeFile::kCommits) + 1;
  if (wake_file_->Change(WakeFile::kCommits, 1) > 0) gives_way_since_ = seen;
  if (status.ok() && has_messages_) {
    wake_file_->Change(WakeFile::kMessages, kEveryThread);
  }
  return status;
}

// The tables, in a transaction, and the entries of a queue.
class SqliteFile::Tables final : public EngineTables, private OrderedStore {
 public:
  explicit Tables(SqliteFile* file) : file_(*file) {}

  absl::StatusOr<int64_t> FindQueue(absl::string_view name,
                                    const std::string& layout) override {
    {
      Row row(&file_, "SELECT id, layout FROM queue WHERE name = ?1", name);
      if (row.Step()) {
        const std::string found = row.Bytes(1);
        if (found == layout) return row.Number(0);
        return absl::FailedPreconditionError(absl::StrCat(
            "the layout of the queue \"", name, "\" in the file \"",
            file_.path_, "\" is ", found, ", and this client's is ", layout));
      }
    }
    Row(&file_, "INSERT INTO queue (name, layout) VALUES (?1, ?2)", name,
        layout)
        .Step();
    if (!file_.error_.ok()) return file_.error_;
    return sqlite3_last_insert_rowid(file_.connection_);
  }

  OrderedStore* Open(int64_t queue) override {
    queue_ = queue;
    return this;
  }

  // The kernel's clock, which all processes read alike. That of a `Clock`, and
  // of absl::Now(), is each process' own estimate. The time must not go back,
  // so differences would add up.
  absl::Time Now() override {
    timespec now = {};
    clock_gettime(CLOCK_REALTIME, &now);
    return absl::TimeFromTimespec(now);
  }

  int64_t AddListener(int64_t queue) override {
    while (true) {
      Row(&file_, "INSERT INTO listener (queue) VALUES (?1)", queue).Step();
      if (!file_.error_.ok()) return 0;
      // Nobody else sees the number before this process has it.
      const int64_t listener = sqlite3_last_insert_rowid(file_.connection_);
      {
        MutexLock lock(&file_.mu_);
        if (file_.wake_file_->Occupy(listener) &&
            file_.listeners_.insert(listener).second) {
          return listener;
        }
      }
      // Somebody could not add it, and has not forgotten it yet.
      Row(&file_, "DELETE FROM listener WHERE id = ?1", listener).Step();
    }
  }

  void RemoveListener(int64_t listener) override {
    Row(&file_, "DELETE FROM listener WHERE id = ?1", listener).Step();
    RemoveMessages(listener, 0, std::numeric_limits<int64_t>::max());
  }

  std::vector<int64_t> ListenersOf(int64_t queue) override {
    std::vector<int64_t> listeners;
    Row row(&file_, "SELECT id FROM listener WHERE queue = ?1", queue);
    while (row.Step()) listeners.push_back(row.Number(0));
    return listeners;
  }

  bool Lives(int64_t listener) override {
    return IsOfThisProcess(listener) || file_.wake_file_->IsOccupied(listener);
  }

  void AddMessage(int64_t listener, absl::string_view body) override {
    Row(&file_, "INSERT INTO message (listener, body) VALUES (?1, ?2)",
        listener, body)
        .Step();
    Notify();
  }

  Messages MessagesOf(
      const std::vector<std::pair<int64_t, int64_t>>& listeners) override {
    Messages messages;
    for (const auto& [listener, after] : listeners) {
      if (!IsOfThisProcess(listener) ||
          !Row(&file_, "SELECT 1 FROM listener WHERE id = ?1", listener)
               .Step()) {
        continue;
      }
      std::vector<Message>& its = messages[listener].messages;
      Row row(&file_,
              "SELECT id, body FROM message WHERE listener = ?1 AND id > ?2 "
              "ORDER BY id",
              listener, after);
      while (row.Step()) its.push_back({row.Number(0), row.Bytes(1)});
    }
    return messages;
  }

  void RemoveMessages(int64_t listener, int64_t after, int64_t until) override {
    Row(&file_,
        "DELETE FROM message WHERE listener = ?1 AND id > ?2 AND id <= ?3",
        listener, after, until)
        .Step();
  }

  void Notify() override { file_.has_messages_ = true; }

 private:
  // OrderedStore
  std::optional<std::string> Get(absl::string_view key) override {
    Row row(&file_, "SELECT value FROM entry WHERE queue = ?1 AND key = ?2",
            queue_, key);
    if (!row.Step()) return std::nullopt;
    return row.Bytes(0);
  }
  void Put(absl::string_view key, absl::string_view value) override {
    Row(&file_, "REPLACE INTO entry VALUES (?1, ?2, ?3)", queue_, key, value)
        .Step();
  }
  void Delete(absl::string_view key) override {
    Row(&file_, "DELETE FROM entry WHERE queue = ?1 AND key = ?2", queue_, key)
        .Step();
  }
  std::optional<Entry> First(absl::string_view prefix,
                             absl::string_view after) override {
    Row row(&file_,
            "SELECT key, value FROM entry WHERE queue = ?1 AND key >= ?2 ORDER "
            "BY key LIMIT 1",
            queue_, LeastKey(prefix, after));
    if (!row.Step()) return std::nullopt;
    Entry entry = {row.Bytes(0), row.Bytes(1)};
    if (!absl::StartsWith(entry.key, prefix)) return std::nullopt;
    return entry;
  }

  bool IsOfThisProcess(int64_t listener) {
    MutexLock lock(&file_.mu_);
    return file_.listeners_.count(listener) > 0;
  }

  SqliteFile& file_;
  int64_t queue_ = 0;
};

absl::Status SqliteFile::TryOnce(const std::list<Job*>& jobs, bool writes,
                                 bool full) {
  has_messages_ = false;
  is_busy_ = false;
  error_ = absl::OkStatus();
  bool fails = false;
  const absl::Status status = CatchAsStatus([&]() -> absl::Status {
    Row(this, writes ? "BEGIN IMMEDIATE" : "BEGIN").Step();
    absl::Status found = CheckFile();
    if (!found.ok()) return found;
    Tables tables(this);
    for (Job* it : jobs) {
      it->status = CatchAsStatus([&] { return it->body(tables, full); });
      fails |= !it->status.ok();
    }
    if (!error_.ok()) return error_;
    if (!fails) return Commit();
    if (jobs.size() == 1) return absl::OkStatus();
    return absl::AbortedError("one of the jobs has failed");
  });
  if (!status.ok() || fails) RollBack();
  return status;
}

absl::Status SqliteFile::CheckFile() {
  if (!error_.ok()) return error_;
  // What nobody finds under its name any more must take nothing.
  int has_moved = 0;
  sqlite3_file_control(connection_, "main", SQLITE_FCNTL_HAS_MOVED, &has_moved);
  // A link may name another one.
  struct stat about = {};
  if (has_moved != 0 || stat(name_.c_str(), &about) != 0 ||
      about.st_dev != device_ || about.st_ino != inode_) {
    return absl::FailedPreconditionError(
        absl::StrCat("the file \"", path_,
                     "\" has been moved or replaced; put it back, or "
                     "start the process again"));
  }
  Row row(this, "PRAGMA user_version");
  if (row.Step() && row.Number(0) != kVersion) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the file \"", path_, "\" has the version ", row.Number(0),
        " of the tables by now, and this library the version ", kVersion));
  }
  return error_;
}

absl::Status SqliteFile::Commit() {
  Row(this, "COMMIT").Step();
  if (is_busy_ || !(absl::IsUnavailable(error_) || absl::IsInternal(error_))) {
    return error_;
  }
  // Nobody knows whether the disk has the transaction.
  absl::Status unknown(absl::StatusCode::kUnknown, "");
  TryCall([&] { unknown = absl::UnknownError(error_.message()); });
  return unknown;
}

void SqliteFile::RollBack() {
  // SQLite may have done that already.
  if (sqlite3_get_autocommit(connection_) != 0) return;
  error_ = absl::OkStatus();
  Row(this, "ROLLBACK").Step();
}

}  // namespace workqueue::internal
