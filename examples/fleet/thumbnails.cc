// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// A process of a fleet that makes thumbnails of the pictures in FOLDER/in, in
// FOLDER/out. Any number of processes shares the work, on a queue in a server
// of Valkey or Redis.
//
//   - GET /readyz tells whether the process does its work, /metrics has the
//     metrics, and /workqueue is the page for those on call.
//   - SIGTERM or SIGINT ends the process, within five seconds.
//
// A picture is a text here, and its thumbnail the beginning of it. One that
// begins with "broken" cannot be read: it is parked after five failures.
//
// usage: thumbnails SERVER FOLDER [PORT]

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <filesystem>  // NOLINT(build/c++17)
#include <fstream>
#include <map>
#include <memory>
#include <mutex>  // NOLINT(build/c++11)
#include <set>
#include <string>
#include <system_error>  // NOLINT(build/c++11)
#include <thread>        // NOLINT(build/c++11)
#include <utility>

#include "absl/base/log_severity.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "civetweb.h"
#include "prometheus/registry.h"
#include "prometheus/text_serializer.h"
#include "workqueue/controller/controller.h"
#include "workqueue/controller/reconcile.h"
#include "workqueue/controller/source.h"
#include "workqueue/inspect/civetweb_inspect_page.h"
#include "workqueue/inspect/inspect_controller.h"
#include "workqueue/inspect/inspect_handler.h"
#include "workqueue/inspect/inspection_registry.h"
#include "workqueue/log_sink.h"
#include "workqueue/prometheus/prometheus_metrics_provider.h"
#include "workqueue/shared/shared_queue.h"

namespace {

namespace fs = std::filesystem;

using Controller = workqueue::Controller<std::string>;

constexpr absl::Duration kTimeToFinish = absl::Seconds(5);
constexpr absl::Duration kBetweenScans = absl::Milliseconds(500);
constexpr absl::Duration kBetweenResyncs = absl::Seconds(5);

constexpr absl::Duration kBetweenCreates = absl::Seconds(1);

// A file descriptor, which is closed at the end.
class Fd {
 public:
  explicit Fd(int fd) : fd_(fd) {}
  ~Fd() {
    if (fd_ >= 0) close(fd_);
  }

  Fd(const Fd&) = delete;
  Fd& operator=(const Fd&) = delete;

  int get() const { return fd_; }

 private:
  const int fd_;
};

absl::Status ErrnoStatus(absl::string_view doing, const fs::path& path,
                         int error = errno) {
  return absl::ErrnoToStatus(error, absl::StrCat(doing, " ", path.native()));
}

absl::StatusOr<std::set<std::string>> NamesIn(const fs::path& folder) {
  std::set<std::string> names;
  std::error_code error;
  for (fs::directory_iterator file(folder, error);
       file != fs::directory_iterator(); file.increment(error)) {
    names.insert(file->path().filename());
  }
  if (error) return ErrnoStatus("list", folder, error.value());
  return names;
}

// Returns `absl::NotFoundError` if there is no file. Other errors say nothing
// about what the file contains.
absl::StatusOr<std::string> ReadFile(const fs::path& path) {
  const Fd file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) return ErrnoStatus("open", path);
  std::string content;
  char block[4096];
  ssize_t n;
  while ((n = read(file.get(), block, sizeof(block))) > 0) {
    content.append(block, n);
  }
  if (n < 0) return ErrnoStatus("read", path);
  return content;
}

// Replaces the file at `path` as a whole, by way of a file at `temporary`.
absl::Status ReplaceFile(const fs::path& path, const fs::path& temporary,
                         const std::string& content) {
  std::ofstream file(temporary, std::ios::trunc);
  file << content;
  file.close();
  if (!file) {
    return absl::UnavailableError(
        absl::StrCat("cannot write ", temporary.native()));
  }
  if (rename(temporary.c_str(), path.c_str()) != 0) {
    return ErrnoStatus("replace", path);
  }
  return absl::OkStatus();
}

absl::Time ToTime(fs::file_time_type time) {
  return absl::Now() -
         absl::FromChrono(fs::file_time_type::clock::now() - time);
}

std::string ThumbnailOf(const std::string& picture) {
  return picture.substr(0, 16);
}

