"""The code that all kernels share: reading states from the visited set, judging them, and writing successors.

In:  an `Instance`; checker/compile/lower.py adds the steps.
Out: functions of machine code.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from isrcheck.checker.compile.staging.code import Apart, Code, Number, Operation, Value, Variable
from isrcheck.checker.compile.staging.instructions import (
    READ,
    failed,
    load_word,
    store_byte,
    store_half,
    store_word,
)
from isrcheck.checker.compile.staging.module import Staged
from isrcheck.checker.outcome.kernel_results import (
    FAILED_OFFSET,
    PREMISE,
    STATE_OFFSET,
    STEP_OFFSET,
    SUCCESSORS_OFFSET,
    EntryKind,
    judgement,
    offset,
    offset_of_outside,
)
from isrcheck.models.language.declarations import WHOLE, Kind
from isrcheck.models.language.model import DEADLOCK, Instance, Property
from isrcheck.models.language.reading.reader import Function


@Staged
def note(code: Code, result: Value, state: Value, step: Value) -> None:
    """Count one finding of a property, and keep the state and step of the first."""
    with code.when(load_word(result) == 0):
        store_word(result + STATE_OFFSET, state)
        store_word(result + STEP_OFFSET, step)
    store_word(result, load_word(result) + 1)


@Staged
def mark(code: Code, result: Value, state: Value, judged: Value) -> None:
    """Write the judgement of one state into the bytes whose address stands in the result, if there is one."""
    with code.when(load_word(result + STATE_OFFSET)):
        store_byte(load_word(result + STATE_OFFSET) + state, judged)


@Staged
def pause(code: Code, status: Value, state: Value, count: Value, has_failed: Value) -> None:
    """Write the status: the next state, the number of successors, whether the model left a declared range."""
    store_word(status, state)
    store_word(status + SUCCESSORS_OFFSET, count)
    store_word(status + FAILED_OFFSET, has_failed)
    code.return_(count)


def is_marked(prop: Property) -> bool:
    """Whether the kernel marks the states for this property: only a complete search knows which of them to count."""
    return prop.kind in WHOLE


@dataclass(frozen=True)
class Judged:
    """What is judged: the states by the names of parameters, of which the last one can be permitted; where the results
    are; the numbers of the state and of the step that leads there; other parameters by their names; and whether the
    state is outside the constraint."""

    states: Mapping[str, Value]
    results: Value
    state: Value
    step: Value
    others: Mapping[str, Value] = field(default_factory=dict)
    is_outside: bool = False

    @property
    def last(self) -> Value:
        """The state, or that after the step."""
        *_, last = self.states.values()
        return last


class Frame(ABC):
    """Builds the functions of a kernel but for the steps."""

    instance: Instance
    words_size: int
    pack: Operation
    unpack: Operation
    copy: Operation

    @abstractmethod
    def function(self, function: Function, /) -> Any:
        """The kernel's function for a function of the model."""

    @abstractmethod
    def keep(self, code: Code, state: Value, words: Value) -> None:
        """Pack a state, after what makes states fewer."""

    def holds(self, code: Code, function: Function, *states: Number) -> Value:
        """Whether a function of the model is true in a state, or for a step."""
        return code.call(self.function(function), *states)

    # ------------------------------------------------------------------------------------------------------- judging

    def observe_step(
        self,
        code: Code,
        before: Apart,
        after: Apart,
        taken: Value,
        active: Value,
        results: Value,
        state: Value,
        step: Value,
    ) -> None:
        """Judge a step."""
        judged = Judged({"before": before, "after": after}, results, state, step, {"taken": taken})
        self._observe(code, active, judged, (one for one in self._properties() if one[1].of_steps))

    def observe_state(self, code: Code, s: Apart, active: Value, results: Value, state: Value, step: Value) -> None:
        """Judge a state."""
        judged = Judged({"s": s}, results, state, step)
        self._observe(code, active, judged, (one for one in self._properties() if not one[1].of_steps))

    def observe_outside(self, code: Code, s: Apart, active: Value, results: Value, state: Value, step: Value) -> None:
        """Judge a successor outside the constraint."""
        judged = Judged({"s": s}, results, state, step, is_outside=True)
        here = ((number, prop) for number, prop in self._properties() if not prop.of_steps and not is_marked(prop))
        self._observe(code, active, judged, here)

    def judge_end(self, code: Code, s: Apart, results: Value, state: Value, step: Value) -> None:
        """Judge a state without a step."""
        ends = [partial(self.holds, code, one, s) for one in self.instance.model.terminals]
        truth = code.some(*ends) if ends else code.constant(False)
        self.judge(code, Judged({"s": s}, results, state, step), self._deadlock, DEADLOCK, truth)

    def _properties(self) -> Iterable[tuple[int, Property]]:
        # Every property is compiled, so that a kernel does not depend on which of them a setting switches off.
        return enumerate(self.instance.model.properties)

    def _observe(self, code: Code, active: Value, judged: Judged, properties: Iterable[tuple[int, Property]]) -> None:
        values = {**judged.states, **judged.others}
        for number, prop in properties:
            with code.when(READ[1](active, number) != 0):
                arguments = [values[parameter.name] for parameter in prop.function.parameters]
                self.judge(code, judged, number, prop, self.holds(code, prop.function, *arguments))

    def judge(self, code: Code, judged: Judged, number: int, prop: Property, truth: Value) -> None:
        """Count the result of the property with this number."""
        if prop.kind is Kind.SOMETIMES:
            with code.when(truth):
                self.count(code, judged, number, EntryKind.FOUND)
        else:
            with code.when(~truth):
                self.judge_failure(code, judged, number, prop)

    def judge_failure(self, code: Code, judged: Judged, number: int, prop: Property) -> None:
        """Count a failure of a property, which may be permitted."""
        if prop.permitted is None:
            self.count(code, judged, number, EntryKind.FOUND)
            return
        with code.when(self.holds(code, prop.permitted, judged.last)):
            self.count(code, judged, number, EntryKind.PERMITTED)
        with code.otherwise():
            self.count(code, judged, number, EntryKind.FOUND)

    def count(self, code: Code, judged: Judged, number: int, kind: EntryKind) -> None:
        """Count a result of the property with this number, or mark the state."""
        prop = self.instance.model.properties[number] if number < self._deadlock else DEADLOCK
        if not is_marked(prop) or kind is EntryKind.ERRED:
            row = offset(number, kind, is_outside=judged.is_outside)
            note(judged.results + row, judged.state, judged.step)
        if is_marked(prop):
            judgement_: Number = judgement(kind)
            if prop.premise is not None and kind is not EntryKind.ERRED:
                judgement_ = self.holds(code, prop.premise, judged.last) * PREMISE + judgement_
            mark(judged.results + offset(number, EntryKind.FOUND), judged.state, judgement_)

    @property
    def _deadlock(self) -> int:
        """The number of the implicit property `deadlock`."""
        return len(self.instance.model.properties)

    # ---------------------------------------------------------------------------------------------------- successors

    def taken(self, count: Variable, results: Value) -> Value:
        """The number of steps that were taken so far: it stays as it was in a state without a step."""
        if self.instance.model.constraints:
            return count + load_word(results + offset_of_outside(self._deadlock))
        return count.get()

    def emit(
        self,
        code: Code,
        before: Apart,
        after: Apart,
        words: Value,
        parents: Value,
        steps: Value,
        fired: Value,
        active: Value,
        results: Value,
        count: Value,
        state: Value,
        step: Value,
        slot: Value,
    ) -> None:
        """Write one successor, judge the transition, and undo the step in the working buffer. A successor outside the
        constraint is judged here, and not written."""
        constraints = self.instance.model.constraints
        within = code.constant(True)
        if constraints:
            within = code.every(*(partial(self.holds, code, one, after) for one in constraints))
            self.refuse_unknown(code, before, after, results, count, state, step)
        store_word(fired + slot * 8, load_word(fired + slot * 8) + 1)
        code.call(self.observe_step, before, after, slot, active, results, state, step)
        if constraints:
            with code.when(~within):
                note(results + offset_of_outside(self._deadlock), state, step)
                code.call(self.observe_outside, after, active, results, state, step)
                self.copy(before, after)
                code.return_(count)
        store_half(parents + count * 4, state)
        store_half(steps + count * 4, step)
        code.call(self.keep, after, words + count * self.words_size)
        self.copy(before, after)
        code.return_(count + 1)

    def refuse_unknown(  # noqa: B027 - a careful kernel has something to do
        self, code: Code, before: Value, after: Value, results: Value, count: Value, state: Value, step: Value
    ) -> None:
        """Refuse a successor of which it is unknown whether it is within the constraint: this kernel stops."""

    # ----------------------------------------------------------------------------------------------- other functions

    def check(
        self, code: Code, store: Value, first: Value, last: Value, s: Apart, active: Value, results: Value
    ) -> None:
        """Judge states first..last-1; returns the state at which the model left a declared range, or `last`."""
        with code.loop(first, last) as i:
            self.unpack(store + i * self.words_size, s)
            code.call(self.observe_state, s, active, results, i, -1)
            with code.when(failed(s)):
                code.return_(i)
        code.return_(last)

    def reduce(self, code: Code, words: Value, count: Value, s: Apart) -> None:
        """Replace each of the packed states by the one that the search keeps in its place."""
        with code.loop(0, count) as i:
            place = words + i * self.words_size
            self.unpack(place, s)
            code.call(self.keep, s, place)
        code.return_(count)
