"""The consumers of kafka: what they read from leaders and followers, their lag, and where they continue."""

import pytest

from conformance.tests.models.driven import Driven
from conformance.tests.sampling import exhaustive, recorded
from isrcheck.checker.explicit.explore import explore
from isrcheck.checker.resources.limits import Limits
from isrcheck.models.kafka.generations import MODEL
from isrcheck.models.kafka.state.values import AutoOffsetReset, IsolationLevel, PositionCheck
from isrcheck.models.language.declarations import NONE, Kind
from isrcheck.models.messages import UsageError
from isrcheck.models.run import holds

GENERATIONS = tuple(MODEL.protocols)
TWO_REPLICAS = {"min_insync_replicas": 1, "replicas": 2, "start_isr": 3}
UNCLEAN = TWO_REPLICAS | {"unclean_elections": 1, "bounces": 0}
BY_EPOCH = {"POSITION_CHECK": PositionCheck.END_OFFSET_AND_EPOCH}
SINCE_2_4 = GENERATIONS[5:]


class Partition(Driven):
    """Three replicas, of which broker 0 leads, and a consumer."""

    def __init__(self, protocol, **values):
        super().__init__(protocol, **({"records": 9, "log_size": 9, "consumers": 1, "start_isr": 7} | values))

    def append(self, count):
        return self.do(*["producer_appends at 0"] * count)

    def replicate(self, follower):
        fetch = f"leader_handles_fetch 0 from {follower}"
        if not self.can(fetch):
            fetch = f"leader_answers_parked_fetch 0 to {follower}"
        return self.do(fetch, f"follower_applies_response {follower} from 0")

    def read_all(self, broker=0):
        """The consumer reads as long as the broker shows something; the result is its position."""
        while self.can(f"consumer_fetches 0 at {broker}"):
            self.do(f"consumer_fetches 0 at {broker}")
        return self.state.position[0]

    def lag(self):
        return self.state.known_end_offset[0] - self.state.position[0]


def nine_records_of_which_six_are_committed(protocol, **values):
    partition = Partition(protocol, **values).append(6).replicate(1).replicate(2).append(3)
    partition.do("leader_handles_fetch 0 from 1", "leader_handles_fetch 0 from 2")
    assert (partition.state.log_end_offset[0], partition.state.high_watermark[0]) == (9, 6)
    return partition


@pytest.mark.parametrize("protocol", GENERATIONS)
def test_a_consumer_reads_up_to_the_high_watermark(protocol):
    """A log of 9 records with high watermark 6: offsets 0 to 5 are readable."""
    partition = nine_records_of_which_six_are_committed(protocol)
    partition.do("consumer_fetches 0 at 0")
    assert (partition.state.position[0], partition.lag()) == (1, 5)
    assert (partition.read_all(), partition.lag()) == (6, 0)
    assert [partition.state.consumed_record[0][offset] for offset in range(9)] == [0, 1, 2, 3, 4, 5, NONE, NONE, NONE]


@pytest.mark.parametrize("protocol", SINCE_2_4)
def test_a_follower_shows_what_is_below_its_own_high_watermark(protocol):
    """KIP-392: the follower's high watermark lags by one fetch."""
    partition = nine_records_of_which_six_are_committed(protocol, follower_fetching=True)
    assert not partition.can("consumer_fetches 0 at 1")
    partition.do("consumer_is_sent_to_follower 0 by 0 to 1")
    assert not partition.can("consumer_fetches 0 at 0")
    assert partition.state.high_watermark[1] == 0
    assert partition.read_all(broker=1) == 0
    partition.do("follower_applies_response 1 from 0")
    assert partition.state.high_watermark[1] == 0  # the high watermark from before its last fetch
    partition.do("leader_handles_fetch 0 from 1", "leader_answers_parked_fetch 0 to 1")
    partition.do("follower_applies_response 1 from 0")
    assert partition.state.high_watermark[1] == 6
    assert (partition.read_all(broker=1), partition.lag()) == (6, 0)
    partition.do("consumer_returns_to_leader 0")
    assert not partition.can("consumer_fetches 0 at 1")


