"""Builds the functions of one kernel from a model's functions.

`expand` writes the successors of states in the visited set, `check` evaluates properties in states, `reduce` replaces
states by those that a reduction keeps, and `conditions` says which conditions of fairness are true before steps. Only
the bounds of the configuration are compiled in. Switches, client settings and the chosen alternative of each action are
values in the working buffer, so that one kernel serves all protocols with the same layout and actions.

Every function of the model becomes one function of the kernel: a cell is the number at an address, a guard that is
false returns 0, a fold (`all`, `any`, `sum`, `min`, `max`) is a loop. The kernel stops as soon as a value leaves its
declared range; then a careful kernel, which counts such errors, continues.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, assert_never

from isrcheck.checker.compile.layout import Layout
from isrcheck.checker.compile.packing import Canonical, clear_dead, copier, packer, unpacker
from isrcheck.checker.compile.ranges import Elements, Limits, Ranges, argument_limits, conjuncts, is_of_loop, placed
from isrcheck.checker.compile.staging import (
    READ,
    STORE,
    WRITE,
    Apart,
    Buffer,
    Bytes,
    Code,
    Halves,
    Module,
    Number,
    Operand,
    Staged,
    Value,
    Variable,
    Words,
    element,
    evaluated,
    failed,
    load_word,
    store_half,
    store_word,
)
from isrcheck.checker.reductions.reduction import Reduction
from isrcheck.checker.results.kernel_results import (
    FAILED_OFFSET,
    PREMISE,
    STATE_OFFSET,
    STEP_OFFSET,
    SUCCESSORS_OFFSET,
    EntryKind,
    judgement,
    offset,
    offset_of_outside,
    offset_of_status,
    offset_of_steps,
)
from isrcheck.models.language.declarations import WHOLE, Kind
from isrcheck.models.language.ir import nodes as ir
from isrcheck.models.language.ir.nodes import Expression, Routine, increase, variables, visit
from isrcheck.models.language.model import DEADLOCK, ArgumentRange, Instance, Property
from isrcheck.models.language.reading.reader import Function
from isrcheck.models.language.states import FieldLayout


def function_of(
    kernel: KernelCode, routine: ir.Routine, limits: Limits | None = None, *, is_action: bool = False, skip: int = 0
) -> Any:
    """The kernel's function for a routine of the model, without the first `skip` statements of the routine. `limits`
    bounds the routine's parameters. The function for an action returns whether the action is enabled."""
    body = routine.body[skip:]

    def build(code: Code, *parameters: Value) -> None:
        places = {
            variable: code.variable(value) if variable in routine.assignments else value
            for variable, value in zip(routine.parameters, parameters, strict=True)
        }
        Lowering(kernel, code, routine, places, kernel.ranges.limits(routine, body, limits or {})).statements(body)
        if is_action and not code.has_ended:
            code.return_(True)

    return kernel.module.define(f"model.{routine.name}", _kinds(routine.parameters), build)


def _kinds(parameters: Iterable[ir.Variable]) -> list[type[Value]]:
    """Return the types of a function's parameters: `Apart` or `Buffer` for a state, `Value` for any other parameter. A
    state is `Apart` (no other parameter points to its buffer) only if it is the only state: two states may share a
    buffer."""
    are_states = [parameter.role is ir.Role.STATE for parameter in parameters]
    return [(Apart if sum(are_states) == 1 else Buffer) if is_state else Value for is_state in are_states]


