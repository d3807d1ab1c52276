#!/usr/bin/env python3
"""Checks includes, header guards, waits and locks.

Usage: tools/check_layers.py [ROOT]

Checks the repository in the folder ROOT, by default this repository. The rules:

  * A layer includes only itself and the layers below it (LAYERS).
  * Only a folder itself and the tests include the folder's internal/. The
    folders of workqueue/ and bench/ may also include workqueue/internal/. The
    examples and test/monorepo include neither an internal/ nor workqueue/base/.
  * The guard of a header is made from the header's path.
  * The library waits for a time only through a Clock or a Parker, and reads the
    time only from a Clock. So no wait depends on the wall clock. WAITS has the
    names of all other functions that wait.
  * The library locks a mutex only through the classes of mutex_lock.h: not every
    release of Abseil has the same names.

Prints one line for each error. Exits with 1 if there is an error.
"""

import pathlib
import re
import sys

# The parts of each layer, lowest layer first. A part is a folder, or the files of a
# name. A file belongs to the longest part that it is in.
LAYERS = (
    ("workqueue/simulation",),
    ("workqueue/leader_election/election", "workqueue/log_sink",
     "workqueue/metrics", "workqueue/version"),
    ("workqueue/base",),
    ("workqueue/clock",),
    ("workqueue/base/error_log",),
    ("ratelimit", "workqueue/redis", "workqueue/timer"),
    ("workqueue",),
    ("workqueue/coroutine",),
    ("workqueue/controller",),
    ("workqueue/leader_election", "workqueue/prometheus", "workqueue/shared",
     "workqueue/testing", "workqueue/tracing"),
    ("workqueue/inspect", "workqueue/opentelemetry"),
    ("examples",),
    ("bench", "test", "tools"),
)
LAYER_OF_PART = {part: i for i, parts in enumerate(LAYERS) for part in parts}

# The files below include the library as its users do.
USERS = ("examples", "test/monorepo")

# A separate project. The paths of its headers are relative to this folder.
MONOREPO = "test/monorepo/"

INCLUDE = re.compile(r'#include "(.*)"')

# The folders of the library, but for those that implement the clocks.
WAITING_FOLDERS = ("ratelimit", "workqueue")
CLOCKS = ("workqueue/clock", "workqueue/simulation")

# Whatever waits for a time, or reads a clock, other than a Clock and a Parker.
WAITS = re.compile(r"""
    \b(?: \w*AwaitWithTimeout | WaitWith(?:Timeout|Deadline)
      | WaitForNotificationWith\w+ | \w*LockWhenWith\w+ | SleepFor
      | sleep_(?:for|until) | (?:wait|try_lock|try_acquire)_(?:for|until)
      | absl::Now | GetCurrentTimeNanos | gettimeofday
      | (?:system|steady|high_resolution)_clock
      | CLOCK_REALTIME | SO_(?:RCV|SND)TIMEO | timerfd_\w+ | sigtimedwait
      | \w+_(?:timedwait|clockwait|timedlock|clocklock) | SYS_futex
    )\b
  | (?<![\w.>]) (?: ::sleep | usleep | (?:clock_)?nanosleep | p?poll | p?select
      | epoll_p?wait\d? )(?=\s*\()
  | (?<! [cC]lock-> ) (?<! clock_-> ) (?<! Clock\(\)-> ) \bAwaitWithDeadline\b
    """, re.VERBOSE)

# What some files may do nevertheless.
ALLOWED_WAITS = {
    # A deadline for other processes.
    "workqueue/controller/async_reconcile.h": "absl::Now",
    "workqueue/controller/reconcile.h": "absl::Now",
    # The time of all processes of a machine.
    "workqueue/shared/sqlite/internal/sqlite_file.cc": "CLOCK_REALTIME",
    # Waits for other processes, which no Clock knows. Its timeouts are relative.
    "workqueue/shared/sqlite/internal/wake_file.cc": "SYS_futex",
    # Wait for a socket. Their timeouts are relative.
    "workqueue/redis/redis_connection.cc": "poll",
    "workqueue/shared/postgres/internal/postgres_connection.cc": "poll",
    "workqueue/shared/postgres/internal/postgres_database.cc": "poll",
}

# What Abseil's releases name in different ways.
LOCKS = re.compile(
    r"(?:\.|->)((?:Reader|Writer)?(?:Try)?(?:Lock|Unlock)"
    r"|(?:try_)?(?:un)?lock(?:_shared)?)\(\)"
    r"|\b(absl::(?:Reader|Writer)?MutexLock|std::\w+_(?:lock|guard))\b")
