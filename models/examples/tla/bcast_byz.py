"""One round of asynchronous reliable broadcast with Byzantine faults, by Srikanth and Toueg (1987).

After specifications/bcastByz/bcastByz.tla by Igor Konnov, Thanh Hai Tran and Josef Widder (2026-01-15;
github.com/tlaplus/Examples, MIT license). Model files: bcastByz.cfg, with N = 4, T = 1 and F = 1, and
bcastByzNoBcast.cfg, with N = 10, T = 3 and F = 2, where no correct process has received the message (`NOBODY_HEARD`).

The same: every state and step, also the step that changes nothing. Different: Corr and Faulty are one field. Left out:
the properties CorrLtl and RelayLtl. They assume fairness of only those steps in which no message of a faulty process is
received; no action here consists of just these steps.
"""

from collections.abc import Iterator
from enum import IntEnum
from itertools import combinations, product
from typing import Any

from isrcheck.models.language import (
    Domain,
    Flag,
    Subset,
    action,
    always,
    bound,
    budget,
    contradiction,
    field,
    initial,
    require,
    sometimes,
    switch,
)


class Configuration:
    processes = bound(4, "processes, correct and faulty ones (N)", least=1, option="--processes")
    tolerated = bound(1, "faulty processes that the algorithm tolerates (T)", least=0, option="--tolerated")
    faulty = budget(1, "faulty processes (F)", option="--faulty")
    NOBODY_HEARD = switch(False, "no correct process has received the broadcast message at the start")


class Process(Domain, size="processes"):
    pass


class Senders(Subset, of=Process):
    """The processes whose messages are received in a step."""


class Label(IntEnum):
    V0 = 0  # has not received the broadcast message
    V1 = 1  # has received it
    SENT = 2  # has sent ECHO
    ACCEPTED = 3


class State:
    label = field(Process, values=Label)
    has_received = field(Process, Process, values=Flag)  # has_received[process][sender]: an ECHO
    has_sent = field(Process, values=Flag)  # a correct process has sent ECHO
    is_faulty = field(Process, values=Flag)


@initial
def some_are_faulty(configuration: Any) -> Iterator[dict[str, Any]]:
    everyone = range(configuration.processes)
    heard = (Label.V0,) if configuration.NOBODY_HEARD else (Label.V0, Label.V1)
    for labels in product(heard, repeat=len(everyone)):
        for faulty in combinations(everyone, configuration.faulty):
            yield {"label": list(labels), "is_faulty": [process in faulty for process in everyone]}


@contradiction
def too_many_faults(configuration: Any) -> bool:
    """processes must be greater than 3 x tolerated, and faulty must be at most tolerated"""
    return configuration.processes <= 3 * configuration.tolerated or configuration.faulty > configuration.tolerated


def may_be_received(s, sender):
    """The sender has sent ECHO, or is faulty: faulty processes send whatever they like."""
    return s.has_sent[sender] or s.is_faulty[sender]


def enough_to_send(s, senders):
    """The number `senders` of received ECHO messages is at least N - 2T, but less than N - T."""
    return senders + s.tolerated + s.tolerated >= s.processes and senders + s.tolerated < s.processes


def enough_to_accept(s, senders):
    """The number `senders` of received ECHO messages is at least N - T."""
    return senders + s.tolerated >= s.processes


@action(shows="{process}, receives from {senders}")
def upon_v1(s, process: Process, senders: Senders):
    """A process that has received the broadcast message sends ECHO."""
    require(not s.is_faulty[process])
    require(all(may_be_received(s, p) for p in range(s.processes) if senders[p]))
    require(s.label[process] == Label.V1)
    for p in range(s.processes):
        if senders[p]:
            s.has_received[process][p] = True
    s.label[process] = Label.SENT
    s.has_sent[process] = True


@action(shows="{process}, receives from {senders}")
def upon_non_faulty(s, process: Process, senders: Senders):
    """A process that has received ECHO from more processes than can be faulty sends ECHO."""
    require(not s.is_faulty[process])
    require(all(may_be_received(s, p) for p in range(s.processes) if senders[p]))
    require(s.label[process] == Label.V0 or s.label[process] == Label.V1)
    require(enough_to_send(s, sum(1 for p in range(s.processes) if s.has_received[process][p] or senders[p])))
    for p in range(s.processes):
        if senders[p]:
            s.has_received[process][p] = True
    s.label[process] = Label.SENT
    s.has_sent[process] = True


@action(shows="{process}, receives from {senders}")
def upon_accept_not_sent_before(s, process: Process, senders: Senders):
    require(not s.is_faulty[process])
    require(all(may_be_received(s, p) for p in range(s.processes) if senders[p]))
    require(s.label[process] == Label.V0 or s.label[process] == Label.V1)
    require(enough_to_accept(s, sum(1 for p in range(s.processes) if s.has_received[process][p] or senders[p])))
    for p in range(s.processes):
        if senders[p]:
            s.has_received[process][p] = True
    s.label[process] = Label.ACCEPTED
    s.has_sent[process] = True


@action(shows="{process}, receives from {senders}")
def upon_accept_sent_before(s, process: Process, senders: Senders):
    require(not s.is_faulty[process])
    require(all(may_be_received(s, p) for p in range(s.processes) if senders[p]))
    require(s.label[process] == Label.SENT)
    require(enough_to_accept(s, sum(1 for p in range(s.processes) if s.has_received[process][p] or senders[p])))
    for p in range(s.processes):
        if senders[p]:
            s.has_received[process][p] = True
    s.label[process] = Label.ACCEPTED


@action
def change_nothing(s):
    """UNCHANGED vars: the specification has this step, so that no state is a deadlock."""


@always
def echoes_are_sent(s):
    """TypeOK: the sender of every ECHO that a process has received has sent ECHO or is faulty."""
    return all(
        may_be_received(s, sender)
        for process in range(s.processes)
        for sender in range(s.processes)
        if s.has_received[process][sender]
    )


@always(applies=lambda configuration: configuration.NOBODY_HEARD)
def unforgeable(s):
    """Unforg: no correct process accepts a message that no correct process has received."""
    return not any(s.label[p] == Label.ACCEPTED and not s.is_faulty[p] for p in range(s.processes))


@sometimes(applies=lambda configuration: not configuration.NOBODY_HEARD)
def all_accept(s):
    return all(s.label[p] == Label.ACCEPTED for p in range(s.processes) if not s.is_faulty[p])
