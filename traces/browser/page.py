"""The page of a walk: the state, the steps that are possible next as buttons, the properties, and the walk so far.

In:  a `View`.
Out: the text of an HTML file, and its content security policy. It loads nothing, and runs only its own scripts.

The walk so far and the state are drawn as on the page of a trace (traces/drawing). Text of a model is text everywhere,
never markup.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from isrcheck.commands.program import product
from isrcheck.traces.drawing.ladder import ladder
from isrcheck.traces.drawing.markup import Content, Element, as_html, beside, data, element
from isrcheck.traces.drawing.page import lane_data, script, state_place
from isrcheck.traces.drawing.theme import theme_button, themed_head, themed_security
from isrcheck.traces.lanes.scene import Scene

PACKAGE = "isrcheck.traces.browser"


@dataclass(frozen=True)
class Turn:
    """What a step does to a property: a sentence for everybody, and the same in the terms of the model. `verdict` is
    that of the property after the step."""

    sentence: str
    text: str
    verdict: str


@dataclass(frozen=True)
class Choice:
    """A step that is possible next: in words, by its name, with what it turns false and the cells that it changes.

    A step with a `problem` causes an error, and cannot be taken.
    """

    words: str
    name: str
    turns: Sequence[Turn] = ()
    changes: Sequence[str] = ()
    problem: str = ""


@dataclass(frozen=True)
class View:
    """Everything that a page shows.

    `place` is the number of steps taken, -1 while an initial state is chosen; `first` and `last` are the least and the
    greatest place to which one can go. `mark` identifies the state, and comes back with a form. `unjudged` names the
    properties about which the choices say nothing. `scene` holds the whole walk, undone steps included. `told` holds
    lines about the properties, each with a verdict or ""; `broken` names the false ones. `notice` says why something
    was not done.
    """

    title: str
    verdict: str
    subtitle: str
    place: int
    first: int
    last: int
    mark: str
    choices: Sequence[Choice]
    unjudged: Sequence[str]
    scene: Scene | None
    indices: Sequence[Sequence[str]]
    told: Sequence[tuple[str, str]]
    broken: Sequence[str]
    saved: Sequence[str]
    notice: str


def page_of(view: View) -> str:
    """Return the page."""
    style = beside("isrcheck.traces.drawing", "page.css") + beside(PACKAGE, "page.css")
    main: list[Content] = [_next(view)]
    if view.scene is not None:
        main = [state_place(), _next(view), _promises(view), _walk(view.scene, view.place)]
    body = element(
        "body",
        _header(view),
        _controls(view),
        element("main", *main, class_=None if view.scene else "start"),
        data("story", _story(view)),
        element("script", script(PACKAGE)),
    )
    where = "choose an initial state" if view.place < 0 else f"step {view.place}"
    return as_html(element("html", themed_head(f"{where}: {view.title}", style, security()), body, lang="en"))


def security() -> str:
    """Return the content security policy of the page: only its own scripts run."""
    return f"{themed_security(script(PACKAGE))}; form-action 'self'; base-uri 'none'"


def address_of(place: int) -> str:
    """Return the address of a place in the walk, after the token."""
    return "start" if place < 0 else f"step-{place}"


# ----------------------------------------------------------------------------------------------------- top and controls


def _header(view: View) -> Element:
    kind = view.verdict.replace(" ", "-")
    verdict = [element("span", view.verdict, class_=f"verdict {kind}")] if view.verdict else []
    said = [element("p", view.notice, class_="notice", role="alert")] if view.notice else []
    said += (element("p", line, class_="saved", role="status") for line in view.saved)
    return element(
        "header",
        element("h1", view.title),
        element("p", *verdict, element("span", view.subtitle), class_="caption"),
        element("p", element("span", product()), theme_button(), class_="product"),
        *said,
    )


def _controls(view: View) -> Element:
    save = element("button", "save", id="save", title="save the walk so far as a trace (s)")
    if view.scene is None:
        save.set("disabled", "")
    where = "before the first step" if view.place < 0 else f"step {view.place}"
    if 0 <= view.place < view.last:
        where += f" of {view.last}"
    return element(
        "nav",
        _link("back", "◀ back", view.place - 1, view.place > view.first, "undo the last step (left arrow)"),
        _link("forward", "forward ▶", view.place + 1, view.place < view.last, "redo the step (right arrow)"),
        element("form", *_marks(view), save, method="post", action="save"),
        element("output", where, id="position"),
        id="controls",
        aria_label="the walk",
    )


def _link(name: str, text: str, place: int, is_possible: bool, hint: str) -> Element:
    address = address_of(place) if is_possible else None
    return element("a", text, id=name, class_="button", href=address, title=hint, aria_disabled=_true(not is_possible))


def _true(told: bool) -> str | None:
    return "true" if told else None


def _marks(view: View) -> list[Element]:
    """The fields of every form: where its page stands, so that a page of an earlier walk takes no step by mistake."""
    fields = {"place": str(view.place), "mark": view.mark}
    # A browser must not put the values of an earlier page into a page that is loaded again.
    return [
        element("input", type="hidden", name=name, value=value, autocomplete="off") for name, value in fields.items()
    ]


# --------------------------------------------------------------------------------------------------------- what is next


def _next(view: View) -> Element:
    if view.place < 0:
        title = "Where the walk begins"
    else:
        count = len(view.choices)
        title = f"What can happen next: {count} step{'s' * (count != 1)}"
    options = (_option(number, one) for number, one in enumerate(view.choices))
    parts: list[Content] = [element("h2", title)]
    if view.choices:
        hints = {"placeholder": "filter by words ( / )", "aria_label": "filter", "autocomplete": "off"}
        find = element("input", id="filter", type="search", **hints)
        listed = element("ol", *options)
        parts += [find, element("form", *_marks(view), listed, method="post", action="take", id="options")]
        parts.append(element("p", "no step contains these words", id="nothing", hidden=""))
    else:
        parts.append(element("p", "No step is enabled: a dead end."))
    if view.unjudged:
        told = f"Judged only when a step is taken, or never on a path: {', '.join(view.unjudged)}."
        parts.append(element("p", told, class_="hint"))
    hint = "Keys: left goes back, right forward, / filters, s saves. The address leads to this step again."
    return element("section", *parts, element("p", hint, class_="hint"), id="next", aria_label="what can happen next")


def _option(number: int, one: Choice) -> Element:
    name = element("code", one.name) if one.name != one.words else None
    told: list[Element] = []
    if one.problem:
        told = [element("span", f"causes an error: {one.problem}", class_="turn VIOLATED")]
    for turn in one.turns:
        told.append(element("span", turn.sentence, class_=f"turn {turn.verdict}"))
        told.append(element("code", turn.text, class_=f"terms {turn.verdict}"))
    taken = element("button", element("span", one.words, class_="words"), name, *told, name="option", value=str(number))
    if one.problem:
        taken.set("disabled", "")
    changed = element("ul", *(element("li", line) for line in one.changes))
    details = element("details", element("summary", "changes"), changed) if one.changes else None
    return element("li", taken, details)


# ------------------------------------------------------------------------------------------ properties, the walk so far


def _promises(view: View) -> Element:
    lines = (element("p", line, class_=f"promise {verdict}".strip()) for line, verdict in view.told)
    variables = element("table", element("tbody", id="variables"), class_="values")
    return element(
        "aside",
        element("h2", "Properties"),
        *lines,
        element("details", element("summary", "All variables of the model"), variables),
    )


def _walk(scene: Scene, place: int) -> Element:
    drawn = ladder(scene, address_of(0).removesuffix("0"))
    for number, row in enumerate(drawn.iterfind("ol/li")):
        if number >= place:
            row.set("class", "moment current" if number == place else "moment ahead")
    return drawn


def _story(view: View) -> Mapping[str, object]:
    """The data for the page's script: the state before the last step, and the state now."""
    scene = view.scene
    if scene is None:
        return {}
    now, before = scene.moments[view.place], scene.moments[max(0, view.place - 1)]
    return {
        "place": view.place,
        "words": now.words,
        "titles": scene.lanes,
        "before": [lane_data(lane) for lane in before.lanes],
        "now": [lane_data(lane) for lane in now.lanes],
        "variables": scene.variables,
        "indices": view.indices,
        "values": [before.variables, now.variables],
        "broken": view.broken,
    }