MUTEX_LOCK = "workqueue/base/mutex_lock.h"
SIMULATION = "workqueue/simulation"  # has a mutex of its own


def is_in(path, *folders):
    return path.startswith(tuple(folder + "/" for folder in folders))


def part_of(path):
    """Returns the part in LAYERS that contains `path`, or None."""
    return max((part for part in LAYER_OF_PART
                if is_in(path, part) or path.rpartition(".")[0] == part),
               key=len, default=None)


def include_error(path, include):
    """Returns why `path` must not include `include`, or None if it may."""
    part = part_of(include)
    if part is None:
        return None
    if is_in(path, *USERS) and is_in(include, "workqueue/base"):
        return "is for the library alone"

    owner, internal, _ = include.partition("/internal/")
    if internal:
        allowed = [owner, "test"]
        if owner == "workqueue":
            allowed.append("bench")
        if is_in(path, *USERS) or not is_in(path, *allowed):
            return "is internal to " + owner

    own = part_of(path)
    if LAYER_OF_PART[part] > LAYER_OF_PART[own]:
        return "is in a higher layer"
    if (part != own and LAYER_OF_PART[part] == LAYER_OF_PART[own]
            and LAYER_OF_PART[own] < len(LAYERS) - 1):
        return "is in the same layer"
    return None


def guard_of(path):
    """Returns the header guard that `path` must have."""
    if path.startswith(MONOREPO):
        path = path[len(MONOREPO):]
    elif not is_in(path, "workqueue"):
        path = "workqueue/" + path
    return re.sub(r"\W", "_", path).upper() + "_"


def wait_errors(path, line):
    """Returns the waits in `line` that are not allowed."""
    if not is_in(path, *WAITING_FOLDERS) or is_in(path, *CLOCKS):
        return []
    code = re.sub(r'"[^"]*"|//.*', "", line)
    return [name for name in WAITS.findall(code)
            if name != ALLOWED_WAITS.get(path)]


def lock_errors(path, line):
    """Returns the locks in `line` that depend on the release of Abseil."""
    if (not is_in(path, *WAITING_FOLDERS) or path == MUTEX_LOCK
            or is_in(path, SIMULATION)):
        return []
    code = line.partition("//")[0]
    # A std::weak_ptr has a lock(), too.
    if "std::shared_ptr<" in code:
        return []
    # A Parker has a std::condition_variable.
    return [call or name for call, name in LOCKS.findall(code)
            if call or not is_in(path, *CLOCKS)]


def has_guard(text, guard):
    return re.search(r"^#ifndef %s\n#define %s\n(.*\n)*#endif  // %s\n\Z"
                     % (guard, guard, guard), text, re.MULTILINE) is not None


def check(root):
    """Returns the errors of the repository in the folder `root`."""
    errors = []
    folders = {part.split("/")[0] for part in LAYER_OF_PART}
    for file in sorted(file for folder in folders
                       for file in (root / folder).rglob("*")
                       if file.suffix in (".cc", ".h")):
        path = file.relative_to(root).as_posix()
        text = file.read_text()
        for number, line in enumerate(text.splitlines(), start=1):
            match = INCLUDE.match(line)
            error = match and include_error(path, match[1])
            if error:
                errors.append("%s:%d: %s: %s" % (path, number, match[1], error))
            for name in wait_errors(path, line):
                errors.append("%s:%d: %s: only a Clock or a Parker waits"
                              % (path, number, name))
            for name in lock_errors(path, line):
                errors.append("%s:%d: %s: lock with mutex_lock.h"
                              % (path, number, name))
        # A header of bench/plain replaces another header, and has its guard.
        if is_in(path, "bench/plain") or file.suffix != ".h":
            continue
        if not has_guard(text, guard_of(path)):
            errors.append("%s: the header guard is not %s"
                          % (path, guard_of(path)))
    return errors


def main(arguments):
    if len(arguments) > 1 or arguments[:1] in (["-h"], ["--help"]):
        sys.exit(__doc__)
    root = (pathlib.Path(arguments[0]) if arguments
            else pathlib.Path(__file__).resolve().parent.parent)
    errors = check(root)
    if errors:
        sys.exit("\n".join(errors))


if __name__ == "__main__":
    main(sys.argv[1:])
