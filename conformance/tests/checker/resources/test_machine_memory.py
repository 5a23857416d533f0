"""The memory limit of a container, for both versions of control groups, at any nesting depth."""

from __future__ import annotations

from pathlib import Path

import pytest

from isrcheck.checker.resources.limits import machine_memory

M = 1 << 20
V2 = "29 23 0:26 {top} {mounted} rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n"
V1 = "34 25 0:29 {top} {mounted} rw,nosuid - cgroup cgroup rw,memory\n"
CPU = "35 25 0:30 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n"


def machine(root: Path, groups: str, mounts: str, limits: dict[str, str]) -> Path:
    (root / "proc/self").mkdir(parents=True)
    (root / "proc/self/cgroup").write_text(groups)
    (root / "proc/self/mountinfo").write_text(mounts)
    for name, limit in limits.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(f"{limit}\n")
    return root


CASES = {
    "own group": (
        ("0::/a/b\n", V2.format(top="/", mounted="/sys/fs/cgroup")),
        {"sys/fs/cgroup/a/b/memory.max": f"{64 * M}", "sys/fs/cgroup/a/memory.max": "max"},
        64,
    ),
    "group around it": (
        ("0::/a/b/c\n", V2.format(top="/", mounted="/sys/fs/cgroup")),
        {"sys/fs/cgroup/a/b/c/memory.max": f"{64 * M}", "sys/fs/cgroup/a/memory.max": f"{32 * M}"},
        32,
    ),
    "inside a container": (
        ("0::/\n", V2.format(top="/", mounted="/sys/fs/cgroup")),
        {"sys/fs/cgroup/memory.max": f"{48 * M}"},
        48,
    ),
    "mounted from the container's group on": (
        ("0::/docker/x/inner\n", V2.format(top="/docker/x", mounted="/sys/fs/cgroup")),
        {"sys/fs/cgroup/memory.max": f"{48 * M}", "sys/fs/cgroup/inner/memory.max": f"{40 * M}"},
        40,
    ),
    "outside of what is mounted": (
        ("0::/elsewhere\n", V2.format(top="/docker/x", mounted="/sys/fs/cgroup")),
        {"sys/fs/cgroup/memory.max": f"{48 * M}"},
        48,
    ),
    "the older kind": (
        ("5:cpu,cpuacct:/a\n4:memory:/a/b\n", CPU + V1.format(top="/", mounted="/sys/fs/cgroup/memory")),
        {
            "sys/fs/cgroup/memory/a/b/memory.limit_in_bytes": "9223372036854771712",
            "sys/fs/cgroup/memory/a/memory.limit_in_bytes": f"{32 * M}",
            "sys/fs/cgroup/memory/memory.limit_in_bytes": f"{96 * M}",
        },
        32,
    ),
    "both kinds": (
        (
            "4:memory:/a\n0::/a\n",
            V1.format(top="/", mounted="/sys/fs/cgroup/memory") + V2.format(top="/", mounted="/sys/fs/cgroup/unified"),
        ),
        {"sys/fs/cgroup/memory/a/memory.limit_in_bytes": f"{24 * M}", "sys/fs/cgroup/unified/a/memory.max": "max"},
        24,
    ),
    "a space in the path": (
        ("0::/a b\n", V2.format(top="/", mounted="/sys/fs/c\\040group")),
        {"sys/fs/c group/a b/memory.max": f"{64 * M}"},
        64,
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_the_smallest_limit_applies(tmp_path: Path, case: str) -> None:
    told, limits, megabytes = CASES[case]
    assert machine_memory(machine(tmp_path, *told, limits)) == megabytes * M


@pytest.mark.parametrize(
    ("groups", "mounts"), [("", ""), ("0::/a\n", ""), ("nonsense", "nonsense - \n - \n"), ("0::/a\n", "1 - cgroup2\n")]
)
def test_without_a_limit_the_machines_memory_applies(tmp_path: Path, groups: str, mounts: str) -> None:
    assert machine_memory(machine(tmp_path, groups, mounts, {})) == machine_memory(tmp_path / "empty") > 256 * M
