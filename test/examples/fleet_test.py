#!/usr/bin/env python3
"""Runs examples/fleet/thumbnails as a fleet, and compares what it tells with what
really happens, while its server is paused, killed and emptied, and its processes
are replaced one after the other. Raises the alerts of workqueue/prometheus on the
metrics that the processes told meanwhile, if promtool is in the PATH.

usage: fleet_test.py THUMBNAILS

Needs a server of Redis (redis-check-rdb, redis-server or valkey-server).
"""

import atexit
import collections
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request

PROMETHEUS = (pathlib.Path(__file__).resolve().parent.parent.parent
              / "workqueue/prometheus")
DASHBOARD = PROMETHEUS / "grafana_dashboard.json"
PROCESSES = 3
CALL_TIMEOUT = 2.0  # Those of the program.
TIME_TO_FINISH = 5.0
BETWEEN_SCANS = 0.5
HEARTBEAT = 10.0
ALERT_AFTER = 30.0  # of SharedQueueUnreachable
# The machine may be busy. What must be told within a second is told in less than a
# HEARTBEAT all the same.
PATIENCE = 30.0
SLACK = 8.0


def fail(what):
    sys.exit(f"FAILED: {what}")


def await_true(what, condition, patience=PATIENCE):
    """Blocks until condition() is true. Returns how long that took."""
    start = time.monotonic()
    while not condition():
        if time.monotonic() - start > patience:
            fail(f"{what}, after {patience:.0f} s")
        time.sleep(0.05)
    return time.monotonic() - start


class Server:
    """A durable server of Redis, on a socket."""

    def __init__(self, folder):
        self.folder = folder
        self.socket = folder / "socket"
        program = next((p for p in ("valkey-server", "redis-server",
                                    "redis-check-rdb") if shutil.which(p)), None)
        if program is None:
            fail("there is no server of Redis")
        self.command = ["bash", "-c", 'exec -a redis-server "$0" "$@"', program,
                        "--port", "0", "--unixsocket", str(self.socket), "--save",
                        "", "--appendonly", "yes", "--appendfsync", "always",
                        "--dir", str(folder)]
        self.start()

    def start(self):
        self.process = subprocess.Popen(self.command, stdout=subprocess.DEVNULL)
        atexit.register(self.process.kill)
        await_true("the server does not start",
                   lambda: self.call("PING") == "PONG")

    def call(self, *words):
        return subprocess.run(["redis-cli", "-s", str(self.socket), *words],
                              capture_output=True, text=True).stdout.strip()

    def signal(self, number):
        self.process.send_signal(number)

    def kill(self):
        self.process.kill()
        self.process.wait()


class Scrapes:
    """The metrics of all processes, as Prometheus scrapes them."""

    INTERVAL = 5  # seconds
    LATER = 300   # So many scrapes more, which find what the last one found.
    ALERTS = PROMETHEUS / "alerts.yaml"

    def __init__(self):
        self.start = time.monotonic()
        self.texts = collections.defaultdict(dict)  # by the instance and the number

    def now(self):
        return int((time.monotonic() - self.start) / self.INTERVAL)

    def add(self, instance, text):
        self.texts[instance].setdefault(self.now(), text)

    def series(self):
        """Returns all time series, as promtool reads them."""
        end = self.now()
        series = collections.defaultdict(lambda: ["_"] * end)
        ends = {}
        for instance, texts in list(self.texts.items()):
            for number, text in list(texts.items()):
                for line in text.splitlines():
                    if line.startswith("#") or number >= end:
                        continue
                    what, value = line.rsplit(" ", 1)
                    name, labels = what.rstrip("}").split("{")
                    key = f'{name}{{job="fleet",instance="{instance}",{labels}}}'
                    series[key][number] = value
                    ends[key] = max(texts)
        for key, values in series.items():
            # A process that has ended tells nothing more.
            last = next(v for v in reversed(values) if v != "_")
            yield {"series": key, "values": " ".join(values) + (
                f" {last}x{self.LATER}" if ends[key] >= end - 1 else " stale")}

    def check(self, what, may_fire, expected):
        """Checks how many alerts of each name have fired so far, or will in some
        minutes if nothing happens any more. Those in may_fire do not count."""
        if not shutil.which("promtool"):
            print(f"{what}: no promtool, so no alerts", flush=True)
            return
        fired = f'ALERTS{{alertstate="firing",alertname!~"{"|".join(may_fire)}"}}[1h]'
        minutes = (self.now() + self.LATER - 1) * self.INTERVAL // 60
        test = {"interval": f"{self.INTERVAL}s", "input_series": list(self.series()),
                "promql_expr_test": [
                    {"eval_time": f"{minutes}m",
                     "expr": f"count by (alertname) (count_over_time({fired}))",
                     "exp_samples": [
                         {"labels": f'{{alertname="{name}"}}', "value": count}
                         for name, count in expected.items()]},
                    # How often an alert has begun again.
                    {"eval_time": f"{minutes}m",
                     "expr": "count(changes(ALERTS_FOR_STATE{alertname="
                             '"SharedQueueUnreachable"}[1h]) > 0)',
                     "exp_samples": []}]}
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            json.dump({"rule_files": [str(self.ALERTS)],  # JSON is YAML.
                       "evaluation_interval": f"{self.INTERVAL}s",
                       "tests": [test]}, file)
            file.flush()
            result = subprocess.run(["promtool", "test", "rules", file.name],
                                    capture_output=True, text=True, check=False)
        if result.returncode != 0:
            fail(f"{what}: wrong alerts: {result.stdout}{result.stderr}")
        print(f"{what}: the alerts are {expected or 'none'}", flush=True)


