"""Random runs: a seed determines the run, no invariant is violated, and drivers use only the public
interface of a cluster."""

from __future__ import annotations

import ast
import hashlib
import os
import pickle
import subprocess
import sys
from dataclasses import replace

import pytest

from conformance.tests.support.places import CONFORMANCE, PROJECT
from isrcheck.conformance.cluster.acts import Act
from isrcheck.conformance.cluster.cluster import Cluster
from isrcheck.conformance.cluster.configuration.protocol import USUAL, generation
from isrcheck.conformance.cluster.configuration.settings import Settings, Start
from isrcheck.conformance.cluster.controller.controller import Election
from isrcheck.conformance.cluster.observe import ClusterView
from isrcheck.conformance.cluster.scheduler import Chances, Scheduler

DRIVERS = ("cluster/acts.py", "cluster/scheduler.py", "tests/support/histories.py")
OPEN_TO_DRIVERS = {
    "broker": {"TimerKind"},
    "controller": {"Election"},
    "fetcher": {"Mode"},
    "network": {"Message"},
    "bugs": {"Bug"},
    "storage": {"StorageError"},
}
"""Of these modules, a driver may use these names only; of the others, all."""
INSIDE = {"log", "partition", "kraft", "replica_manager", "producer", "consumer", "clients", "transactions"}

ROUGH = Chances(
    crash_interval=4_000,
    freeze_interval=8_000,
    election_interval=2_000,
    loss_share=0.05,
    slow_share=0.2,
    elections=(Election.FAIL_OVER,),
)


def printed(seed: int, protocol: str = "2.1", chances: Chances = ROUGH) -> str:
    return "\n".join(Scheduler(Cluster(protocol), seed, chances).run(3_000))


def test_the_same_seed_is_the_same_run_byte_for_byte_and_in_another_process_too() -> None:
    here = printed(7)
    assert printed(7) == here
    code = "from conformance.tests.cluster.test_runs import printed; print(printed(7), end='')"
    for hash_seed in ("1", "2"):
        there = subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(PROJECT)},
            capture_output=True,
            check=True,
            encoding="utf-8",
        )
        assert there.stdout == here


def test_another_seed_is_another_run() -> None:
    seeds = range(20)
    assert len({hashlib.sha256(printed(seed).encode()).hexdigest() for seed in seeds}) == len(seeds)


def test_a_run_continues_where_it_stopped() -> None:
    whole, parts = Scheduler(Cluster(), 3), Scheduler(Cluster(), 3)
    for _ in range(10):
        parts.run(100)
    assert whole.run(1_000) == tuple(map(str, parts.acts))


def test_a_run_has_the_recorded_figures() -> None:
    """The figures change only if the cluster's behaviour or the scheduler's choices change."""
    cluster = Cluster("2.1")
    acts: list[Act] = []
    Scheduler(cluster, 1, ROUGH, acts.append).run(5_000)
    view = cluster.observe()
    names = [each.name for each in acts]
    assert {each: names.count(each) for each in ("produce", "resend", "crash", "freeze", "elect", "notice dead")} == {
        "produce": 42,
        "resend": 17,
        "crash": 6,
        "freeze": 2,
        "elect": 6,
        "notice dead": 1,
    }
    assert (view.controller.leader_epoch, len(view.acknowledged), len(acts)) == (7, 36, 709)


def what_is_wrong(view: ClusterView) -> list[str]:
    """The violated invariants, of those that hold since 0.11 without unclean or preferred elections and lost disks."""
    wrong = []
    leader = view.brokers[view.controller.leader]
    if leader.leadership is not None and leader.leader_epoch == view.controller.leader_epoch:
        held = {each.payload for each in leader.log}
        wrong += [f"{each.payload} is lost" for each in view.acknowledged if each.payload not in held]
    for broker in view.brokers:
        if broker.high_watermark is not None and not broker.high_watermark <= broker.log_end_offset:
            wrong.append(f"high watermark of {broker.number}")
        if [each.offset for each in broker.log] != list(range(broker.log_end_offset)):
            wrong.append(f"offsets of {broker.number}")
    for one in view.brokers:
        for other in view.brokers:
            committed = min(one.high_watermark or 0, other.high_watermark or 0)
            if one.log[:committed] != other.log[:committed]:
                wrong.append(f"{one.number} and {other.number} differ below {committed}")
    return wrong


@pytest.mark.sampled
@pytest.mark.parametrize("whole_exchanges", [True, False])
@pytest.mark.parametrize("protocol", ["0.11", "2.0", "2.1"])
def test_nothing_is_lost_and_committed_logs_agree(protocol: str, whole_exchanges: bool) -> None:
    chances = replace(ROUGH, whole_exchanges=whole_exchanges)
    for seed in range(6):
        cluster = Cluster(protocol)
        scheduler = Scheduler(cluster, seed, chances)
        for _ in range(100):
            scheduler.run(20)
            assert what_is_wrong(cluster.observe()) == [], f"seed {seed}"


