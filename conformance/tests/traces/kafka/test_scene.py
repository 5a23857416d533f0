"""Scenes: the messages of each step, the contents of lanes, and the outcome of each record."""

from __future__ import annotations

import pytest

from conformance.tests.support import golden as golden_support
from conformance.tests.support import trace as trace_support
from isrcheck.models.client_settings import Acks
from isrcheck.models.language.declarations import NONE
from isrcheck.models.run import State
from isrcheck.traces.drawing.compose import scene_of
from isrcheck.traces.format.trace import Trace
from isrcheck.traces.kafka.fates import fates
from isrcheck.traces.kafka.messages import SENT
from isrcheck.traces.kafka.model import shown_fields
from isrcheck.traces.lanes.scene import Cell, Lane, Scene

GOLDEN = {
    path.stem: golden_support.read(path.read_text(encoding="utf-8")) for path in golden_support.FOLDER.glob("*.txt")
}


NO_ISR = {"acks=0": int(Acks.ZERO), "acks=1": int(Acks.ONE)}


def classic() -> Trace:
    return trace_support.kafka(trace_support.CLASSIC, "acked_not_lost")


def told(scene: Scene, position: int) -> list[str]:
    moment = scene.moments[position]
    arrows = [
        f"{scene.lanes[one.source]} > {scene.lanes[one.target]}: {one.text} ({one.kind})" for one in moment.arrows
    ]
    return [*arrows, *(f"{scene.lanes[one.lane]}: {one.text} ({one.kind})" for one in moment.marks)]


def test_lanes_are_the_controller_the_brokers_and_the_clients() -> None:
    assert scene_of(classic()).lanes == ("controller", "broker 0", "broker 1", "broker 2", "producer", "readers")
    with_transactions = trace_support.kafka(trace_support.TRANSACTION, None, None, "2.1", transactions=1, log_size=3)
    assert scene_of(with_transactions).lanes[4:] == (
        "producer",
        "transaction 0",
        "read_uncommitted",
        "read_committed",
    )


def test_the_messages_of_each_step_of_the_classic_loss() -> None:
    scene = scene_of(classic())
    assert [told(scene, position) for position in range(7)] == [
        [],
        ["producer > broker 0: produce a (request)"],
        ["broker 1 > broker 0: fetch from 0 (request)", "broker 0 > broker 1: a0, HW 0 (response)"],
        ["broker 0 > broker 1: a0, HW 0 (request)"],
        [
            "broker 1 > broker 0: fetch from 1 (request)",
            "broker 0 > producer: ack a (request)",
            "broker 0 > readers: a at 0 (request)",
            "broker 0: fetch parked (note)",
        ],
        ["broker 1: bounces (fault)", "broker 1: truncates 1 to 0 (fault)"],
        ["controller: elects 1 (election)", "broker 1: elected (election)"],
    ]


def test_the_lane_of_a_broker() -> None:
    moments = scene_of(classic()).moments
    assert moments[4].lanes[1] == Lane(
        "leads in epoch 0",
        "leader",
        (Cell("a0", 0),),
        (("HW", 1), ("LEO", 1)),
        ("ISR 01", "followers at 1:1 2:0"),
    )
    assert moments[6].lanes[1].role == "zombie"
    assert moments[6].lanes[4] == Lane("", "client", notes=("a: acked, committed, exposed",), alarms=("a is lost",))


def test_a_record_is_lost_when_a_replica_without_it_is_elected() -> None:
    found = [dict(moment.fates[0].words) if moment.fates else {} for moment in scene_of(classic()).moments]
    assert found[3] == {"sent": 1}
    assert found[5] == {"sent": 1, "acked": 4, "committed": 4, "exposed": 4}
    assert found[6] == {"sent": 1, "acked": 4, "committed": 4, "exposed": 4, "lost": 6}


def test_an_unacknowledged_record_is_not_lost() -> None:
    trace = trace_support.kafka(("producer_appends at 0", "controller_fails_over to 1"), None)
    assert scene_of(trace).moments[2].fates[0].words == (("sent", 1),)


def test_a_record_on_a_later_leader_is_no_longer_lost() -> None:
    copied = [
        step
        for follower in (1, 2)
        for step in (f"leader_handles_fetch 0 from {follower}", f"follower_applies_response {follower} from 0")
    ]
    known = [f"leader_handles_fetch 0 from {follower}" for follower in (1, 2)]
    fail_overs = ("broker_bounces 1 checkpoint 0", "controller_fails_over to 1", "controller_fails_over to 2")
    steps = ("producer_appends at 0", *copied, *known, *fail_overs)
    trace = trace_support.kafka(steps, None, None, "0.10", trace_support.WHOLE)
    fates_of_a = [dict(fate.words) for moment in scene_of(trace).moments for fate in moment.fates]
    assert [one.get("lost") for one in fates_of_a[6:]] == [None, None, 9, None]


