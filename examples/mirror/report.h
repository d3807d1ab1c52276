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

// These functions print to standard output. They return true if there is no
// difference and no failure. They print only the beginning of a long list.

// Compares the two trees and prints the result.
bool ReportComparison(const Tree& source, const Tree& copy);

// Prints the paths that could not be mirrored, and the reasons.
bool ReportFailures(const PathMap<absl::Status>& failures);

}  // namespace mirror

#endif  // WORKQUEUE_EXAMPLES_MIRROR_REPORT_H_
