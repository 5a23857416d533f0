"""The idempotent producer of kafka: what a leader recognises and refuses, and what is promised."""

import re

import pytest

from conformance.tests.models.driven import Driven
from isrcheck.checker.explicit.explore import explore
from isrcheck.checker.resources.limits import Limits
from isrcheck.models.client_settings import Acks
from isrcheck.models.kafka.generations import MODEL
from isrcheck.models.kafka.state.clients import is_in_sequence, is_remembered, last_numbered
from isrcheck.models.kafka.state.values import UnknownProducer
from isrcheck.models.language.declarations import NONE
from isrcheck.models.messages import UsageError

GENERATIONS = tuple(MODEL.protocols)
OLD, NEW = GENERATIONS[2:6], GENERATIONS[6:]
"""From a producer that they do not know, leaders accept only sequence number 0, or any."""


class Partition(Driven):
    """A partition of three replicas that broker 0 leads, with an idempotent producer."""

    def __init__(self, protocol, **values):
        usual = {"records": 6, "log_size": 6, "retries": 3, "start_isr": 7, "enable_idempotence": True}
        in_flight = {"max_in_flight_requests": 1} if protocol == "0.11" else {}
        super().__init__(protocol, **(usual | in_flight | values))

    def log(self, r=0):
        return [self.state.log_record[r][offset] for offset in range(self.state.log_end_offset[r])]

    def remembered(self, r=0):
        return [record for record in range(self.state.records) if is_remembered(self.state, r, record)]

    def accepts_next(self, r=0):
        return is_in_sequence(self.state, r, self.state.next_record)


def append(count):
    return ["producer_appends at 0"] * count


def catch_up(follower):
    return [f"leader_handles_fetch 0 from {follower}", f"follower_applies_response {follower} from 0"]


@pytest.mark.parametrize("protocol", GENERATIONS[3:])
def test_a_leader_recognises_the_last_five_batches(protocol):
    partition = Partition(protocol, max_in_flight_requests=5).do(*append(5))
    assert partition.remembered() == [0, 1, 2, 3, 4]
    assert partition.accepts_next()
    assert not partition.can("producer_appends at 0")  # five are in flight
    assert not partition.can("request_fails of f")
    resent = partition.do("producer_resends a at 0")
    assert resent.log() == [0, 1, 2, 3, 4]
    assert [resent.state.pending[record] for record in range(5)] == [0] * 5
    scaled = Partition(protocol, max_in_flight_requests=2, remembered_batches=2).do(*append(2))
    assert scaled.remembered() == [0, 1]


def test_a_leader_of_0_11_recognises_the_last_batch():
    partition = Partition("0.11").do(*append(1))
    assert not partition.can("producer_appends at 0")
    assert partition.remembered() == [0]


def test_only_the_first_request_in_flight_is_sent_again():
    partition = Partition("2.4").do(*append(2))
    assert partition.can("producer_resends a at 0")
    assert not partition.can("producer_resends b at 0")


def test_a_resend_of_what_is_lost_is_appended():
    partition = Partition("2.4", min_insync_replicas=1, start_isr=1)
    partition.do("request_fails of a", "producer_resends a at 0")
    assert partition.log() == [0]
    assert partition.state.acknowledged[0]
    assert not partition.can("producer_resends a at 0")


def test_a_recognised_resend_is_answered_at_once_if_it_is_committed():
    """And its answer tells the producer of the new leader."""
    partition = Partition("2.4", min_insync_replicas=1, start_isr=3, replicas=2, elections=1)
    partition.do("producer_appends at 0", "leader_handles_fetch 0 from 1", "follower_applies_response 1 from 0")
    partition.do("controller_fails_over to 1", "broker_becomes_leader 1 in epoch 1")
    assert (partition.state.high_watermark[1], bool(partition.state.acknowledged[0])) == (1, False)
    partition.do("producer_resends a at 1")
    assert (partition.log(1), bool(partition.state.acknowledged[0])) == ([0], True)
    assert not partition.can("producer_appends at 0")


