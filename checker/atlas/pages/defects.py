"""The pages of known failures, as the library has them: nothing is searched.

In:  the addresses of failures (models/kafka/failures), as the table has them.
Out: a page for each, with its recorded history taken again in plain Python.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath

from isrcheck.checker.atlas.pages.proofs import INDEX
from isrcheck.checker.failures.pages import page_of
from isrcheck.checker.questions.finding import History
from isrcheck.checker.questions.history import trace_of
from isrcheck.models.kafka.failures.catalogue import Change, Failure, named
from isrcheck.traces.format.trace import Trace
from isrcheck.traces.pages.shell import Page

DEFECTS = "defects"
"""The folder of these pages."""


def address(name: str) -> str:
    """The address of the page of a failure."""
    return f"{DEFECTS}/{name}.html"


def pages(addresses: Sequence[str]) -> Iterator[tuple[str, Page]]:
    """Yield each of these pages with its address. Raises UsageError if a step of a history is impossible."""
    for one in addresses:
        failure = named(PurePosixPath(one).stem)
        yield one, page_of(failure, _trace(failure), _told(failure), _ends(failure), INDEX)


def _trace(failure: Failure) -> Trace | None:
    one = failure.history
    if one is None:
        return None
    what = one.model, one.protocol, one.configuration, one.property_name, one.verdict
    return trace_of(History(*what, one.start, one.steps, one.loop))


def _told(failure: Failure) -> list[str]:
    one = failure.history
    return [] if one is None else [f"{one.property_name} {one.verdict} at step {one.depth}"]


def _ends(failure: Failure) -> list[str]:
    return [_end(one) for one in failure.changes]


def _end(one: Change) -> str:
    how_far = "to the end" if one.explored is None else f"to depth {one.explored}"
    return f"{one.what} ({one.change}): not found, {how_far}"
