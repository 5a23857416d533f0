"""Makes two pages from a table of the atlas: one with filters, and one that needs no script. Neither loads other files.

The page with filters holds the rows as data, in which each text occurs once, because a table of all rows would take
some megabytes. The script of the page builds the visible rows from these data.
"""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from isrcheck.checker.atlas.proofs import address_of
from isrcheck.checker.atlas.tables import RELEASES, Cell, Grave, Kind, Line, Row, SettingColumn, Spelling, Status
from isrcheck.checker.results.terminal import counted
from isrcheck.commands.program import product
from isrcheck.models.kafka.failures.catalogue import named
from isrcheck.traces.pages.markup import Content, Element, beside, data, element
from isrcheck.traces.pages.parts import meanings, row_heading, table
from isrcheck.traces.pages.shell import Page, theme_button

TITLE = "The atlas of Kafka's settings"
PACKAGE = "isrcheck.checker.atlas"
WHOLE = "all_"
"""The beginning of the name of the page that needs no script."""

SCRIPTS = ("table.js", "asked.js", "atlas.js")
"""The script of a page, in parts: makes rows, understands an address, shows the requested rows."""

CLASSES = {
    Grave.BROKEN: "bad",
    Grave.ALLOWED: "warn",
    Grave.OPEN: "open",
    Grave.TO_DEPTH: "deep",
    Grave.TO_THE_END: "good",
    Grave.FACT: "fact",
    Grave.NOTHING: "none",
}
"""The CSS class that colours an answer, by how grave the answer is."""

COLOURS = {Status.FAILS: "warn", Status.DEFECTS: "bad", Status.UNKNOWN: "open", Status.KEEPS: "good"}
"""The CSS class that colours the answer of a whole row."""

MEANINGS = (
    ("bad", "fails against a promise: a known defect of the release"),
    ("warn", "fails, and your settings allow it, or Kafka promises nothing after this fault"),
    ("open", "not decided or not recorded"),
    ("deep", "not found to this number of steps; longer histories were not searched"),
    ("good", "not found, to the end: the search has no further state within its bounds"),
)
"""The meaning of each colour, for the legend."""


@dataclass(frozen=True)
class Facts:
    """The facts about the record that every page shows."""

    day: str
    """The day of the oldest recorded search."""
    digest: str
    """The digest of the model."""
    limits: str
    """How far the searches go."""
    parquet: str | None
    """The name of the Parquet file, if it is written."""


@dataclass(frozen=True)
class View:
    """The contents of a page about one table: its rows, and the columns that show settings."""

    kind: Kind
    lines: Sequence[Line]
    rows: Sequence[Row]
    settings: Sequence[SettingColumn]

    def label(self, status: Status) -> str:
        """What this table calls a status of its rows, in a few words."""
        return {
            Status.FAILS: self.kind.fails,
            Status.DEFECTS: "Known defects",
            Status.UNKNOWN: "Cannot tell",
            Status.KEEPS: "Keeps its promises",
        }[status]


def with_filters(view: View, kinds: Sequence[Kind], facts: Facts) -> Page:
    """Make the page of a table with filters; it has links to the tables of all `kinds`."""
    spelling = Spelling(view.lines, view.settings)
    link = element("a", "all rows on one page", href=WHOLE + view.kind.file)
    until_script = [element("th", "The filters need JavaScript; without it, see ", link, class_="fact")]
    sentinel = element("p", element("span", ""), " more rows follow as you scroll.", id="rest", hidden="")
    main = (_filters(view, spelling), element("main", *_messages(), _table(view, [until_script]), sentinel))
    scripts = [beside(PACKAGE, name) for name in SCRIPTS]
    return _page(view, kinds, facts, main, [data("atlas", _data(view, spelling))], scripts)


def whole(view: View, kinds: Sequence[Kind], facts: Facts) -> Page:
    """Make the page of a table with all rows, which needs no script; it has links to the tables of all `kinds`."""
    spelling = Spelling(view.lines, view.settings)
    rows = (_row(view, row, spelling) for row in view.rows)
    return _page(view, kinds, facts, [element("main", _table(view, rows))])


def _page(
    view: View,
    kinds: Sequence[Kind],
    facts: Facts,
    main: Sequence[Element],
    values: Sequence[Element] = (),
    scripts: Sequence[str] = (),
) -> Page:
    title = f"{view.kind.title}: {TITLE[0].lower()}{TITLE[1:]}"
    content = (_header(view, kinds, facts), *main, element("footer", element("p", product())), *values)
    return Page(title, content, "atlas", [beside(PACKAGE, "atlas.css"), _labels(view)], scripts)


# ----------------------------------------------------------------------------------------------------- top and filters


def _header(view: View, kinds: Sequence[Kind], facts: Facts) -> Element:
    tabs = (
        element("a", kind.title, href=kind.file, aria_current="page" if kind is view.kind else None) for kind in kinds
    )
    spans = [
        element("span", f"recorded {facts.day}"),
        element("span", f"{counted(len(view.lines), 'case')} in {counted(len(view.rows), 'row')}"),
        element("span", "model ", element("code", facts.digest)),
        element("span", element("a", "all rows on one page", href=WHOLE + view.kind.file)),
        element("span", element("a", facts.parquet, href=facts.parquet)) if facts.parquet else None,
    ]
    colours = ((element("span", class_=f"sign {kind}"), meaning) for kind, meaning in MEANINGS)
    how = element(
        "details",
        element("summary", "How to read it"),
        meanings(colours),
        meanings((column.heading, column.asks) for column in view.kind.columns),
        element(
            "p",
            "Each answer leads to the shortest history that shows it, step by step, or to what was searched."
            " \u201cany\u201d: the setting makes no difference to the answers of this row.",
        ),
        element("p", facts.limits),
    )
    return element(
        "header",
        theme_button(),
        element("h1", TITLE),
        element("nav", *tabs, aria_label="tables"),
        element("p", view.kind.about),
        element("p", *spans, class_="facts"),
        how,
    )


