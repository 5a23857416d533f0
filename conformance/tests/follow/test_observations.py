"""Recordings of a real Kafka: which are explained, which are rejected, and at which line."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from conformance.tests.sampling import sampled
from conformance.tests.support.follow import LOSS, expect, lines_of
from conformance.tests.support.observations import START, SlowReading, fault, flat, header, said, write
from conformance.tests.support.places import RECORDINGS
from isrcheck.commands.exit_codes import DIVERGED, DONE, INTERRUPTED, NOTHING
from isrcheck.commands.exit_codes import VIOLATED as VIOLATION
from isrcheck.conformance.follow.recorded.lines import is_observation
from isrcheck.conformance.follow.recorded.recording import read_recording
from isrcheck.conformance.follow.recorded.states import alters_partitions
from isrcheck.conformance.follow.report.tell import tell
from isrcheck.conformance.follow.search.explain import (
    Explained,
    NothingToFollow,
    Outcome,
    Rejected,
    Undecided,
    follow_recording,
)
from isrcheck.conformance.follow.search.script import CANCELLATIONS, ELECTIONS, FREE, NEVER, REASSIGNMENTS, SHUTDOWNS
from isrcheck.conformance.follow.search.search import ObservationSearch
from isrcheck.conformance.follow.search.size import instance_for, size_of
from isrcheck.models import registry
from isrcheck.models.messages import UsageError
from isrcheck.traces.format.certify import certify
from isrcheck.traces.format.trace import VIOLATED

FROZEN = RECORDINGS / "kafka-3.9-missed_demotion_frozen.ndjson"
HELD = RECORDINGS / "kafka-3.9-missed_demotion.ndjson"
CONTROL = RECORDINGS / "kafka-3.9-missed_demotion_control.ndjson"
STEPS_OF_LOSS = 26
"""The length of the path that is found for `LOSS`. A shortest path has 24 steps."""

STATES_OF_LOSS = 24_186
"""The states of the search for `LOSS`. A search that is breadth first to the end needs 640,150."""

WITHOUT_THE_RULE = {"REMOTE_OFFSETS_KEPT_BY_REELECTED_LEADER": 0}


def explained(outcome: Outcome, *, is_idempotent: bool = True, breaks: Mapping[str, int] | None = None) -> int:
    """The length of the explaining path, which is certified and accepted by the second implementation (up to 2.7).

    `breaks` are the properties that the path violates, each with the violating step.
    """
    assert isinstance(outcome, Explained)
    trace = outcome.trace
    certify(trace)
    if not alters_partitions(trace.instance):
        slow = SlowReading(outcome.recording, trace.instance, is_idempotent=is_idempotent)
        assert slow.accepts(trace.steps, trace.states)
    assert outcome.passed[-1] == len(outcome.recording.lines)
    assert {one.name: one.step for one in outcome.failures if one.verdict == VIOLATED} == (breaks or {})
    assert outcome.exit_code == (VIOLATION if breaks else DONE)
    return trace.length


def rejected(outcome: Outcome) -> tuple[int, int]:
    """The line that no path passes, and the number of states before it."""
    assert isinstance(outcome, Rejected)
    assert outcome.exit_code == DIVERGED
    return outcome.line.number, outcome.possible


# ------------------------------------------------------------------------------------------------------- real Kafka


@pytest.mark.recorded
def test_the_loss_on_0_10_2_is_explained_by_0_10() -> None:
    outcome = follow_recording(LOSS, "0.10")
    assert explained(outcome, breaks={"acked_not_lost": 25, "isr_is_complete": 23}) == STEPS_OF_LOSS
    assert isinstance(outcome, Explained)
    assert sum(outcome.effort.states) == STATES_OF_LOSS
    text = "\n".join(tell(outcome))
    assert flat(outcome).startswith(
        f"EXPLAINED: {LOSS} is a behaviour of 0.10, in 26 steps. It violates"
        " properties of the model: VIOLATED acked_not_lost at step 25: PRECIOUS is lost; VIOLATED isr_is_complete"
        " at step 23: PRECIOUS is missing from the ISR."
    )
    assert "In the trace 0 is broker 1, 1 is broker 2, 2 is broker 3; a is m0, b is m1, c is m2, d is PRECIOUS." in text
    assert "line 25: a consumer reads m0 m1 m2" in text
    at = text.index("VIOLATED acked_not_lost at step 25: PRECIOUS is lost, after line 23\n")
    assert text[at:].splitlines()[1:7] == [
        "  record d (PRECIOUS): acknowledged at step 17 by leader_shrinks_isr 0 by {2}",
        "    the leader relied on broker 1, which it knew to have it since step 16 by leader_handles_fetch 0 from 1",
        "    removed from broker 1 at step 23 by broker_becomes_follower 1 in epoch 1",
        "    lost at step 25 by controller_fails_over to 1",
        "  not permitted: acks=all promises it, and no unclean election, loss of power or loss of a disk took place",
        "",
    ]


@pytest.mark.recorded
def test_the_loss_on_0_10_2_has_no_explanation_in_2_1() -> None:
    outcome = follow_recording(LOSS, "2.1")
    assert rejected(outcome) == (17, 689)
    assert isinstance(outcome, Rejected)
    log, checkpoint = outcome.unmet
    assert (log.claim, log.true_of, log.instead) == (
        "the log of broker 2 is m0 m1 m2",
        0,
        (("m0 m1 m2 PRECIOUS", 689),),
    )
    assert checkpoint.true_of == outcome.possible
    assert "the log of broker 2 is m0 m1 m2: true in 0 of 689 states, instead: m0 m1 m2 PRECIOUS (689)" in flat(outcome)


@pytest.mark.recorded
@pytest.mark.parametrize(
    ("path", "length", "breaks"),
    [
        (FROZEN, 46, {"acked_not_lost": 31, "isr_is_complete": 30, "consistent_read": 44}),
        (HELD, 51, {"offsets_ordered": 41, "acked_not_lost": 37, "isr_is_complete": 35, "consistent_read": 49}),
        (CONTROL, 64, {}),
    ],
)
def test_recordings_of_3_9_are_explained_by_2_1(path: Path, length: int, breaks: dict[str, int]) -> None:
    outcome = follow_recording(path, "2.1")
    assert explained(outcome, breaks=breaks) == length
    if path == CONTROL:
        assert sum(step.action == "producer_retries" for step in outcome.trace.steps) == 1


@pytest.mark.recorded
@pytest.mark.parametrize(
    ("path", "values", "line", "possible"),
    [
        (FROZEN, WITHOUT_THE_RULE, 27, 385),
        (HELD, WITHOUT_THE_RULE, 40, 92),
        # Without sending again nobody appends PRECIOUS a second time.
        (CONTROL, {"retries": 0}, 32, None),
    ],
)
def test_recordings_of_3_9_need_the_rule(path: Path, values: dict[str, int], line: int, possible: int | None) -> None:
    found = rejected(follow_recording(path, "2.1", values))
    assert found == (line, found[1] if possible is None else possible)


# ------------------------------------------------------------------------------------- one thing that is not true


@pytest.mark.sampled
@pytest.mark.parametrize(
    "count", sampled([5, 7, 8, 14, 15, 19, 20, 22], lambda count: count == 7, last=lambda count: count != 7)
)
def test_a_shortened_recording_is_explained(tmp_path: Path, count: int) -> None:
    path = write(tmp_path / "cut", header(2, 1, 2, 3), *lines_of(LOSS.read_text())[:count])
    # From line 17 on a follower is seen that has truncated what was acknowledged; its election is seen only at line 24.
    breaks = {"isr_is_complete": 23} if count > 18 else {"isr_is_complete": 20} if count > 16 else {}
    assert explained(follow_recording(path, "0.10"), breaks=breaks) <= STEPS_OF_LOSS


TRUNCATED, DEAD = 17, 23
"""The lines of `LOSS` that show broker 2 truncated, and broker 3 dead with its log."""


@pytest.mark.recorded
def test_a_plausible_change_is_rejected_at_the_first_contradiction(tmp_path: Path) -> None:
    lines = lines_of(LOSS.read_text())
    # Broker 3 could have had this one, but it is frozen there and dead at line 23, and the file changes in between.
    lines[17]["high_watermark_checkpoint"] = 3
    outcome = follow_recording(write(tmp_path / "spoilt", *lines), "0.10")
    assert rejected(outcome)[0] == DEAD
    assert "it was different, and no process ran that could have written it" in flat(outcome)
    # If nobody but broker 2 receives leadership, it follows nobody and truncates nothing.
    lines = lines_of(LOSS.read_text())
    lines[18]["leader"] = 2
    assert rejected(follow_recording(write(tmp_path / "spoilt", *lines), "0.10"))[0] == TRUNCATED


# -------------------------------------------------------------------------------------------------- made by hand

MACROS = {
    # Three steps of two brokers: one sends a record, the other has it, after its previous fetch.
    "WRITTEN": "header 2: 1 2; acked x 0; disk 1: x; disk 2: x; metadata 1: 1 2",
    "TWO": "header 1: 1 2; metadata 1: 1 2",
    "ALONE": "header 1: 1; metadata 1: 1",
}
"""Short for the beginnings of recordings."""

BY_HAND = """\
an observed checkpoint was in memory at some time
  explained 6 | WRITTEN; disk 2: x hw=1
  explained 6 | WRITTEN; disk 2: x hw=1; disk 2: x hw=1
