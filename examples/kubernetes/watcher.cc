// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#include "examples/kubernetes/watcher.h"

#include <optional>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "examples/kubernetes/api_error.h"
#include "examples/kubernetes/call_pool.h"
#include "examples/kubernetes/json.h"

namespace kubernetes {
namespace {

std::optional<WatchEvent::Type> TypeOf(absl::string_view name) {
  if (name == "ADDED") return WatchEvent::Type::kAdded;
  if (name == "MODIFIED") return WatchEvent::Type::kModified;
  if (name == "DELETED") return WatchEvent::Type::kDeleted;
  if (name == "BOOKMARK") return WatchEvent::Type::kBookmark;
  return std::nullopt;
}

}  // namespace

Watcher::Watcher(CallPool::Call call, std::string request)
    : request_(std::move(request)), call_(std::move(call)) {}

absl::StatusOr<std::optional<WatchEvent>> Watcher::Next() {
  if (!end_.has_value()) {
    absl::StatusOr<std::optional<WatchEvent>> event = ReadEvent();
    if (event.ok() && event->has_value()) return event;
    end_ = event.status();
  }
  if (!end_->ok()) return *end_;
  return std::nullopt;
}

absl::StatusOr<std::optional<WatchEvent>> Watcher::ReadEvent() {
  for (;;) {
    if (call_->cancelled()) {
      return absl::CancelledError(absl::StrCat(request_, ": stopped"));
    }
    if (const auto line = lines_.TakeLine(); line.has_value()) {
      absl::StatusOr<WatchEvent> event = ParseEvent(*line);
      if (!event.ok()) return event.status();
      return *std::move(event);
    }
    const absl::StatusOr<bool> read = call_->Read(lines_.Tail());
    if (!read.ok()) {
      return absl::Status(
          read.status().code(),
          absl::StrCat(request_, ": ", read.status().message()));
    }
    if (*read) continue;
    if (!lines_.HasPartialLine()) return std::nullopt;
    return absl::UnavailableError(
        absl::StrCat(request_, ": the stream ended within an event"));
  }
}

absl::StatusOr<WatchEvent> Watcher::ParseEvent(absl::string_view line) const {
  const auto error = [this](absl::string_view reason) {
    return absl::InternalError(
        absl::StrCat(request_, ": an event of the stream: ", reason));
  };
  absl::StatusOr<Json> json = ParseJson(line, /*object_depth=*/1);
  if (!json.ok()) return error(json.status().message());
  const absl::string_view name = StringAt(*json, {"type"});
  const auto object = json->find("object");
  if (object == json->end() || !object->is_object()) {
    return error("there is no object");
  }
  if (name == "ERROR") return StatusObjectError(request_, *object);
  const std::optional<WatchEvent::Type> type = TypeOf(name);
  if (!type.has_value()) {
    return error(absl::StrCat("the type '", name, "' is unknown"));
  }
  return WatchEvent{*type, std::move(*object)};
}

}  // namespace kubernetes
