"""What the analysis of a function knows of a value: the sort of its element, its number, or nothing.

In:  comparisons, assignments, indices and calls, as unifications (checker/reductions/sorts.py).
Out: sets of places with values of one sort.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from isrcheck.models.language.declarations import Domain


@dataclass(eq=False)
class Node:
    """A set of places that hold values of one sort. `domains` are the domains among them, `fixed` the elements that are
    named by a constant, `faults` say why elements are told apart: the first reason first (most are never spelled);
    `ranges` are the loops over it."""

    domains: set[type[Domain]] = field(default_factory=set)
    fixed: set[int] = field(default_factory=set)
    faults: list[Callable[[], str]] = field(default_factory=list)
    ranges: list[tuple[int, int, str]] = field(default_factory=list)
    fields: list[str] = field(default_factory=list)
    parent: Node | None = None

    def root(self) -> Node:
        """The node that stands for all places that are unified with this one."""
        node = self
        while node.parent is not None:
            node = node.parent
        return node

    def join(self, other: Node) -> None:
        """Say that the values of both have the same sort."""
        into, gone = self.root(), other.root()
        if into is gone:
            return
        gone.parent = into
        into.domains |= gone.domains
        into.fixed |= gone.fixed
        into.faults += gone.faults
        into.ranges += gone.ranges
        into.fields += gone.fields


Value = Node | int | None
"""What is known of an expression: its sort, its value if the configuration determines it, or that it is a truth value
or a computed number (None)."""
