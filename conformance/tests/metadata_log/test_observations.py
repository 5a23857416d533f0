"""The states of a partition as observations: `conform follow` reads them, alone or beside the recording of the run."""

from __future__ import annotations

import json
import shutil

import pytest

from conformance.tests.metadata_log.building import (
    REAL,
    change,
    folder,
    message,
    metadata,
    partition,
    records,
    snapshot,
    spelled_id,
    text,
    topic,
    topic_id,
)
from isrcheck.commands.exit_codes import DIVERGED, DONE, USAGE
from isrcheck.conformance.cli import main

FAULTS = (
    "before `conform follow`, add a line of kind fault where a broker stopped, froze or started, or an operator asked"
    " for an election: the metadata log does not tell these"
)
KILLED, STARTED = ({"kind": "fault", "what": what, "broker": 1} for what in ("kill -9", "start"))


@pytest.fixture
def killed(capsys, tmp_path):
    """The observations of the recording `leader_killed`, without those of its shutdown."""
    path = tmp_path / "history.ndjson"
    told = metadata(capsys, REAL / "leader_killed", "--partition", "t-0", "--out", path)
    assert (told.code, told.out.splitlines()[-2:]) == (DONE, [f"written: {path}: 6 metadata lines", FAULTS])
    return [json.loads(line) for line in path.read_text().splitlines()][:4]


def written(path, lines):
    """A recording with these lines, numbered anew, and without times."""
    header, *rest = lines
    numbered = [{**line, "n": number} for number, line in enumerate(rest)]
    kept = [{key: value for key, value in line.items() if key != "t"} for line in (header, *numbered)]
    path.write_text("".join(f"{json.dumps(line)}\n" for line in kept))
    return path


def follow(capsys, path, protocol="4.1"):
    """The exit code of `conform follow`, and its answer without line breaks."""
    capsys.readouterr()
    code = main(["follow", str(path), "--protocol", protocol])
    return code, " ".join(capsys.readouterr().out.replace(str(path), "FILE").split())


def test_the_lines_of_a_history(killed):
    header, *lines = killed
    assert header == {"kind": "header", "replicas": [1, 2, 3]}
    assert lines[1] == {
        "n": 1,
        "t": 22.315,
        "kind": "metadata",
        "leader": 2,
        "isr": [2, 3],
        "leader_epoch": 1,
        "partition_epoch": 1,
    }
    assert [(line["leader"], line["partition_epoch"], line["isr"]) for line in lines] == [
        (1, 0, [1, 2, 3]),
        (2, 1, [2, 3]),
        (2, 2, [1, 2, 3]),
    ]


@pytest.mark.sampled
def test_a_history_with_its_faults_is_explained(capsys, tmp_path, killed):
    header, first, second, third = killed
    path = written(tmp_path / "with_faults.ndjson", [header, first, KILLED, second, STARTED, third])
    code, told = follow(capsys, path)
    assert (code, told.startswith("EXPLAINED: FILE is a behaviour of 4.1, in 7 steps; ")) == (DONE, True)


@pytest.mark.sampled
def test_a_history_without_its_faults_is_not(capsys, tmp_path, killed):
    path = written(tmp_path / "without_faults.ndjson", killed)
    code, told = follow(capsys, path)
    assert (code, told.startswith("REJECTED at FILE:3: leader 2 in epoch 1, ISR 2 3 ")) == (DIVERGED, True)


@pytest.mark.sampled
@pytest.mark.parametrize(("isr", "code"), [([2, 3], DONE), ([1, 2], DIVERGED)])
def test_a_history_beside_its_recording_is_followed_with_it(capsys, tmp_path, isr, code):
    copy = tmp_path / "leader_killed"
    shutil.copytree(REAL / "leader_killed", copy)
    beside = copy / "observations.ndjson"
    beside.unlink()
    metadata(capsys, copy, "--partition", "t-0", "--out", beside)
    beside.write_text(beside.read_text().replace("[2,3]", json.dumps(isr)))
    assert follow(capsys, copy)[0] == code


@pytest.mark.sampled
def test_reassignments_are_written_and_explained(capsys, tmp_path):
    path = tmp_path / "history.ndjson"
    metadata(capsys, REAL / "reassign", "--partition", "t-0", "--out", path)
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert [(line["n"], line["replicas"], line["unseen"]) for line in lines if line.get("what") == "reassign"] == [
        (1, [1, 2], True),
        (3, [2, 3], True),
        (6, [1, 2, 3], True),
    ]
    assert [(line["n"], line["replicas"]) for line in lines if line["kind"] == "metadata"][:6] == [
        (0, [1, 2, 3]),
        (2, [1, 2]),
        (4, [2, 3, 1]),
        (5, [2, 3]),
        (7, [1, 2, 3]),
        (8, [1, 2, 3]),
    ]
    code, told = follow(capsys, written(path, lines[:10]), "4.3")  # what follows is the shutdown of all brokers
    assert (code, told.startswith("EXPLAINED: FILE is a behaviour of 4.3, ")) == (DONE, True)


