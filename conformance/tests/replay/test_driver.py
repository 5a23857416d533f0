"""Drivers: they use only the public interface of the cluster; requirements on a user's own driver."""

from __future__ import annotations

import ast
from dataclasses import replace
from pathlib import Path

import pytest

from conformance.tests.support.replay import steps_in, trace_of
from isrcheck.conformance.cluster.cluster import Cluster
from isrcheck.conformance.cluster.network.messages import AlterIsrRequest
from isrcheck.conformance.implemented import UntimelyError
from isrcheck.conformance.replay import compare, driver, kraft_timing, projection, steps, timing
from isrcheck.conformance.replay.compare import replay
from isrcheck.conformance.replay.coverage import Coverage
from isrcheck.conformance.replay.driver import Driver
from isrcheck.conformance.replay.system import StepRefusedError, load_driver
from isrcheck.conformance.replay.timing import timing_of
from isrcheck.conformance.replay.walks import walk
from isrcheck.models import registry
from isrcheck.models.kafka.state.values import AlterPartition
from isrcheck.models.messages import UsageError
from isrcheck.models.run import State

KAFKA = registry.load("kafka")[0]


# ------------------------------------------------------------------------------------------- it writes nothing inside

PUBLIC = {name for name in dir(Cluster) if not name.startswith("_")}
"""What the outside world may do to a cluster, and what it may ask."""


