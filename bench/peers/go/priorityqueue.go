// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import "sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"

// newPriorityQueue returns a queue without a name, and so without metrics, like
// the other peers.
func newPriorityQueue[T comparable]() priorityqueue.PriorityQueue[T] {
	return priorityqueue.New("", func(o *priorityqueue.Opts[T]) { o.RateLimiter = instantLimiter[T]() })
}

func priorityQueueCases() []benchCase {
	batch := benchCase{"cycle_batch", func(report report) {
		report("cycle_batch", cycleBatch(newPriorityQueue[string]()), "ns")
	}}
	return append(queueCases(
		func() queue[string] { return newPriorityQueue[string]() },
		func() queue[int] { return newPriorityQueue[int]() }), batch)
}

// cycleBatch adds 64 keys at a time. The queue hands out one key at a time.
func cycleBatch(q priorityqueue.PriorityQueue[string]) float64 {
	defer q.ShutDown()
	const size = 64
	keys := stringKeys()
	return nsPerOp(len(keys), func() {
		for i := 0; i < len(keys); i += size {
			q.AddWithOpts(priorityqueue.AddOpts{}, keys[i:i+size]...)
			for range size {
				item, _, _ := q.GetWithPriority()
				q.Done(item)
			}
		}
	})
}
