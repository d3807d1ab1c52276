"""The servers in which a queue lives that several processes share.

A server is a context: it starts with a new database in a folder of its own, and
is gone when the context ends, however that ends. If this process is killed, the
server dies with it. Nothing reaches the server but through a socket in that
folder, and the nodes of a cluster through the loopback interface.
"""

import abc
import contextlib
import glob
import os
import pathlib
import pwd
import random
import shutil
import socket
import sqlite3
import subprocess
import tempfile
import time

START_LIMIT = 30  # seconds

# The beginning of a command whose process dies when this one does.
DIES_WITH_US = ("setpriv", "--pdeathsig", "KILL")


class Missing(Exception):
    """The server's programs are not there. The message says which."""


class Server(abc.ABC):
    """Runs a server while the context lasts. `address` is where it is."""

    address = ""
    user = None  # that the server runs as; None is this process' user

    def __enter__(self):
        self._folder = tempfile.mkdtemp(prefix="bench-server-")
        self._process = None
        try:
            if self.user is not None:
                shutil.chown(self._folder, self.user.pw_uid, self.user.pw_gid)
            self._start(pathlib.Path(self._folder))
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        if self._process is not None:
            # At most the start of a server takes longer than its end.
            self._process.terminate()
            try:
                self._process.wait(START_LIMIT)
            except BaseException:
                self._process.kill()
                self._process.wait()
                raise
        shutil.rmtree(self._folder)

    @classmethod
    @abc.abstractmethod
    def version(cls):
        """Returns the server's name and version. Raises Missing."""

    @abc.abstractmethod
    def _start(self, folder):
        """Starts the server, with its data in the folder."""

    @abc.abstractmethod
    def _answers(self):
        """Returns whether the server can be used."""

    def _as_user(self):
        """Returns the arguments that start a process as the user."""
        if self.user is None:
            return {}
        return {"user": self.user.pw_uid, "group": self.user.pw_gid,
                "extra_groups": [], "cwd": self._folder}

    def _run(self, *command, **options):
        log = pathlib.Path(self._folder, "log")
        with open(log, "wb") as output:
            # A session of its own: Ctrl-C reaches only this process, which
            # then stops the server.
            self._process = subprocess.Popen(
                [*DIES_WITH_US, *command],
                stdin=subprocess.DEVNULL, stdout=output, stderr=output,
                start_new_session=True, **options)
        end = time.monotonic() + START_LIMIT
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > end:
                raise RuntimeError(f"{command[0]} does not start:\n"
                                   + log.read_text(errors="replace"))
            time.sleep(.01)


class Redis(Server):
    """Syncs its log before it answers, as docs/shared-queue.md wants it. The
    address is the path of its socket."""

    SETTINGS = ("appendonly yes", "appendfsync always", 'save ""',
                "maxmemory-policy noeviction", "port 0")

    @classmethod
    def version(cls):
        name, path = cls._find()
        words = subprocess.run([name, "--version"], executable=path, check=True,
                               stdout=subprocess.PIPE, text=True).stdout.split()
        return f"{words[0]} {words[2].removeprefix('v=')}"

    @staticmethod
    def _find():
        """Returns the name that the program needs as its argv[0], and its
        path. Finds what the tests find: see test/shared/redis_server.cc."""
        names = [os.environ.get("WORKQUEUE_REDIS_SERVER")]
        if not names[0]:
            names = ["valkey-server", "redis-server", "redis-check-rdb"]
        for name in names:
            path = shutil.which(name)
            if path:
                name = os.path.basename(path)
                return ("redis-server" if name == "redis-check-rdb" else name,
                        path)
        raise Missing(f"server missing: {', '.join(names)}")

    def _start(self, folder):
        name, path = self._find()
        self.address = str(folder / "socket")
        config = folder / "server.conf"
        lines = self.SETTINGS + (f"dir {folder}", f"unixsocket {self.address}")
        config.write_text("".join(line + "\n" for line in lines))
        # setpriv cannot give the program another name, and a link can.
        link = folder / name
        link.symlink_to(path)
        self._run(link, config)

    def _answers(self):
        # The server makes the socket last. Its database is empty, so there is
        # nothing that it has to load.
        return os.path.exists(self.address)


