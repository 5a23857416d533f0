"""The text that all kernels share: reading states from the visited set, judging them, and writing successors.

In:  an `Instance`; checker/compile/lower.py replaces the names in braces.
Out: functions in the small subset of Python that checker/compile/native.py compiles.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from isrcheck.checker.outcome.kernel_results import PREMISE, EntryKind, judgement, offset, offset_of_outside
from isrcheck.models.language.declare import WHOLE, Kind
from isrcheck.models.language.in_range import DEADLOCK
from isrcheck.models.language.model import Instance, Property
from isrcheck.models.language.syntax import Function

PRELUDE = '''def note(result, state, step):
    """Count one finding of a property, and keep the state and step of the first."""
    if load_word(result) == 0:
        store_word(result + {state_offset}, state)
        store_word(result + {step_offset}, step)
    store_word(result, load_word(result) + 1)


def pause(results, status, state, count, has_failed):
    """Write the status: the next state, the number of successors, whether the model left a declared range."""
    store_word(results + status, state)
    store_word(results + status + {successors_offset}, count)
    store_word(results + status + {failed_offset}, has_failed)
    return count'''

MARK = '''def mark(result, state, judgement):
    """Write the judgement of one state into the bytes whose address stands in the result, if there is one."""
    if load_word(result + {state_offset}) != 0:
        store_byte(load_word(result + {state_offset}) + state, judgement)'''

EMIT = '''def emit(before, after, words, parents, steps, fired, active, results, count, state, step, slot):
    """Write one successor, judge the transition, and undo the step in the working buffer."""{constraint}
    store_word(fired + slot * 8, load_word(fired + slot * 8) + 1)
    observe_step(before, after, slot, active, results, state, step){outside}
    store_half(parents + count * 4, state)
    store_half(steps + count * 4, step)
    keep(after, words + count * {words_size})
    copy(before, after)
    return count + 1'''

CONSTRAINT = """
    within = {within}"""

OUTSIDE = """
    if within == 0:
        note(results + {row}, state, step)
        observe_outside(after, active, results, state, step)
        copy(before, after)
        return count"""

EXPAND_HEAD = '''def expand(store, first, last, before, s, words, parents, steps, room, fired, active, results):
    """Successors of states first..last-1, in order, as long as there is room for those of a whole state."""
    count = 0
    for i in range(first, last):
        if count + {steps} > room:
            return pause(results, {status}, i, count, 0)
        known = {taken}
        unpack(store + i * {words_size}, before)
        copy(before, s)'''

EXPAND_TAIL = """        if {taken} == known and read(active, {deadlock}) != 0:
            judge_end(before, results, i, -1)
        if failed(s) or failed(before):
            return pause(results, {status}, i, count, 1)
    return pause(results, {status}, last, count, 0)"""

CHECK = '''def check(store, first, last, s, active, results):
    """Judge states first..last-1; returns the state at which the model left a declared range, or `last`."""
    for i in range(first, last):
        unpack(store + i * {words_size}, s)
        observe_state(s, active, results, i, -1)
        if failed(s):
            return i
    return last'''

KEEP = """def keep(state, words):{first}
    pack(state, words)"""

REDUCE = '''def reduce(words, count, s):
    """Replace each of the packed states by the one that the search keeps in its place."""
    for i in range(0, count):
        unpack(words + i * {words_size}, s)
        keep(s, words + i * {words_size})
    return count'''


def is_marked(prop: Property) -> bool:
    """Whether the kernel marks the states for this property: only a complete search knows which of them to count."""
    return prop.kind in WHOLE


class Judging(ABC):
    """Makes the functions of a kernel that judge properties."""

    instance: Instance
    is_outside = False

    @abstractmethod
    def function(self, function: Function, is_action: bool = False, skip: int = 0) -> str:
        """The kernel's name for a model function."""

    def _observe(self, name: str, parameters: str, state: str, properties: Sequence[tuple[int, Property]]) -> str:
        states = parameters.removesuffix(", taken").split(", ")
        lines = [f"def {name}({parameters}, active, results, state, step):"]
        for number, prop in properties:
            arguments = ", ".join(parameter.name for parameter in prop.function.parameters)
            lines.append(f"    if read(active, {number}) != 0:")
            found = f"{self.function(prop.function)}({arguments})"
            lines += (f"        {line}" for line in self._judge(number, prop, found, states, state))
        lines.append("    return")
        return "\n".join(lines)

    def _judge(self, number: int, prop: Property, found: str, states: Sequence[str], state: str) -> list[str]:  # noqa: ARG002 - careful.py reads all states
        """The lines that evaluate the property with this number in `states`, and count the result."""
        if prop.kind is Kind.SOMETIMES:
            return [f"if {found}:", f"    {self._note(number, EntryKind.FOUND)}"]
        return [f"if not {found}:", *(f"    {line}" for line in self._judge_failure(number, prop, state))]

    def _judge_failure(self, number: int, prop: Property, state: str) -> list[str]:
        found, permitted = (self._note(number, kind) for kind in (EntryKind.FOUND, EntryKind.PERMITTED))
        if prop.permitted is None:
            return [found]
        return [f"if {self.function(prop.permitted)}({state}):", f"    {permitted}", "else:", f"    {found}"]

    def _note(self, number: int, kind: EntryKind) -> str:
        note = f"note(results + {offset(number, kind, is_outside=self.is_outside)}, state, step)"
        properties = self.instance.model.properties
        if number == len(properties) or not is_marked(properties[number]):
            return note
        judged, premise = str(judgement(kind)), properties[number].premise
        if premise is not None and kind is not EntryKind.ERRED:
            judged += f" + {PREMISE} * int({self.function(premise)}(s))"
        mark = f"mark(results + {offset(number, EntryKind.FOUND)}, state, {judged})"
        return f"{note}; {mark}" if kind is EntryKind.ERRED else mark

    @property
    def _deadlock(self) -> int:
        """The number of the implicit property `deadlock`."""
        return len(self.instance.model.properties)

    def _taken(self) -> str:
        """The number of steps that were taken so far: it stays as it was in a state without a step."""
        row = offset_of_outside(len(self.instance.model.properties))
        return f"count + load_word(results + {row})" if self.instance.model.constraints else "count"

    def _emit_text(self, words_size: int) -> str:
        """The function that writes a successor; one outside the constraint is judged here, and not written."""
        within = " and ".join(f"{self.function(one)}(after)" for one in self.instance.model.constraints)
        row = offset_of_outside(len(self.instance.model.properties))
        constraint = CONSTRAINT.format(within=f"({within})") + self._unknown() if within else ""
        return EMIT.format(
            words_size=words_size, constraint=constraint, outside=OUTSIDE.format(row=row) if within else ""
        )

    def _unknown(self) -> str:
        """The lines for a successor of which it is unknown whether it is within the constraint: this kernel stops."""
        return ""

    def _observe_outside(self, of_states: Sequence[tuple[int, Property]]) -> str:
        """The function that judges a successor outside the constraint."""
        self.is_outside = True
        text = self._observe("observe_outside", "s", "s", [one for one in of_states if not is_marked(one[1])])
        self.is_outside = False
        return text

    def _judge_end(self) -> str:
        """The function that judges a state without a step."""
        ends = " or ".join(f"{self.function(one)}(s)" for one in self.instance.model.terminals)
        found = f"({ends})" if ends else "False"
        lines = ["def judge_end(s, results, state, step):", *self._judge(self._deadlock, DEADLOCK, found, ["s"], "s")]
        return "\n    ".join([*lines, "return"])
