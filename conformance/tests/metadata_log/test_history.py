"""The history that records of the metadata log tell, and what else is known of the same runs of a real Kafka."""

from __future__ import annotations

import base64
import json
import uuid

import pytest

from conformance.tests.metadata_log.building import (
    REAL,
    Kept,
    change,
    folder,
    message,
    metadata,
    partition,
    records,
    snapshot,
    text,
    topic,
    topic_id,
)
from conformance.tests.support.places import SHARED
from isrcheck.commands.exit_codes import DIVERGED, DONE, USAGE
from isrcheck.conformance.follow.wire.convert import observations_of

NAMES = sorted(path.name for path in REAL.iterdir())
ELIGIBLE = SHARED / "data" / "kafka-4.5-dev-elr"
TOPIC, FIRST = topic("t"), partition("t", 0, 1, 2, 3)
UNCLEAN = [
    (31, 1, 0, 0, [1, 2, 3], []),
    (53, 1, 0, 1, [1, 2], []),
    (73, 1, 0, 2, [1], []),
    (96, -1, 1, 3, [], [1]),
    (139, 2, 2, 4, [2], []),
    (142, 2, 2, 5, [2, 3], []),
    (163, 2, 2, 6, [1, 2, 3], []),
    (171, 1, 3, 7, [1, 3], []),
    (174, 1, 3, 8, [1], []),
    (178, -1, 4, 9, [], [1]),
]
"""The states of the recording `unclean`: offset, leader, leader epoch, partition epoch, ISR, ELR."""


def history(capsys, tmp_path, *values, **more):
    """The told history of these values of records."""
    return metadata(capsys, folder(tmp_path, records(*values, **more)), "--json")


def test_an_unclean_election_of_a_real_kafka(capsys):
    told = metadata(capsys, REAL / "unclean", "--topic", "t", "--json")
    assert (told.code, told.errors, told.states) == (DONE, "", UNCLEAN)
    states = told.json["partitions"][0]["states"]
    assert [state["offset"] for state in states if state["is_unclean"]] == [139]
    assert [state["last_known_elr"] for state in states[2:6]] == [[], [1], [], []]
    assert [state["is_recovering"] for state in states[3:6]] == [False, True, False]


def seen_in(name, topic):
    """What the messages of a recording show of t-0: the controller's answers to AlterPartition, with partition epochs,
    and the brokers' answers to Metadata requests. Each as leader, leader epoch, ISR, and partition epoch or None."""
    for line in (REAL / name / "wire.ndjson").read_text().splitlines():
        keys = json.loads(line)
        body = keys.get("body")
        if keys["kind"] != "response" or not isinstance(body, dict):
            continue
        for one in body.get("topics", ()):
            for part in one.get("partitions", ()):
                if one.get("topic_id", topic) != topic:
                    continue
                if keys["api"] == "AlterPartition" and part["error_code"] == "none":
                    yield part["leader_id"], part["leader_epoch"], set(part["isr"]), part["partition_epoch"]
                elif keys["api"] == "Metadata" and one["name"] == "t":
                    yield part["leader_id"], part["leader_epoch"], set(part["isr_nodes"]), None


@pytest.mark.parametrize("name", NAMES)
def test_the_history_has_every_state_that_messages_show(capsys, name):
    told = metadata(capsys, REAL / name, "--topic", "t", "--json")
    had = [(leader, epoch, set(isr), change) for _, leader, epoch, change, isr, _ in told.states]
    topic = base64.urlsafe_b64decode(told.json["partitions"][0]["topic_id"] + "==")
    views = list(seen_in(name, str(uuid.UUID(bytes=topic))))
    assert len(views) > 10
    for view in views:
        assert view in had or (view[3] is None and view[:3] in [state[:3] for state in had]), view


@pytest.mark.parametrize("name", NAMES)
def test_the_history_has_every_metadata_line_of_the_recording(capsys, name):
    """The lines that `conform follow` makes of the messages, without the metadata log, have only such states."""
    had = metadata(capsys, REAL / name, "--topic", "t", "--json").states
    lines = [line for _, line in observations_of(REAL / name / "wire.ndjson") if line["kind"] == "metadata"]
    assert len(lines) > 2
    for line in lines:
        seen = line["leader"], line["leader_epoch"], set(line["isr"])
        assert seen in [(leader, epoch, set(isr)) for _, leader, epoch, _, isr, _ in had]
        if line.get("partition_epoch") is not None:
            assert (*seen, line["partition_epoch"]) in [
                (leader, epoch, set(isr), number) for _, leader, epoch, number, isr, _ in had
            ]