def test_a_resend_waits_for_the_high_watermark_of_the_leader_that_recognises_it():
    partition = Partition("2.4", preferred_elections=1).do("producer_appends at 0", *catch_up(1))
    partition.do("controller_elects_preferred 1", "broker_becomes_leader 1 in epoch 1", "producer_resends a at 1")
    assert (partition.state.pending[0], bool(partition.state.acknowledged[0])) == (1, False)


def test_a_leader_with_too_few_replicas_refuses_before_it_looks_at_numbers():
    partition = Partition("2.4", start_isr=1, max_in_flight_requests=2).do("producer_is_refused at 0")
    assert not partition.can("producer_resends a at 0")
    partition.do("producer_is_refused at 0")
    assert not partition.can("producer_is_refused at 0")  # two are in flight
    gap = Partition("2.4", replicas=2, start_isr=3, UNKNOWN_PID_POLICY=UnknownProducer.ANY_SEQUENCE)
    gap.do("request_fails of a", "producer_appends at 0")
    assert gap.can("producer_begins_new_epoch after the answer of 0 to a")
    gap.do("leader_shrinks_isr 0 by {1}")
    assert not gap.can("producer_begins_new_epoch after the answer of 0 to a")


@pytest.mark.parametrize("protocol", GENERATIONS[3:])
def test_with_what_a_producer_may_begin_at_a_leader_that_does_not_know_it(protocol):
    """Up to 2.4 with sequence number 0, since 2.5 with any (KIP-360)."""
    partition = Partition(protocol).do("request_fails of a")
    assert partition.can("producer_appends at 0") == (protocol in NEW)
    strict = Partition(protocol, UNKNOWN_PID_POLICY=UnknownProducer.SEQUENCE_ZERO).do("request_fails of a")
    assert not strict.can("producer_appends at 0")
    # Since KAFKA-15591, only a log that has held a record accepts any.
    empty = Partition(protocol, UNKNOWN_PID_POLICY=UnknownProducer.ANY_UNLESS_EMPTY).do("request_fails of a")
    assert not empty.can("producer_appends at 0")


@pytest.mark.parametrize("protocol", GENERATIONS[2:])
def test_no_gap_is_accepted(protocol):
    assert Partition(protocol, max_in_flight_requests=1).do("producer_appends at 0").accepts_next()
    if protocol != "0.11":
        two = Partition(protocol, max_in_flight_requests=5).do("producer_appends at 0", "request_fails of b")
        assert not two.can("producer_appends at 0")
        assert two.can("producer_resends a at 0")


@pytest.mark.parametrize(("protocol", "numbered"), [*((one, []) for one in OLD[1:]), *((one, [0, 1]) for one in NEW)])
def test_a_new_epoch_gives_up_what_is_in_flight_or_numbers_it_anew(protocol, numbered):
    """Before 2.5 the client takes a new producer id; since then it raises the epoch of its own id."""
    partition = Partition(protocol, UNKNOWN_PID_POLICY=UnknownProducer.ANY_SEQUENCE).do(
        "request_fails of a", "producer_appends at 0"
    )
    assert not partition.can("producer_resends a at 0")
    partition.do("producer_begins_new_epoch after the answer of 0 to a")
    assert partition.state.producer_epoch == 1
    assert [record for record in range(6) if partition.state.has_sequence[record]] == numbered
    assert partition.can("producer_resends a at 0") == bool(numbered)
    assert partition.can("producer_appends at 0") == (not numbered)  # in the new epoch from 0


def test_a_new_epoch_begins_only_after_a_refusal_of_the_first_request_in_flight():
    partition = Partition("2.4").do("request_fails of a", "request_fails of b")
    assert not partition.can("producer_begins_new_epoch after the answer of 0 to a")  # the leader would append it
    assert not partition.can("producer_begins_new_epoch after the answer of 0 to b")  # a is to be sent again first
    partition.do("producer_resends a at 0")
    assert not partition.can("producer_begins_new_epoch after the answer of 0 to a")  # the leader remembers it
    assert not partition.can("producer_begins_new_epoch after the answer of 1 to a")  # broker 1 does not lead


