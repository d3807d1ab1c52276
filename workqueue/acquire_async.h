// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// -----------------------------------------------------------------------------
// workqueue/acquire_async.h
// -----------------------------------------------------------------------------
//
// The types of `Interface::AcquireAsync()`.

#ifndef WORKQUEUE_ACQUIRE_ASYNC_H_
#define WORKQUEUE_ACQUIRE_ASYNC_H_

#include "absl/functional/any_invocable.h"
#include "absl/status/statusor.h"
#include "workqueue/base/slot_map.h"
#include "workqueue/lease.h"

namespace workqueue {

// AcquireCallback
//
// A function that receives a lease of an item, or the error that
// `Interface::AcquireWithTimeout()` would return.
template <typename T>
using AcquireCallback =
    absl::AnyInvocable<void(absl::StatusOr<Lease<T>> lease) &&>;

namespace internal {
struct AcquireTag;
}  // namespace internal

// AcquireId
//
// Names a callback that waits for an item, for `Interface::CancelAcquire()`. An
// id can be kept for any time: once its callback has run, it names nothing, and
// never another callback. Copyable, comparable and hashable; a
// default-constructed id names nothing.
using AcquireId = internal::Handle<internal::AcquireTag>;

}  // namespace workqueue

#endif  // WORKQUEUE_ACQUIRE_ASYNC_H_
