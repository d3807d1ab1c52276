// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_REDIS_UNIQUE_TEXT_H_
#define WORKQUEUE_REDIS_UNIQUE_TEXT_H_

#include <random>
#include <string>

#include "absl/strings/str_cat.h"

namespace workqueue::internal {

// Returns a text that no other process has, nor this one before.
inline std::string NewUniqueText() {
  std::random_device random;
  std::string text;
  for (int i = 0; i < 4; ++i) {
    absl::StrAppend(&text, absl::Hex(random(), absl::kZeroPad8));
  }
  return text;
}

}  // namespace workqueue::internal

#endif  // WORKQUEUE_REDIS_UNIQUE_TEXT_H_
