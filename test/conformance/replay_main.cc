// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include "test/conformance/replay.h"

int main(int argc, char** argv) {
  // Under `bazel run`, paths are relative to the user's working directory.
  const char* const directory = std::getenv("BUILD_WORKING_DIRECTORY");
  if (directory != nullptr && chdir(directory) != 0) {
    std::cerr << directory << ": not a directory\n";
    return 2;
  }
  return conformance::ReplayMain(
      std::vector<std::string>(argv + 1, argv + argc), std::cout, std::cerr);
}
