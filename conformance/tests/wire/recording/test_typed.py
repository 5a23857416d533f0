"""What a person types while the proxy runs, and that `conform follow` reads every line that a recording can have."""

from __future__ import annotations

import itertools
import json
import struct
from pathlib import Path
from typing import Any

import pytest

from conformance.tests.support.places import RECORDINGS
from conformance.tests.support.replay import steps_in
from conformance.tests.wire.recording.proxying import Lines
from isrcheck.conformance.follow.search.explain import Explained, Rejected, follow_recording
from isrcheck.conformance.follow.wire.convert import observations_of
from isrcheck.conformance.wire.recording.frames import Conversation, Piece, Room, Splitter
from isrcheck.conformance.wire.recording.rules import COMMANDS, FAULT_COMMANDS, Holding, Typed
from isrcheck.conformance.wire.recording.writing import line_of

NODES = (1, 2, "controller", "controller-101")


def typing(*lines: str) -> tuple[list[dict[str, Any]], list[str]]:
    """The lines that are recorded, and what is answered, when a person types this."""
    sink, answers = Lines(), list[str]()
    typed = Typed(NODES, Holding((), sink, answers.append), sink, answers.append)
    for line in lines:
        typed.obey(line)
    return sink.lines, answers


@pytest.mark.parametrize(
    ("line", "recorded"),
    [
        ("kill 1", {"what": "kill -9", "broker": 1}),
        ("freeze 2", {"what": "freeze", "broker": 2}),
        ("stop 1", {"what": "stop (controlled shutdown)", "broker": 1}),
        ("kill controller-101", {"what": "kill -9", "broker": "controller-101"}),
        ("cut 1 2", {"what": "cut", "broker": 1, "peer": 2}),
        ("cut controller 2", {"what": "cut", "broker": 2, "peer": "controller"}),
        ("heal 2 controller", {"what": "heal", "broker": 2, "peer": "controller"}),
        ("note send PRECIOUS", {"what": "note", "text": "send PRECIOUS"}),
        ("note kill -9 broker 1", {"what": "kill -9", "broker": 1}),
        ("  kill   1 ", {"what": "kill -9", "broker": 1}),
    ],
)
def test_a_command_writes_one_line(line: str, recorded: dict[str, Any]) -> None:
    assert typing(line) == ([{"kind": "fault", **recorded}], [])


def test_faults_follow_each_other() -> None:
    lines, answers = typing("freeze 1", "thaw 1", "kill 1", "start 1", "stop 1", "start 1", "freeze 1", "kill 1")
    assert (len(lines), answers) == (8, [])


@pytest.mark.parametrize(
    ("lines", "answer"),
    [
        (["jump 1"], f"jump 1: no such command; the commands are: {COMMANDS}"),
        (["kill"], f"kill: no such command; the commands are: {COMMANDS}"),
        (["kill 1 2"], f"kill 1 2: no such command; the commands are: {COMMANDS}"),
        (["kill -9 broker 1"], f"kill -9 broker 1: no such command; the commands are: {COMMANDS}"),
        (["note"], f"note: no such command; the commands are: {COMMANDS}"),
        (["kill 7"], "7: there is no such node; the nodes are 1, 2, controller, controller-101 (--node)"),
        (["cut 1 7"], "7: there is no such node; the nodes are 1, 2, controller, controller-101 (--node)"),
        (["cut 1 1"], "cut 1 1: name two nodes"),
        (["start 1"], "start 1: it is running; not written"),
        (["kill 1", "freeze 1"], "freeze 1: it is killed; not written"),
        (["stop 1", "stop 1"], "stop (controlled shutdown) 1: it is shut down; not written"),
        (["release 3"], "3: no such rule; the lines of the rules are: none"),
        (
            ["note machine 1 crashed"],
            "machine 1 crashed: it is kept as a remark, after which `conform follow` rejects nothing, since it may be"
            f" about a fault; the commands for faults are: {FAULT_COMMANDS}",
        ),
    ],
)
def test_what_is_wrong_is_answered_in_one_line(lines: list[str], answer: str) -> None:
    assert typing(*lines)[1] == [answer]


def test_an_empty_line_is_no_command() -> None:
    assert typing("", "  ") == ([], [])


# ------------------------------------------------------------------------------- what is recorded can be followed


def frames() -> list[bytes]:
    """Requests of known and unknown APIs and versions, with and without a client id, and bytes that are no request."""
    every = itertools.product((0, 1, 3, 18, 33, 63, 999), (0, 5, 13, 99), (b"", b"\0", bytes(40), b"\xff" * 40))
    found = [struct.pack(">hhih", key, version, number, -1) + body for number, (key, version, body) in enumerate(every)]
    named = [struct.pack(">hhih", 1, 17, 10_000, 2) + b"me", struct.pack(">hhih", 1, 17, 10_001, 2) + b"\xff\xfe"]
    return [*found, *named, b"", b"\0\0\0", struct.pack(">hhi", 1, 17, 10_002)]


