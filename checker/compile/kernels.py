"""Reuses kernels: one for all instances whose kernels have the same code.

In:  instances, one after the other.
Out: a `Kernel` for each (checker/compile/kernel.py), looked up or compiled once.
"""

from __future__ import annotations

from collections.abc import Callable

from isrcheck.checker.compile.kernel import Kernel, kernel_of
from isrcheck.checker.compile.lowering.key import kernel_key
from isrcheck.checker.reductions.reduction import Reduction
from isrcheck.models.language.model import Instance


class Kernels:
    """The kernels that this process has loaded."""

    def __init__(self) -> None:
        self._kept: dict[str, Kernel] = {}

    def of(
        self,
        instance: Instance,
        announce: Callable[[str], None] = lambda message: None,
        reduction: Reduction | None = None,
    ) -> Kernel:
        """The kernel of an instance, with this reduction; `announce` gets a message before a compilation."""
        key = kernel_key(instance, reduction)
        if key not in self._kept:
            self._kept[key] = kernel_of(instance, announce, reduction=reduction, key=key)
        return self._kept[key]
