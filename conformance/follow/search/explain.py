"""Decides whether the model explains a recording: finds a path that passes all lines, or the line that no path passes.

A path that violates a promise is reported only if no path was found that keeps all promises: a second search looks for
such a path, and continues from no state that violates a promise. A path that the executable cluster, which has clocks,
cannot take is reported only if a further search finds no other path.

If a limit ends a search, a hint says which kind of line would help most. A line about a variable in which the states
differ leaves only the states in which the line is true, so the search need not continue from the other states. But each
additional line also adds some states to the search.
"""

from __future__ import annotations

import shlex
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path

import numpy as np

from isrcheck.checker.compile.kernel import kernel_of
from isrcheck.checker.compile.machine_code import OutOfTimeError, compiling_within
from isrcheck.checker.resources.limits import Budget, Limits, Spent
from isrcheck.commands.exit_codes import DIVERGED, DONE, INTERRUPTED, NOTHING, UNDECIDED
from isrcheck.commands.exit_codes import VIOLATED as VIOLATION
from isrcheck.conformance.follow.recorded.lines import Line, Remark
from isrcheck.conformance.follow.recorded.recording import (
    MOST_REQUESTS,
    Objects,
    Recording,
    folded,
    read_recording,
    unknown_requests,
    ways,
)
from isrcheck.conformance.follow.recorded.states import Claim, Variable, alters_partitions, has_kraft
from isrcheck.conformance.follow.search.promises import Failure, failures_of
from isrcheck.conformance.follow.search.rules import Dropped
from isrcheck.conformance.follow.search.script import SEND_AGAIN, Script
from isrcheck.conformance.follow.search.search import Manner, ObservationSearch, Report
from isrcheck.conformance.follow.search.size import instance_for, size_of
from isrcheck.models import registry
from isrcheck.models.language.model import Instance, spell
from isrcheck.models.messages import UsageError, escaped
from isrcheck.traces.format.certify import from_steps
from isrcheck.traces.format.trace import VIOLATED, Trace

MOST_STATES = 100_000
"""The number of inspected states; if there are more, a sample at equal distances is taken."""

Unknown = tuple[Variable, str, str]
"""A fact that no line shows: the variable, its meaning, and the kind of line that shows it."""


