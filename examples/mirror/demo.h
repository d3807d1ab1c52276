// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// examples/mirror/demo.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_EXAMPLES_MIRROR_DEMO_H_
#define WORKQUEUE_EXAMPLES_MIRROR_DEMO_H_

#include "examples/mirror/console.h"
#include "examples/mirror/mirror.h"
#include "examples/mirror/options.h"
#include "examples/mirror/stop_signals.h"

namespace mirror {

// Mirrors a tree of its own that is changed all the time, has some of it fail,
// and compares the two in the end. What is not of the demo's own is in
// `mirror_options`. Returns what the process should exit with.
int RunDemo(const Options& options, Mirror::Options mirror_options,
            StopSignals& signals, Console& console);

}  // namespace mirror

#endif  // WORKQUEUE_EXAMPLES_MIRROR_DEMO_H_
