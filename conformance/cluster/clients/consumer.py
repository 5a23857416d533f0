"""A consumer of the partition: its position, and the records that it has read.

In:  `fetch` from a named broker; responses, as messages.
Out: fetch requests in the network; the records that were read.

Source: fact sheet, sections 6.4 and 7; Kafka: CompletedFetch.
"""

from __future__ import annotations

from isrcheck.conformance.cluster.network.messages import (
    AbortedTransaction,
    ConsumerFetchRequest,
    ConsumerFetchResponse,
    Errors,
    Isolation,
)
from isrcheck.conformance.cluster.network.network import Network
from isrcheck.conformance.cluster.network.records import Record


class Consumer:
    """One consumer; its name is its address in the network."""

    def __init__(self, name: str, isolation: Isolation, network: Network) -> None:
        self._name = name
        self._isolation = isolation
        self._network = network
        self._position = 0
        self._read: list[Record] = []
        self._error = Errors.NONE

    @property
    def isolation(self) -> Isolation:
        """The consumer's `isolation.level`."""
        return self._isolation

    @property
    def position(self) -> int:
        """The offset that the consumer will read next."""
        return self._position

    @property
    def read(self) -> tuple[Record, ...]:
        """The records that the consumer returned, in order, without markers; with read_committed, also without
        aborted records.
        """
        return tuple(self._read)

    @property
    def error(self) -> Errors:
        """The error in the last response; NONE after a successful one."""
        return self._error

    def fetch(self, broker: int) -> int:
        """Ask a broker for the next records; returns the number of the message."""
        return self._network.send(self._name, broker, ConsumerFetchRequest(self._position, self._isolation))

    def seek(self, position: int) -> None:
        """Move to another position, as auto.offset.reset or a user does."""
        self._position = position

    def receive(self, response: ConsumerFetchResponse) -> None:
        """Handle a response; drop it if the consumer has moved to another position since the request."""
        if response.position != self._position:
            return
        self._error = response.error
        for record in response.records:
            self._position = record.offset + 1
            if record.control is None and not any(_contains(each, record) for each in response.aborted):
                self._read.append(record)


def _contains(aborted: AbortedTransaction, record: Record) -> bool:
    stamp = record.stamp
    is_its_own = stamp is not None and stamp.is_transactional and stamp.producer_id == aborted.producer_id
    return is_its_own and aborted.first_offset <= record.offset <= aborted.last_offset
