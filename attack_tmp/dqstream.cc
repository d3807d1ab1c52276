#include <cstdio>
#include <memory>
#include <set>
#include <stdexcept>
#include "workqueue/timer/delay_queue.h"
static long countdown = -1;
struct T { int* p; explicit T(int v) : p(new int(v)) {} T(T&& o) { if (countdown >= 0 && countdown-- == 0) throw std::runtime_error("move"); p = o.p; o.p = nullptr; } T& operator=(T&&) = delete; ~T() { delete p; } };
int main() {
  for (long n = 0; n < 12; ++n) {
    workqueue::DelayQueue<T> q; countdown = -1; for (int i = 0; i < 5; ++i) q.Push(T(i), -absl::Seconds(1)); q.ShutDown();
    std::set<int> have; bool threw = false; countdown = n;
    try { for (auto&& v : q.Stream()) have.insert(*v.p); } catch (const std::runtime_error&) { threw = true; }
    countdown = -1; size_t got = have.size(); while (true) { auto v = q.TryTake(); if (!v.ok()) break; if (v->p) have.insert(*v->p); }
    if (have.size() != 5) printf("Stream: fault at move %ld threw %d after %zu values; %zu of 5 left\n", n, threw, got, have.size());
  } puts("end");
}
