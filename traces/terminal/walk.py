"""A walk through the states of a model: the possible next steps, their changes, and which properties are false.

This module prints and draws nothing: explore.py shows a walk in the terminal, traces/browser shows it in a browser.
Plain Python (models/run.py) computes every answer, one state at a time.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from isrcheck.models import run
from isrcheck.models.language.declarations import INDUCTIVE, LIVENESS, Kind
from isrcheck.models.language.model import Instance, Property, Step
from isrcheck.models.messages import ModelError, UsageError, escaped
from isrcheck.models.run import Cells
from isrcheck.traces.format import files
from isrcheck.traces.format.certify import NotCertifiedError, judge
from isrcheck.traces.format.trace import NOT_INDUCTIVE, PERMITTED, REACHED, VIOLATED, Trace, changed_cells
from isrcheck.traces.format.why_false import false_guard, why_false

BROKEN = (VIOLATED, PERMITTED)

NOT_JUDGED_AHEAD = (Kind.ALWAYS_POSSIBLE, *LIVENESS)
"""The kinds that `Walk.turning` leaves out: they need a search of their own for each step, or an endless behaviour."""


@dataclass(frozen=True)
class Option:
    """A possible next step with its successor state; before the walk begins, an initial state without a step.

    A step that causes an error has a `problem`, the message of the error, in place of a successor state.
    """

    text: str
    step: Step | None
    after: Cells | None
    problem: str = ""


@dataclass(frozen=True)
class PropertyStatus:
    """The verdict on a property in a state: VIOLATED, PERMITTED, REACHED, or None.

    `first` is the first step with this verdict; `problem` is the error if the property cannot be evaluated.
    """

    prop: Property
    verdict: str | None
    first: int
    problem: str = ""

    @property
    def is_broken(self) -> bool:
        """Whether the property is false, or cannot be evaluated."""
        return self.verdict in BROKEN or bool(self.problem)


TITLES: Mapping[str, Callable[[PropertyStatus], bool]] = {
    "true": lambda status: status.prop.kind in INDUCTIVE,
    "about endless behaviours, which a walk cannot violate": lambda status: status.prop.kind in LIVENESS,
    "not known to have become impossible": lambda status: status.prop.kind is Kind.ALWAYS_POSSIBLE,
    "reached": lambda status: status.verdict == REACHED,
    "not reached here": lambda status: status.prop.kind is Kind.SOMETIMES,
}
"""What is said of properties that are not false, and of which; the first title that fits counts."""


@dataclass(frozen=True)
class Visit:
    """One state of the walk, the step that led there, and the verdict on each property."""

    cells: Cells
    step: Step | None
    statuses: tuple[PropertyStatus, ...] = ()


class Walk:
    """The states that a user has visited, including those after the current state that were undone.

    The walk begins in the initial state if there is only one, and otherwise with the choice of an initial state.
    """

    def __init__(self, instance: Instance, command: str) -> None:
        self.instance = instance
        self.command = command
        self.place = -1
        """The number of steps taken; -1 before an initial state is chosen."""
        self.first = 0 if len(instance.initial_states) == 1 else -1
        """The least place: 0, or -1 if there are several initial states to choose from."""
        self._visits: list[Visit] = []
        self._options: dict[Cells, tuple[Option, ...]] = {}
        if self.first == 0:
            self.take(self.options()[0])

    @classmethod
    def along(cls, trace: Trace, step: int | None, command: str) -> Walk:
        """Return a walk along a trace up to this step (None: all of it); the later steps can be redone.

        Raises UsageError if the trace has no such step, or starts in a state that may be unreachable.
        """
        if trace.verdict == NOT_INDUCTIVE:
            raise UsageError(
                "the trace starts in a state that may be unreachable; give a trace that starts in an initial state"
            )
        if step is not None and not 0 <= step <= trace.length:
            raise UsageError(f"--step {step}: no such step; the trace has the steps 0..{trace.length}")
        if trace.erring is not None and step == trace.length:
            raise UsageError(f"--step {step}: the step causes an error, so no state follows it; give an earlier step")
        walk = cls(trace.instance, command)
        walk.place = -1
        for cells, taken in zip(trace.states, (None, *trace.steps), strict=True):
            walk._go(cells, taken)
        walk.place = len(trace.steps) if step is None else step
        return walk

    # ---------------------------------------------------------------------------------------------------- current state

    @property
    def has_begun(self) -> bool:
        """Whether an initial state was chosen."""
        return self.place >= 0

    @property
    def position(self) -> int:
        """The number of steps from the beginning of the walk to the current state."""
        return max(0, self.place)

    @property
    def last(self) -> int:
        """The number of steps in the walk, including the steps that were undone."""
        return len(self._visits) - 1

    @property
    def cells(self) -> Cells:
        """The current state; the walk has to have begun."""
        return self._visits[self.place].cells

    @property
    def _past(self) -> list[Visit]:
        return self._visits[: self.place + 1]

    @property
    def trace(self) -> Trace:
        """The walk so far, as a trace without a property."""
        return self._trace(self._past)

    @property
    def whole(self) -> Trace:
        """The walk with the steps that were undone, as a trace without a property."""
        return self._trace(self._visits)

    @property
    def finding(self) -> Trace:
        """The walk so far, as a trace about the property that its last step made false (`turned`), if there is one."""
        turned = self.turned()
        return self.trace if turned is None else self._trace(self._past, turned.prop.name, turned.verdict)

    def _trace(self, visits: Sequence[Visit], property_name: str | None = None, verdict: str | None = None) -> Trace:
        states = tuple(visit.cells for visit in visits)
        steps = tuple(visit.step for visit in visits if visit.step is not None)
        return Trace(self.instance, states, steps, property_name, verdict, self.command)

    # ---------------------------------------------------------------------------------------------------------- options

    def options(self) -> tuple[Option, ...]:
        """Return the enabled steps in order; before the walk begins, the initial states."""
        if not self.has_begun:
            starts = enumerate(self.instance.initial_states)
            return tuple(Option(f"initial state {number}", None, cells) for number, cells in starts)
        if self.cells not in self._options:
            tried = (self._tried(step) for step in self.instance.steps)
            self._options[self.cells] = tuple(option for option in tried if option is not None)
        return self._options[self.cells]

    def _tried(self, step: Step) -> Option | None:
        text = self.instance.spell_step(step)
        try:
            after = run.take(self.instance, self.cells, step)
        except ModelError as error:
            return Option(text, step, None, str(error))
        return None if after is None else Option(text, step, after)

    def changes(self, option: Option) -> list[str]:
        """Return a line for each cell that an option changes, such as `leader_epoch[0]: 1 -> 2` (old and new value)."""
        if option.after is None or option.step is None:
            return []
        changes = changed_cells(self.instance, self.cells, option.after)
        return [f"{name}: {old} -> {new}" for name, old, new in changes]

    def turning(self, option: Option) -> tuple[PropertyStatus, ...]:
        """Return the verdicts on the properties that hold now and that an option would break; violations come first.

        A property that cannot be evaluated after the option (`problem`) counts as broken. Kinds of properties whose
        verdict needs more than the next state (NOT_JUDGED_AHEAD) are left out.
        """
        if option.after is None:
            return ()
        broken = [status.prop for status in self.statuses() if status.is_broken]
        judged = [
            self._judged(prop, option.after, option.step)
            for prop in self.instance.properties
            if prop.kind not in NOT_JUDGED_AHEAD and prop not in broken
        ]
        return tuple(sorted((status for status in judged if status.is_broken), key=gravity))

    def trace_of(self, option: Option, turned: PropertyStatus) -> Trace:
        """Return the walk so far and `option`, as a trace about the property in `turned`, which `option` breaks."""
        assert option.after is not None
        taken = Visit(option.after, option.step)
        return self._trace([*self._past, taken], turned.prop.name, turned.verdict)

    @cached_property
    def actions(self) -> tuple[str, ...]:
        """The actions of the protocol, in order."""
        return tuple(dict.fromkeys(step.action for step in self.instance.steps))

    def guards(self, action: str) -> list[tuple[str, str]]:
        """Return every step of an action with its first false guard; for an enabled step, "" or the error it causes."""
        enabled = {option.step: option.problem for option in self.options()}
        return [
            (
                self.instance.spell_step(step),
                enabled[step] if step in enabled else false_guard(self.instance, self.cells, step),
            )
            for step in self.instance.steps
            if step.action == action
        ]

    # ----------------------------------------------------------------------------------------------------------- moving

    def take(self, option: Option) -> None:
        """Take an option. Raises ModelError if the step causes an error."""
        if option.after is None:
            raise ModelError(option.problem)
        ahead = self._visits[self.place + 1 : self.place + 2]
        if ahead and (ahead[0].cells, ahead[0].step) == (option.after, option.step):
            self.forward()
        else:
            self._go(option.after, option.step)

    def back(self) -> bool:
        """Go back one step, or to the choice of the initial state. Returns whether that was possible."""
        return self.go_to(self.place - 1)

    def forward(self) -> bool:
        """Redo the step that was undone last. Returns whether there was one."""
        return self.go_to(self.place + 1)

    def go_to(self, place: int) -> bool:
        """Go to the state after the first `place` steps of the walk; -1 is the choice of the initial state. Returns
        whether the walk, including the steps that were undone, has this state."""
        is_there = self.first <= place <= self.last
        if is_there:
            self.place = place
        return is_there

    def _go(self, cells: Cells, step: Step | None) -> None:
        """Visit a state, and forget the steps that were undone."""
        statuses = tuple(self._judged(prop, cells, step) for prop in self.instance.properties)
        self._visits = [*self._past, Visit(cells, step, statuses)]
        self.place += 1

    def _judged(self, prop: Property, cells: Cells, step: Step | None) -> PropertyStatus:
        """Return the verdict on a property in the state `cells`, to which `step` leads from the current state."""
        states, steps = ([cells], []) if step is None else ([self.cells, cells], [step])
        try:
            verdict, problem = judge(self.instance, prop, states, steps, len(steps)), ""
        except ModelError as error:
            verdict, problem = None, str(error)
        return PropertyStatus(prop, verdict, 0 if step is None else self.place + 1, problem)

    # ------------------------------------------------------------------------------------------------------- properties

    def statuses(self) -> list[PropertyStatus]:
        """Return the verdict on every property in the current state."""
        histories = zip(*(visit.statuses for visit in self._past), strict=True)
        return [
            replace(
                history[-1], first=next(status.first for status in history if status.verdict == history[-1].verdict)
            )
            for history in histories
        ]

    def turned(self) -> PropertyStatus | None:
        """Return the property that the last step made false for the first time in the walk, or None. If there are
        several, return the first VIOLATED property, or else the first PERMITTED property."""
        now = [status for status in self.statuses() if status.verdict in BROKEN and status.first == self.position]
        return min(now, key=gravity, default=None)

    def verdict_lines(self) -> list[tuple[str, str]]:
        """Return lines about the properties in the current state: false properties with their reasons, then all others.
        Each line is paired with the verdict that it reports, or with ""."""
        lines: list[tuple[str, str]] = []
        others: dict[str, list[str]] = {title: [] for title in TITLES}
        for status in sorted(self.statuses(), key=gravity):
            if status.problem:
                lines.append((f"{status.prop.name} cannot be evaluated: {status.problem}", VIOLATED))
            elif status.verdict in BROKEN:
                when = "now" if status.first == self.position else f"first at step {status.first}"
                lines.append((f"{status.prop.name} {status.verdict}, {when}", status.verdict or ""))
                lines += [(line, "") for line in self.why(status)]
            else:
                title = next(title for title, is_of in TITLES.items() if is_of(status))
                others[title].append(status.prop.name)
        titled = ((title, names) for title, names in others.items() if names)
        return [*lines, *((f"{title}: {', '.join(names)}", REACHED * (title == "reached")) for title, names in titled)]

    def why(self, status: PropertyStatus) -> list[str]:
        """Return why the property of `status` is false in the current state."""
        before = self._visits[self.place - 1].cells if self.position else None
        return why_false(self.instance, status.prop, before, self._visits[self.place].step, self.cells).lines()

    # ----------------------------------------------------------------------------------------------------------- saving

    def save(self, out: Path) -> Path:
        """Write the walk so far (`finding`) as a certified trace and return its path. Raises UsageError."""
        if not self.has_begun:
            raise UsageError("there is nothing to save yet; choose an initial state")
        trace = self.finding
        try:
            return files.write(trace, out)
        except NotCertifiedError as error:
            raise UsageError(f"cannot be saved as a trace of {trace.property_name or 'the model'}: {error}") from None


def saved_line(path: Path) -> str:
    """Return the line about a saved walk, with the command that shows it."""
    return escaped(f"saved {path}; see it with: trace show {shlex.quote(str(path))}")


def gravity(status: PropertyStatus) -> int:
    """Return the key that sorts verdicts from the worst: 0 for VIOLATED, 1 for PERMITTED, 2 for every other verdict."""
    return BROKEN.index(status.verdict) if status.verdict in BROKEN else len(BROKEN)


def turn_text(status: PropertyStatus) -> str:
    """Return a text such as `makes acked_not_lost false`, for a property that an option breaks (`Walk.turning`)."""
    if status.problem:
        return f"then {status.prop.name} cannot be evaluated: {status.problem}"
    return f"makes {status.prop.name} false{' (permitted)' * (status.verdict == PERMITTED)}"
