// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The memory of the program. A schedule may let it run out. Freed memory is
// filled and kept for a while, so a thread that reads it finds nothing of what
// was there, and a thread that writes to it is found.

#include "test/simulation/memory.h"

#include <malloc.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <new>

#include "workqueue/simulation/simulation.h"

namespace workqueue {
namespace {

constexpr unsigned char kFreed = 0xdd;
constexpr size_t kMostKept = 1024;
// Of larger memory, the begin counts.
constexpr size_t kMostBytes = 4096;

// A ring of what was freed last.
void* kept[kMostKept];
size_t next = 0;

size_t BytesOf(void* memory) {
  const size_t size = malloc_usable_size(memory);
  return size < kMostBytes ? size : kMostBytes;
}

void CheckKept(const void* memory, size_t size) {
  const auto* const bytes = static_cast<const unsigned char*>(memory);
  for (size_t i = 0; i < size; ++i) {
    simulation::Check(bytes[i] == kFreed, "memory is written that was freed");
  }
}

void Free(void* memory) {
  if (memory == nullptr) return;
  memset(memory, kFreed, BytesOf(memory));
  void*& place = kept[next];
  next = (next + 1) % kMostKept;
  if (place != nullptr) {
    CheckKept(place, BytesOf(place));
    free(place);
  }
  place = memory;
}

void* Checked(void* memory) {
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

void CheckFreedMemory() {
  for (void* memory : kept) {
    if (memory != nullptr) CheckKept(memory, BytesOf(memory));
  }
}

}  // namespace workqueue

// The forms that the standard library, or AddressSanitizer, makes the others
// of.
void* operator new(size_t size, const std::nothrow_t&) noexcept {
  return workqueue::simulation::MemoryRunsOut() ? nullptr : malloc(size);
}
void* operator new(size_t size) {
  return workqueue::Checked(operator new(size, std::nothrow));
}
void* operator new(size_t size, std::align_val_t alignment) {
  void* memory = nullptr;
  const bool made =
      !workqueue::simulation::MemoryRunsOut() &&
      posix_memalign(&memory, static_cast<size_t>(alignment), size) == 0;
  return workqueue::Checked(made ? memory : nullptr);
}
void operator delete(void* memory) noexcept { workqueue::Free(memory); }
void operator delete(void* memory, size_t) noexcept { workqueue::Free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept {
  workqueue::Free(memory);
}
void operator delete(void* memory, size_t, std::align_val_t) noexcept {
  workqueue::Free(memory);
}
