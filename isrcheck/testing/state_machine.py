"""A rule-based state machine of Hypothesis: model and system run side by side, and Hypothesis chooses each step.

In:  an `Instance`, and a function that makes a `UserSystem` (conformance/replay/system.py).
Out: a `RuleBasedStateMachine` with one rule for each action. After each step, the observed state of the system has to
     equal that of the model, and the watched properties have to hold. `find` runs a machine and returns the shrunk
     failure; `must_agree` also saves it as a trace, as does the machine's `TestCase` in a test run.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
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

from isrcheck.certified_trace import Trace
from isrcheck.conformance.replay.compare import Divergence, compared
from isrcheck.conformance.replay.system import StepRefusedError, UserSystem
from isrcheck.conformance.replay.walks import Enabled
from isrcheck.models import run
from isrcheck.models.language.declarations import WHOLE
from isrcheck.models.language.model import Instance, Step
from isrcheck.models.messages import UsageError
from isrcheck.models.run import Cells
from isrcheck.testing.strategies import STEPS
from isrcheck.traces.format import trace as certified
from isrcheck.traces.format.certify import judgements
from isrcheck.traces.format.files import DEFAULT, is_built_in
from isrcheck.traces.format.trace import property_of

EXAMPLES = 100
"""The number of runs of a machine if the profile of Hypothesis does not set it."""

STATES = 1 << 14
"""The number of states for which the enabled steps are cached."""


@dataclass(frozen=True)
class Failure:
    """A failure: the trace that leads to it, and either the broken property or the difference between system and
    model."""

    trace: Trace
    broken: str | None
    divergence: Divergence | None

    def lines(self) -> list[str]:
        """The failure as text: the model, the steps, and what is wrong after the last step."""
        steps = [f"{number:3}  {step}" for number, step in enumerate(self.trace.steps, start=1)]
        wrong = self.divergence.lines(self.trace.certified) if self.divergence else [f"{self.broken} is broken"]
        return [self.trace.model, *steps, *wrong]


class FailureFoundError(AssertionError):
    """Raised by an invariant of a machine; Hypothesis shrinks towards it."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.broken or "the system differs from the model")
        self.failure = failure


class ModelAndSystem(RuleBasedStateMachine):
    """The state on which a machine's rules work: a trace of the model, and a system that has taken the same steps."""

    instance: Instance
    watched: Sequence[str]
    new_system: Callable[[], UserSystem]
    enabled: Enabled
    steps_of: Mapping[int, Sequence[Step]]

    def begin(self, start: int) -> None:
        """Put model and system into the initial state with the number `start`."""
        self.trace = certified.Trace(self.instance, (self.instance.initial_states[start],), (), None, None, "")
        self.system = type(self).new_system()
        self.begin_system()
        self.possible: dict[int, dict[Step, certified.Trace]] = {}
        self.refused = ""

    def begin_system(self) -> None:
        """Put the system into the first state of the trace."""
        self.system.begin(Trace(self.trace))

    def longer(self, slot: int) -> dict[Step, certified.Trace]:
        """The enabled steps of the action with the number `slot`, each with the trace extended by this step."""
        if slot not in self.possible:
            numbers = self.enabled(self.trace.states[-1])
            steps = [step for step in self.steps_of.get(slot, ()) if step.number in numbers]
            traces = {step: self.with_step(step) for step in steps}
            self.possible[slot] = {step: trace for step, trace in traces.items() if trace is not None}
        return self.possible[slot]

    @property
    def has_ended(self) -> bool:
        """Whether the model has no enabled step left."""
        return not any(self.longer(slot) for slot in self.steps_of)

    def with_step(self, step: Step) -> certified.Trace | None:
        """The trace with one more step, or None if the model does not allow the step."""
        after = run.take(self.instance, self.trace.states[-1], step)
        if after is None:
            return None
        return replace(self.trace, states=(*self.trace.states, after), steps=(*self.trace.steps, step))

    def take(self, step: Step) -> None:
        """Take one step in the model and in the system. The run fails if the system refuses the step or fails in it."""
        self.trace = self.longer(step.action_index)[step]
        self.possible = {}
        try:
            self.take_in_system(step)
        except StepRefusedError as error:
            self.refused = str(error)
        except Exception as error:
            self.refused = f"{type(error).__name__}: {error}"

    def take_in_system(self, step: Step) -> None:
        """Take a step in the system; the model has already taken it as the last step of the trace."""
        self.system.take(step)

    def the_system_shows_what_the_model_says(self) -> None:
        """Check that every observable variable is equal in model and system. Raises FailureFoundError."""
        cells = self.trace.states[-1]
        position = self.trace.length
        divergence = Divergence(position, None, cells, self.refused) if self.refused else None
        if divergence is None:
            differing, found = compared(self.instance, cells, self.system.observe())
            divergence = None if differing is None else Divergence(position, differing, found)
        if divergence is not None:
            raise FailureFoundError(Failure(Trace(self.trace), None, divergence))

    def watched_properties_hold(self) -> None:
        """Check that every watched property holds in the last state. Raises FailureFoundError."""
        for prop in self.instance.properties:
            if prop.name not in self.watched or run.holds(self.instance, prop, self.trace.states[-1]):
                continue
            verdict = judgements(self.instance, prop, self.trace.states, self.trace.steps)[-1]
            # A property of what follows may be false here, as long as it can become true.
            if verdict is not None or prop.kind not in WHOLE:
                broken = replace(self.trace, property_name=prop.name, verdict=verdict)
                raise FailureFoundError(Failure(Trace(broken), prop.name, None))

    @classmethod
    def what_next(cls, path: Path) -> str:
        """A line that tells the user how to show the trace of a failure."""
        model = cls.instance.model
        own = [] if is_built_in(model) else ["--model", model.path]
        return f"see it: {shlex.join(['trace', 'show', str(path), *own])}"