# An old checkpoint may be observed later, and again; a newer one does not become older again.
  explained 6 | WRITTEN; disk 2: x hw=0; disk 2: x hw=0; disk 2: x hw=1
  rejected 7 of 3 | WRITTEN; disk 2: x hw=1; disk 2: x hw=0; disk 2: x hw=0
  rejected 6 | WRITTEN; disk 2: x hw=2
a broker restarts with the checkpoint observed while it was down
# Up to 0.10 a follower truncates to the high watermark that it restarts with.
  explained 8 | 0.10 | WRITTEN; disk 2: x hw=1; kill 2; disk 2: x hw=1; start 2
  rejected 10 | 0.10 | WRITTEN; disk 2: x hw=1; kill 2; disk 2: x hw=1; start 2; disk 2: hw=0
# Nor can it restart with a checkpoint from before the one that was observed while it ran.
  rejected 9 | 0.10 | WRITTEN; disk 2: x hw=1; kill 2; start 2; disk 2: hw=0
# A checkpoint that no line shows can be any that it had.
  explained 7 | 0.10 | WRITTEN; kill 2; start 2; disk 2: hw=0
each process has its own checkpoints
  rejected 9 | WRITTEN; disk 2: x hw=1; kill 2; start 2; disk 2: x hw=0
# Alone in the ISR it moves on at once; its disk still has the checkpoint that it restarted with.
  explained 3 | header 1: 1; acked x; disk 1: x hw=0; kill 1; start 1; disk 1: x hw=0
