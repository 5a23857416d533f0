"""Bodies are decoded as kio's own codec writes them, and record batches as the recordings of Kafka 3.9 have them."""

import dataclasses
import io
import random
import struct
import uuid
from datetime import UTC, datetime, timedelta
from typing import get_args, get_origin, get_type_hints

import pytest
from kio.index import load_request_schema, load_response_schema
from kio.records.schema import NewRecordBatch
from kio.records.schema import Record as KafkaRecord
from kio.records.writers import write_new_batch
from kio.schema.errors import ErrorCode
from kio.schema.index import api_key_map, schema_name_map
from kio.serial import entity_writer
from kio.static.primitive import TZAwareMicros, i8, i16, i32, i64

from conformance.tests.audit.building import GZIP
from conformance.tests.audit.building import batch as built
from conformance.tests.support.replay import steps_in
from isrcheck.conformance.wire.recording import decoding
from isrcheck.conformance.wire.recording import decoding as batches
from isrcheck.conformance.wire.recording.decoding import SECRET, Bounded, UndecodedError, batches_of, body_of, name_of

LATEST = [
    (kind, key, max(schema_name_map[name]))
    for key, name in sorted(api_key_map.items())
    if key not in SECRET
    for kind in ("request", "response")
]
COMMON = [
    (kind, key, version)
    for key, versions in {0: (3, 9, 11), 1: (4, 11, 12, 15), 3: (0, 9), 18: (0, 2), 56: (0, 2)}.items()
    for version in versions
    for kind in ("request", "response")
    if version in schema_name_map[api_key_map[key]]
]


def example(schema, chosen):
    """A random entity, with what `body_of` should make of it: an object."""
    hints = get_type_hints(schema)
    values, plain = {}, {}
    for each in dataclasses.fields(schema):
        kind = each.metadata.get("kafka_type")
        values[each.name], plain[each.name] = value_of(hints[each.name], kind, chosen)
    return schema(**values), plain


def value_of(hint, kind, chosen):
    inner = [each for each in get_args(hint) if each not in (type(None), Ellipsis)]
    if get_origin(hint) is tuple:
        found = [value_of(inner[0], kind, chosen) for _ in range(chosen.randrange(3))]
        return tuple(one for one, _ in found), [plain for _, plain in found]
    if type(None) in get_args(hint):
        return (None, None) if chosen.random() < 0.3 else value_of(inner[0], kind, chosen)
    if kind is None:
        return example(hint, chosen)
    if kind.startswith("timedelta"):
        number = chosen.randrange(100_000)
        return timedelta(milliseconds=number), number / 1000
    if kind == "datetime_i64":
        number = chosen.randrange(10**9)
        return datetime.fromtimestamp(number, UTC), float(number)
    if kind == "error_code":
        found = chosen.choice(list(ErrorCode))
        return found, found.name
    if kind == "uuid":
        found = uuid.UUID(int=chosen.randrange(1, 2**128))
        return found, str(found)
    if kind == "records":
        return b"", []
    if kind == "bytes":
        return b"\xff\0", {"hex": "ff00"}
    found = {"bool": True, "string": "äb" * chosen.randrange(3), "float64": 0.25}.get(kind, chosen.randrange(128))
    return found, found


def frame_of(kind, key, version, body):
    schema = type(body)
    header = schema.__header_schema__
    given = {"correlation_id": i32(9)}
    if kind == "request":
        given |= {"request_api_key": i16(key), "request_api_version": i16(version)}
        if "client_id" in {each.name for each in dataclasses.fields(header)}:
            given["client_id"] = "me"
    with io.BytesIO() as buffer:
        entity_writer(header)(buffer, header(**given))
        start = buffer.tell()
        entity_writer(schema)(buffer, body)
        return buffer.getvalue(), start


