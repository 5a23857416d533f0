"""Truncation on fetch (2.7): the response to a fetch says where the logs diverge. Fact sheet 3.5 and 8.7."""

from __future__ import annotations

import pytest

from isrcheck.conformance.cluster.acts import (
    append,
    apply,
    ask,
    fetch,
    finish_alter_isr,
    learn,
    payloads,
    response_in_flight,
    restart,
    view_of,
)
from isrcheck.conformance.cluster.broker.broker import TimerKind
from isrcheck.conformance.cluster.broker.fetcher import Mode
from isrcheck.conformance.cluster.cluster import Cluster
from isrcheck.conformance.cluster.configuration.protocol import Switches, generation
from isrcheck.conformance.cluster.configuration.settings import Settings, Start
from isrcheck.conformance.cluster.controller.controller import Election
from isrcheck.conformance.cluster.network.messages import DivergingEpoch, Errors, FetchRequest, FetchResponse

PROMPT = Settings(replica_fetch_backoff_ms=0, min_insync_replicas=1)
ONE_STEP = generation("2.8").with_switch("HW_FROM_DIVERGING_RESP", "off")


def diverged(protocol: str | Switches = "2.8", replicas: int = 2) -> Cluster:
    """Broker 1 leads in epoch 1 with r and y, which is committed there; broker 0, the former leader, has r and x."""
    cluster = Cluster(protocol, Start(replicas=replicas, log=("r",)), PROMPT)
    append(cluster, "x", leader=0)
    cluster.elect(Election.FAIL_OVER, 1)
    learn(cluster, 0, 1)
    append(cluster, "y", leader=1)
    return cluster


def answer_to(cluster: Cluster, follower: int, leader: int) -> FetchResponse:
    found = response_in_flight(cluster, follower, leader)
    assert found is not None
    assert isinstance(found.payload, FetchResponse)
    return found.payload


def test_a_fetch_names_the_newest_epoch_and_the_response_where_it_ends() -> None:
    cluster = diverged()
    assert [one.mode for one in view_of(cluster, 0).fetchers] == [Mode.FETCHING]
    cluster.fire(0, TimerKind.FETCHER_DO_WORK, 1)
    request = cluster.messages()[-1]
    assert request.payload == FetchRequest(2, 0, 1, 0)
    cluster.deliver(request.number)
    assert answer_to(cluster, 0, 1).diverging_epoch == DivergingEpoch(0, 1)
    assert answer_to(cluster, 0, 1).records == ()
    leads = view_of(cluster, 1).leadership
    assert leads is not None
    assert (leads.remote_log_end_offsets, leads.proposed_isr) == (((0, None),), None)  # KAFKA-13141 is repaired
    apply(cluster, 0, 1)
    cluster.fire(0, TimerKind.FETCHER_DO_WORK, 1)
    assert payloads(cluster, 0) == ("r",)
    fetch(cluster, 0, 1)
    assert payloads(cluster, 0) == ("r", "y")
    ask(cluster, 0, 1)
    finish_alter_isr(cluster, 1)
    assert cluster.controller_metadata().isr == {0, 1}


def test_8_7a_a_diverging_fetch_counts_and_a_record_is_lost() -> None:
    """KAFKA-13141, in 2.8.0."""
    cluster = diverged(generation("2.8").with_switch("DIVERGING_RESP_UPDATES_STATE", "on"))
    assert view_of(cluster, 1).high_watermark == 2
    ask(cluster, 0, 1)
    finish_alter_isr(cluster, 1)
    assert cluster.controller_metadata().isr == {0, 1}
    cluster.crash(1)
    cluster.elect(Election.FAIL_OVER, 0)
    learn(cluster, 0)
    assert payloads(cluster, 0) == ("r", "x")


@pytest.mark.parametrize(("protocol", "between"), [("2.8", (2, Mode.TRUNCATING)), (ONE_STEP, (1, Mode.FETCHING))])
def test_8_7b_the_high_watermark_of_a_diverging_response(protocol: str | Switches, between: object) -> None:
    """KAFKA-14704: before 3.5, a follower takes it for a moment over records that were never committed."""
    cluster = diverged(protocol)
    fetch(cluster, 0, 1)
    view = view_of(cluster, 0)
    assert (view.high_watermark, view.fetchers[0].mode) == between
    cluster.fire(0, TimerKind.FETCHER_DO_WORK, 1)
    assert (payloads(cluster, 0), view_of(cluster, 0).high_watermark) == (("r",), 1)


@pytest.mark.parametrize(("matched", "at_follower"), [("off", ("r",)), ("on", ("r", "x"))])
def test_8_7d_an_old_response_truncates_in_a_later_epoch(matched: str, at_follower: tuple[str, ...]) -> None:
    """KAFKA-18991: the response is applied if the follower comes back to the same leader with the same log end."""
    cluster = diverged(ONE_STEP.with_switch("RESPONSE_EPOCH_MATCHED", matched), replicas=3)
    ask(cluster, 0, 1)
    cluster.elect(Election.PREFERRED, 2)
    learn(cluster, 0)
    cluster.elect(Election.PREFERRED, 1)
    learn(cluster, 0)
    assert view_of(cluster, 0).follows == 1
    apply(cluster, 0, 1)
    assert payloads(cluster, 0) == at_follower


def test_a_response_that_was_taken_truncates_nothing_after_a_new_announcement() -> None:
    cluster = diverged(replicas=3)
    fetch(cluster, 0, 1)
    assert view_of(cluster, 0).is_truncating
    cluster.elect(Election.PREFERRED, 2)
    learn(cluster, 0)
    assert not view_of(cluster, 0).is_truncating
    for source in (1, 2):
        cluster.fire(0, TimerKind.FETCHER_DO_WORK, source)
    assert payloads(cluster, 0) == ("r", "x")


def test_several_rounds_find_the_common_prefix() -> None:
    """The follower lacks the epoch that the leader answers with, and goes back to its previous one."""
    cluster = Cluster(ONE_STEP, Start(replicas=2, log=("r",)), PROMPT)
    append(cluster, "a", leader=0)
    cluster.elect(Election.FAIL_OVER, 1)
    learn(cluster, 1)
    append(cluster, "b", leader=1)
    cluster.crash(1)
    cluster.elect(Election.UNCLEAN, 0)
    learn(cluster, 0)
    append(cluster, "c", leader=0)
    restart(cluster, 1)
    rounds = []
    for _ in range(2):
        fetch(cluster, 1, 0)
        rounds.append(payloads(cluster, 1))
    assert rounds == [("r",), ("r", "a", "c")]


def test_a_fetch_whose_epoch_the_leader_does_not_know_is_out_of_range() -> None:
    """This needs the answer of 2.0, which is undefined below the first entry: a leader knows a newer epoch always."""
    cluster = Cluster(generation("2.8").with_switch("EPOCH_BELOW_FIRST_ENTRY", "UNDEFINED"), Start(replicas=2), PROMPT)
    append(cluster, "x", leader=0)
    cluster.elect(Election.FAIL_OVER, 1)
    learn(cluster, 0, 1)
    ask(cluster, 0, 1)
    assert answer_to(cluster, 0, 1).error is Errors.OFFSET_OUT_OF_RANGE
    apply(cluster, 0, 1)  # it asks for the end of the leader's log, and truncates to that
    cluster.deliver(cluster.messages()[-1].number)
    apply(cluster, 0, 1)
    assert payloads(cluster, 0) == ()
