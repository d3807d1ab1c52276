// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// examples/mirror/report.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_EXAMPLES_MIRROR_REPORT_H_
#define WORKQUEUE_EXAMPLES_MIRROR_REPORT_H_

#include "absl/status/status.h"
#include "examples/mirror/path_map.h"
#include "examples/mirror/tree.h"

namespace mirror {

// These print to standard output, and return whether all is well. Of a long
// list they print the beginning.

// Compares the two trees, and prints how they compare.
bool ReportComparison(const Tree& source, const Tree& copy);

// Prints what could not be mirrored, and why.
bool ReportFailures(const PathMap<absl::Status>& failures);

}  // namespace mirror

#endif  // WORKQUEUE_EXAMPLES_MIRROR_REPORT_H_
