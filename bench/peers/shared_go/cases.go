// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// These are the constants of bench/shared_cases.
const (
	producers      = 8
	maxOutstanding = 1000
	warmUpTime     = 500 * time.Millisecond
	cycleTime      = 3 * time.Second
	patience       = 5 * time.Minute
	batch          = 1000
	keyPrefix      = "object-name-"
	// delayedName is the name of the queue whose items are delayed.
	delayedName = "delayed"
)

var cases = []struct {
	name string
	run  func(p peer, server string, items int)
}{
	{"shared_cycle_1", cycleCase(1)},
	{"shared_cycle_8", cycleCase(8)},
	{"shared_cycle_64", cycleCase(64)},
	{"shared_handover", reportHandover},
	{"shared_delayed", reportDelayed},
	{"shared_bytes", reportBytes},
	{"shared_calls", reportCalls},
}

// key returns the i-th key, which has 20 bytes.
func key(i int) string { return fmt.Sprintf("%s%08d", keyPrefix, i) }

func indexOf(key string) int {
	i, err := strconv.Atoi(strings.TrimPrefix(key, keyPrefix))
	check(err)
	return i
}

// progress knows which items have been processed.
type progress struct {
	room  chan struct{} // has an element for each item that is not processed
	mu    sync.Mutex
	seen  []bool
	added int
	// processed counts the items, each one once.
	processed int
	all       chan struct{} // gets a value when the last item is processed
}

func newProgress() *progress {
	return &progress{room: make(chan struct{}, maxOutstanding), all: make(chan struct{}, 1)}
}

// next returns the number of the next item to add. It blocks while too many
// have not been processed.
func (p *progress) next() int {
	p.room <- struct{}{}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.added++
	return p.added - 1
}

// process is called for each item, and may be called more than once.
func (p *progress) process(i int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if i >= len(p.seen) {
		p.seen = append(p.seen, make([]bool, i+1)...)
	}
	if p.seen[i] {
		return
	}
	p.seen[i] = true
	p.processed++
	<-p.room
	if p.processed == p.added {
		select {
		case p.all <- struct{}{}:
		default:
		}
	}
}

// awaitAll blocks until all items that were added have been processed. It
// returns their number.
func (p *progress) awaitAll() int {
	timeout := time.After(patience)
	for {
		p.mu.Lock()
		added, processed := p.added, p.processed
		p.mu.Unlock()
		if added == processed {
			return added
		}
		select {
		case <-p.all:
		case <-timeout:
			fail(fmt.Sprintf("%d of %d processed", processed, added))
		}
	}
}

// cycle adds items for so long, while workers process them. It returns the time
// until all have been processed, and their number.
func cycle(p peer, server, name string, workers int, adding time.Duration) (time.Duration, int) {
	producer, worker := p.open(server, name), p.open(server, name)
	progress := newProgress()
	worker.work(workers, func(key string) { progress.process(indexOf(key)) })
	start := time.Now()
	var running sync.WaitGroup
	for range producers {
		running.Go(func() {
			for time.Since(start) < adding {
				producer.add(key(progress.next()))
			}
		})
	}
	running.Wait()
	items := progress.awaitAll()
	elapsed := time.Since(start)
	worker.close()
	producer.close()
	return elapsed, items
}

func cycleCase(workers int) func(p peer, server string, items int) {
	return func(p peer, server string, _ int) {
		cycle(p, server, "warm-up", workers, warmUpTime)
		elapsed, items := cycle(p, server, "cycle", workers, cycleTime)
		report(fmt.Sprintf("shared_cycle_%d", workers), micros(elapsed)/float64(items), "us")
	}
}

func reportCalls(p peer, server string, _ int) {
	cycle(p, server, "warm-up", 8, warmUpTime)
	stop := p.engine(server).countCalls()
	_, items := cycle(p, server, "cycle", 8, cycleTime)
	report("shared_calls", float64(stop())*100/float64(items), "calls/100")
}

func reportHandover(p peer, server string, _ int) {
	const warmUps, samples = 50, 500
	producer, worker := p.open(server, "handover"), p.open(server, "handover")
	got := make(chan time.Time)
	worker.work(1, func(string) { got <- time.Now() })
	var times []time.Duration
	for i := range warmUps + samples {
		time.Sleep(5 * time.Millisecond) // until the worker waits
		start := time.Now()
		producer.add(key(i))
		select {
		case end := <-got:
			if i >= warmUps {
				times = append(times, end.Sub(start))
			}
		case <-time.After(patience):
			fail("an item was lost")
		}
	}
	worker.close()
	producer.close()
	slices.Sort(times)
	report("shared_handover_p50", micros(times[samples/2]), "us")
	report("shared_handover_p99", micros(times[samples*99/100]), "us")
}

func reportDelayed(p peer, server string, n int) {
	const threads, batch, spread = 64, 100, 10 * time.Second
	// By then all items have been added.
	first := time.Now().Add(3*time.Second + time.Duration(n)*250*time.Microsecond)
	producer, worker := p.open(server, delayedName), p.open(server, delayedName)
	keys, due := make([]string, n), make([]time.Time, n)
	for i := range n {
		keys[i], due[i] = key(i), first.Add(spread/time.Duration(n)*time.Duration(i))
	}
	lateness := make([]time.Duration, n)
	var processed atomic.Int64
	var mu sync.Mutex
	worker.work(threads, func(key string) {
		i := indexOf(key)
		late := time.Since(due[i])
		if late <= 0 {
			fail("an item came early")
		}
		mu.Lock()
		defer mu.Unlock()
		if lateness[i] == 0 {
			lateness[i] = late
			processed.Add(1)
		}
	})
	var running sync.WaitGroup
	var next atomic.Int64
	for range threads {
		running.Go(func() {
			for {
				end := int(next.Add(batch))
				begin := end - batch
				if begin >= n {
					return
				}
				end = min(end, n)
				producer.addAt(keys[begin:end], due[begin:end])
			}
		})
	}
	running.Wait()
	if time.Now().After(first) {
		fail("adding took too long")
	}
	for processed.Load() < int64(n) {
		if time.Since(first) > patience {
			fail(fmt.Sprintf("%d of %d processed", processed.Load(), n))
		}
		time.Sleep(10 * time.Millisecond)
	}
	worker.close()
	producer.close()
	slices.Sort(lateness)
	report("shared_delayed_p50", micros(lateness[n/2])/1000, "ms")
	report("shared_delayed_p99", micros(lateness[n*99/100])/1000, "ms")
	report("shared_delayed_max", micros(lateness[n-1])/1000, "ms")
}

func reportBytes(p peer, server string, n int) {
	engine := p.engine(server)
	producer := p.open(server, "bytes")
	before := engine.bytes()
	for begin := 0; begin < n; begin += batch {
		var keys []string
		for i := begin; i < min(n, begin+batch); i++ {
			keys = append(keys, key(i))
		}
		producer.addAll(keys)
	}
	report("shared_bytes", float64(engine.bytes()-before)/float64(n), "bytes")
	// The items are there: workers find them.
	progress := newProgress()
	progress.room = make(chan struct{}, n)
	for range n {
		progress.next()
	}
	worker := p.open(server, "bytes")
	worker.work(64, func(key string) { progress.process(indexOf(key)) })
	progress.awaitAll()
	worker.close()
	producer.close()
}

func micros(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1000 }
