"""What the model says of a cluster: each of its variables, worked out from what can be seen from outside.

In:  a `ClusterView`, and what was seen before (`Witnessed`): some of what the model remembers is gone from the cluster.
Out: name of a variable -> its cells, in the order of the model's declaration.

What the model clears because nobody reads it any more (metadata that every running broker has heard, fetches that their
follower has given up) is left out here as well. The budgets are not in the cluster; who replays a trace counts them.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from conformance.cluster.fetcher import Mode
from conformance.cluster.messages import Acks, Errors, FetchResponse
from conformance.cluster.observe import BrokerView, ClusterView
from models.kafka.state import BUDGETS, Fetch, Truncation
from models.language import NONE
from models.language.model import Instance

LEFT_OUT = frozenset(f"{name}_left" for name in BUDGETS)
"""Variables of the model that are nowhere in a cluster."""

Projected = dict[str, tuple[int, ...]]


def payload_of(record: int) -> str:
    """What the client sends as the record of that number: a letter."""
    return chr(ord("a") + record)


def record_of(payload: str) -> int:
    """The number of a record."""
    return ord(payload) - ord("a")


@dataclass
class Witnessed:
    """What was seen from outside while a cluster ran.

    `common` is the number of records that it started with, all of them acknowledged; `elections` are leader and ISR of
    every epoch as it was announced; `exposed` what readers could see first at each offset; `last_high_watermark` and
    `last_epochs` what a broker that is down had in memory.
    """

    common: int = 0
    elections: list[tuple[int, frozenset[int]]] = field(default_factory=list)
    exposed: dict[int, int] = field(default_factory=dict)
    last_high_watermark: dict[int, int] = field(default_factory=dict)
    last_epochs: dict[int, dict[int, int]] = field(default_factory=dict)

    def note(self, view: ClusterView) -> None:
        """Look at the cluster once more."""
        controller = view.controller
        if len(self.elections) <= controller.leader_epoch:
            self.elections.append((controller.leader, controller.isr))
        for broker in view.brokers:
            number, epochs = broker.number, {one.leader_epoch: one.start_offset for one in broker.epoch_entries}
            if broker.high_watermark is not None:
                self.last_high_watermark[number], self.last_epochs[number] = broker.high_watermark, epochs
            else:  # what a machine loses is lost to memory as well
                self.last_high_watermark[number] = min(self.last_high_watermark[number], broker.log_end_offset)
                known = self.last_epochs[number]
                self.last_epochs[number] = {epoch: known[epoch] for epoch in known if epoch in epochs}
            if broker.leadership is not None and broker.high_watermark is not None:
                for record in broker.log:
                    if record.offset < broker.high_watermark:
                        self.exposed.setdefault(record.offset, record_of(record.payload))


def project(instance: Instance, view: ClusterView, seen: Witnessed) -> Projected:
    """Every variable of the model but the budgets, as cells in the model's order."""
    return _Projection(instance, view, seen).all()


