"""Builds the functions of one kernel from a model's functions.

In:  an `Instance` and its `Layout`. Only the bounds of the configuration are compiled in: switches, client settings
     and the alternatives of actions are values in the working buffer, so that one kernel serves all protocols with the
     same layout and actions.
Out: the functions `expand`, `check` and `reduce` (checker/compile/lowering/frame.py).

Every model function becomes one kernel function (checker/compile/lowering/routines.py). The kernel stops as soon as a
value leaves its declared range; then a careful kernel goes on, which counts such errors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

from isrcheck.checker.compile.layout import Layout
from isrcheck.checker.compile.lowering.canonical import Canonical, clear_dead
from isrcheck.checker.compile.lowering.elements import Elements
from isrcheck.checker.compile.lowering.frame import Frame, Judged, note, pause
from isrcheck.checker.compile.lowering.guards import argument_limits, conjuncts, placed
from isrcheck.checker.compile.lowering.ranges import Ranges
from isrcheck.checker.compile.lowering.routines import Lowering, function_of
from isrcheck.checker.compile.packing import copier, least_packer, packer, unpacker
from isrcheck.checker.compile.staging.code import Apart, Code, Value, Variable
from isrcheck.checker.compile.staging.instructions import READ, failed, load_word, store_word
from isrcheck.checker.compile.staging.module import Module
from isrcheck.checker.outcome.kernel_results import EntryKind, offset_of_status, offset_of_steps
from isrcheck.checker.reductions.reduction import Reduction
from isrcheck.models.language.declarations import Kind
from isrcheck.models.language.ir.nodes import Expression, Routine
from isrcheck.models.language.model import ArgumentRange, Instance, Property
from isrcheck.models.language.reading.reader import Function
from isrcheck.models.language.states import FieldLayout

Loop = Callable[[int, Sequence[Value]], AbstractContextManager[Value]]
"""The loop over the argument with this number, inside the loops over the arguments before it."""


class KernelCode(Frame):
    """Builds the functions of a kernel in a module, each before those that call it."""

    def __init__(self, module: Module, instance: Instance, layout: Layout, reduction: Reduction | None = None) -> None:
        self.module = module
        self.instance = instance
        self.layout = layout
        self.words_size = 8 * layout.words
        self.pack, self.unpack, self.copy = packer(layout), unpacker(layout), copier(layout)
        self.reduction = reduction or Reduction()
        self.ranges = Ranges(instance)
        self.elements = Elements(self.reduction.symmetry, instance.model.sources, self.ranges)
        self.status = offset_of_status(len(instance.model.properties))
        self.functions: dict[Routine, Any] = {}

    def build(self) -> None:
        """Build the whole kernel."""
        for build in (self.expand, self.check, self.reduce, self.may_overreport):
            self.module.function(build, is_exported=True)

    def may_overreport(self, code: Code) -> None:
        """Return whether some fold goes on to its end (checker/compile/kernel.py). It is built last."""
        code.return_(self.elements.goes_on)

    def keep(self, code: Code, state: Value, words: Value) -> None:
        """Pack a state, after what makes states fewer; it may be permuted."""
        symmetry, dead = self.reduction.symmetry, self.reduction.dead
        if dead:
            clear_dead(code, state, dead, self.layout.bits)
        if symmetry is None:
            self.pack(state, words)
        else:
            least = least_packer(self.layout)
            Canonical(self.module, symmetry, self.layout.bits, self.pack, least).keep(code, state, words)

    def function(self, function: Function) -> Any:
        """The kernel's function for a property or a helper of the model."""
        return self.routine(function.routine)

    def routine(self, routine: Routine) -> Any:
        """The same for a routine."""
        if routine not in self.functions:
            self.functions[routine] = function_of(self, routine)
        return self.functions[routine]

    def step(self, routine: Routine, choices: Sequence[ArgumentRange], *, skip: int) -> Any:
        """The kernel's function for an action, without its first `skip` guards; it returns whether it is enabled."""
        return function_of(self, routine, argument_limits(routine, choices), is_action=True, skip=skip)

    def first_byte(self, place: FieldLayout) -> int:
        """Where the cells of a field begin in a working buffer."""
        return self.layout.bits[place.offset].byte if place.count else self.layout.first_cell

    def setting(self, entry: str) -> tuple[int, int]:
        """Where a working buffer has a setting, and in how many bytes."""
        place = self.layout.setting(entry)
        return place.byte, place.bytes

    # --------------------------------------------------------------------------------------------------------- steps

    def expand(
        self,
        code: Code,
        store: Value,
        first: Value,
        last: Value,
        before: Apart,
        s: Apart,
        words: Value,
        parents: Value,
        steps: Value,
        room: Value,
        fired: Value,
        active: Value,
        results: Value,
    ) -> None:
        """Successors of states first..last-1, in order, as long as there is room for those of a whole state."""
        at = Expansion(before, s, words, parents, steps, fired, active, results, code.variable(0))
        status = results + self.status
        with code.loop(first, last) as i:
            with code.when(at.count + self.instance.first_steps[-1] > room):
                code.return_(pause(status, i, at.count, 0))
            taken = self.taken(at.count, results)
            self.unpack(store + i * self.words_size, before)
            self.copy(before, s)
            for slot, action in enumerate(self.instance.model.actions):
                if self.instance.alternatives[slot] is None:  # the protocol does not have this action
                    continue
                chosen = READ[1](before, self.layout.first_choice + slot)
                # Where an argument has no value there are no steps, so no guard is evaluated.
                if all(choice.count for choice in self.instance.argument_ranges[slot]):
                    for number, alternative in enumerate(action.alternatives):
                        with code.when(chosen == number):
                            self.attempt(code, at, i, slot, alternative.routine)
            with code.when(
                code.every(self.taken(at.count, results) == taken, partial(READ[1], active, self._deadlock))
            ):
                code.call(self.judge_end, before, results, i, -1)
            with code.when(code.some(failed(s), partial(failed, before))):
                code.return_(pause(status, i, at.count, 1))
        code.return_(pause(status, last, at.count, 0))

    def attempt(self, code: Code, at: Expansion, state: Value, slot: int, routine: Routine) -> None:
        """Take all steps of an action's alternative. What follows the guards is a function of its own. The guards read
        the state in `before`, which no action changes, so that the compiler need not read a cell again after a step."""
        choices = self.instance.argument_ranges[slot]
        step = self.step(routine, choices, skip=len(routine.guards))
        guards = conjuncts(routine)
        with (
            self.guarded_loops(code, routine, choices, at.before, guards) as arguments,
            code.when(code.call(step, at.s, *arguments)),
        ):
            with code.when(failed(at.s)):
                code.return_(pause(at.results + self.status, state, at.count, 1))
            self.emit_step(code, at, state, slot, arguments)

    @contextmanager
    def guarded_loops(
        self,
        code: Code,
        routine: Routine,
        choices: Sequence[ArgumentRange],
        state: Value,
        guards: Sequence[Expression],
        loop: Loop | None = None,
    ) -> Iterator[Sequence[Value]]:
        """The loops over the arguments of a routine, with guards, which read this state. What is built inside gets the
        arguments, for which all guards are true."""
        limits = self.ranges.limits(routine, guards, argument_limits(routine, choices))
        lowering = Lowering(self, code, routine, {routine.states[0]: state}, limits)
        arguments: list[Value] = []
        with ExitStack() as loops:
            for depth in range(len(choices) + 1):
                ready, guards = placed(self.ranges, guards, set(routine.arguments[depth:]), limits)
                if ready:
                    loops.enter_context(code.when(code.every(*lowering.delayed(ready))))
                if depth < len(choices):
                    each = code.loop(0, choices[depth].count) if loop is None else loop(depth, arguments)
                    arguments.append(loops.enter_context(each))
                    lowering.places[routine.arguments[depth]] = arguments[-1]
            yield arguments

    def emit_step(self, code: Code, at: Expansion, state: Value, slot: int, arguments: Sequence[Value]) -> None:
        """Write the successor that an action has made with these arguments."""
        step = self.step_number(code, slot, arguments)
        arrays = at.words, at.parents, at.steps, at.fired, at.active, at.results
        at.count.set(code.call(self.emit, at.before, at.s, *arrays, at.count, state, step, slot))

    def step_number(self, code: Code, slot: int, arguments: Sequence[Value]) -> Value:
        """The number of an action's step."""
        first, after = self.instance.first_steps[slot : slot + 2]
        number, stride = code.constant(first), after - first
        for argument, choice in zip(arguments, self.instance.argument_ranges[slot], strict=True):
            stride //= choice.count
            number = number + argument * stride
        return number


