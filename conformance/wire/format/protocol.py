"""Requests and responses as frames: the supported APIs, their versions, and their bytes.

What clients may do depends on the release, as in Kafka: from 0.11 on, there are idempotent and transactional producers
(KIP-98); from 2.1 on, consumers may ask where an epoch ends (KIP-320). The APIs of administrators exist from the same
release on as in Kafka. In no release does the server have versions 3 and 4 of InitProducerId, with which Kafka's
clients bump epochs since 2.5 (KIP-360). The server's versions of the other APIs may be newer than the release. Records
have the format of 0.11 and later (magic 2) in every release.
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import timedelta
from enum import IntEnum
from functools import cache
from typing import Any

from kio.index import load_payload_module, load_request_schema, load_response_schema
from kio.schema.errors import ErrorCode
from kio.serial import entity_writer
from kio.static.constants import EntityType

from isrcheck.checker.cluster.live.cursor import Cursor, MalformedError
from isrcheck.checker.cluster.live.reading import read
from isrcheck.conformance.cluster.configuration.protocol import GENERATIONS
from isrcheck.conformance.cluster.network.messages import Errors

NO_THROTTLE = timedelta(0)


class Api(IntEnum):
    """The APIs whose requests the server answers, with Kafka's API keys."""

    PRODUCE = 0
    FETCH = 1
    LIST_OFFSETS = 2
    METADATA = 3
    OFFSET_COMMIT = 8
    OFFSET_FETCH = 9
    FIND_COORDINATOR = 10
    JOIN_GROUP = 11
    HEARTBEAT = 12
    LEAVE_GROUP = 13
    SYNC_GROUP = 14
    DESCRIBE_GROUPS = 15
    LIST_GROUPS = 16
    API_VERSIONS = 18
    INIT_PRODUCER_ID = 22
    OFFSET_FOR_LEADER_EPOCH = 23
    ADD_PARTITIONS_TO_TXN = 24
    ADD_OFFSETS_TO_TXN = 25
    END_TXN = 26
    TXN_OFFSET_COMMIT = 28
    DESCRIBE_CONFIGS = 32
    LIST_PARTITION_REASSIGNMENTS = 46
    DESCRIBE_QUORUM = 55
    DESCRIBE_CLUSTER = 60
    DESCRIBE_TOPIC_PARTITIONS = 75


VERSIONS: Mapping[Api, tuple[int, int]] = {
    Api.PRODUCE: (3, 9),
    Api.FETCH: (4, 12),
    Api.LIST_OFFSETS: (2, 7),
    Api.METADATA: (4, 12),
    Api.OFFSET_COMMIT: (2, 8),
    Api.OFFSET_FETCH: (1, 7),
    Api.FIND_COORDINATOR: (0, 4),
    Api.JOIN_GROUP: (0, 3),
    Api.HEARTBEAT: (0, 2),
    Api.LEAVE_GROUP: (0, 2),
    Api.SYNC_GROUP: (0, 2),
    Api.DESCRIBE_GROUPS: (0, 4),
    Api.LIST_GROUPS: (0, 4),
    Api.API_VERSIONS: (0, 4),
    Api.INIT_PRODUCER_ID: (0, 2),
    Api.OFFSET_FOR_LEADER_EPOCH: (2, 3),
    Api.ADD_PARTITIONS_TO_TXN: (0, 3),
    Api.ADD_OFFSETS_TO_TXN: (0, 3),
    Api.END_TXN: (0, 3),
    Api.TXN_OFFSET_COMMIT: (0, 3),
    Api.DESCRIBE_CONFIGS: (1, 4),
    Api.LIST_PARTITION_REASSIGNMENTS: (0, 0),
    Api.DESCRIBE_QUORUM: (0, 2),
    Api.DESCRIBE_CLUSTER: (0, 2),
    Api.DESCRIBE_TOPIC_PARTITIONS: (0, 0),
}
"""The first and the last version of each API."""

