// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_BASE_THREAD_NAME_H_
#define WORKQUEUE_BASE_THREAD_NAME_H_

#include "absl/strings/string_view.h"

namespace workqueue::internal {

// Gives the calling thread the name "`owner`:`role`", which debuggers, top(1)
// and crash reports show. An empty `owner` becomes "workqueue". The kernel's
// limit is 15 bytes, so a longer `owner` is cut. Bytes that are not printable
// ASCII become question marks. `role` has at most 8 bytes.
//
// Does nothing on systems other than Linux and macOS. Throws nothing.
void NameThisThread(absl::string_view owner, absl::string_view role);

}  // namespace workqueue::internal

#endif  // WORKQUEUE_BASE_THREAD_NAME_H_
