// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "test/reference/failure.h"

#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "test/reference/choices.h"
#include "test/reference/shrink.h"
#include "test/reference/subject.h"

namespace reference {

std::string FindFailure(const Subject& subject,
                        absl::Span<const uint8_t> bytes) {
  if (subject.run(Choices(bytes), /*log=*/nullptr).empty()) return "";

  const std::vector<uint8_t> shrunk =
      Shrink(std::vector<uint8_t>(bytes.begin(), bytes.end()),
             [&subject](const std::vector<uint8_t>& fewer) {
               return !subject.run(Choices(fewer), /*log=*/nullptr).empty();
             });
  std::string log;
  const std::string disagreement = subject.run(Choices(shrunk), &log);
  const std::string hex = absl::BytesToHexString(absl::string_view(
      reinterpret_cast<const char*>(shrunk.data()), shrunk.size()));
  const char* test = std::getenv("TEST_TARGET");  // Bazel sets it.
  if (test == nullptr) test = "//test/reference:reference_tests";
  return absl::StrCat(subject.name, " and its model disagree: ", disagreement,
                      "\nafter\n", log, "To repeat it:\n  tools/bazelw run ",
                      test, " -- --subject=", subject.name, " --replay=", hex,
                      "\n");
}

}  // namespace reference
