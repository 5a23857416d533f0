"""Dijkstra's self-stabilizing token ring (EWD 426): from any counters, there is eventually exactly one token.

After specifications/ewd426/TokenRing.tla by Murat Demirbas and Markus Kuppe (2022-09-30; github.com/tlaplus/Examples,
MIT license). Model file: TokenRing.cfg, with N = 6 and M = 6.

The same: every state and step. Different: (c + 1) % M is written as a conditional expression.
"""

from collections.abc import Iterator
from itertools import product
from typing import Any

from isrcheck.models.language import (
    Domain,
    action,
    always_step,
    any_action,
    bound,
    contradiction,
    eventually_always,
    field,
    initial,
    require,
)


class Configuration:
    nodes = bound(6, "nodes of the ring (N)", least=1, option="--nodes")
    values = bound(6, "values of a counter (M)", least=1, option="--values")


class Node(Domain, size="nodes"):
    pass


class Value(Domain, size="values"):
    pass


class State:
    counter = field(Node, values=Value)


@initial
def anything(configuration: Any) -> Iterator[dict[str, Any]]:
    for counter in product(range(configuration.values), repeat=configuration.nodes):
        yield {"counter": list(counter)}


@contradiction
def too_few_values(configuration: Any) -> bool:
    """the ring stabilizes only if a counter has at least as many values as there are nodes, minus one"""
    return configuration.nodes > configuration.values + 1


def next_value(s, value):
    return 0 if value == s.values - 1 else value + 1


@action
def create_token(s):
    """Node 0 has a token if its counter equals the last node's counter; it passes the token on by counting one up."""
    require(s.counter[0] == s.counter[s.nodes - 1])
    s.counter[0] = next_value(s, s.counter[0])


@action
def pass_token(s, node: Node):
    """Any other node has a token if its counter differs from its predecessor's; it copies that to pass the token on."""
    require(node != 0)
    require(s.counter[node] != s.counter[node - 1])
    s.counter[node] = s.counter[node - 1]


def unique_token(s):
    """There is exactly one token: the first counters are equal, and later counters, if any, are less by 1 (mod M)."""
    return any(
        all(
            s.counter[node] == s.counter[0] if node < first else next_value(s, s.counter[node]) == s.counter[0]
            for node in range(s.nodes)
        )
        for first in range(s.nodes + 1)
    )


@always_step
def stays_unique(before, after):
    """Once there is exactly one token, there is always exactly one."""
    return not unique_token(before) or unique_token(after)


@eventually_always(fair=any_action)
def stabilization(s):
    """Stab: eventually there is exactly one token for ever."""
    return unique_token(s)
