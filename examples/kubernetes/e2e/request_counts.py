"""The requests of operators, by the API server's own count."""

import collections

WRITES = ("POST", "PUT", "PATCH", "APPLY", "DELETE")
READS = ("GET", "LIST", "WATCH")
KINDS = ("configmaps", "namespaces", "leases")


class Requests:
    """Counts requests about some kinds of objects since the last reset(), except
    those of the test's own client. What the API server asks itself counts."""

    def __init__(self, api, client):
        self._api = api
        self._client = client
        self._seen = collections.Counter()
        self._own_seen = collections.Counter()
        self.counts = collections.Counter()  # by (verb, resource, status)
        self.reset()

    def reset(self):
        self.read()
        self.counts = collections.Counter()

    def read(self):
        """Adds what has been counted since the last read. Call it before the API
        server is killed, because its count dies with it."""
        seen = self._api.request_counts()
        own = collections.Counter(self._client.counts)
        self.counts.update(
            {key: count - self._seen[key] for key, count in seen.items()
             if key[1] in KINDS})
        for (verb, kind), count in own.items():
            self.counts[verb, kind, 0] -= count - self._own_seen[verb, kind]
        self._seen, self._own_seen = seen, own

    def restarted(self):
        """Call it after the API server's restart."""
        self._seen = collections.Counter()
        self._own_seen = collections.Counter(self._client.counts)

    def total(self, verbs, kinds, failed=False):
        """Returns the number of requests, or only of those that failed."""
        return sum(count for (verb, kind, status), count in self.counts.items()
                   if verb in verbs and kind in kinds
                   and (not failed or status >= 400))
