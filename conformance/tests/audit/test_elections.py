"""The ranking against elections on the executable cluster: after a random history every broker stops, and
each in turn is elected. The records that no log has afterwards, and the truncations, are the predicted ones. Without
unclean elections, what the ranking says about acknowledged records is true.
"""

from __future__ import annotations

from copy import deepcopy
from pathlib import Path
from random import Random

import pytest

from conformance.tests.audit.building import batch, broker
from conformance.tests.support.histories import cluster_of
from isrcheck.conformance.audit.candidates import Candidate, Membership, Ranking, Standing
from isrcheck.conformance.audit.copies import copies_in
from isrcheck.conformance.audit.report import audit_partition
from isrcheck.conformance.cluster.acts import (
    append,
    apply,
    ask,
    complete_parked_fetch,
    deliver_answers,
    learn,
    reconcile,
    response_in_flight,
    restart,
)
from isrcheck.conformance.cluster.broker.broker import TimerKind
from isrcheck.conformance.cluster.cluster import Cluster
from isrcheck.conformance.cluster.controller.controller import Election
from isrcheck.conformance.cluster.network.messages import Acks
from isrcheck.conformance.cluster.scheduler import Chances, Scheduler

Record = tuple[int, int, str]
"""Offset, leader epoch, value."""


def logs_of(cluster: Cluster) -> dict[int, list[Record]]:
    """The records on the disk of each broker."""
    return {
        view.number: [(record.offset, record.leader_epoch, record.payload) for record in view.log]
        for view in cluster.observe().brokers
    }


def stop_all(cluster: Cluster) -> None:
    for number in filter(cluster.is_running, cluster.brokers):
        cluster.crash(number)


def lead(cluster: Cluster, leader: int) -> None:
    """Stop every broker, then start `leader` alone, and elect it, uncleanly if it is not in the ISR."""
    stop_all(cluster)
    if cluster.controller_metadata().leader == leader:  # only another broker can be elected; it never learns of it
        other = next(number for number in cluster.brokers if number != leader)
        elect_alone(cluster, other)
        cluster.crash(other)
    elect_alone(cluster, leader)
    learn(cluster, leader)


def elect_alone(cluster: Cluster, leader: int) -> None:
    cluster.restart(leader)
    cluster.elect(Election.FAIL_OVER if leader in cluster.controller_metadata().isr else Election.UNCLEAN, leader)


def fetch_once(cluster: Cluster, follower: int, leader: int) -> None:
    """The follower truncates its log, or copies what its leader has."""
    reconcile(cluster, follower)
    if not any(fetcher.outstanding for fetcher in cluster.observe_broker(follower).fetchers):
        ask(cluster, follower, leader)
    if response_in_flight(cluster, follower, leader) is None:
        complete_parked_fetch(cluster, leader, follower)
    apply(cluster, follower, leader)


def follow(cluster: Cluster, follower: int, leader: int) -> int:
    """Let a broker start, and follow until its log is the leader's; return the least log end offset on the way."""
    restart(cluster, follower)
    ends = []
    for _ in range(6):  # a truncation for each epoch in which the logs differ, and a fetch
        reconcile(cluster, follower)
        ends.append(cluster.observe_broker(follower).log_end_offset)
        fetch_once(cluster, follower, leader)
        ends.append(cluster.observe_broker(follower).log_end_offset)
    assert logs_of(cluster)[follower] == logs_of(cluster)[leader]
    return min(ends)


def history(description: str, seed: int) -> Cluster:
    """A cluster after a few unclean elections, between which the leaders write and some followers copy."""
    random, cluster = Random(seed), cluster_of(description)
    written = 0
    for _ in range(random.randint(1, 5)):
        leader, *others = random.sample(cluster.brokers, 3)
        lead(cluster, leader)
        followers = random.sample(others, random.randint(0, 2))
        for follower in followers:
            restart(cluster, follower)
        for _ in range(random.randint(0, 6)):
            act = random.choice(["append", "checkpoint", *["fetch"] * len(followers)])
            if act == "append":
                append(cluster, f"r{written}", leader, Acks.LEADER)
                deliver_answers(cluster)
                written += 1
            elif act == "checkpoint":
                for number in (leader, *followers):
                    cluster.fire(number, TimerKind.HIGH_WATERMARK_CHECKPOINT)
            else:
                fetch_once(cluster, random.choice(followers), leader)
    stop_all(cluster)
    return cluster


def ranking_of(cluster: Cluster, folder: Path, membership: Membership) -> Ranking:
    """What the audit says about the brokers' disks, written as Kafka's folders."""
    for view in cluster.observe().brokers:
        log = [batch(record.offset, [record.payload], record.leader_epoch) for record in view.log]
        epochs = [(entry.leader_epoch, entry.start_offset) for entry in view.epoch_entries]
        broker(folder / str(view.number), log, high_watermark=view.checkpointed_high_watermark, epochs=epochs)
    found = copies_in([folder / str(number) for number in cluster.brokers])
    report = audit_partition("t-0", found.copies["t-0"], found.brokers, 1 << 20, membership=membership)
    assert report.ranking is not None
    return report.ranking


