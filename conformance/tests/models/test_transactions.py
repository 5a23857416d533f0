"""What the model `transactions` finds: each known failure at its exact depth, and that its repair ends it.

Every search is exhaustive. A failure that is repaired by a switch is searched with the switch in both positions.
"""

from __future__ import annotations

from itertools import pairwise

import pytest

from conformance.tests.sampling import sampled
from conformance.tests.support.searches import Values, failures, goals, reached, searched, spelled
from isrcheck.models.messages import UsageError
from isrcheck.models.transactions.generations import MODEL
from isrcheck.models.transactions.values import Verification

ALONE = {"producers": 1, "failovers": 0}
"""One instance of the producer, and a coordinator that never moves."""

MOVES = {"producers": 1, "failovers": 1}
ZOMBIES = {"producers": 2, "failovers": 0}
MISTAKE = {"EQUAL_MARKER_EPOCH_IS_RETRY": 0}
LATE = {"late_requests": 1}
OLD = {"late_markers": 1}
EXHAUSTED = {"producer_epochs": 1}
ANSWERS = {"late_answers": 1}
TINY = {"producers": 1, "partitions": 1, "transactions": 1, "log_size": 2}
EXPIRES = {"PRODUCER_STATE_EXPIRES_EARLY": 1, "expirations": 1}

LATE_RECORD = {"lso_is_not_stuck": 12}
STRAY = {"read_committed_is_atomic": 31, "no_aborted_reads": 31, "processed_exactly_once": 31}
HALF_VERIFIED_STRAY = {"read_committed_is_atomic": 32, "no_aborted_reads": 32, "processed_exactly_once": 32}
VERIFIED_STRAY = {"read_committed_is_atomic": 33, "no_aborted_reads": 33, "processed_exactly_once": 33}
LIVELOCK = {"lso_is_not_stuck": 16, "coordinator_is_not_stuck": 10}
LATE_END = {"read_committed_is_atomic": 28, "no_lost_commits": 28, "committed_on_request": 31}
LATE_END_VERIFIED = {"read_committed_is_atomic": 30, "no_lost_commits": 30, "committed_on_request": 33}
LATE_MARKER = {"read_committed_is_atomic": 31, "no_aborted_reads": 36, "no_lost_commits": 31}
SKIPPED = {"processed_exactly_once": 64, "no_input_is_skipped": 61}
JOINED = {"read_committed_is_atomic": 23, "no_aborted_reads": 23, "no_lost_commits": 28}
OLD_MARKER = {"read_committed_is_atomic": 30, "no_lost_commits": 30}
OLD_MARKER_IN_4_0 = {"read_committed_is_atomic": 33, "no_aborted_reads": 38, "no_lost_commits": 33}
LONGER = {"transactions": 3, "log_size": 6}

