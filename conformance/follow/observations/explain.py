"""Decides whether the model explains a recording: finds a shortest path that does, or the line that no path passes.

In:  the path of a recording, the protocol, and configuration entries that the recording does not determine.
Out: an `Outcome`: explained, rejected, undecided, or nothing to follow; each with its exit code.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from isrcheck.checker.compile.kernel import kernel_of
from isrcheck.checker.resources.budget import Budget
from isrcheck.checker.resources.limits import Limits
from isrcheck.conformance.follow.observations.claims import Claim
from isrcheck.conformance.follow.observations.lines import Fault, FaultKind, Line
from isrcheck.conformance.follow.observations.promises import Failure, failures_of
from isrcheck.conformance.follow.observations.recording import Objects, Recording, read_recording
from isrcheck.conformance.follow.observations.script import (
    SEND_AGAIN,
    Script,
    alters_partitions,
    changes_required,
    deaths,
    elections_required,
    has_kraft,
)
from isrcheck.conformance.follow.observations.search import ObservationSearch, Progress
from isrcheck.models import registry
from isrcheck.models.language.model import Instance, spell
from isrcheck.models.messages.errors import UsageError
from isrcheck.models.messages.printable import escaped
from isrcheck.traces.format.certify import from_steps
from isrcheck.traces.format.trace import VIOLATED, Trace

FROM_THE_RECORDING = (
    *("replicas", "records", "log_size", "elections", "crashes", "bounces", "preferred_elections"),
    *("power_losses", "disk_losses", "delete_records", "transactions"),
    *("partition_changes", "fencings", "shutdowns", "reassignments", "late_fetches"),
    *("start", "start_isr", "common_records", "brokers_down"),
)
"""The configuration entries that only the recording determines; it may also determine `acks`."""

NEWEST = "2.4"
"""The newest generation with which recordings are followed."""

MOST_EXAMPLES = 5


@dataclass(frozen=True)
class Effort:
    """The size and cost of a search; `states[i]` counts the states before line i, its last entry those at the end."""

    states: tuple[int, ...]
    generated: int
    seconds: float
    bytes_used: int


@dataclass(frozen=True)
class NothingToFollow:
    """The recording says nothing about any state."""

    path: Path
    exit_code: int = 21


@dataclass(frozen=True)
class Explained:
    """The shortest path that explains the recording; `passed[i]` is the number of lines passed after its state i.

    `failures` are the properties that the path violates: a behaviour of the model can violate properties.
    """

    recording: Recording
    trace: Trace
    passed: tuple[int, ...]
    effort: Effort
    failures: tuple[Failure, ...] = ()

    @property
    def exit_code(self) -> int:
        """12 if a property is violated, as for a search that finds the violation."""
        return 12 if any(failure.verdict == VIOLATED for failure in self.failures) else 0


@dataclass(frozen=True)
class UnmetClaim:
    """A claim of the rejected line, in words; the number of states in which it is true (`true_of`); and, for the other
    states, the most frequent actual values with their numbers of states (`instead`).
    """

    claim: str
    true_of: int
    instead: tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class Rejected:
    """All paths were explored, and none passes this line. `possible` is the number of states reached before it."""

    recording: Recording
    instance: Instance
    line: Line
    possible: int
    unmet: tuple[UnmetClaim, ...]
    effort: Effort
    exit_code: int = 20


@dataclass(frozen=True)
class Undecided:
    """A limit ended the search, or the user did (`why` is then interrupt); all lines before `line` are explained."""

    recording: Recording
    instance: Instance
    line: Line
    why: str
    effort: Effort

    @property
    def exit_code(self) -> int:
        """3, or 130 if the user ended the search."""
        return 130 if self.why == "interrupt" else 3


Outcome = Explained | Rejected | Undecided | NothingToFollow


def follow_recording(
    path: Path,
    protocol: str,
    values: Mapping[str, int] | None = None,
    *,
    swaps: Mapping[str, str] | None = None,
    memory: int = 4 << 30,
    seconds: float | None = None,
    report: Callable[[Progress], None] = lambda progress: None,
    announce: Callable[[str], None] = lambda message: None,
    content: bytes | None = None,
    objects: Objects | None = None,
) -> Outcome:
    """Decide whether a generation of the model explains a recording, within limits of memory (in bytes) and time.

    `values` are configuration entries and switches, parsed (models/language/model.py, `parse`); `unclean_elections`
    above 0 allows any number of them. Without `retries`, producers are idempotent and may send records again any number
    of times; with `retries`, at most that many times, and a record may be in the log several times. If `content` or
    `objects` are given, the recording is not read from the disk. Raises UsageError for bad input.
    """
    budget = Budget(seconds, memory)
    recording = read_recording(path, content, objects)
    if recording.is_empty:
        return NothingToFollow(path)
    given = dict(values or {})
    is_idempotent = "retries" not in given
    try:
        instance = instance_for(recording, protocol, given, swaps or {}, 1 if is_idempotent else None)
        kernel = kernel_of(instance, announce)
    except UsageError as error:
        raise UsageError(f"{path}: {error}") from None
    limits = budget.limits(Limits(None, memory))
    search = ObservationSearch(Script(recording, instance), instance, kernel, is_idempotent, limits, report)
    search.run()
    effort = Effort(tuple(search.counts()), search.generated, search.seconds, search.store.bytes_used)
    if search.last is not None:
        found = search.path()
        command = f"conform follow {escaped(shlex.quote(str(path)))} --protocol {protocol}{_given(instance, given)}"
        if is_idempotent:
            again = sum(instance.step(number).action == SEND_AGAIN for number in found.steps)
            instance = instance_for(recording, protocol, given, swaps or {}, again)
        trace = from_steps(instance, found.initial, found.steps, None, command)
        return Explained(recording, trace, found.passed, effort, tuple(failures_of(trace)))
    line = recording.lines[search.furthest]
    if search.stopped is not None:
        return Undecided(recording, instance, line, search.stopped, effort)
    states, monitors = search.waiting()
    unmet = tuple(_unmet_claim(claim, states, monitors) for claim in search.claims.of_line[search.furthest])
    return Rejected(recording, instance, line, len(states), unmet, effort)


def instance_for(
    recording: Recording,
    protocol: str,
    values: Mapping[str, int],
    swaps: Mapping[str, str],
    sent_again: int | None = None,
) -> Instance:
    """The instance of the model with the bounds that a recording needs. Raises UsageError.

    A log holds each record once, and up to `retries` copies if the producer is not idempotent. For an idempotent
    producer, `sent_again` is the number of times that it sends a record again.
    """
    for name in values:
        if name in FROM_THE_RECORDING or (name == "acks" and recording.acks is not None):
            raise UsageError(f"{name} cannot be set, because the recording determines it; leave it out")
    model = registry.load("kafka")[0]
    elections = elections_required(recording)
    records = max(1, len(recording.values))
    least, unclean = recording.min_insync_replicas, recording.unclean_election
    for name, told, given in (
        ("min_insync_replicas", least, values.get("min_insync_replicas")),
        ("unclean_elections", unclean, values.get("unclean_elections")),
    ):
        if told is not None and given is not None and (bool(given) if isinstance(told, bool) else given) != told:
            raise UsageError(f"{name}={given} contradicts the header of the recording; leave it out")
    is_unclean = unclean if unclean is not None else values.get("unclean_elections", 0) > 0
    return model.instance(
        protocol,
        {
            **({} if least is None else {"min_insync_replicas": least}),
            **values,
            "replicas": len(recording.brokers),
            "records": records,
            "log_size": records + (values.get("retries", 0) if sent_again is None else 0),
            "elections": elections,
            "crashes": deaths(recording),
            "bounces": 0,
            "preferred_elections": elections,
            **_newer_bounds(recording, model.instance(protocol)),
            "unclean_elections": max(1, elections) if is_unclean else 0,
            "retries": values.get("retries", 0) if sent_again is None else sent_again,
            **({} if recording.acks is None else {"acks": int(recording.acks)}),
            "start": 1,
        },
        swaps,
    )


def _newer_bounds(recording: Recording, instance: Instance) -> dict[str, int]:
    """The bounds of what came with 2.8 and with KRaft. A living broker's session expires only while it is frozen."""
    if not alters_partitions(instance):
        return {}
    found = {"partition_changes": changes_required(recording)}
    if has_kraft(instance):
        faults = {line.what for _, line in recording.claims(Fault) if isinstance(line, Fault)}
        found |= {"fencings": int(FaultKind.FREEZE in faults), "shutdowns": int(FaultKind.STOP in faults)}
    return found


def _given(instance: Instance, values: Mapping[str, int]) -> str:
    """The entries that the user gave, as options of the command line."""
    entries = instance.model.entries
    words = [
        f"--{'switch' if name.isupper() else 'set'} {name}={spell(entries[name], value)}"
        for name, value in values.items()
    ]
    words += [f"--swap {action}={protocol}" for action, protocol in instance.swaps.items()]
    return "".join(f" {word}" for word in words)


def _unmet_claim(claim: Claim, states: np.ndarray, monitors: np.ndarray) -> UnmetClaim:
    truths = claim.is_true(states, monitors)
    columns = claim.columns(states[~truths], monitors[~truths])
    found: list[tuple[str, int]] = []
    if columns and len(columns[0]):
        rows, counts = np.unique(np.column_stack(columns), axis=0, return_counts=True)
        told: dict[str, int] = {}
        for row, count in zip(rows.tolist(), counts.tolist(), strict=True):
            text = claim.told(row)
            told[text] = told.get(text, 0) + count
        found = sorted(told.items(), key=lambda pair: (-pair[1], pair[0]))[:MOST_EXAMPLES]
    elif not columns:
        found = [(claim.told(()), len(states))]
    return UnmetClaim(claim.says, int(truths.sum()), tuple(found))