@pytest.mark.parametrize("module", [driver, steps, projection, compare, timing, kraft_timing])
def test_replay_writes_no_field_of_a_broker(module):
    """The code assigns only to its own fields and to locals, and calls neither private methods nor setattr."""
    tree = ast.parse(Path(module.__file__).read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        targets = node.targets if isinstance(node, ast.Assign) else []
        for target in [*targets, node.target] if isinstance(node, ast.AugAssign | ast.AnnAssign) else targets:
            if isinstance(target, ast.Attribute):
                assert isinstance(target.value, ast.Name)
                locals_of_timing = ("pair_fetches", "fetches") if module in (timing, kraft_timing) else ()
                assert target.value.id in ("self", *locals_of_timing)
    called = {node.func.id for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
    assert not called & {"setattr", "vars", "delattr", "exec", "eval"}
    private = [node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute) and node.attr.startswith("_")]
    own = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    assert set(private) <= own


def test_the_driver_reaches_the_cluster_through_its_public_methods_only():
    """In `self.cluster.x`, x is public; its result is immutable (observe.py) or a number."""
    used = {
        node.attr
        for module in (driver, steps)
        for node in ast.walk(ast.parse(Path(module.__file__).read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Attribute) and node.value.attr == "cluster"
    }
    assert {"deliver", "drop", "fire", "crash", "elect", "observe"} <= used <= PUBLIC


def test_views_are_immutable():
    """The views for a driver share no mutable state with the brokers."""
    one = Driver()
    replay(trace_of(["producer_appends at 0", "leader_handles_fetch 0 from 1"]), one)
    view = one.cluster.observe()
    with pytest.raises(AttributeError):
        view.brokers[0].log_end_offset = 5
    kinds = tuple | frozenset | int | str | None | bool
    broker = vars(view.brokers[1])
    assert all(isinstance(value, kinds) for value in vars(broker.pop("producers")).values())
    assert all(isinstance(value, kinds) for value in broker.values())


@pytest.mark.parametrize("protocol", ["2.4", "2.8", "3.3", "4.1"])
@pytest.mark.parametrize(
    "values", [{}, {"enable_idempotence": 1, "producer_snapshots": 1, "delete_records": 1, "consumers": 2}]
)
def test_every_variable_but_the_budgets_is_compared(protocol, values):
    trace = trace_of([], protocol, **values)
    one = Driver()
    one.begin(trace)
    compared = one.observe()
    with_cells = {name for name, place in trace.instance.layouts.items() if place.count}
    assert set(compared) & with_cells == with_cells - projection.LEFT_OUT
    for name, cells in compared.items():
        assert len(cells) == trace.instance.layouts[name].count


# ------------------------------------------------------------------------------------------------------------- timing


def test_time_passes_before_the_last_fetch_of_the_kept_follower():
    steps = steps_in(
        "producer_appends at 0; leader_handles_fetch 0 from 1; follower_applies_response 1 from 0;"
        " leader_handles_fetch 0 from 1; leader_shrinks_isr 0 by {2}"
    )
    trace = trace_of(steps, "0.11")
    assert timing_of(trace).pauses == {3}
    assert replay(trace, Driver()) is None


def test_a_follower_that_fell_behind_earlier_cannot_be_kept_alone():
    steps = ["leader_handles_fetch 0 from 1", "leader_shrinks_isr 0 by {1}"]
    with pytest.raises(
        UntimelyError, match="step 2 drops a follower and keeps a follower that caught up earlier or at the same time"
    ):
        timing_of(trace_of(steps, "0.11"))
    # Both may go, and in 2.1 nobody goes who has everything.
    assert timing_of(trace_of([steps[0], "leader_shrinks_isr 0 by {1,2}"], "0.11")).pauses == {1}


def test_a_checkpoint_is_a_high_watermark_that_the_broker_had():
    both = [
        step
        for round_ in range(2)
        for step in (
            "producer_appends at 0",
            *(f"{step} {pair}" for pair in ("0 from 1", "0 from 2") for step in ["leader_handles_fetch"]),
            *(f"follower_applies_response {f} from 0" for f in (1, 2)),
        )
    ]
    committed = [*both[:5], "leader_handles_fetch 0 from 1", "leader_handles_fetch 0 from 2"]
    crash = ["broker_crashes 0"]
    had = trace_of([*committed, *crash, "broker_restarts 0 checkpoint 1"])
    assert timing_of(had).checkpoints == {(7, 0)}
    assert replay(had, Driver()) is None
    older = trace_of([*committed, *crash, "broker_restarts 0 checkpoint 0"])
    assert timing_of(older).checkpoints == {(6, 0)}
    assert replay(older, Driver()) is None


def test_an_impossible_checkpoint_is_reported():
    steps = [
        *steps_in("producer_appends at 0; producer_appends at 0"),
        *(
            step
            for f in (1, 2)
            for step in (f"leader_handles_fetch 0 from {f}", f"follower_applies_response {f} from 0")
        ),
        *steps_in("leader_handles_fetch 0 from 1; leader_handles_fetch 0 from 2; broker_crashes 0"),
    ]
    with pytest.raises(
        UntimelyError, match="restarts broker 0 with a checkpointed high watermark of 1, but the broker has not"
    ):
        timing_of(trace_of([*steps, "broker_restarts 0 checkpoint 1"]))


def test_a_checkpoint_older_than_the_start_is_set_up_at_the_start():
    trace = trace_of(["broker_bounces 1 checkpoint 1"], common_records=2)
    assert timing_of(trace).checkpointed == {1: 1}
    assert replay(trace, Driver()) is None


PROPOSED = steps_in(
    "producer_appends at 0; leader_handles_fetch 0 from 1; follower_applies_response 1 from 0;"
    " leader_handles_fetch 0 from 1; leader_shrinks_isr 0 by {2}"
)
HANDLED = "controller_handles_alter_partition of 0"
LOST = "answer_to_leader_is_lost to 0"


def test_a_fetch_from_a_log_that_diverges_is_no_sign_of_having_caught_up():
    steps = steps_in(
        "producer_appends at 0; controller_elects_preferred 1; broker_becomes_leader 1 in epoch 1;"
        " broker_becomes_follower 0 in epoch 1; broker_becomes_follower 2 in epoch 1;"
        " leader_handles_fetch 1 from 2; leader_handles_fetch 1 from 0; producer_appends at 1;"
        " leader_shrinks_isr 1 by {0}"
    )
    trace = trace_of(steps, "2.8", preferred_elections=1, records=2)
    assert timing_of(trace).pauses == {5}
    assert replay(trace, Driver()) is None


def test_a_controller_accepts_again_what_is_the_case():
    """A request that comes again finds the ISR that it asks for; a leader of an older epoch is refused."""
    again = trace_of([*PROPOSED, HANDLED, LOST, HANDLED, "leader_hears_answer 0"], "2.8")
    assert State(again.instance, again.states[-1]).partition_epoch[0] == 1
    assert replay(again, Driver()) is None
    late = trace_of([*PROPOSED, HANDLED, LOST, "controller_fails_over to 1", HANDLED], "2.8")
    assert State(late.instance, late.states[-1]).alter_partition[0] == AlterPartition.NONE
    assert replay(late, Driver()) is None


def test_the_answer_to_a_broker_that_is_down_is_heard_by_nobody():
    dead = [*PROPOSED, "broker_crashes 0", HANDLED]
    assert replay(trace_of([*dead, "leader_hears_answer 0"], "2.8"), Driver()) is None
    with pytest.raises(UsageError, match=r"step 8 \(answer_to_leader_is_lost to 0\) is not enabled"):
        trace_of([*dead, LOST], "2.8")


def test_a_request_of_a_process_that_has_restarted_reaches_the_controller_in_vain():
    steps = [*PROPOSED, "broker_crashes 0", "controller_fails_over to 1", "broker_restarts 0 checkpoint 0"]
    driver = Driver()
    assert replay(trace_of(steps, "2.8"), driver) is None
    assert not [one for one in driver.cluster.messages() if isinstance(one.payload, AlterIsrRequest)]


# ------------------------------------------------------------------------------------------------ a driver of one's own


class Shows:
    """A system that shows the given values."""

    def __init__(self, *shown, refuses=None):
        self.shown = list(shown)
        self.refuses = refuses

    def begin(self, trace):
        self.trace = trace

    def take(self, step):
        if self.refuses:
            raise StepRefusedError(self.refuses)

    def observe(self):
        return self.shown.pop(0)


def test_values_that_a_driver_omits_are_not_compared():
    trace = trace_of(["producer_appends at 0"])
    assert replay(trace, Shows({}, {"log_end_offset": [1, None, 0]})) is None
    found = replay(trace, Shows({}, {"log_end_offset": [1, 1, 0], "leader": None}))
    assert (found.position, found.variable) == (1, "log_end_offset")
    assert found.lines(trace) == [
        "diverges after step 1 (producer_appends at 0), first in log_end_offset:",
        "--- model",
        "+++ system",
        "@@ -11 +11 @@",
        "-log_end_offset             [1 0 0]",
        "+log_end_offset             [1 1 0]",
    ]


def test_a_refused_step_is_a_divergence():
    trace = trace_of(["producer_appends at 0"])
    found = replay(trace, Shows({}, refuses="no leader"))
    assert found.lines(trace) == [
        "diverges after step 1 (producer_appends at 0): the system refuses the step: no leader"
    ]


@pytest.mark.parametrize(
    ("shown", "why"),
    [
        ({"log_end": [0, 0, 0]}, "observe returned log_end, but kafka has no such variable"),
        ({"log_end_offset": [0, 0]}, r"observe returned \[0, 0\] for log_end_offset; give a list of 3 values"),
        ({"log_end_offset": 0}, "observe returned 0 for log_end_offset; give a list of 3 values"),
        ({"log_end_offset": [0, 0, 9]}, r"observe returned 9 for log_end_offset; give 0\.\.2"),
        ({"log_end_offset": [0, 0, "2"]}, "observe returned '2' for log_end_offset"),
        ({"isr": [[1, 1, 1], None, [0, 0]]}, r"observe returned \[0, 0\] for isr; give a list of 3 values"),
    ],
)
def test_an_unknown_variable_is_refused(shown, why):
    with pytest.raises(UsageError, match=why):
        replay(trace_of([]), Shows(shown))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("x = 1", "needs a class Driver with begin, take and observe"),
        ("class Driver:\n    def begin(self, trace): pass", "needs a class Driver"),
        ("def Driver(): pass", "needs a class Driver"),
        ("1 / 0", "it cannot be loaded: ZeroDivisionError"),
        ("def f(:", "it cannot be loaded: SyntaxError"),
    ],
)
def test_a_file_without_a_driver(tmp_path, text, why):
    path = tmp_path / "mine.py"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UsageError, match=why):
        load_driver(path)
    with pytest.raises(UsageError, match="No such file"):
        load_driver(tmp_path / "none.py")


