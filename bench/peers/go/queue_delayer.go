// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import "time"

// queueDelayer is a delayer on a queue.
type queueDelayer[T comparable] struct {
	queue queue[T]
}

func (d queueDelayer[T]) add(item T, delay time.Duration) { d.queue.AddAfter(item, delay) }

func (d queueDelayer[T]) take() time.Time {
	item, _ := d.queue.Get()
	had := time.Now()
	d.queue.Done(item)
	return had
}

// awaitTakenIn adds one more item, the zero value, and takes it. The queue takes
// items in in the order in which they were added. No key is the zero value.
func (d queueDelayer[T]) awaitTakenIn() {
	var last T
	d.add(last, time.Nanosecond)
	d.take()
}

func (d queueDelayer[T]) close() { d.queue.ShutDown() }
