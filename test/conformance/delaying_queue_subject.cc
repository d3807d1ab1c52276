// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include <memory>

#include "test/conformance/queue_subject.h"
#include "test/conformance/subjects.h"
#include "test/conformance/trace.h"
#include "workqueue/delaying_queue.h"

namespace conformance {
namespace {

class DelayingQueueSubject final : public QueueSubject {
 public:
  explicit DelayingQueueSubject(const Header& header)
      : QueueSubject(header),
        queue_(NewOptions<workqueue::DelayingQueueOptions<Item>>()) {
    OnBase(&queue_);
    OnDelaying(&queue_);
  }

 private:
  workqueue::DelayingQueue<Item> queue_;
};

}  // namespace

SubjectOr NewDelayingQueueSubject(const Header& header) {
  return std::make_unique<DelayingQueueSubject>(header);
}

}  // namespace conformance
