"""The model `tier`: what each failure needs, its exact depth, which repairs end it, and the histories of
docs/tiered_storage.md. Every search is exhaustive."""

from __future__ import annotations

import re

import pytest

from conformance.tests.docs.markdown import blocks
from conformance.tests.models.tier import stuck_builder
from conformance.tests.support.golden import read_step
from conformance.tests.support.places import PROJECT
from conformance.tests.support.searches import Values, promises, searched, steps_to
from isrcheck.checker.explicit.explore import explore
from isrcheck.checker.resources.limits import Limits
from isrcheck.checker.results.exploration import Exploration
from isrcheck.models import run, tier
from isrcheck.models.language.declarations import NONE
from isrcheck.models.language.model import Instance, assemble
from isrcheck.models.messages import UsageError
from isrcheck.models.tier import MODEL, Seeding

pytestmark = pytest.mark.sampled

DOCUMENT = PROJECT / "docs" / "tiered_storage.md"
PROPERTIES = (
    "tiered_record_is_kept",
    "tiered_record_is_readable",
    "epoch_cache_covers_the_log",
    "producer_state_covers_the_log",
    "every_replica_can_return",
)
GOALS = {prop.name for prop in MODEL.properties} - promises(MODEL)

COUNTS = {"SEEDING": Seeding.ALWAYS, "EXPIRED_SEGMENTS_COUNT": 0}
"""Retention that counts every segment once, with `4.5`."""

ONE_LEADER = {"elections": 0, "restarts": 0}
QUIET = {"remote_failures": 0}
SINGLE = ONE_LEADER | QUIET | {"segment_size": 1, "log_size": 2, "retention_size": 2}
DELETED = ONE_LEADER | QUIET | {"deleted_records": 1, "retention_size": 2}
AGAIN = QUIET | {"restarts": 0, "elections": 2, "log_size": 6}
SMALLEST = {"log_size": 2, "retention_size": 2}
MOVED = {"restarts": 0, "log_size": 6}
RESTARTED = QUIET | {"elections": 0, "log_size": 3, "retention_size": 3}
SINGLES = {"crashes": 1, "segment_size": 1, "log_size": 3, "retention_size": 2}
SHORT = {"crashes": 1, "deleted_records": 1, "retention_size": 2}
CRASH = SMALLEST | QUIET | {"restarts": 0, "crashes": 1}
FETCH_FIRST = {"FETCH_BEFORE_TRUNCATING": 1}
UNTIL_COVERED = {"BUILD_UNTIL_COVERED": 1}
DELETE_LESS = {"DELETE_ONLY_BELOW_LOG_START": 1}
RAISE_LESS = {"LOG_START_NEEDS_EPOCHS": 1}
ALL_REPAIRS = FETCH_FIRST | UNTIL_COVERED | DELETE_LESS | RAISE_LESS
NEW = {"follower_fetch_last_tiered_offset_enable": 1}

HOLDS = "- - - - -"

FIGURES: dict[str, tuple[str, Values, str, int]] = {
    # kept, readable, epochs, producers, can return
    "3.9": ("3.9", {}, "10 10 10 10 -", 136_325),
    "4.4": ("4.4", {}, "12 11 10 10 -", 124_567),
    "4.5": ("4.5", {}, "12 11 10 10 -", 117_438),
    # Retention that counts twice.
    "3.9, twice": ("3.9", QUIET, "10 10 - - -", 104_779),
    "3.9, a leader that restarts": ("3.9", RESTARTED, "9 9 - - -", 2_527),
    "3.9, no retention by size": ("3.9", QUIET | {"retention_size": 8}, HOLDS, 76_426),
    "4.4, an old offset": ("4.4", QUIET, "14 13 - - -", 91_679),
    "4.5, an old offset": ("4.5", QUIET, "14 13 - - -", 84_905),
    "4.4, single records": ("4.4", SINGLE, "7 7 - - -", 549),
    "4.5, single records": ("4.5", SINGLE, HOLDS, 293),
    "4.5, seeded each time": ("4.5", QUIET | {"SEEDING": Seeding.ALWAYS}, HOLDS, 82_489),
    "3.9, seeded each time": ("3.9", QUIET | {"SEEDING": Seeding.ALWAYS}, HOLDS, 82_489),
    "4.5, deleted records": ("4.5", DELETED, "11 11 - - -", 4_450),
    "4.5, deleted records, repaired": ("4.5", DELETED | {"EXPIRED_SEGMENTS_COUNT": 0}, HOLDS, 4_532),
    # A follower whose state is half built.
    "half built": ("4.5", COUNTS, "12 11 10 10 -", 113_446),
    "half built, least records": ("4.5", COUNTS | SMALLEST, "12 11 10 10 -", 3_652),
    "half built, no restart": ("4.5", COUNTS | SMALLEST | {"restarts": 0}, HOLDS, 649),
    "half built, no failure": ("4.5", COUNTS | QUIET, HOLDS, 82_489),
    "half built, no election": ("4.5", COUNTS | {"elections": 0}, "- - 10 10 -", 14_623),
    "half built, a crash": ("4.5", COUNTS | CRASH, "11 10 9 9 -", 638),
    "half built, KIP-1023": ("4.5", COUNTS | NEW, "12 11 10 10 -", 113_658),
    # The repairs alone, and together.
    "fetch first": ("4.5", COUNTS | FETCH_FIRST, HOLDS, 82_489),
    "fetch first, a crash": ("4.5", COUNTS | FETCH_FIRST | CRASH, "11 10 9 9 -", 638),
    "until covered, a crash": ("4.5", COUNTS | UNTIL_COVERED | {"crashes": 1}, HOLDS, 115_286),
    "delete less": ("4.5", COUNTS | DELETE_LESS, "13 11 10 10 -", 112_810),
    "raise less": ("4.5", COUNTS | RAISE_LESS, "12 11 10 10 -", 112_110),
    "delete and raise less": ("4.5", COUNTS | DELETE_LESS | RAISE_LESS, "- 11 10 10 -", 110_594),
    "all repairs, a crash": ("4.5", COUNTS | ALL_REPAIRS | {"crashes": 1}, HOLDS, 92_198),
    "until covered, KIP-1023": ("4.5", COUNTS | UNTIL_COVERED | NEW | {"crashes": 1}, HOLDS, 115_360),
    "until covered, short retention": ("4.5", COUNTS | UNTIL_COVERED | SHORT, HOLDS, 794_356),
    "all repairs, KIP-1023": ("4.5", COUNTS | ALL_REPAIRS | NEW | {"crashes": 1}, HOLDS, 92_254),
    "all repairs, short retention": ("4.5", COUNTS | ALL_REPAIRS | SHORT, HOLDS, 527_630),
}
"""What is searched, at which step each of PROPERTIES fails, and the number of states."""

