// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Controllers.

#include "test/simulation/controller_life.h"
#include "test/simulation/scenario.h"

namespace workqueue {
namespace {

void Live(bool async, bool shared, bool faults, bool stands_by) {
  ControllerLife::Options options;
  options.async = async;
  options.shared = shared;
  options.faults = faults;
  options.stands_by = stands_by;
  ControllerLife(options).Live();
}

const AddScenario sync_life("controller", "a Controller with workers",
                            [] { Live(false, false, false, false); });
const AddScenario async_life("async_controller",
                             "a Controller with completions",
                             [] { Live(true, false, false, false); });
const AddScenario sync_term("standby_controller",
                            "a Controller that leads at times",
                            [] { Live(false, false, false, true); });
const AddScenario async_term("standby_async_controller",
                             "the same with completions",
                             [] { Live(true, false, false, true); });
const AddScenario sync_shared(
    "shared_controller", "a Controller of a SharedQueue",
    [] { Live(false, true, false, false); }, /*exact_time=*/true);
const AddScenario async_shared(
    "shared_async_controller", "the same with completions",
    [] { Live(true, true, false, false); }, /*exact_time=*/true);
const AddScenario sync_faults(
    "faulty_controller", "a Controller of a SharedQueue with faults",
    [] { Live(false, true, true, false); }, /*exact_time=*/true);
const AddScenario async_faults(
    "faulty_async_controller", "the same with completions",
    [] { Live(true, true, true, false); }, /*exact_time=*/true);
const AddScenario shared_term(
    "standby_shared_controller",
    "an asynchronous Controller of a SharedQueue that leads at times",
    [] { Live(true, true, false, true); }, /*exact_time=*/true);

}  // namespace
}  // namespace workqueue