the checkpoint of a stopped broker does not change
  rejected 8 | WRITTEN; kill 2; disk 2: x hw=0; disk 2: x hw=1
  rejected 8 | WRITTEN; freeze 2; disk 2: x hw=0; disk 2: x hw=1
  explained 6 | WRITTEN; freeze 2; disk 2: x hw=0; thaw 2; disk 2: x hw=1
a broker killed while frozen restarts with the observed checkpoint
# It truncates to 0 as it starts, and has nobody to fetch from.
  explained 7 | 0.10 | WRITTEN; freeze 2; disk 2: x hw=0; kill 2; freeze 1; start 2; disk 2:
  rejected 11 | 0.10 | WRITTEN; freeze 2; disk 2: x hw=0; kill 2; freeze 1; start 2; disk 2: x; metadata 1: 1 2
# If no line says who leads then, it may have been elected.
  explained 7 | 0.10 | WRITTEN; freeze 2; disk 2: x hw=0; kill 2; freeze 1; start 2; disk 2: x
  explained 8 | 0.10 | WRITTEN; freeze 2; kill 2; freeze 1; start 2; disk 2: x; metadata 1: 1 2
the log of the acknowledging leader has the record at the offset
# Broker 1 has x at offset 0, but only broker 2, which has y there, can acknowledge it.
  rejected 6 | retries=1 | TWO; disk 1: x; metadata 2: 2; acked y 0; acked x 0
  explained 5 | retries=1 | TWO; disk 1: x; metadata 2: 2; acked y 0; acked x 1
a clean stop writes the current high watermark
# Restarted with the high watermark 1, it has 1 at once; with 0 it would first have to learn it.
  explained 8 | WRITTEN; stop 2; start 2; disk 2: x hw=1
  explained 6 | WRITTEN; stop 2; start 2; disk 2: x hw=0
