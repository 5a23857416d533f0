"""A trace as plain data for drawing: lanes, their content, and the messages between them.

In:  built from a trace (kafka/scene.py, drawing/generic_scene.py) or a file of another tool (drawing/generic_scene.py).
Out: plain values, which drawing.py, page.py and sequence.py only read. All text in them is plain text, never markup.
"""

from __future__ import annotations

from dataclasses import dataclass

REQUEST, RESPONSE, LOST = "request", "response", "lost"
"""The kinds of arrows: a message that arrives in this step, a message that arrives later, a lost message."""

FAULT, ELECTION, NOTE = "fault", "election", "note"
"""The kinds of marks."""


@dataclass(frozen=True)
class Cell:
    """One offset of a log: its entry, and the leader epoch in which the entry was written (None: none).

    `kind` is `record`, `marker`, or, for an offset without an entry, `deleted`, `missing` or `free`.
    """

    text: str
    epoch: int | None = None
    kind: str = "record"


@dataclass(frozen=True)
class Lane:
    """The content of one column after a step.

    `role` determines the colour (leader, elected, zombie, follower, truncating, down, or none); `cells` is a log by
    offset; `pointers` are named offsets (log start, LSO, HW, LEO); `notes` are lines of text, and `alarms` are notes
    that report a failure. `characters` is the length of the longest line.
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
    """A message between two lanes, given by their numbers."""

    source: int
    target: int
    text: str
    kind: str = REQUEST


@dataclass(frozen=True)
class Mark:
    """An event in one lane."""

    lane: int
    text: str
    kind: str = NOTE


@dataclass(frozen=True)
class Fate:
    """The fate of a record up to a state: words, each with the step since which it is true (0: from the start)."""

    record: str
    words: tuple[tuple[str, int], ...]

    @property
    def text(self) -> str:
        """The words of the fate in one line."""
        return ", ".join(word for word, _ in self.words)


@dataclass(frozen=True)
class Moment:
    """A step and the state after it; for state 0, `step` describes the initial state. `words` tell the step to readers
    who do not know the model.

    `variables` holds the lines of every field of the state, in the order of the scene's names.
    """

    step: str
    lanes: tuple[Lane, ...]
    arrows: tuple[Arrow, ...] = ()
    marks: tuple[Mark, ...] = ()
    fates: tuple[Fate, ...] = ()
    variables: tuple[tuple[str, ...], ...] = ()
    words: str = ""


@dataclass(frozen=True)
class Scene:
    """A whole trace, ready for drawing. If it is a lasso, its last state is the one of moment `loop`, and it goes on
    from there for ever.

    `title` is the trace's headline, `caption` its property and its verdict, `subtitle` its model and configuration.
    """

    title: str
    caption: str
    subtitle: str
    lanes: tuple[str, ...]
    variables: tuple[str, ...]
    moments: tuple[Moment, ...]
    loop: int | None = None
