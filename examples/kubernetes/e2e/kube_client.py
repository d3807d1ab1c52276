"""A client of a Kubernetes API server: as much as a test needs."""

import collections
import http.client
import json
import re
import threading

CALL_LIMIT = 120  # seconds

MERGE_PATCH = "application/merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"

# The kind and the name in a path.
OBJECT = re.compile(r"/v1/(?:namespaces/[^/?]+/)?(\w+)(/[^/?]+)?")


class Failed(Exception):
    """The server refused a request. `status` is its HTTP status."""

    def __init__(self, status, method, path, answer):
        super().__init__(f"{method} {path}: {status}: {answer[:300]}")
        self.status = status


class Client:
    """Threads may share it. Each has a connection of its own, which stays open.
    Raises Failed, and OSError or HTTPException if there is no answer."""

    def __init__(self, api):
        self._api = api
        self._local = threading.local()
        self._lock = threading.Lock()
        # By (verb, resource), as the server's own metrics name them.
        self.counts = collections.Counter()

    def call(self, method, path, body=None, content_type="application/json"):
        """Returns the answer, parsed. `body` is bytes, or becomes JSON."""
        self._count(method, path)
        headers = self._api.headers()
        if body is not None:
            if not isinstance(body, bytes):
                body = json.dumps(body).encode()
            headers["Content-Type"] = content_type
        connection = self._connection()
        try:
            connection.request(method, path, body, headers)
            answer = connection.getresponse()
            content = answer.read()
        except (OSError, http.client.HTTPException):
            self.close()
            raise
        if answer.status >= 300:
            raise Failed(answer.status, method, path, content.decode())
        return json.loads(content)

    def watch(self, path, timeout):
        """Yields the events of a watch, parsed, on a connection of its own. Ends
        when the server ends it. Raises TimeoutError after `timeout` seconds
        without an event."""
        connection = self._api.connect(timeout)
        try:
            connection.request("GET", path, headers=self._api.headers())
            answer = connection.getresponse()
            if answer.status >= 300:
                raise Failed(answer.status, "GET", path, answer.read().decode())
            for line in answer:
                yield json.loads(line)
        finally:
            connection.close()

    def close(self):
        """Closes this thread's connection. The next request connects again."""
        self._connection().close()

    def _connection(self):
        if not hasattr(self._local, "connection"):
            self._local.connection = self._api.connect(CALL_LIMIT)
        return self._local.connection

    def _count(self, method, path):
        kind, name = OBJECT.search(path).groups()
        verb = method
        if not name:
            verb = {"GET": "LIST", "DELETE": "DELETECOLLECTION"}.get(method,
                                                                     method)
        with self._lock:
            self.counts[verb, kind] += 1
