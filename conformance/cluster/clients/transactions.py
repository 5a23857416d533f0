"""The transaction coordinator, for one partition: its decisions, and the markers that record them.

In:  requests to end a producer's transaction or to write a marker; responses, as messages.
Out: WriteTxnMarkers requests in the network.

A decision is durable at once (PrepareCommit, PrepareAbort); the coordinator's log is not modelled. Source: fact sheet,
6.1, 6.2.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from isrcheck.conformance.cluster.configuration.settings import ClusterError
from isrcheck.conformance.cluster.network.messages import Errors, ProduceResponse, WriteTxnMarkersRequest
from isrcheck.conformance.cluster.network.network import Network
from isrcheck.conformance.cluster.network.records import Control, ProducerStamp

COORDINATOR = "coordinator"


@dataclass(frozen=True)
class Marker:
    """One attempt to write a marker; `outcome` is None until a response was delivered."""

    number: int
    producer: str
    broker: int
    control: Control
    outcome: Errors | None = None


class TransactionCoordinator:
    """The decisions on the last transaction of each producer."""

    def __init__(self, network: Network) -> None:
        self._network = network
        self._decided: dict[str, tuple[ProducerStamp, Control]] = {}
        self._markers: list[Marker] = []

    @property
    def markers(self) -> tuple[Marker, ...]:
        """Every attempt to write a marker, in order of sending."""
        return tuple(self._markers)

    @property
    def decided(self) -> tuple[tuple[str, Control], ...]:
        """Maps each producer with a decided transaction to the decision on its last one."""
        return tuple((producer, control) for producer, (_, control) in self._decided.items())

    def decide(self, producer: str, stamp: ProducerStamp, control: Control) -> None:
        """Decide to commit or abort the producer's transaction. Kafka: TransactionCoordinator.endTransaction."""
        self._decided[producer] = (stamp, control)

    def write_marker(self, producer: str, broker: int) -> int:
        """Ask a broker to write the marker; may be repeated. Returns the number of the attempt.

        Errors: `ClusterError` if nothing is decided for that producer.
        """
        if producer not in self._decided:
            raise ClusterError(f"coordinator: nothing is decided for producer {producer}; end its transaction first")
        stamp, control = self._decided[producer]
        number = len(self._markers)
        self._network.send(COORDINATOR, broker, WriteTxnMarkersRequest(number, stamp, control))
        self._markers.append(Marker(number, producer, broker, control))
        return number

    def receive(self, response: ProduceResponse) -> None:
        """Note the outcome of an attempt to write a marker."""
        self._markers[response.send] = replace(self._markers[response.send], outcome=response.error)
