"""Lowers a model's functions to the source text of one kernel, which checker/compile/native.py compiles.

In:  an `Instance` and its `Layout`. Only the bounds of the configuration are compiled in: switches, client settings
     and the alternatives of actions are values in the working buffer, so that one kernel serves all protocols with the
     same layout and actions.
Out: Python text that defines `expand` and `check` (checker/compile/lowering/frame.py).

Every model function becomes one kernel function; `s.field[i]` becomes the number at an address; `require(e)` becomes
`if not e: return False`; `all`, `any` and `sum` become loops. The text uses a small subset of Python.

The kernel stops as soon as a value leaves its declared range; the kernel of checker/compile/careful.py then continues.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

from isrcheck.checker.compile.layout import Layout
from isrcheck.checker.compile.lowering.frame import (
    CHECK,
    EXPAND_HEAD,
    EXPAND_TAIL,
    KEEP,
    MARK,
    PRELUDE,
    REDUCE,
    Judging,
    is_marked,
)
from isrcheck.checker.compile.lowering.routines import ARGUMENT, INDENT, RoutineLowering
from isrcheck.checker.outcome.kernel_results import (
    FAILED_OFFSET,
    STATE_OFFSET,
    STEP_OFFSET,
    SUCCESSORS_OFFSET,
    offset_of_status,
)
from isrcheck.checker.reductions.canonical import clear_text, keep_text
from isrcheck.checker.reductions.elements import Elements
from isrcheck.checker.reductions.reduction import Reduction
from isrcheck.models.language.ir.building import routine_of
from isrcheck.models.language.ir.nodes import Routine, Variable
from isrcheck.models.language.layouts import FieldLayout
from isrcheck.models.language.model import ArgumentRange, Instance
from isrcheck.models.language.syntax import Function


def lower(instance: Instance, layout: Layout, reduction: Reduction | None = None) -> tuple[str, bool]:
    """The source text of the kernel, with what it does to make states fewer; and whether it may overreport
    (checker/compile/kernel.py)."""
    kernel = KernelText(instance, layout, reduction)
    return kernel.text(), kernel.elements.goes_on


class KernelText(Judging):
    """Collects the functions of a kernel, callees before callers."""

    def __init__(self, instance: Instance, layout: Layout, reduction: Reduction | None = None) -> None:
        self.instance = instance
        self.layout = layout
        self.reduction = reduction or Reduction()
        self.elements = Elements(self.reduction.symmetry, instance.model.sources)
        offsets = {"successors_offset": SUCCESSORS_OFFSET, "failed_offset": FAILED_OFFSET}
        prelude = PRELUDE.format(state_offset=STATE_OFFSET, step_offset=STEP_OFFSET, **offsets)
        self.parts: list[str] = [prelude]
        if any(is_marked(prop) for prop in instance.model.properties):
            self.parts.append(MARK.format(state_offset=STATE_OFFSET))
        self.status = offset_of_status(len(instance.model.properties))
        self.names: dict[Routine, str] = {}
        self.numbers = itertools.count()

    def text(self) -> str:
        """The whole source text of the kernel."""
        # Every property is compiled, so that a kernel does not depend on which of them a setting switches off.
        properties = self.instance.model.properties
        of_steps = [(number, prop) for number, prop in enumerate(properties) if prop.of_steps]
        of_states = [(number, prop) for number, prop in enumerate(properties) if not prop.of_steps]
        self.parts.append(self._observe("observe_step", "before, after, taken", "after", of_steps))
        self.parts.append(self._observe("observe_state", "s", "s", of_states))
        self.parts += self._keep()
        if self.instance.model.constraints:
            self.parts.append(self._observe_outside(of_states))
        self.parts.append(self._judge_end())
        self.parts.append(self._emit_text(8 * self.layout.words))
        self.parts.append(self._expand())
        self.parts.append(CHECK.format(words_size=8 * self.layout.words))
        self.parts.append(REDUCE.format(words_size=8 * self.layout.words))
        return "\n\n".join(self.parts)

    def _keep(self) -> list[str]:
        """The functions that pack a state, after what makes states fewer."""
        symmetry, dead = self.reduction.symmetry, self.reduction.dead
        first = "\n    clear_dead(state)" if dead else ""
        clear = [clear_text(dead, self.layout.bits)] if dead else []
        keep = KEEP.format(first=first) if symmetry is None else keep_text(symmetry, self.layout.bits, first)
        return [*clear, keep]

    def function(self, function: Function, is_action: bool = False, skip: int = 0) -> str:
        """The kernel's name for a model function; a new one is added to the kernel, without its first `skip` guards."""
        limits = argument_limits(self, function) if is_action else {}
        return self.routine(routine_of(function), limits, is_action=is_action, skip=skip)

    def routine(
        self, routine: Routine, limits: Mapping[Variable, int] = {}, *, is_action: bool = False, skip: int = 0
    ) -> str:
        """The same for a routine, given limits of its parameters."""
        if routine not in self.names:
            name = self.names[routine] = f"{routine.name}_{next(self.numbers)}"
            text = RoutineLowering(self, routine, limits).text(name, is_action=is_action, skip=skip)
            self.parts.append(self.elements.noted(name, text))
        return self.names[routine]

    def first_byte(self, place: FieldLayout) -> int:
        """Where the cells of a field begin in a working buffer."""
        return self.layout.bits[place.offset].byte if place.count else self.layout.first_cell

    def setting(self, entry: str) -> tuple[int, int]:
        """Where a working buffer has a setting, and in how many bytes."""
        place = self.layout.setting(entry)
        return place.byte, place.bytes

    def _expand(self) -> str:
        lines = [
            EXPAND_HEAD.format(
                steps=self.instance.first_steps[-1],
                status=self.status,
                words_size=8 * self.layout.words,
                taken=self._taken(),
            )
        ]
        for slot, model_slot in enumerate(self.instance.model.actions):
            if self.instance.alternatives[slot] is None:  # the protocol does not have this action
                continue
            lines.append(f"        chosen = read(before, {self.layout.first_choice + slot})")
            for alternative, function in enumerate(model_slot.alternatives):
                lines.append(f"        if chosen == {alternative}:")
                lines += self._attempts(slot, function)
        lines.append(EXPAND_TAIL.format(status=self.status, taken=self._taken(), deadlock=self._deadlock))
        return "\n".join(lines)

    def _attempts(self, slot: int, function: Function) -> list[str]:
        """The loops over an action's arguments. A guard is evaluated in the outermost loop that binds everything it
        reads, but never before a guard that precedes it in the action. It reads the state in `before`, which no action
        changes, so that the compiler need not read a cell again after a step."""
        choices, indent = self.instance.argument_ranges[slot], 3 * INDENT
        if any(choice.count == 0 for choice in choices):
            return [f"{indent}pass"]  # there are no steps, so no guard is evaluated
        lines = [line for _, line in guarded_loops(self, function, choices, indent)]
        indent += len(lines) * INDENT
        # What follows the guards is a function of its own.
        name = self.function(function, is_action=True, skip=len(routine_of(function).guards))
        arguments = "".join(f", p{depth}" for depth in range(len(choices)))
        lines += [
            f"{indent}if {name}(s{arguments}):",
            f"{indent}    if failed(s):",
            f"{indent}        return pause(results, {self.status}, i, count, 1)",
            f"{indent}    count = {self._emit(self._step_number(slot), slot)}",
        ]
        return lines

    def choices(self, function: Function) -> Sequence[ArgumentRange]:
        """The ranges of the arguments of an action's alternative."""
        slot = next(n for n, one in enumerate(self.instance.model.actions) if function in one.alternatives)
        return self.instance.argument_ranges[slot]

    def placed(self, conditions: Sequence[str], depth: int) -> tuple[list[str], list[str]]:
        """Of the conditions that must be true, those to be evaluated inside `depth` loops, and those that wait.

        A condition in which an index may leave its range is evaluated exactly if all those before it are true, as in
        the reference semantics. Others are evaluated as soon as the loops bind what they read.
        """
        known: list[str] = []
        waiting: list[str] = []
        for text in conditions:
            may_fail = self.elements.may_fail(text)
            is_bound = all(int(number) < depth for number in ARGUMENT.findall(text))
            waits = not is_bound or (may_fail and waiting) or any(map(self.elements.may_fail, waiting))
            (waiting if waits else known).append(text)
        return known, waiting

    def _step_number(self, slot: int) -> str:
        """The number of an action's step, from its arguments p0, p1, ..."""
        first, after = self.instance.first_steps[slot : slot + 2]
        step, stride = str(first), after - first
        for depth, choice in enumerate(self.instance.argument_ranges[slot]):
            stride //= choice.count
            step += f" + p{depth} * {stride}"
        return step

    def _emit(self, step: str, slot: int) -> str:
        return f"emit(before, s, words, parents, steps, fired, active, results, count, i, {step}, {slot})"


