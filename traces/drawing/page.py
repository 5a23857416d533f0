"""A trace as one self-contained page: what goes wrong, every step in plain words, the state after it, and why.

In:  a `Scene`, and the text beside its steps (page_text.py).
Out: the text of an HTML file. It loads nothing, sends nothing, and runs only its own scripts.

The ladder (ladder.py) is part of the page; the state of the chosen step is made by the script from plain data, the same
lanes that drawing.py draws. Text of a trace is text everywhere, never markup.
"""

from __future__ import annotations

from collections.abc import Mapping

from isrcheck.commands.program import product
from isrcheck.traces.drawing.ladder import ladder
from isrcheck.traces.drawing.markup import Content, Element, as_html, beside, data, element
from isrcheck.traces.drawing.page_text import PageText
from isrcheck.traces.drawing.theme import EPOCHS, theme_button, themed_head, themed_security
from isrcheck.traces.kafka.scene import BAD
from isrcheck.traces.lanes.scene import Lane, Scene


def page_of(scene: Scene, text: PageText, index: str | None = None) -> str:
    """Return the page of a scene with this text; `index` is the address of a page that leads here."""
    style, program = beside("isrcheck.traces.drawing", "page.css"), script("isrcheck.traces.drawing")
    body = element(
        "body",
        _header(scene, text, index),
        _controls(len(scene.moments) - 1),
        element("main", ladder(scene), state_place(), _aside(scene, text)),
        data("story", _story(scene, text)),
        element("script", program),
    )
    return as_html(element("html", themed_head(scene.title, style, themed_security(program)), body, lang="en"))


def script(package: str) -> str:
    """Return the script of a page: that of a package, page.js, after the one that shows the lanes of a state."""
    return beside("isrcheck.traces.drawing", "lanes.js") + beside(package, "page.js")


# ----------------------------------------------------------------------------------------------------- top and controls


def _header(scene: Scene, text: PageText, index: str | None) -> Element:
    verdict = (
        [element("span", text.verdict, class_=f"verdict {text.verdict.replace(' ', '-')}")] if text.verdict else []
    )
    back = [element("a", "index", href=index)] if index else []
    return element(
        "header",
        element("h1", scene.title),
        element("p", *verdict, element("span", scene.caption), element("span", scene.subtitle), class_="caption"),
        element("p", *back, element("span", product()), theme_button(), class_="product"),
    )


def _button(name: str, sign: str, hint: str) -> Element:
    return element("button", sign, id=name, type="button", title=hint, aria_label=hint)


def _controls(last: int) -> Element:
    slider = element("input", type="range", id="slider", min=0, max=last, value=0, step=1, aria_label="step")
    return element(
        "nav",
        _button("play", "▶ play", "play the steps, or pause (space)"),
        _button("first", "|◀", "first step (Home)"),
        _button("back", "◀", "step back (left arrow)"),
        _button("next", "▶", "next step (right arrow)"),
        _button("last", "▶|", "last step (End)"),
        slider,
        element("output", "", id="position"),
        id="controls",
        aria_label="steps",
    )


# -------------------------------------------------------------------------------------------------- state, text, legend


def state_place() -> Element:
    """Return the place in which the script shows the state after a step."""
    return element(
        "section",
        element("h2", "", id="state-title", aria_live="polite"),
        element("div", "", id="lanes"),
        element("p", "", id="broken"),
        id="state",
        aria_label="the state after the step",
    )


def _aside(scene: Scene, text: PageText) -> Element:
    parts: list[Content] = [*text.about]
    if text.told:
        parts += [element("h2", "What happened"), *text.told]
    if any(moment.fates for moment in scene.moments):
        parts += [
            element("h2", "Each record, and since which step"),
            element("table", element("tbody", id="fates")),
        ]
    parts += [element("h2", "How to read it"), _legend(scene)]
    if text.why:
        parts += [element("h2", "Why, in the model's terms"), *text.why]
    if text.command:
        parts += [element("h2", "Reproduce"), element("code", text.command, class_="command")]
    variables = element("table", element("tbody", id="variables"), class_="values")
    parts.append(element("details", element("summary", "All variables of the model"), variables))
    hint = "Keys: left and right (or j and k) step, space plays, Home and End. #step=7 in the address leads to step 7."
    return element("aside", *parts, element("p", hint, class_="hint"))


