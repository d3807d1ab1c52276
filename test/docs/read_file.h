// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Functions that read the documents and the files to compare them with.

#ifndef WORKQUEUE_TEST_DOCS_READ_FILE_H_
#define WORKQUEUE_TEST_DOCS_READ_FILE_H_

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>

#include "absl/strings/ascii.h"
#include "gtest/gtest.h"

inline std::string ReadFile(const std::string& path) {
  std::ifstream file(path);
  EXPECT_TRUE(file.is_open()) << path;
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

inline std::string WithoutBlanks(std::string text) {
  text.erase(std::remove_if(text.begin(), text.end(),
                            [](char c) { return absl::ascii_isspace(c); }),
             text.end());
  return text;
}

#endif  // WORKQUEUE_TEST_DOCS_READ_FILE_H_
