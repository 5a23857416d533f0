"""Optional rooms: `check` works without each of them, and names the missing form of the command."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from conformance.tests.sampling import exhaustive
from conformance.tests.support.engine import none_to, verdict_of
from conformance.tests.support.places import PROJECT

START = "import sys; from isrcheck.checker.__main__ import main; sys.exit(main())"
NOT_THERE = "{0}: this form of check is not installed; install the folder checker/{0} as well"
WORKS = "examples/two_phase_commit --bound 2"
SWEEP = "sweep examples/two_phase_commit --vary resource_managers=2,3 --bound 2 --json"
SCHEMES = "compare-schemes --most-replicas 1"
GRAPH = "graph examples/two_phase_commit --bound 2 -o states.dot"
REPORT = "examples/two_phase_commit --bound 2 --report report"


def check(folder: Path, words: str) -> tuple[int, str, str]:
    """Run the `check` of the copy in the folder."""
    (folder / "elsewhere").mkdir(exist_ok=True)
    done = subprocess.run(
        [sys.executable, "-c", START, *words.split()],
        cwd=folder / "elsewhere", env=os.environ | {"PYTHONPATH": str(folder)}, capture_output=True, text=True,
    )  # fmt: skip
    assert "Traceback" not in done.stderr
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize(
    ("room", "gone", "message", "words"),
    [
        (
            "graph",
            GRAPH,
            NOT_THERE.format("graph"),
            REPORT,
        ),
        exhaustive(("sweep", SWEEP, NOT_THERE.format("sweep"), REPORT)),
        exhaustive(("schemes", SCHEMES, NOT_THERE.format("schemes").replace("schemes", "compare-schemes", 1), REPORT)),
        exhaustive(
            (
                "reports",
                REPORT,
                "examples/two_phase_commit has no option --report; there are: --resource-managers",
                SWEEP,
            )
        ),
    ],
)
def test_check_works_without_a_room(room: str, gone: str, message: str, words: str, tmp_path: Path) -> None:
    for name in ("isrcheck", "models", "traces", "checker"):
        shutil.copytree(PROJECT / name, tmp_path / name, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
    assert check(tmp_path, "--help")[1].count(f" {gone.split()[-2]} ") >= 1
    shutil.rmtree(tmp_path / "checker" / room)
    code, text, _ = check(tmp_path, WORKS)
    assert (code, verdict_of(text)) == (
        0,
        none_to(2),
    )
    assert check(tmp_path, words)[0] == 0
    assert check(tmp_path, gone) == (2, "", f"check: {message}\n")
    code, text, _ = check(tmp_path, "--help")
    assert code == 0
    assert f"check {room}" not in text
