"""`check --report DIR`: the page, the files for build servers, and the folder."""

from __future__ import annotations

import errno
import json
import os
import re
import shlex
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from unittest.mock import Mock

import pytest

from conformance.tests.support.engine import checking, searched_to, verdict_of
from conformance.tests.support.report import HOSTILE, NAME, banners_of, cases_of, counts_of, page_of, run_of, written
from isrcheck.checker import cli
from isrcheck.checker.comparisons import matrix_record as matrix
from isrcheck.checker.explicit.explore import explore
from isrcheck.checker.reports import folder as reports
from isrcheck.checker.reports.content import Outcome, outcome_of
from isrcheck.checker.results.verdict import PROVABLE, SAFE, Verdict, Word, exit_code
from isrcheck.checker.running import marked_folder, session, trace_writer
from isrcheck.commands.exit_codes import DEADLOCKED, INTERRUPTED, UNDECIDED, USAGE, VIOLATED
from isrcheck.commands.program import product
from isrcheck.models import registry
from isrcheck.models.messages import UsageError

SUITE = NAME.removesuffix(".py")
STEM = "-b---"
FILES = ["index.html", "isrcheck-report.json", "junit.xml", "results.sarif", "test_regressions.py"]


class Report:
    """What a command said, and the report that it wrote into the folder DIR."""

    def __init__(self, code, out, err):
        self.code, self.out, self.err = code, out, err
        self.folder = Path("DIR").absolute()
        self.files = written(self.folder)

    @cached_property
    def page(self):
        return page_of(self.folder)

    @property
    def banners(self):
        return banners_of(self.folder)

    @property
    def counts(self):
        return counts_of(self.folder)

    @cached_property
    def cases(self):
        return cases_of(self.folder)

    @cached_property
    def run(self):
        return run_of(self.folder)

    def text(self, name):
        return (self.folder / name).read_text(encoding="utf-8")


