// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "test/shared/redis_server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstddef>
#include <filesystem>  // NOLINT(build/c++17)
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <string>
#include <system_error>  // NOLINT(build/c++11)
#include <thread>        // NOLINT(build/c++11)
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/synchronization/notification.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "hiredis/hiredis.h"
#include "workqueue/base/mutex_lock.h"
#include "workqueue/redis/redis_connection.h"
#include "workqueue/redis/redis_options.h"

namespace workqueue {
namespace {

constexpr absl::Duration kPollInterval = absl::Milliseconds(5);

// More descriptors than a test opens.
constexpr int kMaxDescriptors = 65536;

// How much of the log an error has.
constexpr size_t kLogTail = 2000;

// This program is the server if its `argv[0]` is another: a Redis server's file
// is also this tool. Debian's package of the server starts a daemon. Its
// package redis-tools has only this program, and starts nothing.
constexpr absl::string_view kCheckRdb = "redis-check-rdb";

absl::Status ErrnoError(absl::string_view what, int error) {
  return absl::InternalError(absl::StrCat(what, ": ", strerror(error)));
}

// Waits until the process `pid`, a child of this one, has ended.
void AwaitEnd(pid_t pid) {
  while (waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
  }
}

// ForkThread
//
// A thread that runs functions, and never ends. Linux sends the signal of
// PR_SET_PDEATHSIG when the thread ends that forked, not when the process ends.
// A thread of the test may end while the server must live.
class ForkThread {
 public:
  static ForkThread& Get() {
    static auto* const thread = new ForkThread;
    return *thread;
  }

  // Runs `function` on the thread, and waits until it returns.
  void Run(const std::function<void()>& function) ABSL_LOCKS_EXCLUDED(mu_) {
    absl::Notification done;
    {
      internal::MutexLock lock(&mu_);
      functions_.push_back([&] {
        function();
        done.Notify();
      });
    }
    done.WaitForNotification();
  }

 private:
  ForkThread() {
    std::thread([this] {
      for (;;) Next()();
    }).detach();
  }

  std::function<void()> Next() ABSL_LOCKS_EXCLUDED(mu_) {
    internal::MutexLock lock(&mu_);
    mu_.Await(absl::Condition(
        +[](std::vector<std::function<void()>>* functions) {
          return !functions->empty();
        },
        &functions_));
    std::function<void()> function = std::move(functions_.front());
    functions_.erase(functions_.begin());
    return function;
  }

  absl::Mutex mu_;
  std::vector<std::function<void()>> functions_ ABSL_GUARDED_BY(mu_);
};

// Becomes the program `path`, in a process that fork() has just made. Writes
// `errno` to the file `errors` if that fails. The other threads do not exist
// here, and may have held any lock. So this calls only functions that are safe
// in a signal handler.
[[noreturn]] void Exec(const char* path, char* const* argv, char* const* envp,
                       int output, int errors, pid_t parent) {
  sigset_t signals;
  sigemptyset(&signals);
  const int input = open("/dev/null", O_RDONLY);
  const bool redirected = input >= 0 && dup2(input, STDIN_FILENO) >= 0 &&
                          dup2(output, STDOUT_FILENO) >= 0 &&
                          dup2(output, STDERR_FILENO) >= 0;
  if (redirected && sigprocmask(SIG_SETMASK, &signals, nullptr) == 0 &&
      prctl(PR_SET_PDEATHSIG, SIGKILL) == 0) {
    if (getppid() != parent) _exit(1);  // The parent ended before the prctl.
    // The server inherits no other descriptor. Before 5.11, Linux has no call
    // that says so for all at once.
    if (close_range(3, ~0U, CLOSE_RANGE_CLOEXEC) != 0) {
      for (int fd = 3; fd < kMaxDescriptors; ++fd) {
        fcntl(fd, F_SETFD, FD_CLOEXEC);
      }
    }
    execve(path, argv, envp);
  }
  const int error = errno;
  [[maybe_unused]] const ssize_t written = write(errors, &error, sizeof(error));
  _exit(1);
}

// Starts `program` with the argument `argument`, and `variables` in its
// environment. Its output goes to the end of the file `log`. Returns the
// process.
absl::StatusOr<pid_t> Spawn(const RedisServer::Program& program,
                            std::string argument,
                            std::vector<std::string> variables,
                            const std::string& log) {
  std::string name = program.name;
  char* const argv[] = {name.data(), argument.data(), nullptr};
  std::vector<char*> envp;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    envp.push_back(*variable);
  }
  for (std::string& variable : variables) envp.push_back(variable.data());
  envp.push_back(nullptr);
  const int output =
      open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (output < 0) return ErrnoError(log, errno);
  int errors[2];  // Is closed by a successful exec.
  if (pipe2(errors, O_CLOEXEC) != 0) {
    const int error = errno;
    close(output);
    return ErrnoError("pipe2", error);
  }