a broker that was shut down restarts with its high watermark
  explained 8 | 0.10 | WRITTEN; disk 2: x hw=1; stop 2; start 2; disk 2: x
  explained 3 | header 1: 1; acked x; stop 1; start 1; disk 1: x hw=1
  rejected 5 | header 1: 1; acked x; stop 1; start 1; disk 1: x hw=0
# With an older checkpoint it would have truncated here.
  rejected 9 | 0.10 | WRITTEN; disk 2: x hw=1; stop 2; start 2; disk 2:
a leader hands over its leadership before it shuts down
  explained 3 by controller_fails_over broker_crashes broker_restarts | TWO; stop 1; metadata 2: 2; start 1
# Without a leader that takes over, the shutdown does not end, and so the broker cannot be started.
  rejected 4: broker 1 does not run: true in 0 of 3 states, instead: it runs (3) | TWO; stop 1; start 1; metadata 1: 1 2
  explained 3 | TWO; stop 1; start 1
  explained 2 | header 1: 1 2; metadata 1: 1; stop 1; start 1
a frozen broker takes part in no step but may be elected
# Before it freezes it could still fetch: so the record is sent later.
  explained 4 | header 2: 1 2; metadata 1: 1 2; freeze 2; acked x
  rejected 5 | header 2: 1 2; metadata 1: 1 2; freeze 2; send x; acked x
  explained 4 | header 2: 1 2; metadata 1: 1 2; freeze 2; send x; thaw 2; acked x
  explained 1 | header 2: 1 2; metadata 1: 1 2; freeze 2; metadata 2: 2
# It does not learn of its election, and so nobody can write.
  rejected 5 | TWO; freeze 2; metadata 2: 2; acked x 1
# The leader drops it; a dead follower could be removed by the controller as well.
  explained 2 | TWO; freeze 2; disk 1: x; metadata 1: 1
a frozen broker is elected while it is frozen
  explained 1 | header 1: 1 2; freeze 2; metadata 1: 1 2; metadata 2: 2
a consumer reads below the high watermark of a leader that is not frozen
  explained 1 | header 1: 1; acked x; read x
  rejected 4 | header 1: 1; acked x; freeze 1; read x
  explained 1 | header 1: 1; acked x; freeze 1; thaw 1; read x
# A consumer that reads nothing may have reached no broker.
  explained 1 | header 1: 1; acked x; freeze 1; read
# A leader does not show what is above its high watermark, which rises only once broker 2 is dropped.
  explained 2 | header 2: 1 2; metadata 1: 1 2; freeze 2; send x; read x; metadata 1: 1
  rejected 6 | header 2: 1 2; metadata 1: 1 2; freeze 2; send x; read x; metadata 1: 1 2
the controller removes a follower that died
  explained 2 by controller_removes_dead_follower | TWO; kill 2; metadata 1: 1
elections happen only as the recorded leaders require
  explained 6 | TWO; metadata 2: 2; metadata 1: 1 2
# A fail-over alone takes a living leader out of the ISR.
  rejected 3 | TWO; metadata 1: 2
  rejected 4 | TWO; disk 2: x; disk 1:; metadata 1: 1 2
recorded epochs count the elections
  explained 1 | header 1: 1 2; metadata 1: 1 2 epoch=5; metadata 2: 1 2 epoch=6
  explained 2 | header 1: 1 2; metadata 1: 1 2 epoch=5; metadata 1: 1 2 epoch=7
  rejected 3 | header 1: 1 2; metadata 1: 1 2 epoch=5; metadata 1: 1 2 epoch=6
  rejected 3 | header 1: 1 2; metadata 1: 1 2 epoch=5; metadata 2: 2 1 epoch=5
# A broker that knows only of an earlier epoch says nothing of this moment.
  explained 1 | header 1: 1 2; metadata 1: 1 2 epoch=5; metadata 2: 1 2 epoch=6; metadata 1: 1 epoch=5
outdated metadata between two elections is accepted
  explained 3 | header 1: 1 2; metadata 1: 1 2 epoch=5; metadata 2: 1 2 epoch=6; disk 1: cache=7@0;
    metadata 1: 1 2 epoch=5; metadata 1: 1 2 epoch=7
