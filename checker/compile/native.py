"""Compiles LLVM's assembly to machine code, and loads it.

In:  the assembly of a module (checker/compile/staging/module.py).
Out: object code, which can be stored; and, from object code, functions that Python can call.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping
from typing import Any

import llvmlite.binding as llvm

OPTIMIZATION = 3
"""LLVM's level for the selection of machine instructions."""

SIMPLIFICATION = 1
"""LLVM's level for the passes before. Level 3 takes twice as long, and makes searches at most 2 % faster."""

QUICK = 0
"""LLVM's level for code that is compiled in a third of the time, and takes two and a half times as long to run."""


def machine_code(assembly: str, *, is_quick: bool = False) -> bytes:
    """The object code of a module in LLVM's assembly. `is_quick` saves time of compilation, not of the code."""
    machine = _machine(QUICK if is_quick else OPTIMIZATION)
    compiled = llvm.parse_assembly(assembly)
    compiled.triple, compiled.data_layout = llvm.get_process_triple(), str(machine.target_data)
    compiled.verify()
    if is_quick:
        _put_into_registers(compiled, machine)
    else:
        _simplify(compiled, machine)
    code: bytes = machine.emit_object(compiled)
    return code


def _put_into_registers(compiled: Any, machine: Any) -> None:
    passes = llvm.create_new_module_pass_manager()
    passes.add_sroa_pass()
    passes.run(compiled, llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(speed_level=QUICK)))


def _simplify(compiled: Any, machine: Any) -> None:
    tuning = llvm.create_pipeline_tuning_options(speed_level=SIMPLIFICATION)
    tuning.loop_vectorization = True
    tuning.slp_vectorization = False
    builder = llvm.create_pass_builder(machine, tuning)
    builder.getModulePassManager().run(compiled, builder)


def load(code: bytes, parameters: Mapping[str, int]) -> dict[str, Callable[..., int]]:
    """The functions in object code, by name and number of integer parameters."""
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), _machine(OPTIMIZATION))
    engine.add_object_file(llvm.ObjectFileRef.from_data(code))
    engine.finalize_object()
    found: dict[str, Callable[..., int]] = {}
    for name, count in parameters.items():
        kind = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * count)
        function = kind(engine.get_function_address(name))
        function.engine = engine  # type: ignore[attr-defined] # the code lives as long as the engine does
        found[name] = function
    return found


def host() -> str:
    """The system, the processor and its features, which can differ between processors with the same name."""
    return f"{llvm.get_process_triple()} {llvm.get_host_cpu_name()} {llvm.get_host_cpu_features().flatten()}"


def _machine(level: int) -> Any:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    triple, name, features = host().split(" ", 2)
    target = llvm.Target.from_triple(triple)
    return target.create_target_machine(name, features, opt=level, codemodel="jitdefault", jit=True)
