"""Which known failures a case is exposed to."""

from __future__ import annotations

from dataclasses import replace

import pytest

from conformance.tests.sampling import exhaustive, recorded
from isrcheck.checker.answers.findings import Source, trace_of
from isrcheck.checker.answers.planning import bounds_for, mistakes, planned, searches_of_defect
from isrcheck.checker.answers.questions import (
    GENERATIONS,
    KAFKA,
    LIVENESS,
    TRANSACTIONS,
    Case,
    Question,
    Topic,
    defects_of,
    is_in,
    loses_data,
)
from isrcheck.checker.atlas.cells import clusters
from isrcheck.checker.cluster.releases import version_of_binaries
from isrcheck.checker.results.verdict import Word
from isrcheck.models import registry
from isrcheck.models.kafka.failures.catalogue import NO_RELEASE, Failure, failures, named, pairs
from isrcheck.models.kafka.generations import MODEL
from isrcheck.models.language.model import parse

pytestmark = pytest.mark.sampled

DURABLE = {"min_insync_replicas": 2}
TWO = {"replication_factor": 2, "min_insync_replicas": 1}
KIP_360 = (("CLIENT_BUMPS_EPOCH", 1), ("PRODUCER_STATE_KEPT", 1), ("UNKNOWN_PID_POLICY", 1), ("remembered_batches", 5))


def names(case: Case, release: str) -> list[str]:
    return [one.name for one in defects_of(case, version_of_binaries(release))]


def named_by(number: str) -> str:
    """The name of the failure with this number."""
    return next(one.name for one in failures() if one.number == number)


def in_transactions(protocol: str, verification: str = "") -> Case:
    """A case of 3.7 whose producers have transactions of a generation, with the verification as given."""
    values = (("TXN_VERIFY", verification),) if verification else ()
    return Case("3.7", transactions=(*values, ("protocol", protocol)))


def exposed(ask, case: Case, name: str):
    return ask(case, Question(Topic.DEFECT, name=name))


def test_the_failures_of_a_release_are_those_of_the_mechanisms_in_use():
    assert names(Case("4.1", **DURABLE), "4.1") == [
        "unknown_producer_out_of_order",
        "duplicate_in_a_new_epoch",
        "snapshot_forgets_batches",
        "missed_demotion",
        "stale_record",
        "new_incarnation",
        *(named_by(number) for number in f"8.27 8.28 8.29 {MORE_OF_ELR} 8.38 8.44".split()),
        "buffer_is_reused_in_flight",
    ]
    # Without acks=all nothing is promised of a record; that somebody leads the partition is.
    without_promises = [named_by(number) for number in ("8.28", "8.32", "8.36")]
    assert names(Case("4.1", acks="1", enable_idempotence=False), "4.1") == [
        *without_promises,
        "buffer_is_reused_in_flight",
    ]
    assert "truncation_is_not_noticed" in names(Case("4.1", unclean_election=True), "4.1")
    with_transactions = names(Case("2.4", transactions=(("protocol", "0.11"),), **DURABLE), "2.4.0")
    assert "late_record_reopens_the_transaction" in with_transactions
    assert not any(one.startswith("late_record") for one in names(Case("2.4", **DURABLE), "2.4.0"))


def test_failures_that_need_a_loss_of_data_are_said_beside():
    beside = [name for name in names(Case("3.7", **DURABLE), "3.9") if loses_data(named(name))]
    assert beside == ["power_loss_within_an_epoch", "last_replica_standing", "restart_before_fencing"]


def test_a_failure_of_producers_alone_does_not_depend_on_replicas():
    for case in (Case("4.1"), Case("4.1", replication_factor=1), Case("4.1", acks="0", enable_idempotence=False)):
        assert "buffer_is_reused_in_flight" in names(case, "4.1")
        assert "buffer_is_reused_in_flight" not in names(case, "4.1.2")
    assert names(Case("4.1", replication_factor=1), "4.1") == ["buffer_is_reused_in_flight"]


def test_what_no_controller_is_known_to_do_is_no_defect_of_a_cluster():
    """12.7 takes a controller that gives a block of producer ids twice."""
    failure = named("producer_id_is_given_twice")
    assert not any(failure.name in names(cluster.case, cluster.release.text) for cluster in clusters())
    assert is_in(failure, version_of_binaries("4.2"))


