"""The shortest histories of the known failures on the executable systems, and what clients and logs show at their ends.

The histories are those of the library's files; `check failures` finds them (checker/failures). What they show is read
from the cluster alone: the results of producers, what its logs hold, what a consumer reads at the new leader.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection
from functools import partial
from itertools import combinations

import pytest

from conformance.tests.support.golden import steps_of
from isrcheck.conformance.cluster.cluster import Cluster
from isrcheck.conformance.cluster.network.messages import Acks
from isrcheck.conformance.cluster.observe import BrokerView, ClusterView
from isrcheck.conformance.implemented import BUGS
from isrcheck.conformance.replay.compare import replay
from isrcheck.conformance.replay.driver import Driver
from isrcheck.conformance.replay.on_cluster import OnCluster
from isrcheck.conformance.replay.projection import payload_of
from isrcheck.conformance.replay.steps import cells_of
from isrcheck.conformance.replay.walks import with_step
from isrcheck.models.kafka.failures.catalogue import failures
from isrcheck.models.run import State
from isrcheck.traces.format.trace import Trace

IN_TWO_STEPS = ("fetch_counts_in_the_next_epoch", "checked_answer_truncates_later")
"""Histories with something between two steps that are one event of the cluster; their golden traces are refused."""

LEFT_OUT = ("isr_change_pending_for_ever", "high_watermark_after_a_shrink", *IN_TWO_STEPS)
"""A small model has no system; and the cluster looks at the high watermark after each shrink (KAFKA-13091)."""

HISTORIES = {
    one.name: one.history
    for one in failures()
    if one.history is not None and one.name not in LEFT_OUT and one.history.model.removesuffix("_liveness") in BUGS
}
HEARS = ("broker_becomes_leader", "broker_applies_metadata")
"""The steps in which an elected leader hears of its election."""


@pytest.mark.sampled
@pytest.mark.parametrize("name", HISTORIES)
def test_a_history_replays(name):
    divergence = replay(steps_of(HISTORIES[name]), OnCluster())
    assert divergence is None


# --------------------------------------------------------------------------------------------- what the cluster shows


def payloads(broker: BrokerView) -> list[str]:
    return [one.payload for one in broker.log if one.control is None]


def promised(view: ClusterView) -> dict[str, int]:
    """The records that producers may rely on, with their offsets, -1 if a producer got none."""
    return {
        one.payload: one.offset for _, sent in view.sent for one in sent if one.is_acknowledged or one.acks is Acks.NONE
    }


def common(trace: Trace) -> dict[str, int]:
    """The records that were acknowledged before the first step, with their offsets."""
    return {payload_of(record): record for record in range(cells_of(trace.instance, trace.states[0], "next_record")[0])}


def loses(view: ClusterView, before: Collection[str] = ()) -> bool:
    """The leader of record runs, and has lost a record that was promised, also before the first step."""
    leader = view.controller.leader
    if leader is None or not view.brokers[leader].is_up:
        return False
    return bool({*promised(view), *before} - {*payloads(leader_of(view))})


def leader_of(view: ClusterView) -> BrokerView:
    assert view.controller.leader is not None
    return view.brokers[view.controller.leader]


def misses(view: ClusterView) -> bool:
    """A member of the ISR lacks a record that consumers can read, or could before it was removed, elsewhere."""
    readable = set(promised(view))
    for broker in view.brokers:
        readable |= {one.payload for one in broker.log if one.offset < (broker.high_watermark or 0)}
    return any(readable - set(payloads(view.brokers[member])) for member in view.controller.isr)


def commits_differently(view: ClusterView) -> bool:
    """Two logs have different records at one offset below both high watermarks."""
    return any(
        (left.payload, left.leader_epoch) != (right.payload, right.leader_epoch)
        for one, other in combinations(view.brokers, 2)
        for left, right in zip(one.log, other.log, strict=False)
        if left.offset < min(one.high_watermark or 0, other.high_watermark or 0)
    )


def mismatches(view: ClusterView) -> bool:
    """Two logs have an entry of the same offset and epoch, and differ there or before."""
    return any(
        left.leader_epoch == right.leader_epoch and payloads(one)[: position + 1] != payloads(other)[: position + 1]
        for one, other in combinations(view.brokers, 2)
        for position, (left, right) in enumerate(zip(one.log, other.log, strict=False))
    )


def repeats(view: ClusterView) -> bool:
    """A log holds a record twice."""
    return any(max(Counter(payloads(broker)).values(), default=0) > 1 for broker in view.brokers)


def reorders(view: ClusterView) -> bool:
    """A log holds records in another order than that in which they were sent."""
    sent = [one.payload for _, each in view.sent for one in each]
    for broker in view.brokers:
        positions = [sent.index(payload) for payload in dict.fromkeys(payloads(broker))]
        if positions != sorted(positions):
            return True
    return False


SHOWN: dict[str, Callable[[ClusterView], bool]] = {
    "acked_not_lost": loses,
    "tolerates_claimed_failures": loses,
    "isr_is_complete": misses,
    "committed_agrees": commits_differently,
    "log_matching": mismatches,
    "no_duplicates": repeats,
    "order_preserved": reorders,
}
"""What the cluster shows when a promise is broken. Promises about consumers' positions and offsets are compared by the
replay itself, and so is what a transaction's coordinator and partitions do."""

