"""The shapes of the constructs in a model's functions, so that one text can be searched for the constructs of another.

In:  the text of a model.
Out: shapes. `x in s.isr` has the shape `* in set`, whatever `x` is, and whatever the set is called.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cached_property

SIGNS = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.In: "in",
    ast.NotIn: "not in",
}
STATES = ("s", "before", "after")
BUILTINS = ("all", "any", "sum", "min", "max", "len", "range", "set", "require")


def shapes(text: str) -> set[str]:
    """The shapes in all functions of a model."""
    return set(_Module(text).shapes())


def _word(node: ast.AST) -> str:
    return type(node).__name__


class _Module:
    """The meanings of the names in a model."""

    def __init__(self, text: str) -> None:
        self.body = ast.parse(text).body
        self.classes = {one.name: one for one in self.body if isinstance(one, ast.ClassDef)}
        self.functions = {one.name: one for one in self.body if isinstance(one, ast.FunctionDef)}

    def named(self, base: str) -> set[str]:
        """The names of the classes with this base."""
        return {name for name, one in self.classes.items() if [ast.unparse(base) for base in one.bases] == [base]}

    @cached_property
    def fields(self) -> dict[str, tuple[str, int]]:
        """The kind of each field and of each part of a record, with its number of indices."""
        found = {}
        for holder in [self.classes["State"], *(self.classes[name] for name in self.named("Record"))]:
            for one in holder.body:
                if isinstance(one, ast.Assign) and isinstance(one.value, ast.Call):
                    values = next(ast.unparse(word.value) for word in one.value.keywords if word.arg == "values")
                    kind = "record" if values in self.named("Record") else values.partition("(")[0].lower()
                    kind = kind if kind in ("set", "queue", "record") else "cell"
                    of_records = kind == "queue" and any(f"of={name}," in f"{values}," for name in self.named("Record"))
                    found[ast.unparse(one.targets[0])] = ("records" if of_records else kind), len(one.value.args)
        return found

    def shapes(self) -> Iterator[str]:
        for function in self.functions.values():
            kinds = {one.arg: ast.unparse(one.annotation) for one in function.args.args if one.annotation is not None}
            subsets = {name for name, kind in kinds.items() if kind in self.named("Subset")}
            marks = [ast.unparse(one).partition("(")[0] for one in function.decorator_list]
            if (function.args.args and function.args.args[0].arg in (*STATES, "taken")) or not marks:
                for statement in function.body:
                    for node in ast.walk(statement):
                        yield from self.shape(node, subsets)

    def label(self, node: ast.AST, subsets: set[str]) -> str:
        """The kind of an operand; a star for a number, however it is written."""
        match node:
            case ast.Name(id=name):
                for label, names in (
                    ("subset", subsets),
                    ("domain", self.named("Domain")),
                    ("state", STATES),
                    ("taken", ("taken",)),
                    ("function", self.functions),
                ):
                    if name in names:
                        return label
                return "*"
            case ast.Attribute() | ast.Subscript():
                return self.place(node, subsets)
            case ast.Tuple() | ast.Set():
                return _word(node)
            case ast.GeneratorExp():
                return "generator"
            case ast.Call(func=ast.Name(id="range"), args=arguments):
                return f"range({', '.join('*' * len(arguments))})"
            case ast.Call(func=ast.Name(id="set")):
                return "set()"
            case ast.Call(func=ast.Name(id=name)) if name in self.named("Record"):
                return "Record()"
            case ast.Call(func=ast.Attribute(attr="popleft")):
                return "popleft()"
        return "*"

    def place(self, node: ast.expr, subsets: set[str]) -> str:
        """The kind of `s.field[i][j].part[k]`."""
        match node:
            case ast.Subscript(value=ast.Name(id=name)) if name in subsets:
                return "*"
        indices, inner = 0, node
        while isinstance(inner, ast.Subscript):
            indices, inner = indices + 1, inner.value
        if not isinstance(inner, ast.Attribute) or inner.attr not in self.fields:
            return "*"
        kind, rank = self.fields[inner.attr]
        return kind if kind in ("set", "queue", "records", "record") and indices == rank else "*"

    def shape(self, node: ast.AST, subsets: set[str]) -> Iterator[str]:
        def label(one: ast.AST) -> str:
            return self.label(one, subsets)

        match node:
            case ast.Assign(targets=[target], value=value):
                into = "local" if isinstance(target, ast.Name) else label(target).replace("*", "cell")
                yield f"{into} = {label(value)}"
            case ast.AugAssign(target=target, op=operator):
                yield f"{'local' if isinstance(target, ast.Name) else 'cell'} {_word(operator)}="
            case ast.If(orelse=orelse):
                yield "elif" if [*map(type, orelse)] == [ast.If] else "else" if orelse else "if"
            case ast.For(iter=iterated):
                yield f"for in {label(iterated)}"
            case ast.comprehension(iter=iterated, ifs=conditions):
                yield f"generator in {label(iterated)}"
                yield from (f"generator with {len(conditions[:2])} if" for _ in conditions[:1])
            case ast.GeneratorExp(generators=[_, _, *_]):
                yield "generators"
            case ast.Expr(value=ast.Constant()):
                yield "docstring"
            case ast.Expr(value=ast.Call(func=ast.Name(id=name))) if name not in BUILTINS:
                yield "helper that writes"
            case ast.Return() | ast.Pass() | ast.BinOp() | ast.UnaryOp() | ast.BoolOp() | ast.IfExp():
                operator = getattr(node, "op", None)
                yield _word(node if operator is None else operator)
                if isinstance(node, ast.IfExp) and isinstance(node.orelse, ast.IfExp):
                    yield "IfExp in IfExp"
            case ast.Compare(left=left, ops=[sign], comparators=[right]):
                sides = label(left), label(right)
                if sides in (("set", "subset"), ("subset", "set"), ("subset", "subset")):
                    yield "comparison with a subset"
                    sides = "set", "set"
                yield f"{sides[0]} {SIGNS[type(sign)]} {sides[1]}"
            case ast.Compare():
                yield "chain"
            case ast.Call(func=ast.Attribute(value=value, attr=word), args=arguments):
                yield f"{label(value)}.{word}({', '.join(map(label, arguments))})"
            case ast.Call(func=ast.Name(id=name), args=arguments, keywords=keywords) if name in BUILTINS:
                labels = {label(one): None for one in arguments}
                default = ", default" if keywords else ""
                yield f"{name}({', '.join(labels)}{default})"
            case ast.Call(func=ast.Name(id=name)) if name in self.functions:
                yield "helper"
            case ast.Constant(value=bool()):
                yield "truth value"
            case ast.Constant(value=int()):
                yield "number"
            case ast.Subscript(value=ast.Name(id=name)) if name in subsets:
                yield "subset[*]"
            case ast.Subscript(value=value) if label(value) in ("queue", "records"):
                yield f"{label(value)}[*]"
            case ast.Attribute(value=inner) if label(inner) == "record":
                yield f"record.part {_word(node.ctx)}"
            case ast.Attribute(value=ast.Name(id=name), attr=attribute):
                if name not in STATES:
                    yield "member"
                elif attribute not in self.fields:
                    yield "entry"
                elif self.fields[attribute][0] == "cell":
                    yield "cell" if name == "s" else "cell of a step"
            case ast.Name(id=name) if name.isupper():
                yield "NONE" if name == "NONE" else "constant"
            case ast.Name(ctx=ast.Load()) if label(node) == "*":
                yield "local"
