"""Termination detection on a ring, by Dijkstra, Feijen and van Gasteren (EWD 840).

After specifications/ewd840/EWD840.tla by Stephan Merz (2025-07-14; github.com/tlaplus/Examples, MIT license). Model
file: EWD840.cfg, with N = 3.

The same: every state, every action, and the property that a finished computation is eventually detected. Different:
Environment is two actions, `send_message` and `deactivate`, and System is also two. The guard of `pass_token` is a
disjunction: TLC generates a successor for each true disjunct, isrcheck generates only one successor. Left out: the
property that the algorithm refines the module SyncTerminationDetection, whose safety part is `termination_detection`.
"""

from enum import IntEnum

from isrcheck.models.language import (
    Domain,
    Flag,
    Subset,
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
    pass


class Nodes(Subset, of=Node):
    pass


class Color(IntEnum):
    WHITE = 0
    BLACK = 1


class State:
    active = field(Node, values=Flag)
    color = field(Node, values=Color)
    token_position = field(values=Node)
    token_color = field(values=Color, initially=Color.BLACK)


@initial
def the_token_is_black(s, active: Nodes, black: Nodes, position: Node):
    """At first the token is black, and everything else is arbitrary."""
    for node in Node:
        s.active[node] = active[node]
        s.color[node] = Color.BLACK if black[node] else Color.WHITE
    s.token_position = position


@action
def initiate_probe(s):
    """Node 0 sends a white token round the ring, unless the last round showed that all nodes are inactive."""
    require(s.token_position == 0)
    require(s.token_color == Color.BLACK or s.color[0] == Color.BLACK)
    s.token_position = s.nodes - 1
    s.token_color = Color.WHITE
    s.color[0] = Color.WHITE


@action
def pass_token(s, node: Node):
    """An inactive node passes the token on; an active node may do so only if the node or the token is black. A black
    node makes the token black, and becomes white."""
    require(node != 0)
    require(s.token_position == node)
    require(not s.active[node] or s.color[node] == Color.BLACK or s.token_color == Color.BLACK)
    s.token_position = node - 1
    if s.color[node] == Color.BLACK:
        s.token_color = Color.BLACK
    s.color[node] = Color.WHITE


@action(shows="{node} to {receiver}")
def send_message(s, node: Node, receiver: Node):
    """An active node activates another node. The sender becomes black if the token has already passed the receiver."""
    require(s.active[node])
    require(receiver != node)
    s.active[receiver] = True
    if receiver > node:
        s.color[node] = Color.BLACK


@action
def deactivate(s, node: Node):
    require(s.active[node])
    s.active[node] = False


def terminated(s):
    return not any(s.active[node] for node in range(s.nodes))


def is_detected(s):
    return s.token_position == 0 and s.token_color == Color.WHITE and s.color[0] == Color.WHITE and not s.active[0]


@terminal
def node_0_knows_of_the_termination(s):
    return is_detected(s)


@always
def termination_detection(s):
    """Termination is detected only when all nodes are inactive."""
    return not is_detected(s) or terminated(s)


@always
def dijkstras_invariant(s):
    """All nodes that the token has left are inactive, or one of the other nodes is black, or the token is black."""
    return (
        all(not s.active[node] for node in range(s.nodes) if node > s.token_position)
        or any(s.color[node] == Color.BLACK for node in range(s.nodes) if node <= s.token_position)
        or s.token_color == Color.BLACK
    )


@leads_to(when=terminated, fair=weak_fairness(initiate_probe, pass_token))
def termination_is_detected(s):
    """Liveness: once all nodes are inactive, node 0 eventually detects this, provided that the token keeps moving."""
    return is_detected(s)
