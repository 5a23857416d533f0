"""`conform follow` of many logs in this process: a line for each, then the rejected ones, and the gravest exit code."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from dataclasses import replace
from pathlib import Path

import pytest

from conformance.tests.support.follow import (
    ASKED,
    ERR,
    LOSS,
    OUT,
    gap_log,
    run_log,
    without_times,
)
from conformance.tests.support.observations import acked, header, write
from conformance.tests.support.programs import HERE, words_of
from isrcheck.commands.exit_codes import INTERRUPTED
from isrcheck.conformance.follow.many import Report
from isrcheck.conformance.follow.verdicts import FollowRequest, LogVerdict, Verdict, follow_one
from isrcheck.conformance.replay.on_cluster import why_not_taken


@pytest.fixture
def timeless(conform):
    """Run `conform`: exit code, stdout without times, stderr."""

    def run(words: str):
        code, out, err = conform(words)
        return code, without_times(out), err

    return run


@pytest.fixture
def logs(conform):
    """Three logs in a folder."""
    folder = Path("logs")
    folder.mkdir()
    for seed in (1, 2, 3):
        run_log(folder / f"{seed}.ndjson", seed, 20)
    return folder


# ------------------------------------------------------------------------------------------------------- what is said


@pytest.mark.sampled
def test_every_log_gets_a_line_and_rejections_are_detailed_at_the_end(timeless, every):
    assert timeless(f"follow logs {ASKED}") == (20, OUT, ERR)


@pytest.mark.parametrize(
    ("names", "code"),
    [
        ("a i", 0),
        ("a f-gap", 3),
        ("a e-empty", 21),
        ("e-empty f-gap", 3),
        ("f-gap b-binary", 2),
        ("f-gap e-empty d-cut c-bug", 20),
        ("a h-bug-then-damage", 20),
    ],
)
def test_the_gravest_exit_code_wins(timeless, every, names, code):
    assert timeless(f"follow {' '.join(f'logs/{name}.ndjson' for name in names.split())} {ASKED}")[0] == code


def test_a_folder_with_one_log_is_reported_like_that_log(timeless):
    Path("one").mkdir()
    run_log(Path("one/only.ndjson"), 1, 20)
    alone = timeless("follow one/only.ndjson")
    assert alone == (0, "run 1.1 follows the model: 20 events; 1 possible state, 1 at most at one time\n", "")
    assert timeless("follow one") == alone


def test_missing_events_are_counted(timeless, logs):
    path = logs / "1.ndjson"
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    path.write_text("".join([*lines[:5], *lines[6:]]), encoding="utf-8")
    out = timeless("follow logs")[1]
    assert out.splitlines()[0] == "FOLLOWED   logs/1.ndjson: 1 run, 19 events, 1 missing between them"


def test_recordings_are_explained_and_their_traces_written(timeless, logs):
    write(logs / "seen.ndjson", header(2, 1, 2), acked("x", 0))
    code, out, err = timeless("follow logs/seen.ndjson logs/1.ndjson --out kept")
    assert (code, err) == (0, "")
    first, written, *rest = out.splitlines()
    assert re.fullmatch(r"EXPLAINED  logs/seen.ndjson: a behaviour of 2.4, in \d+ steps", first)
    path = re.fullmatch(r"  written: (kept/\S+); replay it: conform replay \1", written)[1]
    assert rest == ["FOLLOWED   logs/1.ndjson: 1 run, 20 events", "2 logs: 1 FOLLOWED, 1 EXPLAINED; TIME"]
    alone = timeless("follow logs/seen.ndjson --out alone")[1].splitlines()[-1]
    assert Path(path).read_bytes() == Path(alone.split(";")[0].removeprefix("written: ")).read_bytes()


def test_an_unwritable_trace_does_not_stop_the_following_of_others(timeless, logs):
    write(logs / "0-seen.ndjson", header(2, 1, 2), acked("x", 0))
    code, out, err = timeless("follow logs --out logs/1.ndjson")
    assert (code, err.count("\n")) == (2, 1)
    assert err.startswith("conform: logs/1.ndjson: the trace cannot be written: ")
    assert out.endswith("4 logs: 3 FOLLOWED, 1 EXPLAINED; TIME\n")


def test_names_and_texts_of_logs_stay_in_their_line(timeless, logs):
    (logs / "1.ndjson").rename(logs / "1\n\x1b[2J.ndjson")
    write(logs / "seen.ndjson", header(2, 1, 2), acked("x\n\x1b[2J", 1))
    code, out, _ = timeless("follow logs")
    assert (code, "\x1b" in out) == (20, False)
    assert [line.split()[0] for line in out.splitlines()[:4]] == ["FOLLOWED"] * 3 + ["REJECTED"]


# ------------------------------------------------------------------------------------------------ which logs are meant


def test_the_logs_directly_in_a_folder_are_followed_by_name(timeless, logs):
    (logs / "notes.txt").write_text("no log")
    (logs / "deeper").mkdir()
    run_log(logs / "deeper/4.ndjson", 4, 20)
    out = timeless("follow logs/3.ndjson logs")[1]
    assert re.findall(r"FOLLOWED +(\S+):", out) == ["logs/3.ndjson", "logs/1.ndjson", "logs/2.ndjson"]


def test_two_names_of_one_file_are_followed_once(timeless, logs):
    os.link(logs / "1.ndjson", "hard.ndjson")
    Path("soft.ndjson").symlink_to(logs / "2.ndjson")
    code, out, err = timeless("follow logs hard.ndjson soft.ndjson logs/3.ndjson nowhere nowhere")
    assert (code, out.splitlines()[-1]) == (2, "4 logs: 3 FOLLOWED, 1 UNREADABLE; TIME")
    assert err == (
        "conform: hard.ndjson is the same file as logs/1.ndjson, and is followed once\n"
        "conform: soft.ndjson is the same file as logs/2.ndjson, and is followed once\n"
        "conform: logs/3.ndjson is the same file as logs/3.ndjson, and is followed once\n"
        "conform: nowhere is the same file as nowhere, and is followed once\n"
        "conform: nowhere: No such file or directory; give a log that can be read\n"
    )


def test_a_folder_without_logs_is_reported_and_is_no_pass(timeless, logs):
    Path("none").mkdir()
    said = "conform: none: a folder without a log (*.ndjson); conform run writes some into runs/\n"
    assert timeless("follow none") == (21, "", said)
    code, out, err = timeless("follow none logs")
    assert (code, err) == (21, said)
    assert out.endswith("3 logs: 3 FOLLOWED; TIME\n")


def test_an_unreadable_folder_is_reported_and_the_others_are_followed(timeless, logs, monkeypatch):
    usual = Path.iterdir

    def iterdir(path):  # whoever runs the tests may be allowed everything
        if path.name == "secret":
            raise PermissionError(13, "Permission denied", str(path))
        return usual(path)

    Path("secret").mkdir()
    monkeypatch.setattr(Path, "iterdir", iterdir)
    code, out, err = timeless("follow secret logs")
    assert (code, err) == (2, "conform: secret: Permission denied; give a folder that can be read\n")
    assert out.endswith("3 logs: 3 FOLLOWED; TIME\n")


# -------------------------------------------------------------------------------------------------------------- limits


@pytest.mark.exhaustive
def test_the_time_limit_covers_all_logs_together(timeless, logs):
    gap_log(logs / "8-gap.ndjson")
    gap_log(logs / "9-gap.ndjson", 1)
    began = time.monotonic()
    code, out, _ = timeless("follow logs --seconds 3 --most-states 1000000")
    assert (code, time.monotonic() - began < 5) == (3, True)
    why = "the time limit was reached; give more with --seconds"
    assert out.splitlines() == [
        *(f"FOLLOWED   logs/{seed}.ndjson: 1 run, 20 events" for seed in (1, 2, 3)),
        f"UNDECIDED  logs/8-gap.ndjson:2: run 0.1: {why}",
        f"UNDECIDED  logs/9-gap.ndjson:2: run 1.1: {why}",
        "5 logs: 3 FOLLOWED, 2 UNDECIDED; TIME",
    ]


def test_too_little_memory_for_a_recording_is_undecided(timeless, logs):
    found = follow_one(LOSS, FollowRequest("0.10", "0.10", {}, 30, 1 << 20, None))
    assert (found.verdict, found.why) == (Verdict.UNDECIDED, "the memory limit was reached; give more with --memory")


@pytest.mark.recorded
def test_the_verdict_on_a_recording_says_whether_the_cluster_takes_its_path():
    asked = FollowRequest("0.10", "0.10", {}, 30, 1 << 30, None, why_not_taken=lambda trace: "step 1 is too early")
    assert "; no path was found that keeps to time: step 1 is too early; VIOLATED" in follow_one(LOSS, asked).why
    assert "keeps to time" not in follow_one(LOSS, replace(asked, why_not_taken=why_not_taken)).why


# ----------------------------------------------------------------------------------------------------------- the order


def test_verdicts_are_printed_in_order_as_soon_as_possible(capsys):
    report = Report([Path(name) for name in "abcd"], None)
    followed = [LogVerdict(Verdict.FOLLOWED, name, "x") for name in "abcd"]
    report.take(1, followed[1])
    assert capsys.readouterr().out == ""
    report.take(0, followed[0])
    report.take(0, LogVerdict(Verdict.REJECTED, "a", "told twice"))
    assert capsys.readouterr().out == "FOLLOWED   a: x\nFOLLOWED   b: x\n"
    report.take(3, followed[3])
    assert capsys.readouterr().out == ""
    report.end([])
    assert without_times(capsys.readouterr().out) == "FOLLOWED   d: x\n3 of 4 logs: 3 FOLLOWED; TIME\n"
    assert report.codes == {0}


def test_of_many_rejected_runs_the_first_are_detailed(capsys):
    report = Report([Path("a")], None)
    report.take(0, LogVerdict(Verdict.REJECTED, "a:1", "x", [[f"a:{number}: rejected"] for number in range(1, 6)]))
    report.end([])
    assert without_times(capsys.readouterr().out) == (
        "REJECTED   a:1: x\n\na:1: rejected\n\na:2: rejected\n\na:3: rejected\n\n  and 2 more runs of this log\n"
        "  the full report: conform follow a\n\n1 log: 1 REJECTED; TIME\n"
    )


def test_progress_counts_followed_and_rejected_logs(capsys, monkeypatch):
    report = Report([Path(name) for name in "abcd"], None)
    monkeypatch.setattr(report.line, "tell", lambda what, seconds: print(what))
    report.take(2, LogVerdict(Verdict.REJECTED, "c", "x"))
    report.take(3, LogVerdict(Verdict.UNDECIDED, "d", "x"))
    report.look()
    assert capsys.readouterr().out == "2 of 4 logs followed, 1 rejected\n"


# ------------------------------------------------------------------------------------------------------------- Ctrl-C


@pytest.mark.sampled
def test_ctrl_c_keeps_the_findings(timeless, logs):
    run_log(logs / "1-bug.ndjson", 7, 200, "hw_off_by_one")
    gap_log(logs / "3-gap.ndjson")
    with subprocess.Popen(
        words_of("conform follow", "logs", "--most-states", 1_000_000),
        env=HERE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        told = [process.stdout.readline() for _ in range(3)]
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert process.returncode == INTERRUPTED
    assert [line.split()[1] for line in told] == ["logs/1-bug.ndjson:4:", "logs/1.ndjson:", "logs/2.ndjson:"]
    assert without_times(out).splitlines()[-1] == "3 of 5 logs: 2 FOLLOWED, 1 REJECTED; TIME"
    assert "\nlogs/1-bug.ndjson:4: run 7.1 is rejected: " in out
    assert err == ("conform: interrupted; 2 of 5 logs were not followed to their end; nothing is decided about them\n")
