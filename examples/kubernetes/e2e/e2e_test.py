#!/usr/bin/env python3
"""Tests that the comparison finds what is wrong. Needs no server."""

import copy
import unittest

import model


def item(namespace, name, data, **metadata):
    return {"metadata": {"namespace": namespace, "name": name,
                         "resourceVersion": "7", **metadata}, "data": data}


def copy_of(source, namespace, data):
    return item(namespace, source.split("/")[1], data,
                labels={model.MANAGED_BY: "replicator"},
                annotations={model.SOURCE: source})


class SelectorTest(unittest.TestCase):

    def test_matches(self):
        labels = {"team": "a", "tier": "x"}
        for selector in ("", "team", "team=a", "team==a", "team!=b", "!other",
                         "team in (a, b)", "other notin (x)", "other!=x",
                         "team=a,tier in (x,y),!other"):
            self.assertTrue(model.matches(selector, labels), selector)
        for selector in ("team=b", "!team", "other", "team notin (a)",
                         "team=a,tier=y", "team in (b)", "other="):
            self.assertFalse(model.matches(selector, labels), selector)

    def test_invalid(self):
        for selector in ("team in", "team in (a", "=a", "a b", "team=a,=b"):
            with self.assertRaises(ValueError, msg=selector):
                model.matches(selector, {})


class World(unittest.TestCase):
    """A cluster without problems."""

    def setUp(self):
        self.world = model.World({"kube-system": {}})
        self.world.namespaces.update(
            {"a": {"team": "x"}, "b": {"team": "x"}, "c": {"team": "x"},
             "d": {}})
        self.world.objects = {
            ("a", "s"): model.ConfigMap({"k": "v"}, selector="team=x"),
            ("c", "s"): model.ConfigMap({"f": "g"}, resource_version="7"),
        }
        self.items = [
            item("a", "s", {"k": "v"}, finalizers=[model.FINALIZER]),
            item("c", "s", {"f": "g"}),
            copy_of("a/s", "b", {"k": "v"}),
            item("kube-system", "unknown", {}),
        ]
        self.source, self.foreign, self.copy, _ = self.items

    def assert_problems(self, *problems):
        self.assertCountEqual(self.world.problems(self.items), problems)


class WorldTest(World):

    def test_right(self):
        self.assert_problems()

    def test_copy_missing(self):
        self.items.remove(self.copy)
        self.assert_problems("b/s: the copy is missing")

    def test_copy_differs(self):
        self.copy["data"] = {"k": "v", "lost key": "v"}
        self.assert_problems("b/s: the copy differs from a/s")
        self.copy["data"] = {"k": "v"}
        self.copy["binaryData"] = {"b": "AA=="}
        self.assert_problems("b/s: the copy differs from a/s")

    def test_copy_too_many(self):
        self.items.append(copy_of("a/s", "d", {"k": "v"}))
        self.assert_problems("d/s: there should be no copy of a/s")

    def test_copy_of_deleted_source(self):
        del self.world.objects["a", "s"]
        self.items.remove(self.source)
        self.assert_problems("b/s: there should be no copy of a/s")

    def test_deleted_source_hangs(self):
        del self.world.objects["a", "s"]
        self.items.remove(self.copy)
        self.source["metadata"]["deletionTimestamp"] = "now"
        self.assert_problems("a/s: the deleted object is still there")

    def test_source_deleted_by_operator(self):
        self.source["metadata"]["deletionTimestamp"] = "now"
        self.assert_problems("a/s: somebody has deleted the object")
        self.items.remove(self.source)
        self.assert_problems("a/s: the object is gone")

    def test_source_changed(self):
        self.source["data"] = {}
        self.assert_problems("a/s: the object's data has changed")

    def test_source_without_finalizer(self):
        del self.source["metadata"]["finalizers"]
        self.assert_problems("a/s: the source has copies and no finalizer")

    def test_former_source_keeps_finalizer(self):
        self.world.objects["a", "s"].selector = None
        self.items.remove(self.copy)
        self.assert_problems(
            "a/s: the object is not a source, and has the finalizer")

    def test_foreign_changed(self):
        self.foreign["metadata"]["resourceVersion"] = "8"
        self.assert_problems("c/s: somebody has changed this foreign object")

    def test_foreign_taken_over(self):
        self.world.objects["c", "s"].resource_version = None
        self.foreign.update(copy_of("a/s", "c", {"f": "g"}))
        self.assert_problems("c/s: the object has become a copy")

    def test_foreign_gone(self):
        del self.world.objects["c", "s"]
        self.items.remove(self.foreign)
        self.assert_problems("c/s: the copy is missing")

    def test_unknown_object(self):
        self.items.append(item("b", "unknown", {}))
        self.assert_problems("b/unknown: nobody has made this object")

    def test_two_sources_of_one_name(self):
        self.world.objects["d", "s"] = model.ConfigMap({"o": "p"},
                                                       selector="team=x")
        self.items.append(
            item("d", "s", {"o": "p"}, finalizers=[model.FINALIZER]))
        self.assert_problems()
        other = copy.deepcopy(self.copy)
        other.update(copy_of("d/s", "b", {"o": "p"}))
        self.items[self.items.index(self.copy)] = other
        self.assert_problems()
        other["data"] = {"k": "v"}
        self.assert_problems("b/s: the copy differs from d/s")


