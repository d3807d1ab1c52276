// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "test/shared/postgres_server.h"

#include <fcntl.h>
#include <libpq-fe.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <filesystem>  // NOLINT(build/c++17)
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <string>
#include <system_error>  // NOLINT(build/c++11)
#include <utility>
#include <vector>

#include "absl/memory/memory.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "test/shared/new_shared_queue.h"
#include "workqueue/shared/postgres/postgres_engine.h"

namespace workqueue {
namespace {

// The server refuses to run as root. This is the user that it has then.
constexpr uid_t kNobody = 65534;

// Starts a program as that user, in a process that ends with this thread. In a
// sandbox that has only root, root gets another number.
pid_t Spawn(std::vector<std::string> arguments, const std::string& folder,
            const std::vector<std::string>& environment = {}) {
  const bool is_root = geteuid() == 0;
  const bool is_alone = is_root && chown(folder.c_str(), kNobody, kNobody) != 0;
  if (is_alone) {
    const std::string as_nobody = absl::StrCat("--map-user=", kNobody);
    arguments.insert(arguments.begin(), {"/usr/bin/unshare", as_nobody});
  }
  const std::string output = folder + "/log";
  std::vector<char*> argv;
  for (const std::string& it : arguments) {
    argv.push_back(const_cast<char*>(it.c_str()));
  }
  argv.push_back(nullptr);
  const pid_t pid = fork();
  if (pid != 0) return pid;
  if (is_root && !is_alone && (setgid(kNobody) != 0 || setuid(kNobody) != 0)) {
    _exit(1);
  }
  // After this signal the server ends its own processes, too.
  prctl(PR_SET_PDEATHSIG, SIGQUIT);
  const int log = open(output.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
  dup2(log, STDOUT_FILENO);
  dup2(log, STDERR_FILENO);
  for (const std::string& it : environment) putenv(strdup(it.c_str()));
  execv(argv[0], argv.data());
  _exit(1);
}

// Makes all of `folder` that user's.
void GiveAway(const std::string& folder) {
  // In a sandbox that has only root, it is that user's already.
  if (chown(folder.c_str(), kNobody, kNobody) != 0) return;
  for (const auto& it : std::filesystem::recursive_directory_iterator(folder)) {
    if (chown(it.path().c_str(), kNobody, kNobody) != 0) std::abort();
  }
}

// The folder of the newest version's programs, or nothing.
std::string Programs() {
  std::vector<std::pair<int, std::string>> found;
  std::error_code error;
  for (const auto& it :
       std::filesystem::directory_iterator("/usr/lib/postgresql", error)) {
    const std::string folder = it.path().string() + "/bin/";
    if (access((folder + "postgres").c_str(), X_OK) != 0) continue;
    found.emplace_back(atoi(it.path().filename().c_str()), folder);
  }
  if (found.empty()) return "";
  return std::max_element(found.begin(), found.end())->second;
}

}  // namespace

absl::StatusOr<std::unique_ptr<PostgresServer>> PostgresServer::Start(
    Options options) {
  std::string programs = Programs();
  if (programs.empty()) {
    return absl::NotFoundError(
        "there is no /usr/lib/postgresql/*/bin/postgres; Debian's package "
        "postgresql has it");
  }
  auto server = absl::WrapUnique(
      new PostgresServer(std::move(programs), std::move(options)));
  if (server->options_.fill) {
    server->options_.fill(server->database());
    if (geteuid() == 0) GiveAway(server->database());
  } else {
    const pid_t init =
        Spawn({server->programs_ + "initdb", "-D", server->database(), "-U",
               "test", "-A", "trust", "--no-sync", "-E", "UTF8", "--locale=C",
               "--wal-segsize=1"},
              server->folder_.path());
    int status = 0;
    waitpid(init, &status, 0);
    if (status != 0) {
      return absl::InternalError(absl::StrCat("initdb ended with ", status));
    }
  }
  const absl::Status started = server->Launch();
  if (!started.ok()) return started;
  return server;
}

PostgresServer::~PostgresServer() {
  if (pooler_ > 0) {
    kill(pooler_, SIGKILL);
    waitpid(pooler_, nullptr, 0);
  }
  Crash();
}

std::string PostgresServer::address() const {
  return absl::StrCat("postgres:///postgres?host=", folder_.path(),
                      "&user=test");
}

absl::StatusOr<std::string> PostgresServer::StartPooler() {
  const char* const program = getenv("WORKQUEUE_PGBOUNCER");
  const std::string path = program != nullptr ? program : "/usr/sbin/pgbouncer";
  if (access(path.c_str(), X_OK) != 0) {
    return absl::NotFoundError(absl::StrCat(
        "there is no ", path, "; Debian's package pgbouncer has it"));
  }
  const std::string& folder = folder_.path();
  std::ofstream(folder + "/users") << "\"test\" \"\"\n";
  std::ofstream(folder + "/pooler.ini")
      << "[databases]\n* = host=" << folder << " port=5432\n[pgbouncer]\n"
      << "listen_port = 6432\nunix_socket_dir = " << folder
      << "\nauth_type = trust\nauth_file = " << folder << "/users\n"
      << "pool_mode = transaction\ndefault_pool_size = 3\n"
      << "server_login_retry = 1\n";
  pooler_ = Spawn({path, folder + "/pooler.ini"}, folder);
  const std::string to = absl::StrCat("postgres:///postgres?host=", folder,
                                      "&port=6432&user=test");
  while (PQping(to.c_str()) != PQPING_OK) {
    if (waitpid(pooler_, nullptr, WNOHANG) == pooler_) {
      pooler_ = -1;
      return absl::InternalError(absl::StrCat(path, " has ended"));
    }
    absl::SleepFor(absl::Milliseconds(10));
  }
  return to;
}

void PostgresServer::End(int signal) {
  if (pid_ <= 0) return;
  kill(pid_, signal);
  waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

void PostgresServer::Stop() { End(SIGINT); }

// The server has a group of processes, each of which is a child of it.
void PostgresServer::Crash() { End(SIGQUIT); }

absl::Status PostgresServer::Launch() {
  const std::string& folder = folder_.path();
  std::vector<std::string> arguments = {programs_ + "postgres", "-D",
                                        database(), "-k", folder};
  for (const char* it :
       {"listen_addresses=", "max_connections=200", "max_wal_size=32MB",
        "shared_buffers=32MB", "dynamic_shared_memory_type=mmap"}) {
    arguments.insert(arguments.end(), {"-c", it});
  }
  for (const std::string& it : options_.settings) {
    arguments.push_back("-c");
    arguments.push_back(it);
  }
  pid_ = Spawn(std::move(arguments), folder, options_.environment);
  const absl::Time deadline = absl::Now() + absl::Seconds(60);
  while (PQping(address().c_str()) != PQPING_OK) {
    if (waitpid(pid_, nullptr, WNOHANG) == pid_) {
      pid_ = -1;
      std::ifstream log(folder + "/log");
      const std::string text(std::istreambuf_iterator<char>(log), {});
      return absl::InternalError(absl::StrCat(
          "the server ended: ",
          text.substr(text.size() - std::min<size_t>(text.size(), 1000))));
    }
    if (absl::Now() > deadline) {
      return absl::DeadlineExceededError("the server does not start");
    }
    absl::SleepFor(absl::Milliseconds(10));
  }
  return absl::OkStatus();
}

void PostgresServer::StartAgain() {
  const absl::Status started = Launch();
  if (!started.ok()) DieOf(started);
}

bool IsNotRequired(const absl::Status& started) {
  return absl::IsNotFound(started) &&
         getenv("REQUIRE_POSTGRES_SERVER") == nullptr;
}

PostgresServer& PostgresServerOfThisProgram() {
  static const std::unique_ptr<PostgresServer> server = [] {
    auto started = PostgresServer::Start();
    if (IsNotRequired(started.status())) {
      std::cout << "Skipped: " << started.status().message() << "\n";
      exit(0);
    }
    if (!started.ok()) DieOf(started.status());
    const absl::Status made = PostgresEngine::Migrate((*started)->address());
    if (!made.ok()) DieOf(made);
    return *std::move(started);
  }();
  return *server;
}

}  // namespace workqueue
