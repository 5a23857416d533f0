"""The memory of the machine, or of the containers around this process, and the memory that this process uses.

In:  the files in which Linux reports memory and its limits.
Out: a number of bytes.

A process belongs to a control group (cgroup), which may be nested in others. Each can have a limit; the smallest limit
applies. In version 1 of cgroups, memory has a tree of its own. A container may see only the part of the tree from its
own group downwards.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

LIMITS = {"cgroup2": "memory.max", "cgroup": "memory.limit_in_bytes"}
"""For each kind of cgroup file system, the file with a group's limit."""

STATM = Path("/proc/self/statm")
"""The file whose second number is the resident memory of this process, in pages; the third, how many are of files."""


def machine_memory(root: Path = Path("/")) -> int:
    """The bytes of memory of this machine, or of the smallest container around this process."""
    whole = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return min([whole, *_limits(root)])


def _limits(root: Path) -> Iterator[int]:
    """The memory limit, in bytes, of each group that contains this process and has a limit."""
    groups = dict(_groups(root))
    for kind, top, mounted in _mounts(root):
        if kind not in groups:
            continue
        group = PurePosixPath(groups[kind])
        inner = group.relative_to(top) if group.is_relative_to(top) else PurePosixPath()
        folder = root / mounted.lstrip("/")
        for each in (inner, *inner.parents):
            text = _read(folder / each / LIMITS[kind]).strip()
            if text.isdecimal():
                yield int(text)


def _groups(root: Path) -> Iterator[tuple[str, str]]:
    """For each cgroup hierarchy its kind and the group of this process in it, from lines such as `4:memory:/a/b`."""
    for line in _read(root / "proc/self/cgroup").splitlines():
        number, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if number == "0" and not controllers:
            yield "cgroup2", path
        elif "memory" in controllers.split(","):
            yield "cgroup", path


def _mounts(root: Path) -> Iterator[tuple[str, str, str]]:
    """For each mounted cgroup hierarchy its kind, the topmost group and the folder."""
    for line in _read(root / "proc/self/mountinfo").splitlines():
        mount, _, system = line.partition(" - ")
        fields, (kind, *more) = mount.split(" "), system.split(" ") or [""]
        is_of_memory = kind == "cgroup2" or (kind == "cgroup" and more and "memory" in more[-1].split(","))
        if is_of_memory and len(fields) > 4:
            yield kind, _plain(fields[3]), _plain(fields[4])


def _plain(path: str) -> str:
    """A path without escapes: a space is written as `\\040`."""
    for sign in (" ", "\t", "\n", "\\"):
        path = path.replace(f"\\{ord(sign):03o}", sign)
    return path


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def whole_resident() -> int:
    """How many bytes of memory this process uses, pages of files included; 0 if the system does not report it."""
    try:
        return int(STATM.read_bytes().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0


def resident() -> int:
    """How many bytes of memory this process uses; 0 if the system does not report it.

    Pages of files do not count. Those of a library are read when it is first used, and can be dropped at any time.
    """
    try:
        pages = STATM.read_bytes().split()
        return (int(pages[1]) - int(pages[2])) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0
