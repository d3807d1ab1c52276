// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "examples/kubernetes/file_contents.h"

#include <stdio.h>

#include <cerrno>
#include <cstddef>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"

namespace kubernetes {
namespace {

struct Close {
  void operator()(FILE* file) const { fclose(file); }
};

}  // namespace

absl::StatusOr<std::string> ReadFile(const std::string& path) {
  const auto error = [&path] {
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot read ", path));
  };
  const std::unique_ptr<FILE, Close> file(fopen(path.c_str(), "rbe"));
  if (file == nullptr) return error();
  std::string contents;
  char buffer[4096];
  while (const size_t n = fread(buffer, 1, sizeof(buffer), file.get())) {
    contents.append(buffer, n);
  }
  if (ferror(file.get())) return error();
  return contents;
}

}  // namespace kubernetes
