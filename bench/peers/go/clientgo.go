// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import "k8s.io/client-go/util/workqueue"

func newClientGo[T comparable]() queue[T] {
	return workqueue.NewTypedRateLimitingQueue(instantLimiter[T]())
}

func clientGoCases() []benchCase {
	return append(queueCases(newClientGo[string], newClientGo[int]),
		benchCase{"cycle_batch", func(report report) {
			report("cycle_batch", cycle(newClientGo[string](), stringKeys()), "ns")
		}},
		benchCase{"add_duplicate_batch", func(report report) {
			report("add_duplicate_batch", addDuplicate(newClientGo[string]()), "ns")
		}},
		benchCase{"blocked_workers_100k", func(report report) {
			blockedWorkers100K(newClientGo[int], report)
		}},
		benchCase{"async_cycle", func(report report) {
			report("async_cycle", cycle(newClientGo[string](), stringKeys()), "ns")
		}},
		handoverCase("async_wake", 1, newClientGo[int]))
}
