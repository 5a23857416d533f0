"""The findings of an audit: statements, each with one of four grades."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from isrcheck.commands.exit_codes import DONE, UNDECIDED, USAGE, VIOLATED


class Grade(StrEnum):
    """The grades of findings, worst first."""

    BROKEN = "BROKEN"
    DAMAGED = "DAMAGED"
    UNDECIDED = "UNDECIDED"
    NOTE = "note"


EXIT_CODES = {Grade.BROKEN: VIOLATED, Grade.DAMAGED: USAGE, Grade.UNDECIDED: UNDECIDED, Grade.NOTE: DONE}


@dataclass(frozen=True)
class Finding:
    """A statement of a check about some brokers' copies: its grade, the check's name, and the offsets concerned."""

    grade: Grade
    check: str
    statement: str
    brokers: tuple[str, ...] = ()
    first: int | None = None
    last: int | None = None


def worst_first(findings: Iterable[Finding]) -> list[Finding]:
    """The findings, worst grade first; findings of one grade stay in the given order."""
    return sorted(findings, key=lambda finding: list(Grade).index(finding.grade))


def offsets(first: int, last: int) -> str:
    """A range of offsets in words."""
    return f"offset {first}" if first == last else f"offsets {first} to {last}"


def names(brokers: Sequence[str]) -> str:
    """The names of brokers as a part of a sentence."""
    return " and ".join([", ".join(brokers[:-1]), brokers[-1]] if len(brokers) > 1 else brokers)


def count(number: int, noun: str, plural: str | None = None) -> str:
    """The number and the noun, in the plural unless the number is 1."""
    return f"{number:,} {noun if number == 1 else plural or f'{noun}s'}"


def spell_table(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """The lines of a table: the first column to the left, the others to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for first, *cells in rows:
        yield "  " + "  ".join([first.ljust(widths[0]), *map(str.rjust, cells, widths[1:])])


def at_most(most: int, findings: Iterable[Finding]) -> Iterator[Finding]:
    """Yield the first `most` findings per grade and check; if more exist, a finding tells how many are left out."""
    counts: Counter[tuple[Grade, str]] = Counter()
    for finding in findings:
        kind = finding.grade, finding.check
        counts[kind] += 1
        if counts[kind] <= most:
            yield finding
    for (grade, check), count in counts.items():
        if count > most:
            yield Finding(grade, check, f"and {count - most} more such findings ({check})")
