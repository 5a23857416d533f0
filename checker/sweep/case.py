"""One configuration of a sweep as plain data.

In:  a row of a sweep.
Out: a `Case`: what to search, with numbers and texts only.
"""

from __future__ import annotations

from dataclasses import dataclass

from isrcheck.checker.compile.instance_specification import InstanceSpecification
from isrcheck.checker.resources.limits import Limits


@dataclass(frozen=True)
class Case:
    """One search: `position` is that of the row, `target` is how the model is named on the command line."""

    position: int
    name: str
    target: str
    subject: InstanceSpecification
    count_all: bool
    depth: int | None
    memory: int
    seconds: float | None
    threads: int

    @property
    def limits(self) -> Limits:
        """What its search may use."""
        return Limits(self.depth, self.memory, self.seconds, self.threads)
