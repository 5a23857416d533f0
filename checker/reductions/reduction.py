"""How a search makes its states fewer: what its kernel does with each successor, as plain data.

In:  what checker/reductions/find.py finds.
Out: a `Reduction`, which goes with a kernel (checker/compile/kernel.py), also to another machine.
"""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from isrcheck.checker.reductions.clearing import Clearing, cleared, says, worthwhile
from isrcheck.checker.reductions.symmetry import Symmetry
from isrcheck.models.run import Cells


@dataclass(frozen=True)
class Reduction:
    """What a kernel does with each successor before it is packed: dead cells are cleared, then it is permuted."""

    symmetry: Symmetry | None = None
    dead: tuple[Clearing, ...] = ()

    @property
    def says(self) -> str:
        """The reduction in words."""
        parts = []
        if self.symmetry is not None:
            parts.append(f"symmetry: one state of each orbit of {self.symmetry.says}")
        if self.dead:
            parts.append(f"dead cells: {says(self.dead)}")
        return "; ".join(parts)

    @property
    def without_clearings(self) -> Reduction:
        """The same without dead cells."""
        return replace(self, dead=())

    @property
    def clears(self) -> dict[tuple[str, str], None]:
        """What is cleared: fields, each with the states in which its cells are dead, in words; in their order."""
        return dict.fromkeys((one.field, one.where) for one in self.dead)

    def clearing(self, chosen: Container[tuple[str, str]]) -> Reduction:
        """The same with those clearings that are in `chosen`, which is like `clears`."""
        return replace(self, dead=tuple(one for one in self.dead if (one.field, one.where) in chosen))

    def worthwhile(self, states: NDArray[np.int64]) -> Reduction:
        """The same with those clearings that make these states, one per row, fewer."""
        return replace(self, dead=worthwhile(self.dead, states))

    def cleared(self, cells: Cells) -> Cells:
        """The state with its dead cells cleared."""
        return cleared(self.dead, cells)
