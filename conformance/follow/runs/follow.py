"""Follows the log of a run: checks whether the run is a behaviour of the model.

In:  the path of a log (format/events.py).
Out: an `Outcome` for each run in it.

A run is *rejected* only if every possibility was tried, and *undecided* if a limit was reached first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from isrcheck.conformance.follow.runs.outcome import Outcome, Verdict, explain, why_not_at_the_start
from isrcheck.conformance.follow.runs.reading import RunEvent, RunStart, read_log
from isrcheck.conformance.follow.runs.state_set import StateSet, TooManyError
from isrcheck.conformance.follow.runs.watch import TimeOverError, Watch

MOST_STATES = 10_000
"""The default limit on the number of possible states."""

TIME_IS_OVER = "the time limit was reached; give more with --seconds"

MOST_MISSING = 100
"""The limit on consecutive missing events, for each of which all steps of the model are tried."""


def follow_log(
    path: Path,
    most_states: int = MOST_STATES,
    protocol: str | None = None,
    values: Mapping[str, int] | None = None,
    watch: Watch | None = None,
    content: bytes | None = None,
    model: str | None = None,
) -> Iterator[Outcome]:
    """Yield the outcome of each run in a log, after the run is read to its end.

    An empty log has one outcome, without a run.

    A rejected or undecided run is still read to its end, so that any damaged line is reported. With `model`,
    `protocol` or `values` (names and numbers of the configuration), a log of another one is refused. Raises UsageError
    (`FILE:LINE: what; cure`) for a damaged line; the run that contains it has no outcome. With a `watch`, a run that
    exceeds the time limit is undecided. If `content` is given, the log is not read from the disk.
    """
    watch = watch or Watch()
    following: _Following | None = None
    for line in read_log(path, protocol, values, content, model):
        watch.line = line.line
        if isinstance(line, RunStart):
            if following is not None:
                yield following.outcome
            following = _Following(path, line, most_states, watch)
        elif following is not None:
            following.happened(line)
    yield following.outcome if following is not None else Outcome(Verdict.NOTHING, path)


class _Following:
    """Follows one run, event by event."""

    def __init__(self, path: Path, began: RunStart, most_states: int, watch: Watch) -> None:
        self._began = began
        self._watch = watch
        self._most = most_states
        self._possible: StateSet | None = None
        self._so_far = Outcome(Verdict.NOTHING, path, began.header.run)
        self._end: Outcome | None = None
        self._events = 0
        self._missing = 0
        try:
            self._possible = StateSet(began.instance, began.seen, most_states, watch)
        except TooManyError:
            self._end = self._undecided(
                began.line, f"more than {most_states} initial states are possible; raise --most-states"
            )
        else:
            if not self._possible.states:
                why = "no initial state of this configuration agrees with the observation"
                candidates = why_not_at_the_start(began.instance, began.variables, began.seen)
                self._end = replace(self._ended(Verdict.REJECTED), line=began.line, why=why, candidates=candidates)

    @property
    def outcome(self) -> Outcome:
        """The outcome so far."""
        return self._end or self._ended(Verdict.FOLLOWS if self._events else Verdict.NOTHING)

    def happened(self, line: RunEvent) -> None:
        """Follow the next event."""
        if self._end is not None:
            return
        assert self._possible is not None
        instance, variables = self._began.instance, self._began.variables
        try:
            if line.missing:
                self._skip(line)
            if self._end is None and not self._possible.take(line.steps, line.seen):
                states = self._possible.states
                candidates, left_out = explain(instance, variables, states, line.steps, line.seen)
                why = (
                    "no step of the model leads to the observed state"
                    if states
                    else "no path of the model takes this many arbitrary steps for the missing events"
                )
                self._end = replace(
                    self._ended(Verdict.REJECTED),
                    line=line.line,
                    event=line.event,
                    why=why,
                    candidates=candidates,
                    left_out=left_out,
                )
        except TooManyError:
            why = f"more than {self._most} states are possible; raise --most-states, or record more"
            self._end = replace(self._undecided(line.line, why), event=line.event)
        except TimeOverError:
            self._end = replace(self._undecided(line.line, TIME_IS_OVER), event=line.event)
        self._watch.possible = len(self._possible.states)
        if self._end is None:
            self._events += 1
            self._missing += line.missing

    def _skip(self, line: RunEvent) -> None:
        assert self._possible is not None
        if line.missing > MOST_MISSING:
            why = f"{line.missing} events are missing before it, more than {MOST_MISSING}; record more events"
            self._end = replace(self._undecided(line.line, why), event=line.event)
            return
        self._possible.skip(line.missing)

    def _undecided(self, line: int, why: str) -> Outcome:
        return replace(self._ended(Verdict.UNDECIDED), line=line, why=why)

    def _ended(self, verdict: Verdict) -> Outcome:
        possible = self._possible
        return replace(
            self._so_far,
            verdict=verdict,
            events=self._events,
            missing=self._missing,
            possible=len(possible.states) if possible else 0,
            largest=possible.largest if possible else 0,
        )
