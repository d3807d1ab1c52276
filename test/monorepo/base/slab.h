// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// A header of the project with the same name as one of the library's headers.

#ifndef BASE_SLAB_H_
#define BASE_SLAB_H_

#include <string>

namespace base {

// A piece of stone.
struct Slab {
  std::string stone;
};

}  // namespace base

#endif  // BASE_SLAB_H_
