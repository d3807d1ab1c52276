// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/base/worker_pool.h"

#if defined(__linux__) || defined(__APPLE__)
#include <pthread.h>
#endif

#include <cstddef>
#include <functional>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "workqueue/base/exceptions.h"
#include "workqueue/simulation/sync.h"

namespace workqueue::internal {
namespace {

// The pool that started the current thread; null for other threads.
thread_local const WorkerPool* pool_of_thread = nullptr;

}  // namespace

void NameThisThread(absl::string_view owner, absl::string_view role) {
  constexpr size_t kMaxBytes = 15;
  if (owner.empty()) owner = "workqueue";
  [[maybe_unused]] char name[kMaxBytes + 1] = {};  // Some have no names.
  size_t size = 0;
  for (const char c : owner.substr(0, kMaxBytes - 1 - role.size())) {
    name[size++] = absl::ascii_isprint(static_cast<unsigned char>(c)) ? c : '?';
  }
  name[size++] = ':';
  for (const char c : role) name[size++] = c;
#if defined(__linux__)
  pthread_setname_np(pthread_self(), name);
#elif defined(__APPLE__)
  pthread_setname_np(name);
#endif
}

absl::Status WorkerPool::Start(size_t workers,
                               const std::function<void(size_t)>& work) {
  const bool started = internal::TryCall([&] {
    threads_.reserve(workers);
    for (size_t i = 0; i < workers; ++i) {
      threads_.emplace_back([this, work, i] {
        pool_of_thread = this;
        work(i);
        // A simulation runs other threads on this one.
        pool_of_thread = nullptr;
      });
    }
  });
  if (started) return absl::OkStatus();
  // There may be no memory for the error's message either.
  return internal::CatchAsStatus([&] {
    return absl::ResourceExhaustedError(
        absl::StrCat("only ", threads_.size(), " of ", workers,
                     " threads could be started"));
  });
}

void WorkerPool::Join() {
  for (sync::Thread& thread : threads_) thread.join();
  threads_.clear();
}

bool WorkerPool::RunsThisThread() const { return pool_of_thread == this; }

}  // namespace workqueue::internal
