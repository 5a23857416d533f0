"""A model's function as the reader has checked it, and what the names in functions mean.

In:  nothing; models/language/reading makes them.
Out: `Function`: a routine, which every engine reads, and the sealed function that CPython calls.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from isrcheck.models.language.declarations.declare import Contents, Domain, Group, Mark
from isrcheck.models.language.ir.nodes import Routine, Variable

STATE_NAMES = ("s", "before", "after")
"""The names that a state can have as a parameter; `s` is the state that an action writes."""

TAKEN = "taken"
"""The name of the taken action in a property of transitions; it can be compared with the name of an action."""


@dataclass(frozen=True, eq=False, repr=False)
class Function:
    """A checked function of the modelling language."""

    python: Callable[..., Any]
    """The function that CPython calls: compiled from the text, and sealed (models/language/text/sealed.py)."""
    path: str
    line: int
    routine: Routine
    """What every engine reads."""
    functions: Mapping[str, Function]
    """The functions that it calls, by the names that it uses."""
    domains: Mapping[str, type[Domain]]
    """The domains of which it asks the elements, by the names that it uses."""
    names: Mapping[str, Any]
    """The global names of the function's module and their values when the module's first function was read."""
    depth: int
    """How deep its statements and expressions are nested, with those of the functions that it calls."""

    def __repr__(self) -> str:
        return f"<{self.name}>"

    @property
    def name(self) -> str:
        """The name in its definition."""
        return self.routine.name

    @property
    def documentation(self) -> str:
        """Its docstring."""
        return self.routine.documentation

    @property
    def mark(self) -> Mark | None:
        """What a decorator says about it."""
        return self.routine.mark

    @property
    def writes(self) -> frozenset[str]:
        """The fields that it, or what it calls, writes."""
        return self.routine.writes

    @property
    def reads(self) -> frozenset[str]:
        """The fields that it, or what it calls, reads."""
        return self.routine.reads

    @property
    def parameters(self) -> tuple[Variable, ...]:
        """Its parameters, states among them."""
        return self.routine.parameters

    @property
    def arguments(self) -> tuple[Variable, ...]:
        """The parameters that are not states."""
        return self.routine.arguments

    @cached_property
    def needs_sizes(self) -> bool:
        """Whether CPython has to know the sizes of domains: it, or a function that it calls, names one."""
        return any(function.domains for function in with_callees([self]))


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
