"""One produce request of a producer, and its known outcome.

In:  what was sent; the response, if it was delivered.
Out: `Sent`, for a `Producer` and for whoever observes it. Source: fact sheet, sections 5.1, 5.2.
"""

from __future__ import annotations

from dataclasses import dataclass

from isrcheck.conformance.cluster.network.messages import Acks, Errors
from isrcheck.conformance.cluster.network.records import ProducerStamp


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
