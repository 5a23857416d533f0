"""Compiles LLVM's assembly to machine code, loads the code, and keeps it in a cache that never returns outdated code.

LLVM cannot be interrupted, but a process can be ended: if time is short, LLVM runs in a process of its own.

A cache file is named by a digest of everything that the code depends on: the text, the source of the modules that
generate it, the versions of llvmlite, LLVM and Python, and the processor. No file is chosen by its date.
"""

from __future__ import annotations

import ctypes
import hashlib
import inspect
import pickle
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from typing import Any

import llvmlite
import llvmlite.binding as llvm
from numpy.typing import NDArray

from isrcheck.checker.compile.staging import Module, Staged, new_module
from isrcheck.checker.resources.cache import cache_folder, hashed_modules, kept_or_made

OPTIMIZATION = 3
"""LLVM's level for the selection of machine instructions."""

SIMPLIFICATION = 1
"""LLVM's level of optimization for the passes before that selection. Level 3 takes twice as long, and makes searches at
most 2 % faster."""

QUICK = 0
"""LLVM's level for code that is compiled in a third of the time, and takes two and a half times as long to run."""


def machine_code(assembly: str, *, is_quick: bool = False) -> bytes:
    """Compile a module in LLVM's assembly to object code. `is_quick` makes the compilation faster, the code slower."""
    machine = _machine(QUICK if is_quick else OPTIMIZATION)
    compiled = llvm.parse_assembly(assembly)
    compiled.triple, compiled.data_layout = llvm.get_process_triple(), str(machine.target_data)
    compiled.verify()
    tuning = llvm.create_pipeline_tuning_options(speed_level=QUICK if is_quick else SIMPLIFICATION)
    if is_quick:
        passes = llvm.create_new_module_pass_manager()
        passes.add_sroa_pass()  # puts variables into registers
        passes.run(compiled, llvm.create_pass_builder(machine, tuning))
    else:
        tuning.loop_vectorization = True
        tuning.slp_vectorization = False
        builder = llvm.create_pass_builder(machine, tuning)
        builder.getModulePassManager().run(compiled, builder)
    code: bytes = machine.emit_object(compiled)
    return code


def load(code: bytes, parameters: Mapping[str, int]) -> dict[str, Callable[..., int]]:
    """Load object code, and return its functions by name; `parameters` maps each name to the number of parameters."""
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), _machine(OPTIMIZATION))
    engine.add_object_file(llvm.ObjectFileRef.from_data(code))
    engine.finalize_object()
    functions: dict[str, Callable[..., int]] = {}
    for name, count in parameters.items():
        kind = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * count)
        function = kind(engine.get_function_address(name))
        function.engine = engine  # type: ignore[attr-defined] # the code lives as long as the engine does
        functions[name] = function
    return functions


def addresses(*arrays: NDArray[Any]) -> Iterator[int]:
    """The addresses of arrays, as arguments for machine code. The caller must keep the arrays until the call ends."""
    return (array.ctypes.data for array in arrays)


def host() -> str:
    """The system, the processor and its features, which can differ between processors with the same name."""
    return f"{llvm.get_process_triple()} {llvm.get_host_cpu_name()} {llvm.get_host_cpu_features().flatten()}"


def _machine(level: int) -> Any:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    triple, name, features = host().split(" ", 2)
    target = llvm.Target.from_triple(triple)
    return target.create_target_machine(name, features, opt=level, codemodel="jitdefault", jit=True)


_DEADLINE: ContextVar[float] = ContextVar("deadline", default=float("inf"))
"""The value of time.monotonic at which compilations must end."""

SURELY = 400_000
"""The characters of assembly per second that even a slow machine compiles with `is_quick`; most machines compile twenty
times as many."""

CHILD = """
import pickle, sys
sys.path[:], assembly, is_quick = pickle.load(sys.stdin.buffer)
from isrcheck.checker.compile.machine_code import machine_code
sys.stdout.buffer.write(machine_code(assembly, is_quick=is_quick))
"""


class OutOfTimeError(Exception):
    """The kernel was not compiled in time."""


@contextmanager
def compiling_within(seconds: float | None) -> Iterator[None]:
    """Limit the total time of the compilations in the block (None: only the limit of an enclosing block applies)."""
    deadline = float("inf") if seconds is None else time.monotonic() + seconds
    before = _DEADLINE.set(min(deadline, _DEADLINE.get()))
    try:
        yield
    finally:
        _DEADLINE.reset(before)


def compiled(build: Callable[[Module], None], *, is_quick: bool) -> bytes:
    """The object code of the functions that `build` builds in a module. Raises OutOfTimeError."""
    with new_module(_seconds_left) as built:
        build(built)
        assembly = built.assembly()
    seconds = _seconds_left()
    if seconds == float("inf") or (is_quick and len(assembly) < SURELY * seconds):
        return machine_code(assembly, is_quick=is_quick)
    try:
        child = subprocess.run(  # noqa: S603 - it runs the command above
            [sys.executable, "-c", CHILD],
            input=pickle.dumps((sys.path, assembly, is_quick)),
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise OutOfTimeError from None
    # If the process cannot be started or fails, compiling here shows the error.
    return child.stdout if child.returncode == 0 else machine_code(assembly, is_quick=is_quick)


def _seconds_left() -> float:
    """The seconds that are left for compilations. Raises OutOfTimeError."""
    seconds = _DEADLINE.get() - time.monotonic()
    if seconds <= 0:
        raise OutOfTimeError
    return seconds


FOLDERS = {
    "isrcheck.checker.compile": True,
    "isrcheck.checker.results": False,
    "isrcheck.checker.reductions": False,
    "isrcheck.models.language": True,
}
"""The packages whose modules determine the machine code."""


@cache
def _compiler() -> str:
    """A digest of everything on which all machine code depends: isrcheck's modules, the tools, and the processor."""
    tools = f"{host()} {sys.version} {llvmlite.__version__} {llvm.llvm_version_info}"
    return f"{hashed_modules(FOLDERS)}\0{tools}"


def code_path(kind: str, content: str) -> Path:
    """The path of the cache file for the code that is generated from `content`, in the cache's folder `kind`."""
    digest = hashlib.sha256(f"{_compiler()}\0{content}".encode()).hexdigest()[:32]
    return cache_folder() / kind / f"{digest}.o"


def as_machine_code(function: Staged) -> Callable[..., int]:
    """A `Staged` function as a Python function that runs its machine code, which may come from the cache."""
    return functions_of(function.build.__module__)[function.build.__name__]


@cache
def functions_of(module: str) -> dict[str, Callable[..., int]]:
    """Return the public `Staged` functions of a module, by name; compile them if the cache does not have their code.

    The functions may depend only on their own module and the packages in FOLDERS: these determine the cache file.
    """
    staged = [
        function
        for name, function in vars(sys.modules[module]).items()
        if isinstance(function, Staged) and function.build.__module__ == module and not name.startswith("_")
    ]
    path = code_path("functions", f"{module}\0{inspect.getsource(sys.modules[module])}")

    def make() -> bytes:
        with new_module() as built:
            for function in staged:
                built.function(function.build, is_exported=True)
            return machine_code(built.assembly())

    parameters = {function.build.__name__: function.parameters for function in staged}
    return load(kept_or_made(path, make), parameters)
