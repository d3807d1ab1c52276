// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/time/time.h"
#include "ratelimit/rate_limiter.h"
#include "test/conformance/limiter_spec.h"
#include "test/conformance/queue_subject.h"
#include "test/conformance/subjects.h"
#include "test/conformance/trace.h"
#include "workqueue/priority_queue.h"

namespace conformance {
namespace {

class PriorityQueueSubject final : public QueueSubject {
 public:
  PriorityQueueSubject(const Header& header,
                       std::unique_ptr<workqueue::RateLimiter<Item>> limiter)
      : QueueSubject(header), queue_(NewOptions(std::move(limiter))) {
    OnBase(&queue_);
    OnDelaying(&queue_);
    OnRateLimiting(&queue_);
    On("addwith", [this](const Args& args) { return AddWith(args); });
    On("getwith", [this](const Args&) { return GetWith(); });
  }

 private:
  using Options = workqueue::PriorityQueueOptions<Item>;

  Options NewOptions(std::unique_ptr<workqueue::RateLimiter<Item>> limiter) {
    auto options = QueueSubject::NewOptions<Options>();
    options.rate_limiter = std::move(limiter);
    return options;
  }

  Result AddWith(const Args& args) {
    workqueue::AddOptions options;
    options.after = std::get<absl::Duration>(args[0]);
    options.priority = static_cast<int>(std::get<int64_t>(args[1]));
    options.rate_limited = std::get<bool>(args[2]);
    std::vector<Item> items;
    for (size_t i = 3; i < args.size(); ++i) {
      items.push_back(std::get<Item>(args[i]));
    }
    queue_.AddWithOptions(options, items);
    return Result();
  }

  Result GetWith() {
    // Get() would block forever.
    if (queue_.Len() == 0 && !queue_.ShuttingDown()) {
      return Result{std::string("<would block>")};
    }
    const auto got = queue_.GetWithPriority();
    if (!got.has_value()) return Result{std::string("<shutdown>")};
    return Result{got->item, int64_t{got->priority}};
  }

  workqueue::PriorityQueue<Item> queue_;
};

}  // namespace

SubjectOr NewPriorityQueueSubject(const Header& header) {
  auto limiter = ParseLimiter(header.limiter);
  if (!limiter.ok()) return limiter.status();
  return std::make_unique<PriorityQueueSubject>(header, *std::move(limiter));
}

}  // namespace conformance
