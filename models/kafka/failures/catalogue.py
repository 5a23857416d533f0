"""Reads the library of known failures.

Each file FOLDER/NAME.toml beside this module is a `Failure`; README.md beside it describes the keys. A failure has a
history that is searched, or the reason why no model expresses it.
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
"""The most names of failures that are proposed in place of an unknown name."""


class ChangeKind(Enum):
    """Who makes a change: Kafka's developers, or the operator of the cluster."""

    REPAIR = "repair"
    SETTING = "setting"


class During(Enum):
    """A change of a running cluster during which a failure happens."""

    CHANGED_MINIMUM = "min.insync.replicas is changed"
    RAISED_MINIMUM = "min.insync.replicas is raised"


@dataclass(frozen=True)
class Change:
    """A repair of Kafka, or a setting that an operator can change. With the change, the failure does not occur within
    the bounds of its history."""

    kind: ChangeKind
    what: str
    """The description of the change in words."""
    change: str
    """The change as entries of the model: `protocol=2.1`, or `acks=all min_insync_replicas=2`."""
    explored: int | None
    """The depth to which the model with the change was searched; None if its whole state space was searched."""


@dataclass(frozen=True)
class Bounds:
    """Bounds in which a search of the generation `protocol`, or of a later one with the same controller, finds the
    failure. Several bounds of one generation are searched one after the other."""

    protocol: str
    configuration: str
    explored: int | None = None
    """The depth to which the model was searched if the failure does not occur; None if its whole state space was
    searched."""


@dataclass(frozen=True)
class History:
    """The shortest history of a failure: a model, its configuration, and the steps, which plain Python can take again.

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
    """For a behaviour that goes on for ever, the step to which it returns (the last step if it stays there)."""

    @property
    def depth(self) -> int:
        """The number of steps of the history."""
        return len(self.steps)

    @cached_property
    def instance(self) -> Instance:
        """The instance of the model in which the history is searched."""
        return self._instance({})

    def changed(self, change: str) -> Instance:
        """Return the instance with `change`, a text such as `name=value name=value`. The bounds of the history stay,
        even if `change` names another generation."""
        return self._instance(bounds_of(self.instance) | pairs(change))

    def _instance(self, changed: Mapping[str, str]) -> Instance:
        model, _ = registry.load(self.model)
        texts = pairs(self.configuration) | changed
        protocol = texts.pop("protocol", self.protocol)
        return model.instance(protocol, {name: parse(name, model.entries[name], text) for name, text in texts.items()})


@dataclass(frozen=True)
class Failure:
    """A known failure.

    Not every cluster of an affected release has the failure, and a cluster of a repaired release may still have it,
    because it runs an older protocol, or another controller: see `first_generation`, `needs` and `remains_with`.
    """

    name: str
    number: str
    title: str
    known_as: tuple[str, ...]
    """Other names of the failure: KIPs, JIRA issues and the like."""
    since: str
    """The first release that has the failure. Empty if every release has it, because it depends on the configuration
    alone; `NO_RELEASE` if it was repaired before a release."""
    repaired: tuple[str, ...]
    """The first releases without the failure, one for each branch that was repaired, oldest first."""
    story: str
    advice: str
    history: History | None
    """The shortest history of the failure; None if no model expresses the failure."""
    changes: tuple[Change, ...]
    why_not: str
    """The reason why no model expresses it; otherwise empty."""
    bounds: tuple[Bounds, ...] = ()
    """The bounds in which other generations show the failure."""
    first_generation: str = ""
    """The first generation that has the failure; empty if every generation has it."""
    needs: tuple[str, ...] = ()
    """Values such as `ELR=on`, at least one of which the cluster must have for the failure; empty if the failure needs
    none."""
    remains_with: tuple[str, ...] = ()
    """Values such as `protocol=2.8` or `TRUNC=HW`, with which the repair has no effect."""
    during: During | None = None
    """The change of the running cluster without which the failure does not happen; None if it needs no such change."""
    report: Mapping[str, Any] = field(default_factory=dict, hash=False)
    """The part of the file for Kafka's developers, which report.py reads."""

    @property
    def releases(self) -> str:
        """The releases that have the failure, in words."""
        if self.since == NO_RELEASE:
            return "none"
        if not self.since:
            return "all"
        return f"{self.since} to " + (f"before {' / '.join(self.repaired)}" if self.repaired else "today")

    def is_called(self, text: str) -> bool:
        """Whether `text` is the failure's name, its number, or another name of the failure; case does not matter."""
        return text.casefold() in {name.casefold() for name in (self.name, self.number, *self.known_as)}


@cache
def failures() -> tuple[Failure, ...]:
    """Return all known failures, in the order of their numbers."""
    return tuple(sorted(map(_read, FOLDER.glob("*/*.toml")), key=lambda failure: _position(failure.number)))


@cache
def named(name: str) -> Failure:
    """Return the known failure with this name. Raises StopIteration for an unknown name."""
    return next(failure for failure in failures() if failure.name == name)


def refusal(word: str) -> str:
    """Return the message for a word that names no known failure: similar names, and the command that lists all
    failures."""
    names = dict.fromkeys(name for failure in failures() for name in (failure.number, failure.name, *failure.known_as))
    close = difflib.get_close_matches(word, names, n=MOST_NAMED)
    like = f"; similar names: {', '.join(close)}" if close else ""
    return f"no known failure {escaped(word)}{like}; check failures lists them all"


def pairs(text: str) -> dict[str, str]:
    """Return the names and values in a text of the form `name=value name=value`."""
    return dict(pair.split("=", 1) for pair in text.split())


def bounds_of(instance: Instance) -> dict[str, str]:
    """Return the instance's bounds, as text by name: all entries but the switches. They fit other generations, too."""
    return {
        name: spell(entry, getattr(instance.configuration, name))
        for name, entry in instance.model.entries.items()
        if not name.isupper()
    }


def _position(number: str) -> tuple[tuple[int, str], ...]:
    """Return a key that sorts the number 8.7a after 8.7 and before 8.10."""
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
        changes=tuple(_change(kind, part) for kind in ChangeKind for part in content.pop(kind.value, ())),
        bounds=tuple(Bounds(**part) for part in content.pop("bounds", ())),
        needs=tuple(content.pop("needs", ())),
        remains_with=tuple(content.pop("remains_with", ())),
        during=During(during) if (during := content.pop("during", None)) else None,
        **content,  # an unknown key is an error
    )


def history_of(content: Mapping[str, Any]) -> History:
    """Return the history that `content`, the part `history` of a failure's file, describes."""
    named = {("property_name" if key == "property" else key): value for key, value in content.items()}
    return History(**({"model": "kafka", "configuration": "", "start": 0} | named | {"steps": tuple(content["steps"])}))


def _change(kind: ChangeKind, content: Mapping[str, Any]) -> Change:
    explored = content["explored"]
    return Change(kind, content["what"], content["change"], None if explored == EXHAUSTED else int(explored))


def paragraph(text: str) -> str:
    """Return the text, which may be wrapped into lines in the file, as one line."""
    return " ".join(text.split())
