// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// A program that is one thread around an event loop. The settings of devices
// change, often several times in a row. A while after the last change of a
// device, the program tells a server of it, by a request that blocks nobody,
// and tries again after an error. It writes metrics to a file, for example for
// the textfile collector of Prometheus' node exporter.
//
// Continue reading in
//
//     epoll_loop.h     the event loop, made of epoll, eventfd and timerfd
//     curl_client.h    the requests, by libcurl
//     moody_server.h   the server that is asked if you name none
//
// Programs that have an event loop already find it here:
//
//     asio_loop.h, uv_loop.h, sd_event_loop.h

#include <getopt.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "examples/command_line.h"
#include "examples/event_loop/curl_client.h"
#include "examples/event_loop/epoll_loop.h"
#include "examples/event_loop/moody_server.h"
#include "prometheus/registry.h"
#include "prometheus/text_serializer.h"
#include "workqueue/controller/async_reconcile.h"
#include "workqueue/controller/controller.h"
#include "workqueue/controller/reconcile.h"
#include "workqueue/controller/source.h"
#include "workqueue/prometheus/prometheus_metrics_provider.h"
#include "workqueue/timer/scheduler.h"

namespace event_loop {
namespace {

constexpr char kUsage[] = R"(usage: event_loop [flags]

Tells a server of changes of devices, on one thread, until its time is over or a
signal comes.

  --url=URL        server, with a numeric address; default: one of its own, on
                   the same thread, that answers every third request with an
                   error
  --timeout=D      maximum time of a request (default: 5s)
  --metrics=FILE   file for the metrics, written each second; default: none
  --seconds=N      ends after this time, 1 to 1000000 (default: 3)
  --help           print this text and exit

Exit status: 0 after a clean stop, 1 after an error, 2 if a flag is wrong.
)";

constexpr int kDevices = 20;
constexpr absl::Duration kChangeEvery = absl::Milliseconds(5);
// After the last of several changes of a device, the server is told of it.
constexpr absl::Duration kQuiet = absl::Milliseconds(100);
constexpr absl::Duration kStopTimeout = absl::Seconds(10);

struct Options {
  std::string url;
  absl::Duration timeout = absl::Seconds(5);
  std::string metrics;
  int seconds = 3;
};

// SIGINT and SIGTERM, as a file descriptor.
class StopSignals {
 public:
  StopSignals() {
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    sigprocmask(SIG_BLOCK, &signals, nullptr);
    fd_ = signalfd(-1, &signals, SFD_NONBLOCK | SFD_CLOEXEC);
  }
  ~StopSignals() { close(fd_); }

  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  int fd() const { return fd_; }

  // Takes a signal that has come.
  void Take() {
    struct signalfd_siginfo info;
    if (read(fd_, &info, sizeof(info)) < 0) std::perror("signalfd");
  }

 private:
  int fd_;
};

class Program {
 public:
  explicit Program(Options options) : options_(std::move(options)) {}

  // Returns when the program has stopped.
  absl::Status Run() {
    absl::Status status = Begin();
    if (!status.ok()) return status;
    loop_.Run();
    controller_.reset();
    if (result_.ok()) result_ = WriteMetrics();
    absl::PrintF(
        "%d changes, %d requests, of which %d failed\n"
        "threads: %d\n",
        changes_, requests_, failures_, NumThreads());
    return result_;
  }

 private:
  using Controller = workqueue::Controller<std::string>;

  absl::Status Begin() {
    workqueue::SchedulerOptions scheduler_options;
    scheduler_options.clock = loop_.waiting_loop();
    auto scheduler = workqueue::Scheduler::Create(std::move(scheduler_options));
    if (!scheduler.ok()) return scheduler.status();
    scheduler_ = *std::move(scheduler);
    client_.emplace(&loop_, scheduler_.get());
    if (options_.url.empty()) {
      server_.emplace(&loop_);
      if (!server_->ok()) return absl::UnavailableError("no server");
      options_.url = server_->url();
    }

    auto provider = workqueue::PrometheusMetricsProvider::Create(registry_);
    if (!provider.ok()) return provider.status();
    provider_ = *std::move(provider);
    auto controller = Controller::Create(ControllerOptions());
    if (!controller.ok()) return controller.status();
    controller_ = *std::move(controller);

    loop_.Watch(signals_.fd(), EPOLLIN, [this](uint32_t) {
      signals_.Take();
      Stop("a signal");
    });
    scheduler_
        ->ScheduleOnce([this] { Stop("its time is over"); },
                       absl::Seconds(options_.seconds))
        .IgnoreError();
    scheduler_
        ->ScheduleEvery(
            [this] {
              const absl::Status written = WriteMetrics();
              if (!written.ok()) Fail(written);
            },
            absl::Seconds(1))
        .IgnoreError();
    return controller_->StartAsync([this](const absl::Status& started) {
      if (!started.ok()) return Fail(started);
      absl::PrintF("%s is told of changes\n", options_.url);
      std::fflush(stdout);
    });
  }

