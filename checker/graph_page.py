"""A state graph as one page: a drawing that can be moved and enlarged, and what each node is made of.

In:  a `StateGraph`. Out: HTML that needs nothing from elsewhere.

What stands in a model is text here, never markup: in the drawing it is escaped, in the data of the script no `<` is
left, and the script puts it into the page as text.
"""

from __future__ import annotations

import html
import json
from collections.abc import Iterator

from checker.graph import BROKEN, PERMITTED, Edge, Node, StateGraph, summary
from checker.graph_layout import layers, points
from checker.graph_text import failing_names, node_lines, node_notes, plain
from checker.report import counted

RADIUS = 11
ACROSS, DOWN = 130, 46
FOLDED_ACROSS, FOLDED_DOWN = 260, 70
SLIMMEST = 0.8
"""The drawing of a graph with tall columns is made at least so wide as a part of its height, up to three times."""

MOST_LABELS = 30
"""Up to so many edges have their labels beside them; of more they are shown where one points at the edge."""


def page(drawn: StateGraph) -> Iterator[str]:
    """The lines of the page."""
    title = _text(f"{drawn.instance.model.name} {drawn.instance.protocol.name}".strip())
    yield f"<!doctype html>\n<html lang='en'>\n<head>\n<meta charset='utf-8'>\n<title>State graph of {title}</title>"
    yield f"<meta http-equiv='Content-Security-Policy' content=\"{POLICY}\">"
    yield f"<meta name='viewport' content='width=device-width'>\n<style>{STYLE}</style>\n</head>\n<body>"
    yield f"<header><h1>State graph of {title}</h1><p>{_text(_figures(drawn))}</p>{LEGEND}</header>\n<main>"
    yield from _drawing(drawn)
    yield "<aside id='panel' aria-live='polite'><p>Choose a node to see its state.</p></aside>\n</main>"
    yield f"<script type='application/json' id='data'>{_data(drawn)}</script>"
    yield f"<script>{SCRIPT}</script>\n</body>\n</html>"


def _text(text: str) -> str:
    return html.escape(plain(text), quote=True)


def _figures(drawn: StateGraph) -> str:
    figures = summary(drawn)
    parts = [counted(drawn.states, "state"), counted(drawn.transitions, "transition")]
    if drawn.fold:
        parts.append(f"folded by {', '.join(drawn.fold)} into {counted(figures['nodes'], 'node')}")
    parts += [counted(figures["edges"], "edge"), counted(figures["dead_ends"], "dead end")]
    if figures["not_expanded"]:
        parts.append(f"to depth {drawn.bound}: {counted(figures['not_expanded'], 'state')} at the bound not expanded")
    parts.append(f"{counted(drawn.components, 'strongly connected component')} of several nodes")
    parts += [f"{one['property']} {one['verdict']}: {one['count']:,}" for one in figures["failing"]]
    return "; ".join(parts)


# -------------------------------------------------------------------------------------------------------- the drawing


def _drawing(drawn: StateGraph) -> Iterator[str]:
    across, down = (FOLDED_ACROSS, FOLDED_DOWN) if drawn.fold else (ACROSS, DOWN)
    columns = layers(drawn)
    across = max(across, min(3 * across, round(SLIMMEST * down * max(map(len, columns)) / len(columns))))
    places = points(columns, across, down)
    width = max(x for x, _ in places.values()) + across / 2
    height = max(y for _, y in places.values()) + down / 2
    yield f"<svg viewBox='0 0 {width:g} {height:g}' role='img' aria-label='The state graph' tabindex='0'>{ARROWS}"
    edges = drawn.edges()
    for number, (source, target, edge) in enumerate(edges):
        yield _edge(number, places[source], places[target], edge, source, target, is_labelled=len(edges) <= MOST_LABELS)
    for node in drawn.nodes():
        yield _node(drawn, node, *places[node.number])
    yield "</svg>"


