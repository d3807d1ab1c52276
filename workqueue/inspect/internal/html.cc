// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/inspect/internal/html.h"

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "workqueue/base/printable.h"

namespace workqueue::internal {

Html& Html::Text(absl::string_view text) {
  html_ += absl::StrReplaceAll(ToText(text), {{"&", "&amp;"},
                                              {"<", "&lt;"},
                                              {">", "&gt;"},
                                              {"\"", "&quot;"},
                                              {"'", "&#39;"}});
  return *this;
}

Html& Html::Parameter(absl::string_view text) {
  for (const char c : text) {
    if (absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '-' ||
        c == '_' || c == '.' || c == '~') {
      html_ += c;
    } else {
      absl::StrAppendFormat(&html_, "%%%02X", static_cast<unsigned char>(c));
    }
  }
  return *this;
}

}  // namespace workqueue::internal
