"""Reads the functions of a model: checks that they use only the constructs of the language, and represents them.

A Python function becomes a `Function`, in which every name is resolved with the vocabulary of the model (fields,
configuration, actions). A construct that the language lacks is refused here for all engines, by a LanguageError with
FILE:LINE and advice on what to write instead.

Operations on sets, queues and records become nodes of their own (`IsIn`, `Length`, `SetLoop`, ...), which
ir/lowering.py replaces by reads and writes of cells; models/language/states.py has the same operations for CPython.
"""

from __future__ import annotations

import ast
import builtins
import types
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import IntEnum
from functools import cached_property
from typing import Any, NoReturn

from isrcheck.models.language.declarations import (
    WHOLE,
    Contents,
    Domain,
    Group,
    Kind,
    Mark,
    Subset,
    is_marking,
    mark_of,
    members_of,
    plain,
    require,
)
from isrcheck.models.language.ir import nodes as ir
from isrcheck.models.language.ir.constructs import DEPTH_IN_ALL, EXPRESSIONS_ARE, NUMBERS, PARAMETERS, STATEMENTS_ARE
from isrcheck.models.language.ir.lowering import copied, elements_of, lowered, size_of_core
from isrcheck.models.language.ir.nodes import Routine, Variable, assignments, with_depth
from isrcheck.models.language.reading.source import (
    MemberOf,
    Nesting,
    alternatives,
    assigned_names,
    branches,
    shown,
    statements_in,
    stored,
    subscripts,
    summands,
    written,
)
from isrcheck.models.messages import LanguageError, escaped_lines

# ------------------------------------------------------------------------------------------------------------ functions


STATE_NAMES = ("s", "before", "after")
"""The names that a state can have as a parameter; `s` is the state that an action writes."""

TAKEN = "taken"
"""The parameter of a property of transitions that means the taken action; it can be compared with an action's name."""


@dataclass(frozen=True, eq=False, repr=False)
class Function:
    """A function of a model that was found to be in the modelling language, with its representation (`routine`)."""

    python: Callable[..., Any]
    """The function that CPython calls: compiled from the text, and sealed (see the part "sealed functions")."""
    path: str
    line: int
    routine: Routine
    """The form of the function that every engine reads."""
    functions: Mapping[str, Function]
    """The functions that this function calls, by the names that its text uses."""
    domains: Mapping[str, type[Domain]]
    """The domains whose elements this function reads, by the names that its text uses."""
    names: Mapping[str, Any]
    """The global names of the function's module and their values when the module's first function was read."""
    depth: int
    """The depth to which the statements and expressions of the function are nested, those of called functions
    included."""

    def __repr__(self) -> str:
        return f"<{self.name}>"

    @property
    def name(self) -> str:
        """The function's name, as its `def` writes it."""
        return self.routine.name

    @property
    def documentation(self) -> str:
        """The function's docstring."""
        return self.routine.documentation

    @property
    def mark(self) -> Mark | None:
        """The arguments of the function's decorator; None if the function has no decorator."""
        return self.routine.mark

    @property
    def parameters(self) -> tuple[Variable, ...]:
        """The function's parameters, including states."""
        return self.routine.parameters

    @property
    def arguments(self) -> tuple[Variable, ...]:
        """The function's parameters without the states."""
        return self.routine.arguments

    @cached_property
    def needs_sizes(self) -> bool:
        """Whether CPython needs domains' sizes to run the function: the function, or one it calls, names a domain."""
        return any(function.domains for function in with_callees([self]))


def with_callees(functions: Iterable[Function]) -> Iterator[Function]:
    """Return the given functions and all functions that they call, directly or not, each function once."""
    reached: set[int] = set()
    waiting = list(functions)
    while waiting:
        function = waiting.pop()
        if id(function) not in reached:
            reached.add(id(function))
            waiting += function.functions.values()
            yield function


@dataclass(frozen=True)
class Vocabulary:
    """The names that a model declares, with their meanings: the names after `s.` (fields, entries of the configuration,
    records), and the names of the actions."""

    fields: Mapping[str, int]
    """The name of each field, with the number of indices that the field takes."""
    configuration: Mapping[str, bool]
    """The name of each entry of the configuration, and whether the entry is a bound (determines the layout of
    states)."""
    actions: Mapping[types.FunctionType, str]
    contents: Mapping[str, tuple[Contents, int]] = field(default_factory=dict)
    """The fields that hold sets or queues: the contents, and the number of indices that a model writes before them."""
    groups: Mapping[str, Group] = field(default_factory=dict)
    """The declared records, by the name of the field that holds them."""


# ----------------------------------------------------------------------------------------------------- sealed functions
#
# The reference semantics runs sealed functions, which keep the meaning with which they were read, whatever happens to
# their module afterwards: their globals are only plain numbers, sealed functions, and Python's own functions. So a
# global that is changed later, or a number whose class redefines operators, cannot make plain Python differ from the
# engines, which read the same numbers.


BUILTINS: Mapping[str, Any] = types.MappingProxyType(
    {function.__name__: function for function in (min, max, abs, all, any, sum, len, range, set)}
)
"""Python's own functions that the language has, as they were before any model was loaded."""


def sealed(
    code: types.CodeType, name: str, constants: Mapping[str, int | bool], others: Mapping[str, Any]
) -> Callable[..., Any]:
    """Return a function with this code whose global names are only the constants, such as `LIMIT` and `Colour.RED`, and
    the names in `others`."""
    names: dict[str, Any] = {"__builtins__": dict(BUILTINS), **others}
    members: dict[str, dict[str, int | bool]] = {}
    for spelled, value in constants.items():
        owner, _, member = spelled.partition(".")
        if member:
            members.setdefault(owner, {})[member] = value
        else:
            names[owner] = value
    names |= {owner: types.SimpleNamespace(**values) for owner, values in members.items()}
    return types.FunctionType(code, names, name)


def with_names(python: Callable[..., Any], names: Mapping[str, Any]) -> Callable[..., Any]:
    """Return a copy of a function from `sealed`, with `names` as further global names: the domains, as ranges, and the
    functions that use domains."""
    assert isinstance(python, types.FunctionType)
    return types.FunctionType(python.__code__, {**python.__globals__, **names}, python.__name__)


# ---------------------------------------------------------------------------------------------------- reading functions


FOLDS = ("all", "any", "sum")
"""The functions that take one generator."""

EXTREMA = ("min", "max")
"""The functions that take numbers, or one generator, perhaps with `default=`."""

MAGNITUDE = "abs"
"""The function that gives a number without its sign."""

SIZE = "len"
"""The function that gives the number of elements of a domain, a set or a queue."""

SIGNS = {
    ast.Eq: ir.Sign.EQUAL,
    ast.NotEq: ir.Sign.NOT_EQUAL,
    ast.Lt: ir.Sign.LESS,
    ast.LtE: ir.Sign.AT_MOST,
    ast.Gt: ir.Sign.GREATER,
    ast.GtE: ir.Sign.AT_LEAST,
}
OPERATIONS = {ast.Mult: ir.Operation.TIMES, ast.FloorDiv: ir.Operation.DIVIDED_BY, ast.Mod: ir.Operation.MODULO}
MEMBERSHIP = (ast.In, ast.NotIn)

PASSED_ON = {
    ir.Role.TAKEN: "pass `taken` to a parameter `taken`, and only there",
    ir.Role.STATE: "pass a state to a parameter that is a state, and only there",
    ir.Role.SUBSET: "pass a subset to a parameter that is a subset, and only there",
}
"""The cure for each kind of variable that has no single value and can only be passed to a helper as a whole."""


