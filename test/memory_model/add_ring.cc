// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// AddRing under the C++ memory model, as QueueCore uses it: threads that add
// items by a push or with the lock, and a thread that looks into the queue.
// README.md describes how `check` builds this program.
//
// Checked with:
//   known -DACQUIRE_RELEASE  |                                     | holds
//   known -DACQUIRE_RELEASE  | /tail.store/s/release/relaxed/      | fails
//   known -DACQUIRE_RELEASE  | /tail.load()/s/()/(rl::mo_relaxed)/ | fails
//   known -DACQUIRE_RELEASE  | /State(next,/s/release/relaxed/     | fails
//   unseen                   |                                     | holds
//   unseen -DACQUIRE_RELEASE |                                     | fails

#include <map>
#include <memory>
#include <string>

#include "relacy/relacy.hpp"

// The parts of other headers that add_ring.h uses.
namespace workqueue::internal {

struct CompactTime {};

template <typename F>
bool TryCall(F f) {
  f();
  return true;
}

// The orders of the operations that name none.
#ifdef ACQUIRE_RELEASE
constexpr rl::memory_order kLoad = rl::memory_order_acquire;
constexpr rl::memory_order kStore = rl::memory_order_release;
constexpr rl::memory_order kExchange = rl::memory_order_acq_rel;
#else
constexpr rl::memory_order kLoad = rl::memory_order_seq_cst;
constexpr rl::memory_order kStore = rl::memory_order_seq_cst;
constexpr rl::memory_order kExchange = rl::memory_order_seq_cst;
#endif

// A `std::atomic` that Relacy watches.
template <typename T>
class Atomic {
 public:
  Atomic() = default;
  explicit Atomic(T value) : value_(value) {}

  T load(rl::memory_order order = kLoad) const { return value_.load(order); }
  void store(T value, rl::memory_order order = kStore) {
    value_.store(value, order);
  }
  bool compare_exchange_strong(T& expected, T desired) {
    return value_.compare_exchange_strong(expected, desired, kExchange);
  }

 private:
  rl::atomic<T> value_;
};

}  // namespace workqueue::internal

#include "add_ring.h"

namespace {

using workqueue::internal::AddRing;

constexpr int kAdders = 2;

// Relacy finds accesses to such a variable that race. There is one for each
// address where an item has been.
std::map<const void*, rl::var<int>>* places;

// An item: the adder and the number of its add. It uses its memory in its
// constructor, its destructor, and where it is moved from.
struct Item {
  Item(int adder, int number) : adder(adder), number(number) { Use(); }
  Item(Item&& other) noexcept : adder(other.adder), number(other.number) {
    other.Use();
    Use();
  }
  ~Item() { Use(); }

  void Use() const { (*places)[this]($) = number; }

  const int adder;
  const int number;
};

// QueueCore, as far as the ring matters.
class Queue {
 public:
  void Add(int adder, int number) {
    if (ring_.open_hint() && ring_.TryPush({Item(adder, number), 0, {}})) {
      return;
    }
    Lock();
    Append(adder, number);
    if (!ring_.active()) ring_.Open();
    Unlock();
  }

  void Lock() {
    mu_.lock($);
    Apply();
  }
  void Unlock() { mu_.unlock($); }

  // A thread will block in the queue.
  void Seal() {
    ring_.Seal();
    if (ring_.active()) Apply();
  }

  void Open() { ring_.Open(); }

  // The number of the last item of `adder` in the queue.
  int last(int adder) const { return last_[adder]; }

 private:
  void Apply() {
    if (!ring_.active()) return;
    ring_.Apply([this](AddRing<Item>::Addition&& addition) {
      Append(addition.item.adder, addition.item.number);
    });
  }

  void Append(int adder, int number) {
    // The items of a thread come in their order, and each comes once.
    RL_ASSERT(number == last_[adder] + 1);
    last_[adder] = number;
  }

  rl::mutex mu_;
  AddRing<Item> ring_;
  int last_[kAdders] = {};  // guarded by mu_
};

// A scenario: threads that add `kAdds` items each, and a thread that looks into
// the queue.
template <typename Scenario, int kAdds>
struct Test : rl::test_suite<Scenario, kAdders + 1> {
  void before() {
    places = new std::map<const void*, rl::var<int>>;
    queue = std::make_unique<Queue>();
    queue->Lock();
    queue->Open();
    queue->Unlock();
  }

  void after() {
    queue->Lock();
    for (int i = 0; i < kAdders; ++i) RL_ASSERT(queue->last(i) == kAdds);
    queue->Unlock();
    queue.reset();
    delete places;
  }

  std::unique_ptr<Queue> queue;
};

// A thread that knows that an add has returned finds the item in the queue.
template <int kAdds, bool kSeals>
struct KnownAddIsSeen : Test<KnownAddIsSeen<kAdds, kSeals>, kAdds> {
  void thread(unsigned index) {
    Queue& queue = *this->queue;
    if (index < kAdders) {
      for (int i = 1; i <= kAdds; ++i) {
        queue.Add(index, i);
        returned[index].store(i, rl::memory_order_release);
      }
      return;
    }
    for (int look = 0; look < kAdds; ++look) {
      int known[kAdders];
      for (int i = 0; i < kAdders; ++i) {
        known[i] = returned[i].load(rl::memory_order_acquire);
      }
      queue.Lock();
      if (kSeals) queue.Seal();
      for (int i = 0; i < kAdders; ++i) RL_ASSERT(queue.last(i) >= known[i]);
      queue.Unlock();
    }
  }

  rl::atomic<int> returned[kAdders] = {0, 0};
};

// A thread says something, and looks into the queue. The item of an add that it
// does not find there is of a thread that hears what was said.
template <int kAdds>
struct UnseenAddSees : Test<UnseenAddSees<kAdds>, kAdds> {
  void thread(unsigned index) {
    if (index < kAdders) {
      for (int i = 1; i <= kAdds; ++i) {
        this->queue->Add(index, i);
        if (!said.load()) unheard[index] = i;
      }
      return;
    }
    said.store(true);
    this->queue->Lock();
    for (int i = 0; i < kAdders; ++i) seen[i] = this->queue->last(i);
    this->queue->Unlock();
  }

  void after() {
    for (int i = 0; i < kAdders; ++i) RL_ASSERT(seen[i] >= unheard[i]);
    Test<UnseenAddSees, kAdds>::after();
  }

  rl::atomic<bool> said{false};
  int unheard[kAdders] = {};
  int seen[kAdders] = {};
};

template <typename Scenario>
bool Holds(rl::iteration_t iterations) {
  rl::test_params params;
  params.iteration_count = iterations;
  return rl::simulate<Scenario>(params);
}

}  // namespace

// Searches `argv[2]` random executions of each scenario of the kind `argv[1]`.
int main(int, char** argv) {
  const rl::iteration_t iterations = std::stoull(argv[2]);
  const bool holds = argv[1] == std::string("known")
                         ? Holds<KnownAddIsSeen<1, false>>(iterations) &&
                               Holds<KnownAddIsSeen<2, false>>(iterations) &&
                               Holds<KnownAddIsSeen<2, true>>(iterations)
                         : Holds<UnseenAddSees<1>>(iterations) &&
                               Holds<UnseenAddSees<2>>(iterations);
  return holds ? 0 : 1;
}
