// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_INSPECT_INTERNAL_PAGE_H_
#define WORKQUEUE_INSPECT_INTERNAL_PAGE_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "workqueue/inspect/inspection_registry.h"

namespace workqueue::internal {

// The numbers of items in each list of a page or a document. The overview shows
// findings, for which a few items suffice.
constexpr size_t kMaxItems = 100;
constexpr size_t kMaxItemsOfOverview = 5;

// The options of all pages.
struct PageOptions {
  // Whether the pages are text for a terminal, and not HTML.
  bool text = false;

  // Of HTML: the nonce of the page's script and style, which the response's
  // policy names.
  std::string nonce = {};

  // Of HTML: the token of the forms that change items. Empty for a page without
  // such forms.
  std::string token = {};
};

// Return the pages of an `InspectHandler`, as UTF-8.
std::string OverviewPage(const std::vector<NamedInspection>& objects,
                         const PageOptions& options);
std::string ObjectPage(const NamedInspection& object,
                       const PageOptions& options);
std::string KeyPage(const NamedInspection& object, absl::string_view key,
                    const PageOptions& options);
std::string ErrorPage(absl::string_view message, const PageOptions& options);

// Returns `text` on one line, in characters that a terminal displays and does
// not act on. Leaves backslashes as they are: the keys and errors of an
// inspection are escaped already, and a key must stay a key.
std::string TerminalText(absl::string_view text);

}  // namespace workqueue::internal

#endif  // WORKQUEUE_INSPECT_INTERNAL_PAGE_H_
