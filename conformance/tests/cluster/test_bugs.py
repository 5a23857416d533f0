"""Every seeded bug is detected by a short driver that succeeds without the bug."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import pytest

from conformance.tests.cluster.kraft.test_kraft import SEEN_WITH_KRAFT
from isrcheck.conformance.cluster.acts import (
    acknowledged,
    alter_isr_in_flight,
    append,
    apply,
    ask,
    bounce,
    complete_parked_fetch,
    deliver_requests,
    fetch,
    learn,
    payloads,
    read,
    reconcile,
    restart,
    view_of,
)
from isrcheck.conformance.cluster.broker.broker import TimerKind
from isrcheck.conformance.cluster.cluster import Cluster
from isrcheck.conformance.cluster.configuration.bugs import Bug
from isrcheck.conformance.cluster.configuration.protocol import Switches, generation
from isrcheck.conformance.cluster.configuration.settings import AutoOffsetReset, ClusterError, Settings, Start
from isrcheck.conformance.cluster.controller.controller import Election
from isrcheck.conformance.cluster.network.messages import (
    Acks,
    AlterIsrRequest,
    AlterIsrResponse,
    Errors,
    FetchResponse,
    Isolation,
    Payload,
)
from isrcheck.conformance.cluster.network.records import Control, ProducerStamp, Record
from isrcheck.conformance.cluster.observe import LeadershipView, ProducerStateView

PAIR = Start(replicas=2)
PROMPT = Settings(replica_fetch_backoff_ms=0)
FENCED = Errors.FENCED_LEADER_EPOCH


def leadership(cluster: Cluster, broker: int = 0) -> LeadershipView:
    found = view_of(cluster, broker).leadership
    assert found is not None
    return found


def high_watermark_after_an_append(cluster: Cluster) -> object:
    append(cluster, "a", leader=0)
    return view_of(cluster, 0).high_watermark


def acknowledged_after_an_append(cluster: Cluster) -> object:
    append(cluster, "a", leader=0)
    return acknowledged(cluster)


def log_after_reconciling(cluster: Cluster) -> object:
    append(cluster, "x", leader=0)
    cluster.elect(Election.PREFERRED, 1)
    learn(cluster, 1, 0)
    append(cluster, "y", leader=1)
    reconcile(cluster, 0)
    return payloads(cluster, 0)


def remote_offset_after_a_disk_loss(cluster: Cluster) -> object:
    append(cluster, "a", leader=0)
    fetch(cluster, 1, 0)
    fetch(cluster, 1, 0)
    cluster.lose_disk(1)
    restart(cluster, 1)
    reconcile(cluster, 1)
    ask(cluster, 1, 0)
    return leadership(cluster).remote_log_end_offsets


def isr_after_the_leader_came_back(cluster: Cluster) -> object:
    append(cluster, "a", leader=0)
    fetch(cluster, 1, 0)
    fetch(cluster, 1, 0)
    bounce(cluster, 0)
    ask(cluster, 2, 0)
    return sorted(cluster.observe().controller.isr)


def isr_after_a_lagging_fetch(cluster: Cluster) -> object:
    append(cluster, "a", leader=0)
    ask(cluster, 1, 0)
    return sorted(cluster.observe().controller.isr)


def high_watermark_in_a_response(cluster: Cluster) -> object:
    append(cluster, "a", leader=0)
    fetch(cluster, 1, 0)
    append(cluster, "b", leader=0)
    fetch(cluster, 1, 0)
    return view_of(cluster, 1).high_watermark


def epoch_entries_after_truncating(cluster: Cluster) -> object:
    append(cluster, "x", leader=0)
    cluster.elect(Election.PREFERRED, 1)
    learn(cluster, 1)
    append(cluster, "y", leader=1)
    cluster.elect(Election.PREFERRED, 0)
    learn(cluster, 0, 1)
    cluster.fire(1, TimerKind.FETCHER_DO_WORK, 0)
    cluster.deliver(cluster.messages()[-1].number)
    apply(cluster, 1, 0)
    return (payloads(cluster, 1), [each.leader_epoch for each in view_of(cluster, 1).epoch_entries])


def answer_to_a_fetch_of_an_older_epoch(cluster: Cluster) -> object:
    cluster.elect(Election.PREFERRED, 1)
    cluster.elect(Election.PREFERRED, 0)
    learn(cluster, 0)
    append(cluster, "y", leader=0)
    answer = ask(cluster, 1, 0)
    return answer and isinstance(answer.payload, FetchResponse) and answer.payload.error


def high_watermark_after_a_shrink(cluster: Cluster) -> object:
    append(cluster, "a", leader=0)
    cluster.advance(10_001)
    assert cluster.fire(0, TimerKind.ISR_SHRINK_CHECK)
    return view_of(cluster, 0).high_watermark


def sources_after_a_new_leader(cluster: Cluster) -> object:
    cluster.elect(Election.PREFERRED, 1)
    learn(cluster, 2)
    return [each.source for each in view_of(cluster, 2).fetchers if each.mode is not None]


def checkpointed_high_watermark(cluster: Cluster) -> object:
    append(cluster, "a", leader=0)
    cluster.fire(0, TimerKind.HIGH_WATERMARK_CHECKPOINT)
    return view_of(cluster, 0).checkpointed_high_watermark


def log_of_an_elected_leader(cluster: Cluster) -> object:
    append(cluster, "a", leader=0)
    fetch(cluster, 1, 0)
    cluster.elect(Election.FAIL_OVER, 1)
    learn(cluster, 1)
    return payloads(cluster, 1)


def remote_offsets_of_a_leader_that_followed(cluster: Cluster) -> object:
    append(cluster, "a", leader=0)
    fetch(cluster, 1, 0)
    fetch(cluster, 1, 0)
    for leader in (1, 0):
        cluster.elect(Election.PREFERRED, leader)
        learn(cluster, 0, 1)
    return leadership(cluster).remote_log_end_offsets


def remote_offset_after_a_parked_fetch(cluster: Cluster) -> object:
    ask(cluster, 1, 0)
    append(cluster, "a", leader=0)
    complete_parked_fetch(cluster, 0, 1)
    return leadership(cluster).remote_log_end_offsets


def log_after_a_retry(cluster: Cluster) -> object:
    send = append(cluster, "a", leader=0)
    cluster.resend(send, 0)
    deliver_requests(cluster)
    return payloads(cluster, 0)


def isr_after_a_zombie_shrank_its_own(cluster: Cluster) -> object:
    cluster.elect(Election.FAIL_OVER, 1)
    append(cluster, "a", leader=0)
    cluster.advance(10_001)
    cluster.fire(0, TimerKind.ISR_SHRINK_CHECK)
    return sorted(cluster.observe().controller.isr)


def leader_after_metadata_out_of_order(cluster: Cluster) -> object:
    cluster.elect(Election.PREFERRED, 1)
    cluster.elect(Election.PREFERRED, 0)
    for message in reversed([each for each in cluster.messages() if each.destination == 2]):
        cluster.deliver(message.number)
    return (view_of(cluster, 2).leader, view_of(cluster, 2).leader_epoch)


def truncating_after_an_answer_of_an_older_epoch(cluster: Cluster) -> object:
    cluster.elect(Election.PREFERRED, 1)
    learn(cluster, 1, 2)
    ask(cluster, 2, 1)
    cluster.crash(0)
    cluster.notice_dead(0)
    learn(cluster, 1, 2)
    apply(cluster, 2, 1)
    return view_of(cluster, 2).is_truncating


def read_committed_of_an_open_transaction(cluster: Cluster) -> object:
    cluster.begin_transaction()
    append(cluster, "a", leader=0)
    return read(cluster, 0, "consumer", Isolation.READ_COMMITTED)


def log_after_a_zombie(cluster: Cluster) -> object:
    """A fenced instance of a producer sends once more."""
    answers: list[Payload | None] = []
    for epoch, sequence in ((0, 0), (1, 0), (0, 1)):
        stamp = ProducerStamp(9, epoch, sequence)
        cluster.outside.produce(0, f"e{epoch}", Acks.LEADER, stamp, 1, answers.append)
        deliver_requests(cluster)
    return payloads(cluster, 0)


def read_committed_of_an_aborted_transaction(cluster: Cluster) -> object:
    cluster.begin_transaction()
    append(cluster, "a", leader=0)
    cluster.end_transaction(Control.ABORT)
    cluster.write_marker(0)
    cluster.deliver(cluster.messages()[-1].number)
    return read(cluster, 0, "consumer", Isolation.READ_COMMITTED)


def log_after_a_retry_at_the_new_leader(cluster: Cluster) -> object:
    send = append(cluster, "a", leader=0)
    fetch(cluster, 1, 0)
    cluster.disconnect(send)
    cluster.elect(Election.FAIL_OVER, 1)
    learn(cluster, 1)
    cluster.resend(send, 1)
    deliver_requests(cluster)
    return payloads(cluster, 1)


def isr_without_fetches(cluster: Cluster) -> object:
    append(cluster, "a", leader=0)
    cluster.advance(10_001)
    cluster.fire(0, TimerKind.ISR_SHRINK_CHECK)
    return sorted(cluster.observe().controller.isr)


def high_watermark_while_a_follower_joins(cluster: Cluster) -> object:
    ask(cluster, 2, 0)
    append(cluster, "a", leader=0)
    fetch(cluster, 1, 0)
    fetch(cluster, 1, 0)
    return view_of(cluster, 0).high_watermark


def isr_after_an_answer_of_an_older_epoch(cluster: Cluster) -> object:
    """The answer says that broker 2 has joined; then it has died, and broker 0 leads again."""
    ask(cluster, 2, 0)
    cluster.deliver(alter_isr_in_flight(cluster, 0, AlterIsrRequest).number)
    cluster.elect(Election.PREFERRED, 1)
    cluster.elect(Election.PREFERRED, 0)
    cluster.crash(2)
    cluster.notice_dead(2)
    learn(cluster, 0)
    cluster.deliver(alter_isr_in_flight(cluster, 0, AlterIsrResponse).number)
    return sorted(leadership(cluster).isr)


def requests_of_a_leader_that_is_elected_again(cluster: Cluster) -> object:
    ask(cluster, 2, 0)
    cluster.elect(Election.PREFERRED, 1)
    cluster.elect(Election.PREFERRED, 0)
    learn(cluster, 0)
    append(cluster, "a", leader=0)
    cluster.advance(10_001)
    cluster.fire(0, TimerKind.ISR_SHRINK_CHECK)
    return sum(isinstance(message.payload, AlterIsrRequest) for message in cluster.messages())


def remote_offset_after_a_diverging_fetch(cluster: Cluster) -> object:
    append(cluster, "x", leader=0)
    cluster.elect(Election.PREFERRED, 1)
    learn(cluster, 1, 0)
    ask(cluster, 0, 1)
    return leadership(cluster, 1).remote_log_end_offsets


def log_after_a_diverging_fetch(cluster: Cluster) -> object:
    append(cluster, "x", leader=0)
    cluster.elect(Election.PREFERRED, 1)
    learn(cluster, 1, 0)
    append(cluster, "y", leader=1)
    fetch(cluster, 0, 1)
    cluster.fire(0, TimerKind.FETCHER_DO_WORK, 1)
    return payloads(cluster, 0)


def log_after_writing_in_an_epoch_that_the_leader_lacks(cluster: Cluster) -> object:
    """Epoch 0 ends at 2 in the leader's log, and at 1 in the follower's, which has written b in epoch 1."""
    append(cluster, "a", leader=0)
    cluster.elect(Election.FAIL_OVER, 1)
    learn(cluster, 1)
    append(cluster, "b", leader=1)
    cluster.crash(1)
    cluster.elect(Election.UNCLEAN, 0)
    learn(cluster, 0)
    restart(cluster, 1)
    fetch(cluster, 1, 0)
    cluster.fire(1, TimerKind.FETCHER_DO_WORK, 0)
    return payloads(cluster, 1)


def log_after_a_retry_of_the_first_of_two(cluster: Cluster) -> object:
    first = append(cluster, "a", leader=0)
    append(cluster, "b", leader=0)
    cluster.disconnect(first)
    cluster.resend(first, 0)
    deliver_requests(cluster)
    acknowledged(cluster)
    return (payloads(cluster, 0), cluster.observe().sent[0][1][-1].outcome)


def log_after_a_gap(cluster: Cluster) -> object:
    cluster.produce("a", 0)
    cluster.drop(cluster.messages()[-1].number)
    append(cluster, "b", leader=0)
    return payloads(cluster, 0)


def snapshot_after_truncating(cluster: Cluster) -> object:
    append(cluster, "x", leader=0)
    cluster.roll_segment(0)
    cluster.elect(Election.PREFERRED, 1)
    learn(cluster, 1, 0)
    reconcile(cluster, 0)
    return (payloads(cluster, 0), view_of(cluster, 0).producers)


def log_after_records_were_lost(cluster: Cluster) -> object:
    """The leader of the second epoch lacks record a, which was acknowledged, so that b is out of order there."""
    append(cluster, "a", leader=0)
    acknowledged(cluster)
    cluster.crash(0)
    cluster.elect(Election.UNCLEAN, 1)
    learn(cluster, 1)
    append(cluster, "b", leader=1)
    acknowledged(cluster)
    cluster.resend(1, 1)
    deliver_requests(cluster)
    return payloads(cluster, 1)


def lag_at_a_follower(cluster: Cluster) -> object:
    append(cluster, "a", leader=0)
    fetch(cluster, 1, 0)
    read(cluster, 1)
    return [(each.read, each.known_end_offset) for each in cluster.observe_consumers()]


def known_end_of_an_open_transaction(cluster: Cluster) -> object:
    cluster.begin_transaction()
    append(cluster, "a", leader=0)
    read(cluster, 0, isolation=Isolation.READ_COMMITTED)
    return cluster.observe_consumers()[0].known_end_offset


def position_after_a_truncation(cluster: Cluster) -> object:
    cluster.tell_consumer(0)
    append(cluster, "a", leader=0)
    read(cluster, 0)
    cluster.crash(0)
    cluster.elect(Election.UNCLEAN, 1)
    learn(cluster, 1)
    cluster.tell_consumer(1)
    for _ in range(4):  # two questions: where the epoch ends, and where the log does
        for message in cluster.messages():
            if "consumer" in (message.source, message.destination):
                cluster.deliver(message.number)
    return cluster.observe_consumers()[0].position


@dataclass(frozen=True)
class Seen:
    """A bug, and a driver's observations without and with it."""

    bug: Bug
    drive: Callable[[Cluster], object]
    right: object
    wrong: object
    start: Start = PAIR
    settings: Settings = PROMPT
    protocol: str | Switches = "2.1"


