// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "test/conformance/subjects.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "test/conformance/trace.h"
#include "test/conformance/value.h"

namespace conformance {
namespace {

struct Kind {
  const char* name;
  SubjectOr (*create)(const Header&);
};

constexpr Kind kKinds[] = {
    {"bucket", NewBucketSubject},
    {"limiter", NewLimiterSubject},
    {"queue base", NewBaseQueueSubject},
    {"queue delaying", NewDelayingQueueSubject},
    {"queue priority", NewPriorityQueueSubject},
    {"queue ratelimiting", NewRateLimitingQueueSubject},
};

}  // namespace

SubjectOr NewSubject(const Header& header) {
  for (const Kind& kind : kKinds) {
    if (header.subject == kind.name) return kind.create(header);
  }
  return absl::UnimplementedError(absl::StrCat(
      "cannot be replayed: the library has no ", Quote(header.subject)));
}

}  // namespace conformance