ALWAYS = "8.22b 8.22c 8.22d 8.24"
TRANSACTIONAL = "8.17a 8.17b 8.17e"
BEFORE_2_7 = "8.17a 8.17b 8.17e 8.21 8.21a"
OF_ELR = "8.26 8.27 8.28 8.29"
MORE_OF_ELR = "8.31 8.32 8.33 8.34 8.35 8.36"
NAMED = {
    ("2.1", "ZooKeeper"): "8.2 8.7f 8.10 8.16 8.17a 8.17b 8.17c 8.17e 8.21 8.21a 8.22a 8.24 12.11",
    ("2.2", "ZooKeeper"): "8.2 8.7f 8.10 8.17a 8.17b 8.17c 8.17e 8.21 8.21a 8.22a 8.24 12.11",
    ("2.3", "ZooKeeper"): "8.2 8.7f 8.7g 8.10 8.17a 8.17b 8.17c 8.17e 8.21 8.21a 8.22a 8.24 9.6 12.11",
    ("2.4", "ZooKeeper"): "8.2 8.7f 8.10 8.17a 8.17b 8.17c 8.17e 8.21 8.21a 8.22a 8.24 9.6 12.11",
    **dict.fromkeys([("2.5", "ZooKeeper"), ("2.6", "ZooKeeper")], f"8.2 8.10 {BEFORE_2_7} {ALWAYS} 9.6 12.11"),
    # Followers of 2.7 send no epoch with a fetch, and are never told where their log diverges.
    ("2.7", "ZooKeeper"): f"8.2 8.7a 8.7e 8.9 8.10 {TRANSACTIONAL} 8.19 8.19a 8.19b {ALWAYS} 9.6 12.11",
    ("2.8", "ZooKeeper"): f"8.2 8.7a 8.7b 8.7d 8.7e 8.9 8.10 {TRANSACTIONAL} 8.19 8.19a 8.19b {ALWAYS} 9.6 12.8 12.11",
    **dict.fromkeys(
        [("2.8.1", "ZooKeeper"), ("3.0", "ZooKeeper")],
        f"8.2 8.7b 8.7d 8.7e 8.9 8.10 {TRANSACTIONAL} 8.19 8.19a 8.19b {ALWAYS} 9.6 12.8 12.11",
    ),
    **dict.fromkeys(
        [(release, "ZooKeeper") for release in ("3.1", "3.2", "3.3", "3.4")],
        f"8.2 8.7b 8.7d 8.7e 8.9 8.10 {TRANSACTIONAL} {ALWAYS} 9.6 12.8 12.11",
    ),
    ("3.5", "ZooKeeper"): f"8.2 8.7d 8.7e 8.9 8.10 {TRANSACTIONAL} {ALWAYS} 9.6 12.8 12.11",
    ("3.6", "ZooKeeper"): f"8.2 8.7c 8.7d 8.7e 8.9 8.10 {TRANSACTIONAL} {ALWAYS} 9.6 12.8 12.11",
    ("3.7", "ZooKeeper"): f"8.2 8.7d 8.7e 8.9 8.10 8.17b {ALWAYS} 9.6 12.8 12.11",
    **dict.fromkeys([("3.8", "ZooKeeper"), ("3.9", "ZooKeeper")], f"8.2 8.7d 8.7e 8.9 8.10 8.17b {ALWAYS} 9.6 12.8"),
    ("3.9.1", "ZooKeeper"): f"8.2 8.7e 8.9 8.10 8.17b {ALWAYS} 9.6 12.8",
    **dict.fromkeys(
        [("3.3", "KRaft"), ("3.4", "KRaft")],
        f"8.2 8.7b 8.7d 8.7e 8.9 8.10 {TRANSACTIONAL} {ALWAYS} 8.25 8.40 9.6 12.8 12.11",
    ),
    ("3.5", "KRaft"): f"8.2 8.7d 8.7e 8.9b 8.10 {TRANSACTIONAL} {ALWAYS} 8.25 8.40 9.6 12.8 12.11",
    ("3.6", "KRaft"): f"8.2 8.7c 8.7d 8.7e 8.9b 8.10 {TRANSACTIONAL} {ALWAYS} 8.25 8.40 9.6 12.8 12.11",
    ("3.7", "KRaft"): f"8.2 8.7d 8.7e 8.10 8.17b {ALWAYS} 8.25 8.40 9.6 12.8 12.11",
    **dict.fromkeys([("3.8", "KRaft"), ("3.9", "KRaft")], f"8.2 8.7d 8.7e 8.10 8.17b {ALWAYS} 8.25 8.40 9.6 12.8"),
    ("3.9.1", "KRaft"): f"8.2 8.7e 8.10 8.17b {ALWAYS} 8.25 8.40 9.6 12.8",
    # 4.0 has eligible leader replicas only where somebody has turned them on.
    ("4.0", "KRaft"): f"8.7d 8.10 8.17d {ALWAYS} 8.25 9.6 12.6a 12.6c 12.8",
    ("4.0.1", "KRaft"): f"8.10 8.17d {ALWAYS} 8.25 9.6 12.6a 12.6b 12.8",
    ("4.1", "KRaft"): f"8.17d {ALWAYS} 8.25 {OF_ELR} {MORE_OF_ELR} 8.38 8.44 9.6 12.6a 12.6b 12.8",
    ("4.2", "KRaft"): f"{ALWAYS} 8.25 {OF_ELR} {MORE_OF_ELR} 8.38 8.44 9.6 12.6a 12.6b",
    ("4.3", "KRaft"): f"{ALWAYS} 8.25 {OF_ELR} 8.30 {MORE_OF_ELR} 8.44 9.6 12.6a",
    **dict.fromkeys([("4.4", "KRaft"), ("4.5", "KRaft")], f"{ALWAYS} 8.25 {OF_ELR} 8.30 {MORE_OF_ELR} 8.44 9.6"),
}
"""The known defects of each release with each controller, of a topic with every mechanism: unclean elections, an
idempotent producer, transactions. Those that all have are not repeated."""


