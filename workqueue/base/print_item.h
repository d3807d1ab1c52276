// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// workqueue/base/print_item.h
// -----------------------------------------------------------------------------

#ifndef WORKQUEUE_BASE_PRINT_ITEM_H_
#define WORKQUEUE_BASE_PRINT_ITEM_H_

#include <ostream>
#include <sstream>
#include <string>
#include <type_traits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "workqueue/base/printable.h"

namespace workqueue {
namespace internal {

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

}  // namespace internal
}  // namespace workqueue

#endif  // WORKQUEUE_BASE_PRINT_ITEM_H_
