// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include <memory>
#include <utility>

#include "ratelimit/rate_limiter.h"
#include "test/conformance/limiter_spec.h"
#include "test/conformance/queue_subject.h"
#include "test/conformance/subjects.h"
#include "test/conformance/trace.h"
#include "workqueue/rate_limiting_queue.h"

namespace conformance {
namespace {

class RateLimitingQueueSubject final : public QueueSubject {
 public:
  RateLimitingQueueSubject(
      const Header& header,
      std::unique_ptr<workqueue::RateLimiter<Item>> limiter)
      : QueueSubject(header), queue_(NewOptions(std::move(limiter))) {
    OnBase(&queue_);
    OnDelaying(&queue_);
    OnRateLimiting(&queue_);
  }

 private:
  using Options = workqueue::RateLimitingQueueOptions<Item>;

  Options NewOptions(std::unique_ptr<workqueue::RateLimiter<Item>> limiter) {
    auto options = QueueSubject::NewOptions<Options>();
    options.rate_limiter = std::move(limiter);
    return options;
  }

  workqueue::RateLimitingQueue<Item> queue_;
};

}  // namespace

SubjectOr NewRateLimitingQueueSubject(const Header& header) {
  auto limiter = ParseLimiter(header.limiter);
  if (!limiter.ok()) return limiter.status();
  return std::make_unique<RateLimitingQueueSubject>(header,
                                                    *std::move(limiter));
}

}  // namespace conformance
