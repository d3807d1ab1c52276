// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_BASE_HASH_INDEX_H_
#define WORKQUEUE_BASE_HASH_INDEX_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/base/attributes.h"
#include "absl/base/optimization.h"
#include "absl/numeric/bits.h"
#include "absl/types/span.h"
#include "workqueue/base/exceptions.h"
#include "workqueue/base/segmented_array.h"
#include "workqueue/base/slab.h"

namespace workqueue::internal {

// Begins to fetch the line at `address` into the cache, and does not wait for
// it. The address may be invalid. (Abseil's function has another header in
// each version.)
//
// A function that does nothing else must be inline always: gcc drops the calls
// of others, because they have no effect.
ABSL_ATTRIBUTE_ALWAYS_INLINE inline void Prefetch(const void* address) {
#ifdef __GNUC__
  __builtin_prefetch(address);
#else
  (void)address;
#endif
}

// HashIndex
//
// This class is a hash table of the ids of a slab's objects. It requires hashes
// of 32 bits that are spread evenly. Several ids may have the same hash: the
// predicate of `Find()` distinguishes them.
//
// Example:
//
//     const HashIndex::Position position = ids.Find(hash, is_it);
//     if (!position.found) {
//       ids.Insert(ids.PrepareInsert(hash, position), hash, id);
//     }
//
// No call moves more than some thousand ids, so a table of millions grows and
// shrinks without a pause. The table consists of segments, which are small
// tables. The low bits of a hash select the segment. The number of segments
// grows and shrinks by one at a time: a new segment takes its ids from one
// other segment (linear hashing; W. Litwin, "Linear hashing: a new tool for
// file and table addressing", 1980).
//
// The ids in a segment are sorted by hash. Each hash has a home slot. An id is
// in that slot or as close behind it as the order of the ids permits (ordered
// linear probing; O. Amble and D. E. Knuth, "Ordered hash tables", 1974). So a
// search ends within a cache line or two, whether or not it finds an id.
// Erasing leaves no tombstone.
//
// The table takes 10 to 15 bytes for each id, or up to 27 bytes and 64 KB if
// ids have been erased. A small table takes up to 8 KB. If allocating throws,
// the table is unchanged. (An Abseil hash table is left corrupted.)
//
// Not thread-safe.
class HashIndex {
 private:
  struct Slot {
    bool empty() const { return id == kNoSlabId; }

    // In an empty slot, all bits are set: it has the greatest hash.
    uint32_t hash;
    SlabId id;
  };

 public:
  HashIndex() = default;
  HashIndex(const HashIndex&) = delete;
  HashIndex& operator=(const HashIndex&) = delete;

  size_t size() const { return size_; }

  // The slot of an id, or the one where it would be inserted. Valid until the
  // next change.
  struct Position {
    size_t segment;
    Slot* slot;
    bool found;
  };

  // Finds the id of hash `hash` for which `is_it(id)` is true.
  template <typename F>
  ABSL_ATTRIBUTE_ALWAYS_INLINE Position Find(uint32_t hash, F is_it) const {
    if (segments_.empty()) return {0, nullptr, false};
    const size_t number = SegmentOf(hash);
    const Segment& segment = segments_[number];
    Slot* slot = &segment.slots[segment.HomeOf(hash)];
    // In a large table, the number of steps is hard to predict. A search seldom
    // takes more than these.
    if (mask_ != 0) {
      slot += size_t{slot[0].hash < hash} + size_t{slot[1].hash < hash} +
              size_t{slot[2].hash < hash} + size_t{slot[3].hash < hash};
    }
    while (slot->hash < hash) ++slot;
    for (; slot->hash == hash && !slot->empty(); ++slot) {
      if (is_it(slot->id)) return {number, slot, true};
    }
    return {number, slot, false};
  }

  // Fetches the slot of `hash` into the cache, for the next `Find()`.
  ABSL_ATTRIBUTE_ALWAYS_INLINE void Prefetch(uint32_t hash) const {
    if (segments_.empty()) return;
    const Segment& segment = segments_[SegmentOf(hash)];
    internal::Prefetch(&segment.slots[segment.HomeOf(hash)]);
  }

  // Returns the id at `position`, where `Find()` has found one.
  SlabId operator[](Position position) const { return position.slot->id; }

  // The slot for a new id. Valid until the next change.
  struct InsertPosition {
    size_t segment;
    Slot* slot;
    Slot* empty;  // the first empty slot at or after `slot`
  };

