"""The check that a function uses only the closed list of the modelling language's constructs.

In:  a Python function, and the vocabulary of its model (fields, configuration, actions).
Out: a `Function` (models/language/syntax.py) in the core of the language, with every global name resolved; or a
     LanguageError with FILE:LINE and a hint.
"""

from __future__ import annotations

import ast
import builtins
import types
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, NoReturn

from isrcheck.models.language.core.containers import NO_SLICES, Scope
from isrcheck.models.language.core.rewriting import rewritten
from isrcheck.models.language.declare import (
    WHOLE,
    Domain,
    Kind,
    Subset,
    is_marking,
    mark_of,
    require,
)
from isrcheck.models.language.syntax import (
    COMPARISONS,
    EXPRESSIONS,
    EXTREMA,
    FOLDS,
    LEAST,
    MEMBERSHIP,
    MOST,
    OPERATORS,
    PRODUCTS,
    SIZE,
    STATE_NAMES,
    STATEMENTS,
    TAKEN,
    Function,
    Parameter,
    Vocabulary,
    stored,
)
from isrcheck.models.language.text.chains import alternatives, branches, summands
from isrcheck.models.language.text.nesting import MOST_IN_ALL, MOST_PARAMETERS, Nesting
from isrcheck.models.language.text.plain import members_of, plain
from isrcheck.models.language.text.sealed import sealed
from isrcheck.models.language.text.source_text import Source, statements_in, written
from isrcheck.models.language.text.spelling import shown
from isrcheck.models.messages.errors import LanguageError
from isrcheck.models.messages.printable import escaped_lines


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

    def read(self, python: types.FunctionType) -> Function:
        """Return the checked form of `python`. Raises LanguageError if the function is not in the language."""
        if python not in self._read:
            if python in self._reading:
                code = python.__code__
                raise LanguageError(
                    f"{code.co_filename}:{code.co_firstlineno}: {python.__name__} calls itself;"
                    " write the repetition as a for loop over a range"
                )
            self._reading.append(python)
            self._read[python] = FunctionReader(self, python).function
            self._reading.pop()
        return self._read[python]

    def everything(self) -> tuple[Function, ...]:
        """All functions that this reader has read."""
        return tuple(self._read.values())


