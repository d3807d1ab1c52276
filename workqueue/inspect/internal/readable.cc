// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/inspect/internal/readable.h"

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace workqueue::internal {

std::string ReadableDuration(absl::Duration d) {
  if (d == absl::InfiniteDuration()) return "inf";
  if (d <= absl::ZeroDuration()) return "0s";
  constexpr absl::Duration kDay = absl::Hours(24);
  absl::Duration unit = kDay;
  if (d < absl::Seconds(1)) {
    unit = absl::Milliseconds(1);
  } else if (d < absl::Seconds(10)) {
    unit = absl::Milliseconds(100);
  } else if (d < absl::Hours(1)) {
    unit = absl::Seconds(1);
  } else if (d < kDay) {
    unit = absl::Minutes(1);
  } else if (d < 100 * kDay) {
    unit = absl::Hours(1);
  }
  if (d < unit) return "<1ms";
  d = absl::Trunc(d, unit);
  if (d < kDay) return absl::FormatDuration(d);
  const int64_t days = absl::IDivDuration(d, kDay, &d);
  const std::string text = absl::StrCat(days, "d");
  return d == absl::ZeroDuration()
             ? text
             : absl::StrCat(text, absl::ToInt64Hours(d), "h");
}

std::string ReadableTime(absl::Time time, absl::Time now) {
  const absl::TimeZone utc = absl::UTCTimeZone();
  const bool today = absl::ToCivilDay(time, utc) == absl::ToCivilDay(now, utc);
  return absl::FormatTime(today ? "%H:%M:%S UTC" : "%Y-%m-%d %H:%M:%S UTC",
                          time, utc);
}

std::string ReadableNumber(size_t n) {
  std::string text = absl::StrCat(n);
  for (size_t end = text.size(); end > 3; end -= 3) text.insert(end - 3, ",");
  return text;
}

std::string ReadableCount(size_t n, absl::string_view noun) {
  return absl::StrCat(ReadableNumber(n), " ", noun, n == 1 ? "" : "s");
}

}  // namespace workqueue::internal
