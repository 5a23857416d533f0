"""The cells of the atlas: which clusters there are, and that every cell can be planned."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from isrcheck.checker.answers.planning import planned
from isrcheck.checker.answers.questions import Topic, key_of, why_unasked
from isrcheck.checker.atlas.cells import cells, clusters, upgraded
from isrcheck.checker.atlas.tables import sheets

CELLS = cells()


def test_every_release_is_there_as_far_as_it_is_modelled():
    found = {(one.release.text, one.mode): one.case.protocol for one in clusters()}
    assert found[("2.0.1", "ZooKeeper")] == "2.0"
    assert found[("3.9", "ZooKeeper")] == "2.8"
    kraft = {release: protocol for (release, mode), protocol in found.items() if mode == "KRaft"}
    assert [kraft[one] for one in ("3.9", "3.9.1", "4.0", "4.0.1", "4.1", "4.2")] == [
        *["3.7", "3.7", "4.0", "4.0", "4.1", "4.1"]
    ]
    assert [kraft[one] for one in ("4.3", "4.4", "4.5")] == ["4.3"] * 3
    assert ("4.0", "ZooKeeper") not in found
    assert ("3.2", "KRaft") not in found, "a preview"
    assert Counter(mode for _, mode in found) == {"ZooKeeper": 32, "KRaft": 15}


def test_every_release_with_an_old_metadata_version_is_there():
    """--compare RELEASE raises the binaries alone: the rules that need a newer metadata.version stay off."""
    of_metadata = {"BROKER_STATE_CHECK", "ELR", "EPOCH_BUMP_ON_SHRINK"}
    found = {(one.release.text, *sorted(dict(one.case.switches).keys() & of_metadata)) for one in upgraded()}
    before_3_5, before_3_6 = ("BROKER_STATE_CHECK", "EPOCH_BUMP_ON_SHRINK"), ("EPOCH_BUMP_ON_SHRINK",)
    without_elr = {
        (release, *rules) for release in ("3.7", "3.9.1", "4.0", "4.0.1") for rules in (before_3_5, before_3_6)
    }
    before_4_0 = [("BROKER_STATE_CHECK", "ELR", "EPOCH_BUMP_ON_SHRINK"), ("ELR", "EPOCH_BUMP_ON_SHRINK"), ("ELR",)]
    with_elr = {(release, *rules) for release in ("4.1", "4.3") for rules in before_4_0}
    assert found == {("3.5", "BROKER_STATE_CHECK")} | without_elr | with_elr


def test_a_cell_is_there_once_and_three_replicas_come_first():
    assert len({cell.key for cell in CELLS}) == len(CELLS)
    assert {cell.question.topic for cell in CELLS} == set(Topic)
    assert (CELLS[0].question.topic, CELLS[0].case.replication_factor, CELLS[0].case.protocol) == (Topic.LOSS, 3, "4.1")
    are_many = [cell.case.replication_factor > 3 for cell in CELLS]
    assert are_many == sorted(are_many)


ENOUGH_QUESTIONS = 300
"""Fewer would mean that the pages no longer ask about every known failure and every number of replicas."""


@pytest.mark.sampled
def test_every_question_of_the_pages_is_a_cell():
    """Otherwise nobody searches it: the page says "not recorded", and `isrcheck doctor` searches it each time."""
    keys, missing = {cell.key for cell in CELLS}, Counter()

    def answer(case, question):
        is_cell = why_unasked(case, question) or key_of(case, question) in keys
        missing[question.text, case.replication_factor, case.min_insync_replicas] += not is_cell

    sheets(clusters(), answer)
    assert len(missing) > ENOUGH_QUESTIONS
    assert +missing == {}


def test_losses_of_brokers_are_asked_up_to_the_smallest_isr():
    asked = {
        (cell.case.replication_factor, cell.case.min_insync_replicas, cell.question.number)
        for cell in CELLS
        if cell.question.topic is Topic.SURVIVES
    }
    # More than three replicas are answered by fewer (rules.py): one lost of four in sync, by none lost of three.
    assert asked == {(3, 3, 0)} | {
        (n, least, lost) for n in (1, 2, 3) for least in range(1, n + 1) for lost in range(1, least + 1)
    }


def test_every_cell_can_be_planned():
    for cell in random.Random(0).sample(CELLS, 100):
        searches = planned(cell.case, cell.question)
        assert isinstance(searches, str) or searches
