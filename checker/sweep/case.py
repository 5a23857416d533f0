"""A search of a sweep as plain data that can be sent to another process.

In:  a combination of a sweep.
Out: a `Case`, which consists only of numbers and texts.
"""

from __future__ import annotations

from dataclasses import dataclass

from isrcheck.checker.compile.instance_specification import InstanceSpecification
from isrcheck.checker.resources.limits import Limits


@dataclass(frozen=True)
class Case:
    """One search: `position` is its row in the table (from 0), `name` lists the varied values, `target` is the
    model."""

    position: int
    name: str
    target: str
    subject: InstanceSpecification
    count_all: bool
    depth: int | None
    memory: int
    seconds: float | None
    threads: int
    deadlock: bool

    @property
    def limits(self) -> Limits:
        """The limits of the search."""
        return Limits(self.depth, self.memory, self.seconds, self.threads, self.deadlock)
