"""What a fetcher knows of the partition, and of the request that it has sent. Kafka: PartitionFetchState.

In:  nothing.
Out: the state of a `FetcherThread` (fetcher.py).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from isrcheck.conformance.cluster.network.messages import BrokerRequest, FetchResponse


class Mode(Enum):
    """The state of the partition in the fetcher. Kafka: Truncating, Fetching; FAILED since 2.1 (onPartitionFenced)."""

    TRUNCATING = "truncating"
    FETCHING = "fetching"
    FAILED = "failed"


@dataclass
class PartitionFetchState:
    """The partition in one fetcher. `initial_offset` is the high watermark at its assignment; `not_before` in ms;
    `diverging` is the response by which it still has to truncate (HW_FROM_DIVERGING_RESP).
    """

    leader_epoch: int
    initial_offset: int
    mode: Mode
    not_before: int = 0
    diverging: FetchResponse | None = None


@dataclass(frozen=True)
class Outstanding:
    """A request that waits for its response; `state` is the partition's state when it was sent; `sent_at` in ms."""

    number: int
    request: BrokerRequest
    state: PartitionFetchState
    sent_at: int
