"""The functions of modules as machine code: what their cached files depend on."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path

import pytest

from conformance.tests.test_architecture import PRODUCT, imports_of
from isrcheck.checker.compile import hash_table, machine_code

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
        machine_code._functions.__wrapped__(hash_table.__name__)
    assert paths[0] == paths[2] != paths[1]
