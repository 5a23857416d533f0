"""Lowers the ranges of loops, and calls with a generator, which become loops in functions of their own.

In:  nodes of the syntax tree of a function; checker/compile/lower.py lowers the expressions in them.
Out: text of a kernel.
"""

from __future__ import annotations

import ast
from typing import Any

from isrcheck.models.language.syntax import EXTREMA, SIZE, Function
from isrcheck.models.language.text.chains import summands
from isrcheck.models.language.text.names import free_names

INDENT = "    "


class LoopLowering:
    """The part of the lowering of a function that is about loops; see checker/compile/lower.py for the attributes."""

    kernel: Any
    function: Function
    renamed: dict[str, str]
    limits: dict[str, int]
    own: set[str]

    def value(self, expression: ast.expr) -> str:
        """The text of an expression."""
        raise NotImplementedError

    def name(self, name: str) -> str:
        """A local name of the model as it is written in the kernel."""
        raise NotImplementedError

    def range(self, call: ast.Call) -> tuple[str, str, int | None]:
        """The ends of a range as text, and the known limit: all numbers are in 0..limit-1."""
        numbers = [self.number(argument) for argument in call.args]
        texts = [
            self.value(argument) if number is None else str(number)
            for argument, number in zip(call.args, numbers, strict=True)
        ]
        limit = numbers[-1]
        if limit is None and isinstance(call.args[-1], ast.Name):
            limit = self.limits.get(self.name(call.args[-1].id))
        if len(texts) == 1:
            return "0", texts[0], limit
        first = call.args[0]
        is_natural = isinstance(first, ast.Name) and self.name(first.id) in self.limits
        if isinstance(first, ast.BinOp) and isinstance(first.op, ast.Add) and isinstance(first.left, ast.Name):
            is_natural = self.name(first.left.id) in self.limits and (self.number(first.right) or -1) >= 0
        if numbers[0] is not None:
            is_natural = numbers[0] >= 0
        return texts[0], texts[1], limit if is_natural else None

    def number(self, expression: ast.expr) -> int | None:
        """The value of a number that depends only on what is compiled in; None for any other expression."""
        match expression:
            case ast.BinOp(op=ast.Add() | ast.Sub()):
                first, rest = summands(expression)
                terms = [self.number(first), *(self.number(term) for _, term in rest)]
                known = [term for term in terms if term is not None]
                signs = [1, *(1 if isinstance(sign, ast.Add) else -1 for sign, _ in rest)]
                if len(known) < len(terms):
                    return None
                return sum(sign * term for sign, term in zip(signs, known, strict=True))
            case ast.Constant(value=int(value)):
                return int(value)
            case ast.Call() if self.function.builtin(expression) == SIZE:
                return int(self.kernel.instance.size_of(self.function.domain(expression)))
            case ast.Name(id=name) if name in self.function.constants and name not in self.renamed:
                return int(self.function.constants[name])
            case ast.Attribute(attr=name):
                member = self.function.member(expression)
                if member is not None:
                    return int(member)
                entry = self.kernel.instance.model.entries.get(name)
                if entry is not None and entry.is_bound:
                    return int(getattr(self.kernel.instance.configuration, name))
        return None

    def is_fold(self, call: ast.Call) -> str:
        """The name of the function that goes through a generator, if this call is one."""
        goes_through = bool(call.args) and isinstance(call.args[0], ast.GeneratorExp)
        return self.function.builtin(call) if goes_through else ""

    def fold_lines(self, call: ast.Call, indent: str) -> list[str]:
        """The body of a function that computes a call with a generator: loops, and a `return`."""
        fold = self.is_fold(call)
        generator = call.args[0]
        assert isinstance(generator, ast.GeneratorExp)
        known_names, known_limits = dict(self.renamed), dict(self.limits)
        ranges: list[tuple[int, int]] = []
        defaults = [self.value(keyword.value) for keyword in call.keywords]
        lines, inner = [], indent
        if fold not in ("all", "any"):
            lines.append(f"{indent}total = {defaults[0] if defaults else 0}")
        if fold in EXTREMA:
            lines.append(f"{indent}is_first = 1")
        for part in generator.generators:
            assert isinstance(part.target, ast.Name) and isinstance(part.iter, ast.Call)
            low, high, limit = self.range(part.iter)
            if low.isdecimal() and high.isdecimal():
                ranges.append((int(low), int(high)))
            name = f"{part.target.id}_{next(self.kernel.numbers)}"
            self.renamed[part.target.id] = name
            if limit is not None:
                self.limits[name] = limit
            lines.append(f"{inner}for {name} in range({low}, {high}):")
            inner += INDENT
            if part.ifs:
                lines.append(f"{inner}if {' and '.join(map(self.value, part.ifs))}:")
                inner += INDENT
        if fold == "sum":
            lines.append(f"{inner}total += {self.value(generator.elt)}")
            lines.append(f"{indent}return total")
        elif fold in EXTREMA:
            value = f"value_{next(self.kernel.numbers)}"
            lines += [
                f"{inner}{value} = int({self.value(generator.elt)})",
                f"{inner}if is_first != 0 or {value} {'<' if fold == 'min' else '>'} total:",
                f"{inner}    total = {value}",
                f"{inner}    is_first = 0",
                f"{indent}return total",
            ]
        else:
            test = f"not ({self.value(generator.elt)})" if fold == "all" else f"({self.value(generator.elt)})"
            lines.append(f"{inner}if {test}:")
            if self.kernel.elements.must_go_on(ranges, "".join(lines)):
                lines.insert(0, f"{indent}decided = {int(fold == 'all')}")
                lines += [f"{inner}    decided = {int(fold == 'any')}", f"{indent}return decided != 0"]
            else:
                lines += [f"{inner}    return {fold == 'any'}", f"{indent}return {fold == 'all'}"]
        self.renamed, self.limits = known_names, known_limits
        return lines

    def fold_call(self, call: ast.Call) -> str:
        """A call with a generator inside an expression, as a call of a new function that gets the used names."""
        free = free_names(call)
        if any(parameter.is_subset and parameter.name in free for parameter in self.function.parameters):
            free.add(self.function.states[0])  # which notes an index outside a subset
        used = sorted({self.name(one) for one in free if one in self.own or one in self.renamed})
        name = f"{self.function.name}_fold_{next(self.kernel.numbers)}"
        body = self.fold_lines(call, INDENT)
        text = "\n".join([f"def {name}({', '.join(used)}):", *body])
        self.kernel.parts.append(self.kernel.elements.noted(name, text))
        return f"{name}({', '.join(used)})"
