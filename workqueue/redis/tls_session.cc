// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/redis/tls_session.h"

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "workqueue/redis/redis_options.h"

#ifdef WORKQUEUE_TLS

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509_vfy.h>

#include <cstddef>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace workqueue {
namespace internal {
namespace {

struct Free {
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
  void operator()(SSL* ssl) const { SSL_free(ssl); }
};

// Returns what was wrong first since `ERR_clear_error()`, in words.
std::string FirstError() {
  const auto code = ERR_peek_error();
  ERR_clear_error();
  // OpenSSL 3 has no words for the system's errors.
  if (ERR_GET_LIB(code) == ERR_LIB_SYS) return strerror(ERR_GET_REASON(code));
  const char* const words = ERR_reason_error_string(code);
  return words != nullptr ? words : absl::StrCat("error ", code);
}

absl::Status BadFile(absl::string_view field, absl::string_view value) {
  return absl::InvalidArgumentError(
      absl::StrCat("tls.", field, " is \"", value, "\": ", FirstError()));
}

// A key with a passphrase is refused: by default OpenSSL asks the terminal.
int NoPassphrase(char*, int, int, void*) { return 0; }

absl::Status LoadFiles(const RedisTlsOptions& options, SSL_CTX* context) {
  const std::string& ca_file = options.ca_file;
  const std::string& ca_directory = options.ca_directory;
  if (ca_file.empty() && ca_directory.empty()) {
    SSL_CTX_set_default_verify_paths(context);
  }
  if (!ca_file.empty() &&
      SSL_CTX_load_verify_locations(context, ca_file.c_str(), nullptr) != 1) {
    return BadFile("ca_file", ca_file);
  }
  if (!ca_directory.empty() &&
      SSL_CTX_load_verify_locations(context, nullptr, ca_directory.c_str()) !=
          1) {
    return BadFile("ca_directory", ca_directory);
  }
  if (options.certificate_file.empty()) return absl::OkStatus();
  if (SSL_CTX_use_certificate_chain_file(
          context, options.certificate_file.c_str()) != 1) {
    return BadFile("certificate_file", options.certificate_file);
  }
  SSL_CTX_set_default_passwd_cb(context, NoPassphrase);
  // Also checks that it is the key of the certificate.
  if (SSL_CTX_use_PrivateKey_file(context, options.key_file.c_str(),
                                  SSL_FILETYPE_PEM) != 1) {
    return BadFile("key_file", options.key_file);
  }
  return absl::OkStatus();
}

// Lets the server's certificate be that of `name`, and tells the server the
// name, unless it is a number.
bool SetName(const std::string& name, SSL* ssl) {
  if (X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), name.c_str()) == 1) {
    return true;
  }
  ERR_clear_error();
  return SSL_set1_host(ssl, name.c_str()) == 1 &&
         SSL_set_tlsext_host_name(ssl, name.c_str()) == 1;
}

class OpenSslSession final : public TlsSession {
 public:
  OpenSslSession(std::unique_ptr<SSL_CTX, Free> context,
                 std::unique_ptr<SSL, Free> ssl, BIO* in, BIO* out)
      : context_(std::move(context)),
        ssl_(std::move(ssl)),
        in_(in),
        out_(out) {}

  absl::StatusOr<bool> Handshake() override {
    ERR_clear_error();
    const int result = SSL_do_handshake(ssl_.get());
    if (result == 1) return true;
    if (SSL_get_error(ssl_.get(), result) == SSL_ERROR_WANT_READ) return false;
    const auto verified = SSL_get_verify_result(ssl_.get());
    return absl::FailedPreconditionError(absl::StrCat(
        "TLS: ", verified == X509_V_OK
                     ? FirstError()
                     : absl::StrCat("the server's certificate is refused: ",
                                    X509_verify_cert_error_string(verified))));
  }

  void Feed(absl::string_view received) override {
    // Takes all: it grows.
    BIO_write(in_, received.data(), static_cast<int>(received.size()));
  }

  absl::StatusOr<std::string> Decrypt() override {
    std::string plain;
    char buffer[16384];
    while (true) {
      ERR_clear_error();
      const int size = SSL_read(ssl_.get(), buffer, sizeof(buffer));
      if (size > 0) {
        plain.append(buffer, static_cast<size_t>(size));
        continue;
      }
      const int error = SSL_get_error(ssl_.get(), size);
      if (error == SSL_ERROR_WANT_READ || !plain.empty()) return plain;
      return absl::UnknownError(error == SSL_ERROR_ZERO_RETURN
                                    ? "the server has closed the connection"
                                    : absl::StrCat("TLS: ", FirstError()));
    }
  }

  absl::Status Encrypt(absl::string_view plain) override {
    ERR_clear_error();
    if (SSL_write(ssl_.get(), plain.data(), static_cast<int>(plain.size())) >
        0) {
      return absl::OkStatus();
    }
    return absl::UnavailableError(absl::StrCat("TLS: ", FirstError()));
  }

  std::string TakeOutput() override {
    std::string output(BIO_pending(out_), '\0');
    if (!output.empty()) {
      BIO_read(out_, &output[0], static_cast<int>(output.size()));
    }
    return output;
  }

 private:
  const std::unique_ptr<SSL_CTX, Free> context_;
  const std::unique_ptr<SSL, Free> ssl_;
  BIO* const in_;  // belong to `ssl_`
  BIO* const out_;
};

}  // namespace

bool TlsSession::IsBuiltIn() { return true; }

absl::StatusOr<std::unique_ptr<TlsSession>> TlsSession::Create(
    const RedisTlsOptions& options, const std::string& host) {
  ERR_clear_error();
  std::unique_ptr<SSL_CTX, Free> context(SSL_CTX_new(TLS_client_method()));
  if (context == nullptr) return absl::ResourceExhaustedError(FirstError());
  SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
  const absl::Status status = LoadFiles(options, context.get());
  if (!status.ok()) return status;
  std::unique_ptr<SSL, Free> ssl(SSL_new(context.get()));
  BIO* const in = BIO_new(BIO_s_mem());
  BIO* const out = BIO_new(BIO_s_mem());
  if (ssl == nullptr || in == nullptr || out == nullptr) {
    BIO_free(in);
    BIO_free(out);
    return absl::ResourceExhaustedError(FirstError());
  }
  SSL_set_bio(ssl.get(), in, out);
  SSL_set_connect_state(ssl.get());
  const std::string& name =
      options.server_name.empty() ? host : options.server_name;
  if (!SetName(name, ssl.get())) {
    return absl::InvalidArgumentError(
        absl::StrCat("\"", name, "\" is no name of a server for TLS"));
  }
  return std::make_unique<OpenSslSession>(std::move(context), std::move(ssl),
                                          in, out);
}

}  // namespace internal
}  // namespace workqueue

#else

namespace workqueue {
namespace internal {

bool TlsSession::IsBuiltIn() { return false; }

absl::StatusOr<std::unique_ptr<TlsSession>> TlsSession::Create(
    const RedisTlsOptions&, const std::string&) {
  return absl::FailedPreconditionError("this library was built without TLS");
}

}  // namespace internal
}  // namespace workqueue

#endif  // WORKQUEUE_TLS
