"""A state graph as one HTML page: a drawing that can be moved and zoomed, and a panel with the state of a chosen node.

In:  a `StateGraph`. Out: the text of an HTML file that loads no other file, and runs only its own scripts.
"""

from __future__ import annotations

from isrcheck.checker.graph.drawing import drawing, samples
from isrcheck.checker.graph.state_graph import StateGraph, summary
from isrcheck.checker.graph.text import failing_names, node_notes
from isrcheck.checker.results.terminal import counted
from isrcheck.commands.program import product
from isrcheck.models.messages import escaped
from isrcheck.traces.drawing.markup import Content, Element, as_html, beside, data, element
from isrcheck.traces.drawing.theme import theme_button, themed_head, themed_security


def page(drawn: StateGraph) -> str:
    """Return the text of the page."""
    script = beside("isrcheck.checker.graph", "page.js")
    title = f"State graph of {escaped(f'{drawn.instance.model.name} {drawn.instance.protocol.name}'.strip())}"
    body = element(
        "body",
        element(
            "header",
            element("h1", title),
            _buttons(),
            element("p", _figures(drawn)),
            _legend(),
            element("p", product()),
        ),
        element(
            "main",
            drawing(drawn),
            element("aside", element("p", "Choose a node to see its state."), id="panel", aria_live="polite"),
        ),
        data("data", _page_data(drawn)),
        element("script", script),
    )
    head = themed_head(title, beside("isrcheck.checker.graph", "page.css"), themed_security(script))
    return as_html(element("html", head, body, lang="en"))


def _figures(drawn: StateGraph) -> str:
    figures = summary(drawn)
    parts = [counted(drawn.states, "state"), counted(drawn.transitions, "transition")]
    if drawn.fold:
        parts.append(f"folded by {', '.join(drawn.fold)} into {counted(figures['nodes'], 'node')}")
    parts += [counted(figures["edges"], "edge"), counted(figures["dead_ends"], "dead end")]
    if figures["not_expanded"]:
        parts.append(f"to depth {drawn.bound}: {counted(figures['not_expanded'], 'state')} at the bound not expanded")
    if figures["outside"]:
        parts.append(f"{counted(figures['outside'], 'state')} outside the constraint, not expanded")
    parts.append(f"{counted(drawn.components, 'strongly connected component')} of several nodes")
    parts += [f"{one['property']} {one['verdict']}: {one['count']:,}" for one in figures["failing"]]
    return escaped("; ".join(parts))


def _legend() -> Element:
    items: list[Content] = [element("span", sample, meaning) for sample, meaning in samples()]
    return element("p", *items, class_="legend")


def _buttons() -> Element:
    names = {"in": "larger", "out": "smaller", "fit": "whole graph"}
    return element(
        "div",
        element("span", "Drag to move, scroll to zoom.", class_="quiet"),
        *(element("button", says, id=name, type="button") for name, says in names.items()),
        theme_button(),
        id="controls",
    )


def _page_data(drawn: StateGraph) -> dict[str, object]:
    """Return the data of nodes and edges for the script."""
    nodes = [
        {
            "depth": node.depth,
            "fields": [[escaped(name), escaped(value)] for name, value in node.fields.items()],
            "notes": [escaped(note) for note in node_notes(drawn, node)],
        }
        for node in drawn.nodes()
    ]
    edges = [
        [source, target, escaped("; ".join([edge.label, *failing_names(edge.failing)]))]
        for source, target, edge in drawn.edges()
    ]
    return {"nodes": nodes, "edges": edges}
