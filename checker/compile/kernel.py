"""Compiles an instance to a kernel, or loads its machine code from a cache that is never stale.

In:  an `Instance`.
Out: a `Kernel` with two compiled functions, `expand` and `check`, and their state layout; on request, the careful
     kernel for the same layout.

The cache file of a kernel is named by its lowered text, its state layout, and the compiler
(checker/compile/machine_code.py). A changed helper function changes the text and therefore the file.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from isrcheck.checker.compile import native
from isrcheck.checker.compile.careful import lower_carefully
from isrcheck.checker.compile.compiling import PARAMETERS, compiled
from isrcheck.checker.compile.layout import Layout, layout_of
from isrcheck.checker.compile.lower import lower
from isrcheck.checker.compile.machine_code import code_path, kept_or_compiled
from isrcheck.checker.resources.cache import why_not_kept
from isrcheck.models.language.model import Instance
from isrcheck.models.messages.printable import escaped

_SAID: set[str] = set()
"""Problems of the cache that this process has already reported."""


Announce = Callable[[str], None]


@dataclass(frozen=True)
class Kernel:
    """The compiled functions of a model, for one state layout; checker/compile/frame.py defines their parameters.

    `careful` returns the kernel that continues where this one stops because the model leaves a declared range.
    """

    layout: Layout
    expand: Callable[..., int]
    check: Callable[..., int]
    properties: int
    careful: Callable[[], Kernel]


def kernel_of(instance: Instance, announce: Announce = lambda message: None) -> Kernel:
    """The compiled kernel of an instance; `announce` gets a message before a compilation. Raises OutOfTimeError."""
    layout = layout_of(instance)
    return _kernel(lower(instance, layout), instance, layout, announce)


def _kernel(text: str, instance: Instance, layout: Layout, announce: Announce) -> Kernel:
    path = code_path("kernels", f"{layout!r}\0{text}")

    def compile_code() -> bytes:
        announce(f"compiling {escaped(instance.model.name)}{_why_compiled(path)}")
        return compiled(text, layout)

    functions = native.load(kept_or_compiled(path, compile_code), PARAMETERS)

    def careful() -> Kernel:
        return _kernel(lower_carefully(instance, layout), instance, layout, announce)

    return Kernel(layout, functions["expand"], functions["check"], len(instance.model.properties), careful)


def _why_compiled(path: Path) -> str:
    """Why the kernel is compiled, not read from the cache file `path`. A problem of the cache is reported once."""
    why = why_not_kept(path)
    if why in _SAID:
        return " (uncached)"
    if why:
        _SAID.add(why)
        return f" (uncached: {why})"
    return f" again ({escaped(str(path))} is damaged)" if path.exists() else " (once for these bounds)"
