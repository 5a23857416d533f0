"""Observes one long run of the executable cluster under random faults, as a recording of a real Kafka would show it.

In:  a `Plan`; its bounds do not count.
Out: the lines of a recording of observations (conformance/recordings/README.md), as many as are asked for.

The acts are those of `RecordedRun`. A line says what a client was told, where a log ends, a high watermark, what the
controller has decided, what a consumer can read, or which broker was killed or started.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from random import Random
from typing import Any

from isrcheck.conformance.cluster.acts import Act
from isrcheck.conformance.cluster.cluster import Cluster
from isrcheck.conformance.cluster.configuration.settings import Start
from isrcheck.conformance.cluster.observe import BrokerView, ClusterView, ControllerView
from isrcheck.conformance.cluster.scheduler import Scheduler
from isrcheck.conformance.follow.recorder.clients import Clients
from isrcheck.conformance.follow.recorder.event_mapping import MappedEvent, Moment
from isrcheck.conformance.follow.recorder.plan import Plan
from isrcheck.conformance.follow.recorder.recorded_run import RecordedRun
from isrcheck.conformance.replay.projection import Observations
from isrcheck.models.language import NONE

Observation = dict[str, Any]

END_SHARE, MARK_SHARE, READ_SHARE = 1.0, 1.0, 0.05
"""The shares of changes of log ends and high watermarks that are observed, and of acts after which a client reads."""

FAULT_INTERVAL = 200_000
"""The mean interval between crashes, between elections, and between acts of `interfere`, in milliseconds."""

MOST_READ = 3
"""The records that a client reads at one time."""


class ObservedRun(RecordedRun):
    """One run of one cluster, of any length; it begins with empty logs. In a calm one, no message is slow or lost."""

    def __init__(self, plan: Plan, fault_interval: int = FAULT_INTERVAL, *, is_calm: bool = False) -> None:
        self.plan = plan
        self.fault_interval = fault_interval
        self.random = Random(f"observed {plan.seed}")
        has = plan.configuration
        start = Start(has.replicas, 0, frozenset(range(has.replicas)), (), ())
        self.cluster = Cluster(plan.protocol_switches(), start, plan.settings(), plan.bug, None)
        self.numbers, self.acknowledged, self.silent = {}, set(), {}
        self.seen = Observations(0, number_of=lambda payload: self.numbers.get(payload, NONE))
        self.is_over = False
        self.found: list[Observation] = []
        self.told: set[str] = set()
        chances = replace(plan.chances(), crash_interval=fault_interval, election_interval=fault_interval)
        if is_calm:
            chances = replace(chances, slow_share=0, loss_share=0)
        self.scheduler = Scheduler(self.cluster, self.random.randrange(1 << 32), chances, self.watch)
        self.clients = Clients(plan, self.cluster, f"clients of {plan.seed}", self.watch)
        self.before = self.moment()

    def lines(self, count: int) -> Iterator[Observation]:
        """The first lines of the run, with a header."""
        has = self.plan.configuration
        yield {
            "kind": "header",
            "min.insync.replicas": has.min_insync_replicas,
            "unclean.leader.election.enable": False,
            "replicas": list(range(has.replicas)),
            **({"all_requests": True} if self.plan.asks_controller else {}),
        }
        self.see_controller(self.before.view)
        said = 0
        next_one = self.random.expovariate(1 / self.fault_interval)
        while said < count - 1:
            self.scheduler.step()
            if self.cluster.now >= next_one:
                self.interfere()
                next_one = self.cluster.now + self.random.expovariate(1 / self.fault_interval)
            for line in self.found[: count - 1 - said]:
                yield {"n": said, **line}
                said += 1
            self.found.clear()

    def moment(self) -> Moment:
        """The observed state."""
        return Moment(self.cluster.observe(), {}, {})

    def write(self, found: MappedEvent, *, is_observed: bool = True) -> None:
        """Events are not written."""

    def watch(self, act: Act) -> None:
        """Add the lines about an act that the scheduler has performed."""
        if act.name == "restart":
            self.restarted(int(str(act.arguments[0])))
            return
        if act.name == "crash":
            self.found.append({"kind": "fault", "what": "kill -9", "broker": int(str(act.arguments[0]))})
        if act.name == "elect":
            self.found.append({"kind": "fault", "what": "elect preferred"})
        payload = self.number_a_record(act)
        if payload is not None and self.is_in_a_log(payload):  # a request without effect is not observed
            self.found.append({"kind": "fault", "what": "send", "value": payload, "acks": self.plan.acks})
        self.keep_from_differing()
        self.see()

    def restarted(self, broker: int, action: str = "broker_restarts") -> None:
        """Add the lines about a broker that was started; a bounce is a kill as well."""
        if action == "broker_bounces":
            self.found.append({"kind": "fault", "what": "kill -9", "broker": broker})
        self.found.append({"kind": "fault", "what": "start", "broker": broker})
        before = self.before
        super().restarted(broker, action)
        self.before = before
        self.see()

    def is_in_a_log(self, payload: str) -> bool:
        """Whether a broker has this record as one of its last."""
        return any(one.payload == payload for broker in self.cluster.observe().brokers for one in broker.log[-5:])

    def see(self) -> None:
        """Add the lines about what has changed, some of them at random."""
        before, after = self.before.view, self.moment().view
        sent = [one for _, requests in after.sent for one in requests]
        # Only the last requests can be without an answer yet.
        for one in sent[-50:]:
            if one.is_acknowledged and one.payload not in self.told:
                self.told.add(one.payload)
                self.found.append({"kind": "acked", "value": one.payload, "acks": self.plan.acks})
        self.see_controller(after, before)
        for old, new in zip(before.brokers, after.brokers, strict=True):
            self.see_broker(old, new)
        self.read(after)
        self.before = Moment(after, {}, {})

    def see_controller(self, after: ClusterView, before: ClusterView | None = None) -> None:
        """Add a line about a change of leader or ISR."""
        now = after.controller
        was = None if before is None else before.controller
        if was is None or (was.leader, was.leader_epoch, was.isr) != (now.leader, now.leader_epoch, now.isr):
            if was is not None and (was.leader, was.leader_epoch) == (now.leader, now.leader_epoch):
                self.see_request(was, now.isr)
            epoch = {"partition_epoch": now.partition_epoch} if self.plan.asks_controller else {}
            line = {"leader": now.leader, "leader_epoch": now.leader_epoch, "isr": sorted(now.isr), **epoch}
            self.found.append({"kind": "metadata", **line})

    def see_request(self, was: ControllerView, isr: frozenset[int]) -> None:
        """Add a line about the request that has changed the ISR."""
        if self.plan.asks_controller:
            epochs = {"leader_epoch": was.leader_epoch, "partition_epoch": was.partition_epoch}
            self.found.append({"kind": "alter_partition", "leader": was.leader, "isr": sorted(isr), **epochs})

    def see_broker(self, old: BrokerView, new: BrokerView) -> None:
        """Add lines about the log and the high watermark of a broker."""
        end = new.log_end_offset
        if end != old.log_end_offset and self.random.random() < END_SHARE:
            epoch = {"last_epoch": new.log[-1].leader_epoch} if new.log else {}
            self.found.append({"kind": "log_end", "broker": new.number, "log_end_offset": end, **epoch})
        mark = new.high_watermark
        if mark is not None and mark != old.high_watermark and self.random.random() < MARK_SHARE:
            self.found.append({"kind": "high_watermark", "broker": new.number, "high_watermark": mark})

    def read(self, view: ClusterView) -> None:
        """Let a client read the last records below the high watermark of the leader."""
        if view.controller.leader is None:
            return
        leader = view.brokers[view.controller.leader]
        if leader.leadership is None or not leader.high_watermark:
            return
        if self.random.random() < READ_SHARE:
            last = leader.log[max(0, leader.high_watermark - MOST_READ) : leader.high_watermark]
            records = [[one.offset, one.payload] for one in last]
            self.found.append({"kind": "client_read", "records": records})