NEWEST: Mapping[Api, Mapping[str, int]] = {
    Api.INIT_PRODUCER_ID: {"0.11": 2},
    Api.ADD_PARTITIONS_TO_TXN: {"0.11": 3},
    Api.ADD_OFFSETS_TO_TXN: {"0.11": 3},
    Api.END_TXN: {"0.11": 3},
    Api.TXN_OFFSET_COMMIT: {"0.11": 3},
    Api.DESCRIBE_CONFIGS: {"0.11": 4},
    Api.OFFSET_FOR_LEADER_EPOCH: {"2.1": 3},
    Api.LIST_PARTITION_REASSIGNMENTS: {"2.4": 0},
    Api.DESCRIBE_CLUSTER: {"2.8": 0, "3.7": 1, "4.0": 2},
    Api.DESCRIBE_QUORUM: {"3.3": 1, "4.0": 2},
    Api.API_VERSIONS: {"0.8": 3, "4.0": 4},
    Api.DESCRIBE_TOPIC_PARTITIONS: {"4.0": 0},
}
"""The releases from which on a broker answers these APIs, each with the last version of the API. In Kafka,
DescribeConfigs 1 exists since 1.1; DescribeQuorum 2 and ApiVersions 4 since 3.9; DescribeTopicPartitions since 3.8."""


def versions_of(protocol: str) -> dict[Api, tuple[int, int]]:
    """The APIs that a broker of this release answers, with the first and the last version of each API."""
    releases = list(GENERATIONS)[: list(GENERATIONS).index(protocol) + 1]
    last = {api: [newest[each] for each in releases if each in newest] for api, newest in NEWEST.items()}
    return {
        api: (first, last[api][-1] if api in last else most)
        for api, (first, most) in VERSIONS.items()
        if last.get(api, [most])
    }


def code_of(error: Errors) -> ErrorCode:
    """Kafka's code for an error of the cluster: the code that has the same name as `error`."""
    return ErrorCode[error.value.lower()]


@dataclass(frozen=True)
class Request:
    """One request of a client. `is_unsupported`: an ApiVersions request of a version that the server does not have."""

    api: Api
    version: int
    correlation_id: int
    client_id: str
    body: Any
    is_unsupported: bool = False

    def make(self, name: str, /, **values: Any) -> Any:
        """Make kio's dataclass `name` for the response; values for fields that the version lacks are left out."""
        entity, names = _entity(self.api, 0 if self.is_unsupported else self.version, name)
        values_with_throttle = {"throttle_time": NO_THROTTLE, **values}
        return entity(**{each: value for each, value in values_with_throttle.items() if each in names})


def decode(data: bytes, versions: Mapping[Api, tuple[int, int]]) -> Request:
    """Read the request in the frame `data`; `versions`: the supported APIs and versions. Raises MalformedError."""
    start = Cursor(data)
    key, version = start.integer(">h"), start.integer(">h")
    first, last = versions.get(Api(key), (0, -1)) if key in Api.__members__.values() else (0, -1)
    if not first <= version <= last and key == Api.API_VERSIONS:  # KIP-511: answered in version 0
        return Request(Api.API_VERSIONS, version, start.integer(">i"), "", None, is_unsupported=True)
    if not first <= version <= last:
        raise MalformedError(f"a request with API key {key}, version {version}, which this server does not have")
    schema = load_request_schema(key, version)
    cursor = Cursor(data)
    header = read(schema.__header_schema__, cursor)
    body = read(schema, cursor)
    if cursor.left and key != Api.METADATA:  # librdkafka 2.16 adds 3 bytes if it asks for all topics; Kafka skips them
        raise MalformedError(f"{cursor.left} bytes after the end of the request, {Api(key).name}")
    return Request(Api(key), version, header.correlation_id, header.client_id or "", body)


def encode(request: Request, response: Any) -> bytes:
    """The bytes of a response to this request: a frame that begins with its size."""
    schema = load_response_schema(request.api, 0 if request.is_unsupported else request.version)
    header: Any = schema.__header_schema__
    with io.BytesIO() as buffer:
        entity_writer(header)(buffer, header(correlation_id=request.correlation_id))
        entity_writer(schema)(buffer, response)
        body = buffer.getvalue()
    return len(body).to_bytes(4, "big") + body


@cache
def _entity(api: Api, version: int, name: str) -> tuple[Any, frozenset[str]]:
    entity = getattr(load_payload_module(api, version, EntityType.response), name)
    return entity, frozenset(each.name for each in fields(entity))
