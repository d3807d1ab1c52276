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

// Creates two temporary trees and mirrors one to the other. Meanwhile, changes
// the source and injects failures. Compares the trees at the end.
// `mirror_options` has the settings that the demo does not choose itself.
// Returns the exit status of the process.
int RunDemo(const Options& options, Mirror::Options mirror_options,
            StopSignals& signals, Console& console);

}  // namespace mirror

#endif  // WORKQUEUE_EXAMPLES_MIRROR_DEMO_H_
