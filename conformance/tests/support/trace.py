"""Shared by the tests of traces: known counterexamples, and a small model file."""

from __future__ import annotations

import random
from collections.abc import Iterable
from pathlib import Path

from conformance.tests.support.golden import read_step
from isrcheck.models import registry, run
from isrcheck.models.language.model import Instance
from isrcheck.traces.format.certify import behaviour
from isrcheck.traces.format.trace import Trace

COMMAND = "check something --bound 8"

WEAK_ISR = (
    "controller_elects_leader 0",
    "controller_shrinks_isr 1",
    "become_leader 0",
    "leader_writes 0",
    "become_follower 0 1",
    "follower_replicates 0 1",
    "leader_raises_high_watermark 0",
    "become_follower 1 1",
)


def copy_to(follower: int, leader: int = 0) -> tuple[str, ...]:
    """The steps in which a follower gets what is new at its leader."""
    return f"leader_handles_fetch {leader} from {follower}", f"follower_applies_response {follower} from {leader}"


def replicate_to(follower: int, leader: int = 0) -> tuple[str, ...]:
    """The same, until the leader knows of it."""
    return *copy_to(follower, leader), f"leader_handles_fetch {leader} from {follower}"


def restart_of(broker: int) -> tuple[str, ...]:
    """The steps in which a broker crashes, and starts again from a checkpoint of the high watermark at 0."""
    return f"broker_crashes {broker}", f"broker_restarts {broker} checkpoint 0"


def election_of(broker: int, epoch: int) -> tuple[str, ...]:
    """The steps in which a controller with ZooKeeper elects a broker, and the broker hears of it."""
    return f"controller_fails_over to {broker}", f"broker_becomes_leader {broker} in epoch {epoch}"


def follow_on(broker: int, leader: int, epoch: int) -> tuple[str, ...]:
    """The steps in which a broker hears of a leader, and asks it where their logs part."""
    return f"broker_becomes_follower {broker} in epoch {epoch}", f"follower_reconciles {broker} with {leader}"


COMMITTED = ("producer_appends at 0", *replicate_to(1))
"""With the ISR 0 1 record a is then acknowledged; broker 1 holds it above its high watermark."""

CLASSIC = (*COMMITTED, "broker_bounces 1 checkpoint 0", "controller_fails_over to 1")

WHOLE = 2
"""With three replicas and min.insync.replicas=2, the initial state in which all are in the ISR."""

ROUND = ("leader_answers_parked_fetch 0 to 1", "follower_applies_response 1 from 0", "leader_handles_fetch 0 from 1")
"""Broker 1, whose fetch is parked, gets what is new, and broker 0 learns of it."""

IN_TRANSACTION = ("producer_appends_in_transaction at 0 in 0", *COMMITTED[1:])
"""Record a is then readable, and its transaction open."""

TRANSACTION = (*IN_TRANSACTION, "coordinator_commits 0", "leader_appends_marker of 0 at 0", *ROUND)

WITHOUT_MARKER = (
    *IN_TRANSACTION,
    *copy_to(2),
    *TRANSACTION[4:],
    "broker_crashes 0",
    "broker_restarts 0 checkpoint 1",
    "leader_handles_fetch 0 from 2",
)
"""Up to 2.0, as in STALE_RESTART: the commit marker is what the new member of the ISR lacks."""

SENT_AGAIN = (*COMMITTED[:3], *election_of(1, 1), "producer_retries a at 1")
"""Without idempotence, from WHOLE: broker 1 has record a when it is elected, and appends it again."""

FAST_FAIL_OVER = (
    "producer_appends at 0",
    "controller_elects_preferred 1",
    *election_of(0, 2),
    "producer_appends at 0",
    "broker_becomes_leader 1 in epoch 1",
    "producer_appends at 1",
    *follow_on(1, 0, 2),
    *copy_to(1),
)
"""KIP-279: the follower wrote in epoch 1, of which its leader knows nothing."""


def fast_fail_over(property_name: str | None) -> Trace:
    """The counterexample of KIP-279 in 0.11, from the ISR 0 1; it violates several properties."""
    values = {"replicas": 2, "records": 4, "log_size": 3, "preferred_elections": 1, "common_records": 1}
    return kafka(FAST_FAIL_OVER, property_name, None, "0.11", 1, min_insync_replicas=1, **values)


