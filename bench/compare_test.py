#!/usr/bin/env python3
"""Tests the medians, ratios, tables, charts, options and document of
bench/compare."""

import collections
import contextlib
import importlib.machinery
import importlib.util
import io
import math
import pathlib
import sys
import tempfile
import unittest
from unittest import mock
from xml.etree import ElementTree

PROGRAM = str(pathlib.Path(__file__).resolve().parent / "compare")


def load(program):
    sys.dont_write_bytecode = True
    loader = importlib.machinery.SourceFileLoader("compare", program)
    module = importlib.util.module_from_spec(
        importlib.util.spec_from_loader("compare", loader))
    loader.exec_module(module)
    return module


compare = load(PROGRAM)
servers = compare.servers

# The groups of the section of //bench/cases.
ALL_OF_CASES = ("queue,priority-queue,controller,queue-async,delay-queue,"
                "scheduler")

GROUP = compare.Group("Queues & such", "queue", ("queue-floor", "queue-wheel"),
                      ("client-go", "priorityqueue"))


def figures(*outputs):
    """Returns figures. The i-th output of a subject is from its i-th round."""
    result = compare.Figures()
    rounds = collections.Counter()
    for subject, output in outputs:
        rounds[subject] += 1
        result.add(rounds[subject], subject, output)
    return result


class FiguresTest(unittest.TestCase):

    def test_a_figure_is_the_median_of_its_rounds(self):
        f = figures(("queue", "cycle\t30\tns\n"), ("queue", "cycle\t10\tns\n"),
                    ("queue", "cycle\t11\tns\n"))
        self.assertEqual(f.get("queue", "cycle"), 11)
        self.assertIsNone(f.get("client-go", "cycle"))

    def test_a_case_may_have_several(self):
        f = figures(("queue", "late_p50\t1\tus\nlate_p99\t2\tus\n"))
        self.assertEqual(f.of_group(GROUP), ["late_p50", "late_p99"])

    def test_what_ours_does_not_have_is_left_out(self):
        f = figures(("queue", "memory\t1\tB\n"),
                    ("client-go", "memory\t1\tB\nmemory_heap\t2\tB\n"))
        self.assertEqual(f.of_group(GROUP), ["memory"])


class RatioTest(unittest.TestCase):

    def test_more_than_one_is_better(self):
        self.assertEqual(compare.ratio(10, 25), 2.5)
        self.assertEqual(compare.ratio(10, 5), 0.5)

    def test_is_the_median_of_its_rounds(self):
        # The machine is slower in every second round.
        f = figures(("queue", "cycle\t100\tns\n"),
                    ("queue", "cycle\t200\tns\n"),
                    ("queue", "cycle\t100\tns\n"),
                    ("client-go", "cycle\t300\tns\n"),
                    ("client-go", "cycle\t600\tns\n"))
        self.assertEqual(f.ratio("queue", "client-go", "cycle"), 3)
        self.assertIsNone(f.ratio("queue", "priorityqueue", "cycle"))

    def test_zero_is_best(self):
        self.assertEqual(compare.ratio(0, 0), 1)
        self.assertEqual(compare.ratio(0, 3), math.inf)
        self.assertEqual(compare.ratio(3, 0), 0)


class PartsTest(unittest.TestCase):

    def test_tells_what_the_machine_takes(self):
        f = figures(("queue", "cycle_string\t200\tns\nfill_drain\t9\tns\n"),
                    ("machine", "lock\t20\tns\ncopy_key\t15\tns\n"))
        self.assertIn(
            "| queue cycle_string | 200 | 3 lock + 1 copy_key | 75.0 | 38% |\n",
            compare.parts_table(f))

    def test_is_silent_where_that_is_not_known(self):
        f = figures(("queue", "cycle_string\t200\tns\n"),
                    ("machine", "lock\t20\tns\n"))
        self.assertEqual(compare.parts_table(f), "")


