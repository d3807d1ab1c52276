// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_SHARED_INTERNAL_SHARED_GROUPS_H_
#define WORKQUEUE_SHARED_INTERNAL_SHARED_GROUPS_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "workqueue/base/printable.h"
#include "workqueue/fair_ordering.h"
#include "workqueue/redis/ticks.h"
#include "workqueue/shared/internal/engine.h"

namespace workqueue::internal {

// SharedGroups
//
// The groups of the items that a client of a shared queue adds, if it has any.
template <typename T>
class SharedGroups {
 public:
  static absl::Status Check(const FairOrderingOptions<T>& fair) {
    if (fair.dimensions.size() > 1) {
      return absl::InvalidArgumentError(absl::StrCat(
          "fair.dimensions has ", fair.dimensions.size(),
          " elements; a shared queue has at most one dimension of groups: see "
          "the table of its groups in docs/shared-queue.md"));
    }
    for (const FairDimension<T>& dimension : fair.dimensions) {
      if (dimension.group_of == nullptr) {
        return absl::InvalidArgumentError(
            "fair.dimensions[0].group_of is null");
      }
      if (dimension.max_in_process == 0) {
        return absl::InvalidArgumentError(
            "fair.dimensions[0].max_in_process is 0; it must be at least 1");
      }
      if (dimension.count_processing) {
        return absl::InvalidArgumentError(
            "fair.dimensions[0].count_processing is true; the groups of a "
            "shared queue take turns, whatever is being processed: see the "
            "table of its groups in docs/shared-queue.md");
      }
    }
    if (fair.max_retries_in_process == 0) {
      return absl::InvalidArgumentError(
          "fair.max_retries_in_process is 0; it must be at least 1");
    }
    return absl::OkStatus();
  }

  explicit SharedGroups(FairOrderingOptions<T> fair) : fair_(std::move(fair)) {}

  // The operation that gives the queue groups; nothing if it is to have none.
  std::optional<EngineOperation> ToSet() const {
    if (!given()) return std::nullopt;
    return EngineOperation{
        EngineOperation::kSetGroups, "",
        fair_.dimensions.empty()
            ? kForever
            : ToTicks(fair_.dimensions.front().max_in_process),
        ToTicks(fair_.max_retries_in_process)};
  }

  // The name of a bound, as that of a `FairOrdering`.
  static std::string NameOf(const EngineSnapshot::Bound& bound) {
    return bound.retries ? "retries"
                         : absl::StrCat("group ", DescribeItem(bound.group));
  }

  // What an operation says that adds `item`.
  std::string TextOf(const T& item, bool is_retry) const {
    if (!given()) return "";
    int weight = 1;
    std::string group;
    if (!fair_.dimensions.empty()) {
      const FairDimension<T>& dimension = fair_.dimensions.front();
      group = dimension.group_of(item);
      if (dimension.weight_of) {
        weight = (std::max)(1, dimension.weight_of(group));
      }
    }
    return absl::StrCat(is_retry ? "1 " : "0 ", weight, " ", group);
  }

 private:
  static constexpr size_t kUnbounded = (std::numeric_limits<size_t>::max)();

  static int64_t ToTicks(size_t bound) {
    constexpr size_t kMost = size_t{1} << 53;
    return bound < kMost ? static_cast<int64_t>(bound) : kForever;
  }

  bool given() const {
    return !fair_.dimensions.empty() ||
           fair_.max_retries_in_process != kUnbounded;
  }

  const FairOrderingOptions<T> fair_;
};

}  // namespace workqueue::internal

#endif  // WORKQUEUE_SHARED_INTERNAL_SHARED_GROUPS_H_
