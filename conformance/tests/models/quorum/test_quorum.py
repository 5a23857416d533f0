"""What the models `quorum` and `quorum_liveness` find: each mistake at its exact depth, and nothing without it.

Every search is exhaustive.
"""

from __future__ import annotations

import pytest

from conformance.tests.sampling import sampled
from conformance.tests.support.searches import (
    Values,
    certified,
    failures,
    goals,
    reached,
    searched,
    spelled,
    steps_to,
)
from isrcheck.models.messages import UsageError
from isrcheck.models.quorum.liveness import MODEL as LIVE
from isrcheck.models.quorum.state import VoteRule
from isrcheck.models.quorum.variants import MODEL

QUIET = {"restarts": 0}
THREE = {"replicas": 3, "observers": 0}
"""Three voters and no observer, the default of `raft`, for `kraft`."""

FOUR_EPOCHS = THREE | {"elections": 3, "log_size": 4}
COUNTS = {"OWN_EPOCH_COMMITS": 0}
FORGETS = {"restarts": 1, "VOTE_IS_DURABLE": 0}
LONGEST, ANY = {"VOTE_RULE": VoteRule.LONGEST_LOG}, {"VOTE_RULE": VoteRule.ANY_LOG}
REASONS = QUIET | {"TIMEOUTS_NEED_SILENCE": 1}
ASKS = {"PRE_VOTE": 1}


def lost(acked: int | None, majority: int, truncated: int, agrees: int) -> dict[str, int]:
    """The depths of a loss: the new leader lacks the record, no majority has it, it is removed, replicas differ."""
    found = {"committed_agrees": agrees, "committed_is_on_majority": majority, "committed_is_not_truncated": truncated}
    return found if acked is None else found | {"acked_not_lost": acked}


RUNS: list[tuple[str, Values, dict[str, int], int]] = [
    # The default bounds.
    ("raft", {}, {}, 1_326_126),
    ("kraft", {}, {}, 706_197),
    # One voter is a majority by itself; of two, nobody is elected who lacks an entry of the other.
    ("kraft", {"replicas": 1, "observers": 0}, {}, 3),
    ("kraft", {"replicas": 3, "observers": 2}, {}, 11),
    ("raft", QUIET | {"replicas": 2}, {}, 1_512),
    ("raft", QUIET | {"replicas": 2} | ASKS, {}, 28),
    ("raft", QUIET | {"replicas": 2, "elections": 1}, {}, 107),
    # Without the rule about the own epoch: figure 3.7 of the thesis, figure 8 of the paper.
    ("raft", QUIET, {}, 277_635),
    ("raft", QUIET | COUNTS, lost(16, 18, 18, 19), 358_782),
    ("kraft", FOUR_EPOCHS, {}, 384_973),
    ("kraft", FOUR_EPOCHS | COUNTS, lost(15, 17, 18, 19), 223_165),
    # Without the rule about the newest log.
    ("raft", QUIET | LONGEST, lost(12, 14, 14, 15), 284_111),
    ("raft", QUIET | ANY, lost(6, 9, 9, 10), 446_888),
    ("kraft", THREE, {}, 41_049),
    # Two leaders' own entries make the log of a later epoch the longer one, but for an epoch that is not over.
    ("kraft", THREE | LONGEST, lost(None, 13, 13, 13), 41_805),
    ("kraft", THREE | ANY, lost(6, 8, 8, 8), 68_005),
    # A voter that forgets its vote votes twice.
    ("raft", FORGETS, lost(11, 14, 15, 15) | {"one_leader_per_epoch": 7, "log_matching": 9}, 1_502_907),
    ("kraft", THREE | FORGETS, lost(12, 14, 14, 14) | {"one_leader_per_epoch": 7, "log_matching": 14}, 226_529),
    # Observers are no voters.
    ("kraft", {"OBSERVERS_COUNT": 1}, lost(6, 3, 8, 8), 781_673),
    # Pre-vote and check quorum change nothing that is promised.
    ("raft", QUIET | ASKS | {"CHECK_QUORUM": 1}, {}, 1_695_835),
    ("kraft", THREE | ASKS | {"CHECK_QUORUM": 1}, {}, 238_040),
    # One broken link disturbs a leader that a majority hears, unless a replica asks before it begins an epoch.
    ("raft", REASONS | {"cuts": 1}, {"healthy_leader_is_kept": 3}, 198_420),
    ("raft", REASONS | {"cuts": 1} | ASKS, {}, 558),
    ("kraft", THREE | REASONS | {"cuts": 1}, {"healthy_leader_is_kept": 3}, 19_069),
    ("kraft", THREE | REASONS | {"cuts": 1} | ASKS, {}, 189),
    # With two, a leader can be heard again while the election is on that began without it.
    ("raft", REASONS | {"cuts": 2}, {"healthy_leader_is_kept": 3}, 1_073_937),
    ("raft", REASONS | {"cuts": 2} | ASKS, {"healthy_leader_is_kept": 8}, 417_838),
    ("kraft", THREE | REASONS | {"cuts": 2}, {"healthy_leader_is_kept": 3}, 125_149),
    ("kraft", THREE | REASONS | {"cuts": 2} | ASKS, {"healthy_leader_is_kept": 8}, 29_730),
]


