"""models/kafka/new_incarnation.md: a leader counts a broker that the controller no longer trusts.

The search in these tests lets brokers crash only before the first record is sent. Otherwise, a history of the same
length comes first, in which a broker crashes that holds the record.
"""

import pytest

from conformance.tests.models import early_crashes
from conformance.tests.support import golden
from isrcheck.checker.explicit.explore import explore
from isrcheck.checker.resources.limits import Limits
from isrcheck.models.kafka import generations as kafka
from isrcheck.models.kafka import promises
from isrcheck.models.kafka.state import fields
from isrcheck.models.kafka.state.values import Failure
from isrcheck.models.language.model import assemble

MODEL = assemble(
    "kafka",
    [fields, promises],
    {
        "2.4": (kafka.CONDITIONAL_WRITE, kafka.GENERATION_2_4),  # the properties name some of its actions
        "4.1": (kafka.KRAFT, kafka.GENERATION_4_1),
        "early crashes": (early_crashes, kafka.GENERATION_4_1),
    },
)
ONE_OF_EACH = {"crashes": 1, "power_losses": 1, "EQUAL_PARTITION_EPOCH_REPLACES": 0}


def search(elections, partition_changes, depth=None, **values):
    values |= ONE_OF_EACH | {"elections": elections, "partition_changes": partition_changes}
    instance = MODEL.instance("4.1", values, {"broker_crashes": "early crashes"})
    exploration = explore(instance, Limits(depth, 14 << 30), only=["tolerates_claimed_failures"])
    return instance, exploration, exploration.findings["tolerates_claimed_failures"]


def test_a_new_incarnation_is_counted():
    instance, _, findings = search(2, 5, 11)
    path = findings.found.path
    text = (golden.FOLDER / "kafka_new_incarnation.txt").read_text(encoding="utf-8")
    assert [instance.spell_step(instance.step(number)) for number in path.steps] == golden.read(text).steps


def test_a_crash_is_a_failure_where_unclean_shutdowns_count():
    _, _, findings = search(2, 5, 11, claimed_failures=Failure.UNCLEAN_SHUTDOWN)
    assert (findings.found.path, findings.permitted.path.depth) == (None, 11)


@pytest.mark.recorded
@pytest.mark.parametrize(
    ("elections", "partition_changes", "distinct"), [(2, 5, 7_325_927), (3, 6, 14_253_536)], ids=str
)
def test_a_new_leader_epoch_for_a_smaller_isr_repairs_it(elections, partition_changes, distinct):
    """The repair itself starts another leader epoch, so that the larger bounds are the ones to compare with."""
    _, exploration, findings = search(elections, partition_changes, EPOCH_BUMP_ON_SHRINK=1)
    assert exploration.exhausted
    assert findings.found.path is None
    assert exploration.distinct == distinct