def _filters(view: View, spelling: Spelling) -> Element:
    choices = [
        _choice(
            setting.heading,
            setting.key,
            setting.name,
            [("", "any"), *((str(number), text) for number, text in enumerate(values))],
        )
        for setting, values in zip(view.settings, spelling.order, strict=True)
    ]
    choices.append(_choice("order", "order", "order", [("", "worst first"), ("settings", "by settings")]))
    counts = Counter(row.status for row in view.rows)
    answers = (
        element(
            "label",
            element("input", type="checkbox", name=status.value, checked="", autocomplete="off"),
            element("span", view.label(status)),
            class_=f"answer {COLOURS[status]}",
        )
        for status in Status
        if counts[status]
    )
    line = element(
        "div",
        element("div", *answers, class_="answers"),
        element("output", "", id="shown", aria_live="polite"),
        element("button", "show all", type="button", id="all"),
        class_="line",
    )
    folded = element("details", element("summary", "Filters"), element("div", *choices, class_="choices"))
    return element("form", folded, line, id="filters", hidden="")


def _choice(heading: str, title: str, name: str, options: Sequence[tuple[str, str]]) -> Element:
    listed = (element("option", text, value=value) for value, text in options)
    return element(
        "label", element("span", heading, title=title), element("select", *listed, name=name, autocomplete="off")
    )


# -------------------------------------------------------------------------------------------------- data for the script


def _data(view: View, spelling: Spelling) -> dict[str, object]:
    """Return the data for the script: all texts, links to failures and cells, each only once, and the rows. A row has
    its status, the bit masks of its settings (`Spelling.masks`), and the indices of its texts and cells."""
    # Numbers for values, each value once, in the order in which they are first named.
    texts, marks, cells = (defaultdict[object, int](itertools.count().__next__) for _ in range(3))
    rows = [
        [
            list(Status).index(row.status),
            spelling.masks(row),
            [texts[text] for text in spelling.texts(row)],
            [cells[_plain(cell, marks)] for cell in row.cells],
        ]
        for row in view.rows
    ]
    return {
        "settings": [setting.name for setting in view.settings],
        "answers": [[status.value, view.label(status), COLOURS[status]] for status in Status],
        "texts": list(texts),
        "marks": list(marks),
        "cells": list(cells),
        "rows": rows,
        "cases": _cases(view, spelling),
        "start": {RELEASES.name: "0"},
    }


def _cases(view: View, spelling: Spelling) -> list[list[int]]:
    """Return the combinations of settings that exist as cases. A combination has a bit mask per setting
    (`Spelling.masks`); combinations that differ only in releases are merged."""
    numbers = [{text: number for number, text in enumerate(values)} for values in spelling.order]
    place = view.settings.index(RELEASES)
    merged: dict[tuple[int, ...], int] = {}
    for line in view.lines:
        bits = [1 << number_of[setting.of(line)] for setting, number_of in zip(view.settings, numbers, strict=True)]
        others = tuple(bits[:place] + bits[place + 1 :])
        merged[others] = merged.get(others, 0) | bits[place]
    return [[*others[:place], releases, *others[place:]] for others, releases in merged.items()]


def _plain(cell: Cell, marks: defaultdict[object, int]) -> tuple[object, ...]:
    own, others = (
        tuple(marks[failure.number, address_of(failure.name), failure.title] for failure in map(named, names))
        for names in (cell.failures, cell.beside)
    )
    return CLASSES[cell.words.grave], cell.words.text, cell.address, own, cell.remark, others


# --------------------------------------------------------------------------------------------------------------- table


def _labels(view: View) -> str:
    """The CSS for a narrow window, where each row becomes a card: every cell repeats the heading of its column."""
    headings = [setting.heading for setting in view.settings] + [column.heading for column in view.kind.columns]
    rules = (
        f'td:nth-child({number})::before{{content:"{heading}"}}' for number, heading in enumerate(headings, start=2)
    )
    return f"@media(max-width:899px){{{''.join(rules)}}}"


def _table(view: View, rows: Iterable[Iterable[Content]]) -> Element:
    columns: list[Content] = ["Answer"]
    columns += (element("th", setting.heading, scope="col", title=setting.key, class_="s") for setting in view.settings)
    columns += (element("th", column.heading, scope="col", title=column.asks) for column in view.kind.columns)
    return table(columns, rows)


def _messages() -> Iterator[Element]:
    """Yield the elements in which the script says that the address has an unknown filter, or that no row is left."""
    yield element("p", "", id="unknown", class_="told", role="status", hidden="")
    clear = element("button", "clear the filters", type="button", id="clear")
    yield element(
        "p", element("span", "", id="reasons", role="status"), " ", clear, id="told", class_="told", hidden=""
    )


def _row(view: View, row: Row, spelling: Spelling) -> list[Content]:
    answer = row_heading(view.label(row.status), class_=COLOURS[row.status])
    texts = (element("td", text, class_="s") for text in spelling.texts(row))
    return [answer, *texts, *map(_cell, row.cells)]


def _cell(cell: Cell) -> Element:
    text = element("a", cell.words.text, href=cell.address) if cell.address else cell.words.text
    made = element("td", text, *_links(cell.failures), class_=CLASSES[cell.words.grave])
    if cell.remark or cell.beside:
        made.append(element("small", cell.remark, *_links(cell.beside)))
    return made


def _links(names: Sequence[str]) -> Iterator[Content]:
    for failure in map(named, names):
        yield from (" ", element("a", failure.number, href=address_of(failure.name), title=failure.title))