def _legend(scene: Scene) -> Element:
    """The signs that occur in these lanes, each with its meaning."""
    lanes = {lane for moment in scene.moments for lane in moment.lanes}
    signs = [CHANGED]
    signs += OF_BROKERS if any(lane.role == "leader" for lane in lanes) else ()
    signs += OF_LOGS if any(lane.cells for lane in lanes) else ()
    signs += OF_STABLE_OFFSETS if any("LSO" in dict(lane.pointers) for lane in lanes) else ()
    signs += ARROWS if any(moment.arrows for moment in scene.moments) else ()
    rows = [(element("span", text, class_=kind), meaning) for kind, text, meaning in signs]
    if any(cell.epoch is not None for lane in lanes for cell in lane.cells):
        epochs = [element("span", str(epoch), class_=f"cell record e{epoch}") for epoch in range(EPOCHS)]
        rows.append((element("span", *epochs, class_="epochs"), "the leader epoch in which a record was written"))
    pairs = (part for sign, meaning in rows for part in (element("dt", sign), element("dd", meaning)))
    return element("dl", *pairs, class_="legend")


CHANGED = ("sign changed", "changed", "changed by this step")
OF_BROKERS = (
    ("sign lane leader", "leads", "the leader"),
    ("sign lane zombie", "leads", "a stale leader: it believes that it leads, and the controller has another one"),
    ("sign lane elected", "elected", "elected by the controller, and does not know it yet"),
    ("sign lane truncating", "reconciles", "a follower that compares its log with the leader's"),
    ("sign lane down", "down", "a broker that is down"),
    ("cell record e0", "a0", "record a, written in leader epoch 0"),
    ("sign plain", "ISR 01", "the replicas that are in sync, as the controller or a leader sees it"),
    (
        "sign plain",
        "followers at 1:2",
        "the followers' offsets, as far as a leader knows: broker 1 has fetched up to 2",
    ),
)
OF_LOGS = (
    ("sign bar", "HW", "high watermark: what is before it counts as committed"),
    ("sign plain", "LEO", "log end offset: where the next record goes"),
    ("sign lost", "✗ lost", "removed by this step, or missing"),
)
OF_STABLE_OFFSETS = (("sign plain", "LSO", "last stable offset: read_committed readers see what is before it"),)
ARROWS = (
    ("sign line request", "", "a message that arrives in this step"),
    ("sign line response", "", "a message that is on its way, and arrives in a later step"),
    ("sign line lost", "", "a message that is lost"),
)
"""Signs of a page: the class that draws the sign, its text, and its meaning."""


# -------------------------------------------------------------------------------------------------- data for the script


def _story(scene: Scene, text: PageText) -> dict[str, object]:
    """The data for the page's script: each lane's content once, and for each step the numbers of its contents."""
    contents = list(dict.fromkeys(lane for moment in scene.moments for lane in moment.lanes))
    number = {lane: at for at, lane in enumerate(contents)}
    return {
        "steps": [moment.step for moment in scene.moments],
        "words": [moment.words for moment in scene.moments],
        "titles": scene.lanes,
        "contents": [lane_data(lane) for lane in contents],
        "frames": [[number[lane] for lane in moment.lanes] for moment in scene.moments],
        "variables": scene.variables,
        "indices": text.indices or [[] for _ in scene.variables],
        "values": [moment.variables for moment in scene.moments],
        "fates": [[(fate.record, fate.words) for fate in moment.fates] for moment in scene.moments],
        "broken": text.broken or [[] for _ in scene.moments],
        "bad": BAD,
    }


def lane_data(lane: Lane) -> Mapping[str, object]:
    """Return the content of a lane as plain data for lanes.js."""
    cells = [(cell.text, cell.kind, None if cell.epoch is None else cell.epoch % EPOCHS) for cell in lane.cells]
    return {
        "title": lane.title,
        "role": lane.role,
        "cells": cells,
        "pointers": lane.pointers,
        "notes": lane.notes,
        "alarms": lane.alarms,
    }
