"""`check --report DIR`: the page, the files for build servers, and the folder."""

from __future__ import annotations

import errno
import json
import os
import re
import shlex
from dataclasses import replace

import pytest

from conformance.tests.checker.answers.fake import Fake
from conformance.tests.support.engine import checking, searched_to, verdict_of
from conformance.tests.support.report import HOSTILE, NAME, banners_of, cases_of, counts_of, page_of, run_of, written
from isrcheck.checker import cli
from isrcheck.checker.answers import doctor
from isrcheck.checker.comparisons import matrix_record as matrix
from isrcheck.checker.explicit.explore import explore
from isrcheck.checker.reports import folder as reports
from isrcheck.checker.reports.content import Outcome, outcome_of
from isrcheck.checker.results.verdict import PROVABLE, SAFE, Verdict, Word, exit_code
from isrcheck.checker.running import marked_folder, session, trace_writer
from isrcheck.commands.program import product
from isrcheck.models import registry

SUITE = NAME.removesuffix(".py")
STEM = "-b---"
FILES = ["index.html", "isrcheck-report.json", "junit.xml", "results.sarif", "test_regressions.py"]


@pytest.fixture
def check(tmp_path, monkeypatch, capsys):
    """Run `check` in an empty folder that holds a hostile model; return the exit code, stdout and stderr."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / NAME).write_text(HOSTILE, encoding="utf-8")
    run = checking(cli.main, capsys)
    return lambda line: run(*(NAME if word == "MODEL" else word for word in shlex.split(line)))


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


def test_one_model(check, tmp_path):
    code, out, err = check("MODEL --report DIR")
    assert (code, err) == (12, "")
    folder = tmp_path / "DIR"
    names = sorted(path.name for path in (tmp_path / "counterexamples").glob("*.itf.json") if not path.is_symlink())
    assert [re.sub("[0-9a-f]{8}", "#", name) for name in names] == [
        f"{STEM}_avoids_two_#_1.itf.json",
        f"{STEM}_stays_safe_#_1.itf.json",
    ]
    pages = [name.replace(".itf.json", ".html") for name in names]
    assert written(folder) == sorted([*FILES, *(f"traces/{name}" for name in (*names, *pages))])
    for name in names:
        assert (folder / "traces" / name).read_bytes() == (tmp_path / "counterexamples" / name).read_bytes()
    page = page_of(folder)
    assert [row[:3] for row in page.rows] == [
        ["property", "verdict", "states or steps"],
        ["stays_safe", "\u2717 VIOLATED at step 3 trace file", "1"],
        ["avoids_two", "\u25b2 PERMITTED at step 2 trace file", "1"],
        ["stays_whole", "\u2713 HOLDS", ""],
        ["sometimes gets_up", "\u2713 REACHED at step 3", "1"],
        ["sometimes falls", "\u2717 UNREACHABLE", ""],
    ]
    assert banners_of(tmp_path / "DIR") == [f"{verdict_of(out)} exit code 12: violated"]
    links = [f"traces/{name}" for pair in zip(reversed(pages), reversed(names), strict=True) for name in pair]
    assert page.addresses == [*links, "junit.xml", "results.sarif", "test_regressions.py"]
    assert page.tags.count("svg") == 3
    text = (folder / "index.html").read_text(encoding="utf-8")
    assert " - isrcheck</title>" in text and f" by {product()}. For build servers: " in text


def test_junit_of_one_model(check, tmp_path):
    check("MODEL --report DIR")
    assert counts_of(tmp_path / "DIR") == [(SUITE, 6, 2, 0, 1)]
    assert cases_of(tmp_path / "DIR") == {
        (SUITE, "stays_safe"): ("failure", "VIOLATED at step 3"),
        (SUITE, "avoids_two"): ("skipped", "PERMITTED at step 2"),
        (SUITE, "stays_whole"): ("passed", ""),
        (SUITE, "gets_up"): ("passed", ""),
        (SUITE, "falls"): ("failure", "UNREACHABLE"),
        (SUITE, "the search itself"): ("passed", ""),
    }
    text = (tmp_path / "DIR" / "junit.xml").read_text()
    assert "s.height &lt;= s.limit is false" in text
    assert '<property name="bounds and settings" value="' in text


def test_sarif_of_one_model(check, tmp_path):
    check("MODEL --report DIR")
    run = run_of(tmp_path / "DIR")
    lines = HOSTILE.splitlines()
    safe, two, falls = run["results"]
    assert [(one["ruleId"], one["kind"], one["level"]) for one in run["results"]] == [
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
    assert [lines[one - 1] for one in where[1:]] == ["def climber_steps(s, foot: Foot):"] * 3
    assert [step["state"] for step in steps] == [{"global": {"text": f"height {height}"}} for height in range(4)]
    assert len(two["codeFlows"][0]["threadFlows"][0]["locations"]) == 3
    assert "codeFlows" not in falls
    assert run["invocations"] == [
        {
            "commandLine": f"check {shlex.quote(NAME)} --report DIR",
            "exitCode": 12,
            "exitCodeDescription": "violated",
            "executionSuccessful": True,
            "toolExecutionNotifications": [],
        }
    ]


def test_a_finding_is_the_same_when_lines_move(check, tmp_path):
    check("MODEL --report one")
    (tmp_path / NAME).write_text(HOSTILE.replace("\n\n\nclass State", "\n\n# a line\n\nclass State"), encoding="utf-8")

    check("MODEL --report two")
    one, two = (run_of(tmp_path / name)["results"] for name in ("one", "two"))
    assert [result["partialFingerprints"] for result in one] == [result["partialFingerprints"] for result in two]
    assert one[0]["locations"] != two[0]["locations"]
    assert len({result["partialFingerprints"]["isrcheck/v1"] for result in one}) == 3


def test_model_text_is_escaped(check, tmp_path):
    check("MODEL --report DIR")
    page = page_of(tmp_path / "DIR")
    assert not set(page.tags) & {"script", "img", "b", "iframe", "object", "link", "base", "form"}
    assert not [name for one in page.found for name in one.attributes if name.startswith("on")]
    for name in FILES:
        text = (tmp_path / "DIR" / name).read_text(encoding="utf-8")
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]", text)
    assert "<script>alert(2)</script>" in page.rows[1][3]
    assert page.rows[1][3] == r"]]></failure><script>alert(2)</script> \x1b]0;owned\x07 \u202e"


@pytest.mark.parametrize("ends", [True, False])
def test_a_deadlock_is_a_failure_and_a_finding(check, tmp_path, ends):
    """It is found where the model says that it may end elsewhere, or in the model as a whole."""
    text = HOSTILE.replace("    return True", "    return s.height == 2") if ends else HOSTILE.partition("@terminal")[0]
    (tmp_path / NAME).write_text(text, encoding="utf-8")
    code, out, _ = check("MODEL --limit 3 --report DIR")
    says = "VIOLATED: deadlock at step 3: no step is enabled there, and no @terminal is true"
    assert (code, verdict_of(out)) == (11, says)
    assert cases_of(tmp_path / "DIR")[SUITE, "deadlock"] == ("failure", "VIOLATED at step 3")
    junit = (tmp_path / "DIR" / "junit.xml").read_text()
    assert "some step is enabled is false" in junit
    run = run_of(tmp_path / "DIR")
    (found,) = [one for one in run["results"] if one["ruleId"] == f"{SUITE}/deadlock"]
    assert (found["kind"], found["level"], found["properties"]["depth"]) == ("fail", "error", 3)
    place = found["locations"][0]["physicalLocation"]
    assert place["artifactLocation"] == {"uri": "%3Cb%3E%26%27.py", "uriBaseId": "SRCROOT"}
    line = text.splitlines()[place["region"]["startLine"] - 1]
    assert line == ("def may_end(s):" if ends else '"""A <script>alert(1)</script> & a climber."""')
    assert len(found["codeFlows"][0]["threadFlows"][0]["locations"]) == 4
    assert "deadlock" in (tmp_path / "DIR" / "test_regressions.py").read_text()


def test_strict_counts_permitted_failures(check, tmp_path):
    code, _, _ = check("MODEL --limit 3 --strict --report DIR")
    assert code == 12
    assert cases_of(tmp_path / "DIR")[SUITE, "avoids_two"] == ("failure", "PERMITTED at step 2")
    assert run_of(tmp_path / "DIR")["results"][0]["level"] == "error"
    assert "avoids_two" in (tmp_path / "DIR" / "test_regressions.py").read_text()


def test_json_is_alone_on_stdout_and_the_page_has_the_text(check, tmp_path):
    _, text, _ = check("MODEL")
    code, out, err = check("MODEL --json --report DIR")
    assert (code, err, json.loads(out)["verdict"]) == (12, "", "VIOLATED")
    assert "VIOLATED: stays_safe at step 3" in text
    assert "VIOLATED: stays_safe at step 3" in (tmp_path / "DIR" / "index.html").read_text()


def test_an_unreached_goal_is_not_a_pass(check, tmp_path):
    code, _, _ = check("MODEL --bound 1 --report DIR")
    assert code == 0
    assert cases_of(tmp_path / "DIR")[SUITE, "gets_up"] == ("skipped", "NOT REACHED TO DEPTH 1")
    assert counts_of(tmp_path / "DIR") == [(SUITE, 6, 0, 0, 2)]
    assert page_of(tmp_path / "DIR").rows[3][1] == "\u25cb NO VIOLATION TO DEPTH 1"


def test_z3_has_no_levels_and_shows_its_times(check, tmp_path):
    code, _, _ = check("MODEL --engine z3 --bound 3 --report DIR")
    assert code == 12
    assert page_of(tmp_path / "DIR").tags.count("svg") == 1
    assert [row[2] for row in page_of(tmp_path / "DIR").rows[1:]] == [""] * 5


# ---------------------------------------------------------------------------------------------------- what is cut short


def test_an_interrupted_search_is_marked(check, tmp_path, monkeypatch):
    def interrupted(*given, **more):
        return replace(explore(*given, **more), stopped="interrupt", judged=1)

    monkeypatch.setattr(session, "explore", interrupted)
    code, _, _ = check("MODEL --bound 1 --report DIR")
    assert code == 130
    page = page_of(tmp_path / "DIR")
    assert banners_of(tmp_path / "DIR") == [
        f"UNDECIDED: the user interrupted it; {searched_to(1)} exit code 130: interrupted",
        "INTERRUPTED: these are the results up to the interruption",
    ]
    assert page.rows[1][1] == "? UNDECIDED (interrupt; none to depth 1)"
    assert counts_of(tmp_path / "DIR") == [(SUITE, 6, 0, 6, 0)]
    run = run_of(tmp_path / "DIR")
    assert [(one["kind"], one["level"]) for one in run["results"]] == [("open", "none")] * 5
    (invocation,) = run["invocations"]
    assert (invocation["exitCode"], invocation["executionSuccessful"]) == (130, False)
    assert invocation["toolExecutionNotifications"][0]["message"]["text"] == f"{SUITE}: the user interrupted it"


def test_a_crashed_check_leaves_no_earlier_report(check, tmp_path, monkeypatch):
    check("MODEL --limit 3 --report DIR")
    assert counts_of(tmp_path / "DIR")[0][2] == 1

    def dies(*given, **more):
        raise KeyboardInterrupt

    monkeypatch.setattr(session, "explore", dies)
    code, _, err = check("MODEL --report DIR")
    assert (code, err) == (130, "check: interrupted before anything was found\n")
    assert banners_of(tmp_path / "DIR") == [
        "check has not finished: there are no results yet the exit code is not known yet"
    ]
    assert counts_of(tmp_path / "DIR") == [("check", 1, 0, 1, 0)]
    assert run_of(tmp_path / "DIR")["invocations"][0]["executionSuccessful"] is False
    assert written(tmp_path / "DIR") == FILES


def test_an_interrupted_report_is_reported(check, tmp_path, monkeypatch):
    monkeypatch.setattr(reports, "content_of", lambda *given, **more: (_ for _ in ()).throw(KeyboardInterrupt))
    code, out, err = check("MODEL --report DIR")
    assert (code, err) == (130, "check: DIR: interrupted before the report was written\n")
    assert "VIOLATED: stays_safe" in out
    assert "has not finished" in banners_of(tmp_path / "DIR")[0]


# ---------------------------------------------------------------------------------------- the matrix, sweeps, clusters


def test_the_matrix_as_recorded(check, record, tmp_path, no_proofs):
    record(RECORD)
    code, _, _ = check("--bound 6 --report DIR")
    assert code == 0
    page = page_of(tmp_path / "DIR")
    assert page.rows[0] == ["property", "kafka 0.10", "kafka 2.1"]
    assert page.rows[2] == [
        "acked_not_lost",
        "\u2717 VIOLATED at step 6 trace file as recorded",
        "\u25b2 PERMITTED at step 2 trace file as recorded",
    ]
    assert [count[1:] for count in counts_of(tmp_path / "DIR")] == [(47, 0, 0, 27), (47, 0, 0, 29)]
    assert cases_of(tmp_path / "DIR")["kafka 0.10", "acked_not_lost"] == ("skipped", "VIOLATED at step 6, as recorded")
    run = run_of(tmp_path / "DIR")
    assert {one["suppressions"][0]["justification"] for one in run["results"]} == {"recorded in models/verdicts.toml"}
    assert len(run["results"]) == 3
    assert banners_of(tmp_path / "DIR") == [
        "as recorded: every cell agrees with models/verdicts.toml exit code 0: everything is as recorded,"
        " including the recorded failures"
    ]
    text = (tmp_path / "DIR" / "test_regressions.py").read_text()
    assert re.findall(r"(\w+)\),\n", text) == ["POSSIBLE", "POSSIBLE"]


def test_the_matrix_with_something_new_and_something_missing(check, record, tmp_path, no_proofs):
    record(RECORD.replace("isr_is_complete = 5\n", "log_matching = 4\n"))
    code, _, _ = check("--bound 6 --report DIR")
    assert code == 12
    tests = cases_of(tmp_path / "DIR")
    assert tests["kafka 0.10", "isr_is_complete"] == ("failure", "VIOLATED at step 5: not recorded")
    assert tests["kafka 0.10", "log_matching"] == (
        "failure",
        "NO VIOLATION TO DEPTH 6 (proof undecided): recorded, but not found",
    )
    assert tests["kafka 0.10", "acked_not_lost"][0] == "skipped"
    assert page_of(tmp_path / "DIR").rows[4][1] == "\u2717 VIOLATED at step 5 trace file \u2190 not recorded"


def test_the_matrix_marks_unsearched_cells(check, record, tmp_path, no_proofs, monkeypatch):
    record(RECORD)

    def once(*given, **more):
        monkeypatch.setattr(session, "explore", lambda *given, **more: (_ for _ in ()).throw(KeyboardInterrupt))
        return explore(*given, **more)

    monkeypatch.setattr(session, "explore", once)
    code, _, _ = check("--bound 3 --report DIR")
    assert code == 130
    assert {row[2] for row in page_of(tmp_path / "DIR").rows[1:]} == {"? UNDECIDED, not searched"}
    assert counts_of(tmp_path / "DIR")[1] == ("kafka 2.1", 30, 0, 30, 0)


def test_a_sweep(check, tmp_path):
    code, _, _ = check("sweep MODEL --vary limit=1,2,3 --report DIR")
    assert code == 12
    rows = page_of(tmp_path / "DIR").rows
    assert rows[0] == ["limit", "stays_safe", "avoids_two", "stays_whole", "sometimes falls"]
    assert [row[:3] for row in rows[1:]] == [
        ["1", "\u2717 VIOLATED 2 trace file", "\u25b2 PERMITTED 2 trace file"],
        ["2", "\u2717 VIOLATED 3 trace file", "\u25b2 PERMITTED 2 trace file"],
        ["3", "\u2713 HOLDS", "\u25b2 PERMITTED 2 trace file"],
    ]
    assert counts_of(tmp_path / "DIR") == [("limit=1", 6, 2, 0, 1), ("limit=2", 6, 2, 0, 1), ("limit=3", 6, 1, 0, 1)]


@pytest.fixture
def fake(monkeypatch):
    one = Fake()
    monkeypatch.setattr(doctor, "answerer_of", lambda options, opening, left: one)
    return one


@pytest.mark.parametrize(
    ("acks", "more", "code", "outcome"),
    [("1", "", 0, "skipped"), ("1", "--fail-on can-lose", 12, "failure"), ("all", "", 12, "failure")],
)
def test_a_cluster(check, fake, tmp_path, acks, more, code, outcome):
    broker = "auto.leader.rebalance.enable=false\n" if acks == "1" else ""
    (tmp_path / "t.properties").write_text(f"replication.factor=3\nmin.insync.replicas=2\nacks={acks}\n{broker}")
    assert check(f"--config t.properties --kafka-version 3.9 --report DIR {more}")[0] == code
    page = page_of(tmp_path / "DIR")
    case = f"replicas=3 min.insync=2 acks={acks}"
    if acks == "1":
        cells = ["Can lose acknowledged records", "acks=all", "-"]
    else:
        cells = [
            "Keeps its promises, but for 1 known defect of this release,"
            " and unless 2 brokers are lost or all lose power",
            "min.insync.replicas=3 or auto.leader.rebalance.enable=false",
            "-",
        ]
    assert page.rows[:2] == [["case", "answer", "change", "partitions"], [case, *cells]]
    assert cases_of(tmp_path / "DIR")[case, "the search itself"][0] == outcome
    assert list((tmp_path / "DIR").glob("traces/*.itf.json"))


def test_a_cluster_that_cannot_be_answered_is_an_error(check, fake, tmp_path):
    (tmp_path / "t.properties").write_text("group.id=g\nisolation.level=read_committed\n")
    code, _, _ = check("--consumer t.properties --kafka-version 2.1 --report DIR")
    assert code == 3
    ((_, name),) = [key for key in cases_of(tmp_path / "DIR") if key[1] == "the search itself"]
    assert {one[0] for key, one in cases_of(tmp_path / "DIR").items() if key[1] == name} == {"error"}


@pytest.mark.parametrize("line", ["mutate MODEL --report DIR", "published --report DIR"])
def test_other_forms_have_no_report(check, tmp_path, line):
    code, out, err = check(line)
    assert (code, out) == (2, "")
    assert err.startswith("check: --report goes with the matrix, one model, a sweep or a cluster")
    assert not (tmp_path / "DIR").exists()


# --------------------------------------------------------------------------------------------------------- the folder


def test_an_earlier_report_is_replaced_and_nothing_else(check, tmp_path):
    check("MODEL --report DIR")
    folder = tmp_path / "DIR"
    (folder / "notes.txt").write_text("mine")
    before = written(folder)
    check("MODEL --limit 3 --bound 1 --report DIR")
    assert written(folder) == sorted([*FILES, "notes.txt"])
    assert len(before) == 10
    assert json.loads((folder / "isrcheck-report.json").read_text())["files"] == sorted(set(FILES) - {FILES[1]})


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("other.txt", "mine", "DIR: contains other files, and no report of isrcheck"),
        ("isrcheck-report.json", "{", "isrcheck-report.json: damaged, or not written by isrcheck"),
        ("isrcheck-report.json", "[]", "isrcheck-report.json: damaged, or not written by isrcheck"),
        (
            "isrcheck-report.json",
            '{"isrcheck": "report", "version": 2, "files": []}',
            "written by a newer isrcheck",
        ),
    ],
)
def test_a_foreign_folder_is_not_changed(check, tmp_path, name, content, says):
    (tmp_path / "DIR").mkdir()
    (tmp_path / "DIR" / name).write_text(content)
    code, out, err = check("MODEL --report DIR")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert says in err
    assert written(tmp_path / "DIR") == [name]
    assert (tmp_path / "DIR" / name).read_text() == content


def test_a_file_or_a_link_in_the_way_is_refused(check, tmp_path):
    (tmp_path / "DIR").write_text("mine")
    assert check("MODEL --report DIR")[::2] == (2, "check: DIR: not a folder; give a folder with --report DIR\n")
    (tmp_path / "other").mkdir()
    check("MODEL --bound 1 --report new")
    (tmp_path / "new" / "traces").rmdir()
    (tmp_path / "new" / "traces").symlink_to(tmp_path / "other")
    assert check("MODEL --report new")[::2] == (
        2,
        "check: new/traces: is a symbolic link; move it away, or give another folder with --report DIR\n",
    )
    assert written(tmp_path / "other") == []


def test_a_marker_file_cannot_name_files_outside_its_folder(check, tmp_path):
    (tmp_path / "precious.html").write_text("mine")
    (tmp_path / "DIR" / "traces").mkdir(parents=True)
    names = ["../precious.html", "traces/../../precious.html", "notes.txt", "traces/old.html"]
    (tmp_path / "DIR" / "notes.txt").write_text("mine")
    (tmp_path / "DIR" / "traces" / "old.html").write_text("ours")
    marker = {"isrcheck": "report", "version": 1, "files": names}
    (tmp_path / "DIR" / "isrcheck-report.json").write_text(json.dumps(marker))
    assert check("MODEL --bound 1 --report DIR")[0] == 0
    assert written(tmp_path / "DIR") == sorted([*FILES, "notes.txt"])
    assert (tmp_path / "precious.html").exists()


def test_an_unwritable_report_is_one_line_and_the_text_is_printed(check, tmp_path, monkeypatch):
    def full(path, content):
        if path.name == "results.sarif" and b"stays_safe" in content:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
        path.write_bytes(content)

    monkeypatch.setattr(marked_folder, "write_through", full)
    code, out, err = check("MODEL --report DIR")
    assert code == 2
    assert re.fullmatch(r"check: DIR/\.draft-\w+/results\.sarif: the report cannot be written: No space left .*\n", err)
    assert "VIOLATED: stays_safe at step 3" in out
    assert "has not finished" in banners_of(tmp_path / "DIR")[0]
    assert written(tmp_path / "DIR") == FILES


def test_unwritable_traces_do_not_prevent_the_report(check, tmp_path, monkeypatch):
    (tmp_path / "out").mkdir()
    monkeypatch.setattr(trace_writer, "write_trace", _refuses)
    code, _, err = check("MODEL --report DIR --out out")
    assert (code, err) == (2, "check: out: the trace cannot be written\n")
    page = page_of(tmp_path / "DIR")
    assert banners_of(tmp_path / "DIR")[1] == "out: the trace cannot be written"
    assert page.rows[1][1] == "\u2717 VIOLATED at step 3"
    assert cases_of(tmp_path / "DIR")[SUITE, "stays_safe"] == ("failure", "VIOLATED at step 3")


def _refuses(*given):
    from isrcheck.models.messages import UsageError

    raise UsageError("out: the trace cannot be written")
