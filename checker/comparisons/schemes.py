"""`check compare-schemes`: finds how many failures replication schemes tolerate, and compares this with a record.

In:  `Options`, and a session; the model `quorum_schemes` (models/quorum/schemes.py), which is searched.
Out: a `CommandResult`; with --csv, a file of the rows in the format of the record (models/quorum/schemes.csv).
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from functools import cache
from pathlib import Path
from typing import ClassVar

from isrcheck.checker.command.forms import MOST_REPLICAS
from isrcheck.checker.command.options import Options
from isrcheck.checker.resources.limits import Limits
from isrcheck.checker.results.run import CommandResult
from isrcheck.checker.results.terminal import counted, table
from isrcheck.checker.results.verdict import Word, verdicts
from isrcheck.checker.running.comparing import search_rows
from isrcheck.checker.running.session import SearchSession
from isrcheck.commands.exit_codes import UNDECIDED, UNEXPECTED
from isrcheck.models.quorum import schemes

RECORD = Path(schemes.__file__).with_name("schemes.csv")

TOLERATED = {"writes": "write_can_be_acknowledged", "reads": "acked_can_be_read", "data": "acked_not_lost"}
"""The columns with numbers of tolerated failures, each with the property that must hold."""

ANSWERED = "acknowledged_when_so_many_hold_it"


@dataclass(frozen=True)
class Row:
    """A row of the table: a replication scheme with a number of replicas. `writes`, `reads` and `data` say how many
    permanent failures the scheme tolerates, whichever brokers fail and whenever they do."""

    replicas: int
    scheme: str
    min_isr: int | None
    """The scheme's min.insync.replicas; None for a majority."""
    lag: bool
    """Whether followers may be slow."""
    waits_for: int
    """The smallest number of replicas, the leader included, that hold a write when it is acknowledged, if nobody fails:
    the acknowledgement waits for that many of the fastest replicas."""
    writes: int
    """With this many failures, a write can still be acknowledged."""
    reads: int
    """With this many failures, an acknowledged record has a leader that holds it, or can get such a leader."""
    data: int
    """With this many failures, an acknowledged record is on a running broker, and no broker without the record is
    leader."""

    is_interrupted: ClassVar[bool] = False
    is_undecided: ClassVar[bool] = False

    @property
    def has_difference(self) -> bool:
        """Whether no recorded row equals this row."""
        return self.cells not in recorded()

    @property
    def cells(self) -> dict[str, str]:
        """The row as text by column, as in the file of recorded rows."""
        return {one.name: _spelled(getattr(self, one.name)) for one in fields(self)}


COLUMNS = tuple(one.name for one in fields(Row))


def _spelled(value: int | str | None) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return "-" if value is None else str(value)


@dataclass(frozen=True)
class Scheme:
    """A replication scheme with a number of replicas; its method `searched` returns the table row with its figures."""

    replicas: int
    scheme: str
    min_isr: int | None
    lag: bool

    def searched(self, session: SearchSession, limits: Limits) -> Row:
        """Search for the figures of this scheme, and return them as a row. Raises CutShortError, KeyboardInterrupt."""

        def words(values: dict[str, int], names: list[str]) -> dict[str, Word]:
            """Search until the properties `names` are decided, or the state space is exhausted; return the verdicts."""
            chosen = {"replicas": self.replicas, "FOLLOWERS_LAG": int(self.lag)} | values
            chosen |= {} if self.min_isr is None else {"min_isr": self.min_isr}
            instance = schemes.MODEL.instance(self.scheme, chosen)
            exploration = session.explore_whole(instance, limits, only=names)
            return {one.prop.name: one.word for one in verdicts(exploration) if one.prop.name in names}

        tolerated: dict[str, int] = {}
        # More and more brokers fail, until no property holds.
        for failures in range(1, self.replicas + 1):
            left = {column: name for column, name in TOLERATED.items() if column not in tolerated}
            if not left:
                break
            judged = words({"failures": failures}, list(left.values()))
            tolerated |= {column: failures - 1 for column, name in left.items() if judged[name] is Word.VIOLATED}
        assert tolerated.keys() == TOLERATED.keys(), "with every broker failed, no property can hold"
        waits_for = next(
            answers
            for answers in range(1, self.replicas + 1)
            if words({"failures": 0, "answers": answers}, [ANSWERED])[ANSWERED] is Word.REACHED
        )
        return Row(self.replicas, self.scheme, self.min_isr, self.lag, waits_for, **tolerated)


def schemes_to(most: int) -> Iterator[Scheme]:
    """Yield the replication schemes with 1 to `most` replicas."""
    for replicas in range(1, most + 1):
        for scheme in schemes.MODEL.protocols:
            sizes: tuple[int | None, ...] = (None,) if scheme == "majority" else tuple(range(1, replicas + 1))
            yield from (Scheme(replicas, scheme, size, lag) for size in sizes for lag in (False, True))


