"""What the Kafka model finds, exactly: shortest depths, state counts, and that it can do what it is built for."""

import itertools

import pytest

from checker.explore import Limits, explore
from checker.verdict import Word, verdicts
from models.kafka import MODEL
from models.language.declare import Kind

MEMORY = 2 << 30


def found(depth, protocol="0.10", **values):
    """The depths of the shortest violated and permitted failures, by property."""
    instance = MODEL.instance(protocol, values)
    exploration = explore(instance, Limits(depth, MEMORY))
    failures = {}
    for name, findings in exploration.findings.items():
        if next(p for p in instance.properties if p.name == name).kind is not Kind.SOMETIMES:
            depths = [one.witness and one.witness.depth for one in (findings.found, findings.permitted)]
            if depths != [None, None]:
                failures[name] = tuple(depths)
    return failures


def test_the_classic_loss_takes_six_steps_and_the_isr_is_incomplete_one_step_earlier():
    assert found(6) == {"acked_not_lost": (6, None), "isr_is_complete": (5, None)}


def test_nothing_fails_below_five_steps():
    assert found(4) == {}


@pytest.mark.parametrize(("acks", "depth"), [(0, 1), (1, 2)])
def test_weaker_acks_lose_sooner_and_are_permitted_to(acks, depth):
    assert found(4, acks=acks) == {"acked_not_lost": (None, depth)}


def test_the_default_configuration_to_twelve_steps():
    assert found(12) == {
        "acked_not_lost": (6, None),
        "isr_is_complete": (5, None),
        "committed_agrees": (11, None),
        "consistent_read": (11, None),
    }


def test_clean_elections_alone_lose_a_record_in_ten_steps():
    assert found(12, bounces=0, crashes=0) == {"acked_not_lost": (10, None), "isr_is_complete": (9, None)}


@pytest.mark.parametrize("fault", ["power_losses", "disk_losses"])
def test_a_machine_that_forgets_is_permitted_to_lose_and_breaks_no_promise_sooner(fault):
    assert found(9, bounces=0, crashes=0, **{fault: 1}) == {
        "acked_not_lost": (None, 5),
        "isr_is_complete": (9, 3),
        "committed_agrees": (None, 9),
        "log_matching": (None, 6),
        "consistent_read": (None, 7),
    }


def test_unclean_election_is_judged_by_the_history():
    """The loss that needs an unclean election is permitted, the one that does not is violated; both are reported."""
    failures = found(12, unclean_elections=1, bounces=0)
    assert failures["acked_not_lost"] == (7, 7)
    assert failures["isr_is_complete"] == (6, 4)
    # High watermark above the log end (HW_CLAMPED_AT_TRUNCATION off): also after a loss without an unclean election.
    assert failures["offsets_ordered"] == (10, 7)


def test_clamping_the_high_watermark_at_truncation_keeps_offsets_ordered():
    failures = found(12, unclean_elections=1, bounces=0, HW_CLAMPED_AT_TRUNCATION=1)
    assert "offsets_ordered" not in failures
    assert failures["acked_not_lost"] == (7, 7)


def test_more_replicas_in_sync_than_there_are_never_acknowledge():
    instance = MODEL.instance("0.10", {"min_insync_replicas": 4, "elections": 1, "bounces": 0, "crashes": 0})
    exploration = explore(instance, Limits(memory=MEMORY))
    assert exploration.exhausted
    assert exploration.distinct == 1056
    words = {verdict.prop.name: verdict.word for verdict in verdicts(exploration)}
    assert words["a_write_is_acknowledged"] is Word.UNREACHABLE
    assert words["a_producer_is_refused"] is Word.REACHED
    assert words["acked_not_lost"] is Word.HOLDS


@pytest.mark.parametrize(
    ("replicas", "min_insync_replicas", "count"),
    [(3, 1, 4), (3, 2, 3), (3, 3, 1), (3, 4, 1), (2, 1, 2), (1, 1, 1)],
)
def test_histories_start_with_every_isr_that_is_large_enough(replicas, min_insync_replicas, count):
    instance = MODEL.instance("0.10", {"replicas": replicas, "min_insync_replicas": min_insync_replicas})
    assert len(instance.initial_states) == count


def test_any_start_takes_every_quiescent_cluster():
    # 3 leaders; by ISR (one of 1, two of 2, one of 3 members) the prefixes of 0, 1, 2 records outside: 14 + 2 x 6 + 3.
    instance = MODEL.instance("0.10", {"start": 1})
    assert len(instance.initial_states) == 3 * ((1 + 4 + 9) + 2 * (1 + 2 + 3) + 3)


BOUNDS = {"records": 1, "log_size": 1}


@pytest.mark.parametrize("replicas", [1, 2, 3])
def test_no_sometimes_is_unreachable_where_it_applies(replicas):
    """A `sometimes` that cannot be reached fails a run, so each has to know where its mechanism is off."""
    unreachable = []
    # Without elections the state has another shape, and so another kernel: once is enough.
    elections = (0, 1) if replicas == 1 else (1,)
    for acks, required, epochs, crashes in itertools.product((-1, 0, 1), range(1, replicas + 1), elections, (0, 1)):
        values = {"replicas": replicas, "acks": acks, "min_insync_replicas": required, "elections": epochs}
        instance = MODEL.instance("0.10", BOUNDS | values | {"crashes": crashes})
        exploration = explore(instance, Limits(memory=MEMORY))
        unreachable += [
            (values, crashes, verdict.prop.name)
            for verdict in verdicts(exploration)
            if verdict.word in (Word.UNREACHABLE, Word.UNDECIDED)
        ]
    assert unreachable == []


def test_every_sometimes_is_reached_in_the_default_configuration():
    exploration = explore(MODEL.instance("0.10"), Limits(6, MEMORY))
    depths = {v.prop.name: v.depth for v in verdicts(exploration) if v.prop.kind is Kind.SOMETIMES}
    assert depths == {
        "a_write_is_acknowledged": 4,
        "a_record_is_exposed": 2,
        "a_new_leader_takes_over": 2,
        "a_follower_truncates": 3,
        "a_zombie_acknowledges": 5,
        "a_follower_joins_the_isr": 1,
        "a_producer_is_refused": 2,
        "an_appended_record_is_refused": 2,
        "a_restart_finds_a_stale_high_watermark": 6,
    }