def test_the_metadata_log_and_the_log_of_the_controller_agree(capsys):
    told = metadata(capsys, REAL / "stale_record", "--topic", "t", "--json")
    assert (told.code, told.json["contradictions"], told.json["verdict"]) == (DONE, [], "READ")
    lines = [[place.rpartition(":")[2] for place in state["seen_in"]] for state in told.json["partitions"][0]["states"]]
    assert lines == [["1"], ["1", "2"], ["2", "3"], ["3", "4"], ["4", "5"], ["5", "6"], ["6", "7"], ["7"]]


@pytest.mark.parametrize("name", ["8.25/sr1", "8.25/src", "8.24/md2", "8.24/md6", "8.24/mdc"])
def test_they_agree_in_the_runs_beside_the_project(capsys, name):
    if not ELIGIBLE.is_dir():
        pytest.skip("the runs with eligible leader replicas lie beside the project, in shared/data/kafka-4.5-dev-elr")
    told = metadata(capsys, ELIGIBLE / name, ELIGIBLE / f"{name}.controller.log", "--topic", "t", "--json")
    states = told.json["partitions"][0]["states"]
    assert (told.code, told.json["contradictions"]) == (DONE, [])
    assert all(state["seen_in"] and state["offset"] is not None for state in states)


def test_a_leader_epoch_grows_with_every_leader_that_is_named(capsys, tmp_path):
    told = history(capsys, tmp_path, TOPIC, FIRST, change("t", 0, leader=1), change("t", 0, isr=(1, 2)))
    assert told.states == [
        (1, 1, 0, 0, [1, 2, 3], []),
        (2, 1, 1, 1, [1, 2, 3], []),
        (3, 1, 1, 2, [1, 2], []),
    ]


def test_an_elr_is_cleared_only_where_there_is_one(capsys, tmp_path):
    parts = [FIRST, partition("t", 1, 2, 3), topic("u"), partition("u", 0, 1)]
    changes = [change("t", 0, isr=(), elr=(1,), leader=-1, last_known_elr=(1,)), change("u", 0, elr=(1,))]
    told = history(capsys, tmp_path, TOPIC, *parts, *changes, message(28, 0, text("t")), message(28, 0, text("")))
    found = {
        (part["topic"], part["partition"]): [
            (one["offset"], one["what"], one["partition_epoch"]) for one in part["states"]
        ]
        for part in told.json["partitions"]
    }
    assert found == {
        ("t", 0): [(1, "created", 0), (5, "changed", 1), (7, "ELR cleared", 2)],
        ("t", 1): [(2, "created", 0)],
        ("u", 0): [(4, "created", 0), (6, "changed", 1), (8, "ELR cleared", 2)],
    }


@pytest.mark.parametrize(
    ("end", "leaders", "remarks"),
    [
        (message(24, 0, b""), [1, 2], []),
        (message(25, 0, b""), [1], ["the transaction that ends at offset 4 was aborted: its records do not count"]),
        (
            message(20, 0, b""),
            [1],
            ["the files end within a transaction of the metadata log: its 2 records do not count"],
        ),
    ],
)
def test_the_records_of_a_transaction_count_together(capsys, tmp_path, end, leaders, remarks):
    told = history(capsys, tmp_path, TOPIC, FIRST, message(23, 0, b""), change("t", 0, leader=2), end)
    assert ([state[1] for state in told.states], told.json["remarks"]) == (leaders, remarks)


def test_a_topic_that_is_made_again_is_another_topic(capsys, tmp_path):
    again = message(2, 0, text("t") + topic_id("t2"))
    removed = message(9, 0, topic_id("t"))
    part = partition("t2", 0, 2, 1)
    told = history(capsys, tmp_path, TOPIC, FIRST, removed, again, part)
    found = [
        (part["topic"], [(one["what"], one["leader"]) for one in part["states"]]) for part in told.json["partitions"]
    ]
    assert sorted(found) == [("t", [("created", 1), ("topic deleted", 1)]), ("t", [("created", 2)])]


def test_what_missing_records_said_is_not_known(capsys, tmp_path):
    kept = records(TOPIC, FIRST, change("t", 0, leader=2))
    place = folder(tmp_path, [*kept, *records(change("t", 0, isr=(2,)), change("t", 0, leader=3), start=5)])
    told = metadata(capsys, place, "--json")
    assert told.states[2:] == [(5, None, None, None, [2], None), (6, 3, None, None, [2], None)]
    assert told.json["remarks"] == ["the records from offset 3 to 4 are missing: what they said is not known"]


def test_a_history_begins_with_a_snapshot(capsys, tmp_path):
    place = folder(tmp_path, records(change("t", 0, isr=(1, 2)), start=40))
    snapshot(place, 40, [TOPIC, partition("t", 0, 1, 2, 3, partition_epoch=7, leader_epoch=3)])
    told = metadata(capsys, place, "--json")
    assert (told.code, told.states) == (DONE, [(40, 1, 3, 7, [1, 2, 3], []), (40, 1, 3, 8, [1, 2], [])])
    assert told.json["remarks"] == ["the history begins at offset 40"]


