#!/usr/bin/env python3
"""A Kubernetes API server with etcd, on this machine and for one program.

There are objects only, and no nodes, no scheduler and no controllers: all that
an operator of ConfigMaps needs. Both servers listen on 127.0.0.1, on free ports,
and keep their data in folders of their own. They die with this process.

As a program it starts them, prints the path of a kubeconfig, and waits for
Ctrl-C.

The servers are those of WORKQUEUE_KUBE_APISERVER and WORKQUEUE_ETCD, or those in
the PATH. If there is no kube-apiserver, build_apiserver builds it with Go.
"""

import base64
import collections
import contextlib
import http.client
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path.insert(0, str(ROOT / "bench"))

import servers  # pylint: disable=wrong-import-position

TOKEN = "e2e-token"
CALL_LIMIT = 10  # seconds for a call to a server that is asked about itself

KUBECONFIG = """\
apiVersion: v1
kind: Config
current-context: e2e
contexts:
- name: e2e
  context:
    cluster: e2e
    user: admin
clusters:
- name: e2e
  cluster:
    server: {server}
    certificate-authority: {ca}
users:
- name: admin
  user:
    token: {token}
"""

METRIC = re.compile(r'apiserver_request_total\{(.*)\} (\S+)')
LABEL = re.compile(r'(\w+)="([^"]*)"')


def find_program(variable, name):
    """Returns the program's path, or None."""
    return os.environ.get(variable) or shutil.which(name)


