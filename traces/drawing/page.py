"""A trace as one self-contained page: lanes, a slider, the fate of each record, and why the property fails.

In:  a certified Trace, or a `Scene` of another tool's trace.
Out: the text of an HTML file. It loads nothing, sends nothing, and runs only the script page.js.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from isrcheck.models.language.declare import Kind
from isrcheck.models.language.in_range import DEADLOCK, IN_RANGE
from isrcheck.models.language.model import spell_element
from isrcheck.models.version import product
from isrcheck.traces.drawing.compose import scene_of
from isrcheck.traces.drawing.drawing import Drawing
from isrcheck.traces.drawing.markup import SCRIPT_SECURITY, Content, Element, as_html, beside, data, element, page_head
from isrcheck.traces.drawing.theme import EPOCHS, adaptive_stylesheet
from isrcheck.traces.explaining import attribution
from isrcheck.traces.format import lasso
from isrcheck.traces.format.certify import judgements
from isrcheck.traces.format.possibility import continuation_text
from isrcheck.traces.format.trace import NOT_INDUCTIVE, PERMITTED, VIOLATED, Trace
from isrcheck.traces.format.why_false import Reason, why_broken
from isrcheck.traces.kafka.fates import BAD
from isrcheck.traces.kafka.model import shown_fields
from isrcheck.traces.lanes.scene import Scene
from isrcheck.traces.terminal.show import says

STEP = re.compile(r"\bstep (\d+)\b")


@dataclass(frozen=True)
class PageText:
    """The text beside the lanes: the verdict, the reason, the command, and for each state the false properties.

    A property is listed for a state if it is false there, or on the step to that state. `indices` lists the labels of
    the indices of each variable.
    """

    verdict: str = ""
    why: Sequence[Content] = ()
    command: str = ""
    broken: Sequence[Sequence[str]] = field(default=())
    indices: Sequence[Sequence[str]] = field(default=())
    about: Sequence[Content] = field(default=())


def page(trace: Trace, about: Sequence[Content] = ()) -> str:
    """Return the page of a trace. `about` stands first beside the lanes."""
    return page_of(scene_of(trace), replace(page_text_of(trace), about=about))


def page_text_of(trace: Trace) -> PageText:
    """Return the text for the page of a trace."""
    indices = [
        [spell_element(one) if place.field.over[0].letters else str(one) for one in range(place.sizes[0])]
        if place.sizes
        else []
        for place in shown_fields(trace.instance)
    ]
    return PageText(trace.verdict or "", _why(trace), trace.command, _broken(trace), indices)


def page_of(scene: Scene, text: PageText) -> str:
    """Return the page of a scene with this text."""
    drawing = Drawing(scene)
    kind = text.verdict.replace(" ", "-")
    style = adaptive_stylesheet() + beside("isrcheck.traces.drawing", "page.css")
    head = page_head(f"{scene.title} ({scene.subtitle})", style, SCRIPT_SECURITY)
    verdict = [element("span", text.verdict, class_=f"verdict {kind}")] if text.verdict else []
    header = element(
        "header",
        element("h1", scene.title),
        *verdict,
        element("p", scene.subtitle),
        element("p", product()),
        _button("theme", "light / dark", ""),
    )
    body = element(
        "body",
        header,
        element(
            "section", _controls(len(scene.moments) - 1), element("div", _stage(drawing), id="stage-view"), id="stage"
        ),
        element("section", _ladder(drawing), id="ladder"),
        _aside(scene, text),
        data("story", _story(scene, text, drawing)),
        element("script", beside("isrcheck.traces.drawing", "page.js")),
    )
    return as_html(element("html", head, body, lang="en"))


# -------------------------------------------------------------------------------------------------------------- drawing


def _svg(drawing: Drawing, height: float, *parts: Element) -> Element:
    """An SVG element that shrinks with the page, but only as far as the text stays readable."""
    return element(
        "svg",
        *parts,
        viewBox=f"0 0 {drawing.width:.1f} {height:.1f}",
        width="100%",
        style=f"min-width:{drawing.width * 0.8:.0f}px;max-width:{drawing.width * 1.4:.0f}px",
    )


def _stage(drawing: Drawing) -> Element:
    return _svg(drawing, drawing.stage_height + 4, drawing.stage())


def _ladder(drawing: Drawing) -> Element:
    return _svg(drawing, drawing.ladder_height + 12, drawing.definitions(), drawing.ladder())


def _button(name: str, sign: str, hint: str) -> Element:
    return element("button", sign, id=name, type="button", title=hint or None, aria_label=hint or None)


def _controls(last: int) -> Element:
    slider = element("input", type="range", id="slider", min=0, max=last, value=0, step=1, aria_label="step")
    return element(
        "div",
        _button("first", "|◀", "first step (Home)"),
        _button("back", "◀", "step back (left arrow)"),
        slider,
        _button("next", "▶", "next step (right arrow)"),
        _button("last", "▶|", "last step (End)"),
        element("output", "", id="position"),
        id="controls",
    )


# ----------------------------------------------------------------------------------------------------- beside the lanes


def _aside(scene: Scene, text: PageText) -> Element:
    parts: list[Content] = [*text.about]
    if text.why:
        parts += [element("h2", "Why"), *text.why]
    if any(moment.fates for moment in scene.moments):
        parts += [
            element("h2", "Fates of records, with the step since which each is true"),
            element("table", element("tbody", id="fates")),
        ]
    if text.broken:
        parts += [element("h2", "Properties that are false here"), element("div", "", id="broken")]
    else:
        parts.append(element("div", "", id="broken", hidden="hidden"))
    if text.command:
        parts += [element("h2", "Reproduce"), element("code", text.command, class_="command")]
    parts += [element("h2", "Variables"), element("table", element("tbody", id="variables"), class_="values")]
    if any(lane.cells for lane in scene.moments[0].lanes):
        parts += [element("h2", "Signs"), _legend()]
    hint = "Keys: left and right, up and down, Home, End. Click a step in the ladder to go to it."
    return element("aside", *parts, element("p", hint, class_="hint"))


def _legend() -> Element:
    epochs: list[Content] = []
    for epoch in range(EPOCHS):
        epochs += [element("span", class_="swatch", style=f"background:var(--e{epoch})"), f"{epoch} "]
    return element(
        "p",
        "Colours are leader epochs: ",
        *epochs,
        "A broker with a blue frame leads; one with a dashed amber frame presumes leadership, but the controller has"
        " another leader or a newer epoch; one with a red frame is down. The blue bar is the high watermark (HW); LEO"
        " is the log end offset, LSO the last stable offset if it is below HW. A red cell lacks an entry, or has one"
        " beyond the log end, in brackets. A dashed arrow is a response in flight, which arrives in a later step."
        " Changes of a step have an orange outline. An exclamation mark at an arrow to readers: they receive another"
        " record than the one that was read there first.",
        class_="hint",
    )


def _why(trace: Trace) -> list[Content]:
    prop = trace.prop
    if prop is None:
        return []
    parts: list[Content] = [element("p", f"{prop.name}{says(prop.function.documentation)}")]
    if trace.error is not None:
        return [*parts, element("p", trace.error.message)]
    if trace.verdict in (VIOLATED, PERMITTED, NOT_INDUCTIVE):
        parts.append(element("div", element("ul", _reason(why_broken(trace))), class_="why"))
    if prop.kind is Kind.ALWAYS_POSSIBLE and trace.verdict in (VIOLATED, PERMITTED):
        parts.append(element("p", continuation_text(trace.instance, prop, trace.states[-1])))
    parts += (element("p", *_linked(line)) for line in lasso.lines(trace))
    if trace.verdict == NOT_INDUCTIVE:
        told = "The first state may be unreachable: the proof does not exclude it."
        parts.append(element("p", told))
    lines = attribution.lines(trace)
    if lines:
        items = (
            element("li", *_linked(line.strip()), class_="deeper" * line.startswith(" ") or None) for line in lines
        )
        parts.append(element("ul", *items, class_="told"))
    return parts


def _reason(reason: Reason) -> Element:
    """The tree of a reason's expressions, down to the cells that decide the property."""
    truth = "true" if reason.truth else "false"
    where = f" for {', '.join(binding.text for binding in reason.bindings)}" if reason.bindings else ""
    parts: list[Content] = [element("code", reason.source), " is ", element("span", truth, class_=truth), where]
    if reason.conditions:
        parts.append(element("div", f"given {' and '.join(reason.conditions)}", class_="with"))
    if reason.readings:
        parts.append(element("div", ", ".join(reason.shown_readings), class_="with"))
    if reason.deeper:
        parts.append(element("ul", *(_reason(one) for one in reason.deeper)))
    return element("li", *parts)


