"""The first pass over a wire recording: its topic without Metadata, its end, elections that nobody asked for, notes."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from conformance.tests.support.follow import produce
from conformance.tests.support.places import RECORDINGS
from isrcheck.conformance.follow.recorded.faults import FaultKind, fault_in, may_be_fault
from isrcheck.conformance.follow.search.explain import Explained, follow_recording
from isrcheck.conformance.follow.wire.convert import observations_of, wire_observations
from isrcheck.conformance.follow.wire.messages import Happening, Message
from isrcheck.conformance.follow.wire.survey import Assignments, Elections, Ending
from isrcheck.models.messages import UsageError

STEADY = RECORDINGS / "wire" / "steady"
LATER = RECORDINGS / "kafka-4.5" / "leader_killed"


# ------------------------------------------------------------------------------------------------------------ the end


def heartbeat(number: int, broker: int, *, stops: bool = False) -> Message:
    body = {"broker_id": broker, "want_shut_down": stops}
    return Message(number, number, number, True, False, str(broker), None, "BrokerHeartbeat", number, body)


def message(number: int, api: str, **body: Any) -> Message:
    return Message(number, number, number, True, False, "x", 1, api, number, body)


def fault(number: int, what: str, broker: int | None = None) -> Happening:
    return Happening(number, number, number, what, {} if broker is None else {"broker": broker})


STOP_1, STOP_2 = heartbeat(5, 1, stops=True), heartbeat(6, 2, stops=True)


@pytest.mark.parametrize(
    ("lines", "end"),
    [
        ([], None),
        ([STOP_1, STOP_2], 5),
        ([STOP_1, heartbeat(6, 2), heartbeat(7, 2, stops=True)], 5),
        ([STOP_1, heartbeat(6, 2)], None),
        ([STOP_1, heartbeat(6, 2), heartbeat(7, 2), heartbeat(8, 2, stops=True)], 8),
        ([STOP_1, STOP_2, message(7, "Produce")], None),
        ([STOP_1, message(7, "Produce"), heartbeat(8, 1, stops=True), heartbeat(9, 2, stops=True)], 9),
        ([STOP_1, STOP_2, message(7, "BrokerRegistration", broker_id=1)], None),
        ([STOP_1, STOP_2, message(7, "BrokerRegistration", broker_id=1), heartbeat(8, 1, stops=True)], 8),
        ([STOP_1, STOP_2, message(7, "Metadata")], 5),
        ([STOP_1, STOP_2, fault(7, "start", 1)], None),
        ([STOP_1, STOP_2, fault(7, "kill -9", 3)], None),
        ([STOP_1, STOP_2, fault(7, "thaw", 3)], None),
        ([STOP_1, STOP_2, fault(7, "acked")], None),
        ([STOP_1, STOP_2, fault(7, "client_read")], None),
        ([STOP_1, STOP_2, fault(7, "refused", 1)], 5),
        ([fault(4, "stop (controlled shutdown)", 1), STOP_1], None),
        ([fault(4, "stop (controlled shutdown)", 1), STOP_1, STOP_2], 6),
        ([fault(4, "end"), STOP_1], 4),
    ],
)
def test_the_end_is_the_first_shutdown_after_which_nothing_goes_on(
    lines: Sequence[Message | Happening], end: int | None
) -> None:
    ending = Ending()
    for line in lines:
        if isinstance(line, Message):
            ending.see(line)
        else:
            ending.hear(line)
    assert ending.at == end


# ---------------------------------------------------------------------------------------------------------- elections


@pytest.mark.parametrize(
    ("departures", "rebalanced"),
    [([], {1}), ([(15, 2)], {1}), ([(25, 1)], {1}), ([(25, 2)], set()), ([(25, None)], set()), ([(35, 2)], {1})],
)
def test_an_election_of_the_preferred_leader_that_nobody_asked_for(
    departures: list[tuple[int, int | None]], rebalanced: set[int]
) -> None:
    """1 leads epoch 0, 2 leads epoch 1 from line 20 on, and 1, the preferred one, leads epoch 2 from line 30 on."""
    elections = elections_of((10, 1, 0), (20, 2, 1), (21, 2, 1), (30, 1, 2))
    elections.judge(departures, lambda number: 1)
    assert elections.rebalanced_after == rebalanced


def elections_of(*leaders: tuple[int, int, int]) -> Elections:
    """Leaders that lines show: line, leader, epoch."""
    elections = Elections()
    for leader in leaders:
        elections.lead(*leader)
    return elections


@pytest.mark.parametrize(
    ("replicas", "rebalanced"),
    [
        ([(1, (1, 2, 3), 0)], set()),
        ([(1, (1, 2, 3), 0), (15, (2, 1, 3), 0)], {0}),  # the last replicas before the election count
    ],
)
def test_an_election_of_another_leader_is_no_rebalance(replicas: Any, rebalanced: set[int]) -> None:
    elections = elections_of((10, 1, 0), (20, 2, 1))
    elections.judge([], assignments_of(replicas).preferred_before)
    assert elections.rebalanced_after == rebalanced


# ------------------------------------------------------------------------------------------------------ reassignments


def assignments_of(
    shown: Sequence[tuple[int, tuple[int, ...], int]] = (), asked: Sequence[tuple[int, tuple[int, ...] | None]] = ()
) -> Assignments:
    """What is known after these lines: replicas with a leader epoch, and requests."""
    found = Assignments()
    for number, replicas, epoch in shown:
        found.show(number, replicas, epoch)
    for number, target in asked:
        found.ask(number, target)
    return found


MOVED = [(1, (1, 2), 0), (10, (2, 3, 1), 0), (20, (2, 3), 1)]
"""From 1 and 2 to 2 and 3."""


def test_a_request_explains_both_changes_of_the_replicas() -> None:
    found = assignments_of(MOVED, [(5, (2, 3))])
    assert (found.first, found.is_reassigned) == ((1, 2), True)
    assert (found.unasked(), list(found.reordered())) == ({}, [])


def test_what_no_request_explains_may_have_been_asked_for_since_the_replicas_before() -> None:
    assert assignments_of(MOVED).unasked() == {1: [(2, 3, 1), (2, 3)], 10: [(2, 3), None]}
    assert assignments_of(MOVED, [(5, (2, 3)), (6, (4,))]).unasked() == {1: [(2, 3, 1), (2, 3)], 10: [(2, 3), None]}
    assert assignments_of(MOVED, [(15, None)]).unasked() == {1: [(2, 3, 1), (2, 3)]}


def test_replicas_before_the_first_request_are_those_at_the_beginning() -> None:
    assert assignments_of(MOVED, [(0, (2, 3))]).first == ()
    assert assignments_of().first == ()


def test_a_broker_that_lags_behind_shows_no_news() -> None:
    late = [(11, (1, 2), 0), (12, (2, 3, 1), 0), (21, (2, 3, 1), 0), (22, (), 2)]
    assert assignments_of([*MOVED, *late]).shown == assignments_of(MOVED).shown
    assert not assignments_of([*MOVED[:1], *late[:1]]).is_reassigned


def test_a_change_of_the_order_alone_is_found() -> None:
    assert list(assignments_of(MOVED[:1], [(5, (2, 1))]).reordered()) == [5]
    assert list(assignments_of(MOVED[:1], [(5, (1, 2))]).reordered()) == []
    assert list(assignments_of([*MOVED[:1], (7, (2, 1), 0)]).reordered()) == [7]
    assert list(assignments_of([*MOVED[:1], (7, (2, 1), 0)], [(5, None)]).reordered()) == []


def test_the_metadata_log_shows_replicas_in_order() -> None:
    found = assignments_of(MOVED[:1])
    for number, offset, replicas in ((5, 30, (2, 3, 1)), (6, 30, (2, 3, 1)), (7, 29, (1, 2)), (8, 31, (2, 3))):
        found.log(number, offset, replicas)
    found.show(9, (1, 2, 3), 5)
    assert found.shown == [(1, (1, 2)), (5, (2, 3, 1)), (8, (2, 3))]


# -------------------------------------------------------------------------------------------------------------- notes


NOTES = {
    FaultKind.KILL: ("kill -9 broker 1", "kill broker 1", "SIGKILL broker 1"),
    FaultKind.FREEZE: ("freeze broker 1", "SIGSTOP broker 1"),
    FaultKind.THAW: ("thaw broker 1", "SIGCONT broker 1"),
    FaultKind.START: (" Start broker 1 ",),
    FaultKind.STOP: ("stop broker 1", "SIGTERM broker 1 (controlled shutdown)"),
}
PERHAPS = ("kill -9 broker one", "stopped 1 and 2", "pulled the cable of 3", "kill -9 broker 1 and broker 2")
NO_FAULT = ("send PRECIOUS", "reassign t-0 to [1, 2]", "")


@pytest.mark.parametrize(("kind", "text"), [(kind, text) for kind, texts in NOTES.items() for text in texts])
def test_a_note_that_names_a_fault_is_one(kind: FaultKind, text: str) -> None:
    assert (fault_in(text), may_be_fault(text)) == ((kind, 1), False)


@pytest.mark.parametrize("text", [*PERHAPS, *NO_FAULT])
def test_another_note_is_no_fault_but_may_be_about_one(text: str) -> None:
    assert (fault_in(text), may_be_fault(text)) == (None, text in PERHAPS)


# ---------------------------------------------------------------------------------------------------- without Metadata


def stripped(folder: Path, to: Path, *, by_id: bool = False) -> Path:
    """A recording without Metadata; with producers of 4.1 and later, whose requests name the topic by its id."""
    copy = Path(shutil.copytree(folder, to / "copy"))
    lines = []
    for line in (copy / "wire.ndjson").read_text().splitlines():
        said = json.loads(line)
        if said.get("api") in ("Metadata", "CreateTopics"):
            continue
        if by_id and said.get("api") == "Produce":
            for topic in [*said["body"].get("topic_data", ()), *said["body"].get("responses", ())]:
                del topic["name"]
                topic["topic_id"] = "d9d69398-623f-42b4-83c2-967be2d80e3c"
        lines.append(json.dumps(said))
    (copy / "wire.ndjson").write_text("".join(f"{line}\n" for line in lines))
    return copy / "wire.ndjson"


@pytest.mark.sampled
@pytest.mark.parametrize(("folder", "protocol", "length"), [(STEADY, "3.7", 52), (LATER, "4.1", 75)])
def test_a_recording_without_metadata_is_followed(tmp_path: Path, folder: Path, protocol: str, length: int) -> None:
    """C1: the topic is that to which records are written; its id is that of the fetches with the same records."""
    path = stripped(folder, tmp_path)
    outcome = follow_recording(path, protocol, objects=wire_observations(path))
    assert isinstance(outcome, Explained)
    assert (outcome.recording.brokers, outcome.trace.length, outcome.failures) == ((1, 2, 3), length, ())


def fetch(n: int, topic: str, *values: str) -> list[dict[str, Any]]:
    """A follower's fetch and its answer."""
    asked = {"topic_id": topic, "partitions": [{"partition_index": 0, "fetch_offset": 0}]}
    records = [{"offset": offset, "value": value} for offset, value in enumerate(values)]
    part = {"partition_index": 0, "error_code": "none", "high_watermark": 0}
    part["records"] = [{"base_offset": 0, "leader_epoch": 0, "control": False, "records": records}] if records else []
    body = {"responses": [{"topic_id": topic, "partitions": [part]}]}
    line = {"t": 0, "client": "broker-2-fetcher-0", "broker": 1, "api": "Fetch", "correlation": n}
    return [
        {"n": n, "kind": "request", **line, "body": {"replica_id": 2, "session_id": 0, "topics": [asked]}},
        {"n": n + 1, "kind": "response", **line, "body": body},
    ]


