// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"math/bits"
	"time"
)

const (
	keyCount = 65536
	million  = 1000000
)

// stringKey returns the i-th string key. All keys are different.
func stringKey(i int) string {
	return fmt.Sprintf("namespace-%d/object-name-%d", i%100, i)
}

func stringKeys() []string {
	keys := make([]string, keyCount)
	for i := range keys {
		keys[i] = stringKey(i)
	}
	return keys
}

func intKeys() []int {
	keys := make([]int, keyCount)
	for i := range keys {
		keys[i] = i + 1
	}
	return keys
}

// random is the generator of bench/random_delays.h, and draws the same numbers.
type random struct {
	state uint64
}

func newRandom() *random { return &random{state: 1} }

func (r *random) below(bound uint64) uint64 {
	r.state ^= r.state >> 12
	r.state ^= r.state << 25
	r.state ^= r.state >> 27
	high, _ := bits.Mul64(r.state*0x2545F4914F6CDD1D, bound)
	return high
}

// farDelay draws a delay from 1 h to 1,300 h.
func (r *random) farDelay() time.Duration {
	return time.Hour + time.Duration(r.below(uint64(1299*time.Hour)))
}

// shuffled returns the numbers from 0 to n - 1 in random order.
func shuffled(n int) []int {
	numbers := inOrder(n)
	random := newRandom()
	for i := n - 1; i > 0; i-- {
		j := random.below(uint64(i + 1))
		numbers[i], numbers[j] = numbers[j], numbers[i]
	}
	return numbers
}

// inOrder returns the numbers from 0 to n - 1 in order.
func inOrder(n int) []int {
	numbers := make([]int, n)
	for i := range numbers {
		numbers[i] = i
	}
	return numbers
}
