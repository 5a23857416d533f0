"""Copies compared with each other: what is committed, what differs, and who lacks what."""

from __future__ import annotations

import pytest

from conformance.tests.audit.building import GZIP, ZSTD, batch, batches, broker
from conformance.tests.audit.running import audit
from isrcheck.commands.exit_codes import DONE, UNDECIDED, USAGE, VIOLATED


@pytest.fixture
def compare(capsys, tmp_path):
    """Audit brokers of these logs, high watermarks and leader epochs; return the exit code and the findings."""

    def run(*copies, words=()):
        folders = []
        for number, copy in enumerate(copies, 1):
            log, high_watermark, epochs = (*copy, [(0, 0)])[:3]
            more = copy[3] if len(copy) > 3 else {}
            folder = tmp_path / f"broker{number}"
            folders.append(broker(folder, log, high_watermark=high_watermark, epochs=epochs, **more))
        told = audit(capsys, *folders, *words)
        assert told.errors == ""
        return told.code, [line.replace(": t-0: ", ": ") for line in told.findings]

    return run


OLD = (batches(0, 0, 0, 2, 2, 2), [(0, 0), (2, 3)])
NEW = (batches(0, 0, 0, 2, 2, 3, values="m"), [(0, 0), (2, 3), (3, 5)])


def test_a_committed_record_that_a_later_leader_did_not_have(compare):
    new = [*OLD[0][:5], batch(5, ["other"], 3)]
    assert compare((OLD[0], 6, OLD[1]), (new, 5, NEW[1]), (new, 5, NEW[1])) == (
        VIOLATED,
        [
            "BROKEN: broker1 differs from broker2 and broker3 at offset 5 (epoch 2 against 3: m5 against other), below"
            " the high watermark 6 of broker1: a committed record differs, and the leader of epoch 3 did not have it"
        ],
    )


def test_an_equal_record_of_another_epoch_differs_as_well(compare):
    code, found = compare((OLD[0], 6, OLD[1]), (NEW[0], 5, NEW[1]))
    assert code == VIOLATED
    assert found[0].startswith(
        "BROKEN: broker1 and broker2 differ at offset 5 (epoch 2 against 3: m5 against m5), below"
    )


def test_a_difference_above_every_high_watermark_is_normal(compare):
    assert compare((OLD[0], 5, OLD[1]), (NEW[0], 5, NEW[1])) == (
        DONE,
        [
            "note: broker1 and broker2 differ at offset 5 (epoch 2 against 3: m5 against m5), only above every high"
            " watermark: this is normal, and broker1 will truncate there"
        ],
    )


@pytest.mark.parametrize(
    ("isr", "code", "end"),
    [
        (
            [],
            UNDECIDED,
            "; if broker1 was in the ISR at the end, this is a loss, else normal; --isr tells",
        ),
        (["--isr", "broker2"], DONE, ": this is normal, for broker1 was not in the ISR"),
        (
            ["--isr", "t-0=broker1,broker2"],
            VIOLATED,
            ": a committed record is missing, for broker1 was in the ISR",
        ),
    ],
)
def test_an_uncommitted_end_of_an_earlier_leader_matters_if_it_was_in_the_isr(compare, isr, code, end):
    found = compare((OLD[0], 5, OLD[1]), (NEW[0], 6, NEW[1]), words=isr)
    statement = "broker1 and broker2 differ at offset 5 (epoch 2 against 3: m5 against m5), below"
    statement += " the high watermark 6 of broker2 only"
    grade = {UNDECIDED: "UNDECIDED", DONE: "note", VIOLATED: "BROKEN"}[code]
    assert found == (code, [f"{grade}: {statement}{end}"])


def test_an_epoch_has_one_record_at_an_offset(compare):
    other = [*batches(0, 0), batch(2, ["x", "y"])]
    assert compare((batches(0, 0, 0, 0), 0), (other, 0)) == (
        VIOLATED,
        [
            "BROKEN: broker1 and broker2 differ at offsets 2 to 3, both of epoch 0: m2 against x: an epoch has one"
            " leader"
        ],
    )


@pytest.mark.parametrize(
    ("isr", "code", "end"),
    [
        ([], UNDECIDED, "; if broker3 was in the ISR at the end, this is a loss, else normal; --isr tells"),
        (["--isr", "broker1,broker2"], DONE, ": this is normal, for broker3 was not in the ISR"),
        (["--isr", "broker1,broker3"], VIOLATED, ": a committed record is missing, for broker3 was in the ISR"),
    ],
)
def test_a_copy_that_ends_before_what_is_committed(compare, isr, code, end):
    found = compare((batches(0, 0, 0, 0), 3), (batches(0, 0, 0, 0), 4), (batches(0, 0), 2), words=isr)
    statement = (
        "broker3 lacks offsets 2 to 3, below the high watermark 4 of broker2 (broker1 and broker2 hold offset 2)"
    )
    grade = {UNDECIDED: "UNDECIDED", DONE: "note", VIOLATED: "BROKEN"}[code]
    assert found == (code, [f"{grade}: {statement}{end}"])


