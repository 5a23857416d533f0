"""The verdict on a recording that was followed online.

In:  built by follow.py.
Out: followed, rejected or undecided, each with what is known.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from isrcheck.commands.exit_codes import DONE, VIOLATED
from isrcheck.conformance.follow.observations.explain import UnmetClaim
from isrcheck.conformance.follow.recorded.lines import Line
from isrcheck.models.client_settings import Acks


@dataclass(frozen=True)
class Cost:
    """The lines that were followed, and what it took: `most` is the largest number of states before one line."""

    lines: int
    of: int
    states: int
    most: int
    generated: int
    windows: int
    seconds: float


@dataclass(frozen=True)
class Online:
    """What all verdicts have in common. `unchecked` counts lines of which a part before the window was not checked.

    `left_out` says which possibilities were not followed, and from which line on; None: all were followed. `unused`
    names what the recording holds beside its lines.
    """

    path: Path
    generation: str
    cost: Cost
    unchecked: int
    left_out: str | None
    unused: str = field(default="", kw_only=True)


@dataclass(frozen=True)
class Followed(Online):
    """There is a behaviour of the model in which all lines are true.

    One loses no acknowledged record without permission (`keeps` is True), or none (False), or that is not decided
    (None). `lost` is then the first line that no behaviour passes without such a loss before it.
    """

    keeps: bool | None
    lost: Line | None = None

    @property
    def exit_code(self) -> int:
        """12 if every behaviour loses a record, as for a recording that is followed as a whole."""
        return VIOLATED if self.keeps is False else DONE


@dataclass(frozen=True)
class RejectedOnline(Online):
    """No behaviour passes this line. `unmet` are its claims, in terms of the window, which begins at `offset` and
    `partition_epoch`; `why` says it if no claim does. `possible` is the number of states before it.
    """

    line: Line
    possible: int
    unmet: tuple[UnmetClaim, ...]
    why: str | None
    offset: int
    partition_epoch: int
    acks: Acks
    alters_partitions: bool
    exit_code: int = 20


@dataclass(frozen=True)
class UndecidedOnline(Online):
    """Nothing is decided about this line; all lines before it are followed. `why` is interrupt, memory, seconds, or a
    sentence. Without a line, the limit was reached while the next line was read.
    """

    line: Line | None
    why: str

    @property
    def exit_code(self) -> int:
        """3, or 130 if the user ended the search."""
        return 130 if self.why == "interrupt" else 3


OnlineOutcome = Followed | RejectedOnline | UndecidedOnline
