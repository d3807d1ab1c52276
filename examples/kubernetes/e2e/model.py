"""The cluster as it should be, and how a given state differs from that."""

import dataclasses
import itertools
import re

SELECTOR = "replicator.example.com/namespace-selector"
SOURCE = "replicator.example.com/source"
FINALIZER = "replicator.example.com/cleanup"
MANAGED_BY = "app.kubernetes.io/managed-by"

REQUIREMENT = re.compile(
    r"\s*(?:(?P<absent>!)\s*(?P<absent_key>[\w./-]+)"
    r"|(?P<key>[\w./-]+)\s*(?:(?P<op>==|=|!=)\s*(?P<value>[\w.-]*)"
    r"|(?P<set>in|notin)\s*\((?P<values>[^()]*)\))?)\s*(?:,|$)")


def matches(selector, labels):
    """Returns whether the labels match. Raises ValueError if the selector is not
    valid."""
    position, result = 0, True
    while position < len(selector):
        found = REQUIREMENT.match(selector, position)
        if not found:
            raise ValueError(selector)
        position = found.end()
        if found["absent"]:
            result &= found["absent_key"] not in labels
            continue
        value = labels.get(found["key"])
        if found["set"]:
            within = value in [v.strip() for v in found["values"].split(",")]
            result &= within == (found["set"] == "in")
        elif found["op"]:
            result &= (value == found["value"]) == (found["op"] != "!=")
        else:
            result &= value is not None
    return result


@dataclasses.dataclass
class ConfigMap:
    """An object that the operator did not make. It is a source if it has a
    selector."""

    data: dict
    binary_data: dict = dataclasses.field(default_factory=dict)
    selector: str = None
    # Of an object that nobody may change.
    resource_version: str = None
    # How it was since the last settled state, except now.
    past: list = dataclasses.field(default_factory=list)

    @property
    def is_broken(self):
        try:
            matches(self.selector or "", {})
            return False
        except ValueError:
            return True

    @property
    def content(self):
        return self.data, self.binary_data

    def selects(self, labels):
        """Returns whether the object is a source, and has its copies where the
        labels are these. None means that there is no namespace."""
        return (self.selector is not None and labels is not None
                and matches(self.selector, labels))


def content_of(item):
    return item.get("data", {}), item.get("binaryData", {})


def source_of(item):
    """Returns the (namespace, name) of the source of a copy. Returns None for
    other objects."""
    metadata = item["metadata"]
    if metadata.get("labels", {}).get(MANAGED_BY) != "replicator":
        return None
    source = metadata.get("annotations", {}).get(SOURCE)
    return source and tuple(source.split("/"))


