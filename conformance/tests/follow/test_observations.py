"""Recordings of a real Kafka: which are explained, which are rejected, and at which line."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from conformance.tests.sampling import sampled
from conformance.tests.support.follow import LOSS, lines_of
from conformance.tests.support.observations import (
    FREEZE,
    KILL,
    START,
    STOP,
    THAW,
    SlowReading,
    acked,
    disk,
    fault,
    header,
    high_watermark,
    metadata,
    read,
    record,
    sent,
    write,
)
from conformance.tests.support.places import RECORDINGS
from isrcheck.conformance import cli
from isrcheck.conformance.follow.recorded.lines import is_observation
from isrcheck.conformance.follow.recorded.recording import read_recording
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
WITHOUT_THE_RULE = {"REMOTE_OFFSETS_KEPT_BY_REELECTED_LEADER": 0}


def explained(outcome: Outcome, *, is_idempotent: bool = True, breaks: Mapping[str, int] | None = None) -> int:
    """The length of the explaining path, which is certified and accepted by the second implementation.

    `breaks` are the properties that the path violates, each with the violating step.
    """
    assert isinstance(outcome, Explained)
    trace = outcome.trace
    certify(trace)
    slow = SlowReading(outcome.recording, trace.instance, is_idempotent=is_idempotent)
    assert slow.accepts(trace.steps, trace.states)
    assert outcome.passed[-1] == len(outcome.recording.lines)
    assert {one.name: one.step for one in outcome.failures if one.verdict == VIOLATED} == (breaks or {})
    assert outcome.exit_code == (12 if breaks else 0)
    return trace.length


def rejected(outcome: Outcome) -> tuple[int, int]:
    """The line that no path passes, and the number of states before it."""
    assert isinstance(outcome, Rejected)
    assert outcome.exit_code == 20
    return outcome.line.number, outcome.possible


def flat(outcome: Outcome) -> str:
    """The printed outcome, without line breaks."""
    return " ".join(" ".join(tell(outcome)).split())


# ------------------------------------------------------------------------------------------------------- real Kafka


def test_the_loss_on_0_10_2_is_explained_by_0_10() -> None:
    outcome = follow_recording(LOSS, "0.10")
    # A shortest path has 24 steps; a search that is breadth first to the end needs 640,150 states.
    assert explained(outcome, breaks={"acked_not_lost": 25, "isr_is_complete": 23}) == 26
    assert isinstance(outcome, Explained)
    assert sum(outcome.effort.states) == 24_186
    text = flat(outcome)
    assert "in 26 steps. It violates" in text
    assert "In the trace 0 is broker 1, 1 is broker 2, 2 is broker 3; a is m0, b is m1, c is m2, d is PRECIOUS." in text
    assert "line 25: a consumer reads m0 m1 m2" in text


@pytest.mark.exhaustive
def test_a_violated_property_is_reported_in_words(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["follow", str(LOSS), "--protocol", "0.10"]) == 12
    text = capsys.readouterr().out
    assert " ".join(text.split()).startswith(
        f"EXPLAINED: {LOSS} is a behaviour of 0.10, in 26 steps. It violates"
        " properties of the model: VIOLATED acked_not_lost at step 25: PRECIOUS is lost; VIOLATED isr_is_complete"
        " at step 23: PRECIOUS is missing from the ISR."
    )
    at = text.index("VIOLATED acked_not_lost at step 25: PRECIOUS is lost, after line 23\n")
    assert text[at:].splitlines()[1:7] == [
        "  record d (PRECIOUS): acknowledged at step 17 by leader_shrinks_isr 0 by {2}",
        "    the leader relied on broker 1, which it knew to have it since step 16 by leader_handles_fetch 0 from 1",
        "    removed from broker 1 at step 23 by broker_becomes_follower 1 in epoch 1",
        "    lost at step 25 by controller_fails_over to 1",
        "  not permitted: acks=all promises it, and no unclean election, loss of power or loss of a disk took place",
        "",
    ]


@pytest.mark.exhaustive
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
    assert checkpoint.true_of == 689
    assert "the log of broker 2 is m0 m1 m2: true in 0 of 689 states, instead: m0 m1 m2 PRECIOUS (689)" in flat(outcome)


@pytest.mark.recorded
def test_the_missed_demotion_of_3_9_is_explained_by_2_1() -> None:
    assert (
        explained(
            follow_recording(FROZEN, "2.1"), breaks={"acked_not_lost": 31, "isr_is_complete": 30, "consistent_read": 44}
        )
        == 46
    )


@pytest.mark.recorded
def test_the_missed_demotion_of_3_9_needs_the_remote_offsets_that_a_reelected_leader_keeps() -> None:
    outcome = follow_recording(FROZEN, "2.1", WITHOUT_THE_RULE)
    assert rejected(outcome) == (27, 385)


@pytest.mark.recorded
def test_the_missed_demotion_with_held_metadata_is_explained() -> None:
    breaks = {"offsets_ordered": 41, "acked_not_lost": 37, "isr_is_complete": 35, "consistent_read": 49}
    assert explained(follow_recording(HELD, "2.1"), breaks=breaks) == 51
    assert rejected(follow_recording(HELD, "2.1", WITHOUT_THE_RULE)) == (40, 92)


@pytest.mark.recorded
def test_the_control_recording_with_resends_is_explained() -> None:
    outcome = follow_recording(CONTROL, "2.1")
    assert explained(outcome) == 64
    assert isinstance(outcome, Explained)
    assert sum(step.action == "producer_retries" for step in outcome.trace.steps) == 1
    # Without sending again nobody appends PRECIOUS a second time.
    assert rejected(follow_recording(CONTROL, "2.1", {"retries": 0}))[0] == 32


# ------------------------------------------------------------------------------------- one thing that is not true


@pytest.mark.parametrize(
    ("number", "key", "value"),
    sampled(
        [
            (2, "offset", 2),
            (4, "high_watermark_checkpoint", 4),
            (5, "log", [[0, "m1"], [1, "m0"], [2, "m2"]]),
            (7, "isr", []),
            (8, "offset", 0),
            (12, "log", [[0, "m0"]]),
            (19, "isr", [2]),
            (22, "high_watermark_checkpoint", 1),
            (23, "high_watermark_checkpoint", 1),
            (24, "isr", [1, 2]),
            (25, "records", [[0, "m0"], [1, "m1"], [2, "PRECIOUS"]]),
        ],
        lambda one: one[0] == 25,
        last=lambda one: one[0] not in (2, 22),
    ),
)
def test_a_line_made_impossible_is_rejected(tmp_path: Path, number: int, key: str, value: Any) -> None:
    lines = lines_of(LOSS.read_text())
    assert lines[number - 1][key] != value
    lines[number - 1][key] = value
    assert rejected(follow_recording(write(tmp_path / "spoilt", *lines), "0.10"))[0] == number


@pytest.mark.parametrize(
    "count", sampled([5, 7, 8, 14, 15, 19, 20, 22], lambda count: count == 7, last=lambda count: count != 7)
)
def test_a_shortened_recording_is_explained(tmp_path: Path, count: int) -> None:
    path = write(tmp_path / "cut", header(2, 1, 2, 3), *lines_of(LOSS.read_text())[:count])
    # From line 17 on a follower is seen that has truncated what was acknowledged; its election is seen only at line 24.
    breaks = {"isr_is_complete": 23} if count > 18 else {"isr_is_complete": 20} if count > 16 else {}
    assert explained(follow_recording(path, "0.10"), breaks=breaks) <= 26


@pytest.mark.recorded
def test_a_plausible_change_is_rejected_at_the_first_contradiction(tmp_path: Path) -> None:
    lines = lines_of(LOSS.read_text())
    # Broker 3 could have had this one, but it is frozen there and dead at line 23, and the file changes in between.
    lines[17]["high_watermark_checkpoint"] = 3
    outcome = follow_recording(write(tmp_path / "spoilt", *lines), "0.10")
    assert rejected(outcome)[0] == 23
    assert "it was another one, and no process ran that could have written it" in flat(outcome)
    # If nobody but broker 2 is told to lead, it follows nobody and truncates nothing.
    lines = lines_of(LOSS.read_text())
    lines[18]["leader"] = 2
    assert rejected(follow_recording(write(tmp_path / "spoilt", *lines), "0.10"))[0] == 17


# -------------------------------------------------------------------------------------------------- made by hand

X_IS_WRITTEN = (acked("x", 0), disk(1, "x"), disk(2, "x"), metadata(1, 1, 2))
"""What takes three steps of two brokers of which one has to hold a record, besides the fetch before."""


SENT = sent("x")


def follow(path: Path, *lines: dict[str, Any], protocol: str = "2.1", **values: int) -> Outcome:
    return follow_recording(write(path / "recording", *lines), protocol, values)


def test_unrecorded_steps_are_filled_in(tmp_path: Path) -> None:
    outcome = follow(tmp_path, header(2, 1, 2), *X_IS_WRITTEN)
    assert explained(outcome) == 4
    assert isinstance(outcome, Explained)
    assert [outcome.trace.spell_row(position) for position in range(5)] == [
        "initially",
        "producer_appends at 0",
        "leader_handles_fetch 0 from 1",
        "follower_applies_response 1 from 0",
        "leader_handles_fetch 0 from 1",
    ]
    assert outcome.passed == (0, 0, 0, 0, 4)


def test_an_observed_checkpoint_was_in_memory_at_some_time(tmp_path: Path) -> None:
    follower_knows = (*X_IS_WRITTEN, disk(2, "x", checkpoint=1))
    assert explained(follow(tmp_path, header(2, 1, 2), *follower_knows)) == 6
    assert explained(follow(tmp_path, header(2, 1, 2), *follower_knows, follower_knows[-1])) == 6
    # An old one may be seen later, and again; a newer one is not older again.
    old = (disk(2, "x", checkpoint=0), disk(2, "x", checkpoint=0))
    assert explained(follow(tmp_path, header(2, 1, 2), *X_IS_WRITTEN, *old, disk(2, "x", checkpoint=1))) == 6
    assert rejected(follow(tmp_path, header(2, 1, 2), *follower_knows, *old)) == (7, 3)
    assert rejected(follow(tmp_path, header(2, 1, 2), *X_IS_WRITTEN, disk(2, "x", checkpoint=2)))[0] == 6


def test_a_broker_restarts_with_the_checkpoint_observed_while_down(tmp_path: Path) -> None:
    begin = (header(2, 1, 2), *X_IS_WRITTEN, disk(2, "x", checkpoint=1), fault(KILL, 2))
    # Up to 0.10 a follower truncates to the high watermark that it comes back with.
    assert explained(follow(tmp_path, *begin, disk(2, "x", checkpoint=1), fault(START, 2), protocol="0.10")) == 8
    gone = disk(2, checkpoint=0)
    assert (
        rejected(follow(tmp_path, *begin, disk(2, "x", checkpoint=1), fault(START, 2), gone, protocol="0.10"))[0] == 10
    )
    # Nor can it come back with one from before the one that was seen when it ran.
    assert rejected(follow(tmp_path, *begin, fault(START, 2), gone, protocol="0.10"))[0] == 9
    # One that nobody saw can be any that it had.
    unseen = (header(2, 1, 2), *X_IS_WRITTEN, fault(KILL, 2), fault(START, 2), gone)
    assert explained(follow(tmp_path, *unseen, protocol="0.10")) == 7


def test_each_process_has_its_own_checkpoints(tmp_path: Path) -> None:
    begin = (header(2, 1, 2), *X_IS_WRITTEN, disk(2, "x", checkpoint=1), fault(KILL, 2), fault(START, 2))
    assert rejected(follow(tmp_path, *begin, disk(2, "x", checkpoint=0)))[0] == 9
    # Alone in the ISR it has moved on at once; what lies on disk is still what it came back with.
    seen = disk(1, "x", checkpoint=0)
    assert explained(follow(tmp_path, header(1, 1), acked("x"), seen, fault(KILL, 1), fault(START, 1), seen)) == 3


def test_the_checkpoint_of_a_stopped_broker_does_not_change(tmp_path: Path) -> None:
    begin = (header(2, 1, 2), *X_IS_WRITTEN)
    seen = (disk(2, "x", checkpoint=0), disk(2, "x", checkpoint=1))
    for fate in (KILL, FREEZE):
        assert rejected(follow(tmp_path, *begin, fault(fate, 2), *seen))[0] == 8
    between = (fault(FREEZE, 2), seen[0], fault(THAW, 2), seen[1])
    assert explained(follow(tmp_path, *begin, *between)) == 6


def test_a_broker_killed_while_frozen_restarts_with_the_observed_checkpoint(tmp_path: Path) -> None:
    lines = (header(2, 1, 2), *X_IS_WRITTEN, fault(FREEZE, 2), disk(2, "x", checkpoint=0), fault(KILL, 2))
    later = (*lines, fault(FREEZE, 1), fault(START, 2))
    # It truncates to 0 as it starts, and has nobody to fetch from.
    assert explained(follow(tmp_path, *later, disk(2), protocol="0.10")) == 7
    assert rejected(follow(tmp_path, *later, disk(2, "x"), metadata(1, 1, 2), protocol="0.10"))[0] == 11
    # If no line says who leads then, it may have been elected.
    assert isinstance(follow(tmp_path, *later, disk(2, "x"), protocol="0.10"), Explained)
    unseen = (
        header(2, 1, 2),
        *X_IS_WRITTEN,
        fault(FREEZE, 2),
        fault(KILL, 2),
        *later[-2:],
        disk(2, "x"),
        metadata(1, 1, 2),
    )
    assert explained(follow(tmp_path, *unseen, protocol="0.10")) == 8


def test_the_acknowledging_leaders_log_has_the_record_at_the_offset(tmp_path: Path) -> None:
    lines = (header(1, 1, 2), metadata(1, 1, 2), disk(1, "x"), metadata(2, 2), acked("y", 0))
    # Broker 1 has x at offset 0, but only broker 2, which has y there, can acknowledge it.
    assert rejected(follow(tmp_path, *lines, acked("x", 0), retries=1))[0] == 6
    assert explained(follow(tmp_path, *lines, acked("x", 1), retries=1), is_idempotent=False) == 5


def test_a_clean_stop_writes_the_current_high_watermark(tmp_path: Path) -> None:
    begin = (header(2, 1, 2), *X_IS_WRITTEN, fault(STOP, 2), fault(START, 2))
    # Restarted with the high watermark 1, it has 1 at once; with 0 it would first have to learn it.
    assert explained(follow(tmp_path, *begin, disk(2, "x", checkpoint=1))) == 8
    assert explained(follow(tmp_path, *begin, disk(2, "x", checkpoint=0))) == 6


def test_a_broker_that_was_shut_down_restarts_with_its_high_watermark(tmp_path: Path) -> None:
    stopped = (header(2, 1, 2), *X_IS_WRITTEN, disk(2, "x", checkpoint=1), fault(STOP, 2), fault(START, 2))
    assert explained(follow(tmp_path, *stopped, disk(2, "x"), protocol="0.10")) == 8
    alone = (header(1, 1), acked("x"), fault(STOP, 1), fault(START, 1))
    assert explained(follow(tmp_path, *alone, disk(1, "x", checkpoint=1))) == 3
    assert rejected(follow(tmp_path, *alone, disk(1, "x", checkpoint=0)))[0] == 5
    # With an older checkpoint it would have truncated here.
    assert rejected(follow(tmp_path, *stopped, disk(2), protocol="0.10"))[0] == 9


def test_a_leader_hands_over_its_leadership_before_it_shuts_down(tmp_path: Path) -> None:
    begin = (header(1, 1, 2), metadata(1, 1, 2), fault(STOP, 1))
    outcome = follow(tmp_path, *begin, metadata(2, 2), fault(START, 1))
    assert explained(outcome) == 3
    assert isinstance(outcome, Explained)
    actions = [step.action for step in outcome.trace.steps]
    assert actions == ["controller_fails_over", "broker_crashes", "broker_restarts"]
    # Without a leader that takes over it does not end, and so cannot be started.
    outcome = follow(tmp_path, *begin, fault(START, 1), metadata(1, 1, 2))
    assert rejected(outcome)[0] == 4
    assert "broker 1 does not run: true in 0 of 3 states, instead: it runs (3)" in flat(outcome)
    assert explained(follow(tmp_path, *begin, fault(START, 1))) == 3
    alone = (header(1, 1, 2), metadata(1, 1), fault(STOP, 1), fault(START, 1))
    assert explained(follow(tmp_path, *alone)) == 2


def test_a_frozen_broker_takes_part_in_no_step_but_may_be_elected(tmp_path: Path) -> None:
    begin = (header(2, 1, 2), metadata(1, 1, 2))
    # Before it freezes it could still fetch: so the record is sent later.
    assert explained(follow(tmp_path, *begin, fault(FREEZE, 2), acked("x"))) == 4
    assert rejected(follow(tmp_path, *begin, fault(FREEZE, 2), SENT, acked("x")))[0] == 5
    assert explained(follow(tmp_path, *begin, fault(FREEZE, 2), SENT, fault(THAW, 2), acked("x"))) == 4
    assert explained(follow(tmp_path, *begin, fault(FREEZE, 2), metadata(2, 2))) == 1
    # It does not learn of it, and so nobody can write.
    assert (
        rejected(follow(tmp_path, header(1, 1, 2), begin[1], fault(FREEZE, 2), metadata(2, 2), acked("x", 1)))[0] == 5
    )
    # The leader drops it; a dead one could be removed by the controller as well.
    assert explained(follow(tmp_path, header(1, 1, 2), begin[1], fault(FREEZE, 2), disk(1, "x"), metadata(1, 1))) == 2


def test_a_consumer_reads_below_the_high_watermark_of_a_leader_that_is_not_frozen(tmp_path: Path) -> None:
    begin = (header(1, 1), acked("x"))
    assert explained(follow(tmp_path, *begin, read("x"))) == 1
    assert rejected(follow(tmp_path, *begin, fault(FREEZE, 1), read("x")))[0] == 4
    assert explained(follow(tmp_path, *begin, fault(FREEZE, 1), fault(THAW, 1), read("x"))) == 1
    # Who reads nothing may have found nobody who could be read from.
    assert explained(follow(tmp_path, *begin, fault(FREEZE, 1), read())) == 1
    # What is not below its high watermark it does not show; and that moves only once broker 2 is dropped.
    only_here = (header(2, 1, 2), metadata(1, 1, 2), fault(FREEZE, 2), SENT, read("x"))
    assert explained(follow(tmp_path, *only_here, metadata(1, 1))) == 2
    assert rejected(follow(tmp_path, *only_here, metadata(1, 1, 2)))[0] == 6


def test_a_frozen_broker_is_elected_while_it_is_frozen(tmp_path: Path) -> None:
    lines = (header(1, 1, 2), fault(FREEZE, 2), metadata(1, 1, 2), metadata(2, 2))
    assert explained(follow(tmp_path, *lines)) == 1


def test_the_controller_removes_a_follower_that_died(tmp_path: Path) -> None:
    lines = (header(1, 1, 2), metadata(1, 1, 2), fault(KILL, 2), metadata(1, 1))
    outcome = follow(tmp_path, *lines)
    assert explained(outcome) == 2
    assert isinstance(outcome, Explained)
    assert outcome.trace.steps[-1].action == "controller_removes_dead_follower"


def test_outdated_metadata_between_two_elections_is_accepted(tmp_path: Path) -> None:
    begin = (header(1, 1, 2), metadata(1, 1, 2, epoch=5), metadata(2, 1, 2, epoch=6))
    leads_again = {**disk(1), "leader_epoch_checkpoint": [[7, 0]]}
    lines = (*begin, leads_again, metadata(1, 1, 2, epoch=5), metadata(1, 1, 2, epoch=7))
    assert explained(follow(tmp_path, *lines)) == 3


def test_elections_happen_only_as_the_recorded_leaders_require(tmp_path: Path) -> None:
    begin = (header(1, 1, 2), metadata(1, 1, 2))
    assert explained(follow(tmp_path, *begin, metadata(2, 2), metadata(1, 1, 2))) > 2
    # A fail-over alone takes a living leader out of the ISR.
    assert rejected(follow(tmp_path, *begin, metadata(1, 2)))[0] == 3
    assert rejected(follow(tmp_path, *begin, disk(2, "x"), disk(1), metadata(1, 1, 2)))[0] == 4


def test_recorded_epochs_count_the_elections(tmp_path: Path) -> None:
    begin = (header(1, 1, 2), metadata(1, 1, 2, epoch=5))
    assert explained(follow(tmp_path, *begin, metadata(2, 1, 2, epoch=6))) == 1
    assert explained(follow(tmp_path, *begin, metadata(1, 1, 2, epoch=7))) == 2
    assert rejected(follow(tmp_path, *begin, metadata(1, 1, 2, epoch=6)))[0] == 3
    assert rejected(follow(tmp_path, *begin, metadata(2, 2, 1, epoch=5)))[0] == 3
    # A broker that was asked and knows only of an earlier epoch says nothing of this moment.
    assert explained(follow(tmp_path, *begin, metadata(2, 1, 2, epoch=6), metadata(1, 1, epoch=5))) == 1


def test_an_epoch_without_leader_makes_metadata_of_earlier_epochs_outdated(tmp_path: Path) -> None:
    # Nobody runs; the controller drops broker 2, which takes an epoch, and then an old view is told.
    begin = (header(1, 1, 2), metadata(1, 1, 2, epoch=5), fault(KILL, 1), fault(KILL, 2), metadata(-1, 1, epoch=6))
    assert explained(follow(tmp_path, *begin)) == 3
    assert explained(follow(tmp_path, *begin, metadata(1, 1, 2, epoch=5))) == 3
    assert explained(follow(tmp_path, *begin, metadata(1, 1, 2, epoch=5), metadata(1, 1, epoch=6))) == 3
    assert rejected(follow(tmp_path, *begin, metadata(1, 1, 2, epoch=6)))[0] == 6


def test_an_epoch_has_one_leader_even_in_outdated_metadata(tmp_path: Path) -> None:
    begin = (header(1, 1, 2), metadata(1, 1, 2, epoch=5), metadata(2, 1, 2, epoch=6))
    assert explained(follow(tmp_path, *begin, metadata(1, 1, epoch=5))) == 1
    outcome = follow(tmp_path, *begin, metadata(2, 1, epoch=5))
    assert rejected(outcome)[0] == 4
    assert (
        "the leader of epoch 5 was broker 2: true in 0 of 14 states, instead: it was broker 1 by line 2 (14)"
        in flat(outcome)
    )


def test_unclean_elections_are_enabled_by_option_or_header(tmp_path: Path) -> None:
    lines = (fault(KILL, 1), metadata(1, 1), metadata(2, 2))
    assert rejected(follow(tmp_path, header(1, 1, 2), *lines))[0] == 4
    assert explained(follow(tmp_path, header(1, 1, 2, unclean=True), *lines)) == 2
    assert explained(follow(tmp_path, *lines, min_insync_replicas=1, unclean_elections=1)) == 2
    with pytest.raises(UsageError, match=r"min_insync_replicas=2 contradicts the header of the recording; leave it"):
        follow(tmp_path, header(1, 1, 2), *lines, min_insync_replicas=2)


def test_a_broker_does_not_halt_unrecorded(tmp_path: Path) -> None:
    """Up to 2.0 a broker that is out of range would halt; but a recording lists all deaths."""
    instance = registry.load("kafka")[0].instance("0.10")
    assert instance.configuration.OUT_OF_RANGE_HALTS
    # Broker 2 truncates what it holds, leads, and broker 1 has more than its leader.
    lines = (header(1, 1, 2), metadata(1, 1, 2), acked("x"), fault(KILL, 2), fault(START, 2), disk(2))
    lines = (*lines, metadata(2, 1, 2), metadata(1, 1, 2))
    assert explained(follow(tmp_path, *lines, protocol="0.10")) == 9
    nobody_leads = metadata(-1, 1, 2)
    assert rejected(follow(tmp_path, *lines, nobody_leads, protocol="0.10"))[0] == 9
    assert explained(follow(tmp_path, *lines, fault(KILL, 1), nobody_leads, protocol="0.10")) == 10


def test_resent_records_make_no_copy_and_keep_the_order(tmp_path: Path) -> None:
    copied = (header(2, 1, 2), metadata(1, 1, 2), SENT, sent("y"), disk(1, "x", "x"))
    # A log with a record twice shows that a request was sent again.
    assert explained(follow(tmp_path, *copied), is_idempotent=False) == 2
    # x is refused while the ISR is too small.
    overtaken = (header(2, 1, 2), metadata(1, 1), SENT, sent("y"), disk(1, "y", "x"))
    assert rejected(follow(tmp_path, *overtaken))[0] == 5
    assert explained(follow(tmp_path, *overtaken, retries=1), is_idempotent=False) == 4
    assert explained(follow(tmp_path, *overtaken[:4], disk(1, "y"))) == 2  # x reaches nobody


@pytest.mark.exhaustive
def test_the_logs_determine_the_position_of_an_unacknowledged_record(tmp_path: Path) -> None:
    begin = (header(1, 1), metadata(1, 1), acked("x", 0), acked("z", 2))
    outcome = follow(tmp_path, *begin, disk(1, "x", "y", "z"), disk(1, "x", "y", "z", "v", "w"))
    assert explained(outcome) == 5
    assert isinstance(outcome, Explained)
    assert outcome.recording.values == ("x", "y", "z", "v", "w")
    assert rejected(follow(tmp_path, *begin, disk(1, "x", "z", "y")))[0] == 4
    # The first of its copies counts.
    outcome = follow(tmp_path, *begin[:2], disk(1, "x", "y", "x"), retries=1)
    assert isinstance(outcome, Rejected)  # alone, the leader acknowledges at once, and nothing is sent again
    assert outcome.recording.values == ("x", "y")


def test_acks_comes_from_the_recording_or_the_option(tmp_path: Path) -> None:
    alone = (header(2, 1), metadata(1, 1), disk(1, "x"))
    outcome = follow(tmp_path, *alone, retries=0)
    assert rejected(outcome)[0] == 3
    assert "producers send the records of the recording with acks=all, in the order" in flat(outcome)
    assert explained(follow(tmp_path, *alone, retries=0, acks=1), is_idempotent=False) == 1
    said = {**acked("x"), "acks": "1"}
    assert explained(follow(tmp_path, *alone, said, retries=0), is_idempotent=False) == 1
    with pytest.raises(UsageError, match=r"acks cannot be set, because the recording determines it; leave it out"):
        follow(tmp_path, *alone, said, acks=1)


def test_a_record_is_not_sent_before_its_line(tmp_path: Path) -> None:
    begin = (header(1, 1), metadata(1, 1), acked("x", 0))
    assert explained(follow(tmp_path, *begin, disk(1, "x"), sent("y"), acked("y", 1))) == 2
    assert explained(follow(tmp_path, *begin, sent("y"), disk(1, "x", "y"))) == 2
    assert rejected(follow(tmp_path, *begin, acked("y", 2)))[0] == 4


def test_every_action_of_the_model_is_classified() -> None:
    named = {*FREE, *ELECTIONS, *SHUTDOWNS, *REASSIGNMENTS, *CANCELLATIONS, *NEVER, "broker_crashes", "broker_restarts"}
    assert named == {action.name for action in registry.load("kafka")[0].actions}


@pytest.mark.parametrize("protocol", ["2.8", "3.3", "3.5", "3.7", "4.1"])
def test_generations_with_alter_partition_are_followed(tmp_path: Path, protocol: str) -> None:
    """A follower freezes, and leaves the ISR; with the first KRaft controllers, the leader epoch rises."""
    begin = (header(1, 1, 2), metadata(1, 1, 2, epoch=0), acked("x", 0), fault(FREEZE, 2))
    rises = protocol in ("3.3", "3.5")
    shrunk = record(1, 1, epoch=int(rises), change=1)
    path = write(tmp_path / "seen.ndjson", *begin, shrunk, acked("y", 1))
    outcome = follow_recording(path, protocol)
    assert isinstance(outcome, Explained)
    certify(outcome.trace)
    actions = {step.action for step in outcome.trace.steps}
    new = {"controller_handles_alter_partition"} if protocol == "2.8" else {"controller_fences_broker"}
    assert new <= actions
    wrong = record(1, 1, epoch=int(not rises), change=1)
    assert isinstance(follow_recording(write(path, *begin, wrong, acked("y", 1)), protocol), Rejected)


def test_a_partition_epoch_counts_the_changes(tmp_path: Path) -> None:
    begin = (header(1, 1, 2), record(1, 1, 2, epoch=0), fault(KILL, 2))
    for partition_epoch, is_possible in ((1, True), (2, False)):
        line = record(1, 1, epoch=0, change=partition_epoch)
        outcome = follow_recording(write(tmp_path / "seen.ndjson", *begin, line), "3.7")
        assert isinstance(outcome, Explained if is_possible else Rejected)


@pytest.mark.parametrize("protocol", ["2.4", "3.7"])
def test_an_answered_high_watermark_is_in_memory(tmp_path: Path, protocol: str) -> None:
    begin = (header(1, 1, 2), metadata(1, 1, 2, epoch=0), acked("x", 0))
    for broker, value, is_possible in ((1, 1, True), (2, 1, True), (1, 0, False), (2, 2, False)):
        lines = (*begin, high_watermark(broker, value))
        outcome = follow_recording(write(tmp_path / "seen.ndjson", *lines), protocol)
        assert isinstance(outcome, Explained if is_possible else Rejected)
        if isinstance(outcome, Explained) and protocol == "2.4":
            explained(outcome)
    assert "broker 2 has the high watermark 2" in flat(outcome)


def test_a_leader_answers_the_fetch_that_a_follower_sent_before_it_froze(tmp_path: Path) -> None:
    """The follower has the record that was appended while it was frozen, but not the next one: its fetch was parked."""
    begin = (header(1, 1, 2), metadata(1, 1, 2), fault(FREEZE, 2), metadata(1, 1), acked("x", 0), acked("y", 1))
    for held, length in ((("x",), 5), (("x", "y"), 5)):
        outcome = follow(tmp_path, *begin, fault(THAW, 2), disk(2, *held))
        assert explained(outcome) == length


# ------------------------------------------------------------------------------------------------- limits and input


def test_reaching_a_limit_is_undecided(tmp_path: Path) -> None:
    small, short = follow_recording(LOSS, "2.1", memory=1 << 22), follow_recording(LOSS, "2.1", seconds=1e-9)
    for outcome, why in ((small, "memory"), (short, "seconds")):
        assert isinstance(outcome, Undecided)
        assert (outcome.exit_code, outcome.why) == (3, why)
        assert flat(outcome).startswith("UNDECIDED: the ")


def test_an_interrupted_search_reports_its_position(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(search: ObservationSearch) -> None:
        if search.depth == 8:
            raise KeyboardInterrupt

    monkeypatch.setattr(ObservationSearch, "look_at_clock", interrupt)
    outcome = follow_recording(LOSS, "0.10")
    assert isinstance(outcome, Undecided)
    assert outcome.exit_code == 130
    assert outcome.line.number == 5


def test_nothing_to_follow(tmp_path: Path) -> None:
    for lines in ((), (header(1, 1),), ({"kind": "note", "what": "hello"},), (fault(START, 1),)):
        outcome = follow_recording(write(tmp_path / "empty", *lines), "2.1")
        assert isinstance(outcome, NothingToFollow)
        assert outcome.exit_code == 21


GOOD = '{"n":0,"kind":"metadata","leader":1,"isr":[1,2]}'


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (
            [GOOD, '{"n":1,"kind":"ack'],
            "2: not JSON: Unterminated string starting at column 15; write one object per line",
        ),
        ([GOOD, ""], "2: the line is empty; remove it"),
        ([GOOD, "[1]"], "2: it is not a JSON object; write one object per line"),
        ([GOOD, '{"n":1,"n":2,"kind":"note"}'], '2: "n" occurs twice; write it once'),
        ([GOOD, '{"n":1,"t":NaN,"kind":"note"}'], "2: NaN is not a JSON number; write a number"),
        ([GOOD, '{"n":1,"kind":"acker","value":"x"}'], '2: unknown kind "acker"; there are: header, acked, '),
        ([GOOD, '{"n":1}'], "2: kind is missing; "),
        ([GOOD, '{"kind":"note"}'], "2: n is missing; "),
        ([GOOD, '{"n":true,"kind":"note"}'], "2: n is true; "),
        ([GOOD, '{"n":0,"kind":"note"}'], "2: n is 0 after 0; put the lines in the order of n"),
        ([GOOD, '{"n":1,"kind":"acked","value":3}'], "2: value is 3; it has to be the record"),
        ([GOOD, '{"n":1,"kind":"acked","value":"x","offset":-1}'], "2: offset is -1; it has to be an offset"),
        ([GOOD, '{"n":1,"kind":"acked","value":"x","ofset":1}'], "2: unknown key 'ofset'; lines of this kind have: "),
        ([GOOD, '{"n":1,"kind":"acked","value":"x","acks":2}'], "2: acks is 2; it has to be all, 1 or 0"),
        (
            [GOOD, '{"n":1,"kind":"acked","value":"x","acks":-1}', '{"n":2,"kind":"acked","value":"y","acks":1}'],
            "3: acks=1 after acks=all at line 2; ",
        ),
        ([GOOD, '{"n":1,"kind":"acked"}'], "2: value is missing; give it: the record"),
        ([GOOD, '{"n":1,"kind":"disk","broker":1,"log":[[1,"x"]]}'], "2: log has offset 1 at position 0; "),
        ([GOOD, '{"n":1,"kind":"disk","broker":1,"log":[["x",0]]}'], '2: log is [["x", 0]]; '),
        ([GOOD, '{"n":1,"kind":"disk","broker":"1","log":[]}'], '2: broker is "1"; '),
        (
            [GOOD, '{"n":1,"kind":"disk","broker":1,"log":[[0,"x"]],"batch_epochs":[]}'],
            "2: 0 batch_epochs do not fit 1 records; ",
        ),
        (
            [GOOD, '{"n":1,"kind":"disk","broker":1,"log":[],"leader_epoch_checkpoint":[[0,0]]}'],
            "1: leader_epoch is missing, but other lines have epochs; ",
        ),
        ([GOOD, '{"n":1,"kind":"metadata","isr":[1]}'], "2: leader is missing; "),
        ([GOOD, '{"n":1,"kind":"metadata","leader":1,"isr":1}'], "2: isr is 1; it has to be a list of brokers"),
        (
            [GOOD, '{"n":1,"kind":"fault","what":"explode","broker":1}'],
            '2: unknown fault "explode"; there are: kill -9',
        ),
        ([GOOD, '{"n":1,"kind":"fault","what":"freeze","broker":3}'], "2: broker 3 is unknown; "),
        ([GOOD, '{"n":1,"kind":"fault","what":"thaw","broker":1}'], "2: thaw: broker 1 runs from the start; "),
        (
            [GOOD, *(f'{{"n":{n},"kind":"fault","what":"kill -9","broker":1}}' for n in (1, 2))],
            "3: kill -9: broker 1 is killed since line 2; correct the line, or add the missing one",
        ),
        (
            [GOOD, '{"n":1,"kind":"acked","value":"x"}', '{"n":2,"kind":"fault","what":"send","value":"x"}'],
            "3: x is sent after it was observed at line 2; ",
        ),
        (['{"n":0,"kind":"acked","value":"x"}'], "1: no line names the brokers that hold the partition; "),
        ([GOOD, '{"kind":"header"}'], "2: a header after other lines; put one header first"),
    ],
)
def test_bad_input_is_one_line(tmp_path: Path, texts: list[str], message: str) -> None:
    path = tmp_path / "recording"
    path.write_text("\n".join(texts) + "\n")
    with pytest.raises(UsageError) as caught:
        follow_recording(path, "2.1")
    assert str(caught.value).startswith(f"{path}:{message}")
    assert "\n" not in str(caught.value)


def test_files_that_are_no_recordings(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="No such file or directory; give a log that can be read"):
        follow_recording(tmp_path / "nowhere", "2.1")
    (tmp_path / "binary").write_bytes(GOOD.encode() + b"\n\xff\xfe\n")
    with pytest.raises(UsageError, match=r"binary:2: byte 1 is not UTF-8; give a log"):
        follow_recording(tmp_path / "binary", "2.1")
    with pytest.raises(UsageError, match=r"replicas cannot be set, because the recording determines it; leave it out"):
        follow_recording(LOSS, "2.1", {"replicas": 3})
    with pytest.raises(UsageError, match=r"kafka has no protocol 9"):
        follow_recording(LOSS, "9")


def test_a_recording_with_a_cut_last_line_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "recording", header(1, 1), acked("x"))
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(UsageError, match=r"recording:2: the file ends in the middle of this line; get the rest"):
        follow_recording(path, "2.1")


def test_observations_are_distinguished_from_event_logs() -> None:
    assert is_observation(LOSS.read_bytes().splitlines()[0])
    assert is_observation(b'{"kind":"header"}')
    for text in ('{"schema":1,"kind":"header"}', '{"kind":"produce"}', '{"kind":["acked"]}', "[]", "no", ""):
        assert not is_observation(text.encode())


def test_values_become_records_and_brokers_replicas() -> None:
    recording = read_recording(FROZEN)
    assert recording.brokers == (1, 2, 3)
    assert recording.values == ("m0", "m1", "PRECIOUS", "after")
    instance = instance_for(size_of(recording), "2.1", {}, {})
    names = ("replicas", "records", "log_size", "elections", "crashes", "min_insync_replicas")
    assert [getattr(instance.configuration, name) for name in names] == [3, 4, 4, 4, 3, 2]
