// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_REDIS_UNIQUE_TEXT_H_
#define WORKQUEUE_REDIS_UNIQUE_TEXT_H_

#include <unistd.h>

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

// Returns the name of this machine, or of the container, as far as it is known.
inline std::string HostName() {
  char host[256] = "";
  gethostname(host, sizeof(host) - 1);
  return host;
}

}  // namespace workqueue::internal

#endif  // WORKQUEUE_REDIS_UNIQUE_TEXT_H_
