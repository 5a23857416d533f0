"""Racks of brokers: from property files, the output of kafka-broker-api-versions, and kafka-configs."""

from __future__ import annotations

from pathlib import Path

import pytest

from isrcheck.checker.cluster.formats.describe import KAFKA_TOOLS
from isrcheck.checker.cluster.formats.format import Part
from isrcheck.checker.cluster.formats.registry import format_of, read_clusters
from isrcheck.checker.cluster.property_files import PropertiesError
from isrcheck.checker.cluster.releases import Role

SINCE_4_0 = """\
a.example:9092 (id: 1 rack: az1 isFenced: false) -> (
\tProduce(0): 0 to 13 [usable: 13],
\tFetch(1): 4 to 18 [unusable: node too new],
\tUNKNOWN(99): 0,
\tUpdateFeatures(57): UNSUPPORTED
)
[::1]:9093 (id: 2 rack: us east 1 isFenced: true) -> ERROR: Timed out
c:9094 (id: 3 rack: null isFenced: false) -> (
)
"""
TO_3_9 = "a:9092 (id: 1 rack: az1) -> (\n\tProduce(0): 0 to 8 [usable: 7]\n)\nb:9092 (id: 2 rack: null) -> (\n)\n"
CONFIGS = "All configs for broker 4 are:\n  broker.rack=az4 sensitive=false synonyms={}\n"
CONFIGS += "  broker.id=4 sensitive=false synonyms={}\n"
SERVER = "broker.id=7\nbroker.rack=az1\n"


@pytest.fixture
def racks(tmp_path, monkeypatch):
    """Read the racks in descriptions and in files of brokers."""
    monkeypatch.chdir(tmp_path)

    def read(*described, brokers=()):
        names = [f"{number}.txt" for number in range(len(described))]
        files = [(Role.BROKER, Path(f"{number}.properties")) for number in range(len(brokers))]
        for path, text in [
            *zip(names, described, strict=True),
            *zip((file for _, file in files), brokers, strict=True),
        ]:
            Path(path).write_text(text, encoding="utf-8")
        return read_clusters(files, "4.1", names).racks

    return read


@pytest.mark.parametrize(
    ("described", "brokers", "expected"),
    [
        ([SINCE_4_0], [], {1: "az1", 2: "us east 1"}),
        ([TO_3_9], [], {1: "az1"}),
        ([CONFIGS], [], {4: "az4"}),
        ([], [SERVER, SERVER.replace("7", "8")], {7: "az1", 8: "az1"}),
        ([], [SERVER.replace("broker.id", "node.id") + "broker.id=7\n"], {7: "az1"}),
        ([], ["broker.rack=az1\n", "broker.id=3\n", "broker.id=-1\nbroker.rack=az1\n"], {}),
        ([TO_3_9], [SERVER.replace("7", "1")], {1: "az1"}),
    ],
)
def test_racks(racks, described, brokers, expected):
    assert racks(*described, brokers=brokers) == expected


def test_contradictory_racks(racks):
    with pytest.raises(PropertiesError) as refusal:
        racks(TO_3_9, brokers=["broker.id=1\nbroker.rack=az2\n"])
    place = "0.properties:2: node 1 is in rack az2 here, and in rack az1 in another place"
    assert str(refusal.value) == f"{place}; keep the place that is right"


def test_the_output_is_recognised():
    assert format_of(Part(Path("nodes.txt"), TO_3_9)) is KAFKA_TOOLS
