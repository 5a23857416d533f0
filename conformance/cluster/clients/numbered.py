"""The records that an idempotent producer has numbered, and the ids and epochs in which it numbers them.

In:  stamps.
Out: `Numbered`, `Identity`, for a `Producer`. Source: fact sheet, section 5.3.
"""

from __future__ import annotations

from dataclasses import dataclass

from isrcheck.conformance.cluster.network.records import ProducerStamp


@dataclass
class Numbered:
    """A record of an idempotent producer, and its stamp in each numbering in which it had one."""

    payload: str
    stamps: dict[int, ProducerStamp]
    is_acknowledged: bool = False

    @property
    def stamp(self) -> ProducerStamp:
        """The latest stamp."""
        return self.stamps[max(self.stamps)]


@dataclass(frozen=True)
class Identity:
    """A producer id with an epoch. Sequence numbers begin at 0 in each."""

    producer_id: int
    producer_epoch: int
