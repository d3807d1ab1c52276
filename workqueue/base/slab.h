// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_BASE_SLAB_H_
#define WORKQUEUE_BASE_SLAB_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/base/attributes.h"
#include "absl/base/optimization.h"
#include "absl/numeric/bits.h"
#include "workqueue/base/exceptions.h"
#include "workqueue/base/segmented_array.h"

namespace workqueue::internal {

// Identifies an object in a `Slab`. The id of a destroyed object is reused, so
// that ids stay small and can be indices of an array.
using SlabId = uint32_t;

// Not the id of any object.
inline constexpr SlabId kNoSlabId = (std::numeric_limits<SlabId>::max)();

// Slab
//
// This class owns objects of one type, in chunks of up to 64, and finds them by
// id. Objects that are created one after the other are neighbours in memory. An
// object keeps its address and its id.
//
// A new object gets a place in the chunk of the smallest number that has room,
// and a new chunk gets the smallest free number. So ids become small again once
// the objects of a peak are gone. A few empty chunks are kept, so that in the
// steady state nothing is allocated. The other empty chunks are freed.
//
// But a few objects that remain after a peak may keep many chunks, and large
// arrays that are indexed by id. An owner that can give objects other addresses
// and ids prevents this by compaction: after a deletion, it may move one
// object.
//
//     slab.Delete(id);
//     const bool compacted = slab.CompactIfDue([&](SlabId from) {
//       const SlabId to = slab.NextId();
//       slab.Move(from);
//       ...  // replace `from` by `to` everywhere
//     });
//     if (compacted) ...  // free memory for ids from slab.id_limit() on
//
// An object can keep memory for the next one in its place, if `E` has the two
// functions of this example. While the slab has so few chunks that it frees
// none, `Delete()` calls `KeepForReuse()`, and does not destroy the object if
// that returns true. `New()` then calls `Reuse()` with its arguments in the
// place of a constructor. `Reuse()` may throw if it leaves the object as it
// was.
//
//     bool KeepForReuse() const { return name_.capacity() < 64; }
//     void Reuse(const std::string& name) { name_ = name; }
//
// `Clear()` and `ForEach()` take time proportional to the number of chunks.
// Every other operation takes amortized constant time: at most one of 64 visits
// the pointers to all chunks.
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

  // All ids are less than this.
  size_t id_limit() const { return num_chunks_ * kChunkSize; }

  // Returns the id of the next new object. Allocates the storage of that
  // object.
  //
  // Throws `std::bad_alloc` if there is no memory, or no id left.
  SlabId NextId() {
    if (ABSL_PREDICT_FALSE(!HasRoom())) NextChunk();
    return current_->first_id +
           static_cast<SlabId>(absl::countr_zero(current_->free));
  }

  // Returns a new object. Its id is the one that `NextId()` returns before the
  // call. If constructing the object, or allocating, throws, the slab is
  // unchanged.
  template <typename... Args>
  E* New(Args&&... args) {
    if (ABSL_PREDICT_FALSE(!HasRoom())) NextChunk();
    E* const object = current_->Make(absl::countr_zero(current_->free),
                                     std::forward<Args>(args)...);
    TakePlace();
    return object;
  }

  // Moves the object of `from`, which must exist, to the id that `NextId()` has
  // returned before, and returns it.
  E* Move(SlabId from) {
    const int index = absl::countr_zero(current_->free);
    current_->DestroyKept(index);
    Chunk* const chunk = chunks_[from / kChunkSize];
    E* const source = chunk->Object(IndexOf(from));
    E* const object = ::new (current_->storage[index]) E(std::move(*source));
    TakePlace();
    source->~E();
    FreePlace(chunk, IndexOf(from));
    return object;
  }

  // Returns the object of `id`, which must exist.
  E& operator[](SlabId id) const {
    return *chunks_[id / kChunkSize]->Object(IndexOf(id));
  }

