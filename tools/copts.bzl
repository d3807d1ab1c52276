"""The compiler options of every target of this repository."""

# Abseil compiles itself with these, so that its headers pass them in our code.
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

WORKQUEUE_COPTS = _WARNINGS + select({
    "//tools:clang": ["-Wthread-safety"],
    "//conditions:default": [],
}) + select({
    "//tools:werror": ["-Werror"],
    "//conditions:default": [],
})

WORKQUEUE_TEST_COPTS = WORKQUEUE_COPTS