class OutputTest(unittest.TestCase):

    def setUp(self):
        self.figures = figures(
            ("queue", "cycle\t100\tns\nwakeups\t0\t1/min\nbatch\t9\tns\n"),
            ("queue-floor", "cycle\t80\tns\n"),
            ("client-go", "cycle\t1250\tns\nwakeups\t6\t1/min\n"))

    def test_tsv(self):
        self.assertEqual(
            compare.tsv([GROUP], self.figures),
            "cycle\tqueue-floor\t100.0\t80.0\tns\t0.80\n"
            "cycle\tclient-go\t100.0\t1250.0\tns\t12.50\n"
            "wakeups\tclient-go\t0.0\t6.0\t1/min\tinf\n")

    def test_table_has_the_columns_that_have_something(self):
        self.assertEqual(
            compare.table(GROUP, self.figures),
            "| case | unit | ours | floor | client-go |\n"
            "| --- | --- | ---: | ---: | ---: |\n"
            "| cycle | ns | 100 | 80.0 (0.80) | 1,250 (12.5) |\n"
            "| wakeups | 1/min | 0 |  | 6.00 (inf) |\n"
            "| batch | ns | 9.00 |  |  |\n")

    def test_a_column_is_named_by_what_differs_from_ours(self):
        for ours, own, title in (("queue", "queue-floor", "floor"),
                                 ("delay-queue", "delay-queue-wheel", "wheel"),
                                 ("queue-async", "queue-threads", "threads"),
                                 ("priority-queue", "queue", "queue"),
                                 ("priority-queue", "priority-queue-fair",
                                  "fair")):
            group = compare.Group("", ours, (own,), ("go-timer",))
            self.assertEqual(compare.column_title(group, own), title)
            self.assertEqual(compare.column_title(group, "go-timer"),
                             "go-timer")

    def test_chart_is_xml_with_a_mark_for_each_ratio(self):
        chart = ElementTree.fromstring(
            compare.Chart([GROUP], self.figures).svg())
        color = compare.Chart.COLORS[0]
        marks = [e for e in chart.iter() if e.get("fill") == color]
        self.assertEqual(len(marks), 1 + 2)  # the legend's, and client-go's
        width = float(chart.get("width"))
        self.assertTrue(all(0 < float(e.get("cx")) < width for e in marks))
        self.assertIn(GROUP.title, [e.text for e in chart.iter()])

    def test_each_peer_of_a_group_has_a_color(self):
        for group in compare.GROUPS:
            self.assertLessEqual(len(group.peers), len(compare.Chart.COLORS))

    def test_right_of_one_is_better(self):
        def x(theirs):
            f = figures(("queue", "a\t100\tns\n"),
                        ("client-go", f"a\t{theirs}\tns\n"))
            chart = ElementTree.fromstring(compare.Chart([GROUP], f).svg())
            return float(chart.findall(
                f".//*[@fill='{compare.Chart.COLORS[0]}']")[-1].get("cx"))
        one = x(100)
        self.assertLess(x(50), one)
        self.assertLess(one, x(200))
        self.assertEqual(x(100000), x(1000000))  # beyond the border


class ChosenTest(unittest.TestCase):

    def test_chosen(self):
        self.assertEqual(compare.chosen(None, ["a", "b"]), ["a", "b"])
        self.assertEqual(compare.chosen("b,a", ["a", "b", "c"]), ["a", "b"])
        with self.assertRaises(SystemExit):
            compare.chosen("a,x", ["a", "b"])

    def test_groups_without_a_chosen_peer_are_left_out(self):
        groups = compare.choose_groups(None, "netty,go-timer")
        self.assertEqual([g.ours for g in groups], ["scheduler", "machine"])
        self.assertEqual(groups[0].peers, ("go-timer", "netty"))
        self.assertEqual(compare.choose_groups(None, None),
                         [*compare.GROUPS, compare.MACHINE])

    def test_a_peer_may_be_in_several_groups(self):
        groups = compare.choose_groups(None, "client-go")
        self.assertEqual([g.ours for g in groups],
                         ["queue", "priority-queue", "queue-async", "machine"])

    def test_groups(self):
        groups = compare.choose_groups("shared-queue", None)
        self.assertEqual([g.ours for g in groups], ["shared-queue"])
        groups = compare.choose_groups("scheduler,queue", "client-go")
        self.assertEqual([g.ours for g in groups], ["queue", "machine"])
        with self.assertRaisesRegex(SystemExit, "there is no x; there are:"):
            compare.choose_groups("x", None)

    def test_writes_only_whole_sections(self):
        for names in None, "shared-queue", ALL_OF_CASES:
            compare.check_whole_sections(compare.choose_groups(names, None))
        with self.assertRaisesRegex(
                SystemExit, "add to --groups: queue-async,scheduler$"):
            compare.check_whole_sections(compare.choose_groups(
                "queue,priority-queue,controller,delay-queue,shared-queue",
                None))

    def test_each_target_has_a_section(self):
        targets = {group.target for group in compare.GROUPS}
        self.assertEqual(targets, compare.SECTIONS.keys())