class Process:
    """A process of the fleet, which a thread asks all the time."""

    slowest = 0.0  # of all processes
    scrapes = Scrapes()  # of all processes

    def __init__(self, program, server, folder):
        self.process = subprocess.Popen([program, str(server.socket), str(folder)],
                                        stdout=subprocess.PIPE, text=True)
        atexit.register(self.process.kill)
        self.url = self.process.stdout.readline().strip()
        if not self.url.startswith("http://"):
            fail("a process does not start")
        self.pid = self.process.pid
        self.answers = []  # (time of the question, ready, object of the page)
        self.ends = False
        self.thread = threading.Thread(target=self.ask, daemon=True)
        self.thread.start()

    def get(self, path):
        try:
            with urllib.request.urlopen(self.url + path, timeout=PATIENCE) as response:
                return response.status, response.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def ask(self):
        while not self.ends:
            try:
                start = time.monotonic()
                ready, _ = self.get("/readyz")
                _, page = self.get("/workqueue?name=thumbnails&format=json")
                _, metrics = self.get("/metrics")
                if self.ends:
                    return
                Process.slowest = max(Process.slowest, time.monotonic() - start)
                self.answers.append((start, ready == 200, json.loads(page)))
                self.scrapes.add(self.url, metrics)
            except (OSError, ValueError):
                if not self.ends:
                    raise
            time.sleep(0.1)

    def last(self):
        return self.answers[-1] if self.answers else (0.0, False, {"error": ""})

    def is_green(self):
        _, ready, page = self.last()
        return ready and "error" not in page and page["health"] == "OK"

    def parked(self):
        page = self.last()[2]
        return sorted(item["key"] for item in page.get("parked", []))

    def metric(self, name):
        for line in self.get("/metrics")[1].splitlines():
            if line.startswith(name + "{"):
                return float(line.rsplit(" ", 1)[1])
        return None

    def stop(self):
        """Ends the process. Returns how long that took."""
        self.ends = True
        start = time.monotonic()
        self.process.send_signal(signal.SIGTERM)
        try:
            out, _ = self.process.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            fail("a process does not stop")
        took = time.monotonic() - start
        if self.process.returncode != (0 if "is done" in out else 1):
            fail(f"the exit status {self.process.returncode} of: {out}")
        return took


