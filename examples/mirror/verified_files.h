// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// examples/mirror/verified_files.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_EXAMPLES_MIRROR_VERIFIED_FILES_H_
#define WORKQUEUE_EXAMPLES_MIRROR_VERIFIED_FILES_H_

#include <sys/stat.h>

#include <cstddef>
#include <mutex>  // NOLINT(build/c++11)
#include <string>

#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "examples/mirror/path_map.h"

namespace mirror {

// VerifiedFiles
//
// This class remembers which files were found to equal their copies. Such a
// file need not be read again until it or its copy has changed. A change is
// visible in the file's change time. Unlike the modification time, no program
// can set the change time.
//
// Thread-safe.
class VerifiedFiles {
 public:
  // Records that `source` and `copy` had the same contents. The caller must
  // have read the contents after `now`, and taken both `stat`s after that.
  void Insert(const std::string& path, const struct stat& source,
              const struct stat& copy, absl::Time now);

  // Returns whether neither file has changed since `Insert()`, so that their
  // contents are still the same.
  bool Contains(const std::string& path, const struct stat& source,
                const struct stat& copy) const;

  // Forgets `path` and all paths below it.
  void EraseTree(const std::string& path);

 private:
  mutable std::mutex mu_;
  // Maps each path to a hash of the two files' attributes.
  PathMap<size_t> files_;
};

}  // namespace mirror

#endif  // WORKQUEUE_EXAMPLES_MIRROR_VERIFIED_FILES_H_
