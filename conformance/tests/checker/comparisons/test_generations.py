"""The matrix as one screen, with exact texts: what breaks, what repaired it, and what differs from the record."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from conformance.tests.support.records import recorded_run
from isrcheck.checker import cli
from isrcheck.checker.comparisons import generations
from isrcheck.checker.comparisons import matrix_record as matrix
from isrcheck.checker.explicit.explore import explore
from isrcheck.checker.resources.limits import Limits
from isrcheck.checker.results.exploration import Exploration, Finding, StepPath
from isrcheck.checker.results.run import Run
from isrcheck.checker.results.verdict import Verdict, Word
from isrcheck.checker.running.session import SearchSession
from isrcheck.commands.exit_codes import INTERRUPTED, UNEXPECTED, VIOLATED
from isrcheck.models.kafka.failures.catalogue import ChangeKind, failures, pairs
from isrcheck.models.language.model import parse

RECORD = "\n".join(
    [
        recorded_run(
            "0.10",
            proved=["leader_in_isr", "one_leader_per_epoch"],
            violated={"acked_not_lost": 6, "isr_is_complete": 5, "committed_agrees": 11},
            causes={"truncation_to_high_watermark": ["acked_not_lost", "isr_is_complete", "committed_agrees"]},
        ),
        recorded_run(
            "0.11",
            violated={"acked_not_lost": 8, "isr_is_complete": 7},
            causes={"expansion_against_a_lagging_high_watermark": ["acked_not_lost"], "KIP-9999": ["isr_is_complete"]},
        ),
        recorded_run("2.1", explored=6, configuration={"acks": 1}, permitted={"acked_not_lost": 2}),
    ]
)
"""Three generations: one that breaks at once, one that breaks later than the search goes, one of weak settings."""

SCREEN = """\
kafka, 3 generations, replicas=3, min_insync_replicas=2: what breaks within 6 steps

           step what breaks                                                repaired in
0.10       6    An acknowledged record is lost; also isr_is_complete at 5  0.11 (KIP-101)
0.11       -    nothing within 6 steps
           (8)  not searched, but recorded: acked_not_lost; also 1 more    2.0.1, 2.1 (KAFKA-7128)
2.1        -    nothing within 6 steps

Permitted, because the settings promise nothing there:
  acks=1 does not wait for the ISR (2.1): acked_not_lost

Proved for any number of steps (check kafka --protocol 0.10 --prove):
  0.10: leader_in_isr, one_leader_per_epoch

as recorded: every cell agrees with models/verdicts.toml

To go on:
  trace show counterexamples/kafka_0.10_acked_not_lost_d503d3c4_1.itf.json  # step by step
  check --bound 6 --details                                                 # every cell, run and trace
  check doctor server.properties                                            # your own cluster