# ----------------------------------------------------------------------------------------------------------- coverage


def test_coverage_names_unexercised_actions_and_lines():
    coverage = Coverage()
    trace = trace_of(["producer_appends at 0", "broker_bounces 1 checkpoint 0"])
    with coverage.watching():
        assert replay(trace, Driver()) is None
    coverage.note(trace)
    (missed,) = coverage.untouched_actions().values()
    assert "producer_appends" not in missed
    assert "broker_bounces" not in missed
    assert {"leader_handles_fetch", "controller_fails_over", "leader_deletes_records"} <= set(missed)
    lines = {path.name: (set(one), count) for path, (one, count) in coverage.untouched_lines().items()}
    text = {path.name: path.read_text().splitlines() for path in coverage.untouched_lines()}
    ran = {name: {line for number, line in enumerate(text[name], 1) if number not in lines[name][0]} for name in lines}
    assert "        offset = request.offset" not in ran["replica_manager.py"]
    assert lines["replica_manager.py"][0]
    assert lines["consumer.py"][0]
    assert len(lines["broker.py"][0]) < lines["broker.py"][1]
    before = sum(len(missed) for missed, _ in coverage.untouched_lines().values())
    with coverage.watching():
        assert replay(walk(trace.instance, 0, 30), Driver()) is None
    assert sum(len(missed) for missed, _ in coverage.untouched_lines().values()) < before


def test_only_traces_of_kafka_without_swaps_are_replayed():
    model, protocol = registry.load("published/kip_101")
    with pytest.raises(UsageError, match="this driver replays only traces of kafka"):
        Driver().begin(walk(model.instance(protocol, {}), 0, 3))
    swapped = KAFKA.instance("2.1", {})
    with pytest.raises(UsageError, match="without swapped actions"):
        Driver().begin(replace(walk(swapped, 0, 1), instance=replace(swapped, swaps={"x": "y"})))
