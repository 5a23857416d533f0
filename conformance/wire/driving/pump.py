"""Drives a cluster in real time: messages, timers, the controller, the transaction coordinator.

Messages arrive immediately, in the order in which they were sent. If a broker is down or frozen for longer than the
session timeout, the controller removes it from the ISR; if this broker was the leader, the controller elects the first
live member of the ISR. If no member is live, the partition has no leader, unless unclean elections are enabled.

A KRaft controller does this itself when it fences a broker. Brokers send it heartbeats, and it fences a broker whose
heartbeats have not arrived for the session timeout.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from isrcheck.conformance.cluster.broker.broker import TimerKind
from isrcheck.conformance.cluster.clients.clients import OUTSIDE
from isrcheck.conformance.cluster.cluster import Cluster
from isrcheck.conformance.cluster.controller.controller import Election
from isrcheck.conformance.cluster.network.messages import ProduceResponse
from isrcheck.conformance.cluster.network.network import Message
from isrcheck.conformance.cluster.scheduler import INTERVALS, OF_KRAFT
from isrcheck.conformance.wire.driving.events import PARTITION, Tell

AT_ONCE = (TimerKind.FETCHER_DO_WORK, TimerKind.DELAYED_FETCH)
"""The timers whose deadlines the cluster itself checks."""

SESSION_TIMEOUT = 6_000
"""zookeeper.session.timeout.ms up to 2.4, in ms. Fact sheet, section 4.1. A KRaft cluster has the time-out of its own
settings, broker.session.timeout.ms."""

EXPIRY_INTERVAL = 10_000
"""transaction.abort.timed.out.transaction.cleanup.interval.ms"""

MOST_ROUNDS = 1_000
"""The most rounds of messages in one run: a follower of KAFKA-10706 exchanges messages with its leader without end."""


@dataclass(eq=False)
class Pump:
    """Drives one cluster: delivers its messages, and fires its timers."""

    _cluster: Cluster
    _tell: Tell
    """A function that takes one line for each event."""
    session_timeout: int = SESSION_TIMEOUT
    """In ms."""
    unclean: bool = False
    """Whether a broker outside the ISR may be elected."""
    rounds: int = MOST_ROUNDS
    """The largest number of rounds of messages in a run."""
    now: Callable[[], float] = time.monotonic
    """The clock: gives the time in seconds."""

    def __post_init__(self) -> None:
        self._began = self.now() - self._cluster.now / 1000
        self._intervals = {**INTERVALS, **(OF_KRAFT if self._cluster.has_kraft else {})}
        self._due = {
            (broker, kind): interval
            for broker in self._cluster.brokers
            for kind, interval in self._intervals.items()
            if kind not in AT_ONCE
        }
        self._expiry_due = EXPIRY_INTERVAL
        self._away_since: dict[int, int] = {}
        self._answers_to_lose = 0
        self._told = self._cluster.controller_metadata()

    def lose_answer(self) -> None:
        """Lose the cluster's next answer to a real producer, whose connection then breaks."""
        self._answers_to_lose += 1

    def run(self) -> None:
        """Bring the cluster up to date: deliver messages, fire due timers, and end the sessions of absent brokers."""
        cluster = self._cluster
        cluster.advance(max(0, int((self.now() - self._began) * 1000) - cluster.now))
        self._fire_timers()
        self._settle()
        self._give_up_on_absent_brokers()
        self._elect_uncleanly()
        self._finish_transactions()
        self._settle()
        self._tell_changes()

    def _fire_timers(self) -> None:
        for (broker, kind), due in self._due.items():
            if self._cluster.now >= due:
                self._due[broker, kind] = self._cluster.now + self._intervals[kind]
                if self._cluster.is_running(broker):
                    self._cluster.fire(broker, kind)

    def _settle(self) -> None:
        """Deliver messages, and let followers fetch, until no message is left."""
        for _ in range(self.rounds):
            delivered = [self._deliver(message) for message in self._cluster.messages()]
            fired = [
                self._cluster.fire(broker, kind, peer)
                for broker in self._cluster.brokers
                for kind, peer in self._cluster.timers(broker)
                if kind in AT_ONCE and self._cluster.is_running(broker)
            ]
            if not any(delivered) and not any(fired):
                return

    def _deliver(self, message: Message) -> bool:
        """Deliver a message, or lose it if `lose_answer` asked for that, and return True. Return False if the
        destination is frozen, or if an earlier delivery of this round has removed the message."""
        destination = message.destination
        if message not in self._cluster.messages():
            return False
        if isinstance(destination, int) and self._cluster.is_frozen(destination):
            return False
        is_answer = isinstance(message.payload, ProduceResponse) and destination == OUTSIDE
        if is_answer and self._answers_to_lose:
            self._answers_to_lose -= 1
            self._tell(f"the answer of broker {message.source} to a producer is lost")
            self._cluster.drop(message.number)
        else:
            self._cluster.deliver(message.number)
        return True

    def _give_up_on_absent_brokers(self) -> None:
        """For each broker whose session has ended, let the controller shrink the ISR or elect a new leader."""
        for broker in self._cluster.brokers:
            if self._cluster.is_running(broker):
                self._away_since.pop(broker, None)
            elif self._cluster.now - self._away_since.setdefault(broker, self._cluster.now) >= self.session_timeout:
                self._give_up_on(broker)

    def _give_up_on(self, broker: int) -> None:
        if self._cluster.has_kraft:
            if not self._cluster.metadata_log()[-1].brokers[broker].is_fenced:
                self._cluster.notice_dead(broker)
            return
        metadata = self._cluster.controller_metadata()
        live = [each for each in self._cluster.brokers if self._cluster.is_running(each)]
        members = [each for each in live if each in metadata.isr]
        if broker != metadata.leader and broker in metadata.isr:
            self._cluster.notice_dead(broker)
        elif broker == metadata.leader and members:
            self._cluster.elect(Election.FAIL_OVER, members[0])
        elif broker == metadata.leader and live and self.unclean:
            self._cluster.elect(Election.UNCLEAN, live[0])

    def _elect_uncleanly(self) -> None:
        """If unclean elections are enabled, let a KRaft controller elect a leader for a partition without one."""
        if not (self.unclean and self._cluster.has_kraft):
            return
        image = self._cluster.metadata_log()[-1]
        active = [each for each in image.partition.replicas if image.brokers[each].is_active]
        if image.partition.leader is None and active:
            self._cluster.elect(Election.UNCLEAN, active[0])

    def _finish_transactions(self) -> None:
        coordinator = self._cluster.coordinator
        if self._cluster.now >= self._expiry_due:
            self._expiry_due = self._cluster.now + EXPIRY_INTERVAL
            coordinator.expire_transactions()
        leader = self._cluster.controller_metadata().leader
        if leader is not None and self._cluster.is_running(leader):
            coordinator.send_markers(leader, PARTITION)

    def _tell_changes(self) -> None:
        metadata = self._cluster.controller_metadata()
        if metadata.leader_epoch != self._told.leader_epoch:
            leader = "no broker" if metadata.leader is None else f"broker {metadata.leader}"
            self._tell(f"{leader} leads in epoch {metadata.leader_epoch}")
        if metadata.isr != self._told.isr:
            self._tell(f"ISR {' '.join(map(str, sorted(metadata.isr)))}")
        self._told = metadata