class MeasureTest(unittest.TestCase):

    def test_runs_the_peer_of_two_groups_once(self):
        groups = [compare.Group("", "queue", (), ("client-go",)),
                  compare.Group("", "queue-async", (), ("client-go",))]
        programs = FakePrograms()
        with mock.patch.object(programs, "run",
                               side_effect=programs.run) as run, \
                contextlib.redirect_stderr(io.StringIO()):
            compare.measure(programs, groups, ["cycle"], 1, True)
        self.assertEqual([call.args[0] for call in run.call_args_list],
                         ["queue", "client-go", "queue-async"])


class SleepingServer(servers.Server):
    """A server that does nothing. Remembers its processes and folders."""

    COMMAND = ("sleep", "60")
    ANSWERS = True
    started = []

    @classmethod
    def version(cls):
        return "sleep 1"

    def _start(self, folder):
        self.address = str(folder / "socket")
        try:
            self._run(*self.COMMAND)
        finally:
            self.started.append((self._process, folder))

    def _answers(self):
        return self.ANSWERS


class ServerTest(unittest.TestCase):

    def setUp(self):
        SleepingServer.started.clear()

    def assert_gone(self):
        for process, folder in SleepingServer.started:
            self.assertIsNotNone(process.returncode)
            self.assertFalse(folder.exists())

    def test_is_there_until_the_end(self):
        with SleepingServer() as server:
            process, folder = server.started[0]
            self.assertIsNone(process.poll())
            self.assertEqual(server.address, f"{folder}/socket")
        self.assert_gone()

    def test_each_is_new(self):
        for _ in range(2):
            with SleepingServer():
                pass
        self.assertNotEqual(*(folder for _, folder in SleepingServer.started))

    def test_an_exception_stops_it(self):
        for exception in ValueError, KeyboardInterrupt, SystemExit:
            with self.assertRaises(exception), SleepingServer():
                raise exception
        self.assert_gone()

    def test_says_why_it_does_not_start(self):
        with mock.patch.multiple(
                SleepingServer, ANSWERS=False,
                COMMAND=("sh", "-c", "echo my reason; exit 1")), \
                self.assertRaisesRegex(RuntimeError, "my reason"), \
                SleepingServer():
            pass
        self.assert_gone()

    def test_a_start_that_takes_too_long(self):
        with mock.patch.object(SleepingServer, "ANSWERS", False), \
                mock.patch.object(servers, "START_LIMIT", .1), \
                self.assertRaisesRegex(RuntimeError, "does not start"), \
                SleepingServer():
            pass
        self.assert_gone()

    def test_finds_the_server_that_the_environment_names(self):
        with mock.patch.dict("os.environ", WORKQUEUE_REDIS_SERVER="not-there"):
            with self.assertRaisesRegex(servers.Missing,
                                        "server missing: not-there"):
                servers.Redis.version()

    def test_the_client_of_a_cluster_may_be_missing(self):
        with mock.patch("shutil.which", return_value=None):
            with self.assertRaisesRegex(servers.Missing, "redis-cli"):
                servers.RedisCluster.client()

    def test_postgres_may_be_missing(self):
        with mock.patch("shutil.which", return_value=None):
            with self.assertRaisesRegex(servers.Missing, "server missing"):
                servers.Postgres.version()


