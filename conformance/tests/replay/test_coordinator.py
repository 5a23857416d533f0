"""Traces of `coordinator` on brokers with group coordinators: two implementations that share no code agree."""

from __future__ import annotations

from functools import cache

import pytest

from conformance.tests.support import golden
from conformance.tests.support.replay import must_agree, steps_in
from isrcheck.conformance.cluster.configuration.bugs import CoordinatorBug
from isrcheck.conformance.cluster.configuration.settings import ClusterError
from isrcheck.conformance.cluster.network.messages import Errors
from isrcheck.conformance.implemented import UntimelyError
from isrcheck.conformance.replay.compare import replay
from isrcheck.conformance.replay.coordinator import CoordinatorDriver
from isrcheck.conformance.replay.on_cluster import OnCluster
from isrcheck.conformance.replay.walks import walk
from isrcheck.conformance.unseen_bugs import unmet
from isrcheck.models.coordinator.runtime import MODEL
from isrcheck.models.language.model import Instance
from isrcheck.models.messages import UsageError
from isrcheck.traces.format.certify import behaviour
from isrcheck.traces.format.trace import Trace

WALKS, STEPS = 5, 40
CONFIGURATIONS = {
    "4.0": {"elections": 4, "writes": 5},
    "4.2": {"elections": 2, "APPENDS_IN_ITS_EPOCH": 1},
    "4.4": {"elections": 3, "writes": 4, "replicas": 3},
}
"""For each generation, a configuration beside its own in which walks are taken, too."""

EVERY_ACTION = 13
"""How many actions the model has: the walks of every generation take all of them."""

GOLDEN = sorted(path.stem.removeprefix("coordinator_") for path in golden.FOLDER.glob("coordinator_*.txt"))
BY_A_FOLLOWER, EARLIER, EMPTY_BATCH = (
    "acknowledged_by_a_follower",
    "batch_of_an_earlier_leadership",
    "empty_batch_reverts_the_state",
)
BEYOND_WRITTEN = tuple(
    steps_in(
        "coordinator_handles_commit 0; coordinator_flushes_batch 0; controller_elects 1;"
        " broker_applies_leadership 0; broker_applies_leadership 1; coordinator_loads 1;"
        " coordinator_handles_commit 1; coordinator_flushes_batch 1; follower_truncates 0;"
        " follower_fetches 0; leader_advances_high_watermark; coordinator_handles_commit 1;"
        " coordinator_flushes_batch 1; follower_fetches 0; leader_advances_high_watermark;"
        " follower_fetches 0; coordinator_handles_high_watermark 0"
    )
)
"""The new leader writes two records where the old one wrote one, so that the old one's coordinator logs an error."""

SEEN: dict[CoordinatorBug, tuple[str | tuple[str, int] | tuple[str, ...], int, str]] = {
    CoordinatorBug.WRITTEN_TAKEN_FOR_COMMITTED: (BY_A_FOLLOWER, 2, "awaited_offset"),
    CoordinatorBug.ANSWERED_ONE_RECORD_EARLY: (("4.0", 4), 17, "awaited_offset"),
    CoordinatorBug.BEYOND_WRITTEN_ACCEPTED: (BEYOND_WRITTEN, 17, "awaited_offset"),
    CoordinatorBug.FAILED_FLUSH_KEEPS_STATE: (EMPTY_BATCH, 1, "applied"),
    CoordinatorBug.OUT_OF_SYNC_NOT_NOTICED: (EARLIER, 11, "is_active"),
    CoordinatorBug.UNLOADING_FORGETS_WRITES: (EARLIER, 11, "answer"),
    CoordinatorBug.LOADED_TO_HIGH_WATERMARK: (("4.0", 4), 12, "applied"),
    CoordinatorBug.LOADED_WITHOUT_LISTENER: (BY_A_FOLLOWER, 0, "is_listening"),
    CoordinatorBug.FOLLOWER_NOT_UNLOADED: (BY_A_FOLLOWER, 4, "unload_is_queued"),
    CoordinatorBug.EPOCH_KEPT_BY_ACTIVE: (("4.0", 1), 10, "loaded_in"),
}
"""Where each bug is seen: a golden trace, a walk (generation, seed), or steps; the step, and the variable."""


