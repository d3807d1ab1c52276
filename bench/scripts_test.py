#!/usr/bin/env python3
"""Tests that the scripts that measure refuse to measure or print nothing."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest
from unittest import mock

ROOT = pathlib.Path(__file__).resolve().parent.parent


def run(command, *arguments):
    return subprocess.run([command, *arguments], capture_output=True, text=True,
                          check=False)


class RefusalTest(unittest.TestCase):

    def assert_refuses(self, message, script, *arguments):
        result = run(ROOT / script, *arguments)
        self.assertNotEqual(result.returncode, 0)
        self.assertEqual(result.stdout, "")
        self.assertIn(message, result.stderr)
        self.assertNotIn("Traceback", result.stderr)

    def test_compile_time(self):
        for rounds in ("0", "-3", "x"):
            self.assert_refuses(
                f"ROUNDS is {rounds}; it must be a whole number, at least 1",
                "bench/compile_time", rounds)

    def test_partitions(self):
        self.assert_refuses("--rounds is 0; it must be at least 1",
                            "bench/partitions", "--rounds", "0")
        with mock.patch.dict(os.environ, WORKQUEUE_REDIS_SERVER="not-there"):
            self.assert_refuses("server missing: not-there\n",
                                "bench/partitions")

    def test_sync_cost(self):
        with mock.patch.dict(os.environ, CXX="false"):
            self.assert_refuses("no source compiles\n", "bench/sync_cost",
                                "--all", "ratelimit/jitter.cc")

    def test_plain(self):
        for rounds in ("1", "-3"):
            self.assert_refuses(
                f"--rounds is {rounds}; it must be at least 2",
                "bench/plain/run", "--rounds", rounds)
        self.assert_refuses("there is no part x; there are: node_hash_set,",
                            "bench/plain/run", "slab", "x")

    def test_kubernetes_compare(self):
        script = "bench/kubernetes_compare"
        self.assert_refuses("--rounds is 0; it must be at least 1", script,
                            "--operator", "x=/bin/true", "--rounds", "0")
        self.assert_refuses("--rounds is 1; it must be at least the number of"
                            " operators", script, "--operator", "x=/bin/true",
                            "--operator", "y=/bin/true", "--rounds", "1")
        self.assert_refuses("--rate, or a source changes twice", script,
                            "--operator", "x=/bin/true", "--rate", "501")
        for operator in ("x", "x=/no/program", "=/bin/true"):
            self.assert_refuses(f"--operator is {operator}; it must be a new"
                                " name, = and a program", script, "--operator",
                                operator)

    def test_kubernetes_e2e(self):
        script = "examples/kubernetes/e2e/run"
        self.assert_refuses("--sources is 0; it must be at least 10", script,
                            "--sources", "0")
        self.assert_refuses("--rate is nan; it must be at least 0.1", script,
                            "--rate", "nan")
        self.assert_refuses("--operator is /no/program; it is not a program",
                            script, "--operator", "/no/program")

    def test_fuzz(self):
        for seconds in ("0", "-3", "x"):
            self.assert_refuses(
                f"the number of seconds is '{seconds}'; it must be a whole"
                " number, at least 1", "test/reference/fuzz", seconds)
        self.assert_refuses("there is no subject 'x'; there are: delay_queue ",
                            "test/reference/fuzz", "1", "queue", "x")


class TableTest(unittest.TestCase):
    """Runs scripts with a benchmark that prints given figures."""

    def run_with(self, script, figures):
        lines = [f'"{name}_median",1,{ns},{ns},ns'
                 for name, ns in figures.items()]
        return self.run_with_lines(script, lines, "--benchmark_filter=X")

    def run_with_lines(self, script, lines, *arguments):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        root = pathlib.Path(folder.name)
        (root / "bench").mkdir()
        (root / "tools").mkdir()
        bazelw = root / "tools/bazelw"
        bazelw.write_text("#!/bin/sh\ncat <<'END'\n"
                          + "".join(line + "\n" for line in lines) + "END\n",
                          encoding="utf-8")
        bazelw.chmod(0o755)
        shutil.copy(ROOT / "bench" / script, root / "bench")
        return run(root / "bench" / script, *arguments)

    def assert_fails(self, script, figures):
        result = self.run_with(script, figures)
        self.assertEqual(result.returncode, 1)
        self.assertEqual(result.stdout, "")
        self.assertEqual(result.stderr,
                         f"bench/{script}: no row of the table has run with the"
                         ' arguments "--benchmark_filter=X"\n')

    def test_growth(self):
        heap = {"Push/heap/1000": 10, "Push/heap/100000": 11,
                "Push/heap/1000000": 20, "Push/heap/10000000": 25}
        part = {"Push/wheel/1000": 5, "Push/wheel/100000": 6}
        for whole in (heap, {**heap, **part}):
            result = self.run_with("growth", whole)
            self.assertEqual(result.returncode, 0)
            self.assertEqual(result.stdout.splitlines()[2:],
                             ["| Push | heap | 10 | 11 | 20 | 25 | x2.5 |"])
        wheel = {name.replace("heap", "wheel"): ns / 2
                 for name, ns in heap.items()}
        for both, row in (
                (wheel, "| Push | wheel | 5 | 6 | 10 | 12 | x2.5 |"),
                ({**heap, **wheel}, "| Push | wheel | 5 (0.50) | 6 (0.50) |"
                 " 10 (0.50) | 12 (0.50) | x2.5 |")):
            self.assertEqual(
                self.run_with("growth", both).stdout.splitlines()[-1], row)
        self.assert_fails("growth", part)
        self.assert_fails("growth", {})

    def test_metrics_cost(self):
        part = {"GetDone/none": 50, "GetDone/noop": 60}
        result = self.run_with("metrics_cost",
                               {**part, "GetDone/prometheus": 70})
        self.assertEqual(result.returncode, 0)
        self.assertEqual(result.stdout.splitlines()[2:],
                         ["| GetDone | 50 | 60 (+10) | 70 (+20) |"])
        result = self.run_with("metrics_cost", {"ReadClock": 30})
        self.assertEqual(result.returncode, 0)
        self.assertEqual(result.stdout, "\nReadClock: 30\n")
        self.assert_fails("metrics_cost", part)
        self.assert_fails("metrics_cost", {})

    def test_beside_a_transaction(self):
        head = "seconds items/s backlog dead_rows megabytes open"
        lines = ["# 90 items/s at most", head, "1 45 0 7 1 0", "2 44 3 9 1 1"]
        result = self.run_with_lines("beside_a_transaction", lines)
        self.assertEqual(result.returncode, 0)
        self.assertEqual(result.stdout.splitlines(), lines)
        for wrong in ([], [head], [head, "1 45"], ["1 45 0 7 1 0"]):
            result = self.run_with_lines("beside_a_transaction", wrong)
            self.assertEqual(result.returncode, 1)
            self.assertIn("has not printed lines of seconds", result.stderr)


if __name__ == "__main__":
    unittest.main()
