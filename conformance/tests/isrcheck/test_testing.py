"""isrcheck.testing: strategies for models, and the state machine that compares a user's system with a model."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from runpy import run_path

import pytest
from hypothesis import given, settings
from hypothesis.errors import NoSuchExample

import isrcheck
from conformance.tests.support.engine import COUNTER, LAMPS
from conformance.tests.support.places import CONFORMANCE
from conformance.tests.support.small_models import action, domain, model, state, write_model
from isrcheck.conformance.cli import main as conform
from isrcheck.models.language.model import Instance
from isrcheck.testing import StepRefusedError, configurations, find, judged_walks, must_agree, state_machine, walks
from isrcheck.traces.format.certify import certify

OWN_BROKER = CONFORMANCE / "examples" / "own_broker.py"
SMALL = {"replicas": 2, "records": 1, "log_size": 1, "elections": 1, "transactions": 0, "delete_records": 0}
"""Bounds: numbers are bounded anew for every shape of the state."""

TWO_REPLICAS = {"replicas": 2, "elections": 0, "bounces": 0, "crashes": 0}
DRAWN = settings(max_examples=100, derandomize=True, database=None, deadline=None)
MANY_DRAWN = settings(DRAWN, max_examples=200)


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
        self.count = trace.states[0]["count"]

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

    @DRAWN
    @given(configurations(lamps, limit=1))
    def draw(instance):
        assert instance.configuration.limit == 1
        assert instance.initial_states
        seen.add((instance.configuration.lamps, instance.configuration.most, instance.configuration.speaks_of_storms))

    draw()
    assert seen >= {(2, 3, 1), (1, 1, 0), (3, 4, 1)}
    assert {lamps for lamps, _, _ in seen} == {1, 2, 3}


@pytest.mark.sampled
def test_every_protocol_is_drawn_and_nothing_contradicts_it():
    protocols = set()

    @MANY_DRAWN
    @given(configurations(isrcheck.load("kafka"), **SMALL))
    def draw(instance):
        protocols.add(instance.protocol.name)
        switches = instance.model.protocols[instance.protocol.name].switches
        assert {name: getattr(instance.configuration, name) for name in switches} == dict(switches)

    draw()
    assert protocols == set(isrcheck.load("kafka").protocols)


def test_walks_are_certified_and_of_any_length(lamps):
    lengths = set()

    @DRAWN
    @given(walks(lamps.instance(), steps=5))
    def draw(walk):
        certify(walk.certified)
        lengths.add(len(walk))

    draw()
    assert lengths == {0, 1, 2, 3, 4, 5}


def test_traces_end_where_their_property_is_violated(counter):
    verdicts = set()

    @DRAWN
    @given(judged_walks(counter, "stays_small"))
    def draw(trace):
        certify(trace.certified)
        verdicts.add((trace.verdict, len(trace)))

    draw()
    assert verdicts == {("HOLDS ON THIS PATH", 0), ("HOLDS ON THIS PATH", 1), ("VIOLATED", 2)}


def test_a_trace_shrinks_to_the_shortest(counter):
    from hypothesis import find as shortest

    assert len(shortest(judged_walks(counter, "stays_small"), lambda trace: trace.verdict == "VIOLATED")) == 2
    with pytest.raises(NoSuchExample):
        shortest(walks(counter, steps=1), lambda walk: len(walk) > 1, settings=settings(max_examples=20))


def test_bad_arguments_are_usage_errors(counter, lamps):
    with pytest.raises(isrcheck.UsageError, match="counter has no property stays_low; did you mean stays_small"):
        judged_walks(counter, "stays_low")
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
        (Failing, 3, ["diverges after step 3 (counter_steps): the system refuses the step: ZeroDivisionError"]),
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


BASKETS = model(
    '"""Things are put into a basket, and wait in a queue."""\n',
    domain("Thing", 3),
    domain("Place", 2),
    state("basket[Place]: Set(of=Thing)", "waiting: Queue(of=Thing, most=3)"),
    action(
        "thing_comes(s, thing: Thing, place: Place)",
        "require(len(s.waiting) < 3)",
        "s.basket[place].add(thing)",
        "s.waiting.append(thing)",
    ),
)


class Baskets:
    """A system that keeps sets and lists, as `trace.states` shows them."""

    def begin(self, trace):
        self.basket = [set(one) for one in trace.states[0]["basket"]]
        self.waiting = list(trace.states[0]["waiting"])

    def take(self, step):
        thing, place = step.ordinals
        self.basket[place].add(thing)
        self.waiting.append(thing)

    def observe(self):
        return {"basket": self.basket, "waiting": self.waiting}


@pytest.fixture
def baskets(tmp_path):
    return isrcheck.load(write_model(tmp_path / "baskets.py", BASKETS)).instance()


def test_sets_and_queues_are_observed_as_sets_and_lists(baskets):
    assert find(state_machine(baskets, Baskets), examples=30) is None

    class Forgetful(Baskets):
        def observe(self):
            return {"basket": [self.basket[0], None], "waiting": self.waiting[:2]}

    failure = find(state_machine(baskets, Forgetful), examples=50)
    assert (len(failure.trace), failure.divergence.variable) == (3, "waiting")


@pytest.mark.parametrize(
    ("seen", "says"),
    [
        ({"basket": [{0}, {3}]}, "observe returned {3} for basket; give elements in 0..2"),
        ({"basket": [[1, 0, 0], {1}]}, "observe returned [1, 0, 0] for basket; give a set, as in {0, 1}"),
        ({"basket": {0}}, "observe returned {0} for basket; give a list of 2 values"),
        ({"waiting": [0, -1, -1]}, "observe returned [0, -1, -1] for waiting; give elements of the queue"),
        ({"waiting": [0, 1, 2, 0]}, "observe returned [0, 1, 2, 0] for waiting; give at most 3 elements of the queue"),
        ({"waiting": {0}}, "observe returned {0} for waiting; give a list, the oldest element first"),
    ],
)
def test_what_is_no_set_or_queue_is_refused_with_what_to_give(baskets, seen, says):
    class Wrong(Baskets):
        def observe(self):
            return seen

    with pytest.raises(isrcheck.UsageError, match=f"^{re.escape(says)}"):
        find(state_machine(baskets, Wrong), examples=5)


LEADERSHIP = """
class Driver:
    def begin(self, trace):
        assert trace.configuration["elections"] == "0" and trace.instance.configuration.elections == 0
        self.leader, self.isr = trace.states[0]["controller_leader"], trace.states[-1]["controller_isr"]

    def take(self, step):
        pass

    def observe(self):
        return {"controller_leader": self.leader}
