"""Reads the library of known failures.

In:  the files FOLDER/NAME.toml beside this module; README.md beside it describes their keys.
Out: a `Failure` for each file, in the order of their numbers.

A failure has a history that is searched, or the reason for which no model expresses it. A `Change` is a repair of Kafka
or a setting of an operator; with it, and within the same bounds otherwise, the failure is gone. `Bounds` are those in
which other generations show the failure.
"""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from isrcheck.models import registry
from isrcheck.models.language.model import Instance, parse, spell
from isrcheck.models.messages import escaped

FOLDER = Path(__file__).parent
EXHAUSTED = "exhausted"
NO_RELEASE = "none"
MOST_NAMED = 3
"""The most names that are proposed in place of an unknown one."""


class ChangeKind(Enum):
    """Who makes a change: Kafka's developers, or whoever runs the cluster."""

    REPAIR = "repair"
    SETTING = "setting"


@dataclass(frozen=True)
class Change:
    """A change with which the failure is gone.

    `what` says it in words, `change` in entries of the model: `protocol=2.1`, or `acks=all min_insync_replicas=2`.
    `explored` is the depth that was searched, None if the whole state space was.
    """

    kind: ChangeKind
    what: str
    change: str
    explored: int | None


@dataclass(frozen=True)
class Bounds:
    """Bounds in which the generation `protocol`, and those after it with the same controller, show the failure. Several
    of one generation are searched one after the other.

    `explored` is the depth to which a search goes that does not find it, None if it goes to the end.
    """

    protocol: str
    configuration: str
    explored: int | None = None


@dataclass(frozen=True)
class History:
    """The shortest history of a failure, as the steps of a model: enough to take every step again in plain Python.

    A search may find another history of the same length.
    """

    model: str
    protocol: str
    configuration: str
    """Entries of the model as on the command line: `acks=all crashes=1`."""
    property_name: str
    verdict: str
    start: int
    """The number of the initial state."""
    steps: tuple[str, ...]
    loop: int | None = None
    """The step to which a behaviour that goes on for ever returns (the last one: it stays there)."""

    @property
    def depth(self) -> int:
        """The number of steps."""
        return len(self.steps)

    @cached_property
    def instance(self) -> Instance:
        """The instance that is searched."""
        return self._instance({})

    def changed(self, change: str) -> Instance:
        """The instance with a change. All bounds stay: those of another generation do not count here."""
        return self._instance(bounds_of(self.instance) | pairs(change))

    def _instance(self, changed: Mapping[str, str]) -> Instance:
        model, _ = registry.load(self.model)
        texts = pairs(self.configuration) | changed
        protocol = texts.pop("protocol", self.protocol)
        return model.instance(protocol, {name: parse(name, model.entries[name], text) for name, text in texts.items()})


@dataclass(frozen=True)
class Failure:
    """A known failure.

    `since` is the first release that has it; it is empty if every release has it, because it depends on the
    configuration alone, and `NO_RELEASE` if it was repaired before a release. `repaired` are the first releases without
    it, one for each branch that was repaired, oldest first. A cluster of such a release can still have the failure, or
    not yet, because it runs an older protocol, or another controller: `first_generation` is the first generation that
    has it (empty: every one), of `needs` (`ELR=on`) the cluster has to have one (empty: nothing is needed), and with
    one of `remains_with` (`protocol=2.8`, `TRUNC=HW`) the repair is not at work.
    `known_as` are KIPs, JIRA issues and other names. `history` is None if no model expresses the failure; then
    `why_not` is the reason. `report` is the part of the file for Kafka's developers, which report.py reads.
    """

    name: str
    number: str
    title: str
    known_as: tuple[str, ...]
    since: str
    repaired: tuple[str, ...]
    story: str
    advice: str
    history: History | None
    changes: tuple[Change, ...]
    why_not: str
    bounds: tuple[Bounds, ...] = ()
    first_generation: str = ""
    needs: tuple[str, ...] = ()
    remains_with: tuple[str, ...] = ()
    report: Mapping[str, Any] = field(default_factory=dict, hash=False)

    @property
    def releases(self) -> str:
        """The releases that have the failure, in words."""
        if self.since == NO_RELEASE:
            return "none"
        if not self.since:
            return "all"
        return f"{self.since} to " + (f"before {' / '.join(self.repaired)}" if self.repaired else "today")

    def is_called(self, text: str) -> bool:
        """Whether a user may mean this failure: by its name, its number, or a name by which others know it."""
        return text.casefold() in {one.casefold() for one in (self.name, self.number, *self.known_as)}


@cache
def failures() -> tuple[Failure, ...]:
    """All known failures, in the order of their numbers."""
    return tuple(sorted(map(_read, FOLDER.glob("*/*.toml")), key=lambda one: _position(one.number)))


@cache
def named(name: str) -> Failure:
    """The known failure with this name. Raises StopIteration if there is none."""
    return next(one for one in failures() if one.name == name)


def refusal(word: str) -> str:
    """Say that no known failure is called so, which names are like it, and how all of them are listed."""
    names = dict.fromkeys(name for one in failures() for name in (one.number, one.name, *one.known_as))
    close = difflib.get_close_matches(word, names, n=MOST_NAMED)
    like = f"; similar names: {', '.join(close)}" if close else ""
    return f"no known failure {escaped(word)}{like}; check failures lists them all"


def pairs(text: str) -> dict[str, str]:
    """The entries of `name=value name=value`."""
    return dict(pair.split("=", 1) for pair in text.split())


def bounds_of(instance: Instance) -> dict[str, str]:
    """All entries but the switches, as text: with another generation, they keep the bounds as they are."""
    return {
        name: spell(entry, getattr(instance.configuration, name))
        for name, entry in instance.model.entries.items()
        if not name.isupper()
    }


def _position(number: str) -> tuple[tuple[int, str], ...]:
    """Sort 8.7a after 8.7 and before 8.10."""
    parts = []
    for part in number.split("."):
        digits = part.rstrip("abcdefghijklmnopqrstuvwxyz")
        parts.append((int(digits or "0"), part[len(digits) :]))
    return tuple(parts)


def _read(path: Path) -> Failure:
    content: dict[str, Any] = tomllib.loads(path.read_text(encoding="utf-8"))
    history = content.pop("history", None)
    return Failure(
        name=path.stem,
        number=content.pop("number"),
        title=content.pop("title"),
        known_as=tuple(content.pop("known_as", ())),
        since=content.pop("since", ""),
        repaired=tuple(content.pop("repaired", ())),
        story=paragraph(content.pop("story")),
        advice=paragraph(content.pop("advice")),
        why_not=paragraph(content.pop("why_not", "")),
        history=None if history is None else history_of(history),
        changes=tuple(_change(kind, one) for kind in ChangeKind for one in content.pop(kind.value, ())),
        bounds=tuple(Bounds(**one) for one in content.pop("bounds", ())),
        needs=tuple(content.pop("needs", ())),
        remains_with=tuple(content.pop("remains_with", ())),
        **content,  # an unknown key is an error
    )


def history_of(content: Mapping[str, Any]) -> History:
    """Return the history that a part `history` of a file describes."""
    named = {("property_name" if key == "property" else key): value for key, value in content.items()}
    return History(**({"model": "kafka", "configuration": "", "start": 0} | named | {"steps": tuple(content["steps"])}))


def _change(kind: ChangeKind, one: Mapping[str, Any]) -> Change:
    explored = one["explored"]
    return Change(kind, one["what"], one["change"], None if explored == EXHAUSTED else int(explored))


def paragraph(text: str) -> str:
    """Return the text as one line, however the file wraps it."""
    return " ".join(text.split())
