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
// Remembers which files were found to be the same as their copies, so that they
// need not be read again until the file system says that one of the two has
// changed. It says so by a file's change time, which, other than the time of
// modification, no program can set.
//
// Thread-safe.
class VerifiedFiles {
 public:
  // Read later than `now`, `source` and `copy` had the same contents, and were
  // at the end of that as they are described.
  void Insert(const std::string& path, const struct stat& source,
              const struct stat& copy, absl::Time now);

  // Returns whether they still have, since neither has changed.
  bool Contains(const std::string& path, const struct stat& source,
                const struct stat& copy) const;

  // Forgets `path` and all that is below it.
  void EraseTree(const std::string& path);

 private:
  mutable std::mutex mu_;
  // Of each path, a hash of what the two looked like.
  PathMap<size_t> files_;
};

}  // namespace mirror

#endif  // WORKQUEUE_EXAMPLES_MIRROR_VERIFIED_FILES_H_
