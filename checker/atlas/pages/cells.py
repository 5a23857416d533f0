"""The cells of the tables: for each case its answers in words, each with the page that shows it.

In:  the lines of a table, and the places where pages are kept (proofs.py).
Out: the `Cell`s of a line.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from isrcheck.checker.atlas.pages import defects
from isrcheck.checker.atlas.pages.content import Column, Line
from isrcheck.checker.atlas.pages.proofs import Histories, Searches
from isrcheck.checker.atlas.pages.rows import Cell, Mark
from isrcheck.checker.atlas.pages.words import NONE_KNOWN, NOT_RECORDED, available, exposures, said, said_of, survived
from isrcheck.checker.questions.finding import Finding, Source
from isrcheck.checker.questions.question import Question, Topic
from isrcheck.models.kafka.failures.catalogue import named

Asked = Mapping[Question, Finding | None]


@dataclass(frozen=True)
class Cells:
    """Makes the cells of lines, and keeps the pages that they lead to."""

    histories: Histories
    searches: Searches

    def of(self, line: Line, columns: tuple[Column, ...]) -> tuple[Cell, ...]:
        """The cells of a line, in the order of the columns."""
        return tuple(self._cell(*pair) for pair in zip(columns, line.findings, strict=True))

    def _cell(self, column: Column, asked: Asked) -> Cell:
        if column.topic is Topic.DEFECT:
            return self._of_defects(column, asked)
        if column.topic in (Topic.WRITES, Topic.READS):
            found = [(f"{one.number} down", asked[one]) for one in sorted(asked)]
            labels = [(label, finding) for label, finding in found if finding is not None]
            return Cell(available(asked), self.searches.address(column.asks, labels))
        if column.topic is Topic.SURVIVES:
            labels = [(f"{one.number} lost", found) for one, found in asked.items() if found is not None]
            return Cell(survived(asked), self.searches.address(column.asks, labels) if labels else "")
        (finding,) = asked.values()
        if finding is None:
            return Cell(NOT_RECORDED, "")
        return Cell(said(column.topic, finding), self._address(column, finding), remark=_remark(column, finding))

    def _address(self, column: Column, finding: Finding) -> str:
        if finding.fails and finding.history is not None:
            return self.histories.address(column.asks, finding, finding.history)
        return self.searches.address(column.asks, [("", finding)])

    def _of_defects(self, column: Column, asked: Asked) -> Cell:
        if not asked:
            return Cell(NONE_KNOWN, "")
        sorted_out = exposures(asked)
        labels = [(_full(one.name), finding) for one, finding in asked.items() if finding is not None]
        beside = tuple(_mark(name) for name in sorted_out.beside)
        return Cell(
            said_of(sorted_out),
            self.searches.address(column.asks, labels),
            tuple(_mark(name) for name in (sorted_out.defects or sorted_out.open)),
            "with a loss of power or of a disk:" if beside else "",
            beside,
        )


def _full(name: str) -> str:
    failure = named(name)
    return f"{failure.number} {failure.title}"


def _mark(name: str) -> Mark:
    failure = named(name)
    return Mark(failure.number, defects.address(name), failure.title)


def _remark(column: Column, finding: Finding) -> str:
    """What a reader should know beside the answer: that it was derived, which of several promises it is about, or why
    nothing is said."""
    if finding.source is Source.RULE:
        return f"derived by rule: {finding.rule}"
    if column.topic is Topic.TRANSACTIONS and finding.fails:
        return finding.property_name
    return finding.note
