// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import "k8s.io/client-go/util/workqueue"

func newClientGo[T comparable]() queue[T] {
	return workqueue.NewTypedRateLimitingQueue(instantLimiter[T]())
}

func clientGoCases() []benchCase {
	batch := benchCase{"cycle_batch", func(report report) {
		report("cycle_batch", cycle(newClientGo[string](), stringKeys()), "ns")
	}}
	return append(queueCases(newClientGo[string], newClientGo[int]), batch)
}
