"""Builds a careful kernel, which continues after the model leaves a declared range.

In:  an `Instance` and its `Layout`.
Out: functions with the interface of those in checker/compile/lower.py.

After every step and every property, a careful kernel checks whether an index or a value left its declared range. If so,
it only counts the error: the step has no successor, and the property is not judged there. This takes time, so a careful
kernel runs only after a kernel of checker/compile/lower.py has stopped.
"""

from __future__ import annotations

from functools import partial

from isrcheck.checker.compile.lower import Expansion, KernelCode
from isrcheck.checker.compile.lowering.frame import Judged, note
from isrcheck.checker.compile.lowering.guards import guarded_loops
from isrcheck.checker.compile.staging.code import Code, Value, Variable
from isrcheck.checker.compile.staging.instructions import failed, load_word, store_word
from isrcheck.checker.outcome.kernel_results import EntryKind, offset_of_steps
from isrcheck.models.language.declare import Kind
from isrcheck.models.language.ir.nodes import Routine
from isrcheck.models.language.model import Property


class CarefulCode(KernelCode):
    """Builds the functions of a careful kernel."""

    def judge(self, code: Code, judged: Judged, number: int, prop: Property, truth: Value) -> None:
        """Count the result of a property, or that it left a declared range."""
        first, *others = judged.states.values()
        with code.when(code.some(failed(first), *(partial(failed, one) for one in others))):
            for state in judged.states.values():
                clear(state)
            self.count(code, judged, number, EntryKind.ERRED)
        if prop.kind is Kind.SOMETIMES:
            with code.otherwise(truth):
                self.count(code, judged, number, EntryKind.FOUND)
            return
        with code.otherwise(lambda: ~truth):
            self.judge_failure(code, judged, number, prop)
            if prop.premise is not None:
                with code.when(failed(judged.last)):
                    clear(judged.last)
                    self.count(code, judged, number, EntryKind.ERRED)

    def judge_failure(self, code: Code, judged: Judged, number: int, prop: Property) -> None:
        """Count a failure of a property, which may be permitted, or leave a declared range where that is asked."""
        if prop.permitted is None:
            self.count(code, judged, number, EntryKind.FOUND)
            return
        is_permitted = self.holds(code, prop.permitted, judged.last)
        with code.when(failed(judged.last)):
            clear(judged.last)
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
        with guarded_loops(self, code, routine, choices, at.before, ()) as arguments:
            is_enabled = code.call(step, at.s, *arguments)
            with code.when(failed(at.s)):
                self.undo(at.before, at.s, at.results, state, self.step_number(code, slot, arguments))
            with code.otherwise(is_enabled):
                self.emit_step(code, at, state, slot, arguments)

    def undo(self, before: Value, after: Value, results: Value, state: Value, step: Value) -> None:
        """Count a step that leaves a declared range, and undo it."""
        clear(after)
        note(results + self._erring, state, step)
        self.copy(before, after)


def clear(state: Value) -> None:
    """Forget that an index or a value has left its range."""
    store_word(state, 0)
