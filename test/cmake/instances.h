// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// Instances of the public class templates. `install_test` compiles them after
// all public headers, with the warnings and macros of strict users: a compiler
// warns of most of a template only in an instance. The headers that one
// installation has and another one has not are asked for.

#ifndef WORKQUEUE_TEST_CMAKE_INSTANCES_H_
#define WORKQUEUE_TEST_CMAKE_INSTANCES_H_

#include <string>

namespace workqueue {

template class AsyncQueue<std::string>;
template class BucketRateLimiter<std::string>;
template class Controller<std::string>;
template class DelayQueue<std::string>;
template class DelayingQueue<std::string>;
template class FailureLedger<std::string>;
template class FairOrdering<std::string, std::string>;
template class FakeObjectServer<std::string>;
template class Informer<std::string>;
template class ItemExponentialFailureRateLimiter<std::string>;
template class ItemFastSlowRateLimiter<std::string>;
template class LeaseBatch<std::string>;
template class MaxOfRateLimiter<std::string>;
template class ObjectStore<std::string>;
template class PriorityQueue<std::string>;
template class Queue<std::string>;
template class RateLimitingQueue<std::string>;
template class TracingQueue<std::string>;
template class WithJitterRateLimiter<std::string>;
template class WithMaxWaitRateLimiter<std::string>;
#ifdef WORKQUEUE_INSPECT_HISTORY_TRACER_H_
template class HistoryTracer<std::string>;
template class internal::QueueInspectable<std::string>;
#endif
#ifdef WORKQUEUE_OPENTELEMETRY_OPENTELEMETRY_TRACER_H_
template class OpenTelemetryTracer<std::string>;
#endif
#ifdef WORKQUEUE_SHARED_SHARED_QUEUE_H_
template class SharedQueue<std::string>;
#endif

}  // namespace workqueue

#endif  // WORKQUEUE_TEST_CMAKE_INSTANCES_H_
