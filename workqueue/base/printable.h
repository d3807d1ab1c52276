// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

#ifndef WORKQUEUE_BASE_PRINTABLE_H_
#define WORKQUEUE_BASE_PRINTABLE_H_

#include <cstddef>
#include <ostream>
#include <sstream>
#include <string>
#include <type_traits>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"

namespace workqueue::internal {

// The numbers of bytes of a name or an item, and of an error, that messages and
// printed snapshots contain.
constexpr size_t kPrintedItemBytes = 256;
constexpr size_t kPrintedErrorBytes = 1024;

// Returns `text` on one line, in characters that a terminal displays and does
// not act on. Escapes these bytes as `absl::CEscape()` does:
//
//   * backslashes,
//   * control characters, including those from U+0080 to U+009F,
//   * U+2028 to U+202E and U+2066 to U+2069, which break lines or change the
//     direction of the text,
//   * bytes that are not valid UTF-8.
//
// Of a longer text, returns at most the first `max_bytes` bytes, cut between
// two characters, followed by "... (N bytes)" with the size of `text`. If
// nothing was cut, `absl::CUnescape()` of the result is `text`.
//
// Takes O(`max_bytes`).
std::string Printable(absl::string_view text,
                      size_t max_bytes = kPrintedItemBytes);

// Whether `text` has an ASCII control character. It would end an address or a
// path that is taken as a C string, or break the line of a message.
bool HasControls(absl::string_view text);

// Returns `text` with U+FFFD in the place of each byte that is not valid UTF-8.
// This is for texts that leave the process in a format that is UTF-8 and has
// escapes of its own: labels of Prometheus, attributes of OpenTelemetry.
//
// Takes O(n) for n bytes.
std::string ToUtf8(absl::string_view text);

// The same, with U+FFFD also in the place of each ASCII control character. For
// HTML, whose forms change them.
std::string ToText(absl::string_view text);

// Returns `status.ToString()` without the payloads with which the library marks
// errors: their type URLs begin with "workqueue/". Not printable.
std::string StatusText(const absl::Status& status);

template <typename T, typename = void>
struct IsStreamable : std::false_type {};
template <typename T>
struct IsStreamable<T, std::void_t<decltype(std::declval<std::ostream&>()
                                            << std::declval<const T&>())>>
    : std::true_type {};

// IsPrintable
//
// True if an item of type `T` can be printed, either with `operator<<` or with
// `absl::StrCat()`.
template <typename T>
struct IsPrintable
    : std::disjunction<IsStreamable<T>,
                       std::is_convertible<const T&, absl::AlphaNum>> {};

// Prints `item` as `Printable()` says, so that the key of an object can neither
// break a line nor act on a terminal. Requires `IsPrintable<T>`.
template <typename T>
void PrintItem(std::ostream& os, const T& item) {
  static_assert(IsPrintable<T>::value,
                "Snapshots of this type of items cannot be printed. Give the "
                "type an operator<<(std::ostream&, const T&) or, with Abseil "
                "20230125 or later, an AbslStringify().");
  if constexpr (std::is_same_v<T, std::string>) {
    os << Printable(item);  // without a copy of a long item
  } else if constexpr (IsStreamable<T>::value) {
    std::ostringstream text;
    text << item;
    os << Printable(text.str());
  } else {
    os << Printable(absl::StrCat(item));
  }
}

// Returns a description of `item` for messages: the printed item or, if a `T`
// cannot be printed, how it can be made printable.
template <typename T>
std::string DescribeItem(const T& item) {
  if constexpr (IsPrintable<T>::value) {
    std::ostringstream os;
    PrintItem(os, item);
    return os.str();
  } else {
    return "an item (of a type without operator<< or AbslStringify())";
  }
}

}  // namespace workqueue::internal

#endif  // WORKQUEUE_BASE_PRINTABLE_H_
