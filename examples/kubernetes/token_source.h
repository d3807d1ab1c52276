// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// examples/kubernetes/token_source.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_EXAMPLES_KUBERNETES_TOKEN_SOURCE_H_
#define WORKQUEUE_EXAMPLES_KUBERNETES_TOKEN_SOURCE_H_

#include <sys/stat.h>

#include <mutex>  // NOLINT(build/c++11)
#include <string>

#include "absl/status/statusor.h"

namespace kubernetes {

// TokenSource
//
// This class tells the bearer token of requests. The token is constant, or
// comes from a file.
//
// Kubernetes replaces the file of a service account's token while the program
// runs. client-go reads the file again once a minute. This class looks at the
// file before each request, which takes a microsecond, and reads it again when
// its inode, its size or its times have changed. So the next request has the
// new token. If the file cannot be read then, the last token stays in use, as
// in client-go.
//
// Thread-safe.
class TokenSource {
 public:
  // If `file` is empty, the token is `token`. An empty token means that there
  // is none. If `file` is set, `token` is not used.
  TokenSource(std::string token, std::string file);

  // Returns the token, without the white space around it. It is an error if the
  // file was never readable, or if a token has a character that is not allowed
  // in a header.
  absl::StatusOr<std::string> Token();

 private:
  const std::string file_;
  std::mutex mu_;
  std::string token_;      // guarded by mu_
  struct stat read_ = {};  // the file that token_ is from; guarded by mu_
};

}  // namespace kubernetes

#endif  // WORKQUEUE_EXAMPLES_KUBERNETES_TOKEN_SOURCE_H_
