"""Tests of the test suite: groups of tests, excluded tests, and the sum of several runs."""

from __future__ import annotations

import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from conformance.tests import verify
from conformance.tests.schedule import SECONDS, SPARK, SPARK_PROCESSES, spread, volume
from conformance.tests.support.places import PROJECT
from isrcheck.checker.comparisons.matrix_record import recorded
from isrcheck.models import registry

REPORT = '<testsuites><testsuite tests="{}" failures="{}" errors="{}" skipped="{}"/></testsuites>'


def total(*paths: Path) -> tuple[int, list[str]]:
    done = subprocess.run(
        [sys.executable, ".ci/total.py", *map(str, paths)], cwd=PROJECT, capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout.splitlines()


def test_the_last_line_of_ci_sums_both_runs_of_the_tests(tmp_path: Path) -> None:
    (tmp_path / "a.xml").write_text(REPORT.format(10, 1, 2, 3), encoding="utf-8")
    (tmp_path / "b.xml").write_text(REPORT.format(5, 0, 0, 0), encoding="utf-8")
    assert total(tmp_path / "a.xml", tmp_path / "b.xml") == (0, ["9 passed, 3 failed, 3 skipped"])


def test_an_unfinished_test_run_is_reported(tmp_path: Path) -> None:
    (tmp_path / "a.xml").write_text(REPORT.format(10, 0, 0, 0), encoding="utf-8")
    missing = tmp_path / "b.xml"
    assert total(tmp_path / "a.xml", missing) == (
        1,
        [f"{missing}: this test run did not end; see above", "10 passed, 0 failed, 0 skipped"],
    )


@pytest.mark.exhaustive
def test_the_number_of_deselected_tests_is_reported() -> None:
    words = (
        "-p",
        "no:cacheprovider",
        "-q",
        "--collect-only",
        "-m",
        "not exhaustive and not recorded",
        "conformance/tests/follow/test_observations.py",
    )
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *words],
        cwd=PROJECT,
        capture_output=True,
        text=True,
        check=False,
    )
    left = re.search(
        r"^exhaustive tests left out: (\d+); they run with: make test-exhaustive\n"
        r"recorded tests left out: (\d+); they run with: make verify\n[^\n]*\((\d+) deselected\)",
        done.stdout,
        re.MULTILINE,
    )
    assert left is not None
    exhaustive, recorded, together = map(int, left.groups())
    assert (exhaustive > 0, recorded > 0, exhaustive + recorded) == (True, True, together)


def test_the_groups_are_honoured(request: pytest.FixtureRequest) -> None:
    """pytest-xdist reads the group from the end of a test's name. Without groups, workers repeat each other's work."""
    if not request.config.getoption("loadgroup", default=False):
        pytest.skip("this run has one process")
    assert request.node.nodeid.endswith("@test_suite")


def test_every_slow_group_is_an_existing_file() -> None:
    tests = PROJECT / "conformance" / "tests"
    assert [
        group for group in SECONDS if group not in (SPARK, SPARK_PROCESSES) and not (tests / f"{group}.py").exists()
    ] == []


def test_every_record_can_be_computed_anew() -> None:
    found = [record.what for record in verify.records()]
    assert len(found) == len(set(found)) == 145
    assert {"the state counts of the published models", "golden traces and drawings"} <= set(found)
    tests = PROJECT / "conformance" / "tests"
    files = [path for path in tests.rglob("test_*.py") if path != Path(__file__)]
    marks = re.compile(r"mark\.recorded|\blast=lambda|sampling import [^\n]*\brecorded\b")
    marked = {path.relative_to(PROJECT).as_posix() for path in files if marks.search(path.read_text())}
    assert marked == set(verify.MARKED)
    assert {f"the results in {file}" for file in verify.RECORDED} | verify.LONG <= set(found)
    assert {f"the matrix, kafka {protocol}" for protocol in registry.load("kafka")[0].protocols} <= set(found)


def test_limited_tests_exist_and_have_limits_in_order() -> None:
    for file, tests in volume().items():
        text = (PROJECT / "conformance" / "tests" / file).read_text(encoding="utf-8")
        assert [name for name in tests if f"def {name}(" not in text] == []
        for limits in tests.values():
            assert {*limits} <= {"test", "all"}
            assert limits.get("test", 0) <= limits.get("all", sys.maxsize)


def test_parameters_are_spread_evenly() -> None:
    assert [spread(range(10), count) for count in (0, 1, 3, 10, 12)] == [
        [], [0], [0, 3, 6], [*range(10)], [*range(10)],
    ]  # fmt: skip


@pytest.mark.exhaustive
def test_what_is_left_out_of_a_run_is_in_the_next_larger_one() -> None:
    name = "test_every_engine_finds_what_a_naive_search_finds"
    limits = volume()["checker/explicit/test_in_range.py"][name]
    found = []
    for marks in ("not exhaustive and not recorded", "not recorded", ""):
        words = ("-p", "no:cacheprovider", "-q", "--collect-only", "-m", marks, "-k", name)
        file = "conformance/tests/checker/explicit/test_in_range.py"
        done = subprocess.run(
            [sys.executable, "-m", "pytest", *words, file], cwd=PROJECT, capture_output=True, text=True
        )
        found.append({line for line in done.stdout.splitlines() if f"::{name}[" in line})
    assert found[0] < found[1] < found[2]
    assert [len(one) for one in found] == [limits["test"], limits["all"], 90]


def test_a_sample_of_too_many_records_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    count = len(verify.records()) - len(verify.LONG)
    assert verify.main(["--sample", str(count + 1)]) == 2
    expected = f"--sample {count + 1}: there are {count} records; give 1 to {count}\n"
    assert capsys.readouterr().err == expected


def test_a_run_of_the_matrix_that_differs_is_reported() -> None:
    run = next(run for run in recorded() if run.title == "kafka 0.8 retries")
    assert verify.of_run(run) == ""
    changed = replace(run, permitted={**run.permitted, "no_duplicates": 3}, states=1)
    assert verify.of_run(changed).splitlines() == [
        "no_duplicates: permitted at step 2, recorded 3",
        f"{run.states} states, recorded 1",
    ]
