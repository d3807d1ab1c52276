// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// examples/mirror/remove_tree.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_EXAMPLES_MIRROR_REMOVE_TREE_H_
#define WORKQUEUE_EXAMPLES_MIRROR_REMOVE_TREE_H_

#include <string>

#include "absl/status/status.h"

namespace mirror {

// Removes `name` in `directory`. If `name` is a directory, removes its
// contents, too. Follows no symbolic link. Makes write-protected directories
// writable before it removes their contents. `description` names the tree in
// errors.
absl::Status RemoveTree(int directory, const std::string& name,
                        const std::string& description);

// Makes `directory` readable, writable and searchable for its owner if this
// process has no such access and the system allows the change. Returns whether
// it changed the permissions.
bool OpenUpDirectory(int directory);

}  // namespace mirror

#endif  // WORKQUEUE_EXAMPLES_MIRROR_REMOVE_TREE_H_
