// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "test/simulation/scenario.h"

#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "test/shared/queue_history.h"
#include "workqueue/simulation/simulation.h"

namespace workqueue {

std::vector<Scenario>& Scenarios() {
  static auto* const scenarios = new std::vector<Scenario>;
  return *scenarios;
}

bool prints_notes = getenv("WORKQUEUE_SIMULATION_TRACE") != nullptr;

void History::Verify() const {
  for (const auto& [item, operations] : items_) {
    const std::optional<HistoryViolation> violation = CheckHistory(operations);
    if (!violation.has_value()) continue;
    std::string text = absl::StrCat("the history of ", item, ": ",
                                    violation->text, "; all of it:");
    for (const QueueOperation& it : operations) {
      absl::StrAppend(&text, " ", std::string(1, it.kind), "[", it.begin, ",",
                      it.end, "]#", it.token);
    }
    simulation::Fail(text);
  }
}

}  // namespace workqueue