def test_a_producer_that_begins_a_new_epoch_has_heard_of_the_leader_that_refuses():
    partition = Partition("2.4", UNKNOWN_PID_POLICY=UnknownProducer.ANY_SEQUENCE, CLIENT_BUMPS_EPOCH=True)
    partition.do("request_fails of a", "producer_appends at 0", *catch_up(1))
    partition.do("controller_fails_over to 1", "broker_becomes_leader 1 in epoch 1")
    assert partition.can("producer_begins_new_epoch after the answer of 0 to a")
    cells = partition.cells
    partition.do("producer_begins_new_epoch after the answer of 1 to a")
    assert partition.can("producer_resends a at 1")
    assert not partition.can("producer_resends a at 0")
    partition.cells = cells
    partition.do("producer_appends at 1")
    assert not partition.can("producer_begins_new_epoch after the answer of 0 to a")


def test_a_record_that_was_numbered_anew_can_be_numbered_anew_again():
    """What Kafka ignores is an answer to the old numbers of a batch (ProducerBatch.sequenceHasBeenReset)."""
    partition = Partition("2.8", producer_epochs=3, delete_records=0).do("request_fails of a", "producer_appends at 0")
    partition.do("producer_begins_new_epoch after the answer of 0 to a")
    partition.do("producer_resends a at 0", "request_fails of c")  # a has sequence number 0, b 1, c 2
    assert [record for record in range(6) if partition.state.has_sequence[record]] == [0, 1, 2]
    other = Partition("2.8", producer_epochs=3, preferred_elections=1, elections=1, partition_changes=1)
    other.do("request_fails of a", "producer_appends at 0", "producer_begins_new_epoch after the answer of 0 to a")
    other.do("controller_elects_preferred 1", "broker_becomes_leader 1 in epoch 1", "producer_appends at 1")
    assert other.log(1) == [2]  # the leader does not know the producer
    other.do("producer_begins_new_epoch after the answer of 1 to a", "producer_resends a at 1")
    assert (other.state.producer_epoch, other.log(1)) == (2, [2, 0])


@pytest.mark.parametrize("protocol", OLD[1:])
def test_a_broker_that_accepts_any_sequence_number_does_so_from_a_new_producer_id(protocol):
    """An old client with a new broker: the broker knows nothing of the new id, whatever its log holds of the old."""
    partition = Partition(protocol, UNKNOWN_PID_POLICY=UnknownProducer.ANY_SEQUENCE, max_in_flight_requests=2)
    partition.do("request_fails of a", "producer_appends at 0", "producer_begins_new_epoch after the answer of 0 to a")
    partition.do("request_fails of c", "producer_appends at 0")
    assert partition.log() == [1, 3]


def test_no_new_epoch_begins_while_a_later_record_is_acknowledged():
    """Then the client expects an earlier record to fill the gap, and tries until it gives up (KAFKA-15591)."""
    partition = Partition("4.1", min_insync_replicas=1, start_isr=1).do("request_fails of a", "producer_appends at 0")
    assert partition.state.acknowledged[1]
    assert not partition.can("producer_begins_new_epoch after the answer of 0 to a")
    assert not partition.can("producer_resends a at 0")


def test_a_new_epoch_begins_if_the_next_record_is_refused_although_an_earlier_one_waits():
    """Its predecessor is acknowledged: that is what Kafka asks (TransactionManager.isNextSequence)."""
    refuses = "producer_begins_new_epoch after the answer of 1 to "
    for protocol, after in (("2.8", [0, 3]), ("2.4", [])):
        partition = Partition(protocol, **LOSING, UNKNOWN_PID_POLICY=UnknownProducer.ANY_SEQUENCE)
        partition.do("request_fails of a", *append(1), *catch_up(1), *append(1), "broker_crashes 0")
        partition.do("controller_elects_unclean 1", "broker_becomes_leader 1 in epoch 1")
        assert partition.log(1) == [1]  # c is lost
        assert not partition.can(refuses + "a")
        partition.do(refuses + "d")
        assert [record for record in range(6) if partition.state.has_sequence[record]] == after
        assert partition.state.next_record == 4
    gap = Partition("2.4").do(*append(1), "request_fails of b")
    assert not gap.can("producer_begins_new_epoch after the answer of 0 to c")  # b is to be sent again first


