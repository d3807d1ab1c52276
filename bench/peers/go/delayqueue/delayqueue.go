// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

// Package delayqueue has a delay queue as write-ups of such queues in Go
// describe it: a heap under a mutex, and a channel. A goroutine sleeps until the
// first item is due. The channel wakes the goroutine when an earlier item is
// added.
package delayqueue

import (
	"container/heap"
	"sync"
	"time"
)

// DelayQueue hands out each item when the item's delay has passed, the earliest
// item first. Only one goroutine may take items.
type DelayQueue[T any] struct {
	mu      sync.Mutex
	waiting entries[T]

	// Holds a wake-up until Take() receives it.
	earlier chan struct{}
}

func New[T any]() *DelayQueue[T] {
	return &DelayQueue[T]{earlier: make(chan struct{}, 1)}
}

// Push adds item. Take returns the item after delay has passed.
func (q *DelayQueue[T]) Push(item T, delay time.Duration) {
	e := &entry[T]{item: item, due: time.Now().Add(delay)}
	q.mu.Lock()
	heap.Push(&q.waiting, e)
	isFirst := q.waiting[0] == e
	q.mu.Unlock()
	if isFirst {
		select {
		case q.earlier <- struct{}{}:
		default:
		}
	}
}

// Take blocks until an item is due, and returns it.
func (q *DelayQueue[T]) Take() T {
	for {
		e, wait := q.poll()
		if e != nil {
			return e.item
		}
		if wait == 0 {
			<-q.earlier
			continue
		}
		timer := time.NewTimer(wait)
		select {
		case <-q.earlier:
			timer.Stop()
		case <-timer.C:
		}
	}
}

// poll removes and returns the first entry if it is due. Otherwise it returns
// the time until that entry is due, or zero if there is no entry.
func (q *DelayQueue[T]) poll() (*entry[T], time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.waiting) == 0 {
		return nil, 0
	}
	if wait := time.Until(q.waiting[0].due); wait > 0 {
		return nil, wait
	}
	return heap.Pop(&q.waiting).(*entry[T]), 0
}

type entry[T any] struct {
	item T
	due  time.Time
}

// entries implements heap.Interface.
type entries[T any] []*entry[T]

func (e entries[T]) Len() int           { return len(e) }
func (e entries[T]) Less(i, j int) bool { return e[i].due.Before(e[j].due) }
func (e entries[T]) Swap(i, j int)      { e[i], e[j] = e[j], e[i] }
func (e *entries[T]) Push(x any)        { *e = append(*e, x.(*entry[T])) }

func (e *entries[T]) Pop() any {
	last := len(*e) - 1
	popped := (*e)[last]
	(*e)[last] = nil
	*e = (*e)[:last]
	return popped
}
