"""Records as the functions of a model see them in CPython: views of the fields that are their parts.

In:  a state, whose attribute `broker.role` is the part `role` of the records `broker`.
Out: `RecordView`: `s.broker[r].role` is `s.broker.role[r]`; a queue of records changes the queues of all parts at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


class RecordView:
    """Records with some of their indices; `parts` are the names of their parts."""

    __slots__ = ("_indices", "_name", "_parts", "_state")
    _state: Any
    _name: str
    _parts: Sequence[str]
    _indices: tuple[int, ...]

    def __init__(self, state: Any, name: str, parts: Sequence[str], indices: tuple[int, ...] = ()) -> None:
        for attribute, value in (("_state", state), ("_name", name), ("_parts", parts), ("_indices", indices)):
            object.__setattr__(self, attribute, value)

    def __getitem__(self, index: int) -> RecordView:
        return RecordView(self._state, self._name, self._parts, (*self._indices, index))

    def __getattr__(self, part: str) -> Any:
        value = getattr(self._state, f"{self._name}.{part}")
        for index in self._indices:
            value = value[index]
        return value

    def __setattr__(self, part: str, value: Any) -> None:
        if not self._indices:
            setattr(self._state, f"{self._name}.{part}", value)
            return
        place = getattr(self._state, f"{self._name}.{part}")
        for index in self._indices[:-1]:
            place = place[index]
        place[self._indices[-1]] = value

    # ------------------------------------------------------------------------------------------------ a queue of them

    def __len__(self) -> int:
        return len(getattr(self, self._parts[0]))

    def append(self, record: Any) -> None:
        """Put a record behind the last one."""
        for part in self._parts:
            getattr(self, part).append(getattr(record, part))

    def popleft(self) -> None:
        """Take the first record out of the queue."""
        for part in self._parts:
            getattr(self, part).popleft()

    def clear(self) -> None:
        """Take all records out of the queue."""
        for part in self._parts:
            getattr(self, part).clear()