// The thumbnails, and what is done to them.
class Thumbnails {
 public:
  // In `folder` there must be a folder "out".
  explicit Thumbnails(fs::path folder)
      : folder_(std::move(folder)),
        log_(folder_ / absl::StrCat("log.", getpid()), std::ios::app) {}

  // Makes the thumbnail of the picture `name`, unless somebody with a later
  // token has made one.
  absl::Status Make(const std::string& name,
                    const workqueue::ReconcileContext& context) {
    Log("begin", name, context.token);
    const absl::Status status = TryMake(name, context);
    Log("end", name, context.token);
    return status;
  }

  // A picture that cannot be read counts as old, so that `Make()` tells why.
  bool IsOld(const std::string& name) const {
    const absl::StatusOr<std::string> picture = ReadFile(folder_ / "in" / name);
    const absl::StatusOr<std::string> made = ReadFile(folder_ / "out" / name);
    if (!picture.ok() || !made.ok()) return true;
    return made->substr(0, made->rfind('\n')) != ThumbnailOf(*picture);
  }

  const fs::path& folder() const { return folder_; }

 private:
  absl::Status TryMake(const std::string& name,
                       const workqueue::ReconcileContext& context) {
    const absl::StatusOr<std::string> picture = ReadFile(folder_ / "in" / name);
    // Somebody has removed the picture.
    if (absl::IsNotFound(picture.status())) {
      return Write(name, /*content=*/"", context.token);
    }
    if (!picture.ok()) return picture.status();
    if (absl::StartsWith(*picture, "broken")) {
      return absl::DataLossError("this is no picture");
    }
    absl::SleepFor(absl::Milliseconds(50));  // The work.
    if (context.Lost()) return absl::AbortedError("another process has it");
    return Write(name, absl::StrCat(ThumbnailOf(*picture), "\n", context.token),
                 context.token);
  }

  // The store: it refuses what has an earlier token than what it has. Without
  // `content`, removes what it has.
  absl::Status Write(const std::string& name, const std::string& content,
                     int64_t token) {
    const fs::path path = folder_ / "out" / name;
    const fs::path lock_path = folder_ / "lock";
    const Fd lock(open(lock_path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0644));
    if (lock.get() < 0 || flock(lock.get(), LOCK_EX) != 0) {
      return ErrnoStatus("lock", lock_path);
    }
    const absl::StatusOr<std::string> made = ReadFile(path);
    int64_t before = 0;
    if (made.ok()) {
      absl::string_view text(*made);
      text.remove_prefix(text.rfind('\n') + 1);  // 0 if there is none
      if (!absl::SimpleAtoi(text, &before)) before = 0;
    } else if (!absl::IsNotFound(made.status())) {
      return made.status();  // It may have a later token.
    }
    if (before > token) {
      return absl::AbortedError("a later worker has made the thumbnail");
    }
    if (content.empty()) {
      if (made.ok() && unlink(path.c_str()) != 0) {
        return ErrnoStatus("remove", path);
      }
      return absl::OkStatus();
    }
    // The holder of the lock is alone with the temporary file.
    return ReplaceFile(path, folder_ / "part", content);
  }

  void Log(absl::string_view what, const std::string& name, int64_t token) {
    const std::lock_guard<std::mutex> lock(mu_);
    log_ << what << " " << name << " " << token << "\n" << std::flush;
  }

  const fs::path folder_;
  std::mutex mu_;
  std::ofstream log_;
};

