// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_TEST_PROMETHEUS_EXPOSITION_H_
#define WORKQUEUE_TEST_PROMETHEUS_EXPOSITION_H_

#include <map>
#include <string>

#include "absl/strings/string_view.h"
#include "prometheus/collectable.h"

namespace workqueue {

// Exposition
//
// This struct holds the metrics that Prometheus reads when it scrapes a
// program.
struct Exposition {
  // The keys are the names of metrics.
  std::map<std::string, std::string> helps;
  std::map<std::string, std::string> types;

  // The keys are time series, `name{label="value",...}` with sorted labels.
  std::map<std::string, double> samples;

  // Returns the samples whose time series begin with `prefix`.
  std::map<std::string, double> SamplesOf(absl::string_view prefix) const;
};

// Parses Prometheus' text format. A malformed line fails the test. Values of
// labels must not contain a comma or a space.
Exposition ParseExposition(absl::string_view text);

// Returns the metrics that a scrape of `metrics` reads.
Exposition Scrape(const prometheus::Collectable& metrics);

}  // namespace workqueue

#endif  // WORKQUEUE_TEST_PROMETHEUS_EXPOSITION_H_