STALE_RESTART = (*COMMITTED, *restart_of(0), "leader_handles_fetch 0 from 2", "controller_fails_over to 2")
"""KAFKA-7128, up to 2.0: a leader with a stale high watermark lets a follower into the ISR that lacks record a."""

READ_TWICE = (
    *STALE_RESTART,
    "broker_becomes_leader 2 in epoch 1",
    "producer_appends at 2",
    "leader_shrinks_isr 2 by {1}",
)
"""Then broker 2 shows record b where record a was."""

MISSED_DEMOTION = (
    "producer_appends at 0",
    *replicate_to(2),
    "controller_elects_preferred 1",
    *election_of(0, 2),
    "broker_becomes_leader 1 in epoch 1",
    *follow_on(2, 1, 1),
)
"""The history of models/kafka/missed_demotion.md, up to the record that is missing."""


STALE_RECORD = (
    "producer_appends at 0",
    "leader_handles_fetch 0 from 1",
    "leader_shrinks_isr 0 by {2}",
    "follower_applies_response 1 from 0",
    "controller_handles_alter_partition of 0",
    "leader_hears_answer 0",
    "leader_handles_fetch 0 from 2",
    "leader_handles_fetch 0 from 1",
    "controller_handles_alter_partition of 0",
    "broker_applies_metadata 0 of partition epoch 1",
    "broker_crashes 0",
    "controller_fences_leader 0 and elects 2",
)
"""8.25, in 3.7 from WHOLE: metadata that the leader already has drops its pending change, which the controller made."""

INELIGIBLE = (
    STALE_RECORD[0],
    STALE_RECORD[2],
    *STALE_RECORD[4:7],
    "controller_fences_broker 2",
    "controller_handles_alter_partition of 0",
)
"""In 3.7 with a living broker fenced, from WHOLE: broker 2 is to join the ISR again, and is fenced by then."""

LAST_KNOWN_LEADER = (
    *COMMITTED,
    "broker_crashes 1",
    "broker_loses_power 0 keeping 0",
    "controller_fences_broker 1",
    "controller_fences_last_leader 0",
    "broker_restarts 0 checkpoint 0",
    "controller_unfences_broker 0",
    "broker_restarts 1 checkpoint 0",
)
"""In 4.1 with a power loss and four changes of the partition: both members of the ISR stopped uncleanly."""

LATE_FETCH = (
    "broker_crashes_while_it_fetches 2 from 0",
    "broker_restarts 2 checkpoint 0",
    "leader_handles_late_fetch of 2 at 0",
)
"""KAFKA-15221, in 3.5 with one late fetch."""


def weak_isr() -> Trace:
    """The shortest failure of weak_isr under truncation to the high watermark."""
    model, protocol = registry.load("published/truncate_to_high_watermark")
    return trace(model.instance(protocol, {"replicas": 2, "log_size": 1, "records": 1}), WEAK_ISR, "weak_isr")


def kafka(
    steps: Iterable[str],
    property_name: str | None,
    verdict: str | None = None,
    protocol: str = "0.10",
    start: int = 0,
    **values: int,
) -> Trace:
    """A trace of Kafka from the ISR 0 1, or from another initial state."""
    return trace(registry.load("kafka")[0].instance(protocol, values), steps, property_name, verdict, start)


def long_walk() -> Trace:
    """A random walk of 60 steps on 5 brokers without a repeated state."""
    bounds = {"replicas": 5, "records": 6, "log_size": 8, "elections": 6, "crashes": 3, "bounces": 3}
    instance = registry.load("kafka")[0].instance("2.1", {**bounds, "unclean_elections": 2})
    chance = random.Random(3)
    cells = instance.initial_states[0]
    steps, seen = [], {cells}
    while len(steps) < 60:
        step, cells = chance.choice([(s, after) for s, after in run.successors(instance, cells) if after not in seen])
        steps.append(step)
        seen.add(cells)
    return behaviour(instance, 0, steps, None, COMMAND)


def trace(
    instance: Instance, steps: Iterable[str], property_name: str | None, verdict: str | None = None, start: int = 0
) -> Trace:
    """The certified trace of steps from an initial state."""
    return behaviour(instance, start, [read_step(instance, step) for step in steps], property_name, COMMAND, verdict)