def written(to: Path, *lines: dict[str, Any]) -> Path:
    path = to / "wire.ndjson"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def test_the_id_of_a_topic_is_found_by_its_records(tmp_path: Path) -> None:
    other, mine = fetch(2, "o", "y"), fetch(4, "m", "x")
    found = [said for _, said in observations_of(written(tmp_path, produce(0, "x", name="t"), *other, *mine))]
    assert found[0]["replicas"] == [1, 2]
    assert [said["broker"] for said in found if said["kind"] == "high_watermark"] == [1]
    with pytest.raises(UsageError, match="the topic that is written to has one of the ids o, m, but no message"):
        list(observations_of(written(tmp_path, produce(0, "z", name="t"), *other, *mine)))


def test_a_topic_that_has_only_an_id_is_followed_with_its_folder(tmp_path: Path) -> None:
    """Produce has no names since version 13; `partition.metadata` has the id in another spelling."""
    topic = "d9d69398-623f-42b4-83c2-967be2d80e3c"
    folder = tmp_path / "broker1" / "t-0"
    shutil.copytree(STEADY / "broker1" / "t-0", folder)
    (folder / "partition.metadata").write_text("version: 0\ntopic_id: 2daTmGI_QrSDwpZ74tgOPA")
    path = written(tmp_path, produce(0, "m0", topic_id=topic), *fetch(2, topic))
    found = [said for _, said in observations_of(path)]
    assert [len(said["log"]) for said in found if said.get("from") == "broker1"] == [12]