@dataclass(frozen=True)
class Place:
    """The state, the field and the indices of `s.field[i][j]`; for a part of a record, the field is `FIELD.PART`."""

    state: str
    name: str
    indices: Sequence[ast.expr]


READ = {
    "set": "a set is read by x in {0}, x not in {0}, len({0}), for x in {0}, and <= == != with another set",
    "queue": "a queue is read by {0}[i], len({0}), x in {0}",
}
CHANGED = {
    "set": "a set is changed by {0}.add(x), {0}.discard(x), {0}.clear(), or {0} = another set",
    "queue": "a queue is changed by {0}.append(x), {0}.popleft(), x = {0}.popleft(), or {0}.clear()",
}
"""The cures for a refused use (`READ`) and a refused change (`CHANGED`) of a set or a queue; {0} stands for its
text."""

CHANGES = {"set": {"add": 1, "discard": 1, "clear": 0}, "queue": {"append": 1, "popleft": 0, "clear": 0}}
"""The methods that change a set or a queue, each with its number of arguments."""

MOST_NODES, MOST_DEEP = 100_000, 100
"""The largest number of nodes and the deepest nesting of a function after `lowered` has replaced its sets and
queues."""

OF_STATE, OF_STEP = (("s",),), (("before", "after"), ("before", "after", TAKEN))
PARAMETERS_OF: Mapping[Kind | None, tuple[tuple[str, ...], ...]] = {
    **dict.fromkeys((Kind.ALWAYS, *WHOLE, Kind.LEMMA, Kind.TERMINAL, Kind.CONSTRAINT), OF_STATE),
    Kind.ALWAYS_STEP: OF_STEP,
    Kind.SOMETIMES: OF_STATE + OF_STEP,
}
"""The names of the parameters that a function can have, by the kind of its declaration."""


