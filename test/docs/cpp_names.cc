// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0
//
// The names in C++ that docs/from-client-go.md has in its tables. That this
// compiles shows that they are there; `name_tables_test`, that all are here.

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "clock/clock.h"
#include "clock/fake_clock.h"
#include "controller/controller.h"
#include "controller/metrics.h"
#include "controller/parallelize_until.h"
#include "controller/reconcile.h"
#include "controller/source.h"
#include "ratelimit/bucket_rate_limiter.h"
#include "ratelimit/default_rate_limiters.h"
#include "ratelimit/item_exponential_failure_rate_limiter.h"
#include "ratelimit/item_fast_slow_rate_limiter.h"
#include "ratelimit/max_of_rate_limiter.h"
#include "ratelimit/rate_limiter.h"
#include "ratelimit/token_bucket.h"
#include "ratelimit/with_max_wait_rate_limiter.h"
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
template struct Pointer<&workqueue::DelayingQueueOptions<T>::queue>;
template struct Pointer<
    &workqueue::RateLimitingQueueOptions<T>::delaying_queue>;
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
template struct Type<ratelimit::RateLimiter<T>>;
template struct Type<ratelimit::ItemExponentialFailureRateLimiter<T>>;
template struct Type<ratelimit::ItemFastSlowRateLimiter<T>>;
template struct Type<ratelimit::MaxOfRateLimiter<T>>;
template struct Type<decltype(ratelimit::MaxOfRateLimiter<T>::Create(
    std::vector<std::unique_ptr<ratelimit::RateLimiter<T>>>()))>;
template struct Type<ratelimit::WithMaxWaitRateLimiter<T>>;
template struct Type<ratelimit::BucketRateLimiter<T>>;
template struct Type<ratelimit::TokenBucket>;
template struct Type<ratelimit::Reservation>;
template struct Pointer<&ratelimit::DefaultControllerRateLimiter<T>>;
template struct Pointer<&ratelimit::DefaultItemBasedRateLimiter<T>>;
template struct Pointer<&ratelimit::RateLimiter<T>::When>;
template struct Pointer<&ratelimit::RateLimiter<T>::Forget>;
template struct Pointer<&ratelimit::RateLimiter<T>::NumRequeues>;
template struct Pointer<
    &ratelimit::ItemExponentialFailureRateLimiter<T>::Create>;
template struct Pointer<&ratelimit::ItemExponentialFailureRateLimiter<T>::When>;
template struct Pointer<
    &ratelimit::ItemExponentialFailureRateLimiter<T>::Forget>;
template struct Pointer<
    &ratelimit::ItemExponentialFailureRateLimiter<T>::NumRequeues>;
template struct Pointer<&ratelimit::ItemFastSlowRateLimiter<T>::Create>;
template struct Pointer<&ratelimit::ItemFastSlowRateLimiter<T>::When>;
template struct Pointer<&ratelimit::ItemFastSlowRateLimiter<T>::Forget>;
template struct Pointer<&ratelimit::ItemFastSlowRateLimiter<T>::NumRequeues>;
template struct Pointer<&ratelimit::MaxOfRateLimiter<T>::When>;
template struct Pointer<&ratelimit::MaxOfRateLimiter<T>::Forget>;
template struct Pointer<&ratelimit::MaxOfRateLimiter<T>::NumRequeues>;
template struct Pointer<&ratelimit::WithMaxWaitRateLimiter<T>::Create>;
template struct Pointer<&ratelimit::WithMaxWaitRateLimiter<T>::When>;
template struct Pointer<&ratelimit::WithMaxWaitRateLimiter<T>::Forget>;
template struct Pointer<&ratelimit::WithMaxWaitRateLimiter<T>::NumRequeues>;
template struct Pointer<&ratelimit::BucketRateLimiter<T>::Create>;
template struct Pointer<&ratelimit::BucketRateLimiter<T>::When>;
template struct Pointer<&ratelimit::BucketRateLimiter<T>::Forget>;
template struct Pointer<&ratelimit::BucketRateLimiter<T>::NumRequeues>;
template struct Pointer<&ratelimit::TokenBucket::Create>;
template struct Pointer<&ratelimit::TokenBucket::Allow>;
template struct Pointer<&ratelimit::TokenBucket::Reserve>;
template struct Pointer<&ratelimit::TokenBucket::Wait>;
template struct Pointer<&ratelimit::TokenBucket::SetLimit>;
template struct Pointer<&ratelimit::TokenBucket::SetBurst>;
template struct Pointer<&ratelimit::TokenBucket::limit>;
template struct Pointer<&ratelimit::TokenBucket::burst>;
template struct Pointer<&ratelimit::TokenBucket::Tokens>;
template struct Pointer<&ratelimit::TokenBucket::Every>;
template struct Pointer<&ratelimit::Reservation::ok>;
template struct Pointer<&ratelimit::Reservation::Delay>;
template struct Pointer<&ratelimit::Reservation::Cancel>;

