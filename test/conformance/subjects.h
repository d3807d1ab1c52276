// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_TEST_CONFORMANCE_SUBJECTS_H_
#define WORKQUEUE_TEST_CONFORMANCE_SUBJECTS_H_

#include <memory>

#include "absl/status/statusor.h"
#include "test/conformance/subject.h"
#include "test/conformance/trace.h"

namespace conformance {

using SubjectOr = absl::StatusOr<std::unique_ptr<Subject>>;

// Returns the subject that `header` names. Returns an error if the library has
// no such object or rejects the arguments.
SubjectOr NewSubject(const Header& header);

// The functions that `NewSubject()` chooses from. Each is in its own file.
SubjectOr NewBaseQueueSubject(const Header& header);
SubjectOr NewBucketSubject(const Header& header);
SubjectOr NewDelayingQueueSubject(const Header& header);
SubjectOr NewLimiterSubject(const Header& header);
SubjectOr NewPriorityQueueSubject(const Header& header);
SubjectOr NewRateLimitingQueueSubject(const Header& header);

}  // namespace conformance

#endif  // WORKQUEUE_TEST_CONFORMANCE_SUBJECTS_H_