class RedisNode(Redis):
    """A node of a cluster. The address is HOST:PORT."""

    def _start(self, folder):
        port = self._free_port()
        # The last of several ports counts.
        self.SETTINGS += (f"port {port}", "bind 127.0.0.1", "cluster-enabled yes")
        super()._start(folder)
        self.address = f"127.0.0.1:{port}"

    @staticmethod
    def _free_port():
        """Returns a port that is free, as is the one 10000 above, where the nodes
        talk."""
        while True:
            port = random.randrange(20000, 30000)
            with socket.socket() as one, socket.socket() as other:
                try:
                    one.bind(("127.0.0.1", port))
                    other.bind(("127.0.0.1", port + 10000))
                    return port
                except OSError:
                    pass


class RedisCluster:
    """So many nodes of a cluster, as a context. The address names them all."""

    def __init__(self, nodes):
        self._nodes = [RedisNode() for _ in range(nodes)]

    @staticmethod
    def client():
        """Returns the program that makes a cluster. Raises Missing."""
        client = shutil.which("valkey-cli") or shutil.which("redis-cli")
        if not client:
            raise Missing("program missing: valkey-cli, redis-cli")
        return client

    def __enter__(self):
        with contextlib.ExitStack() as stack:
            for node in self._nodes:
                stack.enter_context(node)
            addresses = [node.address for node in self._nodes]
            subprocess.run([self.client(), "--cluster", "create", *addresses,
                            "--cluster-yes"],
                           check=True, stdout=subprocess.DEVNULL)
            self.address = ",".join(addresses)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_):
        self._stack.close()


class Postgres(Server):
    """Has the settings that initdb makes: fsync and synchronous_commit are on.
    The address is a URL."""

    DATABASE = "bench"

    def __init__(self):
        self.user = self._unprivileged_user()

    @classmethod
    def version(cls):
        cls._unprivileged_user()
        return subprocess.run([cls._find("postgres"), "--version"], check=True,
                              stdout=subprocess.PIPE, text=True).stdout.strip()

    @staticmethod
    def _unprivileged_user():
        """Returns the user that the server runs as, or None if it is this
        process' user. The server does not run as root."""
        if os.geteuid() != 0:
            return None
        try:
            return pwd.getpwnam("postgres")
        except KeyError:
            raise Missing("server missing: no user postgres") from None

    @staticmethod
    def _find(program):
        # Debian's programs are not in the PATH.
        folders = sorted(glob.glob("/usr/lib/postgresql/*/bin"),
                         key=lambda path: int(path.split("/")[-2]))
        path = shutil.which(program) or shutil.which(
            program, path=os.pathsep.join(reversed(folders)))
        if path:
            return path
        raise Missing(f"server missing: {program}")

    def _start(self, folder):
        data = folder / "data"
        as_user = self._as_user()
        subprocess.run(
            [self._find("initdb"), "--pgdata", data, "--auth", "trust",
             "--username", "postgres", "--no-sync", "--encoding", "UTF8",
             "--locale", "C"],
            check=True, stdout=subprocess.DEVNULL, **as_user)
        self._url = f"postgres://postgres@/{{}}?host={folder}"
        self.address = self._url.format(self.DATABASE)
        self._run(self._find("postgres"), "-D", data, "-k", folder,
                  "-c", "listen_addresses=", **as_user)

    def _answers(self):
        created = subprocess.run(
            [self._find("psql"), "--quiet", self._url.format("postgres"),
             "--command", f"CREATE DATABASE {self.DATABASE}"],
            stderr=subprocess.DEVNULL, check=False)
        return created.returncode == 0


class Sqlite(Server):
    """No server, but a file that is not there yet. The address names it."""

    @classmethod
    def version(cls):
        return f"SQLite {sqlite3.sqlite_version}"

    def _start(self, folder):
        self.address = f"sqlite:{folder}/queues.db"

    def _answers(self):
        return True