  // Returns the object of `id`, or null if there is none.
  E* Find(SlabId id) const {
    const size_t number = id / kChunkSize;
    if (number >= num_chunks_ || chunks_[number] == nullptr) return nullptr;
    const int index = IndexOf(id);
    return (chunks_[number]->free >> index) % 2 == 0
               ? chunks_[number]->Object(index)
               : nullptr;
  }

  // Destroys the object of `id`, which must exist, or keeps it as described
  // above. Throws nothing.
  void Delete(SlabId id) {
    Chunk* const chunk = chunks_[id / kChunkSize];
    chunk->Remove(IndexOf(id), num_chunks_ <= kSpareChunks);
    FreePlace(chunk, IndexOf(id));
  }

  // Returns whether the next `CompactIfDue()` does something.
  bool CompactionDue() const { return until_compaction_ <= 0; }

  // Call this after `Delete()`. Does nothing and returns false, except after
  // every 32nd deletion, and after the last one of a peak.
  //
  // If more than a fifth of the ids below `id_limit()` is then unused, and more
  // than those of a few chunks, calls `move(id)` with the id of an object.
  // `move` should replace the object by a new one, whose id is smaller and
  // whose storage has been allocated. It may refuse; the next calls are for
  // other objects. Throws nothing if `move` does not.
  //
  // While objects are only deleted, one that moved would probably be deleted
  // soon. So objects move only if new objects have been made since ids became
  // unused, or if most ids are unused.
  template <typename F>
  bool CompactIfDue(F move) {
    if (ABSL_PREDICT_TRUE(!CompactionDue())) return false;
    Compact(move);
    return true;
  }

  // Destroys all objects, and frees the memory.
  void Clear() {
    for (size_t number = 0; number < num_chunks_; ++number) {
      delete chunks_[number];
    }
    for (Chunk* chunk = spare_; chunk != nullptr;) {
      delete std::exchange(chunk, chunk->next_spare);
    }
    chunks_.Clear();
    std::vector<uint64_t>().swap(with_room_);
    current_ = spare_ = nullptr;
    num_chunks_ = spare_chunks_ = size_ = first_word_ = 0;
    until_compaction_ = 0;
  }