@dataclass
class Lowering:
    """Translates a routine of the model into `code`. `places` maps each variable to its value; `limits` maps some
    variables to a number above every value of the variable."""

    kernel: KernelCode
    code: Code
    routine: Routine
    places: dict[ir.Variable, Value]
    limits: Limits

    # --------------------------------------------------------------------------------------------------- statements

    def statements(self, statements: Iterable[ir.Statement]) -> None:
        """Build the code of the statements, in order, up to a statement that ends the function."""
        for statement in statements:
            if not self.code.has_ended:
                self.statement(statement)

    def statement(self, statement: ir.Statement) -> None:
        """Build the code of one statement of the model."""
        code = self.code
        match statement:
            case ir.Assign(variable, value):
                self.assign(variable, self.value(value))
            case ir.Store():
                self.store(statement)
            case ir.Branch(cases, otherwise):
                with code.when(self.value(cases[0].condition)):
                    self.statements(cases[0].body)
                for case in cases[1:]:
                    with code.otherwise(partial(self.value, case.condition)):
                        self.statements(case.body)
                if otherwise:
                    with code.otherwise():
                        self.statements(otherwise)
            case ir.Loop(variable, numbers, body):
                with code.loop(*self.range(numbers)) as number:
                    if is_of_loop(self.routine, variable):
                        self.places[variable] = number
                    else:
                        self.assign(variable, number)
                    self.statements(body)
            case ir.Require(ir.Fold(ir.Gathering.ALL) as fold):
                self.guard(self.folded(fold))
            case ir.Require(condition):
                self.guard(self.value(condition))
            case ir.Return(ir.Fold(ir.Gathering.ALL | ir.Gathering.ANY) as fold):
                code.return_(self.folded(fold))
            case ir.Return(value):
                code.return_(self.value(value))
            case ir.Do(call):
                self.value(call)
            case ir.CollectiveStatement():
                raise ir.NotInTheCoreError(statement.span.place)
            case _:
                assert_never(statement)

    def guard(self, holds: Number) -> None:
        """Build code that returns "not enabled" from the function of an action unless its guard holds."""
        if holds is not True:
            with self.code.when(~holds):
                self.code.return_(False)

    def assign(self, variable: ir.Variable, value: Number) -> None:
        """Build the assignment of a value to a local variable of the routine."""
        place = self.places.get(variable)
        if place is None:
            place = self.places[variable] = self.code.variable()
        assert isinstance(place, Variable)
        place.set(value)

    def store(self, store: ir.Store) -> None:
        """Build the storing of a value in a cell, or an addition to a cell; the cell's address is computed once."""
        total = increase(store)
        state, place, offset = self.place(store.cell)
        if total is None:
            value = self.value(store.value)
        else:
            value = self.added(READ[place.bytes](state, offset), total.terms[1:])
        WRITE[place.bytes](state, offset, value, place.low, place.high)

    # -------------------------------------------------------------------------------------------------- expressions

    def value(self, expression: ir.Expression) -> Value:
        """Build the code of an expression, and return its result."""
        code, value = self.code, self.value
        match expression:
            case ir.Constant(number):
                return code.constant(number)
            case ir.Local(variable):
                return self.places[variable]
            case ir.Setting(entry):
                return self.setting(entry)
            case ir.Size(domain):
                return code.constant(self.kernel.instance.size_of(domain))
            case ir.Cell():
                state, place, offset = self.place(expression)
                cell = READ[place.bytes](state, offset)
                return cell.is_true if place.field.values.is_flag else cell
            case ir.Element(subset, index):
                elements = self.kernel.ranges.elements(subset)
                assert elements < 64, "a subset fits into one word: MOST_STEPS limits its size"
                place_ = self.index(self.state, index, elements)
                return (self.places[subset] >> place_ & 1).is_true
            case ir.IsTaken(taken, action):
                slot = [each.name for each in self.kernel.instance.model.actions].index(action)
                return code.compared("==", self.places[taken], slot)
            case ir.Not(operand):
                return ~value(operand)
            case ir.And(parts):
                return code.every(*self.delayed(parts))
            case ir.Or(parts):
                return code.some(*self.delayed(parts))
            case ir.Compare(left, _, right):
                return code.compared(self.kernel.elements.sign(expression), value(left), value(right))
            case ir.Chain(first, links):
                return code.every(*self.compared(value(first), links))
            case ir.Among(element_, choices):
                return code.among(value(element_), map(value, choices))
            case ir.Negative(operand):
                return -value(operand)
            case ir.Sum(terms):
                return self.added(value(terms[0].value), terms[1:])
            case ir.Arithmetic(left, operation, right):
                return self.calculated(value(left), operation, value(right))
            case ir.Choose(options, otherwise):
                pairs = [(partial(value, option.condition), partial(value, option.value)) for option in options]
                return code.choice(pairs, partial(value, otherwise))
            case ir.Extremum(extreme, parts):
                return code.extremum("<" if extreme is ir.Extreme.LEAST else ">", *map(value, parts))
            case ir.Fold():
                return self.fold_call(expression)
            case ir.Call(routine, arguments):
                return code.call(self.kernel.routine(routine), *map(value, arguments))
            case ir.CollectiveExpression():
                raise ir.NotInTheCoreError(expression.span.place)
            case _:
                assert_never(expression)

    @property
    def state(self) -> Value:
        """The routine's first state. Its buffer holds the settings; its error word records invalid subset indices."""
        return self.places[self.routine.states[0]]

    def delayed(self, expressions: Iterable[ir.Expression]) -> list[Callable[[], Value]]:
        """For each expression, a function that builds the expression's code when the function is called."""
        return [partial(self.value, expression) for expression in expressions]

    def compared(self, first: Value, links: Iterable[ir.Link]) -> list[Callable[[], Value]]:
        """For each comparison of a chain `a < b < c`, a function that builds its code; `b` is evaluated only once."""
        left = first

        def compare(link: ir.Link) -> Value:
            nonlocal left
            before, left = left, self.value(link.right)
            return self.code.compared(link.sign.value, before, left)

        return [partial(compare, link) for link in links]

    def added(self, total: Value, terms: Iterable[ir.Term]) -> Value:
        """Build the sum of a total and further terms, each of which is added or subtracted."""
        for term in terms:
            total = total - self.value(term.value) if term.is_subtracted else total + self.value(term.value)
        return total

    def calculated(self, left: Value, operation: ir.Operation, right: Value) -> Value:
        """Build a product, a quotient or a remainder."""
        match operation:
            case ir.Operation.TIMES:
                return left * right
            case ir.Operation.DIVIDED_BY:
                return left // right
            case ir.Operation.MODULO:
                return left % right
            case _:
                assert_never(operation)

    def setting(self, name: str) -> Value:
        """The value of a setting: a bound is compiled in, any other setting is read from the working buffer."""
        entry = self.kernel.instance.model.entries[name]
        if entry.is_bound:
            return self.code.constant(getattr(self.kernel.instance.configuration, name))
        place = self.kernel.layout.setting(name)
        number = READ[place.bytes](self.state, place.byte)
        return number.is_true if entry.values is bool else number

    # -------------------------------------------------------------------------------------------------------- cells

    def place(self, cell: ir.Cell) -> tuple[Value, FieldLayout, Value]:
        """Returns a cell's state (an address), the layout of its field, and its byte offset in the working buffer."""
        state, place = self.places[cell.state], self.kernel.instance.layouts[cell.field]
        layout, moving = self.kernel.layout, []
        first = layout.bits[place.offset].byte if place.count else layout.first_cell
        stride = place.count * place.bytes
        for index, size in zip(cell.indices, place.sizes, strict=True):
            stride //= size or 1
            number = self.kernel.ranges.number(index)
            if number is not None and 0 <= number < size:
                first += number * stride
            else:
                moving.append(self.index(state, index, size) * stride)
        return state, place, sum(moving, self.code.constant(first))

    def index(self, state: Value, index: ir.Expression, size: int) -> Value:
        """Return the value of an index, and build code that checks the value unless it is always in 0..size-1."""
        value = self.value(index)
        return value if self.kernel.ranges.is_safe(index, size, self.limits) else element(state, value, size)

    # --------------------------------------------------------------------------------------------- ranges and folds

    def range(self, numbers: ir.Range) -> list[Number]:
        """The first number of a range, and the number after its last one."""
        ends = [(end, self.kernel.ranges.number(end)) for end in (numbers.first, numbers.end)]
        return [self.value(end) if number is None else number for end, number in ends]

    def folded(self, fold: ir.Fold) -> Number:
        """Build the loops of a fold (`all`, `any`, `sum`, `min`, `max`), and return the result of the completed loops.
        In an `all` or `any`, the first element that decides the result makes the function that is being built return
        this result, unless the fold must visit all elements."""
        code, gathering = self.code, fold.gathering
        is_all, is_extremum = gathering is ir.Gathering.ALL, gathering in (ir.Gathering.LEAST, ir.Gathering.GREATEST)
        gathers = is_extremum or gathering is ir.Gathering.SUM
        goes_on = not gathers and self.kernel.elements.must_go_on(fold, self.limits)
        result: Number = is_all
        if gathers:
            result = total = code.variable(0 if fold.default is None else self.value(fold.default))
        elif goes_on:
            result = total = code.variable(is_all)
        is_first = code.variable(True) if is_extremum else None
        with ExitStack() as loops:
            for generator in fold.generators:
                number = loops.enter_context(code.loop(*self.range(generator.range)))
                self.places[generator.variable] = number
                if generator.conditions:
                    loops.enter_context(code.when(code.every(*self.delayed(generator.conditions))))
            body = self.value(fold.body)
            if gathering is ir.Gathering.SUM:
                total += body
            elif is_first is not None:
                sign = "<" if gathering is ir.Gathering.LEAST else ">"
                with code.when(code.some(is_first, lambda: code.compared(sign, body, total))):
                    total.set(body)
                    is_first.set(False)
            else:
                with code.when(~body if is_all else body):
                    if goes_on:
                        total.set(not is_all)
                    else:
                        code.return_(not is_all)
        return result

    def fold_call(self, fold: ir.Fold) -> Value:
        """Build a function for a fold inside an expression, and return the result of a call of this function."""
        read = variables(fold)
        if any(isinstance(node, ir.Element | ir.Setting) for node in visit([fold])):
            read.add(self.routine.states[0])
        parameters = sorted(read, key=lambda variable: variable.name)

        def build(code: Code, *values: Value) -> None:
            places = dict(zip(parameters, values, strict=True))
            code.return_(Lowering(self.kernel, code, self.routine, places, self.limits).folded(fold))

        function = self.kernel.module.define(f"model.{self.routine.name}.fold", _kinds(parameters), build)
        return self.code.call(function, *(self.places[variable] for variable in parameters))


