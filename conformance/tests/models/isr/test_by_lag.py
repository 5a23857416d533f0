"""Who leaves the ISR by each rule: whoever lacks many records, or whoever has been behind for long."""

from __future__ import annotations

import pytest

from isrcheck.checker.explicit.explore import explore
from isrcheck.checker.resources.limits import Limits
from isrcheck.checker.results.verdict import verdicts
from isrcheck.models import registry
from isrcheck.models.messages import UsageError

MODEL, _ = registry.load("isr_by_lag")
MESSAGES, TIME = 0, 1
SLOW = {"least_writes": 2, "fetch_size": 1}


def judged(**entries):
    found = explore(MODEL.instance("", entries), Limits(), count_all=True)
    assert found.exhausted
    return {one.prop.name: one.bare for one in verdicts(found)}


@pytest.mark.parametrize(
    ("burst", "limit", "stays"),
    [(4, 12, True), (4, 11, False), (2, 6, True), (2, 5, False), (1, 3, True), (1, 2, False)],
)
def test_by_messages_three_bursts_decide(burst, limit, stays):
    """Two bursts between two fetches, and one after the second fetch, which tells of what was there before it."""
    found = judged(SHRINK_RULE=MESSAGES, burst=burst, lag_max_messages=limit, fetch_size=8)
    assert (found["a_follower_that_keeps_up_stays"] == "HOLDS") == stays
    assert (found["the_isr_does_not_flap"] == "HOLDS") == stays


@pytest.mark.sampled
@pytest.mark.parametrize("burst", [1, 4, 8])
@pytest.mark.parametrize(("ticks", "stays"), [(1, False), (2, True), (3, True), (4, True)])
def test_by_time_no_burst_removes_a_follower_that_keeps_up_if_two_ticks_are_allowed(burst, ticks, stays):
    found = judged(SHRINK_RULE=TIME, burst=burst, fetch_size=8, lag_time_max_ticks=ticks)
    assert (found["a_follower_that_keeps_up_stays"] == "HOLDS") == stays
    assert (found["the_isr_does_not_flap"] == "HOLDS") == stays


@pytest.mark.parametrize("fetch_size", [1, 2])
def test_a_slow_follower_leaves_however_little_is_counted(fetch_size):
    slow = {"burst": fetch_size + 1, "least_writes": fetch_size + 1, "fetch_size": fetch_size}
    with pytest.raises(UsageError, match="raise most_behind"):
        MODEL.instance("", slow | {"most_behind": fetch_size})
    found = judged(**slow, most_behind=fetch_size + 1)
    assert found["a_slow_follower_leaves"].startswith("REACHED at step ")
    assert found["a_slow_follower_stays_out"] == "HOLDS"


@pytest.mark.parametrize("limit", [20, 30])
def test_a_limit_that_no_follower_can_exceed_is_refused(limit):
    """`most_behind` is 20: with such a limit nobody would leave, however much a follower lacks."""
    with pytest.raises(UsageError, match="raise most_behind"):
        MODEL.instance("", {"SHRINK_RULE": MESSAGES, "burst": 8, "lag_max_messages": limit})
    found = judged(SHRINK_RULE=MESSAGES, burst=8, fetch_size=8, lag_max_messages=20, most_behind=21)
    assert found["a_follower_that_keeps_up_stays"] == "VIOLATED at step 8"


@pytest.mark.parametrize("rule", [MESSAGES, TIME])
def test_a_slow_follower_leaves_and_stays_out_by_both_rules(rule):
    found = judged(SHRINK_RULE=rule, **SLOW)
    assert found["a_slow_follower_leaves"].startswith("REACHED at step ")
    assert found["a_slow_follower_stays_out"] == "HOLDS"


def test_a_follower_that_stops_leaves_if_anything_is_written():
    found = judged(SHRINK_RULE=TIME, stops=1)
    assert found["a_slow_follower_leaves"] == "REACHED at step 16"