def test_a_snapshot_fills_a_gap_and_is_compared_elsewhere(capsys, tmp_path):
    place = folder(tmp_path, [*records(TOPIC, FIRST), *records(change("t", 0, leader=2), start=8)])
    snapshot(place, 2, [TOPIC, partition("t", 0, 3, 2, 1)])
    snapshot(place, 8, [TOPIC, partition("t", 0, 1, 2, 3, partition_epoch=4)])
    told = metadata(capsys, place, "--json")
    assert told.states[1:] == [(8, 1, 0, 4, [1, 2, 3], []), (8, 2, 1, 5, [1, 2, 3], [])]
    assert told.json["remarks"] == ["the records from offset 2 to 7 are missing: what they said is not known"]
    assert told.code == DIVERGED
    here = "t-0, before offset 2"
    there = f"in {place / (f'{2:020}-{1:010}.checkpoint')}"
    assert told.json["contradictions"] == [
        f"{here}: replicas is 1,2,3 by the log, 3,2,1 {there}",
        f"{here}: leader is 1 by the log, 3 {there}",
    ]


def test_a_snapshot_without_its_end_is_not_used(capsys, tmp_path):
    place = folder(tmp_path, records(change("t", 0, isr=(1, 2)), start=40))
    path = snapshot(place, 40, [TOPIC, FIRST], footer=False)
    told = metadata(capsys, place, "--json")
    assert (told.code, told.errors) == (
        USAGE,
        f"conform: {path}: the snapshot is cut off: it has no footer; copy it again\n",
    )
    assert told.states == [(40, None, None, None, [1, 2], None)]


def test_records_of_a_deposed_controller_do_not_count(capsys, tmp_path):
    common = records(TOPIC, FIRST)
    old = folder(tmp_path / "old", [*common, *records(change("t", 0, leader=2), change("t", 0, leader=3), start=2)])
    new = folder(tmp_path / "new", [*common, Kept(2, 5, False, change("t", 0, isr=(1,)))])
    told = metadata(capsys, old, new, "--json")
    assert (told.code, told.states[1:]) == (DONE, [(2, 1, 0, 1, [1], [])])
    assert told.json["remarks"] == ["2 records of deposed controllers, which were never committed, are left out"]


def test_copies_that_differ_within_an_epoch_contradict_each_other(capsys, tmp_path):
    one = folder(tmp_path / "one", records(TOPIC, FIRST, change("t", 0, leader=2)))
    two = folder(tmp_path / "two", records(TOPIC, FIRST, change("t", 0, leader=3)))
    told = metadata(capsys, one, two, "--json")
    assert (told.code, told.json["verdict"]) == (DIVERGED, "CONTRADICTED")
    assert told.json["contradictions"] == [
        f"the records at offset 2 of epoch 1 differ in {one}/{0:020}.log and {two}/{0:020}.log; the first is replayed"
    ]


def test_brokers_and_settings(capsys, tmp_path):
    def fenced(how: bytes) -> bytes:
        return message(17, 1, b"\0\0\0\3" + b"\0" * 7 + b"\x09", {0: how})

    values = [
        fenced(b"\1"),
        fenced(b"\xff"),
        message(17, 1, b"\0\0\0\3" + b"\0" * 7 + b"\x09", {1: b"\1"}),
        message(1, 0, b"\0\0\0\3" + b"\0" * 7 + b"\x09"),
        message(4, 0, b"\2" + text("t") + text("min.insync.replicas") + text("2")),
        message(4, 0, b"\4" + text("3") + text("ssl.key.password") + text("hunter2")),
        message(4, 0, b"\4" + text("") + text("ssl.key.password") + b"\0"),
    ]
    told = history(capsys, tmp_path, TOPIC, FIRST, *values)
    assert [(one["subject"], one["what"]) for one in told.json["events"][1:]] == [
        ("broker 3", "fenced"),
        ("broker 3", "unfenced"),
        ("broker 3", "in controlled shutdown"),
        ("broker 3", "unregistered"),
        ("topic t", "min.insync.replicas=2"),
        ("broker 3", "ssl.key.password set (the value is not shown)"),
        ("all brokers", "ssl.key.password removed"),
    ]
    assert "hunter2" not in told.out


def test_an_election_of_an_eligible_leader_replica_is_clean(capsys, tmp_path):
    lost = change("t", 0, isr=(), elr=(2,), leader=-1)
    told = history(capsys, tmp_path, TOPIC, FIRST, lost, change("t", 0, leader=2, isr=(2,), elr=()))
    assert [state["is_unclean"] for state in told.json["partitions"][0]["states"]] == [False, False, False]
