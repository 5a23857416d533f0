"""The assignment is as Kafka documents it; only given limits are asked about."""

from __future__ import annotations

import pytest

from isrcheck.checker.explicit.explore import explore
from isrcheck.checker.resources.limits import Limits
from isrcheck.checker.results.verdict import Word, verdicts
from isrcheck.models import registry
from isrcheck.models.placement.kafka_assignment import assignment

MODEL, _ = registry.load("placement")
LIMITS = {
    "leaders_move_rarely": "most_moved",
    "writes_stop_rarely": "most_readonly",
    "partitions_are_rarely_offline": "most_offline",
    "leaders_are_spread": "most_led",
}


def test_the_example_of_kafka_without_racks():
    """The comment of AdminUtils: 10 partitions, 3 replicas, 5 brokers."""
    assert assignment(5, 10, 3, 1, start=0, shift=0, is_rack_aware=False) == [
        *([0, 1, 2], [1, 2, 3], [2, 3, 4], [3, 4, 0], [4, 0, 1]),
        *([0, 2, 3], [1, 3, 4], [2, 4, 0], [3, 0, 1], [4, 1, 2]),
    ]


def test_the_example_of_kafka_with_racks():
    """The comment of AdminUtils: 12 partitions, 3 replicas, 6 brokers in 3 racks. Its list of brokers, one of each rack
    in turn, is 0 3 1 5 4 2; ours is 0 2 4 1 3 5."""
    name = dict(zip((0, 3, 1, 5, 4, 2), (0, 2, 4, 1, 3, 5), strict=True))
    documented = [
        *([0, 3, 1], [3, 1, 5], [1, 5, 4], [5, 4, 2], [4, 2, 0], [2, 0, 3]),
        *([0, 4, 2], [3, 2, 0], [1, 0, 3], [5, 3, 1], [4, 1, 5], [2, 5, 4]),
    ]
    expected = [[name[broker] for broker in replicas] for replicas in documented]
    assert assignment(6, 12, 3, 3, start=0, shift=0, is_rack_aware=True) == expected


def judged(**entries):
    found = explore(MODEL.instance("", entries), Limits(), count_all=True)
    return {one.prop.name: one.word for one in verdicts(found)}


def test_without_a_limit_nothing_is_said_about_it():
    found = judged(brokers=4)
    assert {name for name, word in found.items() if word is Word.NOT_APPLICABLE} == set(LIMITS)
    assert found["replicas_are_on_different_brokers"] is Word.HOLDS


@pytest.mark.parametrize("prop", LIMITS)
def test_a_limit_is_judged_where_it_is_given(prop):
    found = judged(brokers=4, min_insync_replicas=3, **{LIMITS[prop]: 0})
    expected = Word.HOLDS if prop == "partitions_are_rarely_offline" else Word.VIOLATED
    assert found[prop] is expected
