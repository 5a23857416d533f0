"""Functions that keep the meaning with which they were read, whatever happens to their module afterwards.

In:  the code of a function, and the meanings of its global names.
Out: a plain function with the same code and only these globals: plain numbers, sealed functions, and Python's own
     `min`, `max`, `all`, `any`, `sum`, `len`, `range` and `set`. Or such a function with more names.

The reference semantics runs sealed functions. So a global that is changed later, or a number whose class redefines
operators, cannot make plain Python differ from the engines, which read the same numbers.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping
from typing import Any

BUILTINS: Mapping[str, Any] = types.MappingProxyType(
    {"min": min, "max": max, "all": all, "any": any, "sum": sum, "len": len, "range": range, "set": set}
)
"""Python's own functions that the language has, as they were before any model was loaded."""


def sealed(
    code: types.CodeType, name: str, constants: Mapping[str, int | bool], others: Mapping[str, Any]
) -> Callable[..., Any]:
    """Return a function with this code; its globals are the constants (`LIMIT`, `Colour.RED`) and the other names."""
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
    """Return a sealed function with more global names: the domains, and functions that know the sizes of domains."""
    assert isinstance(python, types.FunctionType)
    return types.FunctionType(python.__code__, {**python.__globals__, **names}, python.__name__)
