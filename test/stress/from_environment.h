// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_TEST_STRESS_FROM_ENVIRONMENT_H_
#define WORKQUEUE_TEST_STRESS_FROM_ENVIRONMENT_H_

#include <cstdlib>

#include "absl/strings/numbers.h"
#include "gtest/gtest.h"

namespace workqueue {

// Returns the integer in the environment variable `name`, or `otherwise` if it
// is not set.
inline int FromEnvironment(const char* name, int otherwise) {
  const char* const value = std::getenv(name);
  int number = otherwise;
  if (value != nullptr && !absl::SimpleAtoi(value, &number)) {
    ADD_FAILURE() << name << " is " << value << ", which is no number";
  }
  return number;
}

}  // namespace workqueue

#endif  // WORKQUEUE_TEST_STRESS_FROM_ENVIRONMENT_H_
