"""Traces of the model on the cluster: two implementations that share no code agree.

The traces are random walks of every generation, all golden traces, and all counterexamples of the matrix.
"""

from __future__ import annotations

import io
import itertools
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import replace

import pytest

from conformance.tests.sampling import sampled
from conformance.tests.support import golden
from conformance.tests.support.replay import (
    DEFAULT,
    EVERY_CLIENT,
    EVERY_FAULT,
    GENERATIONS,
    KRAFT,
    SINCE_ALTER_ISR,
    WITH_TRANSACTIONS,
    instance_of,
    must_replay,
    refusal_of,
    steps_in,
    walk_of,
)
from isrcheck.checker.cli import main as check
from isrcheck.checker.comparisons import matrix_record as matrix_module
from isrcheck.checker.comparisons.matrix_record import recorded
from isrcheck.checker.proofs.prove import Proofs
from isrcheck.checker.running import session
from isrcheck.conformance.implemented import MissingMechanismError
from isrcheck.conformance.replay.walks import walk
from isrcheck.models.kafka.state.values import Controller
from isrcheck.traces.format.files import files, read

STEPS = 30
TAKES_IT_FIRST = ("2.8", "3.3")
"""The generations in which a follower takes the high watermark of a response that says where the logs diverge."""

RARE = {"follower_is_out_of_range", "controller_fences_last_leader"}
"""The actions that few of the walks take; the second one needs an ISR that has shrunk to a leader that crashes."""

SEEDS = [range(120), range(120, 1000)]
"""A thousand walks of every generation, in two parts; each part takes every expected action."""


@pytest.mark.parametrize(
    ("protocol", "seeds"),
    sampled(
        itertools.product(GENERATIONS, SEEDS),
        lambda one: False,
        last=lambda one: one[1] == SEEDS[1] or one[0] != "3.7",
    ),
    ids=str,
)
def test_the_cluster_agrees_with_the_model(protocol, seeds):
    taken: set[str] = set()
    for seed in seeds:
        trace = walk_of(protocol, DEFAULT, seed, STEPS)
        must_replay(trace, seed)
        taken |= {step.action for step in trace.steps}
    # All that the default configuration has, but for what is rare there (test_replay_faults.py).
    expected = set(
        steps_in(
            "producer_appends; producer_is_refused; leader_handles_fetch; leader_answers_parked_fetch;"
            " follower_applies_response; response_is_lost; leader_shrinks_isr; broker_crashes;"
            " broker_restarts"
        )
    )
    if protocol in KRAFT:
        expected |= set(
            steps_in(
                "controller_fences_broker; controller_fences_leader; controller_unfences_broker;"
                " broker_applies_metadata"
            )
        )
    else:
        expected |= set(
            steps_in(
                "controller_fails_over; controller_removes_dead_follower; broker_becomes_leader;"
                " broker_becomes_follower"
            )
        )
    if protocol in SINCE_ALTER_ISR:
        expected |= {"controller_handles_alter_partition", "leader_hears_answer", "answer_to_leader_is_lost"}
        expected |= {"follower_truncates"}
        expected |= {"follower_takes_high_watermark_first"} if protocol in TAKES_IT_FIRST else set()
    else:
        expected |= {"broker_bounces"} | (set() if protocol in ("0.8", "0.10") else {"follower_reconciles"})
    assert taken - RARE == expected


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("protocol", "values"),
    sampled(
        [
            *((protocol, values) for protocol in GENERATIONS for values in (DEFAULT, EVERY_FAULT)),
            *((protocol, EVERY_CLIENT) for protocol in WITH_TRANSACTIONS),
        ],
        lambda one: one in [("0.10", EVERY_FAULT), ("2.4", DEFAULT), ("2.8", EVERY_CLIENT)],
    ),
)
def test_walks_with_kernel_and_with_cpython_are_equal(protocol, values):
    """The kernel only avoids trying disabled steps."""
    instance = instance_of(protocol, tuple(values.items()))
    for seed in range(5):
        led, plain = walk_of(protocol, values, seed, STEPS), walk(instance, seed, STEPS)
        assert (led.states, led.steps) == (plain.states, plain.steps)


GOLDEN = [path for path in sorted(golden.FOLDER.glob("*.txt")) if path.stem.startswith("kafka")]


@pytest.mark.sampled
@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_every_golden_trace_replays(path):
    trace = golden.derive(golden.read(path.read_text(encoding="utf-8")))
    refused = refusal_of(trace)
    if refused is None:
        must_replay(trace, trace.property_name)
    else:
        with pytest.raises(MissingMechanismError, match=f"^{refused}$"):
            must_replay(trace)


@pytest.fixture(scope="module")
def matrix(tmp_path_factory):
    """All counterexamples in the matrix, at their full depth, of the generations with ZooKeeper.

    Those with KRaft take minutes to find; the library has theirs (test_failures.py).
    """
    folder = tmp_path_factory.mktemp("counterexamples")
    count = 0
    for run in recorded():
        depths = [*run.violated.values(), *run.permitted.values()]
        if depths and run.instance.configuration.CONTROLLER == Controller.ZOOKEEPER:
            count += len(depths)
            write_counterexamples(run, max(depths), folder)
    return [read(path, None) for path in files(folder)], count


def write_counterexamples(run, depth, folder):
    with pytest.MonkeyPatch.context() as patched, redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
        # Whether the record is of the model of today, the tests of the matrix ask.
        patched.setattr(matrix_module, "recorded", lambda: [replace(run, digest=None)])
        patched.setattr(session, "proved", lambda *given, **more: Proofs(stopped="seconds"))  # nothing of them is asked
        assert check(["--bound", str(depth), "--engine", "local", "--out", str(folder)]) == 0


@pytest.mark.recorded
def test_every_counterexample_of_the_matrix_replays(matrix):
    traces, count = matrix
    assert len(traces) == count
    for trace in traces:
        must_replay(trace, trace.property_name)


@pytest.mark.recorded
def test_a_loss_in_the_model_is_a_loss_for_the_clusters_clients(matrix):
    """Compares the acknowledged records with those that a consumer of the leader receives at the end."""
    lost = [trace for trace in matrix[0] if trace.property_name == "acked_not_lost"]
    assert {trace.instance.protocol.name for trace in lost} == {"0.8", "0.10", "0.11", "2.0"}
    for trace in lost:
        view = must_replay(trace).cluster.observe()
        told = {one.payload for one in view.acknowledged}
        kept = {record.payload for record in view.brokers[view.controller.leader].log}
        assert told == {"a"}
        assert not told & kept
