// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Simulates a month of a controller with 10,000 tenants, one of which is
// hostile, and prints how long changes waited.
//
//     policies_month POLICY
//
// runs the month with one of the policies: `none`, `fairness`, `bound`,
// `jitter`, `giving_up`, `retry_budget`, `error_delay` or `all`. Prints a line
// for each incident and each kind of tenant, separated by commas: the policy,
// the incident, the tenants, the number of changes, the median, the 99th
// percentile and the maximum of their waits in seconds, and the number of
// changes that still waited at the end. A change waits from its event until the
// begin of the reconciliation that succeeds. bench/policies draws the plot of
// all policies.
//
// The queue, the policies and the clock are the library's; the workers are
// simulated. The time advances in steps of a second. The month:
//
//   * Ten clusters have 1,000 tenants each. Each tenant has 20 objects, of
//     which one changes about 100 times a month: 0.39 changes a second in all.
//   * Ten workers reconcile. A reconciliation takes 10 seconds on average. So a
//     quiet controller is busy for four tenths of its time.
//   * `flood`, days 3 to 6: the hostile tenant changes 50,000 objects three
//     times a second.
//   * `hang`, days 9 to 12: each reconciliation of the hostile tenant's objects
//     hangs for an hour, and fails.
//   * `broken`, days 15 to 18: 3,000 objects of the hostile tenant fail each
//     time.
//   * `outage`, 3 hours of day 21: the API of three clusters is overloaded.
//     Each reconciliation of their objects fails after 10 seconds. The hostile
//     tenant has nothing to do with it. With `giving_up`, an operator puts the
//     parked items back when the outage is over.
//
// All random numbers have fixed seeds, so each run prints the same.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "ratelimit/jitter.h"
#include "ratelimit/rate_limiter.h"
#include "ratelimit/with_jitter_rate_limiter.h"
#include "ratelimit/with_max_wait_rate_limiter.h"
#include "workqueue/clock/fake_clock.h"
#include "workqueue/failure_ledger.h"
#include "workqueue/fair_ordering.h"
#include "workqueue/lease.h"
#include "workqueue/ordering.h"
#include "workqueue/priority_queue.h"

