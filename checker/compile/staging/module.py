"""Modules of machine code: functions that call each other, and what can be used in them like a function.

In:  Python functions that build functions of machine code (checker/compile/staging/code.py).
Out: a `Module`, as LLVM's assembly (checker/compile/native.py makes machine code of it).
"""

from __future__ import annotations

import gc
import inspect
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import update_wrapper
from typing import Any

from llvmlite import ir

from isrcheck.checker.compile.staging.code import Build, Code, Number, Value, code_of


class Module:
    """Functions of machine code, which call each other. `before_each` is called before a function is built."""

    def __init__(self, before_each: Callable[[], object] = lambda: None) -> None:
        self.content = ir.Module("kernel")
        self._before_each = before_each
        self._functions: dict[Build, Any] = {}

    def function(self, build: Build, *, is_exported: bool = False) -> Any:
        """The function that `build` builds, under its name, when it is needed first. Its annotations say which
        parameters are working buffers. Only one that `is_exported` can be called from outside."""
        if build not in self._functions:
            kinds = kinds_of(build)
            self._functions[build] = self.define(build.__name__, kinds, build, is_exported=is_exported)
        return self._functions[build]

    def define(self, name: str, kinds: Sequence[type[Value]], build: Build, *, is_exported: bool = False) -> Any:
        """A new function with parameters of these kinds; one that is not exported gets a name like this one."""
        self._before_each()
        name = name if is_exported else self.content.get_unique_name(name)
        code = Code(self, name, kinds)
        if not is_exported:
            code.function.linkage = "internal"
        build(code, *code.parameters)
        code.end()
        self.content.globals.move_to_end(name)  # behind the functions that it calls
        return code.function

    def assembly(self) -> str:
        """The module as LLVM reads it."""
        return str(self.content)

    def take_apart(self) -> None:
        """Break the cycles in a module that is not needed, so that it goes at once: the garbage collector takes
        longer."""
        for function in self.content.functions:
            for block in function.blocks:
                for instruction in block.instructions:
                    if isinstance(instruction, ir.PhiInstr):
                        instruction.incomings.clear()
                block.instructions.clear()
                block.terminator = None
            function.blocks.clear()
            function.args = ()
        self.content.globals.clear()
        self._functions.clear()


def kinds_of(build: Build) -> list[type[Value]]:
    """The kinds of the parameters of the function that `build` builds."""
    _, *parameters = inspect.signature(build, eval_str=True).parameters.values()
    return [one.annotation for one in parameters]


@contextmanager
def module(before_each: Callable[[], object] = lambda: None) -> Iterator[Module]:
    """A module to be built in the block. Its many objects live to the end of the block, and then go at once; so garbage
    is left alone, which saves a third of the time."""
    was_enabled, built = gc.isenabled(), Module(before_each)
    gc.disable()
    try:
        yield built
    finally:
        built.take_apart()
        if was_enabled:
            gc.enable()


class Staged:
    """A function of machine code that is written as what builds it (a decorator). Used on values, it is called."""

    def __init__(self, build: Build) -> None:
        self.build = build
        update_wrapper(self, build)

    @property
    def parameters(self) -> int:
        """The number of its parameters."""
        return self.build.__code__.co_argcount - 1

    def __call__(self, *arguments: Number) -> Value:
        """Call it, where its arguments are used."""
        return code_of(arguments).call(self.build, *arguments)