  workqueue::ControllerOptions<std::string> ControllerOptions() {
    workqueue::ControllerOptions<std::string> options;
    options.name = "devices";
    options.clock = loop_.waiting_loop();
    options.max_in_flight = 4;
    options.reconcile_timeout = options_.timeout;
    options.queue_metrics_provider = provider_.get();
    options.metrics_provider = provider_.get();
    options.sources.push_back(Devices());
    options.reconcile_async =
        [this](const std::string& device,
               const workqueue::AsyncReconcileContext& context,
               workqueue::ReconcileCompletion done) {
          ++requests_;
          const uint64_t number = client_->Get(
              absl::StrCat(options_.url, "/", device),
              [this, done = std::move(done)](absl::Status status) mutable {
                if (status.ok()) {
                  done(workqueue::ReconcileResult());
                } else {
                  ++failures_;
                  done(std::move(status));
                }
              });
          context.OnCancel([this, number] { client_->Cancel(number); });
        };
    return options;
  }

  // A source without a thread: devices that change, one every few
  // milliseconds.
  workqueue::Source<std::string> Devices() {
    workqueue::Source<std::string> source;
    source.name = "devices";
    source.wait_for_sync = true;
    source.run_async = [this](auto context, workqueue::SourceDone done) {
      for (int i = 0; i < kDevices; ++i) {
        context->queue.Add(absl::StrCat("devices/", i));
      }
      context->mark_synced();
      const auto task = scheduler_->ScheduleEvery(
          [this, context] {
            ++changes_;
            // A device that changes again waits again.
            context->queue.Reschedule(
                absl::StrCat("devices/", random_() % kDevices), kQuiet);
          },
          kChangeEvery);
      end_source_ = [this, task, done = std::move(done)] {
        if (task.ok()) scheduler_->Cancel(*task);
        done(task.status());
      };
    };
    source.on_stop = [this] {
      if (end_source_ != nullptr) end_source_();
    };
    return source;
  }

  // Stops the controller, and then the loop.
  void Stop(absl::string_view why) {
    if (std::exchange(stopping_, true)) return;
    absl::PrintF("stops: %s\n", why);
    const absl::Status begun =
        controller_->StopAsync(kStopTimeout, [this](bool all) {
          if (!all) result_.Update(absl::DeadlineExceededError("work is left"));
          loop_.Stop();
        });
    if (!begun.ok()) Fail(begun);
  }

  void Fail(const absl::Status& error) {
    result_.Update(error);
    loop_.Stop();
  }

  // Whoever reads the file sees all of it.
  absl::Status WriteMetrics() {
    if (options_.metrics.empty()) return absl::OkStatus();
    const std::string part = options_.metrics + ".part";
    std::ofstream file(part);
    prometheus::TextSerializer().Serialize(file, registry_->Collect());
    file.close();
    if (!file || std::rename(part.c_str(), options_.metrics.c_str()) != 0) {
      return absl::UnavailableError(
          absl::StrCat(options_.metrics, " cannot be written"));
    }
    return absl::OkStatus();
  }

  static int NumThreads() {
    std::ifstream status("/proc/self/status");
    int threads = 0;
    for (std::string word; status >> word;) {
      if (word == "Threads:") status >> threads;
    }
    return threads;
  }

  Options options_;
  StopSignals signals_;
  const std::shared_ptr<prometheus::Registry> registry_ =
      std::make_shared<prometheus::Registry>();
  std::unique_ptr<workqueue::PrometheusMetricsProvider> provider_;
  absl::Status result_;
  bool stopping_ = false;
  std::minstd_rand random_;
  int64_t changes_ = 0;
  int64_t requests_ = 0;
  int64_t failures_ = 0;
  std::function<void()> end_source_;
  // Each uses those before it.
  EpollLoop loop_;
  std::unique_ptr<workqueue::Scheduler> scheduler_;
  std::optional<MoodyServer> server_;
  std::optional<CurlClient> client_;
  std::unique_ptr<Controller> controller_;
};

int Main(int argc, char* argv[]) {
  enum Id { kHelp = examples::kHelp, kUrl, kTimeout, kMetrics, kSeconds };
  constexpr struct option kOptions[] = {
      {"help", no_argument, nullptr, kHelp},
      {"url", required_argument, nullptr, kUrl},
      {"timeout", required_argument, nullptr, kTimeout},
      {"metrics", required_argument, nullptr, kMetrics},
      {"seconds", required_argument, nullptr, kSeconds},
      {nullptr, 0, nullptr, 0},
  };
  bool help = false;
  Options options;
  const auto set = [&](int id, absl::string_view value) {
    switch (id) {
      case kUrl:
        options.url = std::string(value);
        return absl::OkStatus();
      case kTimeout:
        return examples::ParsePeriod("--timeout", value, &options.timeout);
      case kMetrics:
        options.metrics = std::string(value);
        return absl::OkStatus();
      case kSeconds:
        return examples::ParseInt("--seconds", value, 1, 1000000,
                                  &options.seconds);
    }
    help = true;
    return absl::OkStatus();
  };
  absl::Status status = examples::ParseCommandLine(argc, argv, kOptions, set);
  if (!status.ok()) {
    absl::FPrintF(stderr, "event_loop: %s\n", status.message());
    return 2;
  }
  if (help) {
    std::fputs(kUsage, stdout);
    return 0;
  }
  status = Program(std::move(options)).Run();
  if (status.ok()) return 0;
  absl::FPrintF(stderr, "event_loop: %s\n", status.message());
  return 1;
}

}  // namespace
}  // namespace event_loop

int main(int argc, char* argv[]) { return event_loop::Main(argc, argv); }