def test_a_copy_that_ends_before_its_own_high_watermark(compare):
    code, found = compare((batches(0, 0, 0), 3), (batches(0, 0), 3))
    assert code == VIOLATED
    assert found[1] == (
        "BROKEN: broker2 lacks offset 2, below the high watermark 3 of broker1 (broker1 holds offset 2); its own high"
        " watermark is 3: a committed record is missing"
    )


def test_a_copy_that_ends_above_every_high_watermark_is_normal(compare):
    assert compare((batches(0, 0, 0), 2), (batches(0, 0), 2)) == (DONE, [])


def test_a_leader_that_began_before_a_committed_record(compare):
    """Its epoch has no record yet: only the leader epochs tell."""
    assert compare((batches(0, 0, 0), 3), (batches(0, 0), 2, [(0, 0), (1, 2)]), words=["--isr", "broker2"])[1][0] == (
        "BROKEN: broker1 holds offset 2 from epoch 0 on, below its high watermark 3, and the leader of epoch 1 began at"
        " offset 2 (leader epochs of broker2): it did not have this committed record"
    )


def test_a_record_that_a_later_leader_did_not_have_and_that_is_deleted(compare):
    one = (batches(0, 0, 1, 1), 4, [(1, 2)], {"log_start": 2})
    other = (batches(0, 1, 1, 1), 4, [(0, 0), (1, 1)])
    assert compare(one, other) == (DONE, [])


def test_a_hole_in_the_middle(compare):
    holed = [*batches(0), *batches(0, 0, start=3)]
    assert compare((batches(0, 0, 0, 0, 0), 5), (holed, 5)) == (
        VIOLATED,
        [
            "BROKEN: broker2 has a hole at offsets 1 to 2, where broker1 has records, below the high watermark 5: a"
            " committed record is missing from the middle of its log"
        ],
    )


def test_a_hole_above_every_high_watermark(compare):
    holed = [*batches(0), *batches(0, 0, start=3)]
    assert compare((batches(0, 0, 0, 0, 0), 1), (holed, 1)) == (
        DONE,
        ["note: broker2 has a hole at offsets 1 to 2, where broker1 has records, above every high watermark"],
    )


def test_a_hole_where_the_others_differ(compare):
    differs = [*batches(0), batch(1, ["x"], 0), *batches(0, start=2)]
    holed = [*batches(0), *batches(0, start=2)]
    assert compare((batches(0, 0, 0), 3), (differs, 3), (holed, 3)) == (
        VIOLATED,
        [
            "BROKEN: broker1 and broker2 differ at offset 1, both of epoch 0: m1 against x: an epoch has one leader",
            "BROKEN: broker3 has a hole at offset 1, where broker1 and broker2 have records, below the high watermark"
            " 3: a committed record is missing from the middle of its log",
        ],
    )


def test_holes_below_the_cleaner_s_offset_are_compaction(compare):
    whole = [batch(0, ["a", "b", "c"]), *batches(0, 0, start=3)]
    compacted = [batch(0, ["a", "c"], deltas=[0, 2], last_delta=2), *batches(0, start=4)]
    assert compare((whole, 5), (compacted, 5, [(0, 0)], {"cleaned": 4})) == (
        DONE,
        ["note: broker2 lacks 2 of the offsets from 1 on, as compaction may do"],
    )


def test_what_compaction_left_is_compared(compare):
    whole = [batch(0, ["a", "b", "c"])]
    compacted = [batch(0, ["a", "x"], deltas=[0, 2], last_delta=2)]
    code, found = compare((whole, 3), (compacted, 3, [(0, 0)], {"cleaned": 3}))
    assert code == VIOLATED
    assert found[0] == (
        "BROKEN: broker1 and broker2 differ at offset 2, both of epoch 0: c against x: an epoch has one leader"
    )


def test_a_batch_of_which_another_copy_has_only_the_end(compare):
    rest = [batch(1, ["b"]), batch(2, ["x"])]
    more = {"cleaned": 3, "segments": {0: rest}}
    assert compare(([batch(0, ["a", "b", "c"])], 3), (rest, 3, [(0, 0)], more)) == (
        VIOLATED,
        [
            "BROKEN: broker1 and broker2 differ at offset 2, both of epoch 0: c against x: an epoch has one leader",
            "note: broker2 lacks 1 of the offsets from 0 on, as compaction may do",
        ],
    )


def test_logs_are_compared_from_the_larger_log_start(compare):
    assert compare(
        (batches(0, 0, 0), 3), (batches(0, start=2), 3, [(0, 2)], {"segments": {2: batches(0, start=2)}})
    ) == (
        DONE,
        [],
    )


def test_equal_compressed_batches_are_equal(compare):
    log = [batch(0, ["a", "b"], attributes=ZSTD)]
    assert compare((log, 2), (log, 2)) == (DONE, [])


