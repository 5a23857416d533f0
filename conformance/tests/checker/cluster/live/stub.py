"""A small stand-in for brokers: it answers the doctor's requests from a description of a cluster, over real sockets.

Each broker has a port of 127.0.0.1. A test can leave APIs out, let an API fail with an error code or stay silent, ask
for TLS and for a user (PLAIN, SCRAM, OAUTHBEARER), and change the cluster while it is read. Every request is noted.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import io
import socketserver
import ssl
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from datetime import timedelta
from pathlib import Path
from typing import Any

from kio.index import load_payload_module, load_request_schema, load_response_schema
from kio.schema.errors import ErrorCode
from kio.serial import entity_writer
from kio.static.constants import EntityType

from isrcheck.checker.cluster.live.connection import Api
from isrcheck.checker.cluster.live.cursor import Cursor
from isrcheck.checker.cluster.live.reading import read

TLS = Path(__file__).parent / "tls"
ALL = {
    Api.METADATA: (0, 12),
    Api.SASL_HANDSHAKE: (0, 1),
    Api.API_VERSIONS: (0, 4),
    Api.DESCRIBE_CONFIGS: (1, 4),
    Api.SASL_AUTHENTICATE: (0, 2),
    Api.LIST_PARTITION_REASSIGNMENTS: (0, 0),
    Api.DESCRIBE_QUORUM: (0, 2),
    Api.DESCRIBE_TOPIC_PARTITIONS: (0, 0),
}
"""The APIs of a broker of 4.1, as far as the doctor knows them."""
SOURCES = {"topic": 1, "broker": 2, "cluster": 3, "static": 4, "default": 5}


@dataclass
class Part:
    """A partition: leader, replicas, ISR and ELR."""

    leader: int = 1
    replicas: tuple[int, ...] = (1, 2, 3)
    isr: tuple[int, ...] = (1, 2, 3)
    elr: tuple[int, ...] | None = ()
    last_known_elr: tuple[int, ...] | None = ()
    adding: tuple[int, ...] = ()
    removing: tuple[int, ...] = ()


Configs = dict[str, tuple[str | None, str]]
"""For each key the value and its source; a sensitive value is None."""


@dataclass
class StubCluster:
    """A cluster as a test describes it, and how its brokers behave."""

    topics: dict[str, list[Part]] = field(default_factory=lambda: {"orders": [Part()]})
    racks: dict[int, str | None] = field(default_factory=lambda: {1: "az1", 2: "az2", 3: "az3"})
    """The brokers with their racks."""
    topic_configs: dict[str, Configs] = field(default_factory=dict)
    broker_configs: Configs = field(default_factory=lambda: {"min.insync.replicas": ("2", "static")})
    cluster_configs: Configs = field(default_factory=dict)
    finalized: dict[str, int] = field(
        default_factory=lambda: {
            "metadata.version": 27,
            "eligible.leader.replicas.version": 1,
            "transaction.version": 2,
        }
    )
    supported: dict[str, int] = field(
        default_factory=lambda: {
            "metadata.version": 27,
            "eligible.leader.replicas.version": 1,
            "transaction.version": 2,
        }
    )
    apis: dict[Api, tuple[int, int]] = field(default_factory=lambda: dict(ALL))
    errors: dict[Api, ErrorCode] = field(default_factory=dict)
    """APIs that fail with an error."""
    silent: set[tuple[int, Api]] = field(default_factory=set)
    """Brokers and APIs that get no answer."""
    user: tuple[str, str, str] | None = None
    """The mechanism, user and password that the brokers ask for; with OAUTHBEARER, the extensions and the token."""
    tls: bool = False
    page: int = 2000
    """The most partitions in an answer to DescribeTopicPartitions."""
    begins: Callable[[Api], None] = lambda api: None
    """Called before a request is answered; a test may change the cluster in it."""
    ports: dict[int, int] = field(default_factory=dict)
    asked: list[tuple[int, Api, int]] = field(default_factory=list)
    """The broker, API and version of each request."""

    @property
    def address(self) -> str:
        """Where the first broker listens."""
        return f"127.0.0.1:{self.ports[1]}"


@contextmanager
def served(cluster: StubCluster) -> Iterator[StubCluster]:
    """Serve all brokers of a cluster until the `with` statement ends."""
    servers = []
    for broker in cluster.racks:
        server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), _handler(cluster, broker))
        server.daemon_threads = True
        servers.append(server)
        cluster.ports[broker] = server.server_address[1]
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    try:
        yield cluster
    finally:
        for server in servers:
            server.shutdown()
            server.server_close()


@contextmanager
def speaking(answer: bytes) -> Iterator[str]:
    """Serve a port that sends these bytes to whoever writes something, and closes; yield its address."""

    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            self.request.recv(65536)
            self.request.sendall(answer)

    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        yield f"127.0.0.1:{server.server_address[1]}"
        server.shutdown()


def _handler(cluster: StubCluster, broker: int) -> type[socketserver.BaseRequestHandler]:
    class Handler(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            stream = self.request
            if cluster.tls:
                context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
                context.load_cert_chain(TLS / "server.pem")
                try:
                    stream = context.wrap_socket(stream, server_side=True)
                except OSError:
                    return
            login = _Login(cluster)
            with stream:
                while (data := _frame(stream)) and (answer := _answer(cluster, broker, data, login)) is not None:
                    stream.sendall(len(answer).to_bytes(4, "big") + answer)

    return Handler


def _frame(stream: Any) -> bytes | None:
    """The next request; None if the client has closed the connection, or does not speak Kafka's protocol."""

    def exactly(count: int) -> bytes:
        data = b""
        while len(data) < count and (part := stream.recv(count - len(data))):
            data += part
        return data

    try:
        size = int.from_bytes(exactly(4), "big")
        return exactly(size) if size < 1 << 24 else None
    except OSError:
        return None


