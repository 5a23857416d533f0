"""The closed list of the modelling language's constructs, and the form in which the engines read a function.

In:  nothing; models/language/reader.py checks that a function uses only these constructs.
Out: `Function`: a syntax tree in the core of the language (models/language/core), with every global name resolved.

The engines read `Function`, never Python source. So a construct that is refused is refused for all engines, and each
engine has to support exactly the STATEMENTS and EXPRESSIONS below.
"""

from __future__ import annotations

import ast
import types
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from isrcheck.models.language.declare import Contents, Domain, Group, Mark, Subset
from isrcheck.models.language.text.source_text import Source

STATEMENTS = (ast.Assign, ast.AugAssign, ast.If, ast.For, ast.Return, ast.Expr, ast.Pass)
"""The statements: assignment, += and -= to a local or a cell, if/elif/else, for over numbers, return, a call."""

EXPRESSIONS = (
    ast.Constant,
    ast.Name,
    ast.Attribute,
    ast.Subscript,
    ast.BinOp,
    ast.UnaryOp,
    ast.BoolOp,
    ast.Compare,
    ast.IfExp,
    ast.Call,
)
"""The expressions: numbers and truth values, names, cells, arithmetic, comparisons, and/or/not, if-else, calls."""

OPERATORS = (ast.Add, ast.Sub)
"""The operators of `+=` and `-=`, and of sums, whose terms every engine reads as a list."""

PRODUCTS = (ast.Mult, ast.FloorDiv, ast.Mod)
COMPARISONS = (ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE)
MEMBERSHIP = (ast.In, ast.NotIn)
"""The comparisons with a tuple of values, all of which are evaluated."""

FOLDS = ("all", "any", "sum")
"""The functions that take one generator."""

EXTREMA = ("min", "max")
"""The functions that take numbers, or one generator, perhaps with `default=`."""

SIZE = "len"
"""The function that gives the number of elements of a domain."""
STATE_NAMES = ("s", "before", "after")
"""The names that a state can have as a parameter; `s` is the state that an action writes."""

LEAST, MOST = -(1 << 31), (1 << 31) - 1
"""The range of constants; models/language/intervals.py checks the numbers that are computed from constants."""

TAKEN = "taken"
"""The name of the taken action in a property of transitions; it can be compared with the name of an action."""


@dataclass(frozen=True)
class Parameter:
    """A parameter of a model function: its name, and the domain that annotates it (None in helpers)."""

    name: str
    domain: type[Domain] | type[Subset] | None = None

    @property
    def is_state(self) -> bool:
        """Whether the parameter is a state."""
        return self.name in STATE_NAMES

    @property
    def is_subset(self) -> bool:
        """Whether the parameter is a subset, to be indexed with an element."""
        return self.domain is not None and issubclass(self.domain, Subset)


@dataclass(eq=False)
class Function:
    """A checked function of the modelling language: the form that every engine reads."""

    python: Callable[..., Any]
    """The function that CPython calls: compiled from the text, and sealed (models/language/text/sealed.py)."""
    name: str
    path: str
    line: int
    parameters: tuple[Parameter, ...]
    body: list[ast.stmt]
    """The body in the core of the language (models/language/core/rewriting.py)."""
    written: list[ast.stmt]
    """The body as it is written."""
    documentation: str
    source: Source
    """The file in which it is written."""
    constants: dict[str, int | bool] = field(default_factory=dict)
    functions: dict[str, Function] = field(default_factory=dict)
    actions: dict[str, str] = field(default_factory=dict)
    domains: dict[str, type[Domain]] = field(default_factory=dict)
    """The domains over which it loops, by the names that it uses."""
    writes: frozenset[str] = frozenset()
    reads: frozenset[str] = frozenset()
    returns_value: bool = False
    mark: Mark | None = None
    names: Mapping[str, Any] = field(default_factory=dict)
    """The global names of the function's module and their values when the module's first function was read."""
    depth: int = 0

    def callee(self, call: ast.Call) -> Function | None:
        """The function of the model that a call means; None if it means `require`, or one of Python's own."""
        return self.functions.get(call.func.id) if isinstance(call.func, ast.Name) else None

    def builtin(self, call: ast.Call) -> str:
        """The name of Python's function that a call means, or of `require`; empty for a function of the model."""
        return call.func.id if isinstance(call.func, ast.Name) and call.func.id not in self.functions else ""

    def member(self, node: ast.Attribute) -> int | bool | None:
        """The number of a member of an enumeration, such as `Role.LEADER`; None for a cell, or an entry."""
        return self.constants.get(f"{node.value.id}.{node.attr}") if isinstance(node.value, ast.Name) else None

    def domain(self, call: ast.Call) -> type[Domain]:
        """The domain of which a call of `len` gives the number of elements."""
        (domain,) = call.args
        assert isinstance(domain, ast.Name)
        return self.domains[domain.id]

    @property
    def states(self) -> tuple[str, ...]:
        """The names of the parameters that are states."""
        return tuple(parameter.name for parameter in self.parameters if parameter.is_state)

    @cached_property
    def stores(self) -> tuple[str, ...]:
        """The names that it assigns, once per assignment."""
        return tuple(name for statement in self.body for name in stored(statement))

    @cached_property
    def needs_sizes(self) -> bool:
        """Whether its meaning depends on the sizes of domains: it, or a function that it calls, names one."""
        return any(function.domains for function in with_callees([self]))

    @property
    def arguments(self) -> tuple[Parameter, ...]:
        """The parameters that are not states."""
        return tuple(parameter for parameter in self.parameters if not parameter.is_state)


def with_callees(functions: Iterable[Function]) -> Iterator[Function]:
    """Return these functions and all functions that they call, each once."""
    seen: set[int] = set()
    waiting = list(functions)
    while waiting:
        function = waiting.pop()
        if id(function) not in seen:
            seen.add(id(function))
            waiting += function.functions.values()
            yield function


@dataclass(frozen=True)
class Vocabulary:
    """The meanings of names after `s.`: fields with their number of indices, and configuration entries (bounds or
    not). `contents` are the fields that hold sets or queues, with the number of indices that a model writes, and
    `groups` the records."""

    fields: Mapping[str, int]
    configuration: Mapping[str, bool]
    actions: Mapping[types.FunctionType, str]
    contents: Mapping[str, tuple[Contents, int]] = field(default_factory=dict)
    groups: Mapping[str, Group] = field(default_factory=dict)


def stored(node: ast.AST) -> list[str]:
    """The names that a statement assigns, once per assignment; variables of generators are not included."""
    names = []
    waiting = [node]
    while waiting:
        one = waiting.pop()
        if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store):
            names.append(one.id)
        if not isinstance(one, ast.comprehension):
            waiting += ast.iter_child_nodes(one)
    return names