  pid_t pid = -1;
  int error = 0;
  ForkThread::Get().Run([&] {
    const pid_t parent = getpid();
    pid = fork();
    if (pid == 0) {
      Exec(program.path.c_str(), argv, envp.data(), output, errors[1], parent);
    }
    if (pid < 0) error = errno;
  });
  close(output);
  close(errors[1]);
  ssize_t size = 0;
  if (pid >= 0) {
    do {
      size = read(errors[0], &error, sizeof(error));
    } while (size < 0 && errno == EINTR);
  }
  close(errors[0]);
  if (pid >= 0 && size == 0) return pid;
  if (pid >= 0) AwaitEnd(pid);
  return ErrnoError(absl::StrCat("cannot run ", program.path), error);
}

// Returns a TCP port of 127.0.0.1 that nothing uses.
absl::StatusOr<int> FreePort() {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return ErrnoError("socket", errno);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  auto* const base = reinterpret_cast<sockaddr*>(&address);
  const bool found =
      bind(fd, base, size) == 0 && getsockname(fd, base, &size) == 0;
  const int error = errno;
  close(fd);
  if (!found) return ErrnoError("no free port", error);
  return ntohs(address.sin_port);
}

// Makes a directory in which the path of a socket is short enough.
absl::StatusOr<std::string> MakeDirectory() {
  const char* const temporary = getenv("TEST_TMPDIR");
  std::string path =
      absl::StrCat(temporary == nullptr ? "/tmp" : temporary, "/redis-XXXXXX");
  if (path.size() + strlen("/socket") >= sizeof(sockaddr_un::sun_path)) {
    path = "/tmp/redis-XXXXXX";
  }
  if (mkdtemp(path.data()) == nullptr) return ErrnoError(path, errno);
  return path;
}

// Returns the path of the program `name`, which is in the PATH or has a slash.
// Returns an empty string if there is none.
std::string Which(const std::string& name) {
  if (absl::StrContains(name, "/")) {
    return access(name.c_str(), X_OK) == 0 ? name : "";
  }
  const char* const path = getenv("PATH");
  for (absl::string_view folder :
       absl::StrSplit(path == nullptr ? "/usr/local/bin:/usr/bin" : path, ':',
                      absl::SkipEmpty())) {
    std::string file = absl::StrCat(folder, "/", name);
    if (access(file.c_str(), X_OK) == 0) return file;
  }
  return "";
}

// Sends PING on a new connection. Returns an error unless the answer is PONG.
absl::Status Ping(const std::string& socket_path) {
  const std::unique_ptr<redisContext, void (*)(redisContext*)> context(
      redisConnectUnixWithTimeout(socket_path.c_str(), {1, 0}), redisFree);
  if (context == nullptr) return absl::ResourceExhaustedError("no memory");
  if (context->err == 0) redisSetTimeout(context.get(), {1, 0});
  if (context->err != 0) return absl::UnavailableError(context->errstr);
  const std::unique_ptr<redisReply, void (*)(void*)> reply(
      static_cast<redisReply*>(redisCommand(context.get(), "PING")),
      freeReplyObject);
  if (reply == nullptr) return absl::UnavailableError(context->errstr);
  const std::string text(reply->str, reply->len);
  // A server that loads its database answers with the error LOADING.
  return text == "PONG" ? absl::OkStatus() : absl::UnavailableError(text);
}

}  // namespace

bool RedisServer::IsRequired() {
  const char* const require = getenv("REQUIRE_REDIS_SERVER");
  return require != nullptr && *require != '\0';
}

absl::StatusOr<RedisServer::Program> RedisServer::Find() {
  std::vector<std::string> names = {"valkey-server", "redis-server",
                                    std::string(kCheckRdb)};
  const char* const variable = getenv("WORKQUEUE_REDIS_SERVER");
  if (variable != nullptr && *variable != '\0') names = {variable};
  for (const std::string& name : names) {
    std::string path = Which(name);
    if (path.empty()) continue;
    const std::string file = std::filesystem::path(path).filename();
    return Program{std::move(path),
                   file == kCheckRdb ? std::string("redis-server") : file};
  }
  return absl::NotFoundError(absl::StrCat(
      "no Redis server: there is no program ", absl::StrJoin(names, ", "),
      ". Install Valkey or Redis, for example Debian's package redis-tools, or "
      "name a server in the environment variable WORKQUEUE_REDIS_SERVER."));
}

