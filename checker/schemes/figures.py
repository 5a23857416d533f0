"""What each scheme tolerates, and whom it waits for: every figure is the result of searches.

In:  a session; the model `quorum_schemes` (models/quorum/schemes.py).
Out: a `Row` for each number of replicas, scheme and min.insync.replicas; the recorded rows (models/quorum/schemes.csv).
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass, fields
from pathlib import Path

from isrcheck.checker.outcome.verdict import Word, verdicts
from isrcheck.checker.resources.limits import Limits
from isrcheck.checker.session.session import SearchSession
from isrcheck.models.quorum import schemes

RECORD = Path(schemes.__file__).with_name("schemes.csv")

TOLERATED = {"writes": "write_can_be_acknowledged", "reads": "acked_can_be_read", "data": "acked_not_lost"}
"""The columns of failures, with the properties that must hold."""

ANSWERED = "acknowledged_when_so_many_hold_it"


@dataclass(frozen=True)
class Row:
    """A scheme with so many replicas. `min_isr` is None for a majority; `lag` says whether followers may be slow.

    `waits_for` is the smallest number of replicas, the leader included, that hold a write when it is acknowledged, if
    nobody fails: the acknowledgement waits for the fastest that many. The others are the most failures for good after
    which, whichever brokers failed and whenever: a write can still be acknowledged (`writes`); an acknowledged record
    has a leader that holds it, or can get one (`reads`); it is on a running broker, and none leads without it (`data`).
    """

    replicas: int
    scheme: str
    min_isr: int | None
    lag: bool
    waits_for: int
    writes: int
    reads: int
    data: int

    @property
    def cells(self) -> dict[str, str]:
        """The row as text by column, as in the file of recorded rows."""
        return {one.name: _spelled(getattr(self, one.name)) for one in fields(self)}


COLUMNS = tuple(one.name for one in fields(Row))


def _spelled(value: int | str | None) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return "-" if value is None else str(value)


def rows(most: int, session: SearchSession, limits: Limits) -> Iterator[Row]:
    """Search and yield the rows for 1 to `most` replicas. Raises CutShortError, KeyboardInterrupt."""
    for replicas in range(1, most + 1):
        for scheme in schemes.MODEL.protocols:
            sizes: tuple[int | None, ...] = (None,) if scheme == "majority" else tuple(range(1, replicas + 1))
            for min_isr in sizes:
                for lag in (False, True):
                    yield _Search(replicas, scheme, min_isr, lag, session, limits).row()


def recorded() -> list[dict[str, str]]:
    """Return the recorded rows as text by column."""
    with RECORD.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def write(path: Path, found: list[Row]) -> None:
    """Write rows as CSV, one line each. Raises OSError."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(row.cells for row in found)


@dataclass(frozen=True)
class _Search:
    """The searches for one row."""

    replicas: int
    scheme: str
    min_isr: int | None
    lag: bool
    session: SearchSession
    limits: Limits

    def row(self) -> Row:
        tolerated = self._tolerated()
        return Row(self.replicas, self.scheme, self.min_isr, self.lag, self._waits_for(), **tolerated)

    def _tolerated(self) -> dict[str, int]:
        """For each column the most failures with which its property holds: more and more fail, until none holds."""
        found: dict[str, int] = {}
        for failures in range(1, self.replicas + 1):
            asked = [name for column, name in TOLERATED.items() if column not in found]
            if not asked:
                break
            words = self._words({"failures": failures}, asked)
            found |= {
                column: failures - 1
                for column, name in TOLERATED.items()
                if column not in found and words[name] is Word.VIOLATED
            }
        assert found.keys() == TOLERATED.keys(), "with every broker failed, nothing can hold"
        return found

    def _waits_for(self) -> int:
        return next(
            answers
            for answers in range(1, self.replicas + 1)
            if self._words({"failures": 0, "answers": answers}, [ANSWERED])[ANSWERED] is Word.REACHED
        )

    def _words(self, values: dict[str, int], asked: list[str]) -> dict[str, Word]:
        """Search the whole state space, or until all is decided; return the verdict of each property that is asked."""
        chosen = {"replicas": self.replicas, "FOLLOWERS_LAG": int(self.lag)} | values
        chosen |= {} if self.min_isr is None else {"min_isr": self.min_isr}
        instance = schemes.MODEL.instance(self.scheme, chosen)
        exploration = self.session.explore_whole(instance, self.limits, only=asked)
        return {one.prop.name: one.word for one in verdicts(exploration) if one.prop.name in asked}