@Staged
def note(code: Code, result: Value, state: Value, step: Value) -> None:
    """Add 1 to the counter at address `result`; if the counter was 0, also store `state` and `step` behind it."""
    with code.when(load_word(result) == 0):
        store_word(result + STATE_OFFSET, state)
        store_word(result + STEP_OFFSET, step)
    store_word(result, load_word(result) + 1)


@Staged
def mark(code: Code, result: Value, state: Value, judged: Value) -> None:
    """If the table row at address `result` holds the address of an array, write `judged` to the state's byte in it."""
    with code.when(load_word(result + STATE_OFFSET)):
        STORE[1](load_word(result + STATE_OFFSET) + state, judged)


@Staged
def pause(code: Code, status: Value, state: Value, count: Value, has_failed: Value) -> None:
    """End a call of `expand`: write to `status` the state at which the next call begins, the number of successors, and
    whether a value left its range; return the number of successors."""
    store_word(status, state)
    store_word(status + SUCCESSORS_OFFSET, count)
    store_word(status + FAILED_OFFSET, has_failed)
    code.return_(count)


def is_marked(prop: Property) -> bool:
    """Whether the kernel writes this property's result for each state: true if only a complete search can judge it."""
    return prop.kind in WHOLE


@dataclass(frozen=True)
class Judged:
    """A state or step in which properties are evaluated, with everything that their conditions may read."""

    states: Mapping[str, Value]
    """The states, by the names of parameters; a failure can be permitted in the last one."""
    results: Value
    state: Value
    step: Value
    """The numbers of the state, and of the step that leads there."""
    others: Mapping[str, Value] = field(default_factory=dict)
    """Other parameters of properties, by their names."""
    is_outside: bool = False
    """Whether the state is outside the constraint."""

    @property
    def last(self) -> Value:
        """The state in which properties are evaluated; for a step, the state after the step."""
        *_, last = self.states.values()
        return last


