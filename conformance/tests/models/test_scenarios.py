"""Rules of Kafka in a few steps each, with logs of up to nine records, and what a cluster without the rule would do."""

import pytest

from conformance.tests.models.driven import Driven
from isrcheck.models.kafka.generations import MODEL
from isrcheck.models.kafka.state.values import AlterPartition, Fetch, IsrChannel, MaximalIsr
from isrcheck.models.language.declarations import NONE
from isrcheck.models.run import State, holds, holds_step, successors

GENERATIONS = tuple(MODEL.protocols)
WITH_ALTER_PARTITION = ("2.8", "3.3", "3.5", "3.7", "4.0", "4.1", "4.3")
KRAFT = WITH_ALTER_PARTITION[1:]
WITH_ELR = ("4.1", "4.3")
ZOOKEEPER = tuple(protocol for protocol in GENERATIONS if protocol not in KRAFT)
ALL, FIRST_TWO = 7, 3
"""The ISR at the start, as a bit for each replica."""


class Cluster(Driven):
    """Three brokers, of which broker 0 leads, with logs of up to nine records."""

    def __init__(self, protocol, start_isr, **values):
        super().__init__(protocol, **({"records": 9, "log_size": 9, "start_isr": start_isr} | values))

    @property
    def asks_the_controller(self):
        return self.instance.configuration.ISR_CHANNEL == IsrChannel.ALTER_PARTITION

    def log_ends(self):
        return tuple(self.state.log_end_offset[r] for r in range(3))

    def high_watermark(self):
        return self.state.high_watermark[0]

    def isr(self):
        """The ISR of record."""
        return {r for r in range(3) if self.state.controller_isr[r]}

    def append_up_to(self, end):
        self.do(*["producer_appends at 0"] * (end - self.state.log_end_offset[0]))

    def report(self, follower):
        """The leader hears how long a follower's log is."""
        self.do(f"leader_handles_fetch 0 from {follower}")

    def catch_up(self, follower):
        """A follower fetches, and appends what it gets."""
        if self.state.fetch[follower][0] == Fetch.PARKED:
            self.do(f"leader_answers_parked_fetch 0 to {follower}")
        elif self.state.fetch[follower][0] == Fetch.NONE:
            self.report(follower)
        self.do(f"follower_applies_response {follower} from 0")

    def holds(self, name, cells=None):
        """A promise as Kafka has it, whatever switch is set here."""
        judge = MODEL.instance(self.instance.protocol.name, self.values_without_switches())
        return holds(judge, promise(judge, name), cells or self.cells)

    def values_without_switches(self):
        configuration = self.instance.configuration
        return {name: getattr(configuration, name) for name in self.instance.model.entries if not name.isupper()}

    def elections(self):
        """Whom the controller can elect in one step, with the states after it."""
        leader = self.state.controller_leader
        found = {}
        for step, cells in successors(self.instance, self.cells):
            elected = State(self.instance, cells).controller_leader
            if elected not in (leader, NONE):
                found[elected] = (step, cells)
        return found


def promise(instance, name):
    return next(one for one in instance.properties if one.name == name)


def changed(cluster, cells=None, **values):
    """A state in which cells are set at will: {field: value, or (index, value)}."""
    state = State(cluster.instance, cells or cluster.cells)
    for name, value in values.items():
        if isinstance(value, tuple):
            getattr(state, name)[value[0]] = value[1]
        else:
            setattr(state, name, value)
    return state.cells


# ------------------------------------------------------------------------------------------------- the high watermark


def logs_of_9_7_and_6(protocol, **switches):
    cluster = Cluster(protocol, ALL, **switches)
    cluster.append_up_to(6)
    cluster.catch_up(1)
    cluster.catch_up(2)
    cluster.append_up_to(7)
    cluster.catch_up(1)
    cluster.append_up_to(9)
    cluster.report(1)
    cluster.report(2)
    assert cluster.log_ends() == (9, 7, 6)
    assert cluster.isr() == {0, 1, 2}
    return cluster


@pytest.mark.parametrize("protocol", GENERATIONS)
def test_the_shortest_log_of_the_isr_is_the_high_watermark(protocol):
    """Logs of 9, 7 and 6 records: 6, and 7 once the third replica is dropped."""
    cluster = logs_of_9_7_and_6(protocol)
    assert cluster.high_watermark() == 6
    cluster.do("leader_shrinks_isr 0 by {2}")
    if cluster.asks_the_controller:
        assert cluster.high_watermark() == 6  # the third replica may still be elected
        assert cluster.isr() == {0, 1, 2}
        cluster.do("controller_handles_alter_partition of 0")
        assert cluster.high_watermark() == 6  # the leader has not heard of it
        is_new_epoch = cluster.instance.configuration.EPOCH_BUMP_ON_SHRINK
        cluster.do("broker_applies_metadata 0 of partition epoch 1" if is_new_epoch else "leader_hears_answer 0")
    assert cluster.isr() == {0, 1}
    assert cluster.high_watermark() == 7
    assert cluster.log_ends() == (9, 7, 6)