def test_a_kraft_leader_that_lost_data_is_judged_once_it_is_back() -> None:
    values = {"power_losses": 1, "partition_changes": 4, "elections": 2}
    trace = trace_support.kafka(trace_support.LAST_KNOWN_LEADER, None, None, "4.1", **values)
    fates_of_a = [dict(fate.words) for moment in scene_of(trace).moments for fate in moment.fates]
    assert [one.get("lost") for one in fates_of_a[5:]] == [None, None, None, None, None, 11]
    same = trace_support.kafka([*trace_support.COMMITTED, "broker_loses_power 0 keeping 0"], None, power_losses=1)
    assert dict(scene_of(same).moments[5].fates[0].words)["lost"] == 5


def test_a_record_at_two_offsets_is_duplicated() -> None:
    trace = trace_support.kafka(trace_support.SENT_AGAIN, "no_duplicates", None, "0.10", trace_support.WHOLE, retries=1)
    moments = scene_of(trace).moments
    assert dict(moments[6].fates[0].words) == {"sent": 1, "duplicated": 6}
    assert told(scene_of(trace), 6) == ["producer > broker 1: produce a again (request)"]


def test_a_lost_response_and_a_crash() -> None:
    steps = (
        "producer_appends at 0",
        "leader_handles_fetch 0 from 1",
        "response_is_lost to 1 from 0",
        "broker_crashes 0",
    )
    scene = scene_of(trace_support.kafka(steps, None))
    assert told(scene, 3) == ["broker 0 > broker 1: response (lost)"]
    assert told(scene, 4) == ["broker 0: crashes (fault)"]
    assert scene.moments[4].lanes[1].role == "down"


def test_a_different_record_for_readers_is_reported() -> None:
    trace = trace_support.kafka(trace_support.READ_TWICE, "consistent_read", None, "0.11")
    assert told(scene_of(trace), 11) == [
        "broker 2 > controller: ISR 2 (request)",
        "broker 2 > producer: b: NOT_ENOUGH_REPLICAS_AFTER_APPEND (request)",
        "broker 2 > readers: b1 at 0! (request)",
    ]


def test_different_records_are_reported_for_each_isolation_level() -> None:
    """The transaction stays open, so only read_uncommitted consumers see its record in place of the former one."""
    steps = (
        "producer_appends at 0",
        "controller_fails_over to 1",
        "broker_becomes_leader 1 in epoch 1",
        "producer_appends_in_transaction at 1 in 0",
        "leader_shrinks_isr 1 by {2}",
        "broker_crashes 1",
        "controller_elects_unclean 0",
        "broker_becomes_leader 0 in epoch 2",
    )
    values = {"transactions": 1, "unclean_elections": 1}
    scene = scene_of(trace_support.kafka(steps, None, None, "2.0", trace_support.WHOLE, **values))
    assert told(scene, 8) == [
        "controller > broker 0: epoch 2: leader 0, ISR 0 (request)",
        "broker 0 > producer: a: NOT_ENOUGH_REPLICAS_AFTER_APPEND (request)",
        "broker 0 > read_committed: a at 0 (request)",
        "broker 0 > read_uncommitted: a0 at 0! (request)",
    ]
    swapped = (
        "producer_appends_in_transaction at 0 in 0",
        *steps[1:3],
        "producer_appends at 1",
        *steps[4:],
    )
    scene = scene_of(trace_support.kafka(swapped, None, None, "2.0", trace_support.WHOLE, **values))
    assert told(scene, 8) == [
        "controller > broker 0: epoch 2: leader 0, ISR 0 (request)",
        "broker 0 > transaction 0: a: NOT_ENOUGH_REPLICAS_AFTER_APPEND (request)",
        "broker 0 > read_uncommitted: a0 at 0! (request)",
    ], "nothing is stable yet, and a reader of everything reads it all the same"


def test_a_request_on_too_few_replicas_is_refused() -> None:
    trace = trace_support.kafka(("producer_appends at 0", "leader_shrinks_isr 0 by {1}"), None)
    assert told(scene_of(trace), 2) == [
        "broker 0 > controller: ISR 0 (request)",
        "broker 0 > producer: a: NOT_ENOUGH_REPLICAS_AFTER_APPEND (request)",
        "broker 0 > readers: a at 0 (request)",
    ]
    crashed = trace_support.kafka(("producer_appends at 0", "broker_crashes 0"), None)
    assert told(scene_of(crashed), 2) == ["broker 0: crashes (fault)"], "nobody answers any more"


def test_with_acks_0_there_is_no_response() -> None:
    acks = {name: trace_support.kafka(("producer_appends at 0",), None, acks=acks) for name, acks in NO_ISR.items()}
    sent = ["producer > broker 0: produce a (request)"]
    assert {name: told(scene_of(trace), 1) for name, trace in acks.items()} == {
        "acks=0": sent,
        "acks=1": [*sent, "broker 0 > producer: ack a (request)"],
    }
    assert all("acked" in dict(scene_of(trace).moments[1].fates[0].words) for trace in acks.values())


