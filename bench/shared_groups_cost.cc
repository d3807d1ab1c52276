// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Measures what the groups of a `SharedQueue` cost its server, which serves one
// request at a time.
//
// A queue has keys of 100 or 10,000 namespaces. A cycle adds a key, ends the
// lease of the last one and acquires the next one, in two requests, or in
// requests for 100 keys. So the number of queued items stays the same. Queues
// with the same keys, without groups and with several kinds of groups, perform
// 100 cycles each, one after the other, and again. Prints the median times that
// the server spends on a cycle, by its own statistics, and the median of the
// ratios to the neighbouring cycles without groups.
//
// Run it with `tools/bazelw run -c opt //bench:shared_groups_cost`. It needs a
// server, as the tests do, and takes some minutes.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "test/shared/new_shared_queue.h"
#include "workqueue/clock/fake_clock.h"
#include "workqueue/fair_ordering.h"
#include "workqueue/lease.h"
#include "workqueue/redis/redis_connection.h"
#include "workqueue/redis/redis_options.h"
#include "workqueue/shared/shared_queue.h"

namespace workqueue {
namespace {

using SharedStrings = SharedQueue<std::string>;
using Fair = FairOrderingOptions<std::string>;

constexpr int kRounds = 51;
constexpr int kCycles = 100;

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// Returns key number `i`. There are `n` namespaces, in a random order.
std::string KeyOf(unsigned i, unsigned n) {
  return absl::StrCat("namespace-", i * 7919 % n, "/object-", i);
}

std::string NamespaceOf(const std::string& key) {
  return key.substr(0, key.find('/'));
}

// The server's time for all requests since the last call, in microseconds.
class ServerTime {
 public:
  ServerTime() {
    RedisOptions server;
    server.address = ServerOfThisProgram();
    auto connection =
        internal::RedisConnection::Connect(server, absl::Seconds(10));
    if (!connection.ok()) DieOf(connection.status());
    connection_ = *std::move(connection);
  }

  double Take() {
    const auto reply = Call({"INFO", "commandstats"});
    const absl::string_view text = internal::TextOf(*reply);
    int64_t usec = 0;
    const size_t line = text.find("cmdstat_evalsha:");
    if (line != absl::string_view::npos) {
      const size_t begin = text.find("usec=", line) + 5;
      const absl::string_view number =
          text.substr(begin, text.find(',', begin) - begin);
      if (!absl::SimpleAtoi(number, &usec)) {
        DieOf(absl::InternalError("the server does not tell its time"));
      }
    }
    Call({"CONFIG", "RESETSTAT"});
    return static_cast<double>(usec);
  }

 private:
  internal::RedisReply Call(const std::vector<absl::string_view>& words) {
    auto reply = connection_->Call(words, absl::Seconds(10));
    if (!reply.ok()) DieOf(reply.status());
    return *std::move(reply);
  }

  std::unique_ptr<internal::RedisConnection> connection_;
};

struct Case {
  const char* name;
  Fair fair;
};

std::vector<Case> Cases() {
  Fair groups;
  groups.dimensions.resize(1);
  groups.dimensions[0].group_of = NamespaceOf;
  std::vector<Case> cases = {{"none", {}},
                             {"groups", groups},
                             {"groups, a high bound", groups},
                             {"groups, bound 1", groups},
                             {"bounded retries", {}}};
  cases[2].fair.dimensions[0].max_in_process = 1000;
  // Each item in process holds back the others of its namespace.
  cases[3].fair.dimensions[0].max_in_process = 1;
  cases[4].fair.max_retries_in_process = 10;
  return cases;
}

// One case, and its measurements.
struct Run {
  std::unique_ptr<SharedStrings> queue;
  Lease<std::string> lease;
  int next = 0;
  std::vector<double> times, ratios, batch_times, batch_ratios;
};

void CycleOneByOne(Run& run, int groups) {
  for (int i = 0; i < kCycles; ++i) {
    run.queue->Add(KeyOf(run.next++, groups));
    const absl::Status status = run.queue->AcquireNext(&run.lease);
    if (!status.ok()) DieOf(status);
  }
}

void CycleInABatch(Run& run, int groups) {
  std::vector<std::string> keys;
  for (int i = 0; i < kCycles; ++i) keys.push_back(KeyOf(run.next++, groups));
  run.queue->AddAll(keys);
  auto batch = run.queue->AcquireUpTo(kCycles);
  if (!batch.ok()) DieOf(batch.status());
}

void Measure(int items, int groups) {
  FakeClock clock;
  ServerTime server;
  const std::vector<Case> cases = Cases();
  std::vector<Run> runs(cases.size());
  for (size_t i = 0; i < cases.size(); ++i) {
    auto options = NewSharedQueueOptions<std::string>(&clock);
    options.fair = cases[i].fair;
    runs[i].queue = NewSharedQueue(std::move(options));
    std::vector<std::string> keys;
    while (runs[i].next < items) keys.push_back(KeyOf(runs[i].next++, groups));
    runs[i].queue->AddAll(keys);
  }
  for (int round = 0; round < kRounds; ++round) {
    for (Run& run : runs) {
      server.Take();
      CycleOneByOne(run, groups);
      run.times.push_back(server.Take() / kCycles);
      run.ratios.push_back(run.times.back() / runs[0].times.back());
      CycleInABatch(run, groups);
      run.batch_times.push_back(server.Take() / kCycles);
      run.batch_ratios.push_back(run.batch_times.back() /
                                 runs[0].batch_times.back());
    }
  }
  for (size_t i = 0; i < cases.size(); ++i) {
    std::printf("| %d | %d | %s | %.0f | %.2f | %.0f | %.2f |\n", items, groups,
                cases[i].name, Median(runs[i].times), Median(runs[i].ratios),
                Median(runs[i].batch_times), Median(runs[i].batch_ratios));
    std::fflush(stdout);
    runs[i].lease.Done();
  }
}

int Main() {
  std::printf(
      "| queued items | namespaces | groups | a cycle, us | ratio "
      "| a cycle of 100 at a time, us | ratio |\n"
      "| --- | --- | --- | --- | --- | --- | --- |\n");
  for (const int items : {1000, 100000}) {
    for (const int groups : {100, 10000}) Measure(items, groups);
  }
  return 0;
}

}  // namespace
}  // namespace workqueue

int main() { return workqueue::Main(); }
