// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/inspect/internal/depth_plot.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "workqueue/inspect/inspection_registry.h"
#include "workqueue/inspect/internal/html.h"
#include "workqueue/inspect/internal/readable.h"

namespace workqueue {
namespace internal {
namespace {

// The size of the plot, in units of SVG.
constexpr double kWidth = 160;
constexpr double kHeight = 36;

// The members of a `DepthSample` that are drawn.
using Member = size_t DepthSample::*;

// Adds the points of a line.
void AddPoints(const std::vector<DepthSample>& samples, Member member,
               size_t max, Html* html) {
  const absl::Time begin = samples.front().time;
  const absl::Duration length =
      std::max(samples.back().time - begin, absl::Nanoseconds(1));
  for (const DepthSample& sample : samples) {
    const double x = kWidth * absl::FDivDuration(sample.time - begin, length);
    const double y =
        kHeight - kHeight * static_cast<double>(sample.*member) / max;
    html->Number(x).Markup(",").Number(y).Markup(" ");
  }
}

}  // namespace

Html DepthPlot(const std::vector<DepthSample>& samples) {
  Html html;
  if (samples.empty()) return html;
  size_t max = 1;
  size_t max_queued = 0;
  for (const DepthSample& sample : samples) {
    max_queued = std::max(max_queued, sample.queued);
    max = std::max({max, sample.queued, sample.waiting, sample.failing});
  }
  html.Markup("<svg class=\"plot\" viewBox=\"0 -1 160 38\" role=\"img\">");
  html.Markup("<title>");
  html.Text(absl::StrCat(
      "The last ", ReadableDuration(samples.back().time - samples.front().time),
      ": ", ReadableNumber(samples.back().queued), " queued now, at most ",
      ReadableNumber(max_queued), "; ", ReadableNumber(samples.back().waiting),
      " waiting now; the plot ends at ", ReadableNumber(max)));
  html.Markup("</title><polyline class=\"waiting\" points=\"");
  AddPoints(samples, &DepthSample::waiting, max, &html);
  html.Markup("\"/><polyline class=\"failing\" points=\"");
  AddPoints(samples, &DepthSample::failing, max, &html);
  html.Markup("\"/><polyline class=\"queued\" points=\"");
  AddPoints(samples, &DepthSample::queued, max, &html);
  html.Markup("\"/></svg>");
  return html;
}

}  // namespace internal
}  // namespace workqueue
