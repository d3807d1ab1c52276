"""Changes of the cluster that an operator must follow."""

import base64
import concurrent.futures
import time

import kube_client
import model

# How often a kind of change occurs, in a hundred.
WEIGHTS = {
    "update": 66, "create": 10, "delete": 8, "deactivate": 4, "activate": 4,
    "select": 3, "break_selector": 2, "remove_foreign": 1, "relabel": 1,
    "add_namespace": 1,
}
# Most sources have the first one.
SELECTORS = ("replicate=yes", "replicate=yes,team in (a,b)", "team=c", "team!=a",
             "!team", "")
BROKEN = "team in"
MAX_BROKEN = 3  # sources with this selector at a time
THREADS = 16


def path(kind, *names):
    """Returns the path of an object, or of all of a kind."""
    if kind == "namespaces":
        return "/".join(("/api/v1/namespaces", *names))
    return "/".join(("/api/v1/namespaces", names[0], kind, *names[1:]))


class Changes:
    """Changes the cluster and the model of it together.

    `needed` is the number of requests that an operator needs at most to follow
    all changes so far, if it writes each object once after each change.
    """

    def __init__(self, client, world, random):
        self._client = client
        self._world = world
        self._random = random
        self._revision = 0
        self.needed = 0

    def fill(self, namespaces, sources):
        """Makes the namespaces, of which some do not match, the sources, and
        foreign objects with the names of some. Pairs of sources have the same
        name."""
        names = [f"ns-{i}" for i in range(namespaces)]
        labels = {n: {"replicate": "yes", "team": "abc"[i % 3]}
                  for i, n in enumerate(names)}
        labels |= {f"other-{i}": {} for i in range(max(1, namespaces // 10))}
        homes = list(labels)
        objects, foreign = [], []
        for i in range(sources):
            home, name = homes[i % len(homes)], f"source-{i:05}"
            # All but a tenth are copied to all that have the label.
            selector = (SELECTORS[i // 10 % len(SELECTORS)] if i % 10 == 9
                        else SELECTORS[0])
            objects.append((home, name, selector))
            if i % 50 == 7:
                other = homes[(i + 1) % len(homes)]
                objects.append((other, name, SELECTORS[0]))
            if i % 20 == 3:
                foreign.append((homes[(i + 3) % len(homes)], name))
        with concurrent.futures.ThreadPoolExecutor(THREADS) as pool:
            def each(function, arguments):
                list(pool.map(lambda a: function(*a), arguments))
            each(self.make_namespace, labels.items())
            each(self.make_foreign, foreign)
            each(self.make_source, objects)
        for source in self._world.sources():
            self._need(source, 1)

    def make_namespace(self, name, labels):
        self._client.call("POST", path("namespaces"),
                          {"metadata": {"name": name, "labels": labels}})
        self._world.label(name, labels)

    def make_foreign(self, namespace, name):
        o = model.ConfigMap({"mine": "yes"})
        answer = self._post((namespace, name), o)
        o.resource_version = answer["metadata"]["resourceVersion"]

    def make_source(self, namespace, name, selector):
        """Does not count what the operator needs."""
        self._post((namespace, name), model.ConfigMap(
            self._new_data(), {"blob": self._blob()}, selector))

    def run(self, rate, seconds):
        """Makes changes, `rate` a second."""
        start = time.monotonic()
        count = int(rate * seconds)
        kinds = self._random.choices(list(WEIGHTS), WEIGHTS.values(), k=count)
        for i, kind in enumerate(kinds):
            time.sleep(max(0, start + i / rate - time.monotonic()))
            getattr(self, kind)()

    def update(self):
        source = self._any_source()
        if source:
            self._update(source)

    def _update(self, source):
        o = self._world.objects[source]
        data = self._new_data()
        blob = {"blob": self._blob()} if self._random.random() < .5 else {}
        self._patch(source, {
            "data": {key: None for key in o.data} | data,
            "binaryData": {key: None for key in o.binary_data} | blob})
        self._world.change(source, data=data, binary_data=blob)
        self._need(source)

    def create(self):
        self._revision += 1
        source = self._any_namespace(), f"new-{self._revision}"
        self.make_source(*source, self._random.choice(SELECTORS))
        self._need(source, 1)

    def delete(self):
        source = self._any_source()
        if source:
            self._need(source, 1)
            self._client.call("DELETE", path("configmaps", *source))
            del self._world.objects[source]
            self._need_rivals(source)

    def deactivate(self):
        """Takes a source's annotation away."""
        source = self._any_source()
        if source:
            self._need(source, 1)
            self._select(source, None)

    def activate(self):
        """Gives an annotation to an object that has lost it."""
        former = [key for key, o in self._world.objects.items()
                  if o.selector is None and o.resource_version is None]
        if former:
            source = self._random.choice(former)
            self._select(source, self._random.choice(SELECTORS))
            self._need(source, 1)

    def select(self):
        """Changes a source's selector."""
        source = self._any_source()
        if source:
            self._need(source)
            self._select(source, self._random.choice(SELECTORS))
            self._need(source, 1)
            self._need_rivals(source)

    def break_selector(self):
        """Breaks a source's selector, or mends the first of MAX_BROKEN."""
        broken = [s for s in self._world.sources()
                  if self._world.objects[s].is_broken]
        if len(broken) == MAX_BROKEN:
            self._select(broken[0], SELECTORS[0])
            self._need(broken[0], 1)
            return
        source = self._any_source()
        if source:
            # The copies may not fit the next selector.
            self._need(source)
            self._select(source, BROKEN)
            # Its copies show that the operator has seen the selector, too.
            self.update()

    def remove_foreign(self):
        foreign = [key for key, o in self._world.objects.items()
                   if o.resource_version is not None]
        if foreign:
            key = self._random.choice(foreign)
            self._client.call("DELETE", path("configmaps", *key))
            del self._world.objects[key]
            self._need_rivals(key)

    def relabel(self, namespace=None):
        """Takes the labels of a namespace away, or gives it some."""
        namespace = namespace or self._any_namespace()
        before = self._copies_in(namespace)
        old = self._world.namespaces[namespace]
        new = {} if old else {"replicate": "yes",
                              "team": self._random.choice("abc")}
        self._client.call(
            "PATCH", path("namespaces", namespace),
            {"metadata": {"labels": {key: None for key in old} | new}},
            kube_client.MERGE_PATCH)
        self._world.label(namespace, new)
        self.needed += len(before ^ self._copies_in(namespace))

    def burst(self):
        """Makes a change that needs many requests: a namespace changes its
        labels."""
        self.relabel(self._random.choice(
            [n for n in self._world.namespaces if n.startswith("ns-")]))

    def add_namespace(self):
        self._revision += 1
        name = f"added-{self._revision}"
        self.make_namespace(name, {"replicate": "yes",
                                   "team": self._random.choice("abc")})
        self.needed += len(self._copies_in(name))

    def remove_namespace(self, name, limit):
        """Deletes a namespace, and does what the controller of namespaces does
        in other clusters."""
        sources = [s for s in self._world.sources() if s[0] == name]
        for source in sources:
            self._need(source, 1)
        self.needed += len(self._copies_in(name))
        self._client.call("DELETE", path("namespaces", name))
        end = time.monotonic() + limit
        # Finalizers keep the sources until the operator has seen them.
        while self._client.call("DELETE", path("configmaps", name))["items"]:
            if time.monotonic() > end:
                raise TimeoutError(f"the namespace {name} does not get empty")
            time.sleep(.1)
        namespace = self._client.call("GET", path("namespaces", name))
        namespace["spec"]["finalizers"] = []
        self._client.call("PUT", path("namespaces", name, "finalize"),
                          namespace)
        del self._world.namespaces[name]
        for key in [k for k in self._world.objects if k[0] == name]:
            del self._world.objects[key]
            self._need_rivals(key)

    def _post(self, key, o):
        metadata = {"name": key[1]}
        if o.selector is not None:
            metadata["annotations"] = {model.SELECTOR: o.selector}
        answer = self._client.call(
            "POST", path("configmaps", key[0]),
            {"metadata": metadata, "data": o.data, "binaryData": o.binary_data})
        self._world.objects[key] = o
        return answer

    def _patch(self, key, body):
        self._client.call("PATCH", path("configmaps", *key), body,
                          kube_client.MERGE_PATCH)

    def _select(self, source, selector):
        self._patch(source,
                    {"metadata": {"annotations": {model.SELECTOR: selector}}})
        self._world.change(source, selector=selector)

    def _need(self, source, more=0):
        self.needed += more + len(self._world.copies(source))

    def _need_rivals(self, key):
        """Counts that other sources of this name get its place, and the places
        of its copies."""
        for source in self._world.sources():
            if source[1] == key[1] and source != key:
                self._need(source)

    def _copies_in(self, namespace):
        return {s for s in self._world.sources()
                if namespace in self._world.copies(s)}

    def _any_source(self):
        working = [s for s in self._world.sources()
                   if not self._world.objects[s].is_broken]
        return self._random.choice(working) if working else None

    def _any_namespace(self):
        return self._random.choice(
            [n for n in self._world.namespaces
             if n.startswith(("ns-", "other-", "added-"))])

    def _new_data(self):
        """Each value has a key of its own, which the next one does not have."""
        self._revision += 1
        return {"name": "value", f"key-{self._revision}": "x" * 100}

    def _blob(self):
        return base64.b64encode(self._random.randbytes(30)).decode()
