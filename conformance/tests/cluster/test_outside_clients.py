"""Clients outside of the cluster: their transactions, batches of several records, offsets for consumers."""

from __future__ import annotations

import pytest

from isrcheck.conformance.cluster.acts import fetch, learn, payloads
from isrcheck.conformance.cluster.cluster import Cluster
from isrcheck.conformance.cluster.configuration.settings import Settings, Start
from isrcheck.conformance.cluster.controller.controller import Election
from isrcheck.conformance.cluster.network.messages import (
    Acks,
    ConsumerFetchRequest,
    ConsumerFetchResponse,
    ConsumerListOffsetsRequest,
    Errors,
    Isolation,
    ListOffsetsResponse,
    OffsetKind,
    Payload,
    ProduceResponse,
)
from isrcheck.conformance.cluster.network.records import Control, ProducerStamp
from isrcheck.conformance.cluster.transactions.coordinator import TransactionState

PAIR = Start(replicas=2)
PROMPT = Settings(replica_fetch_backoff_ms=0)
UNCOMMITTED = Isolation.READ_UNCOMMITTED

# --------------------------------------------------------------------------------------------------- the coordinator


def open_transaction(cluster: Cluster) -> ProducerStamp:
    found = cluster.coordinator.init_producer_id("t", 60_000)
    assert cluster.coordinator.add_partition("t", found.producer_id, found.producer_epoch, "p") is Errors.NONE
    stamp = ProducerStamp(found.producer_id, found.producer_epoch, 0, is_transactional=True)
    answers: list[Payload | None] = []
    cluster.outside.produce(0, "x", Acks.ALL, stamp, 1, answers.append)
    cluster.deliver(cluster.messages()[-1].number)
    return stamp


def test_markers_are_sent_until_one_is_written() -> None:
    cluster = Cluster(start=PAIR, settings=Settings(replica_fetch_backoff_ms=0, replica_fetch_wait_max_ms=0))
    stamp = open_transaction(cluster)
    coordinator = cluster.coordinator
    assert coordinator.end_transaction("t", stamp.producer_id, 0, Control.COMMIT) is Errors.NONE
    coordinator.send_markers(0, "p")
    coordinator.send_markers(0, "p")  # one is on its way
    assert len(coordinator.markers) == 1
    cluster.drop(cluster.messages()[-1].number)
    assert coordinator.markers[0].outcome is Errors.NETWORK_EXCEPTION
    coordinator.send_markers(0, "p")
    cluster.deliver(cluster.messages()[-1].number)
    assert dict(coordinator.transactions)["t"].state is TransactionState.PREPARE_COMMIT
    fetch_all(cluster)
    assert dict(coordinator.transactions)["t"].state is TransactionState.COMPLETE_COMMIT
    coordinator.send_markers(0, "p")
    assert [one.outcome for one in coordinator.markers] == [Errors.NETWORK_EXCEPTION, Errors.NONE]
    assert payloads(cluster, 0) == ("x", "COMMIT")


def fetch_all(cluster: Cluster) -> None:
    """Broker 1 fetches twice; the answers to clients arrive."""
    fetch(cluster, 1, 0)
    fetch(cluster, 1, 0)
    for message in cluster.messages():
        if isinstance(message.destination, str):
            cluster.deliver(message.number)


def test_a_transaction_without_the_partition_needs_no_marker() -> None:
    cluster = Cluster(start=PAIR)
    found = cluster.coordinator.init_producer_id("t", 60_000)
    cluster.coordinator.add_partition("t", found.producer_id, 0, "offsets")
    cluster.coordinator.end_transaction("t", found.producer_id, 0, Control.COMMIT)
    cluster.coordinator.send_markers(0, "p")
    assert dict(cluster.coordinator.transactions)["t"].state is TransactionState.COMPLETE_COMMIT
    assert cluster.coordinator.markers == ()


# ------------------------------------------------------------------------------------------------------------ batches


def produce(cluster: Cluster, stamp: ProducerStamp | None, records: int, broker: int = 0) -> ProduceResponse:
    answers: list[Payload | None] = []
    cluster.outside.produce(broker, "batch", Acks.LEADER, stamp, records, answers.append)
    cluster.deliver(cluster.messages()[-1].number)
    cluster.deliver(cluster.messages()[-1].number)
    (answer,) = answers
    assert isinstance(answer, ProduceResponse)
    return answer


def test_the_sequence_counts_records_and_batches_are_recognised() -> None:
    cluster = Cluster(start=PAIR)
    assert produce(cluster, ProducerStamp(9, 0, 0), 3).offset == 0
    assert produce(cluster, ProducerStamp(9, 0, 3), 2).offset == 3
    assert produce(cluster, ProducerStamp(9, 0, 0), 3).offset == 0
    assert produce(cluster, ProducerStamp(9, 0, 3), 2).offset == 3
    assert produce(cluster, ProducerStamp(9, 0, 3), 1).error is Errors.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert produce(cluster, ProducerStamp(9, 0, 6), 1).error is Errors.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert produce(cluster, ProducerStamp(9, 0, 5), 1).offset == 5
    assert cluster.observe_broker(0).log_end_offset == 6


