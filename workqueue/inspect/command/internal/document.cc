// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "workqueue/inspect/command/internal/document.h"

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "nlohmann/json.hpp"

namespace workqueue {
namespace internal {
namespace {

using Json = nlohmann::ordered_json;

Json Parse(absl::string_view text) {
  return Json::parse(text.begin(), text.end(), /*cb=*/nullptr,
                     /*allow_exceptions=*/false);
}

}  // namespace

absl::StatusOr<std::string> DocumentError(absl::string_view document) {
  const Json json = Parse(document);
  if (!json.is_object()) return absl::DataLossError("it is no JSON object");
  const auto version = json.find("version");
  if (version == json.end() || !version->is_number_integer()) {
    return absl::DataLossError("the JSON has no number \"version\"");
  }
  const auto error = json.find("error");
  if (error == json.end() || !error->is_string()) return std::string();
  return error->get<std::string>();
}

std::string AsciiDocument(absl::string_view document) {
  return Parse(document).dump(/*indent=*/-1, /*indent_char=*/' ',
                              /*ensure_ascii=*/true,
                              Json::error_handler_t::replace) +
         "\n";
}

}  // namespace internal
}  // namespace workqueue
