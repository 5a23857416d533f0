"""The fetchers of a follower: one per source broker, each with at most one outstanding request.

A fetcher still exists after the partition is taken from it (it fetches other partitions too). So it can receive a
response from an earlier assignment of the partition. It drops such a response if it does not have the partition, or if
the partition is truncating or has moved to a different offset. Since 2.7 an assigned partition is fetched at once,
without truncating first: the fetch carries the newest epoch of the log, and the response says where the logs diverge.
Source: fact sheet, sections 2.5, 3.3 to 3.5; Kafka: AbstractFetcherThread, ReplicaFetcherThread.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum

from isrcheck.conformance.cluster.broker.part import Part
from isrcheck.conformance.cluster.configuration.bugs import Bug
from isrcheck.conformance.cluster.configuration.protocol import Truncation
from isrcheck.conformance.cluster.log.log import Log
from isrcheck.conformance.cluster.network.messages import (
    BrokerRequest,
    BrokerResponse,
    Errors,
    FetchRequest,
    FetchResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    OffsetKind,
    OffsetsForLeaderEpochRequest,
    OffsetsForLeaderEpochResponse,
)
from isrcheck.conformance.cluster.network.records import UNDEFINED_EPOCH, UNDEFINED_OFFSET


class Mode(Enum):
    """The state of the partition in the fetcher. Kafka: Truncating, Fetching; FAILED since 2.1 (onPartitionFenced)."""

    TRUNCATING = "truncating"
    FETCHING = "fetching"
    FAILED = "failed"


@dataclass
class PartitionFetchState:
    """The state of the partition in one fetcher. `initial_offset`: the high watermark when the fetcher was assigned the
    partition; `not_before`: the end of a back-off, in ms; `diverging`: a response that says where the logs diverge,
    kept until the log is truncated there (switch HW_FROM_DIVERGING_RESP); otherwise None."""

    leader_epoch: int
    initial_offset: int
    mode: Mode
    not_before: int = 0
    diverging: FetchResponse | None = None


@dataclass(frozen=True)
class Outstanding:
    """A request that awaits a response. `state`: the partition's state when the request was sent; `sent_at`: in ms."""

    number: int
    request: BrokerRequest
    state: PartitionFetchState
    sent_at: int


Ask = Callable[[int, BrokerRequest], int]
"""Sends a request to a broker and returns the number of the message."""


