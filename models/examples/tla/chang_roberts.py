"""Election of a leader on a unidirectional ring, by Chang and Roberts (1979).

After specifications/chang_roberts/ChangRoberts.tla by Stephan Merz
(2024-01-26; github.com/tlaplus/Examples, MIT license). Model file: MCChangRoberts.cfg, with N = 3; the identity of a
node is its number.

The same: every state and step of the PlusCal process, whose labels n0 and n1 are here the actions `start` and
`receive`. Different: nodes are counted from 0.
"""

from collections.abc import Iterator
from enum import IntEnum
from itertools import product
from typing import Any

from isrcheck.models.language import (
    Domain,
    Flag,
    action,
    always,
    bound,
    field,
    initial,
    leads_to,
    require,
    terminal,
    weak_fairness,
)


class Configuration:
    nodes = bound(3, "nodes of the ring", least=1, option="--nodes")


class Node(Domain, size="nodes"):
    """A node, whose number is also its identity. The smallest identity wins."""


class Status(IntEnum):
    CANDIDATE = 0
    LOST = 1
    WON = 2


class State:
    messages = field(Node, Node, values=Flag)  # messages[node][identity]: it waits to be received by the node
    has_started = field(Node, values=Flag)  # pc # "n0"
    is_initiator = field(Node, values=Flag)
    status = field(Node, values=Status)


@initial
def some_nodes_are_initiators(configuration: Any) -> Iterator[dict[str, Any]]:
    for initiators in product((False, True), repeat=configuration.nodes):
        status = [Status.CANDIDATE if is_initiator else Status.LOST for is_initiator in initiators]
        yield {"is_initiator": list(initiators), "status": status}


def successor(s, node):
    return 0 if node == s.nodes - 1 else node + 1


@action
def start(s, node: Node):
    """An initiator sends its identity to its successor."""
    require(not s.has_started[node])
    s.has_started[node] = True
    if s.is_initiator[node]:
        s.messages[successor(s, node)][node] = True


@action(shows="{identity} by {node}")
def receive(s, node: Node, identity: Node):
    """`node` receives `identity`. A node that has lost sends `identity` on to its successor. A candidate wins if
    `identity` is its own, loses and sends `identity` on if it is smaller, and drops `identity` if it is greater."""
    require(s.has_started[node])
    require(s.messages[node][identity])
    s.messages[node][identity] = False
    if s.status[node] == Status.LOST:
        s.messages[successor(s, node)][identity] = True
    elif identity < node:
        s.status[node] = Status.LOST
        s.messages[successor(s, node)][identity] = True
    elif identity == node:
        s.status[node] = Status.WON


@terminal
def no_message_is_left(s):
    return not any(s.messages[node][identity] for node in range(s.nodes) for identity in range(s.nodes))


@always
def correctness(s):
    """The winner is the initiator with the smallest identity, and all other nodes know that they have lost."""
    return all(
        s.is_initiator[node]
        and all(
            s.status[other] == Status.LOST and (not s.is_initiator[other] or other > node)
            for other in range(s.nodes)
            if other != node
        )
        for node in range(s.nodes)
        if s.status[node] == Status.WON
    )


def some_candidate(s):
    return any(s.status[node] == Status.CANDIDATE for node in range(s.nodes))


@leads_to(when=some_candidate, fair=weak_fairness(start, receive, each="node"))
def somebody_wins(s):
    """Liveness: if there is a candidate, there is eventually a winner. Nodes become candidates only at the start."""
    return any(s.status[node] == Status.WON for node in range(s.nodes))
