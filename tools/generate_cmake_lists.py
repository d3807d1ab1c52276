#!/usr/bin/env python3
"""Writes the CMakeLists.txt of each folder from its BUILD.bazel.

Usage: tools/generate_cmake_lists.py [--check]

With --check, writes nothing, and fails if a file is out of date.

A BUILD.bazel is valid Python. The script runs the file with functions in place
of Bazel's rules. The functions take only the attributes that this repository
uses. So an attribute without a translation is an error.
"""

import collections
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent

# The folders of the library, its examples and its tests. Only Bazel builds the
# benchmarks.
FOLDERS = ("workqueue", "ratelimit", "examples", "test")

# Targets that may be missing. Abseil has the first two since 20260526. It has
# the second one only if Abseil was built with its tests. Boost, CivetWeb, hiredis,
# nlohmann/json, prometheus-cpp and the libraries of the Kubernetes client are
# optional.
OPTIONAL = (
    "Boost::headers",
    "CURL::libcurl",
    "absl::clock_interface",
    "absl::simulated_clock",
    "civetweb::civetweb-cpp",
    "hiredis::hiredis",
    "nlohmann_json::nlohmann_json",
    "opentelemetry-cpp::api",
    "opentelemetry-cpp::in_memory_span_exporter",
    "opentelemetry-cpp::trace",
    "prometheus-cpp::core",
    "prometheus-cpp::pull",
    "yaml-cpp",
)

# CMake builds the folders that begin with these if WORKQUEUE_WITH_INSPECT is set.
OPTIONAL_FOLDERS = ("//test/inspect", "//workqueue/inspect")

# The CMake targets of labels whose names differ.
EXTERNAL = {
    "//third_party/boost:headers": ["Boost::headers"],
    "//third_party/kubernetes:curl": ["CURL::libcurl"],
    "//third_party/kubernetes:nlohmann_json": ["nlohmann_json::nlohmann_json"],
    "//third_party/kubernetes:yaml_cpp": ["yaml-cpp"],
    "//third_party/opentelemetry:api": ["opentelemetry-cpp::api"],
    "//third_party/opentelemetry:sdk":
        ["opentelemetry-cpp::in_memory_span_exporter",
         "opentelemetry-cpp::trace"],
    "@com_google_absl//absl/algorithm:container":
        ["absl::algorithm_container"],
    "@com_google_absl//absl/random": ["absl::random_random"],
    # Abseil installs this header without its target. The header depends on
    # these targets.
    "@com_google_absl//absl/hash:hash_testing":
        ["absl::hash", "absl::str_format"],
    # Programs pass CivetWeb's CivetCallbacks, of its library for C++, to
    # prometheus-cpp.
    "@civetweb//:civetweb": ["civetweb::civetweb-cpp"],
    "@com_github_jupp0r_prometheus_cpp//core": ["prometheus-cpp::core"],
    "@com_github_jupp0r_prometheus_cpp//pull": ["prometheus-cpp::pull"],
    "@hiredis//:hiredis": ["hiredis::hiredis"],
    "@nlohmann_json//:json": ["nlohmann_json::nlohmann_json"],
    # A test preloads it, and leaves something out without it.
    "//test/shared:libstep_clock.so": [],
    # Bazel's targets include GoogleMock.
    "@com_google_googletest//:gtest": ["GTest::gmock"],
    "@com_google_googletest//:gtest_main": ["GTest::gmock_main"],
}

LINUX = "@platforms//os:linux"

Rule = collections.namedtuple("Rule",
                              ["kind", "label", "name", "flags", "lists"])


class Package:
    """The rules of a BUILD.bazel, in the order of the file."""

    def __init__(self, folder):
        self.folder = str(folder)
        self.rules = []
        self.flags = {}  # the label of each label_flag, and its default
        scope = {
            "exports_files": lambda files: None,
            "filegroup": lambda name, srcs: None,
            "glob": lambda patterns: [],
            "label_flag": self._label_flag,
            "licenses": lambda kinds: None,
            "package": lambda **attributes: None,
            # Returns all choices. A target requires its dependencies in
            # OPTIONAL, and is left out if they are missing.
            "select": lambda choices: sum(choices.values(), []),
        }

        # Bazel 9 has no rules for C++ but those that a file loads.
        def load(file, *names):
            if file != "//tools:cc.bzl":
                sys.exit("%s loads %s, not //tools:cc.bzl" % (path, file))
            for name in names:
                scope[name] = getattr(self, "_" + name)

        scope["load"] = load
        path = ROOT / folder / "BUILD.bazel"
        exec(compile(path.read_text(), str(path), "exec"), scope)

    def _cc_library(self, name, srcs=(), hdrs=(), deps=(),
                    target_compatible_with=(), testonly=False, visibility=()):
        self._add("library", name, target_compatible_with,
                  HDRS=hdrs, SRCS=srcs, DEPS=deps)

    def _cc_binary(self, name, srcs, deps=(), tags=(), linkshared=False,
                   target_compatible_with=(), testonly=False, visibility=()):
        if "manual" in tags or linkshared:
            return
        self._add("binary", name, target_compatible_with,
                  SRCS=srcs, DEPS=deps)

    def _cc_test(self, name, srcs=None, deps=(), data=(), size=None, tags=(),
                 linkopts=(), target_compatible_with=()):
        self._add("test", name, target_compatible_with,
                  SRCS=srcs or [name + ".cc"], DATA=data, DEPS=deps, LINKOPTS=linkopts,
                  LABELS=tags)

    def _label_flag(self, name, build_setting_default, visibility=()):
        self.flags[self._whole(":" + name)] = build_setting_default

    def _add(self, kind, name, target_compatible_with, **lists):
        flags = ["LINUX_ONLY"] if LINUX in target_compatible_with else []
        for key in ("DEPS", "DATA"):
            lists[key] = [self._whole(label) for label in lists.get(key, ())]
        self.rules.append(
            Rule(kind, self._whole(":" + name), name, flags, lists))

    def _whole(self, label):
        """Returns the absolute label: //workqueue:queue for :queue, and
        //examples:examples for //examples."""
        if label.startswith(":"):
            return "//%s%s" % (self.folder, label)
        if label.startswith("//") and ":" not in label:
            return "%s:%s" % (label, label.split("/")[-1])
        return label


