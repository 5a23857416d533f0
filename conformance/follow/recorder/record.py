"""Runs the executable cluster under random faults, and records either the events of a run or observations of it.

`record` writes logs that can be followed (format/events.py); the same plan gives identical lines. An `ObservedRun` is
one long run as a recording of a real Kafka would show it (conformance/recordings/README.md).

The model is bounded, and so is each run of a log: the run ends before the first act that exceeds the bounds, and the
next run begins with a new cluster. The acts are as fine-grained as the steps of the model. The cluster's `Scheduler`
chooses most acts. The others are the acts of clients.py (an idempotent producer, consumers, an administrator), and acts
that the scheduler lacks: bounces, restarts of brokers that have halted, and elections in quick succession.

Behaviours that the model lacks are prevented: a broker that starts receives the metadata at once, requests do not time
out, and every `ModelGap` that the plan does not allow is avoided.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from math import prod
from pathlib import Path
from random import Random
from typing import Any, TextIO

from isrcheck.conformance.cluster.acts import Act, complete_parked_fetch, response_in_flight, view_of
from isrcheck.conformance.cluster.broker.broker import TimerKind
from isrcheck.conformance.cluster.broker.fetcher import Mode
from isrcheck.conformance.cluster.cluster import Cluster
from isrcheck.conformance.cluster.configuration.protocol import SwitchError, Truncation
from isrcheck.conformance.cluster.configuration.settings import ClusterError, Start
from isrcheck.conformance.cluster.controller.controller import Election
from isrcheck.conformance.cluster.log.storage import StorageError
from isrcheck.conformance.cluster.network import messages
from isrcheck.conformance.cluster.network.network import Message
from isrcheck.conformance.cluster.observe import BrokerView, ClusterView, ControllerView, FetcherView
from isrcheck.conformance.cluster.scheduler import Scheduler
from isrcheck.conformance.follow.format.events import Event, Header, Writer
from isrcheck.conformance.follow.format.variables import Value, Variables
from isrcheck.conformance.follow.recorder.clients import Clients
from isrcheck.conformance.follow.recorder.event_mapping import (
    KRAFT_EVERYBODYS,
    MappedEvent,
    Moment,
    asks_in_vain,
    begins_shutdown,
    is_void_in_model,
    lets_stop,
    map_event,
    map_kraft_event,
    mode_of,
    outlives,
    starts_to_fetch,
)
from isrcheck.conformance.follow.recorder.plan import FENCES_LIVING, SHUTS_DOWN, ModelGap, Plan
from isrcheck.conformance.follow.recorder.transactions import TransactionsPlan, TransactionsRun
from isrcheck.conformance.replay.projection import Observations, project
from isrcheck.models.kafka.state.fields import (
    AlteringReplica,
    DeletingReplica,
    KraftReplica,
    NumberedReplica,
    Replica,
    SnapshotReplica,
)
from isrcheck.models.language import NONE
from isrcheck.models.messages import UsageError

LONGEST = 20_000
"""The number of scheduler events after which a run ends; events without effect count."""

INTERFERENCE_INTERVAL = 6_000
"""The mean interval between acts that the scheduler does not perform, in milliseconds."""

PAIRS = ("fetch_offset", "response_record", "response_epoch", "response_high_watermark")
"""The variables of a follower's fetch from a leader."""

PAIRS_SINCE_ALTER_ISR = ("diverging_epoch", "diverging_end_offset")
"""The variables that a fetch has since 2.8."""

PAIRS_OF_CLIENTS = {"enable_idempotence": "response_producer_epoch", "delete_records": "response_log_start_offset"}
"""The variables that a fetch has if an entry of the configuration is set."""

OF_CONTROLLER = ("controller_leader", "controller_epoch", "controller_isr", "metadata_leader", "metadata_isr")
EVERYBODYS = (*OF_CONTROLLER, "next_record", "pending", "acknowledged", "exposed_record")
"""The variables of the controller and the clients, which every event observes."""

FIRST_FETCHES = ("leader_handles_fetch", "follower_is_out_of_range", "follower_starts_over")
"""The events in which a leader receives the first message of a follower that has reconciled without a request."""

