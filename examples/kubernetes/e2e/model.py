"""The cluster as it should be, and how a given state differs from that."""

import dataclasses
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

    @property
    def is_broken(self):
        try:
            matches(self.selector or "", {})
            return False
        except ValueError:
            return True


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
    name). Their copies follow from both."""

    def __init__(self, system_namespaces=None):
        # By name: labels.
        self.namespaces = dict(system_namespaces or {})
        # Other programs have objects there.
        self._system = frozenset(self.namespaces)
        self.objects = {}

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
                and matches(o.selector, labels)}

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
            return None  # Its copies stay as they were.
        if not sources or source not in sources:
            return f"there should be no copy of {'/'.join(source)}"
        if not self._same(item, o):
            return f"the copy differs from {'/'.join(source)}"
        return None

    @staticmethod
    def _same(item, o):
        return (item.get("data", {}) == o.data
                and item.get("binaryData", {}) == o.binary_data)