def _answer(cluster: StubCluster, broker: int, data: bytes, login: _Login) -> bytes | None:
    key, version, correlation = struct.unpack_from(">hhi", data)
    if key not in Api.__members__.values():
        return None
    api = Api(key)
    cluster.asked.append((broker, api, version))
    cluster.begins(api)
    first, last = cluster.apis.get(api, (0, -1))
    make = Maker(api, version or 1 if api is Api.DESCRIBE_CONFIGS else version)
    if api is Api.API_VERSIONS and not first <= version <= last:
        return struct.pack(">ihi", correlation, ErrorCode.unsupported_version, 0)
    if not first <= version <= last or (broker, api) in cluster.silent:
        if (broker, api) in cluster.silent:
            threading.Event().wait(60)  # a daemon thread: it does not outlive the test
        return None
    is_old = (api, version) == (Api.DESCRIBE_CONFIGS, 0)
    schema: Any = load_request_schema(key, max(version, 1) if is_old else version)
    cursor = Cursor(data + b"\0" if is_old else data)
    read(schema.__header_schema__, cursor)
    body = read(schema, cursor)
    if cursor.left:
        return None
    if (
        cluster.user is not None
        and not login.is_done
        and api
        not in (
            Api.API_VERSIONS,
            Api.SASL_HANDSHAKE,
            Api.SASL_AUTHENTICATE,
        )
    ):
        return None
    if api in (Api.SASL_HANDSHAKE, Api.SASL_AUTHENTICATE):
        response = login.answer(api, make, body)
    else:
        response = ANSWERS[api](cluster, broker, make, body)
    if is_old:
        return struct.pack(">i", correlation) + _old_configs(response)
    response_schema: Any = load_response_schema(key, version)
    header: Any = response_schema.__header_schema__
    with io.BytesIO() as buffer:
        entity_writer(header)(buffer, header(correlation_id=correlation))
        entity_writer(response_schema)(buffer, response)
        return buffer.getvalue()


class Maker:
    """Makes kio's dataclasses for one response; values for fields that a version lacks are left out."""

    def __init__(self, api: Api, version: int) -> None:
        self.api, self.version = api, version

    def __call__(self, name: str, /, **values: Any) -> Any:
        entity = getattr(load_payload_module(self.api, self.version, EntityType.response), name)
        names = {each.name for each in fields(entity)}
        values = {"throttle_time": timedelta(0), "error_message": None, **values}
        return entity(**{name: value for name, value in values.items() if name in names})


def _api_versions(cluster: StubCluster, broker: int, make: Maker, body: Any) -> Any:
    return make(
        "ApiVersionsResponse",
        error_code=ErrorCode.none,
        api_keys=tuple(
            make("ApiVersion", api_key=int(api), min_version=first, max_version=last)
            for api, (first, last) in cluster.apis.items()
        ),
        supported_features=tuple(
            make("SupportedFeatureKey", name=name, min_version=1, max_version=level)
            for name, level in cluster.supported.items()
        )
        if make.version >= 3
        else (),
        finalized_features_epoch=7 if cluster.supported else -1,
        finalized_features=tuple(
            make("FinalizedFeatureKey", name=name, max_version_level=level, min_version_level=level)
            for name, level in cluster.finalized.items()
        )
        if make.version >= 3
        else (),
    )


