"""Start-up imports no slow modules; this is tested by counting modules, not seconds."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from conformance.tests.support.places import PROJECT

ENGINES = ("numpy", "numba", "llvmlite", "z3", "networkx", "pyspark", "pyarrow", "pandas")
HEAVY = {*ENGINES, "textual", "isrcheck.models.kafka.generations", "isrcheck.models.transactions.generations"}

SCRIPT = """
import atexit, sys
sys.argv = {words!r}
atexit.register(lambda: print(*({heavy!r} & set(sys.modules)), file=sys.stderr))
from isrcheck.__main__ import main
sys.exit(main())
"""


def imported(words: str, folder: Path) -> set[str]:
    """The slow modules that a command imports."""
    script = SCRIPT.format(words=["isrcheck", *words.split()], heavy=HEAVY)
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=folder, env=os.environ | {"PYTHONPATH": str(PROJECT)}, capture_output=True, text=True,
    )  # fmt: skip
    return set(done.stderr.splitlines()[-1].split())


@pytest.mark.sampled
@pytest.mark.parametrize(
    "words",
    [
        "check --help",
        "check graph --help",
        "check sweep --help",
        "check --bound x",
        "check kafka --engine spark --threads 2",
        "trace --help",
        "trace list",
        "conform --help",
        "--help",
    ],
)
def test_nothing_heavy_is_imported(words: str, tmp_path: Path) -> None:
    assert imported(words, tmp_path) == set()


@pytest.mark.sampled
def test_the_library_of_known_failures_builds_no_model() -> None:
    script = """
import sys
from isrcheck.models.kafka.failures.catalogue import failures
print(len(failures()) > 40, "isrcheck.models.kafka.generations" in sys.modules)
from isrcheck.models.kafka.generations import MODEL
print(MODEL.name, "isrcheck.models.kafka.generations" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", script], env=os.environ, capture_output=True, text=True)
    assert done.stdout.splitlines() == ["True False", "kafka True"], done.stderr


def test_a_search_imports_no_other_engine(tmp_path: Path) -> None:
    found = imported("check examples/two_phase_commit --bound 1", tmp_path)
    assert found & set(ENGINES) == {"numpy", "llvmlite"}


def test_a_heavy_import_is_detected(tmp_path: Path) -> None:
    assert imported("check examples/two_phase_commit --bound 1", tmp_path) >= {"numpy", "llvmlite"}
