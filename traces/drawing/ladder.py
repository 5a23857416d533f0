"""The ladder of a page: every step in plain words, and below it its messages between the lanes, time downwards.

In:  a `Scene`.
Out: an element of a page. Lanes are equal parts of the width, so the ladder fits a telephone as well as a wall; its
     style is in page.css.

The middle of lane l is at (l + 0.5) / lanes of the width. A text stands in the middle of its arrow, but not outside the
ladder: a text of n characters of a fixed-width font is n `ch` wide, so the style can tell.
"""

from __future__ import annotations

from isrcheck.traces.drawing.markup import Element, element
from isrcheck.traces.lanes.scene import Arrow, Mark, Moment, Scene


def ladder(scene: Scene, address: str = "#step=") -> Element:
    """Return the ladder of a scene: the names of the lanes, and a list with an item for each step, whose link is
    `address` and its number."""
    rows = (_row(scene, position, moment, address) for position, moment in enumerate(scene.moments))
    names = element("div", *(element("span", name) for name in scene.lanes), class_="lanes", aria_hidden="true")
    return element(
        "section",
        names if any(one.arrows or one.marks for one in scene.moments) else None,
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
    events = [*(_arrow(scene, one) for one in moment.arrows), *(_mark(scene, one) for one in moment.marks)]
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
"""What the kind of an arrow means, if it is not that the message arrives in this step."""


def _mark(scene: Scene, mark: Mark) -> Element:
    place = f"--middle:{mark.lane + 0.5:g};--signs:{len(mark.text) + 3}"
    text = element("span", mark.text, class_="text")
    return element("li", text, class_=f"mark {mark.kind}", style=place, title=f"{scene.lanes[mark.lane]}: {mark.text}")