  // Makes room for an id of hash `hash`. `Find()` has returned `position` for
  // it. Throws `std::bad_alloc` if there is no memory.
  InsertPosition PrepareInsert(uint32_t hash, Position position) {
    if (ABSL_PREDICT_TRUE(size_ < max_size_)) {
      const Segment& segment = segments_[position.segment];
      if (ABSL_PREDICT_TRUE(segment.size < segment.max_size)) {
        Slot* const empty = FirstEmpty(position.slot);
        // The last slot stays empty, so that each search ends.
        if (ABSL_PREDICT_TRUE(empty != segment.last())) {
          return {position.segment, position.slot, empty};
        }
      }
    }
    return PrepareRoom(hash);
  }

  // Adds `id`. Throws nothing.
  ABSL_ATTRIBUTE_ALWAYS_INLINE void Insert(InsertPosition room, uint32_t hash,
                                           SlabId id) {
    for (Slot* slot = room.empty; slot != room.slot; --slot) *slot = slot[-1];
    *room.slot = {hash, id};
    ++segments_[room.segment].size;
    ++size_;
  }

  // Replaces the id at `position`, where `Find()` has found it, by `id`, which
  // has the same hash. Throws nothing.
  void Replace(Position position, SlabId id) { position.slot->id = id; }

  // Removes the id at `position`, where `Find()` has found it. Throws nothing.
  void Erase(Position position) {
    Segment& segment = segments_[position.segment];
    Slot* const slots = segment.slots.get();
    Slot* end = position.slot + 1;
    while (!end->empty() && &slots[segment.HomeOf(end->hash)] < end) ++end;
    std::move(position.slot + 1, end, position.slot);
    SetEmpty(end - 1, 1);
    --segment.size;
    --size_;
    if (ABSL_PREDICT_FALSE(size_ < min_size_)) RemoveSegment();
  }

  // Removes all ids, and frees the memory.
  void Clear() {
    std::vector<Segment>().swap(segments_);
    mask_ = size_ = min_size_ = max_size_ = 0;
  }

 private:
  // On average. A segment has half to twice as many ids.
  static constexpr size_t kIdsPerSegment = 2048;
  static constexpr size_t kMinSize = 8;
  static constexpr size_t kMinOverflow = 32;
  static constexpr size_t kMaxRoomySlots = 1024;

  struct Segment {
    absl::Span<const Slot> all() const {
      return {slots.get(), size_t{capacity} + overflow};
    }
    const Slot* last() const { return &all().back(); }

    // Returns the number of the home slot of `hash`. A greater hash has the
    // same or a greater number.
    size_t HomeOf(uint32_t hash) const {
      return static_cast<size_t>((uint64_t{hash} * capacity) >> 32);
    }

    // `capacity` home slots, and `overflow` slots for ids that the last of them
    // displace.
    std::unique_ptr<Slot[]> slots;
    uint32_t capacity = 0;
    uint32_t overflow = 0;
    uint32_t size = 0;      // the number of ids
    uint32_t max_size = 0;  // with more ids, the segment is rebuilt
  };

  // Returns the number of the segment for `hash`.
  size_t SegmentOf(uint32_t hash) const {
    // A branch, so that the processor need not wait for the hash.
    if (ABSL_PREDICT_TRUE(mask_ == 0)) return 0;
    const size_t number = hash & mask_;
    return number < segments_.size() ? number : hash & (mask_ >> 1);
  }

  // Returns the number of the segment that segment `number` takes its ids from
  // when it is added.
  static size_t PartnerOf(size_t number) {
    return number - absl::bit_floor(number);
  }

  static void SetEmpty(Slot* slots, size_t size) {
    static_assert(kNoSlabId == (std::numeric_limits<uint32_t>::max)());
    std::memset(slots, 0xff, size * sizeof(Slot));
  }

  // Returns the first empty slot at or after `slot`.
  static Slot* FirstEmpty(Slot* slot) {
    while (!slot->empty()) ++slot;
    return slot;
  }

  // Returns the number of ids that a segment of `size` ids gets room for.
  // Unless the table is small, a segment grows twice until it is split with
  // twice the ids.
  static size_t MaxSizeAfter(size_t size) {
    return size < kIdsPerSegment / 2 ? (std::max)(kMinSize, 2 * size)
                                     : size / 16 * 23;
  }

  // Returns the slots of `segment` whose hashes are `number` under `mask`, in
  // order.
  static std::vector<Slot> SlotsOf(const Segment& segment, size_t number = 0,
                                   size_t mask = 0) {
    std::vector<Slot> slots(segment.size + 1);
    size_t size = 0;
    // A branch would often be mispredicted.
    for (const Slot& slot : segment.all()) {
      slots[size] = slot;
      size += size_t{!slot.empty()} & size_t{(slot.hash & mask) == number};
    }
    slots.resize(size);
    return slots;
  }