def _node(drawn: StateGraph, node: Node, x: float, y: float) -> str:
    words = {word for _, word in node.failing}
    kinds = {
        "violated": BROKEN in words,
        "permitted": PERMITTED in words and BROKEN not in words,
        "initial": node.initial,
        "dead": node.dead_ends,
        "open": node.unexpanded,
    }
    names = " ".join(["node", *(name for name, is_so in kinds.items() if is_so)])
    sign = "!" if kinds["violated"] else "~" if kinds["permitted"] else ""
    lines = [*(f"{name} {value}" for name, value in node.fields.items()), *node_notes(drawn, node)]
    shape = f"cx='{x:g}' cy='{y:g}' r='{RADIUS}'"
    inner = f"<circle {shape}/>"
    if node.dead_ends:
        inner = f"<rect x='{x - RADIUS:g}' y='{y - RADIUS:g}' width='{2 * RADIUS}' height='{2 * RADIUS}'/>"
    if node.initial:
        inner += f"<circle class='ring' cx='{x:g}' cy='{y:g}' r='{RADIUS + 4}'/>"
    if node.component is not None:
        inner += f"<circle class='component' cx='{x:g}' cy='{y:g}' r='{RADIUS + 7}'/>"
        inner += f"<text class='note' x='{x:g}' y='{y + RADIUS + 17:g}'>c{node.component}</text>"
    inner += f"<text x='{x:g}' y='{y + 4:g}'>{node.number}{sign}</text>"
    if drawn.fold:
        inner += f"<text class='note' x='{x:g}' y='{y - RADIUS - 8:g}'>{_text(_short(node_lines(drawn, node)))}</text>"
    title = "\n".join(map(_text, lines))
    return f"<g class='{names}' data-node='{node.number}' tabindex='0'><title>{title}</title>{inner}</g>"


def _short(lines: list[str]) -> str:
    text = ", ".join(lines)
    return text if len(text) <= 40 else f"{text[:39]}…"


def _edge(
    number: int,
    start: tuple[float, float],
    end: tuple[float, float],
    edge: Edge,
    source: int,
    target: int,
    *,
    is_labelled: bool,
) -> str:
    (x, y), (to_x, to_y) = start, end
    if source == target:
        bow = RADIUS * 2.6
        path = f"M{x - 5:g},{y - RADIUS:g} C{x - bow:g},{y - bow:g} {x + bow:g},{y - bow:g} {x + 5:g},{y - RADIUS:g}"
        middle = (x, y - bow)
    else:
        away = 1 if to_x > x else -1
        bend = 0.0 if to_x > x else 24.0 + 0.12 * abs(y - to_y)  # what leads back runs beside what leads on
        begin, stop = x + away * RADIUS, to_x - away * (RADIUS + 5)
        if to_x == x:
            begin, stop = x + RADIUS, to_x + RADIUS + 5
        half = (stop - begin) / 2 if to_x != x else 30
        path = (
            f"M{begin:g},{y:g} C{begin + half:g},{y + bend:g}"
            f" {stop - (half if to_x != x else -30):g},{to_y + bend:g} {stop:g},{to_y:g}"
        )
        middle = ((begin + stop) / 2 + (22 if to_x == x else 0), (y + to_y) / 2 + 0.75 * bend)
    failing = ", ".join(failing_names(edge.failing))
    title = _text(f"{source} to {target}: {edge.label}{f'; {failing}' if failing else ''}")
    label = ""
    if is_labelled:
        label = f"<text class='label' x='{middle[0]:g}' y='{middle[1] - 3:g}'>{_text(_short([edge.label]))}</text>"
    kind = "edge violated" if any(word == BROKEN for _, word in edge.failing) else "edge"
    return (
        f"<g class='{kind}' data-edge='{number}' data-from='{source}' data-to='{target}'><title>{title}</title>"
        f"<path class='wide' d='{path}'/><path d='{path}'/>{label}</g>"
    )


