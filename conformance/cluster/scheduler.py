"""Runs a cluster at random: one seed determines every delay, fault and choice.

In:  a `Cluster`, used through its public methods only; a seed; `Chances`; optionally an observer.
Out: a sequence of `Act`; the same seed gives the same sequence.

Time is virtual: a message arrives after a delay or is lost, a timer fires once per interval, faults occur at random.
The act with the earliest time is performed next, and the clock moves to its time.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from random import Random

from isrcheck.conformance.cluster.acts import Act, administrate
from isrcheck.conformance.cluster.broker.broker import TimerKind
from isrcheck.conformance.cluster.cluster import Cluster
from isrcheck.conformance.cluster.configuration.settings import ClusterError
from isrcheck.conformance.cluster.controller.controller import Election
from isrcheck.conformance.cluster.network.messages import Acks, FetchResponse, Isolation
from isrcheck.conformance.cluster.network.network import Message
from isrcheck.conformance.cluster.network.records import Control

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
"""The mean intervals with a KRaft controller; at SESSION_CHECK the controller looks for ended sessions."""

SESSION_CHECK = 700


@dataclass(frozen=True)
class Chances:
    """The mean intervals and the probabilities of random events. Times are in ms, shares between 0 and 1; an interval
    of 0 switches an event off.
    """

    delay: int = 20
    """The longest delay of most messages."""
    slow_share: float = 0.05
    """The share of slow messages."""
    slow_delay: int = 2_000
    """The longest delay of a slow message."""
    loss_share: float = 0.01
    whole_exchanges: bool = True
    """A request between brokers arrives in the event in which it is sent, or is lost, and so does the response to a
    request about epochs or offsets; only fetch responses take time. This is the atomicity of the formal model.
    Otherwise these messages take time like all others.
    """
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
    """With KRaft: the heartbeats of a live broker are lost."""
    shutdown_interval: int = 0
    """With KRaft: a broker is shut down."""
    operation_interval: int = 0
    """With KRaft: an administrator carries out one of the `operations`."""
    operations: tuple[str, ...] = ()
    """Names of operations (acts.py)."""
    down_time: int = 3_000
    """The mean time for which a broker is down."""
    retry_share: float = 0.5
    """The share of failed requests among those that a producer sends."""
    acks: tuple[Acks, ...] = (Acks.ALL,)
    """The values of acks, of which one is chosen for each request."""
    elections: tuple[Election, ...] = (Election.FAIL_OVER, Election.PREFERRED)
    """The kinds of elections that the run requests."""


class Scheduler:
    """Drives one cluster; `run` may be called repeatedly. `watch` is called after every act, with the act."""

    def __init__(
        self,
        cluster: Cluster,
        seed: int,
        chances: Chances | None = None,
        watch: Callable[[Act], None] = lambda act: None,
        loses: Callable[[Message], bool] = lambda message: False,
    ) -> None:
        """`loses` tells whether a message is lost for certain, whatever `chances` say."""
        self._cluster = cluster
        self._random = Random(seed)
        self._chances = chances = chances or Chances()
        self._watch = watch
        self._loses = loses
        self._has_kraft = cluster.has_kraft
        self._intervals = {**INTERVALS, **(OF_KRAFT if self._has_kraft else {})}
        self._due: list[tuple[int, int, Callable[[], object]]] = []
        self._planned = 0
        self._seen = -1
        self._payloads = 0
        self._acts: list[Act] = []
        for broker in cluster.brokers:
            for kind, interval in self._intervals.items():
                self._plan(self._random.randrange(interval), partial(self._fire, broker, kind))
        for interval, act in (
            (chances.produce_interval, self._produce),
            (chances.read_interval, self._read),
            (chances.crash_interval, partial(self._disturb, "crash", cluster.crash, self._restart)),
            (chances.power_loss_interval, partial(self._disturb, "lose power", cluster.lose_power, self._restart)),
            (chances.disk_loss_interval, partial(self._disturb, "lose disk", cluster.lose_disk, self._restart)),
            (chances.freeze_interval, partial(self._disturb, "freeze", cluster.freeze, self._thaw)),
            (chances.election_interval, self._elect),
            (chances.delete_interval, self._delete),
            (chances.transaction_interval, self._transact),
            (SESSION_CHECK if self._has_kraft else 0, self._check_sessions),
            (chances.session_interval, self._end_session),
            (chances.shutdown_interval, self._shut_down),
            (chances.operation_interval, self._administrate),
        ):
            if interval:
                self._plan_again(interval, act)

    @property
    def acts(self) -> tuple[Act, ...]:
        """Every act that the scheduler has performed so far."""
        return tuple(self._acts)

    def run(self, events: int) -> tuple[str, ...]:
        """Run this number of events, many of which have no effect; return the texts of all acts since the start."""
        for _ in range(events):
            self.step()
        return tuple(map(str, self._acts))

    def step(self) -> None:
        """Run one event."""
        at, _, act = heapq.heappop(self._due)
        self._cluster.advance(max(0, at - self._cluster.now))
        act()
        self._plan_deliveries()

    def _done(self, name: str, *arguments: object) -> None:
        act = Act(self._cluster.now, name, arguments)
        self._acts.append(act)
        self._watch(act)

    def _plan(self, delay: int, act: Callable[[], object]) -> None:
        self._planned += 1
        heapq.heappush(self._due, (self._cluster.now + delay, self._planned, act))

    def _plan_again(self, interval: int, act: Callable[[], object]) -> None:
        def once() -> None:
            act()
            self._plan_again(interval, act)

        self._plan(1 + int(self._random.expovariate(1 / interval)), once)

    def _fire(self, broker: int, kind: TimerKind) -> None:
        for each, peer in self._cluster.timers(broker):
            if each is kind and self._cluster.fire(broker, kind, peer):
                self._done("fire", broker, kind.value, *([] if peer is None else [peer]))
        self._plan(1 + self._random.randrange(2 * self._intervals[kind]), partial(self._fire, broker, kind))

    def _plan_deliveries(self) -> None:
        chances, random = self._chances, self._random
        while new := [each for each in self._cluster.messages() if each.number > self._seen]:
            for message in new:
                self._seen = message.number
                is_lost = random.random() < chances.loss_share or self._loses(message)
                slow = random.random() < chances.slow_share
                delay = 1 + random.randrange(chances.slow_delay if slow else chances.delay)
                if chances.whole_exchanges and _belongs_to_one_event(message):
                    self._arrive(message, is_lost or self._is_frozen(message.destination))
                else:
                    self._plan(delay, partial(self._arrive, message, is_lost))

    def _arrive(self, message: Message, is_lost: bool) -> None:
        if message not in self._cluster.messages():
            return  # the observer has taken the message
        if is_lost:
            self._cluster.drop(message.number)
            self._done("drop", message)
        elif self._is_frozen(message.destination):
            self._plan(self._chances.down_time, partial(self._arrive, message, is_lost))
        else:
            self._cluster.deliver(message.number)
            self._done("deliver", message)

    def _produce(self) -> None:
        view = self._cluster.observe()
        leaders = [each.number for each in view.brokers if each.leadership is not None]
        failed = [each.number for _, sent in view.sent for each in sent if each.is_failed]
        if not leaders:
            return
        leader = self._random.choice(leaders)
        try:
            if failed and self._random.random() < self._chances.retry_share:
                number = self._random.choice(failed)
                self._done("resend", self._cluster.resend(number, leader), number, leader)
            else:
                payload, acks = f"r{self._payloads}", self._random.choice(self._chances.acks)
                self._payloads += 1
                self._done("produce", self._cluster.produce(payload, leader, acks), payload, leader, acks.value)
        except ClusterError:
            return  # too many requests in flight, or acknowledged meanwhile

    def _read(self) -> None:
        broker = self._random.choice(self._cluster.brokers)
        isolation = self._random.choice(list(Isolation))
        self._done("consume", self._cluster.consume(broker, isolation.value, isolation), broker, isolation.value)

    def _delete(self) -> None:
        broker = self._random.choice(self._cluster.brokers)
        offset = self._random.randrange(1 + (self._cluster.observe_broker(broker).high_watermark or 0))
        self._done("delete records", self._cluster.delete_records(broker, offset), broker, offset)

    def _transact(self) -> None:
        """Begin a transaction; or end the open one and send its marker; or send the last marker again."""
        leaders = [each.number for each in self._cluster.observe().brokers if each.leadership is not None]
        if not leaders:
            return
        try:
            if self._random.random() < 0.5:
                self._cluster.begin_transaction()
                self._done("begin transaction")
                return
            control = self._random.choice(list(Control))
            self._cluster.end_transaction(control)
            self._done("end transaction", control.value)
        except ClusterError:
            if not self._cluster.observe().decided:
                return
        leader = self._random.choice(leaders)
        self._done("write marker", self._cluster.write_marker(leader), leader)

    def _one_up(self) -> int | None:
        up = [each.number for each in self._cluster.observe().brokers if each.is_up and not each.is_frozen]
        return self._random.choice(up) if up else None

    def _disturb(self, name: str, act: Callable[[int], None], end: Callable[[int], None]) -> None:
        broker = self._one_up()
        if broker is not None:
            act(broker)
            self._done(name, broker)
            self._plan(1 + self._random.randrange(2 * self._chances.down_time), partial(end, broker))

    def _restart(self, broker: int) -> None:
        if self._cluster.observe_broker(broker).is_up:
            return
        if self._has_kraft and not self._cluster.may_register(broker):
            self._plan(self._chances.down_time, partial(self._restart, broker))
            return
        self._cluster.restart(broker)
        self._done("restart", broker)

    def _check_sessions(self) -> None:
        """The controller fences one broker whose session has ended. Kafka: maybeFenceOneStaleBroker."""
        for broker in self._cluster.brokers:
            if self._cluster.may_be_fenced(broker):
                self._cluster.fence(broker)
                self._done("fence", broker)
                return

    def _end_session(self) -> None:
        """End the session of a broker, as if its heartbeats were lost for a while."""
        broker = self._one_up()
        if broker is not None:
            self._cluster.end_session(broker)

    def _shut_down(self) -> None:
        broker = self._one_up()
        if broker is not None and self._cluster.metadata_log()[-1].brokers[broker].is_active:
            self._cluster.begin_shutdown(broker, leads_others=True)  # as brokers of a cluster do
            self._plan(2 * self._chances.down_time, partial(self._restart, broker))

    def _administrate(self) -> None:
        operation = administrate(self._cluster, self._random, self._chances.operations)
        if operation is not None:
            name, arguments = operation
            self._done(name, *arguments)

    def _thaw(self, broker: int) -> None:
        if self._cluster.observe_broker(broker).is_frozen:
            self._cluster.thaw(broker)
            self._done("thaw", broker)

    def _elect(self) -> None:
        kind = self._random.choice([*self._chances.elections, None])
        broker = self._random.choice(self._cluster.brokers)
        try:
            if kind is None:
                self._cluster.notice_dead(broker)
                self._done("notice dead", broker)
            else:
                self._cluster.elect(kind, broker)
                self._done("elect", kind.value, broker)
        except ClusterError:
            return

    def _is_frozen(self, destination: int | str) -> bool:
        return isinstance(destination, int) and self._cluster.observe_broker(destination).is_frozen


def _belongs_to_one_event(message: Message) -> bool:
    """Whether `Chances.whole_exchanges` delivers a message at once: it is between brokers, and no fetch response."""
    between_brokers = isinstance(message.source, int) and isinstance(message.destination, int)
    return between_brokers and not isinstance(message.payload, FetchResponse)
