"""Optional rooms: `check` works without each of them, and names the missing form of the command."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from conformance.tests.sampling import exhaustive
from conformance.tests.support.engine import none_to, verdict_of
from conformance.tests.support.places import PROJECT
from conformance.tests.support.programs import Ended, ran

NOT_THERE = (
    "check {0} is not installed, because the folder checker/{0} of isrcheck is missing;"
    " install isrcheck again, with that folder"
)
WORKS = "examples/two_phase_commit --bound 2"
SWEEP = "sweep examples/two_phase_commit --vary resource_managers=2,3 --bound 2 --json"
GRAPH = "graph examples/two_phase_commit --bound 2 -o states.dot"
REPORT = "examples/two_phase_commit --bound 2 --report report"


def check(folder: Path, words: str) -> Ended:
    """Run the `check` of the copy in the folder."""
    (folder / "elsewhere").mkdir(exist_ok=True)
    return ran(f"check {words}", folder=folder / "elsewhere", PYTHONPATH=str(folder))


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("room", "gone", "message", "words"),
    [
        ("graph", GRAPH, NOT_THERE.format("graph"), REPORT),
        exhaustive(("sweep", SWEEP, NOT_THERE.format("sweep"), GRAPH)),
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
    assert check(tmp_path, "--help").out.count(f" {gone.split()[-2]} ") >= 1
    shutil.rmtree(tmp_path / "checker" / room)
    works = check(tmp_path, WORKS)
    assert (works.code, verdict_of(works.out)) == (0, none_to(2))
    assert check(tmp_path, words).code == 0
    assert check(tmp_path, gone) == Ended(2, "", f"check: {message}\n")
    shown = check(tmp_path, "--help")
    assert shown.code == 0
    assert f"check {room}" not in shown.out
