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

// Finds the field metadata.managedFields of objects while they are parsed.
class ManagedFields {
 public:
  // `object_depth` is the number of objects and arrays around an object.
  explicit ManagedFields(int object_depth) : object_depth_(object_depth) {}

  // Takes each event of the parser. Returns whether the field begins.
  bool Begin(int depth, Event event, const Json& value) {
    if (event != Event::key) return false;
    if (depth == object_depth_ + 1) in_metadata_ = value == "metadata";
    return depth == object_depth_ + 2 && in_metadata_ &&
           value == "managedFields";
  }

 private:
  const int object_depth_;
  bool in_metadata_ = false;
};

absl::Status InvalidJson(const Json::exception& error) {
  return absl::InternalError(absl::StrCat("invalid JSON: ", error.what()));
}

}  // namespace

absl::StatusOr<Json> ParseJson(absl::string_view text, int object_depth) {
  ManagedFields managed_fields(object_depth);
  try {
    return Json::parse(text.begin(), text.end(),
                       [&](int depth, Event event, Json& value) {
                         return !managed_fields.Begin(depth, event, value);
                       });
  } catch (const Json::exception& error) {
    return InvalidJson(error);
  }
}

absl::StatusOr<Json> ParseJsonList(
    std::istream& stream, absl::FunctionRef<void(const Json&)> on_item) {
  bool in_items = false;
  ManagedFields managed_fields(/*object_depth=*/2);
  try {
    return Json::parse(stream, [&](int depth, Event event, Json& value) {
      if (depth == 1 && event == Event::key) in_items = value == "items";
      if (depth == 2 && event == Event::object_end && in_items) {
        on_item(value);
        return false;
      }
      return !managed_fields.Begin(depth, event, value);
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
