"""Output of kcat, rpk, kafka-metadata-quorum and the AWS command line."""

from __future__ import annotations

import base64
import json

import pytest

from conformance.tests.checker.cluster.formats.files import described, refused, settings, topics
from isrcheck.checker.cluster.contents import Partition
from isrcheck.checker.cluster.versions import Evidence, Mode

KCAT = """\
Metadata for all topics (from broker 1: mybroker:9092/1):
 3 brokers:
  broker 1 at mybroker:9092 (controller)
  broker 2 at other:9092
  broker 3 at third:9092
 1 topics:
  topic "syslog" with 2 partitions:
    partition 0, leader 3, replicas: 1,2,3, isrs: 3,1
    partition 1, leader -1, replicas: 2,1, isrs: 1, Broker: Leader not available
"""
KCAT_JSON = {
    "originating_broker": {"id": 1, "name": "mybroker:9092/1"},
    "query": {"topic": "*"},
    "controllerid": 1,
    "brokers": [{"id": 1, "name": "mybroker:9092"}],
    "topics": [
        {
            "topic": "syslog",
            "partitions": [
                {"partition": 0, "leader": 3, "replicas": [{"id": 1}, {"id": 2}, {"id": 3}],
                 "isrs": [{"id": 3}, {"id": 1}]},
                {"partition": 1, "error": "x", "leader": -1, "replicas": [{"id": 2}, {"id": 1}], "isrs": [{"id": 1}]},
            ],
        }
    ],
}  # fmt: skip
NO_SETTINGS = "no settings of syslog are described: those of the brokers are assumed; describe whole topics"
FEWEST = "partitions of syslog have 2 to 3 replicas: the answer is for the fewest (syslog-1)"


@pytest.mark.parametrize(
    ("text", "places"), [(KCAT, ("f1:8", "f1:9")), (json.dumps(KCAT_JSON), ("f1:1", "f1:1"))], ids=["text", "json"]
)
def test_partitions_of_kcat(text: str, places: tuple[str, str]) -> None:
    found = described(text)
    assert found.topics[0].partitions == (
        Partition("syslog", 0, 3, (1, 2, 3), (3, 1), places[0]),
        Partition("syslog", 1, None, (2, 1), (1,), places[1]),
    )
    assert found.remarks == (NO_SETTINGS, FEWEST)
    assert found.evidence == ()


def test_the_ids_of_brokers_that_are_none_are_refused() -> None:
    assert refused(KCAT.replace("replicas: 1,2,3,", "replicas: a,b,")) == (
        "f1:8: 'partition 0, leader 3, replicas: a,b, isrs: 3,1' is not a line of kcat -L; describe again"
    )
    assert refused(KCAT.replace("replicas: 2,1,", "replicas: 2,")) == (
        "f1:9: syslog-1 has members of its ISR that are no replicas; describe again"
    )
    assert refused(KCAT.replace('  topic "syslog"', "  #")) == "f1:8: -0 has no topic above it; describe again"
    text = json.dumps(KCAT_JSON).replace('"leader": 3', '"leader": "three"')
    assert refused(text) == "f1:1: 'three' is not the id of a broker; describe again"


RPK = [
    {
        "summary": {"name": "orders", "internal": False, "partitions": 3, "replicas": 3, "error": ""},
        "configs": [
            {"key": "cleanup.policy", "value": "delete", "source": "DEFAULT_CONFIG"},
            {"key": "min.insync.replicas", "value": "2", "source": "DYNAMIC_TOPIC_CONFIG"},
        ],
        "partitions": [{"partition": 0, "leader": 1, "epoch": 3, "replicas": [1, 2, 3], "high_watermark": 7}],
    }
]


def test_topics_of_rpk_have_no_isr() -> None:
    found = described(json.dumps(RPK, indent=2))
    assert topics(found) == {"orders": {"min.insync.replicas": "2 (18)", "replication.factor": "3 (3)"}}
    assert found.topics[0].partitions == ()
    assert found.remarks == (
        "f1: rpk does not show which replicas are in sync (give the output of kafka-topics --describe or kcat -L); the"
        " brokers are assumed to be those of Kafka, because Redpanda replicates by Raft",
    )


STATUS = """\
ClusterId:              fMCL8kv1SWm87L_Md-I2hg
LeaderId:               3002
LeaderEpoch:            2
HighWatermark:          10
MaxFollowerLag:         0
MaxFollowerLagTimeMs:   -1
CurrentVoters:          {}
CurrentObservers:       [0,1,2]
"""
SINCE_3_9 = (
    '[{"id": 3000, "directoryId": "ILZ5MPTeRWakmJu99uBJCA", "endpoints": ["CONTROLLER://a:9093"]}, {"id": 3002}]'
)
REPLICATION = (
    "NodeId\tDirectoryId           \tLogEndOffset\tLag\tLastFetchTimestamp\tLastCaughtUpTimestamp\tStatus  \t\n"
    "3002  \tILZ5MPTeRWakmJu99uBJCA\t106         \t0  \t1692962115018     \t1692962115018        \tLeader  \t\n"
    "3001  \tb8f7J7pMTdWKbVfRBjSPVQ\t106         \t0  \t1692962115018     \t1692962115018        \tFollower\t\n"
    "3000  \tb8f7J7pMTdWKbVfRBjSPVA\t106         \t0  \t1692962115018     \t1692962115018        \tFollower\t\n"
    "0     \tILZ5MPTeRWakmJu99uBJCB\t106         \t0  \t1692962115018     \t1692962115018        \tObserver\t\n"
)


@pytest.mark.parametrize(
    ("text", "voters", "place", "remarks"),
    [
        (STATUS.format("[3000,3001,3002]"), (3000, 3001, 3002), "f1:7", ()),
        (REPLICATION, (3000, 3001, 3002), "f1:2", ()),
        (
            STATUS.format(SINCE_3_9),
            (3000, 3002),
            "f1:7",
            (
                "f1:7: the number of voting controllers is 2: the loss of 1 leaves the cluster without an active"
                " controller",
            ),
        ),
    ],
    ids=["to 3.8", "replication", "since 3.9"],
)
def test_the_voters_of_a_quorum(text: str, voters: tuple[int, ...], place: str, remarks: tuple[str, ...]) -> None:
    found = described(text)
    assert (tuple(found.voters), found.active_controller) == (voters, 3002)
    assert found.evidence == (
        Evidence(f"shows voters ({place})", "3.3", mode=Mode.KRAFT, tool="kafka-metadata-quorum"),
    )
    assert found.remarks == remarks


def test_quorums_that_differ_or_lack_voters_are_refused() -> None:
    one, two = STATUS.format("[1,2,3]"), STATUS.format("[1,2,4]")
    assert refused(one, two) == "f2: its voters differ from those of another file; keep the later output"
    assert refused(STATUS.format("[]")) == (
        "f1: no voters are in it; give the output of kafka-metadata-quorum describe"
    )


def test_a_revision_of_an_msk_configuration() -> None:
    text = base64.b64encode(b"min.insync.replicas=1\nunclean.leader.election.enable=false\n").decode()
    found = described(
        json.dumps({"Arn": "arn:aws:kafka:a:1:configuration/c/x", "Revision": 1, "ServerProperties": text})
    )
    assert settings(found)["the MSK configuration"] == {
        "min.insync.replicas": "1 (1)",
        "unclean.leader.election.enable": "false (1)",
        "default.replication.factor": "3 (1)",
        "auto.leader.rebalance.enable": "true (1)",
    }
