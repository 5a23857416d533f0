"""The transaction coordinator: every request in every state, its log, its fail-over; markers at a partition."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from isrcheck.conformance.cluster.configuration.protocol import Switches, Verification
from isrcheck.conformance.cluster.log.log import Log
from isrcheck.conformance.cluster.log.storage import MemoryStorage
from isrcheck.conformance.cluster.network.messages import (
    AddPartitionsToTxnRequest,
    EndTxnRequest,
    Errors,
    InitProducerIdRequest,
    InitProducerIdResponse,
    TransactionResponse,
)
from isrcheck.conformance.cluster.network.records import Control, ProducerStamp
from isrcheck.conformance.cluster.transactions.coordinator import (
    LAST_EPOCH,
    TransactionCoordinator,
    TransactionMetadata,
    TransactionState,
)
from isrcheck.conformance.cluster.transactions.system import TransactionalCluster

TV1 = Switches()
TV2 = Switches(TXN_VERIFY=Verification.TV2)
TV2_OF_4_0 = replace(TV2, FENCE_RAISES_EPOCH_TWICE=True)
EMPTY, ONGOING = TransactionState.EMPTY, TransactionState.ONGOING
PREPARE_COMMIT, PREPARE_ABORT = TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT
COMPLETE_COMMIT, COMPLETE_ABORT = TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT
COMMIT, ABORT = Control.COMMIT, Control.ABORT
OK, BUSY, INVALID = Errors.NONE, Errors.CONCURRENT_TRANSACTIONS, Errors.INVALID_TXN_STATE
FENCED, UNKNOWN = Errors.PRODUCER_FENCED, Errors.INVALID_PRODUCER_ID_MAPPING


class Coordinated:
    """A coordinator that has loaded the transactional id `t` in this state, with producer id 7 and epoch 3."""

    def __init__(self, state: TransactionState, switches: Switches = TV1, epoch: int = 3, last: int = -1) -> None:
        held = frozenset() if state in (EMPTY, COMPLETE_COMMIT, COMPLETE_ABORT) else frozenset({"p", "q"})
        self.log = Log(MemoryStorage(), switches, None)
        text = TransactionMetadata(7, 100, epoch, last, state, 50, held).text()
        self.log.append_as_leader(json.dumps(["t", text]), 0)
        self.log.increment_high_watermark(1)
        self.coordinator = TransactionCoordinator(self.log, 1, lambda: 8, switches)
        self.answers: list[TransactionResponse] = []

    @property
    def state(self) -> tuple[TransactionState, int]:
        """The durable state and epoch."""
        found = self.coordinator.states.states["t"]
        return found.state, found.producer_epoch

    def replicate(self) -> None:
        """What is pending becomes durable."""
        self.log.increment_high_watermark(self.log.log_end_offset)
        self.coordinator.states.replicated()

    def init(self, producer_id: int = -1, epoch: int = -1, name: str = "t") -> None:
        """InitProducerId."""
        request = InitProducerIdRequest(name, 100, producer_id, epoch)
        self.coordinator.handle_init_producer_id(request, self.answers.append)

    def add(self, producer_id: int = 7, epoch: int = 3, partition: str = "p", *, verify: bool = False) -> None:
        """AddPartitionsToTxn."""
        request = AddPartitionsToTxnRequest("t", producer_id, epoch, partition, verify)
        self.coordinator.handle_add_partitions(request, 60, self.answers.append)

    def end(self, control: Control, producer_id: int = 7, epoch: int = 3) -> None:
        """EndTxn."""
        request = EndTxnRequest("t", producer_id, epoch, control)
        self.coordinator.handle_end_transaction(request, self.answers.append)

    def outcome(self) -> Errors:
        """The error of the only answer."""
        self.replicate()
        (answer,) = self.answers
        return answer.error


@pytest.mark.parametrize(
    ("state", "switches", "error", "after"),
    [
        (EMPTY, TV1, OK, (EMPTY, 4)),
        (ONGOING, TV1, BUSY, (PREPARE_ABORT, 4)),
        (ONGOING, TV2, BUSY, (PREPARE_ABORT, 4)),
        (ONGOING, TV2_OF_4_0, BUSY, (PREPARE_ABORT, 5)),
        (PREPARE_COMMIT, TV1, BUSY, (PREPARE_COMMIT, 3)),
        (PREPARE_ABORT, TV1, BUSY, (PREPARE_ABORT, 3)),
        (COMPLETE_COMMIT, TV1, OK, (EMPTY, 4)),
        (COMPLETE_ABORT, TV2, OK, (EMPTY, 4)),
    ],
)
def test_init_producer_id_in_every_state(state, switches, error, after) -> None:
    found = Coordinated(state, switches)
    found.init()
    assert (found.outcome(), found.state) == (error, after)


@pytest.mark.parametrize(
    ("given", "answer"),
    [
        ((7, 3), InitProducerIdResponse(OK, 7, 4)),  # it takes a new epoch
        ((7, 2), InitProducerIdResponse(OK, 7, 3)),  # the answer to the request before was lost
        ((7, 1), InitProducerIdResponse(FENCED)),
        ((8, 3), InitProducerIdResponse(FENCED)),
    ],
)
def test_an_instance_that_has_an_epoch_names_it(given, answer) -> None:
    """KIP-360."""
    found = Coordinated(EMPTY, last=2)
    found.init(*given)
    found.replicate()
    assert found.answers == [answer]


def test_a_new_id_and_one_whose_epochs_are_used_up_get_a_producer_id() -> None:
    found = Coordinated(EMPTY, epoch=LAST_EPOCH - 1)
    for name in ("t", "t", "new"):
        found.init(name=name)
        found.replicate()
    assert found.answers == [
        InitProducerIdResponse(OK, 7, LAST_EPOCH),
        InitProducerIdResponse(OK, 8, 0),
        InitProducerIdResponse(OK, 8, 0),
    ]


@pytest.mark.parametrize(
    ("state", "error", "after"),
    [
        (EMPTY, OK, ONGOING),
        (ONGOING, OK, ONGOING),
        (PREPARE_COMMIT, BUSY, PREPARE_COMMIT),
        (PREPARE_ABORT, BUSY, PREPARE_ABORT),
        (COMPLETE_COMMIT, OK, ONGOING),
        (COMPLETE_ABORT, OK, ONGOING),
    ],
)
def test_a_partition_is_added_in_every_state(state, error, after) -> None:
    found = Coordinated(state)
    found.add(partition="r")
    assert (found.outcome(), found.state) == (error, (after, 3))
    assert ("r" in found.coordinator.states.states["t"].partitions) == (error is OK)


@pytest.mark.parametrize(
    ("state", "partition", "error"),
    [
        (ONGOING, "p", OK),
        (ONGOING, "r", Errors.TRANSACTION_ABORTABLE),
        (EMPTY, "p", Errors.TRANSACTION_ABORTABLE),
        (PREPARE_COMMIT, "p", BUSY),
    ],
)
def test_a_leader_asks_whether_a_partition_is_in_the_transaction(state, partition, error) -> None:
    """KIP-890, part 1. A pending transition does not count."""
    found = Coordinated(state)
    found.add(partition=partition, verify=True)
    assert (found.outcome(), found.state) == (error, (state, 3))
    found.add(partition="s")
    found.add(partition=partition, verify=True)
    assert found.answers[1].error is error


TV1_ENDS = [
    (EMPTY, COMMIT, 3, INVALID, (EMPTY, 3)),
    (EMPTY, ABORT, 3, INVALID, (EMPTY, 3)),
    (ONGOING, COMMIT, 3, OK, (PREPARE_COMMIT, 3)),
    (ONGOING, ABORT, 3, OK, (PREPARE_ABORT, 3)),
    (PREPARE_COMMIT, COMMIT, 3, BUSY, (PREPARE_COMMIT, 3)),
    (PREPARE_COMMIT, ABORT, 3, INVALID, (PREPARE_COMMIT, 3)),
    (PREPARE_ABORT, ABORT, 3, BUSY, (PREPARE_ABORT, 3)),
    (COMPLETE_COMMIT, COMMIT, 3, OK, (COMPLETE_COMMIT, 3)),
    (COMPLETE_COMMIT, ABORT, 3, INVALID, (COMPLETE_COMMIT, 3)),
    (COMPLETE_ABORT, ABORT, 3, OK, (COMPLETE_ABORT, 3)),
    (COMPLETE_ABORT, ABORT, 2, FENCED, (COMPLETE_ABORT, 3)),
]
TV2_ENDS = [
    (EMPTY, ABORT, 2, FENCED, (EMPTY, 3)),
    (EMPTY, ABORT, 3, OK, (PREPARE_ABORT, 4)),
    (EMPTY, COMMIT, 3, INVALID, (EMPTY, 3)),
    (ONGOING, COMMIT, 3, OK, (PREPARE_COMMIT, 4)),
    (ONGOING, COMMIT, 2, FENCED, (ONGOING, 3)),
    (PREPARE_COMMIT, COMMIT, 2, BUSY, (PREPARE_COMMIT, 3)),
    (PREPARE_COMMIT, COMMIT, 3, FENCED, (PREPARE_COMMIT, 3)),
    (COMPLETE_ABORT, ABORT, 2, OK, (COMPLETE_ABORT, 3)),
    (COMPLETE_ABORT, ABORT, 3, OK, (PREPARE_ABORT, 4)),
    (COMPLETE_ABORT, COMMIT, 2, INVALID, (COMPLETE_ABORT, 3)),
    (COMPLETE_COMMIT, ABORT, 2, INVALID, (COMPLETE_COMMIT, 3)),
    (COMPLETE_COMMIT, ABORT, 3, OK, (PREPARE_ABORT, 4)),
    (COMPLETE_COMMIT, COMMIT, 2, OK, (COMPLETE_COMMIT, 3)),
    (COMPLETE_COMMIT, COMMIT, 3, INVALID, (COMPLETE_COMMIT, 3)),
]
"""With TV2, an epoch below by one is that of a request that is sent again: the table in TransactionCoordinator."""


@pytest.mark.parametrize(
    ("switches", "state", "control", "epoch", "error", "after"),
    [(TV1, *row) for row in TV1_ENDS] + [(TV2, *row) for row in TV2_ENDS],
)
def test_a_transaction_is_ended_in_every_state(switches, state, control, epoch, error, after) -> None:
    found = Coordinated(state, switches)
    found.end(control, epoch=epoch)
    assert (found.outcome(), found.state) == (error, after)


def test_another_id_or_epoch_is_refused() -> None:
    for producer_id, epoch, error in ((8, 3, UNKNOWN), (7, 2, FENCED), (7, 4, FENCED)):
        found = Coordinated(ONGOING)
        found.add(producer_id, epoch)
        found.end(COMMIT, producer_id, epoch)
        assert [one.error for one in found.answers] == [error, error]


def test_while_a_transition_is_pending_every_other_request_waits() -> None:
    found = Coordinated(ONGOING)
    found.end(COMMIT)
    assert (found.answers, found.state, found.coordinator.markers.queued) == ([], (ONGOING, 3), ())
    found.init()
    found.add()
    found.end(ABORT)
    found.coordinator.abort_timed_out_transactions(1_000)
    assert [one.error for one in found.answers] == [BUSY, BUSY, BUSY]
    found.replicate()
    assert (found.answers[3].error, found.state) == (OK, (PREPARE_COMMIT, 3))
    assert [marker.partition for marker in found.coordinator.markers.queued] == ["p", "q"]


@pytest.mark.parametrize(("switches", "epoch"), [(TV1, 4), (TV2, 4), (TV2_OF_4_0, 5)])
def test_an_open_transaction_expires_and_fences_its_producer(switches, epoch) -> None:
    found = Coordinated(ONGOING, switches)
    found.coordinator.abort_timed_out_transactions(150)
    found.replicate()
    assert found.state == (ONGOING, 3)
    found.coordinator.abort_timed_out_transactions(151)
    found.replicate()
    assert found.state == (PREPARE_ABORT, epoch)


def test_a_new_coordinator_loses_what_was_pending_and_sends_the_markers_of_what_was_not() -> None:
    cluster = TransactionalCluster(TV1, 1)
    cluster.start_producer()
    cluster.deliver(cluster.messages[-1].number)
    cluster.fail_over()
    assert cluster.coordinator.states.states == {}
    cluster.producers[0].ask_again()
    cluster.deliver(cluster.messages[-1].number)
    cluster.replicate_transaction_log()
    cluster.fail_over()
    assert list(cluster.coordinator.states.states) == ["application"]
    found = Coordinated(PREPARE_ABORT).coordinator.markers.queued
    assert [(one.partition, one.stamp.producer_epoch, one.control, one.coordinator_epoch) for one in found] == [
        ("p", 3, ABORT, 1),
        ("q", 3, ABORT, 1),
    ]


def test_a_refused_marker_cancels_those_that_are_not_sent() -> None:
    markers = Coordinated(PREPARE_ABORT).coordinator.markers
    markers.send_queued("p", lambda marker: 5)
    markers.receive(5, Errors.TRANSACTION_COORDINATOR_FENCED)
    assert (markers.queued, markers.next_complete(), markers.cancelled) == ((), None, {"t"})


@pytest.mark.parametrize(
    ("switches", "epoch", "coordinator_epoch", "error"),
    [
        (Switches(), 3, 1, OK),
        (Switches(), 2, 1, Errors.INVALID_PRODUCER_EPOCH),
        (Switches(), 3, 0, Errors.TRANSACTION_COORDINATOR_FENCED),
        (Switches(MARKER_EPOCH_STRICT=True), 3, 1, Errors.INVALID_PRODUCER_EPOCH),
        (Switches(MARKER_EPOCH_STRICT=True), 4, 1, OK),
        (Switches(MARKER_EPOCH_STRICT=True, EQUAL_MARKER_EPOCH_IS_RETRY=True), 3, 1, OK),
    ],
)
def test_a_partition_compares_the_epochs_of_a_marker(switches, epoch, coordinator_epoch, error) -> None:
    log = Log(MemoryStorage(), switches, None)
    log.append_as_leader("ABORT", 0, ProducerStamp(7, 3, -1, is_transactional=True), ABORT, coordinator_epoch=1)
    stamp = ProducerStamp(7, epoch, -1, is_transactional=True)
    assert log.producers.refusal_of_marker(stamp, coordinator_epoch) is error


@pytest.mark.parametrize(("is_early", "known"), [(True, {}), (False, {7: (3, 0)})])
def test_a_marker_keeps_a_producers_state_alive(is_early, known) -> None:
    """KAFKA-9144."""
    log = Log(MemoryStorage(), Switches(PRODUCER_STATE_EXPIRES_EARLY=is_early), None)
    log.append_as_leader("x", 0, ProducerStamp(7, 3, 0, is_transactional=True))
    log.producers.remove_expired(1_000, 100)
    assert log.producers.known == {7: (3, -1)}
    log.append_as_leader("ABORT", 0, ProducerStamp(7, 3, -1, is_transactional=True), ABORT, timestamp=950)
    log.producers.remove_expired(1_000, 100)
    assert log.producers.known == known
