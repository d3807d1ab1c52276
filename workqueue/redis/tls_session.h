// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_REDIS_TLS_SESSION_H_
#define WORKQUEUE_REDIS_TLS_SESSION_H_

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "workqueue/redis/redis_options.h"

namespace workqueue::internal {

// TlsSession
//
// The client's side of TLS, without a socket: the caller passes on what the
// server sends, and sends what `TakeOutput()` returns. So it waits for nothing,
// and needs nothing of hiredis, whose TLS has a socket of its own.
//
// Not thread-safe.
class TlsSession {
 public:
  // Whether the library was built with OpenSSL.
  static bool IsBuiltIn();

  // Begins a session with a server that must be `host`. Reads the files of
  // `options`. Returns an `absl::InvalidArgumentError` that names the field if
  // one of them is wrong.
  static absl::StatusOr<std::unique_ptr<TlsSession>> Create(
      const RedisTlsOptions& options, const std::string& host);

  virtual ~TlsSession() = default;

  // Goes on with the handshake. Returns whether it is complete, or an
  // `absl::FailedPreconditionError` if the server, or this client for the
  // server, is not who it must be. There may be output after an error, too.
  virtual absl::StatusOr<bool> Handshake() = 0;

  // Passes on what the server has sent.
  virtual void Feed(absl::string_view received) = 0;

  // Returns what the server has sent, as far as it is complete.
  virtual absl::StatusOr<std::string> Decrypt() = 0;

  // `plain` is not empty, and has 64 KiB at most.
  virtual absl::Status Encrypt(absl::string_view plain) = 0;

  // Returns what is to be sent.
  virtual std::string TakeOutput() = 0;
};

}  // namespace workqueue::internal

#endif  // WORKQUEUE_REDIS_TLS_SESSION_H_
