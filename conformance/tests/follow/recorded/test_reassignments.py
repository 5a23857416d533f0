"""Reassignments in recordings: what an operator asks for, the controller takes between request and answer."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

from conformance.tests.support.follow import expect
from conformance.tests.support.observations import header, high_watermark, log_end, metadata, record, said, sent, write
from isrcheck.commands.exit_codes import VIOLATED as VIOLATION
from isrcheck.conformance.follow.format.ndjson import objects_of
from isrcheck.conformance.follow.online.follow import UndecidedOnline, follow_online
from isrcheck.conformance.follow.recorded.recording import read_recording
from isrcheck.conformance.follow.search.explain import Explained, Outcome, Rejected, Undecided, follow_recording
from isrcheck.conformance.follow.search.rules import DECIDES
from isrcheck.conformance.follow.search.script import CANCELLATIONS, REASSIGNMENTS
from isrcheck.models import registry
from isrcheck.models.language.model import Instance, Step
from isrcheck.models.messages import UsageError
from isrcheck.models.run import Cells, State, take
from isrcheck.traces.format.trace import VIOLATED

pytestmark = pytest.mark.sampled

Line = dict[str, Any]


BEGIN = "header 1: 1 2 all_requests; record 1: 1 2 epoch=0 change=0; "
GROWS = "reassign 1 2 3; answered 1 2 3; record 1: 1 2 epoch=0 change=1 replicas=1,2,3"
MOVES = "reassign 2 3; answered 2 3; record 1: 1 2 epoch=0 change=1 replicas=2,3,1"
JOINS = "requests 1: 1 2 3 epoch=0 change=1"

EXPLAINED = {
    "a replica is added": f"{GROWS}; {JOINS}; record 1: 1 2 3 epoch=0 change=2",
    "the leader is removed with the change of the ISR": f"{MOVES}; {JOINS};"
    " record 2: 2 3 epoch=1 change=2 replicas=2,3",
    "a follower is removed at once": "reassign 1; answered 1; record 1: 1 epoch=1 change=1 replicas=1",
    "the leader is removed at once": "reassign 2; answered 2; record 2: 2 epoch=1 change=1 replicas=2",
    "the request is answered late": "reassign 1; record 1: 1 epoch=1 change=1; answered 1",
    "no answer is recorded": "reassign 1; record 1: 1 epoch=1 change=1",
    "a reassignment is cancelled": f"{GROWS}; reassign; answered; record 1: 1 2 epoch=1 change=2 replicas=1,2",
    "one is cancelled that has added the leader": "reassign 1 2 3 4; answered 1 2 3 4;"
    " requests 1: 1 2 3 epoch=0 change=1; record 1: 1 2 3 epoch=0 change=2 replicas=1,2,3,4; elect preferred;"
    " record 3: 1 2 3 epoch=1 change=3; reassign; answered; record 2: 1 2 epoch=2 change=4 replicas=1,2",
    "one is refused": "reassign 1; refused 1; record 1: 1 2 epoch=0 change=0 replicas=1,2",
    "the second of two requests is taken first": "reassign 1 2 3; reassign 1; answered 1; answered 1 2 3;"
    " record 1: 1 epoch=1 change=2 replicas=1,2,3",
    "the replicas stay": "reassign 1 2; answered 1 2; record 1: 1 2 epoch=0 change=0 replicas=1,2",
}

REJECTED = {
    "no line requests it": GROWS.rpartition("; ")[2],
    "it is requested later": f"{GROWS.rpartition('; ')[2]}; reassign 1 2 3; answered 1 2 3",
    "it is refused": "reassign 1; refused 1; record 1: 1 epoch=1 change=1",
    "it is refused after its effect": "reassign 1; record 1: 1 epoch=1 change=1; refused 1",
    "it is taken again after its answer": "reassign 1; answered 1; reassign 1 2; answered 1 2;"
    " record 1: 1 epoch=1 change=2 replicas=1,2; record 1: 1 epoch=2 change=3 replicas=1",
    "it is taken only after its answer": "reassign 1; answered 1; record 1: 1 2 epoch=0 change=0;"
    " record 1: 1 epoch=1 change=1",
    "the removed broker leads": f"{MOVES}; {JOINS}; record 1: 1 2 epoch=1 change=2",
    "the removed broker is a replica": f"{MOVES}; {JOINS}; record 2: 2 3 epoch=1 change=2 replicas=1,2,3",
    "it is complete without the new replica": f"{MOVES}; record 2: 2 epoch=1 change=2 replicas=2,3",
    "a removed replica has its log": "disk 1: a; reassign 1; answered 1; record 1: 1 epoch=1 change=1; disk 2: a;"
    " applied 2 1; disk 2: a",
    "nothing is cancelled": f"{GROWS}; reassign; answered; record 1: 1 2 epoch=0 change=1",
    "another request is answered": "reassign 1; answered 2; record 1: 1 2 epoch=0 change=0;"
    " record 2: 2 epoch=1 change=1",
}


def followed(folder: Path, text: str, protocol: str = "4.1") -> Outcome:
    return follow_recording(write(folder / "seen.ndjson", *said(BEGIN + text)), protocol)


@pytest.mark.whole
@pytest.mark.parametrize("case", EXPLAINED)
def test_what_an_operator_requests_is_explained(tmp_path: Path, case: str) -> None:
    outcome = expect(Explained, followed(tmp_path, EXPLAINED[case]))
    assert outcome.passed[-1] == len(outcome.recording.lines) == len(said(EXPLAINED[case])) + 1


@pytest.mark.whole
@pytest.mark.parametrize("case", REJECTED)
def test_what_contradicts_a_reassignment_is_rejected(tmp_path: Path, case: str) -> None:
    assert isinstance(followed(tmp_path, REJECTED[case]), Rejected)


def test_replicas_that_no_line_requests_are_rejected_without_partition_epochs(tmp_path: Path) -> None:
    lines = [metadata(1, 1, 2, epoch=0), metadata(1, 1, 2, epoch=0) | {"replicas": [1, 2, 3]}]
    assert isinstance(follow_recording(write(tmp_path / "seen.ndjson", *said(BEGIN), *lines), "4.1"), Rejected)


LOST = (
    "header 2: 1 2 all_requests; record 1: 1 2 epoch=0 change=0; disk 2: a; acked a 0; reassign 1; answered 1;"
    " record 1: 1 epoch=1 change=1 replicas=1; disk 2:; reassign 1 2; answered 1 2;"
    " record 1: 1 epoch=1 change=2 replicas=1,2; freeze 1; record 2: 2 epoch=2 change=3 replicas=1,2"
)
"""8.27: replica 2 is removed, deletes its log, stays in the ELR, comes back empty, and is elected while 1 is frozen.
Another partition of the topic has two replicas."""


def test_a_loss_by_a_reassignment_is_reported(tmp_path: Path) -> None:
    path = write(tmp_path / "seen.ndjson", *said(LOST))
    outcome = expect(Explained, follow_recording(path, "4.3", {"replicas_of_partition_0": 2}))
    assert (outcome.exit_code, outcome.fail_all) == (VIOLATION, True)
    assert [failure.verdict for failure in outcome.failures if failure.name == "acked_not_lost"] == [VIOLATED]
    repaired = expect(Rejected, follow_recording(path, "4.3", {"replicas_of_partition_0": 2, "ELR_WITHIN_REPLICAS": 1}))
    assert repaired.line.number == len(said(LOST))


BEYOND = {
    "the leader has restarted before it was fenced": "kill 1; start 1; reassign 1; answered 1;"
    " record 2: 1 epoch=1 change=1 replicas=1",
    "so has the only member of the ISR that stays": "kill 2; start 2; reassign 2; answered 2;"
    " record -1: 2 epoch=1 change=1 replicas=2",
}
NOT_MODELLED = (
    "a reassignment while the leader is not active, or after which no active member of the ISR stays, is not modelled"
)


@pytest.mark.parametrize("case", BEYOND)
def test_what_the_model_leaves_out_is_not_rejected(tmp_path: Path, case: str) -> None:
    """Since 4.0, a broker restarts only after it was fenced, and has left the ISR then."""
    outcome = expect(Undecided, followed(tmp_path, BEYOND[case], "3.7"))
    assert (outcome.why, outcome.exit_code) == (NOT_MODELLED, 3)
    assert isinstance(followed(tmp_path, BEYOND[case]), Rejected)


@pytest.mark.parametrize("protocol", ["2.1", "2.8"])
def test_without_kraft_it_is_not_modelled(tmp_path: Path, protocol: str) -> None:
    outcome = expect(Undecided, followed(tmp_path, EXPLAINED["a follower is removed at once"], protocol))
    why = f"a reassignment of replicas by the rules of {protocol} (line 3) is not modelled"
    assert (outcome.why, outcome.line and outcome.line.number, outcome.exit_code) == (why, 5, 3)


def test_what_comes_before_it_is_judged_without_kraft(tmp_path: Path) -> None:
    outcome = expect(Rejected, followed(tmp_path, f"record 2: 1 2 epoch=0 change=0; {GROWS}", "2.8"))
    assert outcome.line.number == 3


def test_online_it_is_not_modelled(tmp_path: Path) -> None:
    path = write(tmp_path / "seen.ndjson", *said(BEGIN + EXPLAINED["the leader is removed at once"]))
    outcome = expect(UndecidedOnline, follow_online(path, lambda: objects_of(path), "4.1"))
    assert outcome.why == "a reassignment of replicas (line 3) is not modelled"


def test_replicas_at_the_beginning_come_first(tmp_path: Path) -> None:
    """By the header, or by the first metadata; the leader at the beginning is one of them."""
    by_metadata = [{"kind": "header", "all_requests": True}, *said("record 3: 3 epoch=4 change=0 replicas=3")]
    for first in (by_metadata, said("header 1: 3 all_requests; record 3: 3 epoch=4 change=0")):
        lines = said("reassign 1 3; answered 1 3; record 3: 3 epoch=4 change=1 replicas=1,3")
        path = write(tmp_path / "seen.ndjson", *first, *lines)
        recording = read_recording(path)
        assert (recording.brokers, recording.first_replicas) == ((3, 1), 1)
        assert isinstance(follow_recording(path, "4.3"), Explained)


def test_a_member_of_the_isr_is_a_replica_at_the_beginning(tmp_path: Path) -> None:
    text = "header 1: 1 2 all_requests; record 1: 1 2 3 epoch=0 change=0; reassign 1 2 3"
    assert isinstance(follow_recording(write(tmp_path / "seen.ndjson", *said(text)), "4.1"), Rejected)


REASSIGN, REASSIGNED = {"kind": "fault", "what": "reassign"}, {"kind": "reassigned", "replicas": [1]}


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        (REASSIGN, "replicas is missing; give it: the requested replicas, or null"),
        (REASSIGN | {"replicas": []}, "replicas is []; name at least one broker, and each once"),
        (REASSIGNED | {"replicas": [1, 1]}, "replicas is [1, 1]; name at least one broker, and each once"),
        (REASSIGNED | {"replicas": "1"}, 'replicas is "1"; it has to be a list of brokers, or null'),
        (REASSIGNED | {"refused": "no"}, 'refused is "no"; it has to be true or false'),
        (REASSIGNED | {"broker": 1}, "unknown key 'broker'; lines of this kind have: replicas, refused"),
    ],
)
def test_a_bad_line_is_refused(tmp_path: Path, line: Line, complaint: str) -> None:
    path = write(tmp_path / "seen.ndjson", *said(BEGIN), line)
    with pytest.raises(UsageError) as error:
        follow_recording(path, "4.1")
    assert str(error.value).startswith(f"{path}:3: {complaint}")


def test_the_replicas_before_a_reassignment_have_to_be_known(tmp_path: Path) -> None:
    path = write(tmp_path / "seen.ndjson", *said("record 1: 1 2 epoch=0 change=0; reassign 1"))
    complaint = "2: no earlier line shows the replicas that are reassigned; give replicas in the header"
    with pytest.raises(UsageError, match=complaint):
        follow_recording(path, "4.1")


# ------------------------------------------------------------------------------------------------------- random runs

ROOM = {"replicas": 3, "records": 1, "log_size": 1, "elections": 3, "partition_changes": 6, "reassignments": 3}
REQUESTS = ("controller_begins", "controller_reassigns", "controller_cancels")
RARE = (*REQUESTS, "controller", "broker_applies", "leader_handles_fetch", "follower_applies")
"""Steps of these actions are preferred."""


def run_of(chance: random.Random, protocol: str) -> tuple[list[Line], list[str]]:
    """Observations of a random run with reassignments, and the actions of its steps."""
    bounds = ROOM | {"start_assignment": chance.choice((1, 3, 7)), "crashes": 0, "min_insync_replicas": 1}
    instance = registry.load("kafka")[0].instance(protocol, bounds)
    cells = chance.choice(instance.initial_states)
    s = State(instance, cells)
    lines = [header(1, *(r for r in range(3) if s.is_assigned[r])), record_of(instance, cells)]
    steps = [step for step in instance.steps if not step.action.startswith(("controller_elects", *NEVER_TAKEN))]
    taken = []
    for _ in range(chance.randrange(10, 30)):
        enabled = [(step, after) for step in steps if (after := take(instance, cells, step)) is not None]
        if not enabled:
            break
        rare = [one for one in enabled if one[0].action.startswith(RARE)]
        step, cells = chance.choice(rare if rare and chance.random() < 0.7 else enabled)
        lines += observed(chance, instance, cells, step)
        taken.append(step.action)
    return [*lines, record_of(instance, cells)], taken


NEVER_TAKEN = ("controller_fences", "last_leader", "broker_asks", "leader_asks", "broker_shuts", "producer_is_refused")


def observed(chance: random.Random, instance: Instance, cells: Cells, step: Step) -> list[Line]:
    s = State(instance, cells)
    found = []
    if step.action == "producer_appends":
        found.append(sent("a", acks="all"))
    if step.action.startswith(REQUESTS):
        is_cancelled = step.action.startswith("controller_cancels")
        target = () if is_cancelled else tuple(r for r in range(3) if step.ordinals[0] >> r & 1)
        found += said("; ".join(f"{word} {' '.join(map(str, target))}" for word in ("reassign", "answered")))
    if chance.random() < 0.2:
        found.append(record_of(instance, cells))
    for r in range(3):
        if chance.random() < 0.1:
            found.append(log_end(r, s.log_end_offset[r]))
        if chance.random() < 0.1:
            found.append(high_watermark(r, s.high_watermark[r]))
    return found


def record_of(instance: Instance, cells: Cells) -> Line:
    s = State(instance, cells)
    isr, replicas = ([r for r in range(3) if field[r]] for field in (s.controller_isr, s.is_assigned))
    epochs = {"epoch": s.controller_epoch, "change": s.controller_partition_epoch}
    return record(max(s.controller_leader, -1), *isr, **epochs, replicas=replicas)


RUNS = [(protocol, seed) for protocol in ("3.7", "4.1", "4.3") for seed in range(3)]


def random_of(protocol: str, seed: int) -> random.Random:
    return random.Random(f"{protocol} {seed}")


@pytest.mark.whole
@pytest.mark.exhaustive
@pytest.mark.parametrize(("protocol", "seed"), RUNS)
def test_a_run_of_the_model_is_explained(tmp_path: Path, protocol: str, seed: int) -> None:
    lines, taken = run_of(random_of(protocol, seed), protocol)
    outcome = expect(Explained, follow_recording(write(tmp_path / "seen.ndjson", *lines), protocol, seconds=60))
    assert outcome.trace.length <= len(taken)


def test_these_runs_take_the_steps_of_reassignments() -> None:
    """One is left out: a leader that a cancelled reassignment has added is replaced (above)."""
    taken = {action for protocol, seed in RUNS for action in run_of(random_of(protocol, seed), protocol)[1]}
    assert {*REASSIGNMENTS, *CANCELLATIONS, DECIDES[1]} - taken == {CANCELLATIONS[1]}