@dataclass(frozen=True)
class Expansion:
    """What the steps of all states need: the working buffers with a state and with its successor, the addresses of what
    `emit` writes, and the number of successors."""

    before: Value
    s: Value
    words: Value
    parents: Value
    steps: Value
    fired: Value
    active: Value
    results: Value
    count: Variable


# ---------------------------------------------------------------------------------------------------- careful kernels


class CarefulCode(KernelCode):
    """Builds the functions of a careful kernel, which goes on where the other one stops.

    After every step and every property, it checks whether an index or a value left its declared range. If so, it only
    counts the error: the step has no successor, and the property is not judged there. This takes time, so a careful
    kernel runs only after the other one has stopped.
    """

    def judge(self, code: Code, judged: Judged, number: int, prop: Property, truth: Value) -> None:
        """Count the result of a property, or that it left a declared range."""
        first, *others = judged.states.values()
        with code.when(code.some(failed(first), *(partial(failed, one) for one in others))):
            for state in judged.states.values():
                forget(state)
            self.count(code, judged, number, EntryKind.ERRED)
        if prop.kind is Kind.SOMETIMES:
            with code.otherwise(truth):
                self.count(code, judged, number, EntryKind.FOUND)
            return
        with code.otherwise(lambda: ~truth):
            self.judge_failure(code, judged, number, prop)
            if prop.premise is not None:
                with code.when(failed(judged.last)):
                    forget(judged.last)
                    self.count(code, judged, number, EntryKind.ERRED)

    def judge_failure(self, code: Code, judged: Judged, number: int, prop: Property) -> None:
        """Count a failure of a property, which may be permitted, or leave a declared range where that is asked."""
        if prop.permitted is None:
            self.count(code, judged, number, EntryKind.FOUND)
            return
        is_permitted = self.holds(code, prop.permitted, judged.last)
        with code.when(failed(judged.last)):
            forget(judged.last)
            self.count(code, judged, number, EntryKind.ERRED)
        with code.otherwise(is_permitted):
            self.count(code, judged, number, EntryKind.PERMITTED)
        with code.otherwise():
            self.count(code, judged, number, EntryKind.FOUND)

    def taken(self, count: Variable, results: Value) -> Value:
        """The number of steps that were taken so far; those that leave a declared range count as well."""
        return super().taken(count, results) + load_word(results + self._erring)

    @property
    def _erring(self) -> int:
        """Where steps that leave a declared range are counted."""
        return offset_of_steps(len(self.instance.model.properties))

    def refuse_unknown(
        self, code: Code, before: Value, after: Value, results: Value, count: Value, state: Value, step: Value
    ) -> None:
        """A step after which it is unknown whether the state is within the constraint leaves a declared range."""
        with code.when(failed(after)):
            self.undo(before, after, results, state, step)
            code.return_(count)

    def attempt(self, code: Code, at: Expansion, state: Value, slot: int, routine: Routine) -> None:
        """Take all steps of an action's alternative. As in the reference semantics, each evaluates every guard."""
        choices = self.instance.argument_ranges[slot]
        step = self.step(routine, choices, skip=0)
        with self.guarded_loops(code, routine, choices, at.before, ()) as arguments:
            is_enabled = code.call(step, at.s, *arguments)
            with code.when(failed(at.s)):
                self.undo(at.before, at.s, at.results, state, self.step_number(code, slot, arguments))
            with code.otherwise(is_enabled):
                self.emit_step(code, at, state, slot, arguments)

    def undo(self, before: Value, after: Value, results: Value, state: Value, step: Value) -> None:
        """Count a step that leaves a declared range, and undo it."""
        forget(after)
        note(results + self._erring, state, step)
        self.copy(before, after)


def forget(state: Value) -> None:
    """Forget that an index or a value has left its range."""
    store_word(state, 0)
