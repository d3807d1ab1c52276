// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The memory of the program, which a schedule may let run out.

#include <cstddef>
#include <cstdlib>
#include <new>

#include "workqueue/simulation/simulation.h"

namespace {

void* Checked(void* memory) {
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

// The forms that the standard library, or AddressSanitizer, makes the others
// of.
void* operator new(size_t size, const std::nothrow_t&) noexcept {
  return workqueue::simulation::MemoryRunsOut() ? nullptr : malloc(size);
}
void* operator new(size_t size) {
  return Checked(operator new(size, std::nothrow));
}
void* operator new(size_t size, std::align_val_t alignment) {
  void* memory = nullptr;
  const bool made =
      !workqueue::simulation::MemoryRunsOut() &&
      posix_memalign(&memory, static_cast<size_t>(alignment), size) == 0;
  return Checked(made ? memory : nullptr);
}
void operator delete(void* memory) noexcept { free(memory); }
void operator delete(void* memory, size_t) noexcept { free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { free(memory); }
void operator delete(void* memory, size_t, std::align_val_t) noexcept {
  free(memory);
}