NEVER_HELD = "numbers_from_zero"
"""There, an administrator deletes records, and the record that is lost never was in a log: a test of its own."""

BROKEN = [
    name
    for name, one in HISTORIES.items()
    if one.model == "kafka" and one.property_name in SHOWN and name != NEVER_HELD
]


@pytest.mark.parametrize("name", BROKEN)
def test_the_cluster_shows_the_failure_after_the_last_step_and_not_before(name):
    trace, driver = steps_of(HISTORIES[name]), Driver()
    shown = SHOWN[HISTORIES[name].property_name]
    if shown is loses:
        shown = partial(loses, before=common(trace))
    driver.begin(trace)
    found = []
    for step in trace.steps:
        driver.take(step)
        found.append(shown(driver.cluster.observe()))
    assert found == [False] * (trace.length - 1) + [True]


def test_most_failures_of_brokers_are_shown():
    of_brokers = [name for name, one in HISTORIES.items() if one.model == "kafka"]
    assert len(BROKEN) / len(of_brokers) > 0.8


def test_a_record_is_acknowledged_that_no_log_ever_held():
    trace, driver, held = steps_of(HISTORIES[NEVER_HELD]), Driver(), set()
    driver.begin(trace)
    for step in trace.steps:
        driver.take(step)
        held |= {payload for broker in driver.cluster.observe().brokers for payload in payloads(broker)}
    assert len(promised(driver.cluster.observe()).keys() - held) == 1


# ------------------------------------------------------------------------------------------------ what clients learn


LOST = [name for name in BROKEN if SHOWN[HISTORIES[name].property_name] is loses]


def with_the_leader_informed(trace: Trace) -> Trace:
    """The trace, and the step in which the elected leader hears of it, unless it knows."""
    last = State(trace.instance, trace.states[-1])
    leader = last.controller_leader
    if last.leader[leader] == leader and last.leader_epoch[leader] == last.controller_epoch:
        return trace
    for step in reversed(trace.instance.steps):
        if step.action in HEARS and step.ordinals[0] == leader:
            longer = with_step(trace, step)
            if longer is not None and State(trace.instance, longer.states[-1]).leader[leader] == leader:
                return longer
    raise AssertionError("the elected leader cannot hear of its election")


@pytest.mark.sampled
@pytest.mark.parametrize("name", LOST)
def test_clients_see_the_loss_at_the_new_leader(name):
    """A producer got an offset for the record; at the new leader it is the offset of the next record, or one
    beyond, and a consumer that begins at the start of the log does not receive the record.
    """
    driver = Driver()
    trace = with_the_leader_informed(steps_of(HISTORIES[name]))
    assert replay(trace, driver) is None
    cluster, told = driver.cluster, {**common(trace), **promised(driver.cluster.observe())}
    leader = leader_of(cluster.observe()).number
    lost = told.keys() - payloads(leader_of(cluster.observe()))
    assert lost
    acks = Acks.ALL if trace.instance.configuration.enable_idempotence else Acks.LEADER
    cluster.produce("z", leader, acks, producer="another")
    deliver(cluster, "another")
    (offset,) = [one.offset for one in leader_of(cluster.observe()).log if one.payload == "z"]
    assert all(told[payload] == -1 or told[payload] >= offset for payload in lost)
    cluster.consume(leader, "new")
    deliver(cluster, "new")
    (consumer,) = [one for one in cluster.observe().consumers if one.name == "new"]
    assert not lost & {one.payload for one in consumer.read}


def deliver(cluster: Cluster, client: str) -> None:
    """Deliver what a client has sent, and what it is answered at once."""
    for message in cluster.messages():
        if message.source == client:
            cluster.deliver(message.number)
    for message in cluster.messages():
        if message.destination == client:
            cluster.deliver(message.number)
