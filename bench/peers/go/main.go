// Copyright 2026 The Workqueue Authors.
// SPDX-License-Identifier: Apache-2.0

// Runs a case of the benchmark on a peer that is written in Go. See
// bench/peers/README.md.
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
	name    string
	version string
	cases   []benchCase
}

type benchCase struct {
	name string
	run  func(report)
}

// report takes one figure of a case.
type report func(name string, value float64, unit string)

var idleTime = time.Minute

func main() {
	peers := []peer{
		{"client-go", moduleVersion("k8s.io/client-go"), clientGoCases()},
		{"priorityqueue", moduleVersion("sigs.k8s.io/controller-runtime"), priorityQueueCases()},
		{"controller-runtime", moduleVersion("sigs.k8s.io/controller-runtime"), controllerCases()},
		{"go-delayqueue", goVersion() + ", not a released one", delayQueueCases()},
		{"go-timer", goVersion(), timerCases()},
		{"go-runtime", goVersion(), []benchCase{{"idle", reportIdle}}},
	}
	args := os.Args[1:]
	switch {
	case len(args) == 1 && args[0] == "--list":
		for _, p := range peers {
			for _, c := range p.cases {
				fmt.Printf("%s\t%s\n", p.name, c.name)
			}
		}
	case len(args) == 1 && args[0] == "--versions":
		for _, p := range peers {
			fmt.Printf("%s\t%s\n", p.name, p.version)
		}
	case len(args) >= 2:
		flags := flag.NewFlagSet("PEER CASE", flag.ExitOnError)
		reps := flags.Int("reps", 1, "number of measurements")
		flags.Func("seconds", "duration of the case idle in `seconds` (default 60)", func(s string) (err error) {
			idleTime, err = time.ParseDuration(s + "s")
			return err
		})
		flags.Parse(args[2:])
		c := find(peers, args[0], args[1])
		for range *reps {
			c.run(printFigure)
		}
	default:
		fail("usage: run PEER CASE [--reps N] [--seconds N] | --list | --versions")
	}
}

func find(peers []peer, peerName, caseName string) benchCase {
	for _, p := range peers {
		for _, c := range p.cases {
			if p.name == peerName && c.name == caseName {
				return c
			}
		}
	}
	fail(fmt.Sprintf("%s does not run %s; --list prints all peers and cases", peerName, caseName))
	panic("unreachable")
}

func printFigure(name string, value float64, unit string) {
	fmt.Printf("%s\t%.1f\t%s\n", name, value, unit)
}

func goVersion() string {
	return fmt.Sprintf("%s, GOMAXPROCS=%d", runtime.Version(), runtime.GOMAXPROCS(0))
}

// moduleVersion returns the version of the module at `path` that this program
// was built with.
func moduleVersion(path string) string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, module := range info.Deps {
			if module.Path == path {
				return module.Version + ", " + goVersion()
			}
		}
	}
	return "unknown"
}

func fail(message string) {
	fmt.Fprintln(os.Stderr, message)
	os.Exit(2)
}
