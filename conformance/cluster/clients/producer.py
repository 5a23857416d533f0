"""A producer: its requests, and their known outcomes. Its user decides when and where to send, and when to retry.

In:  `send`, `resend`; responses, as messages.
Out: Produce requests in the network; `Sent`, one per request.

Source: fact sheet, sections 5.2, 5.3, 5.4; Kafka: KafkaProducer, ProducerConfig, TransactionManager.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from isrcheck.conformance.cluster.configuration.settings import ClusterError, Settings
from isrcheck.conformance.cluster.network.messages import Acks, Errors, ProduceRequest, ProduceResponse
from isrcheck.conformance.cluster.network.network import Network
from isrcheck.conformance.cluster.network.records import ProducerStamp

MOST_IN_FLIGHT_IF_IDEMPOTENT = 5


@dataclass(frozen=True)
class Sent:
    """One produce request. `outcome` is None until a response was delivered, and always with acks=0.

    NETWORK_EXCEPTION: the connection broke, and it is unknown whether the record was written. `offset` is -1 if
    unknown; `retry_of` is the number of the first attempt.
    """

    number: int
    payload: str
    broker: int
    acks: Acks
    stamp: ProducerStamp | None
    request: int
    retry_of: int | None = None
    outcome: Errors | None = None
    offset: int = -1

    @property
    def is_acknowledged(self) -> bool:
        """Whether the producer knows that the record is written, as far as `acks` promises it."""
        return self.outcome is Errors.NONE

    @property
    def is_unanswered(self) -> bool:
        """Whether the producer does not know whether the record was written."""
        return self.outcome in (None, Errors.NETWORK_EXCEPTION, Errors.REQUEST_TIMED_OUT)

    @property
    def is_refused(self) -> bool:
        """Whether a broker refused the record. After NOT_ENOUGH_REPLICAS_AFTER_APPEND it is in a log nevertheless."""
        return not self.is_acknowledged and not self.is_unanswered

    @property
    def is_failed(self) -> bool:
        """Whether the outcome is an error, after which a producer would retry."""
        return self.outcome not in (None, Errors.NONE)

    @property
    def is_in_flight(self) -> bool:
        """Whether a response may still arrive."""
        return self.outcome is None and self.acks is not Acks.NONE


class Producer:
    """One producer instance; its name is its address in the network."""

    def __init__(self, name: str, producer_id: int, network: Network, settings: Settings) -> None:
        """Errors: `ClusterError` for settings that Kafka's producer refuses to start with."""
        most = settings.max_in_flight_requests_per_connection
        if settings.idempotent and most > MOST_IN_FLIGHT_IF_IDEMPOTENT:
            raise ClusterError(f"producer {name}: idempotence allows at most 5 requests in flight, not {most}")
        if settings.idempotent and settings.retries == 0:
            raise ClusterError(f"producer {name}: idempotence needs retries; set `retries`")
        self._name = name
        self._producer_id = producer_id
        self._producer_epoch = 0
        self._sequence = 0
        self._network = network
        self._settings = settings
        self._sent: list[Sent] = []
        self._in_transaction = False
        self._idempotent = settings.idempotent

    @property
    def sent(self) -> tuple[Sent, ...]:
        """Every request of this producer, in order of sending."""
        return tuple(self._sent)

    @property
    def in_transaction(self) -> bool:
        """Whether the producer's records belong to a transaction."""
        return self._in_transaction

    @property
    def stamp(self) -> ProducerStamp:
        """The producer's id and epoch, as in a transaction marker."""
        return ProducerStamp(self._producer_id, self._producer_epoch, -1, is_transactional=True)

    def begin_transaction(self) -> None:
        """Make all further records transactional; the producer has to be idempotent from its first record on (KIP-98).

        Errors: `ClusterError` if it has sent records without idempotence, or is in a transaction.
        """
        if self._sent and not self._idempotent:
            raise ClusterError(f"producer {self._name}: transactions need idempotence; set `idempotent`")
        if self._in_transaction:
            raise ClusterError(f"producer {self._name} is in a transaction already; end it first")
        self._in_transaction = self._idempotent = True

    def end_transaction(self) -> None:
        """End the transaction of this producer. Errors: `ClusterError` if there is none."""
        if not self._in_transaction:
            raise ClusterError(f"producer {self._name} is in no transaction; begin one first")
        self._in_transaction = False

    def bump_epoch(self) -> None:
        """Become a new instance with the same id, which fences the old one; sequences restart."""
        self._producer_epoch += 1
        self._sequence = 0
        self._in_transaction = False

    def send(self, payload: str, broker: int, acks: Acks) -> int:
        """Send one record; returns the number of the request.

        Errors: `ClusterError` for idempotence without acks=all, or for too many requests in flight.
        """
        stamp = None
        if self._idempotent:
            if acks is not Acks.ALL:
                raise ClusterError(f"producer {self._name}: idempotence needs acks=all, not {acks.value}")
            stamp = ProducerStamp(self._producer_id, self._producer_epoch, self._sequence, self._in_transaction)
        number = self._send(payload, broker, acks, stamp, retry_of=None)
        self._sequence += 1
        return number

    def resend(self, number: int, broker: int) -> int:
        """Send the record of an earlier request again, with the same sequence; returns the number of the new request.

        Errors: `ClusterError` for an unknown number, an acknowledged record, or more than `retries` attempts.
        """
        earlier = self._known(number)
        first = number if earlier.retry_of is None else earlier.retry_of
        if any(each.is_acknowledged for each in self._sent if first in (each.number, each.retry_of)):
            raise ClusterError(f"producer {self._name}: {earlier.payload} is acknowledged and cannot be sent again")
        if sum(each.retry_of == first for each in self._sent) >= self._settings.retries:
            raise ClusterError(
                f"producer {self._name}: {earlier.payload} was retried {self._settings.retries} times; raise `retries`"
            )
        return self._send(earlier.payload, broker, earlier.acks, earlier.stamp, retry_of=first)

    def receive(self, response: ProduceResponse) -> None:
        """Handle a response; ignore it if its connection was given up. Kafka: Sender.completeBatch."""
        if self._sent[response.send].is_in_flight:
            self._settle(response.send, response.error, response.offset)

    def gives_up(self, number: int) -> None:
        """Give up the request with this number: its connection broke. Errors: `ClusterError` for an unknown number."""
        self.disconnected(self._known(number).request)

    def disconnected(self, request: int) -> None:
        """Give up the request in this message, because its connection broke; do nothing if it was answered."""
        for each in self._sent:
            if each.request == request and each.is_in_flight:
                self._settle(each.number, Errors.NETWORK_EXCEPTION, -1)

    def _send(self, payload: str, broker: int, acks: Acks, stamp: ProducerStamp | None, retry_of: int | None) -> int:
        most, number = self._settings.max_in_flight_requests_per_connection, len(self._sent)
        if sum(each.is_in_flight and each.broker == broker for each in self._sent) >= most:
            raise ClusterError(
                f"producer {self._name}: {most} requests to broker {broker} are in flight; deliver or drop one"
            )
        request = self._network.send(self._name, broker, ProduceRequest(number, payload, acks, stamp))
        self._sent.append(Sent(number, payload, broker, acks, stamp, request, retry_of))
        return number

    def _known(self, number: int) -> Sent:
        if not 0 <= number < len(self._sent):
            raise ClusterError(f"producer {self._name} has sent no request {number}; it has sent {len(self._sent)}")
        return self._sent[number]

    def _settle(self, number: int, outcome: Errors, offset: int) -> None:
        self._sent[number] = replace(self._sent[number], outcome=outcome, offset=offset)
