// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_TEST_SHARED_UNSYNCED_FILE_H_
#define WORKQUEUE_TEST_SHARED_UNSYNCED_FILE_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace workqueue {

// UnsyncedFile
//
// A file on a disk whose power can be cut: the bytes that have been synced, and
// all later writes.
class UnsyncedFile {
 public:
  explicit UnsyncedFile(std::string synced = "") : synced_(std::move(synced)) {}

  // Makes the file longer if it ends before `at`, also for no bytes.
  void Write(size_t at, std::string bytes) {
    writes_.push_back({at, std::move(bytes), false});
  }
  void Truncate(size_t size) { writes_.push_back({size, "", true}); }

  void Sync() {
    for (const Change& it : writes_) it.DoTo(0, it.bytes.size(), &synced_);
    writes_.clear();
  }

  size_t num_unsynced() const { return writes_.size(); }

  // Returns the bytes after a power cut. A disk may write in any order: each
  // write that was not synced is there or not, and of some only some sectors
  // are. No other bytes than those of the writes are changed.
  std::string AfterCut(std::mt19937* random) const {
    std::string left = synced_;
    const uint32_t kept = (*random)() % 101;  // percent
    for (const Change& it : writes_) {
      if ((*random)() % 100 >= kept) continue;
      const size_t size = it.bytes.size();
      if ((*random)() % 4 != 0 || size == 0) {
        it.DoTo(0, size, &left);
        continue;
      }
      for (size_t from = 0; from < size;) {
        const size_t until =
            std::min(size, ((it.at + from) / kSector + 1) * kSector - it.at);
        if ((*random)() % 2 == 0) it.DoTo(from, until, &left);
        from = until;
      }
    }
    return left;
  }

 private:
  // What a disk writes as a whole.
  static constexpr size_t kSector = 512;

  // Bytes at a place, or the end of the file is there.
  struct Change {
    size_t at;
    std::string bytes;
    bool truncates;

    void DoTo(size_t from, size_t until, std::string* contents) const {
      if (truncates || contents->size() < at + until) {
        contents->resize(at + until);
      }
      contents->replace(at + from, until - from, bytes, from, until - from);
    }
  };

  std::string synced_;
  std::vector<Change> writes_;  // since then
};

}  // namespace workqueue

#endif  // WORKQUEUE_TEST_SHARED_UNSYNCED_FILE_H_
