// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_TEST_SHARED_DISK_LOG_H_
#define WORKQUEUE_TEST_SHARED_DISK_LOG_H_

#include <cstdint>

namespace workqueue {

// DiskLogRecord
//
// How a record begins in the log of disk_log.cc. Its bytes follow.
struct DiskLogRecord {
  enum Kind : uint64_t {
    kWrite,     // bytes of the file, `at` a place; none: it ends there at least
    kTruncate,  // The file ends `at` a place.
    kSync,      // the file or folder
    // Names. The bytes are the path, as the program gives it.
    kCreate,      // a new file
    kMakeFolder,  //
    kRemove,      // a file or a folder
    kRename,      // and the new path, after a zero
    kLink,        // the same
  };

  uint64_t kind;
  uint64_t size;  // of the bytes
  uint64_t file;  // its inode
  uint64_t at;
};

}  // namespace workqueue

#endif  // WORKQUEUE_TEST_SHARED_DISK_LOG_H_
