"""The check that a function uses only the closed list of the modelling language's constructs, and its representation.

In:  a Python function, and the vocabulary of its model (fields, configuration, actions).
Out: a `Function` (reading/function.py), whose routine every engine reads; or a LanguageError with FILE:LINE and a
     hint. A construct that is refused is refused here, for all engines.
"""

from __future__ import annotations

import ast
import types
from collections.abc import Callable, Iterable, Mapping
from enum import IntEnum
from typing import Any

from isrcheck.models.language.declarations.declare import WHOLE, Domain, Kind, Subset, is_marking, mark_of, require
from isrcheck.models.language.ir import nodes as ir
from isrcheck.models.language.ir.constructs import DEPTH_IN_ALL, PARAMETERS, STATEMENTS_ARE
from isrcheck.models.language.ir.lowering import lowered, size_of_core
from isrcheck.models.language.ir.walking import assignments, with_depth
from isrcheck.models.language.reading.chains import branches
from isrcheck.models.language.reading.function import STATE_NAMES, TAKEN, Function, Vocabulary
from isrcheck.models.language.reading.nesting import Nesting
from isrcheck.models.language.reading.sets_and_queues import CollectionReader
from isrcheck.models.language.reading.source_text import assigned_names, statements_in, written
from isrcheck.models.language.reading.spelling import shown
from isrcheck.models.language.text.plain import members_of
from isrcheck.models.language.text.sealed import sealed
from isrcheck.models.messages.errors import LanguageError
from isrcheck.models.messages.printable import escaped_lines

MOST_NODES, MOST_DEEP = 100_000, 100
"""The most nodes, and the deepest nesting, of a function without its sets and queues."""

OF_STATE, OF_STEP = (("s",),), (("before", "after"), ("before", "after", TAKEN))
PARAMETERS_OF: Mapping[Kind | None, tuple[tuple[str, ...], ...]] = {
    **dict.fromkeys((Kind.ALWAYS, *WHOLE, Kind.LEMMA, Kind.TERMINAL, Kind.CONSTRAINT), OF_STATE),
    Kind.ALWAYS_STEP: OF_STEP,
    Kind.SOMETIMES: OF_STATE + OF_STEP,
}
"""The parameters that a declared predicate can have."""


class Reader:
    """Reads functions into the language, each once."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary
        self._read: dict[types.FunctionType, Function] = {}
        self._reading: list[types.FunctionType] = []
        self._names: dict[int, tuple[dict[str, Any], dict[str, Any]]] = {}
        self.depth = 0  # of the calls that lead to the function being read

    def names_of(self, python: types.FunctionType) -> Mapping[str, Any]:
        """The global names and values of the function's module when its first function was read."""
        # The module's own dictionary is stored too, so that no other dictionary gets its id.
        live = python.__globals__
        return self._names.setdefault(id(live), (live, dict(live)))[1]

    def read(self, python: types.FunctionType, depth: int = 0) -> Function:
        """Return the checked form of `python`, which a call at this depth leads to. Raises LanguageError if the
        function is not in the language."""
        if python not in self._read:
            if python in self._reading:
                code = python.__code__
                raise LanguageError(
                    f"{code.co_filename}:{code.co_firstlineno}: {python.__name__} calls itself;"
                    " write the repetition as a for loop over a range"
                )
            self._reading.append(python)
            self.depth += depth
            try:
                self._read[python] = FunctionReader(self, python, *written(python)).function()
            finally:
                self.depth -= depth
                self._reading.pop()
        return self._read[python]

    def everything(self) -> tuple[Function, ...]:
        """All functions that this reader has read."""
        return tuple(self._read.values())


