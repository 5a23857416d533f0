"""Draws a state graph as SVG: nodes in columns, curves between them, and a legend; page.css defines the colours.

The nodes of each depth form a column, and are ordered so that few edges cross. A column that is much taller than the
others consists of several vertical strands, and successive nodes are in different strands: this leaves room for edges,
and gives the drawing roughly the proportions of a screen. (networkx.multipartite_layout has no strands, and 2 to 3
times as many crossings.)
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress, groupby, pairwise, product

from isrcheck.checker.graph.state_graph import Edge, Node, StateGraph, failing_names, node_lines, node_notes
from isrcheck.models.messages import escaped
from isrcheck.traces.drawing.graphics import Box
from isrcheck.traces.format.trace import PERMITTED, VIOLATED
from isrcheck.traces.pages.markup import Element, element, group

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
"""Where the label of a curve can be: points along the curve, and positions of the label relative to such a point."""

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
    """Return the drawing of a state graph as an `svg` element."""
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
    """Yield the entries of the legend: for each kind of node (violated, initial, ...) a sample and its meaning."""
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
    points = [curve.at(share) for curve in curves for share in (0.25, 0.5, 0.75)]
    points += [complex(box.left, box.top) for box in boxes]
    points += [complex(box.left + box.width, box.top + box.height) for box in boxes]
    last = layout.columns[-1]
    left = min(0.0, *(point.real for point in points)) - 4
    right = max(last.left + last.width, *(point.real for point in points)) + 4
    top = min(-TITLE, *(point.imag for point in points)) - 4
    bottom = max(layout.height, *(point.imag for point in points)) + 4
    width, height = max(right - left, LEAST_WIDTH), max(bottom - top, LEAST_HEIGHT)
    return f"{(left + right - width) / 2:g} {(top + bottom - height) / 2:g} {width:g} {height:g}"


# --------------------------------------------------------------------------------------------------------------- nodes


def _kinds(node: Node) -> list[str]:
    words = {word for _, word in node.failing}
    holds = (
        VIOLATED in words,
        PERMITTED in words and VIOLATED not in words,
        node.initial,
        node.dead_ends,
        node.unexpanded,
        node.outside,
        node.component is not None,
    )
    return list(compress(SIGNS, holds))


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
        transform=f"translate({place.real:g} {place.imag:g})",
    )


def _shape(kinds: Sequence[str], number: str = "") -> Iterator[Element]:
    """Yield the SVG elements of a node, centred at the origin: its shape, a ring for each of `kinds`, its number."""
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
    """Return the lines of text below a folded node: the common values of its states, and the number of states."""
    if not drawn.fold:
        return []
    *values, count = node_lines(drawn, node)
    shown = values if len(values) < MOST_LINES else [*values[: MOST_LINES - 2], "…"]
    return [*map(_cut, shown), count]


def _reach(kinds: Sequence[str]) -> int:
    return max([RADIUS, *(radius for kind, radius in RINGS.items() if kind in kinds)])


def _box_of_node(place: Point, below: Sequence[str]) -> Box:
    half, radius = max(_width(below) / 2, max(RINGS.values())), max(RINGS.values())
    return Box(place.real - half, place.imag - radius, 2 * half, 2 * radius + 2 + LINE * len(below))


# --------------------------------------------------------------------------------------------------------------- edges


@dataclass(frozen=True)
class _Curve:
    """A cubic Bezier curve from the first point to the last; the second and third points are its control points."""

    points: tuple[Point, Point, Point, Point]

    def at(self, share: float) -> Point:
        remainder = 1 - share
        weights = (remainder**3, 3 * remainder**2 * share, 3 * remainder * share**2, share**3)
        return sum(weight * point for weight, point in zip(weights, self.points, strict=True))

    @property
    def path(self) -> str:
        begin, *others = (f"{point.real:.1f},{point.imag:.1f}" for point in self.points)
        return f"M{begin} C{' '.join(others)}"


def _curve(source: Node, target: Node, start: Point, end: Point) -> _Curve:
    """Return the curve of an edge: backward edges run below forward edges; edges within a column bend outwards."""
    leave, reach = _reach(_kinds(source)), _reach(_kinds(target)) + 1
    if source is target:
        top = start - leave * 1j
        return _Curve((top - 5, top - 28 - 24j, top + 28 - 24j, top + 5))
    across, down = abs(start.real - end.real), abs(start.imag - end.imag)
    if across < 1:
        side = 1 if start.imag < end.imag else -1
        bow = side * min(20 + 0.1 * down, 60)
        begin, stop = start + side * leave, end + side * reach
        return _Curve((begin, begin + bow, stop + bow, stop))
    away = 1 if start.real < end.real else -1
    bend = 0j if away == 1 else (24 + 0.12 * down + 0.06 * across) * 1j
    begin, stop = start + away * leave, end - away * reach
    half = (stop.real - begin.real) / 2
    return _Curve((begin, begin + half + bend, stop - half + bend, stop))


def _edge(number: int, edge: tuple[int, int, Edge], curve: _Curve) -> Element:
    source, target, steps = edge
    is_broken = any(word == VIOLATED for _, word in steps.failing)
    tooltip = "; ".join(filter(None, [steps.label, ", ".join(failing_names(steps.failing))]))
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
    """Return the label of a curve at a free position, and add it to `taken`; no elements if no position is free."""
    width, height = _width([text]) + 4, LINE + 4
    for point, (right, down) in product(map(curve.at, PLACES), SIDES) if text else ():
        box = Box(point.real + right * width, point.imag + down * height, width, height)
        if not any(_overlap(box, other) for other in taken):
            taken.append(box)
            return list(_lines([text], box.left + width / 2, box.top + 2, "label"))
    return []


def _overlap(box: Box, other: Box) -> bool:
    return (
        box.left < other.left + other.width
        and other.left < box.left + box.width
        and box.top < other.top + other.height
        and other.top < box.top + box.height
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


# --------------------------------------------------------------------------------------------------------------- layout


SWEEPS = 6
"""The number of passes over the columns, alternately from left to right and back."""

SHAPE = 1.4
"""The expected ratio of width to height of the window."""


Point = complex
"""A point of a drawing: x to the right is the real part, y downwards the imaginary one."""


@dataclass(frozen=True)
class Column:
    """The position and width of the column of nodes at one depth."""

    depth: int
    left: float
    width: float


@dataclass(frozen=True)
class Layout:
    """The place of each node by its number; the columns from left to right; the height of all columns."""

    places: Mapping[int, Point]
    columns: Sequence[Column]
    height: float


def lay_out(drawn: StateGraph, across: float, down: float, gap: float) -> Layout:
    """Return the layout of a graph whose nodes are `across` wide and `down` high, with `gap` between the columns."""
    columns = layers(drawn)
    rows = _rows([len(column) for column in columns], across, down, gap)
    strands = [math.ceil(len(column) / rows) for column in columns]
    height = max(down * (1 + (len(column) - 1) / count) for column, count in zip(columns, strands, strict=True))
    places, positions, left = {}, [], 0.0
    for column, count in zip(columns, strands, strict=True):
        for place, number in enumerate(column):
            x = left + gap / 2 + (place % count + 0.5) * across
            places[number] = complex(x, height / 2 + (place - (len(column) - 1) / 2) * down / count)
        width = count * across + gap
        positions.append(Column(drawn.node(column[0]).depth, left, width))
        left += width
    return Layout(places, positions, height)


def layers(drawn: StateGraph) -> list[list[int]]:
    """Return the nodes of each column, from top to bottom, ordered by the mean heights of their neighbours."""
    nodes = sorted(drawn.nodes(), key=lambda node: node.depth)
    columns = [[node.number for node in group] for _, group in groupby(nodes, key=lambda node: node.depth)]
    graph = drawn.graph
    for sweep in range(SWEEPS):
        order = columns if sweep % 2 == 0 else columns[::-1]
        for before, column in pairwise(order):
            height = {number: place / max(1, len(before) - 1) for place, number in enumerate(before)}
            own = {number: place / max(1, len(column) - 1) for place, number in enumerate(column)}

            def middle(number: int, height: dict[int, float] = height, own: dict[int, float] = own) -> float:
                near = [height[n] for n in (*graph.predecessors(number), *graph.successors(number)) if n in height]
                return sum(near) / len(near) if near else own[number]

            column.sort(key=middle)
    return columns


def _rows(sizes: Sequence[int], across: float, down: float, gap: float) -> int:
    """Return the number of nodes per strand with which a drawing of columns of these `sizes` fits a screen best."""

    def extent(rows: int) -> float:
        width = sum(math.ceil(size / rows) * across + gap for size in sizes)
        return max(width / SHAPE, rows * down)

    return min(range(1, max(sizes) + 1), key=extent)
