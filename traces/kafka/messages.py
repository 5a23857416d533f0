"""What passes between controller, brokers and clients in one step of Kafka's replication, and what befalls them.

In:  a step of Kafka's model, and the states before and after it.
Out: arrows and marks between lanes, in the order in which they happen.

What an action sends is said here by its name; what it brings about (acknowledgements, reads, truncations, a changed
ISR) is seen by comparing the two states, so that it is told of actions that this file does not know as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from isrcheck.models.kafka.state.fields import Acks, Fetch, TransactionState
from isrcheck.models.language.declare import NONE
from isrcheck.models.language.model import Instance, Step, spell_element
from isrcheck.models.run import State
from isrcheck.traces.format.spelling import name_transaction, spell_entry
from isrcheck.traces.kafka.lanes import epoch_answer
from isrcheck.traces.kafka.model import end_offset_for, is_answered, is_exposed, is_exposed_as_committed, latest_epoch
from isrcheck.traces.lanes.scene import ELECTION, FAULT, LOST, NOTE, RESPONSE, Arrow, Mark

Events = Iterator[Arrow | Mark]


@dataclass(frozen=True)
class Places:
    """Which lane is whose: the controller's is the first, then those of brokers, producers and readers."""

    replicas: int
    transactions: int

    controller: int = 0

    def broker(self, r: int) -> int:
        """The lane of a broker."""
        return 1 + r

    @property
    def producer(self) -> int:
        """The lane of the producer outside transactions."""
        return 1 + self.replicas

    def transaction(self, transaction: int) -> int:
        """The lane of a transaction: of its own producer, and of the coordinator that ends it."""
        return self.producer + 1 + transaction

    def sender(self, s: State, record: int) -> int:
        """The lane of the producer that sent a record."""
        transaction = s.transaction_of[record]
        return self.producer if transaction == NONE else self.transaction(transaction)

    @property
    def readers(self) -> int:
        """The lane of readers of everything that is committed."""
        return self.producer + 1 + self.transactions

    @property
    def transaction_readers(self) -> int:
        """The lane of readers at isolation level read_committed, where there are transactions."""
        return self.readers + 1


class UnknownArgumentError(AttributeError):
    """An action of a known name has other arguments than the one that this file speaks of."""


@dataclass(frozen=True)
class Happening:
    """One step: its arguments by name, and the states around it."""

    places: Places
    before: State
    after: State
    arguments: Mapping[str, Any]

    def __getattr__(self, name: str) -> Any:
        """An argument of the step."""
        if name not in self.arguments:
            raise UnknownArgumentError(name)
        return self.arguments[name]

    def to_broker(self, source: int, r: int, text: str, kind: str = "request") -> Arrow:
        """A message to a broker."""
        return Arrow(source, self.places.broker(r), text, kind)

    def between(self, source: int, target: int, text: str, kind: str = "request") -> Arrow:
        """A message from broker to broker."""
        return Arrow(self.places.broker(source), self.places.broker(target), text, kind)

    def befalls(self, r: int, text: str, kind: str = NOTE) -> Mark:
        """Something that befalls a broker."""
        return Mark(self.places.broker(r), text, kind)


# ------------------------------------------------------------------------------------------------------ what is sent


def _produce(happening: Happening) -> Events:
    record = spell_element(happening.before.next_record)
    sender = happening.places.producer
    if "transaction" in happening.arguments:
        sender = happening.places.transaction(happening.transaction)
    yield happening.to_broker(sender, happening.leader, f"produce {record}")


def _refused(happening: Happening) -> Events:
    yield from _produce(happening)
    target = happening.places.producer
    yield Arrow(happening.places.broker(happening.leader), target, "NOT_ENOUGH_REPLICAS")


def _send_lost(happening: Happening) -> Events:
    record = spell_element(happening.before.next_record)
    yield Mark(happening.places.producer, f"{record} sent, never arrives", FAULT)


def _answer_lost(happening: Happening) -> Events:
    yield from _produce(happening)
    yield Arrow(happening.places.broker(happening.leader), happening.places.producer, "ack", LOST)


def _retry(happening: Happening) -> Events:
    text = f"produce {spell_element(happening.record)} again"
    yield happening.to_broker(happening.places.producer, happening.leader, text)


def _decide(happening: Happening) -> Events:
    word = TransactionState(happening.after.transaction_state[happening.transaction]).name.lower()
    yield Mark(happening.places.transaction(happening.transaction), word, ELECTION)


def _marker(happening: Happening) -> Events:
    word = TransactionState(happening.after.transaction_state[happening.transaction]).name.lower()
    name = name_transaction(happening.after, happening.transaction)
    yield happening.to_broker(
        happening.places.transaction(happening.transaction), happening.leader, f"marker: {name} {word}"
    )


