// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/base/thread_name.h"

#if defined(__linux__) || defined(__APPLE__)
#include <pthread.h>
#endif

#include <cstddef>

#include "absl/strings/ascii.h"
#include "absl/strings/string_view.h"

namespace workqueue::internal {

void NameThisThread(absl::string_view owner, absl::string_view role) {
  constexpr size_t kMaxBytes = 15;
  if (owner.empty()) owner = "workqueue";
  char name[kMaxBytes + 1] = {};
  size_t size = 0;
  for (const char c : owner.substr(0, kMaxBytes - 1 - role.size())) {
    name[size++] = absl::ascii_isprint(static_cast<unsigned char>(c)) ? c : '?';
  }
  name[size++] = ':';
  for (const char c : role) name[size++] = c;
#if defined(__linux__)
  pthread_setname_np(pthread_self(), name);
#elif defined(__APPLE__)
  pthread_setname_np(name);
#endif
}

}  // namespace workqueue::internal
