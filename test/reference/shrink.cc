// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "test/reference/shrink.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "test/reference/choices.h"

namespace reference {
namespace {

class Shrinker {
 public:
  Shrinker(std::vector<uint8_t> bytes,
           absl::FunctionRef<bool(const std::vector<uint8_t>&)> fails,
           int max_runs)
      : bytes_(std::move(bytes)), fails_(fails), runs_left_(max_runs) {}

  // Shrinks until no further step succeeds.
  std::vector<uint8_t> Shrink() && {
    for (bool smaller = true; smaller;) {
      smaller = RemoveOperations();
      smaller |= LowerBytes();
    }
    return std::move(bytes_);
  }

 private:
  static constexpr size_t kSetup = Choices::kBytesPerOperation;

  // Continues with `smaller` if that run fails, too.
  bool Try(std::vector<uint8_t> smaller) {
    if (runs_left_ == 0) return false;
    --runs_left_;
    if (!fails_(smaller)) return false;
    bytes_ = std::move(smaller);
    return true;
  }

  bool RemoveOperations() {
    bool removed = false;
    size_t chunk = Choices::kBytesPerOperation;
    while (chunk < bytes_.size()) chunk *= 2;
    for (; chunk >= Choices::kBytesPerOperation; chunk /= 2) {
      // Start at the end, so that the earlier operations keep their effect for
      // longer.
      for (size_t end = bytes_.size(); end > kSetup;) {
        const size_t begin = end > kSetup + chunk ? end - chunk : kSetup;
        std::vector<uint8_t> smaller = bytes_;
        smaller.erase(smaller.begin() + begin, smaller.begin() + end);
        removed |= Try(std::move(smaller));
        end = begin;
      }
    }
    return removed;
  }

  bool LowerBytes() {
    bool lowered = false;
    for (size_t i = 0; i < bytes_.size(); ++i) {
      lowered |=
          Lower(i, 0) || Lower(i, bytes_[i] / 2) || Lower(i, bytes_[i] - 1);
    }
    return lowered;
  }

  bool Lower(size_t i, int to) {
    if (to < 0 || to >= bytes_[i]) return false;
    std::vector<uint8_t> lower = bytes_;
    lower[i] = static_cast<uint8_t>(to);
    return Try(std::move(lower));
  }

  std::vector<uint8_t> bytes_;
  const absl::FunctionRef<bool(const std::vector<uint8_t>&)> fails_;
  int runs_left_;
};

}  // namespace

std::vector<uint8_t> Shrink(
    std::vector<uint8_t> bytes,
    absl::FunctionRef<bool(const std::vector<uint8_t>&)> fails, int max_runs) {
  return Shrinker(std::move(bytes), fails, max_runs).Shrink();
}

}  // namespace reference
