"""Requests of administrators that only read: DescribeCluster, DescribeConfigs, DescribeTopicPartitions, DescribeQuorum,
ListPartitionReassignments, ListGroups, DescribeGroups.

The answers are about the simulated cluster that `conform serve` serves: partitions as its controller has recorded them,
brokers as they run at present. The cluster has no controllers as nodes, so the voters of the quorum are constants
(`CONTROLLERS`). No request changes anything: AlterConfigs and its like are not served.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from kio.schema.errors import ErrorCode

from isrcheck.conformance.cluster.network.messages import PartitionRegistration
from isrcheck.conformance.wire.driving.backend import NO_LEADER, Backend, Groups, Membership
from isrcheck.conformance.wire.driving.configuration import Entry, Layer
from isrcheck.conformance.wire.driving.topics import CONTROLLERS, Permission
from isrcheck.conformance.wire.format.protocol import Request
from isrcheck.conformance.wire.requests.cluster import CLUSTER_ID, topic_id

TOPIC_RESOURCE, BROKER_RESOURCE = 2, 4
"""The types of resources in DescribeConfigs."""

BROKERS = 1
"""The endpoint type of brokers in DescribeCluster."""

MOST_PARTITIONS = 2_000
"""max.request.partition.size.limit: the most partitions in an answer to DescribeTopicPartitions."""

METADATA_TOPIC = "__cluster_metadata"
FIRST_WITH_NODES = 2
"""The first version of DescribeQuorum whose response names the addresses of voters (KIP-853)."""

QUORUM_EPOCH = 1
"""The leader epoch of the quorum, whose leader never changes."""

UNKNOWN_TIME = -1
"""What DescribeQuorum says in place of a time that nobody knows."""


async def describe_cluster(backend: Backend, broker: int, request: Request) -> Any:
    """Answer with the brokers and their racks; since version 2 also with fenced brokers, if the request asks for them.
    Brokers that do not run count as fenced."""
    if getattr(request.body, "endpoint_type", BROKERS) != BROKERS:
        code, message = ErrorCode.mismatched_endpoint_type, "The request was sent to an endpoint of the wrong type."
        none = {"cluster_id": "", "controller_id": NO_LEADER, "brokers": ()}
        return request.make("DescribeClusterResponse", error_code=code, error_message=message, **none)
    active = backend.active()
    with_fenced = getattr(request.body, "include_fenced_brokers", False)
    brokers = (
        request.make(
            "DescribeClusterBroker",
            broker_id=each,
            host=host,
            port=port,
            rack=backend.around.rack(each),
            is_fenced=each not in active,
        )
        for each, (host, port) in sorted(backend.addresses.items())
        if with_fenced or each in active
    )
    return request.make(
        "DescribeClusterResponse",
        error_code=ErrorCode.none,
        error_message=None,
        cluster_id=CLUSTER_ID,
        controller_id=backend.coordinator(),
        brokers=tuple(brokers),
    )


# ------------------------------------------------------------------------------------------------------------- settings


async def describe_configs(backend: Backend, file: Layer, broker: int, request: Request) -> Any:
    """Answer with the settings of topics, with those of this broker, or with the dynamic defaults of all brokers, for
    which a request names a broker without an id. `file` has the settings that the files of all brokers have."""

    @cache
    def shown(entries: tuple[Entry, ...], wanted: tuple[str, ...]) -> tuple[Any, ...]:
        """These of the entries, as parts of the response: many topics have the same entries."""
        return tuple(_setting(request, each) for each in entries if not wanted or each.name in wanted)

    results = []
    for resource in request.body.resources:
        code, message, entries = _settings(backend, file, broker, resource.resource_type, resource.resource_name)
        results.append(
            request.make(
                "DescribeConfigsResult",
                error_code=code,
                error_message=message,
                resource_type=resource.resource_type,
                resource_name=resource.resource_name,
                configs=shown(entries, resource.configuration_keys or ()),
            )
        )
    return request.make("DescribeConfigsResponse", results=tuple(results))


def _settings(
    backend: Backend, file: Layer, broker: int, kind: int, name: str
) -> tuple[ErrorCode, str | None, tuple[Entry, ...]]:
    """The settings of a resource; or an error, its message, and no settings."""
    made, has_kraft = backend.configuration(), backend.cluster.has_kraft
    static = {**file, **backend.static(broker)}
    if kind == TOPIC_RESOURCE:
        if Permission.DESCRIBE_CONFIGS_TOPIC in backend.denied:
            return ErrorCode.topic_authorization_failed, "Topic authorization failed.", ()
        if name not in backend.topics:
            return ErrorCode.unknown_topic_or_partition, None, ()
        return ErrorCode.none, None, made.of_topic(name, broker, static, has_kraft)
    if kind == BROKER_RESOURCE:
        if Permission.DESCRIBE_CONFIGS_CLUSTER in backend.denied:
            return ErrorCode.cluster_authorization_failed, "Cluster authorization failed.", ()
        if not name:
            return ErrorCode.none, None, made.of_cluster()
        if name == str(broker):
            return ErrorCode.none, None, made.of_broker(broker, static, has_kraft)
        what = f"Unexpected broker id, expected {broker} or empty string, but received {name}"
        return ErrorCode.invalid_request, what, ()
    return ErrorCode.invalid_request, f"Unsupported resource type: {kind}", ()


def _setting(request: Request, entry: Entry) -> Any:
    synonyms = entry.synonyms if request.body.include_synonyms else ()
    return request.make(
        "DescribeConfigsResourceResult",
        name=entry.name,
        value=entry.value,
        read_only=entry.is_read_only,
        config_source=entry.source,
        is_sensitive=entry.is_sensitive,
        synonyms=tuple(
            request.make("DescribeConfigsSynonym", name=each.name, value=each.value, source=each.source)
            for each in synonyms
        ),
        config_type=entry.kind,
        documentation=None,
    )


# ----------------------------------------------------------------------------------------------------------- partitions


async def describe_topic_partitions(backend: Backend, broker: int, request: Request) -> Any:
    """Answer with the topics in the order of their names, and with their partitions from the cursor on; a cursor says
    where the next request continues. Kafka: DescribeTopicPartitionsRequestHandler."""
    body, may_see = request.body, Permission.DESCRIBE_TOPIC not in backend.denied
    start = ("", 0) if body.cursor is None else (body.cursor.topic_name, body.cursor.partition_index)
    wanted = sorted({each.name for each in body.topics})
    if body.cursor is not None and (start[1] < 0 or (wanted and start[0] not in wanted)):
        refused = tuple(_topic(request, each, ErrorCode.invalid_request) for each in wanted)
        return request.make("DescribeTopicPartitionsResponse", topics=refused)
    if not may_see:
        refused = tuple(_topic(request, each, ErrorCode.topic_authorization_failed) for each in wanted)
        return request.make("DescribeTopicPartitionsResponse", topics=refused)
    left = max(1, min(MOST_PARTITIONS, body.response_partition_limit))
    topics, cursor = [], None
    for name in wanted or sorted(backend.topics):
        if name < start[0]:
            continue
        if name not in backend.topics:
            topics.append(_topic(request, name, ErrorCode.unknown_topic_or_partition))
            continue
        first = start[1] if name == start[0] else 0
        last = min(backend.topics[name], first + left)
        partitions = tuple(_partition(backend, request, name, index) for index in range(first, last)) if left else ()
        if not left or last < backend.topics[name]:
            cursor = request.make("Cursor", topic_name=name, partition_index=last if left else first)
        if partitions:
            topics.append(_topic(request, name, ErrorCode.none, topic_id(backend, name), partitions))
        if cursor is not None:
            break
        left -= len(partitions)
    return request.make("DescribeTopicPartitionsResponse", topics=tuple(topics), next_cursor=cursor)


def _topic(request: Request, name: str, code: ErrorCode, its_id: Any = None, partitions: tuple[Any, ...] = ()) -> Any:
    return request.make(
        "DescribeTopicPartitionsResponseTopic", error_code=code, name=name, topic_id=its_id, partitions=partitions
    )


def _partition(backend: Backend, request: Request, topic: str, index: int) -> Any:
    record = backend.partition(topic, index)
    last_known = () if record.last_known_leader is None else (record.last_known_leader,)
    return request.make(
        "DescribeTopicPartitionsResponsePartition",
        error_code=ErrorCode.none,
        partition_index=index,
        leader_id=NO_LEADER if record.leader is None else record.leader,
        leader_epoch=record.leader_epoch,
        replica_nodes=record.replicas,
        isr_nodes=tuple(sorted(record.isr)),
        eligible_leader_replicas=tuple(sorted(record.elr)),
        last_known_elr=last_known,
        offline_replicas=tuple(each for each in record.replicas if not backend.cluster.is_running(each)),
    )


async def list_partition_reassignments(backend: Backend, broker: int, request: Request) -> Any:
    """Answer with the reassignments under way; only the topic with records can have one."""
    if Permission.DESCRIBE_CLUSTER in backend.denied:
        code, message = ErrorCode.cluster_authorization_failed, "Cluster authorization failed."
        return request.make("ListPartitionReassignmentsResponse", error_code=code, error_message=message, topics=())
    record, topics = backend.partition(backend.topic, 0), request.body.topics
    is_asked = topics is None or any(each.name == backend.topic and 0 in each.partition_indexes for each in topics)
    ongoing = (_reassignment(backend, request, record),) if record.is_reassigned and is_asked else ()
    return request.make(
        "ListPartitionReassignmentsResponse", error_code=ErrorCode.none, error_message=None, topics=ongoing
    )


def _reassignment(backend: Backend, request: Request, record: PartitionRegistration) -> Any:
    partition = request.make(
        "OngoingPartitionReassignment",
        partition_index=0,
        replicas=record.replicas,
        adding_replicas=tuple(sorted(record.adding)),
        removing_replicas=tuple(sorted(record.removing)),
    )
    return request.make("OngoingTopicReassignment", name=backend.topic, partitions=(partition,))


# ----------------------------------------------------------------------------------------------------------- the quorum


async def describe_quorum(backend: Backend, broker: int, request: Request) -> Any:
    """Answer with the voters (constants), and with the brokers as observers, each with the end of its metadata log."""
    denied = Permission.DESCRIBE_CLUSTER in backend.denied
    code = ErrorCode.cluster_authorization_failed if denied else ErrorCode.none
    topics = tuple(
        request.make(
            "TopicData",
            topic_name=topic.topic_name,
            partitions=tuple(
                _quorum(backend, request, topic.topic_name, each.partition_index) for each in topic.partitions
            ),
        )
        for topic in request.body.topics
    )
    has_nodes = not denied and request.version >= FIRST_WITH_NODES
    return request.make(
        "DescribeQuorumResponse",
        error_code=code,
        error_message=None,
        topics=() if denied else topics,
        nodes=tuple(request.make("Node", node_id=each, listeners=()) for each in (CONTROLLERS if has_nodes else ())),
    )


def _quorum(backend: Backend, request: Request, topic: str, partition: int) -> Any:
    is_known = (topic, partition) == (METADATA_TOPIC, 0)
    end = backend.cluster.metadata_log()[-1].offset + 1
    observers = ((each, backend.cluster.observe_broker(each).metadata_offset + 1) for each in backend.active())
    return request.make(
        "PartitionData",
        partition_index=partition,
        error_code=ErrorCode.none if is_known else ErrorCode.unknown_topic_or_partition,
        error_message=None,
        leader_id=CONTROLLERS[0] if is_known else NO_LEADER,
        leader_epoch=QUORUM_EPOCH if is_known else -1,
        high_watermark=end if is_known else -1,
        current_voters=tuple(_replica(request, each, end) for each in CONTROLLERS) if is_known else (),
        observers=tuple(_replica(request, each, read) for each, read in observers) if is_known else (),
    )


def _replica(request: Request, node: int, end: int) -> Any:
    return request.make(
        "ReplicaState",
        replica_id=node,
        replica_directory_id=None,
        log_end_offset=end,
        last_fetch_timestamp=UNKNOWN_TIME,
        last_caught_up_timestamp=UNKNOWN_TIME,
    )


# --------------------------------------------------------------------------------------------------------------- groups


async def list_groups(backend: Backend, kept: tuple[Groups, Membership], broker: int, request: Request) -> Any:
    """Answer with the groups, if this broker is their coordinator."""
    groups, members = kept
    names = sorted(groups.names() | members.names()) if broker == backend.coordinator() else []
    states = getattr(request.body, "states_filter", ())
    listed = (
        request.make("ListedGroup", group_id=each, protocol_type="consumer", group_state=_state(members, each))
        for each in names
        if not states or _state(members, each) in states
    )
    return request.make("ListGroupsResponse", error_code=ErrorCode.none, groups=tuple(listed))


async def describe_groups(backend: Backend, kept: tuple[Groups, Membership], broker: int, request: Request) -> Any:
    """Answer with the state and the member of each group, if this broker is the coordinator."""
    groups, members = kept
    is_here = broker == backend.coordinator()
    known = groups.names() | members.names()
    return request.make(
        "DescribeGroupsResponse",
        groups=tuple(
            request.make(
                "DescribedGroup",
                error_code=ErrorCode.none if is_here else ErrorCode.not_coordinator,
                group_id=each,
                group_state=_state(members, each) if each in known and is_here else "Dead",
                protocol_type="consumer" if each in known and is_here else "",
                protocol_data="",
                members=_members(members, request, each) if is_here else (),
            )
            for each in request.body.groups
        ),
    )


def _state(members: Membership, group: str) -> str:
    return "Empty" if members.member(group) is None else "Stable"


def _members(members: Membership, request: Request, group: str) -> tuple[Any, ...]:
    member = members.member(group)
    if member is None:
        return ()
    return (
        request.make(
            "DescribedGroupMember",
            member_id=member.name,
            group_instance_id=None,
            client_id="",
            client_host="",
            member_metadata=b"",
            member_assignment=member.assignment,
        ),
    )
