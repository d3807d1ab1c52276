// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "examples/mirror/verified_files.h"

#include <sys/stat.h>

#include <cstddef>
#include <mutex>  // NOLINT(build/c++11)
#include <string>
#include <tuple>

#include "absl/hash/hash.h"
#include "absl/time/time.h"
#include "examples/mirror/path_map.h"

namespace mirror {
namespace {

// Many file systems take a file's times from a clock that ticks every few
// milliseconds, and some take them from another machine's clock. A file that
// changed less than this time ago could change again without a visible
// difference in its times.
constexpr absl::Duration SettleTime() { return absl::Seconds(2); }

auto Version(const struct stat& stat) {
  return std::make_tuple(stat.st_dev, stat.st_ino, stat.st_mode, stat.st_size,
                         stat.st_mtim.tv_sec, stat.st_mtim.tv_nsec,
                         stat.st_ctim.tv_sec, stat.st_ctim.tv_nsec);
}

size_t HashOf(const struct stat& source, const struct stat& copy) {
  return absl::HashOf(Version(source), Version(copy));
}

}  // namespace

void VerifiedFiles::Insert(const std::string& path, const struct stat& source,
                           const struct stat& copy, absl::Time now) {
  const std::lock_guard<std::mutex> lock(mu_);
  if (absl::TimeFromTimespec(source.st_ctim) + SettleTime() < now) {
    files_[path] = HashOf(source, copy);
  } else {
    files_.erase(path);
  }
}

bool VerifiedFiles::Contains(const std::string& path, const struct stat& source,
                             const struct stat& copy) const {
  const std::lock_guard<std::mutex> lock(mu_);
  const auto it = files_.find(path);
  return it != files_.end() && it->second == HashOf(source, copy);
}

void VerifiedFiles::EraseTree(const std::string& path) {
  const std::lock_guard<std::mutex> lock(mu_);
  mirror::EraseTree(files_, path, [](size_t) {});
}

}  // namespace mirror
