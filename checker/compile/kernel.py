"""A model, compiled: the lowered text of checker/compile/lower.py as machine code, and a cache that is never stale.

In:  an `Instance`.
Out: a `Kernel` with two compiled functions, `expand` and `check`, and the layout that they work on; and the careful
     kernel of the same shape, for who asks for it.

The compiled code lies in a file that is named by the content of everything it depends on: the lowered text, the layout
of the state, the source of the modules that make it, the versions of llvmlite, LLVM and Python, the processor. A
changed helper function changes the text and so the file; nothing is ever looked up by file name or date alone.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable
from dataclasses import dataclass
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
"""The folders whose modules decide what machine code comes out."""

_SAID: set[str] = set()
"""What is wrong with the cache, as far as this process has said so."""


Announce = Callable[[str], None]


@dataclass(frozen=True)
class Kernel:
    """The compiled functions of one shape of a model; checker/compile/lower.py says what they take.

    `careful` gives the kernel that goes on where this one stops, because the model leaves its declaration.
    """

    layout: Layout
    expand: Callable[..., int]
    check: Callable[..., int]
    properties: int
    careful: Callable[[], Kernel]


def _digest(text: str, layout: Layout) -> str:
    tools = f"{native.host()} {sys.version} {llvmlite.__version__} {binding.llvm_version_info}"
    content = f"{hashed_modules(FOLDERS)}\0{tools}\0{layout!r}\0{text}"
    return hashlib.sha256(content.encode()).hexdigest()[:32]


def kernel_of(instance: Instance, announce: Announce = lambda message: None) -> Kernel:
    """The compiled kernel for the shape of an instance; `announce` is told where it has to be compiled first."""
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
    """Why code is not there that would be kept in this file. What is wrong with the cache is said once."""
    why = why_not_kept(path)
    if why in _SAID:
        return " (not kept)"
    if why:
        _SAID.add(why)
        return f" (not kept: {why})"
    return f" again ({escaped(str(path))} is damaged)" if path.exists() else " (once for this shape)"
