"""Requests for records and offsets: Produce, Fetch, ListOffsets, OffsetForLeaderEpoch.

The timeout in a produce request is not used: the cluster answers after request.timeout.ms at the latest. ListOffsets
does not search for a timestamp. Fetch sessions (KIP-227) are refused by answering without a session, as Kafka does when
its cache of sessions is full.
"""

from __future__ import annotations

import asyncio
from typing import Any

from kio.schema.errors import ErrorCode

from isrcheck.conformance.cluster.network.messages import (
    Acks,
    ConsumerFetchRequest,
    ConsumerFetchResponse,
    ConsumerListOffsetsRequest,
    Errors,
    Isolation,
    ListOffsetsResponse,
    OffsetKind,
    OffsetsForLeaderEpochRequest,
    OffsetsForLeaderEpochResponse,
)
from isrcheck.conformance.wire.driving.backend import Backend
from isrcheck.conformance.wire.format.batches import BatchError, batch_of, bytes_of
from isrcheck.conformance.wire.format.protocol import Request, code_of

ACKS = {-1: Acks.ALL, 0: Acks.NONE, 1: Acks.LEADER}
ISOLATIONS = {0: Isolation.READ_UNCOMMITTED, 1: Isolation.READ_COMMITTED}
TIMESTAMPS = {-1: OffsetKind.LATEST, -2: OffsetKind.EARLIEST}
MOST_WAIT = 30_000
"""The longest wait of a consumer's fetch in ms."""

NO_REPLICA = -1
"""In a fetch response: the broker that answers serves the consumer itself (KIP-392)."""

LONGEST_VALUES = 100
"""The most characters of a batch's values that a line shows."""

WAIT = 0.005
"""The seconds after which a waiting fetch looks again."""


async def produce(backend: Backend, broker: int, request: Request) -> Any:
    """Append the batches of a produce request; return the response, or None with acks=0: the client expects none."""
    acks = ACKS.get(request.body.acks)
    topics = []
    for topic in request.body.topic_data:
        partitions = []
        for each in topic.partition_data:
            code, offset = ErrorCode.invalid_required_acks, -1
            if acks is not None:
                code, offset = await _append(backend, broker, request.client_id, topic.name, each, acks)
            partitions.append(
                request.make(
                    "PartitionProduceResponse",
                    index=each.index,
                    error_code=code,
                    base_offset=offset,
                    log_append_time=None,
                    log_start_offset=-1,
                    record_errors=(),
                    error_message=None,
                )
            )
        topics.append(request.make("TopicProduceResponse", name=topic.name, partition_responses=tuple(partitions)))
    return None if acks is Acks.NONE else request.make("ProduceResponse", responses=tuple(topics))


async def _append(
    backend: Backend, broker: int, client: str, topic: str, partition: Any, acks: Acks
) -> tuple[ErrorCode, int]:
    if topic != backend.topic or partition.index != 0:
        return ErrorCode.unknown_topic_or_partition, -1
    try:
        batch = batch_of(partition.records)
    except BatchError as error:
        backend.tell(f"broker {broker} refuses a batch of {client}: {error}")
        return error.code, -1
    what = f"{client} sends {' '.join(batch.values)[:LONGEST_VALUES]} to broker {broker}"
    backend.tell(what)
    answer = await backend.append(broker, batch, acks)
    if answer is None:
        return ErrorCode.none, -1
    backend.tell(f"{what}: {answer.error.value if answer.error is not Errors.NONE else f'offset {answer.offset}'}")
    return code_of(answer.error), answer.offset


async def fetch(backend: Backend, broker: int, request: Request) -> Any:
    """Answer a consumer's fetch with batches; wait for batches as long as the consumer allows."""
    loop = asyncio.get_running_loop()
    deadline = loop.time() + min(max(request.body.max_wait, 0), MOST_WAIT) / 1000
    while True:
        before = backend.cluster.readable_by_consumers(broker)
        response, is_news = await _fetch(backend, broker, request)
        if is_news or not request.body.min_bytes:
            return response
        while backend.cluster.readable_by_consumers(broker) == before:
            if loop.time() >= deadline:
                return response
            await asyncio.sleep(WAIT)