def free_ports(count):
    """Returns ports that are free now. A server does not start if another
    program takes its port before."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for s in sockets:
            s.bind(("127.0.0.1", 0))
        return [s.getsockname()[1] for s in sockets]


class Etcd(servers.Server):
    """The address is a URL."""

    @classmethod
    def version(cls):
        return subprocess.run([cls._find(), "--version"], check=True,
                              stdout=subprocess.PIPE,
                              text=True).stdout.splitlines()[0]

    @staticmethod
    def _find():
        path = find_program("WORKQUEUE_ETCD", "etcd")
        if path is None:
            raise servers.Missing("server missing: etcd"
                                  " (Debian's package is etcd-server)")
        return path

    def _start(self, folder):
        self.address, peer = (f"http://127.0.0.1:{p}" for p in free_ports(2))
        self._run(self._find(), "--data-dir", folder / "data",
                  "--listen-client-urls", self.address,
                  "--advertise-client-urls", self.address,
                  "--listen-peer-urls", peer,
                  "--initial-advertise-peer-urls", peer,
                  "--initial-cluster", f"default={peer}",
                  "--quota-backend-bytes", str(8 << 30))

    def _answers(self):
        try:
            with urllib.request.urlopen(self.address + "/health",
                                        timeout=CALL_LIMIT) as answer:
                return json.load(answer)["health"] == "true"
        except OSError:
            return False

    def compact(self):
        """Forgets all that was before now."""
        first = base64.b64encode(b"/").decode()
        answer = self._call("/v3/kv/range", {"key": first})
        revision = answer["header"]["revision"]
        self._call("/v3/kv/compaction",
                   {"revision": revision, "physical": True})

    def _call(self, path, body):
        request = urllib.request.Request(self.address + path,
                                         json.dumps(body).encode())
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.load(answer)


class ApiServer(servers.Server):
    """Has one user, who may do everything, with a token. The address is a URL; it
    stays the same when the server restarts."""

    def __init__(self, etcd):
        self._etcd = etcd
        self._arguments = ()
        self.port = None

    @classmethod
    def version(cls):
        return subprocess.run([cls._find(), "--version"], check=True,
                              stdout=subprocess.PIPE, text=True).stdout.strip()

    @staticmethod
    def _find():
        path = find_program("WORKQUEUE_KUBE_APISERVER", "kube-apiserver")
        if path is not None:
            return path
        built = subprocess.run([HERE / "build_apiserver"],
                               stdout=subprocess.PIPE, text=True, check=False)
        if built.returncode != 0:
            raise servers.Missing("server missing: kube-apiserver")
        return built.stdout.strip()

    def _start(self, folder):
        program = self._find()
        self._folder_path = folder
        self._make_keys()
        (folder / "tokens.csv").write_text(f"{TOKEN},admin,1,system:masters\n")
        (self.port,) = free_ports(1)
        self.address = f"https://127.0.0.1:{self.port}"
        self._arguments = (
            program,
            f"--etcd-servers={self._etcd.address}",
            f"--secure-port={self.port}",
            "--bind-address=127.0.0.1",
            f"--cert-dir={folder}",
            f"--tls-cert-file={folder / 'server.crt'}",
            f"--tls-private-key-file={folder / 'server.key'}",
            f"--client-ca-file={folder / 'ca.crt'}",
            f"--token-auth-file={folder / 'tokens.csv'}",
            "--authorization-mode=RBAC",
            # Required, though there is no service account.
            f"--service-account-key-file={folder / 'server.crt'}",
            f"--service-account-signing-key-file={folder / 'server.key'}",
            "--service-account-issuer=https://e2e.invalid",
            "--service-cluster-ip-range=10.0.0.0/24",
            "--disable-admission-plugins=ServiceAccount",
        )
        self._run(*self._arguments)

    def _make_keys(self):
        """Makes an authority and the server's certificate."""
        ca, ca_key = self.file("ca.crt"), self.file("ca.key")
        key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
               "-nodes", "-days", "3")

        def openssl(*arguments, text=None):
            subprocess.run(["openssl", *arguments], check=True, input=text,
                           text=True, capture_output=True)

        openssl("req", "-x509", *key, "-keyout", ca_key, "-out", ca,
                "-subj", "/CN=e2e")
        request = self.file("server.csr")
        openssl("req", *key[:-2], "-keyout", self.file("server.key"),
                "-out", request, "-subj", "/CN=kube-apiserver")
        openssl("x509", "-req", "-in", request, "-CA", ca, "-CAkey", ca_key,
                "-CAcreateserial", "-days", "3", "-extfile", "/dev/stdin",
                "-out", self.file("server.crt"),
                text="subjectAltName=IP:127.0.0.1,DNS:localhost\n")

    def file(self, name):
        return self._folder_path / name

    def _answers(self):
        connection = self.connect(CALL_LIMIT)
        try:
            # The namespace is there a moment after the server is ready.
            for path in ("/readyz", "/api/v1/namespaces/default"):
                connection.request("GET", path, headers=self.headers())
                answer = connection.getresponse()
                answer.read()
                if answer.status != 200:
                    return False
            return True
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()

    def connect(self, timeout):
        return http.client.HTTPSConnection(
            "127.0.0.1", self.port, timeout=timeout,
            context=ssl.create_default_context(cafile=self.file("ca.crt")))

    @staticmethod
    def headers():
        return {"Authorization": f"Bearer {TOKEN}"}

    def kill(self):
        """Ends the server without a warning."""
        self._process.kill()
        self._process.wait()

    def restart(self):
        """Starts the server again after kill(), on the same port and data.
        Returns when it is ready."""
        self._run(*self._arguments)

    def __exit__(self, *_):
        if self._process is not None:
            self.kill()  # It would wait for its clients otherwise.
        super().__exit__()

    def write_kubeconfig(self, path, server=None, token=TOKEN):
        """Writes a kubeconfig file for the user. `server` is a URL that takes the
        place of the address."""
        pathlib.Path(path).write_text(
            KUBECONFIG.format(server=server or self.address,
                              ca=self.file("ca.crt"), token=token))
        return path

    def request_counts(self):
        """Returns the number of requests that ended since the server's start,
        by (verb, resource, status code). Verbs are those of the metric
        apiserver_request_total: server-side apply is APPLY."""
        connection = self.connect(60)
        try:
            connection.request("GET", "/metrics", headers=self.headers())
            answer = connection.getresponse()
            text = answer.read().decode()
        finally:
            connection.close()
        if answer.status != 200:
            raise RuntimeError(f"/metrics: {answer.status}")
        counts = collections.Counter()
        for line in text.splitlines():
            match = METRIC.match(line)
            if match:
                labels = dict(LABEL.findall(match[1]))
                key = labels["verb"], labels["resource"], int(labels["code"])
                counts[key] += int(float(match[2]))
        if not counts:
            raise RuntimeError("/metrics has no apiserver_request_total")
        return counts


class ControlPlane:
    """Runs etcd and an API server while the context lasts."""

    def __init__(self):
        self.etcd = Etcd()
        self.api = ApiServer(self.etcd)

    def __enter__(self):
        with contextlib.ExitStack() as stack:
            stack.enter_context(self.etcd)
            stack.enter_context(self.api)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_):
        self._stack.close()


def main():
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with ControlPlane() as plane:
            path = plane.api.write_kubeconfig(plane.api.file("kubeconfig"))
            print(path, flush=True)
            signal.pause()
    except servers.Missing as missing:
        sys.exit(str(missing))
    except KeyboardInterrupt:
        pass


if __name__ == "__main__":
    main()
