// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Debian has libpq's headers in a folder of their own.

#ifndef WORKQUEUE_THIRD_PARTY_LIBPQ_LIBPQ_FE_H_
#define WORKQUEUE_THIRD_PARTY_LIBPQ_LIBPQ_FE_H_

#include <postgresql/libpq-fe.h>  // IWYU pragma: export

#endif  // WORKQUEUE_THIRD_PARTY_LIBPQ_LIBPQ_FE_H_
