"""How a kernel evaluates folds over symmetric elements, so that their order decides nothing.

In:  a `Symmetry`, or none; the text of the kernel, function by function, while it is written.
Out: which folds are evaluated to their end, and how two elements are compared.

A fold stops at the first element that decides it. If an index of a later element may leave its range, the order of the
elements would decide whether that is found; such a fold goes on to its end. Then the kernel finds every state of which
some permutation leaves a range, and perhaps more; and what it does not find, no permutation leaves. Without such folds,
all permutations of a state leave a range, or none.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from isrcheck.checker.reductions.symmetry import Symmetry
from isrcheck.models.language.ir.nodes import Compare, Sign


class Elements:
    """Knows the functions of a kernel in which an index may leave its range. `sources` are the model's files."""

    def __init__(self, symmetry: Symmetry | None, sources: Mapping[str, str]) -> None:
        self.symmetry = symmetry
        self.sources = sources
        self.failing: set[str] = set()
        self.goes_on = False
        """Whether some fold is evaluated to its end."""

    def noted(self, name: str, text: str) -> str:
        """Return the text of a function with this name, and remember whether an index may leave its range in it."""
        if self.may_fail(text):
            self.failing.add(name)
        return text

    def must_go_on(self, ranges: Iterable[tuple[int, int]], text: str) -> bool:
        """Whether a fold over these ranges, with this text, is evaluated to its end."""
        symmetry = self.symmetry
        is_over_elements = symmetry is not None and any(low == 0 and high in symmetry.sizes for low, high in ranges)
        goes_on = is_over_elements and self.may_fail(text)
        self.goes_on = self.goes_on or goes_on
        return goes_on

    def sign(self, comparison: Compare) -> str:
        """The sign of a comparison; != for a comparison that only spares the second look at each pair of elements."""
        span = comparison.span
        place = self.sources.get(span.source.path, span.source.path), span.line, span.column
        is_unordered = self.symmetry is not None and place in self.symmetry.unordered
        return (Sign.NOT_EQUAL if is_unordered else comparison.sign).value

    def may_fail(self, text: str) -> bool:
        """Whether an index may leave its range in this text."""
        return "element(" in text or any(f"{name}(" in text for name in self.failing)
