// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// examples/kubernetes/json.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_EXAMPLES_KUBERNETES_JSON_H_
#define WORKQUEUE_EXAMPLES_KUBERNETES_JSON_H_

#include <initializer_list>
#include <istream>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "nlohmann/json.hpp"

namespace kubernetes {

using Json = nlohmann::json;

// Parses `text`. Leaves out the field metadata.managedFields of an object,
// which is often its largest part. The object is `text` itself if
// `object_depth` is 0, and the value of a field of `text` if it is 1. An error
// tells where the text is wrong.
absl::StatusOr<Json> ParseJson(absl::string_view text, int object_depth = 0);

// Parses the text of a list from `stream`, up to its end. Calls `on_item` with
// each object in the list's array "items" as soon as the object is complete.
// Returns the list without these objects. Leaves out their
// metadata.managedFields, too.
absl::StatusOr<Json> ParseJsonList(
    std::istream& stream, absl::FunctionRef<void(const Json&)> on_item);

// Returns the text of `json`. It is an error if a string in it is not UTF-8.
absl::StatusOr<std::string> SerializeJson(const Json& json);

// Returns the value at `path` in `json`, or null if there is none. The keys are
// those of nested objects. The result lives in `json`.
const Json* ValueAt(const Json& json, std::initializer_list<const char*> path);

// Returns the string at `path`. It is empty if there is none, or if the value
// there is no string.
absl::string_view StringAt(const Json& json,
                           std::initializer_list<const char*> path);

}  // namespace kubernetes

#endif  // WORKQUEUE_EXAMPLES_KUBERNETES_JSON_H_
