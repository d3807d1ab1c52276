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

// Removes `name` in `directory`, whatever it is, with all that is in it.
// Follows no symbolic link, and lifts write protection of directories on its
// way. `description` is for errors.
absl::Status RemoveTree(int directory, const std::string& name,
                        const std::string& description);

// Makes `directory` one that this process can change, if it is not and it can.
// Returns whether it has changed the permissions.
bool OpenUpDirectory(int directory);

}  // namespace mirror

#endif  // WORKQUEUE_EXAMPLES_MIRROR_REMOVE_TREE_H_