def test_without_producers_the_partition_that_followers_fetch_is_followed(tmp_path: Path) -> None:
    found = [said for _, said in observations_of(written(tmp_path, *fetch(2, "m", "x")))]
    assert found[0] == {"kind": "header", "all_requests": True, "replicas": [1, 2]}


# ------------------------------------------------------------------------------------------------- what is not used


def test_what_gives_no_observation_is_counted(tmp_path: Path) -> None:
    line = {"t": 0, "kind": "response", "client": "p", "broker": 1}
    acked = [{"name": "t", "partition_responses": [{"index": 0, "error_code": "none", "base_offset": 7}]}]
    cut_off = {"api": None, "correlation": None, "body": None, "undecoded": "the connection ends after 69 of 143 bytes"}
    lines = [
        produce(0, "x", name="t"),
        *fetch(2, "m", "x"),
        {"n": 5, **line, **cut_off},
        {"n": 6, **line, "api": "Produce", "correlation": 99, "body": {"responses": acked}},
        {"n": 7, **line, "api": "Heartbeat", "correlation": 3, "body": {}},
        {"n": 8, "t": 0, "kind": "fault", "what": "note", "text": "so far so good"},
    ]
    said = list(observations_of(written(tmp_path, *lines)))[-1][1]
    assert said["unused"] == (
        "1 acknowledgement of a request that is not in the recording; 1 message not decoded (1 of unknown kind);"
        " 1 note about no fault; 1 message about neither logs nor leaders nor ISR"
    )
