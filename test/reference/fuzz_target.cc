// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The function that libFuzzer calls with the choices of a run.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <string>

#include "test/reference/failure.h"
#include "test/reference/subject.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string failure =
      reference::FindFailure(reference::LinkedSubject(), {data, size});
  if (failure.empty()) return 0;
  std::cerr << failure;
  std::abort();
}