def test_compressed_batches_that_differ_are_compared_as_a_whole(compare):
    one, other = ([batch(0, [value, "b"], attributes=ZSTD)] for value in "ax")
    assert compare((one, 2), (other, 2)) == (
        VIOLATED,
        ["BROKEN: broker1 and broker2 differ at offsets 0 to 1, both of epoch 0: an epoch has one leader"],
    )


def test_compressed_batches_that_compaction_may_have_rewritten_are_undecided(compare):
    one, other = ([batch(0, [value, "b"], attributes=ZSTD)] for value in "ax")
    code, found = compare((one, 2), (other, 2, [(0, 0)], {"cleaned": 1}))
    assert (code, len(found)) == (UNDECIDED, 1)
    assert found[0].startswith(
        "UNDECIDED: offsets 0 to 1 of broker1 and broker2 cannot be compared: compressed with zstd"
    )


def test_compressed_batches_of_different_bounds_are_undecided(compare):
    one, other = [batch(0, ["a", "b"], attributes=ZSTD)], batches(0, 0)
    assert compare((one, 2), (other, 2)) == (
        UNDECIDED,
        [
            "UNDECIDED: offsets 0 to 1 of broker1 and broker2 cannot be compared: compressed with zstd, of which only"
            " the header is read"
        ],
    )


def test_gzipped_batches_are_compared_record_by_record(compare):
    one, other = [batch(0, ["a", "b"], attributes=GZIP)], [batch(0, ["a", "x"], attributes=GZIP)]
    code, found = compare((one, 2), (other, 2))
    assert code == VIOLATED
    assert found[0].startswith("BROKEN: broker1 and broker2 differ at offset 1, both of epoch 0: b against x")


def test_a_batch_of_the_same_records_in_other_bounds_is_equal(compare):
    assert compare(([batch(0, ["a", "b"])], 2), ([batch(0, ["a"]), batch(1, ["b"])], 2)) == (DONE, [])


def test_a_topic_of_the_same_name_is_not_compared(capsys, tmp_path):
    folders = []
    for number, topic in enumerate(["AAAA", "BBBB", "BBBB"], 1):
        folder = broker(tmp_path / f"broker{number}", batches(0, values=topic), high_watermark=1)
        (folder / "t-0" / "partition.metadata").write_text(f"version: 0\ntopic_id: {topic}\n")
        folders.append(folder)
    told = audit(capsys, *folders)
    assert (told.code, told.findings) == (USAGE, [])
    assert told.errors == (
        f"conform: {tmp_path}/broker1/t-0: the copies are of different topics of the same name (AAAA on broker1; BBBB"
        " on broker2 and broker3): only those of topic id BBBB are compared; give folders of one cluster and of one"
        " moment\n"
    )


def test_damage_in_one_copy_leaves_the_others_compared(capsys, tmp_path):
    damaged = bytearray(b"".join(batches(0, 0, 0)))
    damaged[100] ^= 1
    other = [*batches(0, 0), batch(2, ["x"])]
    for number, log in enumerate([[bytes(damaged)], batches(0, 0, 0), other], 1):
        broker(tmp_path / f"broker{number}", log, high_watermark=3)
    told = audit(capsys, *(tmp_path / f"broker{number}" for number in (1, 2, 3)))
    assert told.code == VIOLATED
    assert "log: byte 70: the batch says CRC" in told.errors
    assert told.findings == [
        "BROKEN: t-0: broker2 and broker3 differ at offset 2, both of epoch 0: m2 against x: an epoch has one leader",
        "UNDECIDED: t-0: broker1 is not read from offset 1 on; broker2 and broker3 hold offset 1, and what is committed"
        " below the high watermark 3 of broker2 and broker3",
    ]


def test_many_differences_are_counted(compare):
    one = [batch(offset, ["a" if offset % 2 else "b"]) for offset in range(120)]
    other = [batch(offset, ["a" if offset % 2 else "c"]) for offset in range(120)]
    code, found = compare((one, 120), (other, 120))
    assert (code, len(found), found[-1]) == (VIOLATED, 51, "BROKEN: and 10 more such findings (matching)")


def test_a_partition_of_one_copy_and_a_broker_without_one(capsys, tmp_path):
    for number in (1, 2, 3):
        broker(tmp_path / f"broker{number}", batches(0), high_watermark=1)
    broker(tmp_path / "broker1" / "more", batches(0), high_watermark=1, name="a-0")
    (tmp_path / "broker1" / "more" / "a-0").rename(tmp_path / "broker1" / "u-7")
    (tmp_path / "broker3" / "t-0").rename(tmp_path / "gone")
    told = audit(capsys, *(tmp_path / f"broker{number}" for number in (1, 2)))
    assert [line for line in told.out.splitlines() if line.startswith("note")] == [
        "note: u-7: only broker1 has a copy: there is nothing to compare it with"
    ]
    (tmp_path / "broker3" / "u-8").mkdir()
    (tmp_path / "broker3" / "u-8" / f"{0:020}.log").write_bytes(b"")
    told = audit(capsys, *(tmp_path / f"broker{number}" for number in (1, 2, 3)))
    assert "note: t-0: broker3 has no copy\n" in told.out
