// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/client-go/util/workqueue"
)

// queue is client-go's interface. controller-runtime's queue implements it, too.
type queue[T comparable] = workqueue.TypedRateLimitingInterface[T]

// instantLimiter returns a limiter whose first delay is 1 ns.
func instantLimiter[T comparable]() workqueue.TypedRateLimiter[T] {
	return workqueue.NewTypedItemExponentialFailureRateLimiter[T](time.Nanosecond, time.Second)
}

// queueCases returns the cases of a queue that deduplicates, including the cases
// of its delays.
func queueCases(newStrings func() queue[string], newInts func() queue[int]) []benchCase {
	cases := []benchCase{
		{"cycle_string", func(report report) {
			report("cycle_string", cycle(newStrings(), stringKeys()), "ns")
		}},
		{"cycle_int", func(report report) {
			report("cycle_int", cycle(newInts(), intKeys()), "ns")
		}},
		{"cycle_lease", func(report report) {
			report("cycle_lease", cycle(newStrings(), stringKeys()), "ns")
		}},
		{"add_duplicate", func(report report) {
			report("add_duplicate", addDuplicate(newStrings()), "ns")
		}},
		{"fill_drain", func(report report) {
			report("fill_drain", fillDrain(newStrings()), "ns")
		}},
		mpmcCase("mpmc_1_1", 1, 1, newInts),
		mpmcCase("mpmc_4_4", 4, 4, newInts),
		mpmcCase("mpmc_8_32", 8, 32, newInts),
		handoverCase("handover_1", 1, newInts),
		handoverCase("handover_8", 8, newInts),
		handoverCase("handover_64", 64, newInts),
		{"blocked_workers", func(report report) {
			report("blocked_workers", warmedUp(million, func(n int) float64 {
				return addToBlockedWorkers(newInts(), n)
			}), "ns")
		}},
		{"add_after_through", func(report report) {
			report("add_after_through", warmedUp(million/2, func(n int) float64 {
				return addAfterThrough(newInts(), n)
			}), "ns")
		}},
		{"rate_limited", func(report report) {
			report("rate_limited", rateLimited(newStrings()), "ns")
		}},
		{"pause", func(report report) { reportPauses(newInts, report) }},
	}
	return append(cases, delayCases(
		func() delayer[string] { return queueDelayer[string]{newStrings()} },
		func() delayer[int] { return queueDelayer[int]{newInts()} })...)
}

func cycle[T comparable](q queue[T], keys []T) float64 {
	defer q.ShutDown()
	return nsPerOp(len(keys), func() {
		for _, key := range keys {
			q.Add(key)
			item, _ := q.Get()
			q.Done(item)
		}
	})
}

func addDuplicate(q queue[string]) float64 {
	defer q.ShutDown()
	addAll(q, stringKeys())
	keys := stringKeys() // equal, but other strings
	return nsPerOp(len(keys), func() { addAll(q, keys) })
}

// addAll adds the keys, and blocks until the queue has taken them in.
// controller-runtime's queue keeps added items in a buffer; Len() takes them in.
func addAll[T comparable](q queue[T], keys []T) {
	for _, key := range keys {
		q.Add(key)
	}
	q.Len()
}

func fillDrain(q queue[string]) float64 {
	defer q.ShutDown()
	keys := stringKeys()
	return nsPerOp(len(keys), func() {
		for _, key := range keys {
			q.Add(key)
		}
		for range keys {
			item, _ := q.Get()
			q.Done(item)
		}
	})
}

func mpmcCase(name string, producers, consumers int, newInts func() queue[int]) benchCase {
	return benchCase{name, func(report report) {
		report(name, warmedUp(million, func(n int) float64 {
			return mpmc(newInts(), n, producers, consumers)
		}), "ns")
	}}
}

// mpmc returns the nanoseconds for each of n keys. Each producer adds its share
// of the keys. Each consumer gets its share.
func mpmc(q queue[int], n, producers, consumers int) float64 {
	defer q.ShutDown()
	var running sync.WaitGroup
	start := begin()
	for p := range producers {
		running.Go(func() {
			for i := range n / producers {
				q.Add(p*(n/producers) + i + 1)
			}
		})
	}
	for range consumers {
		running.Go(func() {
			for range n / consumers {
				item, _ := q.Get()
				q.Done(item)
			}
		})
	}
	running.Wait()
	return nsEach(start, n)
}

func handoverCase(name string, workers int, newInts func() queue[int]) benchCase {
	return benchCase{name, func(report report) {
		took := handover(newInts(), workers)
		report(name+"_p50", float64(percentile(took, 50).Nanoseconds())/1000, "us")
		report(name+"_p99", float64(percentile(took, 99).Nanoseconds())/1000, "us")
	}}
}

