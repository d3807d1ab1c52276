// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/inspect/command/internal/http_source.h"

#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "civetweb.h"
#include "workqueue/base/printable.h"
#include "workqueue/inspect/command/internal/arguments.h"
#include "workqueue/inspect/command/internal/document.h"
#include "workqueue/inspect/inspectable.h"
#include "workqueue/inspect/internal/html.h"

namespace workqueue {
namespace internal {
namespace {

// How long the server may take to send something, in milliseconds.
constexpr int kTimeout = 10'000;

// A document has at most some hundred items of a few kilobytes each. Whatever
// sends more is no inspection page.
constexpr size_t kMaxBody = size_t{64} << 20;

struct CloseConnection {
  void operator()(struct mg_connection* connection) const {
    mg_close_connection(connection);
  }
};
using Connection = std::unique_ptr<struct mg_connection, CloseConnection>;

std::string NameParameter(absl::string_view name) {
  Html html;
  html.Markup("name=").Parameter(name);
  return std::move(html).Take();
}

std::string KeyParameter(absl::string_view key) {
  Html html;
  html.Markup("&key=").Parameter(key);
  return std::move(html).Take();
}

absl::string_view NameOf(InspectAction action) {
  switch (action) {
    case InspectAction::kRequeue:
      return "requeue";
    case InspectAction::kForget:
      return "forget";
    default:  // kCancel
      return "cancel";
  }
}

absl::StatusCode CodeOf(int status) {
  switch (status) {
    case 400:
      return absl::StatusCode::kInvalidArgument;
    case 404:
      return absl::StatusCode::kNotFound;
    default:
      return absl::StatusCode::kUnavailable;
  }
}

// Returns `result`, whose error names KEY if the server does not accept it.
absl::StatusOr<std::string> NameKey(absl::string_view key,
                                    absl::StatusOr<std::string> result) {
  if (!absl::IsInvalidArgument(result.status())) return result;
  return BadArgument("KEY", key, result.status().message());
}

}  // namespace

absl::StatusOr<std::string> HttpSource::List() { return Fetch("?format=json"); }

absl::StatusOr<std::string> HttpSource::Show(const std::string& name) {
  return Fetch(absl::StrCat("?format=json&", NameParameter(name)));
}

absl::StatusOr<std::string> HttpSource::ShowKey(const std::string& name,
                                                const std::string& key) {
  return NameKey(key, Fetch(absl::StrCat("?format=json&", NameParameter(name),
                                         KeyParameter(key))));
}

absl::StatusOr<std::string> HttpSource::Act(InspectAction action,
                                            const std::string& name,
                                            const std::string& key) {
  absl::StatusOr<std::string> done =
      Fetch("", absl::StrCat("format=json&action=", NameOf(action), "&",
                             NameParameter(name), KeyParameter(key)));
  // The object may be missing, or an item to cancel does not wait.
  if (absl::IsNotFound(done.status()) && ShowKey(name, key).ok()) {
    return absl::FailedPreconditionError(done.status().message());
  }
  return NameKey(key, std::move(done));
}

absl::StatusOr<HttpSource::Response> HttpSource::Send(
    absl::string_view query, absl::string_view form) const {
  char error[256] = "";
  const Connection connection(mg_connect_client(address_.host.c_str(),
                                                address_.port, /*use_ssl=*/0,
                                                error, sizeof(error)));
  if (connection == nullptr) {
    return absl::UnavailableError(
        absl::StrCat("the server cannot be reached: ", Printable(error)));
  }
  const bool is_ipv6 = address_.host.find(':') != std::string::npos;
  std::string request =
      absl::StrCat(form.empty() ? "GET " : "POST ", address_.path, query,
                   " HTTP/1.1\r\nHost: ", is_ipv6 ? "[" : "", address_.host,
                   is_ipv6 ? "]" : "", ":", address_.port,
                   "\r\nAccept: application/json\r\nConnection: close\r\n");
  for (const auto& [name, value] : headers_) {
    absl::StrAppend(&request, name, ": ", value, "\r\n");
  }
  if (!form.empty()) {
    // The page takes no POST without the first header.
    absl::StrAppend(&request,
                    "workqueue-inspect: 1\r\n"
                    "Content-Type: application/x-www-form-urlencoded\r\n"
                    "Content-Length: ",
                    form.size(), "\r\n");
  }
  absl::StrAppend(&request, "\r\n", form);
  if (mg_write(connection.get(), request.data(), request.size()) !=
      static_cast<int>(request.size())) {
    return absl::UnavailableError("the server has closed the connection");
  }
  if (mg_get_response(connection.get(), error, sizeof(error), kTimeout) < 0) {
    return absl::UnavailableError(
        absl::StrCat("the server has not answered: ", Printable(error)));
  }

  const struct mg_response_info& info = *mg_get_response_info(connection.get());
  Response response;
  response.status = info.status_code;
  char buffer[16384];
  // Without a length, the answer ends with the connection, which is an error to
  // CivetWeb. JSON that is not complete is found later.
  int read;
  while ((read = mg_read(connection.get(), buffer, sizeof(buffer))) > 0) {
    response.body.append(buffer, static_cast<size_t>(read));
    if (response.body.size() > kMaxBody) {
      return absl::UnavailableError(
          absl::StrCat("the server has sent more than ", kMaxBody, " bytes"));
    }
  }
  if (info.content_length >= 0 &&
      static_cast<size_t>(info.content_length) != response.body.size()) {
    return absl::UnavailableError("the connection broke in the answer");
  }
  return response;
}

absl::StatusOr<std::string> HttpSource::Fetch(absl::string_view query,
                                              absl::string_view form) const {
  absl::StatusOr<Response> response = Send(query, form);
  if (!response.ok()) return response.status();
  const absl::StatusOr<std::string> error = DocumentError(response->body);
  if (!error.ok()) {
    // Says the status as well: 404 tells that the path is wrong.
    return absl::UnavailableError(absl::StrCat(
        "the answer, with HTTP status ", response->status,
        ", does not come from an inspection page: ", error.status().message()));
  }
  if (response->status == 200) return std::move(response->body);
  return absl::Status(
      CodeOf(response->status),
      absl::StrCat("the server has answered with HTTP status ",
                   response->status, ": ", Printable(*error, 1024)));
}

}  // namespace internal
}  // namespace workqueue