  // Calls `visit(E*)` for each object, in the order of their ids. `visit` may
  // delete the object that it is called for, by its id.
  template <typename F>
  void ForEach(F visit) const {
    for (size_t number = 0; number < num_chunks_; ++number) {
      Chunk* const chunk = chunks_[number];
      if (chunk == nullptr) continue;
      for (uint64_t left = chunk->used(); left != 0; left &= left - 1) {
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
  static constexpr int64_t kDeletionsPerMove = 32;

  template <typename T, typename = void>
  struct HasReuse : std::false_type {};
  template <typename T>
  struct HasReuse<T, std::void_t<decltype(std::declval<T&>().KeepForReuse())>>
      : std::true_type {};

  struct Chunk {
    ~Chunk() {
      for (uint64_t left = used() | kept; left != 0; left &= left - 1) {
        Object(absl::countr_zero(left))->~E();
      }
    }

    // Makes an object in a free place.
    template <typename... Args>
    E* Make(int index, Args&&... args) {
      if constexpr (HasReuse<E>::value) {
        if (IsKept(index)) {
          Object(index)->Reuse(std::forward<Args>(args)...);
          kept -= uint64_t{1} << index;
          return Object(index);
        }
      }
      return ::new (storage[index]) E(std::forward<Args>(args)...);
    }

    // Destroys an object or, if `may_keep`, keeps it if it wants to be kept.
    // The place is not free yet.
    void Remove(int index, [[maybe_unused]] bool may_keep) {
      if constexpr (HasReuse<E>::value) {
        if (may_keep && Object(index)->KeepForReuse()) {
          kept |= uint64_t{1} << index;
          return;
        }
      }
      Object(index)->~E();
    }

    // Destroys the object in a free place, if there is one.
    void DestroyKept(int index) {
      if (!IsKept(index)) return;
      kept -= uint64_t{1} << index;
      Object(index)->~E();
    }

    bool IsKept(int index) const { return (kept >> index) % 2 != 0; }

    E* Object(int index) { return reinterpret_cast<E*>(storage[index]); }

    // A bit for each object.
    uint64_t used() const { return ~free & kAllFree; }

    size_t number() const { return first_id / kChunkSize; }

    uint64_t free = kAllFree;  // a bit for each place
    uint64_t kept = 0;         // a bit for each free place with an object
    SlabId first_id = 0;       // unless the chunk is spare
    Chunk* next_spare = nullptr;
    alignas(E) char storage[kChunkSize][sizeof(E)];
  };

  static int IndexOf(SlabId id) { return static_cast<int>(id % kChunkSize); }

  bool HasRoom() const { return current_ != nullptr && current_->free != 0; }

  // Takes the first free place of current_, where an object has been made.
  void TakePlace() {
    current_->free &= current_->free - 1;
    ++size_;
    ++made_;
  }

  // Frees a place whose object has been destroyed or is kept.
  void FreePlace(Chunk* chunk, int index) {
    if (ABSL_PREDICT_FALSE(chunk->free == 0)) ChunkHasRoom(chunk);
    chunk->free |= uint64_t{1} << index;
    --size_;
    --until_compaction_;
    if (chunk->free == kAllFree && num_chunks_ > kSpareChunks) {
      ChunkIsEmpty(chunk);
    }
  }

  // Adds `number` to with_room_.
  void AddWithRoom(size_t number) {
    with_room_[number / 64] |= uint64_t{1} << (number % 64);
    first_word_ = (std::min)(first_word_, number / 64);
  }

  // Returns the smallest number in with_room_; num_chunks_ if there is none.
  size_t FirstWithRoom() {
    for (; first_word_ < with_room_.size(); ++first_word_) {
      const uint64_t word = with_room_[first_word_];
      if (word != 0)
        return first_word_ * 64 + static_cast<size_t>(absl::countr_zero(word));
    }
    return num_chunks_;
  }

  // Handles that a place of `chunk`, which was full, becomes free.
  ABSL_ATTRIBUTE_NOINLINE void ChunkHasRoom(Chunk* chunk) {
    if (chunk != current_) AddWithRoom(chunk->number());
  }

  // Makes current_ the chunk of the smallest number that has room.
  ABSL_ATTRIBUTE_NOINLINE void NextChunk() {
    const size_t number = FirstWithRoom();
    if (number == num_chunks_) {
      AddChunk();
    } else {
      if (chunks_[number] == nullptr) chunks_[number] = NewChunk(number);
      with_room_[number / 64] &= ~(uint64_t{1} << (number % 64));
    }
    Chunk* const before = std::exchange(current_, chunks_[number]);
    if (before == nullptr || before->free == 0) return;
    AddWithRoom(before->number());
    if (before->free == kAllFree) ChunkIsEmpty(before);
  }

  // Makes a chunk of the next number.
  void AddChunk() {
    if (num_chunks_ == kMaxObjects / kChunkSize) ThrowBadAlloc();
    chunks_.Reserve(num_chunks_ + 1);
    with_room_.resize(num_chunks_ / 64 + 1);
    chunks_[num_chunks_] = NewChunk(num_chunks_);
    ++num_chunks_;
  }

  Chunk* NewChunk(size_t number) {
    Chunk* chunk = spare_;
    if (chunk == nullptr) {
      chunk = new Chunk;
    } else {
      spare_ = chunk->next_spare;
      --spare_chunks_;
    }
    chunk->first_id = static_cast<SlabId>(number * kChunkSize);
    return chunk;
  }

  // Handles that `chunk` has become empty: keeps it or frees it.
  ABSL_ATTRIBUTE_NOINLINE void ChunkIsEmpty(Chunk* chunk) {
    if (size_ == 0) {
      Clear();
      return;
    }
    if (chunk == current_) {
      // It is the next one in any case if no smaller number has room.
      if (FirstWithRoom() > chunk->number()) return;
      AddWithRoom(chunk->number());
      current_ = nullptr;
    }
    chunks_[chunk->number()] = nullptr;
    if (spare_chunks_ < kSpareChunks) {
      chunk->next_spare = std::exchange(spare_, chunk);
      ++spare_chunks_;
    } else {
      delete chunk;
    }
    while (chunks_[num_chunks_ - 1] == nullptr) --num_chunks_;
    chunks_.Shrink(num_chunks_);
    // The numbers from num_chunks_ on leave with_room_.
    with_room_.resize((num_chunks_ + 63) / 64);
    with_room_.back() &= ~uint64_t{0} >> ((64 - num_chunks_ % 64) % 64);
  }

  template <typename F>
  ABSL_ATTRIBUTE_NOINLINE void Compact(F move) {
    const SlabId id = NextToMove();
    if (id != kNoSlabId) move(id);
  }

  // Returns the id of an object to move; `kNoSlabId` if none should move.
  SlabId NextToMove() {
    constexpr size_t kSpare = kSpareChunks * kChunkSize;
    until_compaction_ = kDeletionsPerMove;
    if (id_limit() <= size_ + size_ / 4 + kSpare) {
      made_ = 0;
      return kNoSlabId;
    }
    if (made_ < kDeletionsPerMove && id_limit() <= 16 * size_ + kSpare) {
      return kNoSlabId;
    }
    made_ -= (std::min)(made_, kDeletionsPerMove);
    return FindToMove();
  }

  // Returns the id of the next object to move; `kNoSlabId` if none is found
  // soon. Goes from the largest id to the smallest, and begins again.
  ABSL_ATTRIBUTE_NOINLINE SlabId FindToMove() {
    // current_ becomes the chunk to move objects to.
    if (!HasRoom() || FirstWithRoom() < current_->number()) {
      if (!TryCall([this] { NextChunk(); })) return kNoSlabId;
    }
    move_before_ = (std::min)(move_before_, id_limit());
    for (int steps = 0; steps < 8; ++steps) {
      const size_t number = (move_before_ - 1) / kChunkSize;
      if (move_before_ == 0 || number <= current_->number()) {
        move_before_ = (std::numeric_limits<size_t>::max)();
        return kNoSlabId;
      }
      const size_t end = move_before_ - number * kChunkSize;
      const uint64_t used = chunks_[number] == nullptr
                                ? 0
                                : chunks_[number]->used() << (64 - end);
      if (used != 0) {
        move_before_ -= static_cast<size_t>(absl::countl_zero(used)) + 1;
        return static_cast<SlabId>(move_before_);
      }
      move_before_ = number * kChunkSize;
    }
    return kNoSlabId;
  }

  // The members that every call uses come last, next to each other.

  // A bit for each number: set for the chunks that have room, except for
  // current_, and for the null pointers.
  std::vector<uint64_t> with_room_;
  size_t first_word_ = 0;   // The words before this one are zero.
  Chunk* spare_ = nullptr;  // a list of empty chunks
  size_t spare_chunks_ = 0;
  // The next object to move is one with a smaller id.
  size_t move_before_ = (std::numeric_limits<size_t>::max)();
  // By number, num_chunks_ of them. Null where there is no chunk; the last one
  // is not null.
  size_t num_chunks_ = 0;
  SegmentedArray<Chunk*> chunks_;
  Chunk* current_ = nullptr;  // where the next object goes, if there is room
  size_t size_ = 0;
  int64_t until_compaction_ = kDeletionsPerMove;  // the number of deletions
  // The number of objects made since few ids were unused, less
  // `kDeletionsPerMove` for each that has moved since then.
  int64_t made_ = 0;
};

}  // namespace workqueue::internal

#endif  // WORKQUEUE_BASE_SLAB_H_
