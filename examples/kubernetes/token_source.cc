// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "examples/kubernetes/token_source.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <mutex>  // NOLINT(build/c++11)
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "examples/kubernetes/file_contents.h"

namespace kubernetes {
namespace {

bool SameTime(const struct timespec& a, const struct timespec& b) {
  return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

bool SameFile(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino &&
         a.st_size == b.st_size && SameTime(a.st_mtim, b.st_mtim) &&
         SameTime(a.st_ctim, b.st_ctim);
}

// Reads the token in `file`.
absl::StatusOr<std::string> ReadToken(const std::string& file) {
  const absl::StatusOr<std::string> contents = ReadFile(file);
  if (!contents.ok()) return contents;
  std::string token(absl::StripAsciiWhitespace(*contents));
  if (token.empty()) {
    return absl::FailedPreconditionError(
        absl::StrCat("the file of the token, ", file, ", is empty"));
  }
  return token;
}

}  // namespace

TokenSource::TokenSource(std::string token, std::string file)
    : file_(std::move(file)) {
  if (file_.empty()) token_ = std::string(absl::StripAsciiWhitespace(token));
}

absl::StatusOr<std::string> TokenSource::Token() {
  const std::lock_guard<std::mutex> lock(mu_);
  if (!file_.empty()) {
    struct stat now = {};
    // Look before reading: a later change then is a change at the next look.
    const bool exists = stat(file_.c_str(), &now) == 0;
    if (token_.empty() || (exists && !SameFile(now, read_))) {
      absl::StatusOr<std::string> token = ReadToken(file_);
      if (token.ok()) {
        token_ = *std::move(token);
        read_ = now;
      } else if (token_.empty()) {
        return token;
      }
    }
  }
  if (std::any_of(token_.begin(), token_.end(),
                  [](unsigned char c) { return absl::ascii_iscntrl(c); })) {
    return absl::InvalidArgumentError(
        absl::StrCat("the token", file_.empty() ? "" : " in ", file_,
                     " has a control character"));
  }
  return token_;
}

}  // namespace kubernetes
