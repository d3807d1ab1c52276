// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// This header defines the records by which processes that are killed at any
// time tell afterwards what they saw.

#ifndef WORKQUEUE_TEST_SHARED_KILL_RECORD_H_
#define WORKQUEUE_TEST_SHARED_KILL_RECORD_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace workqueue {

// KillRecord
//
// One event in a process. Times are nanoseconds of CLOCK_MONOTONIC, which is
// the same for all processes of a machine.
struct KillRecord {
  enum Kind : char {
    // An add begins, or has been acknowledged. `number` is the add's in its
    // process, and `value` the delay in nanoseconds.
    kAddBegins = 'B',
    kAddAcknowledged = 'A',
    // A worker has received a lease. `number` is the token here and below.
    kHandedOut = 'H',
    // `lost()` of a lease returned false. The time is before that call.
    kAlive = 'L',
    // The worker's next call ends its lease: as done, or given back.
    kDoneBegins = 'D',
    kGiveBackBegins = 'G',
    // `Done()` returned `value`. An end that nothing was told of has none.
    kDone = 'E',
    // A call failed for a reason that no test expects.
    kFailed = 'F',
  };

  Kind kind;
  int64_t number = 0;
  int64_t time = 0;
  int64_t value = 0;
  std::string item;  // without spaces
  int process = 0;   // not written
};

// Returns the time of the records.
int64_t MonotonicNanos();

// KillRecorder
//
// Writes records to a file. Each is one write(), so it is in the file as a
// whole even if the process is killed the moment after.
//
// Thread-safe.
class KillRecorder {
 public:
  // Ends the program if the file cannot be opened.
  explicit KillRecorder(const std::string& path);
  ~KillRecorder();

  KillRecorder(const KillRecorder&) = delete;
  KillRecorder& operator=(const KillRecorder&) = delete;

  // Writes a record of now, or of an earlier `time`.
  void Write(KillRecord::Kind kind, int64_t number, int64_t value,
             absl::string_view item) const {
    Write(kind, MonotonicNanos(), number, value, item);
  }
  void Write(KillRecord::Kind kind, int64_t time, int64_t number, int64_t value,
             absl::string_view item) const;

 private:
  const int file_;
};

// Appends the records in the file `path` to `*records`, as those of `process`.
void ReadKillRecords(const std::string& path, int process,
                     std::vector<KillRecord>* records);

}  // namespace workqueue

#endif  // WORKQUEUE_TEST_SHARED_KILL_RECORD_H_
