"""The implicit property of every model: no value leaves its declared range.

In:  nothing.
Out: `IN_RANGE`, a property like the declared ones, for reports, traces and proofs.

Its function is never called. An error of a step or a property in a reachable state violates the property; models/run.py
defines what an error is.
"""

from __future__ import annotations

from typing import Any

from isrcheck.models.language.declare import always, mark_of
from isrcheck.models.language.model import Property
from isrcheck.models.language.reader import Reader
from isrcheck.models.language.syntax import Vocabulary


@always
def in_range(s: Any) -> bool:  # noqa: ARG001 - never called
    """No value or index leaves its declared range.

    No step writes a value outside the range of its field, or uses an index outside a field or a subset; and no
    property, evaluated in a reachable state or transition, uses such an index.
    """
    return True


def _property() -> Property:
    mark = mark_of(in_range)
    assert mark is not None
    return Property(
        in_range.__name__, mark.kind, Reader(Vocabulary({}, {}, {})).read(in_range), None, None, mark.every_length
    )


IN_RANGE = _property()
"""The implicit property of every model."""
