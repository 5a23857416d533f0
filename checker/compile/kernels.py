"""Reuses kernels: one for all instances of a model with the same bounds, state layout and actions.

In:  instances, one after the other.
Out: a `Kernel` for each (checker/compile/kernel.py), looked up or compiled once.
"""

from __future__ import annotations

from collections.abc import Callable

from isrcheck.checker.compile.kernel import Kernel, kernel_of
from isrcheck.checker.compile.layout import layout_of
from isrcheck.checker.reductions.reduction import Reduction
from isrcheck.models.language.model import Instance


class Kernels:
    """The kernels that this process has loaded."""

    def __init__(self) -> None:
        self._kept: dict[object, Kernel] = {}

    def of(
        self,
        instance: Instance,
        announce: Callable[[str], None] = lambda message: None,
        reduction: Reduction | None = None,
    ) -> Kernel:
        """The kernel of an instance, with this reduction; `announce` gets a message before a compilation."""
        model = instance.model
        values = dict(instance.configuration.items())
        bounds = tuple(values[name] for name, entry in model.entries.items() if entry.is_bound)
        shape = model.digest, instance.alternatives, bounds, instance.first_steps, repr(layout_of(instance)), reduction
        if shape not in self._kept:
            self._kept[shape] = (
                kernel_of(instance, announce)
                if reduction is None
                else kernel_of(instance, announce, reduction=reduction)
            )
        return self._kept[shape]
