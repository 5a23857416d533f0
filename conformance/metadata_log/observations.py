"""Writes the states of a partition as observations, which `conform follow` reads alone or beside a recording."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from isrcheck.conformance.metadata_log.history import History
from isrcheck.conformance.metadata_log.states import Brokers, Change, PartitionState
from isrcheck.models.messages import UsageError

SINCE_START = re.compile(r"([0-9]+\.[0-9]+) s")
"""A time that counts from the start of a recording."""


def observations_of(history: History) -> Iterator[dict[str, Any]]:
    """The header and the `metadata` lines of the only partition of a history, each after the request to reassign the
    partition that it shows. States whose leader or ISR is not known are left out, and so are deletions. Raises
    UsageError if there is not exactly one partition."""
    if len(history.changes) != 1:
        names = sorted({f"{history.name_of(topic_id)}-{partition}" for topic_id, partition in history.changes})
        ids = " or ".join(f"--partition {names[0]}@{topic_id}" for topic_id, _ in history.changes)
        cure = f"topics of one name, one after the other: give {ids}" if len(names) == 1 else "name it with --partition"
        raise UsageError(f"--out needs one partition, and there are {len(history.changes)}; {cure}")
    (changes,) = history.changes.values()
    known = [one for one in changes if None not in (one.state.leader, one.state.isr) and one.what != "topic deleted"]
    yield _header(known)
    requests = [list(_requests(before.state, after.state)) for before, after in pairwise(known)]
    is_reassigned = any(requests)
    number = 0
    for change, wanted in zip(known, [[], *requests], strict=False):
        state = change.state
        since = SINCE_START.fullmatch(change.time)
        at = {"t": float(since[1])} if since else {"label": change.time}
        values = {"leader_epoch": state.leader_epoch, "partition_epoch": state.partition_epoch}
        told: dict[str, Any] = {name: value for name, value in values.items() if value is not None}
        if is_reassigned and state.replicas is not None:
            told["replicas"] = list(state.replicas)
        line = {"kind": "metadata", "leader": state.leader, "isr": list(state.isr or ()), **told}
        for keys in (*wanted, line):
            yield {"n": number, **at, **keys}
            number += 1


def _requests(before: PartitionState, after: PartitionState) -> Iterator[dict[str, Any]]:
    """The request that an operator must have sent between two states: for other replicas, to cancel a reassignment, or
    for another order of the replicas, which the model does not have."""
    target, former = _target(after), _target(before)
    if target is None or former is None or target == former:
        return
    if set(target) == set(former):
        yield {"kind": "note", "what": "PartitionChangeRecord", "unmodelled": "a change of the order of the replicas"}
        return
    original = tuple(broker for broker in before.replicas or () if broker not in (before.adding or ()))
    is_cancelled = set(target) == set(original) and before.is_reassigned and not after.is_reassigned
    yield {"kind": "fault", "what": "reassign", "replicas": None if is_cancelled else list(target), "unseen": True}


def _target(state: PartitionState) -> Brokers | None:
    """The replicas that were requested last; None if they are not known. Kafka: PartitionReassignmentReplicas."""
    if None in (state.replicas, state.adding, state.removing):
        return None
    return tuple(broker for broker in state.replicas or () if broker not in (state.removing or ()))


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
    return sum('"kind":"metadata"' in line for line in lines)


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
