"""A model, compiled: the lowered text of checker/lower.py through Numba, and a cache that is never stale.

In:  an `Instance`.
Out: a `Kernel` with two compiled functions, `expand` and `check`, and the layout that they work on.

The compiled code lies in a folder that is named by the content of everything it depends on: the lowered text, the
layout of the state, the source of the four modules that make it, the versions of Numba and Python, the processor. A
changed helper function changes the text and so the folder; nothing is ever looked up by file name or date alone.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import llvmlite.binding
import numba
from numba import njit, types

from checker import machine
from checker.layout import Layout, layout_of
from checker.lower import lower
from models.language.model import Instance

EXPAND = types.int64(*[types.int64] * 12)
CHECK = types.int64(*[types.int64] * 6)

LEAN = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True, "_nrt": False}
"""Options for functions that only the kernel calls, and that count no references: 40 % less time to compile."""


@dataclass(frozen=True)
class Kernel:
    """The compiled functions of one shape of a model; checker/lower.py says what they take."""

    layout: Layout
    expand: Callable[..., int]
    check: Callable[..., int]
    properties: int


def cache_folder() -> Path:
    """Where compiled kernels are kept: ISRCHECK_CACHE, or `isrcheck` in the user's cache folder."""
    own = os.environ.get("ISRCHECK_CACHE")
    if own:
        return Path(own)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "isrcheck"


def _digest(text: str, layout: Layout) -> str:
    content = hashlib.sha256()
    for name in ("kernel", "layout", "lower", "machine"):
        source = Path(__file__).with_name(f"{name}.py")
        content.update(source.name.encode() + b"\0" + source.read_bytes() + b"\0")
    host = f"{llvmlite.binding.get_host_cpu_name()} {sys.version} {numba.__version__}"
    content.update(f"{host}\0{layout!r}\0{text}".encode())
    return content.hexdigest()[:32]


def kernel_of(instance: Instance, announce: Callable[[str], None] = lambda message: None) -> Kernel:
    """The compiled kernel for the shape of an instance; `announce` is told where it has to be compiled first."""
    layout = layout_of(instance)
    text = lower(instance, layout)
    folder = cache_folder() / "kernels" / _digest(text, layout)
    path = folder / "kernel.py"
    kept = _keep(path, text)
    if not kept:
        announce(f"compiling {instance.model.name} (not kept: {folder} cannot be written)")
    elif not any(folder.glob("__pycache__/*.nbi")):
        announce(f"compiling {instance.model.name} (once for this shape)")
    try:
        namespace = _compiled(path, text, layout, kept)
    except Exception:
        if not kept:
            raise
        # What Numba kept is damaged, or there is no room for more: compiled for this run alone.
        shutil.rmtree(folder, ignore_errors=True)
        announce(f"compiling {instance.model.name} again (what was kept in {folder} is of no use)")
        namespace = _compiled(path, text, layout, kept=False)
    return Kernel(layout, namespace["expand"], namespace["check"], len(instance.model.properties))


def _compiled(path: Path, text: str, layout: Layout, kept: bool) -> dict[str, Any]:
    """The names that the kernel's text defines, compiled, or loaded from beside `path` where it is kept there."""
    # Numba rebuilds a cached function through the module that its name points to.
    module = ModuleType(f"isrcheck_kernel_{path.parent.name}")
    sys.modules[module.__name__] = module
    namespace = module.__dict__
    namespace |= {
        "inner": njit(**LEAN),
        "outer": lambda signature: njit(signature, cache=kept, _nrt=False),
        "EXPAND": EXPAND,
        "CHECK": CHECK,
        "pack": machine.packer(layout),
        "unpack": machine.unpacker(layout),
        "copy": machine.copier(layout),
    }
    for name in ("read", "write", "element", "failed", "load_word", "store_word", "store_half"):
        namespace[name] = getattr(machine, name)
    exec(compile(text, str(path), "exec"), namespace)  # noqa: S102 - our own text, never read back from the cache
    return namespace


def _keep(path: Path, text: str) -> bool:
    """Put the lowered text where Numba looks for it; False where that is impossible."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_bytes() != text.encode():
            draft = path.with_suffix(f".{os.getpid()}")
            draft.write_bytes(text.encode())
            draft.replace(path)
    except OSError:
        return False
    return os.access(path.parent, os.W_OK)
