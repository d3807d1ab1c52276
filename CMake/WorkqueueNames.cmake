# What the parts of each library are called: their headers' names, which are the
# names of Bazel's targets, too. A name of a part means the whole library.

# The components of an installation.
set(WORKQUEUE_COMPONENTS
  core testing shared sqlite postgres prometheus opentelemetry inspect)

set(WORKQUEUE_LIBRARIES
  workqueue tracing redis shared shared_testing sqlite postgres
  leader_election prometheus opentelemetry inspect testing)
set(WORKQUEUE_NAMES_workqueue
  absl_clock_adapter alarm async_queue async_reconcile async_timers
  await_callback bucket_rate_limiter clock controller controller_metrics
  controller_options coroutine_reconcile default_rate_limiters delay_queue
  delaying_queue executor failure_ledger failures fair_ordering fake_clock
  informer informer_source interfaces item_exponential_failure_rate_limiter
  item_fast_slow_rate_limiter jitter lease lease_batch lister_watcher log_sink
  loop_executor max_of_rate_limiter metrics object_store ordering
  parallelize_until parker priority_queue queue queue_base queue_clock
  rate_limiter rate_limiting_queue reconcile retry_after scheduler simulation
  snapshot source spawn std_sync sync sync_wait task thread_pool timers
  timing_wheel token_bucket version waiting_heap waiting_loop waiting_set
  waiting_set_options with_jitter_rate_limiter with_max_wait_rate_limiter)
# Those of headers that have become parts of others.
list(APPEND WORKQUEUE_NAMES_workqueue
  acquire_async add_with_options failed_item make_completion ordering_bound
  parking_lot unbounded_items)
set(WORKQUEUE_NAMES_tracing
  queue_tracer trace_context trace_scope tracing_queue)
set(WORKQUEUE_NAMES_redis redis_options)
set(WORKQUEUE_NAMES_shared
  codec list_shared_queues retry_schedule shared_queue shared_queue_options)
set(WORKQUEUE_NAMES_shared_testing memory_engine)
set(WORKQUEUE_NAMES_sqlite sqlite_engine)
set(WORKQUEUE_NAMES_postgres postgres_engine)
set(WORKQUEUE_NAMES_leader_election leader_election_source leader_elector)
set(WORKQUEUE_NAMES_prometheus prometheus_metrics_provider)
set(WORKQUEUE_NAMES_opentelemetry opentelemetry_tracer)
set(WORKQUEUE_NAMES_inspect
  civetweb_inspect_page history_tracer inspect_controller inspect_handler
  inspect_queue inspect_scheduler inspectable inspection inspection_json
  inspection_registry item_history)
set(WORKQUEUE_NAMES_testing
  fake_object_server manual_executor queue_test_suite thread)
