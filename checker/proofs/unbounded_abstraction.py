"""The unbounded abstraction: a model reduced to its fields of fixed size, with any values for open bounds.

Out: an `UnboundedAbstraction`: its steps as formulas over unbounded integers. Every step of the model, for all values
     of open bounds, becomes a step of the abstraction when the other fields are removed.

Open configuration entries have no fixed value; they become integer variables. They are the bounds that are declared
open (log length, number of records), budgets (elections, faults) and client settings. A domain is open if its size
depends on them. An array over an open domain has no cells: reads return any value of its range, writes are ignored. A
loop over an open domain is replaced by its possible effect: each cell and local that the loop writes keeps its value,
or takes a value that an iteration from an arbitrary state writes. If no iteration decreases (or increases) a cell, the
loop as a whole does not either. Steps that leave a declared range are excluded.

The abstraction over-approximates the model: a property that holds in the abstraction holds in the model; a property
that fails in the abstraction may still hold in the model.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from isrcheck.checker.proofs.open_entries import Watched, open_entries
from isrcheck.checker.resources.limits import Answer, FormulaBudget
from isrcheck.checker.symbolic.and_inverter_graph import FALSE, TRUE, AndInverterGraph, Truth
from isrcheck.checker.symbolic.evaluator import Evaluator, Frame, SymbolicState, Value, as_truth
from isrcheck.checker.symbolic.linear_integers import LinearArithmetic, LinearInteger
from isrcheck.checker.symbolic.solver import Solver
from isrcheck.models.language.declarations import Domain, Entry, Subset, size_of
from isrcheck.models.language.ir import nodes as ir
from isrcheck.models.language.ir.nodes import visit
from isrcheck.models.language.model import Instance, Property, run_plain_python
from isrcheck.models.language.reading.reader import Function
from isrcheck.models.language.states import FieldLayout
from isrcheck.models.messages import UsageError

Target = tuple[SymbolicState, int] | ir.Variable
"""Something that a loop writes: a cell of a state, by its number, or a local."""

OPEN = 1 << 40
"""The size of an unbounded domain, or the end of an unbounded range; larger than any fixed size."""


def ends(place: FieldLayout) -> tuple[int | None, int | None]:
    """The least and the greatest value of a field; None where the range has no end."""
    low, high = (None if end == OPEN else end for end in (place.low, place.high))
    return low, high


@dataclass(frozen=True)
class Round:
    """One iteration of a loop: the condition under which the iteration writes each cell or local (`written`), and the
    values of these cells and locals before (`begun`) and after the iteration (`after`)."""

    written: Mapping[Target, int]
    begun: Mapping[Target, Value]
    after: Mapping[Target, Value]


class OpenRangeError(Exception):
    """A comprehension, as in `all(... for i in ...)`, goes through an unbounded range."""


class UnsupportedError(UsageError):
    """The unbounded abstraction does not support a construct; the message says which construct, and where it is."""


Before = tuple[list[list[Value]], dict[ir.Variable, Value], int, int]
"""The state before a loop: the cells, the values of variables, the guards so far, and the range errors so far."""


class AbstractEvaluator(Evaluator):
    """Evaluates a model's functions to formulas, although some domains are open: their sizes are unbounded."""

    def __init__(self, abstraction: Any) -> None:
        super().__init__(abstraction.instance, abstraction.circuit, abstraction.arithmetic)
        self.abstraction = abstraction
        self.layouts = abstraction.layouts
        self.entries: dict[str, Value] = {}
        self.sizes: dict[type[Domain], Value] = {}
        self.written: dict[Target, int] | None = None
        self.looping: Frame | None = None
        self.read: dict[str, dict[tuple[Value, ...], Value]] = {}

    def act(
        self, before: Sequence[Value], function: Function | None, arguments: Sequence[Value]
    ) -> tuple[int, int, list[Value]]:
        """Do what `Evaluator.act` does, but first forget the values that were read from arrays without cells."""
        self.read = {}
        return super().act(before, function, arguments)

    def ask(
        self, function: Function, states: Sequence[Sequence[Value]], taken: Mapping[int, int] | None = None
    ) -> tuple[int, int]:
        """Evaluate a property in states of the abstraction; the result is that of `Evaluator.ask`."""
        self.read = {}
        return super().ask(function, states, taken)

    def entry(self, name: str) -> Value:
        """The value of a configuration entry; for an open entry, an arbitrary value, the same at every reading."""
        if name not in self.abstraction.open:
            return super().entry(name)
        if name not in self.entries:
            declared: Entry = self.instance.model.entries[name]
            self.entries[name] = self.arithmetic.number(declared.least, None if declared.is_bound else declared.most)
        return self.entries[name]

    def _demand(self, literal: int) -> None:
        """Exclude the step if `literal` is false, which means that a value leaves its declared range here."""
        super()._demand(literal)
        if literal != TRUE:
            entry = self.circuit.both(self.frame.entry, self.frame.branch)
            self.alive = self.circuit.both(self.alive, self.circuit.either(-entry, literal))

    # --------------------------------------------------------------------------------------------------------- cells

    def load(self, state: SymbolicState, place: FieldLayout, indices: Sequence[Value]) -> Value:
        """The value of a cell. An array over an open domain has no cells in the abstraction: a read of it returns an
        arbitrary value, the same until the array is written."""
        if OPEN not in place.sizes:
            return super().load(state, place, indices)
        self._note_indices(place, indices)
        values = self.read.setdefault(place.name, {})
        key = (id(state), *indices)
        if key not in values:
            values[key] = self.abstraction.any_value(place)
        return values[key]

    def _note_indices(self, place: FieldLayout, indices: Sequence[Value]) -> None:
        """For an array without cells, record a range error if an index leaves a fixed-size axis; exclude no step."""
        for index, size in zip(indices, place.sizes, strict=True):
            if size != OPEN:
                super()._demand(self.arithmetic.within(self.number(index), 0, size - 1)[0])

    def store(self, state: SymbolicState, place: FieldLayout, indices: Sequence[Value], value: Value) -> None:
        """Write a value to a cell; an array without cells only forgets the values that were read from it."""
        if OPEN in place.sizes:
            self._note_indices(place, indices)
            if not place.field.values.is_flag:
                super()._demand(self.arithmetic.within(self.number(value), *ends(place))[0])
            self.read.pop(place.name, None)
            return
        for cell, condition in self.targets(place, indices):
            self._note((state, cell), condition)
            old = state.cells[cell]
            if place.field.values.is_flag:
                state.cells[cell] = self.choose(condition, as_truth(self.truth(value)), old)
            else:
                inside, written = self.arithmetic.within(self.number(value), *ends(place))
                self._demand(self.circuit.either(-condition, inside))
                state.cells[cell] = self.choose(condition, written, old)

    def assign(self, variable: ir.Variable, value: Value) -> None:
        """Give a local variable a value; within a loop, record that the loop writes the variable."""
        self._note(variable, TRUE)
        super().assign(variable, value)

    def _note(self, target: Target, condition: int) -> None:
        """Within a loop, record that the loop writes `target` under `condition`; ignore locals of called functions."""
        if self.written is not None and (not isinstance(target, ir.Variable) or self.frame is self.looping):
            here = self.circuit.all([self.frame.entry, self.frame.branch, condition])
            self.written[target] = self.circuit.either(self.written.get(target, FALSE), here)

    # --------------------------------------------------------------------------------------------------------- loops

    def size_of(self, domain: type[Domain]) -> Value:
        """The number of elements of a domain; for an open domain, an arbitrary number, the same at every reading."""
        size = self.abstraction.size(domain.size, f"domain {domain.__name__}")
        if size != OPEN:
            return max(0, size)
        if domain not in self.sizes:
            self.sizes[domain] = self.arithmetic.number(0, None)
        return self.sizes[domain]

    def _is_open(self, numbers: ir.Range) -> bool:
        return not all(isinstance(self.number(self.value(end)), int) for end in (numbers.first, numbers.end))

    def fold(self, fold: ir.Fold) -> Value:
        """The result of a fold (`all`, `min`, ...); over an open domain, an arbitrary value, but a sum is refused."""
        frame = self.frame
        values, branch, alive, read, error = frame.values, frame.branch, self.alive, dict(self.read), self.error
        try:
            return super().fold(fold)
        except OpenRangeError:
            frame.values, frame.branch, self.alive, self.read, self.error = values, branch, alive, read, error
        if fold.gathering is ir.Gathering.SUM:
            raise UnsupportedError(
                f"{fold.span.place}: {frame.name} has a sum over an open (unbounded) domain, which a proof for every"
                " length does not support"
            )
        if fold.default is not None:
            self.value(fold.default)
        self._look_into(fold)
        is_truth = fold.gathering in (ir.Gathering.ALL, ir.Gathering.ANY)
        return Truth(self.circuit.variable()) if is_truth else self.arithmetic.number(None, None)

    def range(self, numbers: ir.Range) -> Iterable[tuple[Value, int]]:
        """The numbers of a range whose ends are plain numbers. Raises OpenRangeError if an end is symbolic."""
        if self._is_open(numbers):
            raise OpenRangeError
        return super().range(numbers)

    def _look_into(self, fold: ir.Fold) -> None:
        """Record when a fold leaves a declared range; each variable over an open domain may be any element of it."""
        frame = self.frame
        values, branch, alive, read = frame.values, frame.branch, self.alive, self.read
        frame.values, self.read = dict(values), {}

        def numbers_in(numbers: ir.Range) -> Iterable[tuple[Value, int]]:
            return [self._any_element(numbers)] if self._is_open(numbers) else self.range(numbers)

        for _ in self.combinations(fold.generators, numbers_in, lambda: branch):
            self.value(fold.body)
        frame.values, frame.branch, self.alive, self.read = values, branch, alive, read

    def _any_element(self, numbers: ir.Range) -> tuple[Value, int]:
        low, high = self.ends(numbers)
        element = self.arithmetic.number(None, None)
        compare = self.arithmetic.compare
        return element, self.circuit.both(compare("<=", low, element), compare("<", element, high))

    def loop(self, loop: ir.Loop) -> None:
        """Execute a loop: unroll it, or replace it by its possible effect if its domain is open (see the module)."""
        frame = self.frame
        is_new = loop.variable not in frame.values
        if not self._is_open(loop.range):
            if not is_new:  # a loop variable with an earlier value is written like any other local
                self._note(loop.variable, TRUE)
            super().loop(loop)
            if is_new:
                frame.values.pop(loop.variable, None)
            return
        before = [list(state.cells) for state in frame.states], dict(frame.values), self.alive, self.error
        if self._leaves_everything(loop):
            read = self.read
            self._round(loop, before, {}, {})  # to note its range errors
            self.read = read
            return
        targets: dict[Target, bool] = {}
        while True:  # what an iteration writes may depend on what earlier iterations wrote
            first = self._round(loop, before, targets, {})
            truths = {
                target: targets.get(target, True)
                and _is_truth(self._value_of(target))
                and _is_truth(first.after[target])
                for target in dict.fromkeys([*targets, *first.written])
            }
            if truths == targets:
                break
            targets = truths
        bounds = {target: self._bounds(first, target) for target in targets}
        afterwards: list[tuple[Target, Value]] = []
        for target in targets:
            iteration = self._round(loop, before, targets, bounds)
            was_written = self.circuit.both(self.circuit.variable(), iteration.written.get(target, FALSE))
            afterwards.append((target, self.choose(was_written, iteration.after[target], self._value_of(target))))
        # One more iteration, for a return from within the loop.
        if any(isinstance(node, ir.Return) for node in visit(loop.body)):
            self._round(loop, before, targets, bounds, keep=True)
        self.read = {}
        for target, value in afterwards:
            self._set_value(target, value)
            self._note(target, TRUE)

    def _leaves_everything(self, loop: ir.Loop) -> bool:
        """Whether a loop only writes arrays without cells; if so, forget the values that were read from the arrays."""
        forgotten: set[str] = set()
        for node in visit([loop]):
            match node:
                case ir.Return() | ir.Assign():
                    return False
                case ir.Loop(variable) if variable in self.frame.values:
                    return False
                case ir.Call(routine):
                    forgotten |= routine.writes
                case ir.Store(cell):
                    forgotten.add(cell.field)
        if any(OPEN not in self.layouts[name].sizes for name in forgotten):
            return False
        for name in forgotten:
            self.read.pop(name, None)
        return True

    def _round(
        self,
        loop: ir.Loop,
        before: Before,
        targets: Mapping[Target, bool],
        bounds: Mapping[Target, Sequence[str]],
        *,
        keep: bool = False,
    ) -> Round:
        """Execute one iteration of a loop from arbitrary values (within `bounds`) of the `targets`: cells and locals
        that the loop writes. Then undo its effects, except range errors and (with `keep`) a return in the loop."""
        frame = self.frame
        self.read = {}
        self.error = before[-1]
        # The ends of the range are evaluated before the loop, which may write what they depend on.
        element, inside = self._any_element(loop.range)
        returned, result = frame.returned, frame.result
        begun: dict[Target, Value] = {}
        for target, is_truth in targets.items():
            begun[target] = Truth(self.circuit.variable()) if is_truth else self._any_number(target)
            for sign in bounds.get(target, ()):
                # Only if the loop is reached: otherwise the earlier value may be out of its range.
                stands = self.arithmetic.compare(sign, begun[target], self._value_of(target))
                self.arithmetic.define(begun[target], self.circuit.either(-self._here(), stands))
            self._set_value(target, begun[target])
        is_new = loop.variable not in before[1]
        self._set_value(loop.variable, element)
        branch, outer, around = frame.branch, self.written, self.looping
        frame.branch = self.circuit.both(branch, inside)
        self.written, self.looping = {}, frame
        if not is_new:  # the variable is still visible after the loop
            self._note(loop.variable, TRUE)
        self.block(loop.body)
        written, self.written, self.looping = self.written, outer, around
        if is_new:
            written.pop(loop.variable, None)
        frame.branch = branch
        if not keep:
            frame.returned, frame.result = returned, result
        after = {target: self._value_of(target) for target in [*targets, *written]}
        cells, values, self.alive, _ = before
        self._set_cells(map(list, cells))
        frame.values = dict(values)
        return Round(written, begun, after)

    def _value_of(self, target: Target) -> Value:
        if isinstance(target, ir.Variable):
            return self.frame.values.get(target)
        state, cell = target
        return state.cells[cell]

    def _set_value(self, target: Target, value: Value) -> None:
        if isinstance(target, ir.Variable):
            self.frame.values[target] = value
        else:
            state, cell = target
            state.cells[cell] = value

    def _any_number(self, target: Target) -> Value:
        if isinstance(target, ir.Variable):
            return self.arithmetic.number(None, None)
        _, cell = target
        places = [self.layouts[name] for name in self.abstraction.kept]
        return self.abstraction.any_value(next(one for one in places if cell < one.offset + one.count))

    def _bounds(self, iteration: Round, target: Target) -> Sequence[str]:
        """Relations of a cell to its value before the loop: `>=` if no iteration lowers it, `<=` if none raises it."""
        begun, after = iteration.begun[target], iteration.after[target]
        if isinstance(target, ir.Variable) or not isinstance(begun, LinearInteger):
            return ()
        solver = self.abstraction.solver(self.circuit.budget.deadline)
        signs = (">=", "<=")
        return [sign for sign in signs if solver.check(-self.arithmetic.compare(sign, after, begun)) is Answer.NO]


