"""Compiles an instance to a kernel, or loads its machine code from a cache that is never stale.

In:  an `Instance`.
Out: a `Kernel` with two compiled functions, `expand` and `check`, and their state layout; on request, faster functions,
     or the careful kernel for the same layout.

The cache file of a kernel is named by all that its code depends on (checker/compile/lowering/key.py), and by the
compiler (checker/compile/machine_code.py). So a changed helper function has another file; and a kernel that is there is
not built.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from isrcheck.checker.compile import native
from isrcheck.checker.compile.compiling import OutOfTimeError, compiled, compiling_within
from isrcheck.checker.compile.layout import Layout, layout_of
from isrcheck.checker.compile.lower import CarefulCode, KernelCode
from isrcheck.checker.compile.lowering.key import kernel_key
from isrcheck.checker.compile.machine_code import code_path, kept_or_compiled
from isrcheck.checker.reductions.reduction import Reduction
from isrcheck.checker.resources.cache import kept, why_not_kept
from isrcheck.models.language.model import Instance
from isrcheck.models.messages import escaped

PARAMETERS = {"expand": 12, "check": 6, "reduce": 3, "may_overreport": 0}
"""The number of integer parameters of each exported function; each returns an integer."""

_SAID: set[str] = set()
"""Problems of the cache that this process has already reported."""


Announce = Callable[[str], None]

MANY_STATES = 500_000
"""After this many states a search goes on with optimized code: about so many it would expand while LLVM optimizes."""

SHORT, LONG = 10.0, 600.0
"""If fewer seconds are left than the first number, a search goes on as it is; LLVM gets at most the second."""

QUICK, OPTIMIZED = "quick", "optimized"
"""The kinds of code: one is compiled quickly, the other runs quickly (checker/compile/native.py)."""


@dataclass
class Kernel:
    """The compiled functions of a model, for one state layout (parameters: checker/compile/lowering/frame.py).

    `careful` returns the kernel that continues where this one stops because the model leaves a declared range.
    `optimize` replaces the functions by faster ones; None if there are none. With a `reduction`, successors are
    replaced by the states that the search keeps in their place, and `reduce` does the same with other states. If it
    `may_overreport`, it also finds a declared range left where only another permutation of the state leaves it, or none
    (checker/compile/lowering/elements.py).
    """

    layout: Layout
    expand: Callable[..., int]
    check: Callable[..., int]
    properties: int
    careful: Callable[[], Kernel]
    optimize: Callable[[], None] | None = None
    reduce: Callable[..., int] | None = None
    reduction: Reduction | None = None
    may_overreport: bool = False

    def reduced(self, words: NDArray[np.uint64], instance: Instance) -> NDArray[np.uint64]:
        """For each of these packed states, one per row, the state that a search keeps in its place."""
        words = np.ascontiguousarray(words)
        if self.reduction is not None:
            assert self.reduce is not None
            self.reduce(words.ctypes.data, len(words), self.layout.buffer(instance).ctypes.data)
        return words

    def optimize_for(self, expanded: int, deadline: float) -> None:
        """Optimize after a search has expanded many states, if it has time until the deadline (time.monotonic).

        Another process compiles: it can be ended, which LLVM cannot.
        """
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
    reduction: Reduction | None = None,
    key: str = "",
) -> Kernel:
    """The compiled kernel of an instance; `announce` gets a message before a compilation. Raises OutOfTimeError.

    If the cache has no optimized code for it, the code is one that is quickly compiled, unless `is_optimized`. The
    `key` is that of checker/compile/lowering/key.py, if the caller has it.
    """
    key = key or kernel_key(instance, reduction)
    return _kernel(instance, layout_of(instance), announce, is_optimized, reduction, key, KernelCode)


def _kernel(
    instance: Instance,
    layout: Layout,
    announce: Announce,
    is_optimized: bool,
    reduction: Reduction | None,
    key: str,
    builder: type[KernelCode],
) -> Kernel:
    def careful() -> Kernel:
        return _kernel(instance, layout, announce, is_optimized, reduction, key, CarefulCode)

    def code(kind: str) -> bytes:
        def compile_code() -> bytes:
            purpose = " for a large search" if kind == OPTIMIZED else ""
            announce(f"compiling {escaped(instance.model.name)}{purpose}{_why_compiled(paths[kind])}")
            return compiled(lambda module: builder(module, instance, layout, reduction).build(), is_quick=kind == QUICK)

        return kept_or_compiled(paths[kind], compile_code)

    def optimize() -> None:
        faster = native.load(code(OPTIMIZED), PARAMETERS)
        kernel.expand, kernel.check, kernel.optimize = faster["expand"], faster["check"], None

    paths = {kind: code_path("kernels", f"{kind}\0{builder.__name__}\0{key}") for kind in (QUICK, OPTIMIZED)}
    best = code(OPTIMIZED) if is_optimized else kept(paths[OPTIMIZED])
    functions = native.load(code(QUICK) if best is None else best, PARAMETERS)
    properties = len(instance.model.properties)
    kernel = Kernel(
        layout,
        functions["expand"],
        functions["check"],
        properties,
        careful,
        optimize if best is None else None,
        functions["reduce"],
        reduction,
        bool(functions["may_overreport"]()),
    )
    return kernel


def _why_compiled(path: Path) -> str:
    """Why the kernel is compiled, not read from the cache file `path`. A problem of the cache is reported once."""
    why = why_not_kept(path)
    if why in _SAID:
        return " (uncached)"
    if why:
        _SAID.add(why)
        return f" (uncached: {why})"
    return f" again ({escaped(str(path))} is damaged)" if path.exists() else " (once for these bounds)"
