"""A trace as a page: what goes wrong, every step in plain words, its messages, the state after it, and why.

The page contains the states as plain data, from which its script draws the state after the step that the reader chose.

The list of the steps is called the ladder. It shows each step in words, and below the words the step's messages, as
arrows between the lanes. All lanes are equally wide, so the ladder fits any screen: of n lanes, the middle of lane
number l (from 0) is at (l + 0.5) / n of the ladder's width. The text of an arrow is centred on it, but stays inside the
ladder. In a fixed-width font, k characters are k `ch` wide, so the style sheet can compute the text's place (page.css).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from isrcheck.models.language.declarations import Kind
from isrcheck.models.language.model import DEADLOCK, IN_RANGE, Instance
from isrcheck.models.language.states import spell_element
from isrcheck.traces.drawing.graphics import EPOCHS
from isrcheck.traces.drawing.scene import scene_of
from isrcheck.traces.format.certify import UNREACHABLE, continuation_text, judgements, lasso_lines
from isrcheck.traces.format.trace import NOT_INDUCTIVE, PERMITTED, VIOLATED, Trace, says
from isrcheck.traces.format.why_false import Reason, why_broken
from isrcheck.traces.kafka import failures
from isrcheck.traces.kafka.lanes import shown_fields
from isrcheck.traces.kafka.scene import BAD
from isrcheck.traces.lanes.scene import Arrow, Lane, Mark, Moment, Scene
from isrcheck.traces.other_tools.foreign import ForeignTrace
from isrcheck.traces.pages.markup import Content, Element, beside, data, element
from isrcheck.traces.pages.parts import meanings, table, verdict_sign
from isrcheck.traces.pages.shell import Page, product_line

STEP = re.compile(r"\bstep (\d+)\b")


@dataclass(frozen=True)
class PageText:
    """The text beside the steps of a page. Every mention of a step in it is a link to the step."""

    verdict: str = ""

    happened: Sequence[Content] = ()
    """What happened: which broker lost which record, how an endless behaviour continues."""

    why: Sequence[Content] = ()
    """Why the property is false, in the terms of the model."""

    command: str = ""
    """The command that finds the trace."""

    broken: Sequence[Sequence[str]] = ()
    """For each state, the properties that are false there, or on the step to it."""

    indices: Sequence[Sequence[str]] = ()
    """For each variable, the labels of its indices."""

    about: Sequence[Content] = ()
    """The content that comes first beside the steps of the page."""


def page(trace: Trace | ForeignTrace, about: Sequence[Content] = (), index: str | None = None) -> Page:
    """Make the page of a trace. `about` is the first text beside the steps; `index` is the address of an index page."""
    return page_of(scene_of(trace), page_text_of(trace, about), index)


def page_text_of(trace: Trace | ForeignTrace, about: Sequence[Content] = ()) -> PageText:
    """Return the text beside the steps of a trace's page; for a trace of another tool, this text is only `about`."""
    if isinstance(trace, ForeignTrace):
        return PageText(about=about)
    indices = indices_of(trace.instance)
    return PageText(
        trace.verdict or "", _what_happened(trace), _why(trace), trace.command, _broken(trace), indices, about
    )


def page_of(scene: Scene, text: PageText, index: str | None = None) -> Page:
    """Make the page of a scene with this text; `index` is the address of an index page, to which the page links."""
    content = (
        _header(scene, text, index),
        _controls(len(scene.moments) - 1),
        element("main", ladder(scene), state_place(), _aside(scene, text)),
        data("story", _story(scene, text)),
    )
    return Page(scene.title, content, "trace", *style_and_script(__package__))


def style_and_script(package: str) -> tuple[list[str], list[str]]:
    """Return the style sheets, and the scripts, of a page that shows states, each as text: first the files that all
    these pages share, then page.css and page.js of `package`."""
    styles = [beside(owner, "page.css") for owner in dict.fromkeys((__package__, package))]
    return styles, [beside(__package__, "lanes.js"), beside(package, "page.js")]


# ----------------------------------------------------------------------------------------------------- top and controls


