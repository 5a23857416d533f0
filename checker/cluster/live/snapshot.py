"""What was read from a running cluster at one time, as plain facts, and its file (`--save`).

Each fact has its place: the broker that said it, and the API of Kafka's protocol. Whatever could not be read is a line
of `unknown`. Secrets never get into a snapshot: values that a broker marks as sensitive are null in its answers, and
values of keys that look like a password are left out.

The file is JSON. The value of `isrcheck_snapshot`, its first key, is the version of the format; the other keys are the
fields of `Snapshot` and of the classes in it, by name.
"""

from __future__ import annotations

import json
import re
import types
from collections.abc import Mapping
from dataclasses import asdict, dataclass, is_dataclass
from functools import cache
from pathlib import Path
from typing import Any, Union, get_args, get_origin, get_type_hints

from isrcheck.checker.cluster.property_files import PropertiesError, printable
from isrcheck.models.messages import UsageError

FORMAT = "isrcheck_snapshot"
VERSION = 1
_KEY = re.compile(rf'"{FORMAT}"\s*:')  # within a string, a quotation mark has a backslash before it


@dataclass(frozen=True, slots=True)
class SettingRead:
    """The value in effect of a key, and where it is set."""

    key: str
    value: str
    source: str
    """`topic`, `broker` (dynamic, of one broker), `cluster` (dynamic, of all brokers), `static` (a broker's file),
    `default`, or `unknown`."""


@dataclass(frozen=True, slots=True)
class BrokerRead:
    """A broker that is up, according to the broker that was asked."""

    id: int
    host: str
    port: int
    rack: str | None
    settings: tuple[SettingRead, ...] | None
    """Its settings in effect, as it says itself; None if it did not say them."""
    newest_metadata: int | None = None
    """The newest level of metadata.version that its binaries support; None if it does not say it."""


@dataclass(frozen=True, slots=True)
class PartitionRead:
    """A partition: its replicas and their states. Brokers are given by their ids."""

    number: int
    leader: int | None
    replicas: tuple[int, ...]
    """The preferred leader first."""
    isr: tuple[int, ...]
    elr: tuple[int, ...] | None
    """The eligible leader replicas. This field and the next are None if the broker does not say them."""
    last_known_elr: tuple[int, ...] | None
    offline: tuple[int, ...] = ()
    """Replicas whose broker or disk is down."""
    adding: tuple[int, ...] = ()
    """The replicas that a reassignment under way adds; the next field has those that it removes."""
    removing: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class TopicRead:
    """A topic with its partitions and settings."""

    name: str
    partitions: tuple[PartitionRead, ...]
    settings: tuple[SettingRead, ...] | None
    """The settings in effect that matter for replication; None if the broker did not say them."""


@dataclass(frozen=True, slots=True)
class FeatureRead:
    """A feature of a KRaft cluster."""

    name: str
    level: int | None
    """The level on which the cluster has agreed; 0 if it is off, None if the broker does not say it."""


@dataclass(frozen=True, slots=True)
class QuorumRead:
    """The quorum of KRaft controllers."""

    leader: int | None
    voters: tuple[int, ...]
    observers: tuple[int, ...]
    behind: tuple[int, ...]
    """The voters that lack records of the metadata log which the leader already has."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What was read from a cluster. `server`, and the hosts and ports of brokers, are the places of facts."""

    server: str
    """The broker that was asked, as HOST:PORT."""
    read_at: str
    """When the reading began, in UTC (ISO 8601)."""
    cluster_id: str | None
    controller: int | None
    """The controller; in a KRaft cluster, the broker that stands for it, which can be any."""
    brokers: tuple[BrokerRead, ...]
    cluster_settings: tuple[SettingRead, ...] | None
    """The dynamic defaults of all brokers; None if the broker did not say them."""
    features: tuple[FeatureRead, ...]
    quorum: QuorumRead | None
    """None if the cluster has ZooKeeper, or if the broker did not say it."""
    apis: tuple[int, ...]
    """The keys of the APIs that the broker answers, from which follows its release, at least roughly."""
    topics: tuple[TopicRead, ...]
    partitions_from: str
    """The API that described the partitions: DescribeTopicPartitions or Metadata."""
    reassignments_known: bool
    """Whether the reassignments under way were read."""
    unknown: tuple[str, ...]
    """What could not be read, one line each."""

    def place(self, api: str, broker: BrokerRead | None = None) -> str:
        """Return the place of a fact: HOST:PORT of the broker that said it, and the API."""
        return f"{self.server if broker is None else f'{broker.host}:{broker.port}'}, {api}"


# --- the file ---


def save(snapshot: Snapshot, path: Path) -> None:
    """Keep a snapshot in a file. Raises UsageError if the file cannot be written."""
    text = json.dumps({FORMAT: VERSION, **asdict(snapshot)}, separators=(",", ":"))
    try:
        path.write_text(f"{text}\n", encoding="utf-8")
    except OSError as error:
        raise UsageError(f"--save {path}: {error.strerror}; give another name, or make room") from None


def is_snapshot(text: str) -> bool:
    """Whether a text is a file of `save`, perhaps with other white space and another order of keys."""
    return text.lstrip().startswith("{") and _KEY.search(text) is not None


def read_snapshot(text: str, path: Path) -> Snapshot:
    """Read the text of a file that `save` wrote; `path` is for messages. Raises PropertiesError if it is damaged."""
    try:
        content = json.loads(text)
        if content.pop(FORMAT, None) == VERSION:
            snapshot: Snapshot = _value(Snapshot, content, "the snapshot")
            _check_partitions(snapshot)
            return snapshot
    except (ValueError, RecursionError) as error:
        reason = str(error).partition(":")[0]
        raise PropertiesError(f"{path}: a damaged snapshot ({reason}); read the cluster again, with --save") from None
    raise PropertiesError(f"{path}: a snapshot of another version of isrcheck; read the cluster again")


def _check_partitions(snapshot: Snapshot) -> None:
    """Raise ValueError if the leader of a partition, or a member of its ISR, is no replica of it."""
    for topic in snapshot.topics:
        for each in topic.partitions:
            name = f"{printable(topic.name)}-{each.number}"
            if each.leader is not None and each.leader not in each.replicas:
                raise ValueError(f"broker {each.leader} leads {name}, but is not a replica of it; no leader is null")
            if strangers := [broker for broker in each.isr if broker not in each.replicas]:
                raise ValueError(f"broker {strangers[0]} is in the ISR of {name}, but not a replica of it")


@cache
def _hints(kind: type) -> Mapping[str, Any]:
    return get_type_hints(kind)


def _value(hint: Any, content: Any, where: str) -> Any:
    """Return the value of a type in a saved file. Raises ValueError if the content is not of this type."""
    if get_origin(hint) in (Union, types.UnionType):
        (inner,) = (each for each in get_args(hint) if each is not type(None))
        return None if content is None else _value(inner, content, where)
    if get_origin(hint) is tuple and isinstance(content, list):
        return tuple(_value(get_args(hint)[0], one, where) for one in content)
    if is_dataclass(hint) and isinstance(hint, type) and isinstance(content, dict):
        hints = _hints(hint)
        if content.keys() != hints.keys():
            raise ValueError(f"{where} has not exactly the keys {', '.join(hints)}")
        return hint(**{name: _value(each, content[name], name) for name, each in hints.items()})
    if type(content) is hint:
        return content
    raise ValueError(f"{where} is of another type")
