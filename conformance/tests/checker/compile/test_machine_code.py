"""Machine code: how it is compiled, within a limit too, and what its cached files depend on."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from conformance.tests.support.small_models import action, claim, define, model, state, write_model
from conformance.tests.test_architecture import PRODUCT, imports_of
from isrcheck.checker.compile import hash_table, machine_code
from isrcheck.checker.compile.kernel import kernel_of
from isrcheck.checker.compile.machine_code import OutOfTimeError, compiled, compiling_within
from isrcheck.checker.compile.staging import Code, Module, Value
from isrcheck.checker.explicit.explore import explore
from isrcheck.checker.resources.limits import Limits
from isrcheck.checker.results.exploration import StepPath
from isrcheck.models.registry import load_file

TWICE = model(
    '"""A helper gets one state twice."""\n',
    state("x: between(0, 5), initially=5", "seen: between(0, 5), initially=5"),
    define("", "moves(s, before)", "if before.x > 0:", "    s.x = 0", "    s.seen = before.x"),
    action("ends(s)", "require(s.x == 5)", "moves(s, s)"),
    claim("always", "seen_is_not_0(s)", "s.seen != 0"),
)


def test_a_helper_may_get_one_state_twice(tmp_path: Path) -> None:
    """What it writes through one name it reads through the other, in optimized code as well."""
    instance = load_file(write_model(tmp_path / "twice.py", TWICE)).instance()
    found = explore(instance, Limits(), kernel=kernel_of(instance, is_optimized=True))
    assert found.findings["seen_is_not_0"].found.path == StepPath(0, (0,))


def f(code: Code, a: Value) -> None:
    code.return_(a * 3 + 1)


def build(module: Module) -> None:
    module.function(f, is_exported=True)


@pytest.mark.parametrize("is_quick", [False, True])
def test_another_process_makes_the_same_code(is_quick: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine_code, "SURELY", 0)
    here = compiled(build, is_quick=is_quick)
    monkeypatch.setattr(machine_code, "machine_code", None)
    with compiling_within(100):
        there = compiled(build, is_quick=is_quick)
    assert there == here
    assert machine_code.load(there, {"f": 1})["f"](5) == 5 * 3 + 1


def test_a_process_that_fails_is_replaced_by_this_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine_code, "CHILD", "raise SystemExit(3)")
    with compiling_within(100):
        assert machine_code.load(compiled(build, is_quick=False), {"f": 1})["f"](5) == 5 * 3 + 1


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
    seconds = 100
    monkeypatch.setattr(machine_code, "CHILD", f"import time; time.sleep({seconds})")
    began = time.monotonic()
    with compiling_within(0.2), pytest.raises(OutOfTimeError):
        compiled(build, is_quick=False)
    assert time.monotonic() - began < seconds / 2


STAGED = [
    name
    for name in PRODUCT
    if "checker.compile.staging.Staged" in imports_of(name) and not name.startswith("checker/compile/")
]


def test_there_are_modules_elsewhere() -> None:
    assert STAGED == ["checker/disk/sorted_table.py", "checker/explicit/walks.py"]


@pytest.mark.parametrize("name", STAGED)
def test_a_module_depends_only_on_what_its_cached_file_is_named_by(name: str) -> None:
    """These are its own text, and the packages FOLDERS."""
    assert machine_code.FOLDERS["isrcheck.checker.compile"]
    strange = [one for one in imports_of(name) if not f"{one}.".startswith(("checker.compile.", "__future__."))]
    assert strange == []


def test_another_text_has_another_file(monkeypatch: pytest.MonkeyPatch) -> None:
    paths: list[Path] = []
    kept_or_made = machine_code.kept_or_made

    def noting(path: Path, compile_code: Callable[[], bytes]) -> bytes:
        paths.append(path)
        return kept_or_made(path, compile_code)

    text = inspect.getsource(hash_table)
    monkeypatch.setattr(machine_code, "kept_or_made", noting)
    for source in (text, text + "# another text", text):
        monkeypatch.setattr(inspect, "getsource", lambda module, source=source: source)
        machine_code.functions_of.__wrapped__(hash_table.__name__)
    assert paths[0] == paths[2] != paths[1]
