// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_INSPECT_INTERNAL_KEY_TEXT_H_
#define WORKQUEUE_INSPECT_INTERNAL_KEY_TEXT_H_

#include <limits>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "workqueue/base/printable.h"
#include "workqueue/shared/codec.h"

namespace workqueue::internal {

// KeyText
//
// Writes items as the keys of an inspection, and reads such keys.
template <typename T>
class KeyText {
 public:
  // The functions of `codec` may be null.
  explicit KeyText(Codec<T> codec) : codec_(std::move(codec)) {}

  // Returns the key of `item`, which is never cut if there is a codec.
  std::string Of(const T& item) const {
    if (codec_.encode == nullptr) return DescribeItem(item);
    return Printable(codec_.encode(item), (std::numeric_limits<size_t>::max)());
  }

  // Returns the item that `key` names. Returns `absl::UnimplementedError`
  // without a codec, and `absl::InvalidArgumentError` if `key` is not a key.
  absl::StatusOr<T> Parse(absl::string_view key) const {
    if (codec_.decode == nullptr) {
      return absl::UnimplementedError(
          "items cannot be found by their keys, because the queue was added "
          "without a codec that reads them");
    }
    std::string bytes;
    std::string error;
    if (!absl::CUnescape(key, &bytes, &error)) {
      return absl::InvalidArgumentError(
          absl::StrCat("key \"", Printable(key), "\": ", error));
    }
    absl::StatusOr<T> item = codec_.decode(bytes);
    if (item.ok()) return item;
    return absl::InvalidArgumentError(absl::StrCat(
        "key \"", Printable(key), "\": ", item.status().message()));
  }

 private:
  const Codec<T> codec_;
};

}  // namespace workqueue::internal

#endif  // WORKQUEUE_INSPECT_INTERNAL_KEY_TEXT_H_
