"""Hypothesis state machines: cluster and model side by side, each step chosen by Hypothesis, failures shrunk.

In:  an `Instance` of kafka, and perhaps a bug to seed in the cluster.
Out: a `RuleBasedStateMachine`: one rule an action; invariants: the cluster shows what the model says, and properties
     of states that the model promises hold. `shrunk` runs one, and gives what it found; `keep` writes it as a trace;
     `must_hold` does both, and fails with the command that replays it, as does the machine's `TestCase` in a test run.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import Any
from unittest import TestCase

from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from isrcheck.conformance.replay.compare import Divergence, compared
from isrcheck.conformance.replay.driver import Driver
from isrcheck.conformance.replay.system import StepRefusedError
from isrcheck.conformance.replay.timing import timing_of
from isrcheck.conformance.replay.walks import Enabled, with_step
from isrcheck.models import run
from isrcheck.models.language.declare import Kind
from isrcheck.models.language.model import Instance, Step
from isrcheck.models.messages.errors import UsageError
from isrcheck.traces.format.certify import judgements
from isrcheck.traces.format.folder import DEFAULT, write
from isrcheck.traces.format.itf import label
from isrcheck.traces.format.trace import Trace, property_of

STEPS = 30


@dataclass(frozen=True)
class Failure:
    """What a machine ran into: a trace, and the property that is broken in its last state, or a divergence there."""

    trace: Trace
    broken: str | None
    divergence: Divergence | None


class FailureFoundError(AssertionError):
    """Raised by an invariant; Hypothesis shrinks towards it."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.broken or "the cluster goes another way")
        self.failure = failure


class Machine(RuleBasedStateMachine):
    """What the rules of all machines work on."""

    instance: Instance
    bug: str | None
    promised: Sequence[str]
    enabled: Enabled | None
    steps_of: Mapping[int, Sequence[Step]]

    def begin(self, start: int) -> None:
        """Model and cluster stand as the initial state of that number."""
        self.trace = Trace(self.instance, (self.instance.initial_states[start],), (), None, None, "")
        self.driver = Driver(self.bug)
        self.driver.begin(self.trace)
        self.possible: dict[int, dict[Step, Trace]] = {}
        self.numbers: Collection[int] | None = None
        self.refused = ""

    def longer(self, action_index: int) -> dict[Step, Trace]:
        """The steps of an action that can be taken now, each with the trace that it makes."""
        if action_index not in self.possible:
            steps = self._candidates(action_index)
            traces = {step: with_step(self.trace, step) for step in steps}
            self.possible[action_index] = {step: trace for step, trace in traces.items() if trace is not None}
        return self.possible[action_index]

    def _candidates(self, action_index: int) -> Sequence[Step]:
        """The steps of an action that CPython has to try: with `enabled`, only those that are."""
        steps = self.steps_of.get(action_index, ())
        if self.enabled is None:
            return steps
        if self.numbers is None:
            self.numbers = self.enabled(self.trace.states[-1])
        return [step for step in steps if step.number in self.numbers]

    def take(self, step: Step) -> None:
        """One step of both. Where time would have had to pass earlier, the cluster goes its way once more."""
        self.trace = longer = self.longer(step.action_index)[step]
        self.possible, self.numbers = {}, None
        try:
            if timing_of(longer) == self.driver.timing:
                self.driver.trace = longer
                self.driver.take(step)
            else:
                self.driver.begin(longer)
                self.driver.observe()
                for again in longer.steps:
                    self.driver.take(again)
                    self.driver.observe()
        except StepRefusedError as error:
            self.refused = str(error)

    def the_cluster_shows_what_the_model_says(self) -> None:
        """Every variable that can be seen is equal."""
        cells = self.trace.states[-1]
        position = self.trace.length
        divergence = Divergence(position, None, cells, self.refused) if self.refused else None
        if divergence is None:
            differing, found = compared(self.instance, cells, self.driver.observe())
            divergence = None if differing is None else Divergence(position, differing, found)
        if divergence is not None:
            raise FailureFoundError(Failure(self.trace, None, divergence))

    def promises_hold(self) -> None:
        """Every property of states that is promised is true."""
        for prop in self.instance.properties:
            if prop.name in self.promised and not run.holds(self.instance, prop, self.trace.states[-1]):
                raise FailureFoundError(Failure(self.trace, prop.name, None))


