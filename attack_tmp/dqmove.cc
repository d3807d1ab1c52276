// DelayQueue<T> where moving a T may throw (and leaves the source as it was). Is any value lost?
#include <cstdio>
#include <memory>
#include <set>
#include <stdexcept>
#include <vector>
#include "workqueue/timer/delay_queue.h"
static long countdown = -1;
struct T { int* p; explicit T(int v) : p(new int(v)) {} T(T&& o) { if (countdown >= 0 && countdown-- == 0) throw std::runtime_error("move"); p = o.p; o.p = nullptr; } T& operator=(T&&) = delete; ~T() { delete p; } };
int main() {
  long lost_cases = 0, cases = 0, swallowed = 0, thrown = 0;
  for (long n = 0; n < 60; ++n) {
    workqueue::DelayQueue<T> q; countdown = -1;
    for (int i = 0; i < 20; ++i) q.Push(T(i), -absl::Seconds(1));
    std::set<int> have; int nulls = 0; countdown = n; bool threw = false;
    try { auto r = q.TakeUpTo(20); countdown = -1; for (auto& v : *r) { if (v.p) have.insert(*v.p); else ++nulls; } } catch (const std::runtime_error&) { threw = true; ++thrown; }
    bool fired = countdown < 0; countdown = -1; (void)fired;
    size_t returned = have.size();
    while (true) { auto v = q.TryTake(); if (!v.ok()) break; if (v->p) have.insert(*v->p); else ++nulls; }
    ++cases; if (have.size() != 20 || nulls) { ++lost_cases; if (lost_cases <= 5) printf("fault at move %ld: threw %d, returned %zu values, %d of them empty; %zu of 20 values are left anywhere\n", n, threw, returned, nulls, have.size()); }
  }
  printf("cases %ld, with values lost %ld (threw %ld)\n", cases, lost_cases, thrown); (void)swallowed;
}
