// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The C++ names in the tables of docs/from-client-go.md. If this file compiles,
// the names exist. `name_tables_test` checks that all of them are in this file.

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "ratelimit/bucket_rate_limiter.h"
#include "ratelimit/default_rate_limiters.h"
#include "ratelimit/item_exponential_failure_rate_limiter.h"
#include "ratelimit/item_fast_slow_rate_limiter.h"
#include "ratelimit/max_of_rate_limiter.h"
#include "ratelimit/rate_limiter.h"
#include "ratelimit/token_bucket.h"
#include "ratelimit/with_max_wait_rate_limiter.h"
#include "workqueue/clock/clock.h"
#include "workqueue/clock/fake_clock.h"
#include "workqueue/controller/controller.h"
#include "workqueue/controller/metrics.h"
#include "workqueue/controller/parallelize_until.h"
#include "workqueue/controller/reconcile.h"
#include "workqueue/controller/source.h"
#include "workqueue/delaying_queue.h"
#include "workqueue/interfaces.h"
#include "workqueue/metrics.h"
#include "workqueue/ordering.h"
#include "workqueue/priority_queue.h"
#include "workqueue/prometheus/prometheus_metrics_provider.h"
#include "workqueue/queue.h"
#include "workqueue/rate_limiting_queue.h"

