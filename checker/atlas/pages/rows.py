"""The rows of the table: cases with the same answers share a row, the worst stand first.

In:  the cases of the atlas, each with its cells.
Out: `Row`s. Every case is in exactly one row.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from enum import Enum

from isrcheck.checker.atlas.pages.content import Column, Line, Sheet
from isrcheck.checker.atlas.pages.settings import REPLICAS, Setting, values_of
from isrcheck.checker.atlas.pages.words import Grave, Words
from isrcheck.checker.questions.question import Topic


@dataclass(frozen=True)
class Mark:
    """A short link in a cell: the number of a known failure, with its title."""

    text: str
    address: str
    title: str


@dataclass(frozen=True)
class Cell:
    """One answer: its words, the page that shows it, links to known failures, and a remark with further links."""

    words: Words
    address: str
    marks: tuple[Mark, ...] = ()
    remark: str = ""
    beside: tuple[Mark, ...] = ()

    @property
    def links(self) -> tuple[Mark, ...]:
        """All links to known failures."""
        return (*self.marks, *self.beside)


class Status(Enum):
    """The answer of a row as a whole, the worst first, by its name in an address."""

    FAILS = "can-fail"
    DEFECTS = "defects"
    UNKNOWN = "unknown"
    KEEPS = "keeps"


def status_of(columns: Sequence[Column], cells: Sequence[Cell]) -> Status:
    """The answer as a whole: what the settings permit, known defects, what is open.

    A promise that breaks is put down to the known defects of the release, if the case is exposed to one.
    """
    deciding = [(one.topic, cell.words.grave) for one, cell in zip(columns, cells, strict=True) if one.decides]
    graves = {grave for topic, grave in deciding if topic is not Topic.DEFECT}
    is_exposed = (Topic.DEFECT, Grave.BROKEN) in deciding
    if Grave.ALLOWED in graves or (Grave.BROKEN in graves and not is_exposed):
        return Status.FAILS
    if is_exposed:
        return Status.DEFECTS
    return Status.UNKNOWN if any(grave is Grave.OPEN for _, grave in deciding) else Status.KEEPS


@dataclass(frozen=True)
class Row:
    """Cases with the same answers: all combinations of `values`, which are a set of texts for each setting.

    Combinations that are no case, such as a min.insync.replicas above the replicas, may be among them.
    """

    status: Status
    values: tuple[frozenset[str], ...]
    cells: tuple[Cell, ...]
    cases: int = 1


def rows_of(sheet: Sheet, settings: Sequence[Setting], cells_of: Callable[[Line], tuple[Cell, ...]]) -> list[Row]:
    """The rows, the worst first, in the order of their settings otherwise."""
    lines, rows = sheet.lines, []
    for line in lines:
        cells = cells_of(line)
        values = tuple(frozenset({one.of(line)}) for one in settings)
        rows.append(Row(status_of(sheet.kind.columns, cells), values, cells))
    spelling = Spelling(lines, settings)
    count = 0
    while count != len(rows):
        count = len(rows)
        for place in reversed(range(len(settings))):
            rows = _joined(map(spelling.widened, rows), place)
    order = [{value: number for number, value in enumerate(values_of(one, lines))} for one in settings]

    def place_of(row: Row) -> tuple[int, list[list[int]]]:
        places = [sorted(order[place][one] for one in some) for place, some in enumerate(row.values)]
        return list(Status).index(row.status), places

    return sorted(rows, key=place_of)


def _joined(rows: Iterable[Row], place: int) -> list[Row]:
    """The rows, in which those that differ in one setting alone are one row."""
    alike: dict[object, list[Row]] = defaultdict(list)
    for row in rows:
        alike[row.status, row.values[:place], row.values[place + 1 :], row.cells].append(row)
    joined = []
    for some in alike.values():
        values = frozenset().union(*(row.values[place] for row in some))
        first = some[0]
        joined.append(
            Row(
                first.status,
                (*first.values[:place], values, *first.values[place + 1 :]),
                first.cells,
                sum(row.cases for row in some),
            )
        )
    return joined


class Spelling:
    """The values of rows as text."""

    def __init__(self, lines: Sequence[Line], settings: Sequence[Setting]) -> None:
        self.order = [values_of(one, lines) for one in settings]
        self._of_replicas: dict[str, list[set[str]]] = {}
        for line in lines:
            found = self._of_replicas.setdefault(REPLICAS.of(line), [set() for _ in settings])
            for values, setting in zip(found, settings, strict=True):
                values.add(setting.of(line))
        self._place = settings.index(REPLICAS) if REPLICAS in settings else None

    def widened(self, row: Row) -> Row:
        """The row; where it has every value that occurs with its numbers of replicas, it gets the others as well, so
        that rows with other numbers of replicas can join it."""
        possible = self._possible(row)
        pairs = zip(row.values, possible, self.order, strict=True)
        return replace(row, values=tuple(frozenset(all_) if some >= now else some for some, now, all_ in pairs))

    def _possible(self, row: Row) -> list[set[str]]:
        """For each setting the values that occur with the row's numbers of replicas."""
        numbers = list(self._of_replicas) if self._place is None else row.values[self._place]
        found = [self._of_replicas[one] for one in numbers]
        possible = [set().union(*values) for values in zip(*found, strict=True)]
        if self._place is not None:
            possible[self._place] = set(self.order[self._place])
        return possible

    def texts(self, row: Row) -> list[str]:
        """The text of each setting: `any` if the row has every value that occurs with its numbers of replicas."""
        texts = []
        for order, values, possible in zip(self.order, row.values, self._possible(row), strict=True):
            shown = [one for one in order if one in values and one in possible]
            texts.append("any" if len(shown) > 1 and len(shown) == len(possible) else ", ".join(shown))
        return texts

    def masks(self, row: Row) -> list[int]:
        """The values of each setting as a number: bit N for the value N in the order of the filter."""
        return [
            sum(1 << number for number, one in enumerate(order) if one in values)
            for order, values in zip(self.order, row.values, strict=True)
        ]
