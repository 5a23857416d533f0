"""A scene as a sequence diagram in the language of Mermaid or PlantUML, for documents and tickets.

Everything in a name or a value that the language would read as a command is escaped.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import zip_longest

from isrcheck.traces.lanes.scene import FAULT, LOST, RESPONSE, Lane, Scene

MERMAID_ARROWS = {RESPONSE: "--)", LOST: "--x"}
PLANTUML_ARROWS = {RESPONSE: "-->>", LOST: "-->x"}


def mermaid(scene: Scene) -> str:
    """Return the trace as a `sequenceDiagram` of Mermaid."""
    lines = ["sequenceDiagram", f"  title {_for_mermaid(scene.title)}"]
    lines += [f"  participant p{number} as {_for_mermaid(name)}" for number, name in enumerate(scene.lanes)]
    last = len(scene.lanes) - 1
    for position, moment in enumerate(scene.moments):
        over = f"p0,p{last}" if last else "p0"
        lines.append(f"  Note over {over}: {position} {_for_mermaid(moment.step)}")
        lines += [
            f"  p{arrow.source}{MERMAID_ARROWS.get(arrow.kind, '->>')}p{arrow.target}: {_for_mermaid(arrow.text)}"
            for arrow in moment.arrows
        ]
        lines += [f"  Note over p{lane}: {_for_mermaid(note)}" for lane, note in _notes(scene, position)]
        # The steps from the next one on are repeated for ever.
        lines += ["  loop for ever"] if _opens(scene, position) else []
    lines += ["  end"] if _opens(scene, scene.loop) else []
    return "\n".join(lines) + "\n"


def plantuml(scene: Scene) -> str:
    """Return the trace as a sequence diagram of PlantUML."""
    lines = ["@startuml", "skinparam sequenceMessageAlign center", f"title {_for_plantuml(scene.title)}"]
    lines += [f'participant "{_for_plantuml(name)}" as p{number}' for number, name in enumerate(scene.lanes)]
    for position, moment in enumerate(scene.moments):
        lines.append(f"== {position} {_for_plantuml(moment.step)} ==")
        lines += [
            f"p{arrow.source} {PLANTUML_ARROWS.get(arrow.kind, '->')} p{arrow.target} : {_for_plantuml(arrow.text)}"
            for arrow in moment.arrows
        ]
        lines += [f"note over p{lane} : {_for_plantuml(note)}" for lane, note in _notes(scene, position)]
        lines += ["loop for ever"] if _opens(scene, position) else []
    lines += ["end"] if _opens(scene, scene.loop) else []
    return "\n".join([*lines, "@enduml", ""])


def _opens(scene: Scene, position: int | None) -> bool:
    """Whether the loop of a lasso begins at `position`: the steps after this position are repeated for ever."""
    return position is not None and position == scene.loop and position < len(scene.moments) - 1


def _notes(scene: Scene, position: int) -> list[tuple[int, str]]:
    """The notes of a step, each with its lane: the events in the lane, and the lane's content if it changed."""
    moment = scene.moments[position]
    before = scene.moments[position - 1].lanes if position else ()
    contents = [
        (number, _content(lane))
        for number, (lane, old) in enumerate(zip_longest(moment.lanes, before))
        if lane != old and _content(lane)
    ]
    return [*((mark.lane, mark.text.upper() if mark.kind == FAULT else mark.text) for mark in moment.marks), *contents]


def _content(lane: Lane) -> str:
    """The content of a lane in one line: role, log with its high watermark, notes."""
    entries = [cell.text or {"deleted": ".", "missing": "-"}.get(cell.kind, "") for cell in lane.cells]
    high_watermark = dict(lane.pointers).get("HW")
    if high_watermark is not None:
        entries.insert(high_watermark, "|")
    log = " ".join(entry for entry in entries if entry)
    return "; ".join(part for part in (lane.title, log, *lane.notes, *lane.alarms) if part)


def _for_mermaid(text: str) -> str:
    """Escape text for Mermaid: special characters become entities, unprintable characters become spaces."""
    return _written(text, lambda sign: f"#{ord(sign)};", '#;<>{}[]%\\"`$')


def _for_plantuml(text: str) -> str:
    """Escape text for PlantUML: special characters become Unicode escapes, unprintable characters become spaces."""
    return _written(text, lambda sign: f"<U+{ord(sign):04X}>", "<>\\\"~!@%[]{}*/_-#'|=^$&")


def _written(text: str, escaped: Callable[[str], str], signs: str) -> str:
    printable = "".join(sign if sign.isprintable() else " " for sign in text)
    return "".join(escaped(sign) if sign in signs else sign for sign in printable)