def test_the_defects_of_each_release_with_each_controller():
    found, unknown = {}, set()
    for cluster in clusters():
        if cluster.release.has("2.1"):
            transactions = next(iter(cluster.transactions))
            case = replace(cluster.case, min_insync_replicas=2, unclean_election=True, transactions=transactions)
            asked = defects_of(case, cluster.release)
            found[cluster.release.text, cluster.mode] = " ".join(named(one.name).number for one in asked)
            unknown |= {
                (case.protocol, one.name)
                for one in asked
                if named(one.name).history is not None and isinstance(planned(case, one), str)
            }
    assert found == NAMED
    # Its model with ZooKeeper judges a lost disk before the broker is back, so no bounds show this one alone.
    unbounded = ("2.8", "rebooted_follower_joins_the_isr")
    # Consumers that look for a truncation came in 2.3, within this generation.
    unpromised = ("2.1", "truncation_is_not_noticed")
    assert unknown == {unbounded, unpromised}
    why = searches_of_defect(Case("2.8", **DURABLE), "rebooted_follower_joins_the_isr")
    assert why == "there is no search that shows it alone in generation 2.8"
    why = searches_of_defect(Case("2.1", unclean_election=True, **DURABLE), "truncation_is_not_noticed")
    assert why == "generation 2.1 does not promise truncation_is_detected"


WITH_ELR, WITHOUT_ELR = (("ELR", "on"),), (("ELR", "off"),)


@pytest.mark.parametrize(
    ("case", "release", "name", "is_named"),
    [
        # An older inter-broker protocol or metadata version brings back what a release has repaired.
        (Case("2.1", (("TRUNC", "HW"),)), "2.1", "truncation_to_high_watermark", True),
        (Case("2.1"), "2.1", "truncation_to_high_watermark", False),
        (Case("2.4", (("TRUNC", "KIP101"),)), "2.4", "fast_fail_over", True),
        (Case("2.4", (("TRUNC", "KIP279"),)), "2.4", "fetches_are_not_fenced", True),
        (Case("3.5", (("BROKER_STATE_CHECK", "FENCED"),)), "3.5", "rebooted_follower_joins_the_isr", True),
        # The feature decides, and not the release.
        (Case("4.1", WITHOUT_ELR), "4.1", "last_replica_standing", True),
        (Case("4.0"), "4.0.1", "last_replica_standing", True),
        (Case("4.0", WITH_ELR), "4.0.1", "last_replica_standing", False),
        (Case("4.3", WITHOUT_ELR), "4.4", "last_replica_standing", True),
        (Case("4.0"), "4.0.1", "changed_minimum_forgets_who_may_lead", False),
        (Case("4.0", WITH_ELR), "4.0.1", "changed_minimum_forgets_who_may_lead", True),
        (Case("4.3", WITHOUT_ELR), "4.4", "removed_replica_is_elected_empty", False),
        # Since 4.0 a new process waits for the end of the old session, with these replicas and without.
        (Case("4.0"), "4.0", "power_loss_within_an_epoch", False),
        (Case("3.7"), "3.9", "power_loss_within_an_epoch", True),
        (Case("4.1", WITHOUT_ELR), "4.1", "new_incarnation", False),
        (Case("4.0"), "4.0.1", "new_incarnation", False),
        (Case("4.0", WITH_ELR), "4.0.1", "new_incarnation", True),
        (Case("4.3"), "4.4", "new_incarnation", True),
        (Case("4.1"), "4.1", "last_replica_standing", False),
        # With an older inter-broker protocol, the leaders of 3.9 write the ISR themselves.
        (Case("2.4"), "3.9", "stale_diverging_response", False),
        # KAFKA-18991 was repaired in three branches.
        (Case("3.7"), "3.8.1", "stale_diverging_response", True),
        (Case("3.7"), "3.9", "stale_diverging_response", True),
        (Case("3.7"), "3.9.1", "stale_diverging_response", False),
        (Case("4.0", (("RESPONSE_EPOCH_MATCHED", "off"),)), "4.0", "stale_diverging_response", True),
        (Case("4.0"), "4.0.1", "stale_diverging_response", False),
        (Case("4.1"), "4.1", "stale_diverging_response", False),
        # The features of a cluster decide about its transactions.
        (in_transactions("3.8"), "4.0", "late_record_joins_the_next_transaction", True),
        (in_transactions("4.0"), "4.0", "late_record_joins_the_next_transaction", False),
        (in_transactions("3.8"), "3.9", "late_record_reopens_the_transaction", False),
        (in_transactions("3.8", "OFF"), "3.9", "late_record_reopens_the_transaction", True),
        (in_transactions("3.8", "OFF"), "3.9", "zombie_is_committed_by_its_successor", True),
        # One replica has no followers; whether a transaction is atomic does not depend on them.
        (Case("2.1", replication_factor=1), "2.3", "fetch_session_without_epoch", False),
        (replace(in_transactions("3.8"), replication_factor=1), "3.9", "late_record_joins_the_next_transaction", True),
    ],
)
def test_the_protocol_of_a_cluster_decides_as_well_as_its_release(case, release, name, is_named):
    assert (name in names(case, release)) == is_named


