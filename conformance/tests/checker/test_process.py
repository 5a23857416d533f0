"""`check` as a process: pipes, full devices, signals, unwritable folders, concurrent runs."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from conformance.tests.support.engine import COUNTER, verdict_of
from conformance.tests.support.programs import HERE, interrupted_when, ran, words_of
from isrcheck.commands.exit_codes import INTERRUPTED

pytestmark = pytest.mark.sampled


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "model.py").write_text(COUNTER)
    return tmp_path


def run(folder, *words, **changes):
    """Run `check` to its end; return exit code, stdout and stderr."""
    done = ran("check", *words, folder=folder, PYTHONUNBUFFERED="", **changes)
    return done.code, done.out, done.err


def test_files_in_the_current_folder_are_not_imported(folder):
    for name in ("models", "checker", "traces", "numba", "numpy", "json", "check"):
        (folder / f"{name}.py").write_text("raise SystemExit('shadowed')\n")
    code, out, _ = run(folder, "model.py")
    assert (code, verdict_of(out)) == (12, "VIOLATED: stays_small at step 2")
    script = Path(sys.executable).with_name("check")
    if script.exists():
        done = subprocess.run([script, "model.py"], cwd=folder, capture_output=True, text=True, check=False)
        assert (done.returncode, verdict_of(done.stdout)) == (12, "VIOLATED: stays_small at step 2")


@pytest.mark.exhaustive
def test_an_unwritable_cache_only_costs_time(folder):
    (folder / "file").write_text("mine")
    for cache in ("file", "/proc/nowhere"):
        code, out, err = run(folder, "model.py", ISRCHECK_CACHE=str(folder / cache))
        assert (code, verdict_of(out)) == (12, "VIOLATED: stays_small at step 2")
        assert err.startswith("compiling model (uncached: ")
        assert err.count("\n") == 1
    assert (folder / "file").read_text() == "mine"


def test_without_a_home_it_works(folder):
    code, _, err = run(folder, "model.py", HOME="", XDG_CACHE_HOME="", ISRCHECK_CACHE=str(folder / "cache"))
    assert (code, err.count("\n")) == (12, 1)


def test_two_concurrent_runs_share_an_empty_cache_and_one_trace(folder):
    changes = {"ISRCHECK_CACHE": str(folder / "cache")}
    started = [
        subprocess.Popen(
            words_of("check model.py --out out --json"), cwd=folder, env=HERE | changes,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        for _ in range(2)
    ]  # fmt: skip
    told = [(process.communicate(), process.returncode) for process in started]
    assert [code for _, code in told] == [12, 12]
    files = {json.loads(out)["runs"][0]["properties"][0]["trace"] for (out, _), _ in told}
    assert len(files) == 1
    assert sorted(path.name for path in (folder / "out").iterdir()) == sorted(
        [*(Path(file).name for file in files), "latest"]
    )


@pytest.mark.parametrize("form", [(), ("--json",)], ids=["text", "json"])
def test_an_interrupt_during_the_search_reports_the_findings(folder, form):
    ended = interrupted_when("depth", "check kafka --protocol 0.10", *form, folder=folder)
    assert ended.code == INTERRUPTED
    if form:
        (found,) = json.loads(ended.out)["runs"]
        assert (found["stopped"], found["exhausted"]) == ("interrupt", False)
    else:
        assert "acked_not_lost" in ended.out
        assert "no state is left to expand" not in ended.out


@pytest.fixture
def durable_topic(folder):
    """The words of a fresh answer for a durable topic, which takes longer than the tests wait."""
    (folder / "topic.properties").write_text("replication.factor=3\nmin.insync.replicas=2\nacks=all\n")
    return ["doctor", "topic.properties", "--kafka-version", "4.1", "--fresh"]


@pytest.mark.whole
@pytest.mark.exhaustive
@pytest.mark.parametrize("threads", [1, 2], ids=["one_search", "side_by_side"])
def test_an_interrupt_of_a_fresh_answer_leaves_what_is_known(folder, durable_topic, threads):
    """On a terminal, a search tells its early answer twice a second; an interrupted one has to say as much."""
    ours, terminal = os.openpty()
    with subprocess.Popen(
        words_of("isrcheck", *durable_topic, "--threads", threads),
        cwd=folder, env=HERE, stdout=subprocess.PIPE, stderr=terminal, text=True,
    ) as process:  # fmt: skip
        os.close(terminal)
        told = ""
        while (early := re.search(r"a broker crashes: \d+ s, so far: no failure to depth (\d+)", told)) is None:
            told += os.read(ours, 4096).decode()
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=60)
    os.set_blocking(ours, False)
    told += read_all(ours)
    os.close(ours)
    assert process.returncode == INTERRUPTED
    assert "Traceback" not in told
    assert told.splitlines()[-1].endswith("check: interrupted; this is what was found so far")
    found = re.match(r"Cannot tell, because the user interrupted it; nothing was found to depth (\d+)\n", out)
    assert found is not None, out
    assert int(early[1]) <= int(found[1]) < 30


def read_all(descriptor: int) -> str:
    """What was printed on a terminal, after the last process has closed it."""
    parts = []
    with contextlib.suppress(OSError):
        while part := os.read(descriptor, 4096):
            parts.append(part)
    return b"".join(parts).decode()


@pytest.mark.exhaustive
def test_a_time_limit_bounds_the_whole_fresh_answer(folder, durable_topic):
    code, out, _ = run(folder, *durable_topic, "--seconds", "0.2")
    assert code == 3
    assert out.startswith("Cannot tell, because the time ")