def _metadata(cluster: StubCluster, broker: int, make: Maker, body: Any) -> Any:
    names = list(cluster.topics) if body.topics is None else [topic.name for topic in body.topics]
    return make(
        "MetadataResponse",
        brokers=tuple(
            make("MetadataResponseBroker", node_id=each, host="127.0.0.1", port=cluster.ports[each], rack=rack)
            for each, rack in cluster.racks.items()
        ),
        cluster_id="the-cluster",
        controller_id=1,
        topics=tuple(
            make(
                "MetadataResponseTopic",
                error_code=ErrorCode.none if name in cluster.topics else ErrorCode.unknown_topic_or_partition,
                name=name,
                topic_id=None,
                is_internal=False,
                partitions=tuple(
                    _partition(make, "MetadataResponsePartition", number, part)
                    for number, part in enumerate(cluster.topics.get(name, ()))
                ),
            )
            for name in names
        ),
    )


def _partition(make: Maker, entity: str, number: int, part: Part) -> Any:
    return make(
        entity,
        error_code=ErrorCode.none,
        partition_index=number,
        leader_id=part.leader,
        leader_epoch=5,
        replica_nodes=part.replicas,
        isr_nodes=part.isr,
        eligible_leader_replicas=part.elr,
        last_known_elr=part.last_known_elr,
        offline_replicas=(),
    )


def _topic_partitions(cluster: StubCluster, broker: int, make: Maker, body: Any) -> Any:
    names = sorted({topic.name for topic in body.topics} or set(cluster.topics))
    start = (body.cursor.topic_name, body.cursor.partition_index) if body.cursor else ("", 0)
    left, topics, following = min(cluster.page, body.response_partition_limit), [], None
    for name in names:
        parts = list(enumerate(cluster.topics.get(name, ())))
        wanted = [one for one in parts if (name, one[0]) >= start]
        if name in cluster.topics and not wanted:
            continue
        if following is None and len(wanted) > left:
            index = wanted[left][0]
            following = make("Cursor", topic_name=name, partition_index=index)
        here = wanted[:left]
        left -= len(here)
        if here or name not in cluster.topics:
            topics.append(
                make(
                    "DescribeTopicPartitionsResponseTopic",
                    error_code=ErrorCode.none if name in cluster.topics else ErrorCode.unknown_topic_or_partition,
                    name=name,
                    topic_id=None,
                    is_internal=False,
                    partitions=tuple(
                        _partition(make, "DescribeTopicPartitionsResponsePartition", number, part)
                        for number, part in here
                    ),
                    topic_authorized_operations=0,
                )
            )
        if following is not None:
            break
    return make("DescribeTopicPartitionsResponse", topics=tuple(topics), next_cursor=following)


def _configs(cluster: StubCluster, broker: int, make: Maker, body: Any) -> Any:
    def result(resource: Any) -> Any:
        name, error = resource.resource_name, cluster.errors.get(Api.DESCRIBE_CONFIGS, ErrorCode.none)
        configs = cluster.broker_configs if name else cluster.cluster_configs
        if resource.resource_type == 2:
            configs = cluster.topic_configs.get(name, {})
            if name not in cluster.topics:
                error = ErrorCode.unknown_topic_or_partition
        keys = resource.configuration_keys
        return make(
            "DescribeConfigsResult",
            error_code=error,
            resource_type=resource.resource_type,
            resource_name=name,
            configs=tuple(
                make(
                    "DescribeConfigsResourceResult",
                    name=key,
                    value=value,
                    read_only=False,
                    is_default=source == "default",
                    config_source=SOURCES[source],
                    is_sensitive=value is None,
                    synonyms=(),
                    config_type=0,
                    documentation=None,
                )
                for key, (value, source) in configs.items()
                if not error and (keys is None or key in keys)
            ),
        )

    return make("DescribeConfigsResponse", results=tuple(result(each) for each in body.resources))


def _old_configs(response: Any) -> bytes:
    """Write a response to DescribeConfigs in version 0, which kio does not have."""

    def text(value: str | None) -> bytes:
        return struct.pack(">h", -1) if value is None else struct.pack(">h", len(value)) + value.encode()

    def setting(each: Any) -> bytes:
        flags = struct.pack(">???", each.read_only, each.config_source == SOURCES["default"], each.is_sensitive)
        return text(each.name) + text(each.value) + flags

    def result(each: Any) -> bytes:
        head = struct.pack(">h", each.error_code) + text(None) + struct.pack(">b", each.resource_type)
        return head + text(each.resource_name) + several([setting(one) for one in each.configs])

    def several(parts: list[bytes]) -> bytes:
        return struct.pack(">i", len(parts)) + b"".join(parts)

    return struct.pack(">i", 0) + several([result(each) for each in response.results])


