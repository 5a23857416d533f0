"""Every golden trace is derived anew from its steps, certified, and compared with the whole file."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from conformance.tests.sampling import sampled
from conformance.tests.support import golden as golden_support
from isrcheck.checker.explicit.explore import explore
from isrcheck.checker.resources.limits import Limits
from isrcheck.models import registry
from isrcheck.models.language.model import Instance
from isrcheck.models.messages import UsageError

FILES = sorted(golden_support.FOLDER.glob("*.txt"))


@pytest.mark.whole
@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_golden_trace(path: Path, request: pytest.FixtureRequest) -> None:
    golden = golden_support.read(path.read_text(encoding="utf-8"))
    text = golden_support.render(golden, golden_support.derive(golden))
    if request.config.getoption("--rewrite-golden"):
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8"), "rewrite with: pytest --rewrite-golden"


GOLDEN = {path.stem: golden_support.read(path.read_text(encoding="utf-8")) for path in FILES}
GONE = sorted((name, change) for name, golden in GOLDEN.items() for change in golden_support.repairs(golden))
LONG = {
    "kafka_epoch_entry_at_log_end",
    "kafka_missed_demotion",
    "kafka_slow_follower_leaves_the_isr",
    "kafka_unclean_election_truncates_below_high_watermark",
    "kafka_unknown_producer_out_of_order",
    "transactions_marker_of_an_older_coordinator",
    "transactions_zombie_is_committed_by_its_successor",
}
"""The traces whose searches take two seconds and more."""

LONGEST = {
    "kafka_diverging_fetch_counts",
    "kafka_high_watermark_of_a_diverging_response",
    "kafka_last_replica_standing",
    "kafka_late_fetch_of_an_earlier_process",
    "kafka_log_starts_over_below_high_watermark",
    "kafka_rebooted_follower_joins_the_isr",
    "kafka_stale_record",  # twelve million states
}
"""The traces whose searches take four seconds and more."""

RECORDED = [
    ("kafka_epoch_entry_at_log_end", "protocol=2.8 partition_changes=5 RESPONSE_EPOCH_MATCHED=on"),  # 26 million states
    ("transactions_input_is_skipped", "protocol=4.2"),
    ("kafka_cancelled_reassignment_leaves_a_stranger", "ELR_WITHIN_REPLICAS=on"),  # 28 million states
    ("kafka_changed_minimum_forgets_who_may_lead", "CHANGED_MIN_ISR_ERASES=ELR"),
    ("kafka_changed_minimum_forgets_who_may_lead", "CHANGED_MIN_ISR_ERASES=NOTHING_WHILE_LEADERLESS"),
    ("kafka_reassignment_through_an_eligible_stranger", "ELR_WITHIN_REPLICAS=on"),
    ("kafka_reassignment_through_an_eligible_stranger", "protocol=4.1"),
]
"""The searches that run with `make verify` only."""


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("name", "change"),
    sampled(
        [one for one in GONE if one not in RECORDED],
        lambda one: one[0] not in LONG | LONGEST,
        last=lambda one: one[0] in LONGEST,
    ),
)
def test_a_golden_trace_is_impossible_with_its_repair(name: str, change: str) -> None:
    assert_impossible(name, change)


@pytest.mark.recorded
@pytest.mark.parametrize(("name", "change"), RECORDED)
def test_the_largest_searches_for_golden_traces_find_nothing(name: str, change: str) -> None:
    assert (name, change) in GONE
    assert_impossible(name, change)


def assert_impossible(name: str, change: str) -> None:
    """By exhaustive search in the same bounds: the property does not fail, or not in the same way."""
    golden = GOLDEN[name]
    is_permitted = golden.header["verdict"] == "PERMITTED"
    exploration = explore(
        golden_support.repaired(golden, change),
        Limits(memory=6 << 30),
        only=[golden.header["property"]],
        want_permitted=is_permitted,
    )
    assert exploration.exhausted
    findings = exploration.findings[golden.header["property"]]
    assert (findings.permitted if is_permitted else findings.found).path is None


def test_every_golden_trace_but_these_names_its_repair() -> None:
    """Otherwise, the search would be lost with the header line."""
    assert GOLDEN.keys() - {name for name, _ in GONE} == {
        "kafka_acks_0_send_is_lost",
        "kafka_acks_1_leader_dies_first",
        "kafka_acks_all_truncation_to_high_watermark",
        "kafka_new_incarnation",
        "kafka_replica_is_removed_below_the_minimum",
        "kafka_retry_after_fail_over",
        "truncate_to_high_watermark_weak_isr",
    }


def test_golden_traces_distinguish_neighbouring_generations() -> None:
    """By a trace that is possible in the older generation, but not in the newer one. 0.10 repairs nothing that is
    unsafe in 0.8: there, the trace is one of 0.10.
    """
    of_kafka = [golden for golden in GOLDEN.values() if golden.header["model"] == "kafka"]
    pairs = {pair for golden in of_kafka for pair in golden_support.protocols(golden)}
    neighbours = set(pairwise(registry.load("kafka")[0].protocols))
    assert neighbours - pairs == {("0.8", "0.10")}
    assert ("0.10", "0.8") in pairs


def test_there_are_golden_traces() -> None:
    assert [path.stem for path in FILES if path.stem.startswith("truncate")] == ["truncate_to_high_watermark_weak_isr"]


TEXT = """\
# why
model: published/kip_101
configuration: replicas=2
property: epoch_monotone
command: check published/kip_101

heading, replicas=2

  #  step                        replica 0          global
  0  initially                   log_record [none]  next_epoch 0
  1  controller_elects_leader 0  ·                  next_epoch 1
                                                    request_leader[0] 0
 10  ignored
"""


def test_a_golden_file_is_parsed() -> None:
    with pytest.raises(AssertionError, match="step 10 follows step 1"):
        golden_support.read(TEXT)
    golden = golden_support.read(TEXT.replace(" 10  ignored\n", ""))
    assert golden.comment == ["# why"]
    assert golden.header == {
        "model": "published/kip_101",
        "configuration": "replicas=2",
        "property": "epoch_monotone",
        "command": "check published/kip_101",
    }
    assert golden.steps == ["controller_elects_leader 0"]


def test_a_golden_file_needs_a_comment() -> None:
    with pytest.raises(AssertionError, match="on its importance"):
        golden_support.read(TEXT.removeprefix("# why\n").replace(" 10  ignored\n", ""))


def test_a_golden_trace_without_failure_is_refused() -> None:
    golden = golden_support.read(TEXT.replace(" 10  ignored\n", ""))
    with pytest.raises(UsageError, match="after 1 steps epoch_monotone is neither violated nor reached"):
        golden_support.derive(golden)


def test_steps_are_parsed_from_their_printed_form(two_replicas: Instance) -> None:
    for step in two_replicas.steps:
        assert golden_support.read_step(two_replicas, two_replicas.spell_step(step)) == step
    with pytest.raises(UsageError, match="published has no step `leader_writes 2` in this configuration"):
        golden_support.read_step(two_replicas, "leader_writes 2")


@pytest.fixture
def two_replicas() -> Instance:
    return golden_support.derive(golden_support.read(FILES[-1].read_text(encoding="utf-8"))).instance
