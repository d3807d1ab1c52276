// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "test/prometheus/exposition.h"

#include <algorithm>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "gtest/gtest.h"
#include "prometheus/collectable.h"
#include "prometheus/text_serializer.h"

namespace workqueue {
namespace {

// Adds the comment `line`, which is a name and the rest, without its `# HELP `
// or
// `# TYPE `.
void ParseComment(absl::string_view line,
                  std::map<std::string, std::string>& rests) {
  const std::pair<std::string, std::string> name_and_rest =
      absl::StrSplit(line, absl::MaxSplits(' ', 1));
  EXPECT_TRUE(rests.insert(name_and_rest).second) << "twice: " << line;
}

// Returns `series` with its labels sorted.
std::string Sorted(absl::string_view series) {
  const std::pair<absl::string_view, absl::string_view> name_and_labels =
      absl::StrSplit(series, absl::MaxSplits('{', 1));
  absl::string_view labels = name_and_labels.second;
  if (!absl::ConsumeSuffix(&labels, "}")) return std::string(series);
  std::vector<absl::string_view> sorted = absl::StrSplit(labels, ',');
  std::sort(sorted.begin(), sorted.end());
  return absl::StrCat(name_and_labels.first, "{", absl::StrJoin(sorted, ","),
                      "}");
}

void ParseSample(absl::string_view line,
                 std::map<std::string, double>& samples) {
  const std::pair<absl::string_view, absl::string_view> series_and_value =
      absl::StrSplit(line, absl::MaxSplits(' ', 1));
  double value = 0;
  EXPECT_TRUE(absl::SimpleAtod(series_and_value.second, &value))
      << "no number: " << line;
  EXPECT_TRUE(samples.emplace(Sorted(series_and_value.first), value).second)
      << "twice: " << line;
}

}  // namespace

std::map<std::string, double> Exposition::SamplesOf(
    absl::string_view prefix) const {
  std::map<std::string, double> found;
  for (const auto& [series, value] : samples) {
    if (absl::StartsWith(series, prefix)) found.emplace(series, value);
  }
  return found;
}

Exposition ParseExposition(absl::string_view text) {
  Exposition exposition;
  for (absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    if (absl::ConsumePrefix(&line, "# HELP ")) {
      ParseComment(line, exposition.helps);
    } else if (absl::ConsumePrefix(&line, "# TYPE ")) {
      ParseComment(line, exposition.types);
    } else {
      ParseSample(line, exposition.samples);
    }
  }
  return exposition;
}

Exposition Scrape(const prometheus::Collectable& metrics) {
  std::ostringstream text;
  prometheus::TextSerializer().Serialize(text, metrics.Collect());
  return ParseExposition(text.str());
}

}  // namespace workqueue
