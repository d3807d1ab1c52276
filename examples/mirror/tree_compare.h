// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// examples/mirror/tree_compare.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_EXAMPLES_MIRROR_TREE_COMPARE_H_
#define WORKQUEUE_EXAMPLES_MIRROR_TREE_COMPARE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "examples/mirror/tree.h"

namespace mirror {

struct Comparison {
  // Counts of the source's entries, and its bytes.
  int64_t files = 0;
  int64_t directories = 0;  // without the root
  int64_t symlinks = 0;
  int64_t special_files = 0;
  int64_t bytes = 0;  // in the files

  // One line for each path whose copy differs or that could not be compared.
  std::vector<std::string> differences;
};

// Compares the entries, their kinds, the contents of files, the targets of
// symbolic links, and the permission bits. Special files of the source must
// have no copy. Does not rely on the data that the mirror relies on, for
// example modification times.
Comparison CompareTrees(const Tree& source, const Tree& copy);

}  // namespace mirror

#endif  // WORKQUEUE_EXAMPLES_MIRROR_TREE_COMPARE_H_
