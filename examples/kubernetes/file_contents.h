// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// examples/kubernetes/file_contents.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_EXAMPLES_KUBERNETES_FILE_CONTENTS_H_
#define WORKQUEUE_EXAMPLES_KUBERNETES_FILE_CONTENTS_H_

#include <string>

#include "absl/status/statusor.h"

namespace kubernetes {

// Returns the contents of a file. The message of an error has the path.
absl::StatusOr<std::string> ReadFile(const std::string& path);

}  // namespace kubernetes

#endif  // WORKQUEUE_EXAMPLES_KUBERNETES_FILE_CONTENTS_H_
