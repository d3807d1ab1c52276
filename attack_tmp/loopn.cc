// loopn NQ METRICS: CPU use of NQ idle queues that share a loop; and lateness of AddAfter
#include <time.h>
#include <unistd.h>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>
#include "workqueue/clock/clock.h"
#include "workqueue/priority_queue.h"
#include "workqueue/rate_limiting_queue.h"
#include "workqueue/timer/waiting_loop.h"
using namespace workqueue; 
struct G : GaugeMetric { void Inc() override {} void Dec() override {} };
struct C : CounterMetric { void Inc() override {} };
struct HI : HistogramMetric { void Observe(double) override {} };
struct SG : SettableGaugeMetric { void Set(double) override {} };
struct P : MetricsProvider { using S = absl::string_view;
  std::unique_ptr<GaugeMetric> NewDepthMetric(S) override { return std::make_unique<G>(); }
  std::unique_ptr<CounterMetric> NewAddsMetric(S) override { return std::make_unique<C>(); }
  std::unique_ptr<HistogramMetric> NewLatencyMetric(S) override { return std::make_unique<HI>(); }
  std::unique_ptr<HistogramMetric> NewWorkDurationMetric(S) override { return std::make_unique<HI>(); }
  std::unique_ptr<SettableGaugeMetric> NewUnfinishedWorkSecondsMetric(S) override { return std::make_unique<SG>(); }
  std::unique_ptr<SettableGaugeMetric> NewLongestRunningProcessorSecondsMetric(S) override { return std::make_unique<SG>(); }
  std::unique_ptr<CounterMetric> NewRetriesMetric(S) override { return std::make_unique<C>(); }
} prov;
double cpu() { timespec t; clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t); return t.tv_sec + t.tv_nsec / 1e9; }
int main(int, char** a) {
  int n = atoi(a[1]); bool met = atoi(a[2]); auto* C = Clock::GetRealClock();
  auto loop = std::make_shared<WaitingLoop>(C); std::vector<std::unique_ptr<RateLimitingQueue<int>>> q;
  double c00 = cpu(); absl::Time s0 = C->TimeNow();
  for (int i = 0; i < n; ++i) { RateLimitingQueueOptions<int> o; o.clock = loop; if (met) { o.name = "q" + std::to_string(i); o.metrics_provider = &prov; } q.push_back(std::make_unique<RateLimitingQueue<int>>(std::move(o))); }
  printf("made %d in %.2fs; ", n, absl::ToDoubleSeconds(C->TimeNow() - s0)); usleep(1500000);
  double c0 = cpu(); usleep(4000000); double idle = (cpu() - c0) / 4;
  absl::Time t0 = C->TimeNow(); for (auto& x : q) x->AddAfter(1, absl::Milliseconds(300)); absl::Time late = t0; double c1 = cpu();
  for (auto& x : q) { x->Get(); } late = C->TimeNow();
  printf("idle CPU %.1f %%; all %d items due after 300 ms were out after %.0f ms; ", idle * 100, n, absl::ToDoubleMilliseconds(late - t0)); absl::Time d0 = C->TimeNow(); q.clear(); printf("destroyed in %.2fs\n", absl::ToDoubleSeconds(C->TimeNow() - d0)); (void)c00; (void)c1;
}
