// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// examples/mirror/path_map.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_EXAMPLES_MIRROR_PATH_MAP_H_
#define WORKQUEUE_EXAMPLES_MIRROR_PATH_MAP_H_

#include <iterator>
#include <string>

#include "absl/container/btree_map.h"
#include "absl/strings/str_cat.h"

namespace mirror {

// A map from paths to values. Its order puts the paths below a directory next
// to each other.
template <typename V>
using PathMap = absl::btree_map<std::string, V>;

// Erases `path` and all paths below it. Calls `visit(value)` for each.
template <typename V, typename Visitor>
void EraseTree(PathMap<V>& map, const std::string& path, Visitor visit) {
  if (map.empty()) return;
  const auto erase = [&map, &visit](auto first, auto last) {
    for (auto it = first; it != last; ++it) visit(it->second);
    map.erase(first, last);
  };
  if (path.empty()) {
    erase(map.begin(), map.end());
    return;
  }
  erase(map.lower_bound(absl::StrCat(path, "/")),
        // '0' is the character after '/'.
        map.lower_bound(absl::StrCat(path, "0")));
  const auto it = map.find(path);
  if (it != map.end()) erase(it, std::next(it));
}

}  // namespace mirror

#endif  // WORKQUEUE_EXAMPLES_MIRROR_PATH_MAP_H_