namespace {

using T = std::string;

// Types, and pointers to members and functions.
template <typename>
struct Type {};
template <auto>
struct Pointer {};

// Queues.
template struct Type<workqueue::Interface<T>>;
template struct Type<workqueue::DelayingInterface<T>>;
template struct Type<workqueue::RateLimitingInterface<T>>;
template struct Type<workqueue::Queue<T>>;
template struct Type<workqueue::DelayingQueue<T>>;
template struct Type<workqueue::RateLimitingQueue<T>>;
template struct Type<workqueue::QueueOptions<T>>;
template struct Type<workqueue::DelayingQueueOptions<T>>;
template struct Type<workqueue::RateLimitingQueueOptions<T>>;
template struct Type<workqueue::Ordering<T>>;
template struct Pointer<&workqueue::Interface<T>::Add>;
template struct Pointer<&workqueue::Interface<T>::Len>;
template struct Pointer<&workqueue::Interface<T>::Get>;
template struct Pointer<&workqueue::Interface<T>::AcquireAsync>;
template struct Pointer<&workqueue::Interface<T>::Done>;
template struct Pointer<&workqueue::Interface<T>::ShutDown>;
template struct Pointer<&workqueue::Interface<T>::ShutDownWithDrain>;
template struct Pointer<&workqueue::Interface<T>::ShuttingDown>;
template struct Pointer<&workqueue::DelayingInterface<T>::AddAfter>;
template struct Pointer<&workqueue::RateLimitingInterface<T>::AddRateLimited>;
template struct Pointer<&workqueue::RateLimitingInterface<T>::Forget>;
template struct Pointer<&workqueue::RateLimitingInterface<T>::NumRequeues>;
template struct Pointer<&workqueue::QueueOptions<T>::name>;
template struct Pointer<&workqueue::QueueOptions<T>::metrics_provider>;
template struct Pointer<&workqueue::QueueOptions<T>::clock>;
template struct Pointer<&workqueue::QueueOptions<T>::log_sink>;
template struct Pointer<&workqueue::QueueOptions<T>::ordering>;
template struct Pointer<&workqueue::DelayingQueue<T>::Create>;
template struct Pointer<&workqueue::RateLimitingQueue<T>::Create>;
template struct Pointer<&workqueue::Ordering<T>::Touch>;
template struct Pointer<&workqueue::Ordering<T>::Push>;
template struct Pointer<&workqueue::Ordering<T>::Len>;
template struct Pointer<&workqueue::Ordering<T>::Pop>;

// Metrics.
template struct Type<workqueue::MetricsProvider>;
template struct Type<workqueue::GaugeMetric>;
template struct Type<workqueue::SettableGaugeMetric>;
template struct Type<workqueue::CounterMetric>;
template struct Type<workqueue::HistogramMetric>;
template struct Pointer<&workqueue::MetricsProvider::NewDepthMetric>;
template struct Pointer<&workqueue::MetricsProvider::NewAddsMetric>;
template struct Pointer<&workqueue::MetricsProvider::NewLatencyMetric>;
template struct Pointer<&workqueue::MetricsProvider::NewWorkDurationMetric>;
template struct Pointer<
    &workqueue::MetricsProvider::NewUnfinishedWorkSecondsMetric>;
template struct Pointer<
    &workqueue::MetricsProvider::NewLongestRunningProcessorSecondsMetric>;
template struct Pointer<&workqueue::MetricsProvider::NewRetriesMetric>;
template struct Pointer<&workqueue::SetProvider>;
template struct Pointer<&workqueue::GaugeMetric::Inc>;
template struct Pointer<&workqueue::GaugeMetric::Dec>;
template struct Pointer<&workqueue::SettableGaugeMetric::Set>;
template struct Pointer<&workqueue::CounterMetric::Inc>;
template struct Pointer<&workqueue::HistogramMetric::Observe>;

// Rate limiters. (`MaxOfRateLimiter::Create` is overloaded, and so is called.)
template struct Type<workqueue::RateLimiter<T>>;
template struct Type<workqueue::ItemExponentialFailureRateLimiter<T>>;
template struct Type<workqueue::ItemFastSlowRateLimiter<T>>;
template struct Type<workqueue::MaxOfRateLimiter<T>>;
template struct Type<decltype(workqueue::MaxOfRateLimiter<T>::Create(
    std::vector<std::unique_ptr<workqueue::RateLimiter<T>>>()))>;
template struct Type<workqueue::WithMaxWaitRateLimiter<T>>;
template struct Type<workqueue::BucketRateLimiter<T>>;
template struct Type<workqueue::TokenBucket>;
template struct Type<workqueue::Reservation>;
template struct Pointer<&workqueue::DefaultControllerRateLimiter<T>>;
template struct Pointer<&workqueue::DefaultItemBasedRateLimiter<T>>;
template struct Pointer<&workqueue::RateLimiter<T>::When>;
template struct Pointer<&workqueue::RateLimiter<T>::Forget>;
template struct Pointer<&workqueue::RateLimiter<T>::NumRequeues>;
template struct Pointer<
    &workqueue::ItemExponentialFailureRateLimiter<T>::Create>;
template struct Pointer<&workqueue::ItemExponentialFailureRateLimiter<T>::When>;
template struct Pointer<
    &workqueue::ItemExponentialFailureRateLimiter<T>::Forget>;
template struct Pointer<
    &workqueue::ItemExponentialFailureRateLimiter<T>::NumRequeues>;
template struct Pointer<&workqueue::ItemFastSlowRateLimiter<T>::Create>;
template struct Pointer<&workqueue::ItemFastSlowRateLimiter<T>::When>;
template struct Pointer<&workqueue::ItemFastSlowRateLimiter<T>::Forget>;
template struct Pointer<&workqueue::ItemFastSlowRateLimiter<T>::NumRequeues>;
template struct Pointer<&workqueue::MaxOfRateLimiter<T>::When>;
template struct Pointer<&workqueue::MaxOfRateLimiter<T>::Forget>;
template struct Pointer<&workqueue::MaxOfRateLimiter<T>::NumRequeues>;
template struct Pointer<&workqueue::WithMaxWaitRateLimiter<T>::Create>;
template struct Pointer<&workqueue::WithMaxWaitRateLimiter<T>::When>;
template struct Pointer<&workqueue::WithMaxWaitRateLimiter<T>::Forget>;
template struct Pointer<&workqueue::WithMaxWaitRateLimiter<T>::NumRequeues>;
template struct Pointer<&workqueue::BucketRateLimiter<T>::Create>;
template struct Pointer<&workqueue::BucketRateLimiter<T>::When>;
template struct Pointer<&workqueue::BucketRateLimiter<T>::Forget>;
template struct Pointer<&workqueue::BucketRateLimiter<T>::NumRequeues>;
template struct Pointer<&workqueue::TokenBucket::Create>;
template struct Pointer<&workqueue::TokenBucket::Allow>;
template struct Pointer<&workqueue::TokenBucket::Reserve>;
template struct Pointer<&workqueue::TokenBucket::Wait>;
template struct Pointer<&workqueue::TokenBucket::WaitBy>;
template struct Pointer<&workqueue::TokenBucket::SetLimit>;
template struct Pointer<&workqueue::TokenBucket::SetBurst>;
template struct Pointer<&workqueue::TokenBucket::limit>;
template struct Pointer<&workqueue::TokenBucket::burst>;
template struct Pointer<&workqueue::TokenBucket::Tokens>;
template struct Pointer<&workqueue::TokenBucket::Every>;
template struct Pointer<&workqueue::Reservation::ok>;
template struct Pointer<&workqueue::Reservation::Delay>;
template struct Pointer<&workqueue::Reservation::Cancel>;

// Pieces of work.
template struct Type<absl::FunctionRef<void(size_t)>>;
template struct Type<workqueue::ParallelizeOptions>;
template struct Pointer<&workqueue::ParallelizeUntil>;
template struct Pointer<&workqueue::ParallelizeOptions::chunk_size>;

// Clocks.
template struct Type<workqueue::Clock>;
template struct Type<workqueue::FakeClock>;
template struct Pointer<&workqueue::Clock::GetRealClock>;
template struct Pointer<&workqueue::FakeClock::Step>;
template struct Pointer<&workqueue::FakeClock::SetTime>;
template struct Pointer<&workqueue::FakeClock::HasWaiters>;
template struct Pointer<&workqueue::FakeClock::NumWaiters>;
template struct Pointer<&workqueue::FakeClock::Sleep>;

// Priorities.
template struct Type<workqueue::PriorityInterface<T>>;
template struct Type<workqueue::PriorityQueue<T>>;
template struct Type<workqueue::PriorityQueueOptions<T>>;
template struct Type<workqueue::AddOptions>;
template struct Pointer<&workqueue::Interface<T>::AddWithOptions>;
template struct Pointer<&workqueue::Interface<T>::GetWithPriority>;
template struct Pointer<&workqueue::PriorityQueueOptions<T>::rate_limiter>;
template struct Pointer<&workqueue::PriorityQueueOptions<T>::metrics_provider>;
template struct Pointer<&workqueue::PriorityQueueOptions<T>::log_sink>;
template struct Pointer<&workqueue::AddOptions::after>;
template struct Pointer<&workqueue::AddOptions::rate_limited>;
template struct Pointer<&workqueue::AddOptions::priority>;

// Controllers. (There are no pointers to members that are references.)
template struct Type<workqueue::ReconcileFunction<T>>;
template struct Type<workqueue::ReconcileResult>;
template struct Type<workqueue::Controller<T>>;
template struct Type<workqueue::ControllerOptions<T>>;
template struct Type<workqueue::Source<T>>;
template struct Type<workqueue::ReconcileContext>;
template struct Type<decltype(workqueue::ReconcileContext::stop)>;
template struct Type<workqueue::ControllerMetricsProvider>;
template struct Type<workqueue::PrometheusMetricsProvider>;
template struct Pointer<&workqueue::ReconcileResult::requeue_after>;
template struct Pointer<&workqueue::ReconcileResult::priority>;
template struct Pointer<&workqueue::TerminalError>;
template struct Pointer<&workqueue::Controller<T>::Create>;
template struct Pointer<&workqueue::Controller<T>::Start>;
template struct Pointer<&workqueue::Controller<T>::Stop>;
template struct Pointer<&workqueue::Controller<T>::queue>;
template struct Pointer<&workqueue::ControllerOptions<T>::sources>;
template struct Pointer<&workqueue::ControllerOptions<T>::reconcile>;
template struct Pointer<&workqueue::ControllerOptions<T>::reconcile_async>;
template struct Pointer<&workqueue::ControllerOptions<T>::workers>;
template struct Pointer<&workqueue::ControllerOptions<T>::max_in_flight>;
template struct Pointer<&workqueue::ControllerOptions<T>::sync_timeout>;
template struct Pointer<&workqueue::ControllerOptions<T>::reconcile_timeout>;
template struct Pointer<&workqueue::ControllerOptions<T>::rate_limiter>;
template struct Pointer<&workqueue::ControllerOptions<T>::queue>;
template struct Pointer<&workqueue::ControllerOptions<T>::log_sink>;
template struct Pointer<&workqueue::Source<T>::run>;
template struct Pointer<&workqueue::Source<T>::term>;
template struct Pointer<&workqueue::Source<T>::wait_for_sync>;
template struct Pointer<&workqueue::SourceContext<T>::mark_synced>;
template struct Pointer<&workqueue::ReconcileContext::clock_deadline>;

}  // namespace
