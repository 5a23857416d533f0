"""Lowers one routine of a model to the source text of a function of the kernel.

In:  a `Routine`, and the kernel that it becomes a part of (checker/compile/lower.py).
Out: lines of a small subset of Python: `s.field[i]` is the number at an address, `require(e)` becomes
     `if not e: return False`, and folds become loops.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from itertools import count
from typing import Any, Protocol, assert_never

from isrcheck.models.language.declare import Subset
from isrcheck.models.language.ir.nodes import (
    Among,
    And,
    Arithmetic,
    Assign,
    Branch,
    Call,
    Cell,
    Chain,
    Choose,
    CollectiveExpression,
    CollectiveStatement,
    Compare,
    Constant,
    Do,
    Element,
    Expression,
    Extremum,
    Fold,
    Gathering,
    IsTaken,
    Local,
    Loop,
    Negative,
    Not,
    NotInTheCoreError,
    Or,
    Range,
    Require,
    Return,
    Role,
    Routine,
    Setting,
    Size,
    Statement,
    Store,
    Sum,
    Term,
    Variable,
)
from isrcheck.models.language.ir.walking import increase, variables, visit
from isrcheck.models.language.layouts import FieldLayout
from isrcheck.models.language.model import Instance

INDENT = "    "

ARGUMENT = re.compile(r"\bp(\d+)\b")
"""The argument of an action in a guard: names of the model end with an underscore."""

READ = {1: "read", 2: "read16", 4: "read32"}
"""The operations that read a number from a working buffer, by its number of bytes."""

WRITE = {1: "write", 2: "write16", 4: "write32"}
"""The operations that write a number to a working buffer, by its number of bytes."""


class Kernel(Protocol):
    """The kernel whose functions are lowered."""

    instance: Instance
    elements: Any
    """How folds over symmetric elements are evaluated (checker/reductions/elements.py)."""
    numbers: count[int]
    """Numbers that make names unique."""
    parts: list[str]
    """The functions so far, callees before callers."""

    def routine(self, routine: Routine) -> str:
        """The name of a function of the kernel, which is added if it is not there yet."""

    def first_byte(self, place: FieldLayout) -> int:
        """Where the cells of a field begin in a working buffer."""

    def setting(self, entry: str) -> tuple[int, int]:
        """Where a working buffer has a setting, and in how many bytes."""


class RoutineLowering:
    """Lowers one routine. `limits` are known of variables: the value is in 0..limit-1."""

    def __init__(self, kernel: Kernel, routine: Routine, limits: Mapping[Variable, int] = {}) -> None:
        self.kernel = kernel
        self.routine = routine
        self.names: dict[Variable, str] = {}
        self.limits = {one: limit for one, limit in limits.items() if one not in routine.assignments}

    def name(self, variable: Variable) -> str:
        """A variable as it is written in the kernel: with a final underscore, to avoid name clashes."""
        known = self.names.get(variable)
        is_written = variable.role in (Role.STATE, Role.TAKEN)
        return known or (variable.name if is_written else f"{variable.name}_")

    def rename_parameters(self) -> None:
        """Rename the parameters to p0, p1, ..., as in the loops over them, and the state to `before`."""
        self.names[self.routine.states[0]] = "before"
        self.names |= {parameter: f"p{position}" for position, parameter in enumerate(self.routine.arguments)}

    def text(self, name: str, *, is_action: bool, skip: int = 0) -> str:
        """The text of the function under this name, without its first `skip` statements."""
        lines = [f"def {name}({', '.join(map(self.name, self.routine.parameters))}):"]
        lines += self.lines(self.routine.body[skip:], INDENT)
        if is_action:
            lines.append(f"{INDENT}return True")
        elif len(lines) == 1:
            lines.append(f"{INDENT}return")
        return "\n".join(lines)

    # --------------------------------------------------------------------------------------------------- statements

    def lines(self, statements: Iterable[Statement], indent: str) -> list[str]:
        """The lines of statements; none if there is no statement."""
        return [line for one in statements for line in self.statement(one, indent)]

    def block(self, statements: Iterable[Statement], indent: str) -> list[str]:
        """The lines inside another statement, of which there has to be one."""
        return self.lines(statements, indent + INDENT) or [f"{indent}{INDENT}pass"]

    def statement(self, statement: Statement, indent: str) -> list[str]:
        """The lines of one statement."""
        match statement:
            case Assign(variable, value):
                return [f"{indent}{self.name(variable)} = {self.value(value)}"]
            case Store():
                return self.stored(statement, indent)
            case Branch(cases, otherwise):
                lines: list[str] = []
                for case in cases:
                    lines.append(f"{indent}{'elif' if lines else 'if'} {self.value(case.condition)}:")
                    lines += self.block(case.body, indent)
                return [*lines, *([f"{indent}else:", *self.block(otherwise, indent)] if otherwise else [])]
            case Loop():
                return self.loop(statement, indent)
            case Require(Fold(Gathering.ALL) as fold):
                *lines, last = self.folded(fold, indent)
                is_decided = last.endswith("True")
                return lines if is_decided else [*lines, f"{indent}if decided == 0:", f"{indent}    return False"]
            case Require(condition):
                return [f"{indent}if not ({self.value(condition)}):", f"{indent}    return False"]
            case Return(Fold(Gathering.ALL | Gathering.ANY) as fold):
                return self.folded(fold, indent)
            case Return(value):
                return [f"{indent}return {self.value(value)}"]
            case Do(call):
                return [f"{indent}{self.value(call)}"]
            case CollectiveStatement():
                raise NotInTheCoreError(statement.span.place)
            case _:
                assert_never(statement)

    def stored(self, store: Store, indent: str) -> list[str]:
        """The lines that store a value, or that add to a cell, whose place is computed once."""
        total = increase(store)
        if total is None:
            value = self.value(store.value)
            state, place, offset = self.place(store.cell)
            return [f"{indent}{WRITE[place.bytes]}({state}, {offset}, int({value}), {place.low}, {place.high})"]
        added = self.added(total.terms[1:])
        state, place, offset = self.place(store.cell)
        there = f"at_{next(self.kernel.numbers)}"
        sum_ = f"{READ[place.bytes]}({state}, {there}){added}"
        return [
            f"{indent}{there} = {offset}",
            f"{indent}{WRITE[place.bytes]}({state}, {there}, int({sum_}), {place.low}, {place.high})",
        ]

    def loop(self, loop: Loop, indent: str) -> list[str]:
        """The lines of a loop."""
        low, high, limit = self.range(loop.range)
        known = dict(self.limits)
        self.limits.pop(loop.variable, None)
        if limit is not None and self.routine.assignments[loop.variable] == 1:
            self.limits[loop.variable] = limit
        lines = [f"{indent}for {self.name(loop.variable)} in range({low}, {high}):", *self.block(loop.body, indent)]
        self.limits = known
        return lines

    # -------------------------------------------------------------------------------------------------- expressions

    def value(self, expression: Expression) -> str:
        """The text of an expression."""
        match expression:
            case Constant(number):
                return repr(number) if number >= 0 else f"({number!r})"
            case Local(variable):
                return self.name(variable)
            case Setting():
                return self.setting(expression)
            case Size(domain):
                return str(self.kernel.instance.size_of(domain))
            case Cell():
                state, place, offset = self.place(expression)
                text = f"{READ[place.bytes]}({state}, {offset})"
                return f"({text} != 0)" if place.field.values.is_flag else text
            case Element(subset, index):
                assert subset.domain is not None and issubclass(subset.domain, Subset)
                elements = self.kernel.instance.size_of(subset.domain.of)
                assert elements < 64, "a subset fits into one word: MOST_STEPS limits its size"
                place_ = self.index(self.name(self.routine.states[0]), index, elements)
                return f"(({self.name(subset)} >> {place_}) & 1 != 0)"
            case IsTaken(taken, action):
                slot = [one.name for one in self.kernel.instance.model.actions].index(action)
                return f"({self.name(taken)} == {slot})"
            case Not(operand):
                return f"(not {self.value(operand)})"
            case And(parts):
                return f"({' and '.join(map(self.value, parts))})"
            case Or(parts):
                return f"({' or '.join(map(self.value, parts))})"
            case Compare(left, _, right):
                return f"({self.value(left)} {self.kernel.elements.sign(expression)} {self.value(right)})"
            case Chain(first, links):
                chained = "".join(f" {link.sign.value} {self.value(link.right)}" for link in links)
                return f"({self.value(first)}{chained})"
            case Among(element, choices):
                return f"({self.value(element)} in ({''.join(f'{self.value(one)}, ' for one in choices)}))"
            case Negative(operand):
                return f"(-{self.value(operand)})"
            case Sum(terms):
                return f"({self.value(terms[0].value)}{self.added(terms[1:])})"
            case Arithmetic(left, operation, right):
                return f"({self.value(left)} {operation.value} {self.value(right)})"
            case Choose(options, otherwise):
                chosen = "".join(f"{self.value(one.value)} if {self.value(one.condition)} else " for one in options)
                return f"({chosen}{self.value(otherwise)})"
            case Extremum(extreme, parts):
                return f"{extreme.value}({', '.join(map(self.value, parts))})"
            case Fold():
                return self.fold_call(expression)
            case Call(routine, arguments):
                return f"{self.kernel.routine(routine)}({', '.join(map(self.value, arguments))})"
            case CollectiveExpression():
                raise NotInTheCoreError(expression.span.place)
            case _:
                assert_never(expression)

    def added(self, terms: Iterable[Term]) -> str:
        """The text of the further terms of a sum."""
        return "".join(f" {'-' if term.is_subtracted else '+'} {self.value(term.value)}" for term in terms)

    def setting(self, setting: Setting) -> str:
        """The text of a setting: a number, or where the working buffer has it."""
        entry = self.kernel.instance.model.entries[setting.entry]
        if entry.is_bound:
            return f"({getattr(self.kernel.instance.configuration, setting.entry)})"
        byte, size = self.kernel.setting(setting.entry)
        text = f"{READ[size]}({self.name(self.routine.states[0])}, {byte})"
        return text if entry.values is not bool else f"({text} != 0)"

    def number(self, expression: Expression) -> int | None:
        """The value of a number that depends only on what is compiled in; None for any other expression."""
        instance = self.kernel.instance
        match expression:
            case Constant(number):
                return int(number)
            case Size(domain):
                return instance.size_of(domain)
            case Setting(entry) if instance.model.entries[entry].is_bound:
                return int(getattr(instance.configuration, entry))
            case Sum(terms):
                numbers = [self.number(term.value) for term in terms]
                known = [number for number in numbers if number is not None]
                if len(known) == len(terms):
                    signs = (-1 if term.is_subtracted else 1 for term in terms)
                    return sum(sign * number for sign, number in zip(signs, known, strict=True))
        return None

    def conjuncts(self, condition: Expression) -> list[str]:
        """The texts of the conditions that are joined by `and` in this one, and in the routines that it calls."""
        match condition:
            case And(parts):
                return [text for part in parts for text in self.conjuncts(part)]
            case Call(
                Routine(body=(Return(And() | Or() | Compare() | Chain() | Among() as value),)) as callee, arguments
            ):
                passed = [one.variable for one in arguments if isinstance(one, Local) and self.is_plain(one.variable)]
                if len(passed) == len(arguments):
                    return self.inside(callee, passed).conjuncts(value)
        return [self.value(condition)]

    def is_plain(self, variable: Variable) -> bool:
        """Whether this is a state or an element, whose name can stand in place of a parameter."""
        return variable in self.names and variable.role is not Role.SUBSET

    def inside(self, callee: Routine, passed: Iterable[Variable]) -> RoutineLowering:
        """The lowering of a routine for a call with these variables."""
        pairs = list(zip(callee.parameters, passed, strict=True))
        limits = {parameter: self.limits[one] for parameter, one in pairs if one in self.limits}
        lowering = RoutineLowering(self.kernel, callee, limits)
        lowering.names = {parameter: self.names[one] for parameter, one in pairs}
        return lowering

    # -------------------------------------------------------------------------------------------------------- cells

    def place(self, cell: Cell) -> tuple[str, FieldLayout, str]:
        """The name of the state, the field, and the text of the byte offset of a cell."""
        state, place = self.name(cell.state), self.kernel.instance.layouts[cell.field]
        text = str(self.kernel.first_byte(place))
        stride = place.count * place.bytes
        for index, size in zip(cell.indices, place.sizes, strict=True):
            stride //= size or 1
            text += f" + {self.index(state, index, size)} * {stride}"
        return state, place, text

    def index(self, state: str, index: Expression, size: int) -> str:
        """The text of an index, which is checked unless it surely is in 0..size-1."""
        is_safe = isinstance(index, Local) and self.limits.get(index.variable, size + 1) <= size
        if isinstance(index, Constant):
            is_safe = 0 <= index.value < size
        value = self.value(index)
        return value if is_safe else f"element({state}, int({value}), {size})"

    # --------------------------------------------------------------------------------------------- ranges and folds

    def range(self, numbers: Range) -> tuple[str, str, int | None]:
        """The ends of a range as text, and the known limit: all numbers are in 0..limit-1."""
        first, end = self.number(numbers.first), self.number(numbers.end)
        texts = [
            self.value(expression) if number is None else str(number)
            for expression, number in ((numbers.first, first), (numbers.end, end))
        ]
        limit = end
        if limit is None and isinstance(numbers.end, Local):
            limit = self.limits.get(numbers.end.variable)
        match numbers.first:
            case _ if first is not None:
                is_natural = first >= 0
            case Local(variable):
                is_natural = variable in self.limits
            case Sum((Term(Local(variable)), Term(more, False))):
                is_natural = variable in self.limits and (self.number(more) or -1) >= 0
            case _:
                is_natural = False
        return texts[0], texts[1], limit if is_natural else None

    def folded(self, fold: Fold, indent: str) -> list[str]:
        """The body of a function that computes a fold: loops, and a `return`."""
        gathering = fold.gathering
        is_extremum = gathering in (Gathering.LEAST, Gathering.GREATEST)
        ranges: list[tuple[int, int]] = []
        lines, inner = [], indent
        if is_extremum or gathering is Gathering.SUM:
            lines.append(f"{indent}total = {0 if fold.default is None else self.value(fold.default)}")
        if is_extremum:
            lines.append(f"{indent}is_first = 1")
        for generator in fold.generators:
            low, high, limit = self.range(generator.range)
            if low.isdecimal() and high.isdecimal():
                ranges.append((int(low), int(high)))
            name = f"{generator.variable.name}_{next(self.kernel.numbers)}"
            self.names[generator.variable] = name
            if limit is not None:
                self.limits[generator.variable] = limit
            lines.append(f"{inner}for {name} in range({low}, {high}):")
            inner += INDENT
            if generator.conditions:
                lines.append(f"{inner}if {' and '.join(map(self.value, generator.conditions))}:")
                inner += INDENT
        body = self.value(fold.body)
        if gathering is Gathering.SUM:
            return [*lines, f"{inner}total += {body}", f"{indent}return total"]
        if is_extremum:
            value = f"value_{next(self.kernel.numbers)}"
            return [
                *lines,
                f"{inner}{value} = int({body})",
                f"{inner}if is_first != 0 or {value} {'<' if gathering is Gathering.LEAST else '>'} total:",
                f"{inner}    total = {value}",
                f"{inner}    is_first = 0",
                f"{indent}return total",
            ]
        is_all = gathering is Gathering.ALL
        lines.append(f"{inner}if {'not ' if is_all else ''}({body}):")
        if self.kernel.elements.must_go_on(ranges, "".join(lines)):
            lines.insert(0, f"{indent}decided = {int(is_all)}")
            return [*lines, f"{inner}    decided = {int(not is_all)}", f"{indent}return decided != 0"]
        return [*lines, f"{inner}    return {not is_all}", f"{indent}return {is_all}"]

    def fold_call(self, fold: Fold) -> str:
        """A fold inside an expression, as a call of a new function that gets the variables that it reads."""
        read = variables(fold)
        if any(isinstance(node, Element | Setting) for node in visit([fold])):
            read.add(self.routine.states[0])  # it holds the settings, and notes an index outside a subset
        used = ", ".join(sorted(map(self.name, read)))
        name = f"{self.routine.name}_fold_{next(self.kernel.numbers)}"
        text = "\n".join([f"def {name}({used}):", *self.folded(fold, INDENT)])
        self.kernel.parts.append(self.kernel.elements.noted(name, text))
        return f"{name}({used})"
