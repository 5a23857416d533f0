"""The implicit property of every model: only a state in which `@terminal` is true is without a step.

In:  nothing.
Out: `DEADLOCK`, a property like the declared ones, for reports and traces.

Its function is never called: models/run.py says which states violate it. A step that leaves a declared range, and a
step to the same state, count as steps.
"""

from __future__ import annotations

from typing import Any

from isrcheck.models.language.declare import always, mark_of
from isrcheck.models.language.model import Property
from isrcheck.models.language.reader import Reader
from isrcheck.models.language.syntax import Vocabulary


@always
def deadlock(s: Any) -> bool:  # noqa: ARG001 - never called
    """A state has a step, or the model declares that it may end there (`@terminal`)."""
    return True


def _property() -> Property:
    mark = mark_of(deadlock)
    assert mark is not None
    return Property(deadlock.__name__, mark.kind, Reader(Vocabulary({}, {}, {})).read(deadlock), None, None)


DEADLOCK = _property()
"""The implicit property of every model."""
