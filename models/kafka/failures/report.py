"""Reads what Kafka's developers need to know of a failure: the part `[report]` of its file.

README.md beside this module describes the keys. `conform report` makes the folder for an issue of Kafka from a
`Report`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from isrcheck.models.kafka.failures.catalogue import Failure, History, failures, history_of, paragraph


@dataclass(frozen=True)
class Search:
    """A search of the model with a repair, in which no promise was broken, or only the promises in `breaks`."""

    what: str
    """The repair and the bounds, in words."""
    protocol: str
    configuration: str
    states: int
    """The number of distinct states that the search visited."""
    depth: int
    """The greatest number of steps to which all states were judged."""
    exhausted: bool
    """Whether the whole state space was searched, so that longer behaviours do not fail either."""
    breaks: tuple[str, ...] = ()


@dataclass(frozen=True)
class Recording:
    """A recorded run: a file or folder below conformance/recordings, and the generation with which it is followed."""

    name: str
    protocol: str


@dataclass(frozen=True)
class Evidence:
    """Runs of a real Kafka: its release, what was done and seen, how often, and the control runs for comparison."""

    kafka: str
    what: str
    recordings: tuple[Recording, ...] = ()


@dataclass(frozen=True)
class Sketch:
    """A test that fails today: the file of Kafka's source to which it belongs, its name there, and its text."""

    file: str
    name: str
    text: str


@dataclass(frozen=True)
class Report:
    """What an issue in Kafka's JIRA says about a failure, in addition to the failure's entry in the library. In the
    texts, `backticks` enclose names from the code."""

    summary: str
    """The summary of the issue, in one line."""
    severity: str
    """The priority of the issue, with the reason."""
    present: str
    """The sources in which the cause was read."""
    sees: str
    """The failure as an operator sees it."""
    conditions: tuple[str, ...]
    """The conditions of the failure."""
    change: str
    """The smallest repair of the source."""
    unsearched: str
    """The part that the searches with the repair leave out."""
    proved: str
    """The promises that are proved with the repair for any number of steps."""
    cause: str
    """The step of the history that goes wrong, and why."""
    history: History
    """The history that is shown."""
    sketch: Sketch
    searches: tuple[Search, ...]
    evidence: tuple[Evidence, ...]


def report_of(failure: Failure) -> Report | None:
    """Return the report of a failure; None if its file has no part `[report]`."""
    if not failure.report:
        return None
    content: dict[str, Any] = dict(failure.report)
    history = history_of(content.pop("history")) if "history" in content else failure.history
    assert history is not None, f"{failure.name}: a report needs a history"
    texts = {
        name: paragraph(content.pop(name)) for name in ("summary", "severity", "present", "sees", "change", "cause")
    }
    texts |= {name: paragraph(content.pop(name, "")) for name in ("unsearched", "proved")}
    return Report(
        **texts,
        conditions=tuple(map(paragraph, content.pop("conditions"))),
        history=history,
        sketch=Sketch(**content.pop("sketch")),
        searches=tuple(
            Search(**part | {"breaks": tuple(part.get("breaks", ()))}) for part in content.pop("search", ())
        ),
        evidence=tuple(
            Evidence(
                part["kafka"],
                paragraph(part["what"]),
                tuple(Recording(**recording) for recording in part.get("recordings", ())),
            )
            for part in content.pop("evidence", ())
        ),
        **content,  # an unknown key is an error
    )


def reported() -> Mapping[str, Failure]:
    """Return the failures that have a report, by their names, in the order of their numbers."""
    return {failure.name: failure for failure in failures() if failure.report}