def machine_of(
    instance: Instance,
    bug: str | None = None,
    promised: Sequence[str] | None = None,
    enabled: Enabled | None = None,
) -> type[Machine]:
    """The machine for an instance. `promised`: the properties of states to watch; without it all of them.

    `enabled` knows which steps are enabled, and saves the trial of the others; the machine does the same without it.
    """
    states = [prop.name for prop in instance.properties if prop.kind is Kind.ALWAYS and not prop.of_steps]
    members: dict[str, Any] = {
        "instance": instance,
        "bug": bug,
        "promised": states if promised is None else promised,
        "enabled": None if enabled is None else staticmethod(enabled),  # a function in a class would take `self`
        "steps_of": {slot: list(steps) for slot, steps in groupby(instance.steps, key=attrgetter("slot"))},
        "begin": initialize(start=st.integers(0, len(instance.initial_states) - 1))(Machine.begin),
        "the_cluster_shows_what_the_model_says": invariant()(Machine.the_cluster_shows_what_the_model_says),
        "promises_hold": invariant()(Machine.promises_hold),
    }
    for number, action in enumerate(instance.model.actions):
        if instance.alternatives[number] is not None:
            members[action.name] = _rule(number)
    made: type[Machine] = type("ModelAndCluster", (Machine,), members)

    class ModelAndClusterTestCase(TestCase):
        def runTest(self) -> None:  # noqa: N802  (the name is unittest's)
            """What a test run of this machine does."""
            must_hold(made, settings.default.max_examples if settings.default else 100)

    made.TestCase = ModelAndClusterTestCase  # type: ignore[assignment]  # Hypothesis computes its own
    return made


def keep(failure: Failure, folder: Path, bug: str | None = None) -> tuple[Path, str]:
    """Write a failure as a trace; where it is, and the command that replays it. Raises UsageError."""
    verdict = None
    if failure.broken is not None:
        trace = failure.trace
        verdict = judgements(trace.instance, property_of(trace.instance, failure.broken), trace.states, trace.steps)[-1]
    path = write(replace(failure.trace, property_name=failure.broken, verdict=verdict), folder)
    return path, f"conform replay {shlex.quote(str(path))}{f' --bug {bug}' if bug else ''}"


def must_hold(machine: type[Machine], examples: int, steps: int = STEPS, folder: Path = DEFAULT) -> None:
    """Run a machine. Raises AssertionError with the shrunk history, where it was written, and what replays it."""
    failure = shrunk(machine, examples, steps)
    if failure is None:
        return
    trace = failure.trace
    told = failure.divergence.lines(trace) if failure.divergence else [f"{failure.broken} is broken"]
    history = [f"{number:3}  {trace.instance.spell_step(step)}" for number, step in enumerate(trace.steps, start=1)]
    try:
        path, command = keep(failure, folder, machine.bug)
        last = [f"written: {path}", f"replay it: {command}"]
    except UsageError as error:
        last = [str(error)]
    raise AssertionError("\n".join([label(trace.instance), *history, *told, *last]))


def _rule(action_index: int) -> Callable[..., None]:
    """One rule: a step of this action, whichever arguments Hypothesis draws."""

    def take_one(self: Machine, data: st.DataObject) -> None:
        self.take(data.draw(st.sampled_from(list(self.longer(action_index)))))

    made: Callable[..., None] = rule(data=st.data())(take_one)
    return precondition(lambda self: bool(self.longer(action_index)))(made)


def shrunk(machine: type[Machine], examples: int, steps: int = STEPS) -> Failure | None:
    """Run a machine; the shrunk failure, or None. The same every time."""
    try:
        run_state_machine_as_test(
            machine,
            settings=settings(
                max_examples=examples,
                stateful_step_count=steps,
                derandomize=True,
                database=None,
                deadline=None,
                print_blob=False,
                report_multiple_bugs=False,
                phases=[Phase.generate, Phase.shrink],
            ),
        )
    except FailureFoundError as found:
        return found.failure
    return None
