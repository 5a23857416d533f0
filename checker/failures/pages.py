"""Writes a page for each failure, with its trace, and an index to send to a colleague.

In:  searched failures, and a folder.
Out: index.html, and NAME.html for each failure. The pages load nothing and send nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from isrcheck.checker.failures.searched import Searched, events, history_of, outcome
from isrcheck.models.kafka.failures.catalogue import Failure
from isrcheck.traces.drawing.page import page
from isrcheck.traces.explaining.cause import rarity
from isrcheck.traces.explaining.presentation import headline
from isrcheck.traces.format.trace import Trace
from isrcheck.traces.pages import folder as pages
from isrcheck.traces.pages.folder import INDEX, alone, write_all
from isrcheck.traces.pages.markup import Content, element
from isrcheck.traces.pages.parts import Entry, index_of
from isrcheck.traces.pages.shell import Page, text_page

TITLE = "Known failures of Kafka's replication"


def begin(folder: Path) -> None:
    """Create the folder for the pages. Raises UsageError if it has files already."""
    pages.begin(folder, "with --page DIR")


def write(folder: Path, failures: Sequence[Searched]) -> None:
    """Write all pages. Raises UsageError if a page cannot be written."""
    write_all(
        folder,
        alone({**{f"{searched.failure.name}.html": _page(searched) for searched in failures}, INDEX: _index(failures)}),
    )


def _page(searched: Searched) -> Page:
    history = [] if searched.failure.history is None else [history_of(searched)]
    return page_of(searched.failure, searched.trace, history, list(_ends(searched)), INDEX)


def page_of(failure: Failure, trace: Trace | None, history: Sequence[str], ends: Sequence[str], index: str) -> Page:
    """Return the page of a failure; `trace` shows its shortest history (the steps to the failure), and may be None.

    `history` has texts about this shortest history, and `ends` has a text for each change that ends the failure;
    `index` is the address of the page that lists all failures.
    """
    about = list(_about(failure, trace, history, ends))
    return text_page(failure.title, about) if trace is None else page(trace, about, index)


def _about(failure: Failure, trace: Trace | None, history: Sequence[str], ends: Sequence[str]) -> Iterator[Content]:
    known_as = "".join(f", {name}" for name in failure.known_as)
    yield element("h2", f"{failure.number}: {failure.title}")
    yield element("p", f"Releases: {failure.releases}{known_as}.")
    yield element("p", failure.story)
    if failure.history is None:
        yield element("p", f"Not searched: {failure.why_not}")
    else:
        needs = "" if trace is None else f" It needs: {events(rarity(trace))}."
        yield element("p", f"Shortest history: {', '.join(history)}.{needs}")
    if ends:
        yield element("h2", "What ends it")
        yield element("ul", *(element("li", text) for text in ends))
    yield element("h2", "What to do")
    yield element("p", failure.advice)


def _ends(searched: Searched) -> Iterator[str]:
    for ended in searched.ended:
        says = "still fails" if ended.fails else outcome(ended)
        yield f"{ended.change.what} ({ended.change.change}): {says}"


def _index(failures: Sequence[Searched]) -> Page:
    about = "Each failure is searched with its mistake, and with each change that ends it, within the same bounds."
    return index_of(TITLE, [element("p", about)], [_entry(searched) for searched in failures])


def _entry(searched: Searched) -> Entry:
    failure: Failure = searched.failure
    headlines = [] if searched.trace is None else [headline(searched.trace)]
    needs = "" if searched.happens is None else f"needs {events(searched.happens)}"
    facts = (*headlines, f"releases: {failure.releases}", history_of(searched), needs)
    verdict = "" if searched.trace is None else searched.trace.verdict or ""
    return Entry(failure.title, f"{failure.name}.html", verdict, failure.number, facts)