@pytest.mark.parametrize("protocol", WITH_ALTER_PARTITION)
def test_a_leader_that_counts_only_its_proposal_passes_a_member_of_the_isr(protocol):
    cluster = logs_of_9_7_and_6(protocol, MAXIMAL_ISR=MaximalIsr.PROPOSED)
    assert cluster.holds("high_watermark_within_maximal_isr")
    cluster.do("leader_shrinks_isr 0 by {2}")
    assert (cluster.high_watermark(), cluster.isr()) == (7, {0, 1, 2})
    assert not cluster.holds("high_watermark_within_maximal_isr")
    assert not cluster.holds("isr_is_complete")


def third_replica_outside(protocol, end, **switches):
    """The leader's log has 9 records, its high watermark is 6, and replica 2, which is not in the ISR, has `end`."""
    cluster = Cluster(protocol, FIRST_TWO, **switches)
    cluster.append_up_to(1)
    cluster.catch_up(1)
    cluster.report(1)  # above the empty log of replica 2, which would join the ISR otherwise
    if end <= 6:
        cluster.append_up_to(end)
        cluster.catch_up(2)
    cluster.append_up_to(6)
    cluster.catch_up(1)
    if end > 6:
        cluster.append_up_to(end)
        cluster.catch_up(2)
    cluster.append_up_to(9)
    cluster.report(1)
    assert cluster.log_ends() == (9, 6, end)
    assert (cluster.high_watermark(), cluster.isr()) == (6, {0, 1})
    return cluster


@pytest.mark.sampled
@pytest.mark.parametrize("protocol", GENERATIONS)
@pytest.mark.parametrize(("end", "joins"), [(5, False), (6, True), (7, True), (8, True), (9, True)])
def test_a_replica_joins_the_isr_at_or_above_the_high_watermark(protocol, end, joins):
    """Neither equality nor the log end is asked for."""
    cluster = third_replica_outside(protocol, end)
    cluster.report(2)
    assert cluster.high_watermark() == 6
    if cluster.asks_the_controller:
        assert cluster.isr() == {0, 1}
        assert [bool(cluster.state.proposed_isr[0][r]) for r in range(3)] == [joins] * 3
        assert (cluster.state.alter_partition[0] == AlterPartition.REQUESTED) == joins
        if joins:
            cluster.do("controller_handles_alter_partition of 0")
    assert cluster.isr() == ({0, 1, 2} if joins else {0, 1})


@pytest.mark.parametrize("protocol", GENERATIONS)
def test_the_high_watermark_waits_for_a_replica_that_joins(protocol):
    cluster = third_replica_outside(protocol, 6)
    cluster.report(2)
    cluster.do("follower_applies_response 1 from 0")
    cluster.report(1)
    assert cluster.log_ends() == (9, 9, 6)
    assert cluster.high_watermark() == 6
    if cluster.asks_the_controller:
        assert cluster.holds("high_watermark_within_maximal_isr")
    assert cluster.holds("isr_is_complete")


@pytest.mark.parametrize("protocol", WITH_ALTER_PARTITION)
def test_a_leader_that_counts_only_its_committed_isr_passes_a_replica_that_joins(protocol):
    """The reason for the maximal ISR of KIP-497."""
    cluster = third_replica_outside(protocol, 6, MAXIMAL_ISR=MaximalIsr.COMMITTED)
    cluster.report(2)
    cluster.do("follower_applies_response 1 from 0")
    cluster.report(1)
    assert (cluster.high_watermark(), cluster.log_ends()) == (9, (9, 9, 6))
    assert not cluster.holds("high_watermark_within_maximal_isr")
    assert cluster.holds("isr_is_complete")
    cluster.do("controller_handles_alter_partition of 0")
    assert not cluster.holds("isr_is_complete")


# ------------------------------------------------------------------------------------------------- who may be elected


@pytest.mark.parametrize("protocol", ZOOKEEPER)
def test_with_zookeeper_only_members_of_the_isr_are_elected(protocol):
    cluster = Cluster(protocol, FIRST_TWO, records=1, log_size=1, unclean_elections=1)
    assert set(cluster.elections()) == {1}
    cluster.do("broker_crashes 0")
    assert set(cluster.elections()) == {1}


@pytest.mark.parametrize("protocol", ZOOKEEPER)
def test_with_zookeeper_an_unclean_election_takes_any_broker(protocol):
    cluster = Cluster(protocol, 1, records=1, log_size=1, min_insync_replicas=1, unclean_elections=1)
    assert set(cluster.elections()) == set()
    cluster.do("broker_crashes 0")
    assert set(cluster.elections()) == {1, 2}


