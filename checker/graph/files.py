"""A state graph as a file: DOT for Graphviz, GraphML for Gephi, yEd and others, or an HTML page.

In:  a `StateGraph`. Out: the file, written completely or not at all.

Text from a model is quoted as each format requires, and control characters are made visible.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import networkx as nx

from isrcheck.checker.graph.page import page
from isrcheck.checker.graph.state_graph import BROKEN, PERMITTED, Node, StateGraph, summary
from isrcheck.checker.graph.text import failing_names, node_lines
from isrcheck.checker.results.terminal import counted
from isrcheck.models.messages import escaped
from isrcheck.traces.drawing.theme import COLOURS
from isrcheck.traces.format.files import put


def dot(drawn: StateGraph) -> str:
    """Return the text of a DOT file."""
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
    found = {"label": "\n".join(node_lines(drawn, node)), "tooltip": fields}
    found["shape"] = "box" if node.dead_ends else "ellipse"
    if node.initial:
        found["peripheries"] = "2"
    if node.unexpanded:
        found["style"] = "filled,dashed"
    if node.outside:
        found["style"] = "filled,dotted"
    if words:
        kind = "bad" if BROKEN in words else "warn"
        found |= {"fillcolor": _colour(f"{kind}paper"), "fontcolor": _colour(kind), "color": _colour(kind)}
    if node.component is not None:
        found |= {"color": _colour("accent"), "penwidth": "2", "xlabel": f"component {node.component}"}
    return found


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


def graphml(drawn: StateGraph) -> str:
    """Return the text of a GraphML file, as networkx writes it."""
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
            violated=", ".join(name for name, word in node.failing if word == BROKEN),
            permitted=", ".join(name for name, word in node.failing if word == PERMITTED),
            **fields,
        )
    for source, target, edge in drawn.edges():
        graph.add_edge(
            *(source, target),
            label=escaped(edge.label),
            steps=sum(edge.actions.values()),
            violated=", ".join(name for name, word in edge.failing if word == BROKEN),
            permitted=", ".join(name for name, word in edge.failing if word == PERMITTED),
        )
    buffer = io.BytesIO()
    nx.write_graphml_xml(graph, buffer)
    return buffer.getvalue().decode() + "\n"


WRITERS: Mapping[str, Callable[[StateGraph], str]] = {".dot": dot, ".graphml": graphml, ".html": page}
"""For each suffix, the function that returns the text of the file."""


def write_graph(drawn: StateGraph, path: Path, *, force: bool) -> None:
    """Write the file completely or not at all. Raises UsageError if writing fails, or if it exists without `force`."""
    put(path, WRITERS[path.suffix](drawn).encode(), replace=force)


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
        lines.append(
            f"{word}: {name} {'on' if name in of_steps else 'in'} "
            f"{counted(count, 'transition' if name in of_steps else 'state')}"
        )
    if drawn.unjudged:
        names = ", ".join(drawn.unjudged)
        lines.append(f"not judged: {names}: it needs every reachable state; leave --bound out")
    return "\n".join([*lines, f"written to {path}"])
