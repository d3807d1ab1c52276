// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "examples/kubernetes/json.h"

#include <initializer_list>
#include <istream>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "nlohmann/json.hpp"

namespace kubernetes {
namespace {

using Event = Json::parse_event_t;

bool IsKept(Event event, const Json& value) {
  return event != Event::key || value != "managedFields";
}

absl::Status InvalidJson(const Json::exception& error) {
  return absl::InternalError(absl::StrCat("invalid JSON: ", error.what()));
}

}  // namespace

absl::StatusOr<Json> ParseJson(absl::string_view text) {
  try {
    return Json::parse(
        text.begin(), text.end(),
        [](int, Event event, Json& value) { return IsKept(event, value); });
  } catch (const Json::exception& error) {
    return InvalidJson(error);
  }
}

absl::StatusOr<Json> ParseJsonList(
    std::istream& stream, absl::FunctionRef<void(const Json&)> on_item) {
  bool in_items = false;
  try {
    return Json::parse(stream, [&](int depth, Event event, Json& value) {
      if (depth == 1 && event == Event::key) in_items = value == "items";
      if (depth == 2 && event == Event::object_end && in_items) {
        on_item(value);
        return false;
      }
      return IsKept(event, value);
    });
  } catch (const Json::exception& error) {
    return InvalidJson(error);
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
