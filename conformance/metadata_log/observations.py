"""Writes the states of a partition as observations, which `conform follow` reads alone or beside a recording."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from isrcheck.conformance.metadata_log.history import History
from isrcheck.conformance.metadata_log.states import Change
from isrcheck.models.messages import UsageError

SINCE_START = re.compile(r"([0-9]+\.[0-9]+) s")
"""A time that counts from the start of a recording."""


def observations_of(history: History) -> Iterator[dict[str, Any]]:
    """The header and the `metadata` lines of the only partition of a history. States whose leader or ISR is not known
    are left out, and so are deletions. Raises UsageError if there is not exactly one partition."""
    if len(history.changes) != 1:
        raise UsageError(f"--out needs one partition, and there are {len(history.changes)}; name it with --partition")
    (changes,) = history.changes.values()
    known = [one for one in changes if None not in (one.state.leader, one.state.isr) and one.what != "topic deleted"]
    yield _header(known)
    for number, change in enumerate(known):
        state = change.state
        since = SINCE_START.fullmatch(change.time)
        at = {"t": float(since[1])} if since else {"label": change.time}
        epochs = {"leader_epoch": state.leader_epoch, "partition_epoch": state.partition_epoch}
        told = {name: value for name, value in epochs.items() if value is not None}
        yield {"n": number, **at, "kind": "metadata", "leader": state.leader, "isr": list(state.isr or ()), **told}


def _header(known: Sequence[Change]) -> dict[str, Any]:
    """The header: the replicas at the beginning, and the partition epoch from which on partition epochs are counted."""
    keys: dict[str, Any] = {"kind": "header"}
    if known and known[0].state.replicas is not None:
        keys["replicas"] = list(known[0].state.replicas)
    if known and known[0].state.partition_epoch:
        keys["first_partition_epoch"] = known[0].state.partition_epoch
    return keys


def write(history: History, path: Path) -> int:
    """Write the observations to a new file; return how many states it has. Raises UsageError if the file exists."""
    lines = [json.dumps(line, separators=(",", ":")) + "\n" for line in observations_of(history)]
    write_new(path, "".join(lines), "-o FILE.ndjson")
    return len(lines) - 1


def write_new(path: Path, text: str, option: str) -> None:
    """Write a new file, whole or not at all. Raises UsageError if the file of this `option` exists."""
    if path.exists() or path.is_symlink():
        raise UsageError(f"{path}: it exists already and is not overwritten; give another {option}")
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        draft.write_text(text, encoding="utf-8")
        draft.rename(path)
    finally:
        draft.unlink(missing_ok=True)