class Fleet:

    def __init__(self, program):
        self.program = program
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="fleet-"))
        (self.folder / "in").mkdir()
        self.server = Server(self.folder)
        self.processes = [self.new_process() for _ in range(PROCESSES)]
        self.pictures = {}
        self.removed = []
        self.number = 0

    def check_early_signal(self):
        """A signal before the start is as good as a later one."""
        def signal_first():
            signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
            os.kill(os.getpid(), signal.SIGTERM)

        ended = subprocess.run([self.program, str(self.server.socket), str(self.folder)],
                               stdout=subprocess.PIPE, text=True, timeout=PATIENCE,
                               preexec_fn=signal_first, check=False)
        if ended.returncode != 0 or "is done" not in ended.stdout:
            fail(f"the exit status {ended.returncode} after an early signal")

    def new_process(self):
        return Process(self.program, self.server, self.folder)

    def add_pictures(self, n, broken=0):
        for i in range(n + broken):
            self.number += 1
            name = f"picture{self.number}"
            self.write(name, "broken" if i >= n else "picture")

    def write(self, name, kind):
        text = f"{kind} {self.number:08}"
        path = self.folder / "in" / name
        path.with_suffix(".part").write_text(text)
        shutil.move(path.with_suffix(".part"), path)
        self.pictures[name] = text

    def correct_a_picture(self):
        self.number += 1
        self.write(self.broken()[0], "picture")

    def add_unreadable(self):
        """Adds a picture that cannot be read, and one whose thumbnail cannot."""
        (self.folder / "in" / "unreadable").mkdir()
        self.pictures["unreadable"] = "broken: a folder"
        (self.folder / "out" / "occupied").mkdir()
        self.write("occupied", "picture")
        self.pictures["occupied"] = "broken: a folder is in the way"

    def clear_occupied(self):
        (self.folder / "out" / "occupied").rmdir()
        self.number += 1
        self.write("occupied", "picture")

    def remove(self, name):
        (self.folder / "in" / name).unlink()
        del self.pictures[name]
        self.removed.append(name)

    def is_done(self):
        if any((self.folder / "out" / name).exists() for name in self.removed):
            return False
        for name, text in self.pictures.items():
            if text.startswith("broken"):
                continue
            path = self.folder / "out" / name
            if not path.exists() or path.read_text().split("\n")[0] != text[:16]:
                return False
        return True

    def broken(self):
        return sorted(n for n, t in self.pictures.items() if t[:6] == "broken")

    def await_done(self, what):
        took = await_true(f"{what}: a change is lost", self.is_done)
        await_true(f"{what}: a process is not well again",
                   lambda: all(p.is_green() for p in self.processes))
        # All processes tell the same, within a second of each other.
        await_true(f"{what}: the parked items are not those that are broken",
                   lambda: self.processes[0].parked() == self.broken())
        await_true(f"{what}: the processes tell different things", lambda: all(
            p.parked() == self.broken() for p in self.processes), 1 + SLACK)
        # An idle process asks each ten seconds.
        await_true(f"{what}: the metrics tell different things", lambda: all(
            p.metric("workqueue_parked_items") == len(self.broken())
            for p in self.processes), HEARTBEAT + SLACK)
        print(f"{what}: all is done and told, the work after {took:.1f} s",
              flush=True)

    def expect_red(self, what):
        """While the server is away, nobody may look healthy for long."""
        await_true(f"{what}: a process looks healthy",
                   lambda: not any(p.is_green() for p in self.processes),
                   HEARTBEAT + CALL_TIMEOUT + SLACK)
        since = time.monotonic()
        while time.monotonic() < since + 3:
            if any(p.is_green() for p in self.processes):
                fail(f"{what}: a process looks healthy again")
            time.sleep(0.1)
        print(f"{what}: nobody looks healthy", flush=True)

    def check_logs(self):
        """No process has had a key in two hands."""
        begun = 0
        for path in self.folder.glob("log.*"):
            held = collections.Counter()
            for line in path.read_text().splitlines():
                what, name, _ = line.split(" ")
                held[name] += 1 if what == "begin" else -1
                begun += what == "begin"
                if held[name] > 1:
                    fail(f"{path.name}: {name} in two hands of one process")
        return begun


