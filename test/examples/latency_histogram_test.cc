// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "examples/latency_histogram.h"

#include "absl/time/time.h"
#include "gtest/gtest.h"

namespace examples::latency_histogram_test {
namespace {

TEST(LatencyHistogramTest, Percentile) {
  LatencyHistogram histogram;
  EXPECT_EQ(histogram.Percentile(0.5), absl::ZeroDuration());
  for (int i = 1; i <= 1000; ++i) histogram.Observe(i * 1e-3);
  for (const double fraction : {0.01, 0.5, 0.99, 1.0}) {
    const double seconds =
        absl::ToDoubleSeconds(histogram.Percentile(fraction));
    EXPECT_GE(seconds, fraction);
    EXPECT_LE(seconds, fraction * 1.011);
  }
  EXPECT_GT(histogram.Percentile(0), absl::ZeroDuration() - absl::Seconds(1));
  for (const double extreme : {0.0, -1.0, 1e-300, 1e300}) {
    histogram.Observe(extreme);
  }
  EXPECT_GT(histogram.Percentile(1), absl::Hours(1));
}

}  // namespace
}  // namespace examples::latency_histogram_test
