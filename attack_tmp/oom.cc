#include <sys/resource.h>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <new>
#include <set>
#include <thread>
#include <unistd.h>
#include <vector>
#include "workqueue/timer/scheduler.h"
#include "workqueue/timer/delay_queue.h"
#include "workqueue/log_sink.h"
#include "workqueue/priority_queue.h"
#include "workqueue/rate_limiting_queue.h"
using namespace workqueue; 
struct L2 : LogSink { std::atomic<int> n{0}; char last[200] = {0}; void Log(absl::LogSeverity, absl::string_view m) override { ++n; snprintf(last, 200, "%.*s", (int)m.size(), m.data()); } } sink;
size_t vm() { std::ifstream f("/proc/self/statm"); size_t p; f >> p; return p * 4096; }
int main(int, char** a) {
  int kind = atoi(a[1]); std::vector<char> accepted(8 << 20); size_t cap = accepted.size();
  std::unique_ptr<RateLimitingInterface<int>> q; std::unique_ptr<DelayQueue<int>> dq; std::unique_ptr<Scheduler> s; std::atomic<long> ran{0};
  if (kind == 0 || kind == 1) { RateLimitingQueueOptions<int> o; o.name = "q"; o.log_sink = &sink; if (kind) o.waiting_set = *WaitingSetOptions::TimingWheel(); q = std::make_unique<RateLimitingQueue<int>>(std::move(o)); }
  if (kind == 2) { PriorityQueueOptions<int> o; o.name = "q"; o.log_sink = &sink; q = std::make_unique<PriorityQueue<int>>(std::move(o)); }
  if (kind == 3) dq = std::make_unique<DelayQueue<int>>(); if (kind == 4) s = *Scheduler::Create();

  struct rlimit rl; getrlimit(RLIMIT_AS, &rl); rlimit lim = rl;
  long thrown = 0; static std::atomic<long> ok{0}; static std::atomic<bool> done{false};
  std::thread raiser([rl] { long prev = -1; for (int i = 0; i < 20 && !done; ++i) { sleep(1); long n = ok; if (n == prev && !done) printf("t=%d s: AddAfter has been blocked for a second, accepted %ld\n", i, n); prev = n; } fflush(stdout); setrlimit(RLIMIT_AS, &rl); });
  usleep(100000); lim.rlim_cur = vm() + (60 << 20); setrlimit(RLIMIT_AS, &lim);
  for (size_t i = 0; i < cap && thrown < 1000; ++i) { try { bool t = true; if (q) t = q->AddAfter(i, absl::Milliseconds(2500 + i % 1000)); else if (dq) dq->Push(i, absl::Milliseconds(2000)); else { auto r = s->ScheduleOnce([&ran] { ++ran; }, absl::Milliseconds(2000)); t = r.ok(); if (!t) { ++thrown; } } if (t) { accepted[i] = 1; ++ok; } } catch (const std::bad_alloc&) { ++thrown; } }
  done = true; raiser.join(); sleep(5);  // due while there is no memory
  size_t l1 = q ? q->Len() : 0; setrlimit(RLIMIT_AS, &rl); sleep(3);
  long got = 0, wrong = 0; auto chk = [&](int v) { if (accepted[v] != 1) ++wrong; accepted[v] = 2; ++got; };
  if (q) { while (true) { auto r = q->GetWithDeadline(Clock::GetRealClock()->TimeNow() + absl::Seconds(3)); if (!r.ok()) break; chk(*r); q->Done(*r); } }
  if (dq) while (true) { auto r = dq->TryTake(); if (!r.ok()) break; chk(*r); }
  if (s) { sleep(1); got = ran; }
  printf("kind %d accepted %ld threw %ld, in queue under OOM %zu, got %ld wrong %ld log messages %d last: %s\n", kind, ok.load(), thrown, l1, got, wrong, sink.n.load(), sink.last); return got != ok;
}
