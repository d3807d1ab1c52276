// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The version of the library. docs/compatibility.md says what a change of each
// number means.
//
// Example, for code that must also build with an earlier version:
//
//     #if WORKQUEUE_VERSION >= 300  // 0.3.0

#ifndef WORKQUEUE_VERSION_H_
#define WORKQUEUE_VERSION_H_

// MSVC states its standard in _MSVC_LANG alone, unless it has /Zc:__cplusplus.
#if __cplusplus < 201703L && !(defined(_MSVC_LANG) && _MSVC_LANG >= 201703L)
#error "workqueue needs C++17 or later: compile with -std=c++17 or /std:c++17"
#endif

#define WORKQUEUE_VERSION_MAJOR 0
#define WORKQUEUE_VERSION_MINOR 2
#define WORKQUEUE_VERSION_PATCH 0

// The version as one number: 10203 is 1.2.3.
#define WORKQUEUE_VERSION                                            \
  (WORKQUEUE_VERSION_MAJOR * 10000 + WORKQUEUE_VERSION_MINOR * 100 + \
   WORKQUEUE_VERSION_PATCH)

#endif  // WORKQUEUE_VERSION_H_
