"""Clients that are not part of the cluster: their requests, and what they are told.

In:  requests, each with a function that takes its response.
Out: requests in the network; the function is called with the response, or with None if the connection broke.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

from isrcheck.conformance.cluster.network.alter_isr_messages import AlterIsrRequest, AlterIsrResponse
from isrcheck.conformance.cluster.network.messages import (
    Acks,
    ConsumerFetchRequest,
    ConsumerListOffsetsRequest,
    OffsetsForLeaderEpochRequest,
    Payload,
    ProduceRequest,
)
from isrcheck.conformance.cluster.network.metadata_messages import MetadataMessage
from isrcheck.conformance.cluster.network.network import Message, Network
from isrcheck.conformance.cluster.network.records import ProducerStamp
from isrcheck.conformance.cluster.network.transaction_messages import TransactionRequest, TransactionResponse

OUTSIDE = "outside"
"""The address of all these clients in the network."""

ConsumerRequest = ConsumerFetchRequest | ConsumerListOffsetsRequest | OffsetsForLeaderEpochRequest

ELSEWHERE = TransactionRequest | TransactionResponse | AlterIsrRequest | AlterIsrResponse | MetadataMessage
"""What takes another way than to a client: to the transaction coordinator, and to the controller."""

Answered = Callable[[Payload | None], None]
"""Takes the response to a request; None if its connection broke."""


class OutsideClients:
    """The requests of clients outside of the cluster that have no response yet."""

    def __init__(self, network: Network) -> None:
        self._network = network
        self._numbers = itertools.count()
        self._awaited: dict[int, tuple[int, Answered]] = {}

    def outstanding(self) -> Iterator[tuple[int, int]]:
        """The request without a response that went to each broker: (number of the message, broker)."""
        return ((request, broker) for request, (broker, _) in list(self._awaited.items()))

    def ask(self, broker: int, request: ConsumerRequest, answered: Answered) -> None:
        """Send a consumer's request to a broker."""
        self._awaited[self._network.send(OUTSIDE, broker, request)] = broker, answered

    def produce(
        self,
        broker: int,
        payload: str,
        acks: Acks,
        stamp: ProducerStamp | None,
        records: int,
        answered: Answered,
    ) -> None:
        """Send a producer's batch to a broker; with acks=0 there is no response."""
        sent = self._network.send(OUTSIDE, broker, ProduceRequest(next(self._numbers), payload, acks, stamp, records))
        if acks is not Acks.NONE:
            self._awaited[sent] = broker, answered

    def receive(self, message: Message) -> None:
        """Hand a response to the function that waits for it; drop it if nothing does."""
        if not isinstance(message.payload, ELSEWHERE):
            self._settle(message.in_reply_to, message.payload)

    def disconnected(self, request: int) -> None:
        """The connection of this request broke."""
        self._settle(request, None)

    def _settle(self, request: int | None, payload: Payload | None) -> None:
        if request is not None and request in self._awaited:
            _, answered = self._awaited.pop(request)
            answered(payload)
