// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// workqueue/inspect/internal/depth_plot.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_INSPECT_INTERNAL_DEPTH_PLOT_H_
#define WORKQUEUE_INSPECT_INTERNAL_DEPTH_PLOT_H_

#include <vector>

#include "workqueue/inspect/inspection_registry.h"
#include "workqueue/inspect/internal/html.h"

namespace workqueue {
namespace internal {

// Returns a small plot, in SVG, of the numbers of queued, waiting and failing
// items over the time of `samples`. Its text alternative tells the last and the
// largest number of queued items.
Html DepthPlot(const std::vector<DepthSample>& samples);

}  // namespace internal
}  // namespace workqueue

#endif  // WORKQUEUE_INSPECT_INTERNAL_DEPTH_PLOT_H_
