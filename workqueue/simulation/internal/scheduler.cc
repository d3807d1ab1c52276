// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifdef WORKQUEUE_SIMULATION

#include "workqueue/simulation/internal/scheduler.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <memory>
#include <string>
#include <thread>  // NOLINT(build/c++11)
#include <utility>
#include <vector>

#include "absl/debugging/stacktrace.h"
#include "absl/debugging/symbolize.h"
#include "absl/functional/any_invocable.h"
#include "absl/functional/function_ref.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "workqueue/simulation/simulation.h"

namespace workqueue::simulation::internal {
namespace {

thread_local Scheduler* current_scheduler = nullptr;
thread_local SimThread* current_thread = nullptr;

const char* NameOf(Scheduler::Wait wait) {
  switch (wait) {
    case Scheduler::Wait::kNothing:
      return "can go on";
    case Scheduler::Wait::kLock:
      return "waits for the lock of";
    case Scheduler::Wait::kSharedLock:
      return "waits for the shared lock of";
    case Scheduler::Wait::kCondition:
      return "waits for a condition under";
    case Scheduler::Wait::kSignal:
      return "waits for a signal of";
    case Scheduler::Wait::kJoin:
      return "waits for the end of";
    case Scheduler::Wait::kTime:
      return "sleeps";
    case Scheduler::Wait::kIdle:
      return "waits until all are idle, at";
  }
  return "";
}

// Returns the functions of `stack` that are not the simulation's.
std::string Symbolized(const std::vector<void*>& stack, size_t most) {
  std::string result;
  size_t printed = 0;
  for (void* const address : stack) {
    char name[200];
    // The return address may be that of the next function.
    if (!absl::Symbolize(static_cast<char*>(address) - 1, name, sizeof(name))) {
      continue;
    }
    const absl::string_view text = name;
    if (absl::StrContains(text, "simulation::internal::") ||
        absl::StrContains(text, "workqueue::sync::") ||
        absl::StrContains(text, "MutexLock") ||
        absl::StrContains(text, "MutexUnlock") ||
        absl::StrContains(text, "LockMutex") ||
        absl::StartsWith(text, "std::") || absl::StartsWith(text, "absl::")) {
      continue;
    }
    absl::StrAppend(&result, "\n      ", text);
    if (++printed == most) break;
  }
  return result;
}

}  // namespace

void Acquire(std::atomic<uint32_t>* word) {
  while (word->exchange(0) == 0) {
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, 0, nullptr, nullptr, 0);
  }
}

