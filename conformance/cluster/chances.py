"""How often each event happens in a random run: delays, faults, elections, requests of clients.

In:  nothing.
Out: `Chances`, for `Scheduler`.
"""

from __future__ import annotations

from dataclasses import dataclass

from isrcheck.conformance.cluster.broker.timers import TimerKind
from isrcheck.conformance.cluster.controller.election import Election
from isrcheck.conformance.cluster.network.messages import Acks

INTERVALS = {
    TimerKind.FETCHER_DO_WORK: 50,
    TimerKind.DELAYED_FETCH: 50,
    TimerKind.ISR_SHRINK_CHECK: 5_000,
    TimerKind.HIGH_WATERMARK_CHECKPOINT: 5_000,
    TimerKind.LOG_START_OFFSET_CHECKPOINT: 60_000,
    TimerKind.DELAYED_PRODUCE_EXPIRY: 1_000,
    TimerKind.LOG_FLUSH: 10_000,
}
"""The mean interval of each timer in ms; the operating system decides when to flush."""

OF_KRAFT = {TimerKind.HEARTBEAT: 500}
"""Those of brokers with a KRaft controller; SESSION_CHECK is the interval at which that looks for ended sessions."""

SESSION_CHECK = 700


@dataclass(frozen=True)
class Chances:
    """The mean intervals and the probabilities of random events.

    Times are in ms, shares between 0 and 1; an interval of 0 switches an event off. `whole_exchanges`: a request
    between brokers arrives in the event in which it is sent, or is lost, and so does the response to a request about
    epochs or offsets; only fetch responses take time. This is the atomicity of the formal model. Without this option,
    these messages take time like all others. `elections` are the kinds of elections that the run requests.
    With KRaft: `session_interval`, the heartbeats of a living broker are lost; `shutdown_interval`, one is shut down;
    `operation_interval`, an administrator carries out one of these `operations` (administration.py).
    """

    delay: int = 20
    slow_share: float = 0.05
    slow_delay: int = 2_000
    loss_share: float = 0.01
    whole_exchanges: bool = True
    produce_interval: int = 300
    read_interval: int = 1_000
    crash_interval: int = 20_000
    freeze_interval: int = 30_000
    election_interval: int = 15_000
    power_loss_interval: int = 0
    disk_loss_interval: int = 0
    delete_interval: int = 0
    transaction_interval: int = 0
    session_interval: int = 0
    shutdown_interval: int = 0
    operation_interval: int = 0
    operations: tuple[str, ...] = ()
    down_time: int = 3_000
    retry_share: float = 0.5
    acks: tuple[Acks, ...] = (Acks.ALL,)
    elections: tuple[Election, ...] = (Election.FAIL_OVER, Election.PREFERRED)
