"""One write under a scheme of replication: when it is acknowledged, which brokers may lead, and what failures cost.

The state counts the brokers that are alike, because it makes no difference which of them acts. A broker holds the
record or lacks it; it is the leader, in the ISR, eligible to lead (KIP-966) or outside; and it may fail for good and
lose its disk. MAJORITY has no ISR: all followers always count as its members. The controller, which keeps the ISR, does
not fail and notices failures at once; a slower controller would only cause delays.

Sources: Raft (Ongaro's thesis, 3.6); Kafka's documentation, "Replicated Logs: Quorums, ISRs, and State Machines";
KIP-966. Left out: unclean elections, and Raft's rule about entries of earlier epochs (see the model `quorum`): here, a
leader that already holds the record when it is elected may acknowledge it.
"""

import sys
from enum import IntEnum

from isrcheck.models.language import (
    Domain,
    Flag,
    action,
    always,
    always_possible,
    between,
    budget,
    contradiction,
    field,
    initial,
    require,
    setting,
    sometimes,
    switch,
    terminal,
)
from isrcheck.models.language.model import assemble

MOST_REPLICAS = 7


class Scheme(IntEnum):
    """SCHEME: which replicas have to hold a write before it is acknowledged, and which may lead afterwards.

    MAJORITY: more than half of the replicas hold the write; to lead, a replica needs the votes of more than half, and
    nobody votes for an older log than its own. ISR: all in-sync replicas (at least min.insync.replicas) hold the write;
    one of them may lead. ISR_WITH_ELR: as ISR; a replica whose removal leaves too small an ISR may lead, too (KIP-966).
    """

    MAJORITY = 0
    ISR = 1
    ISR_WITH_ELR = 2


class Leader(IntEnum):
    """Whether there is a leader, and whether it holds the record."""

    NOBODY = 0
    LACKS = 1
    HOLDS = 2


class Configuration:
    replicas = setting(3, "replicas", least=1, most=MOST_REPLICAS, option="--replicas")
    min_isr = setting(2, "min.insync.replicas", least=1, most=MOST_REPLICAS, option="--min-isr")
    failures = budget(1, "brokers that fail for good", most=MOST_REPLICAS, option="--failures")
    answers = setting(0, "asks: can a write be acknowledged when so many hold it? (0: no)", most=MOST_REPLICAS)
    SCHEME = switch(Scheme.MAJORITY, "who has to hold a write, and who may lead")
    FOLLOWERS_LAG = switch(False, "followers may be slow: they leave the ISR, and come back")


class HasRecord(Domain, size=2):
    """Whether a broker has the record. 0: it lacks the record; 1: it holds the record."""


class State:
    leader = field(values=Leader, initially=Leader.LACKS)
    in_sync = field(HasRecord, values=between(0, MOST_REPLICAS))  # running followers in the ISR
    eligible = field(HasRecord, values=between(0, MOST_REPLICAS))  # running followers that may lead, though not in it
    outside = field(HasRecord, values=between(0, MOST_REPLICAS))  # all other running followers
    failed = field(values=between(0, MOST_REPLICAS))
    acknowledged = field(values=Flag)
    held_by = field(
        values=between(0, MOST_REPLICAS)
    )  # how many held the record when it was acknowledged, if that is asked


@initial
def everyone_is_in_sync(configuration):
    """In the initial state, there are a leader and its followers, all in sync, and nothing is written."""
    yield {"in_sync": [configuration.replicas - 1, 0]}


@terminal
def it_may_end(s):
    """A behaviour may end in every state: there is one write, and failed brokers stay failed."""
    return True


@contradiction
def isr_smaller_than_its_minimum(configuration):
    """--min-isr is above --replicas, so no write is acknowledged; lower --min-isr, or raise --replicas."""
    return configuration.SCHEME != Scheme.MAJORITY and configuration.min_isr > configuration.replicas


def is_running(s):
    return s.leader != Leader.NOBODY


def isr_size(s):
    """The number of running members of the ISR, including the leader."""
    return (1 if is_running(s) else 0) + s.in_sync[0] + s.in_sync[1]


def copies(s):
    """The number of running brokers that hold the record."""
    return (1 if s.leader == Leader.HOLDS else 0) + s.in_sync[1] + s.eligible[1] + s.outside[1]


def is_majority(s, count):
    return 2 * count > s.replicas


# -------------------------------------------------------------------------------------------------------------- writing


@action
def leader_appends(s):
    """The leader, which lacks the record, appends it. Copies of an earlier attempt, under an earlier leader, are
    different entries: a follower with such a copy now counts as lacking the record."""
    require(s.leader == Leader.LACKS)
    require(not s.acknowledged)
    s.leader = Leader.HOLDS
    s.in_sync[0] += s.in_sync[1]
    s.in_sync[1] = 0
    s.eligible[0] += s.eligible[1]
    s.eligible[1] = 0
    s.outside[0] += s.outside[1]
    s.outside[1] = 0


@action
def in_sync_follower_receives_record(s):
    require(s.leader == Leader.HOLDS)
    require(s.in_sync[0] > 0)
    s.in_sync[0] -= 1
    s.in_sync[1] += 1


@action
def eligible_follower_receives_record(s):
    require(s.leader == Leader.HOLDS)
    require(s.eligible[0] > 0)
    s.eligible[0] -= 1
    s.eligible[1] += 1


@action
def other_follower_receives_record(s):
    require(s.leader == Leader.HOLDS)
    require(s.outside[0] > 0)
    s.outside[0] -= 1
    s.outside[1] += 1


