// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "examples/kubernetes/manager.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <thread>  // NOLINT(build/c++11)
#include <utility>
#include <vector>

#include "absl/base/log_severity.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "examples/kubernetes/client.h"
#include "examples/kubernetes/lease_elector.h"
#include "examples/kubernetes/status_server.h"
#include "prometheus/registry.h"
#include "prometheus/text_serializer.h"
#include "workqueue/log_sink.h"

namespace kubernetes {
namespace {

constexpr absl::Duration kTimeToFinish = absl::Seconds(10);

sigset_t EndSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGINT);
  sigaddset(&signals, SIGTERM);
  return signals;
}

ManagerOptions WithDefaults(ManagerOptions options, workqueue::LogSink* log) {
  if (options.lease.log_sink == nullptr) options.lease.log_sink = log;
  if (!options.lease.identity.empty()) return options;
  char host[256] = "";
  gethostname(host, sizeof(host) - 1);
  std::random_device random;
  options.lease.identity =
      absl::StrCat(host, "_", absl::Hex(random()), absl::Hex(random()));
  return options;
}

// Starts each of `parts`, up to the first error.
template <typename Parts>
absl::Status StartAll(const Parts& parts) {
  for (const auto& it : parts) {
    const absl::Status started = it.start();
    if (!started.ok()) return started;
  }
  return absl::OkStatus();
}

StatusServer::Page MetricsPage(const prometheus::Registry& registry) {
  return {200, prometheus::TextSerializer().Serialize(registry.Collect()),
          "text/plain; version=0.0.4; charset=utf-8"};
}

}  // namespace

Manager::Manager(ManagerOptions options, workqueue::LogSink* log)
    : options_(WithDefaults(std::move(options), log)),
      log_(log),
      registry_(std::make_shared<prometheus::Registry>()) {
  const sigset_t signals = EndSignals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
}

absl::Status Manager::Run(Client* client, Client* lease_client) {
  std::unique_ptr<LeaseElector> elector;
  if (options_.leader_elect) {
    auto created = LeaseElector::Create(lease_client, options_.lease);
    if (!created.ok()) return created.status();
    elector = *std::move(created);
  }
  const auto metrics = StatusServer::Start(
      options_.metrics_address,
      {{"/metrics", [this] { return MetricsPage(*registry_); }}});
  if (!metrics.ok()) return metrics.status();
  const auto probes = StatusServer::Start(
      options_.probe_address, {{"/healthz",
                                [] {
                                  return StatusServer::Page{200, "ok\n"};
                                }},
                               {"/readyz", [this] { return Ready(); }}});
  if (!probes.ok()) return probes.status();
  const absl::Status informers = StartAll(informers_);
  if (!informers.ok()) return informers;

  std::atomic<bool> stopping{false};
  std::thread starter;
  // A controller waits for its informers, while the lease must be renewed.
  const auto lead = [&] {
    starter = std::thread([&] {
      const absl::Status started = StartAll(controllers_);
      if (!started.ok() && !stopping) Die(started);
    });
  };
  std::thread leader([&] {
    if (elector == nullptr) return lead();
    const absl::Status led = elector->Run(lead);
    if (!led.ok()) Die(led);
  });

  const sigset_t signals = EndSignals();
  int signal = 0;
  sigwait(&signals, &signal);
  pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
  stopping = true;
  // All at once: together they get this time.
  std::vector<std::thread> stoppers;
  for (const Controller& it : controllers_) {
    stoppers.emplace_back([&it] { it.stop(kTimeToFinish); });
  }
  for (std::thread& stopper : stoppers) stopper.join();
  // Reconciliations that have just been told to stop may write until they
  // return. No other process must lead before. Kubernetes does not wait as long
  // as a request may take.
  client->Stop();
  for (const Controller& it : controllers_) it.stop(absl::InfiniteDuration());
  if (elector != nullptr) elector->Stop();
  leader.join();
  if (starter.joinable()) starter.join();
  return absl::OkStatus();
}

StatusServer::Page Manager::Ready() const {
  absl::Status status;
  for (const Informer& it : informers_) status.Update(it.synced());
  return {status.ok() ? 200 : 503, absl::StrCat(status.ToString(), "\n")};
}

void Manager::Die(const absl::Status& error) {
  log_->Log(absl::LogSeverity::kError, error.ToString());
  std::_Exit(1);
}

}  // namespace kubernetes
