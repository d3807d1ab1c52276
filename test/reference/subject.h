// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// test/reference/subject.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_TEST_REFERENCE_SUBJECT_H_
#define WORKQUEUE_TEST_REFERENCE_SUBJECT_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "test/reference/choices.h"

namespace reference {

// Subject
//
// An object of the library together with a slow but obviously correct model of
// it.
struct Subject {
  absl::string_view name;

  // Creates the object and its model on a `FakeClock`. Performs the operations
  // in `choices` on both, one after the other, until they disagree. Returns the
  // first disagreement, or an empty string if there is none.
  //
  // Appends a line to `*log` for each operation, unless `log` is null.
  //
  // Deterministic: the same choices give the same run.
  std::string (*run)(Choices choices, std::string* log);

  // The test does so many times fewer operations.
  int64_t slowness = 1;
};

// Returns the subject that the program is linked with. Each subject has a
// library that defines this function.
Subject LinkedSubject();

}  // namespace reference

#endif  // WORKQUEUE_TEST_REFERENCE_SUBJECT_H_