@pytest.mark.parametrize("protocol", SINCE_2_4)
def test_a_lag_is_negative_where_a_follower_shows_less_than_was_read(protocol):
    partition = nine_records_of_which_six_are_committed(protocol, follower_fetching=True)
    assert not partition.can("consumer_finds_nothing 0 at 0")  # it finds six
    assert (partition.read_all(), partition.lag()) == (6, 0)
    assert not partition.can("consumer_finds_nothing 0 at 0")  # it knows that
    partition.do("consumer_is_sent_to_follower 0 by 0 to 1", "consumer_finds_nothing 0 at 1")
    assert (partition.state.position[0], partition.lag()) == (6, -6)


def test_a_consumer_that_follows_a_new_leader_reads_from_it():
    """Kafka: SubscriptionState.maybeValidatePosition forgets the preferred read replica."""
    partition = Partition("2.4", follower_fetching=True, min_insync_replicas=1).append(1).replicate(1).replicate(2)
    partition.do("leader_handles_fetch 0 from 1", "leader_handles_fetch 0 from 2")
    partition.do("consumer_is_sent_to_follower 0 by 0 to 2", "controller_fails_over to 1")
    partition.do("broker_becomes_leader 1 in epoch 1", "consumer_follows_new_leader 0 of 1")
    assert partition.state.preferred_read_replica[0] == NONE


@pytest.mark.parametrize(("protocol", "sent"), [("2.4", True), ("2.8", True), ("3.3", True), ("3.5", False)])
def test_since_3_4_a_leader_sends_consumers_only_to_members_of_the_isr(protocol, sent):
    """KAFKA-14372. Before, the follower only has to have the consumer's position, as far as the leader knows."""
    partition = Partition(protocol, follower_fetching=True, start_isr=3)
    assert partition.can("consumer_is_sent_to_follower 0 by 0 to 1")
    assert partition.can("consumer_is_sent_to_follower 0 by 0 to 2") == sent
    partition.append(1)
    partition.do("leader_handles_fetch 0 from 1", "follower_applies_response 1 from 0", "leader_handles_fetch 0 from 1")
    partition.do("consumer_fetches 0 at 0")
    assert partition.can("consumer_is_sent_to_follower 0 by 0 to 1")
    assert not partition.can("consumer_is_sent_to_follower 0 by 0 to 2")


def test_consumers_read_from_leaders_unless_a_replica_selector_is_set():
    partition = nine_records_of_which_six_are_committed("2.4").do("follower_applies_response 1 from 0")
    partition.do("leader_handles_fetch 0 from 1", "leader_answers_parked_fetch 0 to 1")
    partition.do("follower_applies_response 1 from 0")
    assert partition.state.high_watermark[1] == 6
    assert partition.read_all(broker=1) == 0
    with pytest.raises(UsageError, match=r"Consumers read from followers since 2\.4"):
        Partition("2.1", follower_fetching=True)


@pytest.mark.parametrize("protocol", GENERATIONS[2:])
@pytest.mark.parametrize(("level", "end", "lag"), [("READ_UNCOMMITTED", 3, 0), ("READ_COMMITTED", 1, 0)])
def test_an_open_transaction_hides_the_backlog_of_a_read_committed_consumer(protocol, level, end, lag):
    """Lag is high watermark - position, or last stable offset - position: nothing behind an open transaction counts."""
    partition = Partition(protocol, transactions=1, isolation_level=IsolationLevel[level])
    partition.append(1).do("producer_appends_in_transaction at 0 in 0").append(1).replicate(1).replicate(2)
    partition.do("leader_handles_fetch 0 from 1", "leader_handles_fetch 0 from 2")
    assert partition.state.high_watermark[0] == 3
    assert (partition.read_all(), partition.lag()) == (end, lag)


def test_a_consumer_of_committed_records_skips_markers_and_aborted_records():
    partition = Partition("2.1", transactions=1, isolation_level=IsolationLevel.READ_COMMITTED, min_insync_replicas=1)
    partition.append(1).do("leader_shrinks_isr 0 by {1,2}", "producer_appends_in_transaction at 0 in 0")
    partition.do("coordinator_aborts 0", "leader_appends_marker of 0 at 0").append(1)
    assert partition.read_all() == 4
    assert [partition.state.consumed_record[0][offset] for offset in range(4)] == [0, NONE, NONE, 2]


