"""The explorer on Spark finds the same as the explorer in one process in every generation of Kafka.

Hypothesis draws the switches, the budgets and the settings of clients, as in the tests of kernels.
"""

from __future__ import annotations

import pytest
from hypothesis import given

from conformance.tests.checker.compile.test_kernel import Wish, drawn, legal_shapes, protocols_of, wishes
from conformance.tests.checker.spark.test_search import MEMORY, asked, everything, on_spark, witnesses
from conformance.tests.sampling import sampled
from isrcheck.checker.explicit.explore import explore
from isrcheck.checker.resources.limits import Limits
from isrcheck.checker.results.verdict import verdicts
from isrcheck.checker.spark.request import Mode

NEW = ("2.8", "4.1")
"""The oldest and the newest generation in which leaders ask the controller to change the ISR."""

ALSO = [("4.1", Mode.PARTS)]
"""What `make test-exhaustive` runs; the rest runs with `make verify`."""

DEPTH = 6
EXAMPLES = 3


@pytest.mark.parametrize(
    ("protocol", "mode"),
    sampled(
        [
            *((protocol, Mode.PARTS) for protocol in protocols_of("kafka")),
            *((protocol, Mode.SEARCH) for protocol in NEW),
        ],
        lambda one: False,
        last=lambda one: one not in ALSO,  # one search by all executors is two jobs for each level
    ),
)
def test_spark_finds_the_same_in_every_generation(local_spark, protocol, mode):
    def agree(wish: Wish) -> None:
        limits = Limits(DEPTH, MEMORY)
        here = explore(wish.instance, limits, count_all=True, kernel=wish.kernel)
        there, _ = on_spark(local_spark, wish.instance, limits, asked(mode), count_all=True)
        assert there.levels == here.levels
        assert witnesses(there) == witnesses(here)
        assert [verdict.text for verdict in verdicts(there)] == [verdict.text for verdict in verdicts(here)]
        if mode is Mode.SEARCH:
            assert everything(there) == everything(here)

    drawn(EXAMPLES)(given(wishes("kafka", protocol, legal_shapes("kafka", protocol)))(agree))()