LOSES = Start(replicas=2, isr=frozenset({0}))
RENUMBERS = generation("2.4").with_switch("CLIENT_BUMPS_EPOCH", "on")
ALONE = Settings(min_insync_replicas=1, idempotent=True)
UNCLEAN = Settings(
    min_insync_replicas=1,
    idempotent=True,
    unclean_leader_election_enable=True,
    auto_offset_reset=AutoOffsetReset.EARLIEST,
)
IN_SYNC_01 = Start(isr=frozenset({0, 1}))
LAGGING = Start(replicas=2, isr=frozenset({0}), log=("r",))
SEEN = (
    Seen(Bug.HW_OFF_BY_ONE, high_watermark_after_an_append, 0, 1),
    Seen(Bug.ACK_BEFORE_ISR, acknowledged_after_an_append, (), ("a",)),
    Seen(Bug.TRUNCATION_TO_WRONG_EPOCH_END, log_after_reconciling, ("r",), ("r", "x"), Start(replicas=2, log=("r",))),
    Seen(Bug.REMOTE_OFFSET_IS_MAXIMUM, remote_offset_after_a_disk_loss, ((1, 0),), ((1, 1),)),
    Seen(Bug.EXPANSION_WITHOUT_EPOCH_START, isr_after_the_leader_came_back, [0, 1], [0, 1, 2], IN_SYNC_01),
    Seen(Bug.EXPANSION_WITHOUT_HIGH_WATERMARK, isr_after_a_lagging_fetch, [0], [0, 1], LAGGING, ALONE),
    Seen(Bug.RESPONSE_HW_AFTER_FETCH, high_watermark_in_a_response, 0, 1),
    Seen(Bug.EPOCH_CACHE_NOT_TRUNCATED, epoch_entries_after_truncating, ((), []), ((), [1])),
    Seen(Bug.STALE_FETCHES_COUNTED, answer_to_a_fetch_of_an_older_epoch, FENCED, Errors.NONE, Start()),
    Seen(
        Bug.HW_NOT_RECOMPUTED_AFTER_SHRINK, high_watermark_after_a_shrink, 1, 0, PAIR, Settings(min_insync_replicas=1)
    ),
    Seen(Bug.MIN_ISR_NOT_CHECKED, acknowledged_after_an_append, (), ("a",), LAGGING),
    Seen(Bug.FETCHER_NOT_CLEARED, sources_after_a_new_leader, [1], [0, 1], Start()),
    Seen(Bug.CHECKPOINT_AHEAD, checkpointed_high_watermark, 0, 1),
    Seen(Bug.LEADER_TRUNCATES_ON_ELECTION, log_of_an_elected_leader, ("a",), ()),
    Seen(Bug.REMOTE_OFFSETS_NOT_RESET, remote_offsets_of_a_leader_that_followed, ((1, None),), ((1, 1),)),
    Seen(Bug.PARKED_FETCH_UPDATES, remote_offset_after_a_parked_fetch, ((1, 0),), ((1, 1),)),
    Seen(Bug.DUPLICATE_APPENDED, log_after_a_retry, ("a",), ("a", "a"), PAIR, Settings(idempotent=True)),
    Seen(
        Bug.DUPLICATE_WINDOW_OF_ONE,
        log_after_a_retry_of_the_first_of_two,
        *((("a", "b"), Errors.NONE), (("a", "b"), Errors.OUT_OF_ORDER_SEQUENCE_NUMBER)),
        *(Start(replicas=1), ALONE),
    ),
    Seen(Bug.OUT_OF_ORDER_ACCEPTED, log_after_a_gap, (), ("b",), Start(replicas=1), ALONE),
    Seen(
        Bug.SNAPSHOT_NOT_TRUNCATED,
        snapshot_after_truncating,
        *(((), ProducerStateView(0, 0)), ((), ProducerStateView(1, 1, ((ProducerStamp(1, 0, 0), 0),)))),
        *(PAIR, Settings(replica_fetch_backoff_ms=0, idempotent=True)),
    ),
    Seen(Bug.EPOCH_NOT_RENUMBERED, log_after_records_were_lost, ("b",), (), LOSES, UNCLEAN, RENUMBERS),
    Seen(
        *(Bug.FOLLOWER_SHOWS_LOG_END, lag_at_a_follower, [((), 0)], [((Record(0, 0, "a"),), 1)]),
        *(PAIR, Settings(replica_fetch_backoff_ms=0, follower_fetching=True)),
    ),
    Seen(Bug.LAG_BY_HIGH_WATERMARK, known_end_of_an_open_transaction, 0, 1, Start(replicas=1), ALONE),
    Seen(Bug.POSITION_NOT_VALIDATED, position_after_a_truncation, 0, 1, LOSES, UNCLEAN, "2.4"),
    Seen(Bug.ISR_WRITE_UNCONDITIONAL, isr_after_a_zombie_shrank_its_own, [1], [0]),
    Seen(Bug.STALE_METADATA_APPLIED, leader_after_metadata_out_of_order, (0, 2), (1, 1), Start()),
    Seen(Bug.STALE_EPOCH_ANSWER_APPLIED, truncating_after_an_answer_of_an_older_epoch, True, False, Start(log=("r",))),
    Seen(Bug.OPEN_TRANSACTION_READ, read_committed_of_an_open_transaction, (), ("a",), Start(replicas=1), ALONE),
    Seen(Bug.ZOMBIE_NOT_FENCED, log_after_a_zombie, ("e0", "e1"), ("e0", "e1", "e0")),
    Seen(Bug.ABORT_NOT_INDEXED, read_committed_of_an_aborted_transaction, (), ("a",), Start(replicas=1), ALONE),
    Seen(
        Bug.PRODUCERS_NOT_REPLICATED,
        log_after_a_retry_at_the_new_leader,
        *(("a",), ("a", "a")),
        PAIR,
        Settings(replica_fetch_backoff_ms=0, min_insync_replicas=1, idempotent=True),
    ),
    Seen(Bug.ISR_KEEPS_DEAD_FOLLOWER, isr_without_fetches, [0], [0, 1]),
    Seen(Bug.ISR_NOT_MAXIMAL, high_watermark_while_a_follower_joins, 0, 1, IN_SYNC_01, PROMPT, "2.8"),
    Seen(
        Bug.STALE_ALTER_ISR_ANSWER_APPLIED,
        isr_after_an_answer_of_an_older_epoch,
        *([0, 1], [0, 1, 2], IN_SYNC_01, PROMPT, "2.8"),
    ),
    Seen(
        *(Bug.SECOND_ALTER_ISR_SENT, requests_of_a_leader_that_is_elected_again, 1, 2),
        *(IN_SYNC_01, PROMPT, "2.8"),
    ),
    Seen(
        *(Bug.DIVERGING_FETCH_COUNTS, remote_offset_after_a_diverging_fetch, ((0, None),), ((0, 1),)),
        *(PAIR, PROMPT, "2.8"),
    ),
    Seen(
        *(Bug.DIVERGENCE_NOT_SEEN, log_after_a_diverging_fetch, ("r",), ("r", "x")),
        *(Start(replicas=2, log=("r",)), PROMPT, "2.8"),
    ),
    Seen(
        Bug.TRUNCATES_TO_ANSWERED_OFFSET,
        log_after_writing_in_an_epoch_that_the_leader_lacks,
        *(("r",), ("r", "b")),
        *(
            Start(replicas=2, log=("r",)),
            replace(PROMPT, min_insync_replicas=1, unclean_leader_election_enable=True),
            "2.8",
        ),
    ),
)


