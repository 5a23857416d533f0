"""Attribution of losses: the steps that acknowledge, remove and lose a record, and the permission."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from conformance.tests.support.trace import CLASSIC, COMMITTED, MISSED_DEMOTION, WHOLE, WITHOUT_MARKER, kafka, weak_isr
from isrcheck.traces.format.trace import HOLDS, Trace
from isrcheck.traces.kafka.failures import Loss, Timeline, find_loss, lines, loss_in

TOOK_PLACE = "no unclean election, loss of power or loss of a disk took place"
NOT_PERMITTED = f"not permitted: acks=all promises it, and {TOOK_PLACE}"


def test_the_record_is_removed_one_step_before_it_is_lost() -> None:
    found = kafka(CLASSIC, "acked_not_lost")
    assert find_loss(found) == Loss(0, "acknowledged", 4, 1, 5, None, "lost", 6)
    assert lines(found) == [
        "record a: acknowledged at step 4 by leader_handles_fetch 0 from 1",
        "  removed from broker 1 at step 5 by broker_bounces 1 checkpoint 0",
        "  lost at step 6 by controller_fails_over to 1",
        NOT_PERMITTED,
    ]


def test_the_last_removed_copy_counts() -> None:
    again = ["broker_bounces 1 checkpoint 0", "leader_handles_fetch 0 from 1", "follower_applies_response 1 from 0"]
    found = kafka([*COMMITTED, *again, *CLASSIC[4:]], "acked_not_lost", bounces=2)
    assert find_loss(found) == Loss(0, "acknowledged", 4, 1, 8, None, "lost", 9)


def test_the_isr_is_incomplete_as_soon_as_a_member_truncates() -> None:
    found = kafka(CLASSIC[:-1], "isr_is_complete")
    assert find_loss(found) == Loss(0, "exposed to readers", 4, 1, 5, None, "missing from the ISR", 5)
    assert lines(found) == [
        "record a: exposed to readers at step 4 by leader_handles_fetch 0 from 1",
        "  removed from broker 1 at step 5 by broker_bounces 1 checkpoint 0",
        "  missing from the ISR at step 5 by broker_bounces 1 checkpoint 0",
        f"not permitted: {TOOK_PLACE}",
    ]


def test_acks_0_is_lost_before_any_broker_has_the_record() -> None:
    found = kafka(["send_is_lost"], "acked_not_lost", acks=0)
    assert find_loss(found) == Loss(0, "acknowledged", 1, 0, None, None, "lost", 1)
    assert lines(found) == [
        "record a: acknowledged at step 1 by send_is_lost",
        "  never on any broker",
        "  lost at step 1 by send_is_lost",
        "permitted: acks=0 does not wait for the ISR",
    ]


def test_acks_1_is_lost_with_a_leader_before_any_fetch() -> None:
    found = kafka(["producer_appends at 0", "controller_fails_over to 1"], "acked_not_lost", acks=1)
    assert find_loss(found) == Loss(0, "acknowledged", 1, 1, None, None, "lost", 2)
    assert lines(found) == [
        "record a: acknowledged at step 1 by producer_appends at 0",
        "  never on broker 1, which was in the ISR from the start",
        "  lost at step 2 by controller_fails_over to 1",
        "permitted: acks=1 does not wait for the ISR",
    ]


@pytest.mark.parametrize(
    ("steps", "values", "expected"),
    [
        (
            ["producer_appends at 0", "broker_crashes 0", "controller_elects_unclean 2"],
            {"unclean_elections": 1, "min_insync_replicas": 1},
            [
                "record a: acknowledged at step 1 by producer_appends at 0",
                "  never on broker 2, which joined the ISR at step 3 by controller_elects_unclean 2",
                "  lost at step 3 by controller_elects_unclean 2",
                "permitted: an unclean election at step 3 by controller_elects_unclean 2",
            ],
        ),
        (
            [*COMMITTED, "broker_loses_power 0 keeping 0"],
            {"power_losses": 1},
            [
                "record a: acknowledged at step 4 by leader_handles_fetch 0 from 1",
                "  removed from broker 0 at step 5 by broker_loses_power 0 keeping 0",
                "  lost at step 5 by broker_loses_power 0 keeping 0",
                "permitted: a loss of power at step 5 by broker_loses_power 0 keeping 0",
            ],
        ),
        (
            [*COMMITTED, "broker_loses_disk 0"],
            {"disk_losses": 1},
            [
                "record a: acknowledged at step 4 by leader_handles_fetch 0 from 1",
                "  removed from broker 0 at step 5 by broker_loses_disk 0",
                "  lost at step 5 by broker_loses_disk 0",
                "permitted: a loss of a disk at step 5 by broker_loses_disk 0",
            ],
        ),
        (
            ["producer_appends at 0", "broker_loses_disk 0"],
            {"disk_losses": 1, "acks": 1},
            [
                "record a: acknowledged at step 1 by producer_appends at 0",
                "  removed from broker 0 at step 2 by broker_loses_disk 0",
                "  lost at step 2 by broker_loses_disk 0",
                "permitted: acks=1 does not wait for the ISR; a loss of a disk at step 2 by broker_loses_disk 0",
            ],
        ),
    ],
)
def test_the_permission_of_a_loss_is_named(steps: Sequence[str], values: dict[str, Any], expected: list[str]) -> None:
    assert lines(kafka(steps, "acked_not_lost", **values)) == expected


def test_an_unused_budget_permits_nothing() -> None:
    generous: dict[str, Any] = {"unclean_elections": 1, "power_losses": 1, "disk_losses": 1}
    assert lines(kafka(CLASSIC, "acked_not_lost", **generous))[-1] == NOT_PERMITTED


def test_acks_do_not_excuse_an_incomplete_isr() -> None:
    found = kafka(CLASSIC[:-1], "isr_is_complete", acks=1)
    assert lines(found)[-1] == f"not permitted: {TOOK_PLACE}"


def test_the_follower_counted_by_the_leader_is_named() -> None:
    # models/kafka/missed_demotion.md: the leader remembers what it knew two epochs ago.
    found = kafka(MISSED_DEMOTION, "isr_is_complete", None, "2.1", elections=3, preferred_elections=1)
    assert lines(found) == [
        "record a: exposed to readers at step 7 by broker_becomes_leader 0 in epoch 2",
        "  the leader relied on broker 2, which it knew to have it since step 4 by leader_handles_fetch 0 from 2",
        "  removed from broker 2 at step 10 by follower_reconciles 2 with 1",
        "  missing from the ISR at step 10 by follower_reconciles 2 with 1",
        f"not permitted: {TOOK_PLACE}",
    ]


def counted_on(trace: Trace) -> list[str]:
    return [line for line in lines(trace) if line.startswith("  the leader relied")]


def test_later_knowledge_of_the_leader_does_not_count() -> None:
    # After the promise, the leader restarts, and hears of broker 2 again.
    forgets = ["broker_crashes 0", "broker_restarts 0 checkpoint 0", "leader_handles_fetch 0 from 2"]
    steps = [*MISSED_DEMOTION[:7], *forgets, *MISSED_DEMOTION[7:]]
    found = kafka(steps, "isr_is_complete", None, "2.0", elections=3, preferred_elections=1)
    assert counted_on(found) == [
        "  the leader relied on broker 2, which it knew to have it since step 4 by leader_handles_fetch 0 from 2"
    ]
    # Before the promise, it forgets broker 1, which then fetches last: the promise is made in that step.
    forgets = [*COMMITTED, *forgets[:2], "leader_handles_fetch 0 from 2", "follower_applies_response 2 from 0"]
    steps = [
        *forgets,
        "leader_handles_fetch 0 from 2",
        "leader_handles_fetch 0 from 1",
        "broker_bounces 1 checkpoint 0",
    ]
    assert counted_on(kafka(steps, "isr_is_complete", start=WHOLE)) == [
        "  the leader relied on broker 2, which it knew to have it since step 9 by leader_handles_fetch 0 from 2"
    ]


def test_only_the_acknowledging_leader_and_its_isr_count() -> None:
    # Broker 0, which leads no more, knows of broker 1.
    steps = [
        *(*COMMITTED, "controller_fails_over to 1", "broker_becomes_leader 1 in epoch 1"),
        *(
            "broker_becomes_follower 2 in epoch 1",
            "leader_handles_fetch 1 from 2",
            "follower_applies_response 2 from 1",
        ),
        *("leader_handles_fetch 1 from 2", "broker_bounces 2 checkpoint 0"),
    ]
    found = kafka(steps, "isr_is_complete", start=WHOLE)
    assert lines(found)[0] == "record a: exposed to readers at step 10 by leader_handles_fetch 1 from 2"
    assert counted_on(found) == []
    # Broker 2 has the record, and was dropped from the ISR.
    second = [step.replace("from 1", "from 2").replace("response 1", "response 2") for step in COMMITTED]
    steps = [*second, "leader_shrinks_isr 0 by {2}", *COMMITTED[1:], "broker_bounces 1 checkpoint 0"]
    found = kafka(steps, "isr_is_complete", start=WHOLE)
    assert lines(found)[0] == "record a: exposed to readers at step 8 by leader_handles_fetch 0 from 1"
    assert counted_on(found) == []


def test_a_resent_request_excuses_no_loss() -> None:
    steps = ["answer_is_lost at 0", "producer_retries a at 0", "broker_crashes 0", "controller_elects_unclean 2"]
    found = kafka(steps, "acked_not_lost", unclean_elections=1, min_insync_replicas=1, acks=1, retries=1)
    assert lines(found)[-1] == (
        "permitted: acks=1 does not wait for the ISR; an unclean election at step 4 by controller_elects_unclean 2"
    )


def test_an_unrelated_property_is_not_explained() -> None:
    for trace in (kafka(CLASSIC, "acked_not_lost"), kafka(CLASSIC[:-1], "isr_is_complete")):
        assert loss_in(Timeline(trace), {"somebody": 1}) is None


def test_a_record_that_was_deleted_is_not_the_lost_one() -> None:
    steps = [
        *("producer_appends at 0", *COMMITTED, "leader_deletes_records at 0 before 1"),
        *("broker_crashes 0", "broker_restarts 0 checkpoint 0", "follower_starts_over 2 at 0"),
        *("leader_handles_fetch 0 from 2", "controller_fails_over to 2"),
    ]
    values = {"delete_records": 1}
    lost = kafka(steps, "acked_not_lost", None, "0.11", **values)
    assert find_loss(lost) == Loss(1, "acknowledged", 5, 2, None, 10, "lost", 11)
    missing = kafka(steps[:-1], "isr_is_complete", None, "0.11", **values)
    assert find_loss(missing) == Loss(1, "exposed to readers", 5, 2, None, 10, "missing from the ISR", 10)


def test_a_marker_can_be_missing() -> None:
    for transactions, name in ((1, "the commit marker"), (2, "the commit marker of transaction 0")):
        found = kafka(WITHOUT_MARKER, "isr_is_complete", None, "0.11", transactions=transactions)
        assert lines(found)[:2] == [
            f"{name}: exposed to readers at step 11 by leader_handles_fetch 0 from 1",
            "  never on broker 2, which joined the ISR at step 14 by leader_handles_fetch 0 from 2",
        ]


def test_other_failures_show_their_permission() -> None:
    again = ["broker_loses_disk 0", "broker_restarts 0 checkpoint 0", "producer_appends at 0"]
    found = kafka([*CLASSIC[:3], *again], "log_matching", disk_losses=1)
    assert lines(found)[-1] == "permitted: a loss of a disk at step 4 by broker_loses_disk 0"


def test_only_losses_of_records_are_attributed() -> None:
    assert find_loss(weak_isr()) is None
    assert find_loss(kafka(COMMITTED, "acked_not_lost", HOLDS)) is None
    assert lines(kafka(["producer_appends at 0"], "log_matching", HOLDS)) == []
