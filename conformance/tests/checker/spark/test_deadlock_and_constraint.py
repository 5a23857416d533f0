"""Spark finds the same deadlocks as one process, and obeys `@constraint` with the same counts."""

from __future__ import annotations

import pytest

from conformance.tests.checker.explicit.test_constraint import COUNTERS
from conformance.tests.checker.explicit.test_deadlock import FIRST, TANKS
from conformance.tests.checker.spark.test_search import MEMORY, asked, everything, on_spark, witnesses
from conformance.tests.sampling import exhaustive
from isrcheck.checker.explicit.explore import explore
from isrcheck.checker.resources.limits import Limits
from isrcheck.checker.results.exploration import Finding, StepPath
from isrcheck.checker.results.verdict import verdicts
from isrcheck.checker.spark.request import Mode
from isrcheck.models import registry


@pytest.fixture
def written(tmp_path):
    """Writes a model, and returns its instance."""

    def write(text: str, **values: object):
        path = tmp_path / "written.py"
        path.write_text(text.format(**values), encoding="utf-8")
        return registry.load_file(path).instance()

    return write


@pytest.mark.parametrize("count_all", [exhaustive(False), exhaustive(True)])
def test_one_search_on_spark_finds_the_same_deadlocks(local_spark, written, count_all):
    instance, limits = written(TANKS, most=3, full="3"), Limits(None, MEMORY)
    found, _ = on_spark(local_spark, instance, limits, asked(Mode.SEARCH), count_all=count_all)
    assert everything(found) == everything(explore(instance, limits, count_all=count_all))
    assert found.findings["deadlock"].found == Finding(3 if count_all else 1, FIRST)


@pytest.mark.parametrize("split_depth", [exhaustive(0), 2])
def test_parts_find_the_same_deadlock(local_spark, written, split_depth):
    """The deadlocks are at depth 3 to 5. The states at depth 2 are divided: no part has them all."""
    instance, limits = written(TANKS, most=3, full="3"), Limits(None, MEMORY)
    found, spread = on_spark(local_spark, instance, limits, asked(Mode.PARTS, split_depth), count_all=True)
    here = explore(instance, limits, count_all=True)
    assert (found.levels, witnesses(found), spread.parts > 1) == (here.levels, witnesses(here), split_depth == 2)
    assert found.findings["deadlock"].found.path == FIRST
    # A state that several parts reach is counted in each.
    assert found.findings["deadlock"].found.count >= here.findings["deadlock"].found.count == 3


@pytest.mark.parametrize("mode", [exhaustive(Mode.SEARCH), Mode.PARTS])
def test_deadlocks_can_be_left_out_on_spark(local_spark, written, mode):
    instance = written(TANKS, most=3, full="3")
    found, _ = on_spark(local_spark, instance, Limits(None, MEMORY, deadlock=False), asked(mode, None))
    assert [verdict.bare for verdict in verdicts(found)] == ["HOLDS"]


@pytest.mark.parametrize("count_all", [exhaustive(False), True])
def test_one_search_on_spark_has_the_counts_of_the_constraint(local_spark, written, count_all):
    instance, limits = written(COUNTERS, most=4, small=2, step=2), Limits(None, MEMORY)
    found, _ = on_spark(local_spark, instance, limits, asked(Mode.SEARCH), count_all=count_all)
    assert everything(found) == everything(explore(instance, limits, count_all=count_all))
    if count_all:
        assert (found.distinct, found.generated, found.outside, found.exhausted) == (9, 21, 6, True)
    assert found.findings["stays_low"].found.path == StepPath(1, (0, 1, 1, 0))


@pytest.mark.parametrize("most", [exhaustive(2), 3, exhaustive(4)])
def test_parts_have_the_states_of_the_constraint(local_spark, written, most):
    """The path to the first violation ends outside for a sum of 3, and within for one of 4."""
    instance, limits = written(COUNTERS, most=most, small=2, step=2), Limits(None, MEMORY)
    found, spread = on_spark(local_spark, instance, limits, asked(Mode.PARTS, 0), count_all=True)
    here = explore(instance, limits, count_all=True)
    assert (found.levels, found.exhausted, spread.parts) == (here.levels, True, 2)
    assert witnesses(found) == witnesses(here)
    # Six steps lead outside; those from states that both parts reach are counted in both.
    assert found.outside >= here.outside == 6
    assert [verdict.bare for verdict in verdicts(found)] == [verdict.bare for verdict in verdicts(here)]