class FunctionReader:
    """Checks one function, whose text is read from its file, or comes as a definition with its source; it has one
    method per statement and expression."""

    def __init__(
        self, reader: Reader, python: types.FunctionType, given: tuple[ast.FunctionDef, Source] | None = None
    ) -> None:
        self.reader = reader
        self.vocabulary = reader.vocabulary
        self.names = reader.names_of(python)
        if given is None:
            definition, code, source = written(python)
        else:
            (definition, source), code = given, python.__code__
        mark = mark_of(python)
        self.kind = mark.kind if mark else None
        if self.kind is Kind.INITIAL:
            self.kind = Kind.ACTION  # what makes initial states of the default state follows the rules of an action
        body = definition.body
        documentation = escaped_lines(ast.get_docstring(definition) or "")
        if ast.get_docstring(definition) is not None:
            body = body[1:]
        self.function = Function(
            python,
            definition.name,
            python.__code__.co_filename,
            definition.lineno,
            (),
            body,
            body,
            documentation,
            source,
            mark=mark,
            names=self.names,
        )
        self.guards: set[str] = set()
        self.nesting = self._nesting(body)
        if len(definition.args.args) > MOST_PARAMETERS:
            self._refuse(definition, f"{len(definition.args.args)} parameters", f"at most {MOST_PARAMETERS}")
        self.writes: set[str] = set()
        self.reads: set[str] = set()
        self.returns_value = any(isinstance(node, ast.Return) for node in statements_in(definition))
        self.function.returns_value = self.returns_value
        for decorator in definition.decorator_list:
            self._decorator(decorator)
        self.function.parameters = self._parameters(definition)
        self.subsets = {p.name: p.domain for p in self.function.parameters if p.is_subset}
        special = (*STATE_NAMES, *self.subsets, TAKEN)
        self.locals = {p.name for p in self.function.parameters} - set(special)
        # As in Python, a name that is assigned anywhere in a function is local everywhere in it.
        self.own = {p.name for p in self.function.parameters} | set(self.function.stores)
        scope = self._scope(body)
        self.axes, self.records = scope.axes, scope.records
        self.function.body = rewritten(body, scope)
        if self.function.body is not body:
            body = self.function.body
            vars(self.function).pop("stores")  # the core may have more locals
            self.own |= set(self.function.stores)
            self.nesting = self._nesting(body)
        self.function.depth = self.nesting.deepest
        ended = self._block(body, written=False).ended
        if self.returns_value and not ended:
            self._refuse(definition, "a path ends without `return`", "end each path of a helper with `return value`")
        if self.returns_value and self.writes:
            self._refuse(
                definition,
                f"{definition.name} both writes {', '.join(sorted(self.writes))} and returns a value",
                "split it into a helper that returns and one that writes",
            )
        if self.kind is not None and self.kind is not Kind.ACTION and not self.returns_value:
            self._refuse(definition, "a property returns nothing", "return a truth value")
        if self.kind is not None and self.kind is not Kind.ACTION and self.writes:
            self._refuse(definition, "a property writes to the state", "a property only reads")
        self.function.writes = frozenset(self.writes)
        self.function.reads = frozenset(self.reads)
        self.function.python = self._sealed(code)

    def _scope(self, body: list[ast.stmt]) -> Scope:
        """Return the meanings of names for rewriting into the core."""
        # Not the names in the compiled code: Python compiles nothing that it knows to be dead, as after `True or`.
        named = {node.id for part in body for node in ast.walk(part) if isinstance(node, ast.Name)}
        return Scope(
            {one for one in named - self.own if self._is_domain(one)},
            self.vocabulary.contents,
            self.vocabulary.groups,
            lambda name: None if name in self.own else self.names.get(name),
            {p.name: p.domain.of for p in self.function.parameters if p.domain and issubclass(p.domain, Subset)},
            self.own | named,
            (*(p.name for p in self.function.parameters), *self.function.stores),
            self._is_builtin,
            self._refuse,
        )

    def _nesting(self, body: list[ast.stmt]) -> Nesting:
        """Return the nesting of a body. Refuses one that is nested too deep."""
        nesting = Nesting(body)
        if nesting.fault is not None:
            self._refuse(*nesting.fault)
        return nesting

    def _sealed(self, code: types.CodeType) -> Callable[..., Any]:
        """Return the function with this code, whose globals are only the names that were read with their values."""
        function = self.function
        callees = {name: callee.python for name, callee in function.functions.items()}
        records = dict.fromkeys(self.records, types.SimpleNamespace)
        others = {**dict.fromkeys(self.guards, require), **callees, **function.actions, **records}
        return sealed(code, function.name, function.constants, others)

    # ----------------------------------------------------------------------------------------------------- declarations

    def _parameters(self, definition: ast.FunctionDef) -> tuple[Parameter, ...]:
        arguments = definition.args
        if arguments.vararg or arguments.kwarg or arguments.kwonlyargs or arguments.defaults or arguments.posonlyargs:
            self._refuse(definition, "only plain parameters are allowed", "no defaults, *args or keyword-only names")
        parameters = []
        for argument in arguments.args:
            domain = self._domain(argument)
            if self.kind is Kind.ACTION and argument.arg not in STATE_NAMES and domain is None:
                self._refuse(
                    argument, f"parameter {argument.arg} has no domain", "annotate it, as in `leader: Replica`"
                )
            parameters.append(Parameter(argument.arg, domain))
        names = tuple(parameter.name for parameter in parameters)
        if any(p.is_subset for p in parameters) and not any(p.is_state for p in parameters):
            self._refuse(definition, "a subset is passed without a state", "pass the state as well, as first parameter")
        expected: dict[Kind | None, tuple[tuple[str, ...], ...]] = {
            Kind.ALWAYS: (("s",),),
            **dict.fromkeys(WHOLE, (("s",),)),
            Kind.LEMMA: (("s",),),
            Kind.TERMINAL: (("s",),),
            Kind.CONSTRAINT: (("s",),),
            Kind.ALWAYS_STEP: (("before", "after"), ("before", "after", TAKEN)),
            Kind.SOMETIMES: (("s",), ("before", "after"), ("before", "after", TAKEN)),
        }
        if self.kind in expected and names not in expected[self.kind]:
            allowed = " or ".join(f"({', '.join(one)})" for one in expected[self.kind])
            self._refuse(definition, f"its parameters are ({', '.join(names)})", f"here they must be {allowed}")
        if self.kind is Kind.ACTION and (names[:1] != ("s",) or set(names[1:]) & {*STATE_NAMES, TAKEN}):
            self._refuse(
                definition, "an action has one state parameter, the first one", "name it `s`, and no other one"
            )
        return tuple(parameters)

    def _decorator(self, decorator: ast.expr) -> None:
        """Check that a decorator only attaches a mark and returns the function unchanged."""
        if not is_of_the_language(decorator, self.names):
            self._refuse(decorator, f"`@{shown(decorator)}` is not in the language", "leave the decorator out")

    def _domain(self, argument: ast.arg) -> type[Domain] | type[Subset] | None:
        if argument.annotation is None:
            return None
        named = None
        if isinstance(argument.annotation, ast.Name):
            named = self.names.get(argument.annotation.id)
        if isinstance(named, type) and issubclass(named, Domain | Subset):
            return named
        if self.kind is Kind.ACTION and argument.arg not in STATE_NAMES:
            hint = "name a Domain or a Subset"
            if isinstance(named, type) and issubclass(named, IntEnum):
                size = len(set(members_of(named).values()))
                hint = f"declare one with as many elements, as in: class Any{named.__name__}(Domain, size={size})"
            self._refuse(argument, f"{shown(argument.annotation)} is not a domain", hint)
        return None

    def _refuse(self, node: ast.AST, what: str, hint: str) -> NoReturn:
        line = getattr(node, "lineno", self.function.line)
        raise LanguageError(f"{self.function.path}:{line}: in {self.function.name}: {what}; {hint}")

    # ------------------------------------------------------------------------------------------------------- statements

    def _block(self, statements: Iterable[ast.stmt], written: bool) -> _Flow:
        """Check statements in order; `written` says whether the state may already be written."""
        flow = _Flow(written, False)
        for statement in statements:
            if not isinstance(statement, STATEMENTS):
                self._refuse(
                    statement,
                    f"`{type(statement).__name__}` is not in the language",
                    "statements are assignments, if, for, require(...), return, and calls of helpers",
                )
            method = getattr(self, f"_statement_{type(statement).__name__}")
            after: _Flow = method(statement, flow.written)
            flow = _Flow(flow.written or after.written, flow.ended or after.ended)
        return flow

    def _statement_Pass(self, statement: ast.Pass, written: bool) -> _Flow:
        return _Flow(False, False)

    def _statement_Assign(self, statement: ast.Assign, written: bool) -> _Flow:
        if len(statement.targets) != 1:
            self._refuse(statement, "chained assignment", "write one assignment per line")
        self._expression(statement.value)
        return self._target(statement.targets[0], fresh=True)

    def _statement_AugAssign(self, statement: ast.AugAssign, written: bool) -> _Flow:
        if not isinstance(statement.op, OPERATORS):
            self._refuse(statement, f"operator {type(statement.op).__name__}", "only += and -= are in the language")
        self._expression(statement.value)
        return self._target(statement.target, fresh=False)

    def _target(self, target: ast.expr, fresh: bool) -> _Flow:
        if isinstance(target, ast.Name):
            if target.id in STATE_NAMES or target.id in self.subsets or target.id == TAKEN:
                self._refuse(target, f"`{target.id}` is assigned to", "choose another name for the local")
            if not fresh and target.id not in self.locals:
                self._refuse(target, f"`{target.id}` has no value yet", "assign it before += or -=")
            self.locals.add(target.id)
            return _Flow(False, False)
        state, name = self._cell(target)
        if name in self.vocabulary.configuration:
            self._refuse(target, f"`{name}` belongs to the configuration", "only fields of the state can be written")
        if state != "s":
            self._refuse(target, f"`{state}` is written", "only the state `s` of an action can be written")
        self.writes.add(name)
        return _Flow(True, False)

    def _statement_If(self, statement: ast.If, written: bool) -> _Flow:
        tests, otherwise = branches(statement)
        ends: list[tuple[_Flow, set[str]]] = []
        for one in tests:
            self._expression(one.test)
            known = set(self.locals)
            then = self._block(one.body, written)
            ends.append((then, self.locals))
            self.locals = known
        flow = self._block(otherwise, written)
        for then, locals_then in reversed(ends):
            # A branch that returns does not leave locals unassigned.
            if flow.ended and not then.ended:
                self.locals = locals_then
            elif not then.ended:
                self.locals = locals_then & self.locals
            flow = _Flow(then.written or flow.written, then.ended and flow.ended)
        return flow

    def _statement_For(self, statement: ast.For, written: bool) -> _Flow:
        if statement.orelse:
            self._refuse(statement, "`else` of a loop", "put it after the loop")
        known = set(self.locals)
        self._loop_variable(statement.target, statement.iter)
        flow = self._block(statement.body, written)
        if flow.written and not written:
            # A guard in the second iteration would come after a write of the first.
            self._block(statement.body, written=True)
        self.locals = known
        return _Flow(flow.written, False)

    def _statement_Return(self, statement: ast.Return, written: bool) -> _Flow:
        if self.kind is Kind.ACTION:
            self._refuse(statement, "`return` in an action", "guard with require(...) or use if/else")
        if statement.value is None:
            self._refuse(statement, "`return` without a value", "use if/else in a helper that writes")
        self._expression(statement.value)
        return _Flow(False, True)

    def _statement_Expr(self, statement: ast.Expr, written: bool) -> _Flow:
        call = statement.value
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
            self._refuse(statement, "an expression without effect", "call require(...) or a helper that writes")
        named = self._global(call.func)
        if named is require:
            if self.kind is not Kind.ACTION:
                self._refuse(statement, "require(...) outside an action", "return a truth value and require that")
            if written:
                self._refuse(statement, "require(...) after a write", "guards come before the first write")
            if len(call.args) != 1 or call.keywords:
                self._refuse(statement, "require takes one condition", "write one require(...) per guard")
            self._expression(call.args[0])
            self.guards.add(call.func.id)
            return _Flow(False, False)
        callee = self._call(call)
        if not callee.writes:
            self._refuse(
                statement, f"the value of {callee.name}(...) is dropped", "use it, or call a helper that writes"
            )
        self.writes |= callee.writes
        return _Flow(True, False)

    # ------------------------------------------------------------------------------------------------------ expressions

    def _expression(self, expression: ast.expr) -> None:
        if not isinstance(expression, EXPRESSIONS):
            self._refuse(
                expression,
                f"`{shown(expression)}` is not in the language",
                "expressions are numbers, truth values, names, cells, + - * // %, comparisons, and/or/not, if-else,"
                " min max all any sum len and helpers",
            )
        getattr(self, f"_expression_{type(expression).__name__}")(expression)

    def _expression_Constant(self, expression: ast.Constant) -> None:
        if not isinstance(expression.value, int):
            self._refuse(expression, f"the constant {expression.value!r}", "values are whole numbers and truth values")
        self._constant(expression, expression.value)

    def _constant(self, expression: ast.expr, value: int) -> int:
        if not LEAST <= value <= MOST:
            # Python does not print numbers of more than 4300 digits.
            size = value if value.bit_length() < 100 else f"of {value.bit_length()} bits"
            self._refuse(expression, f"the constant {size}", f"numbers lie in {LEAST}..{MOST}")
        return value

    def _expression_Name(self, expression: ast.Name) -> None:
        name = expression.id
        if name in self.locals:
            return
        if name in self.function.states:
            self._refuse(expression, f"the whole state `{name}` is used as a value", "read its fields, or pass it on")
        if name in self.subsets:
            self._refuse(expression, f"the subset `{name}` is used as a value", f"index it: {name}[element]")
        if name == TAKEN:
            self._refuse(expression, "`taken` is used as a value", "compare it with an action: taken == name")
        named = self._global(expression)
        number = plain(named)
        if number is not None:
            self.function.constants[name] = self._constant(expression, number)
            return
        self._refuse(expression, f"`{name}` is a {type(named).__name__}", "only whole numbers can be named")

    def _expression_Attribute(self, expression: ast.Attribute) -> None:
        if isinstance(expression.value, ast.Name) and expression.value.id not in STATE_NAMES:
            kind = self._global(expression.value)
            if isinstance(kind, type) and issubclass(kind, IntEnum):
                members = members_of(kind)
                if expression.attr not in members:
                    self._refuse(
                        expression, f"{kind.__name__} has no {expression.attr}", f"it has {', '.join(members)}"
                    )
                member = self._constant(expression, members[expression.attr])
                self.function.constants[ast.unparse(expression)] = member
                return
            self._refuse(expression, f"`{shown(expression)}`", "attributes are those of the state or of an IntEnum")
        self._cell(expression)

    def _expression_Subscript(self, expression: ast.Subscript) -> None:
        if isinstance(expression.value, ast.Name) and expression.value.id in self.subsets:
            self._expression(expression.slice)
            return
        self._cell(expression)

    def _expression_BinOp(self, expression: ast.BinOp) -> None:
        if isinstance(expression.op, PRODUCTS):
            self._expression(expression.left)
            self._expression(expression.right)
            return
        if not isinstance(expression.op, OPERATORS):
            self._refuse(expression, f"operator {type(expression.op).__name__}", "arithmetic is + - * // %")
        first, rest = summands(expression)
        for term in (first, *(term for _, term in rest)):
            self._expression(term)

    def _expression_UnaryOp(self, expression: ast.UnaryOp) -> None:
        if not isinstance(expression.op, ast.Not | ast.USub):
            self._refuse(expression, f"operator {type(expression.op).__name__}", "use `not` or a minus sign")
        operand = expression.operand
        if isinstance(expression.op, ast.USub) and isinstance(operand, ast.Constant) and type(operand.value) is int:
            self._constant(expression, -operand.value)  # LEAST is written with a sign before MOST + 1
        else:
            self._expression(operand)

    def _expression_BoolOp(self, expression: ast.BoolOp) -> None:
        for value in expression.values:
            self._expression(value)

    def _expression_Compare(self, expression: ast.Compare) -> None:
        if any(isinstance(operator, MEMBERSHIP) for operator in expression.ops):
            self._membership(expression)
            return
        if not all(isinstance(operator, COMPARISONS) for operator in expression.ops):
            self._refuse(expression, f"`{shown(expression)}`", "comparisons are == != < <= > >= and `in`")
        sides = [expression.left, *expression.comparators]
        if any(isinstance(side, ast.Name) and side.id == TAKEN for side in sides):
            self._taken(expression)
            return
        for side in sides:
            self._expression(side)

    def _membership(self, expression: ast.Compare) -> None:
        """Check `x in (a, b)`, whose right side is a tuple of values."""
        if len(expression.ops) != 1:
            self._refuse(expression, f"`{shown(expression)}`", "write `in` as a comparison of its own, in brackets")
        (values,) = expression.comparators
        if not isinstance(values, ast.Tuple):
            self._refuse(expression, f"`{shown(expression)}`", "`in` takes values in brackets: x in (1, 2)")
        for one in (expression.left, *values.elts):
            self._expression(one)

    def _taken(self, expression: ast.Compare) -> None:
        left, right = expression.left, expression.comparators[0]
        is_comparison = len(expression.ops) == 1 and isinstance(expression.ops[0], ast.Eq | ast.NotEq)
        is_known = TAKEN in (parameter.name for parameter in self.function.parameters)
        if not is_known:
            self._refuse(
                expression, "`taken` has no value here", "add it as third parameter of a property of transitions"
            )
        if not is_comparison or not isinstance(right, ast.Name) or not isinstance(left, ast.Name) or left.id != TAKEN:
            self._refuse(expression, f"`{shown(expression)}`", "write taken == action, with the action's name")
        named = self._global(right)
        action = self.vocabulary.actions.get(named) if type(named) is types.FunctionType else None
        if action is None:
            self._refuse(right, f"{right.id} is not an action of this model", "name one of its actions")
        self.function.actions[right.id] = action

    def _expression_IfExp(self, expression: ast.IfExp) -> None:
        pairs, last = alternatives(expression)
        for test, value in pairs:
            self._expression(test)
            self._expression(value)
        self._expression(last)

    def _expression_Call(self, call: ast.Call) -> None:
        if not isinstance(call.func, ast.Name):
            self._refuse(call, f"`{shown(call.func)}(...)`", "call helpers by their plain name")
        name = call.func.id
        if name in FOLDS and self._is_builtin(name):
            self._fold(call)
        elif name in EXTREMA and self._is_builtin(name):
            self._extremum(call)
        elif name == SIZE and self._is_builtin(name):
            self._size(call)
        else:
            callee = self._call(call)
            if callee.writes:
                self._refuse(call, f"{callee.name} writes to the state", "call it as a statement of its own")
            if not callee.returns_value:
                self._refuse(call, f"{callee.name} returns nothing", "end it with `return value`")

    def _extremum(self, call: ast.Call) -> None:
        name, generators = ast.unparse(call.func), [one for one in call.args if isinstance(one, ast.GeneratorExp)]
        if generators and len(call.args) == 1:
            defaults = [keyword.value for keyword in call.keywords if keyword.arg == "default"]
            if len(defaults) < len(call.keywords):
                self._refuse(call, f"{name} with another keyword than `default`", "leave it out")
            if any(part.ifs for part in generators[0].generators) and not defaults:
                what = f"{name} of a generator with `if`, which may have no element"
                self._refuse(call, what, f"say what it is then: {name}((... for x in range(n) if ...), default=0)")
            for default in defaults:
                self._expression(default)
            self._generator(generators[0])
            return
        if generators:
            self._refuse(call, f"{name} of a generator and more", f"write {name}(a, {name}(... for x in range(n)))")
        if call.keywords:
            self._refuse(call, f"{name} of numbers with a keyword", f"write {name}(a, b)")
        if len(call.args) < 2:
            self._refuse(call, f"{name} with fewer than two numbers", f"write {name}(a, b)")
        for argument in call.args:
            self._expression(argument)

    def _size(self, call: ast.Call) -> None:
        argument = call.args[0] if len(call.args) == 1 and not call.keywords else None
        if isinstance(argument, ast.Name) and argument.id in self.axes:
            self.function.domains[argument.id] = self.axes[argument.id]
            return
        if not isinstance(argument, ast.Name) or argument.id in self.own or not self._is_domain(argument.id):
            self._refuse(call, f"`{shown(call)}`", "len(...) takes a domain or a set, as in len(Replica)")
        self.function.domains[argument.id] = self.names[argument.id]

    def _is_domain(self, name: str) -> bool:
        """Whether a global name means a domain of the model."""
        found = self.names.get(name)
        return isinstance(found, type) and issubclass(found, Domain) and found is not Domain

    def _fold(self, call: ast.Call) -> None:
        name = ast.unparse(call.func)
        if len(call.args) != 1 or call.keywords or not isinstance(call.args[0], ast.GeneratorExp):
            self._refuse(call, f"{name} without a generator", f"write {name}(... for x in range(n))")
        self._generator(call.args[0])

    def _generator(self, generator: ast.GeneratorExp) -> None:
        known, own = set(self.locals), self.own
        # The variables hide other names in the whole generator, even before they have a value.
        hidden = {name for part in generator.generators for name in stored(part.target)}
        self.locals, self.own = self.locals - hidden, own | hidden
        for part in generator.generators:
            self._loop_variable(part.target, part.iter)
            for condition in part.ifs:
                self._expression(condition)
        self._expression(generator.elt)
        self.locals, self.own = known, own

    def _loop_variable(self, target: ast.expr, iterated: ast.expr) -> None:
        if not isinstance(target, ast.Name) or target.id in (*STATE_NAMES, *self.subsets, TAKEN):
            self._refuse(target, f"`{shown(target)}` as a loop variable", "use one plain name")
        is_range = (
            isinstance(iterated, ast.Call) and isinstance(iterated.func, ast.Name) and iterated.func.id == "range"
        )
        is_range = is_range and self._is_builtin("range")
        if not is_range or not isinstance(iterated, ast.Call) or not 1 <= len(iterated.args) <= 2 or iterated.keywords:
            what, hint = f"loop over `{shown(iterated)}`", "loop over range(n), range(m, n) or a domain"
            self._refuse(iterated, what, hint)
        for argument in iterated.args:
            self._expression(argument)
        self.locals.add(target.id)

    # ------------------------------------------------------------------------------------------------------------ names

    def _cell(self, expression: ast.expr) -> tuple[str, str]:
        """Check `s.name[i][j]...` and return the names of the state and of the field or entry."""
        indices = []
        node = expression
        while isinstance(node, ast.Subscript):
            indices.append(node.slice)
            node = node.value
        if not isinstance(node, ast.Attribute) or not isinstance(node.value, ast.Name):
            self._refuse(expression, f"`{shown(expression)}`", "write s.field or s.field[index]")
        if node.value.id not in self.function.states:
            self._refuse(
                expression, f"`{node.value.id}` is not a state here", f"states are called {', '.join(STATE_NAMES)}"
            )
        name = node.attr
        if name in self.vocabulary.configuration:
            if indices:
                self._refuse(expression, f"`{name}` is a configuration entry", "it has no elements")
            return node.value.id, name
        if name not in self.vocabulary.fields:
            known = ", ".join(sorted([*self.vocabulary.fields, *self.vocabulary.configuration]))
            self._refuse(expression, f"the state has no field `{name}`", f"it has {known}")
        if any(isinstance(index, ast.Slice) for index in indices):
            self._refuse(expression, f"`{shown(expression)}` is a slice", NO_SLICES)
        rank = self.vocabulary.fields[name]
        if rank != len(indices):
            self._refuse(
                expression,
                f"`{name}` takes {rank} {'index' if rank == 1 else 'indices'}, not {len(indices)}",
                "write every index: there are no slices and no rows",
            )
        for index in indices:
            self._expression(index)
        self.reads.add(name)
        return node.value.id, name

    def _is_builtin(self, name: str) -> bool:
        return name not in self.names and name not in self.own

    def _global(self, expression: ast.Name) -> Any:
        name = expression.id
        if name not in self.names or name in self.own:
            if name in vars(builtins) and name not in self.own:
                what = f"Python's own `{name}` is not in the language"
                hint = f"Python's functions in the language are {', '.join((*EXTREMA, *FOLDS, SIZE))}"
                if name in (*FOLDS, *EXTREMA, SIZE, "range"):
                    what = f"`{name}` is used without a call"
                    hint = "write it as in: for x in range(n)" if name == "range" else "call it"
                self._refuse(expression, what, hint)
            hint = "define it in the module, or assign it on every path to this line"
            self._refuse(expression, f"`{name}` has no value here", hint)
        return self.names[name]

    def _called(self, python: types.FunctionType, call: ast.Call) -> Function:
        """Return the checked form of a called helper. Refuses calls that are nested too deep."""
        depth = self.nesting.calls[id(call)]
        self.reader.depth += depth
        callee = self.reader.read(python) if self.reader.depth <= MOST_IN_ALL else None
        self.reader.depth -= depth
        if callee is None or depth + callee.depth > MOST_IN_ALL:
            what = f"the calls in {python.__name__} are nested more than {MOST_IN_ALL} deep in all"
            self._refuse(call, what, "use fewer nested helpers")
        self.function.depth = max(self.function.depth, depth + callee.depth)
        return callee

    def _call(self, call: ast.Call) -> Function:
        assert isinstance(call.func, ast.Name)
        named = self._global(call.func)
        if type(named) is types.FunctionType and named is not require and _is_of_the_package(named):
            what = f"`{call.func.id}(...)` is a declaration, which has no value in a function"
            self._refuse(call, what, "write it outside of functions, as a declaration of its own")
        if type(named) is not types.FunctionType or named is require:
            self._refuse(call, f"`{call.func.id}(...)` cannot be called here", "call helpers written in the language")
        mark = mark_of(named)
        if mark is not None and mark.kind in (Kind.ACTION, Kind.INITIAL, Kind.CONTRADICTION):
            self._refuse(
                call, f"{call.func.id} is an action or another declaration", "move what both need into a helper"
            )
        for name, argument in zip(named.__code__.co_varnames, call.args, strict=False):
            kind = self.subsets.get(argument.id) if isinstance(argument, ast.Name) else None
            if kind is not None and name not in named.__annotations__:
                what = f"`{shown(argument)}` is a subset, and {call.func.id} does not say that `{name}` is one"
                self._refuse(argument, what, f"annotate the parameter: {name}: {kind.__name__}")
        callee = self._called(named, call)
        self.function.functions[call.func.id] = callee
        if call.keywords or len(call.args) != len(callee.parameters):
            self._refuse(call, f"{callee.name} takes {len(callee.parameters)} arguments", "pass them all by position")
        for parameter, argument in zip(callee.parameters, call.args, strict=True):
            is_state = isinstance(argument, ast.Name) and argument.id in self.function.states
            is_subset = isinstance(argument, ast.Name) and argument.id in self.subsets
            is_taken = isinstance(argument, ast.Name) and argument.id == TAKEN and TAKEN in self.own
            cure = None
            if (parameter.name == TAKEN) != is_taken:
                cure = "pass `taken` to a parameter `taken`, and only there"
            elif parameter.is_state != is_state:
                cure = "pass a state to a parameter that is a state, and only there"
            elif parameter.is_subset != is_subset:
                cure = "pass a subset to a parameter that is a subset, and only there"
            elif is_subset and isinstance(argument, ast.Name) and self.subsets[argument.id] is not parameter.domain:
                cure = "pass a subset of the kind that annotates the parameter"
            if cure is not None:
                what = f"`{shown(argument)}` is passed to {callee.name} as `{parameter.name}`"
                self._refuse(argument, what, cure)
            if not is_state and not is_subset and not is_taken:
                self._expression(argument)
        self.reads |= callee.reads
        return callee


@dataclass(frozen=True)
class _Flow:
    """The effects of a statement: whether it may write to the state, and whether it returns on every path."""

    written: bool
    ended: bool


def _is_of_the_package(python: types.FunctionType) -> bool:
    """Whether a function is defined by the modelling language itself, and not in a model."""
    return python.__module__.startswith(f"{__package__}.")


def is_of_the_language(decorator: ast.expr, names: Mapping[str, Any]) -> bool:
    """Whether a decorator is one of the language's, given the global names of its module."""
    match decorator.func if isinstance(decorator, ast.Call) else decorator:
        case ast.Name(id=name):
            return is_marking(names.get(name))
        case ast.Attribute(value=ast.Name(id=owner), attr=name) if type(module := names.get(owner)) is types.ModuleType:
            return is_marking(vars(module).get(name))
    return False