Loop = Callable[[int, Sequence[Value]], AbstractContextManager[Value]]
"""The loop over the argument with this number, inside the loops over the arguments before it."""


class KernelCode:
    """Builds the functions of a kernel in LLVM's `module`; a function is built before the functions that call it."""

    counts_errors = False
    """Whether properties are judged on although the model has left a declared range."""

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
        """Build all functions of the kernel."""
        for build in (self.expand, self.check, self.reduce, self.conditions, self.may_overreport):
            self.module.function(build, is_exported=True)

    def may_overreport(self, code: Code) -> None:
        """Build the function that returns `Kernel.may_overreport`, after the functions that decide this value."""
        code.return_(self.elements.goes_on)

    def keep(self, code: Code, state: Value, words: Value) -> None:
        """Apply the reduction to `state`, which may change, and pack the resulting state to address `words`."""
        symmetry, dead = self.reduction.symmetry, self.reduction.dead
        if dead:
            clear_dead(code, state, dead, self.layout.bits)
        if symmetry is None:
            self.pack(state, words)
        else:
            Canonical(self.module, symmetry, self.layout).keep(code, state, words)

    def routine(self, routine: Routine) -> Any:
        """The kernel's function for a property or a helper of the model."""
        if routine not in self.functions:
            self.functions[routine] = function_of(self, routine)
        return self.functions[routine]

    def step(self, routine: Routine, choices: Sequence[ArgumentRange], *, skip: int) -> Any:
        """The function for an action without its first `skip` guards. It returns whether the action is enabled."""
        return function_of(self, routine, argument_limits(routine, choices), is_action=True, skip=skip)

    def holds(self, code: Code, function: Function, *states: Number) -> Value:
        """Whether a function of the model (a property, constraint, ...) is true in a state, or for a step."""
        return code.call(self.routine(function.routine), *states)

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
        """Evaluate the properties of steps for one step, and count their results."""
        judged = Judged({"before": before, "after": after}, results, state, step, {"taken": taken})
        self._observe(code, active, judged, lambda prop: prop.of_steps)

    def observe_state(self, code: Code, s: Apart, active: Value, results: Value, state: Value, step: Value) -> None:
        """Evaluate the properties of states in one state, and count their results."""
        self._observe(code, active, Judged({"s": s}, results, state, step), lambda prop: not prop.of_steps)

    def observe_outside(self, code: Code, s: Apart, active: Value, results: Value, state: Value, step: Value) -> None:
        """Evaluate the properties of states in a successor outside the constraint, and count their results."""
        judged = Judged({"s": s}, results, state, step, is_outside=True)
        self._observe(code, active, judged, lambda prop: not (prop.of_steps or is_marked(prop)))

    def judge_end(self, code: Code, s: Apart, results: Value, state: Value, step: Value) -> None:
        """Evaluate the implicit property `deadlock` in a state without steps: false unless the model may end there."""
        ends = [partial(self.holds, code, terminal, s) for terminal in self.instance.model.terminals]
        truth = code.some(*ends) if ends else code.constant(False)
        self.judge(code, Judged({"s": s}, results, state, step), self._deadlock, DEADLOCK, truth)

    def _observe(self, code: Code, active: Value, judged: Judged, is_observed: Callable[[Property], bool]) -> None:
        """Evaluate the properties that `is_observed` selects, if their byte in the array `active` is not 0."""
        values = {**judged.states, **judged.others}
        # Every property is compiled, so that a kernel does not depend on which of them a setting switches off.
        for number, prop in enumerate(self.instance.model.properties):
            if is_observed(prop):
                with code.when(READ[1](active, number) != 0):
                    arguments = [values[parameter.name] for parameter in prop.function.parameters]
                    self.judge(code, judged, number, prop, self.holds(code, prop.function, *arguments))

    def judge(self, code: Code, judged: Judged, number: int, prop: Property, truth: Value) -> None:
        """Count a result if `truth`, the property's value, is true (for `sometimes`) or false (other properties)."""
        if prop.kind is Kind.SOMETIMES:
            with self.when(code, judged, number, truth, *judged.states.values()):
                self.count(code, judged, number, EntryKind.FOUND)
        else:
            with self.when(code, judged, number, lambda: ~truth, *judged.states.values()):
                self.judge_failure(code, judged, number, prop)
                if self.counts_errors and prop.premise is not None:
                    with code.when(failed(judged.last)):
                        forget(judged.last)
                        self.count(code, judged, number, EntryKind.ERRED)

    def judge_failure(self, code: Code, judged: Judged, number: int, prop: Property) -> None:
        """Count a failure of a property, as a permitted failure if the property's condition `permitted` is true."""
        if prop.permitted is None:
            self.count(code, judged, number, EntryKind.FOUND)
            return
        is_permitted = self.holds(code, prop.permitted, judged.last)
        with self.when(code, judged, number, is_permitted, judged.last):
            self.count(code, judged, number, EntryKind.PERMITTED)
        with code.otherwise():
            self.count(code, judged, number, EntryKind.FOUND)

    @contextmanager
    def when(self, code: Code, judged: Judged, number: int, condition: Operand, *states: Value) -> Iterator[None]:
        """Build an `if condition:` around the code that the `with` block builds. If a value left its declared range in
        one of `states`, a careful kernel does not execute that code, but counts an error of property `number`."""
        if not self.counts_errors:
            with code.when(evaluated(condition)):
                yield
            return
        first, *others = states
        with code.when(code.some(failed(first), *(partial(failed, state) for state in others))):
            for state in states:
                forget(state)
            self.count(code, judged, number, EntryKind.ERRED)
        with code.otherwise(condition):
            yield

    def count(self, code: Code, judged: Judged, number: int, kind: EntryKind) -> None:
        """Count a property's result; if the property `is_marked`, write the state's result, and count errors only."""
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
        return len(self.instance.model.properties)

    # ---------------------------------------------------------------------------------------------------- successors

    def taken(self, count: Variable, results: Value) -> Value:
        """Return a count to which every step adds 1: a state whose expansion does not change the count has no steps."""
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
        """Evaluate the properties of steps for one step, write the successor, and restore the working buffer. If the
        successor is outside the constraint, evaluate properties of states in it instead of writing it."""
        constraints = self.instance.model.constraints
        within = code.constant(True)
        if constraints:
            within = code.every(*(partial(self.holds, code, constraint, after) for constraint in constraints))
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

    def refuse_unknown(
        self, code: Code, before: Value, after: Value, results: Value, count: Value, state: Value, step: Value
    ) -> None:
        """Do nothing about a step after which the constraint cannot be evaluated, because this kernel stops anyway."""

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
        """Write the successors of states first..last-1, in order, to arrays that have `room` places. Stops before a
        state if fewer places are left than the model has steps, since each step may lead to a successor."""
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
                # If an argument has no value, there are no steps, so no guard is evaluated.
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
        """Build code that takes all steps of `routine`, an alternative of an action. The guards read the buffer
        `before`, which steps do not change, so that a cell need not be read again after a step. The statements after
        the guards become a separate function, which changes another buffer."""
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
        """Loop over all arguments for which the routine's guards are true in `state`, and yield these arguments.
        Each guard is evaluated in the outermost loop that binds everything it reads."""
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
        """Write the successor to which an action with these arguments leads; `at.s` holds the successor."""
        step = self.step_number(code, slot, arguments)
        arrays = at.words, at.parents, at.steps, at.fired, at.active, at.results
        at.count.set(code.call(self.emit, at.before, at.s, *arrays, at.count, state, step, slot))

    def step_number(self, code: Code, slot: int, arguments: Sequence[Value]) -> Value:
        """The number, among all steps of the model, of the step of action `slot` with these arguments."""
        first, after = self.instance.first_steps[slot : slot + 2]
        number, stride = code.constant(first), after - first
        for argument, choice in zip(arguments, self.instance.argument_ranges[slot], strict=True):
            stride //= choice.count
            number = number + argument * stride
        return number

    # ----------------------------------------------------------------------------------------------- other functions

    def check(
        self, code: Code, store: Value, first: Value, last: Value, s: Apart, active: Value, results: Value
    ) -> None:
        """Evaluate properties in states first..last-1. Stops at a state in which a value leaves its range, and returns
        this state's number; otherwise returns `last`."""
        with code.loop(first, last) as i:
            self.unpack(store + i * self.words_size, s)
            code.call(self.observe_state, s, active, results, i, -1)
            with code.when(failed(s)):
                code.return_(i)
        code.return_(last)

    def reduce(self, code: Code, words: Value, count: Value, s: Apart) -> None:
        """Replace each of `count` packed states by the state that the search keeps instead."""
        with code.loop(0, count) as i:
            place = words + i * self.words_size
            self.unpack(place, s)
            code.call(self.keep, s, place)
        code.return_(count)

    def conditions(
        self,
        code: Code,
        store: Value,
        parents: Halves,
        steps: Halves,
        count: Value,
        s: Apart,
        active: Bytes,
        met: Words,
    ) -> None:
        """For each of `count` steps from states of the store, write a word to `met`: bit k says whether condition k of
        the model's fairness belongs to the step's action and is true before the step. Conditions whose byte in `active`
        is 0 are left out. Stops at a step for which a value leaves its range; returns this step's place, or `count`."""
        instance = self.instance
        with code.loop(0, count) as at:
            self.unpack(store + parents[at] * self.words_size, s)
            found = code.variable(0)
            for slot, action in enumerate(instance.model.actions):
                first, after = instance.first_steps[slot : slot + 2]
                own = [name for names in instance.model.conditions.values() for name in names]
                if action.name in own and first < after:
                    with code.when(code.every(steps[at] >= first, steps[at] < after)):
                        arguments = self.arguments_of(steps[at] - first, instance.argument_ranges[slot])
                        for number, (condition, names) in enumerate(instance.model.conditions.items()):
                            if action.name in names:
                                own_arguments = [arguments[each.name] for each in condition.arguments]
                                is_met = partial(self.holds, code, condition, s, *own_arguments)
                                with code.when(code.every(active[number] != 0, is_met)):
                                    found |= 1 << number
            with code.when(failed(s)):
                code.return_(at)
            met[at] = found
        code.return_(count)

    def arguments_of(self, combination: Value, choices: Sequence[ArgumentRange]) -> dict[str, Value]:
        """The arguments of a step, by the names of the parameters. `combination` is the step's place in its action."""
        arguments: dict[str, Value] = {}
        for choice in reversed(choices):
            arguments[choice.parameter.name] = combination % choice.count
            combination //= choice.count
        return arguments