class _Projection:
    """One cluster at one moment, as the model has it."""

    def __init__(self, instance: Instance, view: ClusterView, seen: Witnessed) -> None:
        self.configuration = instance.configuration
        self.view = view
        self.seen = seen
        self.brokers = view.brokers
        self.replicas = range(self.configuration.replicas)
        self.offsets = range(self.configuration.log_size)
        self.epochs = range(self.configuration.elections + 1)

    def all(self) -> Projected:
        return {**self._controller(), **self._logs(), **self._roles(), **self._fetches(), **self._clients()}

    def _controller(self) -> Projected:
        controller = self.view.controller
        heard = [
            any(b.is_up and _epoch(b) < epoch for b in self.brokers) and epoch < len(self.seen.elections)
            for epoch in self.epochs
        ]
        elections = [self.seen.elections[epoch] if heard[epoch] else (NONE, frozenset[int]()) for epoch in self.epochs]
        return {
            "controller_leader": (controller.leader,),
            "controller_epoch": (controller.leader_epoch,),
            "controller_isr": tuple(self._members(controller.isr)),
            "metadata_leader": tuple(leader for leader, _ in elections),
            "metadata_isr": tuple(cell for _, isr in elections for cell in self._members(isr)),
        }

    def _logs(self) -> Projected:
        records, epochs, caches = [], [], []
        for broker in self.brokers:
            held = {record.offset: record for record in broker.log}
            records += [record_of(held[o].payload) if o in held else NONE for o in self.offsets]
            epochs += [held[o].leader_epoch if o in held else NONE for o in self.offsets]
            # 0.10 keeps no epochs that anybody reads.
            cache = {} if self.configuration.TRUNC == Truncation.HW else self.seen.last_epochs[broker.number]
            caches += [cache.get(epoch, NONE) for epoch in self.epochs]
        return {
            "log_record": tuple(records),
            "log_epoch": tuple(epochs),
            "epoch_cache": tuple(caches),
            "log_start_offset": tuple(b.log_start_offset for b in self.brokers),
            "log_end_offset": tuple(b.log_end_offset for b in self.brokers),
            "high_watermark": tuple(self.seen.last_high_watermark[b.number] for b in self.brokers),
        }

    def _roles(self) -> Projected:
        isr, remote, starts = [], [], []
        for broker in self.brokers:
            leads = broker.leadership
            isr += self._members(leads.isr if leads else ())
            known = dict(leads.remote_log_end_offsets) if leads else {}
            remote += [NONE if (end := known.get(r)) is None else end for r in self.replicas]
            is_asked = leads is not None and bool(self.configuration.EXPAND_EPOCH_START)
            starts.append(leads.leader_epoch_start_offset if leads is not None and is_asked else 0)
        return {
            "is_up": tuple(int(b.is_up) for b in self.brokers),
            "leader_epoch": tuple(_epoch(b) for b in self.brokers),
            "leader": tuple(NONE if b.leader is None else b.leader for b in self.brokers),
            "is_truncating": tuple(int(b.is_truncating) for b in self.brokers),
            "isr": tuple(isr),
            "epoch_start_offset": tuple(starts),
            "remote_log_end_offset": tuple(remote),
        }

    def _fetches(self) -> Projected:
        found: dict[str, list[int]] = {
            name: []
            for name in (
                *("fetch", "fetch_offset", "response_record", "response_epoch"),
                *("response_high_watermark", "response_log_start_offset"),
            )
        }
        for follower in self.brokers:
            for leader in self.brokers:
                stage, offset, response = self._fetch(follower, leader)
                held = {record.offset: record for record in response.records} if response else {}
                found["fetch"].append(stage)
                found["fetch_offset"].append(offset)
                found["response_record"] += [record_of(held[o].payload) if o in held else NONE for o in self.offsets]
                found["response_epoch"] += [held[o].leader_epoch if o in held else NONE for o in self.offsets]
                found["response_high_watermark"].append(response.high_watermark if response else 0)
                found["response_log_start_offset"].append(response.log_start_offset if response else 0)
        return {name: tuple(cells) for name, cells in found.items()}

    def _fetch(self, follower: BrokerView, leader: BrokerView) -> tuple[int, int, FetchResponse | None]:
        """What has become of the follower's fetch: its stage, its offset, and the response under way."""
        thread = next((one for one in follower.fetchers if one.source == leader.number), None)
        if thread is None or thread.outstanding is None or thread.mode is not Mode.FETCHING:
            return Fetch.NONE, 0, None
        for message in self.view.network:
            answer = message.payload
            if message.in_reply_to == thread.outstanding and isinstance(answer, FetchResponse):
                is_good = answer.error is Errors.NONE
                return (Fetch.ANSWERED, answer.fetch_offset, answer) if is_good else (Fetch.NONE, 0, None)
        parked = leader.leadership.parked_fetches if leader.leadership else ()
        offsets = [offset for number, offset, _ in parked if number == follower.number]
        return (Fetch.PARKED, offsets[0], None) if offsets else (Fetch.NONE, 0, None)

    def _clients(self) -> Projected:
        records = range(self.configuration.records)
        sent = [one for _, all_sent in self.view.sent for one in all_sent]
        first = [one for one in sent if one.retry_of is None]
        told = {record_of(one.payload) for one in sent if one.is_acknowledged or one.acks is Acks.NONE}
        told |= set(range(self.seen.common))
        pending = [NONE] * len(records)
        for broker in self.brokers:
            if broker.leadership is not None:
                for _, number, _, _ in broker.leadership.delayed_produces:
                    pending[record_of(sent[number].payload)] = broker.number
        return {
            "next_record": (self.seen.common + len(first),),
            "pending": tuple(pending),
            "acknowledged": tuple(int(record in told) for record in records),
            "exposed_record": tuple(self.seen.exposed.get(o, NONE) for o in self.offsets),
        }

    def _members(self, members: Iterable[int]) -> list[int]:
        there = set(members)
        return [int(r in there) for r in self.replicas]


def _epoch(broker: BrokerView) -> int:
    return max(broker.leader_epoch, 0)
