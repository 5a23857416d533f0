"""Compiles an instance to a kernel, or loads its machine code from a cache that is never stale.

The name of a kernel's cache file is a digest of everything that its code depends on (`kernel_key`), the compiler
included (checker/compile/machine_code.py). So a changed helper function leads to another file. A cached kernel is not
built again: the code that builds kernels (checker/compile/kernel_code.py) is imported only where a kernel is compiled.

A kernel depends on these parts of an instance: its functions (a mutant has other functions than its model), the bounds,
the ranges of the fields, the sizes of domains, where settings are stored, and how steps are numbered. The value of a
run-time setting matters only if a range or the size of a domain depends on it: then each value has its own kernel.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from isrcheck.checker.compile.layout import Layout, layout_of
from isrcheck.checker.compile.machine_code import OutOfTimeError, code_path, compiled, compiling_within, load
from isrcheck.checker.compile.staging import Module
from isrcheck.checker.reductions.reduction import Reduction
from isrcheck.checker.resources.cache import kept, kept_or_made, why_not_kept
from isrcheck.models.language.ir import digest
from isrcheck.models.language.model import ArgumentRange, Instance
from isrcheck.models.language.reading.reader import Function
from isrcheck.models.messages import escaped


def kernel_key(instance: Instance, reduction: Reduction | None) -> str:
    """A text with everything on which a kernel's code depends; its digest is the name of the kernel's cache file."""
    model = instance.model
    functions = [
        *(action.alternatives for action in model.actions),
        *((prop.function, prop.permitted, prop.premise) for prop in model.properties),
        model.terminals,
        model.constraints,
    ]
    actions = [action.name for action in model.actions], [choice is None for choice in instance.alternatives]
    properties = [(prop.kind, [each.name for each in prop.function.parameters]) for prop in model.properties]
    steps = instance.first_steps, list(map(_choices, instance.argument_ranges))
    conditions = [
        (digest.of_routine(condition.routine), [each.name for each in condition.arguments], sorted(names))
        for condition, names in model.conditions.items()
    ]
    return repr((actions, properties, steps, conditions, _common(instance, functions), _reduction(reduction)))


def generators_key(instance: Instance) -> str:
    """A text with everything on which the code of the generators of initial states depends."""
    choices = list(map(_choices, instance.generator_ranges))
    return repr((choices, _common(instance, [instance.model.generators])))


def _common(instance: Instance, functions: Sequence[Sequence[Function | None]]) -> Any:
    """Returns the part of a kernel's key for these functions, and for the model's domains, fields and settings."""
    values = dict(instance.configuration.items())
    domains = list(map(str, map(digest.domain, instance.model.domains)))
    is_ambiguous = len(set(domains)) < len(domains)  # in two modules, with sizes that are functions
    return (
        [[function and digest.of_routine(function.routine) for function in group] for group in functions],
        [*zip(domains, instance.sizes, strict=True), is_ambiguous and instance.model.digest],
        [
            (name, entry.values is bool, values[name] if entry.is_bound else (entry.least, entry.most))
            for name, entry in instance.model.entries.items()
        ],
        [
            (place.name, place.offset, place.sizes, place.low, place.high, place.field.values.is_flag)
            for place in instance.layouts.values()
        ],
    )


def _choices(choices: Sequence[ArgumentRange]) -> list[tuple[int, bool]]:
    return [(choice.elements, choice.is_subset) for choice in choices]


def _reduction(reduction: Reduction | None) -> Any:
    """The part of a kernel's key for a reduction; its sets are sorted, so that equal reductions have equal keys."""
    if reduction is None or reduction.symmetry is None:
        return reduction
    symmetry = reduction.symmetry
    return (
        symmetry.blocks,
        symmetry.sizes,
        symmetry.cells,
        sorted(symmetry.unordered),
        sorted(symmetry.configured),
        reduction.dead,
    )


PARAMETERS = {"expand": 12, "check": 6, "reduce": 3, "conditions": 7, "may_overreport": 0}
"""The number of integer parameters of each exported function; each returns an integer."""

_SAID: set[str] = set()
"""Problems of the cache that this process has already reported."""

Announce = Callable[[str], None]

MANY_STATES = 500_000
"""After this many expanded states, a search uses optimized code: optimizing takes about as long as expanding them."""

SHORT, LONG = 10.0, 600.0
"""If fewer than SHORT seconds are left, the kernel is not optimized; LLVM gets at most LONG seconds."""

QUICK, OPTIMIZED = "quick", "optimized"
"""The kinds of code: QUICK code is compiled quickly, OPTIMIZED code runs quickly (checker/compile/machine_code.py)."""


