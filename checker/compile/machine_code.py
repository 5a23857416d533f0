"""Machine code and its cache, which is never stale: the names of its files, and the staged functions of modules.

In:  what is compiled, as text; or a staged function (checker/compile/staging/module.py).
Out: the cache file for it; or the function that it builds.

A cache file is named by a digest of everything that the code depends on: the text, the source of the modules that
generate it, the versions of llvmlite, LLVM and Python, and the processor. Nothing is looked up by date.
"""

from __future__ import annotations

import hashlib
import inspect
import sys
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path

import llvmlite
from llvmlite import binding

from isrcheck.checker.compile import native
from isrcheck.checker.compile.staging import module as staging
from isrcheck.checker.compile.staging.module import Staged
from isrcheck.checker.resources.cache import cache_folder, can_keep, keep, kept
from isrcheck.checker.resources.engine_digest import hashed_modules

FOLDERS = {
    "isrcheck.checker.compile": True,
    "isrcheck.checker.results": False,
    "isrcheck.checker.reductions": False,
    "isrcheck.models.language": True,
}
"""The packages whose modules determine the machine code."""


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


def as_machine_code(function: Staged) -> Callable[..., int]:
    """The function as machine code. It must be public."""
    return _functions(function.build.__module__)[function.build.__name__]


@cache
def _functions(module: str) -> dict[str, Callable[..., int]]:
    """The public functions of a module, compiled when the cache has no code for them.

    Beside its own text, they depend only on modules in FOLDERS.
    """
    staged = [
        one
        for name, one in vars(sys.modules[module]).items()
        if isinstance(one, Staged) and one.build.__module__ == module and not name.startswith("_")
    ]
    path = code_path("functions", f"{module}\0{inspect.getsource(sys.modules[module])}")
    code = kept_or_compiled(path, lambda: _compiled(staged))
    return native.load(code, {one.build.__name__: one.parameters for one in staged})


def _compiled(functions: Iterable[Staged]) -> bytes:
    with staging.module() as module:
        for function in functions:
            module.function(function.build, is_exported=True)
        assembly = module.assembly()
    return native.machine_code(assembly)