class ProgramsTest(unittest.TestCase):
    """Runs programs that are scripts, which print their arguments."""

    GROUP = compare.Group("", "ours", (), ("peer",), "//bench/x", ("y",))

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        self.script("tools/bazelw", "true")
        for name, subject in (("bazel-bin/bench/x/x", "ours"),
                              ("bench/peers/y/run", "peer")):
            self.script(name, 'case $1 in',
                        f"--list) printf '{subject}\\tcycle\\n';;",
                        f"--versions) printf '{subject}\\t1.2\\n';;",
                        '*) echo "$@"; esac')

    def script(self, name, *lines):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(("#!/bin/sh", *lines)), encoding="utf-8")
        path.chmod(0o755)

    def programs(self, **server_of):
        with mock.patch.multiple(compare, ROOT=self.root, SERVERS=server_of,
                                 output_of=lambda *_: "12ab34c\n"):
            return compare.Programs(self.root, [self.GROUP])

    def output(self, programs, subject, quick, **server_of):
        with mock.patch.object(compare, "SERVERS", server_of), \
                programs.run(subject, "cycle", quick) as process:
            return compare.finish(process)

    def test_without_a_server(self):
        programs = self.programs()
        self.assertEqual(programs.not_run, [])
        self.assertEqual(programs.version("peer"), "1.2")
        self.assertEqual(self.output(programs, "ours", False),
                         "ours cycle --seconds 60\n")
        self.assertEqual(self.output(programs, "peer", True),
                         "peer cycle --seconds 3\n")

    def test_with_a_server(self):
        programs = self.programs(peer=SleepingServer)
        self.assertEqual(programs.version("peer"), "1.2, sleep 1")
        self.assertRegex(
            self.output(programs, "peer", True, peer=SleepingServer),
            "^peer cycle --server /.*/socket --items 10000\n$")
        self.assertRegex(
            self.output(programs, "peer", False, peer=SleepingServer),
            "--items 100000\n$")

    def test_a_missing_server_leaves_the_subject_out(self):
        with mock.patch.object(SleepingServer, "version",
                               side_effect=servers.Missing("no sleep")):
            programs = self.programs(peer=SleepingServer)
        self.assertEqual(programs.not_run, ["peer: no sleep"])
        self.assertEqual(programs.cases("ours"), ["cycle"])
        self.assertEqual(list(programs.cases("peer")), [])

    def test_a_missing_toolchain_leaves_the_peers_out(self):
        self.script("bench/peers/y/run", "echo toolchain missing: y >&2",
                    "exit 3")
        programs = self.programs(peer=SleepingServer)
        self.assertEqual(programs.not_run, ["toolchain missing: y"])

    def test_a_process_ends_with_its_context(self):
        self.script("bazel-bin/bench/x/x", "[ $1 = --list ] || exec sleep 60",
                    "printf 'ours\\tcycle\\n'")
        programs = self.programs()
        with self.assertRaises(KeyboardInterrupt), \
                programs.run("ours", "cycle", True) as process:
            raise KeyboardInterrupt
        self.assertIsNotNone(process.returncode)


class ArgumentsTest(unittest.TestCase):

    def refusal(self, *arguments):
        """Returns the message with which compare refuses the arguments."""
        stderr = io.StringIO()
        with contextlib.redirect_stderr(stderr):
            with self.assertRaises(SystemExit):
                compare.parse_arguments(arguments)
        return stderr.getvalue()

    def test_at_least_one_round(self):
        for rounds in ("-3", "0"):
            self.assertIn(f"--rounds is {rounds}; it must be at least 1",
                          self.refusal("--rounds", rounds, "--write"))
        self.assertEqual(compare.parse_arguments(["--rounds", "1"]).rounds, 1)

    def test_writes_only_a_whole_section(self):
        for option in (["--cases", "idle"], ["--peers", "netty"], ["--quick"]):
            self.assertIn(f"--write renews a whole section: leave out"
                          f" {option[0]}", self.refusal("--write", *option))
            compare.parse_arguments(option)
        self.assertTrue(compare.parse_arguments(["--write"]).write)

    def test_peers_are_known(self):
        with self.assertRaisesRegex(SystemExit, "there is no x; there are:"):
            compare.choose_groups(None, "netty,x")


