// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// workqueue/internal/add_times.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_INTERNAL_ADD_TIMES_H_
#define WORKQUEUE_INTERNAL_ADD_TIMES_H_

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <optional>

#include "absl/container/btree_map.h"
#include "absl/time/time.h"

namespace workqueue {
namespace internal {

// AddTimes
//
// The times at which the items of a queue were added, to find the earliest one.
// Counts the items of each tenth of a second. So it is small if the items of a
// queue were added within a short time, and has at most one count for each
// item.
//
// `Insert()` and `Erase()` take O(log n) for n counts. `Earliest()` takes
// constant time. Only `Insert()` throws (`std::bad_alloc`). Not thread-safe.
class AddTimes {
 public:
  void Insert(absl::Time added) {
    const auto it = counts_.try_emplace(ToTenths(added), 0).first;
    ++it->second;
    // The count before may be the one that Erase() has kept.
    if (it != counts_.begin() && std::prev(it)->second == 0) {
      counts_.erase(std::prev(it));
    }
  }

  // Undoes one `Insert(added)`. Does nothing if there was none.
  void Erase(absl::Time added) {
    const auto it = counts_.find(ToTenths(added));
    if (it == counts_.end() || it->second == 0) return;
    // The latest count is likely to be used again, so it is kept.
    if (--it->second == 0 && std::next(it) != counts_.end()) counts_.erase(it);
  }

  // Returns the earliest time, rounded to a tenth of a second; nothing if there
  // is no item.
  std::optional<absl::Time> Earliest() const {
    if (counts_.empty() || counts_.begin()->second == 0) return std::nullopt;
    return absl::UnixEpoch() + absl::Milliseconds(100) * counts_.begin()->first;
  }

 private:
  static int64_t ToTenths(absl::Time time) {
    return absl::ToUnixMillis(time) / 100;
  }

  // Only the last count may be zero.
  absl::btree_map<int64_t, size_t> counts_;
};

}  // namespace internal
}  // namespace workqueue

#endif  // WORKQUEUE_INTERNAL_ADD_TIMES_H_
