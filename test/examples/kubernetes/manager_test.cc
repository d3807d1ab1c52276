// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "examples/kubernetes/manager.h"

#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <thread>  // NOLINT(build/c++11)
#include <utility>
#include <vector>

#include "absl/base/log_severity.h"
#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "examples/kubernetes/api_lister_watcher.h"
#include "examples/kubernetes/client.h"
#include "examples/kubernetes/config.h"
#include "examples/kubernetes/json.h"
#include "examples/kubernetes/objects.h"
#include "examples/kubernetes/status_server.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "prometheus/counter.h"
#include "test/examples/kubernetes/exchange.h"
#include "test/examples/kubernetes/scripted_server.h"
#include "workqueue/clock/fake_clock.h"
#include "workqueue/controller/controller.h"
#include "workqueue/controller/informer.h"
#include "workqueue/controller/informer_source.h"
#include "workqueue/controller/reconcile.h"
#include "workqueue/log_sink.h"

namespace kubernetes::manager_test {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

// Writes messages to standard error, where a death test reads them.
class StderrLog final : public workqueue::LogSink {
 public:
  void Log(absl::LogSeverity, absl::string_view message) override {
    std::fprintf(stderr, "%s\n", std::string(message).c_str());
  }
};

int FreePort() {
  const auto server = StatusServer::Start("127.0.0.1:0", {});
  EXPECT_TRUE(server.ok()) << server.status();
  return (*server)->port();
}

// A program with an informer of ConfigMaps and a controller. The server has a
// ConfigMap "ns/a", and takes each Lease that is written.
class Program {
 public:
  Program() {
    Config config;
    config.server = server_.url();
    client = *Client::Create(config);
    lease_client_ = *Client::Create(config);
    informer_ = *NewInformer<ConfigMap>(config);
    workqueue::InformerHandler<ConfigMap> handler;
    handler.on_health = [this](const absl::Status& status) {
      if (status.ok()) watching.Notify();
    };
    informer_->AddHandler(std::move(handler));
    workqueue::ControllerOptions<std::string> options;
    options.clock = &controller_clock;
    options.reconcile = [this](const std::string& key,
                               const workqueue::ReconcileContext& context) {
      EXPECT_EQ(key, "ns/a");
      reconciled.Notify();
      if (on_reconcile) on_reconcile(context);
      return absl::OkStatus();
    };
    options.sources = {workqueue::MakeInformerSource<std::string>(
        *informer_, [](const ConfigMap& object) {
          return std::vector<std::string>{KeyOf(object.meta)};
        })};
    controller_ =
        *workqueue::Controller<std::string>::Create(std::move(options));
    manager.Add(informer_.get());
    manager.Add(controller_.get());
  }

  // Runs the manager until a signal comes, while `f` runs in another thread.
  absl::Status RunWhile(const std::function<void()>& f) {
    std::thread thread(f);
    const absl::Status status = manager.Run(client.get(), lease_client_.get());
    thread.join();
    return status;
  }

  // As the signal of a terminal or of Kubernetes.
  static void Signal(int signal) { kill(getpid(), signal); }

  Json lease() const {
    Json lease;
    for (const ReceivedRequest& request : server_.requests()) {
      if (!request.body.empty()) lease = Json::parse(request.body);
    }
    return lease;
  }

  const int metrics_port = FreePort();
  const int probe_port = FreePort();
  workqueue::FakeClock clock;  // of the lease
  workqueue::FakeClock controller_clock;
  std::unique_ptr<Client> client;  // of the controller
  std::function<void(const workqueue::ReconcileContext&)> on_reconcile;
  absl::Notification watching;
  absl::Notification reconciled;
  absl::Notification may_list;
  absl::Notification silent;  // A request has come that gets no answer.
  std::atomic<bool> lease_fails{false};

 private:
  ManagerOptions Options() {
    ManagerOptions options;
    options.leader_elect = true;
    options.lease.ns = "ns";
    options.lease.name = "it";
    options.lease.clock = &clock;
    options.metrics_address = absl::StrCat("127.0.0.1:", metrics_port);
    options.probe_address = absl::StrCat("127.0.0.1:", probe_port);
    return options;
  }