def run(program):
    fleet = Fleet(program)
    fleet.check_early_signal()
    fleet.add_pictures(40)
    fleet.await_done("at first")
    Process.scrapes.check("at first", ["-"], {})
    fleet.add_pictures(0, broken=3)
    fleet.await_done("broken pictures")
    fleet.add_unreadable()
    fleet.await_done("unreadable files")
    fleet.clear_occupied()
    fleet.await_done("readable file")
    fleet.remove("picture1")
    fleet.remove(fleet.broken()[0])
    fleet.await_done("removed pictures")

    (fleet.folder / "in").rename(fleet.folder / "away")
    await_true("no folder: a process looks healthy",
               lambda: not any(p.is_green() for p in fleet.processes))
    (fleet.folder / "away").rename(fleet.folder / "in")
    fleet.await_done("no folder")

    fleet.add_pictures(40)
    fleet.server.signal(signal.SIGSTOP)
    fleet.expect_red("paused server")
    fleet.add_pictures(20)
    took = fleet.processes[0].stop()
    if took > TIME_TO_FINISH + SLACK:
        fail(f"a stop took {took:.1f} s while the server was paused")
    print(f"paused server: a process stopped in {took:.1f} s", flush=True)
    fleet.server.signal(signal.SIGCONT)
    fleet.processes[0] = fleet.new_process()
    fleet.await_done("paused server")

    fleet.add_pictures(40, broken=1)
    fleet.server.kill()
    fleet.expect_red("killed server")
    fleet.add_pictures(20)
    fleet.correct_a_picture()
    late = fleet.new_process()
    await_true("killed server: a new process serves no probe", lambda: late.answers)
    if late.is_green():
        fail("killed server: a new process looks healthy")
    await_true("killed server: a new process does not say why, and since when", lambda:
               re.search("no queue since 20.*" + str(fleet.server.socket),
                         late.get("/readyz")[1]))
    for metric in re.findall(r"label_values\((\w+)", DASHBOARD.read_text()):
        if late.metric(metric) is None:
            fail(f"the dashboard does not show the new process, which has no {metric}")
    await_true("killed server: it is not told how long", lambda: all(
        p.metric("workqueue_engine_unreachable_seconds") > ALERT_AFTER + SLACK
        + Scrapes.INTERVAL for p in fleet.processes), 2 * PATIENCE)
    fleet.server.start()
    fleet.await_done("killed server")
    await_true("killed server: a process that began meanwhile is not well",
               late.is_green)
    late.stop()

    # A picture is corrected and one removed while no process runs. At the first scans
    # of the next ones the server is full, and does not put them back.
    for process in fleet.processes:
        process.stop()
    fleet.correct_a_picture()
    fleet.remove("picture2")
    fleet.server.call("CONFIG", "SET", "maxmemory", "1")
    fleet.processes = [fleet.new_process() for _ in range(PROCESSES)]
    await_true("full server: a source does not run", lambda: all(
        p.metric("workqueue_controller_running_sources") for p in fleet.processes))
    time.sleep(3 * BETWEEN_SCANS)
    fleet.server.call("CONFIG", "SET", "maxmemory", "0")
    fleet.await_done("full server at the start")

    fleet.add_pictures(40)
    fleet.server.call("FLUSHALL")
    fleet.await_done("emptied server")
    until = Process.scrapes.now() + 2
    await_true("emptied server: it is not told", lambda: (
        all(p.metric("workqueue_engine_data_losses_total") > 0
            for p in fleet.processes) and Process.scrapes.now() >= until), PATIENCE)

    for i in range(PROCESSES):
        fleet.add_pictures(20)
        took = fleet.processes[i].stop()
        if took > TIME_TO_FINISH + SLACK:
            fail(f"a stop took {took:.1f} s")
        fleet.processes[i] = fleet.new_process()
    fleet.await_done("rolling restart")
    # Whether a lease has expired, and how slow the server and the workers were, is
    # a matter of time.
    Process.scrapes.check(
        "finally", ["SharedQueueLosesLeases", "SharedQueueServerSlow",
                    "ControllerSaturated"],
        {"SharedQueueUnreachable": PROCESSES, "SharedQueueParksItems": 1,
         "SharedQueueEmptied": 1})

    # A page asks the engine for a second at most.
    if Process.slowest > 1 + SLACK:
        fail(f"a probe, a page and the metrics took {Process.slowest:.1f} s")
    for process in fleet.processes:
        process.stop()
    begun = fleet.check_logs()
    made = len(fleet.pictures) - len(fleet.broken())
    print(f"{made} thumbnails and {len(fleet.broken())} broken pictures in {begun} "
          f"attempts; the slowest probe, page and metrics took {Process.slowest:.2f} s")
    fleet.server.kill()
    shutil.rmtree(fleet.folder)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # So atexit ends the servers.
    run(sys.argv[1])
