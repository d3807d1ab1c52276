// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// test/reference/subject.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_TEST_REFERENCE_SUBJECT_H_
#define WORKQUEUE_TEST_REFERENCE_SUBJECT_H_

#include <string>

#include "absl/strings/string_view.h"
#include "test/reference/choices.h"

namespace reference {

// Subject
//
// Something of the library, beside a slow and obvious model of it.
struct Subject {
  absl::string_view name;

  // Makes one and its model, on a `FakeClock` of their own, and has both do
  // what `choices` say, one operation after the other, for as long as they come
  // to the same. Returns what they first disagreed on; nothing if they never
  // did.
  //
  // Appends a line to `*log` for each operation, unless that is null.
  //
  // Does the same each time, for the same choices.
  std::string (*run)(Choices choices, std::string* log);
};

// Returns the subject that the program is linked with: there is a library for
// each.
Subject LinkedSubject();

}  // namespace reference

#endif  // WORKQUEUE_TEST_REFERENCE_SUBJECT_H_