def test_a_leader_that_does_not_know_the_producer_refuses_any_of_its_records():
    """From 1.0 to 2.4: if nothing was acknowledged, the producer only sends again; otherwise it takes a new id."""
    unknown = "producer_begins_new_epoch after the answer of 0 to b"
    assert not Partition("2.4").do("request_fails of a").can(unknown)
    assert Partition("2.4", CLIENT_BUMPS_EPOCH=True).do("request_fails of a").can(unknown)
    lost = Partition("2.4", **LOSING).do(*append(1), "request_fails of b", "broker_crashes 0")
    lost.do("controller_elects_unclean 1", "broker_becomes_leader 1 in epoch 1")
    assert lost.can("producer_begins_new_epoch after the answer of 1 to b")
    assert lost.can("producer_begins_new_epoch after the answer of 1 to c")  # although b is expected to be the next


def test_a_follower_has_the_state_of_its_log_and_loses_it_by_truncation():
    partition = Partition("2.1", preferred_elections=1).do(*append(2), *catch_up(1))
    assert partition.remembered(1) == [0, 1]
    assert last_numbered(partition.state, 2) == NONE
    partition.do("controller_elects_preferred 2", "broker_becomes_leader 2 in epoch 1")
    assert not partition.can("producer_resends b at 2")
    partition.do("producer_resends a at 2")
    partition.do("broker_becomes_follower 1 in epoch 1", "follower_reconciles 1 with 2")
    assert partition.log(1) == []
    assert partition.remembered(1) == []


def test_a_restart_from_a_snapshot_remembers_the_last_batch_only():
    partition = Partition("2.4", producer_snapshots=1).do(*append(3), *catch_up(1))
    without = Partition("2.4").do(*append(3), *catch_up(1), "broker_bounces 1 checkpoint 0")
    assert without.remembered(1) == [0, 1, 2]
    assert not partition.can("broker_saves_producer_state at 2")  # its log is empty
    down = Partition("2.4", producer_snapshots=1).do(*append(1), "broker_crashes 0")
    assert not down.can("broker_saves_producer_state at 0")
    partition.do("broker_saves_producer_state at 1")
    assert not partition.can("broker_saves_producer_state at 0")  # a budget of one
    assert partition.remembered(1) == [0, 1, 2]  # in memory
    partition.do("broker_bounces 1 checkpoint 0")
    assert partition.remembered(1) == [2]
    assert partition.accepts_next(1)


def test_the_last_batch_of_a_snapshot_is_remembered_after_later_ones():
    """Batches that are appended after the restart join it in ProducerStateEntry."""
    partition = Partition("2.4", producer_snapshots=1, preferred_elections=1)
    partition.do(*append(2), *catch_up(1), "broker_saves_producer_state at 1", "broker_bounces 1 checkpoint 0")
    partition.do("controller_elects_preferred 1", "broker_becomes_leader 1 in epoch 1", "producer_appends at 1")
    assert partition.remembered(1) == [1, 2]


def test_a_snapshot_from_below_the_log_start_is_dropped():
    """Kafka: ProducerStateManager.truncateAndReload; so a restart forgets a producer whose records were all deleted."""
    alone = {"min_insync_replicas": 1, "start_isr": 1, "brokers_down": 0}
    partition = Partition("2.8", producer_snapshots=1, delete_records=1, **alone)
    partition.do(*append(2), "broker_saves_producer_state at 0", "leader_deletes_records at 0 before 2")
    assert partition.remembered() == [0, 1]
    partition.do("broker_crashes 0", "broker_restarts 0 checkpoint 2")
    assert partition.remembered() == []
    assert last_numbered(partition.state, 0) == NONE