def _quorum(cluster: StubCluster, broker: int, make: Maker, body: Any) -> Any:
    def state(replica: int) -> Any:
        end = 99 if replica == 3 else 100
        return make(
            "ReplicaState",
            replica_id=replica,
            replica_directory_id=None,
            log_end_offset=end,
            last_fetch_timestamp=-1,
            last_caught_up_timestamp=-1,
        )

    partition = make(
        "PartitionData",
        partition_index=0,
        error_code=ErrorCode.none,
        leader_id=1,
        leader_epoch=3,
        high_watermark=99,
        current_voters=tuple(state(replica) for replica in (1, 2, 3)),
        observers=(),
    )
    topic = make("TopicData", topic_name="__cluster_metadata", partitions=(partition,))
    error = cluster.errors.get(Api.DESCRIBE_QUORUM, ErrorCode.none)
    return make("DescribeQuorumResponse", error_code=error, topics=() if error else (topic,), nodes=())


def _reassignments(cluster: StubCluster, broker: int, make: Maker, body: Any) -> Any:
    error = cluster.errors.get(Api.LIST_PARTITION_REASSIGNMENTS, ErrorCode.none)
    topics = tuple(
        make(
            "OngoingTopicReassignment",
            name=name,
            partitions=tuple(
                make(
                    "OngoingPartitionReassignment",
                    partition_index=number,
                    replicas=part.replicas,
                    adding_replicas=part.adding,
                    removing_replicas=part.removing,
                )
                for number, part in enumerate(parts)
                if part.adding or part.removing
            ),
        )
        for name, parts in cluster.topics.items()
    )
    return make(
        "ListPartitionReassignmentsResponse",
        error_code=error,
        topics=() if error else tuple(topic for topic in topics if topic.partitions),
    )


ANSWERS: dict[Api, Callable[[StubCluster, int, Maker, Any], Any]] = {
    Api.API_VERSIONS: _api_versions,
    Api.METADATA: _metadata,
    Api.DESCRIBE_TOPIC_PARTITIONS: _topic_partitions,
    Api.DESCRIBE_CONFIGS: _configs,
    Api.DESCRIBE_QUORUM: _quorum,
    Api.LIST_PARTITION_REASSIGNMENTS: _reassignments,
}


class _Login:
    """The broker's side of SASL, for one connection."""

    SALT, ITERATIONS = b"salt of the test", 4096

    def __init__(self, cluster: StubCluster) -> None:
        self.cluster = cluster
        self.is_done = False
        self.first = ""
        self.second = ""

    def answer(self, api: Api, make: Maker, body: Any) -> Any:
        if self.cluster.user is None:  # as KafkaApis.handleSaslHandshakeRequest
            return make("SaslHandshakeResponse", error_code=ErrorCode.illegal_sasl_state, mechanisms=())
        mechanism, user, password = self.cluster.user
        if api is Api.SASL_HANDSHAKE:
            error = ErrorCode.none if body.mechanism == mechanism else ErrorCode.unsupported_sasl_mechanism
            return make("SaslHandshakeResponse", error_code=error, mechanisms=(mechanism,))
        message = body.auth_bytes.decode()
        if mechanism == "PLAIN":
            self.is_done = message == f"\0{user}\0{password}"
            answer = b"" if self.is_done else None
        elif mechanism == "OAUTHBEARER":
            self.is_done = message == f"n,,\1auth=Bearer {password}\1{user}\1"
            answer = b"" if self.is_done else None if message == "\1" else b'{"status":"invalid_token"}'
        elif not self.first:
            self.first = message.removeprefix("n,,")
            nonce = self.first.partition(",r=")[2] + "server"
            self.second = f"r={nonce},s={base64.b64encode(self.SALT).decode()},i={self.ITERATIONS}"
            answer = self.second.encode()
        else:
            answer = self._verified(
                message, {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}[mechanism], password
            )
        error = ErrorCode.none if answer is not None else ErrorCode.sasl_authentication_failed
        return make(
            "SaslAuthenticateResponse", error_code=error, auth_bytes=answer or b"", session_lifetime=timedelta(0)
        )

    def _verified(self, message: str, digest: str, password: str) -> bytes | None:
        """The server's signature, if the client's proof is that of the password (RFC 5802, 3)."""
        bare, _, proof = message.partition(",p=")
        salted = hashlib.pbkdf2_hmac(digest, password.encode(), self.SALT, self.ITERATIONS)
        whole = f"{self.first},{self.second},{bare}".encode()
        client = hmac.digest(salted, b"Client Key", digest)
        stored = hashlib.new(digest, client).digest()
        signature = hmac.digest(stored, whole, digest)
        given = bytes(one ^ other for one, other in zip(base64.b64decode(proof), signature, strict=True))
        if given != client:
            return None
        self.is_done = True
        key = hmac.digest(salted, b"Server Key", digest)
        return b"v=" + base64.b64encode(hmac.digest(key, whole, digest))