class FunctionReader(CollectionReader):
    """Reads one function: its head and its statements."""

    def __init__(
        self,
        reader: Reader,
        python: types.FunctionType,
        definition: ast.FunctionDef,
        code: types.CodeType,
        source: ir.Source,
    ) -> None:
        super().__init__()
        self.reader = reader
        self.python, self.definition, self.code, self.source = python, definition, code, source
        self.path, self.name = python.__code__.co_filename, definition.name
        self.vocabulary = reader.vocabulary
        self.names = reader.names_of(python)
        self.mark = mark_of(python)
        self.kind = self.mark.kind if self.mark else None
        if self.kind is Kind.INITIAL:
            self.kind = Kind.ACTION  # what makes initial states of the default state follows the rules of an action
        self.guards: set[str] = set()
        self.writes: set[str] = set()
        self.is_written = False
        """Whether the state may already be written here."""
        self.depth = 0

    def function(self) -> Function:
        """Read the whole function. Raises LanguageError."""
        definition, body = self.definition, self.definition.body
        documentation = ast.get_docstring(definition)
        if documentation is not None:
            body = body[1:]
        self.nesting = Nesting(body)
        annotations = [one.annotation for one in definition.args.args if one.annotation is not None]
        for fault in (Nesting([*definition.decorator_list, *annotations]).fault, self.nesting.fault):
            if fault is not None:
                raise self.error(*fault)
        self.depth = self.nesting.deepest
        if len(definition.args.args) > PARAMETERS.most:
            raise self.error(definition, f"{len(definition.args.args)} parameters", PARAMETERS.cure)
        statements = list(statements_in(definition))
        returns_value = any(isinstance(statement, ast.Return) for statement in statements)
        for decorator in definition.decorator_list:
            if not is_of_the_language(decorator, self.names):
                raise self.error(decorator, f"`@{shown(decorator)}` is not in the language", "leave the decorator out")
        parameters = self._parameters(definition)
        self.states = [one.name for one in parameters if one.role is ir.Role.STATE]
        self.subsets = {one.name: one.domain for one in parameters if one.domain and issubclass(one.domain, Subset)}
        self.assigned = {one.name for one in parameters if one.role is ir.Role.NUMBER}
        # As in Python: a name that is assigned anywhere in a function is one variable everywhere in it.
        locals_ = {name: ir.Variable(name) for statement in statements for name in assigned_names(statement)}
        self.own = {**locals_, **{one.name: one for one in parameters}}
        as_written = self._block(body)
        self._check_ends(returns_value, as_written)
        core = self._core(parameters, as_written) if self.has_collections else as_written
        routine = ir.Routine(
            self.name,
            ir.Span(self.source, definition.lineno, 0, definition.lineno, 0),
            escaped_lines(documentation or ""),
            parameters,
            as_written,
            core,
            returns_value,
            frozenset(self.writes),
            frozenset(self.reads),
            self.mark,
            assignments(core),
        )
        return Function(
            self._sealed(), self.path, definition.lineno, routine, self.functions, self.domains, self.names, self.depth
        )

    def _check_ends(self, returns_value: bool, as_written: Iterable[ir.Statement]) -> None:
        definition = self.definition
        if returns_value and not _returns(as_written):
            raise self.error(
                definition, "a path ends without `return`", "end each path of a helper with `return value`"
            )
        if returns_value and self.writes:
            raise self.error(
                definition,
                f"{self.name} both writes {', '.join(sorted(self.writes))} and returns a value",
                "split it into a helper that returns and one that writes",
            )
        is_property = self.kind not in (None, Kind.ACTION)
        if is_property and not returns_value:
            raise self.error(definition, "a property returns nothing", "return a truth value")
        if is_property and self.writes:
            raise self.error(definition, "a property writes to the state", "a property only reads")

    def _core(
        self, parameters: Iterable[ir.Variable], as_written: tuple[ir.Statement, ...]
    ) -> tuple[ir.Statement, ...]:
        """The statements without sets and queues, each of which takes several nodes. Refuses too many of them."""
        if size_of_core(as_written) > MOST_NODES:
            what = f"its sets and queues are nested too deep: they stand for more than {MOST_NODES} reads"
            raise self.error(self.definition, what, "assign a part of it to a local, or move it into a helper")
        core = lowered(parameters, as_written)
        depths = {callee.routine: callee.depth for callee in self.functions.values()}
        for node, depth in with_depth(core):
            if depth > MOST_DEEP:
                what = f"its sets and queues are nested more than {MOST_DEEP} deep"
                raise self.error(self.definition, what, "move a part of it into a helper")
            self.depth = max(self.depth, depth + (depths[node.routine] if isinstance(node, ir.Call) else 0))
        if self.depth > DEPTH_IN_ALL.most:
            raise self._too_deep_in_all(self.definition, self.name)
        return core

    def _too_deep_in_all(self, node: ast.AST, name: str) -> LanguageError:
        what = f"the calls in {name} are nested more than {DEPTH_IN_ALL.most} deep in all"
        return self.error(node, what, DEPTH_IN_ALL.cure)

    def _sealed(self) -> Callable[..., Any]:
        """The function that CPython calls, whose globals are only the names that were read with their values."""
        callees = {name: callee.python for name, callee in self.functions.items()}
        records = dict.fromkeys(self.records, types.SimpleNamespace)
        others = {**dict.fromkeys(self.guards, require), **callees, **self.actions, **records}
        return sealed(self.code, self.name, self.constants, others)

    # ----------------------------------------------------------------------------------------------------- declarations

    def _parameters(self, definition: ast.FunctionDef) -> tuple[ir.Variable, ...]:
        arguments = definition.args
        if arguments.vararg or arguments.kwarg or arguments.kwonlyargs or arguments.defaults or arguments.posonlyargs:
            raise self.error(
                definition, "only plain parameters are allowed", "no defaults, *args or keyword-only names"
            )
        parameters = tuple(map(self._parameter, arguments.args))
        names = tuple(parameter.name for parameter in parameters)
        roles = {parameter.role for parameter in parameters}
        if ir.Role.SUBSET in roles and ir.Role.STATE not in roles:
            raise self.error(
                definition, "a subset is passed without a state", "pass the state as well, as first parameter"
            )
        expected = PARAMETERS_OF.get(self.kind)
        if expected is not None and names not in expected:
            allowed = " or ".join(f"({', '.join(one)})" for one in expected)
            raise self.error(definition, f"its parameters are ({', '.join(names)})", f"here they must be {allowed}")
        if self.kind is Kind.ACTION and (names[:1] != ("s",) or set(names[1:]) & {*STATE_NAMES, TAKEN}):
            raise self.error(
                definition, "an action has one state parameter, the first one", "name it `s`, and no other one"
            )
        return parameters

    def _parameter(self, argument: ast.arg) -> ir.Variable:
        """The variable of a parameter. Refuses one of an action that has no domain."""
        name, annotation = argument.arg, argument.annotation
        if name in STATE_NAMES:
            return ir.Variable(name, ir.Role.STATE)
        if name == TAKEN:
            return ir.Variable(name, ir.Role.TAKEN)
        named = self.names.get(annotation.id) if isinstance(annotation, ast.Name) else None
        if isinstance(named, type) and issubclass(named, Domain | Subset):
            return ir.Variable(name, ir.Role.SUBSET if issubclass(named, Subset) else ir.Role.NUMBER, named)
        if self.kind is not Kind.ACTION:
            return ir.Variable(name)
        if annotation is None:
            raise self.error(argument, f"parameter {name} has no domain", "annotate it, as in `leader: Replica`")
        hint = "name a Domain or a Subset"
        if isinstance(named, type) and issubclass(named, IntEnum):
            size = len(set(members_of(named).values()))
            hint = f"declare one with as many elements, as in: class Any{named.__name__}(Domain, size={size})"
        raise self.error(argument, f"{shown(annotation)} is not a domain", hint)

    def error(self, node: ast.AST, what: str, hint: str) -> LanguageError:
        """What says that something is not in the language."""
        line = getattr(node, "lineno", self.definition.lineno)
        return LanguageError(f"{self.path}:{line}: in {self.name}: {what}; {hint}")

    # ------------------------------------------------------------------------------------------------------- statements

    def _block(self, statements: Iterable[ast.stmt]) -> tuple[ir.Statement, ...]:
        return tuple(map(self._statement, [one for one in statements if not isinstance(one, ast.Pass)]))

    def _statement(self, statement: ast.stmt) -> ir.Statement:
        changed = self.changed(statement)
        if changed is not None:
            return changed
        match statement:
            case ast.Assign(targets=[target], value=value):
                return self._assignment(statement, target, self.expression(value))
            case ast.Assign():
                raise self.error(statement, "chained assignment", "write one assignment per line")
            case ast.AugAssign(target=target, op=ast.Add() | ast.Sub() as operator, value=value):
                if isinstance(target, ast.Name) and target.id in self.own and target.id not in self.assigned:
                    self._check_local(target)
                    raise self.error(target, f"`{target.id}` has no value yet", "assign it before += or -=")
                term = ir.Term(self.expression(value), isinstance(operator, ast.Sub), span=self.span(value))
                before = ir.Term(self.expression(target), False, span=self.span(target))
                return self._assignment(statement, target, ir.Sum((before, term), span=self.span(statement)))
            case ast.AugAssign(op=operator):
                raise self.error(statement, f"operator {type(operator).__name__}", "only += and -= are in the language")
            case ast.If():
                return self._branch(statement)
            case ast.For():
                return self._loop(statement)
            case ast.Return():
                return self._returned(statement)
            case ast.Expr(value=ast.Call(func=ast.Name()) as call):
                return self._call_statement(statement, call)
            case ast.Expr():
                raise self.error(statement, "an expression without effect", "call require(...) or a helper that writes")
        raise self.error(statement, f"`{type(statement).__name__}` is not in the language", STATEMENTS_ARE)

    def _assignment(self, statement: ast.stmt, target: ast.expr, value: ir.Expression) -> ir.Assign | ir.Store:
        span = self.span(statement)
        if isinstance(target, ast.Name):
            return ir.Assign(self.local(target), value, span=span)
        cell = self.cell(target)
        if isinstance(cell, ir.Setting):
            hint = "only fields of the state can be written"
            raise self.error(target, f"`{cell.entry}` belongs to the configuration", hint)
        self.writes_to(target, cell.state.name, cell.field)
        return ir.Store(cell, value, span=span)

    def writes_to(self, node: ast.AST, state: str, field: str) -> None:
        """Note that the function writes a field. Refuses a state that cannot be written."""
        if state != "s":
            raise self.error(node, f"`{state}` is written", "only the state `s` of an action can be written")
        self.writes.add(field)
        self.is_written = True

    def local(self, target: ast.Name) -> ir.Variable:
        """The local that is assigned to, which has a value from here on."""
        self._check_local(target)
        self.assigned.add(target.id)
        return self.own[target.id]

    def _check_local(self, target: ast.Name) -> None:
        if target.id in STATE_NAMES or target.id in self.subsets or target.id == TAKEN:
            raise self.error(target, f"`{target.id}` is assigned to", "choose another name for the local")

    def _branch(self, statement: ast.If) -> ir.Branch:
        tests, last = branches(statement)
        assigned, was_written = self.assigned, self.is_written
        cases: list[ir.Case] = []
        ends: list[tuple[tuple[ir.Statement, ...], set[str], bool]] = []
        for test in tests:
            condition, self.assigned = self.expression(test.test), set(assigned)
            body = self._block(test.body)
            cases.append(ir.Case(condition, body, span=self.span(test)))
            ends.append((body, self.assigned, self.is_written))
            self.assigned, self.is_written = assigned, was_written
        otherwise = self._block(last)
        ends.append((otherwise, self.assigned, self.is_written))
        # A branch that returns does not leave locals unassigned.
        self.assigned = set.intersection(*([met for body, met, _ in ends if not _returns(body)] or [self.assigned]))
        self.is_written = any(is_written for _, _, is_written in ends)
        return ir.Branch(tuple(cases), otherwise, span=self.span(statement))

    def _loop(self, statement: ast.For) -> ir.Loop | ir.SetLoop:
        if statement.orelse:
            raise self.error(statement, "`else` of a loop", "put it after the loop")
        assigned, was_written, span = set(self.assigned), self.is_written, self.span(statement)
        name = self.loop_variable(statement.target)
        numbers = self.set_of(statement.iter) or self.range(statement.iter)
        self.assigned.add(name)
        body = self._block(statement.body)
        if self.is_written and not was_written:
            # A guard in the second iteration would come after a write of the first.
            self._block(statement.body)
        self.assigned = assigned
        if isinstance(numbers, ir.Range):
            return ir.Loop(self.own[name], numbers, body, span=span)
        return ir.SetLoop(self.own[name], numbers, body, span=span)

    def _returned(self, statement: ast.Return) -> ir.Return:
        if self.kind is Kind.ACTION:
            raise self.error(statement, "`return` in an action", "guard with require(...) or use if/else")
        if statement.value is None:
            raise self.error(statement, "`return` without a value", "use if/else in a helper that writes")
        return ir.Return(self.expression(statement.value), span=self.span(statement))

    def _call_statement(self, statement: ast.Expr, call: ast.Call) -> ir.Require | ir.Do:
        """A guard, or the call of a helper that writes."""
        assert isinstance(call.func, ast.Name)
        span = self.span(statement)
        if self.meaning(call.func) is require:
            if self.kind is not Kind.ACTION:
                raise self.error(statement, "require(...) outside an action", "return a truth value and require that")
            if self.is_written:
                raise self.error(statement, "require(...) after a write", "guards come before the first write")
            if len(call.args) != 1 or call.keywords:
                raise self.error(statement, "require takes one condition", "write one require(...) per guard")
            self.guards.add(call.func.id)
            return ir.Require(self.expression(call.args[0]), span=span)
        called = self.helper(call)
        if not called.routine.writes:
            what = f"the value of {call.func.id}(...) is dropped"
            raise self.error(statement, what, "use it, or call a helper that writes")
        self.writes |= called.routine.writes
        self.is_written = True
        return ir.Do(called, span=span)

    def called(self, python: types.FunctionType, call: ast.Call) -> Function:
        """The checked form of a called helper. Refuses calls that are nested too deep."""
        depth = self.nesting.calls[id(call)]
        is_deep = self.reader.depth + depth > DEPTH_IN_ALL.most
        callee = None if is_deep else self.reader.read(python, depth)
        if callee is None or depth + callee.depth > DEPTH_IN_ALL.most:
            raise self._too_deep_in_all(call, python.__name__)
        self.depth = max(self.depth, depth + callee.depth)
        return callee


def _returns(block: Iterable[ir.Statement]) -> bool:
    """Whether every path through statements returns."""
    for statement in block:
        match statement:
            case ir.Return():
                return True
            case ir.Branch(cases, otherwise) if all(map(_returns, (*(case.body for case in cases), otherwise))):
                return True
    return False


def is_of_the_language(decorator: ast.expr, names: Mapping[str, Any]) -> bool:
    """Whether a decorator is one of the language's, given the global names of its module."""
    match decorator.func if isinstance(decorator, ast.Call) else decorator:
        case ast.Name(id=name):
            return is_marking(names.get(name))
        case ast.Attribute(value=ast.Name(id=owner), attr=name) if type(module := names.get(owner)) is types.ModuleType:
            return is_marking(vars(module).get(name))
    return False
