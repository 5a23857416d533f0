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

import ast
import itertools
import re
from collections.abc import Iterable, Sequence

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
from isrcheck.checker.compile.lowering.loops import INDENT, LoopLowering
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
from isrcheck.models.language.model import ArgumentRange, FieldLayout, Instance
from isrcheck.models.language.syntax import EXTREMA, SIZE, STATE_NAMES, TAKEN, Function
from isrcheck.models.language.text.chains import alternatives, branches, summands


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
        self.names: dict[Function, str] = {}
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
        if function not in self.names:
            for callee in function.functions.values():
                self.function(callee)
            name = f"{function.name}_{next(self.numbers)}"
            self.names[function] = name
            self.parts.append(self.elements.noted(name, _Lowering(self, function, is_action).text(name, skip)))
        return self.names[function]

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
        name = self.function(function, is_action=True, skip=len(function.leading_guards))
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


def guarded_loops(
    kernel: KernelText, function: Function, choices: Sequence[ArgumentRange], indent: str, *, hoists: bool = True
) -> list[tuple[int, str]]:
    """The loops over the arguments of a function, with its leading guards if it `hoists` them. Returns lines, each in
    the block of the one before, with the number of the argument (-1: guards)."""
    lowering = _Lowering(kernel, function, is_action=True)
    lowering.rename_parameters()
    texts = (text for guard in function.leading_guards for text in lowering.conjuncts(guard)) if hoists else ()
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