@pytest.mark.parametrize("seen", SEEN, ids=[each.bug.name.lower() for each in SEEN])
def test_a_seeded_bug_is_detected(seen: Seen) -> None:
    assert seen.drive(Cluster(seen.protocol, seen.start, seen.settings)) == seen.right
    assert seen.drive(Cluster(seen.protocol, seen.start, seen.settings, bug=seen.bug.name.lower())) == seen.wrong


WITH_KRAFT = (
    *(Bug.FENCED_BROKER_ELIGIBLE, Bug.BROKER_EPOCH_NOT_COMPARED, Bug.PARTITION_EPOCH_NOT_COMPARED),
    *(Bug.INELIGIBLE_CHANGE_KEPT, Bug.HIGH_WATERMARK_GATE_MISSING, Bug.UNCLEAN_BROKER_KEEPS_ELIGIBILITY),
    *(Bug.LAST_KNOWN_LEADER_TOO_EARLY, Bug.REMOVAL_KEEPS_LEADER_EPOCH, Bug.OLD_RECORD_APPLIED),
    *(each.bug for each in SEEN_WITH_KRAFT if isinstance(each.bug, Bug)),
)
"""Bugs of clusters with KRaft: test_kraft.py and the walks of replay/test_bugs.py show them."""


def test_every_seeded_bug_has_a_driver() -> None:
    assert [each.bug for each in SEEN] == [bug for bug in Bug if bug not in WITH_KRAFT]


def test_a_bug_is_chosen_by_name() -> None:
    with pytest.raises(ClusterError, match=r"no bug off_by_two; the bugs are: hw_off_by_one, ack_before_isr, "):
        Cluster(bug="off_by_two")
