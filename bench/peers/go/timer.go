// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"runtime"
	"time"
)

// timers is a delayer on the timers of Go's runtime. A timer's function has the
// item when the function runs. A program that cancels timers must keep them. So
// this type keeps them, too.
type timers[T any] struct {
	ran     chan time.Time
	pending [][]*time.Timer // in pieces, so that growth moves no timers
}

func newTimers[T any]() delayer[T] { return &timers[T]{ran: make(chan time.Time)} }

func (t *timers[T]) add(item T, delay time.Duration) {
	const size = 1024
	timer := time.AfterFunc(delay, func() {
		t.ran <- time.Now()
		runtime.KeepAlive(item)
	})
	if last := len(t.pending) - 1; last >= 0 && len(t.pending[last]) < size {
		t.pending[last] = append(t.pending[last], timer)
	} else {
		t.pending = append(t.pending, append(make([]*time.Timer, 0, size), timer))
	}
}

func (t *timers[T]) take() time.Time { return <-t.ran }
func (t *timers[T]) awaitTakenIn()   {}

func (t *timers[T]) close() {
	for _, piece := range t.pending {
		for _, timer := range piece {
			timer.Stop()
		}
	}
}

func timerCases() []benchCase {
	cancel := benchCase{"schedule_cancel", func(report report) {
		const n = 100 * 1000
		report("schedule_cancel", scheduleCancel(inOrder(n)), "ns")
		report("schedule_cancel_shuffled", scheduleCancel(shuffled(n)), "ns")
	}}
	return append(delayCases(newTimers[string], newTimers[int]), cancel)
}

// scheduleCancel returns the nanoseconds to schedule a timer and cancel it. It
// cancels the timers in the given order.
func scheduleCancel(order []int) float64 {
	scheduled := make([]*time.Timer, len(order))
	return nsPerOp(len(order), func() {
		for i := range scheduled {
			scheduled[i] = time.AfterFunc(time.Hour, func() {})
		}
		for _, i := range order {
			scheduled[i].Stop()
		}
	})
}
