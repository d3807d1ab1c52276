// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Memory that is freed is filled, so that who uses it later finds nothing of
// what was there.

#include <malloc.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <new>

namespace {

void Free(void* memory) {
  if (memory == nullptr) return;
  constexpr int kFreed = 0xdd;
  memset(memory, kFreed, malloc_usable_size(memory));
  free(memory);
}

}  // namespace

void operator delete(void* memory) noexcept { Free(memory); }
void operator delete(void* memory, size_t) noexcept { Free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { Free(memory); }
void operator delete(void* memory, size_t, std::align_val_t) noexcept {
  Free(memory);
}
