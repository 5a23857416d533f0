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
from isrcheck.models.version import product
from isrcheck.traces.drawing.markup import Content, Element, append, as_html, element, page_head
from isrcheck.traces.drawing.page import page
from isrcheck.traces.drawing.theme import adaptive_stylesheet
from isrcheck.traces.format.output import put

TITLE = "Known failures of Kafka's replication"
STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 76rem; margin: 2rem auto; padding: 0 1rem;
  background: var(--paper); color: var(--ink); }
table { border-collapse: collapse; }
td, th { text-align: left; vertical-align: top; padding: .35rem .8rem .35rem 0; border-bottom: 1px solid var(--line); }
td:first-child { white-space: nowrap; }
a { color: inherit; }
code { overflow-wrap: anywhere; }
"""


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
    put(folder / "index.html", _index(found).encode())


def _page(one: Searched) -> str:
    about = list(_about(one))
    if one.trace is not None:
        return page(one.trace, about)
    return _plain(one.failure.title, about)


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
    body = element("tbody", *(_row(one) for one in found))
    titles = element(
        "tr", *(element("th", title) for title in ("", "Failure", "Releases", "Shortest history", "Needs"))
    )
    about = "Each failure is searched with its mistake, and with each change that ends it, within the same bounds."
    return _plain(TITLE, [element("p", f"{about} {product()}"), element("table", element("thead", titles), body)])


def _row(one: Searched) -> Element:
    failure: Failure = one.failure
    name = element("a", failure.title, href=f"{failure.name}.html")
    needs = "" if one.happens is None else events(one.happens)
    return element(
        "tr",
        element("td", failure.number),
        element("td", name),
        element("td", releases(failure)),
        element("td", history_of(one)),
        element("td", needs),
    )


def _plain(title: str, content: Sequence[Content]) -> str:
    body = element("body", element("h1", title))
    append(body, *content)
    root = element("html", page_head(title, adaptive_stylesheet() + STYLE), body, lang="en")
    return as_html(root)
