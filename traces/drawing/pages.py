"""Writes a trace in all forms of `trace page`: a page, graphics, sequence diagrams; several traces with an index.

In:  traces of models or of other tools, and the file for each form that the user wants, or a folder.
Out: the files.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace as with_changes
from pathlib import Path
from urllib.parse import quote

from isrcheck.models.messages import UsageError
from isrcheck.traces.drawing.compose import scene_of
from isrcheck.traces.drawing.drawing import ladder_svg, step_svg
from isrcheck.traces.drawing.generic_scene import foreign_scene
from isrcheck.traces.drawing.index import Entry, index_of
from isrcheck.traces.drawing.markup import Content
from isrcheck.traces.drawing.page import page_of
from isrcheck.traces.drawing.page_text import PageText, page_text_of
from isrcheck.traces.drawing.picture import png
from isrcheck.traces.drawing.sequence import mermaid, plantuml
from isrcheck.traces.format.files import put
from isrcheck.traces.format.trace import VERDICTS, Trace
from isrcheck.traces.lanes.scene import Scene
from isrcheck.traces.other_tools.foreign import ForeignTrace

INDEX = "index.html"
"""The name of the file with the index of several pages."""

FORMS = ("html", "svg", "png", "mermaid", "plantuml")


MOST_DRAWN = 10_000
"""The most states drawn in one file, which then has about ten megabytes and takes seconds to make."""


def page(trace: Trace, about: Sequence[Content] = (), index: str | None = None) -> str:
    """Return the page of a trace. `about` stands first beside the steps; `index` is the address of an index page."""
    return page_of(scene_of(trace), with_changes(page_text_of(trace), about=about), index)


def begin(folder: Path, how: str, *, replace: bool = False, or_else: str = "") -> None:
    """Create a folder for pages. Raises UsageError if it has files already, unless they may be replaced.

    Messages end with `how` another folder is given, and that about files also with what else helps, `or_else`.
    """
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder}: a file, where a folder is needed; give another name {how}")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not replace and any(folder.iterdir()):
            raise UsageError(f"{folder}: has files, which are not overwritten; give a new folder {how}{or_else}")
    except OSError as error:
        raise UsageError(f"{folder}: {error.strerror}; give another folder {how}") from None


def write_all(folder: Path, contents: Mapping[str, str], *, replace: bool = False) -> list[Path]:
    """Write pages into a folder by the names of their files, and return their paths. Raises UsageError."""
    paths = {folder / name: text for name, text in contents.items()}
    for path, text in paths.items():
        put(path, text.encode(), replace=replace)
    return list(paths)


def with_index(histories: Mapping[str, Trace | ForeignTrace], title: str) -> Mapping[str, str]:
    """Return the pages of several traces, by the names of their files, and an index, failures first."""
    told = {name: _told(history) for name, history in histories.items()}
    order = sorted(told, key=lambda name: (_rank(told[name][1].verdict), name))
    entries = [_entry(str(number), name, *told[name]) for number, name in enumerate(order, start=1)]
    made = {f"{name}.html": page_of(*told[name], INDEX) for name in order}
    return {INDEX: index_of(title, (), entries), **made}


def _entry(mark: str, name: str, scene: Scene, text: PageText) -> Entry:
    address = quote(f"{name}.html", errors="surrogateescape")
    return Entry(scene.title, address, text.verdict, mark, (scene.caption, scene.subtitle, name))


def _rank(verdict: str) -> int:
    """The place of a verdict in an index: failures first, traces without a verdict last."""
    return VERDICTS.index(verdict) if verdict in VERDICTS else len(VERDICTS)


def write(
    history: Trace | ForeignTrace, forms: Mapping[str, Path], step: int | None = None, *, replace: bool = False
) -> list[Path]:
    """Write a trace in these forms, and return the paths; with `step`, the graphics show only that step.

    Raises UsageError, before any file is written, if one of the forms cannot be made.
    """
    drawn = [form for form in ("html", "svg", "png") if form in forms and (step is None or form == "html")]
    if drawn and len(history.states) > MOST_DRAWN:
        raise UsageError(
            f"{len(history.states):,} states are more than the {MOST_DRAWN:,} that can be drawn; draw one of them with"
            " --svg OUT.svg --step I, or read them with trace show"
        )
    scene, told = _told(history)
    makers: Mapping[str, Callable[[], bytes]] = {
        "html": lambda: page_of(scene, told).encode(),
        "svg": lambda: _graphics(scene, step).encode(),
        "png": lambda: png(_graphics(scene, step)),
        "mermaid": lambda: mermaid(scene).encode(),
        "plantuml": lambda: plantuml(scene).encode(),
    }
    if step is not None and not {"svg", "png"} & forms.keys():
        raise UsageError("--step applies only to --svg and --png; add one of them")
    contents = {path: makers[form]() for form, path in forms.items()}
    if len(contents) < len(forms):
        raise UsageError("two options name the same file; give each another file")
    for path, content in contents.items():
        put(path, content, replace=replace)
    return list(contents)


def _told(history: Trace | ForeignTrace) -> tuple[Scene, PageText]:
    if isinstance(history, ForeignTrace):
        return foreign_scene(history), PageText()
    return scene_of(history), page_text_of(history)


def _graphics(scene: Scene, step: int | None) -> str:
    if step is None:
        return ladder_svg(scene)
    last = len(scene.moments) - 1
    position = step if step >= 0 else last + 1 + step
    if not 0 <= position <= last:
        raise UsageError(f"there is no step {step}; the steps are 0..{last}, or -1 for the last")
    return step_svg(scene, position)
