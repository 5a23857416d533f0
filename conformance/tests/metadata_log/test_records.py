"""Records of the metadata log from bytes: those of a real Kafka, field by field, and other bytes."""

from __future__ import annotations

import random
import struct

import pytest

from conformance.tests.metadata_log.building import brokers, change, message, real, spelled_id, text, topic_id, unsigned
from isrcheck.checker.cluster.live.cursor import MalformedError
from isrcheck.conformance.kafka_format.metadata_records import MESSAGES, SKIPPED, record_of

NO_CHANGE = {
    "isr": None,
    "leader": -2,
    "replicas": None,
    "removing_replicas": None,
    "adding_replicas": None,
    "leader_recovery_state": -1,
    "eligible_leader_replicas": None,
    "last_known_elr": None,
}


@pytest.fixture(scope="module")
def unclean():
    return {record.offset: record for record in real("unclean")}


@pytest.mark.parametrize(
    ("offset", "name", "fields"),
    [
        (1, "BeginTransactionRecord", {"name": "Bootstrap records"}),
        (2, "FeatureLevelRecord", {"name": "metadata.version", "feature_level": 33}),
        (
            8,
            "ConfigRecord",
            {"resource_type": 4, "resource_name": "", "name": "min.insync.replicas", "value": "2"},
        ),
        (9, "EndTransactionRecord", {}),
        (11, "RegisterControllerRecord", {}),
        (12, "NoOpRecord", {}),
        (
            17,
            "BrokerRegistrationChangeRecord",
            {"broker_id": 3, "broker_epoch": 14, "fenced": -1, "in_controlled_shutdown": 0, "log_dirs": None},
        ),
        (28, "TopicRecord", {"name": "t", "topic_id": "CVNYVw8nTpmLSh3N1snM_A"}),
        (30, "ClearElrRecord", {"topic_name": "t"}),
        (
            31,
            "PartitionRecord",
            {
                "partition_id": 0,
                "topic_id": "CVNYVw8nTpmLSh3N1snM_A",
                "replicas": (1, 2, 3),
                "isr": (1, 2, 3),
                "removing_replicas": (),
                "adding_replicas": (),
                "leader": 1,
                "leader_epoch": 0,
                "partition_epoch": 0,
                "directories": ("ja-vmrWw5n1246HrN4wmAg", "TTWsVUqV_FPfBtXfUee2Lw", "36KtxaIrkZPHcH8Lb7JUOw"),
                "leader_recovery_state": 0,
                "eligible_leader_replicas": None,
                "last_known_elr": None,
            },
        ),
        (
            96,
            "PartitionChangeRecord",
            {
                **NO_CHANGE,
                "partition_id": 0,
                "topic_id": "CVNYVw8nTpmLSh3N1snM_A",
                "isr": (),
                "leader": -1,
                "eligible_leader_replicas": (1,),
                "last_known_elr": (1,),
            },
        ),
    ],
)
def test_a_record_of_a_real_kafka(unclean, offset, name, fields):
    record = record_of(unclean[offset].value)
    assert (record.name, record.fields) == (name, fields)


def test_a_registration_of_a_real_kafka(unclean):
    fields = dict(record_of(unclean[14].value).fields)
    assert [feature["name"] for feature in fields.pop("features")][:2] == ["share.version", "metadata.version"]
    assert fields == {
        "broker_id": 3,
        "is_migrating_zk_broker": False,
        "incarnation_id": "y_t00a2hReqcS3fe8duPXw",
        "broker_epoch": 14,
        "end_points": ({"name": "PLAINTEXT", "host": "127.0.0.1", "port": 29503, "protocol": 0},),
        "rack": None,
        "fenced": True,
        "in_controlled_shutdown": False,
    }


def test_no_kind_is_both_decoded_and_skipped():
    assert not set(MESSAGES) & set(SKIPPED)


@pytest.mark.parametrize(
    ("value", "name", "fields"),
    [
        (message(1, 0, struct.pack(">iq", 4, 99)), "UnregisterBrokerRecord", {"broker_id": 4, "broker_epoch": 99}),
        (message(7, 0, struct.pack(">iq", 4, 99)), "FenceBrokerRecord", {"broker_id": 4, "broker_epoch": 99}),
        (message(9, 0, topic_id("t")), "RemoveTopicRecord", {"topic_id": spelled_id("t")}),
        (message(24, 0, b""), "EndTransactionRecord", {}),
        (message(25, 0, b"", {0: text("why")}), "AbortTransactionRecord", {"reason": "why"}),
        (message(15, 0, b"whatever follows"), "ProducerIdsRecord", {}),
        (message(99, 7, b"whatever follows"), "unknown record 99", {}),
        # a tagged field that this version does not have, and one that nobody knows
        (
            message(5, 1, struct.pack(">i", 2) + topic_id("t"), {6: brokers(1), 77: b"new"}),
            "PartitionChangeRecord",
            {**NO_CHANGE, "partition_id": 2, "topic_id": spelled_id("t")},
        ),
        (
            message(4, 0, b"\4" + text("1") + text("ssl.keystore.password") + b"\0"),
            "ConfigRecord",
            {"resource_type": 4, "resource_name": "1", "name": "ssl.keystore.password", "value": None},
        ),
    ],
)
def test_a_record(value, name, fields):
    record = record_of(value)
    assert (record.name, record.fields) == (name, fields)


@pytest.mark.parametrize(
    ("value", "defect"),
    [
        (None, "the frame gives a length of 1, but has only 0 bytes left"),
        (b"\0\5\2", "not a record of the metadata log: its frame version is 0, not 1"),
        (message(5, 3, b""), "PartitionChangeRecord of version 3; the versions 0 to 2 are known"),
        (message(9, 0, topic_id("t")) + b"more", "RemoveTopicRecord of version 0 with 4 bytes after its end"),
        (message(2, 0, b"\0" + topic_id("t")), "TopicRecord: name is null"),
        (message(2, 0, b"\2\xff" + topic_id("t")), "TopicRecord: a string that is not UTF-8"),
        (
            message(25, 0, b"", {0: text("why") + b"more"}),
            "AbortTransactionRecord: 4 bytes after the end of the tagged field reason",
        ),
        (
            message(5, 2, struct.pack(">i", 0) + topic_id("t"), {0: unsigned(1 << 30)}),
            "PartitionChangeRecord: the frame gives a length of 1073741823, but has only 0 bytes left",
        ),
    ],
)
def test_bytes_that_are_no_record(value, defect):
    with pytest.raises(MalformedError) as error:
        record_of(value)
    assert str(error.value) == defect


def test_a_record_that_is_cut_off_is_refused(unclean):
    for record in unclean.values():
        if not record.is_control and record_of(record.value).fields:
            for end in range(len(record.value)):
                with pytest.raises(MalformedError):
                    record_of(record.value[:end])


def test_any_bytes_are_read_or_refused():
    chance = random.Random(7)
    for _ in range(3000):
        value = bytearray(change("t", 0, isr=(1, 2), leader=2, elr=(3,)))
        for _ in range(chance.randint(1, 3)):
            value[chance.randrange(3, len(value))] = chance.randrange(256)
        try:
            record_of(bytes(value))
        except MalformedError:
            continue