@pytest.mark.parametrize("apis", [LATEST, COMMON], ids=["latest versions", "older versions"])
def test_bodies_are_decoded_as_kio_writes_them(apis):
    chosen = random.Random(1)
    for kind, key, version in apis:
        schema = (load_request_schema if kind == "request" else load_response_schema)(key, version)
        for _ in range(3):
            body, plain = example(schema, chosen)
            data, start = frame_of(kind, key, version, body)
            assert body_of(kind, key, version, data) == plain, (kind, key, version)
        for end in range(start, len(data), 1 + len(data) // 20):
            if (kind, key) != ("response", 18):  # it may be the answer of version 0
                with pytest.raises(UndecodedError):
                    body_of(kind, key, version, data[:end])


def test_random_bytes_are_refused_or_decoded_and_nothing_else_happens():
    chosen = random.Random(2)
    outcomes = set()
    for kind, key, version in LATEST * 10:
        data = struct.pack(">hhih", key, version, 1, -1) + bytes(
            chosen.choices((0, 0, 0, 1, 255), k=chosen.randrange(40))
        )
        try:
            body_of(kind, key, version, data)
            outcomes.add("decoded")
        except UndecodedError:
            outcomes.add("refused")
    assert outcomes == {"decoded", "refused"}


def test_a_small_frame_cannot_announce_too_many_values(monkeypatch):
    most = 100
    monkeypatch.setattr(decoding, "MOST_VALUES", most)
    data = struct.pack(">hhih", 3, 0, 1, -1) + struct.pack(">i", most + 1) + b"\0\0" * (most + 1)
    with pytest.raises(UndecodedError, match="more than 100 values"):
        body_of("request", 3, 0, data)
    data = struct.pack(">hhih", 3, 0, 1, -1) + struct.pack(">i", most) + b"\0\0" * most
    assert len(body_of("request", 3, 0, data)["topics"]) == most


def test_the_answer_to_an_unknown_version_of_api_versions_is_of_version_0():
    data = struct.pack(">ihi", 1, 35, 1) + struct.pack(">hhh", 18, 0, 3)
    keys = [{"api_key": 18, "min_version": 0, "max_version": 3}]
    assert body_of("response", 18, 3, data) == {"error_code": "unsupported_version", "api_keys": keys}


def test_bodies_with_secrets_are_not_decoded():
    with pytest.raises(UndecodedError, match="SaslAuthenticate may contain secrets"):
        body_of("request", 36, 2, b"")
    assert {name_of(key) for key in SECRET} == {
        *steps_in("AlterConfigs; IncrementalAlterConfigs; SaslAuthenticate; AlterUserScramCredentials; Envelope"),
        *(f"{verb}DelegationToken" for verb in ("Create", "Renew", "Expire", "Describe")),
    }


def test_apis_that_kafka_has_removed_keep_their_names():
    assert (name_of(4), name_of(56), name_of(999)) == ("LeaderAndIsr", "AlterPartition", "api 999")


# ------------------------------------------------------------------------------------------------------------ batches


def batch(*values, attributes=0, base_offset=0, key=None):
    records = tuple(
        KafkaRecord(
            attributes=i8(0),
            timestamp=TZAwareMicros.parse(datetime(2020, 1, 1, tzinfo=UTC)),
            offset=i64(number),
            key=key,
            value=value,
            headers=(),
        )
        for number, value in enumerate(values)
    )
    with io.BytesIO() as buffer:
        write_new_batch(
            buffer,
            NewRecordBatch(
                producer_id=i64(-1),
                producer_epoch=i16(-1),
                partition_leader_epoch=i32(2),
                base_sequence=i32(-1),
                records=records,
                attributes=i16(attributes),
            ),
        )
        return struct.pack(">q", base_offset) + buffer.getvalue()[8:]


def test_batches_have_the_words_of_the_recordings():
    """The first batch is the one of line 20 of the recording `steady`, up to its leader epoch."""
    common = {"leader_epoch": 2, "producer_id": -1, "producer_epoch": -1, "base_sequence": -1}
    found = batches_of(
        batch(b"m0") + batch(b"\0" * 6, None, attributes=0x30, base_offset=7, key=b"\0\0\0\1"), Bounded(b"")
    )
    assert found == [
        {
            "base_offset": 0,
            **common,
            "transactional": False,
            "control": False,
            "records": [{"offset": 0, "key": None, "value": "m0"}],
        },
        {
            "base_offset": 7,
            **common,
            "transactional": True,
            "control": True,
            "records": [
                {"offset": 7, "key": {"hex": "00000001"}, "value": {"hex": "000000000000"}},
                {"offset": 8, "key": {"hex": "00000001"}, "value": None},
            ],
        },
    ]
    assert list(found[0]) == ["base_offset", *common, *steps_in("transactional; control; records")]


def test_what_is_no_batch_is_named_with_its_size():
    good = batch(b"m0")
    cut_off = {"undecoded": "a batch that is cut off", "size": len(good) - 1}
    assert batches_of(good + good[:-1], Bounded(b""))[1] == cut_off
    assert batches_of(good[:9], Bounded(b"")) == [{"undecoded": "a batch that is cut off", "size": 9}]
    old = good[:16] + b"\1" + good[17:]
    assert batches_of(old, Bounded(b"")) == [{"undecoded": "no batch of magic 2", "size": len(good)}]
    assert batches_of(bytes(70), Bounded(b"")) == [{"undecoded": "no batch of magic 2", "size": 70}]
    for codec, why in ((2, "compressed: snappy"), (3, "compressed: lz4, and damaged")):
        (compressed,) = batches_of(good[:22] + bytes([codec]) + good[23:], Bounded(b""))
        assert (compressed["undecoded"], "records" in compressed) == (why, False)
    (many,) = batches_of(good[:57] + struct.pack(">I", 9) + good[61:], Bounded(b""))
    assert many["undecoded"] == "its records cannot be read"


def test_a_batch_compressed_with_gzip_is_decoded() -> None:
    (found,) = batches_of(built(3, ["a", "b"], attributes=GZIP), Bounded(b""))
    assert [(record["offset"], record["value"]) for record in found["records"]] == [(3, "a"), (4, "b")]


def test_a_compressed_batch_has_a_largest_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batches, "MOST_BYTES", 1 << 20)
    (found,) = batches_of(built(0, ["x" * (2 << 20)], attributes=GZIP), Bounded(b""))
    assert found["undecoded"] == "compressed: gzip, and more than 1 MiB when decompressed"
    cut = built(0, ["x"], attributes=GZIP)
    (found,) = batches_of(cut[:8] + struct.pack(">i", len(cut) - 16) + cut[12:-4], Bounded(b""))
    assert found["undecoded"] == "compressed: gzip, and cut off"
