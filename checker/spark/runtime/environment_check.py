"""Checks that every executor runs the same code as the driver; otherwise the result would be worthless.

In:  a session, or its SparkContext.
Out: the hosts that were checked; or a UsageError that names a host and the difference.
"""

from __future__ import annotations

import platform
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib import metadata
from typing import TYPE_CHECKING

from isrcheck.checker.resources.engine_digest import hashed_modules
from isrcheck.checker.spark.runtime.session import Session
from isrcheck.checker.spark.runtime.task_statistics import run_job
from isrcheck.models.messages import UsageError

if TYPE_CHECKING:
    from pyspark import SparkContext

SOURCES = ("isrcheck.models", "isrcheck.traces", "isrcheck.checker", "isrcheck.conformance.follow")
PACKAGES = ("numpy", "llvmlite", "pyarrow")
TASKS_PER_CORE = 2
SECONDS_OF_A_TASK = 0.1
"""How long each check waits, so that no executor runs all checks before the others start."""

CURE = "install the same version there, or give the executors a packaged environment"


def require_same(session: Session, look: Callable[[], object] = lambda: None) -> None:
    """Raise UsageError if another machine runs different code from the driver; call `look` while the check runs."""
    if not session.is_local:
        run_job(session, lambda: same_everywhere(session.context), look)


def same_everywhere(context: SparkContext) -> list[str]:
    """Compare the code on the executors with the driver's, and return their hosts. Raises UsageError."""

    def tell(_: Iterable[int]) -> Iterator[tuple[str, Mapping[str, str]]]:
        # A nested function is sent by value; a function of a module would fail where isrcheck is missing.
        import socket
        import time

        try:
            from isrcheck.checker.spark.runtime.environment_check import facts

            found = facts()
        except ImportError as error:
            found = {"isrcheck": f"none ({error})"}
        time.sleep(SECONDS_OF_A_TASK)
        yield socket.gethostname(), found

    tasks = context.defaultParallelism * TASKS_PER_CORE
    told = context.parallelize(range(tasks), tasks).mapPartitions(tell).collect()
    here = facts()
    for host, there in sorted(told, key=lambda one: one[0]):
        line = difference(host, here, there)
        if line is not None:
            raise UsageError(line)
    return sorted({host for host, _ in told})


def facts() -> dict[str, str]:
    """The versions that must be the same on all machines, by name, as messages show them."""
    return {
        "isrcheck": f"of source {source_digest()[:12]}",  # more exact than a version
        "Python": f"{sys.version_info.major}.{sys.version_info.minor}",
        **{name: _major(_version(name)) for name in PACKAGES},
        "processor": f"{platform.machine()} ({sys.byteorder}-endian)",
    }


def difference(host: str, here: Mapping[str, str], there: Mapping[str, str]) -> str | None:
    """The message about the first difference between a host and the driver; None if there is no difference."""
    for name, ours in here.items():
        theirs = there.get(name, "none")
        if theirs != ours:
            cure = "exclude this host" if name == "processor" else CURE
            return f"an executor on {host} has {name} {theirs}, and the driver has {name} {ours}: {cure}"
    return None


def source_digest() -> str:
    """The digest of all modules in SOURCES, whether they lie in a folder or in an archive."""
    return hashed_modules(dict.fromkeys(SOURCES, True))


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "none"


def _major(version: str) -> str:
    """The part of a version that decides about compatibility: 2 for 2.3.1, and 0.68 for 0.68.0."""
    first, _, rest = version.partition(".")
    return version if version == "none" else f"0.{rest.partition('.')[0]}" if first == "0" else first
