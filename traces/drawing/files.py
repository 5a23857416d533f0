"""Writes a trace in all forms of `trace page`: a page, graphics, sequence diagrams; several traces with an index."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from urllib.parse import quote

from isrcheck.models.messages import UsageError
from isrcheck.traces.drawing.graphics import ladder_svg, png, step_svg
from isrcheck.traces.drawing.page import page_of, page_text_of
from isrcheck.traces.drawing.scene import scene_of
from isrcheck.traces.drawing.sequence import mermaid, plantuml
from isrcheck.traces.format.files import put
from isrcheck.traces.format.trace import VERDICTS, Trace
from isrcheck.traces.lanes.scene import Scene
from isrcheck.traces.other_tools.foreign import ForeignTrace
from isrcheck.traces.pages.folder import INDEX
from isrcheck.traces.pages.parts import Entry, index_of
from isrcheck.traces.pages.shell import Page

FORMS = ("html", "svg", "png", "mermaid", "plantuml")

MOST_DRAWN = 10_000
"""The most states drawn in one file, which then has about ten megabytes and takes seconds to make."""


def with_index(histories: Mapping[str, Trace | ForeignTrace], title: str) -> dict[str, Page | str]:
    """Return the pages of several traces, and an index that lists failures first; the keys are the names of files."""
    shown = {name: (scene_of(history), page_text_of(history)) for name, history in histories.items()}
    order = sorted(shown, key=lambda name: ((*VERDICTS, "").index(shown[name][1].verdict), name))
    pages: dict[str, Page | str] = {}
    entries = []
    for number, name in enumerate(order, start=1):
        scene, text = shown[name]
        pages[f"{name}.html"] = page_of(scene, text, INDEX)
        address = quote(f"{name}.html", errors="surrogateescape")
        entries.append(Entry(scene.title, address, text.verdict, str(number), (scene.caption, scene.subtitle, name)))
    return {INDEX: index_of(title, (), entries), **pages}


def write(
    history: Trace | ForeignTrace, forms: Mapping[str, Path], step: int | None = None, *, replace: bool = False
) -> list[Path]:
    """Write a trace in these `forms`, each to its path; return the paths. With `step`, graphics show only that step.

    Raises UsageError, before any file is written, if one of the forms cannot be made.
    """
    drawn = [form for form in ("html", "svg", "png") if form in forms and (step is None or form == "html")]
    if drawn and len(history.states) > MOST_DRAWN:
        raise UsageError(
            f"{len(history.states):,} states are more than the {MOST_DRAWN:,} that can be drawn; draw one of them with"
            " --svg OUT.svg --step I, or read them with trace show"
        )
    scene = scene_of(history)
    makers: Mapping[str, Callable[[], bytes]] = {
        "html": lambda: page_of(scene, page_text_of(history)).alone().encode(),
        "svg": lambda: _graphics(scene, step).encode(),
        "png": lambda: png(_graphics(scene, step)),
        "mermaid": lambda: mermaid(scene).encode(),
        "plantuml": lambda: plantuml(scene).encode(),
    }
    if step is not None and not {"svg", "png"} & forms.keys():
        raise UsageError("--step applies only to --svg and --png; add one of them")
    contents = {path: makers[form]() for form, path in forms.items()}
    if len(contents) < len(forms):
        raise UsageError("two options name the same file; give each a file of its own")
    for path, content in contents.items():
        put(path, content, replace=replace)
    return list(contents)


def _graphics(scene: Scene, step: int | None) -> str:
    if step is None:
        return ladder_svg(scene)
    last = len(scene.moments) - 1
    position = step if step >= 0 else last + 1 + step
    if not 0 <= position <= last:
        raise UsageError(f"there is no step {step}; the steps are 0..{last}, or -1 for the last")
    return step_svg(scene, position)