@pytest.mark.parametrize("protocol", GENERATIONS[3:])
def test_deleted_records_take_their_producer_along_until_2_5(protocol):
    """KAFKA-7190. A leader that has forgotten the producer answers UNKNOWN_PRODUCER_ID up to 2.4."""
    partition = Partition(protocol, min_insync_replicas=1, start_isr=1, delete_records=1, producer_snapshots=0)
    partition.do(*append(2), "leader_deletes_records at 0 before 2")
    kept = protocol in NEW
    assert partition.remembered() == ([0, 1] if kept else [])
    assert partition.can("producer_appends at 0") == kept


ONE_OF_TWO = {"replicas": 2, "elections": 1, "min_insync_replicas": 1, "start_isr": 1, "delete_records": 1}
FROM_ZERO = "producer_begins_from_zero after the answer of 0 to b"
NEW_ID = "producer_begins_new_epoch after the answer of 0 to b"
LOSING = {"replicas": 2, "elections": 1, "min_insync_replicas": 1, "start_isr": 1, "unclean_elections": 1}


def test_a_producer_begins_from_zero_at_a_leader_that_has_deleted_its_records():
    """From 1.0 to 2.4 (KAFKA-5793), and in the same epoch: another leader takes b for a, which had its number."""
    partition = Partition("2.1", **ONE_OF_TWO).do("producer_appends at 0", "request_fails of b", "request_fails of c")
    partition.do("leader_handles_fetch 0 from 1", "leader_deletes_records at 0 before 1")
    old_client = Partition("0.11", **ONE_OF_TWO).do("producer_appends at 0", "request_fails of b")
    old_client.do("leader_deletes_records at 0 before 1")
    for each, begins, other in ((partition, FROM_ZERO, NEW_ID), (old_client, NEW_ID, FROM_ZERO)):
        assert each.can(begins)
        assert not each.can(other)
    partition.do(FROM_ZERO, *catch_up(1)[1:], "leader_handles_fetch 0 from 1")
    partition.do("controller_fails_over to 1", "broker_becomes_leader 1 in epoch 1")
    assert not partition.can("producer_resends b at 1")
    assert not partition.can("leader_mistakes_request b at 0")  # nobody else has that number there
    partition.do("leader_mistakes_request b at 1")
    assert (partition.log(1), bool(partition.state.acknowledged[1])) == ([0], True)
    partition.do("producer_resends c at 1")  # number 1 follows number 0, whichever record had it
    assert (partition.log(1), partition.state.acknowledged_before) == ([0, 2], 2)


def test_a_producer_begins_from_zero_if_the_next_record_is_refused_while_earlier_ones_wait():
    begins = "producer_begins_from_zero after the answer of 0 to {}".format
    partition = Partition("2.4", **ONE_OF_TWO | {"delete_records": 2}).do("request_fails of a")
    assert not partition.can(begins("b"))  # nothing was acknowledged: every number stays as it is
    partition.do("producer_resends a at 0", "request_fails of b", "leader_deletes_records at 0 before 1")
    assert not partition.can(begins("d"))
    partition.do(begins("c"))
    assert [record for record in range(6) if partition.state.has_sequence[record]] == [1, 2]
    assert not partition.can("producer_resends c at 0")
    partition.do("producer_resends b at 0", "producer_resends c at 0", "producer_appends at 0")
    assert partition.log()[1:] == [1, 2, 3]


def test_a_producer_takes_a_new_id_if_acknowledged_records_may_be_lost():
    """The log of the leader that does not know it starts below what was acknowledged."""
    partition = Partition("2.1", **ONE_OF_TWO | {"unclean_elections": 1}).do(*append(1), *catch_up(1), *append(1))
    partition.do(
        "request_fails of c", "broker_crashes 0", "controller_elects_unclean 1", "broker_becomes_leader 1 in epoch 1"
    )
    partition.do("leader_deletes_records at 1 before 1")
    assert partition.state.acknowledged_before == 2
    assert not partition.can("producer_begins_from_zero after the answer of 1 to c")
    partition.do("producer_begins_new_epoch after the answer of 1 to c")
    assert partition.state.acknowledged_before == 0