async def _fetch(backend: Backend, broker: int, request: Request) -> tuple[Any, bool]:
    """The response as of now, and whether it contains a batch, an error, or another replica to read from."""
    topics, is_news = [], False
    for topic in request.body.topics:
        partitions = []
        for each in topic.partitions:
            answer, code = ConsumerFetchResponse(Errors.NONE, -1), ErrorCode.unknown_topic_or_partition
            if topic.topic == backend.topic and each.partition == 0:
                response = await backend.ask(
                    broker,
                    ConsumerFetchRequest(
                        each.fetch_offset,
                        ISOLATIONS.get(request.body.isolation_level, Isolation.READ_UNCOMMITTED),
                        _epoch_of(each),
                    ),
                    request.client_id,
                )
                assert isinstance(response, ConsumerFetchResponse)
                answer, code = response, code_of(response.error)
            records = bytes_of(answer.records, min(each.partition_max_bytes, request.body.max_bytes))
            replica = NO_REPLICA if answer.preferred_read_replica is None else answer.preferred_read_replica
            is_news |= bool(records) or code is not ErrorCode.none or replica != NO_REPLICA
            aborted = (
                request.make(
                    "AbortedTransaction", producer_id=transaction.producer_id, first_offset=transaction.first_offset
                )
                for transaction in answer.aborted
            )
            partitions.append(
                request.make(
                    "PartitionData",
                    partition_index=each.partition,
                    error_code=code,
                    high_watermark=answer.high_watermark,
                    last_stable_offset=answer.last_stable_offset,
                    log_start_offset=answer.log_start_offset,
                    aborted_transactions=tuple(aborted),
                    preferred_read_replica=replica,
                    records=records,
                )
            )
        topics.append(request.make("FetchableTopicResponse", topic=topic.topic, partitions=tuple(partitions)))
    return request.make("FetchResponse", error_code=ErrorCode.none, session_id=0, responses=tuple(topics)), is_news


async def list_offsets(backend: Backend, broker: int, request: Request) -> Any:
    """Answer with the first offset of the partition, or with the end that the consumer's isolation level allows."""
    isolation = ISOLATIONS.get(request.body.isolation_level, Isolation.READ_UNCOMMITTED)
    topics = []
    for topic in request.body.topics:
        partitions = []
        for each in topic.partitions:
            code, offset = await _offset(backend, broker, request.client_id, topic.name, each, isolation)
            _, epoch = backend.cluster.leader_known_to(broker)
            partitions.append(
                request.make(
                    "ListOffsetsPartitionResponse",
                    partition_index=each.partition_index,
                    error_code=code,
                    timestamp=-1,
                    offset=offset,
                    leader_epoch=epoch,
                )
            )
        topics.append(request.make("ListOffsetsTopicResponse", name=topic.name, partitions=tuple(partitions)))
    return request.make("ListOffsetsResponse", topics=tuple(topics))


async def _offset(
    backend: Backend, broker: int, client: str, topic: str, partition: Any, isolation: Isolation
) -> tuple[ErrorCode, int]:
    kind = TIMESTAMPS.get(partition.timestamp)
    if topic != backend.topic or partition.partition_index != 0:
        return ErrorCode.unknown_topic_or_partition, -1
    if kind is None:
        return ErrorCode.unsupported_for_message_format, -1
    answer = await backend.ask(broker, ConsumerListOffsetsRequest(kind, isolation, _epoch_of(partition)), client)
    assert isinstance(answer, ListOffsetsResponse)
    return code_of(answer.error), answer.offset


async def offset_for_leader_epoch(backend: Backend, broker: int, request: Request) -> Any:
    """Answer where a leader epoch ends, so that a consumer can validate its position (KIP-320)."""
    topics = []
    for topic in request.body.topics:
        partitions = []
        for each in topic.partitions:
            code, epoch, end = ErrorCode.unknown_topic_or_partition, -1, -1
            if topic.topic == backend.topic and each.partition == 0:
                question = OffsetsForLeaderEpochRequest(each.leader_epoch, _epoch_of(each))
                end_offset = await backend.ask(broker, question, request.client_id)
                assert isinstance(end_offset, OffsetsForLeaderEpochResponse)
                code, epoch, end = code_of(end_offset.error), end_offset.leader_epoch, end_offset.end_offset
            partitions.append(
                request.make(
                    "EpochEndOffset", error_code=code, partition=each.partition, leader_epoch=epoch, end_offset=end
                )
            )
        topics.append(request.make("OffsetForLeaderTopicResult", topic=topic.topic, partitions=tuple(partitions)))
    return request.make("OffsetForLeaderEpochResponse", topics=tuple(topics))


def _epoch_of(partition: Any) -> int | None:
    """The leader epoch that a consumer sends in its request; None if it sends none."""
    epoch = getattr(partition, "current_leader_epoch", -1)
    return epoch if epoch >= 0 else None