@cache
def recorded() -> list[dict[str, str]]:
    """Return the recorded rows, each as text by column."""
    with RECORD.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def write(path: Path, rows: list[Row]) -> None:
    """Write rows as CSV, one line each. Raises OSError."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(row.cells for row in rows)


NAMES = {"majority": "majority", "isr": "ISR", "isr_with_elr": "ISR, ELR"}

ORDINALS = {1: "fastest", 2: "2nd fastest", 3: "3rd fastest"}

HEADER = ("replicas", "scheme", "min ISR", "waits for", "writes", "reads", "data")

MEANING = """\
waits for: the replica whose answer acknowledges a write, the leader counted; writes, reads, data: how many brokers may
fail for good, whichever and whenever: a write can still be acknowledged; what was acknowledged can still be read; a
copy of it is left, and nobody leads without it. a/b: a while all followers are in sync, b if some may be slow"""


def run(options: Options, session: SearchSession) -> CommandResult:
    """Search the figures of all rows, print them, and compare them with the record. Raises OSError for the CSV file."""
    wanted = schemes_to(options.own["most_replicas"] or MOST_REPLICAS)
    comparison = search_rows(wanted, lambda scheme: scheme.searched(session, options.limits), ends_when_cut=True)
    rows = [row for _, row in comparison.answers]
    if options.own["csv"] is not None and not comparison.unanswered:
        write(options.own["csv"], rows)
    code, verdict = comparison.code(), comparison.verdict()
    closing = f"{counted(len(rows), 'row')}, as recorded in models/quorum/schemes.csv"
    if code == UNEXPECTED:
        differing = [row for row in rows if row.has_difference]
        cells = differing[0].cells
        which = f"{cells['replicas']} replicas, {cells['scheme']}, min ISR {cells['min_isr']}, lag {cells['lag']}"
        closing = f"{len(differing)} of {counted(len(rows), 'row')} not as recorded; the first: {which}"
    elif code == UNDECIDED:
        closing = f"{verdict}: {comparison.why}; {counted(len(rows), 'row')} until then"
    text = "\n".join([*table(lines(rows), right=frozenset({0, 2, 4, 5, 6})), "", MEANING, "", *needed(rows), closing])
    content = {"rows": [asdict(row) for row in rows], "verdict": verdict}
    return CommandResult(text, content, code, is_interrupted=comparison.is_interrupted)


def lines(rows: Sequence[Row]) -> list[tuple[str, ...]]:
    """Return the table's header, and a line for each two rows that differ only in whether followers may be slow."""
    slow = {(row.replicas, row.scheme, row.min_isr): row for row in rows if row.lag}
    pairs = [
        (row, slow[key]) for row in rows if not row.lag and (key := (row.replicas, row.scheme, row.min_isr)) in slow
    ]
    return [HEADER, *(_line(prompt, late) for prompt, late in pairs)]


def _line(prompt: Row, late: Row) -> tuple[str, ...]:
    waits = [ORDINALS.get(one.waits_for, f"{one.waits_for}th fastest") for one in (prompt, late)]
    figures = [(getattr(prompt, name), getattr(late, name)) for name in ("writes", "reads", "data")]
    return (
        str(prompt.replicas),
        NAMES[prompt.scheme],
        prompt.cells["min_isr"],
        _both(*waits),
        *(_both(str(one), str(other)) for one, other in figures),
    )


def _both(prompt: str, late: str) -> str:
    return prompt if prompt == late else f"{prompt}/{late}"


def needed(rows: Sequence[Row]) -> list[str]:
    """Return a table, as lines, of the fewest replicas that tolerate 1, 2, ... failures. Writes, reads and data must
    all tolerate the failures. The list is empty if no row tolerates a failure."""
    most = max((row.replicas for row in rows), default=0)
    header = ["failures", *(f"{NAMES[scheme]}, {how}" for scheme in NAMES for how in ("in sync", "slow"))]
    body = [
        [str(failures), *(_fewest(rows, scheme, lag, failures) for scheme in NAMES for lag in (False, True))]
        for failures in range(1, most)
    ]
    body = [one for one in body if set(one[1:]) != {"-"}]
    if not body:
        return []
    says = (
        f"replicas (with min ISR) that it takes to tolerate so many failures of writes, reads and data; -: no {most} do"
    )
    return [says, *table([header, *body], right=frozenset(range(len(header)))), ""]


def _fewest(rows: Iterable[Row], scheme: str, lag: bool, failures: int) -> str:
    enough = [
        row
        for row in rows
        if (row.scheme, row.lag) == (scheme, lag) and min(row.writes, row.reads, row.data) >= failures
    ]
    if not enough:
        return "-"
    fewest = min(row.replicas for row in enough)
    sizes = [str(row.min_isr) for row in enough if row.replicas == fewest and row.min_isr is not None]
    return f"{fewest} ({', '.join(sizes)})" if sizes else str(fewest)
