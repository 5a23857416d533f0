"""Reuses kernels: one for all instances of a model whose kernels have the same text.

In:  instances, one after the other.
Out: a `Kernel` for each (checker/compile/kernel.py), looked up or compiled once.
"""

from __future__ import annotations

from collections.abc import Callable

from isrcheck.checker.compile.kernel import Kernel, kernel_of
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
        shape = _shape(instance), reduction
        if shape not in self._kept:
            self._kept[shape] = (
                kernel_of(instance, announce)
                if reduction is None
                else kernel_of(instance, announce, reduction=reduction)
            )
        return self._kept[shape]


def _shape(instance: Instance) -> tuple[object, ...]:
    """All that the text of a kernel takes from an instance. A run-time setting is not in it, unless a range of values
    or the size of a domain depends on it: then each of its values has a kernel of its own."""
    model = instance.model
    values = dict(instance.configuration.items())
    bounds = tuple(values[name] for name, entry in model.entries.items() if entry.is_bound)
    ranges = tuple((one.offset, one.sizes, one.low, one.high) for one in instance.layouts.values())
    steps = instance.first_steps, instance.argument_ranges
    return model.digest, instance.alternatives, bounds, instance.sizes, ranges, steps