// handover returns the times from the beginning of an Add until a worker, which
// was blocked in a Get, has the item. It adds one item at a time, while all
// workers are blocked.
func handover(q queue[int], workers int) []time.Duration {
	const samples, warmUp = 2000, 200
	// After this time, a worker that had an item blocks in a Get again.
	const pause = 200 * time.Microsecond
	var added time.Time
	var took []time.Duration
	var taken atomic.Int64
	var running sync.WaitGroup
	for range workers {
		running.Go(func() {
			for {
				item, shutdown := q.Get()
				if shutdown {
					return
				}
				took = append(took, time.Since(added))
				q.Done(item)
				taken.Add(1)
			}
		})
	}
	for i := range warmUp + samples {
		time.Sleep(pause)
		added = time.Now()
		q.Add(i + 1)
		for taken.Load() <= int64(i) {
			time.Sleep(pause / 10)
		}
	}
	q.ShutDown()
	running.Wait()
	return took[warmUp:]
}

// addToBlockedWorkers is the case of controller-runtime#3415: the cost of adding
// to a long queue that many workers use.
func addToBlockedWorkers(q queue[int], queued int) float64 {
	const workers, adds = 1000, 20 * 1000
	for i := range queued {
		q.Add(i + 1)
	}
	q.Len()

	var stopped atomic.Bool
	var atWork, running sync.WaitGroup
	atWork.Add(workers)
	for range workers {
		running.Go(func() {
			for handled := 0; !stopped.Load(); handled++ {
				item, _ := q.Get()
				if handled == 0 {
					atWork.Done()
				}
				time.Sleep(time.Millisecond)
				q.Done(item)
			}
		})
	}
	atWork.Wait()
	start := begin()
	for i := range adds {
		q.Add(queued + i + 1)
	}
	each := nsEach(start, adds)
	stopped.Store(true)
	q.ShutDown()
	running.Wait()
	return each
}

// blockedWorkers100K measures 100,000 workers that wait for each item they have.
func blockedWorkers100K(newInts func() queue[int], report report) {
	const workers = 100 * 1000
	bytes := bytesOfWorker(newInts(), workers)
	report("blocked_workers_100k", processMillionWith(newInts(), workers), "ns")
	report("blocked_workers_100k_memory", bytes, "B")
}

// bytesOfWorker returns the resident bytes of each of n workers while all of
// them wait.
func bytesOfWorker(q queue[int], n int) float64 {
	for i := range n {
		q.Add(i + 1)
	}
	before, _ := memory()
	var acquired atomic.Int64
	ended := startWaitingWorkers(q, n, 3*time.Second, &acquired, new(atomic.Int64))
	for acquired.Load() < int64(n) {
		time.Sleep(time.Millisecond)
	}
	after, _ := memory()
	q.ShutDown()
	ended.Wait()
	return (after - before) / float64(n)
}

// processMillionWith returns the nanoseconds of an item while a goroutine adds a
// million, and n workers take 100 ms for each.
func processMillionWith(q queue[int], n int) float64 {
	var acquired, waitedFor atomic.Int64
	ended := startWaitingWorkers(q, n, 100*time.Millisecond, &acquired, &waitedFor)
	start := begin()
	for i := range million {
		q.Add(i + 1)
	}
	for waitedFor.Load() < million {
		time.Sleep(time.Millisecond)
	}
	each := nsEach(start, million)
	q.ShutDown()
	ended.Wait()
	return each
}

// startWaitingWorkers starts n goroutines that wait for each item they have, and
// end when the queue has been shut down and is empty.
func startWaitingWorkers(q queue[int], n int, wait time.Duration, acquired, waitedFor *atomic.Int64) *sync.WaitGroup {
	var running sync.WaitGroup
	for range n {
		running.Go(func() {
			for {
				item, shutdown := q.Get()
				if shutdown {
					return
				}
				acquired.Add(1)
				time.Sleep(wait)
				waitedFor.Add(1)
				q.Done(item)
			}
		})
	}
	return &running
}

func addAfterThrough(q queue[int], n int) float64 {
	defer q.ShutDown()
	start := begin()
	go func() {
		for i := range n {
			q.AddAfter(i+1, time.Millisecond)
		}
	}()
	for range n {
		item, _ := q.Get()
		q.Done(item)
	}
	return nsEach(start, n)
}

// reportPauses reports the longest calls while a queue grows to ten million
// items and becomes empty again.
func reportPauses(newInts func() queue[int], report report) {
	const items = 10 * million
	q := newInts()
	report("pause_add", longestMicros(items, func(i int) { q.Add(i + 1) }), "us")
	report("pause_get_done", longestMicros(items, func(int) {
		item, _ := q.Get()
		q.Done(item)
	}), "us")
	q.ShutDown()

	q = newInts()
	defer q.ShutDown()
	random := newRandom()
	report("pause_add_after", longestMicros(items, func(i int) {
		q.AddAfter(i+1, random.farDelay())
	}), "us")
}

func rateLimited(q queue[string]) float64 {
	defer q.ShutDown()
	keys := stringKeys()
	return nsPerOp(len(keys), func() {
		for _, key := range keys {
			q.AddRateLimited(key)
			item, _ := q.Get()
			q.Forget(item)
			q.Done(item)
		}
	})
}
