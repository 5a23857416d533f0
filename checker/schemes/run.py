"""`check compare-schemes`: searches every figure of the table, and compares it with the record.

In:  `Options`, and a session.
Out: a `CommandResult`; with --csv, a file.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

from isrcheck.checker.command.forms import MOST_REPLICAS
from isrcheck.checker.command.options import Options
from isrcheck.checker.outcome.verdict import WHY_STOPPED, Word
from isrcheck.checker.schemes.figures import Row, recorded, rows, write
from isrcheck.checker.session.command_result import CommandResult
from isrcheck.checker.session.formatting import counted, table
from isrcheck.checker.session.session import CutShortError, SearchSession
from isrcheck.commands.exit_codes import SAFE, UNDECIDED, UNEXPECTED

NAMES = {"majority": "majority", "isr": "ISR", "isr_with_elr": "ISR, ELR"}

ORDINALS = {1: "fastest", 2: "2nd fastest", 3: "3rd fastest"}

HEADER = ("replicas", "scheme", "min ISR", "waits for", "writes", "reads", "data")

MEANING = """\
waits for: the replica whose answer acknowledges a write, the leader counted; writes, reads, data: how many brokers may
fail for good, whichever and whenever: a write can still be acknowledged; what was acknowledged can still be read; a
copy of it is left, and nobody leads without it. a/b: a while all followers are in sync, b if some may be slow"""


def run(options: Options, session: SearchSession) -> CommandResult:
    """Search all rows, print them, and compare them with the recorded ones. Raises OSError for the file."""
    most = options.own["most_replicas"] or MOST_REPLICAS
    found: list[Row] = []
    why, stopped = "", False
    try:
        for row in rows(most, session, options.limits):
            found.append(row)  # noqa: PERF402 - what was found before a limit is reached is kept
    except CutShortError as error:
        why = str(error)
    except KeyboardInterrupt:
        why, stopped = WHY_STOPPED["interrupt"], True
    differing = [row for row in found if row.cells not in recorded()]
    if options.own["csv"] is not None and not why:
        write(options.own["csv"], found)
    verdict, code = ("as recorded", SAFE) if not differing else ("differs", UNEXPECTED)
    closing = f"{counted(len(found), 'row')}, as recorded in models/quorum/schemes.csv"
    if differing:
        one = differing[0]
        which = f"{one.replicas} replicas, {one.scheme}, min ISR {one.cells['min_isr']}, lag {one.cells['lag']}"
        closing = f"{len(differing)} of {counted(len(found), 'row')} not as recorded; the first: {which}"
    elif why:
        verdict, code = Word.UNDECIDED.value, UNDECIDED
        closing = f"{verdict}: {why}; {counted(len(found), 'row')} until then"
    text = "\n".join([*table(lines(found), right=frozenset({0, 2, 4, 5, 6})), "", MEANING, "", *needed(found), closing])
    content: dict[str, Any] = {"rows": [asdict(row) for row in found], "verdict": verdict}
    return CommandResult(text, content, code, is_interrupted=stopped)


def lines(found: Sequence[Row]) -> list[tuple[str, ...]]:
    """The table: a line for each two rows that differ only in whether followers may be slow."""
    slow = {(row.replicas, row.scheme, row.min_isr): row for row in found if row.lag}
    pairs = [
        (row, slow[key]) for row in found if not row.lag and (key := (row.replicas, row.scheme, row.min_isr)) in slow
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


def needed(found: Sequence[Row]) -> list[str]:
    """How many replicas it takes until some row tolerates 1, 2, 3 failures of everything; none if there are too few."""
    most = max((row.replicas for row in found), default=0)
    header = ["failures", *(f"{NAMES[scheme]}, {how}" for scheme in NAMES for how in ("in sync", "slow"))]
    body = [
        [str(failures), *(_fewest(found, scheme, lag, failures) for scheme in NAMES for lag in (False, True))]
        for failures in range(1, most)
    ]
    body = [one for one in body if set(one[1:]) != {"-"}]
    if not body:
        return []
    says = (
        f"replicas (with min ISR) that it takes to tolerate so many failures of writes, reads and data; -: no {most} do"
    )
    return [says, *table([header, *body], right=frozenset(range(len(header)))), ""]


def _fewest(found: Iterable[Row], scheme: str, lag: bool, failures: int) -> str:
    enough = [
        row
        for row in found
        if (row.scheme, row.lag) == (scheme, lag) and min(row.writes, row.reads, row.data) >= failures
    ]
    if not enough:
        return "-"
    fewest = min(row.replicas for row in enough)
    sizes = [str(row.min_isr) for row in enough if row.replicas == fewest and row.min_isr is not None]
    return f"{fewest} ({', '.join(sizes)})" if sizes else str(fewest)
