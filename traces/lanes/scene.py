"""What a history looks like before anybody draws it: lanes, what stands in them, and what passes between them.

In:  built from a trace (kafka_scene.py, generic_scene.py) or from a file of another tool (generic_scene.py).
Out: plain values, which drawing.py, page.py and sequence.py only read. All text in them is text, never markup.
"""

from __future__ import annotations

from dataclasses import dataclass

REQUEST, RESPONSE, LOST = "request", "response", "lost"
"""Kinds of arrows: one that arrives in this step; one that is under way from now on; one that never arrives."""

FAULT, ELECTION, NOTE = "fault", "election", "note"
"""Kinds of marks."""


@dataclass(frozen=True)
class Cell:
    """One offset of a log: what stands there and in which leader epoch it was written (None: in none).

    `kind` is `record`, `marker`, or `deleted`, `missing` and `free` for an offset that holds nothing.
    """

    text: str
    epoch: int | None = None
    kind: str = "record"


@dataclass(frozen=True)
class Lane:
    """What one column shows after a step.

    `role` is a word for its colour (leader, follower, truncating, down, or none), `cells` a log by offset, `pointers`
    offsets by name (log start, LSO, HW, LEO), `notes` lines of text, `alarms` those that say that something went wrong.
    `characters` is how long a line of them gets.
    """

    title: str = ""
    role: str = ""
    cells: tuple[Cell, ...] = ()
    pointers: tuple[tuple[str, int], ...] = ()
    notes: tuple[str, ...] = ()
    alarms: tuple[str, ...] = ()
    characters: int = 26


@dataclass(frozen=True)
class Arrow:
    """A message between two lanes, which are given by their positions."""

    source: int
    target: int
    text: str
    kind: str = REQUEST


@dataclass(frozen=True)
class Mark:
    """Something that befalls one lane."""

    lane: int
    text: str
    kind: str = NOTE


@dataclass(frozen=True)
class Fate:
    """What has become of a record by now: words, and since which step (0: from the start) each is true."""

    record: str
    words: tuple[tuple[str, int], ...]

    @property
    def text(self) -> str:
        """The words in one line."""
        return ", ".join(word for word, _ in self.words)


@dataclass(frozen=True)
class Moment:
    """A step and the state after it; of state 0, `step` says that it is the first.

    `variables` holds every field of the state, part by part, in the order of the scene's names.
    """

    step: str
    lanes: tuple[Lane, ...]
    arrows: tuple[Arrow, ...] = ()
    marks: tuple[Mark, ...] = ()
    fates: tuple[Fate, ...] = ()
    variables: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True)
class Scene:
    """A whole history."""

    title: str
    subtitle: str
    lanes: tuple[str, ...]
    variables: tuple[str, ...]
    moments: tuple[Moment, ...]
