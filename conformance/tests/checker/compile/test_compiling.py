"""Compilations within a time limit: LLVM runs in another process, and the time ends between two functions."""

from __future__ import annotations

import time

import pytest

from isrcheck.checker.compile import machine_code as compiling
from isrcheck.checker.compile import machine_code as native
from isrcheck.checker.compile.machine_code import OutOfTimeError, compiled, compiling_within
from isrcheck.checker.compile.staging import Code, Module, Value


def f(code: Code, a: Value) -> None:
    code.return_(a * 3 + 1)


def build(module: Module) -> None:
    module.function(f, is_exported=True)


@pytest.mark.parametrize("is_quick", [False, True])
def test_another_process_makes_the_same_code(is_quick: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiling, "SURELY", 0)
    here, compile_here = compiled(build, is_quick=is_quick), native.machine_code
    monkeypatch.setattr(native, "machine_code", None)
    with compiling_within(100):
        there = compiled(build, is_quick=is_quick)
    monkeypatch.setattr(native, "machine_code", compile_here)
    assert there == here
    assert native.load(there, {"f": 1})["f"](5) == 16


def test_a_process_that_fails_is_replaced_by_this_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiling, "CHILD", "raise SystemExit(3)")
    with compiling_within(100):
        assert native.load(compiled(build, is_quick=False), {"f": 1})["f"](5) == 16


def test_the_time_ends_between_two_functions() -> None:
    begun: list[int] = []

    def takes_time(code: Code) -> None:
        begun.append(1)
        time.sleep(0.06)
        code.return_()

    def build_several(module: Module) -> None:
        for _ in range(10):
            module.define("f", [], takes_time)

    with compiling_within(0.1), pytest.raises(OutOfTimeError):
        compiled(build_several, is_quick=True)
    assert 0 < len(begun) < 10


def test_llvm_is_ended_when_the_time_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiling, "CHILD", "import time; time.sleep(100)")
    began = time.monotonic()
    with compiling_within(0.2), pytest.raises(OutOfTimeError):
        compiled(build, is_quick=False)
    assert time.monotonic() - began < 50