LONG: dict[str, tuple[str, Values, str, int]] = {
    "half built, the log start moves": ("4.5", COUNTS | MOVED, "22 19 18 18 -", 256_560),
    "4.5, expired segments again": ("4.5", AGAIN | {"SEEDING": Seeding.ALWAYS}, "20 19 - - -", 1_142_300),
    "4.5, expired segments again, repaired": ("4.5", AGAIN | COUNTS, HOLDS, 1_131_510),
    "until covered, longer": ("4.5", COUNTS | UNTIL_COVERED | MOVED | {"crashes": 1, "elections": 2}, HOLDS, 2_105_954),
    "until covered, single records": ("4.5", COUNTS | UNTIL_COVERED | SINGLES, HOLDS, 487_109),
}


def depths(found: Exploration) -> str:
    """At which step each of PROPERTIES fails; `-` if it holds."""
    paths = [found.findings[name].found.path for name in PROPERTIES]
    return " ".join("-" if path is None else str(path.depth) for path in paths)


def test_the_properties_are_those_of_the_model():
    assert {prop.name for prop in MODEL.properties} == {*PROPERTIES, *GOALS}


@pytest.mark.whole
@pytest.mark.parametrize("what", FIGURES)
def test_each_failure_has_its_depth_and_its_repairs(what):
    protocol, values, expected, states = (FIGURES | LONG)[what]
    found = searched(MODEL, protocol, values)
    assert (depths(found), found.distinct) == (expected, states)


@pytest.mark.exhaustive
@pytest.mark.parametrize("what", LONG)
def test_longer_logs_and_more_elections(what):
    test_each_failure_has_its_depth_and_its_repairs(what)


@pytest.mark.exhaustive
def test_three_replicas_of_which_two_acknowledge_do_not_help():
    instance = MODEL.instance("4.5", {"SEEDING": Seeding.ALWAYS, "brokers": 3, "min_insync_replicas": 2})
    found = explore(instance, Limits(depth=15))
    assert depths(found) == "15 12 11 11 -"


# ---------------------------------------------------------------------------------------------------------- the goals

REACHED = {
    "a_record_is_only_remote": 8,
    "a_follower_builds_its_state": 8,
    "a_built_follower_leads": 10,
    "a_later_leader_uploads": 6,
}


@pytest.mark.parametrize("values", [{}, COUNTS | ALL_REPAIRS], ids=["as it is", "repaired"])
def test_uploads_deletions_and_elections_happen(values):
    found = searched(MODEL, "4.5", values)
    reached = {name: found.findings[name].found.path.depth for name in GOALS & found.findings.keys()}
    assert reached == REACHED


def test_retention_deletes_what_it_has_passed():
    found = searched(MODEL, *FIGURES["all repairs, short retention"][:2]).findings["retention_deletes_a_segment"]
    assert found.found.path.depth == 9


# ----------------------------------------------------------------------------------------------------- the histories

FINDINGS = {
    "A follower whose state is half built leads": ("4.5", COUNTS | SMALLEST, "tiered_record_is_kept"),
    "Retention counts local segments twice (KAFKA-20732)": ("3.9", RESTARTED, "tiered_record_is_kept"),
    "Segments below the log start": ("4.5", DELETED, "tiered_record_is_kept"),
}
"""The findings of the document, by heading, with the histories in the document's order."""


