// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "examples/kubernetes/json.h"

#include <initializer_list>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "nlohmann/json.hpp"

namespace kubernetes {

absl::StatusOr<Json> ParseJson(absl::string_view text) {
  try {
    return Json::parse(text.begin(), text.end(),
                       [](int, Json::parse_event_t event, Json& value) {
                         return event != Json::parse_event_t::key ||
                                value != "managedFields";
                       });
  } catch (const Json::exception& error) {
    return absl::InternalError(absl::StrCat("invalid JSON: ", error.what()));
  }
}

absl::StatusOr<std::string> SerializeJson(const Json& json) {
  try {
    return json.dump();
  } catch (const Json::exception& error) {
    return absl::InvalidArgumentError(
        absl::StrCat("this is no JSON: ", error.what()));
  }
}

const Json* ValueAt(const Json& json, std::initializer_list<const char*> path) {
  const Json* value = &json;
  for (const char* key : path) {
    const auto found = value->find(key);  // not found if this is no object
    if (found == value->end()) return nullptr;
    value = &*found;
  }
  return value;
}

absl::string_view StringAt(const Json& json,
                           std::initializer_list<const char*> path) {
  const Json* const value = ValueAt(json, path);
  if (value == nullptr || !value->is_string()) return {};
  return value->get_ref<const std::string&>();
}

}  // namespace kubernetes