@pytest.mark.sampled
def test_a_random_run_finds_the_kip_101_loss_in_0_10() -> None:
    """Truncation to the high watermark, from an ISR of two, with a crash every second."""
    chances = replace(ROUGH, crash_interval=1_000, down_time=200, produce_interval=60)
    lost = []
    for seed in range(40):
        cluster = Cluster("0.10", Start(isr=frozenset({0, 1})), Settings(min_insync_replicas=1))
        scheduler = Scheduler(cluster, seed, chances)
        for _ in range(50):
            scheduler.run(20)
            if any("is lost" in each for each in what_is_wrong(cluster.observe())):
                lost.append(seed)
                break
    assert lost == [3, 34]


def test_observing_changes_nothing() -> None:
    cluster = Cluster()
    Scheduler(cluster, 5, ROUGH).run(2_000)
    before = pickle.dumps(cluster)
    view = cluster.observe()
    for broker in cluster.brokers:
        cluster.timers(broker)
    assert (cluster.observe(), cluster.messages()) == (view, view.network)
    assert pickle.dumps(cluster) == before
    assert hash(view) == hash(cluster.observe())  # all of it is frozen, or it could not be hashed


def test_a_view_never_changes() -> None:
    cluster = Cluster()
    scheduler = Scheduler(cluster, 5, ROUGH)
    scheduler.run(500)
    view, copy = cluster.observe(), pickle.dumps(cluster.observe())
    scheduler.run(500)
    assert pickle.dumps(view) == copy
    assert cluster.observe() != view


def reaches_inside(source: str) -> list[str]:
    """The forbidden operations in a driver's code: writes to attributes, and uses of private ones or of brokers."""
    found = []
    for node in ast.walk(ast.parse(source)):
        targets: list[ast.expr] = []
        if isinstance(node, ast.Assign):
            targets = node.targets
        elif isinstance(node, ast.AugAssign | ast.AnnAssign):
            targets = [node.target]
        elif isinstance(node, ast.Delete):
            targets = node.targets
        accesses = [each for target in targets for each in _written(target) if not _is_own(each)]
        if isinstance(node, ast.Attribute) and node.attr.startswith("_") and not _is_own(node):
            accesses.append(node)
        found += [ast.get_source_segment(source, each) or "" for each in accesses]
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            found += [node.func.id] if node.func.id in {"setattr", "delattr", "getattr", "vars"} else []
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("isrcheck.conformance.cluster."):
            module = (node.module or "").rpartition(".")[2]
            names = {each.name for each in node.names}
            if module in INSIDE or not names <= OPEN_TO_DRIVERS.get(module, names):
                found.append(f"{module}: {', '.join(sorted(names))}")
    return found


def _written(target: ast.expr) -> list[ast.Attribute]:
    """The attributes that an assignment to a target writes, or writes into."""
    while isinstance(target, ast.Subscript | ast.Starred):
        target = target.value
    if isinstance(target, ast.Tuple | ast.List):
        return [found for each in target.elts for found in _written(each)]
    return [target] if isinstance(target, ast.Attribute) else []


def _is_own(node: ast.Attribute) -> bool:
    """`self.x`, and nothing deeper: the driver's own state."""
    return isinstance(node.value, ast.Name) and node.value.id == "self"


@pytest.mark.parametrize("name", DRIVERS)
def test_a_driver_uses_only_the_public_interface(name: str) -> None:
    assert reaches_inside((CONFORMANCE / name).read_text(encoding="utf-8")) == []


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("broker.log = 1", ["broker.log"]),
        ("view.brokers[0].high_watermark += 1", ["view.brokers[0].high_watermark"]),
        ("a, c.leader = 1, 2", ["c.leader"]),
        ("cluster.brokers[0] = 1", ["cluster.brokers"]),
        ("self.cluster.now = 1", ["self.cluster.now"]),
        ("cluster._brokers[0].crash()", ["cluster._brokers"]),
        ("del cluster.x", ["cluster.x"]),
        ("setattr(cluster, 'x', 1)", ["setattr"]),
        ("from isrcheck.conformance.cluster.broker.broker import Broker, TimerKind", ["broker: Broker, TimerKind"]),
        ("from isrcheck.conformance.cluster.log.log import Log", ["log: Log"]),
        ("self.cluster = cluster\nself._x = cluster.observe().now", []),
    ],
)
def test_a_driver_that_uses_private_state_is_detected(source: str, found: list[str]) -> None:
    assert reaches_inside(source) == found


def test_the_cluster_exposes_only_methods_and_views() -> None:
    cluster = Cluster()
    shown = {each: getattr(cluster, each) for each in dir(cluster) if not each.startswith("_")}
    found = {name: value for name, value in shown.items() if not callable(value)}
    parts = [found.pop("coordinator"), found.pop("outside")]
    began = {"switches": generation(USUAL), "settings": Settings(), "assigned": (0, 1, 2)}
    assert found == {"now": 0, "brokers": (0, 1, 2), "has_kraft": False, **began}
    for part in parts:
        values = [getattr(part, each) for each in dir(part) if not each.startswith("_")]
        assert [value for value in values if not callable(value) and value != ()] == []
    assert [each for each in vars(cluster) if not each.startswith("_")] == []
