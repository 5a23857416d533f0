"""DeleteRecords: a client moves the log start up, and gets a response when every live replica has moved its log start.

In:  requests; notices that the log starts of followers may have changed.
Out: responses in the network.

Source: fact sheet, section 1.6; KIP-107; Kafka: Partition.deleteRecordsOnLeader, DelayedDeleteRecords.
"""

from __future__ import annotations

from collections.abc import Callable

from isrcheck.conformance.cluster.broker.partition import Partition
from isrcheck.conformance.cluster.network.messages import DeleteRecordsRequest, DeleteRecordsResponse, Errors, Payload
from isrcheck.conformance.cluster.network.network import Message

TO_HIGH_WATERMARK = -1


class DeleteRecordsPurgatory:
    """The DeleteRecords requests that one leader has accepted and not answered yet."""

    def __init__(
        self, partition: Partition, reply: Callable[[Message, Payload], None], live: Callable[[], frozenset[int]]
    ) -> None:
        self._partition = partition
        self._reply = reply
        self._live = live
        self._waiting: list[tuple[Message, DeleteRecordsRequest, int]] = []

    @property
    def waiting(self) -> tuple[Message, ...]:
        """The requests that wait for the low watermark."""
        return tuple(message for message, _, _ in self._waiting)

    def handle(self, message: Message, request: DeleteRecordsRequest) -> None:
        """Move the log start up to an offset between 0 and the high watermark; -1 means the high watermark."""
        log = self._partition.log
        offset = log.high_watermark if request.before_offset == TO_HIGH_WATERMARK else request.before_offset
        error = self._partition.error_for_epoch(None)
        if error is Errors.NONE and not 0 <= offset <= min(log.high_watermark, log.log_end_offset):
            error = Errors.OFFSET_OUT_OF_RANGE
        if error is not Errors.NONE:
            self._reply(message, DeleteRecordsResponse(request.send, error))
            return
        log.increment_log_start(offset)
        self._waiting.append((message, request, offset))
        self.try_complete()

    def try_complete(self) -> None:
        """Answer the requests that the low watermark has reached; answer all requests if this broker no longer
        leads.
        """
        still: list[tuple[Message, DeleteRecordsRequest, int]] = []
        for message, request, offset in self._waiting:
            error = self._partition.error_for_epoch(None)
            low = self._partition.low_watermark(self._live()) if error is Errors.NONE else -1
            if error is Errors.NONE and low < offset:
                still.append((message, request, offset))
            else:
                self._reply(message, DeleteRecordsResponse(request.send, error, low))
        self._waiting = still
