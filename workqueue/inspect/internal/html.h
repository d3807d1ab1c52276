// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_INSPECT_INTERNAL_HTML_H_
#define WORKQUEUE_INSPECT_INTERNAL_HTML_H_

#include <cstddef>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace workqueue::internal {

// Html
//
// Writes HTML. Markup comes only from string literals. All other text is
// escaped, so that it can be neither markup nor the end of an attribute's value
// in quotes.
//
//     Html html;
//     html.Markup("<p title=\"").Text(key).Markup("\">").Text(key);
class Html {
 public:
  template <size_t N>
  Html& Markup(const char (&markup)[N]) {
    html_.append(markup, N - 1);
    return *this;
  }

  // Appends `text`, escaped. Control characters, and bytes that are not UTF-8,
  // become U+FFFD.
  Html& Text(absl::string_view text);

  // Appends a number.
  template <typename N>
  Html& Number(N n) {
    absl::StrAppend(&html_, n);
    return *this;
  }

  // Appends `text`, escaped for the value of a parameter in the query of a URL.
  Html& Parameter(absl::string_view text);

  // Appends the HTML of `other`.
  Html& Append(const Html& other) {
    html_ += other.html_;
    return *this;
  }

  std::string Take() && { return std::move(html_); }

 private:
  std::string html_;
};

}  // namespace workqueue::internal

#endif  // WORKQUEUE_INSPECT_INTERNAL_HTML_H_
