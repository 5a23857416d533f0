"""What each release of KRaft does, patch by patch and feature level by feature level, held against Kafka's sources.

The rows are written from the sources (branches 3.9 to 4.4 and trunk of August 2026), and compared with the whole
configuration of the instance that is searched: not with the names of generations.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from isrcheck.checker.answers.planning import numbers
from isrcheck.checker.cluster.cluster import Cluster
from isrcheck.checker.cluster.formats.registry import read_clusters
from isrcheck.checker.cluster.generation import transactions_generation
from isrcheck.checker.cluster.releases import releases, version_of_binaries
from isrcheck.models.kafka.generations import MODEL
from isrcheck.models.kafka.state.values import BrokerStateCheck
from isrcheck.models.transactions.generations import MODEL as TRANSACTIONS

ELR_ON, ELR_OFF = "eligible.leader.replicas.version=1", "eligible.leader.replicas.version=0"


def read(*lines: str, version: str | None, metadata_version: str | None = None) -> Cluster:
    Path("server.properties").write_text("\n".join(("process.roles=broker,controller", "node.id=1", *lines)) + "\n")
    (found,) = read_clusters([(None, Path("server.properties"))], version, metadata_version=metadata_version).clusters
    return found


def switches_of(cluster: Cluster) -> dict[str, int]:
    """The values of all switches of the instance that is searched for a cluster."""
    generation = cluster.generation
    assert generation.why_undecided is None
    instance = MODEL.instance(generation.protocol, numbers(MODEL, generation.switches))
    return {name: value for name, value in instance.configuration.items() if name.isupper()}


RULES = (
    "RESTART_BEFORE_FENCING",
    "RESPONSE_EPOCH_MATCHED",
    "ELR",
    "LAST_KNOWN_LEADER_IS_ACTIVE",
    "ASSIGNED_DIRECTORY_ERASES_ELR",
    "REASSIGNED_ONCE_ADDED",
)
OF_ELR = ("LAST_KNOWN_LEADER_IS_ACTIVE", "ASSIGNED_DIRECTORY_ERASES_ELR")
"""The rules that make no difference without eligible leader replicas."""

WITH_ELR = {"ELR", "LAST_KNOWN_LEADER_IS_ACTIVE", "RESPONSE_EPOCH_MATCHED"}
"""The rules of every release since 4.1 with eligible leader replicas."""


@pytest.mark.parametrize(
    ("version", "metadata_version", "lines", "on"),
    [
        # KAFKA-18106 until 4.0; KAFKA-18991 in 3.9.1, 4.0.1 and 4.1.
        ("3.7", None, (), {"RESTART_BEFORE_FENCING"}),
        ("3.8.1", None, (), {"RESTART_BEFORE_FENCING"}),
        ("3.9.0", None, (), {"RESTART_BEFORE_FENCING"}),
        ("3.9.1", None, (), {"RESTART_BEFORE_FENCING", "RESPONSE_EPOCH_MATCHED"}),
        ("3.9.2", None, (), {"RESTART_BEFORE_FENCING", "RESPONSE_EPOCH_MATCHED"}),
        ("4.0.0", None, (), set()),
        ("4.0.1", None, (), {"RESPONSE_EPOCH_MATCHED"}),
        # In 4.0 the feature is off unless somebody has turned it on; the last known leader may be down (KAFKA-19522).
        ("4.0.0", None, (ELR_ON,), {"ELR", "ASSIGNED_DIRECTORY_ERASES_ELR"}),
        ("4.0.1", None, (ELR_ON,), {"ELR", "ASSIGNED_DIRECTORY_ERASES_ELR", "RESPONSE_EPOCH_MATCHED"}),
        ("4.1.0", "4.0-IV3", (), {"RESPONSE_EPOCH_MATCHED"}),
        *(
            (version, metadata_version, lines, WITH_ELR | {"ASSIGNED_DIRECTORY_ERASES_ELR"})
            for version in ("4.1", "4.1.1", "4.2", "4.2.1")
            for metadata_version, lines in ((None, ()), ("4.1-IV0", ()), ("4.0-IV3", (ELR_ON,)))
        ),
        # KAFKA-19975, and a report of a directory that leaves the ELR alone: 4.3.
        *(
            (version, metadata_version, lines, WITH_ELR | {"REASSIGNED_ONCE_ADDED"})
            for version in ("4.3", "4.3.1", "4.4", "4.5")
            for metadata_version, lines in ((None, ()), ("4.1-IV1", ()), ("4.0-IV1", (ELR_ON,)))
        ),
        ("4.2", None, (ELR_OFF,), {"RESPONSE_EPOCH_MATCHED"}),
        ("4.2", "4.2-IV1", (ELR_OFF,), {"RESPONSE_EPOCH_MATCHED"}),
        ("4.4", "4.4-IV2", (ELR_OFF,), {"RESPONSE_EPOCH_MATCHED", "REASSIGNED_ONCE_ADDED"}),
        ("4.4", "4.0-IV3", (), {"RESPONSE_EPOCH_MATCHED", "REASSIGNED_ONCE_ADDED"}),
    ],
)
def test_each_release_has_the_rules_of_its_source(
    version: str, metadata_version: str | None, lines: tuple[str, ...], on: set[str]
) -> None:
    found = switches_of(read(*lines, version=version, metadata_version=metadata_version))
    compared = [name for name in RULES if "ELR" in on or name not in OF_ELR]
    assert {name for name in compared if found[name]} == on


@pytest.mark.parametrize(
    ("metadata_version", "check", "is_raised"),
    [
        ("3.4-IV0", BrokerStateCheck.FENCED, True),
        ("3.5-IV0", BrokerStateCheck.FENCED, True),
        ("3.5-IV1", BrokerStateCheck.BROKER_EPOCH, True),
        ("3.6-IV0", BrokerStateCheck.BROKER_EPOCH, False),
        ("4.0-IV3", BrokerStateCheck.BROKER_EPOCH, False),
    ],
)
@pytest.mark.parametrize("version", ["3.7", "3.9.1", "4.0", "4.1.1", "4.2", "4.3", "4.4", "4.5"])
def test_an_upgraded_cluster_keeps_the_rules_of_its_metadata_version(
    version: str, metadata_version: str, check: BrokerStateCheck, *, is_raised: bool
) -> None:
    """KIP-903 needs 3.5-IV1, KAFKA-15021 needs 3.6-IV0; ELR is off unless the feature was raised."""
    if metadata_version > version:
        metadata_version = "3.7-IV4"
    found = switches_of(read(version=version, metadata_version=metadata_version))
    assert (found["BROKER_STATE_CHECK"], bool(found["EPOCH_BUMP_ON_SHRINK"])) == (check, is_raised)
    assert not found["ELR"]


@pytest.mark.parametrize(("version", "is_matched"), [("3.8", False), ("3.9", False), ("3.9.0", False), ("3.9.1", True)])
def test_kafka_18991_is_repaired_with_zookeeper_too(version: str, *, is_matched: bool) -> None:
    Path("z").write_text("broker.id=1\nzookeeper.connect=a:2181\n")
    (cluster,) = read_clusters([(None, Path("z"))], version).clusters
    assert cluster.generation.protocol == "2.8"
    assert bool(switches_of(cluster)["RESPONSE_EPOCH_MATCHED"]) is is_matched


def test_every_generation_and_every_release_has_its_place() -> None:
    kraft = [one for one in releases() if version_of_binaries(one).has("3.3")]
    assert kraft[-1] == "4.5"
    used = {read(version=one).generation.protocol for one in kraft}
    assert used == {one for one in MODEL.protocols if version_of_binaries(one).has("3.3")}
    # A generation of transactions without a release would never be searched.
    patches = [version_of_binaries(one) for one in (*releases(), "4.0.1") if version_of_binaries(one).has("0.11.0")]
    assert {transactions_generation(one, level) for one in patches for level in (0, 2)} == set(TRANSACTIONS.protocols)
