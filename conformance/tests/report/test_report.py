"""`conform report`: the folder of a report, and that no text of it can be more than text."""

from __future__ import annotations

import re
import shlex
from dataclasses import replace
from pathlib import Path

import pytest

from conformance.tests.sampling import exhaustive, recorded
from conformance.tests.support.markup import Parts
from conformance.tests.support.places import PROJECT, RECORDINGS
from isrcheck.checker.cli import main as check
from isrcheck.checker.cli import options_of
from isrcheck.commands.exit_codes import DONE, UNDECIDED, VIOLATED
from isrcheck.conformance.cli import main
from isrcheck.conformance.report import content
from isrcheck.conformance.report.folder import files_of
from isrcheck.models.kafka.failures.catalogue import Failure
from isrcheck.models.kafka.failures.report import Report, Search, report_of, reported
from isrcheck.traces.command.gallery import trace_of
from isrcheck.traces.kafka.actions import ACTIONS
from isrcheck.traces.pages.folder import alone
from isrcheck.traces.pages.shell import Page

pytestmark = pytest.mark.sampled

WIDTH_OF_CODE = 140
"""The longest line that a sketch may have, in characters."""

REPORTS = PROJECT / "docs" / "reports"
FILES = {"index.html", "issue.txt", "history.html", "history.svg", "history.itf.json", "replay.sh"}
FAULTS = {"broker_crashes", "broker_loses_power"}
"""Actions that no code of Kafka takes."""

FAILURES = reported()


def texts_of(failure: Failure) -> dict[str, str]:
    """The files of a report, as they are written for one failure alone."""
    return alone(files_of(failure))


MANY_STATES = 1_000_000
LONG = {"missed_demotion", "cancelled_reassignment_leaves_a_stranger"}
"""Searches with more states, and for these histories, take half a minute and more on a busy machine."""


def report_in(failure: Failure) -> Report:
    report = report_of(failure)
    assert report is not None
    return report


REPORT_OF = {name: report_in(failure) for name, failure in FAILURES.items()}
SEARCHES = [(name, number) for name, report in REPORT_OF.items() for number in range(len(report.searches))]
"""Each search with a change, as the failure's name and its number there."""


def complaint(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """The line on stderr for bad input, without the name of the command."""
    assert main(["report", *words]) == 2
    out, err = capsys.readouterr()
    assert (out, err.count("\n"), err.startswith("conform: ")) == ("", 1, True)
    return err.removeprefix("conform: ").rstrip("\n")


# ---------------------------------------------------------------------------------------------------------- the folder


def test_the_reports_are_what_the_command_makes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], request: pytest.FixtureRequest
) -> None:
    if request.config.getoption("--rewrite-golden"):
        assert main(["report", "-o", str(REPORTS), "--force"]) == 0
    made = tmp_path / "made"
    assert main(["report", "-o", str(made)]) == 0
    names = {path.relative_to(made).as_posix() for path in made.rglob("*") if path.is_file()}
    assert names == {path.relative_to(REPORTS).as_posix() for path in REPORTS.rglob("*") if path.is_file()}
    tests = {name: report.sketch.file.rpartition("/")[2] for name, report in REPORT_OF.items()}
    own = {f"{name}/{file}" for name in FAILURES for file in {*FILES, tests[name]}}
    assert names == {"index.html", "style.css", "script.js"} | own
    for name in names:
        how = f"{name}: rewrite with: isrcheck report -o docs/reports --force"
        assert (made / name).read_bytes() == (REPORTS / name).read_bytes(), how