@pytest.fixture
def check(tmp_path, monkeypatch, capsys):
    """Run `check` in a folder that holds a hostile model; return the report of the command."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / NAME).write_text(HOSTILE, encoding="utf-8")
    run = checking(cli.main, capsys)
    return lambda line: Report(*run(*(NAME if word == "MODEL" else word for word in shlex.split(line))))


@pytest.fixture
def record(tmp_path, monkeypatch):
    """Make the matrix use a record of two runs, given as text."""
    path = tmp_path / "verdicts.toml"
    read = matrix.recorded
    monkeypatch.setattr(matrix, "recorded", lambda: read(path))
    return path.write_text


RECORD = """\
[[run]]
model = "kafka"
protocol = "0.10"
explored = "exhausted"
[run.configuration]
[run.violated]
acked_not_lost = 6
isr_is_complete = 5
[run.permitted]
[[run]]
model = "kafka"
protocol = "2.1"
explored = "exhausted"
[run.configuration]
acks = 1
[run.violated]
[run.permitted]
acked_not_lost = 2
"""


# ------------------------------------------------------------------------------------------------- how verdicts count


COUNTS = {
    Word.VIOLATED: Outcome.FAILED,
    Word.UNREACHABLE: Outcome.FAILED,
    Word.UNDECIDED: Outcome.ERROR,
    Word.PERMITTED: Outcome.SKIPPED,
    Word.NO_VIOLATION: Outcome.PASSED,
    Word.NOT_REACHED: Outcome.SKIPPED,
    Word.HOLDS: Outcome.PASSED,
    Word.PROVED: Outcome.PASSED,
    Word.REACHED: Outcome.PASSED,
    Word.NOT_APPLICABLE: Outcome.SKIPPED,
}


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize(
    ("word", "more"),
    [
        *((word, {}) for word in Word),
        *((word, {"is_unproved": True}) for word in PROVABLE),
        *((word, {"is_unattempted": True}) for word in PROVABLE),
    ],
)
def test_failures_in_the_report_match_the_exit_code(word, more, strict):
    prop = registry.load("kafka")[0].properties[0]
    verdict = Verdict(prop, word, 3, **more)
    outcome = outcome_of(verdict, strict=strict)
    expected = Outcome.FAILED if strict and word is Word.PERMITTED else Outcome.ERROR if more else COUNTS[word]
    assert outcome is expected
    code = exit_code(word, strict=strict, found=[verdict])
    if word not in (Word.NOT_REACHED, Word.NOT_APPLICABLE, Word.REACHED):
        assert (outcome in (Outcome.FAILED, Outcome.ERROR)) == (code != SAFE)


# --------------------------------------------------------------------------------------------------------- one model


def test_the_page_of_a_model(check, tmp_path):
    report = check("MODEL --report DIR")
    traces = tmp_path / "counterexamples"
    names = sorted(path.name for path in traces.glob("*.itf.json") if not path.is_symlink())
    assert [re.sub("[0-9a-f]{8}", "#", name) for name in names] == [
        f"{STEM}_avoids_two_#_1.itf.json",
        f"{STEM}_stays_safe_#_1.itf.json",
    ]
    pages = [name.replace(".itf.json", ".html") for name in names]
    assert report.files == sorted([*FILES, *(f"traces/{name}" for name in (*names, *pages))])
    assert [report.text(f"traces/{name}") for name in names] == [(traces / name).read_text() for name in names]
    page = report.page
    assert [row[:3] for row in page.rows] == [
        ["property", "verdict", "states or steps"],
        ["stays_safe", "\u2717 VIOLATED at step 3 trace file", "1"],
        ["avoids_two", "\u25b2 PERMITTED at step 2 trace file", "1"],
        ["stays_whole", "\u2713 HOLDS", ""],
        ["sometimes gets_up", "\u2713 REACHED at step 3", "1"],
        ["sometimes falls", "\u2717 UNREACHABLE", ""],
    ]
    links = [f"traces/{name}" for pair in zip(reversed(pages), reversed(names), strict=True) for name in pair]
    assert page.addresses == [*links, "junit.xml", "results.sarif", "test_regressions.py"]
    assert page.tags.count("svg") == 3
    text = report.text("index.html")
    assert " - isrcheck</title>" in text
    assert f" by {product()}. For build servers: " in text
    junit = report.text("junit.xml")
    assert "s.height &lt;= s.limit is false" in junit
    assert '<property name="bounds and settings" value="' in junit
    # Nothing of the model is markup.
    assert not set(page.tags) & {"script", "img", "b", "iframe", "object", "link", "base", "form"}
    assert not [name for one in page.found for name in one.attributes if name.startswith("on")]
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]", "".join(map(report.text, FILES)))
    assert page.rows[1][3] == r"]]></failure><script>alert(2)</script> \x1b]0;owned\x07 \u202e"


ALL = {
    "stays_safe": ("failure", "VIOLATED at step 3"),
    "avoids_two": ("skipped", "PERMITTED at step 2"),
    "stays_whole": ("passed", ""),
    "gets_up": ("passed", ""),
    "falls": ("failure", "UNREACHABLE"),
    "the search itself": ("passed", ""),
}


@pytest.mark.parametrize(
    ("line", "code", "counts", "cases"),
    [
        ("", VIOLATED, (6, 2, 0, 1), ALL),
        # What a model permits fails a strict build.
        ("--limit 3 --strict", VIOLATED, (6, 2, 0, 0), {"avoids_two": ("failure", "PERMITTED at step 2")}),
        # A goal that was not reached is no pass.
        ("--bound 1", SAFE, (6, 0, 0, 2), {"gets_up": ("skipped", "NOT REACHED TO DEPTH 1")}),
        ("--engine z3 --bound 3", VIOLATED, (6, 1, 0, 2), {"stays_safe": ("failure", "VIOLATED at step 3")}),
    ],
)
def test_what_a_build_server_reads(check, line, code, counts, cases):
    report = check(f"MODEL {line} --report DIR")
    assert (report.code, report.err) == (code, "")
    assert report.counts == [(SUITE, *counts)]
    assert {name: report.cases[SUITE, name] for name in cases} == cases
    says = "no promise was broken" if code == SAFE else "violated"
    assert report.banners == [f"{verdict_of(report.out)} exit code {code}: {says}"]
    (invocation,) = report.run["invocations"]
    assert invocation == {
        "commandLine": " ".join(f"check {shlex.quote(NAME)} {line} --report DIR".split()),
        "exitCode": code,
        "exitCodeDescription": says,
        "executionSuccessful": True,
        "toolExecutionNotifications": [],
    }
    failed = {name for (_, name), (outcome, _) in report.cases.items() if outcome == "failure"}
    graves = {one["ruleId"].partition("/")[2]: one["level"] for one in report.run["results"] if one["kind"] == "fail"}
    assert {name for name, level in graves.items() if level == "error"} == failed
    assert ("avoids_two" in report.text("test_regressions.py")) == ("avoids_two" in failed)
    if "z3" in line:  # an engine without levels: times are all that can be drawn
        assert report.page.tags.count("svg") == 1
        assert [row[2] for row in report.page.rows[1:]] == [""] * 5


def test_sarif_of_one_model(check):
    lines = HOSTILE.splitlines()
    safe, two, falls = check("MODEL --report DIR").run["results"]
    assert [(one["ruleId"], one["kind"], one["level"]) for one in (safe, two, falls)] == [
        (f"{SUITE}/stays_safe", "fail", "error"),
        (f"{SUITE}/avoids_two", "fail", "note"),
        (f"{SUITE}/falls", "fail", "error"),
    ]
    place = safe["locations"][0]["physicalLocation"]
    assert place["artifactLocation"] == {"uri": "%3Cb%3E%26%27.py", "uriBaseId": "SRCROOT"}
    assert lines[place["region"]["startLine"] - 1] == "def stays_safe(s):"
    steps = safe["codeFlows"][0]["threadFlows"][0]["locations"]
    assert [step["executionOrder"] for step in steps] == [1, 2, 3, 4]
    where = [step["location"]["physicalLocation"]["region"]["startLine"] for step in steps]
    assert [lines[number - 1] for number in where[1:]] == ["def climber_steps(s, foot: Foot):"] * 3
    assert [step["state"] for step in steps] == [{"global": {"text": f"height {height}"}} for height in range(4)]
    assert len(two["codeFlows"][0]["threadFlows"][0]["locations"]) == 3
    assert "codeFlows" not in falls


def test_a_finding_is_the_same_when_lines_move(check, tmp_path):
    before = check("MODEL --report DIR").run["results"]
    (tmp_path / NAME).write_text(HOSTILE.replace("\nclass State", "\n# a line\n\nclass State"), encoding="utf-8")
    after = check("MODEL --report DIR").run["results"]
    prints = [[result["partialFingerprints"] for result in results] for results in (before, after)]
    assert prints[0] == prints[1]
    assert before[0]["locations"] != after[0]["locations"]
    assert len({one["isrcheck/v1"] for one in prints[0]}) == 3


@pytest.mark.parametrize("ends", [True, False])
def test_a_deadlock_is_a_failure_and_a_finding(check, tmp_path, ends):
    """It is found where the model says that it may end elsewhere, or in the model as a whole."""
    text = HOSTILE.replace("    return True", "    return s.height == 2") if ends else HOSTILE.partition("@terminal")[0]
    (tmp_path / NAME).write_text(text, encoding="utf-8")
    report = check("MODEL --limit 3 --report DIR")
    says = "VIOLATED: deadlock at step 3: no step is enabled there, and no @terminal is true"
    assert (report.code, verdict_of(report.out)) == (DEADLOCKED, says)
    assert report.cases[SUITE, "deadlock"] == ("failure", "VIOLATED at step 3")
    assert "some step is enabled is false" in report.text("junit.xml")
    (deadlock,) = [one for one in report.run["results"] if one["ruleId"] == f"{SUITE}/deadlock"]
    assert (deadlock["kind"], deadlock["level"], deadlock["properties"]["depth"]) == ("fail", "error", 3)
    place = deadlock["locations"][0]["physicalLocation"]
    assert place["artifactLocation"] == {"uri": "%3Cb%3E%26%27.py", "uriBaseId": "SRCROOT"}
    line = text.splitlines()[place["region"]["startLine"] - 1]
    assert line == ("def may_end(s):" if ends else '"""A <script>alert(1)</script> & a climber."""')
    assert len(deadlock["codeFlows"][0]["threadFlows"][0]["locations"]) == 4
    assert "deadlock" in report.text("test_regressions.py")


def test_json_is_alone_on_stdout_and_the_page_has_the_text(check):
    report = check("MODEL --json --report DIR")
    assert (report.code, report.err, json.loads(report.out)["verdict"]) == (VIOLATED, "", "VIOLATED")
    assert "VIOLATED: stays_safe at step 3" in report.text("index.html")


# ---------------------------------------------------------------------------------------------------- what is cut short


INTERRUPTS = Mock(side_effect=KeyboardInterrupt)


def test_an_interrupted_search_is_marked(check, monkeypatch):
    def interrupted(*given, **more):
        return replace(explore(*given, **more), stopped="interrupt", judged=1)

    monkeypatch.setattr(session, "explore", interrupted)
    report = check("MODEL --bound 1 --report DIR")
    assert report.code == INTERRUPTED
    assert report.banners == [
        f"UNDECIDED: the user interrupted it; {searched_to(1)} exit code 130: interrupted",
        "INTERRUPTED: these are the results up to the interruption",
    ]
    assert report.page.rows[1][1] == "? UNDECIDED (interrupt; nothing found to depth 1)"
    assert report.counts == [(SUITE, 6, 0, 6, 0)]
    assert [(one["kind"], one["level"]) for one in report.run["results"]] == [("open", "none")] * 5
    (invocation,) = report.run["invocations"]
    assert (invocation["exitCode"], invocation["executionSuccessful"]) == (INTERRUPTED, False)
    assert invocation["toolExecutionNotifications"][0]["message"]["text"] == f"{SUITE}: the user interrupted it"


def test_a_crashed_check_leaves_no_earlier_report(check, monkeypatch):
    assert check("MODEL --limit 3 --report DIR").counts == [(SUITE, 6, 1, 0, 1)]
    monkeypatch.setattr(session, "explore", INTERRUPTS)
    report = check("MODEL --report DIR")
    assert (report.code, report.err) == (INTERRUPTED, "check: interrupted before anything was found\n")
    assert report.banners == ["check has not finished: there are no results yet the exit code is not known yet"]
    assert report.counts == [("check", 1, 0, 1, 0)]
    assert report.run["invocations"][0]["executionSuccessful"] is False
    assert report.files == FILES


def test_an_interrupted_report_is_reported(check, monkeypatch):
    monkeypatch.setattr(reports, "content_of", INTERRUPTS)
    report = check("MODEL --report DIR")
    assert (report.code, report.err) == (INTERRUPTED, "check: DIR: interrupted before the report was written\n")
    assert "VIOLATED: stays_safe" in report.out
    assert "has not finished" in report.banners[0]


# ---------------------------------------------------------------------------------------- the matrix, sweeps, clusters


def test_the_matrix_as_recorded(check, record, no_proofs):
    record(RECORD)
    report = check("--bound 6 --report DIR")
    assert report.code == SAFE
    assert report.page.rows[0] == ["property", "kafka 0.10", "kafka 2.1"]
    assert report.page.rows[2] == [
        "acked_not_lost",
        "\u2717 VIOLATED at step 6 trace file as recorded",
        "\u25b2 PERMITTED at step 2 trace file as recorded",
    ]
    assert [count[1:] for count in report.counts] == [(47, 0, 0, 27), (47, 0, 0, 29)]
    assert report.cases["kafka 0.10", "acked_not_lost"] == ("skipped", "VIOLATED at step 6, as recorded")
    reasons = [one["suppressions"][0]["justification"] for one in report.run["results"]]
    assert reasons == ["recorded in models/verdicts.toml"] * 3
    assert report.banners == [
        "as recorded: every cell agrees with models/verdicts.toml exit code 0: everything is as recorded,"
        " including the recorded failures"
    ]
    assert re.findall(r"(\w+)\),\n", report.text("test_regressions.py")) == ["POSSIBLE", "POSSIBLE"]


def test_the_matrix_with_something_new_and_something_missing(check, record, no_proofs):
    record(RECORD.replace("isr_is_complete = 5\n", "log_matching = 4\n"))
    report = check("--bound 6 --report DIR")
    assert report.code == VIOLATED
    missing = "NO VIOLATION TO DEPTH 6 (proof undecided): recorded, but not found"
    assert report.cases["kafka 0.10", "isr_is_complete"] == ("failure", "VIOLATED at step 5: not recorded")
    assert report.cases["kafka 0.10", "log_matching"] == ("failure", missing)
    assert report.cases["kafka 0.10", "acked_not_lost"][0] == "skipped"
    assert report.page.rows[4][1] == "\u2717 VIOLATED at step 5 trace file \u2190 not recorded"


def test_the_matrix_marks_unsearched_cells(check, record, no_proofs, monkeypatch):
    record(RECORD)

    def once(*given, **more):
        monkeypatch.setattr(session, "explore", INTERRUPTS)
        return explore(*given, **more)

    monkeypatch.setattr(session, "explore", once)
    report = check("--bound 3 --report DIR")
    assert report.code == INTERRUPTED
    assert {row[2] for row in report.page.rows[1:]} == {"? UNDECIDED, not searched"}
    assert report.counts[1] == ("kafka 2.1", 30, 0, 30, 0)


def test_a_sweep(check):
    report = check("sweep MODEL --vary limit=1,2,3 --report DIR")
    assert report.code == VIOLATED
    assert [row[:3] for row in report.page.rows] == [
        ["limit", "stays_safe", "avoids_two"],
        ["1", "\u2717 VIOLATED 2 trace file", "\u25b2 PERMITTED 2 trace file"],
        ["2", "\u2717 VIOLATED 3 trace file", "\u25b2 PERMITTED 2 trace file"],
        ["3", "\u2713 HOLDS", "\u25b2 PERMITTED 2 trace file"],
    ]
    assert report.page.rows[0][3:] == ["stays_whole", "sometimes falls"]
    assert report.counts == [("limit=1", 6, 2, 0, 1), ("limit=2", 6, 2, 0, 1), ("limit=3", 6, 1, 0, 1)]


LOSES = ["Can lose acknowledged records", "acks=all", "-"]
KEEPS = [
    "Keeps its promises, but for 1 known defect of this release, and unless 2 brokers are lost or all lose power",
    "min.insync.replicas=3 or auto.leader.rebalance.enable=false",
    "-",
]


@pytest.mark.parametrize(
    ("acks", "more", "code", "outcome", "cells"),
    [
        ("1", "", SAFE, "skipped", LOSES),
        ("1", "--fail-on can-lose", VIOLATED, "failure", LOSES),
        ("all", "", VIOLATED, "failure", KEEPS),
    ],
)
def test_a_cluster(check, fake, tmp_path, acks, more, code, outcome, cells):
    settings = f"replication.factor=3\nmin.insync.replicas=2\nacks={acks}\n"
    settings += f"auto.leader.rebalance.enable={'true' if acks == 'all' else 'false'}\n"
    (tmp_path / "t.properties").write_text(settings)
    report = check(f"--config t.properties --kafka-version 3.9 --report DIR {more}")
    assert report.code == code
    case = f"replicas=3 min.insync=2 acks={acks}"
    assert report.page.rows[:2] == [["case", "answer", "change", "partitions"], [case, *cells]]
    assert report.cases[case, "the search itself"][0] == outcome
    assert [name for name in report.files if name.endswith(".itf.json")]


def test_a_cluster_that_cannot_be_answered_is_an_error(check, fake, tmp_path):
    (tmp_path / "t.properties").write_text("group.id=g\nisolation.level=read_committed\n")
    report = check("--consumer t.properties --kafka-version 2.1 --report DIR")
    assert report.code == UNDECIDED
    assert [outcome for (_, name), (outcome, _) in report.cases.items() if name == "the search itself"] == ["error"]


@pytest.mark.parametrize("line", ["mutate MODEL --report DIR", "published --report DIR"])
def test_other_forms_have_no_report(check, line):
    report = check(line)
    assert (report.code, report.out) == (USAGE, "")
    assert report.err.startswith("check: --report goes with the matrix, one model, a sweep or a cluster")
    assert not report.folder.exists()


# --------------------------------------------------------------------------------------------------------- the folder


def test_an_earlier_report_is_replaced_and_nothing_else(check):
    report = check("MODEL --report DIR")
    assert set(FILES) < set(report.files)
    (report.folder / "notes.txt").write_text("mine")
    report = check("MODEL --limit 3 --bound 1 --report DIR")
    assert report.files == sorted([*FILES, "notes.txt"])
    assert json.loads(report.text("isrcheck-report.json"))["files"] == sorted(set(FILES) - {FILES[1]})


DAMAGED = "isrcheck-report.json: damaged, or not written by isrcheck"


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("other.txt", "mine", "DIR: contains files, but no report from isrcheck"),
        ("isrcheck-report.json", "{", DAMAGED),
        ("isrcheck-report.json", "[]", DAMAGED),
        ("isrcheck-report.json", '{"isrcheck": "report", "version": 2, "files": []}', "written by a newer isrcheck"),
    ],
)
def test_a_foreign_folder_is_not_changed(check, tmp_path, name, content, says):
    (tmp_path / "DIR").mkdir()
    (tmp_path / "DIR" / name).write_text(content)
    report = check("MODEL --report DIR")
    assert (report.code, report.out, report.err.count("\n")) == (USAGE, "", 1)
    assert says in report.err
    assert (report.files, report.text(name)) == ([name], content)


def test_a_file_or_a_link_in_the_way_is_refused(check, tmp_path):
    (tmp_path / "file").write_text("mine")
    report = check("MODEL --report file")
    assert (report.code, report.err) == (USAGE, "check: file: not a folder; give a folder with --report DIR\n")
    (tmp_path / "other").mkdir()
    traces = check("MODEL --bound 1 --report DIR").folder / "traces"
    traces.rmdir()
    traces.symlink_to(tmp_path / "other")
    report = check("MODEL --report DIR")
    says = "check: DIR/traces: is a symbolic link; move it away, or give another folder with --report DIR\n"
    assert (report.code, report.err) == (USAGE, says)
    assert written(tmp_path / "other") == []


def test_a_marker_file_cannot_name_files_outside_its_folder(check, tmp_path):
    (tmp_path / "precious.html").write_text("mine")
    (tmp_path / "DIR" / "traces").mkdir(parents=True)
    names = ["../precious.html", "traces/../../precious.html", "notes.txt", "traces/old.html"]
    (tmp_path / "DIR" / "notes.txt").write_text("mine")
    (tmp_path / "DIR" / "traces" / "old.html").write_text("ours")
    marker = {"isrcheck": "report", "version": 1, "files": names}
    (tmp_path / "DIR" / "isrcheck-report.json").write_text(json.dumps(marker))
    report = check("MODEL --bound 1 --report DIR")
    assert (report.code, report.files) == (SAFE, sorted([*FILES, "notes.txt"]))
    assert (tmp_path / "precious.html").exists()


def test_an_unwritable_report_is_one_line_and_the_text_is_printed(check, monkeypatch):
    def full(path, content):
        if path.name == "results.sarif" and b"stays_safe" in content:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
        path.write_bytes(content)

    monkeypatch.setattr(marked_folder, "write_through", full)
    report = check("MODEL --report DIR")
    assert report.code == USAGE
    says = r"check: DIR/\.draft-\w+/results\.sarif: the report cannot be written: No space left .*\n"
    assert re.fullmatch(says, report.err)
    assert "VIOLATED: stays_safe at step 3" in report.out
    assert "has not finished" in report.banners[0]
    assert report.files == FILES


def test_unwritable_traces_do_not_prevent_the_report(check, tmp_path, monkeypatch):
    (tmp_path / "out").mkdir()
    refuses = Mock(side_effect=UsageError("out: the trace cannot be written"))
    monkeypatch.setattr(trace_writer, "write_trace", refuses)
    report = check("MODEL --report DIR --out out")
    assert (report.code, report.err) == (USAGE, "check: out: the trace cannot be written\n")
    assert report.banners[1] == "out: the trace cannot be written"
    assert report.page.rows[1][1] == "\u2717 VIOLATED at step 3"
    assert report.cases[SUITE, "stays_safe"] == ("failure", "VIOLATED at step 3")