@dataclass
class Kernel:
    """The compiled functions of a model, for one state layout. Their parameters are those of the functions with the
    same names in checker/compile/kernel_code.py."""

    layout: Layout
    expand: Callable[..., int]
    check: Callable[..., int]
    careful: Callable[[], Kernel]
    """Returns the kernel that continues where this one stops because the model leaves a declared range."""
    optimize: Callable[[], None] | None
    """Replaces the functions of the kernel by optimized ones; None if they are optimized already."""
    reduce: Callable[..., int]
    """Replaces states by the states that a search with the reduction keeps in their place; `expand` does this for its
    successors by itself."""
    conditions: Callable[..., int]
    """Evaluates the conditions of fairness before steps."""
    reduction: Reduction | None
    may_overreport: bool
    """Whether the kernel may also report that a state leaves a declared range when only another permutation of the
    state, or no permutation, leaves it (checker/compile/ranges.py)."""

    def reduced(self, words: NDArray[np.uint64], instance: Instance) -> NDArray[np.uint64]:
        """For each row, a packed state, return the state that a search with the kernel's reduction keeps instead."""
        words = np.ascontiguousarray(words)
        if self.reduction is not None:
            self.reduce(words.ctypes.data, len(words), self.layout.buffer(instance).ctypes.data)
        return words

    def optimize_for(self, expanded: int, deadline: float) -> None:
        """Optimize the kernel if the search is large and enough time is left. The search must have expanded at least
        MANY_STATES states, and SHORT seconds must be left until the deadline (time.monotonic). LLVM cannot be
        interrupted, so it runs in a separate process, which can be ended."""
        left = deadline - time.monotonic()
        if self.optimize is None or expanded < MANY_STATES or left < SHORT:
            return
        try:
            with compiling_within(min(left, LONG)):
                self.optimize()
        except OutOfTimeError:
            self.optimize = None


def kernel_of(
    instance: Instance,
    announce: Announce = lambda message: None,
    *,
    is_optimized: bool = False,
    is_careful: bool = False,
    reduction: Reduction | None = None,
    key: str = "",
) -> Kernel:
    """The compiled kernel of an instance; `announce` gets a message before a compilation. Raises OutOfTimeError.

    The kernel has optimized code if the cache contains it or `is_optimized` is true; otherwise quickly compiled code.
    The `key` is the result of `kernel_key`, if the caller has already computed it.
    """
    key, layout = key or kernel_key(instance, reduction), layout_of(instance)

    def careful() -> Kernel:
        return kernel_of(instance, announce, is_optimized=is_optimized, is_careful=True, reduction=reduction, key=key)

    def build(module: Module) -> None:
        # Imported here, because code that builds kernels is not needed where the cache has the kernel.
        from isrcheck.checker.compile.kernel_code import CarefulCode, KernelCode

        (CarefulCode if is_careful else KernelCode)(module, instance, layout, reduction).build()

    def code(kind: str) -> bytes:
        def compile_code() -> bytes:
            purpose = " for a large search" if kind == OPTIMIZED else ""
            announce(f"compiling {escaped(instance.model.name)}{purpose}{_why_compiled(paths[kind])}")
            return compiled(build, is_quick=kind == QUICK)

        return kept_or_made(paths[kind], compile_code)

    def optimize() -> None:
        kernel.expand, kernel.check, *_ = load(code(OPTIMIZED), PARAMETERS).values()
        kernel.optimize = None

    paths = {kind: code_path("kernels", f"{kind}\0{is_careful}\0{key}") for kind in (QUICK, OPTIMIZED)}
    best = code(OPTIMIZED) if is_optimized else kept(paths[OPTIMIZED])
    expand, check, reduce, conditions, may_overreport = load(code(QUICK) if best is None else best, PARAMETERS).values()
    faster = optimize if best is None else None
    kernel = Kernel(layout, expand, check, careful, faster, reduce, conditions, reduction, bool(may_overreport()))
    return kernel


def _why_compiled(path: Path) -> str:
    """The remark in brackets that says why a kernel is compiled and not read from its cache file. If the cache cannot
    be used, the first remark gives the reason; later remarks with the same reason only say "uncached"."""
    why = why_not_kept(path)
    if why in _SAID:
        return " (uncached)"
    if why:
        _SAID.add(why)
        return f" (uncached: {why})"
    return f" again ({escaped(str(path))} is damaged)" if path.exists() else " (once for these bounds)"


class Kernels:
    """The kernels that this process has loaded."""

    def __init__(self) -> None:
        self._kept: dict[str, Kernel] = {}

    def of(
        self, instance: Instance, announce: Announce = lambda message: None, reduction: Reduction | None = None
    ) -> Kernel:
        """The kernel of an instance, with this reduction; `announce` gets a message before a compilation."""
        key = kernel_key(instance, reduction)
        if key not in self._kept:
            self._kept[key] = kernel_of(instance, announce, reduction=reduction, key=key)
        return self._kept[key]
