// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_SHARED_CODEC_H_
#define WORKQUEUE_SHARED_CODEC_H_

#include <functional>
#include <string>
#include <type_traits>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace workqueue {

// Codec
//
// The two functions by which a `SharedQueue` writes an item as bytes and reads
// it again. Example:
//
//     workqueue::Codec<Pod> codec;
//     codec.encode = [](const Pod& pod) { return pod.SerializeAsString(); };
//     codec.decode = [](absl::string_view bytes) -> absl::StatusOr<Pod> {
//       Pod pod;
//       if (pod.ParseFromString(std::string(bytes))) return pod;
//       return absl::InvalidArgumentError("no Pod");
//     };
//
// Equal items must have equal bytes, because two items of equal bytes are the
// same item. All processes that use a queue must read what the others write,
// also those of another version of the program. The bytes may have any values;
// a few dozen bytes are best.
//
// Both functions are called from any thread, and must be thread-safe.
template <typename T>
struct Codec {
  std::function<std::string(const T&)> encode;
  std::function<absl::StatusOr<T>(absl::string_view)> decode;
};

// Returns the codec of strings (their bytes) or of integers (in decimal), or
// one without functions for other types.
template <typename T>
Codec<T> DefaultCodec() {
  Codec<T> codec;
  if constexpr (std::is_same_v<T, std::string>) {
    codec.encode = [](const std::string& item) { return item; };
    codec.decode = [](absl::string_view bytes) { return std::string(bytes); };
  } else if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool> &&
                       sizeof(T) >= sizeof(int)) {
    codec.encode = [](const T& item) { return absl::StrCat(item); };
    codec.decode = [](absl::string_view bytes) -> absl::StatusOr<T> {
      T item;
      if (absl::SimpleAtoi(bytes, &item)) return item;
      return absl::InvalidArgumentError("the bytes are not such an integer");
    };
  }
  return codec;
}

}  // namespace workqueue

#endif  // WORKQUEUE_SHARED_CODEC_H_
