"""A reading as a file: it gives the same answer offline, and a damaged file is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from conformance.tests.checker.cluster.live.stub import Part, StubCluster, served
from isrcheck.checker.cluster.live.address import read_addresses
from isrcheck.checker.cluster.live.reader import Request, read_cluster
from isrcheck.checker.cluster.live.security import Security
from isrcheck.checker.cluster.live.snapshot import Snapshot, is_snapshot, read_snapshot, save
from isrcheck.checker.cluster.property_files import PropertiesError
from isrcheck.models.messages import UsageError


def snapshot() -> Snapshot:
    cluster = StubCluster(
        topics={"orders": [Part(elr=(3,), isr=(1, 2)), Part(elr=None, last_known_elr=None)]},
        topic_configs={"orders": {"min.insync.replicas": ("2", "topic")}},
    )
    with served(cluster):
        return read_cluster(Request(read_addresses("x", cluster.address), Security()))


def test_a_saved_reading_is_the_same(tmp_path: Path) -> None:
    read, file = snapshot(), tmp_path / "cluster.json"
    save(read, file)
    text = file.read_text(encoding="utf-8")
    assert text.startswith('{"isrcheck_snapshot":1,"server":"127.0.0.1:')
    assert read_snapshot(text, file) == read
    pretty = json.dumps(json.loads(text), indent=2)
    assert is_snapshot(text)
    assert is_snapshot(pretty)
    assert read_snapshot(pretty, file) == read
    in_order = json.dumps(json.loads(text), sort_keys=True)
    assert is_snapshot(in_order)
    assert read_snapshot(in_order, file) == read


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        '{"topics": []}',
        "[]",
        "min.insync.replicas=2",
        '"isrcheck_snapshot"',
        r'{"a": "\"isrcheck_snapshot\": 1"}',
    ],
)
def test_another_file_is_not_a_saved_reading(text: str) -> None:
    assert not is_snapshot(text)


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as failed:
        save(snapshot(), tmp_path / "no" / "cluster.json")
    says = f"--save {tmp_path}/no/cluster.json: No such file or directory; give another name, or make room"
    assert str(failed.value) == says


def cut(text: str) -> str:
    return text[:200]


def changed(change: Callable[[dict[str, Any]], None]) -> Callable[[str], str]:
    def damage(text: str) -> str:
        content = json.loads(text)
        change(content)
        return json.dumps(content)

    return damage


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (cut, "Unterminated string starting at"),
        (changed(lambda content: content.pop("topics")), "the snapshot has not exactly the keys server, read_at, "),
        (changed(lambda content: content.update(more=1)), "the snapshot has not exactly the keys server, read_at, "),
        (changed(lambda content: content.update(server=9)), "server is of another type"),
        (changed(lambda content: content.update(topics={})), "topics is of another type"),
        (changed(lambda content: content["topics"][0]["partitions"][0].update(isr=[True])), "isr is of another type"),
        (changed(lambda content: content["brokers"][0].update(id=None)), "id is of another type"),
        (
            changed(lambda content: content["topics"][0]["partitions"][0].update(isr=[1, 9])),
            "broker 9 is in the ISR of orders-0, but not a replica of it",
        ),
        (
            changed(lambda content: content["topics"][0]["partitions"][0].update(leader=-1)),
            "broker -1 leads orders-0, but is not a replica of it; no leader is null",
        ),
    ],
)
def test_a_damaged_file_is_refused(damage: Callable[[str], str], reason: str, tmp_path: Path) -> None:
    file = tmp_path / "cluster.json"
    save(snapshot(), file)
    with pytest.raises(PropertiesError) as refused:
        read_snapshot(damage(file.read_text(encoding="utf-8")), Path("c.json"))
    start, end = "c.json: a damaged snapshot (", "); read the cluster again, with --save"
    says = str(refused.value)
    assert says.startswith(start + reason)
    assert says.endswith(end)


def test_a_file_of_another_version(tmp_path: Path) -> None:
    file = tmp_path / "cluster.json"
    save(snapshot(), file)
    text = file.read_text(encoding="utf-8").replace('_snapshot":1', '_snapshot":2')
    with pytest.raises(PropertiesError) as refused:
        read_snapshot(text, Path("c.json"))
    assert str(refused.value) == "c.json: a snapshot of another version of isrcheck; read the cluster again"
