"""Searches a known failure in the bounds of its shortest history: in the unchanged model, then with each change that
prevents the failure; describes the results in words.

Out: a `Searched` failure, whose `differs` lists differences from the library of known failures; texts about it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from isrcheck.checker.resources.limits import Limits
from isrcheck.checker.results.run import Run
from isrcheck.checker.results.terminal import counted
from isrcheck.checker.results.verdict import Verdict, Word
from isrcheck.models.kafka.failures.catalogue import Change, Failure, History
from isrcheck.models.language.declarations import WHOLE
from isrcheck.traces.format.trace import Trace

if TYPE_CHECKING:
    from isrcheck.checker.running.session import SearchSession
    from isrcheck.checker.running.trace_writer import TraceWriter


@dataclass(frozen=True)
class Ended:
    """A change that prevents a failure according to the library of known failures, and the search with that change."""

    change: Change
    run: Run
    verdict: Verdict
    is_permitted: bool

    @property
    def fails(self) -> bool:
        """Whether the property still fails in spite of the change."""
        return self.verdict.word is Word.VIOLATED or (self.is_permitted and self.verdict.word is Word.PERMITTED)

    @property
    def is_complete(self) -> bool:
        """Whether the search covered what the library records: all states, or all depths to `change.explored`."""
        explored = self.run.explored
        return explored.exhausted if self.change.explored is None else explored.is_complete


@dataclass(frozen=True)
class Searched:
    """A known failure with its searches. `trace` is the shortest history that the search found; `happens` counts the
    faults, elections, and late and lost messages in that history.

    `trace` and `happens` are None if no model expresses the failure, or if the search did not find it.
    """

    failure: Failure
    run: Run | None = None
    verdict: Verdict | None = None
    trace: Trace | None = None
    happens: Mapping[str, int] | None = None
    ended: Sequence[Ended] = ()

    @property
    def runs(self) -> list[Run]:
        """All searches that were made."""
        return [*(() if self.run is None else (self.run,)), *(one.run for one in self.ended)]

    @property
    def is_interrupted(self) -> bool:
        """Whether Ctrl-C ended one of the searches."""
        return any(run.is_interrupted for run in self.runs)

    @property
    def has_difference(self) -> bool:
        """Whether a result differs from the library's record."""
        return bool(self.differs)

    @property
    def differs(self) -> list[str]:
        """The results that differ from the library's record, in words; empty if none does, or nothing was searched."""
        history = self.failure.history
        if history is None or self.verdict is None or self.run is None:
            return []
        differences, recorded = [], f"{history.verdict} at step {history.depth}"
        if self.trace is None and self.run.explored.is_complete:
            differences.append(f"{history.property_name} does not fail; the library of known failures says {recorded}")
        elif self.trace is not None and (self.trace.verdict, self.trace.length) != (history.verdict, history.depth):
            here = f"{self.trace.verdict} at step {self.trace.length}"
            differences.append(f"{history.property_name} is {here}; the library of known failures says {recorded}")
        differences += [
            f"{history.property_name} still fails with {one.change.change}" for one in self.ended if one.fails
        ]
        return differences

    @property
    def is_undecided(self) -> bool:
        """Whether a limit or the user ended a search."""
        if self.failure.history is None:
            return False
        if self.run is None or (self.trace is None and not self.run.explored.is_complete):
            return True
        missing = len(self.failure.changes) - len(self.ended)
        return bool(missing) or any(not one.is_complete and not one.fails for one in self.ended)


def search(failure: Failure, session: SearchSession, limits: Limits, traces: TraceWriter) -> Searched:
    """Search for a failure, write its trace, and search again with each of its changes. Raises KeyboardInterrupt."""
    from isrcheck.checker.running.trace_writer import TraceWriter  # here, for readers of recorded answers do not search
    from isrcheck.traces.explaining.cause import rarity

    history = failure.history
    if history is None:
        return Searched(failure)
    # Only the whole state space shows that a state is stuck, or that a loop breaks a property.
    prop = next(one for one in history.instance.properties if one.name == history.property_name)
    depth = None if prop.kind in WHOLE else history.depth
    run, verdict = _run(session, history, "", depth, limits, traces)
    trace = traces.shortest.get(history.property_name)
    ended: list[Ended] = []
    if trace is not None:
        for change in failure.changes:
            of_change, judged = _run(session, history, change.change, change.explored, limits, TraceWriter(None))
            ended.append(Ended(change, of_change, judged, history.verdict == Word.PERMITTED.value))
            if judged.word is Word.UNDECIDED:
                break
    return Searched(failure, run, verdict, trace, None if trace is None else rarity(trace), ended)


def _run(
    session: SearchSession, history: History, change: str, depth: int | None, limits: Limits, traces: TraceWriter
) -> tuple[Run, Verdict]:
    instance = history.changed(change) if change else history.instance
    run = session.run(
        instance,
        history.model,
        traces,
        limits=Limits(depth, limits.memory, limits.seconds, limits.threads),
        only=[history.property_name],
        want_permitted=history.verdict == Word.PERMITTED.value,
    )
    return run, next(one for one in run.verdicts if one.prop.name == history.property_name)


# ------------------------------------------------------------------------------------------------------------- in words


def history_of(searched: Searched) -> str:
    """Return the verdict on the failure's property (acked_not_lost VIOLATED at step 6), or why it has no verdict."""
    if searched.failure.history is None:
        return "not expressed"
    if searched.verdict is None or searched.trace is None:
        return Word.UNDECIDED.value if searched.is_undecided else "not found"
    return f"{searched.failure.history.property_name} {searched.trace.verdict} at step {searched.trace.length}"


def outcome(ended: Ended) -> str:
    """Return the verdict of a search with a change, and its number of states."""
    states = counted(ended.run.explored.distinct, "state")
    return f"{ended.verdict.text} ({states}{'' if ended.run.explored.exhausted else ', not exhausted'})"


EVENTS = {
    "bounces": ("restart", "restarts"),
    "crashes": ("crash", "crashes"),
    "delete_records": ("DeleteRecords", "DeleteRecords"),
    "deadlines_in_flight": ("deadline in flight", "deadlines in flight"),
    "disk_losses": ("disk loss", "disk losses"),
    "fencings": ("expired session", "expired sessions"),
    "late_fetches": ("late fetch", "late fetches"),
    "power_losses": ("power loss", "power losses"),
    "retries": ("retry", "retries"),
}
"""The singular and the plural of an event, for budgets whose names are not the word."""

ELECTIONS = "elections"

KINDS = {"preferred_elections": "preferred", "unclean_elections": "unclean"}
"""Budgets of elections of one kind, each with its word; these elections also count among all elections."""


def events(happens: Mapping[str, int]) -> str:
    """Return the events that a history needs, in words: "1 crash, 3 elections (1 preferred)"."""
    kinds = ", ".join(f"{happens[name]} {kind}" for name, kind in KINDS.items() if name in happens)
    texts = {name: f"{count} {_event(name, count)}" for name, count in happens.items()}
    if kinds and ELECTIONS in texts:
        texts = {name: text for name, text in texts.items() if name not in KINDS}
        texts[ELECTIONS] += f" ({kinds})"
    return ", ".join(texts.values()) or "no fault, and nothing late or lost"


def _event(name: str, count: int) -> str:
    several = name.replace("_", " ")
    return EVENTS.get(name, (several.removesuffix("s"), several))[count != 1]