namespace workqueue {
namespace {

// Times and durations are in seconds.
constexpr int64_t kHour = 3600;
constexpr int64_t kDay = 24 * kHour;
constexpr int64_t kEnd = 30 * kDay;

constexpr int kTenants = 10000;
constexpr int kTenantsOfACluster = 1000;
constexpr int kHostile = 0;  // a tenant
constexpr int kObjects = 20;
constexpr double kChangesPerSecond = kTenants * 100.0 / kEnd;
constexpr size_t kWorkers = 10;
constexpr double kMeanWork = 10;

constexpr int kFloodedObjects = 50000;
constexpr double kFloodPerSecond = 3;
constexpr int64_t kHang = kHour;
constexpr int kBrokenObjects = 3000;
constexpr int64_t kApiWork = 10;

// The values of the policies.
constexpr size_t kBound = 2;
constexpr size_t kRetryBudget = 3;
constexpr int kMaxFailures = 20;
constexpr absl::Duration kRetryAfter = absl::Seconds(1000);
constexpr absl::Duration kMaxDelay = absl::Seconds(1000);

struct Incident {
  const char* name;
  int64_t begin, end;
};
constexpr Incident kIncidents[] = {
    {"flood", 3 * kDay, 6 * kDay},
    {"hang", 9 * kDay, 12 * kDay},
    {"broken", 15 * kDay, 18 * kDay},
    {"outage", 21 * kDay, 21 * kDay + 3 * kHour}};
enum IncidentIndex { kFlood, kHanging, kBroken, kOutage, kQuiet };
constexpr const char* kQuietName = "quiet";

// Returns the incident that is on at `time`.
int IncidentAt(int64_t time) {
  int i = 0;
  while (i < kQuiet &&
         (time < kIncidents[i].begin || time >= kIncidents[i].end)) {
    ++i;
  }
  return i;
}

// An object of a tenant.
using Item = int64_t;
constexpr Item kItemsOfATenant = 1 << 20;
Item ItemOf(int tenant, int object) {
  return tenant * kItemsOfATenant + object;
}
int TenantOf(Item item) { return static_cast<int>(item / kItemsOfATenant); }
int ClusterOf(Item item) { return TenantOf(item) / kTenantsOfACluster; }

// Whether the API of the item's cluster is one that has the outage.
bool HasOutage(Item item) { return ClusterOf(item) >= 7; }

enum Who { kHostileTenant, kTenantsWithOutage, kOtherTenants };
constexpr const char* kWho[] = {"hostile", "affected", "others"};

Who WhoIs(Item item, int incident) {
  if (TenantOf(item) == kHostile) return kHostileTenant;
  return incident == kOutage && HasOutage(item) ? kTenantsWithOutage
                                                : kOtherTenants;
}

struct Policies {
  bool fairness = false;
  bool bound = false;
  bool jitter = false;
  bool giving_up = false;
  bool retry_budget = false;
  bool error_delay = false;
};

std::optional<Policies> PoliciesOf(absl::string_view name) {
  Policies policies;
  const bool all = name == "all";
  policies.fairness = all || name == "fairness";
  policies.bound = all || name == "bound";
  policies.jitter = all || name == "jitter";
  policies.giving_up = all || name == "giving_up";
  policies.retry_budget = all || name == "retry_budget";
  policies.error_delay = all || name == "error_delay";
  const bool any = policies.fairness || policies.bound || policies.jitter ||
                   policies.giving_up || policies.retry_budget ||
                   policies.error_delay;
  if (!any && name != "none") return std::nullopt;
  return policies;
}

std::unique_ptr<Ordering<Item>> OrderingOf(const Policies& policies) {
  FairOrderingOptions<Item, int> options;
  if (policies.fairness) {
    options.dimensions.emplace_back();
    options.dimensions.back().group_of = ClusterOf;
  }
  if (policies.fairness || policies.bound) {
    options.dimensions.emplace_back();
    options.dimensions.back().group_of = TenantOf;
    if (policies.bound) options.dimensions.back().max_in_process = kBound;
  }
  if (policies.retry_budget) options.max_retries_in_process = kRetryBudget;
  if (options.dimensions.empty() && !policies.retry_budget) return nullptr;
  return *FairOrdering<Item, int>::Create(std::move(options));
}

std::unique_ptr<RateLimiter<Item>> LimiterOf(const Policies& policies) {
  auto limiter = PriorityQueue<Item>::NewDefaultRateLimiter();
  if (!policies.jitter) return limiter;
  JitterOptions options = JitterOptions::PlusMinus(0.5);
  options.seed = 1;
  return *WithMaxWaitRateLimiter<Item>::Create(
      *WithJitterRateLimiter<Item>::Create(std::move(limiter),
                                           *Jitter::Create(options)),
      kMaxDelay);
}

class Month {
 public:
  explicit Month(const Policies& policies) : policies_(policies) {
    PriorityQueueOptions<Item> options;
    options.clock = &clock_;
    options.rate_limiter = LimiterOf(policies);
    options.ordering = OrderingOf(policies);
    queue_ = std::make_unique<PriorityQueue<Item>>(std::move(options));
    if (!policies.giving_up) return;
    FailureLedgerOptions parking;
    parking.max_failures = kMaxFailures;
    parking.clock = &clock_;
    lot_ = *FailureLedger<Item>::Create(parking);
  }

  void Run() {
    for (now_ = 0; now_ < kEnd; ++now_) {
      clock_.Step(absl::Seconds(1));
      while (!running_.empty() && running_.begin()->first <= now_) {
        Finish(running_.begin()->second);
        running_.erase(running_.begin());
      }
      Change();
      while (running_.size() < kWorkers) {
        absl::StatusOr<Lease<Item>> lease = queue_->TryAcquire();
        if (!lease.ok()) break;
        Begin(*std::move(lease));
      }
    }
  }

  void Print(absl::string_view policy) {
    std::map<std::pair<int, Who>, int> waiting;
    for (const auto& [item, event] : events_) ++waiting[KeyOf(item, event)];
    for (const auto& [end, run] : running_) {
      if (run.event.has_value()) ++waiting[KeyOf(*run.lease, *run.event)];
    }
    for (auto& [key, waits] : waits_) {
      std::sort(waits.begin(), waits.end());
      std::printf("%s,%s,%s,%zu,%lld,%lld,%lld,%d\n",
                  std::string(policy).c_str(),
                  key.first == kQuiet ? kQuietName : kIncidents[key.first].name,
                  kWho[key.second], waits.size(), At(waits, 0.5),
                  At(waits, 0.99), At(waits, 1), waiting[key]);
    }
  }

 private:
  // A reconciliation in progress.
  struct Running {
    Lease<Item> lease;
    int64_t begin;
    std::optional<int64_t> event;  // the first one that waits for success
    bool fails;
  };

