"""A spanning tree of a graph with a given root, grown by relaxing distances, by Leslie Lamport.

After specifications/SpanningTree/SpanTree.tla by Leslie Lamport
(2023-10-02; github.com/tlaplus/Examples, MIT license). Model file: SpanTree.cfg, with
five nodes, seven edges, MaxCardinality = 6 and n1 as the root.

The same: every state and step. Different: nodes are counted from 0, so that the root is node 0, and the graph of the
model file is part of the model.
"""

from collections.abc import Iterator
from typing import Any

from isrcheck.models.language import (
    Domain,
    action,
    always,
    any_action,
    between,
    bound,
    contradiction,
    eventually,
    field,
    initial,
    require,
    terminal,
)


class Configuration:
    nodes = bound(5, "nodes of the graph", least=1, option="--nodes")
    infinity = bound(6, "the distance of a node that is not reached yet (MaxCardinality)", least=1, option="--infinity")


class Node(Domain, size="nodes"):
    """Node 0 is the root."""


class Distance(Domain, size="infinity"):
    """A distance from the root that is less than infinity."""


class State:
    mother = field(Node, values=Node)
    distance = field(Node, values=between(0, "infinity"))


@initial
def only_the_root_is_reached(configuration: Any) -> Iterator[dict[str, Any]]:
    others = [configuration.infinity] * (configuration.nodes - 1)
    yield {"mother": list(range(configuration.nodes)), "distance": [0, *others]}


@contradiction
def no_room_for_infinity(configuration: Any) -> bool:
    """infinity must be at least as large as the number of nodes"""
    return configuration.infinity < configuration.nodes


def are_neighbours(one, other):
    """An edge joins the two nodes: their numbers differ by one or two. These are the seven edges of the model file."""
    return one != other and one - other <= 2 and other - one <= 2


@action(shows="of {node} to {distance} through {neighbour}")
def relax(s, node: Node, neighbour: Node, distance: Distance):
    """`node` makes `neighbour` its mother. The node's `distance` becomes smaller, but stays above the neighbour's."""
    require(are_neighbours(node, neighbour))
    require(s.distance[neighbour] < distance)
    require(distance < s.distance[node])
    s.distance[node] = distance
    s.mother[node] = neighbour


def can_be_relaxed(s):
    """Some node can still be relaxed (ENABLED Next)."""
    return any(
        are_neighbours(node, neighbour) and s.distance[neighbour] + 1 < s.distance[node]
        for node in range(s.nodes)
        for neighbour in range(s.nodes)
    )


def is_in_place(s, node):
    """The node is the root, or not connected to the root, or one step farther from the root than the node's mother."""
    return (
        (node == 0 and s.distance[node] == 0 and s.mother[node] == node)
        or (
            s.distance[node] == s.infinity
            and s.mother[node] == node
            and all(s.distance[other] == s.infinity for other in range(s.nodes) if are_neighbours(node, other))
        )
        or (
            1 <= s.distance[node] < s.infinity
            and are_neighbours(node, s.mother[node])
            and s.distance[node] == s.distance[s.mother[node]] + 1
        )
    )


@terminal
def the_tree_is_grown(s):
    return not can_be_relaxed(s)


@always
def a_spanning_tree_at_the_end(s):
    """Safety: once nothing can be relaxed, the mothers form a spanning tree."""
    return can_be_relaxed(s) or all(is_in_place(s, node) for node in range(s.nodes))


@eventually(fair=any_action)
def termination(s):
    """Liveness: eventually nothing can be relaxed."""
    return not can_be_relaxed(s)
