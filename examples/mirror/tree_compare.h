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
  // What there is in the source.
  int64_t files = 0;
  int64_t directories = 0;  // without the root
  int64_t symlinks = 0;
  int64_t special_files = 0;
  int64_t bytes = 0;  // in the files

  // What is not the same in the copy or could not be compared, a line of text
  // for each.
  std::vector<std::string> differences;
};

// Compares two trees: what there is, of which kind, all the contents, where
// symbolic links lead, permission bits. Special files of the source should have
// no copy. Trusts nothing that the mirror goes by, such as times.
Comparison CompareTrees(const Tree& source, const Tree& copy);

}  // namespace mirror

#endif  // WORKQUEUE_EXAMPLES_MIRROR_TREE_COMPARE_H_
