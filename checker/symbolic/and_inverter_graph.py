"""And-inverter graphs: Boolean formulas in which equal parts are shared.

In:  variables, and operations on formulas.
Out: each formula is a literal, an integer; -n is the negation of n, TRUE is 1 and FALSE is -1. Structurally equal
     formulas are the same literal.

The symbolic engine builds all its formulas from conjunctions of two literals. Constants are propagated at once, so that
parts of a model that do not influence a result cost nothing later.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass

from isrcheck.checker.resources.limits import STEPS_BETWEEN_LOOKS, FormulaBudget

TRUE, FALSE = 1, -1

MANY = 1 << 16
"""The number of nodes whose processing takes about ten milliseconds."""


@dataclass(frozen=True, slots=True)
class Truth:
    """A truth value that depends on variables."""

    literal: int


class AndInverterGraph:
    """A graph of nodes, which are variables or conjunctions of two literals; each conjunction is stored once. A node is
    a variable if its `left` is 0. All operations that create or traverse nodes check the budget of time and memory."""

    def __init__(self, budget: FormulaBudget | None = None) -> None:
        self.budget = budget or FormulaBudget()
        self._look_at = STEPS_BETWEEN_LOOKS
        self.left = [0, 0]
        self.right = [0, 0]
        self._known: dict[tuple[int, int], int] = {}

    def variable(self) -> int:
        """Return a new variable."""
        self.left.append(0)
        self.right.append(0)
        return len(self.left) - 1

    def both(self, a: int, b: int) -> int:
        """Return the conjunction of two literals, as a literal."""
        if FALSE in (a, b) or a == -b:
            return FALSE
        if a in (TRUE, b):
            return b
        if b == TRUE:
            return a
        if a > b:
            a, b = b, a
        shared = self._known.get((a, b))
        if shared is not None:
            return shared
        literal = self._absorbed(a, b) or self._absorbed(b, a)
        if not literal:
            literal = len(self.left)
            self.left.append(a)
            self.right.append(b)
            if literal >= self._look_at:
                self._look_at = literal + STEPS_BETWEEN_LOOKS
                self.budget.look()
        self._known[a, b] = literal
        return literal

    def _absorbed(self, a: int, b: int) -> int:
        """If a or -a is an operand of the node |b|, return a simpler literal for "a and b"; otherwise 0."""
        node = abs(b)
        x, y = self.left[node], self.right[node]
        if not x:
            return 0
        if b > 0:
            if a in (x, y):
                return b
            return FALSE if -a in (x, y) else 0
        if -a in (x, y):
            return a
        if a == x:
            return self.both(a, -y)
        if a == y:
            return self.both(a, -x)
        return 0

    def either(self, a: int, b: int) -> int:
        """Return the disjunction of two literals, as a literal."""
        return -self.both(-a, -b)

    def all(self, literals: Iterable[int]) -> int:
        """Return the conjunction of any number of literals, as a literal."""
        conjunction = TRUE
        for literal in literals:
            conjunction = self.both(conjunction, literal)
            if conjunction == FALSE:
                break
        return conjunction

    def any(self, literals: Iterable[int]) -> int:
        """Return the disjunction of any number of literals, as a literal."""
        return -self.all(-literal for literal in literals)

    def choose(self, condition: int, yes: int, no: int) -> int:
        """Return a literal that equals `yes` if the condition is true, and otherwise `no`."""
        if condition == TRUE or yes == no:
            return yes
        if condition == FALSE:
            return no
        return self.either(self.both(condition, yes), self.both(-condition, no))

    def same(self, a: int, b: int) -> int:
        """Return a literal that is true if the two literals have the same value."""
        return self.choose(a, b, -b)

    def exactly_one(self, literals: Iterable[int]) -> int:
        """Return a literal that is true if exactly one of the given literals is true."""
        none, one = TRUE, FALSE
        for literal in literals:
            one = self.either(self.both(one, -literal), self.both(none, literal))
            none = self.both(none, -literal)
        return one

    def cone(self, literals: Iterable[int], known: Container[int] = ()) -> list[int]:
        """Return the nodes in the cone of influence of the literals, in order of creation. `known` nodes, and nodes
        that are reached only through these, are left out."""
        new = set[int]()
        left, right = self.left, self.right
        stack = [abs(literal) for literal in literals]
        while stack:
            node = stack.pop()
            if node in new or node in known:
                continue
            new.add(node)
            if not len(new) % MANY:
                self.budget.look()
            if left[node]:
                stack.append(abs(left[node]))
                stack.append(abs(right[node]))
        return sorted(new)

    def replaced(self, nodes: Iterable[int], images: Mapping[int, int]) -> dict[int, int]:
        """Return, for each node, the literal that the node becomes if each variable in `images` is replaced by its
        image. `nodes` must be in order of creation. Variables without an image stay unchanged."""
        literals = dict(images)
        literals[1] = 1
        left, right, both = self.left, self.right, self.both
        for node in nodes:
            if node in literals:
                continue
            x, y = left[node], right[node]
            if not x:
                literals[node] = node
                continue
            a = literals[x] if x > 0 else -literals[-x]
            b = literals[y] if y > 0 else -literals[-y]
            literals[node] = both(a, b)
        return literals

    def clauses(self, demanded: Sequence[int]) -> list[list[int]]:
        """Return clauses that can be satisfied exactly if all demanded literals can be true together. A conjunction
        whose only use is as an operand of another conjunction gets no variable: its own operands replace it there."""
        left, right = self.left, self.right
        nodes = self.cone(demanded, (1,))
        uses = dict.fromkeys(map(abs, demanded), 2)
        for node in nodes:
            for side in (left[node], right[node]):
                if side:
                    # Only the conjunction itself can be merged into another conjunction, not its negation.
                    uses[abs(side)] = uses.get(abs(side), 0) + (1 if side > 0 else 2)
        self.budget.look()
        clauses = [[1], *([literal] for literal in demanded)]
        named = set(map(abs, demanded))
        for node in reversed(nodes):
            if node not in named or not left[node]:
                continue
            sides, stack = [], [left[node], right[node]]
            while stack:
                side = stack.pop()
                if side > 0 and left[side] and uses[side] == 1:
                    stack += (left[side], right[side])
                else:
                    sides.append(side)
                    named.add(abs(side))
            clauses += ([-node, side] for side in sides)
            clauses.append([node, *(-side for side in sides)])
            if not node % STEPS_BETWEEN_LOOKS:
                self.budget.look()
        return clauses

    def truths(self, literals: Iterable[int], truth: dict[int, bool], of_variable: Callable[[int], bool]) -> None:
        """Add the value of each node in the literals' cone to `truth`; `of_variable` returns a variable's value."""
        left, right = self.left, self.right
        for node in self.cone(literals, truth):
            a, b = left[node], right[node]
            truth[node] = (truth[abs(a)] == (a > 0)) and (truth[abs(b)] == (b > 0)) if a else of_variable(node)