OF_KRAFT = {"8.9b", "8.25", "8.40", "8.41", "8.42", "8.43"}
"""The failures of clusters without ZooKeeper, whatever their features are."""


def test_every_generation_of_the_model_has_its_place():
    assert list(MODEL.protocols) == list(GENERATIONS)
    for failure in failures():
        assert failure.first_generation in ("", *GENERATIONS)
        assert (failure.first_generation >= "3.3") == (failure.number in OF_KRAFT)
        for one in (*failure.needs, *failure.remains_with):
            ((entry, text),) = pairs(one).items()
            model, _ = registry.load(failure.history.model)
            assert text in model.protocols if entry == "protocol" else parse(entry, model.entries[entry], text) >= 0


def test_a_failure_that_turning_off_the_elr_ends_needs_it():
    """And only such a failure, with those of which the page names other settings."""
    needing = [one for one in failures() if one.needs == ("ELR=on",)]
    ended = {one.number for one in failures() if any(change.change == "ELR=off" for change in one.changes)}
    assert ended < {one.number for one in needing}
    assert {one.number for one in needing} - ended == {"8.26", "8.34", "8.36", "8.38"}
    assert [one.number for one in failures() if one.needs == ("ELR=off",)] == ["8.10"]


def test_several_bounds_of_a_generation_are_searched_one_after_the_other():
    assert [one.configuration for one in bounds_for(named("stale_record"), "4.1")] == [
        "partition_changes=3 elections=1 crashes=1",
        "records=2 log_size=2 partition_changes=4 elections=1 crashes=1 start_isr=1",
    ]
    assert [one.protocol for one in bounds_for(named("stale_record"), "3.5")] == ["3.3"]
    assert [one.protocol for one in bounds_for(named("last_replica_standing"), "3.3")] == ["3.7", "3.7"]
    assert [one.protocol for one in bounds_for(named("last_replica_standing"), "0.10")] == ["2.4"]
    assert bounds_for(named("stale_record"), "2.8") == []


def test_what_no_model_expresses_is_said(ask):
    found = exposed(ask, Case("2.1"), "fetch_session_without_epoch")
    assert found.word is Word.NOT_APPLICABLE
    assert found.note.startswith("the model has no fetch sessions")


def test_without_rebalancing_a_missed_demotion_does_not_happen(ask):
    found = exposed(ask, Case("2.1", **DURABLE), "missed_demotion")
    assert (found.word, found.depth, found.source) == (Word.VIOLATED, 11, Source.SEARCHED)
    assert trace_of(found.history).length == found.depth
    still = exposed(ask, Case("2.1", leader_rebalance=False, **DURABLE), "missed_demotion")
    assert [(part.result.word.value, part.result.reach) for part in still.parts] == [("HOLDS", "to the end")]


def test_a_stale_record_is_found_in_4_1(ask):
    found = exposed(ask, Case("4.1", **DURABLE), "stale_record")
    assert (found.word, found.depth) == (Word.VIOLATED, 12)