def argument_limits(kernel: KernelText, function: Function) -> dict[Variable, int]:
    """The numbers of elements of the domains of an action's parameters."""
    pairs = zip(routine_of(function).arguments, kernel.choices(function), strict=True)
    return {parameter: choice.elements for parameter, choice in pairs if not choice.is_subset}


def guarded_loops(
    kernel: KernelText, function: Function, choices: Sequence[ArgumentRange], indent: str, *, hoists: bool = True
) -> list[tuple[int, str]]:
    """The loops over the arguments of a function, with its leading guards if it `hoists` them. Returns lines, each in
    the block of the one before, with the number of the argument (-1: guards)."""
    routine = routine_of(function)
    lowering = RoutineLowering(kernel, routine, argument_limits(kernel, function))
    lowering.rename_parameters()
    texts = (text for guard in routine.guards for text in lowering.conjuncts(guard.condition)) if hoists else ()
    waiting = list(dict.fromkeys(texts))  # a condition that was true stays true until the step is taken
    lines: list[tuple[int, str]] = []
    for depth in range(len(choices) + 1):
        known, waiting = kernel.placed(waiting, depth)
        if known:  # in one line, because Python limits the depth of indentation
            lines.append((-1, f"{indent}if {' and '.join(known)}:"))
            indent += INDENT
        if depth < len(choices):
            lines.append((depth, f"{indent}for p{depth} in range({choices[depth].count}):"))
            indent += INDENT
    return lines