def _fetch(happening: Happening) -> Events:
    leader, follower = happening.leader, happening.follower
    yield happening.between(follower, leader, f"fetch from {happening.before.log_end_offset[follower]}")
    if happening.after.fetch[follower][leader] == Fetch.PARKED:
        yield happening.befalls(leader, "fetch parked")
    else:
        yield _response(happening, leader, follower)


def _answer_parked(happening: Happening) -> Events:
    leader, follower = happening.leader, happening.follower
    if happening.after.fetch[follower][leader] == Fetch.ANSWERED:
        yield _response(happening, leader, follower)
    else:
        yield happening.between(leader, follower, "OFFSET_OUT_OF_RANGE")


def _response(happening: Happening, leader: int, follower: int) -> Arrow:
    return happening.between(leader, follower, _content(happening.after, follower, leader), RESPONSE)


def _content(s: State, follower: int, leader: int) -> str:
    """What a response holds: its entries, and the high watermark."""
    entries = [
        spell_entry(s, s.response_record[follower][leader][o], s.response_epoch[follower][leader][o])
        for o in range(s.log_size)
        if s.response_record[follower][leader][o] != NONE
    ]
    return f"{' '.join(entries) or 'nothing new'}, HW {s.response_high_watermark[follower][leader]}"


def _apply(happening: Happening) -> Events:
    follower, leader = happening.follower, happening.leader
    yield happening.between(leader, follower, _content(happening.before, follower, leader))


def _response_lost(happening: Happening) -> Events:
    yield happening.between(happening.leader, happening.follower, "response", LOST)


def _reconcile(happening: Happening) -> Events:
    s, follower, leader = happening.before, happening.follower, happening.leader
    epoch = latest_epoch(s, follower)
    if epoch == NONE and not is_answered(s, leader, epoch):
        yield happening.befalls(follower, "knows no epoch")
        return
    asked = "my log has no epoch" if epoch == NONE else f"where does e{epoch} end?"
    yield happening.between(follower, leader, asked)
    answer = epoch_answer(s, follower) or f"no epoch until {end_offset_for(s, leader, epoch)}"
    yield happening.between(leader, follower, answer)


def _out_of_range(happening: Happening) -> Events:
    end = happening.before.log_end_offset[happening.follower]
    yield happening.between(happening.follower, happening.leader, f"fetch from {end}")
    yield happening.between(happening.leader, happening.follower, "OFFSET_OUT_OF_RANGE")
    if not happening.after.is_up[happening.follower]:
        yield happening.befalls(happening.follower, "halts", FAULT)


def _starts_over(happening: Happening) -> Events:
    yield from _out_of_range(happening)
    start = happening.after.log_start_offset[happening.follower]
    yield happening.befalls(happening.follower, f"starts its log over at {start}", FAULT)


def _hears(happening: Happening) -> Events:
    s, epoch = happening.before, happening.epoch
    members = "".join(str(r) for r in range(s.replicas) if s.metadata_isr[epoch][r])
    text = f"epoch {epoch}: leader {s.metadata_leader[epoch]}, ISR {members}"
    yield happening.to_broker(happening.places.controller, happening.broker, text)


def _elects(word: str, kind: str) -> Callable[[Happening], Events]:
    def elect(happening: Happening) -> Events:
        yield Mark(happening.places.controller, f"{word} {happening.elected}", kind)

    return elect


def _removes(happening: Happening) -> Events:
    yield Mark(happening.places.controller, f"gives up on {happening.follower}", ELECTION)


def _befalls(word: str) -> Callable[[Happening], Events]:
    def befall(happening: Happening) -> Events:
        yield happening.befalls(happening.broker, word, FAULT)

    return befall


def _deletes(happening: Happening) -> Events:
    yield happening.to_broker(happening.places.producer, happening.leader, f"delete records before {happening.offset}")


SENT: Mapping[str, Callable[[Happening], Events]] = {
    "producer_appends": _produce,
    "producer_is_refused": _refused,
    "send_is_lost": _send_lost,
    "answer_is_lost": _answer_lost,
    "producer_retries": _retry,
    "producer_appends_in_transaction": _produce,
    "coordinator_commits": _decide,
    "coordinator_aborts": _decide,
    "leader_appends_marker": _marker,
    "leader_handles_fetch": _fetch,
    "leader_answers_parked_fetch": _answer_parked,
    "leader_deletes_records": _deletes,
    "follower_reconciles": _reconcile,
    "follower_applies_response": _apply,
    "response_is_lost": _response_lost,
    "follower_is_out_of_range": _out_of_range,
    "follower_starts_over": _starts_over,
    "controller_fails_over": _elects("elects", ELECTION),
    "controller_elects_preferred": _elects("prefers", ELECTION),
    "controller_elects_unclean": _elects("unclean: elects", FAULT),
    "controller_removes_dead_follower": _removes,
    "broker_becomes_leader": _hears,
    "broker_becomes_follower": _hears,
    "broker_bounces": _befalls("bounces"),
    "broker_crashes": _befalls("crashes"),
    "broker_loses_power": _befalls("loses power"),
    "broker_loses_disk": _befalls("loses its disk"),
    "broker_restarts": lambda happening: iter([happening.befalls(happening.broker, "restarts", ELECTION)]),
}
"""What each action sends. `leader_shrinks_isr` sends nothing but its write of the ISR, which is seen in the states."""


