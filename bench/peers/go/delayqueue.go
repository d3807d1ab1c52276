// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"time"

	"peers/delayqueue"
)

// queueOfDelays is a delayer on a delayqueue.DelayQueue.
type queueOfDelays[T any] struct {
	queue *delayqueue.DelayQueue[T]
}

func (d queueOfDelays[T]) add(item T, delay time.Duration) { d.queue.Push(item, delay) }

func (d queueOfDelays[T]) take() time.Time {
	d.queue.Take()
	return time.Now()
}

func (d queueOfDelays[T]) awaitTakenIn() {}
func (d queueOfDelays[T]) close()        {}

func delayQueueCases() []benchCase {
	pushTake := benchCase{"push_take", func(report report) {
		report("push_take", pushTake(million), "ns")
	}}
	return append(delayCases(
		func() delayer[string] { return queueOfDelays[string]{delayqueue.New[string]()} },
		func() delayer[int] { return queueOfDelays[int]{delayqueue.New[int]()} }), pushTake)
}

func pushTake(n int) float64 {
	q := delayqueue.New[int]()
	return nsPerOp(n, func() {
		for i := range n {
			q.Push(i, 0)
		}
		for range n {
			q.Take()
		}
	})
}
