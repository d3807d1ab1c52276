// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// examples/kubernetes/line_buffer.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_EXAMPLES_KUBERNETES_LINE_BUFFER_H_
#define WORKQUEUE_EXAMPLES_KUBERNETES_LINE_BUFFER_H_

#include <cstddef>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"

namespace kubernetes {

// LineBuffer
//
// This class splits a stream of bytes into lines. It looks at each byte once,
// however the stream arrives.
class LineBuffer {
 public:
  // Returns the string to append what has arrived to. This invalidates the
  // lines taken so far.
  std::string* Tail() {
    data_.erase(0, begin_);
    scanned_ -= begin_;
    begin_ = 0;
    return &data_;
  }

  // Returns the next complete line, without its end, or nothing.
  std::optional<absl::string_view> TakeLine() {
    const size_t end = data_.find('\n', scanned_);
    if (end == std::string::npos) {
      scanned_ = data_.size();
      return std::nullopt;
    }
    const auto line = absl::string_view(data_).substr(begin_, end - begin_);
    begin_ = scanned_ = end + 1;
    return line;
  }

  // Returns whether a line has begun that is not complete.
  bool HasPartialLine() const { return begin_ < data_.size(); }

 private:
  std::string data_;
  size_t begin_ = 0;    // of the line that is taken next
  size_t scanned_ = 0;  // There is no end of that line before.
};

}  // namespace kubernetes

#endif  // WORKQUEUE_EXAMPLES_KUBERNETES_LINE_BUFFER_H_