void Release(std::atomic<uint32_t>* word) {
  word->store(1);
  syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

Scheduler::Scheduler(Record* record) : record_(record) {}

Scheduler* Scheduler::Current() { return current_scheduler; }
SimThread* Scheduler::Self() { return current_thread; }

void Scheduler::Run(const Options& options, bool verbose, Strategy* strategy,
                    absl::FunctionRef<void()> body) {
  options_ = options;
  verbose_ = verbose;
  strategy_ = strategy;
  threads_.clear();
  objects_.clear();
  now_ = 0;
  steps_ = 0;
  no_points_ = 0;
  events_ = 0;
  switches_ = 0;
  record_->num_choices.store(0, std::memory_order_relaxed);
  running_ = Start([body] { body(); });
  Release(&running_->go_);
  Acquire(&over_);
  record_->steps.fetch_add(steps_, std::memory_order_relaxed);
  record_->switches.fetch_add(switches_, std::memory_order_relaxed);
  record_->schedules.fetch_add(1, std::memory_order_relaxed);
}

SimThread* Scheduler::Start(absl::AnyInvocable<void() &&> function) {
  const MemoryMayRunOut spared(false);
  // Always the same thread for the same place, so that a schedule does not
  // depend on those before.
  if (threads_.size() == pool_.size()) {
    pool_.push_back(std::make_unique<SimThread>());
    std::thread([this, thread = pool_.back().get()] {
      ThreadMain(thread);
    }).detach();
  }
  SimThread* const thread = pool_[threads_.size()].get();
  thread->id_ = static_cast<int>(threads_.size());
  thread->function_ = std::move(function);
  thread->ended_ = false;
  thread->wait_ = Wait::kNothing;
  thread->deadline_ = kNever;
  thread->ready_ = nullptr;
  threads_.push_back(thread);
  strategy_->OnThread(thread->id_);
  return thread;
}

void Scheduler::ThreadMain(SimThread* self) {
  current_scheduler = this;
  current_thread = self;
  self->os_id_ = static_cast<int>(syscall(SYS_gettid));
  while (true) {
    Acquire(&self->go_);
    std::move(self->function_)();
    self->function_ = nullptr;
    OnThreadEnd(self);
  }
}

void Scheduler::OnThreadEnd(SimThread* self) {
  Drain(self);
  Trace("ends", nullptr);
  self->ended_ = true;
  SimThread* const next = Next(ChoiceKind::kThread, /*self_ready=*/false);
  if (next == nullptr) {
    Release(&over_);
    return;
  }
  ++switches_;
  running_ = next;
  Release(&next->go_);
}

bool Scheduler::IsEnabled(const SimThread& thread) const {
  if (thread.ended_) return false;
  if (thread.wait_ == Wait::kNothing) return true;
  if (thread.wait_ == Wait::kIdle) return false;
  return (*thread.ready_)();
}

int64_t Scheduler::NextDeadline() const {
  int64_t next = kNever;
  for (const SimThread* thread : threads_) {
    if (!thread->ended_ && thread->deadline_ > now_) {
      next = std::min(next, thread->deadline_);
    }
  }
  return next;
}

void Scheduler::PassTime() {
  for (SimThread* thread : threads_) Drain(thread);
  now_ = NextDeadline();
  if (verbose_) {
    fprintf(stderr, "%8llu  the time is %lld ns\n",
            static_cast<unsigned long long>(steps_),  // NOLINT(runtime/int)
            static_cast<long long>(now_));            // NOLINT(runtime/int)
  }
}

SimThread* Scheduler::Next(ChoiceKind kind, bool self_ready) {
  if (++steps_ > options_.max_steps) {
    Fail(absl::StrCat("more than ", options_.max_steps,
                      " steps: a livelock, or an endless scenario"));
  }
  while (true) {
    candidates_.clear();
    if (self_ready && kind == ChoiceKind::kThread) {
      candidates_.push_back(running_->id_);
    }
    SimThread* idle = nullptr;
    bool all_ended = true;
    // The ones after this first, so that who yields is fair by default.
    const size_t count = threads_.size();
    const size_t first = kind == ChoiceKind::kYield ? running_->id_ + 1 : 0;
    for (size_t i = 0; i < count; ++i) {
      SimThread* const thread = threads_[(first + i) % count];
      if (thread == running_ && self_ready) continue;
      if (thread->ended_) continue;
      all_ended = false;
      if (thread->wait_ == Wait::kIdle) idle = thread;
      if (IsEnabled(*thread)) candidates_.push_back(thread->id_);
    }
    if (candidates_.empty()) {
      if (all_ended && !self_ready) return nullptr;
      if (idle != nullptr) {
        idle->wait_ = Wait::kNothing;
        return idle;
      }
      if (NextDeadline() != kNever) {
        PassTime();
        continue;
      }
      if (self_ready) return running_;
      Fail("a deadlock: no thread can go on");
    }
    constexpr int64_t kHour = int64_t{3600} * 1000000000;
    if (options_.time_passes && idle == nullptr &&
        NextDeadline() - now_ <= kHour) {
      candidates_.push_back(-1);
    }
    const int chosen = ChooseThread(kind, candidates_,
                                    self_ready && kind == ChoiceKind::kThread);
    if (candidates_[chosen] != -1) return threads_[candidates_[chosen]];
    PassTime();
  }
}

void Scheduler::HandOver(SimThread* next) {
  if (next == running_) return;
  ++switches_;
  SimThread* const self = running_;
  running_ = next;
  Release(&next->go_);
  Acquire(&self->go_);
}

void Scheduler::Point(const char* what, const void* object) {
  if (no_points_ > 0) return;
  const MemoryMayRunOut spared(false);
  if (delayed_ > 0) DrainSome();
  HandOver(Next(ChoiceKind::kThread, /*self_ready=*/true));
  Trace(what, object);
}

void Scheduler::YieldPoint() {
  const MemoryMayRunOut spared(false);
  Drain();
  Trace("yields", nullptr);
  HandOver(Next(ChoiceKind::kYield, /*self_ready=*/true));
}

void Scheduler::Block(Wait wait, const void* object, int64_t deadline,
                      absl::FunctionRef<bool()> ready) {
  const MemoryMayRunOut spared(false);
  Drain();
  SimThread* const self = running_;
  Trace(NameOf(wait), object);
  self->wait_ = wait;
  self->object_ = object;
  self->deadline_ = deadline;
  self->ready_ = &ready;
  HandOver(Next(ChoiceKind::kThread, /*self_ready=*/false));
  self->wait_ = Wait::kNothing;
  self->deadline_ = kNever;
  self->ready_ = nullptr;
  Trace("goes on with", object);
}

void Scheduler::AwaitIdle() {
  const MemoryMayRunOut spared(false);
  Drain();
  running_->wait_ = Wait::kIdle;
  HandOver(Next(ChoiceKind::kThread, /*self_ready=*/false));
  running_->wait_ = Wait::kNothing;
}

int Scheduler::Choose(ChoiceKind kind, int count) {
  if (count < 2) return 0;
  const MemoryMayRunOut spared(false);
  return ChooseThread(kind, std::vector<int>(count), false);
}

int Scheduler::ChooseThread(ChoiceKind kind, const std::vector<int>& threads,
                            bool self_first) {
  const int count = static_cast<int>(std::min<size_t>(threads.size(), 255));
  if (count < 2) return 0;
  const int chosen = strategy_->Choose(kind, count, threads.data(), self_first);
  const uint32_t place = record_->num_choices.load(std::memory_order_relaxed);
  if (place == Record::kMaxChoices) Fail("too many choices");
  record_->choices[place] = {kind, static_cast<uint8_t>(count),
                             static_cast<uint8_t>(chosen)};
  record_->num_choices.store(place + 1, std::memory_order_relaxed);
  return chosen;
}

bool Scheduler::MemoryRunsOut() {
  if (no_points_ > 0 || Choose(ChoiceKind::kMemory, 2) == 0) return false;
  const MemoryMayRunOut spared(false);
  Trace("has no memory", nullptr);
  return true;
}

bool Scheduler::Delay(const DelayedStore& store) {
  if (!options_.store_buffers || no_points_ > 0 ||
      Choose(ChoiceKind::kBuffer, 2) == 0) {
    Drain();  // The order of a thread's stores to an object is kept.
    return false;
  }
  const MemoryMayRunOut spared(false);
  running_->delayed_.push_back(store);
  ++delayed_;
  Trace("delays its store to", store.object);
  return true;
}

const void* Scheduler::DelayedValue(const void* object) const {
  if (delayed_ == 0) return nullptr;
  const std::vector<DelayedStore>& stores = running_->delayed_;
  const auto it = std::find_if(
      stores.rbegin(), stores.rend(),
      [object](const DelayedStore& store) { return store.object == object; });
  return it == stores.rend() ? nullptr : it->value;
}

void Scheduler::Drain(SimThread* thread) {
  for (const DelayedStore& it : thread->delayed_) it.store(it.object, it.value);
  delayed_ -= thread->delayed_.size();
  thread->delayed_.clear();
}

void Scheduler::DrainSome() {
  while (delayed_ > 0) {
    // Those that may be next: a release is after what its thread has stored
    // before, and each store is after those to the same object.
    std::vector<std::pair<SimThread*, size_t>> next;
    for (SimThread* thread : threads_) {
      const std::vector<DelayedStore>& stores = thread->delayed_;
      for (size_t i = 0; i < stores.size(); ++i) {
        const bool waits =
            std::any_of(stores.begin(), stores.begin() + i,
                        [&store = stores[i]](const DelayedStore& it) {
                          return store.is_release || it.object == store.object;
                        });
        if (!waits) next.emplace_back(thread, i);
      }
    }
    const int chosen =
        Choose(ChoiceKind::kDrain, static_cast<int>(next.size()) + 1);
    if (chosen == 0) return;
    const auto [thread, place] = next[chosen - 1];
    const DelayedStore store = thread->delayed_[place];
    thread->delayed_.erase(thread->delayed_.begin() + place);
    --delayed_;
    store.store(store.object, store.value);
    if (verbose_) {
      fprintf(stderr, "%8llu  the store of thread %d to #%d happens\n",
              static_cast<unsigned long long>(steps_),  // NOLINT(runtime/int)
              thread->id_, NumberOf(store.object));
    }
  }
}

void Scheduler::Forget(const void* object) {
  if (delayed_ == 0) return;
  for (SimThread* thread : threads_) {
    std::vector<DelayedStore>& stores = thread->delayed_;
    const auto first = std::remove_if(
        stores.begin(), stores.end(),
        [object](const DelayedStore& it) { return it.object == object; });
    if (first == stores.end()) continue;
    if (thread != running_) {
      Fail("an atomic variable is destroyed before a store to it happens");
    }
    delayed_ -= stores.end() - first;
    stores.erase(first, stores.end());
  }
}

bool Scheduler::Ended(const SimThread* thread) const { return thread->ended_; }

void Scheduler::ForEachWaiter(Wait wait, const void* object,
                              absl::FunctionRef<void(SimThread*)> f) {
  for (SimThread* thread : threads_) {
    if (!thread->ended_ && thread->wait_ == wait && thread->object_ == object) {
      f(thread);
    }
  }
}

int Scheduler::NumberOf(const void* object) {
  const auto it = std::find(objects_.begin(), objects_.end(), object);
  if (it != objects_.end()) return static_cast<int>(it - objects_.begin());
  objects_.push_back(object);
  return static_cast<int>(objects_.size()) - 1;
}

void Scheduler::Trace(const char* what, const void* object) {
  if (!verbose_) return;
  std::vector<void*>& stack = running_->stack_;
  stack.resize(32);
  stack.resize(absl::GetStackTrace(stack.data(), 32, 1));
  const std::string where = Symbolized(stack, 1);
  const std::string text = absl::StrCat(
      Describe(*running_), " ", what,
      object != nullptr ? absl::StrCat(" #", NumberOf(object)) : "",
      where.empty() ? "" : absl::StrCat("  in ", where.substr(7)));
  fprintf(stderr, "%8llu  %s\n",
          static_cast<unsigned long long>(steps_),  // NOLINT(runtime/int)
          text.c_str());
}

std::string Scheduler::Describe(const SimThread& thread) const {
  std::string name;
  std::ifstream(absl::StrCat("/proc/self/task/", thread.os_id_, "/comm")) >>
      name;
  return absl::StrCat("thread ", thread.id_, " (", name, ")");
}

void Scheduler::ReportEnd(const char* reason) {
  memory_may_run_out = false;
  Report(absl::StrCat("the process ends: ", reason));
}

void Scheduler::Fail(const std::string& reason) {
  memory_may_run_out = false;
  Report(reason);
  _exit(3);
}

void Scheduler::Report(const std::string& reason) {
  std::vector<void*>& stack = running_->stack_;
  stack.resize(64);
  stack.resize(absl::GetStackTrace(stack.data(), 64, 1));
  fprintf(stderr, "\nThe simulation fails: %s\n", reason.c_str());
  for (const SimThread* thread : threads_) {
    if (thread->ended_) continue;
    std::string text = absl::StrCat("  ", Describe(*thread), " ");
    if (thread == running_ && thread->wait_ == Wait::kNothing) {
      text += "runs";
    } else {
      absl::StrAppend(&text, NameOf(thread->wait_));
      if (thread->wait_ == Wait::kJoin) {
        absl::StrAppend(&text, " thread ",
                        static_cast<const SimThread*>(thread->object_)->id_);
      } else if (thread->object_ != nullptr) {
        absl::StrAppend(&text, " #", NumberOf(thread->object_));
      }
      if (thread->deadline_ != kNever) {
        absl::StrAppend(&text, " until ", thread->deadline_, " ns");
      }
    }
    absl::StrAppend(&text, Symbolized(thread->stack_, 8));
    fprintf(stderr, "%s\n", text.c_str());
  }
  fprintf(stderr, "  the time is %lld ns, after %llu steps\n",
          static_cast<long long>(now_),              // NOLINT(runtime/int)
          static_cast<unsigned long long>(steps_));  // NOLINT(runtime/int)
  fflush(nullptr);
}

}  // namespace workqueue::simulation::internal

#endif  // WORKQUEUE_SIMULATION
