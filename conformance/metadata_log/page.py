"""Makes a page from a history: one table for each partition, with a filter, in one self-contained file.

The page is no page of a trace: a trace has states of a model, with the log of each replica, and a metadata log has no
logs. `conform follow` finds the states of the model that explain a history, and `trace page` shows them.
"""

from __future__ import annotations

from collections.abc import Sequence

from isrcheck.commands.program import product
from isrcheck.conformance.metadata_log.history import History, Key
from isrcheck.conformance.metadata_log.report import (
    chosen,
    count,
    event_rows,
    fields_changed,
    is_notable,
    rows_of,
    title_of,
)
from isrcheck.conformance.metadata_log.states import Change, spelled_name
from isrcheck.traces.pages.markup import Element, beside, element
from isrcheck.traces.pages.parts import meanings, row_heading, table
from isrcheck.traces.pages.shell import COLOURS, Page, theme_button

PACKAGE = "isrcheck.conformance.metadata_log"
MOST_PARTITIONS = 1000
"""With more partitions than this, the page has only those that had no leader or an unclean election, and not more."""

MOST_OPEN = 5
"""So many partitions are unfolded at first, those first that had no leader or an unclean election."""

EPOCHS = sum(name[0] == "e" and name[1:].isdigit() for name in COLOURS)
"""The number of colours of leader epochs."""

MEANINGS = (
    (element("span", "leader", class_="e0"), "a colour for each leader epoch; - stands for no leader or no broker"),
    (element("span", "value", class_="changed"), "the change has altered this value"),
    (element("span", "row", class_="leaderless"), "the partition has no leader"),
    (element("span", "row", class_="unclean"), "an unclean election: acknowledged records may be lost"),
    ("?", "the files do not tell"),
)


def page_of(history: History, closing: Sequence[str]) -> Page:
    """The page of a history. `closing` are the last lines of the report: what was read, remarks, and the verdict."""
    keys = chosen(history, MOST_PARTITIONS)
    notable = [key for key in keys if any(map(is_notable, history.changes[key]))]
    is_open = {*notable[:MOST_OPEN]} or {*keys[:MOST_OPEN]}
    left_out = len(history.changes) - len(keys)
    return Page(
        "History of partitions",
        (
            theme_button(),
            element("h1", "History of leader, ISR, ELR and epochs"),
            *(element("p", line) for line in closing),
            element("p", f"{left_out:,} more partitions are not on this page: name them with --topic or --partition.")
            if left_out
            else None,
            meanings(MEANINGS, class_="legend"),
            _filters(),
            element("main", *(_partition(history, key, key in is_open) for key in keys)),
            _events(history),
            element("p", product(), class_="product"),
        ),
        kind="history",
        styles=[beside(PACKAGE, "page.css")],
        scripts=[beside(PACKAGE, "page.js")],
    )


def _filters() -> Element:
    """The form that filters the partitions; without a script, which shows the form, all partitions are there."""
    return element(
        "form",
        element("label", "Topic or partition ", element("input", id="name", type="search", autocomplete="off")),
        element("label", element("input", id="notable", type="checkbox"), " without a leader, or unclean"),
        element("output", id="shown"),
        element("span", "/: filter, n and p: next and previous marked row", class_="keys"),
        id="filters",
        hidden="",
    )


def _partition(history: History, key: Key, is_open: bool) -> Element:
    changes = history.changes[key]
    name = f"{history.name_of(key[0])}-{key[1]}"
    return element(
        "details",
        element("summary", title_of(history, key), *_marks(changes)),
        element("div", _table(changes), class_="wide", tabindex="0"),
        data_name=name,
        data_notable="" if any(map(is_notable, changes)) else None,
        open="" if is_open else None,
    )


def _marks(changes: Sequence[Change]) -> list[Element]:
    """The signs after the name of a partition: how often it was elected uncleanly, and was left without a leader."""
    unclean = sum(change.is_unclean for change in changes)
    leaderless = sum(is_notable(change) and not change.is_unclean for change in changes)
    signs = [
        element("span", count(unclean, "unclean election"), class_="sign unclean") if unclean else None,
        element("span", f"{count(leaderless, 'state')} without a leader", class_="sign leaderless")
        if leaderless
        else None,
    ]
    return [sign for sign in signs if sign is not None]


def _table(changes: Sequence[Change]) -> Element:
    headings, *rows = rows_of(changes)
    return table(headings, [_cells(headings, row, change) for row, change in zip(rows, changes, strict=True)])


def _cells(headings: Sequence[str], row: Sequence[str], change: Change) -> list[Element]:
    """The cells of a state. The first one has the class of the row: a marked row is found by it."""
    changed = {spelled_name(name) for name in fields_changed(change)}
    state = "unclean" if change.is_unclean else "leaderless" if is_notable(change) else None
    cells = [row_heading(row[0], class_=state, tabindex="-1" if state else None)]
    for heading, text in zip(headings[1:], row[1:], strict=True):
        classes = ["changed"] if heading in changed else []
        if heading == "leader" and change.state.leader_epoch is not None and text not in "-?":
            classes.append(f"e{change.state.leader_epoch % EPOCHS}")
        cells.append(element("td", text, class_=" ".join(classes) or None))
    return cells


def _events(history: History) -> Element | None:
    if not history.events:
        return None
    headings, *rows = event_rows(history)
    return element(
        "details",
        element("summary", "Brokers, topics, settings and features"),
        element("div", table(headings, rows), class_="wide", tabindex="0"),
    )
