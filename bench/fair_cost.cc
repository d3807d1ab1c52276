// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Measures what a `FairOrdering` costs.
//
// A queue has `cluster/namespace/name` keys of 100 clusters, with 100
// namespaces each. A cycle adds a key, acquires the next one and ends its
// lease. So the number of queued items stays the same. Queues with the same
// keys, without an ordering and with several orderings, perform 1,000 cycles
// each, one after the other, and again. Prints the median times of a cycle, and
// the median of the ratios to the neighbouring cycles without an ordering.
//
// Run it with `tools/bazelw run -c opt //bench:fair_cost`. It takes a minute.

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "workqueue/fair_ordering.h"
#include "workqueue/interfaces.h"
#include "workqueue/lease.h"
#include "workqueue/priority_queue.h"
#include "workqueue/queue.h"

namespace workqueue {
namespace {

using StringQueue = Interface<std::string>;
using Options = FairOrderingOptions<std::string>;

constexpr int kRounds = 301;
constexpr int kCycles = 1000;

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

// Returns key number `i`. The tenants are in a random order.
std::string KeyOf(int i) {
  const unsigned tenant = i * 7919u % 10000;
  return absl::StrCat("cluster-", tenant / 100, "/namespace-", tenant % 100,
                      "/object-", i);
}

std::string ClusterOf(const std::string& key) {
  return key.substr(0, key.find('/'));
}

std::string NamespaceOf(const std::string& key) {
  const size_t begin = key.find('/') + 1;
  return key.substr(begin, key.find('/', begin) - begin);
}

Options Dimensions(int n) {
  Options options;
  options.dimensions.resize(n);
  if (n > 0) options.dimensions[0].group_of = ClusterOf;
  if (n > 1) options.dimensions[1].group_of = NamespaceOf;
  return options;
}

struct Case {
  const char* name;
  bool ordered;
  Options options;
};

std::vector<Case> Cases() {
  std::vector<Case> cases = {{"no ordering", false, {}},
                             {"by priority", true, Dimensions(0)},
                             {"1 dimension", true, Dimensions(1)},
                             {"2 dimensions", true, Dimensions(2)},
                             {"2 dimensions, bounded", true, Dimensions(2)},
                             {"2 dimensions, by share", true, Dimensions(2)},
                             {"bounded retries", true, Dimensions(0)}};
  // The item in process always holds back the others of its namespace.
  cases[4].options.dimensions[0].max_in_process = 10;
  cases[4].options.dimensions[1].max_in_process = 1;
  for (auto& dimension : cases[5].options.dimensions) {
    dimension.count_processing = true;
  }
  cases[6].options.max_retries_in_process = 10;
  return cases;
}

template <typename Q, typename QueueOptions>
std::unique_ptr<StringQueue> NewQueue(const Case& c) {
  QueueOptions options;
  if (c.ordered) {
    options.ordering = *FairOrdering<std::string>::Create(c.options);
  }
  return std::make_unique<Q>(std::move(options));
}

// Returns the time of a cycle, in nanoseconds. Key number `next` is the first.
double RunCycles(StringQueue& queue, int next) {
  std::vector<std::string> keys;
  for (int i = 0; i < kCycles; ++i) keys.push_back(KeyOf(next + i));
  const absl::Time begin = absl::Now();
  for (const std::string& key : keys) {
    queue.Add(key);
    queue.TryAcquire()->Done();
  }
  return absl::ToDoubleNanoseconds(absl::Now() - begin) / kCycles;
}

template <typename Q, typename QueueOptions>
void Measure(const char* kind, int items) {
  const std::vector<Case> cases = Cases();
  std::vector<std::unique_ptr<StringQueue>> queues;
  for (const Case& c : cases) {
    queues.push_back(NewQueue<Q, QueueOptions>(c));
    for (int i = 0; i < items; ++i) queues.back()->Add(KeyOf(i));
  }
  std::vector<std::vector<double>> times(cases.size()), ratios(cases.size());
  for (int round = 0; round < kRounds; ++round) {
    for (size_t i = 0; i < cases.size(); ++i) {
      times[i].push_back(RunCycles(*queues[i], items + round * kCycles));
      ratios[i].push_back(times[i].back() / times[0].back());
    }
  }
  for (size_t i = 0; i < cases.size(); ++i) {
    std::printf("| %s | %d | %s | %.0f | %.2f |\n", kind, items, cases[i].name,
                Median(times[i]), Median(ratios[i]));
  }
}

int Main() {
  std::printf(
      "| queue | queued items | ordering | cycle, ns | ratio |\n"
      "| --- | --- | --- | --- | --- |\n");
  for (const int items : {1000, 100000}) {
    Measure<PriorityQueue<std::string>, PriorityQueueOptions<std::string>>(
        "PriorityQueue", items);
    Measure<Queue<std::string>, QueueOptions<std::string>>("Queue", items);
  }
  return 0;
}

}  // namespace
}  // namespace workqueue

int main() { return workqueue::Main(); }