@pytest.mark.parametrize(
    ("policy", "position", "lag", "epoch", "skipped"),
    [("EARLIEST", 2, -1, NONE, False), ("LATEST", 3, -2, NONE, True), ("NOTHING", 1, 0, 0, False)],
)
def test_a_consumer_whose_position_was_deleted_resets_it(policy, position, lag, epoch, skipped):
    """The lag is wrong until the next fetch: a reset tells the consumer nothing of the end of the log."""
    alone = {"min_insync_replicas": 1, "start_isr": 1}
    partition = Partition("2.4", delete_records=1, auto_offset_reset=AutoOffsetReset[policy], **alone)
    partition.append(1).do("consumer_fetches 0 at 0").append(2)
    assert not partition.can("consumer_is_out_of_range 0 at 0")
    assert not partition.can("consumer_is_out_of_range 0 at 1")  # a follower, whose log is empty
    partition.do("leader_deletes_records at 0 before 2")
    assert not partition.can("consumer_fetches 0 at 0")
    if policy == "NOTHING":
        assert not partition.can("consumer_is_out_of_range 0 at 0")
    else:
        partition.do("consumer_is_out_of_range 0 at 0")
    assert (partition.state.position[0], bool(partition.state.has_skipped[0])) == (position, skipped)
    assert (partition.lag(), partition.state.consumed_epoch[0]) == (lag, epoch)


def after_an_unclean_election(**values):
    """The consumer has read record b of epoch 1; then broker 0, which has record a of epoch 0, leads epoch 2."""
    partition = Partition("2.4", **UNCLEAN, **values)
    partition.append(1).do("controller_fails_over to 1", "broker_becomes_leader 1 in epoch 1", "producer_appends at 1")
    partition.do("consumer_follows_new_leader 0 of 1", "consumer_fetches 0 at 1")
    partition.do("broker_crashes 1", "controller_elects_unclean 0", "broker_becomes_leader 0 in epoch 2")
    assert not partition.can("consumer_fetches 0 at 0")  # fenced: it does not know the epoch
    return partition.do("consumer_follows_new_leader 0 of 0")


def promise(partition, name):
    found = next(one for one in partition.instance.properties if one.name == name)
    return holds(partition.instance, found, partition.cells)


def test_a_consumer_that_looks_only_at_the_end_offset_misses_a_log_of_the_same_length():
    missed = after_an_unclean_election()
    assert (missed.state.position[0], bool(missed.state.has_skipped[0])) == (1, False)
    assert not promise(missed, "truncation_is_detected")
    noticed = after_an_unclean_election(**BY_EPOCH)
    assert (noticed.state.position[0], bool(noticed.state.has_skipped[0])) == (1, True)
    assert promise(noticed, "truncation_is_detected")
    again = after_an_unclean_election(**BY_EPOCH, auto_offset_reset=AutoOffsetReset.EARLIEST)
    assert again.state.position[0] == 0


def test_a_consumer_returns_to_where_the_logs_diverge():
    """The new leader's log ends before the consumer's position: OffsetsForLeaderEpoch tells it where."""
    partition = Partition("2.4", **UNCLEAN)
    partition.append(1).replicate(1).do("leader_shrinks_isr 0 by {1}").append(2)
    assert partition.read_all() == 3
    partition.do("broker_crashes 0", "controller_elects_unclean 1", "broker_becomes_leader 1 in epoch 1")
    partition.do("consumer_follows_new_leader 0 of 1")
    assert (partition.state.position[0], partition.state.consumed_epoch[0]) == (1, 0)
    assert promise(partition, "truncation_is_detected")


def test_a_consumer_returns_to_an_earlier_epoch():
    partition = Partition("2.4", **UNCLEAN)
    partition.append(1).replicate(1).do("controller_fails_over to 1", "broker_becomes_leader 1 in epoch 1")
    assert not partition.can("consumer_fetches 0 at 1")  # fenced
    partition.do("consumer_follows_new_leader 0 of 1", "producer_appends at 1", "producer_appends at 1")
    assert partition.read_all(broker=1) == 3
    partition.do("broker_crashes 1", "controller_elects_unclean 0", "broker_becomes_leader 0 in epoch 2")
    assert not partition.can("consumer_is_out_of_range 0 at 0")  # fenced
    partition.do("consumer_follows_new_leader 0 of 0")
    assert (partition.state.position[0], partition.state.consumed_epoch[0]) == (1, 0)


def test_before_2_3_a_consumer_reads_from_whoever_presumes_leadership():
    partition = Partition("2.1", **TWO_REPLICAS)
    partition.append(1).do("controller_fails_over to 1", "broker_becomes_leader 1 in epoch 1", "producer_appends at 1")
    assert partition.can("consumer_fetches 0 at 1")
    assert not partition.can("consumer_follows_new_leader 0 of 1")