OF_PRODUCER = ("producer_epoch", "has_sequence")
"""The variables of an idempotent producer. In the model it learns a leader epoch only by an answer: not observed."""

OF_POSITION = ("position", "known_end_offset", "consumer_leader_epoch")
OF_CONSUMERS = (*OF_POSITION, "consumed_epoch", "consumed_record", "has_skipped", "preferred_read_replica")
"""The variables of each consumer that has not stopped."""

OF_BROKERS = (Replica, AlteringReplica, KraftReplica, NumberedReplica, SnapshotReplica, DeletingReplica)
"""The domains whose elements are the brokers."""


class RecordedRun:
    """One run of one cluster, from a random initial state until an act would exceed the model's bounds."""

    def __init__(self, plan: Plan, writer: Writer, directory: Path | None) -> None:
        self.plan = plan
        self.writer = writer
        self.name = f"{plan.seed}.{writer.runs + 1}"
        self.random = random = Random(f"run {self.name}")
        has = plan.configuration
        followers = random.sample(range(1, has.replicas), random.choice([has.replicas - 1, has.replicas - 1, 1]))
        isr = frozenset({0, *followers})
        common = random.randrange(min(3, has.records))
        self.start = {"start_isr": sum(1 << member for member in isr), "common_records": common}
        self.instance = plan.instance(**self.start)
        self.variables = Variables(self.instance)
        payloads = tuple(f"c{number}" for number in range(common))
        start = Start(has.replicas, 0, isr, payloads, tuple((r, common) for r in range(has.replicas) if r not in isr))
        files = None if directory is None else directory / f"run-{self.name}"
        self.cluster = Cluster(plan.protocol_switches(), start, plan.settings(), plan.bug, files)
        self.numbers = {payload: number for number, payload in enumerate(payloads)}
        self.acknowledged = set(range(common))
        self.last_message = -1
        self.observer = Observations(common, number_of=lambda payload: self.numbers.get(payload, NONE))
        hooks = (plan.chances(), self.watch, self.must_lose)
        self.scheduler = Scheduler(self.cluster, random.randrange(1 << 32), *hooks)
        self.clients = Clients(plan, self.cluster, f"clients of {self.name}", self.watch)
        self.silent: dict[int, int] = {}
        self.taken: dict[str, int] = {}
        self.events = 0
        self.is_over = False
        self.before = self.moment()

    def go(self) -> None:
        """Perform the run until an act would exceed the bounds, or the plan's number of events is reached."""
        state = {key: value for key, value in self.state(None, {}).items() if not key.startswith("metadata")}
        note = f"bug: {self.plan.bug}" if self.plan.bug else ""
        configuration, plan = self.plan.entries(**self.start), self.plan
        header = Header(self.name, plan.seed, "kafka", plan.protocol, plan.switches, configuration, state, note)
        self.writer.begin(header)
        next_one = self.random.expovariate(1 / INTERFERENCE_INTERVAL)
        for _ in range(LONGEST):
            self.scheduler.step()
            self.clients.act()
            if self.is_over:
                return
            if self.cluster.now >= next_one:
                self.interfere()
                next_one = self.cluster.now + self.random.expovariate(1 / INTERFERENCE_INTERVAL)

    # -------------------------------------------------------------------------------------------------- observation

    def moment(self) -> Moment:
        """The present state. A record gets its number when a request for it reaches a broker, and counts as
        acknowledged when a broker responds."""
        view = self.cluster.observe()
        self.note_answers(view)
        self.observer.note(view)
        projected = {
            name: tuple(cell for cell in cells if cell is not None)
            for name, cells in project(self.instance, view, self.observer).items()
            if None not in cells
        }
        projected["next_record"] = (len(self.numbers),)
        records = range(self.instance.configuration.records)
        projected["acknowledged"] = tuple(int(record in self.acknowledged) for record in records)
        return Moment(view, projected, dict(self.numbers))

    def note_answers(self, view: ClusterView) -> None:
        """Note the records that brokers have acknowledged: the response is in flight, or has reached the producer."""
        self.acknowledged |= {self.numbers[sent.payload] for sent in view.acknowledged}
        new = [message.payload for message in view.network if message.number > self.last_message]
        for answer in new:
            if isinstance(answer, messages.ProduceResponse) and answer.error is messages.Errors.NONE:
                self.acknowledged.add(self.numbers[view.sent[0][1][answer.send].payload])
        self.last_message = max([self.last_message, *(message.number for message in view.network)])

    def state(self, broker: int | None, arguments: object) -> dict[str, Value]:
        """The variables recorded after an event: shared variables, and those of the acting broker and its fetches."""
        return {key: self.value(key) for key in self.keys(broker, arguments)}

    def keys(self, broker: int | None, arguments: object) -> Iterator[str]:
        """The log keys of the variables, and parts of variables, that are recorded after an event of this broker."""
        # No broker receives an announcement made while none runs; the model keeps it until a broker starts.
        is_heard = any(view.is_up for view in self.before.view.brokers)
        yield from (name for name in self.of_everybody() if is_heard or not name.startswith("metadata"))
        if broker is None:
            return
        others = [other for other in range(len(self.before.view.brokers)) if other != broker]
        for name, place in self.instance.layouts.items():
            is_of_brokers = place.field.over[:1] and place.field.over[0] in OF_BROKERS and place.count
            is_of_pairs = name in ("fetch", *PAIRS, *PAIRS_SINCE_ALTER_ISR) or name.startswith("response")
            # A follower that no longer truncates may not have sent its leader a fetch yet, or its leader has fenced it.
            is_known = name != "is_truncating" or (broker not in self.silent and not self.is_fenced(broker))
            if is_of_brokers and name in self.before.projected and is_known and not is_of_pairs:
                yield f"{name}[{broker}]"
        yield f"fetch[{broker}]"
        yield from (f"fetch[{other}][{broker}]" for other in others)
        if isinstance(arguments, dict) and {"follower", "leader"} <= arguments.keys():
            has = self.instance.configuration
            since = PAIRS_SINCE_ALTER_ISR if self.plan.asks_controller else ()
            pairs = [*PAIRS, *since, *(name for entry, name in PAIRS_OF_CLIENTS.items() if getattr(has, entry))]
            yield from (f"{name}[{arguments['follower']}][{arguments['leader']}]" for name in pairs)

    def of_everybody(self) -> Iterator[str]:
        """The log keys of the variables that are recorded after every event, as far as they can be observed."""
        has = self.instance.configuration
        since: tuple[str, ...] = ("controller_partition_epoch",) if self.plan.asks_controller else ()
        if self.plan.has_kraft:
            since += tuple(name for name in KRAFT_EVERYBODYS if name in self.before.projected)
        elif since:
            since += ("metadata_partition_epoch",)
        yield from (*EVERYBODYS, *since, *(OF_PRODUCER if has.enable_idempotence else ()))
        consumers = [consumer for consumer in range(has.consumers) if consumer not in self.clients.stopped]
        names = [name for name in OF_CONSUMERS if self.before.projected.get(name)]
        yield from (f"{name}[{consumer}]" for name in names for consumer in consumers)

    def is_fenced(self, broker: int) -> bool:
        """Whether a fetcher of the broker has given up. In the model, a fetcher then waits for a new leader epoch."""
        return any(fetcher.mode is Mode.FAILED for fetcher in self.before.view.brokers[broker].fetchers)

    def value(self, key: str) -> Value:
        part = self.variables.part(key)
        cells = self.before.projected[part.layout.name]
        first = part.start - part.layout.offset
        return part.spell(cells[first : first + prod(part.sizes)])

    # -------------------------------------------------------------------------------------------------------- events

    def watch(self, act: Act) -> None:
        """Record an act that the scheduler has performed, as events."""
        if self.is_over or act.name in ("produce", "consume"):
            return
        if act.name == "restart":
            self.restarted(int(str(act.arguments[0])))
            return
        payload = self.number_a_record(act)
        if len(self.numbers) > self.instance.configuration.records:
            self.is_over = True
            return
        self.keep_from_differing()
        before, after = self.before, self.moment()
        if self.exceeds_bounds(after.view):
            self.is_over = True
            return
        *earlier, event = map_event(act, before, after) or (None,)
        if self.plan.has_kraft:
            event = map_kraft_event(act, before, after) or event
            if event is not None and event.action.startswith("controller_fences_"):
                self.note_budget(FENCES_LIVING, is_spent=before.view.brokers[event.arguments["broker"]].is_up)
            elif event is not None:
                self.note_budget(SHUTS_DOWN, is_spent=begins_shutdown(event, before))
        if payload is not None and event is None:
            del self.numbers[payload]
            after = self.moment()
        silent = starts_to_fetch(act, before, after)
        if silent is not None:
            follower, leader = silent
            old, new = before.view.brokers[follower], after.view.brokers[follower]
            if (old.log_start_offset, old.log_end_offset) == (new.log_start_offset, new.log_end_offset):
                self.silent[follower] = leader
            elif self.reaches(after.view, follower, leader) or ModelGap.TRUNCATION_WITHOUT_LEADER in self.plan.allowed:
                event = MappedEvent("follower_reconciles", follower=follower, leader=leader)
            else:
                self.is_over = True
                return
        if event is not None and event.action in FIRST_FETCHES:
            self.say_that_it_has_reconciled(event.arguments["follower"])
        self.before = after
        self.silent = {f: source for f, source in self.silent.items() if mode_of(after, f, source) is Mode.FETCHING}
        for earlier_event in earlier:
            self.write(earlier_event, is_observed=False)
        if event is not None:
            self.write(event)

    def note_budget(self, kind: str, *, is_spent: bool) -> None:
        """If `is_spent`, count a step of this kind; end the run if more than `budgets[kind]` such steps are counted."""
        self.taken[kind] = self.taken.get(kind, 0) + is_spent
        self.is_over |= self.taken[kind] > self.plan.budgets[kind]

    def must_lose(self, message: Message) -> bool:
        """Whether a request has to be lost to prevent a behaviour that the model lacks."""
        if not self.plan.has_kraft or ModelGap.INELIGIBLE_FOLLOWER in self.plan.allowed:
            return False
        return asks_in_vain(message, self.cluster.observe(), self.plan.protocol_switches())

    def reaches(self, view: ClusterView, follower: int, leader: int) -> bool:
        """Whether a leader would answer if the follower asked it where a leader epoch ends."""
        asking, answering = view.brokers[follower], view.brokers[leader]
        is_same_epoch = asking.leader_epoch == answering.leader_epoch
        return answering.leadership is not None and (is_same_epoch or not self.plan.protocol_switches().fences_epochs)

    def exceeds_bounds(self, view: ClusterView) -> bool:
        """Whether a log, the producer's epochs or the partition's changes exceed the bounds of the model."""
        has = self.instance.configuration
        epochs = [len(producer.identities) for producer in view.producers]
        longest = max(broker.log_end_offset for broker in view.brokers)
        is_changed_too_often = self.plan.asks_controller and view.controller.partition_epoch > has.partition_changes
        return is_changed_too_often or longest > has.log_size or max(epochs, default=1) > has.producer_epochs

    def keep_from_differing(self) -> None:
        """Perform at once the acts without which the cluster would do something that the model lacks (ModelGap)."""
        allowed, before = self.plan.allowed, self.before.view.brokers
        self.clients.answer_producer()
        self.finish_exchanges_about_isr()
        for new in self.cluster.observe().brokers:
            old = before[new.number]
            is_above = new.high_watermark is not None and new.checkpointed_high_watermark > new.high_watermark
            if is_above and not new.is_frozen and ModelGap.CHECKPOINT_ABOVE_HIGH_WATERMARK not in allowed:
                self.cluster.fire(new.number, TimerKind.HIGH_WATERMARK_CHECKPOINT)
            has_moved = new.log_start_offset != old.log_start_offset and new.is_up and not new.is_frozen
            if has_moved and ModelGap.LOG_START_NOT_CHECKPOINTED not in allowed:
                self.cluster.fire(new.number, TimerKind.LOG_START_OFFSET_CHECKPOINT)
            if new.leader_epoch == old.leader_epoch:
                continue
            was_reelected = old.leadership is not None and new.leadership is not None
            is_left_out = was_reelected and not self.plan.protocol_switches().fences_epochs
            if is_left_out and ModelGap.PARKED_FETCH_OF_REELECTED_LEADER not in allowed:
                assert new.leadership is not None
                for follower, _, _ in new.leadership.parked_fetches:
                    self.break_connection(follower, new.number)
            if ModelGap.FETCH_OF_AN_EARLIER_STAY not in allowed:
                for thread in new.fetchers:
                    if thread.outstanding is not None and self.is_void(thread, old):
                        self.break_connection(new.number, thread.source)

    def is_void(self, thread: FetcherView, old: BrokerView) -> bool:
        """Return whether the model drops a fetcher's outstanding fetch when the fetcher's broker enters a new epoch.
        `thread` is the fetcher; `old` is the state of the broker in the earlier epoch."""
        switches = self.plan.protocol_switches()
        if switches.TRUNC is Truncation.ON_FETCH:
            return switches.RESPONSE_EPOCH_MATCHED
        was_away = any(fetcher.source == thread.source and fetcher.mode is None for fetcher in old.fetchers)
        return was_away and thread.mode is Mode.FETCHING

    def finish_exchanges_about_isr(self) -> None:
        """Deliver at once messages about the ISR that the model lacks: refusals, requests from an earlier process of a
        broker, and answers to such a process or to a broker that has just crashed.
        """
        for message in self.cluster.messages():
            payload = message.payload
            if isinstance(payload, messages.AlterIsrRequest) and isinstance(message.source, int):
                broker = view_of(self.cluster, message.source)
                if broker.is_up and broker.process != message.source_process:
                    self.cluster.deliver(message.number)
        self.observer.note_proposals(self.cluster.messages())
        self.finish_exchanges_with_quorum()
        for message in self.cluster.messages():
            payload = message.payload
            if self.plan.has_kraft and is_void_in_model(message, self.observer.proposals):
                self.cluster.deliver(message.number)
            elif isinstance(payload, messages.AlterIsrResponse) and isinstance(message.destination, int):
                now, was = view_of(self.cluster, message.destination), self.before.view.brokers[message.destination]
                has_crashed = was.is_up and not now.is_up
                is_earlier = now.is_up and now.process != message.destination_process
                is_refused = payload.error is not messages.Errors.NONE and not self.plan.has_kraft
                if is_refused or has_crashed or is_earlier:
                    self.cluster.deliver(message.number)

    def finish_exchanges_with_quorum(self) -> None:
        """Let brokers stop as soon as the controller allows it; lose the heartbeats of processes that have ended."""
        for message in self.cluster.messages():
            if lets_stop(message):
                self.cluster.deliver(message.number)
        if ModelGap.HEARTBEAT_OUTLIVES_PROCESS not in self.plan.allowed:
            view = self.cluster.observe()
            for message in self.cluster.messages():
                if outlives(message, view):
                    self.cluster.drop(message.number)

    def break_connection(self, follower: int, leader: int) -> None:
        """Lose the response to a follower's fetch. If the leader has parked the fetch, it sends the response first."""
        leads = view_of(self.cluster, leader).leadership
        is_frozen = view_of(self.cluster, leader).is_frozen
        if leads is not None and not is_frozen and follower in [number for number, _, _ in leads.parked_fetches]:
            complete_parked_fetch(self.cluster, leader, follower)
        response = response_in_flight(self.cluster, follower, leader)
        if response is not None:
            self.cluster.drop(response.number)

    def number_a_record(self, act: Act) -> str | None:
        """If this act delivers or loses a record's first request, number the record and return its payload; otherwise
        return None."""
        message = act.arguments[0] if act.arguments else None
        request = message.payload if isinstance(message, Message) else None
        if isinstance(request, messages.ProduceRequest) and request.payload not in self.numbers:
            self.numbers[request.payload] = len(self.numbers)
            if request.acks is messages.Acks.NONE:
                self.acknowledged.add(self.numbers[request.payload])
            return request.payload
        return None

    def say_that_it_has_reconciled(self, follower: int) -> None:
        """At a follower's first fetch, record that it reconciled without a request (log without epoch), if it did."""
        leader = self.silent.pop(follower, None)
        if leader is not None:
            self.write(MappedEvent("follower_reconciles", follower=follower, leader=leader))

    def interfere(self) -> None:
        """Perform an act that the scheduler performs rarely or never: the controller notices a dead broker; or a dead
        broker starts; or a broker bounces; or leadership moves to another broker and back before either learns of it.
        """
        view = self.before.view
        down = [broker.number for broker in view.brokers if not broker.is_up]
        broker = self.random.choice(down or range(len(view.brokers)))
        if self.plan.has_kraft:
            self.interfere_with_kraft(broker, bool(down))
        elif down and self.random.random() < 0.5:
            self.elect("notice dead", broker)
        elif down:
            self.start_broker(broker)
        elif broker == view.controller.leader or (self.plan.asks_controller and self.random.random() < 0.5):
            self.crash(broker)
            self.start_broker(broker)
        elif self.plan.asks_controller or self.random.random() < 0.3:
            for candidate in (broker, view.controller.leader):
                self.elect("elect", Election.PREFERRED, candidate)
        else:
            self.cluster.crash(broker)
            self.cluster.restart(broker)
            self.restarted(broker, "broker_bounces")

    def interfere_with_kraft(self, broker: int, is_down: bool) -> None:
        """Start a dead broker whose session has ended, or end a dead broker's session; or let a broker crash, and start
        the broker before the controller fences it; or hold a preferred election.
        """
        if is_down and self.cluster.may_register(broker):
            self.start_broker(broker)
        elif is_down:
            self.cluster.end_session(broker)
        elif self.random.random() < 0.5:
            self.crash(broker)
            self.cluster.end_session(broker)
            if self.cluster.may_register(broker):
                self.start_broker(broker)
        else:
            self.elect("elect", Election.PREFERRED, broker)

    def elect(self, name: str, *arguments: Any) -> None:
        """Ask the controller for an election, or to notice a dead broker; a refused request has no effect."""
        try:
            (self.cluster.elect if name == "elect" else self.cluster.notice_dead)(*arguments)
        except ClusterError:
            return
        self.watch(Act(self.cluster.now, name, tuple(getattr(argument, "value", argument) for argument in arguments)))

    def crash(self, broker: int) -> None:
        self.cluster.crash(broker)
        self.watch(Act(self.cluster.now, "crash", (broker,)))

    def start_broker(self, broker: int) -> None:
        self.cluster.restart(broker)
        self.restarted(broker)

    def restarted(self, broker: int, action: str = "broker_restarts") -> None:
        """Deliver the metadata to a broker that was started, and record the event."""
        checkpoint = self.before.view.brokers[broker].checkpointed_high_watermark
        process = self.cluster.observe().brokers[broker].process
        for message in self.cluster.messages():
            is_metadata = isinstance(message.payload, messages.LeaderAndIsr | messages.MetadataImage)
            if is_metadata and (message.destination, message.destination_process) == (broker, process):
                self.cluster.deliver(message.number)
        self.silent.pop(broker, None)
        self.keep_from_differing()
        former, self.before = self.before.view.controller, self.moment()
        self.note_that_it_was_noticed(broker, former)
        self.write(MappedEvent(action, broker=broker, checkpoint=checkpoint))

    def note_that_it_was_noticed(self, broker: int, former: ControllerView) -> None:
        """Record how the controller reacted if it noticed only by the broker's restart that the broker's earlier
        process had ended. `former` is the controller's state before the restart."""
        if not self.plan.asks_controller or self.plan.has_kraft:
            return
        controller = self.before.view.controller
        if controller.leader is not None and controller.leader != former.leader:
            self.write(MappedEvent("controller_fails_over", elected=controller.leader), is_observed=False)
        elif controller.leader_epoch != former.leader_epoch:
            self.write(MappedEvent("controller_removes_dead_follower", follower=broker), is_observed=False)
        elif broker in controller.isr and len(controller.isr) > 1:
            self.is_over = True  # its only live member has restarted unnoticed, which the model lacks

    def write(self, event: MappedEvent, *, is_observed: bool = True) -> None:
        """Write an event to the log, or end the run if the event exceeds the bounds. If an act is several events, only
        the last is written with variables (`is_observed`).
        """
        if self.is_over:
            return
        self.taken[event.action] = self.taken.get(event.action, 0) + 1
        exceeds = self.taken[event.action] > self.plan.budgets.get(event.action, self.taken[event.action])
        exceeds |= self.before.view.controller.leader_epoch > self.instance.configuration.elections
        if exceeds or self.writer.events >= self.plan.events:
            self.is_over = True
            return
        self.events += 1
        state = self.state(event.broker, event.arguments) if is_observed else {}
        self.writer.write(Event(self.name, self.events, event.broker, event.action, event.arguments, state))


