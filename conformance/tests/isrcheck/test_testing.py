"""isrcheck.testing: strategies for models, and the state machine that compares a user's system with a model."""

from __future__ import annotations

import os
import subprocess
import sys
from runpy import run_path

import pytest
from hypothesis import given, settings
from hypothesis.errors import NoSuchExample

import isrcheck
from conformance.tests.support.engine import COUNTER, LAMPS
from conformance.tests.support.places import CONFORMANCE
from isrcheck.models.language.model import Instance
from isrcheck.testing import StepRefusedError, configurations, find, must_agree, state_machine, traces, walks
from isrcheck.traces.format.certify import certify

OWN_BROKER = CONFORMANCE / "examples" / "own_broker.py"
SMALL = {"replicas": 2, "records": 1, "log_size": 1, "elections": 1, "transactions": 0, "delete_records": 0}
"""Bounds: numbers are bounded anew for every shape of the state."""

TWO_REPLICAS = {"replicas": 2, "elections": 0, "bounces": 0, "crashes": 0}


@pytest.fixture(scope="module")
def lamps(tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "lamps.py"
    path.write_text(LAMPS, encoding="utf-8")
    return isrcheck.load(path)


@pytest.fixture
def counter(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "counter.py").write_text(COUNTER, encoding="utf-8")
    return isrcheck.load("counter.py").instance()


def kafka() -> Instance:
    return isrcheck.load("kafka").instance("2.1", TWO_REPLICAS)


class Counter:
    """A system for the model of a counter."""

    def begin(self, trace):
        self.count = trace.states[0][0]

    def take(self, step):
        self.count += 1

    def observe(self):
        return {"count": self.count}


class Stuck(Counter):
    def take(self, step):
        self.count = min(self.count + 1, 1)


class Refusing(Counter):
    def take(self, step):
        if self.count == 2:
            raise StepRefusedError("two is enough")
        self.count += 1


class Failing(Counter):
    def take(self, step):
        self.count += 1 + 0 // (2 - self.count)


# ----------------------------------------------------------------------------------------------------------- strategies


def test_configurations_stay_within_their_entries(lamps):
    seen = set()

    @settings(max_examples=100, derandomize=True, database=None, deadline=None)
    @given(configurations(lamps, limit=1))
    def draw(instance):
        assert instance.configuration.limit == 1
        assert instance.initial_states
        seen.add((instance.configuration.lamps, instance.configuration.most, instance.configuration.speaks_of_storms))

    draw()
    assert seen >= {(2, 3, 1), (1, 1, 0), (3, 4, 1)}
    assert {lamps for lamps, _, _ in seen} == {1, 2, 3}


def test_every_protocol_is_drawn_and_nothing_contradicts_it():
    protocols = set()

    @settings(max_examples=100, derandomize=True, database=None, deadline=None)
    @given(configurations(isrcheck.load("kafka"), **SMALL))
    def draw(instance):
        protocols.add(instance.protocol.name)
        switches = instance.model.protocols[instance.protocol.name].switches
        assert {name: getattr(instance.configuration, name) for name in switches} == dict(switches)

    draw()
    assert protocols == set(isrcheck.load("kafka").protocols)


def test_walks_are_certified_and_of_any_length(lamps):
    lengths = set()

    @settings(max_examples=100, derandomize=True, database=None, deadline=None)
    @given(walks(lamps.instance(), steps=5))
    def draw(walk):
        certify(walk.certified)
        lengths.add(len(walk))

    draw()
    assert lengths == {0, 1, 2, 3, 4, 5}


def test_traces_end_where_their_property_is_violated(counter):
    verdicts = set()

    @settings(max_examples=100, derandomize=True, database=None, deadline=None)
    @given(traces(counter, "stays_small"))
    def draw(trace):
        certify(trace.certified)
        verdicts.add((trace.verdict, len(trace)))

    draw()
    assert verdicts == {("HOLDS ON THIS PATH", 0), ("HOLDS ON THIS PATH", 1), ("VIOLATED", 2)}


def test_a_trace_shrinks_to_the_shortest(counter):
    from hypothesis import find as shortest

    assert len(shortest(traces(counter, "stays_small"), lambda trace: trace.verdict == "VIOLATED")) == 2
    with pytest.raises(NoSuchExample):
        shortest(walks(counter, steps=1), lambda walk: len(walk) > 1, settings=settings(max_examples=20))


def test_bad_arguments_are_usage_errors(counter, lamps):
    with pytest.raises(isrcheck.UsageError, match="counter has no property stays_low; did you mean stays_small"):
        traces(counter, "stays_low")
    with pytest.raises(isrcheck.UsageError, match="lamps has no configuration entry lamp; did you mean lamps"):
        configurations(lamps, lamp=1)
    with pytest.raises(isrcheck.UsageError, match=r"lamps has no protocol 2\.1"):
        configurations(lamps, "2.1")


# -------------------------------------------------------------------------------------------------------- state machine


def test_a_system_that_agrees_with_the_model_passes(counter):
    assert find(state_machine(counter, Counter), examples=20) is None
    must_agree(state_machine(counter, Counter), examples=20)


@pytest.mark.parametrize(
    ("system", "steps", "says"),
    [
        (Stuck, 2, ["diverges after step 2 (counter_steps), first in count:", "-count  2", "+count  1"]),
        (Refusing, 3, ["diverges after step 3 (counter_steps): the system refuses the step: two is enough"]),
        (
            Failing,
            3,
            ["diverges after step 3 (counter_steps): the system refuses the step: ZeroDivisionError"],
        ),
    ],
)
def test_a_system_that_differs_is_shrunk(counter, system, steps, says):
    failure = find(state_machine(counter, system), examples=50)
    assert (len(failure.trace), failure.broken) == (steps, None)
    lines = failure.lines()
    assert lines[: steps + 1] == ["counter", *(f"  {number}  counter_steps" for number in range(1, steps + 1))]
    for said in says:
        assert [line for line in lines if line.startswith(said)], lines


def test_a_property_is_checked_on_request(counter):
    failure = find(state_machine(counter, Counter, properties=["stays_small"]), examples=50)
    assert (len(failure.trace), failure.broken, failure.trace.verdict) == (2, "stays_small", "VIOLATED")
    assert failure.lines()[-1] == "stays_small is broken"
    with pytest.raises(isrcheck.UsageError, match="counter has no property stays_low"):
        state_machine(counter, Counter, properties=["stays_low"])


def test_a_step_property_cannot_be_checked(lamps):
    of_steps = next(prop.name for prop in lamps.properties if prop.of_steps)
    with pytest.raises(isrcheck.UsageError, match=f"{of_steps} is a property of transitions; give properties of st"):
        state_machine(lamps.instance(), Counter, properties=[of_steps])


def test_the_trace_of_a_failure_is_saved(counter, tmp_path):
    with pytest.raises(AssertionError) as error:
        must_agree(state_machine(counter, Stuck), examples=50)
    *_, written, see = str(error.value).splitlines()
    path = written.removeprefix("written: ")
    assert see == f"see it: trace show {path} --model {tmp_path}/counter.py"
    assert isrcheck.trace(path, "counter.py").steps == ("counter_steps",) * 2


@pytest.mark.exhaustive
def test_a_machine_is_a_test_for_pytest(tmp_path):
    (tmp_path / "counter.py").write_text(COUNTER, encoding="utf-8")
    (tmp_path / "test_counter.py").write_text(
        "import isrcheck\nfrom isrcheck.testing import state_machine\n\n\n"
        "class Stuck:\n    def begin(self, trace):\n        self.count = 0\n\n    def take(self, step):\n"
        "        self.count = 1\n\n    def observe(self):\n        return {'count': self.count}\n\n\n"
        "TestStuck = state_machine(isrcheck.load('counter.py').instance(), Stuck).TestCase\n"
    )
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, env=os.environ)
    assert done.returncode == 1
    lines = [line.removeprefix("E").strip() for line in done.stdout.splitlines()]
    assert "diverges after step 2 (counter_steps), first in count:" in lines
    assert [line for line in lines if line.startswith("written: counterexamples/counter_behaviour_")]


# ------------------------------------------------------------------------------------------ a broker of one's own


def test_the_broker_of_the_example_agrees_with_the_model():
    assert find(state_machine(kafka(), run_path(str(OWN_BROKER))["Driver"]), examples=20) is None


def test_a_bug_in_the_broker_of_the_example_is_found():
    class Hasty(run_path(str(OWN_BROKER))["Driver"]):
        def leader_handles_fetch(self, leader, follower):
            super().leader_handles_fetch(leader, follower)
            self.leader.high_watermark = len(self.leader.log)

    failure = find(state_machine(kafka(), Hasty), examples=100)
    assert failure.trace.steps == ("producer_appends at 0", "leader_handles_fetch 0 from 1")
    assert failure.divergence.variable == "high_watermark"