LIVING = {"records": 1, "log_size": 1, "crashes": 0, "fencings": 2, "elections": 3, "partition_changes": 4}


@pytest.mark.parametrize("protocol", KRAFT)
def test_with_kraft_only_members_of_the_isr_are_elected(protocol):
    cluster = Cluster(protocol, FIRST_TWO, **LIVING, preferred_elections=1, unclean_elections=1)
    elections = cluster.elections()
    assert set(elections) == {1}
    judge = promise(cluster.instance, "elected_from_isr_or_elr")
    step, cells = elections[1]
    assert holds_step(cluster.instance, judge, cluster.cells, step, cells)
    wrong = changed(cluster, cells, controller_leader=2)
    assert not holds_step(cluster.instance, judge, cluster.cells, step, wrong)
    unclean = changed(cluster, wrong, unclean_elections_left=0)
    assert holds_step(cluster.instance, judge, cluster.cells, step, unclean)


def last_member_with_a_former_one(protocol):
    """Broker 0 is the last member of the ISR; broker 1, which was in it, is active again."""
    cluster = Cluster(protocol, FIRST_TWO, **LIVING)
    cluster.do("controller_fences_broker 1", "controller_unfences_broker 1")
    assert cluster.isr() == {0}
    return cluster


@pytest.mark.parametrize("protocol", [one for one in KRAFT if one not in WITH_ELR])
def test_without_elr_a_former_member_is_not_elected(protocol):
    cluster = last_member_with_a_former_one(protocol)
    assert cluster.elections() == {}
    cluster.do("controller_fences_last_leader 0")
    assert (cluster.state.controller_leader, cluster.isr()) == (NONE, {0})
    assert set(cluster.elections()) == {0}


@pytest.mark.parametrize("protocol", WITH_ELR)
def test_with_elr_a_former_member_is_elected_and_no_other(protocol):
    cluster = last_member_with_a_former_one(protocol)
    assert [bool(cluster.state.eligible_leader_replicas[r]) for r in range(3)] == [False, True, False]
    elections = cluster.elections()
    assert set(elections) == {1}
    judge = promise(cluster.instance, "elected_from_isr_or_elr")
    step, cells = elections[1]
    assert holds_step(cluster.instance, judge, cluster.cells, step, cells)
    forgotten = changed(cluster, eligible_leader_replicas=(1, False))
    assert not holds_step(cluster.instance, judge, forgotten, step, cells)
    cluster.do("controller_fences_leader 0 and elects 1")
    assert cluster.isr() == {1}


# ----------------------------------------------------------------------------------------------- who may be in the ISR


REASSIGNED = {"records": 1, "log_size": 1, "reassignments": 2, "elections": 2, "partition_changes": 4}


@pytest.mark.parametrize("protocol", KRAFT)
def test_a_replica_that_is_removed_leaves_the_isr(protocol):
    """AR = ISR + OSR: nobody else is in either."""
    cluster = Cluster(protocol, ALL, **REASSIGNED)
    cluster.do("controller_begins_reassignment to {0,1}")
    assert cluster.isr() == {0, 1}
    assert cluster.holds("isr_within_assigned")
    assert not cluster.holds("isr_within_assigned", changed(cluster, controller_isr=(2, True)))
    assert not cluster.holds("isr_within_assigned", changed(cluster, eligible_leader_replicas=(2, True)))


@pytest.mark.parametrize("protocol", KRAFT)
def test_a_request_for_a_replica_that_was_removed_is_refused(protocol):
    cluster = Cluster(protocol, FIRST_TWO, **REASSIGNED)
    cluster.report(2)
    assert cluster.state.requested_isr[0][2]
    cluster.do("controller_begins_reassignment to {0,1}", "controller_handles_alter_partition of 0")
    assert cluster.isr() == {0, 1}
    assert cluster.holds("isr_within_assigned")


def test_with_zookeeper_a_broker_that_is_down_can_join_the_isr():
    cluster = Cluster("2.8", FIRST_TWO, records=1, log_size=1)
    cluster.report(2)
    cluster.do("broker_crashes 2", "controller_handles_alter_partition of 0")
    assert cluster.isr() == {0, 1, 2}


@pytest.mark.parametrize("protocol", KRAFT)
def test_with_kraft_a_fenced_broker_does_not_join_the_isr(protocol):
    """KIP-841. The leader gives the change up when it hears of it."""
    cluster = Cluster(protocol, FIRST_TWO, records=1, log_size=1)
    cluster.report(2)
    cluster.do("broker_crashes 2", "controller_fences_broker 2", "controller_handles_alter_partition of 0")
    assert cluster.state.alter_partition[0] == AlterPartition.INELIGIBLE
    cluster.do("leader_hears_answer 0")
    assert cluster.isr() == {0, 1}
    assert not any(cluster.state.proposed_isr[0][r] for r in range(3))
