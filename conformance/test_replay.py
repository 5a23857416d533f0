"""Histories of the model on the cluster: two implementations that share no code go the same way.

Random walks of every generation, in the default configuration and with every fault, election and client feature; every
golden trace of the model; and every counterexample that the matrix records.
"""

from __future__ import annotations

import io
from contextlib import redirect_stderr, redirect_stdout
from functools import cache
from types import MappingProxyType

import pytest

from checker.cli import main as check
from checker.matrix import recorded
from conformance import golden_support
from conformance.replay.compare import replay
from conformance.replay.driver import Driver
from conformance.replay.walks import walk
from models import registry
from models.language.model import Instance
from traces.folder import files, read
from traces.trace import Trace

STEPS = 30
HISTORIES = 1000
GENERATIONS = ("0.10", "0.11", "2.0", "2.1")
EVERY_FAULT = MappingProxyType(
    {
        "records": 3,
        "log_size": 3,
        "elections": 5,
        "crashes": 3,
        "bounces": 3,
        "start": 1,
        "preferred_elections": 2,
        "unclean_elections": 2,
        "power_losses": 2,
        "disk_losses": 1,
        "retries": 2,
    }
)
EVERY_CLIENT = MappingProxyType({"records": 3, "log_size": 4, "transactions": 2, "delete_records": 1, "retries": 1})
ACKS_ONE = MappingProxyType({"acks": 1, "retries": 2, "records": 3, "log_size": 3, "power_losses": 1})
ACKS_ZERO = MappingProxyType({"acks": 0, "brokers_down": 1, "elections": 4})
FOUR_BROKERS = MappingProxyType({"replicas": 4, "elections": 4, "min_insync_replicas": 1})


@cache
def instance_of(protocol: str, values: tuple[tuple[str, int], ...] = ()) -> Instance:
    return registry.load("kafka")[0].instance(protocol, dict(values))


def must_replay(trace: Trace, what: object = "") -> Driver:
    driver = Driver()
    divergence = replay(trace, driver)
    if divergence is not None:
        steps = [trace.instance.spell_step(step) for step in trace.steps[: divergence.position]]
        pytest.fail("\n".join([str(what), "; ".join(steps), *divergence.lines(trace)]))
    return driver


@pytest.mark.parametrize("protocol", GENERATIONS)
def test_the_cluster_goes_the_way_of_the_model(protocol):
    taken: set[str] = set()
    for seed in range(HISTORIES):
        trace = walk(instance_of(protocol), seed, STEPS)
        must_replay(trace, seed)
        taken |= {step.action for step in trace.steps}
    # All that the default configuration has.
    expected = {
        *("producer_appends", "producer_is_refused", "leader_handles_fetch", "leader_answers_parked_fetch"),
        *("follower_applies_response", "response_is_lost", "leader_shrinks_isr", "follower_is_out_of_range"),
        *("controller_fails_over", "controller_removes_dead_follower", "broker_becomes_leader"),
        *("broker_becomes_follower", "broker_bounces", "broker_crashes", "broker_restarts", "follower_reconciles"),
    }
    # 0.10 truncates at once.
    assert taken == expected - ({"follower_reconciles"} if protocol == "0.10" else set())


FAULTS = {
    *("broker_loses_power", "broker_loses_disk", "controller_elects_preferred", "controller_elects_unclean"),
    *("producer_retries", "follower_is_out_of_range"),
}
CLIENTS = {
    *("producer_appends_in_transaction", "coordinator_commits", "coordinator_aborts", "leader_appends_marker"),
    *("leader_deletes_records", "follower_starts_over", "producer_retries"),
}


@pytest.mark.parametrize(
    ("protocol", "values", "also"),
    [
        *((protocol, EVERY_FAULT, FAULTS) for protocol in GENERATIONS),
        *((protocol, EVERY_CLIENT, CLIENTS) for protocol in GENERATIONS[1:]),
        ("2.1", ACKS_ONE, {"answer_is_lost"}),
        ("0.10", ACKS_ZERO, {"send_is_lost"}),
        ("2.0", FOUR_BROKERS, {"leader_shrinks_isr"}),
    ],
)
def test_so_it_does_with_every_fault_and_every_client(protocol, values, also):
    taken: set[str] = set()
    for seed in range(150):
        trace = walk(instance_of(protocol, tuple(values.items())), seed, 40)
        must_replay(trace, seed)
        taken |= {step.action for step in trace.steps}
    assert taken >= also


GOLDEN = [path for path in sorted(golden_support.FOLDER.glob("*.txt")) if path.stem.startswith("kafka")]


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_every_golden_trace_replays(path):
    must_replay(golden_support.derive(golden_support.read(path.read_text(encoding="utf-8"))))


@pytest.fixture(scope="module")
def matrix(tmp_path_factory):
    """Every counterexample that the matrix records: those of all runs and properties, at their full depth."""
    folder = tmp_path_factory.mktemp("counterexamples")
    depths = [depth for run in recorded() for depth in (*run.violated.values(), *run.permitted.values())]
    with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        code = check(["--bound", str(max(depths)), "--engine", "local", "--out", str(folder)])
    assert code == 0
    return [read(path, None) for path in files(folder)], len(depths)


def test_every_counterexample_of_the_matrix_replays(matrix):
    traces, count = matrix
    assert len(traces) == count
    for trace in traces:
        must_replay(trace, trace.property_name)


def test_a_loss_of_the_model_happens_to_the_clients_of_the_cluster(matrix):
    """What they were told, and what a reader who asks the leader gets at the end."""
    lost = [trace for trace in matrix[0] if trace.property_name == "acked_not_lost"]
    assert [trace.instance.protocol.name for trace in lost] == ["0.10", "0.11", "2.0"]
    for trace in lost:
        view = must_replay(trace).cluster.observe()
        told = {one.payload for one in view.acknowledged}
        kept = {record.payload for record in view.brokers[view.controller.leader].log}
        assert told == {"a"}
        assert not told & kept
