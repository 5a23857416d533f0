"""A state graph as SVG: nodes in columns, curves between them, and a legend.

In:  a `StateGraph`. Out: `svg` elements; the page that contains them defines their colours (page.css).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

from isrcheck.checker.graph.layout import Layout, Point, lay_out
from isrcheck.checker.graph.state_graph import BROKEN, PERMITTED, Edge, Node, StateGraph
from isrcheck.checker.graph.text import failing_names, node_lines, node_notes
from isrcheck.models.messages import escaped
from isrcheck.traces.drawing.lane_drawing import Box
from isrcheck.traces.drawing.markup import Element, element, group

RADIUS = 13
RINGS = {"initial": RADIUS + 4, "component": RADIUS + 8}
"""The rings around a node, with their radii."""

ACROSS, DOWN = 84, 46
"""The width and height of a node's space if the node has no text below it."""

GLYPH = 6.1
"""The width of a character of the font that page.css gives the text."""

LINE = 12
TITLE = 26
"""The height of a line of text, and the height of a column's heading."""

FREE, NARROW_GAP = 24, 30
"""The free space beside a text, and the space between columns if edges have no labels."""

MOST_LABELS = 30
"""If there are more edges than this, the label of an edge is only shown while the pointer is on the edge."""

MOST_LETTERS, MOST_LINES = 28, 4
"""The most letters of a line and lines of a text. Longer texts are cut; the panel shows a chosen node's whole text."""

LEAST_WIDTH, LEAST_HEIGHT = 560, 400
"""The minimum size of the drawing, so that a small graph is not enlarged too much."""

PLACES = (0.5, 0.4, 0.6, 0.3, 0.7, 0.2, 0.8)
SIDES = ((-0.5, -1.0), (-0.5, 0.0), (0.0, -0.5), (-1.0, -0.5))
"""The candidate positions of a curve's label: points along the curve, and offsets of the label from the point."""

HEADS = ("head", "head-violated", "head-near")
"""The names of the arrow heads, one for each colour of lines."""

SIGNS = {
    "violated": "violation",
    "permitted": "permitted failure",
    "initial": "initial",
    "dead": "dead end",
    "open": "at the bound, not expanded",
    "outside": "outside the constraint, not expanded",
    "component": "strongly connected components c1, c2, ...",
}
"""The legend: the meaning of each CSS class of a node."""


def drawing(drawn: StateGraph) -> Element:
    """Return the graph as an `svg` element."""
    edges = drawn.edges()
    below = {node.number: _below(drawn, node) for node in drawn.nodes()}
    labels = [_cut(edge.label) if len(edges) <= MOST_LABELS else "" for _, _, edge in edges]
    across = max(ACROSS, FREE + _width([line for lines in below.values() for line in lines]))
    down = DOWN + LINE * max(map(len, below.values()))
    gap: float = NARROW_GAP
    if any(labels):
        down, gap = down + 2 * LINE, FREE + 1.6 * _width(labels)  # room for several labels beside each other
    layout = lay_out(drawn, across, down, gap)
    curves = [_curve(drawn.node(a), drawn.node(b), layout.places[a], layout.places[b]) for a, b, _ in edges]
    taken = [_box_of_node(layout.places[number], lines) for number, lines in below.items()]
    arrows = [_edge(number, *pair) for number, pair in enumerate(zip(edges, curves, strict=True))]
    names = [part for text, curve in zip(labels, curves, strict=True) for part in _label(text, curve, taken)]
    nodes = [_node(drawn, node, layout.places[node.number], below[node.number]) for node in drawn.nodes()]
    return element(
        "svg",
        element("defs", *map(_head, HEADS)),
        group(_columns(layout)),
        group(arrows),
        group(names),
        group(nodes),
        viewBox=_view(layout, curves, taken),
        role="group",
        aria_label="The state graph",
        tabindex=0,
        id="graph",
    )


def samples() -> Iterator[tuple[Element, str]]:
    """Yield the entries of the legend: a sample of each kind of node, and its meaning."""
    for kind, meaning in SIGNS.items():
        sample = element("g", *_shape([kind]), class_=f"node {kind}")
        half = _reach([kind]) + 2
        view = f"{-half} {-half} {2 * half} {2 * half}"
        yield element("svg", sample, viewBox=view, class_="sample", aria_hidden="true"), meaning