Observation = dict[str, Any]

END_SHARE, MARK_SHARE, READ_SHARE = 1.0, 1.0, 0.05
"""The shares of changes of log ends and high watermarks that are observed, and of acts after which a client reads."""

FAULT_INTERVAL = 200_000
"""The mean interval between crashes, between elections, and between acts of `interfere`, in milliseconds."""

MOST_READ = 3
"""The records that a client reads at one time."""


class ObservedRun(RecordedRun):
    """One run of one cluster, of any length, as lines of observations; it begins with empty logs."""

    def __init__(self, plan: Plan, fault_interval: int = FAULT_INTERVAL) -> None:
        self.plan = plan
        self.fault_interval = fault_interval
        self.random = Random(f"observed {plan.seed}")
        has = plan.configuration
        start = Start(has.replicas, 0, frozenset(range(has.replicas)), (), ())
        self.cluster = Cluster(plan.protocol_switches(), start, plan.settings(), plan.bug, None)
        self.numbers, self.acknowledged, self.silent = {}, set(), {}
        self.observer = Observations(0, number_of=lambda payload: self.numbers.get(payload, NONE))
        self.is_over = False
        self.observations: list[Observation] = []
        self.reported: set[str] = set()
        chances = replace(plan.chances(), crash_interval=fault_interval, election_interval=fault_interval)
        self.scheduler = Scheduler(self.cluster, self.random.randrange(1 << 32), chances, self.watch)
        self.clients = Clients(plan, self.cluster, f"clients of {plan.seed}", self.watch)
        self.before = self.moment()

    def lines(self, count: int) -> Iterator[Observation]:
        """Perform the run, and yield its first `count` lines, of which one is a header."""
        has = self.plan.configuration
        yield {
            "kind": "header",
            "min.insync.replicas": has.min_insync_replicas,
            "unclean.leader.election.enable": False,
            "replicas": list(range(has.replicas)),
            **({"all_requests": True} if self.plan.asks_controller else {}),
        }
        self.see_controller(self.before.view)
        count_so_far = 0
        next_one = self.random.expovariate(1 / self.fault_interval)
        while count_so_far < count - 1:
            self.scheduler.step()
            if self.cluster.now >= next_one:
                self.interfere()
                next_one = self.cluster.now + self.random.expovariate(1 / self.fault_interval)
            for line in self.observations[: count - 1 - count_so_far]:
                yield {"n": count_so_far, **line}
                count_so_far += 1
            self.observations.clear()

    def moment(self) -> Moment:
        return Moment(self.cluster.observe(), {}, {})

    def write(self, event: MappedEvent, *, is_observed: bool = True) -> None:
        """Write nothing: the lines are observations, not events."""

    def watch(self, act: Act) -> None:
        """Add the lines about an act that the scheduler has performed."""
        if act.name == "restart":
            self.restarted(int(str(act.arguments[0])))
            return
        if act.name == "crash":
            self.observations.append({"kind": "fault", "what": "kill -9", "broker": int(str(act.arguments[0]))})
        if act.name == "elect":
            self.observations.append({"kind": "fault", "what": "elect preferred"})
        payload = self.number_a_record(act)
        if payload is not None and self.is_in_a_log(payload):  # a request without effect is not observed
            self.observations.append({"kind": "fault", "what": "send", "value": payload, "acks": self.plan.acks})
        self.keep_from_differing()
        self.see()

    def restarted(self, broker: int, action: str = "broker_restarts") -> None:
        """Add the lines about a broker that was started; a bounce is recorded as a kill and a start."""
        if action == "broker_bounces":
            self.observations.append({"kind": "fault", "what": "kill -9", "broker": broker})
        self.observations.append({"kind": "fault", "what": "start", "broker": broker})
        before = self.before
        super().restarted(broker, action)
        self.before = before
        self.see()

    def is_in_a_log(self, payload: str) -> bool:
        """Whether this record is among the last five records of some broker's log."""
        return any(record.payload == payload for broker in self.cluster.observe().brokers for record in broker.log[-5:])

    def see(self) -> None:
        """Add lines about acknowledgements, leader, ISR, log ends, high watermarks, and sometimes a client's read."""
        before, after = self.before.view, self.moment().view
        sent = [request for _, requests in after.sent for request in requests]
        # Only the last requests can be without an answer yet.
        for request in sent[-50:]:
            if request.is_acknowledged and request.payload not in self.reported:
                self.reported.add(request.payload)
                self.observations.append({"kind": "acked", "value": request.payload, "acks": self.plan.acks})
        self.see_controller(after, before)
        for old, new in zip(before.brokers, after.brokers, strict=True):
            self.see_broker(old, new)
        self.read(after)
        self.before = Moment(after, {}, {})

    def see_controller(self, after: ClusterView, before: ClusterView | None = None) -> None:
        """Add a metadata line if the leader or the ISR has changed (or no `before` is given). If a leader's request
        caused the change, first add a line about the request."""
        now = after.controller
        was = None if before is None else before.controller
        if was is None or (was.leader, was.leader_epoch, was.isr) != (now.leader, now.leader_epoch, now.isr):
            is_requested = was is not None and (was.leader, was.leader_epoch) == (now.leader, now.leader_epoch)
            if was is not None and is_requested and self.plan.asks_controller:
                epochs = {"leader_epoch": was.leader_epoch, "partition_epoch": was.partition_epoch}
                line = {"kind": "alter_partition", "leader": was.leader, "isr": sorted(now.isr), **epochs}
                self.observations.append(line)
            epoch = {"partition_epoch": now.partition_epoch} if self.plan.asks_controller else {}
            line = {"leader": now.leader, "leader_epoch": now.leader_epoch, "isr": sorted(now.isr), **epoch}
            self.observations.append({"kind": "metadata", **line})

    def see_broker(self, old: BrokerView, new: BrokerView) -> None:
        end = new.log_end_offset
        if end != old.log_end_offset and self.random.random() < END_SHARE:
            epoch = {"last_epoch": new.log[-1].leader_epoch} if new.log else {}
            self.observations.append({"kind": "log_end", "broker": new.number, "log_end_offset": end, **epoch})
        mark = new.high_watermark
        if mark is not None and mark != old.high_watermark and self.random.random() < MARK_SHARE:
            self.observations.append({"kind": "high_watermark", "broker": new.number, "high_watermark": mark})

    def read(self, view: ClusterView) -> None:
        """Sometimes add a line about a client that reads the last records below the leader's high watermark."""
        if view.controller.leader is None:
            return
        leader = view.brokers[view.controller.leader]
        if leader.leadership is None or not leader.high_watermark:
            return
        if self.random.random() < READ_SHARE:
            last = leader.log[max(0, leader.high_watermark - MOST_READ) : leader.high_watermark]
            records = [[record.offset, record.payload] for record in last]
            self.observations.append({"kind": "client_read", "records": records})


def record(
    plan: Plan | TransactionsPlan,
    stream: TextIO,
    name: str,
    directory: Path | None = None,
    report: Callable[[int], None] = lambda events: None,
) -> int:
    """Write runs to a stream, and return the number of lines. `name` names the stream in errors. With `directory`,
    brokers keep their logs in files there.

    `report` is called after every run with the number of events so far. Raises UsageError for unknown names in the
    plan, and for a full disk; the lines written before remain. A log whose last line is cut off is refused when it is
    read.
    """
    writer = Writer(plan.left_out, stream, name)
    try:
        while writer.events < plan.events:
            if isinstance(plan, TransactionsPlan):
                TransactionsRun(plan, writer).go()
            else:
                RecordedRun(plan, writer, directory).go()
            report(writer.events)
        writer.close()
    except (ClusterError, SwitchError) as error:
        raise UsageError(str(error)) from None
    except StorageError as error:
        raise UsageError(f"{name}:{writer.lines + 1}: the cluster halted: {error}") from None
    return writer.lines