def _is_truth(value: Value) -> bool:
    return value is None or isinstance(value, bool | Truth)


@dataclass(frozen=True)
class AbstractStep:
    """A step of the abstraction: the action, the arguments (None: any value), the conditions under which it is enabled
    and under which it leaves a range of fixed size, and the cells after the step."""

    action: str
    arguments: tuple[int | None, ...]
    enabled: int
    error: int
    after: Sequence[Value]
    taken: Mapping[int, int]


class UnboundedAbstraction:
    """The abstraction of an instance: a symbolic state `before`, and the steps from it, as formulas in one graph."""

    def __init__(self, instance: Instance, budget: FormulaBudget | None = None) -> None:
        self.instance = instance
        self.circuit = AndInverterGraph(budget)
        self.arithmetic = LinearArithmetic(self.circuit)
        self.open = open_entries(instance)
        self.layouts = self._places()
        self.evaluator = AbstractEvaluator(self)
        self.before = self.new_state()
        self.steps = [step for slot in range(len(instance.model.actions)) for step in self._steps(slot)]

    def size(self, size: Any, place: str) -> int:
        """The value of a declared `size`, or OPEN if it depends on an open configuration entry. Errors name `place`."""
        watched = Watched(self.instance.configuration, self.open)
        number = run_plain_python(self.instance.model.path, place, size_of, size, watched)
        return OPEN if watched.was_asked else int(number)

    def _places(self) -> dict[str, FieldLayout]:
        places = {}
        offset = 0
        for name, declared in self.instance.model.fields.items():
            sizes = tuple(self.size(domain.size, f"field {name}") for domain in declared.over)
            low = self.size(declared.values.low, f"field {name}")
            high = self.size(declared.values.high, f"field {name}")
            place = FieldLayout(name, offset, sizes, low, high, declared)
            places[name] = place
            offset += 0 if OPEN in sizes else place.count
        return places

    @property
    def kept(self) -> list[str]:
        """The names of the fields of fixed size, which the abstraction keeps."""
        return [name for name, place in self.layouts.items() if OPEN not in place.sizes]

    def new_state(self) -> list[Value]:
        """A symbolic state whose cells may have any value of their ranges."""
        return [self.any_value(self.layouts[name]) for name in self.kept for _ in range(self.layouts[name].count)]

    def any_value(self, place: FieldLayout) -> Value:
        """A new symbolic value, which may be any value that the field at `place` may have."""
        if place.field.values.is_flag:
            return Truth(self.circuit.variable())
        return self.arithmetic.number(*ends(place))

    def _steps(self, slot: int) -> Sequence[AbstractStep]:
        function = self.instance.function(slot)
        if function is None:
            return []
        arguments: list[list[tuple[int | None, Value]]] = []
        for position, parameter in enumerate(function.arguments):
            domain = parameter.domain
            assert domain is not None
            size = self.size((domain.of if issubclass(domain, Subset) else domain).size, f"domain {domain.__name__}")
            if size != OPEN:
                choice = self.instance.argument_ranges[slot][position]
                arguments.append([(ordinal, choice.argument(ordinal)) for ordinal in range(choice.count)])
            elif issubclass(domain, Subset):
                raise UnsupportedError(
                    f"{function.path}:{function.line}: {function.name} has an argument that is a subset of an open"
                    " (unbounded) domain, which a proof for every length does not support"
                )
            else:
                arguments.append([(None, self.arithmetic.number(0, None))])
        steps = []
        for chosen in itertools.product(*arguments):
            enabled, error, after = self.evaluator.act(self.before, function, [value for _, value in chosen])
            if enabled != FALSE or error != FALSE:
                name = self.instance.model.actions[slot].name
                numbers = tuple(number for number, _ in chosen)
                steps.append(AbstractStep(name, numbers, enabled, error, after, {slot: TRUE}))
        return steps

    def ask(
        self, prop: Property, states: Sequence[Sequence[Value]], taken: Mapping[int, int] | None = None
    ) -> tuple[int, int]:
        """Two literals: whether a property holds, and whether its evaluation stays in range."""
        holds, _ = self.evaluator.ask(prop.function, states, taken)
        return holds, self.evaluator.alive

    def solver(self, deadline: float = float("inf")) -> Solver:
        """A solver for queries about this abstraction."""
        return Solver(self.circuit, deadline, self.arithmetic)