// Pieces of work.
template struct Type<absl::FunctionRef<void(size_t)>>;
template struct Type<controller::ParallelizeOptions>;
template struct Pointer<&controller::ParallelizeUntil>;
template struct Pointer<&controller::ParallelizeOptions::chunk_size>;

// Clocks.
template struct Type<clocks::Clock>;
template struct Type<clocks::FakeClock>;
template struct Pointer<&clocks::Clock::GetRealClock>;
template struct Pointer<&clocks::FakeClock::Step>;
template struct Pointer<&clocks::FakeClock::SetTime>;
template struct Pointer<&clocks::FakeClock::HasWaiters>;
template struct Pointer<&clocks::FakeClock::NumWaiters>;
template struct Pointer<&clocks::FakeClock::Sleep>;

// Priorities.
template struct Type<workqueue::PriorityInterface<T>>;
template struct Type<workqueue::PriorityQueue<T>>;
template struct Type<workqueue::PriorityQueueOptions<T>>;
template struct Type<workqueue::AddOptions>;
template struct Pointer<&workqueue::PriorityInterface<T>::AddWithOptions>;
template struct Pointer<&workqueue::PriorityInterface<T>::GetWithPriority>;
template struct Pointer<&workqueue::PriorityQueueOptions<T>::rate_limiter>;
template struct Pointer<&workqueue::PriorityQueueOptions<T>::metrics_provider>;
template struct Pointer<&workqueue::PriorityQueueOptions<T>::log_sink>;
template struct Pointer<&workqueue::AddOptions::after>;
template struct Pointer<&workqueue::AddOptions::rate_limited>;
template struct Pointer<&workqueue::AddOptions::priority>;

// Controllers. (There are no pointers to members that are references.)
template struct Type<controller::ReconcileFunction<T>>;
template struct Type<controller::Result>;
template struct Type<controller::Controller<T>>;
template struct Type<controller::ControllerOptions<T>>;
template struct Type<controller::Source<T>>;
template struct Type<controller::ReconcileContext>;
template struct Type<decltype(controller::ReconcileContext::stop)>;
template struct Type<controller::MetricsProvider>;
template struct Type<workqueue::PrometheusMetricsProvider>;
template struct Pointer<&controller::Result::requeue_after>;
template struct Pointer<&controller::Result::priority>;
template struct Pointer<&controller::TerminalError>;
template struct Pointer<&controller::Controller<T>::Create>;
template struct Pointer<&controller::Controller<T>::Start>;
template struct Pointer<&controller::Controller<T>::Stop>;
template struct Pointer<&controller::Controller<T>::queue>;
template struct Pointer<&controller::ControllerOptions<T>::sources>;
template struct Pointer<&controller::ControllerOptions<T>::reconcile>;
template struct Pointer<&controller::ControllerOptions<T>::workers>;
template struct Pointer<&controller::ControllerOptions<T>::sync_timeout>;
template struct Pointer<&controller::ControllerOptions<T>::reconcile_timeout>;
template struct Pointer<&controller::ControllerOptions<T>::rate_limiter>;
template struct Pointer<&controller::ControllerOptions<T>::queue>;
template struct Pointer<&controller::ControllerOptions<T>::log_sink>;
template struct Pointer<&controller::Source<T>::run>;
template struct Pointer<&controller::Source<T>::wait_for_sync>;
template struct Pointer<&controller::SourceContext<T>::synced>;
template struct Pointer<&controller::ReconcileContext::deadline>;

}  // namespace
