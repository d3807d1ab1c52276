// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_SHARED_SQLITE_INTERNAL_WAKE_FILE_H_
#define WORKQUEUE_SHARED_SQLITE_INTERNAL_WAKE_FILE_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "workqueue/simulation/sync.h"

namespace workqueue::internal {

// WakeFile
//
// A file beside a database, by which the processes of a machine wake each other
// and see which of them live. It has no data: a process that dies leaves
// nothing in it that matters, and one that hears nothing only waits longer.
//
// The processes map the file's first bytes, which are words that count, and
// wait for them as threads wait for a futex. A process that lives holds a lock
// of the system on the byte of each of its numbers. The system ends the lock
// when the process ends, however that does.
//
// Thread-safe.
class WakeFile {
 public:
  enum Word { kCommits, kMessages };

  // Makes the file, with the owner and the rights of `database`, if it is not
  // there.
  static absl::StatusOr<std::unique_ptr<WakeFile>> Open(
      const std::string& database);
  ~WakeFile();

  WakeFile(const WakeFile&) = delete;
  WakeFile& operator=(const WakeFile&) = delete;

  uint32_t Read(Word word) const { return words_[word]; }

  // Counts on, and wakes up to `threads` that wait for the word. Returns how
  // many.
  int64_t Change(Word word, int threads);

  // Blocks until the word has been changed since `Read()` returned `seen`, or
  // for `timeout` on the machine's clock, or without a reason.
  void Await(Word word, uint32_t seen, absl::Duration timeout) const;

  // This process has that number from now on, or no longer. Returns false if
  // another one has it.
  bool Occupy(int64_t number) const;
  void Vacate(int64_t number) const;

  // Whether a process that lives has the number: another one than this.
  bool IsOccupied(int64_t number) const;

 private:
  WakeFile(int file, sync::Atomic<uint32_t>* words)
      : file_(file), words_(words) {}

  bool Lock(int64_t number, bool locks) const;

  const int file_;
  sync::Atomic<uint32_t>* const words_;
};

}  // namespace workqueue::internal

#endif  // WORKQUEUE_SHARED_SQLITE_INTERNAL_WAKE_FILE_H_
