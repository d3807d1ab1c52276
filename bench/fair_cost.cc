// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Measures what a `FairOrdering` costs.
//
// A queue has `cluster/namespace/name` keys of 10 clusters with 10 namespaces
// each, or of 100 clusters with 100 namespaces each. If 1,000 items of 10,000
// namespaces are queued, most cycles make a group and erase another one.
//
// A cycle adds a key, acquires the next one and ends its lease. So the number
// of queued items stays the same. Queues with the same keys, without an
// ordering and with several orderings, perform 1,000 cycles each, one after the
// other, and again. Prints the median times of a cycle, and the median of the
// ratios to the neighbouring cycles without an ordering. One of the cases has
// no ordering, and calls the functions that return the two groups of the key.
//
// Run it with `tools/bazelw run -c opt //bench:fair_cost`. It takes less than a
// minute.

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <functional>
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

// Returns key number `i`. There are `n` clusters, with `n` namespaces each, in
// a random order.
std::string KeyOf(unsigned i, unsigned n) {
  const unsigned tenant = i * 7919 % (n * n);
  return absl::StrCat("cluster-", tenant / n, "/namespace-", tenant % n,
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
  bool calls_functions = false;
};

std::vector<Case> Cases() {
  std::vector<Case> cases = {{"no ordering", false, {}},
                             {"by priority", true, Dimensions(0)},
                             {"1 dimension", true, Dimensions(1)},
                             {"2 dimensions", true, Dimensions(2)},
                             {"2 dimensions, bounded", true, Dimensions(2)},
                             {"2 dimensions, by share", true, Dimensions(2)},
                             {"bounded retries", true, Dimensions(0)},
                             {"no ordering, 2 functions", false, {}, true}};
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

// Keeps the compiler from removing what makes it.
volatile size_t sink;

// Returns the time of a cycle, in nanoseconds. Key number `next` is the first.
double RunCycles(StringQueue& queue, int next, int clusters,
                 bool calls_functions) {
  const std::function<std::string(const std::string&)> cluster_of = ClusterOf;
  const std::function<std::string(const std::string&)> namespace_of =
      NamespaceOf;
  std::vector<std::string> keys;
  for (int i = 0; i < kCycles; ++i) keys.push_back(KeyOf(next + i, clusters));
  const absl::Time begin = absl::Now();
  for (const std::string& key : keys) {
    if (calls_functions) {
      sink = cluster_of(key).size() + namespace_of(key).size();
    }
    queue.Add(key);
    queue.TryAcquire()->Done();
  }
  return absl::ToDoubleNanoseconds(absl::Now() - begin) / kCycles;
}

template <typename Q, typename QueueOptions>
void Measure(const char* kind, int items, int clusters) {
  const std::vector<Case> cases = Cases();
  std::vector<std::unique_ptr<StringQueue>> queues;
  for (const Case& c : cases) {
    queues.push_back(NewQueue<Q, QueueOptions>(c));
    for (int i = 0; i < items; ++i) queues.back()->Add(KeyOf(i, clusters));
  }
  std::vector<std::vector<double>> times(cases.size()), ratios(cases.size());
  for (int round = 0; round < kRounds; ++round) {
    for (size_t i = 0; i < cases.size(); ++i) {
      times[i].push_back(RunCycles(*queues[i], items + round * kCycles,
                                   clusters, cases[i].calls_functions));
      ratios[i].push_back(times[i].back() / times[0].back());
    }
  }
  for (size_t i = 0; i < cases.size(); ++i) {
    std::printf("| %s | %d | %d | %s | %.0f | %.2f |\n", kind, items,
                clusters * clusters, cases[i].name, Median(times[i]),
                Median(ratios[i]));
  }
}

int Main() {
  std::printf(
      "| queue | queued items | namespaces | ordering | cycle, ns | ratio |\n"
      "| --- | --- | --- | --- | --- | --- |\n");
  for (const int items : {1000, 100000}) {
    for (const int clusters : {10, 100}) {
      Measure<PriorityQueue<std::string>, PriorityQueueOptions<std::string>>(
          "PriorityQueue", items, clusters);
      Measure<Queue<std::string>, QueueOptions<std::string>>("Queue", items,
                                                             clusters);
    }
  }
  return 0;
}

}  // namespace
}  // namespace workqueue

int main() { return workqueue::Main(); }