def _data(drawn: StateGraph) -> str:
    """What the script shows of each node. Without `<` it cannot end the element that it stands in."""
    nodes = [
        {
            "depth": node.depth,
            "fields": [[plain(name), plain(value)] for name, value in node.fields.items()],
            "notes": [plain(note) for note in node_notes(drawn, node)],
        }
        for node in drawn.nodes()
    ]
    edges = [
        [source, target, plain("; ".join([edge.label, *failing_names(edge.failing)]))]
        for source, target, edge in drawn.edges()
    ]
    text = json.dumps({"nodes": nodes, "edges": edges}, ensure_ascii=True)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


# ------------------------------------------------------------------------------------------------- what never changes

POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'"

ARROWS = (
    "<defs><marker id='arrow' viewBox='0 0 8 8' refX='7' refY='4' markerWidth='7' markerHeight='7' orient='auto'>"
    "<path class='head' d='M0,0 L8,4 L0,8 z'/></marker></defs>"
)

LEGEND = (
    "<p class='legend'><b>!</b> a promise is broken &middot; <b>~</b> permitted failure &middot; double outline:"
    " initial &middot; square: dead end &middot; dashed: at the bound, not expanded &middot; blue ring and"
    " <b>c1</b>: strongly connected component. Drag to move, turn the wheel to enlarge.</p>"
    "<p><button id='in'>larger</button> <button id='out'>smaller</button> <button id='fit'>all of it</button></p>"
)

STYLE = """
:root { color-scheme: light dark; --back: #fff; --front: #1b1b1b; --line: #777; --node: #f2f2f2; --quiet: #555;
  --violated: #f4a6a6; --permitted: #f6e0a0; --red: #b00020; --blue: #1f5fbf; --chosen: #d65f00; }
@media (prefers-color-scheme: dark) { :root { --back: #16181c; --front: #e8e8e8; --line: #8a8f98; --node: #2a2e35;
  --quiet: #a9afb9; --violated: #7a2430; --permitted: #6a5716; --red: #ff7b8a; --blue: #7fb2ff; --chosen: #ffa04d; } }
* { box-sizing: border-box; }
body { margin: 0; height: 100vh; display: flex; flex-direction: column; background: var(--back); color: var(--front);
  font: 14px/1.4 system-ui, sans-serif; }
header { padding: .5rem 1rem; } h1 { font-size: 1.1rem; margin: 0; } header p { margin: .2rem 0; }
.legend { color: var(--quiet); }
main { flex: 1; display: flex; min-height: 0; border-top: 1px solid var(--line); }
svg { flex: 1; min-width: 0; height: 100%; touch-action: none; cursor: grab; }
aside { width: 22rem; max-width: 45%; overflow: auto; padding: .5rem 1rem; border-left: 1px solid var(--line);
  overflow-wrap: anywhere; }
aside table { border-collapse: collapse; } aside td { padding: 0 .6rem .1rem 0; vertical-align: top; }
aside td:first-child { color: var(--quiet); }
aside button { font: inherit; text-align: left; }
.node circle, .node rect { fill: var(--node); stroke: var(--front); } .node { cursor: pointer; }
.node:focus { outline: none; } .node:focus-visible circle, .node:focus-visible rect { stroke-width: 3; }
.node.violated circle, .node.violated rect { fill: var(--violated); stroke: var(--red); }
.node.permitted circle, .node.permitted rect { fill: var(--permitted); }
.node.open circle, .node.open rect { stroke-dasharray: 3 2; }
.node circle.ring { fill: none; stroke: var(--front); stroke-dasharray: none; }
.node circle.component { fill: none; stroke: var(--blue); stroke-width: 2; stroke-dasharray: 5 3; }
.node.chosen circle, .node.chosen rect { stroke: var(--chosen); stroke-width: 3; }
text { fill: var(--front); font-size: 10px; text-anchor: middle; pointer-events: none; }
text.note, text.label { font-size: 8px; fill: var(--quiet); }
.edge path { fill: none; stroke: var(--line); marker-end: url(#arrow); }
.edge path.wide { stroke: transparent; stroke-width: 9; marker-end: none; }
.edge.violated path { stroke: var(--red); } .edge.violated path.wide { stroke: transparent; }
.edge.near path:not(.wide), .edge:hover path:not(.wide) { stroke: var(--chosen); stroke-width: 2; }
.head { fill: var(--line); }
@media print { aside, button { display: none; } body { height: auto; } }
"""

