"""The page of a walk: the state, the steps that are possible next as buttons, the properties, and the walk so far.

The page loads nothing, and runs only its own scripts. The walk so far and the state are drawn as on the page of a trace
(traces/drawing/page.py).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from isrcheck.models.language.model import Instance
from isrcheck.models.run import Cells
from isrcheck.traces.drawing.page import (
    indices_of,
    ladder,
    lane_data,
    state_place,
    style_and_script,
    variables_place,
)
from isrcheck.traces.drawing.scene import scene_of
from isrcheck.traces.explaining.presentation import headline, step_in_words
from isrcheck.traces.format.trace import Trace, heading, label
from isrcheck.traces.lanes.scene import Lane, Scene
from isrcheck.traces.pages.markup import Content, Element, data, element
from isrcheck.traces.pages.parts import verdict_sign
from isrcheck.traces.pages.shell import Page, product_line
from isrcheck.traces.terminal.walk import BROKEN, NOT_JUDGED_AHEAD, Option, PropertyStatus, Walk, saved_line, turn_text


def page_of(walk: Walk, mark: str, saved: Sequence[Path] = (), notice: str = "") -> Page:
    """Make the page that shows a walk at its current state.

    `mark` identifies that state; every form of the page sends it back. `saved` are the files of the traces that were
    saved; `notice` says why the server did not do what the last form asked for ("": it did).
    """
    scene = scene_of(walk.whole) if walk.has_begun else None
    finding = walk.finding if walk.has_begun else None
    title = f"A walk through {label(walk.instance)}"
    if finding is not None and finding.prop is not None:
        title = headline(finding)
    verdict = "" if finding is None else finding.verdict or ""
    following = _next(walk, mark)
    main: list[Content] = [following]
    if scene is not None:
        main = [state_place(), following, _promises(walk), _walk(scene, walk.place)]
    content = (
        _header(walk, title, verdict, [saved_line(path) for path in saved], notice),
        _controls(walk, mark),
        element("main", *main, class_=None if walk.has_begun else "start"),
        data("story", _story(walk, scene)),
    )
    where = "choose an initial state" if walk.place < 0 else f"step {walk.place}"
    styles, scripts = style_and_script(__package__)
    return Page(f"{where}: {title}", content, "trace", styles, scripts, allows="; form-action 'self'; base-uri 'none'")


def address_of(place: int) -> str:
    """Return the last part of a page's address, for the state after `place` steps (-1: no initial state yet)."""
    return "start" if place < 0 else f"step-{place}"


# ----------------------------------------------------------------------------------------------------- top and controls


def _header(walk: Walk, title: str, verdict: str, saved: Sequence[str], notice: str) -> Element:
    return element(
        "header",
        element("h1", title),
        element("p", verdict_sign(verdict), element("span", heading(walk.instance)), class_="caption"),
        product_line(),
        element("p", notice, class_="notice", role="alert") if notice else None,
        *(element("p", line, class_="saved", role="status") for line in saved),
    )


def _controls(walk: Walk, mark: str) -> Element:
    save = element("button", "save", id="save", title="save the walk so far as a trace (s)")
    if not walk.has_begun:
        save.set("disabled", "")
    where = "before the first step" if walk.place < 0 else f"step {walk.place}"
    if 0 <= walk.place < walk.last:
        where += f" of {walk.last}"
    return element(
        "nav",
        _link("back", "◀ back", walk.place - 1, walk.place > walk.first, "undo the last step (left arrow)"),
        _link("forward", "forward ▶", walk.place + 1, walk.place < walk.last, "redo the step (right arrow)"),
        element("form", *_marks(walk, mark), save, method="post", action="save"),
        element("output", where, id="position"),
        id="controls",
        aria_label="the walk",
    )


def _link(name: str, text: str, place: int, is_possible: bool, hint: str) -> Element:
    address, disabled = (address_of(place), None) if is_possible else (None, "true")
    return element("a", text, id=name, class_="button", href=address, title=hint, aria_disabled=disabled)


def _marks(walk: Walk, mark: str) -> list[Element]:
    """Return the hidden fields of a form: they identify the page's state, so the server can refuse an outdated page."""
    fields = {"place": str(walk.place), "mark": mark}
    # A browser must not put the values of an earlier page into a page that is loaded again.
    return [
        element("input", type="hidden", name=name, value=value, autocomplete="off") for name, value in fields.items()
    ]


# --------------------------------------------------------------------------------------------------------- what is next