def may_acknowledge(s):
    if s.SCHEME == Scheme.MAJORITY:
        return is_majority(s, copies(s))
    return s.in_sync[0] == 0 and isr_size(s) >= s.min_isr


@action
def leader_acknowledges(s):
    require(s.leader == Leader.HOLDS)
    require(not s.acknowledged)
    require(may_acknowledge(s))
    s.acknowledged = True
    s.held_by = copies(s) if s.answers > 0 else 0


# -------------------------------------------------------------------------------------------------------------- the ISR


@action
def slow_follower_leaves_isr(s, holds: HasRecord):
    """A follower leaves the ISR. If the ISR becomes smaller than its minimum, the follower stays eligible (KIP-966),
    since it holds all acknowledged records."""
    require(s.FOLLOWERS_LAG and s.SCHEME != Scheme.MAJORITY)
    require(is_running(s))
    require(s.in_sync[holds] > 0)
    s.in_sync[holds] -= 1
    if s.SCHEME == Scheme.ISR_WITH_ELR and isr_size(s) < s.min_isr:
        s.eligible[holds] += 1
    else:
        s.outside[holds] += 1


def is_caught_up(s, holds):
    """A follower has all entries of the leader's log. A record that only the follower has is dropped as it joins."""
    return s.leader == Leader.LACKS or (s.leader == Leader.HOLDS and holds == 1)


def join_isr(s):
    """A follower that has caught up joins the ISR. If the ISR then has at least its minimum size, no other broker stays
    eligible, because all members of the ISR hold every acknowledged record."""
    s.in_sync[1 if s.leader == Leader.HOLDS else 0] += 1
    if isr_size(s) >= s.min_isr:
        for holds in HasRecord:
            s.outside[holds] += s.eligible[holds]
            s.eligible[holds] = 0


@action
def other_follower_joins_isr(s, holds: HasRecord):
    require(s.SCHEME != Scheme.MAJORITY)
    require(is_caught_up(s, holds))
    require(s.outside[holds] > 0)
    s.outside[holds] -= 1
    join_isr(s)


@action
def eligible_follower_joins_isr(s, holds: HasRecord):
    require(is_caught_up(s, holds))
    require(s.eligible[holds] > 0)
    s.eligible[holds] -= 1
    join_isr(s)


# ------------------------------------------------------------------------------------------------------------- failures


@action
def leader_fails(s):
    require(s.failed < s.failures)
    require(is_running(s))
    s.leader = Leader.NOBODY
    s.failed += 1


@action
def in_sync_follower_fails(s, holds: HasRecord):
    """A follower in the ISR fails, and the controller removes it from the ISR."""
    require(s.failed < s.failures)
    require(s.in_sync[holds] > 0)
    s.in_sync[holds] -= 1
    s.failed += 1


@action
def eligible_follower_fails(s, holds: HasRecord):
    require(s.failed < s.failures)
    require(s.eligible[holds] > 0)
    s.eligible[holds] -= 1
    s.failed += 1


@action
def other_follower_fails(s, holds: HasRecord):
    require(s.failed < s.failures)
    require(s.outside[holds] > 0)
    s.outside[holds] -= 1
    s.failed += 1


# ------------------------------------------------------------------------------------------------------------ elections


def lead(s, holds):
    s.leader = Leader.HOLDS if holds == 1 else Leader.LACKS


@action
def majority_elects(s, holds: HasRecord):
    """A majority elects a broker. A voter that holds the record votes only for a broker that holds the record, too."""
    require(s.SCHEME == Scheme.MAJORITY)
    require(not is_running(s))
    require(s.in_sync[holds] > 0)
    require(is_majority(s, s.in_sync[0] + (s.in_sync[1] if holds == 1 else 0)))
    s.in_sync[holds] -= 1
    lead(s, holds)


@action
def controller_elects_from_isr(s, holds: HasRecord):
    require(s.SCHEME != Scheme.MAJORITY)
    require(not is_running(s))
    require(s.in_sync[holds] > 0)
    s.in_sync[holds] -= 1
    lead(s, holds)


@action
def controller_elects_eligible(s, holds: HasRecord):
    """The controller elects an eligible broker; it does so only if no member of the ISR runs."""
    require(not is_running(s))
    require(s.in_sync[0] + s.in_sync[1] == 0)
    require(s.eligible[holds] > 0)
    s.eligible[holds] -= 1
    lead(s, holds)


# ----------------------------------------------------------------------------------------------------------- properties


@always_possible
def write_can_be_acknowledged(s):
    """After any failures within the budget, the write has been acknowledged, or still can be."""
    return s.acknowledged


@always
def acked_not_lost(s):
    """If the record is acknowledged, some running broker holds it, and so does the leader, if there is one."""
    return not s.acknowledged or (s.leader != Leader.LACKS and copies(s) > 0)


@always_possible
def acked_can_be_read(s):
    """From every state with the record acknowledged, a state can be reached in which the leader holds the record."""
    return not s.acknowledged or s.leader == Leader.HOLDS


@sometimes(applies=lambda configuration: configuration.answers > 0)
def acknowledged_when_so_many_hold_it(s):
    """A write is acknowledged when exactly `answers` brokers hold it."""
    return s.acknowledged and s.held_by == s.answers


MODEL = assemble(
    "quorum_schemes",
    sys.modules[__name__],
    {
        "majority": (None, {"SCHEME": Scheme.MAJORITY}),
        "isr": (None, {"SCHEME": Scheme.ISR}),
        "isr_with_elr": (None, {"SCHEME": Scheme.ISR_WITH_ELR}),
    },
)