def _columns(layout: Layout) -> Iterator[Element]:
    for column in layout.columns:
        if column.left > 0:
            yield element("line", x1=column.left, y1=-TITLE, x2=column.left, y2=layout.height, class_="between")
        yield _text(f"depth {column.depth}", column.left + column.width / 2, -TITLE + 16, "depth")


def _view(layout: Layout, curves: Sequence[_Curve], boxes: Sequence[Box]) -> str:
    """Return the view box that contains the whole drawing."""
    points = [curve.at(share) for curve in curves for share in (0.25, 0.5, 0.75)]
    points += [Point(box.left, box.top) for box in boxes]
    points += [Point(box.left + box.width, box.top + box.height) for box in boxes]
    last = layout.columns[-1]
    left = min(0.0, *(point.x for point in points)) - 4
    right = max(last.left + last.width, *(point.x for point in points)) + 4
    top = min(-TITLE, *(point.y for point in points)) - 4
    bottom = max(layout.height, *(point.y for point in points)) + 4
    width, height = max(right - left, LEAST_WIDTH), max(bottom - top, LEAST_HEIGHT)
    return f"{(left + right - width) / 2:g} {(top + bottom - height) / 2:g} {width:g} {height:g}"


# --------------------------------------------------------------------------------------------------------------- nodes


def _kinds(node: Node) -> list[str]:
    words = {word for _, word in node.failing}
    kinds = {
        "violated": BROKEN in words,
        "permitted": PERMITTED in words and BROKEN not in words,
        "initial": node.initial,
        "dead": node.dead_ends,
        "open": node.unexpanded,
        "outside": node.outside,
        "component": node.component is not None,
    }
    return [name for name, is_so in kinds.items() if is_so]


def _node(drawn: StateGraph, node: Node, place: Point, below: Sequence[str]) -> Element:
    kinds = _kinds(node)
    lines = [*(f"{name} {value}" for name, value in node.fields.items()), *node_notes(drawn, node)]
    return element(
        "g",
        element("title", "\n".join(map(escaped, lines))),
        _text(f"c{node.component}", RADIUS + 6, -RADIUS - 1, "component") if node.component is not None else None,
        *_shape(kinds, str(node.number)),
        *_lines(below, 0, _reach(kinds) + 2, "note"),
        class_=" ".join(["node", *kinds]),
        data_node=node.number,
        tabindex=0,
        transform=f"translate({place.x:g} {place.y:g})",
    )


def _shape(kinds: Sequence[str], number: str = "") -> Iterator[Element]:
    """Yield the elements of a node, centred at the origin."""
    if "dead" in kinds:
        yield element("rect", x=-RADIUS, y=-RADIUS, width=2 * RADIUS, height=2 * RADIUS, class_="shape")
    else:
        yield element("circle", r=RADIUS, class_="shape")
    for kind, radius in RINGS.items():
        if kind in kinds:
            yield element("circle", r=radius, class_=f"ring {kind}")
    text = number + ("!" if "violated" in kinds else "~" if "permitted" in kinds else "")
    yield _text(text, 0, 4, "number long" if len(text) * GLYPH > 2 * RADIUS - 2 else "number")


def _below(drawn: StateGraph, node: Node) -> list[str]:
    """Return the text below a folded node: the common values of its states, and the number of states."""
    if not drawn.fold:
        return []
    *values, count = node_lines(drawn, node)
    shown = values if len(values) < MOST_LINES else [*values[: MOST_LINES - 2], "…"]
    return [*map(_cut, shown), count]


def _reach(kinds: Sequence[str]) -> int:
    return max([RADIUS, *(radius for kind, radius in RINGS.items() if kind in kinds)])


def _box_of_node(place: Point, below: Sequence[str]) -> Box:
    half, radius = max(_width(below) / 2, max(RINGS.values())), max(RINGS.values())
    return Box(place.x - half, place.y - radius, 2 * half, 2 * radius + 2 + LINE * len(below))


# --------------------------------------------------------------------------------------------------------------- edges


@dataclass(frozen=True)
class _Curve:
    """A cubic Bezier curve from the first point to the last; the second and third points are its control points."""

    points: tuple[Point, Point, Point, Point]

    def at(self, share: float) -> Point:
        rest = 1 - share
        weights = (rest**3, 3 * rest**2 * share, 3 * rest * share**2, share**3)
        return Point(
            sum(weight * point.x for weight, point in zip(weights, self.points, strict=True)),
            sum(weight * point.y for weight, point in zip(weights, self.points, strict=True)),
        )

    @property
    def path(self) -> str:
        begin, *others = (f"{point.x:.1f},{point.y:.1f}" for point in self.points)
        return f"M{begin} C{' '.join(others)}"