def _next(walk: Walk, mark: str) -> Element:
    options = walk.options()
    count = len(options)
    title = "Where the walk begins" if walk.place < 0 else f"What can happen next: {count} step{'s' * (count != 1)}"
    parts: list[Content] = [element("h2", title)]
    if options:
        hints = {"placeholder": "filter by words ( / )", "aria_label": "filter", "autocomplete": "off"}
        buttons = (_option(walk, *pair) for pair in enumerate(zip(options, _words(walk, options), strict=True)))
        parts.append(element("input", id="filter", type="search", **hints))
        listed = element("ol", *buttons)
        parts.append(element("form", *_marks(walk, mark), listed, method="post", action="take", id="options"))
        parts.append(element("p", "no step contains these words", id="nothing", hidden=""))
    else:
        parts.append(element("p", "No step is enabled: a dead end."))
    unjudged = [prop.name for prop in walk.instance.properties if prop.kind in NOT_JUDGED_AHEAD]
    if unjudged:
        text = f"The buttons do not show whether a step violates these properties: {', '.join(unjudged)}."
        parts.append(element("p", text, class_="hint"))
    hint = "Keys: left goes back, right forward, / filters, s saves. The address leads to this step again."
    return element("section", *parts, element("p", hint, class_="hint"), id="next", aria_label="what can happen next")


def _words(walk: Walk, options: Sequence[Option]) -> list[str]:
    """Each option in words: a possible next step, or the lanes in which an initial state differs from the others."""
    if walk.has_begun:
        return [step_in_words(walk.instance, option.step, walk.cells) for option in options if option.step is not None]
    return differences(walk.instance, [option.after for option in options if option.after is not None])


def _option(walk: Walk, number: int, choice: tuple[Option, str]) -> Element:
    """The button that takes a step: the step in words, its name, the properties that it makes false, and its changes.

    The button of a step that causes an error is disabled.
    """
    option, words = choice[0], choice[1] or choice[0].text
    name = element("code", option.text) if option.text != words else None
    turns = [part for turned in walk.turning(option) for part in _turn(walk, option, turned)]
    if option.problem:
        turns.insert(0, element("span", f"causes an error: {option.problem}", class_="turn VIOLATED"))
    button = element("button", element("span", words, class_="words"), name, *turns, name="option", value=str(number))
    if option.problem:
        button.set("disabled", "")
    changes = walk.changes(option)
    listed = element("ul", *(element("li", line) for line in changes))
    return element("li", button, element("details", element("summary", "changes"), listed) if changes else None)


def _turn(walk: Walk, option: Option, turned: PropertyStatus) -> tuple[Element, Element]:
    """Return a sentence that says how a step makes the property in `turned` false, and a text naming the property."""
    sentence, text, verdict = turn_text(turned), turned.prop.name, "VIOLATED"
    if not turned.problem:
        sentence, text, verdict = headline(walk.trace_of(option, turned)), sentence, turned.verdict or ""
    return element("span", sentence, class_=f"turn {verdict}"), element("code", text, class_=f"terms {verdict}")


def differences(instance: Instance, states: Sequence[Cells]) -> list[str]:
    """Return one line for each state: the contents of the lanes in which the states differ."""
    scenes = [scene_of(Trace(instance, (cells,), (), None, None, "")) for cells in states]
    columns = [
        [f"{title}: {_text(scene.moments[0].lanes[lane])}" for scene in scenes]
        for lane, title in enumerate(scenes[0].lanes)
    ]
    differing = [column for column in columns if len(set(column)) > 1]
    return ["; ".join(column[number] for column in differing) for number in range(len(states))]


def _text(lane: Lane) -> str:
    log = " ".join(cell.text for cell in lane.cells if cell.text)
    return ", ".join(part for part in (lane.title, log, *lane.notes, *lane.alarms) if part)


# ------------------------------------------------------------------------------------------ properties, the walk so far


def _promises(walk: Walk) -> Element:
    lines = (element("p", line, class_=f"promise {verdict}".strip()) for line, verdict in walk.verdict_lines())
    return element("aside", element("h2", "Properties"), *lines, variables_place())


def _walk(scene: Scene, place: int) -> Element:
    drawn = ladder(scene, address_of(0).removesuffix("0"))
    for number, row in enumerate(drawn.iterfind("ol/li")):
        if number >= place:
            row.set("class", "moment current" if number == place else "moment ahead")
    return drawn


def _story(walk: Walk, scene: Scene | None) -> Mapping[str, object]:
    """The data for the page's script: the state before the last step, and the state now."""
    if scene is None:
        return {}
    now, before = scene.moments[walk.place], scene.moments[max(0, walk.place - 1)]
    return {
        "place": walk.place,
        "words": now.words,
        "titles": scene.lanes,
        "before": [lane_data(lane) for lane in before.lanes],
        "now": [lane_data(lane) for lane in now.lanes],
        "variables": scene.variables,
        "indices": indices_of(walk.instance),
        "values": [before.variables, now.variables],
        "broken": [status.prop.name for status in walk.statuses() if status.verdict in BROKEN],
    }