def test_a_restarted_log_is_reported() -> None:
    steps = ("producer_appends at 0", "leader_shrinks_isr 0 by {1}", "leader_deletes_records at 0 before 1")
    trace = trace_support.kafka((*steps, "follower_starts_over 1 at 0"), None, None, "2.0", delete_records=1)
    assert told(scene_of(trace), 4) == [
        "broker 1 > broker 0: fetch from 0 (request)",
        "broker 0 > broker 1: OFFSET_OUT_OF_RANGE (request)",
        "broker 1: starts its log over at 1 (fault)",
    ]


def test_each_isolation_level_reads_a_transaction_at_its_time() -> None:
    trace = trace_support.kafka(trace_support.TRANSACTION, None, None, "2.1", transactions=1, log_size=3)
    scene = scene_of(trace)
    assert told(scene, 1) == ["transaction 0 > broker 0: produce a (request)"]
    assert "broker 0 > read_uncommitted: a at 0 (request)" in told(scene, 4)
    assert told(scene, 5) == ["transaction 0: committed (election)"]
    assert told(scene, 6) == ["transaction 0 > broker 0: marker: transaction committed (request)"]
    assert "broker 0 > read_committed: a at 0 (request)" in told(scene, 9)
    assert scene.moments[4].lanes[1].pointers == (("LSO", 0), ("HW", 1), ("LEO", 1))


def test_a_follower_requests_the_end_of_its_epoch() -> None:
    scene = scene_of(trace_support.fast_fail_over(None))
    assert told(scene, 9) == [
        "broker 1 > broker 0: where does e1 end? (request)",
        "broker 0 > broker 1: e1 until 2 (request)",
    ], "KIP-101's answer speaks of an epoch that the leader does not know, so that nothing is cut"
    assert scene.moments[8].lanes[2].title == "reconciles with 0 in epoch 2"


@pytest.mark.parametrize(
    ("protocol", "expected"),
    [
        (
            "0.11",
            ["broker 2 > broker 1: my log has no epoch (request)", "broker 1 > broker 2: no epoch until 0 (request)"],
        ),
        ("2.1", ["broker 2: knows no epoch (note)"]),
    ],
)
def test_a_follower_without_any_epoch(protocol: str, expected: list[str]) -> None:
    """Up to 1.1 a leader without epochs answers with its log end; later the follower sends no request."""
    steps = (
        "controller_fails_over to 1",
        "broker_becomes_leader 1 in epoch 1",
        "broker_becomes_follower 2 in epoch 1",
        "follower_reconciles 2 with 1",
    )
    assert told(scene_of(trace_support.kafka(steps, None, None, protocol)), 4) == expected


def test_a_transaction_is_not_begun_before_its_first_record() -> None:
    trace = trace_support.kafka(trace_support.TRANSACTION, None, None, "2.1", transactions=1, log_size=3)
    titles = [moment.lanes[5].title for moment in scene_of(trace).moments]
    assert titles == ["not begun", "open", "open", "open", "open", *["committed"] * 5]


def test_every_action_of_the_model_has_a_scene() -> None:
    """Except the action that only writes the ISR, which the states show."""
    names = {one.name for one in classic().instance.model.actions}
    assert names - SENT.keys() == {"leader_shrinks_isr"}
    assert SENT.keys() <= names


@pytest.mark.parametrize("name", sorted(GOLDEN))
def test_scenes_of_golden_traces_contain_every_value(name: str) -> None:
    trace = golden_support.derive(GOLDEN[name])
    scene = scene_of(trace)
    assert len(scene.moments) == len(trace.states)
    for moment in scene.moments:
        assert len(moment.lanes) == len(scene.lanes)
        assert len(moment.variables) == len(scene.variables) == len(shown_fields(trace.instance))
        assert all(0 <= lane < len(scene.lanes) for arrow in moment.arrows for lane in (arrow.source, arrow.target))


@pytest.mark.parametrize(
    "name", sorted(name for name, golden in GOLDEN.items() if golden.header["property"] == "acked_not_lost")
)
def test_a_violation_of_acked_not_lost_shows_a_lost_record(name: str) -> None:
    trace = golden_support.derive(GOLDEN[name])
    states = [State(trace.instance, cells) for cells in trace.states]
    last = fates(states)[-1]
    lost = [
        record
        for record in range(trace.instance.configuration.records)
        if states[-1].acknowledged[record]
        and states[-1].controller_leader != NONE
        and record not in [states[-1].log_record[states[-1].controller_leader][o] for o in range(states[-1].log_size)]
    ]
    assert lost
    assert [number for number, fate in enumerate(last) if "lost" in dict(fate.words)] == lost