// Adds each picture that is new, changes or is removed, and now and then all
// that have no thumbnail, and thumbnails that have no picture: a server that
// has lost its data has lost the queue, too.
workqueue::Source<std::string> NewSource(
    Thumbnails* thumbnails, const std::unique_ptr<Controller>* controller) {
  workqueue::Source<std::string> source;
  source.name = "pictures";
  source.restart_backoff.emplace();  // after an exception
  source.run = [=](workqueue::SourceContext<std::string>& context) {
    const fs::path folder = thumbnails->folder() / "in";
    std::map<std::string, fs::file_time_type> known;
    absl::Time resync = absl::InfinitePast();
    do {
      const bool resyncs = absl::Now() >= resync;
      const auto names = NamesIn(folder);
      const auto made = NamesIn(thumbnails->folder() / "out");
      absl::Status status = names.status();
      status.Update(made.status());
      if (!status.ok()) {
        // The next scan tries again. Until then, the probe tells.
        context.mark_unhealthy(status);
        continue;
      }
      for (const std::string& name : *names) {
        std::error_code error;
        const fs::file_time_type time =
            fs::last_write_time(folder / name, error);
        if (error) continue;  // The next scan knows whether it is gone.
        if (context.stop.HasBeenNotified()) return absl::OkStatus();
        const auto it = known.find(name);
        const bool is_new = it == known.end();
        const bool is_old = (resyncs || is_new) && thumbnails->IsOld(name);
        bool changed = !is_new && it->second != time;
        if (is_new && is_old) {
          // It may have changed while no process ran.
          const auto failed = (*controller)->failures().Find(name);
          if (!failed.ok() && !absl::IsNotFound(failed.status())) continue;
          changed = failed.ok() && ToTime(time) >= failed->last_failed_at;
        }
        if (changed && !(*controller)->failures().Unpark(name).ok()) {
          continue;  // The next scan tries again.
        }
        known[name] = time;
        if (changed || is_old) context.queue.Add(name);
      }
      for (auto it = known.begin(); it != known.end();) {
        const auto old = it++;
        if (names->count(old->first) > 0) continue;
        if (context.stop.HasBeenNotified()) return absl::OkStatus();
        if (!(*controller)->failures().Unpark(old->first).ok()) continue;
        context.queue.Add(old->first);
        known.erase(old);
      }
      for (const std::string& name : *made) {
        if (resyncs && names->count(name) == 0) context.queue.Add(name);
      }
      if (resyncs) resync = absl::Now() + kBetweenResyncs;
      context.mark_synced();
    } while (context.sleep(kBetweenScans));
    return absl::OkStatus();
  };
  return source;
}

// Answers a request with `body`.
int Answer(mg_connection* connection, const char* status,
           const std::string& body) {
  mg_printf(connection,
            "HTTP/1.1 %s\r\nContent-Type: text/plain\r\n"
            "Content-Length: %zu\r\nConnection: close\r\n\r\n%s",
            status, body.size(), body.c_str());
  return 1;
}

// Whether the process does its work, and if not, why.
class Health {
 public:
  // There is no queue: a `Create()` has returned `error`.
  void SetError(const absl::Status& error) {
    const std::lock_guard<std::mutex> lock(mu_);
    since_ = std::min(since_, absl::Now());
    error_ = absl::Status(
        error.code(), absl::StrCat("no queue since ", absl::FormatTime(since_),
                                   ": ", error.message()));
  }

  void SetController(const Controller* controller) {
    const std::lock_guard<std::mutex> lock(mu_);
    controller_ = controller;
  }

  absl::Status Check() const {
    const std::lock_guard<std::mutex> lock(mu_);
    return controller_ != nullptr ? controller_->Healthy() : error_;
  }

 private:
  mutable std::mutex mu_;
  const Controller* controller_ = nullptr;
  absl::Status error_ = absl::UnavailableError("the queue is being opened");
  absl::Time since_ = absl::InfiniteFuture();
};

int Ready(mg_connection* connection, void* health) {
  const absl::Status status = static_cast<const Health*>(health)->Check();
  return Answer(connection, status.ok() ? "200 OK" : "503 Service Unavailable",
                absl::StrCat(status.ToString(), "\n"));
}

int Metrics(mg_connection* connection, void* registry) {
  return Answer(connection, "200 OK",
                prometheus::TextSerializer().Serialize(
                    static_cast<prometheus::Registry*>(registry)->Collect()));
}

// Writes messages to standard error.
class StderrLog final : public workqueue::LogSink {
 public:
  void Log(absl::LogSeverity severity, absl::string_view message) override {
    const std::string line =
        absl::StrCat(absl::LogSeverityName(severity), " ", message, "\n");
    std::fputs(line.c_str(), stderr);
  }
};

int Fail(const absl::Status& status) {
  std::fprintf(stderr, "%s\n", status.ToString().c_str());
  return 1;
}

}  // namespace

