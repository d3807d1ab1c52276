// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_INSPECT_CIVETWEB_INSPECT_PAGE_H_
#define WORKQUEUE_INSPECT_CIVETWEB_INSPECT_PAGE_H_

#include <string>

#include "absl/strings/string_view.h"
#include "workqueue/inspect/inspect_handler.h"

// CivetWeb's server.
struct mg_context;

namespace workqueue {

// CivetwebInspectPage
//
// Serves an `InspectHandler` on a server of CivetWeb, such as the one that
// prometheus-cpp's `Exposer` has:
//
//     static struct mg_context* server = nullptr;
//     CivetCallbacks callbacks;
//     callbacks.init_context = [](const struct mg_context* context) {
//       server = const_cast<struct mg_context*>(context);
//     };
//     prometheus::Exposer exposer("127.0.0.1:9090", 2, &callbacks);
//     workqueue::CivetwebInspectPage page(server, "/workqueue", &handler);
//
// A body of more than 64 KiB is answered with status 413, and one that breaks
// off with 400.
class CivetwebInspectPage {
 public:
  // Serves `handler` on `path` of `server`. Neither is owned; both must outlive
  // the page. `path` begins with a slash, and has no slash at its end.
  CivetwebInspectPage(struct mg_context* server, absl::string_view path,
                      InspectHandler* handler);

  // Blocks until no request to the page is in progress.
  ~CivetwebInspectPage();

  CivetwebInspectPage(const CivetwebInspectPage&) = delete;
  CivetwebInspectPage& operator=(const CivetwebInspectPage&) = delete;

 private:
  struct mg_context* const server_;
  const std::string path_;
};

}  // namespace workqueue

#endif  // WORKQUEUE_INSPECT_CIVETWEB_INSPECT_PAGE_H_
