"""Generates the source text of a careful kernel, which continues after the model leaves a declared range.

In:  an `Instance` and its `Layout`.
Out: Python text that defines `expand` and `check`, with the interface of the kernel in checker/compile/lower.py.

After every step and every property, a careful kernel checks whether an index or a value left its declared range. If so,
it only counts the error: the step has no successor, and the property is not judged there. This takes time, so a careful
kernel runs only after a kernel of checker/compile/lower.py has stopped.
"""

from __future__ import annotations

from collections.abc import Sequence

from isrcheck.checker.compile.layout import Layout
from isrcheck.checker.compile.lower import KernelText
from isrcheck.checker.compile.lowering.routines import INDENT
from isrcheck.checker.outcome.kernel_results import EntryKind, offset_of_steps
from isrcheck.checker.reductions.reduction import Reduction
from isrcheck.models.language.declare import Kind
from isrcheck.models.language.model import Instance, Property
from isrcheck.models.language.syntax import Function


def lower_carefully(instance: Instance, layout: Layout, reduction: Reduction | None = None) -> str:
    """The source text of the careful kernel, with what it does to make states fewer."""
    return CarefulText(instance, layout, reduction).text()


class CarefulText(KernelText):
    """Collects the functions of a careful kernel."""

    def text(self) -> str:
        """The source text of the kernel."""
        self.parts.append(CLEAR)
        return super().text()

    def _judge(self, number: int, prop: Property, found: str, states: Sequence[str], state: str) -> list[str]:
        is_sometimes = prop.kind is Kind.SOMETIMES
        failure = [] if is_sometimes else self._judge_failure(number, prop, state)
        if prop.premise is not None:
            failure += [f"if failed({state}):", f"    clear({state})", f"    {self._note(number, EntryKind.ERRED)}"]
        return [
            f"found = {found}",
            f"if {' or '.join(f'failed({one})' for one in states)}:",
            *(f"    clear({one})" for one in states),
            f"    {self._note(number, EntryKind.ERRED)}",
            f"elif {'found' if is_sometimes else 'not found'}:",
            *(f"    {line}" for line in failure or [self._note(number, EntryKind.FOUND)]),
        ]

    def _judge_failure(self, number: int, prop: Property, state: str) -> list[str]:
        if prop.permitted is None:
            return super()._judge_failure(number, prop, state)
        return [
            f"permitted = {self.function(prop.permitted)}({state})",
            f"if failed({state}):",
            f"    clear({state})",
            f"    {self._note(number, EntryKind.ERRED)}",
            "elif permitted:",
            f"    {self._note(number, EntryKind.PERMITTED)}",
            "else:",
            f"    {self._note(number, EntryKind.FOUND)}",
        ]

    def _taken(self) -> str:
        """Steps that leave a declared range count as well."""
        return f"{super()._taken()} + load_word(results + {offset_of_steps(len(self.instance.model.properties))})"

    def _unknown(self) -> str:
        """A step after which it is unknown whether the state is within the constraint leaves a declared range."""
        return UNKNOWN.format(row=offset_of_steps(len(self.instance.model.properties)))

    def _attempts(self, slot: int, function: Function) -> list[str]:
        """The loops over an action's arguments; as in the reference semantics, every step evaluates every guard."""
        choices, indent = self.instance.argument_ranges[slot], 3 * INDENT
        if any(choice.count == 0 for choice in choices):
            return [f"{indent}pass"]
        step, lines = self._step_number(slot), []
        for depth, choice in enumerate(choices):
            lines.append(f"{indent}for p{depth} in range({choice.count}):")
            indent += INDENT
        arguments = "".join(f", p{depth}" for depth in range(len(choices)))
        return [
            *lines,
            f"{indent}is_enabled = {self.function(function, is_action=True)}(s{arguments})",
            f"{indent}if failed(s):",
            f"{indent}    clear(s)",
            f"{indent}    note(results + {offset_of_steps(len(self.instance.model.properties))}, i, {step})",
            f"{indent}    copy(before, s)",
            f"{indent}elif is_enabled:",
            f"{indent}    count = {self._emit(step, slot)}",
        ]


UNKNOWN = """
    if failed(after):
        clear(after)
        note(results + {row}, state, step)
        copy(before, after)
        return count"""

CLEAR = '''def clear(state):
    """Forget that an index or a value has left its range."""
    store_word(state, 0)'''