def written_by_the_recorder() -> list[dict[str, Any]]:
    """A line of every kind that `conform record` can write, as it writes it."""
    found = []
    for broker in (1, "controller"):
        talk = Conversation(broker)
        for frame in frames():
            request = talk.request(frame)
            answers = [struct.pack(">i", request.correlation or 0) + body for body in (b"", b"\0" * 30)]
            found.append(line_of({"kind": "request", **request.meta()}, frame))
            about = {"what": "request", "rule": "line 1", **request.meta()}
            found += [line_of({"kind": kind, **about}, frame) for kind in ("held", "dropped")]
            found += [line_of({"kind": "response", **talk.response(each).meta()}, each) for each in (*answers, b"\0")]
        for kind in ("request", "response"):
            for piece in broken_pieces():
                entry = {"kind": kind, **talk.unknown(kind).meta()}
                found.append(line_of(entry | {"body": None, "undecoded": piece.problem, "size": piece.size}, None))
    sink = Lines()
    typed = Typed(NODES, Holding((), sink, print), sink, print)
    for line in ("kill 1", "start 1", "freeze 1", "thaw 1", "stop 1", "start 1", "cut 1 2", "cut 1 controller"):
        typed.obey(line)
    for line in ("heal 1 controller", "kill controller", "start controller", "note x", "note 2 is shut off"):
        typed.obey(line)
    found += sink.lines
    found += [{"kind": "fault", "what": what, "rule": "line 1"} for what in ("hold", "delay", "pass", "release")]
    found += [{"kind": "fault", "what": "refused", "broker": node, "text": "Connection refused"} for node in NODES]
    return found


def broken_pieces() -> list[Piece]:
    found = []
    for data in (b"\xff\xff\xff\xff", struct.pack(">i", 1 << 30), b"\0\0", struct.pack(">i", 143) + bytes(69)):
        splitter = Splitter(Room())
        found += [piece for piece in splitter.feed(data) if piece.problem is not None]
        rest = splitter.finish()
        found += [] if rest is None else [rest]
    return [piece for piece in found if piece.problem is not None]


def test_every_line_that_the_recorder_can_write_is_read(tmp_path: Path) -> None:
    """R3: such lines made a whole recording unreadable."""
    lines = [json.loads(line) for line in (RECORDINGS / "wire" / "steady" / "wire.ndjson").read_text().splitlines()]
    written = written_by_the_recorder()
    assert {line.get("api") is None for line in written if line["kind"] == "response"} == {True, False}
    assert len(broken_pieces()) == 4
    path = tmp_path / "wire.ndjson"
    every = [*lines[:40], *({"t": lines[40]["t"], **line} for line in written), *lines[40:]]
    path.write_text("".join(json.dumps(line | {"n": n}) + "\n" for n, line in enumerate(every)))
    found = [said for _, said in observations_of(path)]
    assert [said["what"] for said in found if said["kind"] == "fault" and "broker" in said] == steps_in(
        "kill -9; start; freeze; thaw; stop (controlled shutdown); start; cut; cut"
    )
    undecoded = [line for line in every if line["kind"] != "dropped" and line.get("undecoded") is not None]
    assert f"{len(undecoded):,} messages not decoded" in found[-1]["unused"]


HEADER = {"kind": "header", "replicas": [1, 2, 3], "all_requests": True}
ISOLATED = [
    {"kind": "metadata", "leader": 1, "leader_epoch": 0, "isr": [1, 2, 3], "partition_epoch": 0},
    {"kind": "fault", "what": "cut", "broker": 1, "peer": "controller"},
    {"kind": "metadata", "leader": 2, "leader_epoch": 1, "isr": [2, 3], "partition_epoch": 1},
    {"kind": "high_watermark", "broker": 1, "high_watermark": 0},
]
"""Leader 1 is cut off from the controller and fenced, and still answers."""


@pytest.mark.parametrize("peer", ["controller", 2, None])
def test_a_broker_that_is_cut_off_from_the_controller_may_be_fenced_while_it_runs(tmp_path: Path, peer: Any) -> None:
    lines = [
        line | ({"peer": peer} if "peer" in line else {}) for line in ISOLATED if peer is not None or "peer" not in line
    ]
    path = tmp_path / "seen.ndjson"
    path.write_text("".join(json.dumps({"n": n} | line) + "\n" for n, line in enumerate([HEADER, *lines])))
    outcome = follow_recording(path, "3.7")
    assert isinstance(outcome, Explained if peer == "controller" else Rejected)