@dataclass(eq=False)
class FetcherThread(Part):
    """The fetcher for one source broker."""

    _source: int
    _log: Log
    _ask: Ask
    _halt: Callable[[], None]

    def __post_init__(self) -> None:
        self.state: PartitionFetchState | None = None
        """The partition in this fetcher; None if it does not have the partition."""
        self._outstanding: Outstanding | None = None

    @property
    def outstanding(self) -> int | None:
        """The number of the request whose response this fetcher awaits; None if it awaits no response."""
        return None if self._outstanding is None else self._outstanding.number

    def add_partition(self, leader_epoch: int, mode: Mode) -> None:
        """Assign the partition to this fetcher, or assign it again in a newer epoch. Kafka: addFetcherForPartitions."""
        self.state = PartitionFetchState(leader_epoch, self._log.high_watermark, mode)

    def do_work(self) -> bool:
        """Send a request if none is outstanding; return whether anything was done. Kafka: ShutdownableThread.

        Since KIP-279, a log without any epoch is truncated to its high watermark without a request. Fact sheet 3.4.
        """
        if self._outstanding is not None:
            if self._clock.now - self._outstanding.sent_at < self._settings.replica_socket_timeout_ms:
                return False
            self.disconnected()
        state = self.state
        if state is None or state.mode is Mode.FAILED or self._clock.now < state.not_before:
            return False
        epoch = state.leader_epoch if self._switches.fences_epochs else None
        if state.mode is Mode.FETCHING:
            last = self._log.latest_epoch if self._switches.TRUNC is Truncation.ON_FETCH else UNDEFINED_EPOCH
            last_epoch = None if last == UNDEFINED_EPOCH else last
            self._send(FetchRequest(self._log.log_end_offset, self._log.log_start_offset, epoch, last_epoch), state)
        elif state.diverging is not None:
            self._truncate_on_fetch_response(state, state.diverging)
        elif self._log.latest_epoch == UNDEFINED_EPOCH and self._switches.TRUNC >= Truncation.KIP279:
            self._truncate_and_fetch(state, state.initial_offset)
        else:
            self._send(OffsetsForLeaderEpochRequest(self._log.latest_epoch, epoch), state)
        return True

    def disconnected(self) -> None:
        """The connection to the source broker broke: give up the outstanding request, and start a back-off."""
        self._outstanding = None
        self._back_off()

    def receive(self, request: int, response: BrokerResponse) -> None:
        """Handle the response to the request with this number. Kafka: AbstractFetcherThread.processFetchRequest."""
        request_sent = self._outstanding
        if request_sent is None or request_sent.number != request:
            return  # the request was given up; its connection is closed
        self._outstanding = None
        state = self.state
        if state is None:
            return
        if isinstance(response, FetchResponse):
            self._fetched(state, request_sent, response)
        elif isinstance(response, OffsetsForLeaderEpochResponse):
            self._reconciled(state, request_sent, response)
        else:
            self._listed(state, request_sent, response)

    def _fetched(self, state: PartitionFetchState, sent: Outstanding, response: FetchResponse) -> None:
        """Append the response's records if they begin at the log end, whatever their epoch. Sheet 2.5.

        If the logs diverge, the follower truncates its log. Before 3.5 the follower only adopts the response's high
        watermark here, and truncates in the next `do_work` (KAFKA-14704). Kafka: processPartitionData.
        """
        if state.mode is not Mode.FETCHING or response.fetch_offset != self._log.log_end_offset:
            return
        if self._switches.RESPONSE_EPOCH_MATCHED and sent.request.current_leader_epoch != state.leader_epoch:
            return
        if response.error is Errors.OFFSET_OUT_OF_RANGE:
            self._send(ListOffsetsRequest(OffsetKind.LATEST, self._epoch_of(state)), state)
        elif response.error is not Errors.NONE:
            self._refused(state, sent, response.error)
        elif response.diverging_epoch is not None and self._switches.HW_FROM_DIVERGING_RESP:
            self._log.update_high_watermark(response.high_watermark)
            state.mode, state.diverging = Mode.TRUNCATING, response
        elif response.diverging_epoch is not None:
            self._truncate_on_fetch_response(state, response)
        else:
            self._log.append_as_follower(response.records)
            self._log.update_high_watermark(response.high_watermark)
            self._log.increment_log_start(response.log_start_offset)

    def _reconciled(self, state: PartitionFetchState, sent: Outstanding, answer: OffsetsForLeaderEpochResponse) -> None:
        """Truncate the log according to the leader's answer; since 2.1.1, drop an answer if the request was sent in an
        older leader epoch (KAFKA-7786). Kafka: maybeTruncate."""
        stale = state.leader_epoch != sent.state.leader_epoch and self._switches.fences_epochs
        if state.mode is not Mode.TRUNCATING or (stale and self._bug is not Bug.STALE_EPOCH_ANSWER_APPLIED):
            return
        if answer.error is not Errors.NONE:
            self._refused(state, sent, answer.error)
        elif answer.end_offset == UNDEFINED_OFFSET:
            self._truncate_and_fetch(state, state.initial_offset)
        elif answer.leader_epoch == UNDEFINED_EPOCH:  # KIP-101: the answer is an offset only
            self._truncate_and_fetch(state, answer.end_offset)
        else:
            offset, is_done = self._log.offset_truncation_state(answer.leader_epoch, answer.end_offset)
            self._log.truncate_to(offset)
            if is_done:  # otherwise it asks again, for its new latest epoch
                state.mode = Mode.FETCHING

    def _truncate_on_fetch_response(self, state: PartitionFetchState, response: FetchResponse) -> None:
        """Truncate the log to where the logs diverge; the next fetch shows whether the logs agree now. Sheet 3.5."""
        assert response.diverging_epoch is not None, f"{response}: this is a defect of the cluster"
        divergence = response.diverging_epoch
        offset, _ = self._log.offset_truncation_state(divergence.leader_epoch, divergence.end_offset)
        state.diverging = None
        self._truncate_and_fetch(
            state, divergence.end_offset if self._bug is Bug.TRUNCATES_TO_ANSWERED_OFFSET else offset
        )

    def _listed(self, state: PartitionFetchState, sent: Outstanding, answer: ListOffsetsResponse) -> None:
        """Handle a ListOffsets response after a fetch out of range. If this log ends above the leader's log end,
        truncate it (or halt: OUT_OF_RANGE_HALTS without unclean elections); otherwise ask for the leader's log start,
        and if this log ends below it, start an empty log there. Epochs are not compared. Drop a response to an earlier
        assignment's request (in Kafka, a lock prevents this). Kafka: fetchOffsetAndTruncate; fact sheet 2.5."""
        if state is not sent.state:
            return
        if answer.error is not Errors.NONE:
            self._refused(state, sent, answer.error)
        elif answer.kind is OffsetKind.LATEST:
            if answer.offset >= self._log.log_end_offset:
                self._send(ListOffsetsRequest(OffsetKind.EARLIEST, self._epoch_of(state)), state)
            elif self._switches.OUT_OF_RANGE_HALTS and not self._settings.unclean_leader_election_enable:
                self._halt()
            else:
                self._log.truncate_to(answer.offset)
        elif answer.offset > self._log.log_end_offset:
            self._log.truncate_fully_and_start_at(answer.offset)

    def _refused(self, state: PartitionFetchState, sent: Outstanding, error: Errors) -> None:
        """Handle the leader's refusal of request `sent`. On FENCED_LEADER_EPOCH, if the leader epoch has not changed
        since the request, stop until newer metadata arrives; otherwise retry after a back-off. Sheet 2.5."""
        if error is Errors.FENCED_LEADER_EPOCH and state.leader_epoch == sent.state.leader_epoch:
            state.mode = Mode.FAILED
        else:
            self._back_off()

    def _truncate_and_fetch(self, state: PartitionFetchState, offset: int) -> None:
        self._log.truncate_to(offset)
        state.mode = Mode.FETCHING

    def _back_off(self) -> None:
        if self.state is not None:
            self.state.not_before = self._clock.now + self._settings.replica_fetch_backoff_ms

    def _epoch_of(self, state: PartitionFetchState) -> int | None:
        return state.leader_epoch if self._switches.fences_epochs else None

    def _send(self, request: BrokerRequest, state: PartitionFetchState) -> None:
        number = self._ask(self._source, request)
        self._outstanding = Outstanding(number, request, state, self._clock.now)