@pytest.mark.parametrize(
    ("variant", "values", "expected", "states"),
    sampled(RUNS, lambda run: run[3] < 250_000, last=lambda run: run[3] > 1_000_000),
    ids=lambda one: spelled(one) if isinstance(one, dict) and one.keys() <= MODEL.entries.keys() else str(one)[:5],
)
def test_mistakes_are_found_at_their_depths(
    variant: str, values: Values, expected: dict[str, int], states: int
) -> None:
    found = searched(MODEL, variant, values)
    assert (failures(found), found.distinct) == (expected, states)
    assert reached(found) == goals(found.instance)


def test_the_known_loss_has_this_shortest_history() -> None:
    """A record of epoch 0 is counted in epoch 2, while the log with a record of epoch 1 wins epoch 3."""
    steps = """
        voter_times_out 1, voter_grants_vote 2 for 1, candidate_becomes_leader 1,
        leader_appends 0, leader_announces_itself 1 to 0,
        voter_times_out 0, voter_grants_vote 2 for 0, candidate_becomes_leader 0,
        leader_announces_itself 0 to 2, leader_appends 1, leader_announces_itself 0 to 1,
        voter_times_out 1, leader_replicates 0 to 2, voter_grants_vote 2 for 1, candidate_becomes_leader 1,
        leader_commits 0
    """
    found = steps_to(MODEL.instance("raft", QUIET | COUNTS), "acked_not_lost")
    assert found == [step.strip() for step in steps.split(",")]


@pytest.mark.parametrize(
    ("variant", "values", "says"),
    [
        ("raft", {"replicas": 1, "observers": 1}, "lower --observers"),
        ("kraft", {"elections": 3}, "raise --log-size"),
        ("raft", {"LEADER_CHANGE_RECORD": 1}, "raise --log-size"),
        ("raft", {"replicas": 8}, "replicas"),
    ],
)
def test_impossible_configurations_are_refused(variant: str, values: Values, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        MODEL.instance(variant, values)


FOUR = {"replicas": 4, "records": 0}
"""A leader that one of three followers still hears can be cut off from all others."""

HOLDS = "HOLDS"
EPOCHS_END = "PERMITTED at step {} (stays there)"
NEVER = "VIOLATED at step {} (stays there)"

EVENTUALLY: list[tuple[str, Values, tuple[str, str, str], int]] = [
    ("raft", {"cuts": 1}, (HOLDS, HOLDS, HOLDS), 117),
    ("kraft", {"cuts": 1}, (HOLDS, HOLDS, HOLDS), 189),
    # Without an entry of its own, a leader never commits what it found: this needs a later leader, and so two cuts.
    ("raft", {}, (HOLDS, EPOCHS_END.format(13), NEVER.format(13)), 40_641),
    ("kraft", {}, (HOLDS, EPOCHS_END.format(12), HOLDS), 68_744),
    # A leader that nobody hears leads for ever.
    ("raft", {"CHECK_QUORUM": 0}, (NEVER.format(8), EPOCHS_END.format(11), NEVER.format(12)), 20_219),
    ("kraft", {"CHECK_QUORUM": 0}, (NEVER.format(10), EPOCHS_END.format(10), HOLDS), 29_730),
    # With pre-vote, it keeps the one follower that hears it from voting, and so everybody from having a leader.
    ("raft", FOUR | {"CHECK_QUORUM": 0}, (NEVER.format(4), NEVER.format(4), HOLDS), 84),
    ("raft", FOUR, (HOLDS, EPOCHS_END.format(13), HOLDS), 71_288),
    ("raft", FOUR | {"CHECK_QUORUM": 0, "PRE_VOTE": 0}, (NEVER.format(9), EPOCHS_END.format(7), HOLDS), 43_949),
]


@pytest.mark.sampled
@pytest.mark.parametrize(("variant", "values", "expected", "states"), EVENTUALLY)
def test_what_happens_eventually(variant: str, values: Values, expected: tuple[str, str, str], states: int) -> None:
    names = ("cut_off_leader_resigns", "a_majority_has_a_leader", "healthy_leader_commits")
    assert certified(LIVE.instance(variant, values)) == (states, dict(zip(names, expected, strict=True)))


def test_it_is_the_same_model() -> None:
    assert [one.name for one in LIVE.actions] == [one.name for one in MODEL.actions]
    assert list(LIVE.protocols) == list(MODEL.protocols)