"""


def test_a_driver_of_the_command_begins_with_the_same_trace(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "driver.py").write_text(LEADERSHIP, encoding="utf-8")
    none = [word for name in ("elections", "bounces", "crashes") for word in ("--set", f"{name}=0")]
    assert conform(["replay", "--driver", "driver.py", "--walks", "5", *none]) == 0
    assert "system and model agree after every step" in capsys.readouterr().out


WITHOUT_HYPOTHESIS = "import sys\nsys.modules['hypothesis'] = None\nimport isrcheck.testing\n"


def test_without_hypothesis_the_import_says_what_to_install():
    done = subprocess.run([sys.executable, "-c", WITHOUT_HYPOTHESIS], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == (
        "ImportError: isrcheck.testing needs Hypothesis, which is not installed; pip install 'isrcheck[testing]'"
    )


# ------------------------------------------------------------------------------------------ a broker of one's own


def test_the_broker_of_the_example_agrees_with_the_model():
    assert find(state_machine(kafka(), run_path(str(OWN_BROKER))["Driver"]), examples=20) is None


@pytest.mark.sampled
def test_a_bug_in_the_broker_of_the_example_is_found():
    class Hasty(run_path(str(OWN_BROKER))["Driver"]):
        def leader_handles_fetch(self, leader, follower):
            super().leader_handles_fetch(leader, follower)
            self.leader.high_watermark = len(self.leader.log)

    failure = find(state_machine(kafka(), Hasty), examples=100)
    assert failure.trace.steps == ("producer_appends at 0", "leader_handles_fetch 0 from 1")
    assert failure.divergence.variable == "high_watermark"
