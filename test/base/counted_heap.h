// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Replaces `operator new` by one that counts allocations and fails on demand.
// Only one source of a program may include this header, because it defines
// `operator new`.

#ifndef WORKQUEUE_TEST_BASE_COUNTED_HEAP_H_
#define WORKQUEUE_TEST_BASE_COUNTED_HEAP_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>

#include "absl/base/config.h"

namespace workqueue {

// CountedHeap
//
// This class counts the allocations of all threads of the program, and makes
// allocations fail.
class CountedHeap {
 public:
  inline static std::atomic<int64_t> allocations{0};
  inline static std::atomic<int64_t> blocks_in_use{0};
  inline static std::atomic<int64_t> bytes_in_use{0};
  // The size of the largest block. A test with one thread may reset it.
  inline static std::atomic<int64_t> largest_block{0};

  // Whether every allocation of this thread fails.
  inline static thread_local bool exhausted = false;

  // If positive, the allocation of this thread with this number from now on
  // fails.
  inline static thread_local int64_t until_failure_here = 0;

  // Makes `n` allocations fail, from the `first`th one from now on. Counts the
  // allocations of all threads that are not `spared`.
  static void Fail(int64_t first, int64_t n) {
    failing_ = n;
    until_failure_ = first;
  }

  // Ends the effect of `Fail()`. Returns whether an allocation has failed.
  static bool StopFailing() { return until_failure_.exchange(0) < 0; }

  // Whether `Fail()` neither counts nor affects the allocations of this thread.
  inline static thread_local bool spared = false;

  static void* Allocate(size_t size, size_t alignment = kAlignment) {
#ifdef ABSL_HAVE_EXCEPTIONS
    if (exhausted || Fails()) throw std::bad_alloc();
#endif
    return AllocateBlock(size, alignment);
  }

  // Allocates memory. Returns null on failure.
  static void* AllocateOrNull(size_t size) noexcept {
    return exhausted || Fails() ? nullptr : AllocateBlock(size, kAlignment);
  }

  static void Deallocate(void* p) {
    if (p == nullptr) return;
    const Header header = static_cast<Header*>(p)[-1];
    --blocks_in_use;
    bytes_in_use -= static_cast<int64_t>(header.size);
    std::free(header.memory);
  }

 private:
  // Stands before each block.
  struct Header {
    void* memory;  // what malloc() has returned
    size_t size;
  };

  // The least alignment, which malloc() has, too.
  static constexpr size_t kAlignment = __STDCPP_DEFAULT_NEW_ALIGNMENT__;
  static_assert(kAlignment >= sizeof(Header), "");

  // Not every system has std::aligned_alloc().
  static void* AllocateBlock(size_t size, size_t alignment) {
    char* const memory = static_cast<char*>(std::malloc(size + alignment));
    if (memory == nullptr) std::abort();
    char* const block =
        memory + (alignment - reinterpret_cast<uintptr_t>(memory) % alignment);
    ::new (block - sizeof(Header)) Header{memory, size};
    ++allocations;
    ++blocks_in_use;
    if (static_cast<int64_t>(size) > largest_block) largest_block = size;
    bytes_in_use += static_cast<int64_t>(size);
    return block;
  }

  static bool Fails() {
    if (until_failure_here > 0 && --until_failure_here == 0) return true;
    if (spared || until_failure_ == 0) return false;
    // Zero means that no failure is requested.
    if (until_failure_ > 0 && --until_failure_ > 0) return false;
    if (until_failure_ == 0) until_failure_ = -1;
    return failing_-- > 0;
  }

  // negative: the first failure has happened
  inline static std::atomic<int64_t> until_failure_{0};
  inline static std::atomic<int64_t> failing_{0};
};

}  // namespace workqueue

void* operator new(size_t size) {
  return workqueue::CountedHeap::Allocate(size);
}
void* operator new[](size_t size) {
  return workqueue::CountedHeap::Allocate(size);
}
void* operator new(size_t size, const std::nothrow_t&) noexcept {
  return workqueue::CountedHeap::AllocateOrNull(size);
}
void* operator new(size_t size, std::align_val_t alignment) {
  return workqueue::CountedHeap::Allocate(size, static_cast<size_t>(alignment));
}
void* operator new[](size_t size, std::align_val_t alignment) {
  return workqueue::CountedHeap::Allocate(size, static_cast<size_t>(alignment));
}
void operator delete(void* p) noexcept {
  workqueue::CountedHeap::Deallocate(p);
}
void operator delete[](void* p) noexcept {
  workqueue::CountedHeap::Deallocate(p);
}
void operator delete(void* p, const std::nothrow_t&) noexcept {
  workqueue::CountedHeap::Deallocate(p);
}
void operator delete(void* p, size_t) noexcept {
  workqueue::CountedHeap::Deallocate(p);
}
void operator delete[](void* p, size_t) noexcept {
  workqueue::CountedHeap::Deallocate(p);
}
void operator delete(void* p, std::align_val_t) noexcept {
  workqueue::CountedHeap::Deallocate(p);
}
void operator delete[](void* p, std::align_val_t) noexcept {
  workqueue::CountedHeap::Deallocate(p);
}
void operator delete(void* p, size_t, std::align_val_t) noexcept {
  workqueue::CountedHeap::Deallocate(p);
}
void operator delete[](void* p, size_t, std::align_val_t) noexcept {
  workqueue::CountedHeap::Deallocate(p);
}

#endif  // WORKQUEUE_TEST_BASE_COUNTED_HEAP_H_
