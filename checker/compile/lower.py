"""Builds the functions of one kernel from a model's functions, as LLVM's assembly.

In:  an `Instance` and its `Layout`. Only the bounds of the configuration are compiled in: switches, client settings
     and the alternatives of actions are values in the working buffer, so that one kernel serves all protocols with the
     same layout and actions.
Out: the functions `expand`, `check` and `reduce` (checker/compile/lowering/frame.py).

Every model function becomes one kernel function (checker/compile/lowering/routines.py). The kernel stops as soon as a
value leaves its declared range; the kernel of checker/compile/careful.py then continues.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from isrcheck.checker.compile.layout import Layout
from isrcheck.checker.compile.lowering.canonical import Canonical, clear
from isrcheck.checker.compile.lowering.elements import Elements
from isrcheck.checker.compile.lowering.frame import Frame, pause
from isrcheck.checker.compile.lowering.guards import argument_limits, conjuncts, guarded_loops
from isrcheck.checker.compile.lowering.ranges import Ranges
from isrcheck.checker.compile.lowering.routines import function_of
from isrcheck.checker.compile.packing import copier, least_packer, packer, unpacker
from isrcheck.checker.compile.staging.code import Apart, Code, Value, Variable
from isrcheck.checker.compile.staging.instructions import READ, failed
from isrcheck.checker.compile.staging.module import Module
from isrcheck.checker.outcome.kernel_results import offset_of_status
from isrcheck.checker.reductions.reduction import Reduction
from isrcheck.models.language.ir.building import routine_of
from isrcheck.models.language.ir.nodes import Routine
from isrcheck.models.language.layouts import FieldLayout
from isrcheck.models.language.model import ArgumentRange, Instance
from isrcheck.models.language.syntax import Function


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
            clear(code, state, dead, self.layout.bits)
        if symmetry is None:
            self.pack(state, words)
        else:
            least = least_packer(self.layout)
            Canonical(self.module, symmetry, self.layout.bits, self.pack, least).keep(code, state, words)

    def function(self, function: Function) -> Any:
        """The kernel's function for a property or a helper of the model."""
        return self.routine(routine_of(function))

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
                            self.attempt(code, at, i, slot, routine_of(alternative))
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
            guarded_loops(self, code, routine, choices, at.before, guards) as arguments,
            code.when(code.call(step, at.s, *arguments)),
        ):
            with code.when(failed(at.s)):
                code.return_(pause(at.results + self.status, state, at.count, 1))
            self.emit_step(code, at, state, slot, arguments)

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