def test_the_document_tells_the_histories_that_are_found():
    documented = [block.text for block in blocks(DOCUMENT) if block.info == ("text",)]
    histories = [steps_to(MODEL.instance(protocol, values), name) for protocol, values, name in FINDINGS.values()]
    assert documented == [
        "".join(f"{number:>2}  {step}\n" for number, step in enumerate(steps, 1)) for steps in histories
    ]


def test_every_finding_has_a_heading():
    text = DOCUMENT.read_text(encoding="utf-8")
    assert re.findall(r"^### (.*)$", text, flags=re.MULTILINE) == list(FINDINGS)


class After:
    """A cluster after steps from the beginning, or after more steps."""

    def __init__(self, instance: Instance, steps: str = "", cells: run.Cells | None = None) -> None:
        self.instance, self.cells = instance, cells or instance.initial_states[0]
        for text in steps.rstrip(", ").split(", ") if steps else ():
            taken = run.take(instance, self.cells, read_step(instance, text))
            assert taken is not None, f"`{text}` is not possible"
            self.cells = taken

    def then(self, steps: str) -> After:
        return After(self.instance, steps, self.cells)

    def can(self, step: str) -> bool:
        return run.take(self.instance, self.cells, read_step(self.instance, step)) is not None

    @property
    def state(self) -> run.State:
        return run.State(self.instance, self.cells)

    @property
    def is_readable(self) -> bool:
        prop = next(prop for prop in self.instance.properties if prop.name == "tiered_record_is_readable")
        return run.holds(self.instance, prop, self.cells)


TIERED = (
    "producer_appends, producer_appends, leader_shrinks_isr 1, leader_advances_high_watermark, leader_begins_to_copy,"
    " leader_uploads_segment, replica_deletes_local_segment 0, "
)
FAILED = TIERED + "follower_fails_to_fetch_epochs 1, "
JOINED = FAILED + "broker_restarts 1, leader_expands_isr 1, "
"""Steps from the beginning: a segment is only remote; a follower fails to build its state; it joins the ISR anyway."""


def test_a_restart_of_the_follower_does_as_well():
    failed = After(MODEL.instance("4.5", COUNTS), FAILED)
    assert not failed.can("leader_expands_isr 1")
    assert not failed.then("broker_restarts 1, leader_expands_isr 1, controller_elects 1").is_readable


def test_a_retry_heals_while_the_fetch_state_lives():
    failed = After(MODEL.instance("4.5", COUNTS), FAILED)
    built = After(failed.instance, TIERED + "follower_builds_state 1")
    first_epochs = [one.state.epoch_cache[1][0] for one in (failed, failed.then("follower_builds_state 1"), built)]
    assert first_epochs == [NONE, 0, 0]


def test_a_new_leader_moves_its_log_start_to_its_local_log_start():
    """Even if nothing is deleted as unreferenced, a half-built leader gives up what it does not know."""
    joined = After(MODEL.instance("4.5", COUNTS | DELETE_LESS), JOINED)
    assert joined.then("controller_elects 1, leader_begins_to_copy").state.log_start_offset[1] == 2


def test_a_complete_leader_serves_again_what_a_half_built_one_refused_if_the_log_start_has_not_moved():
    refused = After(MODEL.instance("4.5", COUNTS | {"elections": 2}), JOINED + "controller_elects 1")
    back = refused.then("leader_expands_isr 0, controller_elects 0")
    moved = refused.then("leader_begins_to_copy, follower_fetches 0, leader_expands_isr 0, controller_elects 0")
    assert [one.is_readable for one in (refused, back, moved)] == [False, True, False]


def test_segments_of_the_first_known_epoch_are_refused_and_not_deleted():
    followed = TIERED + "producer_appends, follower_fails_to_fetch_epochs 1, broker_restarts 1, follower_fetches 1, "
    elected = After(MODEL.instance("4.5", COUNTS), followed + "leader_expands_isr 1, controller_elects 1")
    state = elected.then("leader_begins_to_copy, leader_expires_segments").state
    assert (state.log_start_offset[1], state.epoch_cache[1][1], state.epoch_cache[1][2]) == (0, NONE, 0)
    assert state.remote_epochs_from[0] == 0


# ------------------------------------------------------------------------------------------- repairs that are wrong


def test_a_wrong_repair_leaves_a_follower_stuck():
    """The property that all replicas can return fails if the repair is made wrong."""
    wrong = assemble("tier", tier, {"4.5": (stuck_builder, tier.GENERATION_4_5)})
    values = COUNTS | UNTIL_COVERED | SHORT
    found = explore(wrong.instance("4.5", values), Limits(memory=1 << 30), only=["every_replica_can_return"])
    depth_of_the_failure = 14  # found by this search, which is exhaustive to there
    assert found.findings["every_replica_can_return"].found.path.depth == depth_of_the_failure
    assert depths(searched(MODEL, "4.5", ALL_REPAIRS | values)) == HOLDS


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"log_size": 1}, "raise --log-size to --segment-size or more"),
        ({"min_insync_replicas": 3}, "raise --brokers"),
    ],
)
def test_what_makes_no_sense_is_refused(values, message):
    with pytest.raises(UsageError, match=re.escape(message)):
        MODEL.instance("4.5", values)