  // Returns a segment of `slots`, which must be in order, with room for
  // `max_size` ids, and with at least `overflow` slots after the home slots.
  static Segment MakeSegment(absl::Span<const Slot> slots, size_t max_size,
                             size_t overflow = kMinOverflow) {
    Segment segment;
    segment.max_size = static_cast<uint32_t>(max_size);
    // A table that fits into the nearest cache stays mostly empty. Then most
    // ids are in their home slots, and the processor predicts that.
    const size_t roomy = (std::min)(8 * max_size, kMaxRoomySlots);
    segment.capacity = static_cast<uint32_t>(
        max_size <= kIdsPerSegment / 2 ? (std::max)(2 * max_size, roomy)
                                       : max_size / 3 * 4);
    segment.overflow = static_cast<uint32_t>(overflow);
    segment.size = static_cast<uint32_t>(slots.size());
    segment.slots.reset(new Slot[segment.all().size()]);
    SetEmpty(segment.slots.get(), segment.all().size());
    size_t next = 0;
    for (const Slot& slot : slots) {
      next = (std::max)(next, segment.HomeOf(slot.hash));
      Slot& place = segment.slots[next++];
      if (&place == segment.last()) {
        return MakeSegment(slots, max_size, 2 * overflow);
      }
      place = slot;
    }
    return segment;
  }

  // Does what `PrepareInsert()` does, and makes the table larger if it has to.
  ABSL_ATTRIBUTE_NOINLINE InsertPosition PrepareRoom(uint32_t hash) {
    if (size_ >= max_size_) AddSegment();
    const size_t number = SegmentOf(hash);
    Segment& segment = segments_[number];
    if (segment.size >= segment.max_size) {
      segment = MakeSegment(SlotsOf(segment), MaxSizeAfter(segment.size));
    }
    while (true) {
      // After all ids of this hash.
      Slot* const slot = Find(hash, [](SlabId) { return false; }).slot;
      Slot* const empty = FirstEmpty(slot);
      if (empty != segment.last()) return {number, slot, empty};
      segment =
          MakeSegment(SlotsOf(segment), segment.max_size, 2 * segment.overflow);
    }
  }

  // Adds a segment. It takes its ids from its partner. If there is no memory
  // for a second segment, does nothing.
  void AddSegment() {
    const size_t number = segments_.size();
    if (number == 0) {
      segments_.push_back(MakeSegment({}, kMinSize));
      OnSegmentsChanged();
      return;
    }
    TryCall([this, number] {
      const size_t partner = PartnerOf(number);
      const size_t mask = absl::bit_ceil(number + 1) - 1;
      const std::vector<Slot> kept = SlotsOf(segments_[partner], partner, mask);
      const std::vector<Slot> taken = SlotsOf(segments_[partner], number, mask);
      Segment smaller = MakeSegment(kept, MaxSizeAfter(kept.size()));
      segments_.push_back(MakeSegment(taken, MaxSizeAfter(taken.size())));
      segments_[partner] = std::move(smaller);
      OnSegmentsChanged();
    });
  }

  // Removes the last segment. Its partner takes its ids. If there is no memory,
  // does nothing.
  void RemoveSegment() {
    TryCall([this] {
      Segment& partner = segments_[PartnerOf(segments_.size() - 1)];
      const std::vector<Slot> left = SlotsOf(partner);
      const std::vector<Slot> right = SlotsOf(segments_.back());
      std::vector<Slot> both(left.size() + right.size());
      absl::c_merge(
          left, right, both.begin(),
          [](const Slot& a, const Slot& b) { return a.hash < b.hash; });
      partner = MakeSegment(both, MaxSizeAfter(both.size()));
      segments_.pop_back();
      OnSegmentsChanged();
      if (segments_.size() < MinSize<Segment>(segments_.capacity())) {
        segments_.shrink_to_fit();
      }
    });
  }

  void OnSegmentsChanged() {
    mask_ = absl::bit_ceil(segments_.size()) - 1;
    min_size_ = (segments_.size() - 1) * kIdsPerSegment / 8 * 5;
    max_size_ = segments_.size() * kIdsPerSegment;
  }

  std::vector<Segment> segments_;
  size_t mask_ = 0;  // the low bits of a hash that select a segment
  size_t size_ = 0;
  size_t min_size_ = 0;  // below it, there are too many segments
  size_t max_size_ = 0;  // beyond it, there are too few segments
};

}  // namespace workqueue::internal

#endif  // WORKQUEUE_BASE_HASH_INDEX_H_
