"""Requests to the transaction coordinator: InitProducerId, AddPartitionsToTxn, AddOffsetsToTxn, EndTxn."""

from __future__ import annotations

from typing import Any

from kio.schema.errors import ErrorCode

from isrcheck.conformance.cluster.network.messages import Errors
from isrcheck.conformance.cluster.network.records import Control
from isrcheck.conformance.wire.driving.backend import Backend, Groups
from isrcheck.conformance.wire.driving.events import PARTITION
from isrcheck.conformance.wire.format.protocol import Request, code_of

OFFSETS = "offsets of "


async def init_producer_id(backend: Backend, broker: int, request: Request) -> Any:
    """Give a producer its id and epoch. A producer without a transactional id may send its request to any broker."""
    body, code = request.body, ErrorCode.not_coordinator
    producer_id = producer_epoch = -1
    if body.transactional_id is None or broker == backend.coordinator():
        identity = backend.transactions.init_producer_id(body.transactional_id, body.transaction_timeout)
        code, producer_id, producer_epoch = code_of(identity.error), identity.producer_id, identity.producer_epoch
        named = "a producer" if body.transactional_id is None else body.transactional_id
        outcome = (
            identity.error.value if identity.error is not Errors.NONE else f"id {producer_id}, epoch {producer_epoch}"
        )
        backend.tell(f"InitProducerId of {named}: {outcome}")
        backend.pump.run()
    return request.make(
        "InitProducerIdResponse", error_code=code, producer_id=producer_id, producer_epoch=producer_epoch
    )


async def add_partitions(backend: Backend, broker: int, request: Request) -> Any:
    """Make partitions part of a transaction."""
    body = request.body
    topics = []
    for topic in body.v3_and_below_topics:
        results = []
        for partition in topic.partitions:
            code = ErrorCode.unknown_topic_or_partition
            if broker != backend.coordinator():
                code = ErrorCode.not_coordinator
            elif topic.name == backend.topic and partition == 0:
                code = code_of(
                    backend.transactions.add_partition(
                        body.v3_and_below_transactional_id,
                        body.v3_and_below_producer_id,
                        body.v3_and_below_producer_epoch,
                        PARTITION,
                    )
                )
            results.append(
                request.make("AddPartitionsToTxnPartitionResult", partition_index=partition, partition_error_code=code)
            )
        topics.append(
            request.make("AddPartitionsToTxnTopicResult", name=topic.name, results_by_partition=tuple(results))
        )
    return request.make("AddPartitionsToTxnResponse", results_by_topic_v3_and_below=tuple(topics))


async def add_offsets(backend: Backend, broker: int, request: Request) -> Any:
    """Make the offsets of a consumer group part of a transaction."""
    body, code = request.body, ErrorCode.not_coordinator
    if broker == backend.coordinator():
        fields = (body.transactional_id, body.producer_id, body.producer_epoch, OFFSETS + body.group_id)
        code = code_of(backend.transactions.add_partition(*fields))
    return request.make("AddOffsetsToTxnResponse", error_code=code)


async def end_transaction(backend: Backend, groups: Groups, broker: int, request: Request) -> Any:
    """Commit or abort a transaction: the response says that the outcome is decided; the markers are written later."""
    body, code = request.body, ErrorCode.not_coordinator
    if broker == backend.coordinator():
        control = Control.COMMIT if body.committed else Control.ABORT
        producer = (body.transactional_id, body.producer_id, body.producer_epoch)
        error = backend.transactions.end_transaction(*producer, control)
        code = code_of(error)
        backend.tell(f"{control.value} of {body.transactional_id}: {error.value if code else 'decided'}")
        if error is Errors.NONE:
            groups.release((body.producer_id, body.producer_epoch), control)
        backend.pump.run()
    return request.make("EndTxnResponse", error_code=code)