RUNS: list[tuple[str, Values, dict[str, int], int]] = [
    # A record that arrives after the abort reopens the transaction, for good (8.17); verification ends that.
    ("0.11", ALONE, LATE_RECORD | STRAY, 100_257),
    ("2.5", ALONE, LATE_RECORD | STRAY, 211_270),
    # In 3.6 it does so only for what producers write themselves: offsets are not verified.
    ("3.6", ALONE, LATE_RECORD | HALF_VERIFIED_STRAY, 163_309),
    # One that arrives in the next transaction is committed with it, until every transaction has its own epoch.
    ("3.7", ALONE, VERIFIED_STRAY, 119_735),
    ("4.0", ALONE, {}, 40_558),
    # A record of an older instance is committed by the next one, until leaders verify.
    ("2.5", ZOMBIES, LATE_RECORD | STRAY | {"no_zombie_commits": 33}, 1_021_595),
    ("3.6", ZOMBIES, LATE_RECORD | HALF_VERIFIED_STRAY | {"no_zombie_commits": 34}, 771_505),
    ("3.7", ZOMBIES, VERIFIED_STRAY, 572_862),
    # KAFKA-18575: a record of the next transaction joins the previous one, which is still open at the partition.
    ("4.0", ALONE | {"ONGOING_PER_EPOCH": 0}, JOINED, 48_424),
    # A copy of EndTxn (until 4.0) or of a marker (until 4.2) that arrives in the next transaction ends that.
    ("2.5", ALONE | LATE, LATE_RECORD | STRAY | LATE_END, 1_533_684),
    ("3.7", ALONE | LATE, VERIFIED_STRAY | LATE_END_VERIFIED, 845_003),
    ("4.0", ALONE | LATE, LATE_MARKER, 265_348),
    ("4.2", ALONE | LATE, {}, 209_428),
    ("4.2", ALONE | LATE | MISTAKE, LIVELOCK, 289_037),
    # Such a marker commits the offset of an aborted transaction: its input is skipped.
    ("4.0", ALONE | LATE | LONGER, LATE_MARKER | SKIPPED, 3_759_195),
    # KAFKA-19999: a marker whose answer was lost is refused for ever.
    ("4.2", ALONE, {}, 34_494),
    ("4.2", ALONE | MISTAKE, LIVELOCK, 46_502),
    ("4.2", MOVES, {}, 111_052),
    ("4.2", MOVES | MISTAKE, LIVELOCK, 155_956),
    # KAFKA-9144: a partition that has forgotten the coordinator's epoch accepts a marker of an older coordinator.
    ("0.11", MOVES | OLD, LATE_RECORD | STRAY, 1_046_797),
    ("2.5", MOVES | OLD, LATE_RECORD | STRAY, 2_304_710),
    ("0.11", MOVES | OLD | EXPIRES, LATE_RECORD | STRAY | OLD_MARKER, 5_113_396),
    ("4.0", MOVES | OLD, {}, 370_756),
    ("4.0", MOVES | OLD | EXPIRES, OLD_MARKER_IN_4_0, 1_647_398),
    # Since 4.0.1, a producer whose transaction has timed out, or a zombie, may go on if it aborts (KAFKA-19367).
    ("4.1", ZOMBIES | {"timeouts": 1}, {}, 395_040),
    ("4.1", ALONE | LATE, LATE_MARKER, 224_492),
    ("4.2", ZOMBIES | LATE, {}, 1_099_169),
    # KAFKA-19367: in 4.0.0, nothing can be fenced in the last epoch of a producer id.
    ("4.0", TINY | EXHAUSTED | {"failovers": 0}, {"lso_is_not_stuck": 7}, 172),
    ("4.1", TINY | EXHAUSTED | {"failovers": 0}, {}, 208),
    # KAFKA-20090: a time-out in the last epoch leaves its producer an epoch that nobody can end.
    ("4.1", ALONE | EXHAUSTED, {}, 33_554),
    ("4.1", ALONE | EXHAUSTED | {"timeouts": 1}, {"lso_is_not_stuck": 19}, 64_940),
    ("4.3", ALONE | EXHAUSTED | {"timeouts": 1}, {}, 70_952),
    # KAFKA-20310: a new coordinator does not know the producer id that the producer was given.
    ("4.2", MOVES | EXHAUSTED, {"fenced_only_by_another": 9, "lso_is_not_stuck": 14}, 115_607),
    ("4.3", MOVES | EXHAUSTED, {"fenced_only_by_another": 9}, 126_585),
    ("4.4", MOVES | EXHAUSTED, {}, 106_900),
    ("4.4", MOVES | EXHAUSTED | {"timeouts": 1}, {}, 232_251),
    ("4.4", EXHAUSTED, {}, 713_148),
    # KAFKA-16352: an answer to a marker of an earlier epoch ends the work of the present one.
    ("0.11", TINY | ANSWERS, {"lso_is_not_stuck": 11, "coordinator_is_not_stuck": 9}, 990),
    ("3.7", TINY | ANSWERS, {"coordinator_is_not_stuck": 9}, 1_030),
    ("3.8", TINY | ANSWERS, {}, 1_012),
    ("4.4", MOVES | ANSWERS, {}, 240_016),
    # Everything holds in larger bounds as well.
    ("4.2", ALONE | LONGER, {}, 360_638),
    ("4.2", ALONE | {"partitions": 3}, {}, 1_773_244),
    ("4.2", {"producers": 3, "failovers": 0}, {}, 510_969),
    # The default bounds.
    ("0.11", {}, LATE_RECORD | STRAY | {"no_zombie_commits": 33}, 1_909_257),
    ("2.5", {}, LATE_RECORD | STRAY | {"no_zombie_commits": 33}, 4_234_638),
    ("3.6", {}, LATE_RECORD | HALF_VERIFIED_STRAY | {"no_zombie_commits": 34}, 3_151_155),
    ("3.7", {}, VERIFIED_STRAY, 2_304_687),
    ("4.0", {}, {}, 955_344),
    ("4.1", {}, {}, 721_452),
    ("3.8", {}, VERIFIED_STRAY, 2_304_687),
    ("4.2", {}, {}, 721_452),
    ("4.3", {}, {}, 721_452),
    ("4.4", {}, {}, 721_452),
    ("4.2", MISTAKE, LIVELOCK, 999_388),
]