  static long long At(const std::vector<int64_t>& sorted, double part) {
    return sorted[static_cast<size_t>(part * (sorted.size() - 1))];
  }

  static std::pair<int, Who> KeyOf(Item item, int64_t event) {
    const int incident = IncidentAt(event);
    return {incident, WhoIs(item, incident)};
  }

  // Returns how often something happens in a second, `rate` times on average.
  int Times(double rate) {
    return std::poisson_distribution<int>(rate)(random_);
  }
  int Below(int n) {
    return std::uniform_int_distribution<int>(0, n - 1)(random_);
  }

  void Event(Item item) {
    events_.try_emplace(item, now_);
    queue_->Add(item);
  }

  // Adds the items that change now.
  void Change() {
    for (int n = Times(kChangesPerSecond); n > 0; --n) {
      Event(ItemOf(1 + Below(kTenants - 1), Below(kObjects)));
    }
    const int incident = IncidentAt(now_);
    if (incident == kFlood) {
      for (int n = Times(kFloodPerSecond); n > 0; --n) {
        Event(ItemOf(kHostile, Below(kFloodedObjects)));
      }
    }
    if (incident == kHanging && now_ % kHour == 0) {
      for (int i = 0; i < kObjects; ++i) Event(ItemOf(kHostile, i));
    }
    if (now_ == kIncidents[kBroken].begin || now_ == kIncidents[kBroken].end) {
      for (int i = 0; i < kBrokenObjects; ++i) Event(ItemOf(kHostile, i));
    }
    if (now_ == kIncidents[kOutage].end && lot_ != nullptr) {
      lot_->UnparkAll(queue_.get());
    }
  }

  void Begin(Lease<Item> lease) {
    if (lot_ != nullptr && !lot_->ShouldProcess(*lease)) return;
    const Item item = *lease;
    Running run = {std::move(lease), now_, std::nullopt, false};
    const auto event = events_.find(item);
    if (event != events_.end()) {
      run.event = event->second;
      events_.erase(event);
    }
    int64_t work = 1 + static_cast<int64_t>(std::exponential_distribution<>(
                           1 / (kMeanWork - 1))(random_));
    const int incident = IncidentAt(now_);
    const bool hostile = TenantOf(item) == kHostile;
    if (incident == kHanging && hostile) {
      run.fails = true;
      work = kHang;
    } else if (incident == kBroken && hostile) {
      run.fails = true;
    } else if (incident == kOutage && HasOutage(item)) {
      run.fails = true;
      work = kApiWork;
    }
    running_.emplace(now_ + work, std::move(run));
  }

  void Finish(Running& run) {
    const Item item = *run.lease;
    if (!run.fails) {
      if (run.event.has_value()) {
        waits_[KeyOf(item, *run.event)].push_back(run.begin - *run.event);
      }
      queue_->Forget(item);
      if (lot_ != nullptr) lot_->Forget(item);
      return;
    }
    if (run.event.has_value()) events_[item] = *run.event;
    if (lot_ != nullptr &&
        lot_->RecordFailure(item, absl::UnavailableError("failed"))) {
      queue_->Forget(item);
      return;
    }
    // Only the API that has the outage says when to come back.
    if (policies_.error_delay && HasOutage(item)) {
      queue_->AddRateLimitedAfter(item, kRetryAfter);
    } else {
      queue_->AddRateLimited(item);
    }
  }

  const Policies policies_;
  std::mt19937_64 random_{1};
  FakeClock clock_;
  std::unique_ptr<PriorityQueue<Item>> queue_;
  std::unique_ptr<FailureLedger<Item>> lot_;  // null without `giving_up`
  int64_t now_ = 0;
  std::multimap<int64_t, Running> running_;  // by their ends
  // The first event of each item that waits for success.
  absl::flat_hash_map<Item, int64_t> events_;
  std::map<std::pair<int, Who>, std::vector<int64_t>> waits_;
};

int Main(int argc, char** argv) {
  std::optional<Policies> policies;
  if (argc == 2) policies = PoliciesOf(argv[1]);
  if (!policies.has_value()) {
    std::fprintf(stderr,
                 "usage: policies_month none|fairness|bound|jitter|giving_up|"
                 "retry_budget|error_delay|all\n");
    return 2;
  }
  Month month(*policies);
  month.Run();
  month.Print(argv[1]);
  return 0;
}

}  // namespace
}  // namespace workqueue

int main(int argc, char** argv) { return workqueue::Main(argc, argv); }
