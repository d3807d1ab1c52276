// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// An operator for Kubernetes. It keeps copies of annotated ConfigMaps in other
// namespaces. Continue reading in replicator.h.

#include <cstdio>
#include <string>
#include <utility>

#include "absl/base/log_severity.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "examples/command_line.h"
#include "examples/kubernetes/api_lister_watcher.h"
#include "examples/kubernetes/client.h"
#include "examples/kubernetes/config.h"
#include "examples/kubernetes/manager.h"
#include "examples/kubernetes/objects.h"
#include "examples/kubernetes/replicator/replicator.h"
#include "prometheus/counter.h"
#include "workqueue/controller/controller.h"
#include "workqueue/controller/informer_source.h"
#include "workqueue/controller/reconcile.h"
#include "workqueue/log_sink.h"
#include "workqueue/prometheus/prometheus_metrics_provider.h"

namespace replicator {
namespace {

using kubernetes::ConfigMap;
using kubernetes::Namespace;

constexpr char kUsage[] =
    "Keeps copies of annotated ConfigMaps in other namespaces.\n\n"
    "  --kubeconfig FILE              by default that of $KUBECONFIG, and\n"
    "                                 without it the cluster of this pod\n"
    "  --workers N                    sources reconciled at a time (10)\n"
    "  --leader-elect                 work only while this replica leads\n"
    "  --leader-elect-namespace NS    of the lease (default)\n"
    "  --leader-elect-name NAME       of the lease (replicator)\n"
    "  --metrics-bind-address H:P     where /metrics is (127.0.0.1:8080)\n"
    "  --health-probe-bind-address H:P\n"
    "                 where /healthz and /readyz are (127.0.0.1:8081)\n";

struct Options {
  bool help = false;
  std::string kubeconfig;
  int workers = 10;
  kubernetes::ManagerOptions manager;
};

absl::Status Parse(int argc, char* argv[], Options* options) {
  std::string* const texts[] = {
      &options->kubeconfig, &options->manager.lease.ns,
      &options->manager.lease.name, &options->manager.metrics_address,
      &options->manager.probe_address};
  constexpr int kText = 10;  // the `val` of the first of these
  const struct option flags[] = {
      {"help", 0, nullptr, examples::kHelp},
      {"workers", 1, nullptr, 'w'},
      {"leader-elect", 0, nullptr, 'l'},
      {"kubeconfig", 1, nullptr, kText},
      {"leader-elect-namespace", 1, nullptr, kText + 1},
      {"leader-elect-name", 1, nullptr, kText + 2},
      {"metrics-bind-address", 1, nullptr, kText + 3},
      {"health-probe-bind-address", 1, nullptr, kText + 4},
      {}};
  return examples::ParseCommandLine(
      argc, argv, flags, [&](int val, absl::string_view value) {
        if (val == examples::kHelp) options->help = true;
        if (val == 'l') options->manager.leader_elect = true;
        if (val >= kText && val < kText + 5) {
          *texts[val - kText] = std::string(value);
        }
        return val == 'w' ? examples::ParseInt("--workers", value, 1, 1000,
                                               &options->workers)
                          : absl::OkStatus();
      });
}

// Writes messages to standard error.
class StderrLog final : public workqueue::LogSink {
 public:
  void Log(absl::LogSeverity severity, absl::string_view message) override {
    const std::string line =
        absl::StrCat(absl::FormatTime(absl::Now()), " ",
                     absl::LogSeverityName(severity), " ", message, "\n");
    std::fwrite(line.data(), 1, line.size(), stderr);
  }
};

absl::Status Run(const Options& options, workqueue::LogSink& log) {
  kubernetes::Manager manager(options.manager, &log);
  const auto config = kubernetes::LoadConfig(options.kubeconfig);
  if (!config.ok()) return config.status();
  const auto client = kubernetes::Client::Create(*config);
  if (!client.ok()) return client.status();
  const auto lease_client = kubernetes::Client::Create(*config);
  if (!lease_client.ok()) return lease_client.status();
  const auto config_maps =
      kubernetes::NewInformer<ConfigMap>(*config, Replicator::Indexers(), &log);
  if (!config_maps.ok()) return config_maps.status();
  const auto namespaces =
      kubernetes::NewInformer<Namespace>(*config, /*indexers=*/{}, &log);
  if (!namespaces.ok()) return namespaces.status();
  const auto metrics =
      workqueue::PrometheusMetricsProvider::Create(manager.registry());
  if (!metrics.ok()) return metrics.status();

  auto& foreign_objects =
      prometheus::BuildCounter()
          .Name("replicator_foreign_objects_total")
          .Help("How often another object had the name of a copy.")
          .Register(*manager.registry())
          .Add({});
  Replicator replicator(
      client->get(), &(*config_maps)->store(), &(*namespaces)->store(),
      [&](absl::string_view key) {
        foreign_objects.Increment();
        log.Log(absl::LogSeverity::kInfo,
                absl::StrCat("another object has the name of a copy: ", key));
      });

  workqueue::ControllerOptions<std::string> controller_options;
  controller_options.name = "replicator";
  controller_options.workers = options.workers;
  controller_options.queue_metrics_provider = metrics->get();
  controller_options.metrics_provider = metrics->get();
  controller_options.log_sink = &log;
  controller_options.reconcile =
      [&](const std::string& key, const workqueue::ReconcileContext& context) {
        return replicator.Reconcile(key, context.stop);
      };
  controller_options.sources = {
      workqueue::MakeInformerSource<std::string>(
          **config_maps,
          [&](const ConfigMap& it) { return replicator.KeysOf(it); }),
      workqueue::MakeInformerSource<std::string>(
          **namespaces,
          [&](const Namespace& it) { return replicator.KeysOf(it); })};
  const auto controller =
      workqueue::Controller<std::string>::Create(std::move(controller_options));
  if (!controller.ok()) return controller.status();

  manager.Add(config_maps->get());
  manager.Add(namespaces->get());
  manager.Add(controller->get());
  return manager.Run(client->get(), lease_client->get());
}

}  // namespace
}  // namespace replicator

int main(int argc, char* argv[]) {
  replicator::Options options;
  options.manager.lease.name = "replicator";
  const absl::Status parsed = replicator::Parse(argc, argv, &options);
  if (!parsed.ok()) {
    std::fprintf(stderr, "%s\n", std::string(parsed.message()).c_str());
    return 2;
  }
  if (options.help) {
    std::fputs(replicator::kUsage, stdout);
    return 0;
  }
  replicator::StderrLog log;
  const absl::Status status = replicator::Run(options, log);
  if (status.ok()) return 0;
  log.Log(absl::LogSeverity::kError, status.ToString());
  return 1;
}
