"""Acknowledged records: the list, and who holds them."""

from __future__ import annotations

import pytest

from conformance.tests.audit.building import CONTROL, GZIP, ZSTD, batch, batches, broker
from conformance.tests.audit.running import audit
from isrcheck.commands.exit_codes import DONE, UNDECIDED, USAGE, VIOLATED
from isrcheck.conformance.audit.acknowledged import Acked, acked_in
from isrcheck.models.messages import UsageError


@pytest.fixture
def listed(tmp_path):
    def write(text):
        path = tmp_path / "acked.txt"
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return path

    return write


def test_the_formats_of_a_list(listed):
    path = listed(
        "# a remark\n\n0\n1 \n2 two words\r\n"
        '{"offset": 3}\n{"offset": 4, "value": "é", "topic": "t", "partition": 0}\n'
        '{"kind": "acked", "offset": 5, "value": "five", "acks": "all"}\n'
        '{"kind": "acked", "offset": 6, "value": "six", "acks": 1}\n'
        '{"kind": "fault", "what": "client_result", "error": null, "offset": 7, "value": "seven"}\n'
        '{"kind": "fault", "what": "client_result", "error": "timed out", "offset": null, "value": "eight"}\n'
        '{"kind": "fault", "what": "kill -9", "broker": 1}\n9 no line break'
    )
    assert acked_in(path) == [
        Acked(3, 0, None),
        Acked(4, 1, b""),
        Acked(5, 2, b"two words"),
        Acked(6, 3, None),
        Acked(7, 4, "é".encode(), "t-0"),
        Acked(8, 5, b"five"),
        Acked(10, 7, b"seven"),
        Acked(13, 9, b"no line break"),
    ]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("", ": no acknowledged record in it"),
        ("0\nx 1\n", ":2: the line does not begin with an offset"),
        ("-1\n", ":1: the line does not begin with an offset"),
        ("9" * 30, ":1: the line does not begin with an offset"),
        (str(1 << 63), f":1: {1 << 63} is no offset, which is a number from 0 to 9223372036854775807"),
        (b"\xff\xfe\n", ":1: the line does not begin with an offset"),
        ('{"offset": -1}\n', ":1: -1 is no offset, which is a number from 0 to"),
        ('{"offset": "1"}\n', ':1: "offset" is a text; it has to be a whole number'),
        ('{"value": "a"}\n', ':1: "offset" is missing'),
        ('{"offset": 1, "values": "a"}\n', ':1: "values" is not a key of this line'),
        ('{"offset": 1\n', ":1: not JSON"),
        ('{"a":' * 100_000 + "\n", ":1: the line is nested too deeply"),
        (b"0 " + b"x" * (1 << 20), ":1: the line is longer than 1048576 bytes"),
    ],
)
def test_a_list_that_is_none(listed, text, line):
    with pytest.raises(UsageError) as error:
        acked_in(listed(text))
    assert str(error.value).partition("acked.txt")[2].startswith(line)


@pytest.fixture
def ask(capsys, tmp_path, listed):
    """Audit brokers with these logs, high watermarks and leader epochs against a list."""

    def run(text, *copies, words=()):
        folders = []
        for number, copy in enumerate(copies, 1):
            log, high_watermark, epochs = (*copy, [(0, 0)])[:3]
            more = copy[3] if len(copy) > 3 else {}
            folder = tmp_path / f"broker{number}"
            folders.append(broker(folder, log, high_watermark=high_watermark, epochs=epochs, **more))
        told = audit(capsys, *folders, "--acked", listed(text), *words)
        return told.code, [line.replace(": t-0: ", ": ") for line in told.findings], told.out.splitlines()[-2]

    return run


def test_records_that_every_copy_holds(ask):
    code, found, tally = ask("0 m0\n1\n2 m2\n", (batches(0, 0, 0), 3), (batches(0, 0, 0), 3))
    assert (code, found) == (DONE, [])
    assert tally == "acknowledged: 3 of 3 records on every copy that has not deleted them"


def test_a_record_that_no_copy_holds(ask):
    code, found, tally = ask(
        "1 PRECIOUS\n5 later\n", (batches(0, 0), 2), (batches(0), 1, [(0, 0)]), words=["--isr", "broker1"]
    )
    assert (code, found[:2]) == (
        VIOLATED,
        [
            "BROKEN: the acknowledged record at offset 1 (line 1: PRECIOUS) is in no copy: m1 (epoch 0) is there on"
            " broker1; there is nothing on broker2",
            "BROKEN: the acknowledged record at offset 5 (line 2: later) is in no copy: there is nothing on broker1 and"
            " broker2",
        ],
    )
    assert tally == "acknowledged: 0 of 2 records on every copy that has not deleted them"


def test_a_record_that_a_later_leader_did_not_have(ask):
    """No high watermark tells that it was committed: its producer does."""
    code, found, _ = ask("2 m2\n", (batches(0, 0, 0), 2), (batches(0, 0), 2, [(0, 0), (1, 2)]))
    assert (code, found) == (
        VIOLATED,
        [
            "BROKEN: the acknowledged record at offset 2 (line 1: m2), of epoch 0, is only on broker1: the leader of"
            " epoch 1 began at offset 2 (leader epochs of broker2) without it"
        ],
    )