class SectionTest(unittest.TestCase):

    # The hand-written part may show the first line of a section.
    KEPT = ("# Benchmarks\n\n<!-- processor: EPYC -->\n\n" + compare.BEGIN)
    XEON = "<!-- processor: Xeon(R) -->\n\n## On Xeon(R)\n\nold \\1  \n\n\n1\n"
    EPYC = "<!-- processor: EPYC -->\n\n## On EPYC\n\nold tables\n"
    EPYC_2 = "<!-- processor: EPYC 2 -->\n\n## On EPYC 2\n\n2\n"

    def test_replaces_only_the_section_of_the_processor(self):
        new = "<!-- processor: EPYC -->\n\nnew \\1\n"
        for before, after in ((), ()), ((self.XEON,), (self.EPYC_2,)), \
                ((self.EPYC_2,), (self.XEON,)), ((self.XEON, self.EPYC_2), ()):
            old = "\n".join((self.KEPT, *before, self.EPYC, *after))
            self.assertEqual(compare.with_section(old, "EPYC", new),
                             "\n".join((self.KEPT, *before, new, *after)))

    def test_a_name_is_not_a_pattern(self):
        new = "<!-- processor: Xeon(R) -->\n\nnew\n"
        self.assertEqual(
            compare.with_section(f"{self.KEPT}\n{self.XEON}\n{self.EPYC}",
                                 "Xeon(R)", new),
            f"{self.KEPT}\n{new}\n{self.EPYC}")

    def test_appends_a_new_section(self):
        for old in self.KEPT, f"{self.KEPT}\n{self.XEON}\n{self.EPYC_2}":
            self.assertEqual(compare.with_section(old, "EPYC", self.EPYC),
                             f"{old}\n{self.EPYC}")

    def test_does_not_need_blank_lines(self):
        self.assertEqual(
            compare.with_section(self.KEPT + self.EPYC + self.EPYC_2, "EPYC",
                                 "new\n"),
            self.KEPT + "new\n" + self.EPYC_2)
        self.assertEqual(
            compare.with_section(f"{self.KEPT}\n{self.XEON}".rstrip(), "EPYC",
                                 self.EPYC),
            f"{self.KEPT}\n{self.XEON}\n{self.EPYC}")

    def test_each_processor_has_a_chart(self):
        self.assertEqual(compare.chart_file("AMD EPYC").name,
                         "benchmarks-amd-epyc.svg")
        self.assertEqual(compare.chart_file("Intel(R) Xeon(R) Processor").name,
                         "benchmarks-intel-xeon-processor.svg")
        self.assertEqual(compare.chart_file("x86_64/a @ 2.0GHz").name,
                         "benchmarks-x86-64-a-2-0ghz.svg")


class FakePrograms:
    """Programs of which some cannot run, or fail in some cases: each as often as
    `failing` has it."""

    def __init__(self, not_run=(), failing=()):
        self.not_run = list(not_run)
        self.commit = "12ab34c"
        self._failing = list(failing)

    def cases(self, subject):
        having = ("queue", "queue-async", "client-go", "shared-queue", "river")
        return ["cycle"] if subject in having else []

    def version(self, subject):
        return f"version of {subject}"

    @contextlib.contextmanager
    def run(self, subject, case, quick):
        fails = (subject, case) in self._failing
        if fails:
            self._failing.remove((subject, case))
        process = mock.Mock(returncode=1 if fails else 0)
        process.communicate.return_value = (
            "" if fails else f"{case}\t100\tns\n", None)
        yield process