OWN_MODEL = '''\
"""Parcels on shelves: everything that the language has and that a trace has to spell."""

from enum import IntEnum

from isrcheck.language import (
    NONE,
    Domain,
    Flag,
    Subset,
    action,
    always,
    always_step,
    between,
    bound,
    field,
    optional,
    require,
    setting,
    sometimes,
    switch,
)


class Mood(IntEnum):
    CALM = 0
    BUSY = 1


class Configuration:
    shelves = bound(2, "shelves", least=1)
    parcels = bound(3, "parcels", least=1)
    mood = setting(Mood.CALM, "how it is", values=Mood)
    LOCKED = switch(False, "the door")


class Shelf(Domain, size="shelves"):
    pass


class Parcel(Domain, size="parcels", letters=True):
    pass


class Parcels(Subset, of=Parcel):
    pass


class State:
    top = field(Shelf, values=optional(Parcel), initially=NONE)
    lies = field(Parcel, Shelf, values=Flag)
    mood_of = field(Shelf, values=Mood)
    is_lost = field(Parcel, values=Flag)
    count = field(values=between(0, 9))
    last = field(values=optional(between(0, 9)), initially=NONE)


@action
def clerk_shelves(s, chosen: Parcels, shelf: Shelf):
    require(s.LOCKED == False)
    require(any(chosen[p] for p in range(s.parcels)))
    require(not any(s.lies[p][x] for p in range(s.parcels) if chosen[p] for x in range(s.shelves)))
    for p in range(s.parcels):
        if chosen[p]:
            s.lies[p][shelf] = True
            s.top[shelf] = p
            s.count += 1
    s.mood_of[shelf] = Mood.BUSY


@action
def clerk_loses(s, parcel: Parcel):
    require(any(s.lies[parcel][x] for x in range(s.shelves)))
    for x in range(s.shelves):
        s.lies[parcel][x] = False
        if s.top[x] == parcel:
            s.top[x] = NONE
    s.is_lost[parcel] = True
    s.last = s.count


def is_somewhere(s, parcel):
    for shelf in range(s.shelves):
        if s.lies[parcel][shelf]:
            return True
    return False


def shelved(s):
    number = 0
    for parcel in range(s.parcels):
        if is_somewhere(s, parcel):
            number += 1
    return number


@always
def nothing_is_lost(s):
    number = shelved(s)
    if number == 0:
        return s.count == 0
    return number == s.count


@always
def every_parcel_stays(s):
    return all(is_somewhere(s, parcel) for parcel in range(s.parcels) if parcel < s.count)


@always
def all_three(s):
    return s.count < 9 and (s.count != 2 or s.last != NONE) and (s.last == NONE if s.count < 3 else s.count > 5)


@always
def either(s):
    return s.count == 0 or not any(s.lies[p][x] for p in range(s.parcels) for x in range(s.shelves) if x == 1)


@always
def in_order(s):
    for shelf in range(s.shelves):
        for parcel in range(s.parcels):
            if s.lies[parcel][shelf] and is_below(s, shelf, parcel):
                return False
    return True


def is_below(s, where, other):
    return s.top[where] > other


@always
def nothing_is_busy(s):
    calm = s.shelves
    for shelf in range(s.shelves):
        if s.mood_of[shelf] == Mood.BUSY:
            calm -= 1
    if s.last == NONE:
        if calm == 1:
            return False
    return True


@always_step
def count_stays(before, after, taken):
    return taken != clerk_shelves or after.count == before.count


@sometimes(applies=lambda configuration: not configuration.LOCKED)
def full(s):
    return shelved(s) == s.parcels
'''


def own_model(folder: Path, **changes: str) -> Path:
    """A model file as a user would write it, with changes: names of CHANGES, each with what takes the text's place."""
    path, text = folder / "parcels.py", OWN_MODEL
    for name, new in changes.items():
        assert CHANGES[name] in text
        text = text.replace(CHANGES[name], new)
    path.write_text(text, encoding="utf-8")
    return path


CHANGES = {
    "busy": "    BUSY = 1\n",
    "count": "count = field(values=between(0, 9))",
    "all_three": "return s.count < 9 and",
    "loses": "@action\ndef clerk_loses",
    "nothing_is_lost": "@always\ndef nothing_is_lost(s):\n",
}
"""Texts of the model that tests change."""


def hostile_model(folder: Path, sign: str, **changes: str) -> Path:
    """The same, with a sign before the names of moods, which is written as in Python."""
    spelling = f"    @property\n    def spelling(self):\n        return '{sign}' + self.name\n"
    return own_model(folder, busy=f"{CHANGES['busy']}\n{spelling}", **changes)