def test_one_failure_has_the_folder_for_itself(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "report"
    assert main(["report", "8.25", "-o", str(folder)]) == 0
    printed = capsys.readouterr().out.split()
    assert printed == [str(folder / name) for name in files_of(FAILURES["stale_record"])]
    assert {path.name for path in folder.iterdir()} == {*FILES, "PartitionTest.scala"}
    assert {path.name: path.read_text(encoding="utf-8") for path in folder.iterdir()} == texts_of(
        FAILURES["stale_record"]
    )


def test_bad_input(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert complaint(capsys, "missed_demotoin", "-o", "x") == (
        "no known failure missed_demotoin; similar names: missed_demotion; check failures lists them all"
    )
    assert complaint(capsys, "zzz", "-o", "x") == "no known failure zzz; check failures lists them all"
    assert complaint(capsys, "\x1b[2J", "-o", "x").startswith("no known failure \\x1b[2J; ")
    has = ", ".join(one.number for one in FAILURES.values())
    assert complaint(capsys, "8.1", "-o", "x") == f"8.1 has no report; the failures with a report are {has}"
    Path("mine").mkdir()
    Path("mine/notes.txt").write_text("mine", encoding="utf-8")
    assert complaint(capsys, "8.24", "-o", "mine") == (
        "mine: has files, which are not overwritten; give a new folder with -o DIR, or add --force"
    )
    for force in ([], ["--force"]):
        assert complaint(capsys, "8.24", "-o", "mine/notes.txt", *force) == (
            "mine/notes.txt: a file, where a folder is needed; give another name with -o DIR"
        )
    assert not Path("x").exists()
    assert main(["report", "8.24", "-o", "mine", "--force"]) == 0
    assert {path.name for path in Path("mine").iterdir()} == {*FILES, "PartitionTest.scala", "notes.txt"}
    assert Path("mine/notes.txt").read_text(encoding="utf-8") == "mine"


# ----------------------------------------------------------------------------------------------------------- its texts


@pytest.mark.parametrize("name", FAILURES)
def test_every_step_names_its_code_in_kafka(name: str) -> None:
    report = REPORT_OF[name]
    trace = trace_of(report.history, "check")
    assert trace.verdict == report.history.verdict == "VIOLATED"
    nameless = {step.action for step in trace.steps if not content.methods(trace.instance, step.action)}
    assert nameless <= FAULTS
    # Also readable without the model: no step is spelled as an action.
    assert {step.action for step in trace.steps} <= ACTIONS.keys()


def test_the_methods_of_an_action_are_those_of_its_docstring() -> None:
    instance = REPORT_OF["missed_demotion"].history.instance
    assert content.methods(instance, "broker_applies_metadata") == (
        "TopicDelta.localChanges, Partition.makeLeader, makeFollower"
    )
    assert content.methods(instance, "controller_fences_leader") == (
        "ReplicationControlManager.handleBrokerFenced, PartitionChangeBuilder.electAnyLeader"
    )
    assert content.methods(instance, "broker_restarts") == "ClusterControlManager.registerBroker"
    assert content.methods(instance, "broker_crashes") == ""


@pytest.mark.parametrize("name", FAILURES)
def test_a_sketch_is_one_whole_test(name: str) -> None:
    sketch = REPORT_OF[name].sketch
    assert sketch.text.count(f"{sketch.name}(") == sketch.text.count("@Test") == 1
    assert all(sketch.text.count(left) == sketch.text.count(right) for left, right in ("()", "{}", "[]"))
    assert "today: " in sketch.text
    assert max(map(len, sketch.text.splitlines())) <= WIDTH_OF_CODE


def test_a_test_of_the_controller_is_java() -> None:
    failure = FAILURES["stale_record"]
    folder = "metadata/src/test/java/org/apache/kafka/controller"
    sketch = {
        "file": f"{folder}/ReplicationControlManagerTest.java",
        "name": "testX",
        "text": "\n@Test\nvoid testX() {}\n",
    }
    made = texts_of(replace(failure, report={**failure.report, "sketch": sketch}))
    assert made["ReplicationControlManagerTest.java"] == "@Test\nvoid testX() {}\n"
    assert made.keys() == {*FILES, "ReplicationControlManagerTest.java"}
    assert "{code:java}\n@Test\nvoid testX() {}\n{code}\n" in made["issue.txt"]
    assert f"<code>{folder}/ReplicationControlManagerTest.java</code>" in made["index.html"]


@pytest.mark.parametrize("name", FAILURES)
def test_the_recordings_are_there(name: str) -> None:
    for evidence in REPORT_OF[name].evidence:
        for recording in evidence.recordings:
            assert (RECORDINGS / recording.name).exists()


@pytest.mark.parametrize("name", FAILURES)
def test_the_commands_are_commands(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = texts_of(FAILURES[name])["replay.sh"].splitlines()
    assert lines[0] == "#!/bin/sh"
    commands = [shlex.split(line) for line in lines if not line.startswith("#")]
    assert {words[0] for words in commands} <= {"check", "trace", "conform"}
    checked = [options_of(words[1:]) for words in commands if words[0] == "check"]
    assert len(checked) == 2 + len(REPORT_OF[name].searches)
    assert main(["report", name, "-o", str(tmp_path / "report")]) == 0
    capsys.readouterr()
    replays = ["replay", str(tmp_path / "report" / "history.itf.json")]
    if "conform replay history.itf.json" not in lines:  # the cluster takes a divided step as one event
        assert name in ("fetch_counts_in_the_next_epoch", "checked_answer_truncates_later")
        assert main(replays) == UNDECIDED
        return
    assert main(replays) == 0
    steps = REPORT_OF[name].history.depth
    assert f"replayed, {steps} steps; system and model agree after every step" in capsys.readouterr().out


def test_an_unknown_key_is_an_error() -> None:
    failure = FAILURES["stale_record"]
    with pytest.raises(TypeError, match="severeness"):
        report_of(replace(failure, report={**failure.report, "severeness": "x"}))


# ------------------------------------------------------------------------------------------------------------- safety

HOSTILE = '</dd></script><script src="https://evil.example/x.js">alert(1)</script> {code} [x|javascript:y] *a* |b| \u202e `a<b>`'  # noqa: E501


@pytest.mark.parametrize("name", FAILURES)
def test_a_page_loads_nothing(name: str) -> None:
    made = texts_of(FAILURES[name])
    tags = Parts(made["index.html"])
    assert tags.policy == Page("", ()).policy
    assert tags.policy.startswith("default-src 'none'; ")
    assert set(tags.addresses) == made.keys() - {"index.html"}
    assert tags.tags.count("script") == 1
    for text in made.values():
        assert re.findall(r"https?://(?!www\.w3\.org/|apalache-)", text) == []


@pytest.fixture
def hostile(monkeypatch: pytest.MonkeyPatch) -> Failure:
    """A failure of which every text is hostile, wherever a file can have one."""
    failure = FAILURES["stale_record"]
    plain = report_in(failure)
    report: Report = replace(
        plain,
        **dict.fromkeys(("summary", "severity", "present", "sees", "change", "unsearched", "proved", "cause"), HOSTILE),
        conditions=(HOSTILE,),
        sketch=replace(plain.sketch, text=f"@Test {HOSTILE}"),
        searches=(replace(plain.searches[0], what=HOSTILE),),
        evidence=(replace(plain.evidence[0], kafka=HOSTILE, what=HOSTILE),),
    )
    monkeypatch.setattr("isrcheck.conformance.report.folder.report_of", lambda one: report)
    return replace(failure, story=HOSTILE, advice=HOSTILE)


def test_hostile_text_is_text_in_a_page(hostile: Failure) -> None:
    usual, made = texts_of(FAILURES["stale_record"])["index.html"], texts_of(hostile)["index.html"]
    assert "&lt;script src=" in made
    assert "<code>a&lt;b&gt;</code>" in made
    assert "\u202e" not in made
    expected, tags = Parts(usual), Parts(made)
    assert (tags.addresses, tags.policy) == (expected.addresses, expected.policy)
    assert set(tags.tags) == set(expected.tags)
    assert tags.tags.count("script") == 1


def test_hostile_text_is_text_in_an_issue(hostile: Failure) -> None:
    text = texts_of(hostile)["issue.txt"]
    assert text.startswith("Summary: </dd></script>")
    description = text.partition("\n\n")[2]
    assert "\\{code\\} \\[x\\|javascript:y\\] \\*a\\* \\|b\\| \ufffd {{a<b>}}" in description
    listings = re.findall(r"^\{code:(\w+)\}\n(.*?)\n\{code\}$", description, re.MULTILINE | re.DOTALL)
    assert [language for language, _ in listings] == ["scala", "bash"]
    assert "{ code}" in listings[0][1]
    assert len(re.findall(r"(?<!\\)\{code", description)) == 4


# ------------------------------------------------------------------------------------------- what the texts say is true


def search_of(name: str, number: int) -> Search:
    return REPORT_OF[name].searches[number]


def slow(one: tuple[str, int]) -> object:
    return (recorded if search_of(*one).states > MANY_STATES else exhaustive)(one)


@pytest.mark.parametrize(("name", "number"), [slow(one) for one in SEARCHES])
def test_a_search_with_the_change_is_as_the_report_says(
    name: str, number: int, capsys: pytest.CaptureFixture[str]
) -> None:
    one = search_of(name, number)
    commands = [shlex.split(line) for line in texts_of(FAILURES[name])["replay.sh"].splitlines()]
    checks = [words for words in commands if words[:2] == ["check", "kafka"]][1:]
    assert check([*checks[number][1:], "--memory", "8G"]) == (VIOLATED if one.breaks else DONE)
    out = capsys.readouterr().out
    assert "UNREACHABLE" not in out
    assert re.findall(r"^(\w+) +VIOLATED", out, re.MULTILINE) == list(one.breaks)
    assert f"\n{one.states:,} distinct states, " in out
    left = "; no state is left to expand)" if one.exhausted else "; "
    assert f"(judged to depth {one.depth}{left}" in out
    assert ("no state is left" in out) is one.exhausted


@pytest.mark.parametrize("name", [(recorded if name in LONG else exhaustive)(name) for name in FAILURES])
def test_no_shorter_history_exists(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    history = REPORT_OF[name].history
    words = shlex.split(content.search_of(history))[1:]
    assert check(words) == VIOLATED
    told = f"^{history.property_name} +{history.verdict} at step {history.depth} "
    assert len(re.findall(told, capsys.readouterr().out, re.MULTILINE)) == 1