def _header(scene: Scene, text: PageText, index: str | None) -> Element:
    facts = element("span", scene.caption), element("span", scene.subtitle)
    return element(
        "header",
        element("h1", scene.title),
        element("p", verdict_sign(text.verdict), *facts, class_="caption"),
        product_line(element("a", "index", href=index) if index else None),
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


# --------------------------------------------------------------------------------------------------------------- ladder


def ladder(scene: Scene, address: str = "#step=") -> Element:
    """Return the ladder of a scene: the names of the lanes, and a list with an item for each step. Each item links to
    `address` followed by the number of the step."""
    rows = (_row(scene, position, moment, address) for position, moment in enumerate(scene.moments))
    names = element("div", *(element("span", name) for name in scene.lanes), class_="lanes", aria_hidden="true")
    return element(
        "section",
        names if any(moment.arrows or moment.marks for moment in scene.moments) else None,
        element("ol", *rows, start=0),
        id="ladder",
        aria_label="the steps, and the messages of each",
        style=f"--lanes:{len(scene.lanes)}",
    )


def _row(scene: Scene, position: int, moment: Moment, address: str) -> Element:
    action = element("code", moment.step) if moment.step != moment.words else None
    title = element(
        "a",
        element("span", str(position), class_="number"),
        element("span", moment.words, class_="words"),
        action,
        class_="step",
        href=f"{address}{position}",
    )
    events = [*(_arrow(scene, arrow) for arrow in moment.arrows), *(_mark(scene, mark) for mark in moment.marks)]
    messages = element("ul", *events, class_="messages") if events else None
    return element("li", title, messages, class_="moment", id=f"row-{position}")


def _arrow(scene: Scene, arrow: Arrow) -> Element:
    """A message: its text, and a line with a head on the side of its target."""
    first, last = sorted((arrow.source, arrow.target))
    to = "right" if arrow.target > arrow.source else "left"
    place = f"--from:{first};--over:{last - first};--middle:{(first + last + 1) / 2:g};--signs:{len(arrow.text)}"
    whole = f"{scene.lanes[arrow.source]} to {scene.lanes[arrow.target]}: {arrow.text}"
    return element(
        "li",
        element("span", arrow.text, class_="text"),
        element("i", class_="line"),
        class_=f"arrow {arrow.kind} {to}",
        style=place,
        title=f"{whole} ({KINDS[arrow.kind]})" if arrow.kind in KINDS else whole,
    )


KINDS = {"response": "arrives in a later step", "lost": "lost"}
"""The meanings of the kinds of arrows, except that of a message that arrives in this step."""


def _mark(scene: Scene, mark: Mark) -> Element:
    place = f"--middle:{mark.lane + 0.5:g};--signs:{len(mark.text) + 3}"
    text = element("span", mark.text, class_="text")
    return element("li", text, class_=f"mark {mark.kind}", style=place, title=f"{scene.lanes[mark.lane]}: {mark.text}")


# -------------------------------------------------------------------------------------------------- state, text, legend


def state_place() -> Element:
    """Return the element in which the script of the page shows the state after a step."""
    return element(
        "section",
        element("h2", "", id="state-title", aria_live="polite"),
        element("div", "", id="lanes"),
        element("p", "", id="broken"),
        id="state",
        aria_label="the state after the step",
    )


def variables_place() -> Element:
    """Return the element in which the script of the page lists the variables of the state."""
    return element("details", element("summary", "All variables of the model"), table((), (), id="variables"))


def _aside(scene: Scene, text: PageText) -> Element:
    parts: list[Content] = [*text.about]
    if text.happened:
        parts += [element("h2", "What happened"), *text.happened]
    if any(moment.fates for moment in scene.moments):
        parts += [element("h2", "Each record, and since which step"), table((), (), id="fates")]
    parts += [element("h2", "How to read it"), _legend(scene)]
    if text.why:
        parts += [element("h2", "Why, in the model's terms"), *text.why]
    if text.command:
        parts += [element("h2", "Reproduce"), element("code", text.command, class_="command")]
    parts.append(variables_place())
    hint = "Keys: left and right (or j and k) step, space plays, Home and End. #step=7 in the address leads to step 7."
    return element("aside", *parts, element("p", hint, class_="hint"))


def _legend(scene: Scene) -> Element:
    lanes = {lane for moment in scene.moments for lane in moment.lanes}
    signs = [CHANGED]
    signs += OF_BROKERS if any(lane.role == "leader" for lane in lanes) else ()
    signs += OF_LOGS if any(lane.cells for lane in lanes) else ()
    signs += OF_STABLE_OFFSETS if any("LSO" in dict(lane.pointers) for lane in lanes) else ()
    signs += ARROWS if any(moment.arrows for moment in scene.moments) else ()
    rows: list[tuple[Content, Content]] = [
        (element("span", text, class_=kind), meaning) for kind, text, meaning in signs
    ]
    if any(cell.epoch is not None for lane in lanes for cell in lane.cells):
        epochs = [element("span", str(epoch), class_=f"cell record e{epoch}") for epoch in range(EPOCHS)]
        rows.append((element("span", *epochs, class_="epochs"), "the leader epoch in which a record was written"))
    return meanings(rows, class_="legend")


CHANGED = ("sign changed", "changed", "changed by this step")
OF_BROKERS = (
    ("sign lane leader", "leads", "the leader"),
    ("sign lane zombie", "leads", "a stale leader: it believes that it leads, but the controller has another leader"),
    ("sign lane elected", "elected", "elected by the controller, but does not know it yet"),
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


# ----------------------------------------------------------------------------------------------- what happened, and why


def indices_of(instance: Instance) -> list[list[str]]:
    """Return, for each shown variable, the labels of its first index; an empty list for a variable without indices."""
    return [
        [spell_element(index) if field.field.over[0].letters else str(index) for index in range(field.sizes[0])]
        if field.sizes
        else []
        for field in shown_fields(instance)
    ]


def _what_happened(trace: Trace) -> list[Content]:
    prop = trace.prop
    if prop is None:
        return []
    if trace.error is not None:
        return [element("p", trace.error.message)]
    paragraphs = lasso_lines(trace)
    if prop.kind is Kind.ALWAYS_POSSIBLE and trace.verdict in (VIOLATED, PERMITTED):
        paragraphs.insert(0, continuation_text(trace.instance, prop, trace.states[-1]))
    if trace.verdict == NOT_INDUCTIVE:
        paragraphs.append(UNREACHABLE)
    parts: list[Content] = [element("p", *_linked(line)) for line in paragraphs]
    if lines := failures.lines(trace):
        items = (element("li", *_linked(line.strip()), class_="deeper" if line[0] == " " else None) for line in lines)
        parts.append(element("ul", *items, class_="told"))
    return parts


def _why(trace: Trace) -> list[Content]:
    prop = trace.prop
    if prop is None:
        return []
    parts: list[Content] = [element("p", f"{prop.name}{says(prop.function.documentation)}")]
    if trace.error is None and trace.verdict in (VIOLATED, PERMITTED, NOT_INDUCTIVE):
        parts.append(element("div", element("ul", _reason(why_broken(trace))), class_="why"))
    return parts


def _reason(reason: Reason) -> Element:
    truth = "true" if reason.truth else "false"
    parts: list[Content] = [element("code", reason.source), " is ", element("span", truth, class_=truth), reason.where]
    if reason.conditions:
        parts.append(element("div", f"given {' and '.join(reason.conditions)}", class_="with"))
    if reason.readings:
        parts.append(element("div", reason.shown_readings, class_="with"))
    if reason.deeper:
        parts.append(element("ul", *map(_reason, reason.deeper)))
    return element("li", *parts)


def _linked(line: str) -> list[Content]:
    pieces: list[Content] = []
    at = 0
    for match in STEP.finditer(line):
        pieces += [line[at : match.start()], element("a", match[0], href=f"#step={match[1]}")]
        at = match.end()
    return [*pieces, line[at:]]


def _broken(trace: Trace) -> list[list[str]]:
    def spelled(name: str, verdict: str | None) -> str:
        return name if verdict == VIOLATED else f"{name} (permitted)"

    broken: list[list[str]] = [[] for _ in trace.states]
    for prop in (*trace.instance.properties, DEADLOCK):
        if prop.kind is Kind.SOMETIMES:
            continue
        for names, verdict in zip(broken, judgements(trace.instance, prop, trace.states, trace.steps), strict=True):
            names += [] if verdict is None else [spelled(prop.name, verdict)]
    if trace.erring is not None:
        broken.append([])
    if trace.error is not None:
        broken[-1].append(IN_RANGE.name)
    if trace.loop is not None and trace.property_name is not None:
        broken[-1].append(spelled(trace.property_name, trace.verdict))
    return broken


# -------------------------------------------------------------------------------------------------- data for the script


def _story(scene: Scene, text: PageText) -> dict[str, object]:
    """The data for the page's script: the distinct lane contents, and for each step, which content each lane has."""
    number: dict[Lane, int] = {}
    frames = [[number.setdefault(lane, len(number)) for lane in moment.lanes] for moment in scene.moments]
    return {
        "steps": [moment.step for moment in scene.moments],
        "words": [moment.words for moment in scene.moments],
        "titles": scene.lanes,
        "contents": [lane_data(lane) for lane in number],
        "frames": frames,
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