"""


@pytest.fixture
def screen(check_record, no_proofs, capsys):
    """Run the matrix against a record; return the exit code, which --details and --json do not change, and the text."""

    def run(content, *words):
        code = check_record(content, *words)[0]
        assert cli.main(words) == code
        return code, capsys.readouterr().out

    return run


def test_the_screen_of_three_generations(screen):
    assert screen(RECORD, "--bound", "6") == (0, SCREEN)


def test_a_violation_that_is_not_recorded_is_on_the_screen_and_exits_12(screen):
    code, text = screen(RECORD.replace("isr_is_complete = 5\n", "").replace('"isr_is_complete", ', ""), "--bound", "6")
    assert code == VIOLATED
    assert text.splitlines()[2:6] == [
        "           step what breaks                                                repaired in",
        "0.10       5    A member of the ISR lacks a record that readers have seen  NOT RECORDED",
        "           6    An acknowledged record is lost                             0.11 (KIP-101)",
        "0.11       -    nothing within 6 steps",
    ]
    assert "VIOLATED: a failure was found that is not recorded" in text.splitlines()
    shown = "To go on:\n  trace show counterexamples/kafka_0.10_isr_is_complete_d503d3c4_1.itf.json "
    assert shown in text
    assert "as recorded" not in text


def test_a_recorded_violation_that_does_not_show_is_on_the_screen_and_exits_10(screen):
    code, text = screen(RECORD.replace("committed_agrees = 11", "committed_agrees = 4"), "--bound", "6")
    assert code == UNEXPECTED
    assert text.splitlines()[3:6] == [
        "0.10       4    committed_agrees is recorded to fail here: NO VIOLATION TO NOT FOUND",
        "                DEPTH 6",
        "           6    An acknowledged record is lost; also isr_is_complete at 5  0.11 (KIP-101)",
    ]
    missing = "NOT FOUND: a recorded violation, `sometimes` property or number of states was not found"
    assert missing in text.splitlines()
    assert "as recorded" not in text


@pytest.mark.parametrize(("later", "says"), [("5", "NOT FOUND"), ("7", "NOT RECORDED")])
def test_a_violation_at_another_step_than_recorded_is_marked(screen, later, says):
    code, text = screen(RECORD.replace("acked_not_lost = 6", f"acked_not_lost = {later}"), "--bound", "6")
    assert code == {"NOT FOUND": 10, "NOT RECORDED": 12}[says]
    assert text.splitlines()[3].endswith(says)


SMALL = recorded_run(model="examples/two_phase_commit", states=57, configuration={"resource_managers": 2})
"""A model of one protocol; it has 56 states."""


def test_another_number_of_states_is_on_the_screen(screen):
    code, text = screen(SMALL)
    assert code == UNEXPECTED
    assert text.splitlines()[:5] == [
        "examples/two_phase_commit, 1 generation: what breaks as far as is recorded",
        "",
        "           step what breaks                                                repaired in",
        "examples/two_phase_commit",
        "                examples/two_phase_commit: 57 states are recorded, 56 were NOT FOUND",
    ]


@pytest.mark.sampled
def test_a_limit_is_undecided_and_reads_like_no_pass(screen):
    code, text = screen(RECORD, "--memory", "16M")
    assert code == 3
    undecided = r" {16}UNDECIDED beyond step \d+: the memory limit is reached +open\n"
    assert re.search(
        r"\n0\.10       6    An acknowledged record is lost; also isr_is_complete at 5  0\.11 \(KIP-101\)\n"
        rf"{undecided}0\.11 (?:.*\n)+{undecided}2\.1        -    nothing within 6 steps\n",
        text,
    ), text
    assert "\nUNDECIDED: a search was cut short before its bound\n" in text
    assert "as recorded:" not in text


def test_a_generation_that_ctrl_c_left_out_is_undecided(screen, monkeypatch):
    search = SearchSession.run

    def interrupted(session, instance, *given, **more):
        if instance.protocol.name != "0.10":
            raise KeyboardInterrupt
        return search(session, instance, *given, **more)

    monkeypatch.setattr(SearchSession, "run", interrupted)
    code, text = screen(RECORD, "--bound", "6")
    assert code == INTERRUPTED
    lines = text.splitlines()
    assert lines[3:5] == [
        "0.10       6    An acknowledged record is lost; also isr_is_complete at 5  0.11 (KIP-101)",
        "0.11, 2.1       UNDECIDED: not searched                                    open",
    ]
    assert "UNDECIDED: a search was cut short before its bound" in lines


# ----------------------------------------------------------------------------------------------------- the whole record


def as_recorded(record):
    """A run that finds what is recorded, to the end of the recorded search."""
    depth = record.explored
    far = 50 if depth is None else depth
    found = Exploration(record.instance, Limits(depth), levels=[record.states or 1], judged=far)
    found.frontier = 0 if depth is None else 1
    judged = []
    for prop in record.instance.model.properties:
        if prop.name in record.judges:
            step = record.violated.get(prop.name)
            none = Word.HOLDS if depth is None else Word.NO_VIOLATION
            verdict = Verdict(prop, Word.VIOLATED, step) if step else Verdict(prop, none, depth)
            if prop.name in record.permitted:
                far = record.permitted[prop.name]
                verdict = replace(verdict, permitted=Finding(1, StepPath(0, (0,) * far)))
                verdict = verdict if step else replace(verdict, word=Word.PERMITTED, depth=far)
            judged.append(verdict)
    histories = {key: record for verdict in judged for key, *_ in verdict.failing_paths}
    return Run(found, judged, "check kafka", histories=histories)


@pytest.mark.parametrize("width", [72, 80, 100, 200])
def test_the_whole_record_fits_on_a_screen(width, monkeypatch):
    monkeypatch.setattr(generations, "told", lambda record: [])
    monkeypatch.setattr(generations, "permitting", lambda record: [f"what {len(record.permitted)} failures rest on"])
    records = matrix.recorded()
    text = generations.text(records, [(one, as_recorded(one)) for one in records], ["check"], width)
    lines = text.splitlines()
    assert len(lines) <= generations.MOST_LINES
    commands = lines[lines.index("To go on:") + 1 :]
    assert max(map(len, lines[: -len(commands)])) <= min(width, generations.WIDEST)
    named = {one for line in lines for one in re.split(r"[ ,]+", line)[:3]}
    assert {"0.8", "0.10", "0.11", "2.0", "2.1", "2.4", "2.8", "3.3", "3.7", "4.1"} <= named


def cells():
    return [(record, name) for record in matrix.recorded() for name in record.violated]


RECORDED_VIOLATIONS = 67
"""In models/verdicts.toml."""


def test_every_recorded_violation_has_a_cause():
    found = cells()
    assert len(found) == RECORDED_VIOLATIONS
    assert [(record.title, name) for record, name in found if name not in record.causes] == []
    names = {one.name for one in failures()}
    others = {cause for record, _ in found for cause in record.causes.values()} - names
    assert others == {"KIP-320", "KAFKA-9491"}


def test_a_cause_that_is_repaired_is_gone_from_the_record():
    """The first later generation that no longer has a known failure is among the releases that repaired it."""
    records = matrix.recorded()
    known = {one.name: one for one in failures()}
    for record, name in cells():
        failure = known.get(record.causes[name])
        if failure is not None and failure.repaired:
            gone = generations.repairing_generation(records, record.column, name)
            assert gone in failure.repaired, (record.title, name)


CHANGES = {"KIP-320": "POSITION_CHECK=END_OFFSET", "KAFKA-9491": "HW_CLAMPED_AT_TRUNCATION=on"}
"""The repairs of the causes that have no file."""


def repair_of(cause):
    """The change that ends a cause, other than a change of the generation."""
    known = {one.name: one for one in failures()}
    if cause not in known:
        return CHANGES[cause]
    return next(
        one.change for one in known[cause].changes if one.kind is ChangeKind.REPAIR and "protocol" not in one.change
    )


ALSO_OTHERWISE = {
    ("kafka 0.10", "consistent_read"): 2,
    ("kafka 2.4 consumers", "truncation_is_detected"): 1,
    ("kafka 2.8 consumers", "truncation_is_detected"): 1,
}
"""Where another cause leads to a violation in as many steps: how many violating states it has alone."""


@pytest.mark.sampled
@pytest.mark.exhaustive
@pytest.mark.parametrize(("record", "name"), cells(), ids=lambda one: getattr(one, "title", one))
def test_without_its_cause_a_recorded_violation_is_gone(record, name):
    """With the repair switched on, the property holds to the depth at which it is violated."""
    model = record.instance.model
    changed = {key: parse(key, model.entries[key], text) for key, text in pairs(repair_of(record.causes[name])).items()}
    instance = model.instance(record.instance.protocol.name, {**dict(record.instance.configuration.items()), **changed})
    found = explore(instance, Limits(record.violated[name], threads=2), only=[name])
    assert found.judged == record.violated[name] or found.exhausted
    assert found.findings[name].found.count == ALSO_OTHERWISE.get((record.title, name), 0)