@pytest.mark.parametrize(("isr", "code", "grade"), [("broker1", DONE, "note"), ("broker1,broker2", VIOLATED, "BROKEN")])
def test_a_copy_that_lacks_records_from_some_offset_on(ask, isr, code, grade):
    told, found, _ = ask("0\n1\n2\n", (batches(0, 0, 0), 1), (batches(0), 1), words=["--isr", isr])
    assert told == code
    assert len(found) == 1
    assert found[0].startswith(f"{grade}: broker2 lacks 2 acknowledged records, from offset 1 on, which broker1 holds")


def test_without_the_isr_a_copy_that_lacks_records_is_undecided(ask):
    code, found, _ = ask("1 m1\n", (batches(0, 0), 1), (batches(0), 1))
    assert (code, found) == (
        UNDECIDED,
        [
            "UNDECIDED: broker2 lacks the acknowledged record at offset 1, which broker1 holds; if broker2 was in the"
            " ISR at the end, this is a loss, else normal; --isr tells"
        ],
    )


def test_a_deleted_record_is_not_lost(ask):
    code, found, _ = ask("0 m0\n", (batches(0, 0), 2, [(0, 0)], {"log_start": 1}))
    assert code == DONE
    statement = (
        "the acknowledged record at offset 0 (line 1: m0) is below the log start offset of broker1: it was deleted"
    )
    assert f"note: {statement}" in found


@pytest.mark.parametrize(
    ("one", "text", "code"),
    [
        (batch(0, ["a"], attributes=GZIP), "0 a\n", DONE),
        (batch(0, ["a"], attributes=GZIP), "0 b\n", VIOLATED),
        (batch(0, ["a"], attributes=ZSTD), "0 a\n", UNDECIDED),
        (batch(0, ["a"], attributes=ZSTD), "0\n", DONE),
        (batch(0, ["a"], attributes=CONTROL), "0\n", VIOLATED),
        (batch(0, ["a"], body=b"\xff"), "0\n", UNDECIDED),
    ],
)
def test_records_in_other_batches(ask, one, text, code):
    assert ask(text, ([one], 1), ([one], 1))[0] == code


def test_many_lost_records_are_counted(ask):
    code, found, _ = ask("".join(f"{offset} x\n" for offset in range(30)), (batches(*[0] * 30), 30))
    assert (code, found[-2]) == (VIOLATED, "BROKEN: and 10 more such findings (acked)")


def test_the_partition_of_a_list_has_to_be_clear(capsys, tmp_path, listed):
    folder = broker(tmp_path / "broker1", batches(0), high_watermark=1)
    path = listed("0 m0\n")
    (folder / "u-0").mkdir()
    (folder / "u-0" / f"{0:020}.log").write_bytes(b"")
    told = audit(capsys, folder, "--acked", path)
    assert told == (
        USAGE,
        "",
        f"conform: --acked {path}: no partition is named, and there are 2; give --acked TOPIC-N={path}\n",
    )
    assert "1 of 1 record on every copy" in audit(capsys, folder, "--acked", f"t-0={path}").out
    assert "1 of 1 record on every copy" in audit(capsys, folder, "--partition", "t-0", "--acked", path).out
    told = audit(capsys, folder, "--acked", f"v-0={path}")
    assert told == (USAGE, "", f"conform: v-0={path}: no log folder has the partition v-0\n")
    path = listed('{"topic": "v", "partition": 1, "offset": 0}\n')
    told = audit(capsys, folder, "--acked", path)
    assert told == (USAGE, "", f"conform: {path}:1: no log folder has the partition v-1\n")


def test_a_record_in_what_is_not_read_may_be_there(capsys, tmp_path, listed):
    damaged = bytearray(b"".join(batches(0, 0, 0)))
    damaged[100] ^= 1
    folder = broker(tmp_path / "broker1", [bytes(damaged)], high_watermark=3)
    told = audit(capsys, folder, "--acked", listed("0 m0\n2 m2\n"))
    assert told.findings[0] == (
        "UNDECIDED: t-0: the acknowledged record at offset 2 (line 2: m2) may be on broker1: what is there was not"
        " read, or compacted"
    )
    assert "\nacknowledged: 1 of 2 records on every copy that has not deleted them\n" in told.out
    assert told.code == USAGE  # the damage is graver


def test_a_record_that_compaction_may_have_removed(ask):
    compacted = [batch(0, ["a", "c"], deltas=[0, 2], last_delta=2)]
    code, found, _ = ask("1 b\n", (compacted, 3, [(0, 0)], {"cleaned": 3}))
    assert (code, found[0]) == (
        UNDECIDED,
        "UNDECIDED: the acknowledged record at offset 1 (line 1: b) may be on broker1: what is there was not read, or"
        " compacted",
    )
