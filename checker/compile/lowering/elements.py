"""How a kernel evaluates folds over symmetric elements, so that their order decides nothing.

In:  a `Symmetry`, or none; the folds of the kernel's functions.
Out: which folds are evaluated to their end, and how two elements are compared.

A fold stops at the first element that decides it. If an index of a later element may leave its range, the order of the
elements would decide whether that is found; such a fold goes on to its end. Then the kernel finds every state of which
some permutation leaves a range, and perhaps more; and what it does not find, no permutation leaves. Without such folds,
all permutations of a state leave a range, or none.
"""

from __future__ import annotations

from collections.abc import Mapping

from isrcheck.checker.compile.lowering.ranges import Limits, Ranges
from isrcheck.checker.reductions.symmetry import Symmetry, place_in
from isrcheck.models.language.ir import nodes as ir


class Elements:
    """Knows the folds over symmetric elements. `sources` are the model's files."""

    def __init__(self, symmetry: Symmetry | None, sources: Mapping[str, str], ranges: Ranges) -> None:
        self.symmetry = symmetry
        self.sources = sources
        self.ranges = ranges
        self.goes_on = False
        """Whether some fold is evaluated to its end."""

    def must_go_on(self, fold: ir.Fold, limits: Limits) -> bool:
        """Whether a fold is evaluated to its end."""
        is_over_elements = any(map(self._is_over_elements, fold.generators))
        goes_on = is_over_elements and self.ranges.may_fail([*fold.generators, fold.body], limits)
        self.goes_on = self.goes_on or goes_on
        return goes_on

    def _is_over_elements(self, generator: ir.Generator) -> bool:
        if self.symmetry is None:
            return False
        ends = self.ranges.number(generator.range.first), self.ranges.number(generator.range.end)
        is_whole = ends[0] == 0 and ends[1] in self.symmetry.sizes
        return is_whole or place_in(self.sources, generator) in self.symmetry.configured

    def sign(self, comparison: ir.Compare) -> str:
        """The sign of a comparison; != for a comparison that only spares the second look at each pair of elements."""
        is_unordered = self.symmetry is not None and place_in(self.sources, comparison) in self.symmetry.unordered
        return (ir.Sign.NOT_EQUAL if is_unordered else comparison.sign).value