an epoch without a leader makes metadata of earlier epochs outdated
# Nobody runs; the controller drops broker 2, which begins an epoch, and then a line shows an old view.
  explained 3 | OUTDATED
  explained 3 | OUTDATED; metadata 1: 1 2 epoch=5
  explained 3 | OUTDATED; metadata 1: 1 2 epoch=5; metadata 1: 1 epoch=6
  rejected 6 | OUTDATED; metadata 1: 1 2 epoch=6
an epoch has one leader even in outdated metadata
  explained 1 | header 1: 1 2; metadata 1: 1 2 epoch=5; metadata 2: 1 2 epoch=6; metadata 1: 1 epoch=5
  rejected 4: the leader of epoch 5 was broker 2: true in 0 of 14 states, instead: it was broker 1 by line 2 (14)
    | header 1: 1 2; metadata 1: 1 2 epoch=5; metadata 2: 1 2 epoch=6; metadata 2: 1 epoch=5
unclean elections are enabled by option or header
  rejected 4 | header 1: 1 2; kill 1; metadata 1: 1; metadata 2: 2
  explained 2 | header 1: 1 2 unclean; kill 1; metadata 1: 1; metadata 2: 2
  explained 2 | min_insync_replicas=1 unclean_elections=1 | kill 1; metadata 1: 1; metadata 2: 2
resent records make no copy and keep the order
# A log with a record twice shows that a request was sent again.
  explained 2 | header 2: 1 2; metadata 1: 1 2; send x; send y; disk 1: x x
# x is refused while the ISR is too small.
  rejected 5 | header 2: 1 2; metadata 1: 1; send x; send y; disk 1: y x
  explained 4 | retries=1 | header 2: 1 2; metadata 1: 1; send x; send y; disk 1: y x
# x reaches nobody.
  explained 2 | header 2: 1 2; metadata 1: 1; send x; send y; disk 1: y
acks comes from the recording or the option
  rejected 3: producers send the records of the recording with acks=all, in the order
    | retries=0 | header 2: 1; metadata 1: 1; disk 1: x
  explained 1 | retries=0 acks=1 | header 2: 1; metadata 1: 1; disk 1: x
  explained 1 | retries=0 | header 2: 1; metadata 1: 1; disk 1: x; acked x acks=1
a record is not sent before its line
  explained 2 | ALONE; acked x 0; disk 1: x; send y; acked y 1
  explained 2 | ALONE; acked x 0; send y; disk 1: x y
  rejected 4 | ALONE; acked x 0; acked y 2
a partition epoch counts the changes
  explained 2 | 3.7 | header 1: 1 2; record 1: 1 2 epoch=0; kill 2; record 1: 1 epoch=0 change=1
  rejected 4 | 3.7 | header 1: 1 2; record 1: 1 2 epoch=0; kill 2; record 1: 1 epoch=0 change=2
an answered high watermark is in memory
  explained 2 | 2.4 | header 1: 1 2; metadata 1: 1 2 epoch=0; acked x 0; mark 1 1
  explained 4 | 2.4 | header 1: 1 2; metadata 1: 1 2 epoch=0; acked x 0; mark 2 1
  rejected 4 | 2.4 | header 1: 1 2; metadata 1: 1 2 epoch=0; acked x 0; mark 1 0
  rejected 4: broker 2 has the high watermark 2
    | 2.4 | header 1: 1 2; metadata 1: 1 2 epoch=0; acked x 0; mark 2 2
  explained 4 | 3.7 | header 1: 1 2; metadata 1: 1 2 epoch=0; acked x 0; mark 1 1
  explained 6 | 3.7 | header 1: 1 2; metadata 1: 1 2 epoch=0; acked x 0; mark 2 1
  rejected 4 | 3.7 | header 1: 1 2; metadata 1: 1 2 epoch=0; acked x 0; mark 1 0
  rejected 4: broker 2 has the high watermark 2
    | 3.7 | header 1: 1 2; metadata 1: 1 2 epoch=0; acked x 0; mark 2 2
a leader answers the fetch that a follower sent before it froze
# The follower has the record that was appended while it was frozen, but not the next one: its fetch was parked.
  explained 5 | TWO; freeze 2; metadata 1: 1; acked x 0; acked y 1; thaw 2; disk 2: x
  explained 5 | TWO; freeze 2; metadata 1: 1; acked x 0; acked y 1; thaw 2; disk 2: x y