class BrokenSelectorTest(World):
    """The selector of the source a/s is "team=x", and breaks."""

    def setUp(self):
        super().setUp()
        self.world.settle(self.items)

    def break_selector(self):
        self.world.change(("a", "s"), selector="team in")

    def update(self, **data):
        """Changes the source."""
        self.world.change(("a", "s"), data=data)
        self.source["data"] = data

    def test_copies_stay(self):
        self.break_selector()
        self.assert_problems()

    def test_copy_deleted(self):
        self.break_selector()
        self.items.remove(self.copy)
        self.assert_problems("b/s: the copy is missing")

    def test_copy_changed(self):
        self.break_selector()
        self.copy["data"] = {"another": "v"}
        self.assert_problems("b/s: the copy differs from what a/s had")

    def test_copy_where_none_was(self):
        self.break_selector()
        self.items.append(copy_of("a/s", "d", {"k": "v"}))
        self.assert_problems("d/s: there should be no copy of a/s")

    def test_copy_follows_broken_source(self):
        self.break_selector()
        self.update(k="w")
        self.copy["data"] = {"k": "w"}
        self.assert_problems("b/s: the copy differs from what a/s had")

    def test_each_content_since_the_settled_state(self):
        self.update(k="w")
        self.update(k="x")
        self.break_selector()
        for value in "vwx":
            self.copy["data"] = {"k": value}
            self.assert_problems()
        # What the operator has not done by the next settled state, it never
        # does.
        self.copy["data"] = {"k": "w"}
        self.world.settle(self.items)
        self.assert_problems()
        self.copy["data"] = {"k": "x"}
        self.assert_problems("b/s: the copy differs from what a/s had")

    def test_selector_changed_before(self):
        self.world.change(("a", "s"), selector="!team")
        self.break_selector()
        self.assert_problems()
        self.items.append(copy_of("a/s", "d", {"k": "v"}))
        self.assert_problems()
        self.items.remove(self.copy)
        self.assert_problems()

    def test_label_changed(self):
        for change_first in (True, False):
            self.setUp()
            if change_first:
                self.world.label("d", {"team": "x"})
            self.break_selector()
            if not change_first:
                self.world.label("d", {"team": "x"})
            self.assert_problems()
            self.items.append(copy_of("a/s", "d", {"k": "v"}))
            self.assert_problems()
            self.world.settle(self.items)
            self.world.label("d", {})
            self.assert_problems()
            self.items.pop()
            self.assert_problems("d/s: the copy is missing")

    def test_namespace_made(self):
        self.world.label("new", {"team": "x"})
        self.break_selector()
        self.assert_problems()
        self.items.append(copy_of("a/s", "new", {"k": "v"}))
        self.assert_problems()

    def test_namespace_deleted(self):
        self.break_selector()
        self.items.remove(self.copy)
        del self.world.namespaces["b"]
        self.assert_problems()

    def test_foreign_object_in_the_place(self):
        self.break_selector()
        self.world.objects["b", "s"] = model.ConfigMap({})
        self.items[self.items.index(self.copy)] = item("b", "s", {})
        self.assert_problems()

    def test_foreign_object_gone(self):
        del self.world.objects["c", "s"]
        self.items.remove(self.foreign)
        self.break_selector()
        self.assert_problems()
        self.items.append(copy_of("a/s", "c", {"k": "v"}))
        self.assert_problems()

    def test_new_source(self):
        self.world.objects["d", "t"] = model.ConfigMap({}, selector="team")
        self.items.append(item("d", "t", {}))
        self.world.change(("d", "t"), selector="team in")
        self.assert_problems()
        self.items.append(copy_of("d/t", "b", {}))
        self.assert_problems()
        self.items.append(copy_of("d/t", "kube-system", {}))
        self.assert_problems("kube-system/t: there should be no copy of d/t")

    def test_another_source_takes_no_kept_place(self):
        self.break_selector()
        self.world.objects["d", "s"] = model.ConfigMap({}, selector="team=x")
        self.items.append(item("d", "s", {}, finalizers=[model.FINALIZER]))
        self.assert_problems()
        self.items[self.items.index(self.copy)] = copy_of("d/s", "b", {})
        self.assert_problems("b/s: the copy is missing")

    def test_source_deleted(self):
        self.break_selector()
        del self.world.objects["a", "s"]
        self.items.remove(self.source)
        self.assert_problems("b/s: there should be no copy of a/s")

    def test_mended(self):
        self.break_selector()
        self.world.change(("a", "s"), selector="team notin (x)")
        self.world.label("kube-system", {"team": "x"})
        self.assert_problems("b/s: there should be no copy of a/s",
                             "d/s: the copy is missing")


if __name__ == "__main__":
    unittest.main()
