"""The implicit properties of every model: no value leaves its declared range, and no state is a deadlock.

In:  nothing.
Out: `IN_RANGE` and `DEADLOCK`, properties like the declared ones, for reports, traces and proofs.

Their functions are never called. An error of a step or a property in a reachable state violates `in_range`. A state
without a step violates `deadlock`, unless the model says that it may end there; a step that leaves a declared range,
and a step to the same state, count as steps. models/run.py defines both.
"""

from __future__ import annotations

from typing import Any

from isrcheck.models.language.declarations.declare import always, mark_of
from isrcheck.models.language.model import Property
from isrcheck.models.language.reading.function import Vocabulary
from isrcheck.models.language.reading.reader import Reader


@always
def in_range(s: Any) -> bool:  # noqa: ARG001 - never called
    """No value or index leaves its declared range.

    No step writes a value outside the range of its field, or uses an index outside a field or a subset; and no
    property, evaluated in a reachable state or transition, uses such an index.
    """
    return True


@always
def deadlock(s: Any) -> bool:  # noqa: ARG001 - never called
    """A state has a step, or the model declares that it may end there (`@terminal`)."""
    return True


def _property(function: Any) -> Property:
    mark = mark_of(function)
    assert mark is not None
    reader = Reader(Vocabulary({}, {}, {}))
    return Property(function.__name__, mark.kind, reader.read(function), None, None, mark.every_length)


IN_RANGE = _property(in_range)
"""No value leaves its declared range."""

DEADLOCK = _property(deadlock)
"""Only a state in which the model may end is without a step."""