def test_a_consumer_follows_only_leaders_and_never_back():
    partition = Partition("2.4", **TWO_REPLICAS)
    partition.do("controller_fails_over to 1")
    assert not partition.can("consumer_follows_new_leader 0 of 1")  # it has not heard yet
    partition.do("broker_becomes_leader 1 in epoch 1", "consumer_follows_new_leader 0 of 1")
    assert not partition.can("consumer_follows_new_leader 0 of 0")  # a zombie of epoch 0
    assert not partition.can("consumer_follows_new_leader 0 of 1")  # it knows that one
    three = Partition("2.4").do("controller_fails_over to 1", "broker_becomes_follower 2 in epoch 1")
    assert not three.can("consumer_follows_new_leader 0 of 2")


def test_a_consumer_without_a_reset_policy_stops_at_a_truncation():
    """Kafka: LogTruncationException."""
    values = TWO_REPLICAS | {"start_isr": 1, "unclean_elections": 1}
    partition = Partition("2.4", **values, auto_offset_reset=AutoOffsetReset.NOTHING).append(1)
    assert partition.read_all() == 1
    partition.do("broker_crashes 0", "controller_elects_unclean 1", "broker_becomes_leader 1 in epoch 1")
    assert not partition.can("consumer_follows_new_leader 0 of 1")
    assert not partition.can("consumer_is_out_of_range 0 at 1")  # fenced


# --------------------------------------------------------------------------------------------------- what is promised


def failures(protocol, **values):
    """The depths of violated and permitted failures of the promises to consumers, and the number of states."""
    instance = MODEL.instance(protocol, {"consumers": 1} | values)
    names = [one.name for one in instance.properties if one.name in PROMISES]
    found = explore(instance, Limits(memory=4 << 30), only=names)
    assert found.exhausted
    kinds = {name: (found.findings[name].found, found.findings[name].permitted) for name in names}
    depths = {name: tuple(kind.path and kind.path.depth for kind in both) for name, both in kinds.items()}
    return {name: both for name, both in depths.items() if both != (None, None)}, found.distinct


PROMISES = {
    "consumers_read_what_was_exposed",
    "consumers_skip_nothing",
    "lag_matches_isolation",
    "latest_does_not_go_back",
    "truncation_is_detected",
}


GOES_BACK = {"latest_does_not_go_back": (6, None)}
"""Before 2.3 a consumer may ask a former leader, for whose log it has read too much, and is reset there."""

SKIPS = {"consumers_skip_nothing": (None, 5)}
"""With auto.offset.reset=latest, a consumer whose position was deleted skips what follows, which is permitted."""


def test_the_promises_to_consumers_are_judged_only_with_consumers():
    judged = {one.name for one in MODEL.instance("2.4", {"consumers": 1}).properties if one.kind is not Kind.SOMETIMES}
    assert judged >= PROMISES


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("protocol", "values", "expected"),
    [
        ("2.1", {}, (GOES_BACK, 272_655)),
        exhaustive(("2.4", {"follower_fetching": True}, ({}, 1_042_213))),
        ("2.4", {"follower_fetching": True, "replicas": 2, "delete_records": 1}, (SKIPS, 39_299)),
        recorded(("2.4", {"follower_fetching": True, "delete_records": 1}, (SKIPS, 9_915_453))),
    ],
)
def test_without_faults_consumers_read_everything(protocol, values, expected):
    assert failures(protocol, elections=1, bounces=0, crashes=0, **values) == expected


@pytest.mark.parametrize(
    ("waits", "broken", "states"), [(False, {"latest_does_not_go_back": (15, None)}, 120_425), (True, {}, 119_951)]
)
def test_a_new_leader_tells_no_end_before_it_knows_what_is_committed(waits, broken, states):
    """KAFKA-2334: its high watermark lags, it deletes up to there, and the consumer is reset to there."""
    bounds = {"replicas": 2, "min_insync_replicas": 1, "records": 3, "log_size": 3, "elections": 1}
    rules = {"preferred_elections": 1, "delete_records": 1, "LATEST_OFFSET_AWAITS_EPOCH_START": waits}
    found = failures("2.4", bounces=0, crashes=0, **bounds, **rules)
    assert found == ({"consumers_skip_nothing": (None, 4), **broken}, states)