def _linked(line: str) -> list[Content]:
    """The pieces of a line, in which every mention of a step is a link to the step."""
    pieces: list[Content] = []
    at = 0
    for match in STEP.finditer(line):
        pieces.append(line[at : match.start()])
        pieces.append(element("a", match.group(), href=f"#step-{match.group(1)}"))
        at = match.end()
    return [*pieces, line[at:]]


def _broken(trace: Trace) -> list[list[str]]:
    """For each state, the properties that are false in the state or on the step to it."""
    found: list[list[str]] = [[] for _ in trace.states]
    for prop in (*trace.instance.properties, DEADLOCK):
        if prop.kind is Kind.SOMETIMES:
            continue
        for names, judgement in zip(found, judgements(trace.instance, prop, trace.states, trace.steps), strict=True):
            if judgement is not None:
                names.append(prop.name if judgement == VIOLATED else f"{prop.name} (permitted)")
    if trace.erring is not None:
        found.append([])
    if trace.error is not None:
        found[-1].append(IN_RANGE.name)
    if trace.loop is not None and trace.property_name is not None:
        found[-1].append(trace.property_name if trace.verdict == VIOLATED else f"{trace.property_name} (permitted)")
    return found


def _story(scene: Scene, text: PageText, drawing: Drawing) -> dict[str, object]:
    """The data for the page's script."""
    return {
        "steps": [moment.step for moment in scene.moments],
        "frames": drawing.frames(),
        "variables": scene.variables,
        "indices": text.indices or [[] for _ in scene.variables],
        "values": [moment.variables for moment in scene.moments],
        "fates": [[(fate.record, fate.words) for fate in moment.fates] for moment in scene.moments],
        "broken": text.broken or [[] for _ in scene.moments],
        "bad": BAD,
    }