class _Lowering(LoopLowering):
    """Lowers one function. Local names are kept; variables of inlined loops get a unique number."""

    def __init__(self, kernel: KernelText, function: Function, is_action: bool) -> None:
        self.kernel = kernel
        self.function = function
        self.is_action = is_action
        self.layouts = kernel.instance.layouts
        self.subsets = {p.name for p in function.parameters if p.is_subset}
        self.renamed: dict[str, str] = {}
        # For local names the known limit: the value is in 0..limit-1.
        self.limits: dict[str, int] = {}
        if is_action:
            for parameter, choice in zip(function.arguments, kernel.choices(function), strict=True):
                if not choice.is_subset:
                    self.limits[self.name(parameter.name)] = choice.elements
        stores = function.stores
        self.own = {parameter.name for parameter in function.parameters} | set(stores)
        self.assigned_once = {name for name in stores if stores.count(name) == 1}
        for name in stores:
            self.limits.pop(self.name(name), None)

    def name(self, name: str) -> str:
        """A local name of the model as it is written in the kernel: with a final underscore, to avoid name clashes."""
        return self.renamed.get(name, name if name in STATE_NAMES or name == TAKEN else f"{name}_")

    def rename_parameters(self) -> None:
        """Rename the parameters to p0, p1, ..., as in the loops over them, and the state to `before`."""
        self.renamed[self.function.states[0]] = "before"
        for position, parameter in enumerate(self.function.arguments):
            limit = self.limits.get(self.name(parameter.name))
            self.renamed[parameter.name] = f"p{position}"
            if limit is not None:
                self.limits[f"p{position}"] = limit

    def text(self, name: str, skip: int = 0) -> str:
        """The text of the function under this name, without its first `skip` statements."""
        parameters = ", ".join(self.name(parameter.name) for parameter in self.function.parameters)
        lines = [f"def {name}({parameters}):"]
        lines += self.block(self.function.body[skip:], INDENT)
        if self.is_action:
            lines.append(f"{INDENT}return True")
        elif len(lines) == 1:
            lines.append(f"{INDENT}return")
        return "\n".join(lines)

    # --------------------------------------------------------------------------------------------------- statements

    def block(self, statements: Iterable[ast.stmt], indent: str) -> list[str]:
        return [line for one in statements for line in getattr(self, f"statement_{type(one).__name__}")(one, indent)]

    def statement_Pass(self, statement: ast.Pass, indent: str) -> list[str]:
        return [f"{indent}pass"]

    def statement_Assign(self, statement: ast.Assign, indent: str) -> list[str]:
        target, value = statement.targets[0], self.value(statement.value)
        if isinstance(target, ast.Name):
            return [f"{indent}{self.name(target.id)} = {value}"]
        state, place, offset = self.cell(target)
        return [f"{indent}{WRITE[place.bytes]}({state}, {offset}, int({value}), {place.low}, {place.high})"]

    def statement_AugAssign(self, statement: ast.AugAssign, indent: str) -> list[str]:
        sign = "+" if isinstance(statement.op, ast.Add) else "-"
        value = self.value(statement.value)
        if isinstance(statement.target, ast.Name):
            return [f"{indent}{self.name(statement.target.id)} {sign}= {value}"]
        state, place, offset = self.cell(statement.target)
        there = f"at_{next(self.kernel.numbers)}"
        total = f"{READ[place.bytes]}({state}, {there}) {sign} ({value})"
        return [
            f"{indent}{there} = {offset}",
            f"{indent}{WRITE[place.bytes]}({state}, {there}, int({total}), {place.low}, {place.high})",
        ]

    def statement_If(self, statement: ast.If, indent: str) -> list[str]:
        tests, otherwise = branches(statement)
        lines: list[str] = []
        for one in tests:
            lines.append(f"{indent}{'elif' if lines else 'if'} {self.value(one.test)}:")
            lines += self.block(one.body, indent + INDENT)
        if otherwise:
            lines += [f"{indent}else:", *self.block(otherwise, indent + INDENT)]
        return lines

    def statement_For(self, statement: ast.For, indent: str) -> list[str]:
        assert isinstance(statement.target, ast.Name) and isinstance(statement.iter, ast.Call)
        low, high, limit = self.range(statement.iter)
        name = self.name(statement.target.id)
        known = dict(self.limits)
        self.limits.pop(name, None)
        if limit is not None and statement.target.id in self.assigned_once:
            self.limits[name] = limit
        lines = [f"{indent}for {name} in range({low}, {high}):", *self.block(statement.body, indent + INDENT)]
        self.limits = known
        return lines

    def statement_Return(self, statement: ast.Return, indent: str) -> list[str]:
        value = statement.value
        assert value is not None
        if isinstance(value, ast.Call) and self.is_fold(value) in ("all", "any"):
            return self.fold_lines(value, indent)
        return [f"{indent}return {self.value(value)}"]

    def statement_Expr(self, statement: ast.Expr, indent: str) -> list[str]:
        call = statement.value
        assert isinstance(call, ast.Call)
        if self.function.builtin(call):  # require(...)
            condition = call.args[0]
            if isinstance(condition, ast.Call) and self.is_fold(condition) == "all":
                *lines, last = self.fold_lines(condition, indent)
                is_decided = last.endswith("True")
                return lines if is_decided else [*lines, f"{indent}if decided == 0:", f"{indent}    return False"]
            return [f"{indent}if not ({self.value(condition)}):", f"{indent}    return False"]
        return [f"{indent}{self.value(call)}"]

    # -------------------------------------------------------------------------------------------------- expressions

    def value(self, expression: ast.expr) -> str:
        text: str = getattr(self, f"value_{type(expression).__name__}")(expression)
        return text

    def value_Constant(self, expression: ast.Constant) -> str:
        return repr(expression.value)

    def value_Name(self, expression: ast.Name) -> str:
        # The variable of a fold may shadow a constant.
        if expression.id in self.function.constants and expression.id not in self.renamed:
            return f"({self.function.constants[expression.id]!r})"
        return self.name(expression.id)

    def value_Attribute(self, expression: ast.Attribute) -> str:
        member = self.function.member(expression)
        if member is not None:
            return f"({member!r})"
        entry = self.kernel.instance.model.entries.get(expression.attr)
        if entry is None:
            return self.read(expression)
        if entry.is_bound:
            return f"({getattr(self.kernel.instance.configuration, expression.attr)})"
        assert isinstance(expression.value, ast.Name)
        place = self.kernel.layout.setting(expression.attr)
        text = f"{READ[place.bytes]}({self.name(expression.value.id)}, {place.byte})"
        return text if entry.values is not bool else f"({text} != 0)"

    def value_Subscript(self, expression: ast.Subscript) -> str:
        if isinstance(expression.value, ast.Name):
            parameter = next(p for p in self.function.parameters if p.name == expression.value.id)
            elements = self.kernel.instance.elements(parameter)
            assert elements < 64, "a subset fits into one word: MOST_STEPS limits its size"
            index = self.index(self.name(self.function.states[0]), expression.slice, elements)
            return f"(({self.value(expression.value)} >> {index}) & 1 != 0)"
        return self.read(expression)

    def value_BinOp(self, expression: ast.BinOp) -> str:
        if not isinstance(expression.op, ast.Add | ast.Sub):
            sign = PRODUCT[type(expression.op)]
            return f"({self.value(expression.left)} {sign} {self.value(expression.right)})"
        first, rest = summands(expression)
        terms = [f" {'+' if isinstance(operator, ast.Add) else '-'} {self.value(term)}" for operator, term in rest]
        return f"({self.value(first)}{''.join(terms)})"

    def value_UnaryOp(self, expression: ast.UnaryOp) -> str:
        return f"({'not ' if isinstance(expression.op, ast.Not) else '-'}{self.value(expression.operand)})"

    def value_BoolOp(self, expression: ast.BoolOp) -> str:
        word = " and " if isinstance(expression.op, ast.And) else " or "
        return f"({word.join(self.value(value) for value in expression.values)})"

    def value_Compare(self, expression: ast.Compare) -> str:
        if isinstance(expression.left, ast.Name) and expression.left.id == TAKEN:
            assert isinstance(expression.comparators[0], ast.Name)
            action = self.function.actions[expression.comparators[0].id]
            slot = [one.name for one in self.kernel.instance.model.actions].index(action)
            return f"({TAKEN} {'==' if isinstance(expression.ops[0], ast.Eq) else '!='} {slot})"
        text = self.value(expression.left)
        for operator, side in zip(expression.ops, expression.comparators, strict=True):
            sign = self.kernel.elements.sign(expression, self.function.path, COMPARISON[type(operator)])
            text += f" {sign} {self.value(side)}"
        return f"({text})"

    def value_Tuple(self, values: ast.Tuple) -> str:
        return f"({''.join(f'{self.value(one)}, ' for one in values.elts)})"

    def value_IfExp(self, expression: ast.IfExp) -> str:
        pairs, last = alternatives(expression)
        text = "".join(f"{self.value(value)} if {self.value(test)} else " for test, value in pairs)
        return f"({text}{self.value(last)})"

    def value_Call(self, call: ast.Call) -> str:
        if self.is_fold(call):
            return self.fold_call(call)
        callee = self.function.callee(call)
        if callee is None:
            name = self.function.builtin(call)
            if name == SIZE:
                return str(self.number(call))
            assert name in EXTREMA
            return f"{name}({', '.join(self.value(argument) for argument in call.args)})"
        return f"{self.kernel.function(callee)}({', '.join(self.value(argument) for argument in call.args)})"

    def conjuncts(self, condition: ast.expr) -> list[str]:
        """The texts of the conditions that are joined by `and` in this one, and in the functions that it calls."""
        match condition:
            case ast.BoolOp(op=ast.And()):
                return [text for value in condition.values for text in self.conjuncts(value)]
            case ast.Call() if (callee := self.function.callee(condition)) is not None:
                match callee.body:
                    case [ast.Return(value=ast.BoolOp() | ast.Compare() as value)] if self.is_plain(condition.args):
                        return self.inside(callee, condition.args).conjuncts(value)
        return [self.value(condition)]

    def is_plain(self, arguments: Iterable[ast.expr]) -> bool:
        """Whether these are states and elements, so that their names can stand in place of the parameters."""
        known = self.renamed.keys() - self.subsets
        return all(isinstance(one, ast.Name) and one.id in known for one in arguments)

    def inside(self, callee: Function, arguments: Iterable[ast.expr]) -> _Lowering:
        """The lowering of a function for a call with these names."""
        lowering = _Lowering(self.kernel, callee, is_action=False)
        for parameter, argument in zip(callee.parameters, arguments, strict=True):
            lowering.renamed[parameter.name] = self.value(argument)
        lowering.limits = dict(self.limits)
        return lowering

    # -------------------------------------------------------------------------------------------------------- cells

    def cell(self, expression: ast.expr) -> tuple[str, FieldLayout, str]:
        """The name of the state, the field, and the text of the byte offset of `s.field[i][j]`."""
        indices: list[ast.expr] = []
        node = expression
        while isinstance(node, ast.Subscript):
            indices.insert(0, node.slice)
            node = node.value
        assert isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
        place = self.layouts[node.attr]
        text = str(self.kernel.layout.bits[place.offset].byte if place.count else self.kernel.layout.first_cell)
        stride, state = place.count * place.bytes, self.name(node.value.id)
        for index, size in zip(indices, place.sizes, strict=True):
            stride //= size or 1
            text += f" + {self.index(state, index, size)} * {stride}"
        return state, place, text

    def index(self, state: str, index: ast.expr, size: int) -> str:
        is_safe = isinstance(index, ast.Name) and self.limits.get(self.name(index.id), size + 1) <= size
        if isinstance(index, ast.Constant):
            is_safe = isinstance(index.value, int) and 0 <= index.value < size
        value = self.value(index)
        return value if is_safe else f"element({state}, int({value}), {size})"

    def read(self, expression: ast.expr) -> str:
        state, place, offset = self.cell(expression)
        text = f"{READ[place.bytes]}({state}, {offset})"
        return f"({text} != 0)" if place.field.values.is_flag else text


ARGUMENT = re.compile(r"\bp(\d+)\b")
"""The argument of an action in a guard: names of the model end with an underscore."""

READ = {1: "read", 2: "read16", 4: "read32"}
"""The operations that read a number from a working buffer, by its number of bytes."""

WRITE = {1: "write", 2: "write16", 4: "write32"}
"""The operations that write a number to a working buffer, by its number of bytes."""

COMPARISON = {ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}
COMPARISON |= {ast.In: "in", ast.NotIn: "not in"}
PRODUCT = {ast.Mult: "*", ast.FloorDiv: "//", ast.Mod: "%"}