absl::StatusOr<std::unique_ptr<RedisServer>> RedisServer::Start(
    Options options) {
  absl::StatusOr<Program> program = Find();
  if (!program.ok()) return program.status();
  absl::StatusOr<std::string> directory = MakeDirectory();
  if (!directory.ok()) return directory.status();
  std::unique_ptr<RedisServer> server(new RedisServer(
      std::move(options), *std::move(program), *std::move(directory)));

  // Another process may take a port before the server does.
  absl::Status status;
  for (int attempt = 0; attempt < (server->options_.tcp ? 3 : 1); ++attempt) {
    if (server->options_.tcp) {
      absl::StatusOr<int> port = FreePort();
      if (!port.ok()) return port.status();
      server->port_ = *port;
    }
    if (server->options_.cluster) {
      absl::StatusOr<int> port = FreePort();
      if (!port.ok()) return port.status();
      server->cluster_port_ = *port;
    }
    status = server->Launch();
    if (status.ok()) return server;
  }
  return status;
}

RedisServer::RedisServer(Options options, Program program,
                         std::string directory)
    : options_(std::move(options)),
      program_(std::move(program)),
      directory_(std::move(directory)),
      socket_path_(directory_ + "/socket") {}

RedisServer::~RedisServer() {
  Kill();
  std::error_code error;
  std::filesystem::remove_all(directory_, error);
}

void RedisServer::Kill() {
  if (pid_ < 0) return;
  kill(pid_, SIGKILL);
  AwaitEnd(pid_);
  pid_ = -1;
}

void RedisServer::Stop() {
  if (pid_ < 0) return;
  kill(pid_, SIGTERM);
  kill(pid_, SIGCONT);  // A paused server ends, too.
  const absl::Time deadline = absl::Now() + options_.timeout;
  while (absl::Now() < deadline) {
    if (waitpid(pid_, nullptr, WNOHANG) != 0) {
      pid_ = -1;
      return;
    }
    absl::SleepFor(kPollInterval);
  }
  Kill();
}

absl::Status RedisServer::Restart() {
  Kill();
  return Launch();
}

void RedisServer::Pause() {
  kill(pid_, SIGSTOP);
  // The signal takes effect later, so wait for the stop. An end stays to be
  // waited for.
  siginfo_t info;
  waitid(P_PID, pid_, &info, WSTOPPED | WEXITED | WNOWAIT);
}

void RedisServer::Resume() { kill(pid_, SIGCONT); }

absl::Status RedisServer::Launch() {
  const std::string config = directory_ + "/redis.conf";
  std::ofstream file(config);
  file << "unixsocket " << socket_path_ << "\n"
       << (options_.tls ? "port 0\ntls-port " : "port ") << port_ << "\n"
       << "bind 127.0.0.1\n"
       << "dir " << directory_ << "\n"
       << "daemonize no\n"
       << "appendonly yes\n"
       << "appendfsync always\n"
       << "save \"\"\n"
       << "maxmemory-policy noeviction\n";
  if (options_.cluster) {
    file << "cluster-enabled yes\n"
         << "cluster-port " << cluster_port_ << "\n"
         << "cluster-node-timeout 1000\n"
         << "cluster-require-full-coverage no\n";
  }
  for (const std::string& line : options_.config) file << line << "\n";
  file.close();
  if (!file) return absl::InternalError("cannot write " + config);

  absl::StatusOr<pid_t> pid =
      Spawn(program_, config, options_.environment, directory_ + "/log");
  if (!pid.ok()) return pid.status();
  pid_ = *pid;
  const absl::Status status = AwaitPong();
  if (status.ok()) return status;
  Kill();
  return WithLog(status);
}

absl::Status RedisServer::AwaitPong() {
  const absl::Time deadline = absl::Now() + options_.timeout;
  for (;;) {
    const absl::Status status = Ping(socket_path_);
    if (status.ok()) return status;
    if (waitpid(pid_, nullptr, WNOHANG) != 0) {
      pid_ = -1;
      return absl::InternalError("the server has ended");
    }
    if (absl::Now() >= deadline) {
      return absl::DeadlineExceededError(absl::StrCat(
          "no PONG within ", absl::FormatDuration(options_.timeout), ": ",
          status.message()));
    }
    absl::SleepFor(kPollInterval);
  }
}

absl::Status RedisServer::WithLog(const absl::Status& status) const {
  std::ifstream file(directory_ + "/log");
  const std::string log(std::istreambuf_iterator<char>(file), {});
  const size_t start = log.size() > kLogTail ? log.size() - kLogTail : 0;
  return absl::Status(
      status.code(),
      absl::StrCat(status.message(), "\n", absl::ClippedSubstr(log, start)));
}

absl::StatusOr<internal::RedisReply> SendTo(
    const std::string& address, const std::vector<absl::string_view>& words) {
  constexpr absl::Duration kTimeout = absl::Seconds(30);
  RedisOptions options;
  options.address = address;
  const auto connection = internal::RedisConnection::Connect(options, kTimeout);
  if (!connection.ok()) return connection.status();
  return (*connection)->Call(words, kTimeout);
}

}  // namespace workqueue
