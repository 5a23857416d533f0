"""The periodic activities of a broker's process.

In:  the brokers from which a process fetches, and those that fetch from it.
Out: the timers that a driver may fire.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum


class TimerKind(Enum):
    """The periodic activities of a broker."""

    ISR_SHRINK_CHECK = "isr shrink check"
    HIGH_WATERMARK_CHECKPOINT = "high watermark checkpoint"
    LOG_START_OFFSET_CHECKPOINT = "log start offset checkpoint"
    LOG_FLUSH = "log flush"
    FETCHER_DO_WORK = "fetcher do_work"
    DELAYED_FETCH = "delayed fetch"
    DELAYED_PRODUCE_EXPIRY = "delayed produce expiry"
    HEARTBEAT = "heartbeat"


def timers_of(
    sources: Iterable[int], parked: Iterable[int], *, has_heartbeats: bool
) -> tuple[tuple[TimerKind, int | None], ...]:
    """The timers that can be fired now, each with its peer: the other broker that it concerns, or None. `sources` are
    the brokers from which the process fetches, `parked` the followers whose fetches it has parked.
    """
    with_peers = {TimerKind.FETCHER_DO_WORK, TimerKind.DELAYED_FETCH}
    left_out = with_peers if has_heartbeats else {*with_peers, TimerKind.HEARTBEAT}
    return (
        *((each, None) for each in TimerKind if each not in left_out),
        *((TimerKind.FETCHER_DO_WORK, source) for source in sorted(sources)),
        *((TimerKind.DELAYED_FETCH, each) for each in sorted(parked)),
    )