NEIGHBOURS = [
    # Since 2.5, no configuration lets a partition's state expire too early.
    (("0.11", "2.5"), (MOVES | OLD | EXPIRES, MOVES | OLD)),
    (("2.5", "3.6"), (ALONE, ALONE)),
    (("3.6", "3.7"), (ALONE, ALONE)),
    (("3.7", "3.8"), (TINY | ANSWERS, TINY | ANSWERS)),
    (("3.8", "4.0"), ({}, {})),
    # A fence in 4.0.0 leaves one epoch out: what fails is the same.
    (("4.0", "4.1"), ({}, {})),
    (("4.1", "4.2"), (ALONE | LATE, ALONE | LATE)),
    (("4.2", "4.3"), (MOVES | EXHAUSTED, MOVES | EXHAUSTED)),
    (("4.3", "4.4"), (MOVES | EXHAUSTED, MOVES | EXHAUSTED)),
]
"""Two generations, and a run of each: what is found differs, or the number of states."""


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("protocol", "values", "expected", "states"),
    sampled(RUNS, lambda run: run[3] < 120_000, last=lambda run: run[3] > 700_000),
    ids=lambda one: spelled(one) if isinstance(one, dict) and one.keys() <= MODEL.entries.keys() else str(one)[:4],
)
def test_failures_are_found_at_their_depths(
    protocol: str, values: Values, expected: dict[str, int], states: int
) -> None:
    found = searched(MODEL, protocol, values)
    assert (failures(found), found.distinct) == (expected, states)


def test_neighbours_differ_by_a_recorded_history() -> None:
    assert [older for older, _ in NEIGHBOURS] == list(pairwise(MODEL.protocols))
    recorded = {(protocol, spelled(values)): found for protocol, values, *found in RUNS}
    for (older, newer), (of_older, of_newer) in NEIGHBOURS:
        assert recorded[older, spelled(of_older)] != recorded[newer, spelled(of_newer)]


@pytest.mark.sampled
@pytest.mark.parametrize(
    "protocol",
    sampled(MODEL.protocols, lambda protocol: protocol == "4.2", last=lambda protocol: protocol in ("2.5", "3.6")),
)
def test_everything_that_transactions_do_is_reachable(protocol: str) -> None:
    """With fail-over and without zombies, and with zombies and without fail-over."""
    wanted = set().union(*(goals(MODEL.instance(protocol, values)) for values in (MOVES, ZOMBIES)))
    assert set().union(*(reached(searched(MODEL, protocol, values)) for values in (MOVES, ZOMBIES))) == wanted
    assert len(wanted) == 7


@pytest.mark.parametrize(
    ("protocol", "values", "says"),
    [
        ("2.5", {"expirations": 1}, "KAFKA-9144"),
        ("3.6", {"TXN_VERIFY": Verification.TV2}, "--protocol 3.6"),
        ("3.7", {"FENCE_RAISES_EPOCH_TWICE": 1}, "--protocol 4.0"),
        ("3.6", {"MARKER_EPOCH_STRICT": 1}, "TXN_VERIFY=TV2"),
        ("3.8", {"NEXT_ID_IS_LOGGED": 1}, "--protocol 4.3"),
        ("3.6", {"transactions": 3}, "raise --log-size"),
    ],
)
def test_contradictory_configurations_are_refused(protocol: str, values: Values, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        MODEL.instance(protocol, values)
