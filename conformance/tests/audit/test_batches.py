"""Record batches and their records: exact values, and every way in which they can be damaged."""

from __future__ import annotations

import io
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conformance.tests.audit.building import GZIP, ZSTD, batch, varint
from conformance.tests.support.places import RECORDINGS
from isrcheck.conformance.audit.copies import MOST_BYTES_OF_RECORDS, UnreadRecordsError, records_in
from isrcheck.conformance.kafka_format.record_batches import BatchError, LimitError, OldFormatError, batches_of

REAL = RECORDINGS / "wire" / "stale_record" / "broker1" / "t-0" / "00000000000000000000.log"


def read(data, most=1 << 30):
    return list(batches_of(io.BytesIO(data), len(data), most))


def test_a_real_segment():
    found = read(REAL.read_bytes())
    assert [
        (one.byte, one.header.base_offset, one.header.last_offset, one.header.leader_epoch, one.header.record_count)
        for one in found
    ] == [
        (0, 0, 0, 0, 1),
        (70, 1, 1, 0, 1),
        (140, 2, 2, 0, 1),
        (210, 3, 3, 1, 1),
    ]
    values = [record.value for one in found for record in records_in(one)]
    assert values == [b"m0", b"m1", b"m2", b"after"]


def test_a_real_segment_cut_at_every_byte_is_read_up_to_its_last_whole_batch():
    data = REAL.read_bytes()
    ends = [0, 70, 140, 210, len(data)]
    for length in range(len(data)):
        if length in ends:
            assert len(read(data[:length])) == ends.index(length)
            continue
        found = []
        with pytest.raises(BatchError) as error:
            found.extend(batches_of(io.BytesIO(data[:length]), length, 1 << 30))
        begin = max(end for end in ends if end < length)
        assert (error.value.byte, error.value.reaches_end) == (begin, True), length


LENGTH = 73
"""Bytes of a batch of one record with the value `value`."""


@pytest.mark.parametrize("byte", range(8, LENGTH))
def test_a_changed_byte_is_noticed(byte):
    """But for the base offset and the leader epoch, which the checksum does not cover."""
    data = bytearray(batch(5, ["value"], 3))
    assert len(data) == LENGTH
    data[byte] ^= 0x40
    if byte in range(12, 16):
        assert read(bytes(data))[0].header.base_offset == 5
    else:
        with pytest.raises(BatchError):
            read(bytes(data))


@pytest.mark.parametrize(
    ("data", "kind", "byte", "statement"),
    [
        (
            batch(0, ["a"], magic=1),
            OldFormatError,
            0,
            "a batch of message format 1, from before Kafka 0.11, is not read",
        ),
        (
            batch(0, ["a"], magic=0),
            OldFormatError,
            0,
            "a batch of message format 0, from before Kafka 0.11, is not read",
        ),
        (b"x" * 100, OldFormatError, 0, "not a record batch, or a batch of the unknown message format 120"),
        (
            batch(0, ["a"]) + bytes(40),
            BatchError,
            69,
            "the file has only 40 bytes of this batch, which needs at least 61",
        ),
        (batch(0, ["a"]) + bytes(99), BatchError, 69, "only zeros from here to the end, 99 bytes"),
        (batch(0, ["a"])[:60], BatchError, 0, "the file has only 60 of the 69 bytes of this batch"),
        (batch(0, ["a"])[:68], BatchError, 0, "the file has only 68 of the 69 bytes of this batch"),
        (batch(0, ["a"], count=2), BatchError, 0, "a batch cannot have 2 records from offset 0 to offset 0"),
        (batch(-1, ["a"]), BatchError, 0, "a batch cannot have 1 records from offset -1 to offset -1"),
        (batch(0, ["a"], last_delta=-1), BatchError, 0, "a batch cannot have 1 records from offset 0 to offset -1"),
        (batch((1 << 63) - 1, ["a"]), BatchError, 0, "a batch cannot have 1 records from offset 9223372036854775807"),
    ],
)
def test_what_is_no_batch(data, kind, byte, statement):
    with pytest.raises(kind) as error:
        read(data)
    assert error.value.byte == byte
    assert error.value.what.startswith(statement)


@pytest.mark.parametrize(
    ("length", "statement"),
    [
        (0x7FFFFFFF, "a batch says that its length is 2147483647; only batches of up to 104857600 bytes are read"),
        (-1, "a batch says that its length is -1; the length of a batch is at least 49"),
        (48, "a batch says that its length is 48; the length of a batch is at least 49"),
    ],
)
def test_absurd_lengths(length, statement):
    data = batch(0, ["a"])
    with pytest.raises(BatchError) as error:
        read(data[:8] + length.to_bytes(4, "big", signed=True) + data[12:])
    assert (error.value.what, error.value.reaches_end) == (statement, False)


def test_no_more_bytes_are_read_than_allowed():
    data = batch(0, ["a"]) + batch(1, ["b"])
    file = io.BytesIO(data)
    with pytest.raises(LimitError) as error:
        list(batches_of(file, len(data), 100))
    assert (error.value.byte, file.tell()) == (69, 69 + 61)


def test_a_gzipped_batch_is_read_and_another_is_not():
    (one,) = read(batch(7, ["a", "b"], attributes=GZIP))
    assert [(record.offset, record.value) for record in records_in(one)] == [(7, b"a"), (8, b"b")]
    (other,) = read(batch(7, ["a", "b"], attributes=ZSTD))
    with pytest.raises(UnreadRecordsError, match="compressed with zstd, of which only the header is read"):
        list(records_in(other))


def test_a_small_batch_that_would_become_large_is_not_decompressed():
    (one,) = read(batch(0, ["a"], attributes=GZIP, body=bytes(MOST_BYTES_OF_RECORDS + 1)))
    assert len(one.body) * 500 < MOST_BYTES_OF_RECORDS
    with pytest.raises(UnreadRecordsError, match="more than 67108864 bytes uncompressed"):
        list(records_in(one))


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\xff" * 12,
        varint(100) + b"\0",
        varint(-5) + b"\0" * 9,
        varint(8) + b"\0" + varint(0) + varint(5) + varint(-1) + varint(-1) + varint(0) + b"\0\0",
        varint(6) + b"\0" + varint(0) + varint(0) + varint(-1) + varint(60) + varint(0),
        varint(6) + b"\0" + varint(0) + varint(0) + varint(-1) + varint(-1) + varint(0) + b"more",
    ],
)
def test_malformed_records_with_a_right_checksum(body):
    (one,) = read(batch(0, ["a"], body=body))
    with pytest.raises(BatchError, match="the checksum is right, but the records cannot be read"):
        list(records_in(one))


@given(st.binary(max_size=200))
def test_any_records_are_read_or_refused(body):
    (one,) = read(batch(0, ["a", "b", "c"], body=body))
    with suppress(BatchError):
        assert len(list(records_in(one))) == 3


@given(st.integers(0, 282), st.integers(0, 282), st.binary(max_size=80))
def test_a_segment_with_other_bytes_in_it_is_read_up_to_them(first, last, between):
    real = REAL.read_bytes()
    data = real[:first] + between + real[last:]
    found, before = [], [end for end in (70, 140, 210) if end <= first]
    with suppress(BatchError):
        found.extend(batches_of(io.BytesIO(data), len(data), 1 << 30))
    assert len(found) >= len(before)
    assert [one.byte + 70 for one in found][: len(before)] == before
