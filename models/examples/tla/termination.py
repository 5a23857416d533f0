"""The problem of termination detection with asynchronous messages, without an algorithm that solves it.

After specifications/ewd998/AsyncTerminationDetection.tla by Stephan Merz and Markus Kuppe (2022-05-03;
github.com/tlaplus/Examples, MIT license). Model file: AsyncTerminationDetection.cfg, with N = 4 and the constraint that
at most three messages wait at a node.

The same: every state and step. Different: Terminate is two actions, because it may or may not detect the termination.
The property Quiescence, [](terminated => []terminated), is a property of each step here. Left out: the property Live,
because the constraint cuts behaviours off, and how they continue is unknown. TLC checks Live on the remaining states.
"""

from collections.abc import Iterator
from itertools import product
from typing import Any

from isrcheck.models.language import (
    Domain,
    Flag,
    action,
    always,
    always_step,
    between,
    bound,
    constraint,
    field,
    initial,
    require,
)


class Configuration:
    nodes = bound(4, "nodes (N)", least=1, option="--nodes")
    most_pending = bound(3, "messages that may wait at a node (StateConstraint)", least=0, option="--most-pending")


class Node(Domain, size="nodes"):
    pass


class State:
    active = field(Node, values=Flag)
    pending = field(Node, values=between(0, lambda configuration: configuration.most_pending + 1))
    is_detected = field(values=Flag)


@initial
def no_message_is_pending(configuration: Any) -> Iterator[dict[str, Any]]:
    """Initially no message is pending, and any nodes are active; if no node is active, termination may be detected."""
    for active in product((False, True), repeat=configuration.nodes):
        for is_detected in {False, not any(active)}:
            yield {"active": list(active), "is_detected": is_detected}


@constraint
def few_are_pending(s):
    return all(s.pending[node] <= s.most_pending for node in range(s.nodes))


def terminated(s):
    return all(not s.active[node] and s.pending[node] == 0 for node in range(s.nodes))


def is_the_last_one(s, node):
    """No other node is active and no message is pending: once this node is inactive, the computation has terminated."""
    return all(s.pending[n] == 0 and (n == node or not s.active[n]) for n in range(s.nodes))


@action
def terminate(s, node: Node):
    require(s.active[node])
    s.active[node] = False


@action
def terminate_detected(s, node: Node):
    """The last active node terminates, and this is detected at once."""
    require(s.active[node])
    require(not s.is_detected)
    require(is_the_last_one(s, node))
    s.active[node] = False
    s.is_detected = True


@action(shows="{node} to {receiver}")
def send_message(s, node: Node, receiver: Node):
    require(s.active[node])
    s.pending[receiver] += 1


@action
def receive_message(s, node: Node):
    require(s.pending[node] > 0)
    s.active[node] = True
    s.pending[node] -= 1


@action
def detect_termination(s):
    require(terminated(s))
    s.is_detected = True


@always
def safe(s):
    """Termination is detected only after it took place."""
    return not s.is_detected or terminated(s)


@always_step
def quiescence(before, after):
    """A computation that has terminated stays terminated."""
    return not terminated(before) or terminated(after)