def hint(search: ObservationSearch) -> str:
    """A hint to the user that names the kind of line that would make the search smallest; empty if none would help."""
    states, monitors = search.nodes.all()[:, : search.nodes.words], search.nodes.monitors()
    passed = search.monitor.passed.read(monitors)
    stage = int(np.argmax(np.bincount(passed, minlength=search.lines + 1)[: search.lines]))
    rows = np.flatnonzero(passed == stage)
    chosen = states[rows[:: 1 + len(rows) // MOST_STATES]]
    columns = [(search.cells.column(chosen, *variable), fact, line) for variable, fact, line in _unknown(search)]
    column, fact, line = max(columns, key=lambda unknown: _entropy(unknown[0]))
    values = len(np.unique(column))
    if values == 1:
        return ""
    spot = search.script.recording.lines[stage].spot
    return (
        f"{len(rows):,} of {len(passed):,} states wait before {spot}."
        f" They differ most in {fact} ({values:,} values); {line} before it would tell them apart."
    )


def _entropy(column: np.ndarray) -> float:
    """How many bits of information a line about a variable would give; `column` has its value in each state."""
    _, counts = np.unique(column, return_counts=True)
    shares = counts / counts.sum()
    return float(-(shares * np.log2(shares)).sum())


def _unknown(search: ObservationSearch) -> Iterator[Unknown]:
    yield ("next_record",), "how many records are sent", "a `send` line for each record"
    if alters_partitions(search.instance):
        line = "a `metadata` line with a partition epoch"
        yield ("controller_partition_epoch",), "how often leader and ISR have changed", line
    else:
        yield ("controller_epoch",), "how often the leader has changed", "a `metadata` line with a leader epoch"
    for replica, broker in enumerate(search.script.recording.brokers):
        line = f"a `log_end` or `disk` line of broker {broker}"
        yield ("log_end_offset", replica), f"the log end offset of broker {broker}", line
        line = f"a `high_watermark` line of broker {broker}"
        yield ("high_watermark", replica), f"the high watermark of broker {broker}", line


MOST_EXAMPLES = 5

LEFT_OUT = (
    "a reassignment while the leader is not active, or after which no active member of the ISR stays, is not modelled"
)

WhyNotTaken = Callable[[Trace], str]
"""Why a system with clocks cannot take a trace; empty if it can."""

FURTHER_BYTES = 20 << 20
"""The memory for each further search: whether a path keeps all promises, or keeps to time, is less important than a
fast answer."""


@dataclass(frozen=True)
class Effort:
    """The size and cost of a search; `states[i]` counts the states before line i, the last entry those at the end."""

    states: tuple[int, ...]
    generated: int
    seconds: float
    bytes_used: int


@dataclass(frozen=True)
class NothingToFollow:
    """The outcome that no line of the recording is about a state or a fault."""

    path: Path
    exit_code: int = NOTHING


@dataclass(frozen=True)
class Explained:
    """The outcome that a path of the model, `trace`, explains the recording."""

    recording: Recording
    trace: Trace

    passed: tuple[int, ...]
    """The number of lines passed after each state of the path."""

    effort: Effort

    failures: tuple[Failure, ...] = ()
    """The properties that the path violates: a behaviour of the model can violate properties."""

    is_shortest: bool = True
    """No path with fewer steps explains the recording."""

    fail_all: bool = False
    """Every path that explains it violates a promise; otherwise that is not decided, or there is no violation."""

    untimely: str | None = None
    """Why a system with clocks cannot take the trace; empty if it can, None if no system was consulted."""

    def judged(self) -> Explained:
        """This outcome with its `failures`: the properties that fail in the trace, each as VIOLATED or PERMITTED."""
        return replace(self, failures=tuple(failures_of(self.trace)))

    @property
    def exit_code(self) -> int:
        """VIOLATION if the path violates a property, otherwise DONE."""
        is_violated = any(failure.verdict == VIOLATED for failure in self.failures)
        return VIOLATION if is_violated else DONE


@dataclass(frozen=True)
class UnmetClaim:
    """A claim of the rejected line, a condition on the state, in words; the number of states in which it is true
    (`true_of`); and, for the other states, the most frequent actual values with their numbers of states (`instead`)."""

    claim: str
    true_of: int
    instead: tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class Rejected:
    """The outcome that no path explains the recording: all paths were explored, and `line` is true on none of them."""

    recording: Recording
    instance: Instance
    line: Line

    possible: int
    """The number of states reached before the line."""

    unmet: tuple[UnmetClaim, ...]
    effort: Effort

    search: ObservationSearch
    """The search, which still holds these states, so that the report can say what excludes the line."""

    exit_code: int = DIVERGED


@dataclass(frozen=True)
class RejectedAfter:
    """The outcome that no path explains the recording: all paths that agree with later lines were tried (pruning.py). A
    limit then ended the search for the first line that no path passes; that line is `line` or a later line.
    """

    recording: Recording
    instance: Instance
    line: Line
    why: str
    effort: Effort
    exit_code: int = DIVERGED


@dataclass(frozen=True)
class Undecided:
    """The outcome that nothing is decided about `line`; all lines before it are explained. `why` names the reason: a
    limit, the user ("interrupt"), too many unknown requests ("sends"), or an event that is not modelled.

    If only `line` is None, a path explains all lines, but perhaps violates promises. If `recording` is None, the limit
    was reached before the recording was read. `hint` says which kind of line would help most.
    """

    path: Path
    recording: Recording | None
    line: Line | None
    why: str
    effort: Effort
    hint: str = ""

    @property
    def exit_code(self) -> int:
        return INTERRUPTED if self.why == "interrupt" else UNDECIDED


Outcome = Explained | Rejected | RejectedAfter | Undecided | NothingToFollow


def follow_recording(
    path: Path,
    protocol: str,
    values: Mapping[str, int] | None = None,
    *,
    memory: int = 4 << 30,
    seconds: float | None = None,
    report: Report = lambda words, seconds: None,
    announce: Callable[[str], None] = lambda message: None,
    content: bytes | None = None,
    objects: Objects | None = None,
    why_not_taken: WhyNotTaken | None = None,
) -> Outcome:
    """Decide whether a generation of the model explains a recording, within limits of memory (in bytes) and time.

    `values` are configuration entries and switches, parsed (models/language/model.py, `parse`); `unclean_elections`
    above 0 allows any number of unclean elections. `retries` is how often, at most, producers may send records again;
    each time, a log may get a copy of a record. If `retries` is not given, and logs show copies, `retries` is the
    number of copies; if logs show no copies, producers are idempotent and may send records again any number of times.
    If `content` or `objects` are given, the recording is not read from the disk. `why_not_taken` says why a system with
    clocks cannot take a trace; a trace that the system can take is preferred. Raises UsageError for bad input.
    """
    budget = Budget(seconds, memory)
    following = _Following(path, protocol, dict(values or {}), budget, report, announce, why_not_taken)
    try:
        with budget.kept(), compiling_within(budget.left):
            return following.run(content, objects)
    except Spent as spent:
        return following.ended(spent.why)
    except OutOfTimeError:
        return following.ended("seconds")


def not_modelled(line: Remark) -> str:
    """The reason, in words, why nothing is decided after `line`, which is about an event that is not modelled."""
    return f"{line.unmodelled} ({line.spot}) is not modelled"


@dataclass
class _Following:
    """The request of `follow_recording`, and its progress."""

    path: Path
    protocol: str
    values: Mapping[str, int]
    budget: Budget
    report: Report
    announce: Callable[[str], None]
    why_not_taken: WhyNotTaken | None
    began: float = field(default_factory=time.monotonic)

    recording: Recording | None = None
    """The recording that is followed."""

    search: ObservationSearch | None = None
    """The search for a path of it."""

    explanation: Explained | None = None
    """The path that was found, which is an answer once its promises are judged."""

    is_judged: bool = False

    leaves_out: bool = False
    """A search without a path has reached a state in which the model leaves something out (rules.py)."""

    @property
    def is_idempotent(self) -> bool:
        """Whether producers may send records again any number of times."""
        return "retries" not in self.values

    def run(self, content: bytes | None, objects: Objects | None) -> Outcome:
        """Read and follow the recording. Raises UsageError, and Spent or OutOfTimeError at a limit."""
        recording = read_recording(self.path, content, objects)
        if not recording.lines:
            return NothingToFollow(self.path)
        if not has_kraft(registry.load("kafka")[0].instance(self.protocol)):
            recording = recording.without_reassignments(f"a reassignment of replicas by the rules of {self.protocol}")
        if recording.header.unclean_election is None and self.values.get("unclean_elections"):
            recording = replace(recording, header=replace(recording.header, unclean_election=True))
        if recording.copies:
            self.values = {"retries": recording.copies} | dict(self.values)
        outcome = self.in_every_way(recording)
        if self.leaves_out and isinstance(outcome, Rejected | RejectedAfter):
            return Undecided(self.path, recording, outcome.line, LEFT_OUT, outcome.effort)
        unmodelled = recording.unmodelled
        if unmodelled is None or isinstance(outcome, Undecided) or outcome.exit_code == 0:
            return outcome
        # Later lines may be effects of the event that is not modelled; earlier lines are not.
        before = recording.until(unmodelled.n)
        self.explanation, self.is_judged = None, False
        if before.lines and (earlier := self.in_every_way(before)).exit_code != 0:
            return earlier
        return self.unmodelled(recording, outcome)

    def unmodelled(self, recording: Recording, outcome: Explained | Rejected | RejectedAfter) -> Undecided:
        """Undecided in place of `outcome`: an event that is not modelled may have caused the rejection or violation."""
        cause = recording.unmodelled
        assert cause is not None
        later = (line for line in recording.lines if line.n >= cause.n)
        line = next(later, recording.lines[-1]) if isinstance(outcome, Explained) else outcome.line
        return Undecided(self.path, recording, line, not_modelled(cause), outcome.effort)

    def in_every_way(self, recording: Recording) -> Explained | Rejected | RejectedAfter | Undecided:
        """The outcome of following the recording without the producers' requests that only `send` lines show, then with
        all of them, then with each other selection: the first outcome that is no rejection, or else the rejection at
        the latest line, which becomes Undecided if not all selections were tried."""
        requests = unknown_requests(recording)
        furthest: Rejected | RejectedAfter | None = None
        for way in islice(ways(recording, requests), 1 << MOST_REQUESTS):
            outcome = self.followed(way)
            if not isinstance(outcome, Rejected | RejectedAfter):
                return outcome
            if furthest is None or outcome.line.n > furthest.line.n:
                furthest = outcome
        assert furthest is not None
        if len(requests) > MOST_REQUESTS:
            return Undecided(self.path, recording, furthest.line, "sends", furthest.effort)
        return furthest

    def ended(self, why: str) -> Outcome:
        """The outcome if a limit, or the user, ends the work here (`why`). Computing the outcome has no limit."""
        outcome, recording = self.so_far(why), self.recording
        if isinstance(outcome, Undecided) or outcome.exit_code == 0 or recording is None or not recording.unmodelled:
            return outcome
        return self.unmodelled(recording, outcome)

    def so_far(self, why: str) -> Explained | RejectedAfter | Undecided:
        """What is decided when a limit, or the user, ends the work here, as if all events were modelled."""
        if self.explanation is not None and self.is_judged:
            return self.explanation
        nothing = Effort((), 0, time.monotonic() - self.began, 0)
        if self.explanation is not None:
            return Undecided(self.path, self.recording, None, why, self.explanation.effort)
        if self.recording is None:
            return Undecided(self.path, None, None, why, nothing)
        if self.search is None:
            return Undecided(self.path, self.recording, self.recording.lines[0], why, nothing)
        if self.search.last is not None:
            return Undecided(self.path, self.recording, None, why, _effort(self.search))
        line = self.recording.lines[self.search.furthest]
        if self.search.is_exhausted and why != "interrupt":
            return RejectedAfter(self.recording, self.search.instance, line, why, _effort(self.search))
        return Undecided(self.path, self.recording, line, why, _effort(self.search), hint(self.search))

    def followed(self, recording: Recording) -> Explained | Rejected | RejectedAfter | Undecided:
        """The outcome for the recording with each large batch as one record; if no batch is large, or this outcome is a
        rejection, the outcome for the recording with all records. Raises UsageError."""
        self.recording = recording
        short = folded(recording)
        outcome = None if short is None else self.outcome(short)
        if outcome is None or isinstance(outcome, Rejected | RejectedAfter):
            return self.outcome(recording)
        return outcome

    def outcome(self, recording: Recording) -> Explained | Rejected | RejectedAfter | Undecided:
        """The outcome of the searches for a path that explains this recording. Raises UsageError."""
        self.recording, self.search = recording, None
        try:
            instance = self.instance(recording, 1 if self.is_idempotent else None)
            kernel = kernel_of(instance, self.announce)
        except UsageError as error:
            raise UsageError(f"{self.path}: {error}") from None
        script = Script(recording, instance)

        def search(memory: int, manner: Manner) -> ObservationSearch:
            limits = self.budget.limits(Limits(None, memory))
            return ObservationSearch(script, kernel, self.is_idempotent, limits, self.report, manner)

        self.search = first = search(self.budget.memory, Manner())
        first.run()
        self.leaves_out |= first.last is None and first.leaves_out
        if first.stopped is not None and first.last is None:
            return self.so_far(first.stopped)
        if first.last is None:
            return _rejected(first)
        self.explanation, self.search = self.explained(first), None
        del first  # its states
        return self.preferred(search)

    def preferred(self, search: Callable[[int, Manner], ObservationSearch]) -> Explained:
        """The explanation by the path that was found; or, if short searches find a path that a cluster with clocks can
        take, or that keeps all promises, the explanation by that path."""

        def another(*, keeps_promises: bool, in_time: Dropped | None = None) -> ObservationSearch:
            manner = Manner(keeps_promises=keeps_promises, in_time=in_time, finds_line=False)
            further = search(min(self.budget.memory, FURTHER_BYTES), manner)
            further.run()
            return further

        def timely(*, keeps_promises: bool) -> Explained | None:
            tries = (another(keeps_promises=keeps_promises, in_time=dropped) for dropped in Dropped)
            return next(filter(None, map(self.timely, tries)), None)

        assert self.explanation is not None
        best = self.explanation
        if best.untimely:
            best = timely(keeps_promises=False) or best
        self.explanation = best = best.judged()
        self.is_judged = True
        if best.exit_code == 0:
            return best
        second = another(keeps_promises=True)
        if second.last is None:
            return replace(best, fail_all=second.is_exhausted and not best.recording.is_folded)
        keeping = self.explained(second)
        if keeping.untimely:
            keeping = timely(keeps_promises=True) or keeping
        keeping = keeping.judged()
        return replace(keeping, is_shortest=False) if keeping.exit_code == 0 else best

    def timely(self, search: ObservationSearch) -> Explained | None:
        """The explanation by a search's path; None if there is no path, or if a cluster with clocks cannot take it."""
        if search.last is None:
            return None
        timely = self.explained(search)
        return None if timely.untimely else replace(timely, is_shortest=False)

    def instance(self, recording: Recording, sent_again: int | None) -> Instance:
        return instance_for(size_of(recording), self.protocol, self.values, sent_again)

    def explained(self, search: ObservationSearch) -> Explained:
        """The outcome of a search that has found a path, before the promises are judged."""
        recording, path = search.script.recording, search.path()
        again = sum(search.instance.step(number).action == SEND_AGAIN for number in path.steps)
        instance = self.instance(recording, again if self.is_idempotent else None)
        options = f"--protocol {self.protocol}{_given(search.instance, self.values)}"
        command = f"conform follow {escaped(shlex.quote(str(self.path)))} {options}"
        trace = from_steps(instance, path.initial, path.steps, None, command)
        is_shortest = search.waiting_nodes.is_broad and not recording.is_folded
        why = None if self.why_not_taken is None else self.why_not_taken(trace)
        return Explained(recording, trace, path.passed, _effort(search), is_shortest=is_shortest, untimely=why)


def _rejected(search: ObservationSearch) -> Rejected:
    """The outcome of a search that has explored all paths, and found none that passes all lines."""
    recording = search.script.recording
    states, monitors = search.nodes.of(search.nodes_waiting())
    unmet = tuple(unmet_claim(claim, states, monitors) for claim in search.claims.of_line[search.furthest])
    line = recording.lines[search.furthest]
    return Rejected(recording, search.instance, line, len(states), unmet, _effort(search), search)


def _effort(search: ObservationSearch) -> Effort:
    return Effort(
        tuple(search.counts()), search.expander.generated, search.clock.seconds, search.nodes.store.bytes_used
    )


def _given(instance: Instance, values: Mapping[str, int]) -> str:
    """The entries that the user gave, as options of the command line."""
    entries = instance.model.entries
    return "".join(
        f" --{'switch' if name.isupper() else 'set'} {name}={spell(entries[name], value)}"
        for name, value in values.items()
    )


def unmet_claim(claim: Claim, states: np.ndarray, monitors: np.ndarray) -> UnmetClaim:
    """The UnmetClaim of a claim: in how many of these states it is true, and the actual values in the other states."""
    truths = claim.is_true(states, monitors)
    columns = claim.columns(states[~truths], monitors[~truths])
    actual: Counter[str] = Counter()
    if not columns:
        actual[claim.spell(())] = len(states)
    elif len(columns[0]):
        rows, counts = np.unique(np.column_stack(columns), axis=0, return_counts=True)
        for row, count in zip(rows.tolist(), counts.tolist(), strict=True):
            actual[claim.spell(row)] += count
    examples = sorted(actual.items(), key=lambda pair: (-pair[1], pair[0]))[:MOST_EXAMPLES]
    return UnmetClaim(claim.says, int(truths.sum()), tuple(examples))
