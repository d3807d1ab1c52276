// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"sort"
	"syscall"
	"time"
)

// nsPerOp returns the nanoseconds of one operation. `pass` does n operations. It
// runs once to warm up, and then repeatedly for half a second.
func nsPerOp(n int, pass func()) float64 {
	pass()
	start := begin()
	passes := 0
	for time.Since(start) < time.Second/2 {
		pass()
		passes++
	}
	return nsEach(start, n*passes)
}

// warmedUp returns run(n), after a call with a tenth of n to warm up. It is for
// cases that run once.
func warmedUp(n int, run func(n int) float64) float64 {
	run(n / 10)
	return run(n)
}

// begin collects the garbage, so that the measurement does not include the
// collection, and returns the start time of a measurement.
func begin() time.Time {
	runtime.GC()
	return time.Now()
}

func nsEach(start time.Time, n int) float64 {
	return float64(time.Since(start).Nanoseconds()) / float64(n)
}

// longestMicros returns the microseconds of the longest of n calls.
func longestMicros(n int, call func(i int)) float64 {
	var longest time.Duration
	last := begin()
	for i := range n {
		call(i)
		now := time.Now()
		longest = max(longest, now.Sub(last))
		last = now
	}
	return float64(longest.Nanoseconds()) / 1000
}

func percentile(samples []time.Duration, p int) time.Duration {
	sort.Slice(samples, func(i, j int) bool { return samples[i] < samples[j] })
	return samples[len(samples)*p/100]
}

// memory returns the resident bytes of this process and the bytes on its heap,
// after it has collected its garbage and has returned unused memory to the
// system.
func memory() (resident, heap float64) {
	debug.FreeOSMemory()
	var total, pages float64
	fmt.Sscan(string(readFile("/proc/self/statm")), &total, &pages)
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return pages * float64(os.Getpagesize()), float64(stats.HeapAlloc)
}

// reportIdle observes the idle process, and reports its cost in a minute.
func reportIdle(report report) {
	time.Sleep(time.Second) // until the work of starting has ended
	wakeups, cpu := voluntarySwitches(), cpuTime()
	time.Sleep(idleTime)
	minutes := idleTime.Minutes()
	report("idle_wakeups", float64(voluntarySwitches()-wakeups)/minutes, "1/min")
	report("idle_cpu", float64((cpuTime()-cpu).Microseconds())/minutes, "us/min")
}

// voluntarySwitches returns the number of voluntary context switches of all
// threads of this process.
func voluntarySwitches() (sum int) {
	threads, _ := filepath.Glob("/proc/self/task/*/status")
	for _, status := range threads {
		_, rest, _ := bytes.Cut(readFile(status), []byte("\nvoluntary_ctxt_switches:"))
		var n int
		fmt.Sscan(string(rest), &n)
		sum += n
	}
	return sum
}

func cpuTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		fail(err.Error())
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

func readFile(name string) []byte {
	content, err := os.ReadFile(name)
	if err != nil {
		fail(err.Error())
	}
	return content
}