class Reader:
    """Checks the functions of a model and turns each into a `Function`; each function is read only once."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.vocabulary = vocabulary
        self._read: dict[types.FunctionType, Function] = {}
        self._reading: list[types.FunctionType] = []
        self._names: dict[int, tuple[dict[str, Any], dict[str, Any]]] = {}
        self.depth = 0  # of the calls that lead to the function being read

    def names_of(self, python: types.FunctionType) -> Mapping[str, Any]:
        """Return the global names, with their values, of the function's module. The values are from the time when the
        first function of the module was read."""
        # The module's own dictionary is stored too, so that no other dictionary gets its id.
        live = python.__globals__
        return self._names.setdefault(id(live), (live, dict(live)))[1]

    def read(self, python: types.FunctionType, depth: int = 0) -> Function:
        """Return the function `python` as a `Function`. If another function calls `python`, `depth` is the depth at
        which this call is nested in the caller. Raises LanguageError if `python` is not in the language."""
        if python not in self._read:
            if python in self._reading:
                code = python.__code__
                what = f"{code.co_filename}:{code.co_firstlineno}: {python.__name__} calls itself"
                raise LanguageError(f"{what}; write the repetition as a for loop over a range")
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


class FunctionReader:
    """Checks the parameters, statements and expressions of one function, and makes the nodes that represent them."""

    def __init__(
        self,
        reader: Reader,
        python: types.FunctionType,
        definition: ast.FunctionDef,
        code: types.CodeType,
        source: ir.Source,
    ) -> None:
        self.reader = reader
        self.python, self.definition, self.code, self.source = python, definition, code, source
        self.path, self.name = python.__code__.co_filename, definition.name
        self.vocabulary = reader.vocabulary
        self.names = reader.names_of(python)
        """The global names of the function's module."""
        self.mark = mark_of(python)
        self.kind = self.mark.kind if self.mark else None
        if self.kind is Kind.INITIAL:
            self.kind = Kind.ACTION  # a generator of initial states follows the rules of an action
        self.own: Mapping[str, ir.Variable] = {}
        """The variables that the function's own names mean at the current place of the text: parameters, locals,
        variables of generators. As in Python, a name that is assigned anywhere in a function is local everywhere in
        it."""
        self.assigned: set[str] = set()
        """The names in `own` that stand for a number and have a value at the current place of the text."""
        self.pending: set[str] = set()
        """The variables of generators that have no value yet at the current place of the text."""
        self.has_collections = False
        """Whether the function has constructs with sets, queues or domains, which `lowered` has to replace."""
        self.is_written = False
        """Whether a statement before the current place of the text may have written the state."""
        self.depth = 0
        self.reads: set[str] = set()
        self.writes: set[str] = set()
        self.guards: set[str] = set()
        """The names by which the function calls `require`."""
        self.constants: dict[str, int | bool] = {}
        self.functions: dict[str, Function] = {}
        self.actions: dict[str, str] = {}
        self.domains: dict[str, type[Domain]] = {}
        self.records: set[str] = set()
        """The names of the Record classes that the function calls to make a record."""

    def function(self) -> Function:
        """Return the whole function as a `Function`. Raises LanguageError if a part is not in the language."""
        definition, body = self.definition, self.definition.body
        documentation = ast.get_docstring(definition)
        if documentation is not None:
            body = body[1:]
        self.nesting = Nesting(body)
        annotations = [argument.annotation for argument in definition.args.args if argument.annotation is not None]
        for fault in (Nesting([*definition.decorator_list, *annotations]).fault, self.nesting.fault):
            if fault is not None:
                raise self.error(*fault)
        self.depth = self.nesting.deepest
        if len(definition.args.args) > PARAMETERS.most:
            raise self.error(definition, f"the function has {len(definition.args.args)} parameters", PARAMETERS.cure)
        statements = list(statements_in(definition))
        returns_value = any(isinstance(statement, ast.Return) for statement in statements)
        for decorator in definition.decorator_list:
            if not is_of_the_language(decorator, self.names):
                what = f"the decorator `@{shown(decorator)}` is not in the language"
                raise self.error(decorator, what, "leave the decorator out")
        parameters = self._parameters(definition)
        self.states = [each.name for each in parameters if each.role is ir.Role.STATE]
        self.subsets = {
            each.name: each.domain for each in parameters if each.domain and issubclass(each.domain, Subset)
        }
        self.assigned = {each.name for each in parameters if each.role is ir.Role.NUMBER}
        # As in Python: a name that is assigned anywhere in a function is one variable everywhere in it.
        locals_ = {name: ir.Variable(name) for statement in statements for name in assigned_names(statement)}
        self.own = {**locals_, **{each.name: each for each in parameters}}
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
            hint = "end every path with `return value`"
            raise self.error(definition, "one path returns a value, and another path ends without `return`", hint)
        if returns_value and self.writes:
            what = f"{self.name} both writes {', '.join(sorted(self.writes))} and returns a value"
            hint = "split it into two helpers: one that returns the value, and one that writes"
            raise self.error(definition, what, hint)
        is_property = self.kind not in (None, Kind.ACTION)
        if is_property and not returns_value:
            raise self.error(definition, "the property returns nothing", "return a truth value")
        if is_property and self.writes:
            what = "the property writes to the state"
            raise self.error(definition, what, "leave the write out: a property only reads")

    def _core(
        self, parameters: Iterable[ir.Variable], as_written: tuple[ir.Statement, ...]
    ) -> tuple[ir.Statement, ...]:
        if size_of_core(as_written) > MOST_NODES:
            what = f"expressions with sets and queues are nested too deep: they read more than {MOST_NODES} cells"
            hint = "assign a part of an expression to a local, or move the part into a helper"
            raise self.error(self.definition, what, hint)
        core = lowered(parameters, as_written)
        depths = {callee.routine: callee.depth for callee in self.functions.values()}
        for node, depth in with_depth(core):
            if depth > MOST_DEEP:
                what = f"expressions with sets and queues are nested more than {MOST_DEEP} deep"
                raise self.error(self.definition, what, "move a part of an expression into a helper")
            self.depth = max(self.depth, depth + (depths[node.routine] if isinstance(node, ir.Call) else 0))
        if self.depth > DEPTH_IN_ALL.most:
            raise self._too_deep_in_all(self.definition, self.name)
        return core

    def _too_deep_in_all(self, node: ast.AST, name: str) -> LanguageError:
        what = f"the code of {name} and of the helpers that it calls is nested more than {DEPTH_IN_ALL.most} deep"
        return self.error(node, what, DEPTH_IN_ALL.cure)

    def _sealed(self) -> Callable[..., Any]:
        callees = {name: callee.python for name, callee in self.functions.items()}
        records = dict.fromkeys(self.records, types.SimpleNamespace)
        others = {**dict.fromkeys(self.guards, require), **callees, **self.actions, **records}
        return sealed(self.code, self.name, self.constants, others)

    # ----------------------------------------------------------------------------------------------------- declarations

    def _parameters(self, definition: ast.FunctionDef) -> tuple[ir.Variable, ...]:
        arguments = definition.args
        if arguments.vararg or arguments.kwarg or arguments.kwonlyargs or arguments.defaults or arguments.posonlyargs:
            hint = "leave out defaults, *args, **names, / and keyword-only parameters"
            raise self.error(definition, "a parameter has a form that the language lacks", hint)
        parameters = tuple(map(self._parameter, arguments.args))
        names = tuple(parameter.name for parameter in parameters)
        roles = {parameter.role for parameter in parameters}
        if ir.Role.SUBSET in roles and ir.Role.STATE not in roles:
            hint = "pass the state as well, as the first parameter"
            raise self.error(definition, "a parameter is a subset, but no parameter is a state", hint)
        expected = PARAMETERS_OF.get(self.kind)
        if expected is not None and names not in expected:
            allowed = " or ".join(f"({', '.join(names_allowed)})" for names_allowed in expected)
            raise self.error(definition, f"the parameters are ({', '.join(names)})", f"write them as {allowed}")
        if self.kind is Kind.ACTION and (names[:1] != ("s",) or set(names[1:]) & {*STATE_NAMES, TAKEN}):
            hint = "name the first parameter `s`, and no parameter `before`, `after` or `taken`"
            raise self.error(definition, "the first parameter of an action must be its only state", hint)
        return parameters

    def _parameter(self, argument: ast.arg) -> ir.Variable:
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
            what = f"the parameter {name} of an action has no domain"
            raise self.error(argument, what, "annotate the parameter, as in `leader: Replica`")
        hint = "annotate the parameter with a Domain or a Subset"
        if isinstance(named, type) and issubclass(named, IntEnum):
            size = len(set(members_of(named).values()))
            hint = f"declare a Domain with as many elements, as in: class Any{named.__name__}(Domain, size={size})"
        raise self.error(argument, f"the annotation {shown(annotation)} is not a domain", hint)

    def error(self, node: ast.AST, what: str, hint: str) -> LanguageError:
        """Return the error for a construct outside the language: `what` is wrong, `hint` says what to write instead."""
        line = getattr(node, "lineno", self.definition.lineno)
        return LanguageError(f"{self.path}:{line}: in {self.name}: {what}; {hint}")

    # ------------------------------------------------------------------------------------------------------- statements

    def _block(self, statements: Iterable[ast.stmt]) -> tuple[ir.Statement, ...]:
        return tuple(
            map(self._statement, [statement for statement in statements if not isinstance(statement, ast.Pass)])
        )

    def _statement(self, statement: ast.stmt) -> ir.Statement:
        changed = self.changed(statement)
        if changed is not None:
            return changed
        match statement:
            case ast.Assign(targets=[target], value=value):
                return self._assignment(statement, target, self.expression(value))
            case ast.Assign():
                what = f"`{shown(statement)}` has several assignments"
                raise self.error(statement, what, "write one assignment per line")
            case ast.AugAssign(target=target, op=ast.Add() | ast.Sub() as operator, value=value):
                if isinstance(target, ast.Name) and target.id in self.own and target.id not in self.assigned:
                    self._check_local(target)
                    what = f"`{target.id}` has no value yet"
                    raise self.error(target, what, "give the local a value before += or -=")
                term = ir.Term(self.expression(value), isinstance(operator, ast.Sub), span=self.span(value))
                before = ir.Term(self.expression(target), False, span=self.span(target))
                return self._assignment(statement, target, ir.Sum((before, term), span=self.span(statement)))
            case ast.AugAssign(op=operator):
                what = f"`{shown(statement)}` has an operator that the language lacks"
                raise self.error(statement, what, "use += or -=, or write the whole sum or product: x = x * 2")
            case ast.If():
                return self._branch(statement)
            case ast.For():
                return self._loop(statement)
            case ast.Return():
                return self._returned(statement)
            case ast.Expr(value=ast.Call(func=ast.Name()) as call):
                return self._call_statement(statement, call)
            case ast.Expr():
                what = "this expression has no effect"
                raise self.error(statement, what, "call require(...), or a helper that writes to the state")
        what = f"the statement `{type(statement).__name__}` is not in the language"
        raise self.error(statement, what, STATEMENTS_ARE)

    def _assignment(self, statement: ast.stmt, target: ast.expr, value: ir.Expression) -> ir.Assign | ir.Store:
        span = self.span(statement)
        if isinstance(target, ast.Name):
            return ir.Assign(self.local(target), value, span=span)
        cell = self.cell(target)
        if isinstance(cell, ir.Setting):
            hint = "write only fields of the state"
            raise self.error(
                target, f"`{cell.entry}` is an entry of the configuration, which no function can change", hint
            )
        self.writes_to(target, cell.state.name, cell.field)
        return ir.Store(cell, value, span=span)

    def writes_to(self, node: ast.AST, state: str, field: str) -> None:
        """Note that the function writes `field` of `state`. Refuses a state that the function can only read."""
        if state != "s":
            what = f"the state `{state}` is written, but the function can only read this state"
            raise self.error(node, what, "write only the state `s` of an action")
        self.writes.add(field)
        self.is_written = True

    def local(self, target: ast.Name) -> ir.Variable:
        """Return the local that an assignment to `target` assigns, and note that the local now has a value."""
        self._check_local(target)
        self.assigned.add(target.id)
        return self.own[target.id]

    def _check_local(self, target: ast.Name) -> None:
        if target.id in STATE_NAMES or target.id in self.subsets or target.id == TAKEN:
            what = f"`{target.id}` is a parameter or a name of the language, to which nothing can be assigned"
            raise self.error(target, what, "choose another name for the local")

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
            what = "the loop has an `else`, which the language lacks"
            raise self.error(statement, what, "put the statements of the `else` after the loop")
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
            raise self.error(statement, "an action contains `return`", "guard with require(...), or use if/else")
        if statement.value is None:
            what = "`return` has no value"
            raise self.error(statement, what, "use if/else in place of `return` in a helper that writes")
        return ir.Return(self.expression(statement.value), span=self.span(statement))

    def _call_statement(self, statement: ast.Expr, call: ast.Call) -> ir.Require | ir.Do:
        assert isinstance(call.func, ast.Name)
        span = self.span(statement)
        if self.meaning(call.func) is require:
            if self.kind is not Kind.ACTION:
                what = "require(...) is called outside an action"
                raise self.error(statement, what, "return a truth value, and call require(...) in the action")
            if self.is_written:
                what = "require(...) is called after a write"
                raise self.error(statement, what, "put every guard before the first write")
            if len(call.args) != 1 or call.keywords:
                what = "require(...) takes exactly one condition"
                raise self.error(statement, what, "write one require(...) per guard")
            self.guards.add(call.func.id)
            return ir.Require(self.expression(call.args[0]), span=span)
        called = self.helper(call)
        if not called.routine.writes:
            what = f"the value that {call.func.id}(...) returns is not used"
            raise self.error(statement, what, "use the value, or call a helper that writes to the state")
        self.writes |= called.routine.writes
        self.is_written = True
        return ir.Do(called, span=span)

    def called(self, python: types.FunctionType, call: ast.Call) -> Function:
        """Return a called helper as a `Function`. Refuses calls that are nested too deep."""
        depth = self.nesting.calls[id(call)]
        is_deep = self.reader.depth + depth > DEPTH_IN_ALL.most
        callee = None if is_deep else self.reader.read(python, depth)
        if callee is None or depth + callee.depth > DEPTH_IN_ALL.most:
            raise self._too_deep_in_all(call, python.__name__)
        self.depth = max(self.depth, depth + callee.depth)
        return callee

    def span(self, node: ast.stmt | ast.expr, end: ast.expr | None = None) -> ir.Span:
        """Return the place of `node` in the text; with `end`, the place reaches to the end of the node `end`."""
        last = end or node
        assert last.end_lineno is not None and last.end_col_offset is not None
        return ir.Span(self.source, node.lineno, node.col_offset, last.end_lineno, last.end_col_offset)

    # ------------------------------------------------------------------------------------------------------ expressions

    def several(self, expressions: Sequence[ast.expr]) -> tuple[ir.Expression, ...]:
        """Return the representations of the expressions, in the same order."""
        return tuple(map(self.expression, expressions))

    def expression(self, node: ast.expr) -> ir.Expression:
        """Return the representation of an expression. Raises LanguageError if the expression is not in the language."""
        collective = self.collective(node)
        if collective is not None:
            return collective
        span = self.span(node)
        match node:
            case ast.Constant(value=value):
                if not isinstance(value, int):
                    what = f"the constant {value!r} is no value of the language"
                    raise self.error(node, what, "use whole numbers and truth values")
                return ir.Constant(self._constant(node, value), span=span)
            case ast.Name():
                return self._named(node)
            case ast.Attribute(value=ast.Name(id=name) as owner) if name not in STATE_NAMES:
                return self._member(node, owner)
            case ast.Subscript(value=ast.Name(id=name)) if name in self.subsets:
                return ir.Element(self.own[name], self.expression(node.slice), span=span)
            case ast.Attribute() | ast.Subscript():
                return self.cell(node)
            case ast.BinOp(op=ast.Add() | ast.Sub()):
                first, rest = summands(node)
                terms = (
                    ir.Term(self.expression(term), isinstance(sign, ast.Sub), span=self.span(term))
                    for sign, term in ((ast.Add(), first), *rest)
                )
                return ir.Sum(tuple(terms), span=span)
            case ast.BinOp(left=left, op=operator, right=right):
                operation = OPERATIONS.get(type(operator))
                if operation is None:
                    what = f"`{shown(node)}` has an operator that the language lacks"
                    raise self.error(node, what, "use + - * // or %")
                return ir.Arithmetic(self.expression(left), operation, self.expression(right), span=span)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return ir.Not(self.expression(operand), span=span)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return ir.Negative(self._negated(operand), span=span)
            case ast.UnaryOp(op=operator):
                what = f"`{shown(node)}` has an operator that the language lacks"
                raise self.error(node, what, "use `not` or a minus sign")
            case ast.BoolOp(op=ast.And(), values=values):
                return ir.And(self.several(values), span=span)
            case ast.BoolOp(values=values):
                return ir.Or(self.several(values), span=span)
            case ast.Compare():
                return self._comparison(node)
            case ast.IfExp():
                pairs, last = alternatives(node)
                options = [
                    ir.Option(self.expression(test), self.expression(value), span=self.span(value))
                    for test, value in pairs
                ]
                return ir.Choose(tuple(options), self.expression(last), span=span)
            case ast.Call():
                return self._call(node)
        raise self.error(node, f"the expression `{shown(node)}` is not in the language", EXPRESSIONS_ARE)

    def _negated(self, operand: ast.expr) -> ir.Expression:
        # The digits of the least number are out of range without the sign.
        if isinstance(operand, ast.Constant) and type(operand.value) is int:
            return ir.Constant(-self._constant(operand, -operand.value), span=self.span(operand))
        return self.expression(operand)

    def _constant(self, node: ast.expr, value: int) -> int:
        """Return the number `value`, a constant in the function's text. Refuses a number of more than 32 bits; computed
        numbers are checked by models/language/intervals.py."""
        if not -NUMBERS.most - 1 <= value <= NUMBERS.most:
            # Python does not print numbers of more than 4300 digits.
            size = value if value.bit_length() < 100 else f"of {value.bit_length()} bits"
            raise self.error(node, f"the constant {size} does not fit in 32 bits", NUMBERS.cure)
        return value

    # ------------------------------------------------------------------------------------------------------------ names

    def _named(self, node: ast.Name) -> ir.Expression:
        name, span = node.id, self.span(node)
        if name in self.assigned:
            return ir.Local(self.own[name], span=span)
        if name in self.states:
            what = f"the whole state `{name}` is used as a value"
            raise self.error(node, what, "read fields of the state, or pass it to a helper")
        if name in self.subsets:
            raise self.error(node, f"the subset `{name}` is used as a value", f"index it: {name}[element]")
        if name == TAKEN:
            raise self.error(node, "`taken` is used as a value", "compare `taken` with an action: taken == name")
        meaning = self.meaning(node)
        number = plain(meaning)
        if number is None:
            what = f"`{name}` is a {type(meaning).__name__}, not a whole number"
            raise self.error(node, what, "use only names of whole numbers")
        self.constants[name] = self._constant(node, number)
        return ir.Constant(number, type(meaning) if isinstance(meaning, IntEnum) else None, span=span)

    def _member(self, node: ast.Attribute, owner: ast.Name) -> ir.Constant:
        kind = self.meaning(owner)
        if not isinstance(kind, type) or not issubclass(kind, IntEnum):
            what = f"`{shown(node)}` is an attribute of neither a state nor an IntEnum"
            raise self.error(node, what, "read s.field, or a member of an IntEnum")
        members = members_of(kind)
        if node.attr not in members:
            raise self.error(node, f"{kind.__name__} has no member {node.attr}", f"it has {', '.join(members)}")
        value = self.constants[f"{owner.id}.{node.attr}"] = self._constant(node, members[node.attr])
        return ir.Constant(value, kind, span=self.span(node))

    def meaning(self, node: ast.Name) -> Any:
        """Return the value of a global name. Refuses a name without a value."""
        name = node.id
        if name in self.names and name not in self.own:
            return self.names[name]
        what = f"`{name}` has no value here"
        hint = "define the name in the module, or assign it on every path to this line"
        if name in self.pending:
            what, hint = f"`{name}` is a variable of the generator, which has no value yet", "rename the variable"
        elif name not in self.own and name in (*EXTREMA, MAGNITUDE, *FOLDS, SIZE, "range"):
            what = f"`{name}` is used without a call"
            hint = "write it as in: for x in range(n)" if name == "range" else "call it"
        elif name not in self.own and name in vars(builtins):
            what = f"Python's own `{name}` is not in the language"
            hint = f"of Python's own functions, use only {', '.join((*EXTREMA, MAGNITUDE, *FOLDS, SIZE))}"
        raise self.error(node, what, hint)

    def is_builtin(self, name: str) -> bool:
        """Whether a name stands for Python's own function of this name, such as `min`."""
        return name not in self.names and name not in self.own

    def domain(self, node: ast.expr) -> type[Domain] | None:
        """Return the domain that an expression names; None if it names no domain."""
        if not isinstance(node, ast.Name) or node.id in self.own:
            return None
        meaning = self.names.get(node.id)
        if not isinstance(meaning, type) or not issubclass(meaning, Domain) or meaning is Domain:
            return None
        self.domains[node.id] = meaning
        return meaning

    # ------------------------------------------------------------------------------------------------------------ cells

    def place(self, node: ast.expr) -> Place | None:
        """Return the state, the field and the indices of an expression such as `s.field[i]`; None if the expression
        does not begin with a state's name."""
        inner, indices = subscripts(node)
        if not isinstance(inner, ast.Attribute):
            return None
        if isinstance(inner.value, ast.Name):
            return Place(inner.value.id, inner.attr, indices) if inner.value.id in STATE_NAMES else None
        record = self.place(inner.value)
        group = self.vocabulary.groups.get(record.name) if record is not None else None
        if record is None or group is None:
            return None
        self.refuse_slices(node, (*record.indices, *indices))
        if inner.attr not in group.parts:
            cure = f"it has {', '.join(group.parts)}"
            raise self.error(node, f"the record `{record.name}` has no part `{inner.attr}`", cure)
        rank = len(group.over) + (group.queue is not None)
        if len(record.indices) != rank:
            what = f"the record `{record.name}` takes {indices_taken(rank)}, not {len(record.indices)}"
            raise self.error(node, what, f"write every index before .{inner.attr}")
        return Place(record.state, f"{record.name}.{inner.attr}", (*record.indices, *indices))

    def refuse_slices(self, node: ast.AST, indices: Sequence[ast.expr]) -> None:
        """Raise LanguageError if an index is a slice."""
        if any(isinstance(index, ast.Slice) for index in indices):
            cure = "read one element at a time, in a loop over range(m, n)"
            raise self.error(node, f"`{shown(node)}` is a slice", cure)

    def cell(self, node: ast.expr) -> ir.Cell | ir.Setting:
        """Return the cell or the configuration entry that an expression such as `s.epoch[r]` names."""
        place = self.place(node)
        if place is None:
            inner, _ = subscripts(node)
            if isinstance(inner, ast.Attribute) and isinstance(inner.value, ast.Name):
                self.known_state(node, inner.value.id)
            raise self.error(node, f"`{shown(node)}` is no field of the state", "write s.field or s.field[index]")
        name = place.name
        state = self.known_state(node, place.state)
        if name in self.vocabulary.configuration:
            if place.indices:
                what = f"`{name}` is a configuration entry, which takes no index"
                raise self.error(node, what, "leave the index out")
            return ir.Setting(name, span=self.span(node))
        group = self.vocabulary.groups.get(name)
        if group is not None:
            hint = f"read and write its parts: {', '.join(group.parts)}"
            raise self.error(node, f"the record `{shown(node)}` is used as a value", hint)
        if name not in self.vocabulary.fields:
            self.unknown_field(node, name)
        self.refuse_slices(node, place.indices)
        rank = self.vocabulary.fields[name]
        if rank != len(place.indices):
            what = f"the field `{name}` takes {indices_taken(rank)}, not {len(place.indices)}"
            raise self.error(node, what, "write every index: the language has no slices and no parts of arrays")
        self.reads.add(name)
        return ir.Cell(state, name, self.several(place.indices), span=self.span(node))

    def known_state(self, node: ast.AST, name: str) -> ir.Variable:
        """Return the parameter with this name. Refuses a name that is not a state."""
        if name not in self.states:
            raise self.error(node, f"`{name}` is not a state here", f"name the state {' or '.join(STATE_NAMES)}")
        return self.own[name]

    def unknown_field(self, node: ast.AST, name: str) -> NoReturn:
        """Refuse a name that is neither a field of the state nor an entry of the configuration."""
        names = sorted([*self.vocabulary.fields, *self.vocabulary.configuration])
        raise self.error(node, f"the state has no field `{name}`", f"it has {', '.join(names)}")

    # ------------------------------------------------------------------------------------------------------ comparisons

    def _comparison(self, node: ast.Compare) -> ir.Expression:
        span, operators = self.span(node), node.ops
        if any(isinstance(operator, MEMBERSHIP) for operator in operators):
            return self._membership(node)
        if not all(type(operator) in SIGNS for operator in operators):
            what = f"`{shown(node)}` has a comparison that the language lacks"
            raise self.error(node, what, "compare with == != < <= > >= or `in`")
        if any(isinstance(side, ast.Name) and side.id == TAKEN for side in (node.left, *node.comparators)):
            return self._taken(node)
        first = self.expression(node.left)
        links = [
            ir.Link(SIGNS[type(operator)], self.expression(side), span=self.span(side))
            for operator, side in zip(operators, node.comparators, strict=True)
        ]
        if len(links) == 1:
            return ir.Compare(first, links[0].sign, links[0].right, span=span)
        return ir.Chain(first, tuple(links), span=span)

    def _membership(self, node: ast.Compare) -> ir.Expression:
        if len(node.ops) != 1:
            what = f"`{shown(node)}` chains `in` with another comparison"
            raise self.error(node, what, "write `in` as a comparison of its own, in brackets")
        (right,), is_in, span = node.comparators, isinstance(node.ops[0], ast.In), self.span(node)
        domain = self.domain(right)
        if domain is not None:
            self.has_collections = True
            return negated_unless(is_in, ir.InDomain(self.expression(node.left), domain, span=span))
        if not isinstance(right, ast.Tuple):
            what = f"`{shown(node)}` does not list the values after `in`"
            raise self.error(node, what, "write the values in round brackets, as in: x in (1, 2)")
        return negated_unless(is_in, ir.Among(self.expression(node.left), self.several(right.elts), span=span))

    def _taken(self, node: ast.Compare) -> ir.Expression:
        left, right = node.left, node.comparators[0]
        if TAKEN not in self.own:
            cure = "add `taken` as the third parameter of a property of transitions"
            raise self.error(node, "`taken` has no value here", cure)
        is_comparison = len(node.ops) == 1 and isinstance(node.ops[0], ast.Eq | ast.NotEq)
        if not is_comparison or not isinstance(right, ast.Name) or not isinstance(left, ast.Name) or left.id != TAKEN:
            what = f"`{shown(node)}` does not compare `taken` with one action"
            raise self.error(node, what, "write `taken == NAME`, with an action's name")
        meaning = self.meaning(right)
        action = self.vocabulary.actions.get(meaning) if type(meaning) is types.FunctionType else None
        if action is None:
            raise self.error(right, f"{right.id} is not an action of this model", "name one of its actions")
        self.actions[right.id] = action
        is_taken = ir.IsTaken(self.own[TAKEN], action, span=self.span(node))
        return negated_unless(isinstance(node.ops[0], ast.Eq), is_taken)

    # ------------------------------------------------------------------------------------------------------------ calls

    def _call(self, call: ast.Call) -> ir.Expression:
        if not isinstance(call.func, ast.Name):
            what = f"`{shown(call.func)}(...)` does not call a plain name"
            raise self.error(call, what, "call helpers by their plain name")
        name = call.func.id
        if name in FOLDS and self.is_builtin(name):
            if len(call.args) != 1 or call.keywords or not isinstance(call.args[0], ast.GeneratorExp):
                raise self.error(call, f"{name}(...) has no generator", f"write {name}(... for x in range(n))")
            return self._fold(call, name, call.args[0])
        if name in EXTREMA and self.is_builtin(name):
            return self._extremum(call, name)
        if name == MAGNITUDE and self.is_builtin(name):
            return self._magnitude(call)
        if name == SIZE and self.is_builtin(name):
            domain = self.domain(call.args[0]) if len(call.args) == 1 and not call.keywords else None
            if domain is None:
                what = f"`{shown(call)}` is not the length of a domain, a set or a queue"
                raise self.error(call, what, "give len(...) a domain or a set, as in len(Replica)")
            return ir.Size(domain, span=self.span(call))
        called = self.helper(call)
        if called.routine.writes:
            what = f"the helper {name} writes to the state and has no value"
            raise self.error(call, what, "call the helper as a statement of its own")
        if not called.routine.returns_value:
            what = f"the helper {name} returns nothing, but its value is used"
            raise self.error(call, what, "end it with `return value`")
        return called

    def _extremum(self, call: ast.Call, name: str) -> ir.Expression:
        generators = [argument for argument in call.args if isinstance(argument, ast.GeneratorExp)]
        if generators and len(call.args) == 1:
            defaults = [keyword.value for keyword in call.keywords if keyword.arg == "default"]
            if len(defaults) < len(call.keywords):
                raise self.error(call, f"{name}(...) has a keyword other than `default`", "leave that keyword out")
            fold = self._fold(call, name, generators[0], *self.several(defaults))
            if fold.default is None and any(part.conditions for part in fold.generators):
                what = f"the generator of {name}(...) has an `if` or goes through a set, so it may have no element"
                hint = f"give the value for that case: {name}((... for x in range(n) if ...), default=0)"
                raise self.error(call, what, hint)
            return fold
        if generators:
            what = f"{name}(...) gets a generator and another argument"
            raise self.error(call, what, f"write {name}(a, {name}(... for x in range(n)))")
        if call.keywords:
            raise self.error(call, f"{name}(...) of numbers has a keyword argument", f"write {name}(a, b)")
        if len(call.args) < 2:
            raise self.error(call, f"{name}(...) gets fewer than two numbers", f"write {name}(a, b)")
        return ir.Extremum(ir.Extreme(name), self.several(call.args), span=self.span(call))

    def _magnitude(self, call: ast.Call) -> ir.Extremum:
        """Return the greatest of 0, the number and the negative number: 0 says that no result is negative."""
        if len(call.args) != 1 or call.keywords:
            raise self.error(call, f"{MAGNITUDE}(...) takes one number", f"write {MAGNITUDE}(a)")
        span, number = self.span(call), self.expression(call.args[0])
        numbers = (ir.Constant(0, span=span), number, ir.Negative(number, span=span))
        return ir.Extremum(ir.Extreme.GREATEST, numbers, span=span)

    def _fold(
        self, call: ast.Call, name: str, generator: ast.GeneratorExp, default: ir.Expression | None = None
    ) -> ir.Fold:
        outside = self.assigned, self.own, self.pending
        # The variables hide other names in the whole generator, even before they have a value.
        hidden = {name: ir.Variable(name) for part in generator.generators for name in stored(part.target)}
        self.assigned, self.own = self.assigned - set(hidden), {**self.own, **hidden}
        self.pending = self.pending | set(hidden)
        generators = tuple(map(self.generator, generator.generators))
        body = self.expression(generator.elt)
        self.assigned, self.own, self.pending = outside
        return ir.Fold(ir.Gathering(name), generators, body, default, span=self.span(call))

    def generator(self, part: ast.comprehension) -> ir.Generator:
        """Return the representation of one `for ... in ...` of a generator. A `for` over a set goes through the set's
        domain, and tests for each number whether the set contains it."""
        if part.is_async:
            what = "the generator has `async for`, which the language lacks"
            raise self.error(part.target, what, "write a plain `for`")
        collection, target = self.set_of(part.iter), self.span(part.target)
        name = self.loop_variable(part.target)
        if collection is None:
            numbers = self.range(part.iter)
            return ir.Generator(self.begin(name), numbers, self.several(part.ifs), span=target)
        variable = self.begin(name)
        membership = replace(self.span(part.target, part.iter), source=MemberOf(target, collection.span))
        is_in = ir.IsIn(ir.Local(variable, span=target), collection, span=membership)
        numbers = elements_of(collection.domain, collection.span)
        return ir.Generator(variable, numbers, (is_in, *self.several(part.ifs)), span=target)

    def begin(self, name: str) -> ir.Variable:
        """Return a new variable for one `for ... in ...` of a generator, and note that the variable now has a value."""
        variable = ir.Variable(name)
        self.own = {**self.own, name: variable}
        self.assigned.add(name)
        self.pending.discard(name)
        return variable

    def loop_variable(self, target: ast.expr) -> str:
        """Return the name of a loop's variable. Refuses a target that is not a plain name."""
        if not isinstance(target, ast.Name) or target.id in (*STATE_NAMES, *self.subsets, TAKEN):
            raise self.error(target, f"`{shown(target)}` cannot be a loop variable", "use one plain name")
        return target.id

    def range(self, iterated: ast.expr) -> ir.Range:
        """Return the numbers that a loop goes through: `range(n)`, `range(m, n)` or a domain. Refuses anything else."""
        domain, span = self.domain(iterated), self.span(iterated)
        if domain is not None:
            return elements_of(domain, span)
        match iterated:
            case ast.Call(func=ast.Name(id="range"), args=[_] | [_, _], keywords=[]) if self.is_builtin("range"):
                *first, end = self.several(iterated.args)
                return ir.Range(first[0] if first else ir.Constant(0, span=span), end, span=span)
        what = f"a `for` goes through `{shown(iterated)}`"
        raise self.error(iterated, what, "go through range(n), range(m, n), a domain or a set")

    def helper(self, call: ast.Call) -> ir.Call:
        """Return the call of a helper. Refuses a name that is no helper, and arguments that do not fit the helper."""
        assert isinstance(call.func, ast.Name)
        name = call.func.id
        python = self.meaning(call.func)
        if type(python) is not types.FunctionType or python is require:
            raise self.error(call, f"`{name}(...)` cannot be called here", "call helpers of the modelling language")
        if str(python.__module__).startswith("isrcheck.models.language."):
            what = f"`{name}(...)` is a declaration, which has no value in a function"
            raise self.error(call, what, "write the declaration outside of functions")
        mark = mark_of(python)
        if mark is not None and mark.kind in (Kind.ACTION, Kind.INITIAL, Kind.CONTRADICTION):
            raise self.error(
                call,
                f"{name} is an action or another declaration, which no function can call",
                "move the code that both functions need into a helper",
            )
        for parameter_name, argument in zip(python.__code__.co_varnames, call.args, strict=False):
            kind = self.subsets.get(argument.id) if isinstance(argument, ast.Name) else None
            if kind is not None and parameter_name not in python.__annotations__:
                what = f"`{shown(argument)}` is a subset, but {name} does not declare `{parameter_name}` as a subset"
                raise self.error(argument, what, f"annotate the parameter: {parameter_name}: {kind.__name__}")
        self.functions[name] = self.called(python, call)
        routine = self.functions[name].routine
        if call.keywords or len(call.args) != len(routine.parameters):
            what = f"{name}(...) must get {len(routine.parameters)} arguments by position, but does not"
            raise self.error(call, what, "pass every argument by position")
        passed = zip(routine.parameters, call.args, strict=True)
        arguments = tuple(self._argument(name, parameter, argument) for parameter, argument in passed)
        self.reads |= routine.reads
        return ir.Call(routine, arguments, span=self.span(call))

    def _argument(self, helper: str, parameter: ir.Variable, argument: ast.expr) -> ir.Expression:
        variable = self.own.get(argument.id) if isinstance(argument, ast.Name) else None
        role = ir.Role.NUMBER if variable is None else variable.role
        cure = None
        if role is not parameter.role:
            cure = next(cure for special, cure in PASSED_ON.items() if special in (role, parameter.role))
        elif role is ir.Role.SUBSET and variable is not None and variable.domain is not parameter.domain:
            cure = "pass a subset of the class that annotates the parameter"
        if cure is not None:
            what = f"`{shown(argument)}` is passed to {helper} as `{parameter.name}`, which is of another kind"
            raise self.error(argument, what, cure)
        if variable is not None and role in PASSED_ON:
            return ir.Local(variable, span=self.span(argument))
        return self.expression(argument)

    # ------------------------------------------------------------------------------------------------------ collections

    def collections(self, node: ast.expr) -> tuple[ir.Collection, ...]:
        """Return the set or the queue that an expression denotes; for a queue of records, the queue of each part; for
        any other expression, an empty tuple. Refuses too few or too many indices of a set or queue."""
        if isinstance(node, ast.Name):
            subset = self.subsets.get(node.id)
            if subset is None:
                return ()
            self.has_collections = True
            return (ir.Collection(self.own[node.id], "", (), subset.of, span=self.span(node)),)
        place = self.place(node)
        return () if place is None else self._collections_at(node, place)

    def _collections_at(self, node: ast.expr, place: Place) -> tuple[ir.Collection, ...]:
        group = self.vocabulary.groups.get(place.name)
        if group is not None and group.queue is not None and len(place.indices) == len(group.over):
            first, *others = (Place(place.state, f"{place.name}.{part}", place.indices) for part in group.parts)
            queue = self._collection(node, first)
            return queue, *(self._collection(node, place_of_part, queue) for place_of_part in others)
        if place.name not in self.vocabulary.contents:
            return ()
        self.refuse_slices(node, place.indices)
        if self._is_element(place):
            return ()
        contents, rank = self.vocabulary.contents[place.name]
        if len(place.indices) != rank:
            what = f"the {contents.word} `{place.name}` takes {indices_taken(rank)}, not {len(place.indices)}"
            raise self.error(node, what, READ[contents.word].format(f"s.{place.name}{'[...]' * rank}"))
        return (self._collection(node, place),)

    def _collection(self, node: ast.expr, place: Place, same: ir.Collection | None = None) -> ir.Collection:
        """Return the set or the queue at a place. For each part of a record after the first part, `same` is the
        collection of the first part: its indices are copied, so that they are read only once."""
        state = self.known_state(node, place.state)
        contents, _ = self.vocabulary.contents[place.name]
        self.reads.add(place.name)
        self.has_collections = True
        indices = self.several(place.indices) if same is None else tuple(map(copied, same.indices))
        return ir.Collection(state, place.name, indices, contents.axis, contents.filler, span=self.span(node))

    def _is_element(self, place: Place) -> bool:
        """Whether a place such as `s.q[p][i]` is an element of a queue: it has one index more than the queue."""
        contents, rank = self.vocabulary.contents.get(place.name, (None, 0))
        return contents is not None and contents.filler is not None and len(place.indices) == rank + 1

    def _group(self, node: ast.expr) -> Group | None:
        place = self.place(node)
        return None if place is None else self.vocabulary.groups.get(place.name)

    # ----------------------------------------------------------------------------------- expressions about collections

    def collective(self, node: ast.expr) -> ir.Expression | None:
        """Return the representation of an expression about sets or queues; None for any other expression."""
        match node:
            case ast.Compare():
                return self._compared(node)
            case ast.Call(func=ast.Name(id=name), args=[argument], keywords=[]) if name == SIZE:
                collections = self.collections(argument) if self.is_builtin(SIZE) else ()
                return ir.Length(collections[0], span=self.span(node)) if collections else None
            case ast.Call(func=ast.Attribute(value=value, attr=change)):
                collections = self.collections(value)
                if collections:
                    self._refuse_change(node, value, collections[0], change, is_statement=False)
            case ast.Attribute() | ast.Subscript():
                return self._element(node)
        return None

    def _element(self, node: ast.expr) -> ir.Expression | None:
        place = self.place(node)
        if place is None:
            return None
        if self._is_element(place):
            self.refuse_slices(node, place.indices)
            queue = self._collection(node, Place(place.state, place.name, place.indices[:-1]))
            return ir.QueueElement(queue, self.expression(place.indices[-1]), span=self.span(node))
        collections = self._collections_at(node, place)
        if collections:
            text, word = shown(node), _word(collections[0])
            raise self.error(node, f"the {word} `{text}` is used as a value", READ[word].format(text))
        return None

    def _compared(self, node: ast.Compare) -> ir.Expression | None:
        sides = [self.collections(side) for side in (node.left, *node.comparators)]
        if not any(sides):
            return None
        sign, span, text = node.ops[0], self.span(node), shown(node)
        is_membership = len(node.ops) == 1 and isinstance(sign, MEMBERSHIP) and not sides[0]
        if is_membership and self._group(node.comparators[0]) is None:
            is_in = ir.IsIn(self.expression(node.left), sides[1][0], span=span)
            return negated_unless(isinstance(sign, ast.In), is_in)
        if any(_word(side[0]) == "queue" for side in sides if side):
            raise self.error(node, f"`{text}` compares a queue", "compare len(...) and the elements")
        if len(node.ops) != 1:
            what = f"`{text}` compares more than two sets"
            raise self.error(node, what, "compare two sets at a time, with `and` between")
        if not all(sides) or type(sign) not in SIGNS:
            hint = "compare the set with another set of the same domain, or use len(...) and `in`"
            raise self.error(node, f"`{text}` compares a set with a value that is no set", hint)
        (left,), (right,) = sides
        if left.domain is not right.domain:
            names = f"{left.domain.__name__} and of {right.domain.__name__}"
            raise self.error(node, f"`{text}` compares sets of {names}", "compare sets of one domain")
        return ir.SetComparison(left, SIGNS[type(sign)], right, span=span)

    def _refuse_change(
        self, node: ast.AST, written: ast.expr, collection: ir.Collection, change: str, *, is_statement: bool
    ) -> NoReturn:
        text, word = shown(written), _word(collection)
        what, hint = f"a {word} has no `{change}`", CHANGED[word].format(text)
        if change in CHANGES[word] and is_statement:
            count = CHANGES[word][change]
            what = f"`{change}` takes {count} element{'s' * (count != 1)}, but this call passes more or fewer"
            hint = f"write {text}.{change}(...)" if word == "set" else hint
        elif change == "popleft" and word == "queue":
            what = f"`{text}.popleft()` is a part of an expression"
            hint = f"write x = {text}.popleft() before the expression"
        elif change in CHANGES[word]:
            what, hint = f"`{text}.{change}(...)` is used as a value", "write it as a statement of its own"
        elif change == "remove" and word == "set":
            what, hint = f"`{text}.remove(...)` is not in the language", f"write {text}.discard(x)"
        elif change in ("issubset", "issuperset") and word == "set":
            what = f"`{text}.{change}(...)` is not in the language"
            hint = f"write {text} {'<=' if change == 'issubset' else '>='} ..."
        raise self.error(node, what, hint)

    def set_of(self, iterated: ast.expr) -> ir.Collection | None:
        """Return the set that a loop goes through; None if the loop goes through a range or domain. Refuses a queue."""
        collections = self.collections(iterated)
        if collections and _word(collections[0]) == "queue":
            text = shown(iterated)
            hint = f"write: for i in range(len({text})), and {text}[i]"
            raise self.error(iterated, f"a `for` goes through the queue `{text}`", hint)
        return collections[0] if collections else None

    # ------------------------------------------------------------------------------------ statements about collections

    def changed(self, statement: ast.stmt) -> ir.CollectiveStatement | None:
        """Return the representation of a statement that changes a set or a queue; None for any other statement."""
        match statement:
            case ast.Expr(value=ast.Call(func=ast.Attribute()) as call):
                return self._change(statement, call, None)
            case ast.Assign(targets=[target], value=ast.Call(func=ast.Attribute(attr="popleft")) as call):
                return self._change(statement, call, target) or self._assigned(statement, target)
            case ast.Assign(targets=[target]) | ast.AugAssign(target=target):
                return self._assigned(statement, target)
        return None

    def _change(self, statement: ast.stmt, call: ast.Call, target: ast.expr | None) -> ir.CollectiveStatement | None:
        assert isinstance(call.func, ast.Attribute)
        written, change = call.func.value, call.func.attr
        collections, group = self.collections(written), self._group(written)
        if not collections:
            return None
        span, first = self.span(statement), collections[0]
        if len(call.args) != CHANGES[_word(first)].get(change, -1) or call.keywords:
            self._refuse_change(call, written, first, change, is_statement=True)
        if target is not None and group is not None:
            text = shown(written)
            reads = ", ".join(f"{text}[0].{part}" for part in group.parts)
            what = f"`{shown(statement)}` keeps a whole record in a local"
            raise self.error(statement, what, f"read {reads} before {text}.popleft()")
        if target is not None and not isinstance(target, ast.Name):
            what = f"`{shown(statement)}` writes the removed element to the state"
            raise self.error(statement, what, f"assign {shown(call)} to a local first")
        for collection in collections:
            if not collection.field:
                hint = "change only sets of the state"
                raise self.error(statement, f"the parameter `{collection.holder.name}` is changed", hint)
            self.writes_to(written, collection.holder.name, collection.field)
        match change:
            case "clear":
                return ir.Clear(collections, span=span)
            case "popleft":
                return ir.TakeFirst(collections, None if target is None else self.local(target), span=span)
            case "append":
                values = self.several(call.args) if group is None else self._parts_of(call, group)
                return ir.Append(collections, values, span=span)
        return ir.SetChange(first, self.expression(call.args[0]), change == "add", span=span)

    def _parts_of(self, call: ast.Call, group: Group) -> tuple[ir.Expression, ...]:
        made, values = call.args[0], dict[str | None, ast.expr]()
        is_record = False
        if isinstance(made, ast.Call) and isinstance(made.func, ast.Name) and not made.args:
            values = {keyword.arg: keyword.value for keyword in made.keywords}
            is_record = made.func.id not in self.own and self.names.get(made.func.id) is group.record
            if is_record:
                self.records.add(made.func.id)
        if set(values) != set(group.parts) or not is_record:
            text = f"{group.record.__name__}({', '.join(f'{part}=...' for part in group.parts)})"
            what = f"`{shown(call)}` does not append a record with all of its parts"
            raise self.error(call, what, f"write the record as {text}")
        return tuple(self.expression(values[part]) for part in group.parts)

    def _assigned(self, statement: ast.Assign | ast.AugAssign, target: ast.expr) -> ir.CollectiveStatement | None:
        place = self.place(target)
        if place is None:
            return None
        is_element, collections = self._is_element(place), self._collections_at(target, place)
        if is_element or (collections and _word(collections[0]) == "queue"):
            inner = target.value if isinstance(target, ast.Attribute) and is_element else target
            text = shown(inner.value if isinstance(inner, ast.Subscript) and is_element else inner)
            raise self.error(statement, f"`{shown(target)}` is assigned to", CHANGED["queue"].format(text))
        if not collections:
            return None
        (collection,), text = collections, shown(target)
        if isinstance(statement, ast.AugAssign):
            what = f"`{shown(statement)}` changes a set with an operator"
            raise self.error(statement, what, CHANGED["set"].format(text))
        span, value = self.span(statement), statement.value
        sources = self.collections(value)
        self.writes_to(target, collection.holder.name, collection.field)
        if sources and _word(sources[0]) == "set":
            if sources[0].domain is not collection.domain:
                names = f"{sources[0].domain.__name__} is assigned to a set of {collection.domain.__name__}"
                raise self.error(statement, f"a set of {names}", "assign a set of the same domain")
            return ir.CopySet(collection, sources[0], span=span)
        match value:
            case ast.Set(elts=elements):
                return ir.FillSet(collection, self.several(elements), span=span)
            case ast.Call(func=ast.Name(id="set"), args=[], keywords=[]) if self.is_builtin("set"):
                return ir.FillSet(collection, (), span=span)
        hint = f"assign another set, set() or {{x, y}}, or write {text}.add(x) in a loop"
        raise self.error(statement, f"`{shown(value)}` is assigned to the set `{text}`", hint)


