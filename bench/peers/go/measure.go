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

// Returns how many nanoseconds one of the n operations of a pass takes. There
// is a pass to warm up, and then as many as half a second has room for.
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

// For what is done once: runs it with a tenth of n to warm up, and returns what
// it returns for n.
func warmedUp(n int, run func(n int) float64) float64 {
	run(n / 10)
	return run(n)
}

// What was allocated before the time is taken is not collected while it is.
func begin() time.Time {
	runtime.GC()
	return time.Now()
}

func nsEach(start time.Time, n int) float64 {
	return float64(time.Since(start).Nanoseconds()) / float64(n)
}

func percentile(samples []time.Duration, p int) time.Duration {
	sort.Slice(samples, func(i, j int) bool { return samples[i] < samples[j] })
	return samples[len(samples)*p/100]
}

// The bytes of this process that are resident when it has collected its garbage
// and given back what it need not keep, and those on its heap.
func memory() (resident, heap float64) {
	debug.FreeOSMemory()
	var total, pages float64
	fmt.Sscan(string(readFile("/proc/self/statm")), &total, &pages)
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return pages * float64(os.Getpagesize()), float64(stats.HeapAlloc)
}

// Reports what the process costs a minute when nobody asks it for anything.
func reportIdle(report report) {
	time.Sleep(time.Second) // for what starting it leaves to be done
	wakeups, cpu := voluntarySwitches(), cpuTime()
	time.Sleep(idleTime)
	minutes := idleTime.Minutes()
	report("idle_wakeups", float64(voluntarySwitches()-wakeups)/minutes, "1/min")
	report("idle_cpu", float64((cpuTime()-cpu).Microseconds())/minutes, "us/min")
}

// How often a thread of this process went to sleep of itself.
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