# ----------------------------------------------------------------------------------------------- what it brings about


def _isr_written(happening: Happening) -> Events:
    """A leader's write of the ISR."""
    before, after = happening.before, happening.after
    if "leader" not in happening.arguments or before.controller_epoch != after.controller_epoch:
        return
    members = [r for r in range(after.replicas) if after.controller_isr[r]]
    if members != [r for r in range(before.replicas) if before.controller_isr[r]]:
        leader = happening.places.broker(happening.leader)
        yield Arrow(leader, happening.places.controller, f"ISR {''.join(map(str, members))}")


def _truncated(happening: Happening) -> Events:
    """Logs that became shorter."""
    for r in range(happening.after.replicas):
        old, new = happening.before.log_end_offset[r], happening.after.log_end_offset[r]
        if new < old:
            yield happening.befalls(r, f"truncates {old} to {new}", FAULT)


def _teller(happening: Happening) -> int | None:
    """The broker that the clients hear from: the one that the step is about, if there is one."""
    brokers = [happening.arguments[name] for name in ("leader", "broker") if name in happening.arguments]
    return happening.places.broker(brokers[0]) if brokers else None


def _refused_after_append(happening: Happening) -> Events:
    """Requests that a leader answers although too few hold the record; one that stops to lead may say nothing."""
    before, after = happening.before, happening.after
    for record in range(after.records):
        leader = before.pending[record]
        is_answered = leader != after.pending[record] == NONE and after.leader[leader] == leader
        if is_answered and not after.acknowledged[record]:
            target = happening.places.sender(after, record)
            text = f"{spell_element(record)}: NOT_ENOUGH_REPLICAS_AFTER_APPEND"
            yield Arrow(happening.places.broker(leader), target, text)


def _acknowledged(happening: Happening) -> Events:
    before, after, teller = happening.before, happening.after, _teller(happening)
    if after.acks == Acks.ZERO:
        return  # nobody answers: a record counts as written when it is sent
    for record in range(after.records):
        if after.acknowledged[record] and not before.acknowledged[record] and teller is not None:
            target = happening.places.sender(after, record)
            yield Arrow(teller, target, f"ack {spell_element(record)}")


def _read(happening: Happening) -> Events:
    """What readers see for the first time at an offset."""
    before, after, teller = happening.before, happening.after, _teller(happening)
    fields = [("exposed_record", happening.places.readers)]
    if after.transactions:
        fields.append(("read_committed_record", happening.places.transaction_readers))
    for name, lane in fields:
        for offset in range(after.log_size):
            entry = getattr(after, name)[offset]
            is_new = entry != getattr(before, name)[offset] and entry < after.records
            if is_new and teller is not None:
                yield Arrow(teller, lane, f"{spell_element(entry)} at {offset}")


def _read_otherwise(happening: Happening) -> Events:
    """A leader that shows something else from now on than what was read there first."""
    s = happening.after
    shown = [("exposed_record", is_exposed, happening.places.readers)]
    if s.transactions:
        shown.append(("read_committed_record", is_exposed_as_committed, happening.places.transaction_readers))
    for first_read, is_shown, readers in shown:
        for leader in range(s.replicas):
            for offset in range(s.log_size):
                entry = _contradiction(s, leader, offset, first_read, is_shown)
                if entry not in (NONE, _contradiction(happening.before, leader, offset, first_read, is_shown)):
                    spelled = spell_entry(s, entry, s.log_epoch[leader][offset])
                    yield Arrow(happening.places.broker(leader), readers, f"{spelled} at {offset}!")


def _contradiction(
    s: State, leader: int, offset: int, first_read: str, is_shown: Callable[[State, int, int], bool]
) -> int:
    """What a broker that takes itself for the leader shows where something else was read first, or NONE."""
    if s.leader[leader] != leader or not is_shown(s, leader, offset):
        return NONE
    entry: int = s.log_record[leader][offset]
    return NONE if getattr(s, first_read)[offset] in (NONE, entry) else entry


BROUGHT_ABOUT = (_truncated, _isr_written, _refused_after_append, _acknowledged, _read, _read_otherwise)


def events(instance: Instance, places: Places, before: State, step: Step, after: State) -> Events:
    """Everything that passes and befalls in a step."""
    ranges = instance.argument_ranges[step.action_index]
    arguments = {c.parameter.name: c.argument(o) for c, o in zip(ranges, step.ordinals, strict=True)}
    happening = Happening(places, before, after, arguments)
    sent = SENT.get(step.action)
    if sent is not None:
        with suppress(UnknownArgumentError):
            yield from sent(happening)
    for brought_about in BROUGHT_ABOUT:
        yield from brought_about(happening)