def written_trace(name: str) -> golden.Golden:
    return golden.read((golden.FOLDER / f"coordinator_{name}.txt").read_text(encoding="utf-8"))


@cache
def golden_trace(name: str) -> Trace:
    return golden.derive(written_trace(name))


@cache
def walk_of(protocol: str, seed: int) -> Trace:
    return walk(MODEL.instance(protocol, {"elections": 3}), seed, STEPS)


def trace_of(steps: tuple[str, ...], protocol: str = "4.0", **values: int) -> Trace:
    instance = MODEL.instance(protocol, values)
    return behaviour(instance, 0, [golden.read_step(instance, step) for step in steps], None, "", None)


@pytest.mark.parametrize("name", GOLDEN)
def test_the_cluster_agrees_with_a_golden_trace(name: str) -> None:
    must_agree(golden_trace(name), OnCluster())


@pytest.mark.parametrize("protocol", MODEL.protocols)
def test_the_cluster_agrees_with_random_walks(protocol: str) -> None:
    other = MODEL.instance(protocol, CONFIGURATIONS[protocol])
    walks = [walk(other, seed, STEPS) for seed in range(WALKS)] + [walk_of(protocol, seed) for seed in range(WALKS)]
    for trace in walks:
        must_agree(trace, OnCluster())
    assert len({step.action for trace in walks for step in trace.steps}) == EVERY_ACTION == len(MODEL.actions)


def test_the_cluster_agrees_with_walks_of_a_share_coordinator() -> None:
    for seed in range(WALKS):
        must_agree(walk(MODEL.instance("4.0", {"service": 1, "elections": 2}), seed, STEPS), OnCluster())


@pytest.mark.parametrize("bug", CoordinatorBug, ids=lambda bug: bug.name)
def test_a_seeded_bug_is_seen(bug: CoordinatorBug) -> None:
    where, position, what = SEEN[bug]
    if isinstance(where, str):
        trace = golden_trace(where)
    else:
        trace = trace_of(where) if where == BEYOND_WRITTEN else walk_of(*where)
    must_agree(trace, OnCluster())
    assert unmet(bug, trace.instance.configuration) is None
    divergence = replay(trace, OnCluster(bug.name.lower()))
    assert divergence is not None
    assert (divergence.position, divergence.variable or divergence.why) == (position, what)


@pytest.mark.parametrize(
    ("protocol", "values", "count"),
    [("4.0", {"elections": 0}, 7), ("4.2", {"elections": 1}, 2), ("4.4", {"elections": 3, "writes": 1}, 3)],
)
def test_a_bug_that_is_said_not_to_show_does_not(protocol: str, values: dict[str, int], count: int) -> None:
    instance = MODEL.instance(protocol, values)
    hidden = [bug for bug in CoordinatorBug if unmet(bug, instance.configuration)]
    assert len(hidden) == count
    for trace in [walk(instance, seed, STEPS) for seed in range(WALKS)]:
        assert [bug for bug in hidden if replay(trace, OnCluster(bug.name.lower()))] == []


# ---------------------------------------------------------------------------------------- with and without the repairs

BROKEN = {
    BY_A_FOLLOWER: (["commit b"], [Errors.NONE, None]),
    EMPTY_BATCH: (["classic a", "member b"], [None, None]),
    EARLIER: (["classic b", "member a"], [Errors.NOT_COORDINATOR, None]),
}
"""The leader's log and the answers after each history: a commit is acknowledged and gone; two logs are invalid."""

REPAIRED = {
    BY_A_FOLLOWER: (["commit b"], [None, None], "has no new high watermark"),
    EMPTY_BATCH: (["classic a"], [None, Errors.GROUP_ID_NOT_FOUND], ""),
    EARLIER: (["classic b"], [Errors.NOT_LEADER_OR_FOLLOWER, None], ""),
}
"""The same with each repair, and why the last step is refused, if it is."""


def driven(name: str, instance: Instance) -> tuple[list[str], list[Errors | None], str]:
    """The leader's log and the answers after the steps of a golden trace, on a cluster with the rules of this instance;
    and why its last step is refused.
    """
    driver, why = CoordinatorDriver(), ""
    driver.begin(Trace(instance, instance.initial_states[:1], (), None, None, ""))
    for step in golden_trace(name).steps:
        assert not why
        try:
            driver.take(step)
        except ClusterError as error:
            why = str(error)
    view = driver.cluster.observe_coordinators()
    (leader,) = [broker for broker in view.cluster.brokers if broker.number == view.cluster.controller.leader]
    return [record.payload for record in leader.log], [write.answer for write in view.writes], why


