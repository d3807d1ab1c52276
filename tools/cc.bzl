"""Bazel's C++ rules with this repository's compiler options."""

# rules_cc's defs.bzl has these rules, too, but some versions of it make Bazel
# fetch protobuf.
load("@rules_cc//cc:cc_binary.bzl", _cc_binary = "cc_binary")
load("@rules_cc//cc:cc_library.bzl", _cc_library = "cc_library")
load("@rules_cc//cc:cc_test.bzl", _cc_test = "cc_test")

# Abseil uses these warnings for itself, so its headers cause none in our code.
_WARNINGS = [
    "-Wall",
    "-Wextra",
    "-Wcast-qual",
    "-Wformat-security",
    "-Wnon-virtual-dtor",
    "-Woverloaded-virtual",
    "-Wpointer-arith",
    "-Wvla",
    "-Wwrite-strings",
]

_COPTS = select({
    # MSVC knows none of these.
    "@rules_cc//cc/compiler:msvc-cl": [],
    "//conditions:default": _WARNINGS,
}) + select({
    "@rules_cc//cc/compiler:clang": ["-Wthread-safety"],
    "//conditions:default": [],
}) + select({
    "//tools:werror": ["-Werror"],
    "//conditions:default": [],
})

def cc_binary(name, **kwargs):
    _cc_binary(name = name, copts = _COPTS, **kwargs)

def _in_one(name, instances, srcs, testonly):
    """Adds a source that includes the header of `instances` and `srcs`. Returns lists of it and of what it needs."""
    headers = [instances[2:].replace(":", "/") + ".h"] if instances else []
    _cc_library(name = name + "_srcs", testonly = testonly, textual_hdrs = srcs)
    package = native.package_name() + "/"
    native.genrule(
        name = name + "_in_one",
        testonly = testonly,
        outs = [name + "_in_one.cc"],
        cmd = "printf '#include \"%s\"\\n' >$@ " + " ".join(headers + [package + src for src in srcs]),
    )
    return [name + "_in_one.cc"], [":%s_srcs" % name] + ([instances] if instances else [])

def cc_library(name, srcs = [], deps = [], in_one = False, instances = None, testonly = None, **kwargs):
    """Adds a library.

    Args:
      name: name of the library
      srcs: source files
      deps: as in Bazel's cc_library
      in_one: whether to compile the sources as one, as cc_test does
      instances: as in cc_test, if `in_one`
      testonly: as in Bazel's cc_library
      **kwargs: as in Bazel's cc_library
    """
    if in_one:
        srcs, more_deps = _in_one(name, instances, srcs, testonly)
        deps = deps + more_deps
    _cc_library(name = name, srcs = srcs, deps = deps, testonly = testonly, copts = _COPTS, **kwargs)

def chosen_library(name):
    """Adds a flag that names a library which is not in the graph of our users.

    Without the flag, Bazel skips what depends on the library, and tells who asks
    for it the name of the constraint below.

    Args:
      name: name of the flag
    """
    native.label_flag(
        name = name,
        build_setting_default = ":%s_is_not_chosen" % name,
        visibility = ["//visibility:public"],
    )
    native.constraint_setting(name = name + "_setting")
    constraint = "set_the_flag_%s_of_this_package_as_docs/building.md_says" % name
    native.constraint_value(name = constraint, constraint_setting = name + "_setting")
    cc_library(name = name + "_is_not_chosen", target_compatible_with = [constraint])

def installed_library(name, define, **kwargs):
    """Adds a library that the compiler and the linker find by themselves.

    `--define=DEFINE=true` says that the library is there. If tools/bazelw runs Debian's
    Bazel, it looks for some and says so. Without the definition, Bazel skips what
    depends on the library. select() can ask for NAME_installed.

    Args:
      name: name of the library
      define: name that --define gives a value
      **kwargs: as in Bazel's cc_library
    """
    native.config_setting(name = name + "_installed", define_values = {define: "true"})
    cc_library(
        name = name,
        target_compatible_with = select({
            ":%s_installed" % name: [],
            "//conditions:default": ["@platforms//:incompatible"],
        }),
        **kwargs
    )

def folder_library(name, exclude = [], testonly = None, **kwargs):
    """Adds a library of the files of the folder and of its internal/.

    Each header in the folder itself has an alias of its name. So a user can name the
    header instead of the library.

    Args:
      name: name of the library
      exclude: files, or patterns of files, that other targets have
      testonly: as in Bazel's cc_library
      **kwargs: as in Bazel's cc_library, but without files
    """
    cc_library(
        name = name,
        # Some folders lack one of these. Bazel 8 refuses a pattern that matches no file.
        srcs = native.glob(["*.cc", "internal/*.cc"], exclude = exclude, allow_empty = True),
        hdrs = native.glob(["*.h", "internal/*.h"], exclude = exclude, allow_empty = True),
        testonly = testonly,
        **kwargs
    )
    for header in native.glob(["*.h"], exclude = exclude + [name + ".h"]):
        native.alias(name = header[:-len(".h")], actual = ":" + name, testonly = testonly)

def cc_test(name, srcs = None, size = "small", deps = [], instances = None, **kwargs):
    """Adds a test. By default it is small and has one source of its name.

    Several sources are compiled as one, because most of a test's compile time is
    the headers' and the templates', which they share. So each source has a
    namespace of its own name.

    Args:
      name: name of the test
      srcs: source files
      size: size of the test, which limits its time, as in Bazel's cc_test
      deps: as in Bazel's cc_test
      instances: label of a library whose header, of the same name, declares
        templates that it instantiates; included before the sources
      **kwargs: as in Bazel's cc_test
    """
    srcs = srcs or [name + ".cc"]
    if len(srcs) > 1 or instances:
        srcs, more_deps = _in_one(name, instances, srcs, True)
        deps = deps + more_deps
    _cc_test(
        name = name,
        size = size,
        srcs = srcs,
        copts = _COPTS,
        deps = deps,
        **kwargs
    )
