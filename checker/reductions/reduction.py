"""How a search makes its states fewer: what its kernel does with each successor, as plain data.

In:  what checker/reductions/find.py finds.
Out: a `Reduction`, which goes with a kernel (checker/compile/kernel.py), also to another machine.
"""

from __future__ import annotations

from dataclasses import dataclass

from isrcheck.checker.reductions.symmetry import Symmetry


@dataclass(frozen=True)
class Reduction:
    """What a kernel does with each successor before it is packed."""

    symmetry: Symmetry

    @property
    def says(self) -> str:
        """The reduction in words."""
        return f"symmetry: one state of each orbit of {self.symmetry.says}"
