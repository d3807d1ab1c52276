// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The function that libFuzzer calls with the choices of a run. $SUBJECT names
// the subject.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <string>

#include "test/reference/failure.h"
#include "test/reference/subject.h"

namespace {

reference::Subject NamedSubject() {
  const char* name = std::getenv("SUBJECT");
  for (const reference::Subject& subject : reference::AllSubjects()) {
    if (name != nullptr && subject.name == name) return subject;
  }
  std::cerr << "$SUBJECT names no subject\n";
  std::exit(2);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const reference::Subject subject = NamedSubject();
  const std::string failure = reference::FindFailure(subject, {data, size});
  if (failure.empty()) return 0;
  std::cerr << failure;
  std::abort();
}
