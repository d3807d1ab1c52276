// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "examples/mirror/report.h"

#include <cstdio>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "examples/mirror/path_map.h"
#include "examples/mirror/tree.h"
#include "examples/mirror/tree_compare.h"

namespace mirror {
namespace {

constexpr size_t kLongestList = 10;

void PrintList(absl::string_view title, const std::vector<std::string>& lines) {
  absl::PrintF("%s: %d\n", title, lines.size());
  for (size_t i = 0; i < lines.size() && i < kLongestList; ++i) {
    absl::PrintF("  %s\n", lines[i]);
  }
  if (lines.size() > kLongestList) {
    absl::PrintF("  and %d more\n", lines.size() - kLongestList);
  }
}

}  // namespace

bool ReportComparison(const Tree& source, const Tree& copy) {
  const Comparison comparison = CompareTrees(source, copy);
  if (!comparison.differences.empty()) {
    PrintList("THE TREES DIFFER", comparison.differences);
    return false;
  }
  absl::PrintF(
      "the trees are the same: %d files of %d bytes, %d directories, "
      "%d symbolic links\n",
      comparison.files, comparison.bytes, comparison.directories,
      comparison.symlinks);
  return true;
}

bool ReportFailures(const PathMap<absl::Status>& failures) {
  if (failures.empty()) return true;
  std::vector<std::string> lines;
  for (const auto& [path, status] : failures) {
    lines.emplace_back(status.message());
  }
  PrintList("NOT MIRRORED", lines);
  return false;
}

}  // namespace mirror
