// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/inspect/civetweb_inspect_page.h"

#include <cstddef>
#include <map>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "civetweb.h"
#include "workqueue/base/exceptions.h"
#include "workqueue/inspect/inspect_handler.h"

namespace workqueue {
namespace {

constexpr size_t kMaxBody = 64 * 1024;

std::string Decode(absl::string_view text) {
  std::string decoded(text.size() + 1, '\0');  // room for a terminating zero
  const int size = mg_url_decode(text.data(), static_cast<int>(text.size()),
                                 &decoded[0], static_cast<int>(decoded.size()),
                                 /*is_form_url_encoded=*/1);
  decoded.resize(size < 0 ? 0 : size);
  return decoded;
}

// Adds the parameters of a query or a form to `*parameters`.
void AddParameters(absl::string_view text,
                   std::map<std::string, std::string>* parameters) {
  for (const absl::string_view pair : absl::StrSplit(text, '&')) {
    if (pair.empty()) continue;
    const size_t equals = pair.find('=');
    (*parameters)[Decode(pair.substr(0, equals))] =
        equals == pair.npos ? "" : Decode(pair.substr(equals + 1));
  }
}

// Reads the body of a request into `body`. Returns the status of the response:
// 200 if the whole body has come, so that nobody acts on a part of it.
int ReadBody(struct mg_connection* connection, std::string* body) {
  body->resize(kMaxBody + 1);
  size_t size = 0;
  int read = 1;
  while (size < body->size() && read > 0) {
    read = mg_read(connection, &(*body)[size], body->size() - size);
    if (read > 0) size += read;
  }
  if (size > kMaxBody) return 413;
  body->resize(size);
  // A chunked body has no length before it, and ends with an empty chunk.
  const auto length = mg_get_request_info(connection)->content_length;
  if (read < 0 || (length >= 0 && size < static_cast<size_t>(length))) {
    return 400;
  }
  return 200;
}

// Sends `response`. The length of a response to a HEAD is among its headers.
void Send(struct mg_connection* connection, const InspectResponse& response,
          bool is_head) {
  mg_response_header_start(connection, response.status);
  for (const auto& [name, value] : response.headers) {
    mg_response_header_add(connection, name.c_str(), value.data(),
                           static_cast<int>(value.size()));
  }
  if (!is_head) {
    const std::string length = std::to_string(response.body.size());
    mg_response_header_add(connection, "Content-Length", length.c_str(), -1);
  }
  mg_response_header_send(connection);
  mg_write(connection, response.body.data(), response.body.size());
}

// Answers a request. Returns the status of the response.
int Respond(struct mg_connection* connection, InspectHandler* handler) {
  const struct mg_request_info* const info = mg_get_request_info(connection);
  InspectRequest request;
  request.method = info->request_method;
  if (info->query_string != nullptr) {
    AddParameters(info->query_string, &request.parameters);
  }
  for (int i = 0; i < info->num_headers; ++i) {
    request.headers[absl::AsciiStrToLower(info->http_headers[i].name)] =
        info->http_headers[i].value;
  }
  InspectResponse response;
  response.status = 200;
  if (request.method == "POST") {
    std::string body;
    response.status = ReadBody(connection, &body);
    AddParameters(body, &request.parameters);
  }
  if (response.status == 200) {
    response = handler->Handle(request);
  }
  Send(connection, response, request.method == "HEAD");
  return response.status;
}

// Called by CivetWeb, which is C: no exception may leave this function.
int OnRequest(struct mg_connection* connection, void* handler) {
  int status = 500;
  if (!internal::TryCall([&] {
        status = Respond(connection, static_cast<InspectHandler*>(handler));
      })) {
    mg_send_http_error(connection, status, "%s", "out of memory");
  }
  return status;
}

}  // namespace

CivetwebInspectPage::CivetwebInspectPage(struct mg_context* server,
                                         absl::string_view path,
                                         InspectHandler* handler)
    : server_(server), path_(path) {
  mg_set_request_handler(server_, path_.c_str(), OnRequest, handler);
}

CivetwebInspectPage::~CivetwebInspectPage() {
  mg_set_request_handler(server_, path_.c_str(), nullptr, nullptr);
}

}  // namespace workqueue
