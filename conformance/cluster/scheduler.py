"""A cluster left to chance: one seed decides every delay, every fault, every choice.

In:  a `Cluster`, used through its public methods only; a seed; `Chances`.
Out: one line per act, in a fixed form: the same seed gives the same lines, byte for byte.

Virtual time: a message arrives after a delay or is lost, a timer fires once in its interval, a fault strikes now and
then; the act that is due first happens next, and the clock is moved to it.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from random import Random

from conformance.cluster.broker import TimerKind
from conformance.cluster.cluster import Cluster
from conformance.cluster.controller import Election
from conformance.cluster.messages import (
    Acks,
    FetchRequest,
    Isolation,
    ListOffsetsRequest,
    OffsetsForLeaderEpochRequest,
)
from conformance.cluster.network import Message
from conformance.cluster.observe import BrokerView
from conformance.cluster.settings import ClusterError

INTERVALS = {
    TimerKind.FETCHER_DO_WORK: 50,
    TimerKind.DELAYED_FETCH: 50,
    TimerKind.ISR_SHRINK_CHECK: 5_000,
    TimerKind.HIGH_WATERMARK_CHECKPOINT: 5_000,
    TimerKind.LOG_START_OFFSET_CHECKPOINT: 60_000,
    TimerKind.DELAYED_PRODUCE_EXPIRY: 1_000,
    TimerKind.LOG_FLUSH: 10_000,
}
"""How often each timer fires, in ms; flushing is the operating system's doing."""


@dataclass(frozen=True)
class Chances:
    """How likely what is. Times in ms; shares between 0 and 1; a mean interval of 0 switches the fault off.

    `whole_requests`: what one broker asks another arrives in the event in which it is sent, or is lost; the level of
    atomicity of the formal model. Else requests take as long as answers.
    """

    delay: int = 20
    slow_share: float = 0.05
    slow_delay: int = 2_000
    loss_share: float = 0.01
    whole_requests: bool = True
    produce_interval: int = 300
    read_interval: int = 1_000
    crash_interval: int = 20_000
    freeze_interval: int = 30_000
    election_interval: int = 15_000
    power_loss_interval: int = 0
    disk_loss_interval: int = 0
    down_time: int = 3_000
    retry_share: float = 0.5
    acks: tuple[Acks, ...] = (Acks.ALL,)
    elections: tuple[Election, ...] = (Election.FAIL_OVER, Election.PREFERRED)


