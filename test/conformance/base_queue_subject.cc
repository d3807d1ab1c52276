// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include <memory>

#include "test/conformance/queue_subject.h"
#include "test/conformance/subjects.h"
#include "test/conformance/trace.h"
#include "workqueue/queue.h"

namespace conformance {
namespace {

class BaseQueueSubject final : public QueueSubject {
 public:
  explicit BaseQueueSubject(const Header& header)
      : QueueSubject(header),
        queue_(NewOptions<workqueue::QueueOptions<Item>>()) {
    OnBase(&queue_);
  }

 private:
  workqueue::Queue<Item> queue_;
};

}  // namespace

SubjectOr NewBaseQueueSubject(const Header& header) {
  return std::make_unique<BaseQueueSubject>(header);
}

}  // namespace conformance
