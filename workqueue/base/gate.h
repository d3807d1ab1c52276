// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_BASE_GATE_H_
#define WORKQUEUE_BASE_GATE_H_

#include <cstddef>

#include "absl/base/thread_annotations.h"
#include "workqueue/base/mutex_lock.h"
#include "workqueue/simulation/sync.h"

namespace workqueue::internal {

// Gate
//
// Lets code that may run at any time use an object that may be gone. The object
// and that code share ownership of the gate. The code uses the object only
// inside of the gate:
//
//     if (Gate::Pass pass(gate.get())) object->Use();
//
// The destructor of the object closes the gate first.
//
// Thread-safe.
class Gate {
 public:
  Gate() = default;
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  // True if the gate was open. The gate can then not be closed while this
  // exists.
  class Pass {
   public:
    explicit Pass(Gate* gate) : gate_(gate->Enter() ? gate : nullptr) {}
    ~Pass() {
      if (gate_ != nullptr) gate_->Leave();
    }

    Pass(const Pass&) = delete;
    Pass& operator=(const Pass&) = delete;

    explicit operator bool() const { return gate_ != nullptr; }

   private:
    Gate* const gate_;
  };

  // Closes the gate, and blocks until nobody is inside. Must not be called from
  // inside.
  void Close() {
    MutexLock lock(&mu_);
    closed_ = true;
    while (inside_ > 0) empty_.Wait(&mu_);
  }

 private:
  bool Enter() {
    MutexLock lock(&mu_);
    if (closed_) return false;
    ++inside_;
    return true;
  }

  void Leave() {
    MutexLock lock(&mu_);
    if (--inside_ == 0 && closed_) empty_.SignalAll();
  }

  sync::Mutex mu_;
  sync::CondVar empty_;
  size_t inside_ ABSL_GUARDED_BY(mu_) = 0;
  bool closed_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace workqueue::internal

#endif  // WORKQUEUE_BASE_GATE_H_
