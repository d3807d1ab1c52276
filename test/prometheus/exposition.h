// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// test/prometheus/exposition.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_TEST_PROMETHEUS_EXPOSITION_H_
#define WORKQUEUE_TEST_PROMETHEUS_EXPOSITION_H_

#include <map>
#include <string>

#include "absl/strings/string_view.h"
#include "prometheus/collectable.h"

namespace workqueue {

// Exposition
//
// What Prometheus reads when it scrapes a program.
struct Exposition {
  // By the name of the metric.
  std::map<std::string, std::string> helps;
  std::map<std::string, std::string> types;

  // By the time series, `name{label="value",...}` with sorted labels.
  std::map<std::string, double> samples;

  // The samples whose time series begin with `prefix`.
  std::map<std::string, double> SamplesOf(absl::string_view prefix) const;
};

// Parses Prometheus' text format. What makes no sense is a failure of the test.
// The values of labels must not have a comma or a space in them.
Exposition ParseExposition(absl::string_view text);

// Returns what a scrape of `metrics` would read.
Exposition Scrape(const prometheus::Collectable& metrics);

}  // namespace workqueue

#endif  // WORKQUEUE_TEST_PROMETHEUS_EXPOSITION_H_