@pytest.mark.parametrize("protocol", NEW)
def test_since_2_2_a_producer_does_not_return_to_an_earlier_leader(protocol):
    """KAFKA-7738; in this model since 2.4."""
    partition = Partition(protocol, preferred_elections=1, elections=1, partition_changes=1)
    becomes = (
        "broker_becomes_leader 1 in epoch 1" if protocol == "2.8" else "broker_applies_metadata 1 of partition epoch 1"
    )
    partition.do("controller_elects_preferred 1", becomes, "producer_appends at 1")
    assert not partition.can("producer_appends at 0")
    assert not partition.can("producer_resends a at 0")


@pytest.mark.parametrize(
    ("protocol", "values", "says"),
    [
        *((old, {}, "came with the record format of 0.11") for old in GENERATIONS[:2]),
        ("0.11", {"max_in_flight_requests": 2}, "at most as many requests in flight"),
        ("2.4", {"acks": Acks.ONE}, "refuses to start an idempotent producer without acks=all"),
        ("2.4", {"max_in_flight_requests": 6}, "at most as many requests in flight"),
        ("2.4", {"enable_idempotence": False, "producer_snapshots": 1}, "producer_snapshots is about the state"),
    ],
)
def test_what_kafka_refuses_is_refused(protocol, values, says):
    with pytest.raises(UsageError, match=re.escape(says)):
        Partition(protocol, **values)


# --------------------------------------------------------------------------------------------------- what is promised

ONE_RECORD_MORE = {"records": 2, "log_size": 3, "retries": 2, "crashes": 1, "elections": 1, "start_isr": 7}
SMALL = ONE_RECORD_MORE | {"replicas": 2, "min_insync_replicas": 1, "start_isr": 3}


def depths(protocol, **values):
    """The depths at which duplicates and disorder violate a promise; and, if nothing does, the number of states."""
    instance = MODEL.instance(protocol, {"enable_idempotence": True} | values)
    found = explore(instance, Limits(memory=4 << 30), only=["no_duplicates", "order_preserved"])
    paths = [found.findings[name].found.path for name in ("no_duplicates", "order_preserved")]
    assert found.exhausted or None not in paths
    return *(path and path.depth for path in paths), found.distinct if found.exhausted else None


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("protocol", "expected"), [("2.4", (None, None, 10_999)), ("2.8", (9, 4, None)), ("4.1", (10, 4, None))]
)
def test_order_and_single_copies_with_two_replicas(protocol, expected):
    bounds = SMALL | ({"bounces": 0} if protocol == "2.4" else {"partition_changes": 1})
    assert depths(protocol, **bounds) == expected


@pytest.mark.parametrize(
    "values",
    [
        {"UNKNOWN_PID_POLICY": UnknownProducer.SEQUENCE_ZERO},
        {"UNKNOWN_PID_POLICY": UnknownProducer.ANY_UNLESS_EMPTY},
        {"max_in_flight_requests": 1},
    ],
)
def test_what_repairs_4_1(values):
    assert depths("4.1", **SMALL, partition_changes=1, **values)[:2] == (None, None)


@pytest.mark.recorded
@pytest.mark.parametrize(
    ("protocol", "values", "expected"),
    [
        ("4.1", {"UNKNOWN_PID_POLICY": UnknownProducer.ANY_UNLESS_EMPTY}, (None, None, 1_952_409)),
        ("4.1", {"max_in_flight_requests": 1}, (None, None, 1_083_570)),
    ],
)
def test_4_1_with_three_replicas(protocol, values, expected):
    """Without the repair of KAFKA-18991 (RESPONSE_EPOCH_MATCHED), 4,985,901 and 2,391,146 states."""
    assert depths(protocol, **ONE_RECORD_MORE, partition_changes=1, **values) == expected
