"""Machine code and its cache, which is never stale: the names of its files, and the functions of compiled modules.

In:  what is compiled, as text; or a Python function in the subset that checker/compile/native.py compiles.
Out: the cache file for it; or the same function, compiled.

A cache file is named by a digest of everything that the code depends on: the text, the source of the modules that
generate it, the versions of llvmlite, LLVM and Python, and the processor. Nothing is looked up by date.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import FunctionType
from typing import Any, TypeVar, cast

import llvmlite
from llvmlite import binding

from isrcheck.checker.compile import native
from isrcheck.checker.compile.compiling import code_of_module, text_of_module
from isrcheck.checker.resources.cache import cache_folder, can_keep, keep, kept
from isrcheck.checker.resources.engine_digest import hashed_modules

FOLDERS = {
    "isrcheck.checker.compile": True,
    "isrcheck.checker.outcome": False,
    "isrcheck.checker.reductions": False,
    "isrcheck.models.language": True,
}
"""The packages whose modules determine the machine code."""

Function = TypeVar("Function", bound=Callable[..., Any])


@cache
def _compiler() -> str:
    """Everything on which machine code depends, except the text: read once, because it is the same for every text."""
    tools = f"{native.host()} {sys.version} {llvmlite.__version__} {binding.llvm_version_info}"
    return f"{hashed_modules(FOLDERS)}\0{tools}"


def code_path(kind: str, content: str) -> Path:
    """The cache file for the machine code of the text `content`, in the folder `kind` of the cache."""
    digest = hashlib.sha256(f"{_compiler()}\0{content}".encode()).hexdigest()[:32]
    return cache_folder() / kind / f"{digest}.o"


def kept_or_compiled(path: Path, compile_code: Callable[[], bytes]) -> bytes:
    """The machine code in a cache file; if there is none, it is compiled and, if possible, kept there."""
    code = kept(path)
    if code is None:
        code = compile_code()
        if can_keep(path):
            keep(path, code)
    return code


def as_machine_code(function: Function) -> Function:
    """The function as machine code. It must be public."""
    return cast(Function, _functions(function.__module__)[function.__name__])


@cache
def _functions(module: str) -> dict[str, Callable[..., int]]:
    """The public functions of a module, compiled when the cache has no code for them."""
    path = code_path("functions", f"{module}\0{text_of_module(sys.modules[module])}")
    names = vars(sys.modules[module])
    parameters = {
        name: one.__code__.co_argcount
        for name, one in names.items()
        if isinstance(one, FunctionType) and one.__module__ == module and not name.startswith("_")
    }
    code = kept_or_compiled(path, lambda: code_of_module(sys.modules[module], parameters))
    return native.load(code, parameters)
