// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// A controller as a service: what a program needs besides its controller. Copy
// this file.
//
//   - GET /readyz tells whether the controller does its work.
//   - SIGTERM or SIGINT ends the program. It finishes what is queued, but
//     within the time that it is given.
//
// usage: service [PORT]

#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <string>
#include <thread>  // NOLINT(build/c++11)
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "civetweb.h"
#include "workqueue/controller/controller.h"
#include "workqueue/controller/source.h"

namespace {

using Controller = workqueue::Controller<std::string>;

// Less than the time between SIGTERM and SIGKILL, which are 30 seconds in
// Kubernetes.
constexpr absl::Duration kTimeToFinish = absl::Seconds(25);

// Answers /readyz. `controller` is the controller.
int Ready(mg_connection* connection, void* controller) {
  const absl::Status status = static_cast<Controller*>(controller)->Healthy();
  const std::string body = absl::StrCat(status.ToString(), "\n");
  mg_printf(connection,
            "HTTP/1.1 %s\r\nContent-Type: text/plain\r\n"
            "Content-Length: %zu\r\nConnection: close\r\n\r\n%s",
            status.ok() ? "200 OK" : "503 Service Unavailable", body.size(),
            body.c_str());
  return 1;  // The request has been answered.
}

workqueue::ControllerOptions<std::string> Options() {
  workqueue::Source<std::string> source;
  source.name = "names";
  source.wait_for_sync = true;
  source.run = [](workqueue::SourceContext<std::string>& context) {
    for (const char* name : {"db", "web", "cache"}) context.queue.Add(name);
    context.mark_synced();
    context.stop.WaitForNotification();
    return absl::OkStatus();
  };
  workqueue::ControllerOptions<std::string> options;
  options.name = "greeter";
  options.sources.push_back(std::move(source));
  options.reconcile = [](const std::string& name) {
    std::printf("hello, %s\n", name.c_str());
    return absl::OkStatus();
  };
  return options;
}

}  // namespace

int main(int argc, char* argv[]) {
  // Before all other threads, which inherit it: the signals do not end the
  // process, and wait for sigwait().
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);

  const auto controller = Controller::Create(Options());
  if (!controller.ok()) {
    std::fprintf(stderr, "%s\n", controller.status().ToString().c_str());
    return 1;
  }
  // Before the controller starts, so that a probe learns why it is not ready.
  // The address is for this machine only. In a container, name the port alone:
  // a kubelet asks the pod's address.
  const std::string port = absl::StrCat("127.0.0.1:", argc > 1 ? argv[1] : "0");
  const char* server_options[] = {"listening_ports", port.c_str(),
                                  "num_threads", "2", nullptr};
  mg_context* const server = mg_start(nullptr, nullptr, server_options);
  if (server == nullptr) {
    std::fprintf(stderr, "cannot listen at %s\n", port.c_str());
    return 1;
  }
  mg_set_request_handler(server, "/readyz$", Ready, controller->get());
  mg_server_port listening = {};
  mg_get_server_ports(server, 1, &listening);
  std::printf("http://127.0.0.1:%d/readyz\n", listening.port);
  std::fflush(stdout);

  // On a thread of its own, so that a signal also ends a start that waits.
  absl::Status started;
  std::atomic<bool> stopping{false};
  std::thread starter([&] {
    const absl::Status status = (*controller)->Start();
    if (status.ok() || stopping) return;
    started = status;
    kill(getpid(), SIGTERM);
  });
  int signal = 0;
  sigwait(&signals, &signal);
  stopping = true;
  const bool done = (*controller)->Stop(kTimeToFinish);
  starter.join();
  mg_stop(server);
  if (!started.ok()) {
    std::fprintf(stderr, "%s\n", started.ToString().c_str());
    return 1;
  }
  std::printf(done ? "all is done\n" : "something is left\n");
  return done ? 0 : 1;
}
