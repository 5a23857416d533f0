"""What is imported before anything was asked for: nothing that takes long. Modules are counted here, not seconds."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from conformance.tests.support.places import PROJECT

HEAVY = {
    "numpy",
    "numba",
    "llvmlite",
    "z3",
    "networkx",
    "pyspark",
    "pyarrow",
    "pandas",
    "textual",
    "isrcheck.models.kafka",
}

SCRIPT = """
import sys
sys.argv = {words!r}
from isrcheck.__main__ import main
code = main()
print(*({heavy!r} & set(sys.modules)), file=sys.stderr)
sys.exit(code)
"""


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
    script = SCRIPT.format(words=["isrcheck", *words.split()], heavy=HEAVY)
    done = subprocess.run(
        [sys.executable, "-c", script.replace("code = main()", "try:\n    code = main()\nexcept SystemExit as end:\n    code = end.code")],
        cwd=tmp_path, env=os.environ | {"PYTHONPATH": str(PROJECT)}, capture_output=True, text=True,
    )  # fmt: skip
    assert done.stderr.splitlines()[-1] == "", done.stderr
