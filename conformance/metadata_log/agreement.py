"""Compares the lines of text logs with the history, and adds to it the states that only the lines tell.

A line and a change belong together if they are about the same topic id and partition epoch. A line without a topic id
is about the only topic of its name; if several topics had the name, one after the other, the line is not used.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import pairwise

from isrcheck.conformance.metadata_log.history import History, Key
from isrcheck.conformance.metadata_log.log_lines import BEFORE, Claim, TextLogs
from isrcheck.conformance.metadata_log.states import NAMES, Change, PartitionState


def add_claims(history: History, claims: Iterable[Claim], tally: TextLogs) -> None:
    """Add the claims of text logs to a history; what contradicts it is added to its contradictions."""
    known = {
        (key, change.state.partition_epoch): change
        for key, changes in history.changes.items()
        for change in changes
        if change.what != "topic deleted"
    }
    added: set[Key] = set()
    following: set[tuple[Key, int | None]] = set()
    for claim in claims:
        key = _key_of(history, claim)
        epoch = claim.state.partition_epoch
        if key is None or epoch is None:
            tally.unplaced.append(claim.where)
            continue
        change = known.get((key, epoch))
        if claim.follows:
            following.add((key, epoch))
        if change is None:
            change = Change(None, claim.time, claim.where, "logged", claim.state)
            known[key, epoch] = change
            history.changes.setdefault(key, []).append(change)
            added.add(key)
            continue
        _compare(history, key, change, claim)
    for key in added:
        history.changes[key].sort(key=_place_in_history)
        _carry_on(key, history.changes[key], following)


def _key_of(history: History, claim: Claim) -> Key | None:
    """The partition that a line is about; None if the line does not tell it."""
    if claim.topic_id is not None:
        history.topics.setdefault(claim.topic_id, claim.topic)
        return claim.topic_id, claim.partition
    ids = [topic_id for topic_id, name in history.topics.items() if name == claim.topic]
    if not ids:
        history.topics[claim.topic] = claim.topic  # no file tells the topic id: the name stands for it
        ids = [claim.topic]
    return (ids[0], claim.partition) if len(ids) == 1 else None


def _compare(history: History, key: Key, change: Change, claim: Claim) -> None:
    differences = list(change.state.differences(claim.state))
    for name, here, there in differences:
        history.contradictions.append(
            f"{claim.topic}-{claim.partition}, partition epoch {claim.state.partition_epoch}: {name} is {here} by"
            f" {place_of(change)}, {there} by {claim.where}"
        )
    if not differences:
        change.state = _filled(change.state, claim.state)
        if change.time.startswith(BEFORE) and not claim.time.startswith(BEFORE):
            change.time = claim.time
        change.seen_in = [*(change.seen_in or ()), claim.where]


def _place_in_history(change: Change) -> tuple[int, bool]:
    """The partition epoch of a change; the deletion of its topic comes last."""
    epoch = change.state.partition_epoch
    return -1 if epoch is None else epoch, change.what == "topic deleted"


def place_of(change: Change) -> str:
    """Where a change is recorded, for people."""
    return change.source if change.offset is None else f"the record at offset {change.offset}"


def _filled(state: PartitionState, other: PartitionState) -> PartitionState:
    """A state with what the other one knows in addition."""
    missing = {name: getattr(other, name) for name in NAMES if getattr(state, name) is None}
    return replace(state, **missing)


def _carry_on(key: Key, changes: list[Change], following: set[tuple[Key, int | None]]) -> None:
    """Complete the states around the lines that list all that a change alters, in both directions of time."""
    neighbours = [
        (before, change)
        for before, change in pairwise(changes)
        if change.state.partition_epoch is not None and before.state.partition_epoch == change.state.partition_epoch - 1
    ]
    listed = [pair for pair in neighbours if (key, pair[1].state.partition_epoch) in following]
    for before, change in listed:
        change.state = _filled(change.state, before.state)
    for before, change in reversed(listed):
        before.state = _filled(before.state, change.state)
    for before, change in neighbours:
        change.before = change.before or before.state
