"""The requests to a transaction coordinator, and its answers.

In:  nothing.
Out: payloads for `Network.send`. Source: fact sheet, section 6.1; KIP-98, KIP-360, KIP-890.
"""

from __future__ import annotations

from dataclasses import dataclass

from isrcheck.conformance.cluster.network.messages import Errors
from isrcheck.conformance.cluster.network.records import Control


@dataclass(frozen=True)
class InitProducerIdRequest:
    """An instance of a producer asks for its id and epoch; since KIP-360 it names those that it has, if any."""

    transactional_id: str
    timeout: int
    producer_id: int = -1
    producer_epoch: int = -1


@dataclass(frozen=True)
class InitProducerIdResponse:
    """The producer's id and epoch; -1 on an error."""

    error: Errors
    producer_id: int = -1
    producer_epoch: int = -1


@dataclass(frozen=True)
class AddPartitionsToTxnRequest:
    """A producer, or with TV2 a partition's leader, has a partition added to the transaction; or, with `verify_only`, a
    leader asks whether it is in it (KIP-890).
    """

    transactional_id: str
    producer_id: int
    producer_epoch: int
    partition: str
    verify_only: bool = False


@dataclass(frozen=True)
class AddPartitionsToTxnResponse:
    """Whether the transaction is ongoing and has the partition."""

    error: Errors
    partition: str


@dataclass(frozen=True)
class EndTxnRequest:
    """A producer has its transaction committed or aborted. AddOffsetsToTxn is an AddPartitionsToTxn here."""

    transactional_id: str
    producer_id: int
    producer_epoch: int
    control: Control


@dataclass(frozen=True)
class EndTxnResponse:
    """The outcome is decided; with TV2, the producer goes on with this id and epoch."""

    error: Errors
    producer_id: int = -1
    producer_epoch: int = -1


TransactionRequest = InitProducerIdRequest | AddPartitionsToTxnRequest | EndTxnRequest
TransactionResponse = InitProducerIdResponse | AddPartitionsToTxnResponse | EndTxnResponse
