// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// workqueue/internal/slab.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_INTERNAL_SLAB_H_
#define WORKQUEUE_INTERNAL_SLAB_H_

#include <cstddef>
#include <cstdint>
#include <limits>
#include <new>
#include <utility>
#include <vector>

#include "absl/base/attributes.h"
#include "absl/base/optimization.h"
#include "absl/numeric/bits.h"
#include "workqueue/internal/exceptions.h"
#include "workqueue/internal/intrusive_list.h"

namespace workqueue {
namespace internal {

// Identifies an object in a `Slab`. The id of a destroyed object is reused, so
// that ids stay small and can be indices of an array.
using SlabId = uint32_t;

// Not the id of any object.
inline constexpr SlabId kNoSlabId = std::numeric_limits<SlabId>::max();

// Slab
//
// This class owns objects of one type, in chunks of up to 64, and finds them by
// id. An object never moves. Objects that are created one after the other are
// neighbours in memory.
//
// Every operation but `Clear()` and `ForEach()` takes constant time. A few
// empty chunks are kept, so that in the steady state nothing is allocated. The
// other empty chunks are freed.
//
// A slab has at most `kMaxObjects` objects.
//
// Not thread-safe.
template <typename E, SlabId kMaxObjects = kNoSlabId>
class Slab {
 public:
  Slab() = default;
  Slab(const Slab&) = delete;
  Slab& operator=(const Slab&) = delete;

  ~Slab() { Clear(); }

  size_t size() const { return size_; }

  // Returns the id of the next new object. Allocates the storage of that
  // object.
  //
  // Throws `std::bad_alloc` if there is no memory, or no id left.
  SlabId NextId() {
    if (ABSL_PREDICT_FALSE(with_room_.empty())) AddChunk();
    const Chunk* const chunk = with_room_.front();
    return IdOf(chunk->number, absl::countr_zero(chunk->free));
  }

  // Returns a new object. Its id is the one that `NextId()` returns before the
  // call. If constructing the object, or allocating, throws, the slab is
  // unchanged.
  template <typename... Args>
  E* New(Args&&... args) {
    const SlabId id = NextId();
    Chunk* const chunk = with_room_.front();
    E* const object =
        ::new (chunk->storage[IndexOf(id)]) E(std::forward<Args>(args)...);
    if (chunk->free == kAllFree) --empty_chunks_;
    chunk->free &= chunk->free - 1;  // The first free place is taken.
    if (chunk->free == 0) with_room_.Remove(chunk);
    ++size_;
    return object;
  }

  // Returns the object of `id`, which must exist.
  E& operator[](SlabId id) const {
    return *chunks_[id / kChunkSize]->Object(IndexOf(id));
  }

  // Returns the object of `id`, or null if there is none.
  E* Find(SlabId id) const {
    const size_t number = id / kChunkSize;
    if (number >= chunks_.size() || chunks_[number] == nullptr) return nullptr;
    const int index = IndexOf(id);
    return (chunks_[number]->free >> index) % 2 == 0
               ? chunks_[number]->Object(index)
               : nullptr;
  }

  // Destroys the object of `id`, which must exist.
  void Delete(SlabId id) {
    Chunk* const chunk = chunks_[id / kChunkSize];
    chunk->Object(IndexOf(id))->~E();
    if (chunk->free == 0) with_room_.PushFront(chunk);
    chunk->free |= uint64_t{1} << IndexOf(id);
    --size_;
    if (chunk->free == kAllFree) ChunkIsEmpty(chunk);
  }

  // Destroys all objects, and frees the memory.
  void Clear() {
    ForEach([](E* object) { object->~E(); });
    for (Chunk* chunk : chunks_) delete chunk;
    std::vector<Chunk*>().swap(chunks_);
    std::vector<uint32_t>().swap(free_numbers_);
    with_room_.Clear();
    empty_chunks_ = 0;
    size_ = 0;
  }

  // Calls `visit(E*)` for each object, in the order of their ids. `visit` may
  // delete the object that it is called for, by its id.
  template <typename F>
  void ForEach(F visit) const {
    for (size_t number = 0; number < chunks_.size(); ++number) {
      Chunk* const chunk = chunks_[number];
      if (chunk == nullptr) continue;
      for (uint64_t left = ~chunk->free & kAllFree; left != 0;
           left &= left - 1) {
        visit(chunk->Object(absl::countr_zero(left)));
      }
    }
  }

 private:
  // A chunk has as many objects as fit into 4 KB, but no more than a word has
  // bits.
  static constexpr size_t ChunkSize() {
    size_t size = 64;
    while (size > 1 && size * sizeof(E) > 4096) size /= 2;
    return size;
  }
  static constexpr size_t kChunkSize = ChunkSize();
  static constexpr uint64_t kAllFree = ~uint64_t{0} >> (64 - kChunkSize);
  static constexpr size_t kSpareChunks = 4;

  struct Chunk : IntrusiveLink<Chunk> {
    explicit Chunk(uint32_t n) : number(n) {}

    E* Object(int index) { return reinterpret_cast<E*>(storage[index]); }

    const uint32_t number;     // in chunks_
    uint64_t free = kAllFree;  // a bit for each place
    alignas(E) char storage[kChunkSize][sizeof(E)];
  };

  static SlabId IdOf(uint32_t number, int index) {
    return static_cast<SlabId>(number * kChunkSize + index);
  }

  static int IndexOf(SlabId id) { return static_cast<int>(id % kChunkSize); }

  ABSL_ATTRIBUTE_NOINLINE void AddChunk() {
    // Reserves memory here, so that freeing a chunk does not throw.
    if (free_numbers_.capacity() <= chunks_.size()) {
      free_numbers_.reserve(2 * chunks_.size() + 1);
    }
    if (free_numbers_.empty()) {
      if (chunks_.size() == kMaxObjects / kChunkSize) ThrowBadAlloc();
      chunks_.push_back(nullptr);
      free_numbers_.push_back(static_cast<uint32_t>(chunks_.size() - 1));
    }
    const uint32_t number = free_numbers_.back();
    chunks_[number] = new Chunk(number);
    free_numbers_.pop_back();
    with_room_.PushFront(chunks_[number]);
    ++empty_chunks_;
  }

  // Handles that `chunk` has become empty: keeps it or frees it.
  void ChunkIsEmpty(Chunk* chunk) {
    ++empty_chunks_;
    if (chunks_.size() <= kSpareChunks) return;
    if (size_ == 0) {
      Clear();  // Ids start at zero again.
    } else if (empty_chunks_ > kSpareChunks) {
      with_room_.Remove(chunk);
      --empty_chunks_;
      chunks_[chunk->number] = nullptr;
      free_numbers_.push_back(chunk->number);
      delete chunk;
    }
  }

  std::vector<Chunk*> chunks_;  // null where a chunk has been freed
  std::vector<uint32_t> free_numbers_;
  IntrusiveList<Chunk> with_room_;  // the chunks that are not full
  size_t empty_chunks_ = 0;
  size_t size_ = 0;
};

}  // namespace internal
}  // namespace workqueue

#endif  // WORKQUEUE_INTERNAL_SLAB_H_