class Targets:
    """The names of the targets in CMake."""

    def __init__(self, packages):
        self._names = {}
        self._rules = {}
        self._flags = {}
        # In CMake all targets share one namespace. If two targets have the
        # same name, the later one gets its folder's name as a prefix.
        taken = set()
        for package in packages:
            self._flags.update(package.flags)
            for rule in package.rules:
                name = rule.name
                if name in taken:
                    name = "%s_%s" % (package.folder.split("/")[-1], name)
                if name in taken:
                    sys.exit("two targets have the name " + name)
                taken.add(name)
                self._names[rule.label] = name
                self._rules[rule.label] = rule

    def name(self, rule):
        return self._names[rule.label]

    def of(self, labels):
        """Returns the CMake targets of `labels`: workqueue::queue for
        //workqueue:queue, and absl::time for Abseil's //absl/time."""
        targets = []
        for label in labels:
            label = self._flags.get(label, label)
            if label in self._names:
                targets.append("workqueue::" + self._names[label])
            elif label in EXTERNAL:
                targets += EXTERNAL[label]
            elif label.startswith("@com_google_absl//absl/"):
                targets.append("absl::" + re.split("[:/]", label)[-1])
            else:
                sys.exit("there is no target for " + label)
        return targets

    def requires(self, rule):
        """Returns the targets of OPTIONAL that `rule` depends on, directly or
        indirectly, and those targets of OPTIONAL_FOLDERS that rules of other
        folders depend on."""
        optional = set(OPTIONAL)
        needed = set()
        seen = set()
        labels = [rule.label]
        while labels:
            label = labels.pop()
            label = self._flags.get(label, label)
            if label in seen:
                continue
            seen.add(label)
            if label in self._rules:
                lists = self._rules[label].lists
                direct = lists["DEPS"] + lists["DATA"]
                labels += direct
                if not label.startswith(OPTIONAL_FOLDERS):
                    entries = self.of(dep for dep in direct
                                      if dep in self._rules
                                      and dep.startswith(OPTIONAL_FOLDERS))
                    optional.update(entries)
                    needed.update(entries)
            elif label.startswith("@") or label in EXTERNAL:
                # Other labels are files.
                needed.update(self.of([label]))
        return sorted(needed.intersection(optional))


def cmake_call(rule, targets, binaries):
    """Returns the call of CMake's function for `rule`."""
    lists = dict(rule.lists)
    lists["DEPS"] = targets.of(lists["DEPS"])
    lists["REQUIRES"] = targets.requires(rule)
    # The tests find their data files in the source tree.
    lists["PROGRAMS"] = targets.of(
        label for label in lists["DATA"] if label in binaries)
    for key in ("HDRS", "SRCS"):
        lists[key] = ['"%s"' % file for file in lists.get(key, ())]

    lines = ["workqueue_cc_%s(" % rule.kind, "  NAME",
             "    " + targets.name(rule)]
    for key in ("HDRS", "SRCS", "DEPS", "REQUIRES", "LINKOPTS", "PROGRAMS",
                "LABELS"):
        if lists.get(key):
            lines.append("  " + key)
            lines += ["    " + item for item in lists[key]]
    lines += ["  " + flag for flag in rule.flags]
    return "\n".join(lines + [")"])


def main(arguments):
    if arguments not in ([], ["--check"]):
        sys.exit(__doc__)

    packages = [Package(path.parent.relative_to(ROOT))
                for folder in FOLDERS
                for path in sorted(ROOT.glob(folder + "/**/BUILD.bazel"))]
    packages = [package for package in packages
                if package.rules or package.flags]
    targets = Targets(packages)
    binaries = {rule.label for package in packages for rule in package.rules
                if rule.kind == "binary"}

    errors = []
    texts = {}
    top = (ROOT / "CMakeLists.txt").read_text()
    for package in packages:
        path = package.folder + "/CMakeLists.txt"
        if not re.search(r"[\s(]%s[\s)]" % package.folder, top):
            errors.append("CMakeLists.txt does not add %s" % package.folder)
        text = "\n\n".join(
            ["# Generated from BUILD.bazel by tools/generate_cmake_lists.py."]
            + [cmake_call(rule, targets, binaries)
               for rule in package.rules]) + "\n"
        texts[ROOT / path] = text
        file = ROOT / path
        if arguments and (not file.exists() or file.read_text() != text):
            errors.append("%s is out of date: run "
                          "tools/generate_cmake_lists.py" % path)
    # Writes all files, or none if one of them cannot be made.
    if not arguments:
        for file, text in texts.items():
            file.write_text(text)
    if errors:
        sys.exit("\n".join(errors))


if __name__ == "__main__":
    main(sys.argv[1:])