SCRIPT = """
"use strict";
const svg = document.querySelector("svg"), panel = document.getElementById("panel");
const data = JSON.parse(document.getElementById("data").textContent);
const whole = svg.getAttribute("viewBox").split(" ").map(Number);
let box = whole.slice(), held = null, moved = false;
function show() { svg.setAttribute("viewBox", box.join(" ")); }
function zoom(factor, x, y) {
  box = [x - (x - box[0]) * factor, y - (y - box[1]) * factor, box[2] * factor, box[3] * factor]; show();
}
function point(event) {
  const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
  return [at.x, at.y];
}
function middle() { return [box[0] + box[2] / 2, box[1] + box[3] / 2]; }
svg.addEventListener("wheel", event => {
  event.preventDefault(); zoom(event.deltaY > 0 ? 1.15 : 1 / 1.15, ...point(event));
}, { passive: false });
svg.addEventListener("pointerdown", event => { held = point(event); moved = false; });
svg.addEventListener("pointermove", event => {
  if (!held || !event.buttons) { held = null; return; }
  const at = point(event);
  if (Math.hypot(at[0] - held[0], at[1] - held[1]) > 2) moved = true;
  box[0] -= at[0] - held[0]; box[1] -= at[1] - held[1]; show();
});
svg.addEventListener("pointerup", () => { held = null; });
document.getElementById("in").onclick = () => zoom(1 / 1.4, ...middle());
document.getElementById("out").onclick = () => zoom(1.4, ...middle());
document.getElementById("fit").onclick = () => { box = whole.slice(); show(); };
function make(name, text, parent) {
  const made = document.createElement(name);
  if (text !== null) made.textContent = text;
  parent.append(made);
  return made;
}
function steps(title, found, end) {
  if (!found.length) return;
  make("h3", title, panel);
  const list = make("ul", null, panel);
  for (const edge of found) {
    const item = make("li", null, list), button = make("button", edge[end] + ": " + edge[2], item);
    button.onclick = () => choose(edge[end]);
  }
}
function choose(number) {
  const node = data.nodes[number];
  for (const one of document.querySelectorAll(".chosen")) one.classList.remove("chosen");
  for (const one of document.querySelectorAll(".near")) one.classList.remove("near");
  document.querySelector(`[data-node="${number}"]`).classList.add("chosen");
  const ends = `[data-from="${number}"],[data-to="${number}"]`;
  for (const one of document.querySelectorAll(ends)) one.classList.add("near");
  panel.replaceChildren();
  make("h2", "Node " + number + ", depth " + node.depth, panel);
  for (const note of node.notes) make("p", note, panel);
  const table = make("table", null, panel);
  for (const [name, value] of node.fields) {
    const row = make("tr", null, table); make("td", name, row); make("td", value, row);
  }
  steps("leads to", data.edges.filter(edge => edge[0] === number), 1);
  steps("comes from", data.edges.filter(edge => edge[1] === number), 0);
}
for (const one of document.querySelectorAll("[data-node]")) {
  one.addEventListener("click", () => { if (!moved) choose(Number(one.dataset.node)); });
  one.addEventListener("keydown", event => { if (event.key === "Enter") choose(Number(one.dataset.node)); });
}
"""
