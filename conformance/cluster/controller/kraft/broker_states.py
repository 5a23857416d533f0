"""What the active controller alone knows of the brokers: their sessions, and how far they have read the metadata log.

In:  heartbeats; the end of a session.
Out: whether a broker may register, is to be fenced, or may stop.

Source: fact sheet, section 4.8; Kafka: BrokerHeartbeatManager.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

NEVER = -1


@dataclass(frozen=True)
class BrokerState:
    """One broker. `shutdown_offset` is the end of the log when its controlled shutdown began; -1 if it shuts not
    down. `last_contact` is in ms.
    """

    metadata_offset: int = 0
    last_contact: int = 0
    has_session: bool = True
    shutdown_offset: int = NEVER


class BrokerStates:
    """The brokers by number."""

    def __init__(self, brokers: Iterable[int]) -> None:
        self._states = {number: BrokerState() for number in brokers}

    def of(self, broker: int) -> BrokerState:
        """What is known of a broker."""
        return self._states[broker]

    def touch(self, broker: int, metadata_offset: int, now: int) -> None:
        """A heartbeat of the broker has arrived."""
        known = self._states[broker]
        self._states[broker] = replace(known, metadata_offset=metadata_offset, last_contact=now, has_session=True)

    def begin_session(self, broker: int, now: int) -> None:
        """A new process of the broker has registered; it has to read the log from the start."""
        self._states[broker] = BrokerState(last_contact=now)

    def end_session(self, broker: int) -> None:
        """No heartbeat of the broker has arrived in time."""
        self._states[broker] = replace(self._states[broker], has_session=False)

    def fence(self, broker: int) -> None:
        """The broker is fenced: its session is over, and so is its controlled shutdown."""
        self._states[broker] = replace(self._states[broker], has_session=False, shutdown_offset=NEVER)

    def begin_shutdown(self, broker: int, offset: int) -> None:
        """The broker waits until the active brokers have read the log up to this offset."""
        self._states[broker] = replace(self._states[broker], shutdown_offset=offset)

    def may_stop(self, broker: int, active: Iterable[int]) -> bool:
        """Whether every active broker has told that it has read what the shutdown has changed."""
        least = self._states[broker].shutdown_offset
        return all(self._states[each].metadata_offset >= least for each in active)