@pytest.mark.parametrize(
    ("changes", "lines"),
    [
        (
            [
                {"replicas": (2, 3, 1), "adding": (3,), "removing": (1,)},
                {"replicas": (1, 2), "adding": (), "removing": ()},
            ],
            [
                {"kind": "fault", "what": "reassign", "replicas": [2, 3], "unseen": True},
                {"kind": "fault", "what": "reassign", "replicas": None, "unseen": True},
            ],
        ),
        (
            [
                {"replicas": (2, 3, 1), "adding": (3,), "removing": (1,)},
                {"replicas": (2, 3), "adding": (), "removing": ()},
            ],
            [{"kind": "fault", "what": "reassign", "replicas": [2, 3], "unseen": True}],
        ),
        (
            [{"replicas": (2, 1)}],
            [
                {
                    "kind": "note",
                    "what": "PartitionChangeRecord",
                    "unmodelled": "a change of the order of the replicas",
                }
            ],
        ),
        ([{"isr": (1,)}], []),
    ],
)
def test_what_an_operator_must_have_requested(capsys, tmp_path, changes, lines):
    place = folder(
        tmp_path, records(topic("t"), partition("t", 0, 1, 2), *(change("t", 0, **each) for each in changes))
    )
    path = tmp_path / "history.ndjson"
    metadata(capsys, place, "--out", path)
    found = [json.loads(line) for line in path.read_text().splitlines()]
    wanted = [{key: line[key] for key in line if key not in ("n", "label")} for line in found]
    assert [line for line in wanted if line["kind"] not in ("header", "metadata")] == lines


def test_a_history_that_begins_later_says_so(capsys, tmp_path):
    place = folder(tmp_path, records(change("t", 0, isr=(1,)), start=40))
    snapshot(place, 40, [topic("t"), partition("t", 0, 1, 2, partition_epoch=7, leader_epoch=3)])
    path = tmp_path / "history.ndjson"
    metadata(capsys, place, "--out", path)
    header, first, second = map(json.loads, path.read_text().splitlines())
    assert header == {"kind": "header", "replicas": [1, 2], "first_partition_epoch": 7}
    assert [(line["partition_epoch"], line["leader_epoch"], line["isr"]) for line in (first, second)] == [
        (7, 3, [1, 2]),
        (8, 3, [1]),
    ]
    assert first["label"] == "2026-09-21 14:13:20.007"


@pytest.mark.parametrize(
    ("words", "error"),
    [
        ([], "--out needs one partition, and there are 2; name it with --partition"),
        (["--topic", "t"], "{path}: it exists already and is not overwritten; give another -o FILE.ndjson"),
    ],
)
def test_what_cannot_be_written(capsys, tmp_path, words, error):
    path = tmp_path / "history.ndjson"
    if words:
        path.write_text("mine")
    told = metadata(capsys, REAL / "leader_killed", *words, "--out", path)
    assert (told.code, told.out, told.errors) == (USAGE, "", f"conform: {error.format(path=path)}\n")
    assert not words or path.read_text() == "mine"


def test_a_topic_that_was_created_again_is_named_by_its_id(capsys, tmp_path):
    old, new = (spelled_id(name) for name in ("t", "again"))
    again = text("t") + topic_id("again")
    values = [
        topic("t"),
        partition("t", 0, 1, 2),
        message(9, 0, topic_id("t")),
        message(2, 0, again),
        partition("again", 0, 2, 3),
    ]
    place, path = folder(tmp_path, records(*values)), tmp_path / "history.ndjson"
    told = metadata(capsys, place, "--partition", "t-0", "--out", path)
    assert (told.code, told.errors) == (
        USAGE,
        "conform: --out needs one partition, and there are 2; topics of one name, one after the other: give --partition"
        f" t-0@{old} or --partition t-0@{new}\n",
    )
    for number, leader in ((old, 1), (new, 2)):
        told = metadata(capsys, place, "--partition", f"t-0@{number}", "--out", path)
        assert (told.code, told.out.count(" (topic id"), f"t-0 (topic id {number})" in told.out) == (DONE, 1, True)
        assert json.loads(path.read_text().splitlines()[1])["leader"] == leader
        path.unlink()
    assert metadata(capsys, place, "--partition", "t-0").out.count(" (topic id") == 2
    assert metadata(capsys, place, "--partition", "t-0", "--partition", f"t-0@{new}").out.count(" (topic id") == 2
    told = metadata(capsys, place, "--partition", "t-0@AAAA")
    assert (told.code, told.errors.partition(";")[0]) == (
        USAGE,
        "conform: --partition t-0@AAAA: no file has a state of this topic id",
    )


def test_a_partition_that_no_file_has(capsys):
    for words, error in [
        (("--topic", "tt"), "--topic tt: no file has a state of this topic; did you mean t?"),
        (
            ("--partition", "t-1"),
            "--partition t-1: no file has a state of this partition; choose another partition of the topic",
        ),
        (
            ("--partition", "t"),
            "--partition t: not a partition; write it as TOPIC-N, or as TOPIC-N@ID with its topic id",
        ),
    ]:
        told = metadata(capsys, REAL / "leader_killed", *words)
        assert (told.code, told.errors) == (USAGE, f"conform: {error}\n")
