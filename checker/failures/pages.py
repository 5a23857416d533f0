"""Writes a page for each failure, with its trace, and an index to send to a colleague.

In:  searched failures, and a folder.
Out: index.html, and NAME.html for each failure. The pages load nothing and send nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from isrcheck.checker.failures.found import Searched
from isrcheck.checker.failures.words import events, history_of, outcome, releases
from isrcheck.models.kafka.failures.catalogue import Failure
from isrcheck.models.messages.errors import UsageError
from isrcheck.traces.drawing.index import Entry, index_of, text_page
from isrcheck.traces.drawing.markup import Content, element
from isrcheck.traces.drawing.pages import page
from isrcheck.traces.explaining.headline import headline
from isrcheck.traces.format.output import put

TITLE = "Known failures of Kafka's replication"
INDEX = "index.html"


def begin(folder: Path) -> None:
    """Create the folder for the pages. Raises UsageError if it has files already."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise UsageError(f"{folder}: has files, which are not overwritten; give a new folder with --page DIR")
    except OSError as error:
        raise UsageError(f"{folder}: {error.strerror}; give another folder with --page DIR") from None


def write(folder: Path, found: Sequence[Searched]) -> None:
    """Write all pages. Raises UsageError."""
    for one in found:
        put(folder / f"{one.failure.name}.html", _page(one).encode())
    put(folder / INDEX, _index(found).encode())


def _page(one: Searched) -> str:
    about = list(_about(one))
    if one.trace is not None:
        return page(one.trace, about, INDEX)
    return text_page(one.failure.title, about)


def _about(one: Searched) -> Iterator[Content]:
    failure = one.failure
    known_as = "".join(f", {name}" for name in failure.known_as)
    yield element("h2", f"{failure.number}: {failure.title}")
    yield element("p", f"Releases: {releases(failure)}{known_as}.")
    yield element("p", failure.story)
    if failure.history is None:
        yield element("p", f"Not searched: {failure.why_not}")
    else:
        needs = "" if one.happens is None else f" It needs: {events(one.happens)}."
        yield element("p", f"Shortest history: {history_of(one)}.{needs}")
    if one.ended:
        yield element("h2", "What ends it")
        yield element("ul", *(element("li", text) for text in _ends(one)))
    yield element("h2", "What to do")
    yield element("p", failure.advice)


def _ends(one: Searched) -> Iterator[str]:
    for ended in one.ended:
        says = "still fails" if ended.fails else outcome(ended)
        yield f"{ended.change.what} ({ended.change.change}): {says}"


def _index(found: Sequence[Searched]) -> str:
    about = "Each failure is searched with its mistake, and with each change that ends it, within the same bounds."
    return index_of(TITLE, [element("p", about)], [_entry(one) for one in found])


def _entry(one: Searched) -> Entry:
    failure: Failure = one.failure
    told = [] if one.trace is None else [headline(one.trace)]
    needs = "" if one.happens is None else f"needs {events(one.happens)}"
    facts = (*told, f"releases: {releases(failure)}", history_of(one), needs)
    verdict = "" if one.trace is None else one.trace.verdict or ""
    return Entry(failure.title, f"{failure.name}.html", verdict, failure.number, facts)
