"""Reads what Kafka's developers need to know of a failure: the part `[report]` of its file.

In:  a `Failure` of the library; README.md beside this module describes the keys of the part.
Out: a `Report`, from which `conform report` makes the folder for an issue of Kafka.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from isrcheck.models.kafka.failures.catalogue import Failure, History, failures, history_of, paragraph


@dataclass(frozen=True)
class Search:
    """A search with a repair that broke no promise, or only those that `breaks` names.

    `what` says in words which repair, and in which bounds; `protocol` and `configuration` are those of the search.
    `states` are the distinct states, `depth` the greatest number of steps to which all of them were judged;
    `exhausted` says that no state was left, so that longer behaviours do not fail either.
    """

    what: str
    protocol: str
    configuration: str
    states: int
    depth: int
    exhausted: bool
    breaks: tuple[str, ...] = ()


@dataclass(frozen=True)
class Recording:
    """A recorded run: a file or folder below conformance/recordings, and the generation with which it is followed."""

    name: str
    protocol: str


@dataclass(frozen=True)
class Evidence:
    """Runs of a real Kafka: its release, what was done and seen, how often, and with which controls."""

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
    """What an issue of Kafka says of a failure, beside what the library says of it.

    In the texts, `backticks` enclose names of code. `summary` is the issue's one line, `severity` its priority with the
    reason, `present` says in which sources the cause was read, `sees` what an operator sees. `conditions` have to be
    met for the failure, and `change` is the smallest repair of the source. `unsearched` is what the searches with it
    leave out, and `proved` what is proved with it for any number of steps. `history` is the history that is shown, and
    `cause` says which of its steps goes wrong, and why.
    """

    summary: str
    severity: str
    present: str
    sees: str
    conditions: tuple[str, ...]
    change: str
    unsearched: str
    proved: str
    cause: str
    history: History
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
        searches=tuple(Search(**one | {"breaks": tuple(one.get("breaks", ()))}) for one in content.pop("search", ())),
        evidence=tuple(
            Evidence(
                one["kafka"],
                paragraph(one["what"]),
                tuple(Recording(**recording) for recording in one.get("recordings", ())),
            )
            for one in content.pop("evidence", ())
        ),
        **content,  # an unknown key is an error
    )


def reported() -> Mapping[str, Failure]:
    """Return the failures that have a report, by their names, in the order of their numbers."""
    return {one.name: one for one in failures() if one.report}