class WriteTest(unittest.TestCase):

    KEPT = "# Benchmarks\n\n" + compare.BEGIN
    OTHER = "\n<!-- processor: Xeon -->\n\n## On Xeon\n\nits tables\n"
    BEFORE = (KEPT + "\n<!-- processor: AMD EPYC -->\n\nold tables\n" + OTHER)

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.document = pathlib.Path(folder.name, "benchmarks.md")
        self.chart = pathlib.Path(folder.name, "benchmarks-amd-epyc.svg")
        self.document.write_text(self.BEFORE, encoding="utf-8")

    def run_compare(self, programs, processor="AMD EPYC", groups=(),
                    write=("--write",)):
        """Returns what compare --write says when it refuses to write; None if
        it writes."""
        output = io.StringIO()
        with mock.patch.multiple(compare, DOCUMENT=self.document,
                                 processor=lambda: processor,
                                 Programs=lambda *_: programs), \
                contextlib.redirect_stdout(output), \
                contextlib.redirect_stderr(output):
            try:
                compare.main([*write, "--rounds", "2", *groups])
            except SystemExit as e:
                return str(e)
        return None

    def test_writes_what_it_has_measured(self):
        self.assertIsNone(self.run_compare(FakePrograms()))
        text = self.document.read_text(encoding="utf-8")
        self.assertTrue(text.startswith(
            self.KEPT + "\n<!-- processor: AMD EPYC -->\n\n## On AMD EPYC\n\n"
            "Measured on "))
        self.assertIn(" at 12ab34c, built by ", text)
        self.assertIn(
            "\n" + self.OTHER + "\n<!-- processor: AMD EPYC, shared queue -->",
            text)
        self.assertNotIn("old tables", text)
        self.assertIn("\nAMD EPYC, ", text)
        self.assertIn("](benchmarks-amd-epyc.svg)\n", text)
        self.assertIn("\n### A queue: RateLimitingQueue\n", text)
        self.assertIn("| cycle | ns | 100 | 100 (1.00) |", text)
        self.assertIn("\n### Versions\n", text)
        self.assertEqual(text.count("| version of client-go |"), 1)
        self.assertTrue(self.chart.exists())

    def test_writes_only_the_section_of_the_groups(self):
        self.assertIsNone(self.run_compare(
            FakePrograms(), groups=("--groups", "shared-queue")))
        text = self.document.read_text(encoding="utf-8")
        self.assertTrue(text.startswith(
            self.BEFORE + "\n<!-- processor: AMD EPYC, shared queue -->\n\n"
            "## On AMD EPYC, shared queue\n\nMeasured on "))
        self.assertIn("](benchmarks-amd-epyc-shared-queue.svg)\n", text)
        self.assertIn("| version of river |", text)
        self.assertNotIn("| version of client-go |", text)
        self.assertFalse(self.chart.exists())
        self.assertTrue(self.document.with_name(
            "benchmarks-amd-epyc-shared-queue.svg").exists())

    def test_keeps_the_section_of_other_groups(self):
        self.run_compare(FakePrograms(), groups=("--groups", "shared-queue"))
        section = self.document.read_text(
            encoding="utf-8").removeprefix(self.BEFORE)
        self.assertIsNone(self.run_compare(FakePrograms(), groups=(
            "--groups", ALL_OF_CASES)))
        text = self.document.read_text(encoding="utf-8")
        self.assertNotIn("old tables", text)
        self.assertTrue(text.endswith(section))

    def test_not_a_part_of_a_section(self):
        refusal = self.run_compare(programs=None, groups=("--groups", "queue"))
        self.assertIn("--write renews a whole section", refusal)
        self.assert_nothing_written()

    def test_appends_the_section_of_a_new_processor(self):
        self.assertIsNone(self.run_compare(FakePrograms(), "Cortex-A76"))
        text = self.document.read_text(encoding="utf-8")
        self.assertTrue(text.startswith(
            self.BEFORE + "\n<!-- processor: Cortex-A76 -->\n\n"))
        self.assertIn("](benchmarks-cortex-a76.svg)\n", text)
        self.assertTrue(
            self.document.with_name("benchmarks-cortex-a76.svg").exists())
        self.assertFalse(self.chart.exists())

    def assert_nothing_written(self):
        self.assertEqual(self.document.read_text(encoding="utf-8"), self.BEFORE)
        self.assertFalse(self.chart.exists())

    def test_not_without_a_peer(self):
        refusal = self.run_compare(FakePrograms(["toolchain missing: go"]))
        self.assertIn("toolchain missing: go", refusal)
        self.assert_nothing_written()

    def test_not_if_a_case_has_failed_in_a_round(self):
        for rounds in 1, 2:
            refusal = self.run_compare(
                FakePrograms(failing=[("client-go", "cycle")] * rounds))
            self.assertEqual(refusal, "not written: cycle failed on client-go")
            self.assert_nothing_written()

    def test_a_failure_is_an_error_without_write_too(self):
        self.assertEqual(
            self.run_compare(FakePrograms(failing=[
                ("queue", "cycle"), ("client-go", "cycle"), ("queue", "cycle")]),
                write=()),
            "cycle failed on queue, cycle failed on client-go")
        self.assertIsNone(self.run_compare(FakePrograms(), write=()))
        self.assert_nothing_written()

    def test_not_into_another_document(self):
        self.document.write_text("# Other\n", encoding="utf-8")
        refusal = self.run_compare(programs=None)  # before it measures
        self.assertIn("benchmarks.md has no line", refusal)
        self.assertEqual(self.document.read_text(encoding="utf-8"), "# Other\n")


if __name__ == "__main__":
    unittest.main()
