// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

// Runs a case of the benchmark on a queue, written in Go, that several processes
// share. See bench/peers/README.md.
package main

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"time"
)

type peer struct {
	name   string
	module string
	// open opens the queue of this name, as one more client.
	open func(server, name string) queue
	// engine connects to the server, to ask it about itself.
	engine func(server string) engine
}

// queue is one client of a queue. Its methods end the program if they fail.
type queue interface {
	add(key string)
	// addAt adds items that are due at these times.
	addAt(keys []string, due []time.Time)
	addAll(keys []string)
	// work processes items with so many workers, until close().
	work(workers int, process func(key string))
	close()
}

type engine interface {
	bytes() int64
	// countCalls counts the calls of clients, until they end, and their
	// connections with them, and the function is called.
	countCalls() func() int64
}

func main() {
	peers := []peer{
		{"asynq", "github.com/hibiken/asynq", openAsynq, newRedisEngine},
		{"river", "github.com/riverqueue/river", openRiver, newPostgresEngine},
	}
	args := os.Args[1:]
	switch {
	case len(args) == 1 && args[0] == "--list":
		for _, p := range peers {
			for _, c := range cases {
				fmt.Printf("%s\t%s\n", p.name, c.name)
			}
		}
	case len(args) == 1 && args[0] == "--versions":
		for _, p := range peers {
			fmt.Printf("%s\t%s\n", p.name, moduleVersion(p.module))
		}
	case len(args) >= 2:
		flags := flag.NewFlagSet("PEER CASE", flag.ExitOnError)
		server := flags.String("server", "", "the `address` of a server that nothing else uses")
		items := flags.Int("items", 100000, "number of items in shared_delayed and shared_bytes")
		flags.Parse(args[2:])
		find(peers, args[0], args[1])(*server, *items)
	default:
		fail("usage: run PEER CASE --server ADDRESS [--items N] | --list | --versions")
	}
}

func find(peers []peer, peerName, caseName string) func(server string, items int) {
	for _, p := range peers {
		for _, c := range cases {
			if p.name == peerName && c.name == caseName {
				return func(server string, items int) { c.run(p, server, items) }
			}
		}
	}
	fail(fmt.Sprintf("%s does not run %s; --list prints all peers and cases", peerName, caseName))
	panic("unreachable")
}

func report(name string, value float64, unit string) {
	fmt.Printf("%s\t%.1f\t%s\n", name, value, unit)
}

// moduleVersion returns the version of the module at `path` that this program
// was built with, and the version of Go.
func moduleVersion(path string) string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, module := range info.Deps {
			if module.Path == path {
				return fmt.Sprintf("%s, %s, GOMAXPROCS=%d", module.Version, runtime.Version(), runtime.GOMAXPROCS(0))
			}
		}
	}
	return "unknown"
}

func fail(message string) {
	fmt.Fprintln(os.Stderr, message)
	os.Exit(2)
}

func check(err error) {
	if err != nil {
		fail(err.Error())
	}
}
