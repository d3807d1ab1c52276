// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import "time"

// delayer hands out each item when the item's delay has passed.
type delayer[T any] interface {
	add(item T, delay time.Duration)
	// take blocks until an item is due, and returns the time when it had the
	// item.
	take() time.Time
	// awaitTakenIn blocks until all added items are in the waiting set, and none
	// is left in a buffer.
	awaitTakenIn()
	close()
}

// delayCases returns the cases of every peer with delays.
func delayCases(newStrings func() delayer[string], newInts func() delayer[int]) []benchCase {
	return []benchCase{
		{"add_after_far", func(report report) {
			reportAddAfterFar(newInts(), million/10, func(string, float64, string) {})
			reportAddAfterFar(newInts(), million, report)
		}},
		{"pending_memory", func(report report) { reportPendingMemory(newStrings(), report) }},
		{"lateness", func(report report) { reportLateness(newInts(), report) }},
		{"idle", func(report report) {
			d := newInts()
			d.add(1, time.Hour)
			go d.take()
			reportIdle(report)
		}},
		{"growth", func(report report) {
			report("growth_1K", addAmong(newInts, 1000), "ns")
			report("growth_100K", addAmong(newInts, 100*1000), "ns")
			report("growth_1M", addAmong(newInts, million), "ns")
			report("growth_10M", addAmong(newInts, 10*million), "ns")
		}},
	}
}

func reportAddAfterFar(d delayer[int], n int, report report) {
	defer d.close()
	random := newRandom()
	start := begin()
	for i := range n {
		d.add(i+1, random.farDelay())
	}
	report("add_after_far", nsEach(start, n), "ns")
	d.awaitTakenIn()
	report("add_after_far_taken_in", nsEach(start, n), "ns")
}

func reportPendingMemory(d delayer[string], report report) {
	defer d.close()
	residentBefore, heapBefore := memory()
	random := newRandom()
	for i := range million {
		d.add(stringKey(i), random.farDelay())
	}
	d.awaitTakenIn()
	resident, heap := memory()
	report("pending_memory", (resident-residentBefore)/million, "B")
	report("pending_memory_heap", (heap-heapBefore)/million, "B")
}

func reportLateness(d delayer[int], report report) {
	defer d.close()
	const samples, warmUp = 1000, 100
	const delay = 2 * time.Millisecond
	var late []time.Duration
	for range warmUp + samples {
		added := time.Now()
		d.add(1, delay)
		late = append(late, d.take().Sub(added)-delay)
	}
	late = late[warmUp:]
	report("lateness_p50", float64(percentile(late, 50).Nanoseconds())/1000, "us")
	report("lateness_p99", float64(percentile(late, 99).Nanoseconds())/1000, "us")
}

// addAmong returns the nanoseconds of one add while `waiting` items wait. It
// measures as many adds as items wait, but at most 100,000, and repeats a small
// number of adds.
func addAmong(newInts func() delayer[int], waiting int) float64 {
	adds := min(waiting, 100*1000)
	rounds := max(1, 20*1000/adds)
	var sum float64
	for range rounds {
		sum += addOnceAmong(newInts(), waiting, adds)
	}
	return sum / float64(rounds)
}

func addOnceAmong(d delayer[int], waiting, adds int) float64 {
	defer d.close()
	random := newRandom()
	for i := range waiting {
		d.add(i+1, random.farDelay())
		if i%(100*1000) == 0 {
			d.awaitTakenIn()
		}
	}
	d.awaitTakenIn()
	start := begin()
	for i := range adds {
		d.add(waiting+i+1, random.farDelay())
	}
	d.awaitTakenIn()
	return nsEach(start, adds)
}