def negated_unless(is_so: bool, condition: ir.Expression) -> ir.Expression:
    """Return the condition if `is_so` is true, else its negation. This makes `x not in ...` out of `x in ...`."""
    return condition if is_so else ir.Not(condition, span=condition.span)


def indices_taken(count: int) -> str:
    """Return a number of indices in words, as in `2 indices`."""
    return f"{count} {'index' if count == 1 else 'indices'}"


def _word(collection: ir.Collection) -> str:
    return "set" if collection.filler is None else "queue"


def _returns(block: Iterable[ir.Statement]) -> bool:
    """Whether every path through the statements ends with `return`."""
    for statement in block:
        match statement:
            case ir.Return():
                return True
            case ir.Branch(cases, otherwise) if all(map(_returns, (*(case.body for case in cases), otherwise))):
                return True
    return False


def is_of_the_language(decorator: ast.expr, names: Mapping[str, Any]) -> bool:
    """Whether a decorator belongs to the modelling language; `names` has the global names of the decorator's module."""
    match decorator.func if isinstance(decorator, ast.Call) else decorator:
        case ast.Name(id=name):
            return is_marking(names.get(name))
        case ast.Attribute(value=ast.Name(id=owner), attr=name) if type(module := names.get(owner)) is types.ModuleType:
            return is_marking(vars(module).get(name))
    return False
