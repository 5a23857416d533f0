"""A state graph as a file: DOT for Graphviz, GraphML for Gephi, yEd and others, or a page of its own.

In:  a `StateGraph`. Out: the file, whole or not at all.

Text from a model is quoted as each format asks for it; control characters become visible ones.
"""

from __future__ import annotations

import contextlib
import io
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

import networkx as nx

from checker.graph import BROKEN, PERMITTED, Node, StateGraph, summary
from checker.graph_options import refuse_existing
from checker.graph_page import page
from checker.graph_text import failing_names, node_lines, plain
from checker.report import counted
from models.errors import UsageError


def dot(drawn: StateGraph) -> Iterator[str]:
    """The lines of a file for Graphviz."""
    yield f"digraph {_quoted(drawn.instance.model.name)} {{"
    yield "  rankdir=LR;"
    yield '  node [fontname="sans-serif", style=filled, fillcolor=white];'
    yield '  edge [fontname="sans-serif", fontsize=9];'
    for node in drawn.nodes():
        yield f"  n{node.number} [{_attributes(_dot_node(drawn, node))}];"
    for source, target, edge in drawn.edges():
        attributes = {"label": edge.label}
        if edge.failing:
            attributes |= {"color": "red", "tooltip": ", ".join(failing_names(edge.failing))}
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
    if words:
        found["fillcolor"] = "#f4a6a6" if BROKEN in words else "#f6e0a0"
    if node.component is not None:
        found |= {"color": "#2060c0", "penwidth": "2", "xlabel": f"component {node.component}"}
    return found


def _attributes(attributes: Mapping[str, str]) -> str:
    return ", ".join(f"{name}={_quoted(value)}" for name, value in attributes.items())


def _quoted(text: str) -> str:
    """A string of DOT: a backslash would begin an escape, and lines are broken with one."""
    lines = [plain(line).replace("\\", "\\\\").replace('"', '\\"') for line in text.split("\n")]
    joined = "\\n".join(lines)
    return f'"{joined}"'


def graphml(drawn: StateGraph) -> Iterator[str]:
    """The text of a file of GraphML, as networkx writes it."""
    graph: nx.DiGraph[int] = nx.DiGraph(model=plain(drawn.instance.model.name))
    for node in drawn.nodes():
        fields = {f"field.{name}": plain(value) for name, value in node.fields.items()}
        graph.add_node(
            node.number,
            label=plain(" ".join(node_lines(drawn, node))),
            depth=node.depth,
            states=node.states,
            initial=node.initial,
            dead_ends=node.dead_ends,
            not_expanded=node.unexpanded,
            component=node.component or 0,
            violated=", ".join(name for name, word in node.failing if word == BROKEN),
            permitted=", ".join(name for name, word in node.failing if word == PERMITTED),
            **fields,
        )
    for source, target, edge in drawn.edges():
        graph.add_edge(
            *(source, target),
            label=plain(edge.label),
            steps=sum(edge.actions.values()),
            violated=", ".join(name for name, word in edge.failing if word == BROKEN),
            permitted=", ".join(name for name, word in edge.failing if word == PERMITTED),
        )
    buffer = io.BytesIO()
    nx.write_graphml_xml(graph, buffer)
    yield buffer.getvalue().decode()


WRITERS: Mapping[str, Callable[[StateGraph], Iterable[str]]] = {".dot": dot, ".graphml": graphml, ".html": page}
"""For each kind of file what gives its lines."""


def write_graph(drawn: StateGraph, path: Path, *, force: bool) -> None:
    """Write the file, whole or not at all. Raises UsageError where it is there, or cannot be written."""
    content = "\n".join(WRITERS[path.suffix](drawn)) + "\n"
    draft = path.with_name(f".draft-{os.getpid()}-{path.name}")
    try:
        with draft.open("wb") as file:
            file.write(content.encode())
            file.flush()
            os.fsync(file.fileno())
        refuse_existing(path, force=force)  # somebody may have made it meanwhile
        draft.replace(path)
    except OSError as error:
        raise UsageError(f"-o {path}: it cannot be written: {error.strerror}; make room or write elsewhere") from None
    finally:
        with contextlib.suppress(OSError):
            draft.unlink()


def text(drawn: StateGraph, path: Path) -> str:
    """What a person reads when the file is there."""
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
    of_steps = {prop.name for prop in drawn.instance.properties if prop.of_steps}
    for (name, word), count in drawn.failing.items():
        lines.append(
            f"{word}: {name} {'on' if name in of_steps else 'in'} "
            f"{counted(count, 'transition' if name in of_steps else 'state')}"
        )
    return "\n".join([*lines, f"written to {path}"])
