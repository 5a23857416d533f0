"""Compiles an instance to a kernel, or loads its machine code from a cache that is never stale.

In:  an `Instance`.
Out: a `Kernel` with two compiled functions, `expand` and `check`, and their state layout; on request, the careful
     kernel for the same layout.

The cache file of a kernel is named by a digest of everything that the code depends on: the lowered text, the state
layout, the source of the modules that generate it, the versions of llvmlite, LLVM and Python, and the processor. A
changed helper function changes the text and therefore the file. Nothing is looked up by date.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import llvmlite
from llvmlite import binding

from isrcheck.checker.compile import native
from isrcheck.checker.compile.careful import lower_carefully
from isrcheck.checker.compile.compiling import PARAMETERS, compiled
from isrcheck.checker.compile.layout import Layout, layout_of
from isrcheck.checker.compile.lower import lower
from isrcheck.checker.resources.cache import cache_folder, keep, kept, why_not_kept
from isrcheck.checker.resources.engine_digest import hashed_modules
from isrcheck.models.language.model import Instance
from isrcheck.models.messages.printable import escaped

FOLDERS = {"isrcheck.checker.compile": True, "isrcheck.checker.outcome": False}
"""The packages whose modules determine the machine code."""

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


@cache
def _compiler() -> str:
    """The part of a kernel's digest that does not depend on the model: it is computed once."""
    tools = f"{native.host()} {sys.version} {llvmlite.__version__} {binding.llvm_version_info}"
    return f"{hashed_modules(FOLDERS)}\0{tools}"


def _digest(text: str, layout: Layout) -> str:
    content = f"{_compiler()}\0{layout!r}\0{text}"
    return hashlib.sha256(content.encode()).hexdigest()[:32]


def kernel_of(instance: Instance, announce: Announce = lambda message: None) -> Kernel:
    """The compiled kernel of an instance; `announce` gets a message before a compilation. Raises OutOfTimeError."""
    layout = layout_of(instance)
    return _kernel(lower(instance, layout), instance, layout, announce)


def _kernel(text: str, instance: Instance, layout: Layout, announce: Announce) -> Kernel:
    path = cache_folder() / "kernels" / f"{_digest(text, layout)}.o"
    code = kept(path)
    if code is None:
        announce(f"compiling {escaped(instance.model.name)}{_why_compiled(path)}")
        code = compiled(text, layout)
        keep(path, code)
    functions = native.load(code, PARAMETERS)

    def careful() -> Kernel:
        return _kernel(lower_carefully(instance, layout), instance, layout, announce)

    return Kernel(layout, functions["expand"], functions["check"], len(instance.model.properties), careful)


def _why_compiled(path: Path) -> str:
    """Why the kernel is compiled instead of read from this file. A problem of the cache is reported once."""
    why = why_not_kept(path)
    if why in _SAID:
        return " (uncached)"
    if why:
        _SAID.add(why)
        return f" (uncached: {why})"
    return f" again ({escaped(str(path))} is damaged)" if path.exists() else " (once for these bounds)"