class World:
    """Namespaces, and objects that the operator did not make, by (namespace,
    name). Their copies follow from both, and those of a source with a broken
    selector from the past. The state is settled when there are no problems."""

    def __init__(self, system_namespaces=None):
        # By name: labels.
        self.namespaces = dict(system_namespaces or {})
        # Other programs have objects there.
        self._system = frozenset(self.namespaces)
        self.objects = {}
        # The labels of namespaces since the last settled state, except now.
        self._past_labels = {}
        # The settled copies: by (source, namespace), what they have.
        self._settled = {}

    def label(self, namespace, labels):
        """Makes a namespace, or changes its labels."""
        self._past_labels.setdefault(namespace, []).append(
            self.namespaces.get(namespace))
        self.namespaces[namespace] = labels

    def change(self, key, **fields):
        """Changes fields of an object."""
        o = self.objects[key]
        o.past.append(dataclasses.replace(o, past=[]))
        vars(o).update(fields)

    def settle(self, items):
        """Remembers the copies among these ConfigMaps. Call it when there are
        no problems."""
        self._settled = {
            (source_of(i), i["metadata"]["namespace"]): content_of(i)
            for i in items if source_of(i)}
        self._past_labels.clear()
        for o in self.objects.values():
            o.past.clear()

    def sources(self):
        return [key for key, o in self.objects.items()
                if o.selector is not None]

    def copies(self, source):
        """Returns the namespaces in which the source's copies should be. If
        another source has the same name, they may be the other's."""
        own, name = source
        o = self.objects[source]
        if o.selector is None or o.is_broken:
            return set()
        return {namespace for namespace, labels in self.namespaces.items()
                if namespace != own and (namespace, name) not in self.objects
                and o.selects(labels)}

    def problems(self, items):
        """Returns the differences between these ConfigMaps, which are parsed
        JSON, and what they should be."""
        wanted = {}  # by the copy's (namespace, name): its possible sources
        for source in self.sources():
            for namespace in self.copies(source):
                wanted.setdefault((namespace, source[1]), set()).add(source)
        result, seen = [], set()
        for item in items:
            metadata = item["metadata"]
            key = metadata["namespace"], metadata["name"]
            seen.add(key)
            if key in self.objects:
                problem = self._problem_of_object(key, item)
            else:
                problem = self._problem_of_copy(wanted.get(key), key, item)
            if problem:
                result.append(f"{'/'.join(key)}: {problem}")
        for key in self.objects.keys() - seen:
            result.append(f"{'/'.join(key)}: the object is gone")
        for key in wanted.keys() - seen:
            result.append(f"{'/'.join(key)}: the copy is missing")
        for source in self.sources():
            if self.objects[source].is_broken:
                result += self._problems_of_kept_copies(source, items)
        return result

    def _problem_of_object(self, key, item):
        metadata, o = item["metadata"], self.objects[key]
        has_finalizer = FINALIZER in metadata.get("finalizers", [])
        if (o.resource_version is not None
                and o.resource_version != metadata["resourceVersion"]):
            return "somebody has changed this foreign object"
        if source_of(item):
            return "the object has become a copy"
        if "deletionTimestamp" in metadata:
            return "somebody has deleted the object"
        if not self._same(item, o):
            return "the object's data has changed"
        if o.selector is None and has_finalizer:
            return "the object is not a source, and has the finalizer"
        if self.copies(key) and not has_finalizer:
            return "the source has copies and no finalizer"
        return None

    def _problem_of_copy(self, sources, key, item):
        source = source_of(item)
        if source is None:
            if "deletionTimestamp" in item["metadata"]:
                return "the deleted object is still there"
            if key[0] in self._system:
                return None
            return "nobody has made this object"
        o = self.objects.get(source)
        if o is not None and o.selector is not None and o.is_broken:
            return None  # See _problems_of_kept_copies().
        if not sources or source not in sources:
            return f"there should be no copy of {'/'.join(source)}"
        if not self._same(item, o):
            return f"the copy differs from {'/'.join(source)}"
        return None

    def _problems_of_kept_copies(self, source, items):
        """The copies of a source with a broken selector stay as they were."""
        found = {item["metadata"]["namespace"]: content_of(item)
                 for item in items if source_of(item) == source}
        for namespace in self.namespaces.keys() | found.keys():
            key = namespace, source[1]
            kept = self._kept(source, namespace)
            content = found.get(namespace)
            if key in self.objects or content in kept:
                continue
            if content is None:
                problem = "the copy is missing"
            elif kept == [None]:
                problem = f"there should be no copy of {'/'.join(source)}"
            else:
                problem = f"the copy differs from what {'/'.join(source)} had"
            yield f"{'/'.join(key)}: {problem}"

    def _kept(self, source, namespace):
        """Returns what a copy may have that stays as it was when its source's
        selector broke. None means that there is no copy. The operator may not
        have seen the last changes before, or may have seen those of the
        namespace first that came after."""
        o = self.objects[source]
        valid = [p for p in (*o.past, o) if not p.is_broken]
        labels = (*self._past_labels.get(namespace, ()),
                  self.namespaces.get(namespace))
        result = [self._settled.get((source, namespace))]
        for p, seen in itertools.product(valid, labels):
            content = p.content if p.selects(seen) else None
            if content not in result:
                result.append(content)
        return result

    @staticmethod
    def _same(item, o):
        return content_of(item) == o.content
