// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// examples/async_probe/program.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_EXAMPLES_ASYNC_PROBE_PROGRAM_H_
#define WORKQUEUE_EXAMPLES_ASYNC_PROBE_PROGRAM_H_

#include <functional>
#include <string>

#include "absl/time/time.h"
#include "examples/async_probe/http_client.h"
#include "examples/async_probe/probe_stats.h"
#include "workqueue/controller/async_reconcile.h"

namespace async_probe {

// A function like `MakeProber()`.
using ProberFactory =
    std::function<workqueue::AsyncReconcileFunction<std::string>(
        HttpClient* client, absl::Duration period, ProbeStats* stats)>;

// Runs the program `name` with the arguments of `main()`. Returns its exit
// status.
int RunProgram(const char* name, int argc, char* argv[],
               const ProberFactory& make_prober);

}  // namespace async_probe

#endif  // WORKQUEUE_EXAMPLES_ASYNC_PROBE_PROGRAM_H_
