"""A consumer of the partition: its position, and the records that it has read.

A consumer that learns of a new leader asks the leader for the end offset of an epoch: the epoch of the last record that
the consumer has read. If this end is below the consumer's position, the consumer moves back to it (KIP-320; switch
POSITION_CHECK). A position outside the leader's log is reset as auto.offset.reset says; if it is outside a follower's
log, the consumer returns to the leader (KIP-392). Source: fact sheet, 6.4, 7; Kafka: CompletedFetch, SubscriptionState.
"""

from __future__ import annotations

from isrcheck.conformance.cluster.configuration.bugs import Bug
from isrcheck.conformance.cluster.configuration.protocol import PositionCheck, Switches
from isrcheck.conformance.cluster.configuration.settings import AutoOffsetReset, ClusterError, Settings
from isrcheck.conformance.cluster.network.messages import (
    AbortedTransaction,
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
from isrcheck.conformance.cluster.network.network import Network
from isrcheck.conformance.cluster.network.records import UNDEFINED_EPOCH, UNDEFINED_OFFSET, Record


class Consumer:
    """One consumer; its name is its address in the network."""

    def __init__(
        self, name: str, isolation: Isolation, network: Network, settings: Settings, switches: Switches, bug: Bug | None
    ) -> None:
        self.name = name
        self.isolation = isolation
        """The consumer's `isolation.level`."""
        self._network = network
        self._settings = settings
        self._switches = switches
        self._bug = bug
        self._leader: int | None = None
        self._leader_epoch = 0
        self.consumed_epoch: int | None = None
        """The leader epoch of the last entry that it has read; None if unknown."""
        self.known_end_offset = 0
        """The readable end of the log by the response to the last fetch, from which the lag is computed."""
        self.has_skipped = False
        """Whether the position was reset to the end of the log."""
        self._asked: int | None = None
        self.preferred_read_replica: int | None = None
        """The broker to which a leader has sent the consumer."""
        self.position = 0
        """The offset that the consumer will read next."""
        self._read: list[Record] = []
        self.error = Errors.NONE
        """The error in the last response; NONE after a successful one."""

    @property
    def leader_epoch(self) -> int:
        """The newest leader epoch that the consumer knows; 0 before KIP-320 (switch POSITION_CHECK)."""
        return self._leader_epoch if self._checks_position else 0

    @property
    def read(self) -> tuple[Record, ...]:
        """The records passed to the application, in order: no markers and, with read_committed, no aborted records."""
        return tuple(self._read)

    def fetch(self, broker: int, most: int | None = None, rack: int | None = None) -> int:
        """Ask a broker for at most `most` of the next records, as a consumer in rack `rack`; returns the number of the
        message. Errors: `ClusterError` if the leader has sent the consumer to a different broker.
        """
        if self.preferred_read_replica not in (None, broker):
            raise ClusterError(
                f"consumer {self.name} reads from broker {self.preferred_read_replica}; "
                "fetch from that broker, or call expire_preferred_read_replica"
            )
        request = ConsumerFetchRequest(self.position, self.isolation, self._sent_epoch, most, rack)
        return self._network.send(self.name, broker, request)

    def learns_of_leader(self, leader: int, leader_epoch: int) -> None:
        """Handle metadata: fetch from this leader, and no longer from a follower; validate the position. Metadata
        without a newer leader epoch are ignored (since KIP-320). Kafka: maybeValidatePosition."""
        if self._checks_position:
            if self._leader is not None and leader_epoch <= self._leader_epoch:
                return
            self.preferred_read_replica = None
        self._leader, self._leader_epoch = leader, leader_epoch
        if self._checks_position and self.consumed_epoch is not None and self._bug is not Bug.POSITION_NOT_VALIDATED:
            request = OffsetsForLeaderEpochRequest(self.consumed_epoch, self._sent_epoch)
            self._asked = self._network.send(self.name, leader, request)

    def expire_preferred_read_replica(self) -> None:
        """Read from the leader again: metadata.max.age.ms has passed. Kafka: SubscriptionState.preferredReadReplica."""
        self.preferred_read_replica = None

    def seek(self, position: int) -> None:
        """Move to another position, as auto.offset.reset or a user does."""
        self.position = position

    def receive_offset(
        self, request: int | None, response: OffsetsForLeaderEpochResponse | ListOffsetsResponse
    ) -> None:
        """Handle an answer about offsets; drop the answer if a later request was sent. Kafka: maybeCompleteValidation,
        OffsetFetcher.resetPositionIfNeeded."""
        if request != self._asked or response.error is not Errors.NONE:
            return
        self._asked = None
        if isinstance(response, OffsetsForLeaderEpochResponse):
            self._validate(response)
            return
        self.position, self.consumed_epoch = response.offset, None
        self.has_skipped |= response.kind is OffsetKind.LATEST

    def _validate(self, answer: OffsetsForLeaderEpochResponse) -> None:
        if self._settings.auto_offset_reset is AutoOffsetReset.NOTHING:
            return  # Kafka throws LogTruncationException
        is_answered = answer.end_offset != UNDEFINED_OFFSET and answer.leader_epoch != UNDEFINED_EPOCH
        looks_at_epoch = self._switches.POSITION_CHECK is PositionCheck.END_OFFSET_AND_EPOCH
        if is_answered and answer.end_offset < self.position:
            self.position, self.consumed_epoch = answer.end_offset, answer.leader_epoch
        elif not is_answered or (looks_at_epoch and answer.leader_epoch != self.consumed_epoch):
            self._reset()

    def _reset(self) -> None:
        """Ask the leader for the offset that auto.offset.reset selects (first or end); with `none`, do nothing."""
        kinds = {AutoOffsetReset.EARLIEST: OffsetKind.EARLIEST, AutoOffsetReset.LATEST: OffsetKind.LATEST}
        kind = kinds.get(self._settings.auto_offset_reset)
        if kind is not None and self._leader is not None:
            request = ConsumerListOffsetsRequest(kind, self.isolation, self._sent_epoch)
            self._asked = self._network.send(self.name, self._leader, request)

    @property
    def _checks_position(self) -> bool:
        return self._switches.POSITION_CHECK is not PositionCheck.NONE

    @property
    def _sent_epoch(self) -> int | None:
        return self._leader_epoch if self._checks_position and self._leader is not None else None

    def receive(self, broker: int | str, response: ConsumerFetchResponse) -> None:
        """Handle a broker's response; drop it if the consumer has moved to another position since the request."""
        if response.position != self.position:
            return
        self.error = response.error
        if response.error is Errors.OFFSET_OUT_OF_RANGE and broker == self._leader:
            self._reset()
        elif response.error is not Errors.NONE:
            self.preferred_read_replica = None
        elif response.preferred_read_replica is not None:
            self.preferred_read_replica = response.preferred_read_replica
        else:
            is_committed = self.isolation is Isolation.READ_COMMITTED and self._bug is not Bug.LAG_BY_HIGH_WATERMARK
            self.known_end_offset = response.last_stable_offset if is_committed else response.high_watermark
        for record in response.records:
            self.position, self.consumed_epoch = record.offset + 1, record.leader_epoch
            if record.control is None and not any(_contains(each, record) for each in response.aborted):
                self._read.append(record)


def _contains(aborted: AbortedTransaction, record: Record) -> bool:
    stamp = record.stamp
    is_its_own = stamp is not None and stamp.is_transactional and stamp.producer_id == aborted.producer_id
    return is_its_own and aborted.first_offset <= record.offset <= aborted.last_offset