def state_machine(
    instance: Instance,
    driver: Callable[[], UserSystem],
    *,
    properties: Sequence[str] = (),
    out: Path = DEFAULT,
    steps: int = STEPS,
    enabled: Enabled | None = None,
    base: type[ModelAndSystem] = ModelAndSystem,
) -> type[ModelAndSystem]:
    """Make a machine that compares a system with an instance of a model; its `TestCase` is a test for pytest.

    `driver` makes a system for each run: usually it is a class with `begin`, `take` and `observe`. `properties` names
    properties of states to watch in the model. `out` is the folder for the trace of a failure, and `steps` the largest
    number of steps of a run. `enabled` is a function that returns the numbers of the enabled steps in a state (None:
    plain Python computes them). `base` is a class that prepares steps in another way. Raises UsageError for an
    unknown property.
    """
    for name in properties:
        if property_of(instance, name).of_steps:
            raise UsageError(f"{name} is a property of transitions; give properties of states")
    # Shrinking reaches the same states many times.
    known = lru_cache(maxsize=STATES)(enabled or partial(_enabled, instance))
    members: dict[str, Any] = {
        "instance": instance,
        "watched": tuple(properties),
        "new_system": staticmethod(driver),
        "enabled": staticmethod(known),  # a function in a class would take `self`
        "steps_of": {slot: list(found) for slot, found in groupby(instance.steps, key=attrgetter("action_index"))},
        "begin": initialize(start=st.integers(0, len(instance.initial_states) - 1))(base.begin),
        "the_system_shows_what_the_model_says": invariant()(base.the_system_shows_what_the_model_says),
        "watched_properties_hold": invariant()(base.watched_properties_hold),
        "the_model_has_ended": precondition(lambda self: self.has_ended)(rule(data=st.data())(zz_the_model_has_ended)),
    }
    for number in members["steps_of"]:  # an action without steps can never be taken
        members[instance.model.actions[number].name] = _rule(number)

    class ModelAndSystemTestCase(TestCase):
        def runTest(self) -> None:  # noqa: N802 - the name is unittest's
            """Run the machine as a test."""
            must_agree(made, settings.default.max_examples if settings.default else EXAMPLES, steps, out)

    members["TestCase"] = ModelAndSystemTestCase  # instead of Hypothesis' own
    made: type[ModelAndSystem] = type("ModelAndSystemOfThisInstance", (base,), members)
    return made


def _enabled(instance: Instance, cells: Cells) -> frozenset[int]:
    """The numbers of the enabled steps in a state, computed in plain Python."""
    return frozenset(step.number for step, _ in run.successors(instance, cells))


def zz_the_model_has_ended(self: ModelAndSystem, data: st.DataObject) -> None:
    """The rule for states without an enabled step: Hypothesis needs a rule there.

    Hypothesis orders rules by their arguments and names, and shrinks towards the first: this rule has to be the last.
    """


def _rule(slot: int) -> Callable[..., None]:
    """Make the rule that takes a step of this action with arguments that Hypothesis draws."""

    def take_one(self: ModelAndSystem, data: st.DataObject) -> None:
        self.take(data.draw(st.sampled_from(list(self.longer(slot)))))

    made: Callable[..., None] = rule(data=st.data())(take_one)
    return precondition(lambda self: bool(self.longer(slot)))(made)


def find(machine: type[ModelAndSystem], examples: int = EXAMPLES, steps: int = STEPS) -> Failure | None:
    """Run a machine `examples` times with at most `steps` steps. Return the shrunk failure, if there is one."""
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


def must_agree(
    machine: type[ModelAndSystem], examples: int = EXAMPLES, steps: int = STEPS, out: Path = DEFAULT
) -> None:
    """Run `find`. Save the trace of a failure in `out`, and raise AssertionError with the shrunk steps and the path."""
    failure = find(machine, examples, steps)
    if failure is None:
        return
    try:
        path = failure.trace.save(out)
        last = [f"written: {path}", machine.what_next(path)]
    except UsageError as error:
        last = [str(error)]
    raise AssertionError("\n".join([*failure.lines(), *last]))