class Scheduler:
    """Drives one cluster; `run` may be called again to go on."""

    def __init__(self, cluster: Cluster, seed: int, chances: Chances | None = None) -> None:
        self._cluster = cluster
        self._random = Random(seed)
        self._chances = chances or Chances()
        self._due: list[tuple[int, int, str, Callable[[], object]]] = []
        self._planned = 0
        self._seen = -1
        self._payloads = 0
        self._lines: list[str] = []
        for broker in cluster.brokers:
            for kind, interval in INTERVALS.items():
                self._plan(self._random.randrange(interval), f"timer {kind.value} {broker}", self._timer(broker, kind))
        chances_ = self._chances
        self._again(chances_.produce_interval, "produce", self._produce)
        self._again(chances_.read_interval, "read", self._read)
        self._again(chances_.crash_interval, "crash", self._crash)
        self._again(chances_.power_loss_interval, "power loss", self._lose_power)
        self._again(chances_.disk_loss_interval, "disk loss", self._lose_disk)
        self._again(chances_.freeze_interval, "freeze", self._freeze)
        self._again(chances_.election_interval, "election", self._elect)

    @property
    def lines(self) -> tuple[str, ...]:
        """What has happened so far, one line per act: time in ms, and the act."""
        return tuple(self._lines)

    def run(self, events: int) -> tuple[str, ...]:
        """Lets that many events happen; every line so far."""
        for _ in range(events):
            at, _, _, act = heapq.heappop(self._due)
            self._cluster.advance(max(0, at - self._cluster.now))
            act()
            self._plan_deliveries()
        return self.lines

    def _note(self, what: str) -> None:
        self._lines.append(f"{self._cluster.now:>9} {what}")

    def _plan(self, delay: int, name: str, act: Callable[[], object]) -> None:
        self._planned += 1
        heapq.heappush(self._due, (self._cluster.now + delay, self._planned, name, act))

    def _again(self, interval: int, name: str, act: Callable[[], object]) -> None:
        """Plans an act that happens once in so many milliseconds on average, for ever."""
        if interval == 0:
            return

        def once() -> None:
            act()
            self._plan(1 + int(self._random.expovariate(1 / interval)), name, once)

        self._plan(1 + int(self._random.expovariate(1 / interval)), name, once)

    def _timer(self, broker: int, kind: TimerKind) -> Callable[[], None]:
        def fire() -> None:
            for each, peer in self._cluster.timers(broker):
                if each is kind and self._cluster.fire(broker, kind, peer):
                    self._note(f"fire {broker} {kind.value}" + ("" if peer is None else f" for {peer}"))
            self._plan(1 + self._random.randrange(2 * INTERVALS[kind]), f"timer {kind.value} {broker}", fire)

        return fire

    def _plan_deliveries(self) -> None:
        """Decides on every message that is new: when it arrives, or that it never does."""
        chances, random = self._chances, self._random
        while new := [each for each in self._cluster.messages() if each.number > self._seen]:
            for message in new:
                self._seen = message.number
                is_lost = random.random() < chances.loss_share
                slow = random.random() < chances.slow_share
                delay = 1 + random.randrange(chances.slow_delay if slow else chances.delay)
                if chances.whole_requests and _is_asked_by_a_broker(message):
                    self._arrive(message, is_lost)
                else:
                    self._plan(delay, "arrival", partial(self._arrive, message, is_lost))

    def _arrive(self, message: Message, is_lost: bool) -> None:
        frozen = isinstance(message.destination, int) and self._view(message.destination).is_frozen
        if is_lost or (frozen and self._chances.whole_requests and _is_asked_by_a_broker(message)):
            self._note(f"drop {message}")
            self._cluster.drop(message.number)
        elif frozen:
            self._plan(self._chances.down_time, "arrival", partial(self._arrive, message, is_lost))
        else:
            self._note(f"deliver {message}")
            self._cluster.deliver(message.number)

    def _produce(self) -> None:
        view = self._cluster.observe()
        lost = [
            each for _, sent in view.sent for each in sent if each.is_refused or (each.outcome and each.is_unanswered)
        ]
        leaders = [each.number for each in view.brokers if each.leadership is not None]
        if not leaders:
            return
        leader = self._random.choice(leaders)
        try:
            if lost and self._random.random() < self._chances.retry_share:
                again = self._random.choice(lost)
                self._cluster.resend(again.number, leader)
                self._note(f"resend {again.payload} to {leader}")
                return
            payload, acks = f"r{self._payloads}", self._random.choice(self._chances.acks)
            self._cluster.produce(payload, leader, acks)
            self._payloads += 1
            self._note(f"produce {payload} to {leader} acks={acks.value}")
        except ClusterError as refusal:
            self._note(f"refused: {refusal}")

    def _read(self) -> None:
        broker = self._random.choice(self._cluster.brokers)
        isolation = self._random.choice(list(Isolation))
        self._cluster.consume(broker, isolation.value, isolation)
        self._note(f"consume {isolation.value} from {broker}")

    def _one_up(self) -> int | None:
        up = [each.number for each in self._cluster.observe().brokers if each.is_up and not each.is_frozen]
        return self._random.choice(up) if up else None

    def _crash(self) -> None:
        self._end("crash", self._cluster.crash)

    def _lose_power(self) -> None:
        self._end("power loss", self._cluster.lose_power)

    def _lose_disk(self) -> None:
        self._end("disk loss", self._cluster.lose_disk)

    def _end(self, name: str, act: Callable[[int], None]) -> None:
        broker = self._one_up()
        if broker is not None:
            self._note(f"{name} {broker}")
            act(broker)
            self._plan(
                1 + self._random.randrange(2 * self._chances.down_time), "restart", lambda: self._restart(broker)
            )

    def _restart(self, broker: int) -> None:
        if not self._view(broker).is_up:
            self._note(f"restart {broker}")
            self._cluster.restart(broker)

    def _freeze(self) -> None:
        broker = self._one_up()
        if broker is not None:
            self._note(f"freeze {broker}")
            self._cluster.freeze(broker)
            self._plan(1 + self._random.randrange(2 * self._chances.down_time), "thaw", lambda: self._thaw(broker))

    def _thaw(self, broker: int) -> None:
        if self._view(broker).is_frozen:
            self._note(f"thaw {broker}")
            self._cluster.thaw(broker)

    def _elect(self) -> None:
        """Asks the controller for an election, or to notice a death; what it refuses, does not happen."""
        kind = self._random.choice([*self._chances.elections, None])
        broker = self._random.choice(self._cluster.brokers)
        try:
            if kind is None:
                self._cluster.notice_dead(broker)
                self._note(f"controller notices that {broker} is dead")
            else:
                self._cluster.elect(kind, broker)
                self._note(f"{kind.value} election of {broker}")
        except ClusterError:
            return

    def _view(self, broker: int) -> BrokerView:
        return self._cluster.observe().brokers[broker]


def _is_asked_by_a_broker(message: Message) -> bool:
    return isinstance(message.payload, FetchRequest | OffsetsForLeaderEpochRequest | ListOffsetsRequest)
