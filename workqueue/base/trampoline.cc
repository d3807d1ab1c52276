// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/base/trampoline.h"

#include <new>
#include <utility>

#include "workqueue/base/fifo.h"

namespace workqueue::internal {

struct Trampoline::State {
  Running* innermost = nullptr;
  Fifo<Deferred> deferred;
};

Trampoline::State& Trampoline::OfThread() {
#ifdef __MINGW32__
  // There, gcc frees the memory of a thread's variables before it destroys them
  // (its bug 80816). So nothing destroys this one, and `Running` frees what it
  // has.
  union Lasting {
    Lasting() : state() {}
    ~Lasting() {}
    State state;
  };
  thread_local Lasting lasting;
  return lasting.state;
#else
  thread_local State state;
  return state;
#endif
}

Trampoline::Running::Running(const void* kind)
    : kind_(kind), outer_(std::exchange(OfThread().innermost, this)) {}

Trampoline::Running::~Running() {
  State& state = OfThread();
  if (outer_ == nullptr) {
    kind_ = nullptr;  // The task has returned. But this stays the outermost.
    while (!state.deferred.empty()) {
      Deferred next = state.deferred.Pop();
      next.run(next.executor, std::move(next.task));
    }
#ifdef __MINGW32__
    state.deferred.~Fifo();
    new (&state.deferred) Fifo<Deferred>;
#endif
  }
  state.innermost = outer_;
}

bool Trampoline::Runs(const void* kind) {
  const Running* running = OfThread().innermost;
  while (running != nullptr && running->kind_ != kind) {
    running = running->outer_;
  }
  return running != nullptr;
}

void Trampoline::Defer(RunFunction run, void* executor, Task&& task) {
  OfThread().deferred.Push({run, executor, std::move(task)});
}

void Trampoline::RunDeferred() {
  Running*& innermost = OfThread().innermost;
  Running* const hidden = std::exchange(innermost, nullptr);
  { const Running nothing(nullptr); }  // Its end runs them.
  innermost = hidden;
}

}  // namespace workqueue::internal
