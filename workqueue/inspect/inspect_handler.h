// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_INSPECT_INSPECT_HANDLER_H_
#define WORKQUEUE_INSPECT_INSPECT_HANDLER_H_

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "workqueue/inspect/inspection_registry.h"

namespace workqueue {

// InspectRequest
//
// An HTTP request, as an HTTP server has parsed it.
struct InspectRequest {
  std::string method = "GET";

  // The parameters of the query and, of a POST, of the form in the body (of
  // type application/x-www-form-urlencoded). Decoded.
  std::map<std::string, std::string> parameters;

  // The headers. Their names are in lower case.
  std::map<std::string, std::string> headers;
};

// InspectResponse
//
// The response to an `InspectRequest`.
struct InspectResponse {
  int status = 200;
  std::vector<std::pair<std::string, std::string>> headers;
  std::string body;
};

// InspectHandlerOptions
//
// Options for an `InspectHandler`. Every field has a usable default.
struct InspectHandlerOptions {
  // Decides whether the sender of a request may change an item. Returns OK or
  // the reason for the refusal, which the response contains. If it throws, the
  // response has the exception, and status 500. Called from any thread. Null,
  // the default, refuses all changes.
  std::function<absl::Status(const InspectRequest&)> authorizer;

  // The names of hosts that the page is served as, for example
  // "queues.example.com". A page is always served as "localhost", and as an IP
  // address. Capital letters and ports don't matter. Of a URL, the host counts.
  std::vector<std::string> hosts = {};
};

// InspectHandler
//
// The page of an `InspectionRegistry`, and the same as text for a terminal, and
// as JSON. Mount it on a path of an HTTP server: `CivetwebInspectPage` does so
// for CivetWeb, and any other server calls `Handle()`.
//
//     InspectHandler handler(registry.get());
//     server.Get("/workqueue", [&](const auto& request, auto& response) {
//       InspectResponse page =
//           handler.Handle({"GET", request.parameters, request.headers});
//       ...
//     });
//
// The page has one path. These parameters choose what a GET returns:
//
//   * none: an overview of all objects,
//   * `name`: the page of one object,
//   * `name` and `key`: one item of this object,
//   * `format=json` with any of these: the same as JSON, as docs/inspection.md
//     describes it,
//   * `format=text` with any of these: the same as text, in aligned columns.
//     Control characters and bytes that are not UTF-8 are escaped.
//
// Another `format`, and a `key` without a `name`, are refused with status 400.
// Without `format`, a request whose header `accept` does not name "text/html"
// gets text: curl accepts anything, and browsers name HTML. A request without
// this header gets HTML.
//
// The response to a HEAD is that to a GET, without the body. Its header
// `Content-Length` has the size of the body.
//
// A POST changes the item `key` of the object `name`. The parameter `action` is
// `requeue`, `forget` or `cancel`; see `InspectAction`. The authorizer must
// permit the POST. Besides, a POST must have a header `workqueue-inspect`, with
// any value, or the parameter `token` of the page's own forms. Other web sites
// can make a browser send neither. The response as text or JSON is that to a
// GET of the item afterwards.
//
// A web site can give its own name the address of this server, and so make a
// browser take the page for the site's. So a request whose header `host` has
// another name than `InspectHandlerOptions::hosts` allows is refused, with
// status 403. So is one whose header `origin` is neither the host of the
// request nor one of `hosts`. A request without these headers comes from no
// browser, and is answered.
//
// The page reads without JavaScript. With JavaScript, it refreshes itself every
// two seconds. It loads nothing from other servers. All texts are escaped, and
// the response forbids every script but the page's own. Every reader of the
// page sees the keys and the errors: serve it where only operators can reach
// it.
//
// Thread-safe.
class InspectHandler {
 public:
  // `registry` is not owned. It must not be null, and must outlive the handler.
  explicit InspectHandler(InspectionRegistry* registry,
                          InspectHandlerOptions options = {});

  InspectHandler(const InspectHandler&) = delete;
  InspectHandler& operator=(const InspectHandler&) = delete;

  // Returns the response to `request`. Blocks as the registry's functions do.
  // Throws only if there is no memory for the response to an exception.
  InspectResponse Handle(const InspectRequest& request);

 private:
  // `Handle()`, but the response to a HEAD has the body.
  InspectResponse Answer(const InspectRequest& request);
  InspectResponse Get(const InspectRequest& request);
  InspectResponse Post(const InspectRequest& request);

  InspectionRegistry* const registry_;
  const InspectHandlerOptions options_;
  const std::string token_;  // a secret of this process
};

}  // namespace workqueue

#endif  // WORKQUEUE_INSPECT_INSPECT_HANDLER_H_