@dataclass(frozen=True)
class Expansion:
    """The addresses and the counter that `expand` passes to the code of every action."""

    before: Value
    s: Value
    """The working buffers with a state and with its successor."""
    words: Value
    parents: Value
    steps: Value
    fired: Value
    active: Value
    results: Value
    """The addresses that `emit` gets."""
    count: Variable
    """The number of successors."""


# ---------------------------------------------------------------------------------------------------- careful kernels


class CarefulCode(KernelCode):
    """Builds the functions of a careful kernel, which continues where the ordinary kernel stops.

    After every step and every property, it checks whether an index or a value left its declared range. If so, it counts
    an error; the step then has no successor, and the property has no result there. These checks take time, so a careful
    kernel runs only after the ordinary kernel has stopped.
    """

    counts_errors = True

    def taken(self, count: Variable, results: Value) -> Value:
        """Return `KernelCode.taken` plus the number of steps that leave a declared range, which have no successor."""
        return super().taken(count, results) + load_word(results + offset_of_steps(self._deadlock))

    def refuse_unknown(
        self, code: Code, before: Value, after: Value, results: Value, count: Value, state: Value, step: Value
    ) -> None:
        """If the constraint cannot be evaluated in a successor, count the step as an error and write no successor."""
        with code.when(failed(after)):
            self.undo(before, after, results, state, step)
            code.return_(count)

    def attempt(self, code: Code, at: Expansion, state: Value, slot: int, routine: Routine) -> None:
        """Take all steps of an alternative; the step's function evaluates the guards, as in the reference semantics."""
        choices = self.instance.argument_ranges[slot]
        step = self.step(routine, choices, skip=0)
        with self.guarded_loops(code, routine, choices, at.before, ()) as arguments:
            is_enabled = code.call(step, at.s, *arguments)
            with code.when(failed(at.s)):
                self.undo(at.before, at.s, at.results, state, self.step_number(code, slot, arguments))
            with code.otherwise(is_enabled):
                self.emit_step(code, at, state, slot, arguments)

    def undo(self, before: Value, after: Value, results: Value, state: Value, step: Value) -> None:
        """Count a step that leaves a declared range, and copy the state before the step back to the working buffer."""
        forget(after)
        note(results + offset_of_steps(self._deadlock), state, step)
        self.copy(before, after)


def forget(state: Value) -> None:
    """Clear the error word of a working buffer, which says that an index or a value has left its range."""
    store_word(state, 0)