def _curve(source: Node, target: Node, start: Point, end: Point) -> _Curve:
    """Return the curve of an edge: a backward edge runs below the forward ones, one within a column bends outwards."""
    leave, reach = _reach(_kinds(source)), _reach(_kinds(target)) + 1
    if source is target:
        return _Curve((
            Point(start.x - 5, start.y - leave), Point(start.x - 28, start.y - leave - 24),
            Point(start.x + 28, start.y - leave - 24), Point(start.x + 5, start.y - leave),
        ))  # fmt: skip
    if abs(start.x - end.x) < 1:
        side = 1 if start.y < end.y else -1
        bow = side * min(20 + 0.1 * abs(start.y - end.y), 60)
        begin, stop = Point(start.x + side * leave, start.y), Point(end.x + side * reach, end.y)
        return _Curve((begin, Point(begin.x + bow, begin.y), Point(stop.x + bow, stop.y), stop))
    away = 1 if start.x < end.x else -1
    bend = 0.0 if away == 1 else 24 + 0.12 * abs(start.y - end.y) + 0.06 * abs(start.x - end.x)
    begin, stop = Point(start.x + away * leave, start.y), Point(end.x - away * reach, end.y)
    half = (stop.x - begin.x) / 2
    return _Curve((begin, Point(begin.x + half, begin.y + bend), Point(stop.x - half, stop.y + bend), stop))


def _edge(number: int, edge: tuple[int, int, Edge], curve: _Curve) -> Element:
    source, target, found = edge
    is_broken = any(word == BROKEN for _, word in found.failing)
    tooltip = "; ".join([found.label, *([", ".join(failing_names(found.failing))] if found.failing else [])])
    return element(
        "g",
        element("title", escaped(f"{source} to {target}: {tooltip}")),
        element("path", d=curve.path, class_="wide"),
        element("path", d=curve.path),
        class_="edge violated" if is_broken else "edge",
        data_edge=number,
        data_from=source,
        data_to=target,
    )


def _label(text: str, curve: _Curve, taken: list[Box]) -> Sequence[Element]:
    """Return the label of a curve at a free position, which is added to `taken`; empty if no position is free."""
    width, height = _width([text]) + 4, LINE + 4
    for point, (right, down) in product(map(curve.at, PLACES), SIDES) if text else ():
        box = Box(point.x + right * width, point.y + down * height, width, height)
        if not any(_overlap(box, other) for other in taken):
            taken.append(box)
            return list(_lines([text], box.left + width / 2, box.top + 2, "label"))
    return []


def _overlap(one: Box, other: Box) -> bool:
    return (
        one.left < other.left + other.width
        and other.left < one.left + one.width
        and one.top < other.top + other.height
        and other.top < one.top + one.height
    )


def _head(name: str) -> Element:
    return element(
        "marker",
        element("path", d="M0,0 L8,4 L0,8 z"),
        id=name,
        viewBox="0 0 8 8",
        refX=8,
        refY=4,
        markerWidth=8,
        markerHeight=8,
        markerUnits="userSpaceOnUse",
        orient="auto",
    )


# ---------------------------------------------------------------------------------------------------------------- text


def _text(text: str, x: float, y: float, kind: str) -> Element:
    return element("text", text, x=round(x, 1), y=round(y, 1), class_=kind)


def _lines(lines: Sequence[str], x: float, top: float, kind: str) -> Iterator[Element]:
    """Yield lines of text on a background that hides the curves behind the text."""
    if lines:
        width = _width(lines) + 2
        yield element("rect", x=x - width / 2, y=top, width=width, height=LINE * len(lines), class_="plate")
    for row, line in enumerate(lines):
        yield _text(line, x, top + LINE * row + 9, kind)


def _cut(text: str) -> str:
    shown = escaped(text)
    return shown if len(shown) <= MOST_LETTERS else f"{shown[: MOST_LETTERS - 1]}…"


def _width(lines: Sequence[str]) -> float:
    return GLYPH * max(map(len, lines), default=0)