int main(int argc, char* argv[]) {
  if (argc < 3) return Fail(absl::InvalidArgumentError("SERVER FOLDER [PORT]"));
  // Before all other threads, which inherit it.
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);

  const auto registry = std::make_shared<prometheus::Registry>();
  const auto metrics = workqueue::PrometheusMetricsProvider::Create(registry);
  if (!metrics.ok()) return Fail(metrics.status());

  StderrLog log;
  const fs::path out = fs::path(argv[2]) / "out";
  std::error_code error;
  fs::create_directories(out, error);
  if (error) return Fail(ErrnoStatus("create", out, error.value()));
  Thumbnails thumbnails(argv[2]);
  const auto inspection = workqueue::InspectionRegistry::Create();
  if (!inspection.ok()) return Fail(inspection.status());
  workqueue::InspectHandler handler(inspection->get());
  std::unique_ptr<Controller> controller;
  Health health;

  // The probe is served first: the server of the queue may be away.
  // The address is for this machine only. In a container, name the port alone:
  // a kubelet asks the pod's address.
  const std::string port = absl::StrCat("127.0.0.1:", argc > 3 ? argv[3] : "0");
  const char* server_options[] = {"listening_ports", port.c_str(),
                                  "num_threads", "4", nullptr};
  const std::unique_ptr<mg_context, decltype(&mg_stop)> server(
      mg_start(nullptr, nullptr, server_options), mg_stop);
  if (server == nullptr) {
    return Fail(
        absl::UnavailableError(absl::StrCat("cannot listen at ", port)));
  }
  mg_set_request_handler(server.get(), "/readyz$", Ready, &health);
  mg_set_request_handler(server.get(), "/metrics$", Metrics, registry.get());
  workqueue::CivetwebInspectPage page(server.get(), "/workqueue", &handler);
  mg_server_port listening = {};
  mg_get_server_ports(server.get(), 1, &listening);
  std::printf("http://127.0.0.1:%d\n", listening.port);
  std::fflush(stdout);

  workqueue::ControllerOptions<std::string> options;
  while (options.queue == nullptr) {
    workqueue::SharedQueueOptions<std::string> shared;
    shared.name = "thumbnails";
    shared.address = argv[1];
    shared.lease = absl::Seconds(5);
    shared.call_timeout = absl::Seconds(2);
    shared.metrics_provider = metrics->get();
    shared.log_sink = &log;
    auto queue = workqueue::SharedQueue<std::string>::Create(std::move(shared));
    if (queue.ok()) {
      options.queue = *std::move(queue);
    } else if (!absl::IsUnavailable(queue.status()) &&
               !absl::IsUnknown(queue.status())) {
      return Fail(queue.status());
    } else {
      health.SetError(queue.status());
      log.Log(absl::LogSeverity::kWarning, queue.status().ToString());
      const timespec delay = absl::ToTimespec(kBetweenCreates);
      if (sigtimedwait(&signals, nullptr, &delay) > 0) return 0;
    }
  }
  options.name = "thumbnails";
  options.workers = 4;
  options.metrics_provider = metrics->get();
  options.log_sink = &log;
  options.failures.max_failures = 5;
  options.failures.unpark_on_add = false;  // The source adds all.
  options.sources.push_back(NewSource(&thumbnails, &controller));
  options.reconcile = [&](const std::string& name,
                          const workqueue::ReconcileContext& context) {
    return thumbnails.Make(name, context);
  };
  auto new_controller = Controller::Create(std::move(options));
  if (!new_controller.ok()) return Fail(new_controller.status());
  controller = *std::move(new_controller);
  health.SetController(controller.get());
  const auto registration =
      (*inspection)
          ->Add("thumbnails", workqueue::InspectController(controller.get()));
  if (!registration.ok()) return Fail(registration.status());

  // On a thread of its own, so that a signal also ends a start that waits.
  absl::Status started;
  std::atomic<bool> stopping{false};
  std::thread starter([&] {
    const absl::Status status = controller->Start();
    if (status.ok() || stopping) return;
    started = status;
    kill(getpid(), SIGTERM);
  });
  int signal = 0;
  sigwait(&signals, &signal);
  stopping = true;
  const bool done = controller->Stop(kTimeToFinish);
  starter.join();
  if (!started.ok()) return Fail(started);
  std::printf(done ? "this process is done\n" : "something is left\n");
  return done ? 0 : 1;
}
