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
	batches := []benchCase{
		{"cycle_batch", func(report report) {
			report("cycle_batch", cycleBatch(newPriorityQueue[string]()), "ns")
		}},
		{"add_duplicate_batch", func(report report) {
			report("add_duplicate_batch", addDuplicateBatch(newPriorityQueue[string]()), "ns")
		}},
	}
	return append(queueCases(
		func() queue[string] { return newPriorityQueue[string]() },
		func() queue[int] { return newPriorityQueue[int]() }), batches...)
}

const batchSize = 64

// cycleBatch adds 64 keys at a time. The queue hands out one key at a time.
func cycleBatch(q priorityqueue.PriorityQueue[string]) float64 {
	defer q.ShutDown()
	keys := stringKeys()
	return nsPerOp(len(keys), func() {
		for i := 0; i < len(keys); i += batchSize {
			q.AddWithOpts(priorityqueue.AddOpts{}, keys[i:i+batchSize]...)
			for range batchSize {
				item, _, _ := q.GetWithPriority()
				q.Done(item)
			}
		}
	})
}

// addDuplicateBatch adds 64 keys at a time, while equal keys are queued.
func addDuplicateBatch(q priorityqueue.PriorityQueue[string]) float64 {
	defer q.ShutDown()
	addAll(q, stringKeys())
	keys := stringKeys() // equal, but other strings
	return nsPerOp(len(keys), func() {
		for i := 0; i < len(keys); i += batchSize {
			q.AddWithOpts(priorityqueue.AddOpts{}, keys[i:i+batchSize]...)
		}
		q.Len()
	})
}
