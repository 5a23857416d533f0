"""The labels and notes of nodes and edges, the same in every file format.

In:  nodes and edges. Out: text.
"""

from __future__ import annotations

from collections.abc import Mapping

from isrcheck.checker.graph.state_graph import Node, StateGraph


def node_lines(drawn: StateGraph, node: Node) -> list[str]:
    """Return the label of a node: its number, or for a folded node the common values and the number of its states."""
    if not drawn.fold:
        return [str(node.number)]
    values = [f"{name} {value}" for name, value in node.fields.items()]
    return [*values, f"({node.states:,} state{'s' * (node.states != 1)})"]


def node_notes(drawn: StateGraph, node: Node) -> list[str]:
    """Return the notes on a node, such as "dead end"; for a folded node, each with its number of states."""

    def noted(count: int, what: str) -> str:
        return f"{count:,} of {node.states:,} states: {what}" if drawn.fold else what

    notes = [
        (node.initial, "initial"),
        (node.dead_ends, "dead end"),
        (node.unexpanded, "at the bound, not expanded"),
        (node.outside, "outside the constraint, not expanded"),
    ]
    found = [noted(count, what) for count, what in notes if count]
    found += [noted(count, f"{name} is {word}") for (name, word), count in node.failing.items()]
    if node.component is not None:
        found.append(f"strongly connected component {node.component}")
    return found


def failing_names(failing: Mapping[tuple[str, str], int]) -> list[str]:
    """Return the failing properties, each with its verdict."""
    return [f"{name} {word}" for name, word in failing]