@pytest.mark.parametrize("name", GOLDEN)
def test_a_history_ends_on_the_cluster_as_in_the_model(name: str) -> None:
    assert driven(name, golden_trace(name).instance) == (*BROKEN[name], "")


@pytest.mark.parametrize(
    ("name", "change"), [(name, change) for name in GOLDEN for change in golden.repairs(written_trace(name))]
)
def test_with_its_repair_a_history_ends_well(name: str, change: str) -> None:
    log, answers, refusal = driven(name, golden.repaired(written_trace(name), change))
    *rest, why = REPAIRED[name]
    assert [log, answers] == rest
    assert why in refusal
    assert bool(why) == bool(refusal)


# -------------------------------------------------------------------------------------------- what no cluster follows

WAITS = tuple(
    steps_in(
        "coordinator_handles_commit 0; coordinator_flushes_batch 0; coordinator_handles_commit 0;"
        " coordinator_flushes_batch 0; follower_fetches 1; follower_fetches 1"
    )
)
KNOWS = tuple(
    steps_in(
        "coordinator_handles_commit 0; coordinator_flushes_batch 0; follower_fetches 1;"
        " coordinator_handles_commit 0; coordinator_flushes_batch 0; controller_elects 1;"
        " broker_applies_leadership 0; broker_applies_leadership 1; leader_advances_high_watermark"
    )
)
KEEPS = tuple(
    steps_in(
        "coordinator_handles_commit 0; coordinator_flushes_batch 0; follower_fetches 1; follower_fetches 2;"
        " leader_advances_high_watermark; controller_elects 1; broker_applies_leadership 0;"
        " broker_applies_leadership 1; coordinator_loads 1; coordinator_handles_commit 1;"
        " coordinator_flushes_batch 1; follower_fetches 0"
    )
)
CONVERTS_TWICE = tuple(
    steps_in(
        "coordinator_converts_group 0; coordinator_flushes_batch 0; coordinator_converts_group 0;"
        " coordinator_flushes_batch 0; follower_fetches 1; leader_advances_high_watermark;"
        " follower_fetches 1; controller_elects 1; broker_applies_leadership 1; coordinator_loads 1"
    )
)
LOADS = tuple(
    steps_in(
        "coordinator_converts_group 0; coordinator_handles_member 0; coordinator_flushes_batch 0;"
        " follower_fetches 1; leader_advances_high_watermark; follower_fetches 1;"
        " leader_advances_high_watermark; controller_elects 1; broker_applies_leadership 1;"
        " coordinator_loads 1"
    )
)


@pytest.mark.parametrize(
    ("steps", "protocol", "why"),
    [
        (
            WAITS,
            "4.0",
            "in step 6, the followers of broker 0 have reported that all have 1 records, and its high watermark",
        ),
        (
            KNOWS,
            "4.0",
            "in step 9, the followers of broker 1 have reported that all have 0 records, and its high watermark",
        ),
        (LOADS, "4.2", "step 10 loads a log in which a record of a consumer group comes behind its conversion"),
        (KEEPS, "4.0", "in step 12, broker 0 fetches from a leader with a lower high watermark, and keeps its own; a"),
        (CONVERTS_TWICE, "4.2", "step 10 loads a log in which a record of a consumer group comes behind its"),
    ],
)
def test_a_trace_in_which_the_model_is_coarser_is_not_replayed(steps: tuple[str, ...], protocol: str, why: str) -> None:
    with pytest.raises(UntimelyError) as caught:
        replay(trace_of(steps, protocol, replicas=2 + (steps == KEEPS)), OnCluster())
    assert str(caught.value).startswith(why)
    must_agree(trace_of(steps[:-1], protocol, replicas=2 + (steps == KEEPS)), OnCluster())


def test_a_bug_of_another_system_is_refused() -> None:
    with pytest.raises(UsageError, match=r"^copy_appended is no bug of a system that replays coordinator; choose one"):
        replay(golden_trace(EARLIER), OnCluster("copy_appended"))