LARGEST_SEQUENCE = (1 << 31) - 1


def test_the_sequence_after_the_largest_one_is_0() -> None:
    cluster = Cluster("2.8", PAIR)  # which takes any first sequence
    assert produce(cluster, ProducerStamp(9, 0, LARGEST_SEQUENCE - 1), 1).offset == 0
    for _ in range(2):
        assert produce(cluster, ProducerStamp(9, 0, LARGEST_SEQUENCE), 2).offset == 1
    assert produce(cluster, ProducerStamp(9, 0, 1), 1).offset == 3


def test_a_new_leader_recognises_a_batch_of_several_records() -> None:
    cluster = Cluster(start=PAIR, settings=PROMPT)
    produce(cluster, ProducerStamp(9, 0, 0), 3)
    fetch(cluster, 1, 0)
    cluster.elect(Election.FAIL_OVER, 1)
    learn(cluster, 1)
    assert produce(cluster, ProducerStamp(9, 0, 0), 3, broker=1).offset == 0
    assert produce(cluster, ProducerStamp(9, 0, 3), 1, broker=1).offset == 3


# ---------------------------------------------------------------------------------------------------------- consumers


def ask(cluster: Cluster, broker: int, request: ConsumerFetchRequest | ConsumerListOffsetsRequest) -> Payload:
    answers: list[Payload | None] = []
    cluster.outside.ask(broker, request, answers.append)
    cluster.deliver(cluster.messages()[-1].number)
    cluster.deliver(cluster.messages()[-1].number)
    (answer,) = answers
    assert answer is not None
    return answer


def offset(cluster: Cluster, kind: OffsetKind, isolation: Isolation = UNCOMMITTED, broker: int = 0) -> object:
    answer = ask(cluster, broker, ConsumerListOffsetsRequest(kind, isolation))
    assert isinstance(answer, ListOffsetsResponse)
    return answer.offset if answer.error is Errors.NONE else answer.error


def test_the_latest_offset_is_that_of_the_isolation_level() -> None:
    cluster = Cluster(start=Start(replicas=1), settings=Settings(min_insync_replicas=1))
    produce(cluster, None, 1)
    produce(cluster, ProducerStamp(9, 0, 0, is_transactional=True), 2)
    assert offset(cluster, OffsetKind.EARLIEST) == 0
    assert offset(cluster, OffsetKind.LATEST) == 3
    assert offset(cluster, OffsetKind.LATEST, Isolation.READ_COMMITTED) == 1


@pytest.mark.parametrize(("protocol", "answer"), [("2.1", 0), ("2.4", Errors.OFFSET_NOT_AVAILABLE)])
def test_a_new_leader_does_not_tell_an_end_below_its_epoch(protocol: str, answer: object) -> None:
    """KAFKA-2334: the new leader has the record, and does not know yet that it is committed."""
    cluster = Cluster(protocol, PAIR, Settings(replica_fetch_backoff_ms=0, min_insync_replicas=1))
    produce(cluster, None, 1)
    fetch(cluster, 1, 0)
    cluster.elect(Election.PREFERRED, 1)
    learn(cluster, 1)
    assert offset(cluster, OffsetKind.LATEST, broker=1) == answer
    assert offset(cluster, OffsetKind.EARLIEST, broker=1) == 0


def test_a_consumer_in_the_middle_of_a_batch_gets_all_of_it_and_the_offsets() -> None:
    cluster = Cluster(start=Start(replicas=1), settings=Settings(min_insync_replicas=1))
    produce(cluster, None, 3)
    answer = ask(cluster, 0, ConsumerFetchRequest(2, UNCOMMITTED))
    assert isinstance(answer, ConsumerFetchResponse)
    assert [one.offset for one in answer.records] == [0, 1, 2]
    assert (answer.high_watermark, answer.last_stable_offset, answer.log_start_offset) == (3, 3, 0)


@pytest.mark.parametrize(
    ("protocol", "epoch", "error"),
    [
        ("2.4", 0, Errors.NONE),
        ("2.4", 1, Errors.UNKNOWN_LEADER_EPOCH),
        ("2.0", 1, Errors.NONE),
    ],
)
def test_the_epoch_of_a_consumer_is_compared_since_2_1(protocol: str, epoch: int, error: Errors) -> None:
    answer = ask(Cluster(protocol, PAIR), 0, ConsumerFetchRequest(0, UNCOMMITTED, epoch))
    assert isinstance(answer, ConsumerFetchResponse)
    assert answer.error is error


def test_a_client_learns_that_its_broker_has_gone() -> None:
    cluster = Cluster(start=PAIR)
    answers: list[Payload | None] = []
    cluster.outside.produce(0, "x", Acks.ALL, None, 1, answers.append)
    cluster.deliver(cluster.messages()[-1].number)  # it waits for the high watermark
    cluster.crash(0)
    assert answers == [None]
    cluster.outside.ask(0, ConsumerFetchRequest(0, UNCOMMITTED), answers.append)
    cluster.deliver(cluster.messages()[-1].number)
    assert answers == [None, None]
