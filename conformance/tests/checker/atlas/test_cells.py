"""The cells of the atlas: which clusters there are, and that every cell can be planned."""

from __future__ import annotations

import random
from collections import Counter

from isrcheck.checker.atlas.cells import cells
from isrcheck.checker.atlas.clusters import clusters
from isrcheck.checker.questions.planning import planned
from isrcheck.checker.questions.question import Topic

CELLS = cells()


def test_every_release_is_there_as_far_as_it_is_modelled():
    found = {(one.release.text, one.mode): one.case.protocol for one in clusters()}
    assert found[("2.0.1", "ZooKeeper")] == "2.0"
    assert found[("3.9", "ZooKeeper")] == "2.8"
    assert (found[("3.9", "KRaft")], found[("4.0", "KRaft")], found[("4.1", "KRaft")]) == ("3.7", "3.7", "4.1")
    assert ("4.0", "ZooKeeper") not in found
    assert ("3.2", "KRaft") not in found, "a preview"
    assert Counter(mode for _, mode in found) == {"ZooKeeper": 31, "KRaft": 9}


def test_a_cell_is_there_once_and_three_replicas_come_first():
    assert len({cell.key for cell in CELLS}) == len(CELLS)
    assert {cell.question.topic for cell in CELLS} == set(Topic)
    assert (CELLS[0].question.topic, CELLS[0].case.replication_factor, CELLS[0].case.protocol) == (Topic.LOSS, 3, "4.1")
    are_many = [cell.case.replication_factor > 3 for cell in CELLS]
    assert are_many == sorted(are_many)


def test_every_cell_can_be_planned():
    for cell in random.Random(0).sample(CELLS, 100):
        searches = planned(cell.case, cell.question)
        assert isinstance(searches, str) or searches