def losses_of(candidate: Candidate) -> dict[tuple[int, int], tuple[set[int], Standing]]:
    """Each lost record by offset and epoch: its holders, and its standing."""
    return {
        (offset, piece.epoch): (set(map(int, piece.holders)), piece.standing)
        for piece in candidate.losses
        for offset in range(piece.first, piece.last + 1)
    }


def standing_of(cluster: Cluster, offset: int, epoch: int, holders: set[int]) -> Standing:
    """The standing of one record, by its definition."""
    views = cluster.observe().brokers
    if any(view.checkpointed_high_watermark > offset for view in views if view.number in holders):
        return Standing.COMMITTED
    entries = [entry for view in views for entry in view.epoch_entries]
    if any(entry.leader_epoch > epoch and entry.start_offset <= offset for entry in entries):
        return Standing.REPLACED
    return Standing.PERHAPS


def predicted_and_found(generation: str, seed: int, folder: Path) -> set[Standing]:
    """Elect each candidate, and compare; return the standings of the lost records."""
    cluster = history(f"{generation} min_insync_replicas=1", seed)
    ranking = ranking_of(cluster, folder, Membership())
    logs = logs_of(cluster)
    before = {record for log in logs.values() for record in log}
    standings = set()
    for candidate in ranking.candidates:
        number, elected = int(candidate.broker), deepcopy(cluster)
        lead(elected, number)
        removed = {}
        for other in (each for each in cluster.brokers if each != number):
            least = follow(elected, other, number)
            if least < len(logs[other]):
                removed[str(other)] = (least, len(logs[other]) - least)
        lost = before - {record for log in logs_of(elected).values() for record in log}
        expected = {}
        for offset, epoch, value in lost:
            holders = {each for each, log in logs.items() if (offset, epoch, value) in log}
            expected[offset, epoch] = holders, standing_of(cluster, offset, epoch, holders)
        assert losses_of(candidate) == expected
        assert {each.broker: (each.offset, each.removed) for each in candidate.truncations} == removed
        standings |= {standing for _, standing in expected.values()}
    keys = [(log[-1][1] if log else -1, len(log)) for log in (logs[int(each.broker)] for each in ranking.candidates)]
    assert keys == sorted(keys, reverse=True)
    return standings


@pytest.mark.parametrize("generation", ["2.1", "2.8"])
@pytest.mark.parametrize("seeds", [range(20), pytest.param(range(20, 400), marks=pytest.mark.recorded)])
def test_an_election_loses_what_is_predicted(tmp_path: Path, generation: str, seeds: range) -> None:
    """2.1 asks for the end of an epoch before it fetches (KIP-320); 2.8 truncates on fetch."""
    found = [predicted_and_found(generation, seed, tmp_path / str(seed)) for seed in seeds]
    assert set.union(*found) == {Standing.COMMITTED, Standing.REPLACED, Standing.PERHAPS}


CLEAN = Chances(
    produce_interval=100,
    crash_interval=2_000,
    election_interval=700,
    slow_share=0.2,
    retry_share=0,  # offset and value name a record
    elections=(Election.FAIL_OVER,),
)


@pytest.mark.parametrize("seeds", [range(20), pytest.param(range(20, 500), marks=pytest.mark.recorded)])
def test_nothing_acknowledged_is_said_to_be_not_committed(tmp_path: Path, seeds: range) -> None:
    """While elections are clean, a broker of the ISR loses no acknowledged record, and no acknowledged record
    is said to be replaced or not committed."""
    lost: set[Standing] = set()
    for seed in seeds:
        cluster = cluster_of("2.1")
        Scheduler(cluster, seed, CLEAN).run(700)
        stop_all(cluster)
        isr = tuple(map(str, sorted(cluster.controller_metadata().isr)))
        acked = {(sent.offset, sent.payload) for sent in cluster.observe().acknowledged}
        of_acked = {record[:2] for log in logs_of(cluster).values() for record in log if record[::2] in acked}
        for candidate in ranking_of(cluster, tmp_path / str(seed), Membership(isr=isr)).candidates:
            losses = losses_of(candidate)
            standings = {losses[place][1] for place in of_acked & losses.keys()}
            assert standings <= (set() if candidate.broker in isr else {Standing.COMMITTED, Standing.PERHAPS})
            lost |= {standing for _, standing in losses.values()}
    assert lost >= {Standing.COMMITTED, Standing.PERHAPS, Standing.UNCOMMITTED}
