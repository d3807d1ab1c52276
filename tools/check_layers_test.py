#!/usr/bin/env python3
"""Tests what tools/check_layers.py rejects."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
import check_layers  # pylint: disable=wrong-import-position


def header(guard, *includes):
    """Returns the text of a header."""
    lines = ["#ifndef " + guard, "#define " + guard]
    lines += ['#include "%s"' % include for include in includes]
    return "\n".join(lines + ["#endif  // " + guard, ""])


def source(*includes):
    """Returns the text of a source file."""
    return "".join('#include "%s"\n' % include for include in includes)


class CheckLayersTest(unittest.TestCase):

    def errors(self, files):
        """Returns the errors of a tree of `files`."""
        with tempfile.TemporaryDirectory() as root:
            for path, text in files.items():
                file = pathlib.Path(root, path)
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(text)
            return check_layers.check(pathlib.Path(root))

    def assert_include(self, path, include, error=None):
        """Fails unless the include of `include` by `path` gives `error`."""
        expected = ["%s:1: %s: %s" % (path, include, error)] if error else []
        self.assertEqual(self.errors({path: source(include)}), expected)

    def test_a_good_tree_has_no_errors(self):
        self.assertEqual(self.errors({
            "workqueue/queue.h": header(
                "WORKQUEUE_QUEUE_H_", "absl/time/time.h",
                "ratelimit/rate_limiter.h", "workqueue/clock/clock.h",
                "workqueue/internal/queue_core.h"),
            "ratelimit/rate_limiter.h": header(
                "WORKQUEUE_RATELIMIT_RATE_LIMITER_H_"),
            "test/workqueue/plain.h": header("WORKQUEUE_TEST_WORKQUEUE_PLAIN_H_",
                                             "workqueue/queue.h"),
        }), [])

    def test_layers_include_downwards(self):
        layers = ["workqueue/log_sink", "workqueue/base/x",
                  "workqueue/clock/x", "workqueue/base/error_log",
                  "workqueue/timer/x", "workqueue/x",
                  "workqueue/coroutine/x", "workqueue/controller/x",
                  "workqueue/tracing/x", "workqueue/opentelemetry/x"]
        for i, upper in enumerate(layers):
            for lower in layers[:i]:
                self.assert_include(upper + ".cc", lower + ".h")
                self.assert_include(lower + ".cc", upper + ".h",
                                    "is in a higher layer")
            self.assert_include(upper + ".cc", upper + ".h")

    def test_the_parts_of_queues_are_in_the_layer_of_queues(self):
        part = "workqueue/internal/x"
        self.assert_include(part + ".cc", "workqueue/x.h")
        self.assert_include("workqueue/x.cc", part + ".h")
        self.assert_include(part + ".cc", "ratelimit/x.h")
        self.assert_include("workqueue/base/x.cc", part + ".h",
                            "is in a higher layer")
        self.assert_include("ratelimit/x.cc", part + ".h",
                            "is internal to workqueue")

    def test_parts_of_a_layer_do_not_include_each_other(self):
        for part, other in (("ratelimit/x", "workqueue/timer/x"),
                            ("workqueue/shared/x", "workqueue/tracing/x"),
                            ("workqueue/log_sink", "workqueue/metrics")):
            self.assert_include(part + ".cc", other + ".h",
                                "is in the same layer")
            self.assert_include(other + ".cc", part + ".h",
                                "is in the same layer")
        self.assert_include("bench/x.cc", "test/x.h")

    def test_the_library_includes_nothing_above_it(self):
        for folder in ("bench", "examples", "test"):
            self.assert_include("workqueue/prometheus/x.cc", folder + "/x.h",
                                "is in a higher layer")
        self.assert_include("test/x.cc", "examples/x.h")
        self.assert_include("examples/x.cc", "test/x.h", "is in a higher layer")

    def test_internal_folders(self):
        for folder in ("ratelimit", "workqueue/clock", "workqueue/timer",
                       "workqueue/controller", "workqueue/shared",
                       "workqueue/tracing", "workqueue/prometheus",
                       "workqueue/opentelemetry"):
            internal = folder + "/internal/x.h"
            self.assert_include(folder + "/x.cc", internal)
            self.assert_include(folder + "/internal/y.cc", internal)
            self.assert_include("test/any/x.cc", internal)
            error = "is internal to " + folder
            self.assert_include("bench/x.cc", internal, error)
            self.assert_include("examples/x.cc", internal, error)
        self.assert_include("workqueue/controller/x.cc",
                            "workqueue/timer/internal/x.h",
                            "is internal to workqueue/timer")

    def test_what_the_library_shares(self):
        for header, error in (
                ("workqueue/base/x.h", "is for the library alone"),
                ("workqueue/internal/x.h", "is internal to workqueue")):
            for path in ("workqueue/x.cc", "workqueue/controller/x.cc",
                         "test/any/x.cc", "bench/x.cc"):
                self.assert_include(path, header)
            for path in ("examples/x.cc", "examples/mirror/x.cc",
                         "test/monorepo/main.cc"):
                self.assert_include(path, header, error)
        self.assert_include("ratelimit/x.cc", "workqueue/base/x.h")

    def test_header_guards(self):
        for path, guard in (
                ("workqueue/clock/clock.h", "WORKQUEUE_CLOCK_CLOCK_H_"),
                ("bench/cases/x.h", "WORKQUEUE_BENCH_CASES_X_H_"),
                ("test/monorepo/clock/clock.h", "CLOCK_CLOCK_H_")):
            self.assertEqual(self.errors({path: header(guard)}), [])
            error = ["%s: the header guard is not %s" % (path, guard)]
            self.assertEqual(self.errors({path: header("OTHER_H_")}), error)
            self.assertEqual(self.errors({path: "#pragma once\n"}), error)
            self.assertEqual(
                self.errors({path: header(guard).replace(
                    "#define " + guard, "#define OTHER_H_")}), error)

    def test_waits(self):
        path = "workqueue/x.cc"
        for name, line in (
                ("AwaitWithTimeout", "mu_.AwaitWithTimeout(cond, d);"),
                ("AwaitWithDeadline", "mu_.AwaitWithDeadline(cond, t);"),
                ("AwaitWithDeadline", "mu->AwaitWithDeadline(cond, t);"),
                ("WaitWithDeadline", "cv.WaitWithDeadline(&mu_, end)"),
                ("WaitWithTimeout", "cv.WaitWithTimeout(&mu_, d)"),
                ("WaitForNotificationWithTimeout",
                 "n.WaitForNotificationWithTimeout(d);"),
                ("LockWhenWithTimeout", "mu.LockWhenWithTimeout(cond, d);"),
                ("SleepFor", "absl::SleepFor(d);"),
                ("absl::Now", "const absl::Time now = absl::Now();"),
                ("sleep_for", "std::this_thread::sleep_for(d);"),
                ("wait_for", "cv.wait_for(lock, d);"),
                ("system_clock", "std::chrono::system_clock::now();"),
                ("steady_clock", "std::chrono::steady_clock::now();"),
                ("pthread_cond_timedwait", "pthread_cond_timedwait(a, b, c);"),
                ("usleep", "usleep(1);"),
                ("::sleep", "::sleep(1);"),
                ("poll", "poll(&fd, 1, 10);"),
                ("SO_RCVTIMEO", "setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO);")):
            self.assertEqual(
                self.errors({path: line + "\n"}),
                ["%s:1: %s: only a Clock or a Parker waits" % (path, name)])
            for other in ("workqueue/clock/x.cc", "test/x.cc", "bench/x.cc"):
                self.assertEqual(self.errors({other: line + "\n"}), [])
        for line in ("clock_->AwaitWithDeadline(&mu_, cond, t);",
                     "Clock::GetRealClock()->AwaitWithDeadline(&mu_, cond, t);",
                     "parker->ParkUntil(t);", "clock->Sleep(d);",
                     "return sleep(d);",
                     "// as absl::SleepFor(d) does", "x = wait_for_sync;",
                     'Log("poll()");'):
            self.assertEqual(self.errors({path: line + "\n"}), [])

    def test_waits_that_are_allowed(self):
        connection = "workqueue/redis/redis_connection.cc"
        self.assertEqual(self.errors({connection: "poll(&fd, 1, 10);\n"}), [])
        self.assertEqual(len(self.errors({connection: "usleep(1);\n"})), 1)

    def test_locks(self):
        path = "workqueue/x.cc"
        for name in ("Lock", "Unlock", "TryLock", "ReaderLock", "lock_shared"):
            line = "mu_.%s();\n" % name
            self.assertEqual(self.errors({path: line}),
                             ["%s:1: %s: lock with mutex_lock.h" % (path, name)])
            self.assertEqual(self.errors({"test/x.cc": line}), [])
        for name in ("absl::MutexLock", "std::lock_guard"):
            self.assertEqual(len(self.errors({path: name + " lock(&mu_);\n"})), 1)
        for line in ("MutexLock lock(&mu_);", "// until mu_.Unlock()",
                     "std::shared_ptr<State> state = known.lock();"):
            self.assertEqual(self.errors({path: line + "\n"}), [])

    def test_the_script_prints_each_error_and_fails(self):
        with tempfile.TemporaryDirectory() as root:
            pathlib.Path(root, "examples").mkdir()
            pathlib.Path(root, "examples/x.cc").write_text(
                source("workqueue/queue.h", "workqueue/base/slab.h"))
            run = subprocess.run(
                [sys.executable, check_layers.__file__, root], text=True,
                stderr=subprocess.PIPE)
        self.assertEqual(run.returncode, 1)
        self.assertEqual(run.stderr,
                         "examples/x.cc:2: workqueue/base/slab.h: "
                         "is for the library alone\n")


if __name__ == "__main__":
    unittest.main()