a broker does not halt unrecorded
# Up to 2.0 a broker that is out of range would halt (OUT_OF_RANGE_HALTS); but a recording lists all deaths. Broker 2
# truncates what it holds, leads, and broker 1 has more than its leader.
  explained 9 | 0.10 | HALTING
  rejected 9 | 0.10 | HALTING; metadata -1: 1 2
  explained 10 | 0.10 | HALTING; kill 1; metadata -1: 1 2
"""
"""What is shown, and under it recordings: the verdict with the length of the path, or with the rejected line and the
number of states before it; the last actions of the path, or words of the report; options (2.1 if absent); the
lines."""

MACROS["OUTDATED"] = "header 1: 1 2; metadata 1: 1 2 epoch=5; kill 1; kill 2; metadata -1: 1 epoch=6"
MACROS["HALTING"] = "TWO; acked x; kill 2; start 2; disk 2:; metadata 2: 1 2; metadata 1: 1 2".replace(
    "TWO", MACROS["TWO"]
)

VERDICT = re.compile(r"(explained|rejected) (\d+)(?: of (\d+))?(?: by ([a-z_ ]+))?(?:: (.*))?")


def cases() -> Iterator[object]:
    """The rows of `BY_HAND` as parameters: verdict, options, lines."""
    about, rows = "", list[str]()
    for line in [line for line in BY_HAND.splitlines() if not line.startswith("#")]:
        if line.startswith("    "):
            rows.append(f"{rows.pop()} {line.strip()}")
        else:
            rows.append(line)
    for number, row in enumerate(rows):
        if not row.startswith(" "):
            about = row
            continue
        verdict, *options, lines = (cell.strip() for cell in row.split(" | "))
        for name, long in MACROS.items():
            lines = lines.replace(name, long)
        yield pytest.param(verdict, " ".join(options), lines, id=f"{about} {number}")


@pytest.mark.whole
@pytest.mark.parametrize(("verdict", "options", "lines"), list(cases()))
def test_a_recording_made_by_hand(tmp_path: Path, verdict: str, options: str, lines: str) -> None:
    kind, number, states, actions, words = VERDICT.fullmatch(verdict).groups()
    values = {name: int(value) for name, is_set, value in (word.partition("=") for word in options.split()) if is_set}
    protocol = next((word for word in options.split() if "=" not in word), "2.1")
    outcome = follow(tmp_path, *said(lines), protocol=protocol, **values)
    if kind == "explained":
        assert explained(outcome, is_idempotent="retries" not in values and not outcome.recording.copies) == int(number)
        last = (actions or "").split()
        assert [step.action for step in outcome.trace.steps][len(outcome.trace.steps) - len(last) :] == last
    else:
        line, possible = rejected(outcome)
        assert (line, possible) == (int(number), int(states or possible))
        assert (words or "") in flat(outcome)


def follow(path: Path, *lines: dict[str, Any], protocol: str = "2.1", **values: int) -> Outcome:
    return follow_recording(write(path / "recording", *lines), protocol, values)


def test_unrecorded_steps_are_filled_in(tmp_path: Path) -> None:
    outcome = follow(tmp_path, *said(MACROS["WRITTEN"]))
    assert explained(outcome) == 4
    assert [outcome.trace.spell_row(position) for position in range(5)] == [
        "initially",
        "producer_appends at 0",
        "leader_handles_fetch 0 from 1",
        "follower_applies_response 1 from 0",
        "leader_handles_fetch 0 from 1",
    ]
    assert outcome.passed == (0, 0, 0, 0, 4)


@pytest.mark.recorded
def test_the_logs_determine_the_position_of_an_unacknowledged_record(tmp_path: Path) -> None:
    begin = "ALONE; acked x 0; acked z 2; ".replace("ALONE", MACROS["ALONE"])
    outcome = follow(tmp_path, *said(f"{begin} disk 1: x y z; disk 1: x y z v w"))
    assert (explained(outcome), outcome.recording.values) == (5, ("x", "y", "z", "v", "w"))
    assert rejected(follow(tmp_path, *said(f"{begin} disk 1: x z y")))[0] == 4
    # The first of its copies counts.
    outcome = follow(tmp_path, *said(f"{MACROS['ALONE']}; disk 1: x y x"), retries=1)
    assert isinstance(outcome, Rejected)  # alone, the leader acknowledges at once, and nothing is sent again
    assert outcome.recording.values == ("x", "y")


def test_every_action_of_the_model_is_classified() -> None:
    named = {*FREE, *ELECTIONS, *SHUTDOWNS, *REASSIGNMENTS, *CANCELLATIONS, *NEVER, "broker_crashes", "broker_restarts"}
    assert named == {action.name for action in registry.load("kafka")[0].actions}


@pytest.mark.sampled
@pytest.mark.parametrize("protocol", ["2.8", "3.3", "3.5", "3.7", "4.1"])
def test_generations_with_alter_partition_are_followed(tmp_path: Path, protocol: str) -> None:
    """A follower freezes, and leaves the ISR; with the first KRaft controllers, the leader epoch rises."""
    begin = "header 1: 1 2; metadata 1: 1 2 epoch=0; acked x 0; freeze 2"
    rises = protocol in ("3.3", "3.5")
    outcome = follow(tmp_path, *said(f"{begin}; record 1: 1 epoch={rises:d} change=1; acked y 1"), protocol=protocol)
    assert isinstance(outcome, Explained)
    certify(outcome.trace)
    changing = "controller_handles_alter_partition" if protocol == "2.8" else "controller_fences_broker"
    assert changing in {step.action for step in outcome.trace.steps}
    wrong = f"{begin}; record 1: 1 epoch={not rises:d} change=1; acked y 1"
    assert isinstance(follow(tmp_path, *said(wrong), protocol=protocol), Rejected)


# ------------------------------------------------------------------------------------------------- limits and input


def test_an_interrupted_search_reports_its_position(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(search: ObservationSearch) -> None:
        if search.depth == 8:
            raise KeyboardInterrupt

    monkeypatch.setattr(ObservationSearch, "look_at_clock", interrupt)
    outcome = expect(Undecided, follow_recording(LOSS, "0.10"))
    assert outcome.exit_code == INTERRUPTED
    assert outcome.line.number == 5


def test_nothing_to_follow(tmp_path: Path) -> None:
    for lines in ((), (header(1, 1),), ({"kind": "note", "what": "hello"},), (fault(START, 1),)):
        outcome = expect(NothingToFollow, follow_recording(write(tmp_path / "empty", *lines), "2.1"))
        assert outcome.exit_code == NOTHING


GOOD = '{"n":0,"kind":"metadata","leader":1,"isr":[1,2]}'

BAD_LINES = """\
{"n":1,"kind":"ack | 2: not JSON: Unterminated string starting at column 15; write one object per line
{"n":1,"kind":"acker","value":"x"} | 2: unknown kind "acker"; there are: header, acked,
{"n":1} | 2: kind is missing;
{"kind":"note"} | 2: n is missing;
{"n":true,"kind":"note"} | 2: n is true;
{"n":0,"kind":"note"} | 2: n is 0 after 0; put the lines in the order of n
{"n":1,"kind":"acked","value":3} | 2: value is 3; it has to be the record
{"n":1,"kind":"acked","value":"x","offset":-1} | 2: offset is -1; it has to be an offset
{"n":1,"kind":"acked","value":"x","ofset":1} | 2: unknown key 'ofset'; lines of this kind have:
{"n":1,"kind":"acked","value":"x","acks":2} | 2: acks is 2; it has to be all, 1 or 0
{"n":1,"kind":"acked","value":"x","acks":-1} & {"n":2,"kind":"acked","value":"y","acks":1} | 3: acks=1 after acks=all
{"n":1,"kind":"acked"} | 2: value is missing; give it: the record
{"n":1,"kind":"disk","broker":1,"log":[[1,"x"]]} | 2: log has offset 1 at position 0;
{"n":1,"kind":"disk","broker":1,"log":[["x",0]]} | 2: log is [["x", 0]];
{"n":1,"kind":"disk","broker":"1","log":[]} | 2: broker is "1";
{"n":1,"kind":"disk","broker":1,"log":[[0,"x"]],"batch_epochs":[]} | 2: 0 batch_epochs do not fit 1 records;
{"n":1,"kind":"disk","broker":1,"log":[],"leader_epoch_checkpoint":[[0,0]]} | 1: leader_epoch is missing, but
{"n":1,"kind":"metadata","isr":[1]} | 2: leader is missing;
{"n":1,"kind":"metadata","leader":1,"isr":1} | 2: isr is 1; it has to be a list of brokers
{"n":1,"kind":"fault","what":"explode","broker":1} | 2: unknown fault "explode"; there are: kill -9
{"n":1,"kind":"fault","what":"freeze","broker":3} | 2: broker 3 is unknown:
{"n":1,"kind":"fault","what":"thaw","broker":1} | 2: thaw: broker 1 runs from the start;
{"n":1,"kind":"fault","what":"kill -9","broker":1} & {"n":2,"kind":"fault","what":"kill -9","broker":1}
  | 3: kill -9: broker 1 is killed since line 2; correct the line, or add the missing one
{"n":1,"kind":"acked","value":"x"} & {"n":2,"kind":"fault","what":"send","value":"x"}
  | 3: x is sent after it was observed at line 2;
{"kind":"header"} | 2: a header after other lines; put one header first
"""
"""Lines after `GOOD`, and how the complaint begins."""


def refusal(path: Path, text: str) -> str:
    """The complaint about a recording with this text, without the name of the file."""
    path.write_text(text)
    with pytest.raises(UsageError) as caught:
        follow_recording(path, "2.1")
    assert "\n" not in str(caught.value)
    return str(caught.value).removeprefix(f"{path}:")


@pytest.mark.parametrize("row", BAD_LINES.replace("\n  |", " |").splitlines(), ids=lambda row: row.partition(" | ")[2])
def test_bad_input_is_one_line(tmp_path: Path, row: str) -> None:
    lines, _, complaint = row.partition(" | ")
    assert refusal(tmp_path / "recording", "\n".join([GOOD, *lines.split(" & "), ""])).startswith(complaint)


def test_a_recording_without_brokers_or_end_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "recording"
    assert refusal(path, '{"n":0,"kind":"acked","value":"x"}\n').startswith(
        "1: no line names the brokers that hold the "
    )
    assert refusal(path, f"{GOOD}\n{GOOD}").startswith("2: the file ends in the middle of this line; get the rest")


CONTRADICTED = "header 1: 1 2; kill 1; metadata 1: 1; metadata 2: 2; acked x acks=1"


@pytest.mark.parametrize(
    ("values", "complaint"),
    [
        ({"min_insync_replicas": 2}, "min_insync_replicas=2 contradicts the header of the recording; leave it"),
        ({"acks": 1}, "acks cannot be set, because the recording determines it; leave it out"),
        ({"replicas": 3}, "replicas cannot be set, because the recording determines it; leave it out"),
    ],
)
def test_a_setting_that_the_recording_determines_is_refused(
    tmp_path: Path, values: dict[str, int], complaint: str
) -> None:
    with pytest.raises(UsageError, match=complaint):
        follow(tmp_path, *said(CONTRADICTED), **values)


def test_files_that_are_no_recordings(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="No such file or directory; give a log that can be read"):
        follow_recording(tmp_path / "nowhere", "2.1")
    (tmp_path / "binary").write_bytes(GOOD.encode() + b"\n\xff\xfe\n")
    with pytest.raises(UsageError, match=r"binary:2: byte 1 is not UTF-8; give a log"):
        follow_recording(tmp_path / "binary", "2.1")
    with pytest.raises(UsageError, match=r"kafka has no protocol 9"):
        follow_recording(LOSS, "9")


def test_observations_are_distinguished_from_event_logs() -> None:
    assert is_observation(LOSS.read_bytes().splitlines()[0])
    assert is_observation(b'{"kind":"header"}')
    for text in ('{"schema":1,"kind":"header"}', '{"kind":"produce"}', '{"kind":["acked"]}', "[]", "no", ""):
        assert not is_observation(text.encode())


def test_values_become_records_and_brokers_replicas() -> None:
    recording = read_recording(FROZEN)
    assert recording.brokers == (1, 2, 3)
    assert recording.values == ("m0", "m1", "PRECIOUS", "after")
    instance = instance_for(size_of(recording), "2.1", {})
    names = ("replicas", "records", "log_size", "elections", "crashes", "min_insync_replicas")
    assert [getattr(instance.configuration, name) for name in names] == [3, 4, 4, 4, 3, 2]
