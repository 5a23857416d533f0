"""`check graph`: searches a model and writes its states and steps as a graph.

The file is written completely or not at all: DOT for Graphviz, GraphML for Gephi, yEd and others, or an HTML page.

The page has a drawing that can be moved and zoomed, and a panel with the state of a chosen node. Text from a model is
quoted as each format requires, and control characters are made visible.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import networkx as nx

from isrcheck.checker.command.forms import graph_request_of
from isrcheck.checker.command.options import Options
from isrcheck.checker.graph.drawing import drawing, samples
from isrcheck.checker.graph.state_graph import (
    CutShortError,
    Edge,
    Node,
    StateGraph,
    failing_names,
    node_lines,
    node_notes,
    state_graph,
    summary,
)
from isrcheck.checker.resources.limits import Spent
from isrcheck.checker.results import instance_facts as naming
from isrcheck.checker.results.run import CommandResult
from isrcheck.checker.results.terminal import ProgressLine, counted
from isrcheck.checker.results.verdict import WHY_STOPPED
from isrcheck.checker.running.session import SearchSession
from isrcheck.commands.exit_codes import SAFE
from isrcheck.commands.program import product
from isrcheck.commands.settings import instance_of
from isrcheck.models.messages import escaped
from isrcheck.traces.format.files import put
from isrcheck.traces.format.trace import PERMITTED, VIOLATED
from isrcheck.traces.pages.markup import Element, beside, data, element
from isrcheck.traces.pages.shell import COLOURS, Page, theme_button


def run(options: Options, session: SearchSession) -> CommandResult:
    """Run `check graph`: search the model and write its state graph. Raises UsageError, KeyboardInterrupt."""
    instance, request = instance_of(options.model), graph_request_of(options)
    progress = ProgressLine(naming.title(instance))
    try:
        kernel = session.begin(instance, progress).kernel
        within = session.budget.limits(options.limits)
        with session.budget.kept():
            drawn = state_graph(instance, within, kernel, request, progress.report)
    except Spent as spent:
        return CommandResult.without_answer(f"{WHY_STOPPED[spent.why]}; nothing was drawn")
    except CutShortError as cut:
        return CommandResult.without_answer(str(cut))
    finally:
        progress.clear()
    put(request.path, WRITERS[request.path.suffix](drawn).encode(), replace=request.force)
    return CommandResult(text(drawn, request.path), summary(drawn) | {"file": str(request.path)}, SAFE)


def text(drawn: StateGraph, path: Path) -> str:
    """Return the text that `check graph` prints."""
    figures = summary(drawn)
    far = "the whole state space" if not figures["not_expanded"] else f"to depth {drawn.bound}"
    lines = [
        f"{counted(drawn.states, 'state')}, {counted(drawn.transitions, 'transition')}, {far}",
        f"{counted(figures['nodes'], 'node')}, {counted(figures['edges'], 'edge')}"
        + (f", folded by {', '.join(drawn.fold)}" if drawn.fold else ""),
        f"{counted(figures['initial'], 'initial state')}, {counted(figures['dead_ends'], 'dead end')},"
        f" {counted(figures['not_expanded'], 'state')} at the bound not expanded,"
        f" {counted(drawn.components, 'strongly connected component')} of several nodes",
    ]
    if figures["outside"]:
        lines.append(f"{counted(figures['outside'], 'state')} outside the constraint, not expanded")
    of_steps = {prop.name for prop in drawn.instance.properties if prop.of_steps}
    for (name, word), count in drawn.failing.items():
        where = f"on {counted(count, 'transition')}" if name in of_steps else f"in {counted(count, 'state')}"
        lines.append(f"{word}: {name} {where}")
    if drawn.unjudged:
        names = ", ".join(drawn.unjudged)
        lines.append(f"not judged: {names}: a verdict needs every reachable state; leave --bound out")
    return "\n".join([*lines, f"written to {path}"])


# --------------------------------------------------------------------------------------------------------- DOT, GraphML


def dot(drawn: StateGraph) -> str:
    """Return the state graph as the text of a DOT file."""
    return "\n".join(_dot_lines(drawn)) + "\n"


def _dot_lines(drawn: StateGraph) -> Iterator[str]:
    yield f"digraph {_quoted(drawn.instance.model.name)} {{"
    yield "  rankdir=LR;"
    yield '  node [fontname="sans-serif", style=filled, fillcolor=white];'
    yield '  edge [fontname="sans-serif", fontsize=9];'
    for node in drawn.nodes():
        yield f"  n{node.number} [{_attributes(_dot_node(drawn, node))}];"
    for source, target, edge in drawn.edges():
        attributes = {"label": edge.label}
        if edge.failing:
            attributes |= {"color": _colour("bad"), "tooltip": ", ".join(failing_names(edge.failing))}
        yield f"  n{source} -> n{target} [{_attributes(attributes)}];"
    yield "}"


def _dot_node(drawn: StateGraph, node: Node) -> dict[str, str]:
    words = {word for _, word in node.failing}
    fields = "\n".join(f"{name} {value}" for name, value in node.fields.items())
    attributes = {"label": "\n".join(node_lines(drawn, node)), "tooltip": fields}
    attributes["shape"] = "box" if node.dead_ends else "ellipse"
    if node.initial:
        attributes["peripheries"] = "2"
    if node.unexpanded or node.outside:
        attributes["style"] = "filled,dotted" if node.outside else "filled,dashed"
    if words:
        kind = "bad" if VIOLATED in words else "warn"
        attributes |= {"fillcolor": _colour(f"{kind}paper"), "fontcolor": _colour(kind), "color": _colour(kind)}
    if node.component is not None:
        attributes |= {"color": _colour("accent"), "penwidth": "2", "xlabel": f"component {node.component}"}
    return attributes


def _colour(name: str) -> str:
    light, _ = COLOURS[name]
    return light


def _attributes(attributes: Mapping[str, str]) -> str:
    return ", ".join(f"{name}={_quoted(value)}" for name, value in attributes.items())


def _quoted(text: str) -> str:
    """Return a text as a DOT string: backslashes and quotes are escaped, a line break becomes a backslash and n."""
    lines = [escaped(line).replace("\\", "\\\\").replace('"', '\\"') for line in text.split("\n")]
    joined = "\\n".join(lines)
    return f'"{joined}"'


def _failing(part: Node | Edge) -> dict[str, str]:
    words = {"violated": VIOLATED, "permitted": PERMITTED}
    return {key: ", ".join(name for name, word in part.failing if word == text) for key, text in words.items()}


def graphml(drawn: StateGraph) -> str:
    """Return the state graph as the text of a GraphML file, as networkx writes it."""
    graph: nx.DiGraph[int] = nx.DiGraph(model=escaped(drawn.instance.model.name))
    for node in drawn.nodes():
        fields = {f"field.{name}": escaped(value) for name, value in node.fields.items()}
        graph.add_node(
            node.number,
            label=escaped(" ".join(node_lines(drawn, node))),
            depth=node.depth,
            states=node.states,
            initial=node.initial,
            dead_ends=node.dead_ends,
            not_expanded=node.unexpanded,
            outside=node.outside,
            component=node.component or 0,
            **_failing(node),
            **fields,
        )
    for source, target, edge in drawn.edges():
        graph.add_edge(
            source,
            target,
            label=escaped(edge.label),
            steps=sum(edge.actions.values()),
            **_failing(edge),
        )
    buffer = io.BytesIO()
    nx.write_graphml_xml(graph, buffer)
    return buffer.getvalue().decode() + "\n"


# ----------------------------------------------------------------------------------------------------------------- page


def page(drawn: StateGraph) -> Page:
    """Return the state graph as an HTML page."""
    title = f"State graph of {escaped(f'{drawn.instance.model.name} {drawn.instance.protocol.name}'.strip())}"
    panel = element("aside", element("p", "Choose a node to see its state."), id="panel", aria_live="polite")
    figures = element("p", _figures(drawn))
    legend = element("p", *(element("span", sample, meaning) for sample, meaning in samples()), class_="legend")
    content = (
        element("header", element("h1", title), _buttons(), figures, legend, element("p", product())),
        element("main", drawing(drawn), panel),
        data("data", _page_data(drawn)),
    )
    return Page(title, content, "graph", [beside(__package__, "page.css")], [beside(__package__, "page.js")])


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
    parts += [f"{failing['property']} {failing['verdict']}: {failing['count']:,}" for failing in figures["failing"]]
    return escaped("; ".join(parts))


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


WRITERS: Mapping[str, Callable[[StateGraph], str]] = {
    ".dot": dot,
    ".graphml": graphml,
    ".html": lambda drawn: page(drawn).alone(),
}
"""For each suffix, the function that returns the text of the file."""
