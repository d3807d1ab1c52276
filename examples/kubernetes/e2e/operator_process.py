"""An operator's process: a replica."""

import itertools
import os
import signal
import subprocess
import time
import urllib.request

import control_plane

READY_LIMIT = 60  # seconds
EXIT_LIMIT = 40  # seconds from SIGTERM

_numbers = itertools.count(1)


class Replica:
    """Starts the program, which dies with this one. The main thread must make
    replicas: a process also dies with the thread that starts it."""

    def __init__(self, program, kubeconfig, folder, leader_elect=True):
        self.name = f"replica {next(_numbers)}"
        self._log = folder / (self.name.replace(" ", "-") + ".log")
        self._metrics, self._probes = control_plane.free_ports(2)
        self.start_time = time.monotonic()
        with open(self._log, "wb") as log:
            self._process = subprocess.Popen(
                [*control_plane.servers.DIES_WITH_US, program,
                 "--kubeconfig", kubeconfig,
                 *(["--leader-elect"] if leader_elect else []),
                 "--metrics-bind-address", f"127.0.0.1:{self._metrics}",
                 "--health-probe-bind-address", f"127.0.0.1:{self._probes}"],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                start_new_session=True)

    @property
    def pid(self):
        return self._process.pid

    def exit_code(self):
        """Returns None while the process runs."""
        return self._process.poll()

    def log(self, lines=30):
        """Returns the end of the log."""
        text = self._log.read_text(errors="replace").splitlines()
        return "\n".join(line[:500] for line in text[-lines:])

    def is_ready(self):
        try:
            with urllib.request.urlopen(
                    f"http://127.0.0.1:{self._probes}/readyz", timeout=5) as a:
                return a.status == 200
        except OSError:
            return False

    def wait_ready(self):
        """Returns the seconds since the start."""
        while not self.is_ready():
            if (self.exit_code() is not None
                    or time.monotonic() - self.start_time > READY_LIMIT):
                raise RuntimeError(f"{self.name} does not become ready:\n"
                                   + self.log())
            time.sleep(.01)
        return time.monotonic() - self.start_time

    def metrics(self):
        """Returns the text of /metrics."""
        with urllib.request.urlopen(
                f"http://127.0.0.1:{self._metrics}/metrics", timeout=10) as a:
            return a.read().decode()

    def kill(self):
        if self.exit_code() is None:
            os.kill(self.pid, signal.SIGKILL)
            self._process.wait()

    def terminate(self):
        """Ends the process with SIGTERM. Returns its exit code and the seconds
        that it took. Raises TimeoutExpired if it does not end."""
        start = time.monotonic()
        self._process.terminate()
        self._process.wait(EXIT_LIMIT)
        return self._process.returncode, time.monotonic() - start