  void Answer(const ReceivedRequest& request, Responder& responder) {
    if (absl::StrContains(request.target, "/leases")) {
      if (request.method == "GET" || lease_fails) {
        return responder.Respond(404, R"({"kind":"Status"})");
      }
      return responder.Respond(200, request.body);
    }
    if (absl::StrContains(request.target, "watch=true")) {
      responder.BeginStream();
      return responder.AwaitHangUp();
    }
    if (absl::StrContains(request.target, "/silent")) {
      silent.Notify();
      return responder.AwaitHangUp();
    }
    may_list.WaitForNotification();
    responder.Respond(200, R"({
      "metadata": {"resourceVersion": "1"},
      "items": [{"metadata": {"namespace": "ns", "name": "a", "uid": "u",
                              "resourceVersion": "1"}}]})");
  }

  StderrLog log_;

 public:
  // Before all that has threads.
  Manager manager{Options(), &log_};

 private:
  ScriptedServer server_{
      [this](const ReceivedRequest& request, Responder& responder) {
        Answer(request, responder);
      }};
  std::unique_ptr<Client> lease_client_;
  std::unique_ptr<workqueue::Informer<ConfigMap>> informer_;
  std::unique_ptr<workqueue::Controller<std::string>> controller_;
};

TEST(ManagerTest, RunsUntilASignal) {
  for (const int signal : {SIGINT, SIGTERM}) {
    Program program;
    prometheus::BuildCounter()
        .Name("of_the_program")
        .Register(*program.manager.registry())
        .Add({});
    program.may_list.Notify();
    const absl::Status status = program.RunWhile([&] {
      program.reconciled.WaitForNotification();
      program.watching.WaitForNotification();
      EXPECT_THAT(Request(program.probe_port, "GET", "/healthz"),
                  StartsWith("HTTP/1.1 200 OK\r\n"));
      EXPECT_THAT(Request(program.probe_port, "GET", "/readyz"),
                  StartsWith("HTTP/1.1 200 OK\r\n"));
      EXPECT_THAT(Request(program.metrics_port, "GET", "/metrics"),
                  HasSubstr("\nof_the_program 0\n"));
      EXPECT_NE(program.lease()["spec"]["holderIdentity"], "");
      Program::Signal(signal);
    });
    EXPECT_EQ(status, absl::OkStatus());
    // It has given the lease back.
    EXPECT_EQ(program.lease()["spec"]["holderIdentity"], "");
  }
}

TEST(ManagerTest, RenewsTheLeaseWhileTheControllersWaitForTheirInformers) {
  Program program;
  const absl::Status status = program.RunWhile([&] {
    for (int i = 0; i < 3; ++i) {
      program.clock.AwaitWaiters(1);
      program.clock.Step(absl::Seconds(2));
    }
    program.clock.AwaitWaiters(1);
    EXPECT_EQ(program.lease()["spec"]["renewTime"],
              "1970-01-01T00:00:06.000000Z");
    EXPECT_THAT(Request(program.probe_port, "GET", "/healthz"),
                StartsWith("HTTP/1.1 200 OK\r\n"));
    EXPECT_THAT(Request(program.probe_port, "GET", "/readyz"),
                StartsWith("HTTP/1.1 503 Service Unavailable\r\n"));
    program.may_list.Notify();
    Program::Signal(SIGTERM);
  });
  EXPECT_EQ(status, absl::OkStatus());
}

TEST(ManagerTest, KeepsTheLeaseUntilAllReconciliationsHaveReturned) {
  Program program;
  program.may_list.Notify();
  absl::Notification told;
  absl::Notification may_return;
  program.on_reconcile = [&](const workqueue::ReconcileContext& context) {
    context.stop.WaitForNotification();
    told.Notify();
    may_return.WaitForNotification();
  };
  const absl::Status status = program.RunWhile([&] {
    program.reconciled.WaitForNotification();
    program.clock.AwaitWaiters(1);
    Program::Signal(SIGTERM);
    while (!told.HasBeenNotified()) {
      program.controller_clock.AwaitWaiters(1);
      program.controller_clock.Step(absl::Seconds(10));
    }
    program.clock.Step(absl::Seconds(2));
    program.clock.AwaitWaiters(1);
    const Json spec = program.lease()["spec"];
    EXPECT_NE(spec["holderIdentity"], "");
    EXPECT_EQ(spec["renewTime"], "1970-01-01T00:00:02.000000Z");
    may_return.Notify();
  });
  EXPECT_EQ(status, absl::OkStatus());
  EXPECT_EQ(program.lease()["spec"]["holderIdentity"], "");
}

