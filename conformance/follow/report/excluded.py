"""Explains why no path passes a line: when the line's claims were last true, and what now keeps them from being true.

The report has rules of Kafka that concern the line; for each claim that is false in all states, the step that made it
false; and the steps that would bring a possible state nearer to the line, each with the guard or rule that forbids it.

The fewer claims of a line are false in a state, and the fewer cells have other values, the nearer is the state to the
line. Each action is tried from the nearest states without its guards. The steps whose results are nearer are reported.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cached_property
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np

from isrcheck.conformance.follow.recorded.lines import Line, Metadata, Sent
from isrcheck.conformance.follow.recorded.states import Claim, Numbers, Words, alters_partitions
from isrcheck.conformance.follow.search.rules import DECIDES
from isrcheck.conformance.follow.search.script import (
    CANCELLATIONS,
    CRASH,
    NEVER,
    NOBODY,
    PREFER,
    REASSIGNMENTS,
    RESTART,
    SHRINK,
    SHUTDOWNS,
    Permission,
    Script,
    actors,
)
from isrcheck.conformance.follow.search.search import ObservationSearch
from isrcheck.models.kafka.state.values import AlterPartition
from isrcheck.models.language.model import Instance, Step
from isrcheck.models.messages import ModelError
from isrcheck.models.run import Cells, State, take
from isrcheck.traces.format.why_false import FalseGuard, first_false_guard

NO_EPOCH = "the recording shows no other leader epoch"
NO_CHANGE = "the partition epochs of the recording leave no room for another change of leader or ISR"
BUDGETS = {
    "preferred_elections_left": NO_EPOCH,
    "unclean_elections_left": "unclean elections are off",
    "fencings_left": "the recording freezes no broker, so no session expires",
    "shutdowns_left": "the recording shuts no broker down",
    "crashes_left": "the recording kills no broker",
}
"""What the recording determines, by the budget that a guard reads."""

ELECTING = ("may_elect", "may_lose_member", "may_change_leader")
CHANGING = ("may_change_record", "may_lose_member", "may_change_leader")
"""Helpers of the model; guards with these names compare an epoch with the number of changes in the recording."""


def forbidden(script: Script, position: int, step: Step, cells: Cells, after: Cells) -> str | None:
    """What forbids a step from `cells` to `after` before the line at `position` of the script; None: unknown."""
    instance = script.instance
    if take(instance, cells, step) is None:
        return _by_guard(instance, cells, step)
    return _by_recording(script, position, step, State(instance, cells), State(instance, after))


def _by_guard(instance: Instance, cells: Cells, step: Step) -> str:
    guard = first_false_guard(instance, cells, step)
    if guard is None:
        return f"{instance.protocol.name} has no such action"
    bound = _bound(State(instance, cells), guard)
    return f"{guard}{f': {bound}' if bound else ''} ({guard.place})"


def _bound(s: State, guard: FalseGuard) -> str | None:
    """Return why the recording sets the bound of the model that makes the guard false; None if no bound does that."""
    if any(name in guard.source for name in ELECTING) and s.controller_epoch >= s.elections:
        return NO_EPOCH
    if any(name in guard.source for name in CHANGING) and s.controller_partition_epoch >= s.partition_changes:
        return NO_CHANGE
    return next(
        (why for name, why in BUDGETS.items() if any(f"{name} = 0" in reading for reading in guard.readings)), None
    )


def _by_recording(script: Script, position: int, step: Step, s: State, after: State) -> str | None:
    recording, stage = script.recording, script.stages[position]
    taking_part = actors(script.instance, step)
    permission = Permission(int(script.permissions[position, step.number]))
    if permission is Permission.NOT:
        frozen = [recording.brokers[replica] for replica in taking_part if replica in stage.frozen]
        if frozen and step.action != CRASH:
            return f"broker {frozen[0]} is frozen at this line"
        if step.action == SHRINK:
            leader = recording.brokers[taking_part[0]]
            return f"no alter_partition line from here on has this ISR as the next one that broker {leader} asks for"
        if step.action == PREFER:
            return "no line requests a preferred election"
        if step.action in (*REASSIGNMENTS, *CANCELLATIONS):
            return "no operator requests this reassignment at this line"
        faults = {CRASH: "kill -9", RESTART: "start"} | dict.fromkeys(SHUTDOWNS, "stop")
        fault = faults.get(step.action, step.action)
        return f"the recording has no `{fault}` of broker {recording.brokers[taking_part[0]]} at this line"
    if after.next_record > stage.most_sent:
        value = recording.values[int(s.next_record)]
        sent = next((line for line in recording.lines if isinstance(line, Sent) and line.value == value), None)
        return f"{value} is sent only at {sent.spot}" if sent is not None else None
    if after.controller_partition_epoch > stage.most_partition_epoch:
        return f"{NO_CHANGE} before this line"
    if recording.has_epochs and after.controller_epoch > s.controller_epoch:
        epoch, shown = int(after.controller_epoch), recording.first_epoch
        if epoch > stage.most_epoch:
            return f"no metadata line up to the next one with a leader shows the leader epoch {epoch + shown}"
        if epoch == stage.most_epoch and stage.leader not in (NOBODY, after.controller_leader):
            return f"the leader of epoch {epoch + shown} is broker {recording.brokers[stage.leader]} by a metadata line"
    if recording.header.has_all_requests and alters_partitions(script.instance):
        if step.action in DECIDES:
            return f"the next request of broker {recording.brokers[step.ordinals[0]]} has its line only later"
        for replica, broker in enumerate(recording.brokers):
            if after.alter_partition[replica] == AlterPartition.REQUESTED != s.alter_partition[replica]:
                return f"no alter_partition line from here on has this request as the next one of broker {broker}"
    if any(s.is_up[replica] and not after.is_up[replica] for replica in range(len(recording.brokers))):
        return "the recording lists every death, and none here"
    return None


MOST_STATES = 12
"""The most states from which steps are tried."""

MOST_STEPS = 4
"""The most steps that are reported."""

FALSE_CLAIM = 1_000
"""The distance of a false claim: more than the number of cells of any claim."""


class Tried(NamedTuple):
    """The state after a step that was taken although guards may be false, and the number of its false guards. `is_cut`:
    a value would leave its range, so the step was not taken to its end."""

    after: Cells
    false_guards: int
    is_cut: bool


class Exclusion:
    """Explains why a search has not passed the furthest line that it reached, by the states nearest to that line."""

    def __init__(self, search: ObservationSearch) -> None:
        self.search = search
        self.instance: Instance = search.instance
        self.claims = search.claims.of_line[search.furthest]
        self.line: Line = search.script.stages[search.furthest].line
        self.nodes = search.nodes_waiting()
        states, monitors = search.nodes.of(self.nodes)
        self.false = [claim for claim in self.claims if not claim.is_true(states, monitors).any()]
        distances = self._distances(states, monitors)
        self.least = int(distances.min()) if len(distances) else 0
        near = np.flatnonzero(distances == self.least)
        self.chosen = self.nodes[near[np.linspace(0, len(near) - 1, min(len(near), MOST_STATES)).astype(np.int64)]]

    def _distances(self, states: Words, monitors: Words) -> Numbers:
        """How far each of these states is from the line: false claims count first, then cells with other values."""
        distances: Numbers = np.zeros(len(states), np.int64)
        for claim in self.claims:
            distances += FALSE_CLAIM * ~claim.is_true(states, monitors)
            for variable, wanted in claim.cells:
                distances += self.search.cells.column(states, *variable) != wanted
        return distances

    def lines(self) -> Iterator[str]:
        if not len(self.nodes):
            return
        states, _ = self.search.nodes.of(self.nodes)
        yield from self.line.rules(self.false, states, self.search.claims.places[self.search.furthest])
        yield from self._ended()
        candidates = self._candidates()
        if candidates:
            yield "steps that would bring one of these states nearer to the line, and what excludes them:"
            yield from (f"  {step}: {reason}" for step, reason in candidates)
        elif self._fields(self.false):
            yield "no step brings any of these states nearer to the line, not even without its guards"
            yield f"  what differs is written by {', '.join(self._writers())}"

    # ------------------------------------------------------------------------------------------- what was true before

    def _ended(self) -> Iterator[str]:
        """Yield a text for each claim that is true in no state: where it was last true on the paths to the nearest
        states, and the step that made it false."""
        for claim in self.false:
            ends: Counter[tuple[int, str]] = Counter()
            for node in self.chosen:
                nodes, steps = self.search.nodes.trail(int(node))
                true = np.flatnonzero(claim.is_true(*self.search.nodes.of(np.array(nodes))))
                if len(true):
                    last = int(true[0])
                    step = self.instance.spell_step(self.instance.step(steps[last - 1]))
                    _, monitors = self.search.nodes.of(np.array([nodes[last]]))
                    ends[int(self.search.monitor.passed.read(monitors)[0]), step] += 1
            for (passed, step), _ in ends.most_common(2):
                stages = self.search.script.stages
                when = f"after {stages[passed - 1].line.spot}" if passed else "at the beginning"
                yield f"{claim.says}: last true {when}, until {step}"

    # -------------------------------------------------------------------------------------------------- nearest steps

    def _candidates(self) -> list[tuple[str, str]]:
        """The steps whose results are nearest to the line, each with what excludes it; the nearest comes first."""
        layout = self.search.cells.layout
        states, monitors = self.search.nodes.of(self.chosen)
        attempts: list[tuple[int, Step, Cells, Tried]] = []
        for row, words in enumerate(states):
            cells = layout.unpack([int(word) for word in words])
            attempts += [(row, step, cells, result) for step, result in self._without_guards(cells)]
        if not attempts:
            return []
        packed = np.array([layout.pack(result.after) for *_, result in attempts], np.uint64).reshape(
            len(attempts), layout.words
        )
        nearness = self._distances(packed, monitors[[row for row, *_ in attempts]])
        # A step that leaves the bounds of the recording is not taken to its end, and comes last.
        is_near = (nearness < self.least) | [
            result.is_cut and self._is_about_leader(step) for _, step, _, result in attempts
        ]
        ranks = {at: (nearness[at], attempts[at][3].false_guards) for at in np.flatnonzero(is_near).tolist()}
        reasons: dict[str, tuple[str, str]] = {}
        for at in sorted(ranks, key=ranks.__getitem__):
            _, step, cells, (after, *_) = attempts[at]
            if step.action not in reasons:
                reason = forbidden(self.search.script, self.search.furthest, step, cells, after)
                if reason is not None:
                    reasons[step.action] = self.instance.spell_step(step), reason
        return list(reasons.values())[:MOST_STEPS]

    def _is_about_leader(self, step: Step) -> bool:
        """Whether the line is a metadata line, and the leader in it is the step's argument `elected` or `leader`."""
        if not isinstance(self.line, Metadata) or self.line.leader is None:
            return False
        ranges = self.instance.argument_ranges[step.action_index]
        named = {choice.parameter.name: ordinal for choice, ordinal in zip(ranges, step.ordinals, strict=True)}
        leader = named.get("elected", named.get("leader"))
        return leader == self.search.script.recording.replica(self.line.leader)

    def _without_guards(self, cells: Cells) -> Iterator[tuple[Step, Tried]]:
        """The steps that write variables of the line's claims, each with its result if its guards are ignored."""
        fields = self._fields(self.claims)
        for step in self._steps:
            function = self.instance.function(step.action_index)
            if function is None or not function.routine.writes & fields:
                continue
            guards: list[bool] = []
            state = State(self.instance, cells)
            ranges = self.instance.argument_ranges[step.action_index]
            arguments = [choice.argument(ordinal) for choice, ordinal in zip(ranges, step.ordinals, strict=True)]
            is_cut = False
            try:
                _unguarded(self.instance.python(function), guards)(state, *arguments)
            except ModelError:  # a guard would have prevented this; the cells written before count
                is_cut = True
            yield step, Tried(state.cells, guards.count(False), is_cut)

    @cached_property
    def _steps(self) -> list[Step]:
        return [step for step in self.instance.steps if step.action not in NEVER]

    @staticmethod
    def _fields(claims: Sequence[Claim]) -> set[str]:
        return {name for claim in claims for name in (*(name for (name, *_), _ in claim.cells), *claim.reads)}

    def _writers(self) -> list[str]:
        """The actions that write a variable of a claim that is true in no state."""
        fields = self._fields(self.false)
        functions = {step.action: self.instance.function(step.action_index) for step in self._steps}
        return [action for action, function in functions.items() if function and function.routine.writes & fields]


def _unguarded(python: Any, guards: list[bool]) -> Any:
    """Return a copy of the action `python` that ignores its guards, and appends the truth of each guard to `guards`."""
    names = {**python.__globals__, "require": lambda truth: guards.append(bool(truth))}
    return FunctionType(python.__code__, names, python.__name__)
