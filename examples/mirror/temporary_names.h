// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// examples/mirror/temporary_names.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_EXAMPLES_MIRROR_TEMPORARY_NAMES_H_
#define WORKQUEUE_EXAMPLES_MIRROR_TEMPORARY_NAMES_H_

#include <cstdint>
#include <mutex>  // NOLINT(build/c++11)
#include <random>
#include <string>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace mirror {

// TemporaryNames
//
// This class makes names for unfinished copies and remembers which names are in
// use. A file with such a name that is not in use was left by a run that was
// killed.
//
// Thread-safe.
class TemporaryNames {
 public:
  // Returns whether `name` looks like a name of this or another process.
  static bool IsOne(absl::string_view name) {
    return absl::StartsWith(name, kPrefix);
  }

  // Returns a new name. The name is in use until `GiveBack()`.
  std::string Take() {
    const std::lock_guard<std::mutex> lock(mu_);
    const std::string name =
        absl::StrCat(kPrefix, absl::Hex(token_), "-", ++taken_);
    in_use_.insert(name);
    return name;
  }

  void GiveBack(const std::string& name) {
    const std::lock_guard<std::mutex> lock(mu_);
    in_use_.erase(name);
  }

  bool InUse(const std::string& name) const {
    const std::lock_guard<std::mutex> lock(mu_);
    return in_use_.contains(name);
  }

 private:
  static constexpr absl::string_view kPrefix = ".mirror-";

  const uint32_t token_ = std::random_device()();

  mutable std::mutex mu_;
  int64_t taken_ = 0;
  absl::flat_hash_set<std::string> in_use_;
};

}  // namespace mirror

#endif  // WORKQUEUE_EXAMPLES_MIRROR_TEMPORARY_NAMES_H_