TEST(ManagerTest, EndsTheRequestsOfReconciliationsWhenTheirTimeIsOver) {
  Program program;
  program.may_list.Notify();
  absl::Notification told;
  absl::Status status;
  program.on_reconcile = [&](const workqueue::ReconcileContext& context) {
    std::thread thread([&] {
      context.stop.WaitForNotification();
      told.Notify();
    });
    status =
        program.client->Get(ResourceOf<ConfigMap>(), {"ns", "silent"}).status();
    thread.join();
  };
  EXPECT_EQ(program.RunWhile([&] {
    program.silent.WaitForNotification();
    Program::Signal(SIGTERM);
    while (!told.HasBeenNotified()) {
      program.controller_clock.AwaitWaiters(1);
      program.controller_clock.Step(absl::Seconds(10));
    }
  }),
            absl::OkStatus());
  EXPECT_TRUE(absl::IsCancelled(status)) << status;
  EXPECT_EQ(program.lease()["spec"]["holderIdentity"], "");
}

// Returns a controller without items. `on_stop` is called when it stops.
std::unique_ptr<workqueue::Controller<std::string>> NewController(
    std::function<void()> on_stop) {
  workqueue::ControllerOptions<std::string> options;
  options.reconcile = [](const std::string&) { return absl::OkStatus(); };
  options.sources.resize(1);
  options.sources[0].run = [](auto& context) {
    context.stop.WaitForNotification();
    return absl::OkStatus();
  };
  options.sources[0].on_stop = std::move(on_stop);
  return *workqueue::Controller<std::string>::Create(std::move(options));
}

// Together they get the time to finish: the first one waits for the other.
TEST(ManagerTest, StopsAllControllersAtTheSameTime) {
  Program program;
  program.may_list.Notify();
  absl::Notification other_stops;
  const auto other = NewController([&] { other_stops.Notify(); });
  program.manager.Add(other.get());
  program.on_reconcile = [&](const workqueue::ReconcileContext&) {
    EXPECT_TRUE(other_stops.WaitForNotificationWithTimeout(absl::Seconds(30)));
  };
  const absl::Status status = program.RunWhile([&] {
    program.reconciled.WaitForNotification();
    Program::Signal(SIGTERM);
  });
  EXPECT_EQ(status, absl::OkStatus());
}

TEST(ManagerTest, AWrongOptionOfTheLeaseIsAnError) {
  StderrLog log;
  ManagerOptions options;
  options.lease.retry_period = absl::Minutes(1);
  options.leader_elect = true;
  EXPECT_EQ(
      Manager(options, &log).Run(/*client=*/nullptr, /*lease_client=*/nullptr),
      absl::InvalidArgumentError(
          "retry_period is 1m, not less than renew_deadline"));
}

// At once, because another process may lead already.
TEST(ManagerDeathTest, EndsTheProcessIfTheLeadershipIsLost) {
  const auto lose = [] {
    Program program;
    program.may_list.Notify();
    program
        .RunWhile([&] {
          program.reconciled.WaitForNotification();
          program.lease_fails = true;
          while (true) {
            program.clock.AwaitWaiters(1);
            program.clock.Step(absl::Seconds(2));
          }
        })
        .IgnoreError();
  };
  EXPECT_EXIT(lose(), testing::ExitedWithCode(1),
              "the lease could not be renewed within 10s");
}

TEST(ManagerDeathTest, ASecondSignalEndsTheProcess) {
  const auto signal_twice = [] {
    Program program;
    program.may_list.Notify();
    const auto other = NewController([] { Program::Signal(SIGTERM); });
    program.manager.Add(other.get());
    program.RunWhile([] { Program::Signal(SIGTERM); }).IgnoreError();
  };
  EXPECT_EXIT(signal_twice(), testing::KilledBySignal(SIGTERM), "");
}

TEST(ManagerTest, AnAddressInUseIsAnError) {
  Program program;
  program.may_list.Notify();
  const auto other =
      StatusServer::Start(absl::StrCat("127.0.0.1:", program.probe_port), {});
  ASSERT_TRUE(other.ok()) << other.status();
  const absl::Status status = program.RunWhile([] {});
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_THAT(std::string(status.message()),
              HasSubstr(absl::StrCat(program.probe_port)));
}

}  // namespace
}  // namespace kubernetes::manager_test