@pytest.mark.parametrize(
    ("protocol", "settings", "name", "word", "depth"),
    [
        recorded(("3.7", DURABLE, "missed_demotion", Word.VIOLATED, 12)),
        recorded(("4.1", DURABLE, "missed_demotion", Word.VIOLATED, 12)),
        recorded(("3.7", DURABLE | {"leader_rebalance": False}, "missed_demotion", Word.HOLDS, None)),
        recorded(("2.8", DURABLE, "missed_demotion", Word.VIOLATED, 12)),
        recorded(("3.7", DURABLE, "stale_record", Word.VIOLATED, 12)),
        recorded(("3.7", {"min_insync_replicas": 3}, "stale_record", Word.NO_VIOLATION, 16)),
        exhaustive(("3.7", TWO, "stale_record", Word.VIOLATED, 15)),
        exhaustive(("3.3", TWO, "stale_record", Word.NO_VIOLATION, 16)),
        exhaustive(("3.3", DURABLE, "stale_record", Word.VIOLATED, 12)),
        recorded(("3.5", DURABLE, "stale_record", Word.VIOLATED, 12)),
        recorded(("3.3", TWO, "stale_diverging_response", Word.VIOLATED, 20)),
        recorded(("3.7", TWO, "stale_diverging_response", Word.VIOLATED, 20)),
        recorded(("3.7", TWO | {"leader_rebalance": False}, "stale_diverging_response", Word.HOLDS, None)),
        ("2.4", DURABLE, "last_replica_standing", Word.PERMITTED, 1),
        ("2.8", DURABLE, "last_replica_standing", Word.PERMITTED, 1),
        exhaustive(("2.8", DURABLE | {"flushes_every_message": True}, "last_replica_standing", Word.HOLDS, None)),
        recorded(("3.7", {"min_insync_replicas": 3}, "last_replica_standing", Word.PERMITTED, 13)),
        exhaustive(("2.8", TWO | {"numbering": KIP_360}, "snapshot_forgets_batches", Word.VIOLATED, 8)),
        exhaustive(("3.3", TWO, "snapshot_forgets_batches", Word.VIOLATED, 7)),
        exhaustive(("3.7", TWO | {"unclean_election": True}, "truncation_is_not_noticed", Word.VIOLATED, 14)),
        exhaustive(("2.8", TWO | {"unclean_election": True}, "truncation_is_not_noticed", Word.VIOLATED, 10)),
        exhaustive(("2.4", TWO | {"numbering": KIP_360}, "unknown_producer_out_of_order", Word.VIOLATED, 4)),
        exhaustive(("2.4", TWO | {"numbering": KIP_360}, "duplicate_in_a_new_epoch", Word.VIOLATED, 8)),
        recorded(("2.8", DURABLE, "power_loss_within_an_epoch", Word.PERMITTED, 15)),
        recorded(("2.8", DURABLE, "high_watermark_of_a_diverging_response", Word.VIOLATED, 11)),
    ],
)
def test_failures_in_other_generations(ask, protocol, settings, name, word, depth):
    found = exposed(ask, Case(protocol, **settings), name)
    assert (found.word, found.depth) == (word, depth)


def own_case(failure: Failure) -> Case:
    """The case that the history of a failure is about."""
    history = failure.history
    assert history is not None
    entries = pairs(history.configuration)
    own = {switch for switch, _ in mistakes(failure.name)}
    transactions = ()
    if history.model == TRANSACTIONS or "transactions" in entries:
        transactions = (("protocol", history.protocol if history.model == TRANSACTIONS else "2.5"),)
    return Case(
        "2.8" if history.model not in (KAFKA, LIVENESS) else history.protocol,
        tuple(sorted((name, text) for name, text in entries.items() if name in own)),
        replication_factor=int(entries.get("replicas", 3)),
        min_insync_replicas=int(entries.get("min_insync_replicas", 2)),
        unclean_election="unclean_elections" in entries,
        enable_idempotence=entries.get("enable_idempotence") in ("on", "true"),
        transactions=transactions,
    )


SHORTER = {"stale_diverging_response": 21}
"""Without the other mistakes of its generation, this failure is found two steps earlier."""


@pytest.mark.parametrize(
    "name", [recorded(one.name) for one in failures() if one.history and one.since not in ("", NO_RELEASE)]
)
def test_every_failure_is_found_in_its_own_generation_alone(ask, name):
    failure = named(name)
    found = exposed(ask, own_case(failure), name)
    assert found.word.value == failure.history.verdict
    assert found.depth == SHORTER.get(name, failure.history.depth)