@dataclass(eq=False)
class FetcherManager(Part):
    """All fetchers of a broker; while the broker follows a leader, one of them fetches the partition."""

    broker: int
    _log: Log
    _ask: Ask
    _halt: Callable[[], None]

    def __post_init__(self) -> None:
        self._threads: dict[int, FetcherThread] = {}

    @property
    def threads(self) -> Mapping[int, FetcherThread]:
        """The fetchers, each under the number of its source broker."""
        return dict(self._threads)

    def start_over(self, leader: int, leader_epoch: int) -> None:
        """Follow the given leader from now on. Kafka: ReplicaManager.makeFollowers; fact sheet 3.3 and 3.4.

        In 0.10 the log is truncated to its high watermark at once. Later releases first ask the leader where the logs
        diverge. Since 2.7 (ON_FETCH) the response to the fetch says where the logs diverge; only a log without any
        epoch is truncated at once. (Kafka truncates such a log in the fetcher's thread, before the first fetch.)
        """
        if self._bug is not Bug.FETCHER_NOT_CLEARED:
            self.remove_fetcher()
        on_fetch = self._switches.TRUNC is Truncation.ON_FETCH
        mode = Mode.FETCHING if on_fetch else Mode.TRUNCATING
        if self._switches.TRUNC is Truncation.HW or (on_fetch and self._log.latest_epoch == UNDEFINED_EPOCH):
            self._log.truncate_to(self._log.high_watermark)
            mode = Mode.FETCHING
        self._thread(leader).add_partition(leader_epoch, mode)

    def go_on(self, leader_epoch: int) -> None:
        """Keep fetching, because the leader is the same in the newer epoch `leader_epoch` (switch FOLLOWER_SKIP).

        No release has this switch together with fencing of epochs (KIP-320). If a configuration has both, the requests
        of the fetcher carry the newer epoch.
        """
        for thread in self._threads.values():
            if thread.state is not None:
                thread.state.leader_epoch = leader_epoch

    def start_fetching(self, leader: int, leader_epoch: int) -> None:
        """Start fetching, as if the logs had been reconciled before. Called only at the start of a run (`Start`)."""
        self._thread(leader).add_partition(leader_epoch, Mode.FETCHING)

    def remove_fetcher(self) -> None:
        """Take the partition from every fetcher: the broker follows no leader. Kafka: removeFetcherForPartitions."""
        for thread in self._threads.values():
            thread.state = None

    def _thread(self, source: int) -> FetcherThread:
        if source not in self._threads:
            conditions = (self._clock, self._settings, self._switches, self._bug)
            self._threads[source] = FetcherThread(*conditions, source, self._log, self._ask, self._halt)
        return self._threads[source]
